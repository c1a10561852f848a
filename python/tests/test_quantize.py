"""quantize and dynamic_quantize against numpy, bit for bit."""
import unittest

import numpy as np

import dnnl_dequant
from formulas import (BF16, E8M0, F4, FLOATS, GRANULARITIES, NARROW_INTEGERS,
                      SMALL_FLOATS, WHOLE_INTEGERS, integers, limits, packed,
                      quantized, same_bits, scale_shape, scales, spread)


class QuantizeTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(8)

    def values(self, shape, dtype, most=300):
        x = self.random.standard_normal(shape) * most
        with np.errstate(over="ignore"):
            return np.asarray(x).astype(dtype)

    def test_integers(self):
        number = 0
        for dtype in WHOLE_INTEGERS + NARROW_INTEGERS:
            most = min(limits(dtype)[1] * 2, 2.0e9)
            for shape, axis, block in GRANULARITIES:
                if dtype == np.uint32 and block:
                    continue
                number += 1
                grid = scale_shape(shape, axis, block)
                by = (FLOATS + [E8M0])[number % (3 if dtype == np.uint32
                                                 else 4)]
                scale = scales(self.random, by, grid)
                zero = integers(self.random, dtype, grid) \
                    if number % 2 else None
                x = self.values(shape, FLOATS[number % 3], min(most, 6e4))
                expected = quantized(
                    x, spread(scale, shape, axis, block),
                    zero if zero is None else spread(zero, shape, axis, block),
                    dtype)
                for _ in range(2):
                    found = dnnl_dequant.quantize(
                        x, scale, zero, axis=axis, block_size=block,
                        dtype=dtype)
                    self.assertTrue(
                        same_bits(found, expected), f"{dtype} {shape} {axis} "
                        f"{block} {x.dtype} {scale.dtype}:\n{found}\n"
                        f"{expected}")

    def test_packed(self):
        for bits, dtype in zip((4, 4, 2, 2), NARROW_INTEGERS):
            holder = np.int8 if limits(dtype)[0] < 0 else np.uint8
            for columns in (16, 7):
                x = self.values((3, columns), np.float32, 8)
                scale = scales(self.random, np.float32, (3,))
                zero = integers(self.random, dtype, (3,))
                expected = packed(quantized(
                    x, scale[:, None], zero[:, None], dtype), bits)
                for given in (zero, zero.astype(holder)):
                    found = dnnl_dequant.quantize(
                        x, scale, given, axis=0, dtype=holder, bits=bits)
                    self.assertEqual(found.dtype, holder)
                    self.assertTrue(np.array_equal(found.view(np.uint8),
                                                   expected))

    def test_the_type_comes_from_zero_point_or_out(self):
        x = np.array([-3, 3], np.float32)
        self.assertEqual(dnnl_dequant.quantize(x, 1.0).dtype, np.uint8)
        self.assertEqual(dnnl_dequant.quantize(
            x, 1.0, np.array(0, np.int16)).dtype, np.int16)
        out = np.empty(2, np.int8)
        self.assertIs(dnnl_dequant.quantize(x, 1.0, out=out), out)
        self.assertEqual(out.tolist(), [-3, 3])

    def test_small_floats_saturate(self):
        for dtype in SMALL_FLOATS:
            most = {"float8_e4m3fn": 448, "float8_e5m2": 57344,
                    "float8_e4m3fnuz": 240, "float8_e5m2fnuz": 57344,
                    "float4_e2m1fn": 6}[dtype.name]
            x = self.values((40, 6), np.float32, most)
            scale = scales(self.random, np.float32, (6,))
            expected = np.clip(x / scale, -most, most).astype(dtype)
            found = dnnl_dequant.quantize(x, scale, axis=1, dtype=dtype)
            self.assertTrue(same_bits(found, expected), f"{dtype}\n{found}\n"
                            f"{expected}")

    def test_without_saturation(self):
        x = np.array([1, 500, -1e9], np.float32)
        found = dnnl_dequant.quantize(x, 1.0, dtype=SMALL_FLOATS[0],
                                      saturate=False)
        self.assertEqual(np.isnan(found.astype(np.float32)).tolist(),
                         [False, True, True])

    def test_floats(self):
        x = self.values((4, 5), np.float32, 3)
        scale = scales(self.random, np.float32, (4,))
        for dtype in FLOATS:
            found = dnnl_dequant.quantize(x, scale, axis=0, dtype=dtype)
            self.assertTrue(same_bits(
                found, (x / scale[:, None]).astype(dtype)))

    def test_what_is_not_finite(self):
        x = np.array([np.nan, np.inf, -np.inf, 0, 1], np.float32)
        zero = np.array(7, np.int8)
        self.assertEqual(dnnl_dequant.quantize(x, 1.0, zero).tolist(),
                         [7, 127, -128, 7, 8])
        self.assertEqual(dnnl_dequant.quantize(x, 0.0, zero).tolist(),
                         [7, 127, -128, 7, 127])

    def test_strides(self):
        base = self.values((8, 12), np.float32, 50)
        for x in (base.T, base[::2, 1::3], base[:, ::-1]):
            scale = scales(self.random, np.float32, (x.shape[1],))
            self.assertTrue(np.array_equal(
                dnnl_dequant.quantize(x, scale, dtype=np.int8),
                quantized(x, scale, None, np.dtype(np.int8))))

    def test_round_trip_of_four_bits(self):
        codes = integers(self.random, NARROW_INTEGERS[1], (64, 33))
        scale = scales(self.random, np.float32, (64,))
        x = dnnl_dequant.dequantize(codes, scale, axis=0)
        again = dnnl_dequant.quantize(x, scale, axis=0, dtype=codes.dtype)
        self.assertTrue(np.array_equal(again, codes))
        self.assertEqual(F4.itemsize, again.dtype.itemsize)


class DynamicQuantizeTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(9)

    def expected(self, x, dtype, symmetric, over):
        """The formulas, with one range over these axes for each of the others."""
        x, f = x.astype(np.float32), np.float32
        most = np.maximum(x.max(over, keepdims=True), f(0))
        least = np.minimum(x.min(over, keepdims=True), f(0))
        if symmetric:
            scale = np.maximum(most, -least) / f(127)
            zero = np.zeros(scale.shape, f)
        else:
            low, high = (0, 255) if dtype == np.uint8 else (-127, 127)
            scale = (most - least) / f(high - low)
            zero = np.rint(np.clip(f(low) - least / scale, low, high))
        low, high = (0, 255) if dtype == np.uint8 else (-127, 127)
        y = np.clip(np.rint(x / scale) + zero, low, high)
        return y.astype(dtype), scale, zero.astype(dtype)

    def check(self, x, over, **options):
        for dtype, symmetric in ((np.uint8, False), (np.int8, False),
                                 (np.int8, True)):
            y, scale, zero = dnnl_dequant.dynamic_quantize(
                x, dtype=dtype, symmetric=symmetric, **options)
            wanted = self.expected(x, dtype, symmetric, over)
            self.assertTrue(same_bits(y, wanted[0]))
            self.assertTrue(np.array_equal(scale.reshape(-1),
                                           wanted[1].reshape(-1)))
            if symmetric:
                self.assertIsNone(zero)
            else:
                self.assertEqual(zero.shape, scale.shape)
                self.assertTrue(np.array_equal(zero.reshape(-1),
                                               wanted[2].reshape(-1)))
            yield scale

    def test_tensor_channel_and_block(self):
        for dtype in FLOATS:
            x = self.random.standard_normal((6, 37)).astype(dtype)
            for scale in self.check(x, (0, 1)):
                self.assertEqual(scale.shape, ())
            for scale in self.check(x, (1,), axis=0):
                self.assertEqual(scale.shape, (6,))
            for scale in self.check(x[:, ::3], (0,), axis=-1):
                self.assertEqual(scale.shape, (13,))
            for scale in self.check(x, (1,), axis=1, block_size=64):
                self.assertEqual(scale.shape, (6, 1))

    def test_blocks(self):
        x = self.random.standard_normal((4, 10)).astype(np.float32)
        y, scale, zero = dnnl_dequant.dynamic_quantize(x, axis=1, block_size=4)
        self.assertEqual(scale.shape, (4, 3))
        for place in range(3):
            part = slice(place * 4, place * 4 + 4)
            wanted = self.expected(x[:, part], np.uint8, False, (1,))
            self.assertTrue(np.array_equal(y[:, part], wanted[0]))
            self.assertTrue(np.array_equal(scale[:, [place]], wanted[1]))
            self.assertTrue(np.array_equal(zero[:, [place]], wanted[2]))

    def test_no_rows_of_four_bits(self):
        x = np.zeros((0, 8), np.float32)
        self.assertEqual(dnnl_dequant.quantize(x, 0.5, bits=4).shape, (0, 4))

    def test_out_and_zeros(self):
        out = np.empty((2, 3), np.int8)
        y, scale, zero = dnnl_dequant.dynamic_quantize(
            np.zeros((2, 3), BF16), dtype="int8", symmetric=True, out=out)
        self.assertIs(y, out)
        self.assertFalse(out.any())
        self.assertEqual(scale, 1)
        self.assertIsNone(zero)

    def test_nothing(self):
        y, scale, zero = dnnl_dequant.dynamic_quantize(
            np.zeros((0, 3), np.float32))
        self.assertEqual((y.shape, scale, zero), ((0, 3), 1, 0))


if __name__ == "__main__":
    unittest.main()

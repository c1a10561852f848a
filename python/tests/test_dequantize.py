"""dequantize against numpy, bit for bit."""
import unittest

import numpy as np

import dnnl_dequant
from formulas import (BF16, E8M0, F4, FLOATS, GRANULARITIES, NARROW_INTEGERS,
                      SMALL_FLOATS, WHOLE_INTEGERS, dequantized, integers,
                      limits, packed, same_bits, scale_shape, scales, spread)


class DequantizeTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(7)

    def check(self, x, scale, zero, axis, block, dtype, **options):
        shape = options.pop("shape", x.shape)
        values = options.pop("values", x)
        expected = dequantized(
            values, spread(scale, shape, axis, block),
            None if zero is None else spread(zero, shape, axis, block), dtype)
        given = options.pop("given_zero", zero)
        for _ in range(2):  # the second call finds what the first prepared
            found = dnnl_dequant.dequantize(
                x, scale, given, axis=axis, block_size=block, dtype=dtype,
                **options)
            self.assertTrue(same_bits(found, expected),
                            f"{x.dtype} {shape} {axis} {block} {dtype} "
                            f"{scale.dtype}:\n{found}\n{expected}")

    def cases(self, dtypes):
        """Every type with every granularity; the others by turns."""
        number = 0
        for dtype in dtypes:
            for shape, axis, block in GRANULARITIES:
                number += 1
                by = (FLOATS + [E8M0])[number % 4]
                scale = scales(self.random, by,
                               scale_shape(shape, axis, block))
                yield (dtype, shape, axis, block, scale, FLOATS[number % 3],
                       number % 2 == 0)

    def test_integers(self):
        for dtype, shape, axis, block, scale, dst, has_zero in self.cases(
                WHOLE_INTEGERS):
            x = integers(self.random, dtype, shape)
            zero = integers(self.random, dtype, scale.shape)
            self.check(x, scale, zero if has_zero else None, axis, block, dst)

    def test_zero_points_of_another_type(self):
        x = integers(self.random, np.dtype(np.uint8), (4, 6))
        zero = integers(self.random, np.dtype(np.int16), (4,))
        self.check(x, scales(self.random, np.float32, (4,)), zero, 0, None,
                   np.float32)

    def test_narrow_integers_of_ml_dtypes(self):
        for dtype, shape, axis, block, scale, dst, has_zero in self.cases(
                NARROW_INTEGERS):
            x = integers(self.random, dtype, shape)
            zero = integers(self.random, dtype, scale.shape)
            self.check(x, scale, zero if has_zero else None, axis, block, dst)

    def test_packed(self):
        for bits, dtype in zip((4, 4, 2, 2), NARROW_INTEGERS):
            holder = np.int8 if limits(dtype)[0] < 0 else np.uint8
            for shape, axis, block in (((3, 64), 1, 16), ((5, 8), 0, None),
                                       ((2, 3, 12), 2, 5)):
                values = integers(self.random, dtype, shape)
                grid = scale_shape(shape, axis, block)
                scale = scales(self.random, np.float32, grid)
                zero = integers(self.random, dtype, grid)
                x = packed(values, bits).view(holder)
                for given in (None, zero, zero.astype(holder),
                              packed(zero, bits).view(holder)):
                    self.check(x, scale, None if given is None else zero,
                               axis, block, np.float32, bits=bits,
                               shape=shape, values=values, given_zero=given)

    def test_packed_with_an_odd_number_of_columns(self):
        values = integers(self.random, NARROW_INTEGERS[1], (3, 7))
        out = np.full((3, 7), 9, np.float32)
        scale = scales(self.random, np.float32, (7,))
        found = dnnl_dequant.dequantize(packed(values, 4), scale, axis=1,
                                        bits=4, out=out)
        self.assertIs(found, out)
        self.assertTrue(same_bits(out, values.astype(np.float32) * scale))

    def test_packed_rows_of_a_wider_array(self):
        values = integers(self.random, NARROW_INTEGERS[0], (4, 32))
        wide = packed(values, 4).view(np.int8)
        self.check(wide[1:, 4:12], np.float32(0.5), None, None, None,
                   np.float32, bits=4, shape=(3, 16), values=values[1:, 8:24])

    def test_small_floats(self):
        for dtype in SMALL_FLOATS:
            count = 16 if dtype == F4 else 256
            x = np.arange(count, dtype=np.uint8).view(dtype).reshape(-1, 8)
            zero = np.zeros(8, np.float32).astype(dtype)
            for dst in FLOATS:
                self.check(x, scales(self.random, np.float32, (8,)), None, 1,
                           None, dst)
                self.check(x, scales(self.random, BF16, (8,)), zero, 1, None,
                           dst)

    def test_floats(self):
        for dtype in FLOATS:
            x = self.random.standard_normal((5, 9)).astype(dtype)
            for dst in FLOATS:
                self.check(x, scales(self.random, np.float32, (9,)), None, 1,
                           None, dst)

    def test_strides(self):
        base = integers(self.random, np.dtype(np.int16), (12, 10, 8))
        for x in (base[::2, 1:9:3, 2:], base.transpose(2, 0, 1), base[::-1],
                  np.broadcast_to(base[:1], (4, 10, 8)), base[:, 3],
                  base.view(np.uint8)[1:, :, 1:].view()[..., :14]):
            scale = scales(self.random, np.float32, (2 * x.shape[1],))[::2]
            zero = integers(self.random, x.dtype, (2 * x.shape[1],))[::2]
            self.check(x, scale, zero, 1, None, np.float32)

    def test_unaligned(self):
        raw = np.arange(41, dtype=np.uint8)
        x = raw[1:].view(np.uint16)
        self.assertFalse(x.flags.aligned)
        self.check(x, np.float32(2), None, None, None, np.float32)
        self.check(x.copy(), np.float32(2), None, None, None, np.float32)

    def test_the_shortcut_sees_unaligned_arrays(self):
        for x in (np.arange(20, dtype=np.uint16),
                  np.frombuffer(bytearray(range(41)), np.uint16, 20, 1)):
            self.check(x, np.ones(1, np.float32), None, None, None,
                       np.float32)

    def test_out(self):
        x = integers(self.random, np.dtype(np.uint8), (6, 10))
        scale = scales(self.random, np.float32, (6,))
        expected = x * scale[:, None]
        for out in (np.empty((6, 10), np.float32),
                    np.empty((10, 6), np.float32).T,
                    np.zeros((6, 30), np.float32)[:, 5:25:2]):
            for _ in range(2):
                out[...] = 0
                found = dnnl_dequant.dequantize(x, scale, axis=0, out=out)
                self.assertIs(found, out)
                self.assertTrue(np.array_equal(out, expected))
        around = np.zeros((6, 30), np.float32)
        dnnl_dequant.dequantize(x, scale, axis=0, out=around[:, 5:25:2])
        around[:, 5:25:2] = 0
        self.assertFalse(around.any())

    def test_numbers_for_arrays(self):
        x = np.arange(8, dtype=np.uint8)
        for scale, zero in ((0.5, 3), (np.float32(0.5), np.uint8(3)),
                            (np.array([[0.5]], np.float32), [3])):
            if isinstance(zero, list):
                zero = np.array(zero, np.uint8)
            found = dnnl_dequant.dequantize(x, scale, zero)
            self.assertTrue(np.array_equal(
                found, (np.arange(8, dtype=np.float32) - 3) / 2))

    def test_dtypes_by_name_and_class(self):
        x = np.arange(4, dtype=np.int8)
        for dtype in ("float16", np.float16, np.dtype(np.float16)):
            self.assertEqual(dnnl_dequant.dequantize(
                x, 1.0, dtype=dtype).dtype, np.float16)
        self.assertEqual(dnnl_dequant.dequantize(
            x, 1.0, dtype="bfloat16").dtype, BF16)


if __name__ == "__main__":
    unittest.main()

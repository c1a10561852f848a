"""Linear against numpy's product with the dequantized weights."""
import unittest

import numpy as np

import dnnl_dequant
from formulas import (BF16, FLOATS, NARROW_INTEGERS, dequantized, integers,
                      packed, scale_shape, scales, spread)

# The error over the largest result: factors and result are rounded to the type.
BOUND = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 2e-3, BF16: 1.6e-2}


class LinearTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(10)

    def weights(self, dtype, shape, axis, block):
        """(codes, scale, zero points, numbers)"""
        codes = integers(self.random, dtype, shape)
        grid = scale_shape(shape, axis, block)
        scale = scales(self.random, np.float32, grid)
        zero = integers(self.random, dtype, grid)
        numbers = dequantized(codes, spread(scale, shape, axis, block),
                              spread(zero, shape, axis, block), np.float32)
        return codes, scale, zero, numbers

    def check(self, linear, matrix, bias, shape, dtype):
        """matrix: [k, n]"""
        x = self.random.standard_normal(shape).astype(dtype)
        exact = x.astype(np.float64) @ matrix.astype(np.float64)
        if bias is not None:
            exact += bias.astype(np.float64)
        for _ in range(2):
            y = linear(x)
            self.assertEqual((y.dtype, y.shape), (dtype, exact.shape))
            error = np.abs(y.astype(np.float64) - exact).max()
            self.assertLess(error / np.abs(exact).max(),
                            BOUND[np.dtype(dtype)], f"{linear} {shape}")

    def test_types_orders_and_rows(self):
        number = 0
        for dtype in (np.uint8, np.int8, np.uint16, *NARROW_INTEGERS):
            for order, block in (("nk", 32), ("kn", 32), ("nk", None),
                                 ("kn", None), ("nk", 24)):
                number += 1
                n, k = 48, 96
                shape = (n, k) if order == "nk" else (k, n)
                axis = ("kn" if block is None else "nk").index(
                    "n" if order == "kn" else "k")
                codes, scale, zero, numbers = self.weights(
                    np.dtype(dtype), shape, axis, block)
                bias = self.random.random(n).astype(np.float32) \
                    if number % 2 else None
                linear = dnnl_dequant.Linear(
                    codes, scale, zero, block_size=block, order=order,
                    bias=bias)
                matrix = numbers.T if order == "nk" else numbers
                for rows, x_type in ((1, np.float32), (5, BF16),
                                     (40, np.float16), (3, np.float32)):
                    if x_type == np.float16 and dtype == np.uint16:
                        continue  # beyond float16's range
                    self.check(linear, matrix, bias, (rows, k), x_type)

    def test_packed(self):
        for bits, dtype in ((4, NARROW_INTEGERS[1]), (4, NARROW_INTEGERS[0]),
                            (2, NARROW_INTEGERS[3])):
            holder = np.int8 if dtype == NARROW_INTEGERS[0] else np.uint8
            codes, scale, zero, numbers = self.weights(dtype, (64, 128), 1, 32)
            for given in (zero, packed(zero, bits).view(holder),
                          zero.astype(holder)):
                linear = dnnl_dequant.Linear(
                    packed(codes, bits).view(holder), scale, given,
                    block_size=32, bits=bits)
                self.assertEqual((linear.in_features, linear.out_features),
                                 (128, 64))
                for rows in (1, 2, 33):
                    self.check(linear, numbers.T, None, (rows, 128),
                               np.float32)

    def test_one_scale_and_odd_sizes(self):
        codes = integers(self.random, np.dtype(np.int8), (13, 37))
        linear = dnnl_dequant.Linear(codes, 0.25, 3)
        matrix = (codes.T.astype(np.float32) - 3) / 4
        for shape in ((37,), (1, 37), (2, 3, 37), (7, 37)):
            self.check(linear, matrix, None, shape, np.float32)

    def test_one_block(self):
        linear = dnnl_dequant.Linear(np.full((1, 5), 3, np.uint8),
                                     np.full((1, 1), 2, np.float32), 1,
                                     block_size=8)
        self.check(linear, np.full((5, 1), 4, np.float32), None, (2, 5),
                   np.float32)

    def test_strides_and_out(self):
        codes, scale, zero, numbers = self.weights(
            np.dtype(np.uint8), (16, 64), 1, 32)
        linear = dnnl_dequant.Linear(codes, scale, zero, block_size=32)
        base = self.random.standard_normal((4, 6, 128)).astype(np.float32)
        for x in (base[..., :64], base[:, ::2, 64:], base[..., ::2],
                  base[0, :, 10:74], base.transpose(1, 0, 2)[..., :64]):
            out = np.zeros(x.shape[:-1] + (32,), np.float32)
            for _ in range(2):
                view = out[..., 8:24]
                self.assertIs(linear(x, out=view), view)
                self.assertTrue(np.allclose(view, x @ numbers.T, rtol=1e-4,
                                            atol=1e-3))
            self.assertFalse(out[..., :8].any() or out[..., 24:].any())

    def test_weights_of_a_larger_array(self):
        wide = integers(self.random, np.dtype(np.uint8), (16, 128))
        scale = scales(self.random, np.float32, (16,))
        linear = dnnl_dequant.Linear(wide[:, 32:96], scale)
        self.check(linear, wide[:, 32:96].T * scale, None, (2, 64),
                   np.float32)

    def test_no_rows(self):
        linear = dnnl_dequant.Linear(np.ones((4, 8), np.int8), 1.0)
        self.assertEqual(linear(np.empty((0, 8), np.float32)).shape, (0, 4))

    def test_rows_share_a_program(self):
        linear = dnnl_dequant.Linear(np.ones((4, 8), np.int8), 1.0)
        before = linear(np.ones((6, 8), np.float32))
        found = linear(np.ones((2, 3, 8), np.float32))
        self.assertTrue(np.array_equal(found.reshape(6, 4), before))
        self.assertEqual(len({entry.program for entry in
                              linear._shortcuts._entries.values()}), 1)

    def test_the_kernel_is_a_product_of_ours(self):
        linear = dnnl_dequant.Linear(np.ones((64, 64), np.int8), 1.0)
        linear(np.ones((1, 64), FLOATS[0]))
        self.assertRegex(dnnl_dequant.info()["kernels"]["Linear"], "matmul")


if __name__ == "__main__":
    unittest.main()

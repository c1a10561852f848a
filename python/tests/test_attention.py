"""attention against numpy in float64."""
import itertools
import unittest

import numpy as np

import dnnl_dequant
from formulas import BF16, FLOATS, NARROW_INTEGERS, integers, packed

BOUND = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 4e-3, BF16: 3e-2}


def exact_attention(q, k, v, mask, causal, scale):
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) * scale
    rows, tokens = scores.shape[-2:]
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = scores + mask.astype(np.float64)
    if causal:
        scores = np.where(np.tri(rows, tokens, tokens - rows, dtype=bool),
                          scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


class AttentionTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(11)

    def cache(self, shape, dtype, has_zero):
        """(codes, scales, zero points, numbers)"""
        codes = integers(self.random, np.dtype(dtype), shape)
        scale = self.random.random(shape[:-1]).astype(np.float32) + 0.1
        scale /= 64 if np.dtype(dtype).kind in "iu" else 4
        zero = self.random.integers(0, 8, shape[:-1]).astype(np.int8)
        numbers = codes.astype(np.float64) - has_zero * zero[..., None]
        return (codes, scale, zero if has_zero else None,
                numbers * scale[..., None])

    def check(self, q, k, v, mask=None, causal=False, scale=None, bits=None):
        for _ in range(2):
            y = dnnl_dequant.attention(
                q, k[0], k[1], v[0], v[1], k_zero_point=k[2],
                v_zero_point=v[2], mask=mask, causal=causal, scale=scale,
                bits=bits)
            exact = exact_attention(q, k[3], v[3], mask, causal,
                                    scale or q.shape[-1] ** -0.5)
            self.assertEqual((y.dtype, y.shape), (q.dtype, exact.shape))
            error = np.abs(y.astype(np.float64) - exact).max()
            self.assertLess(error / np.abs(exact).max(), BOUND[q.dtype])

    def mask(self, kind, q, tokens):
        batch, heads, rows, _ = q.shape
        if kind == "bool":
            mask = self.random.random((batch, 1, rows, tokens)) < 0.7
            mask[..., 0] = True
            return mask
        if kind == "heads":
            return self.random.standard_normal(
                (1, heads, rows, tokens)).astype(q.dtype)
        if kind == "tokens":
            return self.random.standard_normal(tokens).astype(q.dtype)
        return None

    def test_heads_shapes_masks_and_types(self):
        number = 0
        for (heads, kept), (rows, tokens), kind, causal in itertools.product(
                ((4, 4), (4, 1), (6, 2)), ((1, 33), (5, 40), (33, 33)),
                (None, "bool", "heads", "tokens"), (False, True)):
            number += 1
            q = self.random.standard_normal((2, heads, rows, 32)).astype(
                FLOATS[number % 3])
            dtype = (np.int8, np.uint8, *NARROW_INTEGERS[:2])[number % 4]
            k = self.cache((2, kept, tokens, 32), dtype, number % 5 > 1)
            v = self.cache((2, kept, tokens, 16), dtype, number % 3 > 0)
            self.check(q, k, v, self.mask(kind, q, tokens), causal)

    def test_packed(self):
        q = self.random.standard_normal((1, 2, 3, 32)).astype(np.float32)
        for dtype, holder in ((NARROW_INTEGERS[0], np.int8),
                              (NARROW_INTEGERS[1], np.uint8)):
            k, v = [self.cache((1, 2, 50, 32), dtype, True) for _ in range(2)]
            k, v = [(packed(part[0], 4).view(holder),) + part[1:]
                    for part in (k, v)]
            self.check(q, k, v, bits=4)

    def test_a_cache_with_room_and_its_scale(self):
        q = self.random.standard_normal((1, 4, 1, 64)).astype(np.float32)
        k, v = [self.cache((1, 4, 128, 64), np.int8, True) for _ in range(2)]
        used = [tuple(array[:, :, :77] for array in part) for part in (k, v)]
        self.check(q, *used, scale=0.25)

    def test_heads_behind_rows(self):
        q = self.random.standard_normal((2, 5, 6, 32)).astype(
            np.float32).transpose(0, 2, 1, 3)
        k, v = [self.cache((2, 2, 40, 32), np.int8, False) for _ in range(2)]
        self.check(q, k, v, causal=True)

    def test_out(self):
        q = self.random.standard_normal((1, 2, 3, 16)).astype(np.float32)
        k = self.cache((1, 2, 9, 16), np.int8, False)
        wide = np.zeros((1, 3, 2, 16), np.float32)
        out = wide.transpose(0, 2, 1, 3)
        found = dnnl_dequant.attention(q, k[0], k[1][..., None], k[0], k[1],
                                       out=out)
        self.assertIs(found, out)
        exact = exact_attention(q, k[3], k[3], None, False, 0.25)
        self.assertTrue(np.allclose(out, exact, rtol=1e-4, atol=1e-5))

    def test_a_row_that_sees_nothing_is_nan(self):
        q = np.ones((1, 1, 2, 16), np.float32)
        k = self.cache((1, 1, 4, 16), np.int8, False)
        mask = np.array([[True] * 4, [False] * 4])
        y = dnnl_dequant.attention(q, k[0], k[1], k[0], k[1], mask=mask)
        self.assertEqual(np.isnan(y).all(-1).tolist(), [[[False, True]]])

    def test_the_kernel_is_ours(self):
        q = np.ones((1, 1, 1, 16), np.float32)
        k = self.cache((1, 1, 4, 16), np.int8, False)
        dnnl_dequant.attention(q, k[0], k[1], k[0], k[1])
        self.assertRegex(dnnl_dequant.info()["kernels"]["attention"],
                         "^attention_")


if __name__ == "__main__":
    unittest.main()

"""Each sentence about input that does not fit."""
import unittest

import numpy as np

import dnnl_dequant
from dnnl_dequant import _library

F, U, I = np.float32, np.uint8, np.int8
X = np.ones((2, 6), U)
V = np.ones((2, 6), F)
read_only = np.ones((2, 6), F)
read_only.flags.writeable = False
d = dnnl_dequant

# (a part of the sentence, the call)
DEQUANTIZE = [
    ("x is of dtype float64", lambda: d.dequantize(V.astype(float), 1.0)),
    ("x is of dtype >i2", lambda: d.dequantize(np.ones(2, ">i2"), 1.0)),
    ("x is of dtype bool", lambda: d.dequantize(V > 0, 1.0)),
    ("scale is of dtype int32", lambda: d.dequantize(X, np.ones(2, np.int32))),
    ("scale has shape (2, 6); expected one element or one dimension",
     lambda: d.dequantize(X, V)),
    ("scale has 3 elements; expected 6", lambda: d.dequantize(X, V[0, :3])),
    ("axis is 2; expected one of a tensor of rank 2",
     lambda: d.dequantize(X, V[0], axis=2)),
    ("axis is 1 (ONNX's default)", lambda: d.dequantize(X[0], V[0])),
    ("axis is 0.5; expected an integer",
     lambda: d.dequantize(X, V[0], axis=0.5)),
    ("block_size is 0; expected 1 or more",
     lambda: d.dequantize(X, V, block_size=0)),
    ("expected (2, 2), blocks of 3 along axis 1",
     lambda: d.dequantize(X, V, block_size=3)),
    ("zero_point has shape (2,); expected scale's, (6,)",
     lambda: d.dequantize(X, V[0], X[:, 0])),
    ("zero_point is of dtype float32; expected integers",
     lambda: d.dequantize(X, V[0], V[0])),
    ("zero_point is 999", lambda: d.dequantize(X, 1.0, 999)),
    ("zero_point is of dtype uint8; expected float32",
     lambda: d.dequantize(V, V[0], X[0])),
    ("which has no blocks", lambda: d.dequantize(V, V, block_size=1)),
    ("scale is of dtype float16; expected float32 for x",
     lambda: d.dequantize(V, np.ones(6, np.float16))),
    ("dtype is int8; expected one of float32",
     lambda: d.dequantize(X, 1.0, dtype="int8")),
    ("dtype is nonsense", lambda: d.dequantize(X, 1.0, dtype="nonsense")),
    ("bits is 3; expected 2, 4, 8", lambda: d.dequantize(X, 1.0, bits=3)),
    ("packed by bits=4 is uint8 or int8",
     lambda: d.dequantize(V, 1.0, bits=4)),
    ("x has no dimensions", lambda: d.dequantize(np.array(1, U), 1.0, bits=4)),
    ("x has 6 bytes a row, which hold 12 elements; expected 6",
     lambda: d.dequantize(X, 1.0, bits=4, out=V)),
    ("out has shape (2, 6); expected (2,)",
     lambda: d.dequantize(X[:, 0], 1.0, out=V)),
    ("out is of dtype int8", lambda: d.dequantize(X, 1.0, out=X.view(I))),
    ("out is read-only", lambda: d.dequantize(X, 1.0, out=read_only)),
    ("out has strides", lambda: d.dequantize(X, 1.0, out=V[:, ::-1])),
    ("out shares memory with an input",
     lambda: d.dequantize(V, np.ones(1, F), out=V)),
    ("x has 13 dimensions; expected at most 12",
     lambda: d.dequantize(np.ones((1,) * 13, U), 1.0)),
    ("x is of dtype object", lambda: d.dequantize(object(), 1.0)),
    ("x is of dtype <U4", lambda: d.dequantize("text", 1.0)),
]
QUANTIZE = [
    ("x is of dtype uint8", lambda: d.quantize(X, 1.0)),
    ("dtype is complex64", lambda: d.quantize(V, 1.0, dtype=np.complex64)),
    ("zero_point is of dtype int8; expected uint8",
     lambda: d.quantize(V, 1.0, np.array(1, I), dtype="uint8")),
    ("zero_point is of dtype int16; expected uint8",
     lambda: d.quantize(V, 1.0, np.array(1, np.int16), dtype=U, bits=4)),
    ("zero_point has values from 16 to 16; expected 0 to 15",
     lambda: d.quantize(V, 1.0, 16, dtype=U, bits=4)),
    ("zero_point has values from -8 to 8; expected -8 to 7",
     lambda: d.quantize(V, V[:, 0], np.array([-8, 8], I), axis=0, bits=4)),
    ("packed by bits=4 is uint8 or int8",
     lambda: d.quantize(V, 1.0, dtype="int16", bits=4)),
    ("bits is 5", lambda: d.quantize(V, 1.0, bits=5)),
    ("a result of uint32 has no blocks",
     lambda: d.quantize(V, V, dtype="uint32", block_size=1)),
    ("expected floats for a result of uint32",
     lambda: d.quantize(np.ones(3, np.int32), 1.0, dtype="uint32")),
    ("saturate is False; expected True for a result of int8",
     lambda: d.quantize(V, 1.0, dtype="int8", saturate=False)),
    ("out is of dtype int8; expected uint8",
     lambda: d.quantize(V, 1.0, dtype="uint8", out=X.view(I))),
    ("dtype is int16; expected one of uint8, int8",
     lambda: d.dynamic_quantize(V, dtype="int16")),
    ("expected int8 where it is symmetric",
     lambda: d.dynamic_quantize(V, symmetric=True)),
    ("block_size is 4 without an axis",
     lambda: d.dynamic_quantize(V, block_size=4)),
    ("x is of dtype uint8", lambda: d.dynamic_quantize(X)),
    ("axis is 3", lambda: d.dynamic_quantize(V, axis=3)),
]
LINEAR = [
    ("order is 'nn'", lambda: d.Linear(X, 1.0, order="nn")),
    ("weight has shape (6,)", lambda: d.Linear(X[0], 1.0)),
    ("weight is of dtype float32", lambda: d.Linear(V, 1.0)),
    ("weight has shape (0, 6)", lambda: d.Linear(X[:0], 1.0)),
    ("scale has 6 elements; expected 2", lambda: d.Linear(X, V[0])),
    ("blocks of 3 along axis 1 of weight",
     lambda: d.Linear(X, V, block_size=3)),
    ("blocks of 3 along axis 0 of weight",
     lambda: d.Linear(X, V, block_size=3, order="kn")),
    ("zero_point is of dtype float32", lambda: d.Linear(X, V[:, 0], V[:, 0])),
    ("bias is of dtype uint8", lambda: d.Linear(X, 1.0, bias=X[:, 0])),
    ("expected floats of shape (2,)", lambda: d.Linear(X, 1.0, bias=V[0])),
    ("x has shape (2, 5); expected 6",
     lambda: d.Linear(X, 1.0)(np.ones((2, 5), F))),
    ("x is of dtype float64", lambda: d.Linear(X, 1.0)(np.ones((2, 6)))),
    ("out has shape (2, 6); expected (2, 2)",
     lambda: d.Linear(X, 1.0)(V, out=V)),
]
Q = np.ones((1, 2, 3, 8), F)
K = np.ones((1, 2, 5, 8), I)
S = np.ones((1, 2, 5), F)
ATTENTION = [
    ("q is of dtype int8", lambda: d.attention(K, K, S, K, S)),
    ("q is of dtype float32 and shape (2, 3, 8)",
     lambda: d.attention(Q[0], K, S, K, S)),
    ("k is of dtype float32", lambda: d.attention(Q, Q, S, K, S)),
    ("v has shape (2, 5, 8)", lambda: d.attention(Q, K, S, K[0], S)),
    ("k has shape (1, 2, 5, 4)", lambda: d.attention(Q, K[..., :4], S, K, S)),
    ("a divisor of q's 1 heads", lambda: d.attention(Q[:, :1], K, S, K, S)),
    ("v has shape (1, 2, 4, 8); expected k's",
     lambda: d.attention(Q, K, S, K[:, :, :4], S[:, :, :4])),
    ("k_scale has shape (1, 2)",
     lambda: d.attention(Q, K, S[..., 0], K, S)),
    ("v_zero_point is of dtype float32",
     lambda: d.attention(Q, K, S, K, S, v_zero_point=S)),
    ("mask is of dtype uint8",
     lambda: d.attention(Q, K, S, K, S, mask=np.ones(5, U))),
    ("mask has shape (4,)",
     lambda: d.attention(Q, K, S, K, S, mask=np.ones(4, F))),
    ("expected at most 2, one for each token",
     lambda: d.attention(Q, K[:, :, :2], S[..., :2], K[:, :, :2], S[..., :2],
                         causal=True)),
    ("expected one token and number",
     lambda: d.attention(Q, K[:, :, :0], S[..., :0], K[:, :, :0], S[..., :0])),
]


class ErrorsTest(unittest.TestCase):
    def check(self, cases):
        for sentence, call in cases:
            with self.subTest(sentence):
                with self.assertRaises(ValueError) as caught:
                    call()
                self.assertIn(sentence, str(caught.exception))

    def test_dequantize(self):
        self.check(DEQUANTIZE)

    def test_quantize(self):
        self.check(QUANTIZE)

    def test_linear(self):
        self.check(LINEAR)

    def test_attention(self):
        self.check(ATTENTION)

    def test_read_only_where_others_were_not(self):
        x, scale, y = np.ones((2, 6), U), np.ones(1, F), np.ones((2, 6), F)
        linear = d.Linear(np.ones((6, 6), I), 1.0)
        for call in (lambda out: d.dequantize(x, scale, out=out),
                     lambda out: linear(y, out=out)):
            call(np.empty((2, 6), F))
            with self.assertRaisesRegex(ValueError, "out is read-only"):
                call(read_only)
        self.assertTrue((read_only == 1).all())

    def test_statuses_become_exceptions(self):
        for status, kind, part in (
                (1, MemoryError, "what: "), (2, ValueError, "invalid_argu"),
                (9, ValueError, "(dnnl_invalid_shape)"),
                (3, RuntimeError, "(dnnl_unimplemented)"),
                (5, RuntimeError, "(dnnl_runtime_error)"),
                (99, RuntimeError, "(status 99)")):
            with self.assertRaises(kind) as caught:
                _library.raise_for(status, "what")
            self.assertIn(part, str(caught.exception))

    def test_the_library_says_what_it_expected(self):
        # The package's own checks would refuse these scales.
        from dnnl_dequant._program import GraphBuilder
        graph = GraphBuilder("dequantize")
        x, scale = graph.tensor("u8", (2, 6)), graph.tensor("f32", (5,))
        y = graph.then("DequantizeLinear", [x, scale], "f32", (2, 6), axis=1)
        graph._arguments += [x, scale, y]
        with self.assertRaisesRegex(
                ValueError, "x_scale .* has shape 5; expected"):
            graph.compile()

    def test_memory_that_is_not_there(self):
        # A numpy array of so many bytes that it is never touched.
        scale = np.ones(1, F)
        x = np.lib.stride_tricks.as_strided(
            np.ones(1, U), (1 << 45,), (0,))
        with self.assertRaises(MemoryError):
            d.dequantize(x, scale)

    def test_a_graph_without_a_kernel(self):
        # The package itself never builds such a graph.
        from dnnl_dequant._program import GraphBuilder
        graph = GraphBuilder("two")
        a, b = [graph.tensor("f32", (2,)) for _ in range(2)]
        graph.then("SoftMax", [a], "f32", (2,), axis=0)
        graph.then("SoftMax", [b], "f32", (2,), axis=0)
        with self.assertRaises(RuntimeError) as caught:
            graph.compile()
        self.assertIn("do not fuse", str(caught.exception))
        self.assertIn("(dnnl_unimplemented)", str(caught.exception))


if __name__ == "__main__":
    unittest.main()

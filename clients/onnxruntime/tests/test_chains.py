"""Products of quantized activations and weights, often quantized again."""
import unittest

import numpy as np
from onnx import TensorProto

import support
from support import Model
from test_product import K, N, Weights, activation

RNG = np.random.default_rng(17)


class Chains(support.ProviderTest):
    """Quantized throughout: taken whole."""

    def model(self, ends_quantized, bias=None, relu=False, opset=21):
        weights = Weights("int8", axis=1, zero=False)
        model = Model(opset, support.ir_version_of(opset))
        model.input("a", TensorProto.UINT8, ["b", "m", K])
        model.constant("a_scale", np.float32(0.02))
        model.constant("a_zero", np.uint8(120))
        value = model.node("DequantizeLinear", ["a", "a_scale", "a_zero"],
                           "af")
        value = model.node("MatMul", [value, weights.add(model)], "p")
        if bias is not None:
            value = model.node("Add", [value, model.constant("c", bias)],
                               "pc")
        if relu:
            value = model.node("Relu", [value], "r")
        kind = TensorProto.FLOAT
        if ends_quantized:
            model.constant("y_scale", np.float32(0.3))
            model.constant("y_zero", np.uint8(131))
            value = model.node("QuantizeLinear",
                               [value, "y_scale", "y_zero"], "y")
            kind = TensorProto.UINT8
        model.output(value, kind, ["b", "m", N])
        a = RNG.integers(0, 256, (2, 5, K)).astype(np.uint8)
        expected = ((a.astype(np.float64) - 120) * np.float32(0.02)) \
            @ weights.floats()
        if bias is not None:
            expected = expected + bias
        if relu:
            expected = np.maximum(expected, 0)
        return model.build(), a, expected

    def test_to_floats(self):
        model, a, expected = self.model(False, bias=activation(N))
        ours, = self.run_provider(model, {"a": a})
        self.check_close(ours, expected)

    def test_to_integers(self):
        for opset in support.opsets(13):
            with self.subTest(opset=opset):
                self.check_integers(opset)

    def check_integers(self, opset):
        model, a, expected = self.model(True, bias=activation(N), relu=True,
                                        opset=opset)
        ours, = self.run_provider(model, {"a": a})
        expected = np.clip(np.rint(expected / 0.3) + 131, 0, 255)
        # A sum on the edge of two integers may be either.
        difference = np.abs(ours.astype(int) - expected)
        self.assertLessEqual(difference.max(), 1)
        self.assertLess((difference != 0).mean(), 0.01)

    def test_other_uses_leave_it_to_onnxruntime(self):
        """The activation's dequantize has two users: nothing but single ops
        is taken, and the result is right."""
        weights = Weights("int8", axis=1, zero=False)
        model = Model()
        model.input("a", TensorProto.UINT8, ["m", K])
        model.constant("a_scale", np.float32(0.02))
        model.node("DequantizeLinear", ["a", "a_scale"], "af")
        model.node("MatMul", ["af", weights.add(model)], "p")
        model.node("ReduceSum", ["af"], "s", keepdims=0)
        model.output("p", TensorProto.FLOAT, ["m", N])
        model.output("s", TensorProto.FLOAT, [])
        a = RNG.integers(0, 256, (5, K)).astype(np.uint8)
        ours = self.run_provider(model.build(), {"a": a}, fused=None,
                                 left=None)
        floats = a * np.float64(np.float32(0.02))
        self.check_close(ours[0], floats @ weights.floats(), 0.02)
        self.check_close(ours[1], np.asarray(floats.sum()))


if __name__ == "__main__":
    unittest.main()

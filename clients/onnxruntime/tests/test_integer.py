"""DynamicQuantizeLinear -> MatMulInteger -> Cast -> Mul: one product."""
import unittest

import numpy as np
from onnx import TensorProto

import support
from support import Model

RNG = np.random.default_rng(12)
K, N = 96, 64


class Factor:
    """Weights of one MatMulInteger."""

    def __init__(self, kind=np.int8, per_column=False, zero=True):
        limits = np.iinfo(kind)
        self.q = RNG.integers(limits.min, limits.max + 1, (K, N)).astype(kind)
        self.scale = RNG.uniform(0.01, 0.02, N if per_column else ()).astype(
            np.float32)
        self.zero = RNG.integers(limits.min, limits.max + 1,
                                 N if per_column else ()).astype(kind) \
            if zero else None

    def floats(self):
        zero = 0 if self.zero is None else self.zero.astype(np.float64)
        return (self.q - zero) * self.scale.astype(np.float64)

    def add(self, model, i, quantized):
        q, scale, zero_point = quantized
        inputs = [q, model.constant(f"w{i}", self.q), zero_point]
        if self.zero is not None:
            inputs.append(model.constant(f"z{i}", self.zero))
        sums = model.node("MatMulInteger", inputs, f"i{i}")
        floats = model.node("Cast", [sums], f"c{i}", to=TensorProto.FLOAT)
        factor = model.node("Mul", [
            scale, model.constant(f"s{i}", self.scale)], f"f{i}")
        return model.node("Mul", [floats, factor], f"y{i}")


def quantized_again(a):
    """DynamicQuantizeLinear's formula in f32, and back in f64."""
    low, high = min(a.min(), np.float32(0)), max(a.max(), np.float32(0))
    scale = np.float32((high - low) / np.float32(255))
    zero = np.clip(np.rint(np.float32(-low / scale)), 0, 255)
    q = np.clip(np.rint(a / scale) + zero, 0, 255)
    return (q.astype(np.float64) - zero) * np.float64(scale)


class Integer(support.ProviderTest):
    def model(self, factors, a_dims, bias=None, opset=21):
        model = Model(opset, support.ir_version_of(opset))
        model.input("a", TensorProto.FLOAT, a_dims)
        quantized = ["q", "qs", "qz"]
        model.node("DynamicQuantizeLinear", ["a"], quantized)
        for i, factor in enumerate(factors):
            value = factor.add(model, i, quantized)
            if bias is not None:
                value = model.node("Add", [
                    value, model.constant(f"bias{i}", bias)], f"yb{i}")
            model.output(value, TensorProto.FLOAT, a_dims[:-1] + [N])
        return model.build()

    def check(self, factors, a, fused=1, **of_model):
        model = self.model(factors, ["d"] * (a.ndim - 1) + [K], **of_model)
        ours = self.run_provider(model, {"a": a}, fused=fused)
        # Not ONNX Runtime's results: its u8 x s8 saturates on CPUs that have
        # AVX2 alone.
        for mine, factor in zip(ours, factors):
            expected = quantized_again(a) @ factor.floats()
            if of_model.get("bias") is not None:
                expected = expected + of_model["bias"]
            self.check_close(mine, expected)

    def test_kinds_of_weights(self):
        for kind in (np.int8, np.uint8):
            for per_column in (False, True):
                for zero in (False, True):
                    with self.subTest(kind=kind, per_column=per_column,
                                      zero=zero):
                        factor = Factor(kind, per_column, zero)
                        for rows in (1, 5, 64):
                            a = RNG.standard_normal((rows, K)).astype(
                                np.float32)
                            self.check([factor], a)

    def test_opsets(self):
        a = RNG.standard_normal((3, K)).astype(np.float32)
        for opset in support.opsets(11):
            with self.subTest(opset=opset):
                self.check([Factor()], a, opset=opset)

    def test_batches_and_bias(self):
        a = RNG.standard_normal((2, 3, K)).astype(np.float32)
        self.check([Factor()], a, bias=RNG.standard_normal(N).astype(
            np.float32))

    def test_products_of_one_activation(self):
        a = RNG.standard_normal((4, K)).astype(np.float32)
        self.check([Factor(), Factor(), Factor(per_column=True)], a)

    def test_faster_wants_few_rows(self):
        a = RNG.standard_normal((4, K)).astype(np.float32)
        for dims, fused in ((["m", K], 0), ([4, K], 1)):
            self.run_provider(self.model([Factor()], dims), {"a": a},
                              claim="faster", fused=fused, left=None)

    def test_quantized_values_with_other_uses(self):
        model = self.model([Factor()], ["m", K])
        model.graph.output.append(support.helper.make_tensor_value_info(
            "q", TensorProto.UINT8, ["m", K]))
        a = RNG.standard_normal((4, K)).astype(np.float32)
        # DynamicQuantizeLinear by itself; the rest is ONNX Runtime's.
        ours = self.run_provider(model, {"a": a}, fused=1, left=None)
        theirs = support.stock(model).run(None, {"a": a})
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_array_equal(ours[0], theirs[0])


if __name__ == "__main__":
    unittest.main()

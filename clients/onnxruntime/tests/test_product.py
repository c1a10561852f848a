"""Products of dequantized weights: what is before the weights, and what follows
the product."""
import unittest

import numpy as np
from onnx import TensorProto

import support
from support import Model, pack

RNG = np.random.default_rng(11)
K, N = 96, 64
TYPES = {"uint4": (TensorProto.UINT4, 0, 16, 4),
         "int4": (TensorProto.INT4, -8, 8, 4),
         "uint8": (TensorProto.UINT8, 0, 256, 8),
         "int8": (TensorProto.INT8, -128, 128, 8),
         "uint16": (TensorProto.UINT16, 0, 65536, 16),
         "int16": (TensorProto.INT16, -32768, 32768, 16)}


def raw(values, bits):
    return pack(values, bits) if bits < 8 \
        else values.astype({8: np.uint8, 16: np.uint16}[bits])


class Weights:
    """Dequantized weights of a model, and what they stand for."""

    def __init__(self, name, shape=(K, N), axis=1, block=0, zero=True):
        self.data_type, low, high, self.bits = TYPES[name]
        self.shape, self.axis, self.block = shape, axis, block
        self.q = RNG.integers(low, high, shape)
        self.scale_shape = [shape[axis]] if not block else [
            size if i != axis else -(-size // block)
            for i, size in enumerate(shape)]
        self.scale = RNG.uniform(0.5, 1.5, self.scale_shape).astype(
            np.float32) * np.float32(4 / (1 << self.bits))
        self.zero = RNG.integers(low, high, self.scale_shape) if zero else None

    def wide(self, array):
        if self.block:
            return np.repeat(array, self.block, self.axis)
        dims = [1] * len(self.shape)
        dims[self.axis] = -1
        return np.asarray(array).reshape(dims)

    def floats(self):
        zero = 0 if self.zero is None else self.wide(self.zero)
        return (self.q - zero) * self.wide(self.scale).astype(np.float64)

    def add(self, model, prefix="w"):
        inputs = [
            model.constant(prefix, raw(self.q, self.bits), self.data_type,
                           list(self.shape)),
            model.constant(prefix + "_scale", self.scale)]
        if self.zero is not None:
            inputs.append(model.constant(
                prefix + "_zero", raw(self.zero, self.bits), self.data_type,
                self.scale_shape))
        attributes = {"axis": self.axis}
        if self.block:
            attributes["block_size"] = self.block
        return model.node("DequantizeLinear", inputs, prefix + "_floats",
                          **attributes)


def activation(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(weights, a_dims, before=(), product=("MatMul", {}), after=(),
             y_type=TensorProto.FLOAT, opset=21):
    """`before`, `after`: (op, further inputs, attributes)"""
    model = Model(opset, support.ir_version_of(opset))
    model.input("a", TensorProto.FLOAT, a_dims)
    value = weights.add(model)
    for i, (op_type, more, attributes) in enumerate(before):
        value = model.node(op_type, [value] + [
            model.constant(f"before{i}", array) for array in more],
            f"b{i}", **attributes)
    value = model.node(product[0], ["a", value], "p", **product[1])
    for i, (op_type, more, attributes) in enumerate(after):
        value = model.node(op_type, [value] + [
            model.constant(f"after{i}{j}", array)
            for j, array in enumerate(more)],
            f"y{i}", **attributes)
    model.output(value, y_type, [None] * len(a_dims))
    return model.build()


class Products(support.ProviderTest):
    def check(self, model, a, expected, **expectations):
        ours, = self.run_provider(model, {"a": a}, **expectations)
        self.check_close(ours, expected)
        return ours

    def test_types(self):
        for name in TYPES:
            for zero in (False, True):
                for axis, block in ((1, 0), (0, 0), (0, 32), (1, 16)):
                    with self.subTest(name=name, zero=zero, axis=axis,
                                      block=block):
                        weights = Weights(name, axis=axis, block=block,
                                          zero=zero)
                        a = activation(5, K)
                        self.check(model_of(weights, ["m", K]), a,
                                   a.astype(np.float64) @ weights.floats(),
                                   accuracy_level="0")

    def test_equals_onnxruntime(self):
        for name in ("uint16", "int16"):
            weights = Weights(name)
            a = activation(7, K)
            model = model_of(weights, ["m", K])
            ours, = self.run_provider(model, {"a": a})
            self.check_close(ours, support.stock(model).run(None, {"a": a})[0])

    def test_opsets(self):
        """Scales of an axis came with 13; before, there is one for all."""
        for opset in support.opsets(10):
            with self.subTest(opset=opset):
                q = RNG.integers(-128, 128, (K, N)).astype(np.int8)
                scale = RNG.uniform(0.01, 0.02, N if opset >= 13 else ())
                scale = np.asarray(scale, np.float32)
                model = Model(opset, support.ir_version_of(opset))
                model.input("a", TensorProto.FLOAT, ["m", K])
                model.node("DequantizeLinear", [
                    model.constant("q", q), model.constant("s", scale)], "w",
                    **({"axis": 1} if opset >= 13 else {}))
                model.node("MatMul", ["a", "w"], "y")
                model.output("y", TensorProto.FLOAT, ["m", N])
                a = activation(5, K)
                self.check(model.build(), a, a.astype(np.float64) @ (
                    q * scale.astype(np.float64)))

    def test_ranks(self):
        weights = Weights("uint8")
        for dims in ((1, K), (2, 3, K), (2, 1, 3, K)):
            a = activation(*dims)
            self.check(model_of(weights, ["d"] * (len(dims) - 1) + [K]), a,
                       a.astype(np.float64) @ weights.floats())

    def test_batches_of_weights(self):
        weights = Weights("uint8", shape=(3, K, N), axis=2)
        for dims in ((3, 4, K), (1, 4, K), (2, 3, 4, K)):
            a = activation(*dims)
            self.check(model_of(weights, list(dims)), a,
                       a.astype(np.float64) @ weights.floats())

    def test_no_rows(self):
        weights = Weights("uint16")
        ours, = self.run_provider(model_of(weights, ["m", K]),
                                  {"a": activation(0, K)})
        self.assertEqual((0, N), ours.shape)

    def test_floats_of_16_bits(self):
        """ONNX Runtime has no such product by itself; the provider does."""
        weights = Weights("uint8", zero=False)
        model = Model()
        model.input("a", TensorProto.FLOAT16, ["m", K])
        scale = weights.scale.astype(np.float16)
        model.node("DequantizeLinear", [
            model.constant("w", raw(weights.q, 8)),
            model.constant("s", scale)], "f", axis=1)
        model.node("MatMul", ["a", "f"], "y")
        model.output("y", TensorProto.FLOAT16, ["m", N])
        a = activation(5, K).astype(np.float16)
        ours, = self.run_provider(model.build(), {"a": a})
        floats = (weights.q * scale.astype(np.float32)).astype(np.float16)
        self.check_close(ours, a.astype(np.float64) @ floats, 1e-3)

    def test_floats_of_16_bits_at_level_4(self):
        """Weights of 4 bits in blocks, as ONNX Runtime has them, and others by
        the option."""
        for name, block, transposes, level in (
                ("uint4", 32, False, None), ("int4", 32, False, None),
                ("int8", 0, False, "4"), ("uint8", 0, True, "4"),
                ("int8", 0, False, "0")):
            with self.subTest(name=name, transposes=transposes, level=level):
                self.check_half(name, block, transposes, level)

    def check_half(self, name, block, transposes, level):
        shape = (N, K) if transposes else (K, N)
        axis = 0 if block or transposes else 1
        weights = Weights(name, shape=shape, axis=axis, block=block)
        weights.scale = weights.scale.astype(np.float16)
        model = Model()
        model.input("a", TensorProto.FLOAT16, ["m", K])
        value = weights.add(model)
        floats = weights.floats()
        if transposes:
            value = model.node("Transpose", [value], "t", perm=[1, 0])
            floats = floats.T
        value = model.node("MatMul", ["a", value], "p")
        bias = activation(N).astype(np.float16)
        if level is None:
            # With it ONNX Runtime makes a Gemm, exact before 1.32.
            bias[:] = 0
        else:
            value = model.node("Add", [
                value, model.constant("bias", bias)], "y")
        model.output(value, TensorProto.FLOAT16, ["m", N])
        a = activation(5, K).astype(np.float16)
        options = {} if level is None else {"accuracy_level": level}
        ours, = self.run_provider(model.build(), {"a": a}, **options)
        expected = a.astype(np.float64) @ floats + bias
        self.check_close(ours, expected, 2e-3 if level == "0" else 0.02)
        # 1.23 has no level 4 of floats of 16 bits.
        if level is None and support.MINOR > 23:
            theirs, = support.stock(model.build()).run(None, {"a": a})
            self.check_close(ours, theirs.astype(np.float64), 2e-3)

    def test_transpose(self):
        for name in TYPES:
            weights = Weights(name, shape=(N, K), axis=0)
            a = activation(4, K)
            model = model_of(weights, ["m", K],
                             before=[("Transpose", [], {"perm": [1, 0]})])
            self.check(model, a, a.astype(np.float64) @ weights.floats().T)

    def test_reshape(self):
        weights = Weights("uint8", shape=(K, 8, N // 8), axis=0)
        a = activation(4, K)
        shape = np.array([0, -1], np.int64)
        model = model_of(weights, ["m", K], before=[("Reshape", [shape], {})])
        self.check(model, a,
                   a.astype(np.float64) @ weights.floats().reshape(K, N))

    def test_gemm(self):
        bias = activation(N)
        for transposed in (0, 1):
            shape, axis = ((N, K), 0) if transposed else ((K, N), 1)
            weights = Weights("uint8", shape=shape, axis=axis)
            floats = weights.floats()
            model = Model()
            model.input("a", TensorProto.FLOAT, ["m", K])
            value = weights.add(model)
            model.constant("bias", bias)
            model.node("Gemm", ["a", value, "bias"], "y", transB=transposed)
            model.output("y", TensorProto.FLOAT, ["m", N])
            a = activation(6, K)
            expected = a.astype(np.float64) @ (
                floats.T if transposed else floats) + bias
            self.check(model.build(), a, expected)

    def test_what_follows(self):
        weights = Weights("uint16")
        a, bias, factor = activation(3, K), activation(N), activation(1, N)
        sums = a.astype(np.float64) @ weights.floats() + bias
        followers = {
            "Relu": (lambda x: np.maximum(x, 0), {}),
            "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), {}),
            "Tanh": (np.tanh, {}),
            "LeakyRelu": (lambda x: np.where(x < 0, 0.2 * x, x),
                          {"alpha": 0.2}),
            "Elu": (lambda x: np.where(x < 0, 0.7 * np.expm1(x), x),
                    {"alpha": 0.7}),
            "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {})}
        for op_type, (function, attributes) in followers.items():
            with self.subTest(op_type=op_type):
                model = model_of(weights, ["m", K], after=[
                    ("Add", [bias], {}), (op_type, [], attributes),
                    ("Mul", [factor], {})])
                self.check(model, a, function(sums) * factor)

    def test_level_follows_onnxruntime(self):
        """Of 4 bits in blocks ONNX Runtime makes MatMulNBits of level 4, or of
        what the session says: the same numbers, with claim=faster too."""
        weights = Weights("uint4", (384, 384), axis=0, block=32)
        a = activation(6, 384)
        model = model_of(weights, ["m", 384])
        for level in (None, "0"):
            ours, theirs = support.options(profile=True), support.options()
            if level is not None:
                for settings in (ours, theirs):
                    settings.add_session_config_entry(
                        "session.qdq_matmulnbits_accuracy_level", level)
            expected, = support.stock(model, theirs).run(None, {"a": a})
            session = support.session(
                model, ours, claim="all" if level else "faster")
            self.check_close(session.run(None, {"a": a})[0], expected)
            ran = support.nodes_by_provider(session.end_profiling())
            self.assertEqual(1, len(ran.get(support.NAME, ())), ran)

    def test_faster_leaves_what_is_slower(self):
        level_4 = {"accuracy_level": "4"}
        for name, k, options, fused in (
                ("int8", K, {}, 0), ("int8", 2304, level_4, 1),
                ("int8", K, level_4, 0), ("uint16", K, {}, 1)):
            self.run_provider(model_of(Weights(name, (k, N)), ["m", k]),
                              {"a": activation(6, k)}, claim="faster",
                              fused=fused, left=None, **options)

    def test_level_4(self):
        """Level 4 is exact but for the activation's 8 bits."""
        for name in ("uint4", "int8"):
            for block in (0, 32):
                weights = Weights(name, axis=0 if block else 1, block=block)
                a = activation(4, K)
                ours, = self.run_provider(model_of(weights, ["m", K]),
                                          {"a": a}, accuracy_level="4")
                expected = a.astype(np.float64) @ weights.floats()
                self.check_close(ours, expected, 0.02)
                exact, = self.run_provider(model_of(weights, ["m", K]),
                                           {"a": a}, accuracy_level="0")
                self.check_close(exact, expected)
                self.assertFalse(np.array_equal(ours, exact))


class Refused(support.ProviderTest):
    def test_weights_used_twice(self):
        """ONNX Runtime gives each use a dequantize of its own."""
        weights = Weights("uint8")
        model = Model()
        model.input("a", TensorProto.FLOAT, ["m", K])
        floats = weights.add(model)
        model.node("MatMul", ["a", floats], "y")
        model.output("y", TensorProto.FLOAT, ["m", N])
        model.output(floats, TensorProto.FLOAT, [K, N])
        a = activation(3, K)
        ours = self.run_provider(model.build(), {"a": a}, fused=2)
        self.check_close(ours[0], a.astype(np.float64) @ weights.floats())

    def test_weights_of_floats(self):
        model = Model()
        model.input("a", TensorProto.FLOAT, ["m", K])
        model.node("MatMul", ["a", model.constant("w", activation(K, N))],
                   "y")
        model.output("y", TensorProto.FLOAT, ["m", N])
        self.run_provider(model.build(), {"a": activation(3, K)}, fused=0,
                          left=1)

    def test_a_vector(self):
        weights = Weights("uint16")
        model = model_of(weights, [K])
        ours, = self.run_provider(model, {"a": activation(K)}, left=1)
        self.assertEqual((N,), ours.shape)

    def test_bias_with_rows(self):
        """ONNX Runtime makes it a Gemm's; one that is not constant stays."""
        weights = Weights("uint16")
        bias = activation(3, N)
        a = activation(3, K)
        model = model_of(weights, [3, K], after=[("Add", [bias], {})])
        expected = a.astype(np.float64) @ weights.floats() + bias
        ours, = self.run_provider(model, {"a": a})
        self.check_close(ours, expected)
        moved = [i for i in model.graph.initializer if i.name == "after00"]
        model.graph.initializer.remove(moved[0])
        model.graph.input.append(support.helper.make_tensor_value_info(
            "after00", TensorProto.FLOAT, ["m", N]))
        ours, = self.run_provider(model, {"a": a, "after00": bias}, left=1)
        self.check_close(ours, expected)

    def test_a_product_inside_a_branch(self):
        """Taken from ONNX Runtime 1.25 on, right in any case."""
        weights = Weights("uint16")
        branch = Model()
        value = branch.node("MatMul", ["a", weights.add(branch)], "y")
        branch.output(value, TensorProto.FLOAT, ["m", N])
        other = Model()
        other.output(other.node("MatMul", [
            "a", other.constant("f", np.zeros((K, N), np.float32))], "z"),
            TensorProto.FLOAT, ["m", N])
        model = Model()
        model.input("a", TensorProto.FLOAT, ["m", K])
        model.input("c", TensorProto.BOOL, [])
        model.node("If", ["c"], "r", then_branch=branch.build().graph,
                   else_branch=other.build().graph)
        model.output("r", TensorProto.FLOAT, ["m", N])
        a = activation(3, K)
        expected = a.astype(np.float64) @ weights.floats()
        ours, = self.run_provider(
            model.build(), {"a": a, "c": np.array(True)},
            fused=1 if support.MINOR >= 25 else 0, left=None)
        self.check_close(ours, expected)


if __name__ == "__main__":
    unittest.main()

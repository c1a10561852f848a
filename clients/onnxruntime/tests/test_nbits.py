"""com.microsoft MatMulNBits."""
import unittest

import numpy as np
from onnx import TensorProto, helper

import support
from support import MICROSOFT, Model, pack

RNG = np.random.default_rng(25)


class Weights:
    """Random weights of `bits`, and what they stand for."""

    def __init__(self, k, n, bits, block, zps="packed"):
        self.k, self.n, self.bits, self.block = k, n, bits, block
        blocks = -(-k // block)
        q = RNG.integers(0, 1 << bits, (n, blocks * block))
        self.packed = pack(q, bits).reshape(n, blocks, block * bits // 8)
        self.scales = RNG.uniform(0.5, 1.5, (n, blocks)).astype(np.float32)
        self.scales *= 0.1
        zero = np.full((n, blocks), 1 << (bits - 1), np.float64)
        self.zps = None
        if zps == "packed":
            values = RNG.integers(0, 1 << bits, (n, blocks))
            zero = values.astype(np.float64)
            padded = np.pad(values, ((0, 0), (0, -blocks % (8 // bits))))
            self.zps = pack(padded, bits).reshape(n, -1)
        elif zps == "float":
            self.zps = RNG.uniform(0, 1 << bits, (n, blocks)).astype(
                np.float32)
            zero = self.zps.astype(np.float64)
        self.q, self.zero = q, zero
        wide = (q - np.repeat(zero, block, 1)) * np.repeat(
            self.scales.astype(np.float64), block, 1)
        self.floats = wide[:, :k].T

    def half(self):
        """The same with scales, and zero points if floats, of 16 bits."""
        block = self.block
        self.scales = self.scales.astype(np.float16)
        if self.zps is not None and self.zps.dtype == np.float32:
            self.zps = self.zps.astype(np.float16)
        zero = np.repeat(self.zero.astype(np.float16).astype(np.float64),
                         block, 1)
        scales = np.repeat(self.scales.astype(np.float64), block, 1)
        self.floats = ((self.q - zero) * scales)[:, :self.k].T
        return self

    def model(self, dims, level=0, bias=None, follow=(), opset=21, **extra):
        model = Model(opset, support.ir_version_of(opset))
        of_floats = helper.np_dtype_to_tensor_dtype(self.scales.dtype)
        model.input("a", of_floats, dims)
        inputs = ["a", model.constant("b", self.packed),
                  model.constant("s", self.scales.reshape(-1))]
        inputs.append("" if self.zps is None
                      else model.constant("z", self.zps.reshape(-1)
                                          if self.zps.dtype == np.uint8
                                          else self.zps))
        if bias is not None:
            inputs += ["", model.constant("bias", bias)]
        attributes = dict(K=self.k, N=self.n, bits=self.bits,
                          block_size=self.block, accuracy_level=level)
        attributes.update(extra)
        value = model.node("MatMulNBits", inputs, "y0", domain=MICROSOFT,
                           **attributes)
        for i, op_type in enumerate(follow):
            value = model.node(op_type, [value], f"y{i + 1}")
        model.output(value, of_floats, dims[:-1] + [self.n])
        return model.build()


def activation(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


class NBits(support.ProviderTest):
    def check(self, weights, a, bound=1e-4, **of_model):
        model = weights.model(["m"] * (a.ndim - 1) + [weights.k], **of_model)
        ours, = self.run_provider(model, {"a": a})
        expected = a.astype(np.float64) @ weights.floats
        if of_model.get("bias") is not None:
            expected = expected + of_model["bias"]
        self.check_close(ours, expected, bound)
        return model, ours

    def test_bits_blocks_and_zero_points(self):
        for bits in (2, 4, 8):
            for block in (16, 32, 128):
                for zps in (None, "packed", "float"):
                    with self.subTest(bits=bits, block=block, zps=zps):
                        self.check(Weights(256, 96, bits, block, zps),
                                   activation(3, 256))

    def test_depth_padded_to_blocks(self):
        for bits in (2, 4, 8):
            for k in (120, 40, 33, 257):
                for zps in (None, "packed"):
                    with self.subTest(bits=bits, k=k, zps=zps):
                        self.check(Weights(k, 64, bits, 32, zps),
                                   activation(5, k))

    def test_bias_and_batches(self):
        weights = Weights(128, 64, 4, 32)
        self.check(weights, activation(2, 3, 128), bias=activation(64))
        self.check(weights, activation(2, 2, 2, 128))
        self.check(weights, activation(1, 1, 128))

    def test_many_shapes_of_one_session(self):
        weights = Weights(128, 64, 4, 32)
        session = support.session(weights.model(["m", 128]))
        for m in list(range(1, 50)) + [1, 7, 49]:
            a = activation(m, 128)
            self.check_close(session.run(None, {"a": a})[0],
                             a.astype(np.float64) @ weights.floats)

    def test_faster_leaves_small_products(self):
        """At one row, or rows that are not known, a node costs more than a
        small product gains."""
        for width, bits, level, rows, zps, fused in (
                (128, 4, 0, "m", None, 0), (256, 4, 0, "m", None, 1),
                (128, 4, 0, 4, None, 1), (64, 8, 0, "m", None, 1),
                (256, 4, 4, "m", None, 0), (384, 4, 4, "m", None, 1),
                (256, 8, 4, 8, None, 1), (416, 4, 0, "m", None, 1),
                (416, 4, 0, "m", "packed", 0), (384, 4, 0, "m", "packed", 1)):
            with self.subTest(width=width, bits=bits, level=level, rows=rows,
                              zps=zps):
                weights = Weights(width, width, bits, 32, zps)
                a = activation(rows if rows != "m" else 1, width)
                self.run_provider(
                    weights.model([rows, width], level=level), {"a": a},
                    claim="faster", fused=fused, left=None)

    def test_what_follows_is_fused(self):
        weights = Weights(64, 32, 4, 32)
        a = activation(4, 64)
        model = weights.model(["m", 64], follow=["Relu", "Tanh"])
        ours, = self.run_provider(model, {"a": a})
        expected = np.tanh(np.maximum(a.astype(np.float64) @ weights.floats,
                                      0))
        self.check_close(ours, expected)

    def test_equals_onnxruntime_at_level_0(self):
        weights = Weights(256, 64, 4, 32)
        a = activation(9, 256)
        model, ours = self.check(weights, a)
        self.check_close(ours, support.stock(model).run(None, {"a": a})[0])

    def test_equals_onnxruntime_at_level_4(self):
        for block in (32, 128):
            for zps in (None, "packed"):
                for rows in (1, 2, 8, 33):
                    with self.subTest(block=block, zps=zps, rows=rows):
                        weights = Weights(256, 64, 4, block, zps)
                        a = activation(rows, 256)
                        model, ours = self.check(weights, a, bound=0.02,
                                                 level=4)
                        theirs = support.stock(model).run(None, {"a": a})[0]
                        self.check_close(ours, theirs)

    def test_floats_of_16_bits(self):
        """Activations, scales, zero points, bias and result."""
        for bits in (2, 4, 8):
            for zps in (None, "packed", "float"):
                for level in (0, 4):
                    for rows in (1, 7):
                        with self.subTest(bits=bits, zps=zps, level=level,
                                          rows=rows):
                            self.check(Weights(128, 48, bits, 32, zps).half(),
                                       activation(rows, 128).astype(
                                           np.float16),
                                       bound=0.02 if level else 1e-3,
                                       level=level,
                                       bias=activation(48).astype(np.float16))

    def test_equals_onnxruntime_of_16_bits(self):
        for level in (0, 4):
            for zps in (None, "packed"):
                weights = Weights(256, 64, 4, 32, zps).half()
                a = activation(9, 256).astype(np.float16)
                model, ours = self.check(weights, a, level=level, bound=0.02)
                theirs = support.stock(model).run(None, {"a": a})[0]
                self.check_close(ours, theirs.astype(np.float64), 2e-3)

    def test_opsets(self):
        for opset in (11, 13, 19, 23 if support.MINOR < 32 else 25):
            weights = Weights(64, 32, 4, 32)
            a = activation(4, 64)
            model = weights.model(["m", 64], opset=opset)
            ours, = self.run_provider(model, {"a": a})
            self.check_close(ours, a.astype(np.float64) @ weights.floats)

    def test_the_option_chooses_the_level(self):
        weights = Weights(256, 64, 4, 32)
        a = activation(4, 256)
        at_level = [weights.model(["m", 256], level=i) for i in (0, 4)]
        for option, other in ((0, 1), (4, 0)):
            theirs, = self.run_provider(at_level[1 - other], {"a": a})
            ours, = self.run_provider(at_level[other], {"a": a},
                                      accuracy_level=str(option))
            np.testing.assert_array_equal(ours, theirs)


class Refused(support.ProviderTest):
    def test_group_indices(self):
        weights = Weights(64, 32, 4, 32)
        model = weights.model(["m", 64])
        index = support.tensor(np.zeros(64, np.int32), "g")
        model.graph.initializer.append(index)
        model.graph.node[0].input.append("g")
        self.run_provider(model, {"a": activation(2, 64)}, fused=0, left=1)

    def test_weights_that_are_an_input(self):
        weights = Weights(64, 32, 4, 32)
        model = weights.model(["m", 64])
        moved = [i for i in model.graph.initializer if i.name == "b"][0]
        model.graph.initializer.remove(moved)
        model.graph.input.append(support.helper.make_tensor_value_info(
            "b", TensorProto.UINT8, list(weights.packed.shape)))
        self.run_provider(model, {"a": activation(2, 64),
                                  "b": weights.packed}, fused=0, left=1)

    def test_claim_none(self):
        weights = Weights(64, 32, 4, 32)
        model = weights.model(["m", 64])
        self.run_provider(model, {"a": activation(2, 64)}, fused=0, left=1,
                          claim="none")


if __name__ == "__main__":
    unittest.main()

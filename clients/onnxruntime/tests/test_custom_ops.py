"""Quark's ops: by register_custom_ops_library() alone, and with the provider.
"""
import unittest

import numpy as np
from onnx import TensorProto

import support
from support import QUARK, VITIS, Model

RNG = np.random.default_rng(13)
NAMES = {QUARK: ("ExtendedDequantizeLinear", "ExtendedQuantizeLinear"),
         VITIS: ("VitisDequantizeLinear", "VitisQuantizeLinear")}
INTEGERS = {TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8,
            TensorProto.UINT16: np.uint16, TensorProto.INT16: np.int16,
            TensorProto.UINT32: np.uint32, TensorProto.INT32: np.int32}


def bfloat16(values):
    """Of f32 to the nearest even, as bits."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widened(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class CustomOps:
    """The cases; two classes below run them."""

    def check(self, model, feeds, expected):
        raise NotImplementedError

    def dequantize(self, domain, data_type, x, scale, zero, **attributes):
        """x is a constant, since Python has no bf16 arrays."""
        model = Model(19, 9)
        model.input("a", TensorProto.FLOAT, ["n"])
        inputs = [model.constant("x", x, data_type, list(x.shape)),
                  model.constant("s", scale)]
        if zero is not None:
            inputs.append(model.constant("z", zero, data_type,
                                         list(scale.shape)))
        value = model.node(NAMES[domain][0], inputs, "d", domain=domain,
                           **attributes)
        model.output(value, TensorProto.FLOAT, list(x.shape))
        model.output(model.node("Identity", ["a"], "b"), TensorProto.FLOAT,
                     ["n"])
        return model.build(), {"a": np.zeros(1, np.float32)}

    def test_dequantize_integers(self):
        for domain in NAMES:
            for data_type, kind in INTEGERS.items():
                for axis in (None, 0, 1):
                    for has_zero in (False, True):
                        with self.subTest(domain=domain, data_type=data_type,
                                          axis=axis, has_zero=has_zero):
                            self.check_integers(domain, data_type, kind,
                                                axis, has_zero)

    def check_integers(self, domain, data_type, kind, axis, has_zero):
        limits = np.iinfo(kind)
        x = RNG.integers(limits.min, limits.max + 1, (6, 4)).astype(kind)
        shape = () if axis is None else (x.shape[axis],)
        scale = RNG.uniform(0.1, 2, shape).astype(np.float32)
        zero = RNG.integers(limits.min, limits.max + 1, shape).astype(kind) \
            if has_zero else None
        attributes = {} if axis is None else {"axis": axis}
        model, feeds = self.dequantize(domain, data_type, x, scale, zero,
                                       **attributes)
        dims = [1, 1]
        if axis is not None:
            dims[axis] = -1
        offset = 0 if zero is None else zero.astype(np.int64).reshape(dims)
        expected = (x.astype(np.int64) - offset).astype(np.float32) \
            * scale.reshape(dims)
        self.check(model, feeds, expected)

    def test_dequantize_floats(self):
        values = RNG.standard_normal((5, 3)).astype(np.float32) * 4
        scale = np.array(0.5, np.float32)
        for data_type, stored, wide in (
                (TensorProto.FLOAT16, values.astype(np.float16),
                 values.astype(np.float16).astype(np.float32)),
                (TensorProto.BFLOAT16, bfloat16(values),
                 widened(bfloat16(values)))):
            one = np.array(1, np.float16) \
                if data_type == TensorProto.FLOAT16 else bfloat16([1.0])
            for zero, offset in ((None, 0), (one.reshape(()), 1)):
                model, feeds = self.dequantize(QUARK, data_type, stored,
                                               scale, zero)
                self.check(model, feeds, (wide - np.float32(offset)) * scale)

    def test_quantize(self):
        for domain in NAMES:
            for data_type, kind in INTEGERS.items():
                with self.subTest(domain=domain, data_type=data_type):
                    limits = np.iinfo(kind)
                    model = Model(19, 9)
                    model.input("x", TensorProto.FLOAT, ["m", "n"])
                    model.node(NAMES[domain][1], [
                        "x", model.constant("s", np.float32(0.25)),
                        model.constant("z", kind(3))], "y", domain=domain)
                    model.output("y", data_type, ["m", "n"])
                    x = RNG.standard_normal((7, 9)).astype(np.float32) * 100
                    expected = np.clip(np.rint(x / np.float32(0.25)) + 3,
                                       limits.min, limits.max).astype(kind)
                    self.check(model.build(), {"x": x}, expected)

    def test_quantize_without_zero_point(self):
        model = Model(19, 9)
        model.input("x", TensorProto.FLOAT, ["m"])
        model.node("ExtendedQuantizeLinear", [
            "x", model.constant("s", np.float32(0.5))], "y", domain=QUARK)
        model.output("y", TensorProto.UINT8, ["m"])
        self.check(model.build(), {"x": np.array([-1, 1, 1e3], np.float32)},
                   np.array([0, 2, 255], np.uint8))


class Registered(CustomOps, unittest.TestCase):
    """Any ONNX Runtime: the CPU provider runs the registered kernels."""

    def check(self, model, feeds, expected):
        session = support.stock(model, support.options(custom_ops=True))
        np.testing.assert_array_equal(expected, session.run(None, feeds)[0])

    def test_wrong_scale(self):
        """One sentence at run time, no crash."""
        model, feeds = self.dequantize(
            QUARK, TensorProto.UINT8, np.zeros((3, 4), np.uint8),
            np.ones(5, np.float32), None)
        session = support.stock(model, support.options(custom_ops=True))
        with self.assertRaisesRegex(Exception, "dnnl_dequant|dequantize"):
            session.run(None, feeds)


class Fused(CustomOps, support.ProviderTest):
    """The provider runs them itself."""

    def setUp(self):
        if support.MINOR < 23:
            self.skipTest("this ONNX Runtime has no plugin providers")

    def check(self, model, feeds, expected):
        ours = self.run_provider(model, feeds, custom_ops=True, left=None)
        np.testing.assert_array_equal(expected, ours[0])

    def test_product(self):
        """ExtendedDequantizeLinear -> MatMul is one node."""
        q = RNG.integers(0, 65536, (64, 32)).astype(np.uint16)
        scale = RNG.uniform(1e-5, 2e-5, 32).astype(np.float32)
        zero = RNG.integers(30000, 35000, 32).astype(np.uint16)
        model = Model(19, 9)
        model.input("a", TensorProto.FLOAT, ["m", 64])
        model.node("ExtendedDequantizeLinear", [
            model.constant("q", q), model.constant("s", scale),
            model.constant("z", zero)], "w", domain=QUARK, axis=1)
        model.node("MatMul", ["a", "w"], "y")
        model.output("y", TensorProto.FLOAT, ["m", 32])
        a = RNG.standard_normal((5, 64)).astype(np.float32)
        ours, = self.run_provider(model.build(), {"a": a}, custom_ops=True)
        floats = (q.astype(np.float64) - zero) * scale
        self.check_close(ours, a.astype(np.float64) @ floats)

    def test_faster_takes_products(self):
        """ONNX Runtime neither multiplies such weights as integers nor fuses
        such chains: it would dequantize the weights at every run."""
        q = RNG.integers(-128, 128, (64, 32)).astype(np.int8)
        x = RNG.integers(0, 256, (5, 64)).astype(np.uint8)
        for domain, (dequantize, _) in NAMES.items():
            for is_chain in (False, True):
                model = Model(19, 9)
                scale = model.constant("s", np.float32(0.5))
                dims, a = ["m", 64], RNG.standard_normal((5, 64))
                if is_chain:
                    model.input("x", TensorProto.UINT8, dims)
                    model.node(dequantize, ["x", scale], "a", domain=domain)
                    feeds, a = {"x": x}, x * 0.5
                else:
                    model.input("a", TensorProto.FLOAT, dims)
                    feeds = {"a": a.astype(np.float32)}
                model.node(dequantize, [model.constant("q", q), scale], "w",
                           domain=domain)
                model.node("MatMul", ["a", "w"], "y")
                model.output("y", TensorProto.FLOAT, ["m", 32])
                with self.subTest(domain=domain, is_chain=is_chain):
                    ours, = self.run_provider(
                        model.build(), feeds, custom_ops=True, claim="faster")
                    self.check_close(ours, a.astype(np.float64) @ (q * 0.5))

    def test_schema_by_the_provider(self):
        """Nothing was registered but the provider."""
        if not support.brings_schema():
            self.skipTest("the headers or ONNX Runtime are older than 1.24")
        x = RNG.integers(0, 65536, (5, 3)).astype(np.uint16)
        for domain in NAMES:
            model, feeds = self.dequantize(
                domain, TensorProto.UINT16, x, np.array(0.5, np.float32), None)
            ours = self.run_provider(model, feeds, left=None)
            np.testing.assert_array_equal(x * np.float32(0.5), ours[0])
            # Claimed or not: the kernel comes with the schema.
            ours = self.run_provider(model, feeds, fused=0, left=None,
                                     claim="none")
            np.testing.assert_array_equal(x * np.float32(0.5), ours[0])


if __name__ == "__main__":
    unittest.main()

"""DequantizeLinear, QuantizeLinear and DynamicQuantizeLinear by themselves:
the bits of ONNX Runtime's own kernels, or of ONNX's node tests."""
import glob
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import support
from support import Model

RNG = np.random.default_rng(10)
INTEGERS = {TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8,
            TensorProto.UINT16: np.uint16, TensorProto.INT16: np.int16,
            TensorProto.INT32: np.int32}
SMALL = {TensorProto.UINT4: (0, 16), TensorProto.INT4: (-8, 8)}


def integers(data_type, dims):
    kind = np.iinfo(INTEGERS[data_type])
    return RNG.integers(kind.min, int(kind.max) + 1, dims).astype(kind.dtype)


def scale_of(shape):
    return RNG.uniform(0.01, 2, shape).astype(np.float32)


class Dequantize(support.ProviderTest):
    def model(self, data_type, dims, scale, zero, opset=21, **attributes):
        model = Model(opset, support.ir_version_of(opset))
        model.input("x", data_type, ["d"] * len(dims))
        inputs = ["x", model.constant("scale", scale)]
        if zero is not None:
            inputs.append(model.constant("zero", zero, data_type,
                                         list(scale.shape)))
        model.output(model.node("DequantizeLinear", inputs, "y",
                                **attributes),
                     TensorProto.FLOAT, ["d"] * len(dims))
        return model.build()

    def test_types_per_tensor_and_axis(self):
        for data_type in INTEGERS:
            for axis in (None, 0, 1, -1):
                with self.subTest(data_type=data_type, axis=axis):
                    dims = (6, 5, 7)
                    scale = scale_of(() if axis is None else dims[axis])
                    # ONNX knows no zero point of int32 but 0.
                    zero = None if data_type == TensorProto.INT32 \
                        else integers(data_type, scale.shape)
                    attributes = {} if axis is None else {"axis": axis}
                    self.check_bits(
                        self.model(data_type, dims, scale, zero,
                                   **attributes),
                        {"x": integers(data_type, dims)})

    def test_blocks(self):
        for axis, shape in ((0, (3, 10)), (1, (12, 3)), (1, (12, 2))):
            dims = (12, 10)
            block = -(-dims[axis] // shape[axis])
            with self.subTest(axis=axis, block=block):
                scale = scale_of(shape)
                zero = integers(TensorProto.UINT8, shape)
                model = self.model(TensorProto.UINT8, dims, scale, zero,
                                   axis=axis, block_size=block)
                x = integers(TensorProto.UINT8, dims)
                # ONNX Runtime demands whole blocks; the formula does not.
                ours, = self.run_provider(model, {"x": x})

                def wide(array):
                    return np.repeat(array, block, axis)[:12, :10]
                expected = (x.astype(np.float32) - wide(zero)) * wide(scale)
                np.testing.assert_array_equal(expected, ours)

    def test_four_bits(self):
        for data_type, (low, high) in SMALL.items():
            model = Model()
            x = RNG.integers(low, high, (4, 10))
            zero = RNG.integers(low, high, 4)
            model.constant("x", support.pack(x, 4), data_type, [4, 10])
            model.constant("zero", support.pack(zero, 4), data_type, [4])
            scale = scale_of(4)
            model.constant("scale", scale)
            # An input, so that no node of the model is constant.
            model.input("a", TensorProto.FLOAT, [4, 10])
            model.node("DequantizeLinear", ["x", "scale", "zero"], "y",
                       axis=0)
            model.output("y", TensorProto.FLOAT, [4, 10])
            model.output(model.node("Identity", ["a"], "b"),
                         TensorProto.FLOAT, [4, 10])
            a = np.zeros((4, 10), np.float32)
            ours = self.run_provider(model.build(), {"a": a}, left=None)
            expected = (x - zero[:, None]).astype(np.float32) * scale[:, None]
            np.testing.assert_array_equal(expected, ours[0])

    def test_opsets(self):
        for opset in support.opsets(10):
            with self.subTest(opset=opset):
                model = self.model(TensorProto.UINT8, (3, 4), scale_of(()),
                                   np.uint8(7), opset)
                self.check_bits(model,
                                {"x": integers(TensorProto.UINT8, (3, 4))})

    def test_no_elements_and_one(self):
        model = self.model(TensorProto.UINT8, (3, 4), scale_of(()),
                           np.uint8(7))
        for dims in ((0, 4), (3, 0), (1, 1)):
            self.check_bits(model, {"x": integers(TensorProto.UINT8, dims)},
                            left=None, fused=1)


class Quantize(support.ProviderTest):
    def model(self, data_type, rank, scale, zero, opset=21, **attributes):
        model = Model(opset, support.ir_version_of(opset))
        model.input("x", TensorProto.FLOAT, ["d"] * rank)
        model.node("QuantizeLinear", [
            "x", model.constant("scale", scale),
            model.constant("zero", zero, data_type, list(scale.shape))],
            "y", **attributes)
        model.output("y", data_type, ["d"] * rank)
        return model.build()

    def test_types_per_tensor_and_axis(self):
        for data_type in INTEGERS:
            if data_type == TensorProto.INT32:
                continue
            for axis in (None, 0, 2):
                with self.subTest(data_type=data_type, axis=axis):
                    dims = (4, 5, 33)
                    scale = scale_of(() if axis is None else dims[axis])
                    x = RNG.standard_normal(dims).astype(np.float32) * 300
                    attributes = {} if axis is None else {"axis": axis}
                    self.check_bits(
                        self.model(data_type, 3, scale,
                                   integers(data_type, scale.shape),
                                   **attributes), {"x": x})

    def test_opsets(self):
        x = RNG.standard_normal((3, 4)).astype(np.float32) * 300
        for opset in support.opsets(10):
            with self.subTest(opset=opset):
                # Not ONNX Runtime's: 1.23 has no QuantizeLinear of 23.
                scale = np.float32(1.7)
                ours, = self.run_provider(self.model(
                    TensorProto.INT8, 2, scale, np.int8(-5), opset), {"x": x})
                np.testing.assert_array_equal(
                    np.clip(np.rint(x / scale) - 5, -128, 127), ours)

    def test_ties_and_ends(self):
        x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, np.inf, -np.inf],
                     np.float32)
        self.check_bits(self.model(TensorProto.INT8, 1,
                                   np.array(1, np.float32), np.int8(0)),
                        {"x": x})

    def test_types_that_python_lacks(self):
        """Quantized and dequantized in one model: floats of 8 bits, integers
        of 4."""
        for data_type in (TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2,
                          TensorProto.FLOAT8E4M3FNUZ,
                          TensorProto.FLOAT8E5M2FNUZ,
                          TensorProto.UINT4, TensorProto.INT4):
            with self.subTest(data_type=data_type):
                model = Model()
                model.input("x", TensorProto.FLOAT, ["m", "n"])
                model.constant("s", np.float32(0.3))
                model.constant("z", np.zeros(1, np.uint8), data_type, [])
                model.node("QuantizeLinear", ["x", "s", "z"], "q")
                model.node("DequantizeLinear", ["q", "s", "z"], "y")
                model.output("y", TensorProto.FLOAT, ["m", "n"])
                x = RNG.standard_normal((6, 8)).astype(np.float32) * 3
                x[0, :3] = 1e6, -1e6, 0
                self.check_bits(model.build(), {"x": x}, fused=2)

    def two_ops(self, data_type, opset, ir_version):
        model = Model(opset, ir_version)
        model.input("x", TensorProto.FLOAT, ["m", "n"])
        model.constant("s", np.float32(0.5))
        model.constant("z", np.zeros(1, np.uint8), data_type, [])
        model.node("QuantizeLinear", ["x", "s", "z"], "q")
        model.node("DequantizeLinear", ["q", "s", "z"], "y")
        model.output("y", TensorProto.FLOAT, ["m", "n"])
        return model.build()

    def test_integers_of_2_bits(self):
        if support.MINOR < 32:
            self.skipTest("2 bits were tried with ONNX Runtime 1.32 alone")
        x = RNG.standard_normal((6, 8)).astype(np.float32)
        for data_type in (TensorProto.UINT2, TensorProto.INT2):
            self.check_bits(self.two_ops(data_type, 25, 13), {"x": x},
                            fused=2)

    def test_floats_of_4_bits(self):
        """ONNX Runtime has no kernels for them."""
        if support.MINOR < 32:
            self.skipTest("4-bit floats were tried with ONNX Runtime 1.32")
        x = np.array([[0, 0.3, -0.8, 2.4, 3.1, 99]], np.float32)
        ours, = self.run_provider(self.two_ops(
            TensorProto.FLOAT4E2M1, 25, 13), {"x": x}, fused=2,
            claim="faster")
        np.testing.assert_array_equal([[0, 0.25, -0.75, 2, 3, 3]], ours)

    def test_microsofts_ops_of_16_bits(self):
        model = Model(19, 9)
        model.input("x", TensorProto.FLOAT, ["m", "n"])
        model.constant("s", np.float32(0.01))
        model.constant("z", np.uint16(30000))
        model.node("QuantizeLinear", ["x", "s", "z"], "q",
                   domain=support.MICROSOFT)
        model.node("DequantizeLinear", ["q", "s", "z"], "y",
                   domain=support.MICROSOFT)
        model.output("y", TensorProto.FLOAT, ["m", "n"])
        x = RNG.standard_normal((6, 8)).astype(np.float32) * 100
        self.check_bits(model.build(), {"x": x}, fused=2)

    def test_dynamic(self):
        for opset in support.opsets(11):
            with self.subTest(opset=opset):
                self.check_dynamic(opset)

    def check_dynamic(self, opset):
        model = Model(opset, support.ir_version_of(opset))
        model.input("x", TensorProto.FLOAT, ["m", "n"])
        model.node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
        model.output("y", TensorProto.UINT8, ["m", "n"])
        model.output("s", TensorProto.FLOAT, [])
        model.output("z", TensorProto.UINT8, [])
        model = model.build()
        for dims in ((1, 1), (3, 5), (64, 257)):
            x = RNG.standard_normal(dims).astype(np.float32)
            self.check_bits(model, {"x": x})


class NodeTests(support.ProviderTest):
    """ONNX's own node tests, through the provider."""

    OPS = ("DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear")

    # What Python's side of ONNX Runtime has arrays of.
    TYPES = {TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8,
             TensorProto.UINT16, TensorProto.INT16, TensorProto.INT32}

    def cases(self):
        folder = os.path.join(os.path.dirname(onnx.__file__),
                              "backend", "test", "data", "node")
        for path in sorted(glob.glob(os.path.join(folder, "*"))):
            model = onnx.load(os.path.join(path, "model.onnx"))
            values = list(model.graph.input) + list(model.graph.output)
            types = {value.type.tensor_type.elem_type for value in values}
            if len(model.graph.node) == 1 and not types - self.TYPES \
                    and model.graph.node[0].op_type in self.OPS:
                # The newest that the oldest ONNX Runtime reads.
                model.ir_version = min(model.ir_version, 11)
                opset = model.opset_import[0]
                opset.version = min(opset.version, 23)
                yield path, model

    def tensors(self, path, kind):
        paths = sorted(glob.glob(os.path.join(path, "test_data_set_0",
                                              kind + "_*.pb")))
        return [numpy_helper.to_array(onnx.load_tensor(file))
                for file in paths]

    def test_node_tests(self):
        ran = []
        for path, model in self.cases():
            name = os.path.basename(path)
            with self.subTest(case=name):
                names = [value.name for value in model.graph.input]
                feeds = dict(zip(names, self.tensors(path, "input")))
                ours = self.run_provider(model, feeds)
                for mine, expected in zip(ours,
                                          self.tensors(path, "output")):
                    self.assertEqual(expected.dtype, mine.dtype)
                    np.testing.assert_array_equal(expected, mine)
                ran.append(name)
        self.assertGreaterEqual(len(ran), 14, ran)


if __name__ == "__main__":
    unittest.main()

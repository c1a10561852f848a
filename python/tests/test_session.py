"""The execution provider in ONNX Runtime, where the wheel has it."""
import importlib.util
import os
import tempfile
import unittest
from unittest import mock

import numpy as np

import dnnl_dequant
from dnnl_dequant import _library

HAS_PROVIDER = os.path.exists(
    os.path.join(_library.FOLDER, "libdnnl_dequant_ort.so"))
MODULES = ("onnxruntime", "onnx")
MISSING = [name for name in MODULES if importlib.util.find_spec(name) is None]


class NamesTest(unittest.TestCase):
    def test_names(self):
        self.assertEqual(dnnl_dequant.get_ep_names(),
                         [dnnl_dequant.get_ep_name()])
        self.assertEqual(dnnl_dequant.get_ep_name(),
                         "DnnlDequantExecutionProvider")

    def test_the_path(self):
        if HAS_PROVIDER:
            self.assertTrue(os.path.exists(dnnl_dequant.get_library_path()))
        else:
            with self.assertRaisesRegex(RuntimeError, "has no execution prov"):
                dnnl_dequant.get_library_path()

    def test_without_onnxruntime(self):
        with mock.patch.dict("sys.modules", {"onnxruntime": None}):
            with self.assertRaisesRegex(RuntimeError, "1.23 or later: pip"):
                dnnl_dequant.session_options()

    def test_an_old_onnxruntime(self):
        old = mock.Mock(spec=["__version__", "SessionOptions"])
        old.__version__ = "1.22.1"
        with mock.patch.dict("sys.modules", {"onnxruntime": old}):
            with self.assertRaisesRegex(RuntimeError, "onnxruntime is 1.22.1"):
                dnnl_dequant.InferenceSession("model.onnx")

    def test_options_that_do_not_exist(self):
        with mock.patch.dict("sys.modules", {"onnxruntime": mock.Mock()}):
            with self.assertRaisesRegex(ValueError, "claim is 'some'; exp"):
                dnnl_dequant.session_options(claim="some")
            with self.assertRaisesRegex(ValueError, "accuracy_level is 7; e"):
                dnnl_dequant.session_options(7)


@unittest.skipUnless(HAS_PROVIDER, "the wheel has no execution provider: its "
                     "build was without ONNX Runtime's headers")
@unittest.skipIf(MISSING, f"this environment lacks {' and '.join(MISSING)}")
class SessionTest(unittest.TestCase):
    def model(self):
        """x @ dequantize(int8 weights), and the weights as floats."""
        from onnx import TensorProto, helper, numpy_helper
        random = np.random.default_rng(13)
        weight = random.integers(-128, 128, (64, 48)).astype(np.int8)
        scale = random.random(48).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("DequantizeLinear", ["w", "s"], ["f"], axis=1),
             helper.make_node("MatMul", ["x", "f"], ["y"])], "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                           ["rows", 64])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                           ["rows", 48])],
            [numpy_helper.from_array(weight, "w"),
             numpy_helper.from_array(scale, "s")])
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return made.SerializeToString(), weight * scale

    def check(self, session, weights):
        self.assertIn(dnnl_dequant.get_ep_name(), session.get_providers())
        x = np.random.default_rng(14).standard_normal((3, 64)).astype(
            np.float32)
        [y] = session.run(None, {"x": x})
        self.assertTrue(np.allclose(y, x @ weights, rtol=1e-4, atol=1e-3))

    def test_a_session_of_bytes(self):
        model, weights = self.model()
        self.check(dnnl_dequant.InferenceSession(model, claim="all"), weights)

    def test_a_session_of_a_path(self):
        model, weights = self.model()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(model)
            self.check(dnnl_dequant.InferenceSession(path, claim="all"),
                       weights)

    def test_session_options(self):
        import onnxruntime
        model, weights = self.model()
        for level in (None, 0):
            options = dnnl_dequant.session_options(level, claim="all")
            self.check(onnxruntime.InferenceSession(model, options), weights)


if __name__ == "__main__":
    unittest.main()

"""What the tests share: sessions with and without the provider, and proof of
which nodes the provider ran.

The environment variable DNNL_DEQUANT_ORT_LIBRARY names the provider's library.
"""
import json
import os
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

NAME = "DnnlDequantExecutionProvider"
LIBRARY = os.path.abspath(os.environ["DNNL_DEQUANT_ORT_LIBRARY"])
MINOR = int(ort.__version__.split(".")[1])
MICROSOFT = "com.microsoft"
QUARK = "com.amd.quark"
VITIS = "com.vai.quantize"

_registered = False


def register():
    """The provider's device, once a process."""
    global _registered
    if not _registered:
        ort.register_execution_provider_library(NAME, LIBRARY)
        _registered = True
    return [device for device in ort.get_ep_devices()
            if device.ep_name == NAME]


def options(threads=2, custom_ops=False, profile=False):
    result = ort.SessionOptions()
    result.intra_op_num_threads = threads
    # Errors are expected here and there, and are looked at as exceptions.
    result.log_severity_level = 4
    if custom_ops:
        result.register_custom_ops_library(LIBRARY)
    if profile:
        result.enable_profiling = True
        result.profile_file_prefix = os.path.join(
            tempfile.mkdtemp(), "profile")
    return result


def session(model, session_options=None, **provider_options):
    """A session with the provider; claim is `all` unless it is said."""
    settings = session_options or options()
    provider_options.setdefault("claim", "all")
    settings.add_provider_for_devices(register(), provider_options)
    return ort.InferenceSession(serialized(model), settings)


def stock(model, session_options=None):
    return ort.InferenceSession(serialized(model),
                                session_options or options(),
                                providers=["CPUExecutionProvider"])


def serialized(model):
    return model if isinstance(model, bytes) else model.SerializeToString()


def nodes_by_provider(profile):
    """Names of the nodes that each provider ran, of a profile's file."""
    with open(profile, encoding="utf-8") as file:
        events = json.load(file)
    os.remove(profile)
    result = {}
    for event in events:
        arguments = event.get("args", {})
        if event.get("cat") == "Node" and "provider" in arguments:
            result.setdefault(arguments["provider"], set()).add(
                (event["name"], arguments.get("op_name")))
    return result


def opsets(oldest):
    """One of each change of Q and DQ ops, up to the newest this ONNX Runtime
    reads."""
    newest = 25 if MINOR >= 32 else 23
    return [opset for opset in (10, 11, 13, 19, 21, 23, 25)
            if oldest <= opset <= newest]


def brings_schema():
    """Whether the provider gives ONNX Runtime the schema of Quark's ops."""
    return MINOR >= 24 and int(os.environ.get(
        "DNNL_DEQUANT_ORT_HEADERS", "0")) >= 24


def ir_version_of(opset):
    """The oldest IR version that has the operator set."""
    return {10: 5, 11: 6, 12: 7, 13: 7, 19: 9, 21: 10, 23: 11, 24: 12,
            25: 13}[opset]


def tensor(array, name, data_type=None, dims=None):
    """An initializer; with data_type its raw bytes are `array`'s."""
    if data_type is None:
        return numpy_helper.from_array(np.asarray(array), name)
    return helper.make_tensor(name, data_type, dims, array.tobytes(), raw=True)


def pack(values, bits):
    """Small integers, the first in the lowest bits; rows are not padded."""
    flat = np.asarray(values).astype(np.int64).reshape(-1) & ((1 << bits) - 1)
    in_byte = 8 // bits
    flat = np.pad(flat, (0, -len(flat) % in_byte)).reshape(-1, in_byte)
    return (flat << (np.arange(in_byte) * bits)).sum(1).astype(np.uint8)


class Model:
    """Collects nodes and initializers of a model with one input and output."""

    def __init__(self, opset=21, ir_version=10):
        self.opset, self.ir_version = opset, ir_version
        self.nodes, self.initializers = [], []
        self.inputs, self.outputs = [], []

    def input(self, name, data_type, dims):
        self.inputs.append(helper.make_tensor_value_info(
            name, data_type, dims))
        return name

    def output(self, name, data_type, dims):
        self.outputs.append(helper.make_tensor_value_info(
            name, data_type, dims))
        return name

    def constant(self, name, array, data_type=None, dims=None):
        self.initializers.append(tensor(array, name, data_type, dims))
        return name

    def node(self, op_type, inputs, outputs, domain="", **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(
            op_type, inputs, outputs, name=f"n{len(self.nodes)}",
            domain=domain, **attributes))
        return outputs[0]

    def build(self):
        graph = helper.make_graph(self.nodes, "graph", self.inputs,
                                  self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", self.opset)] + [
            helper.make_opsetid(domain, 1)
            for domain in (MICROSOFT, QUARK, VITIS)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = self.ir_version
        return model


class ProviderTest(unittest.TestCase):
    def run_provider(self, model, feeds, fused=1, left=0, custom_ops=False,
                     **provider_options):
        """Runs the model. The provider must have run `fused` nodes, and the
        CPU provider `left`."""
        settings = options(profile=True, custom_ops=custom_ops)
        made = session(model, settings, **provider_options)
        results = made.run(None, feeds)
        ran = nodes_by_provider(made.end_profiling())
        if fused is not None:
            self.assertEqual(fused, len(ran.get(NAME, ())), ran)
        if left is not None:
            self.assertEqual(left, len(ran.get("CPUExecutionProvider", ())),
                             ran)
        return results

    def check_bits(self, model, feeds, **expectations):
        """The same bits as ONNX Runtime's own kernels."""
        ours = self.run_provider(model, feeds, **expectations)
        theirs = stock(model).run(None, feeds)
        for mine, other in zip(ours, theirs):
            self.assertEqual(other.dtype, mine.dtype)
            np.testing.assert_array_equal(mine, other)

    def check_close(self, ours, expected, bound=1e-4):
        """Relative to the largest number of the result."""
        self.assertEqual(expected.shape, ours.shape)
        most = np.abs(expected).max()
        error = np.abs(ours.astype(np.float64) - expected).max() / most
        self.assertLess(error, bound)

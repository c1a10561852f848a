"""The installed package: what it holds, its examples, its neighbours."""
import ast
import doctest
import importlib
import inspect
import operator
import os
import re
import subprocess
import sys
import types
import unittest
from importlib import metadata

import numpy as np

import dnnl_dequant
from dnnl_dequant import _arrays, _library, _types

FOLDER = os.path.dirname(dnnl_dequant.__file__)
MODULES = ["", "._attention", "._dynamic", "._info", "._linear",
           "._linear_ops", "._session"]


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True,
        check=True, env={**os.environ, **environment}).stdout


class PackageTest(unittest.TestCase):
    def test_it_is_the_installed_one(self):
        self.assertIn("site-packages", FOLDER)
        self.assertEqual(dnnl_dequant.__version__,
                         metadata.version("dnnl-dequant"))
        self.assertEqual(dnnl_dequant.__version__,
                         dnnl_dequant.info()["plugin"])

    def test_examples(self):
        for name in MODULES:
            module = importlib.import_module("dnnl_dequant" + name)
            result = doctest.testmod(module)
            self.assertGreater(result.attempted, 0, name)
            self.assertEqual(result.failed, 0, name)

    def test_every_public_function_has_an_example(self):
        for name in dnnl_dequant.__all__:
            if name != "__version__":
                self.assertIn(">>>", getattr(dnnl_dequant, name).__doc__, name)

    def test_the_type_hints_are_of_these_functions(self):
        with open(os.path.join(FOLDER, "__init__.pyi"),
                  encoding="utf-8") as file:
            tree = ast.parse(file.read())
        functions = {node.name: node.args for node in tree.body
                     if isinstance(node, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == "Linear":
                for method in node.body:
                    if isinstance(method, ast.FunctionDef):
                        functions["Linear." + method.name] = method.args
        self.assertEqual(
            {name.split(".")[0] for name in functions} | {"__version__"},
            set(dnnl_dequant.__all__))
        for name, arguments in functions.items():
            found = operator.attrgetter(name)(dnnl_dequant)
            said = [part.arg for part in arguments.posonlyargs
                    + arguments.args + arguments.kwonlyargs]
            real = [part.name for part in
                    inspect.signature(found).parameters.values()
                    if part.kind != part.VAR_KEYWORD]
            self.assertEqual(said, real, name)

    def test_the_readmes(self):
        paths = os.environ.get("DNNL_DEQUANT_PYTHON_READMES")
        if not paths:
            self.skipTest("DNNL_DEQUANT_PYTHON_READMES does not say where the "
                          "READMEs are")
        for path in paths.split(os.pathsep):
            with open(path, encoding="utf-8") as file:
                text = file.read().replace("```", "")  # ends no output
            runner = doctest.DocTestRunner()
            runner.run(doctest.DocTestParser().get_doctest(
                text, {}, path, path, 0))
            self.assertGreater(runner.tries, 1, path)
            self.assertEqual(runner.failures, 0, path)

    def test_licences_and_types(self):
        for name in ("dnnl_dequant", "oneDNN", "libgomp", "Xbyak"):
            path = os.path.join(FOLDER, "licenses", name + ".txt")
            with open(path, encoding="utf-8") as file:
                self.assertGreater(len(file.read()), 1000, name)
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))

    def test_importing_sets_nothing(self):
        self.assertEqual(run("""
import os
before = dict(os.environ)
import dnnl_dequant
maps = open("/proc/self/maps").read()
assert dict(os.environ) == before
print("libdnnl" in maps)
"""), "False\n")

    def test_its_oneDNN_is_the_package_own(self):
        maps = run("""
import dnnl_dequant
dnnl_dequant.info()
print(open("/proc/self/maps").read())
""")
        paths = set(re.findall(r"\S*libdnnl\S*", maps))
        self.assertEqual({os.path.dirname(path) for path in paths},
                         {os.path.realpath(_library.FOLDER)})
        self.assertEqual({os.path.basename(path) for path in paths},
                         {"libdnnl-dnnl_dequant.so.3", "libdnnl_dequant.so.0",
                          "libdnnl_dequant_python.so"})

    def test_another_oneDNN_that_is_global(self):
        printed = run("""
import ctypes, dnnl_dequant
from dnnl_dequant import _library
ctypes.CDLL(_library.FOLDER + "/libdnnl-dnnl_dequant.so.3",
            mode=ctypes.RTLD_GLOBAL)
import numpy as np
try:
    dnnl_dequant.dequantize(np.ones(3, np.uint16), 1.0)
except RuntimeError as error:
    print(error)
""")
        self.assertIn("stands before the package's (dnnl_runtime_error)",
                      printed)

    def test_the_plugin_computes(self):
        dnnl_dequant.dequantize(np.ones((3, 5), np.uint16), 1.0)
        self.assertRegex(dnnl_dequant.info()["kernels"]["dequantize"],
                         "^(jit|ref)_dequantize")

    def test_the_isa_can_be_limited(self):
        printed = run("""
import numpy as np, dnnl_dequant
dnnl_dequant.dequantize(np.ones((3, 5), np.uint16), 1.0)
print(dnnl_dequant.info()["isa"], dnnl_dequant.info()["kernels"])
""", ONEDNN_MAX_CPU_ISA="SSE41")
        self.assertIn("sse41", printed)
        self.assertIn("ref_dequantize", printed)

    def test_switched_off(self):
        self.assertEqual(run("""
import dnnl_dequant
print(dnnl_dequant.info()["enabled"])
""", DNNL_DEQUANT_DISABLE="1"), "False\n")

    def test_the_module_prints_and_times(self):
        printed = subprocess.run(
            [sys.executable, "-m", "dnnl_dequant"], capture_output=True,
            text=True, check=True).stdout
        self.assertIn("results equal", printed)
        self.assertIn("isa: ", printed)

    def test_values_are_the_headers(self):
        folders = os.environ.get("DNNL_DEQUANT_HEADERS", "").split(":")
        text = ""
        for folder in folders:
            for name in ("dnnl_common_types.h", "dnnl_graph_types.h",
                         "dnnl_dequant.h"):
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        text += file.read()
        if not text:
            self.skipTest("DNNL_DEQUANT_HEADERS names no headers")
        values = {}
        for body in re.findall(r"typedef enum \{(.*?)\}", text, re.S):
            body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.S)
            number = -1
            for item in re.findall(r"(\w+)\s*(=\s*\w+)?\s*(?:,|$)", body):
                said = item[1].strip("= Uu")
                number = int(said, 0) if said[:1].isdigit() else number + 1
                values[item[0].lower().replace("_", "")] = number
        for name, value in _library.OP_KINDS.items():
            both = {values.get(prefix + name.lower()) for prefix in
                    ("dnnlgraphop", "dnnldequantop")}
            self.assertIn(value, both, name)
        for name, value in _library.ATTRIBUTES.items():
            both = {values.get(prefix + name.replace("_", "")) for prefix in
                    ("dnnlgraphopattr", "dnnldequantattr")}
            self.assertIn(value, both, name)
        for name, (value, _, _) in _types.TYPES.items():
            both = {values.get(prefix + name.replace("_", "")) for prefix in
                    ("dnnl", "dnnldequantdatatype")}
            self.assertIn(value, both, name)


class NeighboursTest(unittest.TestCase):
    class Foreign:
        """An array of another library, by DLPack alone."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    def test_dlpack(self):
        x = np.arange(6, dtype=np.int8).reshape(2, 3)
        scale = np.array([0.5, 2], np.float32)
        out = np.zeros((2, 3), np.float32)
        given = self.Foreign(out)
        found = dnnl_dequant.dequantize(self.Foreign(x), self.Foreign(scale),
                                        axis=0, out=given)
        self.assertIs(found, given)
        self.assertTrue(np.array_equal(out, x * scale[:, None]))
        linear = dnnl_dequant.Linear(self.Foreign(x), self.Foreign(scale))
        y = linear(self.Foreign(np.ones((1, 3), np.float32)))
        self.assertEqual(y.tolist(), [[1.5, 24]])

    def test_dlpack_that_fails(self):
        class Broken:
            def __dlpack__(self, **options):
                raise BufferError("on another device")

            def __dlpack_device__(self):
                return 1, 0
        with self.assertRaisesRegex(ValueError, "x gives no array: on ano"):
            dnnl_dequant.dequantize(Broken(), 1.0)

    def test_bfloat16_of_torch(self):
        """A stand-in for torch: numpy's from_dlpack has no bfloat16."""
        foreign = self.Foreign

        class Tensor(foreign):
            dtype = "bfloat16"

            def detach(self):
                return self

            def view(self, dtype):
                return foreign(self.array.view(dtype))
        torch = types.SimpleNamespace(Tensor=Tensor, bfloat16=Tensor.dtype,
                                      int16=np.int16)
        saved = sys.modules.get("torch")
        sys.modules["torch"] = torch
        try:
            x = Tensor(np.array([0x3F80, 0xC000], np.uint16))  # 1, -2
            self.assertEqual(
                dnnl_dequant.quantize(x, 0.5, dtype="int8").tolist(), [2, -4])
            out = Tensor(np.zeros(2, np.uint16))
            dnnl_dequant.dequantize(np.array([1, -2], np.int8), 1.0, out=out)
            self.assertEqual(out.array.tolist(), [0x3F80, 0xC000])
        finally:
            del sys.modules["torch"]
            if saved is not None:
                sys.modules["torch"] = saved

    def test_results_are_dlpack(self):
        y = dnnl_dequant.dequantize(np.ones(3, np.int8), 1.0)
        self.assertTrue(np.shares_memory(np.from_dlpack(y), y))

    def test_addresses_by_both_ways(self):
        arrays = [np.arange(9), np.arange(9)[2::3], np.ones((2, 3))[:, 1:],
                  np.zeros(())]
        for array in arrays:
            self.assertEqual(_arrays.address_of(array),
                             _arrays._interface_address(array))


if __name__ == "__main__":
    unittest.main()

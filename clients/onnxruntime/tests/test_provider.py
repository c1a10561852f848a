"""The provider as a guest: options, errors, threads, memory, old hosts."""
import contextlib
import glob
import io
import os
import subprocess
import sys
import threading
import unittest

import numpy as np
from onnx import TensorProto

import support
from support import Model

RNG = np.random.default_rng(14)
SESSIONS = int(os.environ.get("DNNL_DEQUANT_ORT_SESSIONS", "200"))


def product_model(k=64, n=32, dims=None):
    q = RNG.integers(0, 65536, (k, n)).astype(np.uint16)
    scale = RNG.uniform(1e-5, 2e-5, n).astype(np.float32)
    model = Model()
    model.input("a", TensorProto.FLOAT, dims or ["m", k])
    model.node("DequantizeLinear", [model.constant("q", q),
                                    model.constant("s", scale)], "w", axis=1)
    model.node("MatMul", ["a", "w"], "y")
    model.output("y", TensorProto.FLOAT, [None, n])
    return model.build(), q * scale.astype(np.float64)


def onednn():
    """The oneDNN that the provider has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        return next(line.split()[-1] for line in file
                    if "/libdnnl.so" in line)


def activation(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Options(support.ProviderTest):
    def test_device(self):
        devices = support.register()
        self.assertEqual(1, len(devices))
        self.assertEqual("dnnl_dequant", devices[0].ep_vendor)

    def test_wrong_values(self):
        model, _ = product_model()
        for option, value in (("claim", "most"), ("accuracy_level", "2")):
            sentence = f"{option} is '{value}'"
            if support.MINOR >= 24:
                with self.assertRaisesRegex(Exception, sentence):
                    support.session(model, **{option: value})
                continue
            # Python's wrapper of 1.23 prints the sentence and goes on without.
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                session = support.session(model, **{option: value})
            self.assertIn(sentence, printed.getvalue())
            self.assertEqual(["CPUExecutionProvider"],
                             session.get_providers())

    def test_claims(self):
        model, expected = product_model()
        a = activation(3, 64)
        for claim, fused, left in (("all", 1, 0), ("faster", 1, 0),
                                   ("none", 0, None)):
            ours, = self.run_provider(model, {"a": a}, fused=fused, left=left,
                                      claim=claim)
            self.check_close(ours, a @ expected)

    def test_reasons_are_logged(self):
        """A node that is not taken has its line, with name and reason."""
        program = (
            "import sys; sys.path.insert(0, {folder!r})\n"
            "import support, test_provider\n"
            "options = support.options(); options.log_severity_level = 1\n"
            "model, _ = test_provider.product_model(dims=[64])\n"
            "support.session(model, options)\n").format(
                folder=os.path.dirname(os.path.abspath(__file__)))
        run = subprocess.run([sys.executable, "-c", program],
                             capture_output=True, text=True, check=True)
        self.assertRegex(run.stderr,
                         "does not take MatMul n1: its first input is a vector")
        self.assertRegex(run.stderr, "takes quantization: DequantizeLinear n0")


    def test_unload(self):
        """The library goes when no session is left, and comes back. (1.23
        keeps it loaded.)"""
        program = (
            "import sys; sys.path.insert(0, {folder!r})\n"
            "import onnxruntime as ort, support, test_provider as t\n"
            "model, _ = t.product_model()\n"
            "def mapped():\n"
            "    return 'libdnnl_dequant_ort' in open('/proc/self/maps')"
            ".read()\n"
            "for _ in range(3):\n"
            "    session = support.session(model)\n"
            "    session.run(None, {{'a': t.activation(2, 64)}})\n"
            "    assert mapped()\n"
            "    del session\n"
            "    ort.unregister_execution_provider_library(support.NAME)\n"
            "    support._registered = False\n"
            "    assert support.MINOR < 24 or not mapped()\n").format(
                folder=os.path.dirname(os.path.abspath(__file__)))
        subprocess.run([sys.executable, "-c", program], check=True)


    def capacity(self, environment):
        """Of oneDNN's constant tensor cache, before, during and after."""
        program = (
            "import sys; sys.path.insert(0, {folder!r})\n"
            "import ctypes, support, test_provider as t\n"
            "def capacity():\n"
            "    size = ctypes.c_size_t(0)\n"
            "    get = ctypes.CDLL(t.onednn()).\\\n"
            "        dnnl_graph_get_constant_tensor_cache_capacity\n"
            "    get(1, ctypes.byref(size))\n"
            "    return size.value\n"
            "support.register()\n"
            "found = [capacity()]\n"
            "one, two = [support.session(t.product_model()[0])"
            " for _ in range(2)]\n"
            "del one\n"
            "found.append(capacity())\n"
            "del two\n"
            "print(*found, capacity())\n").format(
                folder=os.path.dirname(os.path.abspath(__file__)))
        run = subprocess.run([sys.executable, "-c", program], check=True,
                             capture_output=True, text=True,
                             env={**os.environ, **environment})
        return [int(word) for word in run.stdout.split()]

    def test_constant_cache(self):
        """It has room while a provider lives, unless the user said how
        much."""
        before, during, after = self.capacity({})
        self.assertEqual([0, 0], [before, after])
        self.assertGreater(during, 1 << 10)
        name = "ONEDNN_GRAPH_CONSTANT_TENSOR_CACHE_CAPACITY"
        for size in (0, 64):
            self.assertEqual([size] * 3, self.capacity({name: f"cpu:{size}"}))


class Repacking(unittest.TestCase):
    """Weights of integer products have a packed copy: from the first run on
    where the model states the shapes, else from a shape's fourth."""

    def compilations(self, dims, runs):
        """How many there were, and how many of them with constants."""
        program = (
            "import sys; sys.path.insert(0, {folder!r})\n"
            "import support, test_nbits as t\n"
            "session = support.session(t.Weights(64, 32, 4, 32).model("
            "{dims}, level=4))\n"
            "for _ in range({runs}):\n"
            "    session.run(None, {{'a': t.activation(2, 64)}})\n").format(
                folder=os.path.dirname(os.path.abspath(__file__)), dims=dims,
                runs=runs)
        run = subprocess.run([sys.executable, "-c", program], check=True,
                             capture_output=True, text=True,
                             env={**os.environ, "ONEDNN_VERBOSE": "profile"})
        lines = [line for line in run.stdout.splitlines()
                 if "graph,compile:" in line]
        return len(lines), sum(":constant:" in line for line in lines)

    def test_stated_shapes(self):
        # A partition that quantizes, and the product.
        self.assertEqual((2, 1), self.compilations([2, 64], 5))

    def test_other_shapes(self):
        self.assertEqual((2, 0), self.compilations(["m", 64], 3))
        self.assertEqual((4, 1), self.compilations(["m", 64], 4))


class Runs(support.ProviderTest):
    def test_many_threads_and_shapes(self):
        model, expected = product_model()
        session = support.session(model)
        failures = []

        def work(seed):
            random = np.random.default_rng(seed)
            try:
                for _ in range(60):
                    rows = int(random.integers(1, 40))
                    a = random.standard_normal((rows, 64)).astype(np.float32)
                    self.check_close(session.run(None, {"a": a})[0],
                                     a @ expected)
            except Exception as error:  # noqa: BLE001 told to the main thread
                failures.append(error)
        threads = [threading.Thread(target=work, args=(seed,))
                   for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)

    def test_same_bits_for_any_threads(self):
        model, _ = product_model(256, 192)
        a = activation(9, 256)
        results = [support.session(model, support.options(threads=count)).run(
            None, {"a": a})[0] for count in (1, 2, 3)]
        for result in results[1:]:
            np.testing.assert_array_equal(results[0], result)

    def test_sessions_come_and_go(self):
        """Of DNNL_DEQUANT_ORT_SESSIONS sessions (200 if not said) none leaves
        anything behind."""
        model = support.serialized(product_model(512, 512)[0])
        a = activation(2, 512)

        def some(count):
            for _ in range(count):
                session = support.session(model)
                for _ in range(5):
                    session.run(None, {"a": a})
        some(30)
        before = resident_bytes()
        some(SESSIONS)
        grown = resident_bytes() - before
        # A session's weights are 512 kB; one in ten kept would be seen.
        self.assertLess(grown, SESSIONS * 51200)

    def test_shapes_that_do_not_fit(self):
        """A model whose first dimension lies: an error, no crash."""
        model, _ = product_model(dims=["m", "k"])
        session = support.session(model)
        with self.assertRaisesRegex(Exception, "dnnl_dequant: .*columns"):
            session.run(None, {"a": activation(3, 63)})
        self.assertEqual((3, 32), session.run(
            None, {"a": activation(3, 64)})[0].shape)


class Malformed(support.ProviderTest):
    """Attributes and shapes that make no sense: an exception of ONNX
    Runtime's or ours, or no claim; never a crash."""

    def models(self):
        for change in ({"axis": 7}, {"axis": -5}, {"block_size": -1},
                       {"block_size": 5}, {"axis": 0}, {"block_size": 1 << 40}):
            model, _ = product_model()
            node = model.graph.node[0]
            del node.attribute[:]
            node.attribute.extend(
                support.helper.make_attribute(name, value)
                for name, value in change.items())
            yield change, model
        for change in ({"bits": 3}, {"K": -1}, {"N": 0}, {"block_size": 7},
                       {"K": 1 << 40}, {"block_size": 0}):
            import test_nbits
            yield change, test_nbits.Weights(64, 32, 4, 32).model(
                ["m", 64], **change)

    def test_no_crash(self):
        for change, model in self.models():
            with self.subTest(change=change):
                try:
                    session = support.session(model)
                    session.run(None, {"a": activation(2, 64)})
                except Exception as error:  # noqa: BLE001 any sentence will do
                    self.assertGreater(len(str(error)), 20)

    def test_truncated_and_changed_bytes(self):
        whole = support.serialized(product_model()[0])
        random = np.random.default_rng(3)
        for _ in range(60):
            changed = bytearray(whole)
            for place in random.integers(0, len(whole), 3):
                changed[place] = random.integers(0, 256)
            try:
                support.session(bytes(changed)).run(
                    None, {"a": activation(2, 64)})
            except Exception as error:  # noqa: BLE001 any sentence will do
                self.assertGreater(len(str(error)), 20)


class OldHost(unittest.TestCase):
    """An ONNX Runtime without plugin providers is told so in a sentence."""

    def test_sentence(self):
        folder = os.environ.get("DNNL_DEQUANT_ORT_TOO_OLD")
        if not folder:
            self.skipTest("no ONNX Runtime older than 1.23 could be fetched")
        runtime, = glob.glob(os.path.join(
            folder, "lib", "python*", "site-packages", "onnxruntime", "capi",
            "libonnxruntime.so.*"))
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                               "old_host.py")
        run = subprocess.run([sys.executable, program, runtime,
                              support.LIBRARY], capture_output=True,
                             text=True, check=True)
        self.assertRegex(run.stdout,
                         r"needs ONNX Runtime 1\.23 or later; this is 1\.")


if __name__ == "__main__":
    unittest.main()

"""The peers command with a peer that is not installed, dies, or plays along."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
FAKE_GGML = os.path.abspath(sys.argv.pop(1))
FAKE_XNNPACK = os.path.abspath(sys.argv.pop(1))
FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_peer.py")

# The three rows in cache that dequantize, of which Fake refuses none.
IN_CACHE = "DequantizeLinear/.*8x64x128"


def peers(*arguments, behaviour="", log="", script=FAKE, python=sys.executable,
          ggml=FAKE_GGML, xnnpack=FAKE_XNNPACK, limit=resource.RLIM_INFINITY):
    environment = dict(os.environ, FAKE_PEER=behaviour, FAKE_PEER_LOG=log,
                       DNNL_DEQUANT_GGML=ggml, DNNL_DEQUANT_XNNPACK=xnnpack)
    return subprocess.run(
        [TOOL, "peers", "--threads", "1", "--budget", "0.01",
         "--python", python, "--peer-script", script, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=300, env=environment,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (limit, limit)))


def rows_of(done):
    return [line for line in done.stdout.splitlines()
            if line.startswith(("DequantizeLinear/",
                                "ExtendedDequantizeLinear/"))]


class Peers(unittest.TestCase):

    def measured(self, *arguments, **how):
        """The rows as JSON, where all is well."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "peers.json")
            done = peers("--json", path, *arguments, **how)
            self.assertEqual((done.returncode, done.stderr), (0, ""),
                             done.stdout)
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        self.assertEqual(found["command"], "peers")
        return done, found["rows"]

    def test_seconds_are_the_peers_own_but_the_first(self):
        done, rows = self.measured("--filter", IN_CACHE)
        self.assertIn("Fake 1.2", done.stdout)
        self.assertEqual(len(rows), 3)
        self.assertEqual(len(rows_of(done)), 3)
        for row in rows:
            with self.subTest(row["name"]):
                # Far behind, it leaves after three rounds; the others stay.
                self.assertEqual(
                    len(row["peers"]["ONNX Runtime"]["seconds"]["samples"]), 3)
                self.assertGreaterEqual(
                    len(row["plugin"]["seconds"]["samples"]), 5)
                self.assertEqual(row["peers"]["ONNX Runtime"]["seconds"]["min"], 0.5)
                self.assertEqual(row["peers"]["ONNX Runtime"]["seconds"]["median"], 0.5)
                self.assertEqual(row["plugin"]["wrong"], 0)
                # Round by round, of those that both were in.
                ours = sorted(row["plugin"]["seconds"]["samples"][:3])[1]
                self.assertAlmostEqual(
                    row["peers"]["ONNX Runtime"]["gain"] * ours, 0.5, places=3)

    def test_cpu_time(self):
        _, rows = self.measured("--filter", IN_CACHE, "--cpu-time")
        for row in rows:
            self.assertEqual(row["peers"]["ONNX Runtime"]["seconds"]["median"], 0.25)

    def test_rows_in_onnx_words(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            self.measured("--filter", IN_CACHE + "|^u4/f32/group_1x128", log=log)
            with open(log, encoding="utf-8") as file:
                asked = [json.loads(line) for line in file
                         if not line.startswith("run ")]
        self.assertEqual(asked[0], {
            "op_type": "DequantizeLinear", "domain": "", "opset": 21,
            "x": "UINT4", "scale": "FLOAT", "zero_point": "UINT4",
            "y": "FLOAT", "shape": [4096, 4096], "scale_shape": [4096, 32],
            "axis": 1, "block_size": 128, "threads": 1})
        self.assertEqual(asked[1], {
            "op_type": "DequantizeLinear", "domain": "", "opset": 21,
            "x": "UINT16", "scale": "FLOAT", "zero_point": "UINT16",
            "y": "FLOAT", "shape": [8, 64, 128], "scale_shape": [8],
            "axis": 0, "block_size": 0, "threads": 1})
        self.assertEqual(asked[2]["scale_shape"], [])
        self.assertIsNone(asked[2]["zero_point"])
        self.assertEqual(
            (asked[3]["op_type"], asked[3]["domain"]),
            ("ExtendedDequantizeLinear", "com.amd.quark"))

    def test_rows_that_quantize_in_onnx_words(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            _, rows = self.measured("--filter", "Quantize.*8x64x128", log=log)
            with open(log, encoding="utf-8") as file:
                asked = [json.loads(line) for line in file
                         if not line.startswith("run ")]
        same = {"domain": "", "opset": 21, "x": "FLOAT", "scale": "FLOAT",
                "zero_point": "UINT8", "y": "UINT8", "shape": [8, 64, 128],
                "scale_shape": [], "axis": 1, "block_size": 0, "threads": 1}
        self.assertEqual(asked, [dict(same, op_type="QuantizeLinear"),
                                 dict(same, op_type="DynamicQuantizeLinear")])
        for row in rows:
            self.assertEqual(row["plugin"]["wrong"], 0)
            self.assertEqual(row["stock"]["refused"], "oneDNN has no such op")

    def test_refusals_are_no_failures(self):
        done, rows = self.measured(
            "--all", "--filter", "^u8/(bf16/tensor/zps_u8/dense|"
            "f32/tensor/zps_(s32/dense|u8/transposed))/256x256")
        self.assertEqual(sorted(row["peers"]["ONNX Runtime"]["refused"] for row in rows), [
            "ONNX's tensors are dense alone", "ONNX's zero point is of x's "
            "type", "no BFLOAT16"])
        self.assertIn("ORT refused: no BFLOAT16", done.stdout)

    def absent(self, reason, **how):
        done, rows = self.measured("--filter", IN_CACHE, **how)
        self.assertIn("ORT   absent: ", done.stdout)
        self.assertIn(reason, done.stdout)
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertGreater(row["ratio"]["median"], 0)
            self.assertIn("refused", row["peers"]["ONNX Runtime"])

    def test_absent_library(self):
        self.absent("No module named 'fake'", behaviour="absent")

    def test_absent_python(self):
        self.absent("/nonexistent/python: No such file",
                    python="/nonexistent/python")

    def test_silent_peer(self):
        self.absent("exit status 3", behaviour="silent")

    def test_dying_peer(self):
        done, rows = self.measured("--filter", IN_CACHE, behaviour="die")
        # Each row has a process of its own after the last one died.
        self.assertEqual(done.stdout.count("ORT died: exit status 7"), 3)
        for row in rows:
            self.assertEqual(row["peers"]["ONNX Runtime"], {"died": "exit status 7"})
            self.assertGreater(row["ratio"]["median"], 0)

    def test_peer_that_cannot_be_read(self):
        done, _ = self.measured("--filter", IN_CACHE, behaviour="garbage")
        self.assertIn("ORT refused: no answer that can be read", done.stdout)


class Products(Peers):

    # Of Peers only how it measures.
    for name in list(vars(Peers)):
        if name.startswith("test_"):
            vars()[name] = None

    def measured_and_asked(self, which):
        """What was printed, the rows, and what the peer was asked to prepare."""
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            done, rows = self.measured("--filter", which, log=log)
            with open(log, encoding="utf-8") as file:
                return done, rows, [json.loads(line) for line in file
                                    if not line.startswith("run ")]

    def test_rows(self):
        done, rows, asked = self.measured_and_asked(
            "^MatMul/.*/u4/group_128/.*by_column/1x4096x4096")
        self.assertEqual([row["src"] for row in rows], ["f32", "u8", "bf16", "f16"])
        same = {"op_type": "MatMulNBits", "domain": "com.microsoft",
                "rows": 1, "depth": 4096, "columns": 4096, "block_size": 128,
                "bits": 4, "zero_points": True, "copies": rows[0]["copies"],
                "threads": 1}
        self.assertGreater(rows[0]["copies"], 1)
        self.assertEqual(asked, [
            dict(same, x="FLOAT", y="FLOAT", accuracy_level=1),
            dict(same, x="FLOAT", y="FLOAT", accuracy_level=4),
            dict(same, x="BFLOAT16", y="BFLOAT16", accuracy_level=1),
            dict(same, x="FLOAT16", y="FLOAT16", accuracy_level=1)])
        for row in rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["plugin"]["checked"], 512)
                self.assertEqual(row["plugin"]["wrong"], 0)
                self.assertGreater(row["ratio"]["median"], 0)
                self.assertEqual(row["operations"], 2 * 4096 * 4096)
        self.assertEqual(rows[2]["peers"]["ONNX Runtime"],
                         {"refused": "no BFLOAT16"})
        self.assertIn("ORT refused: no BFLOAT16", done.stdout)
        self.assertTrue(rows[0]["stock"]["estimated"])
        self.assertEqual([row["target"] for row in rows], [2.0, 1.2, 1.6, 1.6])

    def test_granularities(self):
        _, rows, asked = self.measured_and_asked(
            "^MatMul/f32/(u4|s8)/(group_1x128|channel)/.*/1x")
        found = {row["name"].split("/", 2)[2].split("/1x")[0]: row
                 for row in rows}
        self.assertEqual(
            list(found), [f"u4/group_1x128/zps_u4/{order}"
                          for order in ("by_column", "by_row")]
            + [f"s8/channel/zps_none/{order}"
               for order in ("by_column", "by_row")])
        for row in rows:
            self.assertEqual(row["plugin"]["wrong"], 0)
        # ONNX Runtime's groups are of one column.
        self.assertEqual(
            [(one["bits"], one["block_size"], one["zero_points"])
             for one in asked], 2 * [(8, 4096, False)])
        self.assertIn("of one column", found["u4/group_1x128/zps_u4/by_row"][
            "peers"]["ONNX Runtime"]["refused"])
        self.assertEqual(rows[2]["bytes"], 4096 * 4096 + 4 * 4096)

    def test_other_types(self):
        _, rows = self.measured(
            "--filter", "^MatMul/(f32|bf16)/(f8|f4|u2).*/1x")
        self.assertEqual(
            [row["weights"] for row in rows],
            [weights for weights in ("f8_e4m3", "f8_e5m2", "f4_e2m1", "u2")
             for _ in range(4)])
        for row in rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["plugin"]["checked"], 512)
                self.assertEqual(row["plugin"]["wrong"], 0)
                self.assertIn("no such weights", row["peers"]["ONNX Runtime"][
                    "refused"])

    def test_peak(self):
        _, rows = self.measured(
            "--filter", "^MatMul/(f32|u8)/u4/group_128/.*by_row/32x4096x4096")
        for row in rows:
            if row["peak"] is None:  # this machine has no such instruction
                continue
            with self.subTest(row["name"]):
                self.assertEqual(row["peak"]["of"],
                                 {"f32": "FMA", "u8": "VNNI"}[row["src"]])
                share = row["peak"]["share"]["median"]
                # Tiles of AMX make 170 multiply-adds of f32 a cycle, where
                # vectors make 32.
                by_tiles = "_amx_" in row["plugin"]["kernel"]
                self.assertTrue(0 < share < (6 if by_tiles else 1.2), share)
                # Fake says half a second whatever it is asked.
                peer = row["peers"]["ONNX Runtime"]
                self.assertAlmostEqual(
                    peer["share"]["median"] * 0.5 * row["peak"]["per_second"]
                    / row["operations"], 1, delta=0.5)

    def test_dense(self):
        _, rows = self.measured(
            "--filter",
            "^MatMul/(f32|u8|bf16)/u4/group_128/.*by_row/(8|32)x4096x4096")
        for row in rows:
            with self.subTest(row["name"]):
                dense = row["peers"]["oneDNN dense"]
                # oneDNN multiplies no bf16 on AVX2.
                if row["src"] == "bf16" and "refused" in dense:
                    self.assertIn("matmul primitive", dense["refused"])
                    continue
                self.assertGreater(dense["gain"], 0)
                self.assertEqual(row["dense_target"],
                                 {8: 1.0, 32: 1.1}[row["dims"][0]])

    def test_xnnpack(self):
        done, rows = self.measured(
            "--filter", "^MatMul/(f32|u8)/u4/group_128/.*by_column/1x")
        self.assertIn("XNN   XNNPACK (", done.stdout)
        found = {row["name"].split("/")[1] + row["name"].split("x")[-1]:
                 row["peers"]["XNNPACK"] for row in rows}
        self.assertGreater(found["u84096/t1"]["gain"], 0)
        self.assertGreater(found["u84096/t1"]["seconds"]["median"], 0)
        self.assertIn("8 bits alone", found["f324096/t1"]["refused"])
        self.assertEqual(found["u811008/t1"]["refused"],
                         "it refuses these weights")

    def test_absent_xnnpack(self):
        for library in ("/nonexistent/libXNNPACK.so", FAKE_GGML):
            done, _ = self.measured("--filter", IN_CACHE, xnnpack=library)
            self.assertIn("XNN   absent: ", done.stdout)

    def test_xnnpack_that_cannot_be_initialized(self):
        os.environ["FAKE_XNNPACK_BROKEN"] = "1"
        self.addCleanup(os.environ.pop, "FAKE_XNNPACK_BROKEN")
        done, _ = self.measured("--filter", IN_CACHE)
        self.assertIn("XNN   absent: it cannot be initialized", done.stdout)

    def test_peer_that_dies(self):
        done, rows = self.measured(
            "--filter", "^MatMul/f32/u4/group_128/.*by_column/1x4096x4096",
            behaviour="die")
        self.assertIn("ORT died: exit status 7", done.stdout)
        self.assertGreater(rows[0]["ratio"]["median"], 0)

    def test_quick_set(self):
        def names(*arguments):
            return peers("--list", *arguments).stdout.split()
        quick, full = names("--quick"), names()
        self.assertLess(set(quick), set(full))
        for src in ("f32", "u8"):
            for count in (1, 8, 32, 512):
                self.assertIn(f"MatMul/{src}/u4/group_128/zps_u4/by_column/"
                              f"{count}x4096x4096/t1", quick)


class Ggml(Peers):

    # Of Peers only how it measures.
    for name in list(vars(Peers)):
        if name.startswith("test_"):
            vars()[name] = None

    def test_formats(self):
        done, rows = self.measured(
            "--filter", "^[su][48]/f32/group_1x(32|128)/.*4096x4096")
        self.assertIn("ggml  ggml 0.0-fake", done.stdout)
        found = {row["name"].split("/")[0] + row["scales"]: row["peers"]["ggml"]
                 for row in rows}
        self.assertEqual(found["s4group_1x32"]["kernel"], "q4_0")
        self.assertGreater(found["s4group_1x32"]["seconds"]["median"], 0)
        self.assertGreater(found["s4group_1x32"]["gain"], 0)
        self.assertIn("is another", found["u4group_1x32"]["refused"])

    def test_no_such_format(self):
        _, rows = self.measured("--filter", "DequantizeLinear/.*/8x64x128")
        for row in rows:
            self.assertIn("blocks", row["peers"]["ggml"]["refused"])

    def test_absent(self):
        for library in ("/nonexistent/libggml.so", sys.executable):
            done, rows = self.measured("--filter", IN_CACHE, ggml=library)
            self.assertIn("ggml  absent: ", done.stdout)
            self.assertGreater(rows[0]["ratio"]["median"], 0)


class Mistakes(unittest.TestCase):

    def refused(self, *arguments, **how):
        done = peers(*arguments, **how)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_filter(self):
        self.refused("--filter", "u7")
        self.refused("--filter", "(")

    def test_too_large(self):
        # As floats these weights are 180 MB.
        self.assertIn("memory", self.refused(
            "--filter", "MatMul/f32/.*/512x4096x11008", limit=200 << 20))

    def test_unwritable_file(self):
        self.refused("--json", "/nonexistent/a.json")


class Attentions(Peers):
    # Of Peers only how it measures.
    for name in list(vars(Peers)):
        if name.startswith("test_"):
            vars()[name] = None

    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            done, rows = self.measured(
                "--filter", "^Attention/b?f(32|16)/s4/8_of_32", log=log)
            with open(log, encoding="utf-8") as file:
                asked = [json.loads(line) for line in file
                         if not line.startswith("run ")]
        self.assertEqual([row["src"] for row in rows], ["f32", "bf16", "f16"])
        same = {"op_type": "GroupQueryAttention", "domain": "com.microsoft",
                "heads": 8, "group": 4, "queries": 1, "tokens": 4096,
                "head": 128, "bits": 4, "threads": 1}
        self.assertEqual(asked, [
            dict(same, x=kind, y=kind, copies=row["copies"])
            for kind, row in zip(("FLOAT", "BFLOAT16", "FLOAT16"), rows)])
        for row in rows:
            with self.subTest(row["name"]):
                self.assertGreater(row["copies"], 1)
                # Eight rows of 128.
                self.assertEqual(row["plugin"]["checked"], 1024)
                self.assertEqual(row["plugin"]["wrong"], 0)
                self.assertGreater(row["ratio"]["median"], 0)
                self.assertEqual(row["operations"], 4 * 32 * 4096 * 128)
        self.assertEqual([row["target"] for row in rows], [5.8, 3.6, 3.6])
        self.assertEqual(rows[1]["peers"]["ONNX Runtime"],
                         {"refused": "no BFLOAT16"})
        self.assertIn("ORT refused: no BFLOAT16", done.stdout)
        self.assertGreater(rows[0]["peers"]["oneDNN dense"]["gain"], 0)
        # oneDNN 3.7's own fails at compile, in whatever words.
        stock = rows[0]["stock"]
        self.assertTrue(stock.get("refused") or stock["estimated"])

    def test_masks(self):
        _, rows = self.measured("--filter", "^Attention/f32/.*512x512")
        self.assertEqual([row["layout"] for row in rows], ["dense", "causal"])
        for row in rows:
            self.assertEqual(row["plugin"]["wrong"], 0)
            self.assertIsNone(row["target"])


if __name__ == "__main__":
    unittest.main()

"""replay: the graphs of this folder's neighbour, and everything that is none."""

import copy
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
# A program with ops that oneDNN does not have.
EXTENDED = os.path.abspath(sys.argv.pop(1))
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "graphs")

# Stock's reference code takes many seconds for it.
TOO_LARGE = "mlp-u4-group128-f16.json"


def replay(*arguments, **how):
    return subprocess.run(
        [TOOL, "replay", "--budget", "0.01", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=600, **how)


def graph(name):
    with open(os.path.join(GRAPHS, name), encoding="utf-8") as file:
        return json.load(file)


class Folder(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self, what, name="graph.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(what if isinstance(what, str) else json.dumps(what))
        return path

    def rows(self, *paths, status=0):
        out = os.path.join(self.folder, "out.json")
        done = replay("--json", out, *paths)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        with open(out, encoding="utf-8") as file:
            return json.load(file)["rows"]


class Replays(Folder):

    def test_our_graphs(self):
        paths = [path for path in sorted(glob.glob(GRAPHS + "/*.json"))
                 if os.path.basename(path) != TOO_LARGE]
        self.assertGreaterEqual(len(paths), 14)
        rows = self.rows(*paths)
        self.assertGreaterEqual(len(rows), len(paths))
        dequantize = [row for row in rows if len(row["ops"]) == 1
                      and "Dequantize" in row["ops"][0]]
        self.assertGreaterEqual(len(dequantize), 9)
        products = [row for row in rows if "MatMul" in row["ops"]
                    and "DynamicDequantize" in row["ops"]
                    and row["owner"] == "plugin"]
        self.assertGreaterEqual(len(products), 3)
        for row in products:
            self.assertIn("matmul", row["plugin"]["kernel"])
        for row in dequantize:
            with self.subTest(row["name"]):
                self.assertEqual(row["owner"], "plugin")
                self.assertIn("dequantize", row["plugin"]["kernel"])
                # Bit for bit with stock, where stock has it at all.
                self.assertEqual(
                    row["check"],
                    "formula" if "refused" in row["stock"] else "equal")
                self.assertGreater(row["bytes"], 0)
        for row in rows:
            self.assertFalse(row["wrong"], row["name"])

    def test_a_model_s_mlp_without_stock(self):
        rows = self.rows("--no-stock", os.path.join(GRAPHS, TOO_LARGE))
        self.assertEqual(sum(len(row["ops"]) for row in rows),
                         len(graph(TOO_LARGE)["graph"]))
        for row in rows:
            self.assertEqual(row["stock"], {"refused": "not asked"})
            self.assertFalse(row["wrong"], row["name"])

    def test_fused_is_held_against_apart_where_stock_does_not_run(self):
        for name, verdict in (
                ("chain-u4-cast-transpose.json", r"^equal \(apart\)$"),
                ("mlp-u4-group128-f32-small.json", r"\(apart\)$")):
            for row in self.rows("--no-stock", os.path.join(GRAPHS, name)):
                with self.subTest(row["name"]):
                    self.assertRegex(row["check"], verdict)
                    self.assertFalse(row["wrong"])

    def test_every_op_is_in_one_row(self):
        for name in ("chain-u4-cast-transpose.json",
                     "attention-u8-group64-f32.json"):
            rows = self.rows(os.path.join(GRAPHS, name))
            self.assertEqual(
                sorted(op for row in rows for op in row["ops"]),
                sorted(op["kind"] for op in graph(name)["graph"]))

    def test_unknown_inner_shapes_are_inferred(self):
        unknown = graph("chain-u4-cast-transpose.json")
        for op in unknown["graph"][1:]:
            for tensor in op["inputs"] + op["outputs"]:
                if tensor["id"] == 5:
                    tensor["shape"] = tensor["stride"] = []
        rows = self.rows(self.written(unknown))
        for row in rows:
            # Apart where oneDNN has no bf16: on AVX2.
            self.assertIn(row["check"], ("equal", "equal (apart)", "formula"))
            self.assertGreater(row["plugin"]["seconds"]["median"], 0)

    def test_ops_in_any_order(self):
        shuffled = graph("chain-u4-cast-transpose.json")
        shuffled["graph"].reverse()
        self.assertEqual(
            [row["ops"] for row in self.rows(self.written(shuffled))],
            [row["ops"] for row in self.rows(
                os.path.join(GRAPHS, "chain-u4-cast-transpose.json"))])

    def test_notes_of_partitioned_dumps(self):
        noted = graph("dequantize-s8-channel-f32.json")
        noted["graph"][0]["attrs"]["partition_id"] = {
            "type": "string", "value": "100002"}
        noted["graph"][0]["inputs"][0]["layout_type"] = "any"
        self.assertEqual(self.rows(self.written(noted))[0]["check"], "equal")

    def test_what_later_versions_write(self):
        """3.12's dumps: ports, defaults that 3.7 lacks, host scalars."""
        later = graph("attention-u8-group64-f32.json")
        later.update(version="3.12.1", input_ports=[0, 1, 2],
                     output_ports=[50])
        for op in later["graph"]:
            if op["kind"] == "MatMul":
                op["attrs"]["accumulation_mode"] = {
                    "type": "string", "value": "strict"}
            if op["kind"] == "SoftMax":
                op["attrs"]["mode"] = {"type": "string", "value": "none"}
            if op["kind"] in ("Divide", "Multiply"):
                op["inputs"][1].update(
                    shape=[], stride=[], property_type="host_scalar")
        for row in self.rows(self.written(later)):
            self.assertNotIn("refused", row["plugin"], row["name"])

    def test_what_nobody_can_run_is_said(self):
        refused = graph("quark-s32-axis-f32.json")
        refused["graph"][0]["kind"] = "QuantizeLinear"
        done = replay(self.written(refused))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("refused", done.stdout)

    def test_files_may_follow_any_option(self):
        path = os.path.join(GRAPHS, "dequantize-s8-channel-f32.json")
        self.assertEqual(len(self.rows("--threads", "1", path, path)), 2)

    def test_csv(self):
        path = os.path.join(self.folder, "rows.csv")
        done = replay("--csv", path, os.path.join(
            GRAPHS, "dequantize-s8-channel-f32.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            header, line = file.read().splitlines()
        self.assertIn("plugin.seconds", header.split(","))
        self.assertIn("DynamicDequantize", line)

    def test_interrupt_leaves_what_there_is(self):
        out = os.path.join(self.folder, "out.json")
        path = os.path.join(GRAPHS, "chain-s8-multiply-add.json")
        running = subprocess.Popen(
            [TOOL, "replay", "--budget", "0.2", "--json", out, *[path] * 500],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True)
        time.sleep(3)
        running.send_signal(signal.SIGINT)
        text, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0)
        self.assertIn("DynamicDequantize", text)
        with open(out, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        self.assertIn(len(rows), range(1, 500))
        self.assertIn(f"interrupted: {len(rows)} rows", text)


class Dumps(Folder):

    def dumps_of(self, folder, *command):
        """Runs the command with dumping on; its dumps, in order."""
        os.mkdir(folder)
        subprocess.run(command, cwd=folder, check=True, timeout=60,
                       stdout=subprocess.DEVNULL,
                       env=dict(os.environ, ONEDNN_GRAPH_DUMP="graph"))
        paths = glob.glob(os.path.join(folder, "graph-dnnl_dequant-*.json"))
        return sorted(paths, key=lambda path: int(path.split("-")[-1][:-5]))

    def test_programs_with_ops_of_ours(self):
        dumps = self.dumps_of(os.path.join(self.folder, "one"), EXTENDED)
        self.assertGreaterEqual(len(dumps), 2)
        rows = self.rows(*dumps)
        for row in rows:
            self.assertEqual(row["check"], "formula", row["name"])

    def test_a_replayed_graph_dumps_the_same(self):
        running = subprocess.run([TOOL, "--version"], check=True, timeout=60,
                                 stdout=subprocess.PIPE,
                                 universal_newlines=True).stdout.split()[-1]
        for name in ("attention-s8-group128-f16.json",
                     "onnx-u16-block-f32.json"):
            path = os.path.abspath(os.path.join(GRAPHS, name))
            again = self.dumps_of(
                os.path.join(self.folder, name), TOOL, "replay",
                "--budget", "0.01", path)
            # Stock's, the plugin's, and where it fuses that of ops apart.
            self.assertIn(len(again), (2, 3))
            for one in again:
                with open(one, encoding="utf-8") as file:
                    self.assertEqual(json.load(file),
                                     dict(graph(name), version=running))


class BadFiles(Folder):

    def refused(self, what, *words):
        """One sentence, status 2, and the good file beside it still runs."""
        good = os.path.join(GRAPHS, "dequantize-s8-channel-f32.json")
        bad = what if isinstance(what, str) and what.startswith("/") \
            else self.written(what)
        done = replay(bad, good)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(bad, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertIn("jit_dequantize", done.stdout)

    def changed(self, change, name="dequantize-s8-channel-f32.json"):
        changed = copy.deepcopy(graph(name))
        change(changed)
        return changed

    def test_no_file(self):
        self.refused("/nonexistent/graph.json", "cannot be read")
        self.refused(self.folder, "cannot be read")

    def test_no_json(self):
        self.refused("{\"graph\": [", "no JSON")
        self.refused("", "no JSON")
        self.refused("\0\1\2", "no JSON")

    def test_no_graph(self):
        self.refused("[1, 2]", "no oneDNN graph")
        self.refused({"graph": 3}, "no oneDNN graph")
        self.refused({"graph": []}, "no ops")
        self.refused({"graph": [7]}, "op")
        self.refused({"graph": [{"id": "x", "kind": "MatMul"}]}, "id")

    def test_unknown_words(self):
        def kind(g): g["graph"][0]["kind"] = "Dequantise"
        def dtype(g): g["graph"][0]["inputs"][0]["dtype"] = "u3"
        def nameless(g):
            g["graph"][0]["inputs"][0]["dtype"] = "unknown data_type"
        def attribute(g): g["graph"][0]["attrs"]["colour"] = {
            "type": "s64", "value": 1}
        def typed(g): g["graph"][0]["attrs"]["axis"] = {
            "type": "s65", "value": 1}
        def value(g): g["graph"][0]["attrs"]["axis"] = {
            "type": "s64", "value": "one"}
        def fpmath(g): g["fpmath_mode"] = "f7"
        self.refused(self.changed(kind), "Dequantise")
        self.refused(self.changed(dtype), "u3")
        self.refused(self.changed(nameless), "graph-dnnl_dequant-")
        self.refused(self.changed(attribute), "colour")
        self.refused(self.changed(typed), "s65")
        self.refused(self.changed(value), "axis")
        self.refused(self.changed(fpmath), "f7")

    def test_contradictions(self):
        def cycle(g):
            g["graph"][0]["inputs"][1] = g["graph"][-1]["outputs"][0]
        def twice(g): g["graph"].append(copy.deepcopy(g["graph"][0]))
        def maker(g):
            g["graph"].append(copy.deepcopy(g["graph"][0]))
            g["graph"][1]["id"] = 99
        def dtype(g): g["graph"][1]["inputs"][0]["dtype"] = "f16"
        def shape(g): g["graph"][1]["inputs"][0]["shape"] = [1, 2]
        def outside(g): g["graph"][0]["inputs"][0]["shape"][0] = -1
        chain = "chain-s8-multiply-add.json"
        self.refused(self.changed(cycle, chain), "cycle")
        self.refused(self.changed(twice), "id")
        self.refused(self.changed(maker), "two producers")
        self.refused(self.changed(dtype, chain), "f16")
        self.refused(self.changed(shape, chain), "two shapes")
        self.refused(self.changed(outside), "shape is unknown")

    def test_too_large(self):
        def large(g):
            for tensor in g["graph"][0]["inputs"][:1] + g["graph"][0]["outputs"]:
                tensor["shape"] = [2 ** 40, 64, 3, 3]
                tensor["stride"] = [576, 9, 3, 1]
        def absurd(g):
            for tensor in g["graph"][0]["inputs"][:1] + g["graph"][0]["outputs"]:
                tensor["shape"] = [2 ** 60, 64, 2 ** 60, 3]
                tensor["stride"] = [576, 9, 3, 1]
        def ranks(g):
            g["graph"][0]["inputs"][0]["shape"] = [1] * 13
        self.refused(self.changed(large), "memory")
        self.refused(self.changed(absurd), "memory")
        self.refused(self.changed(ranks), "dimensions")

    def test_no_file_named(self):
        done = replay()
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()

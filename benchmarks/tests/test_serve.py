"""serve: throughput, latencies and memory, of plugin and stock."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "graphs")


def serve(*arguments):
    return subprocess.run(
        [TOOL, "serve", "--seconds", "2", *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, universal_newlines=True, timeout=120)


class Serves(unittest.TestCase):

    def served(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "serve.json")
            done = serve("--json", path, *arguments)
            self.assertEqual(
                (done.returncode, done.stderr), (0, ""), done.stdout)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def check(self, found):
        self.assertEqual([row["name"] for row in found["rows"]],
                         ["execute", "compile hit", "compile miss"])
        for row in found["rows"]:
            for side in ("plugin", "stock"):
                calls = row[side]
                self.assertGreater(calls["count"], 0, (row["name"], side))
                self.assertGreater(calls["per_second"], 0)
                known = [calls[q] for q in ("p50", "p99", "p999", "max")
                         if calls[q] is not None]
                self.assertEqual(known, sorted(known))
                for q, least in (("p99", 100), ("p999", 1000)):
                    self.assertEqual(calls[q] is None, calls["count"] < least)
        self.assertEqual({point["side"] for point in found["memory"]},
                         {"start", "plugin", "stock"})
        for point in found["memory"]:
            self.assertGreater(point["bytes"], 1e6)

    def test_standard_mix(self):
        found = self.served("--threads", "3")
        self.check(found)
        self.assertGreaterEqual(len(found["graphs"]), 5)
        self.assertEqual(found["threads"], 3)

    def test_graphs_of_several_partitions(self):
        self.check(self.served(
            os.path.join(GRAPHS, "chain-u4-cast-transpose.json"),
            os.path.join(GRAPHS, "chain-s8-multiply-add.json")))


class Mistakes(unittest.TestCase):

    def refused(self, *arguments):
        done = serve(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertGreaterEqual(done.stderr.count("\n"), 1)
        return done

    def test_options(self):
        self.refused("--threads", "0")
        self.refused("--seconds", "no")
        self.refused("--isa", "avx3")

    def test_nothing_left_to_serve(self):
        done = self.refused(os.path.join(GRAPHS, "onnx-u16-block-f32.json"))
        self.assertIn("not served", done.stdout)

    def test_bad_file(self):
        self.assertIn("cannot be read", self.refused("/nonexistent").stderr)
        done = self.refused("/nonexistent", os.path.join(
            GRAPHS, "dequantize-s8-channel-f32.json"))
        self.assertIn("compile, miss", done.stdout)


if __name__ == "__main__":
    unittest.main()

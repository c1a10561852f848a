"""compare: what is a change, and what is not."""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)


def document(factors, seed, command="kernels"):
    chance = random.Random(seed)
    rows = []
    for name, factor in factors.items():
        samples = [factor * chance.uniform(0.95, 1.05) for _ in range(30)]
        rows.append({"name": name, "plugin": {"seconds": {"samples": samples}},
                     "ratio": {"samples": samples}})
    return {"format": 2, "command": command, "machine": {"cpu": "x"},
            "rows": rows,
            "latencies": [{"name": "latency/execute", "plugin": {
                "samples": [1e-6 * chance.uniform(0.9, 1.1)
                            for _ in range(30)]}}]}


class Compare(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self, what, name):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(what if isinstance(what, str) else json.dumps(what))
        return path

    def compare(self, *arguments):
        return subprocess.run(
            [TOOL, "compare", *arguments], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True, timeout=60)

    def pair(self, old, new):
        return (self.written(document(old, 1), "old.json"),
                self.written(document(new, 2), "new.json"))

    def test_a_change_is_one_in_each_pair(self):
        """The mood of one run of two is no change."""
        old, new = self.pair({"steady": 1, "moody": 1, "other": 1},
                             {"steady": 1.2, "moody": 1.5, "other": 1})
        calm = self.written(document({"steady": 1.2, "moody": 1, "other": 1},
                                     3), "calm.json")
        done = self.compare(old, new, old, calm)
        self.assertIn("1 slower, 0 faster, by over 5% in each pair of runs",
                      done.stdout)
        self.assertIn("steady", done.stdout)
        self.assertNotIn("moody", done.stdout)

    def test_slower_and_faster(self):
        out = os.path.join(self.folder, "out.json")
        done = self.compare(
            *self.pair({"a": 1, "b": 1, "c": 1}, {"a": 1.2, "b": 0.8, "c": 1}),
            "--json", out)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^a .*SLOWER$")
        self.assertRegex(done.stdout, r"(?m)^b .*faster$")
        self.assertIn("4 rows: 1 slower, 1 faster", done.stdout)
        with open(out, encoding="utf-8") as file:
            rows = {row["name"]: row for row in json.load(file)["rows"]}
        self.assertTrue(rows["a"]["slower"])
        self.assertFalse(rows["c"]["slower"] or rows["c"]["faster"])

    def test_noise_is_no_change(self):
        names = {str(i): 1 for i in range(100)}
        done = self.compare(*self.pair(names, names), "--threshold", "0")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_small_change_is_none(self):
        done = self.compare(*self.pair({"a": 1}, {"a": 1.04}))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.compare(
            *self.pair({"a": 1}, {"a": 1.04}), "--threshold", "0.01"
            ).returncode, 1)

    def test_pairs_of_runs(self):
        one, two = self.pair({"a": 1}, {"a": 1.2})
        self.assertEqual(self.compare(one, two, one, two).returncode, 1)
        self.assertEqual(self.compare(one, two, two, one).returncode, 0)

    def test_rows_that_went(self):
        done = self.compare(*self.pair({"a": 1, "b": 1}, {"a": 1}))
        self.assertIn("1 rows of the old run", done.stdout)

    def test_few_samples_are_counted_exactly(self):
        """Five of ten can be chosen in 252 ways; two are that far apart."""
        def written(first, name):
            samples = [first + i for i in range(5)]
            return self.written({
                "command": "kernels", "machine": {}, "rows": [
                    {"name": "a", "ratio": {"samples": samples}}]}, name)
        old, new = written(1, "old.json"), written(6, "new.json")
        out = os.path.join(self.folder, "out.json")
        self.assertEqual(self.compare(old, new, "--json", out).returncode, 1)
        with open(out, encoding="utf-8") as file:
            self.assertAlmostEqual(json.load(file)["rows"][0]["p"], 2 / 252)

    def test_many_rows_take_more_to_be_a_change(self):
        """Holm: what is 2 / 252 alone is 16 of them among eight rows."""
        def written(first, name):
            return self.written({
                "command": "kernels", "machine": {}, "rows": [
                    {"name": str(row), "ratio": {"samples": [
                        (first if row == 0 else 1) + i for i in range(5)]}}
                    for row in range(8)]}, name)
        out = os.path.join(self.folder, "out.json")
        done = self.compare(written(1, "old.json"), written(6, "new.json"),
                            "--json", out)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(out, encoding="utf-8") as file:
            rows = {row["name"]: row["p"] for row in json.load(file)["rows"]}
        self.assertAlmostEqual(rows["0"], 16 / 252)
        self.assertEqual(rows["1"], 1)

    def refused(self, *arguments):
        done = self.compare(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_mistakes(self):
        good, _ = self.pair({"a": 1}, {"a": 1})
        other = self.written(document({"a": 1}, 3, "peers"), "other.json")
        nothing = self.written(document({}, 3) | {"latencies": []}, "no.json")
        self.refused(good)
        self.refused(good, good, good)
        self.assertIn("read", self.refused(good, "/nonexistent"))
        self.assertIn("JSON", self.refused(good, self.written("{", "x")))
        self.assertIn("--json", self.refused(good, self.written("[]", "x")))
        self.assertIn("peers", self.refused(good, other))
        self.assertIn("common", self.refused(good, nothing))


class WithoutPython(unittest.TestCase):

    def test_it_says_so(self):
        done = subprocess.run(
            [TOOL, "compare", "a", "b"], stderr=subprocess.PIPE, text=True,
            env={**os.environ, "DNNL_DEQUANT_PEERS_PYTHON": "/nonexistent"})
        self.assertEqual((done.returncode, done.stderr), (
            1, "dnnl-dequant-bench: /nonexistent does not run: No such file or "
            "directory\n"))


if __name__ == "__main__":
    unittest.main()

"""results.py: the figures of runs as tables, in place of older ones."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "results.py")
FAKE = os.path.join(HERE, "fake_peer.py")
GRAPH = os.path.join(HERE, "..", "graphs", "chain-s8-multiply-add.json")
sys.path.insert(0, os.path.join(HERE, ".."))
import chart  # noqa: E402

# The Python that has matplotlib, where the build was told of one.
CHART_PYTHON = os.environ.get("DNNL_DEQUANT_CHART_PYTHON") or sys.executable
MARKED = """before
<!-- figures: begin -->
old
<!-- figures: end -->
after
"""


class Results(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = os.path.join(folder.name, "page.md")
        self.folder = folder.name

    def measured(self, name, *arguments):
        path = os.path.join(self.folder, name + ".json")
        subprocess.run([TOOL, *arguments, "--json", path], check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        return path

    def renewed(self, text, *runs, python=sys.executable):
        if text is not None:
            with open(self.page, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(
            [python, RESULTS, self.page, *runs], timeout=60,
            stderr=subprocess.PIPE, universal_newlines=True)
        with open(self.page, encoding="utf-8") as file:
            return done, file.read()

    def test_tables(self):
        runs = [
            self.measured("kernels", "kernels", "--quick", "--threads", "1",
                          "--budget", "0.01", "--filter",
                          "^u8/f32/.*256x256|^Attention/f32/s8/8_of_8_.*/1x|"
                          "latency/execute"),
            self.measured("replay", "replay", "--budget", "0.01", GRAPH),
            self.measured("serve", "serve", "--seconds", "1"),
            self.measured("peers", "peers", "--threads", "1", "--budget",
                          "0.01", "--python", sys.executable, "--peer-script",
                          FAKE, "--filter",
                          "^MatMul/f32/u4/group_128/.*column/1x4096x4096|"
                          "^DequantizeLinear/f8_e4m3/f16.*8x64x128")]
        done, text = self.renewed(MARKED, *runs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(text.startswith("before\n<!--"))
        self.assertTrue(text.endswith("-->\nafter\n"))
        self.assertNotIn("old", text)
        for words in ("### Classes of rows", "256x256 dense, 1 thread, "
                      "8-bit to f32 | ", "### What a call costs",
                      "chain-s8-multiply-add.json#0", "execute, plugin",
                      "Rows where another is faster",
                      "Resident memory over 1 s, MB: ",
                      "### Compared with the peers", "### Products compared with the peers",
                      "Peak of FMA, 1 thread: "):
            self.assertIn(words, text)
        product = next(line for line in text.splitlines()
                       if line.startswith("| `MatMul/f32"))
        self.assertRegex(product, r"\([0-9.]+, \d+%\) .*\| 2\.00 \| 500 ms")
        self.assertEqual(self.renewed(text, *runs)[1], text)

    def test_what_nobody_ran(self):
        run = self.measured("replay", "replay", "--budget", "0.01", GRAPH)
        _, text = self.renewed(MARKED, run)
        self.assertIn("### Graphs", text)
        for title in ("Compared with the peers", "Products", "What a call costs"):
            self.assertNotIn(title, text)

    def test_a_page_is_begun(self):
        run = self.measured("replay", "replay", "--budget", "0.01", GRAPH)
        done, text = self.renewed(None, run)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(text.startswith("# Results\n"))
        self.assertIn("### Graphs", text)

    def test_no_marks(self):
        run = self.measured("replay", "replay", "--budget", "0.01", GRAPH)
        done, text = self.renewed("mine\n", run)
        self.assertEqual((done.returncode, text), (1, "mine\n"))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def charted_run(self):
        return self.measured(
            "chart", "peers", "--all", "--threads", "1", "--budget", "0.01",
            "--python", sys.executable, "--peer-script", FAKE, "--filter",
            chart.row_filter())

    def test_chart(self):
        if subprocess.run([CHART_PYTHON, "-c", "import matplotlib"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest(f"{CHART_PYTHON} has no matplotlib")
        marked = MARKED.replace("figures:", "chart:")
        run = self.charted_run()
        done, text = self.renewed(marked, run, python=CHART_PYTHON)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(text.startswith("before\n<!--"))
        self.assertTrue(text.endswith("-->\nafter\n"))
        self.assertNotIn("old", text)
        self.assertRegex(text, r"one thread, oneDNN \S+, plugin \S+, 20\d\d-")
        for title, _ in chart.ROWS:
            line = next(line for line in text.splitlines()
                        if title.replace("\n", ", ") in line)
            self.assertRegex(line, r"ms \([0-9.]+\) \| `\w+` \|$")
        pictures = []
        for theme in ("light", "dark"):
            with open(f"{self.page[:-3]}-{theme}.svg", encoding="utf-8") as file:
                pictures.append(file.read())
            words = " ".join(xml.etree.ElementTree.fromstring(
                pictures[-1]).itertext())
            for word in ("stock oneDNN", "refused", "plugin", "byte-moving",
                         "one thread"):
                self.assertIn(word, words)
        self.assertNotEqual(*pictures)
        self.assertEqual(
            self.renewed(text, run, python=CHART_PYTHON)[1], text)

    def test_chart_of_too_few_rows(self):
        run = self.measured("replay", "replay", "--budget", "0.01", GRAPH)
        marked = MARKED.replace("figures:", "chart:")
        done, text = self.renewed(marked, run)
        self.assertEqual((done.returncode, text), (1, marked))
        self.assertIn("no run has Attention/", done.stderr)


class Chart(unittest.TestCase):
    """What is drawn of a row, without a run."""

    ROW = {"name": chart.ROWS[0][1],
           "limit": {"best": "read", "read": {"median": 2.0}},
           "ratio": {"median": 1.5},
           "plugin": {"kernel": "ours", "seconds": {"median": 3.0}}}

    def sides(self, **others):
        return chart.sides_of({**self.ROW, **others})

    def test_the_best_peer_is_the_fastest(self):
        def peer(time):
            return {"seconds": {"median": time}, "ratio": {"median": time / 2}}
        best = self.sides(peers={"ggml": peer(9.0), "ONNX Runtime": peer(5.0),
                                 "oneDNN dense": peer(1.0)})[1]
        self.assertEqual((best["word"], best["over"]), ("ONNX Runtime", 2.5))
        none = self.sides(peers={"ggml": {"refused": "no such type"}})[1]
        self.assertEqual((none["word"], none["seconds"]), ("none", None))

    def test_stock(self):
        self.assertEqual(self.sides(stock={"refused": "why"})[0]["word"],
                         "refused")
        stock = self.sides(stock={"seconds": {"median": 8.0},
                                  "estimated": True})[0]
        self.assertEqual((stock["over"], stock["word"]), (4.0, "estimated"))

    def test_rows_that_did_not_run_are_left_out(self):
        failed = {**self.ROW, "plugin": {"refused": "why"}}
        self.assertEqual(chart.workloads([{"rows": [failed]}])[0], [])
        found, machine = chart.workloads(
            [{"rows": [self.ROW], "machine": "m"}])
        self.assertEqual((len(found), machine), (1, "m"))


if __name__ == "__main__":
    unittest.main()

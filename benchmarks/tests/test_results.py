"""results.py: the figures of runs as tables, in place of older ones."""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "results.py")
FAKE = os.path.join(HERE, "fake_peer.py")
GRAPH = os.path.join(HERE, "..", "graphs", "chain-s8-multiply-add.json")
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

    def renewed(self, text, *runs):
        if text is not None:
            with open(self.page, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run(
            [sys.executable, RESULTS, self.page, *runs], timeout=60,
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
                          "^MatMul/f32/.*group_128/.*column/1x4096x4096|"
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
                      "### Beside the peers", "### Products beside the peers",
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
        for title in ("Beside the peers", "Products", "What a call costs"):
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


if __name__ == "__main__":
    unittest.main()

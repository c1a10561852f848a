"""bench_ort.py: figures, what each node costs, and the page in a browser."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support
import test_nbits

FOLDER = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.join(FOLDER, "..", "bench_ort.py")
BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_bench(self, name, claim="all"):
        weights = test_nbits.Weights(64, 32, 4, 32)
        with open(self.path(name), "wb") as file:
            file.write(support.serialized(weights.model(["rows", 64])))
        subprocess.run(
            [sys.executable, BENCH, "--library", support.LIBRARY, "--threads",
             "1", "--budget", "0.05", "--claim", claim, "--shape", "rows=2",
             "--nodes", "--json", self.path("figures.json"), "--html",
             self.path("page.html"), "--", self.path(name)],
            check=True, stdout=subprocess.PIPE)
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        with open(self.path("figures.json"), encoding="utf-8") as file:
            return json.load(file), page

    def drawn(self, width=1200):
        """The page as a browser has drawn it."""
        if not BROWSER:
            self.skipTest("no chromium here: nobody has looked at the page")
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--virtual-time-budget=5000",
             "--user-data-dir=" + self.path("browser"),
             f"--window-size={width},900", "--dump-dom",
             "file://" + self.path("page.html")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, timeout=120)
        self.assertIn('data-drawn="yes"', done.stdout, done.stderr)
        return done.stdout

    def test_figures_and_page(self):
        document, page = self.run_bench("model.onnx")
        row, = document["rows"]
        self.assertLess(row["difference"], 1e-4)
        self.assertLessEqual(row["provider_ms"]["p50"],
                             row["provider_ms"]["p99"])
        node, = row["nodes"]
        self.assertEqual(["n0"], node["nodes"])
        # Whole microseconds: a small node may take none.
        self.assertGreaterEqual(node["provider_us"], 0)
        self.assertGreaterEqual(node["onnxruntime_us"], 0)
        # Nothing but the name of SVG's namespace looks like an address.
        self.assertEqual({"http://www.w3.org/2000/svg"},
                         set(re.findall(r"https?://[^'\" ]*", page)))
        for width in (500, 1200):
            dom = self.drawn(width)
            for chart, marks in (("gain over ONNX Runtime", 1),
                                 ("latencies", 6)):
                body, = re.findall(r'<svg[^>]*data-chart="' + chart
                                   + '"[^>]*>(.*?)</svg>', dom, re.S)
                self.assertEqual(marks, body.count("data-row="))
            self.assertIn("model.onnx, 1 thread: n0", dom)

    def test_nothing_taken(self):
        document, _ = self.run_bench("model.onnx", claim="faster")
        self.assertEqual([], document["rows"][0]["nodes"])
        self.assertIn("None.", self.drawn())

    def test_names_cannot_break_out(self):
        _, page = self.run_bench("<script>alert(1)<!--.onnx")
        self.assertNotIn("<script>alert", page)
        self.assertIn("&lt;script&gt;alert(1)&lt;!--", self.drawn())


if __name__ == "__main__":
    unittest.main()

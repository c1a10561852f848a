"""--html: a browser opens the pages and finds their charts."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
BROWSER = sys.argv.pop(1) if len(sys.argv) > 1 else ""
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "graphs")


class Page(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "page.html")

    def made(self, *arguments):
        done = subprocess.run(
            [TOOL, *arguments, "--html", self.path], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        with open(self.path, encoding="utf-8") as file:
            page = file.read()
        # Nothing but the name of SVG's namespace looks like an address.
        self.assertEqual(set(re.findall(r"https?://[^'\" ]*", page)),
                         {"http://www.w3.org/2000/svg"})
        return page

    def opened(self, width=1200):
        """The page as the browser has drawn it in a window of so many pixels."""
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--virtual-time-budget=5000",
             "--user-data-dir=" + os.path.join(self.folder, "browser"),
             f"--window-size={width},900", "--dump-dom", "file://" + self.path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, timeout=120)
        self.assertIn('data-drawn="yes"', done.stdout, done.stderr)
        return done.stdout

    def charts(self, dom):
        """The marks in each chart."""
        return {name: body.count("data-row=") for name, body in re.findall(
            r'<svg[^>]*data-chart="([^"]*)"[^>]*>(.*?)</svg>', dom, re.S)}

    def test_kernels(self):
        self.made("kernels", "--quick", "--threads", "1", "--budget", "0.01",
                  "--filter", "^u[48]/.*256x256|latency/execute")
        dom = self.opened()
        charts = self.charts(dom)
        self.assertGreater(charts["roofline"], 10)
        self.assertGreater(charts["time over the limit"], 10)
        self.assertGreater(charts["gain over stock oneDNN"], 3)
        self.assertIn('data-chart="slower"', dom)
        for words in ("Latencies", "execute 64 elements", "The machine",
                      "instruction set", "Where the figures are from"):
            self.assertIn(words, dom)

    def test_a_narrow_window(self):
        self.made("kernels", "--quick", "--threads", "1", "--budget", "0.01",
                  "--filter", "^u8/f32/tensor.*256x256")
        for width in (500, 1200):
            drawn = [int(found) for found in re.findall(
                r'viewBox="0 0 (\d+) ', self.opened(width))]
            self.assertGreaterEqual(len(drawn), 3)
            self.assertLess(max(drawn), width)  # nothing is scaled down
            self.assertGreater(min(drawn), width - 120)

    def test_replay(self):
        names = ("onnx-u16-block-f32.json", "chain-s8-multiply-add.json")
        self.made("replay", "--budget", "0.01",
                  *[os.path.join(GRAPHS, name) for name in names])
        dom = self.opened()
        self.assertGreaterEqual(self.charts(dom)["roofline"], 2)
        for name in names:
            self.assertIn(name, dom)

    def test_products(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            "fake_peer.py")
        self.made("peers", "--threads", "1", "--budget", "0.01", "--python",
                  sys.executable, "--peer-script", fake, "--filter",
                  "^MatMul/f32/u4/group_128/.*column/(1|8)x4096x4096")
        dom = self.opened()
        charts = self.charts(dom)
        self.assertEqual(charts["share of the peak"], 6)  # two rows, three sides
        # Eight rows do not wait for memory: plugin, stock, peer and oneDNN's
        # product of floats of one.
        self.assertEqual(charts["time over the limit"], 1)
        self.assertEqual(charts["roofline"], 4)
        self.assertIn("of peak", dom)

    def test_serve(self):
        self.made("serve", "--seconds", "1")
        charts = self.charts(self.opened())
        # The medians, and of percentiles those of which there are enough calls.
        self.assertIn(charts["latencies"], range(3 * 2 + 1, 3 * 3 * 2 + 1))
        self.assertGreater(charts["memory"], 2)

    def test_names_cannot_break_out(self):
        evil = os.path.join(self.folder, "<script>alert(1)<!--.json")
        os.symlink(os.path.abspath(os.path.join(
            GRAPHS, "dequantize-s8-channel-f32.json")), evil)
        page = self.made("replay", "--budget", "0.01", evil)
        self.assertNotIn("<script>alert", page)
        self.assertIn("&lt;script&gt;alert(1)&lt;!--", self.opened())


if __name__ == "__main__":
    if not BROWSER:
        print("NOT RUN: no chromium here, nobody has looked at the pages")
        sys.exit(77)
    unittest.main()

"""The tool's contract: exit status, files written, one sentence a mistake."""

import csv
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)


def run(*arguments, limit=resource.RLIM_INFINITY):
    """Runs the tool with at most so many bytes of addresses."""
    return subprocess.run([TOOL, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True,
                          timeout=300, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_AS, (limit, limit)))


class Runs(unittest.TestCase):

    def test_kernels_has_attention(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            done = run("kernels", "--quick", "--threads", "1", "--no-stock",
                       "--budget", "0.01", "--json", path,
                       "--filter", "^Attention/f32/s8/8_of_8_heads/1x")
            self.assertEqual((done.returncode, done.stderr), (0, ""),
                             done.stdout)
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
        self.assertEqual([row["op"] for row in rows], ["Attention"])
        self.assertEqual(rows[0]["plugin"]["wrong"], 0)
        # Nobody else is asked.
        self.assertEqual(list(rows[0]["peers"]), ["oneDNN dense"])

    def test_kernels_writes_json_and_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            json_path = os.path.join(folder, "rows.json")
            csv_path = os.path.join(folder, "rows.csv")
            done = run("kernels", "--quick", "--threads", "1",
                       "--filter", "u[48]/f32/.*256x256|latency/execute",
                       "--json", json_path, "--csv", csv_path)
            self.assertEqual((done.returncode, done.stderr), (0, ""),
                             done.stdout)
            with open(json_path, encoding="utf-8") as file:
                found = json.load(file)
            with open(csv_path, encoding="utf-8") as file:
                lines = list(csv.DictReader(file))
        self.assertEqual(found["format"], 2)
        self.assertGreater(len(found["rows"]), 10)
        # What is slower than stock is the end of the output, "none" or lines.
        slower = found["slower_than_stock"]
        closing = "slower than stock in this run: " + (
            f"{len(slower)}\n" if slower else "none\n")
        self.assertIn(closing, done.stdout)
        said = done.stdout.split(closing)[1].splitlines()
        self.assertEqual([line.split(": ")[0].strip() for line in said],
                         [claim["name"] for claim in slower])
        for claim in slower:
            self.assertGreater(claim["plugin"], claim["stock"])
        self.assertEqual(len(lines), len(found["rows"]))
        self.assertEqual([latency["name"] for latency in found["latencies"]],
                         ["latency/execute"])
        for row in found["rows"]:
            with self.subTest(row["name"]):
                self.assertEqual(row["plugin"]["wrong"], 0)
                self.assertNotEqual(row["plugin"]["kernel"], "")
                self.assertGreater(row["plugin"]["seconds"]["median"], 0)
                self.assertGreater(row["ratio"]["median"], 0)
                self.assertIn(row["limit"]["best"], ("ordinary", "streaming"))

    def test_misaligned_buffers(self):
        done = run("kernels", "--quick", "--threads", "1", "--no-stock",
                   "--misalign", "--filter", "/256x256/")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_list_names_each_case_once(self):
        names = run("kernels", "--list", "--threads", "1").stdout.split()
        self.assertGreater(len(names), 1000)
        self.assertEqual(len(names), len(set(names)))
        quick = run("kernels", "--quick", "--list", "--threads", "1")
        self.assertLess(set(quick.stdout.split()), set(names))

    def test_shapes_of_models(self):
        for name, one in (("language", "u4/bf16/group_1x128/zps_u4/dense/"
                           "14336x4096/t1"),
                          ("vision", "s8/f32/channel_0/zps_none/dense/"
                           "64x3x7x7/t1"),
                          ("speech", "u8/f32/tensor/zps_u8/dense/"
                           "1280x1280x3/t1")):
            names = run("kernels", "--shapes", name, "--list", "--threads",
                        "1").stdout.split()
            self.assertIn(one, names)
            self.assertEqual(len(names), len(set(names)))

    def test_shapes_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# mine\n\nsmall 32x3x5x64  # a comment\n")
            done = run("kernels", "--shapes", path, "--threads", "1",
                       "--budget", "0.01", "--filter", "32x3x5x64")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("4 rows: 4 equal", done.stdout)

    def test_interrupt_leaves_what_there_is(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            running = subprocess.Popen(
                [TOOL, "kernels", "--threads", "1", "--no-stock", "--json",
                 path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                universal_newlines=True)
            seen = []
            while not any("jit_" in line for line in seen):
                seen.append(running.stdout.readline())
            running.send_signal(signal.SIGINT)
            text, errors = running.communicate(timeout=60)
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
        self.assertEqual((running.returncode, errors), (0, ""), text)
        self.assertIn(f"interrupted: {len(rows)} of ", text)
        self.assertIn(f"{len(rows)} rows: {len(rows)} equal", text)

    def test_no_bar_in_a_pipe_and_one_on_a_terminal(self):
        arguments = [TOOL, "kernels", "--quick", "--threads", "1",
                     "--no-stock", "--budget", "0.01", "--filter", "1x64"]
        screen, terminal = pty.openpty()
        with os.fdopen(screen, "rb", buffering=0) as out:
            subprocess.run(arguments, stdout=subprocess.DEVNULL,
                           stderr=terminal, check=True, timeout=60)
            shown = out.read(65536).decode()
        os.close(terminal)
        self.assertRegex(shown, r"\[#*\.+\] 0/\d+")
        self.assertRegex(shown, r"1/\d+  0:0\d left")
        self.assertEqual(run(*arguments[1:]).stderr, "")

    def test_help(self):
        done = run("kernels", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--filter", done.stdout)

    def test_version(self):
        done = run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(
            done.stdout, r"^dnnl_dequant \d+\.\d+\.\d+, oneDNN \d+\.\d+")


class Mistakes(unittest.TestCase):

    def refused(self, *arguments, **how):
        done = run(*arguments, **how)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("dnnl-dequant-bench: "))
        return done.stderr

    def test_no_subcommand(self):
        self.refused()

    def test_unknown_subcommand(self):
        self.refused("kernel")

    def test_unknown_option(self):
        self.assertIn("--quik", self.refused("kernels", "--quik"))

    def test_threads(self):
        self.assertIn("0", self.refused("kernels", "--threads", "0"))
        self.refused("kernels", "--threads", "two")
        self.refused("kernels", "--threads", "99999")
        self.refused("kernels", "--budget", "-1")

    def test_cpu_time_is_for_one_thread(self):
        self.refused("kernels", "--cpu-time", "--threads", "1,2")

    def test_isa(self):
        self.assertIn("avx2", self.refused("kernels", "--isa", "avx3"))

    def test_filter(self):
        self.assertIn("regular", self.refused("kernels", "--filter", "("))
        self.assertIn("no case", self.refused("kernels", "--filter", "u7"))

    def test_shapes(self):
        self.assertIn("language", self.refused("kernels", "--shapes", "music"))
        for line in ("name", "name 3y4", "name 0x4", "name 3x4x", "name 3x-4",
                     "name 3x4 5", "name " + "9" * 30, "name 65536x65536"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "mine.txt")
                with open(path, "w", encoding="utf-8") as file:
                    file.write("fine 3x4\n" + line + "\n")
                self.assertIn("line 2", self.refused(
                    "kernels", "--shapes", path))

    def test_too_large(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("large 32768x32768\n")
            self.assertIn("memory", self.refused(
                "kernels", "--shapes", path, "--filter", "tensor",
                limit=3 << 30))

    def test_unwritable_file(self):
        self.assertIn("written", self.refused(
            "kernels", "--filter", "u4", "--json", "/nonexistent/a.json"))


if __name__ == "__main__":
    unittest.main()

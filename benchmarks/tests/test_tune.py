"""tune: every policy measured on this machine, the best one named."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
POLICIES = ["Cascade Lake", "Xeon with AMX", "Zen 3", "Zen 4", "Zen 5",
            "unknown"]
ROW = "u8/f32/tensor/zps_u8/dense/256x256/t1"


def run(*arguments, **environment):
    return subprocess.run(
        [TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=300,
        env=dict(os.environ, **environment))


class Tunes(unittest.TestCase):

    def test_every_policy_is_measured_and_the_best_named(self):
        done = run("tune", "--rounds", "1", "--filter", f"^{ROW}$")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        for start in (ROW, "geometric mean"):
            figures = [line for line in lines if line.startswith(start)]
            self.assertEqual(len(figures), 1, done.stdout)
            ratios = figures[0][len(start):].split()
            self.assertEqual(len(ratios), len(POLICIES), done.stdout)
            self.assertGreater(min(float(ratio) for ratio in ratios), 0.1)
        best = re.match(
            r"best: (.*); this machine's own, (.*), takes (\S+) times",
            lines[-1])
        self.assertTrue(best, done.stdout)
        self.assertIn(best.group(1), POLICIES)
        self.assertIn(best.group(2), POLICIES)
        self.assertGreaterEqual(float(best.group(3)), 1)

    def test_a_filter_that_leaves_nothing_is_refused(self):
        done = run("tune", "--rounds", "1", "--filter", "no such row")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such row", done.stderr)

    def policy_of(self, wanted):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            done = run("kernels", "--no-stock", "--budget", "0.01",
                       "--threads", "1", "--filter", f"^{ROW}$", "--json",
                       path, DNNL_DEQUANT_POLICY=wanted,
                       ONEDNN_VERBOSE="check,info")
            self.assertEqual(done.returncode, 0, done.stdout)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["machine"]["policy"], done.stdout

    def test_the_environment_chooses(self):
        for name in POLICIES:
            policy, log = self.policy_of(name)
            self.assertEqual(policy, name)
            self.assertIn(f"info,dequant_backend,policy:{name},", log)

    def test_a_name_that_is_none_is_told_and_changes_nothing(self):
        policy, log = self.policy_of("Zen 40")
        self.assertIn(policy, POLICIES)
        self.assertIn("'Zen 40' is no policy, expected one of: "
                      + ", ".join(POLICIES), log)


if __name__ == "__main__":
    unittest.main()

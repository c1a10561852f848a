"""PyTorch that links oneDNN sees the same with the plugin, and without it.

usage: test_torch.py PLUGIN
"""
import json
import os
import subprocess
import sys
import unittest

PLUGIN = sys.argv.pop(1)
MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.py")


def run(**variables):
    """What models.py says, and the lines that oneDNN's graph API logged."""
    # `profile` has a line for each partition that is executed.
    done = subprocess.run(
        [sys.executable, MODELS], env={**os.environ, "ONEDNN_VERBOSE":
                                       "profile", **variables},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
        universal_newlines=True)
    if done.returncode != 0:
        raise AssertionError(f"models.py ended with {done.returncode}: "
                             f"{done.stderr}")
    lines = done.stdout.splitlines()
    executed = [words(line) for line in lines if ",graph,exec,cpu," in line]
    return json.loads(lines[-1]), executed


def words(line):
    """A line of the log without its numbers of partitions and its time."""
    fields = line.split(",graph,exec,cpu,")[1].split(",")
    return fields[1:-1]


class Torch(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.stock, cls.stock_log = run()
        cls.enabled, cls.enabled_log = run(LD_PRELOAD=PLUGIN)
        cls.disabled, cls.disabled_log = run(LD_PRELOAD=PLUGIN,
                                             DNNL_DEQUANT_DISABLE="1")
        print("PyTorch", cls.stock["torch"], {
            name: f"{model['groups']} groups, {model['from_eager']:.1e} from "
            f"eager" for name, model in cls.stock["models"].items()})

    def test_plugin_is_where_it_should_be(self):
        self.assertEqual((self.stock["enabled"], self.stock["mapped"]),
                         (None, False))
        self.assertEqual((self.enabled["enabled"], self.enabled["mapped"]),
                         (1, True))
        self.assertEqual((self.disabled["enabled"], self.disabled["mapped"]),
                         (0, True))

    def test_models_are_fused(self):
        for name, model in self.stock["models"].items():
            with self.subTest(name):
                self.assertGreater(model["groups"], 0)
                self.assertLess(model["from_eager"], 1e-4)
        self.assertGreater(len(self.stock_log), 0)

    def test_partitions_are_the_same(self):
        for other in self.enabled, self.disabled:
            for name, model in self.stock["models"].items():
                for count in "groups", "guards":
                    self.assertEqual(other["models"][name][count],
                                     model[count], name)
        self.assertEqual(self.enabled_log, self.stock_log)
        self.assertEqual(self.disabled_log, self.stock_log)

    def test_results_are_the_same_to_the_bit(self):
        for other in self.enabled, self.disabled:
            for name, model in self.stock["models"].items():
                self.assertEqual(other["models"][name]["bits"], model["bits"],
                                 name)


if __name__ == "__main__":
    unittest.main()

"""Compares the log lines that docs/ quotes with those that examples print.

usage: test_log_lines.py DOCS EXAMPLES [unittest's arguments]

A quoted block follows a comment that says what prints it:

    <!-- output: VARIABLE=VALUE... PROGRAM; needs FLAG -->

`needs` names a flag of the CPU without which the lines are others.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

QUOTED = re.compile(
    r"<!-- output: (?P<settings>[^;\n]*?) ?(?P<program>\w+)"
    r"(?:; needs (?P<flag>\w+))? -->\n```text\n(?P<lines>.*?)^```$",
    re.MULTILINE | re.DOTALL)
# What differs from machine to machine, from one oneDNN to another, or from run
# to run.
VARYING = [
    (r"version:[\d.]+", "version:V"),
    (r"policy:[^,]+,last_cache:\d+,second_cache:\d+", "policy:P"),
    (r",cpu,\d+,\w+,", ",cpu,ID,KIND,"),
    (r"fpm:strict,\w+,(\w+),[\d.e+-]+$", r"fpm:strict,KERNEL,\1,MS"),
]


def without_varying(line):
    for pattern, word in VARYING:
        line = re.sub(pattern, word, line)
    return line


def missing_lines(quoted, printed):
    printed = {without_varying(line) for line in printed.splitlines()}
    return [line for line in quoted.splitlines()
            if without_varying(line) not in printed]


def flags_of_cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.search(r"^flags\s*:(.*)$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return set(found[1].split()) if found else set()


def environment(settings):
    """The shell's environment without what changes a log, and the settings."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("ONEDNN_", "DNNL_"))}
    return {**kept, **dict(word.split("=", 1) for word in settings.split())}


class LogLines(unittest.TestCase):

    def test_quoted_lines_are_printed(self):
        count = 0
        for page in sorted(glob.glob(os.path.join(DOCS, "*.md"))):
            with open(page, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(text.count("<!-- output:"),
                             len(QUOTED.findall(text)), page)
            for block in QUOTED.finditer(text):
                count += 1
                with self.subTest(page=os.path.basename(page),
                                  program=block["program"]):
                    self.compare(block)
        self.assertGreater(count, 0, DOCS)

    def compare(self, block):
        if block["flag"] and block["flag"] not in flags_of_cpu():
            self.skipTest(f"this CPU has no {block['flag']}")
        printed = subprocess.run(
            [os.path.join(EXAMPLES, block["program"])], check=True,
            env=environment(block["settings"]), stdout=subprocess.PIPE,
            universal_newlines=True, timeout=120).stdout
        missing = missing_lines(block["lines"], printed)
        self.assertEqual(missing, [], "\nnot printed; what was: " + "\n".join(
            line for line in printed.splitlines() if "_backend" in line
            and "pattern_matcher" not in line))

    def test_a_changed_line_is_found(self):
        printed = ("onednn_verbose,v1,graph,exec,cpu,7,dequantize,a,,in0,"
                   "fpm:strict,jit_a,dequant_backend,0.5\n")
        self.assertEqual(missing_lines(
            printed.replace("7", "8").replace("jit_a", "jit_b")
            .replace("0.5", "3e-05"), printed), [])
        for old, new in (("in0", "in1"), ("exec", "compile"),
                         ("dequant_backend", "dnnl_backend")):
            self.assertTrue(
                missing_lines(printed.replace(old, new), printed), new)


if __name__ == "__main__":
    DOCS, EXAMPLES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

"""Every C and C++ file is formatted as .clang-format says.

usage: check_format.py ROOT CLANG_FORMAT
"""
import os
import subprocess
import sys

import lint


def check(root, clang_format):
    files = lint.project_files(root, (".c", ".h", ".cpp", ".hpp"))
    complaints = []
    if files:
        run = subprocess.run(
            [clang_format, "--dry-run", "-Werror", "--ferror-limit=1", *files],
            cwd=root, capture_output=True, text=True)
        complaints = [line for line in run.stderr.splitlines()
                      if ": error:" in line]
        if run.returncode and not complaints:
            complaints = [run.stderr]
    return complaints, len(files)


if __name__ == "__main__":
    complaints, checked = check(os.path.abspath(sys.argv[1]), sys.argv[2])
    if complaints:
        print("./dev format mends these:")
    lint.finish(complaints, checked)

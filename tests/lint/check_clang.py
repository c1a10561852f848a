"""The library's sources compile without a warning under clang too.

usage: check_clang.py COMPILE_COMMANDS CLANGXX
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lint


def clang_command(entry, clang):
    """The entry's command for clang, checking only."""
    arguments = shlex.split(entry["command"])[1:]
    drop = arguments.index("-o")
    del arguments[drop:drop + 2]
    return [clang, "-fsyntax-only"] + arguments


def compile_one(entry, clang):
    run = subprocess.run(clang_command(entry, clang), cwd=entry["directory"],
                         capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def check(path, clang):
    with open(path, encoding="utf-8") as file:
        entries = [entry for entry in json.load(file)
                   if "CMakeFiles/dnnl_dequant" in entry["command"]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = pool.map(lambda entry: compile_one(entry, clang), entries)
        return [error for error in errors if error], len(entries)


if __name__ == "__main__":
    lint.finish(*check(*sys.argv[1:]))

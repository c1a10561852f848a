"""clang-tidy has nothing to say about what is not a test: no warning of
clang's, and no function beyond the sizes in .clang-tidy.

usage: check_clang.py ROOT COMPILE_COMMANDS CLANG_TIDY
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lint

# GCC's omp.h serves where clang's is missing, less an attribute that clang
# does not know. A header of libstdc++ uses what it deprecates itself.
FOR_CLANG = ["-D__malloc__(...)=", "-Wno-deprecated-declarations",
             "-idirafter"]


def tidy_command(entry, tidy):
    """The entry's command for clang-tidy."""
    compiler, *arguments = shlex.split(entry["command"])
    if os.path.basename(compiler) == "ccache":
        compiler = arguments.pop(0)
    include = subprocess.run([compiler, "-print-file-name=include"],
                             capture_output=True, text=True).stdout.strip()
    drop = arguments.index("-o")
    del arguments[drop:drop + 2]
    return [tidy, "--quiet", entry["file"], "--", *arguments, *FOR_CLANG,
            include]


def check_one(entry, tidy):
    run = subprocess.run(tidy_command(entry, tidy), cwd=entry["directory"],
                         capture_output=True, text=True)
    return run.stdout if run.returncode else ""


def is_checked(path, root):
    parts = os.path.relpath(path, root).split(os.sep)
    return not {"tests", "build"} & set(parts)


def check(root, commands, tidy):
    with open(commands, encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file)
                   if is_checked(entry["file"], root)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda entry: check_one(entry, tidy), entries.values())
        # A header's function is found once a source.
        return sorted(set(filter(None, said))), len(entries)


if __name__ == "__main__":
    lint.finish(*check(*sys.argv[1:]))

"""What needs Xbyak is included by sources for x86-64 only: other machines have
none. src/CMakeLists.txt tells them by their names.

usage: check_machines.py ROOT
"""
import re
import sys

import lint

XBYAK = "xbyak/xbyak.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)', re.M)
FOR_X64 = re.compile(r"/kernels/(jit/|[a-z_]+/(jit|avx)_)")


def headers_with_xbyak(texts):
    """Those that include it, or one that does."""
    found = {XBYAK}
    grown = True
    while grown:
        more = {path.removeprefix("src/") for path, text in texts.items()
                if path.endswith(".hpp")
                and any(name in found for name in INCLUDE.findall(text))}
        grown = not more <= found
        found |= more
    return found


def check_texts(texts):
    found = headers_with_xbyak(texts)
    return [f"{path}: includes {name}, which needs Xbyak, and is compiled on "
            "every machine: its name has to begin with jit_"
            for path, text in texts.items()
            if path.endswith(".cpp") and not FOR_X64.search(path)
            for name in INCLUDE.findall(text) if name in found] + [
            f"{path}: __x86_64__; src/CMakeLists.txt chooses by machine"
            for path, text in texts.items() if "__x86_64__" in text]


def check(root):
    texts = {path: lint.read(root, path)
             for path in lint.project_files(root, lint.CPP)
             if path.startswith("src/")}
    return check_texts(texts), len(texts)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

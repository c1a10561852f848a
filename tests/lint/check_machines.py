"""Xbyak, and the compiler's intrinsics, are included by sources for x86-64 only:
other machines have none. src/CMakeLists.txt tells them by their names.

usage: check_machines.py ROOT
"""
import re
import sys

import lint

ONLY_X64 = {"xbyak/xbyak.h", "immintrin.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)', re.M)
FOR_X64 = re.compile(r"/kernels/(jit/|[a-z_]+/(jit|avx)_)")


def headers_for_x64(texts):
    """Those that include one of these, or one that does."""
    found = set(ONLY_X64)
    grown = True
    while grown:
        more = {path.removeprefix("src/") for path, text in texts.items()
                if path.endswith(".hpp")
                and any(name in found for name in INCLUDE.findall(text))}
        grown = not more <= found
        found |= more
    return found


def check_texts(texts):
    found = headers_for_x64(texts)
    return [f"{path}: includes {name}, which needs x86-64, and is compiled on "
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

"""What needs Xbyak is included on x86-64 only: other machines have none.

usage: check_machines.py ROOT
"""
import re
import sys

import lint

XBYAK = "xbyak/xbyak.h"
INCLUDE = re.compile(r'#\s*include\s*[<"]([^>"]+)')


def includes(text):
    """(number of the line, what is included) outside of x86-64's parts."""
    parts = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if re.match(r"#\s*if", line):
            parts.append("defined(__x86_64__)" in line)
        elif re.match(r"#\s*el", line):
            parts[-1] = False
        elif re.match(r"#\s*endif", line):
            parts.pop()
        include = INCLUDE.match(line)
        if include and not any(parts):
            yield number, include.group(1)


def headers_with_xbyak(texts):
    """Those that include it, or one that does."""
    found = {XBYAK}
    grown = True
    while grown:
        more = {path.removeprefix("src/") for path, text in texts.items()
                if path.endswith(".hpp")
                and any(name in found for _, name in includes(text))}
        grown = not more <= found
        found |= more
    return found


def check_texts(texts):
    found = headers_with_xbyak(texts)
    return [f"{path}:{number}: {name} needs Xbyak and stands outside of "
            "#if defined(__x86_64__)"
            for path, text in texts.items() if path.endswith(".cpp")
            for number, name in includes(text) if name in found]


def check(root):
    texts = {path: lint.read(root, path)
             for path in lint.project_files(root, lint.CPP)
             if path.startswith("src/")}
    return check_texts(texts), len(texts)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

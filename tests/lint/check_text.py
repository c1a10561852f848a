"""What no file of ours holds, and what each folder of code must.

usage: check_text.py ROOT
"""
import os
import re
import sys

import lint

# Spelt so that this file does not hold them itself.
FORBIDDEN = [
    (r"\b(TO[D]O|FI[X]ME|X[X]X)\b", "unfinished work is an issue, not a note"),
    (r"/(work|root|home)/[a-z]", "a path of one machine"),
    (r"/tm[p]/(?!perf-)", "a path of one machine"),
    (r"\b(deb|ftp|security|snapshot|archive)[.](debian|ubuntu)[.]",
     "a package host; ask the machine's own apt sources"),
    (r"(pypi|pythonhosted|anaconda|npmjs|crates)[.](org|com|io)",
     "a package host"),
    (r"[ \t]+$", "white space at the end of the line"),
]
TABS = re.compile(r"\t")
NO_TEXT = ("LICENSE", "tests/fuzz/corpus/")
README_ROOTS = ("src", "patterns", "include", "tests", "benchmarks",
                "examples", "cmake", "clients")


def check_file(path, text):
    complaints = []
    rules = [(re.compile(word), why) for word, why in FORBIDDEN]
    if path.endswith(lint.CPP + (".py", ".sh", ".cmake")):
        rules.append((TABS, "a tab"))
    for number, line in enumerate(text.splitlines(), 1):
        complaints += [f"{path}:{number}: {why}"
                       for word, why in rules if word.search(line)]
    if text and not text.endswith("\n"):
        complaints.append(f"{path}: no newline at the end")
    return complaints


def folders_without_readme(files):
    """A folder that holds code of its own tells what lives there."""
    folders = {os.path.dirname(path) for path in files
               if path.endswith(lint.CPP + (".py",))
               and path.split("/")[0] in README_ROOTS}
    return [f"{folder}: no README.md" for folder in sorted(folders)
            if folder + "/README.md" not in files]


def check(root):
    files = lint.project_files(root)
    complaints = [complaint for path in files
                  if not path.startswith(NO_TEXT)
                  for complaint in check_file(path, lint.read(root, path))]
    return complaints + folders_without_readme(set(files)), len(files)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

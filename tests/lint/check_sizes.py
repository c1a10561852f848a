"""Files and functions stay small enough to read.

usage: check_sizes.py ROOT
"""
import re
import sys

import lint

FILE_LINES = 400
FUNCTION_LINES = 80
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b[^()=]*$"
                   r"|extern\s+\"\"\s*$")


def blank(match):
    """A comment or string, emptied, its line breaks kept."""
    return ('""' if match.group().startswith('"') else "") \
        + "\n" * match.group().count("\n")


def without_comments_and_strings(text):
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
                  r"|'(?:\\.|[^'\\\n])'", blank, text, flags=re.S)


def functions(text):
    """(first line, line count) of each outermost block that is no scope."""
    scopes = []  # one an open brace: its line if a function's, else None
    line, statement = 1, ""
    for char in without_comments_and_strings(text):
        if char == "\n":
            line += 1
        if char == "{":
            inside = any(start for start in scopes)
            is_scope = inside or SCOPE.search(statement.strip())
            is_function = not is_scope and "(" in statement
            scopes.append(line if is_function else None)
            statement = ""
        elif char == "}":
            start = scopes.pop() if scopes else None
            if start:
                yield start, line - start + 1
            statement = ""
        elif char == ";":
            statement = ""
        else:
            statement += char


def check_file(path, text):
    lines = text.count("\n")
    complaints = []
    if lines > FILE_LINES:
        complaints.append(f"{path}: {lines} lines, at most {FILE_LINES}")
    if path.endswith((".c", ".h", ".cpp", ".hpp")):
        complaints += [
            f"{path}:{start}: a function of {count} lines, "
            f"at most {FUNCTION_LINES}"
            for start, count in functions(text) if count > FUNCTION_LINES]
    return complaints


def check(root):
    files = lint.project_files(root, lint.CPP + (".py", ".cmake", ".sh"))
    return [complaint for path in files for complaint
            in check_file(path, lint.read(root, path))], len(files)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

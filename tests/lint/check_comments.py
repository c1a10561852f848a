"""Checks the comments of C and C++: their sentences are short and begin with
what acts.

usage: check_comments.py ROOT
"""
import re
import sys

import lint

MOST_WORDS = 30
# Sentences that begin so are fragments, or put the condition before the fact.
BEGINNINGS = ("As", "By", "Of", "Than", "That", "Those", "What", "Whatever",
              "Where", "Which", "Whose")
# Literals hide the marks of comments.
TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/',
    re.DOTALL)
DIRECTIVE = re.compile(r"(clang-format (on|off)|NOLINT\w*|namespace\b|"
                       r"@file|IWYU)")
LABEL = re.compile(r"@(param \w+|returns?|throws [\w:]+)\s*")
CODE = re.compile(r"`[^`]*`")
SENTENCE_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?][)\"]* +|[:;] +(?=[A-Z])")


def comments(text):
    """Yields (first line, last line, text) of every comment. Lines that follow
    each other with the same indentation are one comment."""
    lines = text.split("\n")
    found = []
    for token in TOKEN.finditer(text):
        if token[0][0] != "/":
            continue
        line = text.count("\n", 0, token.start()) + 1
        begin = token.start() - text.rfind("\n", 0, token.start()) - 1
        alone = not lines[line - 1][:begin].strip()
        words = re.sub(r"^\s*(///?!?<?|/\*+|\*+/?)|\*/$", "", token[0],
                       flags=re.MULTILINE)
        last = line + token[0].count("\n")
        if found and alone and found[-1][4] == (begin, True) \
                and found[-1][1] == line - 1:
            found[-1][1] = last
            found[-1][2] += "\n" + words
        else:
            found.append([line, last, words, alone, (begin, alone)])
    for first, last, words, alone, _ in found:
        yield first, last, words, alone


def paragraphs(words):
    """Yields (line, text) of a comment's prose. Formulas, diagrams and tables
    are no prose: they stand further in, or hold columns."""
    begin, lines, is_labelled = 0, [], False
    for number, line in enumerate(words.split("\n") + [""]):
        item = re.match(r" *(?:[-*]|\d+\.) ", line)
        label = LABEL.match(line.strip())
        stands_in = re.match(r"     ", line) and not (lines and is_labelled)
        is_prose = line.strip() and not stands_in and \
            not DIRECTIVE.match(line.strip()) and \
            not re.search(r"\S   +\S", line) and \
            not line.strip().startswith("|")
        if lines and (item or label or not is_prose):
            yield begin, " ".join(lines)
            lines = []
        if is_prose:
            if not lines:
                begin, is_labelled = number, bool(label)
            line = re.sub(r"^ *([-*]|\d+\.) +", "", line).strip()
            lines.append(LABEL.sub("", line))


def sentences(text):
    plain = CODE.sub("`code`", text)
    return [sentence for sentence in SENTENCE_END.split(plain) if sentence]


def check_file(path, text):
    complaints = []
    for first, _, words, _ in comments(text):
        for offset, paragraph in paragraphs(words):
            for sentence in sentences(paragraph):
                at = f"{path}:{first + offset}: "
                count = len(sentence.split())
                if count > MOST_WORDS:
                    complaints.append(
                        f"{at}a sentence of {count} words; at most "
                        f"{MOST_WORDS}: {sentence[:60]}")
                if sentence.split()[0].rstrip(",") in BEGINNINGS:
                    complaints.append(
                        f"{at}a sentence begins with what does not act: "
                        f"{sentence[:60]}")
    return complaints


def check(root):
    paths = lint.project_files(root, lint.CPP)
    return [complaint for path in paths
            for complaint in check_file(path, lint.read(root, path))], \
        len(paths)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

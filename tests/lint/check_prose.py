"""Checks what users read: sentences are short, links lead somewhere, and code
blocks are true of the tree.

usage: check_prose.py ROOT
"""
import json
import os
import re
import sys

import lint
from check_comments import BEGINNINGS

MOST_WORDS = 30
MOST_README_LINES = 120
FENCE = re.compile(r"^ *```(\S*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE_SPAN = re.compile(r"`([^`\n]*(?:\n[^`\n]+)?)`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
IMAGE = re.compile(r"\b(?:src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
# Names such as oneDNN begin a sentence in small letters.
SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)[.!?][*_)\"]* +")


def is_for_users(path):
    return path == "README.md" or re.fullmatch(r"docs/[^/]+\.md", path)


# Lists of what happened or was measured.
NO_PROSE = re.compile(r"CHANGELOG|.*/MEASURED|benchmarks/RESULTS")


def is_prose(path):
    return not NO_PROSE.match(path)


def without_code(text):
    return COMMENT.sub("", FENCE.sub("", text))


def paragraphs(text):
    """Yields (line, text) of all but code, tables, headings and HTML. A list's
    item is a paragraph of its own."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), text)
    text = COMMENT.sub(lambda note: "\n" * note[0].count("\n"), text)
    begin, lines = 0, []
    for number, line in enumerate(text.splitlines() + [""], 1):
        is_item = re.match(r" *([-*]|\d+\.) ", line)
        is_prose = line.strip() and not re.match(r" *(\||#|<)", line)
        if lines and (is_item or not is_prose):
            yield begin, " ".join(lines)
            lines = []
        if is_prose:
            begin = begin if lines else number
            lines.append(re.sub(r"^ *([-*]|\d+\.) +", "", line).strip())


def long_sentences(path, text):
    for line, paragraph in paragraphs(text):
        plain = CODE_SPAN.sub("`code`", LINK.sub(r"\1", paragraph))
        for sentence in SENTENCE_END.split(plain):
            count = len(sentence.split())
            if count > MOST_WORDS:
                yield (f"{path}:{line}: a sentence of {count} words; at most "
                       f"{MOST_WORDS}: {sentence[:60]}")


def fragments(path, text):
    for line, paragraph in paragraphs(text):
        plain = CODE_SPAN.sub("`code`", LINK.sub(r"\1", paragraph))
        for sentence in SENTENCE_END.split(plain):
            if sentence.split()[:1] and \
                    sentence.split()[0].strip("*,") in BEGINNINGS:
                yield (f"{path}:{line}: a sentence begins with what does not "
                       f"act: {sentence[:60]}")


def anchors(text):
    """Yields the anchors that GitHub makes of headings: letters become small,
    blanks become dashes, other marks vanish."""
    found = {}
    for title in HEADING.findall(without_code(text)):
        plain = LINK.sub(r"\1", title).replace("`", "").strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        yield f"{slug}-{count}" if count else slug


def broken_links(path, texts, paths):
    """Yields the links of a page that lead to no file or heading."""
    page = CODE_SPAN.sub("", without_code(texts[path]))
    for target in [link[1] for link in LINK.findall(page)] + \
            IMAGE.findall(page):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(path), name)) \
            if name else path
        if name not in paths and not any(
                other.startswith(name + "/") for other in paths):
            yield f"{path}: a link to {target}, which is not there"
        elif anchor and anchor not in anchors(texts.get(name, "")):
            yield f"{path}: a link to {target}; there is no such heading"


def wrong_commands(path, text, dev_commands, presets):
    """Yields commands of ./dev and presets of CMake that do not exist."""
    code = [block[1] for block in FENCE.findall(text) if block[0] == "sh"]
    code += CODE_SPAN.findall(FENCE.sub("", text))
    for piece in code:
        for command in re.findall(r"\./dev +([a-z]+)", piece):
            if command not in dev_commands:
                yield f"{path}: there is no `./dev {command}`"
        for preset in re.findall(r"--preset +(\w+)", piece):
            if preset not in presets:
                yield f"{path}: there is no preset {preset}"


def foreign_code(path, text, examples):
    """Yields a complaint for C++ that no example has."""
    for language, code in FENCE.findall(text):
        if language == "cpp" and not any(code in example
                                         for example in examples):
            yield f"{path}: C++ that is no part of a file in examples/"


def wrong_packages(text, setup):
    """README names what the demo installs, all of it and nothing else."""
    wanted = re.search(r"^library_packages='([^']*)'", setup, re.MULTILINE)
    sentence = re.search(r"The demo needs[^.]*\.", text)
    named = CODE_SPAN.findall(sentence[0]) if sentence else []
    if not wanted or sorted(named) != sorted(wanted[1].split()):
        yield (f"README.md: the demo needs {named}; cmake/setup/debian.sh "
               f"installs {wanted[1].split() if wanted else 'nothing'}")


def commands_of(dev):
    """The commands that `./dev help` lists."""
    usage = re.search(r"<<'END'\n(.*?)^END$", dev, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^  ([a-z]+)  ?", usage[1], re.MULTILINE))


def check(root):
    paths = lint.project_files(root)
    texts = {path: lint.read(root, path) for path in paths
             if path.endswith(".md")}
    dev_commands = commands_of(lint.read(root, "dev"))
    presets = {preset["name"] for preset in json.loads(
        lint.read(root, "CMakePresets.json"))["configurePresets"]}
    examples = [lint.read(root, path) for path in paths
                if re.fullmatch(r"examples/\w+\.cpp", path)]
    complaints = []
    for path, text in texts.items():
        complaints += broken_links(path, texts, set(paths))
        if is_prose(path):
            complaints += long_sentences(path, text)
            complaints += fragments(path, text)
        if is_for_users(path):
            complaints += wrong_commands(path, text, dev_commands, presets)
            complaints += foreign_code(path, text, examples)
    readme = texts["README.md"]
    complaints += wrong_packages(
        readme, lint.read(root, "cmake/setup/debian.sh"))
    if readme.count("\n") > MOST_README_LINES:
        complaints.append(f"README.md: {readme.count(chr(10))} lines; at most "
                          f"{MOST_README_LINES}")
    return complaints, len(texts)


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

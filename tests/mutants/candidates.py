"""Which lines may change, and into what: universalmutator's rules for C++, less
what no test could or should notice."""
import contextlib
import hashlib
import io
import os
import re

from universalmutator import mutator

RULES = ["universal.rules", "c_like.rules", "cpp.rules"]
COMMENT = re.compile(r"//.*|/\*.*?\*/")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
# Operators that stand between spaces as clang-format writes them; elsewhere the
# same letters are of templates, pointers, references and members.
BINARY = {"<", ">", "*", "&"}
ROOMS = ["abi", "exec", "lower", "partition", "patterns", "match", "graph",
         "problem", "upstream", "base"]


def room_of(path):
    """src/exec/cache.cpp is of exec, as is the pipeline, without a folder."""
    if path == "src/pipeline.cpp":
        return "exec"
    parts = path.split("/")
    return parts[0] if parts[0] == "patterns" else parts[1]


def source_files(root):
    for room in ROOMS:
        folder = room if room == "patterns" else "src/" + room
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".cpp"):
                yield f"{folder}/{name}"
    yield "src/pipeline.cpp"


def code_of(line):
    """Without comments, white space and what strings say."""
    return re.sub(r"\s+", "", COMMENT.sub("", STRING.sub('""', line)))


def changed_part(was, now):
    start = len(os.path.commonprefix([was, now]))
    end = len(os.path.commonprefix([was[start:][::-1], now[start:][::-1]]))
    return start, was[start:len(was) - end]


def open_brackets(code):
    """Those that close and open in other lines; they have to stay."""
    left = ""
    for char in code:
        if char in "([{":
            left += char
        elif char in ")]}":
            if left and left[-1] + char in ("()", "[]", "{}"):
                left = left[:-1]
            else:
                left += char
    return left


# What hardly ever compiles: templates' brackets, and sums of strings.
BROKEN = re.compile(
    r"[\w:][<>]=[\w:]|\w[<>]=\(|\w(==|!=)\w|\w<\w[^>]*<|inner_product|\(,"
    r"|[<>]=? nullptr|[<>]=? \w+\.end\(|[-+][-+*/%](?<!\+\+)(?<!--)\w"
    r"|[-*/%] \"\"|\"\" [-*/%]")
DECLARATION = re.compile(
    r"(const|static|constexpr|auto|std::\w+<|bool|int|float|double|char"
    r"|u?int\d+_t|[\w:]+_t) [&*]?\w+|std::\w+<.*> \w+|[\w:]+_t \w+")


def is_worth_trying(was, now):
    code = was.strip()
    if code.startswith(("//", "#", "namespace", "using", "template", "}")):
        return False
    if code_of(was) == code_of(now) or \
            open_brackets(code_of(was)) != open_brackets(code_of(now)):
        return False
    text = STRING.sub('""', now)
    if BROKEN.search(text) and not BROKEN.search(STRING.sub('""', was)):
        return False
    if "==1)" in now and ";" in was.strip()[:-1]:
        return False  # the condition declared a name
    whole = code.endswith(";")
    if now.strip().startswith("/*") or now.strip() == "":
        # A declaration cannot be spared; the end of a statement neither.
        return whole and not DECLARATION.match(code) and \
            not code.startswith("return")
    if "\n" in now.rstrip("\n"):
        # Nothing is reached behind a return.
        return not code.startswith(("return", "case", "[")) and \
            (whole or code.endswith("{"))
    start, part = changed_part(was, now)
    if part.strip() == "+" and '"' in was:
        return False
    if re.match(r"\d", part) and re.search(r"[A-Za-z_]\w*$", was[:start]):
        return False  # a digit of a name
    if part.strip() in BINARY:
        around = was[max(0, start - 1):start + len(part) + 1]
        return around.startswith(" ") and around.endswith(" ")
    return True


def indent_of(line):
    return len(line) - len(line.lstrip())


def is_in_loop(lines, number):
    """Whether a break has something to leave, as the indents tell."""
    indent = indent_of(lines[number - 1])
    for line in reversed(lines[:number]):
        if not line.strip():
            continue
        if re.match(r"\s*(for|while|do|switch)\b", line) and (
                indent_of(line) < indent or line.rstrip().endswith("{")):
            return True
        indent = min(indent, indent_of(line))
        if indent == 0:
            return False
    return False


class candidate_t:
    """One change of one line. Its name holds the text and not the line's
    number, so that it is the same change after others have moved the line."""

    def __init__(self, path, line, nth, was, now):
        self.path, self.line, self.nth = path, line, nth
        self.was, self.now = was, now

    @property
    def key(self):
        return [self.path, self.was.strip(), self.now.strip(), self.nth]

    def rank(self, seed):
        text = "\0".join(map(str, [seed] + self.key))
        return hashlib.sha256(text.encode()).hexdigest()


def candidates_of(path, text):
    lines = text.splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        changes = mutator.mutants_regexp(lines, RULES, ignorePatterns=[])
    for number, now, _, _ in changes:
        was = lines[number - 1]
        inserts = "\n" in now.rstrip("\n")
        if is_worth_trying(was, now) and \
                (not inserts or is_in_loop(lines, number)):
            nth = lines[:number - 1].count(was)
            yield candidate_t(path, number, nth, was, now)


def in_order(candidates, seed):
    """By lot, but the second change of a line after the first of every line, so
    that a line of many operators has no more weight than others. A file's other
    lines have no say in it."""
    lines = {}
    for candidate in candidates:
        lines.setdefault((candidate.path, candidate.line), []).append(candidate)
    ranked = []
    for changes in lines.values():
        changes.sort(key=lambda change: change.rank(seed))
        ranked += [(turn, change.rank(seed), change)
                   for turn, change in enumerate(changes)]
    ranked.sort(key=lambda entry: entry[:2])
    return [change for _, _, change in ranked]

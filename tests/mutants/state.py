"""What became of mutants: one JSON object a line, appended as a run goes on, so
that the next run continues. The last line about a mutant counts."""
import json
import os

TRIED = ("noticed", "survived")


class state_t:
    def __init__(self, path):
        self.path, self.entries = path, {}
        if os.path.exists(path):
            with open(path) as file:
                for line in file:
                    entry = json.loads(line)
                    self.entries[tuple(entry["key"])] = entry

    def get(self, candidate):
        return self.entries.get(tuple(candidate.key))

    def add(self, candidate, room, **what):
        entry = {"key": candidate.key, "room": room, "line": candidate.line,
                 **what}
        self.entries[tuple(candidate.key)] = entry
        with open(self.path, "a") as file:
            file.write(json.dumps(entry) + "\n")
        return entry

    def killers(self, path):
        """(stage, test) that noticed mutants of this file, the last first."""
        found = []
        for entry in reversed(list(self.entries.values())):
            if entry["key"][0] == path and entry.get("test"):
                found.append((entry["stage"], entry["test"]))
        return list(dict.fromkeys(found))[:6]


class accepted_t:
    """tests/mutants/accepted.txt: blocks of a file, the line as it is, the line
    changed, and the reason, each in a line of its own."""

    def __init__(self, path):
        self.reasons = {}
        with open(path) as file:
            blocks = [[line for line in block.splitlines()
                       if line and not line.startswith("#")]
                      for block in file.read().split("\n\n")]
        for block in filter(None, blocks):
            if len(block) != 4:
                raise ValueError(
                    f"{path}: a block of {len(block)} lines, not of 4, "
                    f"begins with '{block[0]}'")
            name, was, now, reason = [line.strip() for line in block]
            self.reasons[name, was, now] = reason

    def has(self, key):
        now = " ".join(key[2].split())
        return (key[0], key[1], now) in self.reasons or \
            (key[0], key[1], "*") in self.reasons

    def outdated(self, root):
        """Lines that are in no file any more."""
        for name, was, _ in self.reasons:
            path = os.path.join(root, name)
            text = open(path).read() if os.path.exists(path) else ""
            if was not in [line.strip() for line in text.splitlines()]:
                yield f"{name}: {was}"


def figures(entries, accepted):
    """Per room: made, noticed, survived but accepted, survived."""
    rooms = {}
    for entry in entries:
        if entry["outcome"] not in TRIED:
            continue
        row = rooms.setdefault(entry["room"], [0, 0, 0, 0])
        row[0] += 1
        place = 1 if entry["outcome"] == "noticed" else \
            2 if accepted.has(entry["key"]) else 3
        row[place] += 1
    return rooms


def table(entries, accepted):
    rooms = figures(entries, accepted)
    rows = ["| room | made | noticed | accepted | left |",
            "|---|---|---|---|---|"]
    rows += [f"| {room} | " + " | ".join(map(str, rooms[room])) + " |"
             for room in sorted(rooms)]
    total = [sum(column) for column in zip(*rooms.values())]
    if total:
        rows.append("| all | " + " | ".join(map(str, total)) + " |")
    return "\n".join(rows)

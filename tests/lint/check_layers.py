"""Rooms include only what cmake/layers.txt lets them, clients no room.

usage: check_layers.py ROOT
"""
import re
import sys

import lint

CLIENTS = ("python/", "clients/")


class Layers:
    def __init__(self, text):
        self.level = {}
        self.within = {}
        self.only = []
        for line in text.splitlines():
            rule, _, rest = line.partition(" ")
            if rule == "level":
                depth = len(set(self.level.values()))
                self.level.update((room, depth) for room in rest.split())
            elif rule == "within":
                room, _, rooms = rest.partition(":")
                self.within[room] = set(rooms.split())
            elif rule == "only":
                word, _, rooms = rest.rpartition(":")
                self.only.append((re.compile(word), set(rooms.split())))
            elif line.strip() and not line.startswith("#"):
                raise ValueError(f"layers.txt: {line}")

    def may_include(self, room, other):
        if room == other:
            return True
        if room in self.within:
            return other in self.within[room]
        return self.level[other] < self.level[room]


def room_of(path):
    """The room of a source file, or None for one outside the rooms."""
    parts = path.split("/")
    if parts[0] == "patterns":
        return "patterns"
    if parts[0] != "src" or not path.endswith(lint.CPP):
        return None
    return parts[1].split(".")[0]


def check_file(path, text, layers):
    room = room_of(path)
    if room not in layers.level:
        return [f"{path}: room '{room}' is not in cmake/layers.txt"]
    complaints = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        include = re.match(r'\s*#\s*include\s*[<"](\w+)[/.]', line)
        other = include and include.group(1)
        if other in layers.level and not layers.may_include(room, other):
            complaints.append(f"{where}: {room} may not include {other}")
        code = line.split("//")[0] if not include else line
        for word, rooms in layers.only:
            if word.search(code) and room not in rooms:
                complaints.append(f"{where}: '{word.pattern}' belongs to "
                                  + ", ".join(sorted(rooms)))
    return complaints


def check_client(path, text, layers):
    """A user of the public headers names no room."""
    return [f"{path}:{number}: a client may not include {room}"
            for number, line in enumerate(text.splitlines(), 1)
            for room in re.findall(r'^\s*#\s*include\s*"[./]*(?:src/)?(\w+)/',
                                   line)
            if room in layers.level]


def check(root):
    layers = Layers(lint.read(root, "cmake/layers.txt"))
    complaints, count = [], 0
    for path in lint.project_files(root, lint.CPP):
        one = check_client if path.startswith(CLIENTS) else check_file
        if one is check_client or room_of(path):
            complaints += one(path, lint.read(root, path), layers)
            count += 1
    return complaints, count


if __name__ == "__main__":
    lint.finish(*check(sys.argv[1]))

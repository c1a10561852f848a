"""Changes one line of the library at a time and asks the tests whether they
notice. Called by ./dev mutate; README.md says how it works."""
import argparse
import json
import os
import subprocess
import sys
import time

import candidates
import stages
import state

from library import library_t

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def arguments():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="sources to change; all above the kernels if none")
    parser.add_argument("--room", action="append", choices=candidates.ROOMS,
                        help="sources of this room alone; may be repeated")
    parser.add_argument("--seed", default="1", help="draws the sample (1)")
    parser.add_argument("--sample", type=int, default=100, metavar="N",
                        help="mutants that compile, shared out evenly to the "
                             "rooms (100)")
    parser.add_argument("--minutes", type=float, default=1e9, metavar="N",
                        help="start no mutant after so long")
    parser.add_argument("--again", action="store_true",
                        help="only those that survived, once more")
    parser.add_argument("--quick", action="store_true",
                        help="without the tests that seldom notice what others "
                             "do not; --again runs those too")
    parser.add_argument("--report", action="store_true",
                        help="only say what the state holds")
    parser.add_argument("--only-tell", action="store_true",
                        help="end well even if some are left")
    parser.add_argument("--newest-onednn", default="", metavar="FOLDER",
                        help=argparse.SUPPRESS)
    return parser.parse_args()


def read(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


class run_t:
    def __init__(self, options):
        self.build = os.path.join(ROOT, "build/release")
        self.folder = os.path.join(ROOT, "build/mutants")
        os.makedirs(self.folder, exist_ok=True)
        self.state = state.state_t(os.path.join(self.folder, "state.jsonl"))
        self.accepted = state.accepted_t(os.path.join(HERE, "accepted.txt"))
        self.newest_onednn = options.newest_onednn
        self.seed, self.files = options.seed, chosen_files(options)
        self.texts = {path: read(path) for path in self.files}
        self.hashes = {}  # of mutants' objects, a file
        self.originals = {}  # hash of the unchanged object, a file

    def prepare(self, quick):
        self.library = library_t(
            ROOT, self.build, os.path.join(self.folder, "mutant"))
        self.stages = stages.all_stages(self.build, self.newest_onednn)
        self.measure()
        if quick:
            self.stages = [stage for stage in self.stages
                           if stage.name not in stages.LAST]

    def measure(self):
        """The unchanged library has to pass; how long it takes is the
        measure for what hangs. Once a build."""
        path = os.path.join(self.folder, "times.json")
        built = os.path.getmtime(
            os.path.join(self.build, "src", self.library.library))
        for stage in self.stages:
            missing = stages.unmatched(stage, self.build)
            if missing:
                sys.exit(f"mutate: {stage.name} names no test: "
                         + ", ".join(missing))
        times = {}
        if os.path.exists(path) and os.path.getmtime(path) > built:
            with open(path) as file:
                times = json.load(file)
        for stage in self.stages:
            if stage.name not in times:
                times[stage.name] = self.time_of(stage)
            wall, cpu = times[stage.name]
            stage.limit, stage.cpu_limit = 10 + 4 * wall, int(4 + 3 * cpu)
        with open(path, "w") as file:
            json.dump(times, file)

    def time_of(self, stage):
        path = "src/base/convert.cpp"
        if self.library.compile(path, read(path)) is None:
            sys.exit(f"mutate: {path} does not compile")
        started, before = time.monotonic(), os.times()
        noticed = stages.run_stage(stage, self.library, self.build)
        if noticed:
            sys.exit(f"mutate: without any change {stage.name} fails: "
                     f"{noticed}")
        after = os.times()
        return (time.monotonic() - started,
                after.children_user + after.children_system
                - before.children_user - before.children_system)

    def object_of(self, candidate):
        """None, or what makes this mutant none."""
        path = candidate.path
        lines = self.texts[path].splitlines(keepends=True)
        lines[candidate.line - 1] = candidate.now
        compiled = self.library.compile(path, "".join(lines))
        if compiled is None:
            return "invalid"
        hashes = self.hashes.setdefault(path, [])
        if compiled in hashes:
            return "duplicate"
        hashes.append(compiled)
        return None

    def is_equivalent(self, path):
        """Of the mutant compiled last. Asked late: most have been noticed."""
        if path not in self.originals:
            self.originals[path] = self.library.compile(
                path, self.texts[path], "original.o")
        return self.hashes[path][-1] == self.originals[path]

    def noticed_by(self, candidate):
        room = candidates.room_of(candidate.path)
        killers = self.state.killers(candidate.path)
        order = [stage for stage in stages.ordered(self.stages, room, killers)
                 if not stage.unit or self.library.holds(stage.program)]
        tries = [(stage, ":".join(test for name, test in killers
                                  if name == stage.name)) for stage in order]
        tries = [each for each in tries if each[1]] + \
            [(stage, "") for stage in order]
        for stage, only in tries:
            if not stage.unit and self.is_equivalent(candidate.path):
                return "equivalent", "", ""
            try:
                noticed = stages.run_stage(
                    stage, self.library, self.build, only)
            except subprocess.CalledProcessError as error:
                return "invalid", "", str(error.stderr[-200:])
            if noticed:
                return stage.name, noticed[0], noticed[1]
        return None

    def meet(self, candidate):
        """One mutant's whole life; its entry."""
        started = time.monotonic()
        room = candidates.room_of(candidate.path)
        without = self.object_of(candidate)
        if without:
            return self.state.add(candidate, room, outcome=without)
        noticed = self.noticed_by(candidate)
        seconds = round(time.monotonic() - started, 1)
        if not noticed:
            return self.state.add(candidate, room, outcome="survived",
                                  seconds=seconds)
        if noticed[0] in ("invalid", "equivalent"):
            return self.state.add(candidate, room, outcome=noticed[0])
        return self.state.add(candidate, room, outcome="noticed",
                              stage=noticed[0], test=noticed[1],
                              way=noticed[2], seconds=seconds)

    def all_candidates(self):
        for path in self.files:
            yield from candidates.candidates_of(path, self.texts[path])


def chosen_files(options):
    every = list(candidates.source_files(ROOT))
    files = [os.path.relpath(os.path.abspath(path), ROOT)
             for path in options.files]
    for path in files:
        if path not in every:
            sys.exit(f"mutate: {path} is no source above the kernels")
    return [path for path in files or every
            if not options.room or candidates.room_of(path) in options.room]


def say(entry):
    path, was, now, _ = entry["key"]
    how = {"noticed": "noticed by {stage} {test} ({way})"}.get(
        entry["outcome"], entry["outcome"]).format(**entry)
    print(f"{path}:{entry['line']}: {how}, {entry.get('seconds', 0)} s")
    if entry["outcome"] == "survived":
        print(f"  - {was}\n  + " + " ".join(now.split()))
    sys.stdout.flush()


def meet_sample(run, options):
    """A mutant of each room in turn, until each has its share."""
    queues = {}
    for candidate in candidates.in_order(run.all_candidates(), run.seed):
        room = candidates.room_of(candidate.path)
        queues.setdefault(room, []).append(candidate)
    left = options.sample
    end = time.monotonic() + 60 * options.minutes
    while queues and left > 0:
        for room in list(queues):
            entry = None
            while queues[room] and time.monotonic() < end:
                candidate = queues[room].pop(0)
                known = run.state.get(candidate)
                entry = known or run.meet(candidate)
                if entry["outcome"] in state.TRIED:
                    if not known:
                        say(entry)
                    left -= 1
                    break
            if not queues[room]:
                del queues[room]
            if time.monotonic() >= end or left <= 0:
                return


def meet_again(run, options):
    end = time.monotonic() + 60 * options.minutes
    for candidate in run.all_candidates():
        known = run.state.get(candidate)
        if known and known["outcome"] == "survived" and \
                not run.accepted.has(known["key"]) and time.monotonic() < end:
            say(run.meet(candidate))


def report(run):
    """Of the mutants that the sources still have."""
    now = {tuple(each.key): each.line for each in run.all_candidates()}
    entries = [{**entry, "line": now[key]}
               for key, entry in run.state.entries.items() if key in now]
    left = [entry for entry in entries if entry["outcome"] == "survived"
            and not run.accepted.has(entry["key"])]
    for entry in sorted(left, key=lambda each: (each["key"][0], each["line"])):
        say(entry)
    for line in run.accepted.outdated(ROOT):
        print(f"accepted.txt: no such line any more: {line}")
    print(state.table(entries, run.accepted))
    return len(left)


def main():
    options = arguments()
    run = run_t(options)
    if not options.report:
        run.prepare(options.quick)
        (meet_again if options.again else meet_sample)(run, options)
    left = report(run)
    sys.exit(1 if left and not options.only_tell else 0)


if __name__ == "__main__":
    main()

"""compare: what got slower or faster from one run's --json to another's."""
import argparse
import json
import statistics
import sys
from collections import defaultdict

TOOL = "dnnl-dequant-bench"
try:
    import numpy
    from scipy.stats import mannwhitneyu
except ImportError as error:
    sys.exit(f"{TOOL}: compare needs scipy ({error})")

MOST_EXACT = 50


class Refused(Exception):
    """What the user got wrong, in one sentence."""


class Run(dict):
    """The samples of each row: of the ratios to the limit, which have the
    machine's mood in both, and of the seconds. Several runs make one."""

    def add(self, document):
        for row in document["rows"]:
            self.take(row.get("name"), "ratio", row.get("ratio"))
            self.take(row.get("name"), "seconds",
                      (row.get("plugin") or {}).get("seconds"))
        for row in document.get("latencies", []):
            self.take(row.get("name"), "seconds", row.get("plugin"))

    def take(self, name, what, samples):
        row = self.setdefault(name, defaultdict(list))
        row[what] += (samples or {}).get("samples") or []


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise Refused(f"{path} cannot be read") from error
    except ValueError as error:
        raise Refused(f"{path} is no JSON") from error
    if not isinstance(document, dict) or "command" not in document \
            or not isinstance(document.get("rows"), list):
        raise Refused(f"{path} was not written by this tool's --json")
    return document


def read_pairs(paths):
    if len(paths) < 2 or len(paths) % 2:
        raise Refused("compare takes pairs of files: OLD NEW")
    documents = [read(path) for path in paths]
    for one, other in zip(documents, documents[1:]):
        if one["command"] != other["command"]:
            raise Refused(f"cannot compare {one['command']} with "
                          f"{other['command']}")
        cpus = [document.get("machine", {}).get("cpu", "?")
                for document in (one, other)]
        if cpus[0] != cpus[1]:
            print("not on one machine: {} and {}".format(*cpus))
    return list(zip(documents[::2], documents[1::2]))


def runs_of(pairs):
    old, new = Run(), Run()
    for before, after in pairs:
        old.add(before)
        new.add(after)
    return old, new


def chance(before, after):
    """How likely samples are that lie so far apart, were they drawn from one
    distribution."""
    exact = len({*before, *after}) == len(before) + len(after) \
        and max(len(before), len(after)) <= MOST_EXACT
    return mannwhitneyu(before, after,
                        method="exact" if exact else "asymptotic").pvalue


def holm(chances):
    """Adjusts chances that are judged together: where the adjusted one is below
    alpha, the chance of any false alarm among all is below alpha."""
    order = numpy.argsort(chances)
    adjusted = numpy.empty(len(chances))
    adjusted[order] = numpy.maximum.accumulate(numpy.minimum(
        1, numpy.array(chances)[order] * numpy.arange(len(chances), 0, -1)))
    return adjusted


def factor_of(old, new, name, what):
    before, after = old.get(name, {}).get(what), new.get(name, {}).get(what)
    if not before or not after:
        return None
    return statistics.median(after) / statistics.median(before)


def changes_of(pairs, options):
    """The rows in both, the one that slowed most first. A run has a mood of its
    own, so a change is one in each pair of runs."""
    old, new = runs_of(pairs)
    each = [runs_of([pair]) for pair in pairs]
    changes = []
    for name in [name for name in old if name in new]:
        ratios = old[name]["ratio"] and new[name]["ratio"]
        what = "ratio" if ratios and not options.seconds else "seconds"
        factor = factor_of(old, new, name, what)
        if factor is None:
            continue
        factors = [factor, *filter(None, (
            factor_of(*pair, name, what) for pair in each))]
        step = 1 + options.threshold
        changes.append({
            "name": name, "of": what,
            "old": statistics.median(old[name][what]),
            "new": statistics.median(new[name][what]), "change": factor,
            "p": chance(old[name][what], new[name][what]),
            "slower": min(factors) > step, "faster": max(factors) < 1 / step})
    if not changes:
        raise Refused("the files have no row in common")
    for change, adjusted in zip(
            changes, holm([change["p"] for change in changes])):
        change["p"] = float(adjusted)
        for way in ("slower", "faster"):
            change[way] = change[way] and change["p"] < options.alpha
    return (sorted(changes, key=lambda change: -change["change"]),
            len(old.keys() - new.keys()))


def time_text(value):
    for unit in ("s", "ms", "us", "ns"):
        if value >= 1 or unit == "ns":
            digits = 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{digits}f} {unit}"
        value *= 1e3


def show(changes, missing, pairs, options):
    line = "{:<62}  {:>8}  {:>8}  {:>7}  {:>8}  {}"
    print(line.format("row", "old", "new", "change", "p", "").rstrip())
    for change in changes:
        word = "SLOWER" if change["slower"] else \
            "faster" if change["faster"] else ""
        if word or options.all:
            text = "{:.2f}".format if change["of"] == "ratio" else time_text
            print(line.format(
                change["name"], text(change["old"]), text(change["new"]),
                f"{(change['change'] - 1) * 100:+.1f}%", f"{change['p']:.2g}",
                word).rstrip())
    counts = [sum(change[way] for change in changes)
              for way in ("slower", "faster")]
    print(f"\n{len(changes)} rows: {counts[0]} slower, {counts[1]} faster, by "
          f"over {options.threshold * 100:g}%"
          f"{' in each pair of runs' if len(pairs) > 1 else ''} and not by "
          f"chance (Mann-Whitney, p < {options.alpha:g} after Holm)")
    if missing:
        print(f"{missing} rows of the old run are not in the new one")
    return counts[0]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(message)


def between(most):
    def number(text):
        if not 0 <= float(text) <= most:
            raise ValueError(text)
        return float(text)
    return number


def main():
    parser = Parser(prog=f"{TOOL} compare", description=__doc__
                    + " The exit status is 1 where something got slower.")
    parser.add_argument("files", nargs="+",
                        help="OLD.json NEW.json, and more such pairs")
    parser.add_argument("--threshold", type=between(10), default=0.05,
                        help="changes up to this part are none (0.05)")
    parser.add_argument("--alpha", type=between(1), default=0.01,
                        help="the chance of a false alarm (0.01)")
    parser.add_argument("--seconds", action="store_true",
                        help="compare times, also where both have ratios")
    parser.add_argument("--all", action="store_true",
                        help="print unchanged rows too")
    parser.add_argument("--json", help="write all changes there")
    options = parser.parse_args()
    pairs = read_pairs(options.files)
    changes, missing = changes_of(pairs, options)
    slower = show(changes, missing, pairs, options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"format": 2, "command": "compare", "rows": changes},
                      file, indent=1)
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Refused, OSError) as error:
        print(f"{TOOL}: {error}", file=sys.stderr)
        sys.exit(2)

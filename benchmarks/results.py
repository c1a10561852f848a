"""Puts the figures of a run into a page, between its marks.

usage: results.py PAGE.md RUN.json... (what dnnl-dequant-bench --json wrote)

The marks of figures get all tables. The marks of the chart get the five
workloads of chart.py as a table, and matplotlib draws them next to the page, as
PAGE-light.svg and PAGE-dark.svg.
"""
import json
import os
import re
import statistics
import sys

import chart

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
CHART_BEGIN, CHART_END = "<!-- chart: begin -->", "<!-- chart: end -->"
NEW_PAGE = f"# Results\n\n## Figures\n\n{BEGIN}\n{END}\n"


def seconds(value):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def times(value):
    return f"{value:.0f}x" if value >= 10 else f"{value:.2f}x"


def ran(side):
    return bool(side) and bool(side.get("seconds"))


def time_of(side):
    return seconds(side["seconds"]["median"]) if ran(side) else "-"


def table(titles, lines):
    """Of Markdown; the first column is text, the others are figures."""
    if not lines:
        return "None.\n"
    rule = ["---"] + ["--:"] * (len(titles) - 1)
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n"
                   for line in [titles, rule, *lines])


def where(row):
    """What rows are judged together."""
    bits = re.search(r"\d+", row["src"]).group()
    op = "" if row["op"] == "DynamicDequantize" else row["op"] + " "
    dims = "x".join(str(dim) for dim in row["dims"])
    return (f"{op}{dims} {row['layout']}, {row['threads']} thread"
            + "s" * (row["threads"] > 1), f"{bits}-bit to {row['dst']}")


def against_the_limit(rows):
    classes = {}
    for row in rows:
        if row["ratio"]:
            classes.setdefault(where(row), []).append(row)
    lines = []
    for (section, types), of_it in classes.items():
        ratios = sorted(row["ratio"]["median"] for row in of_it)
        floors = [row["floor_ratio"] for row in of_it]
        gains = sorted(row["gain"] for row in of_it if row["gain"])
        target = of_it[0]["target"]
        lines.append([
            section + ", " + types, len(of_it),
            f"{statistics.median(ratios):.2f}", f"{ratios[-1]:.2f}",
            f"{target:.2f}" if target else "-",
            sum(row["misses_target"] for row in of_it),
            f"{statistics.median(floors):.2f}",
            f"{times(gains[0])} to {times(gains[-1])}" if gains else "-"])
    return table(["class", "rows", "ratio", "worst", "target", "missed",
                  "/ floor", "gain over stock"], lines)


def missed(rows):
    lines = []
    for row in rows:
        if row["ratio"] and row["target"] and \
                row["ratio"]["median"] > row["target"]:
            ratio = row["ratio"]
            lines.append((-ratio["median"] / row["target"], [
                f"`{row['name']}`", f"{ratio['median']:.2f}",
                f"{ratio['q1']:.2f}-{ratio['q3']:.2f}",
                f"{row['target']:.2f}", f"{row['floor_ratio']:.2f}"]))
    return table(["row", "ratio", "quartiles", "target", "/ floor"],
                 [line for _, line in sorted(lines)])


def slower(rows):
    lines = []
    for row in rows:
        others = {"stock oneDNN": (row.get("stock"), row["gain"])}
        for name, peer in (row.get("peers") or {}).items():
            others[name] = (peer, peer.get("gain"))
        for name, (side, gain) in others.items():
            # Two runs of oneDNN's own code differ by the machine's moods only.
            same = row.get("owner") == "oneDNN"
            if gain and gain < 0.95 and ran(row["plugin"]) and not same:
                lines.append((gain, [
                    f"`{row['name']}`", name, time_of(side),
                    time_of(row["plugin"]), times(gain)]))
    return table(["row", "other", "its time", "plugin", "gain"],
                 [line for _, line in sorted(lines)])


def peers(rows):
    lines = []
    for row in rows:
        if is_product(row):
            continue
        cells = [f"`{row['name']}`"]
        sides = [row["plugin"], row["stock"]] + [
            (row.get("peers") or {}).get(name)
            for name in ("ONNX Runtime", "ggml")]
        for side in sides:
            ratio = (row["ratio"] if side is row["plugin"] else
                     (side or {}).get("ratio"))
            cells.append(time_of(side) + (
                f" ({ratio['median']:.2f})" if ran(side) and ratio else ""))
        lines.append(cells)
    return table(["row", "plugin", "stock oneDNN", "ONNX Runtime", "ggml"],
                 lines)


def is_product(row):
    return "operations" in row


def products(rows):
    """Of one row what reading the weights takes, of more the peak, counts."""
    def cell(row, side, ratio, share):
        if not ran(side):
            return "-"
        parts = [f"{ratio['median']:.2f}"] if ratio else []
        parts += [f"{100 * share['median']:.0f}%"] if share else []
        return f"{time_of(side)} ({', '.join(parts)})" if parts else \
            time_of(side)

    names = list(dict.fromkeys(name for row in rows if is_product(row)
                               for name in row.get("peers") or {}))
    lines = []
    for row in rows:
        if not is_product(row):
            continue
        peak, ratio = row["peak"] or {}, row["ratio"] or {}
        others = [(row.get("peers") or {}).get(name) or {} for name in names]
        lines.append([
            f"`{row['name']}`", seconds(row["limit"]["read"]["median"]),
            cell(row, row["plugin"], ratio, peak.get("share")),
            f"{ratio['q1']:.2f}-{ratio['q3']:.2f}" if ratio else "-",
            f"{row['target']:.2f}" if row["target"] else
            f"{100 * peak['target']:.0f}%" if peak.get("target") else "-",
            *[cell(row, side, side.get("ratio"), side.get("share"))
              for side in others],
            "~" * bool(row["stock"].get("estimated")) + time_of(row["stock"])])
    peaks = {(row["peak"]["of"], row["threads"]): row["peak"]["per_second"]
             for row in rows if is_product(row) and row["peak"]}
    return table(["row", "read limit", "plugin (/ limit, of peak)",
                  "quartiles", "target", *names, "stock oneDNN"], lines) + \
        "".join(f"\nPeak of {of}, {threads} thread{'s' * (threads > 1)}: "
                f"{value / 1e9:.0f} G a second.\n"
                for (of, threads), value in peaks.items())


def partition(row):
    """Its name, of many ops the first and their number."""
    where, _, ops = row["name"].partition(":")
    if len(row["ops"]) > 6:
        ops = f"{row['ops'][0]}.. ({len(row['ops'])} ops)"
    return f"`{where}:{ops}`"


def replayed(rows):
    return table(
        ["partition", "who", "stock", "plugin", "/ limit", "gain", "apart",
         "check"],
        [[partition(row), row["owner"], time_of(row["stock"]),
          time_of(row["plugin"]),
          f"{row['ratio']['median']:.2f}" if row["ratio"] else "-",
          times(row["gain"]) if row["gain"] else "-", time_of(row["apart"]),
          row["check"]]
         for row in rows if ran(row["plugin"]) or ran(row["stock"])])


def served(run):
    memory = " ".join(f"{at['bytes'] / 1e6:.0f}" for at in run["memory"])
    return table(
        ["call", "a second", "p50", "p99", "p99.9"],
        [[f"{row['name']}, {side}", f"{row[side]['per_second']:.0f}"]
         + [seconds(row[side][q]) if row[side][q] else "-"
            for q in ("p50", "p99", "p999")]
         for row in run["rows"] for side in ("plugin", "stock")]) + (
        f"\nResident memory over {run['memory'][-1]['seconds']:.0f} s, "
        f"MB: {memory}\n")


def latencies(items):
    return table(["call", "plugin", "stock"],
                 [[item["what"], seconds(item["plugin"]["median"]),
                   seconds(item["stock"]["median"])] for item in items])


def figures(runs):
    def rows_of(command):
        return [row for run in runs if run["command"] == command
                for row in run["rows"]]

    machine = runs[0]["machine"]
    dates = sorted(run["machine"]["date"] for run in runs)
    # Attention stands with its peers, with the products.
    kernels = [row for row in rows_of("kernels") if not is_product(row)]
    compared = rows_of("peers")
    has_products = any(map(is_product, compared))
    parts = [
        f"{machine['cpu']}, {machine['cores']} cores, L2 "
        f"{machine['l2_bytes'] >> 10} KiB, L3 {machine['l3_bytes'] >> 10} KiB; "
        f"oneDNN {machine['onednn']}, {machine['isa']}; plugin "
        f"{machine['dnnl_dequant']}; {dates[0][:16]} to {dates[-1][:16]} UTC.\n"]
    for title, command, text in (
            ("Classes of rows", "kernels", lambda: against_the_limit(kernels)),
            ("Rows above their target", "kernels", lambda: missed(kernels)),
            ("Rows where another is faster, by more than a twentieth", "kernels",
             lambda: slower(kernels + compared + rows_of("replay"))),
            ("What a call costs", "kernels", lambda: latencies(
                next((run["latencies"] for run in runs
                      if run.get("latencies")), []))),
            ("Compared with the peers", "peers", lambda: peers(compared)),
            ("Products compared with the peers", "peers" if has_products else None,
             lambda: products(compared)),
            ("Graphs", "replay", lambda: replayed(rows_of("replay"))),
            ("Under concurrency", "serve", lambda: served(next(
                run for run in runs if run["command"] == "serve")))):
        if any(run["command"] == command for run in runs):
            parts.append(f"### {title}\n\n{text()}")
    return "\n".join(parts)


def main(path, *json_paths):
    runs = []
    for one in json_paths:
        with open(one, encoding="utf-8") as file:
            runs.append(json.load(file))
    text = NEW_PAGE
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    wanted = {(BEGIN, END): lambda: figures(runs),
              (CHART_BEGIN, CHART_END): lambda: charted(path, runs)}
    found = [marks for marks in wanted
             if all(text.count(mark) == 1 for mark in marks)]
    if not found:
        sys.exit(f"results.py: {path} lacks {BEGIN} and {END}, or "
                 f"{CHART_BEGIN} and {CHART_END}")
    for begin, end in found:
        before, after = text.split(begin)[0], text.split(end)[1]
        text = f"{before}{begin}\n{wanted[begin, end]()}{end}{after}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def charted(path, runs):
    """Draws the chart next to the page, and returns its figures as a table."""
    found, machine = chart.workloads(runs)
    if len(found) < len(chart.ROWS):
        missing = {name for _, name in chart.ROWS} - {
            one["name"] for one in found}
        sys.exit("results.py: no run has " + ", ".join(sorted(missing)))
    try:
        for theme in chart.COLOURS:
            chart.draw(found, machine,
                       f"{os.path.splitext(path)[0]}-{theme}.svg", theme)
    except ImportError as error:
        sys.exit(f"results.py: the chart needs matplotlib: {error}")
    return chart.table(found, machine)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])

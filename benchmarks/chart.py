"""The chart of five typical workloads: stock oneDNN, the best peer, the plugin.

`workloads()` picks the rows out of runs of `dnnl-dequant-bench peers --all`.
`table()` makes Markdown of them, and `draw()` makes the pictures for light and
for dark pages. results.py calls all three. As a program this file prints what
--filter takes to measure the five rows.
"""
import re

# Each workload has a title and the name of its row in a run.
ROWS = [
    ("Dequantize u4, groups of 128, to bf16\n4096 x 4096, in memory",
     r"u4/bf16/group_1x128/zps_u4/dense/4096x4096/t1"),
    ("Dequantize s8 per channel with zero points, to f32\n"
     "4096 x 4096, in memory",
     r"s8/f32/channel_1/zps_s8/dense/4096x4096/t1"),
    ("MatMul, 1 row of f32\nweights u4, groups of 128, 4096 x 4096",
     r"MatMul/f32/u4/group_128/zps_u4/by_column/1x4096x4096/t1"),
    ("MatMul, 32 rows of u8\nweights u4, groups of 128, 4096 x 4096",
     r"MatMul/u8/u4/group_128/zps_u4/by_column/32x4096x4096/t1"),
    ("Attention, 1 query, 8 heads of 128\ns8 cache of 4096 tokens",
     r"Attention/f32/s8/8_of_8_heads/1x4096x128/t1"),
]
# `dense` is no peer: it has floats already.
PEERS = ("ONNX Runtime", "ggml", "XNNPACK")
SIDES = ("stock oneDNN", "best peer", "plugin")
LEAST = 0.7  # The axis begins a little below the limit.
LABEL_ROOM = 40  # The axis ends at the longest bar times this.
COLOURS = {
    "light": {"ground": "#ffffff", "text": "#1f2328", "line": "#8c959f",
              "sides": ("#8c959f", "#bf8700", "#0969da")},
    "dark": {"ground": "#0d1117", "text": "#e6edf3", "line": "#7d8590",
             "sides": ("#7d8590", "#d29922", "#2f81f7")},
}


def seconds(side):
    return ((side or {}).get("seconds") or {}).get("median")


def sides_of(row):
    """The time and a word for each of SIDES; the word says why there is no
    time."""
    limit = row["limit"][row["limit"]["best"]]["median"]
    stock, peers = row.get("stock"), row.get("peers") or {}
    timed = {name: seconds(peers.get(name)) for name in PEERS
             if seconds(peers.get(name))}
    best = min(timed, key=timed.get) if timed else None

    # The median of the rounds' ratios is better than that of times. Stock's
    # reference code ran outside of the rounds and has none.
    def side(time, word, ratio=None):
        over = ratio["median"] if ratio else time / limit if time else None
        return {"seconds": time, "over": over, "word": word}

    about = "estimated" if (stock or {}).get("estimated") else ""
    return [side(seconds(stock), about if seconds(stock) else "refused"),
            side(timed.get(best), best or "none",
                 (peers.get(best) or {}).get("ratio")),
            side(seconds(row["plugin"]), row["plugin"]["kernel"],
                 row["ratio"])]


def workloads(runs):
    """The workloads that the runs have, in order of ROWS; and the machine."""
    found, machine = [], None
    for title, name in ROWS:
        for run in runs:
            for row in run.get("rows", []):
                if row["name"] == name and seconds(row["plugin"]):
                    found.append({"title": title, "name": name,
                                  "sides": sides_of(row)})
                    machine = run["machine"]
    return found, machine


def caption(machine):
    return (f"{machine['cpu']} ({machine['policy']}, {machine['isa']}), one "
            f"thread, oneDNN {machine['onednn']}, plugin "
            f"{machine['dnnl_dequant']}, {machine['date'][:10]} "
            f"{machine['date'][11:16]} UTC")


def figure(value):
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(side):
    if not side["seconds"]:
        return side["word"]
    text = (f"{side['seconds']:.3g} s" if side["seconds"] >= 1
            else f"{side['seconds'] * 1e3:.3g} ms")
    return f"{text} ({figure(side['over'])})"


def table(found, machine):
    lines = ["| workload | stock oneDNN | best peer | plugin | plugin's kernel |",
             "| --- | --: | --: | --: | --- |"]
    for one in found:
        stock, peer, ours = one["sides"]
        about = "~" if stock["word"] == "estimated" else ""
        named = f"{peer['word']} " if peer["seconds"] else ""
        title = one["title"].replace("\n", ", ")
        lines.append(f"| {title} | {about}{time(stock)} | "
                     f"{named}{time(peer)} | {time(ours)} | "
                     f"`{ours['word']}` |")
    return caption(machine) + ".\n\n" + "\n".join(lines) + "\n"


def label(name, side):
    if not side["seconds"]:
        return f"{name}: {side['word']}"
    who = {"best peer": side["word"]}.get(name, name)
    return f"{who} {figure(side['over'])}"


def draw(found, machine, path, theme):
    """Draws one picture. Raises ImportError where there is no matplotlib."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    colours = COLOURS[theme]
    matplotlib.rcParams.update({
        "svg.fonttype": "none", "svg.hashsalt": "dnnl_dequant",
        "font.family": "sans-serif", "font.size": 10,
        "text.color": colours["text"], "axes.labelcolor": colours["text"],
        "xtick.color": colours["text"], "ytick.color": colours["text"],
        "axes.edgecolor": colours["line"]})
    picture, axes = pyplot.subplots(figsize=(9, 6.2), layout="constrained",
                                    facecolor=colours["ground"])
    axes.set_facecolor(colours["ground"])
    for at, one in enumerate(found):
        for k, (name, side) in enumerate(zip(SIDES, one["sides"])):
            y = at + (k - 1) * 0.27
            over = side["over"] or LEAST
            axes.barh(y, over - LEAST, 0.25, left=LEAST,
                      color=colours["sides"][k])
            axes.text(over * 1.06, y, label(name, side), va="center")
    longest = max(side["over"] or LEAST
                  for one in found for side in one["sides"])
    axes.set_xscale("log")
    axes.set_xlim(LEAST, longest * LABEL_ROOM)
    axes.axvline(1, color=colours["line"], linestyle="--", linewidth=1)
    axes.set_yticks(range(len(found)), [one["title"] for one in found])
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("times the byte-moving limit (dashed)\n"
                    "logarithmic, shorter is better")
    picture.suptitle(caption(machine), fontsize=9)
    picture.savefig(path, format="svg", facecolor=colours["ground"],
                    metadata={"Date": None, "Title": "Time over the limit"})
    pyplot.close(picture)
    tidy(path)


def tidy(path):
    """matplotlib ends some lines with blanks, which no file of ours has."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))


def row_filter():
    """What --filter takes to measure the five rows and nothing else."""
    return "^(" + "|".join(name for _, name in ROWS) + ")$"


if __name__ == "__main__":
    print(row_filter())

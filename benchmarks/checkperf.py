"""Compares the speed of the work tree with that of its base on a branch: the quick
rows of `dnnl-dequant-bench kernels`, both built alike. Called by ./dev checkperf.

Old and new take turns, so that the machine's moods meet both. Each run is of one
thread and counts its CPU time, which other work on the machine disturbs least.
"""
import argparse
import os
import shutil
import subprocess
import sys

FOLDER = "build/checkperf"
BENCH = "benchmarks/dnnl-dequant-bench"
TURNS = 2


def output_of(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def unpack(commit):
    """The folder with the files of `commit`. They are as old as their unpacking:
    an older commit's would look built already. A work tree of git's would be left
    behind by an interrupt."""
    base = os.path.join(FOLDER, "base")
    mark = os.path.join(base, ".unpacked-" + commit)
    if not os.path.exists(mark):
        shutil.rmtree(base, ignore_errors=True)
        os.makedirs(base)
        with subprocess.Popen(["git", "archive", commit],
                              stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-m", "-C", base], check=True,
                           stdin=archive.stdout)
        if archive.returncode:
            sys.exit("git archive failed")
        open(mark, "w").close()
    return base


def build(side, source):
    folder = os.path.join(FOLDER, side + "-build")
    subprocess.run(["cmake", "-S", source, "-B", folder, "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release", "-DDNNL_DEQUANT_BUILD_TESTS=OFF",
                    "-DDNNL_DEQUANT_BUILD_EXAMPLES=OFF"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--parallel",
                    str(os.cpu_count()), "--target", os.path.basename(BENCH)],
                   check=True)
    return os.path.join(folder, BENCH)


def measure(bench, figures, arguments):
    """What a row computes is another matter than its time: a wrong one, which the
    bench ends badly for, does not end the comparison."""
    if os.path.exists(figures):
        os.remove(figures)
    with open(figures + ".txt", "w") as log:
        subprocess.run([bench, "kernels", "--quick", "--no-stock", "--threads", "1",
                        "--cpu-time", "--budget", "0.05", "--json", figures,
                        *arguments], stdout=log, check=False)
    if not os.path.exists(figures):
        sys.exit(f"{bench} measured nothing: {figures}.txt")


def main():
    parser = argparse.ArgumentParser(prog="./dev checkperf", description=__doc__)
    parser.add_argument("branch", nargs="?", default="main")
    parser.add_argument("arguments", nargs=argparse.REMAINDER,
                        help="of dnnl-dequant-bench kernels")
    options = parser.parse_args()
    base = output_of("git", "merge-base", options.branch, "HEAD")
    print("comparing with", output_of("git", "log", "-1", "--format=%h %s", base),
          flush=True)
    benches = {"base": build("base", unpack(base)), "work": build("work", ".")}
    runs = []
    for turn in range(1, TURNS + 1):
        print(f"run {turn} of {TURNS}", flush=True)
        for side, bench in benches.items():
            runs.append(os.path.join(FOLDER, f"{side}{turn}.json"))
            measure(bench, runs[-1], options.arguments)
    return subprocess.run([benches["work"], "compare", *runs], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

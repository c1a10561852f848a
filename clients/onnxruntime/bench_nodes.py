"""What each node that the provider took costs, by ONNX Runtime's profiles."""
import json
import os
import re
import statistics
import sys
import tempfile

import onnxruntime as ort

RUNS = 20
NAME = "DnnlDequantExecutionProvider"


def node_times(options, make, feeds, runs=RUNS):
    """Microseconds of each run of each node, by name, in the order of nodes."""
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        session = make(options)
        # The first ones compile, repack and wake.
        for _ in range(runs + 5):
            session.run(None, feeds)
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    times = {}
    for event in events:
        name = event.get("name", "")
        if event.get("cat") == "Node" and name.endswith("_kernel_time"):
            times.setdefault(name[:-len("_kernel_time")], []).append(
                event["dur"])
    return {name: statistics.median(every[5:])
            for name, every in times.items() if len(every) > 5}


class Log:
    """What the process writes to its standard error meanwhile."""

    def __enter__(self):
        sys.stderr.flush()
        self.file = tempfile.TemporaryFile()
        self.kept = os.dup(2)
        os.dup2(self.file.fileno(), 2)
        return self

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        os.close(self.kept)
        self.file.seek(0)
        self.text = self.file.read().decode("utf-8", "replace")
        self.file.close()


def claims_of(log):
    """The names of the nodes of each claim, in the order of claims."""
    taken = re.findall(NAME + r" takes [^:\n]*: ([^\n]*);", log)
    return [[title.split(" ", 1)[1] for title in line.split("; ")]
            for line in taken]


def compare_nodes(model, feeds, make_options, add_provider):
    """One entry a claim. The claims' fused nodes have the claims' order, which
    is the number at the end of their names."""
    def with_provider(options):
        options.log_severity_level = 1
        add_provider(options)
        return ort.InferenceSession(model, options)

    def stock(options):
        return ort.InferenceSession(model, options,
                                    providers=["CPUExecutionProvider"])
    with Log() as log:
        ours = node_times(make_options(), with_provider, feeds)
    theirs = node_times(make_options(), stock, feeds)
    fused = {int(name.rsplit("_", 1)[1]): time for name, time in ours.items()
             if name.startswith(NAME)}
    result = []
    for index, names in enumerate(claims_of(log.text)):
        known = [theirs[name] for name in names if name in theirs]
        result.append({
            "nodes": names, "provider_us": fused.get(index),
            "onnxruntime_us": sum(known) if len(known) == len(names)
            else None})
    return result

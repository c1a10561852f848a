#!/usr/bin/env python3
"""Times ONNX Runtime with and without the provider, in turns.

usage: bench_ort.py --library libdnnl_dequant_ort.so [--threads 1 2]
           [--filter TEXT] [--budget SECONDS] [--shape NAME=SIZE ...]
           [--nodes] [--json FILE] [--html FILE] [MODEL.onnx ...]

Without a model: the built-in set, products of 2048 x 2048, six in a row.
A ratio is ONNX Runtime's time over the provider's: above 1, the provider is
faster. It is the median over turns, each of many runs of either session.
--nodes adds what each node that the provider took costs on either side.
"""
import argparse
import datetime
import json
import os
import statistics
import sys
import time

import numpy as np
import onnxruntime as ort

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "tests")]
import bench_nodes  # noqa: E402
import bench_page  # noqa: E402

NAME = "DnnlDequantExecutionProvider"
WIDTH, LAYERS, BLOCK = 2048, 6, 128
# A turn wakes the session's threads first, and then has runs without a pause, as
# a server under load has. Its first runs are slower: threads that share a core
# with another pool's are still being moved.
WARM_UP, TURN, LEAST_RUNS = 0.02, 0.05, 5
# An idle pool spins for a while; the other session waits until it sleeps.
PAUSE = 0.05


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown"


class Layers:
    """LAYERS products in a row, of one kind of weights."""

    def __init__(self, width=WIDTH, layers=LAYERS):
        import support
        self.support = support
        self.width, self.layers = width, layers
        self.random = np.random.default_rng(1)

    def build(self, add_layer, rows):
        from onnx import TensorProto
        model = self.support.Model()
        value = model.input("x", TensorProto.FLOAT, [rows, self.width])
        for i in range(self.layers):
            value = add_layer(model, value, i)
        model.output(value, TensorProto.FLOAT, [rows, self.width])
        return model.build().SerializeToString()

    def nbits(self, bits, block, level):
        def layer(model, value, i):
            n = k = self.width
            weights = self.random.integers(
                0, 256, (n, k // block, block * bits // 8), dtype=np.uint8)
            # Keeps sums of the size of the inputs.
            scales = np.full(n * (k // block),
                             (12 / k) ** 0.5 / (1 << bits), np.float32)
            return model.node(
                "MatMulNBits", [value, model.constant(f"w{i}", weights),
                                model.constant(f"s{i}", scales)], f"y{i}",
                domain=self.support.MICROSOFT, K=k, N=n, bits=bits,
                block_size=block, accuracy_level=level)
        return layer

    def qdq(self, data_type, block):
        from onnx import TensorProto
        bits, kind = {"uint16": (16, TensorProto.UINT16),
                      "int8": (8, TensorProto.INT8),
                      "uint4": (4, TensorProto.UINT4)}[data_type]

        def layer(model, value, i):
            n = k = self.width
            weights = self.random.integers(0, 256, k * n * bits // 8,
                                           dtype=np.uint8)
            model.constant(f"w{i}", weights, kind, [k, n])
            shape = (k // block, n) if block else (n,)
            step = (12 / k) ** 0.5 / (1 << bits)
            inputs = [f"w{i}", model.constant(
                f"s{i}", np.full(shape, step, np.float32))]
            if data_type != "int8":
                count = int(np.prod(shape))
                middle = np.full(count, 0x8000, np.uint16) if bits == 16 \
                    else np.full(count // 2, 0x88, np.uint8)
                inputs.append(model.constant(f"z{i}", middle, kind,
                                             list(shape)))
            attributes = dict(axis=0, block_size=block) if block \
                else dict(axis=1)
            floats = model.node("DequantizeLinear", inputs, f"d{i}",
                                **attributes)
            return model.node("MatMul", [value, floats], f"y{i}")
        return layer

    def chain(self):
        """QuantizeLinear, and DequantizeLinear -> MatMul -> QuantizeLinear,
        DequantizeLinear again and again."""
        def layer(model, value, i):
            n = k = self.width
            if i == 0:
                model.constant("as", np.float32(0.02))
                model.constant("az", np.uint8(128))
            weights = self.random.integers(-127, 128, (k, n), dtype=np.int8)
            model.constant(f"w{i}", weights)
            model.constant(f"s{i}", np.float32((3 / k) ** 0.5 / 127))
            q = model.node("QuantizeLinear", [value, "as", "az"], f"q{i}")
            a = model.node("DequantizeLinear", [q, "as", "az"], f"a{i}")
            w = model.node("DequantizeLinear", [f"w{i}", f"s{i}"], f"d{i}")
            return model.node("MatMul", [a, w], f"y{i}")
        return layer

    def dynamic(self):
        def layer(model, value, i):
            n = k = self.width
            weights = self.random.integers(-127, 128, (k, n), dtype=np.int8)
            scale = np.float32((3 / k) ** 0.5 / 127)
            q = model.node("DynamicQuantizeLinear", [value],
                           [f"q{i}", f"qs{i}", f"qz{i}"])
            sums = model.node(
                "MatMulInteger", [q, model.constant(f"w{i}", weights),
                                  f"qz{i}",
                                  model.constant(f"z{i}", np.int8(0))],
                f"i{i}")
            floats = model.node("Cast", [sums], f"c{i}", to=1)
            factor = model.node("Mul", [f"qs{i}", model.constant(
                f"s{i}", scale)], f"f{i}")
            return model.node("Mul", [floats, factor], f"y{i}")
        return layer


def single_ops():
    """Q and DQ by themselves, of a million numbers, an op an output."""
    import support
    from onnx import TensorProto
    for name, kind, dtype in (("uint8", TensorProto.UINT8, np.uint8),
                              ("int8", TensorProto.INT8, np.int8),
                              ("uint16", TensorProto.UINT16, np.uint16)):
        for op, count in (("DequantizeLinear", 1 << 20),
                          ("QuantizeLinear", 1 << 20),
                          ("DequantizeLinear", 1 << 10),
                          ("QuantizeLinear", 1 << 10)):
            model = support.Model()
            types = (kind, TensorProto.FLOAT) if op[0] == "D" \
                else (TensorProto.FLOAT, kind)
            model.input("x", types[0], [count])
            for i in range(4):
                model.node(op, [
                    "x", model.constant(f"s{i}", np.float32(0.01 + i)),
                    model.constant(f"z{i}", dtype(3))], f"y{i}")
                model.output(f"y{i}", types[1], [count])
            x = np.random.default_rng(4).integers(0, 100, count)
            yield f"{op} {name}, {count}", model, \
                {"x": x.astype(dtype if op[0] == "D" else np.float32)}


def built_in_cases():
    layers = Layers()
    kinds = [("nbits-4 f32", layers.nbits(4, BLOCK, 0)),
             ("nbits-4 f32 block 32", layers.nbits(4, 32, 0)),
             ("nbits-8 f32", layers.nbits(8, BLOCK, 0)),
             ("nbits-2 f32", layers.nbits(2, BLOCK, 0)),
             ("nbits-8 level 4", layers.nbits(8, BLOCK, 4)),
             ("nbits-4 level 4", layers.nbits(4, BLOCK, 4)),
             ("nbits-4 level 4 block 32", layers.nbits(4, 32, 4)),
             ("qdq uint16 per channel", layers.qdq("uint16", 0)),
             ("qdq int8 per channel", layers.qdq("int8", 0)),
             ("qdq uint4 block 128", layers.qdq("uint4", BLOCK)),
             ("chain int8", layers.chain()),
             ("dynamic int8", layers.dynamic())]
    for name, layer in kinds:
        for rows in (1, 8, 32):
            x = np.random.default_rng(2).standard_normal(
                (rows, WIDTH)).astype(np.float32)
            yield f"{name}, {rows} rows", lambda layer=layer, rows=rows: \
                layers.build(layer, rows), {"x": x}
    for name, model, feeds in single_ops():
        yield name, lambda model=model: \
            model.build().SerializeToString(), feeds


def inputs_of(model, shape):
    """Random inputs of a model; unknown dimensions are of `shape`."""
    session = ort.InferenceSession(model,
                                   providers=["CPUExecutionProvider"])
    random = np.random.default_rng(3)
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64,
             "tensor(int32)": np.int32, "tensor(float16)": np.float16,
             "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
             "tensor(bool)": np.bool_}
    feeds = {}
    for value in session.get_inputs():
        dims = [size if isinstance(size, int) and size > 0 else
                shape.get(size, 8) for size in value.shape]
        kind = types[value.type]
        feeds[value.name] = random.standard_normal(dims).astype(kind) \
            if np.issubdtype(kind, np.floating) \
            else np.ones(dims, kind)
    return feeds


def session_options(threads):
    result = ort.SessionOptions()
    result.intra_op_num_threads = threads
    result.log_severity_level = 3
    return result


def add_provider(options, provider_options):
    devices = [device for device in ort.get_ep_devices()
               if device.ep_name == NAME]
    options.add_provider_for_devices(devices, provider_options)


def make_sessions(model, threads, provider_options):
    with_provider = session_options(threads)
    add_provider(with_provider, provider_options)
    return (ort.InferenceSession(model, session_options(threads),
                                 providers=["CPUExecutionProvider"]),
            ort.InferenceSession(model, with_provider))


def turn(session, feeds):
    """Seconds of runs one after the other, the first ones left out."""
    begin = time.perf_counter()
    while time.perf_counter() < begin + WARM_UP:
        session.run(None, feeds)
    times = []
    begin = time.perf_counter()
    while time.perf_counter() < begin + TURN or len(times) < LEAST_RUNS:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - start)
    time.sleep(PAUSE)
    return times


def percentiles(times):
    cuts = statistics.quantiles(times, n=100)
    return {"p50": cuts[49] * 1e3, "p90": cuts[89] * 1e3,
            "p99": cuts[98] * 1e3}


def compare(model, feeds, threads, provider_options, budget):
    sessions = make_sessions(model, threads, provider_options)
    times, ratios = ([], []), []
    results = [session.run(None, feeds) for session in sessions]
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(ratios) < 3:
        turns = [turn(session, feeds) for session in sessions]
        ratios.append(statistics.median(turns[0])
                      / statistics.median(turns[1]))
        for all_of_one, new in zip(times, turns):
            all_of_one += new
    most = max(float(np.abs(result).max()) for result in results[0])
    error = max(float(np.abs(a - b).max()) for a, b in zip(*results)) \
        / (most or 1)
    return {"threads": threads, "onnxruntime_ms": percentiles(times[0]),
            "provider_ms": percentiles(times[1]),
            "ratio": statistics.median(ratios),
            "ratio_quartiles": statistics.quantiles(ratios, n=4)[::2],
            "best_ratio": min(times[0]) / min(times[1]),
            "turns": len(ratios), "difference": error}


def named_size(text):
    name, _, size = text.partition("=")
    if not name or not size.isdecimal():
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected NAME=SIZE, such as rows=8")
    return name, int(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--library", required=True)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--filter", default="")
    parser.add_argument("--claim", default="all",
                        choices=["all", "faster"])
    parser.add_argument("--accuracy-level", choices=["0", "4"])
    parser.add_argument("--budget", type=float, default=1.0,
                        help="seconds a row")
    parser.add_argument("--shape", action="append", default=[],
                        type=named_size, metavar="NAME=SIZE",
                        help="a size that the model leaves open")
    parser.add_argument("--nodes", action="store_true",
                        help="what each node costs, too")
    parser.add_argument("--json")
    parser.add_argument("--html")
    arguments = parser.parse_args()
    os.environ["DNNL_DEQUANT_ORT_LIBRARY"] = arguments.library
    ort.register_execution_provider_library(
        NAME, os.path.abspath(arguments.library))
    shape = dict(arguments.shape)
    cases = [(path, lambda path=path: path, inputs_of(path, shape))
             for path in arguments.models] or list(built_in_cases())
    provider_options = {"claim": arguments.claim}
    if arguments.accuracy_level:
        provider_options["accuracy_level"] = arguments.accuracy_level
    document = {"cpu": cpu_name(), "onnxruntime": ort.__version__,
                "date": datetime.datetime.now(
                    datetime.timezone.utc).isoformat(timespec="seconds"),
                "options": provider_options, "rows": []}
    for name, build, feeds in cases:
        if arguments.filter not in name:
            continue
        model = build()
        for threads in arguments.threads:
            row = compare(model, feeds, threads, provider_options,
                          arguments.budget)
            document["rows"].append({"name": name, **row})
            if arguments.nodes:
                row = document["rows"][-1]
                row["nodes"] = bench_nodes.compare_nodes(
                    model, feeds, lambda: session_options(threads),
                    lambda options: add_provider(options, provider_options))
            low, high = row["ratio_quartiles"]
            print(f"{name}, {threads} threads: "
                  f"{row['onnxruntime_ms']['p50']:.3f} ms -> "
                  f"{row['provider_ms']['p50']:.3f} ms, ratio "
                  f"{row['ratio']:.2f} ({low:.2f}-{high:.2f}), "
                  f"of the best {row['best_ratio']:.2f}, "
                  f"difference {row['difference']:.1e}", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
    if arguments.html:
        with open(arguments.html, "w", encoding="utf-8") as file:
            file.write(bench_page.page_of(document))


if __name__ == "__main__":
    main()

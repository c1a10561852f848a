"""ONNX Runtime as a peer of dnnl-dequant-bench, which starts this program.

Speaks the protocol of peer.hpp on its standard input and output. A row becomes
a model of one node whose inputs are all given at run time, so that nothing can
be folded, with inputs and outputs bound to memory that was written to before.
Of a product the weights are constants, which the runtime packs as it likes; of
as many models as the row has copies of them each run takes the next.
"""

import json
import mmap
import re
import signal
import sys
import time

WARM_UP_RUNS = 2
LONG_RUN = 0.1  # seconds; one warms up enough


def say(**answer):
    print(json.dumps(answer), flush=True)


def import_peer():
    """The modules, or nothing after having said why."""
    try:
        import numpy
        import onnx
        import onnxruntime
    except ImportError as error:
        say(absent=str(error))
        return None
    onnxruntime.set_default_logger_severity(4)
    return numpy, onnx, onnxruntime


class Row:
    """One node, ready to run."""

    def __init__(self, modules, row):
        self.numpy, self.onnx, self.runtime = modules
        self.memory = []
        model = self.model(row)
        self.bound = [self.bind(row, model)
                      for _ in range(row.get("copies", 1))]
        self.next = 0
        for session, binding in self.bound:
            self.warm_up(session, binding)

    def bind(self, row, model):
        """A session with its inputs and outputs."""
        session = self.runtime.InferenceSession(
            model, self.options(row["threads"]),
            providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, type_name, shape in self.inputs(row):
            binding.bind_input(name, "cpu", 0, self.code(type_name), shape,
                               self.buffer(row, name, type_name, shape))
        for name, type_name, shape in self.outputs(row):
            binding.bind_output(name, "cpu", 0, self.code(type_name), shape,
                                self.buffer(row, name, type_name, shape))
        return session, binding

    @staticmethod
    def warm_up(session, binding):
        for _ in range(WARM_UP_RUNS):
            start = time.perf_counter()
            session.run_with_iobinding(binding)
            if time.perf_counter() - start > LONG_RUN:
                break

    def options(self, threads):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.execution_mode = self.runtime.ExecutionMode.ORT_SEQUENTIAL
        # While others take their turn, this process must not spin.
        options.add_session_config_entry(
            "session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4
        return options

    def code(self, type_name):
        return self.onnx.TensorProto.DataType.Value(type_name)

    @staticmethod
    def parameters(row):
        yield "scale", row["scale"], row["scale_shape"]
        if row["zero_point"]:
            yield "zero_point", row["zero_point"], row["scale_shape"]

    def inputs(self, row):
        yield "x", row["x"], row["shape"]
        if not row["op_type"].startswith("Dynamic"):
            yield from self.parameters(row)

    def outputs(self, row):
        yield "y", row["y"], row["shape"]
        if row["op_type"].startswith("Dynamic"):
            yield from self.parameters(row)

    def model(self, row):
        helper = self.onnx.helper
        values = [helper.make_tensor_value_info(name, self.code(kind), shape)
                  for name, kind, shape in self.inputs(row)]
        attributes = {}
        # Where no zero point says what y is.
        if row["op_type"] == "QuantizeLinear" and not row["zero_point"]:
            attributes["output_dtype"] = self.code(row["y"])
        if row["scale_shape"]:
            attributes["axis"] = row["axis"]
        if row["block_size"]:
            attributes["block_size"] = row["block_size"]
        node = helper.make_node(
            row["op_type"], [value.name for value in values],
            [name for name, _, _ in self.outputs(row)],
            domain=row["domain"], **attributes)
        results = [helper.make_tensor_value_info(name, self.code(kind), shape)
                   for name, kind, shape in self.outputs(row)]
        graph = helper.make_graph([node], "row", values, results)
        if row["domain"]:
            return self.serialized(graph, row["domain"], row["opset"])
        return self.serialized(graph, onnx_opset=row["opset"])

    def serialized(self, graph, domain="", opset=1, onnx_opset=21):
        """The model, with ONNX's own ops and those of another domain."""
        helper = self.onnx.helper
        opsets = [helper.make_opsetid("", onnx_opset)]
        if domain:
            opsets.append(helper.make_opsetid(domain, opset))
        model = helper.make_model(
            graph, opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets[:1]))
        return model.SerializeToString()

    def bits(self, type_name):
        for narrow, bits in (("INT2", 2), ("INT4", 4), ("FLOAT4", 4),
                             ("FLOAT8", 8), ("BFLOAT16", 16)):
            if narrow in type_name:
                return bits
        kind = self.onnx.helper.tensor_dtype_to_np_dtype(self.code(type_name))
        return kind.itemsize * 8

    def buffer(self, row, name, type_name, shape):
        """The address of a buffer on pages of its own, filled."""
        np = self.numpy
        count = int(np.prod(shape, dtype=np.int64))
        size = (count * self.bits(type_name) + 7) // 8
        # Private, like malloc's, where the system may use large pages.
        pages = mmap.mmap(-1, size + 64, flags=mmap.MAP_PRIVATE)
        whole = np.frombuffer(pages, dtype=np.uint8)
        self.memory.append(whole)
        data = whole[:size]
        random = np.random.default_rng(3)
        if name == "scale":
            self.fill_floats(data, type_name,
                             random.uniform(1 / 64, 1, count))
        elif name == "x" and type_name in ("FLOAT", "FLOAT16", "BFLOAT16"):
            self.fill_floats(data, type_name, random.uniform(-8, 8, count))
        elif name == "x" or (name == "zero_point"
                             and type_name != "INT32"
                             and "FLOAT" not in type_name):
            data[:] = np.frombuffer(random.bytes(size), dtype=np.uint8)
        else:
            data[:] = 0  # y, and zero points that must be zero
        return whole.ctypes.data

    @staticmethod
    def fill_floats(data, type_name, values):
        if type_name == "BFLOAT16":
            words = values.astype("f4").view("u4") >> 16
            data.view("u2")[:] = words.astype("u2")
        else:
            data.view("f4" if type_name == "FLOAT" else "f2")[:] = values

    def run(self, count):
        seconds, cpu_seconds = [], []
        for _ in range(count):
            session, binding = self.bound[self.next]
            self.next = (self.next + 1) % len(self.bound)
            start, cpu_start = time.perf_counter(), time.thread_time()
            session.run_with_iobinding(binding)
            cpu_seconds.append(time.thread_time() - cpu_start)
            seconds.append(time.perf_counter() - start)
        say(seconds=seconds, cpu_seconds=cpu_seconds)


class Product(Row):
    """Rows times weights of 4 or 8 bits: MatMulNBits, whose weights lie by
    column. Without zero points it takes off the middle of the numbers."""

    def inputs(self, row):
        yield "x", row["x"], [row["rows"], row["depth"]]

    def outputs(self, row):
        yield "y", row["y"], [row["rows"], row["columns"]]

    def model(self, row):
        helper, np = self.onnx.helper, self.numpy
        groups = row["depth"] // row["block_size"]
        random = np.random.default_rng(3)

        def codes(*shape):
            return random.integers(0, 256, shape, dtype=np.uint8)

        scales = random.uniform(1 / 64, 1, row["columns"] * groups)
        weights = {
            "B": codes(row["columns"], groups,
                       row["block_size"] * row["bits"] // 8),
            "scales": scales.astype(helper.tensor_dtype_to_np_dtype(
                self.code(row["x"])))}
        if row["zero_points"]:
            weights["zero_points"] = codes(
                row["columns"] * ((groups * row["bits"] + 7) // 8))
        node = helper.make_node(
            row["op_type"], ["x", *weights], ["y"], domain=row["domain"],
            K=row["depth"], N=row["columns"], bits=row["bits"],
            block_size=row["block_size"],
            accuracy_level=row["accuracy_level"])
        values = [[helper.make_tensor_value_info(name, self.code(kind), shape)
                   for name, kind, shape in side(row)]
                  for side in (self.inputs, self.outputs)]
        graph = helper.make_graph(
            [node], "row", *values,
            initializer=[self.onnx.numpy_helper.from_array(value, name)
                         for name, value in weights.items()])
        return self.serialized(graph, row["domain"])


class Attention(Row):
    """Queries over a quantized cache: GroupQueryAttention, which appends the
    tokens of the queries to the cache before. Keys and values have a scale for
    each number of a head and no zero points."""

    def shapes(self, row):
        heads, head = row["heads"], row["head"]
        numbers = head * row["bits"] // 8
        return {
            "query": [1, row["queries"], heads * row["group"] * head],
            "token": [1, row["queries"], heads * head],
            "cache": [1, heads, row["tokens"], numbers],
            "scale": [1, heads, 1, head]}

    @staticmethod
    def cache_type(row):
        return "UINT8" if row["bits"] == 4 else "INT8"

    def inputs(self, row):
        shapes, kind = self.shapes(row), row["x"]
        cache = self.cache_type(row)
        yield "query", kind, shapes["query"]
        yield "key", kind, shapes["token"]
        yield "value", kind, shapes["token"]
        yield "past_key", cache, shapes["cache"]
        yield "past_value", cache, shapes["cache"]
        yield "seqlens_k", "INT32", [1]
        yield "total_sequence_length", "INT32", []
        yield "k_scale", "FLOAT", shapes["scale"]
        yield "v_scale", "FLOAT", shapes["scale"]

    def outputs(self, row):
        shapes, cache = self.shapes(row), self.cache_type(row)
        yield "y", row["y"], shapes["query"]
        yield "present_key", cache, shapes["cache"]
        yield "present_value", cache, shapes["cache"]

    def buffer(self, row, name, type_name, shape):
        """The cache before and after is the same memory."""
        if name.startswith("present"):
            return self.places[name.replace("present", "past")]
        counts = {"seqlens_k": row["tokens"] - 1,
                  "total_sequence_length": row["tokens"]}
        kind = {"query": "x", "key": "x", "value": "x", "k_scale": "scale",
                "v_scale": "scale", "past_key": "x", "past_value": "x"}
        place = super().buffer(row, kind.get(name, name), type_name, shape)
        if name in counts:
            self.memory[-1][:4].view("i4")[0] = counts[name]
        self.places[name] = place
        return place

    def model(self, row):
        self.places = {}
        helper = self.onnx.helper
        inputs, outputs = (
            [helper.make_tensor_value_info(name, self.code(kind), shape)
             for name, kind, shape in side(row)]
            for side in (self.inputs, self.outputs))
        names = [value.name for value in inputs]
        node = helper.make_node(
            row["op_type"], names[:7] + [""] * 5 + names[7:],
            [value.name for value in outputs], domain=row["domain"],
            num_heads=row["heads"] * row["group"], kv_num_heads=row["heads"],
            k_quant_type="PER_CHANNEL", v_quant_type="PER_CHANNEL",
            kv_cache_bit_width=row["bits"])
        graph = helper.make_graph([node], "row", inputs, outputs)
        return self.serialized(graph, row["domain"])


KINDS = {"MatMulNBits": Product, "GroupQueryAttention": Attention}


def one_line(error):
    """The runtime's sentence, without the code that it starts with."""
    text = " ".join(str(error).split())
    return re.sub(r"^\[ONNXRuntimeError\] : \d+ : ", "", text)[:300]


def main():
    # Ctrl-C is the parent's; the end of input ends this program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    modules = import_peer()
    if modules is None:
        return
    say(peer="ONNX Runtime", version=modules[2].__version__)
    current = None
    for line in sys.stdin:
        words = line.split()
        if words and words[0] == "run":
            current.run(int(words[1]))
            continue
        current = None  # gives its memory back
        try:
            row = json.loads(line)
            current = KINDS.get(row["op_type"], Row)(modules, row)
            say(ready=True)
        except Exception as error:  # whatever the runtime throws
            say(refused=one_line(error))


main()

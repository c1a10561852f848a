"""Attention over keys and values that are dequantized, spelled in ONNX's ops:
one node, with the numbers of the formula in f64 and of ONNX Runtime."""
import dataclasses
import unittest

import numpy as np
import onnxruntime as ort
from onnx import TensorProto

import support
from support import Model

RNG = np.random.default_rng(15)
B, H, D = 2, 4, 32
TYPES = {"int8": (TensorProto.INT8, -128, 128),
         "uint8": (TensorProto.UINT8, 0, 256),
         "int4": (TensorProto.INT4, -8, 8),
         "uint4": (TensorProto.UINT4, 0, 16)}


@dataclasses.dataclass
class Case:
    rows: int = 1
    tokens: int = 33
    heads_of_keys: int = H
    kind: str = "int8"
    # tensor, token, channel, head: what has a scale of its own
    scales: str = "tensor"
    zero: bool = True
    divides: bool = True
    mask: str = "add"  # add, bias, where, none
    half: bool = False
    opset: int = 21
    transposes: bool = True  # else keys lie transposed
    dynamic: bool = True
    float_keys: bool = False
    capped: bool = False

    @property
    def float_type(self):
        return TensorProto.FLOAT16 if self.half else TensorProto.FLOAT

    @property
    def dtype(self):
        return np.float16 if self.half else np.float32


class Cache:
    """Quantized keys or values, [B, heads, tokens, D]."""

    def __init__(self, case, prefix):
        self.case, self.prefix = case, prefix
        self.data_type, low, high = TYPES[case.kind]
        self.dims = (B, case.heads_of_keys, case.tokens, D)
        self.q = RNG.integers(low, high, self.dims)
        self.grid = {"tensor": (), "token": self.dims[:3] + (1,),
                     "channel": (D,),
                     "head": (case.heads_of_keys,)}[case.scales]
        self.scale = (RNG.uniform(0.5, 1.5, self.grid)
                      * 4 / (high - low)).astype(case.dtype)
        self.zero = RNG.integers(low, high, self.grid)
        if not case.zero:
            self.zero = np.zeros_like(self.zero)

    def wide(self, array):
        if self.case.scales == "head":
            return np.asarray(array).reshape(1, -1, 1, 1)
        return array

    def floats(self):
        wide = (self.q - self.wide(self.zero)) * self.wide(
            self.scale.astype(np.float64))
        return wide.astype(self.case.dtype).astype(np.float64)

    def is_small(self):
        return self.data_type in (TensorProto.INT4, TensorProto.UINT4)

    def integer(self, array):
        kind = np.uint8 if self.case.kind[0] == "u" else np.int8
        return np.asarray(array).astype(kind)

    def add(self, model, transposed=False):
        """The floats. Integers of 4 bits are constants, for Python has no
        arrays of them."""
        p, q = self.prefix, self.q
        if transposed:
            q = np.ascontiguousarray(q.swapaxes(2, 3))
        if self.is_small():
            model.constant(p, support.pack(q, 4), self.data_type,
                           list(q.shape))
        else:
            dims = [B, self.dims[1], "t", D] if self.case.dynamic \
                else list(self.dims)
            if transposed:
                dims[2], dims[3] = dims[3], dims[2]
            model.input(p, self.data_type, dims)
            self.feed = {p: self.integer(q)}
        scale, zero = self.scale, self.zero
        axis = {"head": 1, "channel": 3}.get(self.case.scales)
        attributes = {} if axis is None else {"axis": axis}
        if self.case.scales == "token":
            attributes = dict(axis=3, block_size=D)
        if transposed and self.case.scales == "channel":
            attributes["axis"] = 2
        if self.case.scales == "token" and self.case.dynamic \
                and not self.is_small():
            model.input(p + "_scale", self.case.float_type,
                        [B, self.dims[1], "t", 1])
            self.feed[p + "_scale"] = scale
        else:
            model.constant(p + "_scale", scale)
        inputs = [p, p + "_scale"]
        if self.case.zero:
            stored = support.pack(zero, 4) if self.is_small() \
                else self.integer(zero)
            if "_scale" in "".join(getattr(self, "feed", {})):
                model.input(p + "_zero", self.data_type,
                            [B, self.dims[1], "t", 1])
                self.feed[p + "_zero"] = stored
            else:
                model.constant(p + "_zero", stored, self.data_type,
                               list(self.grid))
            inputs.append(p + "_zero")
        return model.node("DequantizeLinear", inputs, p + "_floats",
                          **attributes)


def repeated(model, case, value):
    """A head of keys for each head of queries."""
    group = H // case.heads_of_keys
    if group == 1:
        return value
    axes = model.constant(value + "_axes", np.array([2]))
    value = model.node("Unsqueeze", [value, axes], value + "_5d") \
        if case.opset >= 13 else model.node("Unsqueeze", [value],
                                            value + "_5d", axes=[2])
    shape = model.constant(value + "_grown", np.array([1, 1, group, 1, 1]))
    value = model.node("Expand", [value, shape], value + "_wide")
    shape = model.constant(value + "_shape", np.array([0, H, -1, D]))
    return model.node("Reshape", [value, shape], value + "_heads")


class Attention:
    def __init__(self, case):
        self.case = case
        self.keys, self.values = Cache(case, "k"), Cache(case, "v")
        self.q = RNG.standard_normal((B, H, case.rows, D)).astype(case.dtype)
        shape = (B, 1, case.rows, case.tokens)
        # Half of the tokens are masked, never all.
        self.keep = RNG.integers(0, 2, shape).astype(bool)
        self.keep[..., 0] = True
        self.bias = RNG.standard_normal((H, 1, case.tokens)).astype(
            case.dtype)
        self.model = self.build()

    def scale(self):
        return self.case.dtype(np.sqrt(D) if self.case.divides
                               else 1 / np.sqrt(D))

    def feeds(self):
        result = {"q": self.q}
        if self.case.mask == "add":
            result["mask"] = np.where(self.keep, 0, -1e4).astype(
                self.case.dtype)
        elif self.case.mask == "bias":
            result["mask"] = self.bias
        elif self.case.mask == "where":
            result["mask"] = self.keep
        result.update(getattr(self.keys, "feed", {}))
        result.update(getattr(self.values, "feed", {}))
        return result

    def expected(self):
        group = H // self.case.heads_of_keys
        keys, values = [np.repeat(cache.floats(), group, 1)
                        for cache in (self.keys, self.values)]
        scores = self.q.astype(np.float64) @ keys.swapaxes(2, 3)
        scores = scores / np.sqrt(D)
        if self.case.capped:
            scores = 5 * np.tanh(scores / 5)
        if self.case.mask in ("add", "where"):
            scores = np.where(self.keep, scores, -1e4)
        elif self.case.mask == "bias":
            scores = scores + self.bias
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ values

    def add_mask(self, model, scores):
        case = self.case
        s = "s" if case.dynamic else case.rows
        t = "t" if case.dynamic and not self.keys.is_small() else case.tokens
        if case.mask == "add":
            model.input("mask", case.float_type, [B, 1, s, t])
            return model.node("Add", [scores, "mask"], "masked")
        if case.mask == "bias":
            model.input("mask", case.float_type, [H, 1, t])
            return model.node("Add", ["mask", scores], "masked")
        if case.mask == "where":
            model.input("mask", TensorProto.BOOL, [B, 1, s, t])
            fill = model.constant("fill", case.dtype(-1e4))
            return model.node("Where", ["mask", scores, fill], "masked")
        return scores

    def cap(self, model, scores):
        if not self.case.capped:
            return scores
        five = model.constant("five", self.case.dtype(5))
        scores = model.node("Div", [scores, five], "fifth")
        scores = model.node("Tanh", [scores], "tanh")
        return model.node("Mul", [scores, five], "capped")

    def build(self):
        case = self.case
        model = Model(case.opset, support.ir_version_of(case.opset))
        s = "s" if case.dynamic else case.rows
        model.input("q", case.float_type, [B, H, s, D])
        keys = repeated(model, case, self.keys.add(
            model, transposed=not case.transposes))
        if case.transposes:
            keys = model.node("Transpose", [keys], "kt", perm=[0, 1, 3, 2])
        values = repeated(model, case, self.values.add(model))
        scores = model.node("MatMul", ["q", keys], "scores")
        scores = model.node("Div" if case.divides else "Mul", [
            scores, model.constant("scale", self.scale())], "scaled")
        scores = self.add_mask(model, self.cap(model, scores))
        weights = model.node("Softmax", [scores], "weights",
                             axis=-1 if case.opset >= 13 else 3)
        model.node("MatMul", [weights, values], "y")
        model.output("y", case.float_type, [B, H, s, D])
        return model.build()


def stock(attention):
    """By fewer of ONNX Runtime's transformations: all of them make of int8
    keys a graph that it refuses itself."""
    options = support.options()
    options.graph_optimization_level = \
        ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return support.stock(attention.model, options).run(
        None, attention.feeds())[0].astype(np.float64)


class Attentions(support.ProviderTest):
    def check(self, bound=1e-4, compared=True, **of_case):
        attention = Attention(Case(**of_case))
        model, feeds = attention.model, attention.feeds()
        ours, = self.run_provider(model, feeds)
        self.check_close(ours, attention.expected(), bound)
        if compared:
            self.check_close(ours, stock(attention), bound)

    def test_kinds_and_scales(self):
        for kind in TYPES:
            for scales in ("tensor", "token", "channel", "head"):
                for rows in (1, 5):
                    with self.subTest(kind=kind, scales=scales, rows=rows):
                        self.check(kind=kind, scales=scales, rows=rows)

    def test_without_zero_points(self):
        # 1.23 makes a graph of the others that it refuses itself.
        for scales in ("token", "tensor", "channel", "head") \
                if support.MINOR > 23 else ("token",):
            self.check(kind="int8", scales=scales, zero=False)

    def test_masks(self):
        for mask in ("none", "add", "bias", "where"):
            for rows in (1, 7):
                for divides in (False, True):
                    with self.subTest(mask=mask, rows=rows):
                        self.check(mask=mask, rows=rows, divides=divides)

    def test_capped_scores(self):
        self.check(capped=True, rows=3)

    def test_heads_that_share_keys(self):
        for heads in (1, 2):
            for scales in ("tensor", "token", "channel", "head"):
                for mask in ("add", "bias", "where"):
                    with self.subTest(heads=heads, scales=scales, mask=mask):
                        self.check(heads_of_keys=heads, scales=scales,
                                   mask=mask, rows=3)

    def test_keys_that_lie_transposed(self):
        for scales in ("tensor", "channel", "head"):
            for heads in (2, H):
                self.check(scales=scales, transposes=False, rows=2,
                           heads_of_keys=H)

    def test_shapes_that_are_known(self):
        self.check(dynamic=False, rows=4)
        self.check(dynamic=False, heads_of_keys=2)

    def test_many_queries(self):
        self.check(rows=70, tokens=130)
        self.check(rows=64, tokens=64, heads_of_keys=1, scales="token")

    def test_one_token(self):
        self.check(tokens=1)
        self.check(tokens=1, rows=3, mask="none")

    def test_floats_of_16_bits(self):
        for scales in ("tensor", "token"):
            self.check(half=True, scales=scales, rows=3, bound=1e-2)

    def test_opsets(self):
        for opset in support.opsets(11):
            with self.subTest(opset=opset):
                self.check(opset=opset, kind="uint8", rows=3,
                           scales="tensor" if opset < 13 else "channel",
                           # 1.23 has no QuantizeLinear of 23 for its own
                           # graph.
                           compared=opset < 23 or support.MINOR > 23)

    def test_a_cache_that_grows(self):
        """One session, a token more at each step."""
        attention = Attention(Case(tokens=3))
        session = support.session(attention.model)
        for tokens in range(1, 40):
            grown = Attention(Case(tokens=tokens))
            for old, new in ((attention.keys, grown.keys),
                             (attention.values, grown.values)):
                new.scale, new.zero = old.scale, old.zero
            self.check_close(session.run(None, grown.feeds())[0],
                             grown.expected())


    def test_faster_wants_long_caches_of_known_length(self):
        for case, fused in ((dict(dynamic=True), 0), (dict(tokens=16), 0),
                            (dict(rows=5), 0), (dict(), 1),
                            (dict(rows=2, tokens=1024), 1)):
            attention = Attention(Case(**{
                "dynamic": False, "kind": "uint8", "tokens": 512, **case}))
            self.run_provider(attention.model, attention.feeds(),
                              claim="faster", fused=fused, left=None)


class Refused(support.ProviderTest):
    def test_other_uses_of_the_weights(self):
        """The rest is right all the same."""
        attention = Attention(Case())
        model = attention.model
        model.graph.output.append(support.helper.make_tensor_value_info(
            "weights", TensorProto.FLOAT, [B, H, "s", "t"]))
        ours = self.run_provider(model, attention.feeds(), fused=None,
                                 left=None)
        self.check_close(ours[0], attention.expected())

    def test_another_axis(self):
        attention = Attention(Case(rows=33, mask="none"))
        model = attention.model
        softmax, = [n for n in model.graph.node if n.op_type == "Softmax"]
        softmax.attribute[0].i = 2
        ours, = self.run_provider(model, attention.feeds(), fused=None,
                                  left=None)
        self.check_close(ours, stock(attention))

    def test_a_mask_that_does_not_fit(self):
        attention = Attention(Case(tokens=9))
        feeds = attention.feeds()
        feeds["mask"] = feeds["mask"][..., :5]
        session = support.session(attention.model)
        with self.assertRaisesRegex(Exception, "broadcast"):
            session.run(None, feeds)

    def test_attributes_and_constants_that_make_no_sense(self):
        """An exception or no claim, never a crash."""
        def attribute(op_type, name, value):
            def change(model):
                for node in model.graph.node:
                    if node.op_type == op_type:
                        del node.attribute[:]
                        node.attribute.append(
                            support.helper.make_attribute(name, value))
            return change

        def constant(ending, values):
            def change(model):
                for i, old in enumerate(model.graph.initializer):
                    if old.name.endswith(ending):
                        model.graph.initializer[i].CopyFrom(support.tensor(
                            np.array(values), old.name))
            return change
        for change in (attribute("Softmax", "axis", 9),
                       attribute("Transpose", "perm", [0, 1, 2, 3]),
                       attribute("DequantizeLinear", "axis", 7),
                       attribute("DequantizeLinear", "block_size", 5),
                       constant("_axes", [7]), constant("_axes", [0]),
                       constant("_grown", [1, 1, 3, 1, 1]),
                       constant("_grown", [2, 1, 1, 1, 1]),
                       constant("_shape", [0, 2, -1, D]),
                       constant("_shape", [0, H, -1, 2 * D]),
                       constant("_shape", [-1, -1, 1, 1])):
            attention = Attention(Case(heads_of_keys=2, dynamic=False))
            change(attention.model)
            try:
                session = support.session(attention.model)
                session.run(None, attention.feeds())
            except Exception as error:  # noqa: BLE001 any sentence will do
                self.assertGreater(len(str(error)), 20)


if __name__ == "__main__":
    unittest.main()

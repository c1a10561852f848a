"""Models of attention over keys and values that are dequantized, and what they
compute, in f64.

usage: attention.py OUT.onnx [FIELD=VALUE ...]     writes one for the bench
Fields are those of Case, and heads, size (of a head) and batch.
"""
import dataclasses
import sys

import numpy as np
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


def main(out, *fields):
    global B, H, D
    said = dict(field.split("=") for field in fields)
    B, H, D = [int(said.pop(name, size)) for name, size in (
        ("batch", 1), ("heads", 32), ("size", 128))]
    types = {field.name: field.type for field in dataclasses.fields(Case)}
    case = Case(**{"dynamic": False, "heads_of_keys": H, **{
        name: {"True": True, "False": False}.get(value, value)
        if types[name] is not int else int(value)
        for name, value in said.items()}})
    with open(out, "wb") as file:
        file.write(support.serialized(Attention(case).model))


if __name__ == "__main__":
    main(*sys.argv[1:])

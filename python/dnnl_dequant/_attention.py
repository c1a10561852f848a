"""Attention over a quantized cache of keys and values."""
import math

import numpy as np

from . import _types
from ._arrays import Operand, address_of, array_of, input_operand
from ._operands import Result, scale_operand
from ._program import GraphBuilder, execute, program_of

_CACHED = ("s8", "u8", "s4", "u4")


def _grouped(operand, heads, groups):
    """[batch, heads * groups, ...] as [batch, heads, groups, ...]."""
    batch, _, *rest = operand.dims
    outer, step, *inner = operand.strides
    return Operand(operand.array, operand.type, (batch, heads, groups, *rest),
                   (outer, step * groups, step, *inner))


class _Cache:
    """Keys or values [batch, heads, tokens, numbers], a scale a token."""

    def __init__(self, name, data, scale, zero_point, bits):
        array, found = array_of(data, name)
        self.data = input_operand(array, found, name, bits)
        if self.data.type not in _CACHED:
            raise ValueError(f"{name} is of dtype {array.dtype}; expected "
                             f"{_types.listed(_CACHED)}")
        if len(self.data.dims) != 4:
            raise ValueError(
                f"{name} has shape {array.shape}; expected four dimensions, "
                "[batch, heads, tokens, numbers]")
        self.scale = self._of_tokens(scale_operand(
            scale, name + "_scale", _types.FLOATS), name + "_scale")
        self.zero = None
        if zero_point is not None:
            said = name + "_zero_point"
            array, found = array_of(zero_point, said, array.dtype)
            if found not in _types.INTEGERS:
                raise ValueError(f"{said} is of dtype {array.dtype}; expected "
                                 "integers")
            self.zero = self._of_tokens(input_operand(array, found, said),
                                        said)

    def _of_tokens(self, operand, name):
        """[batch, heads, tokens, 1], whether or not the 1 was said."""
        batch, heads, tokens, _ = self.data.dims
        dims, strides = operand.dims, operand.strides
        if dims == (batch, heads, tokens):
            dims, strides = dims + (1,), strides + (1,)
        if dims != (batch, heads, tokens, 1):
            raise ValueError(
                f"{name} has shape {operand.dims}; expected "
                f"{(batch, heads, tokens)}, one for each token")
        return Operand(operand.array, operand.type, dims, strides)

    @property
    def operands(self):
        return [operand for operand in (self.data, self.scale, self.zero)
                if operand is not None]

    def grouped(self, heads):
        return [_grouped(operand, heads, 1) for operand in self.operands]


def _mask_operand(mask, q, tokens):
    """A mask that broadcasts to [batch, heads, rows, tokens]."""
    if mask is None:
        return None
    array, found = array_of(mask, "mask")
    if found not in ("boolean", q.type):
        raise ValueError(f"mask is of dtype {array.dtype}; expected bool or "
                         f"q's, {_types.NUMPY_NAMES[q.type]}")
    full = q.dims[:3] + (tokens,)
    dims = (1,) * (4 - array.ndim) + array.shape
    if len(dims) != 4 or any(a not in (1, b) for a, b in zip(dims, full)):
        raise ValueError(f"mask has shape {array.shape}; expected one that "
                         f"broadcasts to {full}")
    return input_operand(array.reshape(dims), found, "mask")


class _Attention:
    """The graph: scores, what becomes of them, SoftMax, the values."""

    def __init__(self, q, keys, values, mask, causal, scale):
        heads = keys.data.dims[1]
        groups = q.dims[1] // heads
        self.q, self.mask, self.causal, self.scale = q, mask, causal, scale
        self.keys, self.values = keys.operands, values.operands
        self.group = groups > 1
        if self.group:
            self.q = _grouped(q, heads, groups)
            self.keys, self.values = keys.grouped(heads), values.grouped(heads)
            if mask is not None and mask.dims[1] > 1:
                self.mask = _grouped(mask, heads, groups)
            elif mask is not None:
                self.mask = _grouped(mask, 1, 1)
        self.shape = self.q.dims[:-1] + (self.keys[0].dims[-2],)
        self.heads, self.groups = heads, groups

    def result(self, operand):
        if not self.group:
            return operand
        return _grouped(operand, self.heads, self.groups)

    @property
    def inputs(self):
        mask = [] if self.mask is None else [self.mask]
        return [self.q] + self.keys + self.values + mask

    def _dequantize(self, graph, ports, operands):
        rank = len(operands[0].dims)
        group = [1] * (rank - 1) + [operands[0].dims[-1]]
        return graph.then("DynamicDequantize", ports, self.q.type,
                          operands[0].dims, qtype="per_group",
                          group_shape=group)

    def _constant(self, graph, value):
        """One number of q's type."""
        number = np.array([value], np.float32)
        if self.q.type == "f16":
            number = number.astype(np.float16)
        if self.q.type == "bf16":
            bits = number.view(np.uint32)
            number = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(
                np.uint16)
        return graph.tensor(self.q.type, (1,), constant=number)

    def _select(self, graph, condition, scores):
        fill = self._constant(graph, -math.inf)
        return graph.then("Select", [condition, scores, fill], self.q.type,
                          self.shape)

    def _causal(self, graph, scores):
        """One row sees all; as many rows as tokens are what oneDNN's graphs
        spell; else the condition is a tensor of the program's own, since
        oneDNN 3.7 adds no integers."""
        rank, rows, tokens = len(self.shape), *self.shape[-2:]
        if rows == 1:
            return scores
        if rows != tokens:
            sees = np.tri(rows, tokens, tokens - rows, dtype=np.bool_)
            dims = (1,) * (rank - 2) + (rows, tokens)
            return self._select(
                graph, graph.tensor("boolean", dims, constant=sees), scores)
        row = graph.then("GenIndex", [scores], "s32", self.shape,
                         axis=rank - 2)
        token = graph.then("GenIndex", [scores], "s32", self.shape,
                           axis=rank - 1)
        condition = graph.then("GreaterEqual", [row, token], "boolean",
                               self.shape)
        return self._select(graph, condition, scores)

    def _masked(self, graph, scores, mask):
        if self.mask.type == "boolean":
            return self._select(graph, mask, scores)
        return graph.then("Add", [scores, mask], self.q.type, self.shape)

    def build(self, dst):
        graph = GraphBuilder("attention")
        q = graph.argument(self.q)
        keys = [graph.argument(operand) for operand in self.keys]
        values = [graph.argument(operand) for operand in self.values]
        mask = None if self.mask is None else graph.argument(self.mask)
        y = graph.argument(dst)
        kind, shape = self.q.type, self.shape
        scores = graph.then(
            "MatMul", [q, self._dequantize(graph, keys, self.keys)], kind,
            shape, transpose_b=True)
        scores = graph.then(
            "Multiply", [scores, self._constant(graph, self.scale)], kind,
            shape)
        if mask is not None:
            scores = self._masked(graph, scores, mask)
        if self.causal:
            scores = self._causal(graph, scores)
        weights = graph.then("SoftMax", [scores], kind, shape,
                             axis=len(shape) - 1)
        values = self._dequantize(graph, values, self.values)
        graph.op("MatMul", [weights, values], [y], transpose_b=False)
        return graph.compile()


def _check_shapes(q, keys, values):
    batch, heads, _, numbers = q.dims
    expected = (batch, keys.data.dims[1], keys.data.dims[2], numbers)
    if keys.data.dims != expected or heads % keys.data.dims[1]:
        raise ValueError(
            f"k has shape {keys.data.dims}; expected {batch} batches, a "
            f"divisor of q's {heads} heads, and {numbers} numbers as in q "
            f"{q.dims}")
    if values.data.dims[:3] != keys.data.dims[:3]:
        raise ValueError(f"v has shape {values.data.dims}; expected k's batch, "
                         f"heads and tokens, {keys.data.dims[:3]}")
    if 0 in values.data.dims or 0 in keys.data.dims:
        raise ValueError(f"k has shape {keys.data.dims} and v "
                         f"{values.data.dims}; expected one token and number "
                         "at least")


def attention(q, k, k_scale, v, v_scale, *, k_zero_point=None,
              v_zero_point=None, mask=None, causal=False, scale=None,
              bits=None, out=None):
    """Returns softmax(q @ dequantize(k).T * scale + mask) @ dequantize(v).

    Keys and values are never whole in memory as floats, nor are the scores.
    A row of which every token is masked gives NaN.

    Parameters
    ----------
    q : array of shape [batch, heads, rows, numbers]
        float32, float16 or bfloat16; the result has this type.
    k, v : arrays of shape [batch, kv_heads, tokens, numbers]
        uint8, int8, or int4 and uint4 of ml_dtypes. kv_heads divides heads:
        as many heads of q as that gives share one of the cache. v may have
        another number of numbers. They may be parts of larger arrays.
    k_scale, v_scale : arrays of shape [batch, kv_heads, tokens]
        float32, float16 or bfloat16; a last dimension of 1 may follow.
    k_zero_point, v_zero_point : arrays of the same shape, optional
        Integers.
    mask : array that broadcasts to [batch, heads, rows, tokens], optional
        bool: True where a row sees a token. Or of q's type: added to scores.
    causal : bool
        Row i sees the tokens up to i + tokens - rows; there are no more rows
        than tokens.
    scale : float, optional
        1 / sqrt(numbers) where it is not said.
    bits : int, optional
        4: k and v are packed along their last dimension, signed where they
        are int8.
    out : array of shape [batch, heads, rows, v's numbers], optional
        Of q's type.

    Returns
    -------
    `out`, or a new array of q's type.

    Raises
    ------
    ValueError for a shape or type that does not fit, MemoryError, and
    RuntimeError with the status name of oneDNN.

    >>> import numpy as np, dnnl_dequant
    >>> q = np.zeros((1, 1, 1, 2), np.float32)
    >>> cache = np.array([[[[1, 2], [3, 4]]]], np.int8)
    >>> scale = np.full((1, 1, 2), 0.5, np.float32)
    >>> dnnl_dequant.attention(q, cache, scale, cache, scale)
    array([[[[1. , 1.5]]]], dtype=float32)
    """
    array, found = array_of(q, "q")
    if found not in _types.FLOATS or array.ndim != 4:
        raise ValueError(
            f"q is of dtype {array.dtype} and shape {array.shape}; expected "
            "floats of four dimensions, [batch, heads, rows, numbers]")
    src = input_operand(array, found, "q")
    keys = _Cache("k", k, k_scale, k_zero_point, bits)
    values = _Cache("v", v, v_scale, v_zero_point, bits)
    _check_shapes(src, keys, values)
    tokens = keys.data.dims[2]
    if causal and src.dims[2] > tokens:
        raise ValueError(f"q has {src.dims[2]} rows; expected at most {tokens},"
                         " one for each token, where it is causal")
    masks = _mask_operand(mask, src, tokens)
    if scale is None:
        scale = 1 / math.sqrt(src.dims[-1])
    result = Result(out, found, src.dims[:3] + values.data.dims[3:])
    graph = _Attention(src, keys, values, masks, bool(causal), float(scale))
    result.check_apart(graph.inputs)
    if src.size == 0:
        return result.finish()
    dst = graph.result(result.operand)
    operands = graph.inputs + [dst]
    key = ("attention", bool(causal), float(scale), masks is not None,
           len(keys.operands), tuple(operand.key for operand in operands))
    program = program_of(key, lambda: graph.build(dst))
    execute(program, [address_of(operand.array) for operand in operands],
            "attention")
    return result.finish()

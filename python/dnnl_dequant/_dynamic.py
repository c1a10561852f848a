"""dynamic_quantize: the range is found too."""
import numpy as np

from . import _types
from ._arrays import address_of, array_of, input_operand
from ._granularity import (Granularity, blocks_of, front_axis, positive_block)
from ._operands import Result
from ._program import GraphBuilder, execute, program_of


def _granularity(dims, axis, block_size):
    """How elements share a scale, and the scale's shape."""
    if axis is None:
        if block_size is not None:
            raise ValueError(f"block_size is {block_size} without an axis; "
                             "expected both")
        return Granularity("per_tensor"), ()
    at = front_axis(axis, len(dims))
    if block_size is None:
        return Granularity("per_channel", at), (dims[at],)
    how = Granularity("per_group", at, positive_block(block_size))
    shape = list(dims)
    shape[at] = blocks_of(dims[at], how.block)
    return how, tuple(shape)


def _build(src, outputs, how):
    graph = GraphBuilder("dynamic_quantize")
    ports = [graph.argument(operand) for operand in [src] + outputs]
    graph.op("DynamicQuantizeLinear", ports[:1], ports[1:],
             **how.dynamic_attributes(len(src.dims)))
    return graph.compile()


def dynamic_quantize(x, *, dtype="uint8", symmetric=False, axis=None,
                     block_size=None, out=None):
    """Finds the range of x and quantizes it.

    Returns (y, scale, zero_point) of ONNX's DynamicQuantizeLinear:

        most = max(0, x...), least = min(0, x...)
        scale = (most - least) / (highest - lowest)
        zero_point = round(clip(lowest - least / scale))
        y = saturate(round(x / scale) + zero_point)

    or, where it is symmetric, scale = max(most, -least) / 127 and no zero
    point. Zeros alone have scale 1.

    Parameters
    ----------
    x : array of any shape
        float32, float16 or bfloat16.
    dtype : uint8 or int8
        Of y; int8 in [-127, 127].
    symmetric : bool
        dtype is int8 then, and zero_point None.
    axis : int, optional
        A range for each index along axis: scale has shape [x.shape[axis]].
    block_size : int, optional
        A range for each block of so many elements along axis: scale has x's
        shape with ceil(x.shape[axis] / block_size) elements there.
    out : array, optional
        For y.

    Returns
    -------
    y : array of x's shape
    scale : float32 array; of shape () where x has one range
    zero_point : array of y's dtype and scale's shape, or None

    Raises
    ------
    ValueError, MemoryError and RuntimeError, as `dequantize`.

    >>> import numpy as np, dnnl_dequant
    >>> y, scale, zero_point = dnnl_dequant.dynamic_quantize(
    ...     np.array([-1, 0, 1.55], np.float32))
    >>> y, scale, zero_point
    (array([  0, 100, 255], dtype=uint8), array(0.01, dtype=float32), array(100, dtype=uint8))
    """
    array, found = array_of(x, "x", np.float32)
    if found not in _types.FLOATS:
        raise ValueError(f"x is of dtype {array.dtype}; expected one of "
                         f"{_types.listed(_types.FLOATS)}")
    dst = _types.type_named(dtype, "dtype", ("u8", "s8"))
    if symmetric and dst != "s8":
        raise ValueError("dtype is uint8; expected int8 where it is symmetric")
    src = input_operand(array, found, "x")
    how, shape = _granularity(src.dims, axis, block_size)
    y = Result(out, dst, src.dims)
    y.check_apart([src])
    scale = Result(None, "f32", shape)
    zero = None if symmetric else Result(None, dst, shape)
    if src.size == 0:
        scale.array.fill(1)
        if zero:
            zero.array.fill(0 if dst == "u8" else -127)
    else:
        results = [y, scale] if symmetric else [y, scale, zero]
        outputs = [result.operand for result in results]
        key = ("dynamic_quantize", how.key,
               tuple(operand.key for operand in [src] + outputs))
        program = program_of(key, lambda: _build(src, outputs, how))
        execute(program, [address_of(operand.array)
                          for operand in [src] + outputs], "dynamic_quantize")
    return y.finish(), scale.finish(), zero.finish() if zero else None

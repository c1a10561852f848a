"""dequantize and quantize, by ONNX's rules."""
import numpy as np

from . import _types
from ._arrays import (address_of, array_of, check_apart, input_operand,
                      of_number)
from ._granularity import granularity_of
from ._operands import Result, scale_operand, zero_of_type, zero_operand
from ._program import GraphBuilder, execute, last, program_of
from ._shortcuts import key_of, remember, shortcuts

# Quark's op has results of these types, ONNX's QuantizeLinear has not.
_EXTENDED = ("u32", "f16", "bf16", "f32")
_DEQUANTIZED = _types.INTEGERS + _types.SMALL_FLOATS + ("f16", "bf16", "f32")
_find = shortcuts.get


def _compile(what, kind, attributes, operands):
    """One op over operands; the result's is the last one."""
    key = (kind, tuple((name, str(value)) for name, value
                       in attributes.items()),
           tuple(operand.key for operand in operands))

    def build():
        graph = GraphBuilder(what)
        ports = [graph.argument(operand) for operand in operands]
        graph.op(kind, ports[:-1], ports[-1:], **attributes)
        return graph.compile()
    return program_of(key, build)


def _run(what, kind, attributes, x, parameters, result):
    """Executes the op, unless there is nothing to compute."""
    inputs = [x] + [operand for operand in parameters if operand is not None]
    result.check_apart(inputs)
    if x.size == 0:
        return None
    operands = inputs + [result.operand]
    program = _compile(what, kind, attributes, operands)
    addresses = [address_of(operand.array) for operand in operands]
    execute(program, addresses, what)
    return program


def _by_shortcut(what, key, x, scale, zero_point, out):
    """The result where the call is one of those seen before, else None."""
    found = _find(key)
    if found is None:
        return None
    if out is None:
        y = np.empty(found.shape, found.dtype)
    else:
        if not out.flags.writeable:
            return None
        check_apart(out, (x, scale, zero_point))
        y = out
    last[what] = found.program
    if zero_point is None:
        status = found.execute(found.handle, address_of(x), address_of(scale),
                               address_of(y), None, None)
    else:
        status = found.execute(found.handle, address_of(x), address_of(scale),
                               address_of(zero_point), address_of(y), None)
    # The long way tells what is wrong, or copies what is not aligned.
    return y if status == 0 else None


def _dequantize(x, scale, zero_point, axis, block_size, bits, dtype, out):
    array, found = array_of(x, "x")
    columns = None
    if out is not None:
        given, dst = array_of(out, "out")
        if given.ndim == array.ndim and array.ndim > 0:
            columns = given.shape[-1]
        if dst not in _types.FLOATS:
            raise ValueError(f"out is of dtype {given.dtype}; expected one "
                             f"of {_types.listed(_types.FLOATS)}")
    else:
        dst = _types.type_named(dtype, "dtype", _types.FLOATS)
    packed = bits in (2, 4)
    src = input_operand(array, found, "x", bits, columns if packed else None)
    if src.type not in _DEQUANTIZED:
        raise ValueError(f"x is of dtype {array.dtype}; expected one of "
                         f"{_types.listed(_DEQUANTIZED)}")
    scales = scale_operand(scale)
    how = granularity_of(src.dims, scales.dims, axis, block_size)
    if src.type in _types.INTEGERS:
        kind, attributes = "DynamicDequantize", how.dynamic_attributes(
            len(src.dims))
        zeros = zero_operand(zero_point, scales, array.dtype, bits)
        if zeros is not None and zeros.type not in _types.INTEGERS:
            raise ValueError(f"zero_point is of dtype {zeros.array.dtype}; "
                             "expected integers")
    else:
        kind, attributes = "DequantizeLinear", how.linear_attributes()
        zeros = zero_of_type(zero_point, scales, src.type, None)
        if src.type in _types.FLOATS:
            kind = "ExtendedDequantizeLinear"
            if how.block:
                raise ValueError(f"x is of dtype {array.dtype}, which has no "
                                 "blocks; expected no block_size")
            if scales.type != "f32":
                raise ValueError(f"scale is of dtype {scales.array.dtype}; "
                                 f"expected float32 for x of {array.dtype}")
    result = Result(out, dst, src.dims)
    program = _run("dequantize", kind, attributes, src,
                   how.as_ports(scales, zeros), result)
    return result, program, (src, scales, zeros)


def dequantize(x, scale, zero_point=None, *, axis=None, block_size=None,
               bits=None, dtype="float32", out=None):
    """Returns (x - zero_point) * scale.

    The difference of integers is exact and rounded once to float32, the
    product once, and that once to the result's type. ONNX's DequantizeLinear
    says which elements share a scale.

    Parameters
    ----------
    x : array of any shape
        uint8, int8, uint16, int16, uint32, int32, float32 or float16; or of
        ml_dtypes: int4, uint4, int2, uint2, float8_e4m3fn, float8_e5m2,
        float8_e4m3fnuz, float8_e5m2fnuz, float4_e2m1fn, bfloat16.
    scale : array or number
        float32, float16, bfloat16 or float8_e8m0fnu. One element; or shape
        [x.shape[axis]]; or, with a block_size, x's shape with
        ceil(x.shape[axis] / block_size) elements along axis. float32 for x of
        float32, float16 or bfloat16.
    zero_point : array or number, optional
        Integers of scale's shape; of x's type where x is of floats. Those of
        packed data may be packed along the last dimension too.
    axis : int, optional
        1 where it is not said, as in ONNX.
    block_size : int, optional
        Elements along axis that share a scale; the last block may be short.
    bits : int, optional
        4 or 2: x is uint8 or int8 and has two or four elements a byte along
        its last dimension, the first in the lowest bits. They are signed
        where x is int8.
    dtype : float32, float16 or bfloat16
        Of the result, where there is no `out`.
    out : array, optional
        For the result, of any strides above 0. Of an odd number of packed
        elements its last dimension tells the number.

    Returns
    -------
    `out`, or a new array of x's shape.

    Raises
    ------
    ValueError for a shape or type that does not fit, MemoryError, and
    RuntimeError with the status name of oneDNN.

    >>> import numpy as np, dnnl_dequant
    >>> x = np.array([[0, 128, 255], [1, 2, 3]], np.uint8)
    >>> dnnl_dequant.dequantize(x, np.array([0.5, 2], np.float32),
    ...                         np.array([128, 1], np.uint8), axis=0)
    array([[-64. ,   0. ,  63.5],
           [  0. ,   2. ,   4. ]], dtype=float32)
    """
    if type(scale) is float:
        scale = of_number(scale, "scale", np.float32)
    if type(zero_point) is int and type(x) is np.ndarray:
        zero_point = of_number(zero_point, "zero_point", x.dtype)
    try:
        key = ("dequantize", axis, block_size, bits, dtype) + key_of(
            (x, scale, zero_point, out), ())
        y = _by_shortcut("dequantize", key, x, scale, zero_point, out)
        if y is not None:
            return y
    except TypeError:  # no arrays of numpy's
        key = None
    result, program, operands = _dequantize(x, scale, zero_point, axis,
                                            block_size, bits, dtype, out)
    if program is not None:
        remember(key, (x, scale, zero_point), operands, program, result)
    return result.finish()


def _quantized_type(dtype, zero_point, bits, out):
    """The result's type, packed or not."""
    if dtype is None and out is not None:
        dtype = array_of(out, "out")[0].dtype
    if dtype is None and zero_point is not None and not isinstance(
            zero_point, (int, float)):
        dtype = array_of(zero_point, "zero_point")[0].dtype
    found = _types.type_named("uint8" if dtype is None else dtype, "dtype",
                              _DEQUANTIZED)
    if bits in (2, 4):
        packed = _types.PACKED.get((bits, found))
        if packed is None:
            raise ValueError(f"dtype is {_types.NUMPY_NAMES[found]}; data "
                             f"packed by bits={bits} is uint8 or int8")
        return packed
    if bits not in (None, 8):
        raise ValueError(f"bits is {bits}; expected 2, 4, 8 or none")
    return found


def _quantize(x, scale, zero_point, axis, block_size, bits, dtype, saturate,
              out):
    dst = _quantized_type(dtype, zero_point, bits, out)
    array, found = array_of(x, "x", np.float32)
    if found not in _types.FLOATS + ("s32",):
        raise ValueError(f"x is of dtype {array.dtype}; expected float32, "
                         "float16, bfloat16 or int32")
    src = input_operand(array, found, "x")
    extended = dst in _EXTENDED
    scales = scale_operand(
        scale, allowed=_types.FLOATS if extended else _types.SCALES)
    how = granularity_of(src.dims, scales.dims, axis, block_size)
    attributes = how.linear_attributes()
    if extended and how.block:
        raise ValueError(f"a result of {_types.NUMPY_NAMES[dst]} has no "
                         "blocks; expected no block_size")
    if extended and found == "s32":
        raise ValueError(f"x is of dtype int32; expected floats for a result "
                         f"of {_types.NUMPY_NAMES[dst]}")
    if not saturate:
        if dst not in _types.SMALL_FLOATS[:4]:
            raise ValueError(f"saturate is False; expected True for a result "
                             f"of {_types.NUMPY_NAMES[dst]}")
        attributes["saturate"] = False
    zeros = zero_of_type(zero_point, scales, dst, bits)
    result = Result(out, dst, src.dims, bits)
    kind = "ExtendedQuantizeLinear" if extended else "QuantizeLinear"
    program = _run("quantize", kind, attributes, src,
                   how.as_ports(scales, zeros), result)
    return result, program, (src, scales, zeros)


def quantize(x, scale, zero_point=None, *, axis=None, block_size=None,
             bits=None, dtype=None, saturate=True, out=None):
    """Returns saturate(round(x / scale) + zero_point).

    The division is a true one in float32, ties round to even, NaN gives the
    zero point. ONNX's QuantizeLinear says which elements share a scale.

    Parameters
    ----------
    x : array of any shape
        float32, float16, bfloat16 or int32.
    scale : array or number
        As for `dequantize`.
    zero_point : array or number, optional
        Of the result's type and scale's shape. Of a packed result: a byte
        each, or packed along the last dimension.
    axis, block_size : int, optional
        As for `dequantize`.
    bits : int, optional
        4 or 2: the result is packed along its last dimension, which has
        ceil(x.shape[-1] * bits / 8) bytes.
    dtype : dtype, optional
        Of the result: every type that `dequantize` takes. out's or
        zero_point's where it is not said, else uint8. With `bits`, uint8 or
        int8.
    saturate : bool
        False: a float of 8 bits that is too large becomes an infinity or NaN.
    out : array, optional
        For the result.

    Returns
    -------
    `out`, or a new array.

    Raises
    ------
    ValueError, MemoryError and RuntimeError, as `dequantize`.

    >>> import numpy as np, dnnl_dequant
    >>> x = np.array([[-1, 0.25, 0.75, 9]], np.float32)
    >>> dnnl_dequant.quantize(x, 0.5, dtype="int8")
    array([[-2,  0,  2, 18]], dtype=int8)
    >>> dnnl_dequant.quantize(x, 0.5, dtype="int8", bits=4)
    array([[ 14, 114]], dtype=int8)
    """
    if type(scale) is float:
        scale = of_number(scale, "scale", np.float32)
    try:
        key = ("quantize", axis, block_size, bits, dtype, saturate) + key_of(
            (x, scale, zero_point, out), ())
        y = _by_shortcut("quantize", key, x, scale, zero_point, out)
        if y is not None:
            return y
    except TypeError:
        key = None
    result, program, operands = _quantize(x, scale, zero_point, axis,
                                          block_size, bits, dtype, saturate,
                                          out)
    if program is not None:
        remember(key, (x, scale, zero_point), operands, program, result)
    return result.finish()

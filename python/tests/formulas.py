"""The ops in numpy, with the roundings of the library, and test data."""
import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F4 = np.dtype(ml_dtypes.float4_e2m1fn)
E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), BF16]
WHOLE_INTEGERS = [np.dtype(name) for name in (
    "uint8", "int8", "uint16", "int16", "uint32", "int32")]
NARROW_INTEGERS = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "int4", "uint4", "int2", "uint2")]
SMALL_FLOATS = [np.dtype(getattr(ml_dtypes, name)) for name in (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float4_e2m1fn")]

# (shape, axis, block_size): none is per tensor, axis alone per channel.
GRANULARITIES = [
    ((64,), None, None), ((7,), 0, None), ((5, 9), 0, None),
    ((5, 9), 1, None), ((3, 70), 1, 32), ((33, 3), 0, 8), ((2, 3, 4), -2, 3),
    ((1, 1, 1), None, None), ((2, 5, 7, 3), 1, None), ((4, 257), -1, 16),
    ((), None, None), ((0, 3), 1, None), ((1, 5), 1, 8), ((6,), 0, 6),
]


def limits(dtype):
    info = ml_dtypes.iinfo if dtype.kind == "V" else np.iinfo
    return int(info(dtype).min), int(info(dtype).max)


def integers(random, dtype, shape):
    low, high = limits(dtype)
    return random.integers(low, high, shape, np.int64,
                           endpoint=True).astype(dtype)


def scale_shape(shape, axis, block):
    if axis is None:
        return ()
    if block is None:
        return (shape[axis],)
    result = list(shape)
    result[axis] = -(-shape[axis] // block)
    return tuple(result)


def scales(random, dtype, shape):
    if dtype == E8M0:
        return np.exp2(random.integers(-3, 4, shape)).astype(dtype)
    return (random.random(shape) + 0.1).astype(dtype)


def spread(values, shape, axis, block):
    """Scales or zero points, one for each element."""
    if axis is None:
        return np.broadcast_to(values, shape)
    if block is None:
        dims = [1] * len(shape)
        dims[axis] = -1
        return np.broadcast_to(values.reshape(dims), shape)
    long = np.repeat(values, block, axis)
    return np.take(long, range(shape[axis]), axis)


def dequantized(x, scale, zero, dtype):
    """scale and zero: one for each element; zero may be None."""
    if x.dtype.kind in "iu" or x.dtype in NARROW_INTEGERS:
        wide = x.astype(np.int64)
        wide = wide if zero is None else wide - zero.astype(np.int64)
    else:
        wide = x.astype(np.float32)
    with np.errstate(over="ignore"):
        return (wide.astype(np.float32)
                * scale.astype(np.float32)).astype(dtype)


def quantized(x, scale, zero, dtype):
    """saturate(round(x / scale) + zero) of integers."""
    low, high = limits(dtype)
    shift = 0 if zero is None else zero.astype(np.float64)
    with np.errstate(all="ignore"):
        quotient = x.astype(np.float32) / scale.astype(np.float32)
        whole = np.rint(quotient).astype(np.float64)
    whole = np.where(np.isnan(quotient), 0, whole)
    return np.clip(whole + shift, low, high).astype(np.int64).astype(dtype)


def same_bits(a, b):
    """Bit for bit, a NaN being as good as another."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "iu" or a.dtype in NARROW_INTEGERS:
        return bool(np.array_equal(a, b))
    wide = a.astype(np.float32), b.astype(np.float32)
    both = np.isnan(wide[0]) & np.isnan(wide[1])
    unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32}[a.dtype.itemsize]
    return bool(np.all(both | (a.view(unsigned) == b.view(unsigned))))


def packed(values, bits):
    """Along the last dimension, the first in the lowest bits."""
    codes = values.astype(np.int64) & (1 << bits) - 1
    per = 8 // bits
    rest = -codes.shape[-1] % per
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, rest)])
    codes = codes.reshape(codes.shape[:-1] + (-1, per))
    return (codes << np.arange(0, 8, bits)).sum(-1).astype(np.uint8)

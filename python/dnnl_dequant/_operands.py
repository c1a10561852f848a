"""The operands that quantize and dequantize share: scales, zero points and
the result."""
import numpy as np

from . import _types
from ._arrays import (Operand, array_of, check_apart, check_out,
                      element_strides, input_operand, is_byte_each, pack,
                      unpack_into)
from ._program import dense_strides


def scale_operand(value, name="scale", allowed=_types.SCALES):
    array, found = array_of(value, name, np.float32)
    if found not in allowed:
        raise ValueError(f"{name} is of dtype {array.dtype}; expected "
                         f"{_types.listed(allowed)}")
    return input_operand(array, found, name)


def _like_scale(zero, scale, name):
    """The zero points in scale's shape, which one element always has."""
    if zero.dims == scale.dims:
        return zero
    if not zero.size == scale.size == 1:
        raise ValueError(f"{name} has shape {zero.dims}; expected scale's, "
                         f"{scale.dims}")
    return Operand(zero.array, zero.type, scale.dims,
                   dense_strides(scale.dims))


def zero_operand(value, scale, default, bits, name="zero_point"):
    """Zero points of any integer type, or small floats; None without them.

    `default` is the dtype of a Python number. Where they have as many rows as
    the scale and as many bytes as packed ones have, they are packed by `bits`.
    """
    if value is None:
        return None
    array, found = array_of(value, name, default)
    columns = None
    if bits in (2, 4) and scale.dims and array.shape != scale.dims:
        per = 8 // bits
        packed = scale.dims[:-1] + (-(-scale.dims[-1] // per),)
        if array.shape == packed and (bits, found) in _types.PACKED:
            columns = scale.dims[-1]
    zero = input_operand(array, found, name, bits if columns else None,
                         columns)
    return _like_scale(zero, scale, name)


def _check_range(array, type_name, name):
    """Refuses integers that would lose bits when they are packed."""
    count = 1 << _types.bits_of(type_name)
    low = -count // 2 if type_name[0] == "s" else 0
    high = low + count - 1
    if array.size and not low <= int(array.min()) <= int(array.max()) <= high:
        raise ValueError(f"{name} has values from {array.min()} to "
                         f"{array.max()}; expected {low} to {high}")


def zero_of_type(value, scale, type_name, bits, name="zero_point"):
    """Zero points of just one type, which is that of the quantized array."""
    if value is None:
        return None
    narrow = _types.bits_of(type_name) < 8 and bits in (2, 4)
    holder = {"s": "s8", "u": "u8"}[type_name[0]] if narrow else type_name
    array, found = array_of(value, name, _types.dtype_of(holder))
    if found not in (holder, type_name):
        expected = _types.listed([holder] if narrow else [type_name])
        raise ValueError(f"{name} is of dtype {array.dtype}; expected "
                         f"{expected}")
    if narrow and found == holder:
        zero = zero_operand(array, scale, None, bits, name)
        if zero.type == holder:  # a byte each
            _check_range(array, type_name, name)
            zero = Operand(pack(array, _types.bits_of(type_name)), type_name,
                           zero.dims, dense_strides(zero.dims))
        return zero
    zero = input_operand(array, found, name)
    return _like_scale(zero, scale, name)


class Result:
    """The array that a result goes to: a new one, or the caller's."""

    def __init__(self, out, type_name, dims, bits=None, name="out"):
        """bits: packed along the last dimension, in bytes."""
        self._given = out
        self._type = type_name
        self._packed = bits in (2, 4)
        shape = tuple(dims)
        dtype = None
        if self._packed:
            if not shape:
                raise ValueError("x has no dimensions; packed data has one at "
                                 "least")
            shape = shape[:-1] + (-(-shape[-1] // (8 // bits)),)
            dtype = np.dtype(np.int8 if type_name[0] == "s" else np.uint8)
        self.array = self._array(shape, dtype, name)
        self.operand = self._operand(tuple(dims))

    def _array(self, shape, dtype, name):
        if self._given is None:
            made = np.zeros if self._packed else np.empty
            return made(shape, dtype or _types.dtype_of(self._type))
        array, found = array_of(self._given, name)
        wanted = _types.NAMES[dtype.name] if dtype else self._type
        if found != wanted:
            raise ValueError(f"{name} is of dtype {array.dtype}; expected "
                             f"{_types.NUMPY_NAMES[wanted]}")
        foreign = not isinstance(self._given, np.ndarray)
        check_out(array, foreign, shape, name)
        return array

    def _operand(self, dims):
        bits = _types.bits_of(self._type)
        if self._packed:
            per = 8 // bits
            strides = element_strides(self.array.shape, self.array.strides, 1)
            if (self.array.strides[-1] != 1 and self.array.shape[-1] > 1
                    and self.array.size > 0):
                raise ValueError("out has gaps in its last dimension; "
                                 "expected packed rows")
            strides = tuple(step * per for step in strides[:-1]) + (1,)
            return Operand(self.array, self._type, dims, strides)
        if is_byte_each(self.array, self._type):
            count = -(-self.array.size * bits // 8)
            return Operand(np.zeros(count, np.uint8), self._type, dims,
                           dense_strides(dims))
        return Operand(self.array, self._type, dims,
                       element_strides(dims, self.array.strides,
                                       self.array.itemsize))

    def check_apart(self, operands):
        if self._given is not None:
            check_apart(self.array, [operand.array for operand in operands
                                     if operand is not None])

    def finish(self):
        """The caller's object, or the new array, with the result in it."""
        if self.operand.array is not self.array:
            unpack_into(self.operand.array, _types.bits_of(self._type),
                        self.array)
        return self.array if self._given is None else self._given

    @property
    def is_direct(self):
        return self.operand.array is self.array and not self._packed

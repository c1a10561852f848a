"""Arrays as operands of a graph: type, dims, strides and address."""
import ctypes
import sys

import numpy as np

from . import _types
from ._library import MAX_RANK
from ._program import dense_strides


class Operand:
    """An array as the library sees it. Strides count elements."""

    __slots__ = ("array", "type", "dims", "strides")

    def __init__(self, array, type_name, dims, strides):
        self.array, self.type = array, type_name
        self.dims, self.strides = tuple(dims), tuple(strides)

    @property
    def key(self):
        return self.type, self.dims, self.strides

    @property
    def size(self):
        return int(np.prod(self.dims, dtype=np.int64))

    def as_list(self):
        """One element, as a tensor of rank 1."""
        return Operand(self.array, self.type, (1,), (1,))


def _interface_address(array):
    return array.__array_interface__["data"][0]


def _field_address(array):
    return _read_pointer(id(array) + _DATA_FIELD).value


_read_pointer = ctypes.c_void_p.from_address
# An array's address is the first field behind the object's head, by numpy's C
# ABI. Reading it there takes a third of the time of __array_interface__.
_DATA_FIELD = object.__basicsize__


def _choose_address():
    """The fast way where it gives what the public one does."""
    if sys.implementation.name != "cpython":
        return _interface_address
    base = np.arange(12, dtype=np.uint8)
    probes = (base, base[3:], base[::-2], base.reshape(3, 4)[1:, 2:],
              np.float32(3) * np.ones(5, np.float32), np.zeros(()))
    same = all(_field_address(a) == _interface_address(a) for a in probes)
    return _field_address if same else _interface_address


address_of = _choose_address()


def _torch_bfloat16(value):
    """A torch tensor of bfloat16 as an array of its 16 bits, else None."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return None
    if value.dtype is not torch.bfloat16:
        return None
    return np.from_dlpack(value.detach().view(torch.int16))


def array_of(value, name, scalar_dtype=None):
    """(array, its type's name) of a numpy array, a number, or an object that
    has `__dlpack__`."""
    if isinstance(value, np.ndarray):
        return np.asarray(value), _types.type_of(value.dtype, name)
    bits = _torch_bfloat16(value)
    if bits is not None:
        return bits, "bf16"
    if hasattr(value, "__dlpack__") and not isinstance(value, np.generic):
        try:
            array = np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ValueError(f"{name} gives no array: {error}") from error
        return array, _types.type_of(array.dtype, name)
    if isinstance(value, (int, float)) and scalar_dtype is not None:
        array = of_number(value, name, scalar_dtype)
    else:
        array = np.asarray(value)
    return array, _types.type_of(array.dtype, name)


def of_number(value, name, dtype):
    """An array of one number. Old versions of numpy would wrap it around."""
    try:
        array = np.array(value, dtype)
        if array.dtype.kind in "iu" and int(array) != value:
            raise OverflowError
    except (OverflowError, ValueError) as error:
        raise ValueError(f"{name} is {value!r}; expected a value of "
                         f"{np.dtype(dtype)}") from error
    return array


def pack(array, bits):
    """Elements of a byte each, packed densely, the first in the lowest bits."""
    flat = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    flat = flat & np.uint8((1 << bits) - 1)
    per = 8 // bits
    rest = -len(flat) % per
    if rest:
        flat = np.concatenate([flat, np.zeros(rest, np.uint8)])
    columns = flat.reshape(-1, per)
    packed = columns[:, 0].copy()
    for place in range(1, per):
        packed |= columns[:, place] << np.uint8(bits * place)
    return packed


def unpack_into(packed, bits, target):
    """The reverse of pack(), into an array of ml_dtypes."""
    per, mask = 8 // bits, np.uint8((1 << bits) - 1)
    flat = np.empty((len(packed), per), np.uint8)
    for place in range(per):
        flat[:, place] = (packed >> np.uint8(bits * place)) & mask
    flat = flat.reshape(-1)[:target.size].reshape(target.shape)
    target[...] = flat.view(target.dtype)


def _as_it_lies(array):
    """Tells whether a graph can read the array where it is."""
    step = array.itemsize
    return array.flags.aligned and all(
        extent == 1 or (stride > 0 and stride % step == 0)
        for extent, stride in zip(array.shape, array.strides))


def element_strides(dims, strides, itemsize):
    """Strides in elements. A dimension of one element gets the stride of a
    dense one."""
    result, step = [], 1
    for extent, stride in zip(reversed(dims), reversed(strides)):
        if extent > 1:
            step = stride // itemsize
        result.append(step)
        step *= max(extent, 1)
    return tuple(reversed(result))


def _packed_operand(array, type_name, name, columns):
    """An operand of bytes, each of which has several elements."""
    if array.ndim == 0:
        raise ValueError(f"{name} has no dimensions; packed data has one at "
                         "least")
    per = 8 // _types.bits_of(type_name)
    most = array.shape[-1] * per
    columns = most if columns is None else columns
    if not most - per < columns <= most:
        raise ValueError(f"{name} has {array.shape[-1]} bytes a row, which "
                         f"hold {most} elements; expected {columns}")
    dims = array.shape[:-1] + (columns,)
    strides = element_strides(array.shape, array.strides, 1)
    strides = tuple(stride * per for stride in strides[:-1]) + (1,)
    return Operand(array, type_name, dims, strides)


def is_byte_each(array, type_name):
    """Tells whether elements of less than 8 bits have a byte each."""
    return _types.bits_of(type_name) < 8 and array.dtype.name \
        == _types.NUMPY_NAMES[type_name]


def input_operand(array, type_name, name, bits=None, columns=None):
    """An operand that is read. Copies what has to be packed, and what lies
    as no graph can say."""
    if array.ndim > MAX_RANK:
        raise ValueError(f"{name} has {array.ndim} dimensions; expected at "
                         f"most {MAX_RANK}")
    if bits in (2, 4):
        packed = _types.PACKED.get((bits, type_name))
        if packed is None:
            raise ValueError(f"{name} is of dtype {array.dtype}; data packed "
                             f"by bits={bits} is uint8 or int8")
        if not _as_it_lies(array) or array.strides[-1:] not in ((), (1,)):
            array = np.ascontiguousarray(array)
        return _packed_operand(array, packed, name, columns)
    if bits not in (None, 8):
        raise ValueError(f"bits is {bits}; expected 2, 4, 8 or none")
    if is_byte_each(array, type_name):
        dims = array.shape
        return Operand(pack(array, _types.bits_of(type_name)), type_name,
                       dims, dense_strides(dims))
    if not _as_it_lies(array):
        array = np.array(array, order="C", copy=True)
    return Operand(array, type_name, array.shape,
                   element_strides(array.shape, array.strides,
                                   array.itemsize))


def check_out(array, is_foreign, dims, name="out"):
    """Refuses an array that cannot take a result of these dims."""
    if array.shape != tuple(dims):
        raise ValueError(f"{name} has shape {array.shape}; expected "
                         f"{tuple(dims)}")
    if not array.flags.writeable and not is_foreign:
        raise ValueError(f"{name} is read-only")
    if not _as_it_lies(array):
        raise ValueError(f"{name} has strides {array.strides} of bytes; "
                         "expected aligned elements and positive strides")


def check_apart(out, inputs, name="out"):
    """Refuses a result that would overwrite what is still to be read."""
    for other in inputs:
        if other is not None and np.may_share_memory(out, other):
            raise ValueError(f"{name} shares memory with an input")

"""A call with types, shapes and strides seen before finds its program here."""
import numpy as np

from . import _library, _program

_ndarray = np.ndarray


def key_of(arrays, others):
    """Types, shapes and strides of numpy arrays; None for other objects."""
    key = list(others)
    for array in arrays:
        if array is None:
            key.append(None)
        elif type(array) is _ndarray:
            key += (array.dtype, array.shape, array.strides)
        else:
            return None
    return tuple(key)


class Shortcut:
    """A program whose arguments are the caller's arrays as they lie."""

    __slots__ = ("program", "handle", "shape", "dtype", "execute")

    def __init__(self, program, result):
        self.program, self.handle = program, program.handle
        self.shape, self.dtype = result.shape, result.dtype
        self.execute = _library.library().execute


shortcuts = _program.Bounded(1024)


def remember(key, given, operands, program, result):
    """Keeps a shortcut where no array was copied, packed or converted."""
    direct = all(
        array is None or operand.array is array
        for array, operand in zip(given, operands))
    if key is not None and direct and result.is_direct:
        shortcuts.put(key, Shortcut(program, result.array))

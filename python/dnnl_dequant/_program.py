"""A graph of ops, described in Python, and the program it is compiled to."""
import ctypes
import threading

from . import _library
from ._types import TYPES

_S64, _S64S, _BOOL, _STRING = range(4)


class Program:
    """A compiled graph: `handle` for the library, `kernel` for people."""

    __slots__ = ("handle", "kernel", "_destroy", "__weakref__")

    def __init__(self, handle, library):
        self.handle = handle
        self.kernel = library.kernel(handle).decode()
        self._destroy = library.destroy

    def __del__(self):
        self._destroy(self.handle)


class GraphBuilder:
    """Collects tensors and ops; the arguments stand in the order in which
    `execute` is to get their addresses."""

    def __init__(self, what):
        self._what = what
        self._tensors, self._ops, self._arguments = [], [], []
        self._kept = []  # what the structs point to

    def tensor(self, type_name, dims, strides=None, constant=None):
        """Returns the id of a new tensor. Strides count elements."""
        code, _, alignment = TYPES[type_name]
        made = _library.Tensor(id=len(self._tensors), data_type=code,
                               rank=len(dims), alignment=alignment)
        made.dims[:len(dims)] = dims
        made.strides[:len(dims)] = strides or dense_strides(dims)
        if constant is not None:
            self._kept.append(constant)
            made.constant = constant.__array_interface__["data"][0]
            made.constant_size = constant.nbytes
        self._tensors.append(made)
        return made.id

    def argument(self, operand):
        """A tensor whose address each execution gets."""
        made = self.tensor(operand.type, operand.dims, operand.strides)
        self._arguments.append(made)
        return made

    def op(self, kind, inputs, outputs, **attributes):
        made = _library.Op(
            kind=_library.OP_KINDS[kind], input_count=len(inputs),
            output_count=len(outputs), attribute_count=len(attributes))
        made.inputs[:len(inputs)] = inputs
        made.outputs[:len(outputs)] = outputs
        for place, (name, value) in enumerate(attributes.items()):
            made.attributes[place] = self._attribute(name, value)
        self._ops.append(made)

    def then(self, kind, inputs, type_name, dims, **attributes):
        """An op with a new tensor as its result, which it returns."""
        result = self.tensor(type_name, dims)
        self.op(kind, inputs, [result], **attributes)
        return result

    def _attribute(self, name, value):
        if isinstance(value, str):
            kind, kept = _STRING, ctypes.create_string_buffer(value.encode())
        elif isinstance(value, bool):
            kind, kept = _BOOL, (ctypes.c_int64 * 1)(value)
        elif isinstance(value, int):
            kind, kept = _S64, (ctypes.c_int64 * 1)(value)
        else:
            kind, kept = _S64S, (ctypes.c_int64 * len(value))(*value)
        self._kept.append(kept)
        return _library.Attribute(
            name=_library.ATTRIBUTES[name], value_kind=kind,
            value=ctypes.addressof(kept), count=len(kept))

    def compile(self):
        graph = _library.Graph(
            (_library.Tensor * len(self._tensors))(*self._tensors),
            (_library.Op * len(self._ops))(*self._ops),
            (ctypes.c_uint64 * len(self._arguments))(*self._arguments),
            len(self._tensors), len(self._ops), len(self._arguments))
        library = _library.library()
        handle = ctypes.c_void_p()
        status = library.compile(ctypes.byref(graph), ctypes.byref(handle))
        _library.raise_for(status, self._what)
        return Program(handle.value, library)


def dense_strides(dims):
    strides, step = [], 1
    for extent in reversed(dims):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


class Bounded:
    """A mapping of so many entries; the oldest makes room for a new one.

    Entries that someone still uses live on until their last user is done.
    """

    def __init__(self, most):
        self._most = most
        self._lock = threading.Lock()
        self._entries = {}
        self.get = self._entries.get

    def put(self, key, value):
        with self._lock:
            while len(self._entries) >= self._most:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = value

    def __len__(self):
        return len(self._entries)


# Programs by what they compute. An entry is some kilobytes large.
programs = Bounded(512)

# The program that each function of the package executed last.
last = {}


def program_of(key, build):
    """The program with that key, compiled by `build` where there is none."""
    program = programs.get(key)
    if program is None:
        program = build()
        programs.put(key, program)
    return program


def execute(program, addresses, what):
    """Executes on the addresses of all arguments, in order."""
    direct = list(addresses[:_library.DIRECT_ARGUMENTS])
    direct += [None] * (_library.DIRECT_ARGUMENTS - len(direct))
    others = addresses[_library.DIRECT_ARGUMENTS:]
    rest = (ctypes.c_void_p * len(others))(*others) if others else None
    last[what] = program
    status = _library.library().execute(program.handle, *direct, rest)
    _library.raise_for(status, what)

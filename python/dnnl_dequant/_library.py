"""The package's shared library: found next to this file, opened at first use.

The structs are those of src/program.h.
"""
import ctypes
import os
import threading

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")

MAX_RANK = 12
MAX_PORTS = 4
MAX_ATTRIBUTES = 4
DIRECT_ARGUMENTS = 4
MISALIGNED = 1001

# oneDNN's and the plugin's values; tests/test_package.py holds them against
# the headers.
OP_KINDS = {
    "Add": 2, "DynamicDequantize": 21, "GenIndex": 84, "GreaterEqual": 85,
    "MatMul": 39, "Multiply": 46, "Select": 81, "SoftMax": 64,
    "ExtendedQuantizeLinear": 123, "QuantizeLinear": 124,
    "DynamicQuantizeLinear": 125, "ExtendedDequantizeLinear": 126,
    "DequantizeLinear": 127,
}
ATTRIBUTES = {
    "axis": 0x30, "group_shape": 0x4E, "transpose_b": 0x66, "qtype": 0x85,
    "saturate": 0xFD, "block_size": 0xFE,
}
STATUS_NAMES = {
    1: "dnnl_out_of_memory", 2: "dnnl_invalid_arguments",
    3: "dnnl_unimplemented", 4: "dnnl_last_impl_reached",
    5: "dnnl_runtime_error", 6: "dnnl_not_required", 7: "dnnl_invalid_graph",
    8: "dnnl_invalid_graph_op", 9: "dnnl_invalid_shape",
    10: "dnnl_invalid_data_type", 1001: "misaligned", 1002: "exception",
}
# These statuses say that the caller's arrays do not fit.
VALUE_ERRORS = {2, 8, 9, 10, MISALIGNED}


class Tensor(ctypes.Structure):
    _fields_ = [
        ("id", ctypes.c_uint64), ("data_type", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * MAX_RANK),
        ("strides", ctypes.c_int64 * MAX_RANK), ("constant", ctypes.c_void_p),
        ("constant_size", ctypes.c_uint64), ("alignment", ctypes.c_uint64)]


class Attribute(ctypes.Structure):
    _fields_ = [("name", ctypes.c_int32), ("value_kind", ctypes.c_int32),
                ("value", ctypes.c_void_p), ("count", ctypes.c_uint64)]


class Op(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32), ("input_count", ctypes.c_int32),
        ("output_count", ctypes.c_int32), ("attribute_count", ctypes.c_int32),
        ("inputs", ctypes.c_uint64 * MAX_PORTS),
        ("outputs", ctypes.c_uint64 * MAX_PORTS),
        ("attributes", Attribute * MAX_ATTRIBUTES)]


class Graph(ctypes.Structure):
    _fields_ = [
        ("tensors", ctypes.POINTER(Tensor)), ("ops", ctypes.POINTER(Op)),
        ("arguments", ctypes.POINTER(ctypes.c_uint64)),
        ("tensor_count", ctypes.c_uint64), ("op_count", ctypes.c_uint64),
        ("argument_count", ctypes.c_uint64)]


class Info(ctypes.Structure):
    _fields_ = [
        ("plugin", ctypes.c_char_p), ("onednn", ctypes.c_int32 * 3),
        ("isa", ctypes.c_int32), ("policy", ctypes.c_char_p),
        ("enabled", ctypes.c_int32)]


_lock = threading.Lock()
_opened = None


def _open():
    path = os.path.join(FOLDER, "libdnnl_dequant_python.so")
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise RuntimeError(
            f"the package's library could not be opened: {error}") from error
    pointer = ctypes.c_void_p
    signatures = {
        "compile": (ctypes.c_int, [ctypes.POINTER(Graph),
                                   ctypes.POINTER(pointer)]),
        "execute": (ctypes.c_int, [pointer] * 6),
        "destroy": (None, [pointer]),
        "kernel": (ctypes.c_char_p, [pointer]),
        "message": (ctypes.c_char_p, []),
        "info": (ctypes.c_int, [ctypes.POINTER(Info)]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(opened, "dnnl_dequant_python_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(opened, name, function)
    return opened


def library():
    """The opened library. Nothing of it is global to the process."""
    global _opened
    if _opened is None:
        with _lock:
            if _opened is None:
                _opened = _open()
    return _opened


def raise_for(status, what):
    """Raises what a status other than 0 stands for."""
    if status == 0:
        return
    sentence = library().message().decode("utf-8", "replace")
    name = STATUS_NAMES.get(status, f"status {status}")
    if status == 1:
        raise MemoryError(f"{what}: {sentence}")
    kind = ValueError if status in VALUE_ERRORS else RuntimeError
    raise kind(f"{what}: {sentence} ({name})")

"""Loads the provider as an old ONNX Runtime would, if it knew how, and prints
what the provider says.

usage: old_host.py LIBONNXRUNTIME LIBRARY
"""
import ctypes
import sys


class ApiBase(ctypes.Structure):
    _fields_ = [("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p,
                                             ctypes.c_uint32)),
                ("get_version", ctypes.CFUNCTYPE(ctypes.c_char_p))]


def message_of(base, status):
    """OrtApi's third function is GetErrorMessage."""
    api = ctypes.cast(base.contents.get_api(1),
                      ctypes.POINTER(ctypes.c_void_p))
    get_message = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(api[2])
    return get_message(status).decode()


def main(runtime, library):
    host = ctypes.CDLL(runtime)
    host.OrtGetApiBase.restype = ctypes.POINTER(ApiBase)
    base = host.OrtGetApiBase()
    create = ctypes.CDLL(library).CreateEpFactories
    create.restype = ctypes.c_void_p
    factories = (ctypes.c_void_p * 1)()
    count = ctypes.c_size_t(0)
    status = create(b"name", base, None, factories, ctypes.c_size_t(1),
                    ctypes.byref(count))
    print(message_of(base, status) if status else "no error")


if __name__ == "__main__":
    main(*sys.argv[1:])

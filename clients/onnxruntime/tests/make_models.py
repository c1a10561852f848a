"""Small models for the program `sessions`: input a of [rows, 64], output y.

usage: make_models.py FOLDER
"""
import os
import sys

import numpy as np
from onnx import TensorProto

os.environ.setdefault("DNNL_DEQUANT_ORT_LIBRARY", "")
import support  # noqa: E402
from support import MICROSOFT, Model  # noqa: E402

WIDTH = 64
RNG = np.random.default_rng(8)


def bytes_of(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def scales(*shape):
    return RNG.uniform(0.001, 0.002, shape).astype(np.float32)


def add_nbits(model, level, columns=WIDTH):
    model.node("MatMulNBits", [
        "a", model.constant("w", bytes_of(columns, 2, 16)),
        model.constant("s", scales(columns * 2))], "y", domain=MICROSOFT,
        K=WIDTH, N=columns, bits=4, block_size=32, accuracy_level=level)


def add_product(model):
    weights = bytes_of(WIDTH, WIDTH * 2).view(np.uint16)
    model.node("DequantizeLinear", [model.constant("w", weights),
                                    model.constant("s", scales(WIDTH) / 100)],
               "d", axis=1)
    model.node("MatMul", ["a", "d"], "y")


def add_integers(model):
    model.node("DynamicQuantizeLinear", ["a"], ["q", "qs", "qz"])
    model.node("MatMulInteger", [
        "q", model.constant("w", bytes_of(WIDTH, WIDTH).view(np.int8)), "qz",
        model.constant("z", np.int8(0))], "i")
    model.node("Cast", ["i"], "c", to=TensorProto.FLOAT)
    model.node("Mul", ["qs", model.constant("s", np.float32(0.01))], "f")
    model.node("Mul", ["c", "f"], "y")


def write(folder, name, add, *arguments):
    model = Model()
    model.input("a", TensorProto.FLOAT, ["rows", "columns"])
    add(model, *arguments)
    model.output("y", TensorProto.FLOAT, ["rows", None])
    with open(os.path.join(folder, name + ".onnx"), "wb") as file:
        file.write(support.serialized(model.build()))


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    write(sys.argv[1], "nbits_floats", add_nbits, 0)
    write(sys.argv[1], "nbits_integers", add_nbits, 4)
    # Some rows of it are shared out over two threads.
    write(sys.argv[1], "nbits_wide", add_nbits, 0, 2048)
    write(sys.argv[1], "product", add_product)
    write(sys.argv[1], "integers", add_integers)

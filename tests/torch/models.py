"""Runs small models by TorchScript's oneDNN graph fuser and says what came out.

usage: models.py, which prints one JSON object
"""
import ctypes
import json
import warnings

import torch

warnings.filterwarnings("ignore")


class Convolutions(torch.nn.Module):
    """Convolution, batch norm and ReLU, a pooling, and a residual sum."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.pool = torch.nn.MaxPool2d(2)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        return self.pool(torch.relu(self.second(y) + y))


class Linears(torch.nn.Module):
    """Three products with biases and two functions between them."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(16, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, 64), torch.nn.GELU(),
            torch.nn.Linear(64, 8))

    def forward(self, x):
        return torch.softmax(self.layers(x), dim=-1)


class Attention(torch.nn.Module):
    """Two heads over eight tokens, with a norm in front."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(32)
        self.query = torch.nn.Linear(32, 32)
        self.key = torch.nn.Linear(32, 32)
        self.value = torch.nn.Linear(32, 32)

    def forward(self, x):
        y = self.norm(x)

        def heads(z):
            return z.view(2, 8, 2, 16).permute(0, 2, 1, 3)

        q, k, v = heads(self.query(y)), heads(self.key(y)), heads(self.value(y))
        scores = torch.matmul(q, k.transpose(-2, -1)) * 0.25
        return torch.matmul(torch.softmax(scores, dim=-1), v)


MODELS = [("convolutions", Convolutions, (2, 3, 16, 16)),
          ("linears", Linears, (4, 16)),
          ("attention", Attention, (2, 8, 32))]


def bits_of(tensor):
    return tensor.contiguous().numpy().tobytes().hex()


def run(model, shape):
    """Traced, frozen, and run until the fuser has seen the shapes."""
    torch.manual_seed(1)
    eager = model().eval()
    x = torch.randn(shape)
    with torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(eager, x))
        results = [traced(x) for _ in range(4)]
        graph = str(torch.jit.last_executed_optimized_graph())
        difference = (results[-1] - eager(x)).abs().max().item()
    return {"groups": graph.count("= prim::oneDNNFusionGroup"),
            "guards": graph.count("prim::oneDNNFusionGuard"),
            "bits": [bits_of(result) for result in results],
            "from_eager": difference}


def plugin_enabled():
    """Whether the plugin claims partitions; None where there is none."""
    try:
        return ctypes.CDLL(None).dnnl_dequant_enabled()
    except AttributeError:
        return None


def plugin_mapped():
    with open("/proc/self/maps", encoding="ascii") as maps:
        return "libdnnl_dequant.so" in maps.read()


def main():
    torch.jit.enable_onednn_fusion(True)
    torch.set_num_threads(2)
    found = {name: run(model, shape) for name, model, shape in MODELS}
    print(json.dumps({"torch": torch.__version__, "enabled": plugin_enabled(),
                      "mapped": plugin_mapped(), "models": found}))


if __name__ == "__main__":
    main()

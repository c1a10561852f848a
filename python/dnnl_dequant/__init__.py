"""Dequantization on CPU: arrays of 2 to 16 bits as floats, products with
quantized weights, attention over a quantized cache, and an execution provider
for ONNX Runtime.

Importing it opens no library and sets nothing. Arrays are numpy's, ml_dtypes'
where that is installed, or have `__dlpack__`, as torch's CPU tensors do.
Results are numpy arrays, which torch.from_dlpack takes without a copy.

>>> import numpy as np, dnnl_dequant
>>> dnnl_dequant.dequantize(np.array([1, 2], np.int8), 0.5)
array([0.5, 1. ], dtype=float32)
"""
from ._attention import attention
from ._dynamic import dynamic_quantize
from ._info import info
from ._linear import Linear
from ._linear_ops import dequantize, quantize
from ._session import (InferenceSession, get_ep_name, get_ep_names,
                       get_library_path, session_options)
from ._version import __version__

__all__ = ["InferenceSession", "Linear", "__version__", "attention",
           "dequantize", "dynamic_quantize", "get_ep_name", "get_ep_names",
           "get_library_path", "info", "quantize", "session_options"]

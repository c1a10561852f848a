import os
from typing import Any, Dict, List, Literal, Optional, Protocol, Tuple, TypeVar, Union, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

class SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...

Array = Union[NDArray[Any], SupportsDLPack]
Out = TypeVar("Out", bound=Array)
ArrayOrNumber = Union[Array, float, int, np.generic]

__version__: str

@overload
def dequantize(
    x: Array, scale: ArrayOrNumber, zero_point: Optional[ArrayOrNumber] = None,
    *, axis: Optional[int] = None, block_size: Optional[int] = None,
    bits: Optional[int] = None, dtype: DTypeLike = "float32",
    out: None = None) -> NDArray[Any]: ...
@overload
def dequantize(
    x: Array, scale: ArrayOrNumber, zero_point: Optional[ArrayOrNumber] = None,
    *, axis: Optional[int] = None, block_size: Optional[int] = None,
    bits: Optional[int] = None, dtype: DTypeLike = "float32",
    out: Out) -> Out: ...
@overload
def quantize(
    x: Array, scale: ArrayOrNumber, zero_point: Optional[ArrayOrNumber] = None,
    *, axis: Optional[int] = None, block_size: Optional[int] = None,
    bits: Optional[int] = None, dtype: Optional[DTypeLike] = None,
    saturate: bool = True, out: None = None) -> NDArray[Any]: ...
@overload
def quantize(
    x: Array, scale: ArrayOrNumber, zero_point: Optional[ArrayOrNumber] = None,
    *, axis: Optional[int] = None, block_size: Optional[int] = None,
    bits: Optional[int] = None, dtype: Optional[DTypeLike] = None,
    saturate: bool = True, out: Out) -> Out: ...
def dynamic_quantize(
    x: Array, *, dtype: DTypeLike = "uint8", symmetric: bool = False,
    axis: Optional[int] = None, block_size: Optional[int] = None,
    out: Optional[Array] = None,
) -> Tuple[Any, NDArray[np.float32], Optional[NDArray[Any]]]: ...
@overload
def attention(
    q: Array, k: Array, k_scale: Array, v: Array, v_scale: Array, *,
    k_zero_point: Optional[Array] = None, v_zero_point: Optional[Array] = None,
    mask: Optional[Array] = None, causal: bool = False,
    scale: Optional[float] = None, bits: Optional[int] = None,
    out: None = None) -> NDArray[Any]: ...
@overload
def attention(
    q: Array, k: Array, k_scale: Array, v: Array, v_scale: Array, *,
    k_zero_point: Optional[Array] = None, v_zero_point: Optional[Array] = None,
    mask: Optional[Array] = None, causal: bool = False,
    scale: Optional[float] = None, bits: Optional[int] = None,
    out: Out) -> Out: ...

class Linear:
    in_features: int
    out_features: int
    def __init__(
        self, weight: Array, scale: ArrayOrNumber,
        zero_point: Optional[ArrayOrNumber] = None, *,
        block_size: Optional[int] = None, bits: Optional[int] = None,
        bias: Optional[Array] = None,
        order: Literal["nk", "kn"] = "nk") -> None: ...
    @overload
    def __call__(self, x: Array, out: None = None) -> NDArray[Any]: ...
    @overload
    def __call__(self, x: Array, out: Out) -> Out: ...

def info() -> Dict[str, Any]: ...
def get_library_path() -> str: ...
def get_ep_name() -> str: ...
def get_ep_names() -> List[str]: ...
def session_options(
    accuracy_level: Optional[Literal[0, 4]] = None,
    claim: Literal["faster", "all", "none"] = "faster") -> Any: ...
def InferenceSession(
    path_or_bytes: Union[str, bytes, "os.PathLike[str]"],
    sess_options: Any = None, *,
    accuracy_level: Optional[Literal[0, 4]] = None,
    claim: Literal["faster", "all", "none"] = "faster",
    **options: Any) -> Any: ...

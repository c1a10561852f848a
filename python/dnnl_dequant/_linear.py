"""Linear: a product with weights that stay quantized."""
import ctypes

import numpy as np

from . import _types
from ._arrays import (Operand, address_of, array_of, check_apart,
                      input_operand)
from ._granularity import granularity_of
from ._operands import Result, scale_operand, zero_operand
from ._program import Bounded, GraphBuilder, execute, last
from ._shortcuts import Shortcut, key_of


class Linear:
    """x @ dequantize(weight).T + bias, without the weights as floats.

    The first call with a number of rows compiles a program; later ones find
    it, while there are at most some hundred numbers. Any number of threads may
    call one object.

    Parameters
    ----------
    weight : array of two dimensions
        [n, k], or [k, n] where order is "kn". Integers, as `dequantize` takes
        them. The array is used as it lies, and kept; do not change it while
        a call runs.
    scale : array or number
        float32, float16, bfloat16 or float8_e8m0fnu. [n, ceil(k / block_size)]
        ("kn": [ceil(k / block_size), n]); without a block_size [n] or one
        element.
    zero_point : array or number, optional
        Integers of scale's shape, or packed as the weights are.
    block_size : int, optional
        Elements along k that share a scale.
    bits : int, optional
        4 or 2: the weights are packed along their last dimension, signed
        where the array is int8.
    bias : array of shape [n], optional
        float32, float16 or bfloat16.
    order : "nk" or "kn"

    Raises
    ------
    ValueError for a shape or type that does not fit, MemoryError, and
    RuntimeError with the status name of oneDNN.

    >>> import numpy as np, dnnl_dequant
    >>> weight = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.int8)
    >>> scale = np.array([[1, 10], [1, 10]], np.float32)
    >>> linear = dnnl_dequant.Linear(weight, scale, block_size=2)
    >>> linear(np.ones((1, 4), np.float32))
    array([[ 73., 161.]], dtype=float32)
    """

    def __init__(self, weight, scale, zero_point=None, *, block_size=None,
                 bits=None, bias=None, order="nk"):
        if order not in ("nk", "kn"):
            raise ValueError(f"order is {order!r}; expected 'nk' or 'kn'")
        array, found = array_of(weight, "weight")
        if array.ndim != 2:
            raise ValueError(f"weight has shape {array.shape}; expected two "
                             "dimensions")
        self._weight = input_operand(array, found, "weight", bits)
        if self._weight.type not in _types.INTEGERS:
            raise ValueError(f"weight is of dtype {array.dtype}; expected one "
                             f"of {_types.listed(_types.INTEGERS)}")
        if self._weight.size == 0:
            raise ValueError(f"weight has shape {array.shape}; expected one "
                             "element at least")
        self._order = order
        scales = scale_operand(scale)
        nk = order == "nk"
        axis = int(nk) if block_size is not None else int(not nk)
        self._how = granularity_of(self._weight.dims, scales.dims, axis,
                                   block_size, ("weight", "scale"))
        zeros = zero_operand(zero_point, scales, array.dtype, bits)
        if zeros is not None and zeros.type not in _types.INTEGERS:
            raise ValueError(f"zero_point is of dtype {zeros.array.dtype}; "
                             "expected integers")
        self._parameters = [
            operand for operand in self._how.as_ports(scales, zeros)
            if operand is not None]
        n, k = self._weight.dims if nk else self._weight.dims[::-1]
        self.in_features, self.out_features = k, n
        self._bias = self._checked_bias(bias)
        self._biases = {}  # by type
        self._shortcuts = Bounded(256)

    def _checked_bias(self, bias):
        if bias is None:
            return None
        array, found = array_of(bias, "bias")
        if found not in _types.FLOATS or array.shape != (self.out_features,):
            raise ValueError(
                f"bias is of dtype {array.dtype} and shape {array.shape}; "
                f"expected floats of shape ({self.out_features},)")
        return array if found != "bf16" else array.view(_types.dtype_of(found))

    def _bias_of(self, type_name):
        """The bias in the type of the result."""
        if self._bias is None:
            return None
        operand = self._biases.get(type_name)
        if operand is None:
            array = self._bias.astype(_types.dtype_of(type_name))
            operand = input_operand(array, type_name, "bias")
            operand = self._biases.setdefault(type_name, operand)
        return operand

    def _fixed(self, type_name):
        """The operands that no call changes, weights first."""
        bias = self._bias_of(type_name)
        return [self._weight] + self._parameters + ([bias] if bias else [])

    def _build(self, src, dst):
        graph = GraphBuilder("Linear")
        x, y = graph.argument(src), graph.argument(dst)
        fixed = self._fixed(src.type)
        ports = [graph.argument(operand) for operand in fixed]
        bias = ports.pop() if self._bias is not None else None
        weights = graph.then("DynamicDequantize", ports, src.type,
                             self._weight.dims,
                             **self._how.dynamic_attributes(2))
        product = y if bias is None else graph.tensor(src.type, dst.dims)
        graph.op("MatMul", [x, weights], [product],
                 transpose_b=self._order == "nk")
        if bias is not None:
            graph.op("Add", [product, bias], [y])
        return graph.compile()

    def _call(self, x, out, key):
        array, found = array_of(x, "x")
        if found not in _types.FLOATS:
            raise ValueError(f"x is of dtype {array.dtype}; expected one of "
                             f"{_types.listed(_types.FLOATS)}")
        if array.ndim == 0 or array.shape[-1] != self.in_features:
            raise ValueError(f"x has shape {array.shape}; expected "
                             f"{self.in_features} elements in its last "
                             "dimension")
        src = input_operand(array, found, "x")
        result = Result(out, found, array.shape[:-1] + (self.out_features,))
        fixed = self._fixed(found)
        result.check_apart([src] + fixed)
        if src.size == 0:
            return result.finish()
        rows = _both_as_rows(src, result.operand)
        made_key = rows[0].key + rows[1].key
        made = self._shortcuts.get(made_key)
        if made is None:
            made = _Compiled(self._build(*rows), result.array, fixed)
            self._shortcuts.put(made_key, made)
        if key is not None and src.array is x and result.is_direct:
            self._shortcuts.put(
                key, _Compiled(made.program, result.array, fixed))
        execute(made.program,
                [address_of(operand.array) for operand in
                 [src, result.operand] + fixed], "Linear")
        return result.finish()

    def __call__(self, x, out=None):
        """The product with x.

        Parameters
        ----------
        x : array of shape [..., k]
            float32, float16 or bfloat16; sums are float32.
        out : array of shape [..., n], optional
            Of x's type.

        Returns
        -------
        `out`, or a new array of x's type.
        """
        try:
            key = key_of((x, out), ())
            found = self._shortcuts.get(key)
        except TypeError:
            key = found = None
        if found is None or key is None or not (
                out is None or out.flags.writeable):
            return self._call(x, out, key)
        if out is None:
            y = np.empty(found.shape, found.dtype)
        else:
            check_apart(out, (x,) + found.arrays)
            y = out
        last["Linear"] = found.program
        status = found.execute(found.handle, address_of(x), address_of(y),
                               found.weight, found.scale, found.others)
        return y if status == 0 else self._call(x, out, None)

    def __repr__(self):
        return (f"Linear(in_features={self.in_features}, "
                f"out_features={self.out_features}, "
                f"weight={_types.NUMPY_NAMES[self._weight.type]}, "
                f"{self._how.qtype})")


class _Compiled(Shortcut):
    """A program with the addresses of what no call changes."""

    __slots__ = ("weight", "scale", "others", "arrays")

    def __init__(self, program, result, fixed):
        super().__init__(program, result)
        addresses = [address_of(operand.array) for operand in fixed]
        self.arrays = tuple(operand.array for operand in fixed)
        self.weight, self.scale = addresses[:2]
        self.others = (ctypes.c_void_p * 2)(*addresses[2:])


def _are_rows(operand):
    dims, strides = operand.dims, operand.strides
    return all(strides[i] == strides[i + 1] * dims[i + 1]
               for i in range(len(dims) - 2))


def _as_rows(operand):
    dims, strides = operand.dims, operand.strides
    rows = int(np.prod(dims[:-1], dtype=np.int64))
    step = strides[-2] if len(dims) > 1 else dims[-1]
    return Operand(operand.array, operand.type, (rows, dims[-1]),
                   (step, strides[-1]))


def _both_as_rows(*operands):
    """Makes two dimensions of all where the strides of both allow it. So x of
    [2, 3, k] and x of [6, k] have one program."""
    if all(_are_rows(operand) for operand in operands):
        return [_as_rows(operand) for operand in operands]
    return operands

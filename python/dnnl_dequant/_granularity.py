"""Which elements share a scale: ONNX's rules, with their sentences."""


class Granularity:
    """qtype is oneDNN's; axis counts from the front, None per tensor."""

    __slots__ = ("qtype", "axis", "block")

    def __init__(self, qtype, axis=None, block=None):
        self.qtype, self.axis, self.block = qtype, axis, block

    @property
    def key(self):
        return self.qtype, self.axis, self.block

    def group_shape(self, rank):
        shape = [1] * rank
        shape[self.axis] = self.block
        return shape

    def as_ports(self, *operands):
        """Scales and zero points; one element of any rank becomes a list."""
        return [operand.as_list()
                if operand is not None and self.qtype == "per_tensor"
                else operand for operand in operands]

    def dynamic_attributes(self, rank):
        """Those of oneDNN's DynamicDequantize and of DynamicQuantizeLinear."""
        attributes = {"qtype": self.qtype}
        if self.qtype == "per_channel":
            attributes["axis"] = self.axis
        if self.qtype == "per_group":
            attributes["group_shape"] = self.group_shape(rank)
        return attributes

    def linear_attributes(self):
        """Those of ONNX's ops."""
        attributes = {} if self.axis is None else {"axis": self.axis}
        if self.block:
            attributes["block_size"] = self.block
        return attributes


def integer(value, name):
    """An argument that has to be an integer; numpy's will do."""
    try:
        return value.__index__()
    except AttributeError:
        raise ValueError(f"{name} is {value!r}; expected an integer") from None


def front_axis(axis, rank):
    """An axis counted from the front; ONNX's default is 1."""
    said = 1 if axis is None else integer(axis, "axis")
    if not -rank <= said < rank:
        default = " (ONNX's default)" if axis is None else ""
        raise ValueError(f"axis is {said}{default}; expected one of a tensor "
                         f"of rank {rank}")
    return said % rank


def positive_block(block_size):
    block = integer(block_size, "block_size")
    if block < 1:
        raise ValueError(f"block_size is {block}; expected 1 or more")
    return block


def blocks_of(extent, block):
    return -(-extent // block)


def granularity_of(dims, scale_dims, axis, block_size, names=("x", "scale")):
    """Reads from the scale's shape which elements of x share a scale."""
    x, scale = names
    elements = 1
    for extent in scale_dims:
        elements *= extent
    if block_size is not None:
        block = positive_block(block_size)
        at = front_axis(axis, len(dims))
        expected = list(dims)
        expected[at] = blocks_of(dims[at], block)
        if tuple(scale_dims) != tuple(expected):
            raise ValueError(
                f"{scale} has shape {tuple(scale_dims)}; expected "
                f"{tuple(expected)}, blocks of {block} along axis {at} of {x} "
                f"{tuple(dims)}")
        return Granularity("per_group", at, block)
    if elements == 1:
        if axis is not None and dims:
            front_axis(axis, len(dims))
        return Granularity("per_tensor")
    if len(scale_dims) != 1:
        raise ValueError(
            f"{scale} has shape {tuple(scale_dims)}; expected one element or "
            "one dimension where there is no block_size")
    at = front_axis(axis, len(dims))
    if scale_dims[0] != dims[at]:
        raise ValueError(f"{scale} has {scale_dims[0]} elements; expected "
                         f"{dims[at]}, one for each along axis {at} of {x} "
                         f"{tuple(dims)}")
    return Granularity("per_channel", at)

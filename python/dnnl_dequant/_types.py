"""Data types: what numpy and ml_dtypes call them, and what oneDNN does."""
import numpy as np

# Name: the value of dnnl_data_type_t or dnnl_dequant_data_type_t, bits, and
# what an address must be a multiple of.
TYPES = {
    "f16": (1, 16, 2), "bf16": (2, 16, 2), "f32": (3, 32, 4),
    "s32": (4, 32, 4), "s8": (5, 8, 1), "u8": (6, 8, 1),
    "boolean": (8, 8, 1), "f8_e5m2": (9, 8, 1), "f8_e4m3": (10, 8, 1),
    "s4": (11, 4, 1), "u4": (12, 4, 1), "e8m0": (13, 8, 1),
    "f4_e2m1": (14, 4, 1), "u16": (0x7000, 16, 2), "s16": (0x7001, 16, 2),
    "u32": (0x7002, 32, 4), "s2": (0x7003, 2, 1), "u2": (0x7004, 2, 1),
    "f8_e4m3fnuz": (0x7005, 8, 1), "f8_e5m2fnuz": (0x7006, 8, 1),
}

# numpy's and ml_dtypes' names. An element of less than 8 bits has a byte of
# its own in an array of ml_dtypes.
NAMES = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "uint8": "u8",
    "int8": "s8", "uint16": "u16", "int16": "s16", "uint32": "u32",
    "int32": "s32", "bool": "boolean", "int4": "s4", "uint4": "u4",
    "int2": "s2", "uint2": "u2", "float8_e4m3fn": "f8_e4m3",
    "float8_e5m2": "f8_e5m2", "float8_e4m3fnuz": "f8_e4m3fnuz",
    "float8_e5m2fnuz": "f8_e5m2fnuz", "float8_e8m0fnu": "e8m0",
    "float4_e2m1fn": "f4_e2m1",
}
NUMPY_NAMES = {short: name for name, short in NAMES.items()}
_OF_NUMPY = {"float32", "float16", "uint8", "int8", "uint16", "int16",
             "uint32", "int32", "bool"}

FLOATS = ("f32", "f16", "bf16")
SCALES = FLOATS + ("e8m0",)
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u4", "s4", "u2", "s2")
SMALL_FLOATS = ("f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz", "f4_e2m1")

# The type of packed data, by its bits and by its array's type.
PACKED = {(4, "u8"): "u4", (4, "s8"): "s4", (2, "u8"): "u2", (2, "s8"): "s2"}


def listed(types):
    return ", ".join(NUMPY_NAMES[name] for name in types)


def bits_of(type_name):
    return TYPES[type_name][1]


def type_of(dtype, name):
    """The type of a numpy dtype; `name` is the argument's, for the error."""
    found = NAMES.get(dtype.name)
    if found is None or not dtype.isnative:
        raise ValueError(f"{name} is of dtype {dtype}; expected a native one "
                         f"of {', '.join(NAMES)}")
    return found


def dtype_of(type_name):
    """The numpy dtype of a type; ml_dtypes has those that numpy lacks."""
    name = NUMPY_NAMES[type_name]
    if name in _OF_NUMPY:
        return np.dtype(name)
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"dtype {name} needs the package ml_dtypes") from error


def type_named(dtype, name, allowed):
    """The type that a caller asks for, as a name or as a dtype."""
    said = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    found = NAMES.get(said)
    if found not in allowed:
        raise ValueError(f"{name} is {said}; expected one of {listed(allowed)}")
    return found

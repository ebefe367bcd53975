"""The dtypes (`tf.dtypes`)."""
from __future__ import annotations

from runtime.core.types import (
    DType,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from runtime.ops.complex_numbers import complex
from runtime.ops.math import cast, saturate_cast

bool = bool_
double = float64
half = float16

__all__ = [
    "DType", "as_dtype", "bool", "cast", "complex", "complex64", "complex128", "double", "float16", "float32",
    "float64", "half", "int8", "int16", "int32", "int64", "saturate_cast", "string", "uint8", "uint16",
    "uint32", "uint64",
]

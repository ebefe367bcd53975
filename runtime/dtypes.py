"""The dtypes (`tf.dtypes`)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autograph.backend import unknown
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
if TYPE_CHECKING:
    bfloat16: DType

__all__ = [
    "DType", "as_dtype", "bool", "cast", "complex", "complex64", "complex128", "double", "float16", "float32",
    "float64", "half", "int8", "int16", "int32", "int64", "saturate_cast", "string", "uint8", "uint16",
    "uint32", "uint64",
]


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # of the package ml_dtypes, which is loaded when it is asked for first
        try:
            return as_dtype(name)
        except TypeError as error:
            raise AttributeError(str(error), name=name) from None
    raise unknown(__name__, name, __all__)

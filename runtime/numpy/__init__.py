"""NumPy's functions on tensors (`import runtime.numpy as rnp`), eagerly and in graphs.

NumPy's own functions call them if one of their arguments is a tensor, and they are the namespace of Python's array API
(`x.__array_namespace__()`). docs/numpy.md describes them.
"""
from __future__ import annotations

import itertools

from numpy import e, inf, nan, newaxis, pi

from runtime.core.public_names import hint_at_public_names
from runtime.core.types import (
    bool_ as bool,
)
from runtime.core.types import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from runtime.numpy import dispatch, fft, linalg, namespace
from runtime.numpy.arrays import *  # noqa: F403
from runtime.numpy.diagonals import *  # noqa: F403
from runtime.numpy.functions import *  # noqa: F403
from runtime.numpy.namespace import *  # noqa: F403
from runtime.numpy.polynomials import *  # noqa: F403
from runtime.numpy.rearranging import *  # noqa: F403
from runtime.numpy.reductions import *  # noqa: F403
from runtime.numpy.sets import *  # noqa: F403
from runtime.numpy.statistics import *  # noqa: F403
from runtime.numpy.table import SUBJECTS
from runtime.numpy.ufuncs import UFUNCS

globals().update(UFUNCS)

__all__ = [
    "bool", "complex64", "complex128", "dispatch", "e", "fft", "float32", "float64", "inf", "int8", "int16", "int32",
    "int64",
    "linalg", "nan", "newaxis", "pi", "uint8", "uint16", "uint32", "uint64",
]
__all__ += [*itertools.chain(*[module.__all__ for module in SUBJECTS]), *namespace.__all__, *UFUNCS]

hint_at_public_names(__name__)

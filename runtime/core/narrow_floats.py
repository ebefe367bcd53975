"""Floats with fewer bits than NumPy supports, from the package ml_dtypes, which is loaded when the first is used.

They are for storage: kernels compute in float32, which represents all of their values, and results are rounded.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from autograph.backend import deferred

__all__ = ["NARROW", "in_float32", "limits", "loaded", "numpy_dtype"]

_ml_dtypes: Any = deferred("ml_dtypes")

NARROW: Final = frozenset(("bfloat16", "float8_e4m3fn", "float8_e5m2"))


loaded: Final[list[str]] = []
"""The narrow dtypes in use: as long as there are none, no op checks for them."""


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype for a narrow float. TypeError if the package is not installed."""
    try:
        found = np.dtype(getattr(_ml_dtypes, name))
    except ModuleNotFoundError:
        raise TypeError(f"the dtype {name} needs the package ml_dtypes: pip install ml_dtypes") from None
    loaded.append(name)
    return found


def limits(dtype: Any) -> tuple[float, float]:
    """The smallest and the greatest finite value."""
    info = _ml_dtypes.finfo(dtype)
    return float(info.min), float(info.max)


def in_float32(kernel: Callable[..., Any], results: Iterable[Any]) -> Callable[..., Any]:
    """The kernel for operands of which some are narrow: they are passed as float32, and narrow results are rounded.
    `results`: NumPy's dtypes of the results (None for a result that is no array)."""
    dtypes = tuple(results)

    def computed(*arrays: Any, **params: Any) -> Any:
        found = kernel(*[_widened(x) for x in arrays], **{name: _wide_param(x) for name, x in params.items()})
        if not isinstance(found, tuple):
            return _rounded(found, dtypes[0])
        return tuple([_rounded(x, dtype) for x, dtype in zip(found, dtypes, strict=True)])

    return computed


def _widened(x: Any) -> Any:
    return x.astype(np.float32) if getattr(getattr(x, "dtype", None), "name", "") in NARROW else x


def _wide_param(x: Any) -> Any:
    """The dtype param of an op whose result is computed in float32."""
    return x.wide if getattr(x, "name", "") in NARROW else x


def _rounded(x: Any, dtype: Any) -> Any:
    return x if dtype is None or dtype.name not in NARROW else np.asarray(x).astype(dtype)

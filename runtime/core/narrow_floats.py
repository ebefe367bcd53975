"""Floats of fewer bits than NumPy has, from the package ml_dtypes, which is loaded when one of them is asked for.

They are for storage: kernels compute in float32, which holds all of their values, and results are rounded.
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
"""Those in use: while there is none, no op looks for them."""


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype for a narrow float. TypeError without the package."""
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
    """The kernel for operands of which some are narrow: they are given as float32, and results that are to be narrow
    are rounded. `results`: NumPy's dtypes of the results (None for what is no array)."""
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
    """The dtype of a result that is computed in float32."""
    return x.wide if getattr(x, "name", "") in NARROW else x


def _rounded(x: Any, dtype: Any) -> Any:
    return x if dtype is None or dtype.name not in NARROW else np.asarray(x).astype(dtype)

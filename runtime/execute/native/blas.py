"""Libraries of linear algebra that NumPy or SciPy brought along, by pointer: BLAS, and of NumPy's own LAPACK, too."""
from __future__ import annotations

import ctypes
import functools
import glob
import importlib
import os
from typing import Any, Final

import numpy as np

from runtime.types import complex64, complex128, float32, float64

__all__ = ["GEMM", "blas_symbols"]

GEMM: Final = {float32: "sgemm", float64: "dgemm", complex64: "cgemm", complex128: "zgemm"}
"""The product of matrices, by dtype."""
_LAPACK: Final = [letter + name for letter in "dz" for name in ("gesv", "getrf", "potrf")]


@functools.lru_cache(maxsize=1)
def blas_symbols() -> dict[str, int]:
    """Addresses by name: `cblas_sgemm64` with sizes of 64 bits, or Fortran's `sgemm` with those of 32 bits. Of LAPACK
    Fortran's `dgesv64` and others, with sizes of 64 bits."""
    return _numpy_blas() or _scipy_blas()


def _numpy_blas() -> dict[str, int]:
    """The OpenBLAS within NumPy's wheel."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    found: dict[str, int] = {}
    for path in sorted(glob.glob(os.path.join(folder, "*openblas64*"))):
        library = ctypes.CDLL(path)
        wanted = [(f"cblas_{name}64", f"cblas_{name}64_") for name in GEMM.values()]
        for key, symbol in [*wanted, *[(f"{name}64", f"{name}_64_") for name in _LAPACK]]:
            for spelled in ("scipy_" + symbol, symbol):
                if hasattr(library, spelled):
                    address = ctypes.cast(getattr(library, spelled), ctypes.c_void_p).value
                    assert address is not None
                    found[key] = address
                    break
    return found if all(f"cblas_{name}64" in found for name in GEMM.values()) else {}


def _scipy_blas() -> dict[str, int]:
    """The BLAS that SciPy exports to Cython."""
    try:
        cython_blas = importlib.import_module("scipy.linalg.cython_blas")  # is it there?
    except ImportError:
        return {}
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsules: Any = cython_blas.__pyx_capi__
    return {name: get(capsules[name], name_of(capsules[name])) for name in GEMM.values()}

"""Linear algebra libraries that NumPy or SciPy bring along, by address: BLAS, and NumPy's LAPACK."""
from __future__ import annotations

import ctypes
import functools
import glob
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from autograph.backend import deferred
from runtime.core.types import DType, complex64, complex128, float32, float64

cython_blas = deferred("scipy.linalg.cython_blas")  # SciPy need not be installed

__all__ = ["GEMM", "blas_symbols", "depth"]

GEMM: Final = {float32: "sgemm", float64: "dgemm", complex64: "cgemm", complex128: "zgemm"}
"""The name of the matrix product, by dtype."""
_DEPTHS: Final = range(128, 1025, 32)
_TRIED: Final = 48  # rows and columns: beyond the small sizes for which a BLAS has special cases
_LAPACK: Final = [letter + name for letter in "dz" for name in ("gesv", "getrf", "potrf")]


@functools.lru_cache(maxsize=1)
def blas_symbols() -> dict[str, int]:
    """Addresses by name: `cblas_sgemm64` with sizes of 64 bits, or Fortran's `sgemm` with sizes of 32 bits. For LAPACK
    Fortran's `dgesv64` and others, with sizes of 64 bits."""
    return _numpy_blas() or _scipy_blas()


def _libraries() -> list[Any]:
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    return [ctypes.CDLL(path) for path in sorted(glob.glob(os.path.join(folder, "*openblas64*")))]


def _numpy_blas() -> dict[str, int]:
    """The OpenBLAS in NumPy's wheel."""
    found: dict[str, int] = {}
    for library in _libraries():
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
        capsules: Any = cython_blas.__pyx_capi__
    except ImportError:
        return {}
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return {name: get(capsules[name], name_of(capsules[name])) for name in GEMM.values()}


@contextmanager
def _on_one_thread() -> Iterator[None]:
    """Let NumPy's OpenBLAS use one thread: its threads wait for each other, which takes a hundred times as long where
    other processes want the cores."""
    names = [("scipy_openblas_set_num_threads64_", "scipy_openblas_get_num_threads64_"),
             ("openblas_set_num_threads64_", "openblas_get_num_threads64_")]
    ways = [(getattr(library, change), getattr(library, get)) for library in _libraries() for change, get in names
            if hasattr(library, change) and hasattr(library, get)]
    before = [get() for _, get in ways]
    for change, _ in ways:
        change(1)
    try:
        yield
    finally:
        for (change, _), count in zip(ways, before, strict=True):
            change(count)


@functools.cache
def depth(dtype: DType) -> int | None:
    """The block size of the BLAS along the reduction axis. A sum that is cut at multiples of it, with no fewer products
    in the last piece, equals that of one call bit for bit. Found by trial, in 10 to 20 ms; None if no size passes."""
    if f"cblas_{GEMM[dtype]}64" not in blas_symbols():
        return None
    with _on_one_thread():
        return _found_depth(dtype)


def _found_depth(dtype: DType) -> int | None:
    random = np.random.default_rng(0)
    trials = []
    for size in (2900, 3333):
        x, y = (random.random(shape, np.float32).astype(dtype.np) for shape in ((_TRIED, size), (size, _TRIED)))
        trials.append((x, y, _product(dtype, x, y, [0, size])))
    for count in _DEPTHS:
        if all((_product(dtype, x, y, [*range(0, len(y) - count + 1, count), len(y)]) == whole).all()
               for x, y, whole in trials):
            return count
    return None


def _product(dtype: DType, x: Any, y: Any, bounds: list[int]) -> Any:
    """x @ y, with the sums cut at the bounds."""
    out = np.empty((len(x), y.shape[1]), dtype.np)
    scalar: Any = ctypes.c_void_p if dtype.is_complex else np.ctypeslib.as_ctypes_type(dtype.np)
    one, zero = (np.full(1, value, dtype.np) for value in (1, 0))
    i32, i64, pointer = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
    call = ctypes.CFUNCTYPE(None, i32, i32, i32, i64, i64, i64, scalar, pointer, i64, pointer, i64, scalar, pointer,
                            i64)(blas_symbols()[f"cblas_{GEMM[dtype]}64"])

    def scalar_argument(value: Any) -> Any:
        return value.ctypes.data if dtype.is_complex else value[0]

    for first, last in itertools.pairwise(bounds):
        call(101, 111, 111, len(x), y.shape[1], last - first, scalar_argument(one), x[:, first:].ctypes.data, len(y),
             y[first:].ctypes.data, y.shape[1], scalar_argument(one if first else zero), out.ctypes.data, y.shape[1])
    return out

"""The programs in C, built by gcc, if available, in three ways; the fastest one counts."""
from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from runtime.backends.native.abi.blas import blas_symbols

__all__ = ["BUILDS", "in_c", "library"]

_COMMON = ["-O3", "-march=native", "-fPIC"]
_FAST = [*_COMMON, "-ffast-math", "-fopenmp-simd", "-mprefer-vector-width=512"]
BUILDS = {"strict": _COMMON, "fast-math": _FAST, "fast-math, threads": [*_FAST, "-fopenmp"]}
"""gcc's options by the name of the build; fast-math allows calls of libmvec's vector functions."""

_SGEMM = "cblas_sgemm64"
_F32, _F64, _I32, _I64 = np.float32, np.float64, np.int32, np.int64
_NETWORK = [(_F32, 64, 10), (_F32, 64, 256)]
# By program, the arrays to pass after its arguments (results, scratch memory), and whether it calls BLAS.
_ARRAYS: dict[str, tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], bool]] = {
    "collatz": ([(_I64,)], [], False),
    "newton": ([(_F64,)], [], False),
    "mandelbrot": ([(_I32, 512, 512)], [], False),
    "rnn": ([(_F32, 100, 32, 128), (_F32, 32, 128)], [(_F32, 3200, 128)], True),
    "forward": (_NETWORK[:1], _NETWORK[1:], True),
    "training": ([(_F32, 784, 256), (_F32, 256), (_F32, 256, 10), (_F32, 10)],
                 [_NETWORK[1], _NETWORK[1], _NETWORK[0]], True),
    "descent": ([(_F32, 50)], [], False),
    "elementwise": ([(_F32,)], [], False),
    "product": ([(_F32, 1024, 1024)], [], True),
    "life": ([(np.uint8, 512, 512)], [(np.uint8, 514, 514), (np.uint8, 514, 514)], False),
    "heat": ([(_F32, 512, 512)], [(_F32, 512, 512)], False),
    "rest": ([(_F32, 512, 512)], [(_F32, 512, 512)], False),
}


def in_c(name: str, data: Sequence[Any]) -> dict[str, Callable[[], Any]]:
    """Calls of the program with this data, by build; each returns its results. Empty if C cannot be built."""
    if name not in _ARRAYS:
        return {}
    shapes, work, blas = _ARRAYS[name]
    if blas and _SGEMM not in blas_symbols():
        return {}
    found = {}
    for build in BUILDS:
        built = library("programs.c", build)
        if built is not None:
            inputs = [np.asarray(x) for x in data]
            results = [np.empty(shape, dtype) for dtype, *shape in shapes]
            scratch = [np.empty(shape, dtype) for dtype, *shape in work]
            pointers = [x.ctypes.data for x in (*inputs, *results, *scratch)]
            if blas:
                pointers.append(blas_symbols()[_SGEMM])
            found[build] = _calling(getattr(built, name), pointers, results, (inputs, scratch))
    return found


def _calling(fn: Any, pointers: list[int], results: list[Any], held: Any) -> Callable[[], Any]:
    fn.restype = None
    arguments = [ctypes.c_void_p(p) for p in pointers]

    def call(held: Any = held) -> Any:
        fn(*arguments)
        return results

    return call


@functools.cache
def library(file: str, build: str) -> ctypes.CDLL | None:
    """The library of a source file; None without gcc, or if gcc does not know the options (no libmvec, another
    machine)."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        code, path = Path(folder) / "programs.o", Path(folder) / "programs.so"
        source = Path(__file__).with_name(file)
        # linked without -ffast-math, which would add code that flushes subnormals to zero in the whole process
        threads = [option for option in BUILDS[build] if option == "-fopenmp"]
        for command in ([gcc, *BUILDS[build], "-c", str(source), "-o", str(code)],
                        [gcc, "-shared", *threads, str(code), "-o", str(path), "-lmvec", "-lm"]):
            if subprocess.run(command, capture_output=True).returncode:
                return None
        return ctypes.CDLL(str(path))

"""Complex numbers: construction, and their parts."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from runtime.core import types as t
from runtime.core.op import Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, broadcast_shapes
from runtime.ops.logic import less, where
from runtime.ops.math import atan2
from runtime.ops.op_makers import COMPLEX, apply_one, check_dtype, named, random_array, unary

_real = unary("real", np.real, COMPLEX, real=True, doc="The real part.")
_imag = unary("imag", np.imag, COMPLEX, real=True, doc="The imaginary part.")
_conj = unary("conj", np.conj, COMPLEX, doc="The complex conjugate.")


def _complex_kernel(real: Any, imag: Any) -> Any:
    real, imag = np.broadcast_arrays(real, imag)
    out = np.empty(real.shape, np.complex64 if real.dtype == np.float32 else np.complex128)
    out.real, out.imag = real, imag  # not by addition: infinity times i is NaN + infinity·i
    return out


def _complex_rule(real: TensorType, imag: TensorType) -> TensorType:
    check_dtype("complex", real.dtype, (t.float32, t.float64))
    shape = broadcast_shapes(real.shape, imag.shape, what="the parts of complex")
    return TensorType(t.complex64 if real.dtype is t.float32 else t.complex128, shape)


def _complex_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for dtype in (t.float32, t.float64):
        for real, imag in (((), ()), ((2, 3), (3,)), ((0,), (0,))):
            yield (random_array(rng, dtype, real), random_array(rng, dtype, imag)), {}


COMPLEX_OP = Op("complex", _complex_kernel, _complex_rule, agree=slice(0, 2), samples=_complex_samples,
                doc="real + imag·i.")


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """real + imag·i: complex64 for float32, complex128 for float64 (`tf.complex`)."""
    return named(apply_one(COMPLEX_OP, real, imag), name)


def real(input: Any, name: str | None = None) -> Tensor:
    """The real part; a real tensor is returned unchanged (`tf.math.real`)."""
    x = convert_to_tensor(input)
    return _real(x, name) if x.dtype.is_complex else x


def imag(input: Any, name: str | None = None) -> Tensor:
    """The imaginary part, 0 for a real tensor (`tf.math.imag`)."""
    x = convert_to_tensor(input)
    return _imag(x, name) if x.dtype.is_complex else named(where(False, x, x.dtype.as_numpy_dtype(0)), name)


def conj(x: Any, name: str | None = None) -> Tensor:
    """The complex conjugate; a real tensor is returned unchanged (`tf.math.conj`)."""
    x = convert_to_tensor(x)
    return _conj(x, name) if x.dtype.is_complex else x


def angle(input: Any, name: str | None = None) -> Tensor:
    """The argument: atan2(imag, real); 0 or pi for a real number (`tf.math.angle`)."""
    x = convert_to_tensor(input)
    if x.dtype.is_complex:
        return atan2(_imag(x), _real(x), name)
    dtype = x.dtype.as_numpy_dtype
    return named(where(less(x, dtype(0)), dtype(np.pi), dtype(0)), name)


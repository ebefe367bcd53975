"""New arrays: constants, ranges, windows and patterned matrices."""
from __future__ import annotations

import math as python_math
from collections.abc import Callable
from typing import Any

from keras.src.backend import config
from keras.src.backend.common.variables import standardize_dtype

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.core.types import as_dtype
from runtime.keras.backend.numpy.elementwise import i0
from runtime.keras.backend.promotion import (
    agreed,
    floating,
    floats,
    in_dtype,
    is_scalar,
    name_of,
    result,
    sizes_of,
    tensor,
)
from runtime.ops import creation, logic, math
from runtime.ops import shape as shapes
from runtime.ops.bitcast import bitcast
from runtime.ops.shape_refinement import assume_shape

__all__ = [
    "arange", "array", "bartlett", "blackman", "copy", "empty", "empty_like", "eye", "full", "full_like", "geomspace",
    "hamming", "hanning", "identity", "kaiser", "linspace", "logspace", "meshgrid", "ones", "ones_like", "tri",
    "vander", "view", "zeros", "zeros_like",
]


def _name(dtype: Any) -> str:
    name: str = standardize_dtype(dtype) if dtype is not None else config.floatx()
    return name


def array(x: Any, dtype: Any = None) -> Tensor:
    return tensor(x, dtype)


def copy(x: Any) -> Tensor:
    return tensor(x)


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    return creation.zeros(sizes_of(shape), _name(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    return creation.ones(sizes_of(shape), _name(dtype))


empty = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    value = tensor(fill_value, _name(dtype))
    sizes = sizes_of(shape)
    return creation.fill(sizes, value) if not value.ndim else shapes.broadcast_to(value, sizes)


def zeros_like(x: Any, dtype: Any = None) -> Tensor:
    x = tensor(x)
    return creation.zeros_like(x, x.dtype if dtype is None else _name(dtype))


def ones_like(x: Any, dtype: Any = None) -> Tensor:
    x = tensor(x)
    return creation.ones_like(x, x.dtype if dtype is None else _name(dtype))


empty_like = zeros_like


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    x = tensor(x)
    value = in_dtype(fill_value if is_scalar(fill_value) else tensor(fill_value),
                     x.dtype.name if dtype is None else _name(dtype))
    return shapes.broadcast_to(value, shapes.shape(x) if None in x.type.shape else list(x.type.shape))


def view(x: Any, dtype: Any = None) -> Tensor:
    """The bits of x as another dtype; the last axis keeps its number of bytes."""
    x = tensor(x)
    if dtype is None or _name(dtype) == x.dtype.name:
        return x  # type: ignore[no-any-return]
    wanted = as_dtype(_name(dtype))
    if x.dtype.size == wanted.size:
        return bitcast(x, wanted)
    sizes = shapes.dims(x)
    if not sizes:
        raise ValueError("view takes an array of rank 1 or more where the sizes of the dtypes differ")
    if x.dtype.size > wanted.size:
        return shapes.reshape(bitcast(x, wanted), [*sizes[:-1], sizes[-1] * (x.dtype.size // wanted.size)])
    parts = wanted.size // x.dtype.size
    if isinstance(sizes[-1], int) and sizes[-1] % parts:
        raise ValueError(f"view as {wanted.name} takes a last axis of a multiple of {parts} elements, not {sizes[-1]}")
    return bitcast(shapes.reshape(x, [*sizes[:-1], sizes[-1] // parts, parts]), wanted)


# Ranges.

def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    operands = [x if is_scalar(x) else tensor(x) for x in (start, stop, step) if x is not None]
    name = result(*[name_of(x) for x in operands]) if dtype is None else _name(dtype)
    first, last = (0, start) if stop is None else (start, stop)
    by = 1 if step is None else step
    if name in ("bool", "float16", "bfloat16") or (
            "int" in name and any("float" in str(name_of(x)) or name_of(x) is float for x in operands)):
        return in_dtype(arange(first, last, by, "float32" if name != "bool" else "int32"), name)
    first, last, by = (in_dtype(x if is_scalar(x) else tensor(x), name) for x in (first, last, by))
    return creation.range(first, last, by)


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0) -> Any:
    first, last = floats(start, stop)
    name = first.dtype.name if dtype is None else _name(dtype)
    computed = name if "float" in name else config.floatx()
    wide = computed if computed == "float64" else result(computed, "float32")
    first, last = in_dtype(first, wide), in_dtype(last, wide)
    first, last = first + rnp.zeros_like(last), last + rnp.zeros_like(first)
    steps = num - 1 if endpoint else num
    step = (last - first) / float(steps) if steps > 0 else (last - first) * float("nan")
    count = shapes.reshape(in_dtype(creation.range(num), wide), [num] + [1] * first.ndim)
    found = first + (step * count if steps > 0 else 0 * count)
    if endpoint and num > 1:  # exactly the end
        found = logic.where(logic.equal(count, float(num - 1)), last, found)
    if name not in ("float64", "float32", "float16", "bfloat16"):
        found = math.floor(found)
    found = in_dtype(shapes.moveaxis(found, 0, axis), name)
    return (found, in_dtype(step, name)) if retstep else found


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10, dtype: Any = None,
             axis: int = 0) -> Tensor:
    first, last = floats(start, stop)
    name = first.dtype.name if dtype is None else _name(dtype)
    wide = result(first.dtype.name, "float32")
    exponents = linspace(in_dtype(first, wide), in_dtype(last, wide), num, endpoint, axis=axis)
    return in_dtype(math.pow(in_dtype(base if is_scalar(base) else tensor(base), wide), exponents), name)


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Tensor:
    first, last = floats(start, stop)
    name = first.dtype.name if dtype is None else _name(dtype)
    wide = result(first.dtype.name, "float32")
    first, last = in_dtype(first, wide), in_dtype(last, wide)
    exponents = linspace(math.log(math.abs(first)), math.log(math.abs(last)), num, endpoint, axis=axis)
    return in_dtype(math.sign(first) * math.exp(exponents), name)


def meshgrid(*x: Any, indexing: str = "xy") -> list[Tensor]:
    return creation.meshgrid(*[shapes.reshape(tensor(each), [-1]) for each in x], indexing=indexing)


# Matrices.

def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Tensor:
    return in_dtype(logic.equal(*_rows_and_columns(N, M, k)), _name(dtype))


def identity(n: Any, dtype: Any = None) -> Tensor:
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Tensor:
    return in_dtype(logic.greater_equal(*_rows_and_columns(N, M, k)), _name(dtype))


def _rows_and_columns(n: Any, m: Any, k: Any) -> tuple[Tensor, Tensor]:
    return creation.range(n)[:, None] + k, creation.range(n if m is None else m)


def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    x = tensor(x)
    if x.dtype.is_bool:
        x = in_dtype(x, "int32")
    count = shapes.dim(x, 0) if N is None else N
    exponents = creation.range(count)
    base, powers = agreed(x, exponents if increasing else count - 1 - exponents)
    return in_dtype(math.pow(base[:, None], powers), result(x.dtype.name, int))


# Windows.

def _window(weights: Callable[[Tensor], Tensor]) -> Callable[[Any], Tensor]:
    """A function from x to a window of x points, as floats; `weights` maps positions from 0 to 1."""
    def window(x: Any) -> Tensor:
        number = tensor(x)
        positions = in_dtype(creation.range(in_dtype(number, "int32")), config.floatx())
        last = in_dtype(number, config.floatx()) - 1
        if isinstance(x, int):
            assume_shape(positions, [x])
        return weights(positions / math.maximum(last, 1.0)) if x != 1 else rnp.ones_like(positions)

    return window


def _cosines(*factors: float) -> Callable[[Any], Tensor]:
    def weights(t: Tensor) -> Tensor:
        total: Any = factors[0]
        for k, factor in enumerate(factors[1:], 1):
            total = math.cos(t * (2 * python_math.pi * k)) * factor + total
        return total  # type: ignore[no-any-return]

    return _window(weights)


bartlett = _window(lambda t: 1 - math.abs(t * 2 - 1))
blackman = _cosines(0.42, -0.5, 0.08)
hamming = _cosines(0.54, -0.46)
hanning = _cosines(0.5, -0.5)


def kaiser(x: Any, beta: Any) -> Tensor:
    rate = in_dtype(floating(beta), config.floatx())

    def weights(t: Tensor) -> Tensor:
        return i0(rate * math.sqrt(math.maximum(1 - math.square(t * 2 - 1), 0.0))) / i0(rate)

    return _window(weights)(x)

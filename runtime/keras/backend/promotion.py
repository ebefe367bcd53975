"""Keras's promotion of dtypes, as casts before ops, which take operands of one dtype."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from keras.src.backend import config
from keras.src.backend.common import dtypes
from keras.src.backend.common.variables import standardize_dtype

from runtime.core.tensor import Tensor
from runtime.keras.backend.core import cast, dense, is_tensor

__all__ = ["FLOAT_NAMES", "INEXACT", "INT_NAMES", "accumulated", "agreed", "by_numbers", "floating", "floats",
           "in_dtype", "is_scalar", "name_of", "result", "sizes_of", "tensor", "with_float32"]

INT_NAMES: Final = frozenset(dtypes.INT_TYPES)
FLOAT_NAMES: Final = frozenset(dtypes.FLOAT_TYPES)
INEXACT: Final = FLOAT_NAMES | frozenset(dtypes.COMPLEX_TYPES)

_WIDER: Final = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


def tensor(x: Any, dtype: Any = None) -> Tensor:
    """A dense tensor for any value that Keras accepts as one: variables, arrays, lists, numbers and sparse tensors."""
    made: Tensor = x if isinstance(x, Tensor) and dtype is None else dense(x, dtype)
    return made


def sizes_of(shape: Any) -> Any:
    """A shape as a list or tensor; a number is the size of one axis."""
    if isinstance(shape, Tensor):
        return shape if shape.ndim else [shape]
    return list(shape) if hasattr(shape, "__iter__") else [shape]


def is_scalar(x: Any) -> bool:
    """Whether it is a Python number, which has a weak dtype."""
    return type(x) in (bool, int, float, complex)


def name_of(x: Any) -> Any:
    """The name of a value's dtype, or the type of a Python number."""
    if is_scalar(x):
        return type(x) if type(x) in (int, float) else "bool" if type(x) is bool else "complex64"
    return x.dtype.name if is_tensor(x) else standardize_dtype(x.dtype if hasattr(x, "dtype") else x)


@functools.lru_cache(maxsize=4096)
def _promoted(floatx: str, *names: Any) -> str:
    name: str = dtypes.result_type(*names)
    return name


def result(*names: Any) -> str:
    """The dtype that Keras gives the result for operands of these dtypes (names, or `int` and `float`)."""
    return _promoted(config.floatx(), *names)


def agreed(*xs: Any, also: tuple[Any, ...] = ()) -> list[Tensor]:
    """Tensors of one dtype, that of the result of `xs` (and of dtypes in `also`)."""
    operands = [x if is_scalar(x) else tensor(x) for x in xs]
    names = {*map(name_of, operands), *also}
    own = [name for name in names if type(name) is str]
    # Keras' rules never result in a 64-bit dtype; operands that all have one keep it.
    weak_fits = len(own) == 1 and (len(names) == 1 or own[0] in INEXACT or (own[0] in INT_NAMES and float not in names))
    name = own[0] if weak_fits else result(*names)
    return [in_dtype(x, name) for x in operands]


def in_dtype(x: Any, name: str) -> Tensor:
    """A tensor or Python number in the dtype of that name."""
    if isinstance(x, Tensor):
        if x.dtype.name == name and not x.type.weak:
            return x
        made: Tensor = cast(x, name)
        return made
    return tensor(x, name)


def floating(x: Any) -> Tensor:
    """A tensor of floats or complex numbers: integers and bools are cast as if combined with a Python float."""
    x = tensor(x)
    if x.dtype.level >= 2:
        return x  # type: ignore[no-any-return]
    return in_dtype(x, config.floatx() if x.dtype.name == "int64" else result(x.dtype.name, float))


def floats(*xs: Any) -> list[Tensor]:
    """`agreed`, for floating-point results."""
    return agreed(*xs, also=(float,))


def by_numbers(function: Callable[..., Any], *xs: Tensor) -> Any:
    """The result of an arithmetic function; bools are computed as int32 and cast back."""
    if not xs[0].dtype.is_bool:
        return function(*xs)
    return cast(function(*[in_dtype(x, "int32") for x in xs]), "bool")


def accumulated(x: Tensor) -> Tensor:
    """A tensor in the dtype of its sum: integers have at least 32 bits."""
    return in_dtype(x, _WIDER.get(x.dtype.name, x.dtype.name))


def with_float32(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A float function computed in at least float32; the result has the dtype that Keras gives the mean of `x`."""
    wide = x.dtype.name if x.dtype.name == "float64" else result(x.dtype.name, "float32")
    name = wide if x.dtype.is_integer or x.dtype.is_bool else x.dtype.name
    return in_dtype(function(in_dtype(x, wide)), name)

"""NumPy's functions under TF's name for them (`tf.experimental.numpy`)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import runtime.numpy
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, holds_tensor
from runtime.core.types import float32, float64
from runtime.numpy.arrays import elements
from runtime.numpy.ufuncs import UFUNCS
from runtime.ops.math import cast

__all__ = ["numpy"]

_NUMBERS: Final = (bool, int, float, complex)


def _array(x: Any) -> Any:
    """A tensor for an array-like value: of Python's numbers one of 64 bits. A lone number adapts to others, and stays
    one."""
    if isinstance(x, _NUMBERS):
        return x
    return _wide(x) if isinstance(x, (list, tuple)) else convert_to_tensor(x)


def _wide(x: Any) -> Tensor:
    """An array of Python's numbers has 64 bits, or if they are floats the 32 bits that the program prefers."""
    made = elements(x)
    return cast(made, float32) if numpy.prefers_float32 and made.dtype is float64 and not holds_tensor([x]) else made


def _promoted(operands: Sequence[Any]) -> list[Any]:
    """The operands, in which all tensors have the dtype that NumPy gives them together."""
    arrays = [*map(_array, operands)]
    binding = [x for x in arrays if isinstance(x, Tensor) and not x.type.weak]
    if not binding:
        return [*map(_wide, arrays)]
    if len({x.dtype for x in binding}) == 1:
        return arrays
    common = runtime.numpy.result_type(*binding)
    return [cast(x, common) if isinstance(x, Tensor) else x for x in arrays]


def _promoting(name: str, operands: slice) -> Callable[..., Any]:
    """NumPy's function of that name, with promotion of those of its arguments."""
    function = getattr(runtime.numpy, name)

    @functools.wraps(function)
    def promoting(*args: Any, **options: Any) -> Any:
        return function(*args[:operands.start], *_promoted(args[operands]), *args[operands.stop:], **options)

    return promoting


def _joining(name: str) -> Callable[..., Any]:
    """NumPy's function of that name, with promotion of the items of its first argument."""
    function = getattr(runtime.numpy, name)

    @functools.wraps(function)
    def joining(arrays: Any, *args: Any, **options: Any) -> Any:
        joined = arrays if isinstance(arrays, Tensor) else _promoted(arrays)
        return function(joined, *args, **options)

    return joining


def _array_of(object: Any, dtype: Any = None, copy: bool | None = None, order: str = "K", ndmin: int = 0) -> Tensor:
    """As `runtime.numpy.array`, in which Python's numbers have 64 bits, as in NumPy."""
    is_pythons = isinstance(object, (*_NUMBERS, list, tuple))
    return runtime.numpy.array(_wide(object) if dtype is None and is_pythons else object, dtype, copy, order, ndmin)


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(("array", "asanyarray", "asarray", "ascontiguousarray"), _array_of),
    **{name: _promoting(name, slice(0, 2)) for name in (*UFUNCS, "append", "allclose", "array_equal", "convolve",
                                                       "cross", "dot", "inner", "isclose", "kron", "outer",
                                                       "tensordot", "vdot") if name != "ldexp"},
    "clip": _promoting("clip", slice(0, 3)), "where": _promoting("where", slice(1, 3)),
    **{name: _joining(name) for name in (
        "column_stack", "concat", "concatenate", "dstack", "hstack", "stack", "vstack")},
}


class _NumPy:
    """`tf.experimental.numpy`: the names of `runtime.numpy`. Python's numbers become arrays of 64 bits, and functions
    of several arrays promote their dtypes, as in NumPy. Operators on tensors still take one dtype."""

    __name__ = "runtime.experimental.numpy"
    ndarray = Tensor
    prefers_float32 = False

    def experimental_enable_numpy_behavior(
        self, prefer_float32: bool = False, dtype_conversion_mode: str | None = None
    ) -> None:
        """Whether arrays of Python's floats have 32 bits. Otherwise this does nothing: tensors have the methods of
        NumPy's arrays anyway, and keep their dtypes."""
        self.prefers_float32 = prefer_float32

    def __getattr__(self, name: str) -> Any:
        return _FUNCTIONS.get(name) or getattr(runtime.numpy, name)

    def __dir__(self) -> list[str]:
        return [*runtime.numpy.__all__, "experimental_enable_numpy_behavior", "ndarray"]


numpy: Any = _NumPy()

hint_at_public_names(__name__)

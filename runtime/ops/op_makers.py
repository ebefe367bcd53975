"""Makers of op families, so that one op of a family is one line: `add = binary("add", np.add, NUMERIC, doc="...")`.

Each maker registers an `Op` and returns the public function that applies it, whose attribute `op` is the record.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError
from runtime.core.integer_ranges import surely_fits
from runtime.core.op import Errors, Op, Sample, Samples
from runtime.core.string_arrays import remedy
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_beside, convert_to_tensor, hint
from runtime.core.types import DType, TensorType, broadcast_shapes

__all__ = [
    "ALL", "BOOL", "COMPLEX", "ELEMENTWISE", "FLOATS", "INEXACT", "INTS", "NUMERIC", "REAL", "Binary", "DTypes",
    "Unary", "apply_one", "binary", "check_dtype", "matching", "named", "of_ints", "random_array", "unary",
]

apply_one: Final = cast("Callable[..., Tensor]", apply)  # `apply` for ops with one tensor as the result

DTypes = tuple[DType, ...]
T = TypeVar("T")

ALL: Final = t.ALL
BOOL: Final = (t.bool_,)
INTS: Final = tuple(d for d in ALL if d.is_integer)
FLOATS: Final = tuple(d for d in ALL if d.is_floating)
COMPLEX: Final = tuple(d for d in ALL if d.is_complex)
REAL: Final = INTS + FLOATS
INEXACT: Final = FLOATS + COMPLEX
NUMERIC: Final = REAL + COMPLEX

ELEMENTWISE: Final[set[str]] = set()
"""The names of the ops made by `unary` and `binary`."""


class Unary(Protocol):
    op: Op

    def __call__(self, x: Any, name: str | None = None) -> Tensor: ...


class Binary(Protocol):
    op: Op

    def __call__(self, x: Any, y: Any, name: str | None = None) -> Tensor: ...


def check_dtype(op: str, dtype: DType, allowed: Iterable[DType]) -> None:
    """DTypeError if the op `op` does not accept `dtype`."""
    if dtype.wide in allowed:
        return
    names = {d.name for d in allowed}
    cast = next((f"Cast it: rt.cast(x, rt.{name})." for name in ("float32", "int32", "bool") if name in names), "")
    raise DTypeError(f"{op} does not take {dtype.name}; it takes {', '.join(d.name for d in allowed)}",
                     remedy=remedy(dtype, otherwise=cast))


def matching(*values: Any) -> list[Tensor]:
    """The operands of a composed function as tensors, as those of an op: what is no tensor takes the dtype of the first
    one that is, else that of a NumPy value; if there is none, Python numbers take float32."""
    leader = next((value for value in values if hasattr(value, "dtype")), values[0])
    leader = next((value for value in values if isinstance(value, Tensor)), leader)
    first = convert_to_tensor(leader, dtype_hint=t.float32)
    return [convert_beside(value, first.dtype) for value in values]


def named(result: T, name: str | None) -> T:
    """`result`, named `name` in printed graphs."""
    if name is not None:
        hint(result, name)
    return result


def random_array(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], low: float = -4, high: float = 4
) -> Any:
    """Random values between `low` and `high` (from 0 for unsigned dtypes)."""
    if dtype.is_bool:
        return rng.random(shape) < 0.5
    values = rng.uniform(max(low, 0) if dtype.is_unsigned else low, high, shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(low, high, shape)
    return np.asarray(values).astype(dtype.np)


def of_ints(*errors: type[BaseException]) -> Callable[[Any], Errors]:
    """Declares errors that are raised if Python ints turn out at run time to be too large for the op, or not valid in
    Python (`runtime.numbers.overflow_checks`)."""

    def declared(node: Any) -> Errors:
        type = node.outputs[0].type
        return errors if type.weak and type.dtype.is_integer and not surely_fits(node) else ()

    return declared


def _result(dtype: DType, shape: t.Shape, weak: bool, out: DType | None) -> TensorType:
    return TensorType(dtype, shape, weak) if out is None else TensorType(out, shape)


def unary(
    name: str, kernel: Callable[..., Any], dtypes: DTypes, *, out: DType | None = None, doc: str = "",
    low: float = -4, high: float = 4, public: str | None = None, real: bool = False,
    errors: Callable[[Any], Errors] | Errors = (),
) -> Unary:
    """An element-wise op of one operand. The result has its shape, and its dtype or `out`; if `real`, its real dtype.

    `low` and `high` bound the test values.
    """

    def rule(x: TensorType) -> TensorType:
        check_dtype(name, x.dtype, dtypes)
        return _result(x.dtype.real_dtype if real else x.dtype, x.shape, x.weak, out)

    def samples(rng: np.random.Generator) -> Iterable[Sample]:
        for dtype in dtypes:
            for shape in ((), (3,), (2, 0), (2, 3)):
                yield (random_array(rng, dtype, shape, low, high),), {}

    op = Op(name, kernel, rule, samples=samples, errors=errors, doc=doc)
    ELEMENTWISE.add(name)

    def function(x: Any, name: str | None = None) -> Any:
        return apply(op, x) if name is None else named(apply(op, x), name)

    return cast(Unary, _publish(function, op, public, doc))


def binary(
    name: str, kernel: Callable[..., Any], dtypes: DTypes, *, out: DType | None = None, doc: str = "",
    low: float = -4, high: float = 4, public: str | None = None, samples: Samples | None = None,
    errors: Callable[[Any], Errors] | Errors = (), strings: bool = False,
) -> Binary:
    """An element-wise op of two operands of one dtype, which broadcast. The result has that dtype, or `out`.

    `strings`: it accepts these, too.
    """

    def rule(x: TensorType, y: TensorType) -> TensorType:
        if x.dtype is not y.dtype:
            raise DTypeError(f"{name} takes operands of one dtype, not {x.dtype.name} and {y.dtype.name}")
        if not (strings and x.dtype.is_string):
            check_dtype(name, x.dtype, dtypes)
        shape = broadcast_shapes(x.shape, y.shape, what=f"the operands of {name}")
        return _result(x.dtype, shape, x.weak and y.weak, out)

    def random_samples(rng: np.random.Generator) -> Iterable[Sample]:
        for dtype in dtypes:
            for left, right in (((), ()), ((3,), ()), ((2, 1), (3,)), ((2, 3), (2, 3)), ((0, 3), (1, 1))):
                yield tuple(random_array(rng, dtype, shape, low, high) for shape in (left, right)), {}

    op = Op(name, kernel, rule, agree=slice(0, 2), widens=any(dtype.level >= 2 for dtype in dtypes),
            samples=samples or random_samples, errors=errors, doc=doc)
    ELEMENTWISE.add(name)

    def function(x: Any, y: Any, name: str | None = None) -> Any:
        return apply(op, x, y) if name is None else named(apply(op, x, y), name)

    return cast(Binary, _publish(function, op, public, doc))


def _publish(function: Any, op: Op, public: str | None, doc: str) -> Any:
    function.op = op
    function.__name__ = function.__qualname__ = public or op.name
    function.__doc__ = doc
    return function

"""One op, one record.

An op consists of a name, a NumPy kernel and a rule for its result types. Eager execution and the reference executor
call the kernel; tracing and the graph verifier call the rule. `REGISTRY` finds every op by name;
`runtime.ops.families` has all of them.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np

from runtime.core import narrow_floats, string_arrays
from runtime.core.errors import (
    DTypeError,
    InvalidNumberError,
    NumberOverflowError,
    OpError,
    OutOfMemoryError,
    ShapeError,
    UnimplementedError,
)
from runtime.core.types import DType, TensorType, Type, Weak, as_dtype, check_room, dtype_of, type_of_array

__all__ = ["ANY", "CAST", "CONST", "REGISTRY", "Errors", "Op", "Sample", "Samples", "belongs_to_user", "better_error",
           "unknown_shape"]

Sample = tuple[tuple[Any, ...], dict[str, Any]]  # arguments of a kernel: arrays, and params
Errors = tuple[type[BaseException], ...]
ANY: Final = (Exception, BaseException)
"""In `Op.errors`, these two also stand for their subclasses."""
Samples = Callable[["np.random.Generator"], Iterable[Sample]]  # quoted, as importing np.random is slow


class Registry(dict[str, "Op"]):
    """The ops by name. Those of modules that nothing has imported yet are found, too."""

    _families: Any = None

    def completed_by(self, families: ModuleType) -> None:
        """A `deferred` module that registers all ops, and has them as `OPS`."""
        self._families = families

    def __missing__(self, name: str) -> Op:
        if (op := self._families.OPS.get(name)) is None:
            raise KeyError(name)
        found: Op = op
        return found


REGISTRY: Final = Registry()


def _no_samples(rng: np.random.Generator) -> Iterable[Sample]:
    return ()


@dataclass(frozen=True, eq=False)
class Op:
    """A primitive operation. Constructing one registers it under its name.

    kernel   `kernel(*arrays, **params)` -> an array or a tuple of arrays, of exactly the types of `rule`.
             Arrays may be 0-d or NumPy scalars, are read-only, and must not be written. A list value is a
             tuple of arrays. For an op with sub-graphs see `runtime.core.graph`.
    rule     `rule(*types, **params)` -> a Type, or a tuple of Types if the kernel returns a tuple (an op
             without results: `()`). Raises DTypeError or ShapeError for operands that do not fit.
    effect   it runs in program order and is never removed.
    agree    the operands that must have one dtype: Python and NumPy numbers among them adapt to the tensors before
             `rule` receives them.
    widens   ints among these become floats beside a float of Python or NumPy, and floats complex beside a complex one.
    joins    these are elements of one array: beside arrays, Python's numbers are such of 64 bits, as in NumPy.
    foreign  the kernel runs the user's code, so its exceptions are the user's own and are passed on unchanged.
    errors   the exception classes that the kernel may raise for operands accepted by the rule, or a function from the
             node to these; Exception and BaseException also stand for all their subclasses. Not included: shapes that
             turn out to differ only at run time (see `Node.errors`), sizes beyond int32, MemoryError and
             interrupts.
    samples  `samples(rng)` yields arguments `((array, ...), {param: value})` for the tests.
    """

    name: str
    kernel: Callable[..., Any]
    rule: Callable[..., Type | tuple[Type, ...]]
    effect: bool = False
    agree: slice | None = None
    widens: bool = False
    joins: bool = False
    foreign: bool = False
    errors: Errors | Callable[[Any], Errors] = ()
    samples: Samples = _no_samples
    doc: str = ""

    def __post_init__(self) -> None:
        if self.name in REGISTRY:
            raise ValueError(f"there are two ops named {self.name!r}")
        REGISTRY[self.name] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return REGISTRY.__getitem__, (self.name,)


_OF_BITS: Final = ("bitcast", "cast", "const")  # their kernels support all dtypes


def kernel_for(op: Op, operands: Iterable[Type], results: Sequence[Type]) -> Callable[..., Any]:
    """The kernel of an op for operands and results of these types, some of which may be narrow floats
    (`runtime.core.narrow_floats`) or strings (`runtime.core.string_arrays`)."""
    strings = [isinstance(type, TensorType) and type.dtype.is_string for type in results]
    if any(strings):
        return string_arrays.in_arrays(op.kernel, strings)
    if not narrow_floats.loaded or op.effect or op.foreign or op.name in _OF_BITS or not any(
            isinstance(type, TensorType) and type.dtype.is_narrow for type in (*operands, *results)):
        return op.kernel
    return narrow_floats.in_float32(
        op.kernel, [type.dtype.np if isinstance(type, TensorType) else None for type in results])


def unknown_shape(node: Any) -> Errors:
    """The errors of an op that accepts any operand of known shape (and takes only one)."""
    types = [value.type for value in node.operands]
    known = all(isinstance(type, TensorType) and None not in type.shape for type in types)
    return () if known and len(types) == 1 else (ShapeError,)


def belongs_to_user(op: Op, exc: Exception) -> bool:
    """Whether an error that `op` raised came from the user's code: it is passed on unchanged."""
    return op.foreign and not getattr(exc, "of_op", False)


def better_error(op: Op, inputs: Sequence[Any], params: dict[str, Any], exc: Exception) -> OpError | None:
    """The error to raise in place of `exc`, which the kernel raised for `inputs`; None to raise `exc` itself.

    With the types of the inputs known, an error of the rule takes precedence, as in eager mode, since its message is
    better than NumPy's. If the operands fit and the result would exceed memory, or the maximal tensor size, the error
    is an OutOfMemoryError.
    """
    if op.foreign or not all(hasattr(x, "dtype") for x in inputs):
        return None  # it is the user's error, or the op takes lists
    try:
        results = op.rule(*[type_of_array(np.asarray(x)) for x in inputs], **params)
        for result in results if isinstance(results, tuple) else (results,):
            if isinstance(result, TensorType) and None not in result.shape:
                check_room(f"the result of {op.name}", result.shape, result.dtype)  # type: ignore[arg-type]
    except OpError as error:
        return error
    if isinstance(exc, OpError):
        return None
    return OutOfMemoryError(f"{op.name} got no memory: {exc}") if isinstance(exc, MemoryError) else None


# The two ops that tracing itself uses.

def _const_kernel(*, value: Any, weak: Weak = False) -> Any:
    return value


def _const_rule(*, value: Any, weak: Weak = False) -> TensorType:
    return type_of_array(value, weak)


def _const_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (), {"value": np.array(3, np.int32)}
    yield (), {"value": rng.standard_normal((2, 3))}


CONST: Final = Op("const", _const_kernel, _const_rule, samples=_const_samples,
                  doc="A value known at trace time: `value` is an array.")


def _cast_kernel(x: Any, *, dtype: DType, weak: bool = False, fits: bool = False) -> Any:
    if dtype_of(x).is_complex and not dtype.is_complex:
        x = x.real
    return x.astype(dtype.np)


def _cast_rule(x: TensorType, *, dtype: DType, weak: bool = False, fits: bool = False) -> TensorType:
    if not isinstance(x, TensorType):
        raise DTypeError(f"cannot cast {x} to {dtype.name}")
    if x.dtype.is_string is not dtype.is_string:
        raise UnimplementedError(f"Cast {x.dtype.name} to {dtype.name} is not supported",
                                 remedy=string_arrays.remedy(x.dtype, dtype, otherwise=""))
    return TensorType(dtype, x.shape, weak)


def _cast_errors(node: Any) -> Errors:
    """The errors of Python's int(x): for NaN and infinity, and ints beyond 64 bits; and those of Python numbers that
    have to be in the range of the dtype (`fits`)."""
    source, target = node.operands[0].type.dtype, node.outputs[0].type
    if node.params.get("fits"):
        return (InvalidNumberError, NumberOverflowError) if source.is_floating else (NumberOverflowError,)
    if not (target.weak and target.dtype.is_integer):
        return ()
    if source.is_floating:
        return InvalidNumberError, NumberOverflowError
    return (NumberOverflowError,) if source.is_unsigned and source.size == 8 else ()


def _cast_samples(rng: np.random.Generator) -> Iterable[Sample]:
    for source in ("bool", "int8", "int32", "float32", "complex64"):
        for target in ("bool", "int64", "uint8", "float16", "float64", "complex128"):
            yield ((rng.random((2, 3)) * 9).astype(source),), {"dtype": as_dtype(target)}


CAST: Final = Op("cast", _cast_kernel, _cast_rule, samples=_cast_samples, errors=_cast_errors,
                 doc="The value in another dtype; `fits`: a Python number that is an error beyond its range.")

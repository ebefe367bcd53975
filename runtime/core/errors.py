"""The errors of the runtime, under TF2's names where TF2 has one (`tf.errors`).

A message says what is wrong; `remedy` says what to do. `locate` adds the user's line and puts both into the common
form, once the place is known.
"""
from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

from autograph.backend import ALIASED, format_error, unnumbered

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DTypeConversionError",
    "DTypeError",
    "DTypeOverflowError",
    "DataLossError",
    "DeadlineExceededError",
    "DivisionByZeroError",
    "FailedPreconditionError",
    "GraphError",
    "InaccessibleTensorError",
    "IndexDTypeError",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidNumberError",
    "InvalidSliceError",
    "LinearAlgebraError",
    "Message",
    "MissingKeyError",
    "NotFoundError",
    "NotIterableError",
    "NumberOverflowError",
    "OpError",
    "OperatorNotAllowedInGraphError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "ShapeError",
    "StagingError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "locate",
]


class OpError(Exception):
    """Base of errors that an op raises (`tf.errors.OpError`).

    Made from a message, or TF2's way from `(node_def, op, message)` and for some classes an `error_code`.
    """

    of_op = False
    """Whether an op that calls the user's code raised it itself: then it gets the place of the op."""
    found_rank: Any = None
    """For a result of a Python function: see `runtime.ops.host_functions.Ranks`."""
    error_code: int = 2
    """The number of the kind of error (`tf.errors.UNKNOWN` and the like)."""

    def __init__(self, *args: object, remedy: str = "") -> None:
        message: Any = args[2] if len(args) >= 3 else args[0] if args else ""
        self.message = message if hasattr(type(message), "__text__") else str(message)  # maybe text with tensors
        self.remedy = remedy
        super().__init__(self.message)


class InvalidArgumentError(OpError):
    """An argument has a value that the op cannot take (`tf.errors.InvalidArgumentError`)."""


class OutOfRangeError(OpError):
    """An iterator is exhausted (`tf.errors.OutOfRangeError`)."""


class FailedPreconditionError(OpError):
    """A precondition of the op does not hold (`tf.errors.FailedPreconditionError`)."""


class NotFoundError(OpError):
    """A named thing does not exist (`tf.errors.NotFoundError`)."""


class AlreadyExistsError(OpError):
    """A thing to be created exists already (`tf.errors.AlreadyExistsError`)."""


class UnimplementedError(OpError):
    """The op does not support this (`tf.errors.UnimplementedError`)."""


class ResourceExhaustedError(OpError):
    """A limit was exceeded (`tf.errors.ResourceExhaustedError`)."""


class OutOfMemoryError(ResourceExhaustedError, MemoryError):
    """A tensor exceeds the maximal size or the available memory: TF2's error and Python's in one."""


class DataLossError(OpError):
    """Data in a file is damaged (`tf.errors.DataLossError`)."""


class AbortedError(OpError):
    """The operation was aborted (`tf.errors.AbortedError`)."""


class CancelledError(OpError):
    """The operation was cancelled (`tf.errors.CancelledError`)."""


class DeadlineExceededError(OpError):
    """A deadline was over before the operation ended (`tf.errors.DeadlineExceededError`)."""


class InternalError(OpError):
    """Something that has to hold does not (`tf.errors.InternalError`)."""


class PermissionDeniedError(OpError):
    """The caller may not do this (`tf.errors.PermissionDeniedError`)."""


class UnauthenticatedError(OpError):
    """The request does not say who makes it (`tf.errors.UnauthenticatedError`)."""


class UnavailableError(OpError):
    """A service is not available at this time (`tf.errors.UnavailableError`)."""


class UnknownError(OpError):
    """An error of no known kind (`tf.errors.UnknownError`)."""


class ShapeError(InvalidArgumentError, ValueError):
    """Incompatible shapes: TF2 raises InvalidArgumentError eagerly and ValueError in graphs."""


class DTypeError(InvalidArgumentError, TypeError):
    """Incompatible dtypes: TF2 raises InvalidArgumentError eagerly and TypeError in graphs."""


class DTypeConversionError(DTypeError, ValueError):
    """A tensor of another dtype than the one that is wanted: TF2 raises ValueError for it."""


class IndexDTypeError(DTypeError, IndexError):
    """An index that is no integer or bool: the error of incompatible dtypes and NumPy's in one."""


class DTypeOverflowError(DTypeError, OverflowError):
    """An int that its dtype cannot hold: the error of incompatible dtypes and NumPy's in one."""


class DivisionByZeroError(InvalidArgumentError, ZeroDivisionError):
    """Integer `//` or `%` by zero: TF2's error and Python's in one."""


class NumberOverflowError(InvalidArgumentError, OverflowError):
    """A Python number that is too large: for Python itself, or, as an int in a graph, for 64 bits."""


class InvalidNumberError(InvalidArgumentError, ValueError):
    """A Python number that an operation does not accept, such as a negative shift count."""


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """An index outside of its dimension: TF2's error and Python's in one."""


class InvalidSliceError(InvalidArgumentError, ValueError):
    """A slice whose step is 0: TF2's error and Python's in one."""


class LinearAlgebraError(InvalidArgumentError, np.linalg.LinAlgError):
    """A singular matrix, or one that is not positive definite: TF2's error and NumPy's in one."""


class MissingKeyError(NotFoundError, KeyError):
    """A key that is missing in a dict when the graph runs."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError formats its argument by repr


class StagingError(OpError, TypeError):
    """Control flow that cannot be staged, for example because branches or iterations do not agree."""


class InaccessibleTensorError(OpError, ValueError):
    """A tensor used outside the graph that it belongs to (`tf.errors.InaccessibleTensorError`)."""

    graph: object = None  # that graph
    made: Any = None
    """The position of the code that makes the tensor."""


class OperatorNotAllowedInGraphError(OpError, TypeError):
    """Python asked a graph tensor for its value (`tf.errors.OperatorNotAllowedInGraphError`)."""


class NotIterableError(OpError, TypeError):
    """A loop over a tensor without rows. TF2 raises a TypeError without the user's line."""


class GraphError(Exception):
    """`Graph.verify` found a graph that violates the rules of the IR: a bug of the runtime, not of the user."""


class Place(Protocol):
    """A place in the user's source; `runtime.core.positions.Position` implements it."""

    @property
    def filename(self) -> str: ...

    @property
    def lineno(self) -> int: ...

    @property
    def col(self) -> int: ...


class Message:
    """A message that is not a `str` and can be concatenated with text on both sides; `runtime.core.text.Text`
    implements it."""

    __slots__ = ()

    def __radd__(self, other: Any) -> Any:
        raise NotImplementedError


def locate(exc: Exception, place: Place | None) -> None:
    """Put the message of `exc` into the form `file:line: what`, excerpt, remedy; the exception object stays the same.
    The attribute `place` is for `runtime.core.traceback_replay`.

    Does nothing if the place is unknown, the message has the form already, or the error has no plain message.
    """
    if place is None or getattr(exc, "located", False):
        return
    exc.place = place  # type: ignore[attr-defined]
    what: Any = exc.args[0] if len(exc.args) == 1 else None
    if not isinstance(what, (str, Message)):
        return
    start = f"{place.filename}:{place.lineno}: "
    rest = format_error(place.filename, place.lineno, place.col, "", getattr(exc, "remedy", "")).removeprefix(start)
    exc.args = (start + what + rest,)
    exc.located = True  # type: ignore[attr-defined]


_SUBJECTS: Final = {
    "": "the value of this expression", "return_": "the value returned", "ag__list": "the list", "ag__sum": "the sum",
    "ag__item": "the item", "ag__found": "whether there is one", "ag__going": "the test",
}


def subject(name: str) -> str:
    """How messages refer to the state variable `name`."""
    if name.startswith(ALIASED):
        return "a list or object that has several names"
    name = unnumbered(name)
    return _SUBJECTS.get(name) or (repr(name) if name.isidentifier() or "." in name or "[" in name else name)


for _code, _kind in enumerate((
        CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError, AlreadyExistsError,
        PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, OutOfRangeError,
        UnimplementedError, InternalError, UnavailableError, DataLossError, UnauthenticatedError), 1):
    _kind.error_code = _code

for _error in [each for each in globals().values() if isinstance(each, type) and issubclass(each, Exception)]:
    _error.__module__ = "runtime.errors"  # where users import it from: tracebacks name it so

"""What a staged `for` iterates over: a count with an item for each index, or a stream of elements.

The `reduce` op takes `Counted` and `Stream`; `as_iterable` makes one of them from a value. The other classes represent
Python's `range`, `enumerate`, `zip` and `reversed` with a tensor among the arguments, without materialising them. `map`
is a generator (`generators.py`). Where Python gives an int (an item of `range`, a length), the staged value is a weak
int32.
"""
from __future__ import annotations

import enum
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

import numpy as np

from autograph.backend import (
    LISTS,
    backend_of,
    has_staged_items,
    is_reference,
    is_users_class,
    of_trace,
    only_atoms,
    only_records,
)
from runtime.core import pytree
from runtime.core import types as t
from runtime.core.constant_arrays import constant_array
from runtime.core.errors import IndexOutOfRangeError, OperatorNotAllowedInGraphError, StagingError, locate
from runtime.core.formatting import formatted
from runtime.core.generator_frames import decided_in_python
from runtime.core.graph import Graph, Value
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor, not_iterable
from runtime.core.text import Text, concat_text
from runtime.core.trace import apply, convert_to_tensor, current_graph
from runtime.core.types import TensorSpec, TensorType, promote, type_of_array
from runtime.numpy.array_choices import selected
from runtime.numpy.array_objects import StagedArray
from runtime.ops.concat_split import concat
from runtime.ops.effects import raise_unless
from runtime.ops.logic import greater, less, logical_and, where
from runtime.ops.math import cast, maximum, minimum
from runtime.ops.reduction import argmax
from runtime.ops.shape import dim
from runtime.staging.values.index_signs import note_not_negative

__all__ = [
    "Counted",
    "EagerRows",
    "Iterable_",
    "Lazy",
    "Poison",
    "Staged",
    "StagedRange",
    "StagedReversed",
    "Stream",
    "as_iterable",
    "counted",
    "first_true",
    "flags",
    "indexable",
    "is_staged",
    "iterated",
    "stacked",
    "stages",
    "stages_within",
    "view_of",
    "weak_int",
]


@dataclass(frozen=True)
class Counted:
    """One item for each index below `length`, an int or an int32 scalar; None for an endless operand of `zip`.

    `item(index)` makes the loop variable, a structure of tensors and Python values, from an index tensor; it is called
    while the graph of the loop's body is open. `lists`: the staged lists that it then reads. `is_there(index)`: whether
    lists whose length the loop's body changes have that item, at that time.
    """

    length: Any
    item: Callable[[Any], Any]
    lists: tuple[Any, ...] = ()
    is_there: Callable[[Any], Any] | None = None


class Stream:
    """Elements that a Python iterator yields one by one at run time.

    sources       the tensors from which the stream is made.
    element_spec  the structure of an element, with a TensorSpec or TensorType for each tensor.
    stream        a function from the arrays of the sources to an iterator over elements, each a flat tuple of arrays.
    pack          a function from the tensors of an element to the loop variable, if not just their structure.
    """

    def __init__(
        self, sources: Sequence[Any], element_spec: Any,
        stream: Callable[[Sequence[Any]], Iterator[tuple[Any, ...]]],
        pack: Callable[[Sequence[Any]], Any] | None = None,
    ) -> None:
        self.sources = tuple(sources)
        self.element_spec = element_spec
        self.stream = stream
        self._pack = pack

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of the arrays of an element."""
        specs = pytree.flatten(self.element_spec)
        return tuple([spec.type if isinstance(spec, TensorSpec) else spec for spec in specs])

    def __repr__(self) -> str:
        return f"<stream of {', '.join(map(str, self.types))}>"

    def pack(self, tensors: Sequence[Any]) -> Any:
        """The loop variable for the tensors of an element, which belong to the current graph."""
        if self._pack is not None:
            return self._pack(tensors)
        return pytree.pack_sequence_as(self.element_spec, tensors)


Iterable_ = Counted | Stream


class Staged:
    """Base class of staged objects that are not tensors: staged ranges and lists, TensorArray, datasets."""

    def __iterable__(self) -> Iterable_:
        """The `Counted` or `Stream` for a staged `for` over it. TypeError if it is not iterable."""
        raise TypeError(f"'{type(self).__name__}' object is not iterable")


class Unusable(Staged):
    """Base class of placeholders for values that cannot be used: every use raises the error of `refuse`."""

    __slots__ = ()

    def refuse(self) -> NoReturn:
        raise NotImplementedError

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse()

    __tensor__ = __len__ = __iter__ = __getitem__ = __neg__ = __abs__ = __invert__ = __lt__ = __le__ = __gt__ = _refuse
    __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __array__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse


class Poison(Unusable):
    """Stands for an unavailable value: any use raises the exception that `error` returns. `shown`: its `repr`."""

    __slots__ = ("error", "shown")

    def __init__(self, error: Callable[[], Exception], shown: str) -> None:
        self.error, self.shown = error, shown

    def refuse(self) -> NoReturn:
        raise self.error()

    def _refuse_use(self, *_: Any, **__: Any) -> NoReturn:
        self.refuse()

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = __eq__ = __ne__ = __contains__ = _refuse_use
    __hash__ = __call__ = __round__ = __divmod__ = __and__ = __or__ = __xor__ = __setitem__ = __delitem__ = _refuse_use
    __str__ = __rand__ = __ror__ = __rxor__ = __lshift__ = __rshift__ = __format__ = _refuse_use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()

    def __repr__(self) -> str:
        return self.shown


class Lazy(Staged):
    """The result of a Python builtin on staged iterables: iteration over it makes its `Counted` or `Stream`."""

    name: ClassVar[str]

    def _counted(self) -> Counted:
        found = self.__iterable__()
        if isinstance(found, Stream):
            raise TypeError(f"'{self.name}' object over a dataset has no len() and no items")
        return found

    def __len__(self) -> int:
        length = self._counted().length
        return length if isinstance(length, int) else _refuse(f"the length of a {self.name} is not known here")

    def __iter__(self) -> Iterator[Any]:
        found = self.__iterable__()
        if isinstance(found, Stream) or not isinstance(found.length, int):
            _refuse(f"a {self.name} of unknown length cannot be iterated over here")
        return map(found.item, range(found.length))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        _refuse(f"a {self.name} of tensors cannot become a NumPy array here", f"Use a list: list({self.name}(...)).")

    def containers(self) -> list[Any]:
        """The lists and dicts that the items come from."""
        found = self.__iterable__()
        return [] if isinstance(found, Stream) else [x.owner for x in found.lists if hasattr(type(x), "owner")]

    @property
    def length(self) -> Any:
        """The number of items: an int, or a weak int32 scalar."""
        return self._counted().length

    def __truth__(self) -> Any:
        """Whether there are items: the condition of a staged `if` on the object."""
        return self.length != 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError(f"a {self.name} of tensors does not take slices; use list() on it first")
        found = self._counted()
        i = normalised_index(index, found.length, f"{self.name} object index out of range")
        return found.item(i)

    def __repr__(self) -> str:
        return f"<staged {self.name}>"


def _refuse(what: str, remedy: str = "Decorate the function with @rt.function or convert it with autograph.convert, so"
            " that it stages.") -> NoReturn:
    error = OperatorNotAllowedInGraphError(f"{what}, while its function is traced", remedy=remedy)
    locate(error, user_position())
    raise decided_in_python(error)


def weak_int(x: Any) -> Any:
    """An integer scalar as a weak one, like a Python int: int32, or int64 for a 64-bit dtype."""
    if isinstance(x, int):
        return x
    dtype = t.int64 if x.dtype.size == 8 else t.int32
    return x if x.type.weak and x.dtype is dtype else apply(CAST, x, dtype=dtype, weak=True)


def normalised_index(index: Any, length: Any, message: str) -> Any:
    """An index that may count from the end, normalised to count from the start. IndexError if out of range."""
    if isinstance(index, int) and isinstance(length, int):
        if not -length <= index < length:
            raise IndexOutOfRangeError(message)
        return index % length
    if isinstance(index, int):
        index = convert_to_tensor(index)
    given = weak_int(index)
    index = where(less(given, 0), given + length, given)
    inside = greater(length, index) & greater(index, -1)
    error = IndexOutOfRangeError(
        concat_text((message, ": index ", formatted(given), ", length ", formatted(length))))
    error.of_op = True  # so that its message names the line
    raise_unless(inside, error)
    return index


def first_true(same: Any) -> Any:
    """The index of the first true element of a vector; its length if there is none."""
    return weak_int(argmax(concat([cast(same, t.int32), [1]], 0), output_type=t.int32))


def is_staged(x: Any) -> bool:
    """Whether `x` is a graph tensor, or an object that represents one or several."""
    return isinstance(x, (GraphTensor, Staged))


def stages(*values: Any) -> bool:
    """Whether one of the values is known only at run time."""
    if current_graph() is None:
        return False
    known = EagerTensor, str, Text
    return any(not isinstance(x, known) and (is_staged(x) or backend_of(x) is not None) for x in values)


def stages_within(value: Any) -> bool:
    """Whether a value, or an item of it if it is a tuple or list, is known only at run time, or is of a user's class,
    whose comparison may depend on graph values."""
    if isinstance(value, (tuple, *LISTS)):
        return any(map(stages_within, value))
    return stages(value) or is_users_class(type(value))


class _Flags(threading.local):
    lists_are_staged = False
    objects_are_chosen = False


flags: Final = of_trace(_Flags())
"""Whether the traced code may have a list with staged items, or a Select; if not, searches for them are skipped."""


def view_of(x: Any) -> Any:
    """The view of a list with staged items, which implements Python's methods; for a Select of lists, the view of its
    contents; any other value unchanged."""
    if hasattr(type(x), "__contents__"):
        x = x.__contents__()
    return x[0].view(x) if has_staged_items(x) else x


def as_iterable(x: Any) -> Iterable_ | None:
    """The `Counted` or `Stream` for a staged `for` over `x`; None for a Python iterable.

    TypeError for a scalar, as in Python.
    """
    if is_reference(x):
        found: Counted = x[0].__iterable__()
        return found
    if not hasattr(type(x), "__contents__"):
        x = view_of(x)
    if isinstance(x, (Staged, Text)):
        return x.__iterable__()
    if not isinstance(x, Tensor) and hasattr(type(x), "__tensor__"):
        x = convert_to_tensor(x)
    return _rows(x) if isinstance(x, Tensor) else None


def _rows(x: Tensor) -> Counted:
    if not isinstance(x, StagedArray):
        x = convert_to_tensor(x)  # checks a value that may be unbound
    if not x.ndim:
        raise not_iterable()
    return Counted(weak_int(dim(x, 0)), lambda i: x[i])


def counted(x: Any, what: str) -> Iterable_:
    """`as_iterable`, extended to Python sequences used with tensors. StagingError if `x` cannot be indexed."""
    found = as_iterable(x)
    if found is not None:
        return found
    if isinstance(x, range):
        return StagedRange(x.start, x.stop, x.step).__iterable__()
    if isinstance(x, dict):
        x = list(x)
    if isinstance(x, (*LISTS, tuple)):
        return Counted(len(x), indexable([*x], what))
    if isinstance(x, np.ndarray):
        return _rows(convert_to_tensor(x))
    if not hasattr(type(x), "__iter__"):
        raise TypeError(f"'{type(x).__name__}' object is not iterable")
    raise _cannot_stage(x, what)


class EagerRows:
    """The rows of an eager tensor as a sequence: its iterator takes them by index, so the rest is known. Or the rows of
    a tensor of the graph whose length is known, for a loop that may be unrolled."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __len__(self) -> int:
        return int(self.tensor.type.shape[0] or 0)

    def __getitem__(self, index: int) -> Any:
        return self.tensor[index]


def iterated(x: Any) -> Any:
    """What Python's builtins should iterate over: the rows of an eager tensor (`EagerRows`), anything else itself."""
    return EagerRows(x) if isinstance(x, EagerTensor) and x.ndim and current_graph() is not None else x


def indexable(x: Sequence[Any], what: str) -> Callable[[Any], Any]:
    """A function from an index tensor to the item of a Python sequence: each leaf of the items is stacked into one
    tensor."""
    if not x:
        return lambda i: 0
    try:
        columns = [_column(list(values)) for values in _columns(x)]
    except (TypeError, ValueError) as exc:
        raise _cannot_stage(x, what) from exc
    return lambda i: pytree.pack_sequence_as(x[0], [column(i) for column in columns])


def _columns(x: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """By leaves of the items, those of all items. ValueError or TypeError if the structures of the items differ."""
    if only_atoms(x):
        return [x]
    if only_records(x) and len(set(map(len, x))) == 1:
        return zip(*x)
    for other in x[1:]:
        pytree.assert_same_structure(x[0], other)
    return zip(*map(pytree.flatten, x))


def _column(values: list[Any]) -> Callable[[Any], Any]:
    if all(value is values[0] for value in values) and not isinstance(values[0], (int, float, Tensor)):
        return lambda i: values[0]
    if any(isinstance(value, StagedArray) for value in values):
        return lambda i: selected(values, i)
    if all(issubclass(kind, enum.Enum) for kind in set(map(type, values))):
        return lambda i: OPERATIONS.choose_member(values, i)
    rows = stacked(values)
    return lambda i: rows[i]


_FEW: Final = 16
"""No more values than this are stacked anew each time."""
_MOST_STACKS: Final = 8
_NEVER_CHANGE: Final = frozenset({bool, int, float, complex, GraphTensor})


class _Stack(NamedTuple):
    """The rows of a list, made in the graph of the value `rows` by its node at that place."""

    values: tuple[Any, ...]
    rows: Value
    place: int

    def is_in_reach(self, graph: Graph) -> bool:
        """Whether the node is still there, and the graph can use it."""
        nodes = self.rows.graph.nodes
        return self.rows.graph.contains(graph) and self.place < len(nodes) and nodes[self.place] is self.rows.node


class _Stacks(threading.local):
    made: Mapping[tuple[int, ...], _Stack] = {}
    """By the ids of the values: the last stacks of tensors, for which each read of a list at a tensor's index asks."""


_stacks: Final = of_trace(_Stacks())


def stacked(values: list[Any]) -> Tensor:
    """Numbers or tensors as the rows of a tensor, weak if all are Python numbers. TypeError for text and None."""
    kinds = set(map(type, values))  # of many values there are few
    graph = current_graph() if GraphTensor in kinds and len(values) > _FEW else None
    if graph is None or not kinds <= _NEVER_CHANGE or any([type(x) is GraphTensor and x.memory for x in values]):
        return _stack(values, kinds)
    key = tuple(map(id, values))
    made = _stacks.made.get(key)
    if made is None or not made.is_in_reach(graph):
        before = len(graph.nodes)
        rows = _stack(values, kinds)
        if not isinstance(rows, GraphTensor) or len(graph.nodes) == before:
            return rows
        made = _Stack(tuple(values), rows.value, len(graph.nodes) - 1)
        _stacks.made = {**dict([*_stacks.made.items()][1 - _MOST_STACKS:]), key: made}
    return GraphTensor(made.rows)


def _stack(values: list[Any], kinds: set[type]) -> Tensor:
    if any(issubclass(kind, (str, Text, bytes, NoneType)) for kind in kinds):
        raise TypeError("strings and None do not stack")
    if any(issubclass(kind, Tensor) or hasattr(kind, "__tensor__") for kind in kinds):
        return convert_to_tensor(values)
    array, weak = constant_array(values)
    rows = convert_to_tensor(array)
    return apply(CAST, rows, dtype=type_of_array(array, weak).dtype, weak=True) if weak else rows


def _cannot_stage(x: Any, what: str) -> StagingError:
    text = whole if len(whole := repr(x)) <= 60 else whole[:57] + "..."
    return staging_error(
        f"{what} runs over a tensor together with {text}, whose items cannot be one tensor",
        "Make it a list of numbers or tensors of one shape and dtype, or loop over it alone.")


class StagedRange(Lazy):
    """`range` of tensors; items are weak, like Python ints. ValueError at run time if the step is 0."""

    name = "range"

    def __init__(self, *args: Any) -> None:
        if not 1 <= len(args) <= 3:
            raise TypeError(f"range expected {'at least 1 argument' if not args else 'at most 3 arguments'}, "
                            f"got {len(args)}")
        bounds = [_integer(arg) for arg in args]
        self.start: Any = bounds[0] if len(bounds) > 1 else 0
        self.stop: Any = bounds[1] if len(bounds) > 1 else bounds[0]
        self.step: Any = bounds[2] if len(bounds) == 3 else 1
        if isinstance(self.step, int):
            if self.step == 0:
                raise ValueError("range() arg 3 must not be zero")
        else:
            raise_unless(self.step != 0, ValueError("range() arg 3 must not be zero"))
        self._length = self._count()

    def _count(self) -> Any:
        start, stop, step = self.start, self.stop, self.step
        if all(isinstance(x, int) for x in (start, stop, step)):
            return len(range(start, stop, step))
        if isinstance(step, int):
            span = stop - start if step > 0 else start - stop
            count = span if abs(step) == 1 else (span + (abs(step) - 1)) // abs(step)
        else:
            up = greater(step, 0)
            size = where(up, step, -step)  # a step of 0 has raised
            count = (where(up, stop - start, start - stop) + size - 1) // maximum(size, 1)
        return maximum(count, 0)

    def __iterable__(self) -> Counted:
        start, step = self.start, self.step
        plain = isinstance(start, int) and start == 0 and isinstance(step, int) and step == 1
        dtypes = [x.type for x in (start, self.stop, step) if isinstance(x, Tensor)]
        dtype = promote(dtypes)[0] if dtypes else t.int32

        def item(i: Any) -> Any:
            if isinstance(i, Tensor) and not (i.type.weak and i.dtype is dtype):
                i = apply(CAST, i, dtype=dtype, weak=True)
            return i if plain else start + (i if isinstance(step, int) and step == 1 else i * step)

        return Counted(self._length, item)

    def __as_array__(self) -> Tensor:
        return convert_to_tensor(OPERATIONS.listed(self))

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return super().__getitem__(index)
        start, stop, step = _indices(index, self._length)
        first, by = self.start, self.step
        return StagedRange(first + start * by, first + stop * by, by * step)

    def __contains__(self, x: Any) -> bool:
        if isinstance(x, Tensor) or not all(isinstance(y, int) for y in (self.start, self.stop, self.step)):
            _refuse("`in` a range of tensors has no Python value")
        return x in range(self.start, self.stop, self.step)

    def __reversed__(self) -> StagedReversed:
        return StagedReversed(self)

    def __str__(self) -> str:
        step = "" if isinstance(self.step, int) and self.step == 1 else f", {self.step}"
        return f"range({self.start}, {self.stop}{step})"


def _indices(part: slice, length: Any) -> tuple[Any, Any, int]:
    """`part.indices(length)` for a length that only the graph knows."""
    step = 1 if part.step is None else part.step
    if isinstance(step, Tensor):
        raise staging_error("only the graph knows the step of this slice of a range",
                            "Use a step that Python knows, or a range with that step.")
    step = operator.index(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (0, length) if step > 0 else (-1, length - 1)

    def bound(place: Any, missing: Any) -> Any:
        if place is None:
            return missing
        place = _integer(place)
        if not any(isinstance(x, Tensor) for x in (place, length)):
            return max(place + length, low) if place < 0 else min(place, high)
        place, end = (weak_int(convert_to_tensor(x)) for x in (place, length))
        return where(less(place, 0), maximum(place + end, low), minimum(place, high))

    return bound(part.start, low if step > 0 else high), bound(part.stop, high if step > 0 else low), step


def _integer(x: Any) -> Any:
    if isinstance(x, Tensor) or hasattr(type(x), "__tensor__"):
        x = convert_to_tensor(x)
        if x.ndim or not x.dtype.is_integer:
            error = TypeError(f"range takes integer scalars, not {x.type}")
            error.remedy = "Give it one integer, for example rt.cast(n, rt.int32)."  # type: ignore[attr-defined]
            locate(error, user_position())
            raise error
        return weak_int(x)
    try:
        return x.__index__()
    except AttributeError:
        raise TypeError(f"'{type(x).__name__}' object cannot be interpreted as an integer") from None


class StagedReversed(Lazy):
    """`reversed` of a staged iterable with a length."""

    name = "reversed"

    def __init__(self, sequence: Any) -> None:
        found = counted(sequence, "reversed")
        if isinstance(found, Stream):
            raise TypeError(f"'{type(sequence).__name__}' object is not reversible")
        self._found = found

    def __iterable__(self) -> Counted:
        found = self._found

        def item(i: Any) -> Any:
            index = found.length - 1 - i
            if isinstance(index, GraphTensor):
                note_not_negative(index.value)
            return found.item(index)

        def is_there(i: Any) -> Any:
            assert found.is_there is not None
            return logical_and(less(i, found.length), found.is_there(found.length - 1 - i))

        return Counted(found.length, item, found.lists, None if found.is_there is None else is_there)

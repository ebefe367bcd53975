"""Arrays of a traced function whose identity is known only when the graph runs."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from autograph.backend import has_staged_items, operators
from runtime.core.array_mode import want_objects
from runtime.core.errors import StagingError
from runtime.core.graph import Graph, Value
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import GraphTensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import TensorType
from runtime.numpy.array_indexing import (
    Known,
    as_tensor,
    cast_into,
    get_elements,
    is_basic,
    known,
    located,
    plain_index,
    set_elements,
)
from runtime.numpy.array_objects import ArrayCell, ArrayView, StagedArray
from runtime.ops.logic import equal, where

__all__ = ["JoinedArray", "SelectedArray", "as_live_out", "choices_of", "is_made_in", "owners_of", "selected"]


def owners_of(x: Any) -> list[Any]:
    """The mutable values that hold the elements of an array."""
    if not hasattr(type(x), "__viewed__"):
        return [x]
    viewed = x.__viewed__()
    return [owner for each in (viewed if isinstance(viewed, tuple) else (viewed,)) for owner in owners_of(each)]


def is_made_in(x: Any, graph: Graph) -> bool:
    """Whether an array that holds elements of `x`, or `x` itself, was made in a graph."""
    return any(isinstance(owner, ArrayCell) and owner.born is graph for owner in owners_of(x))


def as_live_out(view: StagedArray) -> StagedArray:
    """A view in the form in which it leaves the body being traced. A view of an array made in the body becomes a
    readable array, and the array that shares its elements must not change any more."""
    elements = view.__tensor__()
    view.last = {**getattr(view, "last", {}), current_graph(): elements}
    own = [owner for owner in owners_of(view) if isinstance(owner, ArrayCell) and owner.born is current_graph()]
    if isinstance(view, JoinedArray) or not own:
        return view
    for owner in own:
        owner.refusal = _has_a_view
    return JoinedArray(elements)


def _has_a_view() -> StagingError:
    return StagingError(
        "an array is changed that a staged statement has made a view of: the view has the elements as they were",
        remedy="Make the view after the statement, or a copy, b = a[i].copy().")


class SelectedArray(StagedArray):
    """The array `one_of[index]`, for arrays of one dtype and shape. A write changes each array conditionally on the
    index."""

    __slots__ = ("_known", "index", "one_of")

    def __init__(self, one_of: Sequence[StagedArray], index: Any) -> None:
        self.one_of, self.index, self.memory = tuple(one_of), index, ()
        self._known: Known | None = None

    @property
    def type(self) -> TensorType:
        return self.one_of[0].type

    @property
    def leaf(self) -> GraphTensor:
        now = [x.value for x in self.one_of]
        if self._known is None or not self._known.is_current(now):
            self._known = known(now, self._read(lambda x: x))
        return self._known.elements

    def know(self, elements: Known) -> None:
        """Take these as the elements while the arrays keep their contents."""
        self._known = elements

    def _read(self, part: Callable[[GraphTensor], GraphTensor]) -> GraphTensor:
        """What `part` gives of the elements of the chosen array."""
        elements = [x.__tensor__() for x in self.one_of]

        def read(j: int) -> Any:
            if j == len(elements) - 1:
                return part(elements[j])
            return self._if_chosen(j, lambda: part(elements[j]), lambda: read(j + 1))

        return as_tensor(read(0))

    def _if_chosen(self, j: int, chosen: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """What one of both returns. It is a branch of its own where only the graph knows the sizes of the arrays: that
        of an array that is not chosen may not fit, or it may not be bound."""
        if None in self.type.shape:
            return operators.if_exp(equal(self.index, j), chosen, other)
        return where(equal(self.index, j), chosen(), other())

    def write(self, contents: Any) -> None:
        self._write(lambda _: contents)

    def _write(self, change: Callable[[GraphTensor], Any]) -> None:
        """Give the chosen array the elements that `change` makes of its present ones."""
        def changed(j: int, old: GraphTensor) -> Any:
            return self._if_chosen(j, lambda: change(old), lambda: old)

        for j, x in enumerate(self.one_of):
            x.write(changed(j, x.__tensor__()))

    def __getitem__(self, index: Any) -> Any:
        index = plain_index(index)
        if not is_basic(index):
            return super().__getitem__(index)
        part = self._read(lambda x: get_elements(x, index))
        return ArrayView(self, index, part) if part.ndim else part

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        index = plain_index(index)
        if not is_basic(index):
            super().__setitem__(index, value)
            return
        value = cast_into(value, self.dtype)
        if None in self.type.shape:
            self._write(lambda x: set_elements(x, index, value))
            return
        for j, x in enumerate(self.one_of):
            x[index] = where(equal(self.index, j), value, get_elements(x.__tensor__(), index))

    def __viewed__(self) -> tuple[StagedArray, ...]:
        return self.one_of

    def __leaves__(self) -> list[Any]:
        return [self.index]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return SelectedArray(self.one_of, leaves[0])

    def some_elements(self) -> GraphTensor:
        return self.one_of[0].leaf

    def place_of(self, x: StagedArray) -> Any:
        """The index of an array, or of another choice among some of these, in `one_of`."""
        one_of, index = choices_of(x)
        places = [next(k for k, array in enumerate(self.one_of) if array is one) for one in one_of]
        if index is None or places == [*range(len(places))]:
            return places[0] if index is None else index
        found: Any = places[0]
        for k, place in enumerate(places[1:], 1):
            found = where(equal(index, k), place, found)
        return found

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return tuple(map(id, self.one_of))


def choices_of(x: Any) -> tuple[tuple[Any, ...], Any]:
    """The arrays that `x` may be, and the index of the one that it is; itself, and None, if that is known."""
    return (x.one_of, x.index) if isinstance(x, SelectedArray) else ((x,), None)


class JoinedArray(StagedArray):
    """An array that, on some paths through a staged statement, is a view or alias of other arrays, or a tensor. It can
    be read as long as those arrays do not change."""

    __slots__ = ("_owners", "leaf")

    def __init__(self, leaf: GraphTensor, owners: Iterable[Any] = ()) -> None:
        self.leaf: GraphTensor = leaf
        self.memory = ()
        self._owners = [(owner, contents_of(owner)) for owner in {id(x): x for x in owners}.values()]

    @property
    def value(self) -> Value:  # type: ignore[override]
        if current_graph() is not None and any(contents_of(owner) is not before for owner, before in self._owners):
            self._refuse_change()
        return self.leaf.value

    @property
    def type(self) -> TensorType:
        return self.leaf.type

    def __viewed__(self) -> tuple[Any, ...]:
        return tuple([owner for owner, _ in self._owners])

    def write(self, contents: Any) -> None:
        self._refuse_change()

    def _refuse_change(self) -> None:
        raise want_objects(located(StagingError(
            "an array is changed that may have another name or view here, or none: that depends on the way through a"
            " staged statement, which is known only when the graph runs",
            remedy="Give each name an array of its own, b = a.copy(), or change the array by an index, a[i, j] = x.")))

    def __leaves__(self) -> list[Any]:
        return [self.leaf]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return JoinedArray(as_tensor(convert_to_tensor(leaves[0])), self.__viewed__())

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return ()


def selected(values: Sequence[Any], index: Any) -> Any:
    """The item at a graph index of several arrays, some of which may be tensors or numbers."""
    arrays = [x for x in values if isinstance(x, StagedArray)]
    if len(arrays) == len(values) and all(x.type == arrays[0].type for x in arrays):
        return SelectedArray(arrays, index)
    tensors = OPERATIONS.stack([x.__tensor__() if isinstance(x, StagedArray) else x for x in values])
    return JoinedArray(as_tensor(tensors[index]), [owner for x in arrays for owner in owners_of(x)])


def contents_of(owner: Any) -> Any:
    """The current contents of the holder of an array's elements, to be compared by identity."""
    if isinstance(owner, StagedArray):
        return owner.value
    return owner[0].leaves[0].value if has_staged_items(owner) else None


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
from runtime.numpy import array_layouts
from runtime.numpy.array_indexing import (
    Known,
    as_tensor,
    cast_into,
    get_elements,
    is_basic,
    known,
    located,
    plain_index,
    same_index,
    set_elements,
)
from runtime.numpy.array_objects import ArrayCell, ArrayView, StagedArray
from runtime.ops.logic import equal, where

__all__ = [
    "JoinedArray", "SelectedArray", "SelectedOrNew", "as_live_out", "choices_of", "common_layout", "is_made_in",
    "is_same_array", "owners_of", "readable", "selected"]


def owners_of(x: Any) -> list[Any]:
    """The mutable values that hold the elements of an array."""
    if not hasattr(type(x), "__viewed__"):
        return [x]
    viewed = x.__viewed__()
    return [owner for each in (viewed if isinstance(viewed, tuple) else (viewed,)) for owner in owners_of(each)]


def is_made_in(x: Any, graph: Graph | None) -> bool:
    """Whether an array that holds elements of `x`, or `x` itself, was made in a graph."""
    return any(isinstance(owner, ArrayCell) and owner.born is graph for owner in owners_of(x))


def as_live_out(view: StagedArray, has_one_name: Callable[[ArrayCell], bool]) -> StagedArray:
    """A view, or one of several arrays, in the form in which it leaves the body being traced. One of several arrays, of
    which those made in the body have no other name after it, stays one. Else a view of an array made in the body
    becomes a readable array, and the array that shares its elements must not change any more. `has_one_name`: whether
    an array is certainly made in the body, and no other live-out variable may refer to it."""
    elements = view.__tensor__()
    view.last = {**getattr(view, "last", {}), current_graph(): elements}
    owners = owners_of(view)
    own = [owner for owner in owners if isinstance(owner, ArrayCell) and owner.born is current_graph()]
    if not own:
        return view
    others = [owner for owner in owners if not any(owner is one for one in own)]
    for owner in own:
        owner.refusal = _has_a_view
    if isinstance(view, SelectedArray) and all(map(has_one_name, own)):
        before = [one for one in view.one_of if not is_made_in(one, current_graph())]
        if len(before) + len(own) == len(view.one_of):  # each of the others is an array, and not a view of one
            return SelectedOrNew(elements, before, place_among(before, view), common_layout(view.one_of))
    return JoinedArray(elements, others)


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
    def model(self) -> array_layouts.Model | None:
        return array_layouts.model_of(self.type.shape, self.dtype.np.itemsize, common_layout(self.one_of))

    @property
    def leaf(self) -> GraphTensor:
        now = [x.value for x in self.one_of]
        if self._known is None or not self._known.is_current(now):
            self._known = known(now, self._read(lambda x: x))
        return self._known.elements

    def know(self, elements: Known) -> None:
        """Take these as the elements while the arrays keep their contents."""
        self._known = elements

    def settle(self) -> None:
        """Called when all arrays have the contents with which the elements, if known, were given."""
        if self._known is not None:
            self._known = known([x.value for x in self.one_of], self._known.elements)

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
        if len(self.one_of) == 1:
            return chosen()
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

    def __owned__(self) -> list[Any]:
        """Those that were made in the graph being traced, such as a body's new array of a `SelectedOrNew`."""
        return [x for x in self.one_of if isinstance(x, ArrayCell) and x.born is current_graph()]

    def __leaves__(self) -> list[Any]:
        return [self.index]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return SelectedArray(self.one_of, leaves[0])

    def some_elements(self) -> GraphTensor:
        return self.one_of[0].leaf

    def place_of(self, x: StagedArray) -> Any:
        """The index of an array, or of another choice among some of these, in `one_of`."""
        one_of, _ = choices_of(x)
        assert all(any(is_same_array(array, one) for array in self.one_of) for one in one_of)
        return place_among(self.one_of, x)

    def leaves_of(self, x: StagedArray, original: Any) -> list[Any]:
        """The leaves of one of these arrays. `original`: the one outside the body that has `x`."""
        return [self.place_of(original)]

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return tuple(map(id, self.one_of))


def readable(x: Any, outside: Graph | None) -> Any:
    """An array for a handler in the graph `outside` of the body where it is: one of several of which the body has made
    some becomes a readable array; others stay."""
    if isinstance(x, SelectedArray) and outside is not None and not all(
            isinstance(owner, ArrayCell) and owner.born is not None and owner.born.contains(outside)
            for owner in owners_of(x)):
        return JoinedArray(x.__tensor__(), owners_of(x))
    return x


def choices_of(x: Any) -> tuple[tuple[Any, ...], Any]:
    """The arrays that `x` may be, and the index of the one that it is; itself, and None, if that is known."""
    if isinstance(x, SelectedOrNew):
        return (*x.one_of, x), x.index
    return (x.one_of, x.index) if isinstance(x, SelectedArray) else ((x,), None)


def place_among(arrays: Sequence[Any], x: Any) -> Any:
    """The index in `arrays` of an array, or of one of several; `len(arrays)` if it is another one."""
    one_of, index = choices_of(x)
    places = [next((k for k, array in enumerate(arrays) if is_same_array(array, one)), len(arrays)) for one in one_of]
    if index is None or places == [*range(len(places))]:
        return places[0] if index is None else index
    found: Any = places[0]
    for k, place in enumerate(places[1:], 1):
        found = where(equal(index, k), place, found)
    return found


def is_same_array(a: Any, b: Any) -> bool:
    """Whether these are one array, or the same elements of one."""
    return a is b or (isinstance(a, ArrayView) and isinstance(b, ArrayView) and same_index(a.index, b.index)
                      and is_same_array(a.base, b.base))


def common_layout(arrays: Sequence[Any]) -> array_layouts.Layout:
    """The layout that all these arrays have; None if it is not known."""
    layouts = [getattr(x, "layout", None) for x in arrays]
    return layouts[0] if all(layout == layouts[0] for layout in layouts) else None


class SelectedOrNew(StagedArray):
    """The array `one_of[index]`, or, at the index `len(one_of)`, a new one that no other variable has: the form in
    which an array leaves a body that has made it on some paths. Outside it is one of several, of which the last is the
    new one."""

    __slots__ = ("index", "layout", "leaf", "one_of")

    def __init__(
        self, leaf: GraphTensor, one_of: Sequence[StagedArray], index: Any, layout: array_layouts.Layout
    ) -> None:
        self.leaf: GraphTensor = leaf
        self.one_of, self.index, self.layout, self.memory = tuple(one_of), index, layout, ()

    def leaves_of(self, x: StagedArray, original: Any) -> list[Any]:
        """The leaves of an array at the end of a body. `original`: the one outside it, or None for a new one."""
        return [x.at_end(), place_among(self.one_of, original)]

    @property
    def type(self) -> TensorType:
        return self.leaf.type

    def __viewed__(self) -> tuple[StagedArray, ...]:
        return self.one_of

    def __leaves__(self) -> list[Any]:
        return [self.leaf, self.index]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        new = ArrayCell(as_tensor(leaves[0]), layout=self.layout)
        if not self.one_of:
            return new
        made = SelectedArray([*self.one_of, new], leaves[1])
        made.know(known([x.value for x in made.one_of], new.leaf))
        return made

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return tuple(map(id, self.one_of))


class JoinedArray(StagedArray):
    """An array that, on some paths through a staged statement, is a view or alias of other arrays, or a tensor. It can
    be read as long as those arrays do not change."""

    __slots__ = ("_owners", "leaf")

    def __init__(self, leaf: GraphTensor, owners: Iterable[Any] = ()) -> None:
        self.leaf: GraphTensor = leaf
        self.memory = ()
        self._owners = [(owner, contents_of(owner)) for owner in {id(x): x for x in owners}.values()]

    def settle(self) -> None:
        """Called when all owners have the contents that the elements belong to."""
        self._owners = [(owner, contents_of(owner)) for owner, _ in self._owners]

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


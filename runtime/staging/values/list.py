"""Python lists in staged code that grow or shrink in a loop or branch on tensors."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from autograph.backend import LISTS, ListItems, ambient, duplicate, has_staged_items, is_users_object, refill
from runtime.core.array_mode import (
    lists_hold_arrays,
    lists_share_arrays,
    note_copy,
    want_objects,
    watch_array,
)
from runtime.core.constant_arrays import adapted, constant_array
from runtime.core.errors import OperatorNotAllowedInGraphError, StagingError, locate
from runtime.core.generator_frames import decided_in_python
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import Position, staging_error, user_position
from runtime.core.tensor import GraphList, GraphTensor, Tensor
from runtime.core.text import ITEM, ITEMS, REPR, Text
from runtime.core.trace import capture, constant, convert_to_tensor, current_graph, wrap
from runtime.core.types import TensorType
from runtime.numpy.array_indexing import as_tensor, known
from runtime.numpy.array_objects import SingleView, StagedArray
from runtime.numpy.array_results import as_object
from runtime.ops.lists import (
    ListValue,
    join_elements,
    list_append,
    list_extend,
    list_from_tensor,
    list_get,
    list_insert,
    list_length,
    list_new,
    list_pop,
    list_set,
    list_slice,
)
from runtime.ops.logic import greater, less
from runtime.ops.tensor_lists import element_at, stacked, with_element
from runtime.staging.values.iterables import Counted, Staged, Unusable, flags, stages, view_of

if TYPE_CHECKING:
    from typing_extensions import Self
from runtime.staging.values.arrays_in_lists import PUTS, put_array

__all__ = [
    "StagedItems",
    "StagedList",
    "StagedSequence",
    "StagedView",
    "branch",
    "collect",
    "element_as_tensor",
    "fold",
    "fold_while",
    "is_staged_list",
    "unview",
]


_NONE: Final[list[Any]] = []


class StagedItems(ListItems, Unusable):
    """The single item of a list or deque of tensors that grows or shrinks in staged code: a graph list."""

    __slots__ = ("empty", "leaves")

    structure: Any = None
    """The structure of the items, unless they are tensors."""

    def __init__(self, leaves: Sequence[ListValue] = (), empty: Any = _NONE) -> None:
        """`empty`: an empty list or deque like the owner of the items."""
        self.leaves, self.empty = tuple(leaves), empty
        flags.lists_are_staged = True

    def holding(self, leaves: Sequence[ListValue]) -> StagedItems:
        """A copy with other leaves."""
        return type(self)(leaves, self.empty)

    def __rebuild__(self, leaves: Sequence[Any]) -> StagedItems:
        return self.holding(leaves)

    def view(self, owner: Any) -> StagedSequence:
        """The view of the list or deque, which implements Python's methods."""
        return StagedList.of(owner) if type(owner) is list else OPERATIONS.view_of_deque(owner)

    def __leaves__(self) -> list[ListValue]:
        return [*self.leaves]

    def same(self, other: object) -> bool:
        """Whether the other holds the same values of the graph."""
        return self is other or (isinstance(other, StagedItems) and len(self.leaves) == len(other.leaves) and all(
            a is b or (isinstance(a, GraphList) and isinstance(b, GraphList) and a.value is b.value)
            for a, b in zip(self.leaves, other.leaves, strict=True)))

    def text(self) -> Text:
        """The items as `repr` of the list shows them."""
        return Text.of(cast(GraphList, self.leaves[0]).value, ITEMS)

    def __text__(self, spec: str) -> Text | None:
        return self.text() if isinstance(self.leaves[0], GraphList) else None

    def __repr__(self) -> str:
        return "<staged items>"

    def __deepcopy__(self, memo: Any) -> StagedItems:
        return self

    __eq__ = __ne__ = __bool__ = Unusable._refuse
    __hash__ = ListItems.__hash__

    def refuse(self) -> NoReturn:
        _refuse("the items of a staged list are not known here", "Use the list in converted code, or rt.stack(l).")


def unview(x: Any) -> Any:
    """The list or dict of which `x` is the view; any other value unchanged."""
    return x.owner if isinstance(x, StagedView) else x


def is_staged_list(x: Any) -> bool:
    """Whether the items of a list are stored in graph lists."""
    return has_staged_items(x) and isinstance(x[0], StagedItems)


class StagedView(Staged):
    """The operations of a list, deque or dict with staged items, the `owner`, as of its Python class. (User code holds
    the owner itself.)"""

    __slots__ = ("owner",)

    owner: Any

    def __leaves__(self) -> list[Any]:
        return [*self.owner[0].leaves]

    def copy(self) -> Self:
        """The view of a new owner with the same items."""
        _note_copy(self.__leaves__())
        return self.of(duplicate(self.owner))

    @classmethod
    def of(cls, owner: Any) -> Self:
        """The view of a list, deque or dict."""
        made = cls.__new__(cls)
        made.owner = owner
        return made


class StagedSequence(StagedView):
    """The operations of a list or deque with staged items."""

    __slots__ = ()

    if TYPE_CHECKING:
        @property
        def length(self) -> Any: ...
        def append(self, x: Any, /) -> None: ...
        def extend(self, iterable: Any, /) -> None: ...
        def insert(self, index: Any, x: Any, /) -> None: ...
        def pop(self, index: Any = -1, /) -> Any: ...
        def reverse(self) -> None: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, x: Any) -> None: ...

    def fit(self, x: Any) -> None:
        """Give the elements the structure that an element `x` needs, if there is one."""

    def put_back(self, index: Any, x: Any) -> None:
        """Set an element that was read at that index."""
        self[index] = x

    @property
    def now(self) -> Any:
        """The view of the owner, whose elements may have got another structure."""
        return self.owner[0].view(self.owner)

    def extend_by_records(self, other: StagedSequence) -> None:
        """Add the elements of a staged list of another structure."""
        mine, theirs = OPERATIONS.in_one_structure(self.owner, other.owner)
        refill(self.owner, [mine])
        self.now.extend(theirs.view([theirs]))

    def after(self, other: list[Any]) -> Any:
        """A new list of the elements of a Python list and these."""
        items, mine = OPERATIONS.in_one_structure(other, self.owner)
        made = items.view([items])
        made.extend(mine.view([mine]))
        return made.now

    def as_list(self) -> StagedSequence:
        """A list with the same items."""
        return self.copy()

    def index(self, value: Any, start: Any = 0, stop: Any = None, /) -> Any:
        return OPERATIONS.index(self, value, start, stop)

    def count(self, value: Any, /) -> Any:
        return OPERATIONS.count(self, value)

    def __delitem__(self, index: Any) -> None:
        if isinstance(index, slice):
            OPERATIONS.delete_slice(self, index)
        else:
            self.pop(index)

    def remove(self, value: Any, /) -> None:
        OPERATIONS.remove(self, value)

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        OPERATIONS.sort(self, key=key, reverse=reverse)

    def __mul__(self, count: Any) -> Any:
        return OPERATIONS.repeat(self, count)

    __rmul__ = __mul__

    def __imul__(self, count: Any) -> Any:
        return OPERATIONS.repeat(self, count, in_place=True)


class StagedList(StagedSequence):
    """A list of tensors of one type in a function that is being traced.

    It has the methods of `list` that can be staged. An element that is read is a graph tensor, and `len` is a tensor.
    Python numbers among the elements stay weak. As a tensor, it is stacked.
    """

    __slots__ = ()

    def __init__(self, list: ListValue) -> None:
        self.owner = [StagedItems((list,))]

    @property
    def _list(self) -> ListValue:
        return self.owner[0].leaves[0]  # type: ignore[no-any-return]

    @_list.setter
    def _list(self, value: ListValue) -> None:
        refill(self.owner, [self.owner[0].holding((value,))])

    @classmethod
    def from_items(cls, items: Sequence[Any], element: TensorType | None = None) -> StagedList:
        """The staged list of the items of a Python list.

        `element`: an upper bound of their types; by default, their join. StagingError if an item is not a tensor or
        number.
        """
        numbers = _constant_numbers(items, element)
        if numbers is not None:
            return cls(list_from_tensor(numbers))
        mixed = _numbers_with_tensors(items, element)
        if mixed is not None:
            return cls(mixed)
        tensors = [element_as_tensor(item) for item in items]
        for x in tensors:
            element = x.type if element is None else join_elements(element, x.type)
        if element is None:
            raise StagingError("an empty list has no type: nothing tells what its elements will be")
        return cls(list_new(tensors, element))

    @classmethod
    def from_tensor(cls, x: Any) -> StagedList:
        """The rows of a tensor."""
        if isinstance(x, StagedArray):
            put_array(x, None, True)
        return cls(list_from_tensor(x))

    # For staging and the executors.

    def __tensor__(self) -> Tensor:
        result: Tensor = stacked(self._list)
        return result

    def __iterable__(self) -> Counted:
        return Counted(self.length, lambda i: self._get(i), (self,), lambda i: less(i, self.length))

    @property
    def element(self) -> TensorType:
        """The type of the elements."""
        return self._list.type.element

    @property
    def length(self) -> Any:
        """The number of elements: a weak int32 scalar."""
        return list_length(self._list)

    def __truth__(self) -> Any:
        """Whether it has elements, as a bool scalar: the condition of a staged `if` or `while` on the list."""
        return greater(list_length(self._list), 0)

    # Python's list methods.

    def append(self, x: Any, /) -> None:
        if (wider := _restructured(self, x)) is not None:
            wider.append(x)
            return
        self._list = list_append(self._list, element_as_tensor(x, self.owner))

    def extend(self, iterable: Any, /) -> None:
        """Add a staged list, the rows of a tensor, or the items of an iterable."""
        iterable = view_of(iterable)
        if isinstance(iterable, StagedList):
            _note_copy((iterable._list,))
            self._list = list_extend(self._list, iterable._list)
        elif isinstance(iterable, StagedSequence):
            self.extend_by_records(iterable)
        elif isinstance(iterable, Tensor):
            self.extend(StagedList.from_tensor(iterable))
        elif stages(iterable):
            self.extend(OPERATIONS.listed(iterable))
        else:
            for x in iterable:
                self.now.append(x)

    def insert(self, index: Any, x: Any, /) -> None:
        if (wider := _restructured(self, x)) is not None:
            wider.insert(index, x)
            return
        self._list = list_insert(self._list, index, element_as_tensor(x, self.owner))

    def pop(self, index: Any = -1, /) -> Any:
        """Remove and return an element. IndexError at run time if the index is out of range."""
        last = type(index) is int and index == -1
        self._list, x = list_pop(self._list, *(() if last else (index,)))
        return as_object(x) if lists_hold_arrays() else x

    def clear(self) -> None:
        self._list = list_new((), self.element)

    def reverse(self) -> None:
        self._list = list_slice(self._list, step=-1)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            _note_copy((self._list,))
            part = list_slice(self._list, index.start, index.stop, index.step)
            return StagedList(part)
        return self._get(index)

    def _get(self, index: Any) -> Any:
        found = element_at(self._list, index)
        return ListElement(self.owner, index, found) if lists_hold_arrays() and found.ndim else found

    def __setitem__(self, index: Any, x: Any) -> None:
        if isinstance(index, slice):
            OPERATIONS.replace_slice(self, index, x)
        elif (wider := _restructured(self, x)) is not None:
            wider[index] = x
        else:
            self._list = with_element(self._list, index, element_as_tensor(x, self.owner))

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (list, StagedSequence)):
            return NotImplemented
        result = self.copy()
        result.extend(other)
        return result.now

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, list):
            return NotImplemented
        return self.after(other) if other else self.copy()

    def __iadd__(self, other: Any) -> StagedList:
        self.extend(other)
        return self

    def __len__(self) -> int:
        _refuse("the length of a staged list is not known here", "Use len() in converted code, or rt.shape(l)[0].")

    def __bool__(self) -> bool:
        _refuse("whether a staged list is empty is not known here", "Test len(l) > 0 in converted code.")

    def __iter__(self) -> Iterator[Any]:
        _refuse("a staged list cannot be iterated over here", "Loop over it in converted code, or use rt.stack(l).")

    def __contains__(self, x: Any) -> bool:
        _refuse("`in` a staged list has no Python value", "Use rt.reduce_any(rt.equal(l, x)).")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, StagedList) and self.owner is other.owner:
            return True
        if not isinstance(other, (list, StagedSequence, Tensor)):
            return NotImplemented
        _refuse("staged lists do not compare here",
                "Compare them in converted code, or their tensors: rt.equal(a, b).")

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'list'")

    def __getattr__(self, name: str) -> Any:
        if hasattr(list, name):
            _refuse(f"a staged list has no {name}()", "Stack it with rt.stack(l) and use the functions on tensors.")
        raise AttributeError(f"'list' object has no attribute {name!r}")

    def __text__(self, spec: str) -> Text | None:
        return Text.of(self._list.value, ITEM if spec == REPR else spec) if isinstance(self._list, GraphList) else None

    def __repr__(self) -> str:
        return f"<staged list of {self.element}>"


class ListElement(SingleView):
    """An array in a graph list, as a view of the list."""

    __slots__ = ("_known", "index", "list")

    def __init__(self, list: list[Any], index: Any, found: GraphTensor) -> None:
        self.list, self.index, self.memory = list, index, ()
        self._known = known(self._contents, found)

    @property
    def _contents(self) -> Any:
        return self.list[0].leaves[0].value if is_staged_list(self.list) else None

    @property
    def leaf(self) -> GraphTensor:
        now = self._contents
        if self._known.of is not now:
            raise self._refused("was read from a list which was changed since")
        if not self._known.is_current(now):
            self._known = known(now, list_get(StagedList.of(self.list)._list, self.index))
        return self._known.elements

    @property
    def type(self) -> TensorType:
        return self._known.elements.type

    def write(self, contents: Any) -> None:
        if lists_share_arrays():
            raise self._refused("is in a list and may have other names, too")
        if self._known.of is not self._contents:
            raise self._refused("was read from a list which was changed since")
        PUTS.written(self.list)
        view = StagedList.of(self.list)
        view._list = list_set(view._list, self.index, contents)
        self._known = known(self._contents, as_tensor(contents))

    def _refused(self, what: str) -> Exception:
        return want_objects(staging_error(
            f"an array is used here that {what}: a list that changes in staged code holds the elements of the arrays,"
            " not the arrays themselves", "Put copies in it, xs.append(a.copy()), and change its items by their index,"
            " xs[i][j] = x."))

    def __viewed__(self) -> Any:
        return self.list


def _refuse(what: str, remedy: str) -> NoReturn:
    error = OperatorNotAllowedInGraphError(f"{what}: the list is made while the graph runs", remedy=remedy)
    locate(error, user_position())
    raise decided_in_python(error)


def _restructured(items: StagedList, x: Any) -> Any:
    """The view of the list with another structure, if `x`, which is no tensor, can be an element then; else None."""
    if isinstance(x, (*LISTS, tuple, dict, str, Text, StagedSequence)) or x is None or (
            hasattr(type(x), "__arena__") or hasattr(type(x), "__alternatives__") or _is_object(x)) or (
            getattr(getattr(x, "presence", None), "has_value", True) is not True):
        return OPERATIONS.restructured(items, unview(x))
    return None


def _note_copy(leaves: Iterable[Any]) -> None:
    """Record that two lists have these items. Numbers, such as references to objects, are no arrays."""
    if not all([isinstance(leaf, GraphList) and leaf.type.element.shape == () for leaf in leaves]):
        note_copy()


def element_as_tensor(x: Any, target: list[Any] | None = None) -> Any:
    """`x` as a tensor of the current graph; Python numbers become weak tensors. `target`: the list of which it becomes
    an element, if known."""
    x = view_of(x)
    if isinstance(x, StagedArray):
        put_array(x, target)
    watch_array(x)
    if isinstance(x, (*LISTS, tuple, dict, str, bytes)) or x is None or _is_object(x):
        want_references()
        kind = "None" if x is None else f"a {type(x).__name__}"
        raise staging_error(
            f"a list that changes in staged code holds tensors of one type, not {kind}",
            "Use one list for each part, or a tensor made with rt.stack.")
    graph = current_graph()
    return convert_to_tensor(x) if graph is None else wrap(capture(graph, x))


def _is_object(x: Any) -> bool:
    """Whether it is a function, class or object of the user's that is no tensor."""
    return (is_users_object(x) or callable(x)) and not any(
        hasattr(type(x), name) for name in ("__tensor__", "__array__", "__float__"))


_MANY: Final = 16
"""Up to this many Python numbers become one constant each; more become a single array constant."""


def _constant_numbers(items: Sequence[Any], element: TensorType | None) -> Tensor | None:
    """Many Python numbers of one type as one constant, with the dtype of `element`; None for other items."""
    graph = current_graph()
    kind = type(items[0]) if items else None
    if graph is None or len(items) <= _MANY or kind not in (bool, int, float):
        return None
    if not all(type(item) is kind for item in items) or (
            kind is bool and element is not None and not element.dtype.is_bool):
        return None
    array, weak = constant_array(list(items))
    if element is not None:
        if element.shape:
            return None
        array, weak = adapted(array, element.dtype, element.weak)
    return GraphTensor(constant(graph, array, weak))


def _numbers_with_tensors(items: Sequence[Any], element: TensorType | None) -> Any:
    """A list of many Python numbers and a few tensors: a constant, updated with the tensors; None for other items."""
    others = {i: x for i, x in enumerate(items) if type(x) not in (bool, int, float)}
    if element is None or not others or len(others) * _MANY > len(items):
        return None
    number = next(x for i, x in enumerate(items) if i not in others)
    numbers = _constant_numbers([number if i in others else x for i, x in enumerate(items)], element)
    if numbers is None:
        return None
    made = list_from_tensor(numbers)
    for i, x in others.items():
        made = list_set(made, i, element_as_tensor(x))
    return made


# Loops over iterables that build a list.

class _Body:
    """A function of the state as a loop body, positioned at the line being traced."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        position = user_position() or Position("<unknown>", 0)
        self._fn, self.filename, self.lineno = fn, position.filename, position.lineno

    def __call__(self, *values: Any) -> Any:
        found = self._fn(*map(view_of, values))
        return tuple(map(unview, found)) if isinstance(found, tuple) else found


def fold(iterable: Any, step: Callable[..., tuple[Any, ...]], init: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The state after `state = step(item, *state)` for each item of a staged iterable."""
    assert ambient.backend is not None
    return tuple(map(view_of, ambient.backend.reduce(
        unview(iterable), _Body(step), None, tuple(map(unview, init)), names, {})))


def fold_while(
    test: Callable[..., Any], step: Callable[..., tuple[Any, ...]], init: tuple[Any, ...], names: tuple[str, ...]
) -> Any:
    """The state after `while test(*state): state = step(*state)`."""
    assert ambient.backend is not None
    return tuple(map(view_of, ambient.backend.while_loop(
        _Body(test), _Body(step), tuple(map(unview, init)), names, {})))


def branch(pred: Any, then: Callable[..., tuple[Any, ...]], init: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """The state after `if pred: state = then(*state)`."""
    assert ambient.backend is not None
    return tuple(map(view_of, ambient.backend.cond(
        pred, _Body(then), _Body(lambda *state: state), tuple(map(unview, init)), names)))


def collect(
    iterable: Any, keep: Callable[[Any], Any] | None = None, element: Callable[[Any], Any] = lambda item: item
) -> Any:
    """A list of `element(item)` for those items of a staged iterable for which `keep` holds."""

    def append(item: Any, items: Any) -> tuple[Any, ...]:
        def add(items: Any) -> tuple[Any, ...]:
            items.append(unview(element(item)))
            return (items,)

        if keep is None:
            return add(items)
        pred = keep(item)
        if isinstance(pred, (Tensor, Staged)):
            result: tuple[Any, ...] = branch(pred, add, (items,), ("list",))
            return result
        return add(items) if pred else (items,)

    return fold(iterable, append, ([],), ("list",))[0]

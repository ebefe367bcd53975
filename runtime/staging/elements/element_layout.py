"""The layout of the elements of staged lists and dicts: in which tensors, one of each column, an element is stored.

The structure of an element is a pytree. Its leaves are tensors, or `LeafLayout`s: values of other kinds, stored as
tensors, such as rows whose length only the graph knows (those of `[[0] * n for _ in range(m)]`) and text. Reading an
element gives such a value again.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from itertools import count, islice
from typing import Any, Final

from autograph.backend import LISTS, duplicate, fields_in, fill, has_staged_items, parts_in, refill
from runtime.core import pytree
from runtime.core.errors import StagingError
from runtime.core.formatting import repr_of
from runtime.core.object_mode import want_references
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.core.text import ITEM, LIST, QUOTED, TEXT, Hole, Template, Text
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import TensorType, as_dtype, bool_, int32, uint8
from runtime.ops.control import UNDEFINED
from runtime.ops.creation import zeros
from runtime.ops.effects import raise_unless
from runtime.ops.lists import (
    ListValue,
    join_elements,
    list_append,
    list_concat,
    list_from_tensor,
    list_get,
    list_length,
    list_reserve,
    list_split,
    list_stack,
)
from runtime.ops.logic import equal
from runtime.ops.math import cast
from runtime.ops.shape import dim
from runtime.ops.strings import as_bytes, text_of_records
from runtime.staging.values.iterables import StagedRange, view_of
from runtime.staging.values.list import StagedItems, StagedList, element_as_tensor, fold, is_staged_list
from runtime.staging.values.optional import Maybe, Presence, attach

__all__ = [
    "EMPTY", "FEWEST_SLOTS", "LENGTHS", "ROW", "STRING", "UNKNOWN", "LeafLayout", "MaybeNone", "NoItems", "Record",
    "Rows", "StagedStructures", "Tables", "attributes_of", "check_empty", "columns_of", "element_of", "empty_row",
    "has_layouts", "is_row", "is_unknown", "layout_of", "leaf_layouts", "leaves_of", "lengths_of", "may_change",
    "row_type", "same_layout", "shown_columns", "shown_element", "types_of", "width_of"]


FEWEST_SLOTS: Final = 8
"""The number of slots of a hash table with few entries."""
EMPTY: Final = TensorType(as_dtype(bool), (None,), weak=True)
"""The type of the tensor of a row of which no item is known; it adapts to any other."""


class LeafLayout:
    """A leaf of a structure: how a value is stored in `size` columns. This one is for tensors."""

    size: int = 1
    ragged: tuple[bool, ...] = (False,)
    """Which columns have elements of several lengths: vectors, or tensors with rows."""
    spec: str = ITEM
    """How the column is formatted in the `repr` of an element (`runtime.core.text`)."""
    of: Any = None
    """What tells it from others of its class."""
    changes: bool = False
    """Whether a value can be changed in place."""

    def check(self, x: Any) -> None:
        """ValueError if `x` is of another kind."""

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        """The values of the columns, which have these types, for `x`."""
        return [x]

    def types(self, x: Any) -> list[TensorType]:
        """The types of the columns that `x` needs."""
        return [element_as_tensor(x).type]

    def value(self, columns: Sequence[Any]) -> Any:
        """What the values of the columns stand for."""
        return columns[0]

    def shown(self, columns: Sequence[int]) -> Text:
        """The `repr` of the value, with the numbers of the columns as the values of the text."""
        return Text(Template(("", ""), (Hole(self.spec),)), columns)

    def shown_columns(self, columns: Sequence[ListValue]) -> Sequence[ListValue]:
        """The columns with the values that `shown` formats."""
        return columns


class _Text(LeafLayout):
    """Text, stored in UTF-8."""

    ragged = (True,)
    spec = QUOTED

    def check(self, x: Any) -> None:
        if not isinstance(x, (str, Text)):
            raise ValueError(f"the structures differ: {x!r} is no text")

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        return [as_bytes(x)]

    def types(self, x: Any) -> list[TensorType]:
        return [TensorType(uint8, (None,))]

    def value(self, columns: Sequence[Any]) -> Any:
        return Text.of_utf8(columns[0].value)

    def __repr__(self) -> str:
        return "text"


class _Unknown(LeafLayout):
    """What is not known yet, since there were no values."""

    size = 0
    ragged = ()

    def check(self, x: Any) -> None:
        raise ValueError(f"the structures differ: {x!r} is not None")

    def value(self, columns: Sequence[Any]) -> Any:
        return None


class MaybeNone(LeafLayout):
    """A value of that structure, or None, stored as a bit, which says whether there is a value, and the columns of
    the value."""

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.layouts = leaf_layouts(structure)
        self.ragged = (False, *[each for layout in self.layouts for each in layout.ragged])
        self.size = len(self.ragged)

    def check(self, x: Any) -> None:
        content = x.content if isinstance(x, Maybe) else x
        if content is not None:
            leaves_of(self.structure, content)

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        content, presence = (x.content, x.presence) if isinstance(x, Maybe) else (x, None)
        if content is None:
            return [False, *[apply(UNDEFINED, type=type) for type in types[1:]]]
        if presence is not None:
            presence.check_bound()
        bit = True if presence is None else presence.has_value
        return [bit, *columns_of(self.structure, leaves_of(self.structure, content), types[1:])]

    def types(self, x: Any) -> list[TensorType]:
        content = x.content if isinstance(x, Maybe) else x
        return [TensorType(bool_), *([] if content is None else types_of(self.structure, content))]

    def value(self, columns: Sequence[Any]) -> Any:
        bit, *rest = columns
        content = element_of(self.structure, rest)
        return None if content is None else attach(content, Presence("item", None, bit))

    def shown(self, columns: Sequence[int]) -> Text:
        bit, *rest = columns
        if self.structure is UNKNOWN:
            return Text(Template(("None",)), ())
        if pytree.is_nested(self.structure) or self.size > 2:
            raise staging_error("the text of a list is asked for whose elements are tuples or None",
                                "Format the parts of its elements.")
        (layout,) = self.layouts
        if layout.spec == TEXT:
            raise _no_text("members of an Enum, functions or classes, or None")
        return Text(Template(("", ""), (Hole(layout.spec, optional=True),)), (*rest, bit))

    def __repr__(self) -> str:
        return "a value that may be None"


class Rows(LeafLayout):
    """A list of elements of that structure. Each column of the elements is stored as one tensor of all of them, with
    their lengths if these differ."""

    spec = LIST
    changes = True
    made: type = list
    """Python's class of such values."""

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.of_items = [each for layout in leaf_layouts(structure) for each in layout.ragged]
        """Which columns of the items are ragged."""
        self.size = len(self.of_items) + sum(self.of_items)
        self.ragged = (True,) * self.size

    def check(self, x: Any) -> None:
        if isinstance(x, (tuple, dict, Tensor, int, float, complex, str, Text)) or x is None:
            raise ValueError(f"the structures differ: {x!r} is not a list")
        if isinstance(x, LISTS) and not isinstance(x, list):
            raise ValueError(f"a {type(x).__name__} is no list, and cannot be an element")
        if is_table_row(x):
            leaves_of(self.structure, 0)
        elif is_staged_list(x):
            if not (same_layout(self.structure, x[0].structure) or is_unknown_row(x)):
                raise ValueError("the structures of the items of two lists differ")
        elif type(x) is list:
            for item in x:
                leaves_of(self.structure, item)

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        if is_table_row(x):
            return [view_of(x).whole()]
        if is_unknown_row(x) and self.structure is not None:
            check_empty(view_of(x).length)
            x = []
        if isinstance(x, list) and not is_staged_list(x):
            inner = self.inner(types)
            rows = [columns_of(self.structure, leaves_of(self.structure, item), inner) for item in x]
            columns = [StagedList.from_items([row[k] for row in rows], type).__leaves__()[0]
                       for k, type in enumerate(inner)]
        elif self.structure is None:
            return [convert_to_tensor(view_of(x))]
        else:
            columns = view_of(x).__leaves__()
        return [each for column, is_ragged in zip(columns, self.of_items, strict=True)
                for each in ([list_concat(column), lengths_of(column)] if is_ragged else [list_stack(column)])]

    def inner(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of the columns of the items; `types` are those of the columns."""
        rest = iter(types)
        found = [(next(rest), *islice(rest, int(is_ragged))) for is_ragged in self.of_items]
        return [all[0] if len(all) == 2 else TensorType(all[0].dtype, all[0].shape[1:], all[0].weak) for all in found]

    def types(self, x: Any) -> list[TensorType]:
        if is_table_row(x):
            whole = view_of(x).whole().type
            inner = [TensorType(whole.dtype, whole.shape[1:], whole.weak)]
        elif is_staged_list(x):
            inner = [column.type.element for column in view_of(x).__leaves__()]
        elif x:
            inner = [reduce(join_elements, column)
                     for column in zip(*[types_of(self.structure, item) for item in x], strict=True)]
        else:
            inner = [TensorType(EMPTY.dtype, (), weak=True)] * len(self.of_items)
        return self.outer(inner)

    def outer(self, types: Sequence[TensorType]) -> list[TensorType]:
        """The types of the columns; `types` are those of the columns of the items."""
        return [each for type, is_ragged in zip(types, self.of_items, strict=True)
                for each in ([type, LENGTHS] if is_ragged else [row_type(type)])]

    def value(self, columns: Sequence[Any]) -> Any:
        if self.structure is None:
            return StagedList.from_tensor(columns[0]).owner
        rest = iter(columns)
        return [StagedStructures([list_split(next(rest), next(rest)) if is_ragged else list_from_tensor(next(rest))
                                  for is_ragged in self.of_items], self.structure)]

    def shown(self, columns: Sequence[int]) -> Text:
        if self.structure is not None:
            raise staging_error("the text of a list is asked for whose elements are lists of text, tuples or lists",
                                "Format the elements one by one.")
        return super().shown(columns)

    def __repr__(self) -> str:
        return "a list"


class Record(LeafLayout):
    """An object of a class, stored as its attributes, which have these structures. `changes`: whether an attribute may
    be set."""

    def __init__(self, cls: type, fields: dict[str, Any], changes: bool) -> None:
        self.cls, self.fields, self.changes = cls, fields, changes
        self.ragged = tuple([each for layout in leaf_layouts(fields) for each in layout.ragged])
        self.size = len(self.ragged)

    def check(self, x: Any) -> None:
        self._leaves(x)

    def _leaves(self, x: Any) -> list[Any]:
        if type(x) is not self.cls:
            raise ValueError(f"the structures differ: a {type(x).__name__} is no {self.cls.__name__}")
        return leaves_of(self.fields, attributes_of(x))

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        return columns_of(self.fields, self._leaves(x), types)

    def types(self, x: Any) -> list[TensorType]:
        return types_of(self.fields, attributes_of(x))

    def value(self, columns: Sequence[Any]) -> Any:
        return self.holding(element_of(self.fields, columns))

    def holding(self, attributes: dict[str, Any]) -> Any:
        """A new object with these attributes."""
        made: Any = object.__new__(self.cls)
        fill(made, [*attributes.items()])
        return made

    def shown(self, columns: Sequence[int]) -> Text:
        raise _no_text(f"objects of {self.cls.__name__}")

    def __repr__(self) -> str:
        return f"a {self.cls.__name__}"


class NoItems(LeafLayout):
    """A dict or set without items, like `empty`, that may become one with items of which only the graph knows, stored
    as a number that nothing reads."""

    changes = True

    def __init__(self, empty: Any) -> None:
        self.empty, self.kind = empty, (type(empty), getattr(empty, "default_factory", None))

    def check(self, x: Any) -> None:
        if (type(x), getattr(x, "default_factory", None)) != self.kind or (x if isinstance(x, dict) else x.leaves):
            raise ValueError(f"the structures differ: {x!r} is no empty {self.kind[0].__name__}")

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        return [convert_to_tensor(0, int32)]

    def types(self, x: Any) -> list[TensorType]:
        return [TensorType(int32)]

    def value(self, columns: Sequence[Any]) -> Any:
        return duplicate(self.empty)

    def shown(self, columns: Sequence[int]) -> Text:
        raise _no_text(f"{self.kind[0].__name__}s")

    def __repr__(self) -> str:
        return f"a {self.kind[0].__name__}"


class Tables(NoItems):
    """A dict or set of which only the graph knows the items. Each column of its hash table is stored as one tensor.
    `content`: one of them, or what a dict of them has as its item, without leaves."""

    def __init__(self, content: Any) -> None:
        self.content, self.structure = content, content.structure
        super().__init__(content.empty if isinstance(content, StagedItems) else type(content)())
        keys, values = self.structure if self.is_dict else (self.structure, ())
        if any(any(layout.ragged) for layout in leaf_layouts(keys)) or may_change(values) or any(
                layout.ragged != (False,) for layout in leaf_layouts(values)):
            want_references()
            raise staging_error(
                "a dict or set whose items only the graph knows is an element of a list or dict, and has text, None,"
                " lists or tuples of any length", "Use one dict with tuples as keys: d[i, j].")
        self.size = 2 + width_of(self.structure)
        self.ragged = (True,) * self.size

    @property
    def is_dict(self) -> bool:
        return isinstance(self.empty, dict)

    def _leaves(self, x: Any) -> Sequence[Any]:
        """The columns of the table. ValueError if it is of another kind."""
        is_staged = has_staged_items(x) if self.is_dict else isinstance(x, type(self.empty)) and x.leaves
        content = x[0] if self.is_dict and is_staged else x
        if not is_staged or Tables(content).kind != self.kind or not same_layout(content.structure, self.structure):
            raise ValueError(f"the structures differ: {x!r} has other items")
        leaves: Sequence[Any] = content.leaves
        return leaves

    def check(self, x: Any) -> None:
        if self.is_empty(x):
            return
        self._leaves(x)

    def is_empty(self, x: Any) -> bool:
        """Whether it certainly has no items."""
        try:
            super().check(x)
        except (ValueError, AttributeError):
            return False
        return True

    def columns(self, x: Any, types: Sequence[TensorType]) -> list[Any]:
        if self.is_empty(x):
            return [apply(CAST, zeros([1 if k else FEWEST_SLOTS, *type.shape[1:]], type.dtype), dtype=type.dtype,
                          weak=type.weak) for k, type in enumerate(types)]
        return [list_stack(leaf) for leaf in self._leaves(x)]

    def types(self, x: Any) -> list[TensorType]:
        return [row_type(leaf.type.element) for leaf in self._leaves(x)]

    def value(self, columns: Sequence[Any]) -> Any:
        leaves = [*map(list_from_tensor, columns)]
        if not self.is_dict:
            return self.content.__rebuild__(leaves)
        made = duplicate(self.empty)
        refill(made, [self.content.holding(leaves)])
        return made


def _no_text(what: str) -> StagingError:
    return staging_error(f"the text of a list is asked for whose elements are {what}",
                         "Format the parts of its elements.")


def attributes_of(x: Any) -> dict[str, Any]:
    """The attributes of an object by name. StagingError if some are no fields of its dataclass."""
    found = dict(parts_in(x))
    for name in fields_in(x) or ():
        if name not in found and not isinstance(getattr(type(x), name, None), cached_property):
            raise staging_error(
                f"an object of {type(x).__name__} with an attribute {name!r}, which is no field of that class, is an"
                " element of a list or dict that changes in staged code", "Declare it as a field of the class.")
    return found


def lengths_of(column: ListValue) -> Any:
    """The lengths of the elements of a list, as a vector of int32."""
    def add(i: Any, lengths: Any) -> tuple[Any]:
        return (list_append(lengths, cast(convert_to_tensor(dim(list_get(column, i), 0)), int32)),)

    (found,) = fold(StagedRange(list_length(column)), add, (list_reserve(0, TensorType(int32)),), ("lengths",))
    return list_stack(found)


class StagedStructures(StagedItems):
    """The single item of a list of structures like `structure`: one graph list per column."""

    __slots__ = ("structure",)

    def __init__(self, leaves: Sequence[ListValue], structure: Any, empty: Any = None) -> None:
        super().__init__(leaves, [] if empty is None else empty)
        self.structure = structure

    def holding(self, leaves: Sequence[ListValue]) -> StagedStructures:
        return StagedStructures(leaves, self.structure, self.empty)

    def view(self, owner: Any) -> Any:
        return OPERATIONS.view_of_records(owner) if type(owner) is list else OPERATIONS.view_of_deque(owner)

    def text(self) -> Text:
        return text_of_records(shown_columns(self.structure, self.leaves), repr_of(shown_element(self.structure)))


def is_unknown(type: TensorType) -> bool:
    """Whether it is the type of the items of a list of which none is known yet (`EMPTY`)."""
    return type.dtype.is_bool and bool(type.weak)


def check_empty(length: Any) -> None:
    """TypeError at run time if a list of that length has items: bools, beside which others cannot be stored."""
    raise_unless(equal(length, 0), TypeError("a list has bools and other items, which the graph cannot store"))


LENGTHS: Final = TensorType(int32, (None,))
UNKNOWN: Final = _Unknown()
STRING: Final = _Text()
_TENSOR: Final = LeafLayout()


def layout_of(leaf: Any) -> LeafLayout:
    """How the values at a leaf of a structure are stored."""
    return leaf if isinstance(leaf, LeafLayout) else _TENSOR


def leaf_layouts(structure: Any) -> list[LeafLayout]:
    """How the leaves of an element are stored."""
    return [*map(layout_of, pytree.flatten(structure))]


def width_of(structure: Any) -> int:
    """The number of columns that store elements."""
    return sum([layout.size for layout in leaf_layouts(structure)])


def has_layouts(structure: Any) -> bool:
    """Whether an element has leaves that are no tensors."""
    return any(isinstance(leaf, LeafLayout) for leaf in pytree.flatten(structure))


def may_change(structure: Any) -> bool:
    """Whether an element is, or contains, what can be changed in place: a list, dict or object."""
    if isinstance(structure, MaybeNone):
        return may_change(structure.structure)
    if isinstance(structure, Record):
        return structure.changes or any(map(may_change, structure.fields.values()))
    if pytree.is_nested(structure):
        return not isinstance(structure, tuple) or any(map(may_change, pytree.children(structure)))
    return layout_of(structure).changes


def same_layout(a: Any, b: Any) -> bool:
    """Whether two structures store elements in the same way."""
    if pytree.is_nested(a) or pytree.is_nested(b):
        try:
            pytree.assert_same_structure(a, b)
        except (TypeError, ValueError):
            return False
        return all(map(same_layout, pytree.flatten(a), pytree.flatten(b)))
    a, b = layout_of(a), layout_of(b)
    if isinstance(a, Record) and isinstance(b, Record):
        return a.cls is b.cls and same_layout(a.fields, b.fields)
    if isinstance(a, NoItems) and isinstance(b, NoItems) and a.kind != b.kind:
        return False
    return type(a) is type(b) and a.of == b.of and (
        not isinstance(a, (MaybeNone, Rows, Tables)) or same_layout(a.structure, getattr(b, "structure", None)))


ROW: Final = Rows(None)


def is_table_row(x: Any) -> bool:
    """Whether a list is stored as a row of a table (`row_table`)."""
    return type(x) is list and has_staged_items(x) and x[0].storage is not None


def is_row(x: Any) -> bool:
    """Whether `x` is a staged list of tensors."""
    return is_staged_list(x) and x[0].structure is None and type(x) is list


def is_unknown_row(x: Any) -> bool:
    """Whether `x` is a staged list of which no item is known yet."""
    return is_row(x) and is_unknown(view_of(x).element)


def empty_row() -> Any:
    """A new row without items, whose type adapts to that of the first one that is added."""
    return StagedList.from_items([], TensorType(EMPTY.dtype, (), weak=True)).owner


def row_type(element: TensorType) -> TensorType:
    """The type of the tensor of a row with elements of that type."""
    return TensorType(element.dtype, (None, *element.shape), element.weak)


def leaves_of(structure: Any, x: Any) -> list[Any]:
    """The leaves of `x`, of the kinds that the structure has. ValueError or TypeError if the structures differ."""
    if isinstance(structure, LeafLayout):
        structure.check(x)
        return [x]
    if pytree.is_nested(structure) and has_staged_items(x):
        raise ValueError(f"the structures differ: a {type(x).__name__} has items that only the graph knows")
    if not (pytree.is_nested(structure) and pytree.is_nested(x)):
        pytree.assert_same_structure(structure, x)
        return [x]
    layouts, own = [*pytree.children(structure)], [*pytree.children(x)]
    pytree.assert_same_structure(*[pytree.rebuild(each, [None] * len(children))
                                   for each, children in ((structure, layouts), (x, own))])
    return [leaf for layout, child in zip(layouts, own, strict=True) for leaf in leaves_of(layout, child)]


def columns_of(structure: Any, leaves: Sequence[Any], types: Sequence[TensorType]) -> list[Any]:
    """The values of the columns, which have these types, for the leaves of an element."""
    rest = iter(types)
    return [column for layout, leaf in zip(leaf_layouts(structure), leaves, strict=True)
            for column in layout.columns(leaf, _take(layout, rest))]


def element_of(structure: Any, columns: Sequence[Any]) -> Any:
    """The element with these values in the columns."""
    rest = iter(columns)
    return pytree.pack_sequence_as(
        structure, [layout.value(_take(layout, rest)) for layout in leaf_layouts(structure)])


def types_of(structure: Any, x: Any) -> list[TensorType]:
    """The types of the columns for an element."""
    leaves = leaves_of(structure, x)
    return [type for layout, leaf in zip(leaf_layouts(structure), leaves, strict=True) for type in layout.types(leaf)]


class _Shown:
    """A leaf of an element, for formatting."""

    def __init__(self, layout: LeafLayout, columns: Sequence[int]) -> None:
        self.layout, self.columns = layout, columns

    def __text__(self, spec: str) -> Text:
        return self.layout.shown(self.columns)


def shown_element(structure: Any) -> Any:
    """Stands for an element in the text of one; the values of its text are the numbers of the columns."""
    rest = count()
    return pytree.pack_sequence_as(
        structure, [_Shown(layout, _take(layout, rest)) for layout in leaf_layouts(structure)])


def shown_columns(structure: Any, columns: Sequence[ListValue]) -> list[ListValue]:
    """The columns of a list with the values in the text of its elements."""
    rest = iter(columns)
    return [column for layout in leaf_layouts(structure) for column in layout.shown_columns(_take(layout, rest))]


def _take(layout: LeafLayout, rest: Iterator[Any]) -> list[Any]:
    return [*islice(rest, layout.size)]

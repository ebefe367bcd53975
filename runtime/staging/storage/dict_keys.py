"""Keys of staged dicts and items of staged sets: which values can be such, and how they are looked up."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import islice
from types import BuiltinFunctionType, FunctionType
from typing import Any

from runtime.core import pytree
from runtime.core.errors import StagingError, UnimplementedError
from runtime.core.object_mode import want_references
from runtime.core.op import CAST
from runtime.core.positions import located, staging_error
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.trace import apply, convert_to_tensor
from runtime.core.types import TensorType
from runtime.ops.effects import raise_unless
from runtime.ops.lists import ListValue
from runtime.ops.logic import logical_and, not_equal, where
from runtime.ops.math import cast
from runtime.ops.strings import as_bytes
from runtime.staging.aliases.list_elements import check_identity
from runtime.staging.elements.constant_layout import (
    Constants,
    Numbers,
    classes_of_members,
    constants_of,
    words_of,
)
from runtime.staging.elements.element_layout import (
    STRING,
    LeafLayout,
    Record,
    Rows,
    is_unknown,
    layout_of,
    leaf_layouts,
    row_type,
    same_layout,
    width_of,
)
from runtime.staging.elements.element_structures import as_row, fitted_to, join_structures
from runtime.staging.elements.hash_table import Table
from runtime.staging.elements.key_parts import (
    class_of_record,
    is_tuple,
    names_of_fields,
    parts_of_key,
    with_key_parts,
)
from runtime.staging.elements.references import Reference, References, is_hashable_reference
from runtime.staging.elements.select import use
from runtime.staging.elements.tuple import StagedTuple, Tuples
from runtime.staging.values.enum_members import is_member, is_number_member
from runtime.staging.values.iterables import weak_int
from runtime.staging.values.list import element_as_tensor
from runtime.staging.values.optional import Maybe, without_none

__all__ = [
    "certain", "check_hashable", "column_type", "entry_of", "is_alike", "is_any_order", "is_choice", "is_key",
    "is_number", "is_staged_key", "is_text", "join_keys", "key_constants", "key_leaves", "key_structure",
    "key_to_set", "missing_key", "raise_unless_there", "refused_key", "settled_key", "structure_with", "to_set",
]


def is_number(x: Any) -> bool:
    """Whether a value is a Python number, or a real numeric scalar tensor."""
    return isinstance(x, (bool, int, float)) or (
        isinstance(x, Tensor) and not x.ndim and not x.dtype.is_complex and not x.dtype.is_string)


def is_key(key: Any) -> bool:
    """Whether a value can be a key of a staged dict: a number, text, an object by reference, one of several constants
    (`key_constants`), a tuple or record of keys, or a tuple of any length of numbers, text, constants or tuples of
    these."""
    parts = parts_of_key(key)
    if parts is not None:
        return all(map(is_key, parts))
    if isinstance(key, StagedTuple):
        return _holds_keys(key.items.structure, [leaf.type.element for leaf in key.items.leaves])
    return is_number(key) or is_text(key) or is_hashable_reference(key) or key_constants(key) is not None


def is_text(key: Any) -> bool:
    """Whether a key is text, but no member of an Enum."""
    return isinstance(key, (str, Text)) and not is_member(key)


def _holds_keys(structure: Any, types: Sequence[TensorType]) -> bool:
    """Whether items of that structure, in columns of these types, can be keys."""
    layouts = leaf_layouts(structure)
    are_numbers = all(type.ndim == layout.ragged[0] and not (type.dtype.is_complex or type.dtype.is_string)
                      for layout, type in zip(layouts, types, strict=True) if layout.size == 1)
    return are_numbers and all(layout is STRING or isinstance(layout, (Constants, References)) or (
        type(layout) is LeafLayout) for layout in layouts)


def key_constants(key: Any) -> Constants | None:
    """The layout of a key that is one of several texts, members of Enums (of one, if they are numbers or text, too),
    functions of modules or classes, which are equal if they are the same; None for other keys."""
    if isinstance(key, (str, Text)) and not is_member(key):
        return words_of(key)
    found = constants_of(key)
    if found is None or len(classes_of_members(found)) == 1 or all(map(_is_by_identity, found.values.values())):
        return found
    return None


def _is_by_identity(x: Any) -> bool:
    kind: Any = type(x)
    return isinstance(x, (type, FunctionType, BuiltinFunctionType)) or kind.__eq__ is object.__eq__


def key_structure(key: Any) -> Any:
    """The structure of a key as an element: None for a number."""
    if type(key) is tuple and not key:
        return Tuples(None)
    if (parts := parts_of_key(key)) is not None:
        structures = [*map(key_structure, parts)]
        cls = class_of_record(key)
        return pytree.rebuild(key, structures) if cls is None else Record(
            cls, dict(zip(names_of_fields(cls), structures, strict=True)), changes=False)
    if isinstance(key, StagedTuple):
        return Tuples(key.items.structure)
    if isinstance(key, Reference):
        return key.__arena__.layout
    constants = key_constants(key)
    return STRING if constants is None and is_text(key) else constants


def join_keys(a: Any, b: Any) -> Any:
    """The structure of keys that have one of these. ValueError or TypeError if there is none: among others, where a
    number or text would lose, or get, the Enum of which it is a member."""
    joined = join_structures(a, b)
    if not (_has_members_of(a, joined) and _has_members_of(b, joined)):
        raise ValueError(f"the structures differ: {a!r} and {b!r}")
    return joined


def _has_members_of(structure: Any, joined: Any) -> bool:
    """Whether a structure of keys has members of the Enums that the joined one has, and of no other ones, where these
    are numbers or text."""
    if isinstance(joined, Rows) and not isinstance(structure, Rows):
        return all(_has_members_of(part, joined.structure) for part in structure)
    if isinstance(joined, (Rows, Record)):
        name = "structure" if isinstance(joined, Rows) else "fields"
        return _has_members_of(getattr(structure, name), getattr(joined, name))
    if pytree.is_nested(joined):
        return all(map(_has_members_of, pytree.children(structure), pytree.children(joined)))
    return classes_of_members(structure) == classes_of_members(joined)


def _can_set(structure: Any, key: Any) -> bool:
    """Whether a key can be set in a table with keys of that structure."""
    try:
        join_keys(structure, key_structure(key))
    except StagingError:
        raise
    except (TypeError, ValueError):
        return False
    return True


def structure_with(structure: Any, key: Any) -> Any:
    """The structure of keys like those of that structure and like `key`; the same one if there is none, or `key` has
    it."""
    try:
        joined = join_keys(structure, key_structure(key))
    except (TypeError, ValueError):
        return structure
    return structure if same_layout(structure, joined) else joined


def _table_with(table: Table, structure: Any, key: Any) -> tuple[Table, Any]:
    """A table with keys of that structure so that `key` can be set, and the structure of its keys; the same ones if
    nothing need change."""
    wider = structure_with(structure, key)
    if wider is structure:
        return table, structure
    found = fitted_to(wider, table.keys, structure, key, key_structure(key))
    return table if found is None else table.with_keys(found[1]), wider


def to_set(table: Table, structure: Any, key: Any, what: str) -> tuple[Table, Any, list[Any]]:
    """A table so that `key` can be set, the structure of its keys, and the leaves of the key. StagingError if it cannot
    be one beside the others; `what` it would be, in words."""
    if is_key(key):
        table, structure = _table_with(table, structure, key)
        leaves = key_leaves(structure, table.keys, key)
        if leaves is not None and _can_set(structure, key):
            return table, structure, leaves
    raise refused_key(key, what)


def is_any_order(structure: Any) -> bool:
    """Whether Python's order of a set of such items is any: it depends on addresses, or on the seed of hashes."""
    is_identity = isinstance(structure, (Constants, References)) and not isinstance(structure, Numbers)
    return is_identity or structure is STRING


def certain(value: Any) -> Any:
    """The content of a conditionally present item, unless it may also be None; any other value unchanged."""
    is_certain = not isinstance(value, Maybe) or value.presence.present is not None
    return value if is_certain else value.content


def is_staged_key(key: Any) -> bool:
    """Whether a key is a graph value, or a tuple or record that contains one."""
    parts = parts_of_key(key)
    if parts is not None:
        return any(map(is_staged_key, parts))
    check_identity(key)
    return isinstance(key, (Tensor, Text, *Maybe)) or hasattr(type(key), "__tensor__") or is_hashable_reference(
        key) or is_choice(key)


def is_choice(key: Any) -> bool:
    """Whether a key is one of several objects of Python, such as members of an Enum, as the graph tells."""
    return hasattr(type(key), "__alternatives__") and not hasattr(type(key), "__tensor__")


def settled_key(key: Any) -> tuple[Any, Any]:
    """The key with the contents of those parts that may be None, and whether none of them is: True, or a bool
    scalar."""
    parts = parts_of_key(key)
    if parts is not None:
        settled = [*map(settled_key, parts)]
        return with_key_parts(key, [part for part, _ in settled]), reduce(_both, [there for _, there in settled], True)
    content, there = without_none(key)
    if content is key:
        return key, True
    content, is_whole = settled_key(content)
    return content, _both(there, is_whole)


def _both(bit: Any, other: Any) -> Any:
    return other if bit is True else bit if other is True else logical_and(bit, other)


def key_to_set(key: Any) -> Any:
    """A key that is set in a hash table, none of whose keys is or has None."""
    key, there = settled_key(key)
    if there is not True:
        raise_unless(there, UnimplementedError(
            "None is a key here of a dict, or an item of a set, whose others are numbers: use a number, such as -1"))
    return key


def refused_key(key: Any, what: str) -> StagingError:
    """The error for a new key, or an item of a set, that cannot be one beside the others."""
    want_references()
    return staging_error(
        f"{what} that changes in staged code is of another kind here than the others: all are numbers of one type, or"
        " text, or objects, or members of Enums (of one, if these are numbers or text), functions and classes, or"
        " tuples or frozen dataclasses alike of these",
        "Give all keys one type." if what.startswith("a key") else "Use one set for each kind of items.")


def entry_of(table: Table, structure: Any, key: Any) -> Any:
    """The entry number of a key; 0, as an int or in the graph, if absent."""
    key, there = settled_key(key)
    if pytree.is_nested(structure) or isinstance(structure, Tuples):
        table, structure = _table_with(table, structure, key)  # a tuple of any length may equal one of a known length
    leaves = key_leaves(structure, table.keys, key)
    if leaves is None:
        return 0
    entry, _ = table.find(leaves)
    return entry if there is True else where(there, entry, 0)


def raise_unless_there(entry: Any, key: Any) -> None:
    """Raise KeyError at run time if a key has no entry."""
    key, there = settled_key(key)
    if there is not True and parts_of_key(key) is None:
        raise_unless(there, KeyError(None))
    _raise_missing(not_equal(entry, 0) if isinstance(entry, Tensor) else False, key)


def _raise_missing(there: Any, key: Any) -> None:
    parts = parts_of_key(key) or (key,)
    at = next((i for i, part in enumerate(parts) if is_choice(part) or is_number_member(part)), None)
    if at is None:
        raise_unless(there, missing_key(key))
        return

    def with_one(one: Any) -> None:
        is_whole = parts_of_key(key) is None
        _raise_missing(there, one if is_whole else with_key_parts(key, [*parts[:at], one, *parts[at + 1:]]))

    use(parts[at], with_one)


def missing_key(key: Any) -> KeyError:
    """The error for a key that is missing, with numbers of Python's in place of scalar tensors."""
    return KeyError(_as_number(key))


def _as_number(key: Any) -> Any:
    parts = parts_of_key(key)
    if parts is not None:
        return with_key_parts(key, map(_as_number, parts))
    if isinstance(key, EagerTensor) and is_number(key):
        return key.numpy().item()
    if not isinstance(key, GraphTensor) or not is_number(key) or key.dtype.is_bool:
        return key
    return weak_int(key) if key.dtype.is_integer else apply(CAST, key, dtype=key.dtype, weak=True)


def is_alike(structure: Any, value: Any) -> bool:
    """Whether a key or value has this structure."""
    try:
        pytree.assert_same_structure(structure, value)
    except StagingError:
        raise
    except (TypeError, ValueError):
        return False
    return True


def key_leaves(structure: Any, columns: Sequence[ListValue] | None, key: Any) -> list[Any] | None:
    """The leaves of a key of that structure as tensors, of the columns' kinds if given; None if it cannot equal a key
    of that structure. TypeError if it is not hashable."""
    paired = _paired(structure, key)
    rest = iter([None] * width_of(structure) if columns is None else [column.type.element for column in columns])
    leaves = [column for layout, leaf in paired or () for column in _key_columns(
        layout, [*islice(rest, layout_of(layout).size)], leaf)]
    if paired is None or any([leaf is None for leaf in leaves]):
        check_hashable(key)
        return None
    return [*map(element_as_tensor, leaves)]


def column_type(part: TensorType) -> TensorType:
    """The type of the column that has parts of keys like this one: vectors of any length."""
    return row_type(TensorType(part.dtype, (), part.weak)) if part.ndim else part


def _paired(structure: Any, key: Any) -> list[tuple[Any, Any]] | None:
    """The leaves of a key with their layouts; None if the key cannot equal one of that structure."""
    if isinstance(structure, Tuples):
        return [(structure, key)] if type(key) in (tuple, StagedTuple) else None
    cls = class_of_record(key)
    if cls is not (structure.cls if isinstance(structure, Record) else None):
        return None
    if cls is None and not is_tuple(key):
        return None if pytree.is_nested(structure) or pytree.is_nested(key) else [(structure, key)]
    layouts = [structure.fields[name] for name in names_of_fields(cls)] if cls is not None else structure
    parts = parts_of_key(key) or ()
    if (not is_tuple(structure) and cls is None) or len(layouts) != len(parts):
        return None
    pairs = [*map(_paired, layouts, parts)]
    return None if None in pairs else [pair for part in pairs for pair in part or ()]


def _key_columns(layout: Any, types: Sequence[Any], leaf: Any) -> Sequence[Any]:
    """What is stored for a leaf of a key, in columns of these types, if they are known; None if it cannot equal one of
    that layout."""
    if isinstance(layout, Tuples):
        return _tuple_columns(layout, types, leaf)
    stored = _place_or_number(layout, leaf)
    return [stored if None in types or layout is STRING else _as_kind(stored, types[0])]


def _tuple_columns(layout: Tuples, types: Sequence[Any], key: Any) -> Sequence[Any]:
    """`_key_columns` for tuples of any length."""
    own = key_structure(key)
    try:
        joined = join_structures(layout, own)
    except (TypeError, ValueError):
        return [None]
    if not (_has_members_of(layout, joined) and _has_members_of(own, joined)):
        raise staging_error(
            "a tuple of members of an Enum that are numbers or text is used here as a key beside tuples of numbers or"
            " text, and only the graph knows how many items it has", "Let all these tuples have items of one class.")
    if type(key) is tuple and None not in types:
        key = _of_kinds(key, layout.structure, layout.inner(types))
        if key is None:
            return [None]
    key = as_row(joined, key, layout.types(key))
    columns = [*map(convert_to_tensor, layout.columns(key, layout.types(key)))]
    return [column if type is None else _as_column(column, type) for column, type in zip(columns, types, strict=True)]


def _of_kinds(key: tuple[Any, ...], structure: Any, types: Sequence[TensorType]) -> tuple[Any, ...] | None:
    """A tuple with Python's numbers of the kinds of the columns that have the parts of its items; None if one of them
    equals no number of that kind."""
    if len(types) != len(pytree.flatten(structure)):
        return key
    items = []
    for item in key:
        leaves = pytree.flatten(item)
        kinds = [_as_kind(leaf, type) if isinstance(leaf, (bool, int, float)) and not is_unknown(type) else leaf
                 for leaf, type in zip(leaves, types, strict=True)]
        if any(kind is None for kind in kinds):
            return None
        items.append(pytree.pack_sequence_as(structure, kinds))
    return tuple(items)


def _as_column(x: Tensor, type: TensorType) -> Tensor:
    """The vector of the items of a tuple as one of the type that others have."""
    if not is_unknown(type) and not is_unknown(x.type):
        _check_kind(x, type)
        return x
    return cast(x, type.dtype)  # there are no items


def _place_or_number(layout: Any, leaf: Any) -> Any:
    """What is stored for a leaf of a key; None if it cannot equal one of that layout."""
    if isinstance(leaf, Reference):
        return leaf.__place__ if layout is leaf.__arena__.layout else None
    if isinstance(layout, Constants):
        return layout.number_of(leaf)
    if layout is STRING:
        text = str.__str__(leaf) if isinstance(leaf, str) else leaf
        return as_bytes(text) if isinstance(text, (str, Text)) else None
    if is_number_member(leaf):
        return convert_to_tensor(leaf)
    return None if isinstance(layout, References) else leaf


def _as_kind(leaf: Any, type: TensorType) -> Any:
    """A leaf of a key as an equal number of the type's kind; None if there is none."""
    if not is_number(leaf):
        return None
    if isinstance(leaf, Tensor):
        _check_kind(leaf, type)
        return leaf
    if type.dtype.is_floating:
        return float(leaf) if float(leaf) == leaf else None
    return int(leaf) if leaf == leaf and abs(leaf) != float("inf") and leaf == int(leaf) else None


def _check_kind(key: Tensor, type: TensorType) -> None:
    """StagingError for ints beside floats."""
    if key.dtype.is_floating != type.dtype.is_floating:
        raise staging_error(
            f"a key of the type {key.type} is used here in a dict with keys of the type {type}",
            "Cast it: the keys of a dict that changes in staged code are of one type.")


def check_hashable(key: Any) -> None:
    """TypeError, as Python's, for a key with a part that cannot be hashed, such as a list."""
    parts = key if isinstance(key, tuple) else parts_of_key(key)
    if parts is not None:
        for part in parts:
            check_hashable(part)
    elif not is_staged_key(key):
        try:
            hash(key)
        except TypeError as error:
            raise located(error) from None

"""Operations of Python's lists and tuples on graph values: `xs * n`, `xs[n]`, `xs.index(x)` and the like.

They also serve staged lists, except for item access, which those implement themselves.
"""
from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from autograph.backend import (
    LISTS,
    duplicate,
    fields_in,
    has_staged_items,
    is_list,
    is_reference,
    keyed,
    operators,
    references,
    refill,
)
from runtime.core import pytree
from runtime.core.formatting import message_of
from runtime.core.object_mode import want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor, indices
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import bool_, int32
from runtime.ops.concat_split import tile
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros_like
from runtime.ops.effects import raise_unless
from runtime.ops.lists import list_new, list_stack
from runtime.ops.logic import equal, greater_equal, less, where
from runtime.ops.math import cast, maximum, minimum
from runtime.ops.reduction import reduce_sum
from runtime.ops.shape import dim
from runtime.ops.static_arguments import static_int
from runtime.staging.aliases.alias_tracking import is_carried, is_split, may_alias, originals_of
from runtime.staging.aliases.list_elements import become_rows, following, record_of
from runtime.staging.aliases.shared_elements import note_shared
from runtime.staging.containers.comparison import equal_in_turn, equals
from runtime.staging.containers.row_table import ChosenRow, are_rows, remake_before, store
from runtime.staging.containers.select_containers import of_items
from runtime.staging.containers.sorting import sort_in_place, vector
from runtime.staging.containers.stepped_slices import delete_items, set_items
from runtime.staging.elements.constant_layout import constants_of
from runtime.staging.elements.element_layout import has_layouts, may_change
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import SELECTION, Select, choose, is_number, replaced, use
from runtime.staging.elements.select_pairs import either
from runtime.staging.elements.tuple import StagedTuple, tuple_of
from runtime.staging.joins.container_arenas import refer_elements
from runtime.staging.joins.flatten import staged_list
from runtime.staging.joins.lattice import Custom, describe, text, with_staged_lists
from runtime.staging.storage.deque import as_deque, extend_left
from runtime.staging.storage.dict_presence import check_keys
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.generators import StagedGenerator, listed
from runtime.staging.values.iterables import (
    StagedRange,
    first_true,
    indexable,
    normalised_index,
    stages,
    stages_within,
    view_of,
    weak_int,
)
from runtime.staging.values.list import StagedList, StagedSequence, collect, fold, unview
from runtime.staging.values.optional import Maybe, keys, there
from runtime.staging.values.strings import item_of_text, repeated_text
from runtime.staging.values.truthiness import truth

__all__ = ["item_at", "list_operation", "method_of_sequence", "put_item_at", "put_slice", "take_out_slice"]


def repeat(sequence: Any, count: Any, in_place: bool = False) -> Any:
    """`sequence * count`, or `sequence *= count`, if that repeats a list, tuple or staged list; NotImplemented if
    `count` is not an integer scalar, so that it is arithmetic or an error."""
    if isinstance(sequence, StagedTuple):
        return sequence * count
    sequence = view_of(sequence)
    if hasattr(type(count), "__tensor__"):
        count = convert_to_tensor(count)
    if not isinstance(sequence, (list, tuple, str, Text, StagedList, StagedRecords)) or not _counts(count):
        return NotImplemented
    if isinstance(sequence, (str, Text)):
        return repeated_text(sequence, count) if isinstance(count, GraphTensor) else NotImplemented
    known = static_int(count) if isinstance(count, GraphTensor) else int(count)
    if isinstance(sequence, (StagedList, StagedRecords)):
        repeated = _repeated(sequence, count if known is None else known)
        if in_place:
            sequence.owner[:] = repeated.owner
        return sequence if in_place else repeated
    if known is not None or not sequence:
        known = known or 0
        if not in_place or isinstance(sequence, tuple):
            return sequence * known
        sequence *= known
        return sequence
    remedy = "Make an item for each place: [[0] * 2 for _ in range(n)]." if isinstance(sequence[0], list) else ""
    repeated = _repeated(_staged(sequence, "repeated", "how often it is repeated", remedy), count)
    if isinstance(sequence, tuple):
        return tuple_of(repeated)
    if not in_place:
        return repeated
    kept: Any = sequence
    kept[:] = repeated.owner
    return kept


def _counts(x: Any) -> bool:
    if isinstance(x, Tensor):
        return not x.ndim and (x.dtype.is_integer or x.dtype.is_bool)
    return hasattr(type(x), "__index__")


def _staged(sequence: Any, done: str, unknown: str, remedy: str = "") -> StagedList | StagedRecords:
    """A non-empty list or tuple as a staged list, for the operation `done`. StagingError if items are mutable or no
    tensors."""
    if isinstance(sequence, tuple):
        sequence = [*sequence]
    refer_elements(sequence)
    spec = with_staged_lists(describe(sequence))
    if not all(map(_is_immutable, sequence)) or not isinstance(spec, Custom):
        want_references(of_containers=True)
        raise staging_error(
            f"{text(describe(sequence))} cannot be {done} here: {unknown} is known only when the graph runs, and a list"
            " that is made then holds numbers or tensors of one type, text, None, or tuples of these",
            remedy or "Give its items one type.")
    return staged_list(spec, sequence)


def _is_immutable(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_immutable, x))
    if isinstance(x, Maybe):
        return _is_immutable(x.content)
    return x is None or isinstance(x, (str, Text, Reference)) or is_number(x) or is_reference(x) or (
        constants_of(x) is not None)


def _repeated(items: StagedList | StagedRecords, count: Any) -> StagedList | StagedRecords:
    if isinstance(items, StagedRecords):
        if may_change(items.structure):
            note_shared()
        return StagedRecords([_repeated_column(column, count) for column in items.columns], items.structure)
    return _repeated_column(items, count)


def _repeated_column(items: StagedList, count: Any) -> StagedList:
    count = max(count, 0) if isinstance(count, int) else maximum(weak_int(count), 0)
    if None not in items.element.shape:
        return StagedList.from_tensor(tile(list_stack(items.__leaves__()[0]), [count, *[1] * items.element.ndim]))

    def extended(_: Any, whole: StagedList) -> tuple[StagedList]:
        whole.extend(items)
        return (whole,)

    whole: StagedList = fold(StagedRange(count), extended, (StagedList(list_new((), items.element)),), ("list",))[0]
    return whole


# Items and slices of Python's lists, tuples and ranges at indices known only at run time.

def list_operation(name: str, left: Any, right: Any) -> Any:
    """`left + right`, `left * right`, `left += right` or `left *= right`, by name in `operator`, where an operand is a
    Python list, possibly with staged items."""
    if name in ("iadd", "imul") and isinstance(left, Select):
        return getattr(operator, name)(left, right)
    if name not in ("iadd", "imul"):
        return _list_operation(name, left, right)
    with following(left) as element:
        become_rows(element)
        return _list_operation(name, left, right)


def _list_operation(name: str, left: Any, right: Any) -> Any:
    if isinstance(left, StagedTuple) or (isinstance(right, StagedTuple) and name != "iadd"):
        return getattr(operator, name)(left, right)
    if name == "iadd" and isinstance(right, StagedGenerator):
        right = unview(listed(right))
    one, other = view_of(left), view_of(right)
    if name in ("iadd", "imul") and is_list(left):
        if name == "imul" and isinstance(other, Tensor):
            return unview(repeat(one, other, in_place=True))
        if one is left and isinstance(other, StagedSequence):
            made: Any = operator.add([*left], other.as_list())
            refill(left, (made if type(left) is list else as_deque(made, left.maxlen)).owner)
            return left
    made = getattr(operator, name)(one, other)
    return left if made is one else unview(made)


def item_at(sequence: Any, place: Any) -> Any:
    """`sequence[place]`, also for a slice, or a character of text. Python's TypeError, which asks for an int, if items
    are mutable or of several types."""
    if isinstance(place, slice) and isinstance(sequence, bytes):
        raise staging_error("bytes are cut here where only the graph knows", "Cut a list of their items: list(b).")
    if isinstance(place, slice):
        return item_of_text(sequence, place) if isinstance(sequence, str) else _slice(sequence, place)
    place = convert_to_tensor(place)
    if not _counts(place):
        return sequence[place]
    if isinstance(sequence, range):
        return StagedRange(sequence.start, sequence.stop, sequence.step)[place]
    if all(map(is_number, sequence)):
        indices.asked = True
    elif type(sequence) is list and are_many_empty_lists(sequence) and _become_lists_of_graph([sequence]):
        return operators.item(sequence, place)
    kind = "" if isinstance(sequence, bytes) else "string " if isinstance(sequence, str) else (
        f"{type(sequence).__name__} ")
    at = normalised_index(place, len(sequence), f"{kind}index out of range")
    return choose([*sequence], at) if sequence else 0


_MANY_LISTS: Final = 32
"""More empty lists than this, one of which a tensor tells, are elements of a list of the graph: else each use of one
has a branch for each."""


def are_many_empty_lists(items: Sequence[Any]) -> bool:
    """Whether the items are many different empty lists."""
    return len(items) > _MANY_LISTS and all([type(x) is list and not x for x in items]) and (
        len({*map(id, items)}) == len(items))


def _become_lists_of_graph(values: Sequence[list[Any]]) -> bool:
    """Convert a list of lists to a list of the graph, before the statement. Returns whether that was done: not if the
    lists have other names."""
    (sequence,) = values
    if max(references(sequence).values()) > 1:
        return False
    remake_before(values, _become_lists_of_graph, alone=True)
    return _becomes_staged(sequence)


def put_item_at(sequence: Any, place: Any, value: Any, around: Any) -> None:
    """`sequence[place] = value` for a list, which may be an item of the list or tuple `around`. Python's TypeError,
    which asks for an int, if items are not numbers, or if a loop carries the list, which is then staged
    (`runtime.staging.control.loops`)."""
    place = convert_to_tensor(place)
    if type(around) in (list, tuple) and _counts(place) and are_rows(around) and len(around) > 1:
        store(around)
        view_of(sequence)[place] = value
        return
    numbers = all(map(is_number, (*sequence, value)))
    if numbers and _counts(place) and len(sequence) > _LONG and _becomes_staged(sequence):
        view_of(sequence)[place] = value
        return
    if _counts(place) and sequence and not (numbers and is_carried(sequence)):
        at = normalised_index(place, len(sequence), _assignment_error(sequence))
        made = replaced(sequence, at, value) if numbers else _either_at(sequence, at, value)
        if made is not None and all(new is not None for new in made):
            refill(sequence, made)
            return
    if _counts(place) and all(map(_is_immutable, (*sequence, value))) and _becomes_staged(sequence):
        view_of(sequence)[place] = value
        return
    if any(fields_in(x) is not None for x in (*sequence, value)) and want_references():
        raise staging_error("an object is made an item of a list here, and only the graph knows which item",
                            "Begin with a list of such objects, or keep their parts in lists.")
    sequence[place] = value


def _either_at(sequence: Sequence[Any], at: Any, value: Any) -> list[Any]:
    """The items, with `value` at index `at`: selects, or copies of their alternatives; None for other values."""
    made = [either(equal(at, i), _as_select(value), _as_select(old)) for i, old in enumerate(sequence)]
    if _are_rows_of_one_name(value, sequence):
        return [use(new, duplicate) if isinstance(new, Select) else new for new in made]
    return made


def _are_rows_of_one_name(value: Any, rows: Sequence[Any]) -> bool:
    """Whether a new item and those that it may replace are lists of numbers or text that nothing else refers to, so
    that copies of their items do. (As one of several lists, each row would be one of twice as many after each change.)
    """
    several = (value, *rows)
    if not all(type(one) is list and (
            type(view_of(one)) is StagedList if has_staged_items(one) else all(map(_is_immutable, one)))
            for one in several):
        return False
    if any(is_split(one) or may_alias(one) or record_of(one) is not None for one in several):
        return False
    originals = [{id(one): one for one in originals_of(each)} for each in several]
    counts = references(one for each in originals for one in each.values())
    of_value, *of_rows = [sum(counts[key] for key in each) for each in originals]
    return not of_value and all(count == 1 for count in of_rows)


_LONG: Final = 512
"""With more items than this, setting one at a run-time index makes a staged list instead of a select per item."""


def _becomes_staged(sequence: Any) -> bool:
    """Convert a list of numbers to a staged list; returns whether they have a common type."""
    refer_elements(sequence)
    spec = with_staged_lists(describe(sequence))
    if not isinstance(spec, Custom):
        return False
    refill(sequence, staged_list(spec, sequence).owner)
    return True


def _assignment_error(sequence: Any) -> str:
    return f"{'list assignment' if type(sequence) is list else 'deque'} index out of range"


def _as_select(x: Any) -> Any:
    """The Select for a row that represents one of several lists; other values unchanged."""
    return SELECTION.of_items(x.rows, x.at, False) if isinstance(x, ChosenRow) else x


def _slice(sequence: Any, bounds: slice) -> Any:
    if isinstance(sequence, range):
        sequence = list(sequence)
    if not sequence:
        return sequence[:]
    indices.asked = True
    part = _staged(sequence, "cut", "where it is cut")[bounds]
    return tuple_of(part) if isinstance(sequence, tuple) else part


# Methods that compare items.

_SAMPLE: Final = 9.25
"""A sample value, passed to Python's own method to obtain its message."""


def index(sequence: Any, value: Any, start: Any = 0, stop: Any = None, /) -> Any:
    """`sequence.index(value, start, stop)`: a weak int32. ValueError at run time if the value is missing."""
    is_tuple = isinstance(sequence, (tuple, StagedTuple))
    items = sequence.as_list() if isinstance(sequence, StagedTuple) else sequence
    same = _same(items, value, whole=stop is not None or not (type(start) is int and start == 0))
    size = weak_int(dim(same, 0))
    for bound, side in (start, greater_equal), (stop, less):
        if bound is not None:
            same = same & side(range_(size), where(less(bound, 0), bound + size, bound))
    place = first_true(same)
    missing = message_of((() if is_tuple else _empty(sequence)).index, _SAMPLE, value)
    raise_unless(less(place, size), ValueError(missing))
    return place


def count(sequence: Any, value: Any, /) -> Any:
    """`sequence.count(value)`: a weak int32."""
    return weak_int(reduce_sum(cast(_same(sequence, value, whole=True), int32)))


def remove(sequence: Any, value: Any, /) -> None:
    """`sequence.remove(value)` for a list or deque. ValueError at run time if the value is missing."""
    same = _same(sequence, value)
    place = first_true(same)
    raise_unless(less(place, dim(same, 0)), ValueError(message_of(_empty(sequence).remove, _SAMPLE, value)))
    if _becomes_staged_for(sequence, place):
        del view_of(sequence)[place]
    elif isinstance(sequence, LISTS):
        items = [*sequence]
        are_text = all(isinstance(item, (str, Text)) for item in items)
        item = functools.partial(choose, items) if are_text else indexable(items, "remove")
        refill(sequence, [item(where(less(i, place), i, i + 1)) for i in range(len(sequence) - 1)])
    else:
        del sequence[place]


def _empty(sequence: Any) -> Any:
    """An empty list or deque of the kind of a list, a deque or the view of one."""
    return sequence.owner[0].empty if isinstance(sequence, StagedSequence) else type(sequence)()


# Methods that take an index.

def insert(sequence: Any, place: Any, value: Any, /) -> None:
    """`sequence.insert(place, value)`. A list that a loop carries is treated as in `put_item_at`."""
    if _becomes_staged_for(sequence, place, value):
        view_of(sequence).insert(place, value)
        return
    size = len(sequence)
    if not (isinstance(place, GraphTensor) and _counts(place) and _numbers_here(sequence, value)) or (
            getattr(sequence, "maxlen", None) == size):
        type(sequence).insert(sequence, place, value)
        return
    place = _bound(place, size)
    items = [*sequence, value]
    refill(sequence, [choose(items, where(less(i, place), i, where(equal(place, i), size, i - 1)))
                      for i in range(size + 1)])


def replace_slice(view: StagedSequence, bounds: slice, items: Any) -> None:
    """`view[bounds] = items` for a list with staged items."""
    if _has_step(bounds):
        made = view[:0]
        made.extend(view_of(items))
        operators.call(set_items)(view.owner, bounds.start, bounds.stop, bounds.step, made.owner)
        return
    size = view.length
    start = 0 if bounds.start is None else _bound(bounds.start, size)
    stop = size if bounds.stop is None else maximum(_bound(bounds.stop, size), start)
    made, rest = view[:start], view[stop:]
    made.extend(view_of(items))
    made.extend(rest)
    refill(view.owner, [*made.owner])


def delete_slice(view: StagedSequence, bounds: slice) -> None:
    """`del view[bounds]` for a list with staged items."""
    if _has_step(bounds):
        operators.call(delete_items)(view.owner, bounds.start, bounds.stop, bounds.step)
    else:
        replace_slice(view, bounds, [])


def _has_step(bounds: slice) -> bool:
    """Whether a slice has a step that is not known to be 1."""
    return not (bounds.step is None or (isinstance(bounds.step, int) and bounds.step == 1))


def _bound(place: Any, size: Any) -> Any:
    """A bound of a slice as an index into a list of that size."""
    place = weak_int(convert_to_tensor(place))
    return where(less(place, 0), maximum(place + size, 0), minimum(place, size))


def put_slice(sequence: Any, bounds: slice, items: Any) -> None:
    """`sequence[bounds] = items` for a list, where the bounds, or one of the lists, are graph values."""
    if isinstance(items, StagedTuple):
        items = items.as_list()
    elif not (stages(items) or isinstance(items, LISTS)):
        items = [*items]  # an iterator may run over the list
    _cut(sequence)[bounds] = items


def take_out_slice(sequence: Any, bounds: slice) -> None:
    """`del sequence[bounds]` for a list, where the bounds, or the list, are graph values."""
    del _cut(sequence)[bounds]


def _cut(sequence: Any) -> Any:
    """The view of a list that a slice changes which only the graph knows."""
    if not has_staged_items(sequence) and not (type(sequence) is list and _becomes_staged(sequence)):
        raise staging_error(
            "a slice of a list is assigned here that only the graph knows, and the list cannot be one of the graph: it"
            " is empty, or its items have no common type", "Give its items one type, or set them one by one.")
    return view_of(sequence)


def rotate(sequence: deque[Any], steps: Any = 1, /) -> None:
    """`sequence.rotate(steps)` for a deque."""
    if not (isinstance(steps, GraphTensor) and _counts(steps) and _numbers_here(sequence)):
        sequence.rotate(steps)
        return
    if not sequence:
        return
    items, size = [*sequence], len(sequence)
    first = weak_int(steps) % size
    refill(sequence, [choose(items, (i + size - first) % size) for i in range(size)])


def pop(sequence: list[Any], place: Any = -1, /) -> Any:
    """`sequence.pop(place)`. IndexError at run time if the index is out of range."""
    if _becomes_staged_for(sequence, place):
        return unview(view_of(sequence).pop(place))
    if not (isinstance(place, GraphTensor) and _counts(place) and sequence and _numbers_here(sequence)):
        return list.pop(sequence, place)
    at = normalised_index(place, len(sequence), "pop index out of range")
    items = [*sequence]
    sequence[:] = [choose(items, where(less(i, at), i, i + 1)) for i in range(len(items) - 1)]
    return choose(items, at)


def _becomes_staged_for(sequence: Any, place: Any, *values: Any) -> bool:
    """Convert a list of objects, in which a tensor tells the place of a change, to a staged list, if these are by
    reference. Returns whether that was done; StagingError if they may be so in another trace."""
    if type(sequence) is not list or not (isinstance(place, GraphTensor) and _counts(place)):
        return False
    items = (*sequence, *values)
    if all(map(is_number, items)):
        return False
    if all(map(_is_immutable, items)):
        return _becomes_staged(sequence)
    if any([fields_in(x) is not None for x in items]) and want_references():
        raise staging_error("a list of objects is changed here at a place that only the graph knows",
                            "Keep their parts in lists.")
    return False


def _numbers_here(sequence: Any, *values: Any) -> bool:
    return all(map(is_number, (*sequence, *values))) and not is_carried(sequence)


def _same(sequence: Any, value: Any, whole: bool = False) -> Tensor:
    """For each item, whether it equals the value; False, unless `whole`, for those that Python does not compare, since
    an earlier one does."""
    if isinstance(sequence, StagedList):
        return _same_numbers(sequence, value)
    if not isinstance(sequence, StagedRecords):
        bits = [equals(item, value) for item in sequence] if whole else [*equal_in_turn(sequence, value)]
        return convert_to_tensor(bits + [False] * (len(sequence) - len(bits)), bool_)
    if has_layouts(sequence.structure):
        return convert_to_tensor(collect(sequence, element=lambda item: convert_to_tensor(equals(item, value), bool_)))
    try:
        pytree.assert_same_structure(sequence.structure, value)
    except (TypeError, ValueError):
        return _same_numbers(sequence.columns[0], None)
    found = None
    for column, part in zip(sequence.columns, pytree.flatten(value), strict=True):
        same = _same_numbers(column, part)
        found = same if found is None else found & same
    assert found is not None, "structures have leaves"
    return found


def _same_numbers(column: StagedList, value: Any) -> Tensor:
    numbers = vector(column, "a method that compares items")
    if hasattr(type(value), "__tensor__"):
        value = convert_to_tensor(value)
    if isinstance(value, (int, float, complex)) or (isinstance(value, Tensor) and not value.ndim):
        same: Tensor = numbers == value
        return same
    if isinstance(value, Tensor):
        truth(numbers[0] == value)  # raises the error that its truth is ambiguous
    return zeros_like(numbers, bool_)


# Methods of Python's lists and tuples.

def method_of_sequence(method: Any) -> Any:
    """The replacement of a list or tuple method written in C."""
    sequence, found = method.__self__, _METHODS.get(method.__name__)
    if has_staged_items(sequence) or (method.__name__ in _RESIZE and become_rows(record_of(sequence))):
        if method.__name__ in _OPERATORS:
            return functools.partial(_OPERATORS[method.__name__], sequence)
        return functools.partial(_called, sequence, method.__name__)
    if method.__name__ in ("extend", "extendleft") and is_list(sequence):
        return functools.partial(_extend, method)
    if method.__name__ in ("append", "appendleft"):
        return lambda item: method(there(item))
    if found is None or type(sequence) not in (*LISTS, tuple) or (method.__name__ == "pop" and type(sequence) is deque):
        return method

    def called(*args: Any, **kwargs: Any) -> Any:
        staged = keys.are_uncertain or callable(kwargs.get("key")) or stages_within([*args, *sequence]) or (
            method.__name__ in _COMPARE and any(isinstance(x, Text) for x in (*args, *sequence)))
        return (functools.partial(found, sequence) if staged else method)(*args, **kwargs)

    return called


def _called(sequence: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    with following(sequence):
        given = [arg if is_reference(arg) else view_of(arg) for arg in map(there, args)]
        return unview(getattr(view_of(sequence), name)(*given, **kwargs))


_COMPARE: Final = frozenset({"count", "index", "remove"})
"""The methods of a list that compare items, which may be text."""
_RESIZE: Final = frozenset({"append", "clear", "extend", "insert", "pop", "remove"})
"""The methods of a list that change its length."""
_OPERATORS: Final[Mapping[str, Callable[..., Any]]] = {
    "__contains__": lambda items, x: operators.in_(x, items), "__getitem__": operators.item,
    "__len__": lambda items: operators.call(len)(items)}
"""Operators, for lists with staged items, in place of methods that Python requires to return a bool or int."""


def _extend(method: Any, items: Any, /) -> None:
    items = there(items)
    if type(items) in keyed:
        check_keys(items)
    if stages(items):
        items = unview(listed(items))
    if not has_staged_items(items):
        method(items)
    elif method.__name__ == "extend":
        list_operation("iadd", method.__self__, items)
    else:
        extend_left(method.__self__, view_of(items))


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "count": count, "index": index, "insert": insert, "pop": pop, "remove": remove, "rotate": rotate,
    "sort": sort_in_place}
OPERATIONS.define(
    count=count, index=index, remove=remove, replace_slice=replace_slice, delete_slice=delete_slice, sort=sort_in_place,
    repeat=repeat)
SELECTION.define(of_items=of_items)

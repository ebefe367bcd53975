"""Python loops traced as graph loops: this backend's part of `autograph.operators.loop_rolling`.

Rolling is tried if unrolling would trace more than a few ops. The trial fails, and the loop is unrolled, if the body
needs the Python value of the index, selects among Python objects, or would lose static knowledge that the unrolled
loop has: a shape, or the length of a list.
"""
from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import CodeType
from typing import Any, Final

import numpy as np

from autograph.backend import LISTS, Source, inside
from runtime.core.generator_frames import pulled
from runtime.core.graph import Graph, Node, Unrolled, Value, loops
from runtime.core.tensor import EagerTensor
from runtime.core.trace import current_graph
from runtime.core.types import ListType, TensorType
from runtime.staging.aliases.body_tracing import checkpoint, rollback
from runtime.staging.containers.row_table import ChosenRow, common_table
from runtime.staging.control.python_results import python_results, tensor_ends
from runtime.staging.joins.lattice import (
    Custom,
    Leaf,
    Nested,
    Optional,
    Spec,
    Static,
    describe,
    leaf_types,
    text,
    with_numbers_of,
)
from runtime.staging.values.iterables import (
    Counted,
    EagerRows,
    Staged,
    counted,
    indexable,
)
from runtime.staging.values.lazy_iterables import StagedEnumerate, StagedProduct, StagedZip
from runtime.staging.values.strings import Characters
from runtime.staging.values.trials import Store, TrialFailed, note_iteration, refuse_accidents, trials

__all__ = ["LONG", "RolledLoop", "lines_of", "rolled"]

FEWEST: Final = 9
"""A loop with fewer iterations is unrolled, unless that traces more than `HEAVY_OPS`."""
HEAVY_OPS: Final = 300
FEW_OPS: Final = 100
"""A loop whose unrolling traces no more ops than this is unrolled."""
MANY_OPS: Final = 1_000
"""If unrolling traces more ops than this, growing lists and changing shapes do not prevent rolling."""
LONG: Final = 16
"""A loop over a list is rolled if it has more items than this."""
_INT32: Final = range(-(2**31), 2**31)


class _Rolled(Staged):
    """A Python iterable of numbers as a staged one."""

    def __init__(self, make: Callable[[], Counted]) -> None:
        self._make = make

    def __iterable__(self) -> Counted:
        return self._make()


class RolledLoop:
    """A loop that may be rolled. `items`: the staged iterable; None for a `while`."""

    def __init__(self, items: Any, count: int | None) -> None:
        self.items, self.count = items, count
        self.mark = checkpoint()
        trials.is_watched = True
        self.acts = trials.acts
        self.ops = self.expected = 0
        self.changed: Mapping[str, Any] = {}
        self.loss: TrialFailed | None = None
        """What the unrolled loop would know about the state after it, unless a tensor ends it."""

    def has_traced(self) -> bool:
        """Whether the loop has added ops to the graph since it began."""
        found = any(node.op.name != "const" for node in self.mark.added())
        if not found:
            note_iteration()
        return found

    def is_worth(self, done: int, code: CodeType, lengthened: Mapping[str, Sequence[Any]] = {}) -> bool | None:
        """Whether to try to roll the loop after `done` iterations; None if it is too early to tell. False if it would
        fail (`check`), since these have `lengthened` lists."""
        has_acted, ops = trials.acts != self.acts, sum(map(_size, self.mark.added()))
        if self.count is None:
            self.ops = MANY_OPS + 1
            return False if has_acted else None if done < FEWEST or ops <= FEW_OPS else True
        self.ops = ops * self.count // done
        is_large = self.ops > (FEW_OPS if self.count >= FEWEST else HEAVY_OPS)
        if is_large and has_acted:
            self._note_unrolled(code, trials.last_act)
        elif is_large and lengthened and max(self.ops, self.expected) <= MANY_OPS:
            name, before = next(iter(lengthened.items()))
            self._note_unrolled(code, f"{name!r} is {text(describe([*before]))} before the loop and a list after it")
            return False
        return is_large and not has_acted

    def _note_unrolled(self, code: CodeType, reason: str) -> None:
        loops.unrolled.append(Unrolled(code.co_filename, *lines_of(code), reason))

    def undo(self) -> None:
        """Remove everything traced since the loop began."""
        rollback(self.mark)

    def attempt(self, stage: Callable[[], None], code: CodeType) -> Exception | None:
        """Stage the loop as a graph loop; returns the reason of a failure, or None."""
        trials.depth += 1
        outer = trials.outside
        trials.outside = outer or current_graph()
        try:
            with pulled():
                stage()
        except Exception as error:
            self._note_unrolled(code, _reason(error))
            return error
        finally:
            trials.depth -= 1
            trials.outside = outer
        return None

    def leaks(self, stores: Sequence[Store]) -> bool:
        """Whether a value that the staged loop stores in an object would escape from the graph with it."""
        return trials.leaks is not None and trials.leaks(stores)

    def guessed(self, specs: Sequence[Spec], names: Sequence[str]) -> list[Spec]:
        """The specs with which the loop starts, given those of the values before it: with what the first iterations,
        which ran in Python, have shown to change."""
        return [with_numbers_of(spec, self.changed[name]) if name in self.changed else spec
                for spec, name in zip(specs, names, strict=True)]

    def check(
        self, body: Graph, init: Sequence[Any], specs: Sequence[Spec], out: Sequence[Spec] | None,
        names: Sequence[str],
    ) -> None:
        """TrialFailed if the loop is not equivalent to the unrolled one; a `loss` is for `results` to refuse."""
        refuse_accidents(body)
        if self.ops == 0 and not _has_tensors(body):
            raise TrialFailed("it computes what Python knows")
        if out is None:
            raise TrialFailed("each iteration raises")
        keeps_shapes = max(self.ops, self.expected) <= MANY_OPS
        self.loss = None
        lengthened = iter(_lengthened(body, sum(len(list(leaf_types(spec))) for spec in specs)))
        for value, after, end, name in zip(init, specs, out, names, strict=True):
            before, grows = describe(value), any([next(lengthened) for _ in leaf_types(after)])
            if isinstance(after, Optional) and after.none and not isinstance(before, Optional) and not isinstance(
                    end, Optional):
                raise TrialFailed(f"{name!r} is None before the loop only")
            if keeps_shapes and (_loses_shape(before, after) or (grows and _is_growing(before, after))):
                self.loss = TrialFailed(f"{name!r} is {text(before)} before the loop and {text(after)} after it")

    def results(
        self, body: Graph, test: Graph | None, leaves: Sequence[Any], length: Any, may_be_numbers: Sequence[bool]
    ) -> Sequence[Any]:
        """The Python numbers after the loop; None for its other leaves, and for those that have to stay tensors.
        TrialFailed if the graph would have to compute larger ones, or if less would be known about the state after the
        loop than after the unrolled one."""
        if self.loss is not None and not tensor_ends(body, test, leaves):
            raise self.loss
        found = python_results(body, test, leaves, length, may_be_numbers)
        if not found.fit:
            raise TrialFailed("it computes an int of more than 64 bits")
        return found.numbers


def _has_tensors(body: Graph) -> bool:
    """Whether a body computes with tensors, or has effects."""
    types = [value.type for node in body.walk() for value in node.outputs]
    return body.effect or any(isinstance(type, TensorType) and not (type.weak or type.dtype.is_bool) for type in types)


def lines_of(code: CodeType) -> tuple[int, int]:
    """The first and last line of a body."""
    lines = [line for each in inside(code) for _, _, line in each.co_lines() if line]
    return min(lines), max(lines)


def _reason(error: Exception) -> str:
    """A trial's error as a reason: on one line, without the position."""
    message = str(getattr(error, "message", "") or error).split("\n")[0]
    return re.sub(r"^(\w+: )?[^ ]+:[0-9]+: ", "", message)


def _size(node: Node) -> int:
    return (node.op.name != "const") + sum(_size(inner) for graph in node.subgraphs.values() for inner in graph.nodes)


def rolled(iterable: Any) -> RolledLoop | None:
    """The loop over a Python iterable, or a `while` (None), if it may be rolled; else None."""
    if current_graph() is None:
        return None
    if iterable is None:
        return RolledLoop(None, None)
    source = iterable if isinstance(iterable, Source) else Source(iter, (iterable,))
    sequences = source.sequences()
    if not all(map(_are_numbers, sequences)):
        return None
    count, fewest = _count(source), 2 if all(type(items) is range for items in sequences) else LONG + 1
    return RolledLoop(_Rolled(lambda: _counted(source)), count) if count >= fewest and _fit(source, count) else None


def _count(source: Source) -> int:
    """The number of remaining items."""
    if source.kind is zip or source.kind is enumerate:
        return min(map(_count, source.parts))
    if source.kind is reversed:
        return source.position + 1
    if source.kind is itertools.product:
        return math.prod(map(len, source.parts)) - source.position
    items = source.parts[0]
    return (len(items) if getattr(items, "shape", None) != () else 0) - source.position


def _fit(source: Source, count: int) -> bool:
    """Whether the indices of `enumerate` fit int32."""
    if source.kind is enumerate and (source.position not in _INT32 or source.position + count not in _INT32):
        return False
    return all(_fit(part, count) for part in source.parts if isinstance(part, Source))


def _counted(source: Source) -> Counted:
    """The staged iterable of the graph loop."""
    if source.kind is zip:
        made: Staged = StagedZip(*[_Rolled(partial(_counted, part)) for part in source.parts], strict=source.is_strict)
    elif source.kind is enumerate:
        made = StagedEnumerate(_Rolled(partial(_counted, source.parts[0])), source.position)
    elif source.kind is itertools.product:
        made = StagedProduct(*map(_progression, source.parts))
        if source.position:
            first, rest = made.__iterable__(), _count(source)
            return Counted(rest, lambda i: first.item(source.position + i))
    else:
        return _counted_part(source)
    found = made.__iterable__()
    assert isinstance(found, Counted)
    return found


def _progression(items: tuple[Any, ...]) -> Any:
    """A tuple of ints as the range of the same items, if there is one: these are computed."""
    if type(items[0]) is not int:
        return items
    step = items[1] - items[0] if len(items) > 1 else 1
    found = range(items[0], items[0] + step * len(items), step) if step else ()
    return found if tuple(found) == items else items


def _counted_part(source: Source) -> Counted:
    items, first, count = source.parts[0], source.position, _count(source)
    if isinstance(items, EagerRows):
        items = items.tensor
    elif isinstance(items, str):
        items = Characters(items)
    elif isinstance(items, bytes):
        items = [*items]
    item: Callable[[Any], Any]
    if _are_rows(items):
        item = partial(ChosenRow, tuple(items))
    elif isinstance(items, (*LISTS, tuple)):
        item = indexable([*items], "a loop")
    else:
        found = counted(items, "a loop")
        assert isinstance(found, Counted)
        item = found.item
    if source.kind is reversed:
        return Counted(count, lambda i: item(first - i))
    return Counted(count, item if first == 0 else lambda i: item(first + i))


def _are_numbers(items: Any) -> bool:
    """Whether the items are numbers of one type, tuples of such with one type per position, rows of an array or table,
    or characters."""
    kind = type(items)
    if kind is EagerTensor or kind is EagerRows or kind is np.ndarray:
        return kind is not np.ndarray or items.dtype.kind in "biufc"
    if kind is range:
        return not items or (items[0] in _INT32 and items[-1] in _INT32)
    if kind is str or kind is bytes:
        return True
    if (kind is not list and kind is not tuple) or not items:
        return False
    first = items[0]
    if type(first) is list:
        return _are_rows(items)
    if type(first) is tuple:
        return bool(first) and all(type(item) is tuple and len(item) == len(first) for item in items) and all(
            map(_are_numbers, zip(*items, strict=True)))
    kind = type(first)
    if kind is int:
        return all(type(item) is int and item in _INT32 for item in items)
    return kind is float and all(type(item) is float for item in items)


def _are_rows(items: Any) -> bool:
    """Whether the items are lists that are rows of one table."""
    return type(items) is list and common_table(items) is not None


def _loses_shape(before: Spec, after: Spec) -> bool:
    if isinstance(before, Leaf) and isinstance(after, Leaf):
        old, new = before.type, after.type
        if isinstance(old, TensorType) and isinstance(new, TensorType):
            return any(dim is None and known is not None for dim, known in zip(new.shape, old.shape, strict=False))
        return False
    if isinstance(before, Static) and isinstance(after, Leaf):
        shape = getattr(before.value, "shape", ())
        return isinstance(after.type, TensorType) and None in after.type.shape and None not in shape
    if isinstance(before, Nested) and isinstance(after, Nested):
        return any(map(_loses_shape, before.children, after.children))
    return False


def _is_growing(before: Spec, after: Spec) -> bool:
    """Whether a list whose length Python knows becomes a staged list."""
    if isinstance(before, Nested) and isinstance(after, Nested):
        return any(map(_is_growing, before.children, after.children))
    return isinstance(before, Nested) and isinstance(after, Custom)


_LENGTHENS: Final = frozenset({"list_append", "list_extend", "list_insert", "list_pop"})


def _lengthened(body: Graph, count: int) -> list[bool]:
    """Which of the last `count` inputs of a loop's body are lists whose length an iteration may change."""
    classes: dict[Value, Value] = {}
    """A union-find forest: values of one list, or of one variable over time, have the same root."""

    def root(value: Value) -> Value:
        while (above := classes.get(value, value)) is not value:
            value = classes[value] = classes.get(above, above)
        return value

    def unite(values: Iterable[Value], others: Iterable[Value]) -> None:
        for a, b in zip(values, others, strict=False):
            if isinstance(a.type, ListType) and isinstance(b.type, ListType):
                classes[root(a)] = root(b)

    changed = []
    unite(body.inputs[-count:], body.outputs)
    for node in body.walk():
        if node.op.name in _LENGTHENS:
            changed.append(node.inputs[0])
        if node.op.name == "list_set" or node.op.name in _LENGTHENS:
            unite(node.outputs, node.inputs[:1])
        state = len(node.outputs)
        for inner in node.subgraphs.values():
            unite((outer for outer, _ in inner.captures), (value for _, value in inner.captures))
            unite(node.outputs, inner.outputs)
            if state and len(inner.inputs) >= state:  # a loop's body
                unite(node.operands[-state:], inner.inputs[-state:])
                unite(node.outputs, inner.inputs[-state:])
    roots = set(map(root, changed))
    return [root(value) in roots for value in body.inputs[-count:]]

"""Elements of lists that need no copy.

`list_get` copies an element, since the list may change while the element is live. There are two exceptions:

- All uses of the element read items or sizes of it, before the list may change: it is a view of the list's memory.
  (Its `bases` contain the list's `pair`.)
- The list is dead after a `list_set` that puts the changed element back where it was read from, and no other use of the
  list comes in between: `setitem` then writes to the list's memory, and a row that is made a list, for `append` and
  `pop`, is changed in it, too. `list_set` only records the new length.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from runtime.backends.native.codegen.index_expressions import Listed
from runtime.backends.native.llvm.builder import Val
from runtime.core.graph import Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, TensorType

__all__ = ["Update", "Use", "only_measured", "use_of"]

_PEEK: Final = frozenset(("list_get", "list_length"))  # the ops that read a list and keep no reference to it


class Use(NamedTuple):
    """How an element is used without a copy. `setter`: the `list_set` after which it is changed; None: it is read."""

    setter: Node | None


class Update(NamedTuple):
    """An element that is changed where it is: element `at` of `owner`, until `setter`."""

    setter: Node
    owner: Listed
    at: Val


class Place(Protocol):
    """The parts of a Lowering that are used here."""

    @property
    def nodes(self) -> Sequence[Node]: ...

    @property
    def users(self) -> Mapping[GraphValue, Sequence[int]]: ...

    @property
    def env(self) -> Mapping[GraphValue, object]: ...

    @property
    def last(self) -> Mapping[GraphValue, int]: ...

    @property
    def node_index(self) -> int: ...

    def is_alone(self, x: Listed, mine: GraphValue) -> bool: ...


def use_of(w: Place, node: Node, x: Listed) -> Use | None:
    """How the result of the current node, a `list_get` from `x`, is used, if it need not be copied; else None."""
    if w.node_index >= len(w.nodes) or w.nodes[w.node_index] is not node:  # it is lowered ahead of its graph
        return None
    end = _last_read(w, node.outputs[0])
    if end is not None:
        return Use(None) if _is_unchanged(w, x, w.node_index, end) else None
    setter = _put_back(w, node, x)
    return None if setter is None else Use(setter)


def _last_read(w: Place, value: GraphValue) -> int | None:
    """The number of the last node that reads from an element; None if some use is more than reading."""
    end = w.node_index
    for at in w.users.get(value, ()):
        found = _read_at(w, value, at)
        if found is None:
            return None
        end = max(end, found)
    return end


def _read_at(w: Place, value: GraphValue, at: int) -> int | None:
    """The number of the last node that reads from `value` for the sake of its user number `at`: more than `at` if this
    makes a view. None if the user does more than reading."""
    if at == len(w.nodes):
        return None
    node = w.nodes[at]
    if node.op.name == "dim" or only_measured(w, at):
        return at
    if node.op.name != "getitem" or node.inputs[0] is not value:
        return None
    found = _last_read(w, node.outputs[0]) if getattr(node.outputs[0].type, "shape", ()) else at
    return None if found is None else max(found, at)


def only_measured(w: Place, at: int) -> bool:
    """Whether node number `at` makes a list of a tensor, of which only the length is used."""
    node = w.nodes[at]
    return node.op.name == "list_from_tensor" and len(node.inputs) == 1 and all(
        k < len(w.nodes) and w.nodes[k].op.name == "list_length" for k in w.users.get(node.outputs[0], ()))


def _sharing(w: Place, x: Listed) -> list[GraphValue]:
    """The live values that share the memory of a list."""
    return [value for value, other in w.env.items() if isinstance(other, Listed) and other.pair.ref == x.pair.ref]


def _is_unchanged(w: Place, x: Listed, start: int, end: int) -> bool:
    """Whether no node between two changes the memory of a list."""
    for value in _sharing(w, x):
        for at in w.users.get(value, ()):
            if at >= end or at == start:
                continue
            node = w.nodes[at]
            if at > start and node.op.name not in _PEEK:
                return False
            if node.op.name == "list_get" and any(start < k < end and _is_change(w.nodes[k])
                                                  for k in w.users.get(node.outputs[0], ())):
                return False
    return True


def _put_back(w: Place, node: Node, x: Listed) -> Node | None:
    """The `list_set` that puts the element, with items set, back into the dead list; None if there is none."""
    changes = _changes(w, node.outputs[0])
    if changes is None:
        return None
    first, last = changes
    setter, mine = w.nodes[last], node.inputs[0]
    if setter.inputs[0] is not mine or setter.params != _kept(node) or setter.outputs[0].type != mine.type or not (
            _is_same(setter.inputs[1], node.inputs[1])):
        return None
    between = [at for at in w.users[mine] if at > w.node_index]
    if between[-1] != last or between.count(last) > 1 or any(
            at < last and (at > first or w.nodes[at].op.name not in _PEEK) for at in between):
        return None
    return setter if x.scratch and w.is_alone(x, mine) else None


def _changes(w: Place, value: GraphValue) -> tuple[int, int] | None:
    """The numbers of the first node that changes an element and of the `list_set` of the result, if there is no use but
    reading items in between."""
    first: int | None = None
    while True:
        reads, others = w.node_index, []
        for at in w.users.get(value, ()):
            found = at if isinstance(value.type, ListType) and _peeks(w, at) else _read_at(w, value, at)
            if found is None:
                others.append(at)
            else:
                reads = max(reads, found)
        if len(others) != 1 or others[0] == len(w.nodes) or reads > others[0]:
            return None
        node = w.nodes[others[0]]
        if node.op.name == "list_set" and first is not None and node.inputs[2] is value:
            return first, others[0]
        if node.inputs[0] is not value or not node.outputs or not _is_change(node):
            return None
        first = others[0] if first is None else first
        value = node.outputs[0]


def _peeks(w: Place, at: int) -> bool:
    return at < len(w.nodes) and w.nodes[at].op.name in _PEEK


def _is_change(node: Node) -> bool:
    """Whether a node changes its first operand, an element, in its place; or has a row of scalars as a list, or back
    from that."""
    before, after = node.inputs[0].type, node.outputs[0].type
    if node.op.name in ("list_from_tensor", "list_stack"):
        row = before if isinstance(before, TensorType) else after
        return isinstance(row, TensorType) and row.shape == (None,) and len(node.inputs) == 1
    if node.op.name in ("list_append", "list_set", "list_pop"):
        return before == after and not node.params.get("grow") and not (
            node.op.name == "list_pop" and len(node.inputs) > 1)
    return node.op.name == "setitem"


def _kept(node: Node) -> dict[str, object]:
    """The params of a `list_set` that takes the same indices as a `list_get`, and does not extend the list."""
    return {name: value for name, value in node.params.items() if name == "strict"}


def _is_same(a: GraphValue, b: GraphValue) -> bool:
    return a is b or (a.constant is not None and b.constant is not None and int(a.constant) == int(b.constant))

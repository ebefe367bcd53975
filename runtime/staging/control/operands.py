"""Expressions of which a tensor decides what they evaluate: `x if test else y`, `x and y`, `x or y`."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from autograph.backend import LISTS, Values, operators
from runtime.core.errors import StagingError
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.core.trace import convert_to_tensor
from runtime.staging.aliases.alias_tracking import as_originals
from runtime.staging.aliases.body_tracing import Step, checkpoint, rollback
from runtime.staging.control.cond import stage_cond, stage_logical
from runtime.staging.values.iterables import Counted, Poison, as_iterable, view_of
from runtime.staging.values.optional import MaybeObject, MaybeTensor
from runtime.staging.values.truthiness import truth

__all__ = ["ContainerOrTuple", "Operand", "if_exp", "logical", "read"]

Operand = Callable[..., Values]
"""A function from the state to a value and the new state."""


def read(value: Any) -> Any:
    """The value of an operand. If it may be unbound, emit a check, since Python raises at the read."""
    if issubclass(type(value), (MaybeTensor, MaybeObject)):  # `isinstance` would run code of proxies
        value.presence.check_bound()
    return value


class _Truth(Poison):
    """`a and b` or `a or b` of values without a join: only its truth is known."""

    __slots__ = ("bit",)

    def __init__(self, bit: Any, error: Callable[[], Exception]) -> None:
        super().__init__(error, "<a value of which only the truth is known>")
        self.bit = convert_to_tensor(bit)

    def __truth__(self) -> Any:
        return self.bit

    def __leaves__(self) -> list[Any]:
        return [self.bit]

    def __rebuild__(self, leaves: Sequence[Any]) -> _Truth:
        if isinstance(leaves[0], EagerTensor):  # a function returned it
            self.refuse()
        return _Truth(leaves[0], self.error)


class ContainerOrTuple(Poison):
    """What is a list, deque, set or dict on one way and a tuple on another, as `d.get(k, ())`. Only what both do in one
    way is known: their length and items. `contents`: a container of these, which is the container where it is one."""

    __slots__ = ("contents",)
    __stands_for__ = object

    def __init__(self, contents: Any, error: Exception) -> None:
        super().__init__(lambda: error, "<a container or a tuple>")
        self.contents = contents

    @property
    def length(self) -> Any:
        """The number of items."""
        return operators.call(len)(self.contents)

    def as_list(self) -> Any:
        """The view of a new list of the items."""
        return view_of(operators.call(list)(self.contents))

    def contains(self, value: Any) -> Any:
        """Whether an item equals the value."""
        return operators.in_(value, self.contents)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            self.refuse()
        return operators.item(self.contents, index)

    def __tensor__(self) -> Any:
        return convert_to_tensor(operators.call(list)(self.contents))

    def __text__(self, _: str) -> NoReturn:
        self.refuse()

    def __no_class__(self) -> NoReturn:
        self.refuse()

    def __iterable__(self) -> Any:
        found = as_iterable(self.contents)
        if found is None and type(self.contents) not in LISTS:
            self.refuse()
        return found or Counted(len(self.contents), self.contents.__getitem__)

    def __truth__(self) -> Any:
        return truth(self.contents)


def if_exp(pred: Any, then: Operand, orelse: Operand, init: Values, names: tuple[str, ...]) -> Values:
    """`then() if pred else orelse()`, followed by the state."""
    pred = truth(pred)
    if isinstance(pred, bool):
        return as_originals((then if pred else orelse)(*init))
    found: list[Any] = []

    def branch(operand: Operand, change: Callable[[Any], Any]) -> Step:
        def run(_: None, *state: Any) -> Values:
            value, *rest = operand(*state)
            found.append(value)
            return (change(read(value)), *rest)

        return Step(run, operand if hasattr(operand, "lineno") else None)

    def staged(change: Callable[[Any], Any]) -> Values:
        return stage_cond(pred, branch(then, change), branch(orelse, change), (None, *init), ("", *names))

    mark = checkpoint()
    try:
        return staged(lambda value: value)
    except StagingError as conflict:
        kind = _kind_beside_tuple(found)
        if kind is None:
            raise
        rollback(mark)
        error = conflict
    contents, *state = staged(lambda value: kind(value) if type(value) is tuple else value)
    return (ContainerOrTuple(contents, error), *state)


def _kind_beside_tuple(values: Sequence[Any]) -> Any:
    """The class of the container that is one of two values, if the other is a tuple with which it can be one value for
    its reader: of any items for a list, else of none. None otherwise."""
    for value, other in (values, values[::-1]) if len(values) == 2 else ():
        kind = getattr(type(view_of(value)), "__stands_for__", type(value))
        if type(other) is tuple and kind in _KINDS and (not other or kind is list):
            return kind
    return None


_KINDS: Final = (list, deque, set, dict)


def logical(left: Any, then: Operand | None, orelse: Operand | None, init: Values, names: tuple[str, ...]) -> Values:
    """`left and then` or `left or orelse`: `left` if its truth decides, else the result of the other operand;
    followed by the state."""
    decisive, right = then is None, then or orelse
    assert right is not None
    pred = truth(left)
    if isinstance(pred, bool):
        return (left, *init) if pred is decisive else as_originals(right(*init))
    if decisive and isinstance(left, MaybeObject):
        left = left.content  # which it is where it is true
    if _is_bool(left) and not names:
        simple = stage_logical("or" if decisive else "and", left, Step(lambda: right()[0]))
        if simple is not None:
            return (simple,)
    mark = checkpoint()

    def choose(value: Any, other: Operand) -> Values:
        def stays(*state: Any) -> Values:
            return (value, *state)

        first, second = (stays, other) if decisive else (other, stays)
        return if_exp(pred, first, second, init, names)

    def truth_of_right(*state: Any) -> Values:
        value, *rest = right(*state)
        return (truth(value), *rest)

    try:
        return choose(decisive if _is_bool(left) else left, right)
    except StagingError as conflict:  # no join, but perhaps only the truth is needed
        error = left.error() if isinstance(left, _Truth) else conflict
        rollback(mark)
        bit, *state = choose(decisive, truth_of_right)
        return (_Truth(bit, lambda: error), *state)


def _is_bool(value: Any) -> bool:
    return isinstance(value, GraphTensor) and not isinstance(value, MaybeTensor) and (
        value.type.dtype.is_bool and not value.type.shape)

"""The runtime as a backend of autograph: control flow of converted code on tensors becomes graph."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from autograph import register
from autograph.backend import (
    Body,
    Clause,
    Handler,
    ListItems,
    Values,
    backend_of,
    draws_random_numbers,
    has_staged_items,
    keyed,
)
from runtime.core.array_writes import set_item
from runtime.core.config import settings
from runtime.core.errors import InaccessibleTensorError, StagingError, locate
from runtime.core.formatting import formatted, percent
from runtime.core.graph import Position, staging_error
from runtime.core.tensor import EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.text import Text, concat_text
from runtime.core.trace import convert_to_tensor, current_graph, tell_watchers, wrap
from runtime.ops.indexing import setitem
from runtime.staging.containers.comparison import compare
from runtime.staging.containers.dict_lookup import item_of, method_of_dict, put_item_of
from runtime.staging.containers.membership import contains
from runtime.staging.containers.row_table import Row
from runtime.staging.containers.sequence_methods import item_at, list_operation, method_of_sequence, put_item_at
from runtime.staging.control.caught_errors import is_caught
from runtime.staging.control.cond import stage_cond, stage_logical
from runtime.staging.control.exceptions import may_raise, refuse_errors, stage_try, stops
from runtime.staging.control.loops import stage_reduce, stage_while
from runtime.staging.python.builtins import BUILTINS
from runtime.staging.python.foreign_calls import given, looks
from runtime.staging.python.introspection import check_attribute, check_attributes, is_same, says
from runtime.staging.python.math_module import MATH
from runtime.staging.values.alias_tracking import leaves, may_be_others
from runtime.staging.values.body_tracing import Mark, Step, checkpoint, in_body, rollback
from runtime.staging.values.dict_presence import check_keys, delete, union
from runtime.staging.values.generators import StagedGenerator, known_items
from runtime.staging.values.iterables import Poison, Staged, as_iterable, viewed
from runtime.staging.values.list import is_staged_list, shown
from runtime.staging.values.lost_iterators import left_iterator, outside_iterator, taken_outside
from runtime.staging.values.optional import Maybe, MaybeObject, MaybeTensor, known
from runtime.staging.values.select import Chosen
from runtime.staging.values.truthiness import truth

__all__ = ["BACKEND", "Staging"]

Operand = Callable[..., Values]
"""From state to a value and the state."""


class _Truth(Poison):
    """`a and b` or `a or b` of values that no one type fits: only their truth is known."""

    __slots__ = ("held",)

    def __init__(self, held: Any, error: Callable[[], Exception]) -> None:
        super().__init__(error, "<a value of which only the truth is known>")
        self.held = convert_to_tensor(held)

    def __truth__(self) -> Any:
        return self.held

    def __leaves__(self) -> list[Any]:
        return [self.held]

    def __rebuild__(self, leaves: Sequence[Any]) -> _Truth:
        if isinstance(leaves[0], EagerTensor):  # a function returned it
            self.refuse()
        return _Truth(leaves[0], self.error)


def _read(value: Any) -> Any:
    """The value of an operand: where a variable that may be unbound is read, Python raises there."""
    if issubclass(type(value), (MaybeTensor, MaybeObject)):  # `isinstance` would run code of proxies
        value.presence.check_bound()
    return value


_INSTEAD: Final = {
    "ndarray": "Use a tensor, for example rt.zeros(shape) or rt.constant(array).",
    "deque": "Use a list.",
    **dict.fromkeys(("StringIO", "TextIOWrapper"), "Print to it, by print(..., file=...): the graph does that."),
}


class Staging:
    """Implements `autograph.core.backend.Backend`."""

    builtins: Mapping[Any, Callable[..., Any]] = {**BUILTINS, **MATH}

    @property
    def unroll_budget(self) -> int:
        return settings.unroll_budget

    def stages(self, value: Any) -> bool:
        if isinstance(value, EagerTensor):
            return False
        if isinstance(value, (GraphTensor, ListItems, MaybeObject, Row, Chosen)) or has_staged_items(value):
            return True
        if isinstance(value, Text):
            return current_graph() is not None and value.may_be_empty
        if hasattr(type(value), "__leaves__"):
            return any(isinstance(leaf, (GraphTensor, GraphList)) for leaf in value.__leaves__())
        return current_graph() is not None and (isinstance(value, Staged) or hasattr(type(value), "__tensor__"))

    def checkpoint(self) -> Mark:
        return checkpoint()

    def rollback(self, mark: object) -> None:
        assert isinstance(mark, list)
        rollback(mark)

    # Statements.

    def cond(self, pred: Any, true_fn: Body, false_fn: Body, init: Values, names: tuple[str, ...]) -> Values:
        pred = truth(pred)
        if isinstance(pred, bool):
            return tuple((true_fn if pred else false_fn)(*init))
        return stage_cond(pred, true_fn, false_fn, init, names)

    def while_loop(
        self, test_fn: Body, body_fn: Body, init: Values, names: tuple[str, ...], options: Mapping[str, Any]
    ) -> Values:
        return stage_while(test_fn, body_fn, init, names, options, truth)

    def reduce(
        self, iterable: Any, body_fn: Body, test_fn: Body | None, init: Values, names: tuple[str, ...],
        options: Mapping[str, Any],
    ) -> Values:
        if isinstance(iterable, Maybe):
            iterable = iterable.__tensor__() if isinstance(iterable, MaybeTensor) else iterable.checked()
        iterable = viewed(iterable)
        items = as_iterable(iterable)
        if items is not None:
            return stage_reduce(items, body_fn, test_fn, init, names, options, truth)
        return self._unroll(iterable, body_fn, test_fn, init, names)

    def _unroll(
        self, iterable: Any, body_fn: Body, test_fn: Body | None, init: Values, names: tuple[str, ...]
    ) -> Values:
        """A loop over Python values, which a branch made known only now."""
        state: Sequence[Any] = init
        for count, item in enumerate(iterable):
            going = True if test_fn is None or not count else truth(test_fn(*state))
            if going is False:
                break
            if going is True:
                state = body_fn(item, *state)
            else:
                iteration = Step(lambda *values, item=item: body_fn(item, *values))
                state = stage_cond(going, iteration, Step(lambda *values: values), state, names)
        return tuple(state)

    def unroll_exceeded(self, filename: str, lineno: int) -> Exception:
        return staging_error(
            f"this loop over Python values has run {self.unroll_budget} iterations, each of which is traced into the"
            " graph, since a tensor decides whether to leave it",
            "Loop over a tensor, for example rt.range(n), so that the loop itself becomes graph; or raise the"
            " budget with rt.config.set_autograph_unroll_budget(n).")

    def changed_unseen(self, kind: type, name: str, filename: str, lineno: int) -> Exception:
        draws = draws_random_numbers(kind)
        remedy = "Use a list, a tensor or an rt.Variable, or change it outside of staged code."
        error = StagingError(
            f"staged code {'draws random numbers from' if draws else 'changes'} {name!r} ({kind.__name__}): that would"
            " happen once, while the code is traced, and not each time it runs",
            remedy="Draw them with rt.random, or outside of staged code." if draws
            else _INSTEAD.get(kind.__name__, remedy))
        locate(error, Position(filename, lineno))
        return error

    def advanced_unseen(self, kind: str, name: str, filename: str, lineno: int) -> Exception:
        what, remedy = taken_outside(kind, name)
        error = StagingError(what, remedy=remedy)
        locate(error, Position(filename, lineno))
        return error

    def left_iterator(self, iterator: Any, lineno: int) -> Exception:
        return left_iterator(iterator, lineno)

    def outside_iterator(self, iterator: Any, name: str) -> Exception:
        return outside_iterator(iterator, name)

    def refuse_in_body(self, what: str, remedy: str) -> None:
        if in_body():
            raise staging_error(what, remedy)

    def try_(
        self, body: Body, handlers: Sequence[Handler], init: Values, names: tuple[str, ...], read: Callable[[], Values]
    ) -> Values:
        return stage_try(body, handlers, init, names, read)

    def may_raise(self, mark: object, kinds: tuple[type[BaseException], ...]) -> bool:
        assert isinstance(mark, list)
        return may_raise(mark, kinds)

    def stops(self, mark: Any) -> bool:
        return stops(mark)

    def refuse_errors(self, filename: str, first: int, last: int, kinds: tuple[type[BaseException], ...]) -> None:
        refuse_errors(filename, first, last, kinds)

    def left_by(self, error: BaseException | None) -> None:
        tell_watchers(error)

    def leaves(self, value: Any, origin: Any) -> None:
        leaves(value, origin)

    def may_be_others(self, value: Any) -> bool:
        return may_be_others(value)

    def is_staged_error(self, error: BaseException) -> bool:
        return is_caught(error)

    def hides(self, error: BaseException) -> bool:
        return isinstance(error, (StagingError, InaccessibleTensorError))

    # Expressions.

    def if_exp(
        self, pred: Any, then: Operand, orelse: Operand, init: Values = (), names: tuple[str, ...] = ()
    ) -> Values:
        pred = truth(pred)
        if isinstance(pred, bool):
            return (then if pred else orelse)(*init)

        def branch(operand: Operand) -> Step:
            def run(_: None, *state: Any) -> Values:
                value, *rest = operand(*state)
                return (_read(value), *rest)

            return Step(run)

        return stage_cond(pred, branch(then), branch(orelse), (None, *init), ("", *names))

    def and_(self, left: Any, right: Operand, init: Values = (), names: tuple[str, ...] = ()) -> Values:
        return self._logical("and", left, right, False, init, names)

    def or_(self, left: Any, right: Operand, init: Values = (), names: tuple[str, ...] = ()) -> Values:
        return self._logical("or", left, right, True, init, names)

    def _logical(
        self, name: str, left: Any, right: Operand, decisive: bool, init: Values, names: tuple[str, ...]
    ) -> Values:
        """`left`, if its truth is `decisive`, else what `right` gives; and the state."""
        pred = truth(left)
        if isinstance(pred, bool):
            return (left, *init) if pred is decisive else right(*init)
        if _is_bool(left) and not names:
            simple = stage_logical(name, left, Step(lambda: right()[0]))
            if simple is not None:
                return (simple,)
        mark = checkpoint()

        def choose(value: Any, other: Operand) -> Values:
            def stays(*state: Any) -> Values:
                return (value, *state)

            first, second = (stays, other) if decisive else (other, stays)
            return self.if_exp(pred, first, second, init, names)

        def truth_of_right(*state: Any) -> Values:
            value, *rest = right(*state)
            return (truth(value), *rest)

        try:
            return choose(decisive if _is_bool(left) else left, right)
        except StagingError as conflict:  # no type fits both values, but they may be wanted for their truth only
            error = conflict
            rollback(mark)
            held, *state = choose(decisive, truth_of_right)
            return (_Truth(held, lambda: error), *state)

    def not_(self, value: Any) -> Any:
        pred = truth(value)
        if isinstance(pred, bool):
            return not pred
        return wrap(pred.op.inputs[0]) if pred.op is not None and pred.op.op.name == "invert" else ~pred

    def check_keys(self, value: Any) -> None:
        check_keys(value)

    def method_of_dict(self, method: Any) -> Any:
        return method_of_dict(method)

    def method_of_sequence(self, method: Any) -> Any:
        return method_of_sequence(method)

    def item(self, container: Any, index: Any) -> Any:
        if type(container) in keyed and (type(container) is dict or backend_of(index) is None):
            return item_of(container, index)
        if has_staged_items(container):
            return shown(viewed(container)[index])
        if isinstance(index, (str, Text)) or isinstance(container, dict):
            return container[index]
        return shown(item_at(container, index))

    def put_item(self, container: Any, index: Any, value: Any, around: Any) -> None:
        if type(container) is dict:
            put_item_of(container, index, value)
        elif isinstance(index, (str, Text)) or has_staged_items(container) or isinstance(container, dict):
            viewed(container)[index] = value
        else:
            put_item_at(container, index, value, around)

    def delete_item(self, container: Any, index: Any) -> None:
        if type(container) in keyed:
            delete(container, index)
        else:
            del viewed(container)[index]

    def container_operation(self, name: str, left: Any, right: Any) -> Any:
        if name in ("or_", "ior"):
            return union(left, right, in_place=name == "ior")
        return list_operation(name, left, right)

    def compare(self, name: str, left: Any, right: Any) -> Any:
        return compare(name, left, right)

    def looks(self, fn: Any) -> bool:
        return looks(fn)

    def given(self, fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
        return given(fn, args, keywords)

    def percent(self, text: Any, values: Any) -> Any:
        return percent(text, values)

    def check_attributes(self, value: Any) -> None:
        check_attributes(value)

    def text(self, parts: Sequence[Any]) -> Any:
        return concat_text(parts)

    def formatted(self, value: Any, spec: Any) -> Any:
        return formatted(value, spec)

    def is_none(self, value: Any) -> Any:
        if not isinstance(value, Maybe):
            return value is None
        return value.presence.is_none(value.content)

    def says(self, value: Any, test: Callable[[Any], bool]) -> Any:
        return says(value, test)

    def matched(self, value: Any) -> Any:
        if has_staged_items(value):
            return [*viewed(value)]
        if isinstance(value, Text):
            value.refuse()
        return known(value, "which pattern it matches")

    def read(self, value: Any) -> Any:
        return _read(value)

    def check_attribute(self, value: Any, name: str) -> None:
        check_attribute(value, name)

    def is_same(self, value: Any, other: Any) -> Any:
        return is_same(value, other)

    def is_bool(self, value: Any, wanted: bool) -> Any:
        value = _read(value)
        value = value.__tensor__() if isinstance(value, MaybeTensor) else value
        if not isinstance(value, Tensor) or not value.dtype.is_bool or value.ndim:
            return value is wanted
        if isinstance(value, EagerTensor):
            return bool(value) is wanted
        return value if wanted else self.not_(value)

    def contains(self, container: Any, value: Any) -> Any:
        return contains(container, value)

    def generator(self, clause: Clause) -> StagedGenerator:
        return StagedGenerator(clause)

    def items(self, iterable: Any, what: str, remedy: str) -> Iterator[Any]:
        return known_items(iterable, what, remedy)

    def list_item(self, value: Any) -> Any:
        if value is None:
            raise staging_error("an item of this list is None, and a list that is made while the graph runs holds "
                                "tensors", "Make it a `for` statement if nobody needs the list, or give each item "
                                "a value.")
        return convert_to_tensor(value) if is_staged_list(value) else value

    def no_meaning(self, what: str, remedy: str) -> Exception:
        return staging_error(what, remedy)

    def assert_(self, test: Any, message: Callable[[], Any] | None) -> None:
        if not __debug__:
            return

        def fail() -> Any:
            raise AssertionError() if message is None else AssertionError(message())

        pred = truth(test)
        if isinstance(pred, bool):
            if not pred:
                fail()
            return
        stage_cond(pred, Step(lambda: ()), Step(fail), (), ())

    def replaces(self, target: Any) -> bool:
        return isinstance(target, Tensor)

    def setitem(self, target: Any, index: Any, value: Any) -> Any:
        if isinstance(target, Tensor) or not (isinstance(target, (str, Text)) or hasattr(type(target), "__setitem__")):
            return set_item(setitem, target, index, value)
        viewed(target)[index] = value
        return target


def _is_bool(value: Any) -> bool:
    return isinstance(value, GraphTensor) and not isinstance(value, MaybeTensor) and (
        value.type.dtype.is_bool and not value.type.shape)


BACKEND: Final = Staging()
for _cls in (Tensor, MaybeObject, Staged, Text, ListItems):
    register(_cls, BACKEND)

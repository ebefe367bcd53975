"""The runtime as a backend of autograph: control flow of converted code on tensors becomes graph."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from autograph.backend import Body, Values, announce
from runtime import trace
from runtime.bodies import Mark, Step, checkpoint, rollback, staging_error
from runtime.branches import stage_cond, stage_logical
from runtime.config import settings
from runtime.errors import ShapeError, StagingError, locate
from runtime.graph import user_position
from runtime.iterables import Staged, StagedRange, as_iterable
from runtime.loops import stage_reduce, stage_while
from runtime.maybe import Maybe, MaybeObject, MaybeTensor
from runtime.ops.indexing import setitem
from runtime.staged_builtins import BUILTINS
from runtime.tensor import OPERATORS, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.trace import convert_to_tensor, current_graph, wrap

__all__ = ["BACKEND", "Staging", "truth"]


def truth(value: Any) -> Any:
    """Whether Python would count `value` as true: a bool, or a bool scalar tensor.

    ShapeError for a tensor that has not exactly one element.
    """
    if isinstance(value, MaybeTensor):
        return _maybe_truth(value)
    if isinstance(value, MaybeObject):
        return truth(value.checked())
    if hasattr(type(value), "__truth__"):
        value = value.__truth__()
    elif hasattr(type(value), "__tensor__"):
        value = convert_to_tensor(value)
    if not isinstance(value, GraphTensor):
        return bool(value)
    if value.type.ndim:
        if value.type.size != 1:
            error = ShapeError(
                f"The truth value of an array with more than one element is ambiguous: this tensor is {value.type}",
                remedy="Use rt.reduce_any or rt.reduce_all.")
            locate(error, user_position())
            raise error
        value = value[(0,) * value.type.ndim]
    constant = value.value.constant
    if constant is not None:
        return bool(constant)
    return value if value.dtype.is_bool else value != 0


def _maybe_truth(value: MaybeTensor) -> Any:
    """None is false."""
    value.presence.check_bound()
    present, held = value.presence.present, truth(value.content)
    return held if present is None else OPERATORS["and"](present, held)


class _Truth(Staged):
    """`a and b` or `a or b` of values that no one type fits: only their truth is known."""

    __slots__ = ("error", "held")

    def __init__(self, held: Any, error: StagingError) -> None:
        self.held = convert_to_tensor(held)
        self.error = error

    def __truth__(self) -> Any:
        return self.held

    def __leaves__(self) -> list[Any]:
        return [self.held]

    def __rebuild__(self, leaves: Sequence[Any]) -> _Truth:
        if isinstance(leaves[0], EagerTensor):  # a function returned it
            raise self.error
        return _Truth(leaves[0], self.error)

    def _refuse(self, *_: Any) -> NoReturn:
        raise self.error

    __tensor__ = __len__ = __iter__ = __getitem__ = __neg__ = __abs__ = __invert__ = __lt__ = __le__ = __gt__ = _refuse
    __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse


def _read(value: Any) -> Any:
    """The value of an operand: where a variable that may be unbound is read, Python raises there."""
    if isinstance(value, (MaybeTensor, MaybeObject)):
        value.presence.check_bound()
    return value


class Staging:
    """Implements `autograph.backend.Backend`."""

    builtins: Mapping[Any, Callable[..., Any]] = BUILTINS

    @property
    def unroll_budget(self) -> int:
        return settings.unroll_budget

    def stages(self, value: Any) -> bool:
        if isinstance(value, EagerTensor):
            return False
        if isinstance(value, (GraphTensor, MaybeObject)):
            return True
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

    # Expressions.

    def if_exp(self, pred: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        pred = truth(pred)
        if isinstance(pred, bool):
            return then() if pred else orelse()
        (value,) = stage_cond(
            pred, Step(lambda _: (_read(then()),)), Step(lambda _: (_read(orelse()),)), (None,), ("",))
        return value

    def and_(self, left: Any, right: Callable[[], Any]) -> Any:
        return self._logical("and", left, right, False)

    def or_(self, left: Any, right: Callable[[], Any]) -> Any:
        return self._logical("or", left, right, True)

    def _logical(self, name: str, left: Any, right: Callable[[], Any], decisive: bool) -> Any:
        """`left`, if its truth is `decisive`, else `right()`."""
        pred = truth(left)
        if isinstance(pred, bool):
            return left if pred is decisive else right()
        if _is_bool(left):
            simple = stage_logical(name, left, Step(right))
            if simple is not None:
                return simple
        mark = checkpoint()

        def choose(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
            return self.if_exp(pred, first, second) if decisive else self.if_exp(pred, second, first)

        try:
            return choose(lambda: decisive if _is_bool(left) else left, right)
        except StagingError as error:  # no type fits both values, but they may be wanted for their truth only
            rollback(mark)
            return _Truth(choose(lambda: decisive, lambda: truth(right())), error)

    def not_(self, value: Any) -> Any:
        pred = truth(value)
        if isinstance(pred, bool):
            return not pred
        return wrap(pred.op.inputs[0]) if pred.op is not None and pred.op.op.name == "invert" else ~pred

    def is_none(self, value: Any) -> Any:
        if not isinstance(value, Maybe):
            return value is None
        value.presence.check_bound()
        present = value.presence.present
        if present is None:
            return value.content is None
        return ~present

    def contains(self, container: Any, value: Any) -> Any:
        if isinstance(container, (range, StagedRange)):
            offset = value - container.start
            index = offset // container.step
            length = container.length if isinstance(container, StagedRange) else len(container)
            within = OPERATORS["and"](index >= 0, index < length)
            return OPERATORS["and"](within, offset % container.step == 0)
        found: Any = False
        for item in container:
            same = truth(value == item)
            if isinstance(same, bool):
                if same:
                    return True
            else:
                found = same if found is False else found | same
        return found

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

    def setitem(self, target: Any, index: Any, value: Any) -> Any:
        if not hasattr(type(target), "__setitem__"):
            return setitem(target, index, value)
        target[index] = value
        return target


def _is_bool(value: Any) -> bool:
    return isinstance(value, GraphTensor) and not isinstance(value, MaybeTensor) and (
        value.type.dtype.is_bool and not value.type.shape)


BACKEND: Final = Staging()
trace.backend = BACKEND
Tensor.__autograph__ = BACKEND
MaybeObject.__autograph__ = BACKEND
Staged.__autograph__ = BACKEND
announce()

"""The runtime as a backend of autograph: stages control flow of converted code on tensors."""
from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from inspect import CO_GENERATOR
from types import CodeType
from typing import Any, Final

import numpy as np

from autograph import register
from autograph.backend import (
    LISTS,
    Body,
    Checkpoint,
    Clause,
    Handler,
    ListItems,
    Part,
    RaisedBy,
    Refused,
    UnrolledLoop,
    Values,
    draws_random_numbers,
    has_staged_items,
    is_internal,
    is_list,
    is_reference,
    keyed,
    operators,
    register_indexed,
)
from runtime.core.array_mode import (
    TraceAgain,
    existed_before,
    lists_hold_arrays,
    live_objects,
    want_objects,
    want_sets,
    writes_tensor,
)
from runtime.core.config import settings
from runtime.core.errors import InaccessibleTensorError, StagingError, locate
from runtime.core.formatting import formatted, percent
from runtime.core.generator_frames import exited_by_tensor
from runtime.core.graph import Value, why_unrolled
from runtime.core.graph_views import is_python_number, kind_of_number
from runtime.core.memos import memos
from runtime.core.object_mode import lists_of_arenas, want_references
from runtime.core.positions import Position, located, staging_error, user_position
from runtime.core.pytree import flatten
from runtime.core.tensor import EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.tensor_writes import set_item
from runtime.core.text import Text, concat_text
from runtime.core.trace import convert_to_tensor, current_graph, tell_watchers, wrap
from runtime.numpy.array_indexing import numbers_in
from runtime.numpy.array_objects import StagedArray
from runtime.numpy.dispatch import operate
from runtime.numpy.grids import GRIDS, at_index
from runtime.ops import number_methods  # noqa: F401  it fills the table of operations
from runtime.ops.indexing import setitem
from runtime.staging.aliases.alias_tracking import as_originals, forget_exits, in_use, may_alias, record_exit
from runtime.staging.aliases.body_tracing import Step, UnboundedError
from runtime.staging.aliases.list_elements import following, put_back, record_of
from runtime.staging.aliases.open_bodies import begin_body, bodies_open, end_body, tracked_elements
from runtime.staging.aliases.shared_elements import settle_links
from runtime.staging.containers.comparison import compare
from runtime.staging.containers.counter_functions import COUNTER_OPERATORS, are_staged_counters
from runtime.staging.containers.dict_lookup import delete_item_of, dict_comp, dict_of, item_of, put_item_of, union
from runtime.staging.containers.membership import contains
from runtime.staging.containers.row_table import Row
from runtime.staging.containers.sequence_methods import (
    item_at,
    list_operation,
    method_of_sequence,
    put_item_at,
    put_slice,
    take_out_slice,
)
from runtime.staging.containers.settled_keys import settle_keys, settle_names
from runtime.staging.containers.unpacking import parts_of
from runtime.staging.control.caught_errors import is_caught
from runtime.staging.control.cond import stage_cond
from runtime.staging.control.exceptions import refuse_errors, stage_try
from runtime.staging.control.loops import stage_reduce, stage_while
from runtime.staging.control.operands import Operand, if_exp, logical, read
from runtime.staging.control.recursion import recursive
from runtime.staging.control.rolled_loops import RolledLoop, rolled
from runtime.staging.control.trace_points import TracePoint
from runtime.staging.control.unrolled_loops import unrolling
from runtime.staging.elements.element_layout import empty_row
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select
from runtime.staging.joins.container_arenas import make_references, readable
from runtime.staging.joins.growth import check_attempts
from runtime.staging.python.builtins import BUILTINS
from runtime.staging.python.cmath_module import CMATH
from runtime.staging.python.foreign_calls import callee
from runtime.staging.python.introspection import (
    check_attribute,
    check_attributes,
    check_owned,
    is_same,
    subject_of_match,
)
from runtime.staging.python.math_module import MATH
from runtime.staging.python.special_results import check_result
from runtime.staging.python.spread_calls import call_spread, positional
from runtime.staging.storage.arenas import constructor
from runtime.staging.storage.dict import View
from runtime.staging.storage.set import set_comp, set_of
from runtime.staging.values.enum_members import NumberMember
from runtime.staging.values.generators import StagedGenerator, call_of_generator, known_items
from runtime.staging.values.iterables import EagerRows, Lazy, Staged, as_iterable, view_of
from runtime.staging.values.list import unview
from runtime.staging.values.lost_iterators import iterator_after_exit, outside_iterator, taken_outside
from runtime.staging.values.optional import Maybe, MaybeObject, MaybeTensor, checked, there
from runtime.staging.values.trials import is_accident
from runtime.staging.values.truthiness import truth

__all__ = ["BACKEND", "Staging"]

def _check_read(value: Any) -> None:
    """As `read`. AttributeError if the value is that of a Python number of the graph, which has no such attribute."""
    if type(value) is Value:
        kind = kind_of_number(value) if is_python_number(value) else "Tensor"
        raise located(AttributeError(f"'{kind}' object has no attribute 'value'"))
    read(value)


_INSTEAD: Final = {
    "ndarray": "Use a tensor, for example rt.zeros(shape) or rt.constant(array).",
    **dict.fromkeys(("StringIO", "TextIOWrapper"), "Print to it, by print(..., file=...): the graph does that."),
}


def _changed(kind: type, name: str) -> tuple[str, str]:
    """The text and remedy of the error for a body that changes an object which is not state."""
    draws = draws_random_numbers(kind)
    what = (f"staged code {'draws random numbers from' if draws else 'changes'} {name!r} ({kind.__name__}): that would"
            " happen once, while the code is traced, and not each time it runs")
    if draws:
        return what, "Draw them with rt.random, or outside of staged code."
    return what, _INSTEAD.get(kind.__name__, "Use a list, a tensor or an rt.Variable, or change it outside of staged"
                                             " code.")


class Staging:
    """Implements `autograph.core.backend.Backend`."""

    builtins: Mapping[Any, Callable[..., Any]] = {**BUILTINS, **MATH, **CMATH, format: formatted}

    def iterating(self, iterable: Any) -> AbstractContextManager[Sequence[Any]]:
        if is_list(iterable):
            return in_use(iterable)
        itself = (iterable,) if has_staged_items(iterable) or isinstance(iterable, Select) else ()
        return nullcontext(iterable.containers() if isinstance(iterable, (Lazy, View)) else itself)

    def mutable_values(self) -> list[Any]:
        return [*live_objects(current_graph()), *tracked_elements(), *lists_of_arenas(), *memos()]

    def stages(self, value: Any) -> bool:
        if isinstance(value, EagerTensor):
            return False
        if isinstance(value, (GraphTensor, ListItems, MaybeObject, Row, Select)) or has_staged_items(value):
            return True
        if isinstance(value, Text):
            return current_graph() is not None
        if hasattr(type(value), "__leaves__"):
            return any(isinstance(leaf, (GraphTensor, GraphList)) for leaf in value.__leaves__())
        return current_graph() is not None and (isinstance(value, Staged) or hasattr(type(value), "__tensor__"))

    def checkpoint(self) -> Checkpoint:
        return TracePoint()

    # Statements.

    def cond(self, pred: Any, true_fn: Body, false_fn: Body, init: Values, names: tuple[str, ...]) -> Values:
        pred = truth(pred)
        if isinstance(pred, bool):
            return as_originals((true_fn if pred else false_fn)(*init))
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
        return self._unroll(_written(iterable), body_fn, test_fn, init, names)

    def _unroll(
        self, iterable: Any, body_fn: Body, test_fn: Body | None, init: Values, names: tuple[str, ...]
    ) -> Values:
        """A loop over Python values, unrolled because a branch on a tensor may leave it."""
        state: Sequence[Any] = init
        for count, item in enumerate(iterable):
            going = True if test_fn is None or not count else truth(test_fn(*state))
            if going is False:
                break
            if going is True:
                state = as_originals(body_fn(item, *state))
            else:
                iteration = Step(lambda *values, item=item: body_fn(item, *values))
                state = stage_cond(going, iteration, Step(lambda *values: values), state, names)
        return tuple(state)

    def rolled(self, iterable: Any) -> RolledLoop | None:
        return rolled(iterable)

    def unrolling(self, code: CodeType) -> UnrolledLoop:
        return unrolling(code)

    def refusal(self, event: Refused, subject: Any, name: str, filename: str, lineno: int) -> Exception:
        if event == "left":
            return iterator_after_exit(subject, lineno)
        if event == "outside":
            return outside_iterator(subject, name)
        if event == "early":
            exited_by_tensor(subject)
            return staging_error(
                f"taking an item of this loop changes {name}, and a tensor decides whether the loop has been left by"
                " then", "Loop over the values that the items are made from, and compute the items in the loop's body.")
        if event == "unrolled":
            exited_by_tensor(subject)
            why, remedy = why_unrolled(filename, lineno)
            return staging_error(
                f"this loop over Python values has run {settings.unroll_budget} iterations, each of which is traced"
                f" into the graph, since a tensor decides whether to leave it{why}",
                f"{remedy}; or raise the budget with"
                " rt.config.set_autograph_unroll_budget(n).")
        what, remedy = (_changed(type(subject), name) if event == "changed"
                        else taken_outside(type(subject).__name__, name))
        error = StagingError(what, remedy=remedy)
        locate(error, (is_internal(filename) and user_position()) or Position(filename, lineno))
        if event == "changed" and type(subject) is set:
            return want_sets(error)
        if event == "changed" and isinstance(subject, np.ndarray) and subject.dtype.kind in "biufc":
            return want_objects(error, [subject] if existed_before(subject) else ())
        return error

    def error(self, what: str, remedy: str) -> Exception:
        want_references()
        return staging_error(what, remedy)

    def raised_by(self, error: BaseException) -> RaisedBy:
        if isinstance(error, (StagingError, InaccessibleTensorError, TraceAgain)) or is_accident(error):
            return "staging"
        return "graph" if is_caught(error) else "python"

    def try_(
        self, body: Body, handlers: Sequence[Handler], init: Values, names: tuple[str, ...], read: Callable[[], Values]
    ) -> Values:
        return stage_try(body, handlers, init, names, read)

    def refuse_errors(self, filename: str, first: int, last: int, kinds: tuple[type[BaseException], ...]) -> None:
        refuse_errors(filename, first, last, kinds)

    def staging_again(self, times: int, holders: Sequence[Any]) -> None:
        check_attempts(times, holders)

    def body_began(self) -> None:
        begin_body()

    def body_ending(self, body: Body, names: Sequence[str], read: Callable[[], Sequence[Any]]) -> None:
        make_references(names, read, body)

    def body_ended(self, error: BaseException | None) -> bool:
        tell_watchers(error)
        forget_exits()
        end_body()
        if bodies_open():
            settle_links(bodies_open()[-1].first_link)
        return isinstance(error, UnboundedError)

    def escapes(self, value: Any, origin: Any) -> None:
        record_exit(value, origin)

    def may_alias(self, value: Any) -> bool:
        return may_alias(value)

    # Expressions.

    def if_exp(
        self, pred: Any, then: Operand | None, orelse: Operand | None, init: Values = (), names: tuple[str, ...] = ()
    ) -> Values:
        if then is None or orelse is None:
            return logical(pred, then, orelse, init, names)
        return if_exp(pred, then, orelse, init, names)

    def check(self, value: Any, part: Part, name: str = "") -> Any:
        if part == "element":
            return _element(value)
        if part == "subject":
            return subject_of_match(value)
        if part == "value":
            _check_read(value)
            return checked(value)
        elif part == "keys":
            if not settle_names(value):
                settle_keys(value, words=False)
        elif part == "attributes":
            check_attributes(value)
        else:
            check_attribute(value, name)
        return value

    def operation(self, name: str, *operands: Any) -> Any:
        return _OPERATIONS[name](*operands)

    def converted(self, fn: Any, form: Any) -> Any:
        if isinstance(fn, type):
            return constructor(fn, form)
        code = getattr(form, "__code__", None)
        return call_of_generator(fn, form) if code and code.co_flags & CO_GENERATOR else recursive(fn, form)

    def callee(self, fn: Any) -> Any:
        return callee(fn)

    def text(self, parts: Sequence[Any]) -> Any:
        return concat_text(parts)

    def generator(self, clause: Clause) -> StagedGenerator:
        return StagedGenerator(clause)

    def items(self, iterable: Any, what: str, remedy: str) -> Iterator[Any]:
        return known_items(iterable, what, remedy)

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
        operators.cond(pred, None, fail)  # the message may change something

    def is_immutable(self, target: Any) -> bool:
        return isinstance(target, (Tensor, Text)) and not isinstance(target, StagedArray)

    def changing(self, target: Any) -> Callable[[], None] | None:
        element = record_of(target)
        if element is None and lists_hold_arrays() and _is_of_list(target):
            raise staging_error(
                "an array is changed here by a name of its own that is part of an element of a list or dict, which"
                " holds what was in it: staged code does not see the change there",
                "Set it by the element: xs[i].a[j] = x; or put a changed copy in: xs[i].a = b.")
        return None if element is None else partial(put_back, element)

    def setitem(self, target: Any, index: Any, value: Any, around: Any = None) -> Any:
        if is_reference(target):
            with following(target):
                return self.setitem(target, index, value, around)
        index, value = there(index), there(value)
        if isinstance(target, (StagedArray, MaybeObject)):
            target[index] = value
            return target
        if isinstance(target, np.ndarray):
            _refuse_write(target, index, value)
        if isinstance(target, GraphTensor):
            writes_tensor()
            if lists_of_arenas() and _is_of_list(target):
                raise staging_error(
                    "an item of a tensor is set here that is an attribute or element of an object that staged code"
                    " refers to by several names", "Set the attribute to a new tensor.")
        if isinstance(target, Tensor) or not (isinstance(target, (str, Text)) or hasattr(type(target), "__setitem__")):
            return set_item(setitem, target, index, value)
        if isinstance(target, dict):
            put_item_of(target, index, value)
        elif type(index) is slice and is_list(target):
            put_slice(target, index, value)
        elif is_list(target) and not (isinstance(index, (str, Text)) or has_staged_items(target)):
            put_item_at(target, index, value, around)
        else:
            _written(target)[index] = value
        return target


def _is_of_list(x: Any) -> bool:
    """Whether it is a tensor as a list of the graph holds it."""
    node = x.value.node if type(x) is GraphTensor and x.type.shape else None
    return node is not None and node.op.name == "list_get"


def _element(value: Any) -> Any:
    """An element as stored in a list that a staged comprehension builds."""
    if type(value) is list and not value:
        return empty_row()
    return value


def _refuse_write(target: Any, index: Any, value: Any) -> None:
    """StagingError if a write to a NumPy array concerns the graph: staged code then needs the array as an object."""
    if existed_before(target):
        raise want_objects(staging_error(
            "a NumPy array that was there before the call is changed here, and staged code cannot have it as an"
            " object: it is in a tuple, or not found where it comes from", "Pass the array as an argument."), [target])
    if any(map(BACKEND.stages, flatten([numbers_in(index), value]))):
        raise want_objects(staging_error(
            "a tensor is written here into a NumPy array, or is its index, and staged code cannot have the array as an"
            " object: it is not the result of a call of NumPy, nor computed from arrays that staged code finds",
            "Make it an object: a = np.array(a)."))


def _written(x: Any) -> Any:
    """The object that implements changes of a list."""
    return x if isinstance(x, Select) else view_of(x)


# Python's operators, by name.

def _not(value: Any) -> Any:
    pred = truth(value)
    if isinstance(pred, bool):
        return not pred
    node = pred.value.node
    return wrap(node.inputs[0]) if node is not None and node.op.name == "invert" else ~pred


def _is(value: Any, other: Any) -> Any:
    if other is None:
        return value.presence.is_none(value.content) if isinstance(value, Maybe) else value is None
    return _is_that_bool(value, other) if other is True or other is False else is_same(value, other)


def _is_that_bool(value: Any, wanted: bool) -> Any:
    """`value is wanted`; a bool scalar tensor counts as the bool that it holds."""
    value = value.__tensor__() if isinstance(value := read(value), MaybeTensor) else value
    if not isinstance(value, Tensor) or not value.dtype.is_bool or value.ndim:
        return value is wanted
    same = value if wanted else _not(value)
    return bool(same) if isinstance(value, EagerTensor) else same


def _getitem(container: Any, index: Any) -> Any:
    if isinstance(container, (defaultdict, Counter)) and is_reference(container):
        with following(container):  # which may add an item
            return _getitem(container, index)
    container = readable(container)
    if has_staged_items(container):
        return unview(view_of(container)[index])
    if type(container) in keyed and isinstance(container, dict):
        return item_of(container, index)
    if isinstance(container, np.ndarray):
        return convert_to_tensor(container)[index]
    if type(container) in GRIDS:
        return at_index(container, index)
    kinds = (*LISTS, tuple, range, str, bytes)
    if isinstance(index, (str, Text)) or isinstance(container, dict) or not isinstance(container, kinds):
        return container[index]
    return unview(item_at(container, index))


def _delitem(container: Any, index: Any) -> None:
    if type(container) in keyed:
        with following(container):
            delete_item_of(container, index)
    elif type(container) is not list or has_staged_items(container):
        with following(container):
            del _written(container)[index]
    elif type(index) is slice:
        take_out_slice(container, index)
    else:
        method_of_sequence(container.pop)(index)


def _mod(python: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    return percent(left, right) if isinstance(left, str) else python(left, right)


def _extended(name: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """An operator, extended to counters, and lists beside arrays, with items that only the graph knows."""
    def operation(*operands: Any) -> Any:
        if name in COUNTER_OPERATORS and are_staged_counters(*operands):
            return operators.call(COUNTER_OPERATORS[name])(*operands)
        found = operate(name, *operands) if len(operands) == 2 else NotImplemented
        return otherwise(*operands) if found is NotImplemented else found

    return operation


_OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "not_": _not, "is_": _is, "contains": contains, "getitem": _getitem, "delitem": _delitem,
    **{name: _extended(name, partial(_mod, getattr(operator, name))) for name in ("mod", "imod")},
    "or_": _extended("or_", partial(union, in_place=False)), "ior": _extended("ior", partial(union, in_place=True)),
    "parts": parts_of, "positional": positional, "call_spread": call_spread,
    "check_result": check_result, "check_owned": check_owned,
    "dict_comp": dict_comp, "dict_of": dict_of, "set_comp": set_comp, "set_of": set_of,
    **{name: _extended(name, partial(compare, name)) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{name: _extended(name, partial(list_operation, name)) for name in ("add", "mul", "iadd", "imul")},
    **{name: _extended(name, getattr(operator, name)) for name in (
        "sub", "isub", "and_", "iand", "neg", "pos", "pow", "ipow", "truediv", "itruediv", "floordiv", "ifloordiv",
        "matmul", "imatmul")},
}

register_indexed(*GRIDS)

BACKEND: Final = Staging()
for _cls in (Tensor, MaybeObject, Staged, Text, ListItems, EagerRows, NumberMember, Reference):
    register(_cls, BACKEND)

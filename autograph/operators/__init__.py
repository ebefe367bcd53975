"""The `ag__` namespace of converted code: the meaning of each operator in Python, and when a backend takes over.

Each operator dispatches on the type of one value. For a plain Python value the body runs at once, with Python's
meaning; for a value whose type has a backend that stages it (`core/backend.py`), the bodies become pure functions of
the state, which are passed to the backend.
"""
from __future__ import annotations

import builtins as _builtins
import operator as _operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType, GeneratorType
from typing import Any, cast

from autograph.core.backend import Backend, GeneratorExpression, ambient, backend_of, deciding, keyed, staging_backend
from autograph.core.lists import LISTS
from autograph.core.lost_iterators import check_items, lose_with
from autograph.core.slots import is_users_class
from autograph.core.tracebacks import add_comprehension, own_errors, prune, settle, stand_in
from autograph.core.versions import INLINES_COMPREHENSIONS
from autograph.dispatch.converted_call import call, truth_value
from autograph.dispatch.frames import caller
from autograph.operators import loop_rotation
from autograph.operators.assertions import assert_
from autograph.operators.containers import (
    add,
    bitand,
    bitor,
    call_spread,
    delitem,
    dict_of,
    eq,
    extended,
    floordiv,
    ge,
    gt,
    iadd,
    ibitand,
    ibitor,
    ifloordiv,
    imatmul,
    imul,
    ipow,
    is_bool,
    is_none,
    is_same,
    isub,
    item,
    itruediv,
    le,
    lt,
    matmul,
    merged,
    mul,
    ne,
    neg,
    own_index,
    parts,
    pos,
    positional,
    pow,
    set_of,
    spread,
    sub,
    truediv,
    tuple_display,
    united,
)
from autograph.operators.contexts import run_with, trace_with
from autograph.operators.counting import loop_over_count, only_counts
from autograph.operators.exceptions import Except, kept_handler, kept_try, run_try, trace_try
from autograph.operators.generators import (
    Clause,
    Exhausted,
    around_yield,
    clause_of,
    fresh_clause,
    items_of,
    itself,
    nested,
    tracing,
    unpack,
    yielded,
)
from autograph.operators.loop_rolling import run_plainly, traced_while
from autograph.operators.lvalues import attribute, attributes, element, fields, place
from autograph.operators.patterns import (
    has_length,
    has_part,
    is_class,
    is_mapping,
    is_sequence,
    matched,
    matched_items,
    matched_part,
    matched_rest,
)
from autograph.operators.staged_for import stage_reduce
from autograph.operators.strings import formatted, imod, mod, shown, text
from autograph.operators.traced_for import run_traced
from autograph.state.bodies import Branch, Operand
from autograph.state.body_cells import bind, note
from autograph.state.converted_text_bodies import part
from autograph.state.statement_state import State, checkpoint, rollback, staged

__all__ = [
    "add", "and_", "around_yield", "assert_", "attribute", "attributes", "bind", "bitand", "bitor", "call",
    "call_spread", "caller", "cond", "delitem", "dict_comp", "dict_of", "each", "element", "eq", "extended", "fields",
    "floordiv", "formatted", "ge", "gen_exp", "gt", "has_length", "has_part", "hasattr", "iadd", "ibitand", "ibitor",
    "if_exp", "ifloordiv", "imatmul", "imod", "imul", "in_", "ipow", "is_bool", "is_class", "is_mapping", "is_none",
    "is_same", "is_sequence", "isub", "item", "itruediv", "kept_handler", "kept_try", "le", "list_comp", "lt",
    "matched", "matched_items", "matched_part", "matched_rest", "matmul", "members", "merged", "mod", "mul", "ne",
    "neg", "nested", "not_", "note", "or_", "parts", "place", "pos", "positional", "pow", "read", "reduce", "set_comp",
    "set_of", "setitem", "shown", "slice", "spread", "sub", "text", "to_delete", "truediv", "try_", "tuple_display",
    "united", "unpack", "while_loop", "with_", "yielded",
]

slice = _builtins.slice
ilshift, irshift, ixor = _operator.ilshift, _operator.irshift, _operator.ixor
iand, ior = ibitand, ibitor
Thunk = Callable[[], Any]


# --- Statements ---------------------------------------------------------------------------------------------


def cond(pred: Any, if_true: Thunk | None, if_false: Thunk | None, /, *state: str) -> None:
    """`if pred: if_true() else: if_false()`; None is an empty branch."""
    try:
        if pred is not True and pred is not False:
            pred = truth_value(pred)
            if (backend := deciding(pred)) is not None:
                _stage_cond(backend, pred, if_true, if_false, state)
                return
            pred = _operator.truth(pred)  # the object goes before the body runs
        taken = if_true if pred else if_false
        if taken is not None:
            part(taken)()
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise


def while_loop(test: Thunk, body: Thunk, /, *state: str, **options: Any) -> None:
    """`while test(): body()`. The keywords are those of `set_loop_options`, for a backend."""
    try:
        part(test), part(body)
        traced = traced_while(test, body, state, lambda backend, loop: _stage_while(
            backend, test, body, state, options | {"rolled": loop}))
        left = _MOST_SNAPSHOTS if traced is None or traced.needs_undo else 0
        while True:
            mark = checkpoint(test) if left else None
            going = truth_value(test())
            backend = deciding(going)
            if backend is not None:
                rollback(mark)
                _stage_while(backend, test, body, state, options, *(() if left else (going,)))
                return
            left = left and left - (ambient.backend is not None)
            if not going:
                if traced is not None:
                    traced.note_end()
                return
            del going  # the object goes before the body runs
            body()
            if traced is not None and traced.after_iteration():
                return
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise


def reduce(
    iterable: Any, body: Callable[[Any], Any], /, *state: str, test: Thunk | None = None, **options: Any
) -> None:
    """`for item in iterable: body(item)`, which ends early when `test()` is false after an iteration."""
    try:
        part(body)
        if test is not None:
            part(test)
        check_items(iterable)
        if hasattr(type(iterable), "__iterated__"):
            iterable = iterable.__iterated__()
        if (backend := deciding(iterable)) is not None:
            use, run = (getattr(type(iterable), name, None) for name in ("__clause__", "__pass_items__"))
            if use is not None:  # a generator expression: the body is inlined into its loops
                _reduce_clause(use(iterable, test is None), body, test, state, options)
            elif run is not None:
                run(iterable, body, test)
            else:
                stage_reduce(backend, iterable, body, test, state, options)
            return
        tracer = ambient.backend
        if tracer is not None and test is not None and only_counts(iterable):
            loop_over_count(iterable, body, test, state, while_loop, options)
            return
        if tracer is not None and type(iterable) is map:
            clause = clause_of(iterable)
            with suppress(Exhausted):
                _reduce_clause(clause, body, test, state, options)
            lose_with(iterable, clause.iterable)
            return
        fresh = None if tracer is None or test is None else fresh_clause(iterable)
        if fresh is not None:  # after an early exit no further element is computed
            _reduce_clause(fresh, body, test, state, options)
            return
        if tracer is not None:
            run_traced(
                tracer, iterable, body, test, state,
                lambda loop: stage_reduce(tracer, loop.items, body, test, state, options | {"rolled": loop}),
                lambda items: reduce(items, body, *state, test=test, **options), partial(while_loop, **options))
            return
        items = iter(iterable)
        del iterable  # only the loop refers to it now, so that it can be freed
        if test is None:
            for item in items:
                body(item)
        else:
            run_plainly(items, body, test, state)
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise


def try_(
    body: Thunk, /, *state: str, handlers: Sequence[Except] = (), orelse: Thunk | None = None,
    final: Thunk | None = None, jumps: Sequence[str] = (),
) -> None:
    """`try: body()` with its handlers, `else` and `finally`.

    A handler is a pair: a function that returns the classes that it catches (None: all), and its body, which may take
    the error. `jumps` are the flags by which `finally` signals a jump, which discards an error.
    """
    try:
        backend = ambient.backend
        if backend is None:
            run_try(body, handlers, orelse, final, jumps)
        else:
            trace_try(backend, body, handlers, orelse, final, jumps, state)
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise


def with_(manager: Any, body: Callable[..., Any], /, *state: str, jumps: Sequence[str] = ()) -> None:
    """`with manager as value: body(value)`; the body may ignore the value.

    `jumps` are the flags of jumps out of the body: an error that the manager swallows cancels them.
    """
    try:
        backend = ambient.backend
        if backend is None:
            run_with(manager, body, jumps)
        else:
            trace_with(backend, manager, body, jumps, state, cond)
    except BaseException as error:  # not own_errors: recursion through a statement has few frames to spare
        if (local := settle(error)) is not None:
            try:
                raise local
            except UnboundLocalError:
                stand_in(local, error)
                raise
        raise
    finally:
        del manager  # an error's traceback may keep this frame


# How a statement is staged: as pure functions of its state and of what its bodies are found to change.


def _stage_cond(
    backend: Backend, pred: Any, if_true: Thunk | None, if_false: Thunk | None, state: tuple[str, ...]
) -> None:
    if if_true is None and if_false is None:
        return

    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        true_fn, false_fn = Branch(if_true, variables, if_false), Branch(if_false, variables, if_true)
        return backend.cond(pred, true_fn, false_fn, variables.read(), names)

    staged(state, backend, (if_true, if_false), run)


_MOST_SNAPSHOTS = 8
"""The number of Python iterations of a `while` for which a snapshot is taken before its test. If the loop is staged
later than that, it is rotated, so that the test need not be undone."""


def _stage_while(
    backend: Backend, test: Thunk, body: Thunk, state: tuple[str, ...], options: dict[str, Any], *going: Any
) -> None:
    """Stage the loop; `going` is the result of its first test, if that has been evaluated already."""
    staged(state, backend, (test, body), loop_rotation.Loop(backend, test, body, options, *going))


# --- Expressions --------------------------------------------------------------------------------------------


@own_errors
def if_exp(pred: Any, then: Thunk, orelse: Thunk, /, *state: str) -> Any:
    """`then() if pred else orelse()`. `state`: what the operands are known to change."""
    pred = truth_value(pred)
    backend = deciding(pred)
    if backend is None:
        return part(then)() if pred else part(orelse)()

    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        return backend.if_exp(pred, Operand(then, variables), Operand(orelse, variables), variables.read(), names)

    return staged(state, backend, (then, orelse), run)[0]


@own_errors
def and_(value: Any, /, *others: Thunk) -> Any:
    """`value and others[0]() and ...`."""
    for other in others:
        decides = truth_value(value)
        backend = deciding(decides)
        if backend is not None:
            value = _stage_logical(backend, value, other, is_and=True)
        elif decides:
            value = part(other)()
        else:
            return value
    return value


@own_errors
def or_(value: Any, /, *others: Thunk) -> Any:
    """`value or others[0]() or ...`."""
    for other in others:
        decides = truth_value(value)
        backend = deciding(decides)
        if backend is not None:
            value = _stage_logical(backend, value, other, is_and=False)
        elif decides:
            return value
        else:
            value = part(other)()
    return value


def _stage_logical(backend: Backend, left: Any, right: Thunk, is_and: _builtins.bool) -> Any:
    """`left and right()` or `left or right()`."""

    def run(variables: State, names: tuple[str, ...]) -> tuple[Any, ...]:
        operand = Operand(right, variables)
        then, orelse = (operand, None) if is_and else (None, operand)
        return backend.if_exp(left, then, orelse, variables.read(), names)

    return staged((), backend, (right,), run)[0]


def not_(value: Any, /) -> Any:
    """`not value`."""
    if value is True:
        return False
    if value is False:
        return True
    try:
        value = truth_value(value)
        backend = deciding(value)
        return not value if backend is None else backend.operation("not_", value)
    except BaseException as error:
        prune(error)
        raise


@own_errors
def in_(value: Any, container: Any, /) -> Any:
    """`value in container`."""
    check_items(container)
    if ambient.backend is not None and is_users_class(type(container)) and not hasattr(type(container), "__contains__"):
        method = getattr(type(container), "__iter__", None)
        container = call(method)(container) if type(method) is FunctionType else container
    backend = staging_backend(value) or staging_backend(container)
    if backend is None and type(container) in (tuple, *LISTS):
        if type(value) in (tuple, *LISTS) or type(value) in keyed or hasattr(type(value), "__stands_for__"):
            backend = ambient.backend  # it may contain, or be one of, values of the backend's
        else:
            backend = next((found for item in (*container, value) if (
                found := ambient.backend if is_users_class(type(item)) else staging_backend(item)) is not None), None)
    if backend is None and (type(container) in keyed or type(container) in _ASKED or isinstance(value, str) or (
            backend_of(value) is not None)):
        backend = ambient.backend
    if ambient.backend is not None and backend_of(container) is None:
        method = getattr(type(container), "__contains__", None)
        if type(method) is FunctionType:  # Python's `in` converts its result to bool
            found = call(method)(container, value)
            return call(_builtins.bool)(found)
    return value in container if backend is None else backend.operation("contains", container, value)


_ASKED = frozenset({GeneratorType, map, filter, zip, str, set, frozenset})
"""Iterables whose items are unknown until they are taken, and text, which may contain values of the graph or be
compared with them."""


def members(*items: Any) -> Any:
    """`{a, b, ...}` as an operand of `in`: a tuple if there are tensors, which Python cannot hash."""
    return set(items) if all(backend_of(item) is None for item in items) else items


@own_errors
def list_comp(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> list[Any]:
    """`[element(*item) for item in iterable if test(*item)]`; `element` takes an item, or its parts."""
    try:
        return _collect([], Clause(iterable, element, test))
    except BaseException as error:
        add_comprehension(error, element, test)
        raise


@own_errors
def each(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> None:
    """`[element(*item) for item in iterable if test(*item)]` as a statement whose list is not used."""

    def for_body(value: Any) -> None:
        pass

    cast(Any, for_body).place = element
    try:
        _reduce_clause(_inlined(Clause(iterable, element, test)), for_body, None, (), {})
    except BaseException as error:
        add_comprehension(error, element, test)
        raise


def _inlined(clause: Clause) -> Clause:
    """The clause of a comprehension, in the user's function or in a frame of its own as in Python."""
    if INLINES_COMPREHENSIONS:
        part(clause.element)
        if clause.test is not None:
            part(clause.test)
    return clause


def _collect(ag__list: list[Any], clause: Clause) -> list[Any]:
    # No variable of the user, which the element may change, has these names.
    ag__element, ag__test = clause.element, clause.test
    iterable = _inlined(clause).iterable
    backend, clause = staging_backend(iterable), clause._replace(iterable=())  # the body must not reach an iterator

    def for_body(item: Any) -> None:
        arguments, stager = clause.arguments(item), backend

        def if_true() -> None:
            nonlocal ag__list
            value = ag__element(*arguments)
            if type(value) is Clause:
                ag__list = _collect(ag__list, value)
            else:
                call(ag__list.append)(value if stager is None else stager.check(value, "element"))

        cast(Any, if_true).place = ag__element
        if ag__test is None:
            if_true()
        else:
            going = truth_value(ag__test(*arguments))
            stager = backend or staging_backend(going)
            cond(going, if_true, None, "ag__list")

    cast(Any, for_body).place = ag__element
    reduce(iterable, for_body, "ag__list")
    return ag__list


def _reduce_clause(
    clause: Clause, ag__body: Callable[[Any], Any], test: Thunk | None, state: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """`reduce` over the items of a generator expression."""
    ag__element, ag__test, iterable = clause.element, clause.test, clause.iterable
    if ag__element is itself and ag__test is None:
        reduce(iterable, ag__body, *state, test=test, **options)
        return
    clause = clause._replace(iterable=())  # the body must not reach an iterator

    def for_body(item: Any) -> None:
        arguments = clause.arguments(item)

        def if_true() -> None:
            value = ag__element(*arguments)
            if type(value) is Clause:
                _reduce_clause(value, ag__body, test, state, options)
            else:
                ag__body(value)

        cast(Any, if_true).place = getattr(ag__body, "place", ag__body)
        if ag__test is None:
            if_true()
        else:
            cond(ag__test(*arguments), if_true, None, *state)

    cast(Any, for_body).place = getattr(ag__body, "place", ag__body)
    reduce(iterable, for_body, *state, test=test, **options)


@own_errors
def set_comp(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> Any:
    """`{element(*item) for item in iterable if test(*item)}`."""
    return _made_of(set, _inlined(Clause(iterable, element, test)))


@own_errors
def dict_comp(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> Any:
    """`{key: value for item in iterable if test(*item)}`, from the pairs that `element` returns."""
    return _made_of(dict, _inlined(Clause(iterable, element, test)))


def _made_of(kind: Any, clause: Clause) -> Any:
    backend = tracing(clause)
    found = NotImplemented if backend is None else backend.operation(f"{kind.__name__}_comp", clause)
    remedy = "Make it a list: [... for ... in ...]."
    return kind(items_of(clause, f"a {kind.__name__}", remedy)) if found is NotImplemented else found


@own_errors
def gen_exp(
    iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /
) -> Iterator[Any] | GeneratorExpression:
    """`(element(*item) for item in iterable if test(*item))`."""
    if deciding(iterable) is None:
        iterable = iter(iterable)
    clause = Clause(iterable, element, test)
    if clause.is_map and staging_backend(iterable) is None:
        return items_of(clause, "a generator", "")
    backend = tracing(clause)
    return items_of(clause, "a generator", "") if backend is None else backend.generator(clause)


def read(value: Any, /) -> Any:
    """`value`, read from a variable that may be unbound on some paths of staged code."""
    return value if ambient.backend is None else ambient.backend.check(value, "value")


def to_delete(value: Any, name: str, /) -> None:
    """Called before `del value.name`, for an attribute that a staged branch may have set."""
    if ambient.backend is not None:
        ambient.backend.check(value, "attribute", name)


def hasattr(value: Any, name: str, /) -> Any:
    """`hasattr(value, name)`, for an attribute that a staged branch may have set."""
    python = _builtins.hasattr
    return (python if ambient.backend is None else ambient.backend.builtins.get(python, python))(value, name)


@own_errors
def setitem(target: Any, index: Any, value: Any, /) -> Any:
    """The value of `target` after `target[index] = value`: itself, or a new value if it is immutable."""
    index = own_index(target, index)
    backend = backend_of(target)
    if backend is not None:
        after = backend.changing(target)
        made = backend.setitem(target, index, value)
        if after is not None:
            after()
        return made
    proxy = place(target)
    proxy[index] = spread(value) if type(index) is slice and proxy is target else value
    return target

"""The `for` clauses of comprehensions and generator expressions at run time, and the `yield` of generator functions
that pass their items to a loop body (internal iteration)."""
from __future__ import annotations

import dis
import itertools
from collections.abc import Callable, Iterator
from inspect import GEN_CREATED, getgeneratorlocals, getgeneratorstate
from types import CodeType, FunctionType, GeneratorType
from typing import Any, NamedTuple, cast

from autograph.core.backend import Backend, ambient, deciding, staging_backend
from autograph.core.code_cache import per_code
from autograph.core.iterator_positions import function_in
from autograph.core.lost_iterators import check_items
from autograph.core.tracebacks import add_comprehension, prune
from autograph.dispatch.converted_call import truth_value
from autograph.operators.exceptions import classes_of

__all__ = ["Clause", "Exhausted", "around_yield", "clause_of", "fresh_clause", "items_of", "itself", "nested",
           "unpack", "yielded"]


class Clause(NamedTuple):
    """`for item in iterable if test(*item)`, with its result for an item, `element(*item)`: a value or a nested
    clause."""

    iterable: Any
    element: Callable[..., Any]
    test: Callable[..., Any] | None

    def arguments(self, item: Any) -> tuple[Any, ...]:
        """The arguments of `element` and `test`: an item, or its parts."""
        count = self.element.__code__.co_argcount
        return unpack(item, count) if count > 1 else (item,)

    @property
    def is_nested(self) -> bool:
        """Whether its result for each item is a clause, because there is a nested `for`."""
        return "nested" in self.element.__code__.co_names

    @property
    def is_map(self) -> bool:
        """Whether it yields exactly one value for each item."""
        return self.test is None and not self.is_nested and not self.passes_items

    @property
    def passes_items(self) -> bool:
        """Whether its items come from a generator function that passes them to the loop body."""
        return hasattr(type(self.iterable), "passes_items") and bool(self.iterable.passes_items)


def nested(iterable: Any, element: Callable[..., Any], test: Callable[..., Any] | None = None, /) -> Clause:
    """A further `for` clause of a comprehension."""
    return Clause(iterable, element, test)


def itself(item: Any) -> Any:
    """The element function of a clause that yields the items of its iterable unchanged."""
    return item


class Exhausted(Exception):
    """Raised when the function of a `map` raises StopIteration, which ends the loop over it."""


def clause_of(mapped: Any) -> Clause:
    """The clause of Python's `map` object; its element may raise Exhausted."""
    _, (ag__function, *iterators), *state = mapped.__reduce__()

    def element(item: Any) -> Any:
        try:
            return ag__function(*item)
        except StopIteration:
            raise Exhausted from None

    if (place := function_in(ag__function)) is not None:
        cast(Any, element).place = place
    return Clause(zip(*iterators, strict=bool(state and state[0])), element, None)


def fresh_clause(items: Any) -> Clause | None:
    """The clause of `items_of(clause)` if no item has been taken yet; None for other iterables."""
    if type(items) is GeneratorType and items.gi_code is _CODE and getgeneratorstate(items) == GEN_CREATED:
        return getgeneratorlocals(items)["clause"]  # type: ignore[no-any-return]
    return None


def unpack(item: Any, count: int, /) -> tuple[Any, ...]:
    """The parts of an item, as unpacked by an assignment to `count` targets."""
    if not hasattr(type(item), "__iter__") and not hasattr(type(item), "__getitem__"):
        raise TypeError(f"cannot unpack non-iterable {type(item).__name__} object")
    if (backend := deciding(item)) is not None and (found := backend.operation("parts", item, count, None)) is not (
            NotImplemented):
        item = found
    parts = tuple(itertools.islice(item, count + 1))
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
    if len(parts) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return parts


def items_of(clause: Clause, what: str, remedy: str) -> Iterator[Any]:
    """The results of a clause, computed in Python. The number of items has to be known, and no staged value may decide
    it.

    `what`: the object made of the items, for the error.
    """
    try:
        yield from _items_of(clause, what, remedy)
    except GeneratorExit:
        raise
    except BaseException as error:
        add_comprehension(error, clause.element, clause.test)
        raise


def _items_of(clause: Clause, what: str, remedy: str) -> Iterator[Any]:
    check_items(clause.iterable)
    backend = deciding(clause.iterable)
    items = clause.iterable if backend is None else backend.items(clause.iterable, what, remedy)
    for item in items:
        arguments = clause.arguments(item)
        if clause.test is not None:
            kept = truth_value(clause.test(*arguments))
            decides = staging_backend(kept)
            if decides is not None:
                kept = decides.operation("not_", decides.operation("not_", kept))
                if type(kept) is not bool:
                    raise decides.error(
                        f"whether {what} has an item is decided by a tensor, known only when the graph runs", remedy)
            if not kept:
                continue
        value = clause.element(*arguments)
        if type(value) is Clause:
            yield from _items_of(value, what, remedy)
        else:
            yield value


_CODE = cast(FunctionType, items_of).__code__


def tracing(clause: Clause) -> Backend | None:
    """The backend that stages a clause: that of its iterable, or the one that is tracing."""
    return staging_backend(clause.iterable) or ambient.backend


# Generator functions that pass their items to a loop body (`passes/internal_iteration.py`).

def yielded(
    item: Any, body: Callable[[Any], Any], test: Callable[[], Any] | None, /, *caught: Callable[[], Any]
) -> Any:
    """Run an iteration of the loop over a generator for a yielded item; returns whether the loop has been left.
    `caught`: the classes caught by handlers around the `yield`, which must not see the errors of the loop's body."""
    try:
        if caught:
            _run_unseen(body, item, tuple(kind for kinds in caught for kind in classes_of(kinds)))
        else:
            body(item)
        if test is None:
            return False
        going = truth_value(test())
        backend = deciding(going)
        return not going if backend is None else backend.operation("not_", going)
    except BaseException as error:
        prune(error)
        raise


def _run_unseen(body: Callable[[Any], Any], item: Any, kinds: tuple[type[BaseException], ...]) -> None:
    backend = ambient.backend
    assert backend is not None
    mark = backend.checkpoint()
    refusal = ("the loop over this generator may raise what an `except` around the `yield` catches, which must not"
               " see it", "Move the `yield` out of the `try`: `try: x = ...`, then `yield x` in `else`.")
    try:
        body(item)
    except kinds as error:
        if backend.raised_by(error) == "staging":
            raise
        raise backend.error(*refusal) from None
    if mark.may_raise(kinds):
        raise backend.error(*refusal)


def around_yield(manager: Any, /) -> Any:
    """The manager of a `with` around a `yield`. An error or a `break` may leave the loop there, so it is an error if
    its `__exit__` distinguishes how it is left."""
    leave = getattr(type(manager), "__exit__", None)
    if type(leave) is FunctionType and _reads_error(leave.__code__) and ambient.backend is not None:
        raise ambient.backend.error(
            f"the `__exit__` of {type(manager).__name__!r} looks at the error that leaves a `with` around a `yield`,"
            " and a generator that a tensor decides has no GeneratorExit", "Put the `with` around the loop.")
    return manager


@per_code
def _reads_error(code: CodeType) -> bool:
    """Whether an `__exit__` reads its parameters besides `self`."""
    names = {*code.co_varnames[1:code.co_argcount + bool(code.co_flags & 0x04)]}
    loads = (i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_"))
    return any(not names.isdisjoint(name if isinstance(name, tuple) else (name,)) for name in loads
               if isinstance(name, (str, tuple)))

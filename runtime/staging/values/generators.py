"""Generator expressions over tensors, and their consumers: `sum`, `any`, `next`, `list`, `for`, ...

A loop over a generator expression is a loop over its iterable, with the generator's test as a branch around the loop's
body, so effects come in Python's order, and what its clauses change is state. As in Python, it can be consumed once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType, GeneratorType
from typing import Any, Final, NoReturn

from autograph.backend import (
    Clause,
    ConversionError,
    function_in,
    guards_yield,
    internal_iteration,
    items_of,
    itself,
    operators,
    references,
)
from runtime.core.generator_frames import refuse, stages_calls
from runtime.core.graph import Graph
from runtime.core.op import CAST
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import apply, current_graph
from runtime.core.types import int32
from runtime.ops.effects import raise_unless
from runtime.staging.values.iterables import (
    Counted,
    Staged,
    as_iterable,
    counted,
    is_staged,
    view_of,
)
from runtime.staging.values.lazy_iterables import StagedEnumerate, StagedZip
from runtime.staging.values.list import StagedList, StagedSequence, collect
from runtime.staging.values.lost_iterators import leaving

__all__ = [
    "StagedGenerator",
    "all_at_once",
    "any_of",
    "any_taken",
    "call_of_generator",
    "can_be_enumerated",
    "collected",
    "enumerated",
    "filtered",
    "first_of",
    "item_if",
    "known_items",
    "listed",
    "mapped",
    "materialized",
    "once",
    "reduced",
    "stand_for",
    "sum_of",
    "use_up",
    "without_effects",
    "zip_operands",
    "zipped",
]

_FRESH, _DONE, _EXITED, _ELSEWHERE = "fresh", "done", "exited", "elsewhere"
_REMEDY: Final = "Make it a list, which can be run over again: [... for ... in ...]."
_ONE_BY_ONE: Final = (
    "Python takes the items of this generator one by one here, and a tensor decides what it yields",
    "Loop over it with `for`, once, or make a list of its items: list(...).")


class StagedGenerator(Staged):
    """A generator expression whose items, or their number, are known only at run time.

    Python code may take its items one by one if their number is known.
    """

    __slots__ = ("_clause", "_graph", "_items", "_used", "counts")
    __stands_for__ = GeneratorType

    def __init__(self, clause: Clause, counts: bool = False) -> None:
        """`counts`: the clause has its own counter, which changes with each item."""
        self._clause = clause
        self.counts = counts
        self._graph = current_graph()
        self._used = _FRESH
        self._items: Iterator[Any] | None = None

    @property
    def over_python(self) -> bool:
        """Whether it iterates over a Python iterator, which keeps its own position."""
        return hasattr(type(self._clause.iterable), "__next__") and not is_staged(self._clause.iterable)

    def __takes_from__(self) -> Any:
        """For the operators: the iterator that Python code advances, if any."""
        return self._clause.iterable if self._items is None else self._items

    @property
    def passes_items(self) -> bool:
        return self._clause.passes_items

    @property
    def began(self) -> bool:
        """Whether Python code has taken items from it."""
        return self._items is not None

    def rest_is_known(self) -> None:
        """Record that its position is known after all, since Python values decided it."""
        self._used = _FRESH

    @property
    def clause(self) -> Clause:
        return self._clause

    def __clause__(self, whole: bool) -> Clause:
        """For the operators: the clause, which a loop now consumes."""
        return self.use(whole or self.over_python or self.began)

    def use(self, whole: bool = True) -> Clause:
        """The clause, to be consumed in the current graph, to its end if `whole`. StagingError if its position is known
        only at run time."""
        graph, source = current_graph(), self._clause.iterable
        unknown = "it is known only when the graph runs how far this generator was run over before"
        if not whole and isinstance(source, PassedItems) and source.has_cleanup() and references([self]):
            _fail("this loop may leave a generator that has a `try` or `with` around its `yield`, the end of which"
                  " Python runs later, since a variable has the generator", "Write its call in the `for` itself.")
        if self._used is _EXITED or (isinstance(source, PassedItems) and source.is_running):
            _fail(unknown)
        if self.over_python or self._items is not None:
            self._used = _FRESH if whole else _EXITED
            return self._clause if self.over_python else Clause(self._items, lambda item: item, None)
        if graph is not self._graph:
            if self._used not in (_ELSEWHERE, _FRESH) or _in_loop(graph, self._graph):
                _fail("a generator that is made outside of a staged loop or branch has nothing left when it is run over"
                      " again in it")
            self._used = _ELSEWHERE
        elif self._used is _DONE:
            return Clause((), self._clause.element, self._clause.test)
        elif self._used is _FRESH:
            self._used = _DONE if whole else _EXITED
        else:
            _fail(unknown)
        return self._clause

    def is_known(self) -> bool:
        """Whether Python can take the items one by one: all exist, and their number is known."""
        if not self._clause.is_map or self._used is not _FRESH or current_graph() is not self._graph:
            return False
        source = self._clause.iterable
        found = None if self.over_python or isinstance(source, StagedGenerator) else as_iterable(source)
        return isinstance(found, Counted) and isinstance(found.length, int)

    def __iterable__(self) -> Counted:
        clause = self.use()
        if clause.passes_items:
            _fail(*_ONE_BY_ONE)
        if clause.is_map:
            found = as_iterable(clause.iterable)
            if isinstance(found, Counted):
                return Counted(found.length, lambda i: clause.element(*clause.arguments(found.item(i))),
                               found.lists)
        items = counted(all_at_once(clause), "list")
        assert isinstance(items, Counted)
        return items

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._items is None:
            self._items = items_of(self.use(), "this generator", "Collect its items in a list: [... for ... in ...].")
        return next(self._items)

    def send(self, value: Any) -> Any:
        _fail("a value is sent to a generator here, and a tensor decides what that yields", "Write a loop.")

    throw = send

    def close(self) -> None:
        self._items = iter(())

    def __repr__(self) -> str:
        return "<staged generator>"


class PassedItems(Staged):
    """The items of a generator function that passes them to the loop's body. `suspended`: its generator, not yet
    started, for Python code that takes the items one by one."""

    __slots__ = ("_run", "is_running", "suspended")
    passes_items = True

    def __init__(self, run: Callable[..., Any], suspended: GeneratorType[Any, Any, Any]) -> None:
        self._run, self.suspended = run, suspended
        self.is_running = False

    def has_cleanup(self) -> bool:
        """Whether closing the generator runs code of it."""
        return guards_yield(self.suspended.gi_code)

    def __pass_items__(self, body: Callable[[Any], object], test: Callable[[], Any] | None) -> None:
        self.is_running = True
        try:
            self._run(body, test)
        finally:
            self.is_running = False

    def __iterable__(self) -> Counted:
        _fail(*_ONE_BY_ONE)


def call_of_generator(fn: Any, form: Any) -> Any:
    """The callable to use in place of the generator function `fn`, whose converted form is `form`."""
    code = form.__code__
    if not stages_calls(code):
        return form
    try:
        template = internal_iteration(fn)
    except ConversionError as error:
        refuse(code, f"{error.what} (line {error.lineno})")
        return form

    def called(*args: Any, **kwargs: Any) -> StagedGenerator:
        def run(body: Any, test: Any) -> None:
            template(fn, ag__body=CellType(body), ag__test=CellType(test))(*args, **kwargs)

        return StagedGenerator(Clause(PassedItems(run, form(*args, **kwargs)), itself, None))

    return called


def _in_loop(graph: Graph | None, outside: Graph | None) -> bool:
    """Whether `graph` is, or is nested in, the body or test of a loop inside `outside`."""
    while graph is not None and graph is not outside:
        if graph.name in ("body", "test"):
            return True
        graph = graph.parent
    return False


def _fail(what: str, remedy: str = _REMEDY) -> NoReturn:
    raise staging_error(what, remedy)


def _list_of(clause: Clause) -> Any:
    return view_of(operators.list_comp(*clause))


def all_at_once(clause: Clause) -> Any:
    """All items as a list, for a consumer that takes them one by one: StagingError if the difference is observable."""
    return without_effects(lambda: _list_of(clause))


def without_effects(make: Callable[[], Any]) -> Any:
    """The list that `make` returns, of all items at once. StagingError if it stages effects."""
    graph = current_graph()
    before = len(graph.nodes) if graph is not None else 0
    items = make()
    if graph is not None and any(node.effect for node in graph.nodes[before:]):
        _fail("Python takes the items of this generator one at a time here, and what it prints, raises or assigns would"
              " come for all of them at once", "Write it as a loop.")
    return items


def collected(generator: StagedGenerator) -> Any:
    """A list of the remaining items; a Python list if Python values determine it."""
    return _list_of(generator.use())


def materialized(iterable: Any) -> Any:
    """A generator as the list of its items; anything else as it is."""
    return collected(iterable) if isinstance(iterable, StagedGenerator) else iterable


def listed(iterable: Any) -> Any:
    """`list` of a staged iterable: a Python list if the number of items is known, else a staged list."""
    if isinstance(iterable, StagedGenerator):
        return collected(iterable)
    iterable = view_of(iterable)
    if isinstance(iterable, StagedSequence) or hasattr(type(iterable), "as_list"):  # dicts and their views too
        return iterable.as_list()
    found = as_iterable(iterable)
    if isinstance(found, Counted) and isinstance(found.length, int):
        return [found.item(i) for i in range(found.length)]
    if isinstance(iterable, GraphTensor):
        return StagedList.from_tensor(iterable)
    return collect(iterable)


def known_items(iterable: Any, what: str, remedy: str) -> Iterator[Any]:
    """The items of a staged iterable of known length, for Python code. StagingError if the length is unknown."""
    if isinstance(iterable, PassedItems):
        return iterable.suspended
    if isinstance(iterable, StagedGenerator) and iterable.passes_items:
        return iter(iterable)
    found = as_iterable(iterable)
    if found is None:  # a list that is a row of a table, of known length
        return iter(view_of(iterable))
    if not isinstance(found, Counted) or not isinstance(found.length, int):
        _fail(f"the number of items of {what} is known only when the graph runs", remedy)
    return (found.item(i) for i in range(found.length))


def once(iterable: Any) -> StagedGenerator:
    """A generator of the items of `iterable`, which can be consumed once."""
    return StagedGenerator(Clause(iterable, itself, None))


def mapped(function: Callable[..., Any], iterables: tuple[Any, ...]) -> StagedGenerator:
    """`map(function, *iterables)`, at least one of them staged."""
    ag__function = function
    several = len(iterables) > 1

    def element(item: Any) -> Any:
        return ag__function(*item) if several else ag__function(item)

    stand_for(function, element)
    source = iterables[0]
    if several:
        parts = zip_operands(iterables)
        source = zipped(parts, False) if any(isinstance(x, StagedGenerator) for x in parts) else StagedZip(*parts)
    return StagedGenerator(Clause(source, element, None))


def filtered(keep: Callable[[Any], Any], iterable: Any) -> StagedGenerator:
    """`filter(keep, iterable)`, where `keep` may return tensors."""
    ag__keep = keep

    def element(item: Any) -> Any:
        return item

    def test(item: Any) -> Any:
        return ag__keep(item)

    stand_for(keep, element, test)
    return StagedGenerator(Clause(iterable if is_staged(iterable) else iter(iterable), element, test))


def stand_for(called: Callable[..., Any], *functions: Any) -> None:
    """Let these functions, which call `called`, stand for it where loops are staged: they have its lines, and what it
    changes is found through their closures."""
    if (place := function_in(called)) is not None:
        for function in functions:
            function.place = place


def enumerated(generator: StagedGenerator, start: Any) -> StagedGenerator:
    """`enumerate(generator, start)`."""
    clause = generator.use()
    ag__element, ag__test, ag__number = clause.element, clause.test, start

    def paired(item: Any) -> Any:
        return start + item[0], ag__element(*clause.arguments(item[1]))

    def numbered(item: Any) -> Any:
        nonlocal ag__number
        value = ag__element(*clause.arguments(item))
        ag__number = ag__number + 1
        return ag__number - 1, value

    def test(item: Any) -> Any:
        assert ag__test is not None
        return ag__test(*clause.arguments(item))

    for function in (paired, numbered, test):
        function.place = clause.element  # type: ignore[attr-defined]
    if clause.is_map:
        return StagedGenerator(Clause(StagedEnumerate(clause.iterable), paired, None))
    return StagedGenerator(Clause(clause.iterable, numbered, None if ag__test is None else test), counts=True)


def can_be_enumerated(generator: StagedGenerator) -> bool:
    """Whether `enumerated` accepts a generator: not if Python code has taken items from it, if it has several `for`
    clauses, or another counter."""
    inner: Any = generator
    while isinstance(inner, StagedGenerator):
        if inner.counts or inner.began:
            return False
        inner = inner.clause.iterable
    return not generator.clause.is_nested


def zip_operands(iterables: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a `zip`: generators that map their iterable one to one, and lists of the items of others."""
    return tuple(map(_zip_operand, iterables))


def _zip_operand(x: Any) -> Any:
    if not isinstance(x, StagedGenerator) or (x.clause.is_map and not x.began):
        return x
    if x.passes_items:
        return items_of(x.use(whole=False), *_ONE_BY_ONE)
    return all_at_once(x.use(whole=False))


def zipped(iterables: tuple[Any, ...], strict: bool) -> StagedGenerator:
    """`zip(*iterables)`, where some are generators that map their iterable one to one."""
    clauses = [part.use(whole=False) if isinstance(part, StagedGenerator) else None for part in iterables]
    sources = [part if clause is None else clause.iterable for part, clause in zip(iterables, clauses, strict=True)]
    place = next(clause.element for clause in clauses if clause is not None)
    return StagedGenerator(Clause(StagedZip(*sources, strict=strict), _items_of(clauses, place), None))


def _items_of(clauses: list[Clause | None], place: Any) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function from the iterables' items to the generators'; nested closures with one cell per generator, where the
    search for changed state finds them."""
    if not clauses:
        return lambda items: ()
    clause = clauses[0] or Clause((), lambda item: item, None)
    ag__first, ag__others = clause.element, _items_of(clauses[1:], place)

    def element(items: Any) -> Any:
        return ag__first(*clause.arguments(items[0])), *ag__others(items[1:])

    element.place = place  # type: ignore[attr-defined]
    return element


# Consumers. The names of their variables cannot clash with the user's.

def reduced(function: Callable[[Any, Any], Any], generator: StagedGenerator, initial: Any) -> Any:
    """`functools.reduce(function, generator, initial)`."""
    ag__function, ag__found = function, initial

    def for_body(item: Any) -> None:
        nonlocal ag__found
        ag__found = ag__function(ag__found, item)

    use_up(generator, generator.use(), for_body, None, "ag__found")
    return ag__found


def sum_of(generator: StagedGenerator, start: Any) -> Any:
    """`sum(generator, start)`."""
    ag__sum = start

    def for_body(item: Any) -> None:
        nonlocal ag__sum
        if isinstance(item, Tensor) and item.dtype.is_bool:  # True counts as 1
            item = apply(CAST, item, dtype=int32, weak=True)
        ag__sum = ag__sum + item

    use_up(generator, generator.use(), for_body, None, "ag__sum")
    return ag__sum


def any_of(generator: StagedGenerator, stop: bool, truth: Callable[[Any], Any]) -> Any:
    """`any(generator)`, which stops at the first true item (`stop`), or `all`, which stops at the first false one."""
    ag__found: Any = not stop

    def for_body(item: Any) -> None:
        nonlocal ag__found
        ag__found = truth(item)

    def for_test() -> Any:
        return operators.not_(ag__found) if stop else ag__found

    use_up(generator, generator.use(whole=False), for_body, for_test, "ag__found")
    return ag__found


def any_taken(iterator: Any, stop: bool, truth: Callable[[Any], Any]) -> Any:
    """`any_of` for an iterator of Python's, whose items may have effects."""
    leave = leaving(iterator)
    found = any_of(once(iterator), stop, truth)
    if isinstance(found, Tensor):
        leave()
    return found


def first_of(generator: StagedGenerator, *default: Any) -> Any:
    """`next(generator, *default)`."""
    if generator.began or generator.is_known():
        return next(generator, *default)
    ag__found: Any = False
    ag__item: Any

    def for_body(item: Any) -> None:
        nonlocal ag__found, ag__item
        ag__found, ag__item = True, item

    def for_test() -> Any:
        return operators.not_(ag__found)

    use_up(generator, generator.use(whole=False), for_body, for_test, "ag__found", "ag__item")
    return item_if(ag__found, lambda: ag__item, StopIteration(), *default)


def item_if(found: Any, item: Callable[[], Any], error: Exception, *default: Any) -> Any:
    """`item()` if `found`, else the default; without one, raise the error."""
    if default:
        return operators.if_exp(found, item, lambda: default[0])
    if not isinstance(found, bool):
        raise_unless(found, error)
    elif not found:
        raise error
    return item()


def use_up(
    generator: StagedGenerator, clause: Clause, body: Callable[[Any], None], test: Callable[[], Any] | None, *state: str
) -> None:
    """Loop over a generator whose clause is being consumed: `for item in clause: body(item)`, while `test()` holds."""
    functions: list[Any] = [body] if test is None else [body, test]
    for function in functions:
        function.place = clause.element
    operators.reduce(StagedGenerator(clause), body, *state, test=test)
    if test is not None and generator.over_python and isinstance(test(), bool):
        generator.rest_is_known()


OPERATIONS.define(listed=listed)

"""Recursion whose calls differ in Python values, or change objects: one graph for all calls of the function.

The graph takes and returns the state in which calls differ: arguments that are not the same in all of them, and cells,
the contents of lists, arrays, attributes and variables that calls change. While the graph is traced, the cells of
pre-existing objects contain placeholders, so every name of such an object shows them, as in Python; a list or object
that differs from call to call is represented by a stand-in. The set of state and its types is a fixpoint: each trace
reveals what its own calls pass and change.
"""
from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from autograph.backend import (
    LISTS,
    UNBOUND,
    Heap,
    Reached,
    Unwinding,
    containers_in,
    duplicate,
    fill,
    has_staged_items,
    is_container,
    is_list,
    parts_in,
    put,
    same_parts,
    take_out,
    with_parts,
)
from runtime.core.graph import Graph, Value
from runtime.core.object_mode import reached_by_call, want_references
from runtime.core.op import Errors
from runtime.core.positions import staging_error, user_position
from runtime.core.routine import Routine
from runtime.core.trace import add_input, apply, tracing, watching
from runtime.core.types import Type
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.ops.control import CALL
from runtime.staging.aliases.alias_tracking import isolated, possible_identities, record_alias
from runtime.staging.aliases.body_tracing import Step, Unreachable, trace_body
from runtime.staging.aliases.open_bodies import contents_of
from runtime.staging.containers.row_table import store, table_of
from runtime.staging.control.recursive_specs import (
    by_reference,
    contents_of_references,
    fits,
    has_python_numbers,
    invariants,
    joined_specs,
    references_in,
    without_tables,
    without_targets,
)
from runtime.staging.control.routine_graphs import (
    add_captures,
    are_available,
    caught_here,
    close,
    endless,
    refuse_caught,
)
from runtime.staging.elements.nesting import check_nesting
from runtime.staging.joins.cell_join import CellJoin, joined
from runtime.staging.joins.flatten import lower, rebuild
from runtime.staging.joins.growth import check_choices, links_more
from runtime.staging.joins.lattice import (
    Conflict,
    Custom,
    Nested,
    Spec,
    as_loop_state,
    as_outputs,
    describe,
    join,
    leaf_types,
)
from runtime.staging.values.iterables import view_of
from runtime.staging.values.list import StagedItems, is_staged_list
from runtime.staging.values.optional import checked

__all__ = ["Assumed", "WidenedRoutine", "holds", "unsettled"]

_PASSES: Final = 16
_Known = Mapping[int, Any]
"""By id, the objects that existed before the call."""


class WidenedRoutine:
    """A recursive function as one graph."""

    def __init__(self, fn: Any, form: Callable[..., Any], here: Graph, args: Sequence[Any], kwargs: Any) -> None:
        self.name, self.form, self.here = fn.__name__, form, here
        self.signature = inspect.signature(fn)
        self.place = user_position()
        self._begin(fn, args, kwargs)
        self._begin_again = partial(self._begin, fn, args, kwargs)

    def _begin(self, fn: Any, args: Sequence[Any], kwargs: Any) -> None:
        self.heap = Heap(reached_by_call(fn, args, kwargs))
        self.known: dict[int, Any] = {id(reached.value): reached.value for reached in self.heap.reach.objects}
        arguments = self._bound(args, kwargs)
        self.known |= containers_in(arguments.values())
        self.parameters = [_Parameter(name, value) for name, value in arguments.items()]
        self.cells: list[_Cell] = []
        self.result: Spec | None = None  # of the result, once the function returns
        self.aliases: list[tuple[tuple[Any, ...], Any]] = []
        self.always_raises = self.is_settled = self.has_widened = self.has_stand_in = False
        self.captured: list[Any] = []
        self.passed: set[Value] = set()
        """Contents of the cells found in this pass, before the call: the next pass does not capture them."""
        self.caught: Errors = ()  # by `try` statements around calls within the graph
        self.routine = Routine(self.name, ())

    def _bound(self, args: Sequence[Any], kwargs: Any) -> dict[str, Any]:
        bound_arguments = self.signature.bind(*args, **kwargs)
        bound_arguments.apply_defaults()
        return {name: checked(value) for name, value in bound_arguments.arguments.items()}

    # Tracing.

    def settle(self) -> None:
        """Trace the function until the state that its calls pass and change, and its types, reach a fixpoint."""
        start = [spec for spec, _ in self._taken()]
        for number in range(_PASSES):
            if self.has_stand_in:  # references to the list that it replaces may now mean another one
                self.cells, self.result, self.aliases, self.always_raises = [], None, [], False
            self.routine = Routine(self.name, tuple(self._types()), self.place)
            before = {name: spec for spec, name in self._specs()}
            self.has_widened = self.has_stand_in = False
            try:
                with isolated(self._refuse_put):
                    self._trace(Graph(self.name, self.here))
            except _TableWanted as wanted:
                self.heap.restore()
                store(wanted.rows)
                self._begin_again()
            finally:
                self.heap.restore()
            if self.is_settled:
                return
            for spec, name in self._specs():
                check_nesting(before.get(name), spec, f"each call of {self.name!r}, which calls itself,", name)
            check_choices([spec for spec, _ in self._taken()], [cell.holder for cell in self.cells])
            if links_more([spec for spec, _ in self._specs() if spec is not None], start, number):
                break
        want_references()
        raise staging_error(
            f"{self.name!r}, which calls itself, gives or takes other types each of {number + 1} times that it is"
            " traced", "Give each of its arguments and results one type and shape (rt.cast, rt.reshape).")

    def _trace(self, graph: Graph) -> None:
        inputs = [add_input(graph, *leaf) for spec, name in self._taken() for leaf in leaf_types(spec, name)]
        bound_arguments: inspect.BoundArguments | None = None
        before: list[tuple[_Parameter, Mapping[Any, Any], Any]] = []

        def body() -> Any:
            nonlocal bound_arguments
            leaves = iter(inputs)
            bound_arguments = inspect.BoundArguments(self.signature, {
                each.name: each.rebuilt(leaves) for each in self.parameters})
            for cell in self.cells:
                self._fill(cell, leaves)
            for each in self.parameters:
                if not each.is_reference:
                    value = bound_arguments.arguments[each.name]
                    places = contents_of(value)
                    before.append((each, places, {place: parts_in(one) for place, one in places.items()}))
            returned = self.form(*bound_arguments.args, **bound_arguments.kwargs)
            return joined([returned], [self.name], lambda cell: id(cell) in self.known)

        with watching(None):
            found = trace_body(graph, Step(body), list)
        assert bound_arguments is not None
        known = self._known_inside()
        for each, places, parts in before:
            value = bound_arguments.arguments[each.name]
            if any(_is_changed(parts[place], one) for place, one in places.items()):
                _refuse_moved(each.name, places, contents_of(value))
                self.has_widened |= not each.is_written
                each.is_written = True
            self.has_widened |= each.widen(value)
        self._find_cells(known)
        self._find_result(found, graph, known)
        self.has_widened |= add_captures(self.captured, graph, self.passed)
        self.passed.clear()
        if self.has_widened:
            return
        self._refuse_shared(found or [], known)
        refuse_caught(self.name, graph, self.caught)
        with tracing(graph):
            results = [] if found is None or self.result is None else [
                *lower(self.result, without_tables(found[0]))] + [
                leaf for cell in self.cells for leaf in lower(cell.spec, self._contents(cell))] + [
                leaf for each in self.parameters if each.is_written
                for leaf in each.lowered(bound_arguments.arguments[each.name])]
            close(self.routine, graph, self.captured, results)
        self.is_settled = True

    def _known_inside(self) -> _Known:
        return self.known | {id(each.stand_in): each.stand_in for each in self.parameters if each.stand_in is not None}

    def _taken(self) -> Iterator[tuple[Spec, str]]:
        yield from ((each.spec, each.name) for each in self.parameters)
        yield from ((cell.spec, cell.name) for cell in self.cells)

    def _specs(self) -> Iterator[tuple[Spec | None, str]]:
        yield from ((self.result, ""), *self._taken())

    def _types(self) -> Iterator[Type]:
        """The types of the graph's outputs: the result, then cells, then arguments that it changes."""
        if self.result is not None:
            specs = [self.result, *(cell.spec for cell in self.cells),
                     *(each.spec for each in self.parameters if each.is_written)]
            yield from (type for spec in specs for type, _ in leaf_types(spec))

    def _find_cells(self, known: _Known) -> None:
        """Make parts that the trace has changed cells, and widen the specs of existing ones."""
        changes = [*self.heap.changes()]
        tables = [table for reached, _, _ in changes if type(reached.value) is list
                  and (table := table_of(reached.value)) is not None and id(table) not in known]
        if tables:
            raise _TableWanted([reached.value for reached, _, _ in changes
                                if type(reached.value) is list and table_of(reached.value) is tables[0]])
        for reached, key, _ in changes:
            cell = self._cell(reached, key)
            self.has_widened |= cell.join(self._spec_of(cell, known))
        changed = self.heap.changed()
        if changed is not None:
            raise staging_error(f"{self.name!r}, which calls itself where a tensor decides, changes {changed[0]!r}, a "
                                f"{type(changed[1]).__name__}, which no graph computes", "Use a list, array or tensor.")

    def _cell(self, reached: Reached, key: Any) -> _Cell:
        """The cell of a changed part, created if needed."""
        holder, whole = reached.value, _is_whole(reached.value)
        key = None if whole else key
        for cell in self.cells:
            if cell.holder is holder and (cell.is_whole or (cell.key == key and not whole)):
                return cell
        self.has_widened = True
        if whole:  # the keys of a dict that becomes a table
            self.cells = [cell for cell in self.cells if cell.holder is not holder]
        name = reached.path or (holder.__name__ if isinstance(holder, type) else f"a {type(holder).__name__}")
        cell = _Cell(holder, key, name if key is None else f"{name}.{key}", whole)
        before = describe(self.heap.before(holder, key))
        self.passed |= {*invariants(before)}
        cell.spec = by_reference(as_loop_state(before), self.known)
        self.cells.append(cell)
        return cell

    def _spec_of(self, cell: _Cell, known: _Known) -> Spec:
        """The spec of the current contents of a cell."""
        spec = describe(self._contents(cell))
        if not cell.is_whole:
            return by_reference(spec, known)
        assert isinstance(spec, (Nested, Custom))
        return replace(spec, target=None, children=tuple(by_reference(child, known) for child in spec.children))

    def _contents(self, cell: _Cell) -> Any:
        return cell.holder if cell.is_whole else self.heap.part(cell.holder, cell.key)

    def _fill(self, cell: _Cell, leaves: Iterator[Any], originals: Mapping[int, Any] = MappingProxyType({})) -> None:
        """Rebuild the contents of a cell from leaves, and write them into its holder."""
        contents = _with(originals, rebuild(cell.spec, leaves, cell.name))
        if cell.is_whole:
            fill(cell.holder, parts_in(contents))
        elif contents is not UNBOUND:
            put(cell.holder, cell.key, contents)
        elif self._contents(cell) is not UNBOUND:
            take_out(cell.holder, cell.key)

    def _find_result(self, found: Sequence[Any] | None, graph: Graph, known: _Known) -> None:
        if found is None:
            if not self.has_widened:
                if not graph.errors:
                    raise endless(self.name)
                self.has_widened |= not self.always_raises
                self.always_raises, self.result = True, None
            return
        self.always_raises = False
        spec = by_reference(describe(found[0]), known)
        old = self.result
        try:
            self.result = as_loop_state(as_outputs(spec, graph)) if old is None else join(
                old, spec, CellJoin((), ()))
        except Conflict:  # one of several lists on one path, and a new one on another
            assert old is not None
            self.result = joined_specs(contents_of_references(old), contents_of_references(spec),
                                  f"the result of {self.name!r}")
        self.has_widened |= old is None or self.result != old
        aliases = {(place, id(other)) for place, other in self.aliases}
        more = [(place, other) for place, container in contents_of(found[0]).items()
                for other in (container, *possible_identities(container))
                if id(other) in known and (place, id(other)) not in aliases]
        self.aliases += more
        self.has_widened |= bool(more)

    # Calls.

    def may_be_called(
        self, here: Graph, heap: Heap, args: Sequence[Any], kwargs: Any, as_is: bool, returns_tensors: bool = False,
    ) -> bool:
        """Whether the finished routine may stand for another call of the function, from the graph `here`: what it
        captures is available there, the state fits its types, and what else its trace has read is unchanged. `heap`:
        what that call can reach. `as_is`: only if no Python value becomes one of the graph, other than arguments;
        `returns_tensors`: the call would return none."""
        if heap.others or heap.reach.iterators or not are_available(self.captured, here):
            return False
        arguments = self._bound(args, kwargs)
        own = containers_in([arguments[each.name] for each in self.parameters if not each.is_reference])
        if any(id(reached.value) not in self.known and id(reached.value) not in own for reached in heap.reach.objects):
            return False
        cells = [(cell, self._spec_of(cell, self.known)) for cell in self.cells]
        if as_is and (any(has_python_numbers(spec) for _, spec in cells) or (
                not returns_tensors and self.result is not None and [*leaf_types(self.result)])):
            return False
        written = {(id(cell.holder), cell.key) for cell in self.cells}
        return all((id(reached.value), None if _is_whole(reached.value) else key) in written
                   for reached, key, _ in self.heap.changes()) and all(
            fits(cell.spec, spec) for cell, spec in cells) and all(
            each.takes(arguments[each.name]) for each in self.parameters)

    def keeps_python_values(self, changed: Collection[tuple[int, Any]]) -> bool:
        """Whether no value that is Python's becomes one of the graph, other than arguments. `changed`: the parts, by
        holder and key, that hold tensors."""
        if self.result is None or any(getattr(type, "weak", False) for type, _ in leaf_types(self.result)):
            return False
        return all((id(cell.holder), cell.key) in changed or isinstance(cell.holder, StagedArray)
                   or not has_python_numbers(as_loop_state(describe(self._contents(cell)))) for cell in self.cells)

    def call(self, args: Sequence[Any], kwargs: Any) -> Any:
        """Emit a call in the graph; returns its result."""
        arguments = self._bound(args, kwargs)
        if not self.is_settled:
            for each in self.parameters:
                was_reference = each.is_reference
                self.has_widened |= each.widen(arguments[each.name])
                self.has_stand_in |= was_reference and not each.is_reference
            self._find_cells(self._known_inside())
            if self.has_widened or not (self.result is not None or self.always_raises):
                raise Unreachable
        self._refuse_aliases(arguments)
        if self.cells or any(each.is_written for each in self.parameters):
            if self.is_settled:
                refuse_caught(self.name, self.routine.graph, caught_here())
            self.caught += caught_here()
        taken = [leaf for each in self.parameters for leaf in each.lowered(arguments[each.name])] + [
            leaf for cell in self.cells for leaf in lower(cell.spec, self._contents(cell))]
        leaves = iter(apply(CALL, *taken, *self.captured, function=self.routine))
        if self.result is None:
            raise Unreachable
        originals = {id(each.stand_in): arguments[each.name] for each in self.parameters if each.stand_in is not None}
        result = _with(originals, rebuild(self.result, leaves, ""))
        for cell in self.cells:
            self._fill(cell, leaves, originals)
        for each in self.parameters:
            if each.is_written:
                _write(arguments[each.name], rebuild(without_targets(each.spec), leaves, each.name))
        at = contents_of(result)
        for place, other in self.aliases:
            other = originals.get(id(other), other)
            if place in at and at[place] is not other:
                record_alias(at[place], other, self.name)
        return result

    # Refusals.

    def _refuse_put(self, value: Any) -> None:
        if id(value) in self.known or any(value is each.stand_in for each in self.parameters):
            raise staging_error(
                f"{self.name!r}, which calls itself where a tensor decides, puts a {type(value).__name__} into a list "
                "while other names lead to it", "Put a copy of it.")

    def _refuse_shared(self, found: Sequence[Any], known: _Known) -> None:
        """StagingError if a new container is in several of the returned places."""
        places = [*found, *(self._contents(cell) for cell in self.cells)]
        count = Counter(key for value in places for key, one in containers_in([value]).items() if key not in known)
        if any(times > 1 for times in count.values()):
            raise staging_error(f"{self.name!r}, which calls itself where a tensor decides, leaves a new list or object"
                                " in several places", "Put a copy of it in one of them.")

    def _refuse_aliases(self, arguments: Mapping[str, Any]) -> None:
        """StagingError for arguments that contain an object which the graph also changes by another path."""
        found: Counter[int] = Counter()
        written = {id(cell.holder) for cell in self.cells}
        for each in self.parameters:
            if not each.is_reference:
                inside = containers_in([arguments[each.name]])
                found.update(inside.keys())
                if each.is_written:
                    written |= inside.keys()
                if any(isinstance(one, StagedArray) and not isinstance(one, ArrayCell) for one in inside.values()):
                    raise staging_error(f"argument {each.name!r} is a view of another array in each call of "
                                        f"{self.name!r}, which calls itself where a tensor decides",
                                        "Pass the array and the bounds.")
        others = {id(cell.holder) for cell in self.cells}.union(
            containers_in([arguments[each.name] for each in self.parameters if each.is_reference]))
        if any(key in written and (times > 1 or key in others) for key, times in found.items()):
            raise staging_error(
                f"{self.name!r}, which calls itself where a tensor decides, is given a list or object that it changes "
                "by another name, too", "Give it a copy.")


class _TableWanted(Unwinding):
    """Raised where the trace has made pre-existing lists rows of one table, which the caller has to make instead."""

    def __init__(self, rows: Sequence[Any]) -> None:
        super().__init__(rows)
        self.rows = rows


class _Parameter:
    """A parameter: a reference while all calls pass the same containers, or else their contents, in a stand-in."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.references = [*references_in(value)]
        self.contents = without_targets(as_loop_state(describe(without_tables(value))))
        self.is_reference, self.is_written = bool(self.references), False
        self.spec = by_reference(as_loop_state(describe(value)), references_in(value))
        self.stand_in: Any = None

    def widen(self, value: Any) -> bool:
        """Widen the spec by the value that a call passes. Returns whether that changes it."""
        old = self.spec
        if self.is_reference and not self._is_same(value):
            self.is_reference, self.spec = False, self.contents
        if is_container(value) and not self.is_reference and self.stand_in is None:
            self.stand_in = duplicate(value)
        self.spec = joined_specs(self.spec, self._spec_of(value), f"argument {self.name!r}")
        return self.spec != old

    def takes(self, value: Any) -> bool:
        """Whether a call may pass the value without widening the spec."""
        if self._is_same(value) is not self.is_reference or (is_container(value) and not self.is_reference
                                                             and self.stand_in is None):
            return False
        return fits(self.spec, self._spec_of(value))

    def _is_same(self, value: Any) -> bool:
        """Whether the value has the containers that all calls have passed so far."""
        return self.is_reference and [*references_in(value)] == self.references

    def _spec_of(self, value: Any) -> Spec:
        if self._is_same(value):
            return by_reference(describe(value), references_in(value))
        return without_targets(describe(without_tables(value)))

    def rebuilt(self, leaves: Iterator[Any]) -> Any:
        spec = self.spec
        if self.stand_in is not None and isinstance(spec, (Nested, Custom)):
            spec = replace(spec, target=self.stand_in)
        return rebuild(spec, leaves, self.name)

    def lowered(self, value: Any) -> Iterator[Any]:
        return lower(self.spec, value if self.is_reference else without_tables(value))


class _Cell:
    """State that calls change: the contents of a list, array or table as a whole, or the part `key` of an object or
    variable."""

    spec: Spec

    def __init__(self, holder: Any, key: Any, name: str, is_whole: bool) -> None:
        self.holder, self.key, self.name, self.is_whole = holder, key, name, is_whole

    def join(self, spec: Spec) -> bool:
        """Join a spec of new contents. Returns whether that changes the cell's spec."""
        old = self.spec
        self.spec = joined_specs(old, spec, self.name)
        return self.spec != old


Assumed = tuple[tuple[WidenedRoutine, Routine], ...]
"""What a finished graph assumes of other functions that it may call: their graphs in the pass that was going on."""


def unsettled(routines: Iterable[WidenedRoutine]) -> Assumed:
    """What a graph assumes that is finished while these functions are being traced."""
    return tuple([(each, each.routine) for each in routines if not each.is_settled])


def holds(assumed: Assumed, routines: Collection[WidenedRoutine]) -> bool:
    """Whether a graph that assumes this may be called while these functions are being traced: it is the same pass of
    each, or that was its last one. (What a `try` catches in an unfinished graph is known only from the calls in it.)"""
    return not (assumed and caught_here()) and all(
        each.routine is routine and (each.is_settled or each in routines) for each, routine in assumed)


def _is_whole(holder: Any) -> bool:
    return is_list(holder) or hasattr(type(holder), "__become__") or (
        isinstance(holder, dict) and has_staged_items(holder))


def _is_changed(before: Sequence[tuple[Any, Any]], container: Any) -> bool:
    """Whether the parts of a container have changed. One that has only become a staged list counts as unchanged: the
    next trace begins with a staged list, and tells."""
    if same_parts(list(before), parts_in(container)):
        return False
    if not is_staged_list(container):
        return True
    was = before[0][1] if before else None
    return isinstance(was, StagedItems) and not was.same(container[0])


def _refuse_moved(name: str, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> None:
    """StagingError if containers in an argument were moved or replaced."""
    was = {id(container): place for place, container in before.items()}
    for place, container in after.items():
        if before.get(place, container) is not container or was.get(id(container), place) != place:
            raise staging_error(f"a call replaces or moves lists or objects in argument {name!r}, which is another one "
                                "in each call", "Replace their items, not them, or return a new list.")


def _write(container: Any, final: Any) -> None:
    """Write the final contents after a call back into a container, and into the containers in it."""
    if type(container) is list and table_of(container) is not None and len(view_of(container)) == len(final):
        row = view_of(container)
        for k, item in enumerate(final):
            row[k] = item
        return
    before = dict(parts_in(container))
    parts = []
    for key, part in parts_in(final):
        old = before.get(key)
        if is_container(part) and type(old) is type(part):
            _write(old, part)
            part = old
        parts.append((key, part))
    fill(container, parts)


def _with(originals: Mapping[int, Any], value: Any) -> Any:
    """The value with stand-ins replaced by the arguments of a call."""
    if id(value) in originals:
        return originals[id(value)]
    if not originals or not isinstance(value, (*LISTS, tuple, dict)):
        return value
    return with_parts(value, [(key, _with(originals, part)) for key, part in parts_in(value)])

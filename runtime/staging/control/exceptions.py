"""`try` around code that may raise in the graph: the body and the handlers are traced, their results joined.

The body is traced until the types of the handlers' initial state reach a fixpoint. Before each node that may raise an
error with a handler, the current state of the user's variables is saved (`runtime.ops.exceptions`).
"""
from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from autograph.backend import Handler, Values, of_trace
from runtime.core.errors import StagingError, locate, subject
from runtime.core.generator_frames import asked_in_python
from runtime.core.graph import Graph
from runtime.core.op import Errors
from runtime.core.positions import staging_error
from runtime.core.tensor_writes import Leaving, written_by
from runtime.core.trace import add_input, apply, current_graph, raising, tracing, watching
from runtime.ops.exceptions import KEEP, TRY, Region, may_catch
from runtime.staging.aliases.alias_tracking import as_originals, record_alias
from runtime.staging.aliases.body_tracing import Branch, Unreachable, checkpoint, rollback
from runtime.staging.aliases.open_bodies import Bodies, bodies_open, carrying
from runtime.staging.control.carried_cells import Carried, carried, record_identities
from runtime.staging.control.caught_errors import error_for, is_caught
from runtime.staging.control.cond import Traced
from runtime.staging.joins.alias_join import Point, aliases_after_errors, assigned_values, unified
from runtime.staging.joins.cell_join import CellJoin, chooses, joined
from runtime.staging.joins.container_arenas import make_references, need_reference_before, need_references
from runtime.staging.joins.flatten import copied, lower, named, rebuild_all
from runtime.staging.joins.lattice import (
    Conflict,
    Leaf,
    Origins,
    Shared,
    Spec,
    Static,
    as_outputs,
    describe,
    join,
    leaf_types,
    shared,
    text,
)
from runtime.staging.joins.memory_specs import same_types, specs_after
from runtime.staging.joins.object_conflicts import retrace_if_objects

__all__ = ["may_raise", "refuse_errors", "stage_try"]


MAX_TRACES: Final = 24  # as for loops


def may_raise(mark: Any, kinds: Errors, declared: bool = False) -> bool:
    """Whether nodes traced since `mark` may raise an error at run time that one of `kinds` catches; with `declared`,
    whether one declares a subclass of one of `kinds`."""
    errors = {error for node in mark.added() for error in node.errors}
    if declared:
        return any(issubclass(error, kinds) for error in errors)
    return any(may_catch(kind, error) for error in errors for kind in kinds)


def refuse_errors(filename: str, first: int, last: int, kinds: Errors) -> None:
    """StagingError if a node of the current graph from these lines may raise an error that one of `kinds` catches."""
    graph = current_graph()
    for node in () if graph is None else graph.walk():
        place = node.position
        if node.subgraphs or place is None or place.filename != filename or not first <= place.lineno <= last:
            continue
        if any(may_catch(kind, error) for error in node.errors for kind in kinds):
            error = StagingError(
                "this may raise when the graph runs, and the `try` around it sees only what is raised while it is "
                "traced: it stays Python, since it holds `yield` or `await`, is an `except*`, or has a `finally` that "
                "jumps",
                remedy="Move what may raise into a function with a `try` of its own, or put the `try` around the call "
                "of the traced function.")
            locate(error, place)
            asked_in_python()
            raise error


class _Settled(threading.local):
    specs: Mapping[Any, list[Spec]] = MappingProxyType({})
    """Of the statements that the trace has staged, by body and names, the specs of the handlers' initial state."""


_settled: Final = of_trace(_Settled())


class _Try:
    def __init__(
        self, body: Branch, handlers: Sequence[Handler], init: Sequence[Any], names: Sequence[str],
        read: Callable[[], Values],
    ) -> None:
        self.body_fn, self.handlers, self.init, self.names, self.read = body, handlers, init, names, read
        self.kinds: Errors = tuple(kind for handler in handlers for kind in handler.kinds)
        self.region = Region(body.lineno)
        fn = getattr(body, "fn", None)
        self.key = getattr(getattr(fn, "place", fn), "__code__", None), tuple(names)
        self.specs: list[Spec] = _settled.specs.get(self.key, [])
        """Those of the handlers' initial state; empty until a node may raise. They begin with those of an earlier trace
        of the statement, or nested statements would be traced 2^n times."""
        self.final: Values | None = None  # the body's results, once its end is reached
        self.last_exit: tuple[BaseException | None, Values, Bodies] | None = None
        """The last error that propagated out of a body, and the state there."""
        self.copies: Origins = {}
        self.around = len(bodies_open())
        self.leaving = Leaving()
        self._declare()
        self.kept: tuple[Graph, int, list[Spec]]
        """The position of the last node that saves the state, and the specs of that state."""
        self.omitted = False  # whether the state was not saved somewhere, since its specs have changed

    # The body.

    def settle(self) -> None:
        """Trace the body until the types of the handlers' initial state reach a fixpoint."""
        for _ in range(MAX_TRACES):
            mark = checkpoint()
            self.widened = self.specs
            body = _Body(self._run, self.body_fn)
            with watching(self):
                self.body = Traced("body", body, self.init, self.names, self._enter)
            settled = same_types(self.widened, self.specs) and not self.omitted
            self.specs = self.widened
            if settled:
                if all(isinstance(spec, (Leaf, Shared)) for spec in self.specs):
                    _settled.specs = {**_settled.specs, self.key: self.specs}
                return
            self._declare()
            rollback(mark)
        raise staging_error(
            f"the state at the errors that this `try` catches has no type that stays the same: after {MAX_TRACES} "
            f"traces it is still {', '.join(map(text, self.specs))}",
            "Give the variables that the body assigns one type and shape.")

    def _declare(self) -> None:
        self.region.types = tuple(type for spec in self.specs for type, _ in leaf_types(spec))

    def _enter(self, graph: Graph, origins: Origins) -> list[Any]:
        self.graph, self.origins, self.final = graph, origins, None
        self.kept = graph, 0, []
        self.omitted = False
        self.points: list[Point] = []
        return list(self.init)

    def _run(self, *values: Any) -> Values:
        self.own = bodies_open()
        self.final = tuple(self.body_fn(*values))
        return self.final

    def exited_by(self, error: BaseException | None) -> None:
        if error is None or self.last_exit is None or self.last_exit[0] is not error:  # the innermost body is first
            self.copies = {}  # copied now, since contents are restored at the end of a body
            self.last_exit = error, tuple([
                copied(value, self.copies, self.graph.parent) for value in self.read()]), bodies_open()

    def before(self, graph: Graph, errors: Errors) -> None:
        """Called before a node of `graph` that may raise `errors`: save the current values of the variables."""
        if not errors:
            self.kept = graph, 0, []
        if not self.graph.contains(graph) or not any(may_catch(kind, e) for kind in self.kinds for e in errors):
            return
        values, bodies = (self.read(), bodies_open()) if self.final is None else (self.final, self.own)
        copies: Origins = {}
        if self.last_exit is not None and self.last_exit[0] is raising.cause():
            (values, bodies), copies = self.last_exit[1:], self.copies
        if any(map(chooses, values)):
            values = tuple(joined(values, self.names))
        self.points.append(point := Point(values, bodies[self.around:], copies, self.graph.parent))
        values = tuple(point.values)
        specs = [describe(value, point.origins) for value in values]
        where, index, before = self.kept
        if where is graph and specs == before and index < len(graph.nodes) and graph.nodes[index].op is KEEP:
            return
        carried = specs_after([self._carried(spec, graph) for spec in specs], self.leaving)
        self.widened = [self._widen(i, values, carried) for i in range(len(values))]
        if not same_types(self.widened, self.specs):
            self.omitted = True
        elif self.region.types:
            apply(KEEP, *self._leaves(values), region=self.region)
            self.kept = graph, len(graph.nodes) - 1, specs

    def _carried(self, spec: Spec, graph: Graph) -> Spec:
        """`spec` with leaves for values created in the body or in graphs nested in it."""
        inner: Graph | None = graph
        while inner is not None and self.graph.contains(inner):
            spec, inner = as_outputs(spec, inner), inner.parent
        return spec

    def _widen(self, i: int, values: Values, found: Sequence[Spec]) -> Spec:
        if not self.widened:
            other = shared(values, i)
            return found[i] if other is None else Shared(other)
        spec = self.widened[i]
        if isinstance(spec, Shared):
            if values[i] is values[spec.index]:
                return spec
            spec = self.widened[spec.index]
        try:
            return join(spec, found[i])
        except Conflict as conflict:
            error = staging_error(
                f"{subject(self.names[i])} is {text(spec)} or {text(found[i])} where the `try` in line "
                f"{self.region.line} catches an error",
                f"Make the body assign one type to {subject(self.names[i])}, or assign it after the `try`.")
            retrace_if_objects(conflict, error)
            raise error from None

    def _leaves(self, values: Values) -> list[Any]:
        return [leaf for spec, value in zip(self.specs, values, strict=True) for leaf in lower(spec, value)]

    # The handlers.

    def handle(self) -> None:
        """Trace the handlers for the errors that the body may raise: one that binds its error to a name, once per
        class."""
        self.caught: list[Errors] = []
        self.traced: list[Traced] = []
        raised = self.body.graph.errors
        self.region.caught = tuple(e for e in raised if any(may_catch(kind, e) for kind in self.kinds))
        cases = [(handler, kinds) for handler in self.handlers for kinds in self._cases(handler, raised)]
        if cases:
            written_by([self.body.graph])
        for handler, kinds in cases:
            self.caught.append(kinds)
            self.traced.append(self._trace(handler, kinds))

    def _cases(self, handler: Handler, raised: Errors) -> list[Errors]:
        found = {(error if issubclass(error, kind) else kind): None
                 for error in raised for kind in handler.kinds if may_catch(kind, error)}
        if not found:
            return []
        if not handler.named:
            return [handler.kinds]
        return [(kind,) for kind in sorted(found, key=lambda kind: -len(kind.__mro__))]

    def _trace(self, handler: Handler, kinds: Errors) -> Traced:
        def enter(graph: Graph, origins: Origins) -> list[Any]:
            with tracing(graph):
                leaves = [add_input(graph, *leaf) for spec, name in zip(self.specs, self.names, strict=True)
                          for leaf in leaf_types(spec, name)]
                entry = rebuild_all(self.specs, iter(leaves), self.names, origins)
            entry = unified(entry, origins, self.points)
            body.met = [*aliases_after_errors(entry, origins, self.init, self.names, self.points)]
            return entry

        body = _Handling(handler, kinds[0], self.region, self.body.graph)
        try:
            return Traced("handler", body, self.init, self.names, enter)
        finally:
            self.region.handled = None

    # The node.

    def apply(self) -> tuple[Any, ...]:
        parts = [self.body, *self.traced]
        ending = [part for part in parts if part.values is not None]
        specs, contents = self._specs(ending)
        for part in parts:
            part.finish(specs, contents)
        specs += [spec for _, spec in contents]
        names = [*self.names, *["" for _ in contents]]
        handlers = {f"handler{i}": part.graph for i, part in enumerate(self.traced)}
        results = apply(TRY, body=self.body.graph, **handlers, region=self.region, kinds=tuple(self.caught))
        if not ending:
            raise Unreachable
        values = rebuild_all(specs, iter(named(results, specs, names)), names)[:len(self.init)]
        record_identities(contents)
        ends = [part.end for part in ending if part.end is not None]
        return tuple(assigned_values(values, self.init, self.names, ends))

    def _specs(self, ending: Sequence[Traced]) -> tuple[list[Spec], Carried]:
        """The specs of the variables after the parts that complete, and containers they refer to, with their specs."""
        if not ending:
            return [], ()
        cells = CellJoin(self.init, [part.end for part in ending if part.end is not None])
        try:
            specs = [self._join(ending, i, cells) for i in range(len(self.names))]
            return specs, carried(specs, ending, cells)
        except _Mixed:
            changed = [i for i, value in enumerate(self.init)
                       if any(part.values is not None and part.values[i] is not value for part in ending)]
            for part in ending:
                part.join_contents(changed, self.names)
            return [self._join(ending, i, None) for i in range(len(self.names))], ()

    def _join(self, parts: Sequence[Traced], i: int, cells: CellJoin | None) -> Spec:
        values = [part.values[i] for part in parts if part.values is not None]
        for part in parts:
            assert part.values is not None
            if is_caught(part.values[i]):
                self._refuse_error(i)
        others = [shared(part.values, i) for part in parts if part.values is not None]
        if others[0] is not None and len({*others}) == 1:
            return Shared(others[0])
        if all(value is self.init[i] for value in values) or (
                len(values) > 1 and all(value is values[0] for value in values)):
            return Static(values[0])
        spec = parts[0].describe(i)
        if len(parts) == 1:
            return as_outputs(spec, parts[0].graph)
        bodies = [part.body for part in parts]
        if all(part.has_same(value, self.init[i]) for part, value in zip(parts, values, strict=True)):
            need_reference_before(self.init[i], values, self.names[i], *bodies)
        for part in parts[1:]:
            try:
                spec = join(spec, part.describe(i), cells)
            except Conflict as conflict:
                pairs = ((name, parts[0].describe(k), part.describe(k)) for k, name in enumerate(self.names))
                need_references(conflict, self.names[i], pairs, *bodies)
                if cells is not None and any(part.values is not None and chooses(part.values[i]) for part in parts):
                    raise _Mixed from None
                self._refuse(parts[0], part, i)
        return spec

    def _refuse(self, first: Traced, other: Traced, i: int) -> NoReturn:
        name = self.names[i]
        a, b = text(first.describe(i)), text(other.describe(i))
        raise staging_error(
            f"{subject(name)} is {a} if the body of this `try` ends or is left in one way "
            f"(line {first.line(i, name)}), but {b} in another (line {other.line(i, name)})",
            f"Make all ways give {subject(name)} the same type: {a} and {b} do not fit together.") from None

    def _refuse_error(self, i: int) -> NoReturn:
        raise staging_error(
            f"{subject(self.names[i])} is the error that a handler caught, which a graph cannot carry out of the "
            "handler",
            "Keep what you need of it, such as a number, in the handler, or raise it there.")


class _Mixed(Exception):
    """A variable is a Select of containers at the end of one part, and a copy without identity at that of another."""


class _Body:
    """`run` as a body at the position of `body`."""

    def __init__(self, run: Callable[..., Any], body: Branch) -> None:
        self.run, self.fn = run, getattr(body, "fn", None)
        self.filename, self.lineno = body.filename, body.lineno

    def __call__(self, *values: Any) -> Any:
        return self.run(*values)


class _Handling:
    """A handler's body, for an error of class `kind`. `met`: may-alias pairs among its initial values."""

    met: Sequence[tuple[Any, Any, str]] = ()

    def __init__(self, handler: Handler, kind: type[BaseException], region: Region, body: Graph) -> None:
        self.handler, self.kind, self.region, self.body = handler, kind, region, body
        self.fn = getattr(handler.body, "fn", None)
        self.filename, self.lineno = handler.body.filename, handler.body.lineno

    def __call__(self, *values: Any) -> Any:
        error = error_for(self.kind, self.region, self.body, self.handler.named)
        for one, other, name in self.met:
            record_alias(one, other, name)
        try:
            raise error  # for a bare `raise`
        except BaseException:
            return self.handler.body(*([error] if self.handler.named else []), *values)


def stage_try(
    body: Branch, handlers: Sequence[Handler], init: Sequence[Any], names: Sequence[str], read: Callable[[], Values]
) -> tuple[Any, ...]:
    """The variables after `try: body()` with handlers. `read` returns their current values at any point of the trace.

    Only errors that the body can raise are handled: if there is nothing to catch, it is traced as if there were no
    `try`.
    """
    assert current_graph() is not None
    make_references(names, lambda: init, body, *[handler.body for handler in handlers])
    mark = checkpoint()
    with carrying():
        staged = _Try(body, handlers, init, names, read)
        staged.settle()
        staged.handle()
        if staged.traced:
            return staged.apply()
    rollback(mark)
    return as_originals(body(*init))

"""`while` and `for` on tensors: the body is traced until the types of the state reach a fixpoint.

The first trace keeps Python values. Values that the body changes become graph values, and the body is retraced; all
traces but the last are rolled back.
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from autograph.backend import LISTS, fill, is_container, is_list, of_trace, parts_in, same_parts
from runtime.core.errors import subject
from runtime.core.graph import Graph, Value
from runtime.core.op import Op
from runtime.core.positions import staging_error
from runtime.core.tensor import indices
from runtime.core.tensor_writes import Leaving, followed
from runtime.core.text import Text
from runtime.core.trace import add_input, apply, capture, convert_to_tensor, current_graph, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.ops.control import REDUCE, WHILE_LOOP
from runtime.ops.math import minimum
from runtime.staging.aliases import alias_tracking, open_bodies
from runtime.staging.aliases.body_tracing import Branch, checkpoint, rollback, trace_body
from runtime.staging.aliases.indices import note_counter
from runtime.staging.aliases.list_elements import check_repeated
from runtime.staging.aliases.shared_elements import link_entries, owners_in
from runtime.staging.control.checkpoints import checkpoint_param
from runtime.staging.control.exchanged_arrays import Form, exchanging
from runtime.staging.control.iterated_lists import IteratedLists, Resized, by_index
from runtime.staging.control.loop_aliases import LoopAliases, holders_of
from runtime.staging.control.loop_bodies import Pulling, Test, Truth
from runtime.staging.control.loop_elements import ElementPlaces, following_elements
from runtime.staging.control.python_results import may_be_numbers
from runtime.staging.control.shape_invariants import with_invariants
from runtime.staging.joins import growth, object_conflicts
from runtime.staging.joins.alias_join import BodyEnd, assigned_values
from runtime.staging.joins.cell_join import CellJoin, chooses, contents_begun, is_from_outside, joined
from runtime.staging.joins.container_arenas import make_references, need_references
from runtime.staging.joins.contents import Contents
from runtime.staging.joins.flatten import lower, named, passed_on, rebuild_all, refuse_cycles
from runtime.staging.joins.lattice import (
    Conflict,
    Custom,
    Leaf,
    Nested,
    Optional,
    Origins,
    Shared,
    Spec,
    Static,
    absent,
    all_parts_widened,
    as_loop_state,
    describe,
    join,
    leaf_types,
    remedy_for_containers,
    shared,
    targets,
    text,
    with_staged_lists,
)
from runtime.staging.values.iterables import Counted, Stream
from runtime.staging.values.iteration_values import note_index
from runtime.staging.values.trials import Trial

__all__ = ["stage_reduce", "stage_while"]

MAX_TRACES: Final = 24  # types widen a few times at most; after more traces there is no fixpoint
_SPREADING: Final = 3  # after this many traces, a change is assumed to spread from item to item: all are widened

MakeItems = Callable[[Graph], list[Callable[[], Any]]]
"""Adds the body's inputs that precede the state; returns functions that make the item while the body is traced."""
_Stage = Callable[[Sequence[Any], Form, ElementPlaces], tuple[Any, ...]]


@dataclass
class _Record:
    """The types at the fixpoints of the loops inside a body, in order: the first guess for the body's next trace."""

    loops: list[tuple[object, list[Spec], _Record]] = field(default_factory=list)


class _Records(threading.local):
    earlier: _Record | None = None
    current: _Record | None = None


_records: Final = of_trace(_Records())


class _Loop:
    """One staged loop. `specs` describe the state; they are widened until a trace of the body leaves them unchanged."""

    def __init__(
        self, body_fn: Branch, init: Sequence[Any], options: Mapping[str, Any], form: Form, places: ElementPlaces,
    ) -> None:
        self.body_fn, self.init, self.form, self.places = body_fn, list(init), form, places
        self.names: Sequence[str] = places.names
        self.specs = [places.specs.get(i) or self._start(i) for i in range(len(init))]
        self.ambiguous = {id(content) for value in init for content in open_bodies.contents_of(value).values()
                          if alias_tracking.may_alias(content)}
        self.of_contents: set[int] = set()
        """Variables whose containers hold joined contents of several, since the body rebinds them."""
        self.test: Graph | None = None
        self.over = IteratedLists(None, None)
        self.leaving = Leaving()
        self.key = body_fn.filename, body_fn.lineno, tuple(self.names)
        self.specs = with_invariants(self.specs, self.init, self.names, options.get("shape_invariants"))
        if (trial := options.get("rolled")) is not None:
            self.specs = trial.guessed(self.specs, self.names)

    def _start(self, i: int) -> Spec:
        refuse_cycles(followed(self.init[i]))
        other = shared(self.init, i)
        return as_loop_state(describe(self.init[i])) if other is None else Shared(other)

    # The body.

    def settle(self, make_items: MakeItems) -> None:
        """Trace the body until the types of the state reach a fixpoint."""
        outer, earlier, asked = _records.current, self._guess(), indices.asked
        if earlier is not None:
            self.specs = list(map(_guessed, self.specs, earlier[1]))
        record = earlier[2] if earlier is not None else None
        start = list(self.specs)
        try:
            for number in range(MAX_TRACES):
                mark = checkpoint()
                _records.earlier, _records.current = record, _Record()
                indices.asked = False
                self._trace(make_items)
                record = _records.current
                widened = self._widened()
                if not self.to_join and widened == self.specs and _same_targets(widened, self.specs):
                    self.specs = widened
                    if not self.rows:
                        break
                    widened = self._indexed(widened)  # a staged list has copies of its rows
                    if widened == self.specs:
                        widened = self._with_contents(widened)
                growth.check_growth(self.specs, widened, start, number)
                self.specs = all_parts_widened(self.names, self.specs, widened, number >= _SPREADING)
                rollback(mark)
                for i in self.to_join:
                    [self.init[i]] = joined([self.init[i]], [self.names[i]])
                    self.ambiguous |= set(map(id, open_bodies.contents_of(self.init[i]).values()))
                    self.specs[i] = self._start(i)
            else:
                raise growth.unsettled(self.specs, start, MAX_TRACES)
        finally:
            indices.asked |= asked
            _records.current = outer
            _records.earlier = self.replayed
        if outer is not None:
            assert record is not None
            outer.loops.append((self.key, self.specs, record))

    def _guess(self) -> tuple[object, list[Spec], _Record] | None:
        """This loop's result in the enclosing loop's previous trace, or None."""
        self.replayed = _records.earlier
        if self.replayed is None or _records.current is None:
            return None
        index = len(_records.current.loops)
        if index >= len(self.replayed.loops) or self.replayed.loops[index][0] != self.key:
            return None
        return self.replayed.loops[index]

    def _trace(self, make_items: MakeItems) -> None:
        self.graph = graph = Graph("body", parent=current_graph())
        self.origins: Origins = {}
        with tracing(graph):
            items = make_items(graph)
            self.inputs = self._add_inputs(graph)
        leaves = iter(self.inputs)
        live_out: Origins = {}
        begins: dict[int, Sequence[Any]] = {}
        owners = owners_in(self.init)
        with Contents(self.init) as contents:

            def values() -> list[Any]:
                self.entry = rebuild_all(self.specs, leaves, self.names, self.origins)
                self.began = list(map(contents_begun, self.entry, self.init))
                alias_tracking.record_copies(self.origins, live_out, True, begins)
                link_entries(self.began, self.init, owners)
                holders = holders_of(self.names, self.init, self.began).values()
                alias_tracking.record_split(copy for several in holders for _, copy in several
                                     if any(copy is not other for _, other in several))
                self.parts = [(copy, origin, parts_in(copy)) for copy, origin in self.origins.values()]
                self.changes = [*map(alias_tracking.changes_in, self.entry)]
                self.compared = alias_tracking.compared()
                contents.begin()
                self.over.begin()
                return [*(item() for item in items), *self.entry]

            self.known = open_bodies.known_elements()
            out = trace_body(graph, self.body_fn, values, self.leaving, self._exported)
            with tracing(graph):
                if out is not None:
                    self.over.check(out)
                    out = passed_on(out, self.names, self.entry, self.body_fn)
            self.modified = [{key for key, changes in found.items() if changes and out is not None}
                             for found in self.changes]
            self.changed = list(map(bool, self.modified))
            self.rewritten = {id(origin) for copy, origin, parts in self.parts
                              if hasattr(type(copy), "__become__") or not same_parts(parts, parts_in(copy))}
            with tracing(graph):
                self.ended = contents.live_out(self.entry, self.origins, live_out, out)
                self.out: Sequence[Any] | None = None if out is None else contents.live_out(out, self.origins, live_out)
        copies = self._copies()
        self.end = BodyEnd(self.ended if self.out is None else self.out, self.origins, live_out, self.began, copies)
        for began, after in zip(self.began, self.end.contained, strict=True):
            begins |= {id(content): [*copies.get(id(content), ())[1:], *after.get(place, ())]
                       for place, content in began.items()}
        self.rewritten |= {id(self.origins[id(value)][1]) for value, origin in live_out.values()
                           if value is not origin and id(value) in self.origins}
        self.places.check(self)

    def _exported(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The body's final values, where Selects are kept only among containers that it received or could reach."""
        return tuple(joined(values, self.names, is_from_outside))

    def _copies(self) -> Origins:
        """The body's initial copies of lists, dicts and objects, including staged lists."""
        copies: Origins = {}
        for began, before in zip(self.began, self.init, strict=True):
            earlier = open_bodies.contents_of(before)
            for place, copy in began.items():
                if place in earlier:
                    copies[id(copy)] = copy, earlier[place]
        return copies | {key: pair for key, pair in self.origins.items() if pair[1] is not None}

    def _add_inputs(self, graph: Graph) -> list[Any]:
        return [add_input(graph, *leaf) for spec, name in zip(self.specs, self.names, strict=True)
                for leaf in leaf_types(spec, name)]

    def _widened(self) -> list[Spec]:
        self.rows: list[tuple[int, Spec, Spec, Conflict]] = []  # where an iteration assigns a row selected by a tensor
        self.to_join: list[int] = []
        """Variables that are a Select of containers before the loop, and a new container after an iteration."""
        if self.out is None:
            return self._indexed(self.specs) if indices.asked else self.specs
        self.cells = CellJoin(self.init, [BodyEnd(self.init), self.end], self.form.selects)
        widened = [self._widen(i, spec) for i, spec in enumerate(self.specs)]
        self.form.check_join(self, widened)
        pairs = list(zip(self.specs, widened, strict=True))
        if any(isinstance(old, Static) and isinstance(new, Leaf) for old, new in pairs):
            # which rows became staged lists may depend on values of the first iteration only
            kept = [old if _stages_rows(old, new, name.endswith("]")) else new
                    for (old, new), name in zip(pairs, self.names, strict=True)]
            if any(a is not b for a, b in zip(kept, widened, strict=True)):
                return kept
        return self._indexed(widened) if indices.asked else widened

    def _widen(self, i: int, spec: Spec) -> Spec:
        assert self.out is not None
        value = self.out[i]
        if isinstance(spec, Shared):
            index = next((j for j in range(i) if self.init[j] is self.init[i] and value is self.out[j]), None)
            if index is not None:
                return Shared(index)
            spec = as_loop_state(describe(self.init[i]))
        if value is self.entry[i] and isinstance(spec, Static):
            return spec
        out = describe(value, self.origins)
        try:
            return join(spec, out, None if i in self.of_contents or i in self.places.found else self.cells)
        except Conflict as conflict:
            others = zip(self.names, self.specs, (describe(x, self.origins) for x in self.out), strict=True)
            need_references(conflict, self.names[i], others, self.body_fn)
            if chooses(self.init[i]):
                self.to_join.append(i)
                return spec
            if not object_conflicts.is_row(conflict):
                self._refuse(i, spec, out, conflict)
            self.rows.append((i, spec, out, conflict))
            return spec

    def _with_contents(self, specs: Sequence[Spec]) -> list[Spec]:
        """`specs`, with joined contents for variables that an iteration rebinds to another object."""
        places = {i for i, *_ in self.rows}
        if places <= self.of_contents:
            self._refuse(*self.rows[0])
        self.of_contents |= places
        return [self._start(i) if i in places else spec for i, spec in enumerate(specs)]

    def _indexed(self, specs: Sequence[Spec]) -> list[Spec]:
        """`specs`, with those lists staged that a tensor may have indexed, as they were then."""
        made: list[Spec] = []
        for spec, value in zip(specs, self.ended, strict=True):
            if isinstance(spec, Nested) and isinstance(value, LISTS):
                with contextlib.suppress(Conflict):
                    spec = join(spec, describe(value, self.origins))
            made.append(with_staged_lists(spec))
        return made

    def _refuse(self, i: int, spec: Spec, out: Spec, conflict: Conflict) -> NoReturn:
        name = subject(self.names[i])
        before, after = text(spec), text(out)
        if object_conflicts.is_row(conflict):
            object_conflicts.refuse_row(conflict, self.names[i], "after an iteration than before")
        if before == after:  # of a class whose objects are not decomposed
            raise object_conflicts.refuse_object(
                conflict, f"{name} is {before} before the loop but another one after each iteration, which no graph can"
                " carry") from None
        what = f"{name} is {before} before the loop but {after} after one iteration"
        if isinstance(conflict.left, Static) and isinstance(conflict.left.value, (str, Text, bytes)):
            kind = "bytes" if isinstance(conflict.left.value, bytes) else "str"
            raise staging_error(
                what, f"A staged loop keeps a {kind} as it is: keep a number or tensor in {name}, and make the {kind} "
                      "of it after the loop, in Python.") from None
        remedy = f"Make the body assign {before} to {name}, or start with {after}."
        error = staging_error(what, remedy_for_containers(conflict.left, conflict.right) or remedy)
        object_conflicts.retrace_if_objects(conflict, error)
        raise self.over.without_first(conflict, error) from None

    def _read(self) -> list[bool]:
        """For each variable, whether the body or the test may read its value at the beginning of an iteration."""
        passed = {k for graph in self._graphs() for k, value in self._state(graph) if value in graph.outputs}
        used = passed | self._used()
        return [not own or not used.isdisjoint(own) for own in self._leaves()]

    def uses(self, i: int) -> bool:
        own, used = self._leaves()[i], self._used()
        return not used.isdisjoint(own) or any(
            value is output and place != k for k, value in self._state(self.graph) if k in own
            for place, output in enumerate(self.graph.outputs))

    def _graphs(self) -> list[Graph]:
        return [self.graph] if self.test is None else [self.graph, self.test]

    def _used(self) -> set[int]:
        """The indices of the leaves of the state with which the body or the test computes."""
        found: set[int] = set()
        for graph in self._graphs():
            values = {value for node in graph.nodes for value in node.inputs}
            found |= {k for k, value in self._state(graph) if value in values}
        return found

    def _state(self, graph: Graph) -> list[tuple[int, Value]]:
        """The inputs of the body or the test that are leaves of the state, numbered."""
        return [*enumerate(graph.inputs[len(graph.inputs) - len(self.inputs):])]

    def _leaves(self) -> list[list[int]]:
        """For each variable, the indices of its leaves among those of the state."""
        leaves = iter(range(len(self.inputs)))
        return [[next(leaves) for _ in leaf_types(spec)] for spec in self.specs]

    def finish(self, trial: Trial | None) -> None:
        """Make the state after an iteration the outputs of the body's graph. TrialFailed if `trial` rejects it."""
        self.trial, self.graph.is_rolled = trial, trial is not None
        with tracing(self.graph):
            if self.out is None:
                outputs = self.inputs
            else:
                outputs = [leaf for spec, value in zip(self.specs, self.out, strict=True)
                           for leaf in lower(spec, value, self.origins)]
            set_outputs(self.graph, outputs)
        self.form.check_body(self)
        if trial is not None:
            out = None if self.out is None else [describe(x, self.origins) for x in self.out]
            trial.check(self.graph, self.init, self.specs, out, self.names)
        writes = check_repeated(self.known)
        if any(self.modified) or writes or self.compared:
            LoopAliases(self.names, self.init, self.began, self.end, self.modified, self._read(), self.ambiguous,
                        writes, self.compared, self.places.found).check()
        self.find_invariants()

    def find_invariants(self) -> None:
        self.invariant = [value is made.value
                          for value, made in zip(self.graph.outputs, self.inputs, strict=True)]

    def bound_by_body(self, i: int) -> bool:
        """Whether variable `i` is always bound after an iteration, even if it may be unbound before the loop."""
        if self.out is None:
            return False
        value = self.out[i]
        spec = describe(value)
        return not absent(value) and not (isinstance(spec, Optional) and spec.unbound)

    # The test.

    def settle_with_test(self, make_items: MakeItems, test_fn: Branch, truth: Truth) -> Graph:
        """Trace to the fixpoint; returns the graph of the test, from the state to whether the loop continues."""
        init = list(self.init)
        while True:
            mark = checkpoint()
            self.settle(make_items)
            asked, indices.asked = indices.asked, False
            test = self._test(test_fn, truth)
            specs = self._indexed(self.specs) if indices.asked else self.specs
            indices.asked |= asked
            if specs == self.specs:
                return test
            rollback(mark)
            was, self.init = self.init, list(init)
            self.specs = [spec if was[i] is init[i] else self._start(i) for i, spec in enumerate(specs)]
            if _records.current is not None:
                _records.current.loops.pop()

    def _test(self, test_fn: Branch, truth: Truth) -> Graph:
        graph = Graph("test", parent=current_graph())
        with tracing(graph):
            leaves = iter(self._add_inputs(graph))
        origins: Origins = {}

        def values() -> list[Any]:
            made = rebuild_all(self.specs, leaves, self.names, origins)
            alias_tracking.record_copies(origins, {})
            return made

        self.test = graph
        with Contents(self.init):
            going = trace_body(graph, Test(test_fn, truth), values, self.leaving)
        with tracing(graph):
            set_outputs(graph, [False if going is None else going])
        return graph

    # The node.

    def apply(self, op: Op, operands: Sequence[Any], runs: bool, **params: Any) -> tuple[Any, ...]:
        """Add the node; return the variables after the loop.

        `runs`: the body certainly runs at least once, so what it binds is bound. Loop-invariant values become captures.
        """
        here = current_graph()
        assert here is not None
        leaves = [leaf for spec, value in zip(self.specs, self.init, strict=True) for leaf in lower(spec, value)]
        numbers: Sequence[Any] = [None] * len(leaves)
        if self.trial is not None:
            numbers = self.trial.results(
                self.graph, params.get("test"), leaves, operands[0].value.constant if operands else None,
                [is_number for i, spec in enumerate(self.specs) for is_number in self._may_be_numbers(i, spec, runs)])
            self.find_invariants()
        graphs = [param for param in params.values() if isinstance(param, Graph)]
        last = len(leaves) - 1
        for k in reversed(range(len(leaves))):
            if self.invariant[k]:
                outer = capture(here, leaves[k])
                for graph in graphs:
                    _take_from_outside(graph, len(graph.inputs) - 1 - last + k, outer)
                del self.graph.outputs[k]
                last -= 1
        state = [leaf for leaf, same in zip(leaves, self.invariant, strict=True) if not same]
        results = iter(apply(op, *operands, *state, **params))
        return self._results([leaf if same else next(results)
                              for leaf, same in zip(leaves, self.invariant, strict=True)], runs, numbers)

    def _is_bound(self, i: int, spec: Spec, runs: bool) -> bool:
        """Whether variable `i`, which may be unbound before the loop, is bound after it."""
        return runs and isinstance(spec, Optional) and spec.unbound and self.bound_by_body(i)

    def _may_be_numbers(self, i: int, spec: Spec, runs: bool) -> list[bool]:
        """For each leaf of variable `i`, whether a Python number can take its place after the loop."""
        if isinstance(spec, Optional) and not spec.none and self._is_bound(i, spec, runs):
            return [False, *may_be_numbers(spec.child)]
        return may_be_numbers(spec)

    def _results(self, leaves: Sequence[Any], runs: bool, numbers: Sequence[Any]) -> tuple[Any, ...]:
        named(leaves, self.specs, self.names)
        leaves = [leaf if number is None else number for leaf, number in zip(leaves, numbers, strict=True)]
        specs = list(self.specs)
        kept = []
        for i, spec in enumerate(specs):
            count = sum(1 for _ in leaf_types(spec))
            own, leaves = leaves[:count], leaves[count:]
            if isinstance(spec, Optional) and self._is_bound(i, spec, runs):
                specs[i] = replace(spec, unbound=False) if spec.none else spec.child
                own = own[1:]
            kept += own
        as_they_were = [(target, parts_in(target)) for target in targets(specs)
                        if is_container(target) and id(target) not in self.rewritten]
        ends = [self.end] if runs else [BodyEnd(self.init), self.end]
        values = rebuild_all(specs, iter(kept), self.names)  # changes what is in `init`
        for target, parts in as_they_were:  # equal tensors of this graph would be unusable elsewhere
            fill(target, parts)
        return tuple(assigned_values(values, self.init, self.names, ends))


def _take_from_outside(graph: Graph, position: int, outer: Value) -> None:
    """Make the input at `position` a capture of `outer`."""
    inner = graph.inputs.pop(position)
    graph.captures.append((outer, inner))


def _same_targets(specs: Sequence[Spec], others: Sequence[Spec]) -> bool:
    return [*map(id, targets(specs))] == [*map(id, targets(others))]


def _stages_rows(old: Spec, new: Spec, inside: bool) -> bool:
    """Whether the new spec stages a list inside the old spec's list, or (`inside`) that list itself."""
    if not isinstance(old, Nested) or not is_list(old.like):
        return False
    if isinstance(new, Nested):
        return any(_stages_rows(*children, True) for children in zip(old.children, new.children, strict=False))
    return inside and isinstance(new, Custom)


def _guessed(spec: Spec, earlier: Spec) -> Spec:
    """`spec` with those Python numbers made graph values that are such in `earlier`."""
    if isinstance(spec, Static) and isinstance(earlier, Leaf):
        try:
            return join(Leaf(earlier.type), spec)
        except Conflict:
            return spec
    if isinstance(spec, Nested) and isinstance(earlier, Nested) and spec.alike(earlier):
        return replace(spec, children=tuple(map(_guessed, spec.children, earlier.children)))
    return spec


def stage_while(
    test_fn: Branch, body_fn: Branch, init: Sequence[Any], names: Sequence[str], options: Mapping[str, Any],
    truth: Truth,
) -> tuple[Any, ...]:
    """The state after `while test_fn(*state): state = body_fn(*state)`."""
    limit = options.get("maximum_iterations")

    def stage(init: Sequence[Any], form: Form, places: ElementPlaces) -> tuple[Any, ...]:
        loop = _Loop(places.body(body_fn), init, options, form, places)
        params = {"test": loop.settle_with_test(lambda graph: [], places.test(test_fn), truth), "body": loop.graph,
                  **checkpoint_param(options, False)}
        loop.finish(options.get("rolled"))
        if limit is None:
            return loop.apply(WHILE_LOOP, (), False, **params)
        return loop.apply(WHILE_LOOP, (convert_to_tensor(limit),), False, **params, limited=True)

    return _staged(stage, body_fn, init, names)


def _staged(stage: _Stage, body_fn: Branch, init: Sequence[Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The state after a loop that `stage` traces in a form, with places of elements as part of the state."""
    make_references(names, lambda: init, body_fn)
    with open_bodies.carrying():
        return following_elements(
            lambda places: exchanging(lambda init, form: stage(init, form, places), places.init), init, names)


def stage_reduce(
    items: Counted | Stream, body_fn: Branch, test_fn: Branch | None, init: Sequence[Any], names: Sequence[str],
    options: Mapping[str, Any], truth: Truth,
) -> tuple[Any, ...]:
    """The state after `for item in items: state = body_fn(item, *state)`, which goes on while `test_fn(*state)`."""
    limit, runs = options.get("maximum_iterations"), False
    operands: list[Any]
    params: dict[str, Any] = {}
    if isinstance(items, Counted):
        length: Any = items.length
        if limit is not None:
            both = isinstance(length, int) and isinstance(limit, int)
            length = min(length, limit) if both else minimum(length, limit)
        if isinstance(length, int):
            if length <= 0:
                return tuple(init)
            runs = True
        weak = isinstance(length, int) or length.type.weak
        length = convert_to_tensor(length)
        operands = [length]

        def make_items(graph: Graph) -> list[Any]:
            index = add_input(graph, TensorType(length.dtype, (), weak), "i")
            note_counter(index.value)
            note_index(index.value, items.length if isinstance(items.length, int) else length.value)
            return [lambda: items.item(index)]
    else:
        operands = list(items.sources)
        params = {"stream": items, "sources": len(operands)}
        if limit is not None:
            raise staging_error("maximum_iterations is given for a loop over a stream", "Use dataset.take(n).")

        def make_items(graph: Graph) -> list[Any]:
            inputs = [add_input(graph, type, "item") for type in items.types]
            return [lambda: items.pack(inputs)]

    def stage(init: Sequence[Any], form: Form, places: ElementPlaces) -> tuple[Any, ...]:
        body, test_of = places.body(body_fn), None if test_fn is None else places.test(test_fn)
        loop = _Loop(body if isinstance(items, Counted) else Pulling(body), init, options, form, places)
        if isinstance(items, Counted):
            loop.over = IteratedLists(items, None if test_of is None else Test(test_of, truth))
        if test_of is None:
            loop.settle(make_items)
            graphs = {"body": loop.graph}
        else:
            test = loop.settle_with_test(make_items, test_of, truth)
            graphs = {"body": loop.graph, "test": test}
        loop.finish(options.get("rolled"))
        return loop.apply(
            REDUCE, operands, runs, **params, **graphs, **checkpoint_param(options, isinstance(items, Counted)))

    mark = checkpoint()
    try:
        return _staged(stage, body_fn, init, names)
    except Resized:
        rollback(mark)
    test, body = by_index(items, body_fn, test_fn, truth)
    return stage_while(test, body, [*init, 0], [*names, "index"], options, truth)[:-1]

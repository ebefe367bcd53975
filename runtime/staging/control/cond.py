"""`if` on a tensor: both branches traced, their results joined."""
from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final, NoReturn

from autograph.backend import containers_in, of_trace, unwrapped
from runtime.core.errors import subject
from runtime.core.graph import Graph, Node, Value
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.tensor_writes import written_by
from runtime.core.text import Text
from runtime.core.trace import apply, current_graph, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.ops.control import COND
from runtime.ops.logic import bitwise_and, bitwise_or
from runtime.staging.aliases.alias_tracking import after_return, record_copies
from runtime.staging.aliases.body_tracing import (
    Branch,
    Costly,
    Unreachable,
    checkpoint,
    line_of,
    refuse_speculation,
    rollback,
    speculating,
    trace_body,
)
from runtime.staging.aliases.open_bodies import Element, carrying, places_at_end
from runtime.staging.control.carried_cells import Carried, carried, lower_carried, record_identities, undefined
from runtime.staging.elements.list_specs import is_staged_spec
from runtime.staging.elements.select_pairs import either
from runtime.staging.joins.alias_join import BodyEnd, assigned_values
from runtime.staging.joins.branch_elements import Alternatives, JoinedPlaces
from runtime.staging.joins.cell_join import CellJoin, cells_in, joined
from runtime.staging.joins.container_arenas import make_references, need_reference_before, need_references
from runtime.staging.joins.contents import Contents
from runtime.staging.joins.flatten import (
    StagedBefore,
    begins_with_container,
    check_staged_before,
    lower,
    named,
    passed_on,
    rebuild_all,
    refuse_cycles,
)
from runtime.staging.joins.lattice import (
    Conflict,
    Origins,
    Shared,
    Spec,
    Static,
    as_outputs,
    describe,
    join,
    remedy_for_containers,
    shared,
    text,
)
from runtime.staging.joins.object_conflicts import is_row, refuse_object, refuse_row, retrace_if_objects
from runtime.staging.values.assumptions import assuming
from runtime.staging.values.optional import MaybeTensor

__all__ = ["Traced", "stage_cond", "stage_logical"]


class Traced:
    """A traced branch: its graph, and the final values of the variables (None: it raises).

    It begins with `init`, or with the values that `enter` creates in the graph.
    """

    def __init__(
        self, name: str, body: Branch, init: Sequence[Any], names: Sequence[str],
        enter: Callable[[Graph, Origins], Sequence[Any]] | None = None,
    ) -> None:
        self.body = body
        self.graph = Graph(name, parent=current_graph())
        self.origins: Origins = {}
        self.cells: dict[int, Any] = {}
        """By id, the containers that the branch received or created, in their final state."""
        self.made: set[int] = set()
        """The ids of the containers that it created."""
        self.live_out: Origins = {}
        for value in init:
            refuse_cycles(value)
        with Contents(init) as contents:
            entry = list(init) if enter is None else list(enter(self.graph, self.origins))
            cells = list(containers_in(entry).values())
            for content in cells:
                self.origins.setdefault(id(content), (content, content))
            self.entry = entry

            def begin() -> Sequence[Any]:
                record_copies(self.origins, self.live_out)
                contents.begin()
                return entry

            values = trace_body(self.graph, body, begin)
            self.places = places_at_end()
            """By id, the containers that are elements of lists at the end."""
            if values is None:
                self.values = None
            else:
                with tracing(self.graph):
                    values = passed_on(values, names, entry, body)
                    self.values = contents.live_out(values, self.origins, self.live_out, values)
                    for cell, copy in zip(cells, contents.live_out(cells, self.origins, self.live_out), strict=True):
                        self.cells[id(cell)] = copy
                for cell in cells_in(tuple(self.values)):
                    is_new = id(cell) not in self.origins
                    if is_new:
                        self.made.add(id(cell))
                    _, origin = self.origins.setdefault(id(cell), (cell, cell))
                    if is_new or (origin is not None and cell is not origin):
                        self.cells[id(origin)] = cell
        self.end = None if self.values is None else self._end(self.values)
        """None if it raises."""

    def _end(self, values: Sequence[Any]) -> BodyEnd:
        end = BodyEnd(values, self.origins, self.live_out)
        end.made |= self.made
        return end

    def has_same(self, value: Any, before: Any) -> bool:
        """Whether a final value is the container `before` the statement, which the branch may have changed."""
        return self.origins.get(id(value), (None, None))[1] is before

    def place_of(self, i: int) -> Element | None:
        """The record of the final value of a variable as an element of a list; None if it is none."""
        assert self.values is not None
        value = unwrapped(self.values[i])
        return self.places.get(id(self.live_out.get(id(value), (None, value))[1]))

    def join_contents(self, chosen: Sequence[int], names: Sequence[str]) -> None:
        """Replace Selects of containers in these of the branch's final values by containers of the joined contents."""
        assert self.values is not None
        with tracing(self.graph):
            found = joined([self.values[i] for i in chosen], [names[i] for i in chosen], note=self._note_copy)
        for i, value in zip(chosen, found, strict=True):
            self.values[i] = value
        self.end = self._end(self.values)

    def _note_copy(self, copy: Any, value: Any) -> None:
        self.origins[id(copy)] = copy, self.origins.get(id(value), (None, None))[1]
        self.live_out[id(copy)] = copy, self.live_out.get(id(value), (None, value))[1]

    def describe(self, i: int) -> Spec:
        assert self.values is not None
        return describe(self.values[i], self.origins)

    def finish(self, specs: Sequence[Spec], cells: Carried) -> None:
        """Make the leaves for `specs`, and those of the contents of `cells`, the outputs of the graph."""
        with tracing(self.graph):
            if self.values is None:
                outputs = undefined(specs)
            else:
                outputs = [leaf for spec, value in zip(specs, self.values, strict=True)
                           for leaf in lower(spec, value, self.origins)]
            set_outputs(self.graph, [*outputs, *lower_carried(cells, self)])

    def line(self, i: int, name: str) -> int:
        """The line where the variable was assigned."""
        assert self.values is not None
        value = self.values[i]
        if isinstance(value, GraphTensor) and value.value.node is not None and (
                value.graph is self.graph or value is self.entry[i]):
            position = value.value.node.position
            if position is not None:
                return int(position.lineno)
        return line_of(self.body, name)


def stage_cond(
    pred: Tensor, true_fn: Branch, false_fn: Branch, init: Sequence[Any], names: Sequence[str]
) -> tuple[Any, ...]:
    """The variables after `if pred: true_fn() else: false_fn()`, for a bool scalar `pred` of the graph.

    StagingError if the values of a variable have no join.
    """
    make_references(names, lambda: init, true_fn, false_fn)
    with after_return() if _tells_of_return(pred) else nullcontext(), carrying():
        mark = checkpoint() if any(map(begins_with_container, init)) else None
        try:
            return _stage_cond(pred, true_fn, false_fn, init, names)
        except StagedBefore as staged:
            assert mark is not None
            rollback(mark)
            staged.stage()
            return _stage_cond(pred, true_fn, false_fn, init, names)


def _tells_of_return(pred: Tensor) -> bool:
    """Whether a condition is the flag that conversion introduced for a `return`, or its negation."""
    value = pred.value if isinstance(pred, GraphTensor) else None
    if value is not None and value.node is not None and value.node.op.name == "invert":
        value = value.node.inputs[0]
    return value is not None and re.fullmatch(r"did_return_\d*", value.hint or "") is not None


def _stage_cond(
    pred: Tensor, true_fn: Branch, false_fn: Branch, init: Sequence[Any], names: Sequence[str]
) -> tuple[Any, ...]:
    elements = Alternatives(init)
    with assuming(pred, True):
        true = Traced("true", true_fn, init, names)
    elements.end_branch(None if true.end is None else true.end.contained)
    elements.hide(elements.first)
    with assuming(pred, False):
        false = Traced("false", false_fn, init, names)
    elements.end_branch(None if false.end is None else false.end.contained)
    elements.show()
    specs: list[Spec] = []
    contents: Carried = ()
    places = JoinedPlaces(pred, init, (true, false))
    names = places.names(names)
    if true.values is not None or false.values is not None:
        cells = CellJoin(init, [branch.end for branch in (true, false) if branch.end is not None])
        specs = [_join(pred, true, false, i, names, init, cells if i not in places.found else None)
                 for i in range(len(names))]
        check_staged_before(init, specs, False)
        contents = carried(specs, (true, false), cells)
    first = elements.begin
    for branch in (true, false):
        branch.finish(specs, contents)
        elements.end_branch(None if branch.end is None else [
            parts for spec, parts in zip(specs, branch.end.contained, strict=False) if not is_staged_spec(spec)])
        if branch is true:
            elements.hide(first)
    elements.show()
    specs += [spec for _, spec in contents]
    names = [*names, *["" for _ in contents]]
    outputs: Sequence[Any] = ()
    never_returns = true.values is None and false.values is None
    if never_returns or true.graph.outputs or any([
            graph.effect or graph.may_raise for graph in (true.graph, false.graph)]):
        outputs = apply(COND, pred, true=true.graph, false=false.graph)
    else:
        written_by((true.graph, false.graph))
    if never_returns:
        raise Unreachable
    results = iter(named(outputs, specs, names))
    values = rebuild_all(specs, results, names)
    record_identities(contents)
    ends = [branch.end for branch in (true, false) if branch.end is not None]
    made = tuple(assigned_values(values[:len(init)], init, names, ends))
    elements.end()
    places.record([*made, *values[len(init):]], init)
    return made


def _join(
    pred: Tensor, true: Traced, false: Traced, i: int, names: Sequence[str], init: Sequence[Any],
    cells: CellJoin | None,
) -> Spec:
    for branch, other in ((true, false), (false, true)):
        if other.values is None:
            assert branch.values is not None
            other_variable = shared(branch.values, i)
            if other_variable is not None:
                return Shared(other_variable)
            value = branch.values[i]
            kept = i < len(init) and value is init[i]
            return Static(value) if kept else as_outputs(branch.describe(i), branch.graph)
    assert true.values is not None and false.values is not None
    if true.values[i] is false.values[i]:
        return Static(true.values[i])
    earlier = shared(true.values, i)
    if earlier is not None and false.values[earlier] is false.values[i]:
        return Shared(earlier)
    a, b = true.values[i], false.values[i]
    if isinstance(a, _FUNCTIONS) and isinstance(b, _FUNCTIONS) and a != b:
        return Static(either(pred, a, b))
    if i < len(init) and true.has_same(a, init[i]) and false.has_same(b, init[i]):
        need_reference_before(init[i], (a, b), names[i], true.body, false.body)
    try:
        return join(true.describe(i), false.describe(i), cells)
    except Conflict as conflict:
        others = ((name, true.describe(k), false.describe(k)) for k, name in enumerate(names))
        need_references(conflict, names[i], others, true.body, false.body)
        _refuse(conflict, true, false, i, names[i])


_FUNCTIONS: Final = (FunctionType, MethodType, BuiltinFunctionType)


def _refuse(conflict: Conflict, true: Traced, false: Traced, i: int, name: str) -> NoReturn:
    left, right = text(true.describe(i)), text(false.describe(i))
    if is_row(conflict):
        refuse_row(conflict, name, "on one way of this statement than on another")
    if left == right:  # of a class whose objects are not decomposed
        raise refuse_object(
            conflict, f"{subject(name)} is {left} if the condition holds (line {true.line(i, name)}), but another one "
            f"if it does not (line {false.line(i, name)}), which no graph can carry") from None
    error = staging_error(
        f"{subject(name)} is {left} if the condition holds (line {true.line(i, name)}), "
        f"but {right} if it does not (line {false.line(i, name)})",
        _remedy(conflict, name))
    retrace_if_objects(conflict, error)
    raise error from None


def _remedy(conflict: Conflict, name: str) -> str:
    left, right = conflict.left, conflict.right
    if container_remedy := remedy_for_containers(left, right):
        return container_remedy
    values = [side.value for side in (left, right) if isinstance(side, Static)]
    if values and all(isinstance(value, (str, Text, bytes)) for value in values):
        kind = "bytes" if isinstance(values[0], bytes) else "str"
        return (f"Make {subject(name)} a number or a tensor, and the {kind} of it in Python, outside of staged code; or"
                f" use each {kind} in a branch of its own.")
    return (f"Make both branches give {subject(name)} the same type: "
            f"{text(left)} and {text(right)} do not fit together.")


_HARMLESS: Final = frozenset((
    "const", "cast", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_not",
    "logical_and", "logical_or", "logical_xor", "invert", "bitwise_and", "bitwise_or", "bitwise_xor",
    "add", "subtract", "multiply", "negative", "abs", "minimum", "maximum"))
"""Ops that cost almost nothing on scalars: if they cannot raise, speculating them is cheaper than a branch."""


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, TensorType) and not value.type.shape


class _Speculated(threading.local):
    """The last nodes found to be harmless, with indices from `first` to `last`, where `node` is: so that nested
    operands examine each node only once."""

    first = last = 0
    node: Node | None = None


_speculated: Final = of_trace(_Speculated())


def _are_harmless(nodes: Sequence[Node], first: int) -> bool:
    """Whether all nodes from index `first` on cost almost nothing and cannot raise."""
    known = _speculated
    if first <= known.first and known.last < len(nodes) and nodes[known.last] is known.node:
        nodes = [*nodes[first:known.first], *nodes[known.last + 1:]]
    else:
        nodes = nodes[first:]
    return all(node.op.name in _HARMLESS and not node.own_errors and _is_scalar(node.outputs[0]) for node in nodes)


def stage_logical(name: str, left: Tensor, right: Branch) -> Any:
    """`left and right()` or `left or right()` of bool scalars, without a branch.

    None if `right` is too costly to compute unconditionally; then the trace is rolled back.
    """
    graph = current_graph()
    if graph is None:
        return None
    mark = checkpoint()
    first = len(graph.nodes)
    value = None
    with suppress(Costly), speculating(graph), assuming(left, name == "and"):
        value = trace_body(graph, right, tuple)
    simple = (isinstance(value, GraphTensor) and not isinstance(value, MaybeTensor) and value.dtype.is_bool
              and not value.ndim and _are_harmless(graph.nodes, first))
    if not simple:
        rollback(mark)
        refuse_speculation()
        return None
    result = (bitwise_and if name == "and" else bitwise_or)(left, value)
    _speculated.first, _speculated.last, _speculated.node = first, len(graph.nodes) - 1, graph.nodes[-1]
    return result

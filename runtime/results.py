"""What a traced function returned, as results of its graph; and how these are put back into that structure."""
from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from runtime import nest
from runtime.bodies import NEVER, Unreachable
from runtime.chosen import Chosen, choose, chosen_from
from runtime.graph import Graph, Position
from runtime.maybe import MaybeObject, MaybeTensor, Presence, attach
from runtime.signature import children, rebuild
from runtime.staged_list import StagedList, to_python
from runtime.staged_records import StagedRecords
from runtime.staged_rows import Row
from runtime.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.text import Template
from runtime.trace import capture, current_graph, wrap
from runtime.types import TensorSpec

__all__ = ["Pack", "plan", "result_specs", "return_position"]

Pack = Callable[[Sequence[Any]], Any]  # from the results of a graph to what the function returned


def plan(returned: Any, outputs: list[Any], fn: Any = None) -> Pack:
    """Append the tensors and lists in `returned` to `outputs`; gives what puts their values back in their places.

    Called while the graph is open: a value that may be unbound is checked here, as if at the `return` of the user's
    function `fn`. Python values stay as they are.
    """
    if returned is NEVER:
        return _never
    if isinstance(returned, (MaybeTensor, MaybeObject)):
        return _plan_maybe(returned, outputs, fn)
    if isinstance(returned, GraphTensor) or type(returned) is GraphList:
        return _take(outputs, returned)
    if isinstance(returned, EagerTensor):
        return lambda values: returned
    if isinstance(returned, str):
        return _plan_text(returned, outputs)
    if isinstance(returned, StagedRecords):
        return _plan_records(returned, outputs)
    if isinstance(returned, StagedList):
        return _plan_list(returned, outputs)
    if isinstance(returned, Row):
        return _plan_row(returned, outputs)
    if isinstance(returned, Chosen):
        return _plan_chosen(returned, outputs, fn)
    if hasattr(type(returned), "__leaves__"):
        parts = [plan(leaf, outputs, fn) for leaf in returned.__leaves__()]
        return lambda values: returned.__rebuild__([part(values) for part in parts])
    if hasattr(type(returned), "__tensor__"):
        return plan(returned.__tensor__(), outputs, fn)
    inner = children(returned)
    if inner is None:
        return lambda values: returned
    count = len(outputs)
    parts = [plan(part, outputs, fn) for _, part in inner]
    if len(outputs) == count and not isinstance(returned, (list, dict)):
        return lambda values: returned
    return lambda values: rebuild(returned, [part(values) for part in parts])


def _never(values: Sequence[Any]) -> NoReturn:
    """After a graph that always raises, and so in code that is being traced."""
    raise Unreachable


def _take(outputs: list[Any], x: Any) -> Pack:
    index = len(outputs)
    outputs.append(x)
    return lambda values: values[index]


def _plan_maybe(returned: MaybeTensor | MaybeObject, outputs: list[Any], fn: Any) -> Pack:
    presence = returned.presence
    if presence.bound is not None:
        _check_bound(presence, fn)
    if presence.present is None:
        return plan(returned.content, outputs, fn)
    bit, content = _take(outputs, presence.present), plan(returned.content, outputs, fn)
    name = presence.name

    def pack(values: Sequence[Any]) -> Any:
        present = bit(values)
        if isinstance(present, EagerTensor):
            return content(values) if present else None
        return attach(content(values), Presence(name, None, present))

    return pack


def _plan_text(returned: str, outputs: list[Any]) -> Pack:
    """Text with tensors formatted into it gets their values."""
    template, values = Template.parse(returned)
    if not values:
        return lambda results: returned
    takes = [_take(outputs, wrap(value)) for value in values]

    def pack(results: Sequence[Any]) -> str:
        parts = [take(results) for take in takes]
        if all(isinstance(part, (EagerTensor, EagerList)) for part in parts):
            return template.render([part._array if isinstance(part, EagerTensor) else part.items for part in parts])
        inner = iter([capture(cast(Graph, current_graph()), part) for part in parts])
        return template.again(inner)

    return pack


def _plan_list(returned: StagedList, outputs: list[Any]) -> Pack:
    take = _take(outputs, *returned.__leaves__())

    def pack(values: Sequence[Any]) -> Any:
        value = take(values)
        return to_python(value.items) if isinstance(value, EagerList) else StagedList(value)

    return pack


def _plan_row(returned: Row, outputs: list[Any]) -> Pack:
    take, items = _take(outputs, returned.whole()), range(len(returned))
    return lambda values: [take(values)[i] for i in items]


def _plan_chosen(returned: Chosen, outputs: list[Any], fn: Any) -> Pack:
    """The object itself, where the index is known."""
    one_of, at = chosen_from(returned)
    take, parts = _take(outputs, at), [plan(one, outputs, fn) for one in one_of]

    def pack(values: Sequence[Any]) -> Any:
        index = take(values)
        return parts[int(index)](values) if isinstance(index, EagerTensor) else choose(
            [part(values) for part in parts], index)

    return pack


def _plan_records(returned: StagedRecords, outputs: list[Any]) -> Pack:
    columns = [plan(column, outputs) for column in returned.columns]
    structure = returned.structure

    def pack(values: Sequence[Any]) -> Any:
        lists = [column(values) for column in columns]
        if any(isinstance(column, StagedList) for column in lists):
            return StagedRecords(lists, structure)
        return [nest.pack_sequence_as(structure, row) for row in zip(*lists, strict=True)]

    return pack


def result_specs(returned: Any) -> Any:
    """The structure of a result with TensorSpecs for its tensors."""
    if isinstance(returned, (MaybeTensor, MaybeObject)):
        return result_specs(returned.content)
    if isinstance(returned, Tensor):
        return TensorSpec(returned.shape, returned.dtype)
    if hasattr(type(returned), "__leaves__"):
        return returned
    if isinstance(returned, Row):
        return [TensorSpec((), returned.dtype) for _ in range(len(returned))]
    if hasattr(type(returned), "__tensor__"):
        return TensorSpec(returned.shape, returned.dtype)
    parts = children(returned)
    return returned if parts is None else rebuild(returned, [result_specs(part) for _, part in parts])


def _check_bound(presence: Presence, fn: Any) -> None:
    graph = current_graph()
    assert graph is not None and presence.bound is not None
    before = len(graph.nodes)
    presence.check_bound()
    joined = presence.bound.value.node
    for node in graph.nodes[before:]:
        node.position = return_position(fn, presence.name) or (joined.position if joined is not None else None)


def return_position(fn: Any, name: str) -> Position | None:
    """The place of the last `return` of a function that reads the variable `name`."""
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    starts = [(start, line) for start, _, line in code.co_lines() if line is not None]
    reads: dict[int, int] = {}  # offset of the last read on each line
    found = None
    for instruction in dis.get_instructions(code):
        line = max(starts, key=lambda entry: (entry[0] <= instruction.offset, entry[0]), default=(0, 0))[1]
        held = instruction.argval
        if instruction.opname.startswith("LOAD_") and (held == name or (isinstance(held, tuple) and name in held)):
            reads[line] = instruction.offset
        elif instruction.opname == "RETURN_VALUE" and line in reads:
            found = Position(code.co_filename, line, code.co_name, code, reads[line])
    return found

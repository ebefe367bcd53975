"""Pre-existing arrays in a trace whose arrays are objects: the arguments, and others that the function changes, such as
a global's. A call copies their final contents in the graph back into the caller's arrays."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import CellType
from typing import Any

import numpy as np

from autograph.backend import Heap, scopes, variables
from runtime.core.array_mode import TraceAgain, want_objects
from runtime.core.array_promotion import of_arrays
from runtime.core.errors import StagingError
from runtime.core.graph import Graph
from runtime.core.positions import staging_error
from runtime.core.tensor import EagerTensor, GraphTensor
from runtime.core.trace import add_input
from runtime.core.types import type_of_array
from runtime.function.arguments.signature import ArrayPattern, layout_of, share_memory
from runtime.function.state.substitution import substituted
from runtime.function.state.visible_places import Visible
from runtime.numpy.array_choices import JoinedArray, owners_of
from runtime.numpy.array_layouts import Layout
from runtime.numpy.array_objects import ArrayCell, StagedArray, put_result, read_only
from runtime.numpy.array_results import as_object

__all__ = ["ArrayArguments", "put_back", "result_in"]


class ArrayArguments:
    """The array objects for a call.

    inputs     the graph inputs for the leaves of the call, with the arrays as objects
    captured   by id, the objects for pre-existing arrays found elsewhere; these may be `passed` as arguments, too
    inputs_outside   the captured arrays that are not passed, for which the graph has inputs after the leaves
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Any], names: Sequence[str], pattern: ArrayPattern,
        captured: Sequence[Any], passed: Sequence[Any],
    ) -> None:
        self.inputs = list(inputs)
        self.names = names
        self.places: list[tuple[int, ArrayCell, Any]] = []
        """The index of the leaf, or, after all leaves, of the captured array; its object; and the object's initial
        value."""
        for i, same, writeable, shared, layout in pattern:
            if same != i:
                self.inputs[i] = self.inputs[same]
                continue
            cell = self._cell(i, inputs[i], layout)
            if not writeable:
                cell.refusal = read_only
            for j in shared:
                self._refuse_writes(cell, names[i], names[j])
                self._refuse_writes(self.inputs[j], names[j], names[i])
        self.captured: dict[int, ArrayCell] = {}
        own = {id(x): i for i, x in reversed([*enumerate(passed)])}
        self.inputs_outside = [array for array in captured if id(array) not in own]
        self.captured.update((id(array), self.inputs[own[id(array)]]) for array in captured if id(array) in own)
        for k, array in enumerate(self.inputs_outside):
            self.captured[id(array)] = self._cell(
                len(inputs) + k, add_input(graph, of_arrays(type_of_array(array)), f"array_{k}"), layout_of(array))

    def _cell(self, place: int, x: GraphTensor, layout: Layout) -> ArrayCell:
        cell = ArrayCell(x, layout=layout)
        cell.born = x.graph
        self.places.append((place, cell, x.value))
        if place < len(self.inputs):
            self.inputs[place] = cell
        return cell

    @staticmethod
    def _refuse_writes(cell: ArrayCell, name: str, other: str) -> None:
        def refusal() -> Exception:
            return StagingError(
                f"the array {name!r} is changed, which may share memory with {other!r}: two views of one array are two"
                " arrays in a traced function", remedy=f"Give the function the whole array; or a copy, {name}.copy().")

        cell.refusal = refusal

    def _refuse_views(self, visible: Visible) -> None:
        """Refuse changes of captured arrays that share memory with others that the code may read."""
        arrays = visible.arrays()
        for array in self.inputs_outside:
            others = {id(x) for x in arrays if x is not array and share_memory(array, x)}
            found = next((path for (path, *_), _ in visible.holders_of(others)), None) if others else None
            if found is not None:
                own = next((path for (path, *_), _ in visible.holders_of({id(array)})), "array")
                self._refuse_writes(self.captured[id(array)], own, found)

    @contextmanager
    def counting_references(self) -> Iterator[None]:
        """Let the caller's references count while the function is traced."""
        with variables(*[CellType(cell) for _, cell, _ in self.places]):
            yield

    @contextmanager
    def substituted(self, heap: Heap) -> Iterator[None]:
        """While the function is traced, replace the captured arrays by their objects wherever the traced code can find
        them. On TraceAgain everything is restored."""
        if self.inputs_outside:
            self._refuse_views(Visible(heap))
        with substituted(heap, lambda part: self.captured.get(id(part), part)) if self.captured else nullcontext():
            try:
                with scopes(*heap.reach.scopes):
                    yield
            except TraceAgain:
                heap.restore()
                raise

    def changed(self) -> list[tuple[int, GraphTensor]]:
        """The arrays that the graph changes, by index, with their contents at the end."""
        return [(place, cell.leaf) for place, cell, before in self.places if cell.value is not before]

    def written_in(self, graph: Graph) -> bool:
        """Whether the current contents of one of the arrays are a value that this graph computes."""
        values = [cell.value for _, cell, _ in self.places]
        return any(value.graph is graph and value.node is not None for value in values)

    def aliases(self, output: Any) -> frozenset[int]:
        """The indices of the arrays whose memory an output shares."""
        owners = owners_of(output) if isinstance(output, StagedArray) else ()
        return frozenset(place for place, cell, _ in self.places if any(cell is owner for owner in owners))


def result_in(result: Any, is_array: bool, shares: Sequence[Any]) -> Any:
    """The value, in a calling trace, of a result of a traced function. `shares`: the leaves whose memory it shares if
    they are arrays."""
    objects = [owner for x in shares if isinstance(x, StagedArray) for owner in owners_of(x)]
    if objects and isinstance(result, GraphTensor):
        return JoinedArray(result, objects)
    return as_object(result) if is_array else result


def put_back(array: Any, contents: Any) -> None:
    """Copy the final contents of an array in a graph back into the array of the caller, or of an enclosing trace."""
    if isinstance(array, StagedArray):
        put_result(contents, array)
    elif isinstance(contents, EagerTensor):
        if contents._array is not array:  # else native code has put them there
            np.copyto(array, contents._array)
    else:
        raise want_objects(staging_error(
            "a traced function is called here that changes a NumPy array which was there before the trace",
            "Pass the array as an argument."), [array])


"""What each call of a traced function returns, and leaves in its arguments, made of the results of its graph."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autograph.backend import LISTS, fields_in, fill, put, refill, take_out
from runtime.backends.executable import Returned
from runtime.core.graph import Graph
from runtime.core.tensor import GraphTensor
from runtime.core.types import TensorType
from runtime.function.arguments.signature import Call
from runtime.function.results.reconstruction import Number, Part, Recipe, Values, spread, spread_items
from runtime.function.state.array_arguments import put_back
from runtime.staging.values.optional import MaybeTensor

__all__ = ["Pack", "made_natively"]


class Pack:
    """Builds the function's return value from the results of a graph: `pack(results, call)`, for each call.

    references  the arguments that the function has by reference
    uses_call   whether arguments of the call are in the result, or are changed
    arrays      the changed arrays: the index of each among the leaves and then the arrays from outside, and that of
                the output with its contents
    only_arrays whether a call, also one that raises, cannot change anything else of the caller's
    returns_arguments   whether arguments of the call are in the result
    """

    def __init__(
        self, part: Part, changes: Sequence[tuple[int, Sequence[Any], Sequence[tuple[Part, Part]]]],
        references: Sequence[Part], uses_call: bool, arrays: Sequence[tuple[int, int]] = (), only_arrays: bool = False,
    ) -> None:
        self.part, self.changes, self.references = part, changes, references
        self.arrays, self.returns_arguments = arrays, uses_call
        self.uses_call, self.only_arrays = uses_call or bool(arrays), only_arrays

    @property
    def constant(self) -> Recipe | None:
        """The recipe of what it returns, if that is the same in all calls, such as None."""
        return self.part if isinstance(self.part, Recipe) and self.part.constant else None

    def __call__(self, results: Sequence[Any], call: Call | None = None) -> Any:
        if call is None:
            return self.part(Values(results, None, ()))
        values = Values(results, call.containers, call.passed)
        for place, output in self.arrays:
            put_back(call.passed[place], results[output])
        for part in self.references:
            part(values)
        if self.changes:
            for place, before, parts in [(place, before, [(key(values), part(values)) for key, part in parts])
                                         for place, before, parts in self.changes]:
                _fill(call.containers[place], parts, before)
        return self.part(values)


def _fill(container: Any, parts: list[tuple[Any, Any]], before: Iterable[Any]) -> None:
    """Replace the parts of the caller's list, dict or set, or the attributes of an object (`before`: their names)."""
    if isinstance(container, LISTS):
        refill(container, spread(part for _, part in parts))
        return
    if isinstance(container, set):
        refill(container, [key for key, _ in parts])
        return
    parts = spread_items(parts)
    if isinstance(container, dict):
        fill(container, parts)
        return
    fields, now = fields_in(container) or {}, {name for name, _ in parts}
    for key in before:
        if key not in now and key in fields:
            take_out(container, key)
    for key, part in parts:
        put(container, key, part)


def made_natively(returned: Any, graph: Graph, pack: Pack) -> Returned | None:
    """What calls return, if that is a constant, a number, a tensor, or a tuple of tensors."""
    if pack.constant is not None:
        return Returned(0, value=pack.constant.value)
    if isinstance(pack.part, Number):
        return Returned(0, value=pack.part.tensor)
    if pack.returns_arguments:
        return None
    if _is_output(returned, graph, 0):
        return Returned(1)
    is_tuple = type(returned) is tuple and len({*map(id, returned)}) == len(returned)
    return Returned(len(returned), True) if is_tuple and all(
        [_is_output(x, graph, k) for k, x in enumerate(returned)]) else None


def _is_output(returned: Any, graph: Graph, number: int) -> bool:
    """Whether a result is a tensor, and that of output `number`."""
    if not isinstance(returned, GraphTensor) or isinstance(returned, MaybeTensor) or number >= len(graph.outputs):
        return False
    type = graph.outputs[number].type
    return isinstance(type, TensorType) and returned.type.dtype is type.dtype

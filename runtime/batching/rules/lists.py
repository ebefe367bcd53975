"""Lists: they have the same length in all lanes, and batched elements."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.batching.rules.registry import Call, Shared, Unbatched, batching, lifted
from runtime.core.tensor import GraphList
from runtime.core.trace import apply, wrap
from runtime.core.types import ListType, TensorType
from runtime.ops.gather import gather
from runtime.ops.indexing import from_end
from runtime.ops.lists import list_from_tensor, list_stack
from runtime.ops.shape import dim, moveaxis

__all__ = ["batched_type", "lifted_list"]


def batched_type(type: Any, lanes: int | None) -> Any:
    """The batched type for values of `type` in one lane."""
    if isinstance(type, ListType):
        return ListType(batched_type(type.element, lanes), type.known)
    return TensorType(type.dtype, (lanes, *type.shape), type.weak)


def lifted_list(x: Any, size: Any) -> Any:
    """A list with its elements repeated for each lane."""
    lanes = size if type(size) is int else None
    type_: ListType = x.type
    element = batched_type(type_.element, lanes)
    node = x.value.node if isinstance(x, GraphList) else None
    if node is not None and node.op.name == "list_new" and "known" not in node.params:
        return apply(node.op, *[lifted(wrap(item), size) for item in node.inputs], element=element)
    if node is not None and node.op.name == "list_reserve":
        return apply(node.op, wrap(node.inputs[0]), **{**node.params, "element": element})
    if not type_.known or None in type_.element.shape:
        raise Unbatched("a list that becomes different from lane to lane has elements of unknown shape")
    rows = list_stack(x)
    return list_from_tensor(moveaxis(lifted(rows, size), 0, 1))


def _lists(call: Call, *places: int) -> list[Any]:
    """The operands, with those at `places` batched."""
    return [x if i not in places or call.batched[i] else
            lifted_list(x, call.size) if isinstance(call.types[i], ListType) else lifted(x, call.size)
            for i, x in enumerate(call.inputs)]


def _elements(call: Call) -> dict[str, Any]:
    """The param that describes the elements, batched; empty if the op has none."""
    lanes = call.size if type(call.size) is int else None
    element = call.params.get("element")
    return {} if element is None else {"element": batched_type(element, lanes)}


def _same_place(call: Call, *places: int) -> None:
    if any(call.batched[i] for i in places):
        raise Unbatched("where it is in the list differs from lane to lane")


@batching("list_new", "list_append", "list_extend")
def _all(call: Call) -> Sequence[Any]:
    return call.apply(*_lists(call, *range(len(call.inputs))), **_elements(call))


@batching("list_cast")
def _cast(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs, **_elements(call))


@batching("list_length")
def _length(call: Call) -> Sequence[Any]:
    return [Shared(x) for x in call.apply(*call.inputs)]


@batching("list_get")
def _get(call: Call) -> Sequence[Any]:
    items, index = call.inputs
    if not call.batched[1]:
        return call.apply(items, index, **_elements(call))
    if call.params.get("strict") or None in call.types[0].element.shape:
        raise Unbatched("where it is in the list differs from lane to lane")
    rows = list_stack(items)  # [n, ...], or batched [n, lanes, ...]
    if call.batched[0]:
        rows = moveaxis(rows, 1, 0)
        return [gather(rows, from_end(index, dim(rows, 1)), axis=1, batch_dims=1)]
    return [gather(rows, from_end(index, dim(rows, 0)), axis=0)]


@batching("list_set", "list_insert")
def _set(call: Call) -> Sequence[Any]:
    _same_place(call, 1)
    return call.apply(*_lists(call, 0, 2))


@batching("list_pop", "list_slice")
def _part(call: Call) -> Sequence[Any]:
    _same_place(call, *range(1, len(call.inputs)))
    return call.apply(*call.inputs, **_elements(call))


@batching("list_stack", "list_gather")
def _stack(call: Call) -> Sequence[Any]:
    _same_place(call, *range(1, len(call.inputs)))
    return [moveaxis(x, 1, 0) for x in call.apply(*call.inputs, **_elements(call))]


@batching("list_from_tensor")
def _from_tensor(call: Call) -> Sequence[Any]:
    _same_place(call, *range(1, len(call.inputs)))
    x, *size = call.inputs
    return call.apply(moveaxis(x, 0, 1), *size)


@batching("list_scatter")
def _scatter(call: Call) -> Sequence[Any]:
    _same_place(call, 1)
    items, indices, x = _lists(call, 0, 2)
    return call.apply(items, indices, moveaxis(x, 0, 1))

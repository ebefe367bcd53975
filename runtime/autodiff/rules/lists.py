"""Rules for ops on lists: the adjoint of an update undoes it on the cotangents."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from runtime.autodiff.rules.broadcasting import filled, reshape_like
from runtime.autodiff.rules.cotangent_lists import for_each, zero_list
from runtime.autodiff.rules.gather import last_written
from runtime.autodiff.rules.registry import Applied, Update, constant, jvp, vjp
from runtime.core.op import REGISTRY
from runtime.core.trace import apply
from runtime.core.types import TensorType, int64
from runtime.ops.creation import range as range_
from runtime.ops.creation import zeros, zeros_like
from runtime.ops.indexing import getitem
from runtime.ops.lists import (
    list_append,
    list_cast,
    list_concat,
    list_extend,
    list_from_tensor,
    list_gather,
    list_get,
    list_insert,
    list_length,
    list_new,
    list_pop,
    list_reserve,
    list_scatter,
    list_set,
    list_slice,
    list_split,
    list_stack,
)
from runtime.ops.logic import less, where
from runtime.ops.math import add, cast, maximum, minimum
from runtime.ops.shape import dim

LENGTH: Final = TensorType(int64)

constant("its result is an int", "list_length")
constant("its elements are not written yet", "list_reserve")


def _list(t: Any, x: Any) -> Any:
    """A tangent or cotangent of the list x; zeros for None."""
    return zero_list(x) if t is None else t


def _count(x: Any) -> Any:
    return cast(list_length(x), int64)


def _static(x: Any) -> bool:
    """Whether all elements of a list have one known shape."""
    return None not in x.type.element.shape


# Tangents of ops that read from one list, or create one from a tensor.

@jvp("list_get", "list_pop", "list_slice", "list_stack", "list_concat", "list_gather", "list_from_tensor", "list_split",
     "list_cast")
def _linear(node: Applied, t: Any, *rest: Any) -> Sequence[Any]:
    found = apply(REGISTRY[node.name], t, *node.inputs[1:], **node.params)
    return found if isinstance(found, tuple) else [found]


@vjp("list_cast")
def _cast(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]
    if not x.type.known:
        return [zero_list(x)]
    if _static(x) or not _static(ct):
        return [list_cast(ct, x.type.element)]
    dtype = x.type.element.dtype
    return [for_each(list_length(ct), lambda i, made: list_append(made, cast(list_get(ct, i), dtype)),
                     list_reserve(0, x.type.element), x.type)]  # else unwritten elements would have no shape


# Creating lists, and adding to them.

@vjp("list_new")
def _new(node: Applied, ct: Any) -> Sequence[Any]:
    return [list_get(ct, i) if want else None for i, want in enumerate(node.wanted)]


@jvp("list_new")
def _new_tangent(node: Applied, *tangents: Any) -> Sequence[Any]:
    return [list_new([filled(t, x) for t, x in zip(tangents, node.inputs, strict=True)], node.params["element"])]


@vjp("list_append")
def _append(node: Applied, ct: Any) -> Sequence[Any]:
    return list_pop(ct)


@jvp("list_append")
def _append_tangent(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    x, item = node.inputs
    return [list_append(_list(t, x), filled(u, item))]


@vjp("list_extend")
def _extend(node: Applied, ct: Any) -> Sequence[Any]:
    x, other = node.inputs
    count = _count(x)
    return [list_slice(ct, None, count) if x.type.known else None,
            list_slice(ct, count) if other.type.known else None]


@jvp("list_extend")
def _extend_tangent(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    x, other = node.inputs
    return [list_extend(_list(t, x), _list(u, other))]


@vjp("list_insert")
def _insert(node: Applied, ct: Any) -> Sequence[Any]:
    x, index, _ = node.inputs
    count, place = _count(x), cast(index, int64)
    place = minimum(where(less(place, 0), maximum(add(place, count), 0), place), count)
    rest, item = list_pop(ct, place)
    return [rest, None, item]


@jvp("list_insert")
def _insert_tangent(node: Applied, t: Any, _: Any, u: Any) -> Sequence[Any]:
    x, index, item = node.inputs
    return [list_insert(_list(t, x), index, filled(u, item))]


# Elements.

@vjp("list_get")
def _get(node: Applied, ct: Any) -> Sequence[Any]:
    index = node.inputs[1]
    return [Update(lambda total: list_set(total, index, add(list_get(total, index), ct))), None]


@vjp("list_set")
def _set(node: Applied, ct: Any) -> Sequence[Any]:
    x, index, item = node.inputs
    strict, grow = node.params.get("strict", False), node.params.get("grow", False)
    rest = None
    if node.wanted[0] and x.type.known:
        if _static(x):
            nothing = zeros(x.type.element.shape, item.dtype)
        else:  # elements of a TensorArray are written once, so the old one had no other shape
            nothing = zeros_like(item if strict or grow else list_get(x, index))
        rest = list_set(ct, index, nothing)
        rest = list_slice(rest, None, _count(x)) if grow else rest
    return [rest, None, list_get(ct, index) if node.wanted[2] else None]


@jvp("list_set")
def _set_tangent(node: Applied, t: Any, _: Any, u: Any) -> Sequence[Any]:
    x, index, item = node.inputs
    return [list_set(_list(t, x), index, filled(u, item), **node.params)]


@vjp("list_pop")
def _pop(node: Applied, ct: Any, of_item: Any) -> Sequence[Any]:
    (_, *index), (rest, item) = node.inputs, node.outputs
    ct, of_item = _list(ct, rest), filled(of_item, item)
    if not index:
        return [list_append(ct, of_item)]
    place = cast(index[0], int64)
    return [list_insert(ct, where(less(place, 0), add(add(place, _count(rest)), 1), place), of_item), None]


@vjp("list_slice")
def _slice(node: Applied, ct: Any) -> Sequence[Any]:
    x, *bounds = node.inputs
    numbers = list_from_tensor(range_(_count(x)))
    places = list_stack(apply(REGISTRY["list_slice"], numbers, *bounds, given=node.params["given"]))
    return [Update(lambda total: _added(total, places, lambda k: list_get(ct, k))), *[None] * len(bounds)]


def _added(total: Any, places: Any, element: Callable[[Any], Any]) -> Any:
    """`total` with element(k) added at places[k], for each k."""

    def step(k: Any, total: Any) -> Any:
        place = getitem(places, k)
        return list_set(total, place, add(list_get(total, place), element(k)))

    return for_each(dim(places, 0), step, total, total.type)


@vjp("list_gather")
def _gather(node: Applied, ct: Any) -> Sequence[Any]:
    indices = node.inputs[1]
    return [Update(lambda total: _added(total, indices, lambda k: getitem(ct, k))), None]


@vjp("list_scatter")
def _scatter(node: Applied, ct: Any) -> Sequence[Any]:
    x, indices, rows = node.inputs
    rest = None
    if node.wanted[0] and x.type.known:
        shape = [dim(rows, 0, int64), *x.type.element.shape]
        rest = list_scatter(ct, indices, zeros(shape, rows.dtype) if _static(x) else zeros_like(rows))
        rest = list_slice(rest, None, _count(x)) if node.params.get("grow", False) else rest
    of_rows = list_gather(ct, indices)
    places = getitem(indices, (slice(None), None))
    return [rest, None, last_written(of_rows, [_count(node.outputs[0])], places) if node.wanted[2] else None]


@jvp("list_scatter")
def _scatter_tangent(node: Applied, t: Any, _: Any, u: Any) -> Sequence[Any]:
    x, indices, rows = node.inputs
    return [list_scatter(_list(t, x), indices, filled(u, rows), **node.params)]


# Lists and tensors.

@vjp("list_stack")
def _stack(node: Applied, ct: Any) -> Sequence[Any]:
    return [list_from_tensor(ct)]


@vjp("list_from_tensor", "list_split")
def _joined(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]
    rows = list_stack(ct) if node.name == "list_from_tensor" else list_concat(ct)
    # without rows their shape is unknown
    return [rows if None not in x.type.shape[1:] else reshape_like(rows, x), *[None] * len(node.inputs[1:])]


@vjp("list_concat")
def _concat(node: Applied, ct: Any) -> Sequence[Any]:
    x = node.inputs[0]

    def step(k: Any, lengths: Any) -> Any:
        return list_append(lengths, cast(dim(list_get(x, k), 0, int64), int64))

    lengths = list_new([], LENGTH)
    return [list_split(ct, list_stack(for_each(list_length(x), step, lengths, lengths.type)))]

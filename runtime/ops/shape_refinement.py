"""What a program says about shapes: `x.set_shape(shape)` and `ensure_shape(x, shape)`.

Code is generated for the static shape, so a statement about a shape is checked when the graph runs, unless the types
prove it. `assume_shape` is for the runtime's own functions, whose results have a shape by construction.
"""
from __future__ import annotations

from typing import Any

from runtime.core.errors import ShapeError
from runtime.core.operations import OPERATIONS
from runtime.core.positions import located
from runtime.core.refined_tensors import refine
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorShape, shape_text
from runtime.ops.checks import all_of, message, require, same
from runtime.ops.host_functions import declare_rank
from runtime.ops.shape import dims, reshape

__all__ = ["assume_shape", "ensure_shape", "refined"]


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """The tensor, with its shape refined to `shape`, where None stands for any dimension (`tf.ensure_shape`).

    ShapeError if the shapes differ, statically or when the graph runs.
    """
    value = convert_to_tensor(x, strings=True)
    wanted = TensorShape(shape)
    if wanted.rank is None:
        return value
    declare_rank(value, wanted.rank)
    return refined(value, wanted, "the tensor", "ensure_shape says", name)


def refined(x: Tensor, shape: Any, what: str, says: str, name: str | None = None) -> Tensor:
    """`x` with the shape `shape`, or a ShapeError, "`what` has the shape [4], but `says` (3,)", with the user's line:
    at once if the shapes differ statically, else when the graph runs."""
    wanted = TensorShape(shape)
    if not wanted.is_compatible_with(x.type.shape):
        raise located(ShapeError(f"{what} has the shape {shape_text(x.type.shape)}, but {says} {wanted}"))
    sizes = dims(x)
    known = [size if n is None else n for size, n in zip(sizes, wanted, strict=True)]
    fits = all_of(*[same(size, n) for size, n in zip(sizes, wanted, strict=True) if n is not None])
    require(fits, ShapeError(message(f"{what} has the shape ", sizes, f", but {says} {wanted}")))
    return x if fits is True and name is None else reshape(x, known, name)


def _set_shape(x: GraphTensor, shape: Any) -> None:
    """`x.set_shape(shape)`: from here on `x` has that shape. ValueError if it contradicts what is known, ShapeError
    when the graph runs with another. In the body of a statement it says so of that body alone."""
    wanted = TensorShape(shape)
    if wanted.rank is None:
        return
    declare_rank(x, wanted.rank)
    merged = tuple(TensorShape(x.type.shape).merge_with(wanted))
    if merged != x.type.shape:
        found = refined(x, merged, "the tensor", "set_shape says")
        assert isinstance(found, GraphTensor)
        if not x.is_object:
            refine(x, found.value)


def assume_shape(x: Any, shape: Any) -> None:
    """Tell the graph the shape of a tensor that has it by construction: nothing checks it, and code that is compiled
    for a shape that it does not have reads memory out of bounds. ValueError if it contradicts what is known."""
    if isinstance(x, GraphTensor):
        x.value.type = x.type.with_shape(tuple(TensorShape(x.type.shape).merge_with(TensorShape(shape))))


OPERATIONS.define(set_shape=_set_shape)

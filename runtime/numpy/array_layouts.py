"""Where the elements of an array lie in memory, which decides in NumPy whether a function returns a view or a copy.

A model is an array of NumPy with the shape and the strides of an array of the graph; its elements are never read. What
NumPy makes of the model shows what it makes of the array.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

__all__ = [
    "Layout", "Model", "described", "indexed", "is_in_order", "kept", "model_of", "order_of_axes", "raveled",
    "reshaped", "resolved_order"]

Layout = str | tuple[int, ...] | None
"""The order of the elements, "C" or "F"; the strides in bytes; or None if it is not known."""

Model = Any
"""An array of NumPy's."""


def described(x: Model) -> Layout:
    """The layout of an array or a model."""
    return "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else x.strides


def model_of(shape: Sequence[int | None], itemsize: int, layout: Layout) -> Model | None:
    """A model of an array; None if its sizes or its layout are not known."""
    if layout is None or None in shape:
        return None
    sizes = [1 if size is None else size for size in shape]
    strides = layout
    if isinstance(strides, str):
        found = [itemsize]
        for size in (sizes[:0:-1] if layout == "C" else sizes[:-1]):
            found.append(found[-1] * max(size, 1))
        strides = tuple(found[::-1] if layout == "C" else found)[:len(sizes)]
    element = np.empty(1, np.dtype((np.void, itemsize)))
    return np.lib.stride_tricks.as_strided(element, sizes, strides)


def reshaped(x: Model, shape: Sequence[int], order: str) -> Model | None:
    """The model of `x.reshape(shape)`, or None if that is a copy."""
    if order == "F":
        found = reshaped(x.T, shape[::-1], "C")
        return None if found is None else found.T
    if x.size < 2:  # of which only the shape matters
        return np.empty(x.shape, x.dtype).reshape(shape)
    try:
        if _CAN_REFUSE:
            return x.reshape(shape, copy=False)
        made = x.view()
        made.shape = shape
    except (AttributeError, ValueError):
        return None
    return made


_CAN_REFUSE: Final = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether NumPy's `reshape` takes `copy`."""


def raveled(x: Model, order: str) -> Model | None:
    """The model of `x.ravel()`, which is contiguous, or None if that is a copy."""
    return reshaped(x, (-1,), order) if (x.flags.f_contiguous if order == "F" else x.flags.c_contiguous) else None


def indexed(x: Model | None, index: Any) -> Model | None:
    """The model of the view at an index of ints, slices, None and Ellipsis; None if its size is not known."""
    if x is None:
        return None
    parts: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, slice) and any(
                not isinstance(n, (int, np.integer, type(None))) for n in (part.start, part.stop, part.step)):
            return None
        parts.append(part if part is None or part is Ellipsis or isinstance(part, slice) else 0)
    try:
        return x[tuple(parts if ... in parts else [*parts, ...])]  # with an ellipsis it is a view in any case
    except IndexError:
        return None


def order_of_axes(x: Model) -> list[int]:
    """The axes by the distance of their elements, the greatest first, which is the order K of NumPy."""
    return sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))


def is_in_order(x: Model) -> bool:
    """Whether a copy in the order K has the order C."""
    distances = [abs(stride) for size, stride in zip(x.shape, x.strides, strict=True) if size != 1]
    return distances == sorted(distances, reverse=True)


def kept(x: Model, order: str) -> Layout:
    """The layout of a copy in an order."""
    if order == "A":
        order = resolved_order(x, order)
    if order != "K" or is_in_order(x):
        return "F" if order == "F" else "C"
    axes = order_of_axes(x)
    copy = model_of([x.shape[axis] for axis in axes], x.itemsize, "C")
    assert copy is not None
    return described(copy.transpose([*np.argsort(axes)]))


def resolved_order(x: Model, order: str) -> str:
    """The order, C or F, of the elements that `reshape` and `ravel` mean by A, and `ravel` by K."""
    if order in ("A", "K"):
        return "F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C"
    return order

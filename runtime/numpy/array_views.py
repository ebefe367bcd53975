"""Functions of NumPy that return an array itself or a view of it in some cases, for arrays that are objects."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from runtime.core.errors import StagingError
from runtime.numpy import functions, rearranging
from runtime.numpy.array_objects import ArrayCell, ElementsView, StagedArray, read_only

__all__ = ["VIEWS", "in_order"]


def in_order(x: Any, order: str | None) -> Any:
    """An array itself if its elements have the order that is asked for, else a copy; if that is not known, what must
    not change."""
    if not isinstance(x, StagedArray) or order not in ("C", "F"):
        return x
    model = x.model
    if x.is_contiguous if order == "C" else model is not None and model.flags.f_contiguous:
        return x
    if model is not None:
        return x.copy(order)
    made = ElementsView(x, lambda elements: elements, lambda elements: elements)
    made.is_sure = False
    return made


def _real(val: StagedArray) -> Any:
    return val.real


def _diag(v: StagedArray, k: Any = 0) -> Any:
    return v.diagonal(k) if v.ndim == 2 else None


def _trim_zeros(filt: StagedArray, trim: str = "fb") -> Any:
    first, last = rearranging.without_zeros(filt, trim)
    return filt[first:last + 1]


def _copy(a: StagedArray, order: str = "K", subok: bool = False) -> Any:
    return a.copy(order)


def _nan_to_num(x: StagedArray, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if copy:
        return None
    x.write(functions.nan_to_num(x.__tensor__(), True, nan, posinf, neginf))
    return x


def _broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    found = rearranging.broadcast_arrays(*args)
    return tuple([_broadcast(x, found[0].type.shape, k, args) for k, x in enumerate(args)])


def _broadcast(x: Any, shape: Any, number: int, args: tuple[Any, ...]) -> Any:
    """One of several arrays in the shape of all of them."""
    if isinstance(x, StagedArray) and x.type.shape == shape and None not in shape:
        return x

    def read(elements: Any) -> Any:
        return rearranging.broadcast_arrays(*[elements if k == number else arg for k, arg in enumerate(args)])[number]

    if not isinstance(x, StagedArray):
        return ArrayCell(read(x), read_only)
    made = ElementsView(x, read)
    made.refusal = _several
    return made


def _several() -> StagingError:
    return StagingError(
        "an array is changed that np.broadcast_arrays has made, of which several elements may be one",
        remedy="Change a copy: b = np.broadcast_to(a, shape).copy().")


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    if len(operands) != 1 or not isinstance(subscripts, str):
        return None
    before, arrow, after = subscripts.replace(" ", "").partition("->")
    if {*before} != ({*after} if arrow else {c for c in before if before.count(c) == 1}):
        return None  # it is a sum
    return ElementsView(operands[0], lambda x: functions.einsum(subscripts, x))


VIEWS: Final[Mapping[Any, Callable[..., Any]]] = {
    np.real: _real, np.diag: _diag, np.trim_zeros: _trim_zeros, np.copy: _copy,
    np.nan_to_num: _nan_to_num, np.broadcast_arrays: _broadcast_arrays, np.einsum: _einsum}
"""What these functions return for an array; None where that is not a view."""

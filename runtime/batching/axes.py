"""Mapped axes of arguments and results: `in_axes` and `out_axes`, which are prefixes of pytrees."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core import pytree
from runtime.core.errors import ShapeError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.ops.shape import dim, moveaxis

__all__ = ["arguments_axes", "axis_size", "located", "moved_back", "prefix_axes"]

Axis = int | None


def located(error: Exception, remedy: str = "") -> Exception:
    """The error with the user's position."""
    if remedy:
        error.remedy = remedy  # type: ignore[attr-defined]
    locate(error, user_position())
    return error


def arguments_axes(in_axes: Any, args: Sequence[Any]) -> list[Axis]:
    """The mapped axis of each leaf of the arguments."""
    if not (in_axes is None or isinstance(in_axes, (int, tuple, list))) or isinstance(in_axes, bool):
        raise located(TypeError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                                f"positional arguments passed to the function, but got {in_axes!r}"))
    if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(args):
        raise located(ValueError("vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                                 f"positional arguments passed to the function, but got len(in_axes)={len(in_axes)}, "
                                 f"len(args)={len(args)}"), "Give one entry for each argument; None is not mapped.")
    each = in_axes if isinstance(in_axes, (tuple, list)) else [in_axes] * len(args)
    return [axis for i, (spec, arg) in enumerate(zip(each, args, strict=True))
            for axis in prefix_axes("in_axes", spec, arg, f"args[{i}]")]


def prefix_axes(what: str, spec: Any, tree: Any, path: str) -> list[Axis]:
    """The axis of each leaf of a structure. `spec` has axes in the same structure, or a single axis in place of a part.

    TypeError for an invalid axis, ValueError if the structures differ.
    """
    if spec is None or (isinstance(spec, int) and not isinstance(spec, bool)):
        return [spec] * len(pytree.flatten(tree))
    if not pytree.is_nested(spec):
        raise located(TypeError(f"vmap {what} has {spec!r} for {path}: an axis is an int or None"))
    if not pytree.is_nested(tree) or isinstance(spec, Mapping) is not isinstance(tree, Mapping) or len(spec) != len(
            tree) or (isinstance(spec, Mapping) and set(spec) != set(tree)):
        raise located(ValueError(
            f"vmap {what} specification must be a tree prefix of the corresponding value, got specification {spec!r} "
            f"for {path}, which is {_described(tree)}"), "Give one axis for all of it, or a structure like it.")
    pairs = [(f"{path}[{key!r}]", spec[key], tree[key]) for key in sorted(spec)] if isinstance(spec, Mapping) else [
        (f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(spec, tree, strict=True))]
    return [axis for name, a, b in pairs for axis in prefix_axes(what, a, b, name)]


def _described(tree: Any) -> str:
    if isinstance(tree, Mapping):
        return f"a {type(tree).__name__} with the keys {sorted(tree)}"
    return f"a {type(tree).__name__} of {len(tree)}" if pytree.is_nested(tree) else f"a {type(tree).__name__}"


def axis_size(xs: Sequence[Tensor], axes: Sequence[Axis], names: Sequence[str], wanted: int | None) -> Any:
    """The number of lanes: an int if it is known, else an int32 scalar. ShapeError if the arguments disagree."""
    sizes: list[tuple[Any, str]] = [] if wanted is None else [(wanted, "axis_size")]
    for x, axis, name in zip(xs, axes, names, strict=True):
        if axis is None:
            continue
        if not -x.ndim <= axis < x.ndim:
            raise located(ShapeError(
                f"vmap was requested to map its argument {name} along axis {axis}, which implies that its rank should "
                f"be at least {axis + 1 if axis >= 0 else -axis}, but is only {x.ndim} (its shape is {x.shape})"),
                "Give None as its entry of in_axes, if it is the same in all lanes.")
        sizes.append((dim(x, axis % x.ndim), f"axis {axis} of {name}, which is {x.type}"))
    if not sizes:
        raise located(ValueError("vmap must have at least one non-None value in in_axes"),
                      "Map an argument, or say how many lanes there are: axis_size=n.")
    known = [(size, what) for size, what in sizes if type(size) is int]
    for size, what in known:
        if size != known[0][0]:
            raise located(ShapeError("vmap got inconsistent sizes for array axes to be mapped: "
                                     f"{known[0][0]} of {known[0][1]}; {size} of {what}"),
                          "Map axes of one size, or give None for what is the same in all lanes.")
    return known[0][0] if known else sizes[0][0]


def moved_back(x: Tensor, axis: int, path: str) -> Tensor:
    """The tensor with its first axis moved to `axis`. ShapeError if there is no such axis."""
    if not -x.ndim <= axis < x.ndim:
        raise located(ShapeError(f"vmap out_axes has {axis} for {path}, which has, with the mapped axis, only {x.ndim} "
                                 f"axes (its shape is {x.shape})"))
    return moveaxis(x, 0, axis)

"""Shapes of graph values: tuples of dimensions, of which some may not be known."""
from __future__ import annotations

from runtime.core.errors import ShapeError

__all__ = ["Shape", "broadcast_shapes", "compatible_shapes", "join_shapes", "shape_text"]

Shape = tuple[int | None, ...]


def broadcast_shapes(*shapes: Shape, what: str = "shapes") -> Shape:
    """The shape that all of `shapes` broadcast to; an unknown dimension is assumed to fit.

    ShapeError, with `what` as the subject, if there is none.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes) and None not in first:
        return first
    out: list[int | None] = []
    for axis in range(-max(map(len, shapes)), 0):
        result: int | None = 1
        for shape in shapes:
            dim = shape[axis] if -axis <= len(shape) else 1
            if dim == result or dim == 1:
                continue
            if result == 1 or (result is None and dim is not None):
                result = dim
            elif dim is not None:
                raise ShapeError(f"{what} do not broadcast: {' and '.join(map(shape_text, shapes))}")
        out.append(result)
    return tuple(out)


def compatible_shapes(a: Shape, b: Shape) -> bool:
    """Whether some array could have both shapes."""
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def join_shapes(a: Shape, b: Shape) -> Shape | None:
    """The most specific shape that allows both, or None if the ranks differ."""
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True)) if len(a) == len(b) else None


def shape_text(shape: Shape) -> str:
    return f"[{','.join('?' if dim is None else str(dim) for dim in shape)}]"

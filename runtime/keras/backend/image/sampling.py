"""Images at other coordinates: affine, perspective and elastic transforms."""
from __future__ import annotations

import itertools
from typing import Any, Final

from keras.src.backend.config import standardize_data_format
from keras.src.random.seed_generator import draw_seed

import runtime.numpy as rnp
from runtime.core.tensor import Tensor
from runtime.keras.backend.image.colors import check_rank
from runtime.keras.backend.image.filters import gaussian_blur
from runtime.keras.backend.promotion import floating, in_dtype, result, tensor
from runtime.ops import concat_split, creation, linalg, logic, math, stateless_random
from runtime.ops import shape as shapes
from runtime.ops.gather import gather

__all__ = ["AFFINE_TRANSFORM_FILL_MODES", "AFFINE_TRANSFORM_INTERPOLATIONS", "MAP_COORDINATES_FILL_MODES",
           "affine_transform", "compute_homography_matrix", "elastic_transform", "map_coordinates",
           "perspective_transform"]

AFFINE_TRANSFORM_INTERPOLATIONS: Final = {"nearest": 0, "bilinear": 1}
MAP_COORDINATES_FILL_MODES: Final = {"constant", "nearest", "wrap", "mirror", "reflect"}
AFFINE_TRANSFORM_FILL_MODES: Final = MAP_COORDINATES_FILL_MODES


def _mirrored(place: Tensor, size: Any) -> Tensor:
    """Positions reflected at the centres of the first and the last element."""
    last = math.maximum(size - 1, 1) if isinstance(size, Tensor) else max(size - 1, 1)
    return math.abs((place + last) % (2 * last) - last) if size != 1 else place * 0


def _within(place: Tensor, size: Any, mode: str) -> Tensor:
    """The index of the element that is used for a position outside."""
    if mode == "wrap":
        return place % size  # type: ignore[no-any-return]
    if mode == "mirror":
        return _mirrored(place, size)
    if mode == "reflect":  # at the edges of the elements
        return (_mirrored(place * 2 + 1, 2 * size + 1) - 1) // 2
    return math.minimum(math.maximum(place, 0), size - 1)


def _sampled(rows: Tensor, sizes: list[Any], coordinates: list[Tensor], first: Any, order: int, mode: str, fill: Any
             ) -> Tensor:
    """Interpolate at coordinates, which have the shape of the result, in an array of the given sizes, whose elements
    are the rows of `rows` from row `first` on, in C order."""
    nodes = []
    for coordinate, size in zip(coordinates, sizes, strict=True):
        if order == 0:
            near = logic.where(coordinate >= 0, math.floor(coordinate + 0.5), math.ceil(coordinate - 0.5))
            ends: list[tuple[Tensor, Any]] = [(near, None)]
        else:
            low = math.floor(coordinate)
            ends = [(low, 1 - (coordinate - low)), (low + 1, coordinate - low)]
        nodes.append([(in_dtype(place, "int32"), weight, size) for place, weight in ends])
    total: Any = None
    rest = [1] * (rows.ndim - 1)
    for corner in itertools.product(*nodes):
        index, weight, known = in_dtype(tensor(first), "int32"), None, None
        stride: Any = 1
        for place, share, size in reversed(corner):
            index = index + _within(place, size, mode) * stride
            stride = stride * size
            weight = share if weight is None or share is None else weight * share
            inside = logic.logical_and(place >= 0, place < size)
            known = inside if known is None else logic.logical_and(known, inside)
        part = gather(rows, index)
        index_sizes = shapes.dims(index)
        if mode == "constant":
            part = logic.where(shapes.reshape(known, [*index_sizes, *rest]), part, in_dtype(fill, rows.dtype.name))
        if weight is not None:
            part = part * shapes.reshape(in_dtype(weight, rows.dtype.name), [*index_sizes, *rest])
        total = part if total is None else total + part
    return total  # type: ignore[no-any-return]


def _computed(x: Tensor) -> Tensor:
    x = floating(x)
    return in_dtype(x, result(x.dtype.name, "float32"))


def _like(found: Tensor, x: Tensor) -> Tensor:
    return in_dtype(math.rint(found) if x.dtype.is_integer else found, x.dtype.name)


def map_coordinates(inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0.0
                    ) -> Tensor:
    x, places = tensor(inputs), tensor(coordinates)
    if places.type.shape[0] != x.ndim:
        raise ValueError("First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs with "
                         f"shape: {tuple(x.shape)} and coordinate leading dim of {places.type.shape[0]}")
    if places.ndim < 2:
        raise ValueError("Invalid coordinates rank: expected at least rank 2. Received input with shape: "
                         f"{tuple(places.shape)}")
    _check_fill(fill_mode, MAP_COORDINATES_FILL_MODES, "one of")
    if order not in (0, 1):
        raise ValueError(f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}")
    wide = in_dtype(places, "float32") if places.dtype.name != "float64" else places
    found = _sampled(shapes.reshape(_computed(x), [-1]), shapes.dims(x), [wide[i] for i in range(x.ndim)], 0, order,
                     fill_mode, fill_value)
    return _like(found, x)


def _check_fill(mode: str, known: set[str], expected: str) -> None:
    if mode not in known:
        raise ValueError(f"Invalid value for argument `fill_mode`. Expected {expected} {known}. Received: "
                         f"fill_mode={mode}")


def _order(interpolation: str) -> int:
    if interpolation not in AFFINE_TRANSFORM_INTERPOLATIONS:
        raise ValueError("Invalid value for argument `interpolation`. Expected of one "
                         f"{set(AFFINE_TRANSFORM_INTERPOLATIONS)}. Received: interpolation={interpolation}")
    return AFFINE_TRANSFORM_INTERPOLATIONS[interpolation]


def _moved(x: Tensor, place: Any, order: int, mode: str, fill: Any, data_format: str) -> Tensor:
    """Images sampled where `place` maps y and x of the result: to y and x in the image, [n, h, w] each."""
    batch = x if x.ndim == 4 else x[None]
    if data_format == "channels_first":
        batch = shapes.moveaxis(batch, 1, -1)
    count, height, width, channels = shapes.dims(batch)
    down = in_dtype(creation.range(height), "float32")[:, None]
    across = in_dtype(creation.range(width), "float32")
    first = shapes.reshape(creation.range(count) * (height * width), [-1, 1, 1])
    coordinates = [shapes.broadcast_to(each, [count, height, width]) for each in place(down, across)]
    rows = shapes.reshape(_computed(batch), [-1, channels])
    found = _sampled(rows, [height, width], coordinates, first, order, mode, fill)
    if data_format == "channels_first":
        found = shapes.moveaxis(found, -1, 1)
    return _like(found if x.ndim == 4 else found[0], x)


def affine_transform(images: Any, transform: Any, interpolation: str = "bilinear", fill_mode: str = "constant",
                     fill_value: Any = 0, data_format: str | None = None) -> Tensor:
    data_format = standardize_data_format(data_format)
    order = _order(interpolation)
    _check_fill(fill_mode, AFFINE_TRANSFORM_FILL_MODES, "of one")
    x, numbers = tensor(images), in_dtype(tensor(transform), "float32")
    check_rank(x)
    if numbers.ndim not in (1, 2):
        raise ValueError("Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
                         f"Received input with shape: transform.shape={tuple(numbers.shape)}")
    if numbers.ndim == 1:
        numbers = numbers[None]
    a0, a1, a2, b0, b1, b2 = (numbers[:, i][:, None, None] for i in range(6))
    return _moved(x, lambda y, x: (b0 * x + b1 * y + b2, a0 * x + a1 * y + a2), order, fill_mode, fill_value,
                  data_format)


def perspective_transform(images: Any, start_points: Any, end_points: Any, interpolation: str = "bilinear",
                          fill_value: Any = 0, data_format: str | None = None) -> Tensor:
    data_format = standardize_data_format(data_format)
    order = _order(interpolation)
    x, start, end = tensor(images), tensor(start_points), tensor(end_points)
    check_rank(x)
    for name, points in (("start_points", start), ("end_points", end)):
        if points.ndim not in (2, 3) or tuple(points.shape)[-2:] != (4, 2):
            raise ValueError(f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                             f"Received shape: {tuple(points.shape)}")
    if tuple(start.shape) != tuple(end.shape):
        raise ValueError("start_points and end_points must have the same shape. Received start_points.shape="
                         f"{tuple(start.shape)}, end_points.shape={tuple(end.shape)}")
    start, end = (in_dtype(points if points.ndim == 3 else points[None], "float32") for points in (start, end))
    matrix = compute_homography_matrix(start, end)
    t = [matrix[:, i][:, None, None] for i in range(8)]

    def place(y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        depth = t[6] * x + t[7] * y + 1
        return (t[3] * x + t[4] * y + t[5]) / depth, (t[0] * x + t[1] * y + t[2]) / depth

    return _moved(x, place, order, "constant", fill_value, data_format)


def compute_homography_matrix(start_points: Any, end_points: Any) -> Tensor:
    """The first 8 numbers, [n, 8], of the matrices that map end points to start points, both [n, 4, 2]."""
    start, end = floating(start_points), floating(end_points)
    sx, sy, ex, ey = start[..., 0], start[..., 1], end[..., 0], end[..., 1]
    zero, one = rnp.zeros_like(ex), rnp.ones_like(ex)
    rows = [shapes.stack([ex, ey, one, zero, zero, zero, -sx * ex, -sx * ey], -1),
            shapes.stack([zero, zero, zero, ex, ey, one, -sy * ex, -sy * ey], -1)]
    found = linalg.solve(concat_split.concat(rows, 1), concat_split.concat([sx, sy], -1)[..., None])
    return found[..., 0]


def elastic_transform(images: Any, alpha: Any = 20.0, sigma: Any = 5.0, interpolation: str = "bilinear",
                      fill_mode: str = "reflect", fill_value: Any = 0.0, seed: Any = None,
                      data_format: str | None = None) -> Tensor:
    data_format = standardize_data_format(data_format)
    order = _order(interpolation)
    _check_fill(fill_mode, AFFINE_TRANSFORM_FILL_MODES, "of one")
    x = tensor(images)
    check_rank(x)
    width = float(sigma)
    size = int(6 * width) | 1
    sizes = shapes.dims(x if x.ndim == 4 else x[None])
    plane = [sizes[0], *(sizes[1:3] if data_format == "channels_last" else sizes[2:])]
    drawn = stateless_random.stateless_normal(plane, in_dtype(draw_seed(seed), "int64")) * width
    noise = shapes.stack([drawn, drawn], -1)  # Keras draws both directions with one seed on TensorFlow
    blurred = gaussian_blur(noise, (size, size), (width, width), "channels_last") * in_dtype(
        alpha if isinstance(alpha, (int, float)) else tensor(alpha), "float32")
    return _moved(x, lambda y, x: (y + blurred[..., 1], x + blurred[..., 0]), order, fill_mode, fill_value,
                  data_format)

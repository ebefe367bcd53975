"""Convolutions, as derivatives of one sum.

For images x [n, *sizes, c], filters [*window, c / groups, f] and y [n, *counts, f], let

    S = sum of x[n, p * stride + k * dilation - before, c] * filters[k, c, f] * y[n, p, f]

over all indices of filters and y, where x is 0 beyond its ends (times inf, such a 0 is NaN). Filters that take fewer
channels than x has are for groups of channels: the g-th part of the features is computed from the g-th group. `conv` is
the derivative of S with respect to y, `conv_input` that with respect to x (a transposed convolution, which adds nothing
beyond the ends of y), and `conv_filters` that with respect to the filters. So a gradient of any of the three is one of
the other two, to any order. All three take the same params; "SAME" `padding` refers to the sizes of x.

The order of summation is unspecified; float16 is accumulated in float32.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.op import Errors, Op, Sample
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import Shape, TensorType, shape_text
from runtime.ops import sliding_windows
from runtime.ops.op_makers import FLOATS, apply_one, check_dtype, named, random_array
from runtime.ops.shape import dims, numbers, product, reshape, shape_argument
from runtime.ops.sliding_windows import Padding, Plan, located

__all__ = [
    "atrous_conv2d", "conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "conv_transpose", "convolution", "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input", "separable_conv2d",
]


# The shapes.

def _related(x: Shape, filters: Shape, out: Shape | None, *, strides: tuple[int, ...], padding: Padding,
             dilations: tuple[int, ...]) -> tuple[Shape, Shape, Shape]:
    """The shapes of x, filters and y, each completed from the others. ShapeError if they are inconsistent."""
    rank = len(strides)
    if len(x) != rank + 2 or len(filters) != rank + 2 or (out is not None and len(out) != rank + 2):
        raise ShapeError(f"a convolution along {rank} axes takes tensors of rank {rank + 2}, not {shape_text(x)} "
                         f"and filters {shape_text(filters)}")
    if any(size is not None and size < 0 for size in (*x, *filters)):
        raise ShapeError(f"a convolution takes sizes of at least 0, not {shape_text(x)} and {shape_text(filters)}")
    out = out or (None,) * (rank + 2)
    channels, taken = x[-1], filters[-2]
    features = out[-1] if filters[-1] is None else filters[-1]
    if channels is not None and taken is not None:
        groups = max(channels // max(taken, 1), 1)
        if channels != taken * groups:
            raise ShapeError(f"{shape_text(x)} has {channels} channels, but filters {shape_text(filters)} take {taken}")
        if features is not None and features % groups:
            raise ShapeError(f"{features} features do not divide into {groups} groups: filters {shape_text(filters)} "
                             f"take {taken} of {channels} channels")
    counts = sliding_windows.window_counts(x[1:-1], filters[:-2], strides, dilations, padding)
    for what, a, c in (("batch sizes", x[:1], out[:1]), ("features", filters[-1:], out[-1:]),
                       ("numbers of windows", counts, out[1:-1])):
        if not t.compatible_shapes(a, c):
            raise ShapeError(f"the {what} of a convolution from {shape_text(x)} with filters {shape_text(filters)} to "
                             f"{shape_text(out)} differ: {_numbers(a)} and {_numbers(c)}")
    return ((out[0] if x[0] is None else x[0], *x[1:]), (*filters[:-1], features),
            (x[0] if out[0] is None else out[0],
             *[b if a is None else a for a, b in zip(counts, out[1:-1], strict=True)], features))


def _numbers(sizes: Shape) -> str:
    return shape_text(sizes) if len(sizes) > 1 else str(sizes[0])


def _checked(*xs: TensorType) -> None:
    if xs[0].dtype is not xs[1].dtype:
        raise DTypeError(f"a convolution takes operands of one dtype, not {xs[0].dtype.name} and {xs[1].dtype.name}")
    check_dtype("a convolution", xs[0].dtype, FLOATS)


def _errors(node: Any) -> Errors:
    """No errors if all shapes are known."""
    known = all(None not in value.type.shape for value in node.operands)
    return () if known and len(node.operands) == 2 else (ShapeError,)


# The kernels.

class _Run:
    """A convolution of known shapes: the common part of the three kernels."""

    def __init__(self, x: Shape, filters: Shape, out: Shape | None, dtype: Any, *, strides: tuple[int, ...],
                 padding: Padding, dilations: tuple[int, ...]) -> None:
        shapes = _related(x, filters, out, strides=strides, padding=padding, dilations=dilations)
        self.x, self.filters, self.out = (tuple(int(d or 0) for d in shape) for shape in shapes)
        self.strides, self.dilations = strides, dilations
        self.groups = max(self.x[-1] // max(self.filters[-2], 1), 1)
        self.window = self.filters[:-2]
        self.before, self.after = zip(*[
            sliding_windows.bounds(size, window, stride, dilation, padding, axis) for axis, (size, window, stride,
                                                                                             dilation)
            in enumerate(zip(self.x[1:-1], self.window, strides, dilations, strict=True))], strict=True)
        self.dtype = dtype
        self.sums = np.dtype(np.float32 if dtype == np.float16 else dtype)
        # products within a group are a matrix product, unless a group is a single channel
        self.by_matrix = self.groups == 1 or self.filters[-2] > 1

    def padded(self, x: Any) -> Any:
        """x padded with zeros."""
        if not any(self.before) and not any(self.after):
            return x.astype(self.sums, copy=False)
        result = np.zeros(self.padded_shape, self.sums)
        result[self.within] = x
        return result

    @property
    def padded_shape(self) -> tuple[int, ...]:
        sizes = [a + b + c for a, b, c in zip(self.before, self.x[1:-1], self.after, strict=True)]
        return (self.x[0], *sizes, self.x[-1])

    @property
    def within(self) -> tuple[slice, ...]:
        """The index of x in the padded array."""
        return (slice(None), *[slice(a, a + b) for a, b in zip(self.before, self.x[1:-1], strict=True)])

    def view(self, padded: Any) -> Any:
        return sliding_windows.view(padded, self.out[1:-1], self.window, self.strides, self.dilations)

    def blocks(self) -> Iterable[tuple[slice, slice]]:
        """Parts of y whose windows approximately fit into the cache."""
        taken = int(np.prod(self.out[2:-1])) * int(np.prod(self.window)) * self.x[-1] * self.sums.itemsize
        return sliding_windows.blocks(self.out[0], self.out[1], taken)

    def parts(self) -> Iterable[tuple[Any, Any]]:
        """Each group's channels and features, as indices of the last axis."""
        channels, features = self.filters[-2], self.out[-1] // self.groups
        for g in range(self.groups):
            yield (..., slice(g * channels, (g + 1) * channels)), (..., slice(g * features, (g + 1) * features))

    def each(self) -> Iterable[tuple[Any, Any]]:
        """The positions in a window: as indices into the view of windows, and into the filters."""
        for place in np.ndindex(self.window):
            yield (slice(None),) * (len(self.window) + 1) + place, place

    def by_channel(self, x: Any) -> Any:
        """Features grouped by their channel."""
        return x.reshape(*x.shape[:-1], self.x[-1], self.out[-1] // max(self.x[-1], 1))


def _matrix(x: Any) -> Any:
    """A matrix whose rows are the last axis, with all other axes flattened."""
    return x.reshape(-1, x.shape[-1])


def _conv_kernel(x: Any, filters: Any, **params: Any) -> Any:
    run = _Run(x.shape, filters.shape, None, x.dtype, **params)
    view, w = run.view(run.padded(x)), filters.astype(run.sums, copy=False)
    y = np.zeros(run.out, run.sums)
    if not y.size or not x.size:
        pass
    elif run.by_matrix:
        for at in run.blocks():
            for channels, features in run.parts():
                matrix, target = _matrix(w[features]), y[at][features]
                rows = view[at][channels].reshape(-1, len(matrix))
                if run.groups == 1:
                    np.matmul(rows, matrix, out=_matrix(target))
                else:
                    target[...] = (rows @ matrix).reshape(target.shape)
    else:
        target = run.by_channel(y)
        for at, place in run.each():
            target += view[at][..., None] * w[place].reshape(target.shape[-2:])
    return y.astype(run.dtype, copy=False)


def _conv_input_kernel(filters: Any, y: Any, *sizes: Any, dims: Shape, **params: Any) -> Any:
    run = _Run(_shape_in_kernel(dims, sizes), filters.shape, y.shape, y.dtype, **params)
    w, y = filters.astype(run.sums, copy=False), y.astype(run.sums, copy=False)
    x = np.zeros(run.padded_shape, run.sums)
    view = run.view(x)
    if not y.size or not x.size:
        pass
    elif run.by_matrix:
        for at in run.blocks():
            for channels, features in run.parts():
                target = view[at][channels]
                part = (_matrix(y[at][features]) @ _matrix(w[features]).T).reshape(target.shape)
                for place, _ in run.each():
                    target[place] += part[place]
    else:
        source = run.by_channel(y)
        for at, place in run.each():
            view[at] += (source * w[place].reshape(source.shape[-2:])).sum(-1)
    return np.ascontiguousarray(x[run.within]).astype(run.dtype, copy=False)


def _conv_filters_kernel(x: Any, y: Any, *sizes: Any, dims: Shape, **params: Any) -> Any:
    run = _Run(x.shape, _shape_in_kernel(dims, sizes), y.shape, x.dtype, **params)
    view, y = run.view(run.padded(x)), y.astype(run.sums, copy=False)
    w = np.zeros(run.filters, run.sums)
    if not y.size or not x.size:
        pass
    elif run.by_matrix:
        for at in run.blocks():
            for channels, features in run.parts():
                target = w[features]
                source = _matrix(y[at][features])
                part = view[at][channels].reshape(len(source), -1)
                target += (part.T @ source).reshape(target.shape)
    else:
        source = run.by_channel(y)
        axes = tuple(range(y.ndim - 1))
        for at, place in run.each():
            w[place] = (view[at][..., None] * source).sum(axes).reshape(w[place].shape)
    return w.astype(run.dtype, copy=False)


def _shape_in_kernel(dims: Shape, operand: Sequence[Any]) -> Shape:
    """A shape in a kernel: that of the operand, if there is one."""
    return tuple(operand[0].tolist()) if operand else dims


# The records.

def _conv_rule(x: TensorType, filters: TensorType, **params: Any) -> TensorType:
    _checked(x, filters)
    return TensorType(x.dtype, _related(x.shape, filters.shape, None, **params)[2])


def _conv_input_rule(filters: TensorType, y: TensorType, *sizes: TensorType, dims: Shape, **params: Any) -> TensorType:
    _checked(filters, y)
    return TensorType(y.dtype, _related(_asked(dims, sizes), filters.shape, y.shape, **params)[0])


def _conv_filters_rule(x: TensorType, y: TensorType, *sizes: TensorType, dims: Shape, **params: Any) -> TensorType:
    _checked(x, y)
    return TensorType(x.dtype, _related(x.shape, _asked(dims, sizes), y.shape, **params)[1])


def _asked(dims: Shape, operand: Sequence[TensorType]) -> Shape:
    if operand and (operand[0].ndim != 1 or not operand[0].dtype.is_integer
                    or operand[0].shape[0] not in (None, len(dims))):
        raise ShapeError(f"a shape of {len(dims)} sizes is an int tensor of as many elements, not {operand[0]}")
    return dims


_CASES: Final[tuple[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]], ...]] = (
    ((2, 5, 3), (3, 3, 4), {"strides": (1,), "padding": "VALID"}),
    ((2, 6, 2), (2, 2, 3), {"strides": (3,), "padding": ((2, 1),)}),
    ((2, 5, 6, 3), (3, 3, 3, 4), {"strides": (1, 1), "padding": "SAME"}),
    ((1, 6, 5, 2), (3, 2, 2, 3), {"strides": (2, 3), "padding": "SAME"}),
    ((1, 7, 8, 2), (2, 3, 2, 1), {"strides": (1, 2), "padding": ((1, 0), (2, 3)), "dilations": (3, 2)}),
    ((2, 5, 4, 6), (2, 2, 2, 9), {"strides": (1, 1), "padding": "SAME"}),
    ((2, 5, 4, 3), (3, 3, 1, 3), {"strides": (2, 1), "padding": "SAME"}),
    ((1, 4, 5, 2), (2, 3, 1, 6), {"strides": (1, 2), "padding": "VALID", "dilations": (2, 1)}),
    ((1, 4, 3, 5, 2), (2, 3, 2, 2, 3), {"strides": (1, 1, 2), "padding": "SAME"}),
    ((1, 2, 2, 1), (3, 3, 1, 1), {"strides": (1, 1), "padding": "VALID"}),  # no window fits
    ((0, 3, 3, 2), (2, 2, 2, 3), {"strides": (1, 1), "padding": "SAME"}),
    ((2, 3, 3, 2), (1, 1, 2, 0), {"strides": (1, 1), "padding": "VALID"}),
)


def _cases(rng: np.random.Generator) -> Iterable[tuple[Any, Any, Any, dict[str, Any]]]:
    """Images, filters, and a y of the resulting shape."""
    for x, filters, options in _CASES:
        params = {"dilations": (1,) * len(options["strides"]), **options}
        _, _, out = _related(x, filters, None, **params)
        for dtype in FLOATS if x == (2, 5, 6, 3) else (t.float32,):
            yield (*(random_array(rng, dtype, shape, -1, 1) for shape in (x, filters, out)), params)  # type: ignore[arg-type]


def _asking(sample: tuple[Any, Any], shape: tuple[int, ...], params: dict[str, Any]) -> Iterable[Sample]:
    """Samples whose params give the shape of the result, or only its first size."""
    yield sample, {"dims": shape, **params}
    if sample[0].dtype == np.float32 and params["padding"] == "SAME":
        yield (*sample, np.array(shape, np.int32)), {"dims": (shape[0], *[None] * (len(shape) - 1)), **params}


CONV: Final = Op(
    "conv", _conv_kernel, _conv_rule, agree=slice(0, 2), errors=_errors,
    samples=lambda rng: (((x, w), params) for x, w, _, params in _cases(rng)),
    doc="Images [n, *sizes, c] convolved with filters [*window, c / groups, f]: [n, *counts, f].")
CONV_INPUT: Final = Op(
    "conv_input", _conv_input_kernel, _conv_input_rule, agree=slice(0, 2), errors=_errors,
    samples=lambda rng: (s for x, w, y, params in _cases(rng) for s in _asking((w, y), x.shape, params)),
    doc="The gradient of `conv` by its images, whose known dims are `dims`; if one is None, the last operand has all.")
CONV_FILTERS: Final = Op(
    "conv_filters", _conv_filters_kernel, _conv_filters_rule, agree=slice(0, 2), errors=_errors,
    samples=lambda rng: (s for x, w, y, params in _cases(rng) for s in _asking((x, y), w.shape, params)),
    doc="The gradient of `conv` by its filters, whose shape is `dims`, as in conv_input.")


# Convolutions.

@located
def _convolved(op: str, rank: int, input: Any, filters: Any, strides: Any, padding: Any, data_format: str | None,
               dilations: Any, name: str | None) -> Tensor:
    images = sliding_windows.tensor(op, "images", input, rank, more=True)
    w = sliding_windows.tensor(op, "filters", filters, rank, hint=images.dtype)
    plan = sliding_windows.plan(op, rank, strides, padding, data_format, dilations)
    x, leading = plan.inward(images)
    y = apply_one(CONV, x, w, **plan.params)
    return named(plan.outward(y, leading), name)


def conv1d(input: Any, filters: Any, stride: Any, padding: Any, data_format: str = "NWC", dilations: Any = None,
           name: str | None = None) -> Tensor:
    """As `conv2d`, along one axis (`tf.nn.conv1d`): [..., w, c] by [window, c, f]; data_format "NWC" or "NCW"."""
    return _convolved("conv1d", 1, input, filters, stride, padding, data_format, dilations, name)


def conv2d(input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = None,
           name: str | None = None) -> Tensor:
    """Images [..., h, w, c] convolved with filters [window h, window w, c, f]: [..., h', w', f] (`tf.nn.conv2d`).

    As in TF nothing is flipped (a cross-correlation), and filters that take c / g channels are g groups of filters.
    strides, dilations: a number, or a list of 1, 2 or 4. padding: "SAME", "VALID" (see `runtime.ops.sliding_windows`),
    or a pair (before, after) for each axis of the input. data_format: "NHWC", or "NCHW": [..., c, h, w] to [..., f, h',
    w']. float16, float32 and float64; products of float16 are accumulated in float32. ShapeError, InvalidArgumentError.
    """
    return _convolved("conv2d", 2, input, filters, strides, padding, data_format, dilations, name)


def conv3d(input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NDHWC", dilations: Any = None,
           name: str | None = None) -> Tensor:
    """As `conv2d`, along three axes (`tf.nn.conv3d`): [..., d, h, w, c] by [window d, h, w, c, f]; data_format "NDHWC"
    or "NCDHW".
    """
    return _convolved("conv3d", 3, input, filters, strides, padding, data_format, dilations, name)


def convolution(input: Any, filters: Any, strides: Any = None, padding: Any = "VALID", data_format: str | None = None,
                dilations: Any = None, name: str | None = None) -> Tensor:
    """`conv1d`, `conv2d` or `conv3d`, by the rank of the filters (`tf.nn.convolution`)."""
    w = convert_to_tensor(filters, dtype_hint=t.float32)
    return _convolved("convolution", w.ndim - 2, input, w, 1 if strides is None else strides, padding, data_format,
                      dilations, name)


def _depthwise(op: str, filter: Tensor, channels: Any) -> Tensor:
    """Filters [h, w, c, m] reshaped to those of c groups, for images with `channels`."""
    h, w, own, many = dims(filter)
    if isinstance(own, int) and isinstance(channels, int) and own != channels:
        raise ShapeError(f"{op}: {channels} channels of the images differ from the {own} of the filters")
    return reshape(filter, [h, w, 1, product([channels, many])])


@located
def depthwise_conv2d(input: Any, filter: Any, strides: Any, padding: Any, data_format: str | None = None,
                     dilations: Any = None, name: str | None = None) -> Tensor:
    """Each channel of images [..., h, w, c] convolved by itself with filters [window h, window w, c, m]: [..., h', w',
    c * m], where feature q * m + r is channel q by filter r (`tf.nn.depthwise_conv2d`). For the rest see `conv2d`.
    """
    op = "depthwise_conv2d"
    images = sliding_windows.tensor(op, "images", input, 2, more=True)
    plan = sliding_windows.plan(op, 2, strides, padding, data_format, dilations)
    x, leading = plan.inward(images)
    w = _depthwise(op, sliding_windows.tensor(op, "filters", filter, 2, hint=x.dtype), dims(x)[-1])
    return named(plan.outward(apply_one(CONV, x, w, **plan.params), leading), name)


def separable_conv2d(input: Any, depthwise_filter: Any, pointwise_filter: Any, strides: Any, padding: Any,
                     data_format: str | None = None, dilations: Any = None, name: str | None = None) -> Tensor:
    """`depthwise_conv2d`, followed by `conv2d` with filters [1, 1, c * m, f] (`tf.nn.separable_conv2d`)."""
    each = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(each, pointwise_filter, 1, "VALID", data_format or "NHWC", name=name)


# Transposed convolutions, which are the gradients.

@located
def _transposed(op: str, rank: int, input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any,
                data_format: str | None, dilations: Any, name: str | None) -> Tensor:
    images = sliding_windows.tensor(op, "images", input, rank)
    w = sliding_windows.tensor(op, "filters", filters, rank, hint=images.dtype)
    plan = sliding_windows.plan(op, rank, strides, padding, data_format, dilations)
    y, _ = plan.inward(images)
    sizes = numbers(f"the output_shape of {op}", output_shape)
    if len(sizes) == rank:  # only the spatial sizes, which TF accepts, too
        wanted = [dims(y)[0], *sizes, dims(w)[-2]]
    elif len(sizes) == rank + 2:
        wanted = plan.ordered(sizes)
    else:
        raise ShapeError(f"{op} takes an output_shape of {rank + 2} sizes, or of {rank}, not {len(sizes)}")
    return named(plan.outward(_sized(CONV_INPUT, w, y, wanted, plan), []), name)


def _sized(gradient: Op, a: Tensor, b: Tensor, sizes: Sequence[Any], plan: Plan) -> Tensor:
    """A gradient op whose result has this shape, known or not."""
    known, operand = shape_argument(plan.op, sizes)
    operands = () if operand is None else (operand,)
    return apply_one(gradient, a, b, *operands, dims=known, **plan.params)


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: Any, name: str | None = None) -> Tensor:
    """A `conv2d` of dilated filters (`tf.nn.atrous_conv2d`)."""
    return _convolved("atrous_conv2d", 2, value, filters, 1, padding, "NHWC", rate, name)


def conv1d_transpose(input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
                     data_format: str = "NWC", dilations: Any = None, name: str | None = None) -> Tensor:
    """As `conv2d_transpose`, along one axis (`tf.nn.conv1d_transpose`)."""
    return _transposed("conv1d_transpose", 1, input, filters, output_shape, strides, padding, data_format, dilations,
                       name)


def conv2d_transpose(input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
                     data_format: str = "NHWC", dilations: Any = None, name: str | None = None) -> Tensor:
    """The gradient with respect to the images of a `conv2d` from `output_shape` to the shape of `input`
    (`tf.nn.conv2d_transpose`).

    input: [n, h', w', f], filters: [window h, window w, c, f], output_shape: [n, h, w, c] or [h, w]; strides, padding,
    data_format and dilations are those of that conv2d. ShapeError if it has no such result.
    """
    return _transposed("conv2d_transpose", 2, input, filters, output_shape, strides, padding, data_format, dilations,
                       name)


def conv3d_transpose(input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
                     data_format: str = "NDHWC", dilations: Any = None, name: str | None = None) -> Tensor:
    """As `conv2d_transpose`, along three axes (`tf.nn.conv3d_transpose`)."""
    return _transposed("conv3d_transpose", 3, input, filters, output_shape, strides, padding, data_format, dilations,
                       name)


def conv_transpose(input: Any, filters: Any, output_shape: Any, strides: Any, padding: Any = "SAME",
                   data_format: str | None = None, dilations: Any = None, name: str | None = None) -> Tensor:
    """`conv1d_transpose` to `conv3d_transpose`, by the rank of the filters (`tf.nn.conv_transpose`)."""
    w = convert_to_tensor(filters, dtype_hint=t.float32)
    return _transposed("conv_transpose", w.ndim - 2, input, w, output_shape, strides, padding, data_format, dilations,
                       name)


@located
def conv2d_backprop_input(input_sizes: Any, filters: Any, out_backprop: Any, strides: Any, padding: Any,
                          data_format: str = "NHWC", dilations: Any = None, name: str | None = None) -> Tensor:
    """The gradient of a `conv2d` with respect to its images, of shape `input_sizes`, given the loss's gradient
    `out_backprop` with respect to its result (`tf.compat.v1.nn.conv2d_backprop_input`).
    """
    op = "conv2d_backprop_input"
    w = sliding_windows.tensor(op, "filters", filters, 2)
    plan = sliding_windows.plan(op, 2, strides, padding, data_format, dilations)
    y, _ = plan.inward(sliding_windows.tensor(op, "gradients", out_backprop, 2, hint=w.dtype))
    sizes = plan.ordered(_shape(op, input_sizes))
    return named(plan.outward(_sized(CONV_INPUT, w, y, sizes, plan), []), name)


@located
def conv2d_backprop_filter(input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any,
                           data_format: str = "NHWC", dilations: Any = None, name: str | None = None) -> Tensor:
    """The gradient of a `conv2d` with respect to its filters, of shape `filter_sizes`, given the loss's gradient
    `out_backprop` with respect to its result (`tf.compat.v1.nn.conv2d_backprop_filter`).
    """
    op = "conv2d_backprop_filter"
    plan = sliding_windows.plan(op, 2, strides, padding, data_format, dilations)
    x, _ = plan.inward(sliding_windows.tensor(op, "images", input, 2))
    y, _ = plan.inward(sliding_windows.tensor(op, "gradients", out_backprop, 2, hint=x.dtype))
    sizes = _shape(op, filter_sizes)
    return named(_sized(CONV_FILTERS, x, y, sizes, plan), name)


@located
def depthwise_conv2d_backprop_input(input_sizes: Any, filter: Any, out_backprop: Any, strides: Any, padding: Any,
                                    data_format: str = "NHWC", dilations: Any = None, name: str | None = None
                                    ) -> Tensor:
    """As `conv2d_backprop_input`, for `depthwise_conv2d` (`tf.nn.depthwise_conv2d_backprop_input`)."""
    op = "depthwise_conv2d_backprop_input"
    plan = sliding_windows.plan(op, 2, strides, padding, data_format, dilations)
    sizes = plan.ordered(_shape(op, input_sizes))
    w = _depthwise(op, sliding_windows.tensor(op, "filters", filter, 2), sizes[-1])
    y, _ = plan.inward(sliding_windows.tensor(op, "gradients", out_backprop, 2, hint=w.dtype))
    return named(plan.outward(_sized(CONV_INPUT, w, y, sizes, plan), []), name)


@located
def depthwise_conv2d_backprop_filter(input: Any, filter_sizes: Any, out_backprop: Any, strides: Any, padding: Any,
                                     data_format: str = "NHWC", dilations: Any = None, name: str | None = None
                                     ) -> Tensor:
    """As `conv2d_backprop_filter`, for `depthwise_conv2d` (`tf.nn.depthwise_conv2d_backprop_filter`)."""
    op = "depthwise_conv2d_backprop_filter"
    plan = sliding_windows.plan(op, 2, strides, padding, data_format, dilations)
    x, _ = plan.inward(sliding_windows.tensor(op, "images", input, 2))
    y, _ = plan.inward(sliding_windows.tensor(op, "gradients", out_backprop, 2, hint=x.dtype))
    h, w, channels, many = _shape(op, filter_sizes)
    have = dims(x)[-1]
    if isinstance(have, int) and isinstance(channels, int) and have != channels:
        raise ShapeError(f"{op}: {have} channels of the images differ from the {channels} of the filters")
    flat = _sized(CONV_FILTERS, x, y, [h, w, 1, product([have, many])], plan)
    return reshape(flat, [h, w, channels, many], name)


def _shape(op: str, sizes: Any) -> list[Any]:
    found = numbers(f"the shape given to {op}", sizes)
    if len(found) != 4:
        raise ShapeError(f"{op} takes a shape of 4 sizes, not {len(found)}")
    return found

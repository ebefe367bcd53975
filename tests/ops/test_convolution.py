"""Convolution and pooling: what they are, that they are each other's derivatives, and both executors on real sizes."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_checks import check_forgetting, check_kernel, samples
from op_ways import check, eager, i32, staged

import runtime as rt
from runtime import errors
from runtime.core.op import REGISTRY
from runtime.core.trace import apply
from runtime.ops import sliding_windows

RNG = np.random.default_rng(5)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.uniform(-1, 1, shape).astype(dtype)


# The definition, element by element.

def terms(x: tuple[int, ...], filters: tuple[int, ...], out: tuple[int, ...], strides: Any, padding: Any,
          dilations: Any) -> Any:
    """The indices of all products of the sum in `runtime.ops.convolution`."""
    groups = x[-1] // max(filters[-2], 1)
    before = [sliding_windows.bounds(x[a + 1], filters[a], strides[a], dilations[a], padding, a)[0]
              for a in range(len(strides))]
    channels, features = filters[-2], out[-1] // groups
    for place in np.ndindex(out[:-1]):
        for tap in np.ndindex(filters[:-2]):
            at = [p * s + k * d - low for p, s, k, d, low in zip(place[1:], strides, tap, dilations, before)]
            if all(0 <= i < size for i, size in zip(at, x[1:-1])):
                for f, c in itertools.product(range(out[-1]), range(channels)):
                    yield (place[0], *at, f // features * channels + c), (*tap, c, f), (*place, f)


@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_filters"])
def test_the_kernels_are_the_sum(name: str) -> None:
    seen = 0
    for arguments, params in samples(REGISTRY[name]):
        if arguments[0].dtype != np.float32:
            continue
        got = REGISTRY[name].kernel(*arguments, **params)
        params = {key: value for key, value in params.items() if key != "dims"}
        a, b = (x.astype("f8") for x in arguments[:2])
        roles = {"conv": (a, b, None), "conv_input": (None, a, b), "conv_filters": (a, None, b)}[name]
        want = np.zeros(got.shape)
        shapes = [want.shape if x is None else x.shape for x in roles]
        for indices in terms(*shapes, **params):
            first, second = [x[i] for x, i in zip(roles, indices) if x is not None]
            want[indices[[x is None for x in roles].index(True)]] += first * second
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
        seen += bool(want.size)
    assert seen >= 9


@pytest.mark.parametrize("seed", range(40))
def test_rules_and_kernels_agree_on_random_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))

    def some(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(low, high, rank))

    window, groups, taken = some(1, 5), int(rng.integers(1, 4)), int(rng.integers(1, 3))
    x = array(int(rng.integers(0, 3)), *some(4, 12), groups * taken)
    w = array(*window, taken, groups * int(rng.integers(1, 4)))
    paddings = ["SAME", "VALID", tuple(zip(some(0, 3), some(0, 3)))]
    params = {"strides": some(1, 4), "padding": paddings[seed % 3], "dilations": some(1, 3)}
    if params["padding"] == "VALID":
        params["dilations"] = (1,) * rank
    y = array(*REGISTRY["conv"].kernel(x, w, **params).shape)
    shapes = {"conv": ((x, w), {}), "conv_input": ((w, y), {"dims": x.shape}), "conv_filters": (
        (x, y), {"dims": w.shape})}
    for name, (arguments, more) in shapes.items():
        for check_op in (check_kernel, check_forgetting):
            check_op(REGISTRY[name], (arguments, {**params, **more}))
    if isinstance(params["padding"], str) or all(max(pair) < k for pair, k in zip(params["padding"], window)):
        for name in ("max_pool", "max_pool_argmax"):
            for check_op in (check_kernel, check_forgetting):
                check_op(REGISTRY[name], ((x,), {"window": window, "strides": params["strides"],
                                                 "padding": params["padding"]}))


@pytest.mark.parametrize(("size", "window", "stride", "want"), [
    (4, 3, 2, [6, 7]), (5, 3, 2, [3, 9, 9]), (4, 2, 1, [3, 5, 7, 4]), (5, 1, 3, [1, 4]), (5, 4, 3, [6, 12]),
    (3, 5, 1, [6, 6, 6]), (7, 2, 4, [3, 11]),
])
def test_same_pads_as_tensorflow(size: int, window: int, stride: int, want: list[int]) -> None:
    """The figures are TensorFlow's: of sums over windows of 1, 2, 3, ..."""
    x = np.arange(1, size + 1, dtype=np.float32).reshape(1, size, 1)
    got = rt.nn.conv1d(x, rt.ones([window, 1, 1]), stride, "SAME")
    assert got.numpy().reshape(-1).tolist() == want


@pytest.mark.parametrize("name", ["max_pool", "max_pool_argmax"])
def test_the_kernels_take_the_greatest(name: str) -> None:
    for (x,), params in samples(REGISTRY[name]):
        got = REGISTRY[name].kernel(x, **params)
        window, strides, padding = params["window"], params["strides"], params["padding"]
        for place in np.ndindex(got.shape):
            part, offset = x[place[0], ..., place[-1]], []
            for axis, k in enumerate(place[1:-1]):
                low = sliding_windows.bounds(x.shape[axis + 1], window[axis], strides[axis], 1, padding, axis)[0]
                start = k * strides[axis] - low
                offset.append(max(start, 0))
                part = part[(slice(None),) * axis + (slice(max(start, 0), max(start + window[axis], 0)),)]
            if name == "max_pool":
                np.testing.assert_array_equal(got[place], part.max())
            else:
                inner = np.unravel_index(part.argmax(), part.shape)
                index = np.ravel_multi_index([*np.add(inner, offset), place[-1]], x.shape[1:])
                assert got[place] == index


# Derivatives. Each of the three is linear in each of its operands, so that a difference quotient is exact but for
# rounding. `tf.GradientTape` is not there yet; what it would give is in `gradients`.

def gradients(name: str, arguments: list[Any], ct: Any, params: dict[str, Any]) -> list[Any]:
    """Of sum(op(*arguments) * ct), by each argument: each by another op of the three."""
    a, b = arguments
    params = {key: value for key, value in params.items() if key != "dims"}
    x, w, y = {"conv": (a, b, ct), "conv_input": (ct, a, b), "conv_filters": (a, ct, b)}[name]
    by_x = lambda: apply(REGISTRY["conv_input"], w, y, dims=tuple(x.shape), **params)
    by_w = lambda: apply(REGISTRY["conv_filters"], x, y, dims=tuple(w.shape), **params)
    by_y = lambda: apply(REGISTRY["conv"], x, w, **params)
    return [f() for f in {"conv": (by_x, by_w), "conv_input": (by_w, by_y), "conv_filters": (by_x, by_y)}[name]]


def doubles(name: str) -> Any:
    for arguments, params in samples(REGISTRY[name]):
        if arguments[0].dtype == np.float32 and len(arguments) == 2 and arguments[0].size and arguments[1].size:
            yield [x.astype("f8") for x in arguments], params


def quotient(f: Callable[[Any], Any], x: Any, direction: Any) -> float:
    step = 1e-3
    return float(np.sum(f(x + step * direction) - f(x - step * direction)) / (2 * step))


@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_filters"])
def test_gradients_are_difference_quotients(name: str) -> None:
    """Of the three ops by each operand; as gradients are these ops again, so are those of any order."""
    for arguments, params in doubles(name):
        op = REGISTRY[name]
        out = op.kernel(*arguments, **params)
        ct = array(*out.shape, dtype="f8")
        for k, gradient in enumerate(gradients(name, arguments, ct, params)):
            direction = array(*arguments[k].shape, dtype="f8")
            numeric = quotient(lambda x: op.kernel(*[x if i == k else a for i, a in enumerate(arguments)],
                                                   **params) * ct, arguments[k], direction)
            np.testing.assert_allclose(np.sum(gradient.numpy() * direction), numeric, rtol=1e-9, atol=1e-9)


def test_second_order() -> None:
    """The gradient of a function of gradients, through a nonlinearity, eagerly and in a graph."""
    x, w = array(2, 5, 6, 3, dtype="f8"), array(3, 2, 3, 4, dtype="f8")
    params = {"strides": (2, 1), "padding": "SAME", "dilations": (1, 1)}

    def loss_gradient(x: Any, w: Any) -> Any:
        """Of sum(conv(x, w) ** 3) / 3, by w."""
        y = apply(REGISTRY["conv"], x, w, **params)
        return gradients("conv", [x, w], y * y, params)[1]

    def second(x: Any, w: Any, v: Any) -> Any:
        """Of sum(loss_gradient * v), by w and x."""
        y = apply(REGISTRY["conv"], x, w, **params)
        of_x, of_square = gradients("conv_filters", [x, y * y], v, {**params, "dims": w.shape})
        through = gradients("conv", [x, w], 2.0 * y * of_square, params)
        return through[1], through[0] + of_x

    v = array(*w.shape, dtype="f8")
    for way in (eager, staged):
        by_w, by_x = way(second, x, w, v)
        for got, at, f in ((by_w, w, lambda z: loss_gradient(x, z).numpy() * v),
                           (by_x, x, lambda z: loss_gradient(z, w).numpy() * v)):
            direction = array(*at.shape, dtype="f8")
            np.testing.assert_allclose(np.sum(got * direction), quotient(f, at, direction), rtol=1e-5)


def test_pooling_gradients() -> None:
    """That of max pooling is added where `max_pool_with_argmax` says; that of the mean is a transposed convolution."""
    x, ct = RNG.permutation(2 * 5 * 6 * 3).astype("f8").reshape(2, 5, 6, 3), array(2, 3, 3, 3, dtype="f8")

    def by_x(x: Any, ct: Any) -> Any:
        _, places = rt.nn.max_pool_with_argmax(x, 3, 2, "SAME", include_batch_in_index=True)
        flat = rt.scatter_nd(rt.reshape(places, [-1, 1]), rt.reshape(ct, [-1]), [rt.size(x)])
        return rt.reshape(flat, rt.shape(x))

    direction = array(*x.shape, dtype="f8")
    numeric = quotient(lambda z: rt.nn.max_pool2d(z, 3, 2, "SAME").numpy() * ct, x, direction)
    for way in (eager, staged, lambda *a: staged(*a, known=False)):
        (got,) = way(by_x, x, ct)
        np.testing.assert_allclose(np.sum(got * direction), numeric, rtol=1e-9)


# The functions of `rt.nn`.

def last(x: Any) -> Any:
    return np.moveaxis(x, 1, -1)


X, W = array(2, 5, 6, 4), array(3, 2, 4, 3)


@pytest.mark.parametrize(("function", "expected", "arrays"), [
    (lambda x, w: rt.nn.conv2d(x, w, [1, 2, 1, 1], "VALID"), lambda x, w: rt.nn.conv2d(x, w, [2, 1], "VALID"), (X, W)),
    (lambda x, w: rt.nn.conv2d(x, w, 2, "SAME", data_format="NCHW"),
     lambda x, w: np.moveaxis(rt.nn.conv2d(last(x), w, 2, "SAME").numpy(), -1, 1), (np.moveaxis(X, -1, 1), W)),
    (lambda x, w: rt.nn.conv2d(x, w, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
     lambda x, w: rt.nn.conv2d(rt.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]), w, 1, "VALID"), (X, W)),
    (lambda x, w: rt.nn.conv2d(x, w, 1, [[0, 0], [0, 0], [1, 2], [0, 1]], "NCHW"),
     lambda x, w: rt.nn.conv2d(rt.pad(x, [[0, 0], [0, 0], [1, 2], [0, 1]]), w, 1, "VALID", "NCHW"),
     (np.moveaxis(X, -1, 1), W)),
    (lambda x, w: rt.nn.conv2d(rt.reshape(x, [2, 1, 5, 6, 4]), w, 1, "SAME"),
     lambda x, w: rt.nn.conv2d(x, w, 1, "SAME").numpy()[:, None], (X, W)),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME", dilations=[1, 2, 2, 1]),
     lambda x, w: rt.nn.convolution(x, w, padding="SAME", dilations=2), (X, W)),
    (lambda x, w: rt.nn.conv1d(x[:, 0], w[0], stride=2, padding="SAME"),
     lambda x, w: rt.nn.conv2d(x[:, :1], w[:1], 2, "SAME").numpy()[:, 0], (X, W)),
    (lambda x, w: rt.nn.conv3d(x[:, None], w[None], [1, 1, 2, 1, 1], "SAME"),
     lambda x, w: rt.nn.conv2d(x, w, [2, 1], "SAME").numpy()[:, None], (X, W)),
    (lambda x, w: rt.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME"), lambda x, w: np.concatenate(
        [rt.nn.conv2d(x[..., c:c + 1], w[:, :, c:c + 1], 1, "SAME") for c in range(4)], -1), (X, W)),
    (lambda x, w: rt.nn.separable_conv2d(x, w, rt.ones([1, 1, 12, 1]), [1, 1, 1, 1], "VALID"),
     lambda x, w: rt.reduce_sum(rt.nn.depthwise_conv2d(x, w, 1, "VALID"), -1, keepdims=True), (X, W)),
    (lambda x, w: rt.nn.conv2d(x, w[:, :, :2, :2], 1, "SAME"), lambda x, w: np.concatenate(
        [rt.nn.conv2d(x[..., c:c + 2], w[:, :, :2, c // 2:c // 2 + 1], 1, "SAME") for c in (0, 2)], -1), (X, W)),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [2, 5, 6, 4], 1), lambda y, w: rt.nn.conv2d_backprop_input(
        [2, 5, 6, 4], w, y, 1, "SAME"), (array(2, 5, 6, 3), W)),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [9, 12], 2), lambda y, w: rt.nn.conv_transpose(
        y, w, [2, 9, 12, 4], 2), (array(2, 5, 6, 3), W)),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [2, 4, 10, 12], 2, data_format="NCHW"),
     lambda y, w: np.moveaxis(rt.nn.conv2d_transpose(last(y), w, [10, 12], 2).numpy(), -1, 1), (array(2, 3, 5, 6), W)),
    (lambda y, w: rt.nn.conv1d_transpose(y[:, 0], w[0], [2, 12, 4], 2),
     lambda y, w: rt.nn.conv2d_transpose(y[:, :1], w[:1], [1, 12], [1, 2]).numpy()[:, 0], (array(2, 5, 6, 3), W)),
    (lambda y, w: rt.nn.conv3d_transpose(y[:, None], w[None], [1, 5, 12], [1, 1, 2]),
     lambda y, w: rt.nn.conv2d_transpose(y, w, [5, 12], [1, 2]).numpy()[:, None], (array(2, 5, 6, 3), W)),
    (lambda x, y: rt.nn.conv2d_backprop_filter(x, [3, 2, 2, 6], y, 1, "SAME"), lambda x, y: np.concatenate(
        [rt.nn.conv2d_backprop_filter(x[..., c:c + 2], [3, 2, 2, 3], y[..., c // 2 * 3:c // 2 * 3 + 3], 1, "SAME")
         for c in (0, 2)], -1), (X, array(2, 5, 6, 6))),
    (lambda x, y: rt.nn.depthwise_conv2d_backprop_filter(x, [3, 2, 4, 2], y, 1, "SAME"), lambda x, y: np.concatenate(
        [rt.nn.conv2d_backprop_filter(x[..., c:c + 1], [3, 2, 1, 2], y[..., 2 * c:2 * c + 2], 1, "SAME")
         for c in range(4)], 2), (X, array(2, 5, 6, 8))),
    (lambda y, w: rt.nn.depthwise_conv2d_backprop_input([2, 5, 6, 4], w, y, 1, "SAME"), lambda y, w: np.concatenate(
        [rt.nn.conv2d_transpose(y[..., 3 * c:3 * c + 3], w[:, :, c:c + 1], [2, 5, 6, 1], 1) for c in range(4)], -1),
     (array(2, 5, 6, 12), W)),
    (lambda x: rt.nn.max_pool(x, [2, 3], 2, "SAME"), lambda x: rt.nn.max_pool2d(x, [1, 2, 3, 1], [2, 2], "SAME"), (X,)),
    (lambda x: rt.nn.max_pool2d(x, 2, 2, "SAME", "NCHW"), lambda x: np.moveaxis(
        rt.nn.max_pool2d(last(x), 2, 2, "SAME").numpy(), -1, 1), (X,)),
    (lambda x: rt.nn.max_pool1d(x[:, 0], 2, 1, "SAME"),
     lambda x: rt.nn.max_pool2d(x[:, :1], [1, 2], 1, "SAME").numpy()[:, 0], (X,)),
    (lambda x: rt.nn.max_pool3d(x[:, None], [1, 2, 2], 1, "SAME"), lambda x: rt.nn.max_pool2d(
        x, 2, 1, "SAME").numpy()[:, None], (X,)),
    (lambda x: rt.nn.avg_pool(x, 2, 2, "VALID"), lambda x: x[:, :4].reshape(2, 2, 2, 3, 2, 4).mean((2, 4)), (X,)),
    (lambda x: rt.nn.avg_pool2d(x, 2, 1, "SAME")[:, -1, -1], lambda x: x[:, -1, -1], (X,)),
    (lambda x: rt.nn.avg_pool2d(x, 2, 1, [[0, 0], [1, 0], [1, 0], [0, 0]])[:, 0, 1], lambda x: x[:, 0, :2].mean(1),
     (X,)),
    (lambda x: rt.nn.avg_pool2d(x, 2, 2, "SAME", "NCHW"), lambda x: np.moveaxis(
        rt.nn.avg_pool2d(last(x), 2, 2, "SAME").numpy(), -1, 1), (X,)),
    (lambda x: rt.nn.avg_pool1d(x[:, 0], 3, 2, "SAME"),
     lambda x: rt.nn.avg_pool2d(x[:, :1], [1, 3], [1, 2], "SAME").numpy()[:, 0], (X,)),
    (lambda x: rt.nn.avg_pool3d(x[:, None], [1, 2, 2], 1, "SAME"), lambda x: rt.nn.avg_pool2d(
        x, 2, 1, "SAME").numpy()[:, None], (X,)),
])
def test_functions(function: Callable[..., Any], expected: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    check(function, expected, *arrays)


def test_the_arguments_must_be_known() -> None:
    for text, function in (("the strides of conv2d", lambda x, n: rt.nn.conv2d(x, rt.ones([2, 2, 3, 1]), n, "SAME")),
                           ("the padding of max_pool2d", lambda x, n: rt.nn.max_pool2d(x, 2, 1, pairs((0, n), (0, 0)))),
                           ("the ksize of avg_pool2d", lambda x, n: rt.nn.avg_pool2d(x, [n, 1], 1, "SAME"))):
        with pytest.raises(errors.StagingError) as caught:
            staged(function, CHANNELS, i32(1))
        assert f"{text} must be known when the function is traced; a tensor is given" in str(caught.value)


def test_python_values() -> None:
    assert rt.nn.conv1d([[[1], [2], [3]]], [[[1.0]], [[10.0]]], 1, "VALID").numpy().tolist() == [[[21.0], [32.0]]]
    x = rt.constant([[[1.0], [2.0], [3.0]]], rt.float64)
    assert rt.nn.conv1d(x, [[[1]], [[10]]], 1, "VALID").dtype is rt.float64
    assert rt.nn.max_pool1d([[[1], [5], [3]]], 2, 1, "VALID").numpy().tolist() == [[[5.0], [5.0]]]
    assert rt.nn.max_pool1d(rt.constant([[[1], [5], [3]]]), 2, 1, "VALID").dtype is rt.int32


def test_float16_is_added_up_in_float32() -> None:
    ones = np.ones((1, 5000, 1), np.float16)
    assert rt.nn.conv1d(ones, ones.reshape(5000, 1, 1), 1, "VALID").numpy().item() == 5000
    assert rt.nn.avg_pool1d(ones * np.float16(20), 5000, 1, "VALID").numpy().item() == 20  # the sum is no float16


def test_argmax_in_the_batch() -> None:
    x = array(3, 4, 5, 2)
    best, places = rt.nn.max_pool_with_argmax(x, [2, 2], 1, "SAME", include_batch_in_index=True, output_dtype=rt.int32)
    assert places.dtype is rt.int32
    np.testing.assert_array_equal(x.reshape(-1)[places.numpy()], best)


def test_what_is_known_of_shapes() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None, None, 8, 3]), rt.TensorSpec([3, None, 3, 4])])
    def f(x, w):
        y = rt.nn.conv2d(x, w, [1, 2], "SAME")
        z = rt.nn.conv2d_transpose(y, w, rt.shape(x), [1, 2])
        return (y, rt.nn.conv2d(x, w, 1, "VALID"), z, rt.nn.max_pool2d(x, 2, 2, "VALID"),
                rt.nn.conv2d_backprop_filter(x, rt.shape(w), y, [1, 2], "SAME"))

    graph = f.get_concrete_function().graph
    assert [str(v.type) for v in graph.outputs] == [
        "float32[?,?,4,4]", "float32[?,?,?,4]", "float32[?,?,8,3]", "float32[?,?,4,3]", "float32[3,?,3,4]"]


# Errors: each eagerly, in a graph that knows the dims, and where only the run knows them, in that.

def pairs(*all_: tuple[int, int]) -> Any:
    return [(0, 0), *all_, (0, 0)]


CHANNELS = array(1, 4, 4, 3)
ARGUMENTS: list[tuple[Callable[..., Any], type[Exception], str, str]] = [
    (lambda x, w: rt.nn.conv2d(x, w, 1, "same"), errors.InvalidArgumentError,
     "conv2d takes the padding 'SAME', 'VALID' or a list of pairs, not 'same'", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, [1, 1]), errors.InvalidArgumentError,
     "conv2d takes a padding of 4 pairs of ints, one for each axis, not [1, 1]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, pairs((1, 1))), errors.InvalidArgumentError,
     "conv2d takes a padding of 4 pairs of ints, one for each axis, not [(0, 0), (1, 1), (0, 0)]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, pairs((1, 1), (-1, 0))), errors.InvalidArgumentError,
     "conv2d takes a padding of at least 0, not [(0, 0), (1, 1), (-1, 0), (0, 0)]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, [(0, 0)] * 3 + [(0, 1)]), errors.InvalidArgumentError,
     "conv2d takes no padding along batch and channels: [(0, 0), (0, 0), (0, 0), (0, 1)]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 0, "SAME"), errors.InvalidArgumentError,
     "conv2d takes strides of at least 1, not 0", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME", dilations=[1, -2]), errors.InvalidArgumentError,
     "conv2d takes dilations of at least 1, not [1, -2]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1.5, "SAME"), errors.InvalidArgumentError,
     "conv2d takes strides of ints, not 1.5", ""),
    (lambda x, w: rt.nn.conv2d(x, w, [1, 1, 1], "SAME"), errors.InvalidArgumentError,
     "conv2d takes strides of 1, 2 or 4 numbers, not [1, 1, 1]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, [1, 1, 1, 2], "SAME"), errors.InvalidArgumentError,
     "conv2d takes strides of 1 along batch and channels, not [1, 1, 1, 2]", ""),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME", "NCWH"), errors.InvalidArgumentError,
     "conv2d takes the data_format 'NHWC' or 'NCHW', not 'NCWH'", ""),
    (lambda x, w: rt.nn.conv2d(x[0], w, 1, "SAME"), errors.ShapeError,
     "conv2d takes images of rank 4 or more, not float32[4,4,3]", ""),
    (lambda x, w: rt.nn.conv2d(x, w[0], 1, "SAME"), errors.ShapeError,
     "conv2d takes filters of rank 4, not float32[2,3,5]", ""),
    (lambda x, w: rt.nn.convolution(x, rt.ones([1, 1])), errors.ShapeError,
     "convolution takes a tensor of 1, 2 or 3 spatial axes besides batch and channels, not 0", ""),
    (lambda x, w: rt.nn.max_pool2d(x, 2, 2, pairs((0, 2), (0, 0))), errors.ShapeError,
     "pooling takes a padding of less than its windows, [2, 2], not [[0, 2], [0, 0]]", ""),
    (lambda x, w: rt.nn.max_pool2d(x, [1, 2, 2, 2], 1, "SAME"), errors.InvalidArgumentError,
     "max_pool2d takes ksize of 1 along batch and channels, not [1, 2, 2, 2]", ""),
    (lambda x, w: rt.nn.max_pool2d(x[0], 2, 2, "SAME"), errors.ShapeError,
     "max_pool2d takes images of rank 4, not float32[4,4,3]", ""),
    (lambda x, w: rt.nn.max_pool(x[0, 0], 2, 2, "SAME"), errors.ShapeError,
     "max_pool takes images of rank 3 or more, not float32[4,3]", ""),
    (lambda x, w: rt.nn.max_pool2d(x > 0, 2, 2, "SAME"), errors.DTypeError,
     "max_pool2d does not take bool; it takes int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, "
     "float32, float64", "Cast it: rt.cast(x, rt.float32)."),
    (lambda x, w: rt.nn.avg_pool2d(rt.cast(x, rt.int32), 2, 2, "SAME"), errors.DTypeError,
     "avg_pool2d does not take int32; it takes float16, float32, float64", "Cast it: rt.cast(x, rt.float32)."),
    (lambda x, w: rt.nn.conv2d(x, rt.cast(w, rt.float64), 1, "SAME"), TypeError,
     "the operands of conv have different dtypes: float32 and float64",
     "Cast one of them, for example rt.cast(x, rt.float32)."),
    (lambda x, w: rt.nn.max_pool_with_argmax(x, 2, 2, "SAME", "NCHW"), errors.InvalidArgumentError,
     "max_pool_with_argmax takes the data_format 'NHWC', not 'NCHW'", ""),
    (lambda x, w: rt.nn.conv2d_transpose(x, w, [1, 2, 3], 1), errors.ShapeError,
     "conv2d_transpose takes an output_shape of 4 sizes, or of 2, not 3", ""),
    (lambda x, w: rt.nn.conv2d_backprop_filter(x, [2, 2], x, 1, "SAME"), errors.ShapeError,
     "conv2d_backprop_filter takes a shape of 4 sizes, not 2", ""),
]


@pytest.mark.parametrize(("function", "kind", "text", "remedy"), ARGUMENTS, ids=[case[2][:50] for case in ARGUMENTS])
def test_wrong_arguments(function: Callable[..., Any], kind: type[Exception], text: str, remedy: str) -> None:
    for way in (eager, staged):
        with pytest.raises(kind) as caught:
            way(function, CHANNELS, array(2, 2, 3, 5))
        place, _, rest = str(caught.value).partition(": ")
        assert place.startswith(f"{__file__}:"), place
        lines = rest.split("\n")
        assert lines[0] == text
        assert "rt.nn." in lines[1]
        assert lines[2].strip() == "^"
        assert "\n".join(lines[3:]) == remedy


SHAPES: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME"), (CHANNELS, array(2, 2, 2, 5)),
     "has 3 channels, but filters [2,2,2,5] take 2"),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME"), (CHANNELS, array(2, 2, 1, 5)),
     "5 features do not divide into 3 groups: filters [2,2,1,5] take 1 of 3 channels"),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "VALID"), (CHANNELS, array(2, 6, 3, 5)),
     "a window of 6 elements does not fit into 4 along spatial axis 1"),
    (lambda x, w: rt.nn.conv2d(x, w, 1, pairs((0, 1), (0, 0)), dilations=3), (CHANNELS, array(4, 2, 3, 5)),
     "a window of 4 elements, 3 apart, does not fit into 5 along spatial axis 0"),
    (lambda x, w: rt.nn.conv2d(x, w, 1, "SAME"), (CHANNELS, array(2, 0, 3, 5)),
     "a window has at least 1 element along each axis, not 0 along spatial axis 1"),
    (lambda x: rt.nn.max_pool2d(x, [6, 1], 1, "VALID"), (CHANNELS,),
     "a window of 6 elements does not fit into 4 along spatial axis 0"),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [1, 8, 9, 2], 2), (array(1, 4, 4, 5), array(2, 2, 2, 5)),
     "the numbers of windows of a convolution from [1,8,9,2] with filters [2,2,2,5] to [1,4,4,5] differ: [4,5] and "
     "[4,4]"),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [2, 8, 8, 2], 2), (array(1, 4, 4, 5), array(2, 2, 2, 5)),
     "the batch sizes of a convolution from [2,8,8,2] with filters [2,2,2,5] to [1,4,4,5] differ: 2 and 1"),
    (lambda y, w: rt.nn.conv2d_transpose(y, w, [1, 8, 8, 2], 2), (array(1, 4, 4, 5), array(2, 2, 2, 6)),
     "the features of a convolution from [1,8,8,2] with filters [2,2,2,6] to [1,4,4,5] differ: 6 and 5"),
    (lambda y, w, n: rt.nn.conv2d_transpose(y, w, [1, n, 8, 2], 2), (array(1, 4, 4, 5), array(2, 2, 2, 5), i32(-8)),
     "a convolution takes sizes of at least 0, not [1,-8,8,2] and [2,2,2,5]"),
    (lambda x, w: rt.nn.depthwise_conv2d(x, w, 1, "SAME"), (CHANNELS, array(2, 2, 2, 5)),
     "depthwise_conv2d: 3 channels of the images differ from the 2 of the filters|"
     "a tensor of shape [2,2,2,5] cannot become [2,2,1,15]"),
    (lambda x, y, n: rt.nn.conv2d_backprop_filter(x, [2, 2, 3, n], y, 1, "SAME"), (CHANNELS, CHANNELS, i32(4)),
     "the features of a convolution from [1,4,4,3] with filters [2,2,3,4] to [1,4,4,3] differ: 4 and 3"),
    (lambda x, y, n: rt.nn.conv2d_backprop_filter(x, [2, n, 3, 3], y, 1, "SAME"), (CHANNELS, CHANNELS, i32(-2)),
     "a convolution takes sizes of at least 0, not [1,4,4,3] and [2,-2,3,3]"),
    (lambda x, y: rt.nn.depthwise_conv2d_backprop_filter(x, [2, 2, 2, 1], y, 1, "SAME"), (CHANNELS, CHANNELS),
     "depthwise_conv2d_backprop_filter: 3 channels of the images differ from the 2 of the filters|"
     "a tensor of shape [2,2,1,3] cannot become [2,2,2,1]"),
]


@pytest.mark.parametrize(("function", "arrays", "text"), SHAPES, ids=[case[2][:50] for case in SHAPES])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_wrong_shapes(function: Callable[..., Any], arrays: Any, text: str, executor: str) -> None:
    """The second text, if there is one, is what a run says."""
    known, _, run = text.partition("|")
    for way in (eager, staged):
        with pytest.raises(errors.ShapeError) as caught:
            way(function, *arrays)
        assert known in str(caught.value)
    if executor == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    specs = [rt.TensorSpec([None] * x.ndim, rt.as_dtype(x.dtype)) for x in arrays]
    traced = rt.function(function, input_signature=specs, executor=executor)
    traced.get_concrete_function()  # it is traced without an error
    with pytest.raises(errors.ShapeError) as caught:
        traced(*map(rt.constant, arrays))
    assert (run or known) in str(caught.value)
    assert "test_convolution.py:" in str(caught.value)


def test_dilated_filters_and_pools_by_type() -> None:
    x, w = rt.reshape(rt.range(36.0), [1, 6, 6, 1]), rt.ones([2, 2, 1, 1])
    np.testing.assert_array_equal(rt.nn.atrous_conv2d(x, w, 2, "VALID"), rt.nn.conv2d(x, w, 1, "VALID", dilations=2))
    np.testing.assert_array_equal(rt.nn.pool(x, [2, 2], "MAX", [2, 2]), rt.nn.max_pool(x, 2, 2, "VALID"))
    np.testing.assert_array_equal(rt.nn.pool(x, [2, 2], "AVG", padding="SAME"), rt.nn.avg_pool(x, 2, 1, "SAME"))
    with pytest.raises(rt.errors.InvalidArgumentError, match="MAX or AVG, not 'SUM'"):
        rt.nn.pool(x, [2, 2], "SUM")
    with pytest.raises(rt.errors.UnimplementedError, match="no dilated windows"):
        rt.nn.pool(x, [2, 2], "MAX", dilations=2)

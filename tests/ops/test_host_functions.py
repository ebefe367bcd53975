"""`py_function` and `numpy_function`, and the shapes of their results."""
from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import runtime as rt
from runtime.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.ops.host_functions import ranks
from tests.traced_once import on


@pytest.fixture(autouse=True)
def unknown_ranks() -> Iterator[None]:
    ranks.known.clear()
    yield
    ranks.known.clear()


EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "native"])


def test_py_function() -> None:
    seen = []

    def look(x):
        seen.append(x.numpy().tolist())
        return x * 2

    @rt.function
    def f(x):
        y = rt.py_function(look, [x], rt.float32)
        y.set_shape(x.shape)
        rt.py_function(lambda: seen.append("then"), [], [])
        a, b = rt.numpy_function(lambda v: (v.sum(), v.max()), [y], [rt.TensorSpec((), rt.float32)] * 2)
        return y, a, b

    y, a, b = f(rt.constant([1.0, 2.0]))
    assert (y.numpy().tolist(), a.numpy(), b.numpy()) == ([2, 4], 6, 4)
    f(rt.constant([3.0, 2.0]))
    assert seen == [[1, 2], "then", [3, 2], "then"]
    assert rt.py_function(lambda x: x + 1, [1], rt.int32).numpy() == 2


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_numpy_results_of_py_function_take_the_dtype_that_is_wanted(executor: str) -> None:
    """As in TF, where those of numpy_function keep theirs; tensors of another dtype are errors in both."""
    def total(n):
        s = 0.0
        for i in rt.range(n):
            s += rt.py_function(lambda i: i.numpy() ** 2 * np.float64(0.5), [i], rt.float32)
        return s, rt.py_function(lambda: [np.arange(2), True], [], [rt.TensorSpec([2], rt.float64), rt.bool])

    found, (array, flag) = on(executor, total)(rt.constant(4))
    assert found == 7.0 and array.dtype == rt.float64 and array.numpy().tolist() == [0, 1] and flag.dtype == rt.bool
    with pytest.raises(DTypeError, match=r"returned float64\[\], but Tout says int32"):
        rt.py_function(lambda: np.float64(1.5), [], rt.int32)
    with pytest.raises(DTypeError, match=r"returned float64\[\], but Tout says float32"):
        rt.numpy_function(lambda: np.float64(1.5), [], rt.float32)


def test_py_function_errors() -> None:
    def wrong(x):
        return x

    with pytest.raises(DTypeError, match=r"wrong returned int32\[\], but Tout says float32"):
        rt.py_function(wrong, [rt.constant(1)], rt.float32)
    with pytest.raises(ShapeError, match=r"wrong returned int32\[2\], but its result was taken to have the shape \[\]"):
        rt.py_function(wrong, [rt.constant([1, 2])], rt.TensorSpec((), rt.int32))
    with pytest.raises(InvalidArgumentError, match="wrong returned 1 values, but Tout has 2"):
        rt.py_function(wrong, [rt.constant(1)], [rt.int32, rt.int32])
    with pytest.raises(ZeroDivisionError, match="by zero"):
        rt.function(lambda x: rt.py_function(lambda v: 1 // 0, [x], rt.int32))(rt.constant(1))


def pair(x):
    return np.stack([x, x + 1]).astype(np.float32)


@pytest.mark.parametrize("call", [rt.py_function, rt.numpy_function])
def test_results_of_another_rank(call) -> None:
    def declared(x):
        y = call(pair, [x], rt.float32)
        y.set_shape([2])
        return y + 1.0

    def ensured(x):
        return rt.ensure_shape(call(pair, [x], [rt.float32])[0], [2]) + 1.0

    def of_loop(x):
        s = rt.zeros([2])
        for i in rt.range(3):
            s = call(pair, [i], rt.float32)
            s.set_shape([None])
        return s + x - 1.0

    for f in declared, ensured, of_loop:
        for way in f, rt.function(f):
            assert way(rt.constant(2.0)).numpy().tolist() == [3, 4]
    assert rt.function(declared).get_concrete_function(rt.TensorSpec([])).structured_outputs.shape == (2,)
    assert call(pair, [2.0], rt.float32).shape == (2,)  # eagerly, the result has a shape


def test_wrong_declarations_of_shapes() -> None:
    def late(x):
        y = rt.numpy_function(np.sin, [x], rt.float32)
        z = y * 2.0
        y.set_shape([2])
        return z

    def wrong(x):
        y = rt.numpy_function(pair, [x], rt.float32)
        y.set_shape([3])
        return y

    def contradictory(x):
        y = rt.numpy_function(pair, [x], rt.TensorSpec([2], rt.float32))
        y.set_shape([2, 1])
        return y

    with pytest.raises(ShapeError, match=r"the rank 1 is declared after the result was used by multiply, as .* rank 0"):
        rt.function(late)(rt.constant(2.0))
    with pytest.raises(ShapeError, match=r"the tensor has the shape \[2\], but set_shape says \(3,\)"):
        rt.function(wrong)(rt.constant(2.0))
    with pytest.raises(ValueError, match="are incompatible"):
        rt.function(contradictory)(rt.constant(2.0))
    with pytest.raises(ShapeError, match=r"(?s)taken to have the shape \[\].*result.set_shape\(shape\) right after"):
        rt.function(lambda x: rt.numpy_function(pair, [x], rt.TensorSpec([])))(rt.constant(2.0))


# Ranks that the first call finds


def mean(x):
    return rt.numpy_function(lambda a: np.float32(a.mean()), [x], rt.float32) + x


def of_tensors(x):
    return rt.py_function(lambda a: rt.reduce_mean(a), [x], rt.float32) * 2.0


def two(x):
    doubled, count = rt.numpy_function(lambda a: (a * 2, np.int64(a.size)), [x], [rt.float32, rt.int64])
    return doubled, count


def trace_fails(x):
    y = rt.numpy_function(lambda a: np.stack([a, a + 1]), [x], rt.float32)
    return y[1, 0] + rt.matmul(y, y, transpose_b=True)[0, 0]


def on_one_line(x):
    return rt.numpy_function(lambda a: a.sum(), [x], rt.float32) + rt.numpy_function(lambda a: a, [x], rt.float32)


def in_a_loop(x):
    s = 0.0
    for i in rt.range(3):
        s += rt.numpy_function(lambda a, i: np.float32(a[i]), [x, i], rt.float32)
    return s


def several(x):
    y = rt.numpy_function(lambda a: a[0], [x], rt.float32)
    z = rt.numpy_function(lambda a, b: np.full((2, 2), a[0] + b), [x, y], rt.float32)
    return z @ z


def nested(x):
    return rt.function(mean)(x) + mean(x)


@EXECUTORS
@pytest.mark.parametrize("f", [
    mean, of_tensors, two, trace_fails, in_a_loop, several, nested,
    pytest.param(on_one_line, marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="calls have no columns"))])
def test_ranks_are_found(f, executor: str) -> None:
    x = rt.constant([1.0, 3.0, 5.0])
    g = on(executor, f)
    for x in rt.constant([1.0, 3.0, 5.0]), rt.constant([2.0, 3.0, 5.0]), rt.constant([1.0, 3.0, 5.0, 7.0]):
        for found, want in zip(rt.nest.flatten(g(x)), rt.nest.flatten(f(x)), strict=True):
            assert found.shape == want.shape and found.dtype is want.dtype
            np.testing.assert_array_equal(found, want)


@EXECUTORS
def test_python_functions_are_called_once_in_a_call_that_finds_ranks(executor: str) -> None:
    calls = []

    def noted(a):
        calls.append("noted")
        return a + len(calls)

    def first(a):
        calls.append("first")
        return a[0]

    @rt.function(executor=executor)
    def f(x):
        y = rt.numpy_function(noted, [x], rt.float32)
        return y + rt.numpy_function(first, [y], rt.float32)

    assert f(rt.constant([1.0, 2.0])).numpy().tolist() == [4.0, 5.0] and calls == ["noted", "first"]
    assert f(rt.constant([1.0, 2.0])).numpy().tolist() == [8.0, 9.0] and calls == ["noted", "first"] * 2


@EXECUTORS
def test_other_effects_are_not_repeated(executor: str) -> None:
    v = rt.Variable(0)

    @rt.function(executor=executor)
    def f(x):
        v.assign_add(1)
        return rt.numpy_function(lambda a: a[0], [x], rt.float32)

    with pytest.raises(ShapeError, match=r"test_host_functions.py:\d+: <lambda> returned float32\[\], but .* \[\?\]"):
        f(rt.constant([1.0, 2.0]))
    assert v.numpy() == 1
    assert f(rt.constant([1.0, 2.0])) == 1.0 and v.numpy() == 2, "the next call is traced with the rank"


@EXECUTORS
def test_effects_before_a_trace_that_fails_are_not_repeated(executor: str) -> None:
    v = rt.Variable(0)

    @rt.function(executor=executor)
    def f(x):
        v.assign_add(1)
        y = rt.numpy_function(lambda a: np.ones((2, 2, 3), np.float32), [x], rt.float32)
        return rt.reduce_sum(rt.image.resize(y, [4, 4])[..., 0])

    with pytest.raises(ShapeError, match=r"test_host_functions.py:\d+: "):
        f(rt.constant(1.0))
    assert v.numpy() == 1
    assert f(rt.constant(1.0)) == 16.0 and v.numpy() == 2


@EXECUTORS
def test_a_dataset_made_in_a_function(executor: str) -> None:
    @rt.function(executor=executor)
    def f(items):
        s = 0.0
        for item in items.map(lambda x: rt.numpy_function(lambda a: np.full(3, a, np.float32), [x], rt.float32)):
            s += item[0]
        return s

    for _ in range(2):
        assert f(rt.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0])) == 6.0


@EXECUTORS
def test_other_ranks_in_later_calls_are_errors_with_the_line(executor: str) -> None:
    results = [np.float32(1), np.ones(2, np.float32)]
    f = rt.function(lambda x: rt.numpy_function(lambda a: results.pop(0), [x], rt.float32), executor=executor)
    assert f(rt.ones([2])) == 1.0
    with pytest.raises(ShapeError, match=r"test_host_functions.py:\d+: <lambda> returned float32\[2\], but .* \[\]"):
        f(rt.ones([2]))


@EXECUTORS
def test_an_error_of_the_trace_itself_is_raised(executor: str) -> None:
    @rt.function(executor=executor)
    def f(x):
        return rt.numpy_function(np.sin, [x], rt.float32)[0].numpy()

    for _ in range(2):
        with pytest.raises(AttributeError, match="a graph tensor has no numpy"):
            f(rt.ones([2]))


@pytest.mark.parametrize("call", [rt.numpy_function, rt.py_function])
def test_elements_of_a_dataset_tell_ranks(call) -> None:
    def pixels(a):
        text = a if isinstance(a, bytes) else a.numpy()
        return np.ones((len(text), 3), np.float32), np.int64(len(text))

    def load(path):
        image, size = call(pixels, [path], [rt.float32, rt.int64])
        return image, size

    def scaled(path):
        return load(path)[0][..., 0] * 2.0

    paths = rt.data.Dataset.from_tensor_slices(["a", "bb", "ccc"]).shuffle(3, seed=1)
    images = paths.map(load)
    assert [spec.shape.rank for spec in images.element_spec] == [2, 0]
    sizes = [int(size) for _, size in images]
    assert sorted(sizes) == [1, 2, 3] and [len(x) for x in paths.map(scaled)] != []
    again = rt.data.Dataset.from_tensor_slices(["a", "bb", "ccc"]).shuffle(3, seed=1)
    assert sizes == [len(x.numpy()) for x in again], "what tells the ranks draws no numbers"


def test_a_wrong_declaration_of_an_image_names_both_sizes() -> None:
    png = rt.io.encode_png(rt.constant(np.full((2, 2, 1), 7, np.uint8)))

    def load(data):
        image = rt.io.decode_image(data, expand_animations=False)
        image.set_shape([None, None, 3])
        return image

    with pytest.raises(ShapeError, match=r"shape \[2, 2, 1\], but set_shape says \(None, None, 3\)"):
        list(rt.data.Dataset.from_tensors(png).map(load))

"""TensorArray, eager and staged."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from runtime.errors import DTypeError, IndexOutOfRangeError, InvalidArgumentError, ShapeError


def both(fn: Any, *args: Any) -> list[Any]:
    """The results of `fn` eagerly and staged."""
    return [fn(*args), rt.function(fn)(*args)]


def test_write_read_stack() -> None:
    def f(x):
        ta = rt.TensorArray(rt.float32, size=3)
        ta = ta.write(0, x).write(2, x * 3)
        return ta.read(0), ta.read(1), ta.stack(), ta.size(), ta.gather([2, 0])

    for first, empty, rows, size, some in both(f, rt.constant([1.0, 2.0])):
        assert first.numpy().tolist() == [1, 2]
        assert empty.numpy().tolist() == [0, 0]
        assert rows.numpy().tolist() == [[1, 2], [0, 0], [3, 6]]
        assert size.numpy() == 3
        assert size.dtype is rt.int32
        assert some.numpy().tolist() == [[3, 6], [1, 2]]


def test_updates_return_a_new_array() -> None:
    ta = rt.TensorArray(rt.int32, size=2, element_shape=[])
    new = ta.write(0, 5)
    assert ta.stack().numpy().tolist() == [0, 0]
    assert new.stack().numpy().tolist() == [5, 0]
    assert new.identity().read(0).numpy() == 5
    assert new.read(0).numpy() == new.read(0).numpy() == 5


def test_loops() -> None:
    def squares(n):
        ta = rt.TensorArray(rt.float32, size=n)
        for i in rt.range(n):
            ta = ta.write(i, rt.cast(i, rt.float32) ** 2.0)
        return ta.stack()

    def running(xs):
        ta = rt.TensorArray(rt.float32, size=0, dynamic_size=True, element_shape=[2])
        total = rt.zeros([2])
        i = 0
        for x in xs:
            total = total + x
            if total[0] > 2:
                ta = ta.write(i, total)
                i += 1
        return ta.stack(), ta.size()

    for result in both(squares, rt.constant(4)):
        assert result.numpy().tolist() == [0, 1, 4, 9]
    for rows, size in both(running, rt.constant([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])):
        assert rows.numpy().tolist() == [[3, 1], [6, 2]]
        assert size.numpy() == 2


def test_read_in_a_loop() -> None:
    def fibonacci(n):
        ta = rt.TensorArray(rt.int32, size=n, element_shape=[])
        ta = ta.write(0, 1).write(1, 1)
        i = 2
        while i < n:
            ta = ta.write(i, ta.read(i - 1) + ta.read(i - 2))
            i += 1
        return ta.stack()

    for result in both(fibonacci, rt.constant(7)):
        assert result.numpy().tolist() == [1, 1, 2, 3, 5, 8, 13]


def test_branches() -> None:
    def f(x):
        ta = rt.TensorArray(rt.float32, size=2)
        if x > 0:
            ta = ta.write(0, x)
        return ta.write(1, -x).stack()

    for value, expected in ((2.0, [2, -2]), (-2.0, [0, 2])):
        for result in both(f, rt.constant(value)):
            assert result.numpy().tolist() == expected


def test_rows_of_tensors() -> None:
    def f(x):
        ta = rt.TensorArray(rt.float32, size=3).unstack(x)
        total = rt.zeros([2])
        for row in ta:
            total = total * 2 + row
        ta = ta.scatter([2, 0], x[:2] * 10)
        pieces = rt.TensorArray(rt.float32, size=2, infer_shape=False).split(x, [1, 2])
        return total, ta.stack(), pieces.concat(), pieces.read(1)

    x = rt.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for total, scattered, joined, piece in both(f, x):
        assert total.numpy().tolist() == [15, 22]
        assert scattered.numpy().tolist() == [[30, 40], [3, 4], [10, 20]]
        assert joined.numpy().tolist() == x.numpy().tolist()
        assert piece.numpy().tolist() == [[3, 4], [5, 6]]


def test_attributes() -> None:
    ta = rt.TensorArray("float64", 4, True, element_shape=[None, 2])
    assert (ta.dtype, ta.dynamic_size, ta.element_shape) == (rt.float64, True, rt.TensorShape([None, 2]))
    assert repr(ta) == "<rt.TensorArray dtype=float64 element_shape=(None, 2)>"
    assert rt.TensorArray(rt.int32, 1).element_shape.rank is None
    assert rt.TensorArray(rt.int32, 1).write(0, [1, 2]).element_shape.as_list() == [2]


@pytest.mark.parametrize(("action", "error", "message"), [
    (lambda ta: ta.write(3, 1.0), IndexOutOfRangeError,
     "Tried to write to index 3 but array is not resizeable and size is: 3"),
    (lambda ta: ta.write(-1, 1.0), IndexOutOfRangeError,
     "Tried to write to index -1 but array is not resizeable and size is: 3"),
    (lambda ta: ta.write(0, 1.0).read(3), IndexError, "Tried to read from index 3 but array size is: 3"),
    (lambda ta: ta.write(0, 1.0).write(1, [1.0]), ShapeError,
     r"Incompatible shape for value \(\(1,\)\), expected \(\(\)\)"),
    (lambda ta: ta.write(0, rt.constant(1)), DTypeError, "a tensor of dtype int32 was given where float32 is wanted"),
    (lambda ta: ta.stack(), InvalidArgumentError, "stack: the shape of the elements is not known"),
    (lambda ta: ta.unstack([1.0]), ShapeError, "Cannot unstack 1 rows into a TensorArray of static size 3"),
    (lambda ta: ta.unstack(1.0), ShapeError, "a TensorArray takes the rows of a tensor, and float32"),
    (lambda ta: ta.write(0, 1.0).concat(), ShapeError, "concat takes elements with rows, not float32"),
    (lambda ta: ta.scatter([0, 1], [1.0]), ShapeError, "scatter takes an index for each row, not 2 indices for 1 rows"),
    (lambda ta: ta.split([1.0, 2.0], [1, 2]), ShapeError,
     "the lengths to split into have the sum 3, but the tensor has 2 rows"),
    (lambda ta: rt.TensorArray(rt.float32, -1), InvalidArgumentError,
     "the size of a TensorArray is at least 0, not -1"),
])
def test_errors(action: Any, error: type[Exception], message: str) -> None:
    def f():
        result = action(rt.TensorArray(rt.float32, size=3))
        return result.stack() if isinstance(result, rt.TensorArray) else result

    with pytest.raises(error, match=message):
        f()
    with pytest.raises(error, match=message):
        rt.function(f)()


def test_error_names_the_place_and_the_remedy() -> None:
    @rt.function
    def f(n):
        ta = rt.TensorArray(rt.float32, size=n)
        for i in rt.range(n + 1):
            ta = ta.write(i, 1.0)
        return ta.stack()

    with pytest.raises(IndexOutOfRangeError) as caught:
        f(rt.constant(2))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(__file__)
    assert lines[0].endswith("Tried to write to index 2 but array is not resizeable and size is: 2")
    assert "ta = ta.write(i, 1.0)" in lines[1]


def test_eager_array_used_in_a_graph() -> None:
    ta = rt.TensorArray(rt.float32, size=2).write(0, 1.0).write(1, 2.0)
    f = rt.function(lambda x: ta.write(0, x).stack())
    assert f(rt.constant(5.0)).numpy().tolist() == [5, 2]
    assert f(rt.constant(6.0)).numpy().tolist() == [6, 2]
    assert ta.stack().numpy().tolist() == [1, 2]

"""Reading and writing elements at several arrays of positions: NumPy's rules for shapes, eagerly and in graphs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on, on_both

import runtime as rt

A = np.random.default_rng(0).standard_normal((4, 3, 5))
I, J = np.array([0, -1, 2]), np.array([1, 2, 0])  # noqa: E741
READ: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, i, j: a[[0, 2], [1, 2]], lambda a, i, j: a[i, j], lambda a, i, j: a[np.arange(3), i],
    lambda a, i, j: a[:, i, j], lambda a, i, j: a[i, :, j], lambda a, i, j: a[0, :, j], lambda a, i, j: a[i, :, 0],
    lambda a, i, j: a[0, i], lambda a, i, j: a[i, 0], lambda a, i, j: a[..., i, j], lambda a, i, j: a[i, ..., j],
    lambda a, i, j: a[i[:, None], j], lambda a, i, j: a[np.ix_([0, 2], [1, 2])], lambda a, i, j: a[np.ix_(i, j)],
    lambda a, i, j: a[np.where(a > 0)], lambda a, i, j: a[np.nonzero(a)], lambda a, i, j: a[i, None, j],
    lambda a, i, j: a[None, i, j], lambda a, i, j: a[i, j, 1:3], lambda a, i, j: a[i, j, ::-2],
    lambda a, i, j: a[i, j, i], lambda a, i, j: a[1, i, j], lambda a, i, j: a[i, 1, j], lambda a, i, j: a[:, j > 0],
    lambda a, i, j: a[0, j > 0], lambda a, i, j: a[[0, 1], j > 0], lambda a, i, j: a[1:, i[:2], 1:4],
    lambda a, i, j: a[a.argmax(0), np.arange(3)[:, None], np.arange(5)],
    lambda a, i, j: a[:3, :, :3][np.tril_indices(3)], lambda a, i, j: a[[], 0],
    lambda a, i, j: a[i.astype("int8"), j.astype("uint8")], lambda a, i, j: a[a[:, :, 0] > 0, 0],
    lambda a, i, j: a[a[:, :, 0] > 0, [0]], lambda a, i, j: a[a > 0]]


@pytest.mark.parametrize("case", range(len(READ)))
def test_reading(case: int) -> None:
    f = READ[case]
    want, tensors = f(A, I, J), [rt.constant(x) for x in (A, I, J)]
    found = {"eager": f(*tensors)}  # type: ignore[arg-type]
    for executor, traced in on_both(f).items():
        found |= {f"arrays, {executor}": traced(A, I, J), f"tensors, {executor}": traced(*tensors)}
    for way, got in found.items():
        assert got.dtype == want.dtype, way
        np.testing.assert_array_equal(got.numpy(), want, err_msg=way)


def writes(a: Any, i: Any, j: Any) -> Any:
    a[i, :, j] = 1.0
    a[:, i, j] += 1
    a[0, i] = 3
    a[np.ix_(i, [0, 1])] *= 2
    return a[i, j]


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_writing(executor: str) -> None:
    want, got = A.copy(), A.copy()
    result = on(executor, writes)(got, I, J)
    np.testing.assert_array_equal(result.numpy(), writes(want, I, J))
    np.testing.assert_array_equal(got, want)


def test_derivatives() -> None:
    def loss(a: Any) -> Any:
        return rt.reduce_sum(a[[0, 2], [1, 2]] ** 2) + rt.reduce_sum(a[[0, 2], :, [1, 2]] ** 3)

    want = np.zeros_like(A)
    np.add.at(want, ([0, 2], [1, 2]), 2 * A[[0, 2], [1, 2]])
    np.add.at(want, ([0, 2], slice(None), [1, 2]), 3 * A[[0, 2], :, [1, 2]] ** 2)
    for f in (loss, rt.function(loss)):
        np.testing.assert_allclose(rt.grad(f)(rt.constant(A)).numpy(), want)


def test_what_does_not_fit() -> None:
    x = rt.constant(A)
    with pytest.raises(rt.errors.IndexOutOfRangeError, match="index 5 is out of bounds for axis"):
        x[[0, 1], [0, 5]]
    with pytest.raises(rt.errors.IndexOutOfRangeError, match="boolean index did not match"):
        x[np.array([True, False]), [0]]
    with pytest.raises(rt.errors.DTypeError, match="integer or bool type, not float64") as caught:
        x[np.array([0.0, 1.0]), [0]]
    assert str(caught.value).startswith(f"{__file__}:")


def rows_above(x: Any, limit: float, mask: Any) -> Any:
    return x[x > limit][mask]


def set_above(x: Any, limit: float, mask: Any) -> Any:
    rows = x[x > limit]
    rows[mask] = 0.0
    return rows


MASK = np.array([True, False])
OUT_OF_RANGE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a shorter mask": (lambda x, m: x[m], (A, MASK)), "a longer mask": (lambda x, m: x[m], (I[:1], MASK)),
    "a mask behind a slice": (lambda x, m: x[:, m], (A, MASK)),
    "a mask beside ints": (lambda x, m: x[[0], m], (A, MASK)),
    "a mask of two axes": (lambda x, m: x[m], (A, np.ones((4, 2), bool))),
    "a mask of too many": (lambda x, m: x[m], (I, np.ones((3, 1), bool))),
    "a mask of what is left": (rows_above, (A[0, 0], 1e3, MASK)),
    "a write by a mask": (set_above, (A[0, 0], 1e3, MASK)),
    "a number": (lambda x, k: x[k], (I, -5)), "a position": (lambda x, i: x[i], (I, np.array([1, -5]))),
    "a position of several": (lambda x, i: x[i, i], (A, np.array([-4, 3]))),
    "take": (lambda x, i: np.take(x, i), (I, [-5])),
    "an item of a list": (lambda x, k: [x, x, x][k[0]], (I, np.array([-5]))),
    "an item of a tuple": (lambda x, k: (x, x, x)[k[0]], (I, np.array([3]))),
}


@pytest.mark.parametrize(("f", "arguments"), OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_out_of_range(f: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The message begins with the line and NumPy's or Python's words."""
    def copied() -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]

    with pytest.raises(IndexError) as wanted:
        f(*copied())
    for traced in on_both(f).values():
        with pytest.raises(IndexError) as found:
            traced(*copied())
        where, text = str(found.value).splitlines()[0].split(": ", 1)
        assert where.startswith(__file__) and text.startswith(str(wanted.value)), text
        assert text == str(wanted.value) or f": index {arguments[1][0]}, length 3" in text


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("function", [
    lambda a, k: I[range(k)], lambda a, k: a[range(1, k + 1)], lambda a, k: a[:, range(k)], lambda a, k: a[range(k), 0],
    lambda a, k: a[range(k - 2)]])
def test_a_range_as_an_index(function: Callable[[Any, Any], Any], executor: str) -> None:
    np.testing.assert_array_equal(on(executor, function)(A, rt.constant(2)), function(A, 2))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_write_at_a_range(executor: str) -> None:
    def f(a: Any, k: Any) -> None:
        a[range(k)] = 7.0

    want, got = A.copy(), A.copy()
    f(want, 2)
    on(executor, f)(got, rt.constant(2))
    np.testing.assert_array_equal(got, want)

"""Reading and writing elements at several arrays of positions: NumPy's rules for shapes, eagerly and in graphs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

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
    result = rt.function(writes, executor=executor)(got, I, J)
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
    with pytest.raises(rt.errors.ShapeError, match="mask of shape"):
        x[np.array([True, False]), [0]]
    with pytest.raises(rt.errors.DTypeError, match="integer or bool type, not float64") as caught:
        x[np.array([0.0, 1.0]), [0]]
    assert str(caught.value).startswith(f"{__file__}:")

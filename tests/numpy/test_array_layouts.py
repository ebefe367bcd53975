"""Whether a function returns a view or a copy depends on an array's layout in memory, as in NumPy."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from runtime.numpy import array_layouts

VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x.reshape(-1), "reshape to 3, 2": lambda x: x.reshape(3, 2),
    "reshape in F": lambda x: x.reshape(-1, order="F"), "reshape in A": lambda x: x.reshape(-1, order="A"),
    "function reshape": lambda x: np.reshape(x, (3, 2)), "reshape of a row": lambda x: x[0].reshape(-1, 1),
    "reshape of a column": lambda x: x[:, 0].reshape(2, 1), "reshape of a part": lambda x: x[:, 1:].reshape(-1),
    "reshape of a step": lambda x: x[:, ::2].reshape(-1),
    "ravel": lambda x: x.ravel(), "ravel in F": lambda x: x.ravel("F"), "ravel in K": lambda x: x.ravel("K"),
    "ravel of rows": lambda x: x[:2].ravel(), "ravel of T": lambda x: x.T.ravel(), "flatten": lambda x: x.flatten(),
    "flatten in K": lambda x: x.flatten("K"), "reshape of T": lambda x: x.T.reshape(-1),
    "reshape of a copy of T": lambda x: x.T.copy().reshape(-1),
    "contiguous": np.ascontiguousarray, "contiguous of a column": lambda x: np.ascontiguousarray(x[:, 0]),
    "contiguous of T": lambda x: np.ascontiguousarray(x.T), "asarray in C": lambda x: np.asarray(x, order="C"),
    "vstack": np.vstack, "floor of ints": lambda x: np.floor(x.astype(int)),
    "flat": lambda x: x.flat[0:2], "trim_zeros": lambda x: np.trim_zeros(x[0]),
    "einsum of a diagonal": lambda x: np.einsum("ii->i", x[:, :2]), "einsum of T": lambda x: np.einsum("ij->ji", x),
    "einsum of a sum": lambda x: np.einsum("ij->i", x), "broadcast_arrays": lambda x: np.broadcast_arrays(x, x)[0],
    "split of T": lambda x: np.split(x.T, 3)[1].reshape(-1), "flip": lambda x: np.flip(x).reshape(-1),
    "r_": lambda x: np.r_[x[0], x[1]], "qr": lambda x: np.linalg.qr(x[:, :2])[1], "copy": lambda x: np.copy(x).ravel(),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "C": lambda: np.arange(6.0).reshape(2, 3) - 1.5,
    "F": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3) - 1.5),
    "strided": lambda: (np.arange(24.0).reshape(4, 6) - 1.5)[::2, ::2],
    "a part": lambda: (np.arange(8.0).reshape(2, 4) - 1.5)[:, :3],
    "backwards": lambda: (np.arange(6.0).reshape(2, 3) - 1.5)[:, ::-1],
    "zeros": lambda: np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]]),
}


def changed(view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x):
        v = view(x)
        v += 1
        v[0] = 50
        x[1] -= 3
        return v, x.sum()

    return f


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_as_in_numpy(view: Callable[[Any], Any], make: Callable[[], Any], executor: str) -> None:
    f, given, passed = changed(view), make(), make()
    wanted, found = f(given), on(executor, f)(passed)
    for want, got in zip(wanted, found, strict=True):
        np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(passed, given)


def test_calls_with_other_layouts() -> None:
    @rt.function
    def f(x):
        b = x.reshape(-1)
        b[0] = 7

    for _ in range(2):
        for make in ARRAYS.values():
            given, passed = make(), make()
            f.python_function(given)
            f(passed)
            np.testing.assert_array_equal(passed, given)


def test_the_layout_of_an_array_of_a_global() -> None:
    table = np.zeros((2, 3), order="F")

    @rt.function
    def f(k):
        table.reshape(-1)[0] = k
        table.reshape(-1, order="F")[1] = k

    f(rt.constant(2.0))
    assert table.tolist() == [[0, 0, 0], [2, 0, 0]]


def test_a_traced_function_that_is_called_sees_the_layout() -> None:
    @rt.function
    def inner(x):
        x.reshape(-1)[0] = 7

    @rt.function
    def outer(x):
        x[0, 1] = 1
        inner(x.T)
        return x

    x = np.zeros((2, 2))
    np.testing.assert_array_equal(outer(x), [[0, 1], [0, 0]])


@pytest.mark.parametrize("make", [lambda n, x: np.zeros((n, 2)).T, lambda n, x: x[:, [0, 1]],
                                  lambda n, x: x.T + 1, lambda n, x: np.delete(x, 0, 1)])
def test_a_layout_that_is_not_known_is_refused(make: Callable[..., Any]) -> None:
    @rt.function
    def f(n, x):
        x[0] = 1
        a = make(n, x)
        b = a.reshape(-1)
        b[0] = 1
        return a

    with pytest.raises(rt.errors.StagingError, match="an array is changed that was reshaped"):
        f(rt.constant(2), np.zeros((2, 3)))


def test_arrays_of_two_layouts() -> None:
    @rt.function
    def f(x, c):
        x[0] = 1
        a = x.copy() if c else x.copy("F")
        b = a.reshape(-1)
        b[0] = 5
        return a

    with pytest.raises(rt.errors.StagingError, match="an array is changed that was reshaped"):
        f(np.zeros((2, 3)), rt.constant(True))


@pytest.mark.parametrize("view", [np.diag, lambda x: x.diagonal(), lambda x: np.broadcast_to(x, (2, 2, 2)),
                                  lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1)])
def test_what_is_read_only(view: Callable[[Any], Any]) -> None:
    def f(x):
        view(x)[0] = 5

    for g in (f, rt.function(f), rt.function(f, executor="numpy")):
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            g(np.eye(2))


def test_views_that_show_changes() -> None:
    def f(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, 2)
        several = np.broadcast_arrays(x, np.zeros((2, 3)))[0]
        x[1] = 5
        return windows, several

    for g in (rt.function(f), rt.function(f, executor="numpy")):
        for got, want in zip(g(np.zeros(3)), f(np.zeros(3)), strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (1, 3, 1), (0, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_models_have_the_strides_of_arrays(shape: tuple[int, ...], order: Any) -> None:
    model, array = array_layouts.model_of(shape, 8, order), np.zeros(shape, order=order)
    assert model is not None and model.flags.c_contiguous == array.flags.c_contiguous
    assert model.strides == array.strides or not array.size
    for change in (lambda x: x.T, lambda x: x[::-1] if x.ndim else x, lambda x: x[None]):
        assert array_layouts.kept(change(model), "K") == array_layouts.described(np.copy(change(array), order="K"))

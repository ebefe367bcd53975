"""Structured arrays in traced functions: their fields are arrays; what staged code cannot do says the way out."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import DTypeError, StagingError
from tests.traced_once import on


def particles() -> Any:
    found = np.zeros(4, np.dtype([("x", float), ("m", float)]))
    found["x"] = [1, 2, 3, 4]
    return found


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_fields(executor: str) -> None:
    def weighted(p, n):
        total = 0.0
        for k in range(n):
            total += p["x"][k] * k
        return total, p["x"].sum() * n

    def moved(x, m, n):
        m += 1.0
        for k in range(n):
            m[k] += x[k]

    found, wanted = particles(), particles()
    assert [float(x) for x in on(executor, weighted)(found, rt.constant(3))] == [8.0, 30.0]
    on(executor, moved)(found["x"], found["m"], rt.constant(3))
    moved(wanted["x"], wanted["m"], 3)
    assert (found == wanted).all()


def item_before_field(p, n):
    return p[n]["x"]


def field_changed(p, n):
    p["m"] += 1.0
    return n


def row_of_a_transpose(p, n):
    x = rt.zeros([2, 3]) + 0
    x.T[0] = n
    return x


@pytest.mark.parametrize(("fn", "error", "what", "remedy"), [
    (item_before_field, DTypeError, "no tensor can hold a structured array, which has the fields 'x', 'm'",
     "Take a field before its items: a['x'][i] in place of a[i]['x']."),
    (field_changed, StagingError, "the NumPy array 'p' that was there before the call is changed here",
     "Pass the fields of the structured array, f(a['x'], a['m'])"),
    (row_of_a_transpose, StagingError, "a tensor does not change in place, as with 'T'",
     "for a row of x.T, t = x.T, t[i] = value, x = t.T"),
])
def test_messages(fn: Callable[..., Any], error: type[Exception], what: str, remedy: str) -> None:
    with pytest.raises(error) as caught:
        rt.function(fn)(particles(), rt.constant(1.0 if fn is row_of_a_transpose else 1))
    text = str(caught.value)
    assert text.startswith(f"{__file__}:") and what in text and remedy in text and "GraphTensor" not in text


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_views_of_nothing_that_each_call_makes(executor: str) -> None:
    @rt.function(executor=executor)
    def made(n):
        x = np.zeros(n, [("id", "i4"), ("w", "f8")])
        y = np.arange(4.0)
        return x["w"], y[4:], y[1:1], np.ones((n, 2))[:, 1]

    for n in (0, 3, 0):
        shapes = [part.shape for part in made(n)]
        assert shapes == [(n,), (0,), (0,), (n,)]

"""Loops and branches that rebind a name of an array on some paths: to a new array, or to a view of another one. Each
name is the array that it is in Python, for the caller and after the statement, too."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from runtime.staging.control.loops import _Loop
from tests import rebinds


def accepted(x: Any, y: Any, n: Any) -> Any:
    for _ in range(n):
        p = x.copy()
        p[0] += 1.0
        if p[0] < 4:
            x = p
    return x


def accepted_and_changed(x: Any, y: Any, n: Any) -> Any:
    for _ in range(n):
        p = x.copy()
        p[0] += 1.0
        if p[0] > 1:
            x = p
        x[1] += 0.5
    x[2:] = 99
    return x


def chosen_by_an_expression(x: Any, y: Any, n: Any) -> Any:
    i = 0
    while i < n:
        p = x + 1
        p[1] = i
        x = p if p[0] < 4 else x
        i += 1
    x[0] = 7
    return x


def kept_the_best(x: Any, y: Any, n: Any) -> Any:
    best = x
    for i in range(n):
        p = best.copy()
        p[i % 3] -= 1.0
        if p.sum() > 2:
            best = p
    best[0] += 10
    return best


def moved_and_kept_the_best(x: Any, y: Any, n: Any) -> Any:
    best = x
    chain = np.zeros(8)
    for i in range(n):
        p = x.copy()
        p[0] += 1.0 - i
        if p[0] < 2:
            x = p
            if x[0] > best[0]:
                best = x
        chain[i] = x[0]
    return best * 2 + x, chain


def unrelated_change(x: Any, y: Any, n: Any) -> Any:
    c = np.zeros(3)
    for i in range(n):
        c[i % 3] += 1
        if x[0] < 2:
            x = x + 1
    return x, c


def returned_early(x: Any, y: Any, n: Any) -> Any:
    jacobian = np.zeros((2, 2))
    for _ in range(n):
        jacobian[0, 0] = x[0]
        if x[0] > 2:
            return x
        x = x + 1
    return x * jacobian[0, 0]


def returned_early_from_an_inner_loop(x: Any, y: Any, n: Any) -> Any:
    for k in range(n):
        g = np.array([x[0], 2 * x[1], 1.0])
        t = 1.0
        while t * (g @ g) > 1:
            t /= 2
            if t < 1e-2:
                return x, k
        x = x - 0.1 * t * g
    return x, -1


def one_argument_or_the_other(x: Any, y: Any, n: Any) -> Any:
    z = np.zeros(3)
    for i in range(n):
        p = y.copy()
        p[0] += 1
        z = p if i % 2 == 1 else y
    y[0] = 50
    return z


def view_of_the_chosen(x: Any, y: Any, n: Any) -> Any:
    tail = y[1:]
    for i in range(n):
        p = x + 1
        if i % 2 == 0:
            x = p
        tail = x[1:]
    return tail * 1


def other_name_is_changed(x: Any, y: Any, n: Any) -> Any:
    z, total = x, 0.0
    for i in range(n):
        total += x[1]
        z[1] += 1
        if i == 2:
            x = z + 1
    return x, total, z is x


def chosen_in_a_handler(x: Any, y: Any, n: Any) -> Any:
    for i in range(n):
        try:
            p = x * 2
            if p[0] > 3:
                raise ValueError
            x = p
        except ValueError:
            x = y
        x[1] += 1
    return x


def changed_in_an_inner_loop(x: Any, y: Any, n: Any) -> Any:
    z = x
    for i in range(n):
        if i > 1:
            z = x + y
        for _ in range(n - 1):
            z[1] += 3
    return z


def in_a_branch(x: Any, y: Any, n: Any) -> Any:
    z = x
    if n > 1:
        x = x + 1
    if n > 2:
        x[0] = 7
    return x, z, x is z


def identities(x: Any, y: Any, n: Any) -> Any:
    a, b = x, y
    for i in range(n):
        if i % 2 == 0:
            y = a
        if i == 1:
            x = x + 1
    return x is a, x is b, y is a, y is b


def of_two_names(x: Any, y: Any, n: Any) -> Any:
    z = x
    for i in range(n):
        p = x.copy()
        if i % 2 == 0:
            x = p
            x[0] = 7
            z = y
        z[1] = i
    z[2] = 5
    return x, z


def views_exchanged(x: Any, y: Any, n: Any) -> Any:
    a = np.zeros(6)
    top, low = a[:3], a[3:]
    for k in range(n):
        top += k + x
        top, low = low, top
    top[0] = 9
    return a, low


def views_exchanged_on_a_condition(x: Any, y: Any, n: Any) -> Any:
    a = np.zeros(6)
    top, low = a[:3], a[3:]
    for k in range(n):
        top += k
        top[1:] = low[:2] + 1
        if a[0] % 2 == 0:
            top, low = low, top
    return a, top


def views_of_other_axes(x: Any, y: Any, n: Any) -> Any:
    a = np.arange(9.0).reshape(3, 3)
    r, s = a[:, 0], a[0]
    for i in range(n):
        if i % 2 == 1:
            r, s = s, r
        r[0] += 1
        s[1:] += r[:2]
    return a, r


def transposed_or_not(x: Any, y: Any, n: Any) -> Any:
    a = np.arange(9.0).reshape(3, 3)
    b, t = a, a.T
    for i in range(n):
        b[0, 1] += 1
        b = t if i % 2 == 0 else a
        b[2] = i
    return a, b


def overlapping_views(x: Any, y: Any, n: Any) -> Any:
    a = np.arange(6.0)
    r, s = a[:4], a[2:]
    for i in range(n):
        r += s
        r[1:] = s[:3]
        if i % 3 != 1:
            r, s = s, r
    return a, s


def attribute(x: Any, y: Any, n: Any) -> Any:
    o = SimpleNamespace(x=x, accepted=0)
    for _ in range(n):
        p = o.x.copy()
        p[0] += 1
        if p[0] < 3:
            o.x = p
            o.accepted += 1
    o.x[1] = 9
    return o.x, o.accepted


def item_of_a_tuple(x: Any, y: Any, n: Any) -> Any:
    t = x, 0
    for i in range(n):
        p = t[0].copy()
        p[0] += 1
        if p[0] < 3:
            t = p, i
    t[0][1] = 9
    return t


def result_of_a_call(x: Any, y: Any, n: Any) -> Any:
    def step(a: Any, i: Any) -> Any:
        if i % 3 == 1:
            return a
        b = a.copy()
        b[0] += 1
        return b

    for i in range(n):
        x = step(x, i)
        x[1] += 1
    return x


def view_or_array(x: Any, y: Any, n: Any) -> Any:
    part = np.zeros((2, 3))[0]
    for k in range(n):
        part[k % 3] += 1
        part = y if k % 2 else x
    return part


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]


def outcome(fn: Callable[..., Any], n: Any) -> list[Any]:
    """The results, and the caller's arrays after the call."""
    x, y = np.array([0.5, 2.0, 3.0]), np.array([1.0, 5.0, 4.0])
    result = fn(x, y, n)
    return [np.asarray(part).tolist() for part in (*(result if isinstance(result, tuple) else (result,)), x, y)]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_python(program: Callable[..., Any], executor: str) -> None:
    traced = on(executor, program)
    for n in (0, 1, 2, 3, 6):
        assert outcome(traced, rt.constant(n)) == outcome(program, n), n


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_number_of_python_is_as_good(program: Callable[..., Any]) -> None:
    traced = on("numpy", program)
    for n in (2, 7):
        assert outcome(traced, n) == outcome(program, n), n


def test_loops_are_not_unrolled() -> None:
    for program in (accepted, returned_early, returned_early_from_an_inner_loop, views_exchanged):
        for x in (np.arange(3.0), rt.constant([0.0, 1.0, 2.0], rt.float64)):
            if program is returned_early_from_an_inner_loop or isinstance(x, np.ndarray):
                graph = rt.function(program).get_concrete_function(x, np.ones(3), 200).graph
                assert sum(1 for _ in graph.walk()) < 100, program


def test_a_new_array_of_a_body_is_no_change_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement is staged again if it has changed what was there before: an array that the body's state came with was
    not, also if a nested statement changes it."""
    counts: Counter[str] = Counter()
    trace = _Loop._trace

    def counting(self: Any, make_items: Any) -> None:
        counts["traces"] += 1
        trace(self, make_items)

    def changed_in_a_branch(x: Any, n: Any) -> Any:
        for i in range(n):
            p = x + 1
            if i % 2 == 0:
                x = p
            if i % 3 == 0:
                x[0] = i
        return x

    monkeypatch.setattr(_Loop, "_trace", counting)
    assert rt.function(changed_in_a_branch)(np.zeros(2), rt.constant(4)).numpy().tolist() == [3, 2]
    assert counts["traces"] < 10


def test_arrays_that_share_a_new_one_are_not_changed() -> None:
    @rt.function
    def shared(x: Any, n: Any) -> Any:
        best = x
        for _ in range(n):
            p = x.copy()
            if p[0] < 5:
                x = p
                best = p
        x[0] = 3
        return best

    with pytest.raises(rt.errors.StagingError, match="an array is changed that may have another name or view here"):
        shared(np.zeros(2), rt.constant(3))


def test_a_handler_does_not_change_what_the_body_may_have_made() -> None:
    @rt.function
    def handled(x: Any, n: Any) -> Any:
        x = x.copy()
        y = x
        try:
            y = x if n % 2 == 0 else x + 1
            if n < 3:
                raise ValueError
            y[1] = 5
        except ValueError:
            y[0] = 7
        return x, y

    with pytest.raises(rt.errors.StagingError, match="an array is changed that may have another name or view here"):
        handled(np.zeros(2), rt.constant(0))


def test_what_is_read_only_is_compared_by_identity() -> None:
    """A trace that only reads has arrays as tensors, unless their identity matters."""
    def same(a: Any, n: Any) -> Any:
        b = a
        i = 0
        while i < n:
            b = a + 1
            i += 1
        return b is a

    traced = rt.function(same)
    assert [bool(traced(np.ones(2), rt.constant(n))) for n in (0, 1)] == [True, False]


def test_random_programs() -> None:
    found = {seed: rebinds.outcome(rebinds.Program(seed), f"<rebinds {seed}>", "numpy") for seed in range(24)}
    assert {seed: text for seed, text in found.items() if text not in ("same", "refused")} == {}
    assert sum(text == "same" for text in found.values()) >= 12

"""Arrays of the caller's that native code changes in their own memory: what they hold after calls, also those that
raise."""
from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as rt

STATEMENTS = [
    "a[i] = x", "a[i] += a[j]", "a[i], a[j] = a[j], a[i]", "a[1:4] = a[0:3]", "a[0:3] = a[1:4] * x", "a[-1] = r",
    "b[i] = a[:3]", "b[i, j] = 2 * b[j, i]", "b[:, i] = b[i]", "r = a[j] * x", "r = r + b[i, 0]", "b[1:] = b[:-1] + r",
    "a[2] = a.sum()", "c = a[:2].copy()", "a[3:5] = c", "b[j] -= b[i]", "a[i] = b[i].max()", "a[::2] = x",
    "b[0, ::-1] = b[0]", "c = c + a[i:i + 2]"]


def load(source: str, path: Path) -> Callable[..., Any]:
    path.write_text(source)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), names)
    found: Callable[..., Any] = names["f"]
    return found


def outcome(f: Callable[..., Any], a: Any, b: Any, *scalars: Any) -> Any:
    """The result or error of a call, and what it leaves in the arrays."""
    try:
        result: Any = [np.asarray(part, np.float64).round(6).tolist() for part in f(a, b, *scalars)]
    except (IndexError, ValueError, rt.errors.InvalidArgumentError) as error:
        result = type(error).__mro__[-4:]
    return result, a.round(6).tolist(), b.round(6).tolist()


def test_random_assignments(tmp_path: Path) -> None:
    overwriting = raising = 0
    for seed in range(60):
        draw = random.Random(seed)
        lines = ["r = x * 1.0", "c = a[:2] * 1.0", *(draw.choice(STATEMENTS) for _ in range(draw.randint(1, 6)))]
        source = "\n    ".join(["def f(a, b, i, j, x):", *lines, "return r, a[0] * 1.0, c\n"])
        f = load(source, tmp_path / f"assignments_{seed}.py")
        traced = rt.function(f, executor="native")
        for call in range(3):
            a, b = np.arange(6.0), np.arange(9.0).reshape(3, 3) + 1
            i, j = draw.choice([0, 1, 2, -1, 5]), draw.choice([0, 1, 2, -2])
            want = outcome(f, a.copy(), b.copy(), i, j, 1.5)
            got = outcome(traced, a.copy(), b.copy(), rt.constant(i), rt.constant(j), rt.constant(1.5, rt.float64))
            is_error = isinstance(want[0], tuple)
            assert got[1:] == want[1:] and isinstance(got[0], tuple) == is_error, (call, i, j, source)
            assert is_error or got[0] == want[0], (call, i, j, source)
            raising += is_error
        overwriting += bool(traced.concrete_functions and traced.concrete_functions[-1]._executable.overwritten)
    assert overwriting > 20 and raising > 10


def in_place(f: Any) -> frozenset[int]:
    found: frozenset[int] = f.concrete_functions[-1]._executable.overwritten
    return found


class Buffer:
    def __init__(self) -> None:
        self.states, self.rewards, self.k = np.zeros((5, 2)), np.zeros(4), 0

    def add(self, state, reward):
        self.states[self.k] = state
        self.rewards[self.k] = reward
        self.k = (self.k + 1) % 5


def test_attributes_and_an_error_between_two_writes() -> None:
    """The second array is shorter: Python has set the first one by then."""
    python, traced = Buffer(), Buffer()
    add = rt.function(traced.add, executor="native")
    for number in range(4):
        python.add(np.full(2, number + 1.0), number)
        add(rt.constant([number + 1.0, number + 1.0], rt.float64), rt.constant(float(number), rt.float64))
    assert in_place(add)
    for f, state in ((python.add, np.full(2, 9.0)), (add, rt.constant([9.0, 9.0], rt.float64))):
        with pytest.raises(IndexError):
            f(state, rt.constant(9.0, rt.float64) if f is add else 9.0)
    assert (traced.states == python.states).all() and (traced.rewards == python.rewards).all()
    assert traced.states[4, 0] == 9 and traced.k == python.k == 4


def test_a_tensor_of_the_same_numbers_stays() -> None:
    a = np.zeros(3)
    x = rt.constant(a)

    @rt.function(executor="native")
    def f(a, x):
        before = a[0] * 1.0
        a[0] = 5.0
        return before, x[0] * 1.0, a[0] * 1.0

    for want in (0, 5, 5):
        assert [float(part) for part in f(a, x)] == [want, 0, 5]
    assert in_place(f)


def test_what_is_read_later_is_not_overwritten() -> None:
    @rt.function(executor="native")
    def f(a, i):
        old = a.copy()
        a[i] = 5.0
        a[0] = old.sum()
        return old

    for _ in range(2):
        a = np.arange(4.0)
        assert f(a, rt.constant(2)).numpy().tolist() == [0, 1, 2, 3] and a.tolist() == [6, 1, 5, 3]


def test_loops_and_branches_leave_arrays_by_the_end() -> None:
    @rt.function(executor="native")
    def f(a, n):
        for i in range(n):
            a[i] += 1.0

    for _ in range(2):
        a = np.zeros(3)
        f(a, rt.constant(2))
        assert a.tolist() == [1, 1, 0]
        with pytest.raises(IndexError):
            f(a, rt.constant(4))
        assert a.tolist() == [2, 2, 1]
    assert not in_place(f)

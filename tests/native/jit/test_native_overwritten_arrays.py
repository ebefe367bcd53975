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


def test_loops_write_in_place_until_an_error() -> None:
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
    assert in_place(f)


PLACES = ["i", "j", "k", "i + 1", "j - 1", "k + i", "-1", "n - 1", "i - n", "k % 3", "c[k % 4]"]
VALUES = ["x", "a[{}]", "b[{}]", "a[{}] + b[{}]", "m[{}, {}]", "a.sum()", "m[{}].max()", "r", "v[0]"]
WRITES = ["a[{}] = {!v}", "b[{}] = {!v}", "a[{}] += {!v}", "a[{}], a[{}] = a[{}], a[{}]", "m[{}, {}] = {!v}",
          "m[{}] = a[:3]", "c[{}] += 1", "m[{}, :] = m[{}]", "a[:3] = m[{}]", "a[1:4] = a[0:3]", "b[:] = x",
          "t = a[:2] * 2.0", "r = r + {!v}", "if x > 2: raise KeyError(1)"]
HEADS = ["for i in range(n):", "for j in range(n - 1, -1, -1):", "for k in range(1, n):", "for k in range(q):",
         "if a[{}] > r:", "if i < j:", "if b[{}] < a[{}]:"]


def filled(draw: random.Random, template: str) -> str:
    while "{!v}" in template:
        template = template.replace("{!v}", draw.choice(VALUES), 1)
    return template.format(*[draw.choice(PLACES) for _ in range(template.count("{}"))])


def nested(draw: random.Random, depth: int) -> list[str]:
    """Statements that write arrays, in loops and branches."""
    lines = []
    for _ in range(draw.randint(1, 3)):
        if depth < 3 and draw.random() < 0.4:
            lines += [filled(draw, draw.choice(HEADS)), *("    " + line for line in nested(draw, depth + 1))]
        else:
            lines.append(filled(draw, draw.choice(WRITES)))
    return lines


def of_all(f: Callable[..., Any], arrays: list[Any], *scalars: Any) -> Any:
    """The result or the kind of error of a call, and what it leaves in the arrays."""
    try:
        returned = f(*arrays, *scalars)
        result: Any = None if returned is None else np.asarray(returned, np.float64).round(6).tolist()
    except (IndexError, KeyError) as error:
        result = IndexError if isinstance(error, IndexError) else KeyError
    return result, [x.round(6).tolist() for x in arrays]


def inputs(draw: random.Random) -> list[Any]:
    """Arrays: separate ones, one that is passed twice, strided ones."""
    a, b, m = np.arange(6.0), np.arange(6.0) * 2, np.arange(9.0).reshape(3, 3)
    kind = draw.choice(["plain", "plain", "same", "strided", "columns"])
    if kind == "strided":
        a = np.arange(12.0)[::2]
    if kind == "columns":
        m = np.asfortranarray(m)
    return [a, a if kind == "same" else b, m, np.array([0, 1, 2, 5, 1, 0])]


@pytest.mark.random
@pytest.mark.filterwarnings("ignore::runtime.function.until_error.ChangesWarning")
def test_random_loops(tmp_path: Path) -> None:
    overwriting = raising = 0
    for seed in range(24):
        draw = random.Random(seed)
        lines = ["n, k, v, r, t = len(a), 1, b, x * 1.0, a[:2] * 1.0", *nested(draw, 0), *nested(draw, 0)]
        source = "\n    ".join(["def f(a, b, m, c, i, j, q, x):", *lines, "return r + t[0] + v[0]\n"])
        f = load(source, tmp_path / f"loops_{seed}.py")
        traced = rt.function(f, executor="native")
        for call in range(3):
            i, j, q, x = draw.randint(0, 2), draw.randint(0, 3), draw.choice([0, 2, 3, 8]), draw.choice([0.5, 1.5, 3.0])
            state = draw.getstate()
            want = of_all(f, inputs(draw), i, j, q, x)
            draw.setstate(state)
            got = of_all(traced, inputs(draw), *[rt.constant(y, rt.int64) for y in (i, j, q)],
                         rt.constant(x, rt.float64))
            assert got == want, (seed, call, i, j, q, x, source)
            raising += want[0] in (IndexError, KeyError)
        overwriting += any(trace._executable.overwritten for trace in traced.concrete_functions)
    assert overwriting > 5 and raising > 10


class Counter:
    def __init__(self) -> None:
        self.rows, self.more, self.k, self.busy, self.log = np.zeros(4), np.zeros(3), 0, False, [0, 1]

    def straight(self, i, x):
        self.k += 1
        self.busy = True
        self.rows[i] = x
        self.rows[0:2] = self.rows[1:3]
        self.more[i] = x
        self.busy = False

    def in_loop(self, i, x):
        self.k += 1
        self.log[0] = 7
        for k in range(i + 1):
            self.rows[k] += x
            self.more[k] += x
        self.log[0] = 0


@pytest.mark.parametrize("name", ["straight", "in_loop"])
def test_what_else_a_call_has_changed_before_an_error(name: str) -> None:
    """Also what it changes back before its end."""
    python, traced = Counter(), Counter()
    f = rt.function(getattr(traced, name), executor="native")
    for i in (1, 0, 3, 2, 3, 1, 9):
        want = of_all(getattr(python, name), [], i, 1.5)[0]
        assert of_all(f, [], rt.constant(i), rt.constant(1.5, rt.float64))[0] == want
        assert (python.k, python.busy, python.log) == (traced.k, bool(traced.busy), [int(x) for x in traced.log])
        assert (python.rows == traced.rows).all() and (python.more == traced.more).all()
    assert in_place(f)


class Many:
    def __init__(self) -> None:
        self.rows, self.k = np.arange(6.0), 0

    def change(self, i, x):
        self.k += 1
        self.rows[i:] = x
        for k in range(12):
            self.rows[1:4] = self.rows[0:3]
            self.rows[i] += self.rows[k % 5]
        self.k += 1


def test_many_assignments_beside_an_attribute() -> None:
    python, traced = Many(), Many()
    f = rt.function(traced.change, executor="native")
    for i in (1, 2, 9, 3, 9, 0):
        want = of_all(python.change, [], i, 1.5)
        assert of_all(f, [], rt.constant(i), rt.constant(1.5, rt.float64)) == want
        assert (python.rows == traced.rows).all() and python.k == traced.k
    assert in_place(f)


def test_an_error_in_python_after_many_assignments() -> None:
    def f(a, i):
        a[3:] = a[i]
        for k in range(6):
            for _ in range(5, -1, -1):
                a[k + 1]
                a[1:4] = a[0:3]

    traced = rt.function(f, executor="native")
    for i in (0, 1):
        found, expected = np.arange(6.0) + 2, np.arange(6.0) + 2
        assert of_all(traced, [found], rt.constant(i)) == of_all(f, [expected], i)


def test_an_array_that_is_copied_beside_one_that_is_not() -> None:
    def f(a, b, i):
        a[0] += 1.0
        for k in range(i):
            b[k] += a[0]
        a[1] += 1.0

    traced = rt.function(f, executor="native")
    for i in (2, 9, 1, 9):
        python, native = [[np.zeros(3), np.zeros(6)[::2]] for _ in range(2)]
        assert of_all(traced, native, rt.constant(i))[1] == of_all(f, python, i)[1]
    assert in_place(traced)


def test_arrays_that_cannot_be_written_in_place() -> None:
    def f(a, b, n):
        for i in range(n):
            a[i + 1] = b[i] + 1.0

    traced = rt.function(f, executor="native")
    base, same = np.zeros(5), np.zeros(5)
    traced(same, same, rt.constant(4))
    assert same.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(rt.errors.StagingError, match="may share memory"):
        traced(base[1:], base[:-1], rt.constant(3))
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        traced(fixed, np.zeros(3), rt.constant(2))
    assert base.tolist() == [0] * 5 and fixed.tolist() == [0] * 3


def test_results_that_share_memory_in_python() -> None:
    """Arrays that are returned are copies; old values are those from before the write."""
    @rt.function(executor="native")
    def f(a, n):
        old = a[:2] * 1.0
        view = a[1:]
        for i in range(n):
            a[i] = a[i] + view[0]
        return a, old, view

    for _ in range(2):
        a = np.arange(4.0)
        result, old, view = f(a, rt.constant(3))
        assert a.tolist() == [1, 2, 4, 3] and old.numpy().tolist() == [0, 1]
        assert result.numpy().tolist() == a.tolist() and view.numpy().tolist() == [2, 4, 3]

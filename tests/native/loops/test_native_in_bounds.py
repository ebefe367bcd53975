"""Items that a loop surely takes within bounds are taken without a test each; the others raise as in Python."""
from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.native.loops import in_bounds


def shifted(n, k, x):
    for i in range(n):
        x[i + k] = x[i] + 1
    return x


def backwards(n, k, x):
    for i in range(n - 1, k, -1):
        x[i] = x[i - 1] + x[i]
    return x


def by_steps(n, k, x):
    for i in range(k, n, k):
        x[i] += x[2 * i - n]
    return x


def in_branches(n, k, x):
    for i in range(n):
        if x[i] > 2:
            x[i] = x[i + k] + x[3]
        elif i > k:
            x[i - k] -= 1
    return x


def wide(n, k, x):
    table = rt.reshape(x, (-1, 2))
    for i in range(n):
        for j in range(2):
            table[i, j] = table[i, 1 - j] + table[k, j]
    return table


def chosen(n, k, x):
    for i in range(n):
        x[x[i] % 5] = x[n - 1 - i] + k
    return x


def nothing(n, k, x):
    for i in range(0):
        x[i + 1000] = 1
    return x


def to_the_left(n, k, x):
    for i in range(n):
        x[-i - 1] = i * k
    return x


PROGRAMS = [shifted, backwards, by_steps, in_branches, wide, chosen, nothing, to_the_left]


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return np.array(f(*args)).tolist()
    except (IndexError, ValueError, rt.errors.OpError) as error:
        return type(error).__name__ in ("IndexError", "IndexOutOfRangeError") or type(error)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("f", PROGRAMS)
def test_as_in_python(f: Callable[..., Any], known: bool, dtype: Any) -> None:
    """All indices, within bounds and out of them; sizes of arrays that are known, or not."""
    spec = [rt.TensorSpec([], dtype), rt.TensorSpec([], dtype), rt.TensorSpec([12 if known else None], dtype)]
    native = rt.function(f, input_signature=spec, executor="native")
    reference = rt.function(f, input_signature=spec, executor="numpy")
    for n in (-3, 0, 1, 5, 6, 11, 12, 13, 40):
        for k in (-20, -12, -2, -1, 0, 1, 2, 3, 12, 30):
            if f is by_steps and k == 0:
                continue
            args = dtype(n), dtype(k), np.arange(12, dtype=dtype)
            got = outcome(native, *map(rt.constant, args))
            assert got == outcome(reference, *map(rt.constant, args)), (n, k)
            if f is not wide:  # NumPy's `reshape` is a view
                assert got == outcome(f, int(n), int(k), args[2].copy()), (n, k)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not nothing])
def test_is_planned(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    planned = in_bounds.planned

    def recorded(*args: Any) -> Any:
        plans.append(planned(*args))
        return plans[-1]

    monkeypatch.setattr(in_bounds, "planned", recorded)
    rt.function(f, executor="native")(rt.constant(5), rt.constant(1), rt.range(12))
    assert any(plans)


def random_program(r: random.Random) -> str:
    def index() -> str:
        return r.choice(["i", f"i + {r.randrange(4)}", f"i - {r.randrange(4)}", f"{r.choice([2, 3, -1, -2])} * i + k",
                         "n - 1 - i", "k", "i * k", "k - i * 2", "j", f"j + i - {r.randrange(3)}", "x[i] % 7"])

    def item() -> str:
        return f"{r.choice('xy')}[{index()}]"

    lines = ["def f(n, k, x, y):", f"    for j in range({r.randrange(1, 3)}):",
             f"        for i in range({r.choice(['n', 'k', 'n - k'])}):"]
    for _ in range(r.randrange(1, 4)):
        if r.random() < 0.4:
            lines.append(f"            if {item()} > {r.randrange(9)}:\n                {item()} = {item()} + i")
        else:
            lines.append(f"            {item()} = {item()} - {item()}")
    return "\n".join([*lines, "    return x, y"])


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        r = random.Random(seed)
        text = random_program(r)
        scope: dict[str, Any] = {}
        filename = f"<indices {seed}>"
        linecache.cache[filename] = len(text), None, text.splitlines(True), filename
        exec(compile(text, filename, "exec"), scope)
        native = rt.function(scope["f"], executor="native")
        for n, k in ((0, 0), (3, 1), (5, 2), (7, 3), (9, -2), (4, 9)):
            x, y = np.arange(10), np.arange(10)[::-1] * 3
            want = outcome(scope["f"], n, k, x.copy(), y.copy())
            got = outcome(native, rt.constant(n, rt.int64), rt.constant(k, rt.int64), rt.constant(x), rt.constant(y))
            assert got == want, (text, n, k)


def scaled(n, k, x, by):
    for i in range(n):
        x[i] = x[i] * by[k]
    return x


def test_what_nothing_writes_is_loaded_before_a_loop() -> None:
    """LLVM knows that arguments do not change, unless results are put into them."""
    arrays = np.arange(12.0), np.arange(12.0)
    concrete = rt.function(scaled, executor="native").get_concrete_function(
        rt.constant(5), rt.constant(1), *map(rt.constant, arrays))
    assert "!invariant.load" in concrete.inspect_llvm(optimized=False)
    in_place = rt.function(scaled, executor="native")
    for x, by in (arrays, (arrays[0], arrays[0])):
        want = x.copy()
        scaled(5, 3, want, want if by is x else by)
        in_place(rt.constant(5), rt.constant(3), x, by)
        np.testing.assert_array_equal(x, want)
    assert "!invariant.load" not in in_place.concrete_functions[0].inspect_llvm(optimized=False)

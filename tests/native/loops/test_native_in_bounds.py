"""Items that a loop surely takes within bounds are taken without a test each; the others raise as in Python."""
from __future__ import annotations

import linecache
import random
import re
import signal
import time
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


def swapped(n, k, x):
    for i in range(n):
        if x[i] + k > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
    return x


def scattered(n, k, x):
    for i in range(n):
        x[2 * i] = k
    return x


def while_below(n, k, x):
    i = k
    while i < n:
        x[i] += x[i - 1] * 2
        i += 1
    return x


def while_above(n, k, x):
    i = n
    while k <= i:
        x[i - k] = i
        i -= 2
    return x


def while_by_steps(n, k, x):
    i = 0
    while n > i:
        if x[i] != 4:
            x[i] = x[2 * i % 12] - k
        i += k
    return x


def while_down_by_steps(n, k, x):
    i = n
    while i > -1:
        x[i] = k
        i = i - k
    return x


def while_negative_steps(n, k, x):
    i, total = n, 0
    while i >= k:
        i += -3
        total += x[i]
    return total


def while_moving(n, k, x):
    j = n - 1
    while j >= 0 and x[j] > k:
        x[j + 1] = x[j]
        j -= 1
    x[j + 1] = k
    return x


def while_different(n, k, x):
    i = 0
    while i < n and x[i] != k and x[i + 1] < 9:
        i += 1
    return i


def while_either(n, k, x):
    i, total = k, 0
    while n > i and (x[i] > 3 or x[i - k] < 2):
        total += x[i + 1]
        i += 1
    return total


def while_small(n, k, x):
    i, total = 0, 0
    while total < 20 and i <= n:
        total += x[i] + k
        i += 1
    return total


def while_both_below(n, k, x):
    i, j = 0, k
    while i < n and j < 12:
        x[i] = x[j]
        i, j = i + 1, j + 2
    return x


def search_up(n, k, x):
    i = n
    while x[i] != k:
        i += 2
    return i


def search_down(n, k, x):
    i, total = n, 0
    while total < 30 and x[i - 2] > k:
        total += x[i]
        i -= 1
    return i + total


WHILES_WITH_MORE = [while_moving, while_different, while_either, while_small, while_both_below]
WHILES = [while_below, while_above, while_by_steps, while_down_by_steps, while_negative_steps, *WHILES_WITH_MORE]
SEARCHES = [search_up, search_down]
PROGRAMS = [shifted, backwards, by_steps, in_branches, wide, chosen, nothing, to_the_left, swapped, scattered, *WHILES]


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return np.array(f(*args)).tolist()
    except (IndexError, ValueError, rt.errors.OpError) as error:
        return type(error).__name__ in ("IndexError", "IndexOutOfRangeError") or type(error)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("f", [*PROGRAMS, *SEARCHES])
def test_as_in_python(f: Callable[..., Any], known: bool, dtype: Any) -> None:
    """All indices, within bounds and out of them; sizes of arrays that are known, or not."""
    spec = [rt.TensorSpec([], dtype), rt.TensorSpec([], dtype), rt.TensorSpec([12 if known else None], dtype)]
    native = rt.function(f, input_signature=spec, executor="native")
    reference = rt.function(f, input_signature=spec, executor="numpy")
    for n in (-3, 0, 1, 5, 6, 11, 12, 13, 40):
        for k in (-20, -12, -2, -1, 0, 1, 2, 3, 12, 30):
            if (f is by_steps and k == 0) or (f in (while_by_steps, while_down_by_steps) and k <= 0 <= n):
                continue
            args = dtype(n), dtype(k), np.arange(12, dtype=dtype)
            got = outcome(native, *map(rt.constant, args))
            assert got == outcome(reference, *map(rt.constant, args)), (n, k)
            if f is not wide:  # NumPy's `reshape` is a view
                assert got == outcome(f, int(n), int(k), args[2].copy()), (n, k)


@pytest.mark.parametrize("f", [f for f in PROGRAMS if f is not nothing])
def test_is_planned(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    name = "planned_while" if f in WHILES else "planned"
    planned = getattr(in_bounds, name)

    def recorded(*args: Any) -> Any:
        plans.append(planned(*args))
        return plans[-1]

    monkeypatch.setattr(in_bounds, name, recorded)
    rt.function(f, executor="native")(rt.constant(5), rt.constant(1), rt.range(12))
    assert any(plans)


def random_program(r: random.Random) -> str:
    def index() -> str:
        return r.choice(["i", f"i + {r.randrange(4)}", f"i - {r.randrange(4)}", f"{r.choice([2, 3, -1, -2])} * i + k",
                         "n - 1 - i", "k", "i * k", "k - i * 2", "j", f"j + i - {r.randrange(3)}", "x[i] % 7"])

    def item() -> str:
        return f"{r.choice('xy')}[{index()}]"

    limit = r.choice(["n", "k", "n - k"])
    lines = ["def f(n, k, x, y):", f"    for j in range({r.randrange(1, 3)}):"]
    step = ""
    if r.random() < 0.5:
        lines.append(f"        for i in range({limit}):")
    else:
        sign = r.choice("+-")
        first, relation = (r.choice(["j", "k", "-2"]), r.choice(["<", "<="])) if sign == "+" else (
            r.choice(["n", "n + j", "9"]), r.choice([">", ">="]))
        test = f"i {relation} {limit}" if r.random() < 0.7 else f"{limit} {relation.translate(_EXCHANGED)} i"
        if r.random() < 0.5:
            more = f"{item()} {r.choice(['<', '!='])} {r.randrange(20)}"
            test = f"{test} and {more}" if r.random() < 0.8 else f"{more} and {test}"
        lines += [f"        i, limit = {first}, {limit}", f"        while {test}:"]
        step = f"            i {sign}= {r.choice(['1', '1', '2', '3', 'abs(k) + 1'])}"
    for _ in range(r.randrange(1, 4)):
        if r.random() < 0.4:
            lines.append(f"            if {item()} > {r.randrange(9)}:\n                {item()} = {item()} + i")
        else:
            lines.append(f"            {item()} = {item()} - {item()}")
    if step:
        lines.insert(len(lines) if r.random() < 0.7 else 4, step)
    return "\n".join([*lines, "    return x, y"])


_EXCHANGED = str.maketrans("<>", "><")


@pytest.mark.parametrize(("first", "limit", "step"), [
    (0, 2**63 - 1, 2**62), (0, 2**63 - 1, 2**62 - 1), (2**63 - 8, 2**63 - 1, 1), (2**63 - 8, 2**63 - 1, 3),
    (3, 9, 2**39), (3, 9, 2**63 - 1), (-2**63, -2**63 + 9, 2), (5, 5, 1), (6, 5, 2), (2**62, -2**62, 1)])
def test_numbers_at_the_ends(first: int, limit: int, step: int) -> None:
    """A sum that does not fit is an error, in the last iteration, too."""
    def up(start, limit, step, x):
        i, count = int(start), 0
        while i < limit:
            count += x[i % 4]
            i += int(step)
        return count

    def down(start, limit, step, x):
        i, count = int(start), 0
        while limit < i:
            count += x[i % 4]
            i -= int(step)
        return count

    x = np.arange(1, 5)
    for fn, sign in (up, 1), (down, -1):
        ends = [min(sign * end, 2**63 - 1) for end in (first, limit)]
        i, want = ends[0], 0
        while sign * i < sign * ends[1] and abs(i) <= 2**63:
            want += int(x[i % 4])
            i += sign * step
        args = [rt.constant(end, rt.int64) for end in (*ends, step)]
        native = rt.function(fn, executor="native")
        if -2**63 <= i < 2**63:
            assert native(*args, rt.constant(x)) == want
        else:
            with pytest.raises(OverflowError):
                native(*args, rt.constant(x))


def test_a_while_within_bounds_tests_no_item() -> None:
    def mark(n, step, found):
        i = step * step
        while i < n:
            found[i] = 1
            i += step
        return found

    f = rt.function(mark, executor="native")
    given = rt.constant(1000, rt.int64), rt.constant(7, rt.int64), rt.zeros([1000])
    assert int(rt.reduce_sum(f(*given))) == len(range(49, 1000, 7))
    lines = f.get_concrete_function(*given).inspect_llvm().splitlines()
    loops = [k for k, line in enumerate(lines) if "store float 1.0" in line]
    blocks = ["\n".join(lines[k:k + next(j for j, line in enumerate(lines[k:]) if line.startswith("  br "))])
              for k in loops]
    assert any("icmp" in block and "call" not in block and "extractvalue" not in block for block in blocks)
    with pytest.raises(IndexError):
        f(rt.constant(1001, rt.int64), rt.constant(10, rt.int64), given[2])


def insert(n, key, x):
    j = n - 2
    while j >= 0 and x[j] > key:
        x[j + 1] = x[j]
        j -= 1
    x[j + 1] = key
    return x


def loops_of(text: str) -> list[str]:
    """The loops of LLVM code, each the text from its header to its first back edge."""
    blocks = re.finditer(r"^(?!common.ret)(\w[\w.]*):.*\n", text, re.M)
    headers = [(block[1], text[block.end():]) for block in blocks]
    edges = [(re.search(rf"^  br .*label %{re.escape(label)}(?![\w.])", rest, re.M), rest) for label, rest in headers]
    return [rest[:edge.end()] for edge, rest in edges if edge is not None]


@pytest.mark.optimised
@pytest.mark.parametrize("size", [9, None])
def test_a_while_that_also_looks_at_items_tests_no_index_and_does_not_poll(size: int | None) -> None:
    specs = [rt.TensorSpec([], rt.int64), rt.TensorSpec([], rt.float64), rt.TensorSpec([size], rt.float64)]
    f = rt.function(insert, input_signature=specs, executor="native")
    loops = loops_of(f.get_concrete_function().inspect_llvm())
    (loop,) = [loop for loop in loops if "store" in loop and "call" not in loop]
    assert loop.count("icmp") == loop.count("fcmp") == loop.count("store") == 2  # two iterations
    for n in (-20, 0, 1, 2, 9, 10, 11):
        for key in (-1.0, 3.5, 100.0):
            args = rt.constant(n, rt.int64), rt.constant(key, rt.float64), rt.constant(np.arange(9.0))
            assert outcome(f, *args) == outcome(insert, n, key, np.arange(9.0))


def item_before(n, k, x):
    i = k
    while x[i] != 5 and i < n:
        i += 1
    return i


def item_between(n, k, x):
    i, total = k, 0
    while total < 20 and x[i] != 5 and i < n:
        total += x[i]
        i += 1
    return i + total


def item_in_another_condition(n, k, x):
    i, total = k, 0
    while (total < 20 and x[i] != 5) & (i < n):
        total += x[i]
        i += 1
    return i + total


@pytest.mark.parametrize("f", [item_before, item_between, item_in_another_condition])
def test_items_that_a_test_reads_before_the_comparison_raise_as_in_python(f: Callable[..., Any]) -> None:
    native = rt.function(f, executor="native")
    for n, k in (9, 0), (3, 1), (2, 4), (0, 9), (0, -9), (0, -3), (99, 6):
        want = outcome(f, n, k, np.arange(9))
        assert outcome(native, rt.constant(n, rt.int64), rt.constant(k, rt.int64), rt.constant(np.arange(9))) == want


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
    """LLVM knows that arguments do not change, unless they are arrays that the call writes."""
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
    apart, same = [trace.inspect_llvm(optimized=False) for trace in in_place.concrete_functions]
    assert "!invariant.load" in apart and "!invariant.load" not in same


def endless(n, x):
    i, k = 0, 0
    while k < n:
        x[i % 4] += 1.0
        i += 1
        k += 1
    return x


def endless_with_more(n, x):
    i, k = 0, 0
    while k < n and x[i % 4] >= 0:
        x[i % 4] += 1.0
        i += 1
        k += 1
    return x


def endless_without_pieces(n, x):
    k = 0
    while k < n:
        j = 3
        while j > 0 and x[j - 1] >= 0:
            x[j] = x[j - 1] + 1.0
            j -= 1
        k += 1
    return x


def endless_searches(n, x):
    k = 0
    while k < n:
        j = 0
        while x[j] >= j:
            j += 1
        for i in range(j):
            x[i] += j - 1
        k += 1
    return x


def endless_walk(n, x):
    i, k = 0, 0
    while x[i] < 9.0 and (k < 9 or n > 9):
        i = 1 - i
        k += 1
    return x


@pytest.mark.parametrize("limit", [2**31 - 2, 2**62])
@pytest.mark.parametrize("endless", [
    endless, endless_with_more, endless_without_pieces, endless_searches, endless_walk])
def test_an_interrupt_ends_a_while_within_bounds(endless: Callable[..., Any], limit: int) -> None:
    f = rt.function(endless, executor="native")
    x = rt.zeros([4])
    f(rt.constant(3, rt.int64), x)
    start = time.monotonic()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            f(rt.constant(limit, rt.int64), x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert time.monotonic() - start < 10


def stepped(x, start, stop, step):
    total = 0
    for k in range(start, stop, step):
        x[k % 7] += 1
        total = 2 + (k + 35)
    return total


@pytest.mark.parametrize("bounds", [
    (3, 50, 2), (50, 3, -3), (0, 0, 5), (2**63 - 60, 2**63 - 20, 3), (2**63 - 60, 2**63 - 36, 3), (2**61, 9, -2**59),
    (-2**63 + 1, -2**63 + 60, 4), (-2**61, 2**61 - 1, 2**59)])
def test_sums_that_overflow_in_some_iterations(bounds):
    """The check of a sum is made before the loop only if all iterations pass it."""
    f = rt.function(stepped, executor="native")
    x, y = np.zeros(7), np.zeros(7)
    want = stepped(x, *bounds)
    if want < 2**63:
        assert int(f(y, *map(wide_int, bounds))) == want
        assert (x == y).all()
    else:
        with pytest.raises(OverflowError):
            f(y, *map(wide_int, bounds))


def wide_int(x):
    return rt.constant(x, rt.int64)

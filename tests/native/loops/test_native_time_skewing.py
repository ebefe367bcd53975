"""Loops over arrays that make several steps in one pass over memory: the same bits as step by step."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from native_runs import Compared, compare

import autograph as ag
import runtime as rt
from runtime.backends.native.loops import time_skewing
from tests.native.codegen.test_native_piecewise_arrays import PROGRAMS, heat, life, random_step, rest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any size are swept."""
    monkeypatch.setattr(time_skewing, "_CACHE", 0)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = rt.config.threading.get_intra_op_parallelism_threads()
    yield rt.config.threading.set_intra_op_parallelism_threads
    rt.config.threading.set_intra_op_parallelism_threads(before)


def steps_of(fn: Callable[..., Any], *arguments: Any) -> int:
    """How many steps a pass makes; 1 if each is one."""
    specs = [x if isinstance(x, rt.TensorSpec) else rt.constant(x) for x in arguments]
    return steps_in(rt.function(fn, executor="native").get_concrete_function(*specs))


def steps_in(concrete: Any) -> int:
    text = concrete.explain_native()
    found = [line.rsplit(" makes ", 1)[1] for line in text.splitlines() if " makes " in line]
    assert all(line.endswith(" steps in one pass over memory") for line in found)
    return int(found[0].split()[0]) if found else 1


def grid(shape: Any, dtype: Any = np.float32, high: int = 100) -> Any:
    return np.random.default_rng(0).integers(0, high, shape).astype(dtype)


SWEPT = {"life", "heat", "padded_first", "two_states", "one_in_place", "of_three"}


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("fn", [fn for fn in PROGRAMS if fn.__name__ in SWEPT], ids=lambda fn: fn.__name__)
def test_programs(fn: Callable[..., Any], dtype: Any, small: None, threads: Callable[[int], None]) -> None:
    """Also numbers of steps that 16 does not divide, and bands that several threads share."""
    for shape in ((301, 40), (530, 67)):
        x = grid(shape, dtype, 2 if fn is life else 100)
        at = Compared(fn, x, 0)
        assert steps_in(at.native) == 16
        for n, count in ((0, 1), (1, 3), (15, 1), (16, 2), (17, 1), (40, 3)):
            threads(count)
            at(x, n)


@pytest.mark.parametrize("fn", [fn for fn in PROGRAMS if fn.__name__ not in SWEPT], ids=lambda fn: fn.__name__)
def test_programs_that_need_more_than_rows_near_by(fn: Callable[..., Any], small: None) -> None:
    assert steps_of(fn, grid((301, 40)), 3) == 1


def far(low: int, high: int) -> Callable[..., Any]:
    def far(x, n):
        for _ in range(n):
            x = x + 2 * rt.roll(x, low, 0) - rt.pad(x[high:, 1:], [[0, high], [0, 1]], constant_values=1)
        return x

    return far


@pytest.mark.parametrize(("height", "low", "high", "steps"), [
    (300, 0, 0, 16), (300, 1, 0, 16), (300, 0, 1, 16), (300, 2, 3, 7), (300, 5, 1, 6), (300, 7, 8, 1), (300, 290, 1, 3),
    (160, 3, 2, 4), (159, 3, 2, 1), (64, 1, 1, 4), (63, 1, 1, 1), (1000, 20, 11, 4), (1000, 31, 1, 1),
])
def test_how_far_rows_may_be(height: int, low: int, high: int, steps: int, small: None,
                             threads: Callable[[int], None]) -> None:
    """A band is at least eight times as high as what is computed twice; else each step is a pass."""
    fn = far(low, high)
    x = grid((height, 33), np.int32)
    at = Compared(fn, x, 21)
    assert steps_in(at.native) == (steps if steps > 3 else 1)
    for count in (1, 2):
        threads(count)
        at(x, 21)


def test_what_steps_see_is_found_out(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row less the results differ: so the comparison sees it."""
    x = grid((300, 33), np.int32)
    for fn in (far(3, 2), life):
        compare(fn, x, 20)
    original = time_skewing._tried

    def less(*arguments: Any) -> Any:
        groups, seen = original(*arguments)
        return groups, {d for d in seen if d != max(seen)}

    monkeypatch.setattr(time_skewing, "_tried", less)
    for fn in (far(3, 2), heat):
        with pytest.raises(AssertionError, match="differ"):
            compare(fn, x, 20)


def with_counter(x, k, n):
    """A scalar that depends on the counter, one that is carried, an array and a number from outside."""
    rate = rt.constant(0.5)
    for i in range(n):
        x = x * rate + rt.roll(x, 1, 0) * k + rt.cast(i, rt.float32)
        rate = rate * 0.75 + 0.125
    return x, rate


def until(x, k, n):
    rate, i = k[0, 0], 0
    while i < n and rate < 900.0:
        x = rt.roll(x, [1, -1], [0, 1]) * 0.5 + k * rate
        rate = rate + rt.cast(i, rt.float32)
        i += 2
    return x, rate, i


def limited(x, k, n):
    i = 0
    while i < n:
        ag.set_loop_options(maximum_iterations=19)
        x = x - rt.roll(x, -2, 0) * k
        i += 1
    return x, i


def flags_and_numbers(x, k, n):
    alive, count = x > 50.0, rt.cast(x, rt.int64)
    flip = False
    for i in range(n):
        alive = alive ^ rt.roll(alive, 1, 0)
        count = rt.where(alive, count + rt.roll(count, -1, 1), count - rt.cast(i, rt.int64))
        flip = not flip
        x = rt.where(flip, x, -x) + rt.cast(alive, rt.float32)
    return x, alive, count, flip


def set_items(x, k, n):
    for _ in range(n):
        x[1:-1, 1:-1] = x[1:-1, 1:-1] + 0.125 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def columns(x, k, n):
    for _ in range(n):
        x = x * 0.5 + x[:, ::-1] + k
    return x


@pytest.mark.parametrize("fn", [with_counter, until, limited, flags_and_numbers, set_items, columns],
                         ids=lambda fn: fn.__name__)
def test_scalars_and_what_is_seen_from_outside(fn: Callable[..., Any], small: None, threads: Callable[[int], None]
                                               ) -> None:
    x, k = grid((300, 41)), grid((300, 41), high=2)
    at = Compared(fn, x, k, 0)
    assert steps_in(at.native) == 16
    for n, count in ((0, 1), (5, 3), (16, 1), (37, 2)):
        threads(count)
        at(x, k, n)


def test_of_three_dimensions_and_of_several_widths(small: None, threads: Callable[[int], None]) -> None:
    def cube(x, y, n):
        for _ in range(n):
            x = x + rt.roll(x, [1, -2, 3], [0, 1, 2]) * 0.5 - rt.pad(x[1:, :, :-1], [[0, 1], [0, 0], [1, 0]])
            y = y + rt.roll(y, 2, 0)
        return x, y

    x, y = grid((128, 5, 17)), grid((128, 70), np.uint8)
    at = Compared(cube, x, y, 13)
    assert steps_in(at.native) == 5
    for count in (1, 2):
        threads(count)
        at(x, y, 13)


def rolled(x, n):
    for _ in range(n):
        x = 2 * rt.roll(x, 1, 0) + x - rt.roll(x, -1, 0)
    return x


def padded(x, n):
    for i in range(n):
        x = rt.pad(x[1:-1] + (x[:-2] + x[2:]) * rt.cast(i, x.dtype), [[1, 1]], constant_values=2)
    return x


def three_and_two(x, n):
    y = x * 2
    for _ in range(n):
        x, y = x - rt.roll(y, 2, 0), y + 3 * rt.concat([x[3:], x[:3]], 0)
    return x, y


def set_line(x, n):
    for _ in range(n):
        x[2:-1] = x[:-3] + 2 * x[3:]
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("fn", [rolled, padded, three_and_two, set_line], ids=lambda fn: fn.__name__)
def test_of_one_dimension(fn: Callable[..., Any], dtype: Any, small: None, threads: Callable[[int], None],
                          monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks, of which the last may be short."""
    monkeypatch.setattr(time_skewing, "_BLOCK", 1 << 12)
    for size in (3000, 4001, 20011):
        x = grid(size, dtype)
        at = Compared(fn, x, 0)
        assert steps_in(at.native) >= 4
        for n, count in ((0, 1), (1, 3), (7, 1), (16, 2), (33, 3)):
            threads(count)
            at(x, n)


@pytest.mark.parametrize(("size", "steps"), [(2000, 16), (512, 8), (256, 4), (255, 3)])
def test_short_lines(size: int, steps: int, small: None) -> None:
    """A block is a quarter of the whole at most, and has eight times the elements that are computed twice."""
    at = Compared(rolled, grid(size, np.int32), 35)
    assert steps_in(at.native) == (steps if steps > 3 else 1)
    at(grid(size, np.int32), 35)


def item(x, n):
    for _ in range(n):
        x = rt.roll(x, 1, 0) * x[0, 0]
    return x


def backwards(x, n):
    for _ in range(n):
        x = x + x[::-1]
    return x


def one_row_for_all(x, n):
    for _ in range(n):
        x = x + x[1:2]
    return x


def one_column_for_all(x, n):
    for _ in range(n):
        x = rt.roll(x, 1, 0) + x[:, 3:4]
    return x


def every_second_row(x, n):
    for _ in range(n):
        x = rt.concat([x[::2], x[1::2]], 0)
    return x


def transposed(x, n):
    for _ in range(n):
        x = rt.transpose(x) + rt.roll(x, 1, 0)
    return x


def divides(x, n):
    k = 3
    for _ in range(n):
        x = rt.roll(x, 1, 0) // k
        k -= 1
    return x


def prints(x, n):
    for i in range(n):
        x = rt.roll(x, 1, 0) + x
        if i == 100:
            rt.print("here")
    return x


def summed(x, n):
    total = x[0, 0]
    for _ in range(n):
        x = rt.roll(x, 1, 0) + x
        total += rt.reduce_sum(x)
    return x, total


def stored_in_between(x, n):
    """An expression that is not cheap, and is needed as a whole and by parts."""
    for _ in range(n):
        y = x * x * x - x * 3 + x * x
        x = rt.roll(y, 1, 0) + y
    return x


@pytest.mark.parametrize("fn", [item, backwards, one_row_for_all, one_column_for_all, every_second_row, transposed,
                                divides, prints, summed, stored_in_between, rest], ids=lambda fn: fn.__name__)
def test_step_by_step(fn: Callable[..., Any], small: None) -> None:
    x = grid((200, 200), np.int32, 2)
    at = Compared(fn, x, 5)
    assert steps_in(at.native) == 1
    if fn is not divides:
        at(x, 5)


def test_only_where_all_rows_are_known(small: None) -> None:
    def line(x, n):
        for _ in range(n):
            x = x + rt.roll(x, 1, 0)
        return x

    n = rt.TensorSpec([], rt.int32)
    assert steps_of(line, rt.TensorSpec([400, 40], rt.float32), n) == 16
    for shape in ([None, 40], [400, None], [None]):
        assert steps_of(line, rt.TensorSpec(shape, rt.float32), n) == 1

    def both(x, y, n):
        for _ in range(n):
            x, y = x + rt.roll(x, 1, 0), y - rt.roll(y, 1, 0)
        return x, y

    for one, other, steps in (([400, 40], [400, 7], 16), ([400, 40], [401, 40], 1), ([400, 40], [400], 1)):
        assert steps_of(both, rt.TensorSpec(one, rt.float32), rt.TensorSpec(other, rt.float32), n) == steps


def test_from_which_size_on() -> None:
    """Where both memories of the arrays have 32 MB or more, and the rings of a band at most 2 MB."""
    n = rt.TensorSpec([], rt.int32)
    for shape, dtype, steps in (
            ((2048, 2048), rt.float32, 16), ((2048, 2047), rt.float32, 1), ((4096, 4096), rt.uint8, 16),
            ((1024, 1024), rt.float64, 1), ((8192, 8192), rt.float32, 16), ((1024, 1 << 16), rt.float32, 3),
            ((1024, 40000), rt.float32, 4)):
        assert steps_of(heat, rt.TensorSpec(shape, dtype), n) == (steps if steps > 3 else 1), shape


def test_report() -> None:
    cells = rt.TensorSpec([4096, 4096], rt.uint8)
    concrete = rt.function(life, executor="native").get_concrete_function(cells, rt.TensorSpec([], rt.int32))
    line = life.__code__.co_firstlineno + 1
    assert concrete.explain_native() == (
        f"life: one native function of {sum(1 for _ in concrete.optimized.walk())} ops\n"
        "  one loop over [4096,4096]: 7 add, 3 equal, bitwise_and, bitwise_or, cast\n"
        f"  {life.__code__.co_filename}:{line}: reduce makes 16 steps in one pass over memory\n"
        "  nothing calls Python")


def test_within_a_loop_and_a_condition(small: None) -> None:
    """The memory of a loop is used again by its next run."""
    def nested(x, n):
        total = rt.zeros_like(x)
        for k in range(n):
            y = x
            for _ in range(k):
                y = y * 0.5 + rt.roll(y, 1, 0)
            if k != 2:
                total = total + y
            x = y - 1.0
        return x, total

    at = Compared(nested, grid((128, 20)), 5)
    assert steps_in(at.native) == 16
    at(grid((128, 20)), 5)


@pytest.mark.parametrize("seed", [1, 2, 4, 6, 8, 9, 14, 19, 22, 23, 25, 32, 35, 36])  # others see far rows, or store
def test_random(seed: int, small: None, threads: Callable[[int], None]) -> None:
    rng = random.Random(seed)
    shape = rng.choice([(170, 40), (233, 30), (140, 5, 20), (400, 17), (260, 2), (64, 2, 70), (333, 16)])
    depths = [rng.randrange(1, 5), rng.randrange(1, 4)]

    def near(x: Any, again: random.Random, depth: int) -> Any:
        """As `random_step`, with shifts of rows that are small."""
        class Near(random.Random):
            def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
                if stop is not None and stop - start > 50:
                    return again.choice([1, 2, x.shape[0] - 2] if start == 1 else [-2, -1, 1, 3])
                return again.randrange(start, stop, step)

            def choice(self, seq: Any) -> Any:
                return again.choice(seq)

            def random(self) -> float:
                return again.random()

        return random_step(Near(), x, depth)

    def fn(x, y, n):
        for _ in range(n):
            again = random.Random(seed)
            x, y = near(x, again, depths[0]), near(y, again, depths[1]) + x
        return x, y

    x = np.random.default_rng(seed).integers(-50, 50, shape).astype(rng.choice([np.int32, np.int8, np.float32]))
    at = Compared(fn, x, x, 9)
    assert steps_in(at.native) > 1
    for count in (1, 3):
        threads(count)
        at(x, x + 1, 9)

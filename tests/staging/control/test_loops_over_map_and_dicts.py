"""Loops over `map`, `filter` and dicts of Python's, which are loops of the graph where that means the same."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.traced_once import on

N = 300


def product(a: Any, b: Any) -> Any:
    return a * b % 11


def mapped(x: Any) -> Any:
    s = x
    for y in map(lambda k: k * x % 7, range(N)):
        s += y
    return s


def of_two(x: Any) -> Any:
    s = x
    for y in map(product, range(N), [3] * (N - 5)):
        s += y
    else:
        s += 1
    return s


def of_a_filter(x: Any) -> Any:
    s = x
    for y in filter(lambda k: k % 3 < x, map(lambda k: k + 1, range(N))):
        s += y
    return s


def in_a_comprehension(x: Any) -> Any:
    return sum(y * x for y in filter(None, [0, 1, 2] * 40))


def keys(x: Any) -> Any:
    s = x
    for k in {k * 3: 0 for k in range(N)}:
        s += k
    return s


def values(x: Any) -> Any:
    d = {k: k * k % 13 for k in range(N)}
    s = x
    for v in d.values():
        s += v
    for k in d.keys():
        s += k
    return s


def items(x: Any) -> Any:
    s = x
    for k, v in {k: k * 0.5 for k in range(N)}.items():
        if k % 2 == 0:
            continue
        s += k * int(v)
    return s


ROLLED: list[Callable[[Any], Any]] = [mapped, of_two, of_a_filter, in_a_comprehension, keys, values, items]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", ROLLED)
def test_rolled(fn: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, fn)
    assert int(traced(rt.constant(1))) == fn(1)
    assert sum(1 for _ in traced.concrete_functions[0].graph.walk()) < 60
    assert "iteration by iteration" not in traced.explain()


def where_the_iterator_is(x: Any) -> Any:
    m = map(lambda k: k * x, range(N))
    first, s = next(m), x
    for y in m:
        s += y
    return s + first, next(m, "none")


def left_early(x: Any) -> Any:
    numbers = iter(range(N))
    m = map(lambda k: k * x, numbers)
    s = x
    for _, y in zip(range(20), m, strict=False):
        s += y
    return s, next(numbers)


def effects_of_the_function(x: Any) -> Any:
    seen = []

    def note(k: Any) -> Any:
        seen.append(k * x)
        return k

    s = x
    for y in map(note, range(30)):
        s += y + len(seen)
    return s, len(seen), seen[3]


def ended_by_the_function(x: Any) -> Any:
    s = x
    for y in map(next, [iter([1, 2]), iter([3]), iter([]), iter([4])]):
        s += y
    return s


def changes_values(x: Any) -> Any:
    d = {k: 1 for k in range(40)}
    s = x
    for k, v in d.items():
        d[39 - k] += 1
        s += v * k
    return s, d[3]


def an_ordered_dict(x: Any) -> Any:
    d = OrderedDict((k, k) for k in range(40))
    d.move_to_end(3)
    s = x
    for k in d:
        s = s * 3 % 1009 + k
    return s


UNROLLED: list[Callable[[Any], Any]] = [
    where_the_iterator_is, left_early, effects_of_the_function, ended_by_the_function, changes_values, an_ordered_dict]


@pytest.mark.parametrize("fn", UNROLLED)
def test_as_in_python(fn: Callable[[Any], Any]) -> None:
    got = [x if isinstance(x, str) else int(x) for x in rt.nest.flatten(rt.function(fn)(rt.constant(2)))]
    assert got == rt.nest.flatten(fn(2))


def test_a_map_that_a_tensor_leaves_is_lost() -> None:
    def left(x: Any) -> Any:
        m = map(lambda k: k * 2, range(N))
        for y in m:
            if y > x:
                break
        return x + next(m)

    with pytest.raises(rt.errors.StagingError, match="where this map is, is known only when the graph runs"):
        rt.function(left)(rt.constant(2))


def test_prints_alternate(capfd: pytest.CaptureFixture[str]) -> None:
    def shown(k: Any) -> Any:
        print("f", k)
        return k

    def program(x: Any) -> Any:
        for y in map(shown, range(12)):
            print("body", y * x)
        return x

    program(2)
    want = capfd.readouterr().out
    rt.function(program)(rt.constant(2))
    assert capfd.readouterr().out == want


def test_a_dict_that_gets_keys_in_a_loop_over_it() -> None:
    def grows(x: Any) -> Any:
        d = {k: x for k in range(40)}
        for k in d:
            d[k + 100] = x
        return x

    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        rt.function(grows)(rt.constant(2))

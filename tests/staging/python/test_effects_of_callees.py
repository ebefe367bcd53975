"""What functions change that builtins call, or that make the items of a loop which a tensor leaves."""
# The functions are traced, and have no annotations.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import functools
import heapq
import itertools
from typing import Any

import pytest
from plain_values import plain

import runtime as rt
from runtime.errors import StagingError

COUNT = 0
LOG: list[Any] = []


class Total:
    n = 0


def reset() -> None:
    global COUNT
    COUNT = Total.n = 0
    LOG.clear()


def counted(take):
    """A program in which the function that `take` gives to builtins counts its calls in all that it reaches."""
    def program(n):
        own, items, number, table, of_object = [0], [], 0, {0: 0}, Total()

        def note(v):
            global COUNT
            nonlocal number
            number += 1
            own[0] += 1
            items.append(v)
            table[0] += v
            of_object.n += 1
            Total.n += 1
            COUNT += 1
            LOG.append(v)
            return -v

        found = take(n, note, lambda a, v: note(v) - a)
        return found, own, items, number, table[0], of_object.n

    return program


def by_sorted(n, f, _):
    return sorted(range(n), key=f)


def by_sort(n, f, _):
    xs = list(range(n))
    xs.sort(key=f)
    return xs


def by_partial(n, _, f):
    return sorted(range(n), key=functools.partial(f, 3))


def by_extremes(n, f, _):
    return max(range(n), key=f, default=0), min(range(n), key=f, default=0)


def by_filter(n, f, _):
    return list(filter(f, range(n)))


def by_reduce(n, _, f):
    return functools.reduce(f, range(n), 0)


def by_reduce_of_map(n, f, g):
    return functools.reduce(g, map(f, range(n)), 0)


def by_map(n, f, _):
    return sum(map(f, range(n)))


def by_heapq(n, f, _):
    return heapq.nlargest(2, list(range(n)), key=f)


def by_dropwhile(n, f, _):
    return list(itertools.dropwhile(f, range(n)))


CALLS = [by_sorted, by_sort, by_partial, by_extremes, by_filter, by_reduce, by_reduce_of_map, by_map, by_heapq,
         by_dropwhile]


@pytest.mark.parametrize("take", CALLS, ids=[call.__name__ for call in CALLS])
def test_a_function_given_to_a_builtin_changes_what_it_does_in_python(take) -> None:
    program = counted(take)
    staged = rt.function(program)
    for n in (4, 0, 1):
        results = []
        for run in (lambda: program(n), lambda: plain(staged(rt.constant(n)))):
            reset()
            results.append((run(), COUNT, Total.n, plain(list(LOG))))
        assert results[0] == results[1], n


def loop_over_generator(x, note):
    def items():
        for k in range(5):
            yield note(k)

    for v in items():
        if v >= x:
            break


def loop_over_map(x, note):
    for v in map(note, range(5)):
        if v >= x:
            break


def return_from_map(x, note):
    for v in map(functools.partial(note), range(5)):
        if v >= x:
            return v
    return -1


def loop_over_filter(x, note):
    for v in filter(note, range(5)):
        if v >= x:
            return v
    return -1


def first(x, note):
    return next((v for v in map(note, range(5)) if v > x), -1)


def among_generated(x, note):
    return x in (note(v) for v in range(5))


def among_mapped(x, note):
    return x in map(note, range(5))


def all_mapped(x, note):
    return all(map(lambda v: note(v) < x, range(5)))


def any_mapped(x, note):
    return any(map(lambda v: note(v) > x, range(5)))


LEFT = [loop_over_generator, loop_over_map, return_from_map, loop_over_filter, first, among_generated, among_mapped,
        all_mapped, any_mapped]


def noting(take):
    def program(x):
        log = []

        def note(v):
            log.append(v)
            return v

        return take(x, note), log

    return program


@pytest.mark.parametrize("take", LEFT, ids=[each.__name__ for each in LEFT])
def test_no_item_is_computed_after_a_tensor_has_left_the_loop(take) -> None:
    program = noting(take)
    staged = rt.function(program)
    for x in (1, 0, 9):
        assert plain(staged(rt.constant(x))) == program(x)


def loop_over_pairs(x, note):
    for v, _ in zip(map(note, range(5)), "abcde"):
        if v >= x:
            break


def loop_over_numbered(x, note):
    for _, v in enumerate(map(note, range(5))):
        if v >= x:
            break


@pytest.mark.parametrize("take", [loop_over_pairs, loop_over_numbered])
def test_items_with_effects_that_python_code_takes_are_refused(take) -> None:
    with pytest.raises(StagingError, match="taking an item of this loop changes 'log'"):
        rt.function(noting(take))(rt.constant(1))


class Numbers:
    def __init__(self, n):
        self.i, self.n = 0, n

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i


def test_an_iterator_whose_position_is_read_is_refused() -> None:
    def f(x, kept):
        numbers = Numbers(5)
        total = 0
        for v in numbers if kept else Numbers(5):
            total += v
            if v > x:
                break
        return total, numbers.i

    assert plain(rt.function(f)(rt.constant(2), False)) == (6, 0)
    with pytest.raises(StagingError, match="taking an item of this loop changes"):
        rt.function(f)(rt.constant(2), True)


def test_what_only_the_generator_has_may_change() -> None:
    def f(x):
        def countdown(n):
            waiting = [n]
            while waiting:
                k = waiting.pop()
                yield k
                if k > 0:
                    waiting.append(k - 1)

        total = 0
        for v in countdown(5):
            total += v
            if v < x:
                break
        return total

    assert plain(rt.function(f)(rt.constant(3))) == f(3) == 14


def test_a_generator_that_calls_itself_is_left_by_a_tensor() -> None:
    def f(x):
        def walk(n):
            if n:
                yield from walk(n - 1)
                yield n
                yield from walk(n - 1)

        total = 0
        for v in walk(3):
            total += v
            if v > x:
                break
        return total

    assert plain(rt.function(f)(rt.constant(1))) == f(1) == 3


def asserted(xs):
    own = [0]

    def message(x):
        global COUNT
        COUNT += 1
        Total.n += x
        LOG.append(x)
        own[0] += x
        return f"not {x}"

    failed = None
    for x in xs:
        try:
            assert x > 0, message(x)
        except AssertionError:
            failed = x
    return own[0], failed


def test_the_message_of_an_assertion_that_fails_has_effects() -> None:
    for xs in ([1, 2], [1, -2, 3, -4]):
        found = []
        for program, values in ((asserted, xs), (rt.function(asserted), rt.constant(xs))):
            reset()
            found.append((plain(program(values)), plain(COUNT), plain(Total.n), plain(LOG)))
        assert found[0] == found[1], xs


def test_an_assertion_that_fails_leaves_what_its_operands_changed() -> None:
    def test(x):
        Total.n += x
        return x > 0

    def message(x):
        LOG.append(x)
        Total.n += 1
        return f"not {x}"

    def f(x):
        assert test(x), message(x)
        return x

    traced = rt.function(f)
    for x, left in ((3, (3, [])), (-3, (-2, [-3]))):
        reset()
        if x < 0:
            with pytest.raises(AssertionError, match="not -3"):
                traced(rt.constant(x))
        else:
            traced(rt.constant(x))
        assert (plain(Total.n), plain(LOG)) == left

"""Sets whose items only the graph knows: programs that must do what they do in Python."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import runtime as rt
from runtime.core.errors import StagingError
from tests.traced_once import on, on_both

executors = pytest.mark.parametrize("executor", ["numpy", "native"])
XS = [3, 1, 3, 7, 7, 3, 2, 8, 1]


def plain(x: Any) -> Any:
    """A value with Python's numbers in place of tensors."""
    if isinstance(x, rt.Tensor):
        return x.numpy().tolist()
    return type(x)(map(plain, x)) if isinstance(x, (list, tuple)) else x


def distinct(xs):
    seen = set()
    for x in xs:
        seen.add(x)
    return seen


def count_distinct(xs):
    return len(set(xs))


def first_repeat(xs):
    seen = set()
    for x in xs:
        if x in seen:
            return x
        seen.add(x)
    return -1


def visited(xs):
    x, y = 0, 0
    seen = {(0, 0)}
    again = 0
    for step in xs:
        if step % 2 == 0:
            x += 1
        else:
            y -= 1
            x -= 1
        if (x, y) in seen:
            again += 1
        seen.add((x, y))
    return again, len(seen), seen


def start(xs):
    first = xs[0]
    seen = {first}
    for x in xs:
        if x + 1 not in seen:
            seen.add(x + 1)
    return seen, first in seen, 100 in seen


def comp(xs):
    return {x % 4 for x in xs}, {x for x in xs if x > 2}


def ops(xs):
    a, b = set(), set()
    for x in xs:
        a.add(x)
        b.add(x + 1)
    compared = a <= b, (a & b) <= a, a == b, a >= {3}, a > {3}, a < a
    return a | b, a & b, a - b, a ^ b, compared, a.isdisjoint(b), a.union([1, 2])


def inplace(xs):
    a, b = set(), set()
    for x in xs:
        a.add(x)
        b.add(x + 1)
    a |= b
    b -= {3}
    c = a.copy()
    c &= {1, 2, 3, 4}
    c ^= {1, 50}
    return a, b, c


def removed(xs):
    s = set()
    for x in xs:
        if x in s:
            s.remove(x)
        else:
            s.add(x)
        s.discard(x - 1)
    return s


def reductions(xs):
    s = set(xs)
    return sorted(s), sum(s), max(s), min(s), any(s), all(s), len(s)


def bfs(n, target):
    seen = {n}
    frontier = [n]
    steps = 0
    while frontier and target not in seen:
        later = []
        for k in frontier:
            for m in (k + 1, k * 2):
                if m not in seen and m < 200:
                    seen.add(m)
                    later.append(m)
        frontier = later
        steps += 1
    return steps, len(seen)


def sieve(n):
    composite = set()
    primes = []
    for k in range(2, n):
        if k not in composite:
            primes.append(k)
            for m in range(k * k, n, k):
                composite.add(m)
    return primes


def clears(xs):
    s = set()
    n = 0
    for x in xs:
        if len(s) > 2:
            n += 1
            s.clear()
        s.add(x)
    return n, s


def truth(xs):
    s = set()
    for x in xs:
        if x > 5:
            s.add(x)
    if s:
        return 1
    return 0


def text_too(xs):
    words = {"a", "b"}
    s = set()
    for x in xs:
        s.add(x)
    return len(words), "a" in words, len(s)


def branches(xs):
    s = set()
    if xs[0] > 2:
        s.add(7)
    else:
        s.add(xs[1])
    return s, isinstance(s, set)


def update(xs):
    s = set()
    s.update(xs)
    s.update([100, 200], (3,))
    t = s.difference(xs)
    return s, t, s.intersection([100, 3]), s.symmetric_difference({100, 5})


def fresh_each_time(xs):
    n = 0
    for x in xs:
        s = set()
        for y in xs:
            s.add((x * y) % 5)
        n += len(s)
    return n


class G:
    def __init__(self):
        self.seen = set()

    def visit(self, k):
        if k in self.seen:
            return 0
        self.seen.add(k)
        return 1


def in_object(xs):
    g = G()
    n = 0
    for x in xs:
        n += g.visit(x)
    return n, g.seen


def happy(n):
    found = 0
    for k in range(1, n):
        seen = set()
        while k != 1 and k not in seen:
            seen.add(k)
            t = 0
            while k > 0:
                t += (k % 10) ** 2
                k //= 10
            k = t
        if k == 1:
            found += 1
    return found


def aliased(xs):
    a = set()
    b = a
    for x in xs:
        b.add(x)
    return len(a), a is b


def chosen(xs):
    even, odd = set(), set()
    for x in xs:
        if x % 2 == 0:
            even.add(x)
        else:
            odd.add(x)
    s = even if xs[0] > 2 else odd
    return len(s), 3 in s, even, odd


def in_a_call(xs):
    def note(s, x):
        s.add(x % 4)
        return len(s)

    s = set()
    sizes = [note(s, x) for x in xs]
    return sizes, s


def of_empty_sets(n):
    a, found, total = set(), 0, 0
    if a:
        found = 1
    for x in a:
        total += x
    while not a:
        a.add(n)
        found += 2
    return found, total, a, bool(a), sum(set())


def swapped(n):
    a = set()
    b = set()
    if n > 3:
        a, b = b, a
    a.add(5)
    return a, b, len(a)


def in_nested_branches(xs, t):
    a, b, c = set(), set(), {t}
    for x in xs:
        b = a.copy()
        if a == a:
            if x > 3:
                b = a.copy()
                c ^= b
            else:
                c |= a
                a = a & b
        else:
            a.add(t)
    return a, b, c


def in_a_recursion(n):
    def go(n, seen, depth):
        if n > 0:
            seen.add(depth)
            go(n - 1, seen, depth + 1)

    seen = set()
    go(n, seen, 0)
    return n, len(seen), 2 in seen, seen


PROGRAMS = [
    (program, (XS,)) for program in (
        distinct, count_distinct, first_repeat, visited, start, comp, ops, inplace, removed, reductions, clears, truth,
        text_too, branches, update, fresh_each_time, in_object, aliased, chosen, in_a_call)
] + [(bfs, (3, 101)), (sieve, (50,)), (happy, (30,)), (in_a_recursion, (20,)),
     (in_nested_branches, (XS, 1)), (of_empty_sets, (4,)), (swapped, (3,)), (swapped, (4,))]


@pytest.mark.parametrize("program, args", PROGRAMS, ids=[fn.__name__ for fn, _ in PROGRAMS])
def test_as_in_python(program: Any, args: tuple[Any, ...]) -> None:
    want = program(*copy.deepcopy(args))
    for traced in on_both(program).values():
        got = plain(traced(*map(rt.constant, args)))
        assert got == want
        assert type(got) is type(want)


def test_sets_of_python_values_stay_python() -> None:
    """Also those of a function that is traced again, if their items are text."""
    @rt.function
    def spelled(xs):
        words = {"one", "two"}
        numbers = set()
        for x in xs:
            numbers.add(x)
        return sorted(words), "two" in words, numbers

    assert plain(spelled(rt.constant(XS))) == (["one", "two"], True, {*XS})


def a_loop_over_it(xs):
    s = set(xs)
    total = 0
    for x in s:
        total += x
    return total


def a_list_of_it(xs):
    s = set(xs)
    return list(s)


def its_text(xs):
    s = set(xs)
    return f"{s}"


def some_item(xs):
    s = set(xs)
    return s.pop()


@pytest.mark.parametrize("fn", [a_loop_over_it, a_list_of_it, its_text, some_item])
def test_its_order_is_not_known(fn: Any) -> None:
    with pytest.raises(StagingError, match="the order of a set whose items only the graph knows") as error:
        rt.function(fn)(rt.constant(XS))
    assert str(error.value).startswith(f"{__file__}:")


BEFORE = {1, 2}


def into_one_from_before(xs):
    for x in xs:
        BEFORE.add(x)
    return len(BEFORE)


def two_kinds(xs):
    s = set()
    for x in xs:
        s.add(x)
        s.add((x, x))
    return len(s)


def with_text(xs):
    s = set()
    for x in xs:
        s.add(x)
    s.add("last")
    return len(s)


@pytest.mark.parametrize("fn, message", [
    (into_one_from_before, "a set that was there before the call, or has items of other kinds, gets an item here"),
    (two_kinds, "an item of a set that changes in staged code is of another kind here than the others"),
    (with_text, "an item of a set that changes in staged code is of another kind here than the others")])
def test_refusals(fn: Any, message: str) -> None:
    with pytest.raises(StagingError, match=message):
        rt.function(fn)(rt.constant(XS))
    assert BEFORE == {1, 2}


@executors
def test_what_is_not_there(executor: str) -> None:
    with pytest.raises(KeyError):
        on(executor, takes_out)(rt.constant(XS))


def takes_out(xs):
    s = set(xs)
    s.remove(1000)
    return len(s)


def moved_by_one(cells, n):
    for _ in range(n):
        cells = {p + 1 for p in cells}
    return sorted(cells), len(cells)


def neighbours(cells, n):
    for _ in range(n):
        cells = {(x + dx, y) for x, y in cells for dx in (0, 1) if x + y < n}
    return sorted(cells), (1, 2) in cells


def by_operators(cells, n):
    for i in range(n):
        cells = cells | {i}
    for i in range(n - 1):
        cells = cells - {i}
    return cells, bool(cells), cells == {1}, cells & {0, 7}


def by_frontier(frontier, n):
    seen = set()
    while frontier:
        seen |= frontier
        frontier = {x + 1 for x in frontier if x < n}
    return sorted(seen), len(frontier)


def from_a_generator(cells, n):
    cells = set(cells)
    for _ in range(n):
        cells = set(p * 2 for p in cells if p - 1 not in cells)
    return sorted(cells)


def in_a_branch(cells, n):
    other = cells
    if n > 1:
        other = {n}
    if n > 2:
        other = cells
    return sorted(other), sorted(cells)


def of_frozensets(cells, n):
    for i in range(n):
        cells = cells | {i}
    return sorted(cells)


def copied_then_changed(cells, n):
    for i in range(n):
        cells = cells | {i}
    cells = set(cells)
    cells.add(100)
    return sorted(cells)


REBOUND = [(program, (items, n)) for program, items in (
    (moved_by_one, {1, 2}), (neighbours, {(0, 1), (1, 1)}), (by_operators, {1, 7}), (by_frontier, {1, 4}),
    (by_frontier, set()), (from_a_generator, {1, 2, 5}), (in_a_branch, {7}), (of_frozensets, frozenset({3, 4})),
    (copied_then_changed, {5})) for n in range(4)]


@pytest.mark.parametrize("program, args", REBOUND, ids=[f"{fn.__name__}-{args[1]}" for fn, args in REBOUND])
def test_rebound_from_an_argument(program: Any, args: tuple[Any, ...]) -> None:
    want = program(*copy.deepcopy(args))
    for traced in on_both(program).values():
        given = copy.deepcopy(args[0])
        assert plain(traced(given, rt.constant(args[1]))) == want
        assert given == args[0]


def changes_what_may_be_the_argument(cells, n):
    for i in range(n):
        cells = cells | {i}
    cells.add(100)
    return sorted(cells)


def changes_the_argument(cells, n):
    new = cells
    for i in range(n):
        new = new | {i}
    cells.add(100)
    return sorted(new)


def changes_what_it_may_have_been(cells, n):
    new = kept = {n}
    for _ in range(n):
        new = cells
    kept.add(5)
    return sorted(new)


def asks_for_its_identity(cells, n):
    new = cells
    for i in range(n):
        new = new | {i}
    return new is cells


def other_items(cells, n):
    for _ in range(n):
        cells = {(x, x) for x in cells}
    return len(cells)


def prints_in_a_comprehension(cells, n):
    made = {shown(x) for x in set(cells) | {n}}
    return len(made)


def shown(x):
    print(x)
    return x


def appends_in_a_comprehension(cells, n):
    found = []
    made = {found.append(x) or x for x in set(cells) | {n}}
    return len(made), found


@pytest.mark.parametrize("fn, message", [
    (changes_what_may_be_the_argument, "a set is changed that may be one from before the call or another one"),
    (changes_the_argument, "a set is changed that may be one from before the call or another one"),
    (changes_what_it_may_have_been, "is the same set here as another name is known only when the graph runs"),
    (asks_for_its_identity, "whether two names have one set is asked here"),
    (other_items, "'cells' is, or has, another set after an iteration than before"),
    (prints_in_a_comprehension, "the order of a set whose items only the graph knows"),
    (appends_in_a_comprehension, "the order of a set whose items only the graph knows")])
def test_refusals_of_rebound_sets(fn: Any, message: str) -> None:
    with pytest.raises(StagingError, match=message) as error:
        rt.function(fn)({1, 2}, rt.constant(2))
    assert str(error.value).startswith(f"{__file__}:")

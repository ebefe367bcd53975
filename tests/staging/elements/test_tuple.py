"""Tuples of whose length only the graph knows."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import collecting
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
PROGRAMS: list[Any] = []
program = collecting(PROGRAMS)


@program(0, 1, 4)
def grown(n):
    path = ()
    for i in range(n):
        path = path + (i * i,)
    return path, len(path), sum(path)


@program(1, 4)
def grown_while(n):
    powers = (1,)
    while len(powers) < n:
        powers += (powers[-1] * 2,)
    return powers


@program(2, 4)
def of_two_lengths(n):
    if n > 2:
        found = (n, n + 1, n + 2)
    else:
        found = (n,)
    return found, found[-1], found[0]


@program(2, 4)
def returned_early(n):
    if n > 2:
        return n, n + 1
    return ()


@program(4)
def operations(n):
    xs = [i * 3 % 7 for i in range(n)]
    t = tuple(sorted(xs))
    return (t[0], t[-1], len(t), t[1:], t[::-1], 2 in t, t.index(3), t.count(6), t + (9,), (9,) + t, t + t, t * 2,
            2 * t, max(t), list(t), [*t], bool(t), not t, tuple(t), t is t)


@program(0, 1, 2, 4)
def compared(n):
    t = tuple([i for i in range(n)])
    return (t == (0, 1), t != (0, 1), t < (0, 1), t >= (0, 1), () == t, t == [0, 1], t == t + (), isinstance(t, tuple),
            isinstance(t, list), type(t) is tuple, t == None)  # noqa: E711


@program(0, 1, 4)
def formatted(n):
    t = tuple([i for i in range(n)])
    words = ()
    for i in range(n):
        words += ("a" if i % 2 else "b",)
    return str(t), repr(t), f"{t}", "%s" % (t,), words, "".join(words), str(words)  # noqa: UP031


@program(1, 4)
def iterated(n):
    xs = [i * 5 % 7 for i in range(n)]
    t, total = tuple(xs), 0
    for a in t:
        total += a
    for i, a in enumerate(t):
        total += i * a
    first, *rest = t
    return (total, first, rest, sorted(t, reverse=True), min(t), any(x > 3 for x in t), list(zip(t, t[1:])),  # noqa: RUF007
            tuple(x + 1 for x in t), max(t, key=lambda x: -x), list(map(lambda x: x + 1, t)), list(reversed(t)))


@program(0, 3, 5)
def parts_of_known_tuples(n):
    part = (1, 2, 3, 4, 5)[:n]
    return part, (0,) * n, part + (0,) * n, part < (1, 2), (7, 8) * n


@program(1, 4)
def displays(n):
    xs = [i for i in range(n)]
    t = ()
    while len(t) < n:
        t = (*t, len(t))
    first, *rest = *xs, 9
    return (0, *xs), (*xs, *t), t, first, rest, sorted({*xs, 9})


@program(4)
def elements(n):
    seen = []
    for i in range(n):
        seen.append(tuple(range(i)))
    return seen, seen[2], (0, 1) in seen, seen.index((0, 1)), [len(s) for s in seen], sum(seen[3])


@program(2, 4)
def elements_of_known_lengths(n):
    xs = [(1,), (1, 2), (1, 2, 3), ()]
    return xs[n - 2], len(xs[n - 2]), xs[n - 1]


@program(1, 4)
def paths(n):
    queue, found = deque([(0,)]), []
    while queue:
        path = queue.popleft()
        if path[-1] == n:
            found.append(path)
            continue
        for step in (1, 2):
            if path[-1] + step <= n:
                queue.append(path + (path[-1] + step,))
    return found


@program(1, 4)
def shortest_path(n):
    graph = {0: [1, 2], 1: [3], 2: [3], 3: [4], 4: []}
    heap = [(0, 0, (0,))]
    while heap:
        distance, node, path = heapq.heappop(heap)
        if node == n:
            return distance, path
        for other in graph[node]:
            heapq.heappush(heap, (distance + other, other, path + (other,)))
    return None


class Walker:
    def __init__(self):
        self.path = ()

    def go(self, x):
        self.path = self.path + (x,)


@program(0, 4)
def attribute(n):
    walker = Walker()
    for i in range(n):
        walker.go(i)
    return walker.path


@program(0, 4)
def perhaps_none(n):
    best = None
    for i in range(n):
        t = tuple(range(i))
        if best is None or len(t) > len(best):
            best = t
    return best


@program(0, 4)
def of_pairs(n):
    pairs = ()
    for i in range(n):
        pairs += ((i, i * i),)
    return pairs, [a + b for a, b in pairs], dict(pairs)


@program(0, 4)
def recursive(n):
    return () if n == 0 else recursive(n - 1) + (n,)


@program(0, 4)
def names_of_one_tuple(n):
    t = tuple([i for i in range(n)])
    before = t
    t += (99,)
    return before, t


@dataclass
class Tree:
    value: float = 0.0
    kids: tuple = ()  # type: ignore[type-arg]


@program(0, 1, 3)
def trees(n):
    root = Tree()
    for i in range(n):
        root.kids += (Tree(i * 1.0),)
    above, depth = root, 0
    for i in range(n):
        above = Tree(i * 1.0, (above,))
    while above.kids:
        above, depth = above.kids[0], depth + 1
    return len(root.kids), [kid.value for kid in root.kids], depth


@program(0, 2)
def chosen_tree(n):
    tree = Tree(0.0, (Tree(1.0), Tree(2.0, (Tree(3.0),)))) if n > 0 else Tree(5.0)
    total = tree.value
    while tree.kids:
        tree = tree.kids[-1]
        total += tree.value
    return total


@program(0, 3)
def empty_at_first(n):
    rows, of_key = [()] * 3, {}
    for i in range(n):
        rows[i % 3] = rows[i % 3] + (i,)
        of_key[i % 2] = of_key.get(i % 2, ()) + (i,)
    return rows, of_key, [(i, ()) for i in range(n)]


@program(1, 4)
def queens(n):
    found = []

    def place(row, columns):
        if row == n:
            found.append(columns)
            return
        for k in range(4):
            fits = True
            for r in range(len(columns)):
                if columns[r] == k or abs(columns[r] - k) == row - r:
                    fits = False
            if fits:
                place(row + 1, columns + (k,))

    place(0, ())
    return found


class Box:
    def __init__(self, n):
        self.items = tuple(range(n))

    def __iter__(self):
        return iter(self.items)


@program(0, 3)
def iterators(n):
    total = 0
    for x in Box(n):
        total += x
    items = [7, 8, 9]
    items[1:1] = tuple(range(n))
    return total, list(Box(n)), items


@program(3)
def permutations(n):
    items = [i for i in range(n)]
    return list(itertools.permutations(items)), list(itertools.combinations(items, n - 1))


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal and of the same types; numbers of the runtime count as Python's."""
    if isinstance(one, rt.Tensor):
        one = one.numpy().item()
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return [*map(int, one)] == [*other] and all(map(same, one.values(), other.values()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("fn", "n"), PROGRAMS)
def test_programs(fn: Any, n: int, executor: str) -> None:
    found = on(executor, fn)(rt.constant(n, rt.int64))
    assert same(found, fn(n)), found


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [
    lambda x, t, r: x == t, lambda x, t, r: t < x, lambda x, t, r: x * t, lambda x, t, r: t * x, lambda x, t, r: x + t,
    lambda x, t, r: t + x, lambda x, t, r: x - t, lambda x, t, r: x ** t, lambda x, t, r: x @ t,
    lambda x, t, r: np.sum(t), lambda x, t, r: np.mean(t), lambda x, t, r: np.array(t), lambda x, t, r: np.sort(t),
    lambda x, t, r: np.isin(2, t), lambda x, t, r: np.concatenate([t, t]), lambda x, t, r: np.maximum(x, t),
    lambda x, t, r: np.where(np.array([True, False, True]), t, 0), lambda x, t, r: np.vstack([t, t]),
    lambda x, t, r: np.array(tuple([(i, i * i) for i in t])), lambda x, t, r: np.isin(1, r), lambda x, t, r: np.size(r),
    lambda x, t, r: np.mean(r), lambda x, t, r: np.array(r),
])
def test_numpy_takes_tuples_and_ranges_as_arrays(fn: Any, executor: str) -> None:
    def f(x, n):
        return fn(x, tuple([i for i in range(n)]), range(n))

    x = np.array([1.0, 2.0, 0.0])
    found, expected = on(executor, f)(x, rt.constant(3, rt.int64)), f(x, 3)
    assert np.shape(found) == np.shape(expected) and np.array_equal(found, expected)


def test_saved_results(tmp_path: Path) -> None:
    class Model(rt.Module):
        @rt.function(input_signature=[rt.TensorSpec([], rt.int32)])
        def steps(self, n):
            return tuple([i * i for i in range(n)]), [tuple(range(i)) for i in range(n)]

    rt.saved_model.save(Model(), str(tmp_path / "model"))
    found = rt.saved_model.load(str(tmp_path / "model")).steps(rt.constant(3))
    assert same(found, ((0, 1, 4), [(), (0,), (0, 1)]))


def test_known_lengths_stay_known() -> None:
    """A loop of Python's that is unrolled makes a tuple that Python knows."""
    def f(x):
        shape = ()
        for size in range(1, 5):
            shape = shape + (size,)
        return rt.reshape(rt.tile(x, [24]), shape)

    assert rt.function(f)(rt.constant([1.0])).shape == (1, 2, 3, 4)


def test_a_result_that_another_function_takes() -> None:
    inner = rt.function(lambda n: tuple([i for i in range(n)]))
    outer = rt.function(lambda n: inner(n) + (n,))
    assert rt.nest.map_structure(int, outer(rt.constant(2))) == (0, 1, 2)


def test_tensors_and_gradients() -> None:
    def f(x, n):
        powers = ()
        for _ in range(n):
            powers += (powers[-1] * x if powers else x,)
        return rt.reduce_sum(rt.stack(powers))

    x = rt.constant(2.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = rt.function(f)(x, rt.constant(3))
    assert float(y) == 14.0 and float(tape.gradient(y, x)) == 17.0


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("fn", "message"), [
    (lambda t: t[9], "tuple index out of range"), (lambda t: t.index(9), "x not in tuple"),
    (lambda t: [1] + t, r'can only concatenate list \(not "tuple"\) to list'),
    (lambda t: t + [1], r'can only concatenate tuple \(not "list"\) to tuple'),
    (lambda t: t.append(3), "'tuple' object has no attribute 'append'"),
    (lambda t: t < [1], "'<' not supported between instances of 'tuple' and 'list'"),
])
def test_errors_of_python(fn: Any, message: str, executor: str) -> None:
    def f(n):
        return fn(tuple([i for i in range(n)]))

    with pytest.raises(Exception, match=message) as expected:
        f(4)
    with pytest.raises(type(expected.value), match=message):
        on(executor, f)(rt.constant(4))


def test_items_cannot_be_set() -> None:
    def f(n):
        t = tuple([i for i in range(n)])
        t[0] = 3
        return t

    with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
        rt.function(f)(rt.constant(4))


@pytest.mark.parametrize(("fn", "message"), [
    (lambda n: hash(tuple([i for i in range(n)])), "a tuple cannot be hashed here"),
    (lambda n: {}.update(*tuple([i for i in range(n)])), "the number of items of an unpacking is known only"),
    (lambda n: (n, "a") if n > 1 else (n,), "do not fit together"),
])
def test_refusals(fn: Any, message: str) -> None:
    with pytest.raises((StagingError, rt.errors.OperatorNotAllowedInGraphError), match=message) as caught:
        rt.function(fn)(rt.constant(4))
    assert str(Path(__file__).name) in str(caught.value)


def chosen(xs):
    return [xs[0], 2] if xs[0] > 3 else ()


def added(xs):
    return chosen(xs) + [1]


def equal(xs):
    return chosen(xs) == ()


def is_a_list(xs):
    return isinstance(chosen(xs), list)


def printed(xs):
    print(chosen(xs))


def as_text(xs):
    return repr(chosen(xs))


@pytest.mark.parametrize("fn", [chosen, added, equal, is_a_list, printed, as_text])
def test_what_differs_for_a_list_and_a_tuple_is_refused(fn: Any) -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(fn)(rt.constant([3, 7, 7]))
    line = chosen.__code__.co_firstlineno + 1
    text = str(caught.value)
    assert text.count(f"(line {line})") == 2
    assert f"{Path(__file__).name}:{line}: the value of this expression is " in text
    assert text.endswith("Make it a list everywhere, with [] in place of ().")


def read_from_groups(xs):
    groups, sets = {}, {}
    for x in xs:
        groups.setdefault(x % 3, []).append(x)
        sets.setdefault(x % 3, set()).add(x)
    read = []
    for key in range(4):
        group = groups.get(key, ())
        read.append(len(group) + 10 * sum(group) + 100 * max(group, default=7) + 1000 * (4 in sets.get(key, ())))
        for item in group:
            read.append(item)
        for item in groups.get(key) or ():
            read.append(-item)
        if group:
            read.append(group[-1])
    return read, [list(groups.get(key, ())) for key in range(4)]


def test_what_is_one_for_a_list_and_a_tuple() -> None:
    xs = [3, 1, 4, 1, 5, 9, 2, 6]
    read, lists = rt.function(read_from_groups)(rt.constant(xs))
    assert ([int(x) for x in read], [[int(x) for x in each] for each in lists]) == read_from_groups(xs)


def test_a_list_that_may_be_another_name_of_a_default_is_not_changed() -> None:
    def f(xs):
        groups = {}
        for x in xs:
            groups.setdefault(x % 3, []).append(x)
        group = groups.get(xs[0], ())
        groups[xs[0]].append(5)
        return len(group)

    with pytest.raises(StagingError, match="a list is changed after it was read from another list here"):
        rt.function(f)(rt.constant([1, 2, 3]))

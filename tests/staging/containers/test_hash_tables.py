"""Dicts whose keys only the graph knows: programs that must do what they do in Python."""
from __future__ import annotations

import copy
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.errors import StagingError
from tests.traced_once import on

executors = pytest.mark.parametrize("executor", ["numpy", "native"])
XS = [3, 1, 3, 7, 7, 3, 2, 8, 1]


def plain(x: Any) -> Any:
    """A value with Python's numbers in place of tensors."""
    if isinstance(x, rt.Tensor):
        return x.numpy().tolist()
    if isinstance(x, dict):
        made = copy.copy(x)
        made.clear()
        made.update({key: plain(value) for key, value in x.items()})
        return made
    return type(x)(map(plain, x)) if isinstance(x, (list, tuple)) else x


def in_order(x: Any) -> Any:
    """A value with the items of dicts as lists, so that their order counts, and with the classes."""
    if isinstance(x, dict):
        return type(x), [(in_order(key), in_order(value)) for key, value in x.items()]
    return type(x), [*map(in_order, x)] if isinstance(x, (list, tuple)) else x


def check(executor: str, fn: Any, *args: Any) -> None:
    """That a traced function does what the function does, to the dicts that it is given, too."""
    python = copy.deepcopy(args)
    given = [copy.deepcopy(arg) if isinstance(arg, dict) else rt.constant(arg) for arg in args]
    want = fn(*python)
    got = on(executor, fn)(*given)
    assert in_order(plain(got)) == in_order(want)
    assert [in_order(plain(arg)) for arg in given] == [in_order(arg) for arg in python]


def counts(xs):
    d = {}
    for x in xs:
        if x in d:
            d[x] += 1
        else:
            d[x] = 1
    return d


def by_get(xs):
    d = {}
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return d


def two_sum(xs, target):
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return -1, -1


def fib_memo(n):
    memo = {0: 0, 1: 1}
    for i in range(2, n + 1):
        memo[i] = memo[i - 1] + memo[i - 2]
    return memo[n]


def first_repeat(xs):
    seen = {}
    for x in xs:
        if x in seen:
            return x
        seen[x] = True
    return -1


def longest_run(xs):
    lengths = {}
    best = 0
    for x in xs:
        if x in lengths:
            continue
        left = lengths.get(x - 1, 0)
        right = lengths.get(x + 1, 0)
        total = left + right + 1
        lengths[x] = total
        lengths[x - left] = total
        lengths[x + right] = total
        best = max(best, total)
    return best


def subarrays(xs, k):
    seen = {0: 1}
    total = 0
    found = 0
    for x in xs:
        total += x
        found += seen.get(total - k, 0)
        seen[total] = seen.get(total, 0) + 1
    return found


def walk(xs):
    x, y = 0, 0
    visited = {(0, 0): 1}
    again = 0
    for step in xs:
        if step % 4 == 0:
            x += 1
        elif step % 4 == 1:
            y += 1
        elif step % 4 == 2:
            x -= 1
        else:
            y -= 1
        if (x, y) in visited:
            again += 1
            visited[x, y] += 1
        else:
            visited[(x, y)] = 1
    return again, len(visited), visited


def collatz(n):
    lengths = {1: 1}
    best = 1
    for start in range(2, n + 1):
        k = start
        steps = 0
        while k not in lengths:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            steps += 1
        lengths[start] = lengths[k] + steps
        if lengths[start] > lengths[best]:
            best = start
    return best, lengths[best]


def with_default(xs):
    d = defaultdict(int)
    for x in xs:
        d[x] += x
    return d


def counter(xs):
    c = Counter()
    for x in xs:
        c[x % 3] += 1
    return c[0], c[1], c[7], len(c)


def changes_argument(d, xs):
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return len(d)


class Tally:
    def __init__(self):
        self.seen = {}
        self.total = 0

    def add(self, x):
        self.seen[x] = self.seen.get(x, 0) + 1
        self.total += 1

    def most(self):
        best, n = -1, 0
        for k, v in self.seen.items():
            if v > n:
                best, n = k, v
        return best, n


def tally(xs):
    t = Tally()
    for x in xs:
        t.add(x)
    return t.most(), t.total


def deletes(xs):
    d = {}
    for x in xs:
        if x in d:
            del d[x]
        else:
            d[x] = x * 2
    return d


def pops(xs):
    d = {}
    total = 0
    for i, x in enumerate(xs):
        d[x] = i
        total += d.pop(x - 1, 0)
    return total, d


def churn(n):
    d = {}
    for i in range(n):
        d[i] = i
        if i >= 5:
            del d[i - 5]
    return list(d), list(d.values())


def emptied(n):
    d = {}
    for i in range(n):
        d[i, i % 3] = [i]
    for i in range(n):
        if i % 50 != 7:
            del d[i, i % 3]
    for i in range(0, n, 25):
        d[i, i % 3] = [-i]
    return list(d), list(d.values()), len(d)


def loops(xs):
    d = {}
    for x in xs:
        d[x] = d.get(x, 0) + 1
    a = 0
    for k in d:
        a += k * d[k]
    b = 0
    for k, v in d.items():
        b += k * v
    return a, b, sum(d.values()), sum(d), len(d.keys()), max(d), min(d.values()), sorted(d), list(d.items())


def comprehension(xs):
    d = {x: x * x for x in xs}
    return d, len(d)


def mode(xs):
    d = {}
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return max(d, key=d.get), max(d.values()), sorted(d.items(), key=lambda item: -item[1])[0]


def drain(xs):
    d = {}
    for i, x in enumerate(xs):
        d[x] = i
    out = []
    while d:
        k, v = d.popitem()
        out.append(k * 100 + v)
    return out


def either(xs):
    d = {}
    if xs[0] > 2:
        d[xs[0]] = 1
    else:
        d[7] = 2
    d[xs[1]] = 3
    return d


def in_closure(xs):
    d = {}

    def put(k, v):
        d[k] = v

    for x in xs:
        put(x % 5, x)
    return d


def known_then_new(xs):
    d = {1: 10, 2: 20, 3: 30}
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return d


def union(xs):
    a, b = {}, {}
    for x in xs:
        a[x] = 1
        b[x + 1] = 2
    c = a | b
    a.update(b)
    return c, a, a == c, a == b, len(c)


def equal(xs):
    a, b = {}, {}
    for x in xs:
        a[x] = x
    for x in reversed(list(xs)):
        b[x] = x
    return a == b, a != b


def copies(xs):
    a = {}
    for x in xs:
        a[x] = 1
    b = a.copy()
    c = dict(a)
    b[100] = 5
    c[200] = 6
    return a, b, c


def floats(xs):
    d = {}
    for x in xs:
        d[x / 2] = x
    return d


def values_are_pairs(xs):
    d = {}
    for i, x in enumerate(xs):
        if x in d:
            n, _ = d[x]
            d[x] = (n + 1, i)
        else:
            d[x] = (1, i)
    return d


def setdefaults(xs):
    d = {}
    for i, x in enumerate(xs):
        d.setdefault(x, i)
    return d


def clear(xs):
    d = {}
    for x in xs:
        if x == 3:
            d.clear()
        d[x] = 1
    return d


def text(xs):
    d = {}
    for x in xs:
        d[x] = x * 2
    return f"{d}"


def missing(xs):
    d = {}
    for x in xs:
        d[x] = 1
    try:
        return d[1000]
    except KeyError:
        return -5


def roman(xs):
    d = {k: 0 for k in range(3)}
    for x in xs:
        d[x % 3] += x
    return d


def nested_loops(xs):
    pairs = {}
    for i in range(len(xs)):
        for j in range(i):
            s = xs[i] + xs[j]
            pairs[s] = pairs.get(s, 0) + 1
    best = 0
    for s, n in pairs.items():
        if n > 1:
            best += s
    return best


def two_dicts_swap(xs):
    a, b = {}, {}
    for x in xs:
        a[x] = x
        a, b = b, a
    return a, b


def del_all(xs):
    d = {}
    for x in xs:
        d[x] = 1
    for k in list(d):
        if k % 2 == 0:
            del d[k]
    return d


def key_is_index(xs):
    d = {}
    i = 0
    while i < len(xs):
        d[i] = xs[i]
        i += 1
    return d


def ordered(xs):
    d = OrderedDict()
    for x in xs:
        d[x] = d.get(x, 0) + 1
    return d


def displays(xs):
    first, second = xs[0], xs[1]
    distances = {first: 0}
    distances[second] = 1
    pairs = {(first, second): 5, (second, first): 6}
    return distances, pairs, pairs[second, first], {first: 1, second: 2, first + 0: 3}


def chosen(xs):
    a, b = {}, {}
    for x in xs:
        d = a if x % 2 == 0 else b
        d[x] = d.get(x, 0) + 1
        if x + 1 in d:
            del d[x + 1]
    return a, b


def of_pairs(xs):
    d = dict(zip(xs, range(9)))
    d.update({x + 10: 1 for x in xs if x > 2})
    return d, dict(d.items()), {**d, 50: 1}


PROGRAMS = [
    (program, (XS,)) for program in (
        counts, by_get, first_repeat, longest_run, walk, with_default, counter, tally, deletes, pops, loops,
        comprehension, mode, drain, either, in_closure, known_then_new, union, equal, copies, floats, values_are_pairs,
        setdefaults, clear, text, missing, roman, two_dicts_swap, del_all, key_is_index, ordered, displays, chosen,
        of_pairs)
] + [(two_sum, (XS, 10)), (two_sum, (XS, 100)), (fib_memo, (20,)), (subarrays, (XS, 10)), (collatz, (60,)),
     (churn, (40,)), (emptied, (200,)), (changes_argument, ({3: 1}, XS)), (nested_loops, (XS[:4],))]


@pytest.mark.parametrize("program, args", PROGRAMS, ids=[f"{fn.__name__}-{len(args)}" for fn, args in PROGRAMS])
def test_as_in_python(program: Any, args: tuple[Any, ...]) -> None:
    for executor in ("numpy", "native"):  # one after the other: they share the trace
        check(executor, program, *args)


@executors
def test_many_keys(executor: str) -> None:
    """Slots are enlarged, and deleted entries leave them."""
    xs = np.random.default_rng(0).integers(-2**62, 2**62, 300 if executor == "numpy" else 20_000)
    xs = np.concatenate([xs, xs[::3]])
    check(executor, deletes, xs.tolist())


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float32", "float64", "bool"])
@executors
def test_types_of_keys(executor: str, dtype: str) -> None:
    keys = np.array([0, 1, 3, 0, 1], dtype)
    got = on(executor, by_get)(rt.constant(keys))
    assert in_order(plain(got)) == in_order(by_get(keys.tolist()))


def test_no_key_is_lost_to_zero() -> None:
    """-0.0 and 0.0 are one key."""
    got = rt.function(by_get)(rt.constant([0.0, -0.0, 1.0]))
    assert plain(got) == {0.0: 2, 1.0: 1}


def squares(xs, k):
    total, seen = 0.0, {}
    for i, x in enumerate(xs):
        seen[i % k] = seen.get(i % k, 0.0) + x * x
    for v in seen.values():
        total += v * v
    return total


@executors
def test_derivative(executor: str) -> None:
    x = rt.constant([1.0, 2.0, 3.0, 4.0])
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = on(executor, squares)(x, rt.constant(2))
    # (1 + 9)**2 + (4 + 16)**2
    assert float(y) == 500.0
    assert tape.gradient(y, x).numpy().tolist() == [4 * 10 * 1.0, 4 * 20 * 2.0, 4 * 10 * 3.0, 4 * 20 * 4.0]


def test_a_call_in_a_call() -> None:
    inner = rt.function(counts)

    @rt.function
    def outer(xs):
        d = inner(xs)
        d[100] = 5
        return d, len(d)

    found, size = outer(rt.constant(XS))
    assert plain(found) == {**counts(XS), 100: 5}
    assert int(size) == 6


def changes_its_size(xs):
    d = {}
    for x in xs:
        d[x] = 1
    for k in d:
        d[k + 100] = 1
    return d


def changes_its_size_at_last(xs):
    d = {}
    for x in xs:
        d[x] = 1
    for k in d:
        if k == 8:
            d[100] = 1
    return d


def is_left_at_once(xs):
    d = {}
    for x in xs:
        d[x] = 1
    for k in d:
        if k == 7:
            del d[k]
            break
    return d


@executors
def test_a_loop_over_what_it_changes(executor: str) -> None:
    for fn in changes_its_size, changes_its_size_at_last:
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            fn(XS)
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            on(executor, fn)(rt.constant(XS))
    check(executor, is_left_at_once, XS)


def arrays_as_values(xs):
    d = {}
    for x in xs:
        d[x % 2] = rt.stack([x, x + 1])
    return d[1], d.get(0, rt.constant([7, 7])), d.get(5, rt.constant([7, 7]))


def test_arrays_as_values() -> None:
    for executor in "numpy", "native":
        got = on(executor, arrays_as_values)(rt.constant(XS))
        assert [x.numpy().tolist() for x in got] == [[1, 2], [8, 9], [7, 7]]


def taken(xs):
    d = {}
    for x in xs:
        d[x] = 1
    return d[50], d.pop(60)


@executors
def test_a_key_that_is_not_there(executor: str) -> None:
    with pytest.raises(KeyError) as error:
        on(executor, taken)(rt.constant(XS))
    assert error.traceback[-1].lineno == taken.__code__.co_firstlineno + 3
    with pytest.raises(KeyError, match="dictionary is empty"):
        on(executor, drained)(rt.constant(XS))


def drained(xs):
    d = {}
    for x in xs:
        d[x] = 1
    for _ in range(100):
        d.popitem()
    return d


def functions_as_values(xs):
    d = {}
    for x in xs:
        d[x % 3] = lambda: 0
    return d


def text_among_keys(xs):
    d = {"all": 0}
    for x in xs:
        d[x] = 1
    return d


def values_of_two_types(xs):
    d = {}
    for x in xs:
        d[x] = (x, x) if len(d) else x
    return d


@pytest.mark.parametrize("fn", [functions_as_values, text_among_keys, values_of_two_types])
def test_refusals(fn: Any) -> None:
    with pytest.raises(Exception) as error:
        rt.function(fn)(rt.constant(XS))
    assert type(error.value) in (StagingError, rt.errors.UnimplementedError)
    assert str(error.value).startswith(f"{__file__}:{fn.__code__.co_firstlineno + 3}: ")


SEEN: dict[int, Any] = {}
LOG: list[Any] = []


class Seen:
    def __init__(self):
        self.counts = {}
        self.log = []

    def add(self, xs):
        for x in xs:
            self.counts[x] = self.counts.get(x, 0) + 1
            self.log.append(x)
        return len(self.counts)


def into_a_global(xs):
    for x in xs:
        SEEN[x] = SEEN.get(x, 0) + 1
        LOG.append(x)
    return len(SEEN)


def test_lists_and_dicts_from_before_have_what_calls_leave_in_them() -> None:
    SEEN.clear()
    LOG.clear()
    for given in XS, XS[:3]:
        assert int(on("numpy", into_a_global)(rt.constant(given))) == len({*XS})
    assert plain(SEEN) == counts(XS + XS[:3])
    assert plain(LOG) == XS + XS[:3]
    seen, add = Seen(), rt.function(Seen.add)
    for given in XS, [5]:
        add(seen, rt.constant(given))
    assert plain(seen.counts) == counts([*XS, 5])
    assert plain(seen.log) == [*XS, 5]


def test_a_graph_alone_leaves_nothing_in_them() -> None:
    SEEN.clear()
    LOG.clear()
    with pytest.raises(StagingError, match=r"the (list 'LOG'|dict 'SEEN'), which was there before the call"):
        rt.function(into_a_global).get_concrete_function(rt.constant(XS))
    assert SEEN == {}
    assert LOG == []

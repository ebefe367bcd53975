"""C and library code that takes the items of lists and dicts of the graph: as in Python, or an error."""
from __future__ import annotations

import collections
import heapq
import itertools
import operator
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]
PROGRAMS: list[Callable[[Any], Any]] = []


def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(fn)
    return fn


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def upto(n):
    return [k for k in range(n)]


def squares(n):
    made = {}
    for k in range(n):
        made[k] = k * k
    return made


@program
def parts(n):
    q = collections.deque(k for k in range(n))
    return (list(itertools.islice(q, 2)), [v for v in itertools.islice(upto(n), 1, None, 2)],
            sum(itertools.islice(range(n), 1, n)), list(itertools.islice((v * v for v in range(n)), 2)),
            list(itertools.islice(squares(n).items(), 2)), list(itertools.islice([7, 8, 9], n)))


@program
def parts_of_a_generator_function(n):
    def endless():
        k = 0
        while k <= n or k > n:
            yield k
            k += 1

    return list(itertools.islice(endless(), 1, 4)), sum(itertools.takewhile(lambda k: k < 5, endless()))


@program
def running(n):
    total = 0
    for v in itertools.accumulate(upto(n)):
        total += v
    return (total, list(itertools.accumulate(upto(n), operator.mul, initial=2)),
            list(itertools.accumulate((v for v in upto(n) if v > 1), max)))


@program
def joined(n):
    return (list(itertools.chain(upto(n), [5], range(n), squares(n))), sum(itertools.chain(range(n), range(2))),
            list(itertools.chain.from_iterable([upto(n), upto(2)])), [b - a for a, b in itertools.pairwise(upto(n))])


@program
def zipped(n):
    total = 0
    for a, b in itertools.zip_longest(upto(n), upto(n + 1), fillvalue=9):
        total += a * b
    return (total, list(itertools.zip_longest(upto(n), [7], fillvalue=-1)),
            list(itertools.compress(upto(n), [1, 0, 1])), list(itertools.repeat(5, n)))


@program
def combined(n):
    total = 0
    for a, b in itertools.combinations(range(n), 2):
        total += a * b
    for a, b in itertools.product(upto(n), repeat=2):
        total += a - 2 * b
    return (total, list(itertools.product(upto(n), [1, 2])), list(itertools.permutations(upto(n), 2)),
            list(itertools.combinations_with_replacement(upto(n), 2)), list(itertools.combinations(upto(n), 0)))


@program
def chosen(n):
    return (list(itertools.takewhile(lambda v: v < 2, upto(n))), list(itertools.dropwhile(lambda v: v < 2, upto(n))),
            list(itertools.filterfalse(lambda v: v % 2, upto(n))),
            list(itertools.starmap(pow, [(v, 2) for v in upto(n)])), [list(each) for each in itertools.tee(upto(n))])


@program
def grouped(n):
    words = [f"w{v // 2}" for v in upto(n)]
    runs = []
    for key, group in itertools.groupby(upto(n), key=lambda v: v * v // 5):
        runs.append((key, sum(group), list(group)))
    return (runs, [(key, len(list(group))) for key, group in itertools.groupby(words)],
            [key for key, _ in itertools.groupby([v // 3 for v in upto(n)])],
            {key: [i for _, i in group] for key, group in itertools.groupby(
                sorted((v * 7 % 3, v) for v in upto(n)), key=lambda pair: pair[0])})


@program
def grouped_by_generators(n):
    runs = []
    for key, group in itertools.groupby(upto(n), key=lambda v: v // 3):
        runs.append((key, sum(1 for v in group if v > 1)))
    for key, group in itertools.groupby(upto(n), key=lambda v: v // 2):
        runs.append((key, max(v * v for v in group)))
    return runs


@program
def counted(n):
    c, d = Counter(v % 3 for v in upto(n)), Counter(upto(n))
    c.update([1, 1, 5])
    d.subtract(upto(2))
    c.update(d)
    e = c + d
    e |= d
    return (c[1], c[77], c.most_common(1), c.total(), sorted(c.elements()), c.copy(), e, c | d, len(d),
            Counter([n, 1, n])[n], Counter(squares(n))[2])


@program
def returned(n):
    return Counter(upto(n)), OrderedDict(zip(upto(n), upto(n))), dict.fromkeys(upto(n), 0)


@program
def frozen(n):
    bits = frozenset(i for i in range(8) if n >> i & 1)
    some = frozenset(upto(n))
    return (sorted(bits), len(some), 1 in some, bits <= some, sorted(some | {9}), isinstance(some, frozenset),
            hasattr(some, "add"), bits, some == set(upto(n)))


@program
def looked_up(n):
    xs = upto(n + 2)
    return operator.itemgetter(1)(xs), operator.itemgetter(0, 1)(xs), operator.itemgetter(1)(squares(n + 2))


@program
def merged(n):
    odd, even = [k for k in range(n) if k % 2], [k for k in range(n) if k % 2 == 0]
    pairs = heapq.merge([(k, 0) for k in range(n)], [(1, 1), (1, -1)])
    return (list(heapq.merge(odd, even, [2, 2])), list(heapq.merge(upto(n)[::-1], [2, 0], reverse=True)),
            [k for k in heapq.merge([3, 1, 2], upto(n))], list(pairs), next(heapq.merge(even, [7]), None),
            list(heapq.merge(upto(n)[::-1], [3, 1], key=lambda k: -k)))


def test_a_key_of_merge_that_prints_is_refused() -> None:
    def f(n):
        return list(heapq.merge(upto(n), [1], key=print))

    with pytest.raises(StagingError, match="would come for all of them at once"):
        rt.function(f)(rt.constant(3))


@pytest.mark.parametrize("fn", PROGRAMS)
def test_items_of_the_graph_are_taken_as_in_python(fn: Callable[[Any], Any]) -> None:
    for executor in EXECUTORS:
        staged = on(executor, fn)
        for n in (4, 0, 1):
            assert plain(staged(rt.constant(n))) == fn(n), (executor, n)


class Rows(list):  # type: ignore[type-arg]
    """A subclass that inherits its constructor."""


KNOWN = "are known only when the graph runs"


@pytest.mark.parametrize(("name", "fn"), [
    ("itertools.cycle", lambda n: next(itertools.cycle(upto(n)))),
    ("Rows", lambda n: Rows(upto(n))),
    ("collections.ChainMap", lambda n: collections.ChainMap(squares(n))[2]),
    ("collections.UserList", lambda n: collections.UserList(upto(n))),
    ("collections.defaultdict", lambda n: collections.defaultdict(int, [(k, k) for k in upto(n)])),
    ("frozenset.union", lambda n: frozenset({1}).union(upto(n))),
])
def test_items_that_other_code_takes_are_an_error(name: str, fn: Callable[[Any], Any]) -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(fn)(rt.constant(3))
    assert name in str(caught.value)
    assert KNOWN in str(caught.value)
    assert "test_item_takers.py:" in str(caught.value)


def test_all_permutations_of_a_list_of_any_length() -> None:
    found = rt.function(lambda n: list(itertools.permutations(upto(n))))(rt.constant(3))
    assert rt.nest.map_structure(int, found) == list(itertools.permutations(range(3)))


def test_effects_of_functions_that_items_are_given_to_keep_their_order_or_are_refused() -> None:
    def f(n):
        for v in itertools.accumulate(upto(n), lambda a, b: print(a) or a + b):
            print(v)

    with pytest.raises(StagingError, match="would come for all of them at once"):
        rt.function(f)(rt.constant(3))


def test_code_that_only_stores_lists_has_them() -> None:
    def f(n):
        pairs = list(itertools.product([upto(n), upto(2)], [1, 2]))
        return [len(xs) * k for xs, k in pairs], [len(x) for x in itertools.repeat(upto(n), 2)]

    assert plain(rt.function(f)(rt.constant(3))) == f(3)


def test_a_counter_with_text_takes_a_key_that_the_graph_knows() -> None:
    def f(n):
        c = Counter({"1": 4, "2": 5})
        c[f"{n}"] = 7
        return c["1"], c["2"]

    assert plain(rt.function(f)(rt.constant(2))) == f(2)


def test_a_counter_among_the_arguments_has_its_counts() -> None:
    def f(c, n):
        for k in range(n):
            c[k] += 1
        return c.most_common(1), c.total()

    counts = Counter([5, 5])
    assert plain(rt.function(f)(counts, rt.constant(3))) == ([(5, 2)], 5)
    assert plain(counts) == {5: 2, 0: 1, 1: 1, 2: 1}


def test_items_of_known_number_are_taken_one_by_one() -> None:
    def f(xs):
        parts = map(lambda v: v + 1, xs)
        a, = itertools.islice(parts, 1)
        counts = Counter(v % 2 for v in xs)
        return a, list(enumerate(parts)), list(parts), counts[1]

    assert plain(rt.function(f)(rt.constant([3, 1, 2]))) == f([3, 1, 2])


def decided(xs):
    return (
        [(key, list(group)) for key, group in itertools.groupby(xs, lambda x: x > 2)],
        [(key, len(list(group))) for key, group in itertools.groupby(xs)],
        list(itertools.takewhile(lambda x: x < 3, xs)), list(itertools.dropwhile(lambda x: x < 3, xs)),
        list(itertools.filterfalse(lambda x: x < 3, xs)), list(itertools.compress(xs, [x > 1 for x in xs])))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_lists_of_known_length_whose_items_decide(executor: str) -> None:
    staged = on(executor, lambda *xs: decided([*xs]))
    for xs in ((3, 1, 2, 2), (1, 5, 0, 0), (2, 2, 2, 2)):
        assert plain(staged(*map(rt.constant, xs))) == decided(xs)


def test_message_iterator_of_a_generator() -> None:
    def chunks(xs, n):
        items = iter(xs)
        while True:
            found = list(itertools.islice(items, n))
            if not found:
                return
            yield found

    with pytest.raises(StagingError, match=r"(?s)test_item_takers.py:\d+: staged code takes items of .*islice"):
        rt.function(lambda xs, n: list(chunks(xs, n)))(rt.constant([1, 2, 3]), rt.constant(2))


def heap_in_order_of_arrival(xs):
    arrivals, heap = itertools.count(5, 2), []
    for x in xs:
        heapq.heappush(heap, (x, next(arrivals)))
    return [heapq.heappop(heap) for _ in range(len(heap))], next(arrivals)


def numbered_where_positive(xs):
    numbers = itertools.count(1)

    def number(x):
        return next(numbers) if x > 1 else -1

    return [number(x) for x in xs], next(numbers), repr(numbers)[:5]


def counted_until_a_break(xs):
    c, total = itertools.count(1.5, 0.5), 0.0
    for i in c:
        if i > xs[0] * 2:
            break
        total += i
    for i in itertools.count():
        if i > xs[1]:
            break
        total += i
    return total, next(c)


def counted_beside_others(xs):
    pairs = [(i, x) for i, x in zip(itertools.count(1), xs)]
    return pairs, list(zip(itertools.count(), "ab")), list(itertools.islice(itertools.count(3), 2))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [
    heap_in_order_of_arrival, numbered_where_positive, counted_until_a_break, counted_beside_others])
def test_count(fn: Callable[[Any], Any], executor: str) -> None:
    staged = on(executor, fn)
    for xs in ([3, 1, 2], [0, 5, 2, 2]):
        assert plain(staged(rt.constant(xs))) == fn(xs)


def test_message_count_after_a_zip() -> None:
    def f(xs):
        c = itertools.count()
        found = [x * i for x, i in zip(xs, c)]
        return found, next(c)

    with pytest.raises(StagingError, match=r"test_item_takers.py:\d+: where this count is, is known only when"):
        rt.function(f)(rt.constant([3, 1, 2]))


def test_message_count_of_text() -> None:
    with pytest.raises(TypeError, match="a number is required"):
        rt.function(lambda x: (x, itertools.count("a")))(rt.constant(1))

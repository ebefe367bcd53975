"""Dicts and sets of the graph: named tuples as keys, views as sets, iterators, and what makes such dicts."""
from __future__ import annotations

import itertools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from ways import HAS_LLVM

import runtime as rt
from runtime.errors import StagingError
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


class Point(NamedTuple):
    x: int
    y: int


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        found = [plain(item) for item in x]
        return type(x)(*found) if hasattr(x, "_fields") else type(x)(found)
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def squares(n):
    made = {}
    for k in range(n):
        made[k] = k * k
    return made


def points(n):
    made = {}
    for k in range(n):
        made[Point(k % 2, k)] = -k
    return made


def named_keys(n):
    d, seen = points(n), set()
    for k in range(n):
        seen.add(Point(k % 3, 0))
    e = {Point(1, 2): 7, Point(3, 4): 8}
    return (d[Point(1, 1)], d[1, 1], (0, 0) in d, Point(5, 5) in d, [k.y for k in d], len(seen), Point(0, 0) in seen,
            (1, 0) in seen, sorted(seen), d, e[Point(n - 1, n)], e.get(Point(n, n), -1))


def constant_keys(n):
    d = {}
    for k in range(n):
        d[k % 2, k] = -k
    d[1, 1] = 7
    d[0, 0] += 3
    del d[0, 2]
    return d, d[1, 1], d[0, 0]


def made_of_pairs(n):
    return (dict(zip([1, 2, n], [3, 4, 5])), dict([(1, 2), (n, 5)]), dict([[1, 2], [n, 5]]),
            dict(zip([1, 2], [n, n])), dict([("a", n)]), dict(((k, n) for k in "ab"), c=3),
            OrderedDict([(1, 2), (n, 5)]))


def views(n):
    d, e = squares(n), squares(2)
    return (sorted(d.keys() & e.keys()), sorted(d.keys() | {50}), sorted(d.keys() - e.keys()),
            sorted({1, 77} & d.keys()), d.keys() == squares(n).keys(), d.keys() >= e.keys(),
            sorted(d.items() & e.items()), sorted(d.keys() ^ {0}))


def iterators(n):
    d = squares(n)
    return (next(iter(d)), next(iter(d.items())), next(iter(d.values())), list(reversed(d)),
            list(itertools.islice(d.items(), 1)), list(reversed(d.items())))


def taken(n):
    d = OrderedDict()
    for k in range(n):
        d[k] = k * k
    return d.popitem(last=False), d.popitem(), list(d)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [named_keys, constant_keys, made_of_pairs, views, iterators, taken])
def test_dicts_of_the_graph_are_pythons(fn: Callable[..., Any], executor: str) -> None:
    assert plain(on(executor, fn)(rt.constant(4))) == plain(fn(4))


def test_named_tuples_and_others_do_not_mix_as_keys() -> None:
    def f(n):
        d = points(n)
        d[n, n] = 5
        return d

    with pytest.raises(StagingError, match="Give all keys one type"):
        rt.function(f)(rt.constant(3))


def test_only_an_ordered_dict_has_a_first_item_to_take() -> None:
    def f(n):
        return squares(n).popitem(last=False)

    with pytest.raises(TypeError, match="takes no keyword arguments"):
        rt.function(f)(rt.constant(3))


# Classes of dicts

def counted(n):
    made = Counter()
    for k in range(n):
        made[k % 3] += 1
    return made


def counter_or_dict(n):
    made = counted(n)
    if n > 4:
        return dict(made)
    return made


def ordered_or_dict(n):
    made = OrderedDict()
    for k in range(n):
        made[k] = k
    for _ in range(3):
        if n > 4:
            made = dict(made)
    return made


def known_items(n):
    return {1: n} if n > 4 else Counter([1])


def factories(n):
    made = defaultdict(int) if n > 4 else defaultdict(list)
    made[n] = 1
    return made


def recursive(n):
    if n == 0:
        return counted(n + 2)
    made = dict(recursive(n - 1))
    made[n] = 1
    return made


def elements(n):
    made = []
    for k in range(n):
        if k % 2:
            made.append(counted(k))
        else:
            made.append(dict(counted(k)))
    return made


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("fn", "remedy"), [
    (counter_or_dict, "Make it a dict, or a Counter, everywhere."),
    (ordered_or_dict, "Make it a dict, or an OrderedDict, everywhere."),
    (known_items, "Make it a dict, or a Counter, everywhere."),
    (factories, "Make it a defaultdict of int, or a defaultdict of list, everywhere."),
    (recursive, "Make it a Counter, or a dict, everywhere."),
    (elements, "Make it a Counter, or a dict, everywhere.")])
def test_dicts_of_two_classes_do_not_become_one(fn: Callable[..., Any], remedy: str, executor: str) -> None:
    with pytest.raises(StagingError) as caught:
        on(executor, fn)(rt.constant(6))
    assert str(caught.value).endswith(remedy)


def test_the_classes_of_dicts_are_told_in_messages() -> None:
    with pytest.raises(StagingError) as caught:
        rt.function(known_items)(rt.constant(6))
    assert ("the value of this expression is {1: int32[]} if the condition holds (line "
            in str(caught.value)) and "but Counter({1: the int 1}) if it does not" in str(caught.value)


def factory_of_each_path(n):
    made = defaultdict(lambda: 3)
    for k in range(n):
        made = defaultdict(lambda: 3)
        made[k] += 1
    return made[n] + len(made)


def chosen_of_two_classes(n):
    a, b = counted(n), dict(squares(n))
    a[n], b[n] = 8, 9
    return [a, b][n % 2]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [factory_of_each_path, chosen_of_two_classes])
def test_dicts_keep_their_class(fn: Callable[..., Any], executor: str) -> None:
    for n in (3, 4):
        found, wanted = on(executor, fn)(rt.constant(n)), fn(n)
        assert plain(found) == plain(wanted)
        assert type(wanted) is int or type(found) is type(wanted)


# Messages

def missing(n):
    return squares(n)[n]


def missing_of_known(n):
    return {1: 2, 5: 3}[n]


def missing_pair(n):
    d = {}
    for k in range(n):
        d[k, k] = k
    return d[n, 3]


def missing_item(n):
    seen = set()
    for k in range(n):
        seen.add(k)
    seen.remove(n)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("fn", "key"), [
    (missing, 3), (missing_of_known, 3), (missing_pair, (3, 3)), (missing_item, 3)])
def test_a_missing_key_is_shown_as_in_python(fn: Callable[..., Any], key: Any, executor: str) -> None:
    with pytest.raises(KeyError) as caught:
        on(executor, fn)(rt.constant(3))
    assert caught.value.args == (key,)
    assert str(caught.value) == repr(key)


def test_messages_have_pythons_names_of_types() -> None:
    for fn, what in ((lambda n: squares(n).keys().foo, "'dict_keys' object has no attribute 'foo'"),
                     (lambda n: squares(n) < {}, "'<' not supported between instances of 'dict' and 'dict'"),
                     (lambda n: n.bit_length(), "'Tensor' object has no attribute 'bit_length'")):
        with pytest.raises((AttributeError, TypeError), match=what):
            rt.function(fn)(rt.constant(3))

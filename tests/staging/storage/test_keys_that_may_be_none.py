"""Keys of hash tables and items of sets that may be None, alone or as parts of tuples."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from plain_values import executors, plain

import runtime as rt
from tests.traced_once import on


def squares_of(xs):
    made = {}
    for x in xs:
        made[x] = x + 1
    return made


def linked(xs):
    after, cur, seen = squares_of(xs), 0, []
    while cur is not None:
        seen.append(cur)
        cur = after.get(cur)
    return seen


def asked_first(xs):
    after, cur, n = squares_of(xs), 0, 0
    while cur is not None:
        n += 1
        cur = after[cur] if cur in after else None
    return n


def in_order_of_tree(xs):
    left, right, keys, root = {}, {}, {}, None
    for i, x in enumerate(xs):
        keys[i] = x
        if root is None:
            root = i
            continue
        cur = root
        while True:
            side = left if x < keys[cur] else right
            if cur not in side:
                side[cur] = i
                break
            cur = side[cur]
    found, stack, cur = [], [], root
    while stack or cur is not None:
        while cur is not None:
            stack.append(cur)
            cur = left.get(cur)
        cur = stack.pop()
        found.append(keys[cur])
        cur = right.get(cur)
    return found


def before(xs):
    last, counts, pairs, seen = None, {}, defaultdict(int), set()
    for x in xs:
        if last is not None:
            counts[last] = counts.get(last, 0) + 1
            pairs[last, x] += 1
            seen.add((x, last))
        last = x
    return counts, pairs, len(seen), (1, None) in pairs


def maybe_none(xs):
    d, s, last, n = squares_of(xs), set(), None, 0
    for x in xs:
        s.add(x)
    for x in xs:
        n += (last in d) + 10 * (last in s) + 1000 * ((last, x) in d) + 100 * d.get(last, 3)
        s.discard(last)
        last = x if x > 1 else None
    return n, len(s)


def tuples(xs):
    d, last = {}, None
    for x in xs:
        if last is None:
            last = (x, x + 1)
        d[last] = x
        last = (x, last[0]) if x > 1 else None
    return d


@executors
@pytest.mark.parametrize("fn", [linked, asked_first, in_order_of_tree, before, maybe_none, tuples])
def test_keys_that_may_be_none(fn: Callable[[Any], Any], executor: str) -> None:
    traced = on(executor, fn)
    for xs in [0, 1, 2], [2, 4, 3, 0, 2, 4], [1, 2, 1, 5, 2, 1]:
        assert plain(traced(rt.constant(xs))) == fn(xs)


def missing(xs):
    d, last, n = squares_of(xs), 1, 0
    for x in xs:
        n += d[last]
        last = None if x == 2 else x
    return n


def item_set(xs):
    d, last = squares_of(xs), 1
    for x in xs:
        last = None if last == 2 else x
        if last is None or x >= 0:
            d[last] = x
    return d


@executors
def test_none_is_no_key(executor: str) -> None:
    read = on(executor, missing)
    assert int(read(rt.constant([1, 3]))) == missing([1, 3])
    with pytest.raises(KeyError) as info:
        read(rt.constant([1, 2, 3]))
    assert info.value.args == (None,)
    traced = on(executor, item_set)
    assert plain(traced(rt.constant([1, 3]))) == item_set([1, 3])
    with pytest.raises(rt.errors.UnimplementedError, match="^None is a key here of a dict, or an item of a set, whose "
                       "others are numbers: use a number, such as -1$"):
        traced(rt.constant([2, 3]))

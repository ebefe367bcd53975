"""Dicts among the arguments and from before a call, also ordered and counting ones: keys, their order, and items."""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt


class Store:
    def __init__(self) -> None:
        self.plain = {"a": 1.0, "b": 2.0}
        self.ordered = OrderedDict(a=1.0, b=2.0)
        self.counts = Counter("aab")
        self.sums = defaultdict(float, a=1.0)
        self.n = 0


store, table = Store(), {"a": 1.0}


def read(d, x):
    return x * sum(table.values()) + sum(store.ordered.values()) + len(d) * 100 + ("z" in table) * 1000


def in_order(d, x):
    total = x * 0
    for _, v in d.items():
        total = total * 10 + v
    d["new"] = total
    return total


def rotated(d, x):
    first = next(iter(store.plain))
    v = store.plain.pop(first)
    store.plain[first] = v * x
    return v * 1.0


def moved(d, x):
    store.ordered.move_to_end(next(iter(store.ordered)))
    return next(iter(store.ordered.values())) * x


def counted(d, x):
    store.counts["c"] += 1
    store.sums["b"] += x
    store.ordered["k"] = store.ordered.get("k", 0.0) + x
    table["n"] = store.counts["c"]
    return x * store.counts["c"] + store.counts["missing"]


def removed(d, x):
    if "b" in store.plain:
        del store.plain["b"]
    else:
        store.plain["b"] = x
    return x * len(store.plain)


def least_recent(d, x):
    key = len(store.ordered) % 2
    if key in store.ordered:
        store.ordered.move_to_end(key)
        return store.ordered[key]
    store.ordered[key] = x * 2
    if len(store.ordered) > 3:
        store.ordered.popitem(last=False)
    return x


FUNCTIONS = [read, in_order, rotated, moved, counted, removed, least_recent]


def history(fn: Callable[..., Any], of: Callable[[float], Any]) -> list[Any]:
    Store.__init__(store)
    table.clear()
    table["a"] = 1.0
    found = []
    dicts: list[dict[str, Any]] = [{"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, OrderedDict(b=1.0, a=2.0)]
    for call in range(9):
        d = dicts[call % 3]
        result = float(fn(d, of(0.5 + call)))
        found.append([result, *([(key, float(v)) for key, v in each.items()] for each in (
            d, table, store.plain, store.ordered, store.counts, store.sums))])
        if call == 3:
            table["z"], store.ordered["q"] = 5.0, 2.0
        if call == 5:
            store.ordered.move_to_end(next(iter(store.ordered)))
            store.plain = dict(reversed(store.plain.items()))
        if call == 6:
            del table["a"]
            store.sums["w"] = 3.0
    return found


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_as_in_python(fn: Callable[..., Any], executor: str) -> None:
    want = history(fn, np.float32)
    assert history(rt.function(fn, executor=executor), rt.constant) == want


def test_reading_makes_no_items() -> None:
    sums: Any = defaultdict(float, a=1.0)

    @rt.function
    def f(x):
        return x * sums["a"]

    for _ in range(3):
        assert float(f(rt.constant(2.0))) == 2
    del sums["a"]
    assert float(f(rt.constant(2.0))) == 0 and [*sums] == ["a"]
    assert f.experimental_get_tracing_count() == 2


def test_an_order_that_a_tensor_decides_is_refused() -> None:
    @rt.function
    def f(x):
        d = OrderedDict(a=1.0, b=2.0)
        if x > 1:
            d.move_to_end("a")
        return next(iter(d.values())) * x

    with pytest.raises(rt.errors.StagingError, match="changes 'd'"):
        f(rt.constant(2.0))

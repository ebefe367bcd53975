"""Tensors that an ended trace, which stores nothing at each call, has left in objects: overwritten or an error."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt


class Holder:
    def __init__(self) -> None:
        self.items: dict[str, Any] = {"other": 1.0}


def in_an_attribute(o: Any, x: Any) -> None:
    o.last = x * 2.0


def in_a_tuple(o: Any, x: Any) -> None:
    o.last = x * 2.0, x + 1.0


def in_a_list(o: Any, x: Any) -> None:
    o.last = [x * 2.0]


def in_a_dict(o: Any, x: Any) -> None:
    o.last = {"a": (x * 2.0, [x])}


def in_an_item(o: Any, x: Any) -> None:
    o.items["last"] = x * 2.0


WRITES = [in_an_attribute, in_a_tuple, in_a_list, in_a_dict, in_an_item]


def by_map(fn: Callable[[Any], Any]) -> None:
    list(rt.data.Dataset.range(2).map(lambda x: fn(rt.cast(x, rt.float32))))


def by_vectorized_map(fn: Callable[[Any], Any]) -> None:
    rt.vectorized_map(fn, rt.ones([3]))


def by_map_in_a_function(fn: Callable[[Any], Any]) -> None:
    @rt.function
    def total() -> Any:
        result = rt.constant(0.0)
        for x in rt.data.Dataset.range(2).map(lambda x: fn(rt.cast(x, rt.float32))):
            result += x
        return result

    total()


LEAVES = [by_map, by_vectorized_map, by_map_in_a_function]


def left(write: Any, leave: Any) -> Holder:
    o = Holder()

    def fn(x: Any) -> Any:
        write(o, x)
        return x + 1.0

    leave(fn)
    return o


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.numpy().tolist() if isinstance(value, rt.Tensor) else value


def state_of(o: Holder) -> Any:
    return plain(vars(o))


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("leave", LEAVES)
@pytest.mark.parametrize("write", WRITES)
def test_a_function_overwrites_it(write: Any, leave: Any, executor: str) -> None:
    def always(o: Any, x: Any, n: Any) -> Any:
        write(o, x)
        return x + 1.0

    def repeatedly(o: Any, x: Any, n: Any) -> Any:
        for _ in range(n):
            write(o, x)
            x = x + 1.0
        return x

    def on_one_way(o: Any, x: Any, n: Any) -> Any:
        if n > 0:
            write(o, x)
        return x

    for fn in (always, repeatedly, on_one_way):
        expected, o = Holder(), left(write, leave)
        before = dict(vars(o))
        result = fn(expected, rt.ones([2]), 3)
        traced = rt.function(lambda x, n, o=o, fn=fn: fn(o, x, n), executor=executor)
        if fn is not always:
            traced(rt.ones([2]), rt.constant(0))
            assert vars(o) == before  # no other value, so it is still there
        for _ in range(2):
            assert plain(traced(rt.ones([2]), rt.constant(3))) == plain(result)
            assert state_of(o) == state_of(expected)


def test_a_use_is_an_error_that_tells_where_it_was_made() -> None:
    o = left(in_an_attribute, by_map)

    @rt.function
    def reads(x: Any) -> Any:
        return x + o.last

    with pytest.raises(rt.errors.InaccessibleTensorError) as caught:
        reads(rt.ones([2]))
    assert "return x + o.last" in str(caught.value)
    assert "the tensor (float32[]) belongs to graph '<lambda>' (made at " in str(caught.value)
    assert "in in_an_attribute) and is used in graph 'reads'" in str(caught.value)

    @rt.function
    def reads_first(x: Any) -> Any:
        for _ in rt.range(3):
            x = x + o.last
            o.last = x
        return x

    with pytest.raises(rt.errors.InaccessibleTensorError, match=r"x = x \+ o\.last"):
        reads_first(rt.ones([2]))

    @rt.function
    def returns(x: Any) -> Any:
        return o.last

    with pytest.raises(rt.errors.InaccessibleTensorError, match="is used in graph 'returns'"):
        returns(rt.ones([2]))

    with pytest.raises(rt.errors.InaccessibleTensorError, match="is used in graph 'reads_it'"):
        rt.function(lambda x: x + 1.0, name="reads_it")(o.last)


def test_a_branch_that_assigns_it_is_an_error_at_that_line() -> None:
    o = left(in_an_attribute, by_map)

    @rt.function
    def branches(x: Any) -> Any:
        y = x
        if x > 0.0:
            y = o.last
        return y

    @rt.function
    def loops(x: Any) -> Any:
        while x > 0.0:
            x = o.last
        return x

    for f, line in ((branches, "y = o.last"), (loops, "x = o.last")):
        with pytest.raises(rt.errors.InaccessibleTensorError, match=line):
            f(rt.constant(-1.0))


def test_in_a_try_statement() -> None:
    o = left(in_a_tuple, by_map)

    @rt.function
    def f(x: Any) -> Any:
        try:
            y = 7 // x
            in_a_tuple(o, rt.cast(y, rt.float32))
        except ZeroDivisionError:
            y = x
        return y

    before = o.last
    assert plain(f(rt.constant(0))) == 0 and o.last is before
    assert plain(f(rt.constant(3))) == 2 and plain(o.last) == (4.0, 3.0)


def test_reading_it_after_a_way_that_does_not_overwrite_it() -> None:
    o = left(in_an_attribute, by_map)

    @rt.function
    def f(x: Any) -> Any:
        if rt.reduce_sum(x) > 0.0:
            o.last = x
        return o.last + 1.0

    with pytest.raises(AttributeError, match="'o' has no attribute 'last'"):
        f(-rt.ones([2]))
    assert plain(f(rt.ones([2]))) == [2.0, 2.0]


def test_what_is_left_again_and_again_does_not_trace_again() -> None:
    o = Holder()

    @rt.function
    def f(x: Any) -> Any:
        o.last = x * 2.0
        return x + 1.0

    for _ in range(4):
        by_map(lambda x: setattr(o, "last", x * 3.0) or x)
        np.testing.assert_array_equal(f(rt.ones([2])), [2.0, 2.0])
        assert plain(o.last) == [2.0, 2.0]
    assert f.cache_info().misses <= 2

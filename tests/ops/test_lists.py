"""Staged lists, the ops on lists, and the persistent sequence that holds them when a graph runs."""
from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.persistent_list import Items, versions
from runtime.core.tensor import EagerList
from runtime.core.types import ListType, TensorType, float32, int32
from runtime.errors import IndexOutOfRangeError, InvalidArgumentError, StagingError
from runtime.ops.lists import join_elements, list_append, list_cast, list_get, list_new, list_reserve, list_stack


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(plain(item) for item in x)
    return x.numpy().tolist() if hasattr(x, "numpy") else x


def same(fn: Callable[..., Any], *args: Any) -> Any:
    """The result of `fn` in Python, after checking that the staged one is the same."""
    expected = fn(*args)
    found = plain(rt.function(fn)(*map(rt.constant, args)))
    assert found == expected
    return found


# The persistent sequence


def test_items_keep_their_value() -> None:
    rng = random.Random(1)
    kept: list[tuple[Items, list[int]]] = [(Items(), [])]
    for step in range(2000):
        items, value = rng.choice(kept[-3:] if rng.random() < 0.9 else kept)
        kind = rng.random()
        if kind < 0.5 or not value:
            kept.append((items.append(step), [*value, step]))
        elif kind < 0.8:
            i = rng.randrange(len(value))
            kept.append((items.set(i, step), [*value[:i], step, *value[i + 1:]]))
        else:
            rest, last = items.pop()
            assert last == value[-1]
            kept.append((rest, value[:-1]))
    for items, value in kept:
        assert list(items) == value
        assert len(items) == len(value)


def test_linear_use_copies_nothing() -> None:
    items = versions((1, 2))
    storage = items.storage()
    for i in range(100):
        items = items.append(i).set(0, i)
    assert items.storage() is storage
    assert items[0] == 99
    assert len(items) == 102


# Types


def test_join_of_element_types() -> None:
    assert join_elements(TensorType(float32, (3,)), TensorType(float32, (4,))) == TensorType(float32, (None,))
    assert join_elements(TensorType(int32, (), weak=True), TensorType(float32)) == TensorType(float32)
    with pytest.raises(InvalidArgumentError, match="have different ranks: float32"):
        join_elements(TensorType(float32), TensorType(float32, (2,)))
    with pytest.raises(InvalidArgumentError, match="have different dtypes: float32 and int32"):
        join_elements(TensorType(float32), TensorType(int32))


def test_list_types() -> None:
    unknown, known = ListType(TensorType(float32), known=False), ListType(TensorType(float32, (3,)))
    assert str(unknown) == "list[float32]"
    assert str(known) == "list[float32[3]]"
    assert known.accepts(unknown)
    assert not unknown.accepts(known)
    assert ListType(TensorType(float32, (None,))).accepts(known)


def test_ops_on_eager_lists() -> None:
    value = list_new([rt.constant(1), rt.constant(2)], TensorType(int32))
    assert isinstance(value, EagerList)
    longer = list_append(value, rt.constant(3))
    assert list_stack(longer).numpy().tolist() == [1, 2, 3]
    assert list_stack(value).numpy().tolist() == [1, 2]
    assert list_get(longer, -1).numpy() == 3
    assert list_stack(list_cast(longer, TensorType(float32))).dtype is float32
    with pytest.raises(IndexError, match="list index out of range: index 5, length 3"):
        list_get(longer, 5)


def test_elements_that_were_not_written() -> None:
    assert list_stack(list_reserve(2, TensorType(float32, (3,)))).numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    with pytest.raises(InvalidArgumentError, match="the shape of the elements is not known"):
        list_stack(list_reserve(2, TensorType(float32), known=False))


# Lists in staged code


def appended(n):
    out = []
    for i in range(n):
        if i % 2 == 0:
            out.append(i * 3)
    return out


def changed(n):
    out = [1, 2]
    for i in range(n):
        out.append(i)
    out.pop()
    first = out.pop(0)
    out.insert(1, 7)
    out[0] = 5
    out.extend([1, 2])
    out.reverse()
    del out[1]
    return out, first, len(out), out[-1], out[1:3], out[::-1]


def measured(n):
    out = [3]
    for i in range(n):
        out.append(i * i % 5)
    copy = out.copy()
    copy.sort()
    out.sort(reverse=True)
    return copy, out, sorted(out), sum(out), max(out), min(out), len(out + [1]), len([1, 2] + out)


def drained(n):
    work = []
    for i in range(n):
        work.append(i)
    total = 0
    while work:
        total = total * 2 + work.pop()
    return total, len(work)


def walked(n):
    out = []
    for i in range(n):
        out.append(i)
    total = 0
    for i, v in enumerate(out):
        total += i * v
    for v in reversed(out):
        total = total * 2 + v
    for a, b in zip(out, out[1:]):  # noqa: RUF007
        total += a * b
    if out:
        total += 1
    return total


def added(n):
    out = []
    for i in range(n):
        out = out + [i]
        out += [i, i]
    return out


def in_one_branch(n):
    if n > 2:
        out = [1]
        out.append(n)
    else:
        out = []
    return out


def numbers_adapt(n):
    out = [0.5]
    for i in range(n):
        if i % 2:
            out.append(out[-1] * 2)
        elif len(out) > 2:
            out.pop()
    return out


def nested_loops(n):
    out = []
    for i in range(n):
        row = []
        for j in range(i):
            row.append(j)
        out.append(len(row))
    return out


def cleared(n):
    out = [1]
    for i in range(n):
        if i == 2:
            out.clear()
        out.append(i)
    return out


@pytest.mark.parametrize("fn", [appended, changed, measured, drained, walked, added, in_one_branch, numbers_adapt,
                                nested_loops, cleared])
@pytest.mark.parametrize("n", [5, 2, 1])
def test_staged_as_in_python(fn: Callable[..., Any], n: int) -> None:
    same(fn, n)


def test_rows_stack() -> None:
    @rt.function
    def f(xs):
        out = []
        for x in xs:
            if x[0] > 0:
                out.append(x * 2)
        return rt.stack(out), rt.reduce_sum(out)

    rows, total = f(rt.constant([[1.0, 2.0], [-1.0, 0.0], [3.0, 4.0]]))
    assert rows.numpy().tolist() == [[2, 4], [6, 8]]
    assert total.numpy() == 20


def test_elements_of_several_lengths() -> None:
    @rt.function
    def f(n):
        out = []
        for i in rt.range(n):
            out.append(rt.range(i))
        return out

    assert plain(f(rt.constant(4))) == [[], [0], [0, 1], [0, 1, 2]]
    with pytest.raises(InvalidArgumentError, match=r"elements to stack need one shape, but element 0 has the .* \[0\]"):
        rt.function(lambda n: rt.stack(f(n)))(rt.constant(3))


def test_linear_time() -> None:
    @rt.function
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        for i in range(n):
            out[i] = out[i] + 1
        return rt.reduce_sum(out)

    assert f(rt.constant(20_000)).numpy() == 20_000 * 20_001 // 2


def staged(body: Callable[[Any], Any]) -> Any:
    """The result of `body` for a staged list of three elements."""
    @rt.function
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        return body(out)

    return f(rt.constant(3))


def test_index_error() -> None:
    with pytest.raises(IndexOutOfRangeError, match="list index out of range: index 7, length 3"):
        staged(lambda out: out[7])
    with pytest.raises(IndexError, match="pop from empty list"):
        def pop_all(out):
            while True:
                out.pop()
                out.pop()
                out.pop()
                return out.pop()
        staged(pop_all)
    assert plain(staged(lambda out: out[-3])) == 0


def test_slices_with_steps() -> None:
    def changed(out):
        out[1:3:2] = [7]
        del out[::2]
        return out

    assert plain(staged(changed)) == [7]


def test_operators_of_the_module() -> None:
    assert plain(staged(lambda out: operator.eq(out, [0, 1, 2]))) is True
    assert plain(staged(lambda out: operator.add(out, [5]))) == [0, 1, 2, 5]
    assert plain(staged(lambda out: operator.contains(out, 2))) is True
    assert plain(staged(lambda out: list.__getitem__(out, 1))) == 1
    assert plain(staged(lambda out: (list.append(out, 4), operator.iadd(out, out))[1])) == [0, 1, 2, 4] * 2


def test_elements_that_are_no_tensors() -> None:
    def f(n):
        out = [1]
        for i in range(n):
            out.append(i)
        out.append("text")
        return out

    with pytest.raises(StagingError) as caught:
        rt.function(f)(rt.constant(2))
    assert "a list that changes in staged code holds tensors of one type, not a str" in str(caught.value)
    assert "Use one list for each part, or a tensor made with rt.stack." in str(caught.value)


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="'list' object has no attribute 'push'"):
        staged(lambda out: out.push(1))


def test_printed_as_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    staged(lambda out: print("list:", out, f"{out}", [out, 1]))
    assert capsys.readouterr().out == "list: [0, 1, 2] [0, 1, 2] [[0, 1, 2], 1]\n"


def test_graph_of_a_loop_that_appends() -> None:
    text = str(rt.function(appended).get_concrete_function(rt.TensorSpec((), rt.int32)).graph)
    assert "list_append" in text
    assert "list[" in text


def test_result_types() -> None:
    result = rt.function(appended)(rt.constant(3))
    assert type(result) is list
    assert [x.dtype for x in result] == [rt.int32, rt.int32]
    assert np.asarray(result[1]) == 6

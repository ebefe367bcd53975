"""Writes to NumPy arrays are seen by all that see them in Python, or are errors that name the line and the way out."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from traced_once import on

import autograph as ag
import runtime as rt
from runtime.core.read_only_arrays import unwritable

GRID = np.zeros(3)
HOLDER = SimpleNamespace(grid=np.zeros(3))
TABLE = {"k": np.zeros(3)}
N = 2


def swap(a: Any, i: Any, j: Any) -> None:
    a[i], a[j] = a[j], a[i]


def rev(a: Any) -> Any:
    swap(a, 0, 2)
    return a


def alias(a: Any) -> Any:
    b = a
    b[0] = 7
    return a


def row(a: Any) -> Any:
    r = a[1]
    r[0] = 100
    return a


def rows(a: Any) -> Any:
    for r in a:
        r[0] = 1.0
    return a


def zero(a: Any) -> None:
    a[0] = 0


def returned(a: Any) -> Any:
    a[0] = 0
    return a


def nested(a: Any) -> Any:
    a[0][1] = 5
    return a


def plus(a: Any) -> Any:
    a += 1
    return a


def times(a: Any) -> Any:
    a *= 2
    return a + 0


def mask(a: Any) -> Any:
    a[a > 1] = 0
    return a


def part(a: Any) -> Any:
    a[1:] = 0
    return a


def view(a: Any) -> Any:
    v = a[1:3]
    v[0] = 5
    return a


def turned(a: Any) -> Any:
    a.T[0] = 1
    return a


def filled(a: Any) -> Any:
    a.fill(0)
    return a


def sorted_(a: Any) -> Any:
    a.sort()
    return a


def out(a: Any) -> Any:
    np.add(a, 1, out=a)
    return a


def copyto(a: Any) -> Any:
    np.copyto(a, 1)
    return a


def item_plus(a: Any) -> Any:
    a[0] += 5
    return a


def in_branch(a: Any) -> Any:
    if a[0] > -5:
        a[0] = 9
    return a


def in_loop(a: Any) -> Any:
    n = a.shape[0]
    for i in rt.range(n):
        a[i] = 0
    return a


def helper_in_loop(a: Any) -> Any:
    for i in rt.range(2):
        swap(a, i, i + 1)
    return a


def enumerated(a: Any) -> Any:
    for i, r in enumerate(a):
        r[0] = i
    return a


def zipped(a: Any) -> Any:
    for r, _ in zip(a, a):
        r[0] = 1
    return a


def unpacked(a: Any) -> Any:
    _, second, _ = a
    second[0] = 8
    return a


def in_list(a: Any) -> Any:
    held = [a]
    held[0][0] = 4
    return a


def in_dict(a: Any) -> Any:
    held = {"k": a}
    held["k"][0] = 4
    return a


def in_object(a: Any) -> Any:
    held = SimpleNamespace(grid=a)
    held.grid[0] = 4
    return a


def in_closure(a: Any) -> Any:
    def put() -> None:
        b = a
        b[0] = 3

    put()
    return a


def deleted(a: Any) -> Any:
    del a[0]
    return a


def of_global(a: Any) -> Any:
    GRID[0] = 5
    return a


def global_again(a: Any) -> Any:
    GRID[0] = GRID[0]
    return a


def fill_global(a: Any) -> Any:
    GRID.fill(0)
    return a


def plus_global(a: Any) -> Any:
    g = GRID
    g += 1
    return a


def view_of_global(a: Any) -> Any:
    v = GRID[1:]
    v[0] = 5
    return a


def of_object(a: Any) -> Any:
    HOLDER.grid[1] = 5
    return a


def of_dict(a: Any) -> Any:
    np.copyto(TABLE["k"], 1)
    return a


def global_in_branch(a: Any) -> Any:
    if a[0] > -5:
        GRID[0] = 5
    return a


# Of arrays that the function makes.

def fresh(a: Any) -> Any:
    c = a + 1
    c[0] = 7
    return c


def fresh_alias(a: Any) -> Any:
    c = a + 1
    d = c
    d[0] = 7
    return c


def fresh_alias_used(a: Any) -> Any:
    c = a + 1
    d = c
    d[0] = 7
    return d


def fresh_before(a: Any) -> Any:
    c = a * 2
    c[0] = 7
    d = c
    return c, d


def fresh_view(a: Any) -> Any:
    c = a * 2
    v = c[1:]
    v[0] = 5
    return c


def fresh_view_stale(a: Any) -> Any:
    c = a * 2
    v = c[1:]
    c[1] = 5
    return v


def fresh_view_own(a: Any) -> Any:
    c = a * 2
    v = c[1:]
    v[0] = 5
    return v


def fresh_plus(a: Any) -> Any:
    c = a * 2
    d = c
    d += 1
    return c


def fresh_row_plus(a: Any) -> Any:
    c = a * 2
    c[1] += 1
    return c


def fresh_row_plus_elsewhere(a: Any) -> Any:
    c = a * 2
    r = c[1]
    r += 1
    c[2] = r
    return c


def fresh_swap(a: Any) -> Any:
    c = a * 2
    swap(c, 0, 1)
    return c


def fresh_loop(a: Any) -> Any:
    c = a * 2
    for i in rt.range(2):
        c[i] = c[i] + 1
    return c


def fresh_loop_alias(a: Any) -> Any:
    c = a * 2
    d = c
    for i in rt.range(2):
        d[i] = 0
    return c


def fresh_branch(a: Any) -> Any:
    c = a * 2
    if a[0] > -5:
        c[0] = 9
    return c


def fresh_branch_alias(a: Any) -> Any:
    c = a * 2
    d = c
    if a[0] > -5:
        d[0] = 9
    return c


def fresh_branch_helper(a: Any) -> Any:
    c = a * 2
    if a[0] > -5:
        swap(c, 0, 1)
    return c


def fresh_joined(a: Any) -> Any:
    c = a * 2
    d = a * 3
    e = c if a[0] > -5 else d
    e[0] = 9
    return c


def fresh_born_in_loop(a: Any) -> Any:
    c = a * 2
    d = c
    for i in rt.range(2):
        c = c + 1
        d = c
    d[0] = 100
    return c


def fresh_in_try(a: Any) -> Any:
    c = a * 2
    try:
        c = a * 3
        c[0] = 1 // rt.cast(a[0], rt.int64)
    except ZeroDivisionError:
        c = a * 4
    return c


def copied(a: Any) -> Any:
    a = a.copy()
    a[0] = 7
    a += 1
    return a


def zeros(a: Any) -> Any:
    z = np.zeros(3)
    w = z
    z[1:] += 5
    w[0] = 1
    return z, w


VECTORS = [
    rev, alias, zero, returned, plus, times, mask, part, view, filled, sorted_, out, copyto, item_plus, in_branch,
    in_loop, helper_in_loop, in_list, in_dict, in_object, in_closure, deleted, of_global, global_again, fill_global,
    plus_global, view_of_global, of_object, of_dict, global_in_branch, fresh, fresh_alias, fresh_alias_used,
    fresh_before, fresh_view, fresh_view_stale, fresh_view_own, fresh_plus, fresh_row_plus, fresh_swap, fresh_loop,
    fresh_loop_alias, fresh_branch, fresh_branch_alias, fresh_branch_helper, fresh_joined, fresh_born_in_loop,
    copied, zeros,
]
MATRICES = [
    row, rows, nested, turned, enumerated, zipped, unpacked, fresh_row_plus, fresh_row_plus_elsewhere, fresh_swap,
]
FORMS = [(fn, (3,)) for fn in VECTORS] + [(fn, (3, 3)) for fn in MATRICES]


def outcome(fn: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """What two calls give, and all arrays after them; or the error."""
    seen = []
    for first in (0.0, 4.0):
        GRID[:] = HOLDER.grid[:] = TABLE["k"][:] = first
        a = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + 1
        try:
            result = fn(a)
        except Exception as error:
            return error
        seen.append([np.asarray(x).tolist() for x in (result if isinstance(result, tuple) else (result,))])
        seen.append([x.tolist() for x in (a, GRID, HOLDER.grid, TABLE["k"])])
    return seen


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(("fn", "shape"), FORMS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_as_in_python_or_an_error(fn: Any, shape: Any, executor: str) -> None:
    expected, got = outcome(fn, shape), outcome(on(executor, fn), shape)
    if isinstance(expected, Exception):
        text = str(got)
        assert "test_array_writes.py:" in text.splitlines()[0], text
        assert len(text.splitlines()) >= 4, f"no remedy: {text}"
    else:
        assert got == expected


@pytest.mark.parametrize(("fn", "shape"), FORMS, ids=lambda x: getattr(x, "__name__", str(x)))
def test_verification_finds_it(fn: Any, shape: Any) -> None:
    expected, got = outcome(fn, shape), outcome(rt.function(fn, verify=True), shape)
    assert isinstance(got, Exception) or got == expected


@pytest.mark.parametrize("fn", [zero, returned, part])
def test_a_trace_for_tensors_is_none_for_arrays(fn: Any) -> None:
    traced = rt.function(fn, executor="numpy")
    a = np.array([1.0, 2.0, 3.0])
    x = rt.constant(a)
    traced(x)
    assert outcome(traced, (3,)) == outcome(fn, (3,))
    traced(x)
    assert traced.experimental_get_tracing_count() == 2 and x.numpy().tolist() == [1.0, 2.0, 3.0]


def test_a_trace_that_writes_nothing_serves_tensors_and_arrays() -> None:
    traced = rt.function(lambda a: a[1:].sum() * 2)
    assert traced(np.ones(3)) == traced(rt.constant(np.ones(3))) == 4
    assert traced.experimental_get_tracing_count() == 1


def test_a_tensor_stays_as_it_is() -> None:
    x = rt.constant([1, 2, 3])
    assert rt.function(returned)(x).numpy().tolist() == [0, 2, 3] and x.numpy().tolist() == [1, 2, 3]


def test_an_array_in_a_list_of_the_arguments() -> None:
    def put(held: Any) -> None:
        held[0][0] = 5

    def swapped(held: Any) -> Any:
        swap(held, 0, 1)
        return held

    arrays = [np.ones(2), np.zeros(2)]
    first, second = arrays
    rt.function(put)(arrays)
    assert arrays[0] is first and first.tolist() == [5, 1]
    assert rt.function(swapped)(arrays) is arrays and arrays[0] is second and arrays[1] is first


def test_an_array_in_another_traced_function() -> None:
    inner = rt.function(zero, executor="numpy")

    @rt.function(executor="numpy")
    def outer(a: Any) -> Any:
        b = a
        inner(b[:2])
        inner(GRID)
        return a

    GRID[:] = 4
    outer(rt.constant([1.0, 2.0]))
    a = np.array([1.0, 2.0])
    assert outer(a).numpy().tolist() == a.tolist() == [0, 2] and GRID.tolist() == [0, 4, 4]


def test_a_view_that_another_traced_function_gives() -> None:
    second = rt.function(lambda a: a[1])

    @rt.function
    def outer(a: Any) -> Any:
        row = second(a)
        row[0] = 5
        return a

    a = np.ones((2, 2))
    assert outer(a).numpy().tolist() == a.tolist() == [[1, 1], [5, 1]]


def test_a_global_that_another_traced_function_changes() -> None:
    inner = rt.function(of_global)

    @rt.function
    def outer(a: Any) -> Any:
        inner(a)
        return GRID * 2

    GRID[:] = 1
    assert outer(np.ones(3)).numpy().tolist() == [10, 2, 2] and GRID.tolist() == [5, 1, 1]


def test_with_an_input_signature() -> None:
    f = rt.function(returned, input_signature=[rt.TensorSpec([None], rt.float64)])
    a = np.ones(2)
    assert f(a).numpy().tolist() == a.tolist() == [0, 1]
    assert f(rt.constant([1.0, 2.0], rt.float64)).numpy().tolist() == [0.0, 2.0]


def test_arrays_can_be_written_after_the_trace() -> None:
    rt.function(of_global)(np.ones(3))
    assert GRID.flags.writeable and HOLDER.grid.flags.writeable


def test_a_read_only_array() -> None:
    a = np.ones(3)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        rt.function(zero)(a)
    assert rt.function(lambda a: a + 1)(a).numpy().tolist() == [2, 2, 2]


def test_arguments_that_share_memory() -> None:
    def put(a: Any, b: Any) -> Any:
        a[0] = 7
        return b * 1

    f, whole = rt.function(put), np.ones(4)
    assert f(whole, whole).numpy().tolist() == [7, 1, 1, 1]
    with pytest.raises(rt.errors.StagingError, match=r"the array 'a' is changed, which may share memory with 'b'"):
        f(whole[:3], whole[1:])
    assert f(whole[:2], whole[2:]).numpy().tolist() == [1, 1]
    assert rt.function(lambda a, b: a + b)(whole[:3], whole[1:]).shape == (3,)


def test_converted_code_changes_arrays_as_python_does() -> None:
    a = np.array([1, 2, 3])
    assert ag.convert(rev, verify=True)(a) is a and a.tolist() == [3, 2, 1]


def test_verification_compares_the_callers_arrays() -> None:
    f = rt.function(rev, verify=True)
    a = np.array([1, 2, 3])
    assert f(a).numpy().tolist() == f(a)[::-1].numpy().tolist() == [3, 2, 1] and a.tolist() == [1, 2, 3]


def test_a_write_of_a_function_that_is_left_as_it_is() -> None:
    @ag.do_not_convert
    def hidden(held: Any) -> None:
        held.grid[0] += 1

    holder = SimpleNamespace(grid=np.zeros(2))
    f = rt.function(lambda held, x: hidden(held))
    for _ in range(2):
        f(holder, rt.constant(1))
    assert holder.grid.tolist() == [2, 0]


def test_dtype_hint() -> None:
    def found(value: Any, hint: Any) -> Any:
        return rt.convert_to_tensor(value, dtype_hint=hint).dtype

    assert found(np.ones(2), rt.float32) is rt.float32
    assert found(np.float64(1), rt.float32) is rt.float32
    assert found(np.ones(2), rt.int32) is rt.float64, "a hint that does not fit is no error"
    assert found(np.array([300]), rt.int8) is rt.int64
    assert found(np.array([3]), rt.int8) is rt.int8
    assert found(rt.constant([1.0]), rt.float64) is rt.float32
    assert rt.convert_to_tensor(np.ones(2), rt.float64, dtype_hint=rt.float32).dtype is rt.float64


def test_arrays_that_several_traces_need_can_be_written_after_the_last() -> None:
    whole = np.zeros(4)
    view = whole[1:]

    def writeable() -> tuple[bool, bool]:
        return whole.flags.writeable, view.flags.writeable

    for first, second in (([whole], [view]), ([view], [whole]), ([whole, view], [view]), ([view], [view, whole])):
        outer, inner = unwritable(first), unwritable(second)
        outer.__enter__()
        inner.__enter__()
        assert not any(x.flags.writeable for x in (*first, *second))
        outer.__exit__()
        assert not any(x.flags.writeable for x in second)
        inner.__exit__()
        assert writeable() == (True, True)
    whole.flags.writeable = False  # of what is read-only, a view that is not stays so
    with unwritable([view]):
        assert view.flags.writeable
    assert writeable() == (False, True)


def test_an_error_with_text_of_the_graph_beside_an_array_from_outside() -> None:
    class Holder:
        def __init__(self):
            self.array = np.arange(3)

        @rt.function
        def negatives(self, x):
            n = 0
            for i in rt.range(3):
                try:
                    if x[i] < 0.0:
                        raise ValueError(f"negative: {i}")
                except ValueError:
                    n += 1
            return n

    assert Holder().negatives(rt.constant([1.0, -2.0, -3.0])) == 2

"""Variables that Python code changes or looks at while native code runs, and loops around it."""
from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from native_runs import difference

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

row, total = rt.Variable([1.0, 2.0]), rt.Variable(1.0)
START = rt.constant([1.0, 2.0]), rt.constant(1.0)


def change() -> Any:
    """Changes both variables."""
    row.assign(row + 5.0)
    total.assign(total + row[1])
    return row[0]


def elements() -> Iterator[float]:
    for i in range(4):
        row.assign(row + 1.0)
        yield float(i)
    total.assign(77.0)


def generated() -> Any:
    return rt.data.Dataset.from_generator(elements, output_signature=rt.TensorSpec([], rt.float32))


def printed_in_a_loop(n):
    for i in rt.range(n):
        print("at", i)
    return row + 1.0, total


def printed_in_a_while_loop(n):
    i = rt.constant(0)
    while i < n:
        print("at", i)
        i += 1
    return row + 1.0, total


def assigned_before_a_loop_that_prints(n):
    row.assign_add([2.0, 3.0])
    for i in rt.range(n):
        print("at", i)
    return n


def changed_in_a_loop(n):
    s = 0.0
    for _ in rt.range(n):
        s += row[0]
        rt.py_function(change, [], [])
    return s, row + total


def changed_and_assigned_in_a_loop(n):
    for i in rt.range(n):
        if i % 2 == 0:
            rt.py_function(change, [], [])
        else:
            row.assign_add([total, 1.0])
    return row + total


def changed_in_a_branch(n):
    if n > 1:
        rt.py_function(change, [], [])
    return row + total


def changed_in_a_try(n):
    try:
        rt.py_function(change, [], [])
        if n > 1:
            raise ValueError("too many")
    except ValueError:
        rt.py_function(change, [], [])
    return row + total


def assigned_in_a_test(n):
    k = 0
    while total.assign_add(1.0) < 5.0 and k < n:
        k += 1
    return row + total, k


def assigned_in_a_test_and_a_body(n):
    k = 0
    while row.assign(row + 1.0)[0] < 8.0 and k < n:
        k += 1
        row.assign_add([1.0, 2.0])
        total.assign_add(row[1])
    return row + total, k


def changed_in_a_test(n):
    k = 0
    while rt.py_function(change, [], rt.float32) < 30.0 and k < n:
        k += 1
    return row + total, k


def changed_by_a_generator(n):
    s = 0.0
    for x in generated():
        s += x + row[0]
    return s, row + total


def changed_by_a_generator_that_is_left(n):
    kept = []
    for x in generated():
        kept.append(x + row[0])
        if x > 0.5 * rt.cast(n, rt.float32):
            break
        row.assign_sub([0.0, 1.0])
    return rt.stack(kept), row + total


def changed_by_a_dataset(n):
    s = 0.0
    for x in rt.data.Dataset.range(3).map(lambda x: row.assign_add([1.0, 0.5])[0] * rt.cast(x, rt.float32)):
        s += x + row[0]
    return s, row + total


PROGRAMS = [
    printed_in_a_loop, printed_in_a_while_loop, assigned_before_a_loop_that_prints, changed_in_a_loop,
    changed_and_assigned_in_a_loop, changed_in_a_branch, changed_in_a_try, assigned_in_a_test,
    assigned_in_a_test_and_a_body, changed_in_a_test, changed_by_a_generator, changed_by_a_generator_that_is_left,
    changed_by_a_dataset]


def outcome(fn: Callable[..., Any], executor: str) -> tuple[list[Any], str]:
    """The results of calls, each followed by the values of the variables; and what was printed."""
    concrete = rt.function(fn, executor=executor).get_concrete_function(rt.TensorSpec([], rt.int32))
    found = []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for n in (2, 0, 1, 6):
            row.assign(START[0])
            total.assign(START[1])
            for _ in range(2):  # the second starts with what the first left
                found += [x.numpy() for x in rt.nest.flatten(concrete(rt.constant(n)))]
                found += [row.numpy(), total.numpy()]
    return found, printed.getvalue()


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_as_the_reference(fn: Callable[..., Any]) -> None:
    want, printed = outcome(fn, "numpy")
    got, shown = outcome(fn, "native")
    assert shown == printed
    assert difference(tuple(got), tuple(want)) is None


def test_what_a_function_only_reads_is_not_written_back() -> None:
    """A variable that Python code may change, but that the function does not assign, is Python's."""
    @rt.function(executor="native")
    def read(n):
        s = 0.0
        for _ in rt.range(n):
            s += total
            print("here")
        return s

    class Other(io.StringIO):
        """Another writer, after which the function still has to say something."""

        def write(self, text: str) -> int:
            if self.tell() == 0:
                total.assign(3.0)
            return super().write(text)

    total.assign(1.0)
    with contextlib.redirect_stdout(Other()):
        assert read(rt.constant(3)).numpy() == 1.0 + 3.0 + 3.0
    assert total.numpy() == 3.0

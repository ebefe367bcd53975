"""Writes to NumPy arrays that staged lists hold, and that loops, branches and handlers make: seen by all that see them
in Python, or errors that name the line and the way out; and programs that only read are never refused."""
from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from test_array_writes import outcome
from traced_once import on

import runtime as rt
from tests import writes


def list_of_rows(a: Any) -> Any:
    out = []
    for row in a:
        out.append(row)
    out[0][0] = 5
    return a


def list_of_rows_written_after(a: Any) -> Any:
    out = []
    for row in a:
        out.append(row)
        row[0] = 5
    return rt.stack(out)


def list_of_fresh_rows(a: Any) -> Any:
    c = a * 2
    out = []
    for row in c:
        out.append(row)
    out[0][0] = 5
    return c


def list_read_after_the_array(a: Any) -> Any:
    c = a * 2
    out = []
    for row in c:
        out.append(row)
    c[0] = 5
    return out[0]


def list_element_by_its_name(a: Any) -> Any:
    out = []
    row = a[0]
    for i in rt.range(3):
        row = a[i] * 2
        out.append(row)
    row[0] = 7
    return out[2]


def name_of_a_list_element(a: Any) -> Any:
    out = []
    row = a[0]
    for i in rt.range(3):
        row = a[i] * 2
        out.append(row)
    out[2][0] = 7
    return row


def list_elements(a: Any) -> Any:
    out = []
    for i in rt.range(3):
        out.append(a[i] * 2)
    out[1][0] = 7
    for i in rt.range(3):
        out[i][1] += 1
    return rt.stack(out)


def list_of_one_array(a: Any) -> Any:
    out = []
    r = a[0] * 2
    for i in rt.range(3):
        out.append(r)
    out[1][0] = 7
    return rt.stack(out)


def list_in_a_loop(a: Any) -> Any:
    out = []
    for i in rt.range(3):
        out.append(a[i] * 2)
    for q in out:
        q[0] = 1
    return rt.stack(out)


def list_popped(a: Any) -> Any:
    out = []
    for i in rt.range(3):
        out.append(a[i] * 2)
    p = out.pop()
    out.append(p)
    p[0] = 6
    return out[2]


def list_copied(a: Any) -> Any:
    out = [a[i] * 2 for i in rt.range(3)]
    o2 = out.copy()
    o2[0][0] = 9
    return out[0]


def list_chosen(a: Any) -> Any:
    c = a[0] * 2
    d = a[1] * 2
    k = rt.cast(a[0, 0], rt.int32)
    held = [c, d]
    held[k % 2][0] = 9
    return c, d


def row_of_a_loop(a: Any) -> Any:
    c = a * 2
    for _ in rt.range(2):
        p, *_ = c
    p[0] = 4
    return c


def list_exchanged(a: Any) -> Any:
    out = [a[i] * 2 for i in rt.range(3)]
    out[0], out[1] = out[1], out[0]
    out[0][0] = 8
    return rt.stack(out)


def list_element_plus(a: Any) -> Any:
    out = [a[i] * 2 for i in rt.range(3)]
    r = out[0]
    r += 1
    return out[0]


def two_lists(a: Any) -> Any:
    out = []
    other = []
    for i in rt.range(3):
        r = a[i] * 2
        out.append(r)
        other.append(r)
    out[0][0] = 9
    return other[0]


def loop_reads_another_name(a: Any) -> Any:
    c = a * 2
    d = c
    s = a[0] * 0
    for i in rt.range(3):
        s = s + c[0]
        d[0] = d[0] + 1
    return s


def loop_hands_on(a: Any) -> Any:
    e = a * 2
    d = a * 3
    c = a
    for i in rt.range(3):
        e[0] = 1
        e = d
        d = c
    return a


def loop_of_branches(a: Any) -> Any:
    c = a * 2
    d = c
    for i in rt.range(3):
        if a[0,0] > -5:
            b = c + 1
            e = b
        else:
            b = c
            e = c + 2
        e[0] = 1
        d = b
    return d


def loop_over_what_it_writes(a: Any) -> Any:
    c = a * 2
    s = a[0] * 0
    for r in c:
        s = s + r
        c[1] = r
    return s


def loop_hands_on_what_it_made(a: Any) -> Any:
    c = a * 2
    d = c
    while d[0, 0] < 20:
        e = d
        d = d * 2
        e[0] = 99
    return d, e


def loop_hands_on_once(a: Any) -> Any:
    c = a * 2
    b = a * 3
    for i in rt.range(3):
        b[0] = 50
        b = c
    return c


def loop_tests_another_name(a: Any) -> Any:
    c = a * 2
    d = c
    n = 0
    while c[0, 0] < 20:
        d[0] = d[0] + 5
        n += 1
        if n > 9:
            break
    return n


def loop_enumerates_what_it_writes(a: Any) -> Any:
    c = a * 2
    for i, r in enumerate(c):
        c[i] = r + 1
    return c


def loop_enumerates_under_a_condition(a: Any) -> Any:
    c = a * 2
    for i, r in enumerate(c):
        if r[0] > 3:
            c[i] = r + 1
            c[i, 0] = 3
    return c


def loop_over_rows_written(a: Any) -> Any:
    c = a * 2
    s = a[0]
    for r in c:
        r[0] = 5
        s = s + r
    return s


def loop_in_a_loop(a: Any) -> Any:
    c = a * 2
    d = c
    s = a[0]
    for i in range(rt.constant(3)):
        for j in range(rt.constant(3)):
            s = s + d[i]
        c[0] = 1
    return s


def try_argument(a: Any) -> Any:
    b = a
    try:
        b = a
        if a[0, 0] > 0:
            raise ValueError
    except ValueError:
        b[0] = 1
    return a


def try_made(a: Any) -> Any:
    c = a
    b = a
    try:
        c = a * 2
        b = c
        if a[0, 0] > 0:
            raise ValueError
    except ValueError:
        b[0] = 1
    return c


def try_written_in_body(a: Any) -> Any:
    c = a * 2
    d = c
    r = c
    try:
        d[0] = 1
        if a[0, 0] > 0:
            raise ValueError
    except ValueError:
        r = c + 0
    return r


def try_after(a: Any) -> Any:
    c = a
    b = a
    try:
        c = a * 2
        b = c
        if a[0, 0] > 100:
            raise ValueError
    except ValueError:
        c = a * 3
    b[0] = 5
    return c


def try_branch(a: Any) -> Any:
    c = a
    b = a
    try:
        if a[0,0] > 0:
            c = a * 2
            b = c[0:2]
        if a[0, 0] > 0:
            raise ValueError
    except ValueError:
        c[0] = 1
        return b
    return c


def try_list(a: Any) -> Any:
    out = []
    try:
        for i in rt.range(3):
            r = a[i] * 2
            out.append(r)
            if a[i, 0] > 2:
                raise ValueError
    except ValueError:
        r[0] = 9
    return rt.stack(out)


def try_list_element(a: Any) -> Any:
    out = []
    try:
        for i in rt.range(3):
            r = a[i] * 2
            out.append(r)
            if a[i, 0] > 2:
                raise ValueError
    except ValueError:
        out[0][0] = 9
    return rt.stack(out)


def branch_reads(a: Any) -> Any:
    b = a
    d = a
    if a[0, 0] > 0:
        b = a * 2
        d = b
    return b + d


def branch_writes(a: Any) -> Any:
    b = a
    d = a
    if a[0, 0] > 0:
        b = a * 2
        d = b
    d[0] = 1
    return b + d


def branch_writes_another(a: Any) -> Any:
    b = a + 1
    d = a + 2
    if a[0, 0] > 0:
        b = a * 2
        d = a * 3
    d[0] = 1
    return b + d


def loop_writes_another(a: Any) -> Any:
    b = a + 1
    d = a + 2
    for i in rt.range(2):
        b = b + 1
        d = d * 2
        d[0] = 1
    b[0] = 2
    return b + d


STATEMENTS = [
    list_of_rows, list_of_rows_written_after, list_of_fresh_rows, list_read_after_the_array,
    list_element_by_its_name, name_of_a_list_element, list_elements, list_of_one_array, list_in_a_loop,
    list_popped, list_copied, list_chosen, row_of_a_loop, list_exchanged, list_element_plus, two_lists,
    loop_reads_another_name, loop_hands_on, loop_of_branches, loop_over_what_it_writes,
    loop_hands_on_what_it_made, loop_hands_on_once, loop_tests_another_name, loop_enumerates_what_it_writes,
    loop_enumerates_under_a_condition, loop_over_rows_written, loop_in_a_loop, try_argument, try_made,
    try_written_in_body, try_after, try_branch, try_list, try_list_element, branch_reads, branch_writes,
    branch_writes_another, loop_writes_another,
]

REFUSED = {
    list_of_rows, list_of_rows_written_after, list_of_fresh_rows, list_read_after_the_array, list_element_by_its_name,
    name_of_a_list_element, list_of_one_array, list_popped, list_copied, list_exchanged, two_lists, loop_hands_on,
    loop_of_branches, loop_hands_on_once, try_after, try_branch, try_list, try_list_element, branch_writes,
}


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", STATEMENTS, ids=lambda x: x.__name__)
def test_as_in_python_or_an_error(fn: Any, executor: str) -> None:
    expected, got = outcome(fn, (3, 3)), outcome(on(executor, fn), (3, 3))
    if fn in REFUSED:
        text = str(got)
        assert "test_array_statements.py:" in text.splitlines()[0], text
        assert len(text.splitlines()) >= 4, f"no remedy: {text}"
    else:
        assert got == expected


LISTS_OF_JOINED_ARRAYS = 9028
"""The seed of a program that puts an array, which may be one of several that are gone, into a list."""


def test_random_programs() -> None:
    programs = {seed: writes.Program(seed) for seed in (*range(60), LISTS_OF_JOINED_ARRAYS)}
    found = {seed: writes.outcome(program, f"<writes {seed}>") for seed, program in programs.items()}
    assert {seed: text for seed, text in found.items() if text not in ("same", "refused", "error")} == {}
    counts = Counter((programs[seed].is_reading, text) for seed, text in found.items())
    assert counts[True, "same"] >= 15 and counts[False, "same"] >= 5 and counts[False, "refused"] >= 15


def test_tensors_are_not_refused() -> None:
    def f(a: Any) -> Any:
        out = []
        for row in a:
            out.append(row)
        out[0][0] = 5
        return a, out[0]

    a, row = rt.function(f)(rt.constant([[1, 2], [3, 4]]))
    assert a.numpy().tolist() == [[1, 2], [3, 4]] and row.numpy().tolist() == [5, 2]


def test_lists_that_may_be_unbound() -> None:
    def f(a: Any) -> Any:
        if a[0, 0] > 0:
            c = a * 2
            held = [c, a * 3]
        held[0][0] = 5
        return c

    fn = rt.function(f)
    with pytest.raises(rt.errors.StagingError, match="whether 'c' is the same array here as another name"):
        fn(np.ones((2, 2)))
    assert fn(rt.constant([[1, 2], [3, 4]])).numpy().tolist() == [[2, 4], [6, 8]]

"""Lists, dicts and tuples of them that are elements of staged lists: who sees a change, and what is an error."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_places, check_refused, executors, plain

THREE = rt.constant(3)


def set_item_of_an_element(n: Any) -> Any:
    rows = [[0, 1] for _ in range(n)]
    rows[1][0] = 5
    return rows


def changed_in_a_loop(n: Any) -> Any:
    rows = [[0, 1] for _ in range(n)]
    for row in rows:
        row[1] += 5
    return rows


def put_back_elsewhere(n: Any) -> Any:
    rows = [[i, 1] for i in range(n)]
    row = rows[0]
    row[1] = 5
    rows[1] = row
    return rows


def rows_of(n: Any) -> Any:
    return [[i, i] for i in range(n + 1)]


def put_and_changed_in_the_next_iteration(n: Any) -> Any:
    rows, row = [], [0, 0]
    for i in range(n):
        row[1] += i
        row = [i, 0]
        rows.append(row)
    return rows


def put_in_a_branch_and_changed_in_the_next_iteration(n: Any) -> Any:
    groups, group = [], [0]
    for i in range(n):
        if i % 3 == 0:
            group = [i, 0]
            groups.append(group)
        else:
            group[1] += i
    return groups


def put_within_a_tuple_and_changed_in_the_next_iteration(n: Any) -> Any:
    rows, row = [], ([0, 0], 1)
    for i in range(n):
        row[0][1] = 7
        row = ([i, 0], 2)
        rows.append(row)
    return rows


def put_by_a_callee_and_changed_in_the_next_iteration(n: Any) -> Any:
    rows = []

    def add(i: Any) -> Any:
        row = [0, i]
        rows.append(row)
        return row

    last = [0, 0]
    for i in range(n):
        last[0] += 1
        last = add(i)
    return rows


def put_before_an_error(n: Any) -> Any:
    rows, row = [], [0, 0]
    for i in range(n):
        try:
            row = [i, 0]
            rows.append(row)
            10 // (i - 1)
        except ZeroDivisionError:
            row[1] = 5
    return rows


def put_before_a_raise(n: Any) -> Any:
    rows, row = [], [0, 0]
    for i in range(n):
        try:
            row = [i, 0]
            rows.append(row)
            if i > 1:
                raise ValueError
        except ValueError:
            row[1] = 5
    return rows


def maybe_none_and_put(n: Any) -> Any:
    rows, row, others = [], None, []
    for i in range(n):
        if row is not None:
            row[1] += 1
        row = [i, 0]
        rows.append(row)
        others.append(row)
    return rows


def read_and_changed_in_the_next_iteration(n: Any) -> Any:
    rows, row = rows_of(n), [0, 0]
    for i in range(n):
        row[0] += 1
        row = rows[i]
    return rows


def read_in_one_branch(n: Any) -> Any:
    rows, row = rows_of(n), [0, 0]
    if n > 1:
        row = rows[0]
    row[0] = 5
    return rows


def last_read_in_a_loop(n: Any) -> Any:
    rows = rows_of(n)
    best = [0, -1]
    for row in rows:
        if row[1] > best[1]:
            best = row
    best[0] = 9
    return rows


def changed_in_an_iteration_that_drops_it(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    for _ in range(n):
        row[0] = 5
        row = [0, 0]
    return rows


@executors
@pytest.mark.parametrize("fn", [
    put_and_changed_in_the_next_iteration, put_in_a_branch_and_changed_in_the_next_iteration,
    put_within_a_tuple_and_changed_in_the_next_iteration, put_by_a_callee_and_changed_in_the_next_iteration,
    put_before_an_error, maybe_none_and_put, read_and_changed_in_the_next_iteration,
    read_in_one_branch, last_read_in_a_loop,
    changed_in_an_iteration_that_drops_it,
])
def test_a_change_in_another_iteration_branch_or_handler(fn: Any, executor: str) -> None:
    check_places(fn, executor, (3,), (4,))


def test_a_change_of_an_element_that_was_put_in_before_a_raise_is_refused() -> None:
    check_refused(put_before_a_raise, "a list is changed after it was put into another list here")


def changed_in_a_loop_that_drops_it(n: Any) -> Any:
    a = [1]
    b = a
    for i in range(n):
        if i > 1:
            b = [i]
    for _ in range(n):
        b[0] = 5
        b = [7]
    return a, b


def test_a_list_that_may_be_another_is_changed_in_a_loop_that_drops_it() -> None:
    with pytest.raises(rt.errors.StagingError, match="whether 'b' is the same list here as another name"):
        rt.function(changed_in_a_loop_that_drops_it)(THREE)


def put_back_after_a_branch(n: Any) -> Any:
    rows = rows_of(n)
    for i in range(n):
        row = rows[i]
        if i > 0:
            row[0] += 5
        rows[i] = row
    return rows


def put_back_after_a_loop(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    for _ in range(n):
        row[0] += 5
    rows[0] = row
    return rows


def put_back_after_a_swap(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    row[0] += n
    rows[0], rows[-1] = rows[-1], rows[0]
    rows[0] = row
    return rows


def set_by_a_name(n: Any) -> Any:
    rows = rows_of(n)
    for i in range(n):
        row = rows[i]
        row[0] = row[1] * 2
        row[1] += i
    return rows


def set_in_a_branch_of_a_loop(n: Any) -> Any:
    rows = [[0, 0]]
    for i in range(n):
        if i % 2 == 0:
            rows.append([i, 1])
        else:
            rows[-1][1] += 1
    return rows


def set_in_a_nested_loop(n: Any) -> Any:
    rows = [{"a": i, "b": 0} for i in range(n)]
    for i in range(n):
        for row in rows:
            row["b"] += row["a"] * i
    return rows


def set_by_one_of_two_names(n: Any) -> Any:
    rows = rows_of(n)
    a, b, c = rows[0], rows[0], rows[-1]
    a[1] = 7
    c[0] += b[1]
    return rows, a, b, c


def set_within_a_tuple(n: Any) -> Any:
    rows = [([i, 0], i) for i in range(n)]
    for row, i in rows:
        row[1] = i + 1
    return rows


def set_before_it_is_copied(n: Any) -> Any:
    rows = rows_of(n)
    for row in rows:
        row[0] += n
    rows[-1][1] = 7
    return rows, rows[1:] + rows


def set_where_a_try_is_staged_after_it_ran(n: Any) -> Any:
    rows, others = rows_of(n), rows_of(n)
    row = others[-1]
    try:
        row[1] = 1
        10 // (n - 3)
    except ZeroDivisionError:
        rows[-1][1] += 1
    others[-1] = row
    return rows, others, row


def still_has_a_name(n: Any) -> Any:
    rows = []
    for i in range(n):
        row = [i, 0]
        rows.append(row)
        rows[-1][1] = 7
        row[0] += row[1]
    return rows


def exchanged(n: Any) -> Any:
    rows = [[i, 1] for i in range(n)]
    for i in range(n):
        rows[0], rows[i] = rows[i], rows[0]
    rows[1][0] += 5
    first, second = rows[0], rows[1]
    rows[0], rows[1] = second, first
    second[1] = 7
    rows[1][0] = 9
    return rows, first


def changed_in_a_nested_loop_of_the_loop_that_put_it(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append([i] * 2)
        for j in range(i):
            if i * j == 2:
                break
            rows[-1][0] += j
    return rows


def changed_after_it_was_put(n: Any) -> Any:
    rows, row = [[i, 1] for i in range(n)], [0, 0]
    rows[1] = row
    row[1] = 3
    rows[1][0] = 4
    return rows, row


@pytest.mark.parametrize("fn", [
    put_back_after_a_branch, put_back_after_a_loop, put_back_elsewhere, put_back_after_a_swap,
    set_item_of_an_element, changed_in_a_loop, set_by_a_name,
    set_in_a_branch_of_a_loop, set_in_a_nested_loop, set_by_one_of_two_names, set_within_a_tuple,
    set_before_it_is_copied, set_where_a_try_is_staged_after_it_ran, still_has_a_name, exchanged,
    changed_after_it_was_put, changed_in_a_nested_loop_of_the_loop_that_put_it,
])
def test_the_list_sees_a_change_of_its_element(fn: Any) -> None:
    traced = rt.function(fn)
    for n in (3, 2, 5):
        assert plain(traced(rt.constant(n))) == plain(fn(n))


def also_in_a_slice(n: Any) -> Any:
    rows = rows_of(n)
    others = rows[:]
    rows[0][1] = 7
    return rows, others


def also_in_a_list_of_what_was_read(n: Any) -> Any:
    rows, others = rows_of(n), []
    for row in rows:
        others.append(row)
    rows[0][1] = 7
    return rows, others


def sliced_in_the_next_iteration(n: Any) -> Any:
    rows, others = rows_of(n), [[0, 0]]
    for i in range(n):
        rows[i][1] = 7
        others = rows[:]
    return rows, others


def put_in_by_each_iteration(n: Any) -> Any:
    rows, row = [[0, 0]], [1, 1]
    for _ in range(n):
        rows.append(row)
    rows[0][1] = 7
    return rows


def carried_to_the_next_iteration(n: Any) -> Any:
    rows, last = rows_of(n), [0, 0]
    for i in range(n):
        rows[0][1] += last[0]
        last = rows[0]
    return rows, last


def put_back_in_another_list(n: Any) -> Any:
    rows, others = rows_of(n), rows_of(n)
    row = rows[0]
    row.reverse()
    row[1] += 5
    others[0] = row
    return rows, others


def taken_out_of_a_copy(n: Any) -> Any:
    rows = rows_of(n)
    others = rows[:]
    row = others.pop()
    row[1] = 7
    return rows


def read_before_it_was_taken_out(n: Any) -> Any:
    rows = rows_of(n)
    last = rows[-1]
    row = rows.pop()
    row[1] = 7
    return row, last


def assigned_from_a_loop_of_earlier_ones(n: Any) -> Any:
    rows, a, b = rows_of(n), [0, 0], [1, 1]
    for _ in range(n):
        a, b = b, a
        a = rows[0]
    rows[0][0] += 2
    return rows, a, b


@executors
@pytest.mark.parametrize("fn", [
    also_in_a_slice, also_in_a_list_of_what_was_read, sliced_in_the_next_iteration, put_in_by_each_iteration,
    carried_to_the_next_iteration, put_back_in_another_list,
    taken_out_of_a_copy, read_before_it_was_taken_out, assigned_from_a_loop_of_earlier_ones,
])
def test_a_change_that_another_name_or_list_sees(fn: Any, executor: str) -> None:
    check_places(fn, executor, (3,), (4,))

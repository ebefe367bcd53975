"""Elements of lists and dicts that a `try` changes: they change in their lists, up to the error and in its handler."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_sizes, executors


@dataclass
class Job:
    x: Any
    result: Any = 0
    failed: Any = 0


def object_in_body_and_handler(n: Any) -> Any:
    jobs = [Job(i - 1) for i in range(n)]
    for job in jobs:
        try:
            job.result = 10 // job.x
        except ZeroDivisionError:
            job.failed = 1
    return jobs


def row_in_body_and_handler(n: Any) -> Any:
    rows = [[i - 1, 0] for i in range(n)]
    for r in rows:
        try:
            r[1] = 10 // r[0]
        except ZeroDivisionError:
            r[1] = -1
    return rows


def by_index_with_finally(n: Any) -> Any:
    rows = [[i - 1, 0] for i in range(n)]
    bad = 0
    for i in range(n):
        try:
            rows[i][1] = 10 // rows[i][0]
        except ZeroDivisionError:
            bad += 1
            rows[i][1] = -1
        finally:
            rows[i][0] += 1
    return rows, bad


def entry_of_a_dict(n: Any) -> Any:
    table = {i: {"v": i - 1, "ok": 0} for i in range(n)}
    for k in range(n + 1):
        try:
            table[k]["ok"] = 1
        except KeyError:
            table[k] = {"v": 9, "ok": 2}
    return table


def after_the_try(n: Any) -> Any:
    jobs = [Job(i - 1) for i in range(n)]
    total = 0
    for job in jobs:
        try:
            y = 10 // job.x
        except ZeroDivisionError:
            y = 0
        job.result = y
        total += y
    return jobs, total


def changed_before_the_error(n: Any) -> Any:
    jobs = [Job(i - 1) for i in range(n)]
    for job in jobs:
        try:
            job.failed += 1
            job.result = 10 // job.x
            job.failed -= 1
        except ZeroDivisionError:
            pass
    return jobs


def dropped_in_the_try(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    row = rows[0]
    try:
        row[0] = 5
        10 // (n - 4)
        row = [1, 1]
    except ZeroDivisionError:
        row[0] += 1
        row = [0, 0]
    return rows, row


def chosen_in_the_try(n: Any) -> Any:
    rows = [[i - 2, 0] for i in range(n)]
    best = rows[0]
    for row in rows:
        try:
            if 10 // row[0] > best[1]:
                best = row
            best[1] += 1
        except ZeroDivisionError:
            best[1] += 100
    return rows


@executors
@pytest.mark.parametrize("fn", [
    chosen_in_the_try,
    object_in_body_and_handler, row_in_body_and_handler, by_index_with_finally, entry_of_a_dict, after_the_try,
    changed_before_the_error, dropped_in_the_try,
])
def test_elements_change_in_a_try(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 6, 1, 4)


@executors
def test_numbers_of_a_row_that_a_handler_changes_are_pythons(executor: str) -> None:
    @rt.function(executor=executor)
    def f(n: Any, k: Any) -> Any:
        rows = [[] for i in range(n)]
        try:
            k = 5 // k
        except ZeroDivisionError:
            rows[k].append(k + 1)
        return 10 // sum(rows[0])

    assert int(f(rt.constant(3), rt.constant(0))) == 10
    with pytest.raises(ZeroDivisionError):  # an array's division would give 0
        f(rt.constant(3), rt.constant(1))


def copied_if_there_is_one(n: Any) -> Any:
    jobs, best = [Job(i) for i in range(n)], None
    if n > 2:
        best = jobs[1]
    if best is not None:
        other = copy.copy(best)
        other.x += 5
        jobs.append(other)
        jobs.append(copy.deepcopy(best))
    return jobs


@executors
def test_what_may_be_none_is_copied(executor: str) -> None:
    check_sizes(copied_if_there_is_one, executor, 5, 1)

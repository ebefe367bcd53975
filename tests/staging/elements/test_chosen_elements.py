"""Variables that branches and loops make refer to one of several elements of a list or dict."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_sizes, executors


@dataclass
class Job:
    cost: Any
    done: Any = False
    at: Any = 0


@dataclass
class Node:
    key: Any
    left: Any = -1
    right: Any = -1
    count: Any = 0


def jobs_of(n: Any) -> Any:
    return [Job((i * 7 + 3) % 11, at=i) for i in range(n)]


# Chosen by a branch.

def one_of_two(n: Any) -> Any:
    jobs = jobs_of(n)
    a, b = jobs[0], jobs[n // 2]
    best = a
    if b.cost > 4:
        best = b
    best.at += 5
    a.at += 1
    return best.at, a.at, b.at, jobs


def one_or_none(n: Any) -> Any:
    jobs = jobs_of(n)
    best = None
    if len(jobs) > 5:
        best = jobs[5]
    jobs[0].cost = 3  # there need not be an element with the index of `best`
    jobs[-1].at += 4
    if best is not None:
        best.at += 1
        return best.cost, best.at, jobs
    return -1, -1, jobs


def this_or_the_first(n: Any) -> Any:
    jobs = jobs_of(n)
    first, total = jobs[0], 0
    for job in jobs:
        best = first
        if job.cost > 2:
            best = job
        best.at += 5
        total = total * 2 + first.at + job.at
    return total, jobs


def of_a_dict(n: Any) -> Any:
    table = {i * 3 % 7: [i, 0] for i in range(n)}
    entry = table[0]
    if 3 in table:
        entry = table[3]
    entry[1] += 1
    return table, table[0] is entry


def index_of_a_branch(n: Any) -> Any:
    jobs = jobs_of(n)
    best = None
    if jobs[0].cost > 2:
        k = 0
        while k < n - 1 and jobs[k].cost > jobs[k + 1].cost:
            k += 1
        best = jobs[k]
    if best is not None:
        best.at += 10
    return jobs


# Chosen by a loop.

def greatest(n: Any) -> Any:
    jobs = jobs_of(n)
    best = None
    for job in jobs:
        if best is None or job.cost > best.cost:
            best = job
    if best is not None:
        best.at += 100
    return best, jobs


def changed_where_it_is_chosen(n: Any) -> Any:
    jobs = jobs_of(n)
    best = jobs[0]
    for job in jobs:
        if job.cost > best.cost:
            best = job
            best.at += 2
        best.at += 10
        job.cost -= 1
    best.at += 1
    return best, jobs


def compared(n: Any) -> Any:
    rows = [[i * 7 % 5, 0] for i in range(n)]
    total = 0
    for _ in range(4):
        best = rows[0]
        for row in rows:
            if row[0] > best[0]:
                best = row
            total += best is row
        best[0] -= 2
        best[1] += 1
        for row in rows:
            if row is not best:
                total += row[0] * row[1]
    return total, rows


def schedule(n: Any) -> Any:
    jobs, clock = jobs_of(n), 0
    for _ in range(n):
        best = None
        for job in jobs:
            if not job.done and (best is None or job.cost < best.cost):
                best = job
        if best is None:
            break
        clock += best.cost
        best.done = True
        best.at = clock
    return jobs


def first_and_second(n: Any) -> Any:
    rows = [[i * 7 % 5, 0] for i in range(n)]
    first = second = None
    for row in rows:
        if first is None or row[0] > first[0]:
            second = first
            first = row
        elif second is None or row[0] > second[0]:
            second = row
    if first is not None:
        first[1] = 1
    if second is not None:
        second[1] = 2
    return rows


def ends_exchanged(n: Any) -> Any:
    rows = [[i * 7 % 5, i] for i in range(n)]
    low = high = rows[0]
    for row in rows:
        if row[0] < low[0]:
            low = row
        if row[0] > high[0]:
            high = row
    low[0], high[0] = high[0], low[0]
    return rows


def the_one_before(n: Any) -> Any:
    jobs = jobs_of(n)
    before = None
    for job in jobs:
        if before is not None:
            before.at = job.cost
            job.at = before.at + before.cost
        before = job
    return jobs


def found_or_added(n: Any) -> Any:
    jobs = jobs_of(n)
    found = None
    for job in jobs:
        if job.cost == 6:
            found = job
            break
    if found is None:
        found = Job(6)
        jobs.append(found)
    found.at += 4
    return jobs


def taken_one_by_one(n: Any) -> Any:
    jobs, order = jobs_of(n), []
    while jobs:
        best = jobs[0]
        for job in jobs:
            if job.cost > best.cost:
                best = job
        order.append(best.at)
        jobs.remove(best)
    return order


def selection_sort(n: Any) -> Any:
    jobs = jobs_of(n)
    for i in range(n):
        least, at = jobs[i], i
        for j in range(i + 1, n):
            if jobs[j].cost < least.cost:
                least, at = jobs[j], j
        jobs[at] = jobs[i]
        jobs[i] = least
    return jobs


def search_tree(n: Any) -> Any:
    tree, x = [Node(5)], 3
    for _ in range(n):
        x = (x * 5 + 1) % 17
        node = tree[0]
        while True:
            node.count += 1
            if x == node.key:
                break
            if x < node.key:
                if node.left == -1:
                    node.left = len(tree)
                    tree.append(Node(x))
                    break
                node = tree[node.left]
            else:
                if node.right == -1:
                    node.right = len(tree)
                    tree.append(Node(x))
                    break
                node = tree[node.right]
    return tree


def entry_of_a_dict(n: Any) -> Any:
    scores = {}
    for i in range(n):
        scores[i * 7 % 11] = {"score": i % 5, "wins": 0}
    best = None
    for entry in scores.values():
        if best is None or entry["score"] > best["score"]:
            best = entry
    if best is not None:
        best["wins"] = 9
    return scores


def appended_and_changed_later(n: Any) -> Any:
    jobs, last = [], None
    for i in range(n):
        if last is not None:
            last.at += i
        last = Job(i)
        jobs.append(last)
        if i > 2:
            jobs.append(Job(0))
    return jobs


def read_from_two_lists(n: Any) -> Any:
    pairs, longer = [Node(i, [i]) for i in range(n)], [Node(i * n, [i, 2]) for i in range(n)]
    best = pairs[0]
    for node in longer:
        if node.key % 5 > best.key % 5:
            best = node
    return best.key, best.left


@executors
@pytest.mark.parametrize("fn", [
    one_of_two, one_or_none, this_or_the_first, of_a_dict, index_of_a_branch, greatest, changed_where_it_is_chosen,
    compared, schedule, first_and_second, ends_exchanged, the_one_before, found_or_added, taken_one_by_one,
    selection_sort, search_tree, entry_of_a_dict, appended_and_changed_later, read_from_two_lists,
])
def test_a_chosen_element_is_the_one_in_its_list(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 9, 1, 4)


def test_a_chosen_element_has_a_gradient() -> None:
    @rt.function
    def f(x: Any, n: Any) -> Any:
        rows = [[x * i, 0.0] for i in range(n)]
        best = rows[0]
        for row in rows:
            if row[0] > best[0]:
                best = row
        best[1] = best[0] * x
        return sum(row[1] for row in rows)

    x = rt.constant(3.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, rt.constant(4))
    assert float(y) == 27.0
    assert float(tape.gradient(y, x)) == 18.0


def of_two_lists(n: Any) -> Any:
    jobs, others = jobs_of(n), jobs_of(n)
    best = jobs[0]
    for job in others:
        if job.cost > best.cost:
            best = job
    best.at = 1
    return jobs, others


def or_a_new_one(n: Any) -> Any:
    jobs = jobs_of(n)
    best = Job(-1)
    for job in jobs:
        if job.cost > best.cost:
            best = job
    best.at = 1
    return jobs


@executors
@pytest.mark.parametrize("fn", [of_two_lists, or_a_new_one])
def test_an_element_whose_list_is_not_known_can_be_changed(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 3, 4, 5)


# Chosen among new objects of a plain class.

class Score:
    def __init__(self, name: Any, value: Any) -> None:
        self.name, self.value = name, value


def best_of_new(n: Any) -> Any:
    best = None
    for i in range(n):
        score = Score(i, i * 7 % 5)
        if best is None or score.value > best.value:
            best = score
    return best.name


def two_best_of_new(n: Any) -> Any:
    first = second = None
    for i in range(n):
        score = Score(i, i * 7 % 5)
        if first is None or score.value > first.value:
            first, second = score, first
        elif second is None or score.value > second.value:
            second = score
    return first.name, -1 if second is None else second.name


def the_last_new(n: Any) -> Any:
    last, total = None, 0
    for i in range(n):
        score = Score(i, i * 7 % 5)
        if last is not None:
            total += score.value - last.value
            last.value = 9
        last = score
    return total, last.value


@executors
@pytest.mark.parametrize("fn", [best_of_new, two_best_of_new, the_last_new])
def test_new_objects_where_none_was(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 9, 1, 4)

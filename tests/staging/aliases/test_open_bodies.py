"""Elements of lists and dicts of the graph that the body of a later statement changes: the lists change with them."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from runtime.staging.aliases.open_bodies import contents_of
from runtime.staging.joins.cell_join import cells_in
from tests.plain_values import check_places, check_sizes, executors


def records(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append({"a": i, "b": i * 2, "marks": [i]})
    return rows


def pairs(n: Any) -> Any:
    return [[i, (i * 5) % 7] for i in range(n)]


def under_a_test(n: Any) -> Any:
    rows = records(n)
    for r in rows:
        if r["a"] > 1:
            r["a"] = 0
            r["marks"].append(r["b"])
    return rows


def on_both_ways(n: Any) -> Any:
    rows = pairs(n)
    for i, r in enumerate(rows):
        if i % 2 and r[1] > 2:
            r[1] = 10
            continue
        r[0] -= 1
    return rows


def by_a_name(n: Any) -> Any:
    rows = records(n)
    for i in range(n):
        r = rows[i]
        if r["a"] > 2:
            r["b"] = 10
        elif r["a"] > 1:
            r["marks"] = [7, 8, 9]
    return rows


def on_one_way_that_drops_it(n: Any) -> Any:
    rows = pairs(n)
    row = rows[0]
    if n > 1:
        row[0] = 5
        row = [0, 0]
    return rows, row


def in_steps(n: Any) -> Any:
    rows = [{"x": 0.5 * i, "v": 1.0, "alive": True} for i in range(n)]
    for _ in range(5):
        for p in rows:
            if not p["alive"]:
                continue
            p["x"] += p["v"]
            if p["x"] > 4.0:
                p["v"] = -p["v"]
                if p["x"] > 4.5:
                    p["alive"] = False
    return rows


def in_a_nested_loop(n: Any) -> Any:
    rows = records(n)
    for r in rows:
        for q in rows:
            if q["a"] > r["a"]:
                r["b"] += 1
    return rows


def read_again_where_it_changes(n: Any) -> Any:
    rows, total = pairs(n), 0
    for i in range(n):
        r = rows[i]
        for j in range(n):
            r[1] += 1
            total += rows[i][1] + len(rows)
    return rows, total


def in_a_while(n: Any) -> Any:
    rows = [[(i * 5) % 7] for i in range(n)]
    for r in rows:
        while r[-1] > 1:
            r.append(r[-1] // 2)
    return rows


def two_that_may_be_one(n: Any) -> Any:
    accounts = [{"id": i, "balance": 100 - i * 10} for i in range(n)]
    for t in range(2 * n):
        a = accounts[t % n]
        b = accounts[(t * 3 + 1) % n]
        if a["balance"] >= 30:
            a["balance"] -= 30
            b["balance"] += 30
    return accounts


def exchanged(n: Any) -> Any:
    rows = pairs(n)
    for i in range(n - 1):
        a = rows[i]
        b = rows[i + 1]
        if a[1] > b[1]:
            a[1], b[1] = b[1], a[1]
    return rows


def of_a_dict(n: Any) -> Any:
    table = {}
    for i in range(n):
        table[i * 3] = {"a": i, "names": [f"{i}"]}
    for key, value in table.items():
        if value["a"] > 1:
            value["a"] += 100
            value["names"].append(f"{key}")
    return table


def got_or_made(n: Any) -> Any:
    table = {}
    for i in range(n):
        e = table.get(i % 3)
        if e is None:
            table[i % 3] = {"count": 1, "sum": i}
        else:
            e["count"] += 1
            e["sum"] += i
    return table


def got_or_left(n: Any) -> Any:
    table = {i: [i] for i in range(n)}
    for i in range(0, 2 * n, 3):
        e = table.get(i)
        if e is not None:
            e.append(-i)
    return table


def made_where_missing(n: Any) -> Any:
    table = {}
    for i in range(n):
        if i % 3 not in table:
            table[i % 3] = {"count": 0, "sum": 0}
        e = table[i % 3]
        e["count"] += 1
        if i > 2:
            e["sum"] += i
    return table


def just_appended(n: Any) -> Any:
    rows = []
    for i in range(n):
        row = [0, 1]
        rows.append(row)
        for j in range(i):
            row[j % 2] += j
        if i > 2:
            row[0] = -1
    return rows


def rows_of_a_grid(n: Any) -> Any:
    grid = [[0] * n for _ in range(n)]
    for i in range(n):
        row = grid[i]
        for j in range(n):
            if (i + j) % 2 == 0:
                row[j] = i * 10 + j
    return grid


def replaced_in_its_place(n: Any) -> Any:
    rows, total = pairs(n), 0
    for i in range(n):
        r = rows[i]
        if i % 2:
            rows[i] = [0, 0]
        else:
            r[0] += 7
        total += r[0]
    return rows, total


def got_or_put(n: Any) -> Any:
    table = {}
    for i in range(n):
        e = table.get(i % 3)
        if e is None:
            e = {"count": 0, "first": i, "all": []}
            table[i % 3] = e
        e["count"] += 1
        if i > 2:
            e["all"].append(i)
            table[1]["first"] += e["count"]
    return table


def read_or_put(n: Any) -> Any:
    table = {}
    for i in range(n):
        if i % 3 in table:
            e = table[i % 3]
        else:
            e = [0]
            table[i % 3] = e
        e[0] += i
        e.append(i)
    return table


def one_of_two(n: Any) -> Any:
    rows = pairs(n)
    row = rows[0] if n > 3 else rows[-1]
    row[0] = 50
    if rows[0][1] > rows[1][1]:
        low, high = rows[1], rows[0]
    else:
        low, high = rows[0], rows[1]
    low[1] -= 1
    high[1] += row[0]
    return rows, row


def grown_on_one_way(n: Any) -> Any:
    rows = [[3, 0]]
    for i in range(n):
        if i > 1:
            rows.append([7, i])
        rows[0][0] += 5
    return rows


def added_and_all_changed(n: Any) -> Any:
    rows = [[3, 0], [5, 1]]
    for i in range(n):
        if i > 1:
            row = [7, 0]
            row[1] += i
            rows.append(row)
        for r in rows:
            r[0] += 5
    return rows


PROGRAMS = [
    under_a_test, on_both_ways, by_a_name, on_one_way_that_drops_it, in_steps, in_a_nested_loop,
    read_again_where_it_changes, in_a_while, two_that_may_be_one, exchanged, of_a_dict, got_or_made, got_or_left,
    made_where_missing, just_appended, rows_of_a_grid, replaced_in_its_place, got_or_put, read_or_put,
    one_of_two, grown_on_one_way, added_and_all_changed]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_bodies_change_elements_from_before(fn: Callable[[Any], Any], executor: str) -> None:
    check_sizes(fn, executor, 5, 2)


def moved_and_then_changed(n: Any) -> Any:
    rows = pairs(n)
    r = rows[0]
    if n > 2:
        rows.insert(0, [9, 9])
    r[0] = 5
    return rows


def replaced_and_then_changed(n: Any) -> Any:
    rows = pairs(n)
    r = rows[0]
    if n > 2:
        rows[0] = [9, 9]
    r[0] = 5
    return rows


def moved_and_changed_on_one_way(n: Any) -> Any:
    rows = pairs(n)
    r = rows[0]
    for i in range(n):
        if i > 1:
            rows.insert(0, [9, 9])
            r[0] = 5
    return rows


@executors
@pytest.mark.parametrize("fn", [moved_and_then_changed, replaced_and_then_changed, moved_and_changed_on_one_way])
def test_elements_that_may_not_be_there_any_more(fn: Callable[[Any], Any], executor: str) -> None:
    check_places(fn, executor, (2,), (3,), (4,))


def test_a_loop_by_name_changes_an_element() -> None:
    """`rt.while_loop` runs a body that is no statement of the function: what it changes is not known."""
    def f(n: Any) -> Any:
        rows = pairs(n)
        r = rows[0]

        def body(i: Any) -> Any:
            r[0] = 5
            return i + 1

        rt.while_loop(lambda i: i < 3, body, [rt.constant(0)])
        return rows

    with pytest.raises(rt.errors.StagingError):
        rt.function(f)(rt.constant(3))


@dataclasses.dataclass(eq=False)
class Place:
    others: list[Any]


def test_objects_that_lead_to_each_other_in_very_many_ways_are_an_error() -> None:
    places = [Place([]) for _ in range(20)]
    for place in places:
        place.others = [other for other in places if other is not place]
    with pytest.raises(rt.errors.StagingError, match=r"lead to each other in \d+ ways(?s:.)*Keep such objects in one"):
        contents_of(places)
    assert len([*cells_in(places)]) == 1 + 2 * len(places)


def test_one_object_has_each_of_its_positions() -> None:
    place = Place([])
    assert len(contents_of([place] * 3000)) == 6001

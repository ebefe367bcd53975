"""Elements of lists that are operands without a name, while a later operand of the same expression changes them."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.plain_values import check_places, check_sizes, executors


@dataclass
class B:
    x: Any
    y: Any = 0


def change(rows: Any) -> Any:
    rows[0].x += 10
    return 0


def change_all(rows: Any) -> Any:
    for r in rows:
        r.x += 10
    return 0


def pair(a: Any, b: Any) -> Any:
    return a.x + b


def two(a: Any, b: Any) -> Any:
    return a.x * 100 + b.x


def bump(r: Any) -> Any:
    r.x += 10
    return r


def element_before_a_change(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return pair(rows[0], change(rows))


def element_before_changes_in_a_loop(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return pair(rows[0], change_all(rows))


def changed_operand_after_the_same_one(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return two(rows[0], bump(rows[0]))


def in_a_tuple(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    t = (rows[0], change(rows))
    return t[0].x


def row_before_a_change(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0][0] += 5
        return 1
    return sum(rows[0], ch())


def in_a_list(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch(k: Any) -> Any:
        rows[k][0] += 5
        return 1
    return [rows[1], ch(1)]


def result_of_a_function(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    def get(r: Any) -> Any:
        return r
    return pair(get(rows[0]), change(rows))


def index_of_the_graph(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return pair(rows[n - 1], change_all(rows))


def in_a_loop(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    for r in rows:
        t = pair(r, change_all(rows))
    return t


def value_of_a_dict(n: Any) -> Any:
    d = {i: [i, 0] for i in range(n)}
    def ch() -> Any:
        d[1][0] += 5
        return 1
    return sum(d[1], ch())


def sum_of_lists(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0][0] += 5
        return 1
    return rows[0] + [ch()]


def replaced_element(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0] = [7, 7]
        return 1
    return rows[0] + [ch()]


def comprehension_over_a_tuple(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return [bump(rows[i]) for i in (0, 0, 1)]


def target_of_an_assignment(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[1][0] += 5
        return 3
    rows[1][1] += ch()
    return rows


def target_with_another_field_changed(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    def ch() -> Any:
        rows[0].y += 5
        return 3
    rows[0].x += ch()
    return rows


def in_a_dict(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return {"a": rows[0], "b": change(rows)}


def several_changes(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return (rows[0], change(rows), rows[1], change_all(rows))


def value_before_the_index(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    out = [[0, 0]]
    def ch() -> Any:
        rows[0][0] += 5
        return 0
    out[ch()] = rows[0]
    return rows, out


def condition_before_the_element(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0][0] += 5
        return [1]
    return (rows[0] if ch() else 0)[0]


def changes_in_a_loop_and_a_branch(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0][0] += 5
        return [1]
    t = 0
    for i in range(n):
        t += sum(rows[0] + ch())
        if t > 3:
            rows[i][1] += 2
        else:
            t += sum(rows[i] + ch())
    return t, rows


def changes_by_index(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch(k: Any) -> Any:
        rows[k][0] += 5
        return [1]
    t = 0
    for i in range(n):
        t += sum(rows[i] + ch(i))
    return t, rows


def changes_of_all(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch(k: Any) -> Any:
        for i in range(n):
            rows[i][0] += 5
        return [1]
    t = 0
    for i in range(n):
        t += sum(rows[i] + ch(i))
    return t, rows


def three_operands(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def first() -> Any:
        return rows[0]
    def ch() -> Any:
        rows[0][0] += 5
        return [1]
    x = sum(first() + ch() + first())
    y = 3
    rows[0][1] = 9
    return x, rows


def change_in_a_branch(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows[0][0] += 5
        return [1]
    return sum(rows[0] + (ch() if n > 2 else [3]))


def change_in_a_while(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        while rows[0][0] < 10:
            rows[0][0] += 3
        return [1]
    return sum(rows[0] + ch())


def part_of_an_element(n: Any) -> Any:
    rows = [[i, [i, 2]] for i in range(n)]
    def ch() -> Any:
        rows[0][1][0] += 3
        return [1]
    return sum(rows[0][1] + ch())


def part_that_grows(n: Any) -> Any:
    rows = [[i, [i, 2]] for i in range(n)]
    def ch() -> Any:
        rows[0][1].append(3)
        return [1]
    return sum(rows[0][1] + ch())


def values_of_a_dict(n: Any) -> Any:
    d = {i: B(i) for i in range(n)}
    return two(d[1], bump(d[1])), d


def pairs_in_a_loop(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    for i in range(n):
        a = two(rows[i], bump(rows[i]))
    return a, rows


def items_of_a_list_without_a_name(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return sum([r.x for r in [rows[0], bump(rows[0])]])


def in_headers(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    if two(rows[0], bump(rows[0])) > 3:
        rows[1].x += 5
    while two(rows[0], bump(rows[0])) < 5000:
        rows[0].y += 1
    return rows


def maximum_by_a_key(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return max(rows[0], bump(rows[0]), key=lambda r: r.x)


def identity(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return rows[0] is bump(rows[0])


def elements_of_map(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return list(map(bump, [rows[0], rows[0]]))


def dict_comprehension(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return {k: bump(rows[i]) for k, i in (("a", 0), ("b", 0), ("c", 1))}


def comprehension_in_a_branch(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    if n > 2:
        return [bump(rows[i]) for i in (0, 0, 1)]
    return rows


@executors
@pytest.mark.parametrize("fn", [
    element_before_a_change, element_before_changes_in_a_loop, changed_operand_after_the_same_one, in_a_tuple,
    row_before_a_change, in_a_list, result_of_a_function, index_of_the_graph, in_a_loop, value_of_a_dict,
    sum_of_lists, replaced_element, comprehension_over_a_tuple, target_of_an_assignment,
    target_with_another_field_changed, in_a_dict, several_changes, value_before_the_index,
    condition_before_the_element, changes_in_a_loop_and_a_branch, changes_by_index, changes_of_all, three_operands,
    change_in_a_branch, change_in_a_while, part_of_an_element, part_that_grows, values_of_a_dict, pairs_in_a_loop,
    items_of_a_list_without_a_name, maximum_by_a_key, identity, elements_of_map, dict_comprehension,
    comprehension_in_a_branch, in_headers,
])
def test_operand_has_the_changes_of_later_ones(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 4, 3)


# What changes is not known to be at the operand's place.

def operand_chosen_by_a_condition(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return pair(rows[0] if n > 2 else rows[1], change_all(rows))


def change_of_an_element_taken_out(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        rows.pop(0)[1] = 4
        return 1
    return rows[0] + [ch()]


def element_moved_in_the_list(n: Any) -> Any:
    rows = [[i, 0] for i in range(n)]
    def ch() -> Any:
        r = rows.pop(0)
        r[1] = 4
        rows.append(r)
        return 1
    return rows[0] + [ch()]


def comprehension_over_the_graph(n: Any) -> Any:
    rows = [B(i) for i in range(n)]
    return [bump(rows[0]) for i in range(n)], rows


@executors
@pytest.mark.parametrize("fn", [operand_chosen_by_a_condition, comprehension_over_the_graph])
def test_operands_that_are_had_by_reference(fn: Any, executor: str) -> None:
    check_sizes(fn, executor, 3, 4, 5)


@executors
@pytest.mark.parametrize("fn", [change_of_an_element_taken_out, element_moved_in_the_list])
def test_other_changes(fn: Any, executor: str) -> None:
    check_places(fn, executor, (3,), (4,))

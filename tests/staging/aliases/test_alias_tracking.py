"""Changes of elements of staged lists by names that the lists do not know."""
from __future__ import annotations

import collections
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import check_places, executors
from tests.traced_once import on

THREE = rt.constant(3)


def dict_of_an_unknown_index(n: Any) -> Any:
    rows = [{"a": i, "b": 0} for i in range(n)]
    best = {"a": -1, "b": 0}  # it may be none of them
    for row in rows:
        if row["a"] > best["a"]:
            best = row
    best["b"] = 5
    return rows


def changed_after_it_was_put_in(n: Any) -> Any:
    rows, row = [], [0, 0]
    for _ in range(n):
        rows.append(row)
        row[0] += 1
    return rows


def changed_before_it_is_put_in_again(n: Any) -> Any:
    rows, row = [], [0, 0]
    for _ in range(n):
        row[0] += 1
        rows.append(row)
    return rows


def changed_after_the_loop(n: Any) -> Any:
    rows, row = [], [0, 0]
    for _ in range(n):
        rows.append((row, n))
    row[0] += 1
    return rows


def start_of_the_dict(n: Any) -> Any:
    row = [0, 0]
    rows = {0: row}
    for i in range(n):
        rows[i + 1] = [i, i]
    row[0] += 1
    return rows


def kept_by_a_variable(n: Any) -> Any:
    rows, row = [], [0, 0]
    for i in range(n):
        row = [i, i]
        rows.append(row)
    row[0] = 7
    return rows


@executors
@pytest.mark.parametrize("fn", [
    dict_of_an_unknown_index, changed_after_it_was_put_in, changed_before_it_is_put_in_again, changed_after_the_loop,
    kept_by_a_variable])
def test_a_change_of_an_element_with_other_names(fn: Any, executor: str) -> None:
    check_places(fn, executor, (3,), (4,))


def test_a_change_of_a_list_that_a_staged_dict_began_with() -> None:
    with pytest.raises(rt.errors.StagingError) as info:
        rt.function(start_of_the_dict)(THREE)
    first, *_, last = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{start_of_the_dict.__code__.co_firstlineno + 3}: whether 'rows' is the same dict here as another"
        " name is known only when the graph runs, and one of them is changed: staged code does not see the change by"
        " the other name")
    assert last == "Give each name a dict of its own where the program allows it: dict(x)."


def test_the_remedies_work() -> None:
    def read(n: Any) -> Any:
        rows = [[0, 1] for _ in range(n)]
        for i in range(n):
            x = list(rows[i])
            x[1] += i
            rows[i] = x
        return rows

    def put(n: Any) -> Any:
        rows, row = [], [0, 0]
        for _ in range(n):
            row[0] += 1
            rows.append(list(row))
        row[1] = 5
        return rows, row

    for fn in (read, put):
        found = rt.nest.map_structure(lambda x: x if isinstance(x, int) else x.numpy().item(), rt.function(fn)(THREE))
        assert found == fn(3)


def test_what_is_taken_out_may_change() -> None:
    @rt.function
    def f(n):
        rows = [[i, 1] for i in range(n)]
        row = rows.pop()
        row[1] = 5
        first = rows[0][:]
        first.append(7)
        return row[1] + first[2]

    assert f(THREE) == 12


def evaluated_before(n: Any) -> Any:
    items = [n]
    return length(items, grow(items, n))


def length(items: Any, more: Any) -> Any:
    return len(items) + more


def grow(items: Any, n: Any) -> Any:
    for _ in range(n):
        items.append(n)
    return 1


def empty_in_a_deque(n: Any) -> Any:
    items, held = [], collections.deque()
    held.append(items)
    for _ in range(n):
        items.append(n)
    return len(held[0])


def in_an_iterator(n: Any) -> Any:
    items, m = [n], 0
    for held in (items, items):
        for _ in range(n):
            items.append(n)
        m += len(held)
    return m


def appended_to(n: Any) -> Any:
    items, held = [n], collections.deque()
    held.append(items)
    for _ in range(n):
        items.append(n)
    held[0].append(n)
    return len(items)


def returned(n: Any) -> Any:
    items, held = [n], collections.deque()
    held.append(items)
    for _ in range(n):
        items.append(n)
    return items, list(held)


def compared(n: Any) -> Any:
    items, held = [1], collections.deque()
    held.append(items)
    for _ in range(n):
        items.append(1)
    return held[0] == [1]


def printed(n: Any) -> Any:
    items, held = [n], collections.deque()
    held.append(items)
    for _ in range(n):
        items.append(n)
    print(held[0])


def plain(value: Any) -> Any:
    """Results with numbers for tensors."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.numpy().item() if isinstance(value, rt.Tensor) else value


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    evaluated_before, empty_in_a_deque, in_an_iterator, appended_to, returned, compared, printed])
def test_who_had_a_list_sees_it_grow(fn: Any, executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert plain(on(executor, fn)(THREE)) == plain(fn(3))
    staged, python = capsys.readouterr().out.splitlines(), capsys.readouterr().out
    assert staged == ([] if fn is not printed else ["[3, 3, 3, 3]"] * 2), python

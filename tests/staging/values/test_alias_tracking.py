"""What Python would change in a staged list, through an element of it, is an error: it holds what was in that."""
from __future__ import annotations

import collections
from typing import Any

import pytest

import runtime as rt

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


def dict_in_a_branch(n: Any) -> Any:
    rows = [{"a": i, "b": 0} for i in range(n)]
    first = rows[0]
    if n > 2:
        first["b"] = 5
    return rows


def grows(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append([i, i])
    rows[-1].append(3)
    return rows


def put_back_elsewhere(n: Any) -> Any:
    rows = [[i, 1] for i in range(n)]
    row = rows[0]
    row[1] = 5
    rows[1] = row
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


def start_of_the_list(n: Any) -> Any:
    row = [0, 0]
    rows = [row]
    for i in range(n):
        rows.append([i, i])
    row[0] += 1
    return rows


def kept_by_a_variable(n: Any) -> Any:
    rows, row = [], [0, 0]
    for i in range(n):
        row = [i, i]
        rows.append(row)
    row[0] = 7
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
    rows, row = [], None
    for i in range(n):
        if row is not None:
            row[1] += 1
        row = [i, 0]
        rows.append(row)
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


def read_in_each_branch(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0] if n > 1 else rows[-1]
    row[0] = 5
    return rows


def last_read_in_a_loop(n: Any) -> Any:
    rows = rows_of(n)
    best = rows[0]
    for row in rows:
        if row[1] > best[1]:
            best = row
    best[0] = 9
    return rows


def changed_in_a_branch_that_drops_it(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    if n > 1:
        row[0] = 5
        row = [0, 0]
    return rows


def changed_in_an_iteration_that_drops_it(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    for _ in range(n):
        row[0] = 5
        row = [0, 0]
    return rows


def changed_in_a_try_that_drops_it(n: Any) -> Any:
    rows = rows_of(n)
    row = rows[0]
    try:
        row[0] = 5
        10 // n
        row = [1, 1]
    except ZeroDivisionError:
        row = [0, 0]
    return rows


@pytest.mark.parametrize("fn", [
    put_and_changed_in_the_next_iteration, put_in_a_branch_and_changed_in_the_next_iteration,
    put_within_a_tuple_and_changed_in_the_next_iteration, put_by_a_callee_and_changed_in_the_next_iteration,
    put_before_an_error, put_before_a_raise, maybe_none_and_put, read_and_changed_in_the_next_iteration,
    read_in_one_branch, read_in_each_branch, last_read_in_a_loop, changed_in_a_branch_that_drops_it,
    changed_in_an_iteration_that_drops_it, changed_in_a_try_that_drops_it,
])
def test_a_change_in_another_iteration_branch_or_handler(fn: Any) -> None:
    what = "put into" if fn.__name__.startswith(("put", "maybe")) else "read from"
    with pytest.raises(rt.errors.StagingError, match=f"a list is changed after it was {what} another list here"):
        rt.function(fn)(THREE)


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


@pytest.mark.parametrize("fn", [put_back_after_a_branch, put_back_after_a_loop])
def test_a_changed_element_may_be_put_back(fn: Any) -> None:
    assert plain(rt.function(fn)(THREE)) == plain(fn(3))


READ = "x = list(xs[i]), then xs[i] = x."
PUT = "Put in a copy: list(x); or change it before."


@pytest.mark.parametrize(("fn", "offset", "what", "remedy"), [
    (set_item_of_an_element, 2, "a list is changed after it was read from", READ),
    (changed_in_a_loop, 2, "a list is changed after it was read from", READ),
    (dict_in_a_branch, 2, "a dict is changed after it was read from", "x = dict(xs[i]), then xs[i] = x."),
    (grows, 4, "a list is changed after it was read from", READ),
    (put_back_elsewhere, 2, "a list is changed after it was read from", READ),
    (changed_after_it_was_put_in, 3, "a list is changed after it was put into", PUT),
    (changed_before_it_is_put_in_again, 4, "a list is changed after it was put into", PUT),
    (changed_after_the_loop, 3, "a list is changed after it was put into", PUT),
    (kept_by_a_variable, 4, "a list is changed after it was put into", PUT),
])
def test_a_change_that_the_list_does_not_see(fn: Any, offset: int, what: str, remedy: str) -> None:
    with pytest.raises(rt.errors.StagingError) as info:
        rt.function(fn)(THREE)
    first, *_, last = str(info.value).split("\n")
    assert first == (f"{__file__}:{fn.__code__.co_firstlineno + offset}: {what} another list here, which holds what "
                     "was in it: staged code does not see the change there")
    assert last.endswith(remedy)


def test_a_change_of_a_list_that_a_staged_list_began_with() -> None:
    with pytest.raises(rt.errors.StagingError) as info:
        rt.function(start_of_the_list)(THREE)
    first, *_, last = str(info.value).split("\n")
    assert first == (
        f"{__file__}:{start_of_the_list.__code__.co_firstlineno + 3}: whether 'rows' is the same list here as another"
        " name is known only when the graph runs, and one of them is changed: staged code does not see the change by"
        " the other name")
    assert last == "Give each name a list of its own where the program allows it: list(x)."


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
    assert plain(rt.function(fn, executor=executor)(THREE)) == plain(fn(3))
    staged, python = capsys.readouterr().out.splitlines(), capsys.readouterr().out
    assert staged == ([] if fn is not printed else ["[3, 3, 3, 3]"] * 2), python

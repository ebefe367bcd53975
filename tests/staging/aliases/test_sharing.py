"""Lists that several names refer to: a change by one name is seen by all, or an error names the line."""
from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from plain_values import plain
from traced_once import on

import runtime as rt
from runtime import nest
from runtime.errors import StagingError
from tests.sharing import PROGRAMS, outcome


class Object:
    held: Any


class Slots:
    __slots__ = ("held",)
    held: Any


@dataclasses.dataclass
class Record:
    held: Any


@dataclasses.dataclass
class Node:
    value: Any
    kin: Any = None


def variable(x):
    a = [x]
    b = a
    n = 0
    for _ in rt.range(3):
        a.append(x)
        n += len(b)
    return n, len(b)


def dict_in_a_branch(x):
    a = [x]
    d = {"k": a}
    n = x
    if x > 0:
        d["k"][0] = x * 2
        n = a[0]
    return n, a[0]


def tuple_that_grows(x):
    a = [x]
    t = ((a, 1),)
    n = 0
    for _ in rt.range(3):
        a.append(x)
        n += len(t[0][0])
    return n, len(t[0][0])


class Named(NamedTuple):
    held: Any
    number: int


def named_tuple(x):
    a = [x]
    t = Named(a, 1)
    n = 0
    for _ in rt.range(3):
        a.append(x)
        n += len(t.held)
    return n, len(t.held), t.number


def attribute(x):
    a = [x]
    first, second = Object(), Object()
    first.held = second.held = a
    n = 0
    for _ in rt.range(3):
        first.held.append(x)
        n += len(second.held)
    return n, len(a)


def slots(x):
    a = [x]
    o = Slots()
    o.held = a
    for _ in rt.range(2):
        a.append(x)
    return len(o.held)


def default_of_a_function(x):
    a = [x]

    def g(held=a):
        return len(held)

    for _ in rt.range(2):
        a.append(x)
    return g()


def items_of_a_list(x):
    a = [x]
    d = [a, a]
    for _ in rt.range(3):
        d[0].append(x)
    return len(d[1]), len(a)


def given_up_by_its_name(x):
    a = [x, x + 1]
    b = a
    if x > 0:
        b[1] = x * 5
        b = [x, x]
    return a[1], b[1]


def nested_branches(x):
    a = [x, x + 1]
    u = ((a,),)
    if x > 0:
        if u[0][0][0] > 0:
            u[0][0].append(x)
    return len(a)


def change_places(x):
    a = [x]
    b = [x + 1]
    for _ in rt.range(4):
        a[0] = b[0] + 1
        a, b = b, a
    if x > 0:
        a, b = b, a
    a[0] = x * 7
    return a[0] + b[0] * 10


def found_in_a_loop(x):
    best = [x]
    for i in rt.range(3):
        new = [x + rt.cast(i, rt.float32)]
        if new[0] > best[0]:
            best = new
    best[0] = best[0] + 1
    return best[0]


def returned_in_a_loop(x):
    a = [x]
    for _ in rt.range(3):
        if x > 1.0:
            return len(a), a[0]
        a.append(x)
        if len(a) > 2:
            return len(a), a[0]
    a[0] = x * 3
    return len(a), a[0]


def returned_itself(x):
    def f():
        a = [x]
        for _ in rt.range(3):
            if x > 1.0:
                return a
            a.append(x)
        return a

    return len(f())


def grown_by_a_function_in_a_loop(x):
    out = []
    for i in rt.range(3):
        if x + rt.cast(i, rt.float32) > 0:
            def add(r):
                out.append(r)
                return r
            add(x)
    return len(out)


def chosen_in_a_loop(x):
    a = [x]
    for _ in rt.range(3):
        b = (a, 2)
    a[0] = x + 5
    return b[0][0], a[0]


def chosen_in_a_loop_that_may_not_run(x):
    a = [x]
    b = None
    n = x
    while n < 3:
        b = a
        n += 1
    a[0] = x + 5
    return a[0] if b is None else b[0]


def chosen_in_both_branches(x):
    a = [x]
    if x > 0:
        b = (a, 2)
    else:
        b = (a, 3)
    a[0] = x + 5
    return b[0][0], b[1]


def grown_after_a_choice(x):
    a = [x]
    b = (a, 1)
    for _ in rt.range(3):
        b = (a, 2)
        a.append(b[0][0])
    b[0].append(x * 5)
    return len(a), a[-1]


def given_up_after_a_choice(x):
    a = [x]
    for _ in rt.range(3):
        b = (a, 2)
    if x > 0:
        a[0] = x + 7
    else:
        a = [x + 1]
    return b[0][0], a[0]


def taken_while_an_item_changes(x):
    a, b, h = [x], [x], Object()
    h.held = a
    d = {"k": a}
    n = x
    if x > 0:
        for _ in rt.range(2):
            b = h.held
            d["k"][0] = d["k"][0] + 1
        n = b[0]
    return n, a[0]


def record_by_its_name(x):
    a = Record(x)
    d = {"k": a}
    for _ in rt.range(3):
        a = d["k"]
    d["k"].held = x + 1
    return a.held


def record_given_up(x):
    a = Record(x)
    d = {"k": a}
    u = ((a,),)
    if x > 0:
        x = x + 1
    else:
        a = Record(x + 7)
        u[0][0].held = d["k"].held * 5
    return d["k"].held, x


def grown_by_another_name_in_a_branch(x):
    a = [x, x]
    t = (a, 1)
    if x > 1.0:
        b = a
        for _ in rt.range(3):
            b.append(x)
    return t[0][0], len(t[0])


def grown_in_the_loop_of_a_branch(x):
    a = [x, x]
    t = (a, 1)
    if x > 1.0:
        for _ in rt.range(3):
            b = a
            b.append(x)
    return t[0][0], len(t[0])


def record_in_one_branch(x):
    a = Record(x)
    o = Object()
    o.held = a
    if x > -2.0:
        a = o.held
        a.held = x * 3
    o.held.held += 1.0
    return a.held


def held_while_an_item_changes(x):
    a = [x]
    r = Record((a, 1.0))
    d = {"k": a}
    q = Record(([x], 1.0))
    n = x
    if x > 0:
        for _ in rt.range(rt.cast(x, rt.int32)):
            q = r
            d["k"][0] = d["k"][0] + 1
        n = q.held[0][0]
    return n, a[0]


def an_item_and_the_list(x):
    a = [x, x]
    r = Record(a)
    t = (r, a)
    for _ in rt.range(rt.cast(x, rt.int32)):
        t[0].held[0] = r.held[1] + x
    return a[0], r.held[0]


def in_a_list_that_is_made_anew(x):
    a, b = [x, x], [x * 2, x]
    r = Record(b)
    m = [a, b]
    b = a
    if x > 0:
        m[1][1] = a[0] + x
        m = [b, a]
    return r.held[1], m[1][1]


def in_the_test(x):
    a = [x]
    d = {"k": a}
    while d["k"][0] < 4.0:
        a[0] = a[0] + 1.0
    return a[0], d["k"][0]


def of_a_list_that_is_made_anew(x):
    a = [x]
    b = [x * 2]
    m = [b, a]
    for _ in rt.range(rt.cast(x, rt.int32) + 1):
        m = [a, b]
    return m[0][0], m[1][0], len(m)


def refusal(fn: Any) -> tuple[str, str]:
    """The first and last line of the error for `fn` of a float."""
    with pytest.raises(StagingError) as info:
        rt.function(fn)(rt.constant(1.0))
    first, *_, last = str(info.value).split("\n")
    return first, last


def numbers(result: Any) -> list[float]:
    return [float(part) for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("fn", [
    variable, dict_in_a_branch, tuple_that_grows, named_tuple, attribute, slots, default_of_a_function, items_of_a_list,
    given_up_by_its_name, nested_branches, change_places, found_in_a_loop, returned_in_a_loop, returned_itself,
    grown_by_a_function_in_a_loop, chosen_in_a_loop, chosen_in_a_loop_that_may_not_run, chosen_in_both_branches,
    grown_after_a_choice, given_up_after_a_choice, taken_while_an_item_changes, record_by_its_name, record_given_up,
    grown_by_another_name_in_a_branch, grown_in_the_loop_of_a_branch, record_in_one_branch,
    held_while_an_item_changes, an_item_and_the_list, in_the_test,
    in_a_list_that_is_made_anew, of_a_list_that_is_made_anew,
])
def test_all_names_see_a_change(fn: Any) -> None:
    staged = rt.function(fn)
    for value in (-1.0, 2.0):
        assert numbers(staged(rt.constant(value))) == numbers(fn(rt.constant(value)))


def either(x):
    a = [x]
    b = [x]
    if x > 0:
        cur = a
    else:
        cur = b
    cur.append(x)
    return len(a)


def taken_in_a_branch(x):
    a = [x]
    b = a
    if x > 0:
        a = [x, x]
    b[0] = x * 2
    return a[0]


def of_a_dict(x):
    a = {"k": x}
    b = a
    if x > 0:
        a = {"k": x}
    a["k"] = x * 3
    return b["k"]


def by_a_loop_that_may_not_run(x):
    a = [x]
    b = a
    for _ in rt.range(rt.cast(x, rt.int32)):
        a = [x]
    a[0] = x * 5
    return b[0]


def in_the_next_iteration(x):
    a = [x]
    b = [x + 1]
    for _ in rt.range(4):
        a[0] = a[0] + 1
        a = b
    return b[0]


def in_the_first_iteration(x):
    a = [x, x]
    b = a
    for _ in rt.range(2):
        b[1] = b[0] + x
        b = [a[1], x]
    return a[1]


def record(x):
    a = [x]
    p = Record(a)
    if x > 0:
        p = Record([x, x])
    a.append(x)
    return len(p.held)


def after_an_error(x):
    try:
        a = [x]
        b = a
        rt.debugging.assert_greater(x, 0.0)
        a.append(x)
    except Exception:
        a = [x, x, x]
    a.append(x)
    return len(b)


def given_up_in_a_branch_in_a_loop(x):
    b = [x]
    u = ((b,),)
    for _ in rt.range(2):
        if x > 0:
            b = [x]
    b[0] = x + 5
    return u[0][0][0]


def record_in_the_first_iteration(x):
    b = Record(x)
    u = ((b,),)
    for _ in rt.range(3):
        for _ in rt.range(2):
            b.held = b.held + x
            b = Record(x)
    return u[0][0].held


def by_another_name_in_the_next_iteration(x):
    a = [x]
    c = [x + 1]
    d = {"k": c}
    for _ in rt.range(3):
        if c[0] > 0:
            d["k"] = a
        else:
            d["k"][0] += 1.0
    return c[0]


def record_of_equal_parts(x):
    a = Record(x)
    c = a
    if x > 1.0:
        a.held += 1.0
    else:
        c = Record(a.held)
        if x > 0.0:
            c = a
    a.held = a.held + x
    return c.held


def record_of_a_tuple(x):
    a = Record(x)
    c = Record(x + 1)
    if x > -1:
        t = (c, 2)
    else:
        t = (a, 2)
    if x > -1:
        t[0].held = a.held + x
    else:
        for _ in rt.range(3):
            t = (c, 2)
    return a.held


def record_whose_fields_another_name_sets(x):
    a = Record(x)
    b = a
    for _ in rt.range(2):
        a.held += 1.0
        a = Record(b.held)
        b.held = b.held + x
    return a.held, b.held


def asked_in_a_loop(x):
    a = [x, x]
    c = a
    k = 0
    for _ in rt.range(3):
        if a is c:
            k += 1
        a = [x, x]
    return k


def asked_after_a_choice(x):
    a, c = Record(x), Record(x + 1.0)
    if x > 1.0:
        a = c
    for _ in rt.range(2):
        if c is a:
            a.held = x
        a = Record(c.held)
    return c.held


def test_whether_two_names_are_one_is_not_known_in_a_loop() -> None:
    with pytest.raises(StagingError, match="is known only when the graph runs, and it is asked here"):
        rt.function(asked_in_a_loop)(rt.constant(2.0))


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    asked_after_a_choice, record_in_the_first_iteration, record_whose_fields_another_name_sets])
def test_objects_by_reference(fn: Any, executor: str) -> None:
    for x in (0.0, 2.0):
        assert plain(on(executor, fn)(rt.constant(x))) == plain(fn(x))


def test_whether_two_names_are_one_where_they_stay_what_they_are() -> None:
    def f(x):
        a, b, c = [x], [x], [x]
        if x > 1.0:
            a = b
        k = 0
        for _ in rt.range(3):
            if a is b:
                k += 1
            if c is b:
                k += 10
            c = [x]
        return k

    assert [int(rt.function(f)(rt.constant(x))) for x in (0.0, 2.0)] == [0, 3]


@pytest.mark.parametrize(("fn", "offset", "name", "kind"), [
    (by_a_loop_that_may_not_run, 3, "a", "list"),
    (in_the_next_iteration, 3, "a", "list"),
    (in_the_first_iteration, 3, "b", "list"),
    (after_an_error, 1, "b", "list"),
    (given_up_in_a_branch_in_a_loop, 3, "b", "list"),
])
def test_a_change_that_only_the_graph_could_see(fn: Any, offset: int, name: str, kind: str) -> None:
    first, last = refusal(fn)
    assert first == (
        f"{__file__}:{fn.__code__.co_firstlineno + offset}: whether {name!r} is the same {kind} here as another name"
        " is known only when the graph runs, and one of them is changed: staged code does not see the change by the"
        " other name")
    assert last == f"Give each name a {kind} of its own where the program allows it: {kind}(x)."


def test_a_tensor_put_into_an_array() -> None:
    def f(x):
        out = np.zeros(3)
        for i in rt.range(3):
            out[0] = x + rt.cast(i, rt.float32)
        return out

    assert rt.function(f)(rt.constant(1.0)).numpy().tolist() == [3, 0, 0]


def test_a_list_that_one_branch_makes() -> None:
    def f(x):
        if x > 0:
            held = [x * 2, x * 3]
        held[0] = x
        return held

    assert [item.numpy() for item in rt.function(f)(rt.constant(2))] == [2, 6]


def test_who_had_a_list_before_it_grew() -> None:
    def f(x):
        a = [x]
        for held in (a, a):
            for _ in rt.range(2):
                held.append(x)
        return len(a)

    assert rt.function(f)(rt.constant(1.0)) == f(1.0) == 5


def test_a_list_from_outside_has_what_calls_append() -> None:
    outside = kept = [1.0, 2.0]

    @rt.function
    def f(x):
        held = outside
        for _ in rt.range(2):
            held.append(x)
        return len(held)

    assert f(rt.constant(1.0)) == 4
    assert f(rt.constant(3.0)) == 6
    assert kept == [1.0, 2.0, 1.0, 1.0, 3.0, 3.0]


@pytest.mark.parametrize(("make", "part"), [
    (Record, lambda held: held.held), (lambda x: [x, 1.5], lambda held: held[0]),
    (lambda x: {"k": x}, lambda held: held["k"]),
], ids=["Record", "list", "dict"])
def test_what_a_loop_does_not_change_keeps_what_it_has(make: Any, part: Any) -> None:
    """It held tensors of the graph afterwards."""
    outside = make(rt.constant(2.0))

    @rt.function
    def f(x):
        held = outside
        for _ in rt.range(3):
            held, other = outside, held
            x = x + part(other)
        try:
            held = outside
            rt.debugging.assert_greater(x, 0.0)
        except Exception:
            x = x * 2.0
        return x + part(held)

    assert float(f(rt.constant(1.0))) == 9.0
    assert part(outside).numpy() == 2.0


@pytest.mark.parametrize("turn", [lambda m: m[1:] + m[:1], lambda m: [[row[0] + 1.0, row[1]] for row in m]],
                         ids=["others", "new"])
def test_many_rows(turn: Any) -> None:
    """What three hundred lists in a list may share is found without comparing all with all in each iteration."""
    def f(x):
        m = [[x + i, x] for i in range(300)]
        for _ in rt.range(3):
            m = turn(m)
        return m[0][0]

    assert float(rt.function(f)(rt.constant(1.0))) == f(1.0)


def test_the_remedy_works() -> None:
    def f(x):
        a = [x]
        b = [x]
        cur = list(a) if x > 0 else list(b)
        cur.append(x)
        return len(a) + len(cur) * 10

    assert rt.function(f)(rt.constant(1.0)) == f(1.0)


def test_objects_that_hold_each_other() -> None:
    def tree(x):
        parent = Node(x)
        child = Node(x + 1, parent)
        parent.kin = [child]
        return parent, child

    def changed(x):
        parent, child = tree(x)
        if x > 0:
            parent.value = x * 2
        return parent.value + child.kin.value

    def chosen(x):
        node, child = tree(x)
        if node.value > 0:
            node = child
        return node.value

    assert rt.function(changed)(rt.constant(1.0)) == changed(1.0)
    for x in (1.0, -1.0):
        assert rt.function(chosen)(rt.constant(x)) == chosen(x)


def test_what_is_not_changed_may_be_shared() -> None:
    def f(x):
        a = [x]
        b = [x + 1]
        if x > 0:
            cur = a
        else:
            cur = b
        return cur[0] + a[0]

    assert rt.function(f)(rt.constant(1.0)) == 2


@pytest.mark.parametrize("kind", PROGRAMS)
def test_random_programs(kind: str) -> None:
    outcomes = [outcome(PROGRAMS[kind](seed).text, f"<sharing {kind} {seed}>") for seed in range(12)]
    assert {text for text in outcomes if "\n" in text} == set()
    assert outcomes.count("same") > 3


def in_a_finally(x):
    a = [x]
    try:
        if x > 0:
            return a
    finally:
        a.append(x)
    return a


def item_in_a_finally(x):
    a = [x]
    try:
        if x > 0:
            return a, 1
    finally:
        a[0] = x + 1
    return a, 2


class Appends:
    def __init__(self, held):
        self.held = held

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.held.append(1.0)


@contextlib.contextmanager
def appends(held):
    yield
    held.append(1.0)


def in_an_exit(x):
    a = [x]
    with Appends(a):
        if x > 0:
            return a
    return a


def in_the_exit_of_a_generator(x):
    a = [x]
    with appends(a):
        if x > 0:
            return a
    return a


def after_a_loop_in_a_finally(x):
    a = [x]
    for _ in rt.range(3):
        try:
            if x > 0:
                return a
        finally:
            a.append(x)
    return a


def by_a_callee(x):
    a = [x]

    def g():
        if x > 0:
            return a
        return [x]

    b = g()
    a.append(x)
    return b


@pytest.mark.parametrize("fn", [in_a_finally, item_in_a_finally, in_an_exit, in_the_exit_of_a_generator])
def test_a_change_of_what_has_been_returned(fn: Any) -> None:
    for value in (-1.0, 2.0):
        assert nest.flatten(rt.function(fn)(rt.constant(value))) == nest.flatten(fn(rt.constant(value)))


@pytest.mark.parametrize("fn", [
    either, taken_in_a_branch, of_a_dict, record, by_another_name_in_the_next_iteration, record_of_equal_parts,
    record_of_a_tuple, after_a_loop_in_a_finally, by_a_callee])
def test_a_change_by_a_name_of_one_of_several(fn: Any) -> None:
    for value in (-1.0, 0.0, 1.0, 2.0):
        assert nest.flatten(rt.function(fn)(rt.constant(value))) == nest.flatten(fn(rt.constant(value)))


def changed_unless_returned(x):
    a = [x]
    for _ in rt.range(3):
        if x > 0:
            return a
        a[0] = a[0] + 1
    a.append(x)
    return a


def changed_in_loops_unless_returned(x):
    a = [x]
    while a[0] < 10:
        for _ in rt.range(2):
            a[0] = a[0] * 2 + 9
            if a[0] > 5:
                if x > 0:
                    return a
            a[0] = a[0] + 1
        a[0] = a[0] + 1
    a[0] = a[0] + 1
    return a


def changed_after_a_finally(x):
    a = [x]
    try:
        if x > 0:
            return a
    finally:
        x = x + 1
    a.append(x)
    return a


def changed_before(x):
    a = [x]
    try:
        a.append(x)
        if x > 0:
            return list(a)
    finally:
        a.append(x)
    return a


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    changed_unless_returned, changed_in_loops_unless_returned, changed_after_a_finally, changed_before])
def test_a_change_of_what_has_not_been_returned(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = on(executor, fn)
    for value in (-1.0, 2.0):
        x = rt.constant(value)
        assert [float(item) for item in f(x)] == [float(item) for item in fn(x)]


def list_in_itself(x):
    a = [x]
    a.append(a)
    if x > 0:
        a[0] = x + 1
    return a[0]


def list_in_itself_in_a_loop(x):
    a = [x]
    a.append(a)
    for _ in rt.range(2):
        a[0] = x + 1
    return a[1][0]


def list_in_its_own_tuple(x):
    a = [x]
    a.append((a,))
    if x > 0:
        a[1][0][0] = x + 1
    return a[0]


def dict_in_itself(x):
    d = {"v": x}
    d["d"] = d
    if x > 0:
        d.update(v=x + 1)
    return d["d"]["v"]


def list_in_itself_in_a_try(x):
    a = [x]
    a.append(a)
    try:
        a[0] = a[0] + 1
        rt.debugging.assert_positive(x)
    except rt.errors.InvalidArgumentError:
        a[0] = x
    return a[1][0]


@pytest.mark.parametrize(("fn", "kind"), [
    (list_in_itself, "list"), (list_in_itself_in_a_loop, "list"), (list_in_its_own_tuple, "list"),
    (dict_in_itself, "dict"), (list_in_itself_in_a_try, "list")])
def test_what_contains_itself(fn: Any, kind: str) -> None:
    first, last = refusal(fn)
    assert first == (
        f"{__file__}:{fn.__code__.co_firstlineno + 3}: a {kind} that contains itself is changed here, or may be, in"
        " staged code, which has a copy of it: a graph carries what is in it, which has no end")
    assert last == (
        f"Make it an object, one of whose attributes may be that object, or take the {kind} out of itself before.")


def item_of_a_dict_in_itself(x):
    d = {"v": x}
    d["d"] = d
    if x > 0:
        d["v"] = x + 1
    return d["d"]["v"]


def attribute_of_an_object_in_itself(x):
    o = Object()
    o.held, o.itself = x, o
    for _ in rt.range(2):
        o.held = o.held + 1
    return o.itself.held


def not_changed(x):
    a = [x]
    a.append(a)
    if x > 0:
        x = x + a[1][1][0]
    return x


@pytest.mark.parametrize("fn", [item_of_a_dict_in_itself, attribute_of_an_object_in_itself, not_changed])
def test_parts_of_what_contains_itself(fn: Any) -> None:
    assert float(rt.function(fn)(rt.constant(1.0))) == float(fn(rt.constant(1.0)))


def test_errors_name_what_has_no_variable_of_its_own() -> None:
    @rt.function
    def f(x):
        a = [x]
        b = a
        if x > 0:
            a.append(rt.constant([1.0, 2.0]))
            a = [x]
        else:
            a = [1]
        return b

    with pytest.raises(rt.errors.StagingError, match=r": a list or object that has several names is \[float32\[\], "):
        f(rt.constant(1.0))

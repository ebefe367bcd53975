"""The rules of `runtime.optimize` for control flow and for where nodes are; and the whole of it on programs."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from executed_lines import lines_of
from programs import load
from rewrites import only, outcome, outline, same_runs, traced
from traced_once import Again
from ways import difference, run_traced

import runtime as rt
from runtime.core import types as t
from runtime.core.graph import Graph, Node
from runtime.core.trace import add_input, apply, convert_to_tensor, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.data import elements
from runtime.function import concrete
from runtime.ops import lists as ops
from runtime.ops.control import REDUCE
from runtime.optimize import RULES, Fired, rewrite
from runtime.optimize.builder import Builder

Function = Callable[..., Any]
CASES: list[tuple[Function, tuple[str, ...], tuple[str, ...], str]] = []
"""A function, the types of its arguments, the rules (the first is the one that must fire), and what comes out."""
NEVER: list[tuple[Function, tuple[str, ...], tuple[str, ...]]] = []
"""A function, the types of its arguments, and the rules, of which the first must not fire."""


def becomes(outcome: str, rules: str, *specs: str) -> Callable[[Function], Function]:
    def add(fn: Function) -> Function:
        CASES.append((fn, specs, tuple(rules.split(", ")), outcome))
        return fn

    return add


def stays(rules: str, *specs: str) -> Callable[[Function], Function]:
    def add(fn: Function) -> Function:
        NEVER.append((fn, specs, tuple(rules.split(", "))))
        return fn

    return add


# Conditions.

@becomes("add", "branch, not of a comparison, same", "int32[]")
def the_branch_that_is_taken(x):
    if x == x:
        x = x + 1
    else:
        x = x // 0
    return x


@becomes("cond/1(true: subtract; false: sin)", "branch", "bool[]", "float32[]")
def branches_change_places(c, x):
    if rt.logical_not(c):
        x = rt.sin(x)
    else:
        x = x - 1
    return x


@stays("share", "float32[?]", "int32[]")
def a_row_of_a_list_that_a_branch_would_capture(x, k):
    rows = ops.list_new([x], x.type)
    if ops.list_get(rows, k)[0] > 0:
        y = ops.list_get(rows, k)[0]
    else:
        y = 0.0
    return y


@becomes("sin add cond/1(true: sin; false: cos)", "equal branches, share", "bool[]", "float32[]")
def both_branches_have_it_from_before(c, x):
    y = rt.sin(x) + 1
    if c:
        z, k = rt.sin(x) + 1, rt.sin(y)
    else:
        z, k = y, rt.cos(x)
    return z, k


@becomes("invert cond/1(true: sin; false:)", "which branch", "bool[]", "float32[]")
def flags_of_branches(c, x):
    if c:
        a, b, x = True, False, rt.sin(x)
    else:
        a, b = False, True
    return a, b, x


@becomes("multiply subtract where", "select", "bool[]", "int32[]")
def short_branches(c, x):
    if c:
        x = x * 2
    else:
        x = x - 1
    return x


@becomes("equal multiply greater floordiv multiply where where", "select", "int32[]")
def short_branches_in_branches(x):
    if x == 0:
        x = x * 2
    elif x > 3:
        x = x // 2
    else:
        x = x * 3
    return x


@stays("select", "bool[]", "int32[]", "int32[]")
def a_branch_that_may_raise(c, x, y):
    if c:
        x = x // y
    return x


@stays("select", "bool[]", "int32[]")
def a_branch_with_an_effect(c, x):
    if c:
        print(x)
        x = x + 1
    return x


@stays("select", "bool[]", "float32[3]")
def a_branch_on_vectors(c, x):
    if c:
        x = x + 1
    return x


@stays("select", "bool[]", "float32[]")
def a_branch_that_costs_something(c, x):
    if c:
        x = rt.exp(x)
    return x


@stays("select", "bool[]", "int32[]")
def a_long_branch(c, x):
    if c:
        x = (((((x + 1) * 2 + 3) * 4 + 5) * 6 + 7) * 8 + 9) * 10
    return x


@stays("equal branches", "bool[]", "float32[]")
def branches_that_compute_alike(c, x):
    if c:
        x = rt.sin(x)
    else:
        x = rt.sin(x) + 0.0
    return x


@stays("which branch", "bool[]", "int32[]")
def numbers_of_branches(c, x):
    if c:
        a = 1
    else:
        a = 0
    return a + x


@stays("branch", "bool[]", "int32[]")
def an_unknown_condition(c, x):
    if c:
        x = x + 1
    return x


# What is known.

@becomes("cond/1(true: add; false:)", "learn, branch", "bool[]", "int32[]")
def a_condition_within_its_branches(c, x):
    if c:
        if c:
            x = x + 1
    else:
        if c:
            x = x + 2
    return x


@becomes("bitwise_and cond/1(true: add; false: cond/1(true: multiply; false:))", "learn, branch", "bool[]", "bool[]",
         "int32[]")
def both_hold(c, d, x):
    both = c & d
    if both:
        if c:
            x = x + 1
    else:
        if c:
            x = x * 2
    return x


@becomes("cond/0(true:; false: raise) add", "learn, branch", "bool[]", "int32[]")
def after_an_assertion(c, x):
    assert c
    assert c
    if c:
        x = x + 1
    return x


@stays("branch, learn", "bool[]", "bool[]", "int32[]")
def one_of_two_holds(c, d, x):
    if c | d:
        if c:
            x = x + 1
    return x


@stays("branch, learn", "bool[]", "bool[]", "int32[]")
def an_assertion_in_a_branch(c, d, x):
    if d:
        assert c
    if c:
        x = x + 1
    return x


@becomes("add", "check, same, which branch, fold, branch", "int32[]")
def bound_for_sure(x):
    c = x == x
    if c:
        y = x + 1
    return y


@stays("check", "bool[]", "int32[]")
def perhaps_unbound(c, x):
    if c:
        y = x + 1
    return y


# Loops.

@becomes("", "no iteration, fold", "int32[]")
def no_iteration(x):
    i = rt.constant(5)
    while i < 3:
        x, i = x * 2, i + 1
    return x, i


@becomes("range getitem add", "one iteration", "int32[]")
def one_iteration(x):
    for i in rt.range(3, 4):
        x = x + i
    return x


@becomes("maximum reduce/1(body: add)", "fixed state, identity, cast", "int32[]", "int32[]")
def state_that_stays(n, x):
    k = rt.constant(3)
    for i in range(n):
        x = x + k
        k = k * 1
    return x, k


@becomes("maximum reduce/1(body: reduce/1(body: add))", "fixed state, identity, cast, share", "int32[]", "int32[]")
def state_that_stays_in_nested_loops(n, x):
    k = rt.constant(3)
    for i in range(n):
        for j in range(n):
            x = x + k
            k = k * 1
    return x, k


@becomes("maximum reduce/1(body: multiply)", "fixed state, identity, cast, hoist, absorb", "int32[]", "int32[]")
def a_flag_that_is_never_set(n, x):
    flag = rt.constant(False)
    for i in range(n):
        flag = flag & (n > 3)
        x = x * 2
    return x, flag


@becomes("dim cast undefined reduce/2(body: getitem greater where; test: invert) where",
         "twins, which branch, select, where, learn, identity, equal branches, check", "int32[?]")
def flags_of_a_loop(items):
    for item in items:
        if item > 3:
            return item
    return 0


@becomes("cast subtract maximum reduce/1(body: sin)", "twins, share", "int32[]", "float32[]")
def state_that_becomes_the_same(n, x):
    a, b = x, x
    for i in range(n):
        a = rt.sin(a)
        b = a
    return a, b


@stays("no iteration, fold", "int32[]", "int32[]")
def perhaps_no_iteration(n, x):
    i = 0
    while (x < n) & (i < 3):
        x, i = x * 2, i + 1
    return x


@stays("one iteration", "int32[]")
def two_iterations(x):
    for i in rt.range(2):
        x = x + i
    return x


@stays("fixed state", "int32[]", "int32[]")
def state_that_is_fixed_at_last(n, x):
    k = 3
    for i in range(n):
        x = x + k
        k = 4
    return x


@stays("twins", "int32[]", "int32[]")
def state_that_starts_differently(n, x):
    a, b = x, x + 1
    for i in range(n):
        a = x * i
        b = a
    return a, b


@stays("twins", "int32[]", "int32[]")
def flags_that_differ(n, x):
    a, b = False, False
    for i in range(n):
        a = x > i
        b = a & (x > 3)
    return a, b


# Where nodes are.

@becomes("cast subtract maximum multiply reduce/1(body: add)", "hoist", "int32[]", "int32[]", "int32[]")
def a_scalar_moves_out(n, x, y):
    s = 0
    for i in range(n):
        s += x * y
    return s


@becomes("maximum multiply reduce/1(body: reduce/1(body: add))", "hoist, share, cast, identity", "int32[]", "int32[]")
def a_scalar_moves_out_of_both(n, x):
    s = 0
    for i in range(n):
        for j in range(n):
            s += x * x
    return s


@becomes("broadcast_to multiply reduce/1(body: add)", "hoist", "float32[3]", "float32[3]")
def a_vector_moves_out_of_a_loop_that_runs(x, y):
    s = rt.zeros([3])
    for i in rt.range(4):
        s += x * y
    return s


@becomes("reduce_sum while_loop/2(test: less less bitwise_and; body: add add)", "hoist", "float32[]", "float32[3]")
def out_of_a_test(x, y):
    i = 0
    while (i < 3) & (x < rt.reduce_sum(y)):
        i, x = i + 1, x + 1
    return x


@becomes("transpose while_loop/2(test: less; body: matmul add)", "hoist", "float32[3,3]", "int32[]")
def a_view_moves_out(x, i):
    y = x
    while i < 3:
        y, i = y @ rt.transpose(x), i + 100_000_000
    return y


@becomes("broadcast_to reduce/1(body: cast add add)", "element of a range", "float32[3]")
def counts_from_0(x):
    s = rt.zeros([3], rt.int32)
    for k in rt.range(4):
        s = s + k + rt.constant([1, 2, 3])
    return s


@becomes("reduce/1(body: cast multiply add add)", "element of a range", "int32[]")
def counts_by_steps(x):
    s = x
    for k in rt.range(7, 22, 3):
        s = s + k
    return s


@stays("element of a range", "int32[]")
def of_fewer_elements_the_index_may_be_wrong(i):
    s = 0
    numbers = rt.range(3)
    for k in range(rt.constant(4)):
        if i > 5:
            s += numbers[k]
    return s


@stays("element of a range", "int32[]")
def at_an_index_that_does_not_count(i):
    return rt.range(3)[i]


@stays("element of a range", "int32[]")
def of_floats_the_sum_is_rounded(i):
    s = 0.0
    for k in rt.range(0.0, 1.0, 0.1):
        s += k
    return s


@stays("hoist", "int32[]", "int32[]", "int32[]")
def what_may_raise_does_not_move(n, x, y):
    s = 0
    for i in range(n):
        s += x // y
    return s


@stays("hoist", "int32[]", "float32[3]", "float32[3]")
def a_vector_does_not_move_out_of_a_loop_that_may_not_run(n, x, y):
    s = rt.zeros([3])
    for i in range(n):
        s += x * y
    return s


@stays("hoist", "float32[3,1]", "float32[1,3]")
def what_makes_more_elements_does_not_move(x, y):
    s = rt.zeros([3, 3])
    for i in rt.range(4):
        s += x * y
    return s


@stays("hoist", "float32[?]", "float32[?]")
def shapes_that_may_not_fit_do_not_move(x, y):
    s = rt.zeros([])
    for i in rt.range(4):
        s += rt.reduce_sum(x * y)
    return s


@stays("hoist", "int32[]", "bool[]", "int32[]")
def nothing_moves_out_of_a_branch(n, c, x):
    s = 0
    for i in range(n):
        if c:
            s += x * x
    return s


@stays("hoist", "int32[]")
def random_numbers_do_not_move(n):
    s = rt.constant(0.0)
    for i in range(n):
        s += rt.random.uniform([])
    return s


# What nobody uses.

@becomes("cast subtract maximum reduce/1(body: multiply)", "dead results", "int32[]", "int32[]")
def state_that_nobody_reads(n, x):
    a, b = x, x
    for i in range(n):
        a, b = a * 2, b * 3
    return a


@becomes("cast subtract maximum reduce/2(body: add multiply)", "dead results", "int32[]", "int32[]")
def state_that_other_state_reads(n, x):
    a, b, c = x, x, x
    for i in range(n):
        a, b, c = a + b, b * 2, c + a
    return a


@becomes("cond/1(true: multiply; false:)", "dead results", "bool[]", "int32[]")
def results_that_nobody_reads(c, x):
    y = x
    if c:
        x, y = x * 2, x * 3
    return rt.where(rt.constant(True), x, y) if c is None else x


@stays("dead results", "int32[]", "int32[]")
def state_that_may_raise(n, x):
    a, b = x, x
    for i in range(n):
        a, b = a * 2, x // b
    return a


@stays("dead results", "int32[]", "int32[]")
def state_that_is_printed(n, x):
    a, b = x, x
    for i in range(n):
        a, b = a * 2, b + 1
        print(b)
    return a


@stays("dead results", "int32[]", "int32[]")
def state_that_the_test_reads(n, x):
    a, b = x, x
    while (b < n) & (b > n - 5):
        a, b = a * 2, b + 1
    return a


@stays("dead code", "int32[]", "int32[]")
def a_quotient_that_nobody_uses(x, y):
    return (x // y) * 0 + x


def names(log: Sequence[Fired]) -> set[str]:
    return {fired.rule for fired in log}


@pytest.mark.parametrize(("fn", "specs", "rules", "expected"), CASES, ids=lambda x: getattr(x, "__name__", None))
def test_it_fires(fn: Function, specs: tuple[str, ...], rules: tuple[str, ...], expected: str) -> None:
    graph, log = traced(fn, *specs), list[Fired]()
    new = only(graph, *rules, log=log)
    assert rules[0] in names(log) or rules[0] == "learn"
    assert outline(new) == expected
    if rules[0] == "learn":
        assert outline(only(graph, *rules[1:])) != expected
    same_runs(graph, new, counts=True)
    same_runs(graph, rewrite(graph), counts=True)


@pytest.mark.parametrize(("fn", "specs", "rules"), NEVER, ids=lambda x: getattr(x, "__name__", None))
def test_it_holds_off(fn: Function, specs: tuple[str, ...], rules: tuple[str, ...]) -> None:
    graph, log = traced(fn, *specs), list[Fired]()
    new = only(graph, *rules, log=log)
    assert rules[0] not in names(log)
    assert outline(new) == outline(graph)
    if "random" not in str(graph):
        same_runs(graph, rewrite(graph), counts=True)


def test_every_rule_of_control_flow_has_both_cases() -> None:
    ours = {name for name, rule in RULES.items() if rule.function is None} | {"hoist", "check", "element of a range"}
    elsewhere = {"known scalars", "reduce last", "custom gradient"}  # test_rewrite.py, test_custom_gradient.py
    assert {rules[0] for _, _, rules, _ in CASES} >= ours - elsewhere - {"dead code"}
    assert {rules[0] for _, _, rules in NEVER} >= ours - elsewhere - {"learn"}


# Errors and effects.

def loop_over(fn: Function, count: Any) -> Graph:
    """for i in range(count): s += fn(x, i)"""
    graph = Graph("f")
    with tracing(graph):
        n, x = add_input(graph, TensorType(t.int32), "n"), add_input(graph, TensorType(t.int32, (2,)), "x")
        body = Graph("body", graph)
        with tracing(body):
            i, s = add_input(body, TensorType(t.int32), "i"), add_input(body, TensorType(t.int32), "s")
            set_outputs(body, [s + fn(x, i)])
        set_outputs(graph, apply(REDUCE, n if count is None else convert_to_tensor(count), 0, body=body))
    return graph


@pytest.mark.parametrize("fn", [
    lambda x, i: x[0] // x[1],
    lambda x, i: x[x[0]],
    lambda x, i: rt.gather(x, x[1]),
    lambda x, i: rt.reduce_sum(rt.reshape(x, [x[0], 1])),
    lambda x, i: rt.pow(x[0], x[1]),
], ids=["division", "index", "gather", "reshape", "pow"])
def test_what_raises_only_raises_where_it_is_reached(fn: Function) -> None:
    for count in (None, 0, 1, 3):
        graph = loop_over(fn, count)
        new = rewrite(graph)
        new.verify()
        for n in (0, 2):
            for x in ([0, 0], [5, 0], [0, 5], [2, 1], [1, -1]):
                arguments = np.int32(n), np.array(x, np.int32)
                assert outcome(graph, arguments) == outcome(new, arguments)


def test_it_is_what_ops_declare_that_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no op declared its errors, a division would leave the loop, and an unused one the graph."""
    loop, unused = loop_over(lambda x, i: x[0] // x[1], None), traced(a_quotient_that_nobody_uses, "int32[]", "int32[]")
    monkeypatch.setattr(Node, "errors", property(lambda node: ()))
    assert outcome(loop, (np.int32(0), np.zeros(2, np.int32))) != outcome(
        rewrite(loop), (np.int32(0), np.zeros(2, np.int32)))
    assert outcome(unused, (np.int32(1), np.int32(0))) != outcome(rewrite(unused), (np.int32(1), np.int32(0)))


def test_what_is_known_by_now_raises_only_where_it_is_reached() -> None:
    """With the branch that is taken the shapes are known, and do not fit: that is an error of the run."""
    def fails(x, n):
        if x == x:
            y = rt.ones([3])
        else:
            y = rt.ones([4])
        if n > 0:
            print("reached")
            y = y + rt.ones([4])
        return rt.reduce_sum(y)

    graph = traced(fails, "int32[]", "int32[]")
    new = rewrite(graph)
    new.verify()
    assert outline(new) == "broadcast_to greater cond/1(true: print broadcast_to cast add; false:) reduce_sum"
    same_runs(graph, new)
    assert outcome(new, (np.int32(1), np.int32(1)))[1] == "reached\n"


def test_the_line_of_an_error_is_the_users() -> None:
    @rt.function
    def fails(x, y):
        a = x + 0
        return a // y

    line = fails.python_function.__code__.co_firstlineno + 3
    with pytest.raises(rt.errors.DivisionByZeroError, match=rf"{__file__}:{line}"):
        fails(rt.constant(1), rt.constant(0))


def test_an_endless_loop_is_not_dropped() -> None:
    def endless(x):
        y = x
        while y > 0:
            y = y | 1
        return rt.where(rt.constant(True), x, y)

    assert outline(rewrite(traced(endless, "int32[]"))) == "while_loop/1(test: greater; body: bitwise_or)"


def test_the_graph_that_was_traced_stays() -> None:
    @rt.function
    def f(x):
        return (x + 0) * 1

    trace = f.get_concrete_function(rt.TensorSpec([], rt.int32))
    assert outline(trace.graph) == "add multiply" and outline(trace.optimized) == ""
    assert trace(rt.constant(3)).numpy() == 3


def test_captures_of_the_function_of_a_dataset_stay() -> None:
    """It is called with values for all of its captures, also those that are known or not used any more."""
    one, ten = rt.constant(1), rt.constant([10])
    eager = rt.data.Dataset.range(3).map(lambda v: rt.cast(v, rt.int32) * one + ten[0])
    assert [x.numpy() for x in eager] == [10, 11, 12]

    @rt.function
    def f(x, y):
        scale = rt.constant(2)
        total = x
        for item in rt.data.Dataset.range(4).map(lambda v: rt.cast(v, rt.int32) * scale + y * 0 + x * 0):
            total += item
        return total

    assert f(rt.constant(1), rt.constant(7)).numpy() == 13
    assert f.python_function(rt.constant(1), rt.constant(7)).numpy() == 13


# Every second program.

PROGRAMS = [program for program in load().values() if program.applies("staged")][::2]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_programs(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are right before and after, by all rules and by each alone; and the program does what it did without."""
    def checked(graph: Graph, **options: bool) -> Graph:
        graph.verify()
        text = str(graph)
        ops = {node.op.name for node in graph.walk()}
        for rule in RULES.values():
            if rule.ops and ops.isdisjoint(rule.ops):  # it is not tried on anything
                continue
            fired: list[Fired] = []
            alone = rewrite(graph, [rule], fired, **options)
            if fired:
                alone.verify()
        new = rewrite(graph, **options)
        new.verify()
        again = rewrite(new, **options)
        again.verify()
        assert str(graph) == text and len(list(again.walk())) <= len(list(new.walk()))
        return new

    def of_dataset(graph: Graph, **options: bool) -> Graph:
        traced.clear()  # it has the function of the dataset as it was rewritten
        return how(graph, **options)

    outcomes, traced = [], list[Any]()
    hows: tuple[Any, Any] = checked, lambda graph, **options: graph
    for how in hows:
        monkeypatch.setattr(concrete, "rewrite", how)
        monkeypatch.setattr(elements, "rewrite", of_dataset)
        rt.random.set_seed(7)
        if not traced:
            traced.append(rt.function(program.fn, executor="numpy"))
        function = Again(traced[0], "numpy", optimized=False)
        outcomes.append([run_traced(function, arguments) for arguments in program.arguments])
    for got, expected in zip(*outcomes, strict=True):
        assert difference(expected, got, exact=False) is None
        assert repr(_numbers(expected.result)) == repr(_numbers(got.result))
        assert type(expected.error) is type(got.error) and str(expected.error) == str(got.error)


def _numbers(value: Any) -> Any:
    """Results to the last bit."""
    if isinstance(value, (list, tuple)):
        return [_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return value.numpy().tolist() if hasattr(value, "numpy") else type(value).__name__


# Work.

def chain(length: int) -> Graph:
    graph = Graph("chain")
    with tracing(graph):
        x = add_input(graph, TensorType(t.float32, (3,)), "x")
        y = x
        for i in range(length // 2):
            y = rt.sin(y) * x
        set_outputs(graph, [y])
    return graph


def test_its_work_is_in_proportion_to_the_nodes() -> None:
    short, long = (lines_of(lambda: rewrite(chain(length))) for length in (1_000, 4_000))
    assert long < 4.2 * short


def test_loops_in_loops_are_not_walked_twice_for_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an inner loop leaves as it is makes that fixed in each loop around: these are built again, one by one."""
    visit, visits = Builder.visit, 0

    def counting(self: Builder, node: Any) -> None:
        nonlocal visits
        visits += 1
        visit(self, node)

    monkeypatch.setattr(Builder, "visit", counting)

    def nested(depth: int, graph: Graph, x: Any, k: Any) -> Any:
        if not depth:
            return rt.sin(x) * k, k * 1
        body = Graph("body", graph)
        with tracing(body):
            add_input(body, TensorType(t.int32), "i")
            state = add_input(body, TensorType(t.float32), "x"), add_input(body, TensorType(t.float32), "k")
            set_outputs(body, nested(depth - 1, body, *state))
        return apply(REDUCE, rt.constant(3), x, k, body=body)

    def count(depth: int) -> int:
        nonlocal visits
        graph = Graph("f")
        with tracing(graph):
            x = add_input(graph, TensorType(t.float32), "x")
            set_outputs(graph, nested(depth, graph, x, convert_to_tensor(2.0)))
        visits, log = 0, list[Fired]()
        new = rewrite(graph, log=log)
        new.verify()
        assert [fired.rule for fired in log].count("fixed state") == depth
        assert outline(new).count("reduce/1") == depth
        return visits

    assert count(16) < 4 * 6 * count(4)  # in the square of the depth, not in a power of 2

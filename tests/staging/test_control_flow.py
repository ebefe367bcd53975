"""Control flow by hand (`rt.cond`, `rt.while_loop`, `rt.map_fn`, ...): eager and staged give the same."""
from __future__ import annotations

import functools

import numpy as np
import pytest

import runtime as rt
from runtime.backends.numpy import run
from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.trace import add_input, apply, set_outputs, tracing
from runtime.core.types import ListType, TensorType
from runtime.errors import DTypeError, GraphError, ShapeError, StagingError
from runtime.ops.control import COND, REDUCE, UNDEFINED, WHILE_LOOP, join_types
from runtime.staging.control_flow import scan_with_carry
from tests.traced_once import on

INT = TensorType(t.int32)


def plain(value):
    if isinstance(value, (list, tuple)):
        return type(value)(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.numpy().tolist() if hasattr(value, "numpy") else value


def both(fn, *args):
    """The result, which is the same eager and staged."""
    args = [rt.constant(a) for a in args]
    eager, staged = plain(fn(*args)), plain(rt.function(fn)(*args))
    assert eager == staged
    return eager


# Branches.

def test_cond():
    def f(x):
        return rt.cond(x > 0, lambda: (x, 1), lambda: (x - 1, 2))

    assert both(f, 3) == (3, 1)
    assert both(f, -3) == (-4, 2)
    assert rt.cond(True, lambda: 1, lambda: 2) == 1


@pytest.mark.parametrize("fns", [(None, lambda: 1), (lambda: 1, 3)])
def test_cond_needs_functions(fns):
    with pytest.raises(TypeError, match="must be callable"):
        rt.cond(True, *fns)


def test_cond_of_different_structures():
    @rt.function
    def f(x):
        return rt.cond(x > 0, lambda: x, lambda: (x, x))

    with pytest.raises(StagingError, match=r"the value of this expression is int32\[\] if the condition holds"):
        f(rt.constant(1))


def test_case():
    def f(x):
        return rt.case([(x < 0, lambda: -1), (x < 10, lambda: x * 2)], default=lambda: 100)

    assert [both(f, v) for v in (-5, 5, 50)] == [-1, 10, 100]


def test_case_without_default():
    def f(x):
        return rt.case([(x < 0, lambda: x)])

    assert both(f, -5) == -5
    for call in (f, rt.function(f)):
        with pytest.raises(rt.errors.InvalidArgumentError, match="case: no predicate holds, and there is no default"):
            call(rt.constant(5))


def test_case_exclusive():
    def f(x):
        return rt.case([(x < 0, lambda: 1), (x < 10, lambda: 2)], exclusive=True, default=lambda: 3)

    assert both(f, 5) == 2
    for call in (f, rt.function(f)):
        with pytest.raises(rt.errors.InvalidArgumentError, match="case: several predicates hold"):
            call(rt.constant(-5))


@pytest.mark.parametrize("fns", [
    [lambda: 10, lambda: 11, lambda: 12],
    {2: lambda: 12, 0: lambda: 10, 1: lambda: 11},
    [(1, lambda: 11), (0, lambda: 10), (2, lambda: 12)],
])
def test_switch_case(fns):
    def f(i):
        return rt.switch_case(i, fns)

    assert [both(f, i) for i in (0, 1, 2, 7, -1)] == [10, 11, 12, 12, 12]


def test_switch_case_default():
    def f(i):
        return rt.switch_case(i, [lambda: 10], default=lambda: -1)

    assert [both(f, i) for i in (0, 1, -1)] == [10, -1, -1]
    with pytest.raises(ValueError, match="branch_fns must hold at least one function"):
        rt.switch_case(0, [])


# Loops.

def test_while_loop():
    def f(n):
        return rt.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0))

    assert both(f, 5) == (5, 10)
    assert both(f, 0) == (0, 0)


def test_while_loop_of_one_variable():
    def f(n):
        listed = rt.while_loop(lambda i: i < n, lambda i: i + 2, [0])
        return listed, rt.while_loop(lambda i: i < n, lambda i: [i + 1], 0)

    assert both(f, 5) == ([6], 5)


def test_while_loop_of_structures():
    def f(n):
        return rt.while_loop(
            lambda s, i: i < n, lambda s, i: ({"a": s["a"] * 2, "b": (s["a"],)}, i + 1), ({"a": 1, "b": (0,)}, 0))

    assert both(f, 3) == ({"a": 8, "b": (4,)}, 3)


@pytest.mark.parametrize("way", [lambda f: f, rt.function], ids=["eager", "traced"])
@pytest.mark.parametrize(("body", "kind", "text"), [
    (lambda i, x: i + 1, ValueError, "the structures differ: 2 elements and 1"),
    (lambda i, x: (i + 1, x, x), ValueError, "the structures differ: 2 elements and 3"),
    (lambda i, x: (i + 1, (x,)), ValueError, "is nested"),
])
def test_a_body_of_while_loop_that_returns_something_else(body, kind, text, way):
    place = rf"test_control_flow.py:{body.__code__.co_firstlineno}"
    with pytest.raises(kind, match=rf"(?s)test_control_flow.py:\d+: the body of while_loop, '<lambda>' \(.*{place}\), "
                                   rf"does not return what loop_vars has: .*{text}"):
        way(lambda n: rt.while_loop(lambda i, x: i < n, body, [0, 1.0]))(rt.constant(3))


def test_while_loop_limits():
    def f(n):
        return rt.while_loop(lambda i: i < n, lambda i: i + 1, [0], maximum_iterations=3)

    assert both(f, 10) == [3]
    assert both(f, 2) == [2]


def test_while_loop_shape_invariants():
    def f(x):
        return rt.while_loop(
            lambda x: rt.shape(x)[0] < 10, lambda x: (rt.concat([x, x], 0),), (x,),
            shape_invariants=(rt.TensorShape([None]),))

    assert both(f, [1, 2]) == ([1, 2] * 8,)


def test_while_loop_names_the_variable():
    @rt.function
    def f(n):
        return rt.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, rt.cast(h, rt.float32)), (0, n))

    with pytest.raises(StagingError, match=r"'h' is int32\[\] before the loop but float32\[\] after one iteration"):
        f(rt.constant(1))


def test_while_loop_arguments():
    with pytest.raises(TypeError, match="'cond' must be callable"):
        rt.while_loop(3, lambda: 1, [0])
    with pytest.raises(ValueError, match="'loop_vars' must be provided"):
        rt.while_loop(lambda: True, lambda: 1, [])


# Over rows.

def test_map_fn():
    def f(x):
        return rt.map_fn(lambda row: row * 2 + 1, x)

    assert both(f, [1, 2, 3]) == [3, 5, 7]
    assert both(f, [[1.0], [2.0]]) == [[3.0], [5.0]]


def test_map_fn_of_structures():
    def f(x, y):
        return rt.map_fn(lambda pair: {"sum": pair[0] + pair[1], "first": pair[0]}, (x, y))

    assert both(f, [1, 2], [10, 20]) == {"sum": [11, 22], "first": [1, 2]}


def test_map_fn_of_no_rows():
    result = rt.map_fn(lambda row: rt.reduce_sum(row), rt.zeros([0, 3]))
    assert result.shape == (0,)


def test_map_fn_of_unknown_length():
    f = rt.function(lambda x: rt.map_fn(lambda row: row + 1, x), input_signature=[rt.TensorSpec([None, 2])])
    assert f(rt.zeros([3, 2])).shape == (3, 2)
    assert f(rt.zeros([0, 2])).shape == (0, 2)


def test_map_fn_keeps_a_known_length():
    graph = rt.function(lambda x: rt.map_fn(lambda row: row + 1, x)).get_concrete_function(rt.TensorSpec([4, 2])).graph
    assert str(graph.outputs[0].type) == "float32[4,2]"


def test_scan():
    def f(x):
        return (rt.scan(lambda a, r: a + r, x), rt.scan(lambda a, r: a + r, x, initializer=10),
                rt.scan(lambda a, r: a + r, x, reverse=True), rt.scan(lambda a, r: a - r, x, 0, reverse=True))

    assert both(f, [1, 2, 4]) == ([1, 3, 7], [11, 13, 17], [7, 6, 4], [-7, -6, -4])


def test_scan_of_a_structure():
    def f(x):
        return rt.scan(lambda a, r: (a[0] + r, a[1] * r), x, (0, 1))

    assert both(f, [1, 2, 3]) == ([1, 3, 6], [1, 2, 6])


def test_folds():
    def f(x):
        return (rt.foldl(lambda a, r: a - r, x), rt.foldr(lambda a, r: a - r, x),
                rt.foldl(lambda a, r: a * 10 + r, x, 0), rt.foldr(lambda a, r: a * 10 + r, x, 0))

    assert both(f, [1, 2, 3]) == (-4, 0, 123, 321)


@pytest.mark.parametrize("call, text", [
    (lambda: rt.map_fn(lambda x: x, rt.constant(1)), "map_fn runs over the rows of tensors, and a scalar has none"),
    (lambda: rt.map_fn(lambda x: x, []), "map_fn needs at least one tensor to run over"),
    (lambda: rt.map_fn(lambda x: x, (rt.zeros([2]), rt.zeros([3]))), "map_fn runs over tensors of 2 and 3 rows"),
    (lambda: rt.foldl(lambda a, x: a, rt.zeros([0])), "foldl of no rows needs an initializer"),
])
def test_rows_that_are_none(call, text):
    with pytest.raises(rt.errors.InvalidArgumentError, match=text):
        call()


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("known", [None, 3])
@pytest.mark.parametrize("run", [
    lambda x: rt.map_fn(lambda r: r[0] + r[1], x), lambda x: rt.scan(lambda a, r: a + r[0] + r[1], x, 0.0),
    lambda x: rt.foldl(lambda a, r: a + r[0] + r[1], x, 0.0), lambda x: rt.foldr(lambda a, r: a + r[0] + r[1], x, 0.0),
])
def test_different_numbers_of_rows_that_only_the_run_knows(run, known, executor):
    specs = [rt.TensorSpec([size], rt.float32) for size in (None, known)]
    traced = rt.function(lambda x, y: run((x, y)), executor=executor, input_signature=specs)
    assert traced([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).numpy().max() <= 12
    for size in 2, 4:
        with pytest.raises(rt.errors.InvalidArgumentError, match=f"over tensors of (3 and {size}|{size} and 3) rows"):
            traced([0.0] * size, [1.0, 2.0, 3.0])


# The ops.

def loop_graph(op=WHILE_LOOP, limited=False, with_test=True):
    graph = Graph("g")
    with tracing(graph):
        n = add_input(graph, INT, "n")
        test, body = Graph("test", parent=graph), Graph("body", parent=graph)
        with tracing(test):
            i = add_input(test, INT, "i")
            set_outputs(test, [i < n])
        with tracing(body):
            if op is REDUCE:
                k = add_input(body, INT, "k")
            i = add_input(body, INT, "i")
            set_outputs(body, [i + (k if op is REDUCE else 1)])
        params = {"limited": True} if limited else {}
        if with_test:
            params["test"] = test
        operands = [rt.constant(5), n * 0] if op is REDUCE or limited else [n * 0]
        set_outputs(graph, apply(op, *operands, body=body, **params))
    graph.verify()
    return graph


def test_while_op():
    assert run(loop_graph(), [np.int32(7)]) == (7,)
    assert run(loop_graph(limited=True), [np.int32(7)]) == (5,)


def test_reduce_op():
    assert run(loop_graph(REDUCE, with_test=False), [np.int32(3)]) == (10,)
    assert run(loop_graph(REDUCE), [np.int32(3)]) == (3,)  # 0 + 0, + 1, + 2: left as soon as it is not below 3


def test_reduce_op_over_a_stream():
    class Pairs:
        def stream(self, sources):
            yield from zip(sources[0], sources[1], strict=True)

    graph = Graph("g")
    with tracing(graph):
        a, b = (add_input(graph, TensorType(t.int32, (None,)), n) for n in "ab")
        body = Graph("body", parent=graph)
        with tracing(body):
            x, y, s = (add_input(body, INT, n) for n in "xys")
            set_outputs(body, [s + x * y])
        set_outputs(graph, apply(REDUCE, a, b, rt.constant(0), body=body, stream=Pairs(), sources=2))
    graph.verify()
    assert run(graph, [np.int32([1, 2]), np.int32([3, 4])]) == (11,)


def test_rules_refuse():
    graph = Graph("g")
    with tracing(graph):
        x = add_input(graph, TensorType(t.float32), "x")

        def branch(value):
            sub = Graph("branch", parent=graph)
            with tracing(sub):
                set_outputs(sub, [value])
            return sub

        with pytest.raises(DTypeError, match=r"cond takes a bool scalar as its condition, not float32\[\]"):
            apply(COND, x, true=branch(1), false=branch(1))
        with pytest.raises(DTypeError, match=r"cond: the branches give weak int32\[\] and weak float32\[\]"):
            apply(COND, x > 0, true=branch(1), false=branch(1.0))
        body, test = Graph("body", parent=graph), Graph("test", parent=graph)
        with tracing(body):
            set_outputs(body, [add_input(body, TensorType(t.float32, (2,)), "i")])
        with tracing(test):
            add_input(test, TensorType(t.float32, (2,)), "i")
            set_outputs(test, [True])
        with pytest.raises(ShapeError, match=r"while_loop: an operand is float32\[\], but the state is float32\[2\]"):
            apply(WHILE_LOOP, x, test=test, body=body)
        with pytest.raises(DTypeError, match=r"reduce takes an integer scalar as its number of iterations, not float"):
            apply(REDUCE, x, x, body=body)


def test_verify_finds_a_state_that_changes():
    graph = loop_graph()
    body = graph.nodes[-1].params["body"]
    body.inputs[0].type = TensorType(t.int32, (2,))
    with pytest.raises(GraphError):
        graph.verify()


def test_join_types():
    a, b = TensorType(t.int32, (2, 3)), TensorType(t.int32, (2, 4))
    assert str(join_types(a, b)) == "int32[2,?]"
    assert join_types(a, TensorType(t.int32, (2,))) is None
    assert join_types(a, TensorType(t.int64, (2, 3))) is None
    assert str(join_types(ListType(a), ListType(b))) == "list[int32[2,?]]"
    assert join_types(ListType(a), a) is None


def test_undefined():
    graph = Graph("g")
    with tracing(graph):
        set_outputs(graph, [apply(UNDEFINED, type=TensorType(t.float32, (2, None)))])
    graph.verify()
    assert run(graph, [])[0].shape == (2, 0)


# Functions that are passed by name convert, as callees do.

def flipped(row):
    if rt.reduce_sum(row) > 0:
        return row
    return -row


def greater(a, b):
    if a > b:
        return a
    return b


def counted():
    total = rt.constant(0)
    for i in rt.range(4):
        total += i
    return total


def none():
    return rt.constant(-1)


def is_below_3(i, total):
    if i < 3:
        return True
    return False


def doubled_late(i, total):
    if i > 1:
        total *= 2
    return i + 1, total + 1


class Bound:
    def flipped(self, row):
        if rt.reduce_sum(row) > 0:
            return row
        return -row


ROWS = [[1, 2], [-3, 1]]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    lambda x: rt.map_fn(flipped, x),
    lambda x: rt.map_fn(Bound().flipped, x),
    lambda x: rt.map_fn(functools.partial(greater, 0), x[0]),
    lambda x: rt.scan(greater, x[:, 0]),
    lambda x: rt.foldl(greater, x[:, 0]),
    lambda x: rt.foldr(greater, x[:, 0]),
    lambda x: rt.cond(x[0, 0] > 0, counted, none),
    lambda x: rt.switch_case(x[0, 0], [none, counted]),
    lambda x: rt.case([(x[0, 0] > 5, none)], default=counted),
    lambda x: rt.while_loop(is_below_3, doubled_late, (x[0, 0], x[1, 1]))[1],
    lambda x: rt.nest.map_structure(flipped, [x[0], x[1]])[1],
])
def test_functions_passed_by_name_convert(fn, executor):
    x = rt.constant(ROWS)
    assert plain(on(executor, fn)(x)) == plain(fn(x))


def always_raises(x):
    if rt.reduce_sum(x) > 0:
        raise ValueError("positive")
    raise KeyError("not positive")


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [
    lambda x: rt.map_fn(always_raises, x),
    lambda x: rt.scan(lambda acc, row: always_raises(row), x),
    lambda x: scan_with_carry(lambda acc, row: (acc, always_raises(row)), (), x),
])
def test_a_function_that_always_raises(fn, executor):
    for spec in rt.TensorSpec([2, 3]), rt.TensorSpec([None, 3]):
        f = rt.function(fn, executor=executor, input_signature=[spec])
        with pytest.raises(ValueError, match="positive"):
            f(rt.ones([2, 3]))
        with pytest.raises(KeyError, match="not positive"):
            f(rt.zeros([2, 3]))
    with pytest.raises(rt.errors.InvalidArgumentError, match="no rows"):
        on(executor, lambda x: rt.map_fn(always_raises, x))(rt.ones([0, 3]))


def item(a, n):
    if n > 2:
        a[n + 3]
    return n


def item_in_a_loop(a, n):
    for j in range(n):
        if j > 2:
            w = 0
            while w < 6 and a[w + j] > 3:
                w += 1
    return n


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [item, item_in_a_loop])
def test_a_branch_that_does_nothing_but_raise(fn, executor):
    a, f = np.arange(6.0), on(executor, fn)
    assert f(a, rt.constant(2)).numpy() == fn(a, 2) == 2
    for n in f, fn:
        with pytest.raises(IndexError):
            n(a, 6) if n is fn else n(a, rt.constant(6))

"""Control flow on tensors becomes graph: every rule, and the full text of every error."""
from __future__ import annotations

import dataclasses
import itertools
import linecache
import signal
import sys
import threading
import traceback
import types
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
import runtime.staging.backend  # which stages what `traced` traces by hand
from autograph.core.backend import Checkpoint
from autograph.core.unwinding import Restage
from autograph.state.statement_state import staged
from runtime.backends.numpy import run
from runtime.core.graph import Graph
from runtime.core.pruning import prune
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.errors import StagingError
from runtime.staging.aliases.body_tracing import Unreachable
from runtime.staging.control import loops
from tests.traced_once import on

Point = namedtuple("Point", "x y")


def traced(fn, *specs):
    """The graph of the converted `fn` for inputs of these specs, traced by hand."""
    graph = Graph(fn.__name__)
    with tracing(graph):
        out = ag.convert(fn)(*[add_input(graph, spec.type) for spec in specs])
        set_outputs(graph, out if isinstance(out, tuple) else (out,))
    graph.verify()
    prune(graph)
    graph.verify()
    return graph


def spec(dtype="float32", *shape):
    return rt.TensorSpec(shape, dtype)


def same(fn, *calls):
    """Staged calls give what Python gives."""
    staged = rt.function(fn)
    for args in calls:
        expected = fn(*args)
        got = staged(*[rt.constant(a) for a in args])
        assert plain(got) == plain(expected), args
    return staged


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value.numpy().tolist() if hasattr(value, "numpy") else value


def nodes(graph, op):
    return [node for node in graph.walk() if node.op.name == op]


def error_of(fn, *args, kind=StagingError):
    with pytest.raises(kind) as caught:
        rt.function(fn)(*args)
    return str(caught.value)


def message(fn, offset, what, remedy, col=None):
    """The text of an error at line `offset` after the `def` of `fn`."""
    line = fn.__code__.co_firstlineno + offset
    source = linecache.getline(__file__, line).rstrip()
    col = len(source) - len(source.lstrip()) if col is None else col
    gutter = f"    {line} | "
    return "\n".join([f"{__file__}:{line}: {what}", gutter + source, " " * (len(gutter) + col) + "^", remedy])


def line(fn, offset):
    return fn.__code__.co_firstlineno + offset


# Branches.

def test_cond_joins_weak_with_strong():
    def f(x):
        if x > 0:
            y = 1
        else:
            y = x
        return y

    graph = traced(f, spec())
    assert str(graph.outputs[0].type) == "float32[]"
    assert run(graph, [np.float32(3)]) == (1.0,)
    assert run(graph, [np.float32(-3)]) == (-3.0,)


def test_numbers_alone_stay_weak():
    def f(x):
        if x > 0:
            y = 1
        else:
            y = 2.5
        return y

    assert str(traced(f, spec()).outputs[0].type) == "weak float32[]"
    same(f, (1.0,), (-1.0,))


def test_shapes_that_differ_join_to_unknown():
    def f(x):
        if rt.reduce_sum(x) > 0:
            y = rt.concat([x, x], 0)
        else:
            y = x
        return y

    graph = traced(f, spec("float32", 2))
    assert str(graph.outputs[0].type) == "float32[?]"
    assert run(graph, [np.ones(2, np.float32)])[0].shape == (4,)


def test_what_both_branches_leave_alone_is_no_result():
    def f(x, y):
        name, k = "n", 3
        if x > 0:
            z = y
            name, k = "n", 3
        else:
            z = y
        assert name == "n"
        return rt.reduce_sum(z) * len(range(k))

    graph = traced(f, spec(), spec("float32", 2))
    assert not nodes(graph, "cond")


def test_constant_predicate_is_python():
    def f(x):
        if rt.constant(True):
            return x
        return "never"

    assert not nodes(traced(f, spec()), "cond")


def test_structures_are_joined():
    def f(x):
        d = {"a": x, "n": (1, "s"), "p": Point(x, 2)}
        if x > 0:
            d = {"a": x * 2, "n": (5, "s"), "p": Point(1, 3)}
        return d

    same(f, (2.0,), (-2.0,))


def test_dataclass_is_a_structure():
    @dataclasses.dataclass(frozen=True)
    class State:
        h: object
        name: str

    def f(x):
        s = State(x, "s")
        if x > 0:
            s = State(x + 1, "s")
        assert s.name == "s"
        return s.h

    same(f, (1.0,), (-1.0,))


def test_lists_keep_their_identity():
    def f(x):
        items = [x, 1.0]
        alias = items
        table = {"k": x}
        other = table
        if x > 0:
            items[0] = x * 2
            table["k"] = x * 3
        assert items is alias and table is other
        return items[0], alias[0], other["k"], items

    same(f, (2.0,), (-2.0,))


def test_branch_does_not_touch_the_list_outside():
    outside = [1]

    def f(x):
        items = outside
        if x > 0:
            items = [*items, 2]
            items.append(3)
        return len(items)

    same(f, (1,), (-1,))
    assert outside == [1]


def test_lists_of_different_lengths_become_staged():
    def f(x):
        items = [x]
        if x > 0:
            items.append(x * 2)
            items.append(7)
        return items

    same(f, (1.0,), (-1.0,))


def test_function_chosen_by_a_tensor():
    def f(x):
        if x > 0:
            def g(y):
                return y + 1
        else:
            def g(y):
                return y - 1
        return g(x) * g(2)

    same(f, (3,), (-3,))


def test_nested_python_values_survive():
    def f(x):
        k = 2
        if x > 0:
            if x > 10:
                k = 2
            x = x + 1
        total = 0
        for i in range(k):
            total += x * i
        return total

    graph = traced(f, spec("int32"))
    assert not nodes(graph, "while_loop") and not nodes(graph, "reduce")
    same(f, (1,), (11,), (-1,))


# Unbound and None.

def test_unbound_in_one_branch():
    def f(x):
        if x > 0:
            y = x * 2
        return y

    staged = rt.function(f)
    assert staged(rt.constant(2.0)) == 4.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        staged(rt.constant(-2.0))
    assert staged(rt.constant(3.0)) == 6.0


def test_unbound_is_checked_only_where_it_is_read():
    def f(x):
        if x > 0:
            y = x * 2
        if x > 1:
            return y
        return x

    staged = same(f, (2.0,), (0.5,), (-1.0,))
    graph = staged.get_concrete_function(spec()).graph
    assert len(nodes(graph, "check_bound")) == 1


def test_bound_everywhere_has_no_bit():
    def f(x):
        if x > 0:
            y = 1
        else:
            y = 2
        return y

    graph = traced(f, spec())
    assert len(nodes(graph, "cond")[0].outputs) == 1


def test_one_check_for_several_uses():
    def f(x):
        if x > 0:
            y = x
        return y + y * y

    assert len(nodes(traced(f, spec()), "check_bound")) == 1


def test_tuple_bound_in_one_branch():
    def f(x):
        if x > 0:
            pair = (x, 2)
        a, b = pair
        return a * b

    staged = rt.function(f)
    assert staged(rt.constant(4.0)) == 8.0
    with pytest.raises(UnboundLocalError, match="'pair'"):
        staged(rt.constant(-4.0))


def test_object_bound_in_one_branch():
    def f(x):
        if x > 0:
            text = "  yes "
        return x if text.strip() == "yes" else -x

    staged = rt.function(f)
    assert staged(rt.constant(4.0)) == 4.0
    with pytest.raises(UnboundLocalError, match="'text'"):
        staged(rt.constant(-4.0))


def test_first_bound_in_a_loop():
    def f(xs):
        for x in xs:
            last = x
        return last

    staged = rt.function(f, input_signature=[spec("int32", None)])
    assert staged(rt.constant([1, 2, 5])) == 5
    with pytest.raises(UnboundLocalError, match="'last'"):
        staged(rt.zeros([0], "int32"))


def test_loop_that_surely_runs_binds():
    def f(xs):
        for x in xs:
            last = x
        return last

    assert not nodes(traced(f, spec("int32", 3)), "check_bound")


def test_none_in_one_branch():
    def f(x):
        y = None
        if x > 0:
            y = x
        if y is None:
            return -1.0
        return y + 1

    same(f, (3.0,), (-3.0,))


def test_none_as_a_result():
    def f(x):
        if x > 0:
            return x
        return None

    same(f, (3.0,), (-3.0,))


def test_none_used_as_a_number():
    def f(x):
        y = None
        if x > 0:
            y = x
        return y + 1

    with pytest.raises(TypeError, match="'y'"):
        rt.function(f)(rt.constant(-1.0))


def test_none_is_false():
    def f(x):
        y = None
        if x > 0:
            y = x - 1
        if y:
            return 1
        return 0

    same(f, (3,), (1,), (-3,))


def test_search_with_none():
    def f(xs):
        best = None
        for x in xs:
            if best is None or x > best:
                best = x
        return best

    same(f, ([1, 5, 3],))


# Raise.

def test_raise_in_a_branch_is_raised_when_reached():
    class Refused(Exception):
        pass

    def f(x):
        if x > 0:
            raise Refused("no", 3)
        return x + 1

    staged = rt.function(f)
    assert staged(rt.constant(-1.0)) == 0.0
    with pytest.raises(Refused) as caught:
        staged(rt.constant(1.0))
    assert caught.value.args == ("no", 3)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, line(f, 2))


def test_failing_branch_fails_only_when_taken():
    def f(x):
        if x > 0:
            y = rt.matmul(x, "nonsense")
        else:
            y = x
        return y

    staged = rt.function(f)
    assert staged(rt.constant(-1.0)) == -1.0
    with pytest.raises(Exception, match=f":{line(f, 2)}: "):
        staged(rt.constant(1.0))


def test_effects_before_a_raise_happen(capsys):
    def f(x):
        if x > 0:
            print("before", x)
            raise ValueError("x")
        return x

    with pytest.raises(ValueError, match="x"):
        rt.function(f)(rt.constant(1))
    assert capsys.readouterr().out == "before 1\n"


def test_both_branches_raise():
    def f(x):
        if x > 0:
            raise ValueError("positive")
        else:
            raise KeyError("negative")

    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, spec().type)
        with pytest.raises(Unreachable, match="both branches of a condition raise, so what follows never runs"):
            ag.convert(f)(x)
    graph.verify()
    for value, kind in ((1, ValueError), (-1, KeyError)):
        with pytest.raises(kind):
            run(graph, [np.float32(value)])


def test_function_that_always_raises():
    @rt.function
    def f(x):
        if x > 0:
            raise ValueError("positive")
        raise KeyError("other")

    @rt.function
    def g(x):
        if x < 10:
            return f(x)
        return x

    for call in (f, g):
        for value, kind in ((1, ValueError), (-1, KeyError)):
            with pytest.raises(kind):
                call(rt.constant(value))
    assert g(rt.constant(10)) == 10


def test_nested_branches_that_both_raise():
    def f(x):
        y = x
        if x > 0:
            if x > 10:
                raise ValueError("big")
            else:
                raise KeyError("small")
            y = undefined_name  # noqa: F821
        return y

    staged = rt.function(f)
    assert staged(rt.constant(-1.0)) == -1.0
    for value, kind in ((20.0, ValueError), (1.0, KeyError)):
        with pytest.raises(kind):
            staged(rt.constant(value))


def test_raise_inside_loops():
    def f(xs):
        total = 0
        for x in xs:
            for y in xs:
                if y < 0:
                    raise ArithmeticError("negative")
                total += x * y
        return total

    staged = same(f, ([1, 2, 3],))
    with pytest.raises(ArithmeticError, match="negative"):
        staged(rt.constant([1, -2, 3]))


def test_body_that_always_raises():
    def f(n):
        i = 0
        while i < n:
            i += 1
            raise ValueError("at once")
        return i

    staged = rt.function(f)
    assert staged(rt.constant(0)) == 0
    with pytest.raises(ValueError, match="at once"):
        staged(rt.constant(1))


def test_assert_is_staged():
    def f(x):
        assert x > 0, f"not positive: {x}"
        return x

    staged = rt.function(f)
    assert staged(rt.constant(1)) == 1
    with pytest.raises(AssertionError, match="not positive: -1"):
        staged(rt.constant(-1))


def test_keyboard_interrupt_while_tracing_is_not_caught():
    def f(x):
        if x > 0:
            raise KeyboardInterrupt
        return x

    with pytest.raises(KeyboardInterrupt):
        rt.function(f)(rt.constant(1))


# Loops.

def test_while_with_weak_counter():
    def f(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    staged = same(f, (27,), (1,))
    graph = staged.get_concrete_function(spec("int32")).graph
    assert str(graph.outputs[0].type) == "weak int32[]"


def test_weak_state_takes_the_dtype_of_the_body():
    def f(xs):
        n, mean = 0, 0
        for x in xs:
            n += 1
            mean += (x - mean) / n
        return mean

    assert str(traced(f, spec("float64", None)).outputs[0].type) == "float64[]"
    assert rt.function(f)(rt.constant([1.0, 2.0, 3.0])) == 2.0


def test_changing_shape_widens():
    def f(x, n):
        i = 0
        while i < n:
            x = rt.concat([x, x], 0)
            i += 1
        return x

    graph = traced(f, spec("float32", 1), spec("int32"))
    assert str(graph.outputs[0].type) == "float32[?]"
    assert run(graph, [np.ones(1, np.float32), np.int32(3)])[0].shape == (8,)


def test_python_values_stay_python_in_loops():
    def f(x):
        k, name, config = 3, "w", {"scale": 2, "w": 1}
        while x < 100:
            for _ in range(k):
                x = x * config["scale"] + config[name]
            k, name = 3, "w"
        return x

    graph = traced(f, spec("int32"))
    (loop,) = nodes(graph, "while_loop")
    assert len(loop.operands) == 1
    same(f, (1,), (200,))


def test_what_the_body_leaves_alone_is_no_state():
    def f(x, w):
        pair = [w, x]
        while x < 10:
            pair[1] = pair[1] + 1
            x = x + 1
        return pair

    graph = traced(lambda x, w: tuple(f(x, w)), spec(), spec())
    (loop,) = nodes(graph, "while_loop")
    assert len(loop.operands) == 2


def test_discarded_traces_leave_nothing():
    def f(x, y):
        n = 0
        total = 0
        while n < 3 * x:
            total += y
            n += 1
        return total

    graph = traced(f, spec("int32"), spec("int32"))
    assert [node.op.name for node in graph.nodes if node.op.name != "const"] == ["while_loop"]
    assert len(nodes(graph, "add")) == 2


def test_nested_loops_are_not_traced_exponentially():
    count = 0

    @ag.do_not_convert
    def seen():
        nonlocal count
        count += 1

    def f(n):
        total = 0
        for a in rt.range(n):
            for b in rt.range(n):
                for c in rt.range(n):
                    for d in rt.range(n):
                        seen()
                        total += a + b + c + d
        return total

    same_as = sum(a + b + c + d for a in range(3) for b in range(3) for c in range(3) for d in range(3))
    assert rt.function(f)(rt.constant(3)) == same_as
    assert count <= 8


def test_break_and_continue_and_else():
    def f(xs):
        total = 0
        for x in xs:
            if x == 0:
                continue
            if x < 0:
                break
            total += x
        else:
            total += 1000
        return total

    same(f, ([1, 0, 3],), ([1, -1, 5],), ([0, 0, 0],))


def test_zero_iterations_keep_the_start():
    def f(n):
        total = 7
        for i in rt.range(n):
            total += i
        return total

    assert rt.function(f)(rt.constant(0)) == 7


def test_known_empty_loop_is_no_node():
    def f(xs):
        total = 7
        for x in xs:
            total += x
        return total

    assert not nodes(traced(f, spec("int32", 0)), "reduce")


def test_break_in_a_python_loop():
    def f(x):
        for i in range(5):
            if x * i > 6:
                break
        return i

    same(f, (1,), (2,), (3,), (100,))


def test_list_grows_in_a_loop():
    def f(n):
        out = []
        i = 0
        while i < n:
            out.append(i * 2)
            i += 1
        return out

    same(f, (4,), (0,))


def test_list_grows_and_shrinks_in_branches_of_loops():
    def f(xs):
        stack = []
        for x in xs:
            if x > 0:
                stack.append(x)
            else:
                stack.pop()
        return stack

    same(f, ([1, 2, -1, 3],))


def test_list_of_structures():
    def f(n):
        out, best = [(0, {"w": 1})], 0
        for i in range(n):
            out.append((i, {"w": i * 2}))
        for a, b in out:
            best += a * b["w"]
        last = out.pop()
        if n > 2:
            out.append(last)
            out.append((best, {"w": 7}))
        return out, out[0][1]["w"], out[-1][0], len(out), last

    same(f, (4,), (1,))


def test_list_that_a_callee_appends_to():
    def fill(out, n):
        for i in range(n):
            out.append(i)

    def f(n):
        items = alias = []
        fill(items, n)
        fill(alias, n)
        return items, len(alias), alias is items

    same(f, (3,), (0,))


def test_two_names_of_one_list_in_a_loop():
    def f(n):
        a = b = []
        for i in range(n):
            a.append(i)
            b.append(-i)
        return a, len(b)

    def g(n):
        a = b = [0]
        for i in range(n):
            a.append(i)
            b = [7]
        return a, b

    same(f, (3,), (0,))
    same(g, (3,), (1,))


def test_two_names_of_one_list_in_a_branch():
    def f(x):
        a = [x]
        b = a
        if x > 0:
            a.append(1)
            b.append(2)
        c = a
        if x > 1:
            c.append(3)
        return a, b, c

    same(f, (3,), (1,), (0,))


def test_staged_list_keeps_its_identity():
    def f(n):
        out = []
        for i in rt.range(n):
            out.append(i)
        alias = out
        for i in rt.range(n):
            out.append(i)
        return rt.shape(rt.stack(alias))[0]

    assert rt.function(f)(rt.constant(3)) == 6


def test_tensor_array_is_state():
    def f(xs):
        ta = rt.TensorArray("float32", size=3)
        total = 0.0
        for i, x in enumerate(xs):
            total += x
            ta = ta.write(i, total)
        return ta.stack()

    staged = rt.function(f)
    assert staged(rt.constant([1.0, 2.0, 3.0])).numpy().tolist() == [1.0, 3.0, 6.0]


def test_maximum_iterations():
    def f(n):
        i = 0
        while i < n:
            ag.set_loop_options(maximum_iterations=3)
            i += 1
        return i

    def g(n):
        total = 0
        for i in rt.range(n):
            ag.set_loop_options(maximum_iterations=2)
            total += 1
        return total

    assert rt.function(f)(rt.constant(10)) == 3
    assert rt.function(g)(rt.constant(10)) == 2


def test_shape_invariants_fix_the_shape():
    def f(x, n):
        i = 0
        while i < n:
            ag.set_loop_options(shape_invariants=[(x, rt.TensorShape([None]))])
            x = x + 1
            i += 1
        return x

    graph = traced(f, spec("float32", 2), spec("int32"))
    assert str(graph.outputs[0].type) == "float32[?]"


def test_ctrl_c_stops_an_endless_loop():
    @rt.function
    def f(x):
        while x > 0:
            x = x + 0
        return x

    f(rt.constant(0))
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f(rt.constant(1))
    timer.join()
    assert f(rt.constant(0)) == 0


# Expressions.

def test_logic_is_lazy_and_short():
    def f(x, y):
        safe = y != 0 and x // y > 1
        both = x > 0 and y > 0
        return safe, both, not both, 0 < x <= y, x if both else y

    graph = traced(f, spec("int32"), spec("int32"))
    assert len(nodes(graph, "cond")) == 2  # the division, and the choice
    same(f, (4, 2), (4, 0), (-4, 2), (1, 5))


def test_logic_gives_values():
    def f(x, y):
        return x and y, x or y

    same(f, (3, 5), (0, 5))


def test_logic_of_a_number_and_a_test():
    def f(x, y):
        total = 0
        while x and x > 0:
            x -= 1
            total += 1
        if not (y or y > 3) and (x or y < 7):
            total += 100
        return total

    same(f, (3, 5), (0, 0))


def test_error_value_of_a_number_and_a_test():
    def f(x):
        y = x and x > 0
        return y + 1

    assert error_of(f, rt.constant(1)) == message(
        f, 1, f"the value of this expression is bool[] if the condition holds (line {line(f, 1)}), but int32[] if it "
        f"does not (line {line(f, 1)})",
        "Make both branches give the value of this expression the same type: bool[] and int32[] do not fit together.",
        col=12 if sys.version_info >= (3, 11) else None)


def test_truth_of_a_single_element():
    def f(x):
        if x:
            return 1
        return 0

    staged = rt.function(f)
    assert staged(rt.constant([[3]])) == 1
    assert staged(rt.constant([0.0])) == 0


def test_item_assignment():
    def f(x):
        x[1] = 5
        if x[0] > 0:
            x[0] = 9
        return x

    assert rt.function(f)(rt.constant([1, 2])).numpy().tolist() == [9, 5]


# Errors.

def test_error_dtypes_of_branches():
    def f(x, y):
        if x > 0:
            h = x * 2
        else:
            h = y + 1
        return h

    assert error_of(f, rt.constant(1.0), rt.constant(1)) == message(
        f, 1, f"'h' is float32[] if the condition holds (line {line(f, 2)}), but int32[] if it does not "
        f"(line {line(f, 4)})",
        "Make both branches give 'h' the same type: float32[] and int32[] do not fit together.", col=None)


def test_error_ranks_of_branches():
    def f(x):
        if x[0] > 0:
            return x
        return x[0]

    assert "the value returned is float32[2] if the condition holds" in error_of(f, rt.constant([1.0, 2.0]))


def test_error_a_value_returned_in_a_loop_and_another_after_it():
    def f(x):
        for _ in rt.range(3):
            if x > 0:
                return x
        return "a"

    assert error_of(f, rt.constant(1.0)).startswith(
        f"{__file__}:{line(f, 4)}: the value returned is float32[] if the condition holds (line {line(f, 1)}), but the "
        f"str 'a' if it does not (line {line(f, 4)})\n")


def test_error_structures_of_branches():
    def f(x):
        if x > 0:
            a = (x, [x])
        else:
            a = {"k": x}
        return a

    assert error_of(f, rt.constant(1.0)) == message(
        f, 1, f"'a' is (float32[], [float32[]]) if the condition holds (line {line(f, 2)}), but {{'k': float32[]}} "
        f"if it does not (line {line(f, 4)})",
        "Make both branches give 'a' the same type: (float32[], [float32[]]) and {'k': float32[]} "
        "do not fit together.")


def test_error_bytes_of_branches():
    def f(x):
        if x > 0:
            s = b"yes"
        else:
            s = b"no"
        return s

    assert error_of(f, rt.constant(1.0)) == message(
        f, 1, f"'s' is the bytes b'yes' if the condition holds (line {line(f, 2)}), but the bytes b'no' if it does not "
        f"(line {line(f, 4)})",
        "Make 's' a number or a tensor, and the bytes of it in Python, outside of staged code; or use each bytes in a "
        "branch of its own.")


def test_error_objects_of_branches():
    class Box:
        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

    def f(x):
        if x > 0:
            a = Box()
        else:
            a = Box()
        return a

    assert error_of(f, rt.constant(1.0)) == message(
        f, 1, f"'a' is a Box if the condition holds (line {line(f, 2)}), but another one if it does not "
        f"(line {line(f, 4)}), which no graph can carry",
        "Make its class a dataclass, or change the attributes of one object.")


def test_error_bytes_in_a_loop():
    def f(xs):
        s = b"a"
        for _ in xs:
            s += b"b"
        return s

    assert error_of(f, rt.constant([1, 2])) == message(
        f, 2, "'s' is the bytes b'a' before the loop but the bytes b'ab' after one iteration",
        "A staged loop keeps a bytes as it is: keep a number or tensor in 's', and make the bytes of it after the "
        "loop, in Python.")


def test_error_dtype_in_a_loop():
    def f(h, xs):
        for x in xs:
            h = x
        return h

    assert error_of(f, rt.constant(1), rt.constant([1.0])) == message(
        f, 1, "'h' is int32[] before the loop but float32[] after one iteration",
        "Make the body assign int32[] to 'h', or start with float32[].")


def test_error_rank_in_a_loop():
    def f(xs):
        h = 0.0
        for _ in xs[xs > 0.0]:
            h = h + xs
        return h

    assert error_of(f, rt.constant([1.0, 2.0])) == message(
        f, 2, "'h' is the float 0.0 before the loop but float32[2] after one iteration",
        "Make the body assign the float 0.0 to 'h', or start with float32[2].")


def test_error_shape_invariant():
    def f(h, n):
        i = 0
        while i < n:
            ag.set_loop_options(shape_invariants=[(h, rt.TensorShape([8]))])
            h = rt.concat([h, h], 0)
            i += 1
        return h

    assert error_of(f, rt.zeros([8]), rt.constant(2)) == message(
        f, 2, "'h' is float32[8] before the loop but float32[16] after one iteration",
        "Make the body assign float32[8] to 'h', or start with float32[16].")


def test_error_shape_invariant_excludes_the_start():
    def f(h, n):
        while n > 0:
            ag.set_loop_options(shape_invariants=[(h, rt.TensorShape([9]))])
            n -= 1
            h = h * 1
        return h

    assert error_of(f, rt.zeros([8]), rt.constant(2)) == message(
        f, 1, "'h' is float32[8] before the loop, which its shape invariant [9] does not allow",
        "Give an invariant that allows the shape before the loop, with None where it changes.")


def test_error_list_of_mixed_elements():
    def f(n):
        out = []
        for i in rt.range(n):
            out.append(lambda: 0)
        return out

    assert error_of(f, rt.constant(2)) == message(
        f, 2, "'out' is [] before the loop but [a function] after one iteration",
        "A list whose length changes in staged code holds numbers or tensors of one type, text, None, or structures of"
        " these.")


def test_error_a_function_made_anew_in_a_loop():
    def last(n):
        for i in range(n):
            def add(x):
                return x + i

            add(i)
        return add(1)

    assert error_of(last, rt.constant(3)) == message(
        last, 6, f"'add' of line {line(last, 2)} is made anew in each iteration or branch, and here it may be any of "
        "these functions", "Call it where it is made, or make it before the loop or branch.",
        col=15 if sys.version_info >= (3, 11) else None)


def test_recursion_that_counts_in_python():
    def factorial(n, calls):
        if n <= 1:
            return 1 + 0 * calls
        return n * factorial(n - 1, calls + 1)

    assert rt.function(lambda n: factorial(n, 0))(rt.constant(5)) == 120


def test_recursion_on_python_values_is_fine():
    def power(x, n):
        if n == 0:
            return x * 0 + 1
        if x > 0:
            return x * power(x, n - 1)
        return x - power(-x, n - 1)

    staged = rt.function(lambda x: power(x, 3))
    assert staged(rt.constant(2.0)) == power(2.0, 3)


def test_error_truth_of_many():
    def f(x):
        if x:
            return 1
        return 0

    assert error_of(f, rt.constant([1, 2]), kind=ValueError) == message(
        f, 1, "The truth value of an array with more than one element is ambiguous: this tensor is int32[2]",
        "Use rt.reduce_any or rt.reduce_all.")


def test_a_change_that_spreads_through_a_list_item_by_item():
    def rule_30(steps):
        cells = [0] * 41
        cells[20] = 1
        for _ in rt.range(steps):
            cells = [0] + [cells[i - 1] ^ (cells[i] | cells[i + 1]) for i in range(1, 40)] + [0]
        return cells

    def rows(steps):
        grid = [[0, 0, 0, 1] for _ in range(12)]
        grid[0][0] = steps
        for _ in rt.range(steps):
            grid = [grid[0], *[[grid[k][0] + grid[k + 1][0], *grid[k + 1][1:]] for k in range(11)]]
        return grid

    def from_row_to_row(steps):
        grid = [[0, 0] for _ in range(30)]
        grid[0][0] = steps
        for _ in rt.range(steps):
            grid = [grid[0], *[[above[0] + row[0], row[1]] for above, row in itertools.pairwise(grid)]]
        return grid

    for fn in rule_30, rows, from_row_to_row:
        found = rt.nest.map_structure(int, rt.function(fn)(rt.constant(15)))
        assert found == rt.nest.map_structure(int, fn(rt.constant(15)))


def test_a_board_of_many_numbers_changes_everywhere(monkeypatch):
    def board(steps):
        cells = [[0] * 5 for _ in range(20)]
        cells[3][2] = 1
        for _ in rt.range(steps):
            cells = [[cells[r - 1][c] ^ cells[r][c - 1] for c in range(5)] for r in range(20)]
        return cells

    traces = []
    trace = loops._Loop._trace
    monkeypatch.setattr(loops._Loop, "_trace", lambda *args: traces.append(1) or trace(*args))
    assert rt.nest.map_structure(int, rt.function(board)(rt.constant(7))) == board(7)
    assert len(traces) == 2


def test_items_of_a_list_are_stacked_once_until_one_changes():
    def read(x, i, j):
        items = [x * k for k in range(20)]
        found = items[i] + items[j]
        if found > 0:
            found += items[i - j]
        items[3] = x - 1
        return found, items[i], items[j]

    traced = rt.function(read)
    stacks = [node for node in traced.get_concrete_function(*map(rt.constant, (5, 3, 2))).graph.walk()
              if node.op.name == "stack"]
    assert len(stacks) == 2
    for i, j in (3, 2), (4, 1), (3, 3):
        assert tuple(map(int, traced(*map(rt.constant, (5, i, j))))) == read(5, i, j)


def test_a_change_that_spreads_from_object_to_object(monkeypatch):
    class Mass:
        def __init__(self, x, v):
            self.x, self.v = x, v

    def chain(x, steps, size=40):
        masses = [Mass(float(i), 0.0) for i in range(size)]
        masses[0].x, masses[-1].v = x, 7
        for _ in rt.range(steps):
            for i in range(size - 1):
                if i > 0:
                    masses[i].v += masses[i - 1].x - masses[i].x + 1.0
            for mass in masses[:-1]:
                mass.x += 0.1 * mass.v
        return [mass.x for mass in masses], f"{masses[-1].v}"

    traces = []
    trace = loops._Loop._trace
    monkeypatch.setattr(loops._Loop, "_trace", lambda *args: traces.append(1) or trace(*args))
    positions, last = rt.function(chain)(rt.constant(0.5), rt.constant(45))
    wanted, at_end = chain(rt.constant(0.5), rt.constant(45))
    assert last == at_end == "7"
    np.testing.assert_allclose([float(x) for x in positions], [float(x) for x in wanted], rtol=1e-4)
    assert len(traces) < 10


def test_error_comparison_of_containers():
    def f(x):
        if types.SimpleNamespace(x=x) == types.SimpleNamespace(x=x + 1):
            return 1
        return 0

    assert error_of(f, rt.constant(1), kind=TypeError) == message(
        f, 1, "containers of tensors cannot be compared here: <rt.Tensor 'equal' shape=() dtype=bool> has no value "
        "while its function is traced", "Compare their items: a[0] == b[0] and a[1] == b[1].",
        col=11 if sys.version_info >= (3, 11) else None)


def test_error_unroll_budget():
    def f(x):
        for i in range(100_000):
            if x * [1, "a"][i * 0] * i > 6000:
                break
        return i

    assert error_of(f, rt.constant(1.0)) == message(
        f, 1, "this loop over Python values has run 1000 iterations, each of which is traced into the graph, since a "
        "tensor decides whether to leave it; it is not rolled into a loop of the graph, since which item this is, is "
        "known only when the graph runs, and no one type fits all of them: they are of int, str",
        "Take what needs the Python value out of the loop, or make it a tensor, so that the loop itself becomes graph; "
        "or raise the budget with rt.config.set_autograph_unroll_budget(n).")


def test_next_call_after_an_error_works():
    def f(x, y):
        if x > 0:
            h = x
        else:
            h = y
        return h

    staged = rt.function(f)
    with pytest.raises(StagingError):
        staged(rt.constant(1.0), rt.constant(1))
    assert staged(rt.constant(-1.0), rt.constant(2.0)) == 2.0


def test_leak_in_a_branch_is_an_error_at_once():
    kept = []

    @ag.do_not_convert
    def keep(value):
        kept.append(value)

    def f(x):
        if x > 0:
            keep(x + 1)
        if x > 1:
            x = x + kept[0]
        return x

    with pytest.raises(rt.errors.InaccessibleTensorError, match=f"made at {__file__}:{line(f, 2)}"):
        rt.function(f)(rt.constant(1.0))


def test_a_python_loop_that_unrolls_without_end_names_its_line(monkeypatch) -> None:
    monkeypatch.setattr("runtime.core.graph.TOO_MANY_NODES", 20_000)
    source = rt.Variable(0)

    @rt.function
    def endless(limit):
        while (source,):  # only Python knows that it is true
            source.assign_add(1)
            if source > limit:
                raise ValueError("over")

    with pytest.warns(rt.UnrollingWarning, match="has grown to 10,000 ops"), pytest.raises(StagingError) as info:
        endless(rt.constant(3))
    line = endless.python_function.__code__.co_firstlineno + 3
    lines = str(info.value).split("\n")
    assert lines[0].startswith(f"{__file__}:") and "the graph of 'endless' has grown to 20,000 ops, " in lines[0]
    assert abs(int(lines[0].split(":")[1]) - line) <= 1
    assert lines[-1] == "Loop over a tensor, for example rt.range(n), so that the loop itself becomes graph."


def test_state_that_does_not_settle_is_an_error() -> None:
    """A fault of the tool's own, which must not hang."""
    x = [1]

    def body() -> None:
        x.append(2)

    def restaged(variables: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
        variables.discovered = {"x"}
        raise Restage(variables)

    backend: Any = SimpleNamespace(stages=lambda value: False, checkpoint=Checkpoint,
                                   staging_again=lambda times, holders: None,
                                   error=lambda what, remedy: RuntimeError(what))
    with pytest.raises(RuntimeError, match="^what this statement changes does not settle: x$"):
        staged(("x",), backend, (body,), restaged)


def test_state_that_grows_at_each_attempt_is_an_error() -> None:
    x = [0] * 1000
    attempts = itertools.count(1)

    def body() -> None:
        x[0] += 1

    def restaged(variables: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
        variables.discovered = {f"x[{next(attempts)}]"}
        raise Restage(variables)

    backend: Any = SimpleNamespace(stages=lambda value: False, checkpoint=Checkpoint,
                                   staging_again=lambda times, holders: None,
                                   error=lambda what, remedy: RuntimeError(what))
    with pytest.raises(RuntimeError, match=r"^what this statement changes does not settle: x\[100\]$"):
        staged(("x[0]",), backend, (body,), restaged)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_slices_of_ranges(executor: str) -> None:
    bounds = (None, 0, 2, -2, 9, -9)

    def f(n, place):
        parts = [[i for i in range(1, n, by)[first:last:step]]
                 for by in (1, -2) for first in bounds for last in bounds for step in (None, 2, -1)]
        return parts, [[i for i in range(size)[place:n:step]] for size in (n, 6) for step in (1, -2)], len(range(n)[1:])

    staged = on(executor, f)
    for n, place in ((0, 0), (1, 2), (4, -2), (7, 9), (-5, -9)):
        got = staged(rt.constant(n), rt.constant(place))
        assert rt.nest.map_structure(int, got) == f(n, place), (n, place)


def test_message_dtype_of_an_element() -> None:
    def f(xs, n):
        found = []
        for x in xs:
            found.append(x)
        found.append(n)
        return found

    with pytest.raises(rt.errors.DTypeError, match=r"(?s)test_staging.py:\d+: the list and the element .*append\(n\)"):
        rt.function(f)(rt.constant([1.5]), rt.constant(1))

"""`try` and `with` in staged code: the ops, what is kept, what stays Python, and the messages."""
from __future__ import annotations

import contextlib
import linecache
import re
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from runtime.core.graph import Graph


class Low(ValueError):
    pass


def check(x: Any) -> Any:
    if x < 0:
        raise Low("low")
    return x


def graph_of(fn: Any, *args: Any) -> Graph:
    graph: Graph = rt.function(fn).get_concrete_function(*map(rt.constant, args)).graph
    graph.verify()
    return graph


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.walk()]


def message(fn: Any, *args: Any) -> str:
    """What staging refuses, with `LINE` for the numbers of lines counted from that of `fn`."""
    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(fn)(*args)
    first = fn.__code__.co_firstlineno
    text = str(caught.value).replace(__file__, "FILE")
    text = re.sub(r"FILE:(\d+)", lambda m: f"FILE:+{int(m[1]) - first}", text)
    text = re.sub(r"^    (\d+) \|(.*\n)( +\^)", lambda m: f"    N |{m[2]}" + m[3][len(m[1]) - 1:], text, flags=re.M)
    return re.sub(r"line (\d+)", lambda m: f"line +{int(m[1]) - first}", text)


def shown(text: str) -> str:
    """The text of an error on this Python: before 3.11 a caret is under the first character of the line."""
    if sys.version_info >= (3, 11):
        return text
    return re.sub(r"^(    N \| )( *)(\S.*\n) *\^", r"\1\2\3        \2^", text, flags=re.M)


# What is staged.

def test_what_python_decides_is_no_region() -> None:
    runs = []

    def f(x):
        try:
            runs.append(1)
            y = {"a": x}["b"]
        except KeyError as error:
            y = x + len(error.args)
        finally:
            runs.append(2)
        return y

    assert "try_" not in ops(graph_of(f, 3))
    assert runs == [1, 2]  # once, though it was traced


def test_a_handler_that_nothing_can_reach_is_not_traced() -> None:
    def f(x):
        try:
            y = x + 1
        except (IndexError, ZeroDivisionError):
            y = "no type that fits"
        return y

    assert "try_" not in ops(graph_of(f, 3))


def test_a_division_by_a_constant_cannot_fail() -> None:
    def f(x):
        try:
            y = x // 2 + x % 3
        except ZeroDivisionError:
            y = -1
        return y

    assert "try_" not in ops(graph_of(f, 3))


def test_the_state_is_kept_where_it_changes() -> None:
    def f(x, d):
        y = 0
        try:
            y = x // d
            z = x // (d + 1)
            y = z // (d + 2)
        except ZeroDivisionError:
            pass
        return y

    graph = graph_of(f, 6, 2)
    body = next(node for node in graph.nodes if node.op.name == "try_").params["body"]
    names = [node.op.name for node in body.nodes if node.op.name in ("keep", "floordiv")]
    assert names == ["keep", "floordiv", "keep", "floordiv", "floordiv"]


def test_what_is_wanted_for_its_error_alone_stays() -> None:
    def f(x, d):
        try:
            x // d
            ok = True
        except ZeroDivisionError:
            ok = False
        return ok

    assert "floordiv" in ops(graph_of(f, 6, 2))
    assert not rt.function(f)(rt.constant(1), rt.constant(0))


def test_verify_sees_a_state_that_does_not_fit() -> None:
    def f(x, d):
        y = x
        try:
            y = x + 1
            y = x // d
        except ZeroDivisionError:
            pass
        return y

    graph = graph_of(f, 6, 2)
    node = next(node for node in graph.nodes if node.op.name == "try_")
    keep = next(node for node in node.params["body"].nodes if node.op.name == "keep")
    keep.inputs = keep.inputs * 2
    with pytest.raises(rt.errors.GraphError):
        graph.verify()


# Around other parts of the runtime.

def test_a_traced_function_that_is_called() -> None:
    @rt.function
    def inverse(d):
        return 12 // d

    @rt.function
    def f(d):
        y = 0
        try:
            y = 1
            y = inverse(d)
            y += inverse(d - 1)
        except ZeroDivisionError:
            y += 100
        return y

    assert [int(f(rt.constant(d))) for d in (0, 1, 2)] == [101, 112, 18]


def test_errors_of_python_functions() -> None:
    def fail(x):
        raise Low(f"got {int(x)}") if x < 0 else KeyError("k")

    @rt.function
    def f(x):
        try:
            rt.py_function(fail, [x], rt.int32)
        except KeyError:
            return 1
        except ValueError as error:
            print("text:", error)
            return 2
        return 3

    assert int(f(rt.constant(3))) == 1
    assert int(f(rt.constant(-3))) == 2


def test_variables_keep_what_was_assigned() -> None:
    total = rt.Variable(0)

    @rt.function
    def f(x):
        try:
            total.assign_add(1)
            check(x)
            total.assign_add(10)
        except Low:
            total.assign_add(100)

    f(rt.constant(3))
    f(rt.constant(-3))
    assert int(total) == 112


def test_a_dataset_that_fails() -> None:
    def fail(x):
        if x > 2:
            raise Low("row")

    def row(x):
        rt.numpy_function(lambda v: [fail(v), v][1], [x], rt.int64)
        return x

    @rt.function
    def f(n):
        s = rt.constant(0, rt.int64)
        try:
            for x in rt.data.Dataset.range(n).map(row):
                s += x
        except Low:
            s = -s
        return s

    assert int(f(rt.constant(3, rt.int64))) == 3
    assert int(f(rt.constant(6, rt.int64))) == -3


def test_threads_do_not_share_a_run() -> None:
    @rt.function
    def f(n, d):
        s = 0
        for i in range(n):
            try:
                s += 10 // (d - i)
            except ZeroDivisionError:
                s += 1000
        return s

    expected = [sum(10 // (d - i) if d != i else 1000 for i in range(50)) for d in range(4)]
    f(rt.constant(50), rt.constant(0))
    results: dict[int, int] = {}
    threads = [threading.Thread(target=lambda d=d: results.update({d: int(f(rt.constant(50), rt.constant(d)))}))
               for d in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[d] for d in range(4)] == expected


def test_an_interrupt_runs_finally() -> None:
    def interrupt(x):
        raise KeyboardInterrupt

    done = rt.Variable(0)

    @rt.function
    def f(x):
        try:
            check(x)
            rt.py_function(interrupt, [x], [])
        finally:
            done.assign_add(1)

    with pytest.raises(KeyboardInterrupt):
        f(rt.constant(3))
    assert int(done) == 1


def test_tracebacks_and_causes_are_the_users() -> None:
    @rt.function
    def f(x):
        try:
            check(x)
        except Low as error:
            raise KeyError("wrapped") from error

    with pytest.raises(KeyError) as caught:
        f(rt.constant(-3))
    assert type(caught.value.__cause__) is Low
    assert str(caught.value.__cause__) == "low"
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}


def test_a_handler_sees_the_name_of_the_error_alone_if_it_asks() -> None:
    def f(x):
        try:
            if x < 0:
                raise Low(x)
            if x > 9:
                raise KeyError(x)
        except (Low, KeyError) as error:
            return error.args[0]
        return 0

    def g(x):
        try:
            if x < 0:
                raise Low(x)
            if x > 9:
                raise KeyError(x)
        except (Low, KeyError):
            return -1
        return 0

    count = {fn: sum(name.startswith("handler") for node in graph_of(fn, 3).walk() for name in node.subgraphs)
             for fn in (f, g)}
    assert count == {f: 2, g: 1}


def test_explain_says_what_is_staged() -> None:
    def f(x):
        try:
            check(x)
        except Low:
            pass
        try:
            import math  # noqa: F401
        except ImportError:
            pass
        with contextlib.nullcontext():
            return x

    rules = [(d.statement, d.staged, d.rule) for d in ag.explain(f).decisions]
    assert rules == [
        ("try", True, "ag__.try_ around what a graph may raise"),
        ("try", False, "no graph can raise in its body; the statements inside convert"),
        ("with", True, "ag__.with_ around what a graph may raise"),
    ]


# What cannot be staged.

def test_staging_errors_pass_the_users_handlers() -> None:
    def f(x):
        try:
            if x > 0:
                y = 1
            else:
                y = rt.ones([2], rt.float64)
        except Exception:
            y = 0
        return y

    with pytest.raises(rt.errors.StagingError, match="'y' is the int 1 if the condition holds"):
        rt.function(f)(rt.constant(1))


def test_message_state_without_one_type() -> None:
    def f(x, d):
        y = 0
        try:
            y = x // d
            y = rt.ones([2]) if d > 5 else rt.zeros([2])
            x = x // (d - 1)
        except ZeroDivisionError:
            x = 0
        return x, y

    assert message(f, rt.constant(1), rt.constant(2)) == shown("""\
FILE:+5: 'y' is the int 0 or float32[2] where the `try` in line +2 catches an error
    N |             x = x // (d - 1)
                        ^
Make the body assign one type to 'y', or assign it after the `try`.""")


def test_message_results_without_one_type() -> None:
    def f(x, d):
        try:
            y = x // d
        except ZeroDivisionError:
            y = rt.ones([2])
        return y

    assert message(f, rt.constant(1), rt.constant(2)) == shown("""\
FILE:+1: 'y' is int32[] if the body of this `try` ends or is left in one way (line +2), but float32[2] in \
another (line +4)
    N |         try:
                ^
Make all ways give 'y' the same type: int32[] and float32[2] do not fit together.""")


def test_message_error_leaves_its_handler() -> None:
    def f(x):
        last = None
        try:
            check(x)
        except Low as error:
            last = error
        return last

    assert message(f, rt.constant(1)) == shown("""\
FILE:+2: 'last' is the error that a handler caught, which a graph cannot carry out of the handler
    N |         try:
                ^
Keep what you need of it, such as a number, in the handler, or raise it there.""")


def test_message_error_raised_after_its_handler() -> None:
    kept = []

    def f(x):
        try:
            check(x)
        except Low as error:
            kept.append(error)
        raise kept[0]

    assert message(f, rt.constant(1)) == shown("""\
FILE:+5: the error that a handler of the `try` in line +1 caught is used after that handler, and a graph cannot \
carry it there
    N |         raise kept[0]
                ^
Keep what you need of it, such as a number, in the handler, or raise it there.""")


def test_message_text_of_an_error() -> None:
    def f(x):
        try:
            if x < 0:
                raise ValueError(f"{x} is low")
        except ValueError as error:
            if "low" in str(error):
                return len(bytes(str(error), "utf8"))
        return 0

    assert message(f, rt.constant(1)) == shown("""\
FILE:+6: the text of an error that a graph raises is known only when it runs: it can be printed, returned, \
compared, and be part of other text, but not be looked into
    N |                 return len(bytes(str(error), "utf8"))
                                   ^
Give the error a number or tensor as an argument, and look at `error.args`; or catch it around the call of the traced \
function.""")


def test_message_arguments_of_different_types() -> None:
    def f(x):
        try:
            if x < 0:
                raise ValueError(x)
            if x > 9:
                raise ValueError("high")
        except ValueError as error:
            return error.args[0] + 1
        return 0

    assert message(f, rt.constant(1)) == shown("""\
FILE:+7: args[0] of the error that the `try` in line +1 catches is not of one type: it depends on which error was raised
    N |             return error.args[0] + 1
                           ^
Raise errors of different classes, and catch each by a handler of its own.""")


@pytest.mark.parametrize("ask", [lambda error: isinstance(error, KeyError), lambda error: error.args[0]])
def test_message_error_of_unknown_kind(ask: Any) -> None:
    def fail(x):
        raise KeyError(1)

    def f(x):
        try:
            rt.py_function(fail, [x], rt.int32)
        except Exception as error:
            print(error)
            if ask(error):
                return 1
        return 0

    text = message(f, rt.constant(1))
    assert text.split("\n", 1)[0].split(": ", 1)[1] == (
        "what kind of Exception the `try` in line +1 catches, and with which arguments, is known only when the "
        "graph runs")
    assert text.rsplit("\n", 1)[1] == (
        "Name the classes of errors in handlers of their own: `except (A, B) as e` is traced for each.")


def test_message_context_of_a_generator() -> None:
    @contextlib.contextmanager
    def opened() -> Iterator[int]:
        try:
            print((yield 1))
        finally:
            print("closed")

    @contextlib.contextmanager
    def named() -> Iterator[int]:
        yield 1

    def f(x):
        with opened() as n:
            y = check(x) + n
        return y

    def g(x):
        with named() as n:
            y = check(x) + n
        return y

    def h(x):
        with opened() as n:
            y = x + n
        return y

    assert message(f, rt.constant(1)) == shown("""\
FILE:+1: the body of this `with` may raise when the graph runs, and the generator that makes its context has a \
`try` or \
`with` around its `yield`, which sees only what is raised while it is traced
    N |         with opened() as n:
                ^
Let the `yield` be a statement, or write a class with __enter__ and __exit__.""")
    assert int(rt.function(g)(rt.constant(1))) == int(rt.function(h)(rt.constant(1))) == 2


def test_message_try_that_stays_python() -> None:
    def halves(x, d):
        try:
            got = yield x
            yield x // d + (got or 0)
        except ZeroDivisionError:
            yield 0

    def f(x, d):
        total = 0
        for half in halves(x, d):
            total += 100 // half
        return total

    text = message(f, rt.constant(8), rt.constant(2))
    assert text.split("\n")[0].split(": ", 1)[1] == (
        "this may raise when the graph runs, and the `try` around it sees only what is raised while it is "
        "traced: it stays "
        "Python, since it holds `yield` or `await`, is an `except*`, or has a `finally` that jumps")
    assert text.split("\n")[1].strip().endswith("yield x // d + (got or 0)")
    assert text.split("\n")[3] == (
        "Move what may raise into a function with a `try` of its own, or put the `try` around the call of the traced "
        "function.")


def test_a_try_that_stays_python_and_is_not_concerned() -> None:
    def halves(x):
        try:
            yield x // 2
            yield x // 3
        finally:
            print("done")

    @rt.function
    def f(x, d):
        total = 0
        for half in halves(x):
            total += half // d
        return total

    assert int(f(rt.constant(12), rt.constant(2))) == 5


def from_text(text: str) -> Any:
    """The function `f` that the text defines, which older Pythons could not read."""
    name = f"<text {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no except* before 3.11")
def test_message_groups_of_errors() -> None:
    f = from_text("def f(x, d):\n    try:\n        return_ = x // d\n    except* ZeroDivisionError:\n"
                  "        return_ = 0\n    return return_\n")
    text = message(f, rt.constant(1), rt.constant(2))
    assert "this may raise when the graph runs, and the `try` around it sees only" in text.split("\n")[0]
    assert "x // d" in text.split("\n")[1]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no ExceptionGroup before 3.11")
def test_message_error_without_its_constructor() -> None:
    f = from_text("def f(x):\n    try:\n        if x < 0:\n            raise ExceptionGroup('g', [ValueError(1)])\n"
                  "    except ExceptionGroup as error:\n        print(error)\n    return x\n")
    text = message(f, rt.constant(1))
    assert "ExceptionGroup cannot be made without its constructor, so a staged handler cannot name it" in text
    assert text.endswith("Leave the name out, or catch it around the call of the traced function.")

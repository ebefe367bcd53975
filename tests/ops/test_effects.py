"""Effects: print and messages with values of the run, staged raise and assert, Python functions, checks."""
from __future__ import annotations

import collections
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from runtime.core.formatting import formatted, str_of
from runtime.core.graph import Graph
from runtime.core.text import STR, Hole, Template, concat_text, split
from runtime.core.trace import add_input, tracing
from runtime.core.types import TensorType, int32
from runtime.errors import InvalidArgumentError

Pair = collections.namedtuple("Pair", "a b")


def printed(capsys: pytest.CaptureFixture[str], fn: Any, *args: Any) -> list[str]:
    """What `fn` prints converted on plain values, eagerly, and staged."""
    texts = []
    for run, values in ((ag.convert(fn), args), (ag.convert(fn), map(rt.constant, args)),
                        (rt.function(fn), map(rt.constant, args))):
        run(*values)
        texts.append(capsys.readouterr().out)
    return texts


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    def f(n, x):
        print(n, "x", [n, 1], (n,), {"k": n}, Pair(n, 2), None, sep="|")
        print(f"{n}!{n:4d}!{x:.3f}!{x}", end=";\n")
        print("%s" % "text", f"{n:>5}")  # noqa: UP031
        if n > 2:
            print("big", n + 1)
        for i in range(n):
            print(i, end=" ")
        print()

    expected = ("3|x|[3, 1]|(3,)|{'k': 3}|Pair(a=3, b=2)|None\n3!   3!0.100!0.1;\ntext     3\nbig 4\n0 1 2 \n")
    assert printed(capsys, f, 3, 0.1) == [expected] * 3


def test_print_of_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print(x, x[0], [x], sep="\n")

    texts = printed(capsys, f, [[1, 2], [3, 4]])
    assert texts[1] == texts[2]
    assert texts[1] == "[[1 2]\n [3 4]]\n[1 2]\n[array([[1, 2],\n       [3, 4]], dtype=int32)]\n"


def test_str_is_that_of_the_eager_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("x is " + str(x), f"{x!s}")

    texts = printed(capsys, f, 0.1)
    assert texts[1] == texts[2]
    assert texts[2] == "x is rt.Tensor(0.1, shape=(), dtype=float32) rt.Tensor(0.1, shape=(), dtype=float32)\n"


def test_print_keeps_what_python_values_are_then(capsys: pytest.CaptureFixture[str]) -> None:
    def f(n):
        items = [1]
        print(items, n)
        items.append(2)
        print(items, n, file=sys.stderr)

    rt.function(f)(rt.constant(5))
    found = capsys.readouterr()
    assert (found.out, found.err) == ("[1] 5\n", "[1, 2] 5\n")


def test_print_arguments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w") as file:
        @rt.function
        def f(n):
            print(n, n, sep="-", end="", file=file, flush=True)

        f(rt.constant(1))
        f(rt.constant(2))
    assert (tmp_path / "out.txt").read_text() == "1-12-2"
    with pytest.raises(TypeError, match="sep must be None or a string, not int"):
        rt.function(lambda n: print(n, sep=1))(rt.constant(1))


def test_values_that_may_be_unbound_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    def may_be_none(n):
        y = None
        if n > 0:
            y = n * 2
        print(y, f"<{y}>", [y])

    def may_be_unbound(n):
        if n > 0:
            y = n * 2
        print(f"y is {y}")

    assert printed(capsys, may_be_none, 1) == ["2 <2> [2]\n"] * 3
    assert printed(capsys, may_be_none, -1) == ["None <None> [None]\n"] * 3
    assert printed(capsys, may_be_unbound, 1) == ["y is 2\n"] * 3
    with pytest.raises(UnboundLocalError):
        rt.function(may_be_unbound)(rt.constant(-1))
    assert capsys.readouterr().out == ""


def test_template() -> None:
    graph = Graph("f")
    with tracing(graph):
        x = add_input(graph, TensorType(int32), "x")
        text = concat_text(("a ", formatted(x), " b ", formatted(x, ">4"), " c ", str_of(x), " {d} e"))
    template, values = split(text)
    assert values == (x.value,) * 3
    assert template.holes == (Hole(""), Hole(">4"), Hole(STR))
    assert template.render([np.int32(7)] * 3) == "a 7 b    7 c rt.Tensor(7, shape=(), dtype=int32) {d} e"
    assert split("no holes {x}") == (Template(("no holes {x}",)), ())


# raise and assert


class Custom(Exception):
    """An exception whose arguments are not those of its constructor."""

    def __init__(self, code: Any) -> None:
        super().__init__(f"code {code}")
        self.code = code


def fail(n):
    if n > 2:
        raise Custom(n)
    return n


def test_raise() -> None:
    f = rt.function(fail)
    assert f(rt.constant(1)).numpy() == 1
    errors = []
    for value in (3, 4):
        with pytest.raises(Custom, match=f"code {value}") as caught:
            f(rt.constant(value))
        assert caught.value.code.numpy() == value
        errors.append(caught.value)
    assert errors[0] is not errors[1]


def test_raise_shows_the_users_lines() -> None:
    with pytest.raises(Custom) as caught:
        rt.function(fail)(rt.constant(3))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames] == ["test_raise_shows_the_users_lines", "fail"]
    assert frames[-1].filename == __file__
    assert frames[-1].line == "raise Custom(n)"


def test_raise_in_a_loop() -> None:
    @rt.function
    def f(n):
        for i in range(n):
            if i == 2:
                raise KeyError(i, f"item {i} of {n}")
        return n

    assert f(rt.constant(2)).numpy() == 2
    with pytest.raises(KeyError) as caught:
        f(rt.constant(5))
    assert caught.value.args == (2, "item 2 of 5")


def test_raise_from() -> None:
    @rt.function
    def f(n):
        if n > 0:
            raise ValueError("outer") from KeyError("inner")
        return n

    with pytest.raises(ValueError, match="outer") as caught:
        f(rt.constant(1))
    assert isinstance(caught.value.__cause__, KeyError)


def test_assert() -> None:
    def f(n):
        assert n < 3, f"n is {n}"
        assert n < 2
        return n

    for run in (ag.convert(f), rt.function(f)):
        assert run(rt.constant(1)).numpy() == 1
        with pytest.raises(AssertionError) as caught:
            run(rt.constant(3))
        assert str(caught.value) == "n is 3\nassert 3 < 3"
        with pytest.raises(AssertionError) as caught:
            run(rt.constant(2))
        assert caught.value.args == ("assert 2 < 2",)


# rt.print and rt.debugging


def test_rt_print(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines: list[str] = []

    def f(x, n):
        rt.print("x:", x, [n, "a"], True, n > 1)
        rt.print(rt.range(10), x, output_stream=sys.stdout, summarize=2, sep=";")
        rt.print(rt.reshape(rt.range(4), [2, 2]), end="")
        rt.print(n, f"{x[0]:.2f}", output_stream=lines.append)
        rt.print(n, output_stream=f"file://{tmp_path / 'log.txt'}")

    for run in (f, rt.function(f)):
        run(rt.constant([1.0, 2.5]), rt.constant(3))
        found = capsys.readouterr()
        assert found.err == "x: [1 2.5] [3, 'a'] True 1\n[[0 1]\n [2 3]]"
        assert found.out == "[0 1 ... 8 9];[1 2.5]\n"
    assert lines == ["3 1.00\n"] * 2
    assert (tmp_path / "log.txt").read_text() == "3\n3\n"


def test_rt_print_of_strings(capsys: pytest.CaptureFixture[str]) -> None:
    """As TF prints them: a scalar alone as it is, others quoted and escaped as in C."""
    def f(s, v):
        rt.print(s)
        rt.print(v, s, "x", {"k": s}, sep="|")
        rt.print(rt.stack([v, v]), rt.repeat(s, 9), summarize=1)
        rt.print(rt.constant('a"b\n\té'))
        rt.print(rt.constant(['a"b\n\té\x01']))

    for run in (f, rt.function(f), rt.function(f, executor="numpy")):
        run(rt.constant("s"), rt.constant(["t", "u"]))
        assert capsys.readouterr().err == """s
["t" "u"]|"s"|x|{'k': "s"}
[["t" "u"]
 ["t" "u"]] ["s" ... "s"]
a"b
\té
["a\\"b\\n\\té\\001"]
"""


@pytest.mark.parametrize(("check", "message"), [
    (lambda x: rt.Assert(x[0] > 5, [x, "is small"]),
     "Expected the condition to be true. Summarized data: [1 2 3]\nis small"),
    (lambda x: rt.debugging.assert_equal(x, [1, 0, 0], message="not the same"),
     "not the same\nCondition x == y did not hold.\nIndices of first 2 different values: [[1], [2]]\n"
     "Corresponding x values: [2 3]\nCorresponding y values: [0 0]"),
    (lambda x: rt.debugging.assert_less(x[2], 3), "Condition x < y did not hold.\nx: 3, y: 3"),
    (lambda x: rt.debugging.assert_greater(x, 1, message=f"of {x[0]}"),
     "of 1\nCondition x > y did not hold.\nIndices of first 1 different values: [[0]]\n"
     "Corresponding x values: [1]\nCorresponding y values: [1]"),
    (lambda x: rt.debugging.assert_non_negative(-x[0]), "Condition x >= 0 did not hold.\nx: -1, y: 0"),
    (lambda x: rt.debugging.assert_near(rt.cast(x[0], rt.float32), 1.5),
     "Condition |x - y| <= atol + rtol * |y| did not hold.\nx: 0.5, y: 2.98023224e-06"),
    (lambda x: rt.debugging.check_numerics(rt.cast(x, rt.float32) / 0.0, "ratio"), "ratio : Tensor had Inf values"),
    (lambda x: rt.debugging.assert_rank(x, 2), "the tensor must have rank 2, but it is int32[3]"),
    (lambda x: rt.debugging.assert_rank_at_least(x, 2, "of x"),
     "of x\nthe tensor must have rank 2 or more, but it is int32[3]"),
    (lambda x: rt.debugging.assert_integer(x / 2), "the tensor must be of ints, but it is float64"),
    (lambda x: rt.debugging.assert_all_finite(rt.cast(x, rt.float32) / 0.0, "x"), "x : Tensor had Inf values"),
    (lambda x: rt.debugging.assert_scalar(x), "the tensor must have rank 0, but it is int32[3]"),
    (lambda x: rt.debugging.assert_type(x, rt.float32), "the tensor must be float32, but it is int32"),
    (lambda x: rt.debugging.assert_shapes([(x, ("N",)), (x[1:], "N")]),
     "the tensor must have the shape N, but it has the shape [2], N=3"),
])
def test_checks(check: Any, message: str) -> None:
    for run in (check, rt.function(check)):
        with pytest.raises(InvalidArgumentError) as caught:
            run(rt.constant([1, 2, 3]))
        text = str(caught.value)
        assert text.startswith(__file__)
        assert re.sub(r"^.*?:\d+: ", "", text).startswith(message)


def test_checks_that_hold() -> None:
    @rt.function
    def f(x):
        rt.Assert(x > 0, [x])
        rt.debugging.assert_positive(x)
        rt.debugging.assert_less_equal(x, x)
        rt.debugging.assert_none_equal(x, 0)
        rt.debugging.assert_near(rt.cast(x, rt.float32), 2.0)
        rt.debugging.assert_shapes([(x, ())])
        return x

    assert f(rt.constant(2)).numpy() == 2
    assert rt.debugging.is_numeric_tensor(rt.constant(1))
    assert not rt.debugging.is_numeric_tensor(rt.constant(True))


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(("kind", "slot"), [
    (SyntaxError, "msg"), (ImportError, "msg"), (StopIteration, "value"), (SystemExit, "code"), (NameError, "args"),
    (OSError, "args")])
def test_what_an_exception_has_beside_its_arguments(kind: type[BaseException], slot: str, executor: str) -> None:
    @rt.function(executor=executor)
    def f(xs):
        for i, x in enumerate(xs):
            if x > 2:
                raise kind(f"bad {x} at {i}")
        return 1

    assert int(f(np.array([1, 2]))) == 1
    with pytest.raises(kind) as caught:
        f(np.array([1, 3]))
    expected = kind("bad 3 at 1")
    assert str(caught.value) == str(expected) and getattr(caught.value, slot) == getattr(expected, slot)

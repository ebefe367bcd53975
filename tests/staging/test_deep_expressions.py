"""Expressions that nest as deeply as Python compiles them trace and run, under Python's own recursion limit."""
from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt
from tests.traced_once import on


def function_of(expression: str) -> Callable[[Any], Any]:
    """`def f(x): return expression`, with a source."""
    source = f"def f(x):\n    return {expression}\n"
    filename = f"<deep {hash(source)}>"
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    names: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), names)
    return names["f"]  # type: ignore[no-any-return]


def ternary(levels: int) -> str:
    return "".join(f"{i} if x == {i} else " for i in range(levels)) + "-1"


def chain(operands: int) -> str:
    return "x < " + " < ".join(f"x * {i}" for i in range(2, operands + 2))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_nested_expression_on_one_line_is_no_recursion(executor: str) -> None:
    f = rt.function(function_of(ternary(45)), executor=executor)
    assert [int(f(rt.constant(x))) for x in (0, 44, 45)] == [0, 44, -1]


@pytest.mark.slow
@pytest.mark.parametrize("expression", [chain(200), ternary(250)], ids=["chain", "ternary"])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_what_python_compiles_is_traced_and_runs(expression: str, executor: str) -> None:
    f, limit = function_of(expression), sys.getrecursionlimit()
    staged = on(executor, f)
    for x in (-1, 0, 1, 249):
        assert staged(rt.constant(x)).numpy() == f(x)
    assert sys.getrecursionlimit() == limit


@pytest.mark.slow
def test_a_thousand_levels() -> None:
    f = function_of(ternary(1000))
    assert int(rt.function(f)(rt.constant(999))) == 999


def test_operands_that_cannot_raise_are_no_branches() -> None:
    f = function_of(chain(40))
    names = {node.op.name for node in rt.function(f).get_concrete_function(rt.constant(1)).graph.walk()}
    assert names == {"const", "less", "multiply", "bitwise_and"}


def test_an_operand_that_may_raise_is_a_branch_that_runs_only_if_it_must() -> None:
    f = function_of("x > 0 and (x < 100 and 10 // x > 2) and x < 5")
    staged = rt.function(f)
    assert [bool(staged(rt.constant(x))) for x in (0, 1, 3, 4, 100)] == [False, True, True, False, False]


def test_recursion_that_a_tensor_decides_is_still_found_on_one_line() -> None:
    assert rt.function(lambda x: length_of_path(x, []))(rt.constant(3)) == 3


def length_of_path(x: Any, path: list[int]) -> Any:
    return x if x == len(path) else length_of_path(x, [*path, 1])

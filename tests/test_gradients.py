"""Derivatives of a sample of programs, and of random ones (`python -m tests.gradients`: all, on both executors)."""
from __future__ import annotations

import zlib
from typing import Any

import gradients
import pytest
from gradients import Unchecked, check_call, check_program, check_random
from programs import Program, load
from ways import HAS_LLVM

import runtime as rt
from runtime.autodiff.rules.registry import VJP

PROGRAMS = load()
SAMPLE = [name for name in PROGRAMS if zlib.crc32(name.encode()) % 10 == 0]
NATIVE = pytest.param("native", marks=[
    pytest.mark.slow, pytest.mark.skipif(not HAS_LLVM, reason="the native executor needs llvmlite")])
pytestmark = pytest.mark.random


@pytest.mark.parametrize("executor", ["numpy", NATIVE])
@pytest.mark.parametrize("part", range(4))
def test_programs(part: int, executor: str) -> None:
    every = 4 if executor == "numpy" else 16
    compared = 0
    for name in SAMPLE[part::every]:
        reasons = check_program(PROGRAMS[name], (executor,))
        compared += len(PROGRAMS[name].arguments) - len(reasons)
    assert compared > 3


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    assert check_random(seed, ("numpy",)) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 102))
def test_random_programs_natively(seed: int) -> None:
    check_random(seed, ("native",))


def a_list_of_rows_of_unknown_length(a: Any, b: Any, v: Any) -> Any:
    """Only some branches append to it, and rows are of length 1 before and of different lengths after."""
    rows = []
    try:
        if a < b:
            b = rt.sin(a)
        else:
            rows.append(rt.sin(v[:1]) * a)
        if a > 0.1:
            raise ValueError("v")
        rows.append(rt.sin(v[:2]) * a)
    except ValueError:
        b = b * a
    for row in rows:
        a = a * 0.5 + rt.reduce_sum(row * row)
    return a + 0.7 * b


def test_programs_that_random_ones_found() -> None:
    for a in 0.05, 0.31:
        for b in -0.52, 0.52:
            arguments = a, b, [0.4, -0.3, 0.7, 0.1]
            check_call(Program(a_list_of_rows_of_unknown_length, (arguments,)), arguments, ("numpy",))


def test_a_wrong_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def square(x: float) -> float:
        while x < 5.0:
            x = x * x
        return x

    program = Program(square, ((1.7,),))
    assert check_program(program, ("numpy",)) == []
    right = VJP["multiply"]
    monkeypatch.setitem(VJP, "multiply", lambda node, ct: [None if x is None else x * 1.001 for x in right(node, ct)])
    with pytest.raises(AssertionError, match="differences"):
        check_program(program, ("numpy",))


def test_reasons_why_calls_are_not_compared() -> None:
    def reason(fn: Any, *arguments: Any) -> str:
        with pytest.raises(Unchecked) as caught:
            check_call(Program(fn, (arguments,)), arguments, ("numpy",))
        return str(caught.value)

    assert reason(lambda x: x > 1, 2.0) == "it has no float among its results"
    assert reason(lambda x: x // 1.0, 2.3) == "its result is piecewise constant"
    assert reason(lambda x: x if x > 2.0137 else x + 1.0, 2.0) == "it is not smooth here"
    assert reason(lambda x: float("no"), 2.0) == "it raises ValueError"
    assert reason(lambda x: x, "text") == "it has no floats"


def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gradients, "EXECUTORS", ("numpy",))
    assert gradients.main(["sum_squares", "collatz"]) == 0
    assert "2 programs, 0 failed" in capsys.readouterr().out
    assert gradients.main(["--random", "1", "--seed", "3"]) == 0

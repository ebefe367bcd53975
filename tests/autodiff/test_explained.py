"""What derivatives print: what loops save, and the graphs by the command."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from autodiff.derivatives import f64

import runtime as rt
from runtime.tools.cli import main


def program(x: Any) -> Any:
    s = x
    while s < 10.0:
        s = s * x
    return s


def test_what_a_loop_saves() -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    gradient = rt.function(rt.grad(program))
    gradient(f64(1.3))
    lines = gradient.explain_native().splitlines()
    assert [line.split(": ", 1)[1] for line in lines if "saves" in line] == [
        "while_loop saves in each iteration s (float64[]): 8 bytes"]
    assert "saves" not in rt.function(program).get_concrete_function(f64(1.3)).explain_native()


def test_what_a_loop_recomputes() -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

    def program(x: Any, w: Any) -> Any:
        for _ in rt.range(10):
            x = rt.sin(x * 2.0 + w) * rt.maximum(x, w)
        return x

    gradient = rt.function(rt.grad(program))
    gradient(f64(1.3), f64(0.2))
    lines = gradient.explain_native().splitlines()
    assert [line.split(": ", 1)[1] for line in lines if "in each iteration" in line] == [
        "reduce saves in each iteration sin (float64[]), x (float64[]): 16 bytes",
        "reduce recomputes in each iteration multiply (float64[]), add (float64[]), maximum (float64[])"]


def test_the_command_prints_both_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.py").write_text(
        "def loss(x, n):\n    s = x[0]\n    for _ in range(n):\n        s = s * x[1]\n    return s\n")
    assert main(["graph", f"{tmp_path / 'model.py'}:loss", "--spec", "float32[2]", "--spec", "int32", "--grad"]) == 0
    text = capsys.readouterr().out
    assert "graph loss_forward(x: float32[2], n: int32[]) -> (float32[], float32[?]) {" in text
    assert "graph loss_backward(x: float32[2], n: int32[], saved_s: float32[?], ct_s: float32[]) -> " in text

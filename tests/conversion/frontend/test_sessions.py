"""Source of what is typed: REPLs, `python -i`, consoles, IDLE, notebooks; and of what other tools compile."""
from __future__ import annotations

import ast
import linecache
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from test_interpreters import FOUND, environment, pure_packages

import autograph as ag
import runtime as rt

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
__all__ = ["pure_packages"]

TYPED = [
    "import autograph as ag",
    "def f(x): return 41 + x if x > 0 else -1",
    "",
    "print('typed', ag.convert(f)(1))",
    "g, h = lambda x: 5 if x else 6, lambda x: 7 if x else 8",
    "print('lambdas', ag.convert(g)(0), ag.convert(h)(0))",
]
PYTHON_3_13 = sys.executable if sys.version_info[:2] == (3, 13) else FOUND.get((3, 13))


def typed(command: list[str], variables: dict[str, str], lines: list[str], last: str) -> str:
    """What a terminal shows of a session, until `last` is in it."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, variables)
    shown = b""

    def read(until: Callable[[], bool], seconds: float) -> None:
        nonlocal shown
        end = time.monotonic() + seconds
        while not until() and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    shown += os.read(terminal, 65536)
                except OSError:  # the session is over
                    return

    try:
        read(lambda: b">>> " in shown, 30)
        for line in lines:
            before = len(shown)
            os.write(terminal, f"{line}\n".encode())
            read(lambda: len(shown) > before and shown.rstrip(b" ")[-30:].find(b">>>") >= 0, 1)
        read(lambda: last.encode() in shown, 30)
    finally:
        os.write(terminal, b"\x04")
        os.close(terminal)
        os.waitpid(child, 0)
    return shown.decode(errors="replace")


@pytest.mark.skipif(PYTHON_3_13 is None, reason="no Python 3.13")
@pytest.mark.parametrize("variables", [{"PYTHON_BASIC_REPL": "1"}, {"TERM": "xterm"}], ids=["basic", "pyrepl"])
def test_the_repl_of_3_13(variables: dict[str, str], pure_packages: Path) -> None:
    shown = typed([str(PYTHON_3_13), "-q"], {**environment(pure_packages), **variables}, TYPED, "lambdas 6 8")
    assert "typed 42" in shown and "lambdas 6 8" in shown, shown[-2000:]


def piped(*arguments: str, text: str) -> str:
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run([sys.executable, "-q", *arguments], input=text, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": root})
    return done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [
    ("-i",), ("-i", "-c", "x = 1"), ("-c", "import code; code.interact()"),
], ids=["-i", "-i -c", "code.interact"])
def test_a_session_converts_or_tells_the_remedies(arguments: tuple[str, ...]) -> None:
    shown = piped(*arguments, text="\n".join([*TYPED[:4], ""]))
    if "typed 42" not in shown:
        assert sys.version_info < (3, 13) or "interact" in arguments[-1]
        assert "autograph.NoSourceError: <" in shown and ">:1: no source text for 'f'" in shown, shown
        assert "pass its text to autograph.convert_source(text, filename)" in shown
        assert "if its text is registered in linecache" in shown


def test_functions_of_the_script_of_a_session(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def f(x):\n    if x > 0:\n        return 41 + x\n    return -1\n")
    assert "typed 42" in piped("-i", str(script), text=f"{TYPED[0]}\n{TYPED[3]}\n")


def compiled(code: CodeType) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    return namespace


def test_idle_registers_what_is_typed() -> None:
    text = "def f(x):\n    if x > 0:\n        return 41 + x\n    return -1\n"
    linecache.cache["<pyshell#3>"] = len(text) + 1, 0, text.splitlines(True), "<pyshell#3>"  # type: ignore[assignment]
    f = compiled(compile(text, "<pyshell#3>", "single"))["f"]
    assert ag.convert(f)(1) == 42


def test_code_that_another_tool_compiled_from_a_tree() -> None:
    text = "# a template\nf, g = lambda x: 1 if x else 2, lambda x: 3 if x else 4\n"
    linecache.cache["<template>"] = len(text), None, text.splitlines(True), "<template>"
    tree = ast.parse(text)
    tree.body.insert(0, ast.copy_location(ast.Expr(ast.copy_location(ast.Constant(0), tree.body[0])), tree.body[0]))
    made = compiled(compile(tree, "<template>", "exec"))
    assert [ag.convert(made[name])(0) for name in "fg"] == [2, 4]


def decorate(*functions: FunctionType) -> Callable[[FunctionType], list[Any]]:
    return lambda fn: [ag.convert(f) for f in (*functions, fn)]


@decorate(lambda x: 1 if x else 2, lambda x: (lambda y: 3 if y else 4)(x), lambda x: [
    5 if x
    else 6][0])
def decorated(x: int) -> int:
    return 7 if x else 8


def test_a_cell_that_runs_again() -> None:
    """Its code is equal to that of before; Python's comparison of such takes time that doubles with each level."""
    lines = ["def deep(x):"]
    for depth in range(1, 50):
        lines += [" " * depth + f"if x > {depth}.0:", " " * (depth + 1) + f"x = x + {depth}.0"]
    text = "\n".join([*lines, " return x", ""])
    for _ in range(2):
        linecache.cache["<cell>"] = len(text), None, text.splitlines(True), "<cell>"
        cell: dict[str, Any] = {}
        exec(compile(text, "<cell>", "exec"), cell)
        assert float(rt.function(cell["deep"])(rt.constant(2.5))) == cell["deep"](2.5)


def test_lambdas_of_a_decorator() -> None:
    functions: Any = decorated
    assert [[f(x) for x in (1, 0)] for f in functions] == [[1, 2], [3, 4], [5, 6], [7, 8]]


def asserts(x: int) -> int:
    assert x > 0, "pytest has rewritten this module"
    return 1 if x > 1 else 2


def test_a_module_that_pytest_rewrote() -> None:
    assert "@pytest_ar" in globals()
    converted = ag.convert(asserts)
    assert (converted(2), converted(1)) == (1, 2)
    with pytest.raises(AssertionError, match="pytest has rewritten this module"):
        converted(0)


def test_a_real_notebook_kernel() -> None:
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed")
    root = str(Path(__file__).resolve().parents[3])
    manager, kernel = client.manager.start_new_kernel(env={**os.environ, "PYTHONPATH": root})
    try:
        outputs: list[str] = []
        for cell in ("import autograph as ag\ndef f(x):\n    if x > 0:\n        return 41 + x\n    return -1",
                     "print(ag.convert(f)(1))", "g, h = lambda x: 5 if x else 6, lambda x: 7 if x else 8",
                     "print(ag.convert(h)(0))"):
            reply = kernel.execute_interactive(
                cell, timeout=60, output_hook=lambda m: outputs.append(m["content"].get("text", "")))
            assert reply["content"]["status"] == "ok", reply
        assert "".join(outputs) == "42\n8\n"
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)

"""Functions that decide fit on a screen."""
from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINES, BRANCHES = 60, 25
"""The most that a function has, without its docstring, functions inside of it included."""
STRAIGHT = 2
"""A function with no more branches than these decides nothing: it may be as long as what it writes or lists."""


def functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int, int]]:
    """The functions of a module, with their lines and branches."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            yield node, ((node.end_lineno or 0) - body[0].lineno + 1 if body else 0), branches(node)


def branches(node: ast.AST) -> int:
    """How many ways there are to go on, less one: statements and expressions that choose, loops, `and` and `or`."""
    found = 0
    for each in ast.walk(node):
        if isinstance(each, (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)):
            found += 1
        elif isinstance(each, ast.comprehension):
            found += 1 + len(each.ifs)
        elif isinstance(each, ast.BoolOp):
            found += len(each.values) - 1
    return found


def too_large(tree: ast.Module) -> list[tuple[str, int, int]]:
    return [(node.name, lines, count) for node, lines, count in functions(tree)
            if count > BRANCHES or (lines > LINES and count > STRAIGHT)]


def test_functions_that_decide_fit_on_a_screen() -> None:
    found = {f"{path.relative_to(ROOT)}: {name}": (lines, count)
             for package in ("autograph", "runtime") for path in sorted((ROOT / package).rglob("*.py"))
             for name, lines, count in too_large(ast.parse(path.read_text()))}
    assert not found, f"functions with more than {LINES} lines or {BRANCHES} branches: {found}"


def test_a_function_that_is_too_large_is_found() -> None:
    """Plant: one that is long, one with many branches, and one that only lists."""
    long = "def long(x):\n    'text'\n" + "    if x:\n        x += 1\n" * 3 + "    x += 1\n" * LINES
    branched = "def branched(x):\n    return x" + " or x" * (BRANCHES + 1) + "\n"
    straight = "def straight(x):\n" + "    x += 1\n" * (LINES + 1)
    assert [name for name, *_ in too_large(ast.parse(long + branched + straight))] == ["long", "branched"]

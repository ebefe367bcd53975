"""`to_gast` gives what `gast.ast_to_gast` gives."""
from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import gast
import pytest

from autograph.frontend.gast_bridge import to_gast

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "tests" / "programs").glob("*.py"), *(ROOT / "autograph").rglob("*.py"), Path(ast.__file__)])


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, gast.AST):
        return one.__dict__.keys() == other.__dict__.keys() and all(
            same(value, other.__dict__[name]) for name, value in one.__dict__.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_same_trees(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert same(to_gast(tree), gast.ast_to_gast(tree))


def test_a_difference_is_seen() -> None:
    assert not same(to_gast(ast.parse("x = 1")), to_gast(ast.parse("x = 2")))
    assert not same(to_gast(ast.parse("x = 1")), to_gast(ast.parse("x  = 1")))

"""Which reads are marked as of something that may not be there."""
from __future__ import annotations

import textwrap
from typing import Any

import gast
import pytest

from autograph.analysis.definite_assignment import mark_unsure
from autograph.analysis.scopes import Scope
from autograph.frontend.tree import functions_in, walk


def mark(function: Any, around: frozenset[str]) -> None:
    """Mark a function and those made in it."""
    scope = Scope(function, frozenset(), None)
    mark_unsure(function, scope, around)
    for child, _ in functions_in(function, None):
        mark(child, around | scope.locals)


def marked(text: str, around: frozenset[str] = frozenset()) -> list[str]:
    """What is marked in a function, each with its line, in source order."""
    tree = gast.parse(textwrap.dedent(text)).body[0]
    mark(tree, around)
    nodes = [node for node in walk(tree) if getattr(node, "unsure", False)]
    texts = sorted((node.lineno, node.col_offset, gast.unparse(node).strip()) for node in nodes)
    return [f"{line}: {text}" for line, _, text in texts]


@pytest.mark.parametrize(("text", "expected"), [
    ("""
     def f(a):
         if a:
             x = 1
         return x
     """, ["5: x"]),
    ("""
     def f(a):
         if a:
             x = 1
         else:
             x = 2
         return x, a
     """, []),
    ("""
     def f(a):
         if a:
             return 0
         else:
             x = 2
         y = x
         return y
     """, []),
    ("""
     def f(a):
         while True:
             x = a
             if x:
                 break
         return x
     """, []),
    ("""
     def f(a):
         while a:
             x = a
         else:
             y = x
         return y
     """, ["6: x"]),
    ("""
     def f(a):
         for i in a:
             g(i)
         return i
     """, ["5: i"]),
    ("""
     def f(a):
         x = 1
         for i in a:
             g(x)
             del x
         return x
     """, ["5: x", "6: x", "7: x"]),
    ("""
     def f(a):
         try:
             x = g(a)
         except ValueError as e:
             y = e
         return x
     """, ["7: x"]),
    ("""
     def f(a):
         try:
             x = g(a)
         finally:
             y = x
         return x, y
     """, ["6: x"]),
    ("""
     def f(a):
         with a as b:
             x = b
         return x, b
     """, ["5: x"]),
    ("""
     def f(a):
         match a:
             case 1:
                 x = 1
             case y:
                 x = y
         return [x]
     """, ["8: x"]),
    ("""
     def f(a):
         if a:
             x = 1
         return x + 1, x < 1, x[0], x.y, f"{x}", x(a), not x
     """, ["5: x.y"]),
    ("""
     def f(a):
         if a:
             x = 1
         return [x for x in a], [x for y in a]
     """, ["5: x"]),
    ("""
     def f(a):
         if a:
             x = 1
         return lambda: x
     """, ["5: x"]),
    ("""
     def f(a):
         y = a.b
         z = a["k"], a[y], a.b.c(a.d)
         a.b = z
         return a
     """, ["3: a.b", "4: a.d"]),
    ("""
     def f(a):
         global x
         if a:
             x = 1
         return x, y
     """, []),
])
def test_marks(text: str, expected: list[str]) -> None:
    assert marked(text) == expected


def test_variables_of_functions_around_are_never_sure() -> None:
    text = """
    def f(a):
        return x, y
    """
    assert marked(text, frozenset({"x"})) == ["3: x"]

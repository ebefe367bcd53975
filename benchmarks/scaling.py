"""First calls of functions with many statements: how the time grows with their number.

Each kind of statement is repeated 100, 1,000 and 10,000 times in one function, whose first call is timed: conversion,
tracing, rewriting, lowering and LLVM. No kind may take more than 20 times as long for ten times the statements.
"""
from __future__ import annotations

import gc
import linecache
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row

__all__ = ["KINDS", "run"]

MOST: Final = 20
"""Maximal factor of the time for ten times the statements."""

KINDS: Final[dict[str, Callable[[int], str]]] = {
    "x = x * 0.5 + k": lambda k: f"x = x * 0.5 + {k}",
    "r = rt.matmul(a, r)": lambda k: "a = rt.matmul(a, a)",
    "x[k] of a vector": lambda k: f"x = x + v[{k % 100}]",
    "v[k] = x": lambda k: f"v[{k % 100}] = x",
    "items[k] = x of a list": lambda k: f"items[{k % 100}] = x",
    "items.append(x)": lambda k: "items.append(x + 1)",
    "if x > k: x = ...": lambda k: f"if x > {k}: x = x - 1.5",
    "if x == k: return k": lambda k: f"if x == {k}.25: return x + {k}, v, a, x",
    "for _ in rt.range(n)": lambda k: f"for _ in rt.range(n): x = x * 0.5 + {k}",
    "x = helper(x)": lambda k: f"x = helper(x, {k})",
    "if: continue; if: break": lambda k: f"if x == {k}: continue\nif x > {k + 9}: break",
    "if: v[k] = x, else: v[0] = k": lambda k: f"if x > {k}:\n    v[{k % 100}] = x\nelse:\n    v[0] = {k}",
}
"""By the statement shown: makes statement number k. The sizes of `if`, `for` and `return` are a tenth; statements with
a colon after `if` are put in a loop."""
_SLOW: Final = ("if", "for", "r = ")


def run(budget: Budget) -> Iterator[Row]:
    for shown, statement in KINDS.items():
        sizes = [10, 100, 1_000] if shown.startswith(_SLOW) else [100, 1_000, 10_000]
        if budget.repeat < 2:
            sizes = [size // 10 for size in sizes[:2]]
        before = None
        for size in sizes:
            found = first_call(statement, size, in_loop=shown.startswith("if:"))
            ratio = None if before is None else found / before
            target = "" if ratio is None else f"<= {MOST} times the row above"
            yield Row(f"{size:,} times {shown}", "ms", {OURS: found * 1e3}, target,
                      None if ratio is None else ratio <= MOST)
            before = found


def first_call(statement: Callable[[int], str], size: int, in_loop: bool = False) -> float:
    """The seconds of the first call of a function with `size` such statements."""
    statements = "\n".join(map(statement, range(size)))
    if in_loop:
        statements = "for _ in rt.range(n):\n" + textwrap.indent(statements, "    ")
    lines = ["def f(x, v, a, n):", "    items = [x] * 100", textwrap.indent(statements, "    "),
             "    return x, v, a, items[5]"]
    text = "\n".join([*lines, "def helper(x, k):", "    return x * 0.5 + k", ""])
    name = f"<scaling {size} {statement(1)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"rt": rt}
    exec(compile(text, name, "exec"), namespace)
    arguments = (rt.constant(0.5), rt.constant(np.zeros(100, np.float32)), rt.constant(np.eye(4, dtype=np.float32)),
                 rt.constant(3))
    gc.collect()
    gc.freeze()  # so that collections only scan this call's objects, as in a process of its own
    start = time.perf_counter()
    rt.function(namespace["f"])(*arguments)
    return time.perf_counter() - start

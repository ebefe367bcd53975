"""The rules for `fast_math` alone: what they make of graphs, where they do not apply, and what LLVM leaves of that."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rewrites import traced

import runtime as rt
from runtime.optimize import FAST, RULES, Fired, rewrite


def newton(a, x, damping):
    while rt.abs(x * x - a) > 1e-9:
        x = x - damping * (x * x - a) / (2.0 * x)
    return x


def late_divisor(a, x):
    while x < a:
        x = x + (a * 0.5) * x / rt.sqrt(rt.sqrt(x * x + 1.0) + 1.0)
    return x


def both_late(a, x):
    while x < a:
        x = x + (x + 1.0) * (x + 2.0) / a
    return x


def whole(a, x):
    while x < a:
        x = x + a * (x * x - a) // (2 * x)
    return x


def outside(a, x, damping):
    return x - damping * (x * x - a) / (2.0 * x)


def fired(fn: Callable[..., Any], *specs: str, fast_math: bool = True) -> list[str]:
    log: list[Fired] = []
    rewrite(traced(fn, *specs), log=log, fast_math=fast_math).verify()
    return [one.rule for one in log if one.rule in FAST]


def test_the_tables_are_apart() -> None:
    assert list(FAST) == ["divide early"]
    assert not FAST.keys() & RULES.keys()
    assert FAST["divide early"].doc == (
        "(p * q) / r: p / r * q. Of float scalars in a loop, where q is known so late that the division need not wait.")


def test_a_division_need_not_wait() -> None:
    graph = traced(newton, *["float64[]"] * 3)
    new = rewrite(graph, fast_math=True)
    new.verify()
    (loop,) = [node for node in new.nodes if node.op.name == "while_loop"]
    names = [node.op.name for node in loop.params["body"].nodes]
    assert names.count("divide") == 1 and names.count("multiply") == 3
    (divide,) = [node for node in loop.params["body"].nodes if node.op.name == "divide"]
    assert divide.inputs[0] in loop.params["body"].inputs or divide.inputs[0] in [v for _, v in
                                                                                 loop.params["body"].captures]
    assert fired(newton, *["float64[]"] * 3) == ["divide early"]


@pytest.mark.parametrize(("fn", "specs"), [
    (newton, ["float64[4]"] * 3), (late_divisor, ["float32[]"] * 2), (both_late, ["float32[]"] * 2),
    (whole, ["int32[]"] * 2), (outside, ["float64[]"] * 3)], ids=[
        "arrays", "late divisor", "both late", "integers", "no loop"])
def test_where_it_does_not_apply(fn: Callable[..., Any], specs: list[str]) -> None:
    if fn is newton:
        def of_arrays(a, x, damping):
            while rt.reduce_any(rt.abs(x * x - a) > 1e-9):
                x = x - damping * (x * x - a) / (2.0 * x)
            return x

        fn = of_arrays
    assert fired(fn, *specs) == []


def test_without_fast_math_and_on_numpy_bits_stay() -> None:
    assert fired(newton, *["float64[]"] * 3, fast_math=False) == []
    arguments = [rt.constant(v, rt.float64) for v in (2.0, 3.0, 0.01)]
    exact = rt.function(newton, executor="numpy")(*arguments)
    assert rt.function(newton, executor="numpy", fast_math=True)(*arguments).numpy() == exact.numpy()


@pytest.mark.optimised
def test_llvm_divides_early() -> None:
    """It would make one quotient of a product again."""
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    arguments = [rt.constant(v, rt.float64) for v in (2.0, 3.0, 0.01)]
    fast = rt.function(newton, executor="native", fast_math=True)
    found, exact = fast(*arguments).numpy(), rt.function(newton, executor="native")(*arguments).numpy()
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    text = fast.inspect_llvm()
    (quotient,) = re.findall(r"(%\S+) = fdiv fast double", text)
    assert re.search(rf"arithmetic\.fence\.f64\(double {quotient}\)", text)

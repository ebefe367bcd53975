"""Random numeric programs give the same natively; `python -m tests.fuzz --numeric N` runs as many as one likes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from fuzz.numeric import campaign, judge, unexplained
from fuzz.numeric_programs import NumericProgram, generate
from fuzz.numeric_values import Argument

from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE
from runtime.backends.native.llvm.builder import const

COUNT = 60
FOUND = (2145, 3513, 3812, 100783, 101354, 4471, 1602)
"""Seeds of programs that found faults: products in another order, code after what surely raises, complex constants of
loops in registers, and complex products that overflow."""


@pytest.mark.parametrize("seed", range(0, COUNT, 30))
def test_programs(seed: int) -> None:
    results = list(campaign(30, seed))
    found = [str(r.failure) for r in results if r.failure is not None]
    assert not found, "\n".join(found)
    assert sum(bool(r.refused) for r in results) <= 6, "most programs stage; others write a tensor of two names"


@pytest.mark.parametrize("seed", FOUND)
def test_programs_that_found_faults(seed: int) -> None:
    assert judge(generate(seed))[0] == ""


def test_a_seed_is_a_program() -> None:
    assert str(generate(7)) == str(generate(7)) != str(generate(8))


def test_programs_have_all_that_they_are_for() -> None:
    programs = [generate(seed) for seed in range(300)]
    text = "".join(program.text for program in programs)
    parts = ("while ", "for x", "in rt.range(", "if ", "else:", ".append(", "rt.stack(", ":-1", "rt.cast(",
             "reduce_prod(", "cumsum", "matmul", "einsum", "rt.sort(", "top_k", "rt.gather(", "scatter_nd", "rt.where(",
             "rt.pad(", "keepdims=True", "] += ", " = 1.0", " ** ", " // ", "rt.concat(")
    assert [part for part in parts if part not in text] == []
    arguments = [argument for program in programs for argument in program.arguments.values()]
    assert len({argument.dtype for argument in arguments}) >= 12
    assert len({argument.layout for argument in arguments}) == 5
    assert {257, 1000, 0} <= {size for argument in arguments for size in argument.shape}
    assert not any(argument.array().flags.writeable for argument in arguments)


PLANTED = {  # text, op, and what is lowered in its place
    "a sum rounded to fewer bits": (
        "return a + a * 0.3,", "add", lambda b, x, y: b.fadd(x, b.fmul(y, const(y.ty, 1 + 1e-6)))),
    "a comparison that takes equal ones": (
        "return rt.cast(a < a, rt.int32),", "less", lambda b, x, y: b.fcmp("ole", x, y)),
    "a function some units off": ("return rt.tanh(a),", "tanh", lambda b, x: b.fmul(x, const(x.ty, 0.99999))),
    "a step of a recurrence off": (
        "h = a[0]\n    for x in a:\n        h = 0.5 * h - x\n    return h,", "subtract",
        lambda b, x, y: b.fsub(x, b.fmul(y, const(y.ty, 1 + 1e-6)))),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, op, lowered = PLANTED[name]
    program = NumericProgram(f"def program(a):\n    {text}\n", {"a": Argument("float32", (64,), "unit")}, False)
    assert judge(program)[0] == ""
    wrong: Callable[..., Any] = lambda b, dtype, *xs: lowered(b, *xs)
    monkeypatch.setitem(ELEMENTWISE, op, wrong)
    assert judge(program)[0] != ""


def test_rounding_explains_no_more_than_it_does() -> None:
    """Results between those of moved runs, and as far beyond them as they are apart."""
    want, near, far = ([np.array([value, 0.0, 2.0], np.float32)] for value in (1.0, 0.75, 1.25))
    for value in (0.8, 1.0, 1.5, 0.3):
        assert unexplained([np.array([value, 0.0, 2.0], np.float32)], want, [want, near, far]) is None
    for values in ([1.8, 0.0, 2.0], [np.nan, 0.0, 2.0], [np.inf, 0.0, 2.0], [1.0, -0.0, 2.0], [1.0, 0.0, 2.0000002]):
        assert unexplained([np.array(values, np.float32)], want, [want, near, far]) is not None
    assert unexplained(ValueError, want, [want, near, far]) is not None
    assert unexplained(ValueError, want, [want, near, ValueError]) is None

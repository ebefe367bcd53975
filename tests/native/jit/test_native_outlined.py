"""Large modules: their loops are functions, and equal ones are one."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt

compile_ = pytest.importorskip("runtime.backends.native.jit.compile")
pytestmark = pytest.mark.optimised


def program(x: Any, n: Any) -> Any:
    kept = []
    for i in rt.range(n):
        for _ in rt.range(2):
            x = rt.reverse(x, [0]) * 1.5
            x = rt.cumsum(x, 0) - rt.cast(i, rt.float64)
        x = rt.cumsum(rt.reverse(x, [0]), 0)
        kept.append(rt.reduce_sum(x))
    y = rt.cumsum(rt.reverse(rt.cumsum(rt.reverse(x, [0]), 0), [0]), 0)
    return y, rt.stack(kept)


def defined(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("define ")]


def test_outlined_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = rt.TensorSpec([None], rt.float64), rt.TensorSpec([], rt.int32)
    found = []
    for large in 10 ** 9, 0:
        monkeypatch.setattr(compile_, "_LARGE", large)
        monkeypatch.setattr(compile_, "_LONG", 100)
        f = rt.function(program, input_signature=spec, executor="native")
        x, n = np.array([0.5, 2.0, -1.0]), rt.constant(3)
        found.append(f(x, n))
        text = f.get_concrete_function().inspect_llvm()
        functions = defined(text)
    assert len(functions) > 3  # of loops, as deep as they are in long ones
    assert "optnone" not in text
    reference = rt.function(program, input_signature=spec, executor="numpy")(x, n)
    for results in found:
        for result, expected in zip(results, reference, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_errors_and_interrupts_leave_outlined_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_, "_LARGE", 0)
    monkeypatch.setattr(compile_, "_LONG", 0)

    @rt.function(executor="native")
    def first_above(x: Any, limit: Any) -> Any:
        i = 0
        while x[i] <= limit:
            i += 1
        return i

    x = rt.constant([1.0, 2.0, 3.0])
    assert first_above(x, 1.5).numpy() == 1
    with pytest.raises(IndexError):
        first_above(x, 5.0)

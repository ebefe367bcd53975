"""Loops that LLVM is to vectorise are compiled apart from the rest of a large module."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

import runtime as rt
from runtime.backends.native.jit.vectorized_parts import divided
from runtime.backends.native.llvm.builder import ACCESSES

MODULE = f"""\
@table = internal constant [2 x i64] [i64 1, i64 2]
declare i64 @llvm.smax.i64(i64, i64)
define internal float @twice(float %a0) alwaysinline nounwind {{
  %v1 = fadd float %a0, %a0
  ret float %v1
}}
define internal i64 @other(ptr %a0, i64 %a1) noinline nounwind {{
  ret i64 %a1
}}
define internal void @equal.0(ptr %v1, i64 %v2) noinline nounwind {{
entry:
  %v3 = load float, ptr %v1, align 4, {ACCESSES} !0
  %v4 = call float @twice(float %v3)
  %v5 = call i64 @other(ptr %v1, i64 %v2)
  ret void
}}
define i32 @body(ptr noalias %frame, ptr noalias %args) nounwind {{
entry:
  call void @equal.0(ptr %args, i64 3)
  ret i32 0
}}
!0 = distinct !{{}}
"""


def test_functions_with_such_loops_are_apart() -> None:
    two = divided(MODULE)
    assert two is not None
    assert re.findall(r"^(?:define|declare) .*@[\w.]+", two.rest, re.MULTILINE) == [
        "declare i64 @llvm.smax.i64", "define internal float @twice", "define i64 @other", "declare void @equal.0",
        "define i32 @body"]
    assert re.findall(r"^(?:define|declare) .*@[\w.]+", two.vectorized, re.MULTILINE) == [
        "declare i64 @llvm.smax.i64", "define internal float @twice", "declare i64 @other", "define void @equal.0"]
    assert "declare void @equal.0(ptr, i64) noinline nounwind" in two.rest
    for text in two:
        assert text.startswith("@table") and text.endswith("!0 = distinct !{}\n")


def test_modules_that_are_not_divided() -> None:
    assert divided(MODULE.replace(ACCESSES, "!tbaa")) is None
    assert divided(MODULE.replace("equal.0", "body").replace("i32 @body", "i32 @entry")) is None
    assert divided(MODULE.replace("noinline", 'noinline "vector-function-abi-variant"="x"')) is None


def test_a_large_function_with_such_loops() -> None:
    """The derivative of a loop transposes matrices in each iteration."""
    def f(y: Any, w: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(w)
            for _ in rt.range(4):
                for k in range(4):
                    y = y + 0.1 * rt.tanh((y + float(k)) @ w)
            total = rt.reduce_sum(y ** 2)
        return total, tape.gradient(total, w)

    specs = [rt.TensorSpec([None, 3]), rt.TensorSpec([3, 3])]
    native, reference = (rt.function(f, input_signature=specs, executor=name) for name in ("native", "numpy"))
    assert divided(native.get_concrete_function().inspect_llvm(False)) is not None, "it has no such loops"
    w = rt.constant(np.random.default_rng(0).random((3, 3), np.float32))
    for rows in (1, 2, 40):
        x = rt.constant(np.random.default_rng(1).random((rows, 3), np.float32))
        for found, expected in zip(native(x, w), reference(x, w), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-4)

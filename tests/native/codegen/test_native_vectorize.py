"""Loops that store several elements at a time: lines of every length, known and not; and when LLVM makes vectors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import compare

import runtime as rt
from runtime.backends.native.llvm.builder import PARALLEL

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from runtime.backends.native.jit import compile

RNG = np.random.default_rng(0)


def short(x, y):
    return x * y + 1.0, x > y


def long(x, y):
    return rt.where(x > 0.0, rt.tanh(x) * rt.exp(-y), x / (1.0 + rt.abs(y))), rt.cast(rt.floor(x), rt.int8)


def of_several_widths(x, y):
    wide = rt.cast(x, rt.float64) * 0.5
    return wide, rt.cast(wide > 0.25, rt.uint8), rt.cast(y, rt.int16)


def of_rows(x, y):
    return x + rt.reshape(y, [-1])[:1], rt.expand_dims(x, 0) * rt.expand_dims(y, 1)


def of_columns(x, y):
    z = rt.expand_dims(x, 0) + rt.expand_dims(y, 1)
    return rt.reduce_sum(z, 0), rt.reduce_max(z, 0), rt.reduce_sum(z, [0, 1])


def with_calls(x, y):
    """Functions whose rare cases are calls."""
    return rt.sin(x * 100.0), rt.math.floormod(y, 0.3)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("fn", [short, long, of_several_widths, of_rows, of_columns, with_calls])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 50, 63, 64, 65, 127, 130, 257])
def test_lines_of_every_length(fn: Callable[..., Any], size: int, relaxed: bool) -> None:
    numbers = np.random.default_rng(size)  # the same in any order of the tests
    x, y = (numbers.normal(size=size).astype(np.float32) for _ in range(2))
    if fn is of_columns:  # sums of few bits are exact in any order
        x, y = np.rint(x * 8), np.rint(y * 8)
    compare(fn, x, y, relaxed=relaxed, ulps=3 if fn in (long, with_calls) else 0)


@pytest.mark.parametrize("size", [5, 16, 50, 64, 131])
def test_state_that_is_written_in_place(size: int) -> None:
    """The last few elements of a line are computed once: twice would see what was stored."""
    def steps(x):
        for _ in rt.range(5):
            x = x * 0.5 + 1.0 / (x + 3.0)
        return x

    compare(steps, RNG.random(size, np.float32))


def text_of(fn: Callable[..., Any], *specs: rt.TensorSpec) -> str:
    return str(rt.function(fn, executor="native").get_concrete_function(*specs).inspect_llvm(optimized=False))


@pytest.mark.parametrize("fn", [short, long, of_several_widths, of_columns])
def test_llvm_need_not_make_vectors(fn: Callable[..., Any]) -> None:
    for size in (50, None):
        text = text_of(fn, *[rt.TensorSpec([size], rt.float32)] * 2)
        assert PARALLEL not in text and " x float>" in text


def test_llvm_makes_vectors_where_elements_lie_apart() -> None:
    assert PARALLEL in text_of(lambda x: rt.transpose(x) + 1.0, rt.TensorSpec([40, 30], rt.float32))


def beside(x, y):
    return rt.stack([x, x, x]) - rt.reduce_sum(y * y)


@pytest.mark.parametrize("size", [3, 6, 10, 14])
def test_rows_of_short_lines_beside_each_other(size: int) -> None:
    compare(beside, np.arange(size, dtype=np.int32), np.arange(5, dtype=np.int32))


@pytest.mark.optimised
@pytest.mark.parametrize("dtype", [rt.int32, rt.float64, rt.complex64, rt.int8], ids=lambda d: d.name)
def test_stores_go_up_in_memory(dtype: rt.DType) -> None:
    """Of stores that go down, LLVM 22 makes code that is not valid for some sizes."""
    for size in range(2, 40):
        f = rt.function(beside, executor="native", input_signature=[
            rt.TensorSpec([size], dtype), rt.TensorSpec([5], dtype)])
        text = f.get_concrete_function().inspect_llvm(optimized=False)
        module, machine = compile.parsed(text, compile.target()), compile.target()
        compile._optimize(module, machine, text)
        module.verify()


@pytest.mark.optimised
def test_stores_that_go_down() -> None:
    """Of such stores LLVM 22 makes code that is not valid: then it is made again without SROA."""
    text = ["define void @body(ptr %to, ptr %from) {", "  %m = alloca i8, i64 72, align 64"]
    for k, (at, lanes) in enumerate([(0, 4), (24, 4), (48, 4), (16, 2), (40, 2), (64, 2)]):
        text += [f"  %p{k} = getelementptr i8, ptr %m, i64 {at}",
                 f"  %q{k} = getelementptr i8, ptr %from, i64 {at % 24}",
                 f"  %v{k} = load <{lanes} x i32>, ptr %q{k}, align 4",
                 f"  store <{lanes} x i32> %v{k}, ptr %p{k}, align 4"]
    for k, (at, lanes) in enumerate([(0, 16), (64, 2)]):
        text += [f"  %f{k} = getelementptr i8, ptr %m, i64 {at}", f"  %t{k} = getelementptr i8, ptr %to, i64 {at}",
                 f"  %w{k} = load <{lanes} x i32>, ptr %f{k}, align 4",
                 f"  store <{lanes} x i32> %w{k}, ptr %t{k}, align 4"]
    text += ["  ret void", "}"]
    compile.optimized("\n".join(text), compile.target()).verify()


def updated(x, y):
    """Written over an operand."""
    for _ in rt.range(3):
        x = x * 0.5 + y
    return x


def widened(x, y):
    return rt.cast(x, rt.float64) * 2.0, rt.cast(y > x, rt.int32) + 1, rt.where(x > y, x, y)


def of_each_row(x, y):
    return rt.reduce_sum(x * y, -1), rt.reduce_max(x, -1), rt.reduce_any(x > y, -1), rt.nn.softmax(x - y)


@pytest.mark.parametrize("fn", [short, long, updated, widened, of_each_row])
def test_lines_of_unknown_sizes(fn: Callable[..., Any]) -> None:
    """Of sizes below and above one register, several registers, and a remainder."""
    specs = [rt.TensorSpec([None, None])] * 2
    native, reference = (rt.function(fn, input_signature=specs, executor=name) for name in ("native", "numpy"))
    random = np.random.default_rng(0)
    for rows, columns in ((3, size) for size in (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 127, 130)):
        x, y = (rt.constant(random.random((rows, columns), np.float32)) for _ in range(2))
        for found, expected in zip(rt.nest.flatten(native(x, y)), rt.nest.flatten(reference(x, y)), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), 2e-5, 1e-6, err_msg=str(columns))

"""Large functions: their sections are functions, and what leaves these leaves all of it."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt

outlining = pytest.importorskip("runtime.backends.native.llvm.outlining")
pytestmark = pytest.mark.optimised


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions are long, and sections short."""
    for name, lines in ("LARGE", 0), ("LONG", 30), ("SECTION", 10):
        monkeypatch.setattr(outlining, name, lines)


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


def test_sections_compute_the_same(small: None) -> None:
    spec = rt.TensorSpec([None], rt.float64), rt.TensorSpec([], rt.int32)
    x, n = np.array([0.5, 2.0, -1.0]), rt.constant(3)
    f = rt.function(program, input_signature=spec, executor="native")
    results = f(x, n)
    functions = defined(f.get_concrete_function().inspect_llvm(optimized=False))
    assert sum("@section." in line for line in functions) > 5  # within loops, too
    assert any("@equal." in line for line in functions)
    reference = rt.function(program, input_signature=spec, executor="numpy")(x, n)
    for result, expected in zip(results, reference, strict=True):
        np.testing.assert_array_equal(result, expected)


def test_errors_leave_sections(small: None) -> None:
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


@pytest.mark.parametrize("is_caught", [False, True])
def test_variables_are_written_back_by_sections_that_an_error_leaves(small: None, is_caught: bool) -> None:
    """All sections branch to the same blocks, which use what earlier sections computed."""
    eager, traced = ([rt.Variable(float(k)) for k in range(6)] for _ in range(2))

    def steps(held: list[Any], place: Any) -> None:
        for k, variable in enumerate(held):
            variable.assign(variable * 2.0 + held[k - 1])
            for i in rt.range(3):
                rt.debugging.assert_none_equal(3 * k + i, place)

    def caught(held: list[Any], place: Any) -> None:
        try:
            steps(held, place)
        except rt.errors.InvalidArgumentError:
            held[0].assign(-1.0)

    body = caught if is_caught else steps
    native = rt.function(lambda place: body(traced, place), executor="native")
    for place in range(-1, 18, 4):
        errors = []
        for run in (lambda place: body(eager, place)), native:
            try:
                run(rt.constant(place))
                errors.append(False)
            except rt.errors.InvalidArgumentError:
                errors.append(True)
        assert errors[0] == errors[1] == (place >= 0 and not is_caught)
        for one, other in zip(eager, traced, strict=True):
            assert one.numpy() == other.numpy()
    if not is_caught:
        text = native.get_concrete_function(rt.constant(0)).inspect_llvm(optimized=False)
        assert "@section." in text
        assert "%kept." in text


def test_regions() -> None:
    regions = pytest.importorskip("runtime.backends.native.llvm.regions")
    text = """
  %n = add i64 %a0, 1
  br label %do
do:
  %i = phi i64 [ 0, %entry ], [ %j, %join ]
  br i1 %c, label %then, label %join
then:
  br i1 %bad, label %leave, label %join
join:
  %j = add i64 %i, 1
  br i1 %again, label %do, label %end
end:
  br i1 %worse, label %leave, label %last
leave:
  store i64 %i, ptr %place
  ret i32 1
last:
  ret i32 0""".splitlines()[1:]
    separated = regions.separated(text, {"%i": "i64"})
    assert separated.ends == [
        "leave:", "  %leave.i = load i64, ptr %kept.i", "  store i64 %leave.i, ptr %place", "  ret i32 1"]
    assert separated.cells == {"%kept.i": "i64"}
    assert separated.lines[4] == "  store i64 %i, ptr %kept.i"
    top = regions.structure(separated.lines)
    loop, rest = top.regions
    assert separated.lines[loop.start] == "  br label %do"
    assert loop.is_loop
    assert separated.lines[loop.stop] == "  br i1 %worse, label %leave, label %last"
    assert not rest.is_loop
    assert separated.lines[top.stop] == "  ret i32 0"
    (inside,) = [chain for chain in loop.chains if chain.regions]
    assert not any(region.is_loop for region in inside.regions)


def test_loop_before_a_return() -> None:
    regions = pytest.importorskip("runtime.backends.native.llvm.regions")
    text = """
  br i1 %bad, label %leave, label %more
more:
  br i1 %worse, label %leave, label %last
leave:
  br label %undo
undo:
  %k = phi i64 [ 0, %leave ], [ %m, %undo ]
  %m = add i64 %k, %n
  br i1 %again, label %undo, label %out
out:
  ret i32 1
last:
  ret i32 0""".splitlines()[1:]
    ends = regions.separated(["  %n = add i64 %a0, 1", *text], {"%n": "i64"}).ends
    start = ends.index("undo:")
    assert ends[start + 1:start + 4] == [
        "  %k = phi i64 [ 0, %leave ], [ %m, %undo ]", "  %undo.n = load i64, ptr %kept.n",
        "  %m = add i64 %k, %undo.n"]

"""Loops that a function has several times are one function that it calls, and blocks that write variables back are
shared: the text of a program that is written out grows with the program, and means what it says."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.backends.native.llvm import outlining
from runtime.backends.native.llvm.regions import Chain, structure

RNG = np.random.default_rng(0)
X = RNG.normal(size=(10, 10)).astype(np.float32)
STEPS: dict[str, Any] = {
    "product": lambda r, x: rt.matmul(x, r) * np.float32(0.3),
    "product and bias": lambda r, x: rt.nn.relu(rt.matmul(r, x) + x) * np.float32(0.1),
    "sum that is used": lambda r, x: x * rt.tanh(rt.reduce_sum(r)),
    "two sums": lambda r, x: r * np.float32(0.5) + rt.tanh(rt.reduce_sum(r, 0)) * rt.tanh(rt.reduce_sum(x * r)),
    "sorted": lambda r, x: rt.sort(r + x, 0) * np.float32(0.5),
    "slices": lambda r, x: rt.concat([r[1:], x[:1]], 0) * np.float32(0.9),
}
"""By name: a step from `r` to the next `r`, which a program repeats."""


def written_out(name: str, count: int) -> Any:
    def program(x: Any) -> Any:
        r = x
        for _ in range(count):
            r = STEPS[name](r, x)
        return r

    return program


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions are large enough."""
    monkeypatch.setattr(outlining, "LARGE", 0)


@pytest.mark.optimised
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("has_shape", [True, False])
def test_outlined_programs_compute_the_same(small: None, name: str, has_shape: bool) -> None:
    program = written_out(name, 7)
    signature = [rt.TensorSpec([10, 10] if has_shape else [None, None], rt.float32)]
    results = [rt.function(program, input_signature=signature, autograph=False, executor=executor)(X).numpy()
               for executor in ("native", "numpy")]
    np.testing.assert_allclose(*results, rtol=2e-5, atol=1e-6)


def test_equal_loops_are_one_function() -> None:
    def lines(count: int) -> int:
        function = rt.function(written_out("product", count), autograph=False, executor="native")
        return function.lower(X).inspect_llvm(optimized=False).count("\n")

    inline, many, more = lines(2), lines(40), lines(80)
    assert inline > 300
    assert (more - many) / 40 < 40


def test_normal_form() -> None:
    one = ["do1:", "  %v2 = phi i64 [ 0, %entry ], [ %v3, %do1 ]", "  %v3 = add i64 %v2, 1",
           "  br i1 %v4, label %do1, label %end5, !llvm.loop !0"]
    metadata = ["!0 = distinct !{!0, !2}", "!1 = distinct !{!1, !2}", '!2 = !{!"llvm.loop.unroll.disable"}',
                "!3 = distinct !{!3}"]
    same = [line.replace("v3", "x").replace("do1", "do7").replace("!0", "!1") for line in one]
    form = outlining.normal_form(one, metadata)
    assert outlining.normal_form(same, metadata) == form
    others = [one[:2] + ["  %v3 = add i64 %v2, 2"] + one[3:], one[:2] + ["  %v3 = add i64 %v4, 1"] + one[3:],
              [line.replace("!0", "!3") for line in one], one[:-1]]
    for other in others:
        assert outlining.normal_form(other, metadata) != form


def variables() -> list[Any]:
    kinds = [lambda: rt.Variable(1.0), lambda: rt.Variable(rt.ones([3])),
             lambda: rt.Variable(rt.ones([2]), shape=[None]), lambda: rt.Variable(rt.constant(1))]
    return [make() for make in kinds * 2]


def assigned(held: list[Any], place: Any, rounds: int, again: bool) -> None:
    """Assign to all, and fail at a place."""
    for i in range(rounds) if rounds == 1 else rt.range(rounds):
        for k, variable in enumerate(held):
            variable.assign(variable + rt.cast(k + 1, variable.dtype))
            if again and k:
                held[k // 2].assign(held[k // 2] * rt.cast(2, held[k // 2].dtype))
            rt.debugging.assert_none_equal(i * len(held) + k, place, message=f"after {k}")


@pytest.mark.optimised
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("is_caught", [False, True])
def test_assignments_before_an_error_take_effect(rounds: int, again: bool, is_caught: bool) -> None:
    """An op that fails after each of many assignments, to variables that are assigned once or twice."""
    eager, traced = variables(), variables()

    def caught(held: list[Any], place: Any) -> Any:
        try:
            assigned(held, place, rounds, again)
        except rt.errors.InvalidArgumentError:
            held[0].assign(held[0] - 100.0)
            return 1
        return 0

    body = caught if is_caught else lambda held, place: assigned(held, place, rounds, again)
    native = rt.function(lambda place: body(traced, place), executor="native")
    for place in range(rounds * len(eager) + 1):
        outcomes = []
        for run in (lambda place: body(eager, place)), native:
            try:
                outcomes.append(run(rt.constant(place)))
            except rt.errors.InvalidArgumentError as error:
                outcomes.append(str(error).split("after ")[1][:1])
        assert (outcomes[0] is None) == (outcomes[1] is None) or is_caught
        assert outcomes[0] == outcomes[1]
        for one, other in zip(eager, traced, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
            one.assign(rt.ones_like(one))
            other.assign(rt.ones_like(other))


def test_many_variables_make_blocks_in_proportion() -> None:
    def lines(count: int) -> int:
        held = [rt.Variable(rt.ones([300])) for _ in range(count)]

        def program(x: Any) -> None:
            for variable in held:
                variable.assign_add(rt.sort(x * variable[0])[::-1])

        function = rt.function(program, autograph=False, executor="native")
        return function.lower(rt.ones([300])).inspect_llvm(optimized=False).count("\n")

    few, some, many = lines(50), lines(75), lines(100)  # with these, arrays are no longer on the stack
    assert many - some < 1.1 * (some - few)


def test_loops_within_a_loop_that_tests_first() -> None:
    """The chain of its body is among the chains of its region."""
    lines = ["  br label %head", "head:", "  %i = phi i64 [ 0, %entry ], [ %j, %after ]",
             "  br i1 %a, label %body, label %end", "body:", "  %j = add i64 %i, 1", "  br label %inner", "inner:",
             "  br i1 %b, label %inner, label %after", "after:", "  br label %head", "end:", "  ret i32 0"]

    def loops(chain: Chain) -> list[tuple[int, int]]:
        inner = [found for region in chain.regions for part in region.chains for found in loops(part)]
        return [(region.start, region.stop) for region in chain.regions if region.is_loop] + inner

    assert len(loops(structure(lines))) == 2

"""`rt.debugging.enable_check_numerics`: the op and line of the first infinity or NaN, forward and backward."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import runtime as rt
from runtime.core.recording import recorders
from tests.traced_once import on


@pytest.fixture(autouse=True)
def checked() -> Iterator[None]:
    rt.debugging.enable_check_numerics()
    yield
    rt.debugging.disable_check_numerics()


def infinite(x: Any) -> Any:
    y = x * 2.0
    return 1.0 + rt.math.log(y)  # here


def root(x: Any) -> Any:
    return rt.sqrt(x)  # whose derivative at 0 is infinite


@pytest.mark.parametrize("executor", ["eager", "numpy", "native"])
def test_the_first_that_is_not_finite_is_named(executor: str) -> None:
    call = infinite if executor == "eager" else on(executor, infinite)
    found = r"(?s)test_check_numerics.py.*result of log is not finite"
    with pytest.raises(rt.errors.InvalidArgumentError, match=found) as e:
        call(rt.constant(0.0))
    assert "# here" in str(e.value)
    assert call(rt.constant(0.5)).numpy() == 1.0


@pytest.mark.parametrize("executor", ["eager", "numpy", "native"])
def test_backward(executor: str) -> None:
    gradient = rt.grad(root) if executor == "eager" else rt.function(rt.grad(root), executor=executor)
    with pytest.raises(rt.errors.InvalidArgumentError, match="in the derivative of sqrt, is not finite") as e:
        gradient(rt.constant(0.0))
    assert "whose derivative at 0 is infinite" in str(e.value)
    assert gradient(rt.constant(4.0)).numpy() == 0.25


@pytest.mark.parametrize("derive", [rt.hessian, rt.jacfwd, lambda f: lambda x: rt.jvp(f, (x,), (x + 1.0,))])
@pytest.mark.parametrize("staged", [False, True])
def test_forward_mode_and_second_order(derive: Any, staged: bool) -> None:
    program = rt.function(derive(root)) if staged else derive(root)
    with pytest.raises(rt.errors.InvalidArgumentError, match="in the derivative of sqrt, is not finite") as e:
        program(rt.constant(0.0))
    assert "whose derivative at 0 is infinite" in str(e.value)
    program(rt.constant(4.0))


def test_it_ends() -> None:
    rt.debugging.disable_check_numerics()
    assert not recorders
    assert rt.math.log(rt.constant(0.0)).numpy() == -float("inf")
    assert rt.function(infinite)(rt.constant(0.0)).numpy() == -float("inf")

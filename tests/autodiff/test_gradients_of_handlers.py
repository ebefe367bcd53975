"""Derivatives of what a `try` changed before it raised, through its handlers."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from autodiff.derivatives import f64
from traced_once import on_both

import runtime as rt


def at_once(x: Any) -> Any:
    y = x
    try:
        y = y * y
        if x > 1.0:
            raise ValueError("no")
        y = y * 2.0
    except ValueError:
        y = y * 3.0 * x
    return y


def in_a_loop(x: Any) -> Any:
    y = x
    n = 0
    try:
        while y < 1000.0:
            y = y * y * 1.3 + x
            n += 1
            if n > 3:
                raise ValueError("no")
            if y > 100.0:
                raise KeyError("no")
            y = y + 1.0
        y = y * 0.5
    except ValueError:
        y = rt.sin(y) * 3.0
    except KeyError:
        y = rt.cos(y) * y
    return y


def around_a_loop_in_a_loop(x: Any) -> Any:
    y = x
    try:
        for i in rt.range(3):
            for _ in rt.range(i + 1):
                y = y * 1.3
                if y > 4.0:
                    raise ValueError("no")
                try:
                    y = y + 0.3
                    if y > 3.0:
                        raise KeyError("k")
                except KeyError:
                    y = y * x
                y = rt.sin(y) * 4.0
    except ValueError:
        y = y * y
    return y


def nested(x: Any) -> Any:
    y = x
    try:
        y = y * y
        try:
            if y > 10.0:
                raise ValueError("no")
            y = y + 1.0
            if y > 7.0:
                raise KeyError("no")
            y = y * 2.0
        except KeyError:
            y = y * y
            if y > 70.0:
                raise
        y = y + 5.0
    except Exception as e:
        y = y * 3.0 * x + rt.cast(len(str(e)), rt.float64)
    return y


def at_last(x: Any) -> Any:
    y = x
    try:
        try:
            y = y * y
            if y > 3.0:
                raise ValueError("no")
            y = y * x
        finally:
            y = y * y * 0.5
    except ValueError:
        y = rt.sin(y) * x
    return y


def raised_by_the_test(x: Any) -> Any:
    s = 0.0 * x[0]
    i = 0
    try:
        while x[i] > 0.0:
            s = s * s + x[i]
            i += 1
    except IndexError:
        s = s * 3.0
    return s


def lists(x: Any) -> Any:
    kept = []
    y = x
    try:
        for _ in rt.range(5):
            y = rt.sin(y) * 3.0
            kept.append(y)
            if y < 0.5:
                raise ValueError("a")
    except ValueError:
        kept.append(y * y)
    s = x * 0.0
    for v in kept:
        s = s * v + v
    return s


def raised_again(x: Any) -> Any:
    y = x
    z = x
    try:
        for _ in rt.range(4):
            try:
                y = y * y
                if y > 3.0:
                    raise ValueError("a")
                z = z * y
            except ValueError as e:
                y = y + z
                if z > 1.5:
                    raise KeyError("b") from e
                if y > 30.0:
                    raise
                z = z * 1.5
    except KeyError:
        z = z * y
    except ValueError:
        z = z + y * y
    return z


class Overflow(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def held_by_the_error(x: Any) -> Any:
    y = x
    try:
        y = y * y
        if y > 2.0:
            raise Overflow(y * 3.0)
        if y > 1.5:
            raise Overflow(x * 2.0)
        y = y * 2.0
    except Overflow as e:
        y = y * e.value * x
    return y


def through_another_try(x: Any) -> Any:
    y = x
    try:
        try:
            y = y * y
            if y > 4.0:
                raise Overflow(y * 2.0)
            if y > 1.0:
                raise KeyError("no")
        except KeyError:
            y = y * 3.0
            if y > 6.0:
                raise Overflow(y + x) from None
        except IndexError:
            y = x
    except Overflow as e:
        y = y * e.value
    return y


def jumps(x: Any) -> Any:
    y = x
    for _ in rt.range(6):
        try:
            y = y * y
            if y > 5.0:
                raise ValueError("a")
            if y > 4.0:
                break
            y = y + 0.9
        except ValueError:
            y = y * 0.2
            continue
        y = y * 1.1
    return y


def checkpoints(every: Any) -> Any:
    def program(x: Any) -> Any:
        y = x
        try:
            for _ in rt.range(20):
                rt.autograph.set_loop_options(checkpoint=every)
                y = rt.sin(y) * 1.3 + x
                if y > 2.7:
                    raise ValueError("no")
        except ValueError:
            y = y * y * x
        return y

    return program


PROGRAMS = [
    (at_once, [2.0, 0.7]), (in_a_loop, [0.3, 1.1, 3.0]), (nested, [1.0, 2.6, 3.0, 4.0]), (at_last, [1.2, 2.0]),
    (raised_by_the_test, [[1.0, 2, 3], [1.0, -1, 2]]), (lists, [0.7, 1.2]), (raised_again, [1.05, 1.6, 1.8, 2.0, 0.9]),
    (held_by_the_error, [1.1, 1.3, 2.0]), (through_another_try, [0.5, 1.2, 1.7, 2.5]),
    (jumps, [0.5, 1.4, 2.1]), (around_a_loop_in_a_loop, [0.7, 1.5]),
    (checkpoints("sqrt"), [0.7, 1.5]), (checkpoints(("binomial", 3)), [0.7, 1.5]),
]
SLOW = (in_a_loop, around_a_loop_in_a_loop, lists, raised_again)


@pytest.mark.parametrize("program, points", [pytest.param(
    program, points, id=f"{program.__name__}-{k}", marks=[pytest.mark.slow] if program in SLOW else [])
    for k, (program, points) in enumerate(PROGRAMS)])
def test_derivatives(program: Any, points: list[Any]) -> None:
    """By the graph, of first and second order, in both modes, as eagerly, where the path is Python's."""
    def total(x: Any) -> Any:
        return rt.reduce_sum(rt.grad(program)(x))

    def along(x: Any) -> Any:
        return rt.jvp(program, [x], [rt.ones_like(x)])[1]

    first = on_both(rt.grad(program)).values()
    slope = rt.function(along, executor="numpy")
    second = [rt.function(rt.grad(f), executor="numpy") for f in (total, along)]
    for x in map(f64, points):
        expected = rt.grad(program)(x)
        for gradient in first:
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-9)
        np.testing.assert_allclose(slope(x), rt.reduce_sum(expected), rtol=1e-9)
        expected = rt.grad(total)(x)
        for gradient in second:
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-9, atol=1e-12)


def test_lanes_that_raise_and_that_do_not() -> None:
    x = f64([0.5, 2.0, 0.7, 3.0])
    expected = [rt.grad(at_once)(v).numpy() for v in x]
    np.testing.assert_allclose(rt.function(rt.vmap(rt.grad(at_once)))(x), expected, rtol=1e-12)


def test_effects_of_the_body_happen_once() -> None:
    v, log = rt.Variable(0.0, dtype=rt.float64), rt.Variable(0)

    @rt.function
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x
            try:
                for _ in rt.range(5):
                    y = y * x
                    v.assign(y)
                    log.assign_add(1)
                    if y > 5.0:
                        raise ValueError("no")
            except ValueError:
                y = y * v
        return tape.gradient(y, x)

    np.testing.assert_allclose(program(f64(2.0)), 12.0 * 8.0)  # v is a constant for this tape: it does not watch it
    assert (v.numpy(), log.numpy()) == (8.0, 2)


def test_errors_of_handlers_and_those_that_none_catches() -> None:
    def program(x: Any) -> Any:
        y = x
        try:
            y = y * y
            if y > 2.0:
                raise ValueError("first")
            if y > 1.0:
                raise TypeError("second")
        except ValueError as e:
            y = y * y
            if y > 100.0:
                raise RuntimeError("third") from e
            if y > 50.0:
                raise
        return y

    for gradient in on_both(rt.grad(program)).values():
        np.testing.assert_allclose(gradient(f64(2.0)), 4 * 2.0 ** 3)
        with pytest.raises(ValueError, match="first"):
            gradient(f64(2.9))
        with pytest.raises(TypeError, match="second"):
            gradient(f64(1.2))
        with pytest.raises(RuntimeError, match="third") as caught:
            gradient(f64(4.0))
        assert isinstance(caught.value.__cause__, ValueError)
        np.testing.assert_allclose(gradient(f64(0.5)), 1.0)


def held_again(x: Any) -> Any:
    y = x
    try:
        try:
            y = y * y
            if y > 2.0:
                raise Overflow(y)
        except Overflow:
            y = y * 2.0
            raise
    except Overflow as e:
        y = y * e.value
    return y


def held_by_three(x: Any) -> Any:
    y = x
    for _ in rt.range(3):
        try:
            try:
                try:
                    y = y * x
                    if y > 2.0:
                        raise Overflow(y * x)
                    if y > 1.0:
                        raise ValueError(y, x)
                finally:
                    y = y + x
            except (Overflow, ValueError) as e:
                if x > 1.2:
                    raise e
                y = y * 0.5
        except Overflow as e:
            y = y / e.value
        except ValueError as e:
            y = y * e.args[0] - e.args[1]
    return y


@pytest.mark.parametrize(("program", "points"), [
    (held_again, [2.0, 1.2]), (held_by_three, [1.1, 1.25, 1.7, 0.6])])
def test_what_an_error_holds_that_is_raised_again_for_another_try(program: Any, points: list[float]) -> None:
    for point in points:
        h = 1e-6
        with np.errstate(all="ignore"):
            want = (program(np.float64(point + h)) - program(np.float64(point - h))) / (2 * h)
        for gradient in on_both(rt.grad(program)).values():
            np.testing.assert_allclose(gradient(f64(point)), want, rtol=1e-5)


@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_a_test_that_raises_in_a_loop_with_a_maximum_of_iterations(most: int) -> None:
    def program(x: Any, most: Any) -> Any:
        y = x[0]
        try:
            _, y = rt.while_loop(lambda i, y: x[i] > 0.0, lambda i, y: (i + 1, y * x[i]), (0, y),
                                 maximum_iterations=most)
            y = y * y
            if y > 5.0:
                raise ValueError("no")
        except (IndexError, ValueError):
            y = y * 3.0
        return y

    for numbers in [1.5, 2.0, -1.0], [1.5, 2.0]:
        x = f64(numbers)
        want = rt.grad(program)(x, most)
        for gradient in on_both(rt.grad(program)).values():
            np.testing.assert_allclose(gradient(x, most), want)
            np.testing.assert_allclose(gradient(x, rt.constant(most)), want)
    if most == 9:
        np.testing.assert_allclose(rt.grad(program)(f64([1.5, 2.0, -1.0]), 9), [162.0, 60.75, 0.0])


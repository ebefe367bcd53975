"""`rt.GradientTape`: what TF2's does, eagerly, in traced functions and over calls of these."""
from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.autodiff.rules.registry import VJP
from runtime.autodiff.tape import GradientWarning
from runtime.core.recording import recorders
from runtime.core.trace import open_traces

pytestmark = pytest.mark.skipif(not {"sin", "list_get"} <= set(VJP), reason="the rules of ops are not there yet")

X = rt.constant(3.0)


def ways(program: Callable[..., Any]) -> list[Callable[..., Any]]:
    return [program, rt.function(program), rt.function(program, executor="numpy")]


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([plain(item) for item in x])
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    return x if x is None else x.numpy().tolist()


def test_structures() -> None:
    def program(x: Any, y: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch({"a": x, "b": [y]})
            out = {"p": x * y, "q": [x * x]}
        return tape.gradient(out, {"a": x, "b": [y], "c": (x,)})

    for way in ways(program):
        assert plain(way(X, rt.constant(5.0))) == {"a": 11.0, "b": [3.0], "c": (11.0,)}


def test_output_gradients() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, output_gradients=rt.constant([1.0, 10.0]))

    for way in ways(program):
        assert plain(way(rt.constant([1.0, 2.0]))) == [2.0, 40.0]


def test_output_gradients_that_do_not_fit() -> None:
    x = rt.constant([1.0, 2.0])
    with rt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match=r"an output gradient has shape \(3,\), but its target has shape \(2,\)"):
        tape.gradient(y, x, output_gradients=rt.constant([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="there are 1 targets, but 2 output_gradients"):
        tape.gradient(y, x, output_gradients=[y, y])
    assert plain(tape.gradient(y, x)) == [2.0, 4.0]


def test_unconnected_gradients() -> None:
    def program(x: Any, y: Any) -> Any:
        with rt.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = x * x
        return tape.gradient(z, y), tape.gradient(z, [x, y], unconnected_gradients="zero"), tape.gradient(
            z, y, unconnected_gradients=rt.UnconnectedGradients.ZERO)

    for way in ways(program):
        assert plain(way(X, rt.constant([5.0, 6.0]))) == (None, [6.0, [0.0, 0.0]], [0.0, 0.0])
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'no'"):
        rt.GradientTape().gradient(X, X, unconnected_gradients="no")


def test_what_is_not_recorded_has_no_gradient() -> None:
    def program(x: Any) -> Any:
        before = x * x
        with rt.GradientTape(persistent=True) as tape:
            early = x * x
            tape.watch(x)
            with tape.stop_recording():
                pause = x * x
            late = x * x
        after = x * x
        return [tape.gradient(y, x) for y in (before, early, pause, late, after)]

    for way in ways(program):
        assert plain(way(X)) == [None, None, None, 6.0, None]


def test_sources_in_between() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            z = y * y
        return tape.gradient(z, [x, y])

    for way in ways(program):
        assert plain(way(X)) == [108.0, 18.0]


def test_a_tape_is_used_once() -> None:
    with rt.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    assert plain(tape.gradient(y, X)) == 6.0
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used to compute one set"):
        tape.gradient(y, X)
    with rt.GradientTape() as again:
        again.watch(X)
        y = X * X
    assert plain(again.gradient(y, X)) == 6.0


def test_gradient_inside_of_its_own_context() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
            first = tape.gradient(y, x)
            late = first * x
        with rt.GradientTape(persistent=True) as other:
            other.watch(x)
            y = x * x * x
            second = other.gradient(other.gradient(y, x), x)
        return first, late, second

    for way in ways(program):
        assert plain(way(X)) == (27.0, 81.0, 18.0)


def test_nested_tapes() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as outer:
            outer.watch(x)
            with rt.GradientTape() as inner:
                inner.watch(x)
                y = x * x * x * x
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    for way in ways(program):
        assert plain(way(X)) == (108.0, 108.0)


def test_variables() -> None:
    v, w = rt.Variable(3.0), rt.Variable(4.0, trainable=False)

    def program() -> Any:
        with rt.GradientTape(persistent=True) as tape:
            y = v * v * w
            tape.watch(w)
            z = v * w
        assert [x.name for x in tape.watched_variables()] == [v.name, w.name]
        return tape.gradient(y, [v, w]), tape.gradient(z, [v, w])

    for way in ways(program):
        assert plain(way())[0][0] == 24.0
        assert plain(way())[1] == [4.0, 3.0]


def test_variables_that_are_not_watched() -> None:
    v = rt.Variable(3.0)

    def program() -> Any:
        with rt.GradientTape(watch_accessed_variables=False) as tape:
            y = v * v
        assert tape.watched_variables() == ()
        return tape.gradient(y, v)

    for way in ways(program):
        assert way() is None


def test_the_value_of_a_variable_is_that_which_was_read() -> None:
    v = rt.Variable(2.0)

    def program() -> Any:
        v.assign(2.0)
        with rt.GradientTape() as tape:
            y = v * v
            v.assign(10.0)
            y = y * v
        return tape.gradient(y, v)  # y = a * a * b, by both reads: 2 a b + a a

    for way in ways(program):
        assert plain(way()) == 44.0


def test_reset() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            tape.reset()
            tape.watch(x)
            z = x * x * x
        return tape.gradient(y, x), tape.gradient(z, x)

    for way in ways(program):
        assert plain(way(X)) == (None, 27.0)


def test_calls_of_functions() -> None:
    v = rt.Variable(2.0)
    k = rt.constant(5.0)

    @rt.function
    def program(x: Any, n: Any) -> Any:
        y = x
        for _ in rt.range(n):
            y = y * v + k
        return {"y": y, "n": n}

    for _ in range(2):
        with rt.GradientTape(persistent=True) as tape:
            tape.watch([X, k])
            out = program(X, rt.constant(3))
        assert plain(out) == {"y": 59.0, "n": 3}
        assert plain(tape.gradient(out["y"], [X, v, k])) == [8.0, 61.0, 7.0]
        assert [x.name for x in tape.watched_variables()] == [v.name]
    assert program.experimental_get_tracing_count() == 1
    assert plain(program(X, rt.constant(3)))["y"] == 59.0


def test_functions_call_the_native_front_again_after_a_tape() -> None:
    @rt.function
    def square(x: Any) -> Any:
        return x * x

    for _ in range(3):
        square(X)
        with rt.GradientTape() as tape:
            tape.watch(X)
            y = square(X)
        assert plain(tape.gradient(y, X)) == 6.0
        assert plain(square(X)) == 9.0


def test_effects_of_a_recorded_call_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    v = rt.Variable(0.0)

    @rt.function
    def program(x: Any) -> Any:
        v.assign_add(1.0)
        print("called", x)
        return x * x

    with rt.GradientTape() as outer:
        outer.watch(X)
        with rt.GradientTape() as tape:
            tape.watch(X)
            y = program(X)
        g = tape.gradient(y, X)
    assert plain(outer.gradient(g, X)) == 2.0
    assert v.numpy() == 1 and capsys.readouterr().out == "called 3.0\n"


def test_an_int_warns_once_and_has_no_gradient() -> None:
    n = rt.constant(3)
    with rt.GradientTape(persistent=True) as tape:
        with pytest.warns(GradientWarning, match="dtype of the watched tensor must be floating"):
            tape.watch(n)
        tape.watch(X)
        y = rt.cast(X, rt.int32)
    with pytest.warns(GradientWarning, match="dtype of the target tensor must be floating"):
        assert tape.gradient(y, X) is None
    for _ in range(2):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            for _ in range(3):
                assert tape.gradient(y, X) is None
        assert len(found) <= 1


def test_what_is_no_tensor() -> None:
    with rt.GradientTape(persistent=True) as tape:
        with pytest.raises(ValueError, match="Passed in object 'x' of type 'str'"):
            tape.watch("x")
        tape.watch(X)
        y = X * X
    with pytest.raises(TypeError, match="a source is a tensor or a variable that the tape watched, not 3"):
        tape.gradient(y, 3)
    with pytest.raises(TypeError, match="a target is a tensor"):
        tape.gradient(2.0, X)
    with pytest.raises(ValueError, match="still recording"), tape, tape:
        pass
    with pytest.raises(ValueError, match="Cannot pause recording"), rt.GradientTape().stop_recording():
        pass


def test_jacobian() -> None:
    def program(x: Any, y: Any) -> Any:
        with rt.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = x * x
            for _ in rt.range(2):
                z = z * rt.reduce_sum(x)
        return tape.jacobian(z, {"x": x, "y": y}), tape.jacobian(z, y, unconnected_gradients="zero")

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    s = x.sum()
    expected = np.einsum("ij,ik,jl->ijkl", 2 * x * s * s, np.eye(2), np.eye(2)) + (2 * s * x * x)[..., None, None]
    for way in ways(program):
        found, zero = way(rt.constant(x), rt.constant([1.0, 2.0, 3.0]))
        np.testing.assert_allclose(found["x"], expected)
        assert found["y"] is None and zero.numpy().tolist() == np.zeros((2, 2, 3)).tolist()


def test_batch_jacobian() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = rt.stack([x[:, 0] * x[:, 1], x[:, 0] * x[:, 0], x[:, 1]], axis=1)
        return tape.batch_jacobian(y, x)

    for way in ways(program):
        assert plain(way(rt.constant([[1.0, 2.0], [3.0, 4.0]]))) == [
            [[2.0, 1.0], [2.0, 0.0], [0.0, 1.0]], [[4.0, 3.0], [6.0, 0.0], [0.0, 1.0]]]
    with rt.GradientTape() as tape:
        tape.watch(X)
        y = X * X
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(y, X)


def test_tapes_in_loops_and_branches() -> None:
    def program(w: Any) -> Any:
        for _ in rt.range(3):
            with rt.GradientTape() as tape:
                tape.watch(w)
                loss = w * w
                if loss > 1.0:
                    loss = loss * w
            w = w - 0.1 * tape.gradient(loss, w)
        return w

    expected = plain(program(rt.constant(2.0)))
    for way in ways(program):
        assert plain(way(rt.constant(2.0))) == pytest.approx(expected)


def test_a_gradient_asked_for_in_a_branch() -> None:
    def program(x: Any) -> Any:
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in rt.range(3):
                y = y * x
        if x > 2.0:
            g = tape.gradient(y, x)
        else:
            g = x
        return g

    for way in ways(program):
        assert plain(way(X)) == 108.0
    for way in ways(program):
        assert plain(way(rt.constant(1.0))) == 1.0


def test_rows_and_parts() -> None:
    v = rt.Variable([1.0, 2.0, 3.0])

    def program() -> Any:
        with rt.GradientTape() as tape:
            s = v[0] * v[0]
            for row in v:
                s = s + row * row
        return tape.gradient(s, v)

    for way in ways(program):
        assert plain(way()) == [4.0, 4.0, 6.0]


def test_threads_have_tapes_of_their_own() -> None:
    found: dict[int, Any] = {}

    @rt.function
    def program(x: Any) -> Any:
        while x < 100.0:
            x = x * x
        return x

    def work(k: int) -> None:
        x = rt.constant(float(k + 2))
        for _ in range(50):
            with rt.GradientTape() as tape:
                tape.watch(x)
                y = program(x) + x * x
            found[k] = plain(tape.gradient(y, x))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: 8 * 2.0 ** 7 + 4, 1: 8 * 3.0 ** 7 + 6, 2: 4 * 4.0 ** 3 + 8, 3: 4 * 5.0 ** 3 + 10}


def test_nothing_is_recorded_where_no_tape_is_open() -> None:
    with pytest.raises(ZeroDivisionError), rt.GradientTape():
        1 / 0
    assert not recorders and not open_traces


def test_a_loop_that_reads_several_variables():
    """Each is read once before the loop, also where the read before it is of another variable."""
    first, second = rt.Variable([[1.0, 2.0], [0.5, 1.0]]), rt.Variable([[0.5, 0.0], [1.0, 2.0]])

    @rt.function
    def gradients(x):
        with rt.GradientTape() as tape:
            for _ in rt.range(3):
                x = x * first + x * second
            loss = rt.reduce_sum(x)
        return tape.gradient(loss, [first, second])

    found = gradients(rt.ones([2, 2]))
    expected = 3.0 * (first + second).numpy() ** 2
    for gradient in found:
        np.testing.assert_allclose(gradient.numpy(), expected)


def test_variables_as_targets() -> None:
    """The result of an assignment is the variable itself, whose derivative by itself is 1."""
    x, c = rt.Variable(2.0), rt.Variable(3.0)

    def fn():
        found = []
        for of in (lambda: x.assign_add(1.0), lambda: x.assign(5.0), lambda: [x, x * x, c]):
            x.assign(2.0)
            with rt.GradientTape(persistent=True) as tape:
                y = of()
            found.append(tape.gradient(y, [x, c], unconnected_gradients="zero"))
        return found, tape.gradient(x, x, rt.constant(7.0))

    for way in fn, rt.function(fn), rt.function(fn, executor="numpy"):
        found, seeded = way()
        assert [[float(x) for x in pair] for pair in found] == [[1, 0], [1, 0], [5, 1]] and float(seeded) == 7

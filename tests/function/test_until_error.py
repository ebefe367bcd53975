"""What a call has changed before an error is there after it, as in Python."""
from __future__ import annotations

import dataclasses
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.function.until_error import ChangesWarning


@dataclasses.dataclass
class Pair:
    x: float
    k: int = 0


class State:
    def __init__(self) -> None:
        self.n, self.total, self.log, self.table, self.pair = 0, 0.0, list[Any](), {"a": 1.0}, Pair(2.0)
        self.weights = np.ones(3, np.float32)


state, numbers = State(), list[int]()
count = 0


def attributes(o, xs, x):
    state.n += 1
    state.total = state.total + x
    state.log.append(x)
    state.table["b"] = x
    state.pair.k += 1
    if x > 1:
        raise ValueError("large")
    state.n += 10
    state.table["a"] = state.table["a"] * 2
    return x


def arguments(o, xs, x):
    o.k += 1
    o.x = o.x + x
    xs.append(x)
    if x > 1:
        raise KeyError("large")
    xs.append(x * 2)
    return o.x


def variables(o, xs, x):
    global count
    for i in range(3):
        count += 1
        numbers.append(i)
        if x * i > 2:
            raise IndexError("large")
    return x


def over_tensors(o, xs, x):
    total = x * 0
    for v in rt.range(4):
        state.n += 1
        o.x = o.x + 1.0
        if rt.cast(v, rt.float32) > x:
            raise ValueError("large")
        total += x
    return total


def always(o, xs, x):
    state.n += 1
    o.k += 2
    raise ValueError("always")


def in_handlers(o, xs, x):
    state.n += 1
    try:
        state.total = state.total + x
        if x > 0.75:
            raise ValueError("large")
        state.n += 5
    except ValueError:
        state.log.append(x)
        if x > 1:
            raise KeyError("larger") from None
    finally:
        o.k += 1
    return x


def of_python(o, xs, x):
    state.total = state.total + x
    state.log.append(state.total)
    return x * {0: 1.0, 1: 2.0}[len(xs)]


def of_an_op(o, xs, x):
    state.n += 1
    state.log.append(x)
    y = 6 // (rt.cast(x, rt.int32) - 2)
    state.n += 1
    return y


def arrays(o, xs, x):
    for i in range(3):
        state.weights[i] += x
        if x * i > 1:
            raise ValueError("large")
    return x


def printed(o, xs, x):
    state.n += 1
    print("before", len(state.log))
    state.log.append(1)
    if x > 1:
        raise ValueError("large")
    print("after")
    return x


def plain(value: Any) -> Any:
    if isinstance(value, (rt.Tensor, np.ndarray, np.generic, float, int)):
        return np.round(np.asarray(value, np.float64), 4).tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return plain(vars(value)) if hasattr(value, "__dict__") else value


def history(fn: Callable[..., Any], of: Callable[[Any], Any]) -> list[Any]:
    global count
    State.__init__(state)
    numbers.clear()
    count = 0
    o, xs, log = Pair(1.0), list[Any](), list[Any]()
    for x in (0.5, 2.0, 1.5, 1.0, 2.0, 0.5, 3.0):
        try:
            result = plain(fn(o, xs if fn is not of_python else [0] * (int(x) + 0), of(x)))
        except Exception as error:
            result = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
        log.append([result, plain(o), plain(xs), plain(state), plain(numbers), count])
    return log


FUNCTIONS = [attributes, arguments, variables, over_tensors, always, in_handlers, of_python, of_an_op, arrays, printed]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", FUNCTIONS)
def test_as_in_python(fn: Callable[..., Any], executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    want, text = history(lambda *args: fn(*args), np.float32), capsys.readouterr().out
    assert history(rt.function(fn, executor=executor), rt.constant) == want
    assert capsys.readouterr().out == text


def test_what_cannot_run_again_leaves_everything_as_it_was() -> None:
    variable = rt.Variable(1.0)

    @rt.function
    def f(x):
        state.n += 1
        variable.assign_add(x)
        if x > 1:
            raise ValueError("large")
        return x

    State.__init__(state)
    for x, n in (0.5, 1), (2.0, 1), (0.5, 2):
        if x > 1:
            with pytest.raises(ValueError, match="large"):
                f(rt.constant(x))
        else:
            f(rt.constant(x))
        assert state.n == n
    assert variable.numpy() == 4


def test_a_trace_that_fails_leaves_no_values_of_its_graph() -> None:
    @rt.function
    def f(x, size):
        state.log.append(x)
        state.total = x
        state.n += 1
        return rt.reshape(x, [size])

    State.__init__(state)
    with pytest.raises(rt.errors.ShapeError):
        f(rt.constant([1.0, 2.0]), 3)
    assert state.log == [] and state.total == 0.0 and state.n == 0
    f(rt.constant([1.0, 2.0]), 2)
    assert len(state.log) == 1 and state.n == 1 and state.total.shape == (2,)  # type: ignore[attr-defined]


def test_the_error_is_the_users() -> None:
    @rt.function
    def f(o, x):
        o.k += 1
        if x > 1:
            raise ValueError("large")
        return x

    with pytest.raises(ValueError, match="large") as caught:
        f(Pair(1.0), rt.constant(2.0))
    assert caught.value.__context__ is None and caught.traceback[-1].name == "f"


NUMBER, TABLE, ITEMS = 1, {"x": 1}, [1.0]


class Flag:
    busy = 0


FLAG = Flag()


def restores_global(x: Any) -> Any:
    global NUMBER
    NUMBER = 2
    if x > 2:
        raise ValueError
    NUMBER = 1
    return x


def restores_dict(x: Any) -> Any:
    TABLE["x"] = 2
    if x > 2:
        raise ValueError
    TABLE["x"] = 1
    return x


def restores_list(x: Any) -> Any:
    ITEMS.append(7.0)
    if x > 2:
        raise ValueError
    ITEMS.pop()
    return x


def restores_attribute(x: Any) -> Any:
    FLAG.busy = 3
    y = 1 // (3 - rt.cast(x, rt.int32))
    FLAG.busy = 0
    return y


def restored() -> list[Any]:
    return [int(NUMBER), {key: int(x) for key, x in TABLE.items()}, [float(x) for x in ITEMS], int(FLAG.busy)]


def reset() -> None:
    global NUMBER
    NUMBER, FLAG.busy = 1, 0
    TABLE["x"] = 1
    ITEMS[:] = [1.0]


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("function", [restores_global, restores_dict, restores_list, restores_attribute])
def test_what_the_rest_would_have_restored(function: Callable[[Any], Any], executor: str) -> None:
    traced = rt.function(function, executor=executor)
    for x in (1.0, 1.0, 3.0, 1.0, 3.0, 3.0):  # the later ones run in the fastest way
        left = []
        for f in (function, traced):
            reset()
            try:
                f(rt.constant(x))
            except (ValueError, ZeroDivisionError):
                pass
            left.append(restored())
        assert left[0] == left[1]
    reset()


def test_that_nothing_has_changed_is_found_once() -> None:
    @rt.function
    def f(x):
        if x > 2:
            raise ValueError("large")
        return x

    f(rt.constant(1.0))
    (trace,) = f.concrete_functions
    assert trace.can_change
    for _ in range(3):
        with pytest.raises(ValueError, match="large"):
            f(rt.constant(3.0))
    assert not trace.can_change


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_writes_to_arrays_in_the_branch_that_raises(executor: str) -> None:
    def f(a, x):
        a[0] = 1
        for i in range(len(a)):
            if a[i] > x:
                a[1] = 7
                raise KeyError("large")
            a[i] += 2

    traced = rt.function(f, executor=executor)
    for x in (9.0, 4.0, 9.0, 4.0, 0.0, 9.0):
        expected, found = np.arange(6.0), np.arange(6.0)
        for function, a in (f, expected), (traced, found):
            try:
                function(a, rt.constant(x, rt.float64))
            except KeyError:
                pass
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_arrays_and_variables_that_one_call_changes(executor: str) -> None:
    def f(a, v, x):
        v.assign_add(x)
        a[0] = v.read_value() + a[1]
        if x > 5:
            raise ValueError("large")

    traced, v = rt.function(f, executor=executor), rt.Variable(0.0)
    for x, total in (1.0, 1.0), (2.0, 3.0), (3.0, 6.0):
        a = np.ones(2, np.float32)
        traced(a, v, rt.constant(x))
        assert [*a] == [total + 1, 1] and v.numpy() == total
    with pytest.raises(ValueError, match="large"):
        traced(np.ones(2, np.float32), v, rt.constant(6.0))
    assert v.numpy() == 12


def leaves_python(o, xs, x):
    xs.append(x)
    if x > 1:
        sys.exit(f"{x} is large")
    xs.append(x * 2)
    return x


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_changes_before_the_program_ends(executor: str) -> None:
    staged, xs = rt.function(leaves_python, executor=executor), list[Any]()
    assert int(staged(None, xs, np.int64(1))) == 1 and [int(x) for x in xs] == [1, 2]
    with pytest.raises(SystemExit, match="^3 is large$"):
        staged(None, xs, np.int64(3))
    assert [int(x) for x in xs] == [1, 2, 3]


def test_changes_that_are_lost_are_reported() -> None:
    def refused(*_: Any, **__: Any) -> bool:
        raise rt.errors.StagingError("no `try` here")

    log: list[Any] = []
    staged: Any = rt.function(leaves_python)
    staged._until_error = refused
    with pytest.raises(SystemExit), pytest.warns(
            ChangesWarning, match="^leaves_python: what the call has changed before its error is lost, since the "
            "function cannot be staged up to there: no `try` here$"):
        staged(None, log, np.int64(3))
    assert log == []


class Stop(BaseException):
    pass


def stops(kind, xs, x):
    try:
        for k in range(3):
            xs.append(x)
            if x > k:
                raise kind(f"{x} is large")
    finally:
        xs.append(-1)
    return x


@pytest.mark.parametrize("kind", [Stop, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_changes_before_an_error_that_is_no_exception(kind: type[BaseException], executor: str) -> None:
    staged, xs = rt.function(stops, executor=executor), list[Any]()
    assert int(staged(kind, xs, np.int64(0))) == 0 and [int(x) for x in xs] == [0, 0, 0, -1]
    for _ in range(2):
        xs.clear()
        with pytest.raises(kind, match="^2 is large$"):
            staged(kind, xs, np.int64(2))
        assert [int(x) for x in xs] == [2, -1]


@rt.function
def interrupted(xs, x):
    xs.append(x)
    signal.raise_signal(signal.SIGINT)
    xs.append(x)
    return x


def test_a_signal_handler_in_a_trace_is_no_error_of_the_program() -> None:
    xs = list[Any]()
    with pytest.raises(KeyboardInterrupt):
        interrupted(xs, rt.constant(1))
    assert xs == []

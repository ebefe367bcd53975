"""Calls with arrays and numbers that native code serves by a known trace, and those that it must not."""
from __future__ import annotations

import math
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest
from python_calls import native_call

import runtime as rt
from runtime.core.tensor import EagerTensor

RATE = 2.0
LOG: list[int] = []


def scaled(a, b, k):
    for i in range(len(a)):
        a[i] = a[i] + RATE * b[i]
    b[k] = a[0]
    return a[1]


def logged(a, b, k):
    LOG.append(1)
    return scaled(a, b, k)


def both(f: Any, fn: Any, a: Any, b: Any, k: int) -> None:
    """Compare a traced call with Python's on copies that alias in the same way."""
    first = a.copy()
    second = first if a is b else b.copy()
    results: list[Any] = []
    for call, x, y, place in (f, a, b, rt.constant(k)), (fn, first, second, k):
        try:
            results.append(float(call(x, y, place)))
        except IndexError:
            results.append(IndexError)
    assert results[0] == results[1]
    assert (a == first).all() and (b == second).all()


@pytest.fixture
def f() -> Any:
    made = rt.function(scaled, executor="native")
    for _ in range(2):
        both(made, scaled, np.arange(4.0), np.ones(4), 1)
    assert len(made._front[2]) == 1
    return made


def test_results_and_writes(f: Any) -> None:
    for k in range(4):
        both(f, scaled, np.arange(4.0) + k, np.ones(4) * k, k)
    assert f.experimental_get_tracing_count() == 1


def test_an_error_leaves_what_was_written(f: Any) -> None:
    both(f, scaled, np.arange(4.0), np.ones(4), 9)
    both(f, scaled, np.arange(4.0), np.ones(4), 2)


def test_arrays_of_other_kinds(f: Any) -> None:
    both(f, scaled, np.arange(8.0)[::2], np.ones(4), 1)
    both(f, scaled, np.arange(4.0), np.ones(8)[::-2], 1)
    both(f, scaled, np.arange(4, dtype=np.float32), np.ones(4), 1)
    both(f, scaled, np.arange(5.0), np.ones(5), 1)
    both(f, scaled, np.arange(4.0).astype(">f8"), np.ones(4), 1)
    fixed = np.ones(4)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(fixed, np.ones(4), rt.constant(1))
    both(f, scaled, np.arange(4.0), np.ones(4), 1)


def test_arrays_that_share_memory(f: Any) -> None:
    same = np.arange(4.0)
    both(f, scaled, same, same, 1)
    base = np.arange(6.0)
    with pytest.raises(rt.errors.StagingError, match="may share memory"):
        f(base[:4], base[2:], rt.constant(1))
    assert base.tolist() == [0, 1, 2, 3, 4, 5]
    both(f, scaled, base[:3], base[3:], 1)
    both(f, scaled, base[:3], base[3:], 1)


def test_globals_that_change(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "RATE", 3.0)
    for _ in range(3):
        both(f, scaled, np.arange(4.0), np.ones(4), 1)


def test_what_else_a_call_changes() -> None:
    """Such calls take the general path."""
    LOG.clear()
    f = rt.function(logged, executor="native")
    for count in range(1, 4):
        f(np.arange(4.0), np.ones(4), rt.constant(1))
        assert len(LOG) == count
    with pytest.raises(IndexError):
        f(np.arange(4.0), np.ones(4), rt.constant(9))
    assert len(LOG) == 4 and not f._front


def test_arrays_that_are_returned() -> None:
    @rt.function(executor="native")
    def returned(a):
        a[0] += 1.0
        return a, {"sum": a.sum()}

    a = np.zeros(3)
    for count in range(1, 5):
        result, more = returned(a)
        assert a.tolist() == np.asarray(result).tolist() == [count, 0, 0] and float(more["sum"]) == count
    assert a.flags.writeable


def test_in_a_trace_and_under_a_tape(f: Any) -> None:
    outer = rt.function(lambda a, b: f(a, b, rt.constant(1)) * 2.0, executor="native")
    for _ in range(3):
        a, b = np.arange(4.0), np.ones(4)
        assert float(outer(a, b)) == 6.0 and a.tolist() == [2, 3, 4, 5]
    with rt.GradientTape() as tape:
        x = rt.Variable(1.0, dtype=rt.float64)
        a = np.arange(4.0)
        y = f(a, np.ones(4), rt.constant(1)) * x
    assert float(tape.gradient(y, x)) == 3.0 and a.tolist() == [2, 3, 4, 5]


def counted(a, n, x):
    for i in range(n % 7 + 1):
        a[i] = a[i] * x + i


def cubed(a, n, x):
    for i in range(3):
        a[i] += x
    a[n % 4] = float(n * n * n)


@pytest.mark.filterwarnings("ignore::runtime.function.arguments.retracing.RetracingWarning")
@pytest.mark.parametrize("fn", [counted, cubed])
def test_numbers_that_become_inputs(fn: Any) -> None:
    """Where a product of these may exceed 64 bits, such a call runs again with them as constants."""
    f = rt.function(fn, executor="native")
    for n, x in ((1, 0.5), (2, 1.5), (3, 2.5), (9, 3.5), (2**40, 0.25), (5, 7.5), (4, 1.25), (2**41 + 2, 2.0)):
        found, expected = np.zeros(4), np.zeros(4)
        errors = []
        for call, a in (f, found), (fn, expected):
            try:
                call(a, n, x)
                errors.append(None)
            except IndexError:
                errors.append(IndexError)
        assert errors[0] is errors[1] and (found == expected).all(), (n, x)
    assert all(trace._executable.overwritten for trace in f.concrete_functions)


def summed(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        b[i] = total


@pytest.mark.parametrize("executor", ["native", "numpy"])
def test_a_function_without_a_result_makes_no_tensor(executor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = rt.function(summed, executor=executor)
    arrays = np.arange(5.0), np.zeros(5)
    assert f(*arrays) is None
    known = len(f._front[2]) if f._front else 0
    if known:
        monkeypatch.setattr(EagerTensor, "own", None)
    for k in range(3):
        arrays[0][:] = k
        assert f(*arrays) is None
        assert arrays[1].tolist() == [k * i for i in range(1, 6)] and arrays[1].flags.writeable
    assert known == (executor == "native")
    with pytest.raises(IndexError):
        f(arrays[0], arrays[1][:3])
    assert arrays[1].tolist() == [2, 4, 6, 8, 10]


def stepped(a, n, x):
    for i in range(len(a)):
        a[i] = a[i] * x + n
    return a[0] / (a[1] + 1.0)


@pytest.mark.filterwarnings("ignore::runtime.function.arguments.retracing.RetracingWarning")
def test_no_python_runs_with_numbers() -> None:
    f = rt.function(stepped, executor="native")
    numbers = [(1, 0.5), (1, 0.0), (1, -0.0), (True, 0.5), (1.0, 0.5), (-1, math.inf), (2, math.nan), (3, 1.5),
               (4, 2.5), (-2**63, 0.25), (2**40, 7.0), (5, 1e300)]
    for _ in range(3):  # numbers become inputs at the fifth value
        for n, x in numbers:
            found, expected = np.array([-0.0, 2.0]), np.array([-0.0, 2.0])
            with np.errstate(all="ignore"):
                assert np.array_equal(f(found, n, x), stepped(expected, n, x), equal_nan=True)
            assert found.tobytes() == expected.tobytes() or math.isnan(x), (n, x)
    for n, x in ((3, 1.5), (-7, -0.0), (10, 2.0)):
        a = np.array([1.0, 2.0])
        native_call(f, a, n, x)
        assert a.tolist() == [x + n, 2 * x + n]
    with pytest.raises(rt.errors.DTypeError, match="does not fit int64"):
        f(np.array([1.0, 2.0]), 2**64, 0.5)


def test_numbers_that_are_equal_and_others() -> None:
    """Constants of a trace are told apart by class and bits."""
    f = rt.function(lambda x, k: x * k if k is not None else x, executor="native")
    x = np.array([1.0, 2.0])
    for _ in range(3):
        for k in (0.0, -0.0, 0, False, True, 1, None):
            expected = x if k is None else x * k
            assert np.asarray(f(x, k)).tobytes() == expected.tobytes(), k
    assert np.asarray(native_call(f, x, -0.0)).tobytes() == (x * -0.0).tobytes()
    assert native_call(f, x, None).numpy().tolist() == [1, 2]


def test_strings_that_are_constants() -> None:
    """A string is known by its address, at which there must be no other one later."""
    def f(x, how):
        return x * 2.0 if how == "twice, at length" else x + 10.0

    traced = rt.function(f, executor="native")
    x = np.array([1.0, 2.0])
    for k in range(600):
        how = "".join(["twice, ", "at length" if k % 2 else f"or {k % 4} more"])
        for _ in range(2):
            assert traced(x, how).numpy().tolist() == f(x, how).tolist()
        del how
    assert 0 < len(traced._front[2]) <= 256


def located(a, b):
    a[0] += 1.0
    for i in range(len(b) + 1):
        a[i] += b[i]


def test_an_error_after_writes_is_the_users() -> None:
    f = rt.function(located, executor="native")
    a, b = np.zeros(4), np.ones(4)
    for count in range(1, 4):
        with pytest.raises(IndexError) as error:
            f(a, b)
        assert error.traceback[-1].name == "located" and a.tolist() == [2 * count] + [count] * 3


def counting(a, n):
    k = 0
    while k < n:
        a[k % 4] += 1
        k += 1


def test_threads_and_interrupts() -> None:
    """While one call runs, another one of the same trace does not use its memory."""
    f = rt.function(counting, executor="native")
    arrays = [np.zeros(4) for _ in range(4)]
    for n in range(4, 12):
        f(np.zeros(4), n)
    threads = [threading.Thread(target=lambda a=a: [f(a, 400_000) for _ in range(5)]) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [a.tolist() for a in arrays] == [[500_000.0] * 4] * 4

    def interrupt(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(TimeoutError):
            f(arrays[0], 2**50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    a = np.zeros(4)
    native_call(f, a, 8)
    assert a.tolist() == [2.0] * 4


def test_nothing_leaks() -> None:
    f = rt.function(stepped, executor="native")
    a, n, x = np.array([1.0, 0.0]), 1000, 0.5
    for k in range(6):
        f(a, k, k + 0.5)

    def references() -> list[int]:
        return [sys.getrefcount(obj) for obj in (a, n, x, f, f._front, np.dtype(np.float64), EagerTensor)]

    native_call(f, a, n, x)
    before = references()
    for _ in range(1000):
        f(a, n, x)
    assert references() == before

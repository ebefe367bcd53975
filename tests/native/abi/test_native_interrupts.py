"""Ctrl-C ends native code soon, in loops and in large ops, and leaves variables and generators as they were between two
ops."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from delays import KINDS

import runtime as rt
from runtime.backends.native.kernels.matmul import gemm

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
ROOT = Path(__file__).parents[3]
TIMES = 3


@pytest.mark.optimised
def test_delays() -> None:
    """Within 0.1 s where nothing else runs (docs/performance.md has figures). This machine may be busy: one of each
    kind has to come that soon, and all in a time after which a loop that asks for no signals would still run."""
    done = subprocess.run([sys.executable, "-m", "tests.delays", str(TIMES)], cwd=ROOT, capture_output=True,
                          text=True, timeout=300, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    found = {name: [float(x) for x in times.split()] for name, times in (
        line.rsplit(": ", 1) for line in done.stdout.splitlines())}
    assert list(found) == list(KINDS)
    for name, times in found.items():
        assert len(times) == TIMES, name
        assert min(times) < 100, (name, times)
        assert max(times) < 2000, (name, times)


class Stop(Exception):
    """What the handler of a signal raises."""


def stop_after(seconds: float, call: Callable[[], object]) -> None:
    """Stop a call after so much time of the processor."""
    def stop(*_: Any) -> None:
        raise Stop

    before = signal.signal(signal.SIGPROF, stop)
    try:
        with pytest.raises(Stop):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            call()
            while True:  # the signal came late, perhaps to a thread of OpenBLAS: seen when the GIL is taken again
                time.sleep(0)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def took(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


N = 3_000_000
UNKNOWN = rt.TensorSpec([None], rt.float32)


def floats(times: int = 1) -> Any:
    return rt.constant(np.tile(np.random.default_rng(0).standard_normal(N).astype(np.float32), times))


def places(times: int = 1) -> Any:
    return rt.constant(np.random.default_rng(1).integers(0, N, (times * N, 1)).astype(np.int32))


OPS: dict[str, tuple[Callable[..., Any], Callable[[], list[Any]], list[Any] | None]] = {
    "sort": (rt.sort, lambda: [floats()], None),
    "sort of unknown size": (rt.sort, lambda: [floats()], [UNKNOWN]),
    "unique": (lambda x: rt.unique(x)[0], lambda: [places()[:, 0]], None),
    "normal": (lambda: rt.random.normal([4 * N]), lambda: [], None),
    "stateless_normal": (lambda: rt.random.stateless_normal([4 * N], [1, 2]), lambda: [], None),
    "uniform of integers": (lambda: rt.random.uniform([8 * N], 0, 1000, rt.int32), lambda: [], None),
    "scatter": (rt.tensor_scatter_nd_add, lambda: [floats(), places(4), floats(4)], None),
    "product": (lambda x: x @ x, lambda: [rt.ones([2000, 2000])], None),
    "product of float64": (lambda x: x @ x, lambda: [rt.ones([1600, 1600], rt.float64)], None),
    "product of unknown sizes": (lambda x: x @ x, lambda: [rt.ones([2000, 2000])],
                                 [rt.TensorSpec([None, None], rt.float32)]),
    "products": (lambda x, y: x @ y, lambda: [rt.ones([5000, 64, 64]), rt.ones([5000, 64, 64])], None),
    "maximum": (lambda x: rt.reduce_max(rt.sin(rt.tanh(x[:, None]) * rt.linspace(0.0, 1.0, 24))),
                lambda: [floats()], None),
    "maximum of unknown size": (lambda x: rt.reduce_max(rt.sin(rt.tanh(x))), lambda: [floats(12)], [UNKNOWN]),
    "stored": (lambda x: rt.gather(rt.sin(rt.tanh(x)), [3]), lambda: [floats(12)], None),
    "stored, of unknown size": (lambda x: rt.gather(rt.sin(rt.tanh(x)), [3]), lambda: [floats(12)], [UNKNOWN]),
    "sum of unknown size": (lambda x: rt.reduce_sum(rt.sin(rt.tanh(x))), lambda: [floats(12)], [UNKNOWN]),
}


@pytest.mark.parametrize("name", OPS)
def test_a_large_op_is_left_before_its_end(name: str) -> None:
    """What comes after it does not run then."""
    call, made, specs = OPS[name]
    args = made()
    over = rt.Variable(0)

    def f(n, *args):
        result = call(*args)
        over.assign(n + rt.cast(rt.reshape(result, [-1])[0] == 123456, rt.int32))  # when it is there

    function = rt.function(f, executor="native").get_concrete_function(
        rt.TensorSpec([], rt.int32), *(args if specs is None else specs))
    function(rt.constant(1), *args)
    whole = min(took(lambda: function(rt.constant(2), *args)) for _ in range(3))
    left = 0
    for k in range(60):  # a timer of the processor's time may be late by 10 ms, which is half of the shortest op
        over.assign(0)
        stop_after(whole * (0.2 + 0.1 * (k % 6)), lambda: function(rt.constant(3), *args))
        left += int(over.read_value()) == 0
        if left == 2:
            break
    assert left >= 2, "signals waited for the end of the op"
    function(rt.constant(4), *args)
    assert int(over.read_value()) == 4


@pytest.mark.parametrize("op", [rt.sort, rt.argsort])
def test_rows_of_nothing_are_left_before_their_end(op: Callable[[Any], Any]) -> None:
    """2**32 of them take half a minute."""
    unknown = rt.TensorSpec([], rt.int64)
    f = rt.function(lambda n, k: op(rt.expand_dims(rt.range(n), 1) + rt.range(k)), executor="native",
                    input_signature=[unknown, unknown]).get_concrete_function()
    none = rt.constant(0, rt.int64)
    f(none, none)

    def stopped() -> None:
        stop_after(0.05, lambda: f(rt.constant(2**32, rt.int64), none))

    assert took(stopped) < 2


def product(x):
    """0, after a time in which nothing looks at signals."""
    return (x @ x)[0, 0] * 0.0


LARGE = rt.ones([1500, 1500])


@pytest.fixture
def uncut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products are one call of BLAS."""
    monkeypatch.setattr(gemm, "fits", lambda *_: False)
    monkeypatch.setattr(gemm, "_AT_ONCE", 1 << 60)


def test_variables_have_what_a_call_assigned_when_a_signal_meets_its_end(uncut: None) -> None:
    """All of them, also those of unknown shape: handlers run before or after they get their values."""
    first, last = rt.Variable(0.0), rt.Variable(0.0)
    line = rt.Variable([0.0], shape=[None])

    @rt.function(executor="native")
    def f(n, values):
        first.assign(n)
        line.assign(values * n)
        last.assign(n + product(LARGE))
        return n

    for size in (2, 3, 4, 4):  # compiles, or it would be LLVM whom the signal meets
        f(rt.constant(1.0), rt.ones([size]))
    whole = took(lambda: f(rt.constant(2.0), rt.ones([4])))
    for n in (3.0, 4.0, 5.0):
        stop_after(0.5 * whole, lambda: f(rt.constant(n), rt.ones([4])))
        assert [first.numpy(), last.numpy(), *line.numpy()] == [n, n, *[n] * 4]


def test_variables_have_what_was_assigned_before_python_is_called_when_a_signal_comes(
        uncut: None, capfd: pytest.CaptureFixture[str]) -> None:
    """The handler's own exception ends the call there; Python code of the function does not run any more."""
    first, last = rt.Variable(0.0), rt.Variable(0.0)
    calls: list[float] = []

    @rt.function(executor="native")
    def f(n):
        first.assign(n)
        last.assign(n + product(LARGE))
        return rt.py_function(lambda x: calls.append(float(x)) or x, [n], rt.float32)

    f(rt.constant(1.0))
    whole = min(took(lambda: f(rt.constant(2.0))) for _ in range(3))  # one may be slower than those that are stopped
    for n in (3.0, 4.0, 5.0):
        stop_after(0.3 * whole, lambda: f(rt.constant(n)))
        assert (first.numpy(), last.numpy()) == (n, n)
    assert calls == [1.0, 2.0, 2.0, 2.0]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("size", [900, 2000])
@pytest.mark.parametrize("unknown", [False, True])
def test_a_product_that_is_added_to_a_variable_is_added_wholly_or_not_at_all(unknown: bool, size: int) -> None:
    total, x = rt.Variable(rt.zeros([size, size])), rt.ones([size, size])

    def f(n, x):
        for _ in range(n):
            total.assign_add(x @ x)

    function = rt.function(f, executor="native").get_concrete_function(
        rt.constant(1), rt.TensorSpec([None, None], rt.float32) if unknown else x)
    function(rt.constant(1), x)
    whole = took(lambda: function(rt.constant(1), x))
    for k in range(6):
        total.assign(rt.zeros([size, size]))
        stop_after(whole * (0.3 + 0.2 * k), lambda: function(rt.constant(2), x))
        values = total.numpy()
        assert (values == values[0, 0]).all() and values[0, 0] in (0, size, 2 * size)


def test_variables_of_a_loop_are_those_of_a_whole_number_of_iterations() -> None:
    count, double = rt.Variable(0, rt.int64), rt.Variable(rt.zeros([1000], rt.int64))

    @rt.function(executor="native")
    def f(n):
        while n > 0:
            count.assign_add(1)
            double.assign_add(rt.fill([1000], rt.constant(2, rt.int64)))

    f.lower(rt.constant(1))  # it is compiled
    for k in range(5):
        before = int(count.read_value())
        stop_after(0.01 + 0.007 * k, lambda: f(rt.constant(1)))
        assert int(count.read_value()) > before
        assert (double.numpy() == 2 * count.numpy()).all()


@pytest.mark.parametrize("dtype", [rt.float32, rt.int32])
def test_a_generator_is_before_or_after_the_draw_that_a_signal_stops(dtype: rt.DType) -> None:
    generator = rt.random.Generator.from_seed(7)
    rest = rt.Variable(0)

    @rt.function(executor="native")
    def f(n):
        generator.uniform([3], 0, 9, rt.int32)
        rest.assign(n)
        drawn = generator.uniform([30_000_000], 0, 1000, dtype)
        rest.assign(0)
        return drawn

    f(rt.constant(1))
    seconds = 0.7 * took(lambda: f(rt.constant(2)))
    left = 0
    for k in range(20):
        generator.reset_from_seed(k)
        rest.assign(0)
        stop_after(seconds, lambda: f(rt.constant(3)))
        seconds *= 0.8
        if rest.numpy() == 3:
            left += 1
            before, after = rt.random.Generator.from_seed(k), rt.random.Generator.from_seed(k)
            for expected in before, after:
                expected.uniform([3], 0, 9, rt.int32)
            after.skip(30_000_000)
            found = generator.uniform([9], 0, 1000, dtype)
            assert any((found == expected.uniform([9], 0, 1000, dtype)).numpy().all() for expected in (before, after))
        if left == 4:
            break
    assert left >= 2


def test_a_signal_stops_the_call_of_the_main_thread_alone() -> None:
    """Another thread that is in the same function goes on."""
    @rt.function(executor="native")
    def f(n):
        total = rt.constant(0, rt.int64)
        while n > 0:
            total = total * 3 % 7 + 1
            n -= 1
        return total

    few = rt.constant(50_000_000, rt.int64)
    right = int(f(few))
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(int(f(few))))
    thread.start()
    stop_after(0.05, lambda: f(rt.constant(10 ** 15, rt.int64)))
    thread.join()
    assert found == [right]
    assert int(f(few)) == right


def test_an_exception_of_a_handler_that_is_caught_does_not_come_again() -> None:
    @rt.function(executor="native")
    def f(n):
        steps = 10 // n
        try:
            steps += 10 // n
            while steps > 0:
                steps = (steps + 7) % 1000 + 1
        except Exception:
            n = -n
        for _ in rt.range(200_000_000):  # looks at signals, too
            steps = steps * 3 % 7 + 1
        return n

    def stop(*_: Any) -> None:
        raise Stop

    f.get_concrete_function(rt.constant(3, rt.int64))
    before = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.05)
        assert int(f(rt.constant(3, rt.int64))) == -3
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)

"""Calls that go from CPython to native code without Python: that they do, and that nothing else about calls differs."""
from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import leaks
from python_calls import frames, native_call, python_call

from runtime.backends.native.jit import fast_call
from runtime.core.tensor import EagerTensor
from runtime.core.types import ALL
from runtime.function.function import Function

pytestmark = pytest.mark.usefixtures("native_by_default")
ROOT = Path(__file__).resolve().parents[3]


@rt.function
def increment(x):
    return x + 1


# Results.

@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3), (1, 1, 1, 1, 1, 2)], ids=str)
@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_results(dtype: Any, shape: tuple[int, ...]) -> None:
    def both(x, y):
        return rt.stack([x, y])

    f, reference = rt.function(both), rt.function(both, executor="numpy")
    values = np.arange(int(np.prod(shape)) + 1)[1:].reshape(shape)
    x, y = rt.constant(values.astype(dtype.np)), rt.constant((values + 1).astype(dtype.np))
    want = reference(x, y).numpy()
    f(x, y)
    for _ in range(3):
        result = native_call(f, x, y)
        array = result._array
        assert type(result) is EagerTensor and type(array) is np.ndarray
        assert (array.dtype, array.shape, array.tobytes()) == (want.dtype, want.shape, want.tobytes())
        assert array.flags.c_contiguous and array.flags.aligned and array.flags.owndata and not array.flags.writeable
        assert gc.is_tracked(result) and weakref.ref(result)() is result
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_arguments_by_their_places() -> None:
    @rt.function
    def f(*parts):
        return sum(parts[1:], parts[0] * 0)

    @rt.function
    def nothing():
        return rt.constant(7)

    parts = [rt.constant([1 << k]) for k in range(18)]
    for count, call in ((0, native_call), (2, native_call), (16, native_call), (17, python_call)):
        if count:
            f(*parts[:count])
            assert call(f, *parts[:count]).numpy() == (1 << count) - 2
    many = parts[:2] * 300
    f(*many)
    assert python_call(f, *many).numpy() == 899
    nothing()
    assert native_call(nothing).numpy() == 7


def test_unknown_dimensions_are_read() -> None:
    """One trace with unknown dimensions: the result is of a known shape."""
    @rt.function(input_signature=[rt.TensorSpec([None, 2, None], rt.float64), rt.TensorSpec([None], rt.float32)])
    def f(x, y):
        return rt.reduce_sum(x) + rt.cast(rt.reduce_sum(y) * rt.cast(rt.size(y), rt.float32), rt.float64)

    cases = [(np.ones((n, 2, m)), np.ones(k, np.float32)) for n in range(5) for m in range(4) for k in range(4)]
    tensors = [(rt.constant(x), rt.constant(y)) for x, y in cases]
    for _ in range(2):
        for (x, y), given in zip(cases, tensors, strict=True):
            assert f(*given).numpy() == x.sum() + y.sum() * y.size
    for (x, y), given in zip(cases, tensors, strict=True):
        assert native_call(f, *given).numpy() == x.sum() + y.sum() * y.size
    assert f.experimental_get_tracing_count() == 1


def test_a_key_that_is_too_long() -> None:
    f = rt.function(lambda *parts: sum(parts))
    for count, rank, call in ((3, 15, native_call), (4, 11, native_call), (4, 12, python_call), (16, 30, python_call)):
        parts = [rt.ones([1] * rank)] * count
        f(*parts)
        assert call(f, *parts).numpy().ravel() == [count]


def test_dtypes_that_are_equal_but_not_the_same() -> None:
    x = rt.constant(pickle.loads(pickle.dumps(np.ones(3, np.float32))))
    assert x._array.dtype is not np.dtype(np.float32)
    increment(rt.ones([3]))
    assert native_call(increment, x).numpy().tolist() == [2, 2, 2]


# What goes through Python.

def test_arrays_that_are_not_plain() -> None:
    f = rt.function(lambda x: x * 2)
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    unaligned = np.ndarray((3, 4), np.float32, b"\0" + base.tobytes(), offset=1)
    f(rt.constant(base))
    assert (native_call(f, rt.constant(base)).numpy() == base * 2).all()
    for other in (np.asfortranarray(base), np.repeat(base, 2, 1)[:, ::2], unaligned):
        x = EagerTensor(other)
        assert (python_call(f, x).numpy() == base * 2).all()
    scalar = object.__new__(EagerTensor)
    scalar._array = np.float32(3)
    f(rt.constant(np.float32(3)))
    assert python_call(f, scalar).numpy() == 6


def test_a_tensor_and_a_function_without_init() -> None:
    increment(rt.constant(1.0))
    with pytest.raises(AttributeError, match="_array"):
        increment(object.__new__(EagerTensor))
    with pytest.raises(AttributeError):
        object.__new__(Function)(rt.constant(1.0))


def test_other_arguments() -> None:
    f = rt.function(lambda x, y=2.0: x + y)
    x = rt.constant(1.0)
    for _ in range(3):
        assert f(x).numpy() == 3
    assert native_call(f, x).numpy() == 3
    assert native_call(f, *[x], **{}).numpy() == 3
    for args, kwargs in (((), {"x": x}), ((np.float32(1),), {}), ((x,), {"y": 2.0})):
        f(*args, **kwargs)
        assert python_call(f, *args, **kwargs).numpy() == 3
    f(x, 2.0)
    assert native_call(f, x, 2.0).numpy() == 3
    variable = rt.Variable(1.0)
    f(variable)
    assert python_call(f, variable).numpy() == 3


def test_wrong_arguments() -> None:
    def of_two(x, y):
        return x + y

    x, texts = rt.constant(1.0), []
    for f in (rt.function(of_two), rt.function(of_two, executor="numpy")):
        f(x, x)
        for args, kwargs in (((), {}), ((x,), {}), ((x, x, x), {}), ((x, x), {"z": x})):
            with pytest.raises(TypeError) as error:
                f(*args, **kwargs)
            entry = error.traceback[-1]
            assert (entry.name, Path(entry.path)) == ("test_wrong_arguments", Path(__file__))
            texts.append(str(error.value).partition("of_two")[2])
    assert texts[:4] == texts[4:]
    assert texts[1].startswith("(x, y): missing a required argument: 'y'")


def test_what_needs_python(capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is found all the same, and counted."""
    results: list[Any] = []
    variable, assigning, x = rt.Variable(1.0), rt.Variable(0.0), rt.constant(2.0)

    def prints(x):
        print("run", x)
        return x

    functions: list[tuple[Callable[..., Any], Any]] = [
        (lambda x: x + variable, x), (lambda x: assigning.assign_add(x), x), (lambda x: (x, x), x),
        (prints, x), (lambda x: rt.random.normal([2]), x), (lambda x: rt.boolean_mask(x, x > 0), rt.ones([3])),
        (lambda x: rt.while_loop(lambda i: i < 3, lambda i: i + 1, [x]), x)]
    for fn, given in functions:
        f = rt.function(fn)
        first = f(given)
        result, seen = frames(f, given)
        assert seen[0] == "run_arrays" and f.cache_info() == (1, 1, 64, 1)
        assert type(result) is type(first)
        results.append(result)
    assert "run 2.0\nrun 2.0\n" == capsys.readouterr().out
    added, assigned, (left, right), printed, drawn, kept, counted = results
    assert [x.numpy().tolist() for x in (added, left, right, printed, kept)] == [3, 2, 2, 2, [1, 1, 1]]
    assert (assigned.numpy(), assigning.numpy(), drawn.shape, counted[0].numpy()) == (4, 4, (2,), 3)


def test_errors_of_what_needs_python() -> None:
    """What a traceback shows is the same, whichever way the call went."""
    f = rt.function(lambda x, i: x[i])
    x, i, found = rt.ones([3]), rt.constant(5), []
    f(x, rt.constant(1))
    for call in (f, f.__call__, f):
        with pytest.raises(IndexError) as error:
            call(x, i)
        found.append((str(error.value), [(entry.name, Path(entry.path).name) for entry in error.traceback]))
    assert found[0] == found[1] == found[2]
    assert [name for name, _ in found[0][1]][0] == "test_errors_of_what_needs_python"
    assert f(x, rt.constant(1)).numpy() == 1


def test_functions_run_eagerly() -> None:
    seen = []

    @rt.function
    def f(x):
        seen.append(type(x))
        return x + 1

    x = rt.constant(1.0)
    f(x)
    native_call(f, x)
    for _ in range(2):
        seen.clear()
        rt.config.run_functions_eagerly(True)
        try:
            assert f(x).numpy() == 2 and seen == [EagerTensor]
        finally:
            rt.config.run_functions_eagerly(False)
        assert native_call(f, x).numpy() == 2 and seen == [EagerTensor]


def test_a_call_in_a_trace_becomes_part_of_it() -> None:
    x = rt.constant(1.0)
    increment(x)

    @rt.function
    def outer(y):
        return increment(y) * increment(x)

    assert outer(rt.constant(2.0)).numpy() == 6
    assert [node.op.name for node in outer.get_concrete_function(x).graph.nodes].count("add") == 2
    assert native_call(outer, x).numpy() == 4
    native_call(increment, x)


def test_a_trace_of_another_thread() -> None:
    """While it is open, calls of this one compute as ever."""
    started, go_on = threading.Event(), threading.Event()

    @rt.function
    def slow(x):
        started.set()
        assert go_on.wait(60)
        return increment(x)

    x = rt.constant(1.0)
    increment(x)
    thread = threading.Thread(target=slow, args=(x,))
    thread.start()
    assert started.wait(60)
    assert python_call(increment, x).numpy() == 2
    go_on.set()
    thread.join()
    assert native_call(increment, x).numpy() == 2


def test_a_default_that_is_a_tensor() -> None:
    f = rt.function(lambda x, y=rt.constant(1.0): x + y)
    for _ in range(3):
        assert f(rt.constant(2.0)).numpy() == 3
    for _ in range(3):
        assert f(rt.constant(2.0), rt.constant(2.0)).numpy() == 4


# Counting, and which traces are kept.

def test_counts_and_evictions_are_those_of_python() -> None:
    """Random calls of functions that keep three traces: after each, what they say is the same on both executors."""
    draw = random.Random(0)
    sizes = [*(rt.ones([n]) for n in range(5)), rt.ones([2, 0]), rt.ones([2, 1]), rt.ones([1], rt.int32), rt.ones([])]
    made = [rt.function(lambda *xs: xs[0] + 1, max_traces=3, executor=executor, name="f")
            for executor in ("native", "numpy")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(400):
            args = draw.choices(sizes[:draw.choice((2, 4, 9))], k=draw.choice((1, 1, 2)))
            times = draw.choice((1, 1, 5))
            told = []
            for f in made:
                for _ in range(times):
                    assert (f(*args).numpy() == args[0].numpy() + 1).all()
                told.append((f.cache_info(), f.explain(), f.pretty_printed_concrete_signatures()))
            assert told[0] == told[1]
            if draw.random() < 0.01:
                for f in made:
                    f.cache_clear()
    assert made[0].cache_info().misses > 20


def test_calls_are_counted() -> None:
    f = rt.function(lambda x: x + 1)
    x = rt.constant(1.0)
    for _ in range(10):
        f(x)
    native_call(f, x)
    assert f.cache_info() == (10, 1, 64, 1)
    assert f.explain().splitlines()[0].endswith("11 calls, traced 1 time, 1 trace kept")


def test_a_dropped_trace_is_not_found() -> None:
    f = rt.function(lambda x: x + 1, max_traces=1)
    x, y = rt.constant(1.0), rt.ones([3])
    f(x)
    native_call(f, x)
    trace = weakref.ref(f.concrete_functions[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(y)
    gc.collect()
    assert trace() is None and len(f._front[2]) == 1
    native_call(f, y)
    f.cache_clear()
    assert f._front == ()
    assert f(x).numpy() == 2 and f.experimental_get_tracing_count() == 3


def test_many_aliases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Function.__module__], "_MAX_ALIASES", 50)
    f = rt.function(lambda x: rt.reduce_sum(x), input_signature=[rt.TensorSpec([None], rt.int32)])
    tensors = [rt.ones([n], rt.int32) for n in range(120)]
    for n, x in enumerate(tensors):
        assert f(x).numpy() == n
        assert native_call(f, x).numpy() == n
    assert len(f._front[2]) == len(f._fast) == 20
    assert python_call(f, tensors[0]).numpy() == 0
    assert native_call(f, tensors[0]).numpy() == 0


def test_a_method_goes_with_its_object() -> None:
    class Scaled:
        def __init__(self, by: float) -> None:
            self.by = by

        @rt.function
        def __call__(self, x):
            return x * self.by

        @rt.function
        def times(self, x):
            return x * self.by

    two, three, x = Scaled(2.0), Scaled(3.0), rt.constant(5.0)
    for _ in range(3):
        assert two.times(x).numpy() == 10 and three.times(x).numpy() == 15 and two(x).numpy() == 10
    result, seen = frames(two.times, x)
    assert (result.numpy(), seen) == (10, ["__call__"])  # that of `Method`
    assert two.times.cache_info() == (3, 1, 64, 1)
    gone = weakref.ref(two)
    del two
    gc.collect()
    assert gone() is None and three.times(x).numpy() == 15


# Memory.

@pytest.mark.skipif(not leaks.possible(), reason="memory is counted by /proc")
def test_nothing_leaks() -> None:
    f = rt.function(lambda x, y: x + y)
    x, y = rt.ones([50]), rt.ones([50])
    f(x, y)

    def references() -> list[int]:
        return [sys.getrefcount(obj) for obj in (x, y, x._array, y._array, x._array.dtype, EagerTensor, f, f._front)]

    for _ in range(1000):
        f(x, y)
    gc.collect()
    before, memory = references(), leaks.resident()
    for _ in range(1_000_000):
        f(x, y)
    gc.collect()
    assert references() == before
    assert leaks.resident() - memory < leaks.ALLOWED
    kept = [f(x, y) for _ in range(1000)]
    held = references()
    assert held[:4] + held[6:] == before[:4] + before[6:]
    new = 1000 - 2  # two arrays were there
    assert [a - b for a, b in zip(held, before, strict=True)][4:6] in ([new, 1000], [0, 1000])  # of an immortal dtype
    assert [sys.getrefcount(result._array) for result in kept] == [2] * new + [3, 3]
    kept.clear()
    gc.collect()
    assert references() == before


def kept_arrays(f: Any) -> list[Any]:
    """The arrays of the last two results of a function with one trace."""
    (entry,) = f._front[2]
    return list(entry.kept)


def of_numbers() -> tuple[Any, Callable[[int], Any]]:
    """A function that native code runs, and what gives its argument for a number: the result is the number's double."""
    f = rt.function(lambda x: x * 2)
    f(rt.zeros([2, 3], rt.int32))
    return f, lambda n: rt.constant(np.full((2, 3), n, np.int32))


def test_arrays_that_nobody_has_are_used_again() -> None:
    f, number = of_numbers()
    results = [f(number(n)) for n in range(2)]
    assert {*map(id, kept_arrays(f))} == {id(result._array) for result in results}
    arrays = {*map(id, kept_arrays(f))}
    del results
    for n in range(20):
        assert (native_call(f, number(n)).numpy() == 2 * n).all()
        assert {*map(id, kept_arrays(f))} == arrays
    x = number(1)
    for n in range(10):  # one holds the argument
        x = native_call(f, x)
        assert (x.numpy() == 2 << n).all() and {*map(id, kept_arrays(f))} == arrays


def test_results_that_somebody_has_stay() -> None:
    """Held in any way, for any time."""
    f, number = of_numbers()
    holding: list[Callable[[Any], Any]] = [
        lambda result: result, lambda result: result._array, lambda result: result.numpy(),
        lambda result: result._array.T, lambda result: result._array[1:, ::2], lambda result: memoryview(result._array),
        lambda result: np.frombuffer(result._array, np.int32), lambda result: np.asarray(result),
        lambda result: result[0], lambda result: rt.reshape(result, [6]), lambda result: iter(result._array),
        lambda result: rt.Variable(result),
    ]
    draw, held = random.Random(0), []
    for n in range(2000):
        result = native_call(f, number(n))
        if draw.random() < 0.5:
            held.append((n, draw.choice(holding)(result)))
        if draw.random() < 0.4 and held:
            wanted, value = held.pop(draw.randrange(len(held)))
            values = np.array(list(value) if hasattr(value, "__next__") else value)
            assert values.size and (values == 2 * wanted).all()
    assert len(held) > 20


def test_arrays_that_were_changed_are_not_used_again() -> None:
    f, number = of_numbers()

    def reshaped(array: Any) -> None:
        array.shape = 3, 2

    def retyped(array: Any) -> None:
        array.dtype = np.float32

    def strided(array: Any) -> None:
        array.strides = 4, 8

    def writable(array: Any) -> None:
        array.flags.writeable = True

    def resized(array: Any) -> None:
        array.flags.writeable = True
        array.resize((1, 2), refcheck=False)
        array.flags.writeable = False

    seen: list[Any] = []
    for change in (reshaped, retyped, strided, writable, resized, lambda array: seen.append(weakref.ref(array)),
                   lambda array: seen.append(weakref.WeakValueDictionary({0: array}))):
        for times in (1, 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for n in range(times):
                    change(f(number(n))._array)
            for n in range(5):
                array = f(number(n))._array  # a weak reference may call Python
                assert (array.shape, array.dtype, array.strides) == ((2, 3), np.int32, (12, 4))
                assert array.flags.owndata and not array.flags.writeable and (array == 2 * n).all()
                assert weakref.getweakrefcount(array) == 0
    assert len(seen) == 6
    assert all(reference() is None if isinstance(reference, weakref.ref) else not reference for reference in seen)


def test_big_results_are_not_kept() -> None:
    f = rt.function(lambda x: x + 1)
    for size, count in ((256, 2), (257, 0)):
        f.cache_clear()
        for _ in range(4):
            f(rt.zeros([size]))
        assert len(kept_arrays(f)) == count


def test_kept_arrays_go_with_the_trace() -> None:
    f, number = of_numbers()
    gone = [weakref.ref(f(number(n))._array) for n in range(2)]
    assert all(reference() is not None for reference in gone)
    f.cache_clear()
    assert all(reference() is None for reference in gone)


def test_results_of_many_threads() -> None:
    f, number = of_numbers()
    wrong: list[Any] = []

    def calls(k: int) -> None:
        x, held = number(k), []
        for n in range(3000):
            result = f(x)
            held.append(result)
            if n % 7 == 0:
                wrong.extend(r for r in held if (r._array != 2 * k).any())
                held.clear()

    threads = [threading.Thread(target=calls, args=(k,)) for k in range(6)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_nothing_leaks_where_python_has_a_part() -> None:
    variable = rt.Variable(1.0)
    f, x, i = rt.function(lambda x, i: (x[i] + variable, i)), rt.ones([3]), rt.constant(1)
    far = rt.constant(7)

    def references() -> list[int]:
        return [sys.getrefcount(obj) for obj in (x, i, x._array, i._array, EagerTensor, f, f._front)]

    for times in (10, 100):
        for _ in range(times):
            f(x, i)
            with pytest.raises(IndexError):
                f(x, far)
        gc.collect()
        if times == 10:
            before = references()
    assert references() == before


def test_a_function_that_knows_itself_can_go() -> None:
    def make() -> weakref.ref[Any]:
        @rt.function
        def f(x):
            return x + 1 if f is not None else x

        f(rt.constant(1.0))
        assert native_call(f, rt.constant(1.0)).numpy() == 2
        return weakref.ref(f)

    gone = make()
    gc.collect()
    assert gone() is None


def test_no_memory() -> None:
    testing = pytest.importorskip("_testcapi")
    x, failed = rt.constant(1.0), 0
    increment(x)
    native_call(increment, x)
    for start in range(16):
        held = [increment(x) for _ in range(start // 8 * 2)]  # so that there has to be an array, or need not
        testing.set_nomemory(start % 8, start % 8 + 1)
        try:
            increment(x)
        except MemoryError:
            failed += 1
        finally:
            testing.remove_mem_hooks()
        assert all(result._array == 2 for result in held)
    assert failed >= 3
    assert native_call(increment, x).numpy() == 2


def test_the_collector_may_drop_the_trace() -> None:
    """Making a tensor may start the garbage collector, and that a finalizer that drops the trace that runs."""
    f = rt.function(lambda x: x + 1)
    cleared = 0

    class Garbage:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            nonlocal cleared
            cleared += 1
            f.cache_clear()

    x = rt.constant(1.0)
    before = gc.get_threshold()
    gc.set_threshold(5, 2, 2)
    try:
        for _ in range(30):
            f(x)
            Garbage()
            results = [f(x) for _ in range(10)]
            assert {float(result.numpy()) for result in results} == {2.0}
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert cleared == 30 and f.experimental_get_tracing_count() > 5


def test_a_trace_that_drops_itself() -> None:
    """The one that runs stays until it is done, though another has its place."""
    def drop(x):
        if dropping.is_set():
            f.cache_clear()
            gc.collect()
            g(rt.constant(1.0))
        return x

    dropping = threading.Event()
    f, x = rt.function(lambda x: rt.numpy_function(drop, [x], rt.float32) + 1), rt.constant(1.0)
    for _ in range(5):
        g = rt.function(lambda x: x + 3)
        dropping.clear()
        f(x)
        dropping.set()
        result, seen = frames(f, x)
        assert result.numpy() == 2 and seen[0] == "run_arrays"
    assert f.experimental_get_tracing_count() == 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("raises", [False, True])
def test_signals_within_a_body(raises: bool) -> None:
    """A handler that runs within a body may drop the trace, and what it raises ends the call."""
    f = rt.function(lambda x: rt.reduce_max(rt.sin(rt.sin(rt.sin(rt.sin(x))))),
                    input_signature=[rt.TensorSpec([None], rt.float32)])
    x, handled = rt.zeros([1 << 24]), []  # for 30 ms and more: 16 are between two looks

    def handler(*_: Any) -> None:
        handled.append(f.cache_info().hits)
        f.cache_clear()
        if raises:
            raise KeyboardInterrupt

    def within() -> bool:
        """Whether the handler ran within a call."""
        f(x)
        assert native_call(f, x).numpy() == 0
        before = f.cache_info().hits
        handled.clear()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            assert f(x).numpy() == 0
        except KeyboardInterrupt:
            return handled == [before] and f.cache_info().hits == before
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return handled == [before] and f.cache_info().hits == before + 1

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        assert any(within() for _ in range(20))
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_threads() -> None:
    """Threads call a function while another drops its traces."""
    f = rt.function(lambda x: rt.reduce_sum(x * 2))
    given = [rt.ones([n]) for n in range(1, 5)]
    errors: list[BaseException] = []
    done = threading.Event()

    def call() -> None:
        try:
            while not done.is_set():
                for n, x in enumerate(given):
                    for _ in range(50):
                        assert f(x).numpy() == 2 * n + 2
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(7)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            f.cache_clear()
            time.sleep(0.01)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not errors
    assert f.experimental_get_tracing_count() > 5


# What a function is to Python.

def test_a_function_is_what_it_was() -> None:
    x = rt.constant(1.0)
    increment(x)
    native_call(increment, x)
    assert type(Function.__call__) is FunctionType and callable(increment)
    assert python_call(increment.__call__, x).numpy() == 2
    assert str(inspect.signature(increment)) == "(x)"
    assert pickle.loads(pickle.dumps(increment)) is increment is copy.copy(increment)
    assert weakref.ref(increment)() is increment
    assert ag.convert(increment) is increment
    assert list(map(increment, [x, x]))[1].numpy() == 2
    assert vars(increment)["name"] == "increment"


def test_classes_derived_from_it() -> None:
    class Counted(Function):
        times = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.times += 1
            return super().__call__(*args, **kwargs)

    class Named(Function):
        pass

    x = rt.constant(1.0)
    f, g = Counted(lambda x: x + 1), Named(lambda x: x + 1)
    for _ in range(4):
        assert f(x).numpy() == g(x).numpy() == 2
    assert f.times == 4
    checked = rt.function(lambda x: x + 1, verify=True)
    for _ in range(3):
        assert checked(x).numpy() == 2


def test_another_call_in_its_place(tmp_path: Path) -> None:
    code = """
    import unittest.mock as mock
    import runtime as rt
    from runtime.function.function import Function
    f, x = rt.function(lambda x: x + 1, executor="native"), rt.constant(1.0)
    f(x)
    with mock.patch.object(Function, "__call__", lambda self, x: "another"):
        assert f(x) == "another"
    assert f(x).numpy() == 2
    """
    assert run(code, tmp_path) == ""


def run(code: str, folder: Path) -> str:
    """What a process prints that runs `code`, and ends well."""
    path = folder / "script.py"
    path.write_text(textwrap.dedent(code))
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "ignore", str(path)], capture_output=True, text=True, timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_end_of_the_interpreter(tmp_path: Path) -> None:
    """Calls while modules go, from `atexit`, finalizers, and a daemon thread."""
    code = """
    import atexit, sys, threading
    import runtime as rt

    f, x = rt.function(lambda x: x + 1, executor="native"), rt.constant(1.0)

    class Last:
        def __init__(self, f):
            self.f, self.me = f, self

        def __del__(self, x=x, write=sys.stderr.write):
            assert self.f(x)._array == 2.0

    def call():
        while True:
            f(x)

    f(x)
    g = rt.function(lambda x: x + 1, executor="native")
    g(x)
    held = [Last(f), Last(g)]
    sys.held = Last(f)
    atexit.register(lambda: print(f(x).numpy()))
    threading.Thread(target=call, daemon=True).start()
    del g
    """
    assert run(code, tmp_path) == "2.0\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process(tmp_path: Path) -> None:
    code = """
    import os
    import runtime as rt
    f, x = rt.function(lambda x: x + 1, executor="native"), rt.constant(1.0)
    f(x), f(x)
    child = os.fork()
    if not child:
        assert f(x).numpy() == 2 and f(rt.ones([3])).numpy().tolist() == [2, 2, 2] and f.cache_info().hits == 2
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and f(x).numpy() == 2 and f.cache_info().hits == 2
    """
    assert run(code, tmp_path) == ""


# Layouts.

def test_layouts_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    possible = fast_call.is_possible.__wrapped__
    assert possible()
    for name, wrong in (("_CALL", 136), ("_SIZE", 8), ("_RANK", 48), ("_DTYPE", 48), ("_KIND", 16), ("ARRAY", 0),
                        ("_KNOWN", 0), ("_ITEMS", 0), ("_EAGERLY", 0), ("DATA", 40), ("DIMS", 40), ("FLAGS", 80),
                        ("_STRIDES", 32), ("_BASE", 16), ("_REFERENCES", 56), ("ITEMS_OF_LIST", 8),
                        ("_FLOAT", 8)):
        with monkeypatch.context() as patch:
            patch.setattr(fast_call, name, wrong)
            assert not possible(), name


def test_unknown_layouts_go_through_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.backends.native.jit.executor.is_possible", lambda: False)
    f = rt.function(lambda x: x + 1)
    x = rt.constant(1.0)
    f(x)
    assert python_call(f, x).numpy() == 2
    assert f.get_concrete_function(x).executor == "native"

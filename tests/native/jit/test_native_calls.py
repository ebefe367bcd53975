"""Calls of native code: memory, signals, threads, layouts of arguments, and graphs that are large or deep."""
from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import leaks
from native_runs import layouts

from benchmarks.first_programs import ternaries
from runtime.backends.native.abi.callbacks import _Owned
from runtime.backends.native.jit.compile import has_loops
from runtime.core.graph import Graph
from runtime.core.trace import add_input, apply, convert_to_tensor, set_outputs, tracing
from runtime.core.types import TensorType, float32, int8
from runtime.function.execution.executors import make
from runtime.ops.control import COND

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(not leaks.possible(), reason="memory is counted by /proc")
def test_no_leak_over_many_calls() -> None:
    """`python -m tests.leaks 1000000` is the same for longer."""
    threshold = gc.get_threshold()
    gc.set_threshold(700, 10, 10)  # Python's own: else the garbage of many errors counts as growth
    gc.collect()  # what earlier tests left is not freed meanwhile
    try:
        more, held = leaks.growth(100_000)
    finally:
        gc.set_threshold(*threshold)
    assert more < leaks.ALLOWED
    assert held == 0


def test_peak_memory() -> None:
    @rt.function(executor="native", input_signature=[rt.TensorSpec([None], rt.float32), rt.TensorSpec([], rt.int32)])
    def f(xs, n):
        for _ in range(n):
            xs = rt.concat([xs[1:], xs[:1]], 0)
        return xs

    def info() -> tuple[int, int]:
        found = rt.config.experimental.get_memory_info("CPU:0")
        assert list(found) == ["current", "peak"]
        return found["current"], found["peak"]

    gc.collect()
    rt.config.experimental.reset_memory_stats("CPU:0")
    before, peak = info()
    assert peak == before
    f.get_concrete_function()
    assert info() == (before, before)
    f(rt.ones([1000]), 3)
    small = info()[0] - before
    assert 4000 <= small <= 6 * 4000
    f(rt.ones([100_000]), 3)
    large = info()[0] - before
    assert 400_000 <= large <= 6 * 400_000
    for size in [100_000, 10] * 20:
        f(rt.ones([size]), 3)
    current, peak = info()  # kept from call to call, but for the memory of a large result
    assert abs(current - before - large) < 1000 and large < peak - before < large + 401_000
    del f
    gc.collect()
    assert info() == (before, peak)  # the function gave it back
    rt.config.experimental.reset_memory_stats("/device:CPU:0")
    assert info() == (before, before)


def test_memory_that_lists_take_is_counted() -> None:
    @rt.function(executor="native")
    def rows(n):
        out = []
        for i in range(n):
            out.append(rt.fill([64], rt.cast(i, rt.float32)))
        return rt.stack(out)

    experimental = rt.config.experimental
    before = experimental.get_memory_info("CPU:0")["current"]
    rows(rt.constant(1000))
    assert 256_000 <= experimental.get_memory_info("CPU:0")["current"] - before <= 3 * 256_000


def test_memory_of_other_devices() -> None:
    for function in (rt.config.experimental.get_memory_info, rt.config.experimental.reset_memory_stats):
        with pytest.raises(ValueError) as error:
            function("GPU:0")
        assert str(error.value) == "no device 'GPU:0': there is 'CPU:0'"


ENDLESS = """
    import signal, sys, threading, time
    import numpy as np
    import runtime as rt

    count, row = rt.Variable(0), rt.Variable(np.zeros(64, np.float32))

    @rt.function(executor="native")
    def endless(n):
        while n > 0:
            count.assign_add(1)
            if count > 1000000:
                count.assign(1)
            row.assign(rt.fill([64], rt.cast(count, rt.float32)))
            n = n * 3 % 7 + 1
        return n

    try:
        endless(rt.constant(-1))
        threading.Timer(0.5, lambda: (times.append(time.perf_counter()), signal.raise_signal(signal.SIGINT))).start()
        times = []
        endless(rt.constant(1))
    except KeyboardInterrupt:
        print(time.perf_counter() - times[0])
    assert count.numpy() >= 1 and (row.numpy() == float(count.numpy())).all(), (count, row)
    count.assign(5)
    endless(rt.constant(-1))
    assert count.numpy() == 5
"""


def test_an_interrupt_ends_a_loop(tmp_path: Path) -> None:
    """Ctrl-C in an endless loop: soon, and with variables as some iteration left them."""
    script = tmp_path / "endless.py"
    script.write_text(textwrap.dedent(ENDLESS))
    done = subprocess.run([sys.executable, str(script)], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1.0  # 0.1 on a machine that has nothing else to do


def test_threads() -> None:
    """Many threads call one function: each gets its own results, and variables miss no whole assignment."""
    total = rt.Variable(0.0)

    @rt.function(executor="native")
    def pure(xs, n):
        out = []
        for i in range(n):
            xs = xs[::-1] + rt.cast(i, rt.float32)
            out.append(rt.reduce_sum(xs))
        return xs, rt.stack(out)

    @rt.function(executor="native")
    def changes(x):
        total.assign(x * 2.0)
        return total + 1.0

    errors: list[Any] = []

    def work(seed: int) -> None:
        try:
            xs = np.random.default_rng(seed).random(200 + seed).astype(np.float32)
            reference = rt.function(pure.python_function, executor="numpy")
            want = [r.numpy() for r in reference(rt.constant(xs), rt.constant(9))]
            for _ in range(60):
                got = pure(rt.constant(xs), rt.constant(9))
                np.testing.assert_array_equal(got[0].numpy(), want[0])
                np.testing.assert_allclose(got[1].numpy(), want[1], rtol=1e-5)
                assert changes(rt.constant(float(seed))).numpy() == 2.0 * seed + 1.0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors, errors[0]
    assert total.numpy() in [2.0 * seed for seed in range(8)]


def test_errors_in_threads() -> None:
    """Each call raises its own error, and nothing keeps it."""
    @rt.function(executor="native")
    def item(xs, n, k):
        total = 0
        for i in range(n):
            total += xs[i + k]
        return total

    xs, kept, wrong = rt.range(100), list[weakref.ref[BaseException]](), list[Any]()

    def work(seed: int) -> None:
        try:
            for k in range(50):
                assert item(xs, rt.constant(50), rt.constant(seed)).numpy() == sum(range(seed, seed + 50))
                with pytest.raises(IndexError, match=f"index {100 + seed} is out of bounds") as caught:
                    item(xs, rt.constant(k + 1), rt.constant(100 + seed))
                kept.append(weakref.ref(caught.value))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong, wrong[0]
    gc.collect()
    assert len(kept) == 400 and not any(error() for error in kept)


def test_arguments_in_any_layout() -> None:
    def f(x, y):
        return x * 2 + y, rt.transpose(x), rt.reduce_sum(x, 0), x[..., 1:], y

    for shape in ((4,), (3, 4), (2, 3, 4), (1, 1), (2, 1, 3, 2), (2, 1, 2, 1, 3), (0, 3)):
        x, y = np.arange(np.prod(shape), dtype=np.int32).reshape(shape), np.ones(shape, np.int32)
        graph = Graph("f")
        with tracing(graph):
            set_outputs(graph, list(f(*[add_input(graph, TensorType(rt.int32, (None,) * len(shape))) for _ in "xy"])))
        native, reference = (make(graph, name).function() for name in ("native", "numpy"))
        want = reference(x, y)
        for a, b in zip([*layouts(x), x], [x, *layouts(y)]):
            for got, w in zip(native(a, y if b is x else b), want, strict=True):
                np.testing.assert_array_equal(got, w)
        for a in layouts(x):
            for got, w in zip(native(a, y), want, strict=True):
                np.testing.assert_array_equal(got, w)


def available() -> int:
    """The bytes of memory that are free."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.mark.parametrize("gib", [2, 4])
def test_offsets_of_64_bits(gib: int) -> None:
    """Elements that lie further from the first than 31, or 32, bits can say."""
    if available() < (gib + 2) << 30:
        pytest.skip(f"an array of {gib} GiB, and as much again, does not fit into memory")
    graph = Graph("far")
    with tracing(graph):
        x = add_input(graph, TensorType(int8, (None,)))
        i = add_input(graph, TensorType(rt.int64, ()))
        square = rt.reshape(x[:-8], [gib * 4, -1])
        set_outputs(graph, [x[i], x[-8:], x[::-1][:4], square[gib * 4 - 1, -3:], rt.gather(x, [i, i - 1]),
                            x[:: (1 << 28) + 1] + rt.constant(1, int8), rt.reduce_max(x)])
    size = (gib << 30) + 8
    array = np.zeros(size, np.int8)  # memory that nobody writes costs nothing
    array[-12:] = np.arange(12)
    want = make(graph, "numpy").function()(array, np.int64(size - 2))
    got = make(graph, "native").function()(array, np.int64(size - 2))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)
    assert got[0] == 10


def added_up(n):
    return rt.cumsum(rt.fill([n, n, 4], 1.0))[0, 0, 0]


def drawn(n):
    return rt.random.uniform([n, n, 4])[0, 0, 0]


def carried(n):
    x = rt.fill([n, n, 0], 0.0)
    for i in rt.range(3):
        x = rt.fill([n, n, 4], rt.cast(i, rt.float32))
    return x[0, 0, 0]


def listed(n):
    rows = []
    for i in rt.range(3):
        rows.append(rt.fill([n, n, 4], rt.cast(i, rt.float32)))
    return len(rows)


def numbered(n):
    return rt.reduce_sum(rt.TensorArray(rt.float32, size=n << 29, element_shape=[4]).stack())


@pytest.mark.parametrize("fn", [added_up, drawn, carried, listed, numbered], ids=lambda fn: fn.__name__)
def test_more_bytes_than_64_bits_can_say(fn: Callable[..., Any]) -> None:
    concrete = rt.function(fn, executor="native").get_concrete_function(rt.TensorSpec([], rt.int64))
    with pytest.raises(rt.errors.OutOfMemoryError, match=rf"test_native_calls\.py:{fn.__code__.co_firstlineno + 1}: |"
                                                         rf"test_native_calls\.py:{fn.__code__.co_firstlineno + 3}: "):
        concrete(rt.constant(1 << 31, rt.int64))


@pytest.mark.optimised
def test_ten_thousand_nodes_compile_in_seconds() -> None:
    graph = Graph("large")
    with tracing(graph):
        x, v = add_input(graph, TensorType(float32, ())), add_input(graph, TensorType(float32, (8,)))
        y, w = x, v
        for k in range(2500):
            y = rt.sqrt(y * y + 1.0)
            w = w * 0.5 + (y if k % 50 == 0 else 1.0)
        set_outputs(graph, [y, w])
    assert len(graph.nodes) > 10_000
    started = time.process_time()
    native = make(graph, "native").function()
    assert time.process_time() - started < 30
    arguments = np.float32(2), np.arange(8, dtype=np.float32)
    for got, want in zip(native(*arguments), make(graph, "numpy").function()(*arguments), strict=True):
        np.testing.assert_array_equal(got, want)


def test_deep_nests(depth: int = 200) -> None:
    """`cond` in `cond`, 200 deep: each level adds two if the value is large enough."""
    graph = Graph("deep")
    with tracing(graph):
        x = add_input(graph, TensorType(rt.int32))
    levels, values = [graph], [x]
    for k in range(depth):
        levels.append(Graph("true", levels[-1]))
        with tracing(levels[-1]):
            values.append(convert_to_tensor(values[-1]) - 1)
    inner: Any = values[-1]
    for k in reversed(range(depth)):
        with tracing(levels[k + 1]):
            set_outputs(levels[k + 1], [inner + 2])
        other = Graph("false", levels[k])
        with tracing(other):
            set_outputs(other, [values[k] * 1])
        with tracing(levels[k]):
            (inner,) = apply(COND, values[k] > k, true=levels[k + 1], false=other)
    with tracing(graph):
        set_outputs(graph, [inner])
    graph.verify()
    native = make(graph, "native").function()
    for value in (0, 1, 150, 399, 400, 500):
        levels_in = next((k for k in range(depth) if value - k <= k), depth)
        assert native(np.int32(value)) == (value + levels_in,)


def test_unknown_dims_need_no_new_trace() -> None:
    @rt.function(executor="native", input_signature=[rt.TensorSpec([None, None], rt.float32)])
    def f(x):
        y = x - rt.reduce_mean(x, 0)
        while rt.reduce_max(rt.abs(y)) > 0.1:
            y = y * 0.5
        return rt.matmul(y, x, transpose_a=True), y[::2]

    reference = rt.function(f.python_function, executor="numpy", input_signature=[
        rt.TensorSpec([None, None], rt.float32)])
    for rows in (1, 2, 3, 17, 64, 1000):
        for columns in (1, 2, 5, 33):
            x = np.random.default_rng(rows).random((rows, columns)).astype(np.float32)
            for got, want in zip(f(rt.constant(x)), reference(rt.constant(x)), strict=True):
                np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-4, atol=2e-4)
    assert f.experimental_get_tracing_count() == 1


def test_a_product_is_written_where_the_result_is_wanted() -> None:
    """Not into other memory, which it would be copied from; and a result that comes twice is one."""
    x = rt.constant(np.random.default_rng(0).standard_normal((60, 60)).astype(np.float32))

    def once(x):
        return x @ x

    def twice(x):
        y = rt.tanh(x @ x)
        return y, rt.reduce_sum(y @ x), y

    for fn in (once, twice):
        concrete = rt.function(fn, executor="native").get_concrete_function(x)
        body = concrete.inspect_llvm(optimized=False).split("@body", 1)[1]
        assert body.count("call void @llvm.memcpy") == 0
        for have, want in zip(rt.nest.flatten(concrete(x)), rt.nest.flatten(fn(x)), strict=True):
            np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-3)


def test_code_that_does_not_repeat_is_not_optimised() -> None:
    def straight(x):
        return rt.cond(x > 0, lambda: x + 1, lambda: x - 1)

    def loop(x):
        while x > 0:
            x -= 1
        return x

    def fibonacci(n):
        if n < 2:
            return n
        return fibonacci(n - 1) + fibonacci(n - 2)

    x = rt.constant(2)
    outlined = ternaries(1000)  # its parts are functions that are called at one place each
    for fn, repeats in ((straight, False), (loop, True), (lambda x: rt.fill([1000], x), True), (outlined, False),
                        (fibonacci, True)):
        concrete = rt.function(fn, executor="native").get_concrete_function(x)
        assert has_loops(concrete.inspect_llvm(optimized=False)) is repeats
        assert (concrete(x).numpy() == np.asarray(fn(x))).all()


def test_code_that_calls_a_kernel_which_raises_reads_no_results() -> None:
    concrete = rt.function(lambda x, i: x[i] + 1, executor="native").get_concrete_function(
        rt.constant([[1, 2], [3, 4]]), rt.constant(0))
    lines = concrete.inspect_llvm(optimized=False).split("@body(", 1)[1].splitlines()
    after = [lines[k + 1].split()[0] for k, line in enumerate(lines) if "@runtime_ask(" in line]
    assert after and set(after) == {"ret"}
    with pytest.raises(IndexError):
        concrete(rt.constant([[1, 2], [3, 4]]), rt.constant(2))


def filled(n, x):
    out = np.zeros((n, 8))
    out[0, 0] = x
    for i in range(1, n):
        out[i, i % 8] = out[i - 1, (i - 1) % 8] + 1.0
    return out


def test_results_take_over_memory() -> None:
    """A large result of unknown size is not copied: it has the memory in which it was computed."""
    f = rt.function(filled, executor="native")
    for n in range(2_000, 2_010):
        f(n, 0.5)
    gc.collect()
    held = rt.config.experimental.get_memory_info("CPU:0")["current"]
    kept = [(n, f(n, 0.25 * n)._array) for n in (3_000, 2_000, 5, 4_000, 3_999, 1, 3_000)]
    for n, array in kept:
        assert np.array_equal(array, filled(n, 0.25 * n)) and array.flags.c_contiguous and not array.flags.writeable
        assert (f"{_Owned.__name__} object" in repr(owner(array))) == (n >= 2_000)
    assert rt.config.experimental.get_memory_info("CPU:0")["current"] < held + 16_000  # not those of 128,000 and more


def owner(array: Any) -> Any:
    """What an array, or the one that it is a view of, has its memory from."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


def test_a_result_that_is_returned_twice() -> None:
    f = rt.function(lambda n, x: (lambda a: (a, a * 2.0, a[1:], a))(filled(n, x)), executor="native")
    for n in range(1_500, 1_508):
        one, double, rest, other = (x.numpy() for x in f(rt.constant(n), 3.0))
        expected = filled(n, 3.0)
        assert np.array_equal(one, expected) and np.array_equal(double, expected * 2.0)
        assert np.array_equal(rest, expected[1:]) and np.array_equal(other, expected)


@pytest.mark.skipif(not leaks.possible(), reason="memory is counted by /proc")
def test_memory_that_results_took_over_is_freed() -> None:
    f = rt.function(filled, executor="native")
    for n in range(2_000, 2_010):
        f(n, 0.5)
    before = leaks.resident()
    for n in range(400):
        f(2_000 + n % 7, 0.5)  # 128,000 bytes each
    assert leaks.resident() - before < 8 << 20

"""Profiles: regions are what the code has, times nest, and the results are those of calls that are not profiled."""
from __future__ import annotations

import gzip
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.profiling import active
from runtime.core.recording import recorders
from runtime.core.trace import open_traces

W = rt.constant(np.random.default_rng(0).random((64, 64), np.float32) * 0.1)


def steps(x, n):
    total = 0.0
    for _ in rt.range(n):
        x = rt.tanh(x @ W) * 0.5 + x
        total += rt.reduce_sum(x)
    return total, rt.exp(x) + 1.0


def collatz(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def row_of(report: Any, kind: str, what: str = "") -> Any:
    found = [row for row in report.rows if row.kind == kind and (row.what.startswith(what) or row.what.endswith(what))]
    assert found, report.table()
    return found[0]


@pytest.fixture(params=["native", "numpy"])
def executor(request: pytest.FixtureRequest) -> str:
    return request.param


def test_results_and_trip_counts(executor: str) -> None:
    f = rt.function(steps, executor=executor)
    x = rt.constant(np.ones((64, 64), np.float32))
    plain = f(x, rt.constant(7))
    report = rt.profiler.profile(f, x, rt.constant(7))
    for a, b in zip(plain, report.result, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert row_of(report, "loop").iterations == 7
    products = [row for row in report.rows if row.what == "matmul"]
    assert [row.runs for row in products] == [7] and products[0].where[0].startswith("test_profiler.py:")
    call = row_of(report, "call")
    assert call.seconds <= report.seconds and call.bytes == plain[0].numpy().nbytes + plain[1].numpy().nbytes
    assert report.compiling == 0


def test_fused_ops_are_one_region() -> None:
    f = rt.function(lambda x: rt.tanh(x) * 2.0 + 1.0)
    report = rt.profiler.profile(f, rt.ones([1000]))
    fused = row_of(report, "fused")
    assert fused.what == "tanh, multiply, add" and fused.note == "over [1000], one loop" and fused.runs == 1
    assert not [row for row in report.rows if row.what in ("tanh", "multiply", "add")]


def test_cheap_loops_count_their_iterations_without_timestamps(executor: str) -> None:
    f = rt.function(collatz, executor=executor)
    report = rt.profiler.profile(f, rt.constant(27, rt.int64))
    assert int(report.result) == row_of(report, "loop").iterations == 111

    @rt.function(executor=executor)
    def nested(n):
        total = 0
        for i in rt.range(n):
            j = 0
            while j * j < i:
                j += 1
            total += j
        return total

    report = rt.profiler.profile(nested, rt.constant(50))
    inner = row_of(report, "loop", "while_loop")
    assert inner.iterations == int(report.result) and inner.runs == 50
    assert (inner.seconds is None) is (executor == "native")
    assert row_of(report, "loop", "reduce").iterations == 50


def test_iterations_of_special_loops_are_right_or_absent() -> None:
    @rt.function
    def lanes(c):
        def one(z0):
            z = z0
            k = 0
            while k < 50 and abs(z) < 2.0:
                z = z * z + z0
                k += 1
            return k
        return rt.map_fn(one, c, fn_output_signature=rt.int32)

    @rt.function
    def sweeps(u):
        for _ in rt.range(20):
            u = (rt.roll(u, 1, 0) + rt.roll(u, -1, 0)) * 0.5
        return u

    @rt.function
    def blocks(x):
        k = rt.constant(0)
        while k < 9:
            x = x * 0.5 + 1.0
            k += 1
        return x

    for f, x, count in ((lanes, rt.linspace(-1.0, 1.0, 64), 64), (sweeps, rt.ones([1 << 17]), 20),
                        (blocks, rt.ones([4096]), 9)):
        report = rt.profiler.profile(f, x)
        loop = row_of(report, "loop")
        assert loop.iterations == count or (loop.iterations is None and "not counted" in loop.note), loop
        np.testing.assert_array_equal(report.result.numpy(), f(x).numpy())


def test_callbacks_and_variables(executor: str) -> None:
    v = rt.Variable(rt.zeros([3]))
    dataset = rt.data.Dataset.from_tensor_slices(np.ones((5, 3), np.float32))

    def doubled(x):
        return x * 2

    @rt.function(executor=executor)
    def train(ds):
        total = 0.0
        for x in ds:
            v.assign_add(x)
            total += rt.py_function(doubled, [rt.reduce_sum(x)], rt.float32)
        return total

    report = rt.profiler.profile(train, dataset)
    assert float(report.result) == 30 and v.numpy().tolist() == [5, 5, 5]
    assert row_of(report, "loop").iterations == 5
    if executor == "native":
        assert row_of(report, "python", "doubled").runs == 5
        assert row_of(report, "python", "next element").runs == 6  # the last finds the end
    assert row_of(report, "eager", "multiply").runs == 5


def test_gradients_and_eager_ops() -> None:
    @rt.function
    def loss(x):
        return rt.reduce_sum(rt.tanh(x) * x)

    def run():
        x = rt.constant([1.0, 2.0])
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = loss(x) * 3.0
        return tape.gradient(y, x)

    expected = run()
    report = rt.profiler.profile(run)
    np.testing.assert_array_equal(report.result.numpy(), expected.numpy())
    assert len([row for row in report.rows if row.kind == "call"]) == 2  # forward and backward
    assert row_of(report, "eager", "multiply").where


def test_compiling_is_shown_and_what_the_profiler_compiles_is_not_counted() -> None:
    f = rt.function(lambda x: rt.sin(x) + 1.0, name="fresh")
    report = rt.profiler.profile(f, rt.ones([10]))
    assert row_of(report, "compile", "trace fresh").runs == 1
    assert row_of(report, "compile", "compile fresh").runs == 1
    assert 0 < report.compiling < report.seconds
    assert sum(row.what.startswith("LLVM") for row in report.rows) == 1
    assert [e["name"] for e in report.trace()["traceEvents"] if e.get("cat") == "profiler"] == [
        "compile fresh with timestamps"]
    assert rt.profiler.profile(f, rt.ones([10])).compiling == 0


def check_trace(document: Any) -> list[dict[str, Any]]:
    """The complete events, once all are what the format asks for, and nested in each thread."""
    events = document["traceEvents"]
    json.dumps(document, allow_nan=False)
    for event in events:
        assert {"ph", "name", "pid", "tid", "ts"} <= set(event) and event["ph"] in "MXC"
        assert isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["ph"] != "X" or (event["dur"] >= 0 and event["ts"] >= 0 and event["cat"])
    complete = [event for event in events if event["ph"] == "X"]
    for thread in {event["tid"] for event in complete}:
        ends: list[float] = []
        for event in [event for event in complete if event["tid"] == thread]:
            while ends and event["ts"] >= ends[-1] - 1e-6:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1] + 1e-6, event
            ends.append(event["ts"] + event["dur"])
    return complete


def test_saved_trace(tmp_path: Any, executor: str) -> None:
    f = rt.function(steps, executor=executor)
    report = rt.profiler.profile(f, rt.ones([64, 64]), rt.constant(3))
    report.save(tmp_path / "trace.json")
    events = check_trace(json.loads((tmp_path / "trace.json").read_text()))
    assert sum(event["name"] == "matmul" for event in events) == 3
    assert any("test_profiler.py" in event["args"].get("source", "") for event in events)
    report.save(tmp_path / "trace.json.gz")
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes())) == report.trace()


def test_start_stop_and_steps(tmp_path: Any) -> None:
    f = rt.function(lambda x: x * 2.0)
    with rt.profiler.experimental.Profile(str(tmp_path)):
        for step in range(2):
            with rt.profiler.experimental.Trace("train", step_num=step):
                f(rt.ones([4]))
    (path,) = tmp_path.glob("plugins/profile/*/*.trace.json.gz")
    events = check_trace(json.loads(gzip.decompress(path.read_bytes())))
    assert [event["args"]["step_num"] for event in events if event["name"] == "train"] == [0, 1]


def test_misuse(tmp_path: Any) -> None:
    experimental = rt.profiler.experimental
    with pytest.raises(rt.errors.FailedPreconditionError, match="no profiler is running"):
        experimental.stop()
    experimental.start(str(tmp_path))
    try:
        with pytest.raises(rt.errors.AlreadyExistsError, match="another profiler is running"):
            rt.profiler.profile(abs, 1)
        with pytest.raises(rt.errors.AlreadyExistsError, match="another profiler is running"):
            experimental.start(str(tmp_path))
    finally:
        experimental.stop(save=False)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="by 'region', 'op' or 'line', not 'kind'"):
        rt.profiler.profile(abs, -1).table("kind")
    with experimental.Trace("alone"):  # without a profiler: no effect
        pass


def test_errors_leave_no_profile_behind(executor: str) -> None:
    @rt.function(executor=executor)
    def fails(x):
        rt.debugging.assert_positive(x)
        return rt.sqrt(x)

    with pytest.raises(rt.errors.InvalidArgumentError):
        rt.profiler.profile(fails, rt.constant([-1.0]))
    assert active.session is None and not recorders and not open_traces
    assert fails(rt.constant([4.0])).numpy() == [2.0]
    assert rt.profiler.profile(fails, rt.constant([4.0])).result.numpy() == [2.0]


def test_numeric_checks_end_apart_from_a_profile() -> None:
    def run():
        rt.debugging.enable_check_numerics()
        rt.debugging.disable_check_numerics()
        return rt.constant(1.0) + 1.0

    assert row_of(rt.profiler.profile(run), "eager", "add").runs == 1


def test_table_by_op_and_line() -> None:
    f = rt.function(steps)
    report = rt.profiler.profile(f, rt.ones([64, 64]), rt.constant(3))
    header = ["time", "share", "runs", "iterations", "memory", "what"]
    for by in ("region", "op", "line"):
        assert report.table(by).splitlines()[0].split() == header
    assert " matmul" in report.table("op") and "test_profiler.py:" in report.table("line")
    assert " in all" in str(report) and "matmul" in str(report)


def test_events_beyond_the_table_are_counted() -> None:
    @rt.function
    def many(x):
        for _ in rt.range(20000):
            x = rt.reshape(rt.sort(rt.reshape(x, [-1])), [64, 64])
        return x

    report = rt.profiler.profile(many, rt.zeros([64, 64]))
    loop = row_of(report, "loop")
    assert loop.iterations == 20000
    assert report.dropped and "in the table, but not in the trace" in str(report)


def test_calls_at_once_and_inside_each_other(executor: str) -> None:
    """Each of two threads waits in the function for the other one, and it calls itself by way of Python."""
    meeting = threading.Barrier(2, timeout=20)

    def again(x):
        if x > 1:
            return f(x - 1) + 0.0
        meeting.wait()
        return x

    @rt.function(executor=executor)
    def f(x):
        return rt.py_function(again, [x], rt.float32) + 1.0

    def run():
        with ThreadPoolExecutor(2) as pool:
            return [float(x) for x in pool.map(f, [rt.constant(3.0), rt.constant(3.0)])]

    report = rt.profiler.profile(run)
    assert report.result == [4.0, 4.0]
    assert sum(row.runs for row in report.rows if row.kind == "call") == 6
    events = check_trace(report.trace())
    assert len({event["tid"] for event in events if event["cat"] == "call"}) == 2


def test_inner_loops_with_callbacks_are_timed() -> None:
    @rt.function
    def f(n):
        total = 0.0
        for i in rt.range(n):
            j = 0
            while j < i:
                total += rt.py_function(lambda x: x + 1.0, [total], rt.float32)
                j += 1
        return total

    report = rt.profiler.profile(f, rt.constant(4))
    inner, python = row_of(report, "loop", "while_loop of py_function, 2 add"), row_of(report, "python")
    assert (inner.runs, inner.iterations, python.runs) == (4, 6, 6)
    assert python.seconds <= inner.seconds <= row_of(report, "loop", "reduce").seconds


def test_arrays_that_change(executor: str) -> None:
    @rt.function(executor=executor)
    def f(a, x):
        a[1:] = a[:-1] + x
        a *= 2.0
        return a.sum()

    plain, profiled = np.arange(4.0), np.arange(4.0)
    expected = f(plain, rt.constant(3.0, rt.float64))
    report = rt.profiler.profile(f, profiled, rt.constant(3.0, rt.float64))
    assert profiled.tolist() == plain.tolist() == [0, 6, 8, 10] and float(report.result) == float(expected) == 24


def test_name_scopes(executor: str) -> None:
    @rt.function(executor=executor)
    def f(x):
        with rt.name_scope("outer"), rt.name_scope("inner"):
            x = x @ W
        return x @ W

    report = rt.profiler.profile(f, rt.ones([64, 64]))
    products = [row for row in report.rows if row.what == "matmul"]
    assert sorted(row.scopes for row in products) == [(), ("outer/inner",)]
    assert re.search(r"test_profiler.py:\d+ \[outer/inner\]: matmul", str(report))
    assert "[outer/inner]" in report.table("line")

    with pytest.raises(ZeroDivisionError), rt.name_scope("left"):
        1 // 0
    assert rt.profiler.profile(lambda: rt.constant(1.0) + 1.0).rows[0].scopes == ()

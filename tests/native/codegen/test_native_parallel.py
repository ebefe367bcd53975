"""Large loops of native code on several threads: the same bits for any number of them, and a pool that is shared."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime as rt

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

ROOT = Path(__file__).parents[3]
THREADS = (1, 2, 3, 7)
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = rt.config.threading.get_intra_op_parallelism_threads()
    yield
    rt.config.threading.set_intra_op_parallelism_threads(before)


def mean_of_functions(x: Any, y: Any) -> Any:
    return rt.reduce_mean((rt.tanh(x) * y + rt.exp(-x)) / (1.0 + rt.abs(y)))


def sums(x: Any, y: Any) -> Any:
    return rt.reduce_sum(x), rt.reduce_max(x * y), rt.reduce_any(x > y)


def sums_of_rows(x: Any, y: Any) -> Any:
    x, y = rt.reshape(x[:600_000], [1000, 600]), rt.reshape(y[:600_000], [1000, 600])
    return rt.reduce_sum(rt.exp(x) * y, 1), rt.reduce_sum(rt.exp(x) * y, 0)


def elements(x: Any, y: Any) -> Any:
    return rt.tanh(x) * y + rt.exp(-x), rt.cast(x * y > 0.5, rt.int32)


@pytest.mark.parametrize("fn", [mean_of_functions, sums, sums_of_rows, elements])
@pytest.mark.parametrize("size", [999_424, 1_000_000, 1_000_003])
def test_results_do_not_depend_on_the_threads(fn: Callable[..., Any], size: int) -> None:
    x, y = (rt.constant(RNG.normal(size=size).astype(np.float32)) for _ in range(2))
    f = rt.function(fn, executor="native")
    want = rt.function(fn, executor="numpy")(x, y)
    assert "runtime_parallel" in f.get_concrete_function(x, y).inspect_llvm(optimized=False)
    results = []
    for count in THREADS:
        rt.config.threading.set_intra_op_parallelism_threads(count)
        results.append([r.numpy() for r in rt.nest.flatten(f(x, y))])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(results[0], rt.nest.flatten(want), strict=True):
        np.testing.assert_allclose(a, b.numpy(), 3e-6, 1e-6 if fn is elements else 1e-3)  # terms cancel


@pytest.mark.parametrize("size", [100_000, 1_048_576, 3_000_017])
@pytest.mark.parametrize("heavy", [False, True])
def test_a_sum_is_as_accurate_as_a_pairwise_one(size: int, heavy: bool) -> None:
    """All terms are positive, so that the relative error of pairwise summation is (16 + log2 n) roundings at most."""
    x = RNG.random(size, np.float32) + np.float32(0.1)
    f = rt.function(lambda x: rt.reduce_sum(rt.sqrt(x * x) / (x * x) if heavy else x), executor="native")
    terms = np.sqrt(x * x) / (x * x) if heavy else x
    exact = terms.astype(np.float64).sum()
    assert abs(f(rt.constant(x)).numpy() - exact) <= (16 + np.log2(size)) * 2.0 ** -24 * exact


def test_a_loop_that_finds_the_pool_in_use_runs_alone() -> None:
    x = rt.constant(RNG.normal(size=700_001).astype(np.float32))
    f = rt.function(lambda x: rt.reduce_sum(rt.tanh(x) * rt.exp(x)), executor="native")
    want = f(x).numpy()
    found: list[Any] = []

    def work() -> None:
        found.extend(f(x).numpy() for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert len(found) == 200 and set(found) == {want}


FORKED = """
import os, signal, sys
import numpy as np
import runtime as rt

rt.config.threading.set_intra_op_parallelism_threads(3)
x = rt.constant(np.arange(800_000, dtype=np.float32) % 7)

@rt.function(executor="native")
def f(x):
    return rt.reduce_sum(rt.tanh(x) * rt.exp(-x))

want = f(x).numpy()
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(0 if all(f(x).numpy() == want for _ in range(20)) else 1)
assert os.waitpid(child, 0)[1] == 0 and f(x).numpy() == want
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_starts_threads_of_its_own(tmp_path: Path) -> None:
    """Those of the parent are not in the child."""
    path = tmp_path / "forked.py"
    path.write_text(FORKED)
    child = subprocess.run([sys.executable, "-W", "ignore", str(path)], capture_output=True, text=True,
                           timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (child.stdout, child.returncode) == ("same\n", 0), child.stderr

"""Import times, each in a fresh interpreter, in excess of the modules that are already imported."""
from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import OURS, Budget, Row
from benchmarks.peers import MODULES, installed

__all__ = ["run"]

ROOT = Path(__file__).resolve().parent.parent
CHILD = "import sys, time\n{before}\nstart = time.perf_counter()\nimport {module}\nprint(time.perf_counter() - start)"


def run(budget: Budget) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as cache:
        took = _milliseconds("autograph", "import numpy", budget, cache)
        yield Row("import autograph, beyond numpy", "ms", {OURS: took}, "< 40 ms", took < 40)
        took = _milliseconds("runtime", "import numpy", budget, cache)
        yield Row("import runtime, beyond numpy", "ms", {OURS: took}, "< 120 ms", took < 120)
        took = _milliseconds("runtime.function.function", "import numpy", budget, cache)
        yield Row("import runtime and what traces, beyond numpy", "ms", {OURS: took})
        figures = {OURS: _milliseconds("runtime", "", budget, cache)}
        figures["numpy"] = _milliseconds("numpy", "", budget, cache)
        if budget.peers:
            for name, module in MODULES.items():
                if installed(name):
                    figures[name] = _milliseconds(module, "", Budget(repeat=min(3, budget.repeat)), cache)
        yield Row("import runtime, numpy included", "ms", figures)


def _milliseconds(module: str, before: str, budget: Budget, cache: str) -> float:
    """The median over `budget.repeat` child processes; one more before them fills the file and bytecode caches.

    Bytecode is cached in the directory `cache`, even where the environment forbids it, as for an installed package.
    """
    command = [sys.executable, "-c", CHILD.format(before=before, module=module)]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
    times = []
    for _ in range(budget.repeat + 1):
        child = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        times.append(float(child.stdout))
    return statistics.median(times[1:]) * 1e3

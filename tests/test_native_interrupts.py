"""Ctrl-C ends native code soon, in a process of its own: scalars, arrays, several threads, and products."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from interrupts import KINDS

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
ROOT = Path(__file__).parents[1]
TIMES = 3


def test_delays() -> None:
    """Within 0.1 s where nothing else runs (docs/performance.md has figures). This machine may be busy: one of each
    kind has to come that soon, and all in a time after which a loop that asks for no signals would still run."""
    done = subprocess.run([sys.executable, "-m", "tests.interrupts", str(TIMES)], cwd=ROOT, capture_output=True,
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

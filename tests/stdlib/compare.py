"""Runs CPython's tests of one module in two processes, unconverted and converted, and compares the outcomes."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any, NamedTuple

from .modules import EXPLAINED, Subject

__all__ = ["Comparison", "compare"]

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
_GOOD = ("ok", "skip", "expected failure")


class Comparison(NamedTuple):
    """What converting a module changed."""

    name: str
    functions: int
    tests: int
    original: Counter[str]
    differences: dict[str, tuple[str, str]]
    """Tests whose outcome is another: the outcome before and after."""
    errors: tuple[str, ...]
    """Functions that did not convert, or how a run as a whole went wrong."""
    details: dict[str, str]
    """What the tests that differ printed when converted."""
    seconds: float
    """How long the tests took unconverted."""
    ratio: float
    """Time of the tests converted by time of the tests unconverted."""

    @property
    def regressions(self) -> list[str]:
        """Tests that pass unconverted and fail converted."""
        return [name for name, (before, after) in self.differences.items() if before in _GOOD and after not in _GOOD]

    @property
    def unexplained(self) -> list[str]:
        """Tests that differ, without those that do so by their nature."""
        return [name for name in self.differences if not any(name.startswith(start) for start in EXPLAINED)]

    @property
    def same(self) -> bool:
        return not self.differences and not self.errors


def _run(subject: Subject, mode: str, timeout: float) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": ""}
    environment.pop("AUTOGRAPH_CACHE", None)
    with tempfile.TemporaryDirectory(prefix="stdlib", ignore_cleanup_errors=True) as folder:
        output = os.path.join(folder, "outcomes.json")
        work = os.path.join(folder, "work")
        os.mkdir(work)
        command = [sys.executable, "-X", "frozen_modules=off", _CHILD, ",".join(subject.targets),
                   ",".join(subject.tests), output, mode]
        try:
            done = subprocess.run(
                command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True, errors="replace", timeout=timeout, start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no end after {timeout:.0f} s"}
        try:
            with open(output) as file:
                found: dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            return {"failed": f"exit status {done.returncode}: {done.stderr[-2000:].strip()}"}
        return found


def compare(subject: Subject, mode: str = "converted", timeout: float = 300) -> Comparison | str:
    """Compare, or say why the tests cannot run here even unconverted.

    What differs is run once more both ways, since some of these tests depend on time: only what differs again counts.
    """
    before = _run(subject, "original", timeout)
    if "failed" in before:
        return f"{subject.name}: the tests do not run unconverted: {before['failed']}"
    after = _run(subject, mode, 3 * timeout)
    differences = _differences(before, after)
    if differences and "failed" not in after:
        again = _differences(_run(subject, "original", timeout), _run(subject, mode, 3 * timeout))
        differences = {name: pair for name, pair in differences.items() if again.get(name) == pair}
    failed = after.get("failed")
    return Comparison(
        name=subject.name,
        functions=after.get("functions", 0),
        tests=len(before["outcomes"]),
        original=Counter(before["outcomes"].values()),
        differences=differences,
        errors=(f"converted: {failed}",) if failed else tuple(after["errors"]),
        details={name: after.get("details", {}).get(name, "") for name in differences},
        seconds=before["seconds"],
        ratio=after.get("seconds", float("nan")) / max(before["seconds"], 1e-9),
    )


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str]]:
    first, second = before.get("outcomes", {}), after.get("outcomes", {})
    return {
        name: (first.get(name, "missing"), second.get(name, "missing"))
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    }

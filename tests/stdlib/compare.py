"""Runs CPython's tests of one module unconverted and converted, each in a process, and compares the outcomes."""
from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from autograph.core.code_cache import inside

from .modules import INHERENT, Subject, reason

__all__ = ["MODES", "Comparison", "Converted", "Lines", "Times", "compare", "compare_lines", "counts"]

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")
_GOOD = ("ok", "skip", "expected failure")
MODES = ("converted", "recursive")
"""The functions of the module are converted; and in `recursive` all that they call, in other modules, too."""
_ATTEMPTS = 3


class Times(NamedTuple):
    """How long the tests took; in `recursive` that includes the conversion of what they call."""

    processor: float
    """Processor time, that of child processes included."""
    passed: float


class Converted(NamedTuple):
    """What converting a module changed."""

    functions: int
    differences: dict[str, tuple[str, str]]
    """Tests whose outcome is another: the outcome before and after."""
    details: dict[str, str]
    """What the tests that differ printed."""
    errors: tuple[str, ...]
    """Functions that did not convert, or how a run as a whole went wrong."""
    missing: tuple[str, ...]
    """Tests that are listed as INHERENT, and do not differ."""
    seconds: Times

    @property
    def regressions(self) -> list[str]:
        """Tests that pass unconverted and fail converted."""
        return [name for name, (before, after) in self.differences.items() if before in _GOOD and after not in _GOOD]

    @property
    def unlisted(self) -> list[str]:
        """Tests that differ and are not listed."""
        return [name for name in self.differences if reason(name) is None]

    @property
    def good(self) -> bool:
        return not (self.unlisted or self.errors or self.missing)


class Comparison(NamedTuple):
    """The tests of a module, unconverted and in each mode."""

    name: str
    original: dict[str, str]
    """The outcome of each test unconverted."""
    seconds: Times
    modes: dict[str, Converted]

    @property
    def good(self) -> bool:
        return all(result.good for result in self.modes.values())


def _run(subject: Subject, mode: str, timeout: float, *options: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": ""}
    environment.pop("AUTOGRAPH_CACHE", None)
    with tempfile.TemporaryDirectory(prefix="stdlib", ignore_cleanup_errors=True) as folder:
        output = os.path.join(folder, "outcomes.json")
        work = os.path.join(folder, "work")
        os.mkdir(work)
        command = [sys.executable, "-X", "frozen_modules=off", _CHILD, ",".join(subject.targets),
                   ",".join(subject.tests), output, mode, ",".join(subject.without), *options]
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


def compare(subject: Subject, modes: Sequence[str] = MODES[:1], timeout: float = 300) -> Comparison | str:
    """Compare, or say why the tests cannot run here even unconverted.

    Some of these tests depend on time, so what differs is run again, both ways: only what differs each time counts.
    """
    before = _run(subject, "original", timeout)
    if "failed" in before:
        return f"{subject.name}: the tests do not run unconverted: {before['failed']}"
    outcomes = before["outcomes"]
    return Comparison(subject.name, outcomes, Times(*before["seconds"]),
                      {mode: _compared(subject, mode, outcomes, timeout) for mode in modes})


def _compared(subject: Subject, mode: str, outcomes: dict[str, str], timeout: float) -> Converted:
    after = _run(subject, mode, 4 * timeout)
    if "failed" in after:
        return Converted(0, {}, {}, (f"{mode}: {after['failed']}",), (), Times(0, 0))
    differences = _differences(outcomes, after["outcomes"])
    for _ in range(_ATTEMPTS - 1):
        if all(map(reason, differences)):
            break
        first, second = _run(subject, "original", timeout), _run(subject, mode, 4 * timeout)
        again = _differences(first.get("outcomes", {}), second.get("outcomes", {}))
        differences = {name: pair for name, pair in differences.items() if again.get(name) == pair}
    return Converted(
        functions=after["functions"],
        differences=differences,
        details={name: after["details"].get(name, "") for name in differences},
        errors=tuple(after["errors"]),
        missing=tuple(name for name in INHERENT if name in outcomes and name not in differences),
        seconds=Times(*after["seconds"]),
    )


class Lines(NamedTuple):
    """What coverage finds of the files of a module under its tests."""

    name: str
    tests: int
    functions: int
    count: int
    """How many lines there are."""
    differences: tuple[str, ...]
    """The lines that are run in one way alone."""


def compare_lines(subject: Subject, timeout: float = 600) -> Lines | str:
    """The lines that are run unconverted and not converted, or why they cannot be measured. (Converted code may come to
    the first line of a handler, or the last of a function, that does not run; and its branches are its own.)

    What differs is measured again: only what differs each time counts.
    """
    found: set[tuple[str, str, str]] | None = None
    for _ in range(_ATTEMPTS):
        runs = [_run(subject, mode, timeout, "lines") for mode in ("original", "converted")]
        for run in runs:
            if run.get("errors") or not run.get("lines"):
                return f"{subject.name}: {run.get('failed') or run['errors'] or 'its files are not measured'}"
        before, after = (_items(run["lines"]) for run in runs)
        found = before - after if found is None else found & (before - after)
        if not found:
            break
    differences = [f"{where} {kind} {what} unconverted" for where, kind, what in sorted(found or ())]
    return Lines(subject.name, len(runs[0]["outcomes"]), runs[1]["functions"], len(before), tuple(differences))


def _items(lines: dict[str, dict[str, list[Any]]]) -> set[tuple[str, str, str]]:
    return {(os.path.basename(file), "executed lines", str(line))
            for file, kinds in lines.items() for line in {*kinds["executed_lines"]} & _inside_functions(file)}


@functools.cache
def _inside_functions(file: str) -> frozenset[int]:
    """The lines of a file that only a call runs. (Of others coverage says, in the original, that some run again.)"""
    with tokenize.open(file) as opened:
        codes = [*inside(compile(opened.read(), file, "exec"))][1:]
    return frozenset(line for code in codes if code.co_flags & 1 for _, _, line in code.co_lines()
                     if line is not None and line != code.co_firstlineno)


def _differences(first: dict[str, str], second: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {
        name: (first.get(name, "missing"), second.get(name, "missing"))
        for name in {**first, **second}
        if first.get(name) != second.get(name)
    }


def counts(outcomes: dict[str, str]) -> Counter[str]:
    """How many tests have each outcome; an expected failure has passed."""
    return Counter("ok" if outcome == "expected failure" else outcome for outcome in outcomes.values())

"""One run: `python child.py TARGETS TESTS OUTPUT MODE WITHOUT [lines]`; names are separated by commas.

Runs CPython's unittest modules TESTS in this process, but for methods WITHOUT, and writes their outcomes to OUTPUT as
JSON. MODE is `original`,
`converted` (all functions of TARGETS, which are modules and packages) or `recursive` (all that they call, too: of
other modules, and of the tests). With `lines`, OUTPUT also has the lines of TARGETS that coverage finds.
"""
from __future__ import annotations

import gc
import importlib
import io
import json
import os
import random
import re
import sys
import tempfile
import time
import unittest
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from in_place import Converter  # type: ignore[import-not-found]
from modules import is_measured  # type: ignore[import-not-found]

from autograph import include

del sys.path[0]  # this folder: the tests are to find their modules as they would without this file
from test import support  # type: ignore[import-not-found]  # noqa: E402


class Outcomes(unittest.TextTestResult):
    """The outcome of each test by its id, numbered if several have the same; of several outcomes the last bad one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}
        self.seen: Counter[str] = Counter()

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self.seen[test.id()] += 1

    def _name(self, test: Any) -> str:
        number = self.seen[test.id()]
        return f"{test.id()} ({number})" if number > 1 else str(test.id())

    def _set(self, test: Any, outcome: str, detail: str = "") -> None:
        name = self._name(test)
        self.outcomes[name] = outcome
        if detail:
            self.details[name] = detail[-3000:]

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self.outcomes.setdefault(self._name(test), "ok")

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._set(test, "fail", self.failures[-1][1])

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._set(test, "error", self.errors[-1][1])

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._set(test, "skip")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self._set(test, "expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._set(test, "unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self._set(test, "fail" if failed else "error", (self.failures if failed else self.errors)[-1][1])


_FRAMES = 16
"""About as many frames as are around the tests in CPython's own runner: test_tracemalloc needs more than ten."""


def _times() -> tuple[float, float]:
    """Processor time, with that of child processes, and time passed."""
    return sum(os.times()[:4]), time.perf_counter()


def _deeper(frames: int, run: Callable[[], Any]) -> Any:
    return _deeper(frames - 1, run) if frames else run()


class _Measured:
    """While this is entered, coverage measures files; `lines` has what it finds."""

    KINDS = ("executed_lines",)

    def __init__(self, files: list[str]) -> None:
        import coverage

        self.files, self.lines = files, dict[str, dict[str, list[Any]]]()
        self.coverage = coverage.Coverage(data_file=None, include=files, config_file=False)

    def __enter__(self) -> None:
        self.coverage.start()

    def __exit__(self, *_: object) -> None:
        self.coverage.stop()
        with tempfile.NamedTemporaryFile("r", suffix=".json") as report:
            self.coverage.json_report(self.files, outfile=report.name, ignore_errors=True)
            for name, found in json.load(report)["files"].items():
                self.lines[os.path.realpath(name)] = {kind: found[kind] for kind in self.KINDS}


class MeasuredOutcomes(Outcomes):
    """Outcomes of tests of which coverage is not to see all.

    Garbage goes after each test, so that what a later one finds alive does not depend on how much was made.
    """

    def __init__(self, measured: _Measured, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.measured = measured

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        if not is_measured(test.id()):
            self.measured.coverage.stop()

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        gc.collect()
        if not is_measured(test.id()):
            self.measured.coverage.start()


class Loader(unittest.TestLoader):
    """Leaves out methods of these names."""

    def __init__(self, without: list[str]) -> None:
        super().__init__()
        self.without = without

    def getTestCaseNames(self, testCaseClass: Any) -> list[str]:
        return [name for name in super().getTestCaseNames(testCaseClass) if name not in self.without]


def main(targets: list[str], tests: list[str], output: str, mode: str, without: list[str], lines: bool = False) -> None:
    support.use_resources = ["subprocess", "curses"]  # no network, no big files, nothing that takes minutes
    if tests == ["test.test_socketserver"]:  # by network it means this machine
        support.use_resources.append("network")
    files = {getattr(importlib.import_module(target), "__file__", None) for target in targets}
    is_target = re.compile(rf"(?:{'|'.join(map(re.escape, targets))})(?:\.|$)").match
    converter = Converter(is_target)
    if mode != "original":
        converter.start()
    if mode == "recursive":
        include(*sys.stdlib_module_names)
    loader = Loader(without)
    suite = loader.loadTestsFromNames(tests)
    if loader.errors:
        raise ImportError("\n".join(loader.errors))
    # besides the targets, which test_datetime has taken out of sys.modules by now, what is below them
    files |= {getattr(module, "__file__", None) for name, module in [*sys.modules.items()] if is_target(name)}
    sources = sorted(file for file in files if file and file.endswith(".py"))
    measured = _Measured(sources) if lines and sources else None
    runner = unittest.TextTestRunner(
        stream=io.StringIO(), verbosity=0, resultclass=partial(MeasuredOutcomes, measured) if measured else Outcomes)
    if lines:
        random.seed(1)  # test_decimal draws its operands: both runs are to have the same
    gc.freeze()  # what is there by now need not be looked at each time
    started = _times()
    with measured or nullcontext():
        result: Any = _deeper(_FRAMES, lambda: runner.run(suite))
    seconds = [after - before for before, after in zip(started, _times())]
    with open(output, "w") as file:
        json.dump({
            "outcomes": result.outcomes, "seconds": seconds, "functions": converter.converted,
            "errors": converter.errors, "details": result.details, "lines": measured.lines if measured else {},
        }, file)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main(sys.argv[1].split(","), sys.argv[2].split(","), sys.argv[3], sys.argv[4], sys.argv[5].split(","),
         sys.argv[6:] == ["lines"])
    sys.stdout.flush()
    os._exit(0)  # threads and tables of the tests are of no interest any more

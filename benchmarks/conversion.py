"""Conversion: the first one of a function, a repeated one, and the cost of converted code on plain Python values."""
from __future__ import annotations

import importlib.util
import inspect
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import autograph as ag
from autograph.codegen.disk_cache import cache_directory, load
from benchmarks import nested as nested_module
from benchmarks.measure import OURS, Budget, Row, in_turns, once_each
from benchmarks.nested import nested
from benchmarks.peers import peer

__all__ = ["run"]

Convert = Callable[[Any], Any]
ARGUMENTS = (15, 10)


def run(budget: Budget) -> Iterator[Row]:
    converters: dict[str, Convert] = {OURS: ag.convert}
    if budget.peers:
        if peer("TF") is not None:
            converters["TF"] = peer("TF").autograph.to_graph
        if peer("malt") is not None:
            converters["malt"] = peer("malt").to_graph

    with tempfile.TemporaryDirectory() as directory:
        copies = _copies(Path(directory))
        rounds = (
            {name: _converting(convert, next(copies)) for name, convert in converters.items()}
            for _ in range(budget.repeat)
        )
        first = once_each(rounds)
    ratio = first["TF"] / first[OURS] if "TF" in first else None
    yield Row("convert the 69-line function", "ms", {k: v * 1e3 for k, v in first.items()},
              "TF / this >= 24", None if ratio is None else ratio >= 24)  # 10 ms where TensorFlow takes 239

    again = in_turns({name: _converting(convert, nested) for name, convert in converters.items()}, budget)
    yield Row("convert it again", "us", {k: v * 1e6 for k, v in again.items()})

    runs: dict[str, Callable[[], Any]] = {"Python": lambda: nested(*ARGUMENTS)}
    for name, convert in converters.items():
        converted = convert(nested)
        assert converted(*ARGUMENTS) == nested(*ARGUMENTS), name
        runs[name] = _calling(converted)
    times = in_turns(runs, budget)
    yield Row("run it converted, on Python ints", "us", {k: v * 1e6 for k, v in times.items()},
              "this / Python <= 1.2", times[OURS] / times["Python"] <= 1.2)

    with tempfile.TemporaryDirectory() as directory:
        before = cache_directory()
        ag.set_cache(Path(directory) / "cache")
        try:
            copies = _copies(Path(directory))
            found: list[float] = []
            for _ in range(max(budget.repeat, 2)):
                fn = next(copies)
                ag.convert(fn)
                start = time.perf_counter()
                assert load(fn.__code__, True) is not None
                found.append(time.perf_counter() - start)
        finally:
            ag.set_cache(before)
    yield Row("find its conversion on disk (AUTOGRAPH_CACHE)", "ms", {OURS: 1e3 * statistics.median(found)})


def _converting(convert: Convert, fn: Any) -> Callable[[], Any]:
    return lambda: convert(fn)


def _calling(fn: Any) -> Callable[[], Any]:
    return lambda: fn(*ARGUMENTS)


def _copies(directory: Path) -> Iterator[Any]:
    """Copies of the function, each from a file of its own, so that no cache knows it.

    Each also starts on another line, since code objects that differ only in the file are equal. Each file predates
    the process, as a program's files do: a file written later would be compiled again, to check whether it is still
    what was imported.
    """
    text = inspect.getsource(nested_module)
    for number in itertools.count():
        path = directory / f"nested_{number}.py"
        path.write_text("\n" * number + text)
        os.utime(path, (0, 0))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.nested

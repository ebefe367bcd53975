"""The standard library: how many of its functions convert, and how long one takes."""
from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import autograph as ag
from benchmarks.measure import OURS, Budget, Row
from benchmarks.peers import peer

__all__ = ["run"]

MODULES = """
    argparse ast asyncio.base_events asyncio.tasks bisect calendar collections configparser contextlib copy csv
    dataclasses difflib doctest email.message enum fnmatch fractions functools glob graphlib heapq html html.parser
    inspect ipaddress json.decoder json.encoder logging pathlib pprint random reprlib shlex shutil statistics string
    tarfile tempfile textwrap tokenize traceback typing unittest.case unittest.mock urllib.parse
    xml.etree.ElementTree zipfile
"""
PEERS_SHARE = 20  # peers take tens of milliseconds for each function: every 20th will do


def run(budget: Budget) -> Iterator[Row]:
    found = [fn for name in MODULES.split() for fn in functions(importlib.import_module(name))]
    chosen = found[::budget.share]
    results = {OURS: _convert_all(ag.convert, chosen)}
    if budget.peers:
        for name, convert in (("TF", lambda m: m.autograph.to_graph), ("malt", lambda m: m.to_graph)):
            module = peer(name)
            if module is not None:
                results[name] = _convert_all(convert(module), chosen[::PEERS_SHARE])
    yield Row("functions of the standard library that convert", "%",
              {name: 100 * done / tried for name, (done, tried, _) in results.items()},
              notes={name: f"{done} of {tried}" for name, (done, tried, _) in results.items()})
    yield Row("... time for one", "ms", {name: 1e3 * took / tried for name, (_, tried, took) in results.items()})


def _convert_all(convert: Callable[[Any], Any], fns: list[FunctionType]) -> tuple[int, int, float]:
    done = 0
    start = time.perf_counter()
    for fn in fns:
        try:
            convert(fn)
            done += 1
        except Exception:  # counted as not converted, whatever the reason
            pass
    return done, len(fns), time.perf_counter() - start


def functions(module: ModuleType) -> Iterator[FunctionType]:
    """The functions and methods that a module defines."""
    seen: set[int] = set()
    stack: list[Any] = list(vars(module).values())
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (staticmethod, classmethod)):
            stack.append(value.__func__)
        elif isinstance(value, property):
            stack += [value.fget, value.fset, value.fdel]
        elif isinstance(value, type) and value.__module__ == module.__name__:
            stack += vars(value).values()
        elif isinstance(value, FunctionType) and value.__code__.co_filename == module.__file__:
            yield value

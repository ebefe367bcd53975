"""The programs, called with Python's numbers that differ from call to call, so that these become inputs of the graph.

`python -m tests.number_inputs` compares all of them with Python: results, what is printed, errors, and the arguments.
"""
from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
programs, ways = importlib.import_module("programs"), importlib.import_module("ways")

__all__ = ["WITHOUT", "differences", "main"]

WITHOUT = {
    "except_star_ends_a_function": "an `except*` cannot see what a graph raises",
    "except_star_behind_a_return": "an `except*` cannot see what a graph raises",
}
"""Programs that differ, and why."""
_STEPS = (0, 1, 2, 3, 4, 6, 0)
"""What is added to the numbers in each call: from the fifth value on a number is an input."""


def differences(program: Any, executor: str = "numpy") -> Iterator[str]:
    """Where calls of a program differ from Python."""
    runtime = importlib.import_module("runtime")
    staged = runtime.function(program.fn, executor=executor)
    for given in program.arguments:
        for step in _STEPS:
            values = tuple(_moved(ways.as_python(value), step) for value in given)
            wanted = ways.observe(program.fn, tuple(map(ways.as_python, values)))
            found = ways.observe(staged, tuple(map(ways.as_python, values)))
            where = ways.difference(wanted, found, exact=False)
            if where is None and wanted.error is None:
                where = ways._unequal(wanted.arguments, found.arguments, "the arguments", exact=False)
            if where is not None:
                yield f"{program.name}{values}: {where}"


def _moved(value: Any, step: int) -> Any:
    """A value with `step` added to the numbers in it."""
    if type(value) is int:
        return value + step
    if type(value) is float:
        return value + step / 4
    if type(value) in (list, tuple):
        return type(value)(_moved(part, step) for part in value)
    return {key: _moved(part, step) for key, part in value.items()} if type(value) is dict else value


def main() -> int:
    count = 0
    for program in programs.load().values():
        for found in () if program.needs_runtime or program.name in WITHOUT else differences(program):
            count += 1
            print(found, flush=True)
    print(f"{count} differences")
    return int(count > 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())

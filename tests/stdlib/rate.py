"""Converts every function of the standard library that has source, without importing anything."""
from __future__ import annotations

import inspect
import os
import sysconfig
import time
import tokenize
import warnings
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import NamedTuple

from autograph import api
from autograph.core.errors import ConversionError

from .in_place import lazy_values

__all__ = ["Rate", "conversion_rate", "files", "functions_of"]

_NOT_CODE = ("test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "lib2to3")
"""Folders without modules of the library itself: tests (with files that are wrong on purpose), what is installed."""


class Rate(NamedTuple):
    """How many functions convert, and in which processor time."""

    functions: int
    errors: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        share = 100 * (self.functions - len(self.errors)) / max(self.functions, 1)
        mean = 1000 * self.seconds / max(self.functions, 1)
        text = (f"Of the {self.functions} functions with source in the whole library, {share:.2f} % convert, each "
                f"alone and compiled, in {mean:.1f} ms of processor time on average.")
        return "\n".join([text, *self.errors])


def files() -> Iterator[str]:
    """The files of the standard library, in order."""
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = sorted(f for f in folders if f not in _NOT_CODE)
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def functions_of(filename: str) -> Iterator[FunctionType]:
    """A function for each one in the file, nested ones and lambdas included; none of them has values in its cells."""
    with tokenize.open(filename) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stack = [compile(file.read(), filename, "exec", dont_inherit=True)]
    module = {"__name__": os.path.splitext(os.path.basename(filename))[0], "__file__": filename}
    lazy = lazy_values(filename)
    while stack:
        code = stack.pop()
        stack += [c for c in code.co_consts if isinstance(c, CodeType)]
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if (code.co_name, code.co_firstlineno) in lazy:
            continue
        if is_function or code.co_name == "<lambda>":
            yield FunctionType(code, module, code.co_name, None, tuple(CellType() for _ in code.co_freevars))


def conversion_rate(every: int = 1) -> Rate:
    """Convert all functions, or one of `every` files."""
    errors: list[str] = []
    count = 0
    seconds = 0.0
    for filename in list(files())[::every]:
        try:
            functions = list(functions_of(filename))
        except (SyntaxError, UnicodeDecodeError):  # a template, not a module
            continue
        for fn in functions:
            count += 1
            started = time.process_time()
            try:
                api.convert(fn)
            except ConversionError as error:
                errors.append(str(error).splitlines()[0])
            except Exception as error:
                errors.append(f"{filename}:{fn.__code__.co_firstlineno}: {type(error).__name__}: {error}")
            seconds += time.process_time() - started
    return Rate(count, tuple(errors), seconds)

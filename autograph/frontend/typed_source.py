"""The source of functions that were not read from a file: of `python -c`, a prompt, a notebook's magics, and modules
that Python has frozen.

Each finder yields texts that may define the function; the caller compiles them and compares the code objects.
"""
from __future__ import annotations

import ast
import inspect
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from types import FunctionType

__all__ = ["typed_texts", "where_typed"]

_CELLS = 50  # how many cells of a notebook are searched
_LINES = 2000
_MAGICS = ("run_cell_magic", "run_line_magic")
_OPTIONS = re.compile(r"\A(-[a-zA-Z](\d+)?\s+(\d+\s+)?)+")
"""The options that a line magic has before its statement, as in `%timeit -n 10 -r3 f(x)`."""


def typed_texts(fn: FunctionType) -> Iterator[str]:
    """The texts that may define `fn`, whose file name linecache does not know."""
    try:
        yield "".join(inspect.findsource(fn)[0])  # from Python 3.13, what was typed at its prompt
    except (OSError, TypeError):
        pass
    filename = fn.__code__.co_filename
    if filename == "<string>":
        yield from _command()
    if filename.startswith("<frozen "):
        yield from _frozen(fn)
    elif filename == "<stdin>":
        yield from _prompt(fn.__code__.co_name)
    elif filename.startswith("<"):
        yield from _magics(fn.__globals__.get("In"))


def where_typed(filename: str) -> str | None:
    """The remedy if the text of a function of such a file was not found; None if nothing special applies."""
    if filename == "<stdin>":
        return ("Before Python 3.13 what is typed at a prompt is kept only by readline, and a script on standard input"
                " is not kept at all: put the function in a file and import it.")
    if filename in ("<timed exec>", "<magic-timeit>"):
        return "Define the function in a cell of its own, without %%time or the like, and call it in this one."
    if filename.startswith("<frozen "):
        return "Python has this module without its source: convert a function of your own that does the same."
    return None


def _command() -> Iterator[str]:
    """The text after `-c`."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        if not argument.startswith("-") or argument.startswith("--"):
            return
        if argument[1:2] in ("W", "X"):
            if len(argument) == 2:
                next(arguments, None)
            continue
        _, option, text = argument.partition("c")
        if option:
            yield text or next(arguments, "")
            return


def _frozen(fn: FunctionType) -> Iterator[str]:
    """The source file of a frozen module of the standard library, found beside a module that has a file."""
    name = fn.__code__.co_filename[len("<frozen "):-1]
    path = fn.__globals__.get("__file__") or os.path.join(os.path.dirname(io.__file__ or ""), *name.split(".")) + ".py"
    try:
        with open(path, encoding="utf-8") as file:
            yield file.read()
    except (OSError, ValueError):
        return


def _prompt(name: str) -> Iterator[str]:
    """The statements of readline's history that name the function, the last first."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    name = "lambda" if name == "<lambda>" else name
    last = readline.get_current_history_length()
    lines = [readline.get_history_item(k) or "" for k in range(max(1, last - _LINES), last + 1)]
    for start in reversed(range(len(lines))):
        if lines[start][:1].isspace():
            continue
        end = start + 1
        is_decorated = lines[start].startswith("@")
        while end < len(lines) and (is_decorated or not lines[end] or lines[end][0] in " \t)]}"):
            is_decorated = is_decorated and lines[end].startswith("@")
            end += 1
        if any(name in line for line in lines[start:end]):
            yield "\n".join([*lines[start:end], ""])


def _magics(cells: Sequence[str] | None) -> Iterator[str]:
    """What was run by magics such as `%%time` and `%time`, the last first; IPython keeps its cells in `In`."""
    for cell in reversed([*(cells or ())][-_CELLS:]):
        try:
            tree = ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _MAGICS and node.args:
                body = node.args[-1]
                if isinstance(body, ast.Constant) and isinstance(body.value, str):
                    yield _OPTIONS.sub("", body.value)

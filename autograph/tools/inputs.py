"""The inputs of the command line: files, directories, modules by name, and standard input, as text.

A module is found on the path without being imported, and neither are the packages around it. Text is decoded
as Python does it (PEP 263: a byte order mark or a declared encoding, else UTF-8).
"""
from __future__ import annotations

import io
import os
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder

from autograph.core.errors import format_error

__all__ = ["Input", "InputError", "read_inputs"]


class InputError(Exception):
    """An input cannot be read, or there is none; the text says which one, why, and the remedy."""


@dataclass(frozen=True)
class Input:
    """A module's text."""

    name: str
    """The path, as given or found; `<stdin>` for standard input."""
    text: str
    encoding: str
    relative: str | None
    """The path below an output directory; None for standard input."""


def read_inputs(targets: Iterable[str]) -> list[Input]:
    """The texts named by `targets`, each once, directories in sorted order.

    Raises InputError for a missing file or module, a directory without Python files, a binary file, a module
    written in C, and an encoding that is unknown or wrong.
    """
    inputs: dict[str, Input] = {}
    for target in targets:
        for name, relative in _files(target):
            if name not in inputs:
                text, encoding = _decode(_bytes(name), name)
                inputs[name] = Input(name, text, encoding, relative)
    return list(inputs.values())


def _files(target: str) -> Iterator[tuple[str, str | None]]:
    """The files that a target names, each with its path below an output directory."""
    if target == "-":
        yield "<stdin>", None
    elif os.path.isdir(target):
        yield from _tree(target, os.path.isfile(os.path.join(target, "__init__.py")))
    elif os.path.exists(target):
        yield target, os.path.basename(target)
    elif all(part.isidentifier() for part in target.split(".")) and not target.endswith(".py"):
        yield from _module(target)
    else:
        raise InputError(f"{target}: no such file, directory or module")


def _tree(folder: str, is_package: bool) -> Iterator[tuple[str, str | None]]:
    """All Python files below a directory; a package keeps its name in the output, so that it can be imported."""
    base = os.path.dirname(os.path.abspath(folder)) if is_package else os.path.abspath(folder)
    found = False
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(d for d in folders if d != "__pycache__" and not d.startswith("."))
        for file in sorted(files):
            if file.endswith(".py"):
                found = True
                path = os.path.join(where, file)
                yield path, os.path.relpath(os.path.abspath(path), base)
    if not found:
        raise InputError(f"{folder}: no .py files in this directory")


def _module(name: str) -> Iterator[tuple[str, str | None]]:
    parts = name.split(".")
    spec = _find(parts)
    if spec is None:
        if name in sys.builtin_module_names:
            raise InputError(f"{name}: this module is built into Python and has no source")
        what = f"{name}: no such file, directory or module"
        raise InputError(f"{what}\nModules are looked for here and on sys.path.")
    if spec.submodule_search_locations is not None:
        for folder in spec.submodule_search_locations:
            inside = os.path.dirname(os.path.abspath(folder))
            for path, _ in _tree(folder, True):
                yield path, os.path.join(*parts[:-1], os.path.relpath(os.path.abspath(path), inside))
        return
    origin = spec.origin or ""
    if not origin.endswith((".py", ".pyw")):
        raise InputError(f"{name}: this module is not written in Python ({origin or 'it has no file'})")
    yield origin, os.path.join(*parts[:-1], os.path.basename(origin))


def _find(parts: list[str]) -> ModuleSpec | None:
    """The spec of a module; unlike `importlib.util.find_spec`, this does not import its packages."""
    path: list[str] = [os.getcwd(), *sys.path]
    spec = None
    for position in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: position + 1]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec


def _bytes(name: str) -> bytes:
    if name == "<stdin>":
        return sys.stdin.buffer.read()
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{name}: cannot read: {error.strerror}") from None


def _decode(data: bytes, name: str) -> tuple[str, str]:
    """The text and its encoding, by the rules of `tokenize.open`, line ends as `\\n`."""
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        what = "this is a binary file, not Python source"
        raise InputError(format_error(name, line, None, what, "Give a .py file.", line=""))
    encoding = "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except SyntaxError as error:  # an unknown encoding, or one that is not that of the first lines
        what = (error.msg or "unknown encoding").removesuffix(f" for {name!r}")
        raise InputError(format_error(name, 1, None, what, _DECLARE, line="")) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = f"byte 0x{data[error.start]:02x} is not {encoding}"
        raise InputError(format_error(name, line, None, what, _DECLARE, line="")) from None
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


_DECLARE = "Declare the encoding of the file in its first line, for example `# -*- coding: latin-1 -*-`."

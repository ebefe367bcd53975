"""The functions of a module with loops that LLVM is to vectorise, as a module of their own.

That takes a dozen passes, which are worth nothing elsewhere and would take as long as all other compilation.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from runtime.backends.native.llvm.builder import ACCESSES

__all__ = ["Divided", "divided"]

_DEFINITION: Final = re.compile(r"^define ([^@\n]*)(@[\w.]+)\((.*?)\)([^\n]*) \{$.*?^\}$", re.MULTILINE | re.DOTALL)
_PARAMETER: Final = re.compile(r" %[\w.]+(?=,|$)")
_NAME: Final = re.compile(r"@[\w.]+")
_INLINE: Final = "alwaysinline"
_MAIN: Final = "@body"


class Divided(NamedTuple):
    rest: str
    """The text of the module without the functions in `vectorized`, which it declares."""
    vectorized: str
    """The text of a module to be linked with it."""


class _Function(NamedTuple):
    name: str
    text: str
    declaration: str
    uses: frozenset[str]

    @property
    def is_inline(self) -> bool:
        return _INLINE in self.text[:self.text.index("\n")]


def divided(text: str) -> Divided | None:
    """The two modules; None if the main function has such loops, or vector functions, which belong to one module."""
    functions = {f.name: f for f in _functions(text)}
    taken = [f for f in functions.values() if ACCESSES in f.text]
    if not taken or _MAIN in [f.name for f in taken] or "vector-function-abi" in text:
        return None
    names = {f.name for f in taken}
    needed = _reached(taken, functions)
    if any(functions[name].is_inline for name in names):
        return None
    shared = names | {name for name in needed if not functions[name].is_inline}
    first, last = (text[:next(_DEFINITION.finditer(text)).start()], text[[*_DEFINITION.finditer(text)][-1].end():])
    rest, vectorized = [first], [first]
    for name, f in functions.items():
        visible = re.sub(r"^define internal ", "define ", f.text) if name in shared else f.text
        rest.append(f.declaration if name in names else visible)
        if name in names or (name in needed and f.is_inline):
            vectorized.append(visible)
        elif name in needed:
            vectorized.append(f.declaration)
    return Divided("\n".join([*rest, last]), "\n".join([*vectorized, last]))


def _functions(text: str) -> Iterator[_Function]:
    for match in _DEFINITION.finditer(text):
        linkage, name, parameters, attributes = match.groups()
        types = ", ".join(_PARAMETER.sub("", part.strip()) for part in _parts(parameters))
        result = linkage.replace("internal ", "").replace("linkonce_odr ", "").strip()
        declaration = f"declare {result} {name}({types}){attributes.replace(' ' + _INLINE, '')}"
        yield _Function(name, match.group(), declaration, frozenset(_NAME.findall(match.group())) - {name})


def _parts(parameters: str) -> list[str]:
    return [part for part in parameters.split(", ") if part]


def _reached(start: list[_Function], functions: dict[str, _Function]) -> set[str]:
    """The other functions that are used, also by functions that are inlined."""
    found: set[str] = set()
    pending = [*start]
    for f in pending:  # grows during the iteration
        new = [name for name in f.uses if name in functions and name not in found]
        found.update(new)
        pending += [functions[name] for name in new if functions[name].is_inline]
    return found - {f.name for f in start}

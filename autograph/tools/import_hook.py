"""Packages whose functions convert, checked when they are imported: `install("mypackage")`.

A finder at the front of `sys.meta_path` lets the other finders find a module of such a package, and wraps its loader in
one that first converts every function of the module: a function that does not convert makes the import fail, with its
position. The module itself runs unchanged; its functions decide when they are called.
"""
from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import gast

from autograph.api import STAGES, convert_tree, identifiers
from autograph.core.allowlist import exclude, include
from autograph.core.collection import rarely_collected
from autograph.core.deep_stack import with_room
from autograph.core.errors import ConversionError, NoSourceError
from autograph.frontend.gast_bridge import to_gast
from autograph.frontend.nesting_depth import deepest_line
from autograph.frontend.source import compiled, parse
from autograph.frontend.tree import FUNCTIONS, children, outside

__all__ = ["check_module", "install", "uninstall"]


def install(*packages: str) -> None:
    """Convert functions of these modules, and of packages with all their submodules, where a backend traces, even if a
    rule excludes them (`include`), and check on import that they convert.

    Functions decorated with `do_not_convert` and modules written in C are not touched. Importing raises NoSourceError
    for a module without source, ConversionError for one that does not parse or convert, before any of it has run.
    Raises ValueError for a name that is not the dotted name of a module, and for the packages autograph and runtime
    themselves. Warns about modules that are imported already: those are not checked.
    """
    for name in packages:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"{name!r} is not the dotted name of a module or package")
        if name.split(".")[0] in ("autograph", "runtime"):
            raise ValueError(f"{name!r} is part of the tool, which does not convert itself")
        if name in sys.modules:
            warnings.warn(f"{name} is imported already and is not checked: install it before it is imported",
                          RuntimeWarning, stacklevel=2)
    include(*packages)
    _finder.packages.update(packages)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def uninstall(*packages: str) -> None:
    """Undo `install` for these packages; without an argument, for all."""
    gone = packages or tuple(_finder.packages)
    exclude(*gone)
    _finder.packages.difference_update(gone)
    if not _finder.packages and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


class _Finder:
    """Finds modules through the other finders, with a loader that checks them."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parts = fullname.split(".")
        if not any(".".join(parts[:i]) in self.packages for i in range(1, len(parts) + 1)):
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(fullname, path, target)
            if spec is not None:
                has_code = spec.origin not in (None, "built-in", "frozen")  # None: a namespace
                if has_code and hasattr(spec.loader, "get_source") and not isinstance(spec.loader, ExtensionFileLoader):
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


_finder = _Finder()


class _Loader:
    """Wraps the loader that was found, and checks what it loads."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def __getattr__(self, name: str) -> Any:
        if name == "found":  # not yet set on a copy that is being made
            raise AttributeError(name)
        return getattr(self.found, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self.found.create_module(spec)
        return created

    exec_module = SourceFileLoader.exec_module
    """Borrowed so that `get_code` runs in frames that Python omits from warnings and tracebacks of an import."""

    def get_code(self, fullname: str) -> CodeType:
        filename = self.found.get_filename(fullname) if hasattr(self.found, "get_filename") else f"<{fullname}>"
        try:
            text = self.found.get_source(fullname)
        except (SyntaxError, ImportError) as error:  # it cannot be decoded
            raise ConversionError(f"the source cannot be read: {error.__cause__ or error}", filename=filename, lineno=1,
                                  line="", remedy="Correct the encoding, or uninstall the module.") from error
        if text is None:
            raise NoSourceError(f"no source text for module {fullname!r}", filename=filename, lineno=1, line="",
                                remedy="Ship its .py file, or autograph.uninstall its package.")
        check_module(text, filename)
        code: CodeType = self.found.get_code(fullname)
        return code


def check_module(text: str, filename: str) -> None:
    """Convert every function of a module. Raises ConversionError with the position for source that Python does not
    compile or that does not convert."""
    try:
        rarely_collected(lambda: with_room(lambda: _check(text, filename)))
    except RecursionError:
        raise ConversionError("the source is nested too deeply to convert", filename=filename,
                              lineno=deepest_line(text), line="",
                              remedy="Split its most deeply nested function.") from None


def _check(text: str, filename: str) -> None:
    compiled(text, filename)  # Python refuses less of the converted tree
    tree = to_gast(parse(text, filename))
    used = identifiers(tree)
    for node, class_name in list(_outermost(tree)):
        convert_tree(node, used, STAGES[-1], True, class_name)


def _outermost(tree: Any) -> Iterator[tuple[Any, str | None]]:
    """The functions of a module that are nested in no other, each with its class, except those marked
    do_not_convert."""
    stack: list[tuple[Any, str | None]] = [(tree, None)]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, FUNCTIONS):
            stack += [(child, class_name) for child in outside(node)]
            if not any(_is_do_not_convert(d) for d in getattr(node, "decorator_list", ())):
                yield node, class_name
        elif isinstance(node, gast.ClassDef):
            stack += [(child, node.name) for child in node.body]
            stack += [(child, class_name) for child in (*node.decorator_list, *node.bases, *node.keywords)]
        elif isinstance(node, gast.AnnAssign):
            stack += [(child, class_name) for child in (node.target, node.value) if child is not None]
        else:
            stack += [(child, class_name) for child in children(node)]


def _is_do_not_convert(decorator: Any) -> bool:
    name = getattr(decorator, "attr", None) or getattr(decorator, "id", None)
    return name == "do_not_convert"

"""Packages converted as they are imported: `install("mypackage")`.

A finder in front of `sys.meta_path` lets the others find a module of such a package, and puts a loader around theirs
that compiles the converted tree: every function, method and lambda of the module, in both lanes, at its own lines.
The rest of the module is compiled as it stands, with its docstring, decorators, defaults and annotations. One name is
added to the module, `__ag__`, for the operators. A module converts whole or its import fails, with the position,
before any of it has run. No bytecode is read or written, but for what `AUTOGRAPH_CACHE` keeps.
"""
from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import gast

from autograph.api import convert_tree, identifiers, without_collection
from autograph.codegen import disk_cache
from autograph.codegen.compile import bodies_in, rename
from autograph.codegen.dual_path.inline_caches import embed, extract
from autograph.codegen.dual_path.statements import to_ast
from autograph.core.deep_stack import with_room
from autograph.core.errors import ConversionError, NoSourceError
from autograph.frontend.gast_bridge import to_gast
from autograph.frontend.nesting_depth import deepest_line
from autograph.frontend.source import compiled, parse
from autograph.frontend.tree import FUNCTIONS, children, outside, walk

__all__ = ["compile_module", "install", "uninstall"]

_OPERATORS = "__ag__"


def install(*packages: str) -> None:
    """Convert these modules, and packages with all below them, when they are imported from now on.

    Functions that `do_not_convert` decorates are left as they are, and so are modules written in C. Importing raises
    NoSourceError for a module that comes without source, ConversionError for one that does not parse or convert.
    Raises ValueError for what is not the dotted name of a module, and for the packages autograph and runtime
    themselves. Warns of modules that are imported already: those stay as they are.
    """
    for name in packages:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"{name!r} is not the dotted name of a module or package")
        if name.split(".")[0] in ("autograph", "runtime"):
            raise ValueError(f"{name!r} is part of the tool, which does not convert itself")
        if name in sys.modules:
            warnings.warn(f"{name} is imported already and stays as it is: install it before it is imported",
                          RuntimeWarning, stacklevel=2)
    _finder.packages.update(packages)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def uninstall(*packages: str) -> None:
    """Import these packages as they are from now on; without an argument, all. What is imported stays converted."""
    _finder.packages.difference_update(packages or tuple(_finder.packages))
    if not _finder.packages and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


class _Finder:
    """Finds what the other finders find, and has it converted."""

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
    """The loader that was found, but for the code of the module."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def __getattr__(self, name: str) -> Any:
        if name == "found":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self.found, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        created: ModuleType | None = self.found.create_module(spec)
        return created

    exec_module = SourceFileLoader.exec_module
    """Of `get_code`, in frames that Python passes over in warnings and tracebacks of an import."""

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
        return compile_module(text, filename)


def compile_module(text: str, filename: str) -> CodeType:
    """The code of a module with every function converted, both lanes, at the positions of the text.

    Raises ConversionError with the position for what Python does not compile, or does not convert.
    """
    kept = disk_cache.load_module(text, filename)
    if kept is not None:
        return embed(kept)
    try:
        code = without_collection(lambda: with_room(lambda: _compile(text, filename)))
    except RecursionError:
        raise ConversionError("the source is nested too deeply to compile", filename=filename,
                              lineno=deepest_line(text), line="",
                              remedy="Split its most deeply nested function.") from None
    if disk_cache.cache_directory() is not None:
        disk_cache.store_module(text, filename, extract(code))
    return code


def _compile(text: str, filename: str) -> CodeType:
    compiled(text, filename)  # of the converted tree, Python would refuse less
    tree = to_gast(parse(text, filename))
    used = identifiers(tree)
    converted: dict[tuple[str, int], Any] = {}
    for node, class_name in list(_outermost(tree)):
        convert_tree(node, used, None, True, class_name, tracing=True, always=True)  # there is one form of it
        if getattr(node, "scope", None) is not None:
            decorators = getattr(node, "decorator_list", ())
            lineno = decorators[0].lineno if decorators else node.lineno
            converted[getattr(node, "name", "<lambda>"), lineno] = node
    name = _OPERATORS
    while name in used:
        name = f"_{name}_"
    for node in walk(tree):
        if getattr(node, "is_operators", False):
            node.id = name
    module = to_ast(tree, name)
    bodies = {key: bodies_in(node) | module.rests for key, node in converted.items()}
    if converted:
        _import_operators(module, name)
    with warnings.catch_warnings():  # of what `inline_caches` replaces: source text holds no such constant
        warnings.filterwarnings("ignore", "'frozenset' object is not callable", SyntaxWarning)
        code: CodeType = builtins.compile(module, filename, "exec", dont_inherit=True)
    return _mark(code, bodies, "")


def _outermost(tree: Any) -> Iterator[tuple[Any, str | None]]:
    """The functions of a module that are in no other, each with its class, but for those marked do_not_convert."""
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


def _import_operators(module: ast.Module, name: str) -> None:
    """`from autograph import operators as __ag__`, after the docstring and imports from `__future__`."""
    position = 0
    for position, node in enumerate([*module.body, None]):
        docstring = position == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
    origin: Any = module.body[min(position, len(module.body) - 1)]
    place = {"lineno": origin.lineno, "col_offset": 0, "end_lineno": origin.lineno, "end_col_offset": 0}
    imported = ast.ImportFrom(module="autograph", names=[ast.alias(name="operators", asname=name, **place)], level=0,
                              **place)
    module.body.insert(position, imported)


def _mark(code: CodeType, bodies: dict[tuple[str, int], set[tuple[str, int]]], prefix: str) -> CodeType:
    """Give converted functions, and what conversion made in them, their names and the marks of conversion."""
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            qualified = getattr(constant, "co_qualname", prefix + constant.co_name)
            made = bodies.get((constant.co_name, constant.co_firstlineno))
            if made is not None:
                constant = rename(constant, constant.co_name, qualified, qualified, made)
            else:
                is_function = constant.co_flags & 0x1  # CO_OPTIMIZED
                constant = _mark(constant, bodies, f"{qualified}.<locals>." if is_function else f"{qualified}.")
        constants.append(constant)
    return code.replace(co_consts=tuple(constants))

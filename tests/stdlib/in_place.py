"""Converts every function of a module in place: the function objects stay, their code becomes the converted code.

So whatever holds a function (a table, a closure, a class, a property, `functools.wraps`) holds the converted one.
What a module makes later from code that is converted (closures, classes in functions) is converted, too.
"""
from __future__ import annotations

import ast
import builtins
import gc
import importlib.machinery
import sys
import tokenize
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import gast

from autograph import api, operators
from autograph.analysis.staging_candidates import reads_frame
from autograph.codegen.compile import compile_function
from autograph.core.errors import ConversionError
from autograph.core.tracebacks import is_converted, prune
from autograph.frontend.source import capture
from autograph.frontend.tree import is_docstring, walk
from autograph.passes.expressions import name_operators

__all__ = ["Converter", "converted_code", "lazy_values"]


def lazy_values(filename: str) -> set[tuple[str, int]]:
    """Names and lines of what the compiler makes functions of though it is none: values of type aliases, bounds."""
    if sys.version_info < (3, 12):
        return set()
    with tokenize.open(filename) as file:
        tree = ast.parse(file.read(), filename)
    found: set[tuple[str, int]] = set()
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # not `ast.walk`, which imports `collections`: this may be half imported
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.TypeAlias):
            found.add((node.name.id, node.lineno))
        elif isinstance(node, (ast.TypeVar, ast.ParamSpec, ast.TypeVarTuple)):
            found.add((node.name, node.lineno))
    return found


def converted_code(fn: FunctionType) -> CodeType:
    """Code to set as `fn.__code__`: what `autograph.convert` compiles, with the operators as a builtin name, and with
    what the wrapper that it returns does to errors."""
    code = fn.__code__
    source = capture(fn)
    used = api.identifiers(source.tree) | set(code.co_freevars)
    api.convert_tree(source.tree, used, api.STAGES[-1], True, source.class_name, frozenset(code.co_freevars))
    name = name_operators(source.tree, used)
    setattr(builtins, name, operators)
    if not (isinstance(source.tree, gast.Lambda) or reads_frame(source.tree)):
        _prune_errors(source.tree)
    made = compile_function(source, source.tree, code, name, None).code
    if made.co_freevars != code.co_freevars:
        raise ConversionError(
            f"free variables {made.co_freevars} instead of {code.co_freevars}", filename=code.co_filename,
            lineno=code.co_firstlineno, remedy="This is a bug of autograph.",
        )
    return made


_PRUNE = "try: pass\nexcept BaseException: ag__prune(ag__exc_info()[1]); raise"
setattr(builtins, "ag__prune", prune)
setattr(builtins, "ag__exc_info", sys.exc_info)


def _prune_errors(function: Any) -> None:
    """Put the statements of a function in a `try` that prunes the traceback of an error that leaves it."""
    made: Any = gast.parse(_PRUNE).body[0]
    for node in walk(made):
        if "lineno" in node._attributes:
            gast.copy_location(node, function.body[0])
    start = int(is_docstring(function.body[0]))
    made.body = function.body[start:]
    function.body[start:] = [made] * bool(made.body)


class Converter:
    """Converts modules whose names `wanted` accepts: those imported already, and others when they are imported.

    `wanted` has to be a C function, as a test that traces an import would see another one.
    """

    def __init__(self, wanted: Callable[[str], object]) -> None:
        self.wanted = wanted
        self.converted = 0
        self.errors: list[str] = []

    def start(self) -> None:
        self.convert(module for name, module in list(sys.modules.items()) if self.wanted(name))
        loader_class: Any = importlib.machinery.SourceFileLoader
        original, wanted, convert = loader_class.exec_module, self.wanted, self.convert

        def exec_module(loader: Any, module: ModuleType) -> None:
            original(loader, module)
            if wanted(module.__name__):
                convert([module])

        # Warnings and debuggers look for the frame of the import statement: this is to be one of the import system.
        code = exec_module.__code__.replace(co_filename=original.__code__.co_filename)
        loader_class.exec_module = FunctionType(
            code, original.__globals__, "exec_module", None, exec_module.__closure__)

    def convert(self, modules: Iterable[ModuleType]) -> None:
        """Convert the functions made from the source files of these modules. All is compiled before any is set."""
        files: set[str] = {getattr(module, "__file__", None) or "" for module in modules}
        functions = [f for f in gc.get_objects() if type(f) is FunctionType and f.__code__.co_filename in files]
        lazy = {(file, *place) for file in files for place in (lazy_values(file) if file.endswith(".py") else ())}
        made: dict[CodeType, CodeType] = {}
        for fn in functions:
            code = fn.__code__
            if code in made or is_converted(code) or (code.co_filename, code.co_name, code.co_firstlineno) in lazy:
                continue
            try:
                made[code] = converted_code(fn)
            except Exception as error:
                self.errors.append(f"{fn.__module__}.{fn.__qualname__}: {type(error).__name__}: {error}")
        self.converted += len(made)
        for fn in functions:
            if fn.__code__ in made:
                fn.__code__ = made[fn.__code__]

"""Converted code as text: of a function, class, module or file.

Separate from `api`, since only these functions need the printer.
"""
from __future__ import annotations

import ast
import inspect
import linecache
import types
from collections.abc import Iterable, Iterator
from typing import Any

import gast

from autograph.api import (
    SHOWN,
    STAGES,
    Explanation,
    convert_tree,
    explain_tree,
    identifiers,
    module_file,
    unwrap,
)
from autograph.core.allowlist import exclusion_rule
from autograph.core.collection import rarely_collected
from autograph.core.deep_stack import with_room
from autograph.core.errors import ConversionError, NoSourceError, UnsupportedError
from autograph.core.tracebacks import is_converted
from autograph.frontend.gast_bridge import to_gast
from autograph.frontend.nesting_depth import deepest_line
from autograph.frontend.source import capture, compiled, parse
from autograph.frontend.tree import FUNCTIONS, at, functions_in, own_nodes, walk
from autograph.passes.expressions import AG, name_operators
from autograph.passes.internal_iteration import iterate_internally
from autograph.printing.notebook_text import Code
from autograph.printing.unparse import unparse

__all__ = ["convert_source", "explain_source", "to_code"]


def _printable(tree: Any) -> Any:
    """The tree as it is printed: without the statements that only serve line numbers, and with explicit loop exits,
    since a `for` statement has no test in Python."""
    for node in walk(tree):
        if isinstance(node, gast.For) and (test := getattr(node, "test", None)) is not None:
            node.body = [*node.body, at(gast.If(_opposite(test), [at(gast.Break(), test)], []), node.body[-1])]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                block[:] = [s for s in block if not getattr(s, "invisible", False)] or block[:1]
    return tree


def _opposite(test: Any) -> Any:
    """The exit condition of a loop, for the test under which it continues."""
    if isinstance(test, gast.UnaryOp):
        return test.operand
    return test.args[0] if isinstance(test, gast.Call) else at(gast.UnaryOp(gast.Not(), test), test)


def _checked(stage: str | None) -> str:
    if stage is not None and stage not in STAGES:
        raise ValueError(f"no stage {stage!r}: the stages are {', '.join(STAGES)}")
    return SHOWN if stage is None else stage


def to_code(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None, *, stage: str | None = None,
    internal: bool = False,
) -> str:
    """The converted source of a function, method, class or module (TF2: tf.autograph.to_code, whose optional features
    are all there). With `recursive=False` callees are not converted.

    For converted functions and `rt.function` objects: the code that they run. `stage` stops after one of `STAGES`:
    'capture' (the source as read), 'jumps', 'expressions', 'statements' (the default) or 'compiled', in which operators
    also replace operations of Python's C code, such as `xs[i]`. The text of each stage runs, except that 'jumps' and
    'expressions' lose the information that a `finally` jumps, and 'expressions' does not declare variables bound by
    `:=` in an operand. Notebooks show it highlighted (with pygments).

    `internal` shows a generator function in the form it has in a trace where tensors decide its control flow: with
    internal iteration, where `ag__.yielded` passes each item to the functions of the loop. UnsupportedError if there is
    no such form.
    """
    last = _checked(stage)
    obj = unwrap(entity)
    try:
        return Code(rarely_collected(lambda: with_room(lambda: _code_of(obj, last, internal, recursive))))
    except RecursionError:
        filename = module_file(obj)
        lineno = deepest_line("".join(linecache.getlines(filename)))
        raise ConversionError(f"{obj.__name__!r} is nested too deeply to convert", filename=filename, lineno=lineno,
                              line="", remedy="Split it.") from None


def _code_of(obj: Any, stage: str, internal: bool, recursive: bool) -> str:
    if internal and not inspect.isgeneratorfunction(obj):
        place = getattr(obj, "__code__", None)
        raise UnsupportedError(
            f"{obj.__name__!r} is not a generator function, so it has no form with internal iteration",
            filename=module_file(obj), lineno=1 if place is None else place.co_firstlineno,
            remedy="Leave out internal=True.")
    if isinstance(obj, types.ModuleType):
        return convert_source(_module_text(obj), module_file(obj), stage=stage, recursive=recursive)
    if isinstance(obj, type):
        text, filename = _module_text(obj), module_file(obj)
        tree = to_gast(_class_node(obj, text, filename))
        used = identifiers(tree)
        for child, owner in functions_in(tree, tree.name):
            convert_tree(child, used, stage, recursive, owner)
        name_operators(tree, used)
        return unparse(_printable(tree), source=text)
    rule = None if is_converted(obj.__code__) else exclusion_rule(obj, asked=True)
    source = capture(obj)
    if not isinstance(source.tree, gast.Lambda):
        source.tree.decorator_list = []
    if rule is None:
        used = identifiers(source.tree) | set(obj.__code__.co_freevars)
        if internal:
            iterate_internally(source.tree, source.filename)
        convert_tree(source.tree, used, stage, recursive, source.class_name, frozenset(obj.__code__.co_freevars))
        name_operators(source.tree, used)
    text = unparse(_printable(source.tree), source=source.text)
    return text if text.endswith("\n") else text + "\n"


def _module_text(obj: Any) -> str:
    filename = module_file(obj)
    text = "".join(linecache.getlines(filename))
    if not text:
        raise NoSourceError(
            f"no source text for {getattr(obj, '__qualname__', obj.__name__)!r}", filename=filename, lineno=1,
            remedy="Pass the text to autograph.convert_source(text, filename).",
        )
    return text


def _class_node(cls: type, text: str, filename: str) -> ast.ClassDef:
    wanted = cls.__qualname__.replace(".<locals>", "").split(".")
    found: list[ast.ClassDef] = []
    stack: list[tuple[ast.AST, list[str]]] = [(parse(text, filename), [])]
    while stack:
        node, path = stack.pop()
        for child in ast.iter_child_nodes(node):
            inner = path
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = [*path, child.name]
                if isinstance(child, ast.ClassDef) and inner == wanted:
                    found.append(child)
            stack.append((child, inner))
    if not found:
        raise NoSourceError(
            f"no source text for class {cls.__qualname__!r}", filename=filename, lineno=1, line="",
            remedy="It was made by a call, not by a class statement: show its methods instead.",
        )
    lines = [f.__code__.co_firstlineno for f in vars(cls).values() if isinstance(f, types.FunctionType)]
    fitting = [c for c in found if all(c.lineno <= n <= (c.end_lineno or n) for n in lines)]
    return max(fitting or found, key=lambda c: c.lineno)


# --- Modules ------------------------------------------------------------------------------------------------


def convert_source(
    text: str, filename: str = "<string>", *, function: str | None = None, stage: str | None = None,
    recursive: bool = True,
) -> str:
    """The text of a module with all its functions converted; it imports the operators and runs as it is.

    `function` restricts conversion to one function, by qualified name (`Class.method`, `outer.inner`). Comments are
    kept. Text that was converted before is returned unchanged. Raises ConversionError with the position for text that
    Python does not compile, ValueError for an unknown `stage`, LookupError if there is no such function.
    """
    last = _checked(stage)
    try:
        return rarely_collected(lambda: with_room(
            lambda: _converted_source(text, filename, function, last, recursive)))
    except RecursionError:
        raise ConversionError("the source is nested too deeply to convert", filename=filename,
                              lineno=deepest_line(text), line="",
                              remedy="Split its most deeply nested function.") from None


def _converted_source(
    text: str, filename: str, function: str | None, stage: str, recursive: bool
) -> str:
    compiled(text, filename)  # Python refuses less of the converted text
    parsed = parse(text, filename)
    if any(_is_operator_import(s) for s in parsed.body):
        return text
    tree = to_gast(parsed)
    used = identifiers(tree)
    for node, class_name in _selected(tree, function, filename):
        convert_tree(node, used, stage, recursive, class_name)
    if stage not in ("capture", "jumps"):
        position = 0
        for position, node in enumerate([*tree.body, None]):
            docstring = isinstance(node, gast.Expr) and isinstance(node.value, gast.Constant) and position == 0
            if not docstring and not (isinstance(node, gast.ImportFrom) and node.module == "__future__"):
                break
        imported = gast.ImportFrom("autograph", [gast.alias("operators", name_operators(tree, used))], 0)
        imported.lineno = imported.end_lineno = tree.body[position - 1].end_lineno if position else 1
        imported.col_offset = imported.end_col_offset = 0
        tree.body.insert(position, imported)
    return unparse(_printable(tree), source=text)


def _is_operator_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "autograph" and (
        (node.names[0].asname or "").startswith(AG))


def _selected(tree: Any, function: str | None, filename: str) -> list[tuple[Any, str | None]]:
    found = functions_in(tree, None)
    if function is None:
        return found
    chosen = [(node, owner) for name, node, owner in _qualified(tree.body, "", None) if name == function]
    if not chosen:
        raise LookupError(f"{filename} has no function {function!r}")
    return chosen


def _qualified(nodes: Iterable[Any], prefix: str, class_name: str | None) -> Iterator[tuple[str, Any, str | None]]:
    """All functions of a module with their qualified names (without `<locals>`)."""
    for node in own_nodes(nodes):
        if isinstance(node, gast.ClassDef):
            yield from _qualified(node.body, f"{prefix}{node.name}.", node.name)
        elif isinstance(node, FUNCTIONS):
            name = prefix + getattr(node, "name", "<lambda>")
            yield name, node, class_name
            body = [node.body] if isinstance(node, gast.Lambda) else node.body
            yield from _qualified(body, f"{name}.", class_name)


def explain_source(text: str, filename: str = "<string>", *, function: str | None = None) -> list[Explanation]:
    """`explain` for the functions and methods of a module's text (at its top level and in its classes).

    Raises ConversionError with the position for text that Python does not compile, LookupError if there is no such
    function.
    """
    compiled(text, filename)
    tree = to_gast(parse(text, filename))
    named = [(name, node) for name, node, _ in _qualified(tree.body, "", None) if not isinstance(node, gast.Lambda)]
    if function is not None:
        named = [(name, node) for name, node in named if name == function]
        if not named:
            raise LookupError(f"{filename} has no function {function!r}")
    outer = {id(node) for node, _ in functions_in(tree, None)}
    return [explain_tree(node, name, filename) for name, node in named if function is not None or id(node) in outer]

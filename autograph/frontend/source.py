"""From a function to the syntax tree of its source: the exact node, even among several lambdas on one line.

Afterwards: a gast FunctionDef, AsyncFunctionDef or Lambda whose line and column numbers are those of the file.
"""
from __future__ import annotations

import ast
import io
import linecache
import os
import time
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any, NamedTuple, cast

from autograph.core.deep_stack import with_room
from autograph.core.errors import AmbiguousLambdaError, ConversionError, NoSourceError, StaleSourceError
from autograph.core.tracebacks import is_converted
from autograph.core.versions import CODE_HAS_PLACES
from autograph.frontend.gast_bridge import to_gast
from autograph.frontend.nesting_depth import deepest_line
from autograph.frontend.typed_source import typed_texts, where_typed

__all__ = ["Source", "capture", "compiled", "is_current", "parse"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Candidates = list[tuple[FunctionNode, "str | None"]]
_REMEDY = (
    "Put the function in a file or a notebook cell, or pass its text to autograph.convert_source(text, filename); "
    "code made by exec() converts if its text is registered in linecache under the code's filename."
)


class Source(NamedTuple):
    """A function's tree and what is needed to compile it in place of the original."""

    tree: Any
    """gast FunctionDef, AsyncFunctionDef or Lambda."""
    filename: str
    text: str
    """The text of the whole file."""
    class_name: str | None
    """The class whose body holds the function: `__x` is mangled with it."""


class _File:
    """A file, and the functions around a line of it. Only the statement around the line is parsed where possible."""

    def __init__(self, filename: str, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.text = _joined(lines)
        self.filename = filename
        self.codes: dict[int, list[CodeType]] | None = None
        """The code objects that the text compiles to, by first line."""
        self._around: dict[int, Candidates] = {}
        self._blocks: dict[int, ast.Module | None] = {}

    @cached_property
    def tree(self) -> ast.Module:
        return parse(self.text, self.filename)

    def block(self, line: int) -> ast.Module | None:
        """The module-level statement around a line, delimited by the first columns of lines; None if they do not
        delimit one."""
        lines = self.lines
        start = min(line, len(lines)) - 1
        while start > 0 and not _begins(lines[start]):
            start -= 1
        for before in range(start - 1, -1, -1):
            if lines[before].startswith("@"):
                start = before
            elif _begins(lines[before]):
                break
        if start not in self._blocks:
            end = start + 1
            decorated = lines[start].startswith("@")
            while end < len(lines) and (decorated or not _begins(lines[end])):
                decorated = decorated and (not _begins(lines[end]) or lines[end].startswith("@"))
                end += 1
            try:
                self._blocks[start] = _parsed("\n" * start + _joined(lines[start:end]), self.filename)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._blocks[start] = None  # it ends elsewhere, or the file has the error
        return self._blocks[start]

    def names(self, code: CodeType) -> set[str]:
        """The names of the functions of this text that compile to `code` on its line; empty if there are none."""
        if self.codes is None:
            self.codes = {}
            found = [compiled(self.text, self.filename)]
            for each in found:
                self.codes.setdefault(each.co_firstlineno, []).append(each)
                found += _codes(each)
        signature = _signature(code)
        return {c.co_name for c in self.codes.get(code.co_firstlineno, ()) if _signature(c) == signature}

    def around(self, line: int) -> Candidates:
        """The functions around a line, each with the class whose body contains it."""
        found = self._around.get(line)
        if found is None:
            block = self.block(line)
            found = [] if block is None else _search(block, line)
            if not any(_first_line(node) == line for node, _ in found):
                found = _search(self.tree, line)
            if not any(_first_line(node) == line for node, _ in found):
                found = _search(self.tree, line, everywhere=True)
            self._around[line] = found
        return found


def _begins(line: str) -> bool:
    """Whether a module-level statement may begin with this line."""
    return line[:1] not in _INNER


_INNER = frozenset(("", " ", "\t", "\f", "\r", "\n", "#", ")", "]", "}"))


def _search(tree: ast.Module, line: int, everywhere: bool = False) -> Candidates:
    """The functions around a line. `everywhere`: search statements on other lines, too, as lines in f-strings may be
    wrong before 3.12."""
    found: Candidates = []
    stack: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, ast.stmt) and not everywhere and not (
                _first_line(node) <= line <= (node.end_lineno or line)):
            continue
        if isinstance(node, FunctionNode):
            if _first_line(node) <= line <= (node.end_lineno or line):
                found.append((node, class_name))
        elif isinstance(node, ast.ClassDef):
            class_name = node.name
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if value.__class__ is list:
                stack += [(child, class_name) for child in value if child.__class__ not in _LEAVES]
            elif value.__class__ not in _LEAVES:
                stack.append((value, class_name))
    return found


_LEAVES = frozenset({
    str, int, bool, float, complex, bytes, type(None), type(...), ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del,
    ast.alias, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
    *ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(), *ast.cmpop.__subclasses__(),
    *ast.boolop.__subclasses__(),
})
"""Nodes that contain no function."""
_files: dict[str, _File] = {}
_FILES_KEPT = 16
_STARTED = time.time() - time.process_time() - 1.0
"""An upper bound of the time when this process began: file systems have coarse time stamps."""


def _joined(lines: Sequence[str]) -> str:
    # Some code that registers text in linecache (timeit) omits line ends.
    return "".join([line if line.endswith("\n") else f"{line}\n" for line in lines[:-1]] + [*lines[-1:]])


def parse(text: str, filename: str) -> ast.Module:
    """Parse a module; a syntax error becomes a ConversionError in the usual form."""
    if "\0" in text:
        raise ConversionError(
            "the source holds a null byte", filename=filename, lineno=text.count("\n", 0, text.index("\0")) + 1,
            line="", remedy="Python cannot compile it either.")
    try:
        return _parsed(text, filename)
    except _REFUSALS as error:
        raise _refused(error, text, filename) from None


def compiled(text: str, filename: str) -> CodeType:
    """Compile a module. Whatever Python refuses becomes a ConversionError, including what only its compiler detects,
    such as a `break` outside a loop."""
    try:
        return cast(CodeType, _compile(text, filename, 0))
    except _REFUSALS as error:
        parse(text, filename)  # for its messages; it counts columns in characters, the compiler in bytes
        raise _refused(error, text, filename, in_bytes=True) from None


_REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError)


def _refused(error: BaseException, text: str, filename: str, in_bytes: bool = False) -> ConversionError:
    if isinstance(error, SyntaxError):
        lineno = error.lineno or 0
        lines = ["", *text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        line = lines[lineno] if lineno < len(lines) else ""  # `error.text` may be from another file of this name
        col = None if error.offset is None else max(error.offset - 1, 0)
        if in_bytes and col is not None:
            col = len(line.encode()[:col].decode(errors="replace"))
        return ConversionError(f"syntax error: {error.msg}", filename=filename, lineno=lineno, col=col, line=line,
                               remedy="Correct the source, then convert again.")
    if isinstance(error, ValueError):  # a surrogate
        what = f"the source cannot be encoded: {error}"
        lineno = text.count("\n", 0, getattr(error, "start", 0)) + 1
    else:
        what, lineno = "the source is nested too deeply", deepest_line(text)
    return ConversionError(what, filename=filename, lineno=lineno, line="", remedy="Python cannot compile it either.")


def _parsed(text: str, filename: str) -> ast.Module:
    return cast(ast.Module, _compile(text, filename, ast.PyCF_ONLY_AST))


def _compile(text: str, filename: str, flags: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return with_room(lambda: compile(text, filename, "exec", flags, dont_inherit=True))


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return cast(int, decorators[0].lineno if decorators else cast(Any, node).lineno)


_read = io.open  # captured here, since a test may have mocked `open` or tokenize's when a callee is first met


def _lines_of(filename: str, module: dict[str, Any]) -> Sequence[str]:
    """The lines that linecache gives; a file that it has not read yet is read here."""
    if filename not in linecache.cache:
        try:
            status = os.stat(filename)
            with _read(filename, "rb") as file:
                data = file.read()
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            lines = io.TextIOWrapper(io.BytesIO(data), encoding).readlines()
        except (OSError, ValueError, SyntaxError):  # not a file, or one that linecache cannot read
            return linecache.getlines(filename, module)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        linecache.cache[filename] = status.st_size, status.st_mtime, lines, filename
    return linecache.getlines(filename, module)


def _typed_lines(fn: FunctionType) -> Sequence[str]:
    """The lines of a function that is in no file, if a text is found that compiles to its code."""
    for text in typed_texts(fn):
        lines = tuple(text.splitlines(keepends=True))
        try:
            if _File(fn.__code__.co_filename, lines).names(fn.__code__):
                return lines
        except ConversionError:
            continue
    return ()


def capture(fn: FunctionType) -> Source:
    """Find the source of `fn`.

    Raises NoSourceError (with the remedies), StaleSourceError if the file has changed since it was imported,
    AmbiguousLambdaError if lambdas cannot be told apart.
    """
    try:
        return _captured(fn)
    except ConversionError as error:
        filename = fn.__code__.co_filename
        if filename.startswith("<") and isinstance(error, StaleSourceError):  # `exec` in `python -c`: both are <string>
            raise _no_source(fn) from None
        suffix = os.path.splitext(filename)[1]
        if not suffix or suffix in (".py", ".pyw") or filename.startswith("<"):
            raise
        # The code that a template engine makes has the template's name as its file.
        raise NoSourceError(
            f"no source text for {fn.__qualname__!r}: the file is not the Python text that it was compiled from",
            filename=filename, lineno=fn.__code__.co_firstlineno, remedy=_REMEDY) from None


def _no_source(fn: FunctionType) -> NoSourceError:
    filename = fn.__code__.co_filename
    return NoSourceError(
        f"no source text for {fn.__qualname__!r}", filename=filename, lineno=fn.__code__.co_firstlineno, line="",
        remedy=" ".join(filter(None, (where_typed(filename), _REMEDY))))


def _captured(fn: FunctionType) -> Source:
    code = fn.__code__
    filename = code.co_filename
    lines = tuple(_lines_of(filename, fn.__globals__) or _typed_lines(fn))
    if not lines:
        raise _no_source(fn)
    file = _files.get(filename)
    if file is None or (file.lines is not lines and file.lines != lines):
        file = _File(filename, lines)
        while len(_files) >= _FILES_KEPT:
            _files.pop(next(iter(_files)))
        _files[filename] = file
    candidates = _called({code.co_name}, file, code)
    if code.co_name == "<lambda>" and len(candidates) != 1:
        candidates = _select(code, candidates or _lambdas_around(file, code), filename)
    elif not candidates:  # the code may have been renamed since compilation
        candidates = _called(file.names(code), file, code)
        candidates = _select(code, candidates, filename) if len(candidates) > 1 else candidates
    if not candidates or not _fits(code, candidates[0][0]):
        raise StaleSourceError(
            f"the source of {fn.__qualname__!r} is not on this line: the file has changed since it was imported",
            filename=filename, lineno=code.co_firstlineno, remedy="Import the module again, or restart Python.",
        )
    if _written_since(filename, fn.__globals__) and not is_converted(code) and not file.names(code):
        raise StaleSourceError(
            f"the source of {fn.__qualname__!r} is not what was imported: the file has changed since",
            filename=filename, lineno=code.co_firstlineno, remedy="Import the module again, or restart Python.",
        )
    node, class_name = candidates[0]
    return Source(to_gast(node), filename, file.text, class_name)


def is_current(fn: FunctionType) -> bool:
    """Whether the text in linecache for the file of `fn` compiles to the code of `fn`: several texts may be registered
    one after the other under one name, such as `<string>`."""
    code = fn.__code__
    lines = linecache.getlines(code.co_filename, fn.__globals__) or _typed_lines(fn)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [compile(_joined(lines), code.co_filename, "exec", code.co_flags & _FUTURES, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for candidate in found:
        here = (candidate.co_name, candidate.co_firstlineno) == (code.co_name, code.co_firstlineno)
        if here and _signature(candidate) == _signature(code):
            return True
        found += _codes(candidate)
    return False


_FUTURES = 0x1000000 | 0x100000  # flags of `from __future__` that change compilation: annotations, generator_stop


def _written_since(filename: str, module: dict[str, Any]) -> bool:
    """Whether the file of a module was written after this process began, so that the code has to be compared. Code of
    other loaders (such as pytest's) does not correspond to the file and is not compared."""
    if type(module.get("__loader__")) is not SourceFileLoader or module.get("__file__") != filename:
        return False
    try:
        return os.stat(filename).st_mtime >= _STARTED
    except OSError:
        return False


def _fits(code: CodeType, node: FunctionNode) -> bool:
    """Whether the tree has the parameters of the code: a cheap check that the file is unchanged."""
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    names += [p.arg for p in (a.vararg, a.kwarg) if p is not None]
    actual = code.co_varnames[: len(names)]
    return len(actual) == len(names) and all(
        name == variable or (name.startswith("__") and variable.endswith(name)) for name, variable in zip(names, actual)
    )


def _called(names: set[str], file: _File, code: CodeType) -> Candidates:
    """The functions of these names that begin on the line of `code`."""
    return [
        (node, class_name) for node, class_name in file.around(code.co_firstlineno)
        if _first_line(node) == code.co_firstlineno and getattr(node, "name", "<lambda>") in names
    ]


def _lambdas_around(file: _File, code: CodeType) -> Candidates:
    # A lambda in parentheses opened on an earlier line: code and node may have different first lines.
    return [
        (node, class_name) for node, class_name in file.around(code.co_firstlineno) if isinstance(node, ast.Lambda)
    ]


def _select(code: CodeType, candidates: Candidates, filename: str) -> Candidates:
    """The lambdas that `code` was compiled from: by position where the interpreter keeps it, else by their code."""
    if CODE_HAS_PLACES:
        spans = _spans(code)
        if spans:
            around = [c for c in candidates if all(_holds(cast(ast.Lambda, c[0]).body, span) for span in spans)]
            return sorted(around, key=lambda c: _size(cast(ast.Lambda, c[0]).body))[:1]
    same = [c for c in candidates if _signature(_compile_lambda(cast(ast.Lambda, c[0]), code)) == _signature(code)]
    if len({ast.dump(node) for node, _ in same}) > 1:
        raise AmbiguousLambdaError(
            "several lambdas on this line compile to the same code", filename=filename, lineno=code.co_firstlineno,
            remedy="Put each on a line of its own, or use def.",
        )
    return same


_Span = tuple[int, int, int, int]


def _spans(code: CodeType) -> list[_Span]:
    """The source spans of a lambda's instructions, all inside its body."""
    return [
        (lineno, col, end_lineno, end_col)
        for lineno, end_lineno, col, end_col in cast(Any, code).co_positions()
        if lineno is not None and end_lineno is not None and col is not None and end_col  # no position: a prologue
    ]


def _holds(body: ast.expr, span: _Span) -> bool:
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    return (body.lineno, body.col_offset) <= span[:2] and span[2:] <= end


def _size(body: ast.expr) -> tuple[int, int]:
    return (body.end_lineno or 0) - body.lineno, (body.end_col_offset or 0) - body.col_offset


def _compile_lambda(node: ast.Lambda, code: CodeType) -> CodeType:
    """Compile the lambda such that the free variables of `code` are free variables of it."""
    names = ", ".join(code.co_freevars)
    module = ast.parse(f"def outer({names}):\n    return 0")
    outer = cast(ast.FunctionDef, module.body[0])
    outer.body[0] = ast.copy_location(ast.Return(node), node)
    compiled = next(_codes(compile(ast.fix_missing_locations(module), code.co_filename, "exec")))
    return next(_codes(compiled))


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (constant for constant in code.co_consts if isinstance(constant, CodeType))


def _signature(code: CodeType) -> tuple[Any, ...]:
    constants = tuple(
        _signature(c) if isinstance(c, CodeType)
        else (type(c), sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c))
        for c in code.co_consts
        if not (isinstance(c, str) and "<locals>" in c)
    )
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants

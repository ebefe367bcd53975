"""`assert`, with pytest's explanation of a failure.

pytest rewrites the assertions of modules that it imports, but not their source, which conversion starts from. So where
pytest does so, the values of the operands are shown here: those of the assertion's source, if they have no effects.
"""
from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple, cast

from autograph.core.backend import backend_of, staging_backend
from autograph.core.tracebacks import is_opaque, own_errors
from autograph.dispatch.converted_call import call, truth_value
from autograph.operators.strings import formatted, shown, text
from autograph.state.converted_text_bodies import part

__all__ = ["assert_"]

_REWRITTEN: Final = "@pytest_ar"
"""The name by which a module has pytest's functions if pytest has rewritten its assertions."""
_LONG: Final = 240
"""Characters; the text of a longer operand is cut, as pytest does."""


@own_errors
def assert_(test: Any, message: Callable[[], Any] | None = None, /) -> None:
    """`assert test, message()`."""
    test = truth_value(test)
    backend = staging_backend(test)
    if backend is not None:
        backend.assert_(test, _explained(message))
    elif __debug__ and not test:
        message = _explained(message)
        raise AssertionError() if message is None else AssertionError(part(message)())


class _Operands(NamedTuple):
    """The operands of an assertion as code, with the text before, between and after them."""

    pieces: tuple[str, ...]
    codes: tuple[CodeType, ...]


def _explained(message: Callable[[], Any] | None) -> Callable[[], Any] | None:
    """A function that returns the message with the explanation; `message` itself where there is none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_opaque(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or _REWRITTEN not in frame.f_globals:
        return message
    operands = _operands(frame.f_code.co_filename, frame.f_lineno)
    if operands is None or any(hasattr(builtins, name) and (name in frame.f_globals or name in frame.f_locals)
                               for code in operands.codes for name in code.co_names):
        return message
    user: FrameType = frame

    def whole() -> Any:
        found: list[Any] = [] if message is None else [formatted(part(message)()), "\n"]
        try:
            names = {**user.f_locals, **{name: call(getattr(builtins, name)) for name in _FUNCTIONS}}
            values = [_text_of(eval(code, user.f_globals, names)) for code in operands.codes]
        except Exception:  # what it was is less important than the failure
            return text(*found[:1])
        for piece, value in zip(operands.pieces, values, strict=True):
            found += [piece, value]
        return text(*found)

    if message is not None:
        cast(Any, whole).place = message
    return whole


def _text_of(value: Any) -> Any:
    if backend_of(value) is not None:
        return formatted(value)
    whole = formatted(shown(value, "r"))
    if not isinstance(whole, str) or len(whole) <= _LONG:
        return whole
    return f"{whole[:_LONG // 2 - 2]}...{whole[2 - _LONG // 2:]}"


# The source.

def _operands(filename: str, line: int) -> _Operands | None:
    """The operands of the assertion in that line of a file, if they have no effects."""
    tests = [node.test for node in _assertions(filename, tuple(linecache.getlines(filename)))
             if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if len(tests) != 1:
        return None
    [test] = tests
    nodes, pieces = [test], ["assert "]
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        nodes, pieces = [test.left, test.comparators[0]], ["assert ", f" {_SYMBOLS[type(test.ops[0])]} "]
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        nodes, pieces = [test.operand], ["assert not "]
    if not all(map(_has_no_effects, nodes)):
        return None
    return _Operands(tuple(pieces), tuple([compile(ast.Expression(node), filename, "eval") for node in nodes]))


@functools.lru_cache(maxsize=16)
def _assertions(filename: str, lines: tuple[str, ...]) -> list[ast.Assert]:
    try:
        return [node for node in ast.walk(ast.parse("".join(lines))) if isinstance(node, ast.Assert)]
    except SyntaxError:
        return []


_SYMBOLS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}
_PURE: Final = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp, ast.Compare,
                ast.Tuple, ast.List, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop)
_FUNCTIONS: Final = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "round", "sorted", "str", "sum",
                               "type"})


def _has_no_effects(node: ast.AST) -> bool:
    """Whether an expression can be evaluated once more."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and not node.keywords and all(
            map(_has_no_effects, node.args))
    return isinstance(node, _PURE) and all(map(_has_no_effects, ast.iter_child_nodes(node)))

"""Which statements stay Python, and by which rule.

The tree is not changed. `classify` stores its answer on each statement as `node.python`: the rule that keeps it a
Python statement, or None for a candidate for staging.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import gast

from autograph.analysis.scopes import scan, symbol
from autograph.frontend.tree import (
    FUNCTIONS,
    GUARDS,
    LOOPS,
    TRIES,
    blocks_of,
    body_of,
    bound_to_frame,
    escapes,
    has_blocks,
    own_of,
    suspends,
)

__all__ = [
    "COMPARISONS", "PREDICATES", "Decision", "are_texts", "asked_call", "attribute_test", "bool_test",
    "classify", "compares", "makes_text", "member_test", "never_tensor", "none_test", "percent_text", "reads_frame",
    "same_test", "spreads", "takes_item",
]

# Builtins whose result is a Python bool whatever the argument.
PREDICATES = frozenset({"isinstance", "issubclass", "callable", "hasattr"})
ASKED = frozenset({
    "isinstance", "issubclass", "callable", "hasattr", "getattr", "delattr", "dir", "vars", "type", "dict", "set"})
"""Builtins that may depend on the graph: whether a value is None, or an attribute or key exists."""
# Builtins that inspect the frame of their caller: a function that calls one is not converted.
FRAME_READERS = frozenset({"locals", "vars", "dir", "eval", "exec"})


_STAGED_AS = {
    gast.If: ("if", "ag__.cond on its test"),
    gast.Match: ("match", "ag__.cond on each pattern"),
    gast.While: ("while", "ag__.while_loop on its test"),
    gast.For: ("for", "ag__.reduce over its iterable"),
    gast.AsyncFor: ("async for", ""),
    gast.Try: ("try", "ag__.try_ around what a graph may raise"),
    gast.With: ("with", "ag__.with_ around what a graph may raise"),
}


_SUSPENDED = "it holds yield or await"
_YIELDS = "it holds yield: where a tensor decides, the loop over the generator is staged"


class Decision(NamedTuple):
    """The decision for one statement, and its rule."""

    lineno: int
    col: int
    statement: str
    staged: bool
    rule: str

    @property
    def answer(self) -> str:
        return "staged if a tensor" if self.staged else "Python"

    def __str__(self) -> str:
        return f"{self.lineno}: {self.statement}: {self.answer}: {self.rule}"


def reads_frame(node: Any) -> str | None:
    """The function by which this one inspects its own frame (`locals`, `eval`, ...), if it calls one."""
    bound: set[str] | None = None
    for n in own_of(node):
        if isinstance(n, gast.Attribute) and n.attr == "f_locals":
            if (getter := _own_frame(node)) is not None:
                return getter
        elif isinstance(n, gast.Call) and isinstance(n.func, gast.Name):
            name: str = n.func.id
            if name in FRAME_READERS and not (name in ("vars", "dir") and n.args):
                bound = scan(*body_of(node)).binds if bound is None else bound
                if name not in bound:
                    return name
    return None


def _own_frame(node: Any) -> str | None:
    """The call that gives the function its own frame, such as `sys._getframe()`."""
    for n in own_of(node):
        if isinstance(n, gast.Call) and not n.args:
            name: str = getattr(n.func, "attr", getattr(n.func, "id", ""))
            if name in ("_getframe", "currentframe"):
                return name
    return None


def never_tensor(node: Any) -> bool:
    """Whether an expression is a Python value by its form: a literal, `x is 'a'`, `issubclass(...)`."""
    if isinstance(node, (gast.Constant, gast.List, gast.Tuple, gast.Dict, gast.Set, gast.JoinedStr)):
        return True
    if isinstance(node, gast.Compare):
        operands = [node.left, *node.comparators]
        return all(_is_python_test(gast.Compare(left, [op], [right]))
                   for left, op, right in zip(operands, node.ops, node.comparators))
    if isinstance(node, gast.BoolOp):
        return all(never_tensor(value) for value in node.values)
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return never_tensor(node.operand)
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in PREDICATES and not (
        asked_call(node))


def _is_python_test(node: Any) -> bool:
    """Whether a comparison of two operands is a Python value by its form."""
    return isinstance(node.ops[0], (gast.Is, gast.IsNot, gast.In, gast.NotIn)) and not (
        none_test(node) or member_test(node) or bool_test(node) or same_test(node))


def member_test(node: Any) -> bool:
    """Whether a comparison is `x in xs` or `x not in xs`, where an operand may be a tensor or contain one, or be text
    made by a graph."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (gast.In, gast.NotIn)):
        return False
    container = node.comparators[0]
    if isinstance(node.left, gast.Constant) and isinstance(node.left.value, (str, bytes)):
        return type(node.left.value) is str or (isinstance(container, (gast.Tuple, gast.List, gast.Set)) and are_texts(
            container.elts))
    return type(getattr(container, "value", None)) is str or not isinstance(container, gast.Constant)


def are_texts(items: list[Any]) -> bool:
    text = (str, bytes, type(None))
    return all(isinstance(item, gast.Constant) and isinstance(item.value, text) for item in items)


def bool_test(node: Any) -> bool:
    """Whether a comparison is `x is True`, `x is False`, or one with `is not`, which stages for bool tensors."""
    return len(node.ops) == 1 and isinstance(node.ops[0], (gast.Is, gast.IsNot)) and (
        isinstance(node.comparators[0], gast.Constant) and isinstance(node.comparators[0].value, bool))


def none_test(node: Any) -> bool:
    """Whether a comparison is `x is None` or `x is not None`, where a staged branch may have set `x` to None."""
    return _is_identity(node) and (_is_none(node.left) or _is_none(node.comparators[0])) and not all(
        isinstance(side, gast.Constant) for side in (node.left, node.comparators[0]))


def same_test(node: Any) -> bool:
    """Whether a comparison is `x is y` or `x is not y`, where both may be None."""
    return _is_identity(node) and not any(
        isinstance(side, gast.Constant) for side in (node.left, *node.comparators))


def attribute_test(node: Any) -> bool:
    """Whether a call is `hasattr(x, "y")`, where a staged branch may have set `x.y`."""
    if not asked_call(node) or node.func.id != "hasattr" or len(node.args) != 2:
        return False
    name = node.args[1]
    return bool(symbol(node.args[0])) and isinstance(name, gast.Constant) and type(name.value) is str


def asked_call(node: Any) -> bool:
    """Whether a call is one of a builtin in ASKED (of `type`, only with one argument)."""
    if not isinstance(node.func, gast.Name) or node.func.id not in ASKED:
        return False
    return node.func.id != "type" or (len(node.args) == 1 and not node.keywords)


def _is_identity(node: Any) -> bool:
    return len(node.ops) == 1 and isinstance(node.ops[0], (gast.Is, gast.IsNot))


def _is_none(node: Any) -> bool:
    return isinstance(node, gast.Constant) and node.value is None


def makes_text(node: Any) -> bool:
    """Whether an expression is an f-string, which may contain values of a graph."""
    return isinstance(node, gast.JoinedStr) and any(isinstance(value, gast.FormattedValue) for value in node.values)


def percent_text(left: Any, right: Any) -> bool:
    """Whether `left % right` may format text: neither operand is a number."""
    return not any(isinstance(side, gast.Constant) and not isinstance(side.value, str) for side in (
        getattr(left, "operand", left), getattr(right, "operand", right)))


def takes_item(node: Any) -> bool:
    """Whether an expression or target is `x[i]` or `x[i:j]`, where `x` may be a list or the index a tensor; or
    `x[i, j]`, where `x` may be an array and one of the indices a tensor, or a dict."""
    if not isinstance(node, gast.Subscript) or isinstance(node.ctx, gast.Del):
        return False
    if not isinstance(node.slice, gast.Tuple):
        return True
    indices = node.slice.elts
    if any(isinstance(index, gast.Starred) for index in indices):
        return False
    return not any(isinstance(index, gast.Slice) for index in indices) or any(
        not isinstance(part, gast.Constant) for index in indices for part in _parts(index))


def _parts(index: Any) -> list[Any]:
    """The expressions that are evaluated in an index."""
    if not isinstance(index, gast.Slice):
        return [index]
    return [part for part in (index.lower, index.upper, index.step) if part is not None]


def spreads(node: Any) -> bool:
    """Whether an expression is a display with a star: `[*x, y]`, `(*x, y)` or `{*x, y}`."""
    is_read = isinstance(node, gast.Set) or (
        isinstance(node, (gast.List, gast.Tuple)) and isinstance(node.ctx, gast.Load))
    return is_read and any(isinstance(element, gast.Starred) for element in node.elts)


COMPARISONS = {gast.Lt: "lt", gast.LtE: "le", gast.Gt: "gt", gast.GtE: "ge", gast.Eq: "eq", gast.NotEq: "ne"}
"""The operators that replace comparisons."""
_NO_CONTAINERS = (gast.Constant, gast.JoinedStr, gast.UnaryOp)


def compares(node: Any) -> bool:
    """Whether an expression is `x < y`, or a chain of comparisons, of operands that may be containers."""
    if not isinstance(node, gast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(type(op) in COMPARISONS and not isinstance(left, _NO_CONTAINERS) and not isinstance(
        right, _NO_CONTAINERS) for left, op, right in zip(sides, node.ops, sides[1:]))


class _Classifier:
    def __init__(self, node: Any) -> None:
        self.suspending = any(suspends(s) for s in node.body)
        self.is_async = isinstance(node, gast.AsyncFunctionDef)
        self.frozen: str | None = None
        self.overriding = [
            n for n in own_of(node) if isinstance(n, TRIES)
            and any(escapes(s) for s in n.finalbody)]
        """Enclosing `try` statements whose `finally` jumps, which discards a pending error or jump."""
        self.decisions: list[Decision] = []

    def run(self, body: list[Any]) -> None:
        self.block(body, False)
        if any(n.python is not None for n in self.overriding):
            self.frozen = "a finally block that stays Python jumps out"
            self.decisions.clear()
            self.block(body, False)

    def block(self, body: list[Any], in_python_loop: bool) -> None:
        for node in body:
            if not has_blocks(node) or isinstance(node, (*FUNCTIONS, gast.ClassDef)):
                continue
            kept = False
            if isinstance(node, (gast.If, gast.Match, *LOOPS)):
                node.python = self.rule(node, in_python_loop)
                kept = node.python is not None
                self.decide(node)
            elif type(node).__name__ in ("Try", "TryStar", "With", "AsyncWith"):
                node.python = self.rule_of_guard(node, in_python_loop)
                self.decide_guard(node)
            for _name, inner in blocks_of(node):
                self.block(inner, kept if isinstance(node, LOOPS) else in_python_loop)

    def rule(self, node: Any, in_python_loop: bool) -> str | None:
        general = self.general_rule(node, in_python_loop)
        if general is not None:
            return general
        if isinstance(node, gast.Match):
            return None
        if isinstance(node, gast.If):
            return "its test is never a tensor" if never_tensor(node.test) else None
        inner_jumps = frozenset().union(*(escapes(s) for s in node.body)) if node.body else frozenset()
        if inner_jumps:
            return None
        if isinstance(node, gast.While):  # `while True` may end by an error that the graph raises
            is_endless = isinstance(node.test, gast.Constant) and bool(node.test.value)
            return "its test is never a tensor" if never_tensor(node.test) and not is_endless else None
        if isinstance(node.iter, (gast.Tuple, gast.List, gast.Set, gast.Dict, gast.Constant)):
            return "it loops over a literal"
        return None

    def general_rule(self, node: Any, in_python_loop: bool) -> str | None:
        if self.frozen:
            return self.frozen
        if isinstance(node, (gast.AsyncFor, gast.AsyncWith)) or suspends(node):
            return _SUSPENDED if self.is_async else _YIELDS
        jumps = escapes(node)
        if "return" in jumps and self.suspending:
            return "it returns from a coroutine" if self.is_async else "it returns from a generator"
        if jumps & {"break", "continue"} and in_python_loop:
            return "it jumps out of a loop that stays Python"
        return None

    def rule_of_guard(self, node: Any, in_python_loop: bool) -> str | None:
        """The rule for `try` and `with`."""
        general = self.general_rule(node, in_python_loop)
        if general is not None:
            return general
        if not isinstance(node, GUARDS):
            return "Python groups the errors"
        if isinstance(node, gast.Try):
            if all(isinstance(s, (gast.Import, gast.ImportFrom, gast.Pass)) for s in node.body):
                return "no graph can raise in its body"
            if any(bound_to_frame(h.type) for h in node.handlers if h.type is not None):
                return "a handler's class binds a name"
        return None

    def decide(self, node: Any) -> None:
        kind, operator = _STAGED_AS[type(node)]
        self.decisions.append(
            Decision(node.lineno, node.col_offset, kind, node.python is None, node.python or operator))

    def decide_guard(self, node: Any) -> None:
        kind = {"TryStar": "try", "AsyncWith": "async with"}.get(type(node).__name__, type(node).__name__.lower())
        rule = _STAGED_AS[type(node)][1] if node.python is None else node.python + "; the statements inside convert"
        self.decisions.append(Decision(node.lineno, node.col_offset, kind, node.python is None, rule))


def classify(node: Any) -> tuple[Decision, ...]:
    """Decide for each statement of a function whether it stays Python (`python`). Nested functions are classified
    separately."""
    classifier = _Classifier(node)
    classifier.run(node.body)
    return tuple(classifier.decisions)

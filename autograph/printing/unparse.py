"""Text from trees: gast or ast, laid out as a person would write it.

Statements are laid out here, on top of `astunparse`; expressions come from `ExpressionPrinter`, which adds
only the parentheses that the grammar needs and prints the same text on every Python version. Given the
original source, literals keep the user's spelling and comments are carried over (see `comments.py`).

    unparse(tree)                 text of a module, a statement, a list of statements, or an expression
    unparse(tree, source=text)    the same, with the comments and spellings of `text`
    unparse_with_lines(tree)      text, and the source line that each of its lines came from

Blank lines: one before a nested `def` or `class` unless it opens its block, none after it. In a module, two
around those at the top, and the blank lines of `source` are kept (two at most; one inside a block).
"""
from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import astunparse

from autograph.printing.comments import Comment, CommentPlan, plan_comments
from autograph.printing.expressions import ExpressionPrinter, Precedence

__all__ = ["Unparser", "unparse", "unparse_with_lines"]

Tree = Any  # a gast or ast node, or a list of statements
_DEFINITIONS = ("FunctionDef", "AsyncFunctionDef", "ClassDef")


def unparse(tree: Tree, *, source: str | None = None) -> str:
    """The text of `tree`, a gast or ast node or a list of statements.

    A statement ends with one newline; an expression has none. Line numbers in the tree are those of `source`.
    """
    return unparse_with_lines(tree, source=source)[0]


def unparse_with_lines(tree: Tree, *, source: str | None = None) -> tuple[str, dict[int, int]]:
    """The text of `tree`, and a map from its lines to the source lines that they came from (both from 1)."""
    printer = Unparser(tree, None, source=source)
    return printer.text, printer.lines


def _kind(node: Any) -> str:
    return type(node).__name__


class Unparser(astunparse.Unparser):  # type: ignore[misc]
    """Lays out statements, including those newer than astunparse, for gast and ast trees alike.

    `text` is the result, `lines` maps its lines to source lines. `file` receives the text too, if given.
    """

    def __init__(self, tree: Tree, file: TextIO | None = sys.stdout, *, source: str | None = None) -> None:
        self.future_imports: list[str] = []
        self.lines: dict[int, int] = {}
        self._indent = 0
        self._out: list[str] = []
        self._row = 0
        self._module = _kind(tree) in ("Module", "Interactive")
        self._expressions = ExpressionPrinter(source)
        self._plan: CommentPlan = plan_comments(tree, source)
        if isinstance(tree, list):
            self.body(tree)
        else:
            self.dispatch(tree)
        self.text = "".join(self._out)
        if isinstance(tree, (list, ast.stmt, ast.mod)) and self._out:
            self.text += "\n"
        if file is not None:
            file.write(self.text)

    # ---- writing ----

    def fill(self, text: str = "") -> None:
        """Start a line at the current indentation."""
        self._out.append("\n" if self._row else "")
        self._row += 1
        self._out.append("    " * self._indent + text)

    def write(self, text: str) -> None:
        self._out.append(text)
        self._row += text.count("\n")

    def dispatch(self, tree: Tree) -> None:
        if isinstance(tree, list):
            self.body(tree)
        elif isinstance(tree, ast.expr):
            self.write(self._expressions.text(tree))
        else:
            method = getattr(self, "_" + _kind(tree), None)
            if method is None:
                raise TypeError(f"cannot print a {_kind(tree)} node")
            method(tree)

    def _put(self, node: Any, least: Precedence = Precedence.TEST) -> None:
        self.write(self._expressions.text(node, least))

    # ---- blocks ----

    def body(self, statements: Sequence[Any]) -> None:
        """Lay out the statements of one block, with blank lines and comments between them."""
        top = self._module and self._indent == 0
        after_definition = False
        for index, node in enumerate(statements):
            is_definition = _kind(node) in _DEFINITIONS
            blank = 0
            if top and (is_definition or after_definition):
                blank = 2
            elif is_definition or (top and index == 1 and self._is_string(statements[0])):
                blank = 1
            opening = index == 0 and (self._indent > 0 or self._row == 0)
            self._leading(node, blank, opening)
            if index == 0 and self._is_string(node):
                self._docstring(node)
            else:
                self._statement(node)
            self._comment_lines(self._plan.tail.get(id(node), ()))
            after_definition = is_definition

    def _leading(self, node: Any, blank: int, opening: bool) -> None:
        """The comments above a statement, and at least `blank` blank lines."""
        for comment in self._plan.leading.get(id(node), ()):
            if not opening:
                self.write("\n" * max(blank, self._kept(comment.blank_above)))
            blank, opening = 0, False
            self._comment_line(comment)
        if not opening:
            self.write("\n" * max(blank, self._kept(self._plan.blank_lines.get(id(node), 0))))

    def _kept(self, blank: int) -> int:
        """How many of the source's blank lines are kept."""
        return min(blank, 1 if self._indent else 2) if self._module and self._row else 0

    def _comment_lines(self, comments: Iterable[Comment]) -> None:
        for comment in comments:
            self.write("\n" * self._kept(comment.blank_above))
            self._comment_line(comment)

    def _comment_line(self, comment: Comment) -> None:
        self.fill(comment.text)
        self.lines[self._row] = comment.line

    def _statement(self, node: Any) -> None:
        row = self._row + 1
        self.dispatch(node)
        if _kind(node) not in _COMPOUND:
            self._trailing(node)
        line = getattr(node, "lineno", None)
        if line is not None and _kind(node) not in _DEFINITIONS:
            self.lines[row] = line

    def _trailing(self, node: Any) -> None:
        comment = self._plan.trailing.get(id(node))
        if comment is not None:
            self.write("  " + comment.text)

    def _is_string(self, node: Any) -> bool:
        return _kind(node) == "Expr" and _kind(node.value) == "Constant" and isinstance(node.value.value, str)

    def _docstring(self, node: Any) -> None:
        self.fill()
        first = self._row
        self.write(self._expressions.docstring(node.value))
        self._trailing(node)
        for offset in range(self._row - first + 1):
            self.lines[first + offset] = getattr(node, "lineno", 1) + offset

    def _suite(self, statements: Sequence[Any], header: Any = None) -> None:
        """The colon after a header, its comment, and the block under it."""
        self.enter()
        if header is not None:
            self._trailing(header)
        self.body(statements)
        self.leave()

    def _clause(self, keyword: str, statements: Sequence[Any]) -> None:
        """An `else` or `finally` clause, unless it is empty."""
        if not statements:
            return
        self.fill(keyword)
        self.enter()
        comment = self._plan.clause.get(id(statements[0]))
        if comment is not None:
            self.write("  " + comment.text)
        self.body(statements)
        self.leave()

    # ---- roots ----

    def _Module(self, tree: Any) -> None:
        self.body(tree.body)
        self._comment_lines(self._plan.end)

    def _Interactive(self, tree: Any) -> None:
        self.body(tree.body)

    # ---- simple statements; the others are astunparse's ----

    def _Expr(self, tree: Any) -> None:
        self.fill()
        self._put(tree.value, Precedence.YIELD)

    def _Assign(self, t: Any) -> None:
        self.fill()
        for target in t.targets:
            self._put(target, Precedence.TUPLE)
            self.write(" = ")
        self._put(t.value, Precedence.YIELD)

    def _AugAssign(self, t: Any) -> None:
        self.fill()
        self._put(t.target)
        self.write(f" {self.binop[_kind(t.op)]}= ")
        self._put(t.value, Precedence.YIELD)

    def _AnnAssign(self, t: Any) -> None:
        self.fill()
        target = self._expressions.text(t.target)
        bare = _kind(t.target) == "Name" and not t.simple
        self.write(f"({target}): " if bare else f"{target}: ")
        self._put(t.annotation)
        if t.value is not None:
            self.write(" = ")
            self._put(t.value, Precedence.YIELD)

    def _Return(self, t: Any) -> None:
        self.fill("return")
        if t.value is not None:
            self.write(" ")
            self._put(t.value, Precedence.TUPLE)

    def _TypeAlias(self, t: Any) -> None:
        self.fill(f"type {t.name.id}")
        self._type_params(t)
        self.write(" = ")
        self._put(t.value)

    # ---- definitions ----

    def _decorators(self, t: Any) -> None:
        for decorator in t.decorator_list:
            self.fill("@" + self._expressions.condition(decorator))
            self.lines[self._row] = getattr(decorator, "lineno", getattr(t, "lineno", 1))
            comment = self._plan.decorator.get(id(decorator))
            if comment is not None:
                self.write("  " + comment.text)

    def _header_line(self, t: Any) -> None:
        line = getattr(t, "lineno", None)
        if line is not None:
            self.lines[self._row] = line

    def _FunctionDef(self, t: Any, keyword: str = "def") -> None:
        self._decorators(t)
        self.fill(f"{keyword} {t.name}")
        self._header_line(t)
        self._type_params(t)
        self.write(f"({self._expressions.arguments(t.args)})")
        if t.returns is not None:
            self.write(" -> ")
            self._put(t.returns)
        self._suite(t.body, t)

    def _AsyncFunctionDef(self, t: Any) -> None:
        self._FunctionDef(t, "async def")

    def _ClassDef(self, t: Any) -> None:
        self._decorators(t)
        self.fill(f"class {t.name}")
        self._header_line(t)
        self._type_params(t)
        if t.bases or t.keywords:
            self.write(f"({self._expressions.call_arguments(t.bases, t.keywords, of_class=True)})")
        self._suite(t.body, t)

    def _type_params(self, t: Any) -> None:
        params = getattr(t, "type_params", None)
        if params:
            self.write("[" + ", ".join(self._expressions.type_param(p) for p in params) + "]")

    # ---- compound statements ----

    def _If(self, t: Any) -> None:
        keyword = "if"
        while True:
            self.fill(f"{keyword} {self._expressions.condition(t.test)}")
            self._header_line(t)
            self._suite(t.body, t)
            # `else: if` and `elif` are the same tree; the shorter text is the one that people write.
            if len(t.orelse) != 1 or _kind(t.orelse[0]) != "If":
                break
            if id(t.orelse[0]) in self._plan.clause or id(t.orelse[0]) in self._plan.tail:
                break  # the comments need an `else:` of its own
            t, keyword = t.orelse[0], "elif"
            self._comment_lines(self._plan.leading.get(id(t), ()))
        self._clause("else", t.orelse)

    def _While(self, t: Any) -> None:
        self.fill("while " + self._expressions.condition(t.test))
        self._suite(t.body, t)
        self._clause("else", t.orelse)

    def _For(self, t: Any, keyword: str = "for") -> None:
        self.fill(keyword + " ")
        self._put(t.target, Precedence.TUPLE)
        self.write(" in ")
        self._put(t.iter, Precedence.TUPLE)
        self._suite(t.body, t)
        self._clause("else", t.orelse)

    def _AsyncFor(self, t: Any) -> None:
        self._For(t, "async for")

    def _With(self, t: Any, keyword: str = "with") -> None:
        items = ", ".join(self._with_item(item) for item in t.items)
        first = t.items[0]
        if len(t.items) == 1 and first.optional_vars is None and _kind(first.context_expr) == "Tuple":
            items = f"({items})"  # else the tuple would read as a parenthesised list of items
        self.fill(f"{keyword} {items}")
        self._suite(t.body, t)

    def _AsyncWith(self, t: Any) -> None:
        self._With(t, "async with")

    def _with_item(self, item: Any) -> str:
        text = self._expressions.text(item.context_expr)
        if item.optional_vars is not None:
            text += " as " + self._expressions.text(item.optional_vars)
        return text

    def _Try(self, t: Any, keyword: str = "except") -> None:
        self.fill("try")
        self._header_line(t)
        self._suite(t.body, t)
        for handler in t.handlers:
            self._comment_lines(self._plan.leading.get(id(handler), ()))
            self.fill(keyword)
            self._header_line(handler)
            if handler.type is not None:
                self.write(" ")
                self._put(handler.type)
            if handler.name is not None:  # gast has a Name here
                self.write(f" as {getattr(handler.name, 'id', handler.name)}")
            self._suite(handler.body, handler)
        self._clause("else", t.orelse)
        self._clause("finally", t.finalbody)

    def _TryStar(self, t: Any) -> None:
        self._Try(t, "except*")

    def _Match(self, t: Any) -> None:
        self.fill("match " + self._expressions.condition(t.subject, Precedence.TUPLE))
        self.enter()
        self._trailing(t)
        for case in t.cases:
            self._comment_lines(self._plan.leading.get(id(case), ()))
            self.fill("case " + self._expressions.pattern(case.pattern, top=True))
            self._header_line(case.pattern)
            if case.guard is not None:
                self.write(" if " + self._expressions.condition(case.guard))
            self._suite(case.body, case)
            self._comment_lines(self._plan.tail.get(id(case), ()))
        self.leave()


_COMPOUND = frozenset(
    [*_DEFINITIONS, "If", "While", "For", "AsyncFor", "With", "AsyncWith", "Try", "TryStar", "Match"]
)

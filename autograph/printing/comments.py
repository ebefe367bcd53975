"""Where the user's comments go in converted text.

Conversion moves statements and makes new ones, so a comment is tied to the logical line of the source that it
belongs to, and then to a statement of the converted tree that came from that line:

- on a line of code: the end of that statement; for a staged `if`, `while` or `for`, of the first statement that
  is not a declaration;
- on a line of its own: before the next statement, or at the end of its block if it is the last thing there;
- after `else:` or `finally:`, on a decorator, or within brackets: at the same place, or before the statement;
- where the statement was removed (a `break` that became structure): with the enclosing statement.

Every comment lands in exactly one place. Lines are found with `tokenize`; only the printed part is read.
"""
from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Comment", "CommentPlan", "plan_comments"]

_LINE_END = re.compile("\r\n|\r|\n")
_FIRST_LINES = re.compile(r"#!|#.*coding[:=]")
_CLAUSES = frozenset(["else", "elif", "except", "finally"])
_BLOCKS = frozenset(["if", "elif", "while", "for", "with", "async", "try", "match", "case", "except"])
_SKIPPED = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment of the source: its text from `#` on, its line, and the blank lines just above it."""

    text: str
    line: int
    blank_above: int = 0


@dataclass(slots=True)
class CommentPlan:
    """The place of each comment, and the blank lines of the source, by `id` of the printed node."""

    leading: dict[int, list[Comment]] = field(default_factory=dict)
    trailing: dict[int, Comment] = field(default_factory=dict)
    tail: dict[int, list[Comment]] = field(default_factory=dict)
    clause: dict[int, Comment] = field(default_factory=dict)
    decorator: dict[int, Comment] = field(default_factory=dict)
    end: list[Comment] = field(default_factory=list)
    blank_lines: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Line:
    """A logical line: a simple statement or the header of a compound one."""

    start: int
    indent: int
    word: str
    end: int = 0
    joined: bool = False  # several statements, with `;` between them
    comments: list[tuple[Comment, bool]] = field(default_factory=list)  # with: alone on its line?


@dataclass(slots=True)
class _Loose:
    """A comment between two logical lines, given by index; -1 and `len(lines)` stand for none."""

    comment: Comment
    column: int
    after: int
    before: int


def plan_comments(tree: Any, source: str | None) -> CommentPlan:
    """Places for the comments of `source` in the printed `tree`, whose line numbers are those of `source`."""
    plan = CommentPlan()
    roots = tree if isinstance(tree, list) else [tree]
    if source is None or not roots or not isinstance(roots[0], (ast.stmt, ast.mod)):
        return plan
    rows = _LINE_END.split(source)
    module = isinstance(tree, ast.mod)
    first, last = (1, len(rows)) if module else _extent(roots, rows)
    part = rows[first - 1 : last]
    if module or any("#" in row for row in part):
        lines, loose = _scan(part, first)
        _Planner(plan, roots, lines, loose, rows, module).run()
    return plan


def _extent(roots: Sequence[Any], rows: Sequence[str]) -> tuple[int, int]:
    """The first and last row of the statements, with the comments that close their last block."""
    numbered: list[Any] = [n for root in roots for n in ast.walk(root) if hasattr(n, "lineno")]
    first = min([roots[0].lineno, *(d.lineno for d in getattr(roots[0], "decorator_list", []))])
    last = min(max(getattr(n, "end_lineno", None) or n.lineno for n in numbered), len(rows))
    header = rows[roots[-1].lineno - 1] if roots[-1].lineno <= len(rows) else ""
    column = len(header) - len(header.lstrip())
    for number in range(last + 1, len(rows) + 1):
        text = rows[number - 1].lstrip()
        if text.startswith("#") and len(rows[number - 1]) - len(text) > column:
            last = number
        elif text:
            break
    return first, last


def _scan(rows: Sequence[str], first: int) -> tuple[list[_Line], list[_Loose]]:
    """The logical lines of some rows, with the comments in and between them."""
    lines: list[_Line] = []
    loose: list[_Loose] = []
    current: _Line | None = None
    text = "\n".join(rows) + "\n"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row = token.start[0] + first - 1
        if token.type == tokenize.COMMENT:
            alone = not rows[token.start[0] - 1][: token.start[1]].strip()
            comment = Comment(token.string, row, _blank_above(rows, token.start[0]))
            if current is None and alone:
                loose.append(_Loose(comment, token.start[1], len(lines) - 1, len(lines)))
            else:
                (current or lines[-1]).comments.append((comment, alone))
        elif token.type == tokenize.NEWLINE:
            if current is not None:
                current.end, current = row, None
        elif current is not None:
            current.joined |= token.string == ";"
        elif token.type not in _SKIPPED:
            current = _Line(row, token.start[1], token.string)
            lines.append(current)
    return lines, loose


def _blank_above(rows: Sequence[str], row: int) -> int:
    count = 0
    while row - count >= 2 and not rows[row - count - 2].strip():
        count += 1
    return count


@dataclass(slots=True)
class _Planner:
    plan: CommentPlan
    roots: Sequence[Any]
    lines: list[_Line]
    loose: list[_Loose]
    rows: Sequence[str]
    module: bool
    starts: dict[int, int] = field(default_factory=dict)  # row -> index of its logical line
    hosts: dict[int, list[Any]] = field(default_factory=dict)  # index -> printed nodes of that line, in order
    openers: set[int] = field(default_factory=set)  # nodes that open an `else` or a `finally`
    decorators: dict[int, Any] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)
    first: Any = None

    def run(self) -> None:
        for index, line in enumerate(self.lines):
            for row in range(line.start, line.end + 1):
                self.starts[row] = index
        self._add_hosts(self.roots, 0)
        if self.module:
            self._keep_blank_lines()
        top = self._top()
        for item in self.loose:
            if item.comment not in top:
                self._place_loose(item)
        for index, line in enumerate(self.lines):
            self._place_in_line(index, line)

    # ---- the printed nodes ----

    def _add_hosts(self, nodes: Sequence[Any], depth: int) -> None:
        """Register statements, handlers and cases, in the order in which they are printed."""
        for node in nodes:
            self.depth[id(node)] = depth
            if isinstance(node, (ast.stmt, ast.excepthandler)) or type(node).__name__ == "match_case":
                self._add_host(node)
            for name in ("body", "handlers", "cases", "orelse", "finalbody"):
                children = getattr(node, name, None)
                if isinstance(children, list) and children:
                    if name in ("orelse", "finalbody"):
                        self.openers.add(id(children[0]))
                    self._add_hosts(children, depth + 1)

    def _add_host(self, node: Any) -> None:
        self.first = self.first or node
        line = getattr(getattr(node, "pattern", node), "lineno", None)
        index = -1 if line is None else self.starts.get(line, -1)
        if index >= 0:
            self.hosts.setdefault(index, []).append(node)
        for decorator in getattr(node, "decorator_list", []):
            self.decorators[self.starts.get(getattr(decorator, "lineno", -1), -1)] = decorator

    def _keep_blank_lines(self) -> None:
        for index, nodes in self.hosts.items():
            top = index
            while top > 0 and self.lines[top - 1].word == "@":
                top -= 1
            self.plan.blank_lines[id(nodes[0])] = _blank_above(self.rows, self.lines[top].start)

    # ---- the places ----

    def _top(self) -> set[Comment]:
        """The comments that open the file (shebang, encoding, licence); nothing is inserted above them."""
        head = [item.comment for item in self.loose if item.before == 0] if self.module else []
        if not head or self.first is None or not self.lines:
            return set()
        gaps = [c.blank_above for c in head[1:]] + [_blank_above(self.rows, self.lines[0].start)]
        kept = max([i + 1 for i, gap in enumerate(gaps) if gap], default=0)
        while kept < len(head) and head[kept].line <= 2 and _FIRST_LINES.match(head[kept].text):
            kept += 1
        if not kept:
            return set()
        self.plan.leading.setdefault(id(self.first), []).extend(head[:kept])
        if self.first is not self.hosts.get(0, [None])[0]:  # it was inserted above, and has no place in the source
            self.plan.blank_lines[id(self.first)] = gaps[kept - 1]
        return set(head[:kept])

    def _place_loose(self, item: _Loose) -> None:
        before = self.lines[item.before].indent if item.before < len(self.lines) else -1
        owner = item.after  # the line, or one around it, whose block the comment closes
        while owner >= 0 and self.lines[owner].indent > item.column:
            owner = self._around(owner)
        if owner >= 0 and self.lines[owner].indent > before and item.column > before:
            indent = self.lines[owner].indent
            while self.lines[owner].word in _CLAUSES or self.lines[owner].indent > indent:
                owner -= 1  # to the `if`, `for`, `while` or `try` that the clause belongs to
            if owner in self.hosts:
                self.plan.tail.setdefault(id(self._main_host(owner)), []).append(item.comment)
            else:
                self._orphan(owner, item.comment)
        else:
            self._lead(item.before, item.comment)

    def _lead(self, index: int, comment: Comment, *, moved: bool = False) -> None:
        """Put a comment before the first node of a line; for a decorator, `else` or `finally`, of the statement
        below."""
        while index < len(self.lines) and index not in self.hosts and (
            self.lines[index].word in ("@", "else", "finally")
        ):
            index += 1
        nodes = self.hosts.get(index)
        if nodes and moved:
            self._lead_node(nodes[0], comment)
        elif nodes:
            self.plan.leading.setdefault(id(nodes[0]), []).append(comment)
        else:
            self._orphan(index, comment)

    def _place_in_line(self, index: int, line: _Line) -> None:
        ends = [c for c, alone in line.comments if not alone]
        end = ends[-1] if ends and (len(ends) == 1 or ends[-1].line == line.end) else None
        for comment, _ in line.comments:
            if comment is not end:
                self._lead(index, comment, moved=True)
        if end is None:
            return
        if line.word == "@" and index in self.decorators:
            self.plan.decorator[id(self.decorators[index])] = end
        elif index not in self.hosts and line.word in ("else", "finally"):
            nodes = self.hosts.get(index + 1, [None])
            if id(nodes[0]) in self.openers:
                self.plan.clause[id(nodes[0])] = end
            else:
                self._lead(index + 1, end, moved=True)
        else:
            self._trail(index, end)

    def _trail(self, index: int, comment: Comment) -> None:
        line = self.lines[index]
        nodes = [n for n in self.hosts.get(index, []) if not _is_declaration(n, line.word)]
        if line.joined and line.word not in _BLOCKS:  # `a; b  # of b`
            nodes.reverse()
        elif nodes and line.word in ("for", "async"):
            nodes = [self._main_host(index)]  # not the flags around a staged loop
        if nodes and id(nodes[0]) not in self.plan.trailing:
            self.plan.trailing[id(nodes[0])] = comment
        elif nodes:
            self._lead_node(nodes[0], comment)
        elif line.word == "@":
            self._lead(index, comment, moved=True)
        else:
            self._orphan(index, comment)

    def _orphan(self, index: int, comment: Comment) -> None:
        """The statement of the comment is not printed: attach it to the enclosing statement."""
        index = self._around(index) if index < len(self.lines) else -1
        while index >= 0 and index not in self.hosts:
            index = self._around(index)
        comment = replace(comment, blank_above=0)
        if index < 0:
            self.plan.end.append(comment)
        else:
            self._lead_node(self._main_host(index), comment)

    def _lead_node(self, node: Any, comment: Comment) -> None:
        """Put a comment that stood elsewhere before a node, after the blank lines there."""
        kept = self.plan.blank_lines.pop(id(node), 0)
        self.plan.leading.setdefault(id(node), []).append(replace(comment, blank_above=kept))

    def _main_host(self, index: int) -> Any:
        """The node that stands for a whole line: the last of the least nested ones."""
        return min(reversed(self.hosts[index]), key=lambda node: self.depth[id(node)])

    def _around(self, index: int) -> int:
        """The line whose block contains this one, or -1."""
        indent = self.lines[index].indent
        while index >= 0 and self.lines[index].indent >= indent:
            index -= 1
        return index


def _is_declaration(node: Any, word: str) -> bool:
    """Whether `node` only prepares what a line says: a nested function or import, `nonlocal`, `name: object`."""
    kind = type(node).__name__
    if kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
        return word not in ("def", "async", "class")
    if kind in ("Nonlocal", "Global"):
        return word not in ("nonlocal", "global")
    if kind == "ImportFrom":
        return word != "from"
    return kind == "AnnAssign" and node.value is None and getattr(node.target, "id", word) != word

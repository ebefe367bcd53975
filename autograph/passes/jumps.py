"""Jumps become structure: `break`, `continue` and early `return` are eliminated.

Where possible, the rest of a block moves into the other branch; otherwise a flag (`break_`, `continue_`, `did_return_`
with `return_`) stands for the jump. A jump stays native where nothing between it and its target becomes a function.

Nesting is bounded: 1,000 early returns would nest 1,000 deep. Longer series are cut into sequences of moderate depth
with a flag between them, and so are long chains of `elif`.

Afterwards: no statement that will be converted contains a jump out of itself. A loop with an early exit has the flag in
its test (a `for` has a `test`), and its `else` is an `if` on the flag.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import gast

from autograph.analysis.scopes import Scope, names_of
from autograph.analysis.staging_candidates import classify
from autograph.frontend.tree import (
    FUNCTIONS,
    GUARDS,
    JUMPS,
    LOOPS,
    TRIES,
    at,
    bound_to_frame,
    escapes,
    first_of,
    has_blocks,
    is_docstring,
    own_nodes,
    placed,
)

__all__ = ["declare_dropped", "lower_jumps"]

Body = list[Any]
_ENDING: Final = frozenset({*JUMPS, gast.Raise})
_DEPTH = 16
"""How many jumps of a block, or links of an `elif` chain, become nested structure before a flag is used."""


class _Context(NamedTuple):
    """The surroundings of a jump."""

    native_return: bool = True
    native_loop: bool = False
    break_: str = ""
    continue_: str = ""
    taken: frozenset[str] = frozenset()
    """Flags in use in enclosing statements."""
    ended: frozenset[str] = frozenset()
    """In a `finally`: the flags of the jumps that another `return` cancels."""
    ended_by_loop: frozenset[str] = frozenset()
    """The flags of the jumps that a `break` or `continue` cancels."""

    def within(self, node: Any) -> _Context:
        """The context of a jump inside a statement that is not a loop. If the statement is converted, the jump cannot
        stay native."""
        return self if node.python is not None else self._replace(native_return=False, native_loop=False)


class _End(NamedTuple):
    """How a lowered block ends: the flags that may stand for a pending jump, and whether control may fall through."""

    pending: frozenset[str] = frozenset()
    falls: bool = True

    @staticmethod
    def either(ends: Sequence[_End]) -> _End:
        """The end of a statement that ends in one of these ways."""
        return _End(frozenset().union(*(end.pending for end in ends)), any(end.falls for end in ends))


def lower_jumps(node: Any, scope: Scope) -> None:
    """Lower the jumps of one function, in place. Nested functions are lowered separately."""
    if isinstance(node, gast.Lambda):
        return
    classify(node)
    _Lowering(node, scope).run()


def declare_dropped(node: Any, scope: Scope) -> None:
    """Declare the variables of a lowered function that only dropped statements assign, for the text of this stage; the
    pass after the next declares them with others."""
    if isinstance(node, gast.Lambda):
        return
    bound = set().union(scope.parameters, scope.globals, scope.nonlocals, *(names_of(s).binds for s in node.body))
    origin = node.body[0]
    declared = [at(gast.AnnAssign(at(gast.Name(name, gast.Store(), None, None), origin),
                                  at(gast.Name("object", gast.Load(), None, None), origin), None, 1), origin)
                for name in sorted(scope.locals - bound)]
    start = int(is_docstring(origin))
    node.body[start:start] = declared


class _Lowering:
    def __init__(self, node: Any, scope: Scope) -> None:
        self.node, self.scope = node, scope
        self.return_ = scope.fresh("return_")
        self.did_return = scope.fresh("did_return_")
        self.tested: set[str] = set()
        self.lowered_return = False
        self.more: set[str] = set()

    def run(self) -> None:
        node = self.node
        node.body = self.cut_chains(node.body)
        if not _has_lowered_return(node.body, _Context()):
            node.body, _ = self.block(node.body, _Context())
            self.drop_untested(node.body)
            return
        body = node.body
        if _falls(body):
            value = gast.Constant(None, None)
            body = [*body, at(gast.Return(at(value, body[-1])), body[-1])]
            body[-1].implicit = True
        origin = body[0]
        node.body, _end = self.block(body, _Context())
        if self.did_return in self.tested:
            start = 1 if is_docstring(node.body[0]) else 0
            node.body.insert(start, self.assign(self.did_return, False, origin))
        if self.lowered_return:
            last = node.body[-1]
            result = gast.Return(at(gast.Name(self.return_, gast.Load(), None, None), last))
            node.body.append(at(result, last))
        self.drop_untested(node.body)

    def cut_chains(self, body: Body) -> Body:
        """Cut long chains of `elif` into a sequence of shorter ones; a flag says whether the next one is to run."""
        return [made for node in body for made in (self.cut_chain(node) if has_blocks(node) else (node,))]

    def cut_chain(self, node: Any) -> Body:
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            return [node]
        links = [node]
        while isinstance(node, gast.If) and len(links[-1].orelse) == 1 and isinstance(links[-1].orelse[0], gast.If):
            links.append(links[-1].orelse[0])
        for link in links:
            for holder in (link, *getattr(link, "handlers", ()), *getattr(link, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    inner = getattr(holder, name, None)
                    if isinstance(inner, list) and not (name == "orelse" and link is not links[-1]):
                        setattr(holder, name, self.cut_chains(inner))
        if sum(getattr(link, "python", "") is None for link in links) <= _DEPTH:
            return [node]
        before: Body = []
        after: Body = []
        for index in range(_DEPTH, len(links), _DEPTH):
            more, head = self.scope.fresh("more_", self.more), links[index]
            self.more.add(more)
            links[index - 1].orelse = [self.assign(more, True, head.test)]
            before.append(self.assign(more, False, node))
            following = at(gast.If(self.any_of(frozenset({more}), head.test), [head], []), head)
            following.python, following.levels = None, _DEPTH
            after.append(following)
        for link in links:
            link.__dict__.pop("escapes", None)
        return [*before, node, *after]

    def block(self, body: Body, ctx: _Context) -> tuple[Body, _End]:
        parts = _parts(body)
        if len(parts) == 1:
            return self.part(body, ctx)
        out: Body = []
        pending: frozenset[str] = frozenset()
        falls = True
        for part in parts:
            lowered, end = self.part([self.unless(pending, part)] if pending else part, ctx)
            out += lowered
            pending |= end.pending
            falls = falls and end.falls
            if end.pending and not end.falls:
                break
        return out, _End(pending, falls)

    def part(self, body: Body, ctx: _Context) -> tuple[Body, _End]:
        out: Body = []
        for index, node in enumerate(body):
            if not has_blocks(node) and node.__class__ not in _ENDING:
                out.append(node)
                continue
            rest = body[index + 1:]
            if node.__class__ in JUMPS:
                statements, end = self.jump(node, ctx)
                # Dead code after a native jump is kept: a `yield` in it makes the function a generator.
                dead = [] if end.pending else self.block(rest, ctx)[0]
                return out + statements + dead, end
            if isinstance(node, gast.If) and _lowers(node, ctx):
                return self.branch(out, node, rest, ctx)
            lowered, end = self.statement(node, ctx)
            out += lowered
            if end.pending:
                if not rest or not end.falls:
                    return out, end
                guarded, rest_end = self.block([self.unless(end.pending, rest)], ctx)
                return out + guarded, _End(end.pending | rest_end.pending, rest_end.falls)
            if not end.falls:
                return out + self.block(rest, ctx)[0], end
        return out, _End()

    def jump(self, node: Any, ctx: _Context) -> tuple[Body, _End]:
        if isinstance(node, gast.Return):
            if ctx.native_return and not getattr(node, "implicit", False):
                return [node], _End(falls=False)
            self.lowered_return = True
            value = node.value if node.value is not None else at(gast.Constant(None, None), node)
            target = at(gast.Name(self.return_, gast.Store(), None, None), node)
            result = at(gast.Assign([target], value, None), node)
            ended = [self.assign(other, False, node) for other in sorted(ctx.ended - {self.did_return})]
            return [*ended, result, self.assign(self.did_return, True, node)], _End(frozenset({self.did_return}), False)
        if ctx.native_loop:
            return [node], _End(falls=False)
        flag = ctx.break_ if isinstance(node, gast.Break) else ctx.continue_
        pending = self.assign(flag, True, node)
        ended = [self.assign(other, False, node) for other in sorted(ctx.ended_by_loop - {flag})]
        return [*ended, pending], _End(frozenset({flag}), False)

    def branch(self, out: Body, node: Any, rest: Body, ctx: _Context) -> tuple[Body, _End]:
        """An `if` with a jump: the rest of the block moves into the branch where it still runs, or is guarded by a
        flag."""
        inside = ctx.within(node)
        if rest and not _falls(node.body):
            node.orelse, rest = node.orelse + rest, []
        elif rest and node.orelse and not _falls(node.orelse):
            node.body, rest = node.body + rest, []
        node.body, first = self.block(node.body, inside)
        node.orelse, second = self.block(node.orelse, inside)
        node.escapes = frozenset().union(*(escapes(s) for s in (*node.body, *node.orelse)))
        out.append(node)
        end = _End(first.pending | second.pending, first.falls or second.falls)
        if not rest or not end.falls:
            return out, end
        guard = self.unless(end.pending, rest) if end.pending else None
        following, rest_end = self.block(rest if guard is None else [guard], ctx)
        return out + following, _End(end.pending | rest_end.pending, rest_end.falls)

    def statement(self, node: Any, ctx: _Context) -> tuple[Body, _End]:
        """A statement that is neither a jump nor an `if` with a jump."""
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            return [node], _End()
        if isinstance(node, LOOPS):
            return self.loop(node, ctx)
        if isinstance(node, TRIES):
            end = self.try_(node, ctx.within(node))
        elif isinstance(node, (gast.With, gast.AsyncWith)):
            end = self.with_(node, ctx.within(node))
        elif isinstance(node, (gast.Match, gast.If)):
            end = self.choice(node, ctx.within(node))
        else:
            return [node], _End(falls=False)  # a `raise`
        node.__dict__.pop("escapes", None)
        return [node], end

    def try_(self, node: Any, ctx: _Context) -> _End:
        leaves_guard = _leaves_guard(node.body)
        node.body, body_end = self.block(node.body, ctx)
        if node.orelse and body_end.pending:
            node.orelse = [self.unless(body_end.pending, node.orelse)]
        node.orelse, else_end = self.block(node.orelse, ctx)
        ends = [_End(body_end.pending | else_end.pending, else_end.falls and body_end.falls)]
        for handler in node.handlers:
            handler.body, handler_end = self.block(handler.body, ctx)
            if leaves_guard and node.python is None:  # an error raised while the jump leaves the body cancels the jump
                flags = [self.assign(flag, False, handler.body[0]) for flag in sorted(body_end.pending)]
                handler.body = flags + handler.body
                self.tested |= body_end.pending
            ends.append(handler_end)
        end = _End.either(ends)
        final_ctx = ctx if node.python is not None else ctx._replace(ended=end.pending, ended_by_loop=end.pending)
        node.finalbody, final_end = self.block(node.finalbody, final_ctx)
        node.jumps = sorted(final_end.pending)
        self.tested |= final_end.pending
        return _End(end.pending | final_end.pending, end.falls and final_end.falls)

    def with_(self, node: Any, ctx: _Context) -> _End:
        leaves_guard = _leaves_guard(node.body)
        node.body, end = self.block(node.body, ctx)
        node.jumps = sorted(end.pending) if leaves_guard else []
        self.tested |= frozenset(node.jumps)
        return _End(end.pending)  # the manager may swallow an error

    def choice(self, node: Any, ctx: _Context) -> _End:
        """An `if` out of which no jump has to be lowered, or a `match`."""
        ends: list[_End] = []
        if isinstance(node, gast.If):
            node.body, first = self.block(node.body, ctx)
            node.orelse, second = self.block(node.orelse, ctx)
            return _End.either([first, second])
        for case in node.cases:
            case.body, end = self.block(case.body, ctx)
            ends.append(end)
        return _End(_End.either(ends).pending)

    def loop(self, node: Any, ctx: _Context) -> tuple[Body, _End]:
        if isinstance(node, gast.While) and node.python is None and bound_to_frame(node.test) and not (
            any(escapes(s) & {"break", "continue"} for s in node.orelse)  # out of a loop around this one
        ):
            _test_in_body(node)
        if node.python is not None:
            node.body, _ = self.block(node.body, ctx._replace(native_loop=True))
            node.orelse, end = self.block(node.orelse, ctx)
            node.__dict__.pop("escapes", None)
            return [node], _End(end.pending)
        break_, pending = self.body_of_loop(node, ctx)
        out: Body = []
        leaves = pending & {break_, self.did_return}
        if break_ in leaves:
            out.append(self.assign(break_, False, node))
        if leaves:
            self.leave_by(leaves, node)
        node.escapes = frozenset()
        out.append(node)
        orelse, node.orelse = node.orelse, []
        returned = pending & {self.did_return}
        if orelse:
            following, else_end = self.block([self.unless(leaves, orelse)] if leaves else orelse, ctx)
            return out + following, _End(returned | else_end.pending, else_end.falls or bool(leaves))
        return out, _End(returned)

    def body_of_loop(self, node: Any, ctx: _Context) -> tuple[str, frozenset[str]]:
        """Lower the body of a staged loop. Returns its flag for `break`, and the flags of the jumps that leave the
        body."""
        break_, continue_ = self.scope.fresh("break_", ctx.taken), self.scope.fresh("continue_", ctx.taken)
        jumps = frozenset().union(*(escapes(s) for s in node.body))
        taken = {flag for flag, jump in ((break_, "break"), (continue_, "continue")) if jump in jumps}
        inside = _Context(False, False, break_, continue_, ctx.taken | taken, ctx.ended)
        original = node.body
        node.body, end = self.block(node.body, inside)
        if continue_ in self.tested:
            node.body.insert(0, self.assign(continue_, False, original[0]))
            self.tested.discard(continue_)
        elif continue_ in taken:  # an inner loop may use a flag of this name
            node.body = self.without({continue_}, node.body)
        return break_, end.pending

    def leave_by(self, flags: frozenset[str], node: Any) -> None:
        """Make a loop continue only while none of the flags is set."""
        self.tested |= flags
        place = node if isinstance(node, gast.For) else _one_line(first_of(node.test))
        going = at(gast.UnaryOp(gast.Not(), self.any_of(flags, place)), place)
        if isinstance(node, gast.For) or (isinstance(node.test, gast.Constant) and node.test.value):
            node.test = going
        else:
            node.test = at(gast.BoolOp(gast.And(), [going, node.test]), node.test)

    def unless(self, flags: frozenset[str], rest: Body) -> Any:
        """`rest`, guarded by a test that no jump is pending, at the position where `rest` begins."""
        self.tested |= flags
        origin = _one_line(first_of(rest[0]))
        node = at(gast.If(self.any_of(flags, origin), [at(gast.Pass(), origin)], rest), origin)
        node.python = None
        return node

    def any_of(self, flags: frozenset[str], origin: Any) -> Any:
        names = [at(gast.Name(flag, gast.Load(), None, None), origin) for flag in sorted(flags)]
        return names[0] if len(names) == 1 else at(gast.BoolOp(gast.Or(), names), origin)

    def assign(self, flag: str, value: bool, origin: Any) -> Any:
        target = placed(gast.Name, origin, id=flag, ctx=gast.Store(), annotation=None, type_comment=None)
        constant = placed(gast.Constant, origin, value=value, kind=None)
        return placed(gast.Assign, origin, targets=[target], value=constant, type_comment=None, flag=flag)

    def drop_untested(self, body: Body) -> None:
        if self.did_return not in self.tested:
            body[:] = self.without({self.did_return}, body)

    def without(self, flags: set[str], body: Body) -> Body:
        """`body` without the assignments to flags that are never tested. An invisible `pass` keeps the line of the jump
        visible to trace functions."""
        kept: Body = []
        for node in body:
            if getattr(node, "flag", None) in flags:
                if not node.value.value:
                    continue
                node = at(gast.Pass(), node)
                node.invisible = True
            elif has_blocks(node) and not isinstance(node, (*FUNCTIONS, gast.ClassDef)):
                for holder in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    for name in ("body", "orelse", "finalbody"):
                        inner = getattr(holder, name, None)
                        if isinstance(inner, list):
                            setattr(holder, name, self.without(flags, inner))
            kept.append(node)
        return kept


def _test_in_body(node: Any) -> None:
    """Make a test that binds a name part of the body: `while True: if test: ... else: ...; break`."""
    leave = at(gast.Break(), node.test)
    check = at(gast.If(node.test, [at(gast.Pass(), node.test)], [*node.orelse, leave]), node.test)
    node.orelse = []
    check.python = None
    check.body, node.body = node.body, [check]
    node.test = at(gast.Constant(True, None), node.test)
    node.test.holds = 0


def _one_line(node: Any) -> Any:
    """The position of the beginning of `node`."""
    place = at(gast.Pass(), node)
    place.end_lineno, place.end_col_offset = place.lineno, place.col_offset + 1
    return place


def _lowers(node: Any, ctx: _Context) -> bool:
    """Whether a jump out of this `if` has to be lowered."""
    jumps = escapes(node)
    if node.python is None:
        return bool(jumps)
    return (bool(jumps - {"return"}) and not ctx.native_loop) or ("return" in jumps and not ctx.native_return)


def _has_lowered_return(body: Body, ctx: _Context) -> bool:
    """Whether some `return` in these statements has to be lowered."""
    for node in body:
        if "return" not in escapes(node):
            continue
        if isinstance(node, gast.Return):
            if not ctx.native_return:
                return True
            continue
        inside = ctx
        if isinstance(node, (gast.If, gast.Match, *GUARDS, *LOOPS)) and node.python is None:
            inside = ctx._replace(native_return=False)
        blocks = [b for name in ("body", "orelse", "finalbody") if isinstance(b := getattr(node, name, None), list)]
        blocks += [h.body for h in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
        if any(_has_lowered_return(block, inside) for block in blocks):
            return True
    return False


def _parts(body: Body) -> list[Body]:
    """Split a block into parts of which none nests more than `_DEPTH` deep when its jumps are lowered."""
    parts: list[Body] = [[]]
    depth = 0
    for node in body:
        levels = _levels(node) if has_blocks(node) and escapes(node) else 0
        if depth and depth + levels > _DEPTH:
            parts.append([])
            depth = 0
        depth += levels
        parts[-1].append(node)
    return parts


def _levels(node: Any) -> int:
    """How deep the code after a statement with a jump would be nested."""
    levels: int = getattr(node, "levels", 1)
    while isinstance(node, gast.If) and node.orelse:
        node, levels = node.orelse[-1], levels + 1
    return levels


def _leaves_guard(body: Body) -> bool:
    """Whether a jump out of the body may pass through code that can raise: a `finally`, or the end of a `with`."""
    return any(isinstance(n, gast.With) or (isinstance(n, gast.Try) and n.finalbody) for n in own_nodes(body))


def _falls(body: Body) -> bool:
    """Whether control may reach the end of a block (before lowering)."""
    for node in body:
        if isinstance(node, (gast.Return, gast.Break, gast.Continue, gast.Raise)):
            return False
        if isinstance(node, gast.If) and node.orelse and not _falls(node.body) and not _falls(node.orelse):
            return False
        if isinstance(node, TRIES):
            through = _falls(node.body) and _falls(node.orelse)
            if not _falls(node.finalbody) or not (through or any(_falls(h.body) for h in node.handlers)):
                return False
        if isinstance(node, gast.While) and isinstance(node.test, gast.Constant) and node.test.value and not (
            any(_breaks(s) for s in node.body)
        ):
            return False
    return True


def _breaks(node: Any) -> bool:
    return "break" in escapes(node)

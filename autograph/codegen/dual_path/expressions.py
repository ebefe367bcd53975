"""Expressions in the plain lane: what the user wrote where Python decides, calls of operators where a value stages."""
from __future__ import annotations

import ast
import sys
from typing import Any

import gast

from autograph.analysis.staging_candidates import COMPARISONS, compares, spreads, takes_item
from autograph.codegen.dual_path.branch_tests import (
    AND,
    DEPTH,
    IS,
    LOAD,
    NESTED,
    NOT,
    OR,
    PLAIN,
    STAGED,
    STORE,
    WIDTH,
    is_held,
    negation,
    no_parameters,
    one_line,
    operator_of,
)
from autograph.codegen.dual_path.callee_lookup import Callees
from autograph.codegen.dual_path.gast_to_ast import Remaking, single
from autograph.frontend.tree import placed

__all__ = ["PlainExpressions"]


class PlainExpressions(Remaking):
    def __init__(self, operators: str) -> None:
        super().__init__(operators)
        self.callees = Callees(self, PLAIN)
        self.scope: Any = None
        self.owner: Any = None
        """The scope of the user's function, also in the bodies that conversion made in it."""
        self.nested = 0
        """How many conditional expressions are around."""
        self.place: Any = None
        """Where the compiler has the jump on the operand of a test that is being made: before Python 3.12 on the line
        of the statement, or of the last comparison; then on that of the operand."""
        self.in_iterable = False
        """Whether what a comprehension runs over is around, where Python allows no walrus, in lambdas neither."""

    def subscript(self, index: Any) -> Any:
        """The index of an operator as it stands between brackets: a call of `ag__.slice` as a slice."""
        if isinstance(index, gast.Tuple):
            return placed(ast.Tuple, index, elts=[self.subscript(e) for e in index.elts], ctx=LOAD)
        if isinstance(index, gast.Call) and operator_of(index) == "slice":
            bounds = [self.visit(a, PLAIN) for a in index.args]
            return placed(ast.Slice, index, lower=bounds[0], upper=bounds[1], step=bounds[2] if bounds[2:] else None)
        return self.visit(index, PLAIN)

    def visit_Name(self, node: Any, lane: int) -> Any:
        return self.read(super().visit_Name(node, lane), node)

    def visit_Attribute(self, node: Any, lane: int) -> Any:
        return self.read(super().visit_Attribute(node, lane), node)

    def read(self, made: Any, node: Any) -> Any:
        """What is read where a staged branch may have left nothing, with a question for that."""
        if not getattr(node, "unsure", False) or not getattr(self.owner, "tracing", False):
            return made
        return self.call("read", [made], node) if isinstance(node.ctx, gast.Load) else made

    def visit_Subscript(self, node: Any, lane: int) -> Any:
        """`x[i]`: where a backend traces, `i` may be its, and the operator asks it."""
        if lane and hasattr(node.value, "part"):
            asks = getattr(self.owner, "tracing", False) and takes_item(node)
            value, index = self.part(node.value, asks), self.visit(node.slice, lane)
            return placed(ast.Subscript, node, value=value, slice=index, ctx=STORE)
        if not getattr(self.owner, "tracing", False) or not takes_item(node):
            return self.read(self.generic(node, lane), node)
        if isinstance(node.ctx, gast.Store):
            made = self.generic(node, lane, skip="value")
            made.value = self.visit(node.value, lane)
            if not hasattr(node.value, "part"):
                made.value = self.call("place", [made.value], node)
            return made
        index = node.slice
        if isinstance(index, gast.Slice):
            none = placed(ast.Constant, node, value=None)
            bounds = [index.lower, index.upper, index.step]
            made = self.call("slice", [self.visit(b, lane) if b is not None else none for b in bounds], index)
        else:
            made = self.visit(index, lane)
        return self.call("item", [self.visit(node.value, lane), made], node)

    def visit_Compare(self, node: Any, lane: int) -> Any:
        if len(node.ops) > 1:
            return super().visit_Compare(node, lane)
        return self.compared(node, self.visit(node.left, lane), self.visit(node.comparators[0], lane))

    def compared(self, node: Any, left: Any, right: Any) -> Any:
        """`left < right`, of one comparison: where a backend traces, these may be containers of its values."""
        if getattr(self.owner, "tracing", False) and compares(node):
            return self.call(COMPARISONS[type(node.ops[0])], [left, right], node)
        return placed(ast.Compare, node, left=left, ops=[single(node.ops[0])], comparators=[right])

    def part(self, call: Any, asks: bool) -> Any:
        """`x.y` or `x[i]`, of which an item is set: what it has where Python sets the item, else its place. `asks`: the
        index may be a backend's, so that a list has a place, too."""
        held, *names = call.names
        (value, of), (given, key) = (self.twice(a, name) for a, name in zip(call.args, names))
        first = value, given
        if asks:  # both are evaluated as arguments, before what the place holds
            value, given = of, key
        if isinstance(call.part, gast.Attribute):
            operator, found = "in_attribute", placed(ast.Attribute, call, value=value, attr=call.part.attr, ctx=LOAD)
        elif getattr(self.owner, "tracing", False) and takes_item(call.part):
            operator, found = "in_element", self.call("item", [value, given], call)
        else:
            operator, found = "in_element", placed(ast.Subscript, call, value=value, slice=given, ctx=LOAD)
        origin = one_line(call)
        if isinstance(call.part, gast.Attribute) and call.end_lineno != call.lineno:  # it is looked up on its last line
            origin.lineno = origin.end_lineno = call.end_lineno
            origin.col_offset, origin.end_col_offset = call.end_col_offset - 1, call.end_col_offset
        if asks:
            return self.call(operator, [*first, self.assign_in(held, found, origin)], origin)
        kind = placed(ast.Call, origin, func=self.operator("type", one_line(call)), keywords=[],
                      args=[self.assign_in(held, found, origin)])
        known = placed(ast.Compare, origin, left=kind, ops=[ast.In()], comparators=[self.operator("plain", origin)])
        asked = negation(self.call("has_backend", [self.name(held, origin)], origin))
        place = self.call(operator, [of, key, self.name(held, origin)], origin)
        return placed(ast.IfExp, origin, test=placed(ast.BoolOp, origin, op=OR, values=[known, asked]),
                      body=self.name(held, origin), orelse=place)

    def twice(self, node: Any, name: str | None) -> tuple[Any, Any]:
        """An expression, and what has its value afterwards: `name`, if it is not to be evaluated again."""
        made = self.visit(node, PLAIN)
        return (made, made) if name is None else (self.assign_in(name, made, node), self.name(name, node))

    def visit_List(self, node: Any, lane: int) -> Any:
        """`[*x, y]`: where a backend traces, `x` may be its; what is before it has been taken when `y` is evaluated."""
        if not getattr(self.owner, "tracing", False) or not spreads(node):
            return self.generic(node, lane)
        made: Any = placed(ast.List, node, elts=[], ctx=LOAD)
        parts: Any = made.elts
        for element in node.elts:
            if isinstance(element, gast.Starred):
                made = self.call("extended", [made, self.visit(element.value, lane)], node)
                parts = None
            else:
                if parts is None:
                    following = placed(ast.List, node, elts=[], ctx=LOAD)
                    made, parts = self.call("extended", [made, following], node), following.elts
                parts.append(self.visit(element, lane))
        return made

    def visit_ListComp(self, node: Any, lane: int) -> Any:
        """A comprehension runs at once, so the temporaries of its parts may be variables of the function; but in what
        it runs over, Python allows no walrus, and a generator expression may run at any time."""
        made = self.generic(node, lane, skip="generators")
        outer, self.place = self.place, one_line(node)
        made.generators = [self.visit(g, lane) for g in node.generators]
        self.place = outer
        return made

    visit_SetComp = visit_DictComp = visit_ListComp

    def visit_comprehension(self, node: Any, lane: int) -> Any:
        around, self.in_iterable = self.in_iterable, True
        made = self.generic(node, lane, skip="ifs")
        made.iter = self.visit(node.iter, NESTED if lane else STAGED)
        self.in_iterable = around
        made.ifs = [self.condition(test) if lane == PLAIN else self.visit(test, lane) for test in node.ifs]
        return made

    def visit_GeneratorExp(self, node: Any, lane: int) -> Any:
        return self.generic(node, NESTED if lane else STAGED)

    def comprehension(self, node: Any, lane: int, operator: str) -> Any:
        native = getattr(self, f"visit_{type(node.native).__name__}")(node.native, lane)
        source = node.native.generators[0].iter
        place = source if sys.version_info >= (3, 12) and not isinstance(node.native, gast.GeneratorExp) else node
        if isinstance(source, gast.Name):
            items, again = self.name(source.id, source), self.name(source.id, place)
            plain = self.plain(source.id, place)
            if lane == PLAIN:
                plain.values[0].left.args = [self.visit(source, lane)]
        elif lane == NESTED:
            return placed(ast.IfExp, node, test=self.idle(node), body=native, orelse=self.generic(node, STAGED))
        else:  # it is taken out of a list: no walrus may stand in what a comprehension runs over
            name = self.scope.fresh("operand_")
            items, again = self.pop(name, source), self.pop(name, place)
            plain = self.plain(name, place)
            held = placed(ast.List, source, elts=[self.visit(source, lane)], ctx=LOAD)
            plain.values[0].left.args = [self.only(self.assign_in(name, held, source), source)]
            plain.values[1].args = [self.only(self.name(name, place), place)]
        if lane == PLAIN:  # in its own node: where the comprehension is nested, the same stands with another iterable
            first = native.generators[0]
            native.generators[0] = ast.comprehension(first.target, again, first.ifs, first.is_async)
        thunks = [self.visit(f, STAGED) for f in node.args[1:]]
        staged = self.call(operator, [items, *thunks], node)
        if node.dynamic:  # while a backend traces, a tensor may decide on items of a plain list, too
            plain = placed(ast.BoolOp, place, op=AND, values=[plain, self.idle(place)])
        if isinstance(node.native, gast.GeneratorExp):
            return placed(ast.IfExp, node, test=plain, body=native, orelse=staged)
        return placed(ast.IfExp, node, test=negation(plain), body=staged, orelse=native)  # no jump after the loop

    def pop(self, name: str, origin: Any) -> Any:
        method = placed(ast.Attribute, origin, value=self.name(name, origin), attr="pop", ctx=LOAD)
        return placed(ast.Call, origin, func=method, args=[], keywords=[])

    def only(self, items: Any, origin: Any) -> Any:
        return placed(ast.Subscript, origin, value=items, slice=placed(ast.Constant, origin, value=0), ctx=LOAD)

    def idle(self, origin: Any) -> Any:
        """Whether no backend is tracing."""
        origin = one_line(origin)
        tracing = placed(ast.Attribute, origin, value=self.operator("activity", origin), attr="tracing", ctx=LOAD)
        none = placed(ast.Constant, origin, value=None)
        return placed(ast.Compare, origin, left=tracing, ops=[IS], comparators=[none])

    def visit_Call(self, node: Any, lane: int) -> Any:
        operator = operator_of(node) if lane and self.scope is not None else None
        if operator is not None and hasattr(node, "native"):
            return self.comprehension(node, lane, operator)
        if lane and getattr(node, "bare_super", False):
            return placed(ast.Call, node, func=self.visit(node.func, lane), args=[], keywords=[])
        if operator is not None and hasattr(node, "plain"):  # a walrus, or an operand that assigns as it is called
            return self.visit(node.plain, lane)
        if lane and self.scope is not None and isinstance(node.func, gast.Call) and operator_of(node.func) == "call":
            return self.callees.call(node, lane)
        if lane == NESTED:
            if operator in ("and_", "or_", "not_", "if_exp") and self.nested < DEPTH:
                return self.natively(node, operator)
            operator = None
        if operator in ("and_", "or_", "if_exp") and (len(node.args) > WIDTH or self.nested >= WIDTH):
            return self.generic(node, STAGED)  # in one lane: the code of both would grow with the square
        if operator == "not_":
            name = self.scope.fresh("operand_")
            known = self.is_plain(name, self.visit(node.args[0], PLAIN), node)
            operand = self.name(name, node) if is_held(node.args[0]) else self.last(name, node)
            direct = placed(ast.UnaryOp, node, op=NOT, operand=operand)
            staged = self.call("not_", [self.name(name, node)], node)
            return placed(ast.IfExp, node, test=known, body=direct, orelse=staged)
        if operator == "in_":
            return self.member(node)
        if operator == "is_bool":
            value, wanted = node.args
            name = self.scope.fresh("operand_")
            kind = placed(ast.Call, node, func=self.operator("type", node), args=[
                self.assign_in(name, self.visit(value, PLAIN), node)], keywords=[])
            known = placed(ast.Compare, node, left=kind, ops=[ast.In()], comparators=[self.operator("plain", node)])
            staged = self.call("is_bool", [self.name(name, node), self.visit(wanted, PLAIN)], node)
            return placed(ast.IfExp, node, test=known, body=self.is_(name, wanted.value, node), orelse=staged)
        if operator in ("and_", "or_"):
            first, *others = node.args
            return self.lazy(node, self.visit(first, PLAIN), [o.body for o in others], operator, is_held(first))
        if operator == "if_exp":
            test, then, orelse = node.args
            name = self.scope.fresh("test_")
            self.nested += 1
            thunks = [self.visit(then, STAGED), self.visit(orelse, STAGED)]
            staged = self.call("if_exp", [self.name(name, node), *thunks], node)
            self.place = one_line(node)
            made = self.three_ways(self.truth(test, name), self.visit(then.body, PLAIN), staged,
                                   self.visit(orelse.body, PLAIN), name, test, node)
            self.nested -= 1
            return made
        if lane == PLAIN and self.scope is not None:
            chained = self.chained(node)
            if chained is not None:
                return self.lazy(node, chained[0], [chained[1]], "and_", True)
        return self.generic(node, lane)

    def member(self, node: Any) -> Any:
        """`value in (1, 2)` where Python decides, the operator where a backend does."""
        value, held = node.args
        if not node.fixed:
            if self.nested >= DEPTH or hasattr(held, "plain"):
                return self.generic(node, STAGED)
            self.nested += 1
            direct = placed(ast.Compare, node, left=self.visit(value, PLAIN), ops=[ast.In()],
                                     comparators=[self.visit(held, PLAIN)])
            self.nested -= 1
            staged = self.call("in_", [self.visit(value, PLAIN), self.visit(held, PLAIN)], node)
            return placed(ast.IfExp, node, test=self.idle(node), body=direct, orelse=staged)
        name = self.scope.fresh("operand_")
        left = self.name(name, value) if is_held(value) else self.last(name, value)
        direct = placed(ast.Compare, node, left=left, ops=[ast.In()], comparators=[self.visit(held, PLAIN)])
        staged = self.call("in_", [self.name(name, node), self.visit(held, PLAIN)], node)
        known = self.is_plain(name, self.visit(value, PLAIN), node)
        return placed(ast.IfExp, node, test=known, body=direct, orelse=staged)

    def lazy(self, node: Any, first: Any, others: list[Any], operator: str, held: bool) -> Any:
        """`first and others...` where Python decides, the operator where a backend does."""
        name = self.scope.fresh("operand_")
        second, *more = others
        thunks = [placed(ast.Lambda, o, args=no_parameters(), body=self.visit(o, STAGED)) for o in others]
        staged = self.call(operator, [self.name(name, node), *thunks], node)
        rest = self.visit(second, PLAIN)
        if more:
            rest = self.lazy(node, rest, more, operator, is_held(second))
        value = self.name(name, node)
        result = value if held else self.last(name, node)
        rest = rest if held else self.after(name, rest, node)
        true = self.is_value(self.assign_in(name, first, node), True, node)
        decided = placed(ast.BoolOp, node, op=AND, values=[
            self.is_(name, False, node, negated=True), self.plain(name, node), value])
        true = placed(ast.BoolOp, node, op=OR, values=[true, decided])
        unsure = placed(ast.BoolOp, node, op=AND, values=[
            self.is_(name, False, node, negated=True), negation(self.plain(name, node))])
        if operator == "and_":
            failed = placed(ast.IfExp, node, test=unsure, body=staged, orelse=result)
            return placed(ast.IfExp, node, test=negation(true), body=failed, orelse=rest)
        failed = placed(ast.IfExp, node, test=unsure, body=staged, orelse=rest)
        return placed(ast.IfExp, node, test=true, body=result, orelse=failed)

    def is_plain(self, name: str, value: Any, origin: Any) -> Any:
        """`(name := value) is True or name is False or` Python decides on it."""
        walrus = placed(ast.NamedExpr, origin, target=self.name(name, origin, True), value=value)
        values = [self.is_value(walrus, True, origin), self.is_(name, False, origin), self.plain(name, origin)]
        return placed(ast.BoolOp, origin, op=OR, values=values)

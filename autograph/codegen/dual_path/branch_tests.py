"""How the plain lane decides a test: operand by operand, as Python's own compiler does, and on the same lines.

Also the parts that both lanes are made of: names, calls of operators, comparisons, and places in the user's text.
"""
from __future__ import annotations

import ast
import sys
from typing import Any

import gast

from autograph.codegen.dual_path.inline_caches import CONSTANTS
from autograph.frontend.tree import at, children, first_of, placed

__all__ = [
    "AND", "DEPTH", "IS", "LOAD", "NESTED", "NOT", "NOWHERE", "OR", "PLAIN", "STAGED", "STORE", "WIDTH", "Decisions",
    "constant_at", "first_place", "flags_of", "is_held", "moved_to", "name_at", "negation", "no_parameters", "nowhere",
    "one_line", "operator_of",
]

STAGED, PLAIN, NESTED = 0, 1, 2
"""The lanes: operator calls; Python; Python in the scope of a comprehension, where a temporary cannot be bound."""
LOAD, STORE, AND, OR, NOT, IS, IS_NOT = ast.Load(), ast.Store(), ast.And(), ast.Or(), ast.Not(), ast.Is(), ast.IsNot()
WIDTH = 32
"""How many operands, or conditional expressions in each other, have a plain lane."""
DEPTH = 3
"""How many expressions in each other stand once for Python and once to be staged, by whether a backend traces."""
NOWHERE: Any = ast.Pass(lineno=-1, col_offset=-1, end_lineno=-1, end_col_offset=-1)
"""The place of what no line is to be seen to run for. It must not be able to raise."""

_new: Any = ast.AST.__new__


class Decisions:
    """What `statements` builds tests with."""

    operators: str
    scope: Any
    nested: int
    place: Any

    def visit(self, node: Any, lane: int) -> Any:
        raise NotImplementedError

    def name(self, name: str, origin: Any, store: bool = False) -> Any:
        raise NotImplementedError

    def idle(self, origin: Any) -> Any:
        raise NotImplementedError

    def compared(self, node: Any, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def operator(self, name: str, origin: Any) -> Any:
        if name in CONSTANTS:
            return constant_at(CONSTANTS[name], origin)
        made = placed(ast.Attribute, origin, value=self.name(self.operators, origin), attr=name, ctx=LOAD)
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset
        return made

    def call(self, name: str, arguments: list[Any], origin: Any) -> Any:
        return placed(ast.Call, origin, func=self.operator(name, origin), args=arguments, keywords=[])

    def decide(self, test: Any, header: Any) -> tuple[Any, str]:
        """`truth` of a test, and the name for what it leaves. `header` is the statement that has the test."""
        if getattr(test, "is_flag", False):
            return self.is_(test.id, True, test), test.id
        name = self.scope.fresh("test_")
        self.place = one_line(header)
        return self.truth(test, name), name

    def truth(self, node: Any, name: str) -> Any:
        """What is true where Python decides that `node` is; where it is not, `name` is False, or the value to stage on.

        As Python's own compiler does, it goes from operand to operand of `and`, `or`, `not` and the ternary.
        """
        node = getattr(node, "plain", node)
        operator = operator_of(node) if isinstance(node, gast.Call) else None
        if operator in ("and_", "or_") and len(node.args) <= WIDTH:
            first, *others = node.args
            return self.truth_of(self.truth(first, name), [o.body for o in others], name, node)
        chained = self.chained(node)
        if chained is not None:
            first, rest = chained
            self.place = one_line(node)
            return self.truth_of(self.leaf(first, name), [rest], name, node)
        if operator == "not_" and getattr(node.args[0], "is_flag", False):
            flag, place = node.args[0].id, self.place
            unset = self.is_(flag, False, place)
            if sys.version_info < (3, 11):  # as in `stage`
                node = place
            value = placed(ast.BoolOp, node, op=AND, values=[
                self.is_(flag, True, place, negated=True), self.call("not_", [self.name(flag, node)], node)])
            return placed(ast.BoolOp, node, op=OR, values=[unset, self.never(name, value, node)])
        if operator == "not_":
            true = self.truth(node.args[0], name)
            opposite = self.assign_in(name, placed(ast.Constant, self.place, value=False), self.place)
            false = placed(ast.BoolOp, node, op=OR, values=[negation(true), opposite])
            place = self.place if node.lineno == node.end_lineno or _is_leaf(node.args[0]) else NOWHERE
            rest = [self.is_(name, False, place), self.stage(name, "not_", [], node, place)]
            return placed(ast.BoolOp, node, op=AND, values=[false, placed(ast.BoolOp, node, op=OR, values=rest)])
        if operator == "if_exp" and self.nested < WIDTH:
            test, then, orelse = node.args
            self.nested += 1
            thunks = [self.visit(then, STAGED), self.visit(orelse, STAGED)]
            made = self.three_ways(
                self.truth(test, name), self.truth(then.body, name),
                self.stage(name, "if_exp", thunks, node, self.place), self.truth(orelse.body, name), name, test, node)
            self.nested -= 1
            return made
        if isinstance(node, gast.IfExp):
            return placed(ast.IfExp, node, test=self.visit(node.test, PLAIN), body=self.truth(node.body, name),
                                 orelse=self.truth(node.orelse, name))
        if isinstance(node, gast.BoolOp):  # of what is no tensor, but for the last perhaps
            *others, last = node.values
            values = [self.visit(v, PLAIN) for v in others]
            if isinstance(node.op, gast.And):
                values = [self.python(v, name, v) for v in values]
            return placed(ast.BoolOp, node, op=self.visit(node.op, PLAIN), values=[*values, self.truth(last, name)])
        place, value = self.place, self.visit(node, PLAIN)
        self.place = place
        if getattr(node, "is_flag", False):  # True, False, or what an operator made of these
            return self.is_value(self.assign_in(name, value, node), True, place)
        if sys.version_info >= (3, 12) or isinstance(node, gast.Compare) or operator in ("is_none", "in_"):
            self.place = one_line(node)
        if isinstance(node, gast.Compare) and isinstance(node.ops[-1], (gast.Is, gast.IsNot, gast.In, gast.NotIn)):
            return self.python(value, name, node)
        if operator == "is_none" and isinstance(node.args[0], gast.Name):  # only a backend that traces may know better
            none = placed(ast.Constant, node, value=None)
            direct = placed(ast.Compare, node, left=self.name(node.args[0].id, node), ops=[IS], comparators=[none])
            return placed(ast.BoolOp, node, op=OR, values=[direct, placed(ast.BoolOp, node, op=AND, values=[
                self.python(negation(self.idle(node)), name, node), self.leaf(value, name)])])
        return self.leaf(value, name)

    def leaf(self, value: Any, name: str) -> Any:
        """`(name := value) is True or name is not False and` it is plain `and (name := bool(name))`."""
        place = self.place
        named = placed(ast.NamedExpr, value, target=self.name(name, value, True), value=value)
        first = self.is_value(named, True, place)
        settled = self.assign_in(name, self.call("bool", [self.name(name, place)], place), place)
        unsure = placed(ast.BoolOp, place, op=AND, values=[
            self.is_(name, False, place, negated=True), self.plain(name, place), settled])
        return placed(ast.BoolOp, place, op=OR, values=[first, unsure])

    def python(self, value: Any, name: str, origin: Any) -> Any:
        """`value or (name := False)`: for what Python alone decides."""
        no = self.assign_in(name, placed(ast.Constant, origin, value=False), origin)
        return placed(ast.BoolOp, origin, op=OR, values=[value, no])

    def truth_of(self, first: Any, others: list[Any], name: str, node: Any) -> Any:
        """`truth` of `first and others...` or `first or others...`, of which `first` is the truth of the first."""
        second, *more = others
        operator = operator_of(node) or "and_"
        thunks = [placed(ast.Lambda, o, args=no_parameters(), body=self.visit(o, STAGED)) for o in others]
        # After a first operand that is true, or undecided, nothing but the second runs: so it is there.
        place = one_line(first_place([second])) if operator == "or_" else self.place
        if operator == "and_" and node.lineno != node.end_lineno and not _is_leaf(node.args[0]):
            place = NOWHERE
        staged = self.stage(name, operator, thunks, node, place)
        rest = self.truth(second, name)
        if more:
            rest = self.truth_of(rest, more, name, node)
        if operator == "and_":
            return placed(ast.BoolOp, node, op=AND, values=[
                placed(ast.BoolOp, node, op=OR, values=[first, staged]), rest])
        undecided = placed(ast.BoolOp, node, op=OR, values=[self.is_(name, False, place), staged])
        return placed(ast.BoolOp, node, op=OR, values=[
            first, placed(ast.BoolOp, node, op=AND, values=[undecided, rest])])

    def stage(self, name: str, operator: str, thunks: list[Any], node: Any, place: Any) -> Any:
        """`name is not False and (name := ag__.operator(name, *thunks)) is ag__`: it stages, and is false.

        All of `truth` is made of `and` and `or`, which jump straight to where they lead. Between the parts of a
        ternary the compiler makes a jump without a line, and the same line would be seen to run again after it.
        """
        if sys.version_info < (3, 11) and place is not NOWHERE:  # it sees lines only where their code begins
            node = place
        value = self.call(operator, [self.name(name, node), *thunks], node)
        return placed(ast.BoolOp, node, op=AND, values=[
            self.is_(name, False, place, negated=True), self.never(name, value, node)])

    def never(self, name: str, value: Any, node: Any) -> Any:
        """`(name := value) is ag__`, which is false."""
        named = self.assign_in(name, value, node)
        return placed(ast.Compare, node, left=named, ops=[IS], comparators=[self.name(self.operators, node)])

    def three_ways(
        self, truth: Any, body: Any, staged: Any, orelse: Any, name: str, test: Any, origin: Any
    ) -> Any:
        """`body if truth else staged if name is not False else orelse`."""
        second = placed(ast.IfExp, origin, test=self.unsure(name, test), body=staged, orelse=orelse)
        return placed(ast.IfExp, origin, test=truth, body=body, orelse=second)

    def unsure(self, name: str, test: Any) -> Any:
        """`name is not False`, after `truth` of the test: at its line, if it has one, where no other may have run."""
        return self.is_(name, False, test if test.end_lineno == test.lineno else NOWHERE, negated=True)

    def assign_in(self, name: str, value: Any, origin: Any) -> Any:
        return placed(ast.NamedExpr, origin, target=self.name(name, origin, True), value=value)

    def last(self, name: str, origin: Any) -> Any:
        """The value of a temporary, which holds it no longer: what only it held goes when it would go in Python."""
        return self.moved(self.name(name, origin), name, placed(ast.Constant, origin, value=None), origin)

    def natively(self, node: Any, operator: str) -> Any:
        """Python's own `and`, `or`, `not` or ternary while no backend traces: for where no temporary can be bound."""
        self.nested += 1
        first, *others = (self.visit(a.body if i else a, NESTED) for i, a in enumerate(node.args))
        self.nested -= 1
        if operator == "not_":
            direct = placed(ast.UnaryOp, node, op=NOT, operand=first)
        elif operator == "if_exp":
            direct = placed(ast.IfExp, node, test=first, body=others[0], orelse=others[1])
        else:
            direct = placed(ast.BoolOp, node, op=AND if operator == "and_" else OR, values=[first, *others])
        return placed(ast.IfExp, node, test=negation(self.idle(node)), body=self.visit(node, STAGED), orelse=direct)

    def moved(self, value: Any, name: str, then: Any, origin: Any) -> Any:
        """`(value, name := then)[0]`."""
        pair = placed(ast.Tuple, origin, elts=[value, self.assign_in(name, then, origin)], ctx=LOAD)
        return placed(ast.Subscript, origin, value=pair, slice=placed(ast.Constant, origin, value=0), ctx=LOAD)

    def after(self, name: str, value: Any, origin: Any) -> Any:
        """`(name := None) or value`: as `last`, where the value of the temporary is no longer wanted."""
        nothing = self.assign_in(name, placed(ast.Constant, origin, value=None), origin)
        return placed(ast.BoolOp, origin, op=OR, values=[nothing, value])

    def plain(self, name: str, origin: Any) -> Any:
        """`ag__.type(name) in ag__.plain or ag__.is_plain(name)`: whether Python decides on the value of a name."""
        known = placed(ast.Compare, origin, left=self.call("type", [self.name(name, origin)], origin), ops=[ast.In()],
                                comparators=[self.operator("plain", origin)])
        asked = self.call("is_plain", [self.name(name, origin)], origin)
        return placed(ast.BoolOp, origin, op=OR, values=[known, asked])

    def is_(self, name: str, value: bool, origin: Any, negated: bool = False) -> Any:
        return self.is_value(self.name(name, origin), value, origin, negated)

    def is_value(self, left: Any, value: bool, origin: Any, negated: bool = False) -> Any:
        op = IS_NOT if negated else IS
        return placed(ast.Compare, origin, left=left, ops=[op], comparators=[constant_at(value, origin)])

    def none_of(self, flags: list[str], negated: bool = False) -> Any:
        """Whether all flags are False; negated, whether one is True. No line is seen to run for it."""
        tests = [self.is_(flag, negated, NOWHERE) for flag in flags]
        op = OR if negated else AND
        return tests[0] if len(tests) == 1 else placed(ast.BoolOp, NOWHERE, op=op, values=tests)

    def condition(self, test: Any) -> Any:
        """A test of a comprehension. It is never staged here, so the value to stage on raises its own error."""
        name = self.scope.fresh("test_")
        truth = self.truth(test, name)
        rest = [self.is_(name, False, self.place, negated=True), self.name(name, self.place)]
        return placed(ast.BoolOp, test, op=OR, values=[truth, placed(ast.BoolOp, test, op=AND, values=rest)])

    def chained(self, node: Any) -> tuple[Any, Any] | None:
        """Of `a < b() < c`: `a < (middle_ := b())`, and `middle_ < c`, not converted yet; else None."""
        function = getattr(node, "func", None)
        if not isinstance(function, gast.Lambda) or not getattr(function, "immediate", False):
            return None
        compare, rest = function.body.args
        left, middle = (self.visit(a, PLAIN) for a in node.args)
        named = self.assign_in(compare.comparators[0].id, middle, node.args[1])
        return self.compared(compare, left, named), rest.body


def name_at(name: str, ctx: ast.expr_context, origin: Any) -> Any:
    """`placed` for the most frequent of nodes, quicker."""
    place = origin.__dict__
    made = _new(ast.Name)
    made.__dict__ = {
        "id": name, "ctx": ctx, "lineno": place["lineno"], "col_offset": place["col_offset"],
        "end_lineno": place["end_lineno"], "end_col_offset": place["end_col_offset"],
    }
    return made


def constant_at(value: Any, origin: Any, kind: str | None = None) -> Any:
    """The same for the second."""
    place = origin.__dict__
    made = _new(ast.Constant)
    made.__dict__ = {
        "value": value, "kind": kind, "lineno": place["lineno"], "col_offset": place["col_offset"],
        "end_lineno": place["end_lineno"], "end_col_offset": place["end_col_offset"],
    }
    return made


def one_line(node: Any) -> Any:
    """The place where a node begins."""
    place = placed(ast.Pass, node)
    if place.end_lineno != place.lineno:
        place.end_lineno, place.end_col_offset = place.lineno, place.col_offset + 1
    return place


def _is_leaf(test: Any) -> bool:
    """Whether a test is decided in one place."""
    return not isinstance(test, (gast.BoolOp, gast.IfExp)) and (
        not isinstance(test, gast.Call) or operator_of(test) not in ("and_", "or_", "not_", "if_exp"))


def nowhere(node: Any) -> Any:
    """A copy of `node` and all below it without a place."""
    return moved_to(node, NOWHERE)


def moved_to(node: Any, place: Any) -> Any:
    """A copy of `node` and all below it at the place of another."""
    made = node.__class__.__new__(node.__class__)
    for name, value in node.__dict__.items():
        if value.__class__ is list:
            value = [moved_to(v, place) if isinstance(v, ast.AST) else v for v in value]
        made.__dict__[name] = moved_to(value, place) if isinstance(value, ast.AST) else value
    return at(made, place) if "lineno" in made.__dict__ else made


def negation(test: Any) -> Any:
    return placed(ast.UnaryOp, test, op=NOT, operand=test)


def first_place(body: list[Any]) -> Any:
    """The place where a block of statements, or an expression, begins to run."""
    return first_of(next((n for n in body if getattr(n, "flag", None) is None), body[0]))


def is_held(node: Any) -> bool:
    """Whether something else holds what an expression gives, so that a temporary for it prolongs no life."""
    if isinstance(node, gast.Call):
        return operator_of(node) in ("not_", "in_", "is_bool", "is_none")
    return isinstance(node, (gast.Name, gast.Constant, gast.Compare, ast.Compare))


def no_parameters() -> ast.arguments:
    made = ast.arguments.__new__(ast.arguments)  # the constructor takes ten times as long
    made.__dict__ = {"posonlyargs": [], "args": [], "kwonlyargs": [], "kw_defaults": [], "defaults": []}
    return made


def operator_of(node: Any) -> str | None:
    """The operator that an expression calls."""
    function = node.func
    if isinstance(function, gast.Attribute) and getattr(function.value, "is_operators", False):
        return function.attr  # type: ignore[no-any-return]
    return None


def flags_of(test: Any) -> list[str]:
    """The flags that a test asks for, if it is made of these alone."""
    found: list[str] = []
    nodes = [test]
    for node in nodes:
        if node.__class__ is not gast.Name:
            nodes += children(node)
        elif getattr(node, "is_flag", False):
            found.append(node.id)
        elif not getattr(node, "is_operators", False):
            return []
    return found

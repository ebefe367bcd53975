"""Two lanes of code for each converted statement: as the user wrote it, and as operator calls.

`to_code` shows the operator calls, which say what a converted function means. What is compiled holds them too, but
enters them only where a value is to be staged. A test that Python can decide takes the plain lane: the statement
itself, in the user's own frame, at the speed of Python and with nothing between it and a debugger.

    if x > 0:            if (test_ := x > 0) is True or test_ is not False and (
        a                        ag__.type(test_) in ag__.plain or ag__.is_plain(test_)) and (
    else:                        test_ := ag__.bool(test_)):
        b                    a
                         elif test_ is not False:
                             def if_true(): ...
                             def if_false(): ...
                             ag__.cond(test_, if_true, if_false, 'x')
                         else:
                             b

A tracer sees the lines of the user's statements, each as often as in Python. What is added stands at the place of what
runs just before or after it, and where that is not the same on all ways, nowhere: Python reports no line for it.

The operator calls nest in each other, never in a plain lane, so a statement stands once for each statement around
it and once more: code grows with the depth of nesting, not exponentially. A body is compiled once for all its places
(`shared_bodies.py`).

In comes the tree that the passes left (gast), out goes a tree to compile (ast).
"""
from __future__ import annotations

import ast
from typing import Any

import gast

from autograph.analysis.staging_candidates import takes_item
from autograph.codegen.dual_path.branch_tests import (
    AND,
    IS,
    LOAD,
    NESTED,
    NOWHERE,
    OR,
    PLAIN,
    STAGED,
    STORE,
    first_place,
    flags_of,
    negation,
    no_parameters,
    nowhere,
    one_line,
    operator_of,
)
from autograph.codegen.dual_path.expressions import PlainExpressions
from autograph.codegen.dual_path.function_ends import guard, passes_over_else, sink, staged_branch
from autograph.codegen.dual_path.outlining import REST, may_move, move_out
from autograph.codegen.dual_path.shared_bodies import stand_in
from autograph.frontend.tree import at, is_docstring, placed, walk
from autograph.passes.thunks import AG

__all__ = ["to_ast"]

_END = ast.Return(value=None, **NOWHERE.__dict__)
"""The end of a function, on no line."""


def to_ast(function: Any, operators: str, free: frozenset[str] = frozenset(), once: bool = False) -> Any:
    """The ast of a converted function or lambda, both lanes; `operators` is the name of the operators in it, `free`
    are its free variables. With `once`, a body that comes again has a stand-in (`shared_bodies.py`)."""
    lanes = _Lanes(operators, free, once)
    made = lanes.function(function, STAGED)
    made.rests = lanes.rests
    del lanes.callees  # which refers to the lanes: so the trees go at once, not with a garbage collection
    return made


class _Lanes(PlainExpressions):
    def __init__(self, operators: str, free: frozenset[str], once: bool) -> None:
        super().__init__(operators)
        self.around = free
        """Variables of the functions around."""
        self.made_once: frozenset[str] = frozenset()
        """Variables that hold nothing but a function made here, which is converted."""
        self.once = once
        self.stand_ins: dict[int, ast.FunctionDef] = {}
        """By id of a body that is in the tree, what is there where it comes again."""
        self.rests: set[tuple[str, int]] = set()
        """Name and line of the functions that `outlining` made."""
        self.opening: Any = None
        """The statement that runs first in the function."""
        self.iterables: list[str] = []
        """Names in use for what the loops around run over."""

    def function(self, node: Any, lane: int) -> Any:
        """A function of the user's, its body in the plain lane; or one that conversion made, or left verbatim."""
        made = self.generic(node, lane, skip="body")
        outer, self.scope = self.scope, getattr(node, "scope", None)
        around, owner, opening, made_once = self.around, self.owner, self.opening, self.made_once
        if outer is not None:
            self.around = around | outer.locals
        if self.scope is not None:
            self.owner = self.scope
            self.made_once = (made_once - self.scope.locals - self.scope.globals) | self.scope.made_once
        if isinstance(node, gast.Lambda):
            made.body = self.visit(node.body, NESTED if self.in_iterable else PLAIN)
        elif self.scope is None:
            made.body = self.block(node.body, STAGED)
        else:
            self.opening = next(filter(_runs, node.plain_body), None)
            made.body = self.block(node.plain_body, PLAIN)
            if getattr(made.body[-1], "is_checked", False):  # but for the check, the function ends in the body
                sink(made.body, [placed(ast.If, NOWHERE, test=nowhere(self.idle(NOWHERE)), body=[_END], orelse=[])])
            elif passes_over_else(made.body):
                sink(made.body, [_END])
            if isinstance(made, ast.FunctionDef) and may_move(node.plain_body):
                rest = self.scope.fresh(REST)
                if move_out(made, self.scope.locals | self.scope.declared, rest):
                    self.rests.add((rest, made.lineno))
        self.scope, self.around, self.owner, self.opening = outer, around, owner, opening
        self.made_once = made_once
        return made

    def again(self, node: Any, made: Any) -> Any:
        if not self.once or getattr(node, "outside", None) is None:
            return made
        found = self.stand_ins.get(id(node))
        if found is None:
            owner = self.owner
            outside = {self.operators if name == AG else name for name in node.outside}
            variables = outside & (owner.locals | owner.declared | self.around) - owner.globals
            others = outside - variables
            found = self.stand_ins[id(node)] = stand_in(made, len(self.stand_ins), variables, others)
        return found

    def visit_Try(self, node: Any, lane: int) -> Any:
        """A `try` that stays Python: while a backend traces, its handlers must not miss what the graph may raise."""
        made = self.generic(node, lane)
        if self.scope is None or getattr(node, "python", None) is None:
            return made
        thunks = [
            placed(ast.Constant, node, value=None) if h.type is None
            else placed(ast.Lambda, node, args=no_parameters(), body=self.visit(h.type, STAGED)) for h in node.handlers
        ]
        lines = [placed(ast.Constant, node, value=line) for line in (node.body[0].lineno, node.body[-1].end_lineno)]
        check = at(ast.Expr(self.call("kept_try", [*lines, *thunks], node)), node)
        guarded = placed(ast.If, NOWHERE, test=negation(nowhere(self.idle(NOWHERE))), body=[check], orelse=[])
        if node.handlers:
            made.is_checked = not made.orelse
            made.orelse = [guarded, *made.orelse]
        else:
            made.body = [*made.body, guarded]
        return made

    visit_TryStar = visit_Try

    def visit_FunctionDef(self, node: Any, lane: int) -> Any:
        return self.function(node, lane)

    def visit_AsyncFunctionDef(self, node: Any, lane: int) -> Any:
        return self.function(node, lane)

    def visit_ClassDef(self, node: Any, lane: int) -> Any:
        """As it was written: in the body of a class, and in type parameters, Python allows no walrus."""
        return self.generic(node, STAGED)

    visit_TypeAlias = visit_TypeVar = visit_TypeVarTuple = visit_ParamSpec = visit_ClassDef

    def visit_Lambda(self, node: Any, lane: int) -> Any:
        return self.generic(node, STAGED) if getattr(node, "immediate", False) else self.function(node, lane)

    def block(self, body: list[Any], lane: int) -> list[Any]:
        made: list[Any] = []
        for index, node in enumerate(body):
            fields = node.__dict__
            flag = fields.get("flag")
            if flag is not None and not node.value.value:
                if not isinstance(node, gast.Pass):
                    place = self.place_of_flag(body[index:])
                    made.append(self.assign(flag, placed(ast.Constant, place, value=False), place))
            elif lane and getattr(fields.get("value"), "item", None) is not None:
                made += self.item(node)
            elif lane and "staged" in fields:
                kinds = {gast.If: self.if_, gast.While: self.while_, gast.Match: self.match, gast.Try: self.guard,
                         gast.With: self.guard}
                lanes = kinds.get(type(node), self.for_)(node)
                if made and _ends_function(node):
                    sink(made, [placed(ast.If, NOWHERE, test=lanes[0].test, body=[_END], orelse=[])])
                made += lanes
            elif lane and _is_implicit_return(node):
                if made:
                    sink(made, [_END])
                return [*made, _END]
            else:
                if isinstance(node, gast.Delete):
                    made += self.reads(node)
                jump = fields.get("jump") if lane else None
                statements = [self.visit(node, lane)]
                if jump is not None:  # nothing is in the way of the jump itself
                    statements.append(at(self.jump(jump, node), node))
                if getattr(jump, "implicit", False) or (lane and jump is None and flag is not None):
                    statements = [nowhere(statement) for statement in statements]
                made += statements
                if jump is not None:
                    return made
            if lane and "releases" in fields:
                target = getattr(node.value, "item", None) or _last_target(node)
                made += [self.release(name, target) for name in fields["releases"]]
        return made

    def reads(self, node: Any) -> list[Any]:
        """Before `del x`, of variables that a staged branch may not have bound: they are read."""
        asks = getattr(self.owner, "tracing", False)
        names = [n for n in node.targets if asks and getattr(n, "unsure", False)]
        return [at(ast.Expr(self.call("read", [self.name(n.id, n)], n)), node) for n in names]

    def place_of_flag(self, body: list[Any]) -> Any:
        """Where a flag that is set before a statement is set: nowhere, for no line is to be seen to run for it, but at
        the start of a function, where Python would report that of the `def`, as part of the statement."""
        following = next(filter(_runs, body), None)
        return NOWHERE if following is None or following is not self.opening else first_place([following])

    def jump(self, jump: Any, node: Any) -> ast.stmt:
        """The user's own jump, after the assignment that stands for it."""
        if isinstance(jump, gast.Return):
            return ast.Return(value=self.name(node.targets[0].id, node))
        return ast.Break() if isinstance(jump, gast.Break) else ast.Continue()

    def staged(self, node: Any, argument: Any = None, operator: str = "") -> list[Any]:
        """The operator calls for a statement, with its first operand (already evaluated) replaced by `argument`."""
        *functions, call = node.staged
        made = [self.visit(f, STAGED) for f in functions]
        expression = self.generic(call.value, STAGED)
        if argument is not None:
            expression.args = [argument, *expression.args[1:]]
        if operator:
            expression.func = self.operator(operator, node)
        return [*made, at(ast.Expr(expression), call)]

    def if_(self, node: Any) -> list[Any]:
        test, name = self.decide(node.test, node)
        staged = self.staged(node, self.name(name, node.test))
        orelse = self.block(node.orelse, PLAIN) or [placed(ast.Pass, NOWHERE)]
        flags = flags_of(node.test)
        if flags:
            body = [placed(ast.Pass, NOWHERE)]
            if not all(isinstance(n, gast.Pass) for n in node.body):
                body = self.block(node.body, PLAIN)
            if len(flags) > 1:  # what they are together may be known, though one of them is not
                staged = [placed(ast.If, node, test=test, body=body, orelse=staged)]
            true = staged_branch("orelse", placed(
                ast.If, node, test=self.none_of(flags, negated=True), body=body, orelse=staged))
            return [guard(flags, placed(ast.If, node, test=self.none_of(flags), body=orelse, orelse=[true]))]
        unsure = self.unsure(name, node.test)
        second = staged_branch("body", placed(ast.If, node, test=unsure, body=staged, orelse=orelse))
        return [placed(ast.If, node, test=test, body=self.block(node.body, PLAIN), orelse=[second])]

    def match(self, node: Any) -> list[Any]:
        name, place = node.subject_name, node.subject
        before: list[Any] = []
        staged = node.staged
        if not node.has_variable:
            before = [self.assign(name, self.visit(place, PLAIN), place)]
            staged = staged[1:]
        native = self.generic(node, PLAIN, skip="subject")
        native.subject = self.last(name, place) if before else self.name(name, place)
        test = self.call("stages_any", [self.name(name, place)], place)
        if any(case.guard is not None for case in node.cases):  # a guard may stage, whatever the subject is
            test = placed(ast.BoolOp, place, op=OR, values=[negation(self.idle(place)), test])
        branch = [self.visit(s, STAGED) for s in staged] or [placed(ast.Pass, place)]
        return [*before, staged_branch("body", placed(ast.If, place, test=test, body=branch, orelse=[native]))]

    def guard(self, node: Any) -> list[Any]:
        """`try` or `with`: while a backend traces, what its body stages may raise, too."""
        native = self.generic(node, PLAIN)
        idle = self.idle(first_place([node]))
        return [staged_branch("orelse", placed(ast.If, node, test=idle, body=[native], orelse=self.staged(node)))]

    def while_(self, node: Any) -> list[Any]:
        test, name = self.decide(node.test, node)
        staged = self.staged(node)
        if _calls(node.test):  # what the test has traced is taken back: the operator traces it anew
            mark, place = self.scope.fresh("mark_"), one_line(first_place([node.test]))
            tracing = placed(ast.Attribute, place, value=self.operator("activity", place), attr="tracing", ctx=LOAD)
            reads = [self.read_by(node.test, place)] if _may_change(node.test) else []
            take = placed(ast.BoolOp, place, op=AND, values=[tracing, self.call("checkpoint", reads, place)])
            marked = self.is_value(self.assign_in(mark, take, place), False, place)  # it never is
            test = placed(ast.BoolOp, test, op=OR, values=[marked, test])
            back = self.call("rollback", [self.name(mark, node.test)], node.test)
            staged.insert(0, at(ast.Expr(back), node.test))
        end = staged_branch("body", placed(
            ast.If, node, test=self.unsure(name, node.test), body=staged, orelse=[]))
        if getattr(node, "tests_itself", False):  # and no line is to be seen to run for the flags
            end = placed(ast.If, node, test=test, body=[placed(ast.Pass, node.test)], orelse=[end])
            flags = flags_of(node.test)
            test = self.none_of(flags) if flags else self.visit(node.test, PLAIN)  # its `else` may always raise
        return [placed(ast.While, node, test=test, body=self.block(node.body, PLAIN), orelse=[end])]

    def read_by(self, test: Any, place: Any) -> Any:
        """A function of what a test names, which is never called."""
        names: dict[str, None] = {}
        attributes: dict[str, None] = {}
        for node in walk(test):
            if isinstance(node, gast.Name) and not getattr(node, "is_operators", False):
                names[node.id] = None
            elif isinstance(node, gast.Attribute) and not getattr(node.value, "is_operators", False):
                attributes[node.attr] = None
        values = [self.name(name, place) for name in names]
        for name in attributes:
            values.append(placed(ast.Attribute, place, value=self.name(self.operators, place), attr=name, ctx=LOAD))
        return placed(ast.Lambda, place, args=no_parameters(), body=placed(ast.Tuple, place, elts=values, ctx=LOAD))

    def for_(self, node: Any) -> list[Any]:
        """While the loop runs, nothing but itself holds what it runs over: it goes when the loop is left."""
        place = node.iter
        iterable = self.scope.fresh("iterable_", self.iterables)
        assign = self.assign(iterable, self.visit(place, PLAIN), place)
        flagged = getattr(node, "test", None)
        self.iterables.append(iterable)
        body = self.block(node.body, PLAIN)
        self.iterables.pop()
        items = self.last(iterable, place)
        if flagged is not None:  # the operator takes over where a value decides to stage: it needs the iterator
            items = self.moved(
                self.assign_in(iterable, self.call("Items", [self.name(iterable, place)], place), place), iterable,
                self.call("ref", [self.name(iterable, place)], place), place)
            test, name = self.decide(flagged, node)
            iterator = placed(ast.Call, place, func=self.name(iterable, place), args=[], keywords=[])
            rest = self.staged(node, iterator, "resume")
            resume = placed(ast.If, flagged, test=self.unsure(name, flagged), body=rest, orelse=[])
            left = placed(ast.If, flagged, test=test, body=[placed(ast.Continue, flagged)], orelse=[resume])
            pending = negation(self.none_of(flags_of(flagged)))
            check = placed(ast.If, flagged, test=pending, body=[left, placed(ast.Break, flagged)], orelse=[])
            body = [*body, check]
        loop = placed(ast.For, node, target=self.visit(node.target, PLAIN), iter=items, body=body, orelse=[])
        staged = self.staged(node, self.last(iterable, place))
        test = negation(self.plain(iterable, place))
        return [assign, staged_branch("body", placed(ast.If, place, test=test, body=staged, orelse=[loop]))]

    def item(self, node: Any) -> list[Any]:
        """`x[i] = value` or `x[i] += value` where Python decides on `x`, else `x = ag__.setitem(x, i, value)`."""
        call = node.value
        target = call.item
        place = target.value
        before: list[Any] = []
        after: list[Any] = []
        _, index, value = call.args
        holder: Any = self.name(place.id, place)
        if getattr(self.owner, "tracing", False) and takes_item(target):
            holder = self.call("place", [holder], place)
        native = placed(ast.Subscript, target, value=holder, slice=self.subscript(index), ctx=STORE)
        operator = getattr(call, "in_place", None)
        if operator is not None:
            value = self.visit(value.args[1], PLAIN)
            direct = placed(ast.AugAssign, node, target=native, op=self.visit(operator, PLAIN), value=value)
            general = self.visit(node, PLAIN)
        else:
            held = self.visit(value, PLAIN)
            if not isinstance(value, (gast.Name, gast.Constant)):
                name = self.scope.fresh("value_")
                before = [self.assign(name, held, place)]
                after = [self.release(name, target)]
                held = self.name(name, place)
            direct = placed(ast.Assign, node, targets=[native], value=held)
            arguments = [self.name(place.id, place), self.visit(index, PLAIN), held]
            general = self.assign(place.id, self.call("setitem", arguments, call), node)
        kind = self.call("type", [self.name(place.id, place)], place)
        unknown = placed(ast.Compare, place, left=kind, ops=[ast.NotIn()], comparators=[self.operator("plain", place)])
        test = placed(ast.BoolOp, place, op=AND, values=[
            unknown, self.call("has_backend", [self.name(place.id, place)], place)])
        return [*before, placed(ast.If, place, test=test, body=[general], orelse=[direct]), *after]

    def either(self, value: Any, node: Any) -> Any:
        """`a if test else b` as a statement: each in its own, so that what follows comes after the line of either."""
        if not isinstance(value, ast.IfExp):
            return at(ast.Expr(value), node)
        return placed(ast.If, node, test=value.test, body=[self.either(value.body, node)],
                          orelse=[self.either(value.orelse, node)])

    def visit_Expr(self, node: Any, lane: int) -> Any:
        call = node.value
        if lane != PLAIN or not isinstance(call, gast.Call) or operator_of(call) != "assert_":
            made = self.generic(node, lane)
            return self.either(made.value, node) if isinstance(getattr(call, "func", None), gast.Call) else made
        name = self.scope.fresh("test_")
        test, *message = call.args
        thunks = [self.visit(m, STAGED) for m in message]
        value = self.call("assert_", [self.name(name, call), *thunks], call)
        staged = placed(ast.Compare, call, left=value, ops=[IS], comparators=[placed(ast.Constant, call, value=None)])
        passed = placed(ast.BoolOp, call, op=AND, values=[self.is_(name, False, call, negated=True), staged])
        self.place = one_line(node)
        holds = placed(ast.BoolOp, test, op=OR, values=[self.truth(test, name), passed])
        return placed(ast.Assert, node, test=holds, msg=self.visit(message[0].body, PLAIN) if message else None)


def _last_target(node: Any) -> Any:
    """What an assignment assigns last."""
    target = node.targets[-1] if isinstance(node, gast.Assign) else node.target
    while isinstance(target, gast.Starred) or getattr(target, "elts", None):
        target = target.value if isinstance(target, gast.Starred) else target.elts[-1]
    return target


def _calls(test: Any) -> bool:
    return any(isinstance(n, (gast.Call, gast.NamedExpr)) for n in walk(test))


def _may_change(test: Any) -> bool:
    """Whether a test assigns, or calls more than builtins that change nothing."""
    return any(isinstance(n, gast.NamedExpr) or hasattr(n, "binds") or (
        isinstance(n, gast.Call) and operator_of(n) is None and not _is_harmless(n.func)) for n in walk(test))


def _is_harmless(callee: Any) -> bool:
    name = callee.args[0] if isinstance(callee, gast.Call) and callee.args else callee
    return isinstance(name, gast.Name) and name.id in _HARMLESS


_HARMLESS = frozenset({
    "len", "abs", "isinstance", "int", "float", "bool", "round", "min", "max", "sum", "type", "range",
})


def _is_implicit_return(node: Any) -> bool:
    jump = getattr(node, "jump", None)
    return isinstance(jump, gast.Return) and getattr(jump, "implicit", False)


def _ends_function(node: Any) -> bool:
    """Whether all that a statement does is to return at the end of a function, where no other `return` has."""
    return (isinstance(node, gast.If) and bool(node.orelse) and _is_implicit_return(node.orelse[0])
            and all(isinstance(n, gast.Pass) for n in node.body))


def _runs(node: Any) -> bool:
    """Whether a statement does something, and is not the assignment of a flag."""
    return getattr(node, "flag", None) is None and not is_docstring(node) and not (
        isinstance(node, (gast.Global, gast.Nonlocal)) or (isinstance(node, gast.AnnAssign) and node.value is None))

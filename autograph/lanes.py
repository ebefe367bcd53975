"""Two lanes of code for each converted statement: as the user wrote it, and as operator calls.

`to_code` shows the operator calls, which say what a converted function means. What is compiled holds them too, but
enters them only where a value is to be staged. A test that Python can decide takes the plain lane: the statement
itself, in the user's own frame, at the speed of Python and with nothing between it and a debugger.

    if x > 0:            test_ = x > 0
        a                if test_ is not True and test_ is not False and (
    else:                    ag__.type(test_) in ag__.plain or ag__.is_plain(test_)):
        b                    test_ = ag__.bool(test_)
                         if test_ is True:
                             a
                         elif test_ is False:
                             b
                         else:
                             def if_true(): ...
                             def if_false(): ...
                             ag__.cond(test_, if_true, if_false, 'x')

The operator calls nest in each other, never in a plain lane, so a statement stands once for each statement around
it and once more: code grows with the depth of nesting, not exponentially.

In comes the tree that the passes left (gast), out goes a tree to compile (ast).
"""
from __future__ import annotations

import ast
from typing import Any

import gast

from .tree import walk

__all__ = ["to_ast"]

_STAGED, _PLAIN, _NESTED = 0, 1, 2
"""The lanes: operator calls; Python; Python in the scope of a comprehension, where a temporary cannot be bound."""
_WIDTH = 32
"""How many operands, or conditional expressions in each other, have a plain lane."""
_ASKING = frozenset({
    "len", "abs", "int", "float", "bool", "range", "sum", "any", "all", "min", "max", "sorted", "list", "tuple",
    "enumerate", "reversed", "round", "next", "iter", "print",
})
"""Builtins that ask their arguments for a backend, and are often called with one variable."""
_FIELDS: dict[type, tuple[type[ast.AST], tuple[str, ...]]] = {}


def to_ast(function: Any, operators: str) -> Any:
    """The ast of a converted function or lambda, both lanes; `operators` is the name of the operators in it."""
    return _Lanes(operators).function(function)


def _fields(cls: type) -> tuple[type[ast.AST], tuple[str, ...]]:
    found = _FIELDS.get(cls)
    if found is None:
        target: type[ast.AST] = getattr(ast, cls.__name__)
        found = _FIELDS[cls] = target, target._fields
    return found


class _Lanes:
    def __init__(self, operators: str) -> None:
        self.operators = operators
        self.memo: dict[tuple[int, int], Any] = {}
        self.scope: Any = None
        self.nested = 0
        """How many conditional expressions are around."""
        self.iterables: list[str] = []
        """Names in use for what the loops around run over; "" for a `while`."""

    def function(self, node: Any) -> Any:
        """A function of the user's, its body in the plain lane; or one that conversion made, or left verbatim."""
        made = self.generic(node, _STAGED, skip="body")
        outer, self.scope = self.scope, getattr(node, "scope", None)
        if isinstance(node, gast.Lambda):
            made.body = self.visit(node.body, _PLAIN)
        else:
            made.body = self.block(node.body, _STAGED) if self.scope is None else self.block(node.plain_body, _PLAIN)
        self.scope = outer
        return made

    # --- gast to ast ---

    def visit(self, node: Any, lane: int) -> Any:
        key = (id(node), lane)
        found = self.memo.get(key)
        if found is None:
            method = getattr(self, f"visit_{type(node).__name__}", None)
            found = self.memo[key] = method(node, lane) if method is not None else self.generic(node, lane)
        return found

    def generic(self, node: Any, lane: int, skip: str = "") -> Any:
        target, names = _fields(type(node))
        made = target.__new__(target)  # every field is set below
        for name in names:
            value = getattr(node, name, None)
            if name == skip:
                pass
            elif isinstance(value, gast.AST):
                value = self.visit(value, lane)
            elif isinstance(value, list):
                if value and isinstance(value[0], gast.stmt):
                    value = self.block(value, lane)
                else:
                    value = [self.visit(v, lane) if isinstance(v, gast.AST) else v for v in value]
            setattr(made, name, value)
        lineno = getattr(node, "lineno", None)
        if lineno is not None:
            made.lineno, made.col_offset = lineno, node.col_offset  # type: ignore[attr-defined]
            made.end_lineno, made.end_col_offset = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return made

    def visit_Name(self, node: Any, lane: int) -> Any:
        if isinstance(node.ctx, gast.Param):
            annotation = node.annotation and self.visit(node.annotation, _STAGED)
            return _at(ast.arg(arg=node.id, annotation=annotation, type_comment=node.type_comment), node)
        return _at(ast.Name(id=node.id, ctx=self.visit(node.ctx, _STAGED)), node)

    def visit_Constant(self, node: Any, lane: int) -> Any:
        runs = getattr(node, "runs", None)
        if runs is not None:
            return _at(ast.Name(id=runs, ctx=ast.Load()), node)
        return _at(ast.Constant(value=node.value, kind=node.kind), node)

    def visit_ExceptHandler(self, node: Any, lane: int) -> Any:
        made = self.generic(node, lane, skip="name")
        made.name = node.name and node.name.id
        return made

    def visit_FunctionDef(self, node: Any, lane: int) -> Any:
        return self.function(node)

    def visit_AsyncFunctionDef(self, node: Any, lane: int) -> Any:
        return self.function(node)

    def visit_Lambda(self, node: Any, lane: int) -> Any:
        return self.generic(node, _STAGED) if getattr(node, "immediate", False) else self.function(node)

    # --- the plain lane ---

    def block(self, body: list[Any], lane: int) -> list[Any]:
        made: list[Any] = []
        for index, node in enumerate(body):
            if getattr(node, "flag", None) is not None and isinstance(node, gast.Assign) and not node.value.value:
                # It is set as part of the next statement: no line is seen to run for it.
                following = next((n for n in body[index:] if getattr(n, "flag", None) is None), node)
                made.append(self.assign(node.flag, _at(ast.Constant(value=False), following), following))
            elif lane and hasattr(node, "staged"):
                kinds = {gast.If: self.if_, gast.While: self.while_, gast.Match: self.match}
                made += kinds.get(type(node), self.for_)(node)
            else:
                made.append(self.visit(node, lane))
                jump = getattr(node, "jump", None) if lane else None
                if jump is not None:  # nothing is in the way of the jump itself
                    if isinstance(jump, gast.Break) and self.iterables[-1]:
                        made.append(self.release(self.iterables[-1], node))
                    return [*made, _at(self.jump(jump, node), node)]
        return made

    def jump(self, jump: Any, node: Any) -> ast.stmt:
        """The user's own jump, after the assignment that stands for it."""
        if isinstance(jump, gast.Return):
            return ast.Return(value=self.name(node.targets[0].id, node))
        return ast.Break() if isinstance(jump, gast.Break) else ast.Continue()

    def staged(self, node: Any, argument: Any = None, operator: str = "") -> list[Any]:
        """The operator calls for a statement, with its first operand (already evaluated) replaced by `argument`."""
        *functions, call = node.staged
        made = [self.visit(f, _STAGED) for f in functions]
        expression = self.generic(call.value, _STAGED)
        if argument is not None:
            expression.args = [argument, *expression.args[1:]]
        if operator:
            expression.func = self.operator(operator, node)
        return [*made, _at(ast.Expr(expression), call)]

    def operator(self, name: str, origin: Any) -> Any:
        made = _at(ast.Attribute(value=self.name(self.operators, origin), attr=name, ctx=ast.Load()), origin)
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset
        return made

    def call(self, name: str, arguments: list[Any], origin: Any) -> Any:
        return _at(ast.Call(func=self.operator(name, origin), args=arguments, keywords=[]), origin)

    def name(self, name: str, origin: Any, store: bool = False) -> Any:
        return _at(ast.Name(id=name, ctx=ast.Store() if store else ast.Load()), origin)

    def assign(self, name: str, value: Any, origin: Any) -> Any:
        return _at(ast.Assign(targets=[self.name(name, origin, True)], value=value), origin)

    def decide(self, test: Any) -> tuple[list[Any], str]:
        """Statements that evaluate a test, and the name that then is True, False, or a value to stage on."""
        if getattr(test, "is_flag", False):
            return [], test.id
        name = self.scope.fresh("test_")
        unsure = _at(ast.BoolOp(op=ast.And(), values=[
            self.is_(name, True, test, negated=True), self.is_(name, False, test, negated=True),
            self.plain(name, test)]), test)
        truth = self.assign(name, self.call("bool", [self.name(name, test)], test), test)
        settle = _at(ast.If(test=unsure, body=[truth], orelse=[]), test)
        return [self.assign(name, self.visit(test, _PLAIN), test), settle], name

    def plain(self, name: str, origin: Any) -> Any:
        """`ag__.type(name) in ag__.plain or ag__.is_plain(name)`: whether Python decides on the value of a name."""
        known = _at(ast.Compare(left=self.call("type", [self.name(name, origin)], origin), ops=[ast.In()],
                                comparators=[self.operator("plain", origin)]), origin)
        return _at(ast.BoolOp(op=ast.Or(), values=[known, self.call("is_plain", [self.name(name, origin)], origin)]),
                   origin)

    def is_(self, name: str, value: bool, origin: Any, negated: bool = False) -> Any:
        op = ast.IsNot() if negated else ast.Is()
        constant = _at(ast.Constant(value=value), origin)
        return _at(ast.Compare(left=self.name(name, origin), ops=[op], comparators=[constant]), origin)

    def choose(self, name: str, true: list[Any], false: list[Any], staged: list[Any], origin: Any) -> Any:
        """`if name is True: true; elif name is False: false; else: staged`."""
        nothing = [_at(ast.Pass(), origin)]
        second = _at(ast.If(test=self.is_(name, False, origin), body=false or nothing, orelse=staged), origin)
        return _at(ast.If(test=self.is_(name, True, origin), body=true or nothing, orelse=[second]), origin)

    def if_(self, node: Any) -> list[Any]:
        before, name = self.decide(node.test)
        staged = self.staged(node, self.name(name, node.test))
        origin = node.test
        return [*before, self.choose(
            name, self.block(node.body, _PLAIN), self.block(node.orelse, _PLAIN), staged, origin)]

    def match(self, node: Any) -> list[Any]:
        name, place = node.subject_name, node.subject
        before: list[Any] = []
        staged = node.staged
        if not isinstance(place, gast.Name):
            before = [self.assign(name, self.visit(place, _PLAIN), place)]
            staged = staged[1:]
        native = self.generic(node, _PLAIN, skip="subject")
        native.subject = self.name(name, place)
        test = self.call("stages_any", [self.name(name, place)], place)
        branch = [self.visit(s, _STAGED) for s in staged] or [_at(ast.Pass(), place)]
        return [*before, _at(ast.If(test=test, body=branch, orelse=[native]), place)]

    def while_(self, node: Any) -> list[Any]:
        leave = _at(ast.Break(), node.test)
        before, name = self.decide(node.test)
        staged = self.staged(node)
        if _calls(node.test):  # what the test has traced is taken back: the operator traces it anew
            mark = self.scope.fresh("mark_")
            tracing = _at(ast.Attribute(value=self.operator("ambient", node.test), attr="backend", ctx=ast.Load()),
                          node.test)
            take = _at(ast.BoolOp(op=ast.And(), values=[tracing, self.call("checkpoint", [], node.test)]), node.test)
            before.insert(0, self.assign(mark, take, node.test))
            back = self.call("rollback", [self.name(mark, node.test)], node.test)
            staged.insert(0, _at(ast.Expr(back), node.test))
        decision = self.choose(name, [], [leave], [*staged, leave], node.test)
        forever = _at(ast.Constant(value=True), node.test)
        self.iterables.append("")
        body = self.block(node.body, _PLAIN)
        self.iterables.pop()
        return [_at(ast.While(test=forever, body=[*before, decision, *body], orelse=[]), node)]

    def for_(self, node: Any) -> list[Any]:
        place = node.iter
        iterable = self.scope.fresh("iterable_", self.iterables)
        assign = self.assign(iterable, self.visit(place, _PLAIN), place)
        test = getattr(node, "test", None)
        self.iterables.append(iterable)
        body = self.block(node.body, _PLAIN)
        self.iterables.pop()
        start: list[Any] = []
        if test is not None:  # the operator takes over where a value decides to stage: it needs the iterator
            start = [self.assign(iterable, self.call("chain", [self.name(iterable, place)], place), place)]
            leave = _at(ast.Break(), test)
            decide, name = self.decide(test)
            rest = self.staged(node, self.name(iterable, place), "resume")
            body = [*body, *decide, self.choose(name, [], [leave], [*rest, leave], test)]
        loop = _at(ast.For(target=self.visit(node.target, _PLAIN), iter=self.name(iterable, place), body=body,
                           orelse=[self.release(iterable, place)]), node)
        staged = [*self.staged(node, self.name(iterable, place)), self.release(iterable, place)]
        return [assign, _at(ast.If(test=self.plain(iterable, place), body=[*start, loop], orelse=staged), place)]

    def release(self, iterable: str, origin: Any) -> Any:
        return self.assign(iterable, _at(ast.Constant(value=None), origin), origin)

    # --- expressions in the plain lane ---

    def visit_ListComp(self, node: Any, lane: int) -> Any:
        return self.generic(node, _NESTED if lane else _STAGED)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def list_comp(self, node: Any, lane: int) -> Any:
        native = self.generic(node.native, _NESTED)
        source = node.native.generators[0].iter
        name = self.scope.fresh("value_")
        if lane == _NESTED:
            if not isinstance(source, gast.Name):
                return native
            name = source.id
        else:
            first = native.generators[0]
            first.iter = self.name(name, source)
        thunks = [self.visit(f, _STAGED) for f in node.args[1:]]
        staged = self.call("list_comp", [self.name(name, source), *thunks], node)
        plain = self.plain(name, node)
        if lane == _PLAIN:
            value = _at(ast.NamedExpr(target=self.name(name, source, True), value=self.visit(source, lane)), source)
            plain.values[0].left.args = [value]
        return _at(ast.IfExp(test=plain, body=native, orelse=staged), node)

    def visit_Call(self, node: Any, lane: int) -> Any:
        operator = _operator(node) if lane and self.scope is not None else None
        if operator == "list_comp":
            return self.list_comp(node, lane)
        if operator == "call":
            return self.callee(node, lane)
        if lane and self.scope is not None:
            direct = self.builtin(node, lane)
            if direct is not None:
                return direct
        if lane == _NESTED:
            operator = None
        if operator == "not_" and isinstance(node.args[0], gast.Name):
            name = node.args[0].id
            known = _at(ast.BoolOp(op=ast.Or(), values=[self.is_(name, True, node), self.is_(name, False, node)]), node)
            direct = _at(ast.UnaryOp(op=ast.Not(), operand=self.name(name, node)), node)
            return _at(ast.IfExp(test=known, body=direct, orelse=self.generic(node, _STAGED)), node)
        if operator in ("and_", "or_", "if_exp") and (len(node.args) > _WIDTH or self.nested >= _WIDTH):
            return self.generic(node, _STAGED)  # in one lane: the code of both would grow with the square
        if operator == "in_":
            return self.member(node)
        if operator in ("and_", "or_"):
            first, *others = node.args
            return self.lazy(node, first, [o.body for o in others], operator)
        if operator == "if_exp":
            test, then, orelse = node.args
            name = self.scope.fresh("value_")
            self.nested += 1
            direct = _at(ast.IfExp(test=self.name(name, node), body=self.visit(then.body, _PLAIN),
                                   orelse=self.visit(orelse.body, _PLAIN)), node)
            thunks = [self.visit(then, _STAGED), self.visit(orelse, _STAGED)]
            self.nested -= 1
            staged = self.call("if_exp", [self.name(name, node), *thunks], node)
            return _at(ast.IfExp(test=self.is_plain(name, self.visit(test, _PLAIN), node), body=direct, orelse=staged),
                       node)
        return self.generic(node, lane)

    def builtin(self, node: Any, lane: int) -> Any:
        """A call of a builtin with one variable: `(len if Python answers else ag__.call(len))(x)`; else None."""
        callee = node.func
        if node.keywords or len(node.args) != 1 or not isinstance(node.args[0], gast.Name) or not (
            isinstance(callee, gast.Call) and _operator(callee) == "call" and isinstance(callee.args[0], gast.Name)
            and callee.args[0].id in _ASKING
        ):
            return None
        name = callee.args[0]
        kind = self.call("type", [self.name(node.args[0].id, name)], name)
        known = _at(ast.Compare(left=kind, ops=[ast.In()], comparators=[self.operator("plain", name)]), name)
        tracing = _at(ast.Attribute(value=self.operator("ambient", name), attr="backend", ctx=ast.Load()), name)
        idle = _at(ast.Compare(left=tracing, ops=[ast.Is()], comparators=[_at(ast.Constant(value=None), name)]), name)
        test = _at(ast.BoolOp(op=ast.And(), values=[known, idle]), name)
        function = _at(ast.IfExp(test=test, body=self.name(name.id, name), orelse=self.callee(callee, lane)), callee)
        return _at(ast.Call(func=function, args=[self.visit(node.args[0], lane)], keywords=[]), node)

    def callee(self, node: Any, lane: int) -> Any:
        """`ag__.call(f)`, without a call of Python code for what was called before and for methods of builtin types."""
        function = node.args[0]
        if isinstance(function, gast.Name):
            kind = self.call("type", [self.name(function.id, function)], function)
            resolver = _at(ast.Call(func=_at(ast.Attribute(value=self.operator("resolvers", function), attr="get",
                                                           ctx=ast.Load()), function),
                                    args=[kind, self.operator("call", function)], keywords=[]), function)
            return _at(ast.Call(func=resolver, args=[self.name(function.id, function)], keywords=[]), node)
        general = self.generic(node, lane)
        if isinstance(function, gast.Attribute) and isinstance(function.value, gast.Name):
            kind = self.call("type", [self.name(function.value.id, function)], function)
            known = _at(ast.Compare(left=kind, ops=[ast.In()], comparators=[self.operator("native", function)]),
                        function)
            return _at(ast.IfExp(test=known, body=self.visit(function, lane), orelse=general), node)
        return general

    def member(self, node: Any) -> Any:
        """`value in (1, 2)` where Python decides, the operator where a backend does."""
        if not node.fixed:
            return self.generic(node, _PLAIN)
        value, held = node.args
        name = self.scope.fresh("value_")
        direct = _at(ast.Compare(left=self.name(name, value), ops=[ast.In()],
                                 comparators=[self.visit(held, _PLAIN)]), node)
        staged = self.call("in_", [self.name(name, node), self.visit(held, _PLAIN)], node)
        return _at(ast.IfExp(test=self.is_plain(name, self.visit(value, _PLAIN), node), body=direct, orelse=staged),
                   node)

    def lazy(self, node: Any, first: Any, others: list[Any], operator: str) -> Any:
        """`first and others...` where Python decides, the operator where a backend does."""
        name = self.scope.fresh("value_")
        rest = self.visit(others[0], _PLAIN) if len(others) == 1 else self.lazy(node, others[0], others[1:], operator)
        op = ast.And() if operator == "and_" else ast.Or()
        direct = _at(ast.BoolOp(op=op, values=[self.name(name, node), rest]), node)
        thunks = [_at(ast.Lambda(args=_no_parameters(), body=self.visit(o, _STAGED)), o) for o in others]
        staged = self.call(operator, [self.name(name, node), *thunks], node)
        return _at(ast.IfExp(test=self.is_plain(name, self.visit(first, _PLAIN), node), body=direct, orelse=staged),
                   node)

    def is_plain(self, name: str, value: Any, origin: Any) -> Any:
        """`(name := value) is True or name is False or` Python decides on it."""
        walrus = _at(ast.NamedExpr(target=self.name(name, origin, True), value=value), origin)
        first = _at(ast.Compare(left=walrus, ops=[ast.Is()], comparators=[_at(ast.Constant(value=True), origin)]),
                    origin)
        return _at(ast.BoolOp(op=ast.Or(), values=[first, self.is_(name, False, origin), self.plain(name, origin)]),
                   origin)


def _at(node: Any, origin: Any) -> Any:
    node.lineno, node.col_offset = origin.lineno, origin.col_offset
    node.end_lineno, node.end_col_offset = origin.end_lineno, origin.end_col_offset
    return node


def _no_parameters() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])


def _operator(node: Any) -> str | None:
    """The operator that an expression calls."""
    function = node.func
    if isinstance(function, gast.Attribute) and getattr(function.value, "is_operators", False):
        return function.attr  # type: ignore[no-any-return]
    return None


def _calls(test: Any) -> bool:
    return any(isinstance(n, gast.Call) for n in walk(test))

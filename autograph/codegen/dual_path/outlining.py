"""The staged lanes of a small function as functions of their own, so that its variables stay fast.

The bodies that an operator is given share variables with the function around them, which makes cells of these: each
costs as much as a small call. So where the plain lane of a function holds no function itself, a staged lane goes into
another, together with all that comes after it. That gets the variables as its arguments, and gives what is returned.

    def f(x):                                          def f(x):
        if ag__.activity.tracing is None:                  if ag__.activity.tracing is None:
            try: ...                                           try: ...
        else:                                              else:
            def try_body(): ...                                def rest_(x):
            ag__.try_(try_body, ...)                               def try_body(): ...
        return x                                                   ag__.try_(try_body, ...)
                                                                   return x
                                                               return rest_((x, x := None)[0])
                                                           return x
"""
from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

import gast

from autograph.codegen.dual_path.branch_tests import LOAD, STORE
from autograph.frontend.tree import placed, walk

__all__ = ["REST", "may_move", "move_out"]

REST: Final = "rest_"
_MOST: Final = 2
"""Of how many staged lanes: what comes after the first stands in each."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
           ast.GeneratorExp)
_MAKES_SCOPES = frozenset(getattr(gast, cls.__name__) for cls in _SCOPES)
_STAYS = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete)
_BIND = (ast.ExceptHandler, ast.alias, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
"""What binds, or unbinds, names that are no nodes."""


def may_move(body: list[Any]) -> bool:
    """Whether these statements (gast) have staged lanes that `move_out` may move: to look here costs less."""
    staged = [n for n in body if "staged" in n.__dict__]
    if not 0 < len(staged) <= _MOST or any(n.__class__ is gast.While for n in staged):
        return False
    return not any(
        n.__class__ in _MAKES_SCOPES or ("staged" in n.__dict__ and n is not s) for s in body for n in walk(s))


def move_out(made: Any, variables: set[str], name: str) -> bool:
    """Move the staged lanes of statements of the function `made` (ast), which has these `variables`, to functions
    called `name`: if for each variable it is known whether it is bound where they begin. Says whether it did."""
    body = made.body
    staged = [(i, found) for i, node in enumerate(body) if (found := _staged_in(node)) is not None]
    inside = {id(getattr(node, node.staged)) for _, node in staged}
    if any(isinstance(n, _SCOPES + _STAYS) for s in body for n in _walk(s, inside)):
        return False
    before = body[:staged[-1][0]]
    if any(isinstance(n, _BIND) for s in before for n in _walk(s, inside)):
        return False
    bound = {a.arg for a in _parameters(made.args)}
    unsure: set[str] = set()
    moved, begin = [], 0
    for position, node in staged:
        for statement in body[begin:position]:
            if isinstance(statement, ast.Assign):
                bound.update(t.id for t in statement.targets if isinstance(t, ast.Name))
            if not isinstance(statement, ast.AnnAssign) or statement.value is not None:
                unsure |= _stored([statement], inside)
        begin = position
        rest = [*getattr(node, node.staged), *body[position + 1:]]
        used = _names(rest)
        known = bound | _first_stored(body[position].test)
        perhaps = _stored([body[position].test, node.test], inside) - known
        if used & {"super", "__class__"} or perhaps & _names(getattr(node, node.staged)) or (
            (perhaps | unsure - known) & used & variables
        ):
            return False
        moved.append((node, rest, sorted(used & known), sorted((used & variables) - known)))
    for node, rest, given, unbound in moved:
        declared = [placed(ast.AnnAssign, made, target=_name(n, STORE, made), simple=1, value=None,
                           annotation=_name("object", LOAD, made)) for n in unbound]
        parameters = [placed(ast.arg, made, arg=n, annotation=None) for n in given]
        arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
        function = placed(ast.FunctionDef, made, name=name, args=arguments, body=[*declared, *rest], decorator_list=[],
                          returns=None, type_params=[])
        call = placed(ast.Call, node, func=_name(name, LOAD, node), args=[_given(n, node) for n in given], keywords=[])
        setattr(node, node.staged, [function, placed(ast.Return, node, value=call)])
    return True


def _staged_in(node: Any) -> Any:
    """The `if` of a statement that has its staged lane."""
    if isinstance(node, ast.If) and not hasattr(node, "staged") and len(node.orelse) == 1:
        node = node.orelse[0]
    return node if hasattr(node, "staged") and getattr(node, node.staged) else None


def _walk(node: Any, without: set[int]) -> Iterator[Any]:
    """All nodes below and including `node`, but for these lists of statements."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        for value in current.__dict__.values():
            if value.__class__ is list:
                if id(value) not in without:
                    stack += [v for v in value if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append(value)


def _stored(nodes: list[Any], without: set[int]) -> set[str]:
    return {n.id for s in nodes for n in _walk(s, without) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _names(body: list[Any]) -> set[str]:
    found: set[str] = set()
    for statement in body:
        for node in _walk(statement, set()):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Nonlocal):
                found.update(node.names)
    return found


def _first_stored(test: Any) -> set[str]:
    """What a test binds in any case: with its first operand."""
    while True:
        if isinstance(test, ast.NamedExpr):
            return {test.target.id}
        if isinstance(test, ast.BoolOp):
            test = test.values[0]
        elif isinstance(test, ast.Compare):
            test = test.left
        elif isinstance(test, ast.UnaryOp):
            test = test.operand
        elif isinstance(test, ast.IfExp):
            test = test.test
        else:
            return set()


def _parameters(arguments: Any) -> list[Any]:
    others = [p for p in (arguments.vararg, arguments.kwarg) if p is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *others]


def _given(name: str, place: Any) -> Any:
    """`(name, name := None)[0]`: the function that has it next is the only one then."""
    nothing = placed(ast.Constant, place, value=None)
    left = placed(ast.NamedExpr, place, target=_name(name, STORE, place), value=nothing)
    pair = placed(ast.Tuple, place, elts=[_name(name, LOAD, place), left], ctx=LOAD)
    return placed(ast.Subscript, place, value=pair, slice=placed(ast.Constant, place, value=0), ctx=LOAD)


def _name(name: str, context: Any, place: Any) -> Any:
    return placed(ast.Name, place, id=name, ctx=context)

"""Walking trees: kinds of nodes, children, and which nodes run in which frame."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gast

__all__ = [
    "COMPREHENSIONS", "FUNCTIONS", "GUARDS", "JUMPS", "LOOPS", "SUSPENDING", "at", "binds_name", "blocks_of", "body_of",
    "bound_to_frame", "children", "escapes", "first_of", "functions_in", "has_blocks", "is_docstring", "outside",
    "own_nodes", "own_of", "parameters_of", "placed", "suspends", "walk",
]

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
SUSPENDING = (gast.Yield, gast.YieldFrom, gast.Await)
LOOPS = (gast.For, gast.AsyncFor, gast.While)
TRIES = (gast.Try, getattr(gast, "TryStar", gast.Try))
GUARDS = (gast.Try, gast.With)
"""Statements that may handle an error."""
JUMPS = (gast.Break, gast.Continue, gast.Return)
_SCOPES = frozenset({*FUNCTIONS, gast.ClassDef})
_NO_JUMPS: frozenset[str] = frozenset()
_JUMPING = {cls: frozenset({cls.__name__.lower()}) for cls in JUMPS}

_CHILD_FIELDS: dict[type, tuple[str, ...]] = {
    gast.Name: ("annotation",), gast.Global: (), gast.Nonlocal: (),
    gast.alias: (), gast.ImportFrom: ("names",), gast.MatchStar: (), gast.keyword: ("value",),
}
_BELOW: dict[type, Callable[[Any], list[Any]]] = {
    gast.Attribute: lambda n: [n.value], gast.BinOp: lambda n: [n.left, n.right],
    gast.Compare: lambda n: [n.left, *n.comparators], gast.Call: lambda n: [n.func, *n.args, *n.keywords],
    gast.Expr: lambda n: [n.value], gast.Assign: lambda n: [*n.targets, n.value],
    gast.AugAssign: lambda n: [n.target, n.value], gast.If: lambda n: [n.test, *n.body, *n.orelse],
    gast.arguments: lambda n: [*parameters_of(n), *n.defaults, *(d for d in n.kw_defaults if d is not None)],
}
"""`children` for the most frequent nodes, much faster."""
_NO_NODES = frozenset({
    "ctx", "op", "ops", "type_comment", "type_ignores", "lineno", "kind", "id", "attr", "arg", "module", "level",
    "asname", "conversion", "simple", "is_async", "rest", "kwd_attrs",
})
"""Fields that hold no nodes, or only contexts and operators."""
_GAPS = frozenset({"keys", "kw_defaults"})
"""Lists in which None may stand for a node."""
_AST = gast.AST
_NAME, _CONSTANT = gast.Name, gast.Constant
_new = gast.AST.__new__


def children(node: Any) -> list[Any]:
    """The nodes directly below, in source order, without contexts and operators."""
    cls = node.__class__
    if cls is _CONSTANT or (cls is _NAME and node.annotation is None):
        return []
    below = _BELOW.get(cls)
    if below is not None:
        return below(node)
    fields = _CHILD_FIELDS.get(cls)
    if fields is None:
        fields = _CHILD_FIELDS[cls] = tuple(f for f in cls._fields if f not in _NO_NODES)
    found: list[Any] = []
    get = node.__dict__.get
    for name in fields:
        value = get(name)
        if value.__class__ is list:
            if name in _GAPS:
                found += [item for item in value if item is not None]
            elif value and isinstance(value[0], _AST):
                found += value
        elif value is not None and isinstance(value, _AST):
            found.append(value)
    return found


def at(node: Any, origin: Any) -> Any:
    """`node` at the position of `origin`, if that has one: `gast.copy_location`, faster."""
    fields, place = node.__dict__, origin.__dict__
    if "lineno" in place:
        fields["lineno"], fields["col_offset"] = place["lineno"], place["col_offset"]
        fields["end_lineno"], fields["end_col_offset"] = place["end_lineno"], place["end_col_offset"]
    return node


def placed(cls: Any, origin: Any, **fields: Any) -> Any:
    """A node of class `cls` with these fields at the position of `origin`; a third of the time of a constructor."""
    place = origin.__dict__
    fields["lineno"], fields["col_offset"] = place["lineno"], place["col_offset"]
    fields["end_lineno"], fields["end_col_offset"] = place["end_lineno"], place["end_col_offset"]
    made = _new(cls)
    made.__dict__ = fields
    return made


def walk(node: Any) -> list[Any]:
    """All nodes below and including `node`, without contexts and operators."""
    found = [node]
    for current in found:
        cls = current.__class__
        if cls is not _CONSTANT and (cls is not _NAME or current.annotation is not None):
            found += children(current)
    return found


def parameters_of(args: Any) -> list[Any]:
    return [
        *args.posonlyargs, *args.args, *args.kwonlyargs, *(p for p in (args.vararg, args.kwarg) if p is not None)
    ]


def body_of(node: Any) -> list[Any]:
    return [node.body] if isinstance(node, gast.Lambda) else node.body


def outside(node: Any) -> list[Any]:
    """The parts of a function or class that run in the enclosing frame: decorators, defaults, bases. Without
    annotations, which may be kept as text, and bases of a class with type parameters, which have a scope of their own.
    """
    if node.__class__ is gast.ClassDef:
        own_scope = getattr(node, "type_params", ())
        return [*node.decorator_list, *(() if own_scope else (*node.bases, *node.keywords))]
    defaults = (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    return [*getattr(node, "decorator_list", ()), *defaults]


def own_nodes(body: Iterable[Any]) -> list[Any]:
    """All nodes that run in this scope's frame, in source order: statements and expressions except annotations."""
    found: list[Any] = []
    stack = [*body][::-1]
    while stack:
        node = stack.pop()
        found.append(node)
        cls = node.__class__
        if cls in _SCOPES:
            stack += outside(node)[::-1]
        elif cls is gast.AnnAssign:
            stack += [node.target] if node.value is None else [node.value, node.target]
        elif cls is not _CONSTANT and (cls is not _NAME or node.annotation is not None):
            stack += children(node)[::-1]
    return found


def own_of(node: Any) -> list[Any]:
    """`own_nodes` of a function or class as the user wrote it; cached on the node."""
    found: list[Any] | None = getattr(node, "own", None)
    if found is None:
        found = node.own = own_nodes(body_of(node))
    return found


def functions_in(node: Any, class_name: str | None) -> list[tuple[Any, str | None]]:
    """The functions defined directly in the scope of a module, class or function, and in classes of it, each with the
    class whose body it is in; `class_name` is that of the scope itself."""
    found: list[tuple[Any, str | None]] = []
    for inner in own_of(node):
        if inner.__class__ not in _SCOPES:
            continue
        if inner.__class__ is gast.ClassDef:
            found += functions_in(inner, inner.name)
        else:
            found.append((inner, class_name))
    return found


def has_blocks(node: Any) -> bool:
    """Whether a node is of a kind that contains blocks of statements."""
    fields = node.__dict__
    return "body" in fields or "cases" in fields


def blocks_of(node: Any) -> Sequence[tuple[str, list[Any]]]:
    """The blocks of statements directly below a statement."""
    fields = node.__dict__
    if "body" not in fields and "cases" not in fields:
        return ()
    found: list[tuple[str, list[Any]]] = []
    for name in ("body", "orelse", "finalbody"):
        block = fields.get(name)
        if block.__class__ is list and block:
            found.append((name, block))
    for name in ("handlers", "cases"):
        if name in fields:
            found += [("body", holder.body) for holder in fields[name]]
    return found


def escapes(node: Any) -> frozenset[str]:
    """The jumps that may leave this statement: of 'break', 'continue' and 'return'."""
    fields = node.__dict__
    cached: frozenset[str] | None = fields.get("escapes")
    if cached is not None:
        return cached
    cls = node.__class__
    if cls in _JUMPING:
        return _JUMPING[cls]
    if ("body" not in fields and "cases" not in fields) or cls in _SCOPES or isinstance(node, gast.expr):
        return _NO_JUMPS
    blocks = [node.body] if cls in LOOPS else [b for _, b in blocks_of(node)]
    found = frozenset().union(*[escapes(s) for block in blocks for s in block])
    if cls in LOOPS:
        found = (found - {"break", "continue"}).union(*[escapes(s) for s in node.orelse])
    node.escapes = found
    return found


_SUSPENDS, _BINDS = 1, 2
_HOLDING: dict[type, int] = dict.fromkeys((*SUSPENDING, gast.AsyncFor, gast.AsyncWith), _SUSPENDS)
_HOLDING[gast.NamedExpr] = _BINDS


def _holds(node: Any) -> int:
    """Bit set: whether a `yield` or `await`, or a walrus, runs in the frame of this node; cached on the node."""
    found: int | None = node.__dict__.get("holds")
    if found is None:
        cls = node.__class__
        found = _HOLDING.get(cls, 0)
        if cls is gast.comprehension and node.is_async:
            found = _SUSPENDS
        for child in _evaluated_outside(node) if cls in _SCOPES else children(node):
            if child.__class__ is not _NAME and child.__class__ is not _CONSTANT:
                found |= _holds(child)
        node.holds = found
    return found


def _evaluated_outside(node: Any) -> list[Any]:
    found = outside(node)
    if node.__class__ is not gast.Lambda and node.__class__ is not gast.ClassDef:
        found += [p.annotation for p in parameters_of(node.args) if p.annotation is not None]
        found += [] if node.returns is None else [node.returns]
    return found


def is_docstring(node: Any) -> bool:
    """Whether the first statement of a body is a docstring."""
    return isinstance(node, gast.Expr) and isinstance(node.value, gast.Constant) and isinstance(node.value.value, str)


def suspends(node: Any) -> bool:
    """Whether a `yield` or `await` runs in this node's own frame."""
    return bool(_holds(node) & _SUSPENDS)


def binds_name(node: Any) -> bool:
    """Whether a walrus runs in this node's own frame."""
    return bool(_holds(node) & _BINDS)


def bound_to_frame(node: Any) -> bool:
    """Whether an expression has to stay in its frame, because it contains a walrus, `yield` or `await`."""
    return _holds(node) != 0


_STARTS: dict[type, tuple[str, ...]] = {
    gast.Expr: ("value",), gast.Assign: ("value",), gast.AnnAssign: ("value",), gast.AugAssign: ("target",),
    gast.Return: ("value",), gast.Delete: ("targets",), gast.If: ("test",), gast.While: ("test",), gast.For: ("iter",),
    gast.AsyncFor: ("iter",), gast.With: ("items",), gast.AsyncWith: ("items",), gast.withitem: ("context_expr",),
    gast.Match: ("subject",), gast.Raise: ("exc",), gast.Assert: ("test",), gast.FunctionDef: ("decorator_list",),
    gast.AsyncFunctionDef: ("decorator_list",), gast.ClassDef: ("decorator_list",), gast.BoolOp: ("values",),
    gast.NamedExpr: ("value",), gast.BinOp: ("left",), gast.UnaryOp: ("operand",), gast.IfExp: ("test",),
    gast.Dict: ("keys", "values"), gast.Set: ("elts",), gast.List: ("elts",), gast.Tuple: ("elts",),
    gast.Compare: ("left",), gast.Call: ("func",), gast.Attribute: ("value",), gast.Subscript: ("value",),
    gast.Starred: ("value",), gast.JoinedStr: ("values",), gast.FormattedValue: ("value",), gast.Await: ("value",),
    gast.Yield: ("value",), gast.YieldFrom: ("value",),
}
"""The fields of a node that run first, if present."""


def first_of(node: Any) -> Any:
    """The part of `node` that runs first: its line is the first that a trace function sees."""
    while True:
        if isinstance(node, gast.Call) and node.args and getattr(
            getattr(node.func, "value", None), "is_operators", False
        ):
            node = node.args[0]
            continue
        for field in _STARTS.get(type(node), ()):
            found = getattr(node, field, None)
            if isinstance(found, list):
                found = found[0] if found else None
            if found is not None:
                node = found
                break
        else:
            return node

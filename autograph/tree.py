"""Walking trees: kinds of nodes, what is below a node, what runs in its own frame."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import gast

__all__ = [
    "COMPREHENSIONS", "FUNCTIONS", "JUMPS", "LOOPS", "blocks_of", "body_of", "bound_to_frame", "children",
    "escapes", "functions_in", "own_nodes", "own_of", "parameters_of", "suspends", "walk",
]

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
SUSPENDING = (gast.Yield, gast.YieldFrom, gast.Await)
LOOPS = (gast.For, gast.AsyncFor, gast.While)
JUMPS = (gast.Break, gast.Continue, gast.Return)

_CHILD_FIELDS: dict[type, tuple[str, ...]] = {
    gast.Name: ("annotation",), gast.Constant: (), gast.Attribute: ("value",), gast.Global: (), gast.Nonlocal: (),
    gast.alias: (), gast.ImportFrom: ("names",), gast.MatchStar: (), gast.keyword: ("value",),
}
_CONTEXTS = ("ctx", "op", "ops", "type_comment", "type_ignores", "lineno", "kind")


def children(node: Any) -> list[Any]:
    """The nodes directly below, in source order, contexts and operators left out."""
    cls = type(node)
    fields = _CHILD_FIELDS.get(cls)
    if fields is None:
        fields = _CHILD_FIELDS[cls] = tuple(f for f in cls._fields if f not in _CONTEXTS)
    found: list[Any] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, gast.AST)]
        elif isinstance(value, gast.AST):
            found.append(value)
    return found


def walk(node: Any) -> list[Any]:
    """All nodes below and including `node`, contexts and operators left out."""
    found = [node]
    for current in found:
        found += children(current)
    return found


def parameters_of(args: Any) -> list[Any]:
    return [
        *args.posonlyargs, *args.args, *args.kwonlyargs, *(p for p in (args.vararg, args.kwarg) if p is not None)
    ]


def body_of(node: Any) -> list[Any]:
    return [node.body] if isinstance(node, gast.Lambda) else node.body


def own_nodes(body: Iterable[Any]) -> Iterator[Any]:
    """All nodes that run in this scope's frame, statements and expressions, in source order."""
    stack = list(reversed(list(body)))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            if not isinstance(node, gast.Lambda):
                stack.extend(node.decorator_list)
            continue
        stack += children(node)[::-1]


def own_of(node: Any) -> list[Any]:
    """`own_nodes` of a function or class as the user wrote it; kept on it."""
    found: list[Any] | None = getattr(node, "own", None)
    if found is None:
        found = node.own = list(own_nodes(body_of(node)))
    return found


def functions_in(node: Any, class_name: str | None) -> list[tuple[Any, str | None]]:
    """The functions made directly in the scope of a module, class or function, and in classes of it, each with the
    class whose body it is in; `class_name` is that of the scope itself."""
    found: list[tuple[Any, str | None]] = []
    for inner in own_of(node):
        if isinstance(inner, FUNCTIONS):
            found.append((inner, class_name))
        elif isinstance(inner, gast.ClassDef):
            found += functions_in(inner, inner.name)
    return found


def blocks_of(node: Any) -> Iterator[tuple[str, list[Any]]]:
    """The blocks of statements directly below a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield name, block
    for holder in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield "body", holder.body


def escapes(node: Any) -> frozenset[str]:
    """The jumps that may leave this statement: of 'break', 'continue' and 'return'."""
    cached: frozenset[str] | None = getattr(node, "escapes", None)
    if cached is not None:
        return cached
    if isinstance(node, JUMPS):
        found = frozenset({type(node).__name__.lower()})
    elif isinstance(node, (*FUNCTIONS, gast.ClassDef, gast.expr)):
        found = frozenset()
    else:
        blocks = [node.body] if isinstance(node, LOOPS) else [b for _, b in blocks_of(node)]
        found = frozenset().union(*(escapes(s) for block in blocks for s in block))
        if isinstance(node, LOOPS):
            found = (found - {"break", "continue"}).union(*(escapes(s) for s in node.orelse))
    node.escapes = found
    return found


_SUSPENDS, _BINDS = 1, 2


def _holds(node: Any) -> int:
    """Whether a `yield` or `await`, or a walrus, runs in the frame of this node; kept on it."""
    found: int | None = getattr(node, "holds", None)
    if found is None:
        found = 0
        if isinstance(node, SUSPENDING) or (isinstance(node, gast.comprehension) and node.is_async):
            found = _SUSPENDS
        elif isinstance(node, gast.NamedExpr):
            found = _BINDS
        elif isinstance(node, (gast.AsyncFor, gast.AsyncWith)):
            found = _SUSPENDS
        below = children(node)
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            below = getattr(node, "decorator_list", [])
        for child in below:
            found |= _holds(child)
        node.holds = found
    return found


def suspends(node: Any) -> bool:
    """Whether a `yield` or `await` runs in this node's own frame."""
    return bool(_holds(node) & _SUSPENDS)


def bound_to_frame(node: Any) -> bool:
    """Whether an expression must stay in its own frame: it holds a walrus, `yield` or `await`."""
    return _holds(node) != 0

"""A generator function as one that passes its items to the loop over them (internal iteration), so that tensors can
decide its control flow: no frame is suspended. Likewise one that makes a context manager
(`contextlib.contextmanager`), which passes its value to the body of the `with`.

    yield x          if ag__.yielded(x, ag__body, ag__test): return
    yield from xs    for item in xs: yield item
    return x         x; return

`ag__body` and `ag__test` are free variables: the functions of the loop. If `ag__.yielded` returns true, the loop has
been left, and the function returns, as at the GeneratorExit of a generator that is closed. The `try` and `with` around
a `yield` must not see the errors of a loop, and do see those of the body of a `with`. Runs before all other passes, on
the captured tree.
"""
from __future__ import annotations

import copy
from typing import Any, Final, NoReturn

import gast

from autograph.analysis.staging_candidates import reads_frame
from autograph.core.errors import UnsupportedError
from autograph.frontend.tree import FUNCTIONS, SUSPENDING, TRIES, at, blocks_of, own_nodes
from autograph.passes.thunks import lazy, load, operator_call

__all__ = ["CONSUMER", "iterate_internally"]

CONSUMER: Final = ("ag__body", "ag__test")
"""The free variables for the functions of the loop over the items."""
_ITEM: Final = "ag__item"
_CLOSING: Final = frozenset({"BaseException", "GeneratorExit"})


def iterate_internally(node: Any, filename: str, is_context: bool = False) -> None:
    """Rewrite a generator function of a file in place; `is_context`: it makes a context manager. UnsupportedError if
    its frame has to be suspended."""
    rewriting = _Rewriting(filename, is_context)
    if not isinstance(node, gast.FunctionDef):
        rewriting.refuse("it is asynchronous, or a lambda", node)
    own = own_nodes(node.body)
    statements = {id(n.value) for n in own if isinstance(n, gast.Expr) or (
        is_context and isinstance(n, gast.Assign) and isinstance(n.value, gast.Yield))}
    for n in own:
        if isinstance(n, SUSPENDING) and id(n) not in statements:
            rewriting.refuse("it uses the value of a `yield`", n)
    node.body = rewriting.block(node.body, ())
    if (reader := reads_frame(node)) is not None:
        rewriting.refuse(f"it calls {reader}(), which answers for its own frame", node)


class _Rewriting:
    def __init__(self, filename: str, is_context: bool) -> None:
        self.filename, self.is_context = filename, is_context

    def refuse(self, what: str, node: Any) -> NoReturn:
        raise UnsupportedError(what, filename=self.filename, lineno=node.lineno)

    def block(self, body: list[Any], caught: tuple[Any, ...]) -> list[Any]:
        """The statements of a block; `caught`: the exception classes that the handlers around it catch."""
        return [made for node in body for made in self.statement(node, caught)]

    def statement(self, node: Any, caught: tuple[Any, ...]) -> list[Any]:
        value = getattr(node, "value", None)
        if isinstance(node, gast.Expr) and isinstance(value, gast.Yield):
            return [_yielded(value.value or at(gast.Constant(None, None), node), caught, node)]
        if isinstance(node, gast.Expr) and isinstance(value, gast.YieldFrom):
            target = at(gast.Name(_ITEM, gast.Store(), None, None), node)
            return [at(gast.For(target, value.value, [_yielded(load(_ITEM, node), caught, node)], [], None), node)]
        if isinstance(node, gast.Assign) and isinstance(value, gast.Yield):  # of a context, which gets no value
            node.value = at(gast.Constant(None, None), node)
            return [*self.statement(at(gast.Expr(value), node), caught), node]
        if isinstance(node, gast.Return) and value is not None:
            return [at(gast.Expr(value), node), at(gast.Return(None), node)]
        if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            return [node]
        guarding = not self.is_context and isinstance(node, (gast.With, *TRIES)) and any(
            isinstance(n, SUSPENDING) for n in own_nodes(node.body))
        if guarding and isinstance(node, gast.With):
            for item in node.items:
                item.context_expr = operator_call("around_yield", [item.context_expr], item.context_expr)
        for _, block in blocks_of(node):
            is_guarded = guarding and block is node.body and isinstance(node, TRIES)
            block[:] = self.block(block, (*caught, *map(self.caught, node.handlers)) if is_guarded else caught)
        return [node]

    def caught(self, handler: Any) -> Any:
        """The exception classes that a handler around a `yield` catches, as an expression."""
        kinds = handler.type.elts if isinstance(handler.type, gast.Tuple) else [handler.type]
        if any(kind is None or getattr(kind, "attr", getattr(kind, "id", "")) in _CLOSING for kind in kinds):
            self.refuse("an `except` around a `yield` catches GeneratorExit", handler)
        return handler.type


def _yielded(value: Any, caught: tuple[Any, ...], origin: Any) -> Any:
    arguments = [value, *(load(name, origin) for name in CONSUMER), *(lazy(copy.deepcopy(kinds)) for kinds in caught)]
    leave = at(gast.Return(None), origin)
    return at(gast.If(operator_call("yielded", arguments, origin), [leave], []), origin)

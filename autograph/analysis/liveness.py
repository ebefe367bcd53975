"""Liveness: which variables may be read after a statement.

The tree is not changed. Each statement is summarised bottom-up by what it reads before it writes (`gen`) and what it
writes on every path (`kill`); then live sets are propagated from the end of the function backwards.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from autograph.analysis.scopes import Names, header_names, names_of, scan
from autograph.frontend.tree import LOOPS, TRIES, escapes, has_blocks

__all__ = ["annotate", "annotate_chain"]


def annotate(body: list[Any]) -> None:
    """Set on each statement `gen` (read before written), `kill` (written on every path), `live_out` (may be read after
    it) and, on loops, `live_head` (may be read at the start of an iteration)."""
    _summarise(body)
    _propagate(body, frozenset(), frozenset())


def annotate_chain(body: list[Any], origin: Any) -> None:
    """`annotate` for statements that replace the `match` statement `origin`, which has been annotated."""
    _summarise(body)
    _propagate(body, origin.live_out, origin.exceptional)


Set = frozenset[str]
_EMPTY: Set = frozenset()


def _summarise(body: list[Any]) -> tuple[Set, Set]:
    gen: set[str] = set()
    kill: set[str] = set()
    certain = True
    for node in body:
        summarise = _SUMMARIES.get(node.__class__)
        if summarise is not None:
            summarise(node)
        else:
            names = names_of(node)
            node.gen, node.kill = frozenset(names.reads), frozenset(names.binds)
        gen |= node.gen - kill
        if certain:
            kill |= node.kill
            certain = not escapes(node)  # a jump that stays a Python statement may skip what follows
    return frozenset(gen), frozenset(kill)


def _summarise_if(node: Any) -> None:
    test = header_names(node)
    (g1, k1), (g2, k2) = _summarise(node.body), _summarise(node.orelse)
    node.gen = frozenset(test.reads | ((g1 | g2) - test.binds))
    node.kill = frozenset(test.binds | (k1 & k2))


def _summarise_while(node: Any) -> None:
    test = header_names(node)
    (g1, _), (g2, _) = _summarise(node.body), _summarise(node.orelse)
    node.head_gen = frozenset(test.reads | ((g1 | g2) - test.binds))
    node.gen, node.kill = node.head_gen, frozenset(test.binds)


def _summarise_for(node: Any) -> None:
    names = scan(node.iter)
    target = scan(node.target)
    extra = getattr(node, "test", None)
    test_reads = scan(extra).reads if extra is not None else set()
    (g1, _), (g2, _) = _summarise(node.body), _summarise(node.orelse)
    node.head_gen = frozenset(target.reads | (g1 - target.binds) | g2 | test_reads)
    node.gen = frozenset(names.reads | (node.head_gen - names.binds))
    node.kill = frozenset(names.binds)


def _summarise_try(node: Any) -> None:
    (g1, k1), (g2, k2), (g3, k3) = (_summarise(b) for b in (node.body, node.orelse, node.finalbody))
    gen, kill = set(g1), set(k1 | k2)
    handled: set[str] = set(g3)
    for handler in node.handlers:
        type_names = scan(handler.type) if handler.type is not None else Names()
        hg, hk = _summarise(handler.body)
        own = {handler.name.id} if handler.name is not None else set()
        handler.gen, handler.kill = frozenset(type_names.reads | (hg - own)), hk
        handled |= handler.gen
        kill &= hk | own
    node.gen = frozenset(gen | handled | (g2 - k1)).union(getattr(node, "jumps", ()))
    node.kill = frozenset(kill | k3)
    node.handler_gen = frozenset(handled)
    node.final_gen = g3
    node.else_gen = g2


def _summarise_with(node: Any) -> None:
    names = scan(*node.items)
    g, _k = _summarise(node.body)  # a context manager may swallow an exception: nothing is surely killed
    node.gen = frozenset(names.reads | (g - names.binds)).union(getattr(node, "jumps", ()))
    node.kill = frozenset(names.binds)


def _summarise_match(node: Any) -> None:
    subject = scan(node.subject)
    gen = subject.reads
    for case in node.cases:
        pattern, guard = scan(case.pattern), scan(*([case.guard] if case.guard is not None else []))
        gen |= pattern.reads | ((guard.reads | _summarise(case.body)[0]) - pattern.binds)
    node.gen, node.kill = frozenset(gen), frozenset(subject.binds)


def _summarise_delete(node: Any) -> None:
    names = names_of(node)
    deleted = {n.id for n in node.targets if isinstance(n, gast.Name)}
    node.gen, node.kill = frozenset(names.reads), frozenset(names.binds - deleted)


_SUMMARIES: dict[type, Callable[[Any], None]] = {
    gast.If: _summarise_if, gast.While: _summarise_while, gast.For: _summarise_for, gast.AsyncFor: _summarise_for,
    **dict.fromkeys(TRIES, _summarise_try), gast.With: _summarise_with, gast.AsyncWith: _summarise_with,
    gast.Match: _summarise_match, gast.Delete: _summarise_delete,
}
"""By class of statement. Other statements kill all that they bind."""


def _propagate(body: list[Any], live: Set, exceptional: Set) -> None:
    """Propagate liveness backwards through a block. `exceptional`: the variables that the enclosing handlers read,
    since any statement may jump there."""
    for node in reversed(body):
        out = live | exceptional
        node.live_out = out
        if not has_blocks(node):
            pass
        elif isinstance(node, gast.If):
            _propagate(node.body, out, exceptional)
            _propagate(node.orelse, out, exceptional)
        elif isinstance(node, LOOPS):
            node.live_head = node.head_gen | out
            _propagate(node.body, node.live_head, exceptional | (out if escapes_loop(node) else _EMPTY))
            _propagate(node.orelse, out, exceptional)
        elif isinstance(node, TRIES):
            after = out | node.final_gen
            _propagate(node.finalbody, out | frozenset(getattr(node, "jumps", ())), exceptional)
            _propagate(node.orelse, after, exceptional | node.final_gen)
            handled = node.handler_gen.union(*(after - h.kill for h in node.handlers))
            _propagate(node.body, after | node.else_gen, exceptional | handled)
            for handler in node.handlers:
                _propagate(handler.body, after, exceptional | node.final_gen)
        elif isinstance(node, (gast.With, gast.AsyncWith)):
            jumps = frozenset(getattr(node, "jumps", ()))
            _propagate(node.body, out | jumps, exceptional | out | jumps)
        elif type(node).__name__ == "Match":
            node.exceptional = exceptional
            for case in node.cases:
                _propagate(case.body, out, exceptional)
        live = node.gen | (out - node.kill)


def escapes_loop(node: Any) -> bool:
    """Whether a jump that stays a Python statement may leave this loop from within."""
    return any(escapes(s) for s in node.body)

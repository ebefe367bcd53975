"""The names that code reads, binds and captures, and the scopes of functions. The tree is not changed."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import gast

from autograph.core.lists import MUTATORS
from autograph.frontend.tree import (
    COMPREHENSIONS,
    FUNCTIONS,
    blocks_of,
    body_of,
    children,
    functions_in,
    has_blocks,
    own_of,
    parameters_of,
)

__all__ = ["Names", "Scope", "bound_by", "header_names", "mangled", "names_of", "scan", "symbol"]


_NAME, _CONSTANT, _LOAD = gast.Name, gast.Constant, gast.Load


class Names:
    """The names that a piece of code uses in its scope."""

    __slots__ = ("binds", "calls", "captured", "reads", "symbols")

    def __init__(self) -> None:
        self.reads: set[str] = set()
        self.binds: set[str] = set()
        self.captured: set[str] = set()
        """Names that a function, lambda, class or generator expression defined here may read or write at any later
        time."""
        self.symbols: dict[str, tuple[str, frozenset[str]]] = {}
        """Attributes, items and mutated containers that are written (`'self.x'`, `"d['k']"`), with the name of their
        root and the names in their keys."""
        self.calls = False
        """Whether it calls anything, which may run a nested function that assigns `nonlocal` names."""

    def include(self, other: Names) -> None:
        self.reads |= other.reads
        self.binds |= other.binds
        self.captured |= other.captured
        self.symbols.update(other.symbols)
        self.calls |= other.calls


def symbol(node: Any) -> tuple[str, str, frozenset[str]] | None:
    """The text of a target that can be state (`self.x`, `d['k']`, `l[i]`), its root and the names in its keys."""
    node = getattr(node, "part", node)  # the operand of an operator call that replaces it
    if isinstance(node, gast.Name):
        return node.id, node.id, frozenset()
    if isinstance(node, gast.Attribute):
        base = symbol(node.value)
        return base and (f"{base[0]}.{node.attr}", base[1], base[2])
    if isinstance(node, gast.Subscript):
        base = symbol(node.value)
        if base and isinstance(node.slice, gast.Constant) and isinstance(node.slice.value, (str, int)):
            return f"{base[0]}[{node.slice.value!r}]", base[1], base[2]
        if base and isinstance(node.slice, gast.Name):
            return f"{base[0]}[{node.slice.id}]", base[1], base[2] | {node.slice.id}
    return None


def scan(*nodes: Any) -> Names:
    """The names that these statements or expressions use, nested blocks included."""
    names = Names()
    for node in nodes:
        _scan(node, names)
    return names


def bound_by(body: list[Any]) -> set[str]:
    """The names that converted statements bind, without those of bodies that conversion made."""
    names = Names()
    for node in body:
        if getattr(node, "synthetic", False):
            names.binds.add(node.name)
        else:
            _scan(node, names)
    return names.binds


def mangled(name: str, class_name: str | None) -> str:
    """The name that the compiler uses for a private attribute in the body of a class."""
    own = (class_name or "").lstrip("_")
    return f"_{own}{name}" if own and name.startswith("__") and not name.endswith("__") else name


def names_of(node: Any) -> Names:
    """`scan(node)` for a statement that does not change any more; cached on the node."""
    found: Names | None = getattr(node, "names_found", None)
    if found is None:
        if not has_blocks(node) or not isinstance(node, gast.stmt) or isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            found = scan(node)
        else:
            found = Names()
            found.include(header_names(node))
            for _, block in blocks_of(node):
                for statement in block:
                    found.include(names_of(statement))
        node.names_found = found
    return found


def header_names(node: Any) -> Names:
    """The names that a compound statement uses outside its blocks; cached on the node, which must not change any
    more."""
    found: Names | None = getattr(node, "header_names", None)
    if found is None:
        if node.__class__ is gast.If or node.__class__ is gast.While:
            found = node.header_names = scan(node.test)
            return found
        handlers = getattr(node, "handlers", ())
        headers = [c for c in children(node) if not isinstance(c, (gast.stmt, gast.ExceptHandler))]
        found = node.header_names = scan(*headers, *(c for h in handlers for c in (h.type, h.name) if c is not None))
        found.reads |= {h.name.id for h in handlers if h.name is not None}
    return found


def _scan(root: Any, names: Names) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        cls = node.__class__
        if cls is _NAME:
            context = node.ctx.__class__
            if context is not _LOAD:
                names.binds.add(node.id)
            if context is _LOAD or context is gast.Del:
                names.reads.add(node.id)
        elif cls is not _CONSTANT:
            visit = _VISITORS.get(cls)
            if visit is None:
                stack += children(node)
            else:
                visit(node, names, stack)


def _scan_place(node: Any, names: Names, stack: list[Any]) -> None:
    """Scan an attribute or item, which may be a target."""
    if not isinstance(node.ctx, gast.Load):
        _record(node, names)
    stack += children(node)


def _scan_call(node: Any, names: Names, stack: list[Any]) -> None:
    names.calls = True
    function = node.func
    bound = getattr(node, "binds", None)
    if bound is not None:  # a walrus that may not run
        names.binds.add(bound)
        names.reads.add(bound)
    if isinstance(function, gast.Call) and len(function.args) == 1:  # ag__.call(x.append)(...)
        function = function.args[0]
    if isinstance(function, gast.Attribute) and function.attr in MUTATORS:
        _record(function.value, names)
    stack += children(node)


def _scan_augmented(node: Any, names: Names, stack: list[Any]) -> None:
    if isinstance(node.target, gast.Name):
        names.reads.add(node.target.id)
    stack += children(node)


def _scan_annotated(node: Any, names: Names, stack: list[Any]) -> None:
    if node.value is not None or not isinstance(node.target, gast.Name):
        stack += children(node)


def _scan_capture(node: Any, names: Names, stack: list[Any]) -> None:
    """Scan a pattern that binds a name: `x`, `*x` or `**x`."""
    name = node.rest if isinstance(node, gast.MatchMapping) else node.name
    if name:
        names.binds.add(name)
    stack += children(node)


def _scan_import(node: Any, names: Names, stack: list[Any]) -> None:
    names.binds.add((node.asname or node.name).split(".")[0])


def _scan_handler(node: Any, names: Names, stack: list[Any]) -> None:
    if node.name is not None:
        names.reads.add(node.name.id)  # it is deleted at the end of the handler
    stack += children(node)


def _record(target: Any, names: Names) -> None:
    found = symbol(target)
    if found is not None:
        names.symbols[found[0]] = found[1:]
    part = getattr(getattr(target, "value", None), "part", None)
    if part is not None and (found := symbol(part)) is not None:
        names.symbols[f"{found[0]}[:]"] = found[1:]


def _scan_function(node: Any, names: Names, _: list[Any]) -> None:
    outer = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    if not isinstance(node, gast.Lambda):
        outer += node.decorator_list
        names.binds.add(node.name)
        annotations = [p.annotation for p in parameters_of(node.args) if p.annotation is not None]
        outer += annotations + ([node.returns] if node.returns is not None else [])
    for child in outer:
        _scan(child, names)
    free = free_names(node)
    if getattr(node, "immediate", False):
        inner = node.names_inside
        names.reads |= free
        names.captured |= inner.captured & free
        names.symbols.update(inner.symbols)
        names.calls |= inner.calls
        names.binds |= inner.binds
        if getattr(node, "late", False):
            names.captured |= free
    else:
        names.captured |= free


def _scan_class(node: Any, names: Names, _: list[Any]) -> None:
    names.binds.add(node.name)
    for child in (*node.decorator_list, *node.bases, *node.keywords):
        _scan(child, names)
    inner = scan(*node.body)
    names.captured |= inner.reads | inner.captured | _declared(node, gast.Nonlocal)


def _scan_comprehension(node: Any, names: Names, _: list[Any]) -> None:
    first = node.generators[0].iter  # evaluated at once, outside of the comprehension
    _scan(first, names)
    inner = Names()
    for generator in node.generators:
        for child in (generator.target, generator.iter, *generator.ifs):
            if child is not first:
                _scan(child, inner)
    for child in (node.key, node.value) if isinstance(node, gast.DictComp) else (node.elt,):
        _scan(child, inner)
    targets = set().union(*(scan(generator.target).binds for generator in node.generators))
    names.reads |= inner.reads - targets
    names.binds |= inner.binds - targets
    names.reads |= inner.binds - targets  # a walrus, which does not run for an empty iterable
    names.captured |= inner.captured - targets
    names.symbols.update({text: found for text, found in inner.symbols.items() if found[0] not in targets})
    names.calls |= inner.calls
    if isinstance(node, gast.GeneratorExp):
        names.captured |= inner.reads - targets


_VISITORS: Final[Mapping[type, Callable[[Any, Names, list[Any]], None]]] = {
    **dict.fromkeys((gast.Attribute, gast.Subscript), _scan_place),
    gast.Call: _scan_call,
    gast.AugAssign: _scan_augmented,
    gast.AnnAssign: _scan_annotated,
    **dict.fromkeys(FUNCTIONS, _scan_function),
    gast.ClassDef: _scan_class,
    **dict.fromkeys(COMPREHENSIONS, _scan_comprehension),
    **dict.fromkeys((gast.MatchAs, gast.MatchStar, gast.MatchMapping), _scan_capture),
    gast.alias: _scan_import,
    gast.ExceptHandler: _scan_handler,
}
"""By node class, a function that records the names of a node and pushes those children that have to be scanned. For all
other classes (names and constants aside), all children are pushed."""


def _declared(node: Any, kind: Any) -> set[str]:
    """Names that `global` or `nonlocal` statements of a function or class declare."""
    if isinstance(node, gast.Lambda):
        return set()
    return {name for inner in own_of(node) if isinstance(inner, kind) for name in inner.names}


def free_names(node: Any) -> set[str]:
    """The names that a function takes from enclosing scopes, globals and builtins included."""
    cached: set[str] | None = getattr(node, "free_names", None)
    if cached is None:
        inner = node.names_inside = scan(*body_of(node))
        bound = {p.id for p in parameters_of(node.args)}
        if not getattr(node, "immediate", False):  # its bindings are those of the enclosing function
            bound |= inner.binds
        declared = _declared(node, gast.Nonlocal)
        bound -= declared | _declared(node, gast.Global)
        cached = (inner.reads | inner.captured | declared) - bound
        node.free_names = cached
    return cached


def nonlocals_below(node: Any) -> set[str]:
    """The names that a function, or one nested in it, declares nonlocal."""
    return _declared(node, gast.Nonlocal).union(*(nonlocals_below(child) for child, _ in functions_in(node, None)))


class Scope:
    """The names of one function."""

    def __init__(self, node: Any, used: frozenset[str], class_name: str | None) -> None:
        body = body_of(node)
        names = scan(*body)
        self.parameters = {p.id for p in parameters_of(node.args)}
        self.globals = _declared(node, gast.Global)
        self.nonlocals = _declared(node, gast.Nonlocal)
        self.locals = (self.parameters | names.binds) - self.globals - self.nonlocals
        self.shared = (names.captured & self.locals) | self.globals | self.nonlocals
        """Names that other code may read or write at any time: always live."""
        self.written = {name for child, _ in functions_in(node, None) for name in nonlocals_below(child)} & self.locals
        """Locals that nested functions assign."""
        self.used = used
        self.class_name = class_name
        self.first_parameter: str | None = next(
            (p.id for p in (*node.args.posonlyargs, *node.args.args)), None
        )

    def fresh(self, base: str, taken: Iterable[str] = ()) -> str:
        """`base`, with a number appended if the user's code or `taken` has that name."""
        name, number = base, 0
        while name in self.used or name in taken:
            number += 1
            name = f"{base}{number}" if base.endswith("_") else f"{base}_{number}"
        return name

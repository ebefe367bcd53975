"""What the passes ask about a function: its names, which statements stay Python and by which rule, and liveness.

Nothing here changes a tree. `classify` leaves its answer on each statement as `node.python`: the rule that keeps
it a Python statement, or None for a candidate for staging. `annotate` leaves liveness on each statement.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import gast

__all__ = [
    "FUNCTIONS", "Decision", "Names", "Scope", "annotate", "children", "classify", "escapes", "scan", "symbol", "walk",
]

FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)
COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
SUSPENDING = (gast.Yield, gast.YieldFrom, gast.Await)
LOOPS = (gast.For, gast.AsyncFor, gast.While)
JUMPS = (gast.Break, gast.Continue, gast.Return)

# Calls that change the container they are called on: it is part of the state, though it is not assigned.
MUTATORS = frozenset(
    {"append", "extend", "insert", "pop", "popitem", "remove", "clear", "reverse", "sort", "update", "setdefault"}
)
# Builtins whose answer is a Python bool whatever the argument.
PREDICATES = frozenset({"isinstance", "issubclass", "callable", "hasattr"})
# Builtins that look at the frame they are called from: a function that calls one keeps all its text.
FRAME_READERS = frozenset({"locals", "vars", "dir", "eval", "exec"})


_CHILD_FIELDS: dict[type, tuple[str, ...]] = {}
_CONTEXTS = ("ctx", "op", "ops")


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


@dataclass
class Names:
    """Names that a piece of code touches, in the scope it runs in."""

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    """Read or written by a function, lambda, class or generator expression made here, at any later time."""
    symbols: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    """Attributes, items and mutated containers that are written (`'self.x'`, `"d['k']"`), with the name of their
    root and the names in their keys."""
    calls: bool = False
    """Whether it calls anything, which may run a nested function that assigns `nonlocal` names."""


def symbol(node: Any) -> tuple[str, str, frozenset[str]] | None:
    """The text of a target that can be state (`self.x`, `d['k']`, `l[i]`), its root and the names in its keys."""
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
    """Names touched by these statements or expressions, nested blocks included."""
    names = Names()
    for node in nodes:
        _scan(node, names)
    return names


def _scan(root: Any, names: Names) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        cls = type(node)
        if cls is gast.Name:
            if isinstance(node.ctx, gast.Load):
                names.reads.add(node.id)
            else:
                names.binds.add(node.id)
                if isinstance(node.ctx, gast.Del):
                    names.reads.add(node.id)
            continue
        if cls is gast.Constant:
            continue
        if cls is gast.Attribute or cls is gast.Subscript:
            if not isinstance(node.ctx, gast.Load):
                _record(node, names)
        elif cls is gast.Call:
            names.calls = True
            function = node.func
            if isinstance(function, gast.Call) and len(function.args) == 1:  # ag__.call(x.append)(...)
                function = function.args[0]
            if isinstance(function, gast.Attribute) and function.attr in MUTATORS:
                _record(function.value, names)
        elif cls is gast.AugAssign:
            target = node.target
            if isinstance(target, gast.Name):
                names.reads.add(target.id)
        elif cls is gast.AnnAssign and node.value is None and isinstance(node.target, gast.Name):
            continue
        elif cls in FUNCTIONS:
            _scan_function(node, names)
            continue
        elif cls is gast.ClassDef:
            _scan_class(node, names)
            continue
        elif cls in COMPREHENSIONS:
            _scan_comprehension(node, names)
            continue
        elif cls is gast.MatchAs or cls is gast.MatchStar:
            if node.name:
                names.binds.add(node.name)
        elif cls is gast.MatchMapping:
            if node.rest:
                names.binds.add(node.rest)
        elif cls is gast.alias:
            names.binds.add((node.asname or node.name).split(".")[0])
        elif cls is gast.ExceptHandler and node.name is not None:
            names.reads.add(node.name.id)  # it is deleted at the end
        stack += children(node)[::-1]


def _record(target: Any, names: Names) -> None:
    found = symbol(target)
    if found is not None:
        names.symbols[found[0]] = found[1:]


def _scan_function(node: Any, names: Names) -> None:
    outer = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
    if not isinstance(node, gast.Lambda):
        outer += node.decorator_list
        names.binds.add(node.name)
        annotations = [p.annotation for p in _parameters(node.args) if p.annotation is not None]
        outer += annotations + ([node.returns] if node.returns is not None else [])
    for child in outer:
        _scan(child, names)
    free = free_names(node)
    if getattr(node, "immediate", False):
        inner = scan(node.body)
        names.reads |= free
        names.captured |= inner.captured & free
        names.symbols.update(inner.symbols)
        names.calls |= inner.calls
    else:
        names.captured |= free


def _scan_class(node: Any, names: Names) -> None:
    names.binds.add(node.name)
    for child in (*node.decorator_list, *node.bases, *node.keywords):
        _scan(child, names)
    inner = scan(*node.body)
    names.captured |= inner.reads | inner.captured | _declared(node.body, gast.Nonlocal)


def _scan_comprehension(node: Any, names: Names) -> None:
    inner = Names()
    for generator in node.generators:
        for child in (generator.target, generator.iter, *generator.ifs):
            _scan(child, inner)
    for child in (node.key, node.value) if isinstance(node, gast.DictComp) else (node.elt,):
        _scan(child, inner)
    targets = set().union(*(scan(generator.target).binds for generator in node.generators))
    names.reads |= (inner.reads - targets) | scan(node.generators[0].iter).reads
    names.binds |= inner.binds - targets
    names.captured |= inner.captured - targets
    names.symbols.update({text: found for text, found in inner.symbols.items() if found[0] not in targets})
    names.calls |= inner.calls
    if isinstance(node, gast.GeneratorExp):
        names.captured |= inner.reads - targets


def _parameters(args: Any) -> list[Any]:
    return [
        *args.posonlyargs, *args.args, *args.kwonlyargs, *(p for p in (args.vararg, args.kwarg) if p is not None)
    ]


def _body(node: Any) -> list[Any]:
    return [node.body] if isinstance(node, gast.Lambda) else node.body


def _declared(body: Iterable[Any], kind: Any) -> set[str]:
    """Names that `global` or `nonlocal` statements of this scope declare."""
    return {name for node in own_nodes(body) if isinstance(node, kind) for name in node.names}


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


def free_names(node: Any) -> set[str]:
    """Names that a function takes from the scopes around it (globals and builtins included)."""
    cached: set[str] | None = getattr(node, "free_names", None)
    if cached is None:
        inner = scan(*_body(node))
        bound = {p.id for p in _parameters(node.args)} | inner.binds
        declared = _declared(_body(node), gast.Nonlocal)
        bound -= declared | _declared(_body(node), gast.Global)
        cached = (inner.reads | inner.captured | declared) - bound
        node.free_names = cached
    return cached


def nested_functions(body: Iterable[Any]) -> list[Any]:
    """The functions made directly in this scope, and in classes of it."""
    found: list[Any] = []
    for node in own_nodes(body):
        if isinstance(node, FUNCTIONS):
            found.append(node)
        elif isinstance(node, gast.ClassDef):
            found += nested_functions(node.body)
    return found


def nonlocals_below(node: Any) -> set[str]:
    """Names that a function, or one in it, declares nonlocal."""
    body = _body(node)
    return _declared(body, gast.Nonlocal).union(*(nonlocals_below(child) for child in nested_functions(body)))


class Scope:
    """The names of one function."""

    def __init__(self, node: Any, used: frozenset[str], class_name: str | None) -> None:
        body = _body(node)
        names = scan(*body)
        self.parameters = {p.id for p in _parameters(node.args)}
        self.globals = _declared(body, gast.Global)
        self.nonlocals = _declared(body, gast.Nonlocal)
        self.locals = (self.parameters | names.binds) - self.globals - self.nonlocals
        self.shared = (names.captured & self.locals) | self.globals | self.nonlocals
        """Names that code elsewhere may read or write at any time: always live."""
        self.written = {name for child in nested_functions(body) for name in nonlocals_below(child)} & self.locals
        """Locals that nested functions assign."""
        self.used = used
        self.class_name = class_name
        self.first_parameter: str | None = next(
            (p.id for p in (*node.args.posonlyargs, *node.args.args)), None
        )

    def fresh(self, base: str, taken: Iterable[str] = ()) -> str:
        """`base`, numbered if the user or `taken` has that name."""
        name, number = base, 0
        while name in self.used or name in taken:
            number += 1
            name = f"{base}{number}" if base.endswith("_") else f"{base}_{number}"
        return name


# --- Which statements stay Python ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Decision:
    """What becomes of one statement, and by which rule."""

    lineno: int
    col: int
    statement: str
    staged: bool
    rule: str

    def __str__(self) -> str:
        return f"{self.lineno}: {self.statement}: {'staged if a tensor' if self.staged else 'Python'}: {self.rule}"


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


def blocks_of(node: Any) -> Iterator[tuple[str, list[Any]]]:
    """The blocks of statements directly below a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield name, block
    for holder in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield "body", holder.body


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


def reads_frame(node: Any) -> str | None:
    """The builtin by which the function looks at its own frame (`locals`, `eval`, ...), if it calls one."""
    bound: set[str] | None = None
    for n in own_nodes(_body(node)):
        if isinstance(n, gast.Call) and isinstance(n.func, gast.Name):
            name: str = n.func.id
            if name in FRAME_READERS and not (name in ("vars", "dir") and n.args):
                bound = scan(*_body(node)).binds if bound is None else bound
                if name not in bound:
                    return name
    return None


def never_tensor(node: Any, maybe_none: frozenset[str] = frozenset()) -> bool:
    """Whether an expression can only be a Python value by its form: a literal, `x is None`, `isinstance(...)`."""
    if isinstance(node, (gast.Constant, gast.List, gast.Tuple, gast.Dict, gast.Set, gast.JoinedStr)):
        return True
    if isinstance(node, gast.Compare):
        return all(isinstance(op, (gast.Is, gast.IsNot, gast.In, gast.NotIn)) for op in node.ops) and not (
            none_test(node, maybe_none)
        )
    if isinstance(node, gast.BoolOp):
        return all(never_tensor(value, maybe_none) for value in node.values)
    if isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not):
        return never_tensor(node.operand, maybe_none)
    return isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in PREDICATES


def none_test(node: Any, maybe_none: frozenset[str]) -> bool:
    """Whether a comparison is `x is None` or `x is not None` for a name in `maybe_none`."""
    return (
        isinstance(node, gast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (gast.Is, gast.IsNot))
        and isinstance(node.left, gast.Name) and node.left.id in maybe_none
        and isinstance(node.comparators[0], gast.Constant) and node.comparators[0].value is None
    )


class _Classifier:
    def __init__(self, node: Any) -> None:
        self.suspending = any(suspends(s) for s in node.body)
        self.frozen: str | None = None
        if any(
            isinstance(n, (gast.Try, getattr(gast, "TryStar", gast.Try))) and any(escapes(s) for s in n.finalbody)
            for n in own_nodes(node.body)
        ):
            self.frozen = "a finally block of the function jumps out"
        self.maybe_none: frozenset[str] = frozenset()
        self.assigned: set[str] = set()
        self.decisions: list[Decision] = []

    def run(self, body: list[Any]) -> None:
        while True:  # a name that a staged branch assigns may be None there; to test that stages too, and may assign
            self.assigned, self.decisions = set(), []
            self.block(body, False)
            if self.assigned == self.maybe_none:
                return
            self.maybe_none = frozenset(self.assigned)

    def block(self, body: list[Any], in_python_loop: bool) -> None:
        for node in body:
            if isinstance(node, (*FUNCTIONS, gast.ClassDef)):
                continue
            node.maybe_none = self.maybe_none if in_python_loop else self.maybe_none & self.assigned
            kept = False
            if isinstance(node, (gast.If, *LOOPS)):
                if isinstance(node, gast.While):
                    node.maybe_none = self.maybe_none & (self.assigned | scan(node).binds)
                node.python = self.rule(node, in_python_loop)
                kept = node.python is not None
                self.decide(node)
                if not kept:
                    self.assigned |= scan(node).binds
            elif type(node).__name__ in ("Match", "Try", "TryStar", "With", "AsyncWith"):
                self.decide_python(node)
            for _name, inner in blocks_of(node):
                self.block(inner, kept if isinstance(node, LOOPS) else in_python_loop)

    def rule(self, node: Any, in_python_loop: bool) -> str | None:
        if self.frozen:
            return self.frozen
        if isinstance(node, gast.AsyncFor) or suspends(node):
            return "it holds yield or await"
        jumps = escapes(node)
        if "return" in jumps and self.suspending:
            return "it returns from a generator or coroutine"
        if jumps & {"break", "continue"} and in_python_loop:
            return "it jumps out of a loop that stays Python"
        if isinstance(node, gast.If):
            return "its test is never a tensor" if never_tensor(node.test, node.maybe_none) else None
        inner_jumps = frozenset().union(*(escapes(s) for s in node.body)) if node.body else frozenset()
        if inner_jumps:
            return None
        if isinstance(node, gast.While):
            return "its test is never a tensor" if never_tensor(node.test, node.maybe_none) else None
        if isinstance(node.iter, (gast.Tuple, gast.List, gast.Set, gast.Dict, gast.Constant)):
            return "it loops over a literal"
        return None

    def decide(self, node: Any) -> None:
        kind = {gast.If: "if", gast.While: "while", gast.For: "for", gast.AsyncFor: "async for"}[type(node)]
        staged = node.python is None
        rule = node.python or {"if": "ag__.cond on its test", "while": "ag__.while_loop on its test"}.get(
            kind, "ag__.reduce over its iterable"
        )
        self.decisions.append(Decision(node.lineno, node.col_offset, kind, staged, rule))

    def decide_python(self, node: Any) -> None:
        kind = {"TryStar": "try", "AsyncWith": "async with"}.get(type(node).__name__, type(node).__name__.lower())
        self.decisions.append(
            Decision(node.lineno, node.col_offset, kind, False, "always Python; the statements inside convert")
        )


def classify(node: Any) -> tuple[Decision, ...]:
    """Leave on each statement of a function whether it stays Python (`python`), and on its tests which names
    a staged branch may have set to None (`maybe_none`). Nested functions are left to their own turn."""
    classifier = _Classifier(node)
    classifier.run(node.body)
    return tuple(classifier.decisions)


# --- Liveness -----------------------------------------------------------------------------------------------


def annotate(body: list[Any], scope: Scope) -> None:
    """Leave on each statement: `gen` (read before written in it), `kill` (written on every way through),
    `live_out` (may be read after it) and, on loops, `live_head` (may be read when an iteration starts)."""
    _summarise(body)
    _propagate(body, frozenset(), frozenset())


Set = frozenset[str]
_EMPTY: Set = frozenset()


def _summarise(body: list[Any]) -> tuple[Set, Set]:
    gen: set[str] = set()
    kill: set[str] = set()
    certain = True
    for node in body:
        _summarise_statement(node)
        gen |= node.gen - kill
        if certain:
            kill |= node.kill
        if escapes(node):  # a jump that stayed Python: what follows may be passed over
            certain = False
    return frozenset(gen), frozenset(kill)


def _summarise_statement(node: Any) -> None:
    if isinstance(node, gast.If):
        test = scan(node.test)
        (g1, k1), (g2, k2) = _summarise(node.body), _summarise(node.orelse)
        node.gen = frozenset(test.reads | ((g1 | g2) - test.binds))
        node.kill = frozenset(test.binds | (k1 & k2))
    elif isinstance(node, gast.While):
        test = scan(node.test)
        (g1, _), (g2, _) = _summarise(node.body), _summarise(node.orelse)
        node.head_gen = frozenset(test.reads | ((g1 | g2) - test.binds))
        node.gen, node.kill = node.head_gen, frozenset(test.binds)
    elif isinstance(node, (gast.For, gast.AsyncFor)):
        names = scan(node.iter)
        target = scan(node.target)
        extra = getattr(node, "test", None)
        test_reads = scan(extra).reads if extra is not None else set()
        (g1, _), (g2, _) = _summarise(node.body), _summarise(node.orelse)
        node.head_gen = frozenset(target.reads | (g1 - target.binds) | g2 | test_reads)
        node.gen = frozenset(names.reads | (node.head_gen - names.binds))
        node.kill = frozenset(names.binds)
    elif isinstance(node, (gast.Try, getattr(gast, "TryStar", gast.Try))):
        (g1, k1), (g2, k2), (g3, k3) = (_summarise(b) for b in (node.body, node.orelse, node.finalbody))
        gen, kill = set(g1), set(k1 | k2)
        handled: set[str] = set(g3)
        for handler in node.handlers:
            type_names = scan(handler.type) if handler.type is not None else Names()
            hg, hk = _summarise(handler.body)
            own = {handler.name.id} if handler.name is not None else set()
            handler.gen = frozenset(type_names.reads | (hg - own))
            handled |= handler.gen
            kill &= hk | own
        node.gen = frozenset(gen | handled | (g2 - k1))
        node.kill = frozenset(kill | k3)
        node.handler_gen = frozenset(handled)
        node.final_gen = g3
    elif isinstance(node, (gast.With, gast.AsyncWith)):
        names = scan(*node.items)
        g, _k = _summarise(node.body)  # a context may swallow an exception, so its body kills nothing for sure
        node.gen, node.kill = frozenset(names.reads | (g - names.binds)), frozenset(names.binds)
    elif type(node).__name__ == "Match":
        subject = scan(node.subject)
        gen = subject.reads
        for case in node.cases:
            pattern = scan(case.pattern, *([case.guard] if case.guard is not None else []))
            gen |= pattern.reads | _summarise(case.body)[0]
        node.gen, node.kill = frozenset(gen), frozenset(subject.binds)
    else:
        names = scan(node)
        node.gen, node.kill = frozenset(names.reads), frozenset(names.binds - _deleted(node))


def _deleted(node: Any) -> set[str]:
    return {n.id for n in node.targets if isinstance(n, gast.Name)} if isinstance(node, gast.Delete) else set()


def _propagate(body: list[Any], live: Set, exceptional: Set) -> None:
    """`exceptional`: what the handlers around read, to where any statement may jump."""
    for node in reversed(body):
        out = live | exceptional
        node.live_out = out
        if isinstance(node, gast.If):
            _propagate(node.body, out, exceptional)
            _propagate(node.orelse, out, exceptional)
        elif isinstance(node, LOOPS):
            node.live_head = node.head_gen | out
            _propagate(node.body, node.live_head, exceptional | (out if escapes_loop(node) else _EMPTY))
            _propagate(node.orelse, out, exceptional)
        elif isinstance(node, (gast.Try, getattr(gast, "TryStar", gast.Try))):
            after = out | node.final_gen
            _propagate(node.finalbody, out, exceptional)
            _propagate(node.orelse, after, exceptional | node.final_gen)
            orelse_gen = node.orelse[0].gen | node.gen if node.orelse else _EMPTY
            _propagate(node.body, after | orelse_gen, exceptional | node.handler_gen)
            for handler in node.handlers:
                _propagate(handler.body, after, exceptional | node.final_gen)
        elif isinstance(node, (gast.With, gast.AsyncWith)):
            _propagate(node.body, out, exceptional | out)
        elif type(node).__name__ == "Match":
            for case in node.cases:
                _propagate(case.body, out, exceptional)
        live = node.gen | (out - node.kill)


def escapes_loop(node: Any) -> bool:
    """Whether a jump that stayed Python may leave this loop from within."""
    return any(escapes(s) for s in node.body)

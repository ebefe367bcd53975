"""Statements become operator calls: `if` -> `ag__.cond`, `while` -> `ag__.while_loop`, `for` -> `ag__.reduce`, `try` ->
`ag__.try_`, `with` -> `ag__.with_`.

Each body becomes a nested function that declares the variables it shares `nonlocal`; a variable that is dead outside of
one execution of the body becomes a local of it, unless the body sets it to None to release what it had before. The call
names the state: what is written inside and live after the statement or around the loop.

Afterwards: the only statements of these kinds are those that `classify` keeps as Python.
"""
from __future__ import annotations

import copy
import re
from collections.abc import Callable, Set
from typing import Any

import gast

from autograph.analysis.liveness import annotate, annotate_chain
from autograph.analysis.scopes import Names, Scope, bound_by, names_of, scan
from autograph.frontend.tree import FUNCTIONS, LOOPS, at, blocks_of, has_blocks, is_docstring, own_nodes, own_of, placed
from autograph.passes.expressions import AG, lazy, load, operator_call
from autograph.passes.match import match_chain
from autograph.passes.thunks import bound_in_lambdas, parameters_for

__all__ = ["convert_statements"]

Body = list[Any]
_LOOP_OPTIONS = ("parallel_iterations", "swap_memory", "maximum_iterations", "shape_invariants", "checkpoint")
"""The parameters of `set_loop_options`, in order."""
_PRIVATE = re.compile(r"(^|\.)__(?=\w+)(?!\w*__\b)")


def convert_statements(node: Any, scope: Scope) -> None:
    """Convert the statements of one function, in place. Nested functions are converted separately."""
    if isinstance(node, gast.Lambda):
        return
    annotate(node.body)
    _hide_dead_flags(node.body)
    _Statements(node, scope).run()


def _hide_dead_flags(body: Body) -> None:
    """Replace assignments to dead flags by a `pass` that keeps the line."""
    for node in body:
        if "flag" in node.__dict__ and node.flag not in node.live_out:
            node.__class__ = gast.Pass
            node.invisible, node.gen, node.kill = True, frozenset(), frozenset()
        elif has_blocks(node) and not isinstance(node, (*FUNCTIONS, gast.ClassDef)):
            for _, block in blocks_of(node):
                _hide_dead_flags(block)


class _Statements:
    def __init__(self, node: Any, scope: Scope) -> None:
        self.node, self.scope = node, scope
        self.bound_anywhere = set().union(*(names_of(statement).binds for statement in node.body))
        own = [*own_of(node)]
        kinds = {n.__class__ for n in own}
        self.releases = any(map(_releases, own))
        self.has_walrus = bool(kinds & {gast.NamedExpr, gast.Match})
        self.has_annotation = gast.AnnAssign in kinds
        self.around: list[set[str]] = []
        """For each enclosing body, the variables that are local to it."""
        self.free: set[str] = set()
        """Variables that bodies read and that no enclosing body binds."""
        self.subjects: list[str] = []  # of the enclosing `match` statements
        self.flags: set[str] = set()  # of long matches

    def run(self) -> None:
        node, scope = self.node, self.scope
        declarations = self.hoist(node.body) if scope.globals or scope.nonlocals else []
        start = int(is_docstring(node.body[0]))
        body, shared = self.block(node.body)
        own = scope.globals | scope.nonlocals | scope.parameters
        read_first = self.live_in(node.body, frozenset()) & scope.locals
        unbound = (shared | self.free | read_first | (scope.locals - self.bound_anywhere)) - own
        by_walrus = self.bound_in_lambdas(body) - own
        declared = self.declare(unbound - bound_by(body) | by_walrus, node.body[0])
        node.body = body[:start] + declarations + declared + body[start:]

    def hoist(self, body: Body, top: bool = True) -> Body:
        """Move `global` and `nonlocal` out of the blocks: they apply to the whole function."""
        found: Body = []
        for node in list(body):
            if isinstance(node, (gast.Global, gast.Nonlocal)):
                found.append(node)
                body.remove(node)
            elif not isinstance(node, (*FUNCTIONS, gast.ClassDef)):
                for _, block in blocks_of(node):
                    found += self.hoist(block, False)
        if not body:
            body.append(_at(gast.Pass(), found[0]))
            body[0].gen = body[0].kill = frozenset()
            body[0].live_out = frozenset()
        return found

    def declare(self, names: set[str], origin: Any) -> Body:
        """`name: object` for variables of this scope that are assigned only by bodies nested in it."""
        return [
            _at(gast.AnnAssign(_at(gast.Name(n, gast.Store(), None, None), origin), load("object", origin), None, 1),
                origin)
            for n in sorted(names)
        ]

    def block(self, body: Body) -> tuple[Body, set[str]]:
        """Convert a block; also returns the names that it shares with the functions made from its statements."""
        out: Body = []
        shared: set[str] = set()
        for node in body:
            convert = _METHODS.get(node.__class__)
            if convert is not None and getattr(node, "python", None) is None:
                made, names = convert(self, node)
                out += made
                shared |= names
                continue
            if has_blocks(node) and not isinstance(node, (*FUNCTIONS, gast.ClassDef)):
                node = copy.copy(node)
                for field in ("handlers", "cases"):
                    if hasattr(node, field):
                        setattr(node, field, [copy.copy(holder) for holder in getattr(node, field)])
                for holder in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    for name in ("body", "orelse", "finalbody"):
                        inner = getattr(holder, name, None)
                        if isinstance(inner, list):
                            converted, names = self.block(inner)
                            setattr(holder, name, converted)
                            shared |= names
            out.append(node)
        return out, shared

    def if_(self, node: Any) -> tuple[Body, set[str]]:
        taken: set[str] = set()
        out: Body = []
        arguments = [node.test]
        state: set[str] = set()
        shared: set[str] = set()
        binds = self.scan([*node.body, *node.orelse]).binds
        for name, body in (("if_true", node.body), ("if_false", node.orelse)):
            if all(isinstance(s, gast.Pass) for s in body):
                nothing = _at(gast.Constant(None, None), node)
                lines = [s for s in body if s.lineno != node.lineno]
                if lines:  # trace functions must still see the line of the `pass` or `continue`
                    nothing.runs = self.scope.fresh("if_passes", taken)
                    taken.add(nothing.runs)
                    out.append(self.function(nothing.runs, [], lines, set(), node))
                    out[-1].invisible = True
                arguments.append(nothing)
                continue
            names = self.scan(body)
            kept = names.binds & (node.live_out | self.scope.shared)
            outer = names.binds & (kept | self.live_in(body, node.live_out))
            state |= kept | self.symbols(names, outer, binds)
            name = self.scope.fresh(name, taken)
            taken.add(name)
            outer |= self.released(body, names.binds - outer)
            shared |= outer
            out.append(self.function(name, [], body, outer, node, names))
            arguments.append(load(name, node))
        arguments += self.state(state, node)
        out.append(_made(gast.Expr, node, value=operator_call("cond", arguments, node)))
        return out, shared

    def match(self, node: Any) -> tuple[Body, set[str]]:
        """`match` as a chain of `if`s on its subject."""
        out: Body = []
        if isinstance(node.subject, gast.Name) and not self.may_change(node.subject.id, node.cases):
            name = node.subject.id
            out.append(_made(gast.Pass, node.subject, invisible=True))  # trace functions see the subject's line run
        else:
            name = self.scope.fresh("subject_", self.subjects)
            target = _at(gast.Name(name, gast.Store(), None, None), node.subject)
            out.append(_at(gast.Assign([target], node.subject, None), node.subject))
        chain = match_chain(node, name, node.live_out | self.scope.shared, self.more_cases)
        annotate_chain(chain, node)
        self.subjects.append(name)
        converted, shared = self.block(chain)
        self.subjects.pop()
        return out + converted, shared

    def may_change(self, name: str, cases: Body) -> bool:
        """Whether patterns or guards may assign the variable of the subject: later cases then use a copy."""
        guards = [case.guard for case in cases if case.guard is not None]
        bound = scan(*(case.pattern for case in cases), *guards).binds
        return name in bound or (bool(guards) and name in self.scope.shared)

    def more_cases(self) -> str:
        """The name of a further flag for the cases of a long `match`."""
        self.flags.add(name := self.scope.fresh("more_cases_", self.flags))
        return name

    def loop(self, node: Any) -> tuple[Body, set[str]]:
        scope = self.scope
        is_for = isinstance(node, gast.For)
        test = getattr(node, "test", None)
        test_binds = scan(test).binds if test is not None else set()
        always_live = node.live_head | scope.shared
        body, options = self.options(node.body)
        entry = self.live_in(node.body, node.live_head)
        parameters: list[str] = []
        if is_for:
            target = scan(node.target).binds
            if isinstance(node.target, gast.Name) and not target & always_live:
                parameters = [node.target.id]
            else:
                parameters = [scope.fresh("item_")]
                value = load(parameters[0], node.target)
                body = [_at(gast.Assign([node.target], value, None), node.target), *body]
            entry -= target
        names = self.scan(body)
        outer = names.binds & (always_live | entry) | test_binds
        outer.difference_update(parameters)
        state = outer & always_live | test_binds & (always_live | entry) | self.symbols(names, outer | set(parameters))
        outer |= self.released(body, names.binds - outer - set(parameters))
        out: Body = []
        keywords = options
        prefix = "for" if is_for else "while"
        if test is not None:
            name = scope.fresh(f"{prefix}_test")
            out.append(self.function(name, [], [_at(gast.Return(test), test)], test_binds, node))
            keywords = [_at(gast.keyword("test", load(name, node)), node), *options]
        body_name = scope.fresh(f"{prefix}_body")
        out.append(self.function(body_name, parameters, body, outer & names.binds, node, names, repeats=True))
        arguments = [load(body_name, node), *self.state(state, node)]
        if is_for:
            call = operator_call("reduce", [node.iter, *arguments], node, keywords)
        else:
            call = operator_call("while_loop", [load(name, node), *arguments], node, options)
        out.append(_at(gast.Expr(call), node))
        return out, outer

    def try_(self, node: Any) -> tuple[Body, set[str]]:
        parts = [node.body, *(h.body for h in node.handlers), *(b for b in (node.orelse, node.finalbody) if b)]
        names = [self.scan(part) for part in parts]
        flow = node.live_out | node.handler_gen | node.final_gen | self.scope.shared | frozenset(node.jumps)
        flow |= self.live_in(node.orelse, frozenset())
        binds = set().union(*(n.binds for n in names)) | {h.name.id for h in node.handlers if self.keeps_name(h, flow)}
        state = binds & flow
        state_names = set(state)
        taken: set[str] = set()
        out: Body = []
        shared: set[str] = set()

        def function(base: str, body: Body, parameters: list[str], origin: Any) -> Any:
            own = self.scan(body)
            outer = own.binds & (state | self.live_in(body, flow))
            outer.difference_update(parameters)
            state_names.update(self.symbols(own, outer | set(parameters), binds))
            outer |= self.released(body, own.binds - outer - set(parameters))
            shared.update(outer)
            name = self.scope.fresh(base, taken)
            taken.add(name)
            out.append(self.function(name, parameters, body, outer, origin, own))
            return load(name, node)

        body = function("try_body", node.body, [], node)
        handlers = []
        for handler in node.handlers:
            parameters: list[str] = []
            handled = handler.body
            if handler.name is not None:
                parameters = [handler.name.id]
                if self.keeps_name(handler, flow):
                    parameters = [self.scope.fresh("error_")]
                    handled = [self.bind_error(handler, parameters[0]), *handled, self.unbind_error(handler)]
            kinds = _at(gast.Constant(None, None), handler) if handler.type is None else lazy(handler.type)
            handlers.append(_at(gast.Tuple([kinds, function("except_body", handled, parameters, handler)], gast.Load()),
                                handler))
        keywords = []
        if handlers:
            keywords.append(_at(gast.keyword("handlers", _at(gast.Tuple(handlers, gast.Load()), node)), node))
        for name, base, block in (("orelse", "else_body", node.orelse), ("final", "finally_body", node.finalbody)):
            if block:
                keywords.append(_at(gast.keyword(name, function(base, block, [], node)), node))
        keywords += self.jumps(node)
        call = operator_call("try_", [body, *self.state(state_names, node)], node, keywords)
        out.append(_at(gast.Expr(call), node))
        return out, shared

    def jumps(self, node: Any) -> list[Any]:
        """The keyword for the flags of jumps that an error cancels (`with`), or that cancel an error (`finally`)."""
        flags = getattr(node, "jumps", None)
        if not flags:
            return []
        names = gast.Tuple([_at(gast.Constant(flag, None), node) for flag in flags], gast.Load())
        return [_at(gast.keyword("jumps", _at(names, node)), node)]

    def keeps_name(self, handler: Any, flow: frozenset[str] | set[str]) -> bool:
        """Whether code outside of the handler reads the name of its error, or captures it."""
        return handler.name is not None and handler.name.id in flow

    def bind_error(self, handler: Any, parameter: str) -> Any:
        made = _at(gast.Assign([_at(gast.Name(handler.name.id, gast.Store(), None, None), handler)],
                               load(parameter, handler), None), handler)
        made.gen, made.kill = frozenset(), frozenset({handler.name.id})
        return made

    def unbind_error(self, handler: Any) -> Any:
        made = _at(gast.Delete([_at(gast.Name(handler.name.id, gast.Del(), None, None), handler)]), handler)
        made.gen, made.kill = frozenset({handler.name.id}), frozenset()
        return made

    def with_(self, node: Any) -> tuple[Body, set[str]]:
        first, *more = node.items
        body = node.body
        if more:
            inner = _at(gast.With(more, node.body), more[0].context_expr)
            inner.python, inner.live_out, inner.exceptional = None, node.live_out, frozenset()
            inner.jumps = node.jumps
            names = scan(*more)
            inner.gen, inner.kill = frozenset(names.reads | self.live_in(node.body, frozenset())), frozenset()
            body = [inner]
        flow = node.live_out | self.scope.shared | frozenset(node.jumps)
        target = first.optional_vars
        parameters: list[str] = []
        if isinstance(target, gast.Name) and target.id not in flow:
            parameters = [target.id]
        elif target is not None:
            parameters = [self.scope.fresh("item_")]
            assign = _at(gast.Assign([target], load(parameters[0], target), None), target)
            names = scan(assign)
            assign.gen, assign.kill = frozenset(names.reads), frozenset(names.binds)
            body = [assign, *body]
        names = self.scan(body)
        outer = names.binds & (flow | self.live_in(body, frozenset(flow)))
        outer.difference_update(parameters)
        state = outer & flow | self.symbols(names, outer | set(parameters))
        outer |= self.released(body, names.binds - outer - set(parameters))
        name = self.scope.fresh("with_body")
        call = operator_call("with_", [first.context_expr, load(name, node), *self.state(state, node)], node,
                             self.jumps(node))
        return [self.function(name, parameters, body, outer, node, names), _at(gast.Expr(call), node)], outer

    def scan(self, body: Body) -> Any:
        """The names of a body, including the variables that its callees may assign (those declared nonlocal by nested
        functions)."""
        names = Names()
        for node in body:
            names.include(names_of(node))
        if names.calls:
            names.binds |= self.scope.written
        return names

    def released(self, body: Body, dead: set[str]) -> set[str]:
        """Those of the variables `dead` that the body sets to None, and that may have a value from before it."""
        if not self.releases or not dead:
            return set()
        inside = own_nodes(body)
        names = {target.id for n in inside if _releases(n) for target in n.targets} & dead
        bodys = {id(n) for n in inside}
        return names and names & (self.scope.parameters | {
            n.id for n in own_of(self.node)
            if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store) and id(n) not in bodys})

    def options(self, body: Body) -> tuple[Body, list[Any]]:
        """Remove `set_loop_options(...)` from a loop body and return its keywords, which the operator takes."""
        kept: Body = []
        options: list[Any] = []
        for node in body:
            call = node.value if isinstance(node, gast.Expr) else None
            name = getattr(getattr(call, "func", None), "attr", getattr(getattr(call, "func", None), "id", ""))
            if isinstance(call, gast.Call) and name == "set_loop_options":
                options += [_at(gast.keyword(arg=option, value=value), value)
                            for option, value in zip(_LOOP_OPTIONS, call.args, strict=False)]
                options += call.keywords
            else:
                kept.append(node)
        return kept or [_at(gast.Pass(), body[0])], options

    def live_in(self, body: Body, live_out: frozenset[str]) -> frozenset[str]:
        live = live_out
        for node in reversed(body):
            live = node.gen | (live - node.kill)
        return live

    def function(
        self, name: str, parameters: list[str], body: Body, outer: set[str], origin: Any, names: Names | None = None,
        repeats: bool = False,
    ) -> Any:
        """The nested function for a body. `outer`: the variables it binds that belong to the enclosing function;
        `names`: `self.scan(body)`; `repeats`: whether it is the body of a loop."""
        if all(hasattr(s, "gen") for s in body):
            reads = self.live_in(body, frozenset()) & self.scope.locals - set(parameters)
            self.free |= reads.difference(*self.around)
        if names is None:
            names = self.scan(body)
        own = names.binds - outer | set(parameters)
        self.around.append(own)
        body, shared = self.block(body)
        self.around.pop()
        head: Body = []
        if written := outer & self.scope.globals:
            head.append(_made(gast.Global, origin, names=sorted(written)))
        if nonlocals := outer - self.scope.globals:
            head.append(_made(gast.Nonlocal, origin, names=sorted(nonlocals)))
        inner = shared - outer - set(parameters)
        if inner := (inner and inner - bound_by(body)) | self.bound_in_lambdas(body) - outer - set(parameters):
            head += self.declare(inner, origin)
        if self.has_annotation:
            body = [_without_annotation(s, outer) for s in body]
        if body[0].lineno > origin.lineno:
            body = [_enter(origin), *body, *[_enter(origin)] * repeats]
        arguments = parameters_for(parameters, origin)
        return _made(
            gast.FunctionDef, origin, name=name, args=arguments, body=head + body, decorator_list=[], returns=None,
            type_comment=None, type_params=[], synthetic=True)

    def bound_in_lambdas(self, body: Body) -> set[str]:
        return bound_in_lambdas(body) if self.has_walrus else set()

    def symbols(self, names: Any, variables: set[str], binds: Set[str] = frozenset()) -> set[str]:
        """State other than variables: attributes, items, and containers mutated by their methods. `binds`: the
        variables that other bodies of the statement assign; a path that begins at one is not the same in all."""
        found: set[str] = set()
        for text, (root, keys) in names.symbols.items():
            own = root in names.binds  # created in the body, or a variable that is state itself
            if text == root:
                if root in variables if own else root in self.scope.locals:
                    found.add(text)
            elif not own and root not in binds and not keys & (names.binds | binds):
                found.add(text)
        return {text for text in found if not text.endswith("[:]") or not _has_part(found, text[:-3])}

    def state(self, names: set[str], origin: Any) -> list[Any]:
        owner = self.scope.class_name
        if owner is not None and owner.strip("_"):  # the compiler mangles private names, but not in text
            mangle = rf"\1_{owner.lstrip('_')}__"
            names = {_PRIVATE.sub(mangle, name) for name in names}
        return [_made(gast.Constant, origin, value=name, kind=None) for name in sorted(names)]


_METHODS: dict[type, Callable[[_Statements, Any], tuple[Body, set[str]]]] = {
    gast.If: _Statements.if_, gast.Match: _Statements.match, gast.Try: _Statements.try_, gast.With: _Statements.with_,
    **dict.fromkeys(LOOPS, _Statements.loop),
}


def _releases(node: Any) -> bool:
    """Whether a statement is `x = None`."""
    return node.__class__ is gast.Assign and node.value.__class__ is gast.Constant and node.value.value is None and all(
        target.__class__ is gast.Name for target in node.targets)


def _has_part(names: set[str], name: str) -> bool:
    """Whether `name`, or a named item of it, is one of the names."""
    return any(other == name or (other.startswith(f"{name}[") and other != f"{name}[:]") for other in names)


def _at(node: Any, origin: Any) -> Any:
    """`node` at the position of `origin`; of a compound statement, its first line."""
    return at(node, _header(origin))


def _made(cls: Any, origin: Any, **fields: Any) -> Any:
    return placed(cls, _header(origin), **fields)


def _header(origin: Any) -> Any:
    """A node with the position of a compound statement's first line; other nodes are returned unchanged."""
    if origin.end_lineno == origin.lineno or not isinstance(origin, gast.stmt):
        return origin
    found = origin.__dict__.get("header")
    if found is None:
        header = getattr(origin, "test", None) or getattr(origin, "iter", None) or origin
        one_line = header.end_lineno == origin.lineno
        found = origin.header = at(gast.Pass(), origin)
        found.end_lineno = origin.lineno
        found.end_col_offset = header.end_col_offset if one_line else origin.col_offset + 1
    return found


def _enter(origin: Any) -> Any:
    """A no-op at the line of a statement, put at the beginning of its bodies and at the end of loop bodies: a tracer of
    branches, such as that of coverage, counts the branch from there to the body's first line, as in the user's
    function. It looks up the operators, because the compiler would drop code without effect. One node serves all
    bodies."""
    found = origin.__dict__.get("enter")
    if found is None:
        operators = load(AG, _header(origin))
        operators.is_operators, operators.end_col_offset = True, operators.col_offset
        found = origin.enter = _made(gast.Expr, origin, value=operators, invisible=True)
    return found


def _without_annotation(node: Any, names: set[str]) -> Any:
    """An assignment without its annotation, since a nonlocal variable cannot be annotated; annotations of locals are
    never evaluated."""
    for _, block in blocks_of(node) if not isinstance(node, (*FUNCTIONS, gast.ClassDef)) else ():
        block[:] = [_without_annotation(s, names) for s in block]
    if isinstance(node, gast.AnnAssign) and isinstance(node.target, gast.Name) and node.target.id in names:
        if node.value is None:
            return _at(gast.Pass(), node)
        return _at(gast.Assign([node.target], node.value, None), node)
    return node



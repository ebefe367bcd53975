"""Converts a `try_` into a `cond`, so that the changes that its body made before it raised have a derivative.

The body runs in pieces: each piece that may raise is in a small `try_` whose handlers start with no state. They only
return the number of the handler to run, and its state: the variables, and the numbers that the error holds. From there
on the other pieces are skipped, and loops end. The handlers run last, outside any `try_`, as ordinary code. The region
meanwhile holds an error that a handler uses (`hold_error`).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from runtime.autodiff.activity import Activity, error_parts
from runtime.autodiff.saving import add_state, inserted, recaptured, undefined
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import copied_node
from runtime.core.op import CONST, REGISTRY, Op
from runtime.core.types import TensorType, bool_, int32, type_of_array
from runtime.ops.control import COND
from runtime.ops.effects import Deferred, Raised
from runtime.ops.exceptions import ERROR_PART, HOLD_ERROR, KEEP, RERAISE, TRY, Region, may_catch

__all__ = ["as_cond", "depends_on_body"]

_CODE, _FLAG = TensorType(int32), TensorType(bool_)


def depends_on_body(node: Node, activity: Activity) -> bool:
    """Whether a `try_`'s handler depends differentiably on values that its body computed before it raised."""
    return any(value in activity for handler in [*node.subgraphs.values()][1:]
               for value in (*handler.inputs, *(part.outputs[0] for part in error_parts(node, handler))))


def as_cond(node: Node, parts: bool = False) -> None:
    """Turn a `try_` node into a `cond` with the same results, in place. `parts`: errors that it passes on may hold
    values on which the derivative depends."""
    body, *handlers = node.subgraphs.values()
    wanted = {part.params["part"]: part for handler in handlers for part in error_parts(node, handler)}
    parts = parts or bool(wanted)
    nodes = list(body.walk())
    whole = [inner for inner in nodes if inner.op is TRY and not inner.params["region"].divided]
    for inner in whole if wanted else ():
        for handler in [*inner.subgraphs.values()][1:]:
            _keep_parts(handler, inner.params["region"], [*wanted.values()])
    for inner in reversed(nodes):  # innermost first
        if inner in whole and _has_pieces(inner, parts):
            as_cond(inner, parts)
        elif inner.op.name in ("while_loop", "reduce") and inner.params.get("test") is not None and any(
                _has_pieces(each, parts) for each in inner.params["test"].nodes):
            _test_in_body(inner)
        elif inner.op.name == "custom_gradient":  # its graph runs in the backward pass, after the `try`
            _drop_kept(inner.params["gradient"])
    graph = body.parent
    assert graph is not None
    at = graph.nodes.index(node) if node in graph.nodes else len(graph.nodes)
    always = Node(graph, CONST, (), {"value": np.array(True)}, _FLAG)
    graph.nodes.insert(at, always)
    true, false = Graph("true", graph), Graph("false", graph)
    _Pieces(node, parts).write(true)
    false.outputs = [undefined(false, value.type) for value in node.outputs]
    node.op, node.params = COND, {"true": true, "false": false}
    recaptured(node, always.outputs)
    graph.executable = None


def _has_pieces(node: Node, parts: bool) -> bool:
    """Whether a node contains a `keep` for a region outside it or, with `parts`, raises errors."""
    nodes = _with_inner(node)
    inside = {inner.params["region"] for inner in nodes if inner.op is TRY}
    return any((inner.op is KEEP and inner.params["region"] not in inside)
               or (parts and ("raised" in inner.params or inner.op is RERAISE)) for inner in nodes)


def _with_inner(node: Node) -> list[Node]:
    return [node, *(inner for graph in node.subgraphs.values() for inner in graph.walk())]


def _keep_parts(handler: Graph, region: Region, parts: Sequence[Node]) -> None:
    """Add these parts of the error to nodes of a handler that raise it again."""
    if not any(inner.op is RERAISE and inner.params["region"] is region for inner in handler.walk()):
        return
    with inserted(handler, handler.nodes[0]):
        made = {part.params["part"]: handler.add_node(
            ERROR_PART, (), part.params | {"region": region}, part.outputs[0].type, part.position) for part in parts}
    _reraise_with(handler, region, {name: node.outputs[0] for name, node in made.items()})


def _reraise_with(graph: Graph, region: Region, parts: Mapping[int | str, Value]) -> None:
    for node in graph.nodes:
        operands = node.operands
        if node.op is RERAISE and node.params["region"] is region:
            have = dict(zip(node.params.get("parts", ()), operands)) | {
                name: _in(graph, value) for name, value in parts.items()}
            node.inputs, node.params["parts"] = [*have.values()], (*have,)
        for inner in node.subgraphs.values():
            _reraise_with(inner, region, parts)
        if node.subgraphs:
            recaptured(node, operands)
    graph.executable = None


def _test_in_body(loop: Node) -> None:
    """Let a loop's body evaluate the test at its end, where an error may end the iteration; the test itself then only
    reads the result."""
    if loop.params.get("limited"):
        _count_iterations(loop)
    body, test = loop.params["body"], loop.params["test"]
    graph = body.parent
    operands = loop.operands
    with inserted(graph, loop):
        start = (_spliced(test, graph, operands)[0] if loop.op.name == "while_loop"
                 else _constant(graph, np.array(True)))
    after = _spliced(test, body, body.outputs)[0]
    body.add_input(_FLAG, "test")
    test.nodes, test.captures, test._captured = [], [], {}
    recaptured(loop, operands)
    add_state(loop, start, after)
    test.outputs = [test.inputs[-1]]


def _count_iterations(loop: Node) -> None:
    """Make the iteration limit of a loop a part of its test."""
    body, old = loop.params["body"], loop.params["test"]
    graph = body.parent
    limit, *operands = loop.operands
    del loop.params["limited"]
    recaptured(loop, operands)
    with inserted(graph, loop):
        zero = _number(graph, 0, limit)
    more = _applied(body, "add", body.add_input(limit.type, "count"), _number(body, 1, limit))
    test = loop.params["test"] = Graph(old.name, graph)
    state = [test.add_input(value.type, value.hint) for value in old.inputs]
    recaptured(loop, operands)
    add_state(loop, zero, more)
    operands = loop.operands
    test.outputs = [_and(test, _applied(test, "less", test.inputs[-1], _in(test, limit)), lambda true: _spliced(
        old, true, [_in(true, value) for value in state])[0])]
    recaptured(loop, operands)


def _and(graph: Graph, flag: Value, rest: Callable[[Graph], Value]) -> Value:
    """`flag and rest()`; `rest` adds its nodes to the graph passed to it."""
    true, false = Graph("true", graph), Graph("false", graph)
    true.outputs = [rest(true)]
    false.outputs = [_constant(false, np.array(False))]
    made = graph.add_node(COND, [flag], {"true": true, "false": false}, (_FLAG,))
    recaptured(made, [flag])
    return made.outputs[0]


def _number(graph: Graph, number: int, like: Value) -> Value:
    """A constant of the dtype of a scalar."""
    assert isinstance(like.type, TensorType)
    return _constant(graph, np.array(number, like.type.dtype.np))


def _applied(graph: Graph, name: str, *operands: Value) -> Value:
    op = REGISTRY[name]
    return graph.add_node(op, operands, {}, op.rule(*[value.type for value in operands])).outputs[0]


def _spliced(graph: Graph, into: Graph, inputs: Sequence[Value]) -> list[Value]:
    """Append the nodes of a sub-graph to an enclosing graph, or one nested there; returns the results."""
    made = dict(zip(graph.inputs, inputs, strict=True))
    for outer, inner in graph.captures:
        made[inner] = into.capture(outer, inner.type)
    for node in graph.nodes:
        made.update(zip(node.outputs, copied_node(node, into, made).outputs, strict=True))
    return [made[value] for value in graph.outputs]


class _Exit(NamedTuple):
    """Where the body was left: the number of the handler to run, from 1, or 0 for none; and its state."""

    code: Value
    state: list[Value]


@dataclass
class _Piece:
    """Nodes that run together, after `keep` nodes of other regions. `state`: the initial state of a handler, if one may
    be needed. `alone`: it is a single node whose sub-graphs consist of pieces, too, or which raises an error with
    parts."""

    state: Sequence[Value] | None
    nodes: list[Node]
    alone: bool = False


class _Pieces:
    def __init__(self, node: Node, alone: bool) -> None:
        self.node = node
        self.alone = alone  # whether nodes that raise are pieces of their own
        self.old: Region = node.params["region"]
        self.kinds = node.params["kinds"]
        self.body, *self.handlers = node.subgraphs.values()
        self.region = Region(self.old.line)
        self.region.caught, self.region.divided = self.old.caught, True
        self.retains_error = any(_regions(inner, self.old) for handler in self.handlers for inner in handler.walk())
        self.parts = {part.params["part"]: part.outputs[0].type for handler in self.handlers
                      for part in error_parts(node, handler)}
        self.types = [*self.old.types, *self.parts.values()]
        self.made = {outer: outer for sub in node.subgraphs.values() for outer, _ in sub.captures}
        """Maps values of the old graphs to those of the new ones."""

    def write(self, into: Graph) -> None:
        exit_ = self.level(self.body, into)
        into.outputs = self.end(0, into, None) if exit_ is None else self.choose(0, into, exit_)

    def choose(self, code: int, into: Graph, exit_: _Exit) -> list[Value]:
        """The results, given an exit whose code is `code` or higher."""
        if code == len(self.handlers):
            return self.end(code, into, exit_)
        true, false = Graph("true", into), Graph("false", into)
        true.outputs = self.end(code, true, exit_)
        false.outputs = self.choose(code + 1, false, exit_)
        return list(self.add(into, COND, [self.is_code(code, into, exit_)], {"true": true, "false": false}).outputs)

    def end(self, code: int, into: Graph, exit_: _Exit | None) -> list[Value]:
        """The results of the body, or of the handler with this code."""
        if exit_ is None or not code:
            return [self.local(into, value) for value in self.body.outputs]
        return self.handle(self.handlers[code - 1], into, exit_)

    def handle(self, handler: Graph, into: Graph, exit_: _Exit) -> list[Value]:
        self.made.update(zip(handler.inputs, exit_.state))
        parts = dict(zip(self.parts, exit_.state[len(handler.inputs):], strict=True))
        self.enter(handler)
        first = len(into.nodes)
        for node in handler.nodes:
            if node in error_parts(self.node, handler):
                self.made[node.outputs[0]] = parts[node.params["part"]]
            else:
                self.copy(node, into)
        for made in into.nodes[first:]:
            _redirect(made, self.old, self.region)
        if self.retains_error:
            self.add(into, HOLD_ERROR, [], {"region": self.region, "held": False})
        return [self.local(into, value) for value in handler.outputs]

    # The body.

    def level(self, old: Graph, into: Graph) -> _Exit | None:
        """Write the nodes of a graph of the body; returns None if none of them can make a handler run."""
        self.enter(old)
        pieces = self.split(old.nodes)
        exit_: _Exit | None = None
        later: set[Value] = set(old.outputs)
        wanted: list[list[Value]] = []
        for piece in reversed(pieces):
            wanted.append([value for node in piece.nodes for value in node.outputs if value in later])
            later.update(value for node in piece.nodes for value in node.inputs)
            later.update(piece.state or ())
        for piece, wants in zip(pieces, reversed(wanted), strict=True):
            exit_ = self.piece(piece, into, wants) if exit_ is None else self.unless_exited(piece, into, wants, exit_)
        return exit_

    def split(self, nodes: Iterable[Node]) -> list[_Piece]:
        pieces = [_Piece(() if not self.old.types else None, [])]
        for node in nodes:
            last = pieces[-1]
            if node.op is KEEP:
                if any(inner.op is not KEEP for inner in last.nodes):
                    pieces.append(last := _Piece(last.state, []))
                if node.params["region"] is self.old:
                    last.state = node.inputs
                else:
                    last.nodes.append(node)
            elif _has_pieces(node, self.alone):
                pieces += [_Piece(last.state, [node], True), _Piece(last.state, [])]
            else:
                last.nodes.append(node)
        return [piece for piece in pieces if piece.nodes]

    def piece(self, piece: _Piece, into: Graph, wants: Sequence[Value]) -> _Exit | None:
        nodes = piece.nodes
        if piece.alone and nodes[0].subgraphs and nodes[0].op is not TRY:
            return self.loop(nodes[0], into) if nodes[0].op is not COND else self.cond(nodes[0], into)
        kept = [node for node in nodes if node.op is KEEP]
        for node in kept:
            self.copy(node, into)
        nodes = nodes[len(kept):]
        if piece.state is None or not any(
                may_catch(kind, error) for node in nodes for error in node.errors for kinds in self.kinds
                for kind in kinds):
            for node in nodes:
                self.copy(node, into)
            return None
        return self.attempt(nodes, piece.state, into, wants)

    def attempt(self, nodes: Sequence[Node], state: Sequence[Value], into: Graph, wants: Sequence[Value]) -> _Exit:
        """Write nodes in a `try_`."""
        body = Graph("body", into)
        graphs = {"body": body}
        for k in range(len(self.handlers)):
            handler = graphs[f"handler{k}"] = Graph(f"handler{k}", into)
            if self.retains_error:
                self.add(handler, HOLD_ERROR, [], {"region": self.region, "held": True})
            exit_ = _Exit(_code(handler, k + 1), [
                *(self.local(handler, value) for value in state), *self.error_values(nodes, handler)])
            handler.outputs = [*(undefined(handler, value.type) for value in wants), *self.exits(exit_, handler)]
        for node in nodes:
            self.copy(node, body)
        body.outputs = [*(self.local(body, value) for value in wants), *self.exits(None, body)]
        made = self.add(into, TRY, [], {**graphs, "region": self.region, "kinds": self.kinds})
        return self.take(made, wants)

    def error_values(self, nodes: Sequence[Node], into: Graph) -> list[Value]:
        """The parts of the error raised by nodes, in the given graph."""
        found = _raised(nodes[0]) if self.parts else {}
        if found is None and any("raised" in each.params or each.op is RERAISE
                                 for node in nodes for each in _with_inner(node)):
            error = UnimplementedError(
                "the derivative depends on what an error holds that is raised again where it is not known",
                remedy="Assign it to a variable before raising, and use that in the handler.")
            locate(error, self.node.position)
            raise error
        values = []
        for name, type in self.parts.items():
            part = (found or {}).get(name)
            part = part.constant if isinstance(part, Value) and part.constant is not None else part
            if isinstance(part, Value):
                values.append(self.local(into, part))
            elif part is None or not isinstance(type, TensorType):
                values.append(undefined(into, type))
            else:
                values.append(_constant(into, np.asarray(part, type.dtype.np)))
        return values

    def unless_exited(self, piece: _Piece, into: Graph, wants: Sequence[Value], exit_: _Exit) -> _Exit:
        """Write a piece that runs only if no earlier one has made a handler run."""
        true, false = Graph("true", into), Graph("false", into)
        own = self.piece(piece, true, wants)
        after = own or exit_
        true.outputs = [*(self.local(true, value) for value in wants), *self.exits(after, true)]
        false.outputs = [*(undefined(false, value.type) for value in wants), *self.exits(exit_, false)]
        made = self.add(into, COND, [self.is_code(0, into, exit_)], {"true": true, "false": false})
        return self.take(made, wants)

    def cond(self, node: Node, into: Graph) -> _Exit:
        graphs = {}
        for name, sub in node.subgraphs.items():
            graph = graphs[name] = Graph(name, into)
            exit_ = self.level(sub, graph)
            graph.outputs = [*(self.local(graph, value) for value in sub.outputs), *self.exits(exit_, graph)]
        made = self.add(into, COND, [self.local(into, value) for value in node.operands], graphs)
        return self.take(made, node.outputs)

    def loop(self, node: Node, into: Graph) -> _Exit:
        """Write a loop that ends if a handler has to run."""
        body: Graph = node.params["body"]
        params: dict[str, Any] = {**node.params, "body": Graph("body", into), "test": Graph("test", into)}
        new: Graph = params["body"]
        self.made.update((value, new.add_input(value.type, value.hint)) for value in body.inputs)
        for type in (_CODE, *self.types):
            new.add_input(type)
        exit_ = self.level(body, new)
        new.outputs = [*(self.local(new, value) for value in body.outputs), *self.exits(exit_, new)]
        self.test(node, params["test"])
        none = self.exits(None, into)
        made = self.add(into, node.op, [*(self.local(into, value) for value in node.operands), *none], params)
        return self.take(made, node.outputs)

    def test(self, loop: Node, new: Graph) -> None:
        """Write the test: `code == 0`, and the old test if there was one."""
        old: Graph | None = loop.params.get("test")
        state = [new.add_input(value.type, value.hint) for value in loop.params["body"].inputs[-len(loop.outputs):]]
        code, *kept = [new.add_input(type) for type in (_CODE, *self.types)]
        goes_on = self.is_code(0, new, _Exit(code, kept))
        if old is None:
            new.outputs = [goes_on]
            return
        self.made.update(zip(old.inputs, state, strict=True))
        self.enter(old)

        def rest(true: Graph) -> Value:
            for node in old.nodes:
                self.copy(node, true)
            return self.local(true, old.outputs[0])

        new.outputs = [_and(new, goes_on, rest)]

    # Nodes and values.

    def enter(self, graph: Graph) -> None:
        self.made.update((inner, self.made[outer]) for outer, inner in graph.captures)

    def local(self, into: Graph, value: Value) -> Value:
        """The value of `into` that corresponds to one of the old graphs."""
        return _in(into, self.made[value])

    def exits(self, exit_: _Exit | None, into: Graph) -> list[Value]:
        """The values of an exit in a graph; without one, code 0 and an undefined state."""
        if exit_ is None:
            return [_code(into, 0), *(undefined(into, type) for type in self.types)]
        return [_in(into, value) for value in (exit_.code, *exit_.state)]

    def take(self, made: Node, olds: Sequence[Value]) -> _Exit:
        """Map old values to the first results of a node; the remaining ones are an exit."""
        self.made.update(zip(olds, made.outputs))
        code, *state = made.outputs[len(olds):]
        return _Exit(code, state)

    def is_code(self, code: int, into: Graph, exit_: _Exit) -> Value:
        return _applied(into, "equal", _in(into, exit_.code), _code(into, code))

    def copy(self, node: Node, into: Graph) -> None:
        made = copied_node(node, into, {value: self.local(into, value) for value in node.inputs})
        self.made.update(zip(node.outputs, made.outputs, strict=True))

    def add(self, into: Graph, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Node:
        types = op.rule(*[value.type for value in operands], **params)
        node = into.add_node(op, operands, params, types, self.node.position)
        recaptured(node, operands)
        return node


def _raised(node: Node) -> dict[int | str, Any] | None:
    """The parts of the error raised by a node, or by the single raising node in an inner `try_`: operands and
    constants. None if they are unknown."""
    if node.op is RERAISE:
        return dict(zip(node.params["parts"], node.operands)) if "parts" in node.params else None
    raised: Raised | None = node.params.get("raised")
    if raised is not None:
        operands = node.operands[node.op.name == "raise_unless":]
        parts: dict[int | str, Any] = dict(enumerate(raised.args))
        parts.update(raised.attributes)
        return {name: operands[part.start] if isinstance(part, Deferred) else part for name, part in parts.items()}
    if node.op is not TRY:
        return None
    body = node.params["body"]
    inner = [found for each in body.nodes if (found := _raised(each)) is not None]
    if len(inner) != 1:
        return None
    outside = {value: outer for outer, value in body.captures}
    return {name: outside.get(part, part) if isinstance(part, Value) else part for name, part in inner[0].items()}


def _in(graph: Graph, value: Value) -> Value:
    return graph.capture(value, value.type)


def _constant(graph: Graph, array: np.ndarray[Any, Any]) -> Value:
    return graph.add_node(CONST, (), {"value": array}, type_of_array(array)).outputs[0]


def _code(graph: Graph, code: int) -> Value:
    return _constant(graph, np.array(code, np.int32))


def _regions(node: Node, region: Region) -> bool:
    """Whether a node uses the error passed to a handler of the region."""
    raised = node.params.get("raised")
    return node.params.get("region") is region or (isinstance(raised, Raised) and raised.cause is region)


def _redirect(node: Node, old: Region, new: Region) -> None:
    for each in _with_inner(node):
        if _regions(each, old):
            name = "region" if "region" in each.params else "raised"
            each.params[name] = new if name == "region" else replace(each.params[name], cause=new)


def _drop_kept(graph: Graph) -> None:
    for each in (graph, *(sub for node in graph.walk() for sub in node.subgraphs.values())):
        inside = {node.params["region"] for node in graph.walk() if node.op is TRY}
        each.nodes = [node for node in each.nodes if node.op is not KEEP or node.params["region"] in inside]

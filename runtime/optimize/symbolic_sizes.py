"""Which unknown sizes of a graph are equal: each size of a tensor is a number or a symbol, and equal symbols are equal
sizes whenever both values exist.

The shape rules say of a size only whether it is known. Here a size of a result follows from those of the operands, and
from ints that the graph computes of sizes. Where nothing is known of it, it is a symbol of its own, so an op without a
rule is no obstacle. A loop's state is assumed to keep the sizes that it starts with, until an iteration disagrees.

Sizes of different inputs that meet in an element-wise op are usually equal, as those of a batch and its labels are.
So is an input that says what size an operand had before it was broadcast, as derivatives do, and the size after it.
With `hopes` they are assumed to be: `assumed` has these assumptions, which the caller must check. It must also check
that the unknown sizes of inputs are at most `SMALL`, so that the product of two of them fits 64 bits.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, TensorType, int32, int64
from runtime.optimize.size_rules import NUMBERS, RULES
from runtime.optimize.symbols import SMALL, Numbers, Shape, Size, Symbol, either, factors_of, is_size

__all__ = ["VALUE", "Place", "Sizes"]

VALUE: Final = -1
Place = tuple[int, int]  # the number of an input of the graph, and an axis; VALUE: the int that the input is
_MOST_ROUNDS: Final = 8  # of the analysis of a loop's body


class Sizes:
    """The sizes of all values of a graph and its sub-graphs."""

    def __init__(self, graph: Graph, hopes: bool = False) -> None:
        self.graph = graph
        self.hopes = hopes
        self.leaders: dict[Place, Place] = {}  # sizes of inputs assumed to equal those of others
        self.needs_small = False  # whether something follows only if the sizes of inputs are at most `SMALL`
        known = -1
        while known < len(self.leaders):  # each round assumes more
            known = len(self.leaders)
            self.shapes: dict[Value, Shape | None] = {}  # of lists: those of the elements, None if there are none
            self.numbers: dict[Value, Numbers] = {}  # the elements of int scalars and vectors; what all of a list are
            self.symbols: dict[Any, Symbol] = {}
            self._whole()

    @property
    def assumed(self) -> list[tuple[Place, Place]]:
        """Pairs of sizes of inputs, or of ints and such sizes, that are assumed to be equal."""
        return [(place, self._leader(place)) for place in self.leaders]

    def inputs(self) -> Iterator[tuple[Place, Symbol]]:
        """The unknown sizes of the inputs, with their symbols."""
        for number, value in enumerate(self.graph.inputs):
            if isinstance(value.type, TensorType):
                for axis, size in enumerate(self.shapes[value] or ()):
                    if isinstance(size, Symbol):
                        yield (number, axis), size

    def of(self, value: Value) -> Shape:
        """The sizes of a tensor; of a list those that all elements have."""
        shape = self.shapes.get(value)
        return self.own(value) if shape is None else shape

    def equal(self, x: Value, y: Value) -> bool:
        """Whether two tensors have one shape."""
        return self.of(x) == self.of(y)

    # Symbols.

    def symbol(self, key: Any, homes: frozenset[Graph], is_size: bool = True) -> Symbol:
        found = self.symbols.get(key)
        if found is None:
            found = self.symbols[key] = Symbol(key, homes, is_size)
        return found

    def of_sizes(self, name: Any, *operands: Any, is_size: bool = True) -> Symbol:
        """The symbol of a function of sizes; other operands may be any hashable objects."""
        homes = frozenset[Graph]().union(*[x.homes for x in operands if isinstance(x, Symbol)])
        return self.symbol((name, *operands), homes, is_size)

    def product(self, count: int, factors: Sequence[Symbol]) -> Size:
        """The product of a number and sizes that are no products."""
        if not factors or not count:
            return count
        if count == 1 and len(factors) == 1:
            return factors[0]
        ordered = tuple(sorted(factors, key=lambda x: id(x)))
        key = "product", count, *ordered
        if key not in self.symbols:
            homes = frozenset[Graph]().union(*[x.homes for x in ordered])
            self.symbols[key] = Symbol(key, homes, True, (count, ordered))
        return self.symbols[key]

    def is_small(self, size: Size) -> bool:
        """Whether a size is known to be at most `SMALL`."""
        if isinstance(size, Symbol) and self.hopes and size.key[0] == "input" and size.is_size:
            self.needs_small = True
            return True
        return isinstance(size, int) and 0 <= size <= SMALL

    def own(self, value: Value) -> Shape:
        """Sizes of which nothing but the type is known."""
        type = value.type
        dims = type.element.shape if isinstance(type, ListType) else type.shape
        return tuple([self.symbol((value, axis), frozenset([value.graph])) if size is None else size
                      for axis, size in enumerate(dims)])

    def _leader(self, place: Place) -> Place:
        while place in self.leaders:
            place = self.leaders[place]
        return place

    def meet(self, xs: Sequence[Size], ys: Sequence[Size]) -> None:
        """Assume that sizes of inputs are equal, if that is hoped, from the next round on. Only the latter may be ints
        that inputs are."""
        for x, y in zip(xs, ys, strict=True):
            if self.hopes and isinstance(x, Symbol) and isinstance(y, Symbol) and x is not y and (
                    x.key[0] == y.key[0] == "input") and x.is_size:
                leader, other = self._leader(x.key[1:]), self._leader(y.key[1:])
                if leader != other:
                    self.leaders[other] = leader

    def broadcast(self, shapes: Sequence[Shape]) -> Shape:
        """The shape to which shapes broadcast."""
        rank = max([len(shape) for shape in shapes], default=0)
        result: list[Size] = []
        for axis in range(-rank, 0):
            size: Size = 1
            for other in [shape[axis] for shape in shapes if len(shape) >= -axis]:
                if other in (1, size) or (isinstance(size, int) and size != 1):
                    continue
                if isinstance(other, int) or size == 1:
                    size = other
                    continue
                self.meet([size], [other])
                assert isinstance(size, Symbol)
                size = self.of_sizes("broadcast", size, other)
            result.append(size)
        return tuple(result)

    # The walk.

    def _whole(self) -> None:
        for number, value in enumerate(self.graph.inputs):
            shape, type = self.own(value), value.type
            if self.hopes and isinstance(type, TensorType) and not shape and type.dtype is int64:
                place = self._leader((number, VALUE))
                self.numbers[value] = (self.symbol(("input", *place), frozenset([self.graph]), place[1] != VALUE),)
            if isinstance(type, TensorType):
                shape = tuple([self.symbol(("input", *self._leader((number, axis))), frozenset([self.graph]))
                               if isinstance(size, Symbol) else size for axis, size in enumerate(shape)])
            self.shapes[value] = shape
        self._walk(self.graph)

    def _walk(self, graph: Graph) -> None:
        for outer, inner in graph.captures:
            if isinstance(outer, Value):
                self._alias(inner, outer)
        for node in graph.nodes:
            if node.subgraphs:
                self._control(node)
                continue
            number = NUMBERS.get(node.op.name)
            if number is not None:
                self._count(node, number)
            rule = RULES.get(node.op.name)
            if rule is not None:
                self._set(node, rule(self, node))

    def _alias(self, new: Value, old: Value) -> None:
        self.shapes[new] = self.shapes[old] if old in self.shapes else self.own(old)
        if old in self.numbers:
            self.numbers[new] = self.numbers[old]

    def _set(self, node: Node, shapes: Sequence[Shape | None]) -> None:
        """Record the sizes of a node's results; the types may know more of them."""
        for value, shape in zip(node.outputs, shapes, strict=True):
            if shape is not None:
                shape = tuple([mine if isinstance(mine, int) else size
                               for mine, size in zip(self.own(value), shape, strict=True)])
            self.shapes[value] = shape

    def _count(self, node: Node, rule: Callable[[Sizes, Node], Numbers | None]) -> None:
        type = node.outputs[0].type
        if isinstance(type, TensorType) and type.dtype in (int32, int64) and type.ndim < 2:
            found = rule(self, node)
            if found is not None:
                self.numbers[node.outputs[0]] = found

    def number(self, value: Value) -> Size | None:
        """What an int scalar is, if it is made of sizes."""
        elements = self.elements(value)
        return elements[0] if elements is not None and len(elements) == 1 else None

    def elements(self, value: Value) -> Numbers | None:
        """The elements of an int scalar or vector; None if nothing is known of them."""
        constant = value.constant
        if constant is not None and constant.dtype.kind in "iu" and constant.ndim < 2 and constant.size <= 16:
            return tuple([int(x) for x in constant.reshape(-1)])
        return self.numbers.get(value)

    def asked(self, node: Node, operands: int = 1) -> list[Size | None]:
        """The sizes that a node asks for by its param `dims` and, behind its other operands, a vector; None where
        nothing is known of them."""
        dims = node.params["dims"]
        found = self.elements(node.inputs[operands]) if len(node.inputs) > operands else None
        sizes = [None] * len(dims) if found is None or len(found) != len(dims) else found
        return [size if d is None else d for d, size in zip(dims, sizes, strict=True)]

    def reshapes(self, node: Node) -> bool:
        """Whether a `reshape` surely has as many elements as its operand."""
        before, after, asked = self.of(node.inputs[0]), self.of(node.outputs[0]), self.asked(node)
        if any(not is_size(size) and not (size == -1 and known) for size, known in zip(asked, [
                all(isinstance(other, int) and other > 0 for j, other in enumerate(asked) if j != k)
                for k in range(len(asked))], strict=True)):
            return False
        counts = [factors_of(shape) for shape in (before, after)]
        return counts[0] == counts[1] and counts[0][0] != 0

    # Control flow.

    def _control(self, node: Node) -> None:
        if node.op.name == "cond":
            true, false = node.params["true"], node.params["false"]
            self._walk(true)
            self._walk(false)
            self._set(node, [self._joined(value, (true, x), (false, y)) for value, x, y in zip(
                node.outputs, true.outputs, false.outputs, strict=True)])
        elif node.op.name in ("while_loop", "reduce"):
            self._loop(node)
        else:
            for graph in node.subgraphs.values():
                self._walk(graph)

    def _joined(self, value: Value, *ways: tuple[Graph, Value]) -> Shape | None:
        """The sizes of a result that is one of several values of sub-graphs."""
        shapes = [shape if (shape := self._as(value, x)) is None else self._outside(
            graph, shape) for graph, x in ways]
        written = [shape for shape in shapes if shape is not None]
        if not written and isinstance(value.type, ListType):
            return None
        return tuple([sizes[0] if len(set(sizes)) == 1 and sizes[0] is not None else mine
                      for mine, *sizes in zip(self.own(value), *written, strict=True)])

    def _as(self, value: Value, x: Value) -> Shape | None:
        """The sizes of what becomes another value: none of a list without elements, whose type may be another."""
        shape = self.shapes.get(x, self.own(x))
        return None if shape is None or len(shape) != len(self.own(value)) else shape

    def _outside(self, graph: Graph, shape: Numbers) -> Numbers:
        """The sizes that are defined outside of a sub-graph; None for the others."""
        return tuple([None if isinstance(size, Symbol) and any(graph.contains(home) for home in size.homes) else size
                      for size in shape])

    def _loop(self, node: Node) -> None:
        body, test, count = node.params["body"], node.params.get("test"), len(node.outputs)
        operands = node.operands[len(node.operands) - count:]
        state = body.inputs[len(body.inputs) - count:]
        bound = [self._as(value, x) for value, x in zip(state, operands, strict=True)]
        items = [self.numbers.get(x) if isinstance(x.type, ListType) else None for x in operands]
        for _ in range(_MOST_ROUNDS):
            self._bind(state, bound, items)
            self._walk(body)
            after = [self._kept(value, body, out, shape) for value, out, shape in zip(
                state, body.outputs, bound, strict=True)]
            left = [self._items(body, self.numbers.get(out), item) for out, item in zip(
                body.outputs, items, strict=True)]
            if after == bound and left == items:
                break
            bound, items = after, left
        else:
            bound, items = [self.own(value) for value in state], [None] * count
            self._bind(state, bound, items)
            self._walk(body)
        if test is not None:
            self._bind(test.inputs[len(test.inputs) - count:], bound, items)
            self._walk(test)
        self._bind(node.outputs, [], [None if item is None else self._outside(body, item) for item in items])
        self._set(node, [shape if shape is None else tuple([
            mine if size is None else size for mine, size in zip(self.own(value), self._outside(
                body, shape), strict=True)]) for value, shape in zip(node.outputs, bound, strict=True)])

    def _bind(self, values: Sequence[Value], shapes: Sequence[Shape | None], items: Sequence[Numbers | None]) -> None:
        """Record the sizes of values, and what their items are."""
        self.shapes.update(zip(values, shapes))
        for value, item in zip(values, items, strict=True):
            self.numbers.pop(value, None)
            if item is not None:
                self.numbers[value] = item

    def _items(self, body: Graph, after: Numbers | None, before: Numbers | None) -> Numbers | None:
        """What the items of a list are, given what was assumed, if an iteration ends with `after`."""
        found = either(before, after)
        return None if found is None else self._outside(body, found)

    def _kept(self, value: Value, body: Graph, out: Value, before: Shape | None) -> Shape | None:
        """The sizes of a loop's state, given those assumed, if an iteration ends with `out`."""
        after = self._as(value, out)
        if after is None or before is None:
            shape = before if after is None else self._outside(body, after)
            return None if shape is None else tuple([
                mine if size is None else size for mine, size in zip(self.own(value), shape, strict=True)])
        return tuple([size if size == other or size is mine else mine
                      for mine, size, other in zip(self.own(value), before, after, strict=True)])

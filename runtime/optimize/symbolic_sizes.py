"""Which unknown sizes of a graph are equal: each size of a tensor is a number or a symbol, and equal symbols are equal
sizes whenever both values exist.

The shape rules say of a size only whether it is known. Here a size of a result follows from those of the operands, and
from ints that the graph computes of sizes. Where nothing is known of it, it is a symbol of its own, so an op without a
rule is no obstacle. A loop's state is assumed to keep the sizes that it starts with, until an iteration disagrees.

Sizes of different inputs that meet in an element-wise op are usually equal, as those of a batch and its labels are.
With `hopes` they are assumed to be: `assumed` has these assumptions, which the caller must check. It must also check
that the unknown sizes of inputs are at most `SMALL`, so that the product of two of them fits 64 bits.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, TensorType, int32, int64
from runtime.ops.op_makers import ELEMENTWISE

__all__ = ["SMALL", "Place", "Shape", "Size", "Sizes", "Symbol"]

SMALL: Final = (1 << 31) - 1


class Symbol:
    """An unknown size, or an int computed of sizes. `homes`: the graphs of the values that it is made of. `is_size`: it
    is not negative. `factors`: a number and symbols whose product it is."""

    __slots__ = ("factors", "homes", "is_size", "key")

    @property
    def is_several(self) -> bool:
        """Whether elements of a list have several sizes here."""
        return isinstance(self.key[0], Value) and isinstance(self.key[0].type, ListType)

    def __init__(self, key: Any, homes: frozenset[Graph], is_size: bool,
                 factors: tuple[int, tuple[Symbol, ...]] | None = None) -> None:
        self.key = key
        self.homes = homes
        self.is_size = is_size
        self.factors = factors or (1, (self,))


Size = int | Symbol
Shape = tuple[Size, ...]
Numbers = tuple[Size | None, ...]
Place = tuple[int, int]  # the number of an input of the graph, and an axis

_SAME: Final = frozenset((
    "argsort", "cast", "cholesky", "cumprod", "cumsum", "list_cast", "list_slice", "setitem", "stop_gradient"))
"""Other ops whose result has the sizes of the first operand; of lists those of the elements."""
_REDUCTIONS: Final = frozenset((
    "reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum"))
_ARITHMETIC: Final = ("add", "floordiv", "maximum", "minimum", "multiply", "subtract")
_MOST_ROUNDS: Final = 8  # of the analysis of a loop's body


def either(x: Numbers | None, y: Numbers | None) -> Numbers | None:
    """What the items of a list are, if some are `x` and some `y`; () if there are none, None if nothing is known."""
    return None if x is None or y is None else x or y if not (x and y) or x == y else None


class _Restart(Exception):
    """Two sizes of inputs were assumed to be equal."""


class Sizes:
    """The sizes of all values of a graph and its sub-graphs."""

    def __init__(self, graph: Graph, hopes: bool = False) -> None:
        self.graph = graph
        self.hopes = hopes
        self.leaders: dict[Place, Place] = {}  # sizes of inputs assumed to equal those of others
        self.needs_small = False  # whether something follows only if the sizes of inputs are at most `SMALL`
        while True:
            self.shapes: dict[Value, Shape | None] = {}  # of lists: those of the elements, None if there are none
            self.numbers: dict[Value, Numbers] = {}  # the elements of int scalars and vectors; what all of a list are
            self.symbols: dict[Any, Symbol] = {}
            try:
                self._whole()
                return
            except _Restart:
                continue

    @property
    def assumed(self) -> list[tuple[Place, Place]]:
        """Pairs of sizes of inputs that are assumed to be equal."""
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
        if isinstance(size, Symbol) and self.hopes and size.key[0] == "input":
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
        """Assume that sizes of inputs are equal, if that is hoped."""
        for x, y in zip(xs, ys, strict=True):
            if self.hopes and isinstance(x, Symbol) and isinstance(y, Symbol) and x is not y and (
                    x.key[0] == y.key[0] == "input"):
                self.leaders[y.key[1:]] = x.key[1:]
                raise _Restart

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
            shape = self.own(value)
            if isinstance(value.type, TensorType):
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
            number = _NUMBERS.get(node.op.name)
            if number is not None:
                self._count(node, number)
            rule = _RULES.get(node.op.name)
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
        if any(not _is_size(size) and not (size == -1 and known) for size, known in zip(asked, [
                all(isinstance(other, int) and other > 0 for j, other in enumerate(asked) if j != k)
                for k in range(len(asked))], strict=True)):
            return False
        counts = [_factors(shape) for shape in (before, after)]
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
        shapes = [shape if (shape := self.shapes.get(x, self.own(x))) is None else self._outside(
            graph, shape) for graph, x in ways]
        written = [shape for shape in shapes if shape is not None]
        if not written and isinstance(value.type, ListType):
            return None
        return tuple([sizes[0] if len(set(sizes)) == 1 and sizes[0] is not None else mine
                      for mine, *sizes in zip(self.own(value), *written, strict=True)])

    def _outside(self, graph: Graph, shape: Numbers) -> Numbers:
        """The sizes that are defined outside of a sub-graph; None for the others."""
        return tuple([None if isinstance(size, Symbol) and any(graph.contains(home) for home in size.homes) else size
                      for size in shape])

    def _loop(self, node: Node) -> None:
        body, test, count = node.params["body"], node.params.get("test"), len(node.outputs)
        operands = node.operands[len(node.operands) - count:]
        state = body.inputs[len(body.inputs) - count:]
        bound = [self.shapes.get(x, self.own(x)) for x in operands]
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
        after = self.shapes.get(out, self.own(out))
        if after is None or before is None:
            shape = before if after is None else self._outside(body, after)
            return None if shape is None else tuple([
                mine if size is None else size for mine, size in zip(self.own(value), shape, strict=True)])
        return tuple([size if size == other or size is mine else mine
                      for mine, size, other in zip(self.own(value), before, after, strict=True)])


# Ints.

def _dim(s: Sizes, node: Node) -> Numbers:
    return (s.of(node.inputs[0])[node.params["axis"]],)


def _cast(s: Sizes, node: Node) -> Numbers | None:
    source, target, found = node.inputs[0].type, node.outputs[0].type, s.elements(node.inputs[0])
    assert isinstance(source, TensorType) and isinstance(target, TensorType)
    if found is None or source.dtype is target.dtype or (source.dtype is int32 and target.dtype is int64):
        return found
    return tuple([x if x is not None and s.is_small(x) else None for x in found])


def _stacked(s: Sizes, node: Node) -> Numbers:
    return tuple([s.number(x) for x in node.inputs])


def _concatenated(s: Sizes, node: Node) -> Numbers | None:
    parts = [s.elements(x) for x in node.inputs]
    if any(part is None for part in parts):
        return None
    return tuple([x for part in parts for x in part or ()])


def _chosen(s: Sizes, node: Node) -> Numbers | None:
    x, y = (s.number(value) for value in node.inputs[1:])
    return (x,) if x is not None and x == y else None


def _moved(s: Sizes, node: Node) -> Numbers | None:
    """A scalar as a vector, or a vector as a scalar."""
    return s.elements(node.inputs[0])


def _picked(s: Sizes, node: Node) -> Numbers | None:
    found, (entry, *more) = s.elements(node.inputs[0]), node.params["index"]
    if found is None or more or not node.inputs[0].type.shape:  # type: ignore[union-attr]
        return None
    if type(entry) is int and -len(found) <= entry < len(found):
        return (found[entry],)
    return found[slice(*entry)] if type(entry) is tuple and "?" not in entry and entry[2] != 0 else None


def _computed(s: Sizes, node: Node) -> Numbers | None:
    name, (x, y), type = node.op.name, (s.number(value) for value in node.inputs), node.outputs[0].type
    if x is None or y is None or (isinstance(x, int) and isinstance(y, int)):
        return None
    if name == "maximum" and isinstance(x, int):
        x, y = y, x
    if _is_neutral(name, x, y):
        return (x,)
    if name == "floordiv" and isinstance(y, Symbol) and y.key[1:] == ("maximum", x, 1) and _is_size(x):
        return (s.of_sizes("sign", x),)  # 1, or 0 for 0
    small = s.is_small(x) and s.is_small(y) and isinstance(type, TensorType) and type.dtype is int64
    if name == "multiply" and small:
        count, symbols = _factors((x, y))
        return (s.product(count, [*symbols.elements()]),)
    is_size = _is_size(x) and _is_size(y) and (name in ("floordiv", "maximum", "minimum") or (name == "add" and small))
    return (s.of_sizes(type, name, x, y, is_size=is_size),)


def _is_neutral(name: str, x: Size, y: Size) -> bool:
    """Whether the result for x and y is x."""
    if name in ("maximum", "minimum"):
        return x is y or (name == "maximum" and isinstance(y, int) and y <= 0 and _is_size(x))
    return y == (0 if name in ("add", "subtract") else 1)


_Number = Callable[[Sizes, Node], Numbers | None]
_NUMBERS: Final[dict[str, _Number]] = {
    "dim": _dim, "cast": _cast, "stack": _stacked, "concat": _concatenated, "where": _chosen, "expand_dims": _moved,
    "squeeze": _moved, "getitem": _picked, **dict.fromkeys(_ARITHMETIC, _computed)}


# Shapes.

def _elementwise(s: Sizes, node: Node) -> list[Shape | None]:
    return [s.broadcast([s.of(x) for x in node.inputs])]


def _first(s: Sizes, node: Node) -> list[Shape | None]:
    return [s.shapes.get(node.inputs[0], s.own(node.inputs[0]))]


def _reduced(s: Sizes, node: Node) -> list[Shape | None]:
    axes = node.params["axis"]
    axes = (axes,) if isinstance(axes, int) else axes
    shape: list[Size] = []
    for axis, size in enumerate(s.of(node.inputs[0])):
        if axis not in axes:
            shape.append(size)
        elif node.params.get("keepdims"):
            shape.append(1)
    return [tuple(shape)]


def _matmul(s: Sizes, node: Node) -> list[Shape | None]:
    x, y = (s.of(value) for value in node.inputs)
    s.meet(x[-1:], y[-2:-1])
    return [(*s.broadcast([x[:-2], y[:-2]]), x[-2], y[-1])]


def _solve(s: Sizes, node: Node) -> list[Shape | None]:
    x, y = (s.of(value) for value in node.inputs)
    s.meet(x[-1:], y[-2:-1])
    return [(*s.broadcast([x[:-2], y[:-2]]), *y[-2:])]


def _transposed(s: Sizes, node: Node) -> list[Shape | None]:
    shape = s.of(node.inputs[0])
    return [tuple([shape[axis] for axis in node.params["perm"]])]


def _expanded(s: Sizes, node: Node) -> list[Shape | None]:
    axes, sizes = node.params["axis"], iter(s.of(node.inputs[0]))
    return [tuple([1 if axis in axes else next(sizes) for axis in range(len(s.own(node.outputs[0])))])]


def _squeezed(s: Sizes, node: Node) -> list[Shape | None]:
    return [tuple([size for axis, size in enumerate(s.of(node.inputs[0])) if axis not in node.params["axis"]])]


def _indexed(s: Sizes, node: Node) -> list[Shape | None]:
    sizes, shape = iter(s.of(node.inputs[0])), list[Size]()
    own = s.own(node.outputs[0])
    for entry in node.params["index"]:
        if entry is None:
            shape.append(1)
            continue
        size = next(sizes)
        if type(entry) is tuple:
            full = entry in ((None, None, None), (None, None, -1))
            shape.append(size if full else own[len(shape)] if "?" in entry or isinstance(size, int) else
                         s.of_sizes("slice", size, entry))
    return [(*shape, *sizes)]


def _concat(s: Sizes, node: Node) -> list[Shape | None]:
    shapes, along = [s.of(x) for x in node.inputs], node.params["axis"]
    result: list[Size] = []
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        if axis == along:
            open_ = [size for size in sizes if isinstance(size, Symbol)]
            known = sum([size for size in sizes if isinstance(size, int)])
            result.append(s.of_sizes("sum", known, *open_) if open_ and (known or len(open_) > 1) else
                          open_[0] if open_ else known)
        else:
            result.append(next((size for size in sizes if isinstance(size, int)), sizes[0]))
    return [tuple(result)]


def _split(s: Sizes, node: Node) -> list[Shape | None]:
    shape, along, sections = s.of(node.inputs[0]), node.params["axis"], node.params["sections"]
    size, results = shape[along], list[Shape | None]()
    for value in node.outputs:
        part = s.own(value)[along]
        if isinstance(size, Symbol) and isinstance(part, Symbol):
            part = s.of_sizes("part", size, sections)
        results.append((*shape[:along], part, *shape[along + 1:]))
    return results


def _stack(s: Sizes, node: Node) -> list[Shape | None]:
    shape, axis = s.of(node.inputs[0]), node.params["axis"]
    return [(*shape[:axis], len(node.inputs), *shape[axis:])]


def _broadcast_to(s: Sizes, node: Node) -> list[Shape | None]:
    asked = s.asked(node)
    return [tuple([mine if size is None else size for mine, size in zip(s.own(node.outputs[0]), asked, strict=True)])]


def _reshaped(s: Sizes, node: Node) -> list[Shape | None]:
    shape, own = s.of(node.inputs[0]), s.own(node.outputs[0])
    asked = [size if mine is None or isinstance(mine, Symbol) else mine for mine, size in zip(
        own, s.asked(node), strict=True)]
    result: list[Size] = []
    for k, (mine, size) in enumerate(zip(own, asked, strict=True)):
        others = [other for j, other in enumerate(asked) if j != k]
        if size == -1 and all(_is_size(other) for other in others):
            size = _quotient(s, shape, others)  # type: ignore[arg-type]
        result.append(size if size is not None and _is_size(size) else mine)
    return [tuple(result)]


def _is_size(size: Size | None) -> bool:
    return size.is_size if isinstance(size, Symbol) else size is not None and size >= 0


def _factors(sizes: Sequence[Size]) -> tuple[int, Counter[Symbol]]:
    """The product of sizes, as a number and symbols."""
    count, symbols = 1, Counter[Symbol]()
    for size in sizes:
        factor, more = (size, ()) if isinstance(size, int) else size.factors
        count *= factor
        symbols.update(more)
    return count, symbols


def _quotient(s: Sizes, whole: Shape, parts: Sequence[Size]) -> Size | None:
    """The size that is left of a tensor's elements: none of the parts is 0, else the op raises."""
    (count, above), (divisor, below) = map(_factors, (whole, parts))
    common = above & below
    above, below = above - common, below - common
    if divisor and count % divisor == 0 and not below:
        return s.product(count // divisor, [*above.elements()])
    return s.of_sizes("quotient", count, divisor, *sorted(above.elements(), key=id), "by",
                      *sorted(below.elements(), key=id))


def _pool(s: Sizes, node: Node) -> list[Shape | None]:
    shape, own = s.of(node.inputs[0]), s.own(node.outputs[0])
    return [(shape[0], *own[1:-1], shape[-1])]


def _conv(s: Sizes, node: Node) -> list[Shape | None]:
    own = s.own(node.outputs[0])
    return [(s.of(node.inputs[0])[0], *own[1:])]


def _conv_gradient(s: Sizes, node: Node) -> list[Shape | None]:
    asked = s.asked(node, 2)
    return [tuple([mine if size is None else size for mine, size in zip(s.own(node.outputs[0]), asked, strict=True)])]


def _gather(s: Sizes, node: Node) -> list[Shape | None]:
    (x, places), axis, batch = (s.of(value) for value in node.inputs), node.params["axis"], node.params["batch_dims"]
    s.meet(x[:batch], places[:batch])
    return [(*x[:axis], *places[batch:], *x[axis + 1:])]


def _scattered(s: Sizes, node: Node) -> list[Shape | None]:
    x, places, updates = (s.of(value) for value in node.inputs)
    s.meet(places[:-1], updates[:len(places) - 1])
    return [x]


def _range(s: Sizes, node: Node) -> list[Shape | None]:
    start, limit, delta = (s.number(x) for x in node.inputs)
    counts = start == 0 and delta == 1 and limit is not None and _is_size(limit)
    return [(limit,) if counts and limit is not None else s.own(node.outputs[0])]


# Lists.

def _list_new(s: Sizes, node: Node) -> list[Shape | None]:
    shape: Shape | None = None
    s.numbers[node.outputs[0]] = ()
    for item in node.inputs:
        shape = _both(s, node.outputs[0], shape, s.of(item))
        _add_item(s, node.outputs[0], node.outputs[0], item)
    return [shape]


def _add_item(s: Sizes, made: Value, old: Value, item: Value) -> None:
    """Record what the items of a list are."""
    number = s.number(item)
    found = either(s.numbers.get(old), None if number is None else (number,))
    s.numbers.pop(made, None)
    if found is not None:
        s.numbers[made] = found


def _both(s: Sizes, value: Value, x: Shape | None, y: Shape | None) -> Shape | None:
    """The sizes of a list's elements, of which some have the shape `x`, some `y`."""
    if x is None or y is None:
        return x or y
    return tuple([a if a == b else mine for mine, a, b in zip(s.own(value), x, y, strict=True)])


def _with_item(s: Sizes, node: Node) -> list[Shape | None]:
    made = node.outputs[0]
    _add_item(s, made, node.inputs[0], node.inputs[-1])
    return [_both(s, made, s.shapes.get(node.inputs[0], s.own(made)), s.of(node.inputs[-1]))]


def _with_items(s: Sizes, node: Node) -> list[Shape | None]:
    made = node.outputs[0]
    return [_both(s, made, *[s.shapes.get(x, s.own(made)) for x in node.inputs])]


def _list_get(s: Sizes, node: Node) -> list[Shape | None]:
    found = s.numbers.get(node.inputs[0])
    s.numbers.pop(node.outputs[0], None)
    if found:
        s.numbers[node.outputs[0]] = found
    return [tuple([mine if isinstance(size, Symbol) and size.is_several else size for mine, size in zip(
        s.own(node.outputs[0]), s.of(node.inputs[0]), strict=True)])]


_Rule = Callable[[Sizes, Node], "list[Shape | None]"]
_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys((*ELEMENTWISE, "where"), _elementwise),
    **dict.fromkeys(_SAME, _first),
    **dict.fromkeys((*_REDUCTIONS, "argmax", "argmin"), _reduced),
    "matmul": _matmul, "solve": _solve, "transpose": _transposed, "expand_dims": _expanded, "squeeze": _squeezed,
    "getitem": _indexed, "concat": _concat, "split": _split, "stack": _stack, "broadcast_to": _broadcast_to,
    "reshape": _reshaped, "max_pool": _pool, "max_pool_argmax": _pool, "conv": _conv, "conv_input": _conv_gradient,
    "conv_filters": _conv_gradient, "gather": _gather, "scatter": _scattered, "range": _range, "list_new": _list_new,
    "list_append": _with_item, "list_set": _with_item, "list_extend": _with_items, "list_get": _list_get}

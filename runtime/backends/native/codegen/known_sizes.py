"""Unknown sizes that are equal get one name in the code, so that they are known to be equal there."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime.backends.native.codegen.index_expressions import Array
from runtime.backends.native.llvm.builder import Builder, Index, Val, const
from runtime.core.graph import Graph, Node, Value
from runtime.core.types import ListType, Shape
from runtime.optimize import rewrite
from runtime.optimize.equal_sizes import simplified
from runtime.optimize.list_sizes import lists_of_one_shape
from runtime.optimize.symbolic_sizes import VALUE, Place, Sizes
from runtime.optimize.symbols import SMALL, Size, Symbol

__all__ = ["KnownSizes", "analysed", "open_sizes"]


def open_sizes(dims: Sequence[Index]) -> tuple[int | str, ...]:
    """The sizes of a shape that are not 1, sorted."""
    return tuple(sorted([size if isinstance(size, int) else size.ref for size in dims if not (
        isinstance(size, int) and size == 1)], key=str))


def analysed(graph: Graph, hopes: bool) -> tuple[Graph, Sizes | None]:
    """A graph without what equal sizes make needless, and its sizes; the graph itself if all are known."""
    if all(None not in shape for shape in _shapes(graph)):
        return graph, None
    copy = rewrite(graph, rules=(), keep_captures=True)
    sizes = Sizes(copy, hopes)
    simplified(copy, sizes)
    return copy, sizes


def _shapes(graph: Graph) -> Iterable[Shape]:
    for value in graph.values():
        yield value.type.element.shape if isinstance(value.type, ListType) else value.type.shape


class KnownSizes:
    """The names of sizes: `vals` has those that the current code can use."""

    def __init__(self, sizes: Sizes | None = None) -> None:
        self.sizes = sizes
        self.lists = {} if sizes is None else lists_of_one_shape(sizes.graph, sizes)
        self.vals: dict[Symbol, Val] = {}

    def name(self, values: Mapping[Value, Any] | Iterable[tuple[Value, Any]]) -> None:
        """Give the sizes of arrays the names that equal sizes have."""
        sizes = self.sizes
        if sizes is None:
            return
        for value, x in values.items() if isinstance(values, Mapping) else values:
            shape = sizes.shapes.get(value)
            if shape and isinstance(x, Array) and any([isinstance(size, Val) for size in x.dims]):
                x.dims = tuple([self._named(size, d) for size, d in zip(shape, x.dims, strict=True)])

    def _named(self, size: Size, d: Index) -> Index:
        if isinstance(size, int) or isinstance(d, int):
            return size if isinstance(size, int) else d
        return self.vals.setdefault(size, d)

    def index(self, b: Builder, size: Size | None) -> Index | None:
        """The number, or the name of a size; None if it has none here."""
        if not isinstance(size, Symbol) or size in self.vals:
            return self.vals.get(size) if isinstance(size, Symbol) else size
        count, factors = size.factors
        found = [self.vals.get(factor) for factor in factors]
        if None in found:
            return None
        made = b.product([count, *[factor for factor in found if factor is not None]])
        assert isinstance(made, Val)
        return self.vals.setdefault(size, made)

    def list_dims(self, b: Builder, value: Value) -> tuple[Index, ...] | None:
        """The shape of the elements of a list, if it has unknown sizes that have names."""
        found = [self.index(b, size) for size in self.lists.get(value, ())]
        return tuple([size for size in found if size is not None]) or None

    def asked(self, b: Builder, node: Node, operands: int) -> list[Index | None]:
        """The sizes that a node asks for behind its other operands, as far as they have names here."""
        if self.sizes is None:
            return [None] * len(node.params["dims"])
        return [self.index(b, size) for size in self.sizes.asked(node, operands)]

    def has(self, x: Val) -> bool:
        """Whether this is the name of a size."""
        return any(x.ref == size.ref for size in self.vals.values())

    def reshaped(self, b: Builder, node: Node) -> list[Index] | None:
        """The sizes of the result of a `reshape` that does not raise; None if it may, or they have no names here."""
        if self.sizes is None or not self.sizes.reshapes(node):
            return None
        found = [self.index(b, size) for size in self.sizes.of(node.outputs[0])]
        return None if None in found else [size for size in found if size is not None]

    def differ(self, b: Builder, inputs: Sequence[Any]) -> Val | None:
        """Whether the sizes of the inputs are other than assumed."""
        def at(place: Place) -> Val:
            x, axis = inputs[place[0]], place[1]
            return x.val if axis == VALUE else b.i64(x.dims[axis])

        sizes = self.sizes
        if sizes is None or not (sizes.assumed or sizes.needs_small):
            return None
        bad: Val | None = None
        for place, other in sizes.assumed:
            found = b.icmp("ne", at(place), at(other))
            bad = found if bad is None else b.or_(bad, found)
        if sizes.needs_small:
            for place, _ in sizes.inputs():
                found = b.icmp("ugt", at(place), const("i64", SMALL))
                bad = found if bad is None else b.or_(bad, found)
        return bad

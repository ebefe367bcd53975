"""The code of a graph with timestamps, for calls that are profiled.

Each unit of execution is timed: fused loops, kernels, control flow, callbacks to Python. No unit is split up for that,
so native code does the same work as without timestamps: the ops that share a loop are one region, with their names and
lines. Inside loops only units that take much longer than reading a clock are timed; the rest is the loop's own time.
Code that runs on other threads, in lanes or block by block is part of the region that starts it.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from runtime.backends.native.abi.callbacks import KernelSite, Site, StreamSite
from runtime.backends.native.abi.clock import BYTES, EVENTS, HEADER, ITERATIONS, LOG, NOW, REGIONS, RUNS, WORDS
from runtime.backends.native.codegen import fusion
from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Map, Scalar
from runtime.backends.native.kernels.shapes import integer
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.backends.native.loops.if_conversion import LOOPS
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.profiling import KINDS, Region, ops_text
from runtime.core.types import DType, TensorType, shape_text

__all__ = ["TimedLowering"]

_WORTH: Final = 4096
"""Elements times operations from which on a region inside a loop is timed."""
_SHORT: Final = 8
"""Up to this many lines, code without calls is not timed."""
_PART_OF: Final = {"dim", "gather", "getitem", "list_get", "list_stack", "setitem", "slice"}
"""Ops that access only a part of their operands."""
_CALLBACKS: Final = {"call", "iterator_next", "iterator_next_or_none", "numpy_function", "print", "py_function"}
"""Ops that take microseconds, whatever the sizes of their operands."""


def _is_long(lines: Sequence[str], short: int) -> bool:
    """Whether code has more than `short` lines, or calls a function while `short` is the default."""
    return len(lines) > short or (short == _SHORT and any(" call " in line and "@llvm." not in line for line in lines))


def _size_text(x: Array) -> str:
    return shape_text(tuple([d if isinstance(d, int) else None for d in x.dims]))


class TimedLowering(Lowering):
    """A `Lowering` whose code writes the times of its regions (`timed`), by number, to `table`."""

    def __init__(self, graph: Graph, fast_math: bool = False, fma: bool = True, vector_bits: int = 512) -> None:
        super().__init__(graph, fast_math, fma, vector_bits)
        self.table = np.zeros(HEADER + WORDS * REGIONS + 3 * EVENTS, np.int64)
        self.table[1] = EVENTS
        self.call = Region("call", graph.name)
        self.timed: list[Region] = []
        self.counted: set[int] = set()  # the numbers of the loops whose iterations are counted
        self.bytes: dict[int, int] = {}
        """By the number of a region, the largest array of a known size that it allocates."""
        self._place: Val | None = None
        self._open: list[Region] = [self.call]
        self._numbers: dict[Region, int] = {}
        self._origins: dict[Array, Node] = {}
        self._turns: dict[Graph, Val] = {}  # by the body of a loop, the counter of its iterations
        self._muted = 0

    # Words of the table.

    def _word(self, number: int, word: int) -> Val:
        if self._place is None:
            place = self.constant(self.table)
            assert isinstance(place, Leaf)
            self._place = place.pointer
        return self.b.offset(self._place, HEADER + WORDS * number + word, "i64")

    def _increase(self, number: int, word: int, value: Val) -> None:
        place = self._word(number, word)
        self.b.store(self.b.add(self.b.load("i64", place), value), place)

    # Regions.

    @property
    def _is_timed(self) -> bool:
        """Whether the code being written is in the graph's own function, and not in a part that is not timed."""
        return not (self.inside or self._muted or self.b.prefix or self.b.done) and len(self.timed) < REGIONS - 1

    def _opened(self, region: Region) -> int:
        self._numbers[region] = len(self.timed)
        self.timed.append(region)
        self._open.append(region)
        return self._numbers[region]

    @contextmanager
    def _timed(self, region: Region, short: int = _SHORT) -> Iterator[int]:
        """Time the code that the `with` body writes, unless it is short; yields the number of the region."""
        b, mark = self.b, len(self.b.lines)
        number = self._opened(region)
        try:
            yield number
        finally:
            self._open.pop()
        if self.b is b and not b.done and _is_long(b.lines[mark:], short):
            start = self._insert(mark, f"call i64 @{NOW}()")
            self.module.declare(NOW, "i64")
            self.module.declare(LOG, "void", "ptr", "i64", "i64")
            b.call("void", LOG, self._word(0, -HEADER), const("i64", number), start)

    def _insert(self, mark: int, text: str) -> Val:
        """Insert an instruction before the lines written since `mark`."""
        self.b.count += 1
        name = f"%t{self.b.count}"
        self.b.types[name] = "i64"
        self.b.lines.insert(mark, f"  {name} = {text}")
        return Val("i64", name)

    def _sources(self, roots: Sequence[Any]) -> list[Node]:
        """The nodes that a loop which stores these expressions computes."""
        found: dict[Node, None] = {}
        visited: set[int] = set()

        def visit(x: Any) -> None:
            if isinstance(x, Array) and id(x) not in visited and not isinstance(x, Leaf) and (
                    getattr(x, "leaf", None) is None):
                visited.add(id(x))
                for arg in getattr(x, "args", ()):
                    visit(arg)
                if x in self._origins:
                    found[self._origins[x]] = None

        for root in roots:
            visit(root)
        return list(found)

    def _fused(self, roots: Sequence[Array]) -> Region:
        nodes = self._sources(roots)
        names = [node.op.name for node in nodes] or fusion.names(roots) or ["copy"]
        places = [node.position for node in nodes] or [None if self.current is None else self.current.position]
        note = f"over {_size_text(roots[0])}" + (", one loop" if len(names) > 1 else "")
        return Region("fused" if len(names) > 1 else "op", ops_text(names), self._open[-1], names, places, note)

    def _is_worth(self, sizes: Sequence[Sequence[Index | None]], times: int = 1) -> bool:
        """Whether work on arrays of these sizes is worth timing here."""
        known = [math.prod(size if isinstance(size, int) else _WORTH for size in shape) for shape in sizes if shape]
        return bool(known) and (not self.loops or max(known) * times >= _WORTH)

    def _node_is_worth(self, node: Node) -> bool:
        if any(inner.op.name in _CALLBACKS for graph in node.subgraphs.values() for inner in graph.walk()):
            return True
        if node.subgraphs:
            return not self.loops or any(self._node_is_worth(inner) for graph in node.subgraphs.values()
                                         for inner in graph.nodes if not inner.subgraphs)
        values = node.outputs if node.op.name in _PART_OF else (*node.inputs, *node.outputs)
        shapes = [v.type.shape for v in values if isinstance(v.type, TensorType)]
        times = 1
        if node.op.name in ("matmul", "einsum") and shapes[0]:
            times = shapes[0][-1] or _WORTH
        return self._is_worth(shapes, times)

    # Overridden methods.

    def run(self, graph: Graph, env: dict[GraphValue, Value]) -> list[Value]:
        swept = any(graph in node.subgraphs.values() for node, _ in self.swept)
        self._muted += swept
        cell = self._turns.get(graph)
        if cell is not None and self._is_timed:
            self.b.store(self.b.add(self.b.load("i64", cell), const("i64", 1)), cell)
        results = super().run(graph, env)
        self._muted -= swept
        return results

    def node(self, node: Node, values: list[Value], dead: frozenset[int], env: dict[GraphValue, Value],
             last: dict[GraphValue, int], node_index: int) -> Sequence[Value]:
        def write() -> Sequence[Value]:
            return super(TimedLowering, self).node(node, values, dead, env, last, node_index)

        if not self._is_timed or node.op.name == "const":
            return write()
        if node.op.name in LOOPS:
            return self._loop(node, values, write)
        if not self._node_is_worth(node):
            results = write()
        else:
            parts = self._sources(values) if not node.subgraphs else []
            names = [*[part.op.name for part in parts], node.op.name]
            places = [*[part.position for part in parts], node.position]
            kind = KINDS.get(node.op.name, "fused" if parts else "op")
            with self._timed(Region(kind, ops_text(names), self._open[-1], names, places)):
                results = write()
        for x in results:
            if isinstance(x, Map):
                self._origins.setdefault(x, node)
        return results

    def _loop(self, node: Node, values: list[Value], write: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        body = node.params["body"]
        inner = [part.op.name for part in body.nodes if part.op.name not in ("const", "undefined")]
        region = Region("loop", node.op.name, self._open[-1], inner, [node.position])
        known = node.op.name == "reduce" and node.params.get("stream") is None and node.params.get("test") is None
        if not known:
            cell = self._turns[body] = self.b.alloca("i64")
            self.b.store(const("i64", 0), cell)
        worth = self._node_is_worth(node)
        with self._timed(region, _SHORT if worth else 1 << 30) as number:
            results = write()
        if self.b.done:
            return results
        region.note = self._how(node)
        uncounted = not known and (node in self.blocked or node in self.speculations or any(
            node is swept for swept, _ in self.swept))
        if not worth:
            self._increase(number, RUNS, const("i64", 1))
        if uncounted:
            region.note += ", iterations are not counted"
        else:
            self.counted.add(number)
            self._increase(number, ITERATIONS, integer(self, values[0]) if known else self.b.load("i64", cell))
        return results

    def _how(self, node: Node) -> str:
        """How a loop runs, if not as a plain loop; else an empty string."""
        if node in self.blocked:
            return "block by block, in registers"
        for swept, steps in self.swept:
            if swept is node:
                return f"{steps} steps in one pass over memory"
        lanes = self.laned.get(node)
        return f"{lanes} iterations at a time, in lanes" if isinstance(lanes, int) else ""

    def store_all(self, roots: Sequence[tuple[Array, Leaf]]) -> None:
        arrays = [x for x, _ in roots]
        if not roots or not self._is_timed or not self._is_worth([x.dims for x in arrays]):
            super().store_all(roots)
            return
        with self._timed(self._fused(arrays)):
            super().store_all(roots)

    def leaf(self, x: Value) -> Leaf:
        stored = (isinstance(x, Leaf) and x.flat) or getattr(x, "leaf", None) is not None
        if isinstance(x, Scalar) or not isinstance(x, Array) or stored or not self._is_timed or (
                not self._is_worth([x.dims])):
            return super().leaf(x)
        with self._timed(self._fused([x])):
            return super().leaf(x)

    def copy(self, source: Leaf, pointer: Val) -> None:
        if not self._is_timed or not self._is_worth([source.dims]):
            super().copy(source, pointer)
            return
        place = None if self.current is None else self.current.position
        with self._timed(Region("op", "copy", self._open[-1], ["copy"], [place], f"of {_size_text(source)}"), 0):
            super().copy(source, pointer)

    def memory(self, dtype: DType, dims: Sequence[Index]) -> Leaf:
        number = self._numbers.get(self._open[-1])
        if self._is_timed and number is not None:
            size = self.b.imul(self.b.product(dims), dtype.size)
            if isinstance(size, int):
                self.bytes[number] = max(size, self.bytes.get(number, 0))
            else:
                place = self._word(number, BYTES)
                self.b.store(self.b.intrinsic("smax", size, self.b.load("i64", place)), place)
        return super().memory(dtype, dims)

    def _asked(self, function: str, site: Site, space: Val) -> Val:
        if not self._is_timed or not isinstance(site, (KernelSite, StreamSite)) or (
                isinstance(site, KernelSite) and site.failing):
            return super()._asked(function, site, space)
        node = site.node if isinstance(site, KernelSite) else self.current
        if isinstance(site, StreamSite):
            name = "next element" if site.specs is None else "start of a dataset"
        else:
            assert node is not None
            func = node.params.get("func")
            name = node.op.name if func is None else f"{node.op.name}: {getattr(func, '__qualname__', func)}"
        region = Region("python", name, self._open[-1], [name], [None if node is None else node.position])
        with self._timed(region, 0):
            return super()._asked(function, site, space)

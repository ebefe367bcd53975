"""Lowering of `try_`, and of the ops that belong to it.

Errors in the body jump to one block. There, variables are first written back to Python, as before an error leaves the
whole call, and read again. Then Python selects the handler for the exception. Each `keep` copies the handlers' initial
state to memory of the region. While a handler runs, its region's run is open (`runtime.ops.exceptions`), so that
kernels find the exception.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from runtime.backends.native.abi.callbacks import Call, Refusal, Site, words_at
from runtime.backends.native.abi.interrupts import INTERRUPTED, RAISE
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, listed, lowers
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Scalar
from runtime.backends.native.codegen.list_storage import REFUSAL_WORD, REFUSED
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.variables import Variable
from runtime.backends.native.control.subgraph_values import captured, changed, joined, pack
from runtime.backends.native.llvm.builder import Val, const
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.op import Errors
from runtime.core.types import ListType, TensorType, Type
from runtime.ops.exceptions import Region, Run

__all__: list[str] = []


# Callbacks to Python.

class CatchSite(Site):
    """Selects the handler for the exception, if its initial state has been saved: returns its number and opens the
    region's run; else -1. First closes a run that an interrupted call of the site has opened."""

    def __init__(self, region: Region, kinds: Sequence[Errors]) -> None:
        self.region = region
        self.kinds = kinds

    def run(self, call: Call, words: int) -> None:
        error = call.error
        assert error is not None
        space = words_at(words, 2)
        region = self.region
        depth = call.kept.setdefault(region, len(region.runs))
        found = [k for k, caught in enumerate(self.kinds) if space[0] and isinstance(error, caught)]
        region.runs[depth:] = [Run((), error)] if found else []
        space[1] = found[0] if found else -1
        if found:
            call.error = None


class EndSite(Site):
    """Ends a handler, perhaps with another exception, and makes the first exception that one's context."""

    def __init__(self, region: Region) -> None:
        self.region = region

    def run(self, call: Call, words: int) -> None:
        runs, depth = self.region.runs, call.kept[self.region]
        handled = runs[depth].error if len(runs) > depth else None  # None: a call of the site was interrupted
        last = call.error
        while handled is not None and last is not None and last is not handled:
            if last.__context__ is None:
                last.__context__ = handled
            last = last.__context__
        del runs[depth:]


class RefusalSite(Site):
    """Raises the refusal whose number is in the word."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = refusals

    def run(self, call: Call, words: int) -> None:
        raise self.refusals[words_at(words, 1)[0]].error()


# The saved state of handlers.

class SavedState:
    """The saved state of a region, in memory, and whether it has been saved."""

    def __init__(self, w: Lowering, region: Region) -> None:
        self.types = region.types
        self.there = w.b.alloca("i8")
        w.b.store(const("i8", int(not region.types)), self.there)
        self.cells = [_cell(w, type) for type in region.types]

    def keep(self, w: Lowering, values: Sequence[Value]) -> None:
        for cell, type, x in zip(self.cells, self.types, values, strict=True):
            cell.keep(w, w.as_type(x, type))
        w.b.store(const("i8", 1), self.there)

    def values(self, w: Lowering) -> list[Value]:
        return [cell.value(w) for cell in self.cells]


def _cell(w: Lowering, type: Type) -> ScalarCell | ArrayCell | ListCell | ObjectCell:
    if isinstance(type, ListType):
        return ListCell(w, type) if listed(type) else ObjectCell(w)
    assert isinstance(type, TensorType)
    return ArrayCell(w, type) if type.shape else ScalarCell(w, type)


class ScalarCell:
    def __init__(self, w: Lowering, type: TensorType) -> None:
        self.dtype = type.dtype
        ty = llvm_type(type.dtype)
        self.ty = ty
        self.place = w.b.alloca("i8" if ty == "i1" else ty)

    def keep(self, w: Lowering, x: Value) -> None:
        w.b.store(w.element(x), self.place)

    def value(self, w: Lowering) -> Value:
        return Scalar(self.dtype, w.b.load(self.ty, self.place))


class ArrayCell:
    def __init__(self, w: Lowering, type: TensorType) -> None:
        self.type = type
        self.slot = w.new_slot()
        self.pointer, *self.sizes = (w.b.alloca("i64") for _ in range(1 + len(type.shape)))

    def keep(self, w: Lowering, x: Value) -> None:
        b = w.b
        source = w.leaf(x)
        target = w.slot_memory(self.slot, b.imul(b.product(source.dims), source.dtype.size))
        w.copy(source, target)
        b.store(target, self.pointer)
        for size, place in zip(source.dims, self.sizes, strict=True):
            b.store(b.i64(size), place)

    def value(self, w: Lowering) -> Value:
        dims = [w.b.load("i64", place) if known is None else known
                for known, place in zip(self.type.shape, self.sizes, strict=True)]
        return Leaf(self.type.dtype, dims, w.b.load("ptr", self.pointer))


class ListCell:
    def __init__(self, w: Lowering, type: ListType) -> None:
        self.list = w.new_list(type, const("i64", 0))
        self.length = w.b.alloca("i64")

    def keep(self, w: Lowering, x: Value) -> None:
        assert isinstance(x, Listed)
        w.b.store(w.copy_list(x, self.list.pair).length, self.length)

    def value(self, w: Lowering) -> Value:
        kept = self.list
        return Listed(kept.dtype, kept.dims, kept.pair, w.b.load("i64", self.length), scratch=False)


class ObjectCell:
    def __init__(self, w: Lowering) -> None:
        self.place = w.new_object()

    def keep(self, w: Lowering, x: Value) -> None:
        assert isinstance(x, Boxed)
        w.move([(self.place, x.place)])

    def value(self, w: Lowering) -> Value:
        return Boxed(self.place)


# The ops.

@lowers("keep")
def keep(w: Lowering, node: Node, *values: Value) -> None:
    w.regions[node.params["region"]].keep(w, values)


@lowers("reraise")
def reraise(w: Lowering, node: Node, *parts: Value) -> None:
    w.raise_by(node, ())


@lowers("error_text", "error_part")
def error_part(w: Lowering, node: Node) -> Value:
    raise NotNative("Python has the error")


class Exit:
    """The target block of errors, which jumps elsewhere. `used`: whether any code jumps to it."""

    def __init__(self, w: Lowering, hint: str) -> None:
        self.w = w
        self.label = w.b.label(hint)
        self.used = False

    def __call__(self, status: int) -> None:
        w = self.w
        if status == INTERRUPTED:
            w.module.declare(RAISE, "void", "ptr")
            w.b.call("void", RAISE, w.frame)
        elif status == REFUSED:
            w.ask(RefusalSite(w.refusals), [w.word(REFUSAL_WORD, "i64")])
        w.b.jump(self.label)
        self.used = True


@lowers("try_")
def try_(w: Lowering, node: Node, *values: Value) -> list[Value]:
    return _Try(w, node, values).write()


class _End(NamedTuple):
    """An end of the body or of a handler of a `try`."""

    packed: list[Val]
    block: str
    results: list[Value]
    dirty: dict[Variable, None]


class _Try:
    """Writes the code of a `try_`: the body, the call of Python that selects a handler for an error, the handlers, and
    the block where they merge."""

    def __init__(self, w: Lowering, node: Node, values: Sequence[Value]) -> None:
        self.w, self.node = w, node
        self.region: Region = node.params["region"]
        self.body, *self.handlers = node.subgraphs.values()
        self.envs = captured(w, node, values)
        self.storages = changed(w, self.body, *self.handlers)
        self.before = dict(w.variables)
        self.types: list[Type] = [v.type for v in node.outputs] + [s.type for s in self.storages]
        self.places = [w.new_object() if isinstance(type, ListType) and not listed(type) else None
                       for type in self.types]
        self.kept = w.regions[self.region] = SavedState(w, self.region)
        self.after = w.b.label("tried")
        self.ends: list[_End] = []
        self.caught, self.failed = Exit(w, "caught"), Exit(w, "failed")

    def write(self) -> list[Value]:
        """Write all the code; returns the results."""
        w = self.w
        w.exits.append(self.caught)
        self.part(self.body, self.envs[0], lambda: None)
        w.exits.pop()
        if self.caught.used:
            w.b.start(self.caught.label)
            self.dispatch()
            if self.failed.used:
                w.b.start(self.failed.label)
                self.leave_handler()
                w.fail(1)
        del w.regions[self.region]
        w.variables = self.before
        w.b.lines.append(f"{self.after}:")
        w.b.block, w.b.done = self.after, False
        return self.merge()

    def part(self, graph: Graph, env: dict[GraphValue, Value], finish: Callable[[], None]) -> None:
        """Write the body, or a handler, which the code that `finish` writes ends."""
        w, b = self.w, self.w.b
        with w.scope():
            results = w.run(graph, env)
            if not b.done:
                results += [w.variables[s] for s in self.storages]
                results = [w.as_type(x, type) for x, type in zip(results, self.types, strict=True)]
                results = [w.leaf(x) if isinstance(x, Array) else x for x in results]  # copies views
                packed = pack(w, self.types, self.places, results)
                finish()
                self.ends.append(_End(packed, b.block, results, dict(w.dirty)))
                b.jump(self.after)

    def dispatch(self) -> None:
        """Ask Python which handler takes the error, and run it; if none does, the error propagates."""
        w, b, kept = self.w, self.w.b, self.kept
        w.variables, w.dirty = dict(self.before), {}  # Python has the current values
        there = b.convert("zext", b.load("i8", kept.there), "i64")
        _, space = w.insist(CatchSite(self.region, self.node.params["kinds"]), [there], 2)
        number = b.load("i64", b.offset(space, 1, "i64"))
        with b.when(b.icmp("slt", number, const("i64", 0))):
            w.fail(1)
        w.exits.append(self.failed)
        w.reload()
        variables = dict(w.variables)
        for k, (graph, env) in enumerate(zip(self.handlers, self.envs[1:], strict=True)):
            with b.when(b.icmp("eq", number, const("i64", k))):
                w.variables, w.dirty = dict(variables), {}
                inputs = dict(zip(graph.inputs, kept.values(w), strict=True))
                self.part(graph, {**env, **inputs}, self.end_handler)
        w.exits.pop()
        b.line("unreachable")

    def leave_handler(self) -> Val:
        """Tell Python that the error is no longer being handled; the status is not 1 if a signal interrupted that."""
        return self.w.insist(EndSite(self.region), ())[0]

    def end_handler(self) -> None:
        """End a handler: drop the error, and handle signals that have arrived meanwhile."""
        w, b = self.w, self.w.b
        interrupted = b.icmp("ne", self.leave_handler(), const("i32", 1))
        w.exits.pop()
        with b.when(interrupted):
            w.leave(1)
        w.exits.append(self.failed)

    def merge(self) -> list[Value]:
        """Merge the ends of the body and of the handlers; returns the results."""
        w, b, ends, count = self.w, self.w.b, self.ends, len(self.node.outputs)
        if not ends:
            b.line("unreachable")
            return [w.undefined(v.type) for v in self.node.outputs]
        w.dirty = {s: None for end in ends for s in end.dirty}
        blocks = [end.block for end in ends]
        merged = [vals[0] if len(ends) == 1 else b.phi(vals[0].ty, *zip(vals, blocks, strict=True))
                  for vals in zip(*[end.packed for end in ends], strict=True)]
        results = joined(w, self.types, self.places, merged, [end.results for end in ends])
        w.variables.update(zip(self.storages, results[count:], strict=True))
        return results[:count]

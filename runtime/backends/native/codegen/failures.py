"""How code ends without results: checks, and errors that Python code or native code raises: a part of `Lowering`.

Checks that report the same share the block that does, as long as it does nothing else.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from runtime.backends.native.abi import callbacks
from runtime.backends.native.abi.allocator import MOST_FACTORS, RESERVE
from runtime.backends.native.codegen.index_expressions import Array
from runtime.backends.native.codegen.known_sizes import open_sizes
from runtime.backends.native.codegen.list_storage import REFUSAL_WORD, REFUSED, ListMemory
from runtime.backends.native.codegen.variables import Variable, changes_any
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.core.errors import OutOfMemoryError
from runtime.core.graph import Node
from runtime.core.positions import Position
from runtime.core.types import MAX_BYTES, DType

__all__ = ["Failures"]

_NO_LARGER: Final = {"getitem", "reshape", "setitem", "slice", "split"}  # ops that add no elements


class Failures(ListMemory):
    """The part of `Lowering` for memory, checks and errors."""

    current: Node | None
    refusals: list[callbacks.Refusal]
    failing: dict[Any, str]
    exits: list[Callable[[int], None]]
    dirty: dict[Variable, None]
    fitting: set[tuple[int | str, ...]]
    replaced: list[Any]

    def ask(self, site: callbacks.Site, words: Sequence[Val], results: int = 0) -> tuple[Val, Val]:
        raise NotImplementedError

    def described(self, values: Sequence[Any], repeated: bool = False) -> tuple[list[Val], list[callbacks.Spec]]:
        raise NotImplementedError

    def flush(self) -> None:
        raise NotImplementedError

    def scope(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def leave(self, status: int) -> None:
        raise NotImplementedError

    # Memory.

    def slot_memory(self, slot: int, size: Index) -> Val:
        """The memory of a slot, reallocated if too small; its content is lost then."""
        return self.reserved(self.pair(slot), size)

    def reserved(self, pair: Val, size: Index, *more: Val) -> Val:
        """Memory of at least that many bytes, times `more`, for a pair of address and capacity in memory."""
        b = self.b
        while len(more) > MOST_FACTORS:
            size, more = b.room([more[0]], 1) if size == 1 else b.room([b.i64(size), more[0]], 1), more[1:]
        name = f"{RESERVE}{len(more) or ''}"
        self.module.declare(name, "ptr", "ptr", "i64", *["i64"] * len(more))
        memory = b.call("ptr", name, pair, b.i64(size), *more)
        self.refuse_if(b.icmp("eq", memory, Val("ptr", "null")), *self._lack())
        return memory

    def no_memory(self) -> None:
        """End the call with an out-of-memory error of the current node."""
        self.refuse(*self._lack())

    def _lack(self) -> tuple[type[Exception], str]:
        name = "the graph" if self.current is None else self.current.op.name
        return OutOfMemoryError, f"{name} got no memory"

    # Errors.

    def refuse(self, kind: type[Exception], text: str, position: Position | None = None) -> None:
        """End the call with an error that does not need Python; without a position it is the current node's."""
        refusal = callbacks.Refusal(kind, text, position or (None if self.current is None else self.current.position))
        if not self.refusals or self.refusals[-1] != refusal:
            self.refusals.append(refusal)
        self.b.store(const("i64", len(self.refusals) - 1), self.b.offset(self.frame, REFUSAL_WORD, "i64"))
        self.leave(REFUSED)

    def refuse_if(self, bad: Val, kind: type[Exception], text: str) -> None:
        """If `bad` is true, `refuse`."""
        self._end_if(bad, lambda: (kind, text, self.current), lambda: self.refuse(kind, text))

    def _end_if(self, bad: Val, prepare: Callable[[], Hashable], write: Callable[[], None]) -> None:
        """If `bad` is true, end the call by what `write` writes, or by an earlier block that ends it in the same way,
        as the result of `prepare` tells. That may write what `write` needs, but then the block is not shared."""
        b = self.b
        before, place = (b.block, b.done), len(b.lines)
        inside, after = b.label("then"), b.label("join")
        b.branch(bad, inside, after)
        b.start(inside)
        start = len(b.lines)
        key = b, len(self.replaced), prepare()
        is_shared = len(b.lines) == start and not (self.dirty or self.exits)
        known = self.failing.get(key) if is_shared else None
        if known is None:
            write()
            if is_shared:
                self.failing[key] = inside
        else:
            del b.lines[place:]
            b.block, b.done = before
            b.branch(bad, known, after)
        b.start(after)

    def raise_by(self, node: Node, values: Sequence[Any]) -> None:
        """End the call with the error that the op's kernel raises for these values."""
        if node.op.foreign or changes_any(node):
            self.flush()
        self._raise(node, *self.described(values, repeated=True))

    def _raise(self, node: Node, words: Sequence[Val], specs: list[callbacks.Spec]) -> None:
        self.ask(callbacks.KernelSite(node, specs, failing=True), words)
        self.leave(1)

    def fail_if(self, bad: Val | None, node: Node, values: Sequence[Any]) -> None:
        """If `bad` is true, call the op's kernel, which raises."""
        if bad is None or bad.ref == "false":
            return
        found: list[Any] = []

        def prepare() -> Hashable:
            if node.op.foreign or changes_any(node):
                self.flush()
            found[:] = self.described(values, repeated=True)
            return node, *found[0]

        with self.scope():
            self._end_if(bad, prepare, lambda: self._raise(node, *found))

    def check_room(self, node: Node, values: Sequence[Any], dtype: DType, dims: Sequence[Index]) -> None:
        """Write a check that a tensor may have this shape; if not, the kernel raises. Its sizes have been checked."""
        key = open_sizes(dims)
        if key in self.fitting:
            return
        fits = self.b.fits(dims, dtype.size, MAX_BYTES)
        if fits.ref != "true":
            self.fail_if(self.b.not_(fits), node, values)
        self.fitting.add(key)

    def check_results(self, node: Node, values: Sequence[Any], results: Sequence[Any]) -> None:
        """`check_room` for each result whose unknown sizes are not among those of one operand."""
        if node.subgraphs or node.op.name in _NO_LARGER:
            return
        have = [Counter(open_sizes(x.dims)) for x in values if isinstance(x, Array)]
        for x in results:
            if isinstance(x, Array) and len(x.dims) > 1 and not any(
                    Counter(open_sizes(x.dims)) <= mine for mine in have):
                self.check_room(node, values, x.dtype, x.dims)

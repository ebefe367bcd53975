"""Variables of a graph, by identity, and the code that writes them back when a call ends early."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from runtime.backends.native.abi.callbacks import LeaveSite, Site, Spec
from runtime.backends.native.llvm.builder import Builder, Val, const
from runtime.core.graph import Graph, Node
from runtime.core.types import TensorType

__all__ = ["ASSIGN", "Variable", "WriteBacks", "changes_any", "variables_of"]

ASSIGN: Final = ("assign_variable", "accumulate_variable")
_END: Final = ("raise", "raise_unless", "reraise")


class Variable:
    """A variable, by identity."""

    __slots__ = ("storage",)

    def __init__(self, storage: Any) -> None:
        self.storage = storage

    @property
    def type(self) -> TensorType:
        found: TensorType = self.storage.type
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and other.storage is self.storage

    def __hash__(self) -> int:
        return id(self.storage)


class Writer(Protocol):
    """The parts of a Lowering that are used here."""

    b: Builder
    storages: list[Variable]

    def described(self, values: Sequence[Any]) -> tuple[list[Val], list[Spec]]: ...

    def insist(self, site: Site, words: Sequence[Val] | Val, results: int = 0) -> tuple[Val, Val]: ...

    def scope(self) -> AbstractContextManager[None]: ...


@dataclass
class _State:
    """Assignments with which a call may end: those of a parent state, and one more."""

    number: int
    end: int
    """The number of words that describe the state: its number and the values."""
    label: str
    """The block that stores the words of the last assignment and jumps to the parent's block."""
    entry: str = ""
    """The block that stores the state's number and jumps to `label`; empty until a call may leave in this state."""


class _Tree:
    """The states in which calls may leave through one exit. The root's block passes the assignments to Python."""

    def __init__(self, b: Builder, room: int) -> None:
        self.site = LeaveSite()
        self.room = room
        self.words = b.alloca("i64", room)
        self.root = _State(-1, 1, b.label("leave"))
        self.states: dict[Hashable, _State] = {}
        self.kept: list[object] = []  # keeps the values alive, so that their ids stay unique

    def path(self, b: Builder, values: Mapping[Variable, Any]) -> list[_State]:
        """The states from the root to the one with these values."""
        found = [self.root]
        for variable, value in values.items():
            key = found[-1].number, variable, id(value)
            if key not in self.states:
                unknown = sum(1 for size in getattr(value, "dims", ()) if isinstance(size, Val))
                self.states[key] = _State(len(self.kept), found[-1].end + 1 + unknown, b.label("leave"))
                self.kept.append(value)
            found.append(self.states[key])
        return found


class WriteBacks:
    """The blocks that write variables back and leave. There may be many variables, and ops that may fail after each
    assignment: so a block handles one variable, and jumps to the shared block for those assigned before."""

    def __init__(self) -> None:
        self._trees: dict[Hashable, _Tree] = {}

    def leave(self, w: Writer, way: Hashable, values: Mapping[Variable, Any], fail: Callable[[], None]) -> None:
        """Jump to the blocks that write these values back and leave through exit `way`, which `fail` writes."""
        b = w.b
        tree = self._trees.get((b, way))
        if tree is None or tree.room < _words(values):
            tree = self._trees[b, way] = _Tree(b, max(_words(values), _words(w.storages)))
        path = tree.path(b, values)
        state = path[-1]
        if state.entry:
            b.jump(state.entry)
            return
        state.entry = b.label("leave")
        b.start(state.entry)
        b.store(const("i64", state.number), tree.words)
        for variable, before in zip(reversed([*values]), reversed(path[:-1]), strict=True):
            if state.number in tree.site.states:
                b.jump(state.label)
                return
            b.start(state.label)
            with w.scope():
                words, (spec,) = w.described([values[variable]])
            for k, word in enumerate(words, before.end):
                b.store(word, b.offset(tree.words, k, "i64"))
            tree.site.states[state.number] = before.number, variable.storage, spec
            state = before
        if len(tree.kept) > len(values):
            b.jump(tree.root.label)
            return
        b.start(tree.root.label)
        w.insist(tree.site, tree.words)
        fail()


def _words(variables: Iterable[Variable]) -> int:
    """How many words describe the state and the values of these variables, at most."""
    return 1 + sum(1 + len(variable.type.shape) for variable in variables)


def variables_of(*graphs: Graph, ops: Sequence[str] = ()) -> list[Variable]:
    """The variables that graphs use, or only those of `ops`, in the order of their first use."""
    found: dict[Variable, None] = {}
    for graph in graphs:
        for node in graph.walk():
            if "variable" in node.params and (not ops or node.op.name in ops):
                found.setdefault(Variable(node.params["variable"]))
    return list(found)


def changes_any(node: Node) -> bool:
    """Whether the node runs Python code that may change any variable."""
    name = node.op.name
    streams = name.startswith("iterator_") or node.params.get("stream") is not None
    return streams or (node.op.foreign and name not in _END)

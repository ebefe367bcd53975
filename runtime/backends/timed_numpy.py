"""The reference executor for profiled calls: each kernel is timed."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.backends.numpy import executable
from runtime.core.graph import Graph, Node
from runtime.core.profiling import KINDS, Region, Session, now

__all__ = ["TimedProgram"]


class TimedProgram:
    """A graph whose kernels are timed, for one call at a time."""

    def __init__(self, graph: Graph) -> None:
        self.region = Region("call", graph.name, note="on NumPy, op by op")
        self._regions: dict[Node, Region] = {}
        self._find(graph, self.region)
        self._run = executable(graph, self)
        self._session: Session | None = None

    def _find(self, graph: Graph, parent: Region) -> None:
        for node in graph.nodes:
            kind, name = KINDS.get(node.op.name, "op"), node.op.name
            self._regions[node] = region = Region(kind, name, parent, [name], [node.position])
            for inner in node.subgraphs.values():
                self._find(inner, region)

    def __call__(self, session: Session, inputs: Sequence[Any]) -> tuple[Any, ...]:
        self._session, start = session, now()
        results: tuple[Any, ...] = ()
        try:
            results = self._run(*inputs)
            return results
        finally:
            session.ran(self.region, start, now(), sum(getattr(x, "nbytes", 0) for x in results))
            self._session = None

    def kernel(self, node: Node, kernel: Callable[..., Any]) -> Callable[..., Any]:
        region, single = self._regions[node], node.single

        def run(*inputs: Any) -> Any:
            session = self._session
            if session is None:  # a function that the kernel returned runs after the call
                return kernel(*inputs)
            start = now()
            results = None
            try:
                results = kernel(*inputs)
                return results
            finally:
                if region.kind == "loop":
                    session.add(region, 0, None, 0)  # a loop without iterations is counted, too
                made = (results,) if single else results or ()
                session.ran(region, start, now(), sum(getattr(x, "nbytes", 0) for x in made))

        return run

    def part(self, node: Node, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        region = self._regions[node]
        if region.kind != "loop" or name != "body":
            return function

        def run(*inputs: Any) -> Any:
            if self._session is not None:
                self._session.add(region, 0, None, 1)
            return function(*inputs)

        return run

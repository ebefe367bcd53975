"""Points of a trace, to which it can return."""
from __future__ import annotations

from autograph.backend import Checkpoint
from runtime.staging.aliases.body_tracing import checkpoint, rollback
from runtime.staging.aliases.list_elements import begin_statement
from runtime.staging.aliases.open_bodies import end_statement
from runtime.staging.control.exceptions import may_raise

__all__ = ["TracePoint"]


class TracePoint(Checkpoint):
    """A point of the trace of the current graph."""

    def __init__(self) -> None:
        self.mark = checkpoint()
        begin_statement()

    def rollback(self) -> None:
        rollback(self.mark)

    def may_raise(self, kinds: tuple[type[BaseException], ...], declared: bool = False) -> bool:
        return may_raise(self.mark, kinds, declared)

    def has_effects(self) -> bool:
        return any(node.effect or node.errors for node in self.mark.added())

    def assigned(self) -> None:
        end_statement()

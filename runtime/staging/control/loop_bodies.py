"""The bodies and tests of loops, with what staging adds to them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.trace import announce_errors, current_graph, raising
from runtime.staging.aliases.body_tracing import Branch

__all__ = ["Pulling", "Test", "Truth", "Wrapped"]

Truth = Callable[[Any], Any]  # from a condition's value to a bool scalar tensor, or a bool


class Test:
    """A test whose result is converted to a bool scalar while its graph is open."""

    def __init__(self, test_fn: Branch, truth: Truth) -> None:
        self.filename, self.lineno = test_fn.filename, test_fn.lineno
        self.test_fn, self.truth = test_fn, truth

    def __call__(self, *values: Any) -> Any:
        return self.truth(self.test_fn(*values))


class Wrapped:
    """A body or test that `call` calls."""

    def __init__(self, fn: Branch, call: Callable[..., Any]) -> None:
        self.filename, self.lineno = fn.filename, fn.lineno
        self.called, self.call, self.fn = fn, call, getattr(fn, "fn", None)

    def __call__(self, *values: Any) -> Any:
        return self.call(self.called, *values)


class Pulling:
    """A body after which the next element is pulled from a stream, which may raise."""

    def __init__(self, body_fn: Branch) -> None:
        self.filename, self.lineno = body_fn.filename, body_fn.lineno
        self.body_fn, self.fn = body_fn, getattr(body_fn, "fn", None)

    def __call__(self, *values: Any) -> Any:
        result = self.body_fn(*values)
        graph = current_graph()
        assert graph is not None
        with raising(None):
            announce_errors(graph, (Exception,))
        return result

"""Variants of `Body`: the test of a loop, a branch, and an operand."""
from __future__ import annotations

from typing import Any

from autograph.dispatch.converted_call import truth_value
from autograph.state.statement_state import Body
from autograph.state.structure import is_container, parts_in

__all__ = ["Branch", "Operand", "RotatedTest", "Test"]


class Test(Body):
    """A test as a pure function from state to predicate; RotateLoop is raised if it changes the state."""

    def begin(self) -> None:
        self.leaves = self._leaves()

    def result(self, returned: Any) -> Any:
        returned = truth_value(returned)  # while the state is as the test left it
        now = self._leaves()
        self.changes = len(now) != len(self.leaves) or any(a is not b for a, b in zip(now, self.leaves))
        return returned

    def _leaves(self) -> list[Any]:
        """The values in the state, at any depth."""
        found: list[Any] = []
        pending, visited = list(self.state.read()), set()
        for value in pending:  # grows meanwhile
            if hasattr(type(value), "__become__"):
                found += value.__leaves__()
            elif isinstance(value, tuple) or is_container(value):
                if id(value) not in visited:
                    visited.add(id(value))
                    pending += [part for _, part in parts_in(value)]
            else:
                found.append(value)
        return found


class Branch(Body):
    """A body that may not run."""

    sets_up = False


class Operand(Branch):
    """An operand as a pure function from state to its value and the new state."""

    def result(self, returned: Any) -> Any:
        return (returned, *self.state.read())


class RotatedTest(Operand):
    """A test that changes the state: a pure function from state to predicate and new state."""

    def result(self, returned: Any) -> Any:
        return super().result(truth_value(returned))

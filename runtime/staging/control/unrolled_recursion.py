"""Recursion that Python decides, unrolled until it turns out to be long.

Each call is traced into its caller's graph. If there are many calls that differ from the outermost one in numbers
alone, such as the bounds of a sort, the function is traced as one graph for all of them (`widened_recursion.py`), in
which these numbers are values of the graph; unless that fails, or would make a tensor of anything else that Python
knows: a result, or what the calls change.
"""
from __future__ import annotations

from typing import Any, Final

from autograph.backend import Heap, Unwinding
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.numpy.array_objects import StagedArray
from runtime.staging.control.widened_recursion import WidenedRoutine

__all__ = ["Unrolled", "Widen"]

_MANY: Final = 24  # calls


class Widen(Unwinding):
    """Raised where calls of the function `fn` would be traced without end: they become one graph instead. `unrolled`:
    they would have an end, so they are traced again if there is no such graph."""

    def __init__(self, fn: Any, unrolled: Unrolled | None = None) -> None:
        super().__init__(fn)
        self.fn, self.unrolled = fn, unrolled


class Unrolled:
    """The calls within an outermost one. `heap`: the objects that they may change."""

    def __init__(self, fn: Any, heap: Heap) -> None:
        self.fn, self.heap, self.count = fn, heap, 0
        self.changed: set[tuple[int, Any]] = set()

    def note(self, outermost: Any, passed: Any, is_large: bool) -> None:
        """Count a call with the arguments `passed`. Widen if there are many such calls, their trace `is_large`, and
        what they change holds tensors."""
        if not _differ_in_numbers(outermost, passed):
            return
        self.count += 1
        if self.count % _MANY or not is_large or self.heap.others or self.heap.reach.iterators:
            return
        changes = [*self.heap.changes()]
        if self.heap.changed() is None and all(isinstance(new, Tensor) or isinstance(reached.value, StagedArray)
                                               for reached, _, new in changes):
            self.changed = {(id(reached.value), key) for reached, key, _ in changes}
            raise Widen(self.fn, self)

    def check(self, routine: WidenedRoutine) -> None:
        """StagingError if values that are Python's would become tensors, other than arguments."""
        if not routine.keeps_python_values(self.changed):
            raise staging_error(f"{self.fn.__name__!r}, which calls itself where Python decides, returns or changes "
                                "numbers of Python", "Let it return tensors.")


def _differ_in_numbers(before: Any, after: Any) -> bool:
    """Whether the arguments of two calls are the same but for ints and floats."""
    (args, kwargs), (others, named) = before, after
    if len(args) != len(others) or kwargs.keys() != named.keys():
        return False
    pairs = [*zip(args, others, strict=True), *((kwargs[name], named[name]) for name in kwargs)]
    return all(x is y or (type(x) is type(y) and type(x) in (int, float)) for x, y in pairs)

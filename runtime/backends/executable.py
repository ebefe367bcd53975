"""Interfaces of executors: compiled graphs, and how calls reach them."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Called", "Executable", "Findable", "Returned"]


class Called:
    """Base of objects whose calls CPython dispatches through native code. `_front` lists the traces that native code
    may run; if none of them fits the arguments, the `__call__` of the derived class runs. See
    `runtime.backends.native.jit.fast_call`."""

    __slots__ = ("_front",)

    _front: tuple[Any, ...]


class Returned(NamedTuple):
    """What calls return: tensors of the first `tensors` of the arrays that `function()` of an executable returns, the
    only one itself, or all in a tuple if `in_tuple`; without tensors it is `value`."""

    tensors: int
    in_tuple: bool = False
    value: Any = None

    @property
    def is_tensor(self) -> bool:
        """Whether calls return one tensor itself."""
        return self.tensors == 1 and not self.in_tuple


class Findable(Protocol):
    """A trace that native code can look up."""

    def known(
        self, front: tuple[Any, ...], calls: array[int], used: array[int], args: Sequence[Any], inputs: Sequence[bool],
        run: Callable[..., Any], items: Sequence[tuple[Any, Any, Any]] | None = (),
    ) -> tuple[Any, ...]:
        """`front` with this trace added, for calls like that with these arguments: tensors; arrays; numbers; and None,
        bools and strings, which must be the same. `inputs`: which of them are inputs of the graph; the values of the
        other numbers must be the same. Native code counts the calls in `calls` and stores the number of the last one in
        `used`. If it cannot run the graph itself, it calls `run` with the arguments, with arrays in place of tensors.
        `items` are guards: a dict and a key, or a weak reference to an object and an attribute's name, with the
        expected value; or None, a cell and its expected content. If they are None, it is `run` that checks guards."""

    def forgotten(self, front: tuple[Any, ...]) -> tuple[Any, ...]:
        """`front` without this trace."""


class Executable(Protocol):
    """A graph, ready to run."""

    is_closed: bool
    """Whether a call runs no Python code and its results share no memory with its inputs, so that the caller may write
    to the input arrays afterwards."""

    overwritten: frozenset[int]
    """The inputs whose memory a call changes as it runs, in the order of the graph, so also where it raises; none, or
    all that it may put results into."""

    restores: bool
    """Whether a call that raises leaves its inputs as they were before it."""

    may_raise: bool
    """Whether the program may raise an error in a call."""

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """A function from arrays for the graph's inputs to a tuple of read-only arrays of exactly the output types. For
        a list it gives a tuple of its elements, or one array of which they are the rows."""

    def findable(self, returned: Returned | None, only_arrays: bool) -> Findable | None:
        """An entry for native code to look up the trace, or None. `returned`: what calls return; None if Python has to
        make it. `only_arrays`: whether a call, also one that raises, changes nothing but arrays."""

    def inspect_llvm(self, optimized: bool = True) -> str: ...

    def inspect_asm(self) -> str: ...

    def explain(self) -> str: ...

"""Inspection of the compiled traces of a function."""
from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from runtime.core.graph import INSTEAD, Unrolled
from runtime.core.wrapped_functions import HasSignature
from runtime.function.arguments.retracing import History
from runtime.function.concrete import ConcreteFunction

__all__ = ["Inspected"]


class Inspected(HasSignature):
    """Methods of a traced function that show its traces."""

    __slots__ = ()

    python_function: Callable[..., Any]
    name: str
    _count: int
    _clock: array[int]
    _history: History
    _unrolled: list[Unrolled]

    @property
    def _sharing(self) -> Inspected | None:
        raise NotImplementedError

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        raise NotImplementedError

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        raise NotImplementedError

    def explain(self) -> str:
        """Whether the last call traced and why: which argument differed from earlier calls, and how. Also the long
        loops over Python values that the last trace unrolled, why, and the remedy."""
        if (owner := self._sharing) is not None:
            return owner.explain()
        text = self._history.explain(self._clock[0], len(self.concrete_functions), self._count)
        return "\n    ".join([text, *map(str, self._unrolled), *[f"{INSTEAD}."] * bool(self._unrolled)])

    def experimental_get_tracing_count(self) -> int:
        """The number of times the function was traced (`tf.function.experimental_get_tracing_count`)."""
        return self._count

    def __reduce__(self) -> str:
        """Pickled and copied like a Python function: by module and name."""
        return getattr(self, "__qualname__", self.name)

    def __repr__(self) -> str:
        return f"<rt.function {getattr(self.python_function, '__qualname__', self.name)}>"

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """The types of arguments and result of each trace, one per line."""
        return "\n".join(concrete.pretty_printed_signature(verbose) for concrete in self.concrete_functions)

    def lower(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Trace and compile for these arguments ahead of time, so that later calls start immediately; a TensorSpec may
        replace a tensor (JAX's `jit(f).lower(...).compile()`). `.optimized` is its graph; `.compile()` returns
        itself."""
        return self.get_concrete_function(*args, **kwargs).compile()

    def inspect_llvm(self, *args: Any, **kwargs: Any) -> str:
        """The optimised LLVM IR of the trace for these arguments, or, without arguments, of the newest trace."""
        return self._inspected(args, kwargs).inspect_llvm()

    def inspect_asm(self, *args: Any, **kwargs: Any) -> str:
        """The assembly of the trace for these arguments, or, without arguments, of the newest trace."""
        return self._inspected(args, kwargs).inspect_asm()

    def explain_native(self, *args: Any, **kwargs: Any) -> str:
        """A report on the compilation of the trace for these arguments, or, without arguments, of the newest trace:
        which ops were fused, which loops tiled or vectorised, what calls Python and why."""
        return self._inspected(args, kwargs).explain_native()

    def _inspected(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        if args or kwargs or not self.concrete_functions:
            return self.get_concrete_function(*args, **kwargs)
        return self.concrete_functions[-1]

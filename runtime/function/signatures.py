"""The types of `rt.function` for type checkers: the signature of the Python function is kept, and the methods of a
traced function are added."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from runtime.core.tensor import Tensor
    from runtime.function.arguments.retracing import CacheInfo
    from runtime.function.concrete import ConcreteFunction

__all__ = ["Decorator", "TracedFunction"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class TracedFunction(Protocol[P, R_co]):
    """A function, or method, made by `rt.function`."""

    python_function: Callable[..., Any]
    name: str
    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @overload  # an unannotated function, which returns `Any`
    def __call__(self: TracedFunction[P, NoReturn], *args: P.args, **kwargs: P.kwargs) -> Any: ...
    @overload  # Python numbers become tensors
    def __call__(self: TracedFunction[P, float | Tensor], *args: P.args, **kwargs: P.kwargs) -> Tensor: ...
    @overload
    def __call__(
        self: TracedFunction[P, tuple[float | Tensor, ...]], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Tensor, ...]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> TracedFunction[P, R_co]: ...
    @overload
    def __get__(
        self: TracedFunction[Concatenate[S, Q], R_co], instance: S, owner: type | None = None, /
    ) -> TracedFunction[Q, R_co]: ...

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction: ...

    def lower(self, *args: Any, **kwargs: Any) -> ConcreteFunction: ...

    def explain(self) -> str: ...

    def explain_native(self, *args: Any, **kwargs: Any) -> str: ...

    def inspect_llvm(self, *args: Any, **kwargs: Any) -> str: ...

    def inspect_asm(self, *args: Any, **kwargs: Any) -> str: ...

    def cache_info(self) -> CacheInfo: ...

    def cache_clear(self) -> None: ...

    def experimental_get_tracing_count(self) -> int: ...

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str: ...

    @property
    def concrete_functions(self) -> list[ConcreteFunction]: ...


class Decorator(Protocol):
    """`rt.function` with arguments but without a function."""

    def __call__(self, func: Callable[P, R], /) -> TracedFunction[P, R]: ...

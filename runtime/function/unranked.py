"""Concrete functions of tensors of unknown rank.

Ranks are static in a graph. So such a function is specialised when it is called: it has one trace for each combination
of ranks, with unknown dimensions.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from runtime.core.errors import ShapeError
from runtime.core.positions import located
from runtime.core.trace import convert_to_tensor
from runtime.core.traceback_replay import show_users
from runtime.core.types import TensorSpec
from runtime.function.arguments.argument_structure import children, is_leaf, rebuild, walk
from runtime.function.arguments.signature import InvalidArgumentsError, Signature
from runtime.function.concrete import ConcreteFunction

__all__ = ["UnrankedFunction", "unranked"]


def unranked(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ConcreteFunction | None:
    """The UnrankedFunction of an `rt.function` if some of these arguments, or of its input_signature, have no rank;
    otherwise None."""
    if not (args or kwargs or function.input_signature is None):
        args = function.input_signature
    if not _has_unranked((args, kwargs)):
        return None
    return cast(ConcreteFunction, UnrankedFunction(
        function.name, function._signature, function.get_concrete_function, args, kwargs))


def _has_unranked(arguments: Any) -> bool:
    return any(_is_unranked(leaf) for _, leaf in walk(arguments, ""))


def _is_unranked(spec: Any) -> bool:
    return isinstance(spec, TensorSpec) and spec.shape.rank is None


class UnrankedFunction:
    """A traced function for tensors some of which have any rank: `f.get_concrete_function(rt.TensorSpec(None))`.

    traces  the ConcreteFunctions so far, by the ranks of these tensors in order

    The attributes and methods of a ConcreteFunction are those of its only trace; ShapeError if it has none or several.
    """

    def __init__(
        self, name: str, signature: Signature, trace: Callable[..., ConcreteFunction], args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        self.name = name
        self.traces: dict[tuple[int, ...], ConcreteFunction] = {}
        self._signature, self._trace = signature, trace
        self._bound = signature.parameters.bind(*args, **kwargs)
        self._bound.apply_defaults()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the trace for the ranks of these tensors, which is made on first use."""
        try:
            concrete = self.for_arguments(*args, **kwargs)
            return concrete(*args, **kwargs)
        except BaseException as error:
            show_users(error)
            raise

    def for_arguments(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments; Python values may be omitted."""
        arguments = self._arguments(args, kwargs)
        ranks: list[int] = []
        made = {name: self._ranked(name, spec, arguments[name], ranks) if name in arguments else spec
                for name, spec in self._bound.arguments.items()}
        missing = next((name for name, spec in made.items() if _has_unranked(spec)), None)
        if missing is not None:
            raise located(InvalidArgumentsError(f"{self._own()}: missing argument {missing!r}"))
        key = tuple(ranks)
        if key not in self.traces:
            bound = self._signature.parameters.bind(*self._bound.args, **self._bound.kwargs)
            bound.arguments.update(made)
            self.traces[key] = self._trace(*bound.args, **bound.kwargs)
        return self.traces[key]

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by parameter. The tensors may also be passed alone, in order, unless they are parts of
        arguments."""
        tensors = [name for name, spec in self._bound.arguments.items() if is_leaf(spec)]
        try:
            return self._signature.parameters.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            if kwargs or len(args) != len(tensors):
                raise located(InvalidArgumentsError(f"{self._own()}: {error}")) from None
            return dict(zip(tensors, args, strict=True))

    def _ranked(self, path: str, spec: Any, value: Any, ranks: list[int]) -> Any:
        """`spec` with the ranks of the tensors in `value`, which are also appended to `ranks`."""
        if _is_unranked(spec):
            x = value if isinstance(value, TensorSpec) else convert_to_tensor(value, dtype_hint=spec.dtype)
            ranks.append(len(x.shape))
            return TensorSpec([None] * ranks[-1], spec.dtype, spec.name)
        parts, others = children(spec), children(value)
        if parts is None or not _has_unranked(spec):
            return spec
        if others is None or [label for label, _ in parts] != [label for label, _ in others]:
            raise located(InvalidArgumentsError(
                f"argument {path!r} of {self.name} does not have the structure {spec!r}"))
        return rebuild(spec, [self._ranked(path + label, part, other, ranks)
                              for (label, part), (_, other) in zip(parts, others, strict=True)])

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional arguments and keyword arguments, with their TensorSpecs."""
        return self._bound.args, dict(self._bound.kwargs)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The types of the arguments, of unspecified rank, and the signature of each trace."""
        return "\n    ".join([self._own(), *(each.pretty_printed_signature(verbose) for each in self.traces.values())])

    def _own(self) -> str:
        return f"{self.name}({', '.join(_texts(self._bound.arguments))})"

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self._own()}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(ConcreteFunction, name):
            raise AttributeError(f"a concrete function has no attribute {name!r}")
        if len(self.traces) == 1:
            return getattr(next(iter(self.traces.values())), name)
        of = "none yet" if not self.traces else f"those for {', '.join(map(_shape_text, self.traces))}"
        raise located(ShapeError(
            f"{self.name} was asked for {name!r}, which depends on ranks that its TensorSpec leaves unknown: it has a"
            f" graph for each, {of}",
            remedy=f"Call it first; or ask one graph: {self.name}.get_concrete_function(rt.TensorSpec([None])), or"
                   " for_arguments(x)."))


def _shape_text(ranks: tuple[int, ...]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"the ranks {', '.join(map(str, ranks))}"


def _texts(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if isinstance(value, TensorSpec):
            text = f"{value.dtype.name} of any rank" if _is_unranked(value) else str(value.type)
            yield f"{name}: {text}"
        else:
            yield f"{name}={value!r}"

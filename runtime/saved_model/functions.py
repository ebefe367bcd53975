"""Functions of a saved model: graphs, with the structures of their arguments and results."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.graph import Graph
from runtime.core.inline_graph import inline
from runtime.core.positions import located
from runtime.core.tensor import GraphList, Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import ListType, TensorSpec, TensorType
from runtime.function.arguments.signature import InvalidArgumentsError
from runtime.function.decorate import function
from runtime.ops.lists import list_stack
from runtime.saved_model.codec import Decoder, index
from runtime.saved_model.structures import rebuilt
from runtime.staging.elements.element_layout import StagedStructures
from runtime.staging.values.list import StagedItems

__all__ = ["LoadedFunction", "LoadedSignature", "LoadedTrace", "NoTraceError"]


class _Leaf:
    def __init__(self, number: int) -> None:
        self.number = number


class LoadedTrace:
    """A saved graph, with the structures of its arguments and results."""

    def __init__(self, about: Mapping[str, Any], decoder: Decoder) -> None:
        self.name = str(about["name"])
        self.about = about
        self.graph = graph = decoder.graph(about["graph"])
        graph.verify()
        self.types = [_tensor(value.type) for value in graph.inputs]
        self.outputs = [_stacked_type(value.type) for value in graph.outputs]
        self._results = about["results"]
        self._literal = decoder.value
        self._packed(graph.outputs)  # an error for results that the graph does not have
        args, kwargs = [rebuilt(each, _Leaf, decoder.value) for each in about["arguments"]]
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise ValueError(f"the arguments of {self.name}")
        self.args, self.kwargs = args, kwargs
        self._order = list(about["order"])
        if sorted(self._order) != list(range(len(self.types))):
            raise ValueError(f"the inputs of {self.name}")
        self.parameters = inspect.Signature([
            inspect.Parameter(name, inspect._ParameterKind(kind),
                              default=decoder.value(default) if has else inspect.Parameter.empty)
            for name, kind, has, default in about["parameters"]])
        self.specs = [TensorSpec(type.shape, type.dtype, value.hint)
                      for type, value in zip(self.types, graph.inputs, strict=True)]
        options: Any = {"autograph": False, "name": self.name, "input_signature": self.specs}
        self.function = _function(graph, self._packed, options)
        self.flat = _function(graph, lambda results: [*map(_stacked, results)], options)
        """The function that returns all results in a list, with lists stacked to tensors."""

    def _packed(self, results: list[Any]) -> Any:
        """The results in their structure, inside a trace."""
        def staged(content: Any) -> list[Any]:
            start, count, structure = content
            columns = [results[index(k)] for k in range(start, start + count)]
            if structure is None:
                return [StagedItems(columns)]
            return [StagedStructures(columns, rebuilt(structure, lambda _: 0, self._literal))]

        return rebuilt(self._results, lambda number: results[index(number)], self._literal, staged)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | str:
        """The tensors of arguments in the order of the graph's inputs, or why the trace does not take them."""
        try:
            bound = self.parameters.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        bound.apply_defaults()
        found: dict[int, Any] = {}
        why = self._match(self.args, bound.args, "args", found) or self._match(
            self.kwargs, bound.kwargs, "kwargs", found)
        return why or [found[number] for number in sorted(found)]

    def _match(self, traced: Any, actual: Any, path: str, found: dict[int, Any]) -> str:
        if isinstance(traced, _Leaf):
            number = self._order[traced.number]
            wanted = self.types[number]
            try:
                x = convert_to_tensor(actual, dtype_hint=wanted.dtype)
            except (TypeError, ValueError) as error:
                return f"{path}: {error}"
            if not wanted.accepts(x.type):
                return f"{path} is {x.type}, and {wanted} is wanted"
            found[number] = x
            return ""
        if isinstance(traced, (list, tuple, dict)):
            alike = isinstance(actual, Mapping if isinstance(traced, dict) else (list, tuple))
            keys = traced.keys() if isinstance(traced, dict) else range(len(traced))
            if not alike or len(actual) != len(traced) or (isinstance(traced, dict) and set(actual) != set(traced)):
                return f"{path} has another structure"
            return next(filter(None, (self._match(traced[k], actual[k], f"{path}[{k!r}]", found) for k in keys)), "")
        if type(actual) is type(traced) and actual == traced:
            return ""
        return f"{path} is {actual!r}, and {traced!r} is wanted"

    def __repr__(self) -> str:
        def text(x: Any) -> str:
            return str(self.types[self._order[x.number]]) if isinstance(x, _Leaf) else repr(x)

        named = zip(self.parameters.parameters, self.args, strict=False)
        inputs = [f"{name}: {text(x)}" for name, x in named]
        return f"{self.name}({', '.join([*inputs, *[f'{k}: {text(x)}' for k, x in self.kwargs.items()]])})"


def _tensor(type: Any) -> TensorType:
    if not isinstance(type, TensorType):
        raise ValueError(f"the argument {type}")
    return type


def _stacked_type(type: Any) -> TensorType:
    """The type of a result; lists are stacked to tensors."""
    return TensorType(type.element.dtype, (None, *type.element.shape)) if isinstance(type, ListType) else type


def _stacked(x: Any) -> Any:
    return list_stack(x) if isinstance(x, GraphList) else x


def _function(graph: Graph, pack: Callable[[list[Any]], Any], options: Mapping[str, Any]) -> Any:
    """An `rt.function` of a saved graph. There is no Python code of it, so it is a graph even where functions run
    eagerly."""
    def run(*inputs: Any) -> Any:
        into = current_graph()
        if into is None:
            return made.get_concrete_function()(*inputs)
        return pack(inline(graph, into, inputs))

    made = function(run, **options)
    return made


class NoTraceError(InvalidArgumentsError, ValueError):
    """No saved trace takes the arguments: TF raises ValueError."""


class LoadedFunction:
    """A function of a saved model, with the traces that were saved. It can be called, differentiated, and called in
    traces.

    `concrete_functions` are the traces; results have their original structure. NoTraceError for arguments that fit no
    trace.
    """

    def __init__(self, traces: list[LoadedTrace]) -> None:
        self.traces = traces
        self.name = traces[0].name
        self.__name__ = self.name

    @property
    def concrete_functions(self) -> list[Any]:
        return [trace.function.get_concrete_function() for trace in self.traces]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        reasons = []
        for trace in self.traces:
            leaves = trace.leaves(args, kwargs)
            if not isinstance(leaves, str):
                return trace.function(*leaves)
            reasons.append(f"{trace!r}: {leaves}")
        raise located(NoTraceError(
            f"no saved trace of {self.name} takes these arguments:\n    " + "\n    ".join(reasons)))

    def __repr__(self) -> str:
        return f"<saved function {'; '.join(map(repr, self.traces))}>"


class LoadedSignature:
    """A function that takes tensors by name and returns a dict of tensors.

    inputs   specs by name, in order; the arguments may also be given in this order
    outputs  types by name
    """

    def __init__(self, name: str, trace: LoadedTrace, inputs: list[str], outputs: Mapping[str, int]) -> None:
        self.name = name
        if len(set(inputs)) != len(trace.types) or not all(isinstance(x, str) for x in inputs):
            raise ValueError(f"the inputs of signature {name!r}")
        self.inputs = dict(zip(inputs, trace.specs, strict=True))
        self.outputs = {str(key): trace.outputs[number] for key, number in outputs.items()}
        self._results = dict(outputs)
        self._trace = trace

    @property
    def structured_outputs(self) -> dict[str, TensorSpec]:
        """The specs of the results by name."""
        return {name: TensorSpec(type.shape, type.dtype, name) for name, type in self.outputs.items()}

    @property
    def structured_input_signature(self) -> tuple[tuple[()], dict[str, TensorSpec]]:
        """The specs of positional arguments, of which there are none, and of those by name."""
        return (), {name: TensorSpec(spec.shape, spec.dtype, name) for name, spec in self.inputs.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        arguments = dict(zip(self.inputs, args, strict=False))
        if len(args) > len(self.inputs) or arguments.keys() & kwargs or {*arguments, *kwargs} != set(self.inputs):
            raise located(TypeError(f"the signature {self.name!r} takes {', '.join(self.inputs) or 'nothing'}, not "
                                    f"{len(args)} positional arguments and {', '.join(kwargs) or 'no names'}"))
        arguments.update(kwargs)
        leaves = []
        for name, spec in self.inputs.items():
            x = arguments[name]
            x = convert_to_tensor(x, dtype=None if isinstance(x, Tensor) else spec.dtype)
            if not spec.type.accepts(x.type):
                kind = ShapeError if x.type.dtype is spec.dtype else DTypeError
                raise located(kind(f"input {name!r} of the signature {self.name!r} is {spec.type}, not {x.type}"))
            leaves.append(x)
        results = list(self._trace.flat(*leaves))
        return {name: results[number] for name, number in self._results.items()}

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {spec.type}" for name, spec in self.inputs.items())
        outputs = ", ".join(f"{name}: {type}" for name, type in self.outputs.items())
        return f"<signature {self.name}({inputs}) -> {{{outputs}}}>"

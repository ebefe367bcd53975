"""`saved_model.save`: objects, their variables and the traces of their functions."""
from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from runtime.core import pytree
from runtime.core.errors import FailedPreconditionError, StagingError, UnimplementedError
from runtime.core.graph import Graph
from runtime.core.positions import located
from runtime.core.tensor import EagerList, EagerTensor, GraphList, Tensor
from runtime.core.trace import add_input, convert_to_tensor, set_outputs, tracing
from runtime.core.types import ListType, TensorSpec
from runtime.function.concrete import ConcreteFunction
from runtime.function.function import Function
from runtime.function.method import Method
from runtime.function.unranked import UnrankedFunction
from runtime.function.variables.module import Module
from runtime.function.variables.variable import Variable
from runtime.saved_model.codec import Encoder
from runtime.saved_model.functions import LoadedFunction, LoadedTrace
from runtime.saved_model.storage import GRAPH, write
from runtime.saved_model.structures import LITERALS, NotSavedError, Structure
from runtime.staging.backend import BACKEND
from runtime.staging.elements.tuple import StagedTuple, list_of
from runtime.staging.values.list import is_staged_list

__all__ = ["contains_saved_model", "save"]

DEFAULT: Final = "serving_default"
_FUNCTIONS: Final = (Function, Method, ConcreteFunction, UnrankedFunction, LoadedFunction)
Trace = ConcreteFunction | LoadedTrace


def contains_saved_model(export_dir: Any) -> bool:
    """Whether a directory has a saved model (`tf.saved_model.contains_saved_model`)."""
    return os.path.isfile(os.path.join(os.fspath(export_dir), GRAPH))


def save(obj: Any, export_dir: Any, signatures: Any = None, options: Any = None) -> None:
    """Save an `rt.Module`, a traced function or a Keras model in a directory (`tf.saved_model.save`).

    Saved are attributes of a module that are variables, modules, tensors, arrays, numbers, texts, or lists, tuples and
    dicts of these; loading restores them with their types. Saved is also each trace of each `rt.function` that is an
    attribute or method of a module; one that was never called is traced by its `input_signature`, or left out. Other
    attributes are left out.

    signatures  a function, or functions by name, that servers call with tensors by name: each with an
                `input_signature` or one trace. By default the only trace of `__call__`, or of the only function.

    Of a Keras model, `model.export` is called; with `signatures`, these are saved with the model's variables.

    FailedPreconditionError for a function of tensors of any rank that has no trace: saved graphs have ranks.
    UnimplementedError, with the line, for an op that cannot be saved: a call of Python, a dataset. TypeError for other
    objects than modules and functions. Then nothing is written; an existing model stays intact until it is replaced.
    """
    if isinstance(obj, _FUNCTIONS):
        root = Module("function")
        vars(root)["__call__"] = obj
    elif isinstance(obj, Module):
        root = obj
    elif callable(getattr(obj, "export", None)) and not isinstance(obj, type):
        if signatures is None:
            obj.export(export_dir, verbose=False)
            return
        root = Module("model")
        vars(root)["variables"] = [v.__variable__() for v in obj.variables]
        vars(root).update(_named(signatures))
    else:
        raise located(TypeError(f"what is saved is an rt.Module, an rt.function or a Keras model, not {obj!r}"))
    objects = _Objects()
    objects.number(root)
    document = {
        "objects": objects.described, "functions": objects.functions,
        "signatures": {name: objects.signature(f) for name, f in _signatures(root, signatures).items()},
        **objects.encoder.document()}
    write(os.fspath(export_dir), document, objects.encoder.arrays)


def _signatures(root: Module, signatures: Any) -> dict[str, Trace]:
    if signatures is None:
        found = {name: _traces(f) for name, f in _functions(root).items()}
        chosen = found.get("__call__") or (next(iter(found.values())) if len(found) == 1 else [])
        return {DEFAULT: chosen[0]} if len(chosen) == 1 else {}
    return {name: _single(name, f) for name, f in _named(signatures).items()}


def _named(signatures: Any) -> dict[str, Any]:
    functions = signatures if isinstance(signatures, Mapping) else {DEFAULT: signatures}
    return {str(name): f for name, f in functions.items()}


def _single(name: str, f: Any) -> Trace:
    traces = _traces(f) if isinstance(f, _FUNCTIONS) else None
    if traces is None:
        raise located(TypeError(f"the signature {name!r} is an rt.function, not {f!r}"))
    if len(traces) != 1:
        raise located(FailedPreconditionError(
            f"the signature {name!r} has {len(traces)} traces",
            remedy="Give an input_signature=, or f.get_concrete_function(...)."))
    return traces[0]


def _traces(f: Any) -> list[Trace]:
    if isinstance(f, ConcreteFunction):
        return [f]
    if isinstance(f, LoadedFunction):
        return list(f.traces)
    if isinstance(f, UnrankedFunction):
        if not f.traces:
            raise located(FailedPreconditionError(
                f"{f.pretty_printed_signature()} has no trace, and a saved graph has tensors of known rank",
                remedy="Call it first, with tensors of each rank; or give the rank: rt.TensorSpec([None], dtype)."))
        return list(f.traces.values())
    found: list[Trace] = list(f.concrete_functions)
    return found if found or f.input_signature is None else _traces(f.get_concrete_function())


def _functions(x: Module) -> dict[str, Any]:
    """The traced functions of a module, by name: attributes and methods."""
    of_class = {name: getattr(x, name) for name in dir(type(x))
                if isinstance(inspect.getattr_static(type(x), name), Function)}
    return {**of_class, **{name: value for name, value in sorted(vars(x).items())
                           if isinstance(value, _FUNCTIONS)}}


class _Objects:
    """The objects on the paths from a module to its variables and functions, each once."""

    def __init__(self) -> None:
        self.encoder = Encoder()
        self.described: list[Any] = []
        self.functions: list[Any] = []
        self._numbers: dict[int, tuple[int | None, Any]] = {}  # by id, with the object, which is kept alive
        self._traced: dict[int, int] = {}

    def number(self, x: Any) -> int | None:
        """The number of an object; None if it is not saved."""
        known = self._numbers.get(id(x))
        if known is not None:
            return known[0]
        number = len(self.described)
        self._numbers[id(x)] = number, x  # reserved: modules may refer to themselves
        self.described.append({"value": None})
        made = self._describe(x)
        if made is None:
            self._numbers[id(x)] = None, x
            return None
        self.described[number] = made
        return number

    def _describe(self, x: Any) -> Any:
        if isinstance(x, Variable):
            return {"variable": self.encoder.number("variable", x)}
        if isinstance(x, _FUNCTIONS):
            traces = _traces(x)
            return {"function": [self.trace(trace) for trace in traces]} if traces else None
        if isinstance(x, Module):
            attributes = {**vars(x), **_functions(x)}
            found = {name: self.number(attributes[name]) for name in sorted(attributes)}
            return {"module": {name: number for name, number in found.items() if number is not None}}
        if isinstance(x, Mapping):
            items = [(key, self.number(x[key])) for key in x if type(key) in LITERALS]
            whole = len(items) == len(x) and all(number is not None for _, number in items)
            return {"dict": [[self.encoder.value(key), number] for key, number in items]} if whole else None
        if type(x) in (list, tuple):
            numbers = [self.number(item) for item in x]
            return None if None in numbers else {type(x).__name__: numbers}
        if type(x) in LITERALS:
            return {"value": self.encoder.value(x)}
        if isinstance(x, EagerTensor):
            return {"tensor": self.encoder.array(x.numpy())}
        return {"ndarray": self.encoder.array(x)} if isinstance(x, np.ndarray) and x.dtype != object else None

    def trace(self, trace: Trace) -> int:
        """The number of a trace."""
        if id(trace) not in self._traced:
            self._traced[id(trace)] = len(self.functions)
            self.functions.append(self._trace(trace))
        return self._traced[id(trace)]

    def _trace(self, concrete: Trace) -> Any:
        if isinstance(concrete, LoadedTrace):
            return {**concrete.about, "graph": self.encoder.graph(concrete.graph)}
        refused = _refused(concrete)
        if refused:
            raise located(UnimplementedError(f"{concrete.pretty_printed_signature()} cannot be saved: it {refused}"))
        graph = Graph(concrete.name)
        inputs = [add_input(graph, type, value.hint)
                  for type, value in zip(concrete.types, concrete.graph.inputs, strict=False)]
        results = _Results(_is_tensor, self.encoder.value)
        arguments = Structure(lambda x: isinstance(x, TensorSpec), self.encoder.value)
        try:
            with tracing(graph, BACKEND):
                returned = results.of(concrete.apply(inputs, None, ()))
                set_outputs(graph, [x if isinstance(x, (GraphList, EagerList)) else convert_to_tensor(x)
                                    for x in results.leaves])
            args, kwargs = concrete.structured_input_signature
            traced = [arguments.of(args), arguments.of(dict(kwargs))]
        except (NotSavedError, StagingError) as error:
            what = "a result that is of several kinds or None" if isinstance(error, StagingError) else error
            raise located(UnimplementedError(
                f"{concrete.pretty_printed_signature()} cannot be saved: {what} is among its arguments and results",
                remedy="These are tensors, numbers, texts, and lists, tuples and dicts of them.")) from None
        order = {id(spec): number for number, spec in enumerate(concrete.input_specs)}
        return {"name": concrete.name, "parameters": self._parameters(concrete), "arguments": traced,
                "order": [order[id(spec)] for spec in arguments.leaves], "results": returned,
                "graph": self.encoder.graph(graph)}

    def _parameters(self, concrete: ConcreteFunction) -> Any:
        found = []
        for parameter in concrete.parameters.parameters.values():
            has = parameter.default is not parameter.empty and type(parameter.default) in LITERALS
            found.append([parameter.name, int(parameter.kind), has,
                          self.encoder.value(parameter.default) if has else None])
        return found

    def signature(self, concrete: Trace) -> Any:
        """The signature for servers: the names of input tensors, and of results."""
        names = [value.hint or f"input_{k}" for k, value in enumerate(concrete.graph.inputs[:len(concrete.types)])]
        if len(set(names)) < len(names):
            names = [f"input_{k}" for k in range(len(names))]
        number = self.trace(concrete)
        results = self.functions[number]["results"]
        if set(results) == {"dict"} and all(type(key) is str and "leaf" in item for key, item in results["dict"]):
            outputs = {key: item["leaf"] for key, item in results["dict"]}
        else:
            count = len(self.functions[number]["graph"]["outputs"])
            outputs = {f"output_{k}": k for k in range(count)}
        return {"function": number, "inputs": names, "outputs": outputs}


def _is_tensor(x: Any) -> bool:
    """Whether a result is a tensor; numbers count as tensors, as in the results of an `rt.function`."""
    return isinstance(x, (Tensor, np.ndarray, np.generic, bool, float, complex)) or (
        isinstance(x, int) and -2**63 <= x < 2**64)


class _Results(Structure):
    """Also lists and tuples of dynamic length: the numbers of their columns, and the structure of their items."""

    def of(self, x: Any) -> Any:
        is_tuple = isinstance(x, StagedTuple)
        if not (is_tuple or (type(x) is list and is_staged_list(x))):
            return super().of(x)
        (items,), start = list_of(x), len(self.leaves)
        self.leaves += items.leaves
        item = Structure(lambda part: not pytree.is_nested(part), self._literal)
        return {"staged_tuple" if is_tuple else "staged": [
            start, len(items.leaves), None if items.structure is None else item.of(items.structure)]}


def _refused(concrete: ConcreteFunction) -> str:
    if any(isinstance(type, ListType) for type in concrete.types):
        return "takes a list that grows in a graph"
    if concrete.captures_arrays:
        return "changes a NumPy array from outside"
    return "takes variables as arguments" if concrete.takes_variables else ""

"""Graphs as JSON: the values that ops have as parameters, by kind, and graphs of them.

JSON has null, bools, ints, strings, and lists, which stand for tuples. Any other value is an object with one key, the
kind of the value. Arrays are stored separately, by name. Shared objects, such as variables and tables, are in lists of
their own, and are referred to by number.
"""
from __future__ import annotations

import base64
import builtins
import dataclasses
import os
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Final

import numpy as np

from runtime.core import errors
from runtime.core.errors import UnimplementedError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.op import REGISTRY
from runtime.core.positions import Position
from runtime.core.routine import Routine
from runtime.core.string_arrays import boxed
from runtime.core.tensor import EagerTensor
from runtime.core.text import Hole, Template
from runtime.core.types import DType, ListType, TensorType, as_dtype
from runtime.function.variables.variable import Variable
from runtime.ops.effects import Deferred, Raised, made_of
from runtime.ops.exceptions import Region
from runtime.ops.lookup import Entries
from runtime.ops.random_sources import Source, source_of, state_of

__all__ = ["Decoder", "Encoder", "index"]

_RECORDS: Final[dict[str, Any]] = {
    "tensor": TensorType, "list": ListType, "hole": Hole, "template": Template, "deferred": Deferred}
"""Dataclasses, whose fields are encoded in order."""
_SHARED: Final[dict[str, type]] = {
    "variable": Variable, "region": Region, "source": Source, "table": Entries, "routine": Routine, "class": type}
"""Classes of objects whose identity matters."""


def _is_error(x: Any) -> bool:
    return isinstance(x, type) and issubclass(x, BaseException)


def _error_class(name: str) -> Any:
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    if _is_error(found):
        return found
    raise ValueError(f"there is no error class {name!r}")


def _is_known(cls: type) -> bool:
    """Whether an exception class is Python's or the runtime's."""
    return cls in (getattr(errors, cls.__name__, None), getattr(builtins, cls.__name__, None))


class _Unknown(Exception):
    """The value cannot be saved in a file."""


class Encoder:
    """Collects the content of a file: `arrays` by name, and `shared` descriptions of shared objects by kind."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self.shared: dict[str, list[Any]] = {kind: [] for kind in _SHARED}
        self.variables: list[Variable] = []
        self._places: list[Any] = []
        self._numbers: dict[int, tuple[int, Any]] = {}  # by id: the number, and the object, which is kept alive
        self._describe: Mapping[str, Callable[[Any], Any]] = {
            "variable": self._variable, "region": self._region, "source": state_of, "table": self._table,
            "routine": self._routine, "class": self._class}

    def document(self) -> dict[str, Any]:
        return {"shared": self.shared, "places": self._places}

    def value(self, x: Any) -> Any:
        """The JSON of a value."""
        kind = type(x)
        if x is None or kind in (bool, int, str):
            return x
        if kind in (tuple, list):
            items = [self.value(item) for item in x]
            return items if kind is tuple else {"items": items}
        if kind is dict:
            return {"dict": [[self.value(key), self.value(item)] for key, item in x.items()]}
        if kind is float:
            return {"float": x.hex()}
        if kind is bytes:
            return {"bytes": base64.b64encode(x).decode()}
        if isinstance(x, DType):
            return {"dtype": x.name}
        if isinstance(x, (np.ndarray, np.generic)):
            return self.array(x)
        if isinstance(x, Raised):
            return {"raised": self._raised(x)}
        if isinstance(x, Position):
            return {"place": self._place(x)}
        if isinstance(x, type):
            known = issubclass(x, BaseException) and _is_known(x)
            return {"error": x.__name__} if known else {"class": self.number("class", x)}
        for name, record in _RECORDS.items():
            if kind is record:
                fields = [field.name for field in dataclasses.fields(record) if field.compare]
                return {name: [self.value(getattr(x, field)) for field in fields]}
        for name, cls in _SHARED.items():
            if isinstance(x, cls):
                return {name: self.number(name, x)}
        raise _Unknown(f"a {kind.__name__}")

    def array(self, x: Any) -> Any:
        """A reference to an array."""
        name = f"array/{len(self.arrays)}"
        self.arrays[name] = np.asarray(boxed(x))
        return {"array": [name, isinstance(x, np.generic)]}

    def number(self, kind: str, x: Any) -> int:
        """The number of a shared object."""
        known = self._numbers.get(id(x))
        if known is not None:
            return known[0]
        number = len(self.shared[kind])
        self._numbers[id(x)] = number, x
        self.shared[kind].append(None)  # reserved: a routine may refer to itself
        self.shared[kind][number] = self._describe[kind](x)
        return number

    def _variable(self, x: Variable) -> Any:
        self.variables.append(x)
        return {"name": x.name, "trainable": x.trainable, "type": self.value(x.type), "value": self.array(x.numpy())}

    def _region(self, x: Region) -> Any:
        return {"line": x.line, "types": self.value(x.types), "caught": self.value(tuple(x.caught)),
                "divided": x.divided}

    def _table(self, x: Entries) -> Any:
        return [self.array(x.keys), self.array(x.values), self.value(x.default), x.buckets]

    def _routine(self, x: Routine) -> Any:
        return {"name": x.name, "types": self.value(x.types), "graph": self.graph(x.graph)}

    def _class(self, x: type) -> Any:
        """A user's exception class: its name and bases. Its methods are code, and are not saved."""
        if not issubclass(x, BaseException):
            raise _Unknown(f"the class {x.__name__}")
        if isinstance(x.__str__, FunctionType):
            raise _Unknown(f"the exception class {x.__name__}, whose text its own __str__ makes,")
        return [x.__name__, [self.value(base) for base in x.__bases__ if issubclass(base, BaseException)]]

    def _raised(self, x: Raised) -> Any:
        return {"class": self.value(type(x.exception)), "args": self.value(x.args),
                "attributes": self.value({name: item for name, item in x.attributes.items() if name != "__region__"}),
                "trail": [self._place(place) for place in x.trail], "cause": self.value(x.cause)}

    def _place(self, place: Any) -> int | None:
        """The number of a position in the source, with the file's name but not its directory."""
        if place is None:
            return None
        found = [os.path.basename(place.filename), place.lineno, getattr(place, "function", "")]
        if found not in self._places[-1:]:
            self._places.append(found)
        return len(self._places) - 1

    def graph(self, graph: Graph, outside: Mapping[Value, int] | None = None) -> Any:
        """The JSON of a graph. `outside`: the numbers of the values of the enclosing graph.

        UnimplementedError, with the user's line, for an op that cannot be saved.
        """
        numbers: dict[Value, int] = {}
        for value in graph.parameters:
            numbers[value] = len(numbers)
        captures = []
        for outer, inner in graph.captures:
            if isinstance(outer, Value):
                assert outside is not None, "a captured value belongs to the graph around"
                source: Any = outside[outer]
            elif isinstance(outer, EagerTensor):
                source = self.array(outer.numpy())
            else:
                raise _Unknown(f"a {type(outer).__name__} from outside of {graph.name!r}")
            captures.append([source, self.value(inner.type)])
        nodes = []
        for node in graph.nodes:
            nodes.append(self._node(node, numbers))
            for value in node.outputs:
                numbers[value] = len(numbers)
        return {"name": graph.name, "inputs": [[self.value(x.type), x.hint] for x in graph.inputs],
                "captures": captures, "nodes": nodes, "outputs": [numbers[x] for x in graph.outputs]}

    def _node(self, node: Node, numbers: Mapping[Value, int]) -> Any:
        made: dict[str, Any] = {"op": node.op.name}
        try:
            params = {name: {"graph": self.graph(param, numbers)} if isinstance(param, Graph) else self.value(param)
                      for name, param in node.params.items()}
        except _Unknown as unknown:
            error = UnimplementedError(
                f"{node.op.name} cannot be saved: it has {unknown}",
                remedy="Save a function without it: what calls Python, reads a dataset or prints to a file belongs "
                       "outside.")
            locate(error, node.position)
            raise error from None
        if node.inputs:
            made["inputs"] = [numbers[x] for x in node.inputs]
        if params:
            made["params"] = params
        made["types"] = self.value(node.outputs[0].type if node.single else tuple([x.type for x in node.outputs]))
        if node.position is not None:
            made["place"] = self._place(node.position)
        return made


class Decoder:
    """Restores the values of a file. The file is not trusted: any exception means that it is damaged, and no code runs
    but the type rules of the ops, which check each node."""

    def __init__(self, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self._places = [Position(str(file), int(line), str(function)) for file, line, function in document["places"]]
        self._documents: Mapping[str, list[Any]] = document["shared"]
        self._shared: dict[tuple[str, int], Any] = {}
        self._make: Mapping[str, Callable[[Any, int], Any]] = {
            "variable": self._variable, "region": self._region, "source": lambda about, _: source_of(about),
            "table": self._table, "routine": self._routine, "class": self._class}
        self._simple: Mapping[str, Callable[[Any], Any]] = {
            "items": lambda x: [self.value(item) for item in x], "float": float.fromhex,
            "dict": lambda x: {self.value(key): self.value(item) for key, item in x},
            "bytes": lambda x: base64.b64decode(x, validate=True), "dtype": as_dtype, "array": self._array,
            "error": _error_class, "raised": self._raised, "place": lambda x: self._places[index(x)]}

    def value(self, x: Any) -> Any:
        if isinstance(x, list):
            return tuple([self.value(item) for item in x])
        if not isinstance(x, dict):
            if isinstance(x, float):
                raise ValueError(f"the number {x}")
            return x
        ((kind, content),) = x.items()
        if kind in self._simple:
            return self._simple[kind](content)
        if kind in _RECORDS:
            return self._record(_RECORDS[kind], [self.value(item) for item in content])
        return self.shared(kind, content)

    def _record(self, record: Any, values: list[Any]) -> Any:
        if record is TensorType:
            dtype, shape, weak = values
            if not isinstance(dtype, DType) or not isinstance(shape, tuple) or not all(
                    n is None or (type(n) is int and n >= 0) for n in shape) or not isinstance(weak, (bool, DType)):
                raise ValueError(f"the type {values}")
        if record is ListType and not isinstance(values[0], TensorType):
            raise ValueError(f"a list of {values[0]}")
        return record(*values)

    def type_of(self, x: Any) -> Any:
        """A type, or a tuple of types."""
        found = self.value(x)
        for each in found if isinstance(found, tuple) else (found,):
            if not isinstance(each, (TensorType, ListType)):
                raise ValueError(f"{each!r} is no type")
        return found

    def shared(self, kind: str, number: Any) -> Any:
        """A shared object by its number."""
        if (kind, index(number)) not in self._shared:
            made = self._make[kind](self._documents[kind][number], number)
            self._shared[kind, number] = made
        return self._shared[kind, number]

    def _array(self, x: Any) -> Any:
        name, is_scalar = x
        array = self._arrays[name]
        return array[()] if is_scalar else array

    def _variable(self, about: Any, number: int) -> Variable:
        type = self.type_of(about["type"])
        name, trainable = about["name"], about["trainable"]
        if not isinstance(name, str) or not isinstance(trainable, bool):
            raise ValueError(f"a variable {name!r}")
        made = Variable(self.value(about["value"]), trainable, name=name.removesuffix(":0"), dtype=type.dtype,
                        shape=type.shape)
        if made.type != type:
            raise ValueError(f"variable {name} is {made.type}, not {type}")
        return made

    def _region(self, about: Any, number: int) -> Region:
        made = Region(int(about["line"]))
        types = self.type_of(about["types"])
        made.types = types if isinstance(types, tuple) else (types,)
        made.caught = self.value(about["caught"])
        made.divided = bool(about["divided"])
        return made

    def _table(self, about: Any, number: int) -> Entries:
        keys, values, default, buckets = about
        made = Entries(self.value(keys), self.value(values), self.value(default), int(buckets))
        if not len(made.keys) == len(made.values) == len(made.positions):
            raise ValueError("the keys of a table")
        return made

    def _routine(self, about: Any, number: int) -> Routine:
        made = Routine(str(about["name"]), self.type_of(about["types"]))
        self._shared["routine", number] = made  # may be referred to by its own graph
        made.graph = self.graph(about["graph"])
        return made

    def _class(self, about: Any, number: int) -> Any:
        name, bases = about
        found = tuple([self.value(base) for base in bases])
        if not isinstance(name, str) or not name.isidentifier() or not found or not all(map(_is_error, found)):
            raise ValueError(f"an exception class {name!r}")
        return type(name, found, {"__module__": "runtime.saved_model"})

    def _raised(self, about: Any) -> Raised:
        cls = self.value(about["class"])
        if not _is_error(cls):
            raise ValueError(f"an error {cls!r}")
        args, attributes, cause = self.value(about["args"]), self.value(about["attributes"]), self.value(about["cause"])
        if not isinstance(args, tuple) or not isinstance(attributes, dict) or not all(
                isinstance(name, str) and not name.startswith("__") for name in attributes):
            raise ValueError(f"an error {cls.__name__}")
        if cause is not None and not isinstance(cause, Region):
            raise ValueError("the cause of an error")
        trail = tuple([self._places[place] for place in about["trail"]])
        return Raised(made_of(cls, ()), args, attributes, trail, cause)

    def graph(self, about: Any, parent: Graph | None = None, outside: list[Value] | None = None) -> Graph:
        """A graph; its nodes are checked."""
        graph = Graph(str(about["name"]), parent)
        values: list[Value] = []
        for type, hint in about["inputs"]:
            values.append(graph.add_input(self.type_of(type), None if hint is None else str(hint)))
        for source, type in about["captures"]:
            outer: Any
            if outside is not None:
                outer = outside[index(source)]
            else:
                outer = EagerTensor.own(self.value(source))
            inner = Value(graph, self.type_of(type))
            if not inner.type.accepts(outer.type):
                raise ValueError(f"{outer.type} is captured as {inner.type}")
            graph.captures.append((outer, inner))
            values.append(inner)
        for node in about["nodes"]:
            values += self._node(node, graph, values).outputs
        graph.outputs = [values[index(number)] for number in about["outputs"]]
        return graph

    def _node(self, about: Any, graph: Graph, values: list[Value]) -> Node:
        op = REGISTRY[about["op"]]
        inputs = [values[index(number)] for number in about.get("inputs", ())]
        params = {}
        for name, param in about.get("params", {}).items():
            if isinstance(param, dict) and set(param) == {"graph"}:
                params[name] = self.graph(param["graph"], graph, values)
            else:
                params[name] = self.value(param)
        place = about.get("place")
        return graph.add_node(op, inputs, params, self.type_of(about["types"]),
                              None if place is None else self._places[index(place)])


def index(number: Any) -> int:
    """A number that refers to an item of a list. ValueError if it cannot be one."""
    if type(number) is not int or number < 0:
        raise ValueError(f"the number {number!r}")
    return number

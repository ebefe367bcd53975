"""Recipes by which each call builds Python objects like those that a traced function made and returned, with its own
values.

A recipe is derived from one object at trace time. Objects of any class are decomposed and rebuilt by the protocol of
`copy` and `pickle` (`__reduce_ex__`), without calling `__init__`. An object with several references, or in a reference
cycle, is built once per call.
"""
from __future__ import annotations

import copy
import copyreg
import functools
from collections.abc import Callable, Iterable, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from autograph.backend import UNBOUND, makes_its_objects
from runtime.core.tensor import EagerTensor
from runtime.core.trace import convert_to_tensor, current_graph, init_scope

__all__ = [
    "NUMBERS", "Argument", "ArrayMade", "Arrays", "Cell", "Dict", "Error", "Function", "List", "Method", "Number",
    "Object", "Part", "Recipe", "Run", "Spread", "Tuple", "Values", "constant", "is_constant", "number", "reduced",
    "spread", "spread_items"]

NUMBERS: Final = frozenset({bool, int, float, complex})


class Values:
    """The results of a graph in one call.

    results     the tensors and lists
    made        the objects built so far, by id of the recipe
    containers  the containers among the arguments, or None if they are not known
    passed      the leaves of the arguments, as passed by the caller
    """

    __slots__ = ("containers", "made", "passed", "results")

    def __init__(self, results: Sequence[Any], containers: Sequence[Any] | None, passed: Sequence[Any]) -> None:
        self.results = results
        self.made: dict[int, Any] = {}
        self.containers, self.passed = containers, passed


Part = Callable[[Values], Any]


class Recipe:
    """Builds an object like `value` from the values of a call."""

    def __init__(self, value: Any) -> None:
        self.value = value  # keeps its id unique
        self.constant = False
        """Whether it is the same object in all calls."""

    def __call__(self, values: Values) -> Any:
        if self.constant:
            return self.value
        made = values.made
        key = id(self)
        return made[key] if key in made else self.make(values)

    def make(self, values: Values) -> Any:
        raise NotImplementedError


def constant(value: Any) -> Recipe:
    """The recipe of an object that is the same in all calls."""
    recipe = Recipe(value)
    recipe.constant = True
    return recipe


def is_constant(parts: Sequence[Part]) -> bool:
    return all(isinstance(part, Recipe) and part.constant for part in parts)


class Number(Recipe):
    """A Python number: outside of graphs it becomes a tensor; in a graph, where it adapts to its operands, it stays a
    number."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        with init_scope():
            self.tensor = convert_to_tensor(value)

    def __call__(self, values: Values) -> Any:
        return self.tensor if current_graph() is None else self.value


def number(value: Any) -> Recipe:
    """The recipe of a Python number that a function returns. An int that exceeds 64 bits stays a Python int."""
    return constant(value) if type(value) is int and not -2**63 <= value < 2**64 else Number(value)


class Run:
    """The items represented by one placeholder in a list: a new list."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items


class Spread:
    """The part that returns a `Run` of tensors, or of structures of tensors; these refer to no object of other parts.
    In traced code it may return another placeholder."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[Values], Any]) -> None:
        self.run = run

    def __call__(self, values: Values) -> Any:
        return self.run(values)


def spread(items: Iterable[Any]) -> list[Any]:
    """The items of a list, with a placeholder replaced by the items that it represents."""
    found: list[Any] = []
    for item in items:
        found += item.items if type(item) is Run else [item]
    return found


def spread_items(items: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The items of a dict that are bound, with a placeholder replaced by the items that it represents."""
    found: list[tuple[Any, Any]] = []
    for key, value in items:
        if value is not UNBOUND:
            found += value.items if type(value) is Run else [(key, value)]
    return found


class List(Recipe):
    """A list."""

    parts: Sequence[Part] = ()

    def make(self, values: Values) -> Any:
        if len(self.parts) == 1 and isinstance(self.parts[0], Spread):  # long lists are not copied
            found = self.parts[0](values)
            return values.made.setdefault(id(self), found.items if type(found) is Run else [found])
        new: list[Any] = []
        values.made[id(self)] = new
        if current_graph() is None:
            items, others = self._tensors
            new += items
            for i, part in others:
                new[i] = part(values)
        else:
            new += [part(values) for part in self.parts]
        if self._spreads:
            new[:] = spread(new)
        return new

    @functools.cached_property
    def _tensors(self) -> tuple[list[Any], list[tuple[int, Part]]]:
        """The items: tensors for Python numbers, None for other parts; and those parts with their indices."""
        return ([part.tensor if type(part) is Number else None for part in self.parts],
                [(i, part) for i, part in enumerate(self.parts) if type(part) is not Number])

    @functools.cached_property
    def _spreads(self) -> bool:
        return any(isinstance(part, Spread) for part in self.parts)


class Dict(Recipe):
    """A dict with the type and settings of `empty`."""

    empty: dict[Any, Any] = {}
    parts: Sequence[tuple[Part, Part]] = ()

    def make(self, values: Values) -> Any:
        new: dict[Any, Any] = copy.copy(self.empty)
        values.made[id(self)] = new
        for key, value in spread_items((key(values), part(values)) for key, part in self.parts):
            new[key] = value
        return new


class Tuple(Recipe):
    """A tuple, or named tuple."""

    parts: Sequence[Part] = ()

    def make(self, values: Values) -> Any:
        items = [part(values) for part in self.parts]
        return values.made.setdefault(id(self), tuple.__new__(type(self.value), items))


class Object(Recipe):
    """An object rebuilt by its `__reduce_ex__`: a callable, its arguments, the state, items of a list and of a dict."""

    parts: Sequence[Part] = ()
    items: Sequence[Part] = ()
    pairs: Sequence[tuple[Part, Part]] = ()

    def make(self, values: Values) -> Any:
        fn, args, state, setter = self.parts
        new = fn(values)(*args(values))
        new = values.made.setdefault(id(self), new)
        stored_state = state(values)
        if stored_state is not None:
            _set_state(new, stored_state, setter(values))
        for item in spread([item(values) for item in self.items]):
            new.append(item)
        for name, item in spread_items((key(values), part(values)) for key, part in self.pairs):
            new[name] = item
        return new


def _set_state(new: Any, state: Any, setter: Any) -> None:
    if setter is not None:
        setter(new, state)
    elif hasattr(new, "__setstate__"):
        new.__setstate__(state)
    else:
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            new.__dict__.update(state)
        for name, value in (slots or {}).items():
            object.__setattr__(new, name, value)  # works for frozen classes, too


def reduced(value: Any) -> tuple[Any, ...] | str:
    """The result of `__reduce_ex__` of `value`. TypeError or the like if it cannot be copied."""
    if type(value).__module__ == "itertools":  # some of these can be copied, up to Python 3.13
        raise TypeError(f"cannot copy {type(value).__name__!r} object")
    reduce = copyreg.dispatch_table.get(type(value))
    if reduce is not None:
        return reduce(value)
    found: tuple[Any, ...] | str = value.__reduce_ex__(4)
    return (object.__new__, (type(value),), *found[2:]) if makes_its_objects(type(value)) else found


class Error(Recipe):
    """An exception, whose `__init__` may take other arguments than the stored ones."""

    parts: Sequence[Part] = ()

    def make(self, values: Values) -> Any:
        args, fields = (part(values) for part in self.parts)
        new = values.made.setdefault(id(self), type(self.value).__new__(type(self.value), *args))
        new.args = args
        new.__dict__.update(fields)
        return new


class Cell(Recipe):
    """A cell that may be shared by functions."""

    part: Part | None = None

    def make(self, values: Values) -> Any:
        new = values.made[id(self)] = CellType()
        if self.part is not None:
            new.cell_contents = self.part(values)
        return new


class Function(Recipe):
    """A function defined during the trace, with its own cells."""

    parts: Sequence[Part] = ()

    def make(self, values: Values) -> Any:
        old = self.value
        cells, defaults, keywords, fields = (part(values) for part in self.parts)
        new = FunctionType(old.__code__, old.__globals__, old.__name__, None, cells)
        new = values.made.setdefault(id(self), new)
        new.__defaults__, new.__kwdefaults__ = defaults, keywords
        new.__qualname__, new.__module__, new.__doc__ = old.__qualname__, old.__module__, old.__doc__
        new.__annotations__ = old.__annotations__
        new.__dict__.update(fields)
        return new


class Method(Recipe):
    """A method of an object."""

    parts: Sequence[Part] = ()

    def make(self, values: Values) -> Any:
        fn, instance = (part(values) for part in self.parts)
        return values.made.setdefault(id(self), MethodType(fn, instance))


class ArrayMade(Recipe):
    """A NumPy array with the elements of a tensor computed by the graph; in a graph, the tensor itself."""

    contents: Part

    def make(self, values: Values) -> Any:
        x = self.contents(values)
        made = values.made[id(self)] = x.numpy() if isinstance(x, EagerTensor) else x
        return made


class Arrays(Recipe):
    """A NumPy array; a view shares the memory of its base."""

    base: Part | None = None
    items: Sequence[Part] | None = None  # for an array of objects

    def make(self, values: Values) -> Any:
        old: Any = self.value
        base = None if self.base is None else self.base(values)
        if base is None:
            new = old.copy(order="K")
        else:
            start = old.__array_interface__["data"][0] - self.base.value.__array_interface__["data"][0]  # type: ignore[union-attr]
            flat = base.reshape(-1, order="A") if base.flags.forc else base
            place = (start, old.strides) if old.size else ()  # nothing may be beyond the end of the memory
            new = np.ndarray(old.shape, old.dtype, flat.view(np.uint8), *place)
        values.made[id(self)] = new
        if self.items is not None and base is None:
            for i, item in enumerate(self.items):
                new.flat[i] = item(values)
        new.flags.writeable = old.flags.writeable
        return new


class Argument(Recipe):
    """A container among the arguments of the call; if the arguments are not known, a copy."""

    number = 0
    otherwise: Part

    def make(self, values: Values) -> Any:
        return self.otherwise(values) if values.containers is None else values.containers[self.number]

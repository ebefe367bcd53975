"""The specs of values of staged state: which parts are leaves of the graph, and which stay Python values."""
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import MethodType
from typing import Any, Final, Protocol

import numpy as np

from autograph.backend import UNBOUND, ListItems, is_list
from runtime.core.constant_arrays import constant_array, is_numpy_value
from runtime.core.inaccessible import is_lost
from runtime.core.tensor import EagerList, GraphList, Tensor
from runtime.core.tensor_writes import Memory
from runtime.core.text import Text
from runtime.core.types import TensorType, Type, as_dtype, type_of_array
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.staging.elements.element_layout import same_layout
from runtime.staging.elements.select import Select, alternatives_of, choose, select_of
from runtime.staging.elements.select_pairs import same_objects
from runtime.staging.values.list import StagedItems

__all__ = [
    "BY_VALUE", "TEXT", "Cells", "ChosenText", "Custom", "Leaf", "Nested", "Optional", "Origins", "Shared", "Spec",
    "Static", "kind_of_container", "type_of", "value_of",
]


@dataclasses.dataclass(frozen=True, eq=False)
class Static:
    """A value that is the same on all paths: a Python value, or a tensor from outside."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and _same(self.value, other.value)


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A value of the graph. `fixed`: the user gave the shape, so it is not widened. `memories`: the memory that it may
    occupy if it is an array."""

    type: Type
    fixed: bool = False
    memories: frozenset[Memory] = frozenset()


@dataclasses.dataclass(frozen=True, eq=False)
class Nested:
    """A list, tuple, dict, dataclass or attrs object like `like`. `target`: the object to write new contents back
    into."""

    like: Any
    keys: tuple[Any, ...]
    children: tuple[Spec, ...]
    target: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nested) and self.alike(other) and self.children == other.children

    def alike(self, other: Nested) -> bool:
        return type(self.like) is type(other.like) and self.keys == other.keys and (
            kind_of_container(self.like) == kind_of_container(other.like))


@dataclasses.dataclass(frozen=True, eq=False)
class Custom:
    """An object with `__leaves__` like `like`, or a list with staged items.

    `target`: the object or list to write new leaves back into, if it is mutable.
    """

    like: Any
    children: tuple[Spec, ...]
    target: Any = None

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, Custom) and self.alike(other) and self.children == other.children
                and (not isinstance(self.like, StagedArray) or getattr(self.like, "layout", None) == getattr(
                    other.like, "layout", None)))

    def alike(self, other: Custom) -> bool:
        if isinstance(self.like, Variants) or isinstance(other.like, Variants):
            return self.kind is other.kind and self.like.classes == other.like.classes
        if hasattr(self.kind, "__is_like__"):
            return self.kind is other.kind and self.like.__is_like__(other.like)
        if isinstance(self.like, StagedArray) and not isinstance(self.like, ArrayCell):
            return self.kind is other.kind and self.like.alternatives == other.like.alternatives
        return (self.kind is other.kind and kind_of_container(self.like) == kind_of_container(other.like)
                and same_objects(self.like, other.like) and same_layout(_structure(self), _structure(other)))

    @property
    def kind(self) -> type:
        return type(self.like)


def _structure(spec: Custom) -> Any:
    """The structure of the elements of a list or dict of the graph; None if these are tensors, and for other values."""
    return spec.like.structure if isinstance(spec.like, StagedItems) else None


class Variants:
    """One of several newly created objects of different classes: the leaves are an index, and one object per class, of
    which only the one at the index is bound."""

    __slots__ = ("classes",)

    def __init__(self, classes: tuple[type, ...]) -> None:
        self.classes = classes

    @staticmethod
    def __rebuild__(leaves: Sequence[Any]) -> Any:
        index, *objects = leaves
        return select_of(objects, index)

    def leaves_of(self, value: Any) -> list[Any]:
        """The leaves of an object, or of a Select of objects."""
        objects, at = alternatives_of(value) if isinstance(value, Select) else ((value,), None)
        places = [self.classes.index(type(one)) for one in objects]
        known = {type(one): one for one in objects}
        index = places[0] if at is None else choose(places, at)
        return [index, *[known.get(cls, UNBOUND) for cls in self.classes]]


def kind_of_container(like: Any) -> tuple[type, Any] | None:
    """The class of a list, deque or dict, and its `maxlen` or default factory (of a function what it does, which is
    that of all closures of one text); None for other values."""
    like = like.empty if isinstance(like, StagedItems) else like
    if isinstance(like, dict):
        factory = getattr(like, "default_factory", None)
        code = getattr(factory, "__code__", None)
        return type(like), factory if code is None else (code.co_code, code.co_consts, code.co_names, code.co_freevars)
    return (type(like), getattr(like, "maxlen", None)) if is_list(like) else None


@dataclasses.dataclass(frozen=True)
class Optional:
    """A value that may be unbound or None: one bit for each of these, then the leaves of `child`."""

    child: Spec
    unbound: bool
    none: bool


@dataclasses.dataclass(frozen=True)
class Shared:
    """The same object as that of variable number `index`."""

    index: int


Spec = Static | Leaf | Nested | Custom | Optional | Shared


class ChosenText:
    """Text known only at run time; its leaf is the UTF-8 encoding."""

    __slots__ = ()

    @staticmethod
    def __rebuild__(leaves: Sequence[Any]) -> Text:
        return Text.of_utf8(leaves[0].value)


ChosenText.__name__ = "str"  # the name in messages
TEXT: Final = Custom(ChosenText(), (Leaf(TensorType(as_dtype("uint8"), (None,))),))
Origins = dict[int, tuple[Any, Any]]  # by id of a copy: (the copy, its original)

BY_VALUE: Final = (int, float, complex, bool, str, bytes, range, slice, MethodType, np.dtype)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Text):
        return a.same(b)
    if type(a) is not type(b) or not isinstance(a, BY_VALUE):
        return False
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else bool(a == b)


def type_of(value: Any) -> Type | None:
    """The type of `value` as a leaf; None if it is not a tensor, number or array, or is lost."""
    if is_lost(value):
        return None
    if isinstance(value, (Tensor, EagerList, GraphList)):
        return value.type
    if isinstance(value, (int, float, complex, np.ndarray, np.generic)):
        try:
            return dataclasses.replace(type_of_array(*constant_array(value)), of_arrays=is_numpy_value(value))
        except (TypeError, ValueError):
            return None
    if hasattr(type(value), "__tensor__") and not (hasattr(type(value), "__leaves__") or isinstance(value, ListItems)):
        return TensorType(as_dtype(value.dtype), tuple(value.shape))
    return None


def value_of(spec: Spec) -> Any:
    """The value, or container, that a spec describes; None for a tensor."""
    return spec.value if isinstance(spec, Static) else spec.like if isinstance(spec, (Nested, Custom)) else None


class Cells(Protocol):
    """Decides where a join of containers refers to them by identity instead of joining their contents."""

    @property
    def are_of_branches(self) -> bool:
        """Whether values are joined after branches, not after loop iterations."""

    def join(self, a: Spec, b: Spec) -> Any:
        """The Select or SelectedArray for a value that may be either, or the container if both are the same; None to
        join contents."""

    def alone(self, spec: Spec) -> Any:
        """The container of a variable that is absent on other paths, by identity; None to use its contents."""

    def is_shared(self, chosen: Select) -> bool:
        """Whether other names refer to a Select, or to one of its alternatives."""

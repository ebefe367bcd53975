"""Specs of values as text, for messages."""
from __future__ import annotations

from collections import deque
from typing import Any

from autograph.backend import only_atoms
from runtime.core.text import Text
from runtime.core.types import TensorType, Type
from runtime.numpy.array_choices import JoinedArray, SelectedOrNew
from runtime.numpy.array_objects import ArrayCell, StagedArray
from runtime.staging.elements.list_specs import (
    both_dicts,
    both_lists,
    is_dict_spec,
    is_list_spec,
    list_of_tuple,
    text_of_kind,
)
from runtime.staging.elements.specs import Custom, Leaf, Nested, Optional, Shared, Spec, type_of
from runtime.staging.values.list import StagedItems

__all__ = ["Conflict", "contents_of_array", "kind_text", "remedy_for_containers", "text", "text_of_key"]


def contents_of_array(spec: Spec) -> Spec:
    """The spec of the tensor in an array."""
    if not isinstance(spec, Custom) or not isinstance(spec.like, StagedArray):
        return spec
    return spec.children[0] if isinstance(spec.like, (ArrayCell, JoinedArray, SelectedOrNew)) else Leaf(spec.like.type)


def text(spec: Spec) -> str:
    """A value in messages: tensors by their types, Python values by themselves."""
    if isinstance(spec, Leaf):
        return _type_text(spec.type)
    if isinstance(spec, Shared):
        return "the same object"
    if isinstance(spec, Optional):
        return text(spec.child)
    if isinstance(spec, Custom):
        if isinstance(spec.like, StagedArray):
            return f"an array of {text(contents_of_array(spec))}"
        if not isinstance(spec.like, StagedItems):
            return spec.kind.__name__
        return _a(text_of_kind(spec.like.empty))
    if isinstance(spec, Nested):
        return _nested_text(spec)
    value = spec.value
    type = type_of(value)
    if type is not None and not isinstance(value, (int, float, complex)):
        return _type_text(type)
    if value is None:
        return "None"
    if isinstance(value, (int, float, complex, str, bytes)):
        shown = repr(value)
        if len(shown) <= 40:
            return f"the {kind_text(value)} {shown}"
    return f"a {kind_text(value)}"


def remedy_for_containers(a: Spec, b: Spec) -> str:
    """The remedy for lists that cannot become one staged list, for dicts of different kinds, and for a list and a
    tuple; empty for others."""
    if is_dict_spec(a) and is_dict_spec(b) and both_dicts(a, b) is None:
        return f"Make it {_a(text_of_kind(_dict_of(a)))}, or {_a(text_of_kind(_dict_of(b)))}, everywhere."
    if not (is_list_spec(a) and is_list_spec(b)):
        tuples = [tuple_ for one, other in ((a, b), (b, a)) if is_list_spec(one) and (tuple_ := list_of_tuple(other))]
        return "Make it a list everywhere, with [] in place of ()." if tuples else ""
    if both_lists(a, b) is None:
        return "Make it a list, or a deque with one maxlen, everywhere."
    return ("A list whose length changes in staged code holds numbers or tensors of one type, text, None, or structures"
            " of these.")


def _dict_of(spec: Nested | Custom) -> Any:
    return spec.like.empty if isinstance(spec, Custom) else spec.like


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiouAEIOU' else 'a'} {noun}"


def kind_text(value: Any) -> str:
    """The name of a value's class, or of the class that it represents."""
    return "str" if isinstance(value, Text) else getattr(type(value), "__stands_for__", type(value)).__name__


def _nested_text(spec: Nested) -> str:
    children = [text(child) for child in spec.children]
    if isinstance(spec.like, dict):
        items = ", ".join(f"{text_of_key(k)}: {c}" for k, c in zip(spec.keys, children, strict=True))
        return f"{{{items}}}" if type(spec.like) is dict else f"{text_of_kind(spec.like)}({{{items}}})"
    if isinstance(spec.like, list):
        return "[" + ", ".join(children) + "]"
    if isinstance(spec.like, deque):
        most = "" if spec.like.maxlen is None else f", maxlen={spec.like.maxlen}"
        return f"{kind_text(spec.like)}([{', '.join(children)}]{most})"
    if type(spec.like) is tuple:
        return "(" + ", ".join(children) + ("," if len(children) == 1 else "") + ")"
    return f"{kind_text(spec.like)}({', '.join(children)})"


def _type_text(type: Type) -> str:
    if isinstance(type, TensorType) and type.weak:
        return f"a Python {('bool', 'int', 'float', 'complex')[type.dtype.level]}"
    return str(type)


class Conflict(Exception):
    """Two values have no join: `left` and `right` describe the conflicting parts."""

    def __init__(self, left: Spec, right: Spec) -> None:
        super().__init__(f"{text(left)} and {text(right)}")
        self.left, self.right = left, right


def text_of_key(key: Any) -> str:
    """A key of a dict in a message; the `repr` of an object may be that of the program, and need the graph."""
    return repr(key) if only_atoms(key if type(key) is tuple else (key,)) else f"a {type(key).__name__}"

"""Nested structures."""
from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest

from runtime import nest


class Point(NamedTuple):
    x: Any
    y: Any


STRUCTURES = [
    1, None, [], (), {}, [1, [2, (3,)]], {"b": 1, "a": [2, 3]}, Point(1, [2]), OrderedDict(z=1, a=2),
    defaultdict(int, a=1),
]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_flatten_and_pack(structure: Any) -> None:
    flat = nest.flatten(structure)
    packed = nest.pack_sequence_as(structure, flat)
    assert packed == structure and type(packed) is type(structure)
    nest.assert_same_structure(structure, packed)


def test_order_of_dicts() -> None:
    assert nest.flatten({"b": 1, "a": 2}) == [2, 1]
    assert list(nest.map_structure(str, {"b": 1, "a": 2}).items()) == [("b", "1"), ("a", "2")]


def test_map_structure() -> None:
    assert nest.map_structure(lambda a, b: a + b, Point(1, [2]), Point(10, [20])) == Point(11, [22])
    assert nest.is_nested([]) and nest.is_nested({}) and not nest.is_nested("text")
    with pytest.raises(ValueError, match="map_structure needs at least one structure"):
        nest.map_structure(str)


@pytest.mark.parametrize(("a", "b", "error", "message"), [
    ([1], [1, 2], ValueError, "the structures differ: 1 elements and 2"),
    ([1], 1, ValueError, r"the structures differ: \[1\] is nested, 1 is not"),
    ([1], (1,), TypeError, "the structures differ: a list and a tuple"),
    ({"a": 1}, {"b": 1}, ValueError, r"the structures differ: dicts with the keys \['a'\] and \['b'\]"),
])
def test_differences(a: Any, b: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        nest.assert_same_structure(a, b)


def test_other_errors() -> None:
    nest.assert_same_structure([1], (1,), check_types=False)
    with pytest.raises(ValueError, match="has 2 leaves, but 1 are given"):
        nest.pack_sequence_as([1, 2], [1])
    with pytest.raises(TypeError, match="needs keys that sort"):
        nest.flatten({1: 1, "a": 2})

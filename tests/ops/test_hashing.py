"""The ops of hash tables, on both executors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.ops.hashing import hash_find, hash_slots
from runtime.ops.lists import list_from_tensor, list_stack


def entries_of(keys: Any, marks: Any, sought: Any) -> Any:
    """The entries of some keys in a table with these keys and marks."""
    columns, table = [list_from_tensor(keys)], list_from_tensor(marks)
    slots = hash_slots(list_from_tensor(rt.zeros([8], rt.int32)), table, columns)
    return rt.map_fn(lambda key: hash_find(slots, table, columns, [key])[0], sought, rt.int32), list_stack(slots)


def check(keys: Any, marks: Any, sought: Any, want: Any) -> int:
    """Returns the number of slots."""
    sizes = set()
    for fn in on_both(entries_of).values():
        found, slots = fn(rt.constant(keys), rt.constant(marks), rt.constant(sought))
        assert found.numpy().tolist() == want
        sizes.add(len(slots.numpy()))
    (size,) = sizes
    return size


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint64", "float32", "float64", "bool"])
def test_finds_the_keys_that_are_not_deleted(dtype: str) -> None:
    keys = np.unique(np.random.default_rng(0).integers(0 if dtype[0] == "u" else -99, 99, 60).astype(dtype))
    alive = np.arange(len(keys)) % 5 != 1
    marks = np.array([alive.sum(), *alive], np.int32)
    size = check(np.array([0, *keys], dtype), marks, keys, [k * int(mark) for k, mark in enumerate(alive, 1)])
    assert 4 * len(keys) <= size < max(8 * len(keys), 9)


def test_zeros_of_both_signs_are_one_key_and_nan_is_none() -> None:
    check(np.array([9.0, 0.0, np.nan]), np.array([2, 1, 1], np.int32), np.array([-0.0, 0.0, np.nan, 9.0]), [1, 1, 0, 0])


def test_a_key_is_not_searched_for_by_another_kind_of_number() -> None:
    with pytest.raises(TypeError, match="is searched for by int32"):
        rt.function(entries_of)(np.ones(2), np.ones(2, np.int32), np.ones(2, np.int32))

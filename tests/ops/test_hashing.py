"""The ops of hash tables, on both executors."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.ops.hashing import hash_find, hash_slots
from runtime.ops.lists import list_from_tensor, list_get, list_split, list_stack


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


def entries_of_vectors(items: Any, lengths: Any, numbers: Any, sought: Any, sought_lengths: Any) -> Any:
    """The entries of keys that are a vector and a number, in a table where the keys are the first ones."""
    columns = [list_split(items, lengths), list_from_tensor(numbers)]
    marks = list_from_tensor(rt.concat([[rt.size(lengths) - 1], rt.ones([rt.size(lengths) - 1], rt.int32)], 0))
    slots = hash_slots(list_from_tensor(rt.zeros([8], rt.int32)), marks, columns)
    keys = list_split(sought, sought_lengths)
    return rt.map_fn(lambda k: hash_find(slots, marks, columns, [list_get(keys, k), k % 2])[0],
                     rt.range(rt.size(sought_lengths)), rt.int32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "bool"])
@pytest.mark.parametrize("lengths", [[0, 2, 1, 0, 3], [2, 2, 2, 2, 2]])
def test_parts_of_keys_that_are_vectors(lengths: list[int], dtype: str) -> None:
    items = np.arange(sum(lengths)).astype(dtype)
    rows = [row.tolist() for row in np.split(items, np.cumsum(lengths)[:-1])]
    numbers = np.arange(len(lengths), dtype=np.int32) % 2
    wanted = [*rows, [9, 9, 9, 9], [], [1]]
    table = {(tuple(row), k % 2): k for k, row in reversed([*enumerate(rows)]) if k}
    sought = np.array([x for row in wanted for x in row], "int16" if dtype == "int32" else dtype)
    for fn in on_both(entries_of_vectors).values():
        found = fn(items, np.array(lengths, np.int32), numbers, sought, np.array([*map(len, wanted)], np.int32))
        assert found.numpy().tolist() == [table.get((tuple(row), k % 2), 0) for k, row in enumerate(wanted)]


def test_a_vector_is_no_part_of_keys_with_numbers() -> None:
    with pytest.raises(rt.errors.ShapeError, match=r"a part of a key of list\[weak int32\[\]\] is weak int32\[2\]"):
        rt.function(lambda keys: hash_find(
            list_from_tensor(rt.zeros([8], rt.int32)), list_from_tensor([0]), [list_from_tensor(keys)], [keys]))([1, 2])

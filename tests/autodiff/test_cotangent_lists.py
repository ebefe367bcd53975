"""Cotangents of lists: their zero, and their sum."""
from __future__ import annotations

from typing import Any

import pytest

import runtime as rt
from runtime.autodiff.rules.cotangent_lists import add_lists, zero_list
from runtime.core.types import TensorType
from runtime.ops.lists import list_append, list_get, list_length, list_reserve, list_set
from tests.traced_once import on


def shapes_known(x: Any) -> tuple[Any, ...]:
    items = list_append(list_reserve(0, TensorType(rt.float32, (2,))), x)
    items = list_append(items, 2 * x)
    total = add_lists(list_set(zero_list(items), 1, x), items)
    return list_length(total), list_get(total, 0), list_get(total, 1), list_get(zero_list(items), 1)


def shapes_unknown(x: Any) -> tuple[Any, ...]:
    items = list_append(list_reserve(0, TensorType(rt.float32, (None,))), x)
    items = list_append(items, x[:1])
    total = add_lists(zero_list(items), items)
    return list_length(total), list_get(total, 0), list_get(total, 1), list_get(zero_list(items), 1)


@pytest.mark.parametrize("executor", [None, "numpy", "native"])
@pytest.mark.parametrize("program, expected", [
    (shapes_known, (2, [1, 3], [3, 9], [0, 0])), (shapes_unknown, (2, [1, 3], [1], [0])),
])
def test_zero_and_sum(program: Any, expected: tuple[Any, ...], executor: str | None) -> None:
    call = program if executor is None else on(executor, program)
    assert tuple(x.numpy().tolist() for x in call(rt.constant([1.0, 3.0]))) == expected

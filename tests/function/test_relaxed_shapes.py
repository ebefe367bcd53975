"""Functions whose arguments keep changing their shapes: what Python reads of these is known."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt

TABLE = {5: 2.0}


def branched(x: Any) -> Any:
    return x * 2 if x.shape[0] == 5 else x


def divided(x: Any) -> Any:
    return x / (x.shape[0] or 1)


def compared(x: Any) -> Any:
    return x + 1 if x.shape == (5,) or x.shape.as_list() == [4] else x


def looked_up(x: Any) -> Any:
    return x * TABLE.get(x.shape[0], 1.0)


def unpacked(x: Any) -> Any:
    n, = x.shape
    return x + (n or 0)


def counted(x: Any) -> Any:
    return x * (x.shape.num_elements() or 7)


def in_a_loop(x: Any) -> Any:
    for _ in rt.range(3):
        x = x + rt.one_hot(1, x.shape[0])
    return x


def in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        for i in range(x.shape[0]):
            x = x + i
    return x


def unstacked_in_a_loop(x: Any) -> Any:
    total = 0.0
    for _ in rt.range(2):
        for part in rt.unstack(x):
            total += part
    return total


def in_another(x: Any) -> Any:
    return rt.function(branched)(x) + 1


@pytest.mark.parametrize("relaxes", [False, True])
@pytest.mark.parametrize("fn", [
    branched, divided, compared, looked_up, unpacked, counted, in_a_loop, in_a_branch, unstacked_in_a_loop, in_another,
])
def test_python_reads_known_shapes(fn: Callable[[Any], Any], relaxes: bool) -> None:
    traced = rt.function(fn, reduce_retracing=relaxes)
    for n in (2, 3, 5, 4, 6):
        x = rt.range(1.0, n + 1.0)
        assert traced(x).numpy().tolist() == fn(x).numpy().tolist()


def test_what_does_not_read_them_is_traced_once_for_all() -> None:
    @rt.function
    def f(x: Any) -> Any:
        assert len(x.shape) == x.shape.rank == 2 and x.shape[1] == 3 and x.shape[-1:] == [3]
        return rt.reduce_sum(x) / rt.cast(rt.shape(x)[0], rt.float32)

    for n in range(1, 9):
        assert float(f(rt.ones([n, 3]))) == 3.0
    assert f.experimental_get_tracing_count() == 3


def test_a_signature_keeps_unknown_dimensions() -> None:
    @rt.function(input_signature=[rt.TensorSpec([None], rt.float32)])
    def f(x: Any) -> Any:
        return x * (2 if x.shape[0] is None else 3)

    assert f(rt.ones([2])).numpy().tolist() == [2.0, 2.0]

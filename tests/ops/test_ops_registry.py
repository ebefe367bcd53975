"""Every op in the registry: its rule, its kernel and its graph agree, on its own samples and on random ones."""
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from op_checks import (
    CHECKS,
    NEED_A_PLACE,
    check_forgetting,
    check_kernel,
    check_silence,
    sampled_ops,
    samples,
    type_of,
    value_of,
)

from runtime.core import types as t
from runtime.core.graph import Graph
from runtime.core.op import Op
from runtime.core.trace import add_input, apply, tracing
from runtime.errors import DTypeError, InvalidArgumentError
from runtime.ops import op_makers
from runtime.ops.families import OPS as REGISTRY

OPS = list(sampled_ops())


def test_every_op_has_samples_or_a_reason() -> None:
    without = {name for name, op in REGISTRY.items() if not samples(op)}
    assert without == set(NEED_A_PLACE)
    assert all((Path(__file__).parents[1] / reason.split(": ")[1]).exists() for reason in NEED_A_PLACE.values())


def test_every_op_says_what_it_is() -> None:
    assert [name for name, op in REGISTRY.items() if not op.doc] == []


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_the_samples_hold(op: Op) -> None:
    for sample in samples(op):
        for check in CHECKS:
            check(op, sample)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_other_seeds_hold(op: Op) -> None:
    for seed in (1, 2):
        for sample in samples(op, seed):
            check_kernel(op, sample)


# Random shapes and dtypes. An op is element-wise if it was made by `unary` or `binary`; others take the shapes that
# a strategy of their own makes.

SIZES = st.integers(0, 3)
SHAPES = st.lists(SIZES, max_size=3).map(tuple)
DTYPES = st.sampled_from(t.ALL)
UNARY = [op for op in OPS if op.rule.__module__ == op_makers.__name__ and op.agree is None]
BINARY = [op for op in OPS if op.rule.__module__ == op_makers.__name__ and op.agree is not None]


def array(shape: tuple[int, ...], dtype: t.DType, seed: int, low: float = -3, high: float = 3) -> Any:
    return op_makers.random_array(np.random.default_rng(seed), dtype, shape, low, high)


def broadcast_of(shape: tuple[int, ...], ones: list[bool], drop: int) -> tuple[int, ...]:
    """A shape that broadcasts with `shape`."""
    return tuple(1 if one else size for size, one in zip(shape, ones, strict=False))[min(drop, len(shape)):]


def holds(op: Op, arguments: tuple[Any, ...], params: dict[str, Any]) -> None:
    """Where the rule takes the types, it agrees with the kernel."""
    try:
        check_kernel(op, (arguments, params))
    except DTypeError:
        assume(False)
    except InvalidArgumentError as exc:  # a zero divisor, a negative power: values, not types
        assert "zero" in str(exc) or "power" in str(exc)
        assume(False)
    check_forgetting(op, (arguments, params))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.sampled_from(UNARY), SHAPES, DTYPES, st.integers(0, 99))
def test_random_unary(op: Op, shape: tuple[int, ...], dtype: t.DType, seed: int) -> None:
    holds(op, (array(shape, dtype, seed),), {})


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BINARY), SHAPES, st.lists(st.booleans(), min_size=3, max_size=3), st.integers(0, 3), DTYPES,
       st.integers(0, 99))
def test_random_binary(op: Op, shape: tuple[int, ...], ones: list[bool], drop: int, dtype: t.DType, seed: int
                       ) -> None:
    other = broadcast_of(shape, ones, drop)
    for left, right in ((shape, other), (other, shape)):
        holds(op, (array(left, dtype, seed), array(right, dtype, seed + 1)), {})


REDUCTIONS = [op for op in OPS if op.name.startswith("reduce_")]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(REDUCTIONS), SHAPES, st.sets(st.integers(0, 2)), st.booleans(), DTYPES, st.integers(0, 99))
def test_random_reductions(op: Op, shape: tuple[int, ...], axes: set[int], keepdims: bool, dtype: t.DType, seed: int
                           ) -> None:
    axis = tuple(sorted(a for a in axes if a < len(shape)))
    holds(op, (array(shape, dtype, seed),), {"axis": axis, "keepdims": keepdims})


PART = st.none() | st.integers(-4, 4)
ENTRY = st.none() | st.integers(-2, 2) | st.tuples(PART, PART, st.sampled_from([None, 1, 2, -1, -3]))


@settings(max_examples=200, deadline=None)
@given(SHAPES, st.lists(ENTRY, max_size=4).map(tuple), st.integers(0, 99))
def test_random_indices(shape: tuple[int, ...], index: tuple[Any, ...], seed: int) -> None:
    x = array(shape, t.float32, seed)
    numpy_index = tuple(slice(*e) if isinstance(e, tuple) else e for e in index)
    try:
        want = x[numpy_index]
    except IndexError:
        for op, arguments in ((REGISTRY["getitem"], (x,)), (REGISTRY["setitem"], (x, np.float32(1)))):
            with pytest.raises(IndexError):
                check_kernel(op, (arguments, {"index": index}))
        return
    check_kernel(REGISTRY["getitem"], ((x,), {"index": index}))
    check_forgetting(REGISTRY["getitem"], ((x,), {"index": index}))
    np.testing.assert_array_equal(REGISTRY["getitem"].kernel(x, index=index), want)
    changed = x.copy()
    changed[numpy_index] = 7
    np.testing.assert_array_equal(REGISTRY["setitem"].kernel(x, np.float32(7), index=index), changed)


@settings(max_examples=100, deadline=None)
@given(SHAPES, st.lists(SIZES, max_size=2).map(tuple), st.integers(0, 2), st.integers(0, 2), st.integers(0, 99))
def test_random_gathers(shape: tuple[int, ...], more: tuple[int, ...], batch: int, axis: int, seed: int) -> None:
    batch = min(batch, max(len(shape) - 1, 0))
    axis = max(axis, batch)
    assume(axis < len(shape) and shape[axis] > 0)
    index = np.random.default_rng(seed).integers(0, shape[axis], (*shape[:batch], *more))
    x = array(shape, t.int32, seed)
    sample = ((x, index), {"axis": axis, "batch_dims": batch})
    check_kernel(REGISTRY["gather"], sample)
    check_forgetting(REGISTRY["gather"], sample)
    got = REGISTRY["gather"].kernel(*sample[0], **sample[1])
    for place in np.ndindex(shape[:batch]):
        np.testing.assert_array_equal(got[place], x[place].take(index[place], axis - batch))


def _disturbed(sample: Any, rng: np.random.Generator) -> list[Any]:
    """The operands with other numbers in those that hold ints: 0, negative ones, and ones that are too big."""
    return [rng.choice([-7, -1, 0, 1, 5, 99], np.shape(x)).astype(np.asarray(x).dtype)
            if isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind == "i" else x for x in sample]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_no_errors_is_declared_truly(op: Op) -> None:
    for sample in samples(op):
        check_silence(op, sample)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_errors_are_declared(op: Op) -> None:
    """Whatever a kernel raises for operands of the types that the rule takes, its node said that it may."""
    rng = np.random.default_rng(3)
    for sample, params in samples(op):
        graph = Graph("g")
        with tracing(graph):
            apply(op, *[add_input(graph, type_of(x)) for x in sample], **params)
        declared = graph.errors
        for _ in range(20):
            operands = _disturbed(sample, rng)
            try:
                with np.errstate(all="ignore"):
                    op.kernel(*map(value_of, operands), **copy.deepcopy(params))
            except Exception as error:
                assert type(error) in declared, f"{op.name} raises {error!r} for {operands}, and declares {declared}"

"""The batching rule of every op against a loop over the lanes, on the op's samples."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from op_checks import is_of_strings, sampled_ops
from rule_lanes import Case, cases, graph_of

from runtime.backends.numpy import run
from runtime.batching.rules.registry import BATCHING, Call, Rule
from runtime.batching.transform import _EFFECTS, CONTROL
from runtime.core.types import type_of_array
from runtime.function.execution.executors import make
from runtime.ops.families import OPS as REGISTRY
from runtime.ops.python_math import FLOAT_FUNCTIONS
from runtime.ops.reduction import reduce_sum
from runtime.optimize import rewrite

ROUNDED = {"matmul", "einsum", "conv", "conv_input", "solve", "det", "slogdet", "cholesky", "eigh", "svd", "qr",
           "linear_recurrence"}
"""Ops whose results differ in the last bits with what they are computed beside."""
NO_SAMPLES = {name for name in BATCHING if not any(True for _ in cases(name))}
RANDOM = {"philox_skip", "random", "random_int"}
TESTED = sorted(set(BATCHING) - NO_SAMPLES - RANDOM)


def compare(name: str, found: Sequence[Any], wanted: Sequence[Any], close: bool) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{name}: {a.shape} {a.dtype}, not {b.shape} {b.dtype}"
        if close and a.dtype.kind in "fc":
            tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-9}.get(a.real.dtype.itemsize, 1e-9)
            np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(a, b, err_msg=name)


def check(case: Case, hide: bool = False) -> None:
    graph, arrays = graph_of([case], hide)
    graph.verify()
    for value, array in zip(graph.outputs, found := run(graph, arrays), strict=True):
        assert value.type.accepts(type_of_array(array)), f"{case.op.name}: {value.type}, {array!r}"
    compare(case.op.name, found, case.wanted(), case.op.name in ROUNDED)


@pytest.mark.parametrize("name", TESTED)
def test_rule_is_a_loop_over_lanes(name: str) -> None:
    for case in cases(name):
        check(case)


@pytest.mark.parametrize("name", TESTED)
def test_rule_with_unknown_dimensions(name: str) -> None:
    for k, case in enumerate(cases(name)):
        if k % 5 == 0 and all(case.batched):
            check(case, hide=True)


@pytest.mark.parametrize("name", TESTED)
def test_rule_natively(name: str) -> None:
    """One native function of the first samples."""
    some = [case for case in cases(name, (0, 1, 2)) if all(case.batched) or case.op.name in ("getitem", "gather")][:8]
    graph, arrays = graph_of(some)
    found = make(rewrite(graph), "native").function()(*arrays)
    compare(name, found, [x for case in some for x in case.wanted()], True)


def test_every_op_has_a_rule_or_runs_lane_by_lane() -> None:
    """What has no rule: a reason for each."""
    strings = {op.name for op in sampled_ops() if is_of_strings(op)}
    assert set(REGISTRY) - set(BATCHING) - set(CONTROL) - set(_EFFECTS) - RANDOM - strings == (
        set(BY_LANE) | NEVER_BATCHED)


BY_LANE = {
    "conv_filters": "the filters of each lane are their own: groups of channels would cost as much",
    "equal_text": "text", "rank_texts": "text", "render_records": "text", "render_text": "text",
    "text_function": "text",
    **dict.fromkeys(FLOAT_FUNCTIONS, "a function of Python's"),
    "list_concat": "elements have other sizes", "list_split": "elements have other sizes",
    "bitcast": "its rank differs by the dtypes",
    "table_erase": "an effect", "table_write": "an effect",
    "hash_find": "a table for each lane", "hash_slots": "its size differs",
    "nonzero": "its size differs", "unique": "its size differs", "range": "its size differs",
    "stateless_random": "a generator for each seed", "stateless_random_int": "a generator for each seed",
    "philox_state": "a generator for each seed",
}
NEVER_BATCHED = {"const", "undefined", "list_reserve", "read_variable", "iterator_next", "iterator_next_or_none",
                 "iterator_start", "keep", "table_count", "table_export", "reraise", "error_part", "error_text",
                 "hold_error"}
"""They have no operand that could be batched, or belong to a `try_`, which runs lane by lane."""


def sums_the_lanes(call: Call) -> Sequence[Any]:
    return [sum_over(call)]


def forgets_the_lanes(call: Call) -> Sequence[Any]:
    return call.apply(*call.inputs)


def shares_the_first(call: Call) -> Sequence[Any]:
    return call.apply(*[x[:1] if b else x for x, b in zip(call.inputs, call.batched, strict=True)])


def sum_over(call: Call) -> Any:
    (found,) = BATCHING_BEFORE[call.op.name](call)
    return found - reduce_sum(found, 0) * 1e-3


BATCHING_BEFORE = dict(BATCHING)


@pytest.mark.parametrize(("name", "wrong"), [
    ("reduce_sum", forgets_the_lanes), ("cumsum", forgets_the_lanes), ("tanh", sums_the_lanes),
    ("transpose", forgets_the_lanes), ("matmul", sums_the_lanes), ("sin", shares_the_first),
    ("add", forgets_the_lanes), ("getitem", forgets_the_lanes),
])
def test_planted_wrong_rule_is_caught(name: str, wrong: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BATCHING, name, wrong)
    with pytest.raises((AssertionError, ValueError, TypeError)):
        for case in cases(name):
            check(case)

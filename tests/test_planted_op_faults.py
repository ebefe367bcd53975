"""Test the tester: an op whose kernel or rule is subtly wrong does not pass `op_checks`."""
from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from op_checks import check_forgetting, check_kernel, check_silence, check_staged, samples

from runtime.core.op import REGISTRY
from runtime.core.types import TensorType, float64, int32


def planted(name: str, **changed: Any) -> Any:
    """The op with another kernel or rule, not in the registry."""
    fields = ("name", "kernel", "rule", "samples", "agree", "effect", "foreign", "errors")
    return SimpleNamespace(**{field: getattr(REGISTRY[name], field) for field in fields} | changed)


def wrong_dtype(x: Any, *, axis: Any, keepdims: Any) -> Any:
    return np.sum(x, axis, keepdims=keepdims)  # int8 becomes int64


def wrong_keepdims(x: TensorType, *, axis: Any, keepdims: Any) -> TensorType:
    return x.with_shape(tuple(size for a, size in enumerate(x.shape) if a not in axis))


def wrong_shape(x: TensorType, *, perm: Any) -> TensorType:
    return x


def knows_too_much(x: TensorType) -> TensorType:
    return TensorType(x.dtype, tuple(1 if size is None else size for size in x.shape))


def wrong_rank(x: TensorType, y: TensorType) -> TensorType:
    return TensorType(x.dtype, x.shape)  # forgets that y may have more dimensions


def writes_its_argument(x: Any) -> Any:
    x[...] = -x
    return x


def wrong_count(x: TensorType, **params: Any) -> Any:
    found = REGISTRY["split"].rule(x, **params)
    assert isinstance(found, tuple)
    return found[:-1]


@pytest.mark.parametrize(("check", "op"), [
    (check_kernel, planted("reduce_sum", kernel=wrong_dtype)),
    (check_kernel, planted("reduce_max", rule=wrong_keepdims)),
    (check_kernel, planted("transpose", rule=wrong_shape)),
    (check_kernel, planted("add", rule=wrong_rank)),
    (check_kernel, planted("negative", kernel=writes_its_argument)),
    (check_kernel, planted("split", rule=wrong_count)),
    (check_kernel, planted("less", rule=lambda x, y: REGISTRY["add"].rule(x, y))),
    (check_kernel, planted("cast", rule=lambda x, dtype: TensorType(float64, x.shape))),
    (check_forgetting, planted("exp", rule=knows_too_much)),
    (check_forgetting, planted("dim", rule=lambda x, axis: TensorType(int32 if None not in x.shape else float64))),
    (check_staged, planted("exp", rule=knows_too_much)),
    (check_silence, planted("mod", errors=())),
    (check_silence, planted("reshape", errors=())),
    (check_silence, planted("gather", errors=())),
    (check_silence, planted("det", errors=())),
], ids=lambda x: x.name if isinstance(x, SimpleNamespace) else x.__name__)
def test_a_planted_fault_is_caught(check: Callable[[Any, Any], None], op: Any) -> None:
    with pytest.raises((AssertionError, ValueError)):
        for sample in samples(op):
            check(op, sample)


@pytest.mark.parametrize("name", ["reduce_sum", "transpose", "add", "negative", "split", "less", "cast", "exp", "dim"])
def test_without_the_fault_it_passes(name: str) -> None:
    for sample in samples(planted(name)):
        check_kernel(planted(name), sample)
        check_forgetting(planted(name), sample)

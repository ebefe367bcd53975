"""Test the tester: an op whose derivative is subtly wrong does not pass `rule_checks`."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from op_checks import samples
from rule_checks import Point, check_jvp, check_own_dtype, check_second, check_staged, check_vjp, smooth, type_of

from runtime.autodiff.rules.registry import JVP, VJP, Applied, Rule, Update
from runtime.core.op import REGISTRY
from runtime.core.types import float32
from runtime.ops.creation import zeros
from runtime.ops.indexing import setitem
from runtime.ops.linalg import matmul
from runtime.ops.math import add, cast, multiply, sin, stop_gradient
from runtime.ops.reduction import reduce_sum


def forgets_to_sum(node: Applied, ct: Any) -> Sequence[Any]:
    x, y = node.inputs
    return [multiply(ct, y), multiply(ct, x)]


def has_the_wrong_sign(node: Applied, t: Any) -> Sequence[Any]:
    return [multiply(t, sin(node.inputs[0]))]


def does_not_conjugate(node: Applied, ct: Any) -> Sequence[Any]:
    return [multiply(ct, node.outputs[0])]


def forgets_an_operand(node: Applied, t: Any, u: Any) -> Sequence[Any]:
    return [None if t is None else matmul(t, node.inputs[1])]


def sets_where_it_should_add(node: Applied, ct: Any) -> Sequence[Any]:
    return [Update(lambda total: setitem(total, 0, reduce_sum(ct)) if total.ndim == 1 else total),
            *[None] * len(node.inputs[1:])]


def is_constant_to_second_order(node: Applied, ct: Any) -> Sequence[Any]:
    return [multiply(ct, stop_gradient(node.outputs[0]))]


def is_nearly_right(node: Applied, ct: Any) -> Sequence[Any]:
    return [multiply(ct, add(node.outputs[0], 1e-4))]


def needs_known_sizes(node: Applied, ct: Any) -> Sequence[Any]:
    shape = [1 if size is None else size for size in node.inputs[0].type.shape]
    return [add(zeros(shape, ct.dtype), VJP["reduce_sum"](node, ct)[0] if None not in node.inputs[0].type.shape else 0)]


def widens(node: Applied, ct: Any) -> Sequence[Any]:
    return [cast(multiply(ct, node.outputs[0]), "float64")]


def gives_too_few(node: Applied, ct: Any) -> Sequence[Any]:
    return [ct]


PLANTED: list[tuple[Any, str, str, Rule]] = [
    (check_vjp, "multiply", "vjp", forgets_to_sum),
    (check_jvp, "cos", "jvp", has_the_wrong_sign),
    (check_vjp, "exp", "vjp", does_not_conjugate),
    (check_jvp, "matmul", "jvp", forgets_an_operand),
    (check_vjp, "getitem", "vjp", sets_where_it_should_add),
    (check_second, "exp", "vjp", is_constant_to_second_order),
    (check_vjp, "exp", "vjp", is_nearly_right),
    (check_staged, "reduce_sum", "vjp", needs_known_sizes),
    (check_vjp, "add", "vjp", gives_too_few),
]


@pytest.mark.parametrize(("check", "name", "kind", "rule"), PLANTED, ids=lambda x: getattr(x, "__name__", x))
def test_a_planted_fault_is_caught(check: Any, name: str, kind: str, rule: Rule) -> None:
    tables: dict[str, Any] = {"vjp": dict(VJP), "jvp": dict(JVP)}
    tables[kind][name] = rule

    def passes() -> None:
        for sample in samples(REGISTRY[name]):
            if any(smooth(type_of(x)) for x in sample[0]):
                check(Point.of(REGISTRY[name], sample, **tables), np.random.default_rng(0))

    with pytest.raises(AssertionError):
        passes()


def test_a_rule_that_widens_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VJP, "exp", widens)
    (sample,) = [s for s in samples(REGISTRY["exp"]) if type_of(s[0][0]).dtype is float32 and s[0][0].shape == (3,)]
    with pytest.raises(AssertionError, match="a cotangent of exp"):
        check_own_dtype(REGISTRY["exp"], sample)

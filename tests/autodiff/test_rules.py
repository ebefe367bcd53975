"""The derivative of every op in the registry, at its own samples and at others, and the list of those without."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_checks import samples
from rule_checks import CHECKS, Point, check_own_dtype, smooth, type_of

from runtime.autodiff.rules.registry import JVP, VJP
from runtime.core.op import REGISTRY

DIFFERENTIABLE = sorted(set(VJP) | set(JVP))


def smooth_samples(name: str) -> list[Any]:
    """Samples with operands that can have a derivative: of each kind of shape those of the widest dtype."""
    return [sample for sample in samples(REGISTRY[name]) if any(smooth(type_of(x)) for x in sample[0])]


def in_wide_dtype(sample: Any) -> bool:
    return all(not smooth(type_of(x)) or getattr(x, "dtype", None) in ("float32", "complex64", "float64", None)
               for x in sample[0])


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_hold_at_the_samples(name: str) -> None:
    rng = np.random.default_rng(0)
    done = set()
    for sample in smooth_samples(name):
        point = Point.of(REGISTRY[name], sample)
        key = str([type_of(x) for x in point.arrays]), str(point.params)
        if key in done:
            continue
        done.add(key)
        for check in CHECKS:
            check(point, rng)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_rules_keep_the_dtype(name: str) -> None:
    for sample in smooth_samples(name):
        check_own_dtype(REGISTRY[name], sample)

"""The rules of every op in native code, with sizes that are known and not: as they are eagerly."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rule_checks import close, eager, rules_of, stage
from rule_samples import points

from runtime.autodiff.rules.registry import VJP
from runtime.core.graph import Graph
from runtime.core.op import REGISTRY
from runtime.core.trace import set_outputs, tracing
from runtime.function.executors import make

OPS = sorted(set(VJP) & set(REGISTRY))


def check(name: str, most: int, ways: Sequence[bool]) -> None:
    """`ways`: whether to hide the sizes."""
    largest = sorted(points(name), key=lambda point: -sum(np.size(x) for x in point.arrays))[:most]
    graph, rng = Graph(name), np.random.default_rng(0)
    outputs: list[Any] = []
    arguments: list[Any] = []
    wants: list[Any] = []
    for point in largest:
        for rule, given in rules_of(point, rng):
            want = rule(list(map(eager, point.arrays)), given)
            for hide in ways:
                made, more = stage(graph, point, rule, given, hide)
                outputs += made
                arguments += more
                wants += want
    with tracing(graph):
        set_outputs(graph, outputs)
    found = make(graph, "native").function()(*arguments)
    for got, want in zip(found, wants, strict=True):
        close(got, want, f"a rule of {name}", 1e-9)


@pytest.mark.parametrize("name", OPS)
def test_a_sample_of_sizes_that_only_a_run_knows(name: str) -> None:
    check(name, 1, [True])


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_samples(name: str) -> None:
    """Sizes that only a run knows are in the other test: code for them takes LLVM seconds."""
    check(name, 3, [False])

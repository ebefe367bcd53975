"""The rules of every op in native code, with sizes that are known and not: as they are eagerly."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rule_checks import close, eager, rules_of, stage
from rule_samples import points

from runtime.autodiff.rules.registry import VJP
from runtime.core.graph import Graph
from runtime.core.trace import set_outputs, tracing
from runtime.function.execution.executors import make
from runtime.ops.families import OPS as REGISTRY

OPS = sorted(set(VJP) & set(REGISTRY))


def check(name: str, which: slice, hide: bool) -> None:
    """The rules of an op at samples, the largest first. `hide`: sizes are known to the run only."""
    largest = sorted(points(name), key=lambda point: -sum(np.size(x) for x in point.arrays))[which]
    graph, rng = Graph(name), np.random.default_rng(0)
    outputs: list[Any] = []
    arguments: list[Any] = []
    wants: list[Any] = []
    for point in largest:
        for rule, given in rules_of(point, rng):
            want = rule(list(map(eager, point.arrays)), given)
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
    check(name, slice(1), hide=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_samples(name: str) -> None:
    check(name, slice(2), hide=False)

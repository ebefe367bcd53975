"""Which outputs of a graph are updated versions of which inputs."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core.array_updates import updated


def straight(a, i):
    a[i] = a[i - 1] + 1.0
    a[0:2] = a[1:3]


def nested(a, i):
    for k in range(i):
        if a[k] > 0:
            a[k] = 2.0
            while a[k] < 8:
                a[k] *= 2.0


def used_later(a, i):
    old = a * 1.0
    for k in range(i):
        a[k] = 1.0
        a[k] = old[k] + a[k]


def used_beside(a, i):
    for k in range(i):
        before = a.copy()
        a[k] = 1.0
        a[k] += before[k]


def whole(a, i):
    a += 1.0


def by_slices(a, i):
    for k in range(i):
        a[k] = 1.0
    a[:] = a[::-1] * 2.0


@pytest.mark.parametrize("fn, is_version, in_place", [
    (straight, True, True), (nested, True, True), (by_slices, True, True), (used_later, True, False),
    (used_beside, True, False), (whole, False, False)])
def test_versions_of_an_array(fn: Any, is_version: bool, in_place: bool) -> None:
    traced = rt.function(fn)
    for size in 5, 6, 7:
        found, expected = np.arange(size) * 1.0, np.arange(size) * 1.0
        traced(found, rt.constant(3))
        fn(expected, 3)
        assert (found == expected).all()
    trace = traced.concrete_functions[-1]
    graph = trace.optimized
    output = graph.outputs[-1]
    assert trace.types[0].shape == (None,)  # type: ignore[union-attr]
    assert (updated(graph, output) is graph.inputs[0]) is is_version
    assert (updated(graph, output, in_place=True) is graph.inputs[0]) is in_place

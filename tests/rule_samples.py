"""Where the derivatives of ops are tested: the samples of the registry that have one, and some more."""
from __future__ import annotations

from typing import Any

import numpy as np
from list_samples import several
from op_checks import samples, type_of
from rule_checks import Point, smooth

from runtime.core.op import REGISTRY
from runtime.core.tensor import EagerList

EXTRA: dict[str, list[Any]] = {
    "fsum": [((np.float64(0.1), np.array([2.5, -1.5, 0.25]), np.float64(3)), {}),
             ((np.float32(0.5), np.array([2.5, -1.5])), {})],
    "list_set": [((several(3, 2, 1), np.int32(-1), np.ones(2, np.float32)), {}),
                 ((several(4), np.int32(2), np.ones(4, np.float32)), {"grow": True})],
    "list_scatter": [((several(3, 3), np.array([1, 0, 1]), np.ones((3, 3), np.float32)), {})],
    "list_slice": [((several(4, 0, 3, 1), np.int32(1)), {"given": (True, False, False)}),
                   ((several(4, 1, 3), np.int32(-1)), {"given": (False, False, True)})],
}


def smooth_samples(name: str) -> list[Any]:
    """Samples with operands that can have a derivative."""
    found = [sample for sample in samples(REGISTRY[name]) if not unfit(name, sample)]
    return [sample for sample in [*found, *EXTRA.get(name, ())] if any(smooth(type_of(x)) for x in sample[0])]


def unfit(name: str, sample: Any) -> bool:
    """Whether differences say nothing: of numbers that cancel; where there is no derivative, of what `full_matrices`
    adds; and where an element of a TensorArray is written a second time, in another shape: the cotangent of the first
    one has the shape of the second."""
    if sample[1].get("full_matrices", False):
        return True
    if name not in EXTRA:
        return False
    if any(np.max(np.abs(x), initial=0) > 1e9 for x in sample[0] if isinstance(x, np.ndarray)):
        return True
    lists = [x for x in sample[0] if isinstance(x, EagerList)]
    return any(None in x.type.element.shape for x in lists) or (
        "strict" in sample[1] and sample[0][-1].shape != lists[0].type.element.shape)


def points(name: str) -> list[Point]:
    """The samples of an op with floats of 64 bits, one for each type of the operands and the params."""
    found: dict[str, Point] = {}
    for sample in smooth_samples(name):
        point = Point.of(REGISTRY[name], sample)
        found.setdefault(str(([str(type_of(x)) for x in point.arrays], point.params)), point)
    return list(found.values())

"""The shapes that the user allows a loop's variables to take (`set_loop_options`, `while_loop`)."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runtime.core import types as t
from runtime.core.errors import subject
from runtime.core.positions import staging_error
from runtime.core.types import TensorShape, TensorType
from runtime.staging.joins.lattice import Leaf, Spec

__all__ = ["with_invariants"]


def with_invariants(specs: Sequence[Spec], init: Sequence[Any], names: Sequence[str], invariants: Any) -> list[Spec]:
    """The specs of variables before a loop with the shapes of `invariants`: pairs, or a mapping, of variables or names
    to shapes. StagingError if one does not allow the shape before the loop."""
    made = [*specs]
    pairs = invariants.items() if isinstance(invariants, Mapping) else invariants or ()
    for key, shape in pairs:
        shape = shape.shape if hasattr(shape, "shape") else shape
        for i, (name, value) in enumerate(zip(names, init, strict=True)):
            if name == key if isinstance(key, str) else value is key:
                made[i] = _with_shape(made[i], TensorShape(shape), name)
    return made


def _with_shape(spec: Spec, shape: TensorShape, name: str) -> Spec:
    if not isinstance(spec, Leaf) or not isinstance(spec.type, TensorType):
        return spec
    own = spec.type.shape
    dims = tuple(shape) if shape.rank is not None else (None,) * len(own)
    wide = spec.type.with_shape(dims)
    if not wide.accepts(spec.type):
        raise staging_error(
            f"{subject(name)} is {spec.type} before the loop, which its shape invariant "
            f"{t.shape_text(dims)} does not allow",
            "Give an invariant that allows the shape before the loop, with None where it changes.")
    return replace(spec, type=wide, fixed=True)

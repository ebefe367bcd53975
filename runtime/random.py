"""Random numbers (`tf.random`)."""
from __future__ import annotations

from runtime.ops.random import (
    Generator,
    categorical,
    normal,
    set_seed,
    shuffle,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
    truncated_normal,
    uniform,
)

__all__ = [
    "Generator", "categorical", "normal", "set_seed", "shuffle", "stateless_normal",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform",
]

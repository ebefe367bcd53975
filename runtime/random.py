"""Random numbers (`tf.random`)."""
from __future__ import annotations

from runtime.ops.candidates import log_uniform_candidate_sampler, uniform_candidate_sampler
from runtime.ops.random import (
    Algorithm,
    Generator,
    categorical,
    get_global_generator,
    normal,
    set_global_generator,
    set_seed,
    shuffle,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
    truncated_normal,
    uniform,
)
from runtime.ops.random_distributions import gamma, poisson

__all__ = [
    "Algorithm", "Generator", "categorical", "gamma", "get_global_generator", "log_uniform_candidate_sampler",
    "normal", "poisson", "set_global_generator", "set_seed", "shuffle", "stateless_normal",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]

"""Random numbers (`tf.random`)."""
from __future__ import annotations

from runtime.core.public_names import Namespace, hint_at_public_names
from runtime.ops.candidates import log_uniform_candidate_sampler, uniform_candidate_sampler
from runtime.ops.random import categorical, normal, shuffle, truncated_normal, uniform
from runtime.ops.random_distributions import gamma, poisson
from runtime.ops.random_generators import Generator, create_rng_state, get_global_generator, set_global_generator
from runtime.ops.random_sources import set_seed
from runtime.ops.stateless_random import (
    Algorithm,
    fold_in,
    split,
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "Algorithm", "Generator", "categorical", "create_rng_state", "experimental", "fold_in", "gamma",
    "get_global_generator", "log_uniform_candidate_sampler", "normal", "poisson", "set_global_generator", "set_seed",
    "shuffle", "split", "stateless_categorical", "stateless_normal", "stateless_truncated_normal",
    "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]


class experimental(metaclass=Namespace):
    """The older names of some of these (`tf.random.experimental`)."""

    Algorithm = Algorithm
    Generator = Generator
    create_rng_state = staticmethod(create_rng_state)
    get_global_generator = staticmethod(get_global_generator)
    set_global_generator = staticmethod(set_global_generator)
    stateless_fold_in = staticmethod(fold_in)
    stateless_split = staticmethod(split)


hint_at_public_names(__name__)

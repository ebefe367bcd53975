"""Settings of the runtime (`tf.config`): they hold for all threads."""
from __future__ import annotations

from typing import Final

__all__ = [
    "autograph_unroll_budget", "experimental_functions_run_eagerly", "experimental_run_functions_eagerly",
    "functions_run_eagerly", "run_functions_eagerly", "set_autograph_unroll_budget", "settings",
]


class _Settings:
    __slots__ = ("run_eagerly", "unroll_budget")

    def __init__(self) -> None:
        self.run_eagerly = False
        self.unroll_budget = 1000


settings: Final = _Settings()
"""The values as they are now, for the parts of the runtime that read them on each call."""


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Let `rt.function` objects run their Python function as it is, without a trace, so that breakpoints stop
    and values can be looked at (`tf.config.run_functions_eagerly`). Functions of datasets are traced all the same.
    """
    settings.run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """What `run_functions_eagerly` has set (`tf.config.functions_run_eagerly`)."""
    return settings.run_eagerly


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_autograph_unroll_budget(iterations: int) -> None:
    """How many iterations a loop over Python values may unroll once a tensor decides whether to leave it.

    ValueError if it is negative.
    """
    if iterations < 0:
        raise ValueError(f"the unroll budget is a number of iterations, not {iterations}")
    settings.unroll_budget = int(iterations)


def autograph_unroll_budget() -> int:
    """What `set_autograph_unroll_budget` has set; 1000 from the start."""
    return settings.unroll_budget

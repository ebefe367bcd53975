"""Settings of the runtime (`tf.config`): they hold for all threads."""
from __future__ import annotations

import os
from typing import Final

import numpy as np

from runtime.core.errors import locate
from runtime.core.graph import user_position

__all__ = [
    "autograph_unroll_budget", "check_executor", "default_executor", "experimental",
    "experimental_functions_run_eagerly", "experimental_run_functions_eagerly", "functions_run_eagerly",
    "held_memory", "native_cache", "run_functions_eagerly",
    "set_autograph_unroll_budget", "set_default_executor", "set_native_cache", "settings",
    "threading", "threads",
]


class _Settings:
    __slots__ = ("check_numerics", "executor", "native_cache", "run_eagerly", "unroll_budget")

    def __init__(self) -> None:
        self.executor: str | None = os.environ.get("RUNTIME_EXECUTOR") or None
        self.native_cache: str | None = os.environ.get("RUNTIME_CACHE") or None
        self.run_eagerly = False
        self.check_numerics = False  # see `rt.debugging.enable_check_numerics`
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


def set_default_executor(executor: str | None) -> None:
    """What runs the functions traced from now on that name no executor: "native", "numpy", or None for the best.

    At the start it is what the environment variable RUNTIME_EXECUTOR says. ValueError for another name.
    """
    if executor is not None:
        check_executor(executor)
    settings.executor = executor


def check_executor(executor: object) -> None:
    """ValueError, with the user's line, if this is the name of no executor."""
    if executor not in ("native", "numpy"):
        error = ValueError(f"no executor {executor!r}: there are 'native', 'numpy'")
        error.remedy = "Take one of these, or name none: then it is the best one here."  # type: ignore[attr-defined]
        locate(error, user_position())
        raise error


def default_executor() -> str | None:
    """What `set_default_executor` or RUNTIME_EXECUTOR has set."""
    return settings.executor


def set_native_cache(folder: str | os.PathLike[str] | None) -> None:
    """Where machine code is kept between processes; None: nowhere. At the start it is what RUNTIME_CACHE says.

    It is made with mode 0700 when it is first written to. One that others could change is not used (docs/trust.md):
    a RuntimeWarning says so when it is first needed.
    """
    settings.native_cache = None if folder is None else os.fspath(folder)


def native_cache() -> str | None:
    """What `set_native_cache` or RUNTIME_CACHE has set."""
    return settings.native_cache


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


threads: Final = np.array([_cpus()], np.int64)
"""How many threads large loops of native code use: int64[1], which native code reads."""


class threading:
    """How many threads native code uses (`tf.config.threading`)."""

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        """Use that many threads for large loops; 0: as many as there are CPUs. Results do not depend on it.

        ValueError if it is negative.
        """
        if num_threads < 0:
            raise ValueError(f"the number of threads is at least 0, not {num_threads}")
        threads[0] = num_threads or _cpus()

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        """How many threads large loops use."""
        return int(threads[0])


held_memory: Final = np.zeros(2, np.int64)
"""The bytes that native code holds now, and the most that it has held: native code counts here."""


class experimental:
    """What native code holds in memory (`tf.config.experimental`)."""

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """The bytes that native code holds for arrays: "current", and "peak", the most since the process began or
        `reset_memory_stats` (`tf.config.experimental.get_memory_info`).

        It is what calls need beside arguments, results and variables, which are NumPy's, and what is kept for the
        next calls; a function gives it back when it goes. `device` is "CPU:0", the only one; ValueError for others.
        """
        _only_cpu(device)
        current, peak = held_memory.tolist()
        return {"current": current, "peak": max(current, peak)}

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        """Let "peak" be what "current" is (`tf.config.experimental.reset_memory_stats`).

        ValueError if `device` is not "CPU:0".
        """
        _only_cpu(device)
        held_memory[1] = held_memory[0]


def _only_cpu(device: str) -> None:
    if device.upper().removeprefix("/").removeprefix("DEVICE:") != "CPU:0":
        raise ValueError(f"no device {device!r}: there is 'CPU:0'")

"""Settings of the runtime (`tf.config`), shared by all threads."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from runtime.core.errors import locate
from runtime.core.positions import user_position
from runtime.core.public_names import Namespace

__all__ = [
    "allocated_memory", "autograph_unroll_budget", "autograph_unroll_seconds", "check_executor", "default_executor",
    "experimental", "experimental_functions_run_eagerly", "experimental_run_functions_eagerly", "functions_run_eagerly",
    "get_soft_device_placement", "native_cache", "optimizer", "run_functions_eagerly", "running_eagerly",
    "set_autograph_unroll_budget", "set_autograph_unroll_seconds", "set_default_executor", "set_native_cache",
    "set_soft_device_placement", "settings", "threading", "threads",
]


class _Settings:
    __slots__ = (
        "check_numerics", "executor", "filters_tracebacks", "inter_op_threads", "jit", "llvm_level", "native_cache",
        "optimizer_options", "run_eagerly", "soft_device_placement", "unroll_budget", "unroll_seconds")

    def __init__(self) -> None:
        self.executor: str | None = os.environ.get("RUNTIME_EXECUTOR") or None
        self.native_cache: str | None = os.environ.get("RUNTIME_CACHE") or None
        self.llvm_level = _level_of(os.environ.get("RUNTIME_LLVM_LEVEL") or "2")
        self.run_eagerly = False
        self.filters_tracebacks = True  # see `rt.debugging.disable_traceback_filtering`
        self.check_numerics = False  # see `rt.debugging.enable_check_numerics`
        self.unroll_budget = 1000
        self.unroll_seconds = 5.0
        self.inter_op_threads, self.soft_device_placement = 0, True  # these have no effect, as the next ones
        self.jit, self.optimizer_options = "", dict[str, Any]()


def _level_of(text: str) -> int:
    """The optimisation level of LLVM for native code with loops: 2 is full; 0 compiles in a seventh of the time."""
    if text not in ("0", "1", "2"):
        raise ValueError(f"the environment variable RUNTIME_LLVM_LEVEL is 0, 1 or 2, not {text!r}")
    return int(text)


settings: Final = _Settings()
"""The current values, for code that reads them on each call."""


@contextmanager
def running_eagerly() -> Iterator[None]:
    """Run traced functions as Python functions inside, in all threads."""
    before, settings.run_eagerly = settings.run_eagerly, True
    try:
        yield
    finally:
        settings.run_eagerly = before


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run the Python functions of `rt.function` objects without tracing, so that breakpoints stop and values can be
    inspected (`tf.config.run_functions_eagerly`). Functions of datasets are traced nevertheless."""
    settings.run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """The value set by `run_functions_eagerly` (`tf.config.functions_run_eagerly`)."""
    return settings.run_eagerly


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def set_autograph_unroll_budget(iterations: int) -> None:
    """Set how many iterations of a loop over Python values may be unrolled once a tensor decides when the loop ends.

    ValueError if it is negative.
    """
    if iterations < 0:
        raise ValueError(f"the unroll budget is a number of iterations, not {iterations}")
    settings.unroll_budget = int(iterations)


def autograph_unroll_budget() -> int:
    """The value set by `set_autograph_unroll_budget`; initially 1000."""
    return settings.unroll_budget


def set_autograph_unroll_seconds(seconds: float) -> None:
    """Set for how long a loop over Python values may be traced iteration by iteration before an `UnrollingWarning`;
    math.inf for no limit.

    ValueError if it is negative.
    """
    if not seconds >= 0:
        raise ValueError(f"the unroll budget is a number of seconds, not {seconds}")
    settings.unroll_seconds = float(seconds)


def autograph_unroll_seconds() -> float:
    """The value set by `set_autograph_unroll_seconds`; initially 5."""
    return settings.unroll_seconds


def set_default_executor(executor: str | None) -> None:
    """Set the executor of functions that name none and are traced from now on: "native", "numpy", or None for the best
    available.

    The initial value is that of the environment variable RUNTIME_EXECUTOR. ValueError for another name.
    """
    if executor is not None:
        check_executor(executor)
    settings.executor = executor


def check_executor(executor: object) -> None:
    """Raise ValueError, with the user's line, if this is not the name of an executor."""
    if executor not in ("native", "numpy"):
        error = ValueError(f"no executor {executor!r}: there are 'native', 'numpy'")
        error.remedy = "Take one of these, or name none: then it is the best one here."  # type: ignore[attr-defined]
        locate(error, user_position())
        raise error


def default_executor() -> str | None:
    """The value set by `set_default_executor` or RUNTIME_EXECUTOR."""
    return settings.executor


def set_native_cache(folder: str | os.PathLike[str] | None) -> None:
    """Set the directory that keeps machine code between processes; None disables it. Initially that of RUNTIME_CACHE.

    It is created with mode 0700 when it is first written to. A directory that others could write to is not used
    (docs/trust.md), with a RuntimeWarning when it is first needed.
    """
    settings.native_cache = None if folder is None else os.fspath(folder)


def native_cache() -> str | None:
    """The value set by `set_native_cache` or RUNTIME_CACHE."""
    return settings.native_cache


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


threads: Final = np.array([_cpus()], np.int64)
"""The number of threads for large loops of native code: int64[1], which native code reads."""


class threading:
    """How many threads native code uses (`tf.config.threading`)."""

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        """Set the number of threads for large loops; 0 for the number of CPUs. Results do not depend on it.

        ValueError if it is negative.
        """
        if num_threads < 0:
            raise ValueError(f"the number of threads is at least 0, not {num_threads}")
        threads[0] = num_threads or _cpus()

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        """The number of threads for large loops."""
        return int(threads[0])

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        """Keep a number of threads (`tf.config.threading.set_inter_op_parallelism_threads`), which has no effect: a
        graph is one native function, whose ops run one after the other. ValueError if it is negative."""
        if num_threads < 0:
            raise ValueError(f"the number of threads is at least 0, not {num_threads}")
        settings.inter_op_threads = int(num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        """The number that was set; 0 without one."""
        return settings.inter_op_threads


class optimizer:
    """Settings of TensorFlow's compilers, which have no effect (`tf.config.optimizer`): graphs are optimised and
    compiled anyway, and no option changes their results."""

    @staticmethod
    def set_jit(enabled: bool | str) -> None:
        """Keep whether graphs are compiled: a bool, or "autoclustering" (`tf.config.optimizer.set_jit`)."""
        settings.jit = "autoclustering" if enabled else ""

    @staticmethod
    def get_jit() -> str:
        """"autoclustering" or "", as set."""
        return settings.jit

    @staticmethod
    def set_experimental_options(options: Mapping[str, Any]) -> None:
        """Keep these options beside earlier ones (`tf.config.optimizer.set_experimental_options`)."""
        settings.optimizer_options.update(options)

    @staticmethod
    def get_experimental_options() -> dict[str, Any]:
        """The options that were set."""
        return dict(settings.optimizer_options)


def set_soft_device_placement(enabled: bool) -> None:
    """Keep whether ops may run on another device than asked for (`tf.config.set_soft_device_placement`), which has no
    effect: there is one device."""
    settings.soft_device_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """Whether it was enabled, as it is by default (`tf.config.get_soft_device_placement`)."""
    return settings.soft_device_placement


allocated_memory: Final = np.zeros(2, np.int64)
"""The bytes that native code holds now, and their maximum so far: int64[2], updated by native code."""


class experimental(metaclass=Namespace):
    """Memory statistics of native code, and settings of TF that do nothing here (`tf.config.experimental`)."""

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """The bytes that native code holds for arrays: "current", and "peak", the maximum since the process began or
        `reset_memory_stats` (`tf.config.experimental.get_memory_info`).

        This is the memory that calls need besides arguments, results and variables (which are NumPy's) and that is kept
        for later calls; a function's memory is freed with the function. `device` is "CPU:0", the only one; ValueError
        for others.
        """
        _only_cpu(device)
        current, peak = allocated_memory.tolist()
        return {"current": current, "peak": max(current, peak)}

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        """Set "peak" to "current" (`tf.config.experimental.reset_memory_stats`).

        ValueError if `device` is not "CPU:0".
        """
        _only_cpu(device)
        allocated_memory[1] = allocated_memory[0]

    @staticmethod
    def set_memory_growth(device: Any, enable: bool) -> None:
        """Does nothing: it is of GPUs, which are not there (`tf.config.experimental.set_memory_growth`)."""

    @staticmethod
    def enable_op_determinism() -> None:
        """Does nothing: with the same seeds all results are the same anyway
        (`tf.config.experimental.enable_op_determinism`)."""


def _only_cpu(device: str) -> None:
    if device.upper().removeprefix("/").removeprefix("DEVICE:") != "CPU:0":
        raise ValueError(f"no device {device!r}: there is 'CPU:0'")

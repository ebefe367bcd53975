"""Profiles of calls (`tf.profiler`).

    report = rt.profiler.profile(rt.function(lambda x: rt.tanh(x) * 2.0), rt.ones([1000]))
    print(report)  # and report.save("trace.json")

During a profile, traced functions run a version of their native code with timestamps around fused loops, kernels,
loops, branches and callbacks to Python, in the same structure as without. Graphs on the reference executor, and eager
computations, are timed op by op. Code that is not profiled is not changed.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.core.public_names import hint_at_public_names
from runtime.profiler import experimental
from runtime.profiler.recorder import begin, end
from runtime.profiler.report import Report, Row

__all__ = ["Report", "Row", "experimental", "profile"]


def profile(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Call `func` once and measure what it does, in all threads.

    A function that is not compiled yet is traced and compiled inside the profile, which shows that; to exclude it, call
    the function before. Errors of `func` propagate. AlreadyExistsError if a profiler is running.
    """
    session = begin()
    try:
        result = func(*args, **kwargs)
    finally:
        end(session)
    return Report(session, result)


hint_at_public_names(__name__)

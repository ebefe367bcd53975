"""Where the time of a call goes (`tf.profiler`).

    report = rt.profiler.profile(rt.function(lambda x: rt.tanh(x) * 2.0), rt.ones([1000]))
    print(report)  # and report.save("trace.json")

While a profile is taken, traced functions run in a version of their native code that has timestamps: around fused
loops, kernels, loops, branches and callbacks to Python, each as it is in the code. Graphs for the reference executor,
and what is computed outside of graphs, are timed op by op. Code that is not profiled is not changed.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.profiler import experimental
from runtime.profiler.recorder import begin, end
from runtime.profiler.report import Report, Row

__all__ = ["Report", "Row", "experimental", "profile"]


def profile(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """Call `func` once and measure what it does, in all threads.

    A function that is not compiled yet is traced and compiled inside of the profile, which shows that; to leave that
    out, call it before. What `func` raises is raised. AlreadyExistsError if a profiler is running.
    """
    session = begin()
    try:
        result = func(*args, **kwargs)
    finally:
        end(session)
    return Report(session, result)

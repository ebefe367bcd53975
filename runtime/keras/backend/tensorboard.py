"""Profiling for the TensorBoard callback (`profile_batch`)."""
from __future__ import annotations

from runtime.profiler.experimental import Trace, start, stop

__all__ = ["start_batch_trace", "start_trace", "stop_batch_trace", "stop_trace"]


def start_trace(logdir: str) -> None:
    if logdir:
        start(logdir)


def stop_trace(save: bool) -> None:
    if save:
        stop()


def start_batch_trace(batch: int) -> Trace:
    return Trace(f"Profiled batch {batch}", step_num=batch).__enter__()


def stop_batch_trace(batch_trace_context: Trace) -> None:
    batch_trace_context.__exit__(None, None, None)

"""Profiling for the TensorBoard callback, which this backend does not offer."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["start_batch_trace", "start_trace", "stop_batch_trace", "stop_trace"]


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("the runtime backend does not profile for TensorBoard: use profile_batch=0")


start_trace = stop_trace = start_batch_trace = stop_batch_trace = _refuse

"""The default step of summaries (`tf.summary.experimental`)."""
from __future__ import annotations

from typing import Any

from runtime.summary.writer import current

__all__ = ["get_step", "set_step"]


def set_step(step: Any) -> None:
    """Set this thread's default step for summaries: an int, or a variable, which is read for each summary."""
    current.step = step


def get_step() -> Any:
    """The default step; None if there is none."""
    return current.step

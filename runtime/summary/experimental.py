"""The step that summaries are of by default (`tf.summary.experimental`)."""
from __future__ import annotations

from typing import Any

from runtime.summary.writer import current

__all__ = ["get_step", "set_step"]


def set_step(step: Any) -> None:
    """From now on, summaries of this thread are of this step by default: an int, or a variable, which is read for each
    of them."""
    current.step = step


def get_step() -> Any:
    """The default step; None if there is none."""
    return current.step

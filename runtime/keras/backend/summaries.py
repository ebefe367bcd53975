"""What Keras' TensorBoard callback takes of `tf.summary`. There are no graphs of this runtime in TensorBoard's form."""
from __future__ import annotations

import os
from typing import Any

from runtime import summary
from runtime.summary import SummaryWriter, histogram, image, record_if, scalar

__all__ = ["create_file_writer", "graph", "histogram", "image", "record_if", "scalar", "trace_export", "trace_on"]


def create_file_writer(logdir: str) -> SummaryWriter:
    """A writer whose folder is there at once, as in TensorFlow: the callback writes other files beside it."""
    os.makedirs(logdir, exist_ok=True)
    return summary.create_file_writer(logdir)


def graph(graph_data: Any) -> None:
    """Has no effect."""


def trace_on(graph: bool = True, profiler: bool = False) -> None:
    """Has no effect: the backend's own profiler takes the trace."""


def trace_export(name: str, step: Any = None) -> None:
    """Has no effect."""

"""What Keras' TensorBoard callback takes of `tf.summary`. There are no graphs of this runtime in TensorBoard's form."""
from __future__ import annotations

from typing import Any

from runtime.summary import create_file_writer, histogram, image, record_if, scalar

__all__ = ["create_file_writer", "graph", "histogram", "image", "record_if", "scalar", "trace_export", "trace_on"]


def graph(graph_data: Any) -> None:
    """Has no effect."""


def trace_on(graph: bool = True, profiler: bool = False) -> None:
    """Has no effect: the backend's own profiler takes the trace."""


def trace_export(name: str, step: Any = None) -> None:
    """Has no effect."""

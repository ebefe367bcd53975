"""The functions that Keras' TensorBoard callback uses from `tf.summary`, and the graphs that it writes."""
from __future__ import annotations

import os
import warnings
from typing import Any

from runtime import summary
from runtime.keras.backend.steps import Steps
from runtime.summary import (
    SummaryWriter,
    graph,
    histogram,
    image,
    record_if,
    scalar,
    trace_export,
    trace_on,
)
from runtime.summary.values import keras_graph

__all__ = ["create_file_writer", "graph", "histogram", "image", "model_graph", "record_if", "scalar", "step_graph",
           "trace_export", "trace_on"]


def create_file_writer(logdir: str) -> SummaryWriter:
    """A writer whose directory is created at once, as in TensorFlow: the callback writes other files beside it."""
    os.makedirs(logdir, exist_ok=True)
    return summary.create_file_writer(logdir)


def model_graph(name: str, model: Any, step: Any) -> Any:
    """Write a model's layers, as TensorBoard's conceptual graph."""
    try:
        text = model.to_json()
    except Exception as exc:  # raised by layers of users; Keras ignores it, too
        warnings.warn(f"Model failed to serialize as JSON. Ignoring... {exc}", stacklevel=2)
        return False
    return keras_graph(name, text, step)


def step_graph(train_function: Any) -> None:
    """Write the graph of a training step, if the step is traced."""
    steps = getattr(train_function, "__self__", None)
    if isinstance(steps, Steps):
        graph(steps.graph)

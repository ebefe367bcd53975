"""Summaries for TensorBoard (`tf.summary`): numbers, distributions, images and text, by step, and graphs.

    writer = rt.summary.create_file_writer("logs")
    with writer.as_default(step=0), rt.summary.record_if(False):
        rt.summary.scalar("loss", 0.5)

Without a writer nothing is written. In a traced function a summary is an effect: it is written each time it runs, to
the writer that was the default when the function was traced.
"""
from __future__ import annotations

from runtime.core.public_names import hint_at_public_names
from runtime.summary import experimental
from runtime.summary.graphs import graph, trace_export, trace_off, trace_on
from runtime.summary.values import flush, histogram, image, scalar, should_record_summaries, text, write
from runtime.summary.writer import SummaryWriter, create_file_writer, create_noop_writer, record_if

__all__ = [
    "SummaryWriter", "create_file_writer", "create_noop_writer", "experimental", "flush", "graph", "histogram", "image",
    "record_if", "scalar", "should_record_summaries", "text", "trace_export", "trace_off", "trace_on", "write",
]

hint_at_public_names(__name__)

"""Summaries: scalars, histograms, images, text and Keras models."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.core.errors import DTypeError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.types import bool_
from runtime.ops.host_functions import numpy_function
from runtime.summary.events import png, summary_value
from runtime.summary.writer import SummaryWriter, current

__all__ = ["flush", "histogram", "image", "scalar", "should_record_summaries", "text", "write"]


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write a number (`tf.summary.scalar`): a real scalar, as float32. Returns whether it is written, as do all
    summaries.

    `step`: an int or an integer tensor or variable; by default that of `as_default` or `experimental.set_step`.
    ValueError if there is a writer but no step, ShapeError for data that is not a scalar.
    """
    tensor = convert_to_tensor(data)
    if tensor.ndim:
        raise located(ShapeError(f"summary.scalar takes a scalar, not {tensor.type}",
                                  remedy="Reduce it, for example by reduce_mean, or write a histogram."))
    return _write(name, "scalars", [_real(tensor, "scalar")], lambda x: np.asarray(x, np.float32), step, description)


def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None, description: str | None = None
) -> Any:
    """Write the distribution of real numbers, of any shape, over `buckets` (default: 30) intervals of equal width
    (`tf.summary.histogram`)."""
    count = 30 if buckets is None else int(buckets)
    if count < 1:
        raise located(ValueError(f"a histogram has at least 1 bucket, not {count}"))
    return _write(name, "histograms", [_real(convert_to_tensor(data), "histogram")], lambda x: _buckets(x, count), step,
                  description)


def image(name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None) -> Any:
    """Write the first `max_outputs` images of a batch [k, height, width, channels], with 1 to 4 channels: uint8, or
    floats, clipped to the range from 0 to 1 (`tf.summary.image`). ShapeError for another shape."""
    tensor = convert_to_tensor(data)
    if tensor.ndim != 4 or tensor.shape[3] not in (None, 1, 2, 3, 4):
        raise located(ShapeError(
            f"summary.image takes images [k, height, width, channels] of 1 to 4 channels, not {tensor.type}",
            remedy="Add dimensions, for example by x[None, :, :, None] for one grey image."))
    return _write(name, "images", [_real(tensor, "image")], lambda x: _images(x, int(max_outputs)), step, description)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write text, which TensorBoard reads as Markdown: a str, or a list of them (`tf.summary.text`)."""
    parts = [data] if isinstance(data, str) else data
    if not isinstance(parts, (list, tuple)) or not all(type(part) is str for part in parts):
        raise located(TypeError(f"summary.text takes a str, or a list of them, not {data!r}"))
    encoded = [part.encode() for part in parts]
    return _write(name, "text", [], lambda: encoded, step, description)


def keras_graph(name: str, json: str, step: Any = None) -> Any:
    """A Keras model, as its JSON, for TensorBoard's conceptual graph."""
    return _write(name, "graph_keras_model", [], lambda: [json.encode()], step, None)


def write(tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None) -> Any:
    """Write a scalar, for `metadata` None or "scalars" (`tf.summary.write`). NotImplementedError for other plugins,
    whose summaries `histogram`, `image` and `text` write."""
    if metadata not in (None, "scalars"):
        raise NotImplementedError("summary.write writes scalars; use summary.histogram, image or text for others")
    return scalar(tag, tensor, step)


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Write the queue of the writer, or of the default writer, to its file."""
    chosen = current.writer if writer is None else writer
    if chosen is not None:
        chosen.flush()


def should_record_summaries() -> Any:
    """Whether a summary would be written here; in a traced function with such a condition, a bool tensor."""
    if current.writer is None:
        return False
    found = current.condition
    return found() if callable(found) else found


def _write(
    name: str, plugin: str, data: list[Any], encode: Callable[..., Any], step: Any, description: str | None
) -> Any:
    writer, condition = current.writer, should_record_summaries()
    if writer is None or condition is False:
        return False
    number = current.step if step is None else step
    if number is None:
        raise located(ValueError(
            f"the summary {name!r} has no step: pass step=..., or use writer.as_default(step=...) or "
            "summary.experimental.set_step"))
    moment = convert_to_tensor(number)
    if moment.ndim or not moment.dtype.is_integer:
        raise located(DTypeError(f"the step of a summary is an int scalar, not {moment.type}"))
    written = convert_to_tensor(condition)
    if written.dtype is not bool_ or written.ndim:
        raise located(DTypeError(f"the condition of record_if is a bool scalar, not {written.type}"))

    def add(holds: Any, when: Any, *arrays: Any) -> None:
        if holds:
            writer.write(summary_value(name, plugin, encode(*arrays), description), int(when))

    if current_graph() is None:
        add(*[np.asarray(x) for x in (written, moment, *data)])
    else:
        numpy_function(add, [written, moment, *data], [])
    return written if isinstance(condition, Tensor) else True


def _real(tensor: Any, what: str) -> Any:
    if tensor.dtype.is_complex:
        raise located(DTypeError(f"summary.{what} takes real numbers, not {tensor.type}"))
    return tensor


def _buckets(x: Any, count: int) -> Any:
    """Left edge, right edge and count of each bucket: float64[buckets, 3]."""
    values = np.asarray(x, np.float64).ravel()
    values = values[np.isfinite(values)]
    if not values.size:
        return np.zeros((0, 3))
    low, high = values.min(), values.max()
    if low == high:  # all are in the one bucket around them
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, count, (low, high))
    return np.stack([edges[:-1], edges[1:], counts], 1)


def _images(x: Any, most: int) -> list[bytes]:
    """Width, height, and a PNG file for each image."""
    if x.dtype != np.uint8:
        x = (np.clip(np.nan_to_num(x.astype(np.float64)), 0.0, 1.0) * 255).round().astype(np.uint8)
    return [str(x.shape[2]).encode(), str(x.shape[1]).encode(), *[png(one) for one in x[:most]]]

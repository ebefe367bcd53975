"""This runtime in TensorFlow's place, for the modules of Keras that need it on every backend: layers that look up
strings, datasets of files, and the old functions of `tf.keras.backend`.

These split strings into ragged tensors, which Keras pads. Here parts are padded from the first with empty strings,
which its tables of words map to the padding.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import runtime as rt
from runtime.core.tensor import Tensor
from runtime.ops.string_parts import padded_ngrams, padded_parts

__all__ = ["tensorflow"]


class _Names:
    """The names of a module, some of them replaced."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _split(input: Any) -> Tensor:
    return padded_parts(input, "words")


def _unicode_split(input: Any, input_encoding: str) -> Tensor:
    return padded_parts(input, "characters")


def _ngrams(data: Any, ngram_width: Any, separator: str) -> Tensor:
    return padded_ngrams(data, ngram_width, separator)


class _Initializer(rt.lookup.KeyValueTensorInitializer):
    """A subclass that does not call the constructor makes an empty table, for a layer before `adapt`."""

    keys: Any = np.empty(0, object)
    values: Any = np.empty(0, object)


def _as_text(value: Any, encoding: str = "utf-8") -> str:
    return value.decode(encoding) if isinstance(value, bytes) else str(value)


def _convolution(input: Any, filter: Any, dilation_rate: Any, **options: Any) -> Tensor:
    return rt.nn.convolution(input, filter, dilations=dilation_rate, **options)


def _in_top_k(predictions: Any, targets: Any, k: Any) -> Tensor:
    return rt.nn.in_top_k(targets, predictions, k)


def _ctc_loss(inputs: Any, labels: Any, sequence_length: Any) -> Tensor:
    lengths = rt.math.segment_sum(rt.ones_like(labels.indices[:, 0]), labels.indices[:, 0])
    return rt.nn.ctc_loss(rt.sparse.to_dense(labels), inputs, rt.cast(lengths, rt.int32), sequence_length,
                          blank_index=-1)


def _conv2d_transpose(x: Any, kernel: Any, output_shape: Any, strides: Any, **options: Any) -> Tensor:
    return rt.nn.conv2d_transpose(x, kernel, output_shape, strides, **options)


_VERSION_1: Final = SimpleNamespace(
    nn=SimpleNamespace(avg_pool=rt.nn.avg_pool, conv2d_transpose=_conv2d_transpose, convolution=_convolution,
                       ctc_loss=_ctc_loss, max_pool=rt.nn.max_pool),
    assign=lambda x, value: x.assign(value), assign_add=lambda x, value: x.assign_add(value),
    assign_sub=lambda x, value: x.assign_sub(value), cond=rt.cond, foldl=rt.foldl, foldr=rt.foldr, gather=rt.gather,
    gather_nd=rt.gather_nd, boolean_mask=rt.boolean_mask, map_fn=rt.map_fn, math=SimpleNamespace(in_top_k=_in_top_k),
    pad=rt.pad, scan=rt.scan, where=rt.where, while_loop=rt.while_loop)
"""What the old functions take from `tf.compat.v1`."""


def _paddings(shape: Any, padded: Any) -> tuple[Tensor, None]:
    """How much is added at the end of each dimension to make one shape the other."""
    return rt.stack([rt.zeros_like(shape), padded - shape], 1), None


_COMPAT: Final = SimpleNamespace(as_text=_as_text, v1=_VERSION_1)
tensorflow: Final[Any] = _Names(
    rt, available=True, strings=_Names(rt.strings, split=_split, unicode_split=_unicode_split, ngrams=_ngrams),
    lookup=_Names(rt.lookup, KeyValueTensorInitializer=_Initializer), compat=_COMPAT,
    required_space_to_batch_paddings=_paddings)

"""This runtime in TensorFlow's place, for the modules of Keras that need it on every backend: layers that look up
strings, and datasets of files.

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


def _paddings(shape: Any, padded: Any) -> tuple[Tensor, None]:
    """How much is added at the end of each dimension to make one shape the other."""
    return rt.stack([rt.zeros_like(shape), padded - shape], 1), None


tensorflow: Final[Any] = _Names(
    rt, available=True, strings=_Names(rt.strings, split=_split, unicode_split=_unicode_split, ngrams=_ngrams),
    lookup=_Names(rt.lookup, KeyValueTensorInitializer=_Initializer), compat=SimpleNamespace(as_text=_as_text),
    required_space_to_batch_paddings=_paddings)

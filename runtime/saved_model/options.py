"""Options of saved models that are TensorFlow's and have no effect here."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["LoadOptions", "SaveOptions"]


@dataclass(frozen=True)
class SaveOptions:
    """Options of `save` (`tf.saved_model.SaveOptions`), which have no effect: there is one device, files have no debug
    information to leave out, and functions are found by the attributes that hold them."""

    namespace_whitelist: Sequence[str] | None = None
    save_debug_info: bool = False
    function_aliases: Mapping[str, Any] | None = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None


@dataclass(frozen=True)
class LoadOptions:
    """Options of `load` (`tf.saved_model.LoadOptions`), which have no effect: there is one device, and files have all
    variables."""

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: Any = None

"""The transpiler under TF2's names (`tf.autograph`)."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import autograph
from autograph import convert, do_not_convert, explain, set_loop_options, to_graph

__all__ = ["convert", "do_not_convert", "experimental", "explain", "set_loop_options", "to_code", "to_graph"]

experimental: Final[Any] = SimpleNamespace(do_not_convert=do_not_convert, set_loop_options=set_loop_options)
"""`tf.autograph.experimental`."""


def to_code(fn: Any, *, stage: str | None = None) -> str:
    """The converted source of a function: see `autograph.to_code`. The printer is loaded when this is called."""
    return autograph.to_code(fn, stage=stage)

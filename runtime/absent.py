"""Ragged tensors, which TF has but the runtime does not: their class exists for `isinstance`."""
from __future__ import annotations

from typing import Any, NoReturn

from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import user_position

__all__ = ["RaggedTensor", "ragged"]


def _refuse(what: str) -> NoReturn:
    error = UnimplementedError(
        f"{what} is not there: the runtime has no ragged tensors",
        remedy="Use a list of tensors; or one dense tensor with padding, and its lengths: rt.sequence_mask.")
    locate(error, user_position())
    raise error


class RaggedTensor:
    """`tf.RaggedTensor`, which has no instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("RaggedTensor")


class _Ragged:
    """`tf.ragged`, whose functions all raise UnimplementedError."""

    __name__ = "ragged"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: _refuse(f"ragged.{name}")


ragged: Any = _Ragged()

"""Ragged tensors, which TF has but the runtime does not: their class exists for `isinstance`."""
from __future__ import annotations

from typing import Any, NoReturn

from runtime.core.errors import UnimplementedError
from runtime.core.positions import located

__all__ = ["RaggedTensor", "ragged", "refuse_ragged"]


def refuse_ragged(what: str) -> NoReturn:
    """UnimplementedError for a function of ragged tensors."""
    raise located(UnimplementedError(
        f"{what} is not there: the runtime has no ragged tensors",
        remedy="Use a list of tensors; or one dense tensor with padding, and its lengths: rt.sequence_mask."))


class _Functions(type):
    """The class of a class whose functions all raise UnimplementedError."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: refuse_ragged(f"{cls.__name__}.{name}")


class RaggedTensor(metaclass=_Functions):
    """`tf.RaggedTensor`, which has no instances."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse_ragged("RaggedTensor")


class ragged(metaclass=_Functions):
    """`tf.ragged`."""

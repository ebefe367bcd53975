"""Kinds of tensors that TF has and the runtime has not: their classes are there for `isinstance`."""
from __future__ import annotations

from typing import Any, NoReturn

from runtime.core.errors import UnimplementedError, locate
from runtime.core.positions import user_position

__all__ = ["RaggedTensor", "SparseTensor", "ragged", "sparse"]


def _refuse(what: str, remedy: str) -> NoReturn:
    error = UnimplementedError(f"{what} is not there: the runtime has dense tensors only", remedy=remedy)
    locate(error, user_position())
    raise error


_SPARSE = "Use a dense tensor; or its indices and values: rt.scatter_nd, rt.gather_nd, rt.IndexedSlices."
_RAGGED = "Use a list of tensors; or one dense tensor with padding, and its lengths: rt.sequence_mask."


class SparseTensor:
    """`tf.sparse.SparseTensor`, of which there are no objects."""

    def __init__(self, indices: Any = None, values: Any = None, dense_shape: Any = None) -> None:
        _refuse("SparseTensor", _SPARSE)


class RaggedTensor:
    """`tf.RaggedTensor`, of which there are no objects."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("RaggedTensor", _RAGGED)


class _Absent:
    """A module of TF that is not there."""

    def __init__(self, name: str, remedy: str, **names: Any) -> None:
        self.__name__, self._remedy = name, remedy
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: _refuse(f"{self.__name__}.{name}", self._remedy)


sparse: Any = _Absent("sparse", _SPARSE, SparseTensor=SparseTensor)
ragged: Any = _Absent("ragged", _RAGGED)

"""Attributes of NumPy's dtypes that those of tensors have, too: NumPy takes anything with a `dtype` for one."""
from __future__ import annotations

import builtins
from typing import Any

import numpy as np

__all__ = ["NumpyAttributes"]

_NumpyDType = np.dtype[Any]  # inside the class, `np` is an attribute


class NumpyAttributes:
    """The part of `DType` that is compatible with `numpy.dtype`."""

    __slots__ = ()

    np: _NumpyDType
    size: int

    @property
    def dtype(self) -> _NumpyDType:
        """NumPy's dtype of the same numbers."""
        return self.np

    @property
    def kind(self) -> builtins.str:
        """NumPy's letter for the kind of the numbers."""
        return builtins.str(self.np.kind)

    @property
    def char(self) -> builtins.str:
        """NumPy's letter for the dtype."""
        return builtins.str(self.np.char)

    @property
    def str(self) -> builtins.str:
        """NumPy's text for the dtype, with its byte order."""
        return builtins.str(self.np.str)

    @property
    def type(self) -> Any:
        """The class of NumPy's scalars of this dtype."""
        return self.np.type

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.size

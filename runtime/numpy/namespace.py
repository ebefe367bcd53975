"""What Python's array API has beside NumPy's functions: questions about dtypes."""
from __future__ import annotations

from typing import Any, Final

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.types import DType, as_dtype
from runtime.numpy.arrays import numpy_dtype

__all__ = ["__array_api_version__", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

__array_api_version__ = "2024.12"


def _dtype(x: Any) -> np.dtype[Any]:
    """NumPy's dtype of a value, or for a name of one."""
    return x.dtype.np if isinstance(x, Tensor) else x.np if isinstance(x, DType) else np.dtype(x)


_KINDS: Final = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc"}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, one of the array API's names, or a tuple of these."""
    own = numpy_dtype(dtype).np
    return any(own.kind in _KINDS[each] if isinstance(each, str) and each in _KINDS else own == _dtype(each)
               for each in (kind if isinstance(kind, tuple) else (kind,)))


def finfo(type: Any) -> Any:
    return np.finfo(_dtype(type))


def iinfo(type: Any) -> Any:
    return np.iinfo(_dtype(type))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_dtype(from_), _dtype(to), casting)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of what NumPy makes of such operands; Python's numbers adapt."""
    return as_dtype(np.result_type(*[
        x if isinstance(x, (bool, int, float, complex)) else _dtype(x) for x in arrays_and_dtypes]))

"""What the special methods of objects return, checked as Python's C code does: `__len__`, `__bool__` and the like."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograph.backend import has_staged_items
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.ops.effects import raise_unless
from runtime.ops.logic import greater_equal
from runtime.staging.python.introspection import of_numpy

__all__ = ["check_result"]


def check_result(found: Any, check: Callable[[Any], Any], is_length: bool) -> None:
    """Raise Python's error if a special method returned `found`, which only the graph knows, and `check` refuses a
    value of Python's of that class. The graph raises that of a negative length."""
    if isinstance(found, Text):
        check("")
    elif has_staged_items(found):
        check([])
    elif isinstance(found, Tensor) or hasattr(type(found), "__tensor__"):
        x = convert_to_tensor(found)
        check(_sample(x))
        if is_length and not x.dtype.is_bool:
            try:
                check(-1)
            except ValueError as error:
                raise_unless(greater_equal(x, 0), error)


def _sample(x: Tensor) -> Any:
    """A value of the class that `x` has in Python, where it is a number, an array or a number of NumPy."""
    array = of_numpy(x)
    if array is not None:
        return array
    if x.ndim:
        return x
    kinds = (x.dtype.is_bool, False), (x.dtype.is_integer, 0), (x.dtype.is_floating, 0.0), (x.dtype.is_complex, 0j)
    return next((sample for is_kind, sample in kinds if is_kind), x)

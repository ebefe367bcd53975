"""One dtype for operands of functions that are not a single op."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.core.op import CAST
from runtime.core.tensor import Tensor
from runtime.core.trace import apply, convert_beside, convert_to_tensor, holds_tensor

__all__ = ["agreed"]


def agreed(values: Sequence[Any]) -> list[Tensor]:
    """Tensors for the values: those that are no tensors adapt to the dtype of the first tensor, which is widened beside
    numbers of a greater kind, as by an op that `widens`. Tensors of other dtypes stay as they are."""
    found = [convert_to_tensor(x) if _has_tensor(x) else x for x in values]
    first = next((x for x in found if isinstance(x, Tensor)), None)
    if first is None:
        return [*map(convert_to_tensor, found)]
    level = max([convert_to_tensor(x).dtype.level for x in found if not isinstance(x, Tensor)], default=0)
    if not first.dtype.is_numeric or first.type.weak or level <= first.dtype.level:
        return [convert_beside(x, first.dtype) for x in found]
    wider = first.dtype.widened(level)
    return [_cast(x, wider) if isinstance(x, Tensor) and x.dtype is first.dtype else convert_beside(x, wider)
            for x in found]


def _has_tensor(x: Any) -> bool:
    """Whether it is an object that stands for a tensor, or a list with tensors."""
    return not isinstance(x, Tensor) and holds_tensor([x])


def _cast(x: Tensor, dtype: Any) -> Tensor:
    made: Tensor = apply(CAST, x, dtype=dtype)
    return made

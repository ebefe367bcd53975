"""NumPy's functions under TF's name for them (`tf.experimental.numpy`)."""
from __future__ import annotations

from typing import Any

import runtime.numpy
from runtime.core.public_names import hint_at_public_names
from runtime.core.tensor import Tensor

__all__ = ["numpy"]


class _NumPy:
    """`tf.experimental.numpy`: the names of `runtime.numpy`."""

    __name__ = "runtime.experimental.numpy"
    ndarray = Tensor

    def experimental_enable_numpy_behavior(
        self, prefer_float32: bool = False, dtype_conversion_mode: str | None = None
    ) -> None:
        """Does nothing: tensors have the methods of NumPy's arrays anyway, and keep their dtypes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(runtime.numpy, name)

    def __dir__(self) -> list[str]:
        return [*runtime.numpy.__all__, "experimental_enable_numpy_behavior", "ndarray"]


numpy: Any = _NumPy()

hint_at_public_names(__name__)

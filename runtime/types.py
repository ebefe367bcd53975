"""Types for annotations and `isinstance` (`tf.types`, `tf.TypeSpec`)."""
from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from runtime.core.public_names import Namespace
from runtime.core.tensor import Tensor
from runtime.core.types import TensorSpec
from runtime.data.pipeline import DatasetSpec
from runtime.function.concrete import ConcreteFunction
from runtime.function.function import Function
from runtime.function.variables.variable import Variable

__all__ = ["TypeSpec", "experimental"]


class TypeSpec(ABC):  # noqa: B024 - as in TF, its subclasses have different methods
    """The base class of `TensorSpec` and `DatasetSpec` for `isinstance` (`tf.TypeSpec`)."""


TypeSpec.register(TensorSpec)
TypeSpec.register(DatasetSpec)


if TYPE_CHECKING:
    _TensorLike: TypeAlias = (
        Tensor | Variable | np.ndarray[Any, Any] | np.generic | complex | str | bytes | Sequence[Any])
else:  # `isinstance` refuses classes with parameters, and takes no int for a complex number
    _TensorLike = Tensor | Variable | np.ndarray | np.generic | int | float | complex | str | bytes | Sequence


class experimental(metaclass=Namespace):
    """Types for annotations (`tf.types.experimental`). `TensorLike`: what `convert_to_tensor` takes."""

    Tensor = Tensor
    TensorLike = _TensorLike
    ConcreteFunction = ConcreteFunction
    GenericFunction = Function
    PolymorphicFunction = Function

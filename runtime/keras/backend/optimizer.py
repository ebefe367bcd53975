"""The base class of optimizers on this backend (Keras' `BackendOptimizer`)."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from keras.src import backend
from keras.src.optimizers.base_optimizer import BaseOptimizer

from autograph.backend import accept
from runtime.autodiff.tape import variable_of
from runtime.core.trace import current_graph, init_scope
from runtime.function.variables.variable_argument import identified
from runtime.keras.backend.core import cast
from runtime.keras.backend.layer import parts_of
from runtime.ops.sparse import IndexedSlices

__all__ = ["RuntimeOptimizer"]


def _building_first(apply: Callable[..., Any]) -> Callable[..., Any]:
    """The method `apply` of an optimizer, which in a trace builds the optimizer before anything else, and finds its
    slots by the variables themselves where these are arguments of the traced function."""

    @functools.wraps(apply)
    def applied(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if trainable_variables is None or current_graph() is None:
            return apply(self, grads, trainable_variables)
        trainable_variables = [identified(variable) for variable in trainable_variables]
        if not self.built:
            with init_scope(), backend.name_scope(self.name, caller=self):
                self.build(trainable_variables)
            self.built = True
            inner = [part for part in vars(self).values() if isinstance(part, BaseOptimizer)]
            accept([part for optimizer in (self, *inner) for part in parts_of(optimizer)])
        return apply(self, grads, trainable_variables)

    return applied


class RuntimeOptimizer(BaseOptimizer):  # type: ignore[misc]
    """An optimizer that may be built at its first use, also in a staged branch or loop: it makes its variables once, so
    the current trace accepts these."""

    apply = _building_first(BaseOptimizer.apply)

    def assign(self, variable: Any, value: Any) -> None:
        if isinstance(value, IndexedSlices):
            variable_of(variable).scatter_update(cast(value, variable.dtype))
        else:
            super().assign(variable, value)

    def assign_add(self, variable: Any, value: Any) -> None:
        if isinstance(value, IndexedSlices):
            variable_of(variable).scatter_add(cast(value, variable.dtype))
        else:
            super().assign_add(variable, value)

    def assign_sub(self, variable: Any, value: Any) -> None:
        if isinstance(value, IndexedSlices):
            variable_of(variable).scatter_sub(cast(value, variable.dtype))
        else:
            super().assign_sub(variable, value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "apply" in vars(cls):
            cls.apply = _building_first(vars(cls)["apply"])

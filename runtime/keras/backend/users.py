"""Conversion of users' functions and classes that Keras calls from its own code.

Keras' code is not converted, so its calls of a loss function or a metric function do not convert these, and Keras has
no backend hook where it calls them (as `RuntimeLayer` is for layers). So the few methods of Keras that only call such a
function are converted, which then convert what they call; and the base classes from which users derive convert the
methods of derived classes. Outside a trace a converted function runs as written.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from keras.src.constraints.constraints import Constraint
from keras.src.layers.layer import Layer
from keras.src.losses.loss import Loss
from keras.src.losses.losses import LossFunctionWrapper
from keras.src.metrics.metric import Metric
from keras.src.metrics.reduction_metrics import MeanMetricWrapper
from keras.src.optimizers.schedules.learning_rate_schedule import LearningRateSchedule
from keras.src.regularizers.regularizers import Regularizer

import autograph as ag
from autograph.backend import accept
from runtime.core.trace import current_graph
from runtime.keras.backend.layer import convert_methods, parts_of

__all__ = ["accept_what_keras_builds", "convert_what_keras_calls"]

_CALLERS: Final = ((LossFunctionWrapper, "call"), (MeanMetricWrapper, "update_state"))
_BASES: Final = (
    (Loss, ("call",)), (Metric, ("update_state", "result")), (LearningRateSchedule, ("__call__",)),
    (Regularizer, ("__call__",)), (Constraint, ("__call__",)),
)


def convert_what_keras_calls() -> None:
    """Have users' losses, metrics, schedules, regularizers and constraints converted, and what reads and changes the
    list of losses that a layer adds."""
    for cls, name in _CALLERS:
        setattr(cls, name, ag.convert(vars(cls)[name]))
    for base, names in _BASES:
        _convert_derived(base, names)
    for name in ("add_loss", "_get_own_losses"):  # in staged loops only the graph knows how many there are
        setattr(Layer, name, ag.convert(vars(Layer)[name]))
    Layer.losses = property(ag.convert(Layer.losses.fget))


def accept_what_keras_builds() -> None:
    """Let traces accept what losses and metrics set up in their first call, perhaps in a staged branch or loop."""
    pending: list[Any] = [Loss, Metric]
    for cls in pending:  # grows meanwhile
        pending += cls.__subclasses__()
        for name in ("build", "_build"):
            if isinstance(build := vars(cls).get(name), FunctionType):
                setattr(cls, name, _accepted_after(build))


def _accepted_after(build: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(build)
    def built(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = build(self, *args, **kwargs)
        if current_graph() is not None:
            accept(parts_of(self))
        return result

    return built


def _convert_derived(base: Any, names: tuple[str, ...]) -> None:
    def __init_subclass__(cls: type, /, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        convert_methods(cls, names)

    base.__init_subclass__ = classmethod(__init_subclass__)

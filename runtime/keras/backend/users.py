"""Conversion of users' functions and classes that Keras calls from its own code.

Keras' code is not converted, so its calls of a loss function or a metric function do not convert these, and Keras has
no backend hook where it calls them (as `RuntimeLayer` is for layers). So the few methods of Keras that only call such a
function are converted, which then convert what they call; and the base classes from which users derive convert the
methods of derived classes. Outside a trace a converted function runs as written.
"""
from __future__ import annotations

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
from runtime.keras.backend.layer import convert_methods

__all__ = ["convert_what_keras_calls"]

_CALLERS: Final = ((LossFunctionWrapper, "call"), (MeanMetricWrapper, "update_state"))
_BASES: Final = (
    (Loss, ("call",)), (Metric, ("update_state", "result")), (LearningRateSchedule, ("__call__",)),
    (Regularizer, ("__call__",)), (Constraint, ("__call__",)),
)


def convert_what_keras_calls() -> None:
    """Have users' losses, metrics, schedules, regularizers and constraints converted, and what collects the losses that
    layers add."""
    for cls, name in _CALLERS:
        setattr(cls, name, ag.convert(vars(cls)[name]))
    for base, names in _BASES:
        _convert_derived(base, names)
    # After a staged loop only the graph knows how many losses its layers have.
    Layer._get_own_losses = ag.convert(Layer._get_own_losses)
    Layer.losses = property(ag.convert(Layer.losses.fget))


def _convert_derived(base: Any, names: tuple[str, ...]) -> None:
    def __init_subclass__(cls: type, /, **kwargs: Any) -> None:
        super(base, cls).__init_subclass__(**kwargs)
        convert_methods(cls, names)

    base.__init_subclass__ = classmethod(__init_subclass__)

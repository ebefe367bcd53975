"""What layers and models have on this backend (Keras' `BackendLayer`)."""
from __future__ import annotations

from typing import Any, Final

import autograph as ag

__all__ = ["RuntimeLayer"]

_STAGED: Final = ("call", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics")


class RuntimeLayer:
    """The base of layers: `call`, and the steps of a model, of classes outside Keras are converted.

    Keras calls them, and its own code is not converted, so there is no call in converted code that would convert them.
    Outside a trace a converted function is the one that the user wrote.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] != "keras":
            for name in _STAGED:
                if callable(method := vars(cls).get(name)):
                    setattr(cls, name, ag.convert(method))

"""What layers and models have on this backend (Keras' `BackendLayer`)."""
from __future__ import annotations

from typing import Any, Final

import autograph as ag
from autograph.backend import accept
from runtime.core.trace import current_graph

__all__ = ["RuntimeLayer", "convert_methods"]

_STAGED: Final = ("call", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics")


def _parts(value: Any, depth: int) -> list[Any]:
    """The object and its containers and helpers, but not other layers and variables, which are built themselves."""
    parts: list[Any] = [value]
    if depth:
        inner: Any = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for part in (*inner, *getattr(value, "__dict__", {}).values()):
            if isinstance(part, (list, tuple, dict, set)) or type(part).__module__.startswith("keras.src.utils"):
                parts += _parts(part, depth - 1)
    return parts


def convert_methods(cls: type, names: tuple[str, ...]) -> None:
    """Convert those methods that `cls` itself defines, unless it is a class of Keras."""
    if cls.__module__.partition(".")[0] != "keras":
        for name in names:
            if callable(method := vars(cls).get(name)):
                setattr(cls, name, ag.convert(method))


class RuntimeLayer:
    """The base of layers: `call`, and the steps of a model, of classes outside Keras are converted.

    Keras calls them, and its own code is not converted, so there is no call in converted code that would convert them.
    Outside a trace a converted function is the one that the user wrote.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        convert_methods(cls, _STAGED)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Keras calls this when the layer is built, which may have happened just now, in a staged branch."""
        fields: dict[str, Any] = vars(self)
        if "_is_accepted" not in fields and current_graph() is not None:
            fields["_is_accepted"] = True
            accept(_parts(self, 4))
        return super().__call__(*args, **kwargs)  # type: ignore[misc]

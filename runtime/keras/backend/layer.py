"""What layers and models have on this backend (Keras' `BackendLayer`)."""
from __future__ import annotations

import functools
from types import FunctionType, MethodType
from typing import Any, Final

import autograph as ag
from autograph.backend import accept
from runtime.core.trace import current_graph

__all__ = ["RuntimeLayer", "convert_methods", "converted"]

_STAGED: Final = ("call", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics")
_CONVERTED: Final[set[type]] = set()


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


def _is_of_users(value: Any) -> bool:
    """Whether this is a function, or an object that can be called, whose code is not Keras'."""
    function = value.func if isinstance(value, functools.partial) else value
    if callable(function) and not isinstance(function, (FunctionType, MethodType)):
        function = type(function).__call__
    return isinstance(function, (FunctionType, MethodType)) and not str(function.__module__).startswith("keras.")


def converted(function: Any) -> Any:
    """A function that a layer was given, converted unless it is one of Keras."""
    return ag.convert(function) if _is_of_users(function) else function


def _convert_call(cls: type) -> None:
    """Convert the `call` of a class of Keras, for all its layers."""
    owner = next((base for base in cls.__mro__ if "call" in vars(base)), None)
    if owner is not None and owner.__module__.startswith("keras.src.layers.") and owner not in _CONVERTED:
        _CONVERTED.add(owner)
        owner.call = ag.convert(vars(owner)["call"])  # type: ignore[attr-defined]


class RuntimeLayer:
    """The base of layers: `call`, and the steps of a model, of classes outside Keras are converted.

    Keras calls them, and its own code is not converted, so there is no call in converted code that would convert them.
    For the same reason the `call` of a layer of Keras is converted once a user's function is given to such a layer, as
    its activation or else. Outside a trace a converted function is the one as written.
    """

    def _setattr_hook(self, name: str, value: Any) -> tuple[str, Any]:
        """Keras calls this before it sets an attribute of a layer."""
        if _is_of_users(value):
            _convert_call(type(self))
        return name, value

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

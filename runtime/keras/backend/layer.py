"""The base class of layers and models on this backend (Keras' `BackendLayer`)."""
from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, ClassVar, Final

import autograph as ag
from autograph.backend import accept
from runtime.core.trace import current_graph, init_scope

__all__ = ["RuntimeLayer", "convert_methods", "converted", "parts_of"]

_STAGED: Final = ("call", "train_step", "test_step", "predict_step", "compute_loss", "compute_metrics")
_MASKS: Final = ("_dropout_mask", "_recurrent_dropout_mask")
_CONVERTED: Final[set[type]] = set()


def parts_of(value: Any, depth: int = 4) -> list[Any]:
    """The object with its containers and helpers, without other layers and variables, which are accepted themselves."""
    parts: list[Any] = [value]
    if depth:
        inner: Any = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for part in (*inner, *getattr(value, "__dict__", {}).values()):
            if isinstance(part, (list, tuple, dict, set)) or type(part).__module__.startswith("keras.src.utils"):
                parts += parts_of(part, depth - 1)
    return parts


def convert_methods(cls: type, names: tuple[str, ...]) -> None:
    """Convert those of the named methods that `cls` itself defines, unless it is a class of Keras."""
    if cls.__module__.partition(".")[0] != "keras":
        for name in names:
            if callable(method := vars(cls).get(name)):
                setattr(cls, name, ag.convert(method))


def _is_of_users(value: Any) -> bool:
    """Whether this is a function or callable object whose code is not part of Keras."""
    function = value.func if isinstance(value, functools.partial) else value
    if callable(function) and not isinstance(function, (FunctionType, MethodType)):
        function = type(function).__call__
    return isinstance(function, (FunctionType, MethodType)) and not str(function.__module__).startswith("keras.")


def converted(function: Any) -> Any:
    """A function that was passed to a layer, converted unless it is part of Keras."""
    return ag.convert(function) if _is_of_users(function) else function


def _convert_call(cls: type) -> None:
    """Convert the `call` of a Keras class, for all layers of that class."""
    owner = next((base for base in cls.__mro__ if "call" in vars(base)), None)
    if owner is not None and owner.__module__.startswith("keras.src.layers.") and owner not in _CONVERTED:
        _CONVERTED.add(owner)
        owner.call = ag.convert(vars(owner)["call"])  # type: ignore[attr-defined]


def _outside_of_graphs(build: FunctionType) -> Callable[..., Any]:
    """A layer's `build`, whose results stay in the layer, so that they cannot be values of the graph of one call."""
    @functools.wraps(build)
    def built(*args: Any, **kwargs: Any) -> Any:
        if current_graph() is None:
            return build(*args, **kwargs)
        with init_scope():
            return build(*args, **kwargs)

    return built


class RuntimeLayer:
    """The base of layers. Their `call`, and the steps of a model, are converted if they are defined outside Keras.

    Keras' own code is not converted, so the methods that it calls are not converted at the call, either. For the same
    reason the `call` of a Keras layer is converted once such a layer gets a user's function, for example as its
    activation. Outside a trace a converted function runs as written.
    """

    __transient__: ClassVar[tuple[str, ...]] = ("_losses",)
    """Attributes with lists that the outermost layer of each call empties, and that its layers fill."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, [*value] if name in self.__transient__ else value)  # a list, and none of Keras' own

    def _setattr_hook(self, name: str, value: Any) -> tuple[str, Any]:
        """Keras calls this before it sets an attribute of a layer."""
        if _is_of_users(value):
            _convert_call(type(self))
        return name, value

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        convert_methods(cls, _STAGED)
        made: Any = cls
        if isinstance(build := vars(cls).get("build"), FunctionType):
            made.build = _outside_of_graphs(build)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Let the current trace accept, before the call, a layer that was built inside it, perhaps in a staged branch,
        with the layers that it has: building it may build these, or put them into another model."""
        fields: dict[str, Any] = vars(self)
        if "_is_accepted" not in fields and current_graph() is not None:
            fields["_is_accepted"] = True
            layers = list(self._flatten_layers())  # type: ignore[attr-defined]
            for layer in layers:
                if hasattr(layer, "reset_dropout_mask"):  # a cell, which makes the attributes at its first call
                    for name in _MASKS:
                        vars(layer).setdefault(name, None)
            accept([part for layer in layers for part in parts_of(layer)])
        return super().__call__(*args, **kwargs)  # type: ignore[misc]

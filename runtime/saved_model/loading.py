"""`saved_model.load`: modules whose functions are the saved graphs."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from runtime.core.errors import OpError
from runtime.core.positions import located
from runtime.core.tensor import EagerTensor
from runtime.function.variables.module import Module
from runtime.function.variables.variable import Variable
from runtime.saved_model.codec import Decoder, index
from runtime.saved_model.functions import LoadedFunction, LoadedSignature, LoadedTrace
from runtime.saved_model.storage import damaged, read

__all__ = ["LoadedModule", "load"]


class LoadedModule(Module):
    """A loaded module: its attributes, and `signatures` by name. It can be called if the saved object could be."""

    signatures: dict[str, LoadedSignature]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The saved `__call__`. TypeError without one."""
        saved = vars(self).get("__call__")
        if saved is None:
            raise located(TypeError(f"this saved model cannot be called: it has {', '.join(sorted(vars(self)))}"))
        return saved(*args, **kwargs)


def load(export_dir: Any, tags: Any = None, options: Any = None) -> LoadedModule:
    """The module that was saved in a directory (`tf.saved_model.load`).

    Nothing of the program that saved it is needed, and none of its code runs: graphs are checked node by node.
    NotFoundError if nothing was saved there, DataLossError if it is damaged, UnimplementedError if a later release
    saved it.
    """
    folder = os.fspath(export_dir)
    document, arrays = read(folder)
    try:
        return _Loader(document, arrays).root()
    except OpError as error:
        raise damaged(folder, error) from None
    except Exception as error:  # a modified file may lead to any exception
        raise damaged(folder, f"{type(error).__name__}: {error}") from None


class _Loader:
    def __init__(self, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        self._decoder = Decoder(document, arrays)
        self._described = document["objects"]
        self._traces = [LoadedTrace(about, self._decoder) for about in document["functions"]]
        self._signatures = {
            str(name): LoadedSignature(str(name), self._trace(about["function"]), about["inputs"], about["outputs"])
            for name, about in document["signatures"].items()}
        self._made: dict[int, Any] = {}

    def _trace(self, number: Any) -> LoadedTrace:
        return self._traces[index(number)]

    def root(self) -> LoadedModule:
        root = self._object(0)
        if not isinstance(root, LoadedModule):
            raise ValueError("its root is no module")
        root.signatures = self._signatures
        return root

    def _object(self, number: Any) -> Any:
        if index(number) not in self._made:
            ((kind, content),) = self._described[number].items()
            if kind == "module":
                module = self._made[number] = LoadedModule()  # stored first: it may refer to itself
                vars(module).clear()
                for name, part in content.items():
                    if not isinstance(name, str) or (name.startswith("__") and name != "__call__"):
                        raise ValueError(f"the attribute {name!r}")
                    vars(module)[name] = self._object(part)
            else:
                self._made[number] = self._simple(kind, content)
        return self._made[number]

    def _simple(self, kind: str, content: Any) -> Any:
        if kind == "variable":
            found: Variable = self._decoder.shared("variable", content)
            return found
        if kind == "function":
            return LoadedFunction([self._trace(number) for number in content])
        if kind == "dict":
            return {self._decoder.value(key): self._object(part) for key, part in content}
        if kind in ("list", "tuple"):
            items = [self._object(part) for part in content]
            return items if kind == "list" else tuple(items)
        value = self._decoder.value(content)
        if kind not in ("value", "tensor", "ndarray"):
            raise ValueError(f"an object {kind!r}")
        return EagerTensor.own(value) if kind == "tensor" else value.copy() if kind == "ndarray" else value

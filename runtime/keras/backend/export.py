"""`model.export`, which this backend does not offer yet."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["RuntimeExportArchive"]


class RuntimeExportArchive:
    """A SavedModel is TensorFlow's format."""

    def track(self, resource: Any) -> NoReturn:
        raise NotImplementedError("the runtime backend does not export a SavedModel: use model.save('model.keras')")

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("the runtime backend does not export a SavedModel: use model.save('model.keras')")

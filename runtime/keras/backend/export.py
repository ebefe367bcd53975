"""`model.export`, which this backend does not offer yet."""
from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["RuntimeExportArchive"]


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("the runtime backend does not export a SavedModel, TensorFlow's format: use "
                              "model.save('model.keras')")


class RuntimeExportArchive:
    """What Keras exports models by."""

    track = add_endpoint = track_and_add_endpoint = add_variable_collection = write_out = _refuse

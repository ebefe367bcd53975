"""The state of the callbacks of a `fit`, as arrays and a JSON document: attributes that are numbers, texts, arrays, or
lists, tuples and dicts of these, and text files that are open for writing."""
from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from keras.src.callbacks.csv_logger import CSVLogger
from keras.src.callbacks.history import History
from keras.src.callbacks.monitor_callback import MonitorCallback
from keras.src.callbacks.progbar_logger import ProgbarLogger

__all__ = ["restore", "states"]

_OF_FIT: Final = ("params", "_model")
"""Attributes that `fit` sets."""


class _Opaque(Exception):
    """The value is of a kind that is not saved."""


def _named(callbacks: Sequence[Any], own: Any) -> dict[str, Any]:
    """Callbacks by class and number, except `own` and those whose state `fit` keeps itself."""
    counts: Counter[str] = Counter()
    found = {}
    for callback in callbacks:
        if callback is own or isinstance(callback, (History, ProgbarLogger)):
            continue
        name = type(callback).__name__
        found[f"{name}/{counts[name]}"] = callback
        counts[name] += 1
    return found


def states(callbacks: Sequence[Any], own: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The document of the callbacks' state; arrays are added to `arrays`."""
    document = {}
    for name, callback in _named(callbacks, own).items():
        attributes: dict[str, Any] = {}
        for key, value in vars(callback).items():
            if key not in _OF_FIT:
                try:
                    attributes[key] = _encoded(value, f"callback/{name}/{key}", arrays)
                except _Opaque:
                    continue
        document[name] = {"attributes": attributes, "compares": getattr(callback, "monitor_op", None) is not None}
    return document


def restore(callbacks: Sequence[Any], own: Any, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Restore the saved state of callbacks; those without one stay as they are."""
    for name, callback in _named(callbacks, own).items():
        saved = document.get(name)
        if saved is None:
            continue
        if isinstance(callback, MonitorCallback) and saved["compares"] and callback.monitor_op is None:
            callback._set_monitor_op()  # changes the sign of `min_delta`, so it comes before that is restored
        for key, value in saved["attributes"].items():
            if isinstance(value, dict) and "file" in value:
                _rewrite(getattr(callback, key, None), value["file"])
            else:
                setattr(callback, key, _decoded(value, arrays))
        if isinstance(callback, CSVLogger) and callback.csv_file is not None and callback.csv_file.tell():
            callback.append_header = False


def _encoded(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    """JSON for a value. _Opaque if it is of a kind that is not saved."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        arrays[path] = np.asarray(value)
        return {"array": path, "scalar": isinstance(value, np.generic)}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_encoded(item, f"{path}/{i}", arrays) for i, item in enumerate(value)]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: _encoded(item, f"{path}/{key}", arrays) for key, item in value.items()}}
    if _is_written(value):
        value.flush()
        with open(value.name, encoding=value.encoding, errors=value.errors, newline="") as file:
            return {"file": file.read()}
    raise _Opaque


def _is_written(value: Any) -> bool:
    return isinstance(value, io.TextIOWrapper) and not value.closed and value.writable() and type(value.name) is str


def _rewrite(file: Any, text: str) -> None:
    """Restore the text of a file that a callback has reopened."""
    if _is_written(file):
        file.seek(0)
        file.truncate()
        file.flush()
        with open(file.name, "w", encoding=file.encoding, errors=file.errors, newline="") as other:
            other.write(text)
        file.seek(0, io.SEEK_END)


def _decoded(value: Any, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        array = np.array(arrays[value["array"]])
        return array[()] if value["scalar"] else array
    if "dict" in value:
        return {key: _decoded(item, arrays) for key, item in value["dict"].items()}
    (kind, items), = value.items()
    decoded = [_decoded(item, arrays) for item in items]
    return tuple(decoded) if kind == "tuple" else decoded

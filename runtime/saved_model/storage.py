"""The files of a saved model: `graph.json`, and a separate file with the arrays that it names.

The file of the arrays has a new name each time, and `graph.json`, which refers to it, is replaced atomically: a process
that is killed while it saves leaves the previous model intact.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from runtime.core.errors import DataLossError, NotFoundError, UnimplementedError
from runtime.core.positions import located
from runtime.train.storage import read_arrays, write_arrays, write_text

__all__ = ["GRAPH", "damaged", "read", "write"]

GRAPH: Final = "graph.json"
VERSION: Final = 1
_FORMAT: Final = "runtime.saved_model"
_ARRAYS: Final = "arrays-"


def write(folder: str, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    os.makedirs(folder, exist_ok=True)
    name = f"{_ARRAYS}{os.urandom(6).hex()}.safetensors"
    write_arrays(os.path.join(folder, name), arrays, {}, VERSION)
    whole = {"format": _FORMAT, "version": VERSION, "arrays": name, **document}
    write_text(os.path.join(folder, GRAPH), json.dumps(whole, indent=1, allow_nan=False))
    for other in os.listdir(folder):
        if other.startswith(_ARRAYS) and other != name:
            os.remove(os.path.join(folder, other))


def read(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document and the arrays.

    NotFoundError if there is no model, DataLossError if it is damaged, UnimplementedError if a later release wrote
    it.
    """
    path = os.path.join(folder, GRAPH)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        raise located(NotFoundError(f"there is no saved model in {folder}: it has no {GRAPH}")) from None
    try:
        document = json.loads(data)
        version, name = document["version"], document["arrays"]
        if document["format"] != _FORMAT or type(version) is not int:
            raise ValueError("it is of another format")
        if version > VERSION:
            raise located(UnimplementedError(
                f"{path} is of version {version} of its format, and this release reads up to {VERSION}",
                remedy="Read it with the release that wrote it, or a later one."))
        if version < 1 or not isinstance(name, str) or os.path.basename(name) != name:
            raise ValueError(f"version {version} with {name!r}")
        arrays, _ = read_arrays(os.path.join(folder, name), VERSION)
    except (NotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(folder, error) from None
    return document, arrays


def damaged(folder: str, why: object) -> DataLossError:
    """The error for a damaged model."""
    return located(DataLossError(f"the saved model in {folder} is damaged, or was not written by this package: {why}"))

"""Arrays in a file: safetensors, with a JSON document in the metadata that describes them.

A file is written under another name, flushed to disk, and renamed, so that the file of the final name is complete at
any time: a process that is killed while it writes leaves the previous file.
"""
from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from runtime.core.errors import DataLossError, NotFoundError, UnimplementedError
from runtime.core.string_arrays import boxed, from_bytes, to_bytes
from runtime.core.types import as_dtype, dtype_of

__all__ = ["read_arrays", "write_arrays", "write_text"]

_KEY: Final = "runtime"


def write_arrays(path: str, arrays: Mapping[str, Any], document: Mapping[str, Any], version: int) -> None:
    """Write arrays by name, and a JSON document about them."""
    arrays = {name: np.asarray(boxed(array)) for name, array in arrays.items()}
    stored = {name: _as_bits(array) for name, array in arrays.items()}
    described = {
        "version": version, **document,
        "arrays": {name: {"dtype": dtype_of(array).name, "shape": list(array.shape), "crc32": _checksum(stored[name])}
                   for name, array in arrays.items()}}
    _replace(path, save(stored, {_KEY: json.dumps(described)}))


def write_text(path: str, text: str) -> None:
    _replace(path, text.encode())


def read_arrays(path: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays by name, and the document.

    NotFoundError if there is no file, DataLossError if it is damaged or of another kind, UnimplementedError if it is of
    a later version.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise NotFoundError(f"there is no file {path}") from None
    try:
        stored = load(data)
        size = int.from_bytes(data[:8], "little")
        document = json.loads(json.loads(data[8:8 + size])["__metadata__"][_KEY])
        found = document["version"]
        if isinstance(found, int) and found > version:
            raise UnimplementedError(
                f"{path} is of version {found} of its format, and this release reads up to {version}",
                remedy="Read it with the release that wrote it, or a later one.")
        if found != version:
            raise ValueError(f"version {found!r}")
        for name, about in document["arrays"].items():
            if about.get("crc32", actual := _checksum(stored[name])) != actual:  # earlier releases wrote no checksum
                raise ValueError(f"the bytes of {name!r} are not those that were written")
        arrays = {name: _of_bits(stored[name], about) for name, about in document["arrays"].items()}
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataLossError(f"{path} is damaged, or was not written by this package: {error}") from None
    return arrays, document


def _checksum(stored: Any) -> int:
    return zlib.crc32(stored)


def _as_bits(array: Any) -> Any:
    """The array as unsigned integers, a type that safetensors has for each size; a 16-byte number becomes two of 8
    bytes; strings become their bytes."""
    if dtype_of(array).is_string:
        return to_bytes(array)
    size = min(array.dtype.itemsize, 8)
    return np.ascontiguousarray(array).reshape(-1).view(f"u{size}")


def _of_bits(stored: Any, about: Mapping[str, Any]) -> Any:
    shape = tuple([int(n) for n in about["shape"]])
    dtype = as_dtype(about["dtype"])
    return from_bytes(stored, shape) if dtype.is_string else stored.view(dtype.as_numpy_dtype).reshape(shape).copy()


def _replace(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name is on disk, too
    finally:
        os.close(folder)

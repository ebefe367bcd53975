"""Files of dataset elements: a line of JSON that describes their structure, then their arrays in NumPy's format.

A file is written under another name and renamed when complete, so an existing one is complete.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final

import numpy as np

from runtime.core.errors import DataLossError
from runtime.core.string_arrays import from_bytes, to_bytes
from runtime.core.types import DType, TensorSpec, as_dtype
from runtime.data.pipeline import Element, tensor_types

__all__ = ["read", "spec_in", "written"]

_FORMAT: Final = "runtime.data elements"
_VERSION: Final = 1
_ELEMENT, _END = b"e", b"."


def written(path: str, stream: Iterator[Element], spec: Any) -> Iterator[Element]:
    """Yield the elements of `stream` and write them; the file exists after the last one was taken."""
    tensor_types(spec, "a file")
    temporary = f"{path}.{os.getpid()}.{id(stream):x}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(json.dumps({"format": _FORMAT, "version": _VERSION, "spec": _to_json(spec)}).encode() + b"\n")
            for element in stream:
                file.write(_ELEMENT)
                for array in element:
                    for part in _parts(np.asarray(array)):
                        np.lib.format.write_array(file, part, allow_pickle=False)
                yield element
            file.write(_END)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def spec_in(path: str) -> Any:
    """The structure of the elements in a file. DataLossError if it is not such a file."""
    with open(path, "rb") as file:
        return _spec(file, path)


def read(path: str, spec: Any) -> Iterator[Element]:
    """The elements in a file. DataLossError if it is damaged, ValueError if their structure is not `spec`."""
    with open(path, "rb") as file:
        found = _spec(file, path)
        if _to_json(found) != _to_json(spec):
            raise ValueError(f"{path} holds elements of {found!r}, not of {spec!r}: remove it, or take another name")
        dtypes = [type.dtype for type in tensor_types(spec, "a file")]
        while (mark := file.read(1)) == _ELEMENT:
            yield tuple([_array(file, path, dtype) for dtype in dtypes])
        if mark != _END:
            raise DataLossError(f"{path} is damaged: it ends in the middle")


def _parts(array: Any) -> Sequence[Any]:
    """The arrays that are written for one array: for strings their shape and their bytes."""
    if array.dtype == object:
        return np.array(array.shape, np.int64), to_bytes(array)
    return (array if array.dtype.kind != "V" else array.view(f"u{array.itemsize}"),)


def _array(file: BinaryIO, path: str, dtype: DType) -> Any:
    try:
        if dtype.is_string:
            shape = tuple(np.lib.format.read_array(file, allow_pickle=False).tolist())
            return from_bytes(np.lib.format.read_array(file, allow_pickle=False), shape)
        array = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, TypeError, EOFError, OSError) as error:
        raise DataLossError(f"{path} is damaged: {error}") from None
    return array if array.dtype == dtype.np else array.view(dtype.np)


def _spec(file: BinaryIO, path: str) -> Any:
    line = file.readline(1 << 20)
    try:
        header = json.loads(line)
        if header["format"] != _FORMAT:
            raise ValueError
        if header["version"] != _VERSION:
            raise DataLossError(f"{path} is of version {header['version']!r} of the format, which is newer than "
                                f"{_VERSION}", remedy="Read it with the release that wrote it, or a later one.")
        return _from_json(header["spec"])
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        raise DataLossError(f"{path} holds no elements of a dataset") from None


def _to_json(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return {"dtype": spec.dtype.name, "shape": list(spec.type.shape)}
    if isinstance(spec, Mapping):
        return {"dict": {str(key): _to_json(value) for key, value in spec.items()}}
    return {"tuple": [_to_json(value) for value in spec]}


def _from_json(value: Any) -> Any:
    if "dict" in value:
        return {key: _from_json(part) for key, part in value["dict"].items()}
    if "tuple" in value:
        return tuple([_from_json(part) for part in _list(value["tuple"])])
    return TensorSpec(_list(value["shape"]), as_dtype(value["dtype"]))


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value

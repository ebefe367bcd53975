"""Files as strings, read and written when a graph runs (`tf.io`)."""
from __future__ import annotations

import os
from typing import Any

from runtime.core.errors import FailedPreconditionError, NotFoundError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, string
from runtime.ops.host_functions import numpy_function
from runtime.ops.op_makers import named

__all__ = ["read_file", "write_file"]


def _scalar(what: str, value: Any) -> Tensor:
    tensor = convert_to_tensor(value, string)
    if tensor.type.shape:
        raise located(ShapeError(f"the {what} of a file must be a string scalar, not {tensor.type}"))
    return tensor


def _read(name: bytes) -> bytes:
    path = os.fsdecode(name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    except IsADirectoryError:
        raise FailedPreconditionError(f"{path}; Is a directory") from None


def _write(name: bytes, contents: bytes) -> None:
    path = os.fsdecode(name)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    try:
        with open(path, "wb") as file:
            file.write(contents)
    except IsADirectoryError:
        raise FailedPreconditionError(f"{path}; Is a directory") from None


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The contents of a file as a string scalar, read whenever the graph runs (`tf.io.read_file`). `filename` is a
    string scalar. NotFoundError if the file does not exist, ShapeError for several names, TypeError for other
    values."""
    result: Tensor = numpy_function(_read, [_scalar("name", filename)], TensorSpec((), string))
    return named(result, name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write a string scalar to a file whenever the graph runs, creating its folders (`tf.io.write_file`)."""
    numpy_function(_write, [_scalar("name", filename), _scalar("contents", contents)], [])

"""Checkpoints: the values of variables, and the positions of dataset iterators, in a file (`tf.train`)."""
from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from runtime.core.errors import DTypeError, NotFoundError, ShapeError
from runtime.core.positions import located
from runtime.core.types import DType, as_dtype, dtype_of, int64
from runtime.function.variables.variable import Variable
from runtime.train.objects import Composite, attribute_names, is_variable, leaves, parts, restore, state_of
from runtime.train.storage import read_arrays, write_arrays

__all__ = ["Checkpoint", "CheckpointOptions", "CheckpointReader", "RestoreStatus", "latest_checkpoint",
           "list_variables", "load_checkpoint", "load_variable"]

VERSION: Final = 1
SUFFIX: Final = ".safetensors"
_OF_TF: Final = "/.ATTRIBUTES/VARIABLE_VALUE"
"""What TensorFlow's checkpoints have after the path of a variable."""
_NAME: Final = re.compile(r"(?P<prefix>.*)-(?P<number>[0-9]+)" + re.escape(SUFFIX))


def file_of(prefix: Any) -> str:
    """The file of a checkpoint; the path may include the suffix."""
    path = str(os.fspath(prefix))
    return path if path.endswith(SUFFIX) else path + SUFFIX


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The path of the checkpoint in the directory that was saved last; None if there is none
    (`tf.train.latest_checkpoint`). Incomplete ones have other names, and so are not found."""
    found = saved_in(os.fspath(checkpoint_dir))
    return max(found, key=lambda one: (one[0], one[1]))[2] if found else None


def saved_in(folder: str, prefix: str | None = None) -> list[tuple[int, int, str]]:
    """Time, number and path of each checkpoint in the directory, or of those with this prefix."""
    found = []
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        match = _NAME.fullmatch(entry.name)
        if match is not None and prefix in (None, match["prefix"]):
            found.append((entry.stat().st_mtime_ns, int(match["number"]), entry.path[:-len(SUFFIX)]))
    return found


class CheckpointReader:
    """The contents of a checkpoint (`tf.train.load_checkpoint`).

    NotFoundError if there is none, DataLossError if it is damaged, UnimplementedError if a later release wrote it.
    """

    def __init__(self, path: Any) -> None:
        self.path = os.fspath(path)
        arrays, document = read_arrays(file_of(path), VERSION)
        aliases: Mapping[str, str] = document.get("aliases", {})
        self._arrays: dict[str, Any] = {**arrays, **{alias: arrays[name] for alias, name in aliases.items()}}
        self.attributes: Mapping[str, str] = document.get("attributes", {})
        """The names of values by other paths: those of the attributes of Keras layers and the like."""

    def has_tensor(self, name: str) -> bool:
        return name.removesuffix(_OF_TF) in self._arrays

    def get_tensor(self, name: str) -> Any:
        """The value of the variable, as a NumPy array. NotFoundError if there is none of this name."""
        if not self.has_tensor(name):
            raise located(NotFoundError(f"the checkpoint {self.path} has no {name!r}: it has {_some(self._arrays)}"))
        return self._arrays[name.removesuffix(_OF_TF)].copy()

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        return {name: list(array.shape) for name, array in self._arrays.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        return {name: dtype_of(array) for name, array in self._arrays.items()}


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """The contents of a checkpoint, or of the latest one in a directory (`tf.train.load_checkpoint`). NotFoundError if
    there is none."""
    path = os.fspath(ckpt_dir_or_file)
    if not os.path.isdir(path):
        return CheckpointReader(path)
    latest = latest_checkpoint(path)
    if latest is None:
        raise located(NotFoundError(f"there is no checkpoint in the directory {path}"))
    return CheckpointReader(latest)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """The names and shapes of the arrays in a checkpoint, sorted by name (`tf.train.list_variables`)."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint, as a NumPy array (`tf.train.load_variable`). NotFoundError if there is
    none of this name."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


@dataclass(frozen=True)
class CheckpointOptions:
    """Options of saving and restoring (`tf.train.CheckpointOptions`), which say where and when TensorFlow writes files
    and have no effect: here a file is written by the process itself, before the call returns."""

    experimental_io_device: str | None = None
    experimental_enable_async_checkpoint: bool = False
    experimental_write_callbacks: Sequence[Any] | None = None
    enable_async: bool = False


class RestoreStatus:
    """The result of `Checkpoint.restore`, which tells whether all values found their variables.

    Variables that are created after `restore` get their values when an object is assigned to an attribute of the
    checkpoint, when one of these methods is called, or when the checkpoint is saved. When it is saved, it warns about
    values without a variable, unless `expect_partial` was called.
    """

    def __init__(self, checkpoint: Checkpoint, reader: CheckpointReader) -> None:
        self._checkpoint = checkpoint
        self._reader = reader
        self._unrestored = set(reader.get_variable_to_shape_map())
        self._restored: set[int] = set()
        self._quiet = True  # no warning about a value that does not fit: that is an error
        self.complete()
        self._quiet = False

    def complete(self) -> None:
        """Assign their values to the variables that exist by now."""
        found = {name: leaf for path, leaf in leaves(self._checkpoint)
                 if (name := self._name(path)) in self._unrestored}
        values = {path: self._reader.get_tensor(path) for path in found}
        for path, leaf in found.items():  # check all before the first is changed
            _check(path, leaf, values[path], self._reader.path)
        for path, leaf in found.items():
            if id(leaf) not in self._restored:
                self._restored.add(id(leaf))
                restore(leaf, values[path])
        self._unrestored -= found.keys()

    def _name(self, path: str) -> str:
        """The name of the value for the variable at `path`."""
        return path if self._reader.has_tensor(path) else self._reader.attributes.get(path, path)

    def assert_consumed(self) -> RestoreStatus:
        """AssertionError unless each value in the checkpoint found a variable, and each variable a value."""
        self.assert_existing_objects_matched()
        if self._unrestored:
            raise located(AssertionError(
                f"no variable was found for these values of the checkpoint {self._reader.path}: "
                f"{_some(self._unrestored)}. The variables are {_some(dict(leaves(self._checkpoint)))}"))
        return self

    def assert_existing_objects_matched(self) -> RestoreStatus:
        """AssertionError unless each variable found a value."""
        self.complete()
        missing = [path for path, leaf in leaves(self._checkpoint) if not self._reader.has_tensor(self._name(path))]
        if missing:
            raise located(AssertionError(
                f"the checkpoint {self._reader.path} has no values for {_some(missing)}: it has "
                f"{_some(self._reader.get_variable_to_shape_map())}"))
        return self

    def assert_nontrivial_match(self) -> RestoreStatus:
        """AssertionError if no variable found a value."""
        self.complete()
        if not self._restored:
            raise located(AssertionError(f"nothing of the checkpoint {self._reader.path} was restored"))
        return self

    def warn(self) -> None:
        """Warn about values without a variable."""
        if self._unrestored and not self._quiet:
            warnings.warn(f"values of the checkpoint {self._reader.path} were not restored: {_some(self._unrestored)}; "
                          "expect_partial() on what restore returned says that this is meant", stacklevel=4)

    def expect_partial(self) -> RestoreStatus:
        """Do not warn about values without a variable."""
        self._quiet = True
        return self


class Nothing:
    """The result of `Checkpoint.restore(None)`."""

    def assert_consumed(self) -> Nothing:
        """AssertionError: there is no checkpoint."""
        raise located(AssertionError("no checkpoint was given, so nothing was restored"))

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self) -> Nothing:
        return self


class Checkpoint(Composite):
    """Objects whose variables are saved and restored together (`tf.train.Checkpoint`).

    `Checkpoint(model=model, optimizer=optimizer)`: variables are named by the attributes, items and keys that lead to
    them, as in `model/layers/0/kernel`; `Checkpoint(root)` names them as seen from the object `root`. Those of Keras
    objects are named by number; the names of attributes find them, too. `save_counter` counts the saves. Iterators of
    datasets are saved, too: they resume at their position.
    """

    def __init__(self, root: Any = None, **objects: Any) -> None:
        self._pending: list[RestoreStatus] = []
        self._root = root
        for name, part in objects.items():
            setattr(self, name, part)
        if "save_counter" not in objects:
            self.save_counter = Variable(0, dtype="int64", trainable=False, name="save_counter")

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for status in self.__dict__.get("_pending", ()):
            status.complete()

    def parts(self) -> Iterator[tuple[str, Any]]:
        if self._root is not None:
            yield from parts(self._root)
        yield from sorted((name, part) for name, part in vars(self).items() if not name.startswith("_"))

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Write the file `file_prefix` + ".safetensors" atomically; return `file_prefix`. `save_counter` is not
        incremented."""
        for status in self._pending:
            status.complete()
            status.warn()
        arrays: dict[str, Any] = {}
        aliases: dict[str, str] = {}
        names: dict[int, str] = {}
        for path, leaf in leaves(self):
            first = names.setdefault(id(leaf), path)
            if first != path:
                aliases[path] = first
            else:
                arrays[path] = state_of(leaf)
        folder = os.path.dirname(file_of(file_prefix))
        if folder:
            os.makedirs(folder, exist_ok=True)
        attributes = {path: names[id(leaf)] for path, leaf in attribute_names(self)
                      if id(leaf) in names and path not in arrays and path not in aliases}
        write_arrays(file_of(file_prefix), arrays, {"aliases": aliases, "attributes": attributes}, VERSION)
        return str(os.fspath(file_prefix))

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Write a checkpoint named `file_prefix` + "-" + the number of this save; return that name, which
        `latest_checkpoint` finds."""
        self.save_counter.assign_add(1)
        path = f"{os.fspath(file_prefix)}-{int(self.save_counter.numpy())}"
        try:
            self.write(path)
        except BaseException:
            self.save_counter.assign_sub(1)
            raise
        return path

    def read(self, save_path: Any, options: Any = None) -> RestoreStatus:
        """Assign the values that `write` wrote to the variables."""
        status = RestoreStatus(self, load_checkpoint(save_path))
        self._pending[:] = [status] if status._unrestored else []
        return status

    def restore(self, save_path: Any, options: Any = None) -> RestoreStatus | Nothing:
        """Assign the values that `save` wrote to the variables; does nothing for None, which `latest_checkpoint`
        returns if there is no checkpoint.

        ShapeError or DTypeError if a value does not fit, before any variable is changed.
        """
        return Nothing() if save_path is None else self.read(save_path)


def _check(path: str, leaf: Any, value: Any, file: str) -> None:
    dtype, found = as_dtype(leaf.dtype) if is_variable(leaf) else int64, dtype_of(value)
    if found is not dtype:
        raise located(DTypeError(f"{path!r} is {dtype.name}, but the checkpoint {file} has {found.name} for it"))
    if not is_variable(leaf):
        return
    shape = list(leaf.shape)
    if len(shape) != value.ndim or any(n is not None and n != m for n, m in zip(shape, value.shape, strict=True)):
        raise located(ShapeError(
            f"{path!r} has the shape {shape}, but the checkpoint {file} has a value of {list(value.shape)} for it",
            remedy="Make the objects as they were when the checkpoint was written."))


def _some(names: Iterable[str]) -> str:
    """Some of the names, sorted."""
    ordered = sorted(names)
    more = f" and {len(ordered) - 8} more" if len(ordered) > 8 else ""
    return (", ".join(map(repr, ordered[:8])) or "nothing") + more

"""`Resume`: a `fit` that was interrupted within an epoch resumes, with the results of an uninterrupted one."""
from __future__ import annotations

import os
import re
from typing import Any, Final

import numpy as np
from keras.src.backend.common import global_state
from keras.src.callbacks.callback import Callback
from keras.src.random.seed_generator import GLOBAL_SEED_GENERATOR
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.utils.python_utils import pythonify_logs

from runtime.keras.backend.callback_state import restore, states
from runtime.keras.backend.datasets import DatasetAdapter
from runtime.train.storage import read_arrays, write_arrays

__all__ = ["Resume"]

_VERSION: Final = 2


class Resume(Callback):  # type: ignore[misc]
    """Saves the state of `fit` after every `save_freq` batches; a `fit` with the same file resumes there.

    Saved are the variables of model, optimizer and metrics (the metrics' sums within the epoch, the state of dropout),
    Keras' global seed, the history, the position in the data, and NumPy's global random state at the start of the
    epoch, from which `fit` shuffles arrays; of other callbacks, the attributes that are numbers, texts, arrays or
    structures of these, such as EarlyStopping's best value, and the contents of text files that they have open for
    writing, such as CSVLogger's. So weights, optimizer, history and logs are, bit for bit, those of an uninterrupted
    `fit`. What callbacks draw from NumPy's global state within an epoch is not saved. Resume is called after all other
    callbacks, so that they have seen the batch that it saves.

    The file is replaced atomically: a process that is killed leaves the last one. It is removed when `fit` ends. The
    data must be arrays or an `rt.data.Dataset`, the same as before.

    Keras' `BackupAndRestore` instead repeats the epoch, with the weights of the interruption.

    At the beginning of `fit` this raises DataLossError for a damaged file, UnimplementedError for one of a later
    release, ValueError for one of another model and for data whose position cannot be saved.
    """

    def __init__(self, path: Any, save_freq: int = 1) -> None:
        """`path` is the file, whose folder exists; ValueError unless `save_freq` is a positive int."""
        super().__init__()
        if not isinstance(save_freq, int) or save_freq < 1:
            raise ValueError(f"save_freq is a number of batches, 1 or more, not {save_freq!r}")
        self.path, self.save_freq = os.fspath(path), save_freq
        self.batches_done = 0  # batches of the resumed epoch, which `fit` skips
        self.logs: Any = {}  # the logs after the last of them
        self._data: Any = None
        self._callbacks: list[Any] = []
        self._restored: tuple[Any, Any] | None = None
        self._epoch = 0
        self._numpy: Any = None
        self._unsaved = 0
        self._last = -1

    def set_fit(self, epoch_iterator: Any, callbacks: list[Any]) -> None:
        """Called by `fit` with its data and callbacks, before it begins."""
        callbacks.sort(key=lambda callback: callback is self)
        self._callbacks = callbacks
        self._data = epoch_iterator.data_adapter
        if isinstance(self._data, DatasetAdapter):
            return
        if not isinstance(self._data, ArrayDataAdapter):
            raise ValueError("Resume needs arrays or an rt.data.Dataset: the position in data that Python gives batch "
                             "by batch cannot be saved (rt.data.Dataset.from_generator reads a generator again)")
        if epoch_iterator.steps_per_epoch:
            raise ValueError("Resume with arrays takes no steps_per_epoch, with which an epoch may begin in the middle "
                             "of the arrays: make a dataset of them (rt.data.Dataset.from_tensor_slices)")

    def on_train_begin(self, logs: Any = None) -> None:
        self.batches_done, self._unsaved, self._restored = 0, 0, None
        if os.path.exists(self.path):
            arrays, document = read_arrays(self.path, _VERSION)
            self._check(document["variables"])
            self._restored = arrays, document
            self.model._initial_epoch = document["epoch"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Restore the state here: `fit` has just reset the metrics, and not yet started on the data."""
        self._epoch, self._last = epoch, -1
        if self._restored is None:
            self._numpy = np.random.get_state()
            self.batches_done, self.logs = 0, {}
            return
        (arrays, document), self._restored = self._restored, None
        for number, variable in enumerate(self._variables()):
            variable.assign(arrays[f"variable/{number}"])
        name, position, has_gauss, gauss = document["numpy"]
        self._numpy = name, arrays["numpy"], position, has_gauss, gauss
        np.random.set_state(self._numpy)
        self.model.history.epoch[:] = document["epochs"]
        self.model.history.history.update(document["history"])
        restore(self._callbacks, self, document["callbacks"], arrays)
        self.batches_done, self._unsaved, self.logs = document["batches"], document["unsaved"], document["logs"]
        self._last = self.batches_done - 1
        if isinstance(self._data, DatasetAdapter):
            taken, *rounds = arrays["data"]
            self._data.begin_at(np.array([taken - self.batches_done, *rounds], np.int64))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._unsaved += batch - self._last
        self._last = batch
        if self._unsaved >= self.save_freq:
            self._unsaved = 0
            self._save(batch + 1, logs or {})

    def on_train_end(self, logs: Any = None) -> None:
        self.model._initial_epoch = None
        if os.path.exists(self.path):
            os.remove(self.path)

    def _save(self, batches: int, logs: Any) -> None:
        variables = self._variables()
        name, keys, position, has_gauss, gauss = self._numpy
        arrays = {f"variable/{number}": np.asarray(variable) for number, variable in enumerate(variables)}
        arrays["numpy"] = keys
        if isinstance(self._data, DatasetAdapter):
            arrays["data"] = self._data.position()
        history = self.model.history
        write_arrays(self.path, arrays, {
            "epoch": self._epoch, "batches": batches, "unsaved": self._unsaved,
            "numpy": [name, int(position), int(has_gauss), float(gauss)],
            "logs": pythonify_logs(logs), "epochs": list(history.epoch),
            "history": {key: [float(value) for value in values] for key, values in history.history.items()},
            "variables": _described(variables), "callbacks": states(self._callbacks, self, arrays),
        }, _VERSION)

    def _variables(self) -> list[Any]:
        """All variables that `fit` changes, each once, in an order that depends only on the model."""
        model = self.model
        seed = global_state.get_global_attribute(GLOBAL_SEED_GENERATOR)
        found = [*model.variables, *model.metrics_variables, *(model.optimizer.variables if model.optimizer else ())]
        found += [] if seed is None else [seed.state]
        return list({id(variable): variable for variable in found}.values())

    def _check(self, saved: Any) -> None:
        here = _described(self._variables())
        if saved != here:
            other = next((f"{a} here and {b} there" for a, b in zip(here, saved, strict=False) if a != b),
                         f"{len(here)} variables here and {len(saved)} there")
            raise ValueError(f"{self.path} is of the fit of another model, optimizer or metrics: {other}. "
                             "Make the same ones, or remove the file to begin anew.")


def _described(variables: list[Any]) -> list[Any]:
    """Names without the numbers that Keras appends, which depend on the objects that the process made before."""
    return [[re.sub(r"_\d+", "", variable.name), list(variable.shape), str(variable.dtype)] for variable in variables]

"""`fit`, `evaluate` and `predict` (Keras' `Trainer` of a backend): each step is traced and runs as native code."""
from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers, tree
from keras.src.backend import config
from keras.src.backend.config import floatx
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.utils import traceback_utils
from keras.src.utils.python_utils import is_default, pythonify_logs

import runtime as rt
from autograph.backend import has_staged_items
from runtime.function.execution.executors import load
from runtime.keras.backend.core import convert_to_numpy, convert_to_tensor
from runtime.keras.backend.datasets import batches as batches_of
from runtime.keras.backend.resuming import Resume
from runtime.keras.backend.steps import Grouping, Steps, joined
from runtime.keras.backend.users import accept_what_keras_builds, convert_what_keras_calls

__all__ = ["RuntimeTrainer"]

_MANY: Final = 32  # batches

accept_what_keras_builds()
convert_what_keras_calls()  # here, since Keras imports a backend's trainer after its losses, metrics and layers


class RuntimeTrainer(base_trainer.Trainer):  # type: ignore[misc]
    """A model's training on this backend."""

    def __init__(self) -> None:
        super().__init__()
        load()  # the model will run: load LLVM before its first epoch
        self.train_function: Callable[[Any], Any] | None = None
        self.test_function: Callable[[Any], Any] | None = None
        self.predict_function: Callable[[Any], Any] | None = None
        self._eval_epoch_iterator: Any = None
        self._groupings: dict[str, Grouping] = {}

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True,
    ) -> Any:
        """As Keras does; where a staged loop has called layers with losses, only the graph knows how many there are."""
        losses = self.losses
        if not has_staged_items(losses):
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        added = rt.reduce_sum(rt.cast(rt.stack(losses), floatx()))
        loss = None if self._compile_loss is None else self._compile_loss(y, y_pred, sample_weight)
        return added if loss is None else loss + added

    # Steps, which users may override.

    def train_step(self, data: Any) -> Any:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        with rt.GradientTape() as tape:
            y_pred = self(x, training=True) if self._call_has_training_arg else self(x)
            loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            self._loss_tracker.update_state(loss, sample_weight=_rows(x))
            if self.optimizer is not None:
                loss = self.optimizer.scale_loss(loss)
        weights = self.trainable_weights
        if weights:
            gradients = tape.gradient(loss, list(weights))
            self.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def test_step(self, data: Any) -> Any:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False) if self._call_has_training_arg else self(x)
        loss = self._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=False)
        self._loss_tracker.update_state(loss, sample_weight=_rows(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def predict_step(self, data: Any) -> Any:
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        return self(x, training=False) if self._call_has_training_arg else self(x)

    def _build_before(self, step: str, iterator: Any = None, data_batch: Any = None) -> None:
        """Make all variables before the first `step`. If that is the user's, its batches may be anything, also what
        `call` does not take, so it makes the variables of layers, metrics and optimizer itself; but those that the
        model's own `build` makes are there, if the model can be called with the batches."""
        is_of_users = self._is_of_users(step)
        method = "build" if is_of_users else "call"
        if _module_of(method, self) not in ("keras.src.models.model", "keras.src.layers.layer"):
            with contextlib.suppress(*[Exception] * is_of_users):
                self._symbolic_build(None if iterator is None else _with_string_tensors(iterator), data_batch)

    def _is_of_users(self, step: str) -> bool:
        return step in vars(self) or not _module_of(step, self).startswith(("keras.src.", __name__))

    # Functions that run the batches of one execution.

    def _make_function(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        if not self.run_eagerly:
            return Steps(step).many

        def eagerly(data: Any) -> Any:
            result = None
            for batch in data:
                result = step(tree.map_structure(lambda x: None if x is None else convert_to_tensor(x), batch))
            return result

        return eagerly

    def make_train_function(self, force: bool = False) -> None:
        if self.train_function is None or force:
            self._groupings.clear()
            self.train_function = self._make_function(self.train_step)

    def make_test_function(self, force: bool = False) -> None:
        if self.test_function is None or force:
            self.test_function = self._make_function(self.test_step)

    def make_predict_function(self, force: bool = False) -> None:
        if self.predict_function is not None and not force:
            return
        if not self.run_eagerly:
            self.predict_function = Steps(self.predict_step, joins=True).many
            return
        step = self._make_function(self.predict_step)
        self.predict_function = lambda data: joined([step([batch]) for batch in data])

    # Loops over epochs and batches.

    @traceback_utils.filter_traceback  # type: ignore[untyped-decorator]
    def fit(
        self, x: Any = None, y: Any = None, batch_size: Any = None, epochs: int = 1, verbose: Any = "auto",
        callbacks: Any = None, validation_split: float = 0.0, validation_data: Any = None, shuffle: bool = True,
        class_weight: Any = None, sample_weight: Any = None, initial_epoch: int = 0, steps_per_epoch: Any = None,
        validation_steps: Any = None, validation_batch_size: Any = None, validation_freq: Any = 1,
    ) -> Any:
        self._assert_compile_called("fit")
        epochs = _capped(epochs)
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split)
        epoch_iterator = batches_of(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps_per_epoch,
            shuffle=shuffle, class_weight=class_weight, steps_per_execution=self.steps_per_execution)
        self._build_before("train_step", iterator=epoch_iterator)
        epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose, epochs, add_history=True)
        self.stop_training = False
        self.make_train_function()
        resume = next((callback for callback in callbacks.callbacks if isinstance(callback, Resume)), None)
        if resume is not None:
            resume.set_fit(epoch_iterator, callbacks.callbacks)
        callbacks.on_train_begin()
        logs: Any = None
        for epoch in range(self._initial_epoch or initial_epoch, epochs):
            logs = self._epoch(epoch, epoch_iterator, callbacks, resume)
            if validation_data is not None and self._should_eval(epoch, validation_freq):
                logs.update(self._validate(validation_data, validation_batch_size or batch_size, validation_steps,
                                           callbacks))
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=logs)
        return self.history

    def _epoch(self, epoch: int, epoch_iterator: Any, callbacks: Any, resume: Resume | None) -> dict[str, Any]:
        """Train on all batches of an epoch, except those done before an interruption; returns the epoch's logs."""
        assert self.train_function is not None
        self.reset_metrics()
        callbacks.on_epoch_begin(epoch)
        return self._run("train", self.train_function, epoch_iterator, callbacks, lambda: self.stop_training, resume)

    def _run(
        self, what: str, function: Callable[[Any], Any], epoch_iterator: Any, callbacks: Any,
        is_stopped: Callable[[], bool], resume: Resume | None = None,
    ) -> dict[str, Any]:
        """Call `function` for all batches that `resume` has not done, until stopped; returns the logs."""
        begin, end = (getattr(callbacks, f"on_{what}_batch_{when}") for when in ("begin", "end"))
        done, logs = (0, {}) if resume is None else (resume.batches_done, resume.logs)
        run, batches = self._grouped(what, function, epoch_iterator, callbacks)
        with epoch_iterator.catch_stop_iteration():
            for begin_step, end_step, data in batches:
                if end_step < done:
                    continue
                begin(begin_step)
                logs = run(data)
                end(end_step, logs)
                if is_stopped():
                    break
        return dict(pythonify_logs(self._get_metrics_result_or_logs(logs)))

    def _grouped(
        self, what: str, function: Callable[[Any], Any], epoch_iterator: Any, callbacks: Any
    ) -> tuple[Callable[[Any], Any], Any]:
        """The function that runs batches, and the batches: in groups, unless the user sets how many, a callback handles
        single batches, or there are few batches to predict, for which compiling a loop takes too long."""
        is_short = what == "predict" and (epoch_iterator.num_batches or 0) < _MANY
        if self.run_eagerly or self.steps_per_execution > 1 or is_short or _handles_batches(what, callbacks):
            return function, epoch_iterator
        grouping = self._groupings.setdefault(what, Grouping())
        return functools.partial(grouping.run, function), grouping.groups(epoch_iterator)

    def _validate(self, data: Any, batch_size: Any, steps: Any, callbacks: Any) -> dict[str, Any]:
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = batches_of(
                x=x, y=y, sample_weight=sample_weight, batch_size=batch_size,
                steps_per_execution=self.steps_per_execution, steps_per_epoch=steps, shuffle=False)
        logs = self.evaluate(x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps=steps,
                             callbacks=callbacks, return_dict=True, _use_cached_eval_dataset=True)
        return {f"val_{name}": value for name, value in logs.items()}

    @traceback_utils.filter_traceback  # type: ignore[untyped-decorator]
    def evaluate(
        self, x: Any = None, y: Any = None, batch_size: Any = None, verbose: Any = "auto", sample_weight: Any = None,
        steps: Any = None, callbacks: Any = None, return_dict: bool = False, **kwargs: Any,
    ) -> Any:
        self._assert_compile_called("evaluate")
        is_cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        epoch_iterator = self._eval_epoch_iterator if is_cached else batches_of(
            x=x, y=y, sample_weight=sample_weight, batch_size=batch_size, steps_per_epoch=steps, shuffle=False,
            steps_per_execution=self.steps_per_execution)
        self._build_before("test_step", iterator=epoch_iterator)
        epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose)
        self.make_test_function()
        assert self.test_function is not None
        self.stop_evaluating = False
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = self._run("test", self.test_function, epoch_iterator, callbacks, lambda: self.stop_evaluating)
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback  # type: ignore[untyped-decorator]
    def predict(
        self, x: Any, batch_size: Any = None, verbose: Any = "auto", steps: Any = None, callbacks: Any = None,
    ) -> Any:
        epoch_iterator = batches_of(x=x, batch_size=batch_size, steps_per_epoch=steps, shuffle=False,
                                       steps_per_execution=self.steps_per_execution)
        if not all(layer.built for layer in self._flatten_layers()):
            with _first(epoch_iterator) as batch:
                self(tree.map_structure(convert_to_tensor, data_adapter_utils.unpack_x_y_sample_weight(batch)[0]))
            epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, epoch_iterator, verbose)
        self.make_predict_function()
        assert self.predict_function is not None
        self.stop_predicting = False
        run, batches = self._grouped("predict", self.predict_function, epoch_iterator, callbacks)
        callbacks.on_predict_begin()
        outputs: list[Any] = []
        with epoch_iterator.catch_stop_iteration():
            for begin_step, end_step, data in batches:
                callbacks.on_predict_batch_begin(begin_step)
                result = run(data)
                outputs.append(tree.map_structure(convert_to_numpy, result))
                callbacks.on_predict_batch_end(end_step, {"outputs": result})
                if self.stop_predicting:
                    break
        callbacks.on_predict_end()
        return tree.map_structure(lambda *parts: np.concatenate(parts), *outputs)

    def _callbacks(
        self, callbacks: Any, epoch_iterator: Any, verbose: Any, epochs: int = 1, add_history: bool = False,
    ) -> Any:
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(
            callbacks, add_history=add_history, add_progbar=verbose != 0, verbose=verbose, epochs=epochs,
            steps=epoch_iterator.num_batches, model=self)

    # One batch.

    def train_on_batch(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: bool = False,
    ) -> Any:
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError("Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                                 f"Received: sample_weight={sample_weight}, class_weight={class_weight}")
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        batch = _batch(x, y, sample_weight)
        self._build_before("train_step", data_batch=batch)
        self.make_train_function()
        assert self.train_function is not None
        self.reset_metrics()
        return self._batch_logs(self.train_function([batch]), return_dict)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: bool = False) -> Any:
        self._assert_compile_called("test_on_batch")
        batch = _batch(x, y, sample_weight)
        self._build_before("test_step", data_batch=batch)
        self.make_test_function()
        assert self.test_function is not None
        self.reset_metrics()
        return self._batch_logs(self.test_function([batch]), return_dict)

    def predict_on_batch(self, x: Any) -> Any:
        self.make_predict_function()
        assert self.predict_function is not None
        return tree.map_structure(convert_to_numpy, self.predict_function([_batch(x)]))

    def _batch_logs(self, logs: Any, return_dict: bool) -> Any:
        logs = pythonify_logs(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)


def _module_of(method: str, model: Any) -> str:
    """The module of the class that defines a method of the model."""
    return next(cls.__module__ for cls in type(model).__mro__ if method in vars(cls))


def _handles_batches(what: str, callbacks: Any) -> bool:
    """Whether any callback other than Keras' progress bar and history handles single batches."""
    hooks = [f"on_{what}_batch_begin", f"on_{what}_batch_end", "on_batch_begin", "on_batch_end"]
    return any(not is_default(getattr(callback, hook)) for callback in callbacks.callbacks for hook in hooks
               if not isinstance(callback, (callbacks_module.ProgbarLogger, callbacks_module.History)))


def _batch(*parts: Any) -> tuple[Any, ...]:
    return tuple(tree.map_structure(lambda x: None if x is None else convert_to_tensor(x), part) for part in parts)


def _rows(x: Any) -> Any:
    return next(leaf for leaf in tree.flatten(x) if leaf is not None).shape[0]


def _capped(epochs: int) -> int:
    """The number of epochs, limited by `keras.config.set_max_epochs`."""
    limit = config.max_epochs()
    if limit and limit < epochs:
        warnings.warn(f"Limiting epochs to {limit}", stacklevel=2)
        return int(limit)
    return epochs


@contextlib.contextmanager
def _first(epoch_iterator: Any) -> Iterator[Any]:
    """The first batch."""
    for _, _, data in epoch_iterator:
        yield data[0]
        return


def _with_string_tensors(epoch_iterator: Any) -> Iterator[Any]:
    """The batches, with arrays of strings as tensors, whose dtype Keras knows."""

    def tensor(x: Any) -> Any:
        return rt.convert_to_tensor(x) if isinstance(x, np.ndarray) and x.dtype.kind == "O" else x

    for first, last, data in epoch_iterator:
        yield first, last, [tree.map_structure(tensor, batch) for batch in data]

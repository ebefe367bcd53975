"""Checkpoints in a directory: the latest one, and which ones are kept (`tf.train.CheckpointManager`)."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from runtime.train.checkpoint import SUFFIX, Checkpoint, saved_in

__all__ = ["CheckpointManager", "CheckpointState", "get_checkpoint_state"]


class CheckpointState(NamedTuple):
    """The checkpoints in a directory: the path of the latest, and those of all, the oldest first."""

    model_checkpoint_path: str
    all_model_checkpoint_paths: list[str]


def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> CheckpointState | None:
    """The checkpoints in the directory; None if there are none (`tf.train.get_checkpoint_state`)."""
    paths = [path for _, _, path in sorted(saved_in(os.fspath(checkpoint_dir)))]
    return CheckpointState(paths[-1], paths) if paths else None


class CheckpointManager:
    """Saves checkpoints in a directory and deletes old ones (`tf.train.CheckpointManager`).

    max_to_keep                    how many of the latest are kept; None for all
    keep_checkpoint_every_n_hours  of the others, the first and then one per this many hours are kept, too
    step_counter                   a variable with the number of the step
    checkpoint_interval            `save` does nothing until `step_counter` has grown by this much since the last
                                   checkpoint, unless `check_interval` is False
    init_fn                        called by `restore_or_initialize` if there is no checkpoint
    """

    def __init__(
        self, checkpoint: Checkpoint, directory: Any, max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = None, checkpoint_name: str = "ckpt", step_counter: Any = None,
        checkpoint_interval: int | None = None, init_fn: Callable[[], Any] | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(f"max_to_keep is at least 1, or None, not {max_to_keep}")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("checkpoint_interval needs the step_counter: a variable with the number of the step")
        self.checkpoint = checkpoint
        self.directory = os.fspath(directory)
        self._max, self._hours, self._name = max_to_keep, keep_checkpoint_every_n_hours, checkpoint_name
        self._steps, self._interval, self._initialise = step_counter, checkpoint_interval, init_fn
        self._last_step: int | None = None

    @property
    def checkpoint_interval(self) -> int | None:
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints in the directory, oldest first."""
        return [path for _, _, path in sorted(saved_in(self.directory, self._name), key=lambda one: one[:2])]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the last one; None if there is none."""
        return self.checkpoints[-1] if self.checkpoints else None

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> str | None:
        """Save a checkpoint, with the number `checkpoint_number` or the count of saves, and delete old ones. Returns
        its path; None if the interval has not passed."""
        step = None if self._steps is None else int(self._steps.numpy())
        if check_interval and self._interval is not None and step is not None and self._last_step is not None and (
                step - self._last_step < self._interval):
            return None
        prefix = os.path.join(self.directory, self._name)
        if checkpoint_number is None:
            path = self.checkpoint.save(prefix)
        else:
            number = int(checkpoint_number.numpy() if hasattr(checkpoint_number, "numpy") else checkpoint_number)
            self.checkpoint.save_counter.assign_add(1)
            path = self.checkpoint.write(f"{prefix}-{number}")
        self._last_step = step
        self._delete(path)
        return path

    def _delete(self, path: str) -> None:
        """Delete old checkpoints, except those to keep for `keep_checkpoint_every_n_hours`: the first, and each one
        that is at least so many hours later than the last one kept."""
        if self._max is None:
            return
        saved = sorted(saved_in(self.directory, self._name), key=lambda one: one[:2])
        latest = {path, *(other for _, _, other in saved[-self._max:])}
        kept = None
        for moment, _, other in saved:
            if self._hours is not None and (kept is None or moment - kept >= self._hours * 3.6e12):
                kept = moment
            elif other not in latest:
                os.remove(other + SUFFIX)

    def restore_or_initialize(self) -> str | None:
        """Restore the last checkpoint and return its path; if there is none, call `init_fn` and return None."""
        path = self.latest_checkpoint
        if path is not None:
            self.checkpoint.restore(path)
            self._last_step = None if self._steps is None else int(self._steps.numpy())
        elif self._initialise is not None:
            self._initialise()
        return path

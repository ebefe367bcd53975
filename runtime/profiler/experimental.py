"""Profiling under TensorFlow's names (`tf.profiler.experimental`)."""
from __future__ import annotations

import os
import platform
import threading
import time
from typing import Any, Final, NamedTuple

from runtime.core.errors import FailedPreconditionError
from runtime.core.positions import located
from runtime.core.profiling import Session, active, now
from runtime.profiler.recorder import begin, end
from runtime.profiler.report import Report

__all__ = ["Profile", "ProfilerOptions", "Trace", "start", "stop"]


class ProfilerOptions(NamedTuple):
    """TF's options, which have no effect (`tf.profiler.experimental.ProfilerOptions`)."""

    host_tracer_level: int = 2
    python_tracer_level: int = 0
    device_tracer_level: int = 1
    delay_ms: int | None = None


_running: Final[list[tuple[Session, str]]] = []
_lock: Final = threading.Lock()


def start(logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
    """Profile all threads until `stop` (`tf.profiler.experimental.start`).

    AlreadyExistsError if a profiler is running.
    """
    with _lock:
        _running.append((begin(), os.fspath(logdir)))


def stop(save: bool = True) -> None:
    """End the profile and write it to `LOGDIR/plugins/profile/TIME/HOST.trace.json.gz`, which Perfetto opens
    (`tf.profiler.experimental.stop`).

    FailedPreconditionError if `start` was not called.
    """
    with _lock:
        if not _running:
            raise located(FailedPreconditionError("no profiler is running: call rt.profiler.experimental.start first"))
        session, logdir = _running.pop()
        end(session)
    if save:
        folder = os.path.join(logdir, "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S"))
        os.makedirs(folder, exist_ok=True)
        Report(session).save(os.path.join(folder, f"{platform.node() or 'localhost'}.trace.json.gz"))


class Profile:
    """A context manager that calls `start` and `stop` (`tf.profiler.experimental.Profile`)."""

    def __init__(self, logdir: str | os.PathLike[str], options: ProfilerOptions | None = None) -> None:
        self._logdir, self._options = logdir, options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *_: object) -> None:
        stop()


class Trace:
    """A context manager that names a part of a profile, such as a training step
    (`tf.profiler.experimental.Trace`). Keyword arguments, such as `step_num`, are shown with it. Without a profiler it
    has no effect."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._name, self._args = name, kwargs
        self._start = 0

    def set_metadata(self, **kwargs: Any) -> None:
        """Add arguments to show."""
        self._args.update(kwargs)

    def __enter__(self) -> Trace:
        self._start = now()
        return self

    def __exit__(self, *_: object) -> None:
        session = active.session
        if session is not None and self._start >= session.start:
            args = {key: value if isinstance(value, (int, float, str)) else str(value)
                    for key, value in self._args.items()}
            session.ran(session.region("step", self._name), self._start, now(), 0, args)

"""A pytest plugin (`-p tests.keras.plugin`) for Keras' own tests, in each worker too.

Keras runs on this backend, unless KERAS_BACKEND names another, and the tests find the `conftest` of Keras' repository,
which is not in its wheel.
"""
from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

BACKEND = os.environ.get("KERAS_BACKEND", "runtime")


def skip_if_backend(backend: str, reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(backend == BACKEND, reason=reason)


if BACKEND == "runtime":  # to import the package is enough to make Keras run on it
    from runtime.keras.released import BRANCHES
    from tests.keras import sparse_branches

    sparse_branches.install()

    BRANCHES["keras.src.trainers.trainer_test"] = BRANCHES["keras.src.models.model"]  # it has such a chain, too
sys.modules["conftest"] = ModuleType("conftest")
vars(sys.modules["conftest"])["skip_if_backend"] = skip_if_backend

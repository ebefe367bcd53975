"""The peers, if installed (`pip install -e '.[bench]'`)."""
from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from typing import Any

__all__ = ["MODULES", "installed", "peer"]

MODULES = {"TF": "tensorflow", "malt": "malt", "jax": "jax", "numba": "numba",
           "diffrax": "diffrax", "torch": "torch"}
"""By name in the table, the module to import; malt is in the distribution diastatic-malt."""


def installed(name: str) -> bool:
    return importlib.util.find_spec(MODULES[name]) is not None


@functools.cache
def peer(name: str) -> Any:
    """The module of a peer, imported on first use, which may take seconds. None if it is not installed."""
    if not installed(name):
        return None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    module = importlib.import_module(MODULES[name])
    if name in ("TF", "malt"):  # else warnings about what does not convert would be measured, too
        logger = "tensorflow" if name == "TF" else "malt"
        importlib.import_module("logging").getLogger(logger).setLevel("CRITICAL")
    return module

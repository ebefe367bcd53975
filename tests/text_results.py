"""The ways to run an op of strings, and its results as bytes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as rt

WAYS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda f: f, "native": rt.function, "numpy": lambda f: rt.function(f, executor="numpy")}


def check_text(found: Any, want: Any) -> None:
    """Check a tensor against values whose text is UTF-8 in it."""
    encoded = np.vectorize(lambda x: x.encode() if isinstance(x, str) else x, otypes=[object])(np.array(want, object))
    np.testing.assert_array_equal(found.numpy(), encoded[()] if np.size(want) else want)

"""Batching rules of ops."""
from __future__ import annotations

from runtime.batching.rules import (  # noqa: F401  they fill the table
    convolution,
    elementwise,
    indexing,
    linalg,
    lists,
    random,
    reduction,
    shape,
)

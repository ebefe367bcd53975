"""The derivatives of ops, one module per family as in `runtime.ops`."""
from __future__ import annotations

from runtime.autodiff.rules import (  # noqa: F401  they fill the tables
    complex_numbers,
    concat_split,
    convolution,
    decompositions,
    effects,
    fourier,
    gather,
    indexing,
    linalg,
    lists,
    logic,
    math,
    reduction,
    shape,
    sorting,
    special_functions,
)

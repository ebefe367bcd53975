"""All families of ops. It is loaded where an op is looked up by name that no module in use has registered, such as one
of a saved graph."""
from __future__ import annotations

from runtime.core.op import REGISTRY as OPS
from runtime.ops import (  # noqa: F401  they register their ops
    bitcast,
    complex_numbers,
    concat_split,
    control,
    convolution,
    creation,
    datasets,
    decompositions,
    effects,
    examples,
    exceptions,
    fourier,
    gather,
    gather_nd,
    hashing,
    host_functions,
    indexing,
    integrals,
    linalg,
    lists,
    logic,
    lookup,
    math,
    mutable_tables,
    nn,
    overflow,
    pooling,
    python_math,
    random,
    reduction,
    sequence_examples,
    shape,
    sorting,
    special_functions,
    stateless_random,
    string_parts,
    string_tensors,
    strings,
    summarized_text,
    variables,
)

__all__ = ["OPS"]

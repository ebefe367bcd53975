"""The backend that Keras imports; each module defines what Keras expects of the backend's module of that name."""
from __future__ import annotations

import inspect as _inspect
from types import FunctionType as _FunctionType
from types import ModuleType as _ModuleType

from runtime.keras.backend import (
    core,
    distribution_lib,
    image,
    linalg,
    math,
    nn,
    numpy,
    random,
    tensorboard,
)
from runtime.keras.backend.core import (
    IS_THREAD_SAFE,
    SUPPORTS_COMPLEX_DTYPES,
    SUPPORTS_RAGGED_TENSORS,
    SUPPORTS_SPARSE_TENSORS,
    Variable,
    cast,
    compute_output_spec,
    cond,
    convert_to_numpy,
    convert_to_tensor,
    device_scope,
    is_tensor,
    name_scope,
    random_seed_dtype,
    scatter,
    shape,
    stop_gradient,
    vectorized_map,
)
from runtime.keras.backend.rnn import bidirectional_gru, bidirectional_lstm, cudnn_ok, gru, lstm, rnn

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "bidirectional_gru",
    "bidirectional_lstm",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "core",
    "cudnn_ok",
    "device_scope",
    "distribution_lib",
    "gru",
    "image",
    "is_tensor",
    "linalg",
    "lstm",
    "math",
    "name_scope",
    "nn",
    "numpy",
    "random",
    "random_seed_dtype",
    "rnn",
    "scatter",
    "shape",
    "stop_gradient",
    "tensorboard",
    "vectorized_map",
]


def _without_annotations(module: _ModuleType) -> None:
    """Let `inspect.signature` show the backend's functions of this module without annotations.

    Keras wants each of them to have exactly the signature of its op, which has none (keras/src/ops/ops_test.py).
    """
    for function in vars(module).values():
        if isinstance(function, _FunctionType) and function.__module__.startswith(__name__):
            signature = _inspect.signature(function)
            plain = [each.replace(annotation=_inspect.Parameter.empty) for each in signature.parameters.values()]
            function.__signature__ = signature.replace(  # type: ignore[attr-defined]
                parameters=plain, return_annotation=_inspect.Signature.empty)


for _module in (core, image, linalg, math, nn, numpy):
    _without_annotations(_module)

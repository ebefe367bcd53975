"""Sparse matrices of SciPy, and sparse tensors of TensorFlow and JAX, detected by their class's module, without
importing these libraries."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.ops.sparse import SparseTensor, from_dense

__all__ = ["is_foreign_sparse", "sparse_tensor_of"]

_MODULES = ("scipy.sparse", "jax.experimental.sparse")


def is_foreign_sparse(x: Any) -> bool:
    if isinstance(x, (np.ndarray, Tensor)):  # most values; decided without reading names
        return False
    module = type(x).__module__
    return module.startswith(_MODULES) or (module.startswith("tensorflow.") and type(x).__name__ == "SparseTensor")


def sparse_tensor_of(x: Any) -> SparseTensor:
    """A SparseTensor with the positions and values of another library's sparse tensor."""
    if hasattr(x, "tocoo"):  # SciPy
        x = x.tocoo()
        return SparseTensor(np.stack([x.row, x.col], axis=1).astype(np.int64), x.data, x.shape)
    if hasattr(x, "dense_shape"):  # TensorFlow
        return SparseTensor(np.asarray(x.indices), np.asarray(x.values), tuple(x.shape))
    return from_dense(np.asarray(x.todense()))  # JAX: it has several formats

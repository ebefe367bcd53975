"""Neural networks (`tf.nn`)."""
from __future__ import annotations

from runtime.ops.nn import (
    batch_normalization,
    bias_add,
    dropout,
    elu,
    embedding_lookup,
    gelu,
    in_top_k,
    l2_loss,
    l2_normalize,
    leaky_relu,
    log_softmax,
    moments,
    relu,
    relu6,
    selu,
    sigmoid,
    sigmoid_cross_entropy_with_logits,
    silu,
    softmax,
    softmax_cross_entropy_with_logits,
    softplus,
    softsign,
    sparse_softmax_cross_entropy_with_logits,
    swish,
    tanh,
    top_k,
)

__all__ = [
    "batch_normalization", "bias_add", "dropout", "elu", "embedding_lookup", "gelu", "in_top_k",
    "l2_loss", "l2_normalize", "leaky_relu", "log_softmax", "moments", "relu", "relu6", "selu", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits",
    "softplus", "softsign", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh", "top_k",
]

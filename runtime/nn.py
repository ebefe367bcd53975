"""Neural networks (`tf.nn`)."""
from __future__ import annotations

from runtime.core.public_names import Namespace, hint_at_public_names
from runtime.ctc import ctc_beam_search_decoder, ctc_greedy_decoder, ctc_loss
from runtime.math import zero_fraction
from runtime.ops.candidates import (
    embedding_lookup_sparse,
    log_uniform_candidate_sampler,
    nce_loss,
    sampled_softmax_loss,
    uniform_candidate_sampler,
)
from runtime.ops.convolution import (
    atrous_conv2d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    conv_transpose,
    convolution,
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    separable_conv2d,
)
from runtime.ops.morphology import dilation2d, erosion2d
from runtime.ops.nn import (
    batch_normalization,
    bias_add,
    compute_average_loss,
    crelu,
    dropout,
    elu,
    embedding_lookup,
    gelu,
    general_dropout,
    in_top_k,
    l2_loss,
    l2_normalize,
    leaky_relu,
    local_response_normalization,
    log_poisson_loss,
    log_softmax,
    moments,
    normalize_moments,
    relu,
    relu6,
    scale_regularization_loss,
    selu,
    sigmoid,
    sigmoid_cross_entropy_with_logits,
    silu,
    softmax,
    softmax_cross_entropy_with_logits,
    softplus,
    softsign,
    sparse_softmax_cross_entropy_with_logits,
    stateless_dropout,
    sufficient_statistics,
    swish,
    tanh,
    top_k,
    weighted_cross_entropy_with_logits,
    weighted_moments,
)
from runtime.ops.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_with_argmax,
    pool,
)
from runtime.ops.sequences import depth_to_space, space_to_depth

lrn = local_response_normalization

__all__ = [
    "atrous_conv2d", "avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_normalization", "bias_add",
    "compute_average_loss", "conv1d", "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "conv_transpose", "convolution", "crelu",
    "ctc_beam_search_decoder", "ctc_greedy_decoder", "ctc_loss", "depth_to_space", "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input", "dilation2d", "dropout", "elu",
    "embedding_lookup", "embedding_lookup_sparse", "erosion2d", "experimental", "gelu", "in_top_k", "l2_loss",
    "l2_normalize", "leaky_relu", "local_response_normalization", "log_poisson_loss", "log_softmax",
    "log_uniform_candidate_sampler", "lrn", "max_pool", "max_pool1d", "max_pool2d", "max_pool3d",
    "max_pool_with_argmax", "moments", "nce_loss", "normalize_moments", "pool", "relu", "relu6",
    "sampled_softmax_loss", "scale_regularization_loss", "selu", "separable_conv2d", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits", "softplus",
    "softsign", "space_to_depth", "sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "swish",
    "tanh", "top_k", "uniform_candidate_sampler", "weighted_cross_entropy_with_logits", "weighted_moments",
    "zero_fraction",
]


class experimental(metaclass=Namespace):
    """Dropout of given random numbers (`tf.nn.experimental`)."""

    general_dropout = staticmethod(general_dropout)
    stateless_dropout = staticmethod(stateless_dropout)


hint_at_public_names(__name__)

"""Neural networks: activations, losses and normalisation."""
from __future__ import annotations

import functools
import math as python_math
from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.core import types as t
from runtime.core.errors import DTypeError, ShapeError
from runtime.core.graph import Node, Value, shape_of
from runtime.core.positions import located
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_beside, convert_to_tensor
from runtime.ops import math
from runtime.ops.concat_split import concat, pad
from runtime.ops.creation import ones_like
from runtime.ops.gather import gather, gather_slices
from runtime.ops.indexing import getitem
from runtime.ops.linalg import l2_normalize
from runtime.ops.logic import greater, greater_equal, where
from runtime.ops.math import sigmoid, tanh
from runtime.ops.op_makers import FLOATS, REAL, check_dtype, named, unary
from runtime.ops.random import uniform
from runtime.ops.reduction import add_n, reduce_max, reduce_mean, reduce_sum
from runtime.ops.shape import dim, dims, product, reshape, squeeze
from runtime.ops.sorting import in_top_k, top_k
from runtime.ops.stateless_random import stateless_uniform
from runtime.ops.static_arguments import axes_of, axis_of

__all__ = [
    "batch_normalization", "bias_add", "compute_average_loss", "crelu", "dropout", "elu", "embedding_lookup", "gelu",
    "general_dropout", "in_top_k", "l2_loss", "l2_normalize", "leaky_relu", "local_response_normalization",
    "log_poisson_loss", "log_sigmoid", "log_softmax", "logits_of", "moments", "normalize_moments", "relu", "relu6",
    "scale_regularization_loss", "selu", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "sparse_softmax_cross_entropy_with_logits",
    "stateless_dropout", "sufficient_statistics", "swish", "tanh", "top_k", "weighted_cross_entropy_with_logits",
    "weighted_moments",
]

# Activations.

def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(1 + exp(features)), without overflow (`tf.nn.softplus`, `tf.math.softplus`)."""
    return math.softplus(features, name)


def _relu_kernel(x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


_relu = unary("relu", _relu_kernel, REAL, doc="x where it is positive, else 0.")


def relu(features: Any, name: str | None = None) -> Tensor:
    """x where it is positive, else 0 (`tf.nn.relu`). The derivative at 0 is 0."""
    return _relu(features, name)


def relu6(features: Any, name: str | None = None) -> Tensor:
    """x, at least 0 and at most 6 (`tf.nn.relu6`). The derivatives at 0 and 6 are 0."""
    return math.minimum(6, relu(features), name)  # 6 comes first: it takes the derivative where both are equal


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """relu of x and of -x, concatenated along `axis` (`tf.nn.crelu`)."""
    x = convert_to_tensor(features)
    return concat([_relu(x), _relu(math.negative(x))], axis, name)


def _float(op: str, x: Any) -> Tensor:
    """A floating tensor; Python numbers become float32."""
    value = convert_to_tensor(x, dtype_hint=t.float32)
    check_dtype(op, value.dtype, FLOATS)
    return value


def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """x where it is positive, else alpha·x (`tf.nn.leaky_relu`); of ints, float32. The derivative at 0 is alpha."""
    x = convert_to_tensor(features)
    x = _float("leaky_relu", math.cast(x, t.float32) if x.dtype.is_integer else x)
    return named(where(greater(x, 0), x, math.multiply(x, alpha)), name)


def elu(features: Any, name: str | None = None, alpha: Any = 1.0) -> Tensor:
    """x where it is positive, else alpha·(exp(x) - 1) (`tf.nn.elu`). The derivative at 0 is 1."""
    x = _float("elu", features)
    return named(where(greater_equal(x, 0), x, math.multiply(math.expm1(math.minimum(x, 0)), alpha)), name)


def selu(features: Any, name: str | None = None) -> Tensor:
    """The scaled elu that keeps mean 0 and variance 1 (`tf.nn.selu`)."""
    return math.multiply(elu(features, alpha=1.6732632423543772), 1.0507009873554805, name)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """x·Φ(x), with the normal distribution's Φ, or its approximation by tanh (`tf.nn.gelu`)."""
    x = _float("gelu", features)
    if approximate:
        cubic = math.add(x, math.multiply(math.multiply(math.square(x), x), 0.044715))
        share = math.tanh(math.multiply(cubic, python_math.sqrt(2 / python_math.pi)))
    else:
        share = math.erf(math.multiply(x, python_math.sqrt(0.5)))
    return math.multiply(math.multiply(x, 0.5), math.add(share, 1), name)


def silu(features: Any, beta: Any = 1.0) -> Tensor:
    """x·sigmoid(beta·x) (`tf.nn.silu`)."""
    x = _float("silu", features)
    scaled = math.multiply(x, math.cast(beta, x.dtype)) if isinstance(beta, Tensor) or beta != 1.0 else x
    return math.multiply(x, sigmoid(scaled))


swish = silu


def softsign(features: Any, name: str | None = None) -> Tensor:
    """x / (1 + |x|) (`tf.nn.softsign`)."""
    x = _float("softsign", features)
    return math.divide(x, math.add(math.abs(x), 1), name)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """log(sigmoid(x)), exact where sigmoid underflows (`tf.math.log_sigmoid`)."""
    return math.negative(math.softplus(math.negative(_float("log_sigmoid", x))), name)


def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along `axis`, by default the last, without overflow (`tf.nn.softmax`)."""
    axis = -1 if axis is None else axis
    e = math.exp(_shifted("softmax", logits, axis))
    return math.divide(e, reduce_sum(e, axis, keepdims=True), name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """log(softmax(x)) along `axis`, by default the last, exact where softmax underflows (`tf.nn.log_softmax`)."""
    axis = -1 if axis is None else axis
    x = _shifted("log_softmax", logits, axis)
    return math.subtract(x, math.log(reduce_sum(math.exp(x), axis, keepdims=True)), name)


def logits_of(probabilities: Tensor, op: str) -> Tensor | None:
    """x, for a graph tensor that is `softmax(x)` along the last axis, or `sigmoid(x)`, as `op` says; else None."""
    if not isinstance(probabilities, GraphTensor) or (node := probabilities.value.node) is None:
        return None
    if op == "sigmoid":
        return GraphTensor(node.inputs[0]) if node.op.name == op else None
    if not (found := _inputs(node, "divide")) or not (shifted := _inputs(found[0].node, "exp")) or not (
            terms := _inputs(shifted[0].node, "subtract")) or not (most := _inputs(terms[1].node, "stop_gradient")):
        return None
    x, along_last = terms[0], {"axis": (len(shape_of(terms[0].type)) - 1,), "keepdims": True}
    is_softmax = _inputs(most[0].node, "reduce_max", along_last) == [x] and (
        _inputs(found[1].node, "reduce_sum", along_last) == [found[0]])
    return GraphTensor(x) if is_softmax else None


def _inputs(node: Node | None, op: str, params: dict[str, Any] | None = None) -> list[Value]:
    """The inputs of a node of that op, with these params; none for another."""
    return node.inputs if node is not None and node.op.name == op and params in (None, node.params) else []


def _shifted(op: str, logits: Any, axis: Any) -> Tensor:
    x = _float(op, logits)
    if not x.ndim:
        raise ShapeError(f"{op} takes a tensor of rank 1 or more, not a scalar")
    return math.subtract(x, math.stop_gradient(reduce_max(x, axis_of(op, axis, x.ndim), keepdims=True)))


# Losses.

def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1, name: str | None = None) -> Tensor:
    """The cross entropy of distributions `labels` and softmax(logits) along `axis`
    (`tf.nn.softmax_cross_entropy_with_logits`).
    """
    x = _float("softmax_cross_entropy_with_logits", logits)
    return math.negative(reduce_sum(math.multiply(math.cast(labels, x.dtype), log_softmax(x, axis)), axis), name)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-log(softmax(logits)) at the class in `labels` (`tf.nn.sparse_softmax_cross_entropy_with_logits`).

    logits: [..., classes], labels: int[...]. IndexOutOfRangeError for a label out of range.
    """
    x = _float("sparse_softmax_cross_entropy_with_logits", logits)
    classes = convert_to_tensor(labels, dtype_hint=t.int32)
    if not classes.dtype.is_integer:
        raise DTypeError(f"sparse_softmax_cross_entropy_with_logits takes int labels, not {classes.dtype.name}",
                         remedy="For distributions use softmax_cross_entropy_with_logits.")
    if classes.ndim != x.ndim - 1:
        raise ShapeError("sparse_softmax_cross_entropy_with_logits takes labels of one dimension less than the "
                         f"logits, not {classes.type} for {x.type}")
    return math.negative(gather(log_softmax(x), classes, axis=x.ndim - 1, batch_dims=classes.ndim), name)


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """The cross entropy of probabilities `labels` and sigmoid(logits), element-wise
    (`tf.nn.sigmoid_cross_entropy_with_logits`).
    """
    x = _float("sigmoid_cross_entropy_with_logits", logits)
    z = convert_beside(labels, x.dtype)
    return math.subtract(math.softplus(x), math.multiply(x, z), name)


def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: str | None = None) -> Tensor:
    """As `sigmoid_cross_entropy_with_logits`, with the part of positive labels times `pos_weight`
    (`tf.nn.weighted_cross_entropy_with_logits`)."""
    x = _float("weighted_cross_entropy_with_logits", logits)
    z = convert_beside(labels, x.dtype)
    weight = math.add(math.multiply(z, math.subtract(convert_beside(pos_weight, x.dtype), 1)), 1)
    return math.add(math.multiply(math.subtract(1, z), x), math.multiply(weight, math.softplus(math.negative(x))), name)


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """exp(c) - z c for the logarithms c = `log_input` of a Poisson distribution's rates and counts z = `targets`
    (`tf.nn.log_poisson_loss`). `compute_full_loss` adds Stirling's approximation of log(z!), 0 for z up to 1."""
    c = _float("log_poisson_loss", log_input)
    z = convert_beside(targets, c.dtype)
    loss = math.subtract(math.exp(c), math.multiply(z, c))
    if compute_full_loss:
        large = where(greater(z, 1), z, 2)
        stirling = large * math.log(large) - large + 0.5 * math.log(large * (2 * python_math.pi))
        loss = math.add(loss, where(greater(z, 1), stirling, 0))
    return named(loss, name)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares (`tf.nn.l2_loss`)."""
    return math.multiply(reduce_sum(math.square(_float("l2_loss", t))), 0.5, name)


def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None,
) -> Tensor:
    """The sum of the losses of examples, times `sample_weight`, by the number of examples
    (`tf.nn.compute_average_loss`)."""
    loss = _float("compute_average_loss", per_example_loss)
    if sample_weight is not None:
        weight = math.cast(convert_beside(sample_weight, loss.dtype), loss.dtype)
        loss = math.multiply(loss, reshape(weight, [*dims(weight), *[1] * (loss.ndim - weight.ndim)]))
    count = (dim(loss, 0) if loss.ndim else 1) if global_batch_size is None else global_batch_size
    return math.divide(reduce_sum(loss), math.cast(count, loss.dtype))


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of losses: there is one replica (`tf.nn.scale_regularization_loss`)."""
    return reduce_sum(_float("scale_regularization_loss", regularization_loss))


# Normalisation.

def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
            ) -> tuple[Tensor, Tensor]:
    """Mean and variance along `axes` (`tf.nn.moments`)."""
    x = _float("moments", x)
    mean = reduce_mean(x, axes, keepdims=True)
    variance = reduce_mean(math.squared_difference(x, mean), axes, keepdims=True)
    dropped = axes_of("moments", axes, x.ndim)
    if keepdims or not dropped:
        return mean, variance
    return squeeze(mean, dropped), squeeze(variance, dropped)


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The number of elements along `axes`, the sums of these and of their squares, after subtracting `shift`, and
    `shift`, for `normalize_moments` (`tf.nn.sufficient_statistics`)."""
    x = _float("sufficient_statistics", x)
    sizes = dims(x)
    count = math.cast(product([sizes[axis] for axis in axes_of("sufficient_statistics", axes, x.ndim)]), x.dtype)
    moved = None if shift is None else convert_beside(shift, x.dtype)
    shifted = x if moved is None else math.subtract(x, moved)
    total = reduce_sum(shifted, axes, keepdims=keepdims)
    return count, total, reduce_sum(math.square(shifted), axes, keepdims=keepdims, name=name), moved


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any = None, name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance of the results of `sufficient_statistics` (`tf.nn.normalize_moments`)."""
    total = _float("normalize_moments", mean_ss)
    share = math.divide(1, math.cast(counts, total.dtype))
    mean = math.multiply(total, share)
    variance = math.subtract(math.multiply(variance_ss, share), math.square(mean))
    return named(mean if shift is None else math.add(mean, shift), name), variance


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance along `axes`, where elements count `frequency_weights` times, which broadcast against `x`
    (`tf.nn.weighted_moments`)."""
    x = _float("weighted_moments", x)
    weights = math.cast(convert_beside(frequency_weights, x.dtype), x.dtype)
    total = reduce_sum(math.multiply(weights, ones_like(x)), axes, keepdims=True)
    mean = math.divide(reduce_sum(math.multiply(weights, x), axes, keepdims=True), total)
    squares = math.multiply(weights, math.squared_difference(x, mean))
    variance = math.divide(reduce_sum(squares, axes, keepdims=True), total)
    dropped = axes_of("weighted_moments", axes, x.ndim)
    if keepdims or not dropped:
        return mean, variance
    return squeeze(mean, dropped), squeeze(variance, dropped)


def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """x / (bias + alpha · sum of squares of the channels at most `depth_radius` apart) ** beta, of [..., channels]
    (`tf.nn.local_response_normalization`)."""
    x = _float("local_response_normalization", input)
    squares = pad(math.square(x), [*[[0, 0]] * (x.ndim - 1), [depth_radius, depth_radius]])
    channels = dim(x, x.ndim - 1)
    near = [getitem(squares, (..., slice(k, channels + k))) for k in range(2 * depth_radius + 1)]
    return math.divide(x, math.pow(math.add(bias, math.multiply(add_n(near), alpha)), beta), name)


def batch_normalization(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any,
                        name: str | None = None) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) · scale + offset, in the dtype of x (`tf.nn.batch_normalization`)."""
    x = convert_to_tensor(x, dtype_hint=t.float32)
    factor = math.rsqrt(math.add(variance, variance_epsilon))
    if scale is not None:
        factor = math.multiply(factor, scale)
    result = math.multiply(math.subtract(x, math.cast(mean, x.dtype)), math.cast(factor, x.dtype))
    return named(result if offset is None else math.add(result, math.cast(offset, x.dtype)), name)


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """`value` plus a bias of rank 1 along the last axis, or the second with "NC..." (`tf.nn.bias_add`)."""
    x, b = convert_to_tensor(value), convert_to_tensor(bias)
    if data_format is not None and data_format.startswith("NC"):
        b = reshape(b, [-1] + [1] * (x.ndim - 2))
    return math.add(x, b, name)


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Each element replaced by 0 with probability `rate`, else scaled by 1 / (1 - rate) (`tf.nn.dropout`)."""
    return general_dropout(x, rate, functools.partial(uniform, seed=seed), noise_shape, name)


def stateless_dropout(
    x: Any, rate: Any, seed: Any, rng_alg: Any = "auto_select", noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """As `dropout`, with numbers that depend only on `seed`, two ints (`tf.nn.experimental.stateless_dropout`)."""
    return general_dropout(x, rate, functools.partial(stateless_uniform, seed=seed, alg=rng_alg), noise_shape, name)


def general_dropout(
    x: Any, rate: Any, uniform_sampler: Callable[..., Any], noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """As `dropout`, with the numbers from 0 to below 1 that `uniform_sampler(shape=..., dtype=...)` returns
    (`tf.nn.experimental.general_dropout`)."""
    value = _float("dropout", x)
    if isinstance(rate, (int, float)):
        if not 0 <= rate < 1:
            raise located(ValueError(f"dropout takes a rate from 0 to below 1, not {rate}"))
        if not rate:
            return value
    shape = dims(value) if noise_shape is None else noise_shape
    kept = greater_equal(uniform_sampler(shape=shape, dtype=value.dtype), rate)
    scaled = math.divide(value, math.subtract(convert_to_tensor(1, value.dtype), rate))
    return named(where(kept, scaled, value.dtype.as_numpy_dtype(0)), name)


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Tensor:
    """The rows of `params` at `ids` (`tf.nn.embedding_lookup`)."""
    rows = gather_slices(params, ids, name=name)
    if max_norm is None:
        return rows
    places = list(range(convert_to_tensor(ids).ndim, rows.ndim))
    length = math.sqrt(reduce_sum(math.square(rows), places, keepdims=True))
    return math.divide(math.multiply(rows, max_norm), math.maximum(length, max_norm))



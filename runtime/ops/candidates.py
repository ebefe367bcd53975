"""Losses of a sample of many classes, the samplers of classes, and sums of rows that sparse ids choose (`tf.nn`)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from runtime.core import types as t
from runtime.core.errors import InvalidArgumentError, ShapeError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec
from runtime.ops import math
from runtime.ops.concat_split import concat
from runtime.ops.creation import ones_like, zeros_like
from runtime.ops.gather import gather_slices
from runtime.ops.host_functions import numpy_function
from runtime.ops.linalg import matmul
from runtime.ops.logic import equal, where
from runtime.ops.matrix_functions import clip_by_norm
from runtime.ops.nn import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from runtime.ops.op_makers import named
from runtime.ops.random_sources import source_of_seed
from runtime.ops.reduction import reduce_any, reduce_sum
from runtime.ops.segments import segment_sum
from runtime.ops.shape import dim, expand_dims, reshape
from runtime.ops.sparse import SparseTensor

__all__ = ["Candidates", "embedding_lookup_sparse", "log_uniform_candidate_sampler", "nce_loss", "sampled_softmax_loss",
           "uniform_candidate_sampler"]


class Candidates(NamedTuple):
    """Sampled classes: int64[num_sampled], and how often the true and the sampled classes are expected in a sample."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
    name: str | None = None,
) -> Candidates:
    """Classes below `range_max` by Zipf's law (`tf.random.log_uniform_candidate_sampler`): class k has the probability
    log((k + 2) / (k + 1)) / log(range_max + 1). `unique`: without repetitions; InvalidArgumentError if there are too
    few classes."""
    scale = np.log(range_max + 1.0)

    def draw(generator: np.random.Generator, count: int) -> Any:
        return np.exp(generator.random(count) * scale).astype(np.int64) - 1

    def probability(classes: Tensor) -> Tensor:
        k = math.cast(classes, t.float32)
        return math.log((k + 2.0) / (k + 1.0)) / float(scale)

    return _sample(true_classes, num_true, num_sampled, unique, range_max, seed, draw, probability)


def uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any = None,
    name: str | None = None,
) -> Candidates:
    """Classes below `range_max` of equal probability (`tf.random.uniform_candidate_sampler`)."""
    return _sample(true_classes, num_true, num_sampled, unique, range_max, seed,
                   lambda generator, count: generator.integers(0, range_max, count),
                   lambda classes: ones_like(classes, dtype=t.float32) / float(range_max))


def _sample(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: Any,
    draw: Callable[[np.random.Generator, int], Any], probability: Callable[[Tensor], Tensor],
) -> Candidates:
    classes = convert_to_tensor(true_classes, dtype_hint=t.int64)
    if classes.ndim != 2 or classes.type.shape[1] not in (None, num_true):
        raise located(ShapeError(f"true_classes has the shape [batch, {num_true}], not {classes.type}"))
    if unique and num_sampled > range_max:
        raise located(InvalidArgumentError(f"there are no {num_sampled} different classes below {range_max}"))
    source = source_of_seed(seed)

    def candidates(_: Any) -> Any:
        with source.lock:
            if not unique:
                return np.asarray(draw(source.generator, num_sampled), np.int64), np.int64(num_sampled)
            found: dict[int, None] = {}
            tries = 0
            while len(found) < num_sampled:
                for drawn in np.minimum(draw(source.generator, 64), range_max - 1).tolist():
                    tries += 1
                    found[drawn] = None
                    if len(found) == num_sampled:
                        break
            return np.array(list(found), np.int64), np.int64(tries)

    specs = TensorSpec([num_sampled], t.int64), TensorSpec([], t.int64)
    sampled, tries = numpy_function(candidates, [classes], specs)

    def expected(classes: Tensor) -> Tensor:
        p = probability(classes)
        if not unique:
            return p * float(num_sampled)
        return -math.expm1(math.cast(tries, t.float32) * math.log1p(-p))

    return Candidates(sampled, expected(classes), expected(sampled))


def nce_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = False, name: str | None = "nce_loss",
) -> Tensor:
    """The loss of noise-contrastive estimation of each example, [batch] (`tf.nn.nce_loss`).

    weights  [num_classes, dim], biases [num_classes], labels ints [batch, num_true], inputs [batch, dim]
    sampled_values  what a sampler gave, by default the log-uniform one
    remove_accidental_hits  sampled classes do not count for examples whose label they are
    """
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                      sampled_values, remove_accidental_hits, None)
    return named(reduce_sum(sigmoid_cross_entropy_with_logits(targets, logits), 1), name)


def sampled_softmax_loss(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
    sampled_values: Any = None, remove_accidental_hits: bool = True, seed: Any = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """The softmax cross entropy of each example with the true and the sampled classes, [batch]
    (`tf.nn.sampled_softmax_loss`). The arguments are those of `nce_loss`."""
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                      sampled_values, remove_accidental_hits, seed)
    return named(softmax_cross_entropy_with_logits(math.stop_gradient(targets), logits), name)


def _sampled_logits(
    weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
    sampled_values: Any, remove_accidental_hits: bool, seed: Any,
) -> tuple[Tensor, Tensor]:
    """The logits of the true and the sampled classes less the logarithms of their expected counts, and the targets:
    both [batch, num_true + num_sampled]."""
    x, labels = convert_to_tensor(inputs), math.cast(labels, t.int64)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    sampled, true_count, sampled_count = (math.stop_gradient(convert_to_tensor(each)) for each in sampled_values)
    sampled = math.cast(sampled, t.int64)
    weights, biases = convert_to_tensor(weights), convert_to_tensor(biases)
    true_logits = reduce_sum(gather_slices(weights, labels) * expand_dims(x, 1), 2) + gather_slices(biases, labels)
    logits = matmul(x, gather_slices(weights, sampled), transpose_b=True) + gather_slices(biases, sampled)
    if remove_accidental_hits:
        hits = reduce_any(equal(expand_dims(labels, 2), reshape(sampled, [1, 1, -1])), 1)
        logits = logits + where(hits, convert_to_tensor(float(np.finfo(np.float32).min), dtype=logits.dtype), 0.0)
    true_logits = true_logits - math.log(math.cast(true_count, x.dtype))
    logits = logits - math.log(math.cast(sampled_count, x.dtype))
    targets = concat([ones_like(true_logits) / num_true, zeros_like(logits)], 1)
    return concat([true_logits, logits], 1), targets


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, combiner: str | None = None, max_norm: Any = None,
    name: str | None = None, allow_fast_lookup: bool = False,
) -> Tensor:
    """The rows of `params` that the ids in each row of a SparseTensor choose, combined
    (`tf.nn.embedding_lookup_sparse`): their weighted "sum", "mean" (by default), or "sqrtn", the sum divided by the
    root of the sum of squared weights.

    sp_weights  a SparseTensor of the same positions, or None for weights of 1
    max_norm    rows are first scaled down to this norm
    """
    if combiner not in (None, "sum", "mean", "sqrtn"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if not isinstance(sp_ids, SparseTensor) or not (sp_weights is None or isinstance(sp_weights, SparseTensor)):
        raise TypeError("sp_ids is a SparseTensor, and sp_weights one, too, or None")
    rows = gather_slices(params, sp_ids.values)
    if max_norm is not None:
        rows = clip_by_norm(rows, max_norm, axes=list(range(1, rows.ndim)))
    segments = sp_ids.indices[:, 0]
    weights = ones_like(segments, dtype=rows.dtype) if sp_weights is None else math.cast(sp_weights.values, rows.dtype)
    column = reshape(weights, [dim(rows, 0), *[1] * (rows.ndim - 1)])
    total = segment_sum(rows * column, segments)
    if combiner == "sum":
        return named(total, name)
    divisor = segment_sum(column * column if combiner == "sqrtn" else column, segments)
    return named(math.divide_no_nan(total, math.sqrt(divisor) if combiner == "sqrtn" else divisor), name)

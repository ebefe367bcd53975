"""Connectionist temporal classification (A. Graves et al., 2006): its loss, and decoding by greedy and beam search."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autograph.backend import deferred
from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorSpec, float32, int32, int64
from runtime.ops import concat_split, creation, logic, math, nn, reduction, segments
from runtime.ops import shape as shapes
from runtime.ops.checks import message, require
from runtime.ops.gather import boolean_mask, gather
from runtime.ops.host_functions import numpy_function
from runtime.ops.sorting import argsort
from runtime.ops.sparse import SparseTensor, dense_of

if TYPE_CHECKING:
    from runtime.staging import control_flow
else:
    control_flow = deferred("runtime.staging.control_flow")

__all__ = ["beam_labels", "ctc_beam_search_decoder", "ctc_greedy_decoder", "ctc_loss", "greedy_labels", "losses"]

_NEVER = -1e5  # stands for log 0, finite so that gradients are finite


def ctc_loss(
    labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
    blank_index: int | None = None, name: str | None = None,
) -> Tensor:
    """-log of the probability of each example's labels, [n] (`tf.nn.ctc_loss`).

    labels        ints [n, labels], of which those from `label_length` [n] on are ignored, or a SparseTensor
    logits        floats [time, n, classes], or [n, time, classes] with `logits_time_major=False`
    logit_length  ints [n]: the numbers of steps. InvalidArgumentError for a length beyond the labels or logits
    blank_index   the class of the blank, 0 by default, from the end if negative; it must be given for a SparseTensor
    """
    is_sparse = isinstance(labels, SparseTensor)
    if is_sparse and blank_index is None:
        raise located(ValueError("Argument `blank_index` must be provided when labels is a SparseTensor."))
    x = convert_to_tensor(logits, dtype_hint=float32)
    if logits_time_major:
        x = shapes.transpose(x, [1, 0, 2])
    steps = math.cast(logit_length, int32)
    if is_sparse:
        lengths = math.cast(segments.bincount(
            labels.indices[:, 0], minlength=shapes.dim(x, 0), maxlength=shapes.dim(x, 0)), int32)
        labels = dense_of(labels)
    else:
        lengths = math.cast(label_length, int32)
    return losses(math.cast(labels, int32), x, lengths, steps, _blank(x, blank_index or 0))


def _blank(logits: Tensor, index: int) -> Any:
    return index if index >= 0 else shapes.dim(logits, 2) + index


def losses(labels: Tensor, logits: Tensor, label_count: Tensor, steps: Tensor, blank: Any) -> Tensor:
    """-log of the probability of the labels, int32 [n, labels], given logits [n, time, classes]."""
    count, most = shapes.dim(labels, 0), shapes.dim(labels, 1)
    for lengths, limit, what in ((label_count, most, "labels"), (steps, shapes.dim(logits, 1), "steps of logits")):
        require(reduction.reduce_all(lengths <= limit), InvalidArgumentError(
            message("ctc_loss takes lengths of at most ", limit, f", as many as there are {what}, not ", lengths),
            remedy="Give the number of steps as logit_length, and that of labels as label_length."))
    size = 2 * most + 1
    labels = logic.where(creation.range(most) < label_count[:, None], labels, blank)
    # The states are the labels with a blank before, between and after them.
    between = shapes.reshape(shapes.stack([creation.zeros_like(labels) + blank, labels], 2), [count, 2 * most])
    states = concat_split.pad(between, [[0, 0], [0, 1]], constant_values=blank)
    emitted = gather(nn.log_softmax(logits), shapes.broadcast_to(
        states[:, None, :], [count, shapes.dim(logits, 1), size]), axis=2, batch_dims=2)  # [n, time, states]
    place = creation.range(size)
    before = concat_split.pad(states, [[0, 0], [2, 0]], constant_values=blank)[:, :-2]
    may_skip = logic.logical_and(logic.equal(place % 2, 1), logic.not_equal(states, before))
    start = logic.where(place < 2, emitted[:, 0], _NEVER)
    start = logic.where(logic.logical_and(logic.equal(label_count, 0)[:, None], logic.equal(place, 1)), _NEVER, start)

    def step(alpha: Tensor, at: Any) -> Tensor:
        moment, now = at
        one = concat_split.pad(alpha, [[0, 0], [1, 0]], constant_values=_NEVER)[:, :-1]
        two = concat_split.pad(alpha, [[0, 0], [2, 0]], constant_values=_NEVER)[:, :-2]
        ways = shapes.stack([alpha, one, logic.where(may_skip, two, _NEVER)], 0)
        found = reduction.reduce_logsumexp(ways, 0) + now
        return logic.where((moment < steps)[:, None], found, alpha)

    times = creation.range(1, shapes.dim(logits, 1))
    alpha = control_flow.foldl(step, (times, shapes.transpose(emitted, [1, 0, 2])[1:]), start)
    last = 2 * label_count
    ends = shapes.stack([_of_each(alpha, last), logic.where(label_count > 0, _of_each(
        alpha, math.maximum(last - 1, 0)), _NEVER)], 0)
    return -reduction.reduce_logsumexp(ends, 0)


def _of_each(x: Tensor, place: Tensor) -> Tensor:
    return gather(x, place, axis=1, batch_dims=1)


def beam_labels(
    logits: Tensor, lengths: Tensor, beam_width: int, top_paths: int, blank: int,
) -> tuple[Tensor, Tensor]:
    """The labels [paths, n, time] of logits [n, time, classes], -1 after their end, and log probabilities [n, paths]:
    constants for derivatives."""
    count, time = logits.type.shape[:2]
    labels, scores = numpy_function(
        lambda logits, lengths: _beam_search(logits, lengths, beam_width, top_paths, blank), [logits, lengths],
        [TensorSpec([top_paths, count, time], int32), TensorSpec([count, top_paths], logits.dtype)])
    return labels, scores


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: int | None = None,
) -> tuple[list[SparseTensor], Tensor]:
    """The labels of the greatest logits of each step, without blanks, as [SparseTensor], and minus the sums of these
    logits, [n, 1] (`tf.nn.ctc_greedy_decoder`).

    `inputs`: logits [time, n, classes]. `merge_repeated`: equal labels in a row are one. `blank_index`: by default the
    last class.
    """
    logits = shapes.transpose(convert_to_tensor(inputs, dtype_hint=float32), [1, 0, 2])
    blank = _blank(logits, -1 if blank_index is None else blank_index)
    labels, scores = greedy_labels(logits, math.cast(sequence_length, int32), merge_repeated, blank)
    return [_sparse(labels)], scores


def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1,
) -> tuple[list[SparseTensor], Tensor]:
    """The `top_paths` best labellings by prefix beam search, as SparseTensors, and their log probabilities
    [n, top_paths] (`tf.nn.ctc_beam_search_decoder`).

    `inputs`: logits [time, n, classes], of which the last class is the blank.
    """
    logits = shapes.transpose(convert_to_tensor(inputs, dtype_hint=float32), [1, 0, 2])
    classes = logits.type.shape[2]
    if classes is None:
        raise located(InvalidArgumentError("ctc_beam_search_decoder takes a known number of classes"))
    labels, scores = beam_labels(logits, math.cast(sequence_length, int32), beam_width, top_paths, classes - 1)
    return [_sparse(labels[path]) for path in range(top_paths)], scores


def _sparse(labels: Tensor) -> SparseTensor:
    """Labels [n, time], -1 after their end, as int64 in a SparseTensor."""
    present = labels >= 0
    most = reduction.reduce_max(reduction.reduce_sum(math.cast(present, int64), 1))
    return SparseTensor(logic.where(present), math.cast(boolean_mask(labels, present), int64),
                        shapes.stack([math.cast(shapes.dim(labels, 0), int64), most], 0))


def greedy_labels(logits: Tensor, lengths: Tensor, merge_repeated: bool, blank: Any) -> tuple[Tensor, Tensor]:
    """The best labels [n, time] of logits [n, time, classes], -1 after their end, and minus the sums of their logits
    [n, 1]."""
    best = math.cast(reduction.argmax(logits, 2), int32)
    time = creation.range(shapes.dim(logits, 1))
    within = time < lengths[:, None]
    scores = -reduction.reduce_sum(logic.where(within, reduction.reduce_max(logits, 2), 0.0), 1, True)
    kept = logic.logical_and(within, logic.not_equal(best, blank))
    if merge_repeated:
        before = concat_split.pad(best, [[0, 0], [1, 0]], constant_values=-1)[:, :-1]
        kept = logic.logical_and(kept, logic.not_equal(best, before))
    # the kept ones first, in order
    order = logic.where(kept, time, time + shapes.dim(logits, 1))
    place = argsort(order)
    moved = gather(best, place, axis=1, batch_dims=1)
    filled = time < reduction.reduce_sum(math.cast(kept, int32), 1, True)
    return logic.where(filled, moved, -1), scores


def _beam_search(logits: Any, lengths: Any, beam_width: int, top_paths: int, blank: int) -> tuple[Any, Any]:
    """Prefix beam search: for each prefix, the log probabilities that it ends in a blank, and in a label."""
    count, time, _ = logits.shape
    labels = np.full((top_paths, count, time), -1, np.int32)
    scores = np.full((count, top_paths), -np.inf, logits.dtype)
    shifted = logits - logits.max(-1, keepdims=True)
    chances = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    for each in range(count):
        beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, -np.inf)}
        for now in chances[each, :lengths[each]]:
            beams = _extended(beams, now, blank, beam_width)
        found = sorted(((np.logaddexp(*ends), prefix) for prefix, ends in beams.items()), key=lambda x: -x[0])
        for path, (score, prefix) in enumerate(found[:top_paths]):
            labels[path, each, :len(prefix)] = prefix
            scores[each, path] = score
    return labels, scores


def _extended(beams: Any, now: Any, blank: int, beam_width: int) -> Any:
    found: dict[tuple[int, ...], tuple[float, float]] = {}

    def add(prefix: tuple[int, ...], by_blank: float, by_label: float) -> None:
        a, b = found.get(prefix, (-np.inf, -np.inf))
        found[prefix] = float(np.logaddexp(a, by_blank)), float(np.logaddexp(b, by_label))

    for prefix, (in_blank, in_label) in beams.items():
        total = np.logaddexp(in_blank, in_label)
        add(prefix, total + now[blank], -np.inf)
        for label, chance in enumerate(now):
            if label == blank:
                continue
            if prefix and prefix[-1] == label:
                add(prefix, -np.inf, in_label + chance)
                add((*prefix, label), -np.inf, in_blank + chance)
            else:
                add((*prefix, label), -np.inf, total + chance)
    best = sorted(found, key=lambda prefix: -np.logaddexp(*found[prefix]))[:beam_width]
    return {prefix: found[prefix] for prefix in best}

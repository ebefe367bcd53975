"""Connectionist temporal classification (A. Graves et al., 2006): its loss, and decoding by greedy and beam search."""
from __future__ import annotations

from typing import Any

import numpy as np

from runtime.core.tensor import Tensor
from runtime.core.types import TensorSpec
from runtime.keras.backend.promotion import floating, in_dtype, result, tensor
from runtime.ops import concat_split, creation, logic, math, nn, reduction
from runtime.ops import shape as shapes
from runtime.ops.effects import numpy_function
from runtime.ops.gather import gather
from runtime.ops.sorting import argsort
from runtime.staging.control_flow import foldl

__all__ = ["ctc_decode", "ctc_loss"]

_NEVER = -1e5  # stands for log 0, finite so that gradients are finite


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Tensor:
    """-log of the probability of the labels, target [n, labels], given logits, output [n, time, classes]."""
    labels, logits = in_dtype(tensor(target), "int32"), floating(output)
    label_count, steps = in_dtype(tensor(target_length), "int32"), in_dtype(tensor(output_length), "int32")
    logits = in_dtype(logits, result(logits.dtype.name, "float32"))
    count, most = shapes.dim(labels, 0), shapes.dim(labels, 1)
    size = 2 * most + 1
    # The states are the labels with a blank before, between and after them.
    between = shapes.reshape(shapes.stack([creation.zeros_like(labels) + mask_index, labels], 2), [count, 2 * most])
    states = concat_split.pad(between, [[0, 0], [0, 1]], constant_values=mask_index)
    emitted = gather(nn.log_softmax(logits), shapes.broadcast_to(
        states[:, None, :], [count, shapes.dim(logits, 1), size]), axis=2, batch_dims=2)  # [n, time, states]
    place = creation.range(size)
    before = concat_split.pad(states, [[0, 0], [2, 0]], constant_values=mask_index)[:, :-2]
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
    alpha = foldl(step, (times, shapes.transpose(emitted, [1, 0, 2])[1:]), start)
    last = 2 * label_count
    ends = shapes.stack([_of_each(alpha, last), logic.where(label_count > 0, _of_each(
        alpha, math.maximum(last - 1, 0)), _NEVER)], 0)
    return -reduction.reduce_logsumexp(ends, 0)


def _of_each(x: Tensor, place: Tensor) -> Tensor:
    return gather(x, place, axis=1, batch_dims=1)


def ctc_decode(inputs: Any, sequence_lengths: Any, strategy: str = "greedy", beam_width: int = 100, top_paths: int = 1,
               merge_repeated: bool = True, mask_index: int | None = 0) -> tuple[Tensor, Tensor]:
    """The labels [paths, n, time], -1 after their end, and the scores [n, paths] of logits [n, time, classes]."""
    logits = floating(inputs)
    logits = in_dtype(logits, result(logits.dtype.name, "float32"))
    lengths = in_dtype(tensor(sequence_lengths), "int32")
    blank = mask_index
    if blank is None:
        blank = (logits.type.shape[-1] or 0) - 1
    if strategy == "greedy":
        return _greedy(logits, lengths, merge_repeated, blank)
    if strategy != "beam_search":
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    count, time = logits.type.shape[:2]
    name = logits.dtype.name
    labels, scores = numpy_function(
        lambda logits, lengths: _beam_search(logits, lengths, beam_width, top_paths, blank), [logits, lengths],
        [TensorSpec([top_paths, count, time], "int32"), TensorSpec([count, top_paths], name)])
    return labels, scores


def _greedy(logits: Tensor, lengths: Tensor, merge_repeated: bool, blank: int) -> tuple[Tensor, Tensor]:
    best = in_dtype(reduction.argmax(logits, 2), "int32")
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
    filled = time < reduction.reduce_sum(in_dtype(kept, "int32"), 1, True)
    return logic.where(filled, moved, -1)[None], scores


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

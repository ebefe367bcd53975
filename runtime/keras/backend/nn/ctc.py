"""Connectionist temporal classification: Keras' loss and decoding."""
from __future__ import annotations

from typing import Any

from runtime.core.tensor import Tensor
from runtime.ctc import beam_labels, greedy_labels, losses
from runtime.keras.backend.promotion import floating, in_dtype, result, tensor

__all__ = ["ctc_decode", "ctc_loss"]


def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0) -> Tensor:
    """-log of the probability of the labels, target [n, labels], given logits, output [n, time, classes]."""
    logits = floating(output)
    labels, label_count, steps = (in_dtype(tensor(x), "int32") for x in (target, target_length, output_length))
    return losses(labels, in_dtype(logits, result(logits.dtype.name, "float32")), label_count, steps, mask_index)


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
        labels, scores = greedy_labels(logits, lengths, merge_repeated, blank)
        return labels[None], scores
    if strategy != "beam_search":
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    return beam_labels(logits, lengths, beam_width, top_paths, blank)

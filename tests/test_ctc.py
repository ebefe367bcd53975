"""Connectionist temporal classification, against all paths one by one, and against TensorFlow's results."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(5, 3, 3)).astype(np.float32)  # [time, n, classes]
LABELS = np.array([[1, 2], [2, 2], [1, 0]])
COUNTS, STEPS = np.array([2, 2, 1]), np.array([5, 4, 3])


def of_path(path: tuple[int, ...], blank: int) -> list[int]:
    return [label for label, _ in itertools.groupby(path) if label != blank]


def by_paths(logits: Any, labels: list[int], blank: int) -> float:
    """-log of the sum of the probabilities of all paths that give the labels."""
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return -np.log(sum(np.prod([chances[t, k] for t, k in enumerate(path)])
                       for path in itertools.product(range(logits.shape[1]), repeat=len(logits))
                       if of_path(path, blank) == labels))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_loss_is_that_of_all_paths(executor: str) -> None:
    def loss(logits: Any) -> Any:
        return rt.nn.ctc_loss(LABELS, logits, COUNTS, STEPS)

    expected = [by_paths(LOGITS[:steps, k], list(LABELS[k, :count]), 0)
                for k, (count, steps) in enumerate(zip(COUNTS, STEPS, strict=True))]
    np.testing.assert_allclose(loss(LOGITS), expected, rtol=1e-5)
    np.testing.assert_allclose(on(executor, loss)(LOGITS), expected, rtol=1e-5)


@pytest.mark.parametrize("executor", [None, "numpy", "native"])
def test_lengths_fit_the_data(executor: str | None) -> None:
    def loss(counts: Any, steps: Any) -> Any:
        return rt.nn.ctc_loss(LABELS, LOGITS, counts, steps)

    fn = loss if executor is None else on(executor, loss)
    for counts, steps, text in (([2, 3, 1], STEPS, r"at most 2, as many as there are labels, not \[2 3 1\]"),
                                (COUNTS, [5, 4, 6], r"at most 5, as many as there are steps of logits, not \[5 4 6\]")):
        with pytest.raises(rt.errors.InvalidArgumentError, match=text):
            fn(rt.constant(counts), rt.constant(steps))


def test_forms_of_the_arguments() -> None:
    expected = rt.nn.ctc_loss(LABELS, LOGITS, COUNTS, STEPS)
    by_batch = np.swapaxes(LOGITS, 0, 1)
    np.testing.assert_allclose(
        rt.nn.ctc_loss(LABELS, by_batch, COUNTS, STEPS, logits_time_major=False), expected, rtol=1e-6)
    last = np.roll(LOGITS, -1, 2)  # the blank is the last class
    np.testing.assert_allclose(rt.nn.ctc_loss(LABELS - 1, last, COUNTS, STEPS, blank_index=-1), expected, rtol=1e-6)
    sparse = rt.sparse.from_dense(LABELS)
    np.testing.assert_allclose(rt.nn.ctc_loss(sparse, LOGITS, None, STEPS, blank_index=0), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="`blank_index` must be provided"):
        rt.nn.ctc_loss(sparse, LOGITS, None, STEPS)


def test_gradient_against_differences() -> None:
    x = rt.constant(LOGITS, rt.float64)
    with rt.GradientTape() as tape:
        tape.watch(x)
        loss = rt.reduce_sum(rt.nn.ctc_loss(LABELS, x, COUNTS, STEPS))
    found = tape.gradient(loss, x).numpy()
    step = np.zeros_like(LOGITS, np.float64)
    step[1, 0, 2] = step[3, 1, 0] = 1e-5
    high, low = (np.sum(rt.nn.ctc_loss(LABELS, x + sign * step, COUNTS, STEPS)) for sign in (1, -1))
    np.testing.assert_allclose(found[1, 0, 2] + found[3, 1, 0], (high - low) / 2e-5, rtol=1e-5)
    assert (found[4, 1:] == 0).all() and (found[3, 2] == 0).all()  # after the last steps


@pytest.mark.parametrize("staged", [False, True])
def test_greedy_decoding(staged: bool) -> None:
    path = np.array([[1, 1, 2, 1, 1], [2, 0, 0, 0, 1], [2, 2, 2, 2, 2]])
    logits = np.eye(3, dtype=np.float32)[path.T] * 2.0

    def decoded(merge: bool, blank: int | None) -> Any:
        (found,), scores = rt.nn.ctc_greedy_decoder(logits, STEPS, merge, blank)
        return rt.sparse.to_dense(found, -1), found.dense_shape, scores

    way = rt.function(decoded) if staged else decoded
    labels, shape, scores = way(True, None)
    assert labels.dtype == rt.int64 and shape.numpy().tolist() == [3, 2]
    assert labels.numpy().tolist() == [[1, 1], [0, -1], [-1, -1]]
    assert scores.numpy().tolist() == [[-10], [-8], [-6]]
    assert way(False, 0)[0].numpy().tolist() == [[1, 1, 2, 1, 1], [2, -1, -1, -1, -1], [2, 2, 2, -1, -1]]


def test_beam_search_finds_the_most_probable_labels() -> None:
    (first, second), scores = rt.nn.ctc_beam_search_decoder(LOGITS, STEPS, beam_width=50, top_paths=2)
    for k, steps in enumerate(STEPS):
        every = sorted({tuple(of_path(path, 2)) for path in itertools.product(range(3), repeat=int(steps))},
                       key=lambda labels, k=k, steps=steps: by_paths(LOGITS[:steps, k], list(labels), 2))
        for path, found in enumerate((first, second)):
            row = rt.sparse.to_dense(found, -1)[k].numpy()
            assert tuple(row[row >= 0]) == every[path]
            np.testing.assert_allclose(scores[k, path], -by_paths(LOGITS[:steps, k], list(every[path]), 2), rtol=1e-4)

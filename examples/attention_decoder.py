"""A decoder with attention that learns to write numbers backwards; training stops early, and so does each answer.

The whole training is one call: data, loss, gradient, Adam, and a `break` once the loss on other data is low or has not
improved for a while.
"""
from __future__ import annotations

import runtime as rt

LONGEST, BATCH, WIDTH = 5, 64, 32
END = 10  # marks the end of an answer, and fills up the digits of a question


def draw(seed):
    """Questions, int32[BATCH, LONGEST], and their answers, int32[BATCH, LONGEST + 1], with END behind their digits."""
    digits = rt.random.stateless_uniform([BATCH, LONGEST], [seed, 0], 0, 10, rt.int32)
    lengths = rt.random.stateless_uniform([BATCH, 1], [seed, 1], 1, LONGEST + 1, rt.int32)
    digits = rt.where(rt.range(LONGEST) < lengths, digits, END)
    places = lengths - 1 - rt.range(LONGEST + 1)
    backwards = rt.gather(digits, rt.maximum(places, 0), axis=1, batch_dims=1)
    return digits, rt.where(places >= 0, backwards, END)


def encoded(weights, digits):
    """Keys and values to attend to: one for each digit, which know its place."""
    x = rt.gather(weights["letters"], digits) + weights["places"]
    return x @ weights["keys"], x @ weights["values"]


def step(weights, memory, state, letter):
    """The state, and logits of the next letter, after `letter`: int32[batch]."""
    keys, values = memory
    state = rt.tanh(state @ weights["state"] + rt.gather(weights["letters"], letter))
    scores = rt.linalg.matvec(keys, state @ weights["query"]) / WIDTH ** 0.5
    seen = rt.einsum("bt,btw->bw", rt.nn.softmax(scores), values)
    state = rt.tanh(state + seen)
    return state, state @ weights["logits"]


def loss_of(weights, digits, answers):
    """The mean cross entropy of the answers' letters, each of which is told those before it."""
    memory = encoded(weights, digits)
    state, letter, loss = rt.zeros([BATCH, WIDTH]), rt.fill([BATCH], END), 0.0
    for t in rt.range(LONGEST + 1):
        state, logits = step(weights, memory, state, letter)
        letter = answers[:, t]
        loss += rt.reduce_mean(rt.nn.sparse_softmax_cross_entropy_with_logits(letter, logits))
    return loss / (LONGEST + 1)


@rt.function
def train(weights, first, second, most):
    """Adam, from moments `first` and `second`, for `most` steps or until training is done; the weights, the loss on
    other data, and the number of steps."""
    others = draw(-1)
    best, waited, steps = rt.constant(float("inf")), 0, 0
    for k in rt.range(most):
        gradient = rt.grad(loss_of)(weights, *draw(k))
        for name, g in gradient.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.99 * second[name] + 0.01 * g * g
            weights[name] = weights[name] - 0.01 * first[name] / (rt.sqrt(second[name]) + 1e-6)
        steps = k + 1
        loss = loss_of(weights, *others)
        waited = waited + 1
        if loss < best:
            best, waited = loss, 0
        if loss < 0.02 or waited > 50:
            break
    return weights, best, steps


@rt.function
def answer(weights, digits):
    """What the decoder writes, letter by letter, until it writes END."""
    memory = encoded(weights, digits[rt.newaxis])
    state, letter = rt.zeros([1, WIDTH]), rt.constant([END])
    letters = []
    while len(letters) <= LONGEST:
        state, logits = step(weights, memory, state, letter)
        letter = rt.argmax(logits, axis=1, output_type=rt.int32)
        if letter[0] == END:
            break
        letters.append(letter[0])
    return rt.stack(letters)


if __name__ == "__main__":
    shapes = {"letters": (11, WIDTH), "places": (LONGEST, WIDTH), "logits": (WIDTH, 11)}
    shapes.update(dict.fromkeys(["keys", "values", "state", "query"], (WIDTH, WIDTH)))
    weights = {name: rt.random.stateless_normal(shape, [k, 0], stddev=WIDTH ** -0.5)
               for k, (name, shape) in enumerate(shapes.items())}
    zeros = {name: rt.zeros_like(w) for name, w in weights.items()}
    weights, loss, steps = train(weights, zeros, dict(zeros), rt.constant(2000))
    print(f"loss {loss.numpy():.3f} after {steps.numpy()} of 2000 steps")
    for question in ("271", "14142", "80"):
        digits = [int(digit) for digit in question] + [END] * (LONGEST - len(question))
        print(question, "->", "".join(str(letter) for letter in answer(weights, rt.constant(digits)).numpy()))

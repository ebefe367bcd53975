"""A recurrent network over sequences of different lengths: a `for` over time, a `TensorArray` for the outputs, and
each sequence's state frozen where the sequence ends.
"""
from __future__ import annotations

import numpy as np

import runtime as rt

BATCH, TIME, FEATURES, HIDDEN = 3, 5, 4, 6


class Cell(rt.Module):
    """h' = tanh(x W + h U + b)"""

    def __init__(self, features, hidden):
        super().__init__()
        self.w = rt.Variable(rt.random.normal([features, hidden], stddev=0.5, seed=1))
        self.u = rt.Variable(rt.random.normal([hidden, hidden], stddev=0.5, seed=2))
        self.b = rt.Variable(rt.zeros([hidden]))

    def __call__(self, x, h):
        return rt.tanh(x @ self.w + h @ self.u + self.b)


@rt.function
def dynamic_rnn(cell, inputs, lengths):
    """Outputs float32[batch, time, hidden] and the last state, of inputs float32[batch, time, features]."""
    inputs = rt.transpose(inputs, [1, 0, 2])  # time first: `for` goes over rows
    h = rt.zeros([inputs.shape[1], cell.b.shape[0]])
    outputs = rt.TensorArray(rt.float32, size=0, dynamic_size=True)
    for time in range(rt.reduce_max(lengths)):  # no step is taken that no sequence needs
        running = rt.expand_dims(time < lengths, 1)
        new = cell(inputs[time], h)
        h = rt.where(running, new, h)
        outputs = outputs.write(time, rt.where(running, new, rt.zeros_like(new)))
    return rt.transpose(outputs.stack(), [1, 0, 2]), h


if __name__ == "__main__":
    cell = Cell(FEATURES, HIDDEN)
    inputs = rt.random.normal([BATCH, TIME, FEATURES], seed=3)
    lengths = rt.constant([4, 1, 3])
    outputs, last = dynamic_rnn(cell, inputs, lengths)
    print("outputs", outputs.shape, "last state", last.shape)

    # Each sequence by itself, in NumPy.
    w, u, b = (v.numpy() for v in (cell.w, cell.u, cell.b))
    for sequence, length, result in zip(inputs.numpy(), lengths.numpy(), outputs.numpy()):
        h = np.zeros(HIDDEN, np.float32)
        for time in range(length):
            h = np.tanh(sequence[time] @ w + h @ u + b)
            np.testing.assert_allclose(result[time], h, rtol=1e-5, atol=1e-6)
        assert not result[length:].any()
        print(f"length {length}: as computed alone, and zero after its end")

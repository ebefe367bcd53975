"""A dynamic RNN as a Keras model: a loop over the steps that the longest sequence of a batch needs, around a cell of
Keras, with the state of each sequence frozen where the sequence ends. `fit` trains it.

Needs the extra `keras` (`pip install 'autograph[keras]'`).
"""
from __future__ import annotations

import numpy as np

import runtime as tf

keras = tf.keras


class DynamicRNN(keras.Model):
    """Outputs float32[batch, time, units] and the last state, of sequences and their lengths."""

    def __init__(self, rnn_cell):
        super().__init__()
        self.cell = rnn_cell

    def call(self, inputs):
        input_data, sequence_lengths = inputs
        input_data = tf.transpose(input_data, [1, 0, 2])  # time first
        batch_size = tf.shape(input_data)[1]
        max_seq_len = tf.reduce_max(sequence_lengths)
        outputs = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        state = self.cell.get_initial_state(batch_size)
        for i in tf.range(max_seq_len):
            output, new_state = self.cell(input_data[i], state)
            is_running = tf.expand_dims(i < sequence_lengths, 1)
            state = [tf.where(is_running, new, old) for new, old in zip(new_state, state)]
            outputs = outputs.write(i, tf.where(is_running, output, tf.zeros_like(output)))
        return tf.transpose(outputs.stack(), [1, 0, 2]), state[0]


class Sum(keras.Model):
    """The sum of a sequence, as far as it goes."""

    def __init__(self):
        super().__init__()
        self.rnn = DynamicRNN(keras.layers.LSTMCell(16))
        self.head = keras.layers.Dense(1)

    def call(self, inputs):
        _, last = self.rnn(inputs)
        return self.head(last)


def sequences(count, seed):
    """Numbers, of which only the first few of a row count, and the sums of these."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(count, 8, 1)).astype("float32")
    lengths = rng.integers(1, 9, size=count).astype("int32")
    valid = np.arange(8) < lengths[:, None]
    return (x, lengths), (x[:, :, 0] * valid).sum(1, keepdims=True)


def main():
    keras.utils.set_random_seed(0)
    inputs, sums = sequences(512, seed=0)
    model = Sum()
    model.compile(keras.optimizers.Adam(0.01), "mse")
    losses = model.fit(inputs, sums, batch_size=32, epochs=20, verbose=0).history["loss"]
    print(f"loss {losses[0]:.3f} in the first epoch, {losses[-1]:.4f} in the last of {len(losses)}")

    (x, lengths), sums = sequences(4, seed=1)
    outputs, _ = model.rnn((x, lengths))
    for row, length, output, found, expected in zip(x, lengths, outputs.numpy(), model.predict((x, lengths), verbose=0),
                                                    sums):
        alone, _ = model.rnn((row[None, :length], length[None]))
        np.testing.assert_allclose(output[:length], alone[0], rtol=1e-4, atol=1e-6)
        assert not output[length:].any()
        print(f"length {length}: sum {expected[0]:.2f}, found {found[0]:.2f}")


if __name__ == "__main__":
    main()

"""A character LSTM that learns a nursery rhyme and writes verses: a `while` until the stop character, in one
`tf.function`.

Needs the extra `keras` (`pip install 'autograph[keras]'`).
"""
from __future__ import annotations

import pathlib

import numpy as np

import runtime as tf

keras = tf.keras
TEXT = (pathlib.Path(__file__).parent / "house_that_jack_built.txt").read_text()
CHARACTERS = sorted(set(TEXT))
IDS = {character: number for number, character in enumerate(CHARACTERS)}
STOP = IDS["\n"]
LENGTH = 40


class Writer(keras.Model):
    """Logits of the next character, for each character of int32[batch, time]."""

    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(len(CHARACTERS), 16)
        self.lstm = keras.layers.LSTM(64, return_sequences=True)
        self.logits = keras.layers.Dense(len(CHARACTERS))

    def call(self, ids):
        return self.logits(self.lstm(self.embedding(ids)))

    def next(self, character, state):
        """The logits after one more character, and the state then."""
        output, state = self.lstm.cell(self.embedding(tf.reshape(character, [1])), state)
        return self.logits(output), state

    @tf.function
    def write(self, beginning, temperature):
        """What follows `beginning`, int32[n], up to the stop character."""
        state = self.lstm.cell.get_initial_state(1)
        logits = tf.zeros([1, len(CHARACTERS)])
        for character in beginning:
            logits, state = self.next(character, state)
        written = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        count = 0
        character = beginning[-1]
        while character != STOP and count < 500:
            character = tf.random.categorical(logits / temperature, 1, dtype=tf.int32)[0, 0]
            written = written.write(count, character)
            count += 1
            logits, state = self.next(character, state)
        return written.stack()


def main():
    keras.utils.set_random_seed(0)
    tf.random.set_seed(0)
    ids = np.array([IDS[character] for character in TEXT], "int32")
    windows = np.lib.stride_tricks.sliding_window_view(ids, LENGTH + 1)[::3]
    model = Writer()
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    history = model.fit(windows[:, :-1], windows[:, 1:], batch_size=32, epochs=12, verbose=0).history
    print(f"{100 * history['accuracy'][0]:.0f} % of characters foreseen in the first epoch, "
          f"{100 * history['accuracy'][-1]:.0f} % in the last")
    for beginning in ("This is the ", "This is the ", "This is the cat", "This is the cow"):
        found = model.write(tf.constant([IDS[character] for character in beginning]), tf.constant(0.5))
        print(beginning + "".join(CHARACTERS[number] for number in found.numpy()), end="")


if __name__ == "__main__":
    main()

"""Two heads that share a trunk, trained in turn by one custom loop, with metrics, a schedule and summaries.

Needs the extra `keras` (`pip install 'autograph[keras]'`).
"""
from __future__ import annotations

import os
import tempfile

import numpy as np

import runtime as tf

keras = tf.keras
LOG_EVERY = 20


class Warmed(keras.optimizers.schedules.LearningRateSchedule):
    """Rises for 20 steps, then falls."""

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        if step < 20.0:
            return 0.02 * (step + 1.0) / 20.0
        return 0.02 * 0.995 ** (step - 20.0)


def points():
    """Points in the plane, their distance from the origin, and whether they are right of it."""
    x = np.random.default_rng(0).normal(size=(640, 2)).astype("float32")
    return x, np.linalg.norm(x, axis=1, keepdims=True), (x[:, :1] > 0).astype("float32")


def main():
    keras.utils.set_random_seed(0)
    x, distance, is_right = points()
    trunk = keras.Sequential([keras.Input((2,)), keras.layers.Dense(32, activation="tanh")])
    heads = [keras.layers.Dense(1), keras.layers.Dense(1, activation="sigmoid")]
    models = [keras.Sequential([trunk, head]) for head in heads]
    losses = [keras.losses.MeanSquaredError(), keras.losses.BinaryCrossentropy()]
    optimizers = [keras.optimizers.Adam(Warmed()) for _ in models]
    means = [keras.metrics.Mean(name) for name in ("distance", "side")]
    for model, optimizer in zip(models, optimizers):
        optimizer.build(model.trainable_variables)

    @tf.function
    def epoch(dataset):
        for points, *targets in dataset:
            for model, loss_of, optimizer, mean, target in zip(models, losses, optimizers, means, targets):
                with tf.GradientTape() as tape:
                    loss = loss_of(target, model(points))
                weights = model.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
                mean.update_state(loss)
                with tf.summary.record_if(tf.equal(optimizer.iterations % LOG_EVERY, 0)):
                    tf.summary.scalar(mean.name, loss, step=tf.cast(optimizer.iterations, tf.int64))

    dataset = tf.data.Dataset.from_tensor_slices((x, distance, is_right)).shuffle(640, seed=1).batch(32)
    with tempfile.TemporaryDirectory() as folder:
        with tf.summary.create_file_writer(folder).as_default():
            for number in range(20):
                for mean in means:
                    mean.reset_state()
                epoch(dataset)
                if number in (0, 19):
                    print(f"epoch {number}: " + ", ".join(f"{mean.name} {float(mean.result()):.4f}" for mean in means))
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    print(f"{int(optimizers[0].iterations.numpy())} steps of each head, {size} bytes of summaries")


if __name__ == "__main__":
    main()

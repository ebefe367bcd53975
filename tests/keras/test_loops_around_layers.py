"""Loops by Python's range around layers, optimizers and metrics: rolled into loops of the graph."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as tf

keras = tf.keras
layers = keras.layers
Program = tuple[Callable[..., Any], tuple[Any, ...], Callable[[], list[Any]]]
"""A step, its arguments, and a function that returns the variables."""


def decoder() -> Program:
    """As in tutorials: attention, a recurrent cell and teacher forcing, with the gradient of an embedding."""
    embedding, cell, attention = layers.Embedding(9, 4), layers.GRUCell(4), layers.Dense(4)
    output, optimizer = layers.Dense(9), keras.optimizers.Adam(0.01)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            state, loss = tf.zeros([2, 4]), 0.0
            for k in range(1, y.shape[1]):
                weights = tf.nn.softmax(attention(state)[:, None] + embedding(x), 1)
                context = tf.reduce_sum(weights * embedding(x), 1)
                found, state = cell(tf.concat([context, embedding(y[:, k - 1])], -1), state)
                loss += loss_of(y[:, k], output(found))
        variables = [v for layer in (embedding, cell, attention, output) for v in layer.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    random = np.random.default_rng(0)
    ids = [tf.constant(random.integers(0, 9, (2, n))) for n in (5, 12)]
    return step, (ids[0], ids[1]), lambda: [w for each in (embedding, cell, attention, output) for w in each.weights]


def training() -> Program:
    model = keras.Sequential([layers.Dense(4, "relu"), layers.Dense(1)])
    optimizer = keras.optimizers.Adam(0.01)

    def step(x: Any, y: Any) -> Any:
        loss = tf.constant(0.0)
        for _ in range(10):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    return step, (tf.reshape(tf.range(6.0), [2, 3]), tf.ones([2, 1])), lambda: [*model.weights, *optimizer.variables]


def state_of_layers() -> Program:
    """Random numbers, averages, a metric, and losses."""
    dropout, normal, mean = layers.Dropout(0.3), layers.BatchNormalization(), keras.metrics.Mean()
    dense = layers.Dense(3, activity_regularizer="l2")

    def step(x: Any) -> Any:
        for k in range(20):
            x = dense(normal(dropout(x, training=True), training=True)) + float(k)
            mean.update_state(x)
            x = x + sum(dense.losses)
        return x, mean.result()

    return step, (tf.reshape(tf.range(6.0), [2, 3]),), lambda: [
        *dropout.variables, *normal.weights, *dense.weights, *mean.variables]


def a_layer_for_each_step() -> Program:
    chosen = [layers.Dense(3) for _ in range(10)]

    def step(x: Any) -> Any:
        for k in range(10):
            x = tf.tanh(chosen[k](x)) + tf.sin(x) * tf.cos(x) + tf.exp(-x * x) * 0.1 + tf.sqrt(tf.abs(x) + 1.0)
        return x

    return step, (tf.reshape(tf.range(6.0), [2, 3]),), lambda: [w for layer in chosen for w in layer.weights]


def results(make: Callable[[], Program], trace: Callable[[Any], Any]) -> tuple[list[Any], Any, Program]:
    keras.utils.set_random_seed(3)
    program = make()
    step, arguments, variables = program
    run = trace(step)
    found = [np.asarray(x) for _ in range(3) for x in tf.nest.flatten(run(*arguments))]
    return [*found, *map(np.asarray, variables())], run, program


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize(("make", "is_rolled"), [
    (decoder, True), (training, True), (state_of_layers, True), (a_layer_for_each_step, False)])
def test_loops_around_layers(make: Callable[[], Program], is_rolled: bool, executor: str) -> None:
    expected, _, _ = results(make, lambda fn: fn)
    found, traced, (_, arguments, variables) = results(make, lambda fn: tf.function(fn, executor=executor))
    graph = traced.get_concrete_function(*arguments).graph
    assert {"reduce", "while_loop"}.isdisjoint(node.op.name for node in graph.nodes) is not is_rolled
    assert len(variables()) == len({id(v) for v in variables()})
    for each, of_python in zip(found, expected, strict=True):
        np.testing.assert_allclose(each, of_python, rtol=1e-3, atol=1e-4)


def test_why_a_loop_that_acts_on_what_is_outside_is_not_rolled() -> None:
    model = keras.Sequential([keras.Input((3,)), layers.Dense(3)])

    @tf.function
    def step(x: Any) -> Any:
        for _ in range(100):
            x = tf.sin(model(x))
            keras.utils.to_categorical([0, 1])
        return x

    step(tf.ones([2, 3]))
    assert step.explain().splitlines()[2].endswith(
        "since it calls 'to_categorical', which may act on what is outside of the program")


def test_a_mask_that_a_layer_takes_off_its_argument_is_there_when_the_body_is_traced_again() -> None:
    """MultiHeadAttention sets the masks of its arguments to None; what a loop's first trace does to them is undone."""
    embedding, attention = layers.Embedding(9, 4, mask_zero=True), layers.MultiHeadAttention(1, 4)
    query, ids = tf.ones([1, 1, 4]), tf.constant([[1, 2, 0, 0]])
    attention(query, tf.ones([1, 1, 4]))
    outside = embedding(tf.constant([[3, 0, 0, 0]]))

    def once(ids: Any) -> Any:
        return tf.reduce_sum(attention(query=query, value=embedding(ids)))

    @tf.function
    def repeatedly(ids: Any, n: Any) -> Any:
        context, found = embedding(ids), 0.0
        for _ in tf.range(n):
            found = tf.reduce_sum(attention(query=query, value=context))
        return found

    @tf.function
    def while_small(ids: Any, n: Any) -> Any:
        context, found, k = embedding(ids), tf.constant(0.0), tf.constant(0)
        while k < n:
            if k >= 0:
                found = tf.reduce_sum(attention(query=query, value=context))
            k += 1
        return found

    @tf.function
    def from_outside(n: Any) -> Any:
        found = 0.0
        for _ in tf.range(n):
            found = tf.reduce_sum(attention(query=query, value=outside))
        return found

    expected = once(ids)
    for traced in (tf.function(once)(ids), repeatedly(ids, 1), repeatedly(ids, tf.constant(3)), while_small(ids, 2)):
        np.testing.assert_allclose(traced, expected, rtol=1e-5)
    np.testing.assert_allclose(from_outside(tf.constant(2)), once(tf.constant([[3, 0, 0, 0]])), rtol=1e-5)

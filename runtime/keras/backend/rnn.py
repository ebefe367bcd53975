"""Recurrent layers (Keras' `backend.rnn`): the loop over any cell, and LSTM and GRU with one matrix product for the
inputs of all steps.

The loops are scans over steps, so they and their gradients are loops in native code.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from keras.src import tree

import runtime as rt
from runtime.keras.backend.core import convert_to_tensor
from runtime.keras.backend.layer import converted
from runtime.staging.control_flow import scan_with_carry

__all__ = ["bidirectional_gru", "bidirectional_lstm", "cudnn_ok", "gru", "lstm", "rnn"]

Activation = Callable[[Any], Any]


def cudnn_ok(*args: Any, **kwargs: Any) -> bool:
    """Whether a layer can use cuDNN: never."""
    return False


def rnn(
    step_function: Callable[..., Any], inputs: Any, initial_states: Any, go_backwards: bool = False, mask: Any = None,
    constants: Any = None, unroll: bool = False, input_length: Any = None, time_major: bool = False,
    zero_output_for_mask: bool = False, return_all_outputs: bool = True,
) -> tuple[Any, Any, Any]:
    """`output, states = step_function(input, states)` over the steps: the last output, all outputs and the states.

    `inputs` is a structure of [batch, time, ...] (or time first). Where `mask`, [batch, time], is false, a step keeps
    the states and repeats the output, or outputs zeros, as it does before the first valid step. With `go_backwards`
    outputs are in the order of computation.
    """
    rows = inputs if time_major else tree.map_structure(_swap, inputs)
    if mask is not None:
        mask = rt.cast(convert_to_tensor(mask), rt.bool)
        mask = _one_per_row(mask if time_major else _swap(mask))
    if go_backwards:
        rows, mask = tree.map_structure(lambda x: None if x is None else rt.reverse(x, [0]), (rows, mask))
    fixed = tuple(constants or ())

    def step(states: Any, row: Any) -> tuple[Any, Any]:
        x, valid = row if mask is not None else (row, None)
        output, new = step_function(x, (*states, *fixed))
        if valid is not None:
            new = tree.map_structure(lambda old, new: _choose(valid, new, old), states, tree.pack_sequence_as(
                states, tree.flatten(new)))
        return new, output

    xs = rows if mask is None else (rows, mask)
    states = tree.map_structure(convert_to_tensor, list(initial_states))
    if unroll:
        states, outputs = _unrolled(step, states, xs)
    else:
        states, outputs = scan_with_carry(step, states, xs)
    if mask is not None:
        outputs = _repeated(outputs, mask, zero_output_for_mask)
    last = tree.map_structure(lambda x: x[-1], outputs)
    if not return_all_outputs:
        outputs = tree.map_structure(lambda x: x[-1:], outputs)
    return last, outputs if time_major else tree.map_structure(_swap, outputs), states


def _unrolled(step: Callable[..., Any], states: Any, xs: Any) -> tuple[Any, Any]:
    count = tree.flatten(xs)[0].shape[0]
    if not count:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    outputs = []
    for i in range(count):
        states, output = step(states, tree.map_structure(lambda x, i=i: x[i], xs))
        outputs.append(output)
    return states, tree.map_structure(lambda *rows: rt.stack(rows), *outputs)


def _swap(x: Any) -> Any:
    """[batch, time, ...] as [time, batch, ...], or the reverse."""
    x = convert_to_tensor(x)
    return rt.transpose(x, [1, 0, *range(2, x.ndim)])


def _one_per_row(mask: Any) -> Any:
    """[time, batch]: a row with several masks is valid if any of them is."""
    return rt.reduce_any(mask, list(range(2, mask.ndim))) if mask.ndim > 2 else mask


def _choose(valid: Any, x: Any, y: Any) -> Any:
    """`x` in the rows of the batch that are valid, else `y`."""
    return rt.where(rt.reshape(valid, [-1] + [1] * (x.ndim - 1)), x, y)


def _repeated(outputs: Any, mask: Any, zeros: bool) -> Any:
    """Outputs, time first, where those of steps that are not valid are the last valid ones before them, or zeros."""
    steps = rt.where(mask, rt.expand_dims(rt.range(rt.shape(mask)[0]), 1), -1)
    latest = _swap(steps if zeros else rt.scan(rt.maximum, steps))

    def repeated(x: Any) -> Any:
        found = rt.gather(_swap(x), rt.maximum(latest, 0), axis=1, batch_dims=1)
        to_broadcast = (..., *[rt.newaxis] * (x.ndim - 2))
        return _swap(rt.where(latest[to_broadcast] >= 0, found, rt.zeros([], x.dtype)))

    return tree.map_structure(repeated, outputs)


# LSTM and GRU.

def lstm(
    inputs: Any, initial_state_h: Any, initial_state_c: Any, mask: Any, kernel: Any, recurrent_kernel: Any, bias: Any,
    activation: Activation, recurrent_activation: Activation, return_sequences: bool = False,
    go_backwards: bool = False, unroll: bool = False, time_major: bool = False,
) -> tuple[Any, Any, Any]:
    """The last output, the outputs and the states of an LSTM. NotImplementedError for a mask or `unroll`."""
    _require_plain(mask, unroll)
    recurrent = convert_to_tensor(recurrent_kernel)
    activation, recurrent_activation = converted(activation), converted(recurrent_activation)

    def step(states: Any, x: Any) -> tuple[Any, Any]:
        h, c = states
        i, f, g, o = rt.split(x + rt.matmul(h, recurrent), 4, axis=1)
        c = recurrent_activation(f) * c + recurrent_activation(i) * activation(g)
        h = recurrent_activation(o) * activation(c)
        return [h, c], h if return_sequences else None

    gates = _gates(inputs, kernel, bias, go_backwards, time_major)
    states = [convert_to_tensor(initial_state_h), convert_to_tensor(initial_state_c)]
    states, outputs = scan_with_carry(step, states, gates)
    return states[0], _outputs(states[0], outputs, time_major), states


def gru(
    inputs: Any, initial_state: Any, mask: Any, kernel: Any, recurrent_kernel: Any, bias: Any, activation: Activation,
    recurrent_activation: Activation, return_sequences: bool = False, go_backwards: bool = False, unroll: bool = False,
    time_major: bool = False, reset_after: bool = True,
) -> tuple[Any, Any, Any]:
    """The last output, the outputs and the states of a GRU. NotImplementedError for a mask or `unroll`."""
    _require_plain(mask, unroll)
    recurrent = convert_to_tensor(recurrent_kernel)
    activation, recurrent_activation = converted(activation), converted(recurrent_activation)
    units = recurrent.shape[0]
    added = None if bias is None else convert_to_tensor(bias)
    first, second = (added[0], added[1]) if added is not None and reset_after else (added, None)

    def step(states: Any, x: Any) -> tuple[Any, Any]:
        (h,) = states
        if reset_after:
            inner = rt.matmul(h, recurrent)
            inner_z, inner_r, inner_h = rt.split(inner if second is None else inner + second, 3, axis=1)
        else:
            inner_z, inner_r = rt.split(rt.matmul(h, recurrent[:, :2 * units]), 2, axis=1)
        x_z, x_r, x_h = rt.split(x, 3, axis=1)
        z, r = recurrent_activation(x_z + inner_z), recurrent_activation(x_r + inner_r)
        candidate = activation(x_h + (r * inner_h if reset_after else rt.matmul(r * h, recurrent[:, 2 * units:])))
        h = z * h + (1 - z) * candidate
        return [h], h if return_sequences else None

    gates = _gates(inputs, kernel, first, go_backwards, time_major)
    states, outputs = scan_with_carry(step, [convert_to_tensor(initial_state)], gates)
    return states[0], _outputs(states[0], outputs, time_major), states


def _require_plain(mask: Any, unroll: bool) -> None:
    """Raise NotImplementedError where Keras should run the layer by its cell."""
    if mask is not None or unroll:
        raise NotImplementedError("with a mask, or unrolled")


def _gates(inputs: Any, kernel: Any, bias: Any, go_backwards: bool, time_major: bool) -> Any:
    """The inputs' contribution to the gates in all steps, [time, batch, gates], by one product."""
    x = convert_to_tensor(inputs)
    x = x if time_major else _swap(x)
    if go_backwards:
        x = rt.reverse(x, [0])
    steps, batch, size = x.shape
    kernel = convert_to_tensor(kernel)
    product = rt.matmul(rt.reshape(rt.cast(x, kernel.dtype), [-1, size]), kernel)
    if bias is not None:
        product = product + convert_to_tensor(bias)
    sizes: Any = (steps, batch) if steps is not None and batch is not None else rt.shape(x)[:2]
    return rt.reshape(product, [sizes[0], sizes[1], kernel.shape[1]])


def _outputs(last: Any, outputs: Any, time_major: bool) -> Any:
    """All outputs, or the last one where only that was requested."""
    if outputs is None:
        return rt.expand_dims(last, 0 if time_major else 1)
    return outputs if time_major else _swap(outputs)


def _by_layers(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse, so that Keras runs the two directions as two layers."""
    raise NotImplementedError("in both directions at once")


bidirectional_lstm = bidirectional_gru = _by_layers

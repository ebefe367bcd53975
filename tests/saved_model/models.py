"""A module with most that can be saved: nested modules, shared variables, control flow, handlers, lists, literals."""
from __future__ import annotations

from typing import Any

import numpy as np

import runtime as rt


class Dense(rt.Module):
    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        self.w = rt.Variable(np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32), name="w")
        self.b = rt.Variable(rt.zeros(columns), trainable=False)

    def __call__(self, x: Any) -> Any:
        return rt.tanh(x @ self.w + self.b)


class Net(rt.Module):
    def __init__(self) -> None:
        super().__init__("net")
        self.layers = [Dense(3, 4), Dense(4, 2)]
        self.first, self.me = self.layers[0], self
        self.table = {"a": 1, 2: (0.5, None, b"c")}
        self.steps = rt.Variable(0)
        self.tensor, self.array, self.left_out = rt.constant([1, 2]), np.arange(3), object()

    @rt.function(input_signature=[rt.TensorSpec([None, 3], rt.float32, "x")])
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        n = 0
        while rt.reduce_max(rt.abs(x)) < 3.0:
            x = x * 1.5
            n += 1
        return {"y": x, "n": n}

    @rt.function
    def step(self, x, training=False, scale=1.0):
        self.steps.assign_add(1)
        found = []
        for row in x:
            try:
                if row[0] < 0.0:
                    raise ValueError(f"negative in {self.steps}")
                found.append(row[0])
            except ValueError:
                found.append(-row[0])
        if training:
            return found, [self.steps * 2, (x, "text", None)]
        return rt.stack(found) * scale

"""Random programs with loops and branches, mapped, against a loop over the lanes: results, errors and gradients."""
from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

LANES = 5


class Writer:
    """A random function of x (float64), k (int64) and v (float64[4])."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def text(self) -> str:
        self.lines = ["def f(x, k, v):", "    y = x * 0.5", "    j = k"]
        self.block(1, 3)
        return "\n".join([*self.lines, "    return x, y, k + j, v", ""])

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def block(self, depth: int, room: int, in_loop: bool = False) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, room, in_loop)

    def statement(self, depth: int, room: int, in_loop: bool) -> None:
        kind = self.random.choice(["float", "float", "int", "item", "if", "if", "for", "while", "jump"])
        if kind == "float" or not room:
            self.add(depth, f"{self.random.choice('xy')} = {self.number()}")
        elif kind == "int":
            self.add(depth, f"{self.random.choice('kj')} = {self.integer()}")
        elif kind == "item":
            self.add(depth, f"v[{self.place()}] = {self.number()}")
        elif kind == "if":
            self.add(depth, f"if {self.test()}:")
            self.block(depth + 1, room - 1, in_loop)
            if self.random.random() < 0.5:
                self.add(depth, "else:")
                self.block(depth + 1, room - 1, in_loop)
        elif kind == "for":
            count = self.random.choice(["3", "k % 4", "j % 3 + 1"])
            self.loops += 1
            self.add(depth, f"for i{self.loops} in rt.range({count}):")
            self.add(depth + 1, f"x = x * 0.9 + rt.cast(i{self.loops}, rt.float64)")
            self.block(depth + 1, room - 1, True)
        elif kind == "while":
            self.loops += 1
            name = f"n{self.loops}"
            self.add(depth, f"{name} = 0")
            self.add(depth, f"while {self.test()} and {name} < 4:")
            self.add(depth + 1, f"{name} += 1")
            self.block(depth + 1, room - 1, True)
        elif in_loop:
            self.add(depth, f"if {self.test()}:")
            self.add(depth + 1, self.random.choice(["break", "continue"]))
        else:
            self.add(depth, f"if {self.test()}:")
            self.add(depth + 1, "return y, x, j, v * 2.0")

    def number(self) -> str:
        return self.random.choice([
            "x + y * 0.5", "rt.sin(x) - y", "y * 0.7 + 1.0", "x / (rt.abs(y) + 0.5)", f"v[{self.place()}] + x * 0.1",
            "rt.math.log(rt.abs(x) + 0.1)", "rt.sqrt(x) if x > 0.0 else x * x * 0.1", "rt.reduce_sum(v) * 0.1",
            "1.0 / x if rt.abs(x) > 0.5 else y", "rt.cast(k, rt.float64) * 0.3 - x", "rt.tanh(x * y)"])

    def integer(self) -> str:
        return self.random.choice(["k + 1", "(k * 3 + j) % 7", "j - k", "k // 2", "12 // j if j != 0 else k",
                                   "rt.cast(x, rt.int64) % 5"])

    def place(self) -> str:
        return self.random.choice(["0", "-1", "k % 4", "j % 4"])

    def test(self) -> str:
        return self.random.choice(["x > y", "x < 0.3", "k % 2 == 0", "j > k", "y * y < 1.0", "v[0] > x", "k < 4"])


def made(seed: int) -> Callable[..., Any]:
    text = Writer(seed).text()
    name = f"<lanes {seed}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    namespace: dict[str, Any] = {"rt": rt}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def arguments(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return (rt.constant(rng.normal(size=LANES)), rt.constant(rng.integers(0, 6, LANES)),
            rt.constant(rng.normal(size=(LANES, 4))))


def lanes(f: Callable[..., Any], xs: tuple[Any, ...]) -> list[Any]:
    one = rt.function(f, executor="numpy")
    found = [[x.numpy() for x in rt.nest.flatten(one(*[x[i] for x in xs]))] for i in range(LANES)]
    return [np.stack(column) for column in zip(*found, strict=True)]


def agree(found: Any, wanted: list[Any], text: str) -> None:
    for a, b in zip(rt.nest.flatten(found), wanted, strict=True):
        assert a.numpy().dtype == b.dtype, text
        np.testing.assert_allclose(a.numpy(), b, 1e-9, 1e-9, err_msg=text)


@pytest.mark.parametrize("seed", range(16))
def test_random_program_is_a_loop_over_lanes(seed: int) -> None:
    f, xs = made(seed), arguments(seed)
    text = Writer(seed).text()
    wanted = lanes(f, xs)
    agree(rt.function(rt.vmap(f), executor="numpy")(*xs), wanted, text)
    if seed % 4 == 0:
        agree(rt.function(rt.vmap(f))(*xs), wanted, text)


@pytest.mark.parametrize("seed", range(100, 108))
def test_gradient_of_random_program(seed: int) -> None:
    f, xs = made(seed), arguments(seed)

    def loss(x: Any, k: Any, v: Any) -> Any:
        a, b, _, c = f(x, k, v)
        return a + b + rt.reduce_sum(c)

    wanted = lanes(rt.grad(loss, argnums=(0, 2)), xs)
    text = Writer(seed).text()
    agree(rt.function(rt.vmap(rt.grad(loss, argnums=(0, 2))), executor="numpy")(*xs), wanted, text)
    whole = rt.grad(lambda x, v: rt.reduce_sum(rt.vmap(loss)(x, xs[1], v)), argnums=(0, 1))
    agree(rt.function(whole, executor="numpy")(xs[0], xs[2]), wanted, text)

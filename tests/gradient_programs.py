"""Random programs on float64 tensors, as text: loops, branches, jumps, handlers, growing lists, and smooth ops.

Variables stay bounded, since loops multiply derivatives.
"""
from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import runtime as rt

__all__ = ["generate"]

SCALARS = (
    "rt.sin({s}) * {t}", "rt.tanh({s} + {t})", "rt.sin({s} * {t})", "rt.exp(-{s} * {s}) + {c}",
    "{s} / (1.5 + {t} * {t})", "rt.sqrt(1.0 + {s} * {s}) * {c}", "rt.tanh(rt.reduce_sum({v}))", "{v}[{k}] * {c}",
    "rt.tanh(rt.reduce_max({v}))", "rt.where({s} > {c}, {s}, {t} * 0.7)", "rt.minimum({s}, {t}) * 0.9",
    "rt.abs({s}) - {c}", "rt.cos({s}) + 0.1 * {t}", "rt.math.log(2.0 + rt.sin({t})) * {s}", "rt.sigmoid({s}) * {t}",
    "rt.tanh(rt.tensordot({v}, {w}, 1))",
)
TESTS = "{s} > {c}", "{s} < {t}", "{v}[{k}] > {c}", "{s} * {t} < {c} and {s} > {c}"
USES = "a = rt.tanh(a + out[-1]) * 0.8", "out[-1] = {s} * 0.5"
ERRORS = ["ValueError('v')"], ["KeyError('k')"], ["KeyError('k')", "ValueError('v')"]
VECTORS = (
    "rt.tanh({v} * {s})", "rt.cumsum(rt.sin({v})) * 0.3", "rt.reverse({v}, [0]) * 0.9", "rt.sin({v} + {w})",
    "rt.concat([{v}[1:], {v}[:1]], 0)", "rt.sort({v})", "{v} - {s} * 0.3", "rt.where({v} > {c}, {v}, {w} * 0.5)",
    "rt.gather({v}, [2, 0, 0, 1])", "rt.tensor_scatter_nd_update({v}, [[{k}]], [{s}])", "rt.nn.softmax({v})",
    "rt.stack([{s}, {t}, {v}[{k}], {s} * {t}])", "{v} / (1.5 + {w} * {w})",
)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indent, self.depth, self.loops, self.count = 1, 0, 0, 0
        self.budget = self.random.randint(6, 14)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.indent += 1
        self.depth += 1
        yield
        self.indent -= 1
        self.depth -= 1

    def fill(self, text: str) -> str:
        r = self.random
        return text.format(s=r.choice("abe"), t=r.choice("abe"), v=r.choice("vz"), w=r.choice("vz"),
                           c=f"{r.uniform(-0.6, 0.9):.3f}", k=r.randrange(4))

    def scalar(self) -> str:
        return self.fill(self.random.choice(SCALARS))

    def test(self) -> str:
        return self.fill(self.random.choice(TESTS))

    def body(self, least: int = 1) -> None:
        for _ in range(self.random.randint(least, 3)):
            self.statement()

    def statement(self) -> None:
        self.budget -= 1
        simple: list[Callable[[], None]] = [
            self.assign, self.assign, self.vector, self.append, self.use, self.rows]
        nested: list[Callable[[], None]] = [self.if_, self.for_, self.while_, self.try_, self.items, self.jump]
        self.random.choice(simple + nested * (self.depth < 3 and self.budget > 0))()

    def assign(self) -> None:
        self.line(f"{self.random.choice('abe')} = {self.scalar()}")

    def vector(self) -> None:
        self.line(f"{self.random.choice('vz')} = {self.fill(self.random.choice(VECTORS))}")

    def append(self) -> None:
        self.line(f"out.append({self.scalar()})")

    def use(self) -> None:
        with self.block("if len(out) > 0:"):
            self.line(self.fill(self.random.choice(USES)))

    def rows(self) -> None:
        self.line(self.fill("rows.append(rt.sin({v}[: {k} + 1]) * {s})"))

    def if_(self) -> None:
        with self.block(f"if {self.test()}:"):
            self.body()
        if self.random.random() < 0.3:
            with self.block(f"elif {self.test()}:"):
                self.body()
        if self.random.random() < 0.6:
            with self.block("else:"):
                self.body()

    def looping(self, head: str, count: str = "") -> None:
        with self.block(head):
            if count:
                self.line(f"{count} += 1")
            self.loops += 1
            self.body(2)
            self.loops -= 1

    def for_(self) -> None:
        self.count += 1
        self.looping(f"for i{self.count} in rt.range({self.random.randint(1, 4)}):")

    def items(self) -> None:
        self.looping(f"for e in {self.random.choice('vz')}:")

    def while_(self) -> None:
        self.count += 1
        name = f"n{self.count}"
        self.line(f"{name} = 0")
        self.looping(f"while {self.test()} and {name} < {self.random.randint(2, 4)}:", name)

    def try_(self) -> None:
        with self.block("try:"):
            self.body()
            for error in self.random.choice(ERRORS):
                with self.block(f"if {self.test()}:"):
                    self.line(f"raise {error}")
                self.body()
        with self.block("except ValueError:"):
            self.body()
        with self.block("except KeyError:"):
            self.body()

    def jump(self) -> None:
        with self.block(f"if {self.test()}:"):
            self.assign()
            if self.loops:
                self.line(self.random.choice(("break", "continue")))
            elif self.random.random() < 0.3:
                self.line(f"return {self.scalar()}")

    def text(self) -> str:
        while self.budget > 0:
            self.statement()
        return "\n".join([
            "def program(a, b, v):", "    e = a * b", "    z = v * a", "    out = []", "    rows = []", *self.lines,
            "    for row in rows:", "        a = a * 0.5 + rt.reduce_sum(row * row)",
            "    for x in out:", "        b = b * 0.7 + rt.sin(x)",
            "    return a + 0.7 * b + 0.3 * e + rt.reduce_sum(v * z)", ""])


def generate(seed: int) -> tuple[Any, str]:
    """A program of two scalars and a vector of 4 that gives a scalar, and its text."""
    text = _Writer(seed).text()
    filename = f"<random gradient {seed}>"
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    namespace: dict[str, Any] = {"rt": rt, "__name__": "gradient_programs"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["program"], text

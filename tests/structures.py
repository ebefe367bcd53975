"""Functions of nothing but structure: statements and jumps in each other, whose tests take what comes.

    python -m tests.structures 1000 --seed 5     whether so many, converted, do the same and show a tracer their lines
"""
from __future__ import annotations

import argparse
import contextlib
import linecache
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import autograph as ag

__all__ = ["differing", "structure"]

RUNS = 8
"""How often a function is called, each time with other values."""
MOST = 300
"""A call ends after so many events: a loop may be endless."""


class _Writer:
    """Without `finally`, after which Python itself may report a line that does not run (`line_events.MISPLACED`)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def test(self) -> str:
        return self.random.choice(["t()", "t()", "t() is not None", "not t()", "t() and t()", "isinstance(t(), int)",
                                   "x", "x is None"])

    def block(self, head: str, levels: int, in_loop: bool) -> None:
        self.line(head)
        self.depth += 1
        count = self.random.choice([1, 1, 2, 3])
        for index in range(count):
            self.statement(levels, in_loop, index == count - 1)
        self.depth -= 1

    def statement(self, levels: int, in_loop: bool, is_last: bool) -> None:
        chance = self.random.random()
        if levels <= 0 or chance < 0.2:
            kinds = ["note(1)", "x = t()"]
            if is_last:
                kinds += ["return", "return 2", "return note(3)", *(["break", "continue"] * (2 * in_loop))]
            self.line(self.random.choice(kinds))
        elif chance < 0.6:
            head = self.random.choice([self.test(), "(y := t())"])
            self.block(f"if {head}:", levels - 1, in_loop)
            while self.random.random() < 0.2:
                self.block(f"elif {self.test()}:", levels - 1, in_loop)
            if self.random.random() < 0.5:
                self.block("else:", levels - 1, in_loop)
        elif chance < 0.8:
            head = self.random.choice(["for i in range(n()):", "for i in items():", f"while {self.test()}:"])
            self.block(head, levels - 1, True)
            if self.random.random() < 0.3:
                self.block("else:", levels - 1, in_loop)
        elif chance < 0.9:
            self.block("try:", levels - 1, in_loop)
            self.block("except ValueError:", levels - 1, in_loop)
            if self.random.random() < 0.3:
                self.block("else:", levels - 1, in_loop)
        elif chance < 0.95:
            self.block("with guard:", levels - 1, in_loop)
        else:
            self.line("match t():")
            self.depth += 1
            self.block("case 1:", levels - 1, in_loop)
            if self.random.random() < 0.5:
                self.block("case _:", levels - 1, in_loop)
            self.depth -= 1


def structure(seed: int) -> str:
    """The text of a function `f`; the same seed gives the same text."""
    writer = _Writer(seed)
    writer.depth = 0
    writer.block("def f(t, n, items, note, guard, x=None):", 4, False)
    return "\n".join(writer.lines) + "\n"


class _Enough(BaseException):
    pass


def _events(fn: Callable[..., Any], filename: str, seed: int) -> tuple[list[tuple[str, int]], Any]:
    """What a tracer sees of a call, and what it returns."""
    chosen = random.Random(seed)
    events: list[tuple[str, int]] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != filename:
            return None
        events.append((event, frame.f_lineno))
        if len(events) > MOST:
            raise _Enough
        return trace

    def one_of(*values: Any) -> Callable[[], Any]:
        return lambda: chosen.choice(values)

    result: Any = None
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result = fn(one_of(0, 1, None, True), one_of(0, 1, 2, 3), one_of([], [1], [1, 2]), lambda k: k,
                    contextlib.nullcontext())
    except _Enough:
        result = "no end"
    finally:
        sys.settrace(before)
    return events, result


def differing(seed: int) -> str | None:
    """What a function does otherwise when it is converted, or which of its lines a tracer does not see; else None."""
    text, filename = structure(seed), f"<structure {seed}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    try:
        namespace: dict[str, Any] = {}
        exec(compile(text, filename, "exec"), namespace)
        fn = namespace["f"]
        converted = ag.convert_traced(fn)
        _events(converted, filename, 0)  # the first call converts what is called
        for run in range(RUNS):
            (expected, returns), (got, result) = _events(fn, filename, run), _events(converted, filename, run)
            theirs, ours = ({line for kind, line in events if kind == "line"} for events in (expected, got))
            if returns != result or (not theirs <= ours and result != "no end"):
                return (f"seed {seed}, run {run}: returns {returns} and {result}, lines not seen "
                        f"{sorted(theirs - ours)}, in\n{text}")
        return None
    finally:
        del linecache.cache[filename]


def _differing(first: int, count: int) -> Iterator[str]:
    return (found for seed in range(first, first + count) if (found := differing(seed)) is not None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.structures", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many functions (1000)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first (0)")
    options = parser.parse_args()
    wrong = 0
    for found in _differing(options.seed, options.count):
        print(found, flush=True)
        wrong += 1
    print(f"{options.count} functions, {wrong} of which differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

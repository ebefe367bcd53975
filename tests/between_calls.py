"""Random functions that read and change attributes, globals, and containers that are their arguments, found elsewhere,
or both, with changes between their calls.

`python -m tests.between_calls 200 --seed 1` compares so many with Python: the results of six calls, and after each all
that there is. A third of the functions is called with one of eight objects in each of twenty calls.
"""
from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import tempfile
import warnings
from collections import deque
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import runtime as rt
from runtime.staging.values.iterables import Poison

__all__ = ["compare", "main"]

HEAD = """import numpy as np
from collections import deque

NUMBER, NUMBERS, TABLE = 1, [1, 2], {"x": 1}

class Shared:
    total = 0

class Part:
    def __init__(self):
        self.k, self.ys = 1, [1.0, 2.0]

    def step(self):
        self.k += 2
        return self.k * self.ys[0]

class Box:
    def __init__(self):
        self.n, self.t, self.on, self.name, self.best = 0, 0.0, True, "a", None
        self.xs, self.table, self.array, self.pair = [1.0, 2.0, 3.0], {"a": 1}, np.ones(2), (1, 2)
        self.part, self.other, self.last, self.seen = Part(), Part(), deque([0, 1], 2), []
        self.marks = {0, 2}

def boxes():
    made = [Box() for _ in range(8)]
    for k, box in enumerate(made):
        box.n, box.t, box.on, box.xs[0], box.array[1] = k % 5, k / 4, k % 3 != 1, k / 2, k
        box.part.k, box.other.ys[-1] = k // 2, 1.5 * k
        box.name = "abc"[k % 3]
    made[2].part, made[5].other = made[3].part, made[5].part
    return made

ALIAS, SPARE, ARRAY, MARKS = Part(), Part(), np.ones(2), {1}

def counting():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count

count = counting()

def f(o, x, xs, table, array, part, marks):
    global NUMBER
    y = x * 0
"""
READS = ["o.n", "o.t", "o.on * 1.0", "len(o.name)", "o.xs[0]", "o.xs[-1]", "sum(o.xs)", "len(o.xs)", "o.table['a']",
         "o.table.get('b', 0)", "o.part.k", "o.part.ys[0]", "o.other.k", "NUMBER", "NUMBERS[0]", "TABLE['x']",
         "o.array[0]", "o.array.sum()", "Shared.total", "(0 if o.best is None else o.best)", "getattr(o, 'extra', 1.0)",
         "o.pair[0]", "o.last[0]", "ALIAS.k", "count()", "o.part.step()", "xs[0]", "xs[-1]", "len(xs)", "(xs is o.xs)",
         "table.get('a', 1)", "len(table)", "array[0]", "array.sum()", "part.k", "part.ys[0]", "(part is o.part)",
         "len(o.seen)", "(o.seen[-1] if o.seen else 0.5)", "sum(o.seen[-2:])", "len(o.marks)",
         "(2 in o.marks)", "sum(MARKS)", "len(marks)", "(3 in marks)", "(marks is o.marks)"]
CHANGES = [
    "o.n += 2", "o.t += 0.5", "o.t += o.n * 0.1", "o.t += x", "o.on = not o.on", "o.name = o.name[-2:] + 'b'",
    "o.name = o.name + str(o.n % 3)", "o.xs[0] = o.n", "o.xs[-1] = x", "o.xs = o.xs[1:] + o.xs[:1]", "o.xs.append(o.n)",
    "o.xs = o.xs[:4]", "o.table['a'] = o.table['a'] + 1", "o.table['b'] = o.table.get('b', 0) + 1", "o.part.k += 2",
    "o.part.ys[0] += x", "NUMBER = NUMBER + 1", "NUMBERS[0] += 1", "TABLE['x'] = TABLE['x'] * 2 % 7",
    "o.array[1] += 1.0", "o.array[0] += x", "o.array = o.array + 1.0", "o.array = o.array * x",
    "o.array[:] = o.array[::-1] * 2",
    "Shared.total += 1", "o.best = o.n", "o.best = x if o.best is None or x > o.best else o.best",
    "o.extra = getattr(o, 'extra', 1.0) + 1.0", "o.pair = (o.pair[1], o.pair[0] + 1)", "o.last.append(o.n)",
    "o.n = o.n % 3", "o.n, o.part.k = o.part.k, o.n", "o.part = Part()", "o.part, o.other = o.other, o.part",
    "o.t = np.sqrt(o.t + 1.0)", "ALIAS.k += 1", "xs[0] = xs[0] + 1.0", "xs[-1] = x", "xs.append(2.0)", "o.xs = xs",
    "table['a'] = table.get('a', 1) + 1", "table['x'] = 3", "array[0] = array[1] + x", "array += 1.0", "part.k += 1",
    "part.ys[-1] = x", "o.other = part", "o.t = 0.0", "o.best = None", "o.xs = [1.0, 2.0]", "o.seen.append(x)",
    "o.seen.append(x * 2)", "o.seen = o.seen[-3:]", "o.marks.add(o.n % 4)", "o.marks.discard(2)",
    "MARKS.add(len(MARKS))", "marks.add(3)", "o.marks = {len(o.marks)} | marks", "o.marks = marks", "marks |= o.marks"]
TESTS = ["x > 2", "o.n % 2 == 0", "o.on", "o.t > 1", "len(o.name) > 2", "o.table['a'] > 2", "o.best is None", "x > o.n",
         "NUMBER % 3 == 1"]
BETWEEN = ["o.n = 5", "o.t = 2.5", "o.on = False", "o.name = 'zzz'", "o.xs[-1:] = [9.0]", "o.xs.append(4.0)",
           "o.table['a'] = 7", "o.part.k = 4", "o.part.ys = [5.0]", "m.NUMBER = 10", "m.NUMBERS[0] = 6",
           "m.TABLE['x'] = 3", "o.array[0] = 4.0", "o.array = np.full(2, 3.0)", "m.Shared.total = 9", "o.best = 2",
           "o.extra = 8.0", "o.pair = (5, 6)", "o.last[0] = 3", "o.part = m.Part()", "o.marks.add(2)",
           "o.marks = {3}", "m.MARKS.clear()", "pass", "pass", "pass"]
ARGUMENTS = {
    "xs": ("o.xs", "o.part.ys", "[7.0, 8.0]", "m.ALIAS.ys"), "table": ("o.table", "m.TABLE", "{'a': 4}"),
    "array": ("o.array", "np.zeros(2)", "m.ARRAY"), "part": ("o.part", "o.other", "m.SPARE", "m.ALIAS"),
    "marks": ("o.marks", "m.MARKS", "{0, 3}")}
"""What calls have as these arguments, if the function uses them."""
RAISED = -1e9
"""In place of a result."""


def block(draw: random.Random, reads: list[str], changes: list[str], depth: int = 0) -> list[str]:
    """Statements, with others in them."""
    lines: list[str] = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.random() if depth < 2 else draw.uniform(0, 0.75)
        if kind < 0.35:
            lines.append(f"y = y + {draw.choice(reads)} * {draw.choice(['1', '0.5', 'x'])}")
        elif kind < 0.75:
            lines.append(draw.choice(changes))
        else:
            if kind < 0.9:
                lines.append(f"if {draw.choice(TESTS)}:")
            elif kind < 0.94:
                lines += [f"while x < {draw.choice('36')}:", "    x = x + 1.5"]
            else:
                lines.append(f"for i in range({draw.choice(['2', '3', 'o.n % 3', 'int(x)'])}):")
            lines += [f"    {line}" for line in block(draw, reads, changes, depth + 1)]
    return lines


def load(source: str, path: Path) -> Any:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain(value: Any) -> Any:
    """What there is, as Python's lists, dicts and numbers."""
    if isinstance(value, Poison):
        raise rt.errors.StagingError("an object that only the graph knows is left")
    if isinstance(value, (rt.Tensor, np.ndarray, np.generic)):
        return plain(np.asarray(value).tolist())
    if isinstance(value, set):
        return sorted(map(float, value))
    if isinstance(value, (list, tuple, deque)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value) in (int, float):
        return float(value)
    return {key: plain(item) for key, item in vars(value).items()} if hasattr(value, "__dict__") else value


def agree(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return [*a] == [*b] and all(agree(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(agree, a, b))
    return abs(a - b) <= 1e-3 * max(1, abs(a)) if type(a) is type(b) is float else bool(a == b)


def left(module: ModuleType, boxes: list[Any]) -> list[Any]:
    names = ("NUMBER", "NUMBERS", "TABLE", "ALIAS", "SPARE", "ARRAY", "MARKS")
    return [plain(boxes), module.Shared.total, *(plain(getattr(module, name)) for name in names)]


def compare(seed: int, folder: Path) -> str:
    """What differs from Python; empty: nothing. An error of the runtime is one, too, if Python has none."""
    draw = random.Random(seed)
    subjects = draw.sample(READS, 8), draw.sample(CHANGES, 8)  # few, so that they meet
    first, second = block(draw, *subjects), block(draw, *subjects)
    raises = [f"if {draw.choice(TESTS)}:", "    raise ValueError"] if draw.random() < 0.3 else []
    lines = [*first, *raises, *second, "return y"]
    source = HEAD + "".join(f"    {line}\n" for line in lines)
    python, traced = (load(source, folder / f"between_calls_{kind}_{seed}.py") for kind in ("python", "traced"))
    many = seed % 3 == 2
    a, b = python.boxes(), traced.boxes()
    f = rt.function(traced.f if many else lambda _, x, *more: traced.f(b[0], x, *more),
                    executor=("numpy", "native")[seed % 2])
    for call in range(20 if many else 6):
        at = draw.randrange(8) if many else 0
        x, change = draw.choice([1.0, 2.0, 3.0, 0.5, 4.0]), draw.choice(BETWEEN)
        if not call or draw.random() < 0.25:
            chosen = [draw.choice(kind) if any(name in line for line in lines) else "None"
                      for name, kind in ARGUMENTS.items()]
        more = []
        for module, o in (python, a[at]), (traced, b[at]):
            names = {"o": o, "m": module, "np": np}
            exec(change, names)
            more.append([eval(text, names) for text in chosen])
        try:
            want = float(python.f(a[at], x, *more[0]))
        except ValueError:
            want = RAISED
        except (IndexError, OverflowError, ZeroDivisionError):
            return ""
        before = [*left(traced, b), plain(more[1])]
        try:
            try:
                got = float(f(b[at] if many else None, rt.constant(x), *more[1]))
            except ValueError as error:
                if isinstance(error, rt.errors.OpError):
                    raise
                got = RAISED
            found, expected = [*left(traced, b), plain(more[1])], [*left(python, a), plain(more[0])]
        except (rt.errors.StagingError, rt.errors.DTypeError) as error:
            return f"refused: {error}"
        if want == got == RAISED and agree(before, found) and not agree(expected, found):
            return "refused: everything is as it was before the call that raises"
        if not agree(want, got) or not agree(expected, found):
            return (f"call {call}, after {change}, with {', '.join(chosen)}: {got} {found}\n"
                    f"in place of {want} {expected}\n{source[len(HEAD):]}")
    return ""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.between_calls", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    wrong = refused = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", rt.RetracingWarning)
        for seed in range(options.seed, options.seed + options.count):
            if found := compare(seed, Path(folder)):
                print(f"{seed}: {found}", flush=True)
                refused += found.startswith("refused")
                wrong += not found.startswith("refused")
    print(f"{options.count} functions: {wrong} wrong, {refused} refused")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

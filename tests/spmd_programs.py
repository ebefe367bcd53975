"""Random programs whose loop over a number runs in lanes (`runtime.backends.native.loops.spmd_analysis`), as source
text.

Each has loops in a loop, that go on as long as their data says, and adds up, chooses and counts in them and beside.
All loops end: they count down a number, or go on at most so often.
"""
from __future__ import annotations

import random

__all__ = ["program"]

_SUMS = {
    "+": "{a} += {e}", "-": "{a} = {a} - {e}", "*": "{a} = {a} * ({e} | 1)", "max": "{a} = rt.maximum({a}, {e})",
    "min": "{a} = rt.minimum({a}, {e})", "&": "{a} = {a} & ({e} | 5)", "|": "{a} = {a} | ({e} & 85)",
    "^": "{a} = {a} ^ {e}", "any": "{a} = {a} or {c}", "all": "{a} = {a} and {c}", "flag": "if {c}:\n    {a} = True"}


class Writer:
    """Writes one program. `names`: the variables of an iteration that are numbers of the dtype of its index."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dtype = self.random.choice(["int64", "int32", "int32", "int64", "uint8", "int16"])
        # integers of 64 bits are divided in lanes by powers of two alone
        self.divisors = [2, 4, 8, 32] if self.dtype == "int64" else [2, 3, 7, 8, 40]
        self.names: list[str] = []
        self.count = 0
        self.sums: list[tuple[str, str, str]] = []

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def number(self, depth: int = 2) -> str:
        pick = self.random
        if depth == 0 or pick.random() < 0.3:
            return pick.choice([*self.names, *self.names, str(pick.randint(1, 9)), "limit"])
        x, y = self.number(depth - 1), self.number(depth - 1)
        return pick.choice([
            f"({x} + {y})", f"({x} - {y})", f"({x} * {y})", f"({x} ^ {y})", f"({x} & {y})", f"rt.maximum({x}, {y})",
            f"({x} // {pick.choice(self.divisors)})", f"({x} % {pick.choice(self.divisors)})", f"({x} >> 1)",
            f"rt.where({self.test(0)}, {x}, {y})", f"({x} if {self.test(0)} else {y})",
            f"rt.cast(rt.sqrt(rt.abs(rt.cast({x}, rt.float32)) % 100.0), rt.{self.dtype})"])

    def test(self, depth: int = 1) -> str:
        pick = self.random
        x, y = self.number(depth), self.number(depth)
        return pick.choice([f"{x} > {y}", f"{x} % 2 == 0", f"{x} != {y}",
                            f"({x} < {y} or {y} % {pick.choice(self.divisors)} == 1)",
                            f"rt.cast({x}, rt.float32) / rt.cast({y}, rt.float32) > 1.5"])

    def add(self) -> list[str]:
        """Something is added to a sum."""
        name, kind, dtype = self.random.choice(self.sums)
        number = f"rt.cast({self.number()}, rt.{dtype})"
        return _SUMS[kind].format(a=name, e=number, c=self.test()).split("\n")

    def set(self) -> list[str]:
        value = self.number()
        name = self.name() if self.random.random() < 0.5 else self.random.choice([*self.names[1:], self.name()])
        self.names = list(dict.fromkeys([*self.names, name]))
        return [f"{name} = {value}"]

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.random.choice([self.add, self.set])()
        if depth and self.random.random() < 0.5:
            lines += self.loop(depth - 1)
        elif self.random.random() < 0.4:
            lines += self.branch(depth)
        return [*lines, *self.add()]

    def branch(self, depth: int) -> list[str]:
        known = list(self.names)
        body = self.block(depth)
        self.names = known
        lines = [f"if {self.test()}:", *_in(body)]
        if self.random.random() < 0.5:
            lines += ["else:", *_in(self.add())]
        return lines

    def loop(self, depth: int) -> list[str]:
        """A loop that ends."""
        pick, known = self.random, list(self.names)
        turns, steps = self.name(), self.name()
        first = f"{turns} = {self.number()} % {pick.choice(self.divisors)}"
        if self.dtype == "uint8":
            first = f"{turns} = rt.cast({first.split(' = ', 1)[1]}, rt.int32)"
        how = pick.choice(["down", "down", "limited", "most", "for", "for break"])
        if how.startswith("for"):
            body = self.block(depth)
            left = [f"if {self.test()}:", "    break"] if how == "for break" else []
            lines = [first, f"for {steps} in range({turns}):", *_in([*body, *left])]
        elif how == "down":
            lines = [first, f"while {turns} > 0:", *_in([f"{turns} -= 1", *self.block(depth)])]
        else:
            test = f"{pick.choice(self.names)} % {self.divisors[-1]} > {self.number(1)}"
            if how == "most":
                limit = [f"ag.set_loop_options(maximum_iterations={pick.choice([5, 17])})"]
                lines = [f"while {test}:", *_in([*limit, *self.block(depth)])]
            else:
                lines = [f"{steps} = 0", f"while {steps} < {pick.choice([4, 30])} and {test}:",
                         *_in([f"{steps} += 1", *self.block(depth)])]
        self.names = known
        return lines

    def choose(self) -> list[str]:
        relation = self.random.choice([">", ">=", "<", "<="])
        value = self.number()
        if self.random.random() < 0.3:
            value = f"rt.cast({value}, rt.float32)"
            return [f"value = {value}", f"if value {relation} measure:", "    measure, place = value, i"]
        return [f"value = {value}", f"if value {relation} best:", "    best, place, last = value, i, "
                + self.number(1)]


def _in(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program(seed: int) -> tuple[str, str]:
    """The text of a function `run(limit)`, and the dtype of the limit."""
    w = Writer(seed)
    pick = w.random
    first = []
    for kind in pick.sample(list(_SUMS), pick.randint(1, 4)):
        name = f"sum{len(w.sums)}"
        boolean = kind in ("any", "all", "flag")
        dtype = "bool" if boolean else pick.choice(["int64", "int32", "uint8", "int16", "uint32"])
        w.sums.append((name, kind, dtype))
        first.append(f"{name} = rt.constant({kind == 'all' if boolean else pick.randint(0, 9)}, rt.{dtype})")
    results = [name for name, _, _ in w.sums]
    bounds = "limit" if w.dtype == "uint8" else pick.choice(["limit", "1, limit", "limit, 0, -1", "0, limit, 3"])
    w.names = ["i"]
    body = [f"{name} = i * {pick.randint(1, 9)} + {pick.randint(0, 9)}" for name in (w.name(), w.name())]
    w.names += ["v1", "v2"]
    for _ in range(pick.choice([1, 1, 1, 2])):
        body += w.loop(pick.choice([0, 0, 1]))
        if pick.random() < 0.4:
            body += w.branch(pick.choice([0, 1]))
    chosen = w.choose() if pick.random() < 0.5 else []
    if chosen:
        first += [f"best = rt.constant({pick.choice([0, 3])}, rt.{w.dtype})",
                  f"place = last = rt.constant(0, rt.{w.dtype})", "measure = rt.constant(0.5)"]
        results += ["best", "place", "last", "measure"]
    lines = ["def run(limit):", *_in(first), f"    for i in range({bounds}):", *_in(_in([*body, *chosen, *w.add()])),
             f"    return {', '.join(results)},"]
    return "\n".join(lines) + "\n", w.dtype

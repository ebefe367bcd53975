"""Programs whose first calls `tests.interrupts` interrupts: by name the function, and the arguments of two calls.

The first call may be long, or have no end in sight; the second one has the same types and is short.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import runtime as rt

__all__ = ["PROGRAMS"]

LONG = 2_000_000_000


def i64(n):
    return rt.constant(n, rt.int64)


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def nested(n):
    total = n * 0
    for i in range(n):
        for j in range(i):
            if (i + j) % 3 == 0:
                continue
            total += i * j % 7
            if total > 1_000_000_007:
                break
    return total


def primes(n):
    found = [n * 0 + 2]
    for i in range(3, n):
        prime = True
        for p in found:
            if p * p > i:
                break
            if i % p == 0:
                prime = False
                break
        if prime:
            found.append(i)
    return found[len(found) - 1]


def guarded(n):
    bad = n * 0
    for i in range(n):
        try:
            if i % 3 == 0:
                raise ValueError(i)
            bad += 10 // (i % 5)
        except ZeroDivisionError:
            bad += 1000
        except Exception:
            bad += 1
        finally:
            bad += 2
    return bad


def rnn(xs, h, w):
    for x in xs:
        h = rt.tanh(h @ w + x)
        if rt.reduce_sum(h) > 50.0:
            h = h * 0.5
    return rt.reduce_sum(h) * 0.0 + rt.cast(rt.shape(xs)[0], rt.float32)


def big_arrays(x, n):
    for _ in range(n):
        x = rt.sin(x) * 1.5 + rt.roll(x, 1, 0)
    return rt.cast(rt.size(x), rt.float32) + x[0] * 0.0


def products(x, n):
    for _ in range(n):
        x = x @ x / 300.0
    return x[0, 0]


def comprehension(n):
    squares = [i * i % 11 for i in range(n) if i % 3 != 1]
    return sum(squares) + max([s + k for k, s in enumerate(squares)])


class Vector:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k):
        return Vector(self.x * k if k > 0 else -self.x, self.y * k)

    def __eq__(self, other):
        return self.x == other.x

    @property
    def norm(self):
        if self.x > self.y:
            return self.x
        return self.y


def of_classes(n):
    v = Vector(n, n + 1)
    for i in range(40):
        v = v + Vector(i, 1) * (n % 3)
    return v.norm + (1 if v == Vector(n, n) else 2)


def counted(n):
    for i in range(40):
        yield n % (i + 1)


def generator(n):
    total = n * 0
    for i in counted(n):
        total += i % 10
    return total


def dataset(n):
    total = n * 0
    for x in rt.data.Dataset.range(n).map(lambda x: x * 3 % 7).batch(4, drop_remainder=True).take(10_000_000):
        total += rt.reduce_sum(x)
    return total


STATE = rt.Variable(0, dtype=rt.int64)


def variables(n):
    STATE.assign(0)
    for i in range(n):
        STATE.assign_add(i % 3)
    return STATE.read_value()


def unrolled(n):
    total = n
    for i in [1, 2, 3, 4, 5] * 60:
        if total % i == 0:
            total += i
        else:
            total -= 1
    return total


def many_loops(n):
    total = n * 0
    for k in (1, 2, 3, 5, 7, 11, 13, 17, 19, 23):
        for i in range(n):
            if i % k == 0:
                total += i
            else:
                total ^= k
        while total > 1000 * k:
            total -= 999
        for i in range(n):
            total = total * k % 1009 + i
    return total


def long_loop(n):
    while n > 5:
        n -= 1 if n % 7 else 2
    return n


def doubled(x):
    return 2 * x


def calls_python(n):
    total = n * 0
    for _ in range(n):
        total = rt.py_function(doubled, [total + 1], rt.int64) % 101
    return total


def recursive(n, depth=5):
    if depth == 0:
        return n % 5
    return recursive(n + depth, depth - 1) if n % 2 == 0 else recursive(n - 1, depth - 1)


def strings(n):
    total = n * 0
    for i in range(n):
        if i % 1000 == 999:
            print(f"{i:>10} {total}", end="\r")
        total = (total + i) % 13
    return total


def dicts(n):
    counts = {"even": n * 0, "odd": n * 0, "three": n * 0}
    for i in range(n):
        key = "even" if n % 2 == 0 else "odd"
        counts["three"] += i % 3
        counts["even"] += 1
        if key == "odd" or i > 3:
            counts["odd"] += 2
    return counts["even"] + counts["odd"] * counts["three"]


def sorts(x, n):
    for _ in range(n):
        x = rt.sort(rt.sin(x * 100.0))
    return rt.reduce_max(x) * 0.0 + rt.cast(rt.size(x), rt.float32)


def normal(*shape):
    return rt.constant(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


Arguments = tuple[Any, ...]
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Arguments, Arguments]], Any]] = {
    "collatz": (collatz, lambda: ((i64(27),), (i64(97),)), 118),
    "nested": (nested, lambda: ((i64(100_000),), (i64(20),)), None),
    "primes": (primes, lambda: ((i64(3_000_000),), (i64(100),)), None),
    "guarded": (guarded, lambda: ((i64(LONG),), (i64(20),)), None),
    "rnn": (rnn, lambda: ((normal(200, 64), normal(1, 64), normal(64, 64)),) * 2, 200.0),
    "big arrays": (big_arrays, lambda: ((normal(2_000_000), i64(LONG)), (normal(2_000_000), i64(1))), 2e6),
    "products": (products, lambda: ((rt.ones([300, 300]), i64(LONG)), (rt.ones([300, 300]), i64(3))), 1.0),
    "comprehension": (comprehension, lambda: ((i64(1_000_000),), (i64(50),)), None),
    "classes": (of_classes, lambda: ((i64(4),), (i64(7),)), None),
    "generator": (generator, lambda: ((i64(50),), (i64(71),)), None),
    "dataset": (dataset, lambda: ((i64(LONG),), (i64(22),)), 59),
    "variables": (variables, lambda: ((i64(LONG),), (i64(50),)), 49),
    "unrolled": (unrolled, lambda: ((i64(4),), (i64(11),)), None),
    "many loops": (many_loops, lambda: ((i64(4),), (i64(11),)), None),
    "long loop": (long_loop, lambda: ((i64(LONG),), (i64(100),)), None),
    "calls Python": (calls_python, lambda: ((i64(LONG),), (i64(10),)), 26),
    "recursive": (recursive, lambda: ((i64(4),), (i64(11),)), None),
    "strings": (strings, lambda: ((i64(100_000),), (i64(50),)), None),
    "dicts": (dicts, lambda: ((i64(LONG),), (i64(50),)), None),
    "sorts": (sorts, lambda: ((normal(500_000), i64(LONG)), (normal(500_000), i64(1))), 5e5),
}
"""The function, the arguments of the first and the second call, and what the second gives; None: what Python gives for
an int."""

"""Converted code outside of a trace: the original function, behind one call of a Python function."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import autograph as ag
from benchmarks.measure import OURS, Budget, Row, in_turns

__all__ = ["PROGRAMS", "run"]


def run(budget: Budget) -> Iterator[Row]:
    for name, fn, arguments, most in PROGRAMS:
        converted = ag.convert(fn)
        assert converted(*arguments) == fn(*arguments), name
        times = in_turns({"Python": functools.partial(fn, *arguments), OURS: functools.partial(converted, *arguments)},
                         budget)
        ratio = times[OURS] / times["Python"]
        figures = {k: v * 1e6 for k, v in times.items()}
        if most is None:
            yield Row(name, "us", figures)
        else:
            yield Row(name, "us", figures, f"this / Python = {ratio:.2f} <= {most}", ratio <= most)


def nothing(x):
    return x


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


class Planet:
    def __init__(self, x, y, vx, vy, mass):
        self.x, self.y, self.vx, self.vy, self.mass = x, y, vx, vy, mass

    def pull(self, other, dt):
        dx, dy = self.x - other.x, self.y - other.y
        distance = dx * dx + dy * dy
        force = dt / (distance * distance**0.5)
        self.kick(-dx * other.mass * force, -dy * other.mass * force)
        other.kick(dx * self.mass * force, dy * self.mass * force)

    def kick(self, vx, vy):
        self.vx += vx
        self.vy += vy

    def move(self, dt):
        self.x += self.vx * dt
        self.y += self.vy * dt


def n_body(steps):
    planets = [Planet(float(i), i * 0.5, 0.1 * i, -0.2, 1.0 + i) for i in range(5)]
    for _ in range(steps):
        for i, planet in enumerate(planets):
            for other in planets[i + 1:]:
                planet.pull(other, 0.01)
        for planet in planets:
            planet.move(0.01)
    return sum(planet.x for planet in planets)


class Token:
    def __init__(self, kind, text, position=0):
        self.kind, self.text, self.position = kind, text, position


class Tokenizer:
    def __init__(self, text):
        self.text = text
        self.position = 0

    def peek(self):
        return self.text[self.position] if self.position < len(self.text) else ""

    def take(self, accepts):
        start = self.position
        while self.position < len(self.text) and accepts(self.peek()):
            self.position += 1
        return self.text[start:self.position]

    def tokens(self):
        found = []
        while self.position < len(self.text):
            c = self.peek()
            start = self.position
            if c.isspace():
                self.take(str.isspace)
            elif c.isdigit():
                found.append(Token("number", self.take(str.isdigit), start))
            elif c.isalpha() or c == "_":
                found.append(Token("name", self.take(str.isalnum), start))
            else:
                self.position += 1
                found.append(Token("operator", c, position=start))
        return found


SOURCE = "total = price1 * (amount + 12) - discount / 3 ; return total if total > 0 else 0"


def tokenize(text):
    counts = {}
    for token in Tokenizer(text).tokens():
        counts[token.kind] = counts.get(token.kind, 0) + len(token.text)
    return sorted(counts.items())


class Number:
    def __init__(self, value):
        self.value = value


class Binary:
    def __init__(self, operator, left, right):
        self.operator, self.left, self.right = operator, left, right


class Visitor:
    def visit(self, node):
        return getattr(self, "visit_" + type(node).__name__)(node)

    def visit_Number(self, node):
        return node.value

    def visit_Binary(self, node):
        left, right = self.visit(node.left), self.visit(node.right)
        if node.operator == "+":
            return left + right
        if node.operator == "*":
            return left * right % 1009
        return left - right


def tree(depth):
    if depth == 0:
        return Number(depth + 3)
    return Binary("+*-"[depth % 3], tree(depth - 1), tree(depth - 1))


def visit(depth):
    return Visitor().visit(tree(depth))


def group(words):
    groups = {}
    for word in words:
        key = word.lower()[:2]
        groups.setdefault(key, []).append(word)
        if word not in groups[key][:-1]:
            groups[key].sort()
    lengths = {key: sum(map(len, items)) for key, items in groups.items()}
    best = max(lengths.values())
    return [key for key, length in sorted(lengths.items()) if length == best], min(lengths.values())


WORDS = (
    "the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "while", "thinking",
    "of", "quiet", "brooks", "and", "other", "quarrels",
)


PROGRAMS: tuple[tuple[str, Callable[..., Any], tuple[Any, ...], float | None], ...] = (
    ("a function that gives its argument", nothing, (3,), None),
    ("recursion: fib(12)", fib, (12,), 1.1),
    ("n bodies, with methods", n_body, (5,), 1.1),
    ("a tokenizer", tokenize, (SOURCE,), 1.1),
    ("a visitor", visit, (6,), 1.1),
    ("dicts and lists of words", group, (WORDS,), 1.1),
)

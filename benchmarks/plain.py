"""Converted code on plain Python values: what it costs beside the original, on code that calls a great deal."""
from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import autograph as ag
from benchmarks.measure import OURS, Budget, Row, in_turns

__all__ = ["PROGRAMS", "run"]


def run(budget: Budget) -> Iterator[Row]:
    together = dict.fromkeys(("Python", OURS), 0.0)  # of the programs that have no control flow
    for name, fn, arguments, most in PROGRAMS:
        converted = ag.convert(fn)
        assert converted(*arguments) == fn(*arguments), name
        times = in_turns({"Python": functools.partial(fn, *arguments), OURS: functools.partial(converted, *arguments)},
                         budget)
        ratio = times[OURS] / times["Python"]
        figures = {k: v * 1e6 for k, v in times.items()}
        if most is None:
            yield Row(name, "us", figures, f"this / Python = {ratio:.2f}")
        else:
            yield Row(name, "us", figures, f"this / Python = {ratio:.2f} <= {most}", ratio <= most)
            together = {k: together[k] + v for k, v in figures.items()}
    ratio = together[OURS] / together["Python"]
    yield Row("all without control flow, together", "us", together, f"this / Python = {ratio:.2f} <= 1.3", ratio <= 1.3)


def straight(a, b):
    x = a * b + 3
    y = x - b
    pair = (x, y)
    table = {"a": x, "b": y}
    u = table["a"] + pair[1]
    items = [x, y, u]
    rest = [*items[1:], u]
    k = x // 3
    return k**2 + u + items[0] + rest[0]


def product(a, b):
    return a * b + 1


def calling(a, b):
    x = product(a, b)
    y = product(x, b)
    return product(x, y) + product(y, 2)


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def move(self, dx, dy):
        self.x += dx
        self.y += dy

    def norm(self):
        return (self.x * self.x + self.y * self.y) ** 0.5


def objects(a, b):
    u, v = Vector(a, b), Vector(b, a)
    u.move(b, 1)
    v.move(a, 2)
    return u.norm() + v.norm()


class Rectangle(Vector):
    def __init__(self, x, y):
        super().__init__(x, y)
        self.name = "rectangle"

    def area(self):
        return self.x * self.y

    def norm(self):
        return super().norm() + self.area()


def inheritance(a, b):
    u, v = Rectangle(a, b), Rectangle(b, a)
    return u.norm() + v.norm()


class Point(tuple):
    def __new__(cls, x, y):
        return super().__new__(cls, (x, y))


class Named:
    def __new__(cls, name):
        self = object.__new__(cls)
        self.name = name
        return self

    def __init__(self, name):
        self.text = f"<{name}>"


def new(a, b):
    return Point(a, b)[0] + Point(b, a)[1], Named(a).text, Named(b).name


class Temperature:
    def __init__(self, celsius):
        self.celsius = celsius

    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32

    @fahrenheit.setter
    def fahrenheit(self, value):
        self.celsius = (value - 32) * 5 / 9

    @classmethod
    def of(cls, fahrenheit):
        return cls((fahrenheit - 32) * 5 / 9)

    @staticmethod
    def kelvin(celsius):
        return celsius + 273.15


def members(a, b):
    t = Temperature.of(a)
    t.fahrenheit = t.fahrenheit + b
    return Temperature.kelvin(t.celsius) + t.kelvin(b)


@dataclasses.dataclass
class Item:
    name: str
    price: float
    amount: int = 1

    def cost(self):
        return self.price * self.amount


def data_class(a, b):
    one, other = Item("one", a), Item("other", price=b, amount=2)
    return one.cost() + other.cost(), one == other


def power(x, e=2):
    return x**e


def adding(n):
    def add(x):
        return x + n

    return add


def closures(a, b):
    def scaled(x):
        return x * a

    later = lambda x, by=2: x * by + b  # noqa: E731
    add = adding(a)
    return add(b) + add(a) + scaled(3) + later(a) + power(b, e=3) + power(a)


class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


def noted(fn):
    @functools.wraps(fn)
    def run(*args, **kwargs):
        return fn(*args, **kwargs)

    return run


@noted
def difference(a, b):
    return a - b


cube = functools.partial(power, e=3)


def callables(a, b):
    scale = Scale(a)
    return scale(b) + scale(a) + cube(b) + difference(a, b=b)


def partials(a, b):
    shifted, squared = functools.partial(product, a), functools.partial(power, e=2)
    return shifted(b) + squared(a) + shifted(2)


class Opened:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log += "<"
        return self

    def __exit__(self, *error):
        self.log += ">"


def guarded(a, b):
    opened = Opened("")
    with opened as held:
        x = a + b
        held.log += "x"
    try:
        y = a / b
    finally:
        x += 1
    return x + y, opened.log


def looked_up(table, key):
    try:
        return table[key]
    except KeyError:
        return 0


def numbered(text):
    number = 0
    try:
        number = int(text)
    except ValueError:
        pass
    return number


def handled(a, b):
    table = {"a": a, "b": b}
    return looked_up(table, "a") + looked_up(table, "b") + numbered(a) + numbered(b)


class Journal:
    def __init__(self, vector):
        self.vector, self.items, self.table = vector, [vector], {}

    def put(self, x):
        self.items.append(x)

    def turn(self, dx, dy):
        self.vector.move(dx, dy)

    def size(self):
        return self.items[0].norm()

    def known(self, key):
        return self.table.get(key)


def holding(a, b):
    journal = Journal(Vector(a, b))
    journal.put(a)
    journal.turn(1, b)
    journal.put(journal.known(a))
    return journal.size(), len(journal.items)


def natives(a, b):
    items, table = [a, b, 3], {"a": a}
    items.append(a)
    items.extend(items)
    table.update(b=b)
    text = " Some, Text ".strip().lower().replace("t", "x")
    return items.count(a) + items.index(b) + table.get("b", 0), ",".join(text.split(","))


def builtin_functions(a, b):
    items = [a, b, 1]
    total = len(items) + abs(a) + max(items) + min(a, b) + sum(items)
    return total + len(sorted(items, key=abs)) + sum(map(power, items)) + math.floor(math.sqrt(b))


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


class Counter:
    def __init__(self):
        self.x = 0

    def add(self, d):
        self.x += d
        return self.x


def methods(n):
    counter = Counter()
    for i in range(n):
        counter.add(i)
    return counter.x


def builtin_calls(n):
    out = []
    total = 0
    for i in range(n):
        out.append(i)
        total += len(out) + abs(i)
    return total


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
    ("code without control flow", straight, (3, 4), 1.3),
    ("calls of functions", calling, (3, 4), 1.3),
    ("objects and small methods", objects, (3, 4), 1.3),
    ("super().__init__ and super().norm", inheritance, (3, 4), 1.3),
    ("__new__ in a class", new, (3, 4), 1.3),
    ("properties, class and static methods", members, (3, 4), 1.3),
    ("a dataclass", data_class, (3.0, 4.0), 1.3),
    ("closures, nested functions, defaults", closures, (3, 4), 1.3),
    ("objects with __call__, partial, wraps", callables, (3, 4), 1.3),
    ("partials made where they are called", partials, (3, 4), 1.3),
    ("with and try ... finally", guarded, (3, 4), 1.3),
    ("try ... except in small functions", handled, (3, 4), 1.3),
    ("methods of what objects hold", holding, (3, 4), 1.3),
    ("methods of lists, dicts and text", natives, (3, 4), 1.3),
    ("builtins and math", builtin_functions, (3, 4), 1.3),
    ("recursion: fib(12)", fib, (12,), None),
    ("a method of two lines", methods, (100,), None),
    ("builtins and methods of a list", builtin_calls, (100,), None),
    ("n bodies, with methods", n_body, (5,), None),
    ("a tokenizer", tokenize, (SOURCE,), None),
    ("a visitor", visit, (6,), None),
    ("dicts and lists of words", group, (WORDS,), None),
)

"""The expressions of random programs: text, by what it evaluates to."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Expressions", "Names"]

SEQUENCES = "(1, 2, 3)", "[0, 5]", "range(4)"


@dataclass
class Names:
    """The variables of one function by what they hold, and what may be said at this place."""

    ints: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    maybe: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    outer: list[str] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    loops: int = 0
    depth: int = 0
    generator: bool = False
    nested: int = 0
    returns: bool = True

    def free(self) -> list[str]:
        """The int variables that may be assigned here."""
        return [n for n in self.ints if n not in self.fixed and n not in self.outer]


class Expressions:
    """The text of one program as it grows, and what is at hand in it."""

    def __init__(self, seed: int, tensor: bool) -> None:
        self.random = random.Random(f"{seed}/{tensor}")
        self.tensor = tensor
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0
        self.budget = self.random.randint(4, 16)
        self.names = Names()
        self.lists: list[str] = []
        """The lists that the program has from its start."""
        self.unsure: set[str] = set()
        """The variables of a tensor program that may be unbound."""

    # Text.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.indent += 1
        yield
        self.indent -= 1

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def next_note(self) -> str:
        self.count += 1
        return str(self.count)

    # Choices.

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: tuple[float, Callable[[], str]]) -> str:
        return self.random.choices([c for _, c in choices], [w for w, _ in choices])[0]()

    def plain(self, weight: float) -> float:
        return 0.0 if self.tensor else weight

    def read(self) -> str:
        """An int variable; seldom one that may not be bound."""
        if not self.tensor and self.chance(0.02):
            return self.random.choice(["late", "a", "undefined"])
        return self.random.choice(self.names.ints)

    # Values.

    def int(self, depth: int = 2) -> str:
        r = self.random
        if depth <= 0 or self.chance(0.3):
            return self.read() if self.chance(0.7) else str(r.randint(-3, 9))
        sub = lambda: self.int(depth - 1)
        return self.pick(
            (3, lambda: f"({sub()} {r.choice('+-')} {sub()})"),
            (1, lambda: f"({sub()} * {r.randint(-2, 3)})"),
            (1, lambda: f"({sub()} {r.choice(['//', '%'])} {r.choice([2, 3, 5, 7])})"),
            (0.4, lambda: f"({sub()} {r.choice('&|^')} {r.randint(0, 15)})"),
            (1, lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub()})"),
            (0.5, lambda: f"abs({sub()})"),
            (1, lambda: f"({sub()} if {self.bool(1)} else {sub()})"),
            (0.5, lambda: f"(-{sub()})"),
            (0.3, lambda: f"int({r.choice([*self.names.floats, *self.names.bools, self.bool(1)])})"),
            (0.7, lambda: "len(xs)" if self.chance(0.3) else f"xs[{r.choice(['0', '-1', f'{sub()} % len(xs)'])}]"),
            (0.4, lambda: r.choice(["box.v", "box.items[1]", "d['k']", "d.get('k')", "d.get('none', 4)"])),
            (0.3, lambda: r.choice(["d['large'] % 41", "d['large'] // 50_000_000", "(d['large'] * 3_000 >> 34)"])),
            (0.3, lambda: f"{r.choice(['sum', 'max', 'min'])}(xs)"),
            (0.4, lambda: f"(lambda q: q + {self.read()})({sub()})"),
            (0.4, lambda: f"clip({sub()}{r.choice(['', ', 2', ', high=9', ', low=b, high=a'])})"),
            (0.3, lambda: f"{r.choice(self.names.functions)}({sub()} % 31)" if self.names.functions else sub()),
            (0.2, lambda: f"len({r.choice(self.names.lists)})" if self.names.lists else "0"),
            (0.2, lambda: f"sum({r.choice(self.names.lists)})" if self.names.lists else "0"),
            (0.3, lambda: f"({sub()} {r.choice(['and', 'or'])} {sub()})"),
            (0.5, lambda: f"sum([{self.comprehension()}])"),
            (0.2, lambda: f"len([{self.comprehension()}])"),
            (self.plain(0.2), lambda: f"box.grow({sub()} % 9)"),
            (self.plain(1), lambda: f"note({self.next_note()}, {sub()})"),
            (self.plain(0.7), lambda: self.walrus(sub()) if not self.names.nested else sub()),
            (self.plain(0.3), lambda: f"sum({self.comprehension()})"),
            (self.plain(0.3), lambda: f"({sub()} {r.choice(['//', '%'])} {sub()})"),
            (self.plain(0.3), lambda: f"xs[{sub()}]"),
            (self.plain(0.2), lambda: f"len(f'{{{sub()}}}-{{{self.read()}!r}}')"),
            (self.plain(0.2), lambda: f"sum({{**d, 'm': {sub()}}}.values())"),
            (self.plain(0.2), lambda: f"max(*xs, {sub()}, key=lambda q: q % 3)"),
            (self.plain(0.2), lambda: f"len({{{self.comprehension()}}})"),
            (self.plain(0.1), lambda: f"d[{r.choice(['None', repr('z'), '1'])}]"),
            (self.plain(0.1), lambda: "total"),
        )

    def walrus(self, value: str) -> str:
        return f"({self.random.choice([*sorted(set(self.names.ints) - self.names.fixed), 'w'])} := {value} % 41)"

    def comprehension(self) -> str:
        name = self.fresh("q")
        lists = [] if self.tensor else [f"{x}[:]" for x in self.names.lists]
        over = self.random.choice(["xs", "range(3)", "box.items", *lists])
        text = f"{name} + {self.read()} for {name} in {over}"
        if self.chance(0.5):
            text += f" if {name} % 2 {self.random.choice(['==', '!='])} {self.random.choice([0, 1])}"
        if self.chance(self.plain(0.2)):
            text += f" for r in range({name} % 3) if r or {self.bool(1)}"
        return text

    def float(self) -> str:
        r = self.random
        name = r.choice(self.names.floats)
        return self.pick(
            (2, lambda: f"{name} {r.choice('+-')} {r.randint(0, 8) / 10}"),
            (1, lambda: f"{r.choice(['min', 'max'])}({name}, {r.choice(self.names.floats)})"),
            (1, lambda: f"-{name}"),
            (1, lambda: f"float({self.read()} % 9)"),
            (1, lambda: f"({name} if {self.bool(1)} else {r.randint(-8, 8) / 10})"),
            (0.5, lambda: f"{'float' if self.tensor else ''}({self.read()} % 8) / {r.choice([2, 3, 10])}"),
            (0.5, lambda: f"{name} {r.choice(['//', '%'])} {r.choice([0.3, 1.0, 3])}"),
            (0.5, lambda: f"abs({name})"),
        )

    def bool(self, depth: int = 2) -> str:
        r = self.random
        compare = lambda: f"{self.int(depth - 1)} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {self.int(depth - 1)}"
        if depth <= 0:
            return self.pick((3, compare), (1, lambda: r.choice(self.names.bools or ["True"])))
        sub = lambda: self.bool(depth - 1)
        return self.pick(
            (5, compare),
            (1, lambda: f"({sub()} and {sub()})"),
            (1, lambda: f"({sub()} or {sub()})"),
            (1, lambda: f"(not {sub()})"),
            (0.7, lambda: f"{self.int(0)} < {self.int(1)} {r.choice(['<', '<='])} {self.int(0)}"),
            (0.3, lambda: f"{self.int(0)} {r.choice(['==', '!=', '>'])} {self.read()} != {self.int(1)} < 30"),
            (0.7, lambda: f"{r.choice(self.names.floats)} {r.choice(['<', '>='])} {r.randint(-8, 8) / 10}"),
            (0.7, lambda: r.choice(self.names.bools or ["True"])),
            (0.3, lambda: f"{r.choice(self.names.maybe)} is {r.choice(['', 'not '])}None"
             if self.names.maybe else "True"),
            (0.3, lambda: f"{self.int(0)} {r.choice(['in', 'not in'])} {r.choice(SEQUENCES)}"),
            (0.4, self.containers),
            (0.5, lambda: self.read()),
            (0.2, lambda: f"{r.choice(self.names.lists)}" if self.names.lists else "False"),
            (self.plain(0.3), lambda: f"{self.int(0)} {r.choice(['in', 'not in'])} xs"),
            (self.plain(0.3), lambda: f"any({self.comprehension()})"),
            (self.plain(0.3), lambda: "xs" if self.chance(0.5) else "d.get('z')"),
            (self.plain(0.3), lambda: f"note({self.next_note()}, {sub()})"),
        )

    def containers(self) -> str:
        """A comparison of tuples or lists."""
        r = self.random
        kind = r.choice(["({}, {})", "[{}, {}]", "({}, ({},))"])
        one, other = (kind.format(self.int(0), self.int(1)) for _ in range(2))
        return f"{one} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {other}"

    def text(self) -> str:
        """A string with values formatted into it."""
        r = self.random
        return self.pick(
            (2, lambda: f"f'{{{self.read()}}} and {{{self.int(1)}}}'"),
            (1, lambda: f"f'{{{self.read()}:{r.choice(['3d', '>4', '<3', '+d', '03d'])}}}|'"),
            (1, lambda: f"f'{{{r.choice(self.names.floats)}:{r.choice(['.2f', '6.2f', '+.1f'])}}}'"),
            (self.plain(1), lambda: f"'%d, %s' % ({self.read()}, {self.read()})"),
            (1, lambda: f"'{{}}-{{x}}'.format({self.read()}, x={self.read()})"),
            (self.plain(1), lambda: f"str({self.read()}) + ':'"),
            (0.5, lambda: f"f'{{{self.bool(1)}}}'"),
            (self.plain(0.5), lambda: f"f'{{{self.int(1)}!r:>{{abs({self.read()}) % 5 + 1}}}}'"),
        )

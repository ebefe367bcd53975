"""Programs from a seed: text that defines `program(a, b, f, xs)`, and always comes to an end.

There are two kinds. A `plain` program uses all of Python, and errors are as good as results. A `tensor` program keeps
to what stages: an int stays an int, and below 1000, so that int32 holds it; floats stay multiples of 1/4, which
float32 holds exactly. It has no `try` and no `with` (their handlers and methods belong to Python, a staged error to the
graph), no call that changes an object within a lazy operand, and sets no item of a tensor in a loop.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["ARGUMENTS", "PRELUDE", "generate"]

ARGUMENTS: tuple[tuple[int, int, float, list[int]], ...] = (
    (3, -2, 0.5, [4, 7, 1]), (0, 5, -1.25, [2, -3, 8, 5, 6]), (12, 1, 2.0, [0]),
)
PRELUDE = '''\
import contextlib


class Box:
    def __init__(self, v):
        self.v = v
        self.items = [1, 2]

    def grow(self, by):
        if by > 0:
            self.v = (self.v + by) % 50
        return self.v


class Guard:
    def __init__(self, name, quiet):
        self.name, self.quiet = name, quiet

    def __enter__(self):
        print('enter', self.name)
        return len(self.name)

    def __exit__(self, kind, value, traceback):
        print('exit', self.name, kind and kind.__name__)
        return self.quiet


def note(k, value):
    print('note', k, value)
    return value

'''
ERRORS = ("ValueError", "KeyError", "IndexError")
HANDLED = ("ValueError", "(KeyError, IndexError)", "Exception", "NameError", "TypeError", "LookupError")


@dataclass
class Names:
    """The variables of one function by what they hold, and what may be said at this place."""

    ints: list[str] = field(default_factory=list)
    bools: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    maybe: list[str] = field(default_factory=list)
    outer: list[str] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    loops: int = 0
    depth: int = 0
    generator: bool = False
    nested: bool = False
    returns: bool = True


class Generator:
    """Writes one program."""

    def __init__(self, seed: int, tensor: bool) -> None:
        self.random = random.Random(f"{seed}/{tensor}")
        self.tensor = tensor
        self.lines: list[str] = []
        self.indent = 0
        self.count = 0
        self.budget = self.random.randint(4, 16)
        self.names = Names()

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

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def pick(self, *choices: tuple[float, Callable[[], str]]) -> str:
        return self.random.choices([c for _, c in choices], [w for w, _ in choices])[0]()

    def plain(self, weight: float) -> float:
        return 0.0 if self.tensor else weight

    # Expressions.

    def read(self) -> str:
        """An int variable; seldom one that may not be bound."""
        if not self.tensor and self.chance(0.02):
            return self.random.choice(["late", "a", "undefined"])
        return self.random.choice(self.names.ints)

    def int(self, depth: int = 2) -> str:
        r = self.random
        if depth <= 0 or self.chance(0.3):
            return self.read() if self.chance(0.7) else str(r.randint(-3, 9))
        sub = lambda: self.int(depth - 1)
        return self.pick(
            (3, lambda: f"({sub()} {r.choice('+-')} {sub()})"),
            (1, lambda: f"({sub()} * {r.randint(-2, 3)})"),
            (1, lambda: f"({sub()} {r.choice(['//', '%'])} {r.choice([2, 3, 5, 7])})"),
            (1, lambda: f"{r.choice(['min', 'max'])}({sub()}, {sub()})"),
            (0.5, lambda: f"abs({sub()})"),
            (1, lambda: f"({sub()} if {self.bool(1)} else {sub()})"),
            (0.5, lambda: f"(-{sub()})"),
            (0.7, lambda: "len(xs)" if self.chance(0.3) else f"xs[{r.choice(['0', '-1', f'{sub()} % len(xs)'])}]"),
            (0.4, lambda: r.choice(["box.v", "box.items[1]", "d['k']"])),
            (0.3, lambda: f"{r.choice(['sum', 'max', 'min'])}(xs)"),
            (0.4, lambda: f"(lambda q: q + {self.read()})({sub()})"),
            (self.plain(0.2), lambda: f"box.grow({sub()} % 9)"),
            (0.2, lambda: f"len({r.choice(self.names.lists)})" if self.names.lists else "0"),
            (self.plain(1), lambda: f"note({self.next_note()}, {sub()})"),
            (self.plain(0.7),
             lambda: f"({r.choice([*sorted(set(self.names.ints) - self.names.fixed), 'w'])} := {sub()} % 41)"
             if not self.names.nested else sub()),
            (self.plain(0.5), lambda: f"sum([{self.comprehension()}])"),
            (self.plain(0.3), lambda: f"sum({self.comprehension()})"),
            (self.plain(0.3), lambda: f"({sub()} {r.choice(['and', 'or'])} {sub()})"),
            (self.plain(0.3), lambda: f"({sub()} {r.choice(['//', '%'])} {sub()})"),
            (self.plain(0.3), lambda: f"xs[{sub()}]"),
            (self.plain(0.2), lambda: f"len(f'{{{sub()}}}-{{{self.read()}!r}}')"),
            (self.plain(0.2), lambda: f"sum({{**d, 'm': {sub()}}}.values())"),
            (self.plain(0.2), lambda: f"max(*xs, {sub()}, key=lambda q: q % 3)"),
            (self.plain(0.1), lambda: f"d[{r.choice(['None', repr('z'), '1'])}]"),
        )

    def next_note(self) -> str:
        self.count += 1
        return str(self.count)

    def comprehension(self) -> str:
        name = self.fresh("q")
        text = f"{name} + {self.read()} for {name} in {self.random.choice(['xs', 'range(3)', 'box.items'])}"
        if self.chance(0.5):
            text += f" if {name} % 2 {self.random.choice(['==', '!='])} {self.random.choice([0, 1])}"
        if self.chance(0.2):
            text += f" for r in range({name} % 3) if r or {self.bool(1)}"
        return text

    def float(self) -> str:
        r = self.random
        name = r.choice(self.names.floats)
        return self.pick(
            (2, lambda: f"{name} {r.choice('+-')} {r.randint(0, 8) / 4}"),
            (1, lambda: f"{r.choice(['min', 'max'])}({name}, {r.choice(self.names.floats)})"),
            (1, lambda: f"-{name}"),
            (1, lambda: f"float({self.read()} % 9)"),
            (1, lambda: f"({name} if {self.bool(1)} else {r.randint(-8, 8) / 4})"),
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
            (0.7, lambda: f"{r.choice(self.names.floats)} {r.choice(['<', '>='])} {r.randint(-8, 8) / 4}"),
            (0.7, lambda: r.choice(self.names.bools or ["True"])),
            (0.3, lambda: f"{r.choice(self.names.maybe)} is {r.choice(['', 'not '])}None"
             if self.names.maybe else "True"),
            (self.plain(0.5), lambda: self.read()),
            (self.plain(0.3), lambda: f"{self.int(0)} {r.choice(['in', 'not in'])} xs"),
            (self.plain(0.3), lambda: f"any({self.comprehension()})"),
            (self.plain(0.3), lambda: "xs" if self.chance(0.5) else "d.get('z')"),
            (self.plain(0.3), lambda: f"note({self.next_note()}, {sub()})"),
        )

    # Statements.

    def target(self) -> str:
        """An int variable to assign: one that there is, or a new one."""
        free = [n for n in self.names.ints if n not in self.names.fixed and n not in self.names.outer]
        if free and self.chance(0.75):
            return self.random.choice(free)
        return self.new("ints", "v")

    def new(self, kind: str, stem: str) -> str:
        name = self.fresh(stem)
        getattr(self.names, kind).append(name)
        return name

    def body(self, length: int | None = None) -> None:
        """A block; variables it binds stay known only if that makes no difference to whether they are bound."""
        names = self.names
        known = {kind: list(getattr(names, kind)) for kind in ("ints", "bools", "floats", "lists", "maybe")}
        names.depth += 1
        start = len(self.lines)
        for _ in range(length or self.random.choices([1, 2, 3], [3, 4, 2])[0]):
            self.statement()
        if len(self.lines) == start:
            self.line("pass")
        names.depth -= 1
        keep = 0.03 if self.tensor else 0.1
        for kind, before in known.items():
            after: list[str] = getattr(names, kind)
            setattr(names, kind, [n for n in after if n in before or self.chance(keep)])

    def statement(self) -> None:
        self.budget -= 1
        simple: list[tuple[float, Callable[[], None]]] = [
            (4, self.assign), (1.5, self.augment), (0.6, self.assign_bool), (0.6, self.assign_float),
            (0.8, self.print), (0.6, self.item), (0.6, self.attribute), (0.5, self.unpack), (0.5, self.append),
            (0.3, self.assign_maybe), (0.4, self.jump_if), (0.1, self.raise_if), (0.1, self.check),
            (self.plain(0.3), self.jump), (self.plain(0.2), self.delete), (self.plain(0.3), self.star),
            (self.plain(0.15), lambda: self.line("global_ = 1")),
            (1.5 if self.names.generator else 0, self.yield_),
        ]
        compound: list[tuple[float, Callable[[], None]]] = [
            (4, self.if_), (2, self.for_), (2, self.while_), (0.3, self.match), (0.4, self.function),
            (0.3, self.maybe), (self.plain(1.2), self.try_), (self.plain(0.4), self.with_),
            (self.plain(0.25), self.make_generator), (self.plain(0.15), self.class_), (self.plain(0.2), self.closures),
        ]
        nest = self.names.depth < 4 and self.budget > 0
        choices = simple + [(2 * w, c) for w, c in compound] if nest else simple
        self.random.choices([c for _, c in choices], [w for w, _ in choices])[0]()

    def assign(self) -> None:
        value = self.int()
        plain = "(" not in value and "[" not in value
        self.line(f"{self.target()} = {value if plain else f'{value} % {self.random.choice([11, 37, 53])}'}")

    def augment(self) -> None:
        r = self.random
        free = [n for n in self.names.ints if n not in self.names.fixed and n not in self.names.outer]
        if free:
            self.line(f"{r.choice(free)} {r.choice(['+=', '-=', '%=', '//='])} {r.choice([1, 2, 3])}")

    def assign_bool(self) -> None:
        name = self.random.choice(self.names.bools) if self.names.bools and self.chance(0.6) else None
        value = self.bool()
        self.line(f"{name or self.new('bools', 'p')} = {value}")

    def assign_float(self) -> None:
        value = self.float()
        free = [n for n in self.names.floats if n not in self.names.outer]
        self.line(f"{self.random.choice(free) if free and self.chance(0.8) else self.new('floats', 'g')} = {value}")

    def assign_maybe(self) -> None:
        name = self.random.choice(self.names.maybe) if self.names.maybe else self.new("maybe", "m")
        self.line(f"{name} = {'None' if self.chance(0.5) else f'{self.int(1)} % 29'}")

    def print(self) -> None:
        self.line(f"print('{self.fresh('t')}', {self.int(1)})")

    def item(self) -> None:
        r = self.random
        # A tensor is set by rebinding its variable, and a loop over it does not see that.
        if self.chance(0.5) or (self.tensor and (self.names.nested or self.names.loops)):
            self.line(f"d['k'] = {self.int(1)} % 31")
        elif self.names.lists and self.chance(0.4):
            self.line(f"if {r.choice(self.names.lists)}: pass" if not self.tensor else f"d['k'] += {r.randint(0, 3)}")
        else:
            index = r.choice(["0", "-1", f"{self.read()} % len(xs)"])
            self.line(f"xs[{index}] {r.choice(['=', '=', '+='])} {self.int(1)} % 31")

    def attribute(self) -> None:
        r = self.random
        self.line(r.choice([
            f"box.v = {self.int(1)} % 31", f"box.v += {r.randint(-2, 3)}",
            f"box.items[{r.randint(0, 1)}] = {self.int(1)} % 31",
            f"box.grow({self.read()} % 5)",
        ]))

    def unpack(self) -> None:
        first, second = self.target(), self.target()
        if first != second:
            self.line(f"{first}, {second} = {self.int(1)} % 31, {self.int(1)} % 31")

    def star(self) -> None:
        name = self.fresh("rest")
        self.line(f"{self.target()}, *{name} = {self.random.choice(['xs', 'range(3)', '[]', 'box.items'])}")
        self.line(f"{self.target()} = len({name})")

    def append(self) -> None:
        if self.names.lists:
            self.line(f"{self.random.choice(self.names.lists)}.append({self.int(1)} % 31)")

    def delete(self) -> None:
        self.line(self.random.choice(["del late", "del xs[0]", "del d['k']", f"del {self.target()}", "d['k'] = 1"]))

    def jump_if(self) -> None:
        with self.block(f"if {self.bool(1)}:"):
            self.jump()

    def jump(self) -> None:
        r = self.random
        kinds = (["break", "continue"] * 2 if self.names.loops else []) + (["return"] if self.names.returns else [])
        if not kinds:
            self.augment()
            return
        kind = r.choice(kinds)
        if kind == "return":
            kind = "return " + (self.int(1) if self.names.nested else self.result())
        self.line(kind)

    def raise_if(self) -> None:
        with self.block(f"if {self.bool(1)}:"):
            self.line(f"raise {self.random.choice(ERRORS)}('{self.fresh('e')}')")

    def check(self) -> None:
        self.line(f"assert {self.bool(1)}, '{self.fresh('assert')}'")

    def yield_(self) -> None:
        self.line(self.random.choice([f"yield {self.int(1)}", f"{self.target()} = (yield {self.int(1)}) or 3",
                                      "yield from xs"]))

    # Compound statements.

    def if_(self) -> None:
        with self.block(f"if {self.bool()}:"):
            self.body()
        while self.chance(0.2):
            with self.block(f"elif {self.bool(1)}:"):
                self.body()
        if self.chance(0.55):
            with self.block("else:"):
                self.body()

    def loop_else(self) -> None:
        if self.chance(0.2):
            with self.block("else:"):
                self.body(1)

    @contextmanager
    def loop(self) -> Iterator[None]:
        self.names.loops += 1
        yield
        self.names.loops -= 1

    def for_(self) -> None:
        r = self.random
        name = self.fresh("i")
        over = self.pick(
            (3, lambda: "xs"), (2, lambda: f"range({r.randint(1, 4)})"), (1, lambda: f"range({self.int(1)} % 5)"),
            (0.5, lambda: f"range({self.read()} % 4, 6, 2)"), (0.7, lambda: "enumerate(xs)"),
            (0.5, lambda: "zip(xs, range(9))" if not self.tensor else "enumerate(xs)"), (0.3, lambda: "(1, 2)"),
            (self.plain(0.4), lambda: f"({self.comprehension()})"), (self.plain(0.3), lambda: "reversed(xs)"),
            (self.plain(0.2), lambda: "sorted(d)"), (self.plain(0.2), lambda: "box"), (self.plain(0.2), lambda: "[]"),
            (self.plain(0.3), lambda: "list(xs)"),
        )
        if over == "sorted(d)":
            head, bound = f"for _ in {over}:", []
        elif over.startswith(("enumerate", "zip")):
            bound = [name, self.fresh("j")]
            head = f"for {', '.join(bound)} in {over}:"
        elif not self.tensor and self.chance(0.1):
            head, bound = f"for d['k'] in {over}:", []
        else:
            bound = [name]
            head = f"for {name} in {over}:"
        before = list(self.names.ints)
        self.names.ints += bound
        with self.block(head), self.loop():
            self.body()
        if not self.chance(0.02 if self.tensor else 0.2):
            self.names.ints = [n for n in self.names.ints if n in before or n not in bound]
        self.loop_else()

    def while_(self) -> None:
        name = self.fresh("n")
        limit = self.random.randint(2, 5)
        self.line(f"{name} = 0")
        test = f" and {self.bool(1)}" if self.chance(0.6) else ""
        style = self.random.random()
        if style < 0.6:
            head, first = f"while {name} < {limit}{test}:", f"{name} += 1"
        elif style < 0.8:
            head, first = f"while ({name} := {name} + 1) < {limit}{test}:", ""
        else:
            head, first = "while True:", f"{name} += 1"
        with self.block(head), self.loop():
            if first:
                self.line(first)
            if style >= 0.8:
                with self.block(f"if {name} > {limit}:"):
                    self.line("break")
            self.names.ints.append(name)
            self.names.fixed.add(name)
            self.body()
        self.loop_else()

    def match(self) -> None:
        with self.block(f"match {self.int(1)} % 4:"):
            with self.block(f"case {self.random.choice(['0', '1 | 2', '-1'])}:"):
                self.body(1)
            if not self.tensor and self.chance(0.4):
                with self.block(self.random.choice([
                    "case [x, *_]:", "case {'k': v}:", f"case int() if {self.bool(1)}:", "case Box(v=v):"])):
                    self.body(1)
            if self.chance(0.5):
                name = self.fresh("c")
                with self.block(f"case {name} if {name} > {self.read()}:"):
                    self.names.ints.append(name)
                    self.body(1)
                    self.names.ints.remove(name)
            if self.chance(0.6):
                with self.block("case _:"):
                    self.body(1)
        if not self.tensor and self.chance(0.3):
            subject = self.random.choice(["xs", "(a, xs)", "d", "box", "[a, [b, 1]]"])
            first, second = self.fresh("c"), self.fresh("c")
            pattern = self.random.choice([
                f"[{first}, {second}]", f"[{first}, *{second}]", f"{{'k': {first}, **{second}}}",
                f"Box(v={first}, items=[{second}, _])", f"({first}, [{second}, *_]) if {first} != 2",
                f"[_, [{first}, 1 as {second}]]",
            ])
            with self.block(f"match {subject}:"):
                with self.block(f"case {pattern}:"):
                    self.line(f"print({first}, {second})")
                    self.body(1)
                if self.chance(0.5):
                    with self.block("case _:"):
                        self.body(1)

    def maybe(self) -> None:
        name = self.random.choice(self.names.maybe) if self.names.maybe else None
        if name is None:
            return
        with self.block(f"if {name} is None:"):
            self.body(1)
        with self.block("else:"):
            self.line(f"{self.target()} = {name} % 31")

    def try_(self) -> None:
        with self.block("try:"):
            self.body()
            if self.chance(0.3):
                self.raise_if()
        handlers = 0
        while self.chance(0.7 if not handlers else 0.2):
            handlers += 1
            name = self.fresh("error")
            with self.block(f"except {self.random.choice(HANDLED)} as {name}:"):
                self.line(f"print('caught', type({name}).__name__ + ':', {name})")
                self.body(1)
                if self.chance(0.2):
                    self.line(self.random.choice([
                        "raise", f"raise ValueError('again') from {name}", "raise KeyError('other')"]))
        if handlers and self.chance(0.3):
            with self.block("else:"):
                self.body(1)
        if not handlers or self.chance(0.4):
            with self.block("finally:"):
                loops, returns = self.names.loops, self.names.returns
                if self.chance(0.85):
                    self.names.loops, self.names.returns = 0, False  # else a jump that swallows the error
                self.body(1)
                self.names.loops, self.names.returns = loops, returns

    def with_(self) -> None:
        guard = f"Guard('{self.fresh('w')}', {self.chance(0.3)})"
        name = self.new("ints", "h")
        head = f"with {guard} as {name}:" if self.chance(0.7) else f"with {guard}, Guard('in', False) as {name}:"
        if self.chance(0.2):
            head = f"with contextlib.suppress({self.random.choice(ERRORS)}):"
            self.names.ints.remove(name)
        with self.block(head):
            self.body()

    @contextmanager
    def inner(self, generator: bool = False) -> Iterator[None]:
        """The body of a function made here: it reads the variables around it."""
        outside = self.names
        self.names = Names(
            list(outside.ints), list(outside.bools), list(outside.floats), list(outside.lists), list(outside.maybe),
            outer=[*outside.ints, *outside.bools, *outside.floats, *outside.maybe], fixed=set(outside.fixed),
            depth=outside.depth + 1, generator=generator, nested=True)
        self.names.bools, self.names.maybe = [], []
        shared = [n for n in outside.ints if n not in outside.fixed and n not in outside.outer and n not in ("a", "b")]
        own = self.chance(0.3 if self.tensor else 0.5)
        try:
            if shared and own:
                name = self.random.choice(shared)
                self.line(f"nonlocal {name}")
                self.names.outer.remove(name)
            yield
        finally:
            self.names = outside

    def function(self) -> None:
        if self.names.nested or self.names.depth > 2:
            self.assign()
            return
        name = self.fresh("h")
        default = self.read()
        with self.block(f"def {name}(q, r={default if self.chance(0.5) else '2'}):"), self.inner():
            self.names.ints += ["q", "r"]
            self.body(3)
            self.line(f"return {self.int(1)} % 31")
        self.line(f"{self.target()} = {name}({self.int(1)} % 31)")
        if self.chance(0.5):
            self.line(f"{self.target()} = {name}({self.int(0)}, r={self.int(0)})")

    def closures(self) -> None:
        """Functions made in a loop, which see their variables as they are when called."""
        name, item = self.fresh("fns"), self.fresh("i")
        self.line(f"{name} = []")
        with self.block(f"for {item} in range(3):"):
            extra = self.fresh("v")
            self.line(f"{extra} = {item} * {self.read()} % 7")
            with self.block(f"if {item} {self.random.choice(['>', '!='])} {self.read()} % 3:"):
                self.line(f"{name}.append(lambda: ({item}, {extra}, {self.read()}))")
        self.line(f"print([h() for h in {name}])")

    def make_generator(self) -> None:
        if self.names.nested or self.names.depth > 2:
            self.assign()
            return
        name = self.fresh("gen")
        with self.block(f"def {name}():"), self.inner(generator=True):
            self.names.returns = False
            self.body(3)
            self.line(f"yield {self.int(1)}")
        self.line(self.random.choice([
            f"print(list({name}()))", f"{self.target()} = sum(q % 13 for q in {name}())",
            f"{self.target()} = next({name}(), 5)", f"a, *_ = {name}()"]))

    def class_(self) -> None:
        name = self.fresh("C")
        with self.block(f"class {name}(Box):"):
            self.line(f"k = {self.read()}")
            with self.block("def grow(self, by):"):
                self.line("self.__k = by")
                with self.block(f"if by > {self.random.randint(-2, 5)}:"):
                    self.line("return super().grow(self.__k)")
                self.line("return self.k")
        self.line(f"{self.target()} = {name}({self.read()}).grow({self.int(1)})")

    # The whole.

    def result(self) -> str:
        names = self.names
        shown = ["a", "b", "f", "box.v", *self.random.sample(names.ints, min(2, len(names.ints)))]
        if not self.tensor:
            shown += ["d", "box.items"]
        shown += names.lists
        return f"({', '.join(shown)})"

    def program(self) -> str:
        with self.block("def program(a, b, f, xs):"):
            self.names.ints += ["a", "b"]
            self.names.floats.append("f")
            self.line("box = Box(b)")
            self.line("d = {'k': 2}")
            if self.chance(0.6):
                self.line(f"{self.new('lists', 'out')} = []")
            if not self.tensor and self.chance(0.5):
                with self.block("if a > 0:"):
                    self.line("late = 1")
            for _ in range(self.random.randint(2, 6)):
                self.statement()
            self.line(f"return {self.result()}")
        return PRELUDE + "\n" + "\n".join(self.lines) + "\n"


def generate(seed: int, tensor: bool) -> str:
    """The text of a program; the same seed gives the same text."""
    while True:
        text = Generator(seed, tensor).program()
        try:
            compile(text, "<program>", "exec")
        except SyntaxError:  # a walrus at a place where Python has none, `nonlocal` after use
            seed += 1_000_003
        else:
            return text

"""Programs from a seed: text that defines `program(a, b, f, xs)`, and always comes to an end.

There are two kinds. A `plain` program uses all of Python, and errors are as good as results. A `tensor` program keeps
to what stages: an int stays an int, and below 1000, so that int32 holds it, but for `d['large']` on its way to an item
that int32 holds, where Python's ints may have more bits than a graph's; tensors of floats are float64. It has no `try`
and no `with` (their handlers and methods belong to Python, a staged error to the graph), no call that changes an
object within a lazy operand, and sets no item of a tensor in a loop.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fuzz.expressions import Names
from fuzz.prelude import ARGUMENTS, ERRORS, HANDLED, PRELUDE
from fuzz.statements import Statements

__all__ = ["ARGUMENTS", "PRELUDE", "generate"]


class Generator(Statements):
    """Writes one program."""

    def body(self, length: int | None = None) -> None:
        """A block; variables it binds stay known only if that makes no difference to whether they are bound."""
        names = self.names
        kinds = "ints", "bools", "floats", "lists", "maybe", "functions"
        known = {kind: list(getattr(names, kind)) for kind in kinds}
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
            kept = [n for n in after if n in before or self.chance(keep)]
            if self.tensor:
                self.unsure.update(set(kept) - set(before))
            setattr(names, kind, kept)

    def statement(self) -> None:
        self.budget -= 1
        simple: list[tuple[float, Callable[[], None]]] = [
            (4, self.assign), (1.5, self.augment), (0.6, self.assign_bool), (0.6, self.assign_float),
            (0.8, self.print), (0.6, self.item), (0.6, self.attribute), (0.5, self.unpack), (0.7, self.append),
            (0.3, self.assign_maybe), (0.4, self.jump_if), (0.1, self.raise_if), (0.1, self.check),
            (0.15, self.delete_local), (0.3, self.walrus_statement if not self.names.nested else self.assign),
            (0.4, self.large),
            (self.plain(0.3), self.jump), (self.plain(0.2), self.delete), (self.plain(0.3), self.star),
            (self.plain(0.3), self.global_),
            (1.5 if self.names.generator else 0, self.yield_),
        ]
        compound: list[tuple[float, Callable[[], None]]] = [
            (4, self.if_), (2, self.for_), (2, self.while_), (0.4, self.match), (0.5, self.function),
            (0.3, self.maybe), (self.plain(1.2), self.try_), (self.plain(0.4), self.with_),
            (self.plain(0.25), self.make_generator), (self.plain(0.15), self.class_), (0.2, self.closures),
            (self.plain(0.1), self.coroutine),
        ]
        nest = self.names.depth < 4 and self.budget > 0
        choices = simple + [(2 * w, c) for w, c in compound] if nest else simple
        self.random.choices([c for _, c in choices], [w for w, _ in choices])[0]()

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
            (0.5, lambda: f"range({self.read()} % 4, 6, 2)"), (0.3, lambda: f"range({self.read()} % 6, -1, -2)"),
            (0.7, lambda: "enumerate(xs)"), (0.5, lambda: "zip(xs, range(9))"), (0.2, lambda: "enumerate(zip(xs, xs))"),
            (0.3, lambda: "reversed(xs)"), (0.3, lambda: "(1, 2)"), (0.2, lambda: "range(len(xs))"),
            (0.2, lambda: f"{r.choice(self.names.lists)}[:]" if self.names.lists and not self.names.loops else "xs"),
            (self.plain(0.4), lambda: f"({self.comprehension()})"), (self.plain(0.2), lambda: "sorted(d)"),
            (self.plain(0.2), lambda: "box"), (self.plain(0.2), lambda: "[]"), (self.plain(0.3), lambda: "list(xs)"),
            (self.plain(0.2), lambda: "d.copy().items()"),
        )
        if over in ("sorted(d)", "d.copy().items()"):
            head, bound = f"for _ in {over}:", []
        elif over == "enumerate(zip(xs, xs))":
            bound = [name, self.fresh("j"), self.fresh("j")]
            head = f"for {bound[0]}, ({bound[1]}, {bound[2]}) in {over}:"
        elif over.startswith(("enumerate", "zip")):
            bound = [name, self.fresh("j")]
            head = f"for {', '.join(bound)} in {over}:"
        elif self.chance(self.plain(0.1)):
            head, bound = f"for {r.choice(['d[0]', 'box.v', 'd[repr(a)]'])} in {over}:", []
        else:
            bound = [name]
            head = f"for {name} in {over}:"
        before = list(self.names.ints)
        self.names.ints += bound
        with self.block(head), self.loop():
            self.body()
        if not self.chance(0.02 if self.tensor else 0.2):
            self.names.ints = [n for n in self.names.ints if n in before or n not in bound]
        elif self.tensor:
            self.unsure.update(bound)
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
            self.line(f"{self.some_target()} = {name} % 31")

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
            outer=[*outside.ints, *outside.bools, *outside.floats, *outside.lists, *outside.maybe],
            fixed=set(outside.fixed), depth=outside.depth + 1, generator=generator, nested=outside.nested + 1)
        self.names.bools, self.names.maybe = [], []
        shared = [n for n in outside.free() if n not in ("a", "b")]
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
        if self.names.nested > (0 if self.tensor else 1) or self.names.depth > 2:
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
        if self.chance(0.3):
            self.names.functions.append(name)

    def closures(self) -> None:
        """Functions made in a loop, which see their variables as they are when called; and one that calls itself."""
        name, item = self.fresh("fns"), self.fresh("i")
        if self.chance(0.3):
            with self.block(f"def {name}(q, n):"):
                with self.block("if n <= 0:"):
                    self.line("return q")
                with self.block(f"if q > {self.read()}:"):
                    self.line(f"return {name}(q - 2, n - 1)")
                self.line(f"return {name}(q + 1, n - 1)")
            self.line(f"{self.target()} = {name}({self.read()}, 3)")
            return
        self.line(f"{name} = []")
        with self.block(f"for {item} in range(3):"):
            extra = self.fresh("v")
            self.line(f"{extra} = {item} * {self.read()} % 7")
            test = f"{item} {self.random.choice(['>', '!='])} {'1' if self.tensor else f'{self.read()} % 3'}"
            with self.block(f"if {test}:"):
                self.line(f"{name}.append(lambda: ({item}, {extra}, {self.read()}))")
        self.line(f"print([h() for h in {name}])" if not self.tensor else f"{self.target()} = sum({name}[0]())")

    def coroutine(self) -> None:
        if self.names.nested or self.names.depth > 2:
            self.assign()
            return
        name = self.fresh("co")
        with self.block(f"async def {name}(q):"), self.inner():
            self.names.ints.append("q")
            self.body(3)
            self.line(f"return {self.int(1)} % 31")
        with self.block(f"async def {name}_main():"):
            self.line(f"return await {name}({self.read()}) + await {name}(2)")
        self.line(f"print(run({name}_main()))")

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

    def program(self) -> str:
        with self.block("def program(a, b, f, xs):"):
            self.names.ints += ["a", "b"]
            self.names.floats.append("f")
            self.line("box = Box(b)")
            self.line("d = {'k': 2, 'large': 123_456_789}")
            if self.chance(0.6):
                self.line(f"{self.new('lists', 'out')} = []")
            self.lists = list(self.names.lists)
            if self.chance(0.2):
                self.line(f"{self.new('maybe', 'm')} = {self.random.choice(['None', 'a'])}")
            if self.chance(0.1 if self.tensor else 0.5):
                with self.block("if a > 0:"):
                    self.line("late = 1")
                if self.tensor:
                    self.names.ints.append("late")
                    self.unsure.add("late")
            for _ in range(self.random.randint(2, 6)):
                self.statement()
            if self.chance(0.05 if self.tensor else 0.2):
                with self.block(f"if {self.bool()}:"):
                    self.line(f"return {self.result()}")
            else:
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

"""The simple statements of random programs."""
from __future__ import annotations

from fuzz.expressions import Expressions
from fuzz.prelude import ERRORS

__all__ = ["Statements"]


class Statements(Expressions):
    """Writes statements that hold no others (but what an `if` of one line does)."""

    def target(self) -> str:
        """An int variable to assign: one that there is, or a new one."""
        free = self.names.free()
        if free and self.chance(0.75):
            return self.random.choice(free)
        return self.new("ints", "v")

    def some_target(self) -> str:
        """An int variable to assign where that may not happen: one that there is, or one that nothing reads."""
        free = self.names.free()
        return self.random.choice(free) if free else self.fresh("unread")

    def new(self, kind: str, stem: str) -> str:
        name = self.fresh(stem)
        getattr(self.names, kind).append(name)
        return name

    def assign(self) -> None:
        value = self.int()
        plain = "(" not in value and "[" not in value
        text = value if plain else f"{value} % {self.random.choice([11, 37, 53])}"
        targets = " = ".join([self.target(), *([self.target()] if self.chance(0.1) else [])])
        self.line(f"{targets} = {text}")

    def augment(self) -> None:
        r = self.random
        if free := self.names.free():
            name = r.choice(free)
            operator, value = r.choice([
                ("+=", r.randint(1, 3)), ("-=", r.randint(1, 3)), ("%=", r.randint(2, 9)), ("//=", r.randint(2, 3)),
                ("&=", 15), ("^=", r.randint(1, 7)), ("|=", 1)])
            self.line(f"{name} {operator} {value}")

    def assign_bool(self) -> None:
        name = self.random.choice(self.names.bools) if self.names.bools and self.chance(0.6) else None
        value = self.bool()
        if self.tensor and (value in self.unsure or not self._is_bool(value)):
            value = f"not {value}"  # an operand that is a number gives a number, and a staged variable has one type
        self.line(f"{name or self.new('bools', 'p')} = {value}")

    def _is_bool(self, value: str) -> bool:
        """Whether an expression surely gives True or False, not an operand that counts as one of them."""
        tests = ("<", ">", "==", "!=", "not ", " in ", " is ", "True", "False")
        simple = " and " not in value and " or " not in value
        return value in self.names.bools or (simple and any(test in value for test in tests))

    def assign_float(self) -> None:
        value = self.float()
        free = [n for n in self.names.floats if n not in self.names.outer]
        self.line(f"{self.random.choice(free) if free and self.chance(0.8) else self.new('floats', 'g')} = {value}")

    def assign_maybe(self) -> None:
        name = self.random.choice(self.names.maybe) if self.names.maybe else self.new("maybe", "m")
        self.line(f"{name} = {'None' if self.chance(0.5) else f'{self.int(1)} % 29'}")

    def print(self) -> None:
        name = self.fresh("t")
        self.line(self.random.choice([
            f"print('{name}', {self.int(1)})", f"print({self.text()})",
            f"print('{name}', {self.float()}, {self.bool(1)})",
            f"print({self.read()}, {self.read()}, sep='{name}', end=';\\n')",
        ]))

    def item(self) -> None:
        r = self.random
        # A tensor is set by rebinding its variable, and a loop over it does not see that.
        if self.chance(0.5) or (self.tensor and (self.names.nested or self.names.loops)):
            self.line(r.choice([
                f"d['k'] = {self.int(1)} % 31", f"d['k'] {r.choice(['+=', '-='])} {self.read()} % 7",
                f"d['n'] = {self.int(1)} % 31"]))
        elif self.names.lists and self.chance(0.4):
            self.line(f"if {r.choice(self.names.lists)}: pass" if not self.tensor else f"d['k'] += {r.randint(0, 3)}")
        else:
            index = r.choice(["0", "-1", f"{self.read()} % len(xs)"])
            self.line(f"xs[{index}] {r.choice(['=', '=', '+='])} {self.int(1)} % 31")

    def large(self) -> None:
        """What Python computes with ints that only 64 bits hold; sometimes with larger ones, which graphs refuse."""
        r = self.random
        if self.chance(0.25):
            self.line("d['large'] = " + r.choice([
                f"d['large'] * d['large'] * {r.randint(1, 5)} % 2147483629",
                f"(d['large'] << {r.randint(30, 36)}) // 65537 % 2147483647",
                f"(d['large'] + {r.randint(0, 99)}) ** {r.choice([2, 2, 3])} % 2147483629",
                f"abs(-d['large'] * {r.randint(1, 9)} * 10 ** {r.randint(7, 10)}) % 2147483647",
                f"sum([d['large'] * {2 ** 31 - 1} for _ in range({r.randint(1, 6)})]) % 2147483647"]))
            return
        self.line("d['large'] = " + r.choice([
            f"(d['large'] * 48271 + {r.randint(0, 9)}) % 2147483647", "d['large'] * d['large'] % 2147483629",
            "((d['large'] << 31) ^ 12345) % 2147483647", "-d['large'] * 1_000_003 // 65537 % 2147483647"]))

    def attribute(self) -> None:
        r = self.random
        self.line(r.choice([
            f"box.v = {self.int(1)} % 31", f"box.v += {r.randint(-2, 3)}",
            f"box.items[{r.randint(0, 1)}] = {self.int(1)} % 31",
            f"box.items[{r.randint(0, 1)}] += {self.read()} % 5",
            f"box.grow({self.read()} % 5)",
        ]))

    def unpack(self) -> None:
        x, y, value, other = self.read(), self.read(), self.int(1), self.int(1)
        first, second = self.target(), self.target()
        if self.chance(0.4):
            third = self.target()
            self.line(self.random.choice([f"({first}, {second}), {third} = ({x}, 4), {value} % 31",
                                          f"[{third}, ({second}, {first})] = {x}, [{y}, 3]"]))
        else:
            self.line(self.random.choice([f"{first}, {second} = {value} % 31, {other} % 31",
                                          f"{second}, {first} = {x}, {y}"]))

    def star(self) -> None:
        name = self.fresh("rest")
        self.line(f"{self.target()}, *{name} = {self.random.choice(['xs', 'range(3)', '[]', 'box.items'])}")
        self.line(f"{self.target()} = len({name})")

    def append(self) -> None:
        """A list that grows and shrinks."""
        r = self.random
        if not self.names.lists:
            return
        name, target = r.choice(self.names.lists), self.some_target()
        guarded = [
            f"{target} = {name}.pop()", f"{target} = {name}[-1]", f"{name}.pop(0)",
            f"{name}[0] = {self.int(1)} % 31", f"{target} = {name}[{self.read()} % len({name})]",
            f"del {name}[-1]", f"{name}[-1] += 1",
        ]
        if self.chance(0.6):
            self.line(f"{name}.append({self.int(1)} % 31)")
        elif self.chance(0.7):
            with self.block(f"if {r.choice([name, f'len({name}) > 0'])}:"):
                self.line(r.choice(guarded))
        elif name not in self.names.outer:
            self.line(r.choice([f"{name} += [{self.int(1)} % 31]", f"{name}.extend([{self.read()}, 3])",
                                f"{name}.insert(0, {self.read()})", f"{name} = {name} + [{self.read()}]"]))

    def delete(self) -> None:
        self.line(self.random.choice(["del late", "del xs[0]", "del d['k']", f"del {self.target()}", "d['k'] = 1",
                                      "del box.v", "del d['k'], xs[-1]"]))

    def delete_local(self) -> None:
        """A variable of its own, bound and deleted."""
        name = self.fresh("gone")
        self.line(f"{name} = {self.int(1)} % 9")
        with self.block(f"if {self.bool(1)}:"):
            self.line(f"{self.some_target()} = {name}")
            self.line(f"del {name}")
        with self.block(f"if {self.bool(1)}:"):
            self.line(f"{name} = {self.int(1)} % 9")
        if self.chance(0.3):
            self.line(f"print('{name}', {name})")

    def walrus_statement(self) -> None:
        name = self.new("ints", "w")
        with self.block(f"if ({name} := {self.int(1)} % 23) {self.random.choice(['>', '<=', '!='])} {self.int(1)}:"):
            self.line(f"{self.some_target()} = {name}")

    def global_(self) -> None:
        self.line(self.random.choice([
            "global_ = 1", "d.update(m=2)", "d.setdefault('s', 3)", f"box.items = [{self.read()}, 2, 1]",
            "print(sorted(d))", f"print('%s' % clip(*[{self.read()}], **{{'high': 9}}))",
            "print([*xs, *range(2)], {**d})", "print({q: q * 2 for q in xs}, {q % 2 for q in xs})",
        ]))

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

    def jump_if(self) -> None:
        with self.block(f"if {self.bool(1)}:"):
            self.jump()

    def raise_if(self) -> None:
        with self.block(f"if {self.bool(1)}:"):
            self.line(f"raise {self.random.choice(ERRORS)}('{self.fresh('e')}')")

    def check(self) -> None:
        self.line(f"assert {self.bool(1)}, '{self.fresh('assert')}'")

    def yield_(self) -> None:
        self.line(self.random.choice([f"yield {self.int(1)}", f"{self.target()} = (yield {self.int(1)}) or 3",
                                      "yield from xs"]))

    def result(self) -> str:
        """What a `return` of the whole program gives: in a tensor program, values of the same types each time."""
        names = self.names
        shown = ["a", "b", "f", "box.v"]
        if self.tensor:
            shown += [self.random.choice(names.ints), self.random.choice(names.ints), "d['k']", "box.items[0]"]
            shown.append("d['large']")
            shown += self.lists
        else:
            shown += [*self.random.sample(names.ints, min(2, len(names.ints))), "d", "box.items", *names.lists]
        return f"({', '.join(shown)})"

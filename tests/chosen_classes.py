"""Random programs that use one of several objects of different classes, traced and in Python.

    python -m tests.chosen_classes 300 --seed 1

The methods, properties and special methods of three classes change the object, the list and the dict that it may share
with others, globals, and class attributes. A tensor decides the object, its class or the name of the method. What a
traced function gives, and all that it changes, has to be what Python has; or an error names the line.
"""
from __future__ import annotations

import linecache
import random
import sys
from typing import Any

import runtime as rt
from tests.outcomes import count, refusal
from tests.plain_values import plain

__all__ = ["Program", "outcome"]

SPECIAL = {
    "__bool__": "(self)", "__len__": "(self)", "__add__": "(self, k)", "__radd__": "(self, k)", "__eq__": "(self, k)",
    "__lt__": "(self, k)", "__getitem__": "(self, k)", "__contains__": "(self, k)", "__call__": "(self, k)",
    "__iadd__": "(self, k)"}


class Program:
    """The text of three classes and a function `f(x, n)` of two int scalars."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.special = self.random.sample([*SPECIAL], 3)
        lines = ["N, LOG, TABLE = 0, [0], {'a': 0}", ""]
        for name in "ABC":
            lines += self.of_class(name)
        lines += [f"KEPT = [{', '.join(self.new('[i]', f'dict(a={i})') for i in range(3))}]".replace("[i]", "[1]"),
                  "", "def made(k, log, table):", f"    if k > {self.random.randint(0, 1)}:",
                  f"        return {self.new()}", f"    return {self.new()}", "",
                  "def f(x, n):", "    log, other, table = [1], [2], {'a': 1}", "    t = 0", f"    o = {self.chosen()}",
                  f"    p = {self.chosen()}", *self.block(2, 1),
                  "    return t, log, other, table, o.n, [*o.log], {**p.table}, o is p, type(o) is A"]
        self.text = "\n".join(lines) + "\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def number(self) -> str:
        return str(self.random.randint(1, 9))

    def of_class(self, name: str) -> list[str]:
        base = self.pick("", "(A)") if name != "A" else ""
        lines = [f"class {name}{base}:", "    made = 0"]
        if not base:
            lines += ["    def __init__(self, log, table):",
                      "        self.n, self.log, self.table = 0, log, table"]
        methods = {"hit": "(self, k)", "note": "(self, k)", "size": "(self)",
                   **{special: SPECIAL[special] for special in self.special}}
        for method, arguments in methods.items():
            if base and self.random.random() < 0.4:
                continue
            lines += ["    @property"] * (method == "size")
            lines += [f"    def {method}{arguments}:", "        global N"]
            if "k" not in arguments:
                lines.append(f"        k = {self.number()}")
            if base and self.random.random() < 0.5 and method in ("hit", "note"):
                lines.append(f"        super().{method}(k)")
            lines += [f"        {self.effect(method)}" for _ in range(self.random.randint(0, 2))]
            value = self.pick("self.n", "len(self.log)", "self.table['a']", "N", "k")
            result = f"abs({value})" if method == "__len__" else f"{value} + {self.number()}"
            lines.append("        return " + (
                "self" if method == "__iadd__" else f"{result} > {self.number()}" if method in (
                    "__bool__", "__eq__", "__lt__", "__contains__") else result))
        return [*lines, ""]

    def effect(self, method: str) -> str:
        return self.pick("self.n += k", "self.n = k", "self.log.append(k)", "self.log[0] += k",
                         "self.table['a'] += k", "N += k", "LOG.append(k)", "LOG[0] = k", "TABLE['a'] += k",
                         "A.made += k", "type(self).made += k", "if k > 4: N += 1",
                         "self.note(k)" if method == "hit" else "N -= k")

    def new(self, log: str = "", table: str = "") -> str:
        log, table = log or self.pick("log", "log", "[5]"), table or self.pick("table", "table", "dict(a=3)")
        return f"{self.pick('A', 'B', 'C')}({log}, {table})"

    def chosen(self) -> str:
        test = self.pick("x > 0", "x > 1", "n > x", "x % 2 == 0")
        return self.pick(
            f"{self.new()} if {test} else {self.new()}", f"{self.new()} if {test} else {self.new('other')}",
            "KEPT[x % 3]", "KEPT[n % 2]", f"[{self.new()}, {self.new('other')}][x % 2]", "made(x, log, table)",
            f"(A if {test} else {self.pick('B', 'C')})(log, table)", f"{self.new()}")

    def use(self) -> str:
        o = self.pick("o", "o", "p", f"({self.chosen()})", "KEPT[x % 2]", "KEPT[t % 3]")
        name = o if len(o) == 1 else "o"
        uses = {
            "__bool__": f"t += 1 if {o} else 2", "__len__": f"t += len({o})", "__add__": f"t += {o} + {self.number()}",
            "__radd__": f"t += {self.number()} + {o}", "__eq__": f"t += 1 if {o} == {self.number()} else 3",
            "__lt__": f"t += 1 if {o} < {self.number()} else 3", "__getitem__": f"t += {o}[{self.number()}]",
            "__contains__": f"t += 1 if {self.number()} in {o} else 3", "__call__": f"t += {o}({self.number()})",
            "__iadd__": f"{name} += {self.number()}"}
        if self.random.random() < 0.35:
            return uses[self.pick(*self.special)]
        return self.pick(
            f"{o}.hit({self.number()})", f"t += {o}.note(t)", f"t += {o}.size", f"{o}.log.append({self.number()})",
            f"{o}.log[0] = t", f"{o}.table['a'] += {self.number()}", f"{name}.n += t", "log.append(t)",
            "table['a'] = t",
            f"t += {o}.n + len({o}.log)", f"getattr({o}, 'hit')(2)",
            f"getattr({o}, 'hit' if t > {self.number()} else 'note')(3)", f"m = {o}.note; t += m(1)",
            f"t += 1 if isinstance({o}, A) else 5", f"t += {o}.made", f"{name} = {self.chosen()}",
            f"t += sum(map({o}.note, [1, 2]))", f"t += 1 if {o}.log is log else 2")

    def block(self, depth: int, indent: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth, indent)]

    def statement(self, depth: int, indent: int) -> list[str]:
        space, kind = "    " * indent, self.random.random()
        if kind < 0.75 or depth == 0:
            return [space + self.use()]
        if kind < 0.85:
            return [f"{space}for i in range(n):", *self.block(depth - 1, indent + 1)]
        lines = [f"{space}if {self.pick('t', 'x', 'n', 'o.n')} > {self.number()}:", *self.block(depth - 1, indent + 1)]
        return lines + [f"{space}else:", *self.block(depth - 1, indent + 1)] * (self.random.random() < 0.5)


def run(namespace: dict[str, Any], fn: Any, x: int, n: int) -> Any:
    """What the function gives, and what all that outlives the call has then; or the error."""
    try:
        result = fn(rt.constant(x), rt.constant(n)) if fn is not namespace["f"] else fn(x, n)
    except Exception as error:
        return error
    objects = [plain([one.n, one.log, one.table]) for one in namespace["KEPT"]]
    return plain([result, *(namespace[name] for name in ("N", "LOG", "TABLE"))]), objects, [
        plain(namespace[name].made) for name in "ABC"]


def outcome(program: Program, name: str, executor: str) -> str:
    """What became of a program: "same", "refused", or what is wrong."""
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    code = compile(program.text, name, "exec")
    python: dict[str, Any] = {"__name__": "python"}
    traced: dict[str, Any] = {"__name__": "traced"}
    exec(code, python)
    exec(code, traced)
    fn = rt.function(traced["f"], executor=executor)
    for x, n in ((0, 2), (1, 1), (2, 3), (1, 0)):
        want, got = run(python, python["f"], x, n), run(traced, fn, x, n)
        if (found := refusal(got, name)) is not None:
            return found
        if isinstance(want, Exception):
            return "raises" if type(got) is type(want) else f"Python raises {want!r}, the traced function gives {got}"
        if str(got) != str(want):
            return f"for x = {x}, n = {n} Python gives\n{want}\nthe traced function\n{got}"
    return "same"


if __name__ == "__main__":
    sys.exit(count("chosen_classes", __doc__, Program, outcome))

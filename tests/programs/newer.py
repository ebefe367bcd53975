"""What Python 3.11 to 3.14 added to the grammar. The source is text, as an older Python could not read it."""
from __future__ import annotations

import linecache
import sys
from typing import Any

from programs import program


def newer(version: tuple[int, int], name: str, source: str, *arguments: tuple[Any, ...], **without: str) -> None:
    """Add the program `name` of the source, if this Python reads it."""
    if sys.version_info >= version:
        filename = f"<newer {name}>"
        linecache.cache[filename] = len(source), None, source.splitlines(True), filename
        namespace: dict[str, Any] = {"__name__": __name__}
        exec(compile(source, filename, "exec", dont_inherit=True), namespace)
        program(*arguments, **without)(namespace[name])


newer((3, 11), "except_star", """
def except_star(x):
    log = []
    for errors in ([ValueError(1), KeyError(2)], [TypeError(3)], []):
        try:
            if errors:
                raise ExceptionGroup("several", errors)
        except* ValueError as group:
            log.append(("value", len(group.exceptions)))
        except* (KeyError, TypeError) as group:
            log.append(("key", [type(e).__name__ for e in group.exceptions]))
        else:
            log.append("none")
        finally:
            log.append("finally")
    return log, x + 1 if x > 0 else x
""", (3,), (-3,))

newer((3, 11), "except_star_ends_a_function", """
def except_star_ends_a_function(x):
    def kept(n):
        try:
            if n > 0:
                raise ExceptionGroup("one", [ValueError(n)])
        except* ValueError as group:
            print(len(group.exceptions))

    return kept(x), kept(-x)
""", (3,), (-3,), staged="an `except*` cannot see what a graph raises")

newer((3, 11), "except_star_behind_a_return", """
def except_star_behind_a_return(x):
    def middle(n, other):
        if other is not None:
            if n > 2:
                return n
            try:
                if n > 0:
                    raise ExceptionGroup("one", [ValueError(n)])
            except* ValueError:
                print("caught")

    return [middle(n, other) for n in (x, x - 3) for other in (None, 1)]
""", (3,), (-3,), (5,), staged="an `except*` cannot see what a graph raises")

newer((3, 11), "star_in_subscript", """
def star_in_subscript(x):
    class Grid:
        def __getitem__(self, key):
            return key

    def total(*parts: *tuple[int, ...]):
        return sum(parts)

    rest = (2, 3)
    return Grid()[1, *rest], total(1, 2), x if x > 0 else -x
""", (3,), (-3,))

newer((3, 12), "type_parameters", """
def type_parameters(x):
    type Pairs[T: int] = list[tuple[T, T]]

    def larger[T: (int, float)](a: T, b: T) -> T:
        if a > b:
            return a
        return b

    class Box[T, *Ts, **P]:
        def __init__(self, v: T):
            self.v = v

        def get[U](self, other: U) -> T | U:
            return self.v if self.v > 0 else other

    names = [p.__name__ for p in larger.__type_params__ + Box.__type_params__ + Box.get.__type_params__]
    return larger(x, 2), Box(x).get(0), Pairs.__name__, names, larger.__qualname__, Box.get.__qualname__
""", (3,), (-3,))

newer((3, 12), "tests_in_comprehensions_of_type_parameters", """
def tests_in_comprehensions_of_type_parameters(x):
    type Known = [k for k in (1, 0, 2) if k and k != 2]

    def first[T: (int, [t for t in (str,) if t][0])](a: T, others=[k for k in (3, 0) if k]) -> T:
        return a if a > 0 else others[0]

    class Box[T, *Ts, **P](dict[T, int]):
        kept = [v for v in (3, 0) if v]

        def get[U](self, a: U) -> list[U]:
            return [a for v in self.kept if v]

    return Known.__value__, first(x), Box.kept, Box().get(1), str(first.__type_params__[0].__constraints__)
""", (3,), (-3,))

newer((3, 12), "nested_quotes_in_f_strings", '''
def nested_quotes_in_f_strings(x):
    names = {"a": 1, "b": 2}
    return f"{", ".join(f"{k}={v!r}" for k, v in names.items() if v > 0)}|{names["a"]:{names["b"] + 2}d}|{
        # a comment in it
        len(names)
    }", x if x > 0 else -x
''', (3,), (-3,))

newer((3, 13), "type_parameter_defaults", """
def type_parameter_defaults(x):
    class Box[T = int, *Ts = *tuple[int, str]]:
        def get[U = str](self, v: U) -> U:
            return v if v > 0 else -v

    return Box().get(x), Box.__type_params__[0].__default__.__name__
""", (3,), (-3,))

newer((3, 14), "template_strings", """
def template_strings(x):
    name = "a"
    made = t"{name!r:>5} and {1 + 1}"
    return made.strings, [(i.value, i.expression, i.conversion, i.format_spec) for i in made.interpolations], (
        x if x > 0 else -x)
""", (3,), (-3,))

newer((3, 14), "except_without_parentheses", """
def except_without_parentheses(x):
    try:
        raise KeyError
    except ValueError, KeyError:
        return x if x > 0 else -x
""", (3,), (-3,))

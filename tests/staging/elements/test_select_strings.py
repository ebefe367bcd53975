"""Text that a tensor chooses, or a staged loop makes: as in Python, on both executors."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from traced_once import on

import autograph as ag
import runtime as rt
from runtime.errors import StagingError
from tests.plain_values import executors, outcome


def parity(n):
    s = "even" if n % 2 == 0 else "odd"
    print("n is", s, n)
    return s, s + "!"


def ordered(n):
    if n < 3:
        return "less", 1
    elif n == 3:
        return "equal", 0
    return "greater", -1


def list_of_numbers(n):
    out = "["
    for i in range(n):
        if i % 2:
            out += f"{i};"
        else:
            out = out + "e"
    print(out)
    return out + "]"


def state_machine(n):
    state, k = "start", 0
    while state != "done":
        if n == 1 or k > 5:
            state = "done"
        else:
            state = "run"
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return state, k, n


def matched(n):
    match n:
        case 0:
            sign = "zero"
        case x if x < 0:
            sign = "negative"
        case _:
            sign = "positive"
    match sign:
        case "zero" | "negative":
            return sign, 0
    return sign, 1


def compared(n):
    label = "a" if n > 0 else "b"
    other = "a" if n >= 0 else "c"
    found = 0
    if label == other:
        found += 1
    if label != "a":
        found += 10
    if "b" == label:
        found += 100
    if label in ("a", "z"):
        found += 1000
    if label not in {"b", "c"}:
        found += 10000
    return found, label == other, label != "b", f"{n}" == "3", label in [other, "x"]


def perhaps(n):
    label = None
    if n > 0:
        label = f"<{n}>"
    if n == 0:
        label = "zero"
    if label is None:
        return -1
    return 1


def raised(n):
    what = "negative" if n < 0 else "positive"
    if n != 0:
        raise ValueError(f"{what}: {n}")
    return what


def in_containers(n):
    d = {"k": "x"}
    if n > 1:
        d["k"] = "yy"
    names = ["a", "b"]
    if n > 2:
        names[0] = "c"
    return d, names, d["k"] + names[0]


def accents(n):
    s = "é✓" if n else ""
    return s * 2, f"{s}:{s}", " ".join([s, "b"]), s == "é✓"


def of_calls(n):
    def name(k):
        if k > 1:
            return "big"
        return "small"

    return name(n) + name(n - 2), [name(n)]


def one_way(n):
    if n > 1:
        s = f"{n + 1}"
    else:
        raise ValueError("no")
    return s


@dataclasses.dataclass
class Machine:
    state: str = "idle"
    steps: int = 0

    def go(self, x):
        if self.state == "idle":
            if x > 2:
                self.state = "busy"
        elif x == 0:
            self.state = "idle"
        self.steps += 1


def of_an_object(n):
    machine = Machine()
    for i in range(n):
        machine.go(i)
    at_the_end = machine.state
    for i in range(n):
        machine.go(n - 1 - i)
    return at_the_end, machine.state, machine.steps


def caught(n):
    try:
        if n > 2:
            raise KeyError("k")
        said = "fine"
    except KeyError:
        said = "caught"
    return said


def is_there(n):
    s = "" if n < 2 else "é✓a"
    out = 1 if s else 2
    if not s:
        out += 10
    number = f"{n}"
    if number:
        out += 100
    return (out, s or "x", s and "y", bool(s), not s, not number, any([s, ""]), all([s, "b"]), bool(s) or n > 5,
            [x for x in ["a", ""] if x])


def how_long(n):
    s = "" if n < 2 else "é✓a"
    out = ""
    while len(out) < n:
        out += "ab"
    return len(s), len(s + f"{n}"), len(s) == 3, len(s * 2) > 3, out


def perhaps_none_or_empty(n):
    label = None
    if n > 1:
        label = "positive"
    if n > 2:
        label = ""
    if label:
        return 1
    return 2 if label is None else 3


def until_empty(n):
    text, k = "xxx", n
    while text:
        text = "" if k < 1 else "x"
        k -= 1
    return k


def asserted(n):
    s = "" if n < 2 else "a"
    assert s or n < 2, "none"
    return s in {s, "b"}, s in {"a", "b"}, type(s) is str, isinstance(s, str)


PROGRAMS: tuple[Callable[..., Any], ...] = (
    parity, ordered, list_of_numbers, state_machine, matched, compared, perhaps, raised, in_containers, accents,
    of_calls, one_way, of_an_object, caught, is_there, how_long, perhaps_none_or_empty, until_empty, asserted,
)


@executors
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[..., Any], executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    def given(fn: Callable[..., Any], x: Any) -> Any:
        return outcome(fn, x, capsys, ValueError, lambda error: str(error).partition("\n")[0].rpartition(": ")[2])

    staged, eager = on(executor, program), ag.convert(program)
    for n in (-4, 0, 1, 2, 3, 7):
        want = given(program, n)
        assert given(staged, rt.constant(n)) == want
        assert given(eager, rt.constant(n)) == want
    assert staged.experimental_get_tracing_count() == 1


def test_what_is_kept_outside_is_no_text() -> None:
    class Settings:
        name = "new"

    settings = Settings()

    @rt.function
    def rename(x):
        if x > 0:
            settings.name = "other"
        return x

    rename(rt.constant(1))
    assert settings.name == "other"
    settings.name = "new"
    rename.get_concrete_function(rt.TensorSpec([], rt.float32))  # a trace alone
    for use in (str, lambda text: text == "other", lambda text: f"{text}", len, hash):
        with pytest.raises(rt.errors.InaccessibleTensorError, match=r"the tensor 'settings.name' .* belongs to graph "
                                                                    r"'rename' .* and is used outside of it"):
            use(settings.name)

    @rt.function
    def show(x):
        print(settings.name)

    with pytest.raises((StagingError, rt.errors.InaccessibleTensorError)):
        show(rt.constant(1))


def test_it_is_a_new_key() -> None:
    @rt.function
    def make(n):
        kind = "small" if n < 3 else "big"
        return {kind: 1}

    assert [make(rt.constant(n)) for n in (1, 3)] == [{"small": 1}, {"big": 1}]


# Names of attributes

class Sides:
    def __init__(self) -> None:
        self.left, self.right, self.rows, self.others = 3, 4, [1], [2]

    def up(self) -> int:
        self.left += 1
        return self.left

    def down(self) -> int:
        self.left -= 1
        return self.left


def test_a_tensor_chooses_the_name_of_an_attribute() -> None:
    def f(t):
        sides = Sides()
        name = "left" if t > 0 else "right"
        if t > 5:
            name = "left"
        getattr(sides, "rows" if t > 0 else "others").append(5)
        found = getattr(sides, name), getattr(sides, ["right", "left"][t * t - 1 if t < 2 else 0])
        moved = getattr(sides, "up" if t > 0 else "down")()
        return (*found, moved, sides.left, len(sides.rows), len(sides.others),
                1 if hasattr(sides, "left" if t > 0 else "none") else 0, getattr(sides, "none" if t > 0 else name, 9))

    for t in (1, -1, 7):
        assert [int(x) for x in rt.function(f)(rt.constant(t))] == list(f(t))


def test_a_name_that_may_be_that_of_no_attribute() -> None:
    f = rt.function(lambda t: getattr(Sides(), "left" if t > 0 else "none"))
    assert int(f(rt.constant(1))) == 3
    with pytest.raises(AttributeError, match="'Sides' object has no attribute 'none'"):
        f(rt.constant(-1))


@dataclasses.dataclass
class Point:
    x: Any
    tag: int = 0


class Named:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __repr__(self) -> str:
        return f"Named({self.x})"


def of_a_choice(n: Any) -> Any:
    c = Point(3) if n > 5 else Point(4, 1)
    d = Named(3) if n > 5 else Named(4)
    return repr(c), f"{c}", str([c]), f"{(c, d)}", str(d), "%r" % c  # noqa: UP031


def of_an_element_or_another(n: Any) -> Any:
    rows = [Point(i) for i in range(n)]
    best = rows[0]
    for row in rows:
        if row.x > 1:
            best = row
    return repr(Point(3) if n > 5 else best)


def of_what_may_be_none(n: Any) -> Any:
    best = None
    for i in range(n):
        if i > 2:
            best = Point(i)
    return repr(best), f"{best}", [repr(best)]


@executors
@pytest.mark.parametrize("fn", [of_a_choice, of_an_element_or_another, of_what_may_be_none])
def test_text_of_chosen_objects(fn: Callable[..., Any], executor: str) -> None:
    for n in (1, 4, 6):
        traced = on(executor, fn)(rt.constant(n))
        assert rt.nest.map_structure(lambda x: x.numpy().decode() if isinstance(x, rt.Tensor) else x, traced) == fn(n)

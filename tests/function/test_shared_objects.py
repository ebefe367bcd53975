"""Objects of one class, and dataclass objects with other numbers, share traces from the fifth on, and are what they are
in Python."""
from __future__ import annotations

import copy
import dataclasses
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import runtime as rt


class Vector:
    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)


class Body:
    def __init__(self, k: int) -> None:
        self.at, self.speed, self.name = Vector(float(k), 0.0), Vector(0.5, k * 0.25), f"body {k}"
        self.hits, self.path, self.mass = 0, [1.0 * k, 2.0], (k + 1, 2.5)
        self.other: Any = None

    def move(self, dt):
        self.at = self.at + Vector(self.speed.x * dt, self.speed.y * dt)
        if self.at.y > 1:
            self.speed.y = -self.speed.y
            self.hits += 1
        return self.at.x


class Special(Body):
    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.extra = k * 3.0


class Slotted:
    __slots__ = ("count", "x")

    def __init__(self, k: int) -> None:
        self.x, self.count = 1.5 * k, 0


@dataclasses.dataclass
class Settings:
    size: int
    rate: float
    deep: bool = False


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float


def counted(o, x):
    o.hits += 1
    return x * o.hits


def in_lists(o, x):
    for i in range(2):
        o.path[i] += o.mass[i] * x
    o.mass = (o.mass[1], o.mass[0])
    return o.path[0]


def linked(o, other, x):
    o.other = other
    if o is other:
        return x
    return x * other.at.x


def greater(o, other, x):
    return o if o.at.x * x > other.at.x else other


def missing(o, x):
    if hasattr(o, "extra"):
        return x + o.extra
    o.extra = x
    return x * o.hits


def dynamic(o, x, name="hits"):
    return getattr(o, name) * x


def of_all(o, x):
    return {name: x for name in vars(o)}


def duplicated(o, x):
    new = copy.copy(o)
    new.hits = x
    return new


def slotted(o, x):
    o.count += 2
    o.x = o.x * x
    return o.x


def settings(o, x):
    y = np.zeros(o.size) + x * o.rate
    for _ in range(o.size):
        y = y * 1.5
    return y * 2 if o.deep else y


def moved(p, x):
    return Point(p.x + x, p.y * x)


def many(bodies, x):
    total = 0.0
    for body in bodies:
        body.hits = body.hits + x
        total += body.hits
    return total


def refused(o, x):
    o.hits += 1
    if o.hits > 2 and x > 0:
        raise ValueError("again")
    return x


BODIES: dict[str, tuple[Callable[..., Any], Callable[[int], Any], Callable[[list[Any], int], Any]]] = {
    "method": (Body.move, Body, lambda all, k: all[k * 3 % 9]),
    "subclasses": (Body.move, lambda k: (Body, Special)[k % 2](k), lambda all, k: all[k * 3 % 9]),
    "count": (counted, Body, lambda all, k: all[k % 9]),
    "lists": (in_lists, Body, lambda all, k: all[k * 4 % 9]),
    "two": (linked, Body, lambda all, k: (all[k * 5 % 9], all[k * 7 % 9])),
    "result": (greater, Body, lambda all, k: (all[k * 5 % 9], all[k * 7 % 9])),
    "missing": (missing, lambda k: (Body, Special)[k % 3 == 0](k), lambda all, k: all[k * 5 % 9]),
    "dynamic": (dynamic, Body, lambda all, k: all[k % 9]),
    "all attributes": (of_all, Body, lambda all, k: all[k % 9]),
    "copy": (duplicated, Body, lambda all, k: all[k % 9]),
    "slots": (slotted, Slotted, lambda all, k: all[k % 9]),
    "settings": (settings, lambda k: Settings(k % 4 + 1, k * 0.1, k % 2 == 0), lambda all, k: all[k % 9]),
    "frozen": (moved, lambda k: Point(k / 3, 2.0), lambda all, k: all[k % 9]),
    "list of objects": (many, Body, lambda all, k: [all[k % 9], all[k * 2 % 9], all[k % 9]]),
}


def plain(value: Any, known: dict[int, int]) -> Any:
    """What there is, as lists, dicts and numbers, with numbers for objects."""
    if isinstance(value, (rt.Tensor, np.ndarray, np.generic)):
        return np.asarray(value, np.float64).tolist()
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [plain(item, known) for item in value]
    if isinstance(value, dict):
        return {key: plain(item, known) for key, item in value.items()}
    if not hasattr(value, "__dict__") and not hasattr(value, "__slots__"):
        return value
    if id(value) in known:
        return f"object {known[id(value)]}"
    known[id(value)] = len(known)
    names = sorted([*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())])
    return {name: plain(getattr(value, name), known) for name in names}


def close(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return [*a] == [*b] and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return bool(a == pytest.approx(b, rel=1e-4)) if isinstance(a, float) and isinstance(b, float) else bool(a == b)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("name", BODIES)
def test_as_in_python(name: str, executor: str) -> None:
    fn, make, choose = BODIES[name]
    f = rt.function(fn, executor=executor)
    mine, others = [make(k) for k in range(9)], [make(k) for k in range(9)]
    for k in range(40):
        found, expected = choose(mine, k), choose(others, k)
        got = f(*(found if isinstance(found, tuple) else (found,)), rt.constant(0.5 + k % 2))
        want = fn(*(expected if isinstance(expected, tuple) else (expected,)), np.float32(0.5 + k % 2))
        assert close(plain([got, *mine], {}), plain([want, *others], {})), k


def traces(fn: Callable[..., Any], objects: Iterable[Any]) -> int:
    f = rt.function(fn)
    for o in objects:
        f(o, rt.constant(1.0))
    return f.experimental_get_tracing_count()


def test_traces_do_not_depend_on_how_many_objects_there_are() -> None:
    for fn, make in (Body.move, Body), (counted, Body), (slotted, Slotted), (moved, lambda k: Point(k / 3, 1.0)):
        few, many = [make(k) for k in range(9)], [make(k) for k in range(60)]
        assert traces(fn, [*few, *few]) == traces(fn, [*many, *many]) <= 11


def test_methods_share_traces() -> None:
    class Counter:
        def __init__(self, k: int) -> None:
            self.k, self.total, self.name = k, 0.0, f"counter {k}"

        @rt.function
        def add(self, x):
            self.k += 1
            self.total += self.k * x
            return self.total

    counters = [Counter(k) for k in range(40)]
    for x in 1.0, 2.0:
        for k, counter in enumerate(counters):
            got = counter.add(rt.constant(x))
            want = (k + 1.0) * 1 + (x > 1) * (k + 2.0) * 2
            assert float(got) == want and counter.k == k + int(x) and type(counter.k) is int
    assert Counter.add.experimental_get_tracing_count() <= 6
    assert sum(counter.add.experimental_get_tracing_count() > 0 for counter in counters) == 4
    assert "the last call used a trace" in counters[-1].add.explain()


def test_attributes_that_the_function_does_not_name_are_not_looked_at() -> None:
    bodies = [Body(k) for k in range(30)]
    for k, body in enumerate(bodies):
        body.unused = object() if k % 2 else [Body(1)] * k  # type: ignore[attr-defined]
    assert traces(counted, bodies) <= 11


def test_numbers_stay_pythons() -> None:
    @rt.function
    def next_of(o, x):
        o.state = (o.state * 1103515245 + 12345) % 2**31
        o.ratio = o.ratio * 3
        return x

    class Generator:
        def __init__(self, k: int) -> None:
            self.state, self.ratio = 77 * k + 2**30, 0.1 * k

    generators = [Generator(k) for k in range(12)]
    states = [(g.state, g.ratio) for g in generators]
    for _ in range(3):
        for g in generators:
            next_of(g, rt.constant(1.0))
        states = [((s * 1103515245 + 12345) % 2**31, ratio * 3) for s, ratio in states]
        assert [(g.state, g.ratio) for g in generators] == states
        assert all(type(g.state) is int and type(g.ratio) is float for g in generators)
    assert next_of.experimental_get_tracing_count() <= 7


def test_numbers_that_no_input_can_stand_for() -> None:
    bodies = [Body(k) for k in range(12)]
    for k, body in enumerate(bodies):
        body.hits = 2**63 + k if k % 2 else 2**70

    @rt.function
    def f(o, x):
        o.hits += 1
        return x

    for body in bodies:
        f(body, rt.constant(1.0))
    assert [body.hits for body in bodies] == [2**63 + k + 1 if k % 2 else 2**70 + 1 for k in range(12)]


def test_objects_that_hold_each_other() -> None:
    @rt.function
    def f(o, x):
        o.other.hits += 1
        return o.other.other.hits * x + o.other.hits

    pairs = [(Body(k), Body(2 * k)) for k in range(12)]
    for a, b in pairs:
        a.other, b.other = b, a
    for round in range(2):
        for k, (a, b) in enumerate(pairs):
            assert float(f(a, rt.constant(2.0))) == 2 * a.hits + 1 + round and b.hits == 1 + round, k
            a.hits = k
    assert f.experimental_get_tracing_count() <= 9


def test_objects_that_hold_variables_have_traces_of_their_own() -> None:
    @rt.function
    def g(o, x):
        o.other.assign_add(x)
        return o.other * 1.0

    bodies = [Body(k) for k in range(7)]
    for k, body in enumerate(bodies):
        body.other = rt.Variable(float(k))
        assert float(g(body, rt.constant(2.0))) == k + 2 and body.other.numpy() == k + 2


def test_an_object_of_a_set_is_itself() -> None:
    bodies = [Body(k) for k in range(9)]
    known = {bodies[2], bodies[7]}

    @rt.function
    def f(o, x):
        return x * 2 if o in known else x

    assert [float(f(body, rt.constant(1.0))) for body in bodies] == [2.0 if k in (2, 7) else 1.0 for k in range(9)]


def test_an_object_that_is_found_elsewhere_too_is_one() -> None:
    bodies = [Body(k) for k in range(9)]
    best = Body(100)
    best.other = bodies[0]

    @rt.function
    def f(o, x):
        o.hits += 2
        if o is best.other:
            return x * -1
        before, best.other = best.other, o
        return x * before.hits

    for _ in range(2):
        for k, body in enumerate(bodies):
            before, hits = best.other, best.other.hits
            got = float(f(body, rt.constant(1.0)))
            assert got == (-1 if body is before else hits) and best.other is body, k


def test_what_needs_the_number_itself_has_a_trace_for_each() -> None:
    @rt.function
    def f(o, x):
        return rt.reshape(x, [o.size, -1])[0]

    for size in (1, 2, 3, 4, 6, 12, 1, 2, 3):
        assert f(Settings(size, 0.5), rt.range(12)).shape == (12 // size,)
    assert f.experimental_get_tracing_count() <= 8


def test_errors_run_and_print_once(capsys: pytest.CaptureFixture[str]) -> None:
    @rt.function
    def f(o, x):
        print("runs", x)
        if o.hits > 6:
            raise ValueError("too many")
        return 1 // (o.hits - x)

    bodies = [Body(k) for k in range(9)]
    for k, body in enumerate(bodies):
        body.hits = k
    for k, body in enumerate(bodies):
        if k > 6:
            with pytest.raises(ValueError, match="too many"):
                f(body, rt.constant(20))
        else:
            f(body, rt.constant(20))
        assert capsys.readouterr().out == "runs 20\n", k
    with pytest.raises(ZeroDivisionError):
        f(bodies[5], rt.constant(5))
    assert capsys.readouterr().out == "runs 5\n"


def test_a_wrong_argument_does_not_end_sharing() -> None:
    f = rt.function(counted)
    bodies = [Body(k) for k in range(30)]
    for body in bodies[:12]:
        f(body, rt.constant(1.0))
    before = f.experimental_get_tracing_count()
    bodies[12].hits = "text"  # type: ignore[assignment]
    with pytest.raises(TypeError):
        f(bodies[12], rt.constant(1.0))
    for body in bodies[13:]:
        f(body, rt.constant(1.0))
    assert f.experimental_get_tracing_count() <= before + 1


def test_threads() -> None:
    f = rt.function(counted)
    groups = [[Body(k) for k in range(20)] for _ in range(4)]
    wrong: list[Any] = []

    def run(bodies: list[Body]) -> None:
        for round in range(3):
            for body in bodies:
                if float(f(body, rt.constant(2.0))) != 2.0 * (round + 1):
                    wrong.append((round, body.hits))

    threads = [threading.Thread(target=run, args=(bodies,)) for bodies in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and all(body.hits == 3 for bodies in groups for body in bodies)


def test_gradients() -> None:
    class Line:
        def __init__(self, k: int) -> None:
            self.slope, self.offset, self.calls = float(k), 1.0, 0

    @rt.function
    def line(o, x):
        o.calls += 1
        return o.slope * x * x + o.offset

    lines = [Line(k) for k in range(9)]
    for k, o in enumerate(lines):
        x = rt.constant(3.0)
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = line(o, x)
        assert float(y) == 9 * k + 1 and float(tape.gradient(y, x)) == 6 * k and o.calls == 1


class Counted:
    def __init__(self, k: int) -> None:
        self.k = k


GLOBAL = Counted(1)


def test_an_object_that_is_a_global_too_is_one() -> None:
    @rt.function
    def f(o, x):
        y = o.k * x
        GLOBAL.k += 1
        return y + o.k * x * 100

    objects, GLOBAL.k = [Counted(k) for k in range(8)], 1
    for k in range(16):
        o = GLOBAL if k % 3 == 0 else objects[k % 8]
        before, expected = o.k, GLOBAL.k + 1
        assert float(f(o, rt.constant(2.0))) == 2 * before + 200 * (before + (o is GLOBAL)), k
        assert GLOBAL.k == expected and [each.k for each in objects] == [*range(8)] and type(o) is Counted

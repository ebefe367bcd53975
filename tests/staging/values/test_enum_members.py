"""Members of an Enum that only the graph tells."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

import enum
import re
from typing import Any

import pytest
from ways import HAS_LLVM

import runtime as rt
from tests.traced_once import on

EXECUTORS = ["numpy", *(["native"] if HAS_LLVM else [])]


class Direction(enum.Enum):
    NORTH = (0, 1)
    EAST = (1, 0)
    SOUTH = (0, -1)
    WEST = (-1, 0)

    @property
    def dx(self):
        return self.value[0]

    def right(self):
        order = [Direction.NORTH, Direction.EAST, Direction.SOUTH, Direction.WEST]
        return order[(order.index(self) + 1) % 4]


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def __str__(self):
        return f"<{self.name}>"


def turtle(commands):
    direction, x, y = Direction.NORTH, 0, 0
    for command in commands:
        if command == 1:
            direction = direction.right()
        x += direction.dx
        y += direction.value[1]
    print(direction, repr(direction), f"{direction}")
    return x, y, direction.name, direction is Direction.SOUTH, direction == Direction.WEST


def levels(commands):
    level = Level.LOW
    for command in commands:
        level = Level.HIGH if command > level else Level.LOW
    print(level)
    return level.value, level.name, [Level.LOW, Level.HIGH].index(level)


class Kind(str, enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 4


def machine(commands):
    level, log = Level.LOW, []
    for command in commands:
        if level == Level.LOW:
            if command > 0:
                level = Level.HIGH
        else:
            level = Level.LOW if command > level else level
        log.append(int(level))
    match level:
        case Level.LOW:
            named = "low"
        case _:
            named = "high"
    return (named, level.name, log, level + 1, level < 2, max(level, 2), [10, 20, 30][level], {1: "x", 2: "y"}[level],
            level * 2.5, -level, level in (Level.HIGH,), isinstance(level, Level))


def counted(commands):
    level = Level.LOW
    for command in commands:
        level = level + 1 if command > 0 else level
    return level


def texts(commands):
    kind, count = Kind.SMALL, 0
    for command in commands:
        kind = Kind.LARGE if command > 1 else Kind.SMALL
        count += kind == "l"
    print(kind.value, repr(kind))
    return kind.name, kind is Kind.LARGE, count


def combined(commands):
    access = Access.READ
    for command in commands:
        if command > 0:
            access |= Access.WRITE
        else:
            access &= ~Access.READ
    return access.value, Access.WRITE in access, bool(access & Access.READ)


def by_value(commands):
    found = []
    for command in commands:
        try:
            found.append(Level(command).value)
        except ValueError as error:
            print(error)
            found.append(0)
    return found, Direction((commands[0], 1 - commands[0])).name


def missing(commands):
    direction = Direction.NORTH
    for command in commands:
        if command == 1:
            direction = direction.right()
    try:
        return [Direction.NORTH, Direction.EAST].index(direction)
    except ValueError as error:
        print(error)
        return -1


NEXT = {Direction.NORTH: Direction.EAST, Direction.EAST: Direction.SOUTH, Direction.SOUTH: Direction.NORTH}
COSTS = {Direction.NORTH: 10, Direction.EAST: 20, Direction.SOUTH: 5}
MOVES = {(Level.LOW, 0): Level.LOW, (Level.LOW, 1): Level.HIGH, (Level.HIGH, 0): Level.HIGH, (Level.HIGH, 1): Level.LOW}


def transitions(commands):
    state, total, visits = Direction.NORTH, 0, {each: 0 for each in NEXT}
    for command in commands:
        visits[state] += command
        total += COSTS[state]
        state = NEXT[state] if command > 0 else Direction.NORTH
    return state.name, total, [*visits.values()], state in COSTS, NEXT.get(state, Direction.WEST).name


def pairs(commands):
    level = Level.LOW
    for command in commands:
        level = MOVES[level, command % 2]
    return level is Level.HIGH, {Level.LOW: 1}.get(level, -1)


def no_such_key(commands):
    direction = Direction.NORTH if commands[0] > 0 else Direction.EAST
    try:
        return {Direction.EAST: 1}[direction]
    except KeyError:
        return -1


LEVELS = [Level.LOW, Level.HIGH, Level.LOW]


def unbound_before(commands):
    i = 0
    while i < len(commands) and commands[i] >= 0:
        level, (kind, cost) = LEVELS[commands[i]], [(Level.HIGH, 2), (Level.LOW, 3), (Level.LOW, 4)][commands[i]]
        i += 1
    if commands[0] >= 0:
        only = Level.HIGH
    print(repr(level), repr(kind), repr(only))
    return level, kind, only, isinstance(level, Level), kind.name, cost


def none_before(commands):
    level = None
    for command in commands:
        level = LEVELS[command]
    return repr(level), level, level is Level.HIGH


def plain(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return type(x)(map(plain, x))
    return x.numpy().tolist() if hasattr(x, "numpy") else x


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("fn", [turtle, levels, machine, counted, texts, combined, by_value, missing, transitions,
                                pairs, no_such_key, unbound_before, none_before])
def test_members(fn: Any, executor: str, capsys: pytest.CaptureFixture[str]) -> None:
    traced = on(executor, fn)
    for commands in ([1, 0, 1, 1, 0], [1, 2], [0], [1, 1, 2, 0]):
        want, printed = fn(commands), capsys.readouterr().out
        assert plain(traced(rt.constant(commands))) == want
        assert capsys.readouterr().out == printed


def test_the_message_of_index_shows_text_as_python_does() -> None:
    def index(x):
        return ["a", "b"].index("c" if x > 0 else "a")

    with pytest.raises(ValueError) as want:
        index(1)
    with pytest.raises(ValueError) as found:
        rt.function(index)(rt.constant(1))
    assert str(found.value) == str(want.value)


def test_numbers_of_the_graph_have_no_names() -> None:
    """Lists of the graph that also have other numbers store the numbers of members alone."""
    def names(xs):
        levels = [0]
        for x in xs:
            levels.append(Level.HIGH if x > 1 else Level.LOW)
        return [level.name for level in levels]

    def values(x):
        return (x.shape.rank + x - x).value

    with pytest.raises(AttributeError, match="has no attribute 'name'"):
        rt.function(names)(rt.constant([1, 2]))
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'value'"):
        rt.function(values)(rt.constant(1))


class Rights(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()

    def allowed(self):
        return self & (Rights.READ | Rights.WRITE)


def flags_in_a_loop(xs):
    seen, counts = Rights(0), 0
    for x in xs:
        if x > 0:
            seen |= Rights.READ if x == 1 else Rights.RUN
        elif x == 0:
            seen = ~seen
        else:
            seen &= ~Rights.READ
        if Rights.READ in seen:
            counts += 1
        if seen == Rights.READ | Rights.RUN:
            counts += 10
    return seen, seen.allowed(), counts, str(seen)


def flags_of_both_sides(xs):
    p = Rights.READ if xs[0] > 0 else Rights.RUN
    q = Rights.WRITE if xs[0] > 1 else Rights.RUN
    both = Rights.READ | Rights.WRITE
    return (p | q, p & q, p ^ q, Rights.WRITE | p, both & p, both ^ p, p in both, p in q, Rights.RUN in p,
            isinstance(p, Rights), bool(p & q), (p | q).value)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [flags_in_a_loop, flags_of_both_sides])
def test_flags_are_members_after_their_operators(program, executor: str) -> None:
    staged = on(executor, program)
    for xs in ([1, 2], [2, 1, -1], [0], [-1, 0, 2, -1], [1]):
        found = rt.nest.map_structure(lambda x: x.numpy() if isinstance(x, rt.Tensor) else x, staged(rt.constant(xs)))
        assert found == program(xs), xs
    with pytest.raises(TypeError, match=re.escape("unsupported operand type(s) for |: 'Rights' and 'int'")):
        on(executor, lambda x: (Rights.READ if x > 0 else Rights.RUN) | 3)(rt.constant(1))

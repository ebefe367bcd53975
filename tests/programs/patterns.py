"""`match`: on tensors it stages; class, mapping and star patterns are matched in Python."""
from __future__ import annotations

from dataclasses import dataclass

from programs import fixed, program


@dataclass
class Move:
    dx: int
    dy: int


@program((0,), (1,), (5,))
def match_values(x):
    match x:
        case 0:
            r = 10
        case 1 | 2:
            r = 20
        case _:
            r = 30
    return r


@program((3,), (-3,), (0,))
def match_guard(x):
    match x:
        case n if n > 0:
            r = n
        case n if n < 0:
            r = -n
        case _:
            r = 100
    return r


@program(((1, 2),), ((0, 5),), ((3, 0),))
def match_sequence(pair):
    match pair:
        case (0, y):
            return y
        case (x, 0):
            return x
        case (x, y):
            return x * y


@program((fixed("go"), 3), (fixed("stop"), 3), (fixed("x"), 3))
def match_python_text(command, x):
    match command:
        case "go":
            x += 1
        case "stop":
            return 0
        case other:
            x *= len(other)
    if x > 3:
        x = x * 2
    return x


@program((fixed({"kind": "a", "n": 2}), 3), (fixed({"kind": "b"}), 3), (fixed({"kind": "c", "z": 1}), -3))
def match_mapping(message, x):
    match message:
        case {"kind": "a", "n": n}:
            x += n
        case {"kind": "b"}:
            x = -x
        case {"kind": kind, **rest}:
            if x > 0:
                x = len(kind)
            else:
                x = len(rest)
    return x


@program((3,), (-3,))
def match_class(x):
    move = Move(x, 2)
    match move:
        case Move(dx=a, dy=2):
            if a > 0:
                return a
            return 0
    return -1


@program((fixed([1, 2, 3]), 3), (fixed([]), 3), (fixed([4]), 3))
def match_star(items, x):
    match items:
        case []:
            return x
        case [one]:
            return one * x
        case [first, *rest]:
            return first * x + len(rest)


@program((fixed([0, 1, 2, 3]), 10),)
def match_in_loop_with_jumps(codes, x):
    s = 0
    for code in codes:
        match code:
            case 0:
                continue
            case 3:
                break
            case _:
                s += code * x
    return s


@program((5,), (2,), (9,))
def match_in_while(n):
    s = 0
    while n > 0:
        match n % 3:
            case 0:
                s += 1
            case 1:
                s += 10
            case _:
                s += 100
        n -= 1
    return s


@program((3,), (-3,))
def match_binds_name(x):
    match (x, "tag"):
        case (value, "tag") as whole:
            r = value + len(whole)
        case _:
            r = 0
    return r

"""`match`, whose patterns all stage."""
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


@program((7,), (3,), (-3,))
def match_capture_is_bound_though_the_guard_fails(x):
    match x:
        case n if n > 5:
            r = 1
        case _:
            r = 0
    return r, n


@program(((1, 9),), ((2, 3),), ((0, 7),))
def match_capture_of_part_is_bound_though_the_guard_fails(pair):
    y = -1
    match pair:
        case (1 | 0, y) if y > 8:
            r = 1
        case (2, z):
            r = z
        case _:
            r = 100
    return r, y


@program(((4, 0),), ((1, 0),), ((2, 3),), ((9, 9),))
def match_captures_into_its_subject(pair):
    match pair:
        case (pair, 0) if pair > 3:
            r = pair
        case (1, 0):
            r = 2
        case (pair, y):
            r = pair * 10 + y
    return r


@program((0,), (7,), (3,))
def match_goes_on_with_its_subject(x):
    match x:
        case 0 if (x := 7) > 8:
            r = 1
        case 7:
            r = 2
        case n if (x := x + 1) < 8:
            r = n
        case _:
            r = 3
    return r, x


@program((0,), (7,), (3,))
def match_of_a_subject_that_a_guard_changes(x):
    def changes(value):
        nonlocal x
        x = value
        return value > 8

    match x:
        case 0 if changes(7):
            r = 1
        case 7:
            r = 2
        case 0:
            r = 3
        case _:
            r = 4
    return r, x


class Color:
    RED = 1
    GREEN = 2

    class Dark:
        RED = 11


@program((1,), (11,), (5,), (2,))
def match_dotted_values(x):
    match x:
        case Color.RED | Color.Dark.RED:
            return 10
        case Color.GREEN:
            return 20
        case -3 | 5 | 7.5:
            return 30


@program((1,), (3,), (8,))
def match_or_captured_as_whole(x):
    match x:
        case (1 | 2 | 3) as small:
            r = small * 10
        case 4 | 5:
            r = 0
        case other:
            r = -other
    return r


@program((3, 4), (4, 3), (3, 3))
def match_tuple_display(a, b):
    match a, b:
        case x, y if x < y:
            return y - x
        case x, y if y < x:
            return 10 * (x - y)
        case _:
            return 0


@program(((1, (2, 3)),), ((1, (0, 3)),), ((0, (2, 9)),))
def match_nested_sequences(tree):
    match tree:
        case [1, (2, y)]:
            return y
        case [1, [x, 3]] if x == 0:
            return 30
        case [0, (_, y)]:
            return -y


@program((fixed(None), 3), (5, 3), (-5, 3))
def match_none_and_value(x, y):
    match x:
        case None:
            return y
        case 5:
            return 2 * y
        case _:
            return 0


@program((True, 3), (False, 3), (1, 3), eager="Python matches by identity, and a tensor is not True itself")
def match_bools(flag, y):
    match flag:
        case True:
            return y
        case False:
            return -y
        case _:
            return 0


@program((3,), (-3,))
def match_without_a_case_that_fits(x):
    r = 7
    match x:
        case 1 | 2:
            r = 0
        case n if n < 0:
            r = n
    return r


@program(([1, 2, 3, 1, 9, 2],), ([5],))
def match_with_break_and_continue(codes):
    s = 0
    for code in codes:
        match code:
            case 1:
                continue
            case c if c > 8:
                break
            case c:
                s = 10 * s + c
        s += 1
    return s


@program((2,), (4,))
def match_guard_with_effect(x):
    def asked(v):
        print("asked", v)
        return v > 3

    match x:
        case 1:
            return 1
        case n if asked(n):
            return 2
        case n if asked(n + 2):
            return 3
    return 0


@program((3,), (-3,), (0,))
def match_in_match(x):
    match x:
        case 0:
            return 0
        case _ if x > 0:
            match x % 2:
                case 0:
                    return 2
                case odd:
                    return odd
        case _:
            return -1


@program((fixed("push"), 3), (fixed("pop"), 3), (fixed("none"), 3))
def match_commands(command, x):
    match command, x:
        case "push", n:
            return n + 1
        case "pop", n if n > 0:
            return -n
        case other, _:
            return len(other)


@program((fixed({"x": 1, "y": 2}), 3), (fixed({"x": 1}), -3), (fixed({}), 3))
def match_mapping_with_guard_on_a_tensor(point, k):
    if k > 0:
        k += 1
    match point:
        case {"x": x, "y": y}:
            return x + y * k
        case {"x": x, **rest}:
            return x - k + len(rest)
        case {}:
            return k


@dataclass
class Circle:
    r: int


@dataclass
class Box:
    w: int
    h: int = 2


@program((fixed("circle"), 3), (fixed("box"), 3), (fixed("box"), -3), (fixed("other"), 3))
def match_classes_of_tensors(kind, x):
    shape = {"circle": Circle(x), "box": Box(x), "other": (x,)}[kind]
    match shape:
        case Circle(r):
            area = 3 * r * r
        case Box(w=w, h=h):
            area = w * h if w > 0 else 0
        case (int() | float() | _,):
            area = -1
    return area


@program((fixed([1, 2, 3]), 3), (fixed([7]), -3), (fixed([]), 3))
def match_star_of_tensors(numbers, k):
    scaled = [n * k for n in numbers]
    match scaled:
        case [first, *middle, last]:
            return first + last + len(middle)
        case [only]:
            if only > 0:
                return only
            return -only
        case []:
            return 0


@program((3, fixed(4)), (-3, fixed(4)), (3, fixed(3)), (0, fixed((1, 2))), (3, fixed((1, 2))))
def match_guard_on_a_tensor_with_a_python_subject(x, kind):
    match kind:
        case 3:
            return 1
        case c if x > 0 and isinstance(c, int):
            return c
        case (a, b) if x > 0:
            return a + b
        case _:
            return x - 7


@program((3, 5), (1, 5), (3, 0))
def walrus_and_a_test_in_while(limit, x):
    n = 0
    while (n := n + 1) < limit and x:
        x = x - 1
    return n, x


@program((3,), (1,), (0,))
def match_mapping_of_tensors(x):
    match {"kind": x % 2, "size": x, "name": "it"}:
        case {"kind": 1, "size": 3, **rest}:
            return len(rest)
        case {"kind": 1 as kind, "size": size}:
            return kind * 10 + size
        case {"other": _}:
            return -1
        case {}:
            return 7


@program((0,), (1,), (2,), (5,))
def match_stars_of_tensors(n):
    numbers = [n, n * n, 4]
    match numbers:
        case [0, *rest]:
            return sum(rest)
        case [1, *_, x]:
            return x
        case [*front, 4] if front[0] > 3:
            return front[1]
        case [*every]:
            return len(every)


@program((2, 5), (5, 2), (7, 8))
def match_alternatives_that_capture(a, b):
    match (a, b):
        case (2, x) | (x, 2):
            return 10 * x
        case [(7 | 9) as x, y] | [y, x]:
            return x - y


class Pair:
    __match_args__ = ("first", "second")

    def __init__(self, first, second):
        self.first, self.second = first, second


@program((fixed("pair"), 3), (fixed("half"), 3), (fixed("none"), 3), (fixed("pair"), -3))
def match_class_without_an_attribute(kind, x):
    made = Pair(x, 2)
    if kind == "half":
        del made.second
    match made if kind != "none" else None:
        case Pair(first, second=2) if first > 0:
            return first
        case Pair(second=_):
            return 5
        case Pair():
            return 6
        case _:
            return 7


class OddArguments:
    __match_args__ = ["x"]


class NoText:
    __match_args__ = (1,)


@program(*[(fixed(i), 3) for i in range(8)])
def match_errors_of_class_patterns(i, x):
    try:
        match (Pair(x, 1), OddArguments(), NoText(), Pair(x, 1), 3, "text", Pair(x, 1), Color())[i]:
            case Pair(_, _, _) if i == 0:
                pass
            case OddArguments(_):
                pass
            case NoText(_):
                pass
            case Pair(1, first=2) if i == 3:
                pass
            case int(_, _):
                pass
            case str(s):
                return len(s) + x
            case Pair(f, g):
                return f + g
            case Color(_):
                pass
    except TypeError as error:
        return str(error), x


@program((0,), (2,), (3,), (18,), (19,), (-4,))
def match_many_cases(x):
    match x:
        case 0:
            r = 0
        case 1:
            r = 7
        case 2:
            r = 14
        case 3:
            r = 1
        case 4:
            r = 8
        case 5:
            r = 15
        case 6:
            r = 2
        case 7:
            r = 9
        case 8:
            r = 16
        case 9:
            r = 3
        case 10:
            r = 10
        case 11:
            r = 17
        case 12:
            r = 4
        case 13:
            r = 11
        case 14:
            r = 18
        case 15:
            r = 5
        case 16:
            r = 12
        case 17:
            r = 19
        case 18:
            r = 6
        case _ if x > 0:
            return x
        case _:
            r = -x
    return r + 100

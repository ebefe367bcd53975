"""Comparisons of tuples, lists, dicts and objects that hold numbers: the first parts that differ decide."""
from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from programs import fixed, program


@program((3, 4), (4, 3), (3, 3))
def tuples(a, b):
    one, other = (a, b), (b, a)
    return one < other, one <= other, one > other, one >= other, one == other, one != other


@program((3, 4), (4, 3))
def lists_and_lengths(a, b):
    return [a] < [3, b], [a, b] <= [3], [] < [a], [a, b] == [3, 4], [a] != [a], (a, b) > (3,), () == (a,)


@program((3, 4), (0, 5), (9, 9))
def chains(a, b):
    return (0, 0) < (a, b) < (4, 0), (a, b) == (a, b) == (3, 4), [a] < [b] <= [5]


@program((float("nan"), 1.0), (1.0, float("nan")))
def what_is_no_number_differs(a, b):
    return (a, b) <= (b, a), (a, 0) < (b, 1), (b, a) >= (b, b), (a, b) == (a, b), (a + 0, 1) != (a, 1)


@program((3,), (4,))
def nested(a):
    return ((1, a), 2) < ((1, 3), 3), [(a, [a])] == [(3, [3])], (a, "x") < (3, "y"), (a, None) == (3, None)


@program((3,), (4,))
def dicts(a):
    one, other = {"x": a, "y": 2}, {"y": 2, "x": 3}
    return one == other, one != other, one == {"x": a}, {"y": a} == {"y": 3}, {} == {"x": a}


class Point(NamedTuple):
    x: Any
    y: Any


@program((3, 4), (2, 9))
def named_tuples(a, b):
    found = 0
    if Point(a, b) > Point(3, 3) and Point(a, b) != (3, 5):
        found = 1
    return found, Point(a, b) == (a, b)


@dataclasses.dataclass(order=True)
class Job:
    cost: Any
    name: Any = dataclasses.field(default="", compare=False)


@program((3, 4), (4, 3), (3, 3))
def dataclasses_with_order(a, b):
    one, other = Job(a, "one"), Job(b, "other")
    first = one if a < b else other
    if one < other:
        found = 1
    elif one == other:
        found = 2
    else:
        found = 3
    return found, one >= other, one != Job(3), first.cost


class Weight:
    def __init__(self, grams):
        self.grams = grams

    def __eq__(self, other):
        return isinstance(other, Weight) and self.grams == other.grams

    def __lt__(self, other):
        return self.grams < other.grams


@program((3, 4), (4, 3))
def objects_in_tuples(a, b):
    one, other = Weight(a), Weight(b)
    return (one, 1) < (other, 0), (1, one) == (1, Weight(3)), [one] == [other], one < other, (one,) == (one,)


class Always(tuple):
    def __lt__(self, other):
        return True


@program((5,))
def a_method_of_its_own_is_asked(a):
    return Always((a,)) < (0,), Always((a,)) == (5,)


@program(([[1, 2], [0, 5], [1, 3], [1, 1]],))
def greatest_of_pairs(rows):
    best = (0, 0)
    for i in range(len(rows)):
        pair = (rows[i][0], rows[i][1])
        if pair > best:
            best = pair
    return best


@program((5,), (0,))
def a_loop_until_a_pair_is_reached(n):
    low, high, steps = (0, 0), (n, n), 0
    while low < high:
        low = (low[0] + 1, low[1] + steps)
        steps += 1
    return low, steps


@program((3,))
def different_kinds(a):
    return (a,) == [a], [a] != (a,), {"x": a} == [a]


@program((3,), eager="the items have no order there, either")
def no_order_of_different_kinds(a):
    try:
        return (a,) < [a]
    except TypeError:
        return "no order"


@program((fixed(3),))
def what_python_knows(a):
    return (a, "x") < (3, "y"), [a] == [3], {"a": a} != {"a": 3}


def positive(xs):
    found = []
    for x in xs:
        if x > 0:
            found.append(x)
    return found


@program(([1, 2, 3], [1, -2, 4]), ([1, 2], [1, 2]), ([-1, -2], [1, 2]), ([-1, -2], [-3, -4]))
def lists_that_grew(xs, ys):
    one, other = positive(xs), positive(ys)
    order = one < other, one <= other, one > other, one >= other, [1] < one
    return order, one == other, one != other, one == [1, 2], one == [], one == one, one in [[1, 2], other]


@program(([1, 2, 3], [1, 2, 4]), ([1], [1]))
def lists_of_pairs_that_grew(xs, ys):
    one, other = [], []
    for x in xs:
        if x > 0:
            one.append((x, x + 1))
    for y in ys:
        if y > 0:
            other.append((y, y + 1))
    if one < other:
        return -1
    return 0 if one == other else 1


@program((3,), (0,))
def long_lists(a):
    one, other = [a + i for i in range(50)], [3 + i for i in range(50)]
    last = [*one]
    last[40] += 1
    return one == other, one < last, tuple(one) >= tuple(last), [one] != [last], (one, 1) < (other, 2)

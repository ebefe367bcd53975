"""Objects that staged code changes, by all that leads to them: they stay the objects that they are."""
from __future__ import annotations

import collections
import copy
import operator

from programs import program


class Shelf:
    def __init__(self, items):
        self.items = items

    def put(self, x):
        self.items.append(x)
        return len(self.items)


@program((3,), (0,))
def list_held_by_others_grows(n):
    xs = [1]
    queue, pair, table, shelf = collections.deque([xs]), (xs, 2), {"k": xs}, Shelf(xs)
    for i in range(n):
        xs.append(i)
    queue[0].append(7)
    shelf.put(8)
    return xs, queue[0] is xs, pair[0], table["k"] is shelf.items, len(pair[0])


@program((3,), (0,))
def list_grows_under_an_iterator_of_lists(n):
    xs, total = [n], 0
    for held in (xs, xs):
        for _ in range(n):
            xs.append(n)
        total += len(held)
    return total, xs


def lengths(items, more):
    return len(items) + more


def grow(items, n):
    for _ in range(n):
        items.append(n)
    return 1


@program((3,), (0,))
def argument_evaluated_before_it_grows(n):
    items = [n]
    return lengths(items, grow(items, n)), items


@program((5,), (0,))
def method_looked_up_before(n):
    xs = []
    add, take = xs.append, xs.pop
    for i in range(n):
        add(i)
        if i % 3 == 2:
            take()
    return xs, add.__self__ is xs


@program((4,), (1,))
def closure_has_the_list(n):
    xs = [0]

    def push(x):
        xs.append(x)

    for i in range(n):
        if i % 2:
            push(i)
        else:
            xs[0] += i
    return xs, len(xs)


@program((4,), (-1,))
def list_grows_by_operators(n):
    xs = [1, 2]
    ys = xs
    for i in range(n):
        xs += [i]
    ys *= 2
    zs = xs + [9]
    return xs, ys is xs, zs, [0] + xs, xs == ys, xs < zs, zs is xs


@program((4,), (0,))
def list_is_copied_and_deleted_from(n):
    xs = [5, 6]
    for i in range(n):
        xs.append(i)
    ys, zs, us, vs = xs[:], list(xs), xs.copy(), copy.copy(xs)
    ws = copy.deepcopy(xs)
    del xs[0]
    ys[0] = 1
    zs.append(2)
    us.insert(0, 3)
    vs.clear()
    ws.reverse()
    return xs, ys, zs, us, vs, ws


@program((3,), (0,))
def list_by_functions_of_operator(n):
    xs = [1]
    for i in range(n):
        xs.append(i)
    operator.setitem(xs, 0, 4)
    more = operator.concat(xs, [7])
    return operator.getitem(xs, 0), more, operator.eq(xs, xs), list.pop(xs), xs.__len__(), operator.iadd(xs, [1]) is xs


@program((2,), (0,))
def grown_list_matched(n):
    xs = [1]
    for i in range(n):
        xs.append(i)
    match xs:
        case [a]:
            return a
        case [a, b, c]:
            return a + 10 * b + 100 * c
    return -1


@program((2,), (-2,))
def dict_is_one_object(n):
    d = {"a": 1}
    held, shelf = [d], Shelf(d)
    if n > 0:
        d["b"] = n
    else:
        d["a"] = 5
    held[0]["c"] = 3
    return "b" in shelf.items, d["a"], shelf.items is d, type(d) is dict, held[0].get("b", 4), d["c"]


@program((3,), (0,))
def object_of_a_list_in_a_loop(n):
    shelves = [Shelf([1]), Shelf([2])]
    first = shelves[0]
    for i in range(n):
        for shelf in shelves:
            shelf.put(i)
        if i > 1:
            first.items[0] = 9
    return first.items, shelves[1].items, shelves[0] is first


@program((3,), (1,))
def list_in_a_try(n):
    xs = [1]
    queue = collections.deque([xs])
    try:
        for i in range(n):
            xs.append(i)
            if i > 1:
                raise ValueError
    except ValueError:
        queue[0].append(7)
    return xs, queue[0] is xs

"""What Python's lists and tuples do with numbers that are tensors."""
from __future__ import annotations

import functools
import math
import operator

from programs import program


@program((3,), (0,), (-2,))
def repeated_lists(n):
    zeros = [0] * n
    pairs = (n + 1) * [1, 2]
    return len(zeros), zeros, pairs, [0.5] * n, n * [False], [] * n


@program((4, [0, 2, 2, 3, 1, 2]),)
def histogram_in_a_repeated_list(n, xs):
    counts = [0] * n
    for x in xs:
        counts[x] += 1
    return counts


@program((30,), (3,))
def sieve_in_a_repeated_list(n):
    prime = [True] * (n + 1)
    prime[0] = prime[1] = False
    for i in range(2, n + 1):
        if prime[i]:
            for k in range(i * i, n + 1, i):
                prime[k] = False
    return [i for i in range(n + 1) if prime[i]]


@program(((1.5, 2.5), 2), ((1.5, 2.5), 0))
def repeated_list_of_tensors(pair, n):
    xs = list(pair)
    ys = xs * n
    ys.append(xs[0])
    return ys, sum(ys)


@program((2,), (1,), (-1,))
def list_repeated_in_place(n):
    xs = [1, 2]
    same = xs
    xs *= n
    xs.append(n)
    return xs, same


@program((2, 3), (3, 0))
def list_repeated_in_a_branch(n, m):
    xs = [n, m]
    same = xs
    if n > 2:
        xs *= n
    xs.append(0)
    return same, xs


@program((2, 3), (0, 3))
def grown_list_repeated(n, m):
    xs = []
    for i in range(n):
        xs.append(i * m)
    ys = xs * 2
    xs *= m
    ys += [m] * n
    return xs, ys, n * ys, xs * -1


@program((3,), (0,))
def repeated_list_of_pairs(n):
    pairs = [(0, 2), (n, 3)] * n
    pairs.append((7, 4))
    s = 0
    for i, x in pairs:
        s += i * x
    return s, pairs * n, len(pairs)


@program((3, 4), (2, 0))
def rows_of_repeated_lists(n, m):
    grid = [[0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            row = grid[i]
            row[j] = i * j
            grid[i] = row
    return grid


@program((3,),)
def tuples_repeated_by_what_is_known(n):
    return (n,) * 2, 2 * (n, 1)


@program((1 << 30,),)
def repeated_numbers_are_pythons(n):
    k = n - (1 << 30) + 3
    xs = [0.1] * k
    t = 0
    for x in [int(n)] * k:
        t += x
    return xs[0] + xs[1] == 0.2, xs[0] * 3 == 0.1 * 3, t // 4


# Order.


@program(([3, -1, 2, -3],), ([5],), ([],))
def sorted_by_a_key(xs):
    return (sorted(xs, key=lambda x: -x), sorted(xs, key=abs), sorted(xs, key=abs, reverse=True),
            sorted(xs, key=lambda x: (abs(x), x)), sorted(xs, key=lambda x: (x > 0, -x), reverse=True))


@program(([3, 1, 2, 3, 1],), ([],))
def order_of_indices(xs):
    return sorted(range(len(xs)), key=lambda i: xs[i]), sorted(range(len(xs)), key=lambda i: xs[i], reverse=True)


@program(((3, 1, 2, 1),), ((7,),))
def sorted_list_of_tensors_by_a_key(t):
    xs = list(t)
    ys = sorted(xs, key=lambda x: (x - 2) * (x - 2))
    xs.sort(key=lambda x: -x)
    zs = list(t)
    zs.sort(reverse=True)
    return xs, ys, zs, sorted([0, 1, 2], key=lambda i: t[0] * i), sorted(t, key=lambda x: 0)


@program(((3, 1, 2, 1),), ((7,),))
def sorted_pairs(t):
    pairs = [(x, i) for i, x in enumerate(t)]
    low, *_ = sorted(pairs)
    return low, sorted(pairs, reverse=True), sorted(pairs, key=lambda p: p[0], reverse=True), max(pairs), min(pairs)


@program(([3, 1, 2, 1],), ([4],), ([],))
def sorted_pairs_of_a_staged_list(xs):
    pairs = [(x, i) for i, x in enumerate(xs)]
    by_index = sorted(pairs, key=lambda p: p[1], reverse=True)
    pairs.sort()
    return pairs, by_index, sorted(enumerate(xs), key=lambda p: -p[1]), sorted(zip(xs, reversed(xs)), reverse=True)


@program((5,), (0,))
def staged_list_sorted_by_a_key(n):
    xs = []
    for i in range(n):
        xs.append((i * 7) % 5)
    xs.sort(key=lambda x: -x)
    ys = sorted(xs, key=lambda x: x % 3, reverse=True)
    xs.sort(reverse=True)
    return xs, ys


@program(([3, 1, 2, 3, 1],), ([4],))
def least_by_a_key(xs):
    return (max(range(len(xs)), key=lambda i: xs[i]), min(range(len(xs)), key=lambda i: xs[i]),
            max(xs, key=lambda x: -x), min(enumerate(xs), key=lambda p: p[1]),
            max(zip(xs, range(9)), key=lambda p: (p[0], -p[1])),
            max((x * i for i, x in enumerate(xs) if x > 1), key=abs), max(enumerate(xs)), min((x, -x) for x in xs))


@program(([3, 1, 2],), ([],))
def least_of_what_may_be_nothing(xs):
    ys = [x for x in xs if x > 0]
    return (max(ys, key=lambda y: -y, default=-9), min((x for x in xs if x > 1), key=lambda x: -x, default=0),
            min(xs, key=abs))


@program(((3, 1, 2, 1),), ((7,),))
def least_of_a_list_by_a_key(t):
    xs = list(t)
    return (max(xs, key=lambda x: -x), min(t, key=lambda x: x % 2), max(range(len(xs)), key=lambda i: xs[i]),
            min([(x, i) for i, x in enumerate(xs)])[1], max(t[0], 2, key=lambda x: -x),
            max(3, 5, key=lambda k: k % t[0]))


@program(([3, 1, 2],), ([2, 5],))
def keys_are_asked_once_in_order(xs):
    def key(x):
        print("key of", x)
        return -x

    return sorted(xs, key=key), max(xs, key=key), min((x + 1 for x in xs), key=key)


@program((2, 5), (5, 2), (5, 5))
def greatest_pair(a, b):
    best = max((a, "first"), (b, "first"))
    return best[0], min([a, b], [b, a])


# Methods.


@program(((3, 1, 2, 1), 1), ((2, 1, 3), 1))
def methods_of_a_list(t, x):
    xs = list(t)
    print(xs.count(x), t.count(x), xs.count(x + 100))
    print(xs.index(x), t.index(x), [5, x].index(x), xs.index(2, x - 1), xs.index(3, -3, 3))
    xs.remove(x)
    return xs


@program(([3, 1, 2, 1], 1), ([2, 1, 3], 1))
def methods_of_a_staged_list(ys, x):
    xs = [y for y in ys]
    print(xs.count(x), xs.count(x + 100), xs.index(x), xs.index(2, x - 1), xs.index(3, -3, 3))
    xs.remove(x)
    return xs


_REPR = "the text has what Python shows of a tensor"


@program((7,), (1,), eager=_REPR)
def item_that_is_not_in_a_list(x):
    return [3, 1].index(x), (3, 1).index(x)


@program(([3, 1], 7), ([3, 1], 1), eager=_REPR)
def item_that_is_not_in_a_staged_list(ys, x):
    xs = [y * 2 for y in ys]
    return xs.index(x * 2)


@program((7,), ())
def item_that_cannot_be_removed(x=5):
    xs = [x - 1, x + 1]
    xs.remove(x)


@program(([3, 1, 2, 1], 1), ([3, 1], 7))
def missing_item_is_caught(ys, x):
    xs = [y * 2 for y in ys]
    t = [x + 1, 3]
    try:
        place = xs.index(2 * x)
        xs.remove(2 * x)
        t.remove(2)
    except ValueError as error:
        print("no", type(error).__name__)
        place = -1
    return place, xs, t


@program(([3, 1, 2, 1], 1), ([3, 1], 7))
def methods_of_pairs(ys, x):
    pairs = [(y, i) for i, y in enumerate(ys)]
    found = [(x, 1), (3, x)].count((x, 1))
    if (x, 1) in [(1, x), (x, x)]:
        found += 10
    while pairs.count((x, 1)) > 0:
        pairs.remove((x, 1))
    return pairs, found, pairs.index((3, 0)), pairs.count(5)


@program(((3, 1, 2), 2),)
def list_changed_in_a_branch(t, x):
    xs = list(t)
    if x in xs:
        xs.remove(x)
    if x > 0:
        xs.sort()
    return xs, (x, 5).index(5), ["a", x].count("a"), [None, x].index(x)


# Bools are numbers.


@program(([3, 1, 2, 5],), ([],))
def counts_of_what_holds(xs):
    ys = [x for x in xs]
    bits = [x > 2 for x in xs]
    return (sum(x > 2 for x in xs), sum([x > 2 for x in xs]), sum(map(lambda x: x > 1, xs)), sum(x > 2 for x in ys),
            sum(bits), sum(bits, 10), 0.5 * sum(x % 2 == 0 for x in xs))


@program((3, 2.5), (2, 2.5), (1, 0.5))
def arithmetic_of_comparisons(n, x):
    sign = (n > 2) - (n < 2)
    return (sign, (n > 2) + 1, (n > 2) * n, (n > 1) * x, n - (n > 2), 10 // (1 + (n > 2)), 7 % (2 + (n == 1)),
            (n + 1) ** (n > 2), (n > 2) / 2, (n > 2) + (n > 1), (n > 2) < (n > 1), (n > 2) == 1,
            1 != (n > 2), 1 << (n > 2), sum([n > 2, n > 1, True]), True + (n > 2), sign * x, [7] * (n > 1))


@program((3, 2), (2, 0))
def count_of_comparisons(n, m):
    k = 0
    for i in range(n):
        k += i >= m
    return k, (k > 1) * 3


# Places that are tensors.

TABLE = [10, 20, 30]
WEIGHTS = (0.5, 0.25)


@program((2, 4), (0, 1), (-1, -2), (1, -3))
def items_of_tables(n, i):
    return TABLE[n], [n, i, 5][n], TABLE[i % 3], WEIGHTS[i % 2], (n, i)[n > 0], range(10)[n], range(5, -5, -2)[i]


@program((3,), (-4,), (2,))
def item_beyond_the_end(n):
    return [1, 2, 3][n]


@program((5, 2), (-3, 2))
def missing_item_of_a_tuple_is_caught(n, m):
    try:
        return (1, 2, m)[n]
    except IndexError:
        return -1


@program(((3, 1, 2, 5), 1), ((3, 1, 2, 5), 3), ((3, 1, 2, 5), 4), ((3, 1, 2, 5), -1))
def slices_of_lists(t, n):
    xs = list(t)
    ys = xs[n:]
    ys.append(n)
    return ys, xs[:n], xs[n - 3:], TABLE[:n], xs[::n], xs[-n:n:2], [][n:], len(xs[n:]), sum(xs[:n]), xs[1:][0]


@program((5,), (0,))
def table_in_a_loop(n):
    s = 0
    for i in range(n):
        s += TABLE[i % 3] * (i + 1)
        if TABLE[(i + 1) % 3] > 20:
            s += [1, i][i % 2]
    return s


@program((5,), (0,))
def pairs_of_a_table(n):
    steps = [(0, 1), (1, 0), (0, -1), (-1, 0)]
    x = y = turn = 0
    for i in range(n):
        dx, dy = steps[turn % 4]
        x, y = x + dx * i, y + dy * i
        turn += 1
    dx, dy = steps[n % 4]
    return x, y, dx, dy


@program((3, [4, 5]), (0, [4]))
def lists_put_together(n, xs):
    pairs = [*enumerate(xs)]
    return [*range(n)], [n, *range(n), 7, *xs, *(x + 1 for x in xs)], [*[n], n], [(9, n), *pairs, *zip(range(n), xs)]


@program((5, [3, 4, 2]), (0, [7]))
def reduced(n, xs):
    product = functools.reduce(lambda a, b: a * b, range(1, n + 1), 1)
    larger = functools.reduce(lambda a, b: a if a > b else b, xs)
    return product, larger, functools.reduce(operator.add, xs, n), functools.reduce(math.gcd, [x * 6 for x in xs])


@program((4,), (1,), (0,))
def reduced_without_a_start(n):
    try:
        return functools.reduce(lambda a, b: a * 10 + b, range(n))
    except TypeError:
        return -1


@program((0,), (2,), (7,), (-1,), (-9,))
def inserted_at(n):
    xs, pairs, none = [1, 2, 3], [(1, 2), (3, 4)], []
    same = xs
    xs.insert(n, 9)
    pairs.insert(n, (n, 5))
    none.insert(n, n)
    if n > 1:
        xs.insert(n - 1, n)
    return xs, same, pairs, none, len(xs)


@program((0,), (2,), (3,), (-3,), (-4,))
def popped_at(n):
    xs = [1, n, 3]
    x = xs.pop(n)
    return xs, x, len(xs), sum(xs)


@program((1,), (5,), (-7,))
def popped_in_branches(n):
    xs, ys = [4, 5, 6], [1, 2]
    try:
        if n > 0:
            ys.append(xs.pop(n))
        ys.pop(n)
    except IndexError:
        ys.append(100)
    return xs, ys

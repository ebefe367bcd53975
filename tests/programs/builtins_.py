"""Python's builtins on tensors and on what is made of them."""
from __future__ import annotations

from programs import fixed, program


@program((4,), (1,))
def reversed_range(n):
    s = 0
    for i in reversed(range(n)):
        s = s * 10 + i
    return s


@program((4,), (0,))
def length_of_range(n):
    return len(range(n)), len(range(0, n, 2)), len(range(n, 0, -3))


@program((5, 3), (5, 7), (5, -1))
def item_of_range(n, k):
    r = range(n)
    return r[0], r[-1], k in r


@program((5, 3), (5, 7), (9, 4), (0, 0))
def membership_of_range(n, k):
    return k in range(n), k not in range(1, n, 2), k in range(n, -1, -3)


@program((2, 4), (3, 7))
def membership_of_tensors(x, y):
    hits = 0
    while x in (y, 5, 3) or x in [1, 9]:
        hits += 1
        x += 1
    return hits, [k for k in range(4) if k in (1, 2)]


@program((5,), (0,))
def enumerated_range(n):
    s = 0
    for i, k in enumerate(range(n, 2 * n)):
        s += i * k
    return s


@program(([1, 2, 3], 2), ([1, 2, 3], 9))
def zip_with_range(xs, n):
    s = 0
    for i, x in zip(range(n), xs):
        s += i * x
    return s


@program(([1, 2, 3], fixed([10, 20, 30])),)
def zip_with_python_list(xs, ks):
    s = 0
    for x, k in zip(xs, ks):
        s += x * k
    return s


@program(([1, 2, 3], [4, 5, 6], [7, 8, 9]),)
def zip_three(xs, ys, zs):
    s = 0
    for x, y, z in zip(xs, ys, zs):
        s += x * y - z
    return s


@program(([5, 1, 4],), relaxed="to unpack needs the number of items")
def sorted_values(xs):
    low, *_, high = sorted(xs)
    return low, high


@program((3, 8), (8, 3), (5, 5))
def minimum_of_several(a, b):
    return min(a, b, 6), max([a, b, 4]), min((a, b))


@program((1, 0), (1, 1), (0, 0))
def any_all_of_tests(a, b):
    return any([a > 0, b > 0]), all([a > 0, b > 0])


@program((2, 3), (0, 3))
def sum_of_python_list(a, b):
    return sum([a, b, 1]), sum([a, b], 10)


@program(([1, 2, 3],),)
def map_over_values(xs):
    def double(v):
        return v * 2

    s = 0
    for v in map(double, xs):
        s += v
    return s


@program(([[1, 2, 3], [4, 5, 6]],),)
def length_of_nested(m):
    return len(m), len(m[0]), sum([len(row) for row in m])


@program(([7, 8, 9],))
def list_and_tuple_of_values(xs):
    a = list(xs)
    b = tuple(xs)
    return a[0], b[-1], len(a) + len(b)


@program((-3.5,), (2.0,))
def absolute_value(x):
    return abs(x), abs(int(x))


@program((3,), (-3,))
def isinstance_of_python_values(x):
    name = "k"
    if isinstance(name, str) and callable(len):
        x += 1
    return x


@program((2,), (5,))
def membership_of_value(x):
    if x in (1, 2, 3):
        return 1
    return 0


@program((2,), (5,))
def not_in_list(x):
    s = 0
    if x not in [1, 2]:
        s = x
    return s


@program((2,), (0,))
def any_of_generator(n):
    return any(k == n for k in (1, 2, 3)), all(k > n for k in (1, 2, 3))


@program((3,), (-3,))
def getattr_and_hasattr(x):
    class Config:
        rate = 2

    if hasattr(Config, "rate"):
        x *= getattr(Config, "rate")
    return x * getattr(Config, "missing", 5)


@program((5,), (2,))
def filter_python_values(n):
    s = 0
    for k in filter(lambda v: v % 2, [1, 2, 3, 4]):
        if k < n:
            s += k
    return s


@program((3, 4),)
def print_builtins(a, b):
    print(max(a, b), min(a, b), abs(a - b), len([a, b]))
    return a

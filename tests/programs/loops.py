"""`while` and `for` without jumps: what they carry, over what they run, and their `else`."""
from __future__ import annotations

from programs import dataset, fixed, program


@program((5,), (0,), (-3,))
def count_down(n):
    while n > 0:
        n -= 1
    return n


@program((27,), (1,), (6,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program((5,), (1,), (0,))
def factorial(n):
    product = 1
    while n > 1:
        product *= n
        n -= 1
    return product


@program((10,), (0,))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@program(([1, 2, 3],), ([5],))
def sum_list(xs):
    total = 0
    for x in xs:
        total += x
    return total


@program(([1.5, 2.5, -4.0],), ([0.5],))
def sum_squares(xs):
    total = 0
    for x in xs:
        total += x * x
    return total


@program(([2.0, 4.0, 9.0],),)
def running_mean(xs):
    n = 0
    mean = 0
    for x in xs:
        n += 1
        mean += (x - mean) / n
    return mean


@program((4,), (0,), (1,))
def triangular_nested(n):
    total = 0
    for i in range(n):
        for j in range(i):
            total += i * j
    return total


@program((3,), (0,))
def four_deep(n):
    total = 0
    for a in range(n):
        for b in range(a + 1):
            for c in range(b + 1):
                d = 0
                while d <= c:
                    total += a + b + c + d
                    d += 1
    return total


@program((4,), (0,))
def while_in_for(n):
    count = 0
    for i in range(n):
        k = i
        while k > 0:
            k //= 2
            count += 1
    return count


@program((2, 11, 3), (5, 5, 1), (9, 0, -2))
def range_three(start, stop, step):
    s = 0
    for i in range(start, stop, step):
        s = s * 2 + i
    return s


@program((5,), (0,))
def range_backwards(n):
    s = 0
    for i in range(n, 0, -1):
        s = s * 3 + i
    return s


@program(([4, 5, 6],), ([7],))
def enumerate_list(xs):
    s = 0
    for i, x in enumerate(xs):
        s += i * x
    return s


@program(([4, 5, 6],),)
def enumerate_from(xs):
    s = 0
    for i, x in enumerate(xs, 10):
        s += i * x
    return s


@program(([1, 2, 3], [4, 5, 6]), ([1, 2, 3], [4, 5]))
def zip_two(xs, ys):
    s = 0
    for x, y in zip(xs, ys):
        s += x * y
    return s


@program(([1, 2, 3], [4, 5, 6]),)
def enumerate_zip(xs, ys):
    s = 0
    for i, (x, y) in enumerate(zip(xs, ys)):
        s += i * (x - y)
    return s


@program(([[1, 2], [3, 4], [5, 6]],),)
def rows_of_matrix(m):
    s = 0
    for row in m:
        p = 1
        for x in row:
            p *= x
        s += p
    return s


@program(([[1, 2], [3, 4], [5, 6]],),)
def unpacked_rows(m):
    s = 0
    for a, b in m:
        s += a * b
    return s


@program((5,), (0,))
def for_else(n):
    s = 0
    for i in range(n):
        s += i
    else:
        s += 100
    return s


@program((5,), (0,))
def while_else(n):
    s = 0
    while n > 0:
        n -= 1
        s += n
    else:
        s = -s
    return s, n


@program((5,), (1,), (0,))
def target_after_loop(n):
    i = -1
    for i in range(n):
        pass
    return i


@program((3,), (0,))
def unbound_target_after_loop(n):
    for i in range(n):
        pass
    return i


@program((3,), (0,))
def first_bound_in_loop(n):
    for i in range(n):
        last = i * 2
    return last


@program((3,), (1,), (0,))
def first_bound_in_while(n):
    while n > 0:
        doubled = n * 2
        n -= 1
    if n < 0:
        doubled = 0
    return doubled


@program((3,), (0,))
def read_before_bound_in_loop(n):
    s = 0
    for i in range(n):
        if i > 0:
            s += previous  # noqa: F821
        previous = i * 5
    return s


@program((4,), (0,))
def temporary_in_loop(n):
    s = 0
    for i in range(n):
        t = i * i
        u = t + 1
        s += u
    return s


@program((4,), (0,))
def reuse_of_name(n):
    t = 100
    s = 0
    for i in range(n):
        t = i
        s += t
    t = 3
    return s + t


@program((3,),)
def loop_over_literal(x):
    s = x
    for k in (1, 2, 3):
        s = s * k + x
    for k in [5, 7]:
        s -= k
    return s


@program((3, fixed([1, 2, 3])),)
def loop_over_python_list(x, ks):
    s = 0
    for k in ks:
        s += k * x
    return s


@program((3, fixed({"a": 1, "b": 2})),)
def loop_over_dict_items(x, d):
    s = 0
    for _name, v in d.items():
        s += v * x
    return s


@program((3, fixed("abc")), (-3, fixed("abc")))
def loop_over_string(x, word):
    s = 0
    for _ in word:
        if x > 0:
            s += x
    return s


@program((dataset([1, 2, 3]),), (dataset([5]),))
def loop_over_dataset(ds):
    s = 0
    for x in ds:
        s += x
    return s


@program((dataset([(1, 10), (2, 20)]),),)
def loop_over_pairs(ds):
    s = 0
    for x, y in ds:
        s += x * y
    return s


@program((dataset([3, 1, 2]), 2),)
def twice_over_dataset(ds, k):
    s = 0
    for _ in range(k):
        for x in ds:
            s = s * 2 + x
    return s


@program((3.0,), (100.0,), (0.25,))
def newton_root(x):
    guess = 1.0
    while abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2
    return round(guess * 100)


@program((3,), (0,))
def int_becomes_float_in_loop(n):
    x = 1
    for _ in range(n):
        x = x / 2
    return x


@program((3, 0.5),)
def weak_meets_strong_late(n, step):
    x = 0
    i = 0
    while i < n:
        x = x + step
        i += 1
    return x, i


@program((3,), (0,))
def none_before_loop(n):
    best = None
    for i in range(n):
        if best is None:
            best = i
        else:
            best = best + i
    return best


@program(([3, 9, 2],), ([4],))
def maximum_with_none(xs):
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best


@program(([3, 1, 2],),)
def reversed_list(xs):
    s = 0
    for x in reversed(xs):
        s = s * 10 + x
    return s


@program((4, 3), (0, 3), (4, 0))
def python_list_of_tensors(a, b):
    s = 0
    for x in [a, b, a + b]:
        if x > 3:
            s += x
    return s


@program((6,),)
def loop_over_range_with_state_tuple(n):
    state = (0, 1)
    for i in range(n):
        state = (state[1], state[0] + i)
    return state


@program((4,), (0,))
def dict_state(n):
    d = {"sum": 0, "product": 1}
    for i in range(n):
        d = {"sum": d["sum"] + i, "product": d["product"] * (i + 1)}
    return d


@program((2,), (0,))
def loop_in_both_branches(n):
    s = 0
    if n > 1:
        for i in range(n):
            s += i + 1
    else:
        while s < 5:
            s += 2
    return s


@program((3, 2), (0, 2))
def loop_does_not_change_python_value(n, k):
    width = 4
    s = 0
    for _ in range(n):
        for j in range(width):
            s += j * k
    return s, width

"""Comprehensions and generator expressions: with tests, several `for`, in each other, with walrus and with effects."""
from __future__ import annotations

from programs import fixed, program


@program(([3, -1, 4, -1, 5],), ([-1, -2],))
def sum_of_generator(xs):
    return sum(x * x for x in xs)


@program(([3, -1, 4, -1, 5],), ([-1, -2],))
def sum_of_filtered(xs):
    return sum(x * x for x in xs if x > 0)


@program(([3, 1, 4], 10), ([-1, -2], 3))
def sum_with_start(xs, start):
    return sum((x for x in xs if x > 0), start)


@program(([3, -1, 4, -1, 5],), ([-1, -2],), ([1, 2],))
def two_tests_in_a_row(xs):
    return [x for x in xs if x > 0 if x % 2 == 1 if x < 5]


@program(([3, -1, 4],), ([-1, -2],), ([5, 6],))
def any_and_all_of_generators(xs):
    return any(x > 4 for x in xs), all(x > 2 for x in xs), any(x > 0 for x in xs if x < 4)


@program(([3, -1, 4, 7],), ([-1, -2],))
def any_stops_at_the_first(xs):
    def noisy(x):
        print("seen", x)
        return x > 2

    return any(noisy(x) for x in xs)


@program(([3, 7, -4, 7],), ([3],))
def all_stops_at_the_first(xs):
    def noisy(x):
        print("seen", x)
        return x > 2

    return all(noisy(x) for x in xs)


@program(([3, -1, 4, -1, 5],), ([1, 2],))
def least_and_greatest(xs):
    return min(x * x for x in xs), max(x * x for x in xs if x < 3)


@program(([3, -1],), ([-1, -2],))
def greatest_or_default(xs):
    return max((x * x for x in xs if x > 0), default=7)


@program(([-1, -2],), ([1, 2],))
def greatest_of_none_fails(xs):
    return max(x for x in xs if x > 0)


@program(([3, -1, 4, -1, 5],), ([1],))
def lists_of_generators(xs):
    return list(x + 1 for x in xs), list(x for x in xs if x > 0), sorted(-x for x in xs if x > 0)


@program(([3, -1, 4],), relaxed="a tuple has a known length")
def tuple_of_generator(xs):
    return tuple(x * x for x in xs)


@program(([3, -1, 4],), ([-5],))
def loop_over_generator(xs):
    s = 0
    for y in (x * x for x in xs if x > 0):
        s = 2 * s + y
    return s


@program(([3, -1, 4, 9, 2],), ([-5],))
def loop_over_generator_is_left(xs):
    s = 0
    for y in (x * x for x in xs if x > 0):
        if y > 50:
            break
        s += y
    else:
        s = -s
    return s


@program(([3, -1, 4],), ([-5],))
def effects_alternate(xs):
    def noisy(x):
        print("made", x)
        return x

    for y in (noisy(x) for x in xs if x > 0):
        print("used", y)
    return 0


@program(([1, 5, 2],), ([1],))
def next_of_generator(xs):
    return next((x for x in xs if x > 2), -7)


@program(([1, 5, 2],), ([1],))
def next_of_generator_or_error(xs):
    return next(x for x in xs if x > 2)


@program(([1, 2, 3],),)
def generator_is_used_up(xs):
    numbers = (x + 1 for x in xs)
    first = sum(numbers)
    return first, sum(numbers)


@program(([1, -2, 3],),)
def enumerated_generator(xs):
    return sum(i * x for i, x in enumerate(y for y in xs if y > 0))


@program(([1, -2, 3], [4, 5, 6]),)
def zipped_generators(xs, ys):
    return [a * b for a, b in zip((x + 1 for x in xs), ys)]


@program(([3, -1, 4],), ([-1, -2],))
def two_loops(xs):
    return [x * y for x in xs for y in xs if x > y]


@program(([3, -1, 4],), ([-1, -2],))
def two_loops_two_tests(xs):
    return sum(x * y for x in xs if x > 0 for y in range(3) if y < x)


@program((3,), (0,))
def inner_range_depends_on_outer(n):
    return [10 * i + j for i in range(n) for j in range(i)]


@program(([3, -1, 4],), ([1],))
def generator_in_comprehension(xs):
    return [sum(x * y for y in xs if y > 0) for x in xs]


@program(([3, -1, 4],), ([1],))
def comprehension_in_comprehension(xs):
    return [[x * y for y in xs] for x in xs]


@program(([3, -1, 4],), ([-1, -2],))
def walrus_in_filter(xs):
    return [y for x in xs if (y := x + 1) > 2]


@program(([3, -1, 4],), ([-1, -2],))
def walrus_is_seen_after(xs):
    last = -5
    found = [last := x for x in xs if x > 0]
    return found, last


@program(([3, -1, 4, 9],), ([-1, -2],))
def walrus_tells_which(xs):
    which = 0
    if any((which := x) > 3 for x in xs):
        return which
    return -1 - which


@program(([1, 2, 3, 4],),)
def running_total(xs):
    total = 0
    return [total := total + x for x in xs], total


@program(([1, 5, 3],),)
def calls_that_change_what_they_close_over(xs):
    count = 0

    def up(x):
        nonlocal count
        count += 1
        return x * count

    return [up(x) for x in xs if x > 1], count, sum(up(x) for x in xs), count


@program((2,), (5,))
def tests_over_python(n):
    return [k for k in (1, 2, 3) if k < n], sum(k for k in [1, 2, 3] if k < n), any(k == n for k in (1, 2))


@program(([3, 5],), relaxed="a dict has a known number of keys")
def dict_of_known_length(xs):
    return {i: x * x for i, x in enumerate(xs)}


@program((3,), (-3,))
def dict_with_staged_values(n):
    return {k: n if n > 0 else k for k in range(3) if k != 1}


@program((3,),)
def dict_of_two_loops(n):
    return {10 * i + j: n * j for i in range(2) for j in range(2)}


@program(([[1, 2], [3, 4]],),)
def parts_of_rows(rows):
    return [a * b for a, b in rows], sum(a - b for a, b in rows if a > 1)


@program(([1, 2, 3], [4, 5, 6]),)
def parts_of_parts(xs, ys):
    return [i * a + b for i, (a, b) in enumerate(zip(xs, ys))]


@program((fixed([(1,), (2,)]), 3),)
def tuple_of_one_part(pairs, n):
    return [x * n for (x,) in pairs if n > 0]


@program((fixed([(1, 2), (3,)]), 3))
def parts_that_are_missing(pairs, n):
    return [a * b for a, b in pairs if n > 0]


@program((fixed([1, 2]), 3))
def parts_of_what_has_none(pairs, n):
    return sum(a * b for a, b in pairs if n > 0)


@program((3,), (0,))
def functions_share_their_variable(n):
    return [f() for f in [lambda: i + n for i in range(3)]]


@program((4,), (0,))
def generator_is_passed_on(n):
    def total(numbers):
        s = 0
        for x in numbers:
            s += x
        return s

    return total(i * i for i in range(n) if i % 2 == 1)


@program(([3, -1, 4],), ([-2],), eager="0 + a bool tensor: the dtypes differ")
def how_many(xs):
    return sum(x > 0 for x in xs), sum(1 for x in xs if x > 0), len([x for x in xs if x > 0])


@program(([3, -1, 4, 3, -1],), ([7],))
def distinct(xs):
    seen = []
    for x in xs:
        if x not in seen:
            seen.append(x)
    return seen


@program(([[1, 2], [3, 4]],),)
def rows_in_each_other(rows):
    return [sum(v for v in row) for row in rows], max(max(row) for row in rows), [v for row in rows for v in row]


@program(([3, -1, 4, -3],), ([1],))
def all_of_any(xs):
    return all(any(x + y == 0 for y in xs) or x > 3 for x in xs)


@program(([3, -1, 4, -3],), ([1],))
def next_in_a_loop(xs):
    s = 0
    for x in xs:
        s += next((y for y in xs if y > x), 0)
    return s


@program(([3, -1, 4], 3), ([1], 5))
def generator_in_while_test(xs, n):
    i = 0
    while any(i < x for x in xs) and i < n:
        i += 1
    return i


@program(([1, 2, 3],),)
def python_generators_beside_tensors(xs):
    words = sorted((w for w in ["bb", "a", "ccc"] if len(w) < 3), key=len)
    numbers = (k for k in (1, 2, 3, 4) if k != 2)
    first = next(numbers)
    least = max((k for k in [3, 1, 2] if k < 3), key=lambda k: -k)
    return words, "".join(c for c in "abc" if c != "b"), first, list(numbers), least, dict((k, 1) for k in "ab"), xs[0]


@program(([3, -1, 4],), ([-2],))
def list_that_nobody_takes(xs):
    out, more = [], []
    [out.append(x) for x in xs if x > 0]
    [more.append(x * y) for x in xs if x > 0 for y in (1, 2)]
    [print(x) for x in xs]
    return out, more


@program((3,), (0,))
def tests_in_comprehensions_of_a_class_body(x):
    class Table:
        rows = [3, 0, 4]
        kept = [r for r in rows if r and r != 4]
        squares = {r: r * r for r in rows if r}

        class Inner:
            odd = {r for r in (1, 2, 3) if r % 2}

        def items(self, names=[r for r in rows if r > 3]):
            return [n for n in names if n]

    return Table.kept, Table.squares, Table.Inner.odd, Table().items(), x + 1 if x > 0 else x

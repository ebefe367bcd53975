"""Comprehensions and generator expressions: with tests, several `for`, in each other, with walrus and with effects."""
from __future__ import annotations

import itertools

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


@program(([3, -1, 4], 1), ([-1], 5))
def walrus_in_comprehension_of_a_lambda(xs, total):
    running = lambda total: ([total := total + x for x in xs], total)
    return running(total)


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


@program(([3, -1, 4],))
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


def noted(x):
    print("item", x)
    return x


@program(([1, 2, 3], 1), ([4, 0], 9), ([2, 2, 5], 2))
def enumerate_of_a_filtered_generator(xs, x):
    s = 0
    for i, v in enumerate((noted(v) for v in xs if v > x), 5):
        print("body", i)
        s += i * v
    for i, v in enumerate(noted(v) for v in xs if v > x):
        if v > 2:
            break
        s += 100 * i
    else:
        s = -s
    return s, list(enumerate(v for v in xs if v > x))


@program((1,), (2,), (7,))
def enumerate_of_a_generator_of_python_values(x):
    decided = [i * v + x for i, v in enumerate(v for v in [1, 2, 3] if v > 1)]
    return decided, [i * v for i, v in enumerate(noted(v) for v in [1, 2, 3] if v > x)]


@program(([1, 2, 3], 1), ([4, 0], 9))
def enumerate_within_enumerate(xs, x):
    pairs = [100 * i + 10 * j + v for i, (j, v) in enumerate(enumerate(v for v in xs if v > x))]
    g = (v * i for i, v in enumerate(v for v in xs if v > x) if v != 2)
    nested = [i * a + j * b for i, a in enumerate(v for v in xs if v > x) for j, b in enumerate(w for w in xs if w < a)]
    parts = list(enumerate((p, q) for p in xs for q in xs if p > q))
    return pairs, list(enumerate(g)), nested, [i + p + q for i, (p, q) in parts]


@program(([1, 2, 3], 2), ([4, 0], 9))
def zip_of_a_filtered_generator(xs, x):
    products = [a * b for a, b in zip((v for v in xs if v >= x), [5, 6, 7])]
    known = [a + b + x for a, b in zip((v for v in [0, 1, 2] if v), map(abs, [3, -4]))]
    numbered = zip(enumerate(v for v in xs if v > x), enumerate(w for w in xs if w >= x))
    return products, known, [i * a + j * b for (i, a), (j, b) in numbered]


@program((2,), (9,), (0,))
def filter_of_python_values_by_a_tensor(x):
    def big(v):
        if v == x:
            return False
        return v > 1

    s = 0
    for k in filter(lambda v: noted(v) < x, [1, 2, 3]):
        print("body", k)
        s += k
    sums = [a + b for a, b in zip(filter(None, [1, 2]), map(lambda v: v * x, [3, 4]))]
    return s, list(filter(big, range(5))), next(filter(lambda v: v > x, [1, 2, 3]), -1), any(filter(big, [0, 1])), sums


@program((2,), (5,))
def number_in_a_generator_of_tensors(x):
    return 4 in (v * x for v in [1, 2]), 5 in map(lambda v: v + x, [3, 4]), 3 in (v for v in [1, 3])


@program(([3, 1, 2],), ([5, 4],), relaxed="how many items are left has to be known")
def items_taken_one_by_one(xs):
    numbers = (x * 2 for x in xs)
    first = next(numbers)
    best = first
    for v in numbers:
        if v > best:
            best = v
    parts = map(lambda v: v + 1, xs)
    a, = itertools.islice(parts, 1)
    return first, best, next(numbers, -1), list(numbers), a, list(enumerate(parts)), list(parts)


@program(([3, 1, 2],), ([5, 4],))
def generators_side_by_side(xs):
    products = [a * b for a, b in zip((x for x in xs), (x for x in xs if x > 1))]
    sums = list(map(lambda a, b: a + b, (x for x in xs if x > 1), xs))
    return products, sums, list(map(lambda a, b: a + b, (v for v in [1, 2, 3] if v > 1), xs))


@program(([3, 1, 2], 1), ([5, 4], 4))
def iterators_run_over_twice(xs, y):
    pairs, numbered, back, kept = zip(xs, xs), enumerate(xs), reversed(xs), filter(lambda x: x > y, xs)
    once = [a * b for a, b in pairs], [i * x for i, x in numbered], [x + 1 for x in back], [x + 1 for x in kept]
    s = 0
    for a, b in pairs:
        s += 1
    for x in kept:
        s += 10
    for x in back:
        s += 100
    return once, list(numbered), s

"""What `python -m tests.fuzz` has found, made small."""
from __future__ import annotations

from programs import fixed, program


class Box:
    def __init__(self) -> None:
        self.v = 0
        self.items = [1, 2]

    def grow(self) -> None:
        self.v = 1


@program((3, [4, 7, 1]), (0, [2]))
def item_of_a_list_of_an_object_in_loops(a, xs):
    box = Box()
    n = 0
    while n < 2:
        n += 1
        for x in xs:
            box.items[1] = x
    return box.items[1], a


@program((3, -2), (5, 0))
def object_and_list_change_in_branches(a, b):
    box = Box()
    out = []
    if b:
        box.items[0] = 31
    else:
        out.append(1)
    return a - 1, out


@program((3,), (0,))
def list_grows_where_a_method_changes_an_object(a):
    box = Box()
    out = []
    if not a:
        out.append(a)
        box.grow()
    return box.v, a, out


@program((3,), (0,))
def unbound_in_an_unpacking(b):
    if b:
        v, b = v  # noqa: F821, RUF059
    return b


@program((3, 4), (2, 0))
def walrus_in_a_test_with_an_else(a, b):
    n = 0
    while (n := n + 1) < b:
        a += 1
    else:
        a = a + 10 * n
    return a, n


@program((3,), (0,))
def walrus_in_a_test_with_a_break_and_an_else(a):
    n = 0
    while (n := n + 1) < a:
        if n == 2:
            break
    else:
        n = -n
    return n


@program((3, 1), (1, 0), (4, 2))
def match_in_a_match(a, b):
    match a + 1:
        case c if b:
            match b + 1:
                case 2 | 4:
                    a = c
        case _:
            a = -1
    return a


@program((4,), (1,))
def nested_function_appends_in_its_branches(n):
    out = []

    def add(x):
        if x % 2 == 0:
            out.append(x)
        else:
            out.append(-x)

    for i in range(n):
        add(i)
    return out


@program((4,), (1,))
def nested_function_appends_in_nested_branches(n):
    out = []

    def add(x):
        out.append(x)

    if n > 2:
        if n > 3:
            add(n)
    return len(out)


@program((3,), (-3,))
def read_where_only_the_other_branch_binds(x):
    if x > 0:
        y = x
        print(y)
    else:
        print(y)
    return x


@program((0, 3), (1, 3))
def unbound_in_a_ternary_in_a_loop(a, n):
    for i in range(n):
        print(i if a else v)  # noqa: F821
        v = 1
    return a


@program((0, [4, 7, 1]), (3, [2]))
def nested_function_appends_in_a_branch_of_a_loop(a, xs):
    out = []

    def add(q):
        for x in xs:
            if q:
                pass
            else:
                out.append(x)

    add(a)
    return out


@program((3,), (-2,))
def function_made_in_a_branch_of_a_loop_appends(a):
    out = []
    n = 0
    while n < 3 and a:
        n += 1
        if a > 0:
            def add(q):
                out.append(q)

            add(n)
    return n, out


@program((0,), (3,))
def returned_where_it_may_be_unbound(a):
    match a:
        case 0:
            b = 1
            return a, a
    return a, b


@program((2,), (1,), (-1,))
def returned_where_a_branch_in_a_branch_binds_it(a):
    if a > 0:
        if a > 1:
            return a
        b = 1
    return b


@program((-1, 3), (1, 0))
def passed_on_in_a_loop_where_it_may_be_unbound(a, n):
    if a > 0:
        b = 1
    c = 0
    for _ in range(n):
        c = b
    return c


@program((3, -2), (-1, 2))
def list_returned_by_one_branch_and_appended_to_by_the_other(a, b):
    out = []
    n = 0
    while n < 2 and b:
        n += 1
        out.append(n)
    if a < 0:
        if True:
            return out
    else:
        out.append(7)
    return out


@program((3, -2), (0, 5))
def recursive_function_made_in_a_loop(a, b):
    n = 0
    while n < 3 and a < 9:
        n += 1

        def shrink(q, k):
            if k <= 0:
                return q
            return shrink(q - n, k - 1) if q > b else shrink(q + 1, k - 1)

        a = shrink(a, fixed_depth)
    return a, n


fixed_depth = 3


@program((3,), (-2,), (0,))
def recursive_function_made_in_branches_of_a_loop(a):
    for _ in range(2):
        if a > 0:
            def halve(q, k):
                return q if k <= 0 else halve(q // 2, k - 1)

            a = halve(a, 2)
        elif a < 0:
            def halve(q, k):
                return q if k <= 0 else halve(-q, k - 1)

            a = halve(a, 1)
    return a


@program((fixed(3),), (fixed(-3),))
def unbound_in_a_comprehension(a):
    if a < 0:
        b = 0
    else:
        return [1 for q in (1, 2) for r in (0, q) if r or b], {b for q in (1, 2)}
    return b


@program((3, 5), (0, 5))
def unbound_in_a_chained_comparison(a, b):
    if a:
        late = 9
    return a <= max(a, b) <= late


@program((3, [4, 7, 1]), (0, [2]))
def function_made_in_a_loop_sets_an_item(a, xs):
    out = []
    for x in xs:
        def first(q):
            if out:
                out[0] = q
            return min(8, q)

        a = first(a)
        out.append(x)
    return a, out


@program((fixed(3),))
def unbound_in_the_test_of_the_branch_that_binds(a):
    if late:  # noqa: F821
        pass
    else:
        late = a


@program((3, 0.5), (-2, 0.0))
def set_before_an_error_and_again_after(b, f):
    try:
        if f:
            b = 1
            [][b]
        b = 2
    except LookupError:
        pass
    return b


@program((3, 0), (3, 2), (-2, 0))
def set_before_a_staged_error_and_again_after(a, zero):
    b = a
    try:
        if a > 0:
            b = 1
            a = a // zero
        b = a = 2
    except ZeroDivisionError:
        pass
    return a, b


@program((fixed(3),))
def unbound_return_before_an_else(a):
    try:
        return late
    except NameError:
        raise KeyError("late") from None
    else:
        late = a
    return late


@program((3, fixed(1)), (3, fixed(0)))
def return_before_an_else_in_a_branch(a, wanted):
    if wanted:
        b, *_ = range(3)
        try:
            return b
        except 1 as error:
            raise 1 from error
        else:
            b = a


@program((3, -2), (3, 3), (9, 9))
def pair_with_what_may_be_none(a, b):
    if a != b:
        a = 2
    else:
        def least(q):
            if b >= 3:
                return q

        a = least(b)
        if a >= 7:
            return a, b
    return b, b


class Grows:
    def __init__(self, v):
        self.v = v

    def set(self):
        self.v = 1


@program((1, -2, 3), (5, -2, 0))
def list_grows_before_an_object_is_found_to_change(a, b, k):
    box = Grows(b)
    out = []
    for i in range(3):
        if a < 3 or i:
            if k:
                out.append(i)
            else:
                box.set()
    return box.v, out


@program((3,), (0,))
def walrus_in_an_operand_of_a_generator(a):
    return sum(a for q in range(3) for r in range(q) if r or (last := 4)), last


@program((3,), (0,))
def else_of_a_loop_on_a_walrus_always_raises(n):
    total = 0
    try:
        try:
            while (m := n) > 1:
                n -= 1
                total += m
                if total > 100:
                    break
            else:
                raise ValueError(total)
        except ValueError as error:
            total = -error.args[0]
    finally:
        total += 1
    return total, n


@program((3, None), (0, 2), (7, 2))
def ends_where_another_return_is_staged(n, other):
    if other is not None:
        if n > 5:
            return n
        n += 1


@program((3,))
def number_of_a_list_that_grew(a):
    out = []
    try:
        if a:
            out.append(a)
        a = int(out)
    except TypeError as error:
        print(type(error).__name__)
        a = -1
    return a


@program((3,), (0,), (9,))
def ends_with_the_else_of_a_loop(n):
    for i in range(n):
        if i > 4:
            break
    else:
        print(n)


@program((3,), (0,), (9,))
def ends_with_the_else_of_a_loop_in_a_branch(n):
    if n > 2:
        while n > 4:
            n -= 1
            if n == 6:
                break
        else:
            print(n)


@program((3,), (0,), (9,))
def ends_with_a_loop_where_another_return_is_staged(n):
    if n > 5:
        if n < 9:
            return
    else:
        while isinstance(n, int) and n > 1:
            n = n // 2
        while isinstance(n, str):
            n = 0


@program((3,), (0,))
def ends_after_the_else_of_an_inner_loop_leaves_the_outer(n):
    while n is not None:
        while n > 1:
            n -= 1
        else:
            print(n)
            break
        return n
    else:
        print(-1)


@program(([1, 2], True), ([], False), ([3], False))
def returns_only_in_the_last_branch_after_a_loop(xs, c):
    total = 0
    for x in xs:
        total += x
    if c:
        return total


@program((3, True), (0, False), (0, True))
def returns_only_in_the_last_branch_after_a_while_loop(n, c):
    while n > 1:
        n -= 1
    if c:
        n += 10
        return n


@program((3, True), (0, False), (0, True))
def returns_only_in_the_last_branch_after_others(n, c):
    if n > 2:
        n = -n
    try:
        n = 12 // n
    except ZeroDivisionError:
        n = 7
    if c and n != 5:
        return n


@program((3,), (0,))
def methods_of_constants_in_the_test_of_a_loop(n):
    parts, k = ["1"] * 3, n
    while "-".join(parts) != "1":
        parts = parts[1:]
    while "a".isdigit():
        k += 1
    while {"a": k}.get("a") > 1 and [k].pop() < 10:
        k -= 1
    return len(parts), k


def same(value):
    return value


@program((fixed(0), 7), (fixed(1), 5), (fixed(2), 6))
def items_at_keys_that_hold_operators(i, v):
    x, y, z = [0, 0, 0], [0, 0, 0], {}
    x[i or 1] = y[int(not i)] = z[i in (1, 2)] = w = same(v)
    x[i and 2] = same(v) + 1
    y[len([i])], z[i and i - 1], *rest = y[i or 2], w, x[0], same(v)
    z[same(i) or 5] = same(v) * 2
    return x, y, w, rest, sorted(z), [z[key] for key in sorted(z)]


@program(([0, 0, 0], fixed(0), 7), ([0, 0, 0], fixed(1), 5), ([3, 2, 1], fixed(2), 6))
def items_of_an_array_at_keys_that_hold_operators(x, i, v):
    x[i or 1] = same(v)
    x[int(not i)] = same(v) + 1
    x[i if i in (1, 2) else 0] += same(v) or 2
    return x[0], x[1], x[2]


@program((fixed(0),), (fixed(2),))
def lambdas_with_operators_in_what_comprehensions_run_over(n):
    rows = [[n, 1], [2, 0]]
    keys = {y: x for x in rows for y in sorted(x, key=lambda v: v and -v)}
    found = [y for x in rows for y in map(lambda v: v.bit_length() if not v else same(v or 1), x)]
    every = list(y or n for y in [(lambda v: v or 5)(n), (lambda v: [w for w in range(v) if w or v])(2)])
    some = any(y for x in rows for y in filter(lambda v: same(v) < 2 and v not in keys.values(), x))
    return sorted(keys), found, every, some


@program((3, 1), (0, 4), (5, 0), (-2, 3))
def walrus_in_a_test_whose_else_leaves_the_loop_around(a, b):
    n = 0
    while n < 3:
        n += 1
        m = 0
        while (m := m + 1) < 5 and n >= b:
            a += m
        else:
            if n <= a:
                break
        b -= 1
    return a, b, n


@program((1, 5), (2, 4), (0, 3), (4, 7), (1, 0))
def walrus_in_a_test_with_a_break_whose_else_goes_on_with_the_loop_around(a, b):
    out = 0
    for k in range(4):
        m = 0
        while (m := m + 1) < 5 and k + m < b:
            if m == a:
                break
            out += m
        else:
            if k < a:
                out += 100
                continue
            break
        out += 1000
    else:
        return a, -1, out
    return a, b, out


@program((5, 1), (2, 9), (-1, 0))
def walrus_in_a_test_that_the_body_alone_reads(n, limit):
    total = 0
    for k in range(3):
        while (x := n - k) > 0 and (y := x + limit) != 4:
            total += y - x
            n -= 1
        else:
            if total > limit:
                continue
            n += 5
    return total, n


def nothing_or_one(a):
    if a > 5:
        if a > 6:
            return 1


def first_beyond(a, limit):
    for k in range(a):
        if k > limit:
            return k


@program((3, -2), (7, 1), (12, 0))
def what_was_returned_is_part_of_a_tuple_on_some_ways(a, b):
    b = nothing_or_one(a)
    if a > 9:
        return a, b


@program((3, -2), (7, 1), (12, 0))
def what_was_returned_is_part_of_a_list_on_some_ways(a, b):
    b = nothing_or_one(a)
    lst = [b]
    r = None
    if a > 9:
        r = lst
    if a < 4:
        return [b]
    return r


@program((3, -2), (7, 1), (12, 0))
def what_a_loop_returned_is_part_of_a_dict_on_some_ways(a, b):
    found = first_beyond(a, 4)
    r = None
    for k in range(a):
        if k > 9 and b < 1:
            r = {"k": found, "m": [k]}
            break
    return r, found is None

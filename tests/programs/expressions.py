"""`and`, `or`, `not`, comparisons, ternaries, `assert`, walrus."""
from __future__ import annotations

from programs import program


@program((1, 2), (-1, 2), (1, -2), (-1, -2))
def and_of_tests(a, b):
    if a > 0 and b > 0:
        return 1
    return 0


@program((1, 2), (-1, 2), (1, -2), (-1, -2))
def or_of_tests(a, b):
    if a > 0 or b > 0:
        return 1
    return 0


@program((1,), (-1,))
def not_of_test(a):
    if not a > 0:
        return 1
    return 0


@program((1, 2, 3), (1, -2, 3), (-1, 2, -3), (0, 0, 0))
def mixed_logic(a, b, c):
    return (a > 0 and b > 0) or (not c > 0 and a == b)


@program((1, 2), (0, 2))
def and_as_value(a, b):
    both = a > 0 and b > 1
    either = a > 0 or b > 5
    return both, either, not both


@program((6, 2), (6, 0), (0, 3))
def guarded_division(a, b):
    if b != 0 and a // b > 2:
        return 1
    return 0


@program((6, 2), (6, 0))
def guarded_by_or(a, b):
    if b == 0 or a // b < 2:
        return 1
    return 0


@program((1,), (5,), (10,), (-3,))
def chained_comparison(x):
    if 0 < x <= 5:
        return 1
    return 0


@program((1, 2, 3), (3, 2, 1), (1, 5, 4), (2, 2, 2))
def long_chain(a, b, c):
    return a < b <= c != 4


@program((1,), (5,), (11,))
def chain_with_calls(x):
    def middle(v):
        print("middle")
        return v * 2

    return 0 < middle(x) < 20


@program((1,), (-1,))
def chain_stops_early(x):
    def last():
        print("last")
        return 10

    if 0 < x < last():
        return 1
    return 0


@program((3,), (-3,))
def ternary(x):
    return x if x > 0 else -x


@program((3,), (-3,), (0,))
def nested_ternary(x):
    return 1 if x > 0 else -1 if x < 0 else 0


@program((6, 2), (6, 0))
def ternary_guards(a, b):
    return a // b if b != 0 else -1


@program((3,), (-3,))
def ternary_in_call(x):
    return max(x if x > 0 else 0, 1)


@program((3, 1.5), (-3, 1.5))
def ternary_int_or_float(n, x):
    y = x if n > 0 else 0
    return y + 1


@program((3,), (-3,))
def assert_passes_or_fails(x):
    assert x > 0
    return x


@program((3,), (-3,))
def assert_with_message(x):
    assert x > 0, "x must be positive"
    return x


@program((3,), (0,))
def assert_in_branch(x):
    y = 0
    if x > 1:
        y = x * 2
        assert y > x, f"{y} is not over {x}"
    else:
        assert x == 0
    return y


@program((4,), (0,))
def assert_in_loop(n):
    s = 0
    for i in range(n):
        assert i < 10
        s += i
    return s


@program((5,), (2,))
def walrus_in_test(n):
    if (half := n // 2) > 1:
        return half
    return -half


@program((100,), (1,))
def walrus_in_while(n):
    s = 0
    while (n := n // 3) > 0:
        s += n
    return s, n


@program((7, 3), (-7, 3), (7, -3), (-7, -3))
def integer_arithmetic(a, b):
    return a + b, a - b, a * b, a // b, a % b, -a, +b, abs(a)


@program((7.5, 2.0), (-7.5, 2.0))
def float_arithmetic(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, a ** 2, -a


@program((7, 2), (1, 4))
def true_division_of_ints(a, b):
    return a / b + 1


@program((12, 10),)
def bit_operations(a, b):
    return a & b, a | b, a ^ b, ~a


@program((2, 5), (-1, 3))
def all_comparisons(a, b):
    return a < b, a <= b, a > b, a >= b, a == b, a != b


@program((2, 5),)
def reflected_operators(a, b):
    return 10 - a, 10 // a, 100 % b, 2 * a, 1 + b, 3 > a, 4 == b


@program((2, 5, 1), (7, 1, 3))
def builtin_functions(a, b, c):
    return min(a, b), max(a, b), min(a, b, c), abs(a - b), int(a), float(b), bool(c)


@program(([3, 1, 2],),)
def builtins_of_list(xs):
    return len(xs), sum(xs), min(xs), max(xs), sorted(xs)


@program((2,), (-2,))
def comparison_result_reused(x):
    positive = x > 0
    y = 0
    if positive:
        y += 1
    while positive:
        y += 10
        positive = y < 25
    return y


@program((2,), (0,))
def any_and_all(x):
    tests = [x > 1, x > -1]
    return any(tests), all(tests)


@program((1,), (0,))
def operands_evaluated_once(x):
    def noisy(v):
        print("noisy")
        return v

    if (noisy(x) > 0 and noisy(x) < 10) or noisy(x) == 100:
        return 1
    return 0


@program((3,), (12,))
def none_and_isinstance_stay(x, y=None):
    if y is None and not isinstance(x, str):
        y = 5
    if y is not None and x > y:
        return x
    return y


@program(([1, 2, 3], 2), ([1, 2, 3], 9))
def membership_by_loop(xs, v):
    found = False
    for x in xs:
        found = found or x == v
    return found


@program((6,), (0,))
def logic_in_while_test(n):
    i = 0
    s = 0
    while i < n and not s > 8:
        s += i
        i += 1
    return i, s

"""Numbers: weak and strong types, conversions, rounding, infinities, truth."""
from __future__ import annotations

import math

from programs import program

DTYPES = "an int32 tensor and a float do not mix without a cast"


@program(([3.5, 1.5, 2.5],), ([-1.0],))
def minimum_from_infinity(xs):
    best = float("inf")
    for x in xs:
        if x < best:
            best = x
    return best


@program((3,), (0,))
def sum_of_tenths(n):
    x = 0
    for _ in range(n):
        x += 0.1
    return x


@program((2.7,), (-2.7,), (0.5,))
def float_to_int(x):
    return int(x), round(x), int(x) // 2


@program((2.5,), (3.5,), (-0.5,))
def banker_rounding(x):
    return round(x)


@program((17, 5), (-17, 5), (17, -5))
def divmod_and_pow(a, b):
    q, r = divmod(a, b)
    return q, r, pow(2, 3), q * b + r == a


@program((7, 2.0), (7, -2.0), eager=DTYPES, staged=DTYPES)
def int_and_float_operands(a, b):
    return a * 1.0 + b, (a + 1) / 2, a // 2 + b


@program((0,), (3,), (-1,))
def truth_value_in_tests(n):
    r = 0
    if not n:
        r += 1
    if n > 0:
        r += 10
    while n:
        n = 0
        r += 100
    return r


@program((0,), (3,), (-3,))
def number_and_test_in_one_test(n):
    if n and n > 0:
        return 1
    return 0


@program((0,), (3,))
def or_gives_the_value(x):
    return x or 7


@program((0, 5), (3, 5), (3, 0))
def and_gives_the_value(a, b):
    return a and b


@program((0, 0), (0, 4), (3, 4))
def or_as_default_in_arithmetic(a, b):
    return (a or b or 1) * 2


@program((3,), (0,))
def bool_in_arithmetic(x):
    return int(x > 1) + int(x > 2) * 10


@program((1.0,), (0.0,))
def nan_and_infinity(x):
    big = x * math.inf if x > 0 else -math.inf
    return big > 1e30, big < -1e30, big == big


@program((3,), (-3,))
def constants_of_both_kinds(x):
    y = 2 if x > 0 else 2.5
    return y * 2


@program((4,), (0,))
def counter_of_python_kind(n):
    count = 0
    half = 0.0
    for i in range(n):
        count += 1
        half += i / 2
    return count, half, count * half


@program((1000,), (5,))
def digits(n):
    count = 1
    while n >= 10:
        n //= 10
        count += 1
    return count


@program((6,), (1,))
def nested_weak_loops(n):
    total = 0
    scale = 1
    for i in range(n):
        inner = 0
        for j in range(i):
            inner += j * scale
        total += inner
        scale = scale * 2
    return total, scale


@program((True, False), (False, False), (True, True))
def boolean_algebra(a, b):
    return a and b, a or b, not a, a != b, a == b, a & b, a | b, a ^ b


@program((0.1, 3),)
def close_to_zero(step, n):
    x = 0.0
    for _ in range(n):
        x -= step
    x += 3 * step
    return abs(x) < 1e-4


@program((5,), (-5,))
def clamp_by_min_max(x):
    return min(max(x, -2), 2), max(x, 1)


@program((3.0,), (-3.0,))
def sign_changes_type_late(x):
    y = 0
    for i in range(3):
        if i == 2:
            y = y + 0.5
        else:
            y = y + x
    return y

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
def none_and_isinstance(x, y=None):
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


class Tally:
    def __init__(self):
        self.n = 0
        self.seen = []

    def up(self, k):
        self.n += k
        return self.n

    def note(self, v):
        self.seen.append(v)
        return v


@program((4,), (2,))
def method_in_ternary(x):
    tally = Tally()
    r = tally.up(3) if x > 3 else 0
    return tally.n, r


@program((4,), (2,), (-4,))
def method_in_and_or(x):
    tally = Tally()
    both = x > 3 and tally.up(3) > 1
    either = x > 0 or tally.up(10) > 100
    return tally.n, both, either


@program((4,), (2,))
def list_in_operands(x):
    tally, out = Tally(), []
    r = tally.note(x) if x > 3 else tally.note(0) + tally.note(1)
    if x > 3 and out.append(x) is None:
        out.append(r)
    return tally.seen, out


@program((4,), (2,), (40,))
def call_in_chain(x):
    tally = Tally()
    r = 3 < x < tally.up(9) < tally.up(1)
    return tally.n, r


@program((4,), (2,))
def nonlocal_in_operands(x):
    count = 0

    def up():
        nonlocal count
        count += 1
        return count

    r = up() if x > 3 else -1
    ok = x > 3 and up() > 1
    return count, r, ok


@program((4,), (2,), (-1,))
def state_in_nested_operands(x):
    tally = Tally()
    r = (tally.up(1) if x > 3 else tally.up(10)) if x > 0 and tally.up(100) > 1 else tally.up(1000)
    return tally.n, r


@program((5,), (0,))
def state_of_operands_in_loop(n):
    tally = Tally()
    s = 0
    for i in range(n):
        s += tally.up(i) if i % 2 == 0 else i
        s += 1 if i > 2 and tally.up(1) > 3 else 0
    return s, tally.n


@program((4,), (-4,))
def item_in_operand(x):
    held = {"n": 1, "l": [1, 2]}

    def add(v):
        held["n"] = held["n"] + v
        held["l"][0] = v
        return v

    r = x > 0 and add(x) > 2
    return held, r


@program((4,), (-4,))
def walrus_in_or(x):
    y = 0
    ok = x < 0 or (y := x * 2) > 4
    return ok, y


@program((4,), (-4,))
def walrus_in_ternary_of_a_lambda(x):
    return (lambda y: ((y := y + 1) if x > 0 else (y := y * 3)) + y)(x)


@program((4,), (-4,))
def walrus_in_ternary(x):
    y = 0
    r = (y := x + 1) if x > 0 else (z := x) - 1
    return r, y


@program((4,), (-4,))
def walrus_unbound_after_operand(x):
    if x > 0 or (y := x) < -100:
        pass
    return y


@program((3, 5), (9, 5), (1, 50))
def walrus_in_chain(a, b):
    last = 0
    r = 2 < (last := a) < (last := b) < 10
    return r, last


@program((20,), (1,))
def walrus_in_operand_of_while(n):
    steps = 0
    half = -1
    while n > 1 and (half := n // 2) > 0:
        n = half
        steps += 1
    return n, half, steps


@program((5,), (1,))
def walrus_in_nested_operands(x):
    a = b = 0
    if (a := x + 1) > 2 and ((b := a * 2) > 8 or (b := -a) > -3):
        return a, b, 1
    return a, b, 0


@program((3,), (-3,))
def walrus_in_branch_is_local(x):
    s = 1
    if x != 0:
        if x > 1 and (t := x * x) > 4:
            s = t
    return s


@program((3, [1, 2, 3]), (5, [1, 2, 3]))
def membership_in_name(x, xs):
    return x in xs, x not in xs


@program((4,), (2,))
def membership_in_list_that_grew(n):
    squares = []
    for i in range(n):
        squares.append(i * i)
    if 9 in squares:
        return 1, n in squares
    return 0, n in squares


@program((4,), (1,))
def membership_in_while(n):
    i = 0
    while i in {0, 1, n - 2}:
        i += 1
    return i


@program((2,), (9,), eager="Python asks the tensor for its hash")
def membership_in_python_containers(x):
    allowed, names = {1, 2, 3}, {"a": 1}
    return x in allowed, x in [x + 1, x], "a" in names, "b" not in names, 2 in allowed


@program((True,), (False,))
def identity_with_bools(flag):
    if flag is True:
        return 1, flag is False, flag is not True
    return 2, flag is False, flag is not False


@program((1,), (0,))
def a_number_is_no_bool(x):
    return x is True, x is not False, (x > 0) is True, (x > 0 and x < 5) is False


@program(([3, 1, 4, 1, 5], 0), ([3, 1, 4, 1, 5], 4), ([7], 0))
def decisions_in_slices(xs, i):
    def least(a, b):
        if a < b:
            return a
        return b

    around = xs[max(i - 1, 0):least(i + 2, len(xs))]
    rest = xs[i if i > 2 else 0:]
    total = 0
    for x in around:
        total += x
    return total, len(rest), rest[0]


@program((5,), (0,))
def equality_with_what_may_be_none(x):
    best = pair = None
    if x > 2:
        best, pair = x, (x, x)
    return best == None, best != None, pair == None, pair != None, None == best  # noqa: E711

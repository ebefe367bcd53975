"""Nested functions, closures, lambdas, recursion, arguments of every kind, generators, decorators."""
from __future__ import annotations

import functools

from programs import fixed, program


def double(x):
    if x > 10:
        return 2 * x
    return x


def apply_twice(f, x):
    return f(f(x))


def clip(x, low=0, *, high=10):
    if x < low:
        return low
    if x > high:
        return high
    return x


@program((20,), (5,))
def calls_another(x):
    return double(x) + double(3)


@program((6,), (20,))
def higher_order(x):
    return apply_twice(double, x) + apply_twice(lambda v: v + 7, x)


@program((5,), (-5,), (50,))
def defaults_and_keywords(x):
    return clip(x), clip(x, 3), clip(x, high=4), clip(high=2, x=x, low=1)


@program((5,), (20,))
def star_arguments(x):
    args = (x, 1)
    kwargs = {"high": 7}
    return clip(*args, **kwargs), clip(*(x,), **{"low": 6})


@program((3,), (0,))
def variadic(n):
    def total(*values, **named):
        s = 0
        for v in values:
            if v > 0:
                s += v
        for _, v in named.items():
            s -= v
        return s

    return total(n, 2, -n, k=n, j=1)


@program((3,), (-3,))
def nested_function(x):
    def inner(y):
        if y > 0:
            return y + x
        return y - x

    return inner(x) + inner(2)


@program((4,), (0,))
def closure_over_loop_variable(n):
    def scaled(v):
        return v * k

    k = 2
    s = 0
    for i in range(n):
        s += scaled(i)
    k = 3
    return s + scaled(1)


@program((3,), (-3,))
def closure_sees_later_assignment(x):
    y = 1

    def get():
        return y

    if x > 0:
        y = x * 10
    return get()


@program((3,),)
def late_binding(n):
    fs = []
    for i in (1, 2, 3):
        fs.append(lambda x: x + i)
    return fs[0](n), fs[1](n), fs[2](n)


@program((3,),)
def bound_early(n):
    fs = []
    for i in (1, 2, 3):
        fs.append(lambda x, i=i: x + i)
    return fs[0](n), fs[1](n), fs[2](n)


@program((3,), (-3,))
def lambda_with_ternary(x):
    f = lambda v: v if v > 0 else -v
    return f(x) + f(-2)


@program((3, 4), (4, 3))
def lambda_as_key(a, b):
    key = (lambda p: p[0], lambda p: p[1])
    pair = (a, b)
    return key[0](pair) - key[1](pair) if key[0](pair) > key[1](pair) else 0


@program((fixed(5),), (fixed(0),), (fixed(1),))
def recursive_on_python_value(n):
    def fact(k):
        return 1 if k <= 1 else k * fact(k - 1)

    return fact(n)


@program((6,), (0,))
def recursive_on_argument(n):
    def fib(k):
        if k < 2:
            return k
        return fib(k - 1) + fib(k - 2)

    return fib(n)


@program((7,), (4,))
def mutual_recursion(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    return even(n)


@program((2, 3), (0, 4))
def ackermann(m, n):
    def ack(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return ack(m - 1, 1)
        return ack(m - 1, ack(m, n - 1))

    return ack(m, n)


@program((4,), (1,))
def towers_of_hanoi(n):
    def moves(n, source, target, other):
        if n == 0:
            return 0
        return moves(n - 1, source, other, target) + 1 + moves(n - 1, other, target, source)

    return moves(n, 0, 1, 2)


@program((3, 7), (100, 3))
def recursion_that_gives_several_results(a, b):
    def extended_gcd(a, b):
        if b == 0:
            return a, (1, 0)
        found, (x, y) = extended_gcd(b, a % b)
        return found, (y, x - a // b * y)

    found, (x, y) = extended_gcd(a, b)
    return found, x, y


@program((6,), (3,))
def recursion_in_a_loop(n):
    def partitions(n, most):
        if n == 0:
            return 1
        total = 0
        part = 1
        while part <= most and part <= n:
            total += partitions(n - part, part)
            part += 1
        return total

    return partitions(n, n)


@program((5,), (0,))
def recursion_that_raises(n):
    def down(n):
        if n > 0:
            return down(n - 1) + 1
        raise ValueError("the bottom")

    try:
        return down(n)
    except ValueError:
        return -1


@program((3,), (0,))
def recursion_that_prints(n):
    def count(n):
        if n > 0:
            print("at", n)
            count(n - 1)
            print("back", n)

    count(n)
    return n


@program((3, fixed(4)), (-3, fixed(4)))
def recursion_to_python_depth(x, depth):
    def go(v, d):
        if d == 0:
            return v
        if v > 10:
            v = v - 7
        return go(v * 2, d - 1)

    return go(x, depth)


@program((5,), (0,))
def function_defined_in_loop(n):
    s = 0
    for i in range(n):
        def square(v):
            return v * v
        s += square(i)
    return s


@program((3,), (-3,))
def function_defined_in_branch(x):
    if x > 0:
        def f(v):
            return v + 1
    else:
        def f(v):
            return v - 1
    return f(x)


@program((4,), (0,))
def generator_function(n):
    def squares(k):
        for i in range(k):
            if i % 2:
                continue
            yield i * i

    s = 0
    for v in squares(n):
        s += v
    return s


@program((fixed(4), 3), (fixed(4), -3))
def generator_over_python_range(n, x):
    def scaled():
        for i in range(n):
            yield i * x

    s = 0
    for v in scaled():
        if v > 2:
            s += v
    return s


@program((3,), (fixed(3),), staged="the generator's test is a tensor")
def generator_with_state(n):
    def countdown(k):
        while k > 0:
            yield k
            k -= 1
        return 99

    def chain(k):
        result = yield from countdown(k)
        yield result

    return list(chain(n))


@program((3,), (-3,))
def decorated_inner(x):
    def twice(f):
        @functools.wraps(f)
        def wrapper(v):
            return f(f(v))
        return wrapper

    @twice
    def step(v):
        if v > 0:
            return v + 5
        return v - 5

    return step(x)


@program((3,), (30,))
def partial_call(x):
    f = functools.partial(clip, low=5)
    g = functools.partial(clip, high=20)
    return f(x), g(x), functools.partial(f, high=7)(x)


@program((5,),)
def map_and_lambda(n):
    return list(map(lambda k: k * n, [1, 2, 3]))


@program((fixed([3, 1, 2]), 2),)
def sorted_with_key(xs, sign):
    return sorted(xs, key=lambda v: -v)[0] * sign


@program((2,), (-2,))
def immediately_called(x):
    return (lambda a, b=3: a * b if a > 0 else b)(x)


@program((4,), (1,))
def function_returning_functions(n):
    def make(k):
        def inner(v):
            if v > k:
                return v - k
            return k

        def setter(new):
            nonlocal k
            k = new

        return inner, setter

    get, put = make(2)
    first = get(n)
    put(3)
    return first, get(n)


@program((5,), (2,))
def keyword_only_and_positional_only(n):
    def f(a, /, b, *, c=1):
        if a > 3:
            return a * b - c
        return c

    return f(n, 2), f(n, b=3, c=n)


@program((3,), (-3,))
def unused_branch_calls_missing(x):
    def guarded(flag, v):
        if flag:
            return missing_function(v)  # noqa: F821
        return v

    return guarded(False, x)


@program((3,), (8,))
def loop_calls_function_with_break(n):
    def first_over(limit):
        for i in range(100):
            if i * i > limit:
                break
        return i

    s = 0
    for j in range(n):
        s += first_over(j)
    return s


# --- What only the graph knows to be None, tested where nothing could have made it so -----------------------------


def greater_of(best, x):
    if best is None:
        return x
    return best if best > x else x


def or_zero(value=None):
    return 0 if value is None else value


@program(([3, 9, 2],), ([4],), ([],))
def none_that_a_callee_asks_for(xs):
    best = None
    for x in xs:
        best = greater_of(best, x)
    return or_zero(best), or_zero(), or_zero(7)


@program(([3, 9, 2],), ([1],))
def none_that_a_callee_gave_and_another_asks_for(xs):
    def above(limit):
        found = None
        for x in xs:
            if x > limit:
                found = x
        return found

    value = above(2)
    return or_zero(value), or_zero(above(100)), (lambda v: -1 if v is None else v)(value)


class Smoothed:
    def __init__(self):
        self.value = None
        self.least = {}

    def add(self, x):
        if self.value is None:
            self.value = 0
        self.value = (self.value + x) // 2
        if "x" not in self.least:
            self.least["x"] = x
        elif x < self.least["x"]:
            self.least["x"] = x


@program(([3, 9, 2],), ([40],))
def attribute_and_key_that_a_method_makes_when_first_used(xs):
    smoothed = Smoothed()
    for x in xs:
        smoothed.add(x)
    return smoothed.value, smoothed.least["x"]


@program(([3, 9, 2],), ([4],), ([],))
def none_that_only_a_nested_function_asks_for(xs):
    last = None
    rises = 0

    def see(x):
        nonlocal last, rises
        if last is not None and x > last:
            rises += 1
        last = x

    for x in xs:
        see(x)
    return rises


class Holder:
    pass


@program(([1, 9, 2],), ([1],), ([],))
def keys_and_attributes_that_a_callee_knows_by_another_name(xs):
    def put(table, box, x):
        if x > 1:
            table["k"] = x
            box.y = x

    d, holder, other = {}, Holder(), Holder()
    for x in xs:
        put(d, holder, x)
        put({}, other, x - 1)
    return "k" in d, hasattr(holder, "y"), hasattr(other, "y")

"""Generator functions whose control flow tensors decide: they do what they do on Python's numbers."""
from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from plain_values import executors, plain
from traced_once import on

import runtime as rt

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
XS = [1, 2, 4, 7, 12, 6]


def program(*args: Any) -> Callable[[Any], Any]:
    """A function that gives the same for these arguments as Python's numbers and lists and as tensors."""
    def note(fn: Any) -> Any:
        PROGRAMS.append((fn, args))
        return fn
    return note


def evens(xs: Any) -> Iterator[Any]:
    for x in xs:
        if x % 2 == 0:
            yield x


def down(n: Any) -> Iterator[Any]:
    while n > 0:
        yield n
        n -= 1


def count(n: Any, step: Any = 1) -> Iterator[Any]:
    while True:
        yield n
        n += step


def collatz(n: Any) -> Iterator[Any]:
    while True:
        yield n
        if n == 1:
            return
        n = n // 2 if n % 2 == 0 else 3 * n + 1


@program(XS)
@program([1, 3])
@program([])
def left_by_break(xs: Any) -> Any:
    s = 0
    for x in evens(xs):
        if x > 10:
            break
        s += x
    return s


@program(XS)
@program([1, 3])
def left_by_return(xs: Any) -> Any:
    for x in evens(xs):
        if x > 3:
            return x, "found"
    return -1, "found"


@program(XS)
@program([2, 4])
def loop_else(xs: Any) -> Any:
    for x in evens(xs):
        if x > 10:
            found = x
            break
    else:
        found = -1
    return found


@program(XS)
def continued(xs: Any) -> Any:
    s = 0
    for i, x in enumerate(evens(xs), 1):
        if x == 4:
            continue
        s += i * x
    return s, i


@program(XS)
def a_variable_of_the_same_name(xs: Any) -> Any:
    x = 100
    for y in evens(xs):
        x -= y
    n = x
    for x in down(n):
        if x < 74:
            break
    return x, n


@program(27)
def steps_of_collatz(n: Any) -> Any:
    steps = -1
    highest = n
    for value in collatz(n):
        steps += 1
        highest = max(highest, value)
    return steps, highest


@program(3)
def without_end(n: Any) -> Any:
    s = 0
    for k in count(n, step=2):
        s += k
        if s > 100:
            break
    return s, k


@program(3000)
def counted_by_python(limit: Any) -> Any:
    s = 0
    for k in count(0):
        if s > limit:
            break
        s += k
    return s, k


@program(1000)
def fibonacci(limit: Any) -> Any:
    def numbers() -> Iterator[Any]:
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b

    out = []
    for k in numbers():
        if k > limit:
            break
        if k % 2 == 0:
            out.append(k)
    return out


@program(30)
def primes(n: Any) -> Any:
    def numbers(n: Any) -> Iterator[Any]:
        k = 2
        while k < n:
            yield k
            k += 1

    def found(n: Any) -> Iterator[Any]:
        for k in numbers(n):
            for d in numbers(k):
                if k % d == 0:
                    break
            else:
                yield k

    return sum(found(n)), [p * p for p in found(n) if p > 5]


# Generators of generators.

def pairs(xs: Any) -> Iterator[Any]:
    for x in evens(xs):
        for y in evens(xs):
            if x < y:
                yield x, y


@program(XS)
def nested(xs: Any) -> Any:
    s = 0
    for a, b in pairs(xs):
        s = 2 * s + a * b
    return s


@program(XS)
def consumers_in_consumers(xs: Any) -> Any:
    s = 0
    for x in evens(xs):
        for y in down(x):
            if y * y < x:
                break
            s += y
            for z in evens([x, y]):
                s += z
    return s


@program(XS)
def a_pipeline(xs: Any) -> Any:
    def until(it: Any, limit: Any) -> Iterator[Any]:
        for x in it:
            if x > limit:
                return
            yield x

    def pairwise(it: Any) -> Iterator[Any]:
        before = None
        for x in it:
            if before is not None:
                yield before, x
            before = x

    return [b - a for a, b in pairwise(until(evens(xs), 10))], sum(until(count(xs[0]), xs[3]))


class Tree:
    def __init__(self, value: Any, *children: Any) -> None:
        self.value, self.children, self.__seen = value, children, 0

    def walk(self, least: Any) -> Iterator[Any]:
        self.__seen += 1
        if self.value > least:
            yield self.value
        for child in self.children:
            yield from child.walk(least)

    def __iter__(self) -> Iterator[Any]:
        yield from self.walk(0)

    @property
    def seen(self) -> int:
        return self.__seen


class Leaf(Tree):
    def walk(self, least: Any) -> Iterator[Any]:
        for value in super().walk(least):
            yield value if value < 5 else -value


@program(XS)
def items_of_a_dict(xs: Any) -> Any:
    return {i: x for i, x in enumerate(evens(xs))}


@program(3)
def recursion_that_python_decides(x: Any) -> Any:
    tree = Tree(x, Tree(x - 1, Leaf(2 * x), Leaf(x)), Tree(-x, Tree(x + 5)))
    s = 0
    for value in tree.walk(0):
        s = 3 * s + value
    for i, value in enumerate(tree):
        s += i * value
    return s, max(tree.walk(x), default=0), tree.seen, sum(tree), max(tree), list(tree)


# State.

@program(7)
def state_of_both(n: Any) -> Any:
    log = []
    state = SimpleNamespace(total=0)

    def halves() -> Iterator[Any]:
        nonlocal n
        while n > 0:
            state.total += n
            yield n
            n //= 2
            log.append(n)

    steps = 0
    for value in halves():
        steps += 1
        log.append(-value)
        if value == 7:
            n += 2
        state.total *= 2
    return n, steps, log, state.total


@program(4)
def in_a_loop(n: Any) -> Any:
    s = 0
    for i in range(n):
        for k in down(i):
            s = s * 2 + k
        s += sum(k for k in down(i + 1) if k != 2)
    return s


@program(XS)
def in_a_branch(xs: Any) -> Any:
    g = evens(xs)
    if xs[0] > 0:
        s = sum(g)
    else:
        s = max(down(xs[1]))
    return s


@program(6)
def a_variable_of_the_loop(n: Any) -> Any:
    for k in down(n):
        last = k
        if k % 4 == 0:
            break
    return last + k


@program([])
def unbound(xs: Any) -> Any:
    for x in evens(xs):
        pass
    return x


@program(XS)
def printed(xs: Any) -> Any:
    def loud(xs: Any) -> Iterator[Any]:
        print("start")
        for x in xs:
            print("looks at", x)
            if x > 3:
                yield x
                print("after", x)
        print("end")

    for x in loud(xs):
        print("has", x)
        if x > 10:
            break
    print("sum", sum(loud(xs)))
    return x


# Ends.

@program(XS)
@program([2, 3])
def with_finally(xs: Any) -> Any:
    log = []

    def guarded(xs: Any) -> Iterator[Any]:
        try:
            for x in xs:
                if x > 2:
                    yield x
            log.append(0)
        finally:
            log.append(-1)

    for x in guarded(xs):
        log.append(x)
        if x > 10:
            break
    log.append(-2)
    for x in guarded(xs):
        log.append(10 // (7 - x) if x != 7 else 0)
    return log


@program(XS)
def with_a_manager(xs: Any) -> Any:
    log = []

    class Noting:
        def __enter__(self) -> int:
            log.append(100)
            return 7

        def __exit__(self, *_: object) -> None:
            log.append(200)

    def entered(xs: Any) -> Iterator[Any]:
        for x in xs:
            with Noting() as k:
                if x > 2:
                    yield x + k

    for x in entered(xs):
        log.append(x)
        if x > 16:
            break
    return log


@program(XS)
def errors_of_the_generator(xs: Any) -> Any:
    def ratios(xs: Any) -> Iterator[Any]:
        for x in xs:
            try:
                ratio = 12 // (x - 2)
                if ratio > 2:
                    yield ratio
            except ZeroDivisionError:
                yield 99

    s = 0
    for ratio in ratios(xs):
        s = 2 * s + ratio
    return s


@program(XS)
@program([8])
def errors_of_the_loop(xs: Any) -> Any:
    seen = []
    try:
        for x in evens(xs):
            seen.append(x)
            seen.append(100 // (x - 4))
    except ZeroDivisionError:
        seen.append(-1)
    return seen


@program(XS)
def raised(xs: Any) -> Any:
    def checked(xs: Any) -> Iterator[Any]:
        for x in xs:
            if x > 5:
                raise ValueError("too large")
            yield x

    s = 0
    for x in checked(xs):
        s += x
    return s


@program(5)
def a_value_is_returned(n: Any) -> Any:
    def until_three(n: Any) -> Iterator[Any]:
        while True:
            if n == 3:
                return n
            yield n
            n -= 1

    return list(until_three(n))


@program(XS)
def empty(xs: Any) -> Any:
    def nothing(xs: Any) -> Iterator[Any]:
        if xs[0] > 100:
            yield xs[0]
        return
        yield 1

    return list(nothing(xs)), sum(nothing(xs), 5)


# What takes items.

@program(XS)
def consumed(xs: Any) -> Any:
    return (list(evens(xs)), sum(evens(xs)), min(evens(xs)), max(evens(xs), key=lambda x: -x), sorted(evens(xs)),
            any(x > 11 for x in evens(xs)), all(x > 2 for x in evens(xs)), 7 in evens(xs), 12 in evens(xs),
            next(evens(xs)), next(down(xs[0] - 1), -1))


@program(XS)
def comprehended(xs: Any) -> Any:
    return ([2 * x for x in evens(xs) if x != 4], sum(a * b for a in evens(xs) for b in down(a) if a < b * 2),
            list(map(lambda x: x + 1, evens(xs))), list(filter(lambda x: x > 3, evens(xs))),
            list(enumerate(map(lambda x: x * x, evens(xs)))), functools.reduce(lambda a, b: 2 * a + b, evens(xs), 1))


@program(XS)
def consumed_twice(xs: Any) -> Any:
    g = evens(xs)
    first, out = sum(g), [0]
    out.extend(evens(xs))
    out += evens(xs)
    a, *rest = evens(xs)
    return first, sum(g), list(g), out, [*evens(xs), 5], a, rest


@program(4)
def expression_consumed_twice(n: Any) -> Any:
    xs = [k for k in range(n)]
    g, some, q = (x for x in xs), (x for x in xs if x > 1), (x + 1 for x in collections.deque(xs))
    return sum(g), sum(g), list(some), list(some), max(q), max(q, default=-1), [*(x for x in xs if x > n)]


@program(3)
def parameters(n: Any) -> Any:
    def made(first: Any, /, *rest: Any, scale: Any = 2, **named: Any) -> Iterator[Any]:
        for value in (first, *rest, *named.values()):
            if value > 0:
                yield value * scale

    return list(made(n, -n, n + 1)), list(made(-n, 5, scale=n, a=n, b=-n)), list(functools.partial(made, n)(1))


@program(3)
def matched(n: Any) -> Any:
    def parts(n: Any) -> Iterator[Any]:
        for k in range(n + 3):
            match k:
                case 0 | 1:
                    yield 10
                case 2 if n > 2:
                    yield 20
                case _:
                    pass
            yield k

    return list(parts(n))


def outcome(fn: Any, args: tuple[Any, ...], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    try:
        result = plain(fn(*args))
    except (ValueError, ArithmeticError, NameError) as error:
        result = type(error).__mro__[-4:]
    return result, capsys.readouterr().out


def odd(xs: Any) -> Iterator[Any]:
    for x in xs:
        if x % 2 == 0:
            continue
        yield x


def first_of(xs: Any, n: Any) -> Iterator[Any]:
    for i, x in enumerate(xs):
        if i >= n:
            return
        yield x * x


@program(rt.constant([1, 2, 3, 5, 4, 7]), rt.constant(3))
def returns_from_what_is_enumerated(xs: Any, n: Any) -> Any:
    total = 0
    for i, x in enumerate(odd(xs)):
        if i >= n:
            return total, i
        total += x
    return total, -1


@program(rt.constant([1, 2, 3, 5, 4, 7]), rt.constant(2))
def enumerated_in_generators(xs: Any, n: Any) -> Any:
    return sum(first_of(odd(xs), n)), [*first_of(odd(xs), 3)]



@executors
@pytest.mark.parametrize(("fn", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_generators_do_what_they_do_on_numbers(fn: Any, args: Any, executor: str, capsys: Any) -> None:
    wanted = outcome(fn, args, capsys)
    assert outcome(on(executor, fn), tuple(map(rt.constant, args)), capsys) == wanted


@executors
def test_gradients_go_through_generators(executor: str) -> None:
    def terms(x: Any) -> Iterator[Any]:
        term, k = 1.0, 1.0
        while rt.abs(term) > 1e-7:
            yield term
            term = term * x / k
            k += 1.0

    def exponential(x: Any) -> Any:
        return sum(terms(x))

    slope = rt.function(rt.grad(exponential), executor=executor)
    assert slope(rt.constant(1.5)).numpy() == pytest.approx(4.4816890)


def test_generators_are_batched() -> None:
    def digits(n: Any) -> Any:
        s = 0
        for k in down(n):
            s += k
        return s

    numbers = rt.constant([3, 1, 4])
    assert plain(rt.function(rt.vmap(digits))(numbers)) == [6, 1, 10]
    assert plain(rt.vmap(digits)(numbers)) == [6, 1, 10]


def test_functions_of_datasets_have_them() -> None:
    squares = rt.data.Dataset.range(5).map(lambda n: sum(k * k for k in down(n)))
    assert [int(x) for x in squares] == [0, 1, 5, 14, 30]


def test_generators_stay_generators_where_python_decides() -> None:
    kinds = []

    def weights() -> Iterator[Any]:
        received = yield 2
        while received is not None:
            received = yield received + 1

    @rt.function
    def scaled(x: Any) -> Any:
        g = weights()
        kinds.append(type(g))
        return x * next(g) * g.send(4)

    assert plain(scaled(rt.constant(3))) == 30
    assert kinds == [type(weights())]


def test_a_function_is_traced_again_only_where_a_tensor_decides() -> None:
    runs = []

    @rt.function
    def traced(xs: Any) -> Any:
        runs.append(1)
        return sum(pair[0] for pair in pairs(xs))

    assert plain(traced(rt.constant(XS))) == 2 * 3 + 4 * 2 + 6
    assert len(runs) == 1  # what the traces that were given up have done is undone
    assert traced.experimental_get_tracing_count() == 1


def test_loops_over_python_values_stay_unrolled_where_a_graph_cannot_have_them() -> None:
    def growing() -> Iterator[Any]:
        k = 1
        while k < 40:
            yield rt.ones([k]), str(k)
            k += 1

    @rt.function
    def first_above(limit: Any) -> Any:
        for row, text in growing():
            if rt.reduce_sum(row) > limit:
                return text
        return "none"

    assert str(first_above(rt.constant(29.5))) == "30"

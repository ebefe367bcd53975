"""Context managers made by generators (`contextlib.contextmanager`) around staged code."""
from __future__ import annotations

import contextlib
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import shown
from tests.traced_once import on


@contextlib.contextmanager
def rollback(state):
    before = state["x"]
    try:
        yield state
    except ValueError:
        state["x"] = before


@contextlib.contextmanager
def counted(log):
    log.append(1)
    try:
        yield
    finally:
        log.append(-1)


@contextlib.contextmanager
def either(x):
    if x > 2:
        yield x
    else:
        yield -x


@contextlib.contextmanager
def nested(log, x):
    with counted(log):
        yield x + 1


@contextlib.contextmanager
def reraise(x):
    try:
        yield x
    except ValueError as e:
        raise KeyError(3) from e


@contextlib.contextmanager
def with_else(log):
    try:
        yield 1
    except ValueError:
        log.append(7)
    else:
        log.append(8)
    finally:
        log.append(9)


@contextlib.contextmanager
def looped(x):
    t = 0
    while t < x:
        t += 2
    yield t


@contextlib.contextmanager
def maybe(x):
    if x > 2:
        yield x


@contextlib.contextmanager
def base(log):
    try:
        yield
    except BaseException:
        log.append(5)
        raise


class Account:
    def __init__(self, b):
        self.b, self.open = b, 0

    @contextlib.contextmanager
    def transaction(self):
        before = self.b
        self.open += 1
        try:
            yield self
        except ValueError:
            self.b = before
        finally:
            self.open -= 1


def errors_that_roll_back(n):
    s = {"x": 0}
    for i in range(n):
        with rollback(s) as d:
            d["x"] += i
            if d["x"] > 5:
                raise ValueError("too much")
    return s["x"]


def jumps_out_of_the_body(n):
    log = []
    for i in range(n):
        with counted(log):
            if i == 3:
                break
            if i % 2 == 0:
                continue
            log.append(i * 10)
    return log


def yields_in_branches(n):
    t = 0
    for i in range(n):
        with either(i) as v:
            t += v
    return t


def contexts_in_contexts(n):
    log = []
    t = 0
    for i in range(n):
        with nested(log, i) as v:
            if v > 2:
                t += v
    return t, log


def errors_raised_anew(n):
    t = 0
    try:
        with reraise(n) as v:
            if v > 3:
                raise ValueError("x")
            t += 1
    except KeyError:
        t += 100
    return t


def try_with_else(n):
    log = []
    for i in range(n):
        with with_else(log):
            if i > 1:
                raise ValueError("a")
            log.append(i)
    return log


def a_loop_before_the_yield(n):
    with looped(n) as a, looped(a) as b:
        return a + b


def yields_on_some_paths(n):
    try:
        with maybe(n) as v:
            return v
    except RuntimeError:
        return -1


def methods(n):
    a = Account(10)
    for i in range(n):
        with a.transaction() as t:
            t.b -= i
            if t.b < 5:
                raise ValueError("overdrawn")
    return a.b, a.open


def bare_handlers(n):
    log = []
    try:
        with base(log):
            if n > 3:
                raise KeyError(1)
            log.append(2)
    except KeyError:
        log.append(6)
    return log


def returns_from_the_body(n):
    log = []
    def f(k):
        with counted(log):
            if k > 2:
                return k * 2
            log.append(50)
        return k
    t = 0
    for i in range(n):
        t += f(i)
    return t, log


def closures(n):
    log = []
    @contextlib.contextmanager
    def scope(k):
        if k > 2:
            log.append(k)
        try:
            yield k * 2
        finally:
            log.append(-1)
    t = 0
    for i in range(n):
        with scope(i) as v:
            if v > 6:
                t += 1
            t += v
    return t, log


class Base:
    @contextlib.contextmanager
    def guard(self, k):
        self.n += 1
        yield self
        self.n -= 1


class Careful(Base):
    def __init__(self):
        self.n = 0

    @contextlib.contextmanager
    def guard(self, k):
        with super().guard(k) as s:
            if k > 2:
                s.n += 10
            yield s.n


def overridden_methods(n):
    d = Careful()
    t = 0
    for i in range(n):
        with d.guard(i) as v:
            t += v
    return t, d.n


@contextlib.contextmanager
def sends(x):
    y = yield x
    assert y is None


def a_value_of_the_yield(n):
    with sends(n) as v:
        if v > 2:
            v += 1
    return v


@contextlib.contextmanager
def delegating(x):
    value = yield from given(x)
    assert value is not None


def given(x):
    yield x + 1
    return x


def delegated(n):
    with delegating(n) as v:
        if v > 2:
            v += 10
    return v


def exit_stack(n):
    with contextlib.ExitStack() as st:
        v = st.enter_context(Careful().guard(1))
        if n > 2:
            v += 1
    return v


@contextlib.contextmanager
def plain(x):
    try:
        yield x
    except KeyError:
        pass


def errors_that_python_decides(n):
    with plain(3) as v:
        raise KeyError
    return v + n


def used_once(n):
    c = plain(n)
    with c as v:
        pass
    try:
        with c as v:
            pass
    except AttributeError:
        return v + 1
    return v


@contextlib.contextmanager
def loops(x):
    for i in range(x):
        if i == 1:
            yield i
            break


def yields_in_a_loop(n):
    try:
        with loops(n) as v:
            v += 5
    except RuntimeError:
        v = -1
    return v


PROGRAMS = [
    errors_that_roll_back,
    jumps_out_of_the_body,
    yields_in_branches,
    contexts_in_contexts,
    errors_raised_anew,
    try_with_else,
    a_loop_before_the_yield,
    yields_on_some_paths,
    methods,
    bare_handlers,
    returns_from_the_body,
    closures,
    overridden_methods,
    a_value_of_the_yield,
    delegated,
    exit_stack,
    errors_that_python_decides,
    used_once,
    yields_in_a_loop,
]


def outcome(f: Any, n: Any) -> Any:
    try:
        return shown(f(n))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[-1:]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_generators_as_context_managers(f: Any, executor: str) -> None:
    staged = on(executor, f)
    for n in 0, 2, 5:
        assert outcome(staged, rt.constant(n)) == outcome(f, n)

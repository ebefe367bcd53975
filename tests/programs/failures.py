"""Exceptions: raised under conditions, caught, and passed through; unbound names."""
from __future__ import annotations

from programs import fixed, program


class TooBig(ValueError):
    pass


@program((3,), (-3,))
def raise_in_branch(x):
    if x < 0:
        raise ValueError("negative")
    return x


@program((3,), (30,), (-1,))
def raise_in_each(x):
    if x < 0:
        raise KeyError("low")
    elif x > 10:
        raise TooBig("high")
    return x * 2


@program((3,), (8,))
def raise_in_loop(n):
    s = 0
    for i in range(n):
        if i == 5:
            raise TooBig(f"at {i}")
        s += i
    return s


@program((8,), (2,))
def raise_in_while(n):
    while n > 0:
        n -= 3
        if n == 2:
            raise RuntimeError("two")
    return n


@program((3,), (-3,))
def raise_from_called(x):
    def check(v):
        if v < 0:
            raise ValueError("negative")
        return v

    return check(x) + 1


@program((3,), (-3,))
def raise_in_else(x):
    if x > 0:
        y = x
    else:
        raise ValueError
    return y


@program((6, 2), (6, 0))
def division_by_zero(a, b):
    return a // b


@program((3, fixed(0)), (3, fixed(2)))
def caught_in_python(x, k):
    try:
        y = 6 // k
    except ZeroDivisionError:
        y = -1
    else:
        y += 1
    finally:
        x += 1
    return x, y


@program((3, fixed("a")), (3, fixed("b")), (-3, fixed("b")))
def caught_key(x, key):
    try:
        v = {"a": 1}[key]
    except KeyError as error:
        v = len(error.args)
        if x > 0:
            v = x
    return v


@program((3,), (-3,))
def caught_raise_under_condition(x):
    try:
        if x < 0:
            raise ValueError("negative")
        y = 1
    except ValueError:
        y = 2
    return y


@program((5,), (1,))
def assignments_kept_before_raise(n):
    s = 0
    try:
        for i in range(n):
            s += i
            if i == 3:
                raise TooBig("three")
    except TooBig:
        s = -s
    return s


@program((3,), (-3,))
def reraise(x):
    try:
        try:
            if x < 0:
                raise KeyError("k")
        except KeyError:
            print("seen")
            raise
    except LookupError:
        return -1
    return x


@program((3,), (-3,))
def raise_from_cause(x):
    try:
        if x < 0:
            raise KeyError("k")
    except KeyError as error:
        raise ValueError("wrapped") from error
    return x


@program((fixed(3),), (fixed(-3),))
def nested_try_finally(x):
    log = []
    try:
        try:
            if x < 0:
                raise ValueError("v")
            log.append("ok")
        finally:
            log.append("inner")
    except ValueError:
        log.append("caught")
    finally:
        log.append("outer")
    return log


@program((3,), (-3,))
def unbound_local(x):
    if x > 0:
        y = 1
    else:
        z = 2
        print(z)
    return y


@program((3,), (0,))
def unbound_after_while(n):
    while n > 0:
        n -= 1
        seen = n
    return seen


@program((3,), (-3,))
def unbound_in_closure(x):
    def get():
        return late

    if x > 0:
        late = x
    return get()


@program((3,), (-3,))
def undefined_global(x):
    if x > 0:
        return undefined_name  # noqa: F821
    return 0


@program((2,), (0,))
def deleted_then_read(x):
    y = x
    if x > 0:
        del y
    return y


@program((3,), (-3,))
def handler_name_is_deleted(x):
    error = "before"
    try:
        if x is None:
            raise ValueError("never")
    except ValueError as error:
        print(error)
    return error, x


@program((fixed(2),), (fixed(0),))
def suppressed_by_context(x):
    class Suppress:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, traceback):
            return kind is ZeroDivisionError

    y = 5
    with Suppress():
        y = 1
        y = 10 // x
    return y


@program((3,), (-3,))
def loop_in_try_finally(n):
    s = 0
    try:
        for i in range(n):
            s += i
    finally:
        s += 100
    return s


@program((3,), (-3,))
def assert_false_in_branch(x):
    if x < 0:
        assert False, "unreachable"
    return x


@program((4, fixed([1, 0, 2])), (4, fixed([1, 2])))
def continue_after_exception(x, ks):
    s = 0
    for k in ks:
        try:
            s += 10 // k
        except ZeroDivisionError:
            continue
        s += x
    return s


@program((3,), (-3,))
def wrong_call(x):
    def one(a):
        return a

    if x > 0:
        return one(x)
    return one(x, x)


@program((3,), (-3,))
def missing_attribute(x):
    class Empty:
        pass

    if x > 0:
        return x
    return Empty().nothing


@program(([1, 2, 3], 1), ([1, 2, 3], 7))
def index_out_of_range(xs, i):
    out = [10, 20, 30]
    if i > 5:
        return out[5]
    return out[1] + xs[0]


@program((3,), (0,))
def stop_iteration_from_next(x):
    it = iter([1, 2])
    a = next(it)
    b = next(it, 9)
    c = next(it, 9)
    if x > 0:
        a += x
    return a, b, c


@program((3,), (-3,))
def branch_not_taken_fails(x):
    if x > 0:
        y = x
    else:
        y = {"a": 1}["missing"]
    return y


@program(((1, 2),), ((1, 2, 3),))
def too_many_to_unpack(pair):
    a, b = pair
    return a + b


@program((3,), (-3,))
def raise_instance_and_class(x):
    if x < 0:
        error = TooBig("kept")
        raise error
    if x > 5:
        raise StopIteration
    return x


@program((6,), (2,))
def raise_after_loop(n):
    s = 0
    for i in range(n):
        s += i
    if s > 10:
        raise OverflowError("too much")
    return s


@program((8,), (3,))
def raise_inside_nested_loops(n):
    s = 0
    for i in range(n):
        for j in range(i):
            if i * j > 20:
                raise TooBig("product")
            s += j
    return s


@program((5,), (1,))
def print_until_raise(n):
    for i in range(n):
        print("step", i)
        if i == 3:
            raise TooBig("three")
    return n


@program((3,), (-3,))
def not_implemented_branch(x):
    if x < 0:
        raise NotImplementedError
    return x


@program((3,), (-3,))
def else_of_try(x):
    try:
        y = x + 1
    except TypeError:
        y = 0
    else:
        if y > 0:
            y *= 2
    return y


@program((4, fixed("k")), (4, fixed("missing")))
def lookup_with_handler_in_loop(n, key):
    s = 0
    for i in range(n):
        try:
            s += {"k": 10}[key] + i
        except KeyError:
            s -= i
    return s


@program(([1, 2], 1), ([1, 2], 2), ([1, 2], -3))
def item_that_nobody_uses(xs, i):
    xs[i]
    return len(xs)


@program(([6, 3], 2), ([6, 3], 0))
def quotient_that_nobody_uses(xs, y):
    n = 0
    for x in xs:
        z = x // y
        n += 1
    return n

"""`with` around what tensors decide; and jumps out of `finally`, which end an error as a context manager can."""
from __future__ import annotations

import contextlib

from programs import fixed, program
from programs.tries import High, Low, check

# --- with ---


class Tracker:
    def __init__(self, swallow=None):
        self.swallow, self.entered, self.left = swallow, 0, 0

    def __enter__(self):
        self.entered += 1
        print("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.left += 1
        if kind is None:
            print("leave")
        else:
            print("leave by", kind.__name__, error)
        return self.swallow is not None and kind is not None and issubclass(kind, self.swallow)


@program((3,), (-3,), (30,))
def manager_sees_error(x):
    with Tracker():
        print("body")
        check(x)
        print("end")
    return x


@program((3,), (-3,), (30,))
def manager_swallows_error(x):
    y = 0
    tracker = Tracker(Low)
    with tracker as t:
        y = 1
        y = check(x) + t.entered
    return y, tracker.entered, tracker.left


@program((3,), (-3,), (30,))
def managers_nest(x):
    y = 0
    with Tracker(High) as a, Tracker(Low) as b:
        y = a.entered + b.entered
        check(x)
        y += 10
    return y


class Within:
    """Leaves by itself, if a tensor says so."""

    def __init__(self, limit):
        self.limit, self.total = limit, 0

    def __enter__(self):
        self.total = 0
        return self

    def __exit__(self, kind, error, traceback):
        return self.total < self.limit


@program((3, 5), (-3, 5), (-3, 0))
def swallowed_by_condition(x, limit):
    with Within(limit) as w:
        w.total += 1
        check(x)
        w.total += 100
    return w.total


@program((3,), (-3,))
def return_from_manager(x):
    with Tracker(Low):
        return check(x)
    return -1


@program(([1, -1, 2, 3],), ([1, 2],))
def manager_in_loop(xs):
    s = 0
    for x in xs:
        with Tracker(Low):
            if x == 2:
                continue
            s += check(x)
    return s


@program(([1, -1, 2],), ([-1],), ([3],))
def manager_of_a_local_class(xs):
    class Counting:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            self.log.append(1)
            return self

        def __exit__(self, kind, error, traceback):
            self.log.append(2)
            return kind is not None and issubclass(kind, Low)

    log, s = [], 0
    for x in xs:
        with Counting(log):
            s += check(x)
    return s, log


@program((4, 0), (4, 2))
def suppressed_by_library(x, d):
    y = -1
    with contextlib.suppress(ZeroDivisionError):
        y = x // d
    return y


@program((4, fixed(0)), (4, fixed(2)))
def suppressed_in_python(x, d):
    y = -1
    with contextlib.suppress(ZeroDivisionError):
        y = 8 // d + x
    return y


@program((3,), (-3,))
def manager_without_name(x):
    with Tracker(), contextlib.nullcontext():
        if x > 0:
            print("positive")
    return x


# --- finally that jumps ---


@program((3,), (-3,), (30,))
def finally_swallows_by_return(x):
    try:
        return check(x)
    finally:
        return -x


@program((3,), (-3,), (30,))
def finally_returns_if(x):
    try:
        check(x)
        y = 1
    finally:
        if x < 0:
            return 100
    return y


@program(([1, -1, 2],), ([3],), ([30, -1, 1, 30, -1],))
def finally_continues(xs):
    s = 0
    for x in xs:
        try:
            s += check(x)
            if x == 2:
                break
        finally:
            s += 1
            if x != 30:
                continue
            s += 1000
            break
    else:
        s += 10000
    return s


@program((4,), (1,))
def finally_ends_another_jump(n):
    s = 0
    for i in range(n):
        try:
            if i == 1:
                return -1
            if i == 2:
                break
            s += 10
        finally:
            s += 1
            if i < 3:
                continue
    else:
        s += 1000
    return s


@program((3,), (-3,), (-30,))
def finally_jumps_inside_itself(x):
    s = 0
    try:
        check(x)
    except Low:
        s = 1
        check(-x)
    finally:
        for i in range(4):
            if i == 2:
                break
            s += 10
        print("s", s)
    return s


@program((3,), (-3,))
def swallowed_error_ends_return(x):
    with Tracker(Low):
        try:
            return 1
        finally:
            check(x)
    return 2

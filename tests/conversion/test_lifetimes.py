"""Objects go when they go in Python: no temporary of the converted form, and no loop that was left, has them longer."""
from __future__ import annotations

import contextlib
import gc
import io
from collections.abc import Callable, Iterator

import pytest

import autograph as ag
from autograph.core.versions import CALLS_SHARE_STACK, INLINES_COMPREHENSIONS

CASES: dict[str, Callable[[], object]] = {}


def case(fn: Callable[[], object]) -> Callable[[], object]:
    CASES[fn.__name__] = fn
    return fn


class Noted:
    """Says when it goes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        print("gone:", self.name)

    def __bool__(self) -> bool:
        return self.name != "false"

    def __iter__(self) -> Iterator[int]:
        return iter((1, 2, 3))

    def itself(self) -> Noted:
        return self


def items(name: str) -> Iterator[int]:
    try:
        yield 1
        yield 2
        yield 3
    finally:
        print("closed:", name)


def fail(x: object) -> int:
    raise ValueError(x)


# --- Loops ---


@case
def left_by_break():
    for x in items("a"):
        if x > 1:
            break
    print("after")


@case
def left_by_return():
    try:
        for x in items("a"):
            if x > 1:
                return x
    finally:
        print("finally")


@case
def left_by_return_at_once():
    try:
        for x in items("a"):
            return x
    finally:
        print("finally")


@case
def left_by_return_from_inner():
    try:
        for x in items("a"):
            for y in items("b"):
                if x > 1:
                    return x
                if y > 1:
                    break
    finally:
        print("finally")


@case
def left_by_error():
    try:
        for x in items("a"):
            fail(x)
    except ValueError:
        print("handled")


@case
def left_by_error_in_loop_with_break():
    try:
        for x in items("a"):
            if x > 1:
                break
            fail(x)
    except ValueError:
        print("handled")


@case
def left_inner_of_two():
    for i in (0, 1):
        for x in items("a"):
            if x > i:
                break
        else:
            continue
        print("in")
    print("after")


@case
def ended():
    for _ in Noted("a"):
        print("in")
    print("after")


@case
def ended_with_else():
    for x in items("a"):
        if x > 5:
            break
    else:
        print("else")
    print("after")


@case
def over_what_is_rebound():
    xs = items("a")
    for x in xs:
        xs = None
        if x > 1:
            break
    print("after", xs)


@case
def over_generator_expression():
    for x in (y for y in items("a")):
        if x > 1:
            break
    print("after")


@case
def over_generator_expression_left_by_error():
    try:
        for x in (y for y in items("a")):
            fail(x)
    except ValueError:
        print("handled")


@case
def over_operand():
    for x in items("a") or ():
        if x > 1:
            break
    print("after")


@case
def over_builtins():
    for _, x in enumerate(zip(items("a"), map(str, items("b")))):
        if x[0] > 1:
            break
    print("after")


# --- Comprehensions ---


@case
def list_of_object():
    print([x for x in Noted("a")])
    print("after")


@case
def list_of_variable():
    xs = Noted("a")
    print([x + 1 for x in xs])
    del xs
    print("after")


@case
def list_left_by_error():
    try:
        print([fail(x) for x in items("a") if x])
    except ValueError:
        print("handled")


@case
def nested_lists_left_by_error():
    try:
        print([[fail(x) for x in items("b")] for _ in items("a")])
    except ValueError:
        print("handled")


@case
def two_loops_left_by_error():
    try:
        print({x: fail(x) for _ in items("a") for x in items("b")})
    except ValueError:
        print("handled")


@case
def generator_dropped():
    xs = (x for x in items("a"))
    print(next(xs))
    del xs
    print("after")


@case
def generator_not_exhausted():
    print(any(x > 1 for x in items("a")))
    print("after")


# --- Expressions ---


@case
def first_of_or():
    x = Noted("a") or Noted("b")
    del x
    print("after")


@case
def second_of_or():
    x = Noted("false") or Noted("b")
    print("in")
    del x
    print("after")


@case
def third_of_and():
    x = Noted("a") and Noted("b") and Noted("c")
    print("in")
    del x
    print("after")


@case
def first_of_and():
    x = Noted("false") and Noted("b")
    print("in")
    del x
    print("after")


@case
def negated():
    x = not Noted("a")
    print("after", x)


@case
def member():
    x = Noted("a") in (1, 2)
    print("after", x)


@case
def chosen():
    x = Noted("b").itself() if Noted("a") else 2
    print("in")
    del x
    print("after")


@case
def test_of_if():
    if (Noted("a") and Noted("b")) or not Noted("c"):
        print("in")
    print("after")


@case
def test_of_while():
    i = 0
    while Noted(str(i)).itself():
        print("in")
        i += 1
        if i > 2:
            break
    print("after")


@case
def asserted():
    assert Noted("a")
    print("after")


# --- Statements ---


@case
def subject_of_match():
    match Noted("a"):
        case 1 | 2:
            print("never")
        case _:
            print("in")
    print("after")


@case
def set_item():
    x = {}
    x[0] = Noted("a").itself()
    print("in")
    del x[0]
    print("after")


@case
def set_item_after_its_value():
    x = {}
    x[int("0")] = Noted("a").itself()
    del x[0]
    print("after")

    def held():
        return x

    x[1] = Noted("b").itself()
    held().clear()
    print("after")


@case
def set_items_of_several_targets():
    x = {}
    x[0] = x[1] = Noted("a")
    x.clear()
    print("after")
    (x[0], [x[1], *x[int("2")]]) = y = Noted("b"), (Noted("c"), Noted("d"))
    del y
    x.clear()
    print("after")


@case
def index_of_augmented():
    x = {}
    x[Noted("a")] = 1
    for key in list(x):
        x[key.itself()] += 1
    del key
    x.clear()
    print("after")


# --- Variables that are set to None ---


@case
def released_in_branch():
    x = Noted("a")
    if x:
        x = None
    print("after")


@case
def released_in_finally():
    x = y = Noted("a")
    try:
        print("in", bool(y))
    finally:
        y = None
        while x is not None:
            x = None
            print("released")
    print("after")


@case
def released_after_another():
    x = Noted("a")
    for i in range(2):
        x = Noted(f"b{i}")
        print("in")
        x = None
        print("released")
    print("after")


@case
def released_in_with():
    x = y = Noted("a")
    with contextlib.suppress(ValueError):
        x = None
        with contextlib.suppress(ValueError):
            y = None
            print("in")
        fail(1)
    print("after")


class Caught:
    """Has the error that it swallows, which refers to the frames around it."""

    def __init__(self) -> None:
        self.noted = Noted("a")

    def __enter__(self) -> Caught:
        return self

    def __exit__(self, kind: object, error: BaseException, traceback: object) -> bool:
        self.error = error.with_traceback(None)
        return True


@case
def manager_with_its_error():
    def run():
        caught = Caught()
        try:
            with caught:
                try:
                    fail(1)
                except ValueError:
                    raise TypeError  # whose context has a traceback
        finally:
            caught = None

    gc.collect()
    gc.disable()
    try:
        run()
        print("after")
    finally:
        gc.enable()


def printed(fn: Callable[[], object]) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        fn()
    return out.getvalue().splitlines()


LATER = {
    "left_by_error", "left_by_error_in_loop_with_break", "over_generator_expression_left_by_error",
    "two_loops_left_by_error", "third_of_and", "subject_of_match",
    "set_item_after_its_value", "set_items_of_several_targets",
    *(() if CALLS_SHARE_STACK else ("ended", "test_of_if")),
    *(("list_left_by_error", "nested_lists_left_by_error") if INLINES_COMPREHENSIONS else ())}
"""Cases in which the converted form keeps an object a little longer: in a variable of its own, such as `value_`, until
the function ends; in the call of an operator, until that ends; in the frames of operators, while an error leaves it."""


@pytest.mark.entry
@pytest.mark.parametrize("name", sorted(LATER))
def test_objects_go_when_they_go_in_python_outside_a_trace(name: str) -> None:
    assert printed(ag.convert(CASES[name])) == printed(CASES[name])


@pytest.mark.parametrize("name", [name for name in CASES if name not in LATER])
def test_objects_go_when_they_go_in_python(name: str) -> None:
    expected = printed(CASES[name])
    assert any(line.startswith(("gone", "closed")) for line in expected)
    converted = ag.convert(CASES[name])
    assert printed(converted) == expected  # the first call converts what is called
    assert printed(converted) == expected

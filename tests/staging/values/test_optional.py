"""What may be None only in the graph: `isinstance`, `type`, `is`, `in` and their like are right, or an error."""
from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from traced_once import on

import autograph as ag
import runtime as rt
from runtime.errors import OperatorNotAllowedInGraphError, StagingError, UnimplementedError
from tests.plain_values import plain

SENTINEL = object()


@dataclasses.dataclass
class Point:
    a: Any
    b: Any


def of_instance(v):
    return (isinstance(v, rt.Tensor), isinstance(v, type(None)), isinstance(v, (rt.Tensor, type(None))),
            isinstance(v, (tuple, dict, list, Point)), not isinstance(v, rt.Tensor), isinstance(v, str))


def of_instance_by_another_name(v):
    ask = isinstance
    return ask(v, rt.Tensor), ask(v, (tuple, dict, list, Point))


def branches(v):
    if isinstance(v, rt.Tensor):
        return v * 2.0, 1.0
    if isinstance(v, tuple):
        return v[0], 2.0
    return -1.0, 3.0


def in_a_loop(v):
    n = 0
    while isinstance(v, (rt.Tensor, tuple, dict, list, Point)) and n < 3:
        n += 1
    return (n,)


def assigned_where_it_is_not(v):
    if not isinstance(v, rt.Tensor):
        v = 7.0
    return (v * 2.0,)


def in_a_callee(v):
    def ask(x):
        return 1.0 if isinstance(x, rt.Tensor) else 2.0

    def of_none(x):
        return 1.0 if None is x else 2.0

    return ask(v), of_none(v), ask(None), of_none(None)


def of_none(v):
    none = None
    d, t = {"k": v}, (v, 1)
    return (v is None, v is not None, None is v, None is not v, v is none, none is not v, d.get("k") is None,
            t[0] is None, (lambda: v)() is None)


def of_others(v):
    w = v
    return v is v, v is w, v is SENTINEL, v is not SENTINEL, v is int, SENTINEL is v


def among(v):
    numbers = (None, 3.0)
    return None in [v, 1.0], v in numbers, v not in numbers


def of_truth(v):
    return (1.0 if v else 2.0, not v, bool(v), any([v]), all([v, 1]), any([None, v]), bool(v) and True)


def of_attributes(v):
    return (callable(v), hasattr(v, "a"), hasattr(v, "b"), hasattr(v, "__len__"), hasattr(v, "nothing"),
            getattr(v, "nothing", 5.0))


def patterns(v):
    match v:
        case None:
            return (1.0,)
        case [_, _]:
            return (2.0,)
    return (3.0,)


def by_class(v):
    match v:
        case Point():
            return (1.0,)
    return (2.0,)


def by_star(v):
    match v:
        case [_, *_]:
            return (1.0,)
    return (2.0,)


def by_key(v):
    match v:
        case {"a": _}:
            return (1.0,)
    return (2.0,)


MAKES = {
    "tensor": lambda x: x * 2.0, "tuple": lambda x: (x, x), "object": lambda x: Point(x, x), "dict": lambda x: {"a": x},
    "list": lambda x: [x, x],
}


def given(fn: Any, make: Any) -> Any:
    """A function of a tensor: `fn` of what is None if that is negative."""

    def f(x):
        v = None
        if x > 0:
            v = make(x)
        return fn(v)

    return f


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize("fn", [
    of_instance, of_instance_by_another_name, branches, in_a_loop, in_a_callee, of_none, of_others, of_truth,
    of_attributes, patterns, by_class, by_star, by_key])
def test_right(fn: Any, kind: str, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = given(fn, MAKES[kind])
    g = on(executor, f)
    for value in (2.0, -2.0):
        x = rt.constant(value)
        assert [*map(float, g(x))] == [*map(float, f(x))], value


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("fn", [assigned_where_it_is_not, among])
def test_right_of_a_tensor(fn: Any, executor: str) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    f = given(fn, lambda x: x * 1.5)
    g = on(executor, f)
    for value in (2.0, 3.0, -2.0):
        x = rt.constant(value)
        assert list(map(float, g(x))) == list(map(float, f(x))), value


def of_a_field(v):
    return (getattr(v, "a", 5.0) * 1.0,)


def test_an_attribute_with_a_default() -> None:
    f = given(of_a_field, MAKES["object"])
    g = rt.function(f)
    assert [float(g(rt.constant(value))[0]) for value in (2.0, -2.0)] == [2.0, 5.0]


ASKS = {
    "type": (lambda v: type(v) is int, "for its type"),
    "class": (lambda v: v.__class__, "for its class"),
    "vars": (vars, "for its attributes"), "dir": (lambda v: dir(v), "for its attributes"),
}


@pytest.mark.parametrize("kind", ["tensor", "object"])
@pytest.mark.parametrize("ask", ASKS)
def test_what_only_python_knows(ask: str, kind: str) -> None:
    fn, what = ASKS[ask]
    f = given(fn, MAKES[kind])
    with pytest.raises(StagingError) as info:
        rt.function(f, executor="numpy")(rt.constant(1.0))
    first, *_, last = str(info.value).split("\n")
    assert first.endswith(f": whether 'v' is None is known only when the graph runs, and Python asks here {what}")
    assert last == "Ask for `v is None` or `isinstance(v, ...)` instead, which the graph answers."


@pytest.mark.parametrize("kind", ["tensor", "object"])
def test_the_truth_in_code_left_alone(kind: str) -> None:
    f = given(ag.do_not_convert(lambda v: 1.0 if v else 2.0), MAKES[kind])
    with pytest.raises(OperatorNotAllowedInGraphError, match="a tensor cannot be used as a Python bool here"):
        rt.function(f, executor="numpy")(rt.constant(1.0))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_which_tensor_it_is(executor: str) -> None:
    f = rt.function(given(lambda v: v is rt.constant(1.0), MAKES["tensor"]), executor=executor)
    assert not f(rt.constant(-1.0))
    with pytest.raises(UnimplementedError, match=r"whether two names have one number, tensor or tuple is asked here"):
        f(rt.constant(1.0))


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_which_elements_are_one(executor: str) -> None:
    @rt.function(executor=executor)
    def f(xs: Any, i: Any) -> Any:
        xs[i] = None
        return xs[0] is xs[1], xs[0] is not xs[1]

    for xs, found in (([None, 3], True), ([2, 3], False)):
        assert [*map(bool, f(xs, rt.constant(1)))] == [found, not found]
    with pytest.raises(UnimplementedError):
        f([2, 3, 4], rt.constant(2))


def test_a_function_that_was_converted_before() -> None:
    """While a backend traces, it runs its converted form."""
    import autograph as ag

    def f(x):
        v = None
        if x > 0:
            v = (x, x)
        return 1.0 if isinstance(v, tuple) else 2.0

    staged = rt.function(ag.convert(f))
    assert [float(staged(rt.constant(x))) for x in (1.0, -1.0)] == [1.0, 2.0]


def test_what_is_surely_there() -> None:
    """A value that may only be unbound has a type; who asks for it reads the variable."""
    def f(x):
        if x > 0:
            v = (x, x)
        return 1.0 if type(v) is tuple and isinstance(v, tuple) and v is not None else 2.0

    g = rt.function(f)
    assert float(g(rt.constant(1.0))) == 1
    with pytest.raises(UnboundLocalError):
        g(rt.constant(-1.0))


def test_what_says_of_the_frame_or_makes_a_class() -> None:
    def f(x):
        names, members, make = vars, dir, type
        of_module = type("Made", (), {"__module__": __name__})
        return x if ("x" in names() and "x" in members() and "names" in names() and of_module.__name__ == "Made"
                     and make("Made", (), {"a": 1}).a == 1) else -x

    assert float(rt.function(f)(rt.constant(1.0))) == 1


def test_a_name_that_means_another_function() -> None:
    def f(x):
        def isinstance(a, b):
            return b

        type = dict = getattr = lambda *args: args[-1]
        return isinstance(x, 5.0) + type(x, 1.0) + dict(2.0) + getattr(x, "shape", 3.0)

    assert float(rt.function(f)(rt.constant(1.0))) == 11


@dataclasses.dataclass
class Held:
    x: Any


def numbers(held: Any) -> Any:
    """What it holds, as plain values."""
    return (type(held), plain(vars(held))) if dataclasses.is_dataclass(held) else plain(held)


@pytest.mark.parametrize("hold", [
    lambda x: (x, 1), lambda x: [x, 1], lambda x: {"k": x}, lambda x: ([1, {"k": (x,)}],), Held,
    lambda x: Point(1, [x]),
])
@pytest.mark.parametrize("executor", ["numpy", None])
def test_what_may_be_unbound_is_read_where_it_becomes_a_part(hold: Any, executor: str | None) -> None:
    """There Python raises; where it does not become one, nothing does."""
    def f(set_, used):
        if set_:
            x = 2.0
        held = None
        if used:
            held = hold(x)
        return held

    g = on(executor, f)
    yes, no = rt.constant(True), rt.constant(False)
    assert g(no, no) is None and g(yes, no) is None
    assert numbers(g(yes, yes)) == numbers(hold(2.0))
    with pytest.raises(UnboundLocalError, match=r"variable 'x'"):
        g(no, yes)


# None that a `return` gives before another value is returned.


def none_from_a_loop(y: Any) -> Any:
    while y < 5:
        y += 1
        if y == 3:
            return None
    return -1


def none_from_a_nested_branch(y: Any) -> Any:
    if y > 0:
        y = y * 2
        if y > 10:
            return
    return y, 1


def none_from_a_try(y: Any) -> Any:
    try:
        if y > 0:
            y = y * 2
            if y > 10:
                return None
    finally:
        y = 0
    return True


def text_or_none(y: Any) -> Any:
    if y > 0:
        if y > 10:
            return None
        if y > 5:
            return "more"
    return f"{y:d}"


def none_of_a_callee(y: Any) -> Any:
    found = none_from_a_loop(y)
    return (found is None, 7) if found is None else (found == -1, found * 2)


@pytest.mark.parametrize("program", [
    none_from_a_loop, none_from_a_nested_branch, none_from_a_try, text_or_none, none_of_a_callee])
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_none_that_is_returned_before_another_value(program: Any, executor: str) -> None:
    traced = on(executor, program)
    for y in (-1, 1, 3, 6, 11):
        assert plain(traced(rt.constant(y))) == plain(program(y)), y


def test_what_is_known_not_to_be_none_is_put_in_lists_and_dicts() -> None:
    def put(xs: Any) -> Any:
        out, pairs, after, best, previous = [], [], {}, None, None
        for x in xs:
            if previous is not None:
                out.append(previous)
                pairs.append((previous, 1))
                after[previous] = x
            if best is None or x > best:
                best = x
            previous = x
            pairs.append((x, best))
        return out, sum(out), max(out), pairs, after

    assert plain(rt.function(put)(rt.constant([2, 2, 3, 1]))) == put([2, 2, 3, 1])


def test_equality_with_values_of_other_kinds() -> None:
    def f(c):
        number, text, items = None, None, None
        if c > 0:
            number, text, items = c, "a", (1, c)
        return (number == None, number == 1, number != 1, number == "a",  # noqa: E711
                text == 3, text != "a", items == 3, items != (1, 2), items == (1, 1), number == text)

    for c in (1, -1):
        assert plain(rt.function(f)(rt.constant(c))) == plain(f(c))

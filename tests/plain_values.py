"""What programs give and print, as plain values that compare with Python's."""
from __future__ import annotations

import copy
import dataclasses
import enum
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

executors = pytest.mark.parametrize("executor", ["numpy", "native"])


def collecting(cases: list[Any]) -> Callable[..., Callable[[Any], Any]]:
    """A decorator `@program(2, 5)` for functions: each is a case for each of these arguments."""
    def program(*arguments: Any) -> Callable[[Any], Any]:
        def add(fn: Any) -> Any:
            cases.extend([pytest.param(fn, n, id=f"{fn.__name__}-{n}") for n in arguments])
            return fn

        return add

    return program


def plain(value: Any) -> Any:
    if isinstance(value, rt.Tensor):
        return value.numpy().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return type(value).__name__, plain(vars(value))
    return type(value)(map(plain, value)) if isinstance(value, (list, tuple)) else value


def shown(x: Any) -> Any:
    """A result as plain values, objects by their attributes."""
    if isinstance(x, (list, tuple)):
        return [shown(item) for item in x]
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (enum.Enum, type, FunctionType)):
        return x
    if hasattr(x, "__dict__") and not isinstance(x, rt.Tensor):
        return {name: shown(part) for name, part in sorted(vars(x).items())}
    return plain(x)


class Job:
    """An object of a plain class."""

    def __init__(self, x: Any, n: Any = 0) -> None:
        self.x = x
        self.n = n

    def bump(self, k: Any = 1) -> Any:
        self.n += k
        return self


def check_shown(fn: Callable[..., Any], executor: str, *args: Any) -> None:
    """Check that a function of tensors gives what Python gives, with the attributes of objects."""
    assert shown(on(executor, fn)(*map(rt.constant, args))) == shown(fn(*args))


def check_sizes(fn: Callable[[Any], Any], executor: str, *sizes: int) -> None:
    """Check that one trace of a function of an int gives what Python gives."""
    traced = on(executor, fn)
    for n in sizes:
        assert plain(traced(rt.constant(n))) == plain(fn(n))
    assert len(traced.concrete_functions) == 1


def identities(value: Any, seen: dict[int, int] | None = None) -> Any:
    """Which containers and objects in a value are the same one: each by the number of its first place."""
    seen = {} if seen is None else seen
    if isinstance(value, (rt.Tensor, np.ndarray, str, int, float)) or value is None:
        return None
    if not isinstance(value, tuple):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else getattr(
        value, "__dict__", {}).values()
    return [identities(part, seen) for part in parts]


def check_places(fn: Callable[..., Any], executor: str, *calls: tuple[Any, ...]) -> None:
    """Check that a function gives what Python gives for these arguments, ints as tensors, and leaves that in them:
    equal values, of which the same ones are one list, dict or object."""
    traced = on(executor, fn)
    for args in calls:
        expected, found = copy.deepcopy(args), copy.deepcopy(args)
        want = fn(*expected), expected
        got = traced(*[rt.constant(x) if type(x) is int else x for x in found]), found
        assert shown(got[0]) == shown(want[0]) and shown(got[1]) == shown(want[1])
        assert identities(got) == identities(want)


def check_refused(fn: Callable[[Any], Any], what: str) -> None:
    """Check that a function of an int is refused with that text."""
    with pytest.raises(rt.errors.StagingError) as info:
        rt.function(fn)(rt.constant(3))
    assert what in str(info.value)


def outcome(
    fn: Callable[..., Any], x: Any, capsys: pytest.CaptureFixture[str], kind: type[Exception],
    of_error: Callable[[Any], Any],
) -> tuple[Any, str]:
    """The result, or what `of_error` says of an error of that kind; and what was printed."""
    try:
        result = plain(fn(x))
    except kind as error:
        result = of_error(error)
    return result, capsys.readouterr().out

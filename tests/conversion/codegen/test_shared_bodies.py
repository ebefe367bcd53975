"""A body that stands in several lanes is compiled once, where the compiler lets it."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from pytest import MonkeyPatch

import autograph as ag
from autograph.codegen import compile as emit
from autograph.core.tracebacks import is_body
from benchmarks.nested import nested


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def bodies(function: Any) -> list[CodeType]:
    """Each place at which the code of a body stands."""
    return [code for code in codes(ag.convert(function).__code__) if is_body(code)]


def test_each_body_is_one_code_object() -> None:
    places = bodies(nested)
    assert len(places) > 100
    assert len({id(code) for code in places}) < 40


def test_no_mark_is_left() -> None:
    for code in codes(ag.convert(nested).__code__):
        texts = [c for c in code.co_consts if isinstance(c, str)]
        assert not [text for text in texts if text.startswith(("autograph: first body", "autograph: other body"))]
        assert code.co_name == "nested"


def once(monkeypatch: MonkeyPatch) -> list[bool]:
    """With which argument `once` functions are compiled from now on."""
    seen: list[bool] = []
    real = emit._code

    def watched(*arguments: Any) -> CodeType:
        seen.append(arguments[-1])
        return real(*arguments)

    monkeypatch.setattr(emit, "_code", watched)
    return seen


def halved(n: int) -> int:
    while n > 3:
        if n % 2:
            n -= 3
        n //= 2
    return n


def test_compiled_in_one_go(monkeypatch: MonkeyPatch) -> None:
    seen = once(monkeypatch)
    assert ag.convert(halved)(20) == halved(20)
    assert seen == [True]


def left_at_once(n: int) -> int:
    i = 0
    for i in range(n):
        break
    return i


def test_a_body_whose_first_place_is_dead_code_is_compiled_each_time(monkeypatch: MonkeyPatch) -> None:
    seen = once(monkeypatch)
    assert ag.convert(left_at_once)(9) == left_at_once(9)
    assert seen == [True, False]


def with_lambda(n: int, plus: bool) -> Callable[[int], int] | None:
    if n > 0:
        if plus:
            return lambda y: abs(y) + n
    return None


def test_a_body_with_a_function_of_the_users_is_compiled_each_time(monkeypatch: MonkeyPatch) -> None:
    seen = once(monkeypatch)
    made = ag.convert(with_lambda)(2, True)
    assert made is not None and made(-3) == 5
    assert seen == [True]
    assert len({id(code) for code in bodies(with_lambda)}) > len({code.co_code for code in bodies(with_lambda)})

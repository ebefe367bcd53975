"""Failed assertions of converted code show the values of their operands where pytest has rewritten the module's."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from tests.traced_once import on

calls: list[int] = []


def called() -> int:
    calls.append(1)
    return len(calls)


def compared(x: Any, y: Any) -> Any:
    z = x + 1
    assert z * 2 < y, f"large: {z}"
    return z


def contained(x: Any, y: Any) -> None:
    items = [1, 2]
    for i in range(x):
        items.append(i)
    assert sum(items) in (1, 2), "sum"


def negated(x: Any, y: Any) -> None:
    assert not x > 2, "x"


def in_a_loop(x: Any, y: Any) -> None:
    total = 0
    for i in range(x):
        total += i
        assert (
            total != 3
        ), "total"


def with_an_effect(x: Any, y: Any) -> None:
    assert called() + x < 0, "effect"


def of_python_values(x: Any, y: Any) -> Any:
    if x > 0:
        assert len("abc") == 4, "length"
    return x


def long_text(x: Any, y: Any) -> None:
    assert "a" * 1000 == "b", "text"


CASES = [
    (compared, "large: 4\nassert 8 < 2"),
    (contained, "sum\nassert 6 in (1, 2)"),
    (negated, "x\nassert not True"),
    (in_a_loop, "total\nassert 3 != 3"),
    (with_an_effect, "effect"),
    (of_python_values, "length\nassert 3 == 4"),
    (long_text, f"text\nassert '{'a' * 117}...{'a' * 117}' == 'b'"),
]


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize(("fn", "said"), CASES)
def test_staged_assertions_are_explained(fn: Callable[..., Any], said: str, executor: str) -> None:
    calls.clear()
    with pytest.raises(AssertionError) as failed:
        on(executor, fn)(rt.constant(3), rt.constant(2))
    assert str(failed.value) == said
    assert len(calls) <= 2  # a call that raises may be traced again


def test_an_assertion_without_a_message() -> None:
    @rt.function
    def f(x: Any) -> None:
        assert x == 4

    with pytest.raises(AssertionError) as failed:
        f(rt.constant(3))
    assert str(failed.value) == "assert 3 == 4"
    f(rt.constant(4))


def test_pytest_explains_what_runs_as_it_is() -> None:
    """Outside of a trace a function runs its own code."""
    with pytest.raises(AssertionError, match="assert 8 < 2"):
        ag.convert(compared)(3, 2)


def test_modules_that_pytest_has_not_rewritten_have_pythons_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain_module.py").write_text("def f(x):\n    assert x == 4\n\ndef g(x):\n    assert x == 4, 'four'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import plain_module  # type: ignore[import-not-found]

    for fn, args in ((plain_module.f, ()), (plain_module.g, ("four",))):
        with pytest.raises(AssertionError) as failed:
            rt.function(fn)(rt.constant(3))
        assert failed.value.args == args

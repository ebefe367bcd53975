"""A backend of another framework: what it has to answer, and what holds where it does not."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import autograph as ag
from autograph.core.backend import backend_of, has_backend, staging_backend
from autograph.core.late_binding import deferred

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "own_backend.py"
SPEC: Any = importlib.util.spec_from_file_location("own_backend", EXAMPLE)
own: Any = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = own  # where dataclasses look
SPEC.loader.exec_module(own)


def same(fn: Any, **known: Any) -> Any:
    """What a function gives for symbols of these names and values, which is what it gives for the values."""
    symbols = {name: own.Sym(name) for name in known}
    staged = ag.convert(fn)(**symbols)
    values = {symbols[name]: value for name, value in known.items()}
    found = own.evaluate(staged, values)
    assert found == fn(**known)
    return found


def test_the_example_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) < 130


def test_the_seam_is_small_and_documented() -> None:
    questions = {name: value for name, value in vars(ag.Backend).items()
                 if not name.startswith("_") or name in ag.Backend.__annotations__}
    assert len(questions) <= 33
    assert all(value.__doc__ for value in questions.values())


def collatz(n: Any) -> Any:
    steps = 0
    while n > 1:
        if n % 2 > 0:
            n = n * 3 + 1
        else:
            n = n - 1
        steps += 1
        if steps > 5:
            break
    return steps


def early(x: Any, y: Any) -> Any:
    if x > 0:
        if y > x:
            return y
        return x
    return y if y > 0 else x - y


def both(x: Any, y: Any) -> Any:
    return (x > 0 and y) or (x - y > 0 and 3) or 5


def nested(xs: Any, ys: Any) -> Any:
    total = 0
    for x in xs:
        for y in ys:
            if x > y:
                total += x * y
    return total


def first_above(xs: Any, y: Any) -> Any:
    for x in xs:
        if x > y:
            return x
    return y


def helper(x: Any) -> Any:
    while x > 10:
        x = x - 7
    return x


def calls(x: Any) -> Any:
    return helper(x) + helper(x * 3)


def test_programs_do_what_they_do_in_python() -> None:
    for x in (3, -3, 0, 25):
        same(collatz, n=x)
        same(calls, x=x)
        for y in (4, -4, 2):
            same(early, x=x, y=y)
            same(both, x=x, y=y)
            same(first_above, xs=[x, 1, y, 5], y=y)
    assert same(nested, xs=[1, 2, 3], ys=[0, 1, 2]) == 11


@pytest.mark.parametrize(("fn", "message"), [
    (lambda x: sum(i for i in x if i), "a generator expression over this value is not staged"),
    (lambda x: {i for i in x}, "the number of items of a set is not known"),
])
def test_what_a_backend_does_not_answer_says_so(fn: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ag.convert(fn)(own.Sym("x"))


def test_an_assertion() -> None:
    def positive(x: Any) -> Any:
        assert x > 0
        return x

    with pytest.raises(TypeError, match="an assertion on this value is not staged"):
        ag.convert(positive)(own.Sym("x"))


def test_what_has_to_be_answered() -> None:
    class Incomplete(ag.Backend):
        def stages(self, value: Any) -> bool:
            return True

    class Value:
        pass

    ag.register(Value, Incomplete())

    def chosen(x: Any) -> Any:
        if x:
            return 1
        return 2

    with pytest.raises(NotImplementedError):
        ag.convert(chosen)(Value())


def test_a_deferred_backend_is_loaded_when_it_has_something_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "late_backend.py").write_text(
        "import autograph as ag\n"
        "class Late(ag.Backend):\n"
        "    pass\n"
        "class Other:\n"
        "    pass\n"
        "BACKEND = Late()\n"
        "ag.register(Other, BACKEND)\n")
    monkeypatch.syspath_prepend(tmp_path)

    class Value:
        pass

    class Special(Value):
        pass

    module = deferred("late_backend")
    ag.register(Value, module)
    assert has_backend(Special()) and staging_backend(Special()) is None and "late_backend" not in sys.modules
    found = backend_of(Special())
    late = sys.modules.pop("late_backend")
    assert found is late.BACKEND
    ag.register(Value, module)
    with pytest.raises(NotImplementedError):  # it is asked now
        staging_backend(Value())

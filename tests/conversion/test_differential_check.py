"""`verify=True`: calls are compared with Python's, and the first difference names the line."""
from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import autograph as ag
import runtime as rt
from autograph import api, differential_check
from runtime.staging import backend


def line_of(fn: Any, text: str) -> int:
    """The number of the line of `fn` that holds `text`."""
    lines, start = inspect.getsourcelines(fn)
    return next(start + i for i, line in enumerate(lines) if text in line)


def mistaken(fn: FunctionType, instead: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with a conversion that is wrong: it does what `instead` does."""
    return differential_check.verified(fn, instead)


def sign(x: int, log: list[int]) -> int:
    log.append(x)
    print("sign of", x)
    if x > 0:
        return 1
    if x == 0:
        raise ValueError("zero")
    return -1


def test_what_agrees_passes(capsys: pytest.CaptureFixture[str]) -> None:
    log: list[int] = []
    run = ag.convert(sign, verify=True)
    assert [run(3, log), run(-3, log)] == [1, -1]
    with pytest.raises(ValueError, match="zero"):
        run(0, log)
    assert log == [3, -3, 0], "each call does to its arguments what it did, once"
    assert capsys.readouterr().out == "sign of 3\nsign of -3\nsign of 0\n"


def test_result() -> None:
    def wrong(x: int, log: list[int]) -> int:
        log.append(x)
        print("sign of", x)
        return 2

    lineno = line_of(sign, "return 1")
    with pytest.raises(ag.VerificationError) as caught:
        mistaken(sign, wrong)(3, [])
    assert str(caught.value) == (
        f"{__file__}:{lineno}: the result of sign is 1 as Python, but 2 converted\n"
        f"    {lineno} |         return 1\n"
        "If the function depends on nothing but its arguments (no random numbers, time, or state of its own) this is "
        "a fault of the conversion: autograph.to_code shows what runs.")


def test_printed_text() -> None:
    def wrong(x: int, log: list[int]) -> int:
        log.append(x)
        print("sign", x)
        return 1

    with pytest.raises(ag.VerificationError, match=r"sign prints 'sign of 3\\n' as Python, but prints 'sign 3") as e:
        mistaken(sign, wrong)(3, [])
    assert e.value.lineno == line_of(sign, "print(")


def test_text_that_is_missing() -> None:
    with pytest.raises(ag.VerificationError, match="but prints no more converted"):
        mistaken(sign, lambda x, log: 1)(3, [])


def test_exception() -> None:
    def wrong(x: int, log: list[int]) -> int:
        print("sign of", x)
        return 0

    with pytest.raises(ag.VerificationError, match="raises ValueError: zero as Python, but returns 0 converted") as e:
        mistaken(sign, wrong)(0, [])
    assert e.value.lineno == line_of(sign, "raise")


def test_exception_of_the_converted_run_is_the_cause() -> None:
    def wrong(x: int, log: list[int]) -> int:
        print("sign of", x)
        raise KeyError(x)

    with pytest.raises(ag.VerificationError, match="returns 1 as Python, but raises KeyError: 3 converted") as e:
        mistaken(sign, wrong)(3, [])
    assert isinstance(e.value.__cause__, KeyError)


def test_arguments() -> None:
    def wrong(x: int, log: list[int]) -> int:
        print("sign of", x)
        return 1

    with pytest.raises(ag.VerificationError, match=r"after the call 'log' is \[3\] as Python, but \[\] converted"):
        mistaken(sign, wrong)(3, [])


def test_where_in_a_structure() -> None:
    def make() -> dict[str, Any]:
        return {"a": [1, (2, 3)]}

    with pytest.raises(ag.VerificationError, match=r"the result of .*make\['a'\]\[1\]\[0\] is 2 as Python, but 4"):
        mistaken(make, lambda: {"a": [1, (4, 3)]})()  # type: ignore[arg-type]


def test_arrays_and_what_is_not_a_number() -> None:
    @ag.convert(verify=True)
    def same(x: float) -> Any:
        return np.array([x, 1.0]), np.float32(x), complex(x, 1), Decimal(x), {"a": x}

    assert np.isnan(same(float("nan"))[0][0])
    runs = iter(["int32", "int64", (2, 1), (2,), (3,), (2,)])

    @ag.convert(verify=True)
    def other(kind: Any) -> Any:
        run = next(runs)
        return np.ones(2, run) if kind == "dtype" else np.ones(run)

    for kind in ("dtype", "broadcast", "shape"):
        with pytest.raises(ag.VerificationError, match=r"the result of other is array\("):
            other(kind)


def test_objects_compare_by_their_attributes() -> None:
    class Point:
        def __init__(self, x: float) -> None:
            self.x = x
            self.me = self

    def make(x: float) -> Point:
        return Point(x)

    assert ag.convert(make, verify=True)(float("nan")).me
    with pytest.raises(ag.VerificationError, match=r"make\.x is 1\.0 as Python, but 2\.0 converted"):
        mistaken(make, lambda x: Point(2 * x))(1.0)  # type: ignore[arg-type]


def test_recursion_is_verified_once() -> None:
    calls = []

    @functools.partial(ag.convert, verify=True)
    def fib(n: int) -> int:
        calls.append(n)
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    assert fib(5) == 5
    assert len(calls) == 2 * 15


def test_methods_and_arguments_that_cannot_be_copied() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        @ag.convert(verify=True)
        def add(self, items: Any) -> int:
            for _ in items:
                self.count += 1
            return self.count

    counter = Counter()
    assert [counter.add([1, 2]), counter.add([1])] == [2, 3]
    assert counter.count == 3


def test_generators_are_refused() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(ag.UnsupportedError, match="only makes a generator or coroutine"):
        ag.convert(numbers, verify=True)


def test_text_and_explanation_are_of_the_function() -> None:
    assert ag.to_code(ag.convert(sign, verify=True)) == ag.to_code(sign)
    assert ag.explain(ag.convert(sign, verify=True)).function == "sign"


# --- Traced functions ---------------------------------------------------------------------------------------


def test_traced_function_that_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    total = rt.Variable(0)

    @rt.function(verify=True)
    def count(n: Any) -> Any:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        print("steps", steps)
        total.assign_add(steps)
        return steps

    assert int(count(rt.constant(27))) == 111
    assert int(count(rt.constant(6))) == 8
    assert int(total) == 119, "the variable changes once in each call"
    assert capsys.readouterr().out == "steps 111\nsteps 8\n"


def test_exception_of_a_traced_function() -> None:
    @rt.function(verify=True)
    def positive(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return x

    with pytest.raises(ValueError, match="negative"):
        positive(rt.constant(-1))


def test_traced_function_that_depends_on_when_it_is_traced() -> None:
    scale = [2]

    @ag.do_not_convert  # no call looks at what it reads
    def current() -> int:
        return scale[0]

    @rt.function(verify=True)
    def scaled(x: Any) -> Any:
        return x * current()

    assert int(scaled(rt.constant(3))) == 6
    scale[0] = 5
    lineno = line_of(scaled.python_function, "return")  # type: ignore[attr-defined]
    with pytest.raises(ag.VerificationError, match="the result of scaled is .*numpy=15.* as Python, but .*=6") as e:
        scaled(rt.constant(3))
    assert e.value.lineno == lineno


def test_variable_that_differs() -> None:
    amount = [1]
    v = rt.Variable(0, name="v")

    @ag.do_not_convert  # no call looks at what it reads
    def current() -> int:
        return amount[0]

    @rt.function(verify=True)
    def add() -> None:
        v.assign_add(current())

    add()
    amount[0] = 7
    with pytest.raises(ag.VerificationError, match="after add the variable 'v:0' is 8 as Python, but 2 converted"):
        add()
    assert int(v) == 2


def test_random_numbers_are_the_same_in_both_runs() -> None:
    @rt.function(verify=True)
    def noise() -> Any:
        return rt.random.uniform([3])

    first, second = noise().numpy().tolist(), noise().numpy().tolist()
    assert first != second


def test_method_of_an_object_with_variables() -> None:
    class Mean:
        def __init__(self) -> None:
            self.sum = rt.Variable(0.0)
            self.count = 0

        @rt.function(verify=True)
        def add(self, x: Any) -> Any:
            self.sum.assign_add(x)
            return self.sum / 2.0

    mean = Mean()
    assert [float(mean.add(rt.constant(1.0))), float(mean.add(rt.constant(2.0)))] == [0.5, 1.5]


def test_what_does_not_stage_says_so() -> None:
    @rt.function(verify=True)
    def mixed(x: Any) -> Any:
        y = rt.constant(1)
        if x > 0:
            y = rt.constant(1.5)
        return y

    with pytest.raises(rt.errors.StagingError, match="'y'"):
        mixed(rt.constant(1))


@pytest.mark.entry
def test_a_fault_of_a_pass_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_odd(items: list[int]) -> int:
        count = 0
        for x in items:
            if x % 2:
                count += 1
            else:
                count += 0
        return count

    def swap_branches(tree: Any, scope: Any) -> None:
        for node in ast.walk(tree):
            if type(node).__name__ == "If":
                node.body, node.orelse = node.orelse, node.body

    monkeypatch.setattr(api, "PASSES", (("planted", swap_branches), *api.PASSES))
    with pytest.raises(ag.VerificationError, match="the result of count_odd is 3 as Python, but 1 converted") as caught:
        ag.convert(count_odd, verify=True)([1, 2, 3, 5])
    assert caught.value.lineno == line_of(count_odd, "return count")


def test_a_fault_of_staging_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def larger(a: Any, b: Any) -> Any:
        if a > b:
            return a
        return b

    staged_cond = backend.stage_cond
    monkeypatch.setattr(backend, "stage_cond", lambda pred, true, false, *rest: staged_cond(pred, false, true, *rest))
    with pytest.raises(ag.VerificationError, match="the result of larger is .*7.* as Python, but .*2.* converted"):
        rt.function(larger, verify=True)(rt.constant(2), rt.constant(7))


@dataclass
class Fit:
    weights: Any
    steps: Any = 0


def test_printed_tensors_and_dataclasses_of_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    def fit(w: Any) -> Fit:
        found = Fit(w)
        while rt.reduce_max(found.weights) > 1:
            found.weights = found.weights / 2
            found.steps += 1
        print("fitted", found.steps, [found.steps, 1])
        return found

    python = builtins.print
    for run in rt.function(fit, verify=True), ag.convert(fit, verify=True):
        assert int(run(rt.constant([3.0, 4.0])).steps) == 2
        assert capsys.readouterr().out == "fitted 2 [2, 1]\n", "what Python's run prints is kept back"
        assert builtins.print is python
    with pytest.raises(ag.VerificationError, match=r"the result of fit\.steps is .*2.* as Python, but .*7.* converted"):
        mistaken(fit, lambda w: (print("fitted 2 [2, 1]"), Fit(w / 4, 7))[1])(rt.constant([3.0, 4.0]))


def test_an_array_in_place_of_a_list() -> None:
    runs = iter(range(2))

    def f(x: Any) -> Any:
        return x * 2 if next(runs) else [x, x]

    with pytest.raises(ag.VerificationError, match=r"the result of f is array\(.* as Python, but \[.* converted"):
        rt.function(f, verify=True)(np.array([1.0, 2.0]))

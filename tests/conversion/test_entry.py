"""A converted function decides on entry: outside of a trace the original runs, in a trace the converted form."""
from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from typing import Any

import pytest

import autograph as ag
import runtime as rt
from autograph.core import backend
from autograph.core.tracebacks import is_converted

pytestmark = pytest.mark.entry


def sign(x: Any) -> Any:
    found = "converted" if is_converted(sys._getframe().f_code) else "original"
    if x > 0:
        return 1, found
    return -1, found


class Net:
    def forward(self, x: Any) -> Any:
        return sign(x)


def test_the_original_runs_outside_of_a_trace() -> None:
    converted = ag.convert(sign)
    assert (converted(3), converted(-3), converted(x=2)) == ((1, "original"), (-1, "original"), (1, "original"))
    assert converted(rt.constant(3))[1] == "original"
    assert ag.convert(Net().forward)(3) == (1, "original")
    assert ag.convert_traced(sign)(3) == (1, "converted")


def test_the_converted_form_runs_in_a_trace_and_so_do_callees() -> None:
    found: list[str] = []
    converted, method = ag.convert(sign), ag.convert(Net().forward)

    @rt.function
    def traced(x: Any) -> Any:
        for fn in (converted, method, sign):
            value, how = fn(x)
            found.append(how)
        return value

    assert int(traced(rt.constant(-3))) == -1
    assert found == ["converted"] * 3


def test_an_argument_that_a_backend_stages_decides() -> None:
    class Symbol:
        pass

    class Backend:
        builtins: dict[Any, Any] = {}

        def stages(self, value: Any) -> bool:
            return True

        def operation(self, name: str, value: Any) -> Any:
            return f"staged {name}"

    def negated(x: Any) -> Any:
        return not x

    ag.register(Symbol, Backend())  # type: ignore[arg-type]
    converted = ag.convert(negated)
    assert converted(Symbol()) == converted(x=Symbol()) == "staged not_"
    assert converted(0) is True


def test_another_thread_that_traces_changes_nothing_here() -> None:
    begun, end = threading.Event(), threading.Event()

    @rt.function
    def traced(x: Any) -> Any:
        begun.set()
        assert end.wait(60)
        return x

    thread = threading.Thread(target=lambda: traced(rt.constant(1)))
    thread.start()
    assert begun.wait(60)
    try:
        assert ag.convert(sign)(3) == (1, "original")
    finally:
        end.set()
        thread.join()


def test_generators_and_coroutines_stay_what_they_are() -> None:
    def counts(n: Any) -> Any:
        for i in range(n):
            got = yield i
            if got:
                return got

    async def later(x: Any) -> Any:
        await asyncio.sleep(0)
        if x:
            return 1
        return 2

    converted, coroutine = ag.convert(counts), ag.convert(later)
    assert inspect.isgeneratorfunction(converted) and inspect.iscoroutinefunction(coroutine)
    assert list(converted(3)) == [0, 1, 2]
    generator = converted(3)
    next(generator)
    with pytest.raises(StopIteration) as stopped:
        generator.send("end")
    assert stopped.value.value == "end"
    assert asyncio.run(coroutine(1)) == 1


def test_errors_show_the_users_lines_alone() -> None:
    with pytest.raises(TypeError) as caught:
        ag.convert(sign)(None)
    assert [entry.name for entry in caught.traceback][1:] == ["sign"]


@pytest.mark.parametrize("forced", [False, True])
def test_errors_of_generators_and_coroutines_show_the_users_lines_alone(
    forced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counts(n: int) -> Any:
        if n:
            yield 1 // 0

    async def later(n: int) -> Any:
        if n:
            return 1 // 0

    monkeypatch.setattr(backend.ambient, "forced", forced)
    runs = {"counts": lambda: next(ag.convert(counts)(1)), "later": lambda: ag.convert(later)(1).send(None)}
    for name, run in runs.items():
        with pytest.raises(ZeroDivisionError) as caught:
            run()
        assert [entry.name for entry in caught.traceback][1:] == ["<lambda>", name]


def test_item_assignment_of_an_eager_tensor_says_what_to_do() -> None:
    def zeroed(x: Any) -> Any:
        x[0] = 0
        return x

    with pytest.raises(TypeError, match="the items of a tensor cannot be set here"):
        ag.convert(zeroed)(rt.constant([1, 2]))
    assert rt.function(zeroed)(rt.constant([1, 2])).numpy().tolist() == [0, 2]


def test_the_switch_for_tests_forces_the_converted_form() -> None:
    backend.ambient.forced = True
    assert ag.convert(sign)(3) == (1, "converted")

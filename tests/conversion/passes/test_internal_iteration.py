"""Generator functions as functions that pass their items to the loop over them."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CellType
from typing import Any

import pytest

import autograph as ag
from autograph import operators
from autograph.api import internal_iteration
from autograph.core.errors import UnsupportedError


def evens(xs: Any) -> Iterator[Any]:
    for x in xs:
        if x % 2 == 0:
            yield x


def passed(fn: Any, *args: Any, most: int = 1000) -> list[Any]:
    """The items that the generator function passes to a loop, which is left after so many."""
    found: list[Any] = []
    cells = {"ag__body": CellType(found.append), "ag__test": CellType(lambda: len(found) < most)}
    internal_iteration(fn)(fn, **cells)(*args)
    return found


class Tree:
    def __init__(self, value: int, *children: Tree) -> None:
        self.__value, self.__children = value, children

    def walk(self, least: int = 0) -> Iterator[int]:
        """The values from the top."""
        if self.__value > least:
            yield self.__value
        for child in self.__children:
            yield from child.walk(least)


class Negative(Tree):
    def walk(self, least: int = 0) -> Iterator[int]:
        for value in super().walk(least):
            yield -value


def closing(log: list[str]) -> Callable[[int], Iterator[int]]:
    def numbers(n: int, *, step: int = 1) -> Iterator[int]:
        try:
            while True:
                yield n
                n += step
        finally:
            log.append(f"end at {n}")

    return numbers


def test_items_are_passed_in_order() -> None:
    assert passed(evens, range(9)) == [0, 2, 4, 6, 8]
    assert passed(evens, range(9), most=2) == [0, 2]
    tree = Tree(3, Tree(-1, Tree(7)), Negative(5, Tree(4)))
    assert passed(Tree.walk, tree) == [*tree.walk()] == [3, 7, -5, -4]
    assert passed(Negative.walk, Negative(5, Tree(6))) == [-5, -6]


def test_where_the_loop_is_left_the_generator_ends() -> None:
    log: list[str] = []
    numbers = closing(log)
    assert passed(numbers, 3, most=4) == [3, 4, 5, 6]
    assert log == ["end at 6"]


def test_to_code_shows_the_generator() -> None:
    assert "yield x" in ag.to_code(evens)
    assert [str(d) for d in ag.explain(evens).decisions][1].endswith(
        "it holds yield: where a tensor decides, the loop over the generator is staged")


@pytest.mark.parametrize("stage", ["jumps", "statements", "compiled"])
def test_to_code_shows_what_passes_the_items(stage: str) -> None:
    found: list[int] = []
    names: dict[str, Any] = {
        "ag__": operators, "ag__body": found.append, "ag__test": lambda: len(found) < 2}
    exec(ag.to_code(evens, stage=stage, internal=True), names)
    names["evens"](range(9))
    assert found == [0, 2]
    for other in (passed, Tree, ag):
        with pytest.raises(UnsupportedError, match="is not a generator function"):
            ag.to_code(other, internal=True)


def test_the_function_that_passes_items_has_the_lines_of_the_generator() -> None:
    code = internal_iteration(evens).code  # type: ignore[arg-type]
    first = evens.__code__.co_firstlineno
    assert code.co_firstlineno == first
    assert {line for _, _, line in code.co_lines() if line} <= {first, first + 1, first + 2, first + 3}
    assert code.co_name == "evens"
    assert not code.co_flags & 0x20


def test_some_generators_have_to_suspend_their_frames() -> None:
    def echo() -> Iterator[Any]:
        got = yield 1
        yield got

    async def later() -> Any:
        yield 1

    def catching() -> Iterator[Any]:
        try:
            yield 1
        except (ValueError, GeneratorExit):
            yield 2

    for fn, reason in ((echo, "uses the value of a `yield`"), (later, "asynchronous"),
                       (catching, "catches GeneratorExit")):
        with pytest.raises(UnsupportedError, match=reason):
            internal_iteration(fn)  # type: ignore[arg-type]


def test_no_handler_that_stays_python_sees_errors_about_staging() -> None:
    text = ag.to_code(closing([]), stage="compiled")
    assert "kept_try" in text

    def catching(xs: Any) -> Iterator[Any]:
        try:
            yield xs[0]
        except BaseException:
            yield -1

    text = ag.to_code(catching, stage="compiled")
    assert "except BaseException:\n        ag__.kept_handler()\n        yield -1" in text

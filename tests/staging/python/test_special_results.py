"""What special methods return is checked as Python does, also where only the graph knows it."""
from __future__ import annotations

from typing import Any

import pytest
from plain_values import plain

import runtime as rt


class Sized:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __len__(self) -> Any:
        return self.n


class Truth(Sized):
    def __bool__(self) -> Any:
        return self.n


class Number:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __float__(self) -> Any:
        return self.n

    __int__ = __complex__ = __index__ = __float__


class Holder(Sized):
    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, x: Any) -> Any:
        return self.n


def length_of_chosen(n):
    made = [Sized(n), Sized(1)]
    return len(made[n * n])


def decided(n):
    return 1 if Sized(n) else 2


CASES = {
    "len": (lambda n: len(Sized(n)), (3, 0, -1, 2.5, True)),
    "len of an element": (length_of_chosen, (0, 1, -1)),
    "the truth of a length": (decided, (3, 0, -1, 2.5)),
    "bool": (lambda n: (bool(Truth(n)), not Truth(n), 3 if Truth(n) else 4), (True, False, 3, 0.0)),
    "int": (lambda n: int(Number(n)), (3, -2, 2.5)),
    "float": (lambda n: float(Number(n)), (2.5, 3)),
    "complex": (lambda n: complex(Number(n)), (2j, 3)),
    "an index": (lambda n: [1, 2, 3][Number(n)], (2, -1, 2.5)),
    "a slice": (lambda n: [1, 2, 3][:Number(n)], (2, -1)),
    "range": (lambda n: [i for i in range(Number(n))], (2, -1, 2.5)),
    "text": (lambda n: (hex(Number(n)), bin(Number(n)), chr(Number(n))), (65, 2.5)),
    "in": (lambda n: (3 in Holder(n), 3 not in Holder(n)), (2, 0, 0.5)),
}


@pytest.mark.parametrize(("name", "n"), [(name, n) for name, (_, numbers) in CASES.items() for n in numbers])
def test_results_and_errors_are_pythons(name: str, n: Any) -> None:
    f = CASES[name][0]

    def outcome(call, value):
        try:
            return plain(call(value))
        except (TypeError, ValueError) as error:
            return type(error).__name__, str(error).splitlines()[0]

    expected = outcome(f, n)
    found = outcome(rt.function(f), rt.constant(n))
    assert found == expected


def test_the_special_method_runs_once() -> None:
    asked = []

    class Odd:
        def __bool__(self):
            asked.append(1)
            return 3

    with pytest.raises(TypeError, match="__bool__ should return bool, returned int"):
        rt.function(lambda x: 1 if Odd() else x)(rt.constant(1))
    assert asked == [1]


def test_a_length_that_is_negative_only_in_the_graph_is_caught() -> None:
    @rt.function
    def f(n):
        try:
            return len(Sized(n))
        except ValueError:
            return -9

    assert [int(f(rt.constant(n))) for n in (4, -4)] == [4, -9]

"""Changes that a body makes to lists, dicts and objects of the caller's, which no name of its statement shows."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.traced_once import on


class Item:
    def __init__(self, x: float) -> None:
        self.x = x


class Holder:
    def __init__(self) -> None:
        self.items = [Item(1.0), Item(2.0), Item(3.0)]
        self.added: list[Any] = []
        self.best: Any = None
        self.known: dict[str, Any] = {}

    def add(self, item: Any) -> None:
        self.added += [item]

    def note(self, item: Any) -> None:
        self.best = item

    def name(self, item: Any) -> None:
        self.known["new"] = item


def exchanged(h, n):
    if n > 1:
        h.items[0], h.items[1] = h.items[1], h.items[0]


def chosen(h, n):
    xs = h.items
    if n > 1:
        xs[0] = xs[1 if n > 2 else 2]


def chosen_and_raised(h, n):
    xs = h.items
    try:
        xs[0] = xs[1 if n > 2 else 2]
        if n > 1:
            raise ValueError
    except ValueError:
        xs[1] = xs[0]


def deleted(h, n):
    if n > 1:
        del h.items[0]


def replaced(h, n):
    if n > 1:
        h.items[0] = Item(5.0)


def rotated(h, n):
    xs = h.items
    for _ in range(n):
        xs[:] = xs[1:] + xs[:1]


def lengthened(h, n):
    xs = h.items
    if n > 1:
        xs += [Item(5.0)]


def lengthened_by_a_callee(h, n):
    if n > 1:
        h.add(Item(5.0))


def lengthened_by_a_callee_in_a_loop(h, n):
    for _ in range(n):
        h.add(Item(5.0))


def noted_in_a_loop(h, n):
    for _ in range(n):
        h.note(Item(5.0))


def named_in_a_loop(h, n):
    for _ in range(n):
        h.name(Item(5.0))


def listed_in_a_loop(h, n):
    for _ in range(n):
        h.name([Item(5.0), 1])


def text_in_a_loop(h, n):
    for i in range(n):
        h.note(f"{i}")
        h.add(f"{i + 1}")


PROGRAMS = (
    exchanged, chosen, chosen_and_raised, deleted, replaced, rotated, lengthened, lengthened_by_a_callee,
    lengthened_by_a_callee_in_a_loop, text_in_a_loop, noted_in_a_loop, named_in_a_loop, listed_in_a_loop)


def shown(value: Any) -> Any:
    if isinstance(value, (Holder, Item)):
        return type(value).__name__, shown(vars(value))
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return [*map(shown, value)] if isinstance(value, list) else None if value is None else float(value)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_changes_of_objects_of_the_caller(program: Callable[..., None], executor: str) -> None:
    staged = on(executor, program)
    for n in (0, 1, 2, 3):
        expected, got = Holder(), Holder()
        program(expected, n)
        staged(got, np.int64(n))
        assert shown(got) == shown(expected), n

"""Statements in bodies that run again: they are staged with the state that they turned out to need before."""
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import runtime as rt


def add(items, x):
    items.append(x)


def calls_of(name: str, run: Callable[[], Any]) -> int:
    """How often a function of this file of that name runs, converted or not."""
    calls = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_name == name and frame.f_code.co_filename == __file__

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def nested_once(x):
    items = [x]
    if x > 0:
        add(items, x)
    return items


def nested_twice(x):
    items = [x]
    if x > 0:
        if x > 1:
            add(items, x)
    return items


def nested_five_times(x):
    items = [x]
    if x > 0:
        if x > 1:
            if x > 2:
                if x > 3:
                    if x > 4:
                        add(items, x)
    return items


def loops_in_each_other(x):
    items = [x]
    while x > 0:
        if x % 2 == 0:
            for i in rt.range(x):
                if i > 1:
                    add(items, i)
        x = x - 1
    return items


def helpers_that_make_lists(x):
    def doubled(x):
        own = [x]
        if x > 1:
            add(own, x)
            if x > 2:
                add(own, x + 1)
        return own

    items = [x]
    if x > 0:
        if x > 1:
            for each in doubled(x):
                add(items, each)
        else:
            items = doubled(x)
    return items


def other_lists_in_each_iteration(x):
    lists = [[x], [x + 1], [x + 2]]
    for one in lists:
        if x > 0:
            if x > 1:
                add(one, x)
            if x > 2:
                add(lists[0], x)
    return lists


def test_a_statement_is_staged_again_once_for_each_that_it_is_in() -> None:
    depths = {nested_once: 1, nested_twice: 2, nested_five_times: 5}
    for fn, depth in depths.items():
        calls = calls_of("add", lambda fn=fn: rt.function(fn).get_concrete_function(rt.TensorSpec([], rt.int32)))
        assert calls <= 1 + depth, fn.__name__


def numbers(value: Any) -> Any:
    return [numbers(item) for item in value] if isinstance(value, list) else int(value)


@pytest.mark.parametrize("fn", [
    nested_once, nested_twice, nested_five_times, loops_in_each_other, helpers_that_make_lists,
    other_lists_in_each_iteration])
def test_results_are_those_of_python(fn: Callable[..., Any]) -> None:
    staged = rt.function(fn)
    for x in (0, 1, 2, 3, 4, 5, 7):
        assert numbers(staged(rt.constant(x))) == fn(x), x

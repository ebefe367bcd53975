"""Lists and dicts that are defaults of a traced function: one object for all calls, as in Python."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from types import FunctionType
from typing import Any

import pytest

import runtime as rt
from tests.plain_values import plain


def appended(x, log=[]):
    log.append(x)
    return len(log)


def counted(x, count=[0]):
    count[0] += 1
    return count[0] * x


def remembered(n, memo={}):
    memo[len(memo)] = n
    return memo[len(memo) - 1] + len(memo)


def keyword(x, *, seen=[0]):
    seen[0] += x
    return seen[0]


def with_own_defaults(f: Callable[..., Any]) -> Any:
    assert isinstance(f, FunctionType)
    made = FunctionType(f.__code__, f.__globals__, f.__name__, deepcopy(f.__defaults__), f.__closure__)
    made.__kwdefaults__ = deepcopy(f.__kwdefaults__)
    return made


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("f", [appended, counted, remembered, keyword])
def test_a_default_changes_from_call_to_call(f: Any, executor: str) -> None:
    own, others = with_own_defaults(f), with_own_defaults(f)
    traced = rt.function(others, executor=executor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a list of another length
        for x in (3, 5, 6, 2):
            assert int(traced(rt.constant(x))) == own(x)
            assert plain((others.__defaults__, others.__kwdefaults__)) == (own.__defaults__, own.__kwdefaults__)

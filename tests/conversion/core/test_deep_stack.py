"""The recursion limit while several raise it."""
from __future__ import annotations

import sys

import pytest

from autograph.core.deep_stack import lower_limit, raise_limit
from autograph.core.trace_cleanup import restored


def test_limits_of_several_users() -> None:
    before = sys.getrecursionlimit()
    first = raise_limit(100)
    second = raise_limit(50)
    assert (first, second, sys.getrecursionlimit()) == (before + 100, before + 150, before + 150)
    lower_limit(first)
    assert sys.getrecursionlimit() == before + 150
    lower_limit(second)
    assert sys.getrecursionlimit() == before


def test_the_end_of_a_trace_undoes_what_an_interrupt_has_left() -> None:
    def interrupted() -> None:
        raise_limit(50)
        raise KeyboardInterrupt

    before, outer = sys.getrecursionlimit(), raise_limit(20)
    with pytest.raises(KeyboardInterrupt):
        restored(interrupted)
    assert sys.getrecursionlimit() == outer
    lower_limit(outer)
    assert sys.getrecursionlimit() == before

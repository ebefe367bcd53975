"""The recursion limit while several raise it."""
from __future__ import annotations

import sys

from autograph.core.deep_stack import lower_limit, raise_limit


def test_limits_of_several_users() -> None:
    before = sys.getrecursionlimit()
    first = raise_limit(100)
    second = raise_limit(50)
    assert (first, second, sys.getrecursionlimit()) == (before + 100, before + 150, before + 150)
    lower_limit(first)
    assert sys.getrecursionlimit() == before + 150
    lower_limit(second)
    assert sys.getrecursionlimit() == before

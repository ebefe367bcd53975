"""Errors that are no exceptions, raised where a tensor decides; the number of traces of operands."""
from __future__ import annotations

import pytest
from plain_values import executors

import autograph as ag
import runtime as rt
from tests.traced_once import on


class Stop(BaseException):
    pass


def sum_until(xs):
    total = 0
    try:
        for x in xs:
            if x > 10:
                raise Stop(total)
            total += x
    except Exception:
        return -1
    except Stop as stop:
        return -10 - stop.args[0]
    return total


def stopped(xs):
    for x in xs:
        if x > 10:
            raise Stop(x)
    return 0


@executors
def test_errors_that_are_no_exceptions(executor: str) -> None:
    summed = on(executor, sum_until)
    assert [int(summed(rt.constant(xs))) for xs in ([1, 2, 3], [1, 20, 3])] == [6, -11]
    traced = on(executor, stopped)
    assert int(traced(rt.constant([1, 2, 3]))) == 0
    with pytest.raises(Stop) as info:
        traced(rt.constant([1, 20, 3]))
    assert int(info.value.args[0]) == 20


def test_number_of_traces_of_nested_operands() -> None:
    """An operand in others that needs a branch is traced once more for each of these, not twice as often."""
    traces = []

    @ag.do_not_convert
    def note():
        traces.append(1)

    def innermost(x):
        note()
        return rt.reduce_sum(rt.range(x)) > 3

    def within(operand, least):
        return lambda x: x > least and operand(x)

    operand = innermost
    for least in range(8):
        operand = within(operand, least)
    traced = rt.function(operand)
    assert [bool(traced(rt.constant(x))) for x in (12, 3)] == [True, False]
    assert len(traces) <= 20

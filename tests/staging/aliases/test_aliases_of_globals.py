"""A name that may refer to a container from before the call, which globals, classes or objects have, too: what is
changed by it is changed there."""
from __future__ import annotations

import dataclasses
import sys
from typing import Any

import pytest

import runtime as rt


class Plain:
    members: Any = None

    def __init__(self, v: Any) -> None:
        self.v = v


@dataclasses.dataclass(eq=False)
class Record:
    v: Any


class Holder:
    items: Any


NUMBERS: Any = None
TABLE: Any = None
NESTED: Any = None
PLAIN: Any = None
RECORD: Any = None
HOLDER = Holder()
THIS = sys.modules[__name__]


def reset() -> None:
    THIS.NUMBERS, THIS.TABLE, THIS.NESTED = [1.0, 1.0], {"a": 1.0}, {"k": [1.0, 1.0]}
    THIS.PLAIN, THIS.RECORD = Plain(1.0), Record(1.0)
    HOLDER.items, Plain.members = [1.0, 1.0], [1.0, 1.0]


def kept_by_default(x, kept=[1.0, 1.0]):
    return kept


def of_a_global(x):
    p = NUMBERS
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], NUMBERS[0], p is NUMBERS


def of_a_dict(x):
    p = TABLE
    if x > 2:
        p = {"a": x}
    p["a"] = p["a"] + 1.0
    return p["a"], TABLE["a"], p is TABLE


def within_a_dict(x):
    p = NESTED["k"]
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], NESTED["k"][0]


def of_an_attribute(x):
    p = HOLDER.items
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], HOLDER.items[0], p is HOLDER.items


def of_a_class(x):
    p = Plain.members
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], Plain.members[0]


def of_a_module(x):
    p = THIS.NUMBERS
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], THIS.NUMBERS[0]


def get():
    return NUMBERS


def from_a_call(x):
    p = get()
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], get()[0]


def of_a_default(x):
    p = kept_by_default(x)
    p[0] = 1.0
    if x > 2:
        p = [x, 2.0]
    p[0] = p[0] + 1.0
    return p[0], kept_by_default(x)[0]


def of_an_object(x):
    p = PLAIN
    if x > 2:
        p = Plain(x)
    p.v = p.v + 1.0
    return p.v, PLAIN.v, p is PLAIN


def of_a_record(x):
    p = RECORD
    if x > 2:
        p = Record(x)
    p.v = p.v + 1.0
    return p.v, RECORD.v, p is RECORD


def put_into_an_object_by_the_call(x):
    q = [x, x]
    HOLDER.items = q
    if x > 2:
        q = [x, 2.0]
    q[0] = 5.0
    return HOLDER.items[0], q[0]


def in_a_loop(x):
    p = NUMBERS
    for i in rt.range(3):
        p[0] = p[0] + x
        if x > 2:
            p = [x, 2.0]
    return p[0], NUMBERS[0]


PROGRAMS = [of_a_global, of_a_dict, within_a_dict, of_an_attribute, of_a_class, of_a_module, from_a_call, of_a_default,
            of_an_object, of_a_record, put_into_an_object_by_the_call]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program: Any) -> None:
    for value in (1.0, 5.0):
        reset()
        want = [float(x) for x in program(rt.constant(value))]
        reset()
        got = [float(x) for x in rt.function(program, executor="numpy")(rt.constant(value))]
        assert got == want
    reset()


def test_a_loop_in_which_the_graph_decides_is_refused() -> None:
    reset()
    with pytest.raises(rt.errors.StagingError, match="whether 'p' is the same list here as another name"):
        rt.function(in_a_loop)(rt.constant(5.0))
    reset()

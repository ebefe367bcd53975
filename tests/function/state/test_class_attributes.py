"""A class attribute that staged code gives to a class that inherits one."""
from __future__ import annotations

import pytest
from plain_values import plain

import runtime as rt


def counters():
    class Base:
        made = 0

        @classmethod
        def count(cls, k):
            cls.made += k

    class Sub(Base):
        pass

    return Base, Sub


def test_it_is_set_on_all_paths() -> None:
    Base, Sub = counters()

    @rt.function
    def f(c):
        if c > 0:
            Sub.count(c)
        else:
            Sub.made = 5
        Base.made += 10
        return Sub.made, Base.made

    assert plain(f(rt.constant(3))) == (3, 10)
    assert "made" in vars(Sub)


@pytest.mark.parametrize("loops", [False, True])
def test_it_is_refused_where_only_some_paths_set_it(loops: bool) -> None:
    Base, Sub = counters()

    def branch(c):
        if c > 0:
            Sub.count(1)
        return Sub.made

    def loop(c):
        for _ in range(c):
            Sub.count(1)
        return Sub.made

    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(loop if loops else branch)(rt.constant(3))
    assert str(caught.value).splitlines()[0].endswith(
        ": Sub.made is set on some ways through a staged statement only, and is Base.made on the others, so that which"
        " of the two it is is known only when the graph runs")
    assert str(caught.value).splitlines()[-1] == (
        "Set Base.made instead, or give Sub an attribute of its own before: Sub.made = Base.made.")
    assert "made" not in vars(Sub)
    assert Base.made == 0


def test_one_of_its_own_is_state() -> None:
    Base, Sub = counters()

    @rt.function
    def f(c):
        Sub.made = Sub.made
        if c > 0:
            Sub.count(1)
        Base.made += 10
        return Sub.made

    assert [int(f(rt.constant(c))) for c in (1, -1, 1)] == [1, 1, 2]
    assert (Sub.made, Base.made) == (2, 30)

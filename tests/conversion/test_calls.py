"""Methods of the user's subclasses of dict convert, also where the backend answers for their keys."""
from __future__ import annotations

import runtime as rt


class Counts(dict):
    def has(self, key):
        return key in self

    def total(self, x):
        if self.has("b"):
            return self["a"] + self["b"]
        return self["a"] + x


def test_methods_of_a_subclass_of_dict() -> None:
    def fn(x):
        counts = Counts(a=1)
        if x > 0:
            counts["b"] = x
        return counts.total(x * 10)

    for x in (2, 0):
        assert int(rt.function(fn)(rt.constant(x))) == fn(x)

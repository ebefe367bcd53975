"""`accept`: what a library sets up when it is first called, in a staged body, stays."""
from __future__ import annotations

import runtime as rt
from autograph.backend import accept


class Scale:
    """Makes its parameter when it is first called, as a layer does."""

    def __init__(self, accepts):
        self.parts, self.names, self.is_built, self.accepts = [], set(), False, accepts

    def __call__(self, x):
        if not self.is_built:
            self.is_built = True
            self.parts.append(rt.constant(2.0))
            self.names.add("scale")
            if self.accepts:
                accept([self, self.parts, self.names])
        return x * self.parts[0]


def run(accepts):
    scale = Scale(accepts)

    @rt.function
    def branch(x):
        if x > 0:
            return scale(x)
        return -x

    return scale, [float(branch(rt.constant(x))) for x in (3.0, -3.0, 4.0)]


def test_what_is_accepted_is_no_state():
    scale, results = run(accepts=True)
    assert results == [6.0, 3.0, 8.0]
    assert scale.is_built and len(scale.parts) == 1 and scale.names == {"scale"}


def test_without_that_it_is():
    try:
        scale, _ = run(accepts=False)
    except Exception as error:
        assert "staged code changes" in str(error)
    else:
        raise AssertionError(vars(scale))

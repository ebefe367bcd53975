"""The names of the package, and signatures as in TF 2."""
from __future__ import annotations

import numpy as np
import pytest

import runtime as rt


def test_dir_shows_the_public_names() -> None:
    names = {*dir(rt)}
    assert {"function", "Tensor", "nn", "numpy", "vmap"} <= names
    assert not {"core", "ops", "staging", "backends", "hide_package", "difflib", "annotations"} & names
    for name in names:
        assert hasattr(rt, name)


def test_a_name_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no attribute 'GradienTape'. Did you mean: 'GradientTape'?"):
        rt.GradienTape
    with pytest.raises(AttributeError, match="module 'runtime' has no attribute 'xyzzy'$"):
        rt.xyzzy
    assert not hasattr(rt, "estimator")


def test_softplus() -> None:
    assert float(rt.nn.softplus(features=0.0)) == float(rt.math.softplus(features=0.0)) == pytest.approx(np.log(2))


@pytest.mark.parametrize("make", [rt.py_function, rt.numpy_function])
def test_functions_of_python_as_decorators(make) -> None:
    seen = []

    @make(Tout=rt.float32)
    def scaled(x, by):
        seen.append(type(x))
        return np.float32(x * by)

    @rt.function
    def f(x):
        y = 0.0
        for _ in rt.range(3):
            y += scaled(x, 2.0)
        return y

    assert float(f(rt.constant(1.5))) == 9.0
    assert len(seen) == 3 and scaled.__name__ == "scaled"
    assert float(make(lambda x: x + 1, Tout=rt.float32)(rt.constant(1.0))) == 2.0

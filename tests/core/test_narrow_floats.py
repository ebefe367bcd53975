"""bfloat16 and the floats of 8 bits, of ml_dtypes: kernels compute in float32, and their results are rounded."""
import numpy as np
import pytest

import runtime as rt
from tests.traced_once import on

ml_dtypes = pytest.importorskip("ml_dtypes")
NAMES = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_dtype_by_its_names(name):
    dtype = rt.as_dtype(name)
    kind = getattr(ml_dtypes, name)
    assert dtype is rt.as_dtype(kind) is rt.as_dtype(np.dtype(kind)) and dtype == name and dtype.is_floating
    assert dtype.max == float(ml_dtypes.finfo(kind).max) and dtype.min == -dtype.max
    assert rt.constant(np.ones(2, kind)).dtype is dtype


@pytest.mark.parametrize("executor", [None, "numpy"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_float32_rounded(name, executor):
    dtype = rt.as_dtype(name)

    def run(x, y):
        with rt.GradientTape() as tape:
            tape.watch(x)
            total = rt.reduce_sum(rt.exp(x) * y + 0.5, axis=1)
        return total, tape.gradient(total, x), rt.sort(x), rt.concat([x, y], 0), x @ rt.transpose(y)

    x, y = (rt.constant(np.random.default_rng(seed).random((2, 3)), dtype) for seed in (1, 2))
    for one, other in zip(run(x, y), on(executor, run)(x, y), strict=True):
        assert one.dtype is other.dtype is dtype
        assert (one.numpy().astype(float) == other.numpy().astype(float)).all()
    wide = [rt.cast(each, rt.float32) for each in (x, y)]
    found = rt.cast(rt.reduce_sum(rt.cast(rt.cast(rt.exp(wide[0]), dtype), rt.float32)), dtype)
    assert rt.reduce_sum(rt.exp(x)) == found


def test_loops_carry_them():
    def powers(x, n):
        y = x
        for _ in rt.range(n):
            y = y * x
        return y

    x = rt.constant(1.5, rt.as_dtype("bfloat16"))
    found = rt.function(powers)(x, rt.constant(4))
    assert found.dtype == "bfloat16" and found == powers(x, 4)


def test_they_mix_with_no_other_dtype():
    x = rt.constant([1.0], rt.as_dtype("bfloat16"))
    assert (x + 1.0).dtype == "bfloat16"
    with pytest.raises(TypeError, match="different dtypes: bfloat16 and float32"):
        x + rt.constant([1.0])


def test_casts_there_and_back_are_kept():
    """float16 and bfloat16 hold none of each other's values, though both have 16 bits."""
    there = rt.function(lambda x: rt.cast(rt.cast(x, rt.as_dtype("bfloat16")), rt.float16))
    assert there(rt.constant(1.001, rt.float16)) == 1.0
    assert rt.function(lambda x: rt.cast(rt.cast(x, rt.float16), rt.as_dtype("bfloat16")))(
        rt.constant(1e30, rt.as_dtype("bfloat16"))) == np.inf


def test_what_is_no_dtype():
    with pytest.raises(TypeError, match="'bfloat17' is not a dtype"):
        rt.as_dtype("bfloat17")

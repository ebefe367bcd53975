"""Products that BLAS adds to memory that nobody needs any more, and lists that lie where their stack will be."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_runs import difference

import runtime as rt
from runtime.backends.native.kernels.matmul import packed_operands
from runtime.backends.native.llvm.builder import const

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")



@pytest.fixture(autouse=True)
def _by_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what other code makes where it may."""
    monkeypatch.setattr(packed_operands, "fits", lambda *_: False)


RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return rt.constant(RNG.normal(size=shape).astype(np.float32))


def minus(w, x, y, rate):
    for t in rt.range(4):
        w = w - (x + rt.cast(t, rt.float32)) @ y
    return w


def plus(w, x, y, rate):
    for t in rt.range(4):
        w = (x * rt.cast(t, rt.float32)) @ y + w
    return w


def scaled(w, x, y, rate):
    for t in rt.range(4):
        w = w - rate * ((x - rt.cast(t, rt.float32)) @ y)
    return w


def turned(w, x, y, rate):
    for t in rt.range(4):
        w = w + (rt.transpose(rt.reshape(x, [32, 48])) @ (y * rt.cast(t, rt.float32))) * rate
    return w


def both(w, x, y, rate):
    """Two variables, each with a product of its own."""
    v = w * 2.0
    for t in rt.range(3):
        x = x + rt.cast(t, rt.float32)
        w, v = w - x @ y, v + rate * (rt.abs(x) @ y)
    return w, v


def accumulated(w, x, y, rate):
    """A variable, in a loop of its own memory."""
    v = rt.Variable(w) if not kept else kept[0]
    kept[:] = [v]
    v.assign(w)
    for t in rt.range(4):
        v.assign_sub(rate * ((x + rt.cast(t, rt.float32)) @ y))
        v.assign_add(x @ y)
    return v.read_value()


kept: list[Any] = []


def looked_at_before(w, x, y, rate):
    """Between the product and the update the variable is read, or printed by Python code."""
    v = rt.Variable(w) if not others else others[0]
    others[:] = [v]
    v.assign(w)
    seen = rt.zeros_like(w)
    for t in rt.range(3):
        product = (x + rt.cast(t, rt.float32)) @ y
        seen += v * 0.5
        v.assign_sub(product)
    return v.read_value(), seen


others: list[Any] = []


def from_itself(w, x, y, rate):
    """The product reads what it would be added to."""
    for _ in rt.range(3):
        w = w - rate * (w @ rt.transpose(w) @ w) * 0.001
    return w


def read_again(w, x, y, rate):
    """The old value is needed after the product."""
    s = rt.zeros_like(w)
    for t in rt.range(3):
        new = w - (x + rt.cast(t, rt.float32)) @ y
        s = s + rt.abs(w)
        w = new
    return w, s


def product_read_again(w, x, y, rate):
    p = w
    for t in rt.range(3):
        p = (x + rt.cast(t, rt.float32)) @ y
        w = w - p
    return w, p


def the_other_way_round(w, x, y, rate):
    for t in rt.range(4):
        w = (x + rt.cast(t, rt.float32)) @ y - w
    return w


UPDATES = [minus, plus, scaled, turned, both, accumulated]
OTHERS = [looked_at_before, from_itself, read_again, product_read_again, the_other_way_round]


@pytest.mark.parametrize("fn", [*UPDATES, *OTHERS])
@pytest.mark.parametrize("rate", [0.125, 0.0])
def test_updates(fn: Callable[..., Any], rate: float) -> None:
    arguments = normal(48, 64), normal(48, 32), normal(32, 64), rt.constant(rate)
    want = rt.nest.flatten(rt.function(fn, executor="numpy")(*arguments))
    f = rt.function(fn, executor="native")
    got = rt.nest.flatten(f(*arguments))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 2e-4)
    text = f.get_concrete_function(*arguments).inspect_llvm(optimized=False)
    betas = re.findall(r"call void @cblas_sgemm64\(.* float (\S+), ptr [^,]+, i64 [^,]+\)$", text, re.MULTILINE)
    if "cblas_sgemm64" in text:
        assert (const("float", 1).ref in betas) is (fn in UPDATES), betas
    said = "matmul is added in place" in f.get_concrete_function(*arguments).explain_native()
    assert said is (fn in UPDATES)


def test_no_times_a_product_that_is_not_finite() -> None:
    """BLAS takes 0 times anything to be 0."""
    x = np.ones((48, 32), np.float32)
    x[3, 4] = np.inf
    arguments = normal(48, 64), rt.constant(x), normal(32, 64), rt.constant(0.0)
    want = rt.function(scaled, executor="numpy")(*arguments).numpy()
    got = rt.function(scaled, executor="native")(*arguments).numpy()
    assert np.isnan(want[3]).all() and difference(got, want) is None


def test_arguments_stay_as_they_are() -> None:
    w, x, y = normal(48, 64), normal(48, 32), normal(32, 64)
    before = w.numpy().copy()
    f = rt.function(lambda w: w - x @ y, executor="native")
    first = f(w).numpy().copy()
    np.testing.assert_array_equal(w.numpy(), before)
    np.testing.assert_array_equal(f(w).numpy(), first)


# Lists.

def stacked(x):
    out = rt.TensorArray(rt.float32, size=5, element_shape=[3])
    for t in rt.range(5):
        out = out.write(t, x * rt.cast(t, rt.float32))
    return out.stack()


def stacked_twice(x):
    y = stacked(x)
    return y, y, y + 1.0


def backwards(x):
    out = rt.TensorArray(rt.float32, size=5, element_shape=[3])
    for t in rt.range(5):
        out = out.write(4 - t, x * rt.cast(t, rt.float32))
    return out.stack()


def with_gaps(x):
    out = rt.TensorArray(rt.float32, size=5, element_shape=[3])
    for t in rt.range(3):
        out = out.write(t, x * rt.cast(t, rt.float32))
    return out.stack()


def read_on_the_way(x):
    out = rt.TensorArray(rt.float32, size=5, element_shape=[3], clear_after_read=False)
    s = x
    for t in rt.range(5):
        out = out.write(t, x * rt.cast(t, rt.float32))
        s = s + out.read(4)
    return out.stack(), s


def read_afterwards(x):
    out = rt.TensorArray(rt.float32, size=5, element_shape=[3], clear_after_read=False)
    for t in rt.range(5):
        out = out.write(t, x * rt.cast(t, rt.float32))
    return out.stack(), out.read(2)


@pytest.mark.parametrize("fn", [stacked, stacked_twice, backwards, with_gaps, read_on_the_way, read_afterwards])
def test_stacks_of_lists(fn: Callable[..., Any]) -> None:
    x = normal(3)
    f = rt.function(fn, executor="native")
    want = [r.numpy() for r in rt.nest.flatten(rt.function(fn, executor="numpy")(x))]
    kept = [r.numpy() for r in rt.nest.flatten(f(x))]
    for _ in range(3):  # results of calls do not share memory
        got = [r.numpy() for r in rt.nest.flatten(f(x))]
        assert all(difference(a, b) is None for a, b in zip(got, want, strict=True))
        f(x * 2.0)
    assert all(difference(a, b) is None for a, b in zip(kept, want, strict=True))
    text = f.get_concrete_function(x).inspect_llvm(optimized=False)
    assert ("@llvm.memset" in text) is (fn in (backwards, with_gaps, read_on_the_way))

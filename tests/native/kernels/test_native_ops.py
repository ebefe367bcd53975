"""Every op in the registry: its lowering against its kernel, on its samples and on inputs of every kind.

Results must be the same bit for bit, but for those of functions that are not rounded correctly (a few units in the last
place) and of float sums and products (the error of pairwise summation).
"""
from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_checks import sampled_ops, samples, value_of

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch, bound

from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, FAILS
from runtime.backends.native.libm.registry import FUNCTIONS
from runtime.core import types as t
from runtime.core.config import settings
from runtime.core.op import CAST, REGISTRY, Op

OPS = list(sampled_ops())
FLOATING = [dtype for dtype in t.ALL if dtype.is_floating]
REAL = [dtype for dtype in t.ALL
        if not dtype.is_complex]  # for the edges of others see native/libm/test_native_complex.py
EXACT_FUNCTIONS = {"sqrt", "mod", "floordiv"}
OF_THE_LIBRARY = {"exp2", "log2", "log10", "cbrt"}
"""Native code calls C's; so does NumPy but on AVX-512, where it has its own."""
ULPS = {name: 4 for name in (*FUNCTIONS, *OF_THE_LIBRARY) if name not in EXACT_FUNCTIONS}
"""Two units for the native function, and two for NumPy's (tests/native/libm/test_native_libm.py compares with the
truth)."""

COMPLEX_ROUNDED = {"multiply", "divide", "abs", "linear_recurrence"}
"""Of complex numbers: NumPy rounds once or twice, as the processor's instructions do."""

ANY_ZERO = {"maximum", "minimum", "relu", "reduce_max", "reduce_min"}
"""Which of 0.0 and -0.0 is greater NumPy leaves to the processor."""


def tolerance(op: Op, arguments: Any, params: dict[str, Any]) -> dict[str, Any]:
    if op.name in ANY_ZERO:
        return {"allowed": 0.0}
    if op.name in COMPLEX_ROUNDED and np.iscomplexobj(value_of(arguments[0])):
        sizes = [abs(np.asarray(value_of(a)).astype(np.complex128)) for a in arguments]
        eps = np.finfo(np.asarray(arguments[0]).dtype).eps
        with np.errstate(all="ignore"):
            return {"allowed": 8 * eps * op.kernel(*sizes, **params)}
    return {"ulps": ULPS.get(op.name, 0),
            "allowed": bound(op.name, [value_of(a) for a in arguments], params, op.kernel)}


def check(batch: Batch) -> None:
    found = batch.differences()
    assert not found, "\n".join(found[:20])


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_samples(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    """On all samples, in graphs that know the dims, and in graphs that do not, where an op has many on every third;
    these are optimised less, for time."""
    known, unknown = Batch(op.name), Batch(op.name)
    found = samples(op)
    for k, (arguments, params) in enumerate(found):
        known.add(op, arguments, params, **tolerance(op, arguments, params))
        if k % 3 == 0 or len(found) <= 6:
            unknown.add(op, arguments, params, hide=True, **tolerance(op, arguments, params))
    check(known)
    monkeypatch.setattr(settings, "llvm_level", min(1, settings.llvm_level))
    check(unknown)


# Element-wise ops: all pairs of special values.

FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 2.0, -2.5, 3.0, 1.5, 7.25, -88.0, 1e-3, 255.5, 65504.0, 2.0**31,
          -2.0**31 - 1,
          2.0**32, 2.0**53 + 2, 2.0**63, -2.0**63, 2.0**64, np.inf, -np.inf, np.nan]
INTS = [0, 1, -1, 2, -2, 3, -3, 5, 7, -8, 31, 32, 33, 63, 64, 65, 100, -128, 127]


def special(dtype: t.DType) -> Any:
    """Values of a dtype at its edges."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_floating:
        info = np.finfo(dtype.np)
        with np.errstate(all="ignore"):
            own = [info.max, info.min, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal,
                   info.tiny - info.smallest_subnormal, info.eps, 1 + info.eps, 1 - info.eps]
            return np.array([*np.array(FLOATS).astype(dtype.np), *own], dtype.np)
    low, high = dtype.limits
    return np.array([v for v in (*INTS, low, low + 1, high, high - 1) if low <= v <= high], dtype.np)


def accepted(op: Op, arity: int) -> Iterator[tuple[t.DType, ...]]:
    """The real dtypes that an element-wise op takes."""
    for dtype in REAL:
        dtypes = (t.bool_, dtype, dtype) if op.name == "where" else (dtype,) * arity
        try:
            op.rule(*[t.TensorType(d, (3,)) for d in dtypes])
        except TypeError:
            continue
        yield dtypes


def arity(name: str) -> int:
    (arguments, _) = samples(REGISTRY[name])[0]
    return len(arguments)


def operands(op: Op, dtypes: tuple[t.DType, ...]) -> tuple[Any, ...]:
    """All combinations of special values that the kernel takes, in one dimension."""
    values = [special(dtype) for dtype in dtypes]
    if op.name in FAILS and not dtypes[1].is_floating:
        values[1] = values[1][values[1] > 0 if op.name == "pow" else values[1] != 0]
    return tuple(np.ascontiguousarray(a.ravel()) for a in np.meshgrid(*values, indexing="ij"))


@pytest.mark.parametrize("name", sorted(ELEMENTWISE.keys() - {"real", "imag", "conj"}))  # of complex numbers
def test_special_values(name: str) -> None:
    op = REGISTRY[name]
    batch = Batch(name)
    for dtypes in accepted(op, arity(name)):
        arguments = operands(op, dtypes)
        batch.add(op, arguments, {}, **tolerance(op, arguments, {}))
        scalars = tuple(a[len(a) // 2] for a in arguments)
        batch.add(op, scalars, {}, **tolerance(op, scalars, {}))
    check(batch)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", [*FLOATING, t.complex64, t.complex128], ids=lambda d: d.name)
def test_cumulative_ops_at_the_edges(name: str, dtype: t.DType) -> None:
    """The first element is as it is, but of an exclusive one."""
    rng = np.random.default_rng(0)
    batch = Batch(name)
    for values in ([0.0, -0.0, 1.0, -2.5], [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]):
        for size in (0, 1, 5):
            x = rng.choice(values, (20, size)).astype(dtype.np)
            if dtype.is_complex:
                x.imag = rng.choice(values, x.shape)
            for exclusive in (False, True):
                for reverse in (False, True):
                    batch.add(REGISTRY[name], (x,), {"axis": 1, "exclusive": exclusive, "reverse": reverse},
                              hide=reverse)
    check(batch)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="out of range each processor is different")
@pytest.mark.parametrize("source", [t.float16, t.float32, t.float64], ids=lambda d: d.name)
def test_casts_out_of_range(source: t.DType) -> None:
    """As NumPy on x86: one by one, as it takes elements of a vector together in another way for uint32."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = np.concatenate([FLOATS, *[rng.uniform(-most, most, 60) for most in (1e3, 1e6, 1e11, 3e19)]]).astype(
            source.np)
    batch = Batch("out of range")
    for target in REAL:
        if target.is_integer and target is not t.uint32:
            batch.add(CAST, (x,), {"dtype": target})
    for value in x[::5]:
        batch.add(CAST, (value,), {"dtype": t.uint32})
    check(batch)


def test_casts() -> None:
    """What is out of range, and NaN, has no meaning in C and NumPy; all that is in range is the same."""
    batch = Batch("casts")
    for source in REAL:
        for target in REAL:
            x = special(source)
            if source.is_floating and target.is_integer:
                low, high = target.limits
                with np.errstate(over="ignore"):
                    x = x[(x > float(low) - 1) & (x < float(high) + (0 if target.size == 8 else 1))]
            batch.add(CAST, (x,), {"dtype": target})
            batch.add(CAST, (x[-1],), {"dtype": target}, hide=True)
    # between two halves, and a little beside it: rounded once, not by way of float32
    bits = np.arange(0x7BFF, dtype=np.uint16)
    between = (bits.view(np.float16).astype("f8") + (bits + np.uint16(1)).view(np.float16).astype("f8")) / 2
    for x in (between, np.nextafter(between, 0), np.nextafter(-between, -np.inf), between + 2.0**-60):
        batch.add(CAST, (x,), {"dtype": t.float16})
    check(batch)


@pytest.mark.parametrize("dtype", [t.float32, t.float64, t.complex64, t.complex128], ids=lambda d: d.name)
@pytest.mark.parametrize("shape", [(1,), (17,), (257,), (70_000,), (31, 17), (3, 31, 5)], ids=str)
def test_products_are_made_in_order(dtype: t.DType, shape: tuple[int, ...]) -> None:
    """As NumPy's, bit for bit: in another order some overflow, or underflow and lose digits, where these do not."""
    rng = np.random.default_rng(0)
    most = float(np.log2(np.finfo(dtype.np).max))
    swinging = np.exp2(rng.uniform(0.4, 0.6, shape) * most * (-1.0) ** np.arange(np.prod(shape)).reshape(shape))
    near_one = rng.uniform(0.9, 1.1, shape)
    axes = [tuple(range(len(shape))), (len(shape) - 1,), (0,)]
    batch = Batch("products")
    for values in (swinging, near_one, -near_one, np.where(rng.random(shape) < 0.1, np.inf, near_one)):
        x = values.astype(dtype.np)
        if dtype.is_complex:
            x.imag = rng.choice([0.0, -0.0, 0.25], shape)
        for axis in axes:
            for hide in (False, True):
                batch.add(REGISTRY["reduce_prod"], (x,), {"axis": axis, "keepdims": False}, hide=hide)
    check(batch)

"""einsum in native code: what the kernel gives, for random equations."""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.core import types as t

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

from native_runs import Batch, bound

from runtime.core.op import REGISTRY

EINSUM = REGISTRY["einsum"]


def equation(r: random.Random) -> tuple[str, list[tuple[int, ...]]]:
    """Letters for one to four tensors, some twice in one, and shapes that fit; some sizes of 1 repeat."""
    sizes = {letter: r.choice([1, 2, 3, 4, 0] if r.random() < 0.2 else [2, 3, 4]) for letter in "abcde"}
    labels = ["".join(r.choice("abcde") for _ in range(r.choice([0, 1, 2, 2, 3]))) for _ in range(r.randint(1, 4))]
    used = sorted(set("".join(labels)))
    output = "".join(r.sample(used, r.randint(0, min(len(used), 3))))
    shapes = []
    for label in labels:
        ones = {letter for letter in set(label) if r.random() < 0.1 and len(labels) > 1}
        shapes.append(tuple(1 if letter in ones else sizes[letter] for letter in label))
    return ",".join(labels) + "->" + output, shapes


@pytest.mark.parametrize("dtype", [t.int32, t.uint8, t.float32], ids=lambda d: d.name)
def test_random_equations(dtype: t.DType) -> None:
    r, rng = random.Random(dtype.name), np.random.default_rng(0)
    for hide in (False, True):
        batch = Batch("einsum")
        for _ in range(8 if hide else 20):
            text, shapes = equation(r)
            xs = [rng.integers(0, 5, shape).astype(dtype.np) / (4 if dtype.is_floating else 1) for shape in shapes]
            arguments = tuple(x.astype(dtype.np) for x in xs)
            params = {"equation": text}
            batch.add(EINSUM, arguments, params, hide, allowed=bound("einsum", arguments, params, EINSUM.kernel))
        found = batch.differences()
        assert not found, "\n".join(found[:10])


def test_large_products() -> None:
    rng = np.random.default_rng(1)
    batch = Batch("large")
    for text, shapes in (("ij,jk->ik", ((70, 90), (90, 80))), ("ij,kj->ki", ((70, 90), (80, 90))),
                         ("bij,bjk->bik", ((3, 40, 50), (3, 50, 60))), ("bhqd,bhkd->bhqk", ((2, 3, 20, 16),) * 2),
                         ("bqhd,bkhd->bhqk", ((2, 20, 3, 16),) * 2), ("ab,cd,bc->ad", ((30, 20), (25, 35), (20, 25))),
                         ("i,i->", ((5000,), (5000,))), ("abc,cb->a", ((9, 40, 30), (30, 40)))):
        for dtype in (np.float32, np.float64):
            arguments = tuple(rng.integers(-8, 9, shape).astype(dtype) for shape in shapes)  # sums without rounding
            batch.add(EINSUM, arguments, {"equation": text})
            batch.add(EINSUM, arguments, {"equation": text}, hide=True)
    found = batch.differences()
    assert not found, "\n".join(found[:10])


def both(text: str, *arguments: Any) -> list[str]:
    """The errors on both executors, without the place."""
    messages = []
    for executor in ("numpy", "native"):
        specs = [rt.TensorSpec([None] * np.ndim(x), rt.float32) for x in arguments]
        f = rt.function(lambda *xs: rt.einsum(text, *xs), executor=executor, input_signature=specs)
        assert executor == "numpy" or "nothing calls Python" in f.get_concrete_function().explain_native()
        with pytest.raises(rt.errors.ShapeError) as caught:
            f(*arguments)
        messages.append(str(caught.value).splitlines()[0].split(": ", 1)[1])
    return messages


def test_sizes_that_do_not_fit() -> None:
    x, y = np.zeros((2, 3), np.float32), np.zeros((4, 2), np.float32)
    for text, *arguments in (("ij,jk->ik", x, y), ("ii->i", x)):
        reference, native = both(text, *arguments)
        assert reference == native
        assert reference.startswith(f"einsum {text!r}: ")  # the rest is NumPy's


def test_float16() -> None:
    """Sums and products of float16 are computed in float32, and rounded once: within half a unit of the true ones."""
    rng = np.random.default_rng(5)
    x, y = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((70, 80), (80, 60)))

    def fn(x: Any, y: Any) -> Any:
        return (x @ y, rt.einsum("ij,jk->ki", x, y), rt.reduce_sum(x, 0), rt.reduce_sum(y), rt.reduce_max(x, 1),
                rt.reduce_prod(rt.abs(x[:3]) + rt.cast(0.5, x.dtype), 0), rt.argmin(y, 0))

    f = rt.function(fn, executor="native")
    got = [r.numpy() for r in f(x, y)]
    assert "nothing calls Python" in f.get_concrete_function(x, y).explain_native()
    a, b = x.astype(np.float64), y.astype(np.float64)
    product = np.prod(np.abs(x[:3]) + np.float16(0.5), axis=0, dtype=np.float64)
    for result, want in zip(got[:-1], (a @ b, (a @ b).T, a.sum(0), b.sum(), a.max(1), product), strict=True):
        assert result.dtype == np.float16
        np.testing.assert_allclose(result, want, 2.0**-11 * 1.01, 1e-5)
    np.testing.assert_array_equal(got[-1], b.argmin(0))

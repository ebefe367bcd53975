"""Methods, attributes and dtypes of arrays in traced functions, functions of NumPy that change them, and classes of
NumPy that are called with them."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt
from runtime.errors import StagingError

RNG = np.random.default_rng(0)
A, V, K = RNG.standard_normal((3, 4)), RNG.standard_normal(5), RNG.integers(0, 3, 6)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def program(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((f, args))
        return f

    return note


@program(V, K)
def at_places_that_repeat(a, i):
    np.add.at(a, i, 1.0)
    np.subtract.at(a, [0, 0], 2.0)
    np.maximum.at(a, i, 0.5)
    np.minimum.at(a, i[:2], np.array([-1.0, 2.0]))
    h = np.zeros(4, dtype=int)
    np.add.at(h, i, 1)
    np.add.at(h[1:], [-1, 0, -1], 2)
    return h


@program(A, np.array([0, 0, -1]), np.array([1, 1, 2]))
def at_several_indices(a, i, j):
    np.add.at(a, (i, j), np.ones(3))
    np.add.at(a, i, 2.0)
    np.add.at(a[1], j, 1.0)
    np.add.at(a, (slice(None), j), 0.5)


@program(A)
def places(a):
    np.place(a, a > 0, [1.0, 2.0, 3.0])
    np.put_along_axis(a, np.argmax(a, axis=1, keepdims=True), 9.0, axis=1)
    np.put(a, [0, -1, 3], [1.0, 2.0])
    a.put([1, 2], 7.0)
    np.put(a, [22], 5.0, mode="wrap")
    np.put(a, [-4, 99], 6.0, mode="clip")
    np.putmask(a, a < 0, 0)


@program(A)
def outputs(a):
    np.clip(a, -0.5, 0.5, out=a)
    np.sum(a, axis=0, out=a[0])
    a.mean(axis=1, out=a[:, 0])
    np.multiply(a, 2, out=a)
    b, c, d, e = np.empty(4), np.zeros(3), np.empty_like(a), np.zeros((3, 3))
    np.add.reduce(a, axis=0, out=b)
    assert a.max(axis=1, out=c) is c
    np.cumsum(a, axis=1, out=d)
    np.dot(a, a.T, out=e)
    f = a.round(1, out=np.zeros_like(a))
    return b, c, d, e, f, np.median(a, axis=0, out=np.zeros(4))


@program(A + 1j, A)
def real_and_imaginary_parts(a, b):
    a.real = 1.0
    a.imag = b
    b.real = 5.0


@program(A)
def copies_and_views(a):
    b, c = a.copy(order="F"), a.copy("C")
    b[0], c[1] = 1, 2
    left, right = np.hsplit(a, 2)
    left[0] = 4
    right += 1
    assert left.base is not None and b.base is None
    for part in np.array_split(a, 2):
        part[0, 0] = -1
    return b, c


@program(A)
def keywords(a):
    a[0, 0] = 1.0
    return (a.trace(1), a.trace(dtype=np.float32), a.diagonal(offset=1), a.sum(axis=0, where=a > 0), a.max(initial=3.0),
            a[0].searchsorted(0.3), a.compress([True, False, True], axis=0), np.float64(a.nbytes + a.itemsize),
            a.take([0, 9], mode="wrap"), a.var(0, ddof=1), a.any(axis=0), a.argsort(kind="stable"), a.argmax(0),
            a.astype(np.float32, copy=False), np.sort(a, kind="stable"))


@program(V)
def partitions(a):
    a[0] = 3.0
    a.partition(2)
    a.sort()


@program(V, np.array([3]))
def scalars(a, n):
    return np.float64(a[0]), np.int64(n[0]) + np.int32(n[0]), np.float32(a[1]), np.bool_(n[0]), np.float64(n[0]) / 2


@program(A)
def places_of_elements(a):
    total = 0.0
    for (i, j), x in np.ndenumerate(a):
        total = total + x * i + j
    for i, j in np.ndindex(a.shape):
        total = total + a[i, j] * i
    for i in np.ndindex(3, 2):
        total = total + a[i]
    for x in a.flat:
        total = total + x
    a.flat[3] = 1.0
    return total, a.flat[2]


def positive(x):
    if x > 0:
        return x * 2
    return -x


@program(A)
def vectorized(a):
    return np.vectorize(positive)(a), np.vectorize(lambda x, y: x + y, otypes=[float])(a, a[0])


@program(V, V + 1)
def joined(a, b):
    c = np.r_[a, 1.0]
    c[0] = 5
    d = np.r_[1, 2, 3]
    d[1] = 7
    return c, d, np.r_[a, 1.0, b], np.c_[a, b], np.r_[0:3, a], np.r_[a[0], a[1:3]], np.c_[a, np.ones(5), b * 2]


@program(np.array([4]))
def grids(n):
    n = n[0]
    x, y = np.mgrid[0:n, 0:3]
    one, two = np.ogrid[0:n, 0:2]
    x[0] = 7
    return x, y, one, two, np.mgrid[0:n], np.mgrid[0:n:2], np.mgrid[0:1:5j]


@program(A, np.array([3, 2], np.int16))
def dtypes(a, k):
    a[0] = 2
    n = k[0]
    assert a.dtype == float and a.dtype == np.float64 and a.dtype.kind == "f" and a.dtype.itemsize == 8
    assert a.dtype.type is np.float64 and a.dtype.name == "float64" and np.dtype(a.dtype) == np.float64
    assert np.issubdtype(a.dtype, np.floating) and np.finfo(a.dtype).eps < 1e-10 and a.dtype != int
    assert np.float64 == a.dtype and np.dtype(float) == a.dtype and a.dtype in (np.float32, np.float64)
    assert np.issubdtype(k.dtype, np.integer) and k.dtype != int and np.iinfo(k.dtype).max == 2**15 - 1
    assert np.can_cast(a.dtype, np.complex128) and np.result_type(a.dtype, np.float32) == a.dtype
    return (np.zeros(len(a), dtype=a.dtype), np.zeros(a.shape, a.dtype), np.zeros_like(np.empty(n, a.dtype)),
            a.astype(k.dtype), np.array([1, 2], a.dtype), np.ones(n, k.dtype), np.full(n, 2, a.dtype),
            np.arange(n, dtype=a.dtype), np.zeros_like(a, dtype=k.dtype), a.item((1, 2)),
            np.array([a[0, 0], a[0, 1]], dtype=a.dtype))


def leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


@pytest.mark.parametrize("case", range(len(PROGRAMS)), ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(case: int) -> None:
    f, args = PROGRAMS[case]
    changed = [x.copy() for x in args]
    want = f(*changed)
    for executor, traced in on_both(f).items():
        given = [x.copy() for x in args]
        got = traced(*given)
        for g, w in zip(leaves(got), leaves(want), strict=True):
            if w.dtype != object:
                assert g.dtype == w.dtype and g.shape == w.shape, executor
                np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-12, err_msg=executor)
        for g, w in zip(given, changed, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12, err_msg=executor)


def test_tensors_have_the_methods_of_arrays() -> None:
    x, a = rt.constant(A), A
    assert float(x.trace(1)) == a.trace(1) and x.nbytes == a.nbytes and x.itemsize == 8 and x.base is None
    assert x.flat[3] == a.flat[3] and x.item((1, 2)) == a.item((1, 2)) and x.copy(order="F") is x
    np.testing.assert_array_equal(x.sum(axis=0, where=a > 0), a.sum(axis=0, where=a > 0))
    assert x.tobytes() == a.tobytes()
    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError, match="cannot become a NumPy array"):
        rt.function(lambda x: x.tobytes())(x)
    out = np.zeros(4)
    assert x.sum(axis=0, out=out) is out and np.allclose(out, a.sum(axis=0))
    assert np.max(x, axis=1, out=out[:3]).tolist() == a.max(axis=1).tolist()
    np.add.at(out, rt.constant([0, 0]), 1.0)
    assert x.astype("float32", copy=False).dtype is rt.float32


@pytest.mark.parametrize("f", [
    lambda x: np.max(x, 0, None, True), lambda x: np.sum(x, 0, np.float32, None, True),
    lambda x: np.any(x, 1, None, True), lambda x: np.mean(x, 0, None, None, True),
    lambda x: np.clip(x, 0.0, 1.0, np.zeros_like(x)), lambda x: np.percentile(x, 50, 0, None, False, "lower", True),
    lambda x: np.argmax(x, 1), lambda x: np.std(x, 0, None, None, 1), lambda x: np.cumsum(x, 1, np.float32),
    lambda x: np.sum(x, 0, None, np.zeros(4)), lambda x: np.quantile(x, 0.5, 0, None), lambda x: np.trace(x, 1, 0, 1),
    lambda x: np.take(x, [0, 1], 1), lambda x: np.median(x, 0, None, False, True)])
def test_arguments_by_place(f: Callable[..., Any]) -> None:
    for executor, traced in on_both(lambda x: f(x + 0)).items():
        np.testing.assert_allclose(traced(A).numpy(), f(A), rtol=1e-6, err_msg=executor)


@pytest.mark.parametrize("staged", [False, True])
def test_tensors_do_not_change(staged: bool) -> None:
    def fills(x: Any) -> None:
        x.fill(0.0)

    def sorts(x: Any) -> None:
        x.sort()

    def real(x: Any) -> None:
        x.real = 1.0

    def adds(x: Any) -> None:
        np.add.at(x, [0], 1.0)

    def transposed(x: Any) -> None:
        x.T = x

    for f, text, remedy in [(fills, "as with 'fill'", "np.full_like"), (sorts, "as with 'sort'", "rt.sort"),
                            (transposed, "as with 'T'", "rt.transpose"), (real, "as with 'real'", "rt.complex"),
                            (adds, "numpy.add.at changes an array", "scatter")]:
        with pytest.raises(StagingError, match=text) as caught:
            (rt.function(f) if staged else f)(rt.constant([2.0, 1.0]))
        assert remedy in str(caught.value) and str(caught.value).startswith(f"{__file__}:")


def test_what_arrays_refuse() -> None:
    for f, text in [(lambda a: a.resize((2, 2)), "the size of an array cannot change"),
                    (lambda a: a.tobytes(), "not known while a function is traced"),
                    (lambda a: np.multiply.at(a, [0], 2.0), "numpy.multiply.at has no counterpart")]:
        def changed(a: Any, f: Any = f) -> Any:
            a[0] = 1.0
            return f(a)

        with pytest.raises((StagingError, rt.errors.UnimplementedError), match=text) as caught:
            rt.function(changed)(np.ones(4))
        assert str(caught.value).startswith(f"{__file__}:")


def test_dtypes_of_tensors_are_those_of_tf() -> None:
    @rt.function
    def same(x: Any) -> Any:
        assert x.dtype is rt.float32 and x.dtype == rt.float32 and x.dtype == float and x.dtype != rt.float64
        return np.zeros(2, x.dtype)

    assert same(rt.constant(1.0)).dtype == np.float32
    assert np.dtype(rt.int16) == np.int16 and np.zeros(1, rt.int8).dtype == np.int8
    assert not operator.eq(rt.float64, float) and operator.eq(rt.float32, float)
    assert np.issubdtype(rt.uint8, np.unsignedinteger) and rt.float16.itemsize == 2


def test_the_namespace_knows_dtypes() -> None:
    xp: Any = rt.constant([1.0]).__array_namespace__()
    assert xp.__array_api_version__ and xp.isdtype(xp.float32, "real floating")
    assert xp.isdtype(xp.int8, ("bool", xp.int8)) and not xp.isdtype(xp.int8, "real floating")
    assert xp.finfo(xp.float32).bits == 32 and xp.iinfo(rt.constant([1])).max == 2**31 - 1
    assert xp.result_type(xp.int8, xp.int16) is rt.int16 and xp.result_type(rt.constant(1.0), 2.0) is rt.float32
    assert xp.can_cast(xp.int8, xp.int32) and not xp.can_cast(xp.float64, xp.int32)
    for name in ("unique_all", "cumulative_sum", "cumulative_prod", "broadcast_arrays", "outer", "vecdot"):
        assert callable(getattr(xp, name))
    for name in ("svd", "pinv", "outer", "vecdot", "matmul", "trace", "diagonal", "cross", "matrix_rank", "svdvals"):
        assert callable(getattr(xp.linalg, name))
    assert xp.fft.fft(xp.asarray([1.0, 2.0])).dtype is rt.complex64


@pytest.mark.parametrize("f", [
    lambda a: np.maximum.reduce([a[0], a[1], a[2]]), lambda a: np.add.reduce([a[0], 2 * a[1]]),
    lambda a: np.add.accumulate([a[0], a[1]], axis=1), lambda a: np.multiply.outer([a[0, 0], a[0, 1]], [1.0, 2.0]),
    lambda a: np.percentile([a[0, 0], a[0, 1], a[1, 1]], 50), lambda a: np.median([a[0, 0], a[0, 1]]),
    lambda a: np.cov([a[0], a[1]]), lambda a: np.histogram([a[0, 0], a[0, 1]], 3)[0], lambda a: np.r_[a[0, 0], a[0]]])
def test_lists_of_elements(f: Callable[..., Any]) -> None:
    for executor, traced in on_both(f).items():
        np.testing.assert_allclose(traced(A).numpy(), f(A), rtol=1e-9, err_msg=executor)


def places_of(x: Any) -> Any:
    return np.flatnonzero(x > 1).tolist(), (x > 2).tolist()


def several(x: Any) -> Any:
    return len(set(x[x > 1].tolist()))


def extended(x: Any) -> Any:
    items = x[x > 1].tolist()
    items.append(7.0)
    return items, sum(items), max(items), sorted(items, reverse=True)


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for item in x[x > 1].tolist():
        total += item
    return total


def of_rows(x: Any) -> Any:
    rows = np.stack([x, x + 1, x - 1])
    total = 0.0
    for row in rows[rows[:, 0] > 0.5].tolist():
        for item in row:
            total += item
    return total, rows.tolist()


@pytest.mark.parametrize("f", [places_of, several, extended, in_a_loop, of_rows])
def test_elements_in_lists(f: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 2.0, 2.0, 4.0])
    got = rt.nest.map_structure(lambda y: y.numpy().item() if isinstance(y, rt.Tensor) else y, rt.function(f)(x))
    assert got == f(x)


@pytest.mark.parametrize("f", [
    lambda x: x[0].item() + x[1].item(), lambda x: x.tolist()[0] + x.tolist()[1], lambda x: x[x > 1].tolist()[0] + 200,
    lambda x: x.item(0) * np.array([2], np.int16)])
def test_elements_are_numbers_of_python(f: Callable[[Any], Any]) -> None:
    x = np.array([200, 100], np.uint8)
    np.testing.assert_array_equal(rt.function(f)(x).numpy(), f(x))


def test_elements_of_arrays_are_scalars() -> None:
    f = rt.function(lambda x: (np.isscalar(x[0]), np.isscalar(x), np.isscalar(x[0].item())))
    assert [bool(y) for y in f(np.array([1.0, 2.0]))] == [True, False, True]

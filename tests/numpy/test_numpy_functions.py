"""NumPy's functions, methods and operators on tensors give what they give on arrays, eagerly and in graphs."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import test_exact_results
import test_function_cases
from traced_once import on, on_both

import runtime as rt
from runtime.errors import UnimplementedError
from runtime.numpy import dispatch
from runtime.numpy.ufuncs import UFUNCS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))
Y = RNG.standard_normal((3, 4))
V = RNG.standard_normal(4)
I = RNG.integers(-5, 6, (3, 4))  # noqa: E741
S = RNG.standard_normal((3, 3))
P = S @ S.T + 3 * np.eye(3)
B = X > 0
N = np.where(Y > 0.5, np.nan, Y)
Z = X + 1j * Y
TABLE = np.arange(10).reshape(5, 2)
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda x: np.sum(x), (X,)), (lambda x: np.sum(x, axis=0), (X,)), (lambda x: np.sum(x, axis=(0, 1)), (X,)),
    (lambda x: np.sum(x, -1, keepdims=True), (X,)), (lambda x: np.sum(x, dtype=np.float64), (I,)),
    (lambda x: np.sum(x), (B,)), (lambda x: x.sum(0), (X,)), (lambda x: np.prod(x, 1), (X,)),
    (lambda x: np.max(x, axis=0), (X,)), (lambda x: x.max(), (X,)), (lambda x: np.amin(x, 1), (X,)),
    (lambda x: np.mean(x, 0), (X,)), (lambda x: x.mean(), (I,)), (lambda x: np.var(x, 0), (X,)),
    (lambda x: np.var(x, ddof=1), (X,)), (lambda x: x.std(axis=1), (X,)), (lambda x: np.std(x), (Z,)),
    (lambda x, w: np.average(x, 1, w), (X, np.abs(V))), (lambda x: np.any(x, 0), (B,)), (lambda x: x.all(), (I,)),
    (lambda x: np.count_nonzero(x, axis=0), (I,)), (lambda x: np.ptp(x, 0), (X,)),
    (lambda x: np.argmax(x), (X,)), (lambda x: x.argmin(axis=1), (X,)),
    (lambda x: np.argmax(x, 0, keepdims=True), (X,)),
    (lambda x: np.cumsum(x), (X,)), (lambda x: x.cumsum(axis=1), (X,)), (lambda x: np.cumprod(x, 0), (X,)),
    (lambda x: np.median(x), (X,)), (lambda x: np.median(x, 0), (X,)), (lambda x: np.nansum(x, 0), (N,)),
    (lambda x: np.nanmean(x), (N,)), (lambda x: np.nanmax(x, 1), (N,)), (lambda x: np.nanmin(x), (N,)),
    (lambda x: np.reshape(x, (4, 3)), (X,)), (lambda x: x.reshape(2, -1), (X,)), (lambda x: x.reshape(12), (X,)),
    (lambda x: np.reshape(x, (6, 2), order="F"), (X,)), (lambda x: x.ravel(), (X,)), (lambda x: x.flatten("F"), (X,)),
    (lambda x: x.T, (X,)), (lambda x: np.transpose(x, (1, 0)), (X,)), (lambda x: x.transpose(1, 0), (X,)),
    (lambda x: np.swapaxes(x, 0, 1), (X,)), (lambda x: np.moveaxis(x[None], 0, -1), (X,)),
    (lambda x: np.expand_dims(x, (0, 2)), (X,)), (lambda x: np.squeeze(x[None]), (X,)),
    (lambda x: np.broadcast_to(x, (3, 4)), (V,)), (lambda x: np.atleast_2d(x), (V,)), (lambda x: np.tile(x, 2), (X,)),
    (lambda x: np.tile(x, (2, 1, 2)), (X,)), (lambda x: np.repeat(x, 2, axis=0), (X,)), (lambda x: np.flip(x), (X,)),
    (lambda x: np.flipud(x) + np.fliplr(x), (X,)), (lambda x: np.rot90(x), (X,)), (lambda x: np.rot90(x, 3), (X,)),
    (lambda x: np.roll(x, 2), (X,)), (lambda x: np.roll(x, 1, axis=1), (X,)),
    (lambda x: np.zeros(np.shape(x)[0] + np.ndim(x)) + np.size(x), (X,)),
    (lambda x, y: np.concatenate([x, y]), (X, Y)), (lambda x, y: np.concatenate((x, y), axis=1), (X, Y)),
    (lambda x, y: np.concatenate((x, y), axis=None), (X, V)), (lambda x, y: np.stack([x, y], axis=1), (X, Y)),
    (lambda x, y: np.vstack([x, y]), (X, V)), (lambda x, y: np.hstack((x, y)), (V, V)),
    (lambda x, y: np.dstack((x, y)), (X, Y)), (lambda x, y: np.column_stack((x, y)), (V, V)),
    (lambda x: np.append(x, 1.0), (V,)), (lambda x: np.split(x, 2, axis=1), (X,)),
    (lambda x: np.split(x, [1, 3]), (V,)),
    (lambda x, y: np.where(x > y, x, y), (X, Y)), (lambda x: np.where(x > 0), (X,)), (lambda x: np.nonzero(x), (I,)),
    (lambda x: np.argwhere(x), (B,)), (lambda x: np.flatnonzero(x), (I,)), (lambda b, x: np.compress(b, x), (V > 0, V)),
    (lambda x: np.clip(x, -0.5, 0.5), (X,)), (lambda x: x.clip(0, None), (X,)), (lambda x: x.clip(min=0), (X,)),
    (lambda x: np.sort(x), (X,)), (lambda x: np.sort(x, axis=0), (X,)), (lambda x: np.sort(x, axis=None), (X,)),
    (lambda x: np.argsort(x), (X,)), (lambda x: x.argsort(0), (X,)),
    (lambda x, v: np.searchsorted(np.sort(x), v), (V, V)), (lambda x: np.take(x, np.array([0, -1]), axis=1), (X,)),
    (lambda x, i: x.take(i), (X, np.array([0, 5]))),
    (lambda x: np.take_along_axis(x, np.argsort(x, 0), 0), (X,)), (lambda x: np.unique(x), (I,)),
    (lambda x: np.unique(x, return_counts=True), (I,)), (lambda x: np.bincount(np.abs(np.ravel(x))), (I,)),
    (lambda x: np.diff(x), (X,)), (lambda x: np.diff(x, 2, axis=0), (X,)),
    (lambda x, xp, fp: np.interp(x, xp, fp), (X, np.array([-1.0, 0.0, 2.0]), np.array([3.0, 1.0, 5.0]))),
    (lambda x, y: np.isclose(x, y), (X, X + 1e-9)), (lambda x, y: np.allclose(x, y), (X, X + 1e-9)),
    (lambda x, y: np.array_equal(x, y), (X, Y)), (lambda x: np.nan_to_num(x), (N,)),
    (lambda x: np.round(x, 1), (X,)), (lambda x: x.round(), (X,)), (lambda x: np.around(x), (I,)),
    (lambda x, y: np.dot(x, y), (X, V)), (lambda x, y: x.dot(y.T), (X, Y)), (lambda x, y: np.dot(x, y), (V, V)),
    (lambda x, y: np.vdot(x, y), (Z, Z)), (lambda x, y: np.inner(x, y), (X, Y)), (lambda x, y: np.outer(x, y), (V, V)),
    (lambda x, y: np.tensordot(x, y, ([0, 1], [0, 1])), (X, Y)), (lambda x, y: np.einsum("ij,ij->i", x, y), (X, Y)),
    (lambda x, y: np.matmul(x, y), (X, Y.T)), (lambda x, y: x @ y, (X, V)), (lambda x, y: np.cross(x, y), (S, P)),
    (lambda x, y: np.kron(x, y), (S, X)), (lambda x: np.trace(x), (S,)), (lambda x: x.diagonal(), (S,)),
    (lambda x: np.diag(x), (V,)), (lambda x: np.diag(x), (S,)), (lambda x: np.tril(x), (S,)),
    (lambda x: np.triu(x, 1), (X,)), (lambda x: np.real(x) + x.imag, (Z,)), (lambda x: np.angle(x), (Z,)),
    (lambda x: np.conj(x), (Z,)), (lambda x: np.zeros_like(x), (X,)), (lambda x: np.ones_like(x, int), (X,)),
    (lambda x: np.full_like(x, 7), (X,)), (lambda x: np.zeros_like(np.empty_like(x)), (X,)),
    (lambda x: np.copy(x), (X,)), (lambda x: x.astype(int), (X,)), (lambda x: x.astype("float32"), (I,)),
    (lambda x: x.astype(bool), (I,)),
    (lambda x: np.pad(x, 1), (X,)), (lambda x: np.pad(x, ((0, 1), (2, 0)), "reflect"), (X,)),
    (lambda x: np.meshgrid(x, x)[1], (V,)), (lambda x: np.asarray([x[0], x[1] * 2]), (V,)),
    (lambda x: np.linalg.norm(x), (X,)), (lambda x: np.linalg.norm(x, axis=1), (X,)),
    (lambda x: np.linalg.norm(x, 1), (X,)), (lambda x: np.linalg.norm(x, np.inf), (V,)),
    (lambda x: np.linalg.inv(x), (P,)), (lambda x: np.linalg.det(x), (P,)),
    (lambda x, y: np.linalg.solve(x, y), (P, S)),
    (lambda x, y: np.linalg.solve(x, y), (P, V[:3])), (lambda x: np.linalg.cholesky(x), (P,)),
    (lambda x: np.linalg.eigvalsh(x), (P,)), (lambda x: np.linalg.matrix_power(x, 5), (S,)),
    (lambda x: np.linalg.matrix_power(x, -1), (P,)),
    (lambda x: np.add.reduce(x), (X,)), (lambda x: np.maximum.reduce(x, axis=1), (X,)),
    (lambda x: np.add.accumulate(x, axis=1), (X,)), (lambda x, y: np.multiply.outer(x, y), (V, V)),
    (lambda i: TABLE[i], (np.int64(3),)), (lambda i: TABLE[i:i + 2, 1], (np.int64(1),)),
    (lambda i: TABLE[i, 0] + TABLE[-1][i], (np.int64(1),)), (lambda m: TABLE[m], (TABLE > 4,)),
    (lambda x: x.copy().item(2), (V,)), (lambda x: x.tolist()[1], (X,)), (lambda x: x.item(1, 2), (X,)),
    (lambda x: x[:1].item(), (V,)),
    (lambda x: np.arange(12.0).reshape(3, 4) * x, (X,)), (lambda x: np.float64(2.0) ** x, (X,)),
    (lambda x: np.array([1.0, 2.0, 3.0, 4.0]) - x, (X,)), (lambda x: np.array([0.0, 1.0, 0.0, 1.0]) < x, (X,)),
]
SIZES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda n: np.zeros(n + 1), (3,)), (lambda n: np.ones((n, 2), int), (3,)), (lambda n: np.full(n, 2.5), (3,)),
    (lambda n: np.zeros_like(np.empty([n, n])), (3,)), (lambda n: np.eye(n), (3,)), (lambda n: np.identity(n), (3,)),
    (lambda n: np.eye(n, n + 1, 1), (3,)), (lambda n: np.arange(n), (3,)), (lambda n: np.arange(1.0, n * 2, 0.5), (3,)),
    (lambda n: np.linspace(0.0, 1.0, n), (5,)), (lambda n: np.linspace(0.0, 1.0, n, endpoint=False), (5,)),
    (lambda n: np.array([n, n * 2]), (3,)), (lambda n: np.zeros(shape=n), (3,)),
    (lambda n: np.tri(n), (3,)), (lambda n: np.tri(n, n + 2, 1, dtype=int), (3,)),
    (lambda n: np.triu(np.ones((n, n))), (3,)), (lambda n: np.tril(np.ones((n, n)), -1), (3,)),
    (lambda n: np.pad(V, n), (3,)), (lambda n: np.pad(X, ((n, 1), (0, n)), mode="edge"), (3,)),
    (lambda n: np.indices((n, 2)), (3,)), (lambda n: np.indices((n, n), sparse=True), (3,)),
    (lambda n: np.logspace(0, 1, n), (3,)), (lambda n: np.geomspace(1.0, 8.0, n), (4,)),
    (lambda n: np.tril_indices(n), (3,)), (lambda n: np.triu_indices(n, 1), (3,)), (lambda n: np.fft.fftfreq(n), (5,)),
    (lambda n: np.fft.rfftfreq(n, 0.5), (6,)), (lambda n: np.diag(np.ones(n), 1), (3,)),
    (lambda n: np.array(np.split(np.arange(12), n)), (3,)), (lambda n: np.array(np.array_split(np.ones(12), 3)), (3,)),
    (lambda n: np.percentile(np.arange(n) ** 2, [25, 75]), (7,)), (lambda n: np.histogram(np.arange(n), 3), (7,)),
    (lambda n: np.median(np.arange(n)), (7,)), (lambda n: np.maximum.accumulate(np.arange(n) % 4), (9,)),
    (lambda n: np.unique(np.arange(n) % 3, return_counts=True), (7,)), (lambda n: np.diff(np.arange(n) ** 2), (7,)),
    (lambda n: np.convolve(np.ones(n), np.arange(n)), (4,)), (lambda n: np.gradient(np.arange(n) ** 2), (6,)),
    (lambda n: np.insert(np.arange(n), n - 1, 9), (4,)), (lambda n: np.delete(np.arange(n), [0, 2]), (4,)),
    (lambda n: np.trace(np.ones((n, n))), (4,)), (lambda n: np.cov(np.arange(n)), (4,)),
    (lambda n: np.polyval(np.ones(n), 2.0), (4,)), (lambda n: np.fft.fft(np.arange(n)), (5,)),
    (lambda n: np.roll(np.arange(n), 1)[1:], (5,)), (lambda n: np.arange(10)[np.ix_(np.arange(n))], (5,)),
    (lambda n: np.arange(16).reshape(4, 4)[np.arange(n), np.arange(n)], (3,)), (lambda n: np.resize(V, n), (9,)),
]
WAYS = ["eager", "numpy", "native"]


def leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


def check(way: str, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if way == "native":
        pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    want = fn(*args)
    tensors = [rt.constant(x) for x in args]
    got = fn(*tensors) if way == "eager" else rt.function(fn, executor=way)(*tensors)
    found = rt.nest.flatten(got)
    for g, w in zip(map(np.asarray, found), leaves(want), strict=True):
        assert g.dtype.kind == w.dtype.kind and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_numpy(case: int, way: str) -> None:
    check(way, *CASES[case])


@pytest.mark.parametrize("way", ["numpy", "native"])
@pytest.mark.parametrize("case", range(len(SIZES)))
def test_arrays_of_sizes_that_a_graph_knows(case: int, way: str) -> None:
    check(way, *SIZES[case])


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufuncs(name: str) -> None:
    ufunc = getattr(np, name, None)
    if ufunc is None:
        pytest.skip(f"this NumPy has no {name}")
    of_ints = name.startswith(("bitwise", "invert", "left", "right", "gcd", "lcm"))
    x, y = (np.abs(I), np.abs(I.T.reshape(3, 4)) % 4) if of_ints else (np.abs(X) % 0.9 + 0.05, np.abs(Y) + 0.1)
    if "cosh" in name and name.startswith("a"):
        x = x + 1
    y = np.arange(12).reshape(3, 4) - 5 if name == "ldexp" else y
    args = (x, x.T) if name == "matmul" else (x, y)[:ufunc.nin]
    want, got = ufunc(*args), ufunc(*map(rt.constant, args))
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-12)
    assert all(isinstance(leaf, rt.Tensor) for leaf in rt.nest.flatten(got))
    if ufunc.nin == ufunc.nout == 1 and not of_ints and name not in ("positive", "conj", "conjugate"):
        np.testing.assert_allclose(np.asarray(ufunc(rt.constant([1, 2]))), ufunc(np.array([1, 2])), rtol=1e-6)


def test_every_function_is_tried() -> None:
    source = "".join([open(file).read() for file in (
        __file__, test_function_cases.__file__, test_exact_results.__file__)])
    missing = {f.__name__ for f in dispatch.FUNCTIONS if f".{f.__name__}(" not in source
               and f'"{f.__name__}"' not in source} - UNTRIED
    assert not missing


UNTRIED = {
    "amax", "asanyarray", "ascontiguousarray", "atleast_1d", "concat", "eigh", "iscomplexobj", "isrealobj",
    "matrix_transpose", "min", "permute_dims", "qr", "slogdet", "unique_values", "unstack", "vecdot", "vector_norm",
    "imag", "slogdet", "full", "linspace", "svdvals", "matrix_norm", "unique_counts", "cumulative_sum",
    "cumulative_prod", "unique_inverse", "trapz", "asfortranarray", "result_type", "rollaxis"}
"""Other names of what is tried, or of ops that have tests of their own."""


def test_what_has_no_counterpart() -> None:
    """Eagerly NumPy does it; in a graph it is an error that names the line and the way out."""
    x = rt.constant([1.0, 2.0, 3.0])
    assert isinstance(np.roots(x), np.ndarray)
    assert np.cov(x, fweights=np.array([1, 1, 2])) == np.cov(x.numpy(), fweights=[1, 1, 2])
    out = np.zeros(3)
    assert np.sqrt(x, out=out) is out and out[0] == 1
    out += x
    assert out.tolist() == (np.sqrt([1.0, 2.0, 3.0]) + [1.0, 2.0, 3.0]).tolist() or out[0] == 2
    for call, text in [
        (lambda x: np.roots(x), "numpy.roots has no counterpart"),
        (lambda x: np.cov(x, fweights=x), "numpy.cov with these arguments has no counterpart"),
        (lambda x: np.spacing(x), "numpy.spacing has no counterpart"),
    ]:
        with pytest.raises(UnimplementedError, match=text) as caught:
            rt.function(call)(x)
        assert str(caught.value).startswith(f"{__file__}:{call.__code__.co_firstlineno}: ")
        assert "rt.numpy_function" in str(caught.value)


def test_the_array_api() -> None:
    x = rt.constant([3.0, 1.0])
    xp = x.__array_namespace__()
    assert xp is rt.numpy
    assert xp.sort(xp.concat([x, xp.asarray([2.0], dtype=xp.float32)])).numpy().tolist() == [1, 2, 3]
    assert float(xp.linalg.vector_norm(x)) == pytest.approx(10 ** 0.5)
    assert xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape == (3, 2)
    assert {"e", "inf", "nan", "pi", "newaxis", "bool", "acos", "pow", "bitwise_invert"} <= {*dir(xp)}


def test_operators_of_arrays_are_those_of_tensors() -> None:
    a, x = np.array([1.0, 2.0]), rt.constant([3.0, 4.0])
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
               operator.pow, operator.lt, operator.eq, operator.matmul):
        got = op(a, x)
        assert isinstance(got, rt.Tensor)
        np.testing.assert_allclose(got.numpy(), op(a, x.numpy()), rtol=1e-6)


T32, A64 = rt.constant([1.0, 2.0]), np.array([1.0, 2.0])
MIXED: list[Callable[[Any, Any], Any]] = [
    lambda x, a: np.dot(x, a), lambda x, a: np.vdot(a, x), lambda x, a: np.inner(x, a), lambda x, a: np.outer(a, x),
    lambda x, a: np.kron(x, a), lambda x, a: np.tensordot(x, a, 1), lambda x, a: np.einsum("i,i", x, a),
    lambda x, a: np.vstack([x, a]), lambda x, a: np.hstack((a, x)), lambda x, a: np.dstack((x, a)),
    lambda x, a: np.column_stack((x, a)), lambda x, a: np.concatenate((x, a)), lambda x, a: np.append(x, a),
    lambda x, a: np.stack([a, x]), lambda x, a: np.where(x > 1, x, a), lambda x, a: np.interp(x, a, a),
    lambda x, a: np.average(x, weights=a), lambda x, a: np.linalg.solve(np.eye(2), x), lambda x, a: np.fmax(x, a),
    lambda x, a: np.arctan2(a, x), lambda x, a: np.maximum(x, a), lambda x, a: np.multiply.outer(x, a),
    lambda x, a: np.logaddexp(x, a), lambda x, a: np.matmul(x, a), lambda x, a: np.clip(x, a[0], 1.5),
    lambda x, a: np.cross(np.append(x, 1.0), np.array([1.0, 2.0, 3.0])),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", range(len(MIXED)))
def test_arrays_take_the_dtype_of_a_tensor(case: int, way: str) -> None:
    fn = MIXED[case]
    got = fn(T32, A64) if way == "eager" else rt.function(lambda x: fn(x, A64), executor=way)(T32)
    assert got.dtype is rt.float32
    np.testing.assert_allclose(got.numpy(), fn(A64, A64), rtol=1e-6)


def test_predicates_of_a_tensor_and_an_array() -> None:
    assert np.allclose(T32, A64) and np.allclose(A64, T32) and np.isclose(T32, A64).numpy().all()
    assert not np.allclose(T32, A64 + 1e-3)


def test_lists_are_arrays() -> None:
    """Not sequences that an operator of Python's repeats."""
    n = rt.constant(3)
    assert np.multiply(n, [1, 2]).numpy().tolist() == np.multiply([1, 2], n).numpy().tolist() == [3, 6]
    assert np.add([1, 2], n).numpy().tolist() == [4, 5]
    assert np.multiply(n, [0.5, 2]).numpy().tolist() == [1.5, 6.0]
    assert np.add(n, [n, n + 1]).numpy().tolist() == [6, 7]
    assert float(np.hypot(n, 4.0)) == 5.0 and np.hypot(n, 4.0).dtype is rt.float64


def test_equal_arrays_of_another_dtype() -> None:
    x = rt.constant([1, 2])
    assert np.array_equal(x, np.array([1, 2])) and np.array_equal(np.array([1, 2]), x)
    assert not np.array_equal(x, np.array([1, 3])) and not np.array_equal(x, np.array([[1, 2]]))
    assert not np.array_equal(x, np.array([1, 2, 3]))


def test_gradients_pass_numpy() -> None:
    @rt.function
    def loss(x):
        return np.sum(np.sqrt(x) * np.exp(-x))

    x = rt.constant([0.5, 2.0])
    got = rt.grad(loss)(x).numpy()
    a = x.numpy()
    np.testing.assert_allclose(got, np.exp(-a) * (0.5 / np.sqrt(a) - np.sqrt(a)), rtol=1e-5)


def test_products_of_sizes_that_differ() -> None:
    """Also where the products of several sizes are the same, which a reshape would take."""
    for call in (lambda: np.dot(rt.constant([1.0, 2.0]), np.ones(3)), lambda: np.inner(X[0][:3], rt.constant(V)),
                 lambda: rt.tensordot(rt.ones([2, 3]), rt.ones([3, 2]), 2),
                 lambda: rt.tensordot(rt.ones([2, 3]), rt.ones([3, 2]), ([0, 1], [0, 1]))):
        with pytest.raises(rt.errors.ShapeError, match="which are summed over, differ") as caught:
            call()
        assert str(caught.value).startswith(f"{__file__}:")
    with pytest.raises(rt.errors.ShapeError):
        rt.function(lambda x, y: rt.tensordot(x, y, 2))(rt.ones([2, 3]), rt.ones([3, 2]))


LISTS: list[Any] = [
    np.array, np.asarray, np.sum, np.mean, np.max, np.argmax, np.cumsum, np.sort, np.unique, np.sqrt, np.diff,
    np.vstack, np.hstack, np.column_stack, np.linalg.norm,
    lambda xs: np.array([xs, xs[::-1]]), lambda xs: np.concatenate([xs, xs]), lambda xs: np.add(xs, 1.0),
    lambda xs: np.column_stack((xs, np.array(xs) + 1)), lambda xs: np.where([x > 2 for x in xs], 1.0, xs),
    lambda xs: np.array(xs, dtype=np.float64), lambda xs: np.concatenate([np.zeros(2), xs]), lambda xs: np.dot(xs, xs),
    lambda xs: np.vstack([np.array([x, -x]) for x in xs]), lambda xs: np.hstack([np.array([x, -x]) for x in xs]),
    lambda xs: np.concatenate([np.array([x, -x]) for x in xs]), lambda xs: np.array([[x, -x] for x in xs]).sum(axis=0),
    lambda xs: np.array([(x, 2 * x) for x in xs]), lambda xs: np.array([((x, 1.0), [2 * x, -x]) for x in xs]),
    lambda xs: np.mean([(x, 2 * x) for x in xs], axis=0),
]


@pytest.mark.parametrize("case", range(len(LISTS)))
def test_lists_that_the_graph_makes(case: int) -> None:
    def program(v: Any) -> Any:
        xs = []
        for x in v:
            if x > 0.0:
                xs.append(x)
        return LISTS[case](xs)

    values = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    expected = program(values)
    for traced in on_both(program).values():
        found = traced(values)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_an_array_of_a_list_does_not_change_with_it() -> None:
    @rt.function
    def program(v):
        xs = [x for x in v if x > 0.0]
        array = np.array(xs)
        array[0] = 100.0
        xs.append(v[1])
        return array, xs[0], rt.add_n(xs)

    array, first, total = program(rt.constant([1.0, -2.0, 3.0]))
    assert array.numpy().tolist() == [100.0, 3.0] and first == 1.0 and total == 2.0


def solved_or_zeros(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b), True
    except np.linalg.LinAlgError:
        return np.zeros(2), False


def how_many_are_singular(a: Any) -> Any:
    count = 0
    for k in range(3):
        try:
            np.linalg.inv(a * k)
        except np.linalg.LinAlgError:
            count += 1
    return count


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_singular_matrix_is_an_error_of_numpy(executor: str) -> None:
    solved = on(executor, solved_or_zeros)
    for a in (np.eye(2), np.ones((2, 2))):
        found, is_regular = solved(a, np.ones(2))
        want, was_regular = solved_or_zeros(a, np.ones(2))
        assert found.numpy().tolist() == want.tolist() and bool(is_regular) is was_regular
    assert int(on(executor, how_many_are_singular)(np.eye(2))) == 1
    with pytest.raises(np.linalg.LinAlgError, match="inv: Singular matrix"):
        rt.function(lambda a: np.linalg.inv(a), executor=executor)(np.ones((2, 2)))


def logarithms(x: Any, y: Any) -> Any:
    out = np.full(3, -1.0)
    np.log(x, where=x > 0, out=out)
    return out


CHOSEN: list[Callable[[Any, Any], Any]] = [
    lambda x, y: np.divide(x, y, out=np.zeros(3), where=y != 0), logarithms,
    lambda x, y: np.floor_divide(x, y, where=y != 0, out=np.zeros_like(x)),
    lambda x, y: np.multiply(x, 2.5, where=(y != 0)[:, None], out=np.ones((3, 3))),
    lambda x, y: np.add(x, y, where=[True, False, True], out=x.copy()),
    lambda x, y: np.add(x, 1, where=False, out=np.zeros_like(x))]


@pytest.mark.parametrize("f", CHOSEN)
def test_ufuncs_of_chosen_elements(f: Callable[[Any, Any], Any]) -> None:
    x, y = np.array([4, 0, 9]), np.array([2, 0, 4])
    want, got = f(x, y), rt.function(f)(x, y)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.numpy(), want)


def test_logaddexp_of_infinities() -> None:
    x, y = np.array([-np.inf, np.inf, -np.inf, np.inf, 0.0]), np.array([-np.inf, np.inf, np.inf, 1.0, -40.0])
    np.testing.assert_array_equal(rt.function(lambda x, y: np.logaddexp(x, y))(x, y), np.logaddexp(x, y))


def test_what_the_code_of_numpy_asks_for() -> None:
    def polynomial(c: Any) -> Any:
        return np.poly1d(c)(2.0)

    with pytest.raises(TypeError, match="the length .*, where 'poly1d' of numpy asks for it") as caught:
        rt.function(polynomial)(X[0])
    assert f"{__file__}:{polynomial.__code__.co_firstlineno + 1}: " in str(caught.value)
    assert "rt.numpy_function" in str(caught.value) and "len(x)" not in str(caught.value)


@pytest.mark.parametrize("f", [np.allclose, np.isclose, np.maximum, np.dot, np.array_equal])
def test_variables_beside_arrays_count_as_tensors(f: Callable[[Any, Any], Any]) -> None:
    x, y = rt.Variable([1.0, 2.0]), np.array([1.0, 2.0])
    for a, b in (x, y), (y, x):
        np.testing.assert_array_equal(f(a, b), f(y, y))
        np.testing.assert_array_equal(rt.function(lambda a=a, b=b: f(a, b))(), f(y, y))

"""NumPy's functions of statistics, sets, splitting, polynomials, transforms and diagonals: values, shapes and dtypes of
NumPy itself for tensors and arrays, eagerly and in graphs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced_once import on_both

import runtime as rt

RNG = np.random.default_rng(0)
X, Y, S = RNG.standard_normal((3, 4)), RNG.standard_normal((3, 4)), RNG.standard_normal((3, 3))
V, W, T = RNG.standard_normal(7), RNG.standard_normal(4), RNG.standard_normal((2, 3, 4))
I = RNG.integers(-3, 4, (3, 4))  # noqa: E741
B, N, Z, D = X > 0, np.where(Y > 0.5, np.nan, Y), X + 1j * Y, RNG.integers(0, 3, (4, 2))
AT = np.array([0.0, 1, 3, 4, 6, 7, 9])
AXES: tuple[Any, ...] = (None, 0, -1, (0, 1))
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def per_axis(make: Callable[[Any], Callable[..., Any]], *args: Any, axes: tuple[Any, ...] = AXES) -> list[Case]:
    return [(make(axis), args) for axis in axes]


STATISTICS: list[Case] = [
    *per_axis(lambda axis: lambda x: np.percentile(x, 30, axis=axis), X),
    *per_axis(lambda axis: lambda x: np.quantile(x, [0.1, 0.5, 0.99], axis=axis), X),
    *per_axis(lambda axis: lambda x: np.percentile(x, [25, 75], axis=axis, keepdims=True), I),
    *per_axis(lambda axis: lambda x: np.median(x, axis=axis, keepdims=True), X),
    *per_axis(lambda axis: lambda x: np.nanmedian(x, axis=axis), N),
    *per_axis(lambda axis: lambda x: np.nanpercentile(x, [20, 80], axis=axis), N),
    *per_axis(lambda axis: lambda x: np.nanstd(x, axis=axis), N),
    *per_axis(lambda axis: lambda x: np.nanvar(x, axis=axis, ddof=1), N),
    (lambda x: np.nanquantile(x, 0.3), (N,)), (lambda x: np.percentile(x, 40, axis=0), (N,)),
    (lambda x: np.percentile(x, [10, 50], method="lower"), (X,)), (lambda x: np.percentile(x, 25), (np.float32(X),)),
    (lambda x: np.percentile(x, [10, 50], method="higher"), (X,)),
    (lambda x: np.percentile(x, [10, 50], method="midpoint"), (X,)),
    (lambda x: np.percentile(x, [10, 50], method="nearest"), (X,)),
    (lambda x: np.histogram(x), (X,)), (lambda x: np.histogram(x, 5, range=(-1, 1)), (X,)),
    (lambda x: np.histogram(x, np.array([-2.0, 0, 0.5, 3])), (X,)), (lambda x: np.histogram(x, bins=3), (I,)),
    (lambda x: np.histogram(x, bins=4, density=True), (X,)), (lambda x, w: np.histogram(x, 4, weights=w), (X, Y)),
    (lambda x: np.histogram(x, bins=[0, 1, 2, 3]), (I,)), (lambda x: np.histogram_bin_edges(x, 4), (X,)),
    (lambda x: np.digitize(x, np.array([-1.0, 0.0, 1.0])), (X,)), (lambda x: np.digitize(x, [0, 1, 2]), (I,)),
    (lambda x: np.digitize(x, [-1.0, 0.0, 1.0], right=True), (X,)),
    (lambda x: np.digitize(x, np.array([1.0, 0.0, -1.0])), (X,)),
    (lambda x, b: np.digitize(x, b), (X, np.array([1.0, 0.0, -1.0]))),
    *[(lambda x: np.histogram(x, 3), (few,)) for few in (V[:0], I[0, :0], np.array([2.0, 2.0]))],
    (lambda x: np.histogram(x[x > 9], 3), (V,)), (lambda x: np.median(x), (V[:0],)), (lambda x: np.nanmedian(x), (B,)),
    (lambda x: np.cov(x), (X,)), (lambda x, y: np.cov(x, y), (V, V ** 2)), (lambda x: np.cov(x), (V,)),
    (lambda x: np.cov(x, rowvar=False, bias=True), (X,)), (lambda x: np.cov(x), (I,)), (lambda x: np.cov(x), (Z,)),
    (lambda x: np.corrcoef(x), (X,)), (lambda x, y: np.corrcoef(x, y)[0, 1], (V, V ** 3)),
    (lambda x: np.average(x, axis=0, returned=True), (X,)), (lambda x: np.average(x), (I,)),
    (lambda x: np.gradient(x), (V,)), (lambda x: np.gradient(x, 0.5), (V,)), (lambda x: np.gradient(x), (X,)),
    (lambda x: np.gradient(x, axis=0), (X,)), (lambda x: np.gradient(x, AT), (V,)), (lambda x: np.gradient(x), (I,)),
    (lambda x: np.gradient(x, edge_order=2), (V,)), (lambda x: np.gradient(x, AT, edge_order=2), (V,)),
    *([(lambda x: np.trapezoid(x), (X,)), (lambda x: np.trapezoid(x, np.array([0, 1, 3, 4.0])), (X,)),
       (lambda x: np.trapezoid(x, dx=0.1, axis=0), (X,))] if hasattr(np, "trapezoid") else []),
]
REDUCTIONS: list[Case] = [
    *per_axis(lambda axis: lambda x: np.sum(x, axis=axis, where=x > 0, initial=2.0), X),
    *per_axis(lambda axis: lambda x: np.max(x, axis=axis, where=x > 0, initial=-2.0), X),
    *per_axis(lambda axis: lambda x: np.min(x, axis=axis, keepdims=True, initial=-0.5), X),
    *per_axis(lambda axis: lambda x: x.mean(axis=axis, where=x > -5), X),
    *per_axis(lambda axis: lambda x: np.std(x, axis=axis, where=x > -1.2), X),
    *per_axis(lambda axis: lambda x: np.any(x, axis=axis, where=x > 0), X),
    *[(make(name), (kind,)) for name in ("sum", "prod", "max", "min", "mean", "any", "all", "var", "trace")
      for kind in (I.astype(np.int8), np.abs(I).astype(np.uint8), I.astype(np.int32), np.float16(X), np.float32(X), B)
      for make in (lambda name: lambda x: getattr(np, name)(x), lambda name: lambda x: getattr(x, name)())],
    *[(make(name), (kind,)) for name in ("cumsum", "cumprod") for kind in (I.astype(np.int8), np.float32(X), B)
      for make in (lambda name: lambda x: getattr(np, name)(x, axis=1), lambda name: lambda x: getattr(x, name)())],
    *[(make(name), (kind,)) for name in ("add", "multiply", "maximum", "minimum", "logical_or")
      for kind in (I.astype(np.int8), X) for make in (
          lambda name: lambda x: getattr(np, name).accumulate(x, axis=1),
          lambda name: lambda x: getattr(np, name).reduce(x, axis=None))],
    (lambda x: np.fmax.accumulate(x), (N,)), (lambda x: np.add.reduce(x, initial=5), (X,)),
    (lambda x: np.maximum.reduce(x, initial=5, axis=1), (X,)), (lambda x: np.prod(x, initial=2.0), (X,)),
    (lambda x: np.nanprod(x), (N,)), (lambda x: np.nancumsum(x, 1), (N,)), (lambda x: np.nancumprod(x), (N,)),
    (lambda x: np.nanargmax(x, 1), (N,)), (lambda x: np.nanargmin(x), (N,)), (lambda x: np.nansum(x), (np.int8(I),)),
    *([(lambda x: np.cumulative_sum(x, axis=0, include_initial=True), (X,)),
       (lambda x: np.cumulative_prod(x, axis=0), (X,))] if hasattr(np, "cumulative_sum") else []),
    *[(make(decimals), (x,)) for decimals in (-2, -1, 0, 2) for x in (100 * X, 100 * np.float32(X), 31 * I)
      for make in (lambda decimals: lambda x: np.round(x, decimals),)],
    *per_axis(lambda axis: lambda x: np.max(x, axis=axis), np.zeros((0, 3))[:, None], axes=(1, 2)),
    (lambda x: np.sort(x[np.argpartition(x, 2)[:3]]), (V,)), (lambda x: np.sort(np.partition(x, 2)[:3]), (V,)),
]
SETS: list[Case] = [
    *[(make(key), (kind,)) for key in ("return_index", "return_inverse", "return_counts")
      for kind in (I, X, N, np.abs(I).astype(np.uint8), B) for make in (
          lambda key: lambda x: np.unique(x, **{key: True}),)],
    (lambda x: np.unique(x, True, True, True), (I,)), (lambda x: np.unique(x, axis=0), (D,)),
    (lambda x: np.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True), (D,)),
    (lambda x: np.unique(x, axis=1), (I[:, [0, 1, 1, 0]],)), (lambda x: np.unique(x[:0], return_inverse=True), (V,)),
    (lambda x: np.isin(x, [1, 2]), (I,)), (lambda x, y: np.isin(x, y), (I, I[0])), (lambda x: np.isin(x, []), (X,)),
    (lambda x: np.isin(x, [1, 2], invert=True), (I,)), (lambda x, y: np.intersect1d(x, y), (I, I[0] + 1)),
    (lambda x, y: np.union1d(x, y), (I, I[0] + 1)), (lambda x, y: np.setdiff1d(x, y), (I, I[0] + 1)),
    (lambda x, y: np.setxor1d(x, y), (I, I[0] + 1)),
    *([(lambda x: tuple(np.unique_counts(x)), (I,)), (lambda x: tuple(np.unique_inverse(x)), (I,)),
       (lambda x: tuple(np.unique_all(x)), (I,))] if hasattr(np, "unique_all") else []),
    (lambda x, v: np.sort(x).searchsorted(v), (V, X)), (lambda x: np.searchsorted(np.sort(x), 0.5), (V,)),
    (lambda x, v: np.searchsorted(x, v, sorter=np.argsort(x)), (V, X)),
    (lambda x: np.searchsorted(np.sort(x), [0, 1], side="right"), (I[0],)),
    (lambda x: x.compress([True, False, True], axis=0), (X,)), (lambda x: np.extract(x > 0, x), (X,)),
]
REARRANGED: list[Case] = [
    (lambda x: np.insert(x, 1, 9.0), (V,)), (lambda x: np.insert(x, [1, 3], [9.0, 8.1]), (V,)),
    (lambda x: np.insert(x, 1, 5.0, axis=1), (X,)), (lambda x, w: np.insert(x, 0, w, axis=0), (X, W)),
    (lambda x: np.insert(x, -1, [1.0, 2.0, 3.0]), (V,)), (lambda x: np.insert(x, [2, 2, 0], [1, 2, 3]), (V,)),
    (lambda x: np.insert(x, 2, 2.9), (I,)), (lambda x: np.insert(x, [0, 2], 7.0, axis=1), (X,)),
    (lambda x, i: np.insert(x, i, 9.0), (V, np.int64(2))), (lambda x: np.insert(x, slice(1, 3), 9.0), (V,)),
    (lambda x: np.insert(x, 7, 9.0), (V,)), (lambda x: np.delete(x, 1), (V,)), (lambda x: np.delete(x, -1), (V,)),
    (lambda x: np.delete(x, [0, 2, -1]), (V,)), (lambda x: np.delete(x, 1, axis=1), (X,)),
    (lambda x: np.delete(x, slice(None, None, 2), 0), (X,)), (lambda x: np.delete(x, x > 0), (V,)),
    (lambda x, i: np.delete(x, i), (V, np.int64(2))), (lambda x, i: np.delete(x, i, 0), (X, np.array([0, -1]))),
    (lambda x: np.array_split(x, 3), (V,)), (lambda x: np.array_split(x, 3, axis=1), (X,)),
    (lambda x: np.array_split(x, [1, 2, 9]), (V,)), (lambda x: np.hsplit(x, 2), (X,)),
    (lambda x: np.vsplit(x, 3), (X,)), (lambda x: np.dsplit(x, 2), (T,)), (lambda x: np.hsplit(x, [2, 5]), (V,)),
    (lambda x: np.atleast_3d(x), (V,)), (lambda x: np.atleast_3d(x), (X,)), (lambda x: np.diff(x, prepend=0), (V,)),
    (lambda x: np.diff(x, append=0.0, axis=0), (X,)), (lambda x: np.diff(x, prepend=x[:, :1], axis=1), (X,)),
    (lambda x: np.diff(x, n=2, prepend=0), (I,)), (lambda x: np.ediff1d(x, to_end=9.0), (V,)),
    *[(make(mode, width), (X,)) for mode in ("edge", "reflect", "wrap", "symmetric")
      for width in (1, (1, 2), ((1, 2), (0, 3)), 9) for make in (
          lambda mode, width: lambda x: np.pad(x, width, mode=mode),)],
    (lambda x: np.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))), (X,)),
    (lambda x: np.pad(x, 1, constant_values=7), (X,)), (lambda x: np.pad(x, 1, "edge"), (I,)),
    (lambda x: np.select([x < -0.5, x > 0.5], [x, x * 2], 0.0), (X,)),
    (lambda x: np.select([x < 0, x > 1], [1, 2], 3), (X,)), (lambda x: np.choose(x, [10, 20, 30]), (np.array([0, 2]),)),
    (lambda x: np.unravel_index(x, (3, 4)), (np.array([3, 7]),)), (lambda x: np.resize(x, (2, 5)), (V,)),
    (lambda x, y: np.ravel_multi_index((x, y), (3, 4)), (np.array([1, 2]), np.array([3, 0]))),
    (lambda x: np.trim_zeros(x), (np.array([0, 0, 1, 2, 0, 3, 0]),)), (lambda x, w: np.broadcast_arrays(x, w), (X, W)),
    (lambda x: np.take(x, [0, 9, -1], mode="wrap"), (V,)), (lambda x: np.take(x, [0, 9, -1], mode="clip"), (V,)),
    (lambda x, i: np.take(x, i), (np.arange(300.0), np.array([-1, 5], np.int8))),
    (lambda x, i: np.take_along_axis(x, i, 0), (np.arange(300.0), np.array([-1, 5], np.int8))),
    (lambda x: np.ix_(x > 0, [0, 1]), (V,)), (lambda x: np.zeros_like(x, order="C"), (X,)),
    (lambda x: np.zeros_like(x, shape=(2, 2)), (X,)), (lambda x: np.copy(x, order="C"), (X,)),
    (lambda x: np.linspace(x[0], x[1], 3), (V,)), (lambda x, y: np.linspace(x, y, 5), (W, W + 1)),
    (lambda x, y: np.linspace(x, y, 5, axis=1), (W, W + 1)), (lambda x: np.linspace(x[0], x[1], 1), (V,)),
    (lambda x: np.linspace(0, x[1], 4, retstep=True), (V,)), (lambda x: np.logspace(x[0], x[1], 4), (V,)),
    (lambda x: np.geomspace(x[0], x[1], 4), (np.abs(V),)), (lambda x: x.flat[3:5], (X,)),
    (lambda x: np.zeros(1) + x.nbytes + x.itemsize, (X,)), (lambda x: np.zeros(1) + x.item((1, 2)), (X,)),
    *[(make(k), (x,)) for k in (0, 1, -2) for make, x in [
        (lambda k: lambda x: np.diag(x, k), X), (lambda k: lambda x: np.diag(x, k=k), W),
        (lambda k: lambda x: x.diagonal(k), X), (lambda k: lambda x: np.diagonal(x, k, 1, 2), T),
        (lambda k: lambda x: x.trace(k), np.int8(I)), (lambda k: lambda x: np.tril(x, k), X),
        (lambda k: lambda x: np.triu(x, k), T), (lambda k: lambda x: np.diagflat(x, k), W)]],
]
MODES = ("full", "same", "valid")
TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
PRODUCTS: list[Case] = [
    *[(make(mode), args) for mode in MODES for args in [(V, W), (W, V), (V, W[:3]), (np.int32(V), np.int32(W))]
      for make in (lambda mode: lambda x, y: np.convolve(x, y, mode),
                   lambda mode: lambda x, y: np.correlate(x, y, mode))],
    (lambda x, y: np.correlate(x, y, "full"), (Z[0], Z[1, :3])), (lambda x: np.convolve(x, [1, 2, 1]), (I[0],)),
    (lambda x: (np.convolve(x, x), np.correlate(x, x, "full")), (B[0],)),
    (lambda x, y: np.polyfit(x, y, 2), (V, V ** 2 + 1)), (lambda x, y: np.polyfit(x, y, 1, w=y), (V, V ** 2 + 1)),
    (lambda x, y: np.polyfit(x, y, 1), (np.arange(5), np.array([1, 3, 2, 5, 4]))), (lambda x: np.vander(x, 3), (V,)),
    (lambda p, x: np.polyval(p, x), (W, X)), (lambda x: np.polyval([1, 2, 3], x), (X,)),
    (lambda p: np.polyder(p), (W,)), (lambda p: np.polyint(p), (W,)), (lambda p, q: np.polymul(p, q), (W, V)),
    (lambda p, q: np.polyadd(p, q), (W, V)), (lambda p, q: np.polysub(p, q), (V, W)),
    (lambda x, y: np.einsum("ij,kj->ik", x, y, optimize=True), (X, Y)),
    *[(make(name), (X if name in ("rfft", "ihfft") else Z,)) for name in TRANSFORMS for make in (
        lambda name: lambda x: getattr(np.fft, name)(x), lambda name: lambda x: getattr(np.fft, name)(x, 6, 0),
        lambda name: lambda x: getattr(np.fft, name)(x, n=3, norm="ortho"),
        lambda name: lambda x: getattr(np.fft, name)(x, norm="forward"))],
    *[(make(name), (Z,)) for name in ("fft2", "ifft2", "fftn", "ifftn", "fftshift", "ifftshift") for make in (
        lambda name: lambda x: getattr(np.fft, name)(x),)], (lambda x: np.fft.fft(x), (I,)),
    (lambda x: np.linalg.svd(x)[1], (X,)), (lambda x: np.linalg.svd(x, compute_uv=False), (X,)),
    (lambda x: (lambda u, s, v: (u * s) @ v)(*np.linalg.svd(x, full_matrices=False)), (X,)),
    (lambda x: np.linalg.pinv(x), (X,)), (lambda x: np.linalg.pinv(x), (T,)), (lambda x: np.linalg.svd(x).S, (X,)),
    (lambda x, y: np.linalg.lstsq(x, y, rcond=None)[0], (X.T, W)),
    (lambda x, y: tuple(np.linalg.lstsq(x, y)), (X.T, Y.T)), (lambda x: np.linalg.matrix_rank(x), (X,)),
    (lambda x: np.linalg.cond(x), (X,)), (lambda x, y: np.linalg.multi_dot([x, y.T, x]), (X, Y)),
    (lambda x: np.linalg.eigvalsh(x, "U"), (S,)), (lambda x: np.fmod(x, 2), (I,)), (lambda x: np.fmod(2.5, x), (X,)),
]
EXTREME = np.array([0.0, -0.0, 1.0, -0.75, 2.0**-1074, 1.5e308, -np.inf, np.nan, 0.5, 4.0 - 2.0**-51])
TIES = np.array([1, 0, 1, 1, 0, 1, 0])
OTHERS: list[Case] = [
    *[(make(deg), (x,)) for deg in (False, True) for x in (X, I, Z, np.float32(X), np.array([np.nan, -1.0, -0.0, 0.0]))
      for make in (lambda deg: lambda x: np.angle(x, deg),)],
    *[(lambda x, y: np.array_equal(x, y), pair) for pair in (
        (X, X), (X, Y), (X, X.T), (V, V[:1]), (V[:1], V[:0]), (V[:0], V[:0]), (X[:0], T[0, :0]), (X, V))],
    (lambda x, y: np.array_equal(x[x > 0], y[y > 0]), (V, V)), (lambda x, y: np.array_equal(x[x > 0], y), (V, V)),
    *[(program, (V, X[:, :2])) for program in (
        lambda x, y: x[:6].reshape(y.shape), lambda x, y: np.reshape(x[:6], y.shape),
        lambda x, y: x[:6].reshape(y.shape, order="F"), lambda x, y: y.reshape(y.shape + (1,)),
        lambda x, y: y.reshape((1, *y.shape)), lambda x, y: y.reshape(y.shape[:1] + (-1,)),
        lambda x, y: y.reshape((-1,) + y.shape[1:]), lambda x, y: np.resize(x, y.shape),
        lambda x, y: np.lib.stride_tricks.sliding_window_view(y, y[:2].shape),
        lambda x, y: np.zeros_like(x, shape=y.shape), lambda x, y: y.reshape(np.array([2, 3]), order="F"))],
    (lambda x, y: np.lexsort((x, y)), (V, TIES)), (lambda x, y: np.lexsort([y, x]), (V, TIES)),
    (lambda x: np.lexsort((x, x > 0), axis=0), (X,)), (lambda x: np.lexsort(x), (D.T,)),
    (lambda x, y: np.block([[x, y], [np.ones((1, 4)), np.zeros((1, 4))]]), (X, Y)),
    (lambda x, w: np.block([x, w]), (V, W)), (lambda x: np.block([[x], [np.arange(4)]]), (I,)),
    (lambda x: np.block(x), (X,)), (lambda x: np.block([[[x]], [[x + 1]]]), (W,)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), (V,)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)).sum((-1, -2)), (X,)),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=1), (T,)),
    (lambda x: np.unwrap(x * 4), (V,)), (lambda x: np.unwrap(x * 4, axis=0), (X,)),
    (lambda x: np.unwrap(x * 3, 2.0, period=3), (I,)), (lambda x: np.unwrap(x * 3, period=4), (I,)),
    (lambda x: np.sinc(x), (V,)), (lambda x: np.sinc(x), (I,)), (lambda x: np.vecdot(x, x), (Z,)),
    (lambda x: np.modf(x), (EXTREME,)), (lambda x: np.frexp(x), (EXTREME,)), (lambda x: np.frexp(x), (np.float32(V),)),
    (lambda x: np.ldexp(x, np.array([3, 1, -2, 1000, 2000, -1030, 2, 1, -1074, 0])), (EXTREME,)),
    *[(make(name), (I,)) for name in ("bitwise_xor", "bitwise_or", "bitwise_and", "gcd") for make in (
        lambda name: lambda x: getattr(np, name).reduce(x), lambda name: lambda x: getattr(np, name).reduce(x, 1),
        lambda name: lambda x: getattr(np, name).reduce(x, axis=None, keepdims=True),
        lambda name: lambda x: getattr(np, name).reduce(x[:0]))],
    (lambda x: np.logical_xor.reduce(x), (I,)), (lambda x: np.fmax.reduce(x, 1), (N,)),
    (lambda x: np.add.reduceat(x, [0, 2, 3]), (V,)), (lambda x: np.add.reduceat(x, [1, 1, 4, 6]), (V,)),
    (lambda x: np.add.reduceat(x, [0, 2], 1), (X,)), (lambda x: np.add.reduceat(x, [0, 2]), (np.int8(I),)),
    (lambda x: np.apply_along_axis(lambda row: row.sum(), 1, x), (X,)),
    (lambda x: np.apply_along_axis(lambda column: np.sort(column) * 2, 0, x), (X,)),
    (lambda x: np.apply_along_axis(np.diff, 1, x), (T,)),
    (lambda x: np.apply_along_axis(lambda row, k: np.outer(row, row) * k, -1, x, 2), (D,)),
    (lambda x: np.piecewise(x, [x < 0, x > 1], [lambda y: -y, lambda y: y * 2, 5.0]), (V,)),
    (lambda x: np.piecewise(x, [x < 0, x >= 0], [-1, lambda y: y * 0.5]), (I,)),
    (lambda x: np.piecewise(x, x > 0.5, [lambda y, k: y - y.max() + k], 3), (V,)),
    (lambda x: np.piecewise(x, [x < -9], [lambda y: y - y.max(), 1.0]), (V,)),
]
CASES = [*STATISTICS, *REDUCTIONS, *SETS, *REARRANGED, *PRODUCTS, *OTHERS]


def leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, (list, tuple)) else [np.asarray(x)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_numpy(case: int) -> None:
    pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")
    f, args = CASES[case]
    want, tensors = leaves(f(*args)), [rt.constant(x) for x in args]
    found = {"eager": f(*tensors)}
    for executor, traced in on_both(f).items():
        found |= {executor: traced(*[np.array(x) for x in args]), f"{executor}, of tensors": traced(*tensors)}
    coarse = {np.dtype("float16"): 2e-2, np.dtype("float32"): 1e-5}.get(np.asarray(args[0]).dtype, 1e-9)
    for way, result in found.items():
        got = leaves(result)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            of_arrays = way in ("numpy", "native")
            assert g.shape == w.shape and (g.dtype == w.dtype if of_arrays else g.dtype.kind == w.dtype.kind), way
            tolerance = coarse if of_arrays or g.dtype.itemsize >= w.dtype.itemsize else max(coarse, 1e-5)
            np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=way)

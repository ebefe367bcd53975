"""The public functions of the op families against NumPy, each three ways (`op_ways`)."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_ways import M2, MB, RNG, B, C, D, E, J, M, N, S, T, V, agree, check, eager, f32, i32, staged

import runtime as rt
from runtime.core.graph import Graph
from runtime.core.tensor import GraphTensor
from runtime.core.trace import add_input, set_outputs, tracing
from runtime.core.types import TensorType
from runtime.ops.indexing import setitem

Case = tuple[str, Callable[..., Any], Callable[..., Any], tuple[Any, ...]]


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def sigmoid(x: Any) -> Any:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


ELEMENTWISE: list[Case] = [
    ("add list", lambda x: rt.add(x, [1, 2, 3, 4]), lambda x: f32(x + [1, 2, 3, 4]), (M,)),
    ("scalar left", lambda x: 2 - x * 3, lambda x: 2 - x * 3, (V,)),
    ("truediv ints", lambda x: x / 2, lambda x: x / 2, (N,)),
    ("truediv int tensors", lambda x, y: x / y, lambda x, y: x / y, (J, J + 1)),
    ("truediv small ints", lambda x: x / 2, lambda x: f32(x / 2), (N.astype(np.int8),)),
    ("truediv floats", lambda x: x / 3, lambda x: x / np.float32(3), (V,)),
    ("floordiv", lambda x: x // 2, lambda x: x // 2, (N,)),
    ("floordiv floats", lambda x: x // 0.7, lambda x: x // np.float32(0.7), (V,)),
    ("mod", lambda x: x % 3, lambda x: x % 3, (N,)),
    ("floormod by negative", lambda x: rt.math.floormod(x, -3), lambda x: x % -3, (N,)),
    ("divmod", lambda x: divmod(x, 3), lambda x: divmod(x, 3), (N,)),
    ("pow", lambda x: x ** 2, lambda x: x ** 2, (N,)),
    ("rpow", lambda x: 2.0 ** x, lambda x: np.float32(2) ** x, (V,)),
    ("divide_no_nan", lambda x: rt.math.divide_no_nan(x, [0.0, 1.0, 2.0, 0.0]),
     lambda x: f32(np.divide(x, [1, 1, 2, 1]) * [0, 1, 1, 0]), (M,)),
    ("multiply_no_nan", lambda x: rt.math.multiply_no_nan(math.inf, x * 0), lambda x: x * 0, (V,)),
    ("xlogy", lambda x: rt.math.xlogy(x * 0, x * 0), lambda x: x * 0, (V,)),
    ("square", rt.square, np.square, (N,)),
    ("squared_difference", rt.math.squared_difference, lambda x, y: (x - y) ** 2, (M, M2)),
    ("reciprocal", rt.math.reciprocal, lambda x: 1 / x, (M2,)),
    ("rsqrt", rt.math.rsqrt, lambda x: 1 / np.sqrt(x), (M2,)),
    ("add_n", lambda x: rt.add_n([x, x, x]), lambda x: 3 * x, (M,)),
    ("clip", lambda x: rt.clip_by_value(x, -1, 1), lambda x: np.clip(x, -1, 1), (M,)),
    ("clip by tensors", rt.clip_by_value, np.clip, (M, -M2, M2)),
    ("round", rt.round, np.round, (V,)),
    ("round half", lambda x: rt.round(x + 0.5), lambda x: np.round(x + np.float32(0.5)),
     (np.arange(4).astype("f4"),)),
    ("round digits", lambda x: round(x, 1), lambda x: np.round(x, 1), (V,)),
    ("round ints", rt.round, lambda x: x, (N,)),
    ("abs complex", rt.abs, np.abs, (C,)),
    ("real", rt.math.real, np.real, (C,)),
    ("imag", rt.math.imag, np.imag, (C,)),
    ("imag of real", rt.math.imag, np.zeros_like, (V,)),
    ("conj", rt.math.conj, np.conj, (C,)),
    ("angle", rt.math.angle, np.angle, (C,)),
    ("angle of real", rt.math.angle, lambda x: f32(np.angle(x)), (V,)),
    ("complex", rt.complex, lambda x, y: (x + 1j * y).astype(np.complex64), (M, M2)),
    ("erf", rt.math.erf, lambda x: f32([math.erf(v) for v in x]), (V,)),
    ("erfc", rt.math.erfc, lambda x: f32([math.erfc(v) for v in x]), (V,)),
    ("erfinv", lambda x: rt.math.erf(rt.math.erfinv(x)), lambda x: x, (np.linspace(-0.99, 0.99, 9),)),
    ("sigmoid", rt.sigmoid, sigmoid, (V,)),
    ("softplus", rt.nn.softplus, lambda x: np.log1p(np.exp(x)), (V,)),
    ("atan2", rt.math.atan2, np.arctan2, (M, M2)),
    ("is_nan", lambda x: rt.math.is_nan(rt.sqrt(x)), lambda x: x < 0, (V,)),
    ("is_inf", lambda x: rt.math.is_inf(1 / (x - x)), lambda x: np.ones(5, bool), (V,)),
    ("is_finite", lambda x: rt.math.is_finite(rt.sqrt(x)), lambda x: x >= 0, (V,)),
    ("cast truncates", lambda x: rt.cast(x, rt.int32), lambda x: x.astype(np.int32), (V,)),
    ("cast to bool", lambda x: rt.cast(x, bool), lambda x: x != 0, (N,)),
    ("saturate_cast", lambda x: rt.saturate_cast(x * 1000, rt.int8),
     lambda x: np.clip(x * 1000, -128, 127).astype("i1"),
     (V,)),
    ("saturate_cast at the edge", lambda x: rt.saturate_cast(x * 1e30, rt.int32),
     lambda x: np.where(x > 0, 2**31 - 1, -2**31).astype(np.int32), (V,)),
    ("saturate_cast ints", lambda x: rt.saturate_cast(x, rt.uint8), lambda x: np.clip(x, 0, 255).astype("u1"), (N,)),
    ("logic", lambda x: rt.logical_or(rt.logical_and(x, ~x), rt.logical_not(x)), lambda x: ~x, (B,)),
    ("logical_xor", lambda x: rt.math.logical_xor(x, True), lambda x: ~x, (B,)),
    ("bits", lambda x: (x & 6) | (x ^ 1), lambda x: (x & 6) | (x ^ 1), (N,)),
    ("shifts", lambda x: rt.bitwise.right_shift(rt.bitwise.left_shift(x, 3), 1), lambda x: x << 3 >> 1, (N,)),
    ("invert", lambda x: ~x, lambda x: ~x, (N,)),
    ("comparison", lambda x: [x < 1, x <= 2, x > 1, x >= 2, x == 2, x != 2],
     lambda x: [x < 1, x <= 2, x > 1, x >= 2, x == 2, x != 2], (N,)),
    ("where", lambda x: rt.where(x > 0, x, 0), lambda x: np.where(x > 0, x, np.float32(0)), (M,)),
    ("where broadcasts", lambda c, x: rt.where(c, x, -1.0), lambda c, x: np.where(c, x, np.float32(-1)), (MB, M[0])),
    ("where 1", lambda c: rt.where(c), lambda c: np.argwhere(c), (MB,)),
    ("where 1 of numbers", lambda c: rt.where(c), lambda c: np.argwhere(c), (N,)),
    ("stop_gradient", rt.stop_gradient, lambda x: x, (M,)),
    ("identity", rt.identity, lambda x: x, (M,)),
    *[(name, getattr(rt.math, name), numpy, (x,)) for name, numpy, x in [
        ("floor", np.floor, M), ("ceil", np.ceil, M), ("sign", np.sign, M), ("negative", np.negative, N),
        ("sqrt", np.sqrt, M2), ("exp", np.exp, M), ("expm1", np.expm1, M), ("log", np.log, M2),
        ("log1p", np.log1p, M2), ("sin", np.sin, M), ("cos", np.cos, M), ("tan", np.tan, M2), ("tanh", np.tanh, M),
        ("asin", np.arcsin, M / 2), ("acos", np.arccos, M / 2), ("atan", np.arctan, M), ("sinh", np.sinh, M),
        ("cosh", np.cosh, M), ("asinh", np.arcsinh, M), ("acosh", np.arccosh, M2 + 1), ("atanh", np.arctanh, M / 3),
        ("rint", np.rint, M), ("exp", np.exp, C),
    ]],
]

REDUCTIONS: list[Case] = [
    ("sum", rt.reduce_sum, np.sum, (M,)),
    ("sum axis", lambda x: rt.reduce_sum(x, 1), lambda x: x.sum(1), (T,)),
    ("sum negative axis", lambda x: rt.reduce_sum(x, -1, keepdims=True), lambda x: x.sum(-1, keepdims=True), (T,)),
    ("sum axes", lambda x: rt.reduce_sum(x, [0, -1]), lambda x: x.sum((0, 2)), (T,)),
    ("sum no axes", lambda x: rt.reduce_sum(x, []), lambda x: x, (T,)),
    ("sum tensor axis", lambda x: rt.reduce_sum(x, rt.constant([0])), lambda x: x.sum(0), (T,)),
    ("sum ints", rt.reduce_sum, lambda x: x.sum(dtype=np.int32), (N,)),
    ("sum int8", rt.reduce_sum, lambda x: x.sum(dtype=np.int8), (N.astype(np.int8),)),
    ("sum empty", lambda x: rt.reduce_sum(x, 0), lambda x: x.sum(0), (E,)),
    ("sum scalar", rt.reduce_sum, lambda x: x, (S,)),
    ("prod", lambda x: rt.reduce_prod(x, 0), lambda x: x.prod(0), (M,)),
    ("max", lambda x: rt.reduce_max(x, 1), lambda x: x.max(1), (M,)),
    ("min", rt.reduce_min, np.min, (N,)),
    ("max empty", lambda x: rt.reduce_max(x, 0), lambda x: f32([-np.inf] * 4), (E,)),
    ("min empty ints", lambda x: rt.reduce_min(x), lambda x: i32(2**31 - 1), (N[:0],)),
    ("all any", lambda x: [rt.reduce_all(x, 0), rt.reduce_any(x, 1)], lambda x: [x.all(0), x.any(1)], (MB,)),
    ("mean", lambda x: [rt.reduce_mean(x), rt.reduce_mean(x, [0, 2], True)],
     lambda x: [x.mean(), x.mean((0, 2), keepdims=True)], (T,)),
    ("mean of ints truncates", rt.reduce_mean, lambda x: i32(-1), (i32([-1, -2]),)),
    ("mean of float64", rt.reduce_mean, np.mean, (D,)),
    ("variance", lambda x: rt.math.reduce_variance(x, 0), lambda x: x.var(0), (M,)),
    ("std", lambda x: rt.math.reduce_std(x), lambda x: x.std(), (M,)),
    ("logsumexp", lambda x: rt.reduce_logsumexp(x * 100, 1),
     lambda x: f32([np.logaddexp.reduce(r.astype(float)) for r in x * np.float32(100)]), (M,)),
    ("logsumexp of -inf", lambda x: rt.reduce_logsumexp(rt.math.log(x * 0)), lambda x: f32(-np.inf), (V,)),
    ("euclidean norm", lambda x: rt.math.reduce_euclidean_norm(x, 1), lambda x: np.linalg.norm(x, axis=1), (M,)),
    ("count_nonzero", lambda x: rt.math.count_nonzero(x), lambda x: np.int64(4), (N,)),
    ("argmax", lambda x: [rt.argmax(x), rt.argmax(x, 1, rt.int32)], lambda x: [x.argmax(0), i32(x.argmax(1))], (M,)),
    ("argmin", lambda x: rt.argmin(x, -1), lambda x: x.argmin(-1), (T,)),
    ("cumsum", lambda x: rt.cumsum(x, 1), lambda x: x.cumsum(1), (M,)),
    ("cumsum reverse", lambda x: rt.cumsum(x, reverse=True), lambda x: x[::-1].cumsum(0)[::-1], (M,)),
    ("cumsum exclusive", lambda x: rt.cumsum(x, exclusive=True), lambda x: i32([0, 3, 2, 4, 4]), (N,)),
    ("cumprod both", lambda x: rt.math.cumprod(x, exclusive=True, reverse=True), lambda x: i32([0, 0, 0, 7, 1]),
     (N,)),
]

SHAPES: list[Case] = [
    ("shape", rt.shape, lambda x: i32(x.shape), (T,)),
    ("shape int64", lambda x: rt.shape(x, rt.int64), lambda x: np.array(x.shape), (T,)),
    ("shape item", lambda x: rt.shape(x)[1] * 2, lambda x: i32(6), (T,)),
    ("shape of scalar", rt.shape, lambda x: i32([]), (S,)),
    ("size rank", lambda x: [rt.size(x), rt.rank(x)], lambda x: [i32(24), i32(3)], (T,)),
    ("size int64", lambda x: rt.size(x, rt.int64), lambda x: np.int64(24), (T,)),
    ("reshape", lambda x: rt.reshape(x, [4, 6]), lambda x: x.reshape(4, 6), (T,)),
    ("reshape -1", lambda x: rt.reshape(x, [2, -1]), lambda x: x.reshape(2, -1), (T,)),
    ("reshape by shape", lambda x, y: rt.reshape(x, rt.shape(y)), lambda x, y: x.reshape(y.shape),
     (T, T.reshape(4, 6))),
    ("reshape mixed", lambda x: rt.reshape(x, [rt.shape(x)[0], -1]), lambda x: x.reshape(2, -1), (T,)),
    ("reshape concat", lambda x: rt.reshape(x, rt.concat([rt.shape(x)[:1], [-1]], 0)), lambda x: x.reshape(2, -1),
     (T,)),
    ("reshape to scalar", lambda x: rt.reshape(x, []), lambda x: x.reshape(()), (V[:1],)),
    ("reshape by operand", lambda x, s: rt.reshape(x, [s, 2]), lambda x, s: x.reshape(s, 2), (T, i32(12))),
    ("transpose", rt.transpose, np.transpose, (T,)),
    ("transpose perm", lambda x: rt.transpose(x, [1, 0, 2]), lambda x: x.transpose(1, 0, 2), (T,)),
    ("transpose conjugate", lambda x: rt.transpose(x, conjugate=True), np.conj, (C,)),
    ("expand_dims", lambda x: [rt.expand_dims(x, 0), rt.expand_dims(x, -1)], lambda x: [x[None], x[..., None]], (M,)),
    ("squeeze", lambda x: rt.squeeze(x[:, None], 1), lambda x: x, (M,)),
    ("broadcast_to", lambda x: rt.broadcast_to(x, [2, 3, 4]), lambda x: np.broadcast_to(x, (2, 3, 4)), (M,)),
    ("broadcast_to shape", lambda x, y: rt.broadcast_to(x, rt.shape(y)), lambda x, y: np.broadcast_to(x, y.shape),
     (M[0], T)),
    ("concat", lambda x, y: rt.concat([x, y, x], 0), lambda x, y: np.concatenate([x, y, x]), (M, M2)),
    ("concat -1", lambda x: rt.concat([x, x[..., :1]], -1), lambda x: np.concatenate([x, x[..., :1]], -1), (T,)),
    ("concat with list", lambda x: rt.concat([x, [1, 2]], 0), lambda x: f32([*x, 1, 2]), (V,)),
    ("stack", lambda x, y: [rt.stack([x, y]), rt.stack([x, y], -1)],
     lambda x, y: [np.stack([x, y]), np.stack([x, y], -1)], (M, M2)),
    ("stack scalars", lambda x: rt.stack([x[0], 1, x[1]]), lambda x: f32([x[0], 1, x[1]]), (V,)),
    ("stack lists", lambda x: rt.stack([x, [1, 2, 3, 4, 5]]), lambda x: np.stack([x, i32([1, 2, 3, 4, 5])]), (N,)),
    ("split", lambda x: rt.split(x, 2, axis=1), lambda x: np.split(x, 2, 1), (M,)),
    ("split sizes", lambda x: rt.split(x, [1, 3], axis=-1), lambda x: np.split(x, [1], -1), (M,)),
    ("pad", lambda x: rt.pad(x, [[1, 0], [2, 1]]), lambda x: np.pad(x, [[1, 0], [2, 1]]), (M,)),
    ("pad value", lambda x: rt.pad(x, [[1, 1]], constant_values=9), lambda x: np.pad(x, 1, constant_values=9), (N,)),
    ("pad tensor", lambda x, p: rt.pad(x, p), lambda x, p: np.pad(x, p), (M, i32([[1, 0], [0, 2]]))),
    ("pad mixed", lambda x: rt.pad(x, [[0, 8 - rt.shape(x)[0]]]), lambda x: np.pad(x, [0, 3]), (V,)),
    ("pad reflect", lambda x: rt.pad(x, [[1, 2], [3, 0]], "reflect"),
     lambda x: np.pad(x, [[1, 2], [3, 0]], "reflect"),
     (M,)),
    ("pad symmetric", lambda x: rt.pad(x, [[1, 2], [3, 0]], "SYMMETRIC"),
     lambda x: np.pad(x, [[1, 2], [3, 0]], "symmetric"), (M,)),
    ("tile", lambda x: rt.tile(x, [2, 3]), lambda x: np.tile(x, (2, 3)), (M,)),
    ("tile by tensor", lambda x, n: rt.tile(x, [n, 1]), lambda x, n: np.tile(x, (n, 1)), (M, i32(2))),
    ("roll by tensor", lambda x, n: rt.roll(x, n, 1), lambda x, n: np.roll(x, n, 1), (M, i32(-2))),
    ("roll of no rows", lambda x, n: rt.roll(x[:0], n, 0), lambda x, n: x[:0], (M, i32(3))),
    ("roll by tensors", lambda x, n: rt.roll(x, [n, 1], [0, 1]), lambda x, n: np.roll(x, [n, 1], [0, 1]), (M, i32(7))),
    ("tile by none", lambda x: rt.tile(x, [1, 0]), lambda x: np.tile(x, (1, 0)), (M,)),
    ("repeat", lambda x: rt.repeat(x, 2), lambda x: x.repeat(2), (M,)),
    ("repeat axis", lambda x: rt.repeat(x, 3, axis=1), lambda x: x.repeat(3, 1), (M,)),
    ("repeat each", lambda x: rt.repeat(x, [2, 0, 1], axis=0), lambda x: x.repeat([2, 0, 1], 0), (M,)),
    ("repeat none", lambda x: rt.repeat(x, rt.zeros([0], rt.int32)), lambda x: x, (np.zeros(0, np.float32),)),
    ("repeat by tensor", lambda x, n: rt.repeat(x, n), lambda x, n: x.repeat(n), (V, i32(2))),
    ("roll", lambda x: rt.roll(x, 2, 0), lambda x: np.roll(x, 2), (V,)),
    ("roll axes", lambda x: rt.roll(x, [1, -1], [0, 1]), lambda x: np.roll(x, (1, -1), (0, 1)), (M,)),
    ("reverse", lambda x: rt.reverse(x, [1]), lambda x: x[:, ::-1], (M,)),
    ("zeros_like", lambda x: [rt.zeros_like(x), rt.ones_like(x, rt.int32)],
     lambda x: [np.zeros_like(x), np.ones_like(x, np.int32)], (M,)),
    ("zeros by shape", lambda x: rt.zeros([rt.shape(x)[0], 2]), lambda x: f32(np.zeros((3, 2))), (M,)),
    ("fill", lambda x: rt.fill([2, rt.shape(x)[0]], x[0, 0]), lambda x: np.full((2, 3), x[0, 0]), (M,)),
    ("eye", lambda x: rt.eye(rt.shape(x)[0], 4, batch_shape=[2]), lambda x: f32([np.eye(3, 4)] * 2), (M,)),
    ("range", lambda n: rt.range(n), lambda n: i32(range(n)), (i32(4),)),
    ("range 3", lambda n: rt.range(2, n, 3), lambda n: i32(range(2, n, 3)), (i32(12),)),
    ("range back", lambda n: rt.range(n, 0, -1), lambda n: i32(range(n, 0, -1)), (i32(3),)),
    ("range empty", lambda n: rt.range(n, 0), lambda n: i32([]), (i32(3),)),
    ("range floats", lambda n: rt.range(0, n, 0.5), lambda n: np.arange(0, n, 0.5, np.float32), (f32(2),)),
    ("linspace", lambda x: rt.linspace(x, 2.0, 5), lambda x: np.linspace(x, 2.0, 5, dtype=np.float32), (f32(-1),)),
    ("linspace of float64", lambda x: rt.linspace(x, 4.0, 5) + rt.linspace(0, x, 5),
     lambda x: np.linspace(x, 4.0, 5) + np.linspace(0, x, 5), (np.array(-1.0),)),
    ("linspace vectors", lambda x: rt.linspace(x, x + 1, 3, axis=-1),
     lambda x: f32(np.linspace(x, x + 1, 3, axis=-1)), (V,)),
    ("linspace of one", lambda x: rt.linspace(x, 9.0, 1), lambda x: f32([x]), (S,)),
    ("linspace num", lambda n: rt.linspace(0.0, 1.0, n), lambda n: f32(np.linspace(0, 1, n)), (i32(7),)),
    ("one_hot", lambda x: rt.one_hot(x, 4), lambda x: f32(x[:, None] == np.arange(4)), (N,)),
    ("one_hot axis", lambda x: rt.one_hot(x, 3, 5, -1, axis=0),
     lambda x: i32(np.where(x[None] == np.arange(3)[:, None, None], 5, -1)), (J,)),
    ("one_hot bool", lambda x: rt.one_hot(x, 3, dtype=bool), lambda x: x[:, None] == np.arange(3), (N,)),
    ("one_hot on off bool", lambda x: rt.one_hot(x, 3, False, True), lambda x: x[:, None] != np.arange(3), (N,)),
    ("sequence_mask", lambda x: rt.sequence_mask(x), lambda x: np.arange(7) < x[:, None], (N,)),
    ("sequence_mask maxlen", lambda x: rt.sequence_mask(x, 2, rt.float32), lambda x: f32(np.arange(2) < x[:, None]),
     (N,)),
    ("meshgrid", lambda x, y: rt.meshgrid(x, y), lambda x, y: list(np.meshgrid(x, y)), (V, N)),
    ("meshgrid ij", lambda x, y: rt.meshgrid(x, y, x, indexing="ij"), lambda x,
     y: list(np.meshgrid(x, y, x, indexing="ij")), (V, N)),
]

INDEXING: list[Case] = [
    ("int", lambda x: [x[1], x[-1, 2]], lambda x: [x[1], x[-1, 2]], (T,)),
    ("slices", lambda x: [x[1:], x[:, ::2], x[..., ::-1], x[:, 3:0:-2]],
     lambda x: [x[1:], x[:, ::2], x[..., ::-1], x[:, 3:0:-2]], (T,)),
    ("slices beyond", lambda x: [x[5:9], x[-9:2], x[2:1]], lambda x: [x[5:9], x[-9:2], x[2:1]], (V,)),
    ("new axes", lambda x: x[None, :, None, ..., 0], lambda x: x[None, :, None, ..., 0], (T,)),
    ("ellipsis", lambda x: [x[...], x[..., 1], x[0, ..., 1]], lambda x: [x, x[..., 1], x[0, ..., 1]], (T,)),
    ("tensor index", lambda x, i: [x[i], x[:, i], x[-i]], lambda x, i: [x[i], x[:, i], x[-i]], (M, i32(2))),
    ("tensor slices", lambda x, i: [x[i:], x[:i, ::-i], x[i - 1:i + 2]],
     lambda x, i: [x[i:], x[:i, ::-i], x[i - 1:i + 2]], (M, i32(1))),
    ("mask", lambda x, m: x[m], lambda x, m: x[m], (M, MB)),
    ("mask of rows", lambda x, m: x[m], lambda x, m: x[m], (M, B[:3])),
    ("mask of columns", lambda x, m: x[:, m], lambda x, m: x[:, m], (M, B[:4])),
    ("positions", lambda x, i: x[i], lambda x, i: x[i], (M, J)),
    ("positions from the end", lambda x, i: x[:, i - 2], lambda x, i: x[:, i - 2], (M, J)),
    ("list of positions", lambda x: x[[0, -1]], lambda x: x[[0, -1]], (M,)),
    ("positions after int", lambda x, i: x[1, :, i], lambda x, i: x[1, :, i], (T, J)),
    ("several positions", lambda x, i: x[i, :, i], lambda x, i: x[i, :, i], (T, np.minimum(J, 1))),
    ("boolean_mask", lambda x, m: rt.boolean_mask(x, m), lambda x, m: x[m], (M, MB)),
    ("boolean_mask axis", lambda x, m: rt.boolean_mask(x, m, axis=1), lambda x, m: x[:, m], (T, B[:3])),
    ("slice", lambda x: rt.slice(x, [0, 1], [2, -1]), lambda x: x[0:2, 1:], (M,)),
    ("slice by tensor", lambda x, i: rt.slice(x, [i, 0], [1, 3]), lambda x, i: x[i:i + 1, :3], (M, i32(2))),
    ("slice by operands", lambda x, b, s: rt.slice(x, b, s), lambda x, b, s: x[b[0]:b[0] + s[0]],
     (V, i32([1]), i32([3]))),
    ("strided_slice", lambda x: rt.strided_slice(x, [0, 3], [3, 0], [2, -1]), lambda x: x[0:3:2, 3:0:-1], (M,)),
    ("strided_slice with masks",
     lambda x: rt.strided_slice(x, [2, 1], [9, 0], begin_mask=1, end_mask=3, shrink_axis_mask=2),
     lambda x: x[:, 1], (M,)),
    ("strided_slice with ... and an axis",
     lambda x: rt.strided_slice(x, [0, 0, 1], [0, 0, 3], ellipsis_mask=1, new_axis_mask=2),
     lambda x: x[..., None, 1:3], (M,)),
    ("gather", lambda x, i: rt.gather(x, i), lambda x, i: x[i], (M, J)),
    ("gather axis", lambda x, i: rt.gather(x, i, axis=-1), lambda x, i: x[:, i], (M, J)),
    ("gather batch", lambda x, i: rt.gather(x, i, batch_dims=1), lambda x,
     i: np.stack([a[b] for a, b in zip(x, i, strict=True)]), (T, J)),
    ("gather batch axis", lambda x, i: rt.gather(x, i, axis=2, batch_dims=1),
     lambda x, i: np.stack([a[:, b] for a, b in zip(x, i, strict=True)]), (T, J)),
    ("gather list", lambda x: rt.gather(x, [0, 2]), lambda x: x[[0, 2]], (M,)),
    ("scatter_nd_add repeats", lambda x: rt.tensor_scatter_nd_add(x, [[0], [0], [2]], [1.0, 2.0, 3.0]),
     lambda x: x + f32([3, 0, 3, 0, 0]), (V,)),
    ("scatter_nd_sub", lambda x: rt.tensor_scatter_nd_sub(x, [[1]], [1.0]), lambda x: x - f32([0, 1, 0, 0, 0]), (V,)),
    ("scatter_nd_max", lambda x: rt.tensor_scatter_nd_max(x, [[0], [1]], [9.0, -9.0]), lambda x: f32([9, *x[1:]]),
     (V,)),
    ("scatter_nd_min", lambda x: rt.tensor_scatter_nd_min(x, [[0], [1]], [-9.0, 9.0]), lambda x: f32([-9, *x[1:]]),
     (V,)),
    ("scatter_nd_update rows", lambda x: rt.tensor_scatter_nd_update(x, [[2]], [[1, 2, 3, 4]]),
     lambda x: f32([x[0], x[1], [1, 2, 3, 4]]), (M,)),
    ("sort", lambda x: [rt.sort(x), rt.sort(x, 0, "DESCENDING")], lambda x: [np.sort(x), -np.sort(-x, 0)], (M,)),
    ("argsort", lambda x: rt.argsort(x, axis=0), lambda x: i32(x.argsort(0)), (M,)),
    ("argsort is stable", lambda x: rt.argsort(x, direction="DESCENDING"), lambda x: i32([1, 3, 0, 2, 4]),
     (i32([1, 2, 1, 2, 0]),)),
    ("top_k", lambda x: rt.math.top_k(x, 2), lambda x: [-np.sort(-x)[:, :2], i32(np.argsort(-x)[:, :2])], (M,)),
    ("top_k by tensor", lambda x, k: rt.math.top_k(x, k).values, lambda x, k: -np.sort(-x)[:k], (V, i32(3))),
    ("in_top_k", lambda x: rt.math.in_top_k([0, 1, 2], x, 2),
     lambda x: np.argsort(np.argsort(-x))[range(3), range(3)] < 2, (M,)),
    ("searchsorted", lambda x: rt.searchsorted([1, 3, 3, 5], x), lambda x: i32(np.searchsorted([1, 3, 3, 5], x)),
     (N,)),
    ("searchsorted right", lambda x: rt.searchsorted([1, 3, 3, 5], x, "right"),
     lambda x: i32(np.searchsorted([1, 3, 3, 5], x, "right")), (N,)),
    ("searchsorted rows", lambda x: rt.searchsorted(rt.sort(x), x), lambda x: i32(x.argsort().argsort()), (M,)),
    ("unique", lambda x: rt.unique(x), lambda x: [i32([3, 1, 2]), i32([0, 1, 0, 2])], (i32([3, 1, 3, 2]),)),
    ("unique_with_counts", lambda x: rt.unique_with_counts(x).count, lambda x: i32([2, 1, 1]), (i32([3, 1, 3, 2]),)),
    ("segment sum", lambda x: rt.math.unsorted_segment_sum(x, [1, 0, 1], 2), lambda x: np.stack([x[1], x[0] + x[2]]),
     (M,)),
]

LINALG: list[Case] = [
    ("matmul", rt.matmul, np.matmul, (M, M.T.copy())),
    ("matmul transposed", lambda x: [rt.matmul(x, x, transpose_b=True), rt.matmul(x, x, transpose_a=True)],
     lambda x: [x @ x.T, x.T @ x], (M,)),
    ("matmul batch", lambda x, y: x @ y, np.matmul, (T, M.T.copy())),
    ("matmul adjoint", lambda x: rt.matmul(x[:, None], x[:, None], adjoint_a=True),
     lambda x: (x.conj() @ x)[None, None], (C,)),
    ("vectors", lambda x, y: [x @ y, y @ x, y @ y], lambda x, y: [x @ y, y @ x, y @ y], (D, D[0])),
    ("matvec", rt.linalg.matvec, np.matmul, (M, M[0])),
    ("ints", rt.matmul, np.matmul, (J, J.T.copy())),
    ("tensordot", lambda x, y: rt.tensordot(x, y, 1), lambda x, y: np.tensordot(x, y, 1), (T, M.T.copy())),
    ("tensordot axes", lambda x, y: rt.tensordot(x, y, [[1, 2], [0, 1]]), lambda x,
     y: np.tensordot(x, y, [[1, 2], [0, 1]]), (T, M)),
    ("tensordot outer", lambda x, y: rt.tensordot(x, y, 0), lambda x, y: np.tensordot(x, y, 0), (V, M)),
    ("einsum", lambda x, y: rt.einsum("bij,kj->bki", x, y), lambda x, y: np.einsum("bij,kj->bki", x, y), (T, M)),
    ("einsum implicit", lambda x, y: rt.einsum("ij,jk", x, y), np.matmul, (M, M.T.copy())),
    ("einsum dots", lambda x, y: rt.einsum("...ij,jk->...ik", x, y), np.matmul, (T, M.T.copy())),
    ("einsum dots implicit", lambda x: rt.einsum("...j", x), lambda x: x, (T,)),
    ("einsum trace", lambda x: rt.einsum("ii", x), np.trace, (D,)),
    ("norm",
     lambda x: [rt.norm(x), rt.norm(x, axis=1), rt.norm(x, 1, axis=0), rt.norm(x, np.inf, axis=1, keepdims=True),
                        rt.norm(x, 3, axis=1)],
     lambda x: [np.linalg.norm(x), np.linalg.norm(x, axis=1), np.abs(x).sum(0), np.abs(x).max(1, keepdims=True),
                np.linalg.norm(x, 3, axis=1)], (M,)),
    ("matrix norms", lambda x: [rt.norm(x, o, axis=[-2, -1]) for o in ("fro", 1, np.inf)],
     lambda x: [np.linalg.norm(x, o) for o in ("fro", 1, np.inf)], (M,)),
    ("l2_normalize", lambda x: rt.math.l2_normalize(x, 1), lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
     (M,)),
    ("clip_by_norm", lambda x: rt.clip_by_norm(x, 1.0), lambda x: x / np.linalg.norm(x), (M,)),
    ("clip_by_global_norm", lambda x: rt.clip_by_global_norm([x, x], 1.0)[0],
     lambda x: [x / np.linalg.norm([x, x])] * 2, (V,)),
    ("diag", rt.linalg.diag, np.diag, (V,)),
    ("diag_part", rt.linalg.diag_part, np.diag, (M,)),
    ("set_diag", lambda x: rt.linalg.set_diag(x, [7.0, 8.0, 9.0]),
     lambda x: x - np.diag(np.diag(x)) + np.diag([7.0, 8, 9]), (D,)),
    ("trace", rt.linalg.trace, np.trace, (M,)),
    ("band_part", lambda x: [rt.linalg.band_part(x, -1, 0), rt.linalg.band_part(x, 0, 1)],
     lambda x: [np.tril(x), np.triu(np.tril(x, 1))], (M,)),
    ("solve", rt.linalg.solve, np.linalg.solve, (D, D[:, :2].copy())),
    ("solve adjoint", lambda x, y: rt.linalg.solve(x, y, adjoint=True), lambda x, y: np.linalg.solve(x.T, y),
     (D, D[:, :2].copy())),
    ("inv", rt.linalg.inv, np.linalg.inv, (D,)),
    ("det", rt.linalg.det, np.linalg.det, (D,)),
    ("cholesky", lambda x: rt.linalg.cholesky(x @ rt.transpose(x)), lambda x: np.linalg.cholesky(x @ x.T), (D,)),
]

NN: list[Case] = [
    ("relu", rt.nn.relu, lambda x: np.maximum(x, 0), (M,)),
    ("relu ints", rt.nn.relu, lambda x: np.maximum(x, 0), (N,)),
    ("relu6", lambda x: rt.nn.relu6(x * 5), lambda x: np.clip(x * 5, 0, 6), (M,)),
    ("leaky_relu", rt.nn.leaky_relu, lambda x: f32(np.where(x > 0, x, 0.2 * x)), (M,)),
    ("elu", rt.nn.elu, lambda x: np.where(x > 0, x, np.expm1(x)), (M,)),
    ("selu", rt.nn.selu, lambda x: f32(1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x))), (M,)),
    ("gelu", rt.nn.gelu, lambda x: f32([v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in x]), (V,)),
    ("gelu approximate", lambda x: rt.nn.gelu(x, approximate=True),
     lambda x: f32(x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))), (V,)),
    ("silu", rt.nn.silu, lambda x: x * sigmoid(x), (M,)),
    ("softsign", rt.nn.softsign, lambda x: x / (1 + np.abs(x)), (M,)),
    ("softmax", lambda x: [rt.nn.softmax(x), rt.nn.softmax(x * 1000, 0)],
     lambda x: [softmax(x), softmax(x * 1000, 0)], (M,)),
    ("log_softmax", rt.nn.log_softmax, lambda x: np.log(softmax(x)), (M,)),
    ("cross entropy", lambda x: rt.nn.softmax_cross_entropy_with_logits(rt.nn.softmax(x), x),
     lambda x: -(softmax(x) * np.log(softmax(x))).sum(-1), (M,)),
    ("sparse cross entropy", lambda x: rt.nn.sparse_softmax_cross_entropy_with_logits([0, 1, 3], x),
     lambda x: -np.log(softmax(x))[range(3), [0, 1, 3]], (M,)),
    ("sparse cross entropy batch", lambda y, x: rt.nn.sparse_softmax_cross_entropy_with_logits(y, x),
     lambda y, x: -np.take_along_axis(np.log(softmax(x)), y[..., None], -1)[..., 0], (J, T)),
    ("sigmoid cross entropy", lambda x: rt.nn.sigmoid_cross_entropy_with_logits(
        labels=rt.cast(x > 0, rt.float32), logits=x),
     lambda x: -np.log(sigmoid(np.abs(x))), (M,)),
    ("l2_loss", rt.nn.l2_loss, lambda x: f32((x**2).sum() / 2), (M,)),
    ("moments", lambda x: rt.nn.moments(x, [0]), lambda x: (x.mean(0), x.var(0)), (M,)),
    ("batch_normalization", lambda x: rt.nn.batch_normalization(x, *rt.nn.moments(x, [0]), 1.0, 2.0, 1e-3),
     lambda x: f32((x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * 2 + 1), (M,)),
    ("bias_add", lambda x: [rt.nn.bias_add(x, [1, 2, 3, 4]), rt.nn.bias_add(x, [1, 2, 3], "NC...")],
     lambda x: [x + i32([1, 2, 3, 4]), x + i32([[1], [2], [3]])], (T.astype(np.int32),)),
    ("embedding_lookup", lambda x: rt.nn.embedding_lookup(x, [1, 1]), lambda x: x[[1, 1]], (M,)),
]

CASES = {f"{family} {case[0]}": case for family, cases in (
    ("elementwise", ELEMENTWISE), ("reduction", REDUCTIONS), ("shape", SHAPES), ("index", INDEXING),
    ("linalg", LINALG), ("nn", NN)) for case in cases}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str) -> None:
    _, function, expected, arrays = CASES[name]
    check(function, expected, *arrays)


# What needs known shapes, or has no counterpart in NumPy.

def test_squeeze_all_and_unstack_need_known_shapes() -> None:
    check(lambda x: rt.squeeze(x[:, None]), lambda x: x, M, unknown=False)
    check(lambda x: rt.unstack(x, axis=1), lambda x: list(x.T), M, unknown=False)
    check(lambda x: rt.unstack(x, 3), list, M)
    check(lambda x: rt.split(x, [1, -1, 1]), lambda x: np.split(x, [1, 4]), V, unknown=False)


@pytest.mark.parametrize(("dtype", "start", "limit", "delta"), [
    ("uint16", 5, 3, 1), ("uint8", 250, 5, 2), ("int8", -100, 100, 3), ("int8", 100, -100, -128),
    ("int64", 0, (1 << 62) + 1, 1 << 60), ("uint64", (1 << 63) + 5, (1 << 63) + 9, 1),
])
def test_ranges_whose_span_the_dtype_does_not_hold(dtype: str, start: int, limit: int, delta: int) -> None:
    bounds = [np.array(x, dtype) for x in (start, limit, delta)]
    check(rt.range, lambda *_: np.array(range(start, limit, delta), dtype), *bounds)


@pytest.mark.parametrize("batch_dims", [1, 2])
def test_gather_nd_with_batches(batch_dims: int) -> None:
    x = RNG.random((2, 3, 4, 5))
    rows = RNG.integers(0, 3, (2, 3, 6, 2) if batch_dims == 2 else (2, 6, 2))

    def expected(x: Any, rows: Any) -> Any:
        if batch_dims == 1:
            return np.stack([a[b[:, 0], b[:, 1]] for a, b in zip(x, rows, strict=True)])
        return np.stack([[a[b[:, 0], b[:, 1]] for a, b in zip(*pair, strict=True)] for pair in zip(x, rows,
            strict=True)])

    check(lambda x: rt.gather_nd(x, rows, batch_dims=batch_dims), lambda x: expected(x, rows), x)
    check(lambda x: rt.gather_nd(x, rows[..., :1] % 2), lambda x: x[rows[..., 0] % 2], x)


def test_scatter_nd_adds_where_rows_repeat() -> None:
    check(lambda u: rt.scatter_nd([[1], [3], [1]], u, [5]), lambda u: f32([0, u[0] + u[2], 0, u[1], 0]), V[:3])
    check(lambda u: rt.scatter_nd([[1], [3], [1]], u, rt.shape(V)), lambda u: f32([0, u[0] + u[2], 0, u[1], 0]),
        V[:3])


INDICES: list[tuple[Any, Any]] = [
    (0, 7.0), (-1, [1.0, 2, 3, 4]), ((1, 2), 5.0), (slice(1, None), 0.0), ((slice(None), 0), [1.0, 2, 3]),
    (slice(None, None, -1), f32(np.arange(12).reshape(3, 4))), (Ellipsis, 1.0), ((Ellipsis, slice(0, 4, 2)), 2.0),
    ([0, 2], 9.0), ((slice(None), [0, -1]), [3.0, 4.0]), (np.array([True, False, True]), 0.0), (MB, 0.0),
    (MB, f32(np.arange(MB.sum()))), ((1, [0, 3]), [5.0, 6.0]), ((slice(0, 2), 1), 8),
]


@pytest.mark.parametrize(("index", "value"), INDICES, ids=str)
def test_setitem(index: Any, value: Any) -> None:
    def expected(x: Any) -> Any:
        x = x.copy()
        x[index] = value
        return x

    check(lambda x: setitem(x, index, value), expected, M)


def test_setitem_by_tensors() -> None:
    def expected(x: Any, i: Any, v: Any) -> Any:
        x = x.copy()
        x[i] = v
        x[:, i] = 2
        return x

    check(lambda x, i, v: setitem(setitem(x, i, v), (slice(None), i), 2), expected, M, i32(1), f32(4))


def test_setitem_leaves_the_tensor_as_it_was() -> None:
    x = rt.constant([1, 2, 3])
    y = setitem(x, 0, 9)
    assert x.numpy().tolist() == [1, 2, 3]
    assert y.numpy().tolist() == [9, 2, 3]


# Creation from Python values.

@pytest.mark.parametrize(("make", "want"), [
    (lambda: rt.constant(3), i32(3)),
    (lambda: rt.constant([1.0, 2]), f32([1, 2])),
    (lambda: rt.constant([1, 2], rt.float64), np.array([1.0, 2])),
    (lambda: rt.constant(1, shape=[2, 2]), i32([[1, 1], [1, 1]])),
    (lambda: rt.constant([1, 2, 3, 4], shape=[2, 2]), i32([[1, 2], [3, 4]])),
    (lambda: rt.zeros([2]), f32([0, 0])),
    (lambda: rt.zeros(3, rt.int32), i32([0, 0, 0])),
    (lambda: rt.ones([], rt.bool), np.array(True)),
    (lambda: rt.ones(rt.TensorShape([1, 2])), f32([[1, 1]])),
    (lambda: rt.zeros(rt.constant([2, 0])), np.zeros((2, 0), np.float32)),
    (lambda: rt.fill([2], 3), i32([3, 3])),
    (lambda: rt.eye(2), f32([[1, 0], [0, 1]])),
    (lambda: rt.eye(2, dtype=rt.bool), np.eye(2, dtype=bool)),
    (lambda: rt.range(3), i32([0, 1, 2])),
    (lambda: rt.range(3.0), f32([0, 1, 2])),
    (lambda: rt.range(0, 1, 0.25), f32([0, 0.25, 0.5, 0.75])),
    (lambda: rt.range(np.int64(2)), np.array([0, 1])),
    (lambda: rt.range(2, dtype=rt.float64), np.array([0.0, 1])),
    (lambda: rt.range(2**40, 2**40 + 1), np.array([2**40])),
    (lambda: rt.range(10, 0, -4), i32([10, 6, 2])),
    (lambda: rt.linspace(0, 1, 3), np.array([0, 0.5, 1])),
    (lambda: rt.concat([[1, 2], [3]], 0), i32([1, 2, 3])),
    (lambda: rt.stack([1, 2]), i32([1, 2])),
    (lambda: rt.stack([[1.0], [2]]), f32([[1], [2]])),
    (lambda: rt.pad([1], [[1, 0]]), i32([0, 1])),
    (lambda: rt.reduce_sum([1, 2]), i32(3)),
    (lambda: rt.reduce_mean([1.0, 2]), f32(1.5)),
    (lambda: rt.where([True, False], 1, 2), i32([1, 2])),
    (lambda: rt.gather([1.0, 2], 1), f32(2)),
    (lambda: rt.matmul([[1.0]], [[2]]), f32([[2]])),
    (lambda: rt.add(1, 2), i32(3)),
    (lambda: rt.maximum(1, 2.5), f32(2.5)),
    (lambda: rt.truediv(1, 2), f32(0.5)),
    (lambda: rt.cast(3.9, rt.int32), i32(3)),
    (lambda: rt.sqrt(4.0), f32(2)),
    (lambda: rt.shape([[1, 2]]), i32([1, 2])),
    (lambda: rt.nn.softmax([0.0, 0.0]), f32([0.5, 0.5])),
    (lambda: rt.nn.relu(-1.0), f32(0)),
])
def test_python_values(make: Callable[[], Any], want: Any) -> None:
    agree(eager(make), [np.asarray(want)])
    agree(staged(make), [np.asarray(want)])


def test_python_numbers_stay_weak_in_a_graph() -> None:
    graph = Graph("weak")
    with tracing(graph):
        n = add_input(graph, TensorType(rt.int32, (), weak=True), "n")
        x = add_input(graph, TensorType(rt.float64), "x")
        assert (n + 1).type == TensorType(rt.int32, (), weak=True)
        assert (n / 2).type == TensorType(rt.float32, (), weak=True)
        assert (n // 2 * 2 % 3).type.weak
        assert (x / n).type == TensorType(rt.float64)
        assert (n / (n + 1) + x).type == TensorType(rt.float64)
        assert (1 / n).type.weak
        assert rt.where(n > 0, n, 2.5).type == TensorType(rt.float32, (), weak=True)


def test_what_is_known_of_shapes() -> None:
    """A graph knows as much of a shape as its ints say."""
    graph = Graph("known")
    with tracing(graph):
        x = add_input(graph, TensorType(rt.float32, (None, 3)), "x")
        n = add_input(graph, TensorType(rt.int32), "n")
        shape = rt.shape(x)
        assert shape.shape == [2]
        assert rt.get_static_value(shape[1]) == 3
        assert rt.reshape(x, [shape[0], 3, 1]).shape.as_list() == [None, 3, 1]
        assert rt.reshape(x, [-1]).shape.as_list() == [None]
        assert rt.reshape(x, rt.concat([shape, [1]], 0)).shape.as_list() == [None, 3, 1]
        assert rt.zeros([n, 4]).shape.as_list() == [None, 4]
        assert rt.ones_like(x).shape.as_list() == [None, 3]
        assert rt.tile(x, [2, n]).shape.as_list() == [None, None]
        assert rt.concat([x, x], 1).shape.as_list() == [None, 6]
        assert rt.concat([x, x], 0).shape.as_list() == [None, 3]
        assert rt.range(5).shape == [5]
        assert rt.range(n).shape.as_list() == [None]
        assert rt.one_hot(rt.cast(x, rt.int32), 7).shape.as_list() == [None, 3, 7]
        assert x[:, :2].shape.as_list() == [None, 2]
        assert x[n].shape == [3]
        assert rt.slice(x, [n, 0], [2, 3]).shape == [2, 3]
        assert rt.matmul(x, rt.ones([3, 5])).shape.as_list() == [None, 5]
        assert rt.boolean_mask(rt.ones([4, 2]), [True] * 4).shape.as_list() == [None, 2]


def test_a_range_is_one_node() -> None:
    graph = Graph("range")
    with tracing(graph):
        n = add_input(graph, TensorType(rt.int32), "n")
        assert isinstance(r := rt.range(n), GraphTensor)
        assert r.value.node is not None
        assert r.value.node.op.name == "range"
        assert isinstance(rt.range(3), GraphTensor)


def test_names_are_hints() -> None:
    graph = Graph("names")
    with tracing(graph):
        x = add_input(graph, TensorType(rt.float32, (3,)), "x")
        set_outputs(graph, [rt.add(rt.nn.relu(x, name="active"), 1, name="sum"), rt.reduce_max(x, name="top")])
    assert str(graph) == """\
graph names(x: float32[3]) -> (float32[3], float32[]) {
  active = relu(x) : float32[3]
  sum = add(active, 1.0) : float32[3]
  top = reduce_max(x, axis=(0,), keepdims=False) : float32[]
  return sum, top
}"""


def test_complex_numbers_of_parts_that_are_infinite() -> None:
    for real, imag in ((1.0, np.inf), (np.inf, -0.0), (np.nan, 2.0)):
        z = rt.complex(rt.constant(real), rt.constant(imag)).numpy()
        assert z.dtype == np.complex64
        np.testing.assert_array_equal([z.real, z.imag], [real, imag])
        assert np.signbit(z.imag) == np.signbit(imag)


def test_the_sign_of_complex_numbers() -> None:
    x = np.array([3 + 4j, 0, -2j, 5], np.complex64)
    for run in (rt.sign, rt.function(rt.sign), rt.function(rt.sign, executor="numpy")):
        np.testing.assert_allclose(run(rt.constant(x)), [0.6 + 0.8j, 0, -1j, 1], rtol=1e-6)
    assert rt.sign(-2).numpy() == -1 and rt.sign(x).dtype is rt.complex64

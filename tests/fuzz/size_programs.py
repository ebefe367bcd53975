"""The programs of `sizes`, and the values that they get.

Producers make an array of hostile sizes, consumers take one apart. In their texts N, K and C are sizes that are inputs
of the program, F a float, L and A literals: a size, and an axis.
"""
from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["PER_PROGRAM", "PRODUCERS", "Argument", "Program", "arguments", "is_large", "program", "standalone"]

PER_PROGRAM: Final = 64
MX: Final = 2 ** 63 - 1
SMALL: Final = (0, 1, 2, 3, 7)
HOSTILE: Final = (
    -1, -2, -7, 5, 8, 64, 1000, -2 ** 31, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 40, 2 ** 47, 2 ** 47 + 1,
    2 ** 61 - 1, 2 ** 61, 2 ** 61 + 1, 2 ** 62 - 1, 2 ** 62, 2 ** 62 + 1, MX, MX - 1, MX - 4, -MX, -MX - 1, -2 ** 62,
    (2 ** 64 + 4) // 5, (2 ** 64 + 5) // 7, (2 ** 64 + 2) // 3, 3037000499, 3037000500, 2 ** 62 // 3, 2 ** 63 // 5)
UNSIGNED: Final = (2 ** 63, 2 ** 63 + 1, 2 ** 64 - 1, 2 ** 64 - 2, 2 ** 64 - 4)
FLOATS: Final = (0.0, 1.0, 2.5, 7.0, -0.0, -1.0, 1e-3, 1e-300, 1e300, -1e300, float("inf"), float("-inf"),
                 float("nan"), 2.0 ** 31, 2.0 ** 53, 2.0 ** 63, 1e19)
AXES: Final = (0, 0, 1, -1, -1, -2, 2, -3, 5, -2 ** 31, 2 ** 31, 2 ** 63 - 1, -2 ** 63, 2 ** 32)

# Text of an expression, and the rank of its result; None for a tuple or a thing of no use to consumers.
PRODUCERS: Final[tuple[tuple[str, int | None], ...]] = (
    ("rt.fill([N], 1.0)", 1), ("rt.fill([N, K], 1.0)", 2), ("rt.fill([N, K, C], C)", 3), ("rt.fill(d, 2.0)", 2),
    ("rt.zeros([N, K])", 2), ("rt.zeros(N)", 1), ("rt.ones([N, 5], rt.uint8)", 2), ("rt.ones([5, N], rt.bool)", 2),
    ("rt.zeros(d, rt.complex128)", 2),
    ("rt.range(N)", 1), ("rt.range(N, K)", 1), ("rt.range(N, K, C)", 1), ("rt.range(-N - 1, N, 1)", 1),
    ("rt.range(0.0, F, 1.0)", 1), ("rt.range(F, G)", 1), ("rt.range(F, G, H)", 1), ("rt.range(F, 3.0, -G)", 1),
    ("rt.reshape(x, [N])", 1), ("rt.reshape(x, [N, -1])", 2), ("rt.reshape(x, [N, K, -1])", 3),
    ("rt.reshape(x, [N, 5, -1])", 3), ("rt.reshape(x, [-1, N, K])", 3), ("rt.reshape(x, d)", 2),
    ("rt.reshape(x, [N, K])", 2), ("rt.reshape(x, [N, L, -1])", 3), ("rt.reshape(m, [N, -1, K, C])", 4),
    ("rt.reshape(x[:0], [N, -1])", 2), ("rt.reshape(x[:0], [N, K, 0])", 3), ("rt.reshape(x[:0], [0, N, K])", 3),
    ("rt.slice(x, [N], [K])", 1), ("rt.slice(x, [N], [N])", 1), ("rt.slice(m, [N, K], [C, -1])", 2),
    ("rt.slice(m, d, d)", 2), ("rt.slice(x, [N], [-1])", 1), ("rt.slice(x, [L], [N])", 1),
    ("x[N:K]", 1), ("x[N:K:C]", 1), ("x[::C]", 1), ("x[N:]", 1), ("x[:N]", 1), ("x[N::-1]", 1), ("x[:N:-2]", 1),
    ("x[L:N]", 1), ("x[N:K:L]", 1), ("m[N:, K:]", 2), ("m[N:K, C]", 1), ("m[..., N:K]", 2), ("m[N, ::-1]", 1),
    ("m[N]", 1), ("m[:, N]", 1), ("m[N:K:-1, ::C]", 2),
    ("x[N]", 0), ("m[N, K]", 0), ("m[N][K]", 0), ("x[L]", 0), ("rt.shape(m)[N]", 0), ("m[-1, N]", 0),
    ("rt.strided_slice(x, [N], [K], [C])", 1), ("rt.strided_slice(m, d, d)", 2),
    ("rt.strided_slice(m, [N, K], [C, 9], [L, 1])", 2),
    ("rt.pad(x, [[N, K]])", 1), ("rt.pad(x, [[N, N]])", 1), ("rt.pad(x, [[N, K]], 'REFLECT')", 1),
    ("rt.pad(x, [[N, K]], 'SYMMETRIC')", 1), ("rt.pad(m, [d, d])", 2), ("rt.pad(m, [[N, K], [C, 1]])", 2),
    ("rt.pad(m, [[1, 1], [N, K]], 'REFLECT')", 2), ("rt.pad(m, [[N, K], [1, C]], 'SYMMETRIC')", 2),
    ("rt.pad(x, [[N, 2 - N]])", 1), ("rt.pad(x, [[L, N]])", 1), ("rt.pad(x, rt.stack([[N, K]]))", 1),
    ("rt.tile(x, [N])", 1), ("rt.tile(m, [N, K])", 2), ("rt.tile(m, d)", 2), ("rt.tile(x[:0], [N])", 1),
    ("rt.tile(rt.reshape(x, [1, -1]), [N, 1])", 2),
    ("rt.repeat(x, N)", 1), ("rt.repeat(m, N, axis=1)", 2), ("rt.repeat(v, v)", 1), ("rt.repeat(m, d, axis=0)", 2),
    ("rt.repeat(x[:0], N)", 1), ("rt.repeat(m[:2], [N, K], axis=0)", 2), ("rt.repeat(m, L, axis=A)", 2),
    ("rt.roll(x, N, 0)", 1), ("rt.roll(m, [N, K], [0, 1])", 2), ("rt.roll(m, N, A)", 2), ("rt.roll(x[:0], N, 0)", 1),
    ("rt.broadcast_to(x, [N, 7])", 2), ("rt.broadcast_to(x[0], [N, K])", 2), ("rt.broadcast_to(x, [N, K])", 2),
    ("rt.broadcast_to(x[:1], d)", 2), ("rt.broadcast_to(x[:0], [N, 0])", 2), ("rt.broadcast_to(x, [N])", 1),
    ("rt.gather(x, [N, K])", 1), ("rt.gather(x, v)", 1), ("rt.gather(m, [N], axis=1)", 2),
    ("rt.gather(m, [N, K], axis=A)", 2), ("rt.gather(m, [[N], [K], [C]], axis=1, batch_dims=1)", 2),
    ("rt.gather(m, v, axis=-1)", 2), ("rt.gather(x, N)", 0), ("rt.gather_nd(m, [[N, K]])", 1),
    ("rt.gather_nd(m, [[N], [K]])", 2), ("rt.gather_nd(m, [d])", 1), ("rt.nn.embedding_lookup(m, [N, K])", 2),
    ("rt.linspace(0.0, 1.0, N)", 1), ("rt.linspace(F, G, N)", 1), ("rt.linspace(F, G, 5)", 1),
    ("rt.one_hot(v, N)", 2), ("rt.one_hot(N, K)", 1), ("rt.one_hot([N, K], 3, axis=0)", 2),
    ("rt.one_hot(v, N, axis=0)", 2), ("rt.one_hot(v, 3, axis=A)", 2), ("rt.one_hot([N, K], C)", 2),
    ("rt.sequence_mask([N, K], C)", 2), ("rt.sequence_mask(v, N)", 2), ("rt.sequence_mask(v)", 2),
    ("rt.sequence_mask([N, K])", 2),
    ("rt.eye(N)", 2), ("rt.eye(N, K)", 2), ("rt.linalg.eye(3, N)", 2), ("rt.eye(2, batch_shape=[N])", 3),
    ("rt.scatter_nd([[N], [K]], [1.0, 2.0], [C])", 1), ("rt.scatter_nd([[0]], [1.0], [N])", 1),
    ("rt.scatter_nd([[N]], [[1.0, 2.0]], [K, 2])", 2), ("rt.scatter_nd([[0]], [1.0], d[:1])", 1),
    ("rt.tensor_scatter_nd_update(x, [[N], [K]], [1.0, 2.0])", 1),
    ("rt.tensor_scatter_nd_add(m, [[N, K]], [1.0])", 2), ("rt.tensor_scatter_nd_max(m, [d], [9.0])", 2),
    ("rt.tensor_scatter_nd_min(x, [[L]], [F])", 1),
    ("rt.math.top_k(x, N).values", 1), ("rt.math.top_k(m, N).indices", 2), ("rt.math.top_k(x, L).values", 1),
    ("rt.split(x, L)[0]", 1), ("rt.split(m, 2, axis=A)[0]", 2), ("rt.split(m, [1, L], axis=A)[0]", 2),
    ("rt.random.stateless_uniform([N, K], [1, 2])", 2), ("rt.random.stateless_uniform(d, [1, 2])", 2),
    ("rt.random.stateless_normal([N], [K, C])", 1), ("rt.shape(rt.random.uniform([N, K]))", 1),
    ("rt.shape(rt.random.normal([N]))", 1), ("rt.shape(rt.random.uniform([3], N, K, rt.int64))", 1),
    ("rt.shape(rt.random.shuffle(rt.range(N)))", 1), ("rt.shape(rt.random.categorical(m, N))", 1),
    ("rt.random.stateless_uniform([N], [1, 2], 0, 5, rt.int32)", 1),
    ("rt.shape(rt.random.truncated_normal([N, K]))", 1),
    ("rt.math.unsorted_segment_sum(x, v2, N)", 1), ("rt.math.unsorted_segment_sum([1.0, 2.0], [N, K], C)", 1),
    ("rt.math.unsorted_segment_sum([1.0, 2.0], [N, K], 4)", 1), ("rt.math.unsorted_segment_sum(m[:2], d, N)", 2),
    ("rt.linalg.band_part(m, N, K)", 2), ("rt.linalg.band_part(m, L, 0)", 2), ("rt.linalg.diag(rt.range(N))", 2),
    ("rt.linalg.diag_part(m)", 1), ("rt.linalg.diag(x)", 2),
    ("rt.expand_dims(m, A)", 3), ("rt.transpose(m, [A, A])", 2), ("rt.concat([m, m], A)", 2),
    ("rt.stack([m, m], A)", 3), ("rt.reduce_sum(m, A)", 1), ("rt.reduce_max(m, [A])", 1), ("rt.argmax(m, A)", 1),
    ("rt.cumsum(m, A)", 2), ("rt.math.cumprod(m, A, exclusive=True)", 2), ("rt.sort(m, A)", 2),
    ("rt.argsort(m, A)", 2), ("rt.reverse(m, [A])", 2), ("rt.squeeze(rt.reshape(x, [1, -1]), [A])", 1),
    ("rt.reduce_mean(m, [A, A])", 0), ("rt.nn.softmax(m, A)", 2), ("rt.norm(m, axis=A)", 1),
    ("rt.unstack(m, 3, A)[0]", 1), ("rt.tensordot(m, m, [[A], [A]])", 2), ("rt.tensordot(m, m, L)", 0),
    ("rt.math.reduce_std(m, A)", 1), ("rt.math.count_nonzero(m, A)", 1), ("rt.reduce_any(m > 1.0, A)", 1),
    ("rt.reduce_min(m, A, keepdims=True)", 2), ("rt.math.l2_normalize(m, A)", 2),
    ("rt.boolean_mask(m, m[0] > 1, axis=A)", 2),
    ("rt.concat([rt.fill([N], 1.0), rt.fill([K], 1.0), x], 0)", 1), ("rt.concat([rt.fill([N, 2], 1.0), m], A)", 2),
    ("rt.concat([rt.zeros([N, 0]), rt.zeros([K, 0])], 0)", 2), ("rt.stack([rt.range(N), rt.range(K)])", 2),
    ("rt.math.in_top_k([0, 1, 2], m, L)", 1), ("rt.meshgrid(rt.range(N), rt.range(K))[0]", 2),
    ("rt.tensordot(rt.range(N), rt.range(K), 0)", 2), ("rt.einsum('i,j->ij', rt.range(N), rt.range(K))", 2),
    ("rt.matmul(rt.fill([N, K], 1.0), rt.fill([K, C], 1.0))", 2), ("rt.matmul(rt.ones([N, 0]), rt.ones([0, K]))", 2),
    ("rt.expand_dims(rt.range(N), 1) + rt.range(K)", 2),
    ("rt.expand_dims(rt.fill([N], 1.0), 1) * rt.fill([K], 2.0)", 2),
    ("rt.where(rt.range(N) > K)", 2), ("rt.where(rt.fill([N], True), rt.range(N), rt.range(K))", 1),
    ("rt.foldl(lambda a, b: a + b, rt.range(N))", 0), ("rt.map_fn(lambda a: a * 2, rt.range(N))", 1),
    ("rt.nn.max_pool1d(rt.reshape(x, [1, -1, 1]), 2, L, 'SAME')", 3),
    ("rt.nn.max_pool1d(rt.reshape(x, [1, -1, 1]), L, 1, 'VALID')", 3),
    ("rt.nn.avg_pool1d(rt.reshape(x, [N, -1, 1]), 2, 1, 'VALID')", 3),
    ("rt.nn.conv1d(rt.reshape(x, [1, -1, 1]), rt.ones([2, 1, 1]), L, 'SAME')", 3),
    ("rt.nn.conv1d(rt.reshape(x, [N, -1, 1]), rt.ones([K, 1, 1]), 1, 'VALID')", 3),
    ("rt.nn.conv1d(rt.reshape(x, [1, -1, 1]), rt.ones([2, 1, 1]), 1, 'SAME', dilations=L)", 3),
    ("rt.nn.conv1d(rt.zeros([1, N, 0]), rt.ones([K, 0, 2]), 1, 'SAME')", 3),
    ("rt.nn.conv1d_transpose(rt.reshape(x, [1, -1, 1]), rt.ones([2, 1, 1]), [1, N, 1], 2)", 3),
    ("rt.nn.conv1d_transpose(rt.reshape(x, [1, -1, 1]), rt.ones([2, 1, 1]), [N, K, C], 1)", 3),
    ("rt.nn.conv2d_backprop_input([N, K, 3, 1], rt.ones([2, 2, 1, 1]), rt.ones([1, 2, 2, 1]), 1, 'SAME')", 4),
    ("rt.nn.conv2d_backprop_filter(rt.ones([1, 3, 3, 1]), [N, K, 1, 1], rt.ones([1, 2, 2, 1]), 1, 'VALID')", 4),
    ("rt.bitwise.left_shift(N, K)", 0), ("N // K", 0), ("N % K", 0), ("rt.range(N)[K]", 0),
    ("rt.searchsorted(rt.range(N), rt.range(K))", 1), ("rt.unique(rt.range(N)).y", 1),
    ("rt.clip_by_value(rt.range(N), K, C)", 1), ("rt.zeros_like(rt.zeros([N, K]))", 2),
    ("rt.cast(F, rt.int32) + rt.range(3)", 1), ("rt.fill([rt.cast(F, rt.int64)], 1.0)", 1),
    ("rt.argmin(rt.zeros([N, K]), 1)", 1), ("rt.reduce_min(rt.zeros([N, K]), 0)", 1),
    ("rt.linalg.det(rt.eye(N))", 0), ("rt.linalg.cholesky(rt.eye(N))", 2),
    ("rt.linalg.solve(rt.eye(N), rt.ones([N, K]))", 2),
    ("rt.nn.max_pool_with_argmax(rt.reshape(x, [N, -1, 1, 1]), 2, 1, 'VALID')[0]", 4),
    ("rt.complex(rt.zeros([N, 1]), rt.zeros([K]))", 2), ("rt.math.real(rt.zeros(d, rt.complex128))", 2),
    ("rt.math.imag(rt.zeros([N], rt.complex64))", 1), ("rt.math.conj(rt.zeros([N, K], rt.complex64))", 2),
    ("rt.atan2(rt.zeros([N, 1]), rt.zeros([K]))", 2), ("rt.pow(rt.zeros([N]), rt.zeros([K, 1]))", 2),
    ("rt.bitwise.bitwise_xor(rt.range(N), K)", 1), ("rt.bitwise.right_shift(rt.range(N), K)", 1),
    ("rt.debugging.check_numerics(rt.zeros([N, K]), 'no number')", 2), ("rt.stop_gradient(rt.zeros([N]))", 1),
    ("rt.not_equal(rt.range(N), K)", 1), ("rt.math.cumprod(rt.zeros([N, K]), 1)", 2), ("rt.nn.relu(rt.zeros([N]))", 1),
    *[(f"rt.math.{name}(rt.zeros([N, K]))", 2) for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1",
        "floor", "log1p", "rint", "sigmoid", "sign", "sin", "sinh", "softplus", "tan", "tanh")],
    ("rt.TensorArray(rt.float32, size=N, element_shape=[]).stack()", 1),
    ("rt.TensorArray(rt.float32, size=N, element_shape=[2]).stack()", 2),
    ("rt.TensorArray(rt.float32, size=N, element_shape=[]).write(K, 1.0).stack()", 1),
    ("rt.TensorArray(rt.float32, size=0, dynamic_size=True, element_shape=[]).write(N, 1.0).stack()", 1),
    ("rt.TensorArray(rt.float32, size=0, dynamic_size=True).unstack(x).read(N)", 0),
    ("rt.TensorArray(rt.float32, size=0, dynamic_size=True).unstack(x).gather([N, K])", 1),
    ("rt.TensorArray(rt.float32, size=3).split(x, [N, K, C]).read(0)", 1),
    ("rt.TensorArray(rt.float32, size=2).split(x, [N, 7 - N]).concat()", 1),
    ("rt.TensorArray(rt.float32, size=0, dynamic_size=True).scatter([N, K], [1.0, 2.0]).stack()", 1),
    ("rt.TensorArray(rt.float32, size=N, element_shape=[]).size()", 0),
    ("rt.TensorArray(rt.float32, size=2, infer_shape=False).write(0, rt.fill([N], 1.0)).write(1, rt.fill([K], 2.0))"
     ".concat()", 1),
    ("rt.TensorArray(rt.float32, size=2).write(0, rt.fill([N], 1.0)).write(1, rt.fill([N], 2.0)).stack()", 2),
)

# Takes Y, an array of rank at least 1 (at least 2 in the second table).
CONSUMERS: Final = (
    "Y[0]", "Y[-1]", "Y[K]", "Y[K:]", "Y[::-1]", "Y[K:C:-1]", "rt.reduce_sum(rt.cast(Y, rt.float32))",
    "rt.reduce_max(Y)", "rt.shape(Y)", "rt.size(Y)", "rt.sort(Y)", "rt.concat([Y, Y], 0)", "rt.reshape(Y, [-1])",
    "rt.reshape(Y, [K, -1])", "rt.reshape(Y, [K, 5, -1])", "rt.cumsum(Y)", "rt.gather(Y, [K])", "rt.reverse(Y, [0])",
    "Y + Y", "rt.transpose(Y)", "rt.stack([Y, Y])", "rt.argmax(Y)", "rt.shape(Y, out_type=rt.int64)[0] + 1",
    "rt.reshape(Y, [-1])[K]", "rt.where(rt.cast(Y, rt.bool))", "rt.repeat(Y, 2, axis=0)", "rt.expand_dims(Y, 0)[0]",
    "rt.roll(Y, K, 0)", "rt.reduce_prod(rt.shape(Y))", "rt.identity(Y)", "rt.zeros_like(Y)", "rt.reduce_max(Y, 0)",
    "rt.zeros(rt.shape(Y, out_type=rt.int64))", "rt.tile(rt.reshape(Y, [-1]), [2])", "rt.cast(Y, rt.float64) * 0.5",
    "rt.unique(rt.reshape(Y, [-1])).y", "rt.gather(Y, [0, K], axis=-1)", "Y[..., -1]", "rt.argsort(Y)",
    "rt.reduce_mean(rt.cast(Y, rt.float32), -1)", "rt.split(Y, [1, -1], 0)[1]",
    "rt.broadcast_to(Y, rt.concat([[K], rt.shape(Y, out_type=rt.int64)], 0))", "rt.cast(Y, rt.int32)[K:][0]",
)
MATRIX_CONSUMERS: Final = (
    "rt.matmul(rt.cast(Y, rt.float32), rt.cast(Y, rt.float32), transpose_b=True)", "Y[K, 0]", "Y[0, K]", "Y[:, 0]",
    "rt.reduce_sum(rt.cast(Y, rt.float32), 0)", "rt.cumsum(Y, 1)", "rt.concat([Y, Y], 1)", "Y[1:, ::-1]",
    "rt.pad(rt.reshape(Y, [1, -1]), [[1, 1], [0, 2]])", "rt.linalg.matrix_transpose(Y)", "rt.unstack(Y[:2], 2)[1]",
    "rt.reduce_max(Y, 1)", "rt.sort(Y, 0)",
)
ASSIGNED: Final = (
    "rt.tensor_scatter_nd_update(x, [[N]], [F])", "rt.concat([x, x[N:]], 0)", "rt.concat([x, rt.fill([K], 1.0)], 0)",
    "rt.pad(x, [[0, N]])", "x[K:]", "rt.roll(x, N, 0)", "rt.gather(x, [N, K])", "rt.reshape(x, [N, -1])[0]",
    "x + rt.cast(N, rt.float32)", "rt.repeat(x, N)", "rt.slice(x, [N], [K])", "rt.tile(x, [N])", "rt.fill([N], 2.0)",
    "rt.cast(rt.range(N), rt.float32)", "rt.scatter_nd([[N]], [1.0], [K])",
)
# Whole bodies: P stands for a producer of rank 1 or 2, Q for another of the same rank, W for what is assigned to x.
BODIES: Final = (
    """
    if N > K:
        a = P
    else:
        a = P
    return rt.shape(a), a
""",
    """
    total = rt.constant(0.0)
    for i in rt.range(3):
        a = P
        total += rt.reduce_sum(rt.cast(a, rt.float32))
    return total
""",
    """
    for i in rt.range(2):
        rt.autograph.experimental.set_loop_options(shape_invariants=[(x, rt.TensorShape([None]))])
        x = W
    return x
""",
    """
    i = rt.constant(0)
    while i < 2:
        rt.autograph.experimental.set_loop_options(shape_invariants=[(x, rt.TensorShape([None]))])
        x = W
        i += 1
    return x, i
""",
    """
    out = []
    for i in rt.range(3):
        out.append(rt.reduce_sum(rt.cast(P, rt.float32)))
    return rt.stack(out)
""",
    """
    out = []
    for i in rt.range(3):
        out.append(P)
    return rt.stack(out)
""",
    """
    out = []
    for i in rt.range(2):
        out.append(W)
    return rt.concat(out, 0)
""",
    """
    out = [0.0]
    for i in rt.range(N):
        if i > 50:
            break
        out.append(F)
    return out[K]
""",
    """
    out = [1.0, 2.0, 3.0]
    for i in rt.range(2):
        out[N] = 5.0
        out.insert(K, 1.0)
    return out
""",
    """
    out = [1.0, 2.0, 3.0]
    for i in rt.range(2):
        out.append(0.0)
    return out[N:K:C]
""",
    """
    out = [1.0, 2.0, 3.0]
    for i in rt.range(2):
        out.append(out.pop(N))
    return out
""",
    """
    out = [0.0] * N
    for i in rt.range(2):
        out.append(F)
    return len(out)
""",
    """
    total = rt.constant(0.0)
    for e in P:
        total += rt.reduce_sum(rt.cast(e, rt.float32))
    return total
""",
    """
    total = rt.constant(0, rt.int64)
    for i in rt.range(N, K, C):
        total += i
        if total > 1000:
            break
    return total
""",
    """
    x = rt.identity(x)
    x[N] = 5.0
    return x
""",
    """
    x = rt.identity(x)
    x[N:K] = 5.0
    return x
""",
    """
    x = rt.identity(x)
    x[N:K:C] = 5.0
    return x
""",
    """
    x = rt.identity(x)
    x[::C] = F
    return x
""",
    """
    m = rt.identity(m)
    m[N, K] = 5.0
    return m
""",
    """
    m = rt.identity(m)
    m[N:, K] = 5.0
    return m
""",
    """
    m = rt.identity(m)
    m[N] = x[:4]
    return m
""",
    """
    x = rt.identity(x)
    for i in rt.range(3):
        x[N + rt.cast(i, N.dtype)] = 5.0
    return x
""",
    """
    x = rt.identity(x)
    x[N:K] = x[K:C]
    return x
""",
    """
    try:
        a = P
    except rt.errors.InvalidArgumentError:
        a = x
    return rt.shape(a)
""",
    """
    ta = rt.TensorArray(rt.float32, size=0, dynamic_size=True, element_shape=[])
    for i in rt.range(3):
        ta = ta.write(rt.cast(i, rt.int32) + rt.cast(N, rt.int32), F)
    return ta.stack()
""",
    """
    ta = rt.TensorArray(rt.float32, size=N, element_shape=[])
    for i in rt.range(3):
        ta = ta.write(i, F)
    return ta.stack()
""",
    """
    out, more = [], []
    for i in rt.range(N % 3):
        more.append(x[K])
        out.extend(more)
    return out[C]
""",
)
_HOLE: Final = re.compile(r"\b([NKCFGHLAPQWY])\b")


@dataclass(frozen=True)
class Argument:
    """A parameter of a program. `sizes`: a vector of sizes."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Program:
    """`kind`: what to group failures by."""

    text: str
    kind: str
    arguments: tuple[Argument, ...]


class _Writer:
    """Fills the holes of texts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def fill(self, text: str, depth: int = 0) -> str:
        def one(match: re.Match[str]) -> str:
            hole = match[1]
            if hole in "NKC":
                return hole.lower() * (hole != "C") + "c" * (hole == "C") + "_"
            if hole in "FGH":
                return f"{hole.lower()}_"
            if hole == "L":
                return str(self.rng.choice(SMALL if self.rng.random() < 0.3 else HOSTILE))
            if hole == "A":
                return str(self.rng.choice(AXES))
            if hole == "W":
                return self.fill(self.rng.choice(ASSIGNED))
            assert hole == "P"
            return self.fill(self.rng.choice([p for p, rank in PRODUCERS if rank in (1, 2)]))

        return _HOLE.sub(one, text)


def program(seed: int, number: int) -> Program:
    """Program `number` of a seed: each producer alone, then with a consumer or in a body, then in chains."""
    rng = random.Random(f"program {seed} {number}")
    writer = _Writer(rng)
    bodies = len(PRODUCERS) + len(BODIES)
    if number < len(PRODUCERS):
        kind, rank = PRODUCERS[number]
        body = f"    return {writer.fill(kind)}\n"
    elif number < bodies or rng.random() < 0.2:
        body = (BODIES[number - len(PRODUCERS)] if number < bodies else rng.choice(BODIES)).removeprefix("\n")
        kind = " ".join(body.split())
        body = writer.fill(body)
    else:
        kind, rank = rng.choice([p for p in PRODUCERS if p[1]])
        lines = [f"    y = {writer.fill(kind)}\n"]
        for k in range(1 if number < 4 * bodies else rng.randint(1, 3)):
            usable = CONSUMERS + (MATRIX_CONSUMERS if rank and rank > 1 and not k else ())
            consumer = rng.choice(usable)
            kind += f"; {consumer}"
            lines.append(f"    y = {writer.fill(consumer.replace('Y', 'y'))}\n")
        body = "".join(lines) + "    return y\n"
    words = set(re.findall(r"\w+", body))
    sizes = rng.choices(["int64", "int32", "uint64", "uint8"], [12, 4, 1, 1])[0]
    hidden = rng.random() < 0.7
    named = (("x", (7,), "float32"), ("m", (3, 4), "float32"), ("v", (3,), sizes), ("v2", (7,), sizes),
             ("d", (2,), sizes),
             ("n_", (), sizes), ("k_", (), sizes), ("c_", (), sizes), ("f_", (), "float32"), ("g_", (), "float32"),
             ("h_", (), "float32"))
    chosen = tuple([Argument(name, tuple([None] * len(shape)) if hidden and name in ("x", "m") else shape, dtype)
                    for name, shape, dtype in named if name in words])
    head = f"import numpy as np\nimport runtime as rt\n\n\ndef program({', '.join(a.name for a in chosen)}):\n"
    return Program(head + body, kind, chosen)


def arguments(seed: int, case: int, made: Program) -> list[Any]:
    """The values of a case: the first one of a program has harmless ones."""
    rng = random.Random(f"case {seed} {case}")
    turn = case % PER_PROGRAM
    hostility = (0.0, 0.35, 0.7, 1.0)[turn % 4] if turn else 0.0
    return [_value(rng, argument, hostility) for argument in made.arguments]


def _value(rng: random.Random, argument: Argument, hostility: float) -> Any:
    shape = [size if size is not None else rng.choice((0, 1, 2, 3, 4, 7)) if rng.random() < 0.3 else usual
             for size, usual in zip(argument.shape, ((7,), (3, 4))[len(argument.shape) > 1])]
    if argument.name in ("x", "m"):
        return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    if argument.name[0] in "fgh":
        return np.float32(rng.choice(FLOATS[:4] if rng.random() >= hostility else FLOATS))
    info = np.iinfo(argument.dtype)
    pool = [v for v in (*HOSTILE, *UNSIGNED) if info.min <= v <= info.max]

    def one() -> int:
        return rng.choice(pool) if rng.random() < hostility else rng.choice(SMALL)

    return np.array([one() for _ in range(int(np.prod(argument.shape)))], argument.dtype).reshape(argument.shape)[()]


def is_large(made: Program, values: list[Any]) -> bool:
    """Whether some size or literal may make a tensor of more memory than there is, or a long loop."""
    literals = [abs(int(word)) for word in re.findall(r"\b\d{4,}\b", made.text)]
    sizes = [abs(float(x)) for a, v in zip(made.arguments, values) if a.name not in "xm" for x in np.ravel(v)]
    return any(not size < 256 for size in (*literals, *sizes))


def standalone(made: Program, values: list[Any]) -> str:
    """The case as the text of a program."""
    specs = ", ".join(f"rt.TensorSpec({list(a.shape)}, rt.{a.dtype})" for a in made.arguments)
    given = ", ".join(_literal(value) for value in values)
    return (f"{made.text}\n\n# rt.function(program, executor=...).get_concrete_function({specs})(*arguments)\n"
            f"arguments = [rt.constant(a) for a in ({given}{',' if len(values) == 1 else ''})]\n")


def _literal(value: Any) -> str:
    if np.ndim(value) and value.dtype == np.float32:
        return f"np.arange({value.size}, dtype=np.float32).reshape({list(value.shape)})"
    if np.ndim(value):
        return f"np.array({value.tolist()}, np.{value.dtype})"
    return f"np.{value.dtype}({value!r})".replace(f"np.{value.dtype}(np.{value.dtype}", f"(np.{value.dtype}")

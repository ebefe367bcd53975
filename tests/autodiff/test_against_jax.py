"""JAX's gradients as an oracle, where it is installed: of first order eagerly, of second order in native code."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

jax = pytest.importorskip("jax", reason="JAX is an oracle, not a dependency")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

Function = Callable[[Any, Any], Any]
CASES: dict[str, tuple[Function, Function]] = {
    "softmax": (lambda x, y: rt.nn.softmax(x)*y, lambda x, y: jax.nn.softmax(x)*y),
    "log_softmax": (lambda x, y: rt.nn.log_softmax(x)*y, lambda x, y: jax.nn.log_softmax(x)*y),
    "logsumexp": (lambda x, y: rt.reduce_logsumexp(x, 1), lambda x, y: jax.scipy.special.logsumexp(x, 1)),
    "gelu": (lambda x, y: rt.nn.gelu(x, approximate=True)*y, lambda x, y: jax.nn.gelu(x)*y),
    "silu": (lambda x, y: rt.nn.silu(x)*y, lambda x, y: jax.nn.silu(x)*y),
    "elu": (lambda x, y: rt.nn.elu(x)*y, lambda x, y: jax.nn.elu(x)*y),
    "selu": (lambda x, y: rt.nn.selu(x)*y, lambda x, y: jax.nn.selu(x)*y),
    "softplus": (lambda x, y: rt.nn.softplus(x)*y, lambda x, y: jax.nn.softplus(x)*y),
    "atan2": (lambda x, y: rt.atan2(x, y), lambda x, y: jnp.arctan2(x, y)),
    "pow": (lambda x, y: rt.pow(rt.abs(x), y), lambda x, y: jnp.power(jnp.abs(x), y)),
    "distance": (lambda x, y: rt.math.sqrt(x*x+y*y), lambda x, y: jnp.hypot(x, y)),
    "mod": (lambda x, y: rt.math.mod(x, rt.abs(y)+.5), lambda x, y: jnp.mod(x, jnp.abs(y)+.5)),
    "product": (lambda x, y: rt.reduce_prod(x, 1)*y[:, 0], lambda x, y: jnp.prod(x, 1)*y[:, 0]),
    "cumprod": (lambda x, y: rt.math.cumprod(x, 1)*y, lambda x, y: jnp.cumprod(x, 1)*y),
    "cumsum": (lambda x, y: rt.math.cumsum(x, 1)*y, lambda x, y: jnp.cumsum(x, 1)*y),
    "greatest": (lambda x, y: rt.reduce_max(x, 1)*y[:, 0], lambda x, y: jnp.max(x, 1)*y[:, 0]),
    "sort": (lambda x, y: rt.sort(x)*y, lambda x, y: jnp.sort(x)*y),
    "variance": (lambda x, y: rt.math.reduce_variance(x, 1), lambda x, y: jnp.var(x, 1)),
    "deviation": (lambda x, y: rt.math.reduce_std(x, 1), lambda x, y: jnp.std(x, 1)),
    "norm": (lambda x, y: rt.norm(x), lambda x, y: jnp.linalg.norm(x)),
    "einsum": (lambda x, y: rt.einsum('ij, kj->ik', x, y)**2, lambda x, y: jnp.einsum('ij, kj->ik', x, y)**2),
    "solve": (lambda x, y: rt.linalg.solve(x, y), lambda x, y: jnp.linalg.solve(x, y)),
    "inv": (lambda x, y: rt.linalg.inv(x)*y, lambda x, y: jnp.linalg.inv(x)*y),
    "det": (lambda x, y: rt.linalg.det(x), lambda x, y: jnp.linalg.det(x)),
    "slogdet": (lambda x, y: rt.linalg.slogdet(x)[1], lambda x, y: jnp.linalg.slogdet(x)[1]),
    "cholesky": (
        lambda x, y: rt.linalg.cholesky(x@rt.transpose(x)+rt.eye(4, dtype=rt.float64))*y,
        lambda x, y: jnp.linalg.cholesky(x@x.T+jnp.eye(4))*y),
    "eigenvalues": (
        lambda x, y: rt.linalg.eigh(x+rt.transpose(x))[0]*y[0],
        lambda x, y: jnp.linalg.eigh(x+x.T)[0]*y[0]),
    "eigenvectors": (
        lambda x, y: rt.linalg.eigh(x+rt.transpose(x))[1]**2*y,
        lambda x, y: jnp.linalg.eigh(x+x.T)[1]**2*y),
    "singular_values": (
        lambda x, y: rt.linalg.svd(x, compute_uv=False)*y[0],
        lambda x, y: jnp.linalg.svd(x, compute_uv=False)*y[0]),
    "singular_vectors": (lambda x, y: rt.linalg.svd(x)[1]**2*y, lambda x, y: jnp.linalg.svd(x)[0]**2*y),
    "qr_q": (lambda x, y: rt.linalg.qr(x)[0]**2*y, lambda x, y: jnp.linalg.qr(x)[0]**2*y),
    "qr_r": (lambda x, y: rt.linalg.qr(x)[1]**2*y, lambda x, y: jnp.linalg.qr(x)[1]**2*y),
    "digamma": (lambda x, y: rt.math.digamma(rt.abs(x))*y, lambda x, y: jax.scipy.special.digamma(jnp.abs(x))*y),
    "erfinv": (lambda x, y: rt.math.erfinv(rt.tanh(x))*y, lambda x, y: jax.scipy.special.erfinv(jnp.tanh(x))*y),
    "erf": (
        lambda x, y: rt.math.erf(x)*rt.math.erfc(y),
        lambda x, y: jax.scipy.special.erf(x)*jax.scipy.special.erfc(y)),
    "asinh": (lambda x, y: rt.math.asinh(x)*rt.math.atan(y), lambda x, y: jnp.arcsinh(x)*jnp.arctan(y)),
    "acosh": (
        lambda x, y: rt.math.acosh(1.5+rt.abs(x))*rt.math.log1p(rt.abs(y)),
        lambda x, y: jnp.arccosh(1.5+jnp.abs(x))*jnp.log1p(jnp.abs(y))),
    "atanh": (
        lambda x, y: rt.math.atanh(rt.tanh(x)*.5)*rt.math.asin(rt.tanh(y)),
        lambda x, y: jnp.arctanh(jnp.tanh(x)*.5)*jnp.arcsin(jnp.tanh(y))),
    "gather": (
        lambda x, y: rt.gather(x, [2, 0, 2], axis=1)**2*y[:, :3],
        lambda x, y: jnp.take(x, jnp.array([2, 0, 2]), axis=1)**2*y[:, :3]),
    "segments": (
        lambda x, y: rt.math.unsorted_segment_sum(x, [0, 1, 0, 1], 2)**2,
        lambda x, y: jax.ops.segment_sum(x, jnp.array([0, 1, 0, 1]), 2)**2),
    "pad": (
        lambda x, y: rt.pad(x, [[1, 2], [0, 1]], 'REFLECT')**2,
        lambda x, y: jnp.pad(x, [[1, 2], [0, 1]], 'reflect')**2),
    "where": (lambda x, y: rt.where(x>y, x*y, rt.exp(x)), lambda x, y: jnp.where(x>y, x*y, jnp.exp(x))),
    "roll": (lambda x, y: rt.roll(x, 1, 1)*y, lambda x, y: jnp.roll(x, 1, 1)*y),
    "tile": (lambda x, y: rt.tile(x, [2, 1])**2, lambda x, y: jnp.tile(x, (2, 1))**2),
    "diag": (lambda x, y: rt.linalg.diag_part(x)**2*y[0], lambda x, y: jnp.diagonal(x)**2*y[0]),
    "trace": (lambda x, y: rt.linalg.trace(x@y), lambda x, y: jnp.trace(x@y)),
    "complex": (lambda x, y: rt.math.abs(rt.exp(rt.complex(x, y))), lambda x, y: jnp.abs(jnp.exp(x+1j*y))),
    "complex_product": (
        lambda x, y: rt.math.real(rt.sin(rt.complex(x, y))*rt.complex(y, x)),
        lambda x, y: jnp.real(jnp.sin(x+1j*y)*(y+1j*x))),
    "convolution": (
        lambda x, y: rt.nn.conv2d(rt.reshape(x, [1, 4, 4, 1]), rt.reshape(y[:3, :3], [3, 3, 1, 1]), 1, 'SAME')**2,
        lambda x, y: jax.lax.conv_general_dilated(
            x.reshape(1, 4, 4, 1), y[:3, :3].reshape(3, 3, 1, 1), (1, 1), 'SAME',
            dimension_numbers=('NHWC', 'HWIO', 'NHWC'))**2),
}
"""The same functions of two matrices, here and in JAX."""


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_jax(name: str) -> None:
    ours, theirs = CASES[name]
    matrices = np.random.default_rng(0).standard_normal((2, 4, 4))
    mine = list(map(rt.constant, matrices))

    def first(x: Any, y: Any) -> Any:
        return rt.reduce_sum(ours(x, y))

    def second(x: Any, y: Any) -> Any:
        return rt.reduce_sum(rt.sin(rt.grad(first)(x, y)))

    def their_first(x: Any, y: Any) -> Any:
        return jnp.sum(theirs(x, y))

    def their_second(x: Any, y: Any) -> Any:
        return jnp.sum(jnp.sin(jax.grad(their_first)(x, y)))

    found = [*rt.grad(first, argnums=(0, 1))(*mine), *rt.function(rt.grad(second, argnums=(0, 1)))(*mine)]
    want = [*jax.grad(their_first, (0, 1))(*matrices), *jax.grad(their_second, (0, 1))(*matrices)]
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-6, atol=1e-7 * (1 + np.abs(b).max()))

"""Vectorised maps: a scalar loop over many lanes, per-example gradients, and Jacobians, compared with JAX."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row, in_turns
from benchmarks.peers import peer

__all__ = ["run"]


def root(a: Any) -> Any:
    x = a
    while rt.abs(x * x - a) > 1e-3 * a:
        x = 0.5 * (x + a / x)
    return x


def jax_root(a: Any) -> Any:
    jax = peer("jax")
    return jax.lax.while_loop(
        lambda x: jax.numpy.abs(x * x - a) > 1e-3 * a, lambda x: 0.5 * (x + a / x), a)


def roots(a: Any) -> Any:
    return rt.vmap(root)(a)


def jax_roots(a: Any) -> Any:
    return peer("jax").vmap(jax_root)(a)


def loss(w: Any, u: Any, x: Any, y: Any) -> Any:
    return rt.reduce_sum(rt.square(rt.linalg.matvec(u, rt.tanh(rt.linalg.matvec(w, x))) - y))


def jax_loss(w: Any, u: Any, x: Any, y: Any) -> Any:
    jnp = peer("jax").numpy
    return jnp.sum((u @ jnp.tanh(w @ x) - y) ** 2)


def each_gradient(*arguments: Any) -> Any:
    return rt.vmap(rt.grad(loss, argnums=(0, 1)), in_axes=(None, None, 0, 0))(*arguments)


def jax_each_gradient(*arguments: Any) -> Any:
    jax = peer("jax")
    return jax.vmap(jax.grad(jax_loss, argnums=(0, 1)), in_axes=(None, None, 0, 0))(*arguments)


def step(w: Any, u: Any, h: Any, x: Any) -> Any:
    return rt.tanh(rt.linalg.matvec(w, h) + rt.linalg.matvec(u, x))


def jax_step(w: Any, u: Any, h: Any, x: Any) -> Any:
    return peer("jax").numpy.tanh(w @ h + u @ x)


def jacobian(*arguments: Any) -> Any:
    return rt.jacrev(step, argnums=2)(*arguments)


def jax_jacobian(*arguments: Any) -> Any:
    return peer("jax").jacrev(jax_step, argnums=2)(*arguments)


CASES: Sequence[tuple[str, Callable[..., Any], Callable[..., Any], Sequence[tuple[int, ...]]]] = (
    ("vmap of a scalar while loop, 1e5 lanes", roots, jax_roots, [(100_000,)]),
    ("gradients of 256 examples, MLP 64-128-10", each_gradient, jax_each_gradient,
     [(128, 64), (10, 128), (256, 64), (256, 10)]),
    ("Jacobian of a step of an RNN, 128 units", jacobian, jax_jacobian, [(128, 128), (128, 64), (128,), (64,)]),
)


def run(budget: Budget) -> Iterator[Row]:
    jax = peer("jax") if budget.peers else None
    rng = np.random.default_rng(0)
    for name, ours, theirs, shapes in CASES:
        arrays = [(rng.random(shape) + 0.1).astype(np.float32) for shape in shapes]
        if ours is roots:
            arrays = [arrays[0][:100_000 // budget.share] * 1000]
        runs = {OURS: _calling(rt.function(ours), [rt.constant(x) for x in arrays])}
        if jax is not None:
            runs["jax"] = _waiting(jax, jax.jit(theirs), [jax.numpy.asarray(x) for x in arrays])
        found = in_turns(runs, budget)
        target = f"is {found[OURS] / found['jax']:.2f} x jax" if jax is not None else ""
        yield Row(name, "us", {k: v * 1e6 for k, v in found.items()}, target)


def _calling(fn: Any, args: Sequence[Any]) -> Callable[[], Any]:
    return lambda: fn(*args)


def _waiting(jax: Any, fn: Any, args: Sequence[Any]) -> Callable[[], Any]:
    return lambda: jax.block_until_ready(fn(*args))

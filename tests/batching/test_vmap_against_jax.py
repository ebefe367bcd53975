"""jax.vmap as an oracle, where JAX is installed: axes, structures, loops, derivatives."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

jax = pytest.importorskip("jax", reason="JAX is an oracle, not a dependency")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
A, B, C = RNG.standard_normal((3, 4, 4)), RNG.standard_normal((3, 4)), RNG.standard_normal(4)


def root(x: Any) -> Any:
    a = rt.abs(x) + 1.0
    y = a
    while rt.abs(y * y - a) > 1e-9:
        y = 0.5 * (y + a / y)
    return y


def jax_root(x: Any) -> Any:
    a = jnp.abs(x) + 1.0
    return jax.lax.while_loop(lambda y: jnp.abs(y * y - a) > 1e-9, lambda y: 0.5 * (y + a / y), a)


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any], tuple[Any, ...]]] = {
    "matvec": (lambda a, b: rt.linalg.matvec(a, b), lambda a, b: a @ b, {}, (A, B)),
    "in_axes": (lambda a, b: rt.linalg.matvec(a, b), lambda a, b: a @ b, {"in_axes": (1, None)}, (A, C)),
    "last": (lambda a, b: a * b, lambda a, b: a * b, {"in_axes": (-1, 0), "out_axes": 1}, (A, C)),
    "structures": (lambda p: (p["a"] + p["b"], p["b"]), lambda p: (p["a"] + p["b"], p["b"]),
                   {"in_axes": ({"a": 0, "b": None},), "out_axes": (1, None)}, ({"a": A, "b": C},)),
    "softmax": (lambda a: rt.nn.softmax(a), lambda a: jax.nn.softmax(a), {}, (A,)),
    "sort": (lambda a: rt.sort(a, axis=0), lambda a: jnp.sort(a, axis=0), {}, (A,)),
    "solve": (lambda a, b: rt.linalg.solve(a, b[:, None]), lambda a, b: jnp.linalg.solve(a, b[:, None]), {}, (A, B)),
    "einsum": (lambda a, b: rt.einsum("ij,j->i", a, b), lambda a, b: jnp.einsum("ij,j->i", a, b),
               {"in_axes": (None, 0)}, (A[0], B)),
    "gather": (lambda a, b: rt.gather(a, rt.argsort(b)), lambda a, b: a[jnp.argsort(b)], {}, (A, B)),
    "update": (lambda a, b: rt.tensor_scatter_nd_add(a, [[1], [1]], [b, b]), lambda a, b: a.at[1].add(2 * b), {},
               (A, B)),
    "item": (lambda b, c: b[rt.argmax(b)] * c, lambda b, c: b[jnp.argmax(b)] * c, {"in_axes": (0, None)}, (B, C)),
    "while": (root, jax_root, {}, (C,)),
    "scan": (lambda b: rt.math.cumsum(b), lambda b: jnp.cumsum(b), {}, (B,)),
    "grad": (rt.grad(lambda b: rt.reduce_sum(rt.sin(b) * b)), jax.grad(lambda b: jnp.sum(jnp.sin(b) * b)), {}, (B,)),
    "hessian": (rt.hessian(lambda b: rt.reduce_sum(rt.sin(b) ** 3)), jax.hessian(lambda b: jnp.sum(jnp.sin(b) ** 3)),
                {}, (B,)),
    "nested": (rt.vmap(lambda a, b: rt.sin(a) * b, (0, None)), jax.vmap(lambda a, b: jnp.sin(a) * b, (0, None)),
               {"in_axes": (1, 0)}, (A, C)),
}


@pytest.mark.parametrize("name", CASES)
def test_is_what_jax_gives(name: str) -> None:
    ours, theirs, axes, arguments = CASES[name]
    mine = rt.nest.map_structure(rt.constant, list(arguments))
    wanted = jax.tree_util.tree_leaves(jax.vmap(theirs, **axes)(*arguments))
    for found in (rt.vmap(ours, **axes)(*mine), rt.function(rt.vmap(ours, **axes))(*mine)):
        for a, b in zip(rt.nest.flatten(found), wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), np.asarray(b), 1e-9, 1e-9)


BAD: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({}, (A, C)), ({}, (A, 1.0)), ({"in_axes": (0,)}, (A, B)), ({"in_axes": "x"}, (A, B)),
    ({"in_axes": None}, (A, B)), ({"in_axes": (0, 3)}, (A, B)), ({"in_axes": ((0, 0), 0)}, (A, B)),
    ({"out_axes": None}, (A[:, 0], B)), ({"out_axes": 7}, (A[:, 0], B)), ({"axis_size": 5}, (A[:, 0], B)),
]


@pytest.mark.parametrize(("axes", "arguments"), BAD, ids=map(str, range(len(BAD))))
def test_errors_are_of_the_classes_of_jax(axes: dict[str, Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises((ValueError, TypeError)) as theirs:
        jax.vmap(lambda a, b: a + b, **axes)(*arguments)
    with pytest.raises(theirs.type):
        rt.vmap(lambda a, b: a + b, **axes)(*arguments)

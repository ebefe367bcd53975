"""Arrays and lists that a loop may leave unbound, as operands, indices and arguments of NumPy."""
# The functions are traced, and have no annotations.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime as rt


def set_item(A, v, m):
    A[0, v] = 5


def add_to_items(A, v, m):
    A[v] += 1


def add_at(A, v, m):
    np.add.at(A, (0, v), 1)


USES: dict[str, Any] = {
    "set_item": set_item, "add_to_items": add_to_items, "add_at": add_at,
    "index": lambda A, v, m: A[np.arange(2), v], "rows": lambda A, v, m: A[..., v], "axis": lambda A, v, m: A[None, v],
    "put": lambda A, v, m: np.put(A, v, 3), "clip": lambda A, v, m: np.clip(A, v, 9),
    "einsum": lambda A, v, m: np.einsum("ij,j->i", A, v),
    "solve": lambda A, v, m: np.linalg.solve(A + 5 * np.eye(2), v), "list": lambda A, v, m: A[m],
    "of_list": lambda A, v, m: v[m], "lists": lambda A, v, m: A[[1, 0], m], "take": lambda A, v, m: np.take(A, m),
    "bincount": lambda A, v, m: np.bincount(v, weights=m), "concatenate": lambda A, v, m: np.concatenate([v, m]),
    "array": lambda A, v, m: np.array(m), "where": lambda A, v, m: np.where(v > 0, m, 0),
    "repeat": lambda A, v, m: np.repeat(m, v), "stack": lambda A, v, m: np.stack([v, m]),
    "lexsort": lambda A, v, m: np.lexsort((v, m)), "dot": lambda A, v, m: np.dot(A, m)}


@pytest.mark.parametrize("changes", [False, True], ids=["read", "changed"])
@pytest.mark.parametrize("use", USES)
def test_as_in_numpy(use: str, changes: bool) -> None:
    used = USES[use]

    def f(A, n):
        for _ in range(n):
            v = A.argmin(1)
            m = [1, 0]
            if changes:
                v[0] = 1
        if changes:
            A[0] += 1
        return used(A, v, m), A

    start = np.array([[3.0, 1.0], [1.0, 2.0]])
    staged = rt.function(f)
    found, expected = staged(start.copy(), rt.constant(2)), f(start.copy(), 2)
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
        else:
            np.testing.assert_allclose(np.asarray(one), other)
    with pytest.raises(UnboundLocalError):
        staged(start.copy(), rt.constant(0))


def test_of_a_handler() -> None:
    def f(A, n):
        try:
            if n < 0:
                raise ValueError
            lab = A.argmin(1)
        except ValueError:
            return A
        A[0] += 1
        return A[:, lab]

    for n in (1, -1):
        np.testing.assert_array_equal(rt.function(f)(np.eye(2), rt.constant(n)), f(np.eye(2), n))


def test_a_function_in_which_conversion_changes_nothing_takes_a_list_of_the_graph() -> None:
    def pair(p):
        return [p]

    def f(n):
        xs = [k * 2 for k in rt.range(n)]
        return pair(xs)[0][1]

    assert rt.function(f)(rt.constant(3)) == 2

"""Rules for element-wise ops, from their partial derivatives."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.autodiff.rules.broadcasting import ELEMENTWISE, broadcast_like, sum_to
from runtime.autodiff.rules.registry import Applied, jvp, vjp
from runtime.ops.complex_numbers import conj
from runtime.ops.math import add

__all__ = ["Partial", "adjoint", "elementwise", "total"]

Partial = Callable[..., Any]
"""`partial(t, *operands, out)`: the tensor `t` times the derivative of the op's result with respect to one operand. For
complex operands the op is holomorphic."""


def elementwise(name: str, *partials: Partial | None) -> None:
    """Register both rules of an element-wise op, given its partial derivatives (None for a zero one).

    As in TF2, the cotangent of a complex operand is ct times the conjugate of the derivative.
    """
    ELEMENTWISE.add(name)

    @vjp(name)
    def pull(node: Applied, ct: Any) -> Sequence[Any]:
        return [_pull(node, i, partial, ct) if want and partial is not None else None
                for i, (want, partial) in enumerate(zip(node.wanted, partials, strict=True))]

    @jvp(name)
    def push(node: Applied, *tangents: Any) -> Sequence[Any]:
        found = total([None if t is None or partial is None else partial(t, *node.inputs, node.outputs[0])
                       for t, partial in zip(tangents, partials, strict=True)])
        return [found if found is None or len(partials) == 1 else broadcast_like(found, node.outputs[0])]


def _pull(node: Applied, i: int, partial: Partial, ct: Any) -> Any:
    """The cotangent of operand i."""
    whole = adjoint(lambda t: partial(t, *node.inputs, node.outputs[0]), ct)
    others = [*node.inputs[:i], *node.inputs[i + 1:]]
    return sum_to(whole, node.inputs[i], others) if others else whole


def adjoint(linear: Callable[[Any], Any], ct: Any) -> Any:
    """The adjoint of a complex-linear map, with conjugate coefficients, applied to `ct`."""
    if not ct.dtype.is_complex:
        return linear(ct)
    turned = conj(ct)
    found = linear(turned)
    return ct if found is turned else conj(found)


def total(terms: Sequence[Any]) -> Any:
    """The sum of terms, where None is zero; None if all are."""
    result = None
    for term in terms:
        if term is not None:
            result = term if result is None else add(result, term)
    return result

"""`gradients` and `hessians`: derivatives of what a traced function has computed so far, without a tape."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.autodiff.staged_tape import origin
from runtime.autodiff.tape import GradientTape, UnconnectedGradients, variable_of
from runtime.core import pytree
from runtime.core.errors import UnimplementedError
from runtime.core.positions import located
from runtime.core.tensor import EagerList, EagerTensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.function.variables.variable import Variable

__all__ = ["gradients", "hessians"]


class _WholeGraph(GradientTape):
    """A tape as if it had recorded the graph that is being traced from its beginning, and watched `sources`."""

    def __init__(self, sources: Sequence[Any]) -> None:
        super().__init__(persistent=True, watch_accessed_variables=False)
        self._recording = True
        for x in map(variable_of, sources):
            if isinstance(x, Variable):
                self._variables[id(x)] = x
            elif isinstance(x, (EagerTensor, EagerList)):
                self._staged.eager.add(id(x))
            else:
                self._staged.values.add(origin(convert_to_tensor(x).value))  # type: ignore[attr-defined]


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", gate_gradients: bool = False,
    aggregation_method: Any = None, stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of `ys` with respect to each of `xs`, as a list, inside an `rt.function`
    (`tf.gradients`).

    `grad_ys`: cotangents for `ys` instead of 1. `unconnected_gradients`: the gradient for an `x` on which `ys` do not
    depend, None ("none") or zeros ("zero"). `gate_gradients` and `aggregation_method` have no effect.

    RuntimeError outside of a traced function; UnimplementedError for `stop_gradients`; NoGradientError for an op on the
    path that has no derivative.
    """
    _check("gradients", "rt.GradientTape")
    if stop_gradients is not None:
        raise located(UnimplementedError("gradients does not take stop_gradients",
                                         remedy="Wrap these tensors where they are used: rt.stop_gradient(x)."))
    sources = pytree.flatten(xs)
    found: list[Any] = _WholeGraph(sources).gradient(ys, sources, grad_ys, unconnected_gradients)
    return found


def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None, name: str = "hessians"
) -> list[Any]:
    """The Hessian of the sum of `ys` with respect to each of `xs`, as a list of tensors of shape `x.shape + x.shape`,
    inside an `rt.function` (`tf.hessians`). See `gradients`; ValueError for an `x` on which `ys` do not depend."""
    _check("hessians", "rt.hessian")
    found = []
    for x in pytree.flatten(xs):
        first = _WholeGraph([x]).gradient(ys, x)
        if first is None:
            raise located(ValueError("hessians: ys do not depend on one of xs"))
        found.append(_WholeGraph([x]).jacobian(first, x, "zero"))
    return found


def _check(name: str, instead: str) -> None:
    if current_graph() is None:
        raise located(RuntimeError(f"rt.{name} is not supported when eager execution is enabled: it differentiates the "
                                   f"graph of a traced function. Use {instead} instead."))

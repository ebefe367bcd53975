"""`recompute_grad`: recomputation instead of saving residuals."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime.autodiff.custom import custom_gradient, traceable
from runtime.autodiff.entries import without_tapes
from runtime.autodiff.method_functions import MethodFunction
from runtime.autodiff.tape import GradientTape
from runtime.core import pytree
from runtime.core.op import CAST
from runtime.core.trace import apply
from runtime.function.variables.variable import Variable

__all__ = ["recompute_grad"]


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that saves only its arguments for its gradient, and runs `f` again in the backward pass
    (`tf.recompute_grad`).

    The arguments to differentiate by are positional tensors; `f` returns a tensor or a structure of tensors. On a
    method, `self` is no argument.
    """
    return Recomputed(f)


class Recomputed(MethodFunction):
    """A function that runs again in the backward pass."""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        f = self._function

        @custom_gradient
        def recomputed(*args: Any) -> Any:
            def gradient(*cts: Any, variables: Sequence[Variable] = ()) -> Any:
                own = [apply(CAST, x, dtype=x.dtype) for x in args]
                with GradientTape() as tape:
                    tape.watch([x for x in own if x.dtype.is_floating or x.dtype.is_complex])
                    results = traceable(f)(*own, **kwargs)
                flat = pytree.flatten(results)
                found = tape.dense_gradient(flat, [*own, *variables], list(cts))
                return (found[:len(own)], found[len(own):]) if variables else found

            with without_tapes():
                return traceable(f)(*args, **kwargs), gradient

        return recomputed(*args)

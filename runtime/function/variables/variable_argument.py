"""Variables as arguments of traced functions: one trace serves all variables of one type.

While a function is traced, each variable among its arguments is replaced by a placeholder, which each call binds to the
variable that it passes. If the trace asks for properties of the variable itself (its name, its current value, whether
it is another object), it gets those of the traced call's variable, and the trace serves only this variable.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from autograph import register
from runtime.core.errors import FailedPreconditionError, locate
from runtime.core.positions import user_position
from runtime.core.references import Reference
from runtime.core.tensor import Array
from runtime.core.types import DType, TensorShape, TensorType
from runtime.core.variable_bindings import Placeholder, bound
from runtime.function.variables.variable import Variable
from runtime.staging.backend import BACKEND

__all__ = ["VariableArgument", "VariableSpec", "identified", "is_exchangeable"]


class VariableSpec(NamedTuple):
    """The type of a variable among the arguments of a traced function.

    `number`: equal numbers mean the same variable.
    """

    shape: TensorShape
    dtype: DType
    trainable: bool
    number: int

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, tuple(self.shape))

    def __repr__(self) -> str:
        return f"variable {self.type}"


def is_exchangeable(x: Any) -> bool:
    """Whether a trace for the variable `x` may serve others of its type; not if it has its own class or constraint."""
    return (type(x) is Variable and x.constraint is None) or type(x) is VariableArgument


class VariableArgument(Variable, Placeholder):
    """The placeholder, in one trace, of a variable among the arguments; `argument` is its path, such as `vs[0]`.
    `trace`: an object that all placeholders of a trace have in common; these stand for different variables."""

    __slots__ = ("_argument", "_passed", "_trace", "is_identified")

    def __init__(self, passed: Variable, argument: str, trace: object) -> None:
        self._trace = trace
        self.type, self.trainable = passed.type, passed.trainable
        self._passed: Variable | None = passed
        self._argument = argument
        self.is_identified = False  # whether the trace depends on which variable it is

    def leave(self) -> None:
        """Called when the trace is over."""
        self._passed = None

    def _identified(self) -> Variable:
        """The variable of the running call or, during the trace, of the traced call."""
        found: Variable = bound(self)
        if found is not self:
            return found
        if self._passed is None:
            error = FailedPreconditionError(
                f"the variable {self._argument!r} of a traced function is used outside of its calls",
                remedy="Keep the variable itself: pass it to what uses it, or store it before the call.")
            locate(error, user_position())
            raise error
        self.is_identified = True
        return self._passed

    def is_same(self, other: Any) -> bool:
        if other is self or not isinstance(other, Variable):
            return other is self
        if isinstance(other, VariableArgument):
            return other._trace is not self._trace and self._identified() is other._identified()
        return self._identified() is other

    @property
    def array(self) -> Array:
        return self._identified().array

    @array.setter
    def array(self, value: Array) -> None:
        self._identified().array = value

    @property
    def name(self) -> str:  # type: ignore[override]
        return self._argument if self._passed is None and bound(self) is self else self._identified().name

    @property
    def constraint(self) -> Any:  # type: ignore[override]
        return None

    @property
    def hint(self) -> str:
        return self._argument

    @property
    def handle(self) -> Reference[Variable]:
        return Reference(self._identified())

    def ref(self) -> Reference[Variable]:
        return Reference(self._identified())


def identified(x: Any) -> Any:
    """`x`, or for a placeholder the variable of the call; a trace that asks serves only this variable."""
    while isinstance(x, VariableArgument):
        x = x._identified()
    return x


register(VariableArgument, BACKEND)

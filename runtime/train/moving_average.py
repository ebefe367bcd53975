"""Moving averages of variables (`tf.train.ExponentialMovingAverage`)."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from runtime.core.errors import InvalidArgumentError
from runtime.core.positions import located
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import as_dtype
from runtime.function.variables.module import Module
from runtime.function.variables.variable import Variable
from runtime.ops.math import cast, minimum
from runtime.train.objects import is_variable

__all__ = ["ExponentialMovingAverage"]


class ExponentialMovingAverage(Module):
    """Keeps the averages of variables: each `apply` sets average = decay average + (1 - decay) variable.

    `decay`: a float, from 0 to 1. `num_updates`: n updates so far, such as a variable; then the decay is at most
    (1 + n) / (10 + n).

    An average starts as the value that its variable has in the first `apply`, or, if that is in a traced function,
    before the call. Only variables have averages: with
    `zero_debias`, which is for tensors in TF, the error is an InvalidArgumentError.
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            raise located(InvalidArgumentError("zero_debias is for averages of tensors: there are those of variables"))
        super().__init__(name)
        self._decay, self._num_updates = decay, num_updates
        self._of: list[Any] = []
        self._averages: list[Variable] = []

    def apply(self, var_list: Iterable[Any]) -> None:
        """Update the averages of these variables. InvalidArgumentError for other objects."""
        variables = [_variable(v) for v in var_list]
        for variable in variables:
            if self.average(variable) is None:
                start = functools.partial(convert_to_tensor, variable)
                self._of.append(variable)
                self._averages.append(Variable(start, trainable=False, name=self.average_name(variable)))
        for variable in variables:
            average = self.average(variable)
            assert average is not None
            rest = 1.0 - cast(self._current_decay(), average.dtype)
            average.assign_sub(rest * (average - convert_to_tensor(variable)))

    def _current_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay)
        if self._num_updates is None:
            return decay
        done = cast(self._num_updates, decay.dtype)
        return minimum(decay, (1.0 + done) / (10.0 + done))

    def average(self, var: Any) -> Variable | None:
        """The variable with the average of a variable; None if it has none yet."""
        return next((average for variable, average in zip(self._of, self._averages, strict=True) if variable is var),
                    None)

    def average_name(self, var: Any) -> str:
        """The name of the variable with the average."""
        return f"{var.name.removesuffix(':0')}/{self.name}"

    def variables_to_restore(self, moving_avg_variables: Sequence[Any] | None = None) -> dict[str, Any]:
        """By the names in a checkpoint: for each of the variables, by default those with averages, the variable into
        which its average goes."""
        chosen = self._of if moving_avg_variables is None else moving_avg_variables
        return {self.average_name(variable): variable for variable in chosen}


def _variable(v: Any) -> Any:
    if not is_variable(v):
        raise located(InvalidArgumentError(f"there are averages of variables, not of {v!r}"))
    dtype = as_dtype(v.dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise located(InvalidArgumentError(f"there are averages of floats, not of {dtype.name}"))
    return v

"""When the copies of a variable agree, of which there is only one here: TF 2's options of `Variable`."""
from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

__all__ = ["VariableAggregation", "VariableSynchronization", "option"]

E = TypeVar("E", bound=Enum)


class VariableSynchronization(Enum):
    """When copies of a variable on several devices are made equal (`tf.VariableSynchronization`)."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(Enum):
    """How assignments on several devices are joined (`tf.VariableAggregation`)."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def option(kind: type[E], what: str, value: Any) -> E:
    """A member of the enum, also by its number; None is the first. ValueError for anything else."""
    try:
        return next(iter(kind)) if value is None else kind(value)
    except ValueError:
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise ValueError(f"the {what} of a Variable is one of {members}, not {value!r}") from None

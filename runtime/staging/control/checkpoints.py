"""The option `checkpoint` of loops."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.positions import staging_error

__all__ = ["checkpoint_param"]


def checkpoint_param(options: Mapping[str, Any], counted: bool) -> dict[str, Any]:
    """The option `checkpoint` as a parameter of the op. StagingError for an invalid value."""
    option = options.get("checkpoint")
    if option is None:
        return {}
    if option == "binomial":
        return {"checkpoint": ("binomial", None)}
    binomial = isinstance(option, tuple) and len(option) == 2 and option[0] == "binomial"
    number = option[1] if binomial else option
    if (type(number) is int and number > 0) or (option == "sqrt" and counted):
        return {"checkpoint": option}
    if option == "sqrt":
        raise staging_error('checkpoint="sqrt" is given for a loop whose number of iterations is not known before',
                            'Give a number of iterations, such as checkpoint=100, or "binomial".')
    what = "snapshots" if binomial else "iterations"
    raise staging_error(f"checkpoint is a number of {what}, at least 1, not {number!r}",
                        'Give, for example, checkpoint=100, "sqrt", "binomial" or ("binomial", 20).')

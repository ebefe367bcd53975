"""The text of the stages before statements are converted."""
from __future__ import annotations

from typing import Any

import pytest

import autograph as ag


def test_variables_that_only_dropped_statements_assign_stay_variables() -> None:
    def early(x: Any) -> Any:
        """With a docstring."""
        if x:
            return x
            value = 0
        return value

    for stage in ("jumps", "expressions", "statements", "compiled"):
        text = ag.to_code(early, stage=stage)
        assert text.count("value: object\n") == 1
        names: dict[str, Any] = {"ag__": ag.operators}
        exec(text, names)
        assert names["early"](5) == 5
        with pytest.raises(UnboundLocalError):
            names["early"](0)

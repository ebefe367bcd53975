"""Parts of an axis of unknown size, one of which is what the others leave."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runtime as rt
from runtime.errors import ShapeError


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("sections", [[2, -1], [-1, 1], [1, -1, 2], [-1]])
def test_parts(executor: str, sections: list[int]) -> None:
    def parts(x: Any) -> Any:
        return rt.split(x, sections, axis=1)

    traced = rt.function(parts, executor=executor, input_signature=[rt.TensorSpec([2, None], rt.float32)])
    known = [None if part == -1 else part for part in sections]
    assert [spec.shape.as_list() for spec in traced.get_concrete_function().structured_outputs] == [
        [2, part] for part in known]
    least = sum(part for part in sections if part > 0)
    for size in (least, least + 3):
        x = np.arange(2.0 * size, dtype=np.float32).reshape(2, size)
        for found, expected in zip(traced(x), parts(x), strict=True):
            np.testing.assert_array_equal(found, expected)
    if least:
        with pytest.raises(ShapeError, match=f"axis 1 is too small for parts of {re.escape(str(sections))}"):
            traced(np.zeros([2, least - 1], np.float32))


def test_one_part_is_the_rest() -> None:
    with pytest.raises(ShapeError, match=r"one part of size -1, not \[-1, 2, -1\]"):
        rt.function(lambda x: rt.split(x, [-1, 2, -1])).get_concrete_function(rt.TensorSpec([None], rt.float32))

from __future__ import annotations

from collections.abc import Iterator

import pytest

import runtime as rt


@pytest.fixture
def native_by_default() -> Iterator[None]:
    """Functions that name no executor run natively."""
    before = rt.config.default_executor()
    rt.config.set_default_executor("native")
    yield
    rt.config.set_default_executor(before)

"""Options of the test run."""
from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from autograph.core.backend import ambient

signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests send; a shell lets what it runs with & ignore it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files from what the code gives now",
    )


@pytest.fixture(autouse=True)
def converted_form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Converted functions run their converted form on plain values, too, so that its operators are held to what Python
    does; the marker `entry` is for tests of what happens without that."""
    ambient.forced = request.node.get_closest_marker("entry") is None
    yield
    ambient.forced = False

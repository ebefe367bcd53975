"""Options of the test run."""
from __future__ import annotations

import signal

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests send; a shell lets what it runs with & ignore it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files from what the code gives now",
    )

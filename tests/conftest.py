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


SLOW = frozenset({
    "test_array_statements", "test_benchmarks", "test_cache_entries", "test_cache_entries_written", "test_coverage",
    "test_disk_cache", "test_fuzz", "test_fuzz_numeric", "test_interpreters", "test_interrupts", "test_line_events",
    "test_planted_faults", "test_planted_op_faults", "test_rewrite_control", "test_select", "test_sharing",
    "test_size_errors", "test_sizes", "test_source", "test_stdlib", "test_whole_files"})
"""Modules of tests that take long; so do those of `tests/native`, programs of unknown sizes, and programs that run
natively, of which the inner loop has a few subjects."""
NATIVELY = ("algorithms-", "branches-", "jumps-", "loops-", "returns-")
PARITY = frozenset({
    "test_coverage", "test_debugging_parity", "test_interpreters", "test_line_events", "test_programs", "test_stdlib"})
"""Modules of tests that compare with Python, or ways with each other."""
RANDOM = frozenset({"test_fuzz", "test_fuzz_numeric", "test_rewrite_random", "test_sizes"})
"""Modules of random programs; so are tests that have `random` in their names."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        module = item.path.stem
        natively = module == "test_programs" and item.name.endswith("-native]") and not any(
            f"[{subject}" in item.name for subject in NATIVELY)
        if module in SLOW or natively or "native" in item.path.parts or "relaxed" in item.name:
            item.add_marker("slow")
        if module in PARITY:
            item.add_marker("parity")
        if module in RANDOM or "random" in item.name:
            item.add_marker("random")


@pytest.fixture(autouse=True)
def converted_form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Converted functions run their converted form on plain values, too, so that its operators are held to what Python
    does; the marker `entry` is for tests of what happens without that."""
    ambient.forced = request.node.get_closest_marker("entry") is None
    yield
    ambient.forced = False

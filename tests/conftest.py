"""Options of the test run."""
from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator

import pytest

from autograph.core.backend import ambient

signal.signal(signal.SIGINT, signal.default_int_handler)  # which tests send; a shell lets what it runs with & ignore it


gc.set_threshold(20_000, 20, 100)  # traces make many objects: collections took a tenth of the time


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files from what the code gives now",
    )
    parser.addoption("--optimised", action="store_true", help="LLVM optimises native code in all tests")


_folder = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """The processes of a run, those that tests start, too, share machine code, a fifth of which several tests need, and
    the byte code of modules."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if "RUNTIME_CACHE" not in os.environ:  # else this is a worker, or the user has one
        os.environ["RUNTIME_CACHE"] = config.stash[_folder] = tempfile.mkdtemp(prefix="runtime-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (folder := config.stash.get(_folder, None)) is not None:
        os.environ.pop("RUNTIME_CACHE", None)
        shutil.rmtree(folder, ignore_errors=True)


SLOW = frozenset({
    "test_argument_numbers", "test_array_statements", "test_arrays_in_python_loops", "test_backend",
    "test_batching_rules", "test_benchmarks", "test_cache_entries", "test_cache_entries_written", "test_checkpoint",
    "test_checkpoints", "test_container_references", "test_convolution", "test_counter_functions", "test_coverage",
    "test_csv_files", "test_deques", "test_disk_cache", "test_docs", "test_endless_loops", "test_examples",
    "test_exchanged_arrays", "test_function_cases", "test_fuzz", "test_fuzz_numeric", "test_gradients",
    "test_gradients_of_handlers", "test_gradients_of_programs", "test_hash_tables", "test_hostile_models",
    "test_interpreters", "test_interrupts", "test_iterator_positions", "test_jacobians", "test_keras_sample",
    "test_line_events", "test_list_rows", "test_math_module", "test_native_rules", "test_new_arrays",
    "test_number_inputs", "test_numpy_functions", "test_ops_registry", "test_overflow_checks", "test_painpoints",
    "test_planted_faults", "test_planted_op_faults", "test_profiled_programs", "test_random_lanes", "test_released",
    "test_rewrite", "test_rewrite_control", "test_rolled_loops", "test_rules", "test_saved_model",
    "test_saved_programs", "test_segments_and_images", "test_select", "test_shared_objects", "test_sharing",
    "test_signal", "test_size_errors", "test_sizes", "test_source", "test_staged_sets", "test_stdlib",
    "test_text_characters", "test_training", "test_until_error", "test_users", "test_vmap_control_flow",
    "test_vmap_of_programs", "test_whole_files", "test_widened_recursion",
})
"""Modules of tests that take long; so do those of `tests/native`, programs of unknown sizes, random ones, and programs
that run eagerly, as shown or natively, of which the inner loop has a few subjects."""
CASES = 3
"""So many cases of each test function are in the inner loop, the first ones; the others are slow together."""
SUBJECTS = ("algorithms-", "branches-", "jumps-", "loops-", "returns-")
PARITY = frozenset({
    "test_coverage", "test_debugging_parity", "test_interpreters", "test_line_events", "test_programs", "test_stdlib"})
"""Modules of tests that compare with Python, or ways with each other."""
RANDOM = frozenset({"test_fuzz", "test_fuzz_numeric", "test_rewrite_random", "test_sizes"})
"""Modules of random programs; so are tests that have `random` in their names."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases = Counter[tuple[object, str]]()
    for item in items:
        module = item.path.stem
        other_way = module == "test_programs" and item.name.endswith(("-native]", "-eager]", "-shown]")) and not any(
            f"[{subject}" in item.name for subject in SUBJECTS)
        is_random = module in RANDOM or "random" in item.name
        other_way |= getattr(item, "callspec", None) is not None and item.callspec.params.get("executor") == "native"
        if module in SLOW or other_way or is_random or "native" in item.path.parts or "relaxed" in item.name:
            item.add_marker("slow")
        else:
            function = item.path, item.name.partition("[")[0]
            cases[function] += 1
            if cases[function] > CASES and module != "test_programs":
                item.add_marker("slow")
        if module in PARITY:
            item.add_marker("parity")
        if is_random:
            item.add_marker("random")


SETTLED = 1000
"""After so many tests, what is there by now is not looked at any more by collections, of which tests ask for many."""
_started = itertools.count()
SAMPLE = 16
"""Of so many tests, LLVM optimises the native code of one."""


def is_optimised(item: pytest.Item) -> bool:
    """Whether LLVM optimises the native code of a test, which takes seven times as long: where that is the subject, and
    in a sample, which depends on nothing but the test's name."""
    return bool(item.config.getoption("--optimised")) or item.get_closest_marker("optimised") is not None or (
        zlib.crc32(item.nodeid.encode()) % SAMPLE == 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """The level of LLVM, also for processes that a test starts."""
    level = 2 if is_optimised(item) else 0
    os.environ["RUNTIME_LLVM_LEVEL"] = str(level)  # read at import
    if (config := sys.modules.get("runtime.core.config")) is not None:
        config.settings.llvm_level = level
    if next(_started) % SETTLED == 0:
        gc.collect()
        gc.freeze()
    return (yield)


@pytest.fixture(autouse=True)
def converted_form(request: pytest.FixtureRequest) -> Iterator[None]:
    """Converted functions run their converted form on plain values, too, so that its operators are held to what Python
    does; the marker `entry` is for tests of what happens without that."""
    ambient.forced = request.node.get_closest_marker("entry") is None
    yield
    ambient.forced = False

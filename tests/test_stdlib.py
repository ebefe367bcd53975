"""CPython's own tests on converted modules of the standard library: a selection. All: `python -m tests.stdlib`."""
from __future__ import annotations

import os
from pathlib import Path

import pytest
from stdlib import compare as comparing
from stdlib.compare import Comparison, compare
from stdlib.modules import EXPLAINED, MODULES, SELECTION, has_tests, subjects
from stdlib.rate import conversion_rate, files, functions_of

needs_tests = pytest.mark.skipif(
    not has_tests(), reason="this Python comes without CPython's tests (the package `test`)")


@needs_tests
@pytest.mark.parametrize("name", SELECTION)
def test_same_outcome_converted(name: str) -> None:
    found = subjects((name,))
    if not found:
        pytest.skip(f"this Python has no tests for {name}")
    result = compare(found[0])
    assert isinstance(result, Comparison), result
    assert result.tests and result.functions
    assert not result.errors, "\n".join(result.errors)
    assert not result.unexplained, "\n".join(
        f"{test}: {result.differences[test]}\n{result.details[test]}" for test in result.unexplained)


_FAULTY = """
import sys
sys.path.insert(0, {folder!r})
import child, in_place
right = in_place.converted_code

def wrong(fn):
    return (lambda *args, **kwargs: []).__code__ if fn.__name__ == "nsmallest" else right(fn)

in_place.converted_code = wrong
child.main(sys.argv[1].split(","), sys.argv[2].split(","), sys.argv[3], sys.argv[4])
"""


@needs_tests
def test_a_wrong_function_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "faulty.py"
    script.write_text(_FAULTY.format(folder=os.path.dirname(comparing.__file__)))
    monkeypatch.setattr(comparing, "_CHILD", str(script))
    result = compare(subjects(("heapq",))[0])
    assert isinstance(result, Comparison)
    assert {"test.test_heapq.TestHeapC.test_nsmallest", "test.test_heapq.TestHeapPython.test_nsmallest"} <= {
        *result.regressions}
    assert "test.test_heapq.TestHeapC.test_push_pop" not in result.differences


@needs_tests
def test_tests_that_do_not_run_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subjects(("heapq",))[0]._replace(targets=("no_such_module",))
    result = compare(subject)
    assert isinstance(result, str)
    assert "heapq: the tests do not run unconverted" in result and "no_such_module" in result


def test_table() -> None:
    names = [subject.name for subject in MODULES]
    assert len(names) >= 100 and names == sorted(names) and len(set(names)) == len(names)
    assert set(SELECTION) <= set(names)
    assert all(reason.endswith(".") for reason in EXPLAINED.values())
    with pytest.raises(LookupError, match="no tests are known for nothing"):
        subjects(("nothing",))


def test_functions_of_a_file_are_all_found() -> None:
    heapq = next(name for name in files() if os.path.basename(name) == "heapq.py")
    names = {fn.__name__ for fn in functions_of(heapq)}
    assert {"heappush", "merge", "_siftup"} <= names


def test_conversion_rate_on_a_sample() -> None:
    rate = conversion_rate(every=40)
    assert rate.functions > 200
    assert not rate.errors, str(rate)
    assert "100.00 % convert" in str(rate)

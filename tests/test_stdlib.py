"""CPython's own tests on converted modules of the standard library: a selection. All: `python -m tests.stdlib`."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from stdlib import __main__ as command
from stdlib import compare as comparing
from stdlib import modules
from stdlib.compare import MODES, Comparison, Converted, Times, compare
from stdlib.modules import LONG, MODULES, OF_FRAMES, PROOFS, RECURSIVE, SELECTION, Subject, has_tests, subjects
from stdlib.page import page, summary
from stdlib.rate import Rate, conversion_rate, files, functions_of

import autograph as ag
import runtime as rt

needs_tests = pytest.mark.skipif(
    not has_tests(), reason="this Python comes without CPython's tests (the package `test`)")


@needs_tests
@pytest.mark.parametrize("name", sorted({*SELECTION, *RECURSIVE}))
def test_same_outcome_converted(name: str) -> None:
    found = subjects((name,))
    if not found:
        pytest.skip(f"this Python has no tests for {name}")
    modes = [mode for mode, names in zip(MODES, (SELECTION, RECURSIVE), strict=True) if name in names]
    result = compare(found[0]._replace(without=LONG), modes)
    assert isinstance(result, Comparison), result
    assert result.original and [*result.modes] == modes
    for mode, after in result.modes.items():
        assert after.functions, mode
        assert not after.errors, "\n".join([mode, *after.errors])
        assert not after.unlisted, "\n".join(
            f"{test}, {mode}: {after.differences[test]}\n{after.details[test]}" for test in after.unlisted)
        assert not after.missing, f"listed as inherent, and the same: {after.missing}"


_FAULTY = """
import sys
sys.path.insert(0, {folder!r})
import child, in_place
right = in_place.converted_code

def wrong(fn):
    return (lambda *args, **kwargs: []).__code__ if fn.__name__ == "nsmallest" else right(fn)

in_place.converted_code = wrong
child.main(sys.argv[1].split(","), sys.argv[2].split(","), sys.argv[3], sys.argv[4], [])
"""
_NSMALLEST, _PUSH_POP = "test.test_heapq.TestHeap{}.test_nsmallest", "test.test_heapq.TestHeap{}.test_push_pop"


def some_of_heapq() -> Subject:
    tests = [test.format(kind) for test in (_NSMALLEST, _PUSH_POP) for kind in ("C", "Python")]
    return subjects(("heapq",))[0]._replace(tests=tuple(tests))


@needs_tests
def test_a_wrong_function_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "faulty.py"
    script.write_text(_FAULTY.format(folder=os.path.dirname(comparing.__file__)))
    monkeypatch.setattr(comparing, "_CHILD", str(script))
    monkeypatch.setattr(comparing, "_ATTEMPTS", 1)
    result = compare(some_of_heapq())
    assert isinstance(result, Comparison) and len(result.original) == 4
    after = result.modes["converted"]
    assert {*after.regressions} == {_NSMALLEST.format("C"), _NSMALLEST.format("Python")}
    assert {*after.differences} == {*after.regressions}
    assert not after.good and not result.good


@needs_tests
def test_a_listed_test_that_is_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    test = _PUSH_POP.format("C")
    monkeypatch.setitem(modules.INHERENT, test, "bytecode")
    result = compare(some_of_heapq())
    assert isinstance(result, Comparison)
    assert result.modes["converted"].missing == (test,)
    assert not result.modes["converted"].unlisted and not result.good


@needs_tests
def test_tests_that_do_not_run_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subjects(("heapq",))[0]._replace(targets=("no_such_module",))
    result = compare(subject)
    assert isinstance(result, str)
    assert "heapq: the tests do not run unconverted" in result and "no_such_module" in result


def test_table() -> None:
    names = [subject.name for subject in MODULES]
    assert len(names) >= 100 and names == sorted(names) and len(set(names)) == len(names)
    assert {*SELECTION, *RECURSIVE} <= set(names)
    assert {*modules.INHERENT.values(), *OF_FRAMES.values()} == set(PROOFS)
    with pytest.raises(LookupError, match="no tests are known for nothing"):
        subjects(("nothing",))


def test_modules_that_have_to_be_there() -> None:
    named = """_pydecimal argparse ast asyncio bisect calendar collections configparser contextlib copy csv
        dataclasses datetime difflib doctest email enum fnmatch fractions functools glob graphlib heapq html inspect
        ipaddress json logging pathlib pprint random reprlib shlex shutil statistics string tarfile tempfile textwrap
        tokenize traceback typing unittest urllib xml zipfile"""
    assert {*named.split()} <= {subject.name for subject in MODULES}


_PROOF = """
def g(x):
    if x > 0:
        return 1
    return -1

def f(x):
    return g(x)
"""


def test_proof_bytecode(tmp_path: Path) -> None:
    path = tmp_path / "proof.py"
    path.write_text(_PROOF)
    module: dict[str, Any] = {"__name__": "proof"}
    exec(compile(_PROOF, str(path), "exec"), module)
    f = module["f"]
    assert f.__code__.co_names == ("g",)
    same_code = FunctionType(f.__code__, f.__globals__)
    converted = ag.convert_traced(f)
    spec = rt.TensorSpec([], rt.int32)
    with pytest.raises(rt.errors.OperatorNotAllowedInGraphError):  # Python asks for the truth of a tensor
        rt.function(ag.do_not_convert(same_code)).get_concrete_function(spec)
    assert int(rt.function(converted)(rt.constant(-3))) == -1
    assert converted.__code__.co_names != ("g",)


def _comparison(differences: dict[str, tuple[str, str]], missing: tuple[str, ...] = ()) -> Comparison:
    converted = Converted(5, differences, dict.fromkeys(differences, "a text"), (), missing, Times(3.0, 4.0))
    outcomes = {"test.a.A.one": "ok", "test.a.A.two": "expected failure", "test.a.A.three": "skip"}
    return Comparison("a", outcomes, Times(1.0, 2.0), dict.fromkeys(MODES, converted))


def test_page() -> None:
    listed = next(iter(modules.INHERENT))
    found = [_comparison({listed: ("ok", "fail")})]
    assert summary(found, MODES[:1]).splitlines()[1:] == [
        "converted: 0 tests differ, and 1 that are listed as inherent; the tests took 3.00 times the processor time "
        "and 2.00 times the time"]
    text = page(found, [], Rate(7, (), 0.007))
    assert "| a | 5 | 3 | 2 | 1 | 1 | 3.00x | 1 | 3.00x |" in text
    assert f"- `{listed}`\n" in text and PROOFS["bytecode"].strip() in text and "What differs:" not in text
    found = [_comparison({"test.a.A.one": ("ok", "fail")}, (listed,))]
    text = page(found, ["b: the tests do not run"], Rate(7, (), 0.007))
    assert "- `test.a.A.one`, converted: ok unconverted, fail converted." in text
    assert f"- `{listed}`, recursive: is listed below, and does not differ." in text
    assert "Not measured:\n\n- b: the tests do not run\n" in text


@pytest.mark.parametrize("result, status", [
    (_comparison({}), 0), (_comparison({"test.a.A.one": ("ok", "fail")}), 1), (_comparison({}, ("test.b",)), 1),
    ("a: the tests do not run unconverted: why", 1),
])
def test_what_differs_fails_the_run(
    result: Comparison | str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "compare", lambda subject, modes: result)
    monkeypatch.setattr(command, "has_tests", lambda: True)
    monkeypatch.setattr(sys, "argv", ["tests.stdlib", "heapq", "--details"])
    assert command.main() == status
    shown = capsys.readouterr().out
    assert ("DIFFERS a, converted" in shown or "do not run" in shown) == bool(status)
    assert shown.count("a text") == (2 if "ok -> fail" in shown else 0)


def test_functions_of_a_file_are_all_found() -> None:
    heapq = next(name for name in files() if os.path.basename(name) == "heapq.py")
    names = {fn.__name__ for fn in functions_of(heapq)}
    assert {"heappush", "merge", "_siftup"} <= names


def test_conversion_rate_on_a_sample() -> None:
    rate = conversion_rate(every=30)
    assert rate.functions > 200
    assert not rate.errors, str(rate)
    assert "100.00 % convert" in str(rate)

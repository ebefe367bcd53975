"""Hostile sizes give a result or one class of error in all ways, and read no foreign memory (fuzz/sizes.py)."""
from __future__ import annotations

import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import guard
from fuzz.size_programs import program
from fuzz.sizes import campaign, summary, verdict

pytestmark = pytest.mark.skipif(not guard.available(), reason="no C compiler")


def test_a_seed_is_a_program() -> None:
    assert program(1, 500) == program(1, 500) != program(2, 500)


def test_differences_are_seen() -> None:
    located, nowhere = ValueError("<p>:3: no"), ValueError("no")
    ways = ("eager", "numpy", "native")

    def judged(*outcomes: tuple[str, object], large: bool = False) -> tuple[str, str]:
        return verdict(dict(zip(ways, outcomes)), "<p>", large)

    wrong = ("ValueError", located)
    assert judged(wrong, wrong, wrong) == ("error ValueError", "")
    assert judged(wrong, wrong, ("ValueError", nowhere)) == ("", "native ValueError without file and line")
    assert judged(wrong, wrong, ("", [])) == ("", "eager ValueError / numpy ValueError / native result")
    lacking = ("OutOfMemoryError", located)
    assert judged(lacking, lacking, ("", []), large=True) == ("tolerated", "")
    assert judged(lacking, lacking, ("", []))[0] == ""


def test_hostile_sizes() -> None:
    found = [str(failure) for failure in campaign(0, 0, 300, step=29)]
    assert not found, "\n".join(found)
    assert summary.results > 50 and sum(summary.errors.values()) > 50

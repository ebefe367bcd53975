"""A tracer of the converted form sees each line that Python runs: so breakpoints stop, and coverage misses none.
`test_interpreters.py` has other interpreters."""
from __future__ import annotations

import sys

import pytest
from line_events import WATCHES, parted
from programs import load
from structures import differing

PLAIN = [p for p in load().values() if not p.needs_runtime and p.applies("converted")]


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize("subject", sorted({p.subject for p in PLAIN}))
def test_every_line_of_a_program_is_seen(subject: str, watch: str) -> None:
    found = [parted(p, WATCHES[watch]) for p in PLAIN if p.subject == subject]
    assert found and not [f for f in found if f is not None]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 gives the end of a function lines of its own")
def test_every_line_of_random_structures_is_seen() -> None:
    assert [found for seed in (*range(40), 619, 629, 656, 717) if (found := differing(seed)) is not None] == []


def test_a_tracer_of_something_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structures.ag.convert_traced", lambda fn: lambda *args: fn(*args) or 5)
    assert (found := differing(3)) is not None and found.startswith("seed 3, run ")

"""A tracer of the converted form sees each line that Python runs: so breakpoints stop, and coverage misses none."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from line_events import WATCHES, parted
from programs import load
from structures import differing
from test_interpreters import FOUND, environment, pure_packages

__all__ = ["pure_packages"]

PLAIN = [p for p in load().values() if not p.needs_runtime and p.applies("converted")]


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize("subject", sorted({p.subject for p in PLAIN}))
def test_every_line_of_a_program_is_seen(subject: str, watch: str) -> None:
    found = [parted(p, WATCHES[watch]) for p in PLAIN if p.subject == subject]
    assert found and not [f for f in found if f is not None]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 gives the end of a function lines of its own")
def test_every_line_of_random_structures_is_seen() -> None:
    assert [found for seed in (*range(80), 619, 629, 656, 717) if (found := differing(seed)) is not None] == []


def test_a_tracer_of_something_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structures.ag.convert_traced", lambda fn: lambda *args: fn(*args) or 5)
    assert (found := differing(3)) is not None and found.startswith("seed 3, run ")


RUN = """
import json
from line_events import WATCHES, parted
from programs import load

programs = [p for p in load(runtime=False).values() if p.applies("converted")]
found = [parted(program, watch) for program in programs for watch in WATCHES.values()]
print(json.dumps([len(found), [f for f in found if f is not None]]))
"""


@pytest.mark.skipif(not FOUND, reason="no other interpreter of 3.10 to 3.14 on PATH or in ~/.pyenv/versions")
@pytest.mark.parametrize("version", [v for v in FOUND if v < (3, 14)], ids=lambda v: f"{v[0]}.{v[1]}")
def test_every_line_is_seen_on_another_interpreter(version: tuple[int, int], pure_packages: Path) -> None:
    done = subprocess.run(
        [FOUND[version], "-c", RUN], capture_output=True, text=True, env=environment(pure_packages), timeout=240)
    assert done.returncode == 0, done.stderr
    count, found = json.loads(done.stdout.splitlines()[-1])
    assert count > 400 and not found

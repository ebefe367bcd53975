"""Conversion on the other interpreters of this machine: the plain programs do there what they do in Python, a tracer
sees their lines (`test_line_events.py` has this interpreter's), and the golden texts compile.

Another interpreter has no binary packages of this environment, so it gets the pure-Python ones that autograph
needs, linked into a folder, and autograph alone is run.
"""
from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PURE = ("gast", "astunparse", "six")
VERSIONS = [(3, minor) for minor in range(10, 15)]

RUN = """
import gc, json, pathlib, sys
gc.set_threshold(20_000, 20, 100)  # as in conftest.py
from line_events import WATCHES, parted
from programs import load
from ways import EXACT, difference, reference, run

failures, unseen, count, watched = {}, {}, 0, 0
for number, program in enumerate(load(runtime=False).values()):
    for way in EXACT - program.without.keys():
        if way == "shown" and number % 8:
            continue
        for arguments in program.arguments:
            count += 1
            try:
                found = difference(reference(program, arguments), run(program, way, arguments), exact=True)
            except Exception as error:
                found = f"conversion failed: {error!r}"
            if found is not None:
                failures[program.name] = f"{way}, {arguments}: {found}"
    if program.applies("converted") and sys.version_info < (3, 14):
        for watch in WATCHES.values():
            watched += 1
            if (found := parted(program, watch)) is not None:
                unseen[program.name] = found
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py.txt")):
    try:
        compile(path.read_text(), str(path), "exec")
    except SyntaxError as error:
        failures[path.name] = str(error)
print(json.dumps([list(sys.version_info[:2]), count, failures, watched, unseen]))
"""
"""Of one program in eight also what `to_code` shows is run: that is the most work, and the printer's output depends
little on the interpreter."""


def interpreters() -> dict[tuple[int, int], str]:
    """Another interpreter for each version: those on PATH and those that pyenv has."""
    candidates = [(name.group(), str(path)) for path in sorted(
        Path.home().glob(".pyenv/versions/*/bin/python"), reverse=True)
        if (name := re.match(r"3\.\d+(?=\.\d+$)", path.parts[-3]))]
    candidates += [(name, found) for name in (f"3.{minor}" for _, minor in VERSIONS)
                   if (found := shutil.which(f"python{name}"))]
    versions: dict[tuple[int, int], str] = {}
    for version in VERSIONS:
        for name, candidate in candidates:
            if name == "{}.{}".format(*version) and version != sys.version_info[:2] and runs(candidate, version):
                versions[version] = candidate
                break
    return versions


def runs(candidate: str, version: tuple[int, int]) -> bool:
    """Whether it is an interpreter of that version."""
    try:
        command = [candidate, "-c", "import sys; print(*sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        return tuple(map(int, done.stdout.split())) == version
    except (OSError, ValueError, subprocess.SubprocessError):
        return False


FOUND = interpreters()


@pytest.fixture(scope="module")
def pure_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pure")
    for name in PURE:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            pytest.skip(f"{name} is not installed here, so it cannot be lent to another interpreter")
        origin = Path(spec.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        (folder / origin.name).symlink_to(origin)
    return folder


def environment(packages: Path) -> dict[str, str]:
    """For another interpreter: it finds these packages, autograph and the programs."""
    return {
        **{key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")},
        "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT), str(ROOT / "tests")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.mark.skipif(not FOUND, reason="no other interpreter of 3.10 to 3.14 on PATH or in ~/.pyenv/versions")
@pytest.mark.parametrize("version", FOUND, ids=lambda v: f"{v[0]}.{v[1]}")
def test_programs_on_another_interpreter(version: tuple[int, int], pure_packages: Path) -> None:
    done = subprocess.run(
        [FOUND[version], "-c", RUN, str(ROOT / "tests" / "golden")], capture_output=True, text=True,
        env=environment(pure_packages), timeout=240)
    assert done.returncode == 0, done.stderr
    ran, count, failures, watched, unseen = json.loads(done.stdout.splitlines()[-1])
    assert tuple(ran) == version
    assert count > 2000 and not failures
    if version < (3, 14):
        assert watched > 400 and not unseen

"""Keras' own tests, from its wheel, in a process of pytest: the outcome of each."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
SPLIT = ("layers", "ops", "backend")
"""Folders of keras/src that are so large that their parts are rows of their own."""
_ADDRESS: Final = re.compile(r"(?<=at)\s?0x[0-9a-f]+")
"""In the names of tests whose arguments are functions: it differs from run to run."""
Outcomes = dict[str, str]
"""By name of a test: "passed", "skipped", or the first line of its error."""


def sources() -> Path:
    """The folder keras/src of the installed wheel, found without importing Keras."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent / "src"


def groups() -> dict[str, list[Path]]:
    """Files of tests by folder."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(sources().rglob("*_test.py")):
        parts = path.relative_to(sources()).parts
        if parts[0] == "backend" and parts[1] in ("jax", "tensorflow", "torch", "numpy", "openvino"):
            continue  # of one other backend
        name = "/".join(parts[:2]).removesuffix("_test.py") if parts[0] in SPLIT else parts[0]
        found[name].append(path)
    return dict(found)


def run(tests: Sequence[Path | str], backend: str, jobs: int = 2, timeout: int = 1800,
        select: str | None = None) -> Outcomes:
    """The outcomes of these files or tests on a backend: `runtime`, or one that Keras knows. Warnings are ignored."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(sources().parent.parent),
                   "-p", "no:cacheprovider", "-p", "tests.keras.plugin", "-W", "ignore", "--tb=line",
                   "--continue-on-collection-errors", f"--junitxml={report}", *map(str, tests)]
        if select is not None:
            command += ["-k", select]
        if jobs > 1:
            command += ["-n", str(jobs)]
        environment = os.environ | {"KERAS_HOME": folder, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment["KERAS_BACKEND"] = backend
        done = subprocess.run(command, cwd=folder, env=environment, timeout=timeout, capture_output=True, text=True)
        if not os.path.exists(report):
            raise RuntimeError(f"pytest did not run ({backend}):\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return _parsed(report)


def _parsed(report: str) -> Outcomes:
    found: Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = _ADDRESS.sub("", f"{case.get('classname', '')}::{case.get('name')}")
        outcome = "passed"
        for child in case:
            if child.tag in ("failure", "error"):
                text = child.get("message") or "failed"
                if text == "collection failure":
                    text = (child.text or text).strip().rpartition("\n")[2]
                outcome = text.strip().partition("\n")[0][:300]
                break
            if child.tag == "skipped":
                outcome = "skipped"
        found[name] = outcome
    return found

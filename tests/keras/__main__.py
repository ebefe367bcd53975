"""`python -m tests.keras [FOLDER...]`: Keras' own tests on this backend and on JAX (extra `bench`), by folder.

What passes on JAX and not here is what this backend lacks.

    --page        write the table in docs/keras.md
    --alone       not on JAX: print what does not pass here
    --jobs N      processes of pytest (default: the number of processors)
    --select K    only tests that pytest's -k selects
    --store FILE  keep outcomes in this JSON file; what it has already is not run again
"""
from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .outcomes import ROOT, Outcomes, groups, run
from .page import row, with_table

PAGE = ROOT / "docs/keras.md"


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m tests.keras", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--select")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    wanted = {name: files for name, files in groups().items() if not options.folders or name in options.folders
              or name.partition("/")[0] in options.folders}
    unknown = {f for f in options.folders} - set(wanted) - {name.partition("/")[0] for name in wanted}
    if unknown:
        print(f"no such folder of tests: {', '.join(sorted(unknown))}; there are {', '.join(groups())}",
              file=sys.stderr)
        return 2
    stored: dict[str, Outcomes] = {}
    if options.store and options.store.exists():
        stored = json.loads(options.store.read_text())

    def outcomes(name: str, backend: str, tests: Sequence[Path | str]) -> Outcomes:
        key = f"{backend}:{name}"
        if key not in stored:
            stored[key] = run(tests, backend, options.jobs, select=options.select) if tests else {}
            if options.store:
                options.store.write_text(json.dumps(stored))
        return stored[key]

    found: dict[str, tuple[Outcomes, Outcomes]] = {}
    for name in sorted(wanted):
        here = outcomes(name, "runtime", wanted[name])
        if options.alone:
            _print_failures(name, here)
            continue
        found[name] = here, outcomes(name, "jax", wanted[name])
        print(row(name, *found[name]), flush=True)
    if options.page:
        PAGE.write_text(with_table(PAGE.read_text(), found, [name for name in groups() if name not in found]))
    return 0


def _print_failures(name: str, here: Outcomes) -> None:
    print(name, dict(Counter(x if x in ("passed", "skipped") else "failed" for x in here.values())))
    for test, outcome in here.items():
        if outcome not in ("passed", "skipped"):
            print(f"  {test}: {outcome}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

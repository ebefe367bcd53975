"""`python -m benchmarks`: run groups of benchmarks and print a table."""
from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from benchmarks import (
    arrays,
    batching,
    calls,
    conversion,
    data,
    first_programs,
    gradients,
    imports,
    items,
    plain,
    scaling,
    stdlib,
    training,
)
from benchmarks.measure import FULL, OURS, QUICK, Budget, Row
from benchmarks.programs import plot, steady

GROUPS: dict[str, Callable[[Budget], Iterator[Row]]] = {
    "conversion": conversion.run,
    "plain": plain.run,
    "peers": steady.run,
    "items": items.run,
    "calls": calls.run,
    "gradients": gradients.run,
    "batching": batching.run,
    "imports": imports.run,
    "scaling": scaling.run,
    "first": first_programs.run,
    "stdlib": stdlib.run,
    "training": training.run,
    "data": data.run,
    "arrays": arrays.run,
}
COLUMNS = (OURS, "Python", "numpy", "TF", "malt", "jax", "numba")
COLUMNS_OF = {"peers": steady.COLUMNS, "gradients": gradients.COLUMNS, "data": data.COLUMNS,
              "arrays": arrays.COLUMNS}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"one of {', '.join(GROUPS)}; all if none is given")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--no-peers", action="store_true", help="measure this project alone")
    parser.add_argument("--quick", action="store_true", help="a short run without peers: do the benchmarks work?")
    parser.add_argument("--plot", metavar="FILE", help="the programs of the group `peers` as a picture: SVG or PNG")
    options = parser.parse_args(argv)
    unknown = [name for name in options.groups if name not in GROUPS]
    if unknown:
        parser.error(f"no group {unknown[0]!r}: there are {', '.join(GROUPS)}")
    if options.plot is not None and not plot.possible():
        parser.error("--plot needs matplotlib: pip install matplotlib")
    if options.plot is not None and options.groups and "peers" not in options.groups:
        parser.error("--plot shows the group peers, which is not among those to run")
    budget = QUICK if options.quick else Budget(peers=False) if options.no_peers else FULL

    machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    results: dict[str, list[Row]] = {}
    if not options.json:
        print("Python {python}, {machine}, {cores} cores; medians, of peers minima".format(**machine))
    for name in options.groups or GROUPS:
        rows = results[name] = []
        columns = COLUMNS_OF.get(name, COLUMNS)
        if not options.json:
            print(f"\n{name:48}{'':4}" + "".join(f"{column:>10}" for column in columns) + "   to reach", flush=True)
        for row in GROUPS[name](budget):
            rows.append(row)
            if not options.json:
                print(line(row, columns), flush=True)
    if options.json:
        document = {**machine, "results": {name: [asdict(row) for row in rows] for name, rows in results.items()}}
        json.dump(document, sys.stdout, indent=2)
        print()
    if options.plot is not None:
        plot.draw(results["peers"], options.plot)
    return 0


def line(row: Row, columns: Sequence[str] = COLUMNS) -> str:
    """A row of the table: the figure of each column, and the target with whether it is reached."""
    figures = "".join(f"{number(row.figures.get(column)):>10}" for column in columns)
    reached = "" if row.met is None else "  yes" if row.met else "  NO"
    text = f"{row.name:48}{row.unit:4}{figures}   {row.target}{reached}".rstrip()
    if row.notes:
        text += "\n" + "; ".join(f"{name}: {note}" for name, note in row.notes.items())
    return text


def number(value: float | None) -> str:
    """Three significant digits, without an exponent."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())

"""What becomes of random programs, traced and in Python: the command that counts it, and the check of a refusal."""
from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

import runtime as rt

__all__ = ["count", "refusal"]

FINE = ("same", "refused", "raises")


def refusal(got: Any, name: str) -> str | None:
    """What a StagingError of the program with that name is: "refused", or what is wrong with it; None for others."""
    if not isinstance(got, rt.errors.StagingError):
        return None
    lines = str(got).splitlines()
    return "refused" if name in lines[0] and len(lines) > 3 else f"an error that names no line: {got}"


def count(name: str, description: str, program: Callable[[int], Any], outcome: Callable[[Any, str, str], str]) -> int:
    """The command `python -m tests.name`: counts the outcomes of programs, and prints those that are wrong. Returns its
    exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.{name}", description=description.split("\n\n")[0])
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--executor", default="numpy", help="numpy or native")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        made = program(seed)
        found = outcome(made, f"<{name} {seed}>", options.executor)
        if found not in FINE:
            print(f"seed {seed}:\n{made.text}\n{found}\n", flush=True)
            found = "wrong"
        counts[found] += 1
    print(", ".join(f"{many} {kind}" for kind, many in sorted(counts.items())))
    return 1 if "wrong" in counts else 0

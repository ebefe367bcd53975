"""The command: `python -m tests.fuzz 10000 --seed 1` runs programs, shrinks those that fail, and prints them."""
from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ways import HAS_LLVM

from fuzz import numeric, sizes
from fuzz.campaign import Failure, campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, help="how many programs (10000)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program (0)")
    parser.add_argument("--kind", choices=["plain", "tensor", "both"], default="both")
    parser.add_argument("--stop", type=int, default=10, help="stop at so many failures (10)")
    parser.add_argument("--no-shrink", action="store_true", help="show failures as they were made")
    parser.add_argument("--native", action=argparse.BooleanOptionalAction, default=HAS_LLVM,
                        help="run tensor programs on the native executor, too (if llvmlite is installed)")
    parser.add_argument("--sizes", type=int, metavar="N", help="run N cases of hostile sizes (sizes.py)")
    parser.add_argument("--only", type=int, metavar="K", help="with --sizes: print case K, and run it alone")
    parser.add_argument("--numeric", type=int, metavar="COUNT",
                        help="so many numeric programs instead, native and reference executor compared")
    options = parser.parse_args()
    if options.sizes is not None:
        if options.only is not None:
            return sizes.run_one(options.seed, options.only)
        return sizes.report(options.seed, options.sizes)
    if options.native and not HAS_LLVM:
        parser.error("--native needs llvmlite")
    if options.numeric is not None:
        return numeric.main(options.numeric, options.seed, options.stop, not options.no_shrink)
    started = time.perf_counter()
    failures: list[Failure] = []
    refusals: collections.Counter[str] = collections.Counter()
    done = 0
    for result in campaign(options.count, options.seed, options.kind, not options.no_shrink, options.native):
        done += 1
        if result.refused:
            refusals[result.refused.split(": ", 2)[-1].splitlines()[0][:100]] += 1
        if result.failure is not None:
            failures.append(result.failure)
            print(result.failure, flush=True)
            if len(failures) >= options.stop:
                break
    seconds = time.perf_counter() - started
    print(f"{done} programs in {seconds:.0f} s: {len(failures)} failures; staging refused {sum(refusals.values())}")
    for text, times in refusals.most_common(8):
        print(f"    {times} x {text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

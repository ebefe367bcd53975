"""`python -m tests.stdlib [MODULE...]`: compares all (or these) modules; all of them also write docs/stdlib.md.

    --jobs N      modules at a time (default: the number of processors)
    --mode MODE   only `converted` (the functions of the module) or `recursive` (also all that they call: in other
                  modules, and in the tests); may be given twice
    --lines       instead, compare the lines that coverage finds, converted and not
    --rate        instead, convert every function of the standard library, and say how many convert
    --details     print what the tests that differ printed
"""
from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from .compare import MODES, Comparison, compare, compare_lines
from .modules import has_tests, subjects
from .page import page, summary
from .rate import conversion_rate

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "stdlib.md")


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m tests.stdlib", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--rate", action="store_true")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    if options.rate:
        rate = conversion_rate()
        print(rate)
        return 1 if rate.errors else 0
    if not has_tests():
        print("this Python comes without CPython's tests (the package `test`)", file=sys.stderr)
        return 2
    if options.lines:
        return _lines(tuple(options.modules), options.jobs)
    found: list[Comparison] = []
    unable: list[str] = []
    modes = tuple(options.mode or MODES)
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda subject: compare(subject, modes), subjects(tuple(options.modules))):
            if isinstance(result, str):
                unable.append(result)
                print(result, flush=True)
            else:
                found.append(result)
                _print(result, options.details)
    print(summary(found, modes))
    if not options.modules and not options.mode:
        text = page(found, unable, conversion_rate())
        with open(PAGE, "w") as file:
            file.write(text)
    return 1 if unable or not all(result.good for result in found) else 0


def _lines(modules: tuple[str, ...], jobs: int) -> int:
    total = wrong = unable = 0
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(compare_lines, subjects(modules)):
            if isinstance(result, str):
                unable += 1
                print(result, flush=True)
                continue
            total += 1
            wrong += bool(result.differences)
            print(f"{'DIFFERS' if result.differences else 'same'} {result.name}: {result.functions} functions, "
                  f"{result.tests} tests, {result.count} lines", flush=True)
            for difference in result.differences:
                print(f"    {difference}")
    print(f"{total} modules, {wrong} of which coverage finds otherwise; {unable} not measured")
    return 1 if wrong else 0


def _print(result: Comparison, details: bool) -> None:
    for mode, after in result.modes.items():
        outcome = "DIFFERS" if not after.good else "as listed" if after.differences else "same"
        ratio = after.seconds.processor / max(result.seconds.processor, 0.01)
        print(f"{outcome} {result.name}, {mode}: {after.functions} functions, {len(result.original)} tests, "
              f"{ratio:.2f}x", flush=True)
        for name in after.unlisted:
            print(f"    {name}: {' -> '.join(after.differences[name])}")
            if details:
                print("        " + after.details[name].replace("\n", "\n        "))
        for name in after.missing:
            print(f"    {name}: listed as inherent, and does not differ")
        for error in after.errors:
            print(f"    {error}")


if __name__ == "__main__":
    sys.exit(main())

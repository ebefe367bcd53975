"""`python -m tests.stdlib [MODULE...]`: compares all (or these) modules; all of them also write docs/stdlib.md.

    --jobs N      modules at a time (default: the number of processors)
    --recursive   also convert whatever the modules call: other modules, callbacks in the tests
    --rate        instead, convert every function of the standard library, and say how many convert
    --details     print what the tests that differ printed
"""
from __future__ import annotations

import argparse
import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor

from .compare import Comparison, compare
from .modules import EXPLAINED, has_tests, subjects
from .rate import Rate, conversion_rate

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "stdlib.md")


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(prog="python -m tests.stdlib", description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rate", action="store_true")
    parser.add_argument("--recursive", action="store_true")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    if options.rate:
        rate = conversion_rate()
        print(rate)
        return 1 if rate.errors else 0
    if not has_tests():
        print("this Python comes without CPython's tests (the package `test`)", file=sys.stderr)
        return 2
    found: list[Comparison] = []
    unable: list[str] = []
    mode = "recursive" if options.recursive else "converted"
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda subject: compare(subject, mode), subjects(tuple(options.modules))):
            if isinstance(result, str):
                unable.append(result)
                print(result, flush=True)
                continue
            found.append(result)
            print(_line(result), flush=True)
            for name, (first, second) in result.differences.items():
                print(f"    {name}: {first} -> {second}")
                if options.details:
                    print("        " + result.details[name].replace("\n", "\n        "))
            for error in result.errors:
                print(f"    {error}")
    bad = [result for result in found if result.unexplained or result.errors]
    print(f"{len(found)} modules, {sum(r.tests for r in found)} tests, {len(bad)} modules differ without explanation")
    if not options.modules:
        text = page(found, unable, conversion_rate())
        with open(PAGE, "w") as file:
            file.write(text)
    return 1 if bad else 0


def _line(result: Comparison) -> str:
    outcome = "same" if result.same else "DIFFERS"
    return f"{outcome} {result.name}: {result.functions} functions, {result.tests} tests, {result.ratio:.2f}x"


def _times(result: Comparison) -> str:
    return f"{result.ratio:.2f}x" if result.seconds > 0.1 else ""


def _reason(test: str) -> str:
    return next((reason for start, reason in EXPLAINED.items() if test.startswith(start)), "")


def page(found: list[Comparison], unable: list[str], rate: Rate) -> str:
    """The text of docs/stdlib.md."""
    before = sum(result.seconds for result in found)
    after = sum(result.seconds * result.ratio for result in found)
    tests = sum(result.tests for result in found)
    same = sum(result.same for result in found)
    differ = sum(len(result.differences) for result in found)
    lines = [
        "# The standard library under CPython's own tests",
        "",
        "Written by `python -m tests.stdlib`, which converts all functions of a module (methods, properties, lambdas, "
        "nested functions; of a package, those of all its modules), runs CPython's tests for it in a process of its "
        "own, does the same unconverted, and compares the outcomes test by test. What differs is run once more both "
        "ways, and counts if it differs again.",
        "",
        f"CPython {platform.python_version()}: {len(found)} modules, {tests} tests; {same} modules have the same "
        f"outcome in every test; {differ} tests differ. The tests took {before:.0f} s unconverted and {after:.0f} s "
        f"converted, {after / max(before, 1e-9):.2f} times as long. {rate}",
        "",
        "| module | functions | tests | passed | skipped | differ | time |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for r in found:
        passed = r.original["ok"] + r.original["expected failure"]
        lines.append(f"| {r.name} | {r.functions} | {r.tests} | {passed} | {r.original['skip']} | "
                     f"{len(r.differences) + len(r.errors) or ''} | {_times(r)} |")
    notes = [f"- `{name}`: {first} unconverted, {second} converted. {_reason(name)}".rstrip()
             for r in found for name, (first, second) in r.differences.items()]
    notes += [f"- {r.name}: {error.splitlines()[-1]}" for r in found for error in r.errors]
    if notes:
        lines += ["", "What differs:", "", *notes]
    if unable:
        lines += ["", "Not measured:", "", *(f"- {text.splitlines()[-1]}" for text in unable)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())

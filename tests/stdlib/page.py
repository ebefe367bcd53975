"""What was found, as the text of docs/stdlib.md."""
from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence

from .compare import MODES, Comparison, Times, counts
from .modules import INHERENT, OF_FRAMES, PROOFS
from .rate import Rate

__all__ = ["page", "summary"]


def _ratio(before: Iterable[Times], after: Iterable[Times]) -> tuple[float, float]:
    first, second = list(before), list(after)
    return (sum(t.processor for t in second) / max(sum(t.processor for t in first), 0.01),
            sum(t.passed for t in second) / max(sum(t.passed for t in first), 0.01))


def summary(found: list[Comparison], modes: Sequence[str]) -> str:
    """One line for each mode."""
    lines = [f"CPython {platform.python_version()}: {len(found)} modules, {sum(len(r.original) for r in found)} tests"]
    for mode in modes:
        results = [r.modes[mode] for r in found]
        differ = sum(len(result.unlisted) + len(result.missing) + len(result.errors) for result in results)
        listed = sum(len(result.differences) - len(result.unlisted) for result in results)
        processor, passed = _ratio((r.seconds for r in found), (result.seconds for result in results))
        lines.append(f"{mode}: {differ} tests differ, and {listed} that are listed as inherent; the tests took "
                     f"{processor:.2f} times the processor time and {passed:.2f} times the time")
    return "\n".join(lines)


def _time(before: Times, after: Times) -> str:
    return f"{after.processor / before.processor:.2f}x" if before.processor > 0.1 else ""


def _row(result: Comparison) -> str:
    passed = counts(result.original)
    cells = [result.name, str(result.modes[MODES[0]].functions), str(len(result.original)), str(passed["ok"]),
             str(passed["skip"])]
    for mode in MODES:
        after = result.modes[mode]
        cells += [str(len(after.differences) + len(after.errors) or ""), _time(result.seconds, after.seconds)]
    return f"| {' | '.join(cells)} |"


def page(found: list[Comparison], unable: list[str], rate: Rate) -> str:
    """The text of docs/stdlib.md."""
    lines = [
        "# The standard library under CPython's own tests",
        "",
        "Converted code has to mean what Python means. To check that, `python -m tests.stdlib` converts modules of "
        "the standard library, runs CPython's own tests on them, compares each outcome with that of the "
        "unconverted module, and writes this page. Each module is tested in a process of its own.",
        "",
        "- *converted*: all functions of the module, or of the package's modules, are converted: methods, "
        "properties, lambdas and nested functions included.",
        "- *recursive*: their callees, and the functions of the tests, are converted too, when they are called.",
        "- A test that differs is repeated both ways, and counts if it differs three times.",
        "- Times are the processor time of the tests, divided by that of the unconverted tests where that is more "
        "than 0.1 s. In *recursive* they include conversion. Here the converted form runs on plain values, for the "
        "sake of the test; outside a trace the original runs, at its own speed.",
        "",
        "## Results",
        "",
        *(f"- {line}" for line in summary(found, MODES).splitlines()),
        f"- {rate}",
        "",
        "| module | functions | tests | passed | skipped | converted: differ | time | recursive: differ | time |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *map(_row, found),
    ]
    bad = [f"- `{name}`, {mode}: {' unconverted, '.join(after.differences[name])} converted."
           for r in found for mode, after in r.modes.items() for name in after.unlisted]
    bad += [f"- `{name}`, {mode}: is listed below, and does not differ."
            for r in found for mode, after in r.modes.items() for name in after.missing]
    bad += [f"- {r.name}, {mode}: {error.splitlines()[-1]}"
            for r in found for mode, after in r.modes.items() for error in after.errors]
    if bad:
        lines += ["", "What differs:", "", *bad]
    lines += ["", "## What cannot be kept", "",
              "The tests of the first group differ with any source converter, and have to differ for the run to pass. "
              "Those of the other groups may differ. A run fails if any other test differs."]
    for key, proof in PROOFS.items():
        names = [name for name, why in {**INHERENT, **OF_FRAMES}.items() if why == key]
        lines += ["", *(f"- `{name}`" for name in names), "", proof.rstrip()]
    if unable:
        lines += ["", "Not measured:", "", *(f"- {text.splitlines()[-1]}" for text in unable)]
    return "\n".join(lines) + "\n"

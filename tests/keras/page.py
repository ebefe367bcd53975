"""docs/keras.md: the table of Keras' tests."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from .outcomes import Outcomes

_HEADING = "## Keras' own tests"


def counts(here: Outcomes, jax: Outcomes) -> tuple[int, int, int, int]:
    """The number of tests, of those that pass, that are skipped, and that do not pass here but on JAX."""
    outcomes = Counter(here.values())
    return len(here), outcomes["passed"], outcomes["skipped"], len(lacking(here, jax))


def lacking(here: Outcomes, jax: Outcomes) -> list[str]:
    """The tests that fail or are skipped here, and pass on JAX."""
    return [name for name, outcome in here.items() if outcome != "passed" and jax.get(name) == "passed"]


def row(name: str, here: Outcomes, jax: Outcomes) -> str:
    tests, passed, skipped, lacks = counts(here, jax)
    share = f"{100 * passed / (passed + lacks):.1f} %" if passed + lacks else ""
    return f"| {name} | {tests} | {passed} | {skipped} | {tests - passed - skipped} | {lacks} | {share} |"


def with_table(text: str, found: Mapping[str, tuple[Outcomes, Outcomes]], missing: Sequence[str]) -> str:
    """The page with its table replaced. `missing`: folders that were not run."""
    here = {name: outcome for pair in found.values() for name, outcome in pair[0].items()}
    jax = {name: outcome for pair in found.values() for name, outcome in pair[1].items()}
    lines = [
        f"{_HEADING}\n",
        f"`python -m tests.keras --page` runs the tests in the wheel of Keras {version('keras')} and writes this "
        "table. The last columns: how many tests fail or are skipped here and pass on JAX, and the share of what "
        "passes here among these and what passes here.\n",
        "| folder | tests | pass | skipped | fail | of JAX lacking | |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *[row(name, *pair) for name, pair in found.items()],
        row("all of these", here, jax), "",
    ]
    if missing:
        lines += [f"Not run: {', '.join(missing)}.\n"]
    lines += ["What passes on JAX and not here, by the first line of the error:\n", *_reasons(found), ""]
    return text.partition(_HEADING)[0] + "\n".join(lines)


def _reasons(found: Mapping[str, tuple[Outcomes, Outcomes]]) -> list[str]:
    lines = []
    for name, (here, jax) in found.items():
        reasons = Counter(here[test].removeprefix("E   ")[:140] for test in lacking(here, jax))
        for reason, count in reasons.most_common():
            lines.append(f"- {name}, {count}: `{reason.replace('`', chr(39))}`")
    return lines

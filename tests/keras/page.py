"""docs/keras.md: the table of Keras' tests."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from .outcomes import Outcomes

_HEADING = "## Keras' own tests"


def lacking(here: Outcomes, jax: Outcomes) -> list[str]:
    """The tests that pass on JAX, and fail or are skipped here."""
    return [name for name, outcome in jax.items() if outcome == "passed" and here.get(name) != "passed"]


def row(name: str, here: Outcomes, jax: Outcomes) -> str:
    passed, on_jax = Counter(here.values())["passed"], Counter(jax.values())["passed"]
    lacks = len(lacking(here, jax))
    share = f"{100 * (on_jax - lacks) / on_jax:.1f} %" if on_jax else ""
    return f"| {name} | {len(here)} | {passed} | {on_jax} | {on_jax - lacks} | {share} |"


def with_table(text: str, found: Mapping[str, tuple[Outcomes, Outcomes]], missing: Sequence[str]) -> str:
    """The page with its table replaced. `missing`: folders that were not run."""
    here = {name: outcome for pair in found.values() for name, outcome in pair[0].items()}
    jax = {name: outcome for pair in found.values() for name, outcome in pair[1].items()}
    lines = [
        f"{_HEADING}\n",
        f"`python -m tests.keras --page` runs the tests in the wheel of Keras {version('keras')}, here and on JAX "
        f"{version('jax')}, and writes this table. The last columns: of those that pass on JAX, how many pass here. "
        "Where tests make sparse tensors, which they do by the name of the backend, they take TensorFlow's branch with "
        "this runtime in its place (`tests/keras/sparse_branches.py`).\n",
        "| folder | tests | pass | pass on JAX | of these here | |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
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
        reasons = Counter(here.get(test, "not collected").removeprefix("E   ")[:140] for test in lacking(here, jax))
        for reason, count in reasons.most_common():
            lines.append(f"- {name}, {count}: `{reason.replace('`', chr(39))}`")
    return lines

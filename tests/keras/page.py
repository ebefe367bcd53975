"""docs/keras.md: the table of Keras' tests on this backend and on JAX."""
from __future__ import annotations

from collections import Counter, defaultdict
from importlib.metadata import version

from .outcomes import Outcomes

_INTRODUCTION = """\
# Keras on this runtime

Keras 3 runs on this runtime as its backend: `import runtime as tf` has it as `tf.keras`; a script that says
`import keras` runs on it after `import runtime.keras`, or unchanged by `python -m runtime keras train.py`. Layers,
optimizers, losses, metrics, callbacks and files are Keras' own; `fit` traces a step once and runs native code for each
batch.

This page is written by `python -m tests.keras`, which runs the tests in Keras' wheel on this backend and on JAX.
"""


def counts(here: Outcomes, jax: Outcomes) -> tuple[int, int, int]:
    """The number of tests, of those that pass on JAX, and of these that pass here. A test that is skipped here is not
    counted as one that passes."""
    on_jax = [name for name, outcome in jax.items() if outcome == "passed"]
    return len(jax), len(on_jax), sum(here.get(name) == "passed" for name in on_jax)


def row(name: str, here: Outcomes, jax: Outcomes) -> str:
    tests, on_jax, both = counts(here, jax)
    share = f"{100 * both / on_jax:.1f} %" if on_jax else ""
    return f"| {name} | {tests} | {on_jax} | {both} | {share} |"


def page(found: dict[str, tuple[Outcomes, Outcomes]]) -> str:
    """The text of the page."""
    rows = [row(name, *pair) for name, pair in found.items()]
    here = {name: outcome for pair in found.values() for name, outcome in pair[0].items()}
    jax = {name: outcome for pair in found.values() for name, outcome in pair[1].items()}
    return "\n".join([
        _INTRODUCTION,
        f"## Tests of Keras {version('keras')}\n",
        "| folder | tests | pass on JAX | of these pass here | |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
        row("all", here, jax),
        "\n## What passes on JAX and not here\n",
        *_failures(found),
        "",
    ])


def _failures(found: dict[str, tuple[Outcomes, Outcomes]]) -> list[str]:
    """By folder, the first lines of errors with the number of tests that end so."""
    lines = []
    for name, (here, jax) in found.items():
        reasons: dict[str, Counter[str]] = defaultdict(Counter)
        for test, outcome in jax.items():
            mine = here.get(test, "not found")
            if outcome == "passed" and mine != "passed":
                reasons[test.partition("(")[0].rpartition(".")[0].rpartition(".")[2]][mine[:160]] += 1
        for case, outcomes in reasons.items():
            for reason, count in outcomes.most_common():
                lines.append(f"- {name}, {case}: {count} times {reason.replace('|', '/').replace('<', '&lt;')}")
    return lines

"""The examples: each runs by itself, as README.md says, and prints what it is there to show."""
from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"

# What each must print, in this order (regular expressions).
SHOWN = {
    "quickstart": [
        r"--- What you write", r"def lasting_peak\(values, years\):\n", r"                break\n",
        r"--- What it becomes", r"def for_body\(start\):", r"ag__\.reduce\(.*, test=for_test\)\n",
        r"--- The graph", r"graph lasting_peak\(values: float32\[\?\], years: int32\[\]\)", r"reduce\(",
        r"1778, with 154\.4 of them, stood for 60 years",
        r"your function, in Python +[\d.]+ ms", r"converted, on Python numbers +[\d.]+ ms",
        r"graph, as one native function +[\d.]+ ms",
    ],
    "collatz": [
        r"ag__\.while_loop\(while_test, while_body, 'n', 'steps'\)",
        r"below 100, 97 takes longest: 118 steps", r"traced 1 time; .*: 27 111",
    ],
    "own_backend": [r"staged: \(1, 4\)\nPython: \(1, 4\)\n"],
    "sum_even": [
        r"ag__\.reduce\(items, for_body, 's'\)", r"a list, in Python: +12\n", r"a tensor, as a graph: +12\n",
        r"a dataset, as a graph: +12\n", r"graph sum_even\(", r"s = reduce\(",
    ],
    "deep_net": [
        r"leak 0\.0: .*\nleak 0\.1: ", r"traced 1 time\n", r"ag__\.call\(linear_layer\)\(", r"def activation",
        r"ag__\.cond\(leak > 0\.0", r"deep_net\.py:\d+: deep_net\n +\d+: for: staged if a tensor",
    ],
    "dynamic_rnn": [
        r"outputs \(3, 4, 6\) last state \(3, 6\)", r"length 4: as computed alone", r"length 1: as", r"length 3: as",
    ],
    "greedy_decoding": [
        r"c -> con\ng -> gon\nk -> keldin\nn -> n\nx -> xeldin\n", r"traced 1 time", r"break_ = True",
        r"follows = ag__\.setitem\(",
    ],
    "newton_logistic": [
        r"5 steps, loss 0\.\d+, gradient below 1e-", r"w is +[\d.-]+ +[\d.-]+ +[\d.-]+", r"traced 1 time",
    ],
    "many_orbits": [r"1000 orbits, of \d to \d steps each, in one call\n", r"traced 1 time"],
    "bouncing_ball": [
        r"height after 3 s: [\d.]+ m, after \d bounces",
        r"by the first height: gradient +[\d.]+, differences +[\d.]+\n",
        r"let go from [\d.]+ m, it ends at 0\.500 m",
    ],
    "lbfgs": [r"^\d\d iterations, value [\d.]+e-\d\d\n", r"x is( 1\.0){10}\n",
              r"at most \de-(09|1\d) from (the optimum|SciPy)\n"],
    "keras_digits": [r"fit on backend 'runtime': 9[789]\.\d % of unseen digits, \d\.\d s\n",
                     r"saved after 440 steps and resumed: 9[6789]\.\d %\n"],
    "keras_two_heads": [r"epoch 0: distance [\d.]+, side 0\.[\d]+\n",
                        r"epoch 19: distance 0\.[0-3]\d+, side 0\.0\d+\n",
                        r"400 steps of each head, \d{4} bytes of summaries\n"],
    "keras_dynamic_rnn": [r"loss [01]\.\d+ in the first epoch, 0\.0[01]\d+ in the last of 20\n",
                          r"(length \d: sum -?\d\.\d\d, found -?\d\.\d\d\n){4}"],
    "keras_char_lstm": [r"\d\d % of characters foreseen in the first epoch, 9[4-9] % in the last\n",
                        r"(This is the [a-z ]+ that lay in the house that Jack built\.\n){4}"],
    "keras_transfer": [r"pretrained on 0 to 4: 9\d\.\d %\n", r"of 100 images: (7\d\.\d %), transfer-1\nrestored: \1\n",
                       r"tuned, trunk and head: 9\d\.\d %\n"],
    "cart_pole": [r"rounds   0 to  20: poles stand +[\d.]+ steps of 200\n",
                  r"learned: \d\d steps at first, 200 at last\n"],
    "attention_decoder": [r"loss 0\.0[01]\d after \d+ of 2000 steps\n", r"271 -> 172\n14142 -> 24141\n80 -> 08\n"],
    "equilibrium": [
        r"gradients differ by at most \de-1\d\n", r"implicit: saves nothing in an iteration\n",
        r"through the iterations: .* while_loop saves in each iteration",
        r"loss [\d.]+ at first, 0\.00000 after 200 steps\n",
    ],
    "maml": [r"at random: loss [\d.]+, after 1 step [\d.]+, after 5 steps 0\.[5-9]",
             r"learned  : loss [\d.]+, after 1 step 0\.[01]\d, after 5 steps 0\.0\d\n"],
    "neural_ode": [r"gradient (-?\d\.\d{5})\d, differences \1", r"loss [\d.]+ at first, 0\.000\d+ after 300 rounds\n",
                   r"solved at once to the end, in \d+ steps: \[-0\.\d+ +-0\.4\d*\], is \[-0\.07 -0\.44\]\n"],
    "text_classifier": [r"30 words: and, as, awful, bad",
                        r"loss 0\.6\d in the first epoch, 0\.00\d in the last of 20\n",
                        r"(9\d\.\d|100\.0)% of unseen reviews are right\n", r"is good: (0\.9\d|1\.00)\n"],
    "debugging": [
        r"n is 10\nn is 5\nn is 2\nsteps: 3\n",
        r"debugging\.py:\d+: index 7 is out of bounds for axis 0 with size 3\n +\d+ \| +return table\[index\]\n +\^\n",
        r"debugging\.py\(\d+\)stepped\(\)", r"\(<rt\.Tensor: shape=\(\), dtype=int32, numpy=4>, 0\)", r"steps: 2\n",
        r"Converted code", r"debugging\.py\(\d+\)stepped\(\)", r"\(4, 0\)", r"\(2, 1\)", r"steps: 2\n",
        r"argument 'n' is float32\[\], and was int32\[\] before", r"while: staged if a tensor",
    ],
}


def has_keras():
    try:
        return importlib.metadata.version("keras") is not None
    except importlib.metadata.PackageNotFoundError:
        return False


def test_every_example_is_here():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_example(name):
    if name.startswith("keras_") and not has_keras():
        pytest.skip("Keras needs Python 3.11")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, env=env)
    assert child.returncode == 0, child.stderr
    assert child.stderr == "" or name.startswith("keras_")  # TensorFlow logs, which Keras imports where there is one
    rest = child.stdout
    for pattern in SHOWN[name]:
        found = re.search(pattern, rest)
        assert found, f"not shown, or not in its place: {pattern}\n{child.stdout}"
        rest = rest[found.end():]

"""The machine code that LLVM makes."""
from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import runtime as rt


def alignment(a, b, scores):
    most = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = 2 if a[i - 1] == b[j - 1] else -1
            score = max(0, scores[i - 1, j - 1] + same, scores[i - 1, j] - 1, scores[i, j - 1] - 1)
            scores[i, j] = score
            if score > most:
                most = score
    return most


@pytest.mark.optimised
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of x86")
def test_maxima_that_the_next_iteration_depends_on_are_no_branches() -> None:
    f = rt.function(alignment, executor="native")
    a, b = np.random.default_rng(0).integers(0, 4, (2, 50))
    scores, want = np.zeros((2, 51, 51), np.int64)
    assert int(f(a, b, scores)) == alignment(a, b, want)
    np.testing.assert_array_equal(scores, want)
    text = f.concrete_functions[0].inspect_asm()
    blocks = re.findall(r"^(\.LBB\w+):((?:\n[^.\n].*|\n\t\.p2align.*)+)", text, re.M)
    loops = [block for label, block in blocks if re.search(rf"\tj\w+\t{re.escape(label)}\b", block)]
    assert any(len(re.findall(r"\tcmov", loop)) >= 2 for loop in loops)

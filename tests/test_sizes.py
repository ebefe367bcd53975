"""Hostile sizes give a result or one class of error in all ways, and read no foreign memory (fuzz/sizes.py)."""
from __future__ import annotations

import contextlib
import warnings
from typing import Any

import pytest

pytest.importorskip("llvmlite", reason="the native executor needs llvmlite")

import guard
from fuzz.size_programs import program
from fuzz.sizes import campaign, load, summary, verdict
from op_checks import is_of_strings

import runtime as rt
from runtime.ops.families import OPS as REGISTRY

pytestmark = pytest.mark.skipif(not guard.available(), reason="no C compiler")


def test_a_seed_is_a_program() -> None:
    assert program(1, 500) == program(1, 500) != program(2, 500)


def test_differences_are_seen() -> None:
    located, nowhere = ValueError("<p>:3: no"), ValueError("no")
    ways = ("eager", "numpy", "native")

    def judged(*outcomes: tuple[str, object], large: bool = False) -> tuple[str, str]:
        return verdict(dict(zip(ways, outcomes)), "<p>", large)

    wrong = ("ValueError", located)
    assert judged(wrong, wrong, wrong) == ("error ValueError", "")
    assert judged(wrong, wrong, ("ValueError", nowhere)) == ("", "native ValueError without file and line")
    assert judged(wrong, wrong, ("", [])) == ("", "eager ValueError / numpy ValueError / native result")
    lacking = ("OutOfMemoryError", located)
    assert judged(lacking, lacking, ("", []), large=True) == ("tolerated", "")
    assert judged(lacking, lacking, ("", []))[0] == ""


LATER = "a scalar of Python's math, in later versions"
WITHOUT_SIZES = {
    "a scalar of Python's math": "cbrt copysign exp2 fmod frexp fsum gamma hypot ldexp lgamma log10 log2 nextafter ulp",
    LATER: "fma nextafter_steps sumprod sumprod_ints",
    "a scalar of Python's statistics of a vector": (
        "statistics_mean statistics_pstdev statistics_pvariance statistics_stdev statistics_variance"),
    "element-wise, or of the sizes of what they take": "bitcast compared_order fft gcd lcm next_after",
    "of the columns of a dict or set": "hash_find hash_slots",
    "a scalar of Python's": "add_fits multiply_fits subtract_fits list_cast",
    "a check or an effect": "assert_compare call check check_bound keep numpy_function print py_function",
    "text or an error": (
        "equal_text error_part error_text hold_error rank_texts render_records render_text reraise text_function"),
    "a variable, of the shape of its value": "accumulate_variable assign_variable read_variable",
    "an iterator": "iterator_next iterator_next_or_none iterator_start",
    "the state of a generator, of three words": "philox_skip",
    "a table, which is an object": "table_count table_erase table_export table_write",
    "a matrix, whose sizes are as those of cholesky and det": "eigh qr slogdet svd",
    "of backward passes, or element-wise": "custom_gradient linear_recurrence polygamma special_function",
}
"""Ops that no program of hostile sizes has, and what they are of."""


def test_every_op_with_sizes_is_in_a_program() -> None:
    seen: set[str] = set()

    def note(graph: Any) -> None:
        for node in graph.nodes:
            seen.add(node.op.name)
            for inner in node.subgraphs.values():
                note(inner)

    for number in range(900):
        made = program(33, number)
        with warnings.catch_warnings(), contextlib.suppress(Exception):  # sizes that are refused while it is traced
            warnings.simplefilter("ignore")
            function = rt.function(load(made.text, f"<sizes {number}>"), executor="numpy")
            note(function.get_concrete_function(*[rt.TensorSpec(a.shape, a.dtype) for a in made.arguments]).graph)
    numeric = {name for name, op in REGISTRY.items() if not is_of_strings(op)}
    without = {name for names in WITHOUT_SIZES.values() for name in names.split()}
    assert numeric - seen == without - (set(WITHOUT_SIZES[LATER].split()) - set(REGISTRY))


def test_hostile_sizes() -> None:
    found = [str(failure) for failure in campaign(0, 0, 300, step=29)]
    assert not found, "\n".join(found)
    assert summary.results > 50 and sum(summary.errors.values()) > 50

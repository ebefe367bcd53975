"""Random functions whose attributes, globals and containers change in calls and between them."""
from __future__ import annotations

import warnings
from pathlib import Path

import between_calls
import pytest

import runtime as rt
from runtime.function.state.prior_state import PriorState


@pytest.mark.parametrize("seed", range(100, 116))
def test_random_functions(seed: int, tmp_path: Path) -> None:
    """More: `python -m tests.between_calls 1000`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rt.RetracingWarning)
        assert not between_calls.compare(seed, tmp_path)


PLANTS = {"stale": ("constants", lambda *_: []), "shared": ("find_shared", lambda *_: None)}


@pytest.mark.parametrize("planted", PLANTS)
def test_a_difference_is_found(planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant: what a trace has read is not looked at; or, an argument that is found elsewhere is two objects."""
    monkeypatch.setattr(PriorState, "found_elsewhere", lambda *_: (frozenset(), []))
    name, instead = PLANTS[planted]
    monkeypatch.setattr(PriorState, name, instead)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rt.RetracingWarning)
        assert any("in place of" in between_calls.compare(seed, tmp_path) for seed in range(40))

"""A sample of Keras' own tests passes; `python -m tests.keras` runs them all."""
from __future__ import annotations

from typing import Any

import pytest

from tests.keras.outcomes import run, sources

FILES = ["layers/rnn/lstm_test.py", "layers/normalization/layer_normalization_test.py", "models/sequential_test.py"]


@pytest.mark.slow
def test_a_sample_of_keras_own_tests() -> None:
    outcomes = run([sources() / name for name in FILES], "runtime", jobs=1)
    failed = {name: outcome for name, outcome in outcomes.items() if outcome not in ("passed", "skipped")}
    assert not failed
    assert sum(outcome == "passed" for outcome in outcomes.values()) > 30


def test_a_failure_is_seen(tmp_path: Any) -> None:
    """Plant: a test that fails, and one that is skipped; a file that does not import."""
    (tmp_path / "a_test.py").write_text(
        "import pytest\ndef test_no():\n    assert 1 == 2\ndef test_yes():\n    pass\n"
        "@pytest.mark.skip\ndef test_later():\n    pass\n")
    (tmp_path / "b_test.py").write_text("import nothing_of_this_name\n")
    outcomes = run([tmp_path / "a_test.py", tmp_path / "b_test.py"], "runtime", jobs=1)
    missing, *others = sorted(outcomes.values(), key=lambda outcome: "nothing_of" not in outcome)
    assert missing.endswith("No module named 'nothing_of_this_name'")
    assert sorted(others) == ["assert 1 == 2", "passed", "skipped"]

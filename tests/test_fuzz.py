"""Random programs mean the same every way they run; `python -m tests.fuzz` runs as many as one likes."""
from __future__ import annotations

import pytest
from fuzz.campaign import campaign
from fuzz.compare import judge
from fuzz.generate import PRELUDE, generate
from fuzz.shrink import shrink

PLAIN, TENSOR = 60, 40


@pytest.mark.parametrize("seed", range(0, PLAIN, 20))
def test_plain_programs(seed: int) -> None:
    found = [str(r.failure) for r in campaign(20, seed, "plain") if r.failure is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", range(0, TENSOR, 20))
def test_tensor_programs(seed: int) -> None:
    pytest.importorskip("runtime")
    results = list(campaign(20, seed, "tensor"))
    found = [str(r.failure) for r in results if r.failure is not None]
    assert not found, "\n".join(found)
    assert sum(bool(r.refused) for r in results) <= 5, "most programs stage"


def test_a_seed_is_a_program() -> None:
    assert generate(7, tensor=True) == generate(7, tensor=True) != generate(8, tensor=True)


BOTH = (
    "while True", "else:", "break", "continue", "return", "match ", "case _", "nonlocal ", "lambda", ":= ", "del gone",
    "raise", "assert ", "for i", ", (j", "print(f'", " in (1, 2, 3)", " and ", " or ", " if ", "box.v +=", "d['k'] -=",
    "box.items[0] +=", ".append(", ".pop(", ".insert(", "), v", "sum([", "low=b", "^=", " is None",
)
PLAIN_ONLY = (
    "try:", "except ", "finally:", "with ", "yield", "yield from", "async def", "await ", "class C", "for d[0] in",
    "*rest", "**d", "del xs[0]", "global_", "raise KeyError('other')", "{q % 2 for", "suppress(", "from error",
)


@pytest.mark.parametrize("tensor", [False, True])
def test_programs_use_all_of_python(tensor: bool) -> None:
    text = "".join(generate(seed, tensor).removeprefix(PRELUDE) for seed in range(400))
    assert [part for part in BOTH if part not in text] == []
    assert [part for part in PLAIN_ONLY if (part in text) is tensor] == []


def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    from autograph import operators

    text = "def program(a, b, f, xs):\n    c = a + 1\n    if c:\n        b = not a\n        print(c)\n    return b\n"
    assert not judge(text, ("shown",))
    monkeypatch.setattr(operators, "not_", lambda value: value)
    small = shrink(text, lambda t: bool(judge(t, ("shown",))))
    assert small == "def program(a, b, f, xs):\n    b = not a\n    return b"

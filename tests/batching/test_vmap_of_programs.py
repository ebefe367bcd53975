"""The test programs of numbers and lists, mapped over the arguments of their calls: the results of a loop."""
from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from programs import PROGRAMS, Program, load

import runtime as rt
from runtime.batching.vmap import _as_tensors

load()


def lanes(program: Program) -> Iterator[list[tuple[Any, ...]]]:
    """Calls whose arguments are alike, so that they can be lanes of one."""
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for arguments in program.arguments:
        if arguments and all(isinstance(x, (bool, int, float, list)) for x in arguments):
            with contextlib.suppress(ValueError, TypeError):
                kinds = str([(np.asarray(x).dtype.kind, np.shape(x)) for x in arguments])
                if "O" not in kinds and "U" not in kinds:
                    groups.setdefault(kinds, []).append(arguments)
    yield from (calls for calls in groups.values() if len(calls) > 1)


def as_tensor(values: Any) -> Any:
    return rt.convert_to_tensor(values)


def loop(program: Program, calls: list[tuple[Any, ...]]) -> list[Any] | None:
    """The results one after the other, stacked; None if one raises, prints, or they have no one shape."""
    fn = rt.function(lambda *arguments: _as_tensors(program.fn(*arguments)), executor="numpy")
    out = io.StringIO()
    found = []
    with contextlib.redirect_stdout(out):
        for arguments in calls:
            try:
                found.append(rt.nest.flatten(fn(*map(as_tensor, arguments))))
            except Exception:
                return None
    if out.getvalue() or len({len(row) for row in found}) > 1:
        return None
    columns = []
    for column in zip(*found, strict=True):
        if any(x is None for x in column) or len({np.shape(x) for x in column}) > 1:
            return None
        columns.append(np.stack([np.asarray(x) for x in column]))
    return columns


ASSIGNS = {"variable_in_loop", "variable_in_branch", "variable_read_in_order"}
CASES = [(name, calls) for name, program in PROGRAMS.items() if program.applies("staged")
         for calls in lanes(program)][::2]


@pytest.mark.parametrize(("name", "calls"), CASES, ids=[name for name, _ in CASES])
def test_program_is_a_loop_over_lanes(name: str, calls: list[tuple[Any, ...]]) -> None:
    program = PROGRAMS[name]
    arguments = [as_tensor([call[i] for call in calls]) for i in range(len(calls[0]))]
    if name in ASSIGNS:
        with pytest.raises(rt.errors.UnimplementedError, match="a variable is assigned"):
            rt.vmap(program.fn)(*arguments)
        return
    wanted = loop(program, calls)
    if wanted is None:
        pytest.skip("its results have no lanes")
    found = rt.nest.flatten(rt.function(rt.vmap(program.fn), executor="numpy")(*arguments))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, 1e-5)

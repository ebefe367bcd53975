"""Programs do what they do when their graphs are saved and loaded; what cannot be saved says so."""
from __future__ import annotations

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

from programs import load

import runtime as rt

PROGRAMS = [program for program in load().values() if program.applies("staged")][::18]


def outcome(call: Any) -> tuple[Any, str]:
    """The result or the error of a call, as text, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            found: Any = rt.nest.map_structure(lambda x: x.numpy().tolist() if isinstance(x, rt.Tensor) else x, call())
        except Exception as error:
            found = type(error).__name__
    return found, out.getvalue()


def test_programs(tmp_path: Path) -> None:
    """A sample of them, with one set of arguments each."""
    saved = refused = 0
    for program in PROGRAMS:
        arguments = [rt.constant(x) if type(x) in (int, float) else x for x in program.arguments[0]]
        function = rt.function(program.fn, executor="numpy")
        expected = outcome(lambda f=function, a=arguments: f(*copy.deepcopy(a)))
        if not function.concrete_functions:
            continue
        try:
            rt.saved_model.save(function, tmp_path)
        except rt.errors.UnimplementedError as error:
            assert "cannot be saved" in str(error), program.name
            refused += 1
            continue
        loaded = rt.saved_model.load(tmp_path)
        assert outcome(lambda a=arguments: loaded(*copy.deepcopy(a))) == expected, program.name
        saved += 1
    assert saved >= 40 and refused <= 5

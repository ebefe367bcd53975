"""Imports when a module is first used, and forward declarations."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from autograph.core.late_binding import Late, deferred


class Declared(Late):
    double: Callable[[int], int]


def test_a_module_is_imported_when_it_is_used() -> None:
    program = """
import sys
from autograph.core.late_binding import deferred
colours = deferred("colorsys")
print("colorsys" in sys.modules, colours.rgb_to_hsv(0, 0, 0), "colorsys" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False (0.0, 0.0, 0) True\n"


def test_a_module_that_is_not_there() -> None:
    missing = deferred("not_there_at_all")
    with pytest.raises(ModuleNotFoundError, match="not_there_at_all"):
        _ = missing.name


def test_an_attribute_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="colour"):
        _ = deferred("colorsys").colour


def test_a_function_is_defined_once() -> None:
    declared = Declared()
    with pytest.raises(RuntimeError, match=r"^Declared\.double is not defined: import the whole package$"):
        declared.double(1)
    declared.define(double=lambda x: 2 * x)
    assert declared.double(4) == 8
    with pytest.raises(TypeError, match=r"^Declared\.double is defined already$"):
        declared.define(double=abs)


def test_only_what_is_declared_can_be_defined() -> None:
    with pytest.raises(TypeError, match=r"^Declared\.half is not declared$"):
        Declared().define(half=abs)
    with pytest.raises(AttributeError, match="half"):
        _ = Declared().half

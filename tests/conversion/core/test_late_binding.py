"""Imports when a module is first used, and forward declarations."""
from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from autograph.core.late_binding import Late, deferred, deferred_names


class Declared(Late):
    double: Callable[[int], int]


DECLARED = Declared()


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


def test_an_interrupt_waits_for_the_end_of_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interrupted_module.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nfor _ in range(1000):\n    pass\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        _ = deferred("interrupted_module").whole
    assert sys.modules.pop("interrupted_module").whole
    assert signal.getsignal(signal.SIGINT) is handler


def test_names_of_a_package_are_imported_when_they_are_used() -> None:
    namespace: dict[str, object] = {"__name__": "xml"}
    names = deferred_names(namespace, {"xml": ("sax",), "colorsys": ("rgb_to_hsv as hsv", "rgb_to_hls")})
    assert [*names] == ["sax", "hsv", "rgb_to_hls"] and [*namespace] == ["__name__"]
    assert names.load("hsv") is namespace["hsv"] is sys.modules["colorsys"].rgb_to_hsv
    assert names.load("sax") is namespace["sax"] is sys.modules["xml.sax"]


def test_a_module_is_loaded_for_what_it_defines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "defines_nothing.py").write_text("")
    (tmp_path / "defines_double.py").write_text(
        "from test_late_binding import DECLARED\nDECLARED.define(double=lambda x: 2 * x)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "test_late_binding", sys.modules[__name__])
    DECLARED.defined_in(deferred("defines_nothing"), deferred("defines_double"), deferred("not_there_at_all"))
    assert DECLARED.double(4) == 8
    for name in ("defines_nothing", "defines_double"):
        del sys.modules[name]


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

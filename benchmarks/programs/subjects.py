"""The subjects: each makes, from a program and its data, a call that returns the results when they are complete."""
from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.measure import OURS
from benchmarks.peers import installed, peer
from benchmarks.programs.in_jax import in_jax
from benchmarks.programs.written import Program

__all__ = ["FIRST", "SUBJECTS", "load", "present"]

Call = Callable[[], Any]
Make = Callable[[Program, Sequence[Any]], Call]


def _ours(executor: str, fast_math: bool = False) -> Make:
    def make(program: Program, data: Sequence[Any]) -> Call:
        rt = importlib.import_module("runtime")  # here, so that other subjects' first calls do not import it
        fn = rt.function(program.make(rt), executor=executor, fast_math=fast_math)
        arguments = [rt.constant(x) for x in data]
        return lambda: fn(*arguments)

    return make


def _python(program: Program, data: Sequence[Any]) -> Call:
    arguments = [x.item() if program.loops else x for x in data]  # loops are faster on Python numbers
    return lambda: program.python(*arguments)


def _tf(jit: bool) -> Make:
    def make(program: Program, data: Sequence[Any]) -> Call:
        tf = peer("TF")
        fn = tf.function(program.make(tf), jit_compile=jit)
        arguments = [tf.constant(x) for x in data]
        return lambda: fn(*arguments)

    return make


def _jax(program: Program, data: Sequence[Any]) -> Call:
    jax = peer("jax")
    jax.config.update("jax_enable_x64", True)
    fn = jax.jit(in_jax(jax)[program.make.__name__])
    arguments = [jax.numpy.asarray(x) for x in data]
    return lambda: jax.block_until_ready(fn(*arguments))


def _numba(program: Program, data: Sequence[Any]) -> Call:
    fn = peer("numba").njit(program.python)
    arguments = list(data)
    return lambda: fn(*arguments)


REFERENCE = "reference"
SUBJECTS: dict[str, Make] = {
    OURS: _ours("native"), "fast_math": _ours("native", True), REFERENCE: _ours("numpy"), "NumPy": _python,
    "TF": _tf(False), "TF jit": _tf(True), "jax": _jax, "numba": _numba,
}
"""By the name of the column. C is built instead: see in_c.py."""

_NEEDS = {"TF": "TF", "TF jit": "TF", "jax": "jax", "numba": "numba"}
FIRST = (OURS, REFERENCE, "TF", "TF jit", "jax", "numba")
"""The subjects with special work at a function's first call."""


def present(subject: str, peers: bool = True) -> bool:
    """Whether the subject is installed, and requested."""
    if subject in _NEEDS:
        return peers and installed(_NEEDS[subject])
    return subject not in (OURS, "fast_math") or importlib.util.find_spec("llvmlite") is not None


def load(subject: str) -> None:
    """Import what the subject needs, so that imports are not part of the first call."""
    if subject in _NEEDS:
        peer(_NEEDS[subject])
    elif subject in (OURS, "fast_math"):
        importlib.import_module("runtime.backends.native.jit.executor")
    elif subject == REFERENCE:
        importlib.import_module("runtime")

"""The ways a program runs, what comes out of a run, and where two runs differ."""
from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import importlib.util
import io
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

from programs import Dataset, Fixed, Program

import autograph as ag
from autograph import operators
from autograph.core.backend import ambient

__all__ = [
    "EXACT", "HAS_LLVM", "RUNNERS", "Outcome", "converted_form", "difference", "reference", "run", "run_traced",
    "runtime_has"]


HAS_LLVM = importlib.util.find_spec("llvmlite") is not None
"""Whether the native executor can run."""


def runtime_has(name: str) -> bool:
    try:
        return hasattr(importlib.import_module("runtime"), name)
    except ImportError:
        return False


@dataclass
class Outcome:
    """What one call did: its result or its exception, what it printed, and its (changed) arguments."""

    result: Any = None
    error: BaseException | None = None
    printed: str = ""
    arguments: tuple[Any, ...] = ()

    def __str__(self) -> str:
        what = f"{self.result!r}" if self.error is None else f"{type(self.error).__name__}: {self.error}"
        return f"{what}, printing {self.printed!r}" if self.printed else what


def observe(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    printed = io.StringIO()
    outcome = Outcome(arguments=arguments)
    with contextlib.redirect_stdout(printed):
        try:
            outcome.result = call(*arguments)
        except Exception as error:
            outcome.error = error
    outcome.printed = printed.getvalue()
    return outcome


# --- Arguments ----------------------------------------------------------------------------------------------


class Double(float):
    """A float that tensors have as float64."""


def as_python(value: Any) -> Any:
    if isinstance(value, Fixed):
        return as_python(value.value)
    if isinstance(value, Double):
        return float(value)
    if isinstance(value, Dataset):
        return list(value.items)
    if isinstance(value, tuple):
        return tuple(as_python(v) for v in value)
    return copy.deepcopy(value)


def as_tensors(value: Any) -> Any:
    rt = importlib.import_module("runtime")
    if isinstance(value, Fixed):
        return as_python(value.value)
    if isinstance(value, Dataset):
        items = list(value.items)
        if items and isinstance(items[0], tuple):
            return rt.data.Dataset.from_tensor_slices(tuple(list(column) for column in zip(*items)))
        return rt.data.Dataset.from_tensor_slices(items)
    if isinstance(value, Double):
        return rt.constant(value, rt.float64)
    if isinstance(value, (bool, int, float, list)):
        return rt.constant(value)
    if isinstance(value, tuple):
        return tuple(as_tensors(v) for v in value)
    if isinstance(value, dict):
        return {key: as_tensors(v) for key, v in value.items()}
    return value


# --- Ways ---------------------------------------------------------------------------------------------------


def run_python(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    return observe(program.fn, tuple(as_python(a) for a in arguments))


@contextlib.contextmanager
def converted_form() -> Iterator[None]:
    """Converted functions run their converted form, on plain values, too."""
    before, ambient.forced = ambient.forced, True
    try:
        yield
    finally:
        ambient.forced = before


def run_converted(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    with converted_form():
        return observe(ag.convert(program.fn), tuple(as_python(a) for a in arguments))


@functools.cache
def shown(fn: Callable[..., Any], stage: str) -> tuple[CodeType, dict[str, Any]]:
    """The text of `to_code`, compiled, and the names of the operators in it (numbered where the user has them)."""
    text = ag.to_code(fn, stage=stage)
    names = dict.fromkeys(re.findall(r"\bag__\d*(?=\.)", text), operators)
    return compile(text, f"<to_code of {fn.__name__}>", "exec"), names


def run_shown(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    """The text of `to_code` on plain values, as it is shown, as it is compiled, and after one of the passes before,
    which do the same."""
    source = ag.to_code(program.fn, stage="capture")
    between = () if "finally:" in source or ":=" in source else (("jumps", "expressions")[len(program.name) % 2],)
    stages = "statements", "compiled", *between
    expected, found = run_python(program, arguments), [_run_text(program, arguments, stage) for stage in stages]
    return next((each for each in found if difference(expected, each, exact=True) is not None), found[0])


def _run_text(program: Program, arguments: tuple[Any, ...], stage: str) -> Outcome:
    code, names = shown(program.fn, stage)
    namespace = {**program.fn.__globals__, **names}
    exec(code, namespace)
    made = namespace[program.name]
    made.__defaults__, made.__kwdefaults__ = program.fn.__defaults__, program.fn.__kwdefaults__
    return observe(made, tuple(as_python(a) for a in arguments))


def run_eager_original(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    return observe(program.fn, tuple(as_tensors(a) for a in arguments))


def run_eager(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    with converted_form():
        return observe(ag.convert(program.fn), tuple(as_tensors(a) for a in arguments))


@functools.lru_cache(maxsize=64)
def staged(fn: Callable[..., Any], executor: str) -> Any:
    """One traced function for all calls of a program, so that a call could disturb a later one."""
    if executor == "numpy":
        return importlib.import_module("runtime").function(fn, executor=executor)
    return importlib.import_module("traced_once").Again(staged(fn, "numpy"), executor)


def run_staged(executor: str, program: Program, arguments: tuple[Any, ...]) -> Outcome:
    return run_traced(staged(program.fn, executor), arguments)


def run_traced(function: Any, arguments: tuple[Any, ...]) -> Outcome:
    """A traced function on tensors; its graph, and what is made of it, are right."""
    outcome = observe(function, tuple(as_tensors(a) for a in arguments))
    if outcome.error is None:
        concrete = function.get_concrete_function(*(as_tensors(a) for a in arguments))
        concrete.graph.verify()
        concrete.optimized.verify()
    return outcome


def run_relaxed(executor: str, program: Program, arguments: tuple[Any, ...]) -> Outcome:
    """Staged for tensors whose first dimension is unknown while the function is traced."""
    rt = importlib.import_module("runtime")
    tensors = tuple(as_tensors(a) for a in arguments)
    specs = [rt.TensorSpec([None, *t.shape[1:]] if t.ndim else [], t.dtype) for t in tensors]

    def call(*values: Any) -> Any:
        concrete = staged(program.fn, executor).get_concrete_function(*specs)
        concrete.graph.verify()
        return concrete(*values)

    return observe(call, tensors)


RUNNERS: dict[str, Callable[[Program, tuple[Any, ...]], Outcome]] = {
    "python": run_python, "converted": run_converted, "shown": run_shown, "eager": run_eager,
    "staged": functools.partial(run_staged, "numpy"), "relaxed": functools.partial(run_relaxed, "numpy"),
    "native": functools.partial(run_staged, "native"), "native relaxed": functools.partial(run_relaxed, "native"),
}


EXACT = frozenset({"converted", "shown"})
"""The ways that run on the same plain values as Python."""


def run(program: Program, way: str, arguments: tuple[Any, ...]) -> Outcome:
    return RUNNERS[way](program, arguments)


def reference(program: Program, arguments: tuple[Any, ...]) -> Outcome:
    """What the program means: Python's run of it, for a program that calls the runtime on eager tensors."""
    outcome = (run_eager_original if program.needs_runtime else run_python)(program, arguments)
    if program.needs_runtime and isinstance(outcome.error, AttributeError):
        raise outcome.error  # the program names what the runtime does not have
    return outcome


# --- Comparison ---------------------------------------------------------------------------------------------


def difference(expected: Outcome, got: Outcome, *, exact: bool) -> str | None:
    """Where `got` differs from `expected`, or None.

    `exact` is for runs on the same plain values: types, exception texts and arguments agree too. Otherwise
    tensors stand for numbers and lists, floats need only be close, an error may be of a class derived from
    the expected one, with a text of its own, or show its place around the expected text.
    """
    if (expected.error is None) != (got.error is None):
        return f"expected {expected}, got {got}"
    if expected.error is not None and got.error is not None:
        if not _same_error(expected.error, got.error, exact):
            return f"expected {type(expected.error).__name__}: {expected.error}, got {got}"
    if got.printed != expected.printed:
        return f"expected the text {expected.printed!r}, got {got.printed!r}"
    where = _unequal(expected.result, got.result, "the result", exact)
    if where is None and exact:
        where = _unequal(expected.arguments, got.arguments, "the arguments", exact)
    return where


def _same_error(expected: BaseException, got: BaseException, exact: bool) -> bool:
    if exact:
        return type(got) is type(expected) and str(got) == str(expected)
    if type(got) is type(expected):
        return str(expected) in str(got)
    return isinstance(got, type(expected))


def _plain(value: Any) -> Any:
    """Tensors as numbers and lists."""
    numpy = getattr(value, "numpy", None)
    return numpy().tolist() if numpy is not None else value


def _unequal(expected: Any, got: Any, where: str, exact: bool) -> str | None:
    tolerance = (1e-13, 0.0) if getattr(got, "dtype", None) == "float64" else (1e-5, 1e-6)
    if exact:
        if type(expected) is not type(got) and not _same_class(expected, got):
            return f"{where}: expected {expected!r}, got {got!r} of another type"
    else:
        expected, got = _plain(expected), _plain(got)
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, type(expected)) or len(expected) != len(got):
            return f"{where}: expected {expected!r}, got {got!r}"
        pairs = enumerate(zip(expected, got))
        return next((w for i, (e, g) in pairs if (w := _unequal(e, g, f"{where}[{i}]", exact))), None)
    if isinstance(expected, dict):
        if not isinstance(got, dict) or list(expected) != list(got):
            return f"{where}: expected {expected!r}, got {got!r}"
        return next((w for k in expected if (w := _unequal(expected[k], got[k], f"{where}[{k!r}]", exact))), None)
    if isinstance(expected, bool) or isinstance(got, bool):
        same = expected is got
    elif isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        if exact or (isinstance(expected, int) and isinstance(got, int)):
            same = expected == got or (expected != expected and got != got)
        else:
            both_nan = math.isnan(expected) and math.isnan(got)
            same = both_nan or math.isclose(expected, got, rel_tol=tolerance[0], abs_tol=tolerance[1])
    elif hasattr(expected, "__dict__") and _same_class(expected, got):
        return _unequal(vars(expected), vars(got), where, exact)
    else:
        same = bool(expected == got)
    return None if same else f"{where}: expected {expected!r}, got {got!r}"


def _same_class(expected: Any, got: Any) -> bool:
    """Instances of a class that the program itself makes anew on each call."""
    return type(expected).__qualname__ == type(got).__qualname__

"""Functions that return something new at each call: clocks, the operating system's random numbers, and draws from
generators of random numbers. While a function is traced they would be called once, and not each time the graph runs.

A staged body must call none of them. A draw is an error outside of bodies, too, unless the generator is made or seeded
in the traced function, or the trace creates variables, whose initial values may be drawn.
"""
from __future__ import annotations

import random
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from runtime.core.array_mode import existed_before, is_seeded, note_draw, note_seeded
from runtime.core.positions import staging_error
from runtime.staging.aliases.body_tracing import in_body

__all__ = ["check_draw", "gives_anew", "refusal_of"]

_CLOCKS: Final = frozenset({
    *(f"time.{name}{suffix}" for suffix in ("", "_ns")
      for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")),
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
})
_RANDOM: Final = frozenset({
    "posix.urandom", "posix.getrandom", "nt.urandom", "uuid.uuid1", "uuid.uuid4",
    *(f"secrets.{name}" for name in ("randbelow", "token_bytes", "token_hex", "token_urlsafe")),
})
_MODULES: Final = frozenset({"random", "secrets", "uuid"})
_GENERATORS: Final = (random.Random, np.random.Generator, np.random.RandomState)
_GLOBAL: Final = getattr(np.random.rand, "__self__", None)
"""The generator of the functions of `numpy.random`."""
_COUNTERPARTS: Final = {
    **dict.fromkeys(("rand", "random", "random_sample", "ranf", "uniform"), "rt.random.uniform"),
    **dict.fromkeys(("gauss", "normal", "normalvariate", "randn", "standard_normal"), "rt.random.normal"),
    **dict.fromkeys(("getrandbits", "integers", "randint", "random_integers", "randrange"),
                    "rt.random.uniform(..., dtype=rt.int32)"),
    **dict.fromkeys(("permutation", "permuted", "sample", "shuffle"), "rt.random.shuffle"),
    **dict.fromkeys(("choice", "choices"), "rt.random.categorical"),
}
"""By the name of a draw, what gives such numbers at each run of the graph."""


def gives_anew(fn: Any) -> str:
    """`"clock"` or `"random"` for these functions, `"draw"` for a bound method of a generator, `"perhaps"` for one of
    `random.Random`, whose receiver may be a `SystemRandom`; else an empty text."""
    kind = type(fn)
    if fn is np.random.seed or (
            kind is not FunctionType and isinstance(getattr(fn, "__self__", None), _GENERATORS)):
        return "draw"
    if kind is FunctionType:
        if fn.__module__ not in _MODULES:
            return ""
        name = f"{fn.__module__}.{fn.__qualname__}"
        if name.startswith(("random.Random.", "random.SystemRandom.")):
            return "" if fn.__name__.startswith("__") else "perhaps"
    elif kind is BuiltinFunctionType:
        owner = fn.__self__
        if type(owner) is ModuleType:
            name = f"{owner.__name__}.{fn.__name__}"
        elif isinstance(owner, type):
            base = next((cls for cls in owner.__mro__ if fn.__name__ in vars(cls)), owner)
            name = f"{base.__module__}.{base.__name__}.{fn.__name__}"
        else:
            return ""
    else:
        return ""
    return "clock" if name in _CLOCKS else "random" if name in _RANDOM else ""


def refusal_of(fn: Any, args: tuple[Any, ...]) -> tuple[str, str] | None:
    """The text and remedy of the error for a call of such a function in a staged body; None for a method of a
    `random.Random` with known state."""
    kind = gives_anew(fn)
    if kind == "draw":
        return None
    if kind == "perhaps" and not (args and isinstance(args[0], sys.modules["random"].SystemRandom)):
        return None
    what = "the time" if kind == "clock" else "random numbers of the system"
    return (
        f"staged code asks {getattr(fn, '__qualname__', fn.__name__)!r} for {what}: that would happen once, while the"
        " code is traced, and not each time it runs",
        "Ask outside of staged loops and branches, or by rt.py_function." if kind == "clock"
        else "Draw them with rt.random, or outside of staged code.")


def check_draw(fn: Any, args: tuple[Any, ...], takes_tensors: bool) -> None:
    """Before a method of a generator of random numbers is called while a function is traced: StagingError if it draws,
    from one that existed before, what each run of the graph would have to draw. `takes_tensors`: as arguments."""
    owner = _GLOBAL if fn is np.random.seed else (
        args[0] if type(fn) is FunctionType and args else getattr(fn, "__self__", None))
    name = fn.__name__
    if not isinstance(owner, _GENERATORS) or isinstance(owner, random.SystemRandom) or (
            name.startswith("_") or "state" in name or name == "spawn"):
        return
    if name == "seed":
        note_seeded(owner)
    elif existed_before(owner) and not is_seeded(owner):
        error = staging_error(
            f"{name!r} draws a random number from a {type(owner).__name__} that was there before the call: that would"
            " happen once, while the code is traced, and not each time it runs",
            f"Draw with {_COUNTERPARTS.get(name, 'rt.random')}, or pass what is drawn as an argument, or call it by"
            " rt.py_function.")
        if in_body() or takes_tensors:
            raise error
        note_draw(error)

"""Functions that return a new result at each call and have no comparable state: clocks and the operating system's
random numbers. A staged body must not call one, since that would happen once, at trace time."""
from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

__all__ = ["gives_anew", "refusal_of"]

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


def gives_anew(fn: Any) -> str:
    """`"clock"` or `"random"` for these functions, `"perhaps"` for a method of `random.Random`, whose receiver may be a
    `SystemRandom`; an empty text for others."""
    kind = type(fn)
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
    if kind == "perhaps" and not (args and isinstance(args[0], sys.modules["random"].SystemRandom)):
        return None
    what = "the time" if kind == "clock" else "random numbers of the system"
    return (
        f"staged code asks {getattr(fn, '__qualname__', fn.__name__)!r} for {what}: that would happen once, while the"
        " code is traced, and not each time it runs",
        "Ask outside of staged loops and branches, or by rt.py_function." if kind == "clock"
        else "Draw them with rt.random, or outside of staged code.")

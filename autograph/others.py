"""What changes in place and is no state: sets, deques, bytearrays, subclasses of list, arrays, and generators of random
numbers, which each number changes. A staged body may not change them, as that would happen once, while it is traced.
"""
from __future__ import annotations

import operator
import sys
from collections import deque
from types import ModuleType, SimpleNamespace
from typing import Any, Final

__all__ = ["Other", "draws_random_numbers", "generators_of", "is_array", "is_other"]

_COLLECTIONS: Final = (deque, set, bytearray, list)
_MOST: Final = 1 << 20


def is_other(value: Any, named: bool = False) -> bool:
    """Whether `value` changes in place and is no state. Arrays of more than a megabyte count only if the statement has
    `named` them: to compare them takes time."""
    kind = type(value)
    if is_array(value):
        return bool(value.flags.writeable) and (named or value.nbytes <= _MOST)
    return (issubclass(kind, _COLLECTIONS) and kind is not list) or draws_random_numbers(kind)


def is_array(value: Any) -> bool:
    """Whether `value` is an array, as NumPy's are; its scalars are none."""
    kind = type(value)
    return hasattr(kind, "__array_interface__") and hasattr(kind, "__setitem__")


def draws_random_numbers(kind: type) -> bool:
    """Whether objects of this class are generators of random numbers, Python's or NumPy's, that tell their state."""
    module = sys.modules.get("random")
    if module is not None and issubclass(kind, module.Random):
        return not issubclass(kind, module.SystemRandom)
    return kind.__name__ in ("Generator", "RandomState") and str(kind.__module__).startswith("numpy.random.")


def generators_of(module: ModuleType) -> SimpleNamespace | None:
    """By the name by which code asks a module for random numbers, the generator that its functions draw from."""
    if module.__name__ in ("random", "numpy.random"):
        return SimpleNamespace(**dict.fromkeys(vars(module), module.random.__self__))
    if module.__name__ == "numpy" and (inner := sys.modules.get("numpy.random")) is not None:
        return SimpleNamespace(random=inner.random.__self__)
    return None


class Other:
    """What one of these has in it now."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.before = _content(value)

    def put_back(self) -> bool:
        """Let it have that again; whether it had anything else."""
        value, before = self.value, self.before
        now = _content(value)
        if draws_random_numbers(type(value)):
            if _is_same_state(now, before):
                return False
            _set_state(value, before)
        elif is_array(value):
            if now.tobytes() == before.tobytes():
                return False
            value[...] = before
        else:
            if len(now) == len(before) and all(map(operator.is_, now, before)):
                return False
            if isinstance(value, (set, deque)):
                value.clear()
                (value.update if isinstance(value, set) else value.extend)(before)
            else:
                value[:] = bytearray(before) if isinstance(value, bytearray) else before
        return True


def _content(value: Any) -> Any:
    if draws_random_numbers(type(value)):
        return _state(value)
    return value.copy() if is_array(value) else list(value)


def _state(generator: Any) -> Any:
    for name in ("getstate", "get_state"):
        if hasattr(generator, name):
            return getattr(generator, name)()
    return generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    for name in ("setstate", "set_state"):
        if hasattr(generator, name):
            getattr(generator, name)(state)
            return
    generator.bit_generator.state = state


def _is_same_state(now: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return all(_is_same_state(now[key], before[key]) for key in before)
    if isinstance(before, tuple):
        return all(map(_is_same_state, now, before))
    return bool(now.tobytes() == before.tobytes() if is_array(before) else now == before)

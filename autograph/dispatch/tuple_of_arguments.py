"""Functions with a parameter `*args` as functions that get the tuple itself, of whose length a backend alone knows."""
from __future__ import annotations

from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_VARARGS
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from autograph.core.code_cache import per_code
from autograph.core.slots import is_users_class
from autograph.core.tracebacks import is_converted
from autograph.dispatch.converted_call import call, makers, remember

__all__ = ["with_tuple_of_arguments"]

_KINDS: Final = CO_VARARGS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def with_tuple_of_arguments(fn: Any) -> Any:
    """A function or method of the program, or an object with `__call__`, as one whose `*args` is a parameter that a
    keyword gives. None for other callables, for generators, and where `*args` is none of its own."""
    if isinstance(fn, FunctionType):
        return _of_function(fn) if fn.__code__.co_flags & _KINDS == CO_VARARGS else None
    function, owner = (fn.__func__, fn.__self__) if isinstance(fn, MethodType) else (
        getattr(type(fn), "__call__", None), fn)  # noqa: B004
    if isinstance(fn, type) or not isinstance(function, FunctionType) or not (
            isinstance(fn, MethodType) or is_users_class(type(fn))):
        return None
    made = with_tuple_of_arguments(function)
    return None if made is None else MethodType(made, owner)


def _of_function(fn: FunctionType) -> FunctionType:
    made = _code_of(fn.__code__)
    if not is_converted(made) and id(made) not in makers:
        call(fn)  # finds its maker
        maker = makers[id(fn.__code__)][0]
        remember(made, None if maker is None else lambda each: _with_code(maker(each)))
    return _with_code(fn)


@per_code
def _code_of(code: CodeType) -> CodeType:
    """As the tuple follows the keyword-only parameters among a frame's variables, it can be one of these."""
    return code.replace(co_flags=code.co_flags & ~CO_VARARGS, co_kwonlyargcount=code.co_kwonlyargcount + 1)


def _with_code(fn: FunctionType) -> FunctionType:
    made = FunctionType(_code_of(fn.__code__), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__, made.__qualname__, made.__module__ = fn.__kwdefaults__, fn.__qualname__, fn.__module__
    made.__dict__.update(fn.__dict__)
    return made

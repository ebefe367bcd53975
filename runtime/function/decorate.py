"""`rt.function` and its options: it decorates functions, methods, callable objects, and traced functions to change
their options."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from autograph.backend import deferred
from runtime.backends.executable import Called
from runtime.core.config import check_executor
from runtime.core.errors import locate
from runtime.core.positions import user_position
from runtime.function.method import Method
from runtime.function.signatures import Decorator, TracedFunction

if TYPE_CHECKING:
    from runtime.function import differential_check
    from runtime.function import function as traced
    from runtime.function.arguments import signature
else:
    differential_check = deferred("runtime.function.differential_check")
    signature = deferred("runtime.function.arguments.signature")
    traced = deferred("runtime.function.function")  # it loads what traces functions, and what runs graphs

__all__ = ["function"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def function(
    func: Callable[P, R], input_signature: Sequence[Any] | None = None, autograph: bool = True,
    jit_compile: bool | None = None, reduce_retracing: bool = False, *, executor: str | None = None,
    fast_math: bool = False, name: str | None = None, max_traces: int = 64, verify: bool = False,
    experimental_implements: Any = None, experimental_autograph_options: Any = None,
    experimental_attributes: Any = None, experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None, experimental_follow_type_hints: bool | None = None,
) -> TracedFunction[P, R]: ...
@overload
def function(
    func: None = None, input_signature: Sequence[Any] | None = None, autograph: bool = True,
    jit_compile: bool | None = None, reduce_retracing: bool = False, *, executor: str | None = None,
    fast_math: bool = False, name: str | None = None, max_traces: int = 64, verify: bool = False,
    experimental_implements: Any = None, experimental_autograph_options: Any = None,
    experimental_attributes: Any = None, experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None, experimental_follow_type_hints: bool | None = None,
) -> Decorator: ...
def function(
    func: Any = None, input_signature: Sequence[Any] | None = None, autograph: bool = True,
    jit_compile: bool | None = None, reduce_retracing: bool = False, *, executor: str | None = None,
    fast_math: bool = False, name: str | None = None, max_traces: int = 64, verify: bool = False, **ignored: Any,
) -> Any:
    """Make calls of a Python function run as graphs: bare decorator, decorator with arguments, or call (`tf.function`).

    input_signature   a TensorSpec for each argument: then there is one trace, and arguments are converted to it
    autograph         convert control flow that depends on tensors; if false, write it with `rt.cond` and the like
    reduce_retracing  make a dimension unknown at the second shape, not at the third; a function whose Python code reads
                      such a dimension (`x.shape[0]`) is traced for each shape
    executor          what runs the graphs: "native" (compiled), "numpy" (the reference), or None: native if
                      llvmlite is installed, unless `rt.config.set_default_executor` says otherwise
    fast_math         native code may reorder float arithmetic and assume that NaN and infinity do not occur
    name              the name in graphs and messages
    max_traces        how many traces to keep; the least recently used is dropped
    verify            also run each call as Python on eager tensors: autograph.VerificationError at the first
                      difference in printed text, exception, result, arguments or variables (for tests: slow)

    Python numbers that the function returns become tensors, also in tuples, lists and dicts; other Python values are
    returned unchanged. Objects that the function makes and returns are created anew by each call. Lists, dicts, sets
    and objects among the arguments are returned, and changed, as in Python, and so are NumPy arrays, and pre-existing
    attributes and variables. StagingError for objects that cannot be created anew.

    `jit_compile` and TF2's `experimental_...` arguments are accepted and have no effect: `executor` decides what runs a
    graph. `experimental_relax_shapes` is `reduce_retracing`. TypeError for other arguments.
    """
    for option in ignored:
        if not option.startswith("experimental_"):
            error = TypeError(f"function() got an unexpected keyword argument {option!r}")
            locate(error, user_position())
            raise error
    if executor is not None:
        check_executor(executor)
    options: dict[str, Any] = {
        "input_signature": input_signature, "autograph": autograph, "executor": executor, "name": name,
        "reduce_retracing": reduce_retracing or bool(ignored.get("experimental_relax_shapes")),
        "max_traces": max_traces, "fast_math": fast_math}
    make = differential_check.VerifiedFunction if verify else traced.Function
    if func is None:
        return functools.partial(_decorated, options, make=make)
    return _decorated(options, func, make)


def _decorated(options: dict[str, Any], func: Any, make: Callable[..., Any]) -> Any:
    """The result of `make` for `func` with the options. TypeError if `func` is not a function, method or callable
    object."""
    if isinstance(func, (staticmethod, classmethod)):
        return type(func)(_decorated(options, func.__func__, make))
    if isinstance(func, Method):
        func = MethodType(func.python_function, func.__self__)
    if not callable(func) or isinstance(func, type):
        what = f"the class {func.__qualname__!r}" if isinstance(func, type) else repr(func)
        error = signature.InvalidArgumentsError(
            f"rt.function takes a function, method or callable object, not {what}",
            remedy="Decorate its methods." if isinstance(func, type) else "Call it as @rt.function or rt.function(f).")
        locate(error, user_position())
        raise error
    try:
        return make(getattr(func, "python_function", func) if isinstance(func, Called) else func, **options)
    except (TypeError, ValueError) as error:
        locate(error, user_position())
        raise

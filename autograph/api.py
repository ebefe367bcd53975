"""What users call: convert and explain.

A conversion is: capture the tree, run the `PASSES` over each function in it, emit code. Converted code is kept per
code object, so that closures of one function share it, and dropped with that code object.
"""
from __future__ import annotations

import atexit
import functools
import gc
import sys
import threading
import types
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeVar, cast, overload

import gast

from autograph import operators
from autograph.analysis.definite_assignment import mark_all_unsure, mark_unsure
from autograph.analysis.scopes import Scope
from autograph.analysis.staging_candidates import Decision, classify, differs_traced, reads_frame, tested
from autograph.codegen import disk_cache
from autograph.codegen.compile import Template, compile_function
from autograph.codegen.dual_path.inline_caches import embed, extract
from autograph.core.allowlist import left_alone
from autograph.core.debugger import pass_over_internal_frames
from autograph.core.deep_stack import TooDeep, with_room
from autograph.core.errors import ConversionError, NoSourceError, UnsupportedError
from autograph.core.tracebacks import CONVERTED
from autograph.core.untraced import unseen
from autograph.differential_check import verified
from autograph.dispatch import converted_call
from autograph.frontend.source import capture, is_current
from autograph.frontend.tree import functions_in, walk
from autograph.passes.expressions import convert_expressions, name_operators
from autograph.passes.functionalize import convert_statements
from autograph.passes.jumps import lower_jumps

__all__ = [
    "PASSES", "STAGES", "Explanation", "convert", "convert_traced", "convert_tree", "explain", "explain_tree",
    "identifiers", "is_traced", "module_file", "set_loop_options", "to_graph", "unwrap", "without_collection",
]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PASSES: Final[tuple[tuple[str, Callable[..., None]], ...]] = (
    ("jumps", lower_jumps),
    ("expressions", convert_expressions),
    ("statements", convert_statements),
)
"""The passes in their order; each changes the tree of one function in place."""
STAGES: Final = ("capture", *(name for name, _ in PASSES))


# --- Trees --------------------------------------------------------------------------------------------------


def identifiers(tree: Any) -> frozenset[str]:
    names: set[str] = set()
    for node in walk(tree):
        cls = node.__class__
        if cls is gast.Name:
            names.add(node.id)
        elif cls is gast.Global or cls is gast.Nonlocal:
            names.update(node.names)
        else:
            fields = _NAMED.get(cls)
            if fields is None:
                fields = _NAMED[cls] = _NAMING.intersection(cls._fields)
            for field in fields:
                value = getattr(node, field)
                if value.__class__ is str:
                    names.add(value)
    return frozenset(names)


_NAMING = frozenset({"name", "asname", "rest", "arg"})
"""Fields that may hold a name."""
_NAMED: dict[type, frozenset[str]] = {}
"""Those of a class of nodes."""


def convert_tree(
    node: Any, used: frozenset[str], stage: str | None, recursive: bool, class_name: str | None, tracing: bool = False,
    always: bool = False, around: frozenset[str] = frozenset(),
) -> None:
    """Run the passes, up to `stage`, over a function and those made in it, in place; `tracing`: as it is to be while a
    backend traces, which may have set to None, or left unset, whatever is looked at here. If it is `always` to be so,
    as there is one form alone, `isinstance` and its like do not ask: that would cost too much of plain values.
    `around`: the variables of the functions around it."""
    if reads_frame(node) is not None:
        return
    scope = Scope(node, used, class_name)
    scope.tracing = tracing
    scope.asked = tested(node, not always) if tracing else frozenset()
    if tracing and not always:
        mark_unsure(node, scope, around)
    for child, owner in functions_in(node, class_name):
        convert_tree(child, used, stage, recursive, owner, tracing, always, around | scope.locals)
    for name, run in PASSES:
        if stage == "capture":
            break
        if run is convert_expressions:
            run(node, scope, recursive)
        else:
            run(node, scope)
        if name == stage:
            break


# --- Functions ----------------------------------------------------------------------------------------------

_lock = threading.RLock()
pass_over_internal_frames()


def without_collection(work: Callable[[], T]) -> T:
    """Trees are many objects, none of which is garbage before the end: looking for it takes a tenth of the time."""
    if not gc.isenabled():
        return work()
    try:
        gc.disable()
        return work()
    finally:
        gc.enable()


@unseen
def _template(fn: FunctionType, recursive: bool, tracing: bool) -> Template:
    for differs in False, True:
        kept = disk_cache.load(fn.__code__, (recursive, tracing) if differs else recursive)
        if kept is not None:
            return Template(embed(kept[0]), fn.__code__, kept[1], operators, differs)
    try:
        template, name = converted_call.at_work.run(
            lambda: without_collection(lambda: with_room(lambda: _compiled(fn, recursive, tracing))))
    except TooDeep:
        raise ConversionError(
            f"{fn.__qualname__!r} is nested too deeply to convert", filename=fn.__code__.co_filename,
            lineno=fn.__code__.co_firstlineno, remedy="Split it.",
        ) from None
    if disk_cache.cache_directory() is not None:
        options = (recursive, tracing) if template.differs else recursive
        disk_cache.store(fn.__code__, options, extract(template.code), name)
    return template


def _compiled(fn: FunctionType, recursive: bool, tracing: bool) -> tuple[Template, str]:
    def compiled() -> tuple[Template, str]:
        source = capture(fn)
        used = identifiers(source.tree) | set(fn.__code__.co_freevars)
        around = frozenset(fn.__code__.co_freevars)
        differs = any(map(differs_traced, walk(source.tree))) or mark_all_unsure(
            source.tree, used, source.class_name, around)
        convert_tree(source.tree, used, None, recursive, source.class_name, tracing, around=around)
        name = name_operators(source.tree, used)
        template = compile_function(source, source.tree, fn.__code__, name, operators)
        template.differs = differs
        return template, name

    return converted_call.at_work.run(compiled)


def _maker(fn: FunctionType, tracing: bool) -> tuple[converted_call.Maker | None, bool]:
    """For `ag__.call`: what makes the converted form of functions of this code, and whether that is another while
    something traces (or nothing does). None if they stand for themselves: a rule leaves them alone, or conversion
    changes nothing in them."""
    def made() -> tuple[converted_call.Maker | None, bool]:
        if left_alone(fn) is not None or (fn.__code__.co_filename.startswith("<") and not is_current(fn)):
            return None, False  # code made by exec (a dataclass's methods) has no text to read, see `explain`
        try:
            with _lock:
                template = _template(fn, True, tracing)
        except NoSourceError:
            return None, False
        return template if template.changes else None, template.differs

    return converted_call.at_work.run(made)


converted_call.hooks.convert = _maker
_unused: dict[tuple[bool, bool], dict[int, tuple[Template, object]]] = {
    (recursive, tracing): {} for recursive in (False, True) for tracing in (False, True)}
"""Templates that no call uses, by `recursive`, `tracing` and the id of the code object: those that are not recursive,
and those that change nothing."""
for _table in _unused.values():
    atexit.register(_table.clear)


@overload
def convert(fn: F, *, recursive: bool = True, verify: bool = False) -> F: ...
@overload
def convert(fn: None = None, *, recursive: bool = True, verify: bool = False) -> Callable[[F], F]: ...
def convert(fn: Any = None, *, recursive: bool = True, verify: bool = False) -> Any:
    """Convert a function so that control flow that depends on tensors becomes graph; on Python values it does
    what it did (TF2: tf.autograph.to_graph, and the conversion inside tf.function).

    Works as a function and as a decorator, bare or with arguments, on functions, lambdas, methods, static and
    class methods, properties, `functools.partial`, `lru_cache` and callable objects. With `recursive=False` the
    functions that it calls are called as they are. With `verify=True` each call runs the original, too, on copies
    of the arguments, and raises VerificationError where printed text, exception, result or the arguments
    after the call are not what they are in Python (see `differential_check`; for tests: it takes twice the time and
    more).

    Raises NoSourceError if there is no source to read, UnsupportedError for what is not a Python function,
    ConversionError for source that does not parse. What `do_not_convert` marks is returned as it is.
    """
    if fn is None:
        return functools.partial(convert, recursive=recursive, verify=verify)
    return _convert(fn, recursive, verify, False)


to_graph = convert


def convert_traced(fn: F) -> F:
    """`convert` for what a backend traces, and nothing else calls: `x is None` and `"key" in d` ask the backend, which
    may know them only when the graph runs, also where nothing in `fn` itself could have made them so."""
    return cast(F, _convert(fn, True, False, True))


def _convert(fn: Any, recursive: bool, verify: bool, tracing: bool) -> Any:
    def again(inner: Any) -> Any:
        return _convert(inner, recursive, verify, tracing)

    if isinstance(fn, FunctionType):
        made = _convert_function_object(fn, recursive, tracing)
        return verified(fn, made) if verify and made is not fn else made
    if isinstance(fn, MethodType):
        return MethodType(again(fn.__func__), fn.__self__)
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(again(fn.__func__))
    if isinstance(fn, property):
        parts: list[Any] = [f and again(f) for f in (fn.fget, fn.fset, fn.fdel)]
        return type(fn)(parts[0], parts[1], parts[2], fn.__doc__)
    if isinstance(fn, functools.cached_property):
        cached = functools.cached_property(again(fn.func))
        cached.attrname = fn.attrname
        return cached
    if isinstance(fn, functools.partial):
        return type(fn)(again(fn.func), *fn.args, **fn.keywords)
    if isinstance(fn, functools._lru_cache_wrapper):
        return functools.lru_cache(**fn.cache_parameters())(again(fn.__wrapped__))
    if isinstance(fn, type):
        raise UnsupportedError(
            f"{fn.__qualname__!r} is a class, not a function", filename=module_file(fn), lineno=1, line="",
            remedy="Convert its methods; calling it from converted code converts its constructor. "
            "autograph.to_code shows a whole class.",
        )
    call = getattr(type(fn), "__call__", None)  # noqa: B004
    if isinstance(call, FunctionType):
        if left_alone(call) == "it is part of autograph or runtime":
            return fn
        return MethodType(again(call), fn)
    what = f"{getattr(fn, '__qualname__', fn)!r} is written in C" if callable(fn) else f"{fn!r} is not callable"
    raise UnsupportedError(
        what, filename=f"<{type(fn).__name__}>", lineno=0, line="",
        remedy="Give a function, method, lambda or callable object written in Python.",
    )


def _convert_function_object(fn: FunctionType, recursive: bool, tracing: bool) -> FunctionType:
    if left_alone(fn, asked=True) is not None:
        return fn
    code = fn.__code__
    with _lock:
        table = _unused[recursive, tracing]
        entry: Any = (converted_call.makers_for(tracing).get(id(code)) if recursive else None) or (None,)
        template = entry[0] or table.get(id(code), (None,))[0]
        if template is None:
            template = _template(fn, recursive, tracing)
            if recursive and template.changes:
                converted_call.remember(code, template, tracing, template.differs)
            else:
                table[id(code)] = template, converted_call.watch(code, table)
    made = cast(FunctionType, template(fn))
    for name in ("__qualname__", "__doc__", "__module__", "__type_params__"):
        if hasattr(fn, name):
            setattr(made, name, getattr(fn, name))
    if sys.version_info >= (3, 14):
        made.__annotate__ = fn.__annotate__
    else:
        made.__annotations__ = fn.__annotations__
    made.__dict__.update(fn.__dict__)
    made.__wrapped__ = fn  # type: ignore[attr-defined]
    return made


def unwrap(obj: Any) -> Any:
    """The user's own function behind a converted one, a traced one or a wrapper of functools."""
    while True:
        if hasattr(obj, "python_function"):
            obj = obj.python_function
        elif isinstance(obj, (MethodType, staticmethod, classmethod)):
            obj = obj.__func__
        elif isinstance(obj, functools.partial):
            obj = obj.func
        elif isinstance(obj, property):
            obj = obj.fget
        elif isinstance(obj, functools.cached_property):
            obj = obj.func
        elif isinstance(obj, functools._lru_cache_wrapper) or (
            isinstance(obj, FunctionType) and hasattr(obj, "__wrapped__") and CONVERTED in obj.__code__.co_consts[-1:]
        ):
            obj = obj.__wrapped__
        elif isinstance(obj, (FunctionType, type, types.ModuleType)):
            return obj
        elif isinstance(call := getattr(type(obj), "__call__", None), FunctionType):  # noqa: B004
            return call
        else:
            return convert(obj)  # raises the error that fits


def is_traced(obj: Any) -> bool:
    """Whether a function is one that a backend traces: `convert_traced` makes what it runs."""
    return hasattr(obj, "python_function") and not isinstance(obj, FunctionType)  # that is `verified`


def module_file(obj: Any) -> str:
    module = obj if isinstance(obj, types.ModuleType) else sys.modules.get(obj.__module__)
    return getattr(module, "__file__", None) or f"<{getattr(module, '__name__', 'unknown')}>"


def set_loop_options(
    *, shape_invariants: Any = None, maximum_iterations: Any = None, parallel_iterations: Any = None,
    swap_memory: Any = None,
) -> None:
    """Options of the loop whose body this call is in, for when the loop is staged; Python loops ignore them
    (TF2: tf.autograph.experimental.set_loop_options).

    `shape_invariants`: pairs of a loop variable and the shape it keeps, `[(x, rt.TensorShape([None]))]`, or a
    mapping from names. `maximum_iterations`: an upper bound of the number of iterations, a Python int or a scalar
    tensor. `parallel_iterations` and `swap_memory` are taken for TF2's sake and have no effect.
    """


# --- Explanations -------------------------------------------------------------------------------------------


class Explanation(NamedTuple):
    """What conversion makes of one function, statement by statement. `str()` is a report."""

    function: str
    filename: str
    lineno: int
    decisions: tuple[Decision, ...]
    rule: str | None = None
    """The rule by which the whole function is left alone, if one does."""
    error: ConversionError | None = None

    def __str__(self) -> str:
        lines = [f"{self.filename}:{self.lineno}: {self.function}"]
        if self.error is not None:
            lines.append(f"    does not convert: {self.error.what}")
        elif self.rule is not None:
            lines.append(f"    left alone: {self.rule}")
        elif not self.decisions:
            lines.append("    nothing in it depends on control flow; its calls convert")
        return "\n".join([*lines, *(f"    {decision}" for decision in self.decisions)])


def explain(fn: Any) -> Explanation:
    """Which statements of a function are candidates for staging and which stay Python, and by which rule.

    The functions made inside it are included. Printable; `.decisions` is the same as data.
    """
    obj = unwrap(fn)
    if not isinstance(obj, FunctionType):
        raise UnsupportedError(
            f"explain takes a function, not {type(obj).__name__} {getattr(obj, '__name__', '')!r}",
            filename=module_file(obj), lineno=1, line="", remedy="For a module use explain_source, or its functions.",
        )
    code = obj.__code__
    rule = left_alone(obj)

    def explained() -> Explanation:
        source = capture(obj)
        return explain_tree(source.tree, obj.__qualname__, source.filename, rule, is_traced(fn))

    try:
        return with_room(explained)
    except ConversionError as error:
        return Explanation(obj.__qualname__, code.co_filename, code.co_firstlineno, (), rule, error)


def explain_tree(
    node: Any, name: str, filename: str, rule: str | None = None, tracing: bool = False
) -> Explanation:
    frame_reader = reads_frame(node)
    if frame_reader is not None and rule is None:
        rule = f"it calls {frame_reader}(), which answers for the function's own frame"
    decisions: list[Decision] = []
    stack = [node]
    while stack:
        function = stack.pop()
        if not isinstance(function, gast.Lambda):
            decisions += classify(function, tested(function) if tracing else frozenset())
            stack += [child for child, _ in functions_in(function, None)]
    decisions.sort(key=lambda d: (d.lineno, d.col))
    return Explanation(name, filename, node.lineno, tuple(decisions), rule)

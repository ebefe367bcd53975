"""The functions that users call: `convert` and `explain`.

A conversion captures the tree, runs the `PASSES` over each function in it and emits code. Converted code is cached per
code object, so closures of one function share it, and freed with that code object.
"""
from __future__ import annotations

import atexit
import functools
import html
import inspect
import sys
import threading
import types
from collections.abc import Callable
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, Final, NamedTuple, TypeVar, cast, overload

import gast

from autograph import operators
from autograph.analysis.definite_assignment import mark_unsure
from autograph.analysis.scopes import Scope
from autograph.analysis.staging_candidates import Decision, classify, reads_frame
from autograph.codegen import disk_cache
from autograph.codegen.compile import Template, compile_function
from autograph.core.allowlist import do_not_convert, exclusion_rule
from autograph.core.backend import ambient, plain, staging_backend
from autograph.core.code_cache import until_gone
from autograph.core.collection import rarely_collected
from autograph.core.deep_stack import TooDeep, with_room
from autograph.core.errors import ConversionError, NoSourceError, UnsupportedError
from autograph.core.tracebacks import is_converted, prune
from autograph.core.versions import ANNOTATES_LATER
from autograph.differential_check import verified
from autograph.dispatch import converted_call
from autograph.frontend.source import capture, is_current
from autograph.frontend.tree import functions_in, walk
from autograph.passes.containers import convert_containers
from autograph.passes.expressions import convert_expressions, name_operators
from autograph.passes.functionalize import convert_statements
from autograph.passes.internal_iteration import CONSUMER, iterate_internally
from autograph.passes.jumps import declare_dropped, lower_jumps

__all__ = [
    "PASSES", "SHOWN", "STAGES", "Explanation", "convert", "convert_traced", "convert_tree", "experimental",
    "explain", "explain_tree", "identifiers", "internal_iteration", "maker", "module_file", "set_loop_options",
    "to_graph", "unwrap",
]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PASSES: Final[tuple[tuple[str, Callable[..., None]], ...]] = (
    ("jumps", lower_jumps),
    ("expressions", convert_expressions),
    ("statements", convert_statements),
    ("compiled", convert_containers),
)
"""The passes in order; each changes the tree of one function in place."""
STAGES: Final = ("capture", *(name for name, _ in PASSES))
_ROWS: Final = 200  # of an explanation, in notebooks
SHOWN: Final = "statements"
"""The default stage of `to_code`. The pass after it only replaces operations that Python's C code would decide."""


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
"""The fields of a node class that may hold a name."""


def convert_tree(
    node: Any, used: frozenset[str], stage: str, recursive: bool, class_name: str | None,
    around: frozenset[str] = frozenset(),
) -> None:
    """Run the passes, up to `stage`, over a function and the functions nested in it, in place. `around`: the variables
    of the enclosing functions."""
    if reads_frame(node) is not None:
        return
    scope = Scope(node, used, class_name)
    mark_unsure(node, scope, around)
    for child, owner in functions_in(node, class_name):
        convert_tree(child, used, stage, recursive, owner, around | scope.locals)
    for name, run in PASSES if stage != STAGES[0] else ():
        if run is convert_expressions:
            run(node, scope, recursive)
        else:
            run(node, scope)
        if name == stage:
            break
    if stage in ("jumps", "expressions"):
        declare_dropped(node, scope)


# --- Functions ----------------------------------------------------------------------------------------------

_lock = threading.RLock()


def _template(fn: FunctionType, recursive: bool, internally: str = "") -> Template:
    options = internally or recursive
    kept = disk_cache.load(fn.__code__, options)
    if kept is not None:
        return Template(kept[0], fn.__code__, kept[1], operators)
    try:
        template, name = converted_call.at_work.run(
            lambda: rarely_collected(lambda: with_room(lambda: _compiled(fn, recursive, internally))))
    except TooDeep:
        raise ConversionError(
            f"{fn.__qualname__!r} is nested too deeply to convert", filename=fn.__code__.co_filename,
            lineno=fn.__code__.co_firstlineno, remedy="Split it.",
        ) from None
    if disk_cache.cache_directory() is not None:
        disk_cache.store(fn.__code__, options, template.code, name)
    return template


def _compiled(fn: FunctionType, recursive: bool, internally: str) -> tuple[Template, str]:
    source = capture(fn)
    free = frozenset(fn.__code__.co_freevars)
    used = identifiers(source.tree) | free
    if internally:
        iterate_internally(source.tree, source.filename, internally == "context")
    convert_tree(source.tree, used, STAGES[-1], recursive, source.class_name, free)
    name = name_operators(source.tree, used)
    more = CONSUMER if internally else ()
    return compile_function(source, source.tree, fn.__code__, name, operators, more), name


def internal_iteration(fn: FunctionType, is_context: bool = False) -> Template:
    """The maker of the internally iterating form of generator functions with this code: a function that passes its
    items to the functions of a loop, found in the cells `ag__body` and `ag__test`. `is_context`: of one that makes a
    context manager, and passes its value to the body of the `with`, which is in `ag__body`. UnsupportedError if the
    generator has to suspend its frame."""
    form = "context" if is_context else "internally"
    table = _unused[form]
    entry = table.get(id(fn.__code__))
    if entry is None:
        with _lock:
            template = _template(fn, True, form)
        entry = table[id(fn.__code__)] = template, until_gone(fn.__code__, table, id(fn.__code__))
    return entry[0]


def maker(fn: FunctionType) -> converted_call.Maker | None:
    """The maker of the converted form of functions with this code, for `ag__.call`. None if they are called as they
    are: a rule excludes them, or conversion changes nothing in them."""
    def made() -> converted_call.Maker | None:
        if exclusion_rule(fn) is not None or (fn.__code__.co_filename.startswith("<") and not is_current(fn)):
            return None  # code made by exec (a dataclass's methods) has no text to read, see `explain`
        try:
            with _lock:
                template = _template(fn, True)
        except NoSourceError:
            return None
        if template.changes:
            return template
        converted_call.note_unchanged(fn.__code__)
        return None

    return converted_call.at_work.run(made)


_unused: dict[bool | str, dict[int, tuple[Template, object]]] = {
    False: {}, True: {}, "internally": {}, "context": {}}
"""Templates not used by `ag__.call`, by `recursive` and the id of the code object: non-recursive ones, and those that
change nothing; and those of `internal_iteration`."""
for _table in _unused.values():
    atexit.register(_table.clear)


@overload
def convert(fn: F, *, recursive: bool = True, verify: bool = False) -> F: ...
@overload
def convert(fn: None = None, *, recursive: bool = True, verify: bool = False) -> Callable[[F], F]: ...
def convert(fn: Any = None, *, recursive: bool = True, verify: bool = False) -> Any:
    """A function whose tensor-dependent control flow is staged when a backend traces it (TF2: tf.autograph.to_graph,
    and the conversion inside tf.function). Otherwise the original runs.

    Works as a function and as a decorator, with or without arguments, on functions, lambdas, methods, static and class
    methods, properties, `functools.partial`, `lru_cache` and callable objects. With `recursive=False` callees are not
    converted. With `verify=True` each call also runs the original, on copies of the arguments, and raises
    VerificationError if printed text, exception, result or the arguments after the call differ (see
    `differential_check`; meant for tests, as it more than doubles the time).

    Raises NoSourceError if there is no source to read, UnsupportedError for anything but a Python function,
    ConversionError for source that does not parse. A function marked `do_not_convert` is returned unchanged.
    """
    if fn is None:
        return functools.partial(convert, recursive=recursive, verify=verify)
    return _convert(fn, recursive, verify, _on_entry)


def to_graph(
    entity: F, recursive: bool = True, experimental_optional_features: Any = None, *, verify: bool = False
) -> F:
    """As `convert`, with the arguments of TF2's tf.autograph.to_graph, whose optional features are all there."""
    return convert(entity, recursive=recursive, verify=verify)


def convert_traced(fn: F) -> F:
    """The converted form of a function, without the original, for code that is only called in a backend's trace."""
    return cast(F, _convert(fn, True, False, _converted_form))


Making = Callable[[FunctionType, bool], FunctionType]
"""Makes the converted function for a function; the flag is `recursive`."""


def _convert(fn: Any, recursive: bool, verify: bool, make: Making) -> Any:
    def again(inner: Any) -> Any:
        return _convert(inner, recursive, verify, make)

    if isinstance(fn, FunctionType):
        if exclusion_rule(fn, asked=True) is not None:
            return fn
        return verified(fn, _converted_form(fn, recursive)) if verify else make(fn, recursive)
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
        if exclusion_rule(call) is not None:  # asked for is the object, not a method of a library's class
            return fn
        return MethodType(again(call), fn)
    what = f"{getattr(fn, '__qualname__', fn)!r} is written in C" if callable(fn) else f"{fn!r} is not callable"
    raise UnsupportedError(
        what, filename=f"<{type(fn).__name__}>", lineno=0, line="",
        remedy="Give a function, method, lambda or callable object written in Python.",
    )


def _on_entry(fn: FunctionType, recursive: bool) -> FunctionType:
    """A wrapper that runs the converted form of `fn` if a backend is tracing or stages an argument, otherwise `fn`."""
    template = _template_of(fn, recursive)

    def entered(*args: Any, **kwargs: Any) -> Any:
        try:
            return (template(fn) if _stages(args, kwargs) else fn)(*args, **kwargs)
        except BaseException as error:
            prune(error)
            raise

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        try:
            return await (template(fn) if _stages(args, kwargs) else fn)(*args, **kwargs)
        except BaseException as error:
            prune(error)
            raise

    def iterated(*args: Any, **kwargs: Any) -> Any:
        try:
            return (yield from (template(fn) if _stages(args, kwargs) else fn)(*args, **kwargs))
        except BaseException as error:
            prune(error)
            raise

    made = awaited if inspect.iscoroutinefunction(fn) else iterated if inspect.isgeneratorfunction(fn) else entered
    return cast(FunctionType, functools.wraps(fn)(made))


_ENTERED: Final = frozenset(c for c in _on_entry.__code__.co_consts if isinstance(c, types.CodeType))
"""The code objects of the wrappers that `convert` returns."""


def _stages(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call with these arguments runs the converted form."""
    if ambient.backend is not None or ambient.forced:
        return True
    return (not plain.issuperset(map(type, args)) and any(map(staging_backend, args))) or (
        bool(kwargs) and any(map(staging_backend, kwargs.values())))


def _converted_form(fn: FunctionType, recursive: bool) -> FunctionType:
    made = _template_of(fn, recursive)(fn)
    for name in ("__qualname__", "__doc__", "__module__", "__type_params__"):
        if hasattr(fn, name):
            setattr(made, name, getattr(fn, name))
    if ANNOTATES_LATER:
        made.__annotate__ = fn.__annotate__  # type: ignore[attr-defined]
    else:
        made.__annotations__ = fn.__annotations__
    made.__dict__.update(fn.__dict__)
    made.__wrapped__ = fn  # type: ignore[attr-defined]
    return made


def _template_of(fn: FunctionType, recursive: bool) -> Template:
    code = fn.__code__
    with _lock:
        table = _unused[recursive]
        entry: Any = (converted_call.makers.get(id(code)) if recursive else None) or (None,)
        template: Template | None = entry[0] or table.get(id(code), (None,))[0]
        if template is None:
            template = _template(fn, recursive)
            # A library's decorator shares one code object among all functions it decorates: it is converted for this
            # one only.
            is_shared = hasattr(fn, "__wrapped__") and exclusion_rule(fn) is not None
            if recursive and template.changes and not is_shared:
                converted_call.remember(code, template)
            else:
                table[id(code)] = template, until_gone(code, table, id(code))
        return template


def unwrap(obj: Any) -> Any:
    """The user's own function behind a converted or traced function, or behind a wrapper of functools."""
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
            isinstance(obj, FunctionType) and hasattr(obj, "__wrapped__") and (
                is_converted(obj.__code__) or obj.__code__ in _ENTERED)
        ):
            obj = obj.__wrapped__
        elif isinstance(obj, (FunctionType, type, types.ModuleType)):
            return obj
        elif isinstance(call := getattr(type(obj), "__call__", None), FunctionType):  # noqa: B004
            return call
        else:
            return convert(obj)  # raises the fitting error


def module_file(obj: Any) -> str:
    module = obj if isinstance(obj, types.ModuleType) else sys.modules.get(obj.__module__)
    return getattr(module, "__file__", None) or f"<{getattr(module, '__name__', 'unknown')}>"


def set_loop_options(
    parallel_iterations: Any = None, swap_memory: Any = None, maximum_iterations: Any = None,
    shape_invariants: Any = None, checkpoint: Any = None,
) -> None:
    """Options for the enclosing loop if it is staged; Python loops ignore them (TF2:
    tf.autograph.experimental.set_loop_options).

    `shape_invariants`: pairs of a loop variable and the shape that it keeps, `[(x, rt.TensorShape([None]))]`, or a
    mapping from names. `maximum_iterations`: an upper bound of the number of iterations, a Python int or a scalar
    tensor. `checkpoint`: derivatives save the state of every k-th iteration and recompute the others; an int k, or
    "sqrt" for the k that needs the least memory; or they keep a few states at a time: ("binomial", n) n of them,
    "binomial" the logarithm of the number of iterations. `parallel_iterations` and `swap_memory` are accepted for
    compatibility with TF2 and have no effect.
    """


experimental: Final[Any] = SimpleNamespace(do_not_convert=do_not_convert, set_loop_options=set_loop_options)
"""TF2's tf.autograph.experimental."""


# --- Explanations -------------------------------------------------------------------------------------------


class Explanation(NamedTuple):
    """The result of conversion for one function, statement by statement. `str()` is a report."""

    function: str
    filename: str
    lineno: int
    decisions: tuple[Decision, ...]
    rule: str | None = None
    """The rule that excludes the whole function from conversion, if any."""
    error: ConversionError | None = None

    def __str__(self) -> str:
        return "\n".join([*self._heading(), *(f"    {decision}" for decision in self.decisions)])

    def _heading(self) -> list[str]:
        lines = [f"{self.filename}:{self.lineno}: {self.function}"]
        if self.error is not None:
            lines.append(f"    does not convert: {self.error.what}")
        elif self.rule is not None:
            lines.append(f"    left alone: {self.rule}")
        elif not self.decisions:
            lines.append("    nothing in it depends on control flow; its calls convert")
        return lines

    def _repr_html_(self) -> str:
        """For notebooks: a table of the first decisions."""
        heading, *rest = [html.escape(line) for line in self._heading()]
        parts = [f"<div><b>{heading}</b></div>", *(f"<div>{line}</div>" for line in rest)]
        if self.decisions:
            rows = [(d.lineno, d.statement, d.answer, d.rule) for d in self.decisions[:_ROWS]]
            cells = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows)
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>")
        if len(self.decisions) > _ROWS:
            parts.append(f"<div>{len(self.decisions) - _ROWS:,} more statements</div>")
        return "\n".join(parts)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The report at IPython's prompt, not the fields."""
        printer.text(str(self))


def explain(fn: Any) -> Explanation:
    """Which statements of a function are candidates for staging and which stay Python, and by which rule.

    Functions defined inside it are included. Printable; `.decisions` has the same as data.
    """
    obj = unwrap(fn)
    if not isinstance(obj, FunctionType):
        raise UnsupportedError(
            f"explain takes a function, not {type(obj).__name__} {getattr(obj, '__name__', '')!r}",
            filename=module_file(obj), lineno=1, line="", remedy="For a module use explain_source, or its functions.",
        )
    code = obj.__code__
    rule = exclusion_rule(obj)

    def explained() -> Explanation:
        source = capture(obj)
        return explain_tree(source.tree, obj.__qualname__, source.filename, rule)

    try:
        return with_room(explained)
    except ConversionError as error:
        return Explanation(obj.__qualname__, code.co_filename, code.co_firstlineno, (), rule, error)


def explain_tree(node: Any, name: str, filename: str, rule: str | None = None) -> Explanation:
    frame_reader = reads_frame(node)
    if frame_reader is not None and rule is None:
        rule = f"it calls {frame_reader}(), which answers for the function's own frame"
    decisions: list[Decision] = []
    stack = [node]
    while stack:
        function = stack.pop()
        if not isinstance(function, gast.Lambda):
            decisions += classify(function)
            stack += [child for child, _ in functions_in(function, None)]
    decisions.sort(key=lambda d: (d.lineno, d.col))
    return Explanation(name, filename, node.lineno, tuple(decisions), rule)

"""From the converted tree to code that replaces the user's: same file, same lines, same cells.

The tree is compiled inside a factory that makes the original's free variables (and `ag__`) free variables again, and
inside a class of the same name, so that private names are mangled. The code object is then extracted; no module is
made. Bodies carry the name of the user's function, which tracebacks and profilers show.
"""
from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from inspect import CO_GENERATOR
from types import CellType, CodeType, FunctionType
from typing import Any, cast

from autograph.codegen.gast_to_ast import to_ast
from autograph.core.tracebacks import BODY, CONVERTED, TEMPORARIES
from autograph.core.versions import CODE_HAS_QUALNAME, TYPE_PARAMETERS
from autograph.frontend.source import Source

__all__ = ["Template", "compile_function"]

_OPTIMIZED = 0x1  # CO_OPTIMIZED, which the code of a class body does not have
_TYPE_PARAMETERS = "<generic parameters of "
"""Prefix of the name of a scope of type parameters."""
_ITERABLE_COROUTINE = 0x100  # CO_ITERABLE_COROUTINE: set by types.coroutine after compilation
_FUTURES = 0x1000000 | 0x100000  # annotations, generator_stop: flags of `from __future__` that change compilation


_SAME = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_firstlineno", "co_code", "co_names",
         "co_varnames", "co_freevars", "co_cellvars", "co_linetable", "co_exceptiontable")
_NESTED = 0x10  # CO_NESTED: converted code is compiled inside another function


def _is_as_it_was(code: CodeType, original: CodeType) -> bool:
    """Whether conversion changed nothing but the marks that `_renamed` appends."""
    if (code.co_flags ^ original.co_flags) & ~_NESTED:
        return False
    if any(getattr(code, name, None) != getattr(original, name, None) for name in _SAME):
        return False
    constants = code.co_consts[:len(original.co_consts)]
    return len(constants) == len(original.co_consts) and all(map(_is_same_constant, constants, original.co_consts))


def _is_same_constant(a: Any, b: Any) -> bool:
    if type(a) is CodeType and type(b) is CodeType:
        return _is_as_it_was(a, b)
    return type(a) is type(b) and (a is b or repr(a) == repr(b))  # 0.0 and -0.0 are equal, (1,) and (True,), too


class Template:
    """The converted code of one code object: makes a converted function for any closure over it."""

    __slots__ = ("cells", "changes", "code")

    def __init__(self, code: CodeType, original: CodeType, name: str, operators: Any) -> None:
        self.code = code
        free = original.co_freevars
        position = {name: i for i, name in enumerate(free)}
        ag = CellType(operators)
        self.cells: tuple[int | str | CellType, ...] = tuple(
            ag if n == name else position.get(n, n) for n in code.co_freevars)
        self.changes = bool(original.co_flags & CO_GENERATOR) or not _is_as_it_was(code, original)
        """Whether the converted function differs from the original. A generator's always counts: its marks identify
        it."""

    def __call__(self, fn: FunctionType, **more: CellType) -> FunctionType:
        """The converted form of `fn`, with the same globals, cells and defaults; `more`: further cells that the code
        has."""
        outer: Any = fn.__closure__
        closure: Any = tuple([outer[c] if type(c) is int else more[c] if type(c) is str else c for c in self.cells])
        made = FunctionType(self.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        if fn.__kwdefaults__:
            made.__kwdefaults__ = fn.__kwdefaults__
        if made.__qualname__ != fn.__qualname__:  # assigned, as by functools.wraps; or that of a method in Python 3.10
            made.__qualname__ = fn.__qualname__
        return made


def compile_function(
    source: Source, tree: Any, original: CodeType, name: str, operators: Any, more: tuple[str, ...] = ()
) -> Template:
    """Compile a converted function tree (gast) to a template for functions of the code `original`. Consumes the tree.

    `name` is the name of the `operators` in the tree. If they are None, the converted code looks that name up as a
    global and has the free variables of the original, so it can be assigned to the `__code__` of a function. `more`:
    names of further free variables.
    """
    free = (*original.co_freevars, *([] if operators is None else [name]), *more)
    return Template(_code(source, tree, original, free), original, name, operators)


def _code(source: Source, tree: Any, original: CodeType, known: tuple[str, ...]) -> CodeType:
    """The converted code; `known`: the names of its free variables."""
    nodes = to_ast(tree)
    names = _made_in(nodes)
    function = statement = nodes[0]
    _strip_signature(function)
    place: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    if isinstance(function, ast.Lambda):
        statement = ast.Expr(function, **place)
    else:  # under a name without source, so that its own is looked up where the user's function looks it up
        function.name = "converted function"
    inside = "factory.<locals>."
    if source.class_name is not None:
        used = {n.id for n in nodes if isinstance(n, ast.Name)} | set(original.co_freevars)
        class_name = _unused(source.class_name, used)
        statement = _definition(ast.ClassDef, name=class_name, bases=[], keywords=[], body=[statement], **place)
        inside += f"{class_name}."
    free = [ast.arg(arg=n, **place) for n in known]
    parameters = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = _definition(ast.FunctionDef, name="factory", args=parameters, body=[statement], **place)
    module = ast.Module(body=[factory], type_ignores=[])
    current: Any = sys.modules["warnings"]  # the module that the compiler uses: a test may have replaced it
    with current.catch_warnings():
        current.simplefilter("ignore", SyntaxWarning)  # the original compilation has shown them already
        compiled = builtins.compile(
            module, source.filename, "exec", flags=original.co_flags & _FUTURES, dont_inherit=True
        )
    code = _find(compiled, getattr(function, "name", "<lambda>"))
    code = _renamed(code, original.co_name, inside + code.co_name, _qualified_name(original), names,
                    frozenset(_names_in(original)))
    return code.replace(co_flags=code.co_flags | original.co_flags & _ITERABLE_COROUTINE)


def _qualified_name(code: CodeType) -> str:
    if CODE_HAS_QUALNAME:
        return cast(Any, code).co_qualname  # type: ignore[no-any-return]
    for made, name in zip(code.co_consts, code.co_consts[1:]):  # the functions nested in it are constants
        if type(made) is CodeType and type(name) is str and name.endswith(inner := f".<locals>.{made.co_name}"):
            return name.removesuffix(inner)
    return code.co_name


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name = f"_{name}"  # leading underscores of a class do not change how private names are mangled
    return name


def _definition(cls: Any, **fields: Any) -> Any:
    if TYPE_PARAMETERS:
        fields["type_params"] = []
    return cls(decorator_list=[], **fields)


def _strip_signature(function: Any) -> None:
    """Remove defaults, annotations and decorators: they belong to the original function and are not evaluated again."""
    arguments = function.args
    none = ast.Constant(value=None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    arguments.defaults = [none for _ in arguments.defaults]
    arguments.kw_defaults = [d and none for d in arguments.kw_defaults]
    if not isinstance(function, ast.Lambda):
        function.decorator_list = [ast.copy_location(ast.Constant(value=None), d) for d in function.decorator_list]
        function.returns = None  # (the code begins at the line of the first decorator)
        others = [p for p in (arguments.vararg, arguments.kwarg) if p is not None]
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *others):
            parameter.annotation = None
        if TYPE_PARAMETERS:
            function.type_params = []


Key = tuple[str, int, tuple[str, ...]]
"""Name, first line and parameters of a function, which identify its code object."""


def _made_in(nodes: list[Any]) -> dict[Key, str | None]:
    """The functions among these nodes that were made by conversion, with the name of their frames, or None for bodies,
    which have the name of the user's function."""
    made: dict[Key, str | None] = {}
    users: set[Key] = set()
    for node in nodes:
        cls = node.__class__
        if cls is ast.Lambda:
            key = "<lambda>", node.lineno, tuple(p.arg for p in node.args.args)
            if getattr(node, "immediate", False):
                made[key] = getattr(node, "frame_name", None)
            else:
                users.add(key)
        elif cls is ast.FunctionDef and getattr(node, "synthetic", False):
            made[node.name, node.lineno, tuple(p.arg for p in node.args.args)] = None
    return {key: name for key, name in made.items() if key not in users}


def _key(code: CodeType) -> Key:
    return code.co_name, code.co_firstlineno, code.co_varnames[:code.co_argcount]


def _find(code: CodeType, name: str) -> CodeType:
    """The code of the function `name` in the compiled factory."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inside = code.co_name != "<module>"
            return constant if inside and constant.co_name == name and _is_function(constant) else _find(constant, name)
    raise AssertionError(f"no code for {name!r}")


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & _OPTIMIZED)


def _with_child(code: CodeType, child: CodeType, renamed: CodeType) -> CodeType:
    return code.replace(co_consts=(*(renamed if c is child else c for c in code.co_consts), CONVERTED))


def _names_in(code: CodeType) -> Iterator[str]:
    """The names of variables of a code object, and of those nested in it."""
    yield from (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _renamed(
    code: CodeType, name: str, inside: str, outside: str, made: dict[Key, str | None], users: frozenset[str]
) -> CodeType:
    """The code, and all code nested in it, with the names that it would have in the user's function, and the marks of
    conversion. `inside`: its qualified name in the factory; `outside`: the new one; `users`: the names of the user's
    variables."""
    joint = ".<locals>." if _is_function(code) else "."
    qualified: dict[Any, Any] = {inside: outside}
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            child, key = constant.co_name, _key(constant)
            path = inside + joint + child
            if child.startswith(_TYPE_PARAMETERS):  # a scope that qualified names omit
                named = child[len(_TYPE_PARAMETERS):-1]
                of_child = [c for c in constant.co_consts if isinstance(c, CodeType) and c.co_name == named][-1]
                constants.append(_with_child(constant, of_child, _renamed(
                    of_child, of_child.co_name, inside + joint + of_child.co_name,
                    outside + joint + of_child.co_name, made, users)))
                continue
            frame = made.get(key, child)
            new = outside if frame is None else outside + joint + frame
            if getattr(constant, "co_qualname", None) == child:  # declared global (Python 3.10 has it right)
                path = new = child
            if key not in made or path not in qualified:  # else it is the name of a user's lambda
                qualified[path] = new
            constant = _renamed(constant, name if frame is None else frame, path, new, made, users)
        constants.append(constant)
    constants = [qualified.get(c, c) if type(c) is str else c for c in constants]
    marks: tuple[Any, ...] = (BODY, CONVERTED) if made.get(_key(code), "") is None else (CONVERTED,)
    own = [n for n in (*code.co_varnames, *code.co_cellvars) if n.startswith("value_") and n not in users]
    if own:
        marks = ((TEMPORARIES, *own), *marks)
    changes: dict[str, Any] = {"co_name": name, "co_consts": (*constants, *marks)}
    if CODE_HAS_QUALNAME:
        changes["co_qualname"] = outside
    return code.replace(**changes)

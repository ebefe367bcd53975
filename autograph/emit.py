"""From the converted tree back to code that runs in the user's place: same file, same lines, same cells.

The tree is compiled inside a factory that makes the original's free variables (and `ag__`) free variables again,
and inside its class, so that private names mangle. The code object is then taken out; no module is made.
Bodies carry the name of the user's function, so tracebacks and profiles speak of that.
"""
from __future__ import annotations

import ast
import builtins
import sys
import warnings
from types import CellType, CodeType, FunctionType
from typing import Any, cast

import gast

from .capture import Source
from .frames import BODY, CONVERTED
from .lanes import to_ast
from .tree import walk

__all__ = ["Template", "bodies_in", "compile_function", "rename"]

_OPTIMIZED = 0x1  # CO_OPTIMIZED: the code of a class body is without
_ITERABLE_COROUTINE = 0x100  # CO_ITERABLE_COROUTINE: set by types.coroutine after compilation
_FUTURES = 0x1000000 | 0x100000  # annotations, generator_stop: flags of `from __future__` that change compilation


class Template:
    """The converted code of one code object: makes a converted function for any closure over it."""

    __slots__ = ("cells", "code", "original_free")

    def __init__(self, code: CodeType, original: CodeType, name: str, operators: Any) -> None:
        self.code = code
        free = original.co_freevars
        position = {name: i for i, name in enumerate(free)}
        ag = CellType(operators)
        self.cells: tuple[int | CellType, ...] = tuple(ag if n == name else position[n] for n in code.co_freevars)

    def __call__(self, fn: FunctionType) -> FunctionType:
        """The converted form of `fn`: over the same globals, the same cells and the same defaults."""
        outer: Any = fn.__closure__
        closure: Any = tuple([outer[c] if type(c) is int else c for c in self.cells])
        made = FunctionType(self.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        if fn.__kwdefaults__:
            made.__kwdefaults__ = fn.__kwdefaults__
        return made


def compile_function(source: Source, tree: Any, original: CodeType, name: str, operators: Any) -> Template:
    """Compile a converted function tree (gast) to a template for functions of the code `original`.

    `name` is what the tree calls the `operators`; if they are None, the converted code looks that name up as a
    global, and has the free variables of the original: it can be set as the `__code__` of a function.
    """
    used = {n.id for n in walk(tree) if isinstance(n, gast.Name)} | set(original.co_freevars)
    bodies = bodies_in(tree)
    function = to_ast(tree, name)
    _strip_signature(function)
    statement: Any = function
    place: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    if isinstance(function, ast.Lambda):
        statement = ast.Expr(function, **place)
    else:  # under another name, so that its own name is looked up where the user's function looks it up
        function.name = _unused("converted_", used)
    inside = "factory.<locals>."
    if source.class_name is not None:
        class_name = _unused(source.class_name, used)
        statement = _definition(ast.ClassDef, name=class_name, bases=[], keywords=[], body=[statement], **place)
        inside += f"{class_name}."
    known = original.co_freevars if operators is None else (*original.co_freevars, name)
    free = [ast.arg(arg=n, **place) for n in known]
    parameters = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = _definition(ast.FunctionDef, name="factory", args=parameters, body=[statement], **place)
    module = ast.Module(body=[factory], type_ignores=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # the original compilation has shown them
        compiled = builtins.compile(
            module, source.filename, "exec", flags=original.co_flags & _FUTURES, dont_inherit=True
        )
    code = _find(compiled, getattr(function, "name", "<lambda>"))
    outside: str = cast(Any, original).co_qualname if sys.version_info >= (3, 11) else original.co_name
    code = rename(code, original.co_name, inside + code.co_name, outside, bodies)
    code = code.replace(co_flags=code.co_flags | original.co_flags & _ITERABLE_COROUTINE)
    return Template(code, original, name, operators)


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name = f"_{name}"  # leading underscores of a class make no difference to how private names mangle
    return name


def _definition(cls: Any, **fields: Any) -> Any:
    if sys.version_info >= (3, 12):
        fields["type_params"] = []
    return cls(decorator_list=[], **fields)


def _strip_signature(function: Any) -> None:
    """Defaults, annotations and decorators belong to the original function object: nothing evaluates them again."""
    arguments = function.args
    none = ast.Constant(value=None, lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    arguments.defaults = [none for _ in arguments.defaults]
    arguments.kw_defaults = [d and none for d in arguments.kw_defaults]
    if not isinstance(function, ast.Lambda):
        function.decorator_list, function.returns = [], None
        others = [p for p in (arguments.vararg, arguments.kwarg) if p is not None]
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *others):
            parameter.annotation = None
        if sys.version_info >= (3, 12):
            function.type_params = []


def bodies_in(tree: Any) -> set[tuple[str, int]]:
    """Name and first line of each function that conversion made, as its code object will have them."""
    made: set[tuple[str, int]] = set()
    users: set[tuple[str, int]] = set()
    for node in walk(tree):
        if isinstance(node, gast.Lambda):
            (made if getattr(node, "immediate", False) else users).add(("<lambda>", node.lineno))
        elif isinstance(node, gast.FunctionDef) and getattr(node, "synthetic", False):
            made.add((node.name, node.lineno))
    return made - users


def _find(code: CodeType, name: str) -> CodeType:
    """The code of the function called `name` in the compiled factory."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inside = code.co_name != "<module>"
            return constant if inside and constant.co_name == name and _is_function(constant) else _find(constant, name)
    raise AssertionError(f"no code for {name!r}")


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & _OPTIMIZED)


def rename(code: CodeType, name: str, inside: str, outside: str, bodies: set[tuple[str, int]]) -> CodeType:
    """Give the code and all below it the names they would have in the user's function, and the marks of conversion.

    `inside` is the qualified name in the factory, `outside` the one it is to have.
    """
    joint = ".<locals>." if _is_function(code) else "."
    qualified = {inside: outside}
    constants: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            child = constant.co_name
            is_body = (child, constant.co_firstlineno) in bodies
            new = outside if is_body else outside + joint + child
            qualified[inside + joint + child] = new
            constant = rename(constant, name if is_body else child, inside + joint + child, new, bodies)
        constants.append(constant)
    constants = [qualified.get(c, c) if type(c) is str else c for c in constants]
    marks = (BODY, CONVERTED) if (code.co_name, code.co_firstlineno) in bodies else (CONVERTED,)
    changes: dict[str, Any] = {"co_name": name, "co_consts": (*constants, *marks)}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = outside
    return code.replace(**changes)

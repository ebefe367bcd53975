"""From the converted tree back to code that runs in the user's place: same file, same lines, same cells.

The tree is compiled inside a factory that makes the original's free variables (and `ag__`) free variables again,
and inside its class, so that private names mangle. The code object is then taken out; no module is made.
Bodies carry the name of the user's function, so tracebacks and profiles speak of that.
"""
from __future__ import annotations

import ast
import builtins
import functools
import sys
from types import CellType, CodeType, FunctionType
from typing import Any, cast

import gast

from autograph.codegen.dual_path.inline_caches import put
from autograph.codegen.dual_path.recorded_calls import calls_made
from autograph.codegen.dual_path.shared_bodies import TYPE_PARAMETERS, NotOnce, number_of, originals
from autograph.codegen.dual_path.statements import to_ast
from autograph.core.tracebacks import BODY, CONVERTED
from autograph.frontend.source import Source
from autograph.frontend.tree import walk

__all__ = ["Template", "bodies_in", "compile_function", "rename"]

_OPTIMIZED = 0x1  # CO_OPTIMIZED: the code of a class body is without
_ITERABLE_COROUTINE = 0x100  # CO_ITERABLE_COROUTINE: set by types.coroutine after compilation
_FUTURES = 0x1000000 | 0x100000  # annotations, generator_stop: flags of `from __future__` that change compilation


_SAME = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_firstlineno", "co_code", "co_names",
         "co_varnames", "co_freevars", "co_cellvars", "co_linetable", "co_exceptiontable")
_NESTED = 0x10  # CO_NESTED: converted code is compiled inside another function


def _is_as_it_was(code: CodeType, original: CodeType) -> bool:
    """Whether conversion changed nothing but the marks."""
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

    __slots__ = ("cells", "changes", "code", "differs")

    def __init__(
        self, code: CodeType, original: CodeType, name: str, operators: Any, differs: bool = False
    ) -> None:
        self.code = code
        self.differs = differs
        """Whether there is another for while a backend traces, or for while none does."""
        free = original.co_freevars
        position = {name: i for i, name in enumerate(free)}
        ag = CellType(operators)
        self.cells: tuple[int | CellType, ...] = tuple(ag if n == name else position[n] for n in code.co_freevars)
        self.changes = not _is_as_it_was(code, original)
        """Whether the converted function does anything that the original does not."""

    def __call__(self, fn: FunctionType) -> FunctionType:
        """The converted form of `fn`: over the same globals, the same cells and the same defaults."""
        outer: Any = fn.__closure__
        closure: Any = tuple([outer[c] if type(c) is int else c for c in self.cells])
        made = _function(self.code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        if fn.__kwdefaults__:
            made.__kwdefaults__ = fn.__kwdefaults__
        if made.__qualname__ != fn.__qualname__:  # assigned, as by functools.wraps; or that of a method in Python 3.10
            made.__qualname__ = fn.__qualname__
        return made


if sys.version_info >= (3, 13):
    # Python makes calls of a function quick only if a `def` made it: so one does.
    def _function(
        code: CodeType, module: dict[str, Any], name: str, defaults: tuple[Any, ...] | None, closure: Any
    ) -> FunctionType:
        maker = _maker(len(closure), defaults is not None)
        constants = [code if type(c) is CodeType else defaults if type(c) is tuple else c for c in maker.co_consts]
        made: FunctionType = FunctionType(maker.replace(co_consts=tuple(constants)), module, closure=closure)()
        made.__name__ = name
        return made

    @functools.cache
    def _maker(cells: int, has_defaults: bool) -> CodeType:
        """Code of a function with this many cells that makes one with the same: what it has as code, and as defaults,
        is to be replaced."""
        names = ", ".join(f"cell{i}" for i in range(cells))
        text = (f"def around({names}):\n def maker():\n  def made({'value=None' if has_defaults else ''}): "
                f"{names or 'pass'}\n  return made")
        found: list[CodeType] = [compile(text, __file__, "exec", dont_inherit=True)]
        for outer in found:
            found += [c for c in outer.co_consts if type(c) is CodeType]
        return found[2]
else:
    _function = FunctionType


def compile_function(source: Source, tree: Any, original: CodeType, name: str, operators: Any) -> Template:
    """Compile a converted function tree (gast) to a template for functions of the code `original`.

    `name` is what the tree calls the `operators`; if they are None, the converted code looks that name up as a
    global, and has the free variables of the original: it can be set as the `__code__` of a function.
    """
    try:
        code = _code(source, tree, original, name, operators is not None, sys.flags.optimize < 2)  # -OO: no docstrings
    except NotOnce:
        code = _code(source, tree, original, name, operators is not None, False)
    return Template(code, original, name, operators)


def _code(source: Source, tree: Any, original: CodeType, name: str, is_free: bool, once: bool) -> CodeType:
    """The converted code; `is_free` says that the name of the operators is a free variable, `once` that bodies that
    stand in several lanes are to be compiled once."""
    bodies = bodies_in(tree)
    calls = calls_made(tree, original, source.class_name) if is_free else None
    known = (*original.co_freevars, name) if is_free else original.co_freevars
    function = to_ast(tree, name, frozenset(known), once)
    bodies |= function.rests
    _strip_signature(function)
    statement: Any = function
    place: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
    if isinstance(function, ast.Lambda):
        statement = ast.Expr(function, **place)
    else:  # under a name that no source has, so that its own is looked up where the user's function looks it up
        function.name = "converted function"
    inside = "factory.<locals>."
    if source.class_name is not None:
        used = {n.id for n in walk(tree) if isinstance(n, gast.Name)} | set(original.co_freevars)
        class_name = _unused(source.class_name, used)
        statement = _definition(ast.ClassDef, name=class_name, bases=[], keywords=[], body=[statement], **place)
        inside += f"{class_name}."
    free = [ast.arg(arg=n, **place) for n in known]
    parameters = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = _definition(ast.FunctionDef, name="factory", args=parameters, body=[statement], **place)
    module = ast.Module(body=[factory], type_ignores=[])
    current: Any = sys.modules["warnings"]  # what the compiler asks: a test may have put another there
    with current.catch_warnings():
        current.simplefilter("ignore", SyntaxWarning)  # the original compilation has shown them
        compiled = builtins.compile(
            module, source.filename, "exec", flags=original.co_flags & _FUTURES, dont_inherit=True
        )
    code = _find(compiled, getattr(function, "name", "<lambda>"))
    code = rename(code, original.co_name, inside + code.co_name, _qualified_name(original), bodies)
    marks = (*code.co_consts[:-1], calls, CONVERTED) if calls is not None else code.co_consts
    return code.replace(co_consts=marks, co_flags=code.co_flags | original.co_flags & _ITERABLE_COROUTINE)


def _qualified_name(code: CodeType) -> str:
    if sys.version_info >= (3, 11):
        return cast(Any, code).co_qualname  # type: ignore[no-any-return]
    for made, name in zip(code.co_consts, code.co_consts[1:]):  # the functions made in it have theirs as constants
        if type(made) is CodeType and type(name) is str and name.endswith(inner := f".<locals>.{made.co_name}"):
            return name.removesuffix(inner)
    return code.co_name


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
        function.decorator_list = [ast.copy_location(ast.Constant(value=None), d) for d in function.decorator_list]
        function.returns = None  # (the first decorator has the first line of the code)
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
        cls = node.__class__
        if cls is gast.Lambda:
            (made if getattr(node, "immediate", False) else users).add(("<lambda>", node.lineno))
        elif cls is gast.FunctionDef and getattr(node, "synthetic", False):
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


def _with_child(code: CodeType, child: CodeType, renamed: CodeType) -> CodeType:
    return code.replace(co_consts=(*(renamed if c is child else c for c in code.co_consts), CONVERTED))


def rename(code: CodeType, name: str, inside: str, outside: str, bodies: set[tuple[str, int]]) -> CodeType:
    """Give the code and all below it the names they would have in the user's function, and the marks of conversion.

    `inside` is the qualified name in the factory, `outside` the one it is to have. Of bodies that stand in several
    lanes, the first takes the place of the others; raises NotOnce if it cannot.
    """
    return _Names(bodies, originals(code, inside, bodies)).give(code, name, inside, outside)


class _Names:
    def __init__(self, bodies: set[tuple[str, int]], originals: dict[str, tuple[CodeType, str]]) -> None:
        self.bodies, self.originals = bodies, originals
        self.done: dict[str, CodeType] = {}
        """The renamed code of each of the originals."""

    def give(self, code: CodeType, name: str, inside: str, outside: str) -> CodeType:
        joint = ".<locals>." if _is_function(code) else "."
        qualified: dict[Any, Any] = {inside: outside}
        constants: list[Any] = []
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                child = constant.co_name
                is_body = (child, constant.co_firstlineno) in self.bodies
                path = inside + joint + child
                if child.startswith(TYPE_PARAMETERS):  # a scope that the names of what is in it leave out
                    named = child[len(TYPE_PARAMETERS):-1]
                    of_child = [c for c in constant.co_consts if isinstance(c, CodeType) and c.co_name == named][-1]
                    constants.append(_with_child(constant, of_child, self.give(
                        of_child, of_child.co_name, inside + joint + of_child.co_name,
                        outside + joint + of_child.co_name)))
                    continue
                new = outside if is_body else outside + joint + child
                if getattr(constant, "co_qualname", None) == child:  # declared global (Python 3.10 has it right)
                    path = new = child
                if not is_body or path not in qualified:  # the name of a lambda of the user's
                    qualified[path] = new
                key = number_of(constant) if is_body else None
                if key is None:
                    constant = self.give(constant, name if is_body else child, path, new)
                else:
                    constant = self.original(key, constant, name, new)
            constants.append(constant)
        constants = [qualified.get(c, c) if type(c) is str else put(c) for c in constants]
        is_body = (code.co_name, code.co_firstlineno) in self.bodies
        if is_body and number_of(code) is not None:
            constants[0] = None  # the docstring
        marks = (BODY, CONVERTED) if is_body else (CONVERTED,)
        changes: dict[str, Any] = {"co_name": name, "co_consts": (*constants, *marks)}
        if sys.version_info >= (3, 11):
            changes["co_qualname"] = outside
        return code.replace(**changes)

    def original(self, key: str, code: CodeType, name: str, outside: str) -> CodeType:
        """The body of this number, in whose place `code` stands, or that it is."""
        found, path = self.originals.get(key, (None, ""))
        if found is None or found.co_freevars != code.co_freevars:
            raise NotOnce
        if key not in self.done:
            self.done[key] = self.give(found, name, path, outside)
        return self.done[key]

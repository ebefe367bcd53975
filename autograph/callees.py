"""Calls in the plain lane: what stands for a callee, found without a call of Python code where that can be.

Each form is Python text with these names in it: `F` a callee that is a name, `A` one that is an attribute, `R` its
receiver, `X` an argument, `S` the `Site` of this call (`sites.py` says what it knows), `AG` the operators, `METHOD` is
`MethodType`, and `M`, `V` variables of the user's function, which hold nothing once they are read.
"""
from __future__ import annotations

import ast
import builtins
import io
import re
import sys
from collections.abc import Callable
from typing import Any

import gast

from .sites import CONSTANTS, MARK
from .tree import bound_to_frame, walk

__all__ = ["Callees"]

_FORMS = {
    # A function, class or builtin: of a module, as a rule.
    "global": "S.to if F is S.of or F is S.like and F.__defaults__ is S.defaults and F.__kwdefaults__ is S.kwdefaults"
              " else AG.resolvers.get(AG.type(F), AG.call)(F) if S.met else AG.find_callee(S, F)",
    # A class, going by its name. An object is made as `type.__call__` makes it, with the converted `__init__`.
    "makes": "F is S.made and F.__init__ is S.init and F.__new__ is S.new"
             " and S.init.__defaults__ is S.defaults and S.init.__kwdefaults__ is S.kwdefaults",
    "object": "S.new(F)",
    "init": "S.to",
    "new": "(V, V := None)[0] if (M := CALL) is None else AG.refuse(M)",
    "class": "F if F is S.cls else"
             " AG.resolvers.get(AG.type(F), AG.call)(F) if S.met else AG.find_callee(S, F)",
    # A nested function, or what a parameter holds.
    "local": "S.to if F is S.of else F if AG.type(F) is AG.function and F.__code__ is S.code"
             " else METHOD(AG.functions[F.__func__], F.__self__)"
             " if AG.type(F) is AG.method and AG.type(F.__func__) is AG.function"
             " else AG.resolvers.get(AG.type(F), AG.call)(F) if S.met else AG.find_callee(S, F)",
    # An attribute of what a global name holds: a module or a class, as a rule.
    "global attribute": "(M := S).to if (M := A) is S.of or M is S.like and M.__defaults__ is S.defaults and"
                        " M.__kwdefaults__ is S.kwdefaults"
                        " else METHOD(AG.functions[M.__func__], (M, M := None)[0].__self__)"
                        " if AG.type(M) is AG.method and AG.type(M.__func__) is AG.function"
                        " else AG.resolvers.get(AG.type(M), AG.call)((M, M := None)[0]) if S.met"
                        " else AG.find_callee(S, (M, M := None)[0])",
    "class attribute": "(M, M := None)[0] if (M := A) is S.cls"
                       " else AG.resolvers.get(AG.type(M), AG.call)((M, M := None)[0]) if S.met"
                       " else AG.find_callee(S, (M, M := None)[0])",
    # An attribute of what a local name holds: a method, as a rule. What comes out is called with `SELF` first.
    "method": "S.to if AG.type(M := A) is AG.method and (M.__func__ is S.of or M.__func__ is S.like and"
              " S.like.__defaults__ is S.defaults and S.like.__kwdefaults__ is S.kwdefaults) else (M :="
              " AG.find_method(S, M) if not S.met"
              " else METHOD(AG.functions[M.__func__], M.__self__)"
              " if AG.type(M) is AG.method and AG.type(M.__func__) is AG.function"
              " else AG.as_method(AG.resolvers[AG.type(M)](M)) if AG.type(M) in AG.resolvers"
              " else AG.find_method(S, M)).__func__",
    "self": "(M, M := None)[0].__self__",
    "self before": "M.__self__",
    "forgotten": "X if (M := None) is None else None",
    # The same where no variable can be bound.
    "attribute": "R.ATTRIBUTE if AG.type(R) in AG.native else AG.call(A)",
    "receiver": "AG.type(V := R) is S.type",
    "type": "AG.type(R) is S.type",
    "always": "S.met is not None",
    "read": "(V, V := None)[0]",
    # A builtin that asks its arguments for a backend.
    "asking": "AG.resolvers.get(AG.type(F), AG.call)(F)",
    "builtin": "S.to if F is S.of and KNOWN else AG.resolvers.get(AG.type(F), AG.call)(F)",
    "builtin of value": "(S.to if KNOWN else AG.resolvers.get(AG.type(F), AG.call)(F)) if F is S.of"
                        " else (AG.resolvers.get(AG.type(F), AG.call)(F), V := X)[0]",
    "scalar": "AG.type(X) in S.types",
    "container": "not AG.activity.tracing and AG.type(X) in AG.plain",
    "scalar value": "AG.type(V := X) in S.types",
    "container value": "AG.type(V := X) in AG.plain and not AG.activity.tracing",
}
_SCALAR = frozenset({"len", "abs", "int", "float", "bool", "complex", "range", "round", "pow", "divmod"})
"""Builtins that look at their arguments alone; the others look at what is in them."""
_CONTAINER = frozenset({
    "sum", "any", "all", "min", "max", "sorted", "list", "tuple", "enumerate", "reversed", "next", "iter", "zip",
})
_DIRECT = frozenset(n for n in dir(builtins) if not n.startswith("_")) - _SCALAR - _CONTAINER - {
    "map", "filter", "print",
}
"""Builtins that stand for themselves."""
_NATIVE = frozenset(
    name
    for cls in (str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, re.Pattern, re.Match, io.StringIO,
                io.TextIOWrapper)
    for name in dir(cls) if not name.startswith("_")
)
"""Names of methods of types written in C: a call of one may well be of such a type."""
_COPIES = 2
"""How many calls an argument may hold that is written twice."""

_FORMATS_NOWHERE = (3, 11) <= sys.version_info < (3, 13)
"""Whether Python compiles `'...' % (x,)` to an f-string that begins on no line."""

_SEES_RETURNS = sys.version_info[:2] == (3, 12)
"""Whether Python reports a line once more when a function returns to where ways meet, as they do after an operand."""

_CONSTANTS: dict[str, Any] = {f"AG.{name}": mark for name, mark in CONSTANTS.items()}
_CONSTANTS["METHOD"] = _CONSTANTS.pop("AG.method")  # where it is called: the compiler warns of a constant after `is`

Builder = Callable[[dict[str, Any], Any], Any]


def _builder(node: Any) -> Any:
    """A function that makes a copy of a form with the parts in their places."""
    if not isinstance(node, (ast.expr, ast.keyword)):
        return node
    text = ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
    if text in _CONSTANTS:
        mark = _CONSTANTS[text]

        def constant(parts: dict[str, Any], place: dict[str, int]) -> Any:
            if text not in parts:
                parts[text] = ast.Constant(mark, None, **place)
            return parts[text]

        return constant
    if isinstance(node, ast.Name):
        key, ctx = node.id, node.ctx

        def name(parts: dict[str, Any], place: dict[str, int]) -> Any:
            part = parts[key]
            return ast.Name(part, ctx, **place) if type(part) is str else part

        return name
    cls = type(node)
    fields = [(f, [*map(_builder, v)] if isinstance(v, list) else _builder(v)) for f, v in ast.iter_fields(node)]
    attribute = getattr(node, "attr", None) == "ATTRIBUTE"

    def made(parts: dict[str, Any], place: dict[str, int]) -> Any:
        new: Any = cls.__new__(cls)
        new.__dict__.update(place)
        for field, value in fields:
            if value.__class__ is list:
                value = [v(parts, place) if callable(v) else v for v in value]
            setattr(new, field, value(parts, place) if callable(value) else value)
        if attribute:
            new.attr = parts["ATTRIBUTE"]
        return new

    return made


_BUILDERS: dict[str, Builder] = {key: _builder(ast.parse(text, mode="eval").body) for key, text in _FORMS.items()}


class Callees:
    """The calls of one function in the plain lane; `lanes` turns what is in them from gast to ast."""

    def __init__(self, lanes: Any, plain: int) -> None:
        self.lanes, self.plain = lanes, plain
        self.sites = 0
        self.made: list[str] = []
        """Variables for the objects that are being made around here."""

    def call(self, node: Any, lane: int) -> Any:
        """The call `ag__.call(f)(...)`."""
        function = node.func.args[0]
        if isinstance(function, gast.Name):
            return self.of_name(node, function, lane)
        if not isinstance(function, gast.Attribute):
            if lane != self.plain:
                return self.of(node, self.lanes.generic(node.func, lane), lane)
            parts = {"A": self.lanes.visit(function, lane), "M": self.variable("callee_")}
            if _is_type_of(function):
                return self.of(node, self.form("class attribute", function, parts), lane)
            return self.of_value(node, function, parts)
        receiver = function.value
        if isinstance(receiver, (gast.Constant, gast.JoinedStr)):
            return self.of(node, self.lanes.visit(function, lane), lane)
        root = receiver
        while isinstance(root, gast.Attribute):
            root = root.value
        attribute = self.lanes.visit(function, lane)
        parts = {"A": attribute, "M": self.variable("callee_")}
        if lane != self.plain:
            if not isinstance(receiver, gast.Name):
                return self.of(node, self.lanes.generic(node.func, lane), lane)
            parts = {"A": attribute, "R": attribute.value, "ATTRIBUTE": function.attr}
            return self.of(node, self.form("attribute", function, parts), lane)
        if function.attr == "__class__":
            return self.of(node, self.form("class attribute", function, parts), lane)
        if isinstance(root, gast.Name) and not self.is_local(root.id):
            kind = "class attribute" if _is_class(function.attr) else "global attribute"
            return self.of(node, self.form(kind, function, parts), lane)
        return self.of_attribute(node, function, parts, lane)

    def of_name(self, node: Any, function: Any, lane: int) -> Any:
        name = function.id
        parts = {"F": self.lanes.visit(function, lane)}
        is_local = self.is_local(name)
        if name in _DIRECT and not is_local:
            return self.of(node, self.form("global", function, parts, name), lane)
        if _is_class(name):
            return self.of_class(node, function, parts, lane)
        if is_local:
            return self.of(node, self.form("local", function, parts), lane)
        if name not in _SCALAR and name not in _CONTAINER:
            kind = "asking" if name in ("map", "filter", "print") else "global"
            return self.of(node, self.form(kind, function, parts), lane)
        kind = "scalar" if name in _SCALAR else "container"
        arguments = node.args
        if not node.keywords and arguments and all(isinstance(a, (gast.Name, gast.Constant)) for a in arguments):
            parts["S"] = self.site(function, name)
            tests = [self.form(kind, function, {"X": self.near(a, function), "S": parts["S"]})
                     for a in arguments if isinstance(a, gast.Name)]
            known = tests[0] if len(tests) == 1 else tests and self.at_start(ast.BoolOp(ast.And(), tests), function)
            parts["KNOWN"] = known or self.at_start(ast.Constant(True), function)
            return self.of(node, self.form("builtin", function, parts, name), lane)
        if (node.keywords or len(arguments) != 1 or isinstance(arguments[0], gast.Starred) or lane != self.plain
                or not _is_short(arguments)):
            return self.of(node, self.form("asking", function, parts), lane)
        variable = self.variable("operand_")
        parts |= {"X": self.lanes.visit(arguments[0], lane), "V": variable, "S": self.site(function, name)}
        parts["KNOWN"] = self.form(f"{kind} value", function, parts)
        made = self.form("builtin of value", function, parts)
        value = self.form("read", arguments[0], {"V": variable})
        return self.at(ast.Call(func=made, args=[value], keywords=[]), node)

    def of_class(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        parts |= {"S": self.site(function), "M": self.variable("callee_")}
        parts["V"] = variable = self.lanes.scope.fresh("made_", self.made)
        self.made.append(variable)  # not for the arguments
        general = self.of(node, self.form("class", function, parts), lane)
        call = self.of(node, self.form("init", function, parts), lane)
        self.made.pop()
        if lane != self.plain or not _is_short([*node.args, *(k.value for k in node.keywords)]):
            return general
        made = ast.NamedExpr(ast.Name(variable, ast.Store(), **_place(function)),
                             self.form("object", function, parts), **_place(function))
        call.args = [made, *call.args]
        parts["CALL"] = call
        return self.unless(self.form("makes", function, parts), general, self.form("new", function, parts), node)

    def of_attribute(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        """A call of a method, and once more as it was written: for objects of the class that the site knows."""
        receiver = function.value
        if not _is_short([*node.args, *(k.value for k in node.keywords)]):
            return self.of_value(node, function, parts)
        named = isinstance(receiver, gast.Name)
        if function.attr in _NATIVE:
            parts["S"] = site = self.site(function, attribute=None if _SEES_RETURNS else function.attr)
            if named:
                test = self.form("type", function, {"R": parts["A"].value, "S": site})
            else:
                variable, found = self.variable("receiver_"), self.lanes.visit(receiver, lane)
                test = self.form("receiver", function, {"R": found, "V": variable, "S": site})
                value = self.form("read", receiver, {"V": variable})
                parts["A"] = self.at(ast.Attribute(value, function.attr, ast.Load()), function)
            return self.unless(test, self.of_value(node, function, parts), self.of(node, parts["A"], lane), node)
        if not named or (_SEES_RETURNS and getattr(node, "is_operand", False)):
            return self.of_value(node, function, parts)
        parts["S"] = site = self.site(function, attribute=function.attr)
        test = self.form("type", function, {"R": parts["A"].value, "S": site})
        # Both ways end in a jump: where they fall through, Python 3.12 reports the line again once the method returns.
        general = ast.IfExp(test=self.form("always", function, {"S": site}), body=self.of_value(node, function, parts),
                            orelse=self.at_start(ast.Constant(None), function))
        quick = self.of(node, parts["A"], lane)
        return self.at(ast.IfExp(test=test, body=quick, orelse=self.at(general, node)), node)

    def unless(self, test: Any, general: Any, quick: Any, node: Any) -> Any:
        """`quick if test else general`, in the order in which no line seems to run again: not after a jump where ways
        meet (which has no line), nor, in Python 3.12, where a call returns."""
        return self.at(ast.IfExp(test=self.at(ast.UnaryOp(ast.Not(), test), test), body=general, orelse=quick), node)

    def of_value(self, node: Any, function: Any, parts: dict[str, Any]) -> Any:
        """A call of what most often is a method."""
        made = self.of(node, self.form("method", function, parts), self.plain)
        if made.args and not isinstance(made.args[0], ast.Starred):
            parts["X"] = made.args[0]
            made.args[0] = self.form("forgotten", function, parts)
            made.args.insert(0, self.form("self before", function, parts))
        else:
            made.args.insert(0, self.form("self", function, parts))
        return made

    def is_local(self, name: str) -> bool:
        """Whether a name is of this function or one around it."""
        return name in self.lanes.scope.locals or name in self.lanes.around

    def near(self, name: Any, function: Any) -> Any:
        """The variable, where it stands or, if that is another line, where the callee does."""
        return self.lanes.visit(name, self.plain) if name.lineno == function.lineno else name.id

    def of(self, node: Any, callee: Any, lane: int) -> Any:
        """The call with this callee."""
        visit = self.lanes.visit
        if _FORMATS_NOWHERE and node.args and isinstance(node.args[0], gast.BinOp) and isinstance(
            node.args[0].left, gast.Constant
        ):  # something is to run on the line before it
            place = _place(callee)
            one = ast.Tuple([callee], ast.Load(), **place)
            callee = ast.Subscript(one, self.at_start(ast.Constant(0), callee), ast.Load(), **place)
        made = ast.Call(func=callee, args=[visit(a, lane) for a in node.args],
                        keywords=[visit(k, lane) for k in node.keywords])
        return self.at(made, node)

    def form(self, key: str, origin: Any, parts: dict[str, Any], builtin: str | None = None) -> Any:
        parts["AG"] = self.lanes.operators
        if "S" not in parts:
            parts["S"] = self.site(origin, builtin)
        return _BUILDERS[key](parts, _place(origin))

    def site(self, origin: Any, builtin: str | None = None, attribute: str | None = None) -> Any:
        self.sites += 1
        mark: Any = MARK, self.sites, builtin, attribute
        return self.at_start(ast.Constant(mark), origin)

    def variable(self, name: str) -> str:
        return self.lanes.scope.fresh(name)  # type: ignore[no-any-return]

    @staticmethod
    def at_start(made: Any, origin: Any) -> Any:
        made.__dict__.update(_place(origin))
        return made

    @staticmethod
    def at(made: Any, node: Any) -> Any:
        made.lineno, made.col_offset = node.lineno, node.col_offset
        made.end_lineno, made.end_col_offset = node.end_lineno, node.end_col_offset
        return made


def _place(origin: Any) -> dict[str, int]:
    # The compiler gives a call of an attribute the line where the attribute ends.
    line, column = origin.lineno, origin.col_offset
    return {"lineno": line, "col_offset": column, "end_lineno": line, "end_col_offset": column}


def _is_class(name: str) -> bool:
    """Whether a name looks like that of a class."""
    return name == "cls" or name.lstrip("_")[:1].isupper()


def _is_type_of(node: Any) -> bool:
    """Whether an expression is `type(x)`, which is `ag__.call(type)(x)` by now."""
    if not isinstance(node, gast.Call) or len(node.args) != 1 or not isinstance(node.func, gast.Call):
        return False
    callee = node.func.args[0]
    return isinstance(callee, gast.Name) and callee.id == "type"


def _is_short(arguments: list[Any]) -> bool:
    """Whether code for these may stand twice."""
    calls = 0
    for argument in arguments:
        if bound_to_frame(argument):
            return False
        for node in walk(argument):
            if isinstance(node, (gast.Lambda, gast.comprehension)):
                return False
            calls += isinstance(node, gast.Call) and not getattr(getattr(node.func, "value", None), "is_operators", 0)
    return calls <= _COPIES

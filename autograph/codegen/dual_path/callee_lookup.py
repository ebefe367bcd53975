"""Calls in the plain lane: what stands for a callee, found without a call of Python code where that can be.

Each form is Python text with these names in it: `F` a callee that is a name, `A` one that is an attribute, `R` its
receiver, `X` an argument, `S` the `Site` of this call (`inline_caches.py` says what it knows), `AG` the operators,
`METHOD` is `MethodType`, and `M`, `V` variables of the user's function, which hold nothing once they are read.
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

from autograph.analysis.scopes import mangled
from autograph.codegen.dual_path.inline_caches import CONSTANTS, MARK
from autograph.core.backend import by_type, python
from autograph.frontend.tree import bound_to_frame, suspends, walk

__all__ = ["ASKING", "LEFT", "Callees"]

_KNOWN = "F if AG.type(F) is S.kind and (S.code is None or F.__code__ is S.code)"
_REST = ("F if AG.type(F) is AG.partial and F.func is S.func"
         " else AG.resolvers.get(AG.type(F), AG.call)(F) if S.met else AG.find_callee(S, F)")
_PARTIAL = ("(F if F.func is S.func else AG.partial(S.to, *F.args, **F.keywords) if F.func is S.converts"
            " else AG.call(F) if S.met else AG.find_callee(S, F)) if AG.type(F) is AG.partial")
_LOCAL = ("METHOD(AG.functions[F.__func__], F.__self__)"
          " if AG.type(F) is AG.method and AG.type(F.__func__) is AG.function")
_FORMS = {
    # A function, class or builtin: of a module, as a rule.
    "global": f"({_KNOWN} else {_REST}) if F is not S.of and (F is not S.like or F.__defaults__ is not S.defaults"
              " or F.__kwdefaults__ is not S.kwdefaults) else S.to",
    # A class, going by its name. An object is made as `type.__call__` makes it, with the converted `__init__`.
    "makes": "F is S.made and F.__init__ is S.init and F.__new__ is S.new"
             " and S.init.__defaults__ is S.defaults and S.init.__kwdefaults__ is S.kwdefaults",
    "object": "S.new(F)",
    "init": "S.to",
    "new": "(V, V := None)[0] if (M := CALL) is None else AG.refuse(M)",
    "class": f"F if F is S.cls else S.to if F is S.of else {_KNOWN} else {_REST}",
    # A nested function, or what a parameter holds; in a function that makes partials, perhaps one of these.
    "local": f"S.to if F is S.of else {_KNOWN} else {_LOCAL} else {_REST}",
    "local partial": f"{_PARTIAL} else S.to if F is S.of else {_KNOWN} else {_LOCAL} else {_REST}",
    # An attribute of what a global name holds: a module, or a class whose method may stand for itself.
    "global attribute": "(M := S).to if (M := A) is S.of or M is S.like and M.__defaults__ is S.defaults and"
                        " M.__kwdefaults__ is S.kwdefaults"
                        " else AG.find_callee(S, (M, M := None)[0], R) if not S.met"
                        " else METHOD(AG.functions[M.__func__], (M, M := None)[0].__self__)"
                        " if AG.type(M) is AG.method and AG.type(M.__func__) is AG.function"
                        " else AG.resolvers.get(AG.type(M), AG.call)((M, M := None)[0])",
    "is type": "R is S.type",
    "class attribute": "(M, M := None)[0] if (M := A) is S.cls"
                       " else AG.resolvers.get(AG.type(M), AG.call)((M, M := None)[0]) if S.met"
                       " else AG.find_callee(S, (M, M := None)[0])",
    # An attribute of what a local name holds: a method, as a rule. What comes out is called with `SELF` first.
    "method": "S.to if AG.type(M := A) is AG.method and (M.__func__ is S.of or M.__func__ is S.like and"
              " S.like.__defaults__ is S.defaults and S.like.__kwdefaults__ is S.kwdefaults) else (M :="
              " AG.find_method(S, M, R) if not S.met"
              " else METHOD(AG.functions[M.__func__], M.__self__)"
              " if AG.type(M) is AG.method and AG.type(M.__func__) is AG.function"
              " else AG.as_method(AG.resolvers[AG.type(M)](M)) if AG.type(M) in AG.resolvers"
              " else AG.find_method(S, M, R)).__func__",
    "self": "(M, M := None)[0].__self__",
    "self before": "M.__self__",
    "forgotten": "X if (M := None) is None else None",
    # The same where no variable can be bound.
    "attribute": "R.ATTRIBUTE if AG.type(R) in AG.native else AG.call(A)",
    "receiver": "AG.type(V := R) is S.type",
    "type": "AG.type(R) is S.type",
    "always": "S.met is not None",
    "read": "(V, V := None)[0]",
    # A builtin that asks its arguments for a backend: while one traces, or at any time.
    "python": "SLOW if F is not AG.python.ATTRIBUTE else F",
    "scalars": "AG.resolvers.get(AG.type(F), AG.call)(F) if F is not S.of or not KNOWN else F",
    "by type": "AG.resolvers.get(AG.type(F), AG.call)(F) if F is not AG.python.ATTRIBUTE or not KNOWN else F",
    "asking": "AG.resolvers.get(AG.type(F), AG.call)(F)",
    "by type of value": "(S.to if KNOWN else AG.resolvers.get(AG.type(F), AG.call)(F)) if F is AG.python.ATTRIBUTE"
                        " else (AG.resolvers.get(AG.type(F), AG.call)(F), V := X)[0]",
    # The same with code for the argument that may not stand twice: both sides of `&` run.
    "by type of long value": "S.to if ((M := F) is AG.python.ATTRIBUTE) & (AG.type(V := X) in AG.plain) and KNOWN"
                             " else AG.resolvers.get(AG.type(M), AG.call)(M)",
    "scalar": "AG.type(X) in S.types",
    "plain": "AG.type(X) in AG.plain",
    "plain value": "AG.type(V := X) in AG.plain",
    "same": "F is AG.python.ATTRIBUTE",
}
_DISPLAYS = (gast.Tuple, gast.List, gast.Set, gast.Dict, gast.JoinedStr)
"""Expressions whose value has no backend, but, while one traces, perhaps something in it."""
_ANSWERED = frozenset(python.__slots__)
_SCALAR = frozenset({"len", "abs", "int", "float", "bool", "complex", "range", "pow", "divmod"})
"""Builtins that look at their arguments alone, not at what is in them."""
_FIRST_IS_CALLED = frozenset({"map", "filter"})
_GIVE_PYTHON = frozenset({"enumerate", "filter", "list", "map", "range", "sorted", "tuple", "zip"})
"""Builtins whose result is a Python value, as long as Python answers."""
DIRECT = frozenset(n for n in dir(builtins) if not n.startswith("_")) - _ANSWERED - {"print"}
"""Builtins that stand for themselves."""
LEFT = DIRECT | (_ANSWERED - by_type)
"""Those, and the others that do as long as Python answers."""
ASKING = by_type | {"print"}
"""The rest."""
_NATIVE = frozenset(
    name
    for cls in (str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, re.Pattern, re.Match, io.StringIO,
                io.TextIOWrapper)
    for name in dir(cls) if not name.startswith("_")
)
"""Names of methods of types written in C: a call of one may well be of such a type."""
_TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
"""Names of classes written in C."""
_IN_C = frozenset({"cmath", "functools", "itertools", "math", "operator", "sys", "time"})
"""Names of modules written in C."""
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
    """The calls of one function in the plain lane; `statements` turns what is in them from gast to ast."""

    def __init__(self, lanes: Any, plain: int) -> None:
        self.lanes, self.plain = lanes, plain
        self.sites = 0
        self.partials = False
        """Whether a partial is made here: what is called then may be one."""
        self.made: list[str] = []
        """Variables for the objects that are being made around here, and for builtins that are about to be called."""

    def call(self, node: Any, lane: int) -> Any:
        """The call `ag__.call(f)(...)`."""
        function = node.func.args[0]
        self.partials = self.partials or "partial" in (getattr(function, "id", ""), getattr(function, "attr", ""))
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
            made = self.lanes.visit(function, lane)
            if isinstance(receiver, gast.Constant) and self.lanes.scope.tracing:
                parts = {"A": made, "R": made.value, "ATTRIBUTE": function.attr}
                made = self.form("attribute", function, parts)
            return self.of(node, made, lane)
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
            named = isinstance(receiver, gast.Name)
            parts["R"] = attribute.value if named else self.nothing(function)
            is_known = named and (_is_class(root.id) or root.id in _TYPES or root.id in _IN_C)
            if kind == "global attribute" and is_known and _is_twice(node):
                parts["S"] = self.site(function, attribute=self.mangled(function))
                test = self.form("is type", function, parts)
                return self.unless(test, self.of(node, self.form(kind, function, parts), lane),
                                   self.of(node, attribute, lane), node)
            return self.of(node, self.form(kind, function, parts), lane)
        return self.of_attribute(node, function, parts, lane)

    def of_name(self, node: Any, function: Any, lane: int) -> Any:
        name = function.id
        parts = {"F": self.lanes.visit(function, lane)}
        is_local = self.is_local(name)
        if name in self.lanes.made_once:
            return self.of(node, parts["F"], lane)
        if f"{name}()" in self.lanes.scope.asked:
            return self.of(node, self.form("asking", function, parts), lane)
        if name in DIRECT and not is_local:
            return self.of(node, self.form("global", function, parts, name), lane)
        if _is_class(name):
            return self.of_class(node, function, parts, lane)
        if is_local:
            return self.of(node, self.form("local partial" if self.partials else "local", function, parts), lane)
        if name in _ANSWERED:
            return self.of_builtin(node, function, parts, lane)
        parts["S"] = self.site(function, attribute="")
        return self.of(node, self.form("asking" if name == "print" else "global", function, parts), lane)

    def of_builtin(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        """A call of a builtin that backends may answer for: most often, only while one traces."""
        name, arguments = function.id, [*node.args, *(k.value for k in node.keywords)]
        if any(suspends(a) for a in arguments):  # until it goes on, something may begin to trace
            return self.of(node, self.form("asking", function, parts), lane)
        parts |= {"S": self.site(function, name), "ATTRIBUTE": name}
        if name in by_type:
            return self.by_type(node, function, parts, lane)
        if name in _SCALAR and not node.keywords and all(isinstance(a, (gast.Constant, gast.Name)) for a in arguments):
            parts["KNOWN"] = self.all_of([
                self.form("scalar", function, {"X": self.near(a, function), "S": parts["S"]})
                for a in arguments if isinstance(a, gast.Name)], function)
            parts["SLOW"] = self.form("scalars", function, parts)
        else:
            parts["SLOW"] = self.form("asking", function, parts)
        return self.of(node, self.form("python", function, parts), lane)

    def by_type(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        """A call of a builtin that backends may answer for at any time."""
        asked = node.args
        if function.id in _FIRST_IS_CALLED and asked and not isinstance(asked[0], gast.Starred):
            asked = asked[1:]
        asked = [a for a in asked if not isinstance(a, (gast.Constant, gast.Lambda, *_DISPLAYS))]
        tests, values = [], []
        for argument in asked:
            if isinstance(argument, gast.Name):
                tests.append(self.form("plain", function, {"X": self.near(argument, function), "S": parts["S"]}))
            elif (builtin := _called(argument)) is not None and builtin.id in _GIVE_PYTHON and (
                not self.is_local(builtin.id)
            ):
                same = {"F": self.near(builtin, function), "S": parts["S"], "ATTRIBUTE": builtin.id}
                tests.append(self.form("same", function, same))
            else:
                values.append(argument)
        if not values:
            parts["KNOWN"] = self.all_of(tests, function)
            return self.of(node, self.form("by type", function, parts), lane)
        value, scope = values[0], self.lanes.scope
        others = [a for a in node.args if a is not value and not isinstance(a, (gast.Constant, gast.Lambda))]
        if (lane != self.plain or isinstance(value, gast.Starred) or bound_to_frame(value)  # it runs before the others
                or any(not isinstance(a, gast.Name) or a.id not in scope.locals - scope.written for a in others)):
            return self.of(node, self.form("asking", function, parts), lane)
        variable = self.variable("operand_")
        parts |= {"V": variable, "M": scope.fresh("made_", self.made)}
        self.made.append(parts["M"])  # not for the argument
        parts["X"] = self.lanes.visit(value, lane)
        self.made.pop()
        if _is_short(values):
            parts["KNOWN"] = self.all_of([self.form("plain value", function, parts), *tests], function)
            made = self.form("by type of value", function, parts)
        else:
            parts["KNOWN"] = self.all_of(tests, function)
            made = self.form("by type of long value", function, parts)
        held = self.form("read", value, {"V": variable})
        passed = [held if a is value else self.lanes.visit(a, lane) for a in node.args]
        keywords = [self.lanes.visit(k, lane) for k in node.keywords]
        return self.at(ast.Call(func=made, args=passed, keywords=keywords), node)

    def of_class(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        parts |= {"S": self.site(function), "M": self.variable("callee_")}
        parts["V"] = variable = self.lanes.scope.fresh("made_", self.made)
        self.made.append(variable)  # not for the arguments
        general = self.of(node, self.form("class", function, parts), lane)
        call = self.of(node, self.form("init", function, parts), lane)
        self.made.pop()
        if lane != self.plain or not _is_twice(node):
            return general
        made = ast.NamedExpr(ast.Name(variable, ast.Store(), **_place(function)),
                             self.form("object", function, parts), **_place(function))
        call.args = [made, *call.args]
        parts["CALL"] = call
        return self.unless(self.form("makes", function, parts), general, self.form("new", function, parts), node)

    def of_attribute(self, node: Any, function: Any, parts: dict[str, Any], lane: int) -> Any:
        """A call of a method, and once more as it was written: for objects of the class that the site knows."""
        receiver = function.value
        if not _is_twice(node) or getattr(receiver, "bare_super", False):  # that is no object of the class
            return self.of_value(node, function, parts)
        named = isinstance(receiver, gast.Name)
        is_native = function.attr in _NATIVE
        if not is_native and _SEES_RETURNS and (not named or getattr(node, "is_operand", False)):
            return self.of_value(node, function, parts)
        attribute = None if is_native and _SEES_RETURNS else self.mangled(function)
        parts["S"] = site = self.site(function, attribute=attribute)
        if named:
            test = self.form("type", function, {"R": parts["A"].value, "S": site})
            quick = self.of(node, parts["A"], lane)
        else:
            variable = self.variable("receiver_")
            test = self.form("receiver", function, {"R": self.lanes.visit(receiver, lane), "V": variable, "S": site})
            parts["A"] = self.held(function, self.form("read", receiver, {"V": variable}))
            if node.args and not isinstance(node.args[0], gast.Starred):
                quick = self.of(node, self.held(function, self.lanes.name(variable, receiver)), lane)
                quick.args[0] = self.form("forgotten", function, {"X": quick.args[0], "M": variable})
            else:
                quick = self.of(node, parts["A"], lane)
        general = self.of_value(node, function, parts)
        if is_native or not _SEES_RETURNS:
            return self.unless(test, general, quick, node)
        # Both ways end in a jump: where they fall through, Python 3.12 reports the line again once the method returns.
        always = self.form("always", function, {"S": site})
        general = self.at(ast.IfExp(test=always, body=general, orelse=self.nothing(function)), node)
        return self.at(ast.IfExp(test=test, body=quick, orelse=general), node)

    def held(self, function: Any, receiver: Any) -> Any:
        """The attribute of what a variable holds."""
        return self.at(ast.Attribute(receiver, function.attr, ast.Load()), function)

    def unless(self, test: Any, general: Any, quick: Any, node: Any) -> Any:
        """`quick if test else general`, in the order in which no line seems to run again: not after a jump where ways
        meet (which has no line), nor, in Python 3.12, where a call returns."""
        return self.at(ast.IfExp(test=self.at(ast.UnaryOp(ast.Not(), test), test), body=general, orelse=quick), node)

    def of_value(self, node: Any, function: Any, parts: dict[str, Any]) -> Any:
        """A call of what most often is a method."""
        receiver = getattr(parts["A"], "value", None)
        parts["R"] = receiver if isinstance(receiver, ast.Name) else self.nothing(function)
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
        """The constant for a site: of a call of `builtin`, of `attribute` of something, or ("") of a module's name."""
        self.sites += 1
        mark: Any = MARK, self.sites, builtin, attribute
        return self.at_start(ast.Constant(mark), origin)

    def all_of(self, tests: list[Any], origin: Any) -> Any:
        if len(tests) > 1:
            return self.at_start(ast.BoolOp(ast.And(), tests), origin)
        return tests[0] if tests else self.at_start(ast.Constant(True), origin)

    def mangled(self, function: Any) -> str:
        return mangled(function.attr, self.lanes.scope.class_name)

    def nothing(self, origin: Any) -> Any:
        return self.at_start(ast.Constant(None), origin)

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


def _called(node: Any) -> Any:
    """The name that an expression calls, which is `ag__.call(name)(...)` by now; None if it is no such call."""
    if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Call):
        return None
    callee = node.func.args[0]
    return callee if isinstance(callee, gast.Name) else None


def _is_type_of(node: Any) -> bool:
    """Whether an expression is `type(x)`."""
    callee = _called(node)
    return callee is not None and callee.id == "type" and len(node.args) == 1


def _is_twice(call: Any) -> bool:
    """Whether code for the arguments of a call may stand twice."""
    return _is_short([*call.args, *(k.value for k in call.keywords)])


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

"""Operations that Python's C code would decide by itself become operators, unless the text rules a staged value out.

    xs[i]                ag__.item(xs, i)              a < b          ag__.lt(a, b)
    self.xs[i] = v       ag__.place(self.xs)[i] = v    [*xs, y]       ag__.extended(ag__.extended([], xs), [y])
    {a, b}               ag__.set_of(a, b)             {a, *xs}       ag__.united(ag__.set_of(a), xs)
    (*xs, y)             ag__.tuple_display(...), of the list [*xs, y]
    f'{x:>5}!'           ag__.text(ag__.formatted(x, '>5'), '!')      a % b   ag__.mod(a, b)
    x.__dict__           ag__.attributes(x)            return y       return ag__.read(y), if y may be unbound
    x.y = v              ag__.fields(x).y = v        x.f_back ag__.caller(x)

The last pass: `to_code` shows the stage before it unless `stage="compiled"` is asked for.

Afterwards: the tree is ready to be compiled. A `super()` in the method's own frame has no arguments again. The body of
a `try` that stays Python ends with `ag__.kept_try`, and its handlers begin with `ag__.kept_handler`.
"""
from __future__ import annotations

import copy
from typing import Any

import gast

from autograph.analysis.scopes import Scope
from autograph.analysis.staging_candidates import (
    COMPARISONS,
    compares,
    makes_text,
    percent_text,
    spreads,
    takes_item,
)
from autograph.frontend.tree import FUNCTIONS, TRIES, at
from autograph.passes.thunks import is_operator, load, operator_call, parameters_for

__all__ = ["convert_containers"]

_ANNOTATIONS = frozenset({"annotation", "returns", "type_params", "type_comment"})


def convert_containers(node: Any, scope: Scope) -> None:
    """Convert the expressions of one function, in place. The user's functions nested in it are converted separately."""
    converter = _Containers()
    if isinstance(node, gast.Lambda):
        node.body = converter.visit(node.body)
    else:
        node.body = converter.block(node.body)


class _Containers:
    def __init__(self) -> None:
        self.in_body = False
        """Whether the current node is in a function made by conversion."""

    def block(self, body: list[Any]) -> list[Any]:
        out: list[Any] = []
        for node in body:
            if isinstance(node, gast.Delete):
                out += [at(gast.Expr(operator_call("read", [load(t.id, t)], t)), node) for t in node.targets
                        if isinstance(t, gast.Name) and getattr(t, "unsure", False)]
                out += self.deleted(node)
            else:
                out.append(self.visit(node))
        return out

    def deleted(self, node: Any) -> list[Any]:
        """`del x[i], y` as one statement per target."""
        made = []
        for target in node.targets:
            if isinstance(target, gast.Subscript):
                target.ctx = gast.Load()
                key = self.key(target.slice)
                made.append(at(gast.Expr(operator_call("delitem", [self.visit(target.value), key], target)), node))
            else:
                made.append(at(gast.Delete([self.visit(target)]), node))
        return made

    def key(self, index: Any) -> Any:
        """An index or slice, or a tuple of them, as an argument."""
        if isinstance(index, gast.Tuple) and any(isinstance(each, gast.Slice) for each in index.elts):
            return at(gast.Tuple([self.key(each) for each in index.elts], gast.Load()), index)
        if not isinstance(index, gast.Slice):
            return self.visit(index)
        bounds = [at(gast.Constant(None, None), index) if b is None else self.visit(b)
                  for b in (index.lower, index.upper, index.step)]
        return operator_call("slice", bounds, index)

    def visit(self, node: Any) -> Any:
        """The converted node."""
        cls = node.__class__
        if cls is gast.Constant:
            return node
        if cls is gast.Name:
            return _read(node)
        method = _METHODS.get(cls)
        return self.below(node) if method is None else method(self, node)

    def below(self, node: Any) -> Any:
        fields = node.__dict__
        for name in node._fields:
            value = fields.get(name)
            if value.__class__ is list:
                if value and isinstance(value[0], gast.stmt):
                    fields[name] = self.block(value)
                else:
                    for index, item in enumerate(value):
                        if isinstance(item, gast.AST):
                            value[index] = self.visit(item)
            elif isinstance(value, gast.AST) and name not in _ANNOTATIONS:
                fields[name] = self.visit(value)
        return node

    def function(self, node: Any) -> Any:
        """For a user's function, convert the defaults and decorators, which this frame evaluates; a function made by
        conversion is converted as a whole."""
        is_made = getattr(node, "immediate", False) or getattr(node, "synthetic", False)
        if not is_made:
            for values in (node.args.defaults, node.args.kw_defaults, getattr(node, "decorator_list", [])):
                values[:] = [v and self.visit(v) for v in values]
            return node
        outer, self.in_body = self.in_body, True
        node.body = self.visit(node.body) if isinstance(node, gast.Lambda) else self.block(node.body)
        self.in_body = outer
        return node

    def class_(self, node: Any) -> Any:
        for values in (node.decorator_list, node.bases):
            values[:] = map(self.visit, values)
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def assigned(self, node: Any) -> Any:
        """`a, b = x`, where `x` may be a list."""
        targets = [target for target in node.targets if isinstance(target, (gast.Tuple, gast.List))]
        is_known = isinstance(node.value, gast.Constant) or (
            isinstance(node.value, (gast.Tuple, gast.List)) and not spreads(node.value))
        self.below(node)
        if not targets or is_known:
            return node
        stars = [i for i, each in enumerate(targets[0].elts) if isinstance(each, gast.Starred)]
        if len(node.targets) > 1:
            node.value = operator_call("spread", [node.value], node.value)
            return node
        counts = [len(targets[0].elts)]
        for i in stars:
            counts = [i, counts[0] - i - 1]
            targets[0].elts[i] = targets[0].elts[i].value
        node.value = operator_call(
            "parts", [node.value, *[at(gast.Constant(count, None), node.value) for count in counts]], node.value)
        return node

    def annotated(self, node: Any) -> Any:
        node.target = self.visit(node.target)
        node.value = node.value and self.visit(node.value)
        return node

    def attribute(self, node: Any) -> Any:
        operator = _OF_ATTRIBUTES.get(node.attr)
        if operator is not None and isinstance(node.ctx, gast.Load):
            return operator_call(operator, [self.visit(node.value)], node)
        node = _read(self.below(node))
        if isinstance(node, gast.Attribute) and isinstance(node.ctx, gast.Store):
            node.value = operator_call("fields", [node.value], node)
        return node

    def subscript(self, node: Any) -> Any:
        value, index = node.value, node.slice
        if not takes_item(node):
            return _read(self.below(node))
        node.value = self.visit(value)
        if isinstance(node.ctx, gast.Store):
            if not hasattr(value, "part"):  # the result of `ag__.attribute` or `ag__.element` is a place already
                node.value = operator_call("place", [node.value], node)
            node.slice = self.visit(index)
            return node
        return operator_call("item", [node.value, self.key(index)], node)

    def compare(self, node: Any) -> Any:
        found = compares(node) if len(node.ops) == 1 else False
        self.below(node)
        if not found:
            return node
        return operator_call(COMPARISONS[type(node.ops[0])], [node.left, node.comparators[0]], node)

    def list_(self, node: Any) -> Any:
        """`[*x, y]`: the items before `x` are evaluated before `y`."""
        made: Any = at(gast.List([], gast.Load()), node)
        return self.unpacked(node, made, made.elts, "extended") if spreads(node) else self.below(node)

    def unpacked(self, node: Any, made: Any, parts: Any, extend: str) -> Any:
        """The elements of a list or set, some of which are unpacked. `made` has the first ones, which are to be added
        to `parts`; `extend`: the operator that adds those of an iterable."""
        for element in node.elts:
            if isinstance(element, gast.Starred):
                made, parts = operator_call(extend, [made, self.visit(element.value)], node), None
            else:
                if parts is None:
                    following = at(gast.List([], gast.Load()), node)
                    made, parts = operator_call(extend, [made, following], node), following.elts
                parts.append(self.visit(element))
        return made

    def tuple_(self, node: Any) -> Any:
        """`(*x, y)`, where only the graph may know how many items `x` has."""
        if not spreads(node):
            return self.below(node)
        return operator_call("tuple_display", [self.list_(at(gast.List(node.elts, node.ctx), node))], node)

    def dict_(self, node: Any) -> Any:
        """`{k: v}`, where a key may be known only when the graph runs."""
        if all(key is None or isinstance(key, gast.Constant) for key in node.keys) or None in node.keys:
            return self.below(node)
        pairs = [at(gast.Tuple([self.visit(key), self.visit(value)], gast.Load()), key)
                 for key, value in zip(node.keys, node.values, strict=True)]
        return operator_call("dict_of", pairs, node)

    def set_(self, node: Any) -> Any:
        """`{a, *b}`, where an item may be known only when the graph runs."""
        first: list[Any] = []
        made = operator_call("set_of", first, node)
        return self.unpacked(node, made, first, "united")

    def operation(self, node: Any) -> Any:
        name = _name_of(node.op, node.left, node.right) if isinstance(node.op, gast.Mod) else None
        self.below(node)
        name = name or (None if isinstance(node.op, gast.Mod) else _name_of(node.op, node.left, node.right))
        return node if name is None else operator_call(name, [node.left, node.right], node)

    def unary(self, node: Any) -> Any:
        name = None if isinstance(node.operand, _NO_CONTAINERS) else _OF_CONTAINERS.get(type(node.op))
        self.below(node)
        return node if name is None else operator_call(name, [node.operand], node)

    def augmented(self, node: Any) -> Any:
        """`x += y`, `x.a += y`, where `x` may be a list or text."""
        target = node.target
        name = _name_of(node.op, target, node.value)
        if name is None or isinstance(target, gast.Subscript) or not _is_dotted(getattr(target, "value", target)):
            return self.below(node)
        found = copy.deepcopy(target)
        found.ctx = gast.Load()
        value = operator_call(f"i{name}", [self.visit(found), self.visit(node.value)], node)
        return at(gast.Assign([self.visit(target)], value, None), node)

    def starred(self, node: Any) -> Any:
        """`*x`, or `yield from x`."""
        self.below(node)
        if isinstance(getattr(node, "ctx", None), (gast.Load, type(None))):
            node.value = operator_call("spread", [node.value], node)
        return node

    def joined(self, node: Any) -> Any:
        if not makes_text(node):
            return self.below(node)
        return operator_call("text", [self.visit(value) for value in node.values], node)

    def formatted(self, node: Any) -> Any:
        value = self.visit(node.value)
        if node.conversion > 0:
            value = operator_call("shown", [value, at(gast.Constant(chr(node.conversion), None), node)], node)
        spec = node.format_spec
        if spec is None:
            return operator_call("formatted", [value], node)
        if not makes_text(spec):
            spec = at(gast.Constant("".join([part.value for part in spec.values]), None), node)
        return operator_call("formatted", [value, self.visit(spec)], node)

    def call(self, node: Any) -> Any:
        if getattr(node, "bare_super", False) and not self.in_body:
            node.args = []
            return node
        unpacked = [arg for arg in node.args if isinstance(arg, gast.Starred)]
        self.below(node)
        if unpacked and is_operator(node.func, "call"):
            node.func.func.attr = "call_spread"
            for arg in unpacked:
                arg.value.func.attr = "positional"
        for keyword in node.keywords:
            if keyword.arg is None:
                keyword.value = operator_call("spread", [keyword.value], keyword.value)
        return node

    def try_(self, node: Any) -> Any:
        """A `try` that stays Python. The added calls check, while a backend traces, that its handlers do not miss an
        error that the graph may raise."""
        lines = [at(gast.Constant(line, None), node) for line in (node.body[0].lineno, node.body[-1].end_lineno)]
        self.below(node)
        if getattr(node, "python", None) is None:
            return node
        kinds = [at(gast.Constant(None, None), node) if h.type is None else _thunk(h.type) for h in node.handlers]
        check = at(gast.Expr(operator_call("kept_try", [*lines, *kinds], node)), node)
        for handler in node.handlers if isinstance(node, gast.Try) else ():
            handler.body = [at(gast.Expr(operator_call("kept_handler", [], handler)), handler), *handler.body]
        if node.handlers:
            node.orelse = [check, *node.orelse]
        else:
            node.body = [*node.body, check]
        return node


_OF_ATTRIBUTES = {"__dict__": "attributes", "f_back": "caller"}
"""Attributes whose reads are operators."""
_OF_CONTAINERS = {
    gast.Add: "add", gast.Mult: "mul", gast.BitOr: "bitor", gast.Sub: "sub", gast.BitAnd: "bitand", gast.USub: "neg",
    gast.UAdd: "pos", gast.Div: "truediv", gast.FloorDiv: "floordiv", gast.MatMult: "matmul", gast.Pow: "pow"}
"""Operators that lists, dicts and counters support, or lists beside arrays."""
_NO_CONTAINERS = (gast.Constant, gast.JoinedStr, gast.UnaryOp)


def _name_of(op: Any, left: Any, right: Any) -> str | None:
    """The operator that replaces `left + right` and the like, if the operands may be lists, dicts or text."""
    if isinstance(op, gast.Mod):
        return "mod" if percent_text(left, right) else None
    is_plain = any(isinstance(side, _NO_CONTAINERS) and not _counts(side, op) for side in (left, right))
    return None if is_plain else _OF_CONTAINERS.get(type(op))


_METHODS: dict[type, Any] = {
    **dict.fromkeys(FUNCTIONS, _Containers.function), **dict.fromkeys(TRIES, _Containers.try_),
    gast.ClassDef: _Containers.class_, gast.Assign: _Containers.assigned, gast.AnnAssign: _Containers.annotated,
    gast.Attribute: _Containers.attribute,
    gast.Subscript: _Containers.subscript, gast.Compare: _Containers.compare, gast.List: _Containers.list_,
    gast.Tuple: _Containers.tuple_, gast.Dict: _Containers.dict_, gast.Set: _Containers.set_,
    gast.BinOp: _Containers.operation, gast.UnaryOp: _Containers.unary, gast.AugAssign: _Containers.augmented,
    gast.Starred: _Containers.starred, gast.YieldFrom: _Containers.starred, gast.JoinedStr: _Containers.joined,
    gast.FormattedValue: _Containers.formatted, gast.Call: _Containers.call,
}


def _read(node: Any) -> Any:
    """A read of a name that a staged branch may have left unbound, as a call that checks it."""
    if getattr(node, "unsure", False) and isinstance(node.ctx, gast.Load):
        return operator_call("read", [node], node)
    return node


def _counts(node: Any, op: Any) -> bool:
    """Whether a constant operand may be the repeat count of a list."""
    return isinstance(op, gast.Mult) and isinstance(getattr(getattr(node, "operand", node), "value", None), int)


def _is_dotted(node: Any) -> bool:
    """Whether it is a dotted name such as `x.y.z`, which may be evaluated twice."""
    return isinstance(node, gast.Name) or (isinstance(node, gast.Attribute) and _is_dotted(node.value))


def _thunk(value: Any) -> Any:
    made = at(gast.Lambda(parameters_for((), value), value), value)
    made.immediate = True
    return made

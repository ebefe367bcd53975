"""Expressions with hidden control flow become operators: `and`, `or`, `not`, chained comparison, the ternary, `assert`,
calls and item assignment. Operands that Python evaluates lazily stay lazy, each evaluated at most once.

Afterwards: calls go through `ag__.call`, so callees convert when they are called; `x[i] = v` on a local is `x =
ag__.setitem(x, i, v)`. Expressions that suspend, bind a name or can never be a tensor are unchanged.
"""
from __future__ import annotations

import builtins
from typing import Any

import gast

from autograph.analysis.scopes import Scope, mangled, scan, symbol
from autograph.analysis.staging_candidates import (
    PREDICATES,
    asked_call,
    attribute_test,
    bool_test,
    member_test,
    never_tensor,
    none_test,
    same_test,
    spreads,
)
from autograph.frontend.tree import at, bound_to_frame, own_nodes, suspends, walk
from autograph.passes.comprehensions import comprehension, has_frame
from autograph.passes.thunks import AG, is_operator, lambda_of, lazy, load, noting, operator_call, walrus_names

__all__ = ["AG", "convert_expressions", "lazy", "load", "name_operators", "operator_call"]

# Calls that are not converted: they depend on the frame they are made in, or are markers for the converter.
_BARE = PREDICATES | {"super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__", "set_loop_options"}
_EXPRESSIONS = (gast.expr, gast.Slice)  # a slice contains expressions, but is not one in the grammar
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_IN_PLACE = {
    gast.Add: "iadd", gast.Sub: "isub", gast.Mult: "imul", gast.MatMult: "imatmul", gast.Div: "itruediv",
    gast.FloorDiv: "ifloordiv", gast.Mod: "imod", gast.Pow: "ipow", gast.LShift: "ilshift", gast.RShift: "irshift",
    gast.BitAnd: "iand", gast.BitOr: "ior", gast.BitXor: "ixor",
}


def name_operators(tree: Any, used: frozenset[str]) -> str:
    """Choose the name of the operators in a converted tree: `ag__`, numbered if the user's code has that name."""
    name, number = AG, 0
    while name in used:
        number += 1
        name = f"{AG}{number}"
    if number:
        for node in walk(tree):
            if getattr(node, "is_operators", False):
                node.id = name
    return name


def convert_expressions(node: Any, scope: Scope, recursive: bool = True) -> None:
    """Convert the expressions of one function, in place. Nested functions are converted separately."""
    converter = _Expressions(scope, recursive)
    if isinstance(node, gast.Lambda):
        converter.in_lambda = True
        node.body = converter.visit(node.body)
    else:
        node.body = converter.block(node.body)


class _Expressions:
    def __init__(self, scope: Scope, recursive: bool) -> None:
        self.scope, self.recursive = scope, recursive
        self.in_lambda = False
        self.in_frame = False
        """Whether the current node is in a comprehension with a frame of its own, where `super()` does not work."""

    # --- statements ---

    def block(self, body: list[Any]) -> list[Any]:
        return [new for node in body for new in self.statement(node)]

    def statement(self, node: Any) -> list[Any]:
        if isinstance(node, (gast.FunctionDef, gast.AsyncFunctionDef)):
            node.args.defaults = [self.visit(d) for d in node.args.defaults]
            node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
            return [node]
        if isinstance(node, gast.ClassDef):
            return [node]
        if isinstance(node, gast.Assert):
            return [self.assertion(node)]
        if isinstance(node, gast.Assign):
            return self.assign(node)
        if isinstance(node, gast.AugAssign):
            return self.augmented(node)
        if isinstance(node, gast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            node.target = self.visit(node.target) if node.value is None else self.target(node.target)
            return [node]
        if isinstance(node, gast.Delete):
            return [*self.to_delete(node), node]
        if isinstance(node, gast.TypeAlias):
            return [node]
        test = getattr(node, "test", None)
        if isinstance(node, gast.For) and test is not None:
            node.test = self.visit(test)
        fields = node.__dict__
        for name in node._fields:
            value = fields.get(name)
            if isinstance(value, gast.expr):
                fields[name] = self.visit(value)
            elif isinstance(value, list):
                fields[name] = self.items(value)
        if isinstance(node, gast.Match) and node.python is not None:
            node.subject = operator_call("matched", [node.subject], node.subject)
        if isinstance(node, gast.Expr) and is_operator(node.value, "list_comp"):
            node.value.func.attr = "each"  # the list is not used
        return [node]

    def items(self, values: list[Any]) -> list[Any]:
        if values and isinstance(values[0], gast.stmt):
            return self.block(values)
        for index, value in enumerate(values):
            if isinstance(value, gast.expr):
                values[index] = self.visit(value)
            elif isinstance(value, gast.AST) and not isinstance(value, gast.pattern):
                self.statement(value)  # a handler, a case, an item of a `with`
        return values

    def to_delete(self, node: Any) -> list[Any]:
        """`ag__.to_delete(x, 'y')`, which is put before `del x.y` and raises if a staged branch did not set it."""
        found = [t for t in node.targets if isinstance(t, gast.Attribute) and "[" not in (symbol(t.value) or "[")[0]]
        name = self.scope.class_name
        return [at(gast.Expr(operator_call("to_delete", [
            _loaded(t.value), at(gast.Constant(mangled(t.attr, name), None), t)], node)), node) for t in found]

    def assertion(self, node: Any) -> Any:
        if bound_to_frame(node):
            node.test = self.visit(node.test)
            node.msg = node.msg and self.visit(node.msg)
            return node
        arguments = [self.visit(node.test)]
        if node.msg is not None:
            arguments.append(lazy(self.visit(node.msg)))
        return at(gast.Expr(operator_call("assert_", arguments, node)), node)

    def assign(self, node: Any) -> list[Any]:
        value, target = node.value, node.targets[0]
        if len(node.targets) == 1 and self.is_item_of_local(target):
            if self.order_is_free(value, target):
                return [self.set_item(target, self.visit(value), node)]
            # Python evaluates the value before the target and its key.
            name = self.scope.fresh("value_")
            return [self.store(name, self.visit(value), node), self.set_item(target, load(name, value), node)]
        node.value = self.visit(value)
        if not any(self.is_item_of_local(leaf) for t in node.targets for leaf in _leaves(t)):
            node.targets = [self.target(t) for t in node.targets]
            return [node]
        # Several targets, items among them: unpack into names, then assign each in Python's order.
        out: list[Any] = []
        source = node.value
        if len(node.targets) > 1:
            name = self.scope.fresh("value_")
            out.append(self.store(name, source, node))
            source = load(name, node)
        taken: set[str] = {source.id} if len(node.targets) > 1 else set()
        for target in node.targets:
            pairs: list[tuple[Any, str]] = []
            if isinstance(target, (gast.Tuple, gast.List)):
                out.append(at(gast.Assign([self.pattern(target, pairs, taken)], source, None), node))
            else:
                out.append(self.assign_leaf(target, source, node))
            out += [self.assign_leaf(leaf, load(name, leaf), node) for leaf, name in pairs]
        return out

    def pattern(self, target: Any, pairs: list[tuple[Any, str]], taken: set[str]) -> Any:
        """The target with a name in place of each leaf; `pairs` collects the leaves with these names."""
        if isinstance(target, (gast.Tuple, gast.List)):
            made: Any = type(target)([self.pattern(e, pairs, taken) for e in target.elts], gast.Store())
        elif isinstance(target, gast.Starred):
            made = gast.Starred(self.pattern(target.value, pairs, taken), gast.Store())
        else:
            name = self.scope.fresh("value_", taken)
            taken.add(name)
            pairs.append((target, name))
            made = gast.Name(name, gast.Store(), None, None)
        return at(made, target)

    def assign_leaf(self, target: Any, value: Any, node: Any) -> Any:
        if self.is_item_of_local(target):
            return self.set_item(target, value, node)
        made = at(gast.Assign([target], value, None), node)
        made.targets = [self.target(target)]
        return made

    def target(self, target: Any) -> Any:
        """A target other than an item of a local. `x.y[key]` becomes `ag__.attribute(x, 'y')[key]`, and `x[i][key]`
        `ag__.element(x, i)[key]`: if the value there is immutable, `x` gets a new one."""
        if isinstance(target, (gast.Tuple, gast.List)):
            target.elts = [self.target(e) for e in target.elts]
        elif isinstance(target, gast.Starred):
            target.value = self.target(target.value)
        elif _is_item_of_part(target):
            part, target.slice = target.value, self.visit(target.slice)
            holder = part.value = self.visit(part.value)
            if isinstance(part, gast.Attribute):
                name = mangled(part.attr, self.scope.class_name)
                call = operator_call("attribute", [holder, at(gast.Constant(name, None), part)], part)
            else:
                part.slice = self.visit(part.slice)
                call = operator_call("element", [holder, part.slice], part)
            call.part = part
            target.value = call
        else:
            return self.visit(target)
        return target

    def set_item(self, target: Any, value: Any, node: Any) -> Any:
        """`x = ag__.setitem(x, key, value)` for `x[key] = value`."""
        name = target.value.id
        call = operator_call("setitem", [load(name, target), self.index(target.slice), value], node)
        return self.store(name, call, node)

    def store(self, name: str, value: Any, node: Any) -> Any:
        target = at(gast.Name(name, gast.Store(), None, None), node)
        return at(gast.Assign([target], value, None), node)

    def augmented(self, node: Any) -> list[Any]:
        target = node.target
        if not self.is_item_of_local(target) or bound_to_frame(node.value):
            node.value = self.visit(node.value)
            node.target = self.target(target)
            return [node]
        # x[i] += v: the key is evaluated once, the item is read before v, and updated in place if possible.
        taken: dict[str, Any] = {}
        found = scan(target.slice)
        names = self.scope.locals - self.scope.shared if found.calls else found.reads  # a call may change other names
        target.slice = self.once(target.slice, names, taken)
        key = self.once(target.slice, names | set(taken), taken)
        item = at(gast.Subscript(load(target.value.id, target), key, gast.Load()), target)
        changed = operator_call(_IN_PLACE[type(node.op)], [item, self.visit(node.value)], node)
        made = self.set_item(target, changed, node)
        return [*(self.store(name, value, node) for name, value in taken.items()), made]

    def once(self, key: Any, names: frozenset[str] | set[str], taken: dict[str, Any]) -> Any:
        """A copy of a key in which each part except numbers and `names` is a variable; `taken` collects their
        values."""
        if isinstance(key, gast.Tuple) and not any(isinstance(e, gast.Starred) for e in key.elts):
            return at(gast.Tuple([self.once(e, names, taken) for e in key.elts], gast.Load()), key)
        if isinstance(key, gast.Slice):
            bounds = (b and self.once(b, names, taken) for b in (key.lower, key.upper, key.step))
            return at(gast.Slice(*bounds), key)
        if isinstance(key, gast.Constant):
            return at(gast.Constant(key.value, None), key)
        if isinstance(key, gast.UnaryOp) and isinstance(key.operand, gast.Constant):
            return at(gast.UnaryOp(key.op, self.once(key.operand, names, taken)), key)
        if isinstance(key, gast.Name) and key.id in names:
            return load(key.id, key)
        name = self.scope.fresh("index_", taken)
        taken[name] = self.index(key)
        return load(name, key)

    def is_item_of_local(self, target: Any) -> bool:
        return (
            isinstance(target, gast.Subscript) and isinstance(target.value, gast.Name)
            and target.value.id in self.scope.locals
            and not _is_key(target.slice)
            and not bound_to_frame(target.slice)
        )

    def order_is_free(self, value: Any, target: Any) -> bool:
        """Whether the target and its key may be evaluated before the value without a visible difference."""
        if isinstance(value, (gast.Name, gast.Constant)):
            return True
        if bound_to_frame(value):
            return False
        key = target.slice
        plain = all(
            isinstance(n, (gast.Name, gast.Constant, gast.Tuple, gast.Slice, gast.Load, gast.UnaryOp, gast.USub,
                           gast.BinOp, gast.operator))
            for n in own_nodes([key])
        )
        fixed = self.scope.locals - self.scope.shared
        return plain and scan(key).reads | {target.value.id} <= fixed

    def index(self, node: Any) -> Any:
        """A key as an expression: a slice becomes `slice(...)`."""
        if isinstance(node, gast.Slice):
            none = gast.Constant(None, None)
            bounds = [b and self.visit(b) for b in (node.lower, node.upper, node.step)]
            arguments = [b or at(none, node) for b in bounds[: 3 if node.step else 2]]
            return operator_call("slice", arguments, node)
        if isinstance(node, gast.Tuple):
            node.elts = [self.index(e) for e in node.elts]
            return node
        return self.visit(node)

    # --- expressions ---

    def visit(self, node: Any) -> Any:
        cls = node.__class__
        if cls is gast.Name or cls is gast.Constant:
            return node
        method = getattr(self, cls.__name__, None)
        if method is not None:
            return method(node)
        fields = node.__dict__
        for name in cls._fields:
            value = fields.get(name)
            if isinstance(value, _EXPRESSIONS):
                fields[name] = self.visit(value)
            elif isinstance(value, list):
                for i, item in enumerate(value):
                    if isinstance(item, _EXPRESSIONS):
                        value[i] = self.visit(item)
                    elif isinstance(item, (gast.keyword, gast.comprehension)):
                        self.visit(item)
        return node

    def Lambda(self, node: Any) -> Any:
        if getattr(node, "immediate", False):
            return node
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        return node  # its body is converted separately

    def Call(self, node: Any) -> Any:
        function = node.func
        bare = False
        if isinstance(function, gast.Name):
            name = function.id
            bare = (name in _BARE and not asked_call(node)) or (
                not self.recursive and name not in _BUILTINS)
            if name == "super" and not node.args and not node.keywords:
                self.name_super(node)
        else:
            bare = not self.recursive or (
                isinstance(function, gast.Attribute) and (
                    function.attr == "set_loop_options" or getattr(function.value, "is_operators", False))
            )
            if isinstance(function, gast.Attribute) and function.end_lineno != node.lineno:
                # As Python does for a call of an attribute over several lines: the call has the line of the attribute.
                node.lineno = function.end_lineno
                node.col_offset = max(function.end_col_offset - len(function.attr), 0)
            function = self.visit(function)
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if attribute_test(node) and "hasattr" not in self.scope.locals:
            return operator_call("hasattr", node.args, node)
        node.func = function if bare else operator_call("call", [function], function)
        return node

    def name_super(self, node: Any) -> None:
        """Make the arguments of `super()` explicit, for bodies that become functions; in the method's own frame,
        `containers` removes them again."""
        scope = self.scope
        if scope.class_name is not None and scope.first_parameter and "super" not in scope.locals and not self.in_frame:
            node.args = [load("__class__", node), load(scope.first_parameter, node)]
            node.bare_super = True

    def BoolOp(self, node: Any) -> Any:
        if never_tensor(node) or self.stays(*node.values):
            node.values = [self.visit(v) for v in node.values]
            return node
        first, *others = (self.visit(v) for v in node.values)
        operator = "and_" if isinstance(node.op, gast.And) else "or_"
        return operator_call(operator, [first, *(self.operand(o) for o in others)], node)

    def UnaryOp(self, node: Any) -> Any:
        python = not isinstance(node.op, gast.Not) or never_tensor(node.operand)
        node.operand = self.visit(node.operand)
        return node if python else operator_call("not_", [node.operand], node)

    def IfExp(self, node: Any) -> Any:
        python = never_tensor(node.test) or self.stays(node.body, node.orelse)
        node.test, node.body, node.orelse = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        if python:
            return node
        return operator_call("if_exp", [node.test, self.operand(node.body), self.operand(node.orelse)], node)

    def stays(self, *operands: Any) -> bool:
        """Whether operands have to run in the user's own frame: they suspend it, or bind a name that has no cell."""
        return any(map(suspends, operands)) or (
            any(map(bound_to_frame, operands)) and self.has_no_cell(walrus_names(*operands)))

    def has_no_cell(self, names: set[str]) -> bool:
        """Whether one of the names that a walrus binds is a variable that a nested function cannot assign: a global, or
        one of a lambda that is no parameter, since a lambda has no statement to declare it."""
        return not self.scope.globals.isdisjoint(names) or (self.in_lambda and not names <= self.scope.parameters)

    def operand(self, node: Any) -> Any:
        """A converted operand that is evaluated at once or never."""
        return lazy(noting(node, self.scope.written) if self.scope.written and scan(node).calls else node)

    def Compare(self, node: Any) -> Any:
        if len(node.ops) == 1:
            return self.comparison(node)
        if never_tensor(node) or self.stays(*node.comparators):
            node.left, node.comparators = self.visit(node.left), [self.visit(c) for c in node.comparators]
            return node
        return self.chain(node.left, node.ops, node.comparators, node)

    def comparison(self, node: Any) -> Any:
        """A comparison of two operands."""
        if none_test(node):
            value = node.comparators[0] if isinstance(node.left, gast.Constant) else node.left
            test = operator_call("is_none", [self.visit(value)], node)
            return test if isinstance(node.ops[0], gast.Is) else operator_call("not_", [test], node)
        if same_test(node):
            test = operator_call("is_same", [self.visit(node.left), self.visit(node.comparators[0])], node)
            return test if isinstance(node.ops[0], gast.Is) else operator_call("not_", [test], node)
        if bool_test(node):
            test = operator_call("is_bool", [self.visit(node.left), node.comparators[0]], node)
            return test if isinstance(node.ops[0], gast.Is) else operator_call("not_", [test], node)
        if member_test(node):
            container = self.visit(node.comparators[0])
            if isinstance(container, gast.Set) and not spreads(container):
                container = operator_call("members", container.elts, container)
            test = operator_call("in_", [self.visit(node.left), container], node)
            return test if isinstance(node.ops[0], gast.In) else operator_call("not_", [test], node)
        node.left, node.comparators = self.visit(node.left), [self.visit(c) for c in node.comparators]
        return node

    def chain(self, left: Any, ops: list[Any], rest: list[Any], origin: Any) -> Any:
        """`a < b < c` as `ag__.and_(a < b, lambda: b < c)`; a middle operand that is not a name or constant is stored
        in one first."""
        middle = rest[0]
        if len(ops) == 1:
            return self.comparison(at(gast.Compare(left, ops, rest), origin))
        if isinstance(middle, (gast.Name, gast.Constant)):
            again = load(middle.id, middle) if isinstance(middle, gast.Name) else at(
                gast.Constant(middle.value, None), middle)
            first = self.comparison(at(gast.Compare(left, ops[:1], [middle]), origin))
            return operator_call("and_", [first, self.operand(self.chain(again, ops[1:], rest[1:], origin))], origin)
        names = (self.scope.fresh("left_"), self.scope.fresh("middle_"))
        first = self.comparison(at(gast.Compare(load(names[0], left), ops[:1], [load(names[1], middle)]), origin))
        following = self.operand(self.chain(load(names[1], middle), ops[1:], rest[1:], origin))
        function = lambda_of(names, operator_call("and_", [first, following], origin), origin)
        return at(gast.Call(function, [self.visit(left), self.visit(middle)], []), origin)

    def Dict(self, node: Any) -> Any:
        keys, values = [k and self.visit(k) for k in node.keys], [self.visit(v) for v in node.values]
        if None not in keys:
            node.keys, node.values = keys, values
            return node
        made = at(gast.Dict([], []), node)
        for key, value in zip(keys, values):
            if key is None:
                made = operator_call("merged", [made, value], node)
            elif isinstance(made, gast.Dict):
                made.keys.append(key)
                made.values.append(value)
            else:
                made = operator_call("merged", [made, at(gast.Dict([key], [value]), node)], node)
        return made

    def ListComp(self, node: Any) -> Any:
        outer, self.in_frame = self.in_frame, self.in_frame or has_frame(node)
        made = comprehension(node, self.scope, self.has_no_cell, self.visit)
        self.in_frame = outer
        return made

    SetComp = DictComp = GeneratorExp = ListComp


def _is_key(node: Any) -> bool:
    """Whether an index is text, which cannot be an index of a tensor."""
    return isinstance(node, gast.Constant) and isinstance(node.value, str)


def _is_item_of_part(target: Any) -> bool:
    """Whether a target is `x.y[key]` or `x[i][key]`, where `i` is not a slice: the items of `x[a:b]` would be those of
    a copy."""
    return isinstance(target, gast.Subscript) and not _is_key(target.slice) and (
        isinstance(target.value, gast.Attribute)
        or (isinstance(target.value, gast.Subscript) and not isinstance(target.value.slice, gast.Slice)))


def _loaded(node: Any) -> Any:
    """A copy of `x.y`."""
    if isinstance(node, gast.Name):
        return load(node.id, node)
    return at(gast.Attribute(_loaded(node.value), node.attr, gast.Load()), node)


def _leaves(target: Any) -> list[Any]:
    if isinstance(target, gast.Starred):
        return _leaves(target.value)
    if isinstance(target, (gast.Tuple, gast.List)):
        return [leaf for element in target.elts for leaf in _leaves(element)]
    return [target]

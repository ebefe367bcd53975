"""Text of expressions, patterns and arguments, with only the parentheses that the grammar needs.

The text is the same on every Python version. Where the source is known, literals keep their spelling in it.
"""
from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from autograph.core.versions import NESTS_FSTRINGS, STARS_IN_SUBSCRIPTS

__all__ = ["ExpressionPrinter", "Precedence"]

_INFINITY = "1e" + repr(sys.float_info.max_10_exp + 1)
_QUOTES = ("'", '"', '"""', "'''")


class Precedence(IntEnum):
    """How tightly an expression binds; the order of the grammar."""

    NAMED = 0
    YIELD = 1
    TUPLE = 2
    TEST = 3
    OR = 4
    AND = 5
    NOT = 6
    COMPARE = 7
    BIT_OR = 8
    BIT_XOR = 9
    BIT_AND = 10
    SHIFT = 11
    SUM = 12
    TERM = 13
    FACTOR = 14
    POWER = 15
    AWAIT = 16
    ATOM = 17


P = Precedence
Printed = tuple[str, Precedence]

_BINARY = {
    "Add": ("+", P.SUM), "Sub": ("-", P.SUM), "Mult": ("*", P.TERM), "MatMult": ("@", P.TERM),
    "Div": ("/", P.TERM), "Mod": ("%", P.TERM), "FloorDiv": ("//", P.TERM), "Pow": ("**", P.POWER),
    "LShift": ("<<", P.SHIFT), "RShift": (">>", P.SHIFT),
    "BitOr": ("|", P.BIT_OR), "BitXor": ("^", P.BIT_XOR), "BitAnd": ("&", P.BIT_AND),
}
_COMPARE = {
    "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
    "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}
_UNARY = {"Invert": "~", "UAdd": "+", "USub": "-"}


def _kind(node: Any) -> str:
    return type(node).__name__


class ExpressionPrinter:
    """Prints gast and ast expressions. `source`, if given, is the text that their positions refer to."""

    def __init__(self, source: str | None = None) -> None:
        self._rows = [] if source is None else re.split("\r\n|\r|\n", source)
        self._forbidden: list[str] = []  # the quotes of the f-strings around
        self._printers: dict[str, Callable[[Any], Printed]] = {}

    def text(self, node: Any, least: Precedence = P.TEST) -> str:
        """The text of `node`, in parentheses if it binds less tightly than `least`."""
        kind = _kind(node)
        printer = self._printers.get(kind)
        if printer is None:
            found = getattr(self, "_" + kind, None)
            if found is None:
                raise TypeError(f"cannot print a {kind} node as an expression")
            printer = self._printers[kind] = found
        text, precedence = printer(node)
        return text if precedence >= least else f"({text})"

    def condition(self, node: Any, least: Precedence = P.TEST) -> str:
        """An expression in a position where the grammar also allows a bare `name := value`."""
        return self.text(node, P.NAMED if _kind(node) == "NamedExpr" else least)

    def _join(self, nodes: Sequence[Any], least: Precedence = P.TEST) -> str:
        return ", ".join([self.text(node, least) for node in nodes])

    # ---- names and operators ----

    def _Name(self, t: Any) -> Printed:
        return t.id, P.ATOM

    def _NamedExpr(self, t: Any) -> Printed:
        return f"{self.text(t.target)} := {self.text(t.value)}", P.NAMED

    def _BoolOp(self, t: Any) -> Printed:
        word, precedence = ("and", P.AND) if _kind(t.op) == "And" else ("or", P.OR)
        return f" {word} ".join([self.text(v, Precedence(precedence + 1)) for v in t.values]), precedence

    def _BinOp(self, t: Any) -> Printed:
        operator, precedence = _BINARY[_kind(t.op)]
        tighter = Precedence(precedence + 1)
        left, right = (tighter, P.FACTOR) if precedence is P.POWER else (precedence, tighter)
        return f"{self.text(t.left, left)} {operator} {self.text(t.right, right)}", precedence

    def _UnaryOp(self, t: Any) -> Printed:
        if _kind(t.op) == "Not":
            return f"not {self.text(t.operand, P.NOT)}", P.NOT
        return f"{_UNARY[_kind(t.op)]}{self.text(t.operand, P.FACTOR)}", P.FACTOR

    def _Compare(self, t: Any) -> Printed:
        parts = [self.text(t.left, P.BIT_OR)]
        for op, right in zip(t.ops, t.comparators, strict=True):
            parts += [_COMPARE[_kind(op)], self.text(right, P.BIT_OR)]
        return " ".join(parts), P.COMPARE

    def _IfExp(self, t: Any) -> Printed:
        return f"{self.text(t.body, P.OR)} if {self.text(t.test, P.OR)} else {self.text(t.orelse)}", P.TEST

    def _Lambda(self, t: Any) -> Printed:
        arguments = self.arguments(t.args)
        return f"lambda{arguments and ' ' + arguments}: {self.text(t.body)}", P.TEST

    def _Await(self, t: Any) -> Printed:
        return f"await {self.text(t.value, P.ATOM)}", P.AWAIT

    def _Yield(self, t: Any) -> Printed:
        return "yield" if t.value is None else f"yield {self.text(t.value, P.TUPLE)}", P.YIELD

    def _YieldFrom(self, t: Any) -> Printed:
        return f"yield from {self.text(t.value)}", P.YIELD

    # ---- displays ----

    def _Tuple(self, t: Any) -> Printed:
        if not t.elts:
            return "()", P.ATOM
        return (f"{self.text(t.elts[0])}," if len(t.elts) == 1 else self._join(t.elts)), P.TUPLE

    def _List(self, t: Any) -> Printed:
        return f"[{self._join(t.elts)}]", P.ATOM

    def _Set(self, t: Any) -> Printed:
        return (f"{{{self._join(t.elts)}}}" if t.elts else "{*()}"), P.ATOM

    def _Dict(self, t: Any) -> Printed:
        items = [
            f"**{self.text(v, P.BIT_OR)}" if k is None else f"{self.text(k)}: {self.text(v)}"
            for k, v in zip(t.keys, t.values, strict=True)
        ]
        return "{" + ", ".join(items) + "}", P.ATOM

    def _Starred(self, t: Any) -> Printed:
        return f"*{self.text(t.value, P.BIT_OR)}", P.TEST

    def _ListComp(self, t: Any) -> Printed:
        return f"[{self.text(t.elt)}{self._generators(t)}]", P.ATOM

    def _SetComp(self, t: Any) -> Printed:
        return f"{{{self.text(t.elt)}{self._generators(t)}}}", P.ATOM

    def _GeneratorExp(self, t: Any) -> Printed:
        return f"({self.text(t.elt)}{self._generators(t)})", P.ATOM

    def _DictComp(self, t: Any) -> Printed:
        return f"{{{self.text(t.key)}: {self.text(t.value)}{self._generators(t)}}}", P.ATOM

    def _generators(self, t: Any) -> str:
        text = ""
        for g in t.generators:
            text += " async for " if g.is_async else " for "
            text += f"{self.text(g.target, P.TUPLE)} in {self.text(g.iter, P.OR)}"
            text += "".join(f" if {self.text(test, P.OR)}" for test in g.ifs)
        return text

    # ---- calls, attributes, subscripts ----

    def _Call(self, t: Any) -> Printed:
        return f"{self.text(t.func, P.ATOM)}({self.call_arguments(t.args, t.keywords)})", P.ATOM

    def call_arguments(self, args: Sequence[Any], keywords: Sequence[Any], *, of_class: bool = False) -> str:
        """The text between the parentheses of a call, or of a class statement."""
        if not of_class and len(args) == 1 and not keywords and _kind(args[0]) == "GeneratorExp":
            return self.text(args[0])[1:-1]
        parts = [self.text(a) if of_class else self.condition(a) for a in args]
        for k in keywords:
            name, least = ("**", P.BIT_OR) if k.arg is None else (f"{k.arg}=", P.TEST)
            parts.append(name + self.text(k.value, least))
        return ", ".join(parts)

    def _Attribute(self, t: Any) -> Printed:
        value = self.text(t.value, P.ATOM)
        if value.isdigit():  # in `3.real`, `3.` would be read as a number
            value = f"({value})"
        return f"{value}.{t.attr}", P.ATOM

    def _Subscript(self, t: Any) -> Printed:
        index = t.slice
        if _kind(index) == "Tuple" and index.elts:
            starred = any(_kind(e) == "Starred" for e in index.elts)
            text = self.text(index, P.TEST if starred and not STARS_IN_SUBSCRIPTS else P.TUPLE)
            if starred and len(index.elts) == 1 and STARS_IN_SUBSCRIPTS:
                text = self.text(index.elts[0])  # x[*a] is x[*a,]
        else:
            text = self.text(index)
        return f"{self.text(t.value, P.ATOM)}[{text}]", P.ATOM

    def _Slice(self, t: Any) -> Printed:
        lower, upper, step = ("" if part is None else self.text(part) for part in (t.lower, t.upper, t.step))
        return f"{lower}:{upper}:{step}" if step else f"{lower}:{upper}", P.TEST

    # ---- parameters ----

    def arguments(self, t: Any) -> str:
        """The parameters of a function or lambda."""
        positional = [*getattr(t, "posonlyargs", []), *t.args]
        defaults = [None] * (len(positional) - len(t.defaults)) + list(t.defaults)
        parts = [self._parameter(p, d) for p, d in zip(positional, defaults, strict=True)]
        if getattr(t, "posonlyargs", None):
            parts.insert(len(t.posonlyargs), "/")
        if t.vararg is not None:
            parts.append("*" + self._parameter(t.vararg, None))
        elif t.kwonlyargs:
            parts.append("*")
        parts += [self._parameter(p, d) for p, d in zip(t.kwonlyargs, t.kw_defaults, strict=True)]
        if t.kwarg is not None:
            parts.append("**" + self._parameter(t.kwarg, None))
        return ", ".join(parts)

    def _parameter(self, p: Any, default: Any) -> str:
        text: str = p.id if _kind(p) == "Name" else p.arg  # gast has a Name here
        if getattr(p, "annotation", None) is not None:
            text += f": {self.text(p.annotation)}"
            return text if default is None else f"{text} = {self.text(default)}"
        return text if default is None else f"{text}={self.text(default)}"

    def type_param(self, p: Any) -> str:
        """`T: bound = default`, `*Ts` or `**P`."""
        text: str = {"TypeVarTuple": "*", "ParamSpec": "**"}.get(_kind(p), "") + p.name
        if getattr(p, "bound", None) is not None:
            text += f": {self.text(p.bound)}"
        if getattr(p, "default_value", None) is not None:
            text += f" = {self.text(p.default_value)}"
        return text

    # ---- patterns ----

    def pattern(self, t: Any, *, top: bool = False, least: int = 0) -> str:
        """A `case` pattern. `least` is 0 where `as` may stand bare, 1 where only `|` may, 2 for neither."""
        kind = _kind(t)
        if kind == "MatchValue":
            return self.text(t.value)
        if kind == "MatchSingleton":
            return repr(t.value)
        if kind == "MatchStar":
            return f"*{t.name or '_'}"
        if kind == "MatchOr":
            text = " | ".join(self.pattern(p, least=2) for p in t.patterns)
            return text if least < 2 else f"({text})"
        if kind == "MatchAs":
            if t.pattern is None:
                return t.name or "_"
            text = f"{self.pattern(t.pattern, least=1)} as {t.name}"
            return text if least < 1 else f"({text})"
        if kind == "MatchSequence":
            text = ", ".join(self.pattern(p) for p in t.patterns)
            return text if top and len(t.patterns) > 1 else f"[{text}]"
        if kind == "MatchMapping":
            parts = [f"{self.text(k)}: {self.pattern(p)}" for k, p in zip(t.keys, t.patterns, strict=True)]
            parts += [f"**{t.rest}"] if t.rest else []
            return "{" + ", ".join(parts) + "}"
        if kind == "MatchClass":
            parts = [self.pattern(p) for p in t.patterns]
            parts += [f"{a}={self.pattern(p)}" for a, p in zip(t.kwd_attrs, t.kwd_patterns, strict=True)]
            return f"{self.text(t.cls, P.ATOM)}({', '.join(parts)})"
        raise TypeError(f"cannot print a {kind} node as a pattern")

    # ---- literals ----

    def _Constant(self, t: Any) -> Printed:
        value = t.value
        if value is ...:
            return "...", P.ATOM
        if isinstance(value, (str, bytes)):
            return self._string(t), P.ATOM
        if isinstance(value, tuple):
            items = [self._Constant(ast.Constant(item))[0] for item in value]
            return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")", P.ATOM
        if isinstance(value, (bool, type(None))):
            return repr(value), P.ATOM
        spelling = self._spelling(t)
        if spelling is not None:
            return spelling, P.ATOM
        if isinstance(value, int):
            try:
                text = repr(value)
            except ValueError:  # longer than sys.get_int_max_str_digits
                text = hex(value)
        else:
            text = repr(value).replace("inf", _INFINITY).replace("nan", f"({_INFINITY}-{_INFINITY})")
        return text, (P.FACTOR if text.startswith("-") else P.ATOM)

    def _string(self, t: Any) -> str:
        if not self._forbidden:
            spelling = self._spelling(t)
            if spelling is not None:
                return spelling
        prefix = "b" if isinstance(t.value, bytes) else (getattr(t, "kind", None) or "")
        plain = prefix + repr(t.value).removeprefix("b")
        if self._fits(plain):
            return plain
        for quote in _QUOTES:
            text = f"{prefix}{quote}{_escape(t.value, quote, raw_newlines=len(quote) == 3)}{quote}"
            if self._fits(text):
                return text
        if NESTS_FSTRINGS:
            return plain
        raise _CannotNest

    def docstring(self, t: Any) -> str:
        """A string that stands alone at the start of a block: as in the source, else in triple quotes."""
        spelling = self._spelling(t)
        if spelling is not None:
            return spelling
        return f'{getattr(t, "kind", None) or ""}"""{_escape(t.value, chr(34) * 3, raw_newlines=True)}"""'

    def _segment(self, t: Any) -> str:
        """The source text at the position of a node; "" if unknown."""
        first, last = getattr(t, "lineno", None), getattr(t, "end_lineno", None)
        if not self._rows or not first or not last or not first <= last <= len(self._rows):
            return ""
        rows = [row.encode() for row in self._rows[first - 1 : last]]
        rows[-1] = rows[-1][: t.end_col_offset]
        rows[0] = rows[0][t.col_offset :]
        return b"\n".join(rows).decode(errors="replace")

    def _spelling(self, t: Any) -> str | None:
        """The literal as spelled in the source, if the text there has the same value."""
        text = self._segment(t)
        if not _LITERAL.fullmatch(text):
            return None
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError, MemoryError):
            return None
        same = type(value) is type(t.value) and value == t.value
        prefixed = (getattr(t, "kind", None) == "u") == text.startswith("u")
        return text if same and (prefixed or not isinstance(value, str)) else None

    # ---- f-strings ----

    def _FormattedValue(self, t: Any) -> Printed:
        return self._JoinedStr(ast.JoinedStr([t]))

    def _TemplateStr(self, t: Any) -> Printed:
        return self._JoinedStr(t, "t")

    def _JoinedStr(self, t: Any, prefix: str = "f") -> Printed:
        own = _FSTRING_START.match(self._segment(t))
        for quote in _QUOTES if own is None else (own[1], *_QUOTES):
            try:
                with self._inside(quote):
                    text = f"{prefix}{quote}{self._fstring(t, quote)}{quote}"
            except _CannotNest:
                continue
            if self._fits(text):
                return text, P.ATOM
        if NESTS_FSTRINGS:  # every quote is taken, but here it may be used again
            with self._inside():
                return f'{prefix}"{self._fstring(t, chr(34))}"', P.ATOM
        if self._forbidden:
            raise _CannotNest
        return self._format_call(t), P.ATOM

    @contextmanager
    def _inside(self, *quotes: str) -> Iterator[None]:
        """Print the inside of an f-string with these quotes; without any, of one that may contain every quote."""
        outer = self._forbidden
        self._forbidden = [*outer, *quotes] if quotes else []
        try:
            yield
        finally:
            self._forbidden = outer

    def _fits(self, text: str) -> bool:
        """Whether `text` can stand in the f-strings around it, on every Python version."""
        if not self._forbidden:
            return True
        return not any(q in text for q in self._forbidden) and "\\" not in text and (
            "\n" not in text or all(len(q) == 3 for q in self._forbidden)
        )

    def _fstring(self, t: Any, quote: str) -> str:
        parts = []
        for value in t.values:
            if _kind(value) in ("FormattedValue", "Interpolation"):
                parts.append(self._field(value, quote))
            elif _kind(value) == "Constant":
                text = _escape(value.value, quote, raw_newlines=len(quote) == 3)
                parts.append(text.replace("{", "{{").replace("}", "}}"))
            else:
                parts.append(self._fstring(value, quote))
        return "".join(parts)

    def _field(self, t: Any, quote: str) -> str:
        expression = self.text(t.value, P.OR)  # a bare lambda or := would end at its colon
        if self._forbidden and not self._fits(expression):
            raise _CannotNest
        text = "{" + (" " if expression.startswith("{") else "") + expression
        if t.conversion != -1:
            text += "!" + chr(t.conversion)
        if t.format_spec is not None:
            text += ":" + self._fstring(t.format_spec, quote)
        return text + "}"

    def _format_call(self, t: Any) -> str:
        """The same string by `str.format`, for one that no f-string of this Python version can express."""
        fields: list[Any] = []

        def template(node: Any) -> str:
            text = ""
            for value in node.values:
                if _kind(value) == "Constant":
                    text += value.value.replace("{", "{{").replace("}", "}}")
                    continue
                fields.append(value.value)
                conversion = "" if value.conversion == -1 else "!" + chr(value.conversion)
                spec = "" if value.format_spec is None else ":" + template(value.format_spec)
                text += "{" + conversion + spec + "}"
            return text

        form = repr(template(t))
        return f"{form}.format({self._join(fields)})"


class _CannotNest(Exception):
    """No quote characters remain for a string inside an f-string."""


_LITERAL = re.compile(
    r"""(?isx) [0-9.][0-9a-z_.]*(?:[eE][+-]?[0-9_]+j?)?   # a number
    | (?:[rbu]|br|rb)?(?:
        "{3}(?: [^"\\] | \\. | "(?!"") )*"{3} | '{3}(?: [^'\\] | \\. | '(?!'') )*'{3}
      | "(?: [^"\\\n] | \\. )*" | '(?: [^'\\\n] | \\. )*' )"""
)
_FSTRING_START = re.compile(r"""(?i:rf|fr|f|rt|tr|t)('{3}|"{3}|'|")""")
_QUOTE_OR_ESCAPE = re.compile(r"\\.|['\"]", re.S)


def _escape(value: str | bytes, quote: str, *, raw_newlines: bool) -> str:
    """The inside of a literal of `value` in `quote`s; with `raw_newlines`, line ends are kept as they are."""
    if isinstance(value, bytes):
        body = repr(b'"' + value)[3:-1]
    else:
        body = repr('"' + value)[2:-1]  # the quote makes repr choose single quotes, and escape those inside
    mark = quote[0]

    def unquote(match: re.Match[str]) -> str:
        found = match.group()
        return "\n" if found == "\\n" and raw_newlines else "'" if found == "\\'" else found

    def requote(match: re.Match[str]) -> str:
        found, following = match.group(), match.string[match.end() : match.end() + 1]
        closes = found == mark and (len(quote) == 1 or following in (mark, ""))
        return "\\" + found if closes else found

    return _QUOTE_OR_ESCAPE.sub(requote, _QUOTE_OR_ESCAPE.sub(unquote, body))

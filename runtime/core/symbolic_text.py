"""Text with values that are known only when the graph runs.

Formatting a graph tensor (f"{t:.2f}", str(t), str([t])) gives a placeholder that says what it stands for. Whoever
stages an effect with a message, such as `print`, an assertion or a `raise`, takes the text apart: `Template.parse`
gives the fixed pieces and the graph values, and `Template.render` puts their arrays in.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from types import CodeType, FrameType
from typing import Any, ClassVar, Final, NoReturn, SupportsIndex, TypeVar
from weakref import ref

from autograph.backend import Backend, ambient, is_converted, until_gone
from runtime.core.graph import Value, staging_error
from runtime.core.types import ListType, TensorShape, TensorType, dtype_of

__all__ = [
    "COMPARISONS", "ITEMS", "REPR", "Hole", "StagedText", "Template", "describe", "is_for_text", "makes_text",
    "optional", "placeholder", "repr_of", "show", "show_tensor", "staged", "text_of",
]

_numbers: Final = count(1)
_number: Final[dict[int, tuple[int, ref[Value]]]] = {}  # by the id of the value
_value: Final[dict[int, ref[Value]]] = {}
_VALUE: Final = r'(?:Tensor|List|Text)\("[^"]*", [^"]*?id=(\d+)\)'
_PLACEHOLDER: Final = re.compile(rf"(\{{)?{_VALUE}(?: if {_VALUE})?(?(1):([^{{}}]*)\}})")

Show = Callable[[Any, str], str]
F = TypeVar("F", bound=Callable[..., Any])


COMPARISONS: Final[dict[str, Callable[[str, str], Any]]] = {}
"""What `==` and `!=` of text with placeholders give; `runtime.ops.strings` fills it."""


class StagedText(str):
    """Text with placeholders in it. What would look into it, as Python does while the graph is made, is an error."""

    __slots__ = ()

    __autograph__: ClassVar[Backend | None] = None  # set by `runtime.staging.backend`

    def __str__(self) -> str:
        self._check_graph()
        return self

    def _check_graph(self) -> None:
        """StagingError where no graph is made: there this is in the place of the text."""
        if ambient.backend is None:
            raise _kept()

    def __repr__(self) -> str:
        self._check_graph()
        template, values = Template.parse(self)
        if any(hole.spec in _TEXTS for hole in template.holes):
            if len(template.holes) > 1 or any(template.pieces):
                self.refuse()  # the quotes depend on it
            return StagedText(f"{{{str.__str__(text_of(values[0], 'text'))}:!r}}")
        quote = repr("".join(template.pieces))[0]
        other = "'" if quote == '"' else '"'
        quoted = [repr(piece + other)[1:-2] for piece in template.pieces]  # each in the quotes of the whole
        made = Template(tuple(quoted), template.holes).again(iter(values))
        return StagedText(f"{quote}{str.__str__(made)}{quote}")

    def __format__(self, spec: str) -> str:
        self._check_graph()
        if not spec:
            return self
        raise staging_error(
            "how long text with the value of a tensor in it is, is known only when the graph runs, so it cannot be "
            f"formatted by {spec!r}", "Format the tensor itself, such as f'{x:>8}'.")

    def __add__(self, other: str) -> str:
        return StagedText(super().__add__(other))

    def __radd__(self, other: Any) -> str:
        return StagedText(other + str.__str__(self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> str:
        return StagedText(super().__mul__(times))

    __rmul__ = __mul__

    def __rmod__(self, other: Any) -> str:
        return StagedText(str.__mod__(other, str.__str__(self))) if isinstance(other, str) else NotImplemented

    def join(self, texts: Iterable[str], /) -> str:
        return StagedText(super().join(texts))

    def __bool__(self) -> bool:
        return not self.may_be_empty() or self.refuse()

    def may_be_empty(self) -> bool:
        """Whether only the graph knows if there is any text."""
        template, _ = Template.parse(self)
        return not any(template.pieces) and all(hole.spec == _TEXT for hole in template.holes)

    def __eq__(self, other: object) -> Any:
        self._check_graph()
        return other is self or (isinstance(other, str) and COMPARISONS["equal"](self, other))

    def __ne__(self, other: object) -> Any:
        self._check_graph()
        return other is not self and (not isinstance(other, str) or COMPARISONS["not_equal"](self, other))

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """StagingError, with the user's line."""
        self._check_graph()
        if 'Text("error"' in str.__str__(self):
            raise staging_error(
                "the text of an error that a graph raises is known only when it runs: it can be printed, returned, "
                "compared, and be part of other text, but not be looked into",
                "Give the error a number or tensor as an argument, and look at `error.args`; or catch it around the "
                "call of the traced function.")
        raise staging_error(
            "text with the value of a tensor in it is known only when the graph runs: it can be printed, returned, "
            "compared, and be part of other text, but not be looked into, or be a new key",
            "Ask the tensor itself, such as `x == 1`; look the text up in a dict that has all its keys before.")


StagedText.__name__ = "str"  # as messages call it
for _name in {*dir(str)} - {*dir(object), *vars(StagedText), "__getnewargs__"} | {
        "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__int__", "__float__", "__complex__"}:
    setattr(StagedText, _name, StagedText.refuse)


def _kept() -> Exception:
    return staging_error(
        "this text has the value of a tensor of a function that was traced: it was kept somewhere outside of it, where "
        "there is no such value", "Return the text, or print it in the function.")


_makers: Final[set[CodeType]] = set()
_METHODS: Final = frozenset({"__repr__", "__str__", "__format__", "wrapper"})
"""Methods that ask the parts of an object for their text; the last is that of `reprlib.recursive_repr`."""


def makes_text(fn: F) -> F:
    """Mark a function that asks for the text of values on behalf of converted code."""
    _makers.add(fn.__code__)
    return fn


def is_for_text(frame: FrameType | None) -> bool:
    """Whether the frame that asks a tensor for its `repr` puts it into a text of the user's: else it is a message or
    debugger, which are to see what the tensor is in the graph."""
    while frame is not None and frame.f_code.co_name in _METHODS:
        frame = frame.f_back
    return frame is not None and (frame.f_code in _makers or is_converted(frame.f_code))


def staged(text: str) -> str:
    """`text` as what may not be looked into, if there are placeholders in it."""
    return StagedText(text) if type(text) is str and "id=" in text and _PLACEHOLDER.search(text) else text


def describe(value: Value, name: str) -> StagedText:
    """The placeholder for the text that `str` gives of the value."""
    return StagedText(_described(value, name))


def _valued(number: int) -> Value | None:
    """The value that a placeholder has the number of, if it is still there."""
    reference = _value.get(number)
    return None if reference is None else reference()


def _described(value: Value, name: str) -> str:
    known = _number.get(id(value))
    number = next(_numbers) if known is None else known[0]
    if known is None:
        _value[number] = until_gone(value, _value, number)
        _number[id(value)] = number, until_gone(value, _number, id(value))
    if isinstance(value.type, ListType):
        return f'List("{name}", id={number})'
    return f'Tensor("{name}", shape={TensorShape(value.type.shape)}, dtype={value.type.dtype.name}, id={number})'


def text_of(value: Value, name: str) -> StagedText:
    """The placeholder for the text that the value holds in UTF-8."""
    return StagedText(_described(value, name).replace("Tensor(", "Text(", 1))


def placeholder(value: Value, name: str, spec: str = "", present: Value | None = None) -> StagedText:
    """The placeholder for `format(x, spec)` of the value; of None where the bool scalar `present` is false."""
    return StagedText(f"{{{_described(value, name)}{_condition(present)}:{spec}}}")


def optional(value: Value, name: str, present: Value) -> StagedText:
    """The placeholder for `str` of the value, or of None where the bool scalar `present` is false."""
    return StagedText(_described(value, name) + _condition(present))


def _condition(present: Value | None) -> str:
    return "" if present is None else f" if {_described(present, 'present')}"


def show(x: Any, spec: str = "") -> str:
    """An array, or the sequence of arrays of a list, as Python formats the plain value.

    The spec `!r` is for elements of containers: arrays by `repr`.
    """
    if not hasattr(x, "dtype"):
        items = ", ".join([show(item, "!r") for item in x])
        if spec == ITEMS:
            return items
        text = f"[{items}]"
        return format(text, "" if spec == "!r" else spec)
    if x.ndim:
        return repr(x) if spec == "!r" else format(x, spec)
    return format(_python_number(x[()], spec), "" if spec == "!r" else spec)


def _python_number(x: Any, spec: str) -> Any:
    """A scalar as a Python number, which shows no more digits than its dtype has."""
    if x.dtype.kind not in "fc" or spec[-1:] in _FLOAT_TYPES:
        return x.item()
    return complex(float(str(x.real)), float(str(x.imag))) if x.dtype.kind == "c" else float(str(x))


def repr_of(x: Any) -> str:
    """An array as `repr` shows a tensor."""
    text = str(x) if not x.ndim else repr(x)
    return f"<rt.Tensor: shape={x.shape}, dtype={dtype_of(x).name}, numpy={chr(10) if x.ndim > 1 else ''}{text}>"


_TEXT: Final = "!text"
_QUOTED: Final = "!quoted"
_TEXTS: Final = (_TEXT, _QUOTED)
"""The specs for a text, and for `repr` of it."""
ITEMS: Final = "!items"
"""The spec for the items of a list, without the brackets around them."""
REPR: Final = "!repr"
"""The spec for `repr` of a tensor."""
_FLOAT_TYPES: Final = tuple("eEfFgGn%")


def show_tensor(x: Any) -> str:
    """An array as `str` shows a tensor; a list as Python shows the plain values."""
    if not hasattr(x, "dtype"):
        return show(x)
    return f"rt.Tensor({x!s}, shape={x.shape}, dtype={dtype_of(x).name})"


@dataclass(frozen=True)
class Hole:
    """Where an operand's text goes: by `format` with `spec`, or as `str` if that is None.

    `optional`: the next operand tells whether there is a value; else it is None.
    """

    spec: str | None
    optional: bool = False

    def text(self, arrays: Iterator[Any], show: Show) -> str:
        array = next(arrays)
        if self.spec in _TEXTS:
            text = bytes(array).decode()
            return text if self.spec == _TEXT else repr(text)
        if self.optional and not next(arrays):
            return format(None, "" if self.spec is None or self.spec == "!r" else self.spec)
        if self.spec == REPR:
            return repr_of(array)
        return show_tensor(array) if self.spec is None else show(array, self.spec)


@dataclass(frozen=True)
class Template:
    """Fixed pieces of text with a hole between any two."""

    pieces: tuple[str, ...]
    holes: tuple[Hole, ...] = ()

    @classmethod
    def parse(cls, text: str) -> tuple[Template, list[Value]]:
        """The text taken apart, and the operands for its holes."""
        given, text = text, str.__str__(text)  # a placeholder alone refuses to be looked into
        pieces = [""]
        holes: list[Hole] = []
        operands: list[Value] = []
        end = 0
        for match in _PLACEHOLDER.finditer(text):
            values = [_valued(int(number)) for number in (match[2], match[3]) if number is not None]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                if isinstance(given, StagedText):
                    raise _kept()
                continue
            pieces[-1] += text[end:match.start()]
            pieces.append("")
            type, spec = known[0].type, match[4]
            if match[0].lstrip("{").startswith("Text"):
                spec = _TEXT if spec is None else _QUOTED
            elif spec in (None, REPR) and isinstance(type, TensorType) and type.weak and not type.shape:
                spec = ""  # it stands for a Python number
            holes.append(Hole(spec, len(known) > 1))
            operands += known
            end = match.end()
        pieces[-1] += text[end:]
        return cls(tuple(pieces), tuple(holes)), operands

    @property
    def is_text_alone(self) -> bool:
        """Whether it is the text that one value holds, and nothing else."""
        return self.pieces == ("", "") and self.holes[0].spec == _TEXT

    def render(self, arrays: Iterable[Any], show: Show = show) -> str:
        """The text with the values of its holes."""
        rest = iter(arrays)
        parts = [self.pieces[0]]
        for hole, piece in zip(self.holes, self.pieces[1:], strict=True):
            parts += hole.text(rest, show), piece
        return "".join(parts)

    def again(self, values: Iterator[Value]) -> str:
        """The text with placeholders for other values in its holes."""
        parts = [self.pieces[0]]
        for hole, piece in zip(self.holes, self.pieces[1:], strict=True):
            value = next(values)
            present = next(values) if hole.optional else None
            if hole.spec in _TEXTS:
                text = str.__str__(text_of(value, "text"))
                parts += text if hole.spec == _TEXT else f"{{{text}:!r}}", piece
                continue
            text = _described(value, "text") + _condition(present)
            parts += text if hole.spec is None else f"{{{text}:{hole.spec}}}", piece
        return staged("".join(parts))

    def __repr__(self) -> str:
        holes = [f"{{:{hole.spec}}}" if hole.spec else "{}" for hole in self.holes]
        return repr("".join(a + b for a, b in zip(self.pieces, [*holes, ""], strict=True)))

"""Text with values that are known only when the graph runs.

`Text` is a sequence of fixed pieces with formatted values of the graph in between. It is made by the formatting
operators of converted code (`runtime.core.formatting`). An effect with a message, such as `print`, an assertion or a
`raise`, takes its template and values; `Template.render` inserts the arrays.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import index
from typing import Any, Final, NoReturn

from autograph.backend import ambient
from runtime.core.array_mode import note_class_asked
from runtime.core.errors import Message
from runtime.core.graph import Value
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.types import TensorType, dtype_of

__all__ = [
    "ITEM", "ITEMS", "LIST", "QUOTED", "REPR", "SPECS", "STR", "TEXT", "Hole", "Template", "Text", "concat_text",
    "join", "repr_of", "show", "show_tensor", "split",
]

Show = Callable[[Any, str], str]
STR: Final = "!str"
"""The spec for `str` of a tensor."""
REPR: Final = "!repr"
"""The spec for `repr` of a tensor."""
ARRAY: Final = "!array"
"""The spec for `repr` of an array or a scalar of NumPy."""
TEXT: Final = "!text"
QUOTED: Final = "!quoted"
_TEXTS: Final = (TEXT, QUOTED)
"""The specs for text in UTF-8, and for its `repr`."""
ITEM: Final = "!r"
"""The spec for an item of a container: a scalar as Python's number, an array by `repr`."""
ITEMS: Final = "!items"
"""The spec for the items of a list, without the brackets around them."""
LIST: Final = "!list"
"""The spec for the array of the items of a list."""
SPECS: Final = frozenset({STR, REPR, ARRAY, ITEM, ITEMS, LIST, *_TEXTS})
"""No format spec of a user equals one of these."""
_FLOAT_TYPES: Final = tuple("eEfFgGn%")


# Arrays

def show(x: Any, spec: str = "") -> str:
    """Formats an array, or the sequence of arrays of a list, as Python formats the corresponding value.

    The spec `!r` is for elements of containers: arrays by `repr`.
    """
    if not hasattr(x, "dtype"):
        items = ", ".join([show(item, ITEM) for item in x])
        if spec == ITEMS:
            return items
        text = f"[{items}]"
        return format(text, "" if spec == "!r" else spec)
    if x.ndim and spec == LIST:
        return show([*x], ITEM)
    if x.ndim:
        return repr(x) if spec == "!r" else format(x, spec)
    return format(_python_number(x[()], spec), "" if spec == "!r" else spec)


def _python_number(x: Any, spec: str) -> Any:
    """A scalar as a Python number, with only the digits of its dtype's precision."""
    if type(x) is bytes:
        return str(x)
    if x.dtype.kind not in "fc" or spec[-1:] in _FLOAT_TYPES:
        return x.item()
    return complex(float(str(x.real)), float(str(x.imag))) if x.dtype.kind == "c" else float(str(x))


def repr_of(x: Any) -> str:
    """The text of an array in `repr` of a tensor."""
    text = str(x) if not x.ndim else repr(x)
    return f"<rt.Tensor: shape={x.shape}, dtype={dtype_of(x).name}, numpy={chr(10) if x.ndim > 1 else ''}{text}>"


def show_tensor(x: Any) -> str:
    """The text of an array in `str` of a tensor; for a list, Python's text of the corresponding values."""
    if not hasattr(x, "dtype"):
        return show(x)
    return f"rt.Tensor({x!s}, shape={x.shape}, dtype={dtype_of(x).name})"


# Text

@dataclass(frozen=True)
class Hole:
    """A place for an operand's text, formatted by `format` with `spec`, or as the constants above say.

    `optional`: the next operand says whether there is a value; if not, it is None.
    """

    spec: str
    optional: bool = False

    def text(self, arrays: Iterator[Any], show: Show) -> str:
        array = next(arrays)
        if self.spec in _TEXTS:
            text = bytes(array).decode()
            return text if self.spec == TEXT else repr(text)
        if self.optional and not next(arrays):
            return format(None, "" if self.spec in (STR, REPR, ARRAY, "!r") else self.spec)
        if self.spec == REPR:
            return repr_of(array)
        if self.spec == ARRAY:
            return repr(array[()])
        return show_tensor(array) if self.spec == STR else show(array, self.spec)


@dataclass(frozen=True)
class Template:
    """Fixed pieces of text with a hole between any two."""

    pieces: tuple[str, ...]
    holes: tuple[Hole, ...] = ()

    @property
    def is_text_alone(self) -> bool:
        """Whether it is nothing but the text of one value."""
        return self.pieces == ("", "") and self.holes[0].spec == TEXT

    def render(self, arrays: Iterable[Any], show: Show = show) -> str:
        """The text with the values of its holes."""
        rest = iter(arrays)
        parts = [self.pieces[0]]
        for hole, piece in zip(self.holes, self.pieces[1:], strict=True):
            parts += hole.text(rest, show), piece
        return "".join(parts)

    def __repr__(self) -> str:
        holes = ["{}" if hole.spec in ("", STR) else f"{{:{hole.spec}}}" for hole in self.holes]
        return repr("".join(a + b for a, b in zip(self.pieces, [*holes, ""], strict=True)))


class Text(Message):
    """Text with values of the graph being traced. Operations that need its characters raise an error."""

    __slots__ = ("template", "values")


    def __init__(self, template: Template, values: Iterable[Any]) -> None:
        self.template = template
        self.values: tuple[Any, ...] = tuple(values)

    @classmethod
    def of(cls, value: Value, spec: str = "", present: Value | None = None) -> Text:
        """`format(x, spec)` for a value, or for None if the bool scalar `present` is false."""
        type = value.type
        if spec in (STR, REPR) and isinstance(type, TensorType):
            if type.weak and not type.shape:
                spec = ""  # it is a Python number
            else:
                note_class_asked()
                if type.of_arrays:
                    spec = "" if spec == STR else ARRAY
        hole = Hole(spec, present is not None)
        return cls(Template(("", ""), (hole,)), (value,) if present is None else (value, present))

    @classmethod
    def of_utf8(cls, value: Value) -> Text:
        """The text that is the value itself, encoded in UTF-8."""
        return cls.of(value, TEXT)

    def same(self, other: Any) -> bool:
        """Whether the other is text with the same pieces and the same graph values."""
        return isinstance(other, Text) and self.template == other.template and len(self.values) == len(
            other.values) and all(a is b for a, b in zip(self.values, other.values, strict=True))

    @property
    def may_be_empty(self) -> bool:
        """Whether the text may be empty, depending on the run of the graph."""
        return not any(self.template.pieces) and all(hole.spec == TEXT for hole in self.template.holes)

    def __text__(self, spec: str) -> Any:
        """The result of `format` for the text: for STR the text itself, for REPR in quotes."""
        self._check_graph()
        if spec in (STR, ""):
            return self
        return self._quoted() if spec in (REPR, ITEM) else OPERATIONS.call_text("__format__", self, spec)

    def _quoted(self) -> Any:
        template = self.template
        if template.is_text_alone:
            return Text(Template(template.pieces, (Hole(QUOTED),)), self.values)
        if any(hole.spec in _TEXTS for hole in template.holes):
            return OPERATIONS.call_text("repr", self)  # the choice of quotes depends on the text
        quote = repr("".join(template.pieces))[0]
        other = "'" if quote == '"' else '"'
        first, *rest = [repr(piece + other)[1:-2] for piece in template.pieces]  # each in the same quotes
        rest[-1] += quote
        return Text(Template((quote + first, *rest), template.holes), self.values)

    def ascii(self) -> Any:
        """The result of `ascii` for an object with this text as its `repr`."""
        if any(hole.spec in _TEXTS for hole in self.template.holes):
            return OPERATIONS.call_text("ascii", self)
        pieces = tuple([piece.encode("ascii", "backslashreplace").decode() for piece in self.template.pieces])
        return Text(Template(pieces, self.template.holes), self.values)

    def __add__(self, other: Any) -> Any:
        return concat_text((self, other)) if isinstance(other, (str, Text)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return concat_text((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        repeated = OPERATIONS.repeat(self, times)
        return concat_text([self] * index(times)) if repeated is NotImplemented else repeated

    __rmul__ = __mul__

    def join(self, texts: Iterable[Any], /) -> Any:
        return OPERATIONS.join_text(self, texts)

    def __bool__(self) -> bool:
        return not self.may_be_empty or self.refuse()

    def __iterated__(self) -> Any:
        """The characters, as a staged iterable."""
        self._check_graph()
        return OPERATIONS.characters(self)

    def __iterable__(self) -> Any:
        return self.__iterated__().__iterable__()

    def __getitem__(self, index: Any) -> Any:
        self._check_graph()
        return OPERATIONS.text_item(self, index)

    def __eq__(self, other: object) -> Any:
        self._check_graph()
        return other is self or (isinstance(other, (str, Text)) and OPERATIONS.equal_text(self, other))

    def __ne__(self, other: object) -> Any:
        self._check_graph()
        return other is not self and (not isinstance(other, (str, Text)) or OPERATIONS.unequal_text(self, other))

    def __lt__(self, other: Any) -> Any:
        return self._order(other, lambda: OPERATIONS.less_text(self, other))

    def __gt__(self, other: Any) -> Any:
        return self._order(other, lambda: OPERATIONS.less_text(other, self))

    def __le__(self, other: Any) -> Any:
        return self._order(other, lambda: OPERATIONS.invert(OPERATIONS.less_text(other, self)))

    def __ge__(self, other: Any) -> Any:
        return self._order(other, lambda: OPERATIONS.invert(OPERATIONS.less_text(self, other)))

    def _order(self, other: Any, compare: Callable[[], Any]) -> Any:
        self._check_graph()
        return compare() if isinstance(other, (str, Text)) else NotImplemented

    def __repr__(self) -> str:
        return f"<text with values of a graph: {self.template!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute {name!r}")

        def called(*args: Any, **kwargs: Any) -> Any:
            self._check_graph()
            return OPERATIONS.call_method_of_text(self, name, args, kwargs)

        return called

    def __deepcopy__(self, memo: dict[int, Any]) -> Text:
        return self

    def _check_graph(self) -> None:
        """StagingError if no graph is being traced: there the text is only a placeholder."""
        if ambient.backend is None:
            raise staging_error(
                "this text has the value of a tensor of a function that was traced: it was kept somewhere outside of "
                "it, where there is no such value", "Return the text, or print it in the function.")

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        """StagingError, with the user's line."""
        self._check_graph()
        if any(value.node is not None and value.node.op.name == "error_text" for value in self.values):
            raise staging_error(
                "the text of an error that a graph raises is known only when it runs: it can be printed, returned, "
                "compared, and be part of other text, but not be looked into",
                "Give the error a number or tensor as an argument, and look at `error.args`; or catch it around the "
                "call of the traced function.")
        raise staging_error(
            "text with the value of a tensor in it is known only when the graph runs, and is needed here while the "
            "function is traced",
            "Use methods of text, int(), float(), a loop over its characters or a dict, which the graph computes; or "
            "ask the tensor itself, such as `x == 1`.")

    __str__ = __format__ = __hash__ = refuse
    __len__ = __iter__ = __contains__ = refuse
    __int__ = __float__ = __complex__ = __mod__ = refuse


def concat_text(parts: Iterable[Any]) -> Any:
    """The concatenation of texts: a `str` if none has graph values. TypeError for other types."""
    pieces, holes, values = [""], list[Hole](), list[Any]()
    for part in parts:
        if isinstance(part, Text):
            first, *rest = part.template.pieces
            pieces[-1] += first
            pieces += rest
            holes += part.template.holes
            values += part.values
        else:
            pieces[-1] += part
    return Text(Template(tuple(pieces), tuple(holes)), values) if holes else pieces[0]


def join(separator: Any, texts: Iterable[Any]) -> Any:
    """`separator.join(texts)`."""
    texts = [*texts]
    if isinstance(separator, str) and not any(isinstance(text, Text) for text in texts):
        return separator.join(texts)
    for place, text in enumerate(texts):
        if not isinstance(text, (str, Text)):
            raise TypeError(f"sequence item {place}: expected str instance, {type(text).__name__} found")
    return concat_text([part for text in texts for part in (separator, text)][1:])


def split(text: Any) -> tuple[Template, tuple[Any, ...]]:
    """The template of a text, and its values, the operands for the holes."""
    return (text.template, text.values) if isinstance(text, Text) else (Template((text,)), ())

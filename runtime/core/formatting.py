"""`str`, `repr`, `format` and the like in a traced function: the result is a `Text` if it contains tensors.

Python's C code requires a `str` from the methods that return the text of an object. So containers are formatted here,
as their own `__repr__` does, and the user's methods are called in their converted form.
"""
from __future__ import annotations

import dataclasses
import re
import string
import threading
from collections import OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count, islice
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from autograph.backend import has_staged_items, of_trace, operators
from runtime.core.operations import OPERATIONS
from runtime.core.text import ITEM, REPR, SPECS, STR, Text, concat_text, join

__all__ = [
    "ascii_of", "deque_text", "format_map", "formatted", "method_text", "of_graph", "percent", "replaced", "repr_of",
    "str_of", "translated",
]

_ATOMS: Final = frozenset({bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type, range})
"""Types whose formatting is left to Python."""


class _Around(threading.local):
    """The objects whose `repr` is being computed, to detect cycles."""

    ids: frozenset[int] = frozenset()


_around: Final = of_trace(_Around())


def str_of(value: Any) -> Any:
    """`str(value)`."""
    kind = type(value)
    if kind is str:
        return value
    return str(value) if kind in _ATOMS else _by("__str__", value, STR, str)


def repr_of(value: Any) -> Any:
    """`repr(value)`."""
    return repr(value) if type(value) in _ATOMS else _by("__repr__", value, REPR, repr)


def ascii_of(value: Any) -> Any:
    """`ascii(value)`."""
    text = repr_of(value)
    return text.ascii() if isinstance(text, Text) else ascii(value)


def formatted(value: Any, spec: Any = "", /) -> Any:
    """`format(value, spec)`."""
    kind = type(value)
    if isinstance(spec, Text):
        spec.refuse()
    if kind in _ATOMS or not isinstance(spec, str):
        return format(value, spec)
    if spec in SPECS:
        format(0, spec)  # raises if the spec is invalid in Python
    own = of_graph(value, spec)
    if own is not None:
        return own
    method: Any = kind.__format__
    if type(method) is FunctionType:
        return _checked(operators.call(method)(value, spec), "__format__")
    return str_of(value) if method is object.__format__ and not spec else format(value, spec)


def message_of(function: Callable[[Any], Any], sample: Any, value: Any) -> Any:
    """The message of the error that `function(sample)` raises in this version of Python, with `value` instead of
    `sample`."""
    try:
        function(sample)
    except Exception as error:
        before, shown, after = str(error).partition(repr(float(sample)))
        if not shown:
            return before
        own = of_graph(value, ITEM)
        return concat_text((before, repr_of(value) if own is None else own, after))
    raise AssertionError(f"{function}({sample}) raises no error")


def method_text(method: Any, value: Any, *spec: Any) -> Any:
    """The result of `__str__`, `__repr__` or `__format__` of a class written in C for the value."""
    if method is object.__format__ or method.__name__ == "__format__":
        return str_of(value) if method is object.__format__ and spec == ("",) else method(value, *spec)
    if method is object.__str__:
        return repr_of(value)
    writer = _WRITERS.get(method)
    return method(value) if writer is None else _guarded(writer, value)


def of_graph(value: Any, spec: str) -> Any:
    """The text of a placeholder for graph values; None for any other value."""
    own = getattr(type(value), "__text__", None)
    return None if own is None else own(value, spec)


def _by(name: str, value: Any, spec: str, python: Callable[[Any], str]) -> Any:
    own = of_graph(value, spec)
    if own is not None:
        return own
    kind = _class_of(value)
    method: Any = getattr(kind, name)
    if method is object.__str__:
        return _by("__repr__", value, REPR, repr)
    if type(method) is not FunctionType:
        writer = _WRITERS.get(method) if type(method) is _SLOT else None
        return python(value) if writer is None else _guarded(writer, value)
    inner = _unwrapped(method)
    writer = _writer_of(inner, kind, name)
    if writer is not None:
        return _guarded(writer, value)
    call: Callable[[Any], Any] = operators.call(inner)
    made = call(value) if inner is method else _guarded(call, value)
    return _checked(made, name)


def _class_of(value: Any) -> Any:
    """The class of an object; of those of a dataclass of which the graph chooses one, that."""
    kind = getattr(type(value), "__stands_for__", None)
    return kind if dataclasses.is_dataclass(kind) else type(value)


def _unwrapped(method: FunctionType) -> FunctionType:
    """The method wrapped by `reprlib.recursive_repr`, or by its equivalent for dataclasses."""
    if method.__globals__.get("__name__") not in ("reprlib", "dataclasses"):
        return method
    cells = [cell.cell_contents for cell in method.__closure__ or ()]
    return next((each for each in cells if type(each) is FunctionType), method)


def _checked(text: Any, name: str) -> Any:
    if not isinstance(text, (str, Text)):
        raise TypeError(f"{name} returned non-string (type {type(text).__name__})")
    return text


def _guarded(writer: Callable[[Any], Any], value: Any) -> Any:
    """The result of `writer`; for a value nested in itself, Python's placeholder."""
    before = _around.ids
    if id(value) in before:
        return next((text for kind, text in _IN_ITSELF.items() if isinstance(value, kind)), "...")
    try:
        _around.ids = before | {id(value)}
        return writer(value)
    finally:
        _around.ids = before


# Python's own classes

_IN_ITSELF: Final[dict[type, str]] = {
    list: "[...]", deque: "[...]", tuple: "(...)", dict: "{...}", SimpleNamespace: "namespace(...)",
    BaseException: "(...)"}


def _items(values: Iterable[Any]) -> Any:
    return join(", ", [repr_of(value) for value in values])


def _fields(pairs: Iterable[tuple[str, Any]]) -> Any:
    return join(", ", [concat_text((name, "=", repr_of(value))) for name, value in pairs])


def _list(x: Any) -> Any:
    return concat_text(("[", _items(list.__iter__(x)), "]"))


def _tuple(x: Any) -> Any:
    return concat_text(("(", _items(tuple.__iter__(x)), ",)" if tuple.__len__(x) == 1 else ")"))


def _dict(x: Any) -> Any:
    pairs = [concat_text((repr_of(key), ": ", repr_of(value))) for key, value in dict.items(x)
             ] if not has_staged_items(x) else [repr_of(dict.get(x, 0))]
    return concat_text(("{", join(", ", pairs), "}"))


def _set(x: Any) -> Any:
    name = type(x).__name__
    if not x:
        return f"{name}()"
    items = concat_text(("{", _items(x), "}"))
    return items if type(x) is set else concat_text((name, "(", items, ")"))


def deque_text(items: Any, x: Any) -> Any:
    """The text of a deque like `x` with the text `items` between its brackets."""
    length = "" if x.maxlen is None else f", maxlen={x.maxlen}"
    return concat_text((type(x).__name__, "([", items, "]", length, ")"))


def _deque(x: Any) -> Any:
    return deque_text(_items(x), x)


_SHOWS_DICT: Final = repr(OrderedDict(a=1)).endswith("})")
"""Whether an OrderedDict is formatted as a dict; before Python 3.12 it is formatted as pairs."""


def _ordered(x: Any) -> Any:
    if has_staged_items(x) and not _SHOWS_DICT:
        dict.__getitem__(x, 0).refuse()
    items = _dict(x) if _SHOWS_DICT else _list([*x.items()])
    return concat_text((type(x).__name__, "(", items if x else "", ")"))


def _defaulting(x: Any) -> Any:
    return concat_text((type(x).__name__, "(", repr_of(x.default_factory), ", ", _dict(x), ")"))


def _namespace(x: Any) -> Any:
    name = "namespace" if type(x) is SimpleNamespace else type(x).__name__
    return concat_text((name, "(", _fields(vars(x).items()), ")"))


def _view(x: Any) -> Any:
    return concat_text((type(x).__name__, "([", _items(x), "])"))


def _error(x: Any) -> Any:
    args = concat_text(("(", _items(x.args), ")"))
    return concat_text((type(x).__name__, args))


def _message(x: Any) -> Any:
    args = x.args
    return (str_of(args[0]) if len(args) == 1 else _tuple(args)) if args else ""


def _key(x: Any) -> Any:
    return repr_of(x.args[0]) if len(x.args) == 1 else _message(x)


_SLOT: Final = type(list.__repr__)
_WRITERS: Final[dict[Any, Callable[[Any], Any]]] = {
    list.__repr__: _list, tuple.__repr__: _tuple, dict.__repr__: _dict, set.__repr__: _set, frozenset.__repr__: _set,
    deque.__repr__: _deque, OrderedDict.__repr__: _ordered, defaultdict.__repr__: _defaulting,
    SimpleNamespace.__repr__: _namespace, BaseException.__repr__: _error, BaseException.__str__: _message,
    KeyError.__str__: _key, UserList.__repr__: lambda x: repr_of(x.data), UserDict.__repr__: lambda x: repr_of(x.data),
    **{view.__repr__: _view for view in map(type, ({}.keys(), {}.values(), {}.items()))},
}
"""By the method `__repr__` or `__str__` of a class: a function that computes its result."""


def _writer_of(method: FunctionType, kind: type, name: str) -> Callable[[Any], Any] | None:
    """A function that computes the result of a library's method, which does not convert; None for a user's method."""
    if method in _WRITERS:
        return _WRITERS[method]
    if name != "__repr__":
        return None
    owner = next(each for each in kind.__mro__ if name in vars(each))
    if dataclasses.is_dataclass(owner) and method.__code__.co_filename == "<string>":
        shown = [field.name for field in dataclasses.fields(owner) if field.repr]
        return lambda x: concat_text((kind.__qualname__, "(", _fields((name, getattr(x, name)) for name in shown), ")"))
    if issubclass(owner, tuple) and hasattr(owner, "_fields") and method.__globals__.get("__name__") == "collections":
        names: tuple[str, ...] = owner._fields
        return lambda x: concat_text((kind.__name__, "(", _fields(zip(names, tuple.__iter__(x))), ")"))
    return None


# Methods of `str`, and `%`

_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {"s": str_of, "r": repr_of, "a": ascii_of}
_FORMATTER: Final = string.Formatter()


def format_map(template: str, args: tuple[Any, ...], values: Mapping[str, Any]) -> Any:
    """`template.format(*args, **values)`, or without arguments `template.format_map(values)`."""
    return _filled(template, args, values, count())


def _filled(template: str, args: tuple[Any, ...], values: Mapping[str, Any], automatic: Iterator[int]) -> Any:
    parts: list[Any] = []
    for literal, name, spec, letter in string.Formatter().parse(template):
        parts.append(literal)
        if name is None:
            continue
        if name[:1] in ("", ".", "["):
            name = f"{next(automatic)}{name}"
        value, _ = _FORMATTER.get_field(name, args, values)
        if letter:
            value = _CONVERSIONS[letter](value)
        parts.append(formatted(value, _filled(spec or "", args, values, automatic)))
    return concat_text(parts)


_MISSING: Final = object()
_SPEC: Final = re.compile(r"%(?:\(([^()]*)\))?([#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?)[hlL]?(.)", re.DOTALL)


def percent(template: Any, values: Any) -> Any:
    """`template % values`, where `template` is text."""
    items = values if isinstance(values, tuple) else (values,)
    if isinstance(template, Text):
        template.refuse()
    if all(type(item) in _ATOMS for item in items):
        return template % values
    keyed = not isinstance(values, (tuple, str)) and hasattr(type(values), "__getitem__")
    rest, parts, end = iter(items), list[Any](), 0
    for match in _SPEC.finditer(template):
        key, width, kind = match.groups()
        parts.append(template[end:match.start()] % ())
        end = match.end()
        stars = tuple(islice(rest, width.count("*")))
        if kind == "%":
            parts.append(match[0] % stars)
            continue
        item = next(rest, _MISSING) if key is None else values[key] if keyed else _MISSING
        if item is _MISSING:
            raise TypeError(
                "not enough arguments for format string" if key is None else "format requires a mapping")
        text = _CONVERSIONS[kind](item) if kind in _CONVERSIONS else None
        if kind == "c" and _is_number_for("x", item):
            text = operators.call(chr)(item)
        if isinstance(text, Text):
            parts.append(text.__text__(_format_spec(width, stars, "s") or ""))
        elif _is_number_for(kind, item) and (spec := _format_spec(width, stars, kind)) is not None:
            parts.append(formatted(operators.call(int)(item) if kind in "diu" else item, spec))
        else:
            parts.append(f"%{width}{kind if text is None else 's'}" % (*stars, item if text is None else text))
    parts.append(template[end:] % ())
    if not keyed and [*rest]:
        raise TypeError("not all arguments converted during string formatting")
    return concat_text(parts)


def _is_number_for(kind: str, item: Any) -> bool:
    """Whether an item is a scalar of the graph that `format` can show as the conversion does."""
    if getattr(type(item), "__text__", None) is None or getattr(item, "ndim", None) != 0:
        return False
    return not item.dtype.is_complex and (kind in "diueEfFgG" or (kind in "oxX" and item.dtype.is_integer))


def _format_spec(width: str, stars: tuple[Any, ...], kind: str) -> str | None:
    """The spec of `format` that shows a value as a conversion of `%` does, whose flags, width and precision are in
    `width`, with `stars` for its `*`; None if there is none."""
    numbers = iter(stars)
    size, dot, precision = re.sub(r"\*", lambda _: str(next(numbers)), width).partition(".")
    flags = size[:len(size) - len(size.lstrip("#0- +"))]
    size = size[len(flags):]
    if kind == "s":
        flags = "-" if "-" in flags else ""
    elif kind in "diuoxX" and dot:
        return None
    is_padded = "0" in flags and "-" not in flags
    return "".join([
        "" if is_padded else "<" if "-" in flags else ">", "+" if "+" in flags else " " if " " in flags else "",
        "#" if "#" in flags and kind not in "diu" else "", "0" if is_padded else "", size,
        f".{precision or 0}" if dot else "", "d" if kind in "iu" else kind])


def replaced(text: str, old: Any, new: Any, count: int = -1) -> Any:
    """`text.replace(old, new, count)`."""
    if isinstance(old, Text) or not isinstance(count, int):
        return OPERATIONS.call_text("replace", text, old, new, count)
    if not isinstance(new, Text):
        return text.replace(old, new, count)
    if old:
        return join(new, text.split(old, count))
    count = len(text) + 1 if count < 0 else min(count, len(text) + 1)
    return join(new, [*["", *text][:count], text[max(count - 1, 0):]])


def translated(text: str, table: Any) -> Any:
    """`text.translate(table)`."""
    def one(letter: str) -> Any:
        try:
            found = table[ord(letter)]
        except LookupError:
            return letter
        return found if isinstance(found, Text) else letter.translate({ord(letter): found})

    return concat_text(map(one, text))

"""Messages of protocol buffers as objects, without the protobuf package, with its names for methods."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from runtime.core.protocol_buffers import bytes_field, fields

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Field", "Message", "MessageMap", "Messages", "message_of", "quoted"]


class Field(NamedTuple):
    """A field of messages: its number and name, and the class that holds its content: a `Message`, `Messages` or
    `MessageMap` of these, or (None) a plain list of values."""

    number: int
    name: str
    of: Any


class Message:
    """The base of messages. `FIELDS` are in the order of their numbers; each is an attribute.

    A message within a message is there from the beginning, and part of the result if it was given, or is not empty.
    """

    FIELDS: ClassVar[tuple[Field, ...]]

    def __init__(self, **contents: Any) -> None:
        self._given = {name for name, content in contents.items() if content is not None}
        for field in self.FIELDS:
            content = contents.get(field.name)
            if field.of is None:
                content = self._checked(() if content is None else content)
            elif content is None or not issubclass(field.of, Message):
                content = field.of(*() if content is None else (content,))
            self._set(field.name, content)

    # How a class holds its fields.

    def _set(self, name: str, content: Any) -> None:
        setattr(self, name, content)

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        """Plain values, as a list. TypeError or ValueError for others."""
        raise NotImplementedError

    def _packed(self, values: list[Any]) -> bytes:
        """A field of plain values."""
        raise NotImplementedError

    def _unpacked(self, data: int | bytes) -> Iterable[Any]:
        """The plain values in a field."""
        raise NotImplementedError

    def _text(self, value: Any) -> str:
        return str(value)

    def _present(self) -> Iterator[tuple[Field, Any]]:
        """The fields that are part of the message."""
        for field in self.FIELDS:
            content = getattr(self, field.name)
            is_there = bool(content) if not isinstance(content, Message) else (
                field.name in self._given or any(True for _ in content._present()))
            if is_there:
                yield field, content

    def _merge(self, field: Field, data: int | bytes) -> None:
        """Add the content of a field of another message."""
        if field.of is None:
            getattr(self, field.name).extend(self._unpacked(data))
            return
        self._given.add(field.name)
        getattr(self, field.name).MergeFromString(message_of(data))

    # Protobuf's methods.

    def SerializeToString(self) -> bytes:
        """The message as bytes. TypeError or ValueError for a value that does not fit."""
        return b"".join([
            bytes_field(field.number, content.SerializeToString()) if isinstance(content, Message)
            else content.data(field.number) if isinstance(content, (Messages, MessageMap))
            else self._packed(self._checked(content)) for field, content in self._present()])

    def ByteSize(self) -> int:
        return len(self.SerializeToString())

    def MergeFromString(self, data: bytes) -> int:
        """Add a serialized message: lists are joined, entries of maps replaced. Returns its size. ValueError if it is
        damaged."""
        known = {field.number: field for field in self.FIELDS}
        for number, content in fields(data):
            if number in known:
                self._merge(known[number], content)
        return len(data)

    def ParseFromString(self, data: bytes) -> int:
        """Replace the content by that of a serialized message; returns its size. ValueError if it is damaged."""
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """A serialized message. ValueError if it is damaged."""
        made = cls()
        made.MergeFromString(data)
        return made

    def MergeFrom(self, other: Self) -> None:
        """Add the content of a message of the same class: lists are joined, entries of maps replaced."""
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} takes the content of another, not of {other!r}")
        self.MergeFromString(other.SerializeToString())

    def CopyFrom(self, other: Self) -> None:
        """Replace the content by a copy of that of a message of the same class."""
        if other is not self:
            made = type(self)()
            made.MergeFrom(other)
            vars(self).update(vars(made))

    def Clear(self) -> None:
        vars(self).update(vars(type(self)()))

    def ClearField(self, name: str) -> None:
        self._field(name)
        self._set(name, getattr(type(self)(), name))
        self._given.discard(name)

    def HasField(self, name: str) -> bool:
        """Whether a message within this one is part of it. ValueError for another field."""
        if not isinstance(getattr(self, self._field(name).name), Message):
            raise ValueError(f'Field "{name}" of {type(self).__name__} is repeated, so it is always there')
        return any(field.name == name for field, _ in self._present())

    def _field(self, name: str) -> Field:
        for field in self.FIELDS:
            if field.name == name:
                return field
        raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and type(self) is type(other) and (
            self.SerializeToString() == other.SerializeToString())

    __hash__ = None  # type: ignore[assignment]

    def lines(self) -> list[str]:
        """Protobuf's text, by lines."""
        found = []
        for field, content in self._present():
            if isinstance(content, Message):
                found += _block(field.name, content.lines())
            elif isinstance(content, (Messages, MessageMap)):
                found += [line for lines in content.blocks() for line in _block(field.name, lines)]
            else:
                found += [f"{field.name}: {self._text(value)}" for value in content]
        return found

    def __repr__(self) -> str:
        return "".join([line + "\n" for line in self.lines()])


class Messages(list[Any]):
    """A repeated field of messages."""

    of: ClassVar[type[Message]]

    def add(self, **contents: Any) -> Any:
        """Append a new message, and return it."""
        self.append(self.of(**contents))
        return self[-1]

    def MergeFromString(self, data: bytes) -> None:
        self.append(self.of.FromString(data))

    def data(self, number: int) -> bytes:
        return b"".join([bytes_field(number, each.SerializeToString()) for each in self])

    def blocks(self) -> list[list[str]]:
        return [each.lines() for each in self]


class MessageMap(dict[str, Any]):
    """A field that maps names to messages; a name that is new gets an empty one."""

    of: ClassVar[type[Message]]

    def __init__(self, entries: Mapping[str, Any] | None = None) -> None:
        super().__init__(entries or {})

    def __missing__(self, name: str) -> Any:
        self[name] = made = self.of()
        return made

    def MergeFromString(self, data: bytes) -> None:
        parts = dict(fields(data))
        self[message_of(parts.get(1, b"")).decode()] = self.of.FromString(message_of(parts.get(2, b"")))

    def data(self, number: int) -> bytes:
        return b"".join([bytes_field(number, bytes_field(1, name.encode()) + bytes_field(2, each.SerializeToString()))
                         for name, each in sorted(self.items())])

    def blocks(self) -> list[list[str]]:
        return [[f"key: {quoted(name)}", *_block("value", each.lines())] for name, each in sorted(self.items())]


def message_of(x: int | bytes) -> bytes:
    """The bytes of a field. ValueError for a number."""
    if not isinstance(x, bytes):
        raise ValueError("a message has a number where a message belongs")
    return x


def _block(name: str, lines: list[str]) -> list[str]:
    return [f"{name} {{", *["  " + line for line in lines], "}"]


_ESCAPES: Final = {ord(c): "\\" + shown for c, shown in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)}


def quoted(x: str | bytes) -> str:
    """Text or bytes as protobuf's text shows them; only text keeps characters beyond ASCII."""
    if isinstance(x, str):
        return '"' + "".join([_shown(ord(c)) if ord(c) < 128 else c for c in x]) + '"'
    return '"' + "".join(map(_shown, x)) + '"'


def _shown(code: int) -> str:
    return _ESCAPES.get(code) or (chr(code) if 32 <= code < 127 else f"\\{code:03o}")

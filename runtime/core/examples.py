"""Examples (`tf.train.Example`), the messages in TFRecord files, without the protobuf package.

Format: `tensorflow/core/example/{example,feature}.proto`, whose fields have the numbers below.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from runtime.core.protocol_buffers import bytes_field, fields, varint, varints

__all__ = ["BytesList", "Example", "Feature", "Features", "FloatList", "Int64List"]


class _List:
    """Values of one kind."""

    number: ClassVar[int]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value = [self._checked(x) for x in value]

    def _checked(self, x: Any) -> Any:
        raise NotImplementedError

    def _data(self) -> bytes:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(value={self.value!r})"


class BytesList(_List):
    """`tf.train.BytesList`. TypeError for anything but bytes."""

    number = 1

    def _checked(self, x: Any) -> bytes:
        if not isinstance(x, bytes):
            raise TypeError(f"a BytesList holds bytes, not {x!r}: encode text, text.encode()")
        return x

    def _data(self) -> bytes:
        return b"".join([bytes_field(1, x) for x in self.value])


class FloatList(_List):
    """`tf.train.FloatList`, of float32."""

    number = 2

    def __init__(self, value: Iterable[Any] = ()) -> None:
        numbers = list(map(float, value))
        kind = f"<{len(numbers)}f"
        self.value = list(struct.unpack(kind, struct.pack(kind, *numbers)))

    def _data(self) -> bytes:
        return bytes_field(1, struct.pack(f"<{len(self.value)}f", *self.value)) if self.value else b""


class Int64List(_List):
    """`tf.train.Int64List`. TypeError for anything but ints, ValueError beyond 64 bits."""

    number = 3

    def _checked(self, x: Any) -> int:
        number = int(x.__index__()) if hasattr(x, "__index__") else None
        if number is None:
            raise TypeError(f"an Int64List holds ints, not {x!r}")
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"{number} does not fit int64")
        return number

    def _data(self) -> bytes:
        return bytes_field(1, b"".join(map(varint, self.value))) if self.value else b""


class Feature:
    """Values of one kind, for one name (`tf.train.Feature`)."""

    def __init__(
        self, bytes_list: BytesList | None = None, float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        provided: list[_List] = [x for x in (bytes_list, float_list, int64_list) if x is not None]
        if len(provided) > 1:
            raise ValueError("a Feature is of one kind: bytes_list, float_list or int64_list")
        self.kind: _List | None = provided[0] if provided else None
        self.bytes_list, self.float_list, self.int64_list = (
            bytes_list or BytesList(), float_list or FloatList(), int64_list or Int64List())

    def __repr__(self) -> str:
        return f"Feature({self.kind!r})"


class Features:
    """Features by their names (`tf.train.Features`)."""

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature = dict(feature or {})


class Example:
    """Features as one message (`tf.train.Example`)."""

    def __init__(self, features: Features | None = None) -> None:
        self.features = features or Features()

    def SerializeToString(self) -> bytes:  # protobuf's name
        """The serialized message, as `rt.io.parse_single_example` takes it."""
        entries = []
        for name, feature in sorted(self.features.feature.items()):
            kind = feature.kind
            value = b"" if kind is None else bytes_field(kind.number, kind._data())
            entries.append(bytes_field(1, bytes_field(1, name.encode()) + bytes_field(2, value)))
        return bytes_field(1, b"".join(entries))

    @classmethod
    def FromString(cls, data: bytes) -> Example:  # protobuf's name
        """The example parsed from a message. ValueError if it is damaged."""
        features: dict[str, Feature] = {}
        for number, group in fields(data):
            for inner, entry in fields(_message(group)) if number == 1 else ():
                parts = dict(fields(_message(entry))) if inner == 1 else {}
                if parts:
                    features[_message(parts.get(1, b"")).decode()] = _feature(_message(parts.get(2, b"")))
        return cls(Features(features))


def _message(x: int | bytes) -> bytes:
    if not isinstance(x, bytes):
        raise ValueError("a message has a number where a message belongs")
    return x


def _feature(data: bytes) -> Feature:
    feature = Feature()
    for number, found in fields(data):
        values = [x for field, x in fields(_message(found)) if field == 1]
        if number == 1:
            feature = Feature(bytes_list=BytesList(map(_message, values)))
        elif number == 2:
            packed = b"".join(map(_message, values))
            if len(packed) % 4:
                raise ValueError("a list of floats is damaged")
            feature = Feature(float_list=FloatList(struct.unpack(f"<{len(packed) // 4}f", packed)))
        elif number == 3:
            feature = Feature(int64_list=Int64List([
                n for x in values for n in (varints(x) if isinstance(x, bytes) else varints(varint(x)))]))
    return feature

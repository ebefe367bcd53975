"""Examples (`tf.train.Example`), the messages in TFRecord files, without the protobuf package.

Format: `tensorflow/core/example/{example,feature}.proto`, whose fields have the numbers below.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from runtime.core.messages import Field, Message, MessageMap, Messages, message_of, quoted
from runtime.core.protocol_buffers import bytes_field, varint, varints

__all__ = ["BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList", "Int64List",
           "SequenceExample"]


class _List(Message):
    """Values of one kind."""

    FIELDS = (Field(1, "value", None),)
    value: list[Any]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        super().__init__(value=value)


class BytesList(_List):
    """`tf.train.BytesList`. TypeError for anything but bytes."""

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        values = list(values)
        for x in values:
            if not isinstance(x, bytes):
                raise TypeError(f"a BytesList holds bytes, not {x!r}: encode text, text.encode()")
        return values

    def _packed(self, values: list[Any]) -> bytes:
        return b"".join([bytes_field(1, x) for x in values])

    def _unpacked(self, data: int | bytes) -> Iterable[Any]:
        return (message_of(data),)

    def _text(self, value: Any) -> str:
        return quoted(value)


class FloatList(_List):
    """`tf.train.FloatList`, of float32."""

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        numbers = list(map(float, values))
        kind = f"<{len(numbers)}f"
        return list(struct.unpack(kind, struct.pack(kind, *numbers)))

    def _packed(self, values: list[Any]) -> bytes:
        return bytes_field(1, struct.pack(f"<{len(values)}f", *values))

    def _unpacked(self, data: int | bytes) -> Iterable[Any]:
        packed = message_of(data)
        if len(packed) % 4:
            raise ValueError("a list of floats is damaged")
        return struct.unpack(f"<{len(packed) // 4}f", packed)

    def _text(self, value: Any) -> str:
        short = f"{value:.6g}"
        return short if self._checked([float(short)]) == [value] else f"{value:.9g}"


class Int64List(_List):
    """`tf.train.Int64List`. TypeError for anything but ints, ValueError beyond 64 bits."""

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        numbers = []
        for x in values:
            if not hasattr(x, "__index__"):
                raise TypeError(f"an Int64List holds ints, not {x!r}")
            numbers.append(number := int(x.__index__()))
            if not -(1 << 63) <= number < 1 << 63:
                raise ValueError(f"{number} does not fit int64")
        return numbers

    def _packed(self, values: list[Any]) -> bytes:
        return bytes_field(1, b"".join(map(varint, values)))

    def _unpacked(self, data: int | bytes) -> Iterable[Any]:
        return varints(data if isinstance(data, bytes) else varint(data))


class Feature(Message):
    """Values of one kind, for one name (`tf.train.Feature`): the list that was given, or changed last."""

    FIELDS = (Field(1, "bytes_list", BytesList), Field(2, "float_list", FloatList), Field(3, "int64_list", Int64List))

    def __init__(
        self, bytes_list: BytesList | None = None, float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        if sum(x is not None for x in (bytes_list, float_list, int64_list)) > 1:
            raise ValueError("a Feature is of one kind: bytes_list, float_list or int64_list")
        self._lists: dict[str, _List] = {}
        super().__init__(bytes_list=bytes_list, float_list=float_list, int64_list=int64_list)

    def _set(self, name: str, content: Any) -> None:
        self._lists[name] = content

    def _list(self, name: str) -> Any:
        self._choose(self.WhichOneof("kind"))  # before the caller changes the list
        return self._lists[name]

    def _choose(self, name: str | None) -> None:
        """Let this be the kind, and the other lists be empty."""
        self._given = set() if name is None else {name}
        for other, content in self._lists.items():
            if other != name:
                content.value.clear()

    @property
    def bytes_list(self) -> BytesList:
        return self._list("bytes_list")  # type: ignore[no-any-return]

    @property
    def float_list(self) -> FloatList:
        return self._list("float_list")  # type: ignore[no-any-return]

    @property
    def int64_list(self) -> Int64List:
        return self._list("int64_list")  # type: ignore[no-any-return]

    def WhichOneof(self, oneof_group: str) -> str | None:
        """The name of the list that the feature has, or None, for the group "kind". ValueError for another."""
        if oneof_group != "kind":
            raise ValueError(f'Protocol message Feature has no oneof "{oneof_group}" field.')
        changed = [name for name, content in self._lists.items() if content.value and name not in self._given]
        return changed[-1] if changed else next(iter(self._given), None)

    @property
    def kind(self) -> _List | None:
        """The list that it has."""
        name = self.WhichOneof("kind")
        return None if name is None else self._lists[name]

    def _present(self) -> Iterator[tuple[Field, Any]]:
        if (name := self.WhichOneof("kind")) is not None:
            yield self._field(name), self._lists[name]

    def _merge(self, field: Field, data: int | bytes) -> None:
        self._choose(field.name)
        super()._merge(field, data)


class _FeatureMap(MessageMap):
    of = Feature


class Features(Message):
    """Features by their names (`tf.train.Features`)."""

    FIELDS = (Field(1, "feature", _FeatureMap),)
    feature: MessageMap

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        super().__init__(feature=feature)


class Example(Message):
    """Features as one message (`tf.train.Example`), which `rt.io.parse_single_example` takes serialized."""

    FIELDS = (Field(1, "features", Features),)
    features: Features

    def __init__(self, features: Features | None = None) -> None:
        super().__init__(features=features)


class _FeatureSequence(Messages):
    of = Feature


class FeatureList(Message):
    """The features of one name, one for each step (`tf.train.FeatureList`)."""

    FIELDS = (Field(1, "feature", _FeatureSequence),)
    feature: Messages

    def __init__(self, feature: Iterable[Feature] | None = None) -> None:
        super().__init__(feature=feature)


class _FeatureListMap(MessageMap):
    of = FeatureList


class FeatureLists(Message):
    """Lists of features by their names (`tf.train.FeatureLists`)."""

    FIELDS = (Field(1, "feature_list", _FeatureListMap),)
    feature_list: MessageMap

    def __init__(self, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        super().__init__(feature_list=feature_list)


class SequenceExample(Message):
    """Features of a sequence and of its steps (`tf.train.SequenceExample`), which
    `rt.io.parse_single_sequence_example` takes serialized."""

    FIELDS = (Field(1, "context", Features), Field(2, "feature_lists", FeatureLists))
    context: Features
    feature_lists: FeatureLists

    def __init__(self, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        super().__init__(context=context, feature_lists=feature_lists)

"""Examples that differ in their values only: where these are in one of them, they are in the others.

Two messages of one length that agree in all bytes but those of values have the same fields in the same places: the
bytes of strings, of packed floats and of packed ints do not tell where anything is.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.core.protocol_buffers import places, varints

__all__ = ["FLOATS", "INTS", "STRINGS", "Layout", "Values", "layout_of"]

STRINGS, FLOATS, INTS = 1, 2, 3  # the fields of a feature that are its kinds
_FLOAT: Final = np.dtype("<f4")
Place = tuple[int, int]


class Values(NamedTuple):
    """Where the values of a feature are: each string, or all numbers."""

    kind: int
    places: tuple[Place, ...]

    def strings(self, data: bytes) -> list[bytes]:
        return [data[start:stop] for start, stop in self.places]

    def in_rows(self, rows: Any) -> Any:
        """Those of several messages, which are the rows of uint8[n, size]: an array [n, number of values]. None for
        ints of several bytes."""
        if self.kind == STRINGS:
            found = np.empty((len(rows), len(self.places)), object)
            for k, (start, stop) in enumerate(self.places):
                found[:, k] = [row.tobytes() for row in rows[:, start:stop]]
            return found
        ((start, stop),) = self.places
        if self.kind == FLOATS:
            return rows[:, start:stop].copy().view(_FLOAT)
        return rows[:, start:stop].astype(np.int64) if stop - start == 1 else None

    def numbers(self, data: bytes) -> Any:
        """The floats or ints of a message that the layout fits."""
        ((start, stop),) = self.places
        if self.kind == FLOATS:
            return np.frombuffer(data, _FLOAT, (stop - start) >> 2, start).copy()  # aligned
        return np.array([data[start]] if stop - start == 1 else list(varints(data[start:stop])), np.int64)


class Layout(NamedTuple):
    """The bytes of a message apart from its values, with their places, and its features by name."""

    fixed: tuple[tuple[int, int, bytes], ...]
    features: Mapping[str, Values]
    ints: tuple[Place, ...]

    def fits(self, data: bytes) -> bool:
        """Whether it is that of another message of the same length."""
        for start, stop, part in self.fixed:
            if data[start:stop] != part:
                return False
        for start, stop in self.ints:
            if data[stop - 1] > 0x7F or (stop - start > 1 and not _are_varints(data[start:stop])):
                return False
        return True

    def fits_rows(self, rows: Any) -> bool:
        """Whether it is that of several messages of the same length, the rows of uint8[n, size]."""
        return all((rows[:, start:stop] == np.frombuffer(part, np.uint8)).all() for start, stop, part in self.fixed
                   ) and all(stop - start == 1 and (rows[:, start] < 0x80).all() for start, stop in self.ints)


def _are_varints(data: bytes) -> bool:
    try:
        return sum(1 for _ in varints(data)) > 0
    except ValueError:
        return False


def layout_of(data: bytes) -> Layout | None:
    """That of a serialized example; None if it is damaged, or of an unusual form: not packed, or with repeated
    parts."""
    try:
        ((number, start, stop),) = places(data, 0, len(data))
        features = dict(_feature(data, *entry) for entry in places(data, start, stop))
        count = sum(1 for _ in places(data, start, stop))
    except ValueError:  # also where there are more parts than one
        return None
    if number != 1 or len(features) != count:
        return None
    held = sorted(place for values in features.values() for place in values.places)
    edges = [0, *(edge for place in held for edge in place), len(data)]
    fixed = tuple([(a, b, data[a:b]) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b])
    layout = Layout(fixed, features, tuple([place for values in features.values() if values.kind == INTS
                                            for place in values.places]))
    return layout if layout.fits(data) else None


def _feature(data: bytes, number: int, start: int, stop: int) -> tuple[str, Values]:
    """The name and the values of an entry of features. ValueError if it is unusual."""
    (key, name, name_end), (value, start, stop) = places(data, start, stop)
    ((kind, start, stop),) = places(data, start, stop)
    parts = list(places(data, start, stop))
    usual = (number, key, value) == (1, 1, 2) and all(part[0] == 1 for part in parts)
    if kind in (FLOATS, INTS):
        ((_, start, stop),) = parts
        usual = usual and start < stop and (kind == INTS or (stop - start) % 4 == 0)
    if not usual or kind not in (STRINGS, FLOATS, INTS):
        raise ValueError("an unusual feature")
    return data[name:name_end].decode(), Values(kind, tuple([(start, stop) for _, start, stop in parts]))

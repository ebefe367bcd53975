"""Layouts of serialized examples, reused for messages that differ only in their values.

Two messages of equal length that agree in all bytes except those of values have the same fields at the same places,
since the bytes of strings, packed floats and packed ints do not encode positions.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from runtime.core.protocol_buffers import places, varints

__all__ = ["FLOATS", "INTS", "STRINGS", "Layout", "Values", "layout_of"]

STRINGS, FLOATS, INTS = 1, 2, 3  # the kinds: field numbers within a feature
_FLOAT: Final = np.dtype("<f4")
Place = tuple[int, int]


class Values(NamedTuple):
    """The places of the values of a feature: one for each string, or a single one for all numbers."""

    kind: int
    places: tuple[Place, ...]

    def strings(self, data: bytes) -> list[bytes]:
        return [data[start:stop] for start, stop in self.places]

    def in_rows(self, rows: Any) -> Any:
        """The values in several messages, the rows of uint8[n, size]: an array [n, number of values]. None for ints
        that take several bytes."""
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
        """The floats or ints of a message that fits the layout."""
        ((start, stop),) = self.places
        if self.kind == FLOATS:
            return np.frombuffer(data, _FLOAT, (stop - start) >> 2, start).copy()  # aligned
        return np.array([data[start]] if stop - start == 1 else list(varints(data[start:stop])), np.int64)


class Layout(NamedTuple):
    """The bytes of a message other than values, with their places, and its features by name."""

    fixed: tuple[tuple[int, int, bytes], ...]
    features: Mapping[str, Values]
    ints: tuple[Place, ...]

    def fits(self, data: bytes) -> bool:
        """Whether another message of the same length has this layout."""
        for start, stop, part in self.fixed:
            if data[start:stop] != part:
                return False
        for start, stop in self.ints:
            if data[stop - 1] > 0x7F or (stop - start > 1 and not _are_varints(data[start:stop])):
                return False
        return True

    def fits_rows(self, rows: Any) -> bool:
        """Whether all of several messages of that length, the rows of uint8[n, size], have this layout."""
        return all((rows[:, start:stop] == np.frombuffer(part, np.uint8)).all() for start, stop, part in self.fixed
                   ) and all(stop - start == 1 and (rows[:, start] < 0x80).all() for start, stop in self.ints)


def _are_varints(data: bytes) -> bool:
    try:
        return sum(1 for _ in varints(data)) > 0
    except ValueError:
        return False


def layout_of(data: bytes) -> Layout | None:
    """The layout of a serialized example; None if it is damaged, or of an unusual form: not packed, or with repeated
    parts."""
    try:
        ((number, start, stop),) = places(data, 0, len(data))
        features = dict(_feature(data, *entry) for entry in places(data, start, stop))
        count = sum(1 for _ in places(data, start, stop))
    except ValueError:  # also if there are more parts than one
        return None
    if number != 1 or len(features) != count:
        return None
    ranges = sorted(place for values in features.values() for place in values.places)
    edges = [0, *(edge for place in ranges for edge in place), len(data)]
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

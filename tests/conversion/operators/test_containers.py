"""Operators for comparisons: on plain values they ask nothing that Python does not ask."""
from __future__ import annotations

from typing import Any

import autograph as ag


def test_identity_asks_no_class() -> None:
    asked = []

    class OfMeta(type):
        @property
        def __dict__(self) -> Any:
            asked.append("__dict__")
            return {}

        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            raise AttributeError(name)

    class Meta(type, metaclass=OfMeta):
        pass

    class Thing(metaclass=Meta):
        pass

    def same(x: Any, y: Any) -> bool:
        if x is y:
            return True
        return False

    assert ag.convert(same)(Thing, Thing) is True
    assert ag.convert(same)(Thing, Thing()) is False
    assert asked == []

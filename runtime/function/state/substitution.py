"""Values in place of others, wherever the code of a trace can find these, while it is traced: objects of the trace for
the caller's arrays (`array_arguments.py`), and references to objects from before the call (`adopted_objects.py`)."""
from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

from autograph.backend import LISTS, Heap, put
from runtime.function.state.attribute_state import content_of

__all__ = ["substituted"]


@contextmanager
def substituted(heap: Heap, new_for: Callable[[Any], Any], others: Container[int] = ()) -> Iterator[None]:
    """Store `new_for(part)` in place of each part of variables, attributes and items that the traced code can reach,
    but of the holders whose ids are in `others`; afterwards, the parts again in place of what stood for them."""
    places: list[tuple[Any, Any]] = []
    parts: dict[int, tuple[Any, Any]] = {}
    """By the id of each new value: that value, and the part."""
    for holder, key, part in _parts(heap):
        new = part if id(holder) in others else new_for(part)
        if new is not part:
            places.append((holder, key))
            parts[id(new)] = new, part
            _put(holder, key, new)
    try:
        yield
    finally:
        for holder, key in places:
            current = _at(holder, key)
            if id(current) in parts:  # perhaps that of another part, which the code has stored there
                _put(holder, key, parts[id(current)][1])


def _parts(heap: Heap) -> Iterator[tuple[Any, Any, Any]]:
    """All that the traced code can reach: the holder, the key, and the part."""
    for reached, before in heap.records:
        for key, part in before.items() if isinstance(before, dict) else enumerate(before):
            yield reached.value, key, part
    for named in heap.reach.named:
        for name in named.names:
            if name in named.namespace:
                yield named, name, named.namespace[name]


def _at(holder: Any, key: Any) -> Any:
    return (holder[key] if key < len(holder) else None) if type(holder) in LISTS else content_of(holder, key)


def _put(holder: Any, key: Any, part: Any) -> None:
    if type(holder) in LISTS:
        holder[key] = part
    else:
        put(holder, key, part)

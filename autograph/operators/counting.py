"""Loops over `itertools.count`, or a backend's object for one, which are `while` loops with a counter."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, cast

from autograph.dispatch.converted_call import call
from autograph.state.references import references

__all__ = ["loop_over_count", "only_counts"]


def only_counts(iterable: Any) -> bool:
    """Whether a loop runs over a backend's `itertools.count`, or over Python's, to which nothing else refers."""
    return hasattr(type(iterable), "__counts__") or (type(iterable) is itertools.count and not references([iterable]))


def loop_over_count(
    ag__count: Any, ag__body: Callable[[Any], Any], ag__test: Callable[[], Any], state: tuple[str, ...],
    loop: Callable[..., None], options: dict[str, Any],
) -> None:
    """`for item in count: body(item)`, while `test()` holds after an iteration; `loop` runs a `while`."""
    ag__item = next(ag__count)
    step = next(ag__count) - ag__item if type(ag__count) is itertools.count else None
    ag__body(ag__item)

    def while_test() -> Any:
        return ag__test()

    def while_body() -> None:
        nonlocal ag__item
        ag__item = call(next)(ag__count) if step is None else ag__item + step
        ag__body(ag__item)

    cast(Any, while_test).place = getattr(ag__test, "place", ag__test)
    cast(Any, while_body).place = getattr(ag__body, "place", ag__body)
    loop(while_test, while_body, "ag__item", *state, **options)

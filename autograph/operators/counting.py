"""`for` loops that are `while` loops with a counter: over `itertools.count`, or a backend's object for one, and over
the remaining items of a list that has become one of a backend."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

from autograph.core.backend import staging_backend
from autograph.core.iterator_sources import Source
from autograph.dispatch.converted_call import call
from autograph.operators.containers import item
from autograph.state.references import references

__all__ = ["loop_over_count", "loop_over_rest", "only_counts"]


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

    _run(loop, while_test, while_body, ag__test, ag__body, "ag__item", *state, **options)


def loop_over_rest(
    ag__source: Source, ag__body: Callable[[Any], Any], ag__test: Callable[[], Any] | None,
    state: tuple[str, ...], loop: Callable[..., None],
) -> None:
    """`for item in source: body(item)`, which ends early when `test()` is false before an iteration, for a source of
    which a list is the backend's: what its length and items are is asked in each iteration."""
    ag__index = 0

    def while_test() -> Any:
        going = True if ag__test is None else ag__test()
        return going if going is False else reduce(_both, ag__source.bounds(ag__index, call(len)), going)

    def while_body() -> None:
        nonlocal ag__index
        ag__item = ag__source.at(ag__index, item)
        ag__index = ag__index + 1
        ag__body(ag__item)

    _run(loop, while_test, while_body, ag__body if ag__test is None else ag__test, ag__body, "ag__index", *state)


def _both(one: Any, other: Any) -> Any:
    """`one and other`, of which either may be the backend's."""
    return one and other if staging_backend(one) is None else one & other


def _run(
    loop: Callable[..., None], test: Any, body: Any, own_test: Any, own_body: Any, *state: str, **options: Any
) -> None:
    """Run a `while`, of which the code is that of the program's test and body."""
    test.place, body.place = getattr(own_test, "place", own_test), getattr(own_body, "place", own_body)
    loop(test, body, *state, **options)

"""Functions with `functools.lru_cache` or `functools.cache`, called with values that only the graph knows.

Their results are kept in dicts of the graph for one call of the traced function. So a recursion computes each of its
values once.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, Final

from autograph.backend import LISTS, Remake, exclusion_rule, is_converted, operators
from runtime.core.memos import has_memo, memo_of
from runtime.core.positions import staging_error
from runtime.core.tensor import Tensor
from runtime.core.text import Text
from runtime.core.trace import current_graph
from runtime.staging.aliases.body_tracing import in_body
from runtime.staging.containers.dict_lookup import put_item_of
from runtime.staging.storage.dict_keys import is_key, is_staged_key
from runtime.staging.values.iterables import stages

__all__ = ["CACHED", "cached_call", "method_of_cache", "wrapped_by"]

CACHED: Final[type] = functools._lru_cache_wrapper
_CONTROL: Final = frozenset({"call", "check_bound", "hold_error", "keep", "raise", "raise_unless", "reraise"})
"""Ops that count as effects, since their order matters, and only end a call or go on in another one."""


def wrapped_by(wrapper: Any) -> Any:
    """The function that has the cache."""
    return wrapper.__wrapped__


def cached_call(fn: Any) -> Callable[..., Any]:
    """The callable to use in place of a function with a cache."""
    wrapper: Any = fn.__func__ if type(fn) is MethodType else fn
    owner = (fn.__self__,) if type(fn) is MethodType else ()
    wrapped = wrapped_by(wrapper)
    if type(wrapped) is not FunctionType or not (is_converted(wrapped.__code__) or exclusion_rule(wrapped) is None):
        return fn  # type: ignore[no-any-return]

    def called(*args: Any, **keywords: Any) -> Any:
        values = (*owner, *args, *keywords.values())
        graph = current_graph()
        if graph is None or not (any(map(_is_staged, values)) or _captures_staged(wrapped)):
            return fn(*args, **keywords)
        kept = tuple([(i, value) for i, value in enumerate(values) if not is_key(value)])
        if any(is_staged_key(value) for _, value in kept):
            return fn(*args, **keywords)  # raises the error that it cannot be a key
        hash(kept)
        key = tuple([value for value in values if is_key(value)])
        if not key:
            return fn(*args, **keywords)
        memo = _memo((id(wrapper), kept, tuple(keywords)), wrapper)
        return _looked_up(memo, key[0] if len(key) == 1 else key,
                          lambda: operators.call(wrapped)(*owner, *args, **keywords))

    return called


def _is_staged(value: Any) -> bool:
    return stages(value) or is_staged_key(value) or (isinstance(value, tuple) and any(map(_is_staged, value)))


def _captures_staged(fn: FunctionType) -> bool:
    """Whether variables of enclosing functions have values of the graph, so that results may have some."""
    return any(isinstance(value, (Tensor, Text)) or _is_staged(value) for value in _captured(fn))


def _captured(fn: FunctionType) -> Iterator[Any]:
    for cell in fn.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        yield value
        if isinstance(value, (*LISTS, tuple)):
            yield from value


def _memo(key: Any, wrapper: Any) -> dict[Any, Any]:
    """The dict of results. It is made before the outermost statement that is being staged, whose state it is."""
    memo = memo_of(key, wrapper, not in_body())
    if memo is None:
        raise Remake(lambda _: _memo(key, wrapper), ())
    return memo


def _looked_up(memo: dict[Any, Any], key: Any, compute: Callable[[], Any]) -> Any:
    def computed() -> Any:
        graph = current_graph()
        before = 0 if graph is None else len(graph.nodes)
        value = compute()
        for node in () if graph is None else graph.nodes[before:]:
            inner = [each for part in node.subgraphs.values() for each in part.walk()]
            if any(each.op.effect and each.op.name not in _CONTROL for each in (node, *inner)):
                raise staging_error(
                    f"a function with a cache has the effect {node.op.name!r}, and Python has it only in the first call"
                    " with these arguments, the graph in the first one of each of its runs",
                    "Let it only compute, or remove the cache.")
        put_item_of(memo, key, value)
        return value

    return operators.if_exp(operators.in_(key, memo), lambda: operators.item(memo, key), computed)


def method_of_cache(fn: Any) -> Callable[..., Any]:
    """The callable to use in place of a method of a function with a cache."""
    def called(*args: Any) -> Any:
        if fn.__name__ == "cache_info" and has_memo(fn.__self__):
            raise staging_error("the state of a cache is asked for here, and the graph keeps its results elsewhere",
                                "Count in the function.")
        return fn(*args)

    return called

"""Functions of `operator`, `functools`, `enum` and `dataclasses` that are replaced to take values of the graph."""
from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from autograph.backend import operators
from runtime.core.trace import current_graph
from runtime.staging.containers.comparison_sort import cmp_to_key
from runtime.staging.elements.references import selected
from runtime.staging.elements.select import Select, alternatives_of, of_both, use
from runtime.staging.python.dataclass_functions import DATACLASS_FUNCTIONS
from runtime.staging.python.introspection import ASKED
from runtime.staging.values.optional import MaybeObject, without_none

__all__ = ["replacement"]

_REPLACED: Final[dict[Any, Callable[..., Any]]] = {
    operator.lt: operators.lt, operator.le: operators.le, operator.gt: operators.gt, operator.ge: operators.ge,
    operator.eq: operators.eq, operator.ne: operators.ne, operator.not_: operators.not_,
    operator.add: operators.add, operator.iadd: operators.iadd, operator.mul: operators.mul,
    operator.imul: operators.imul, operator.sub: operators.sub, operator.isub: operators.isub,
    operator.and_: operators.bitand, operator.iand: operators.iand, operator.or_: operators.bitor,
    operator.ior: operators.ior, operator.neg: operators.neg, operator.pos: operators.pos,
    operator.getitem: operators.item, operator.contains: lambda items, x: operators.in_(x, items),
    functools.cmp_to_key: cmp_to_key, enum.Flag.__contains__: lambda flags, x: of_both(flags, x, operator.contains),
    **DATACLASS_FUNCTIONS}
"""Functions of `operator`, `functools`, `enum` and `dataclasses` that compare, combine or copy containers, or look up
items."""


def replacement(fn: Any) -> Callable[..., Any] | None:
    """What to call in place of a function, if that is replaced; else None."""
    if fn in _REPLACED:
        return _REPLACED[fn]
    code = getattr(fn, "__code__", None)
    if code is _BY_CLASS:
        return functools.partial(_dispatched, fn, fn.registry, lambda chosen: chosen)
    if code is _METHOD_BY_CLASS:
        return _by_class(fn)
    return _call_by_class if code is _CALL_BY_CLASS else None


def _by_class(method: Any) -> Callable[..., Any]:
    """What to call in place of a method of `functools.singledispatchmethod`."""
    if type(method) is FunctionType:
        cells = zip(method.__code__.co_freevars, [cell.cell_contents for cell in method.__closure__ or ()], strict=True)
        parts = dict(cells)
        owner = parts["obj"], parts["cls"]
    else:
        owner = method._obj, method._cls
    return functools.partial(_dispatched, method, method.register.__self__.dispatcher.registry,
                             lambda chosen: chosen.__get__(*owner))


def _call_by_class(method: Any, /, *args: Any, **keywords: Any) -> Any:
    return _by_class(method)(*args, **keywords)


class _Sample:
    @functools.singledispatchmethod
    def method(self, x: Any) -> Any:
        return x


_BY_CLASS: Final = getattr(functools.singledispatch(lambda x: x), "__code__", None)
"""The code of the functions that `functools.singledispatch` returns."""
_METHOD_BY_CLASS: Final = getattr(_Sample().method, "__code__", ())
"""The code of the methods that `functools.singledispatchmethod` makes where these are functions: before Python 3.14."""
_CALL_BY_CLASS: Final = getattr(type(_Sample().method).__call__, "__code__", ())
"""The code of the `__call__` of these methods where they are objects."""


def _dispatched(fn: Any, registry: Any, bound: Callable[[Any], Any], /, *args: Any, **keywords: Any) -> Any:
    """Call the implementation for the class of the first argument, with a branch for each one that it may be."""
    if current_graph() is None or not args:
        return fn(*args, **keywords)
    first, *rest = args

    def implementation(x: Any) -> Any:
        cls = ASKED[type](x)
        return registry.get(cls) or functools._find_impl(cls, registry)  # type: ignore[attr-defined]

    def call_for(x: Any) -> Any:
        return operators.call(bound(implementation(x)))(x, *rest, **keywords)

    if isinstance(first, MaybeObject):
        content, present = without_none(first)
        if present is not True:
            return operators.if_exp(present, lambda: _dispatched(
                fn, registry, bound, content, *rest, **keywords), lambda: call_for(None))
        first = content
    first = selected(first)
    if not isinstance(first, Select):
        return call_for(first)
    found = [implementation(one) for one in alternatives_of(first)[0]]
    if all(each is found[0] for each in found):
        return operators.call(bound(found[0]))(first, *rest, **keywords)
    return use(first, call_for)

"""Values that may be unbound or None at run time.

A variable that only one branch assigns is accompanied by hidden bits: `bound`, and `present` (it is not None). A use
adds a check to the graph, in program order, which raises Python's error.
"""
from __future__ import annotations

import builtins
import copy
import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Final

from autograph.backend import is_internal, of_trace, operators, unnumbered
from runtime.core.errors import StagingError, subject
from runtime.core.formatting import formatted, repr_of, str_of
from runtime.core.graph import Graph, Node
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.text import REPR, STR, Text
from runtime.core.trace import current_graph
from runtime.ops.effects import check_bound
from runtime.staging.values.assumptions import is_assumed
from runtime.staging.values.list import branch

__all__ = [
    "Maybe", "MaybeObject", "MaybeTensor", "Presence", "attach", "checked", "keys", "keys_asked", "known",
    "same_or_none", "there", "without_none"]


class _Keys(threading.local):
    are_uncertain = False


keys: Final = of_trace(_Keys())
"""Whether a dict of the traced code may have a key whose presence is known only at run time; if not, searches for such
keys are skipped."""


def keys_asked(name: str) -> StagingError:
    """The error for an operation that depends on the keys of a dict where `name` is set on some paths only."""
    return staging_error(
        f"whether there is {name} is known only when the graph runs, as it is set on some ways through a staged"
        " statement only, and Python asks here for the keys of that dict",
        f"Give {name} a value on all ways, or before, such as 0 or None; `in` and {name} itself may be used.")


class Presence:
    """The bits of the variable `name`: bool scalars `bound` and `present`, or None where that is certain."""

    __slots__ = ("_checked", "bound", "name", "present")

    def __init__(self, name: str, bound: GraphTensor | None, present: GraphTensor | None) -> None:
        self.name = unnumbered(name)
        self.bound = bound
        self.present = present
        self._checked: dict[tuple[int, str], tuple[Graph, int, Node]] = {}
        keys.are_uncertain |= bound is not None and not name.isidentifier()

    def check(self) -> None:
        """Emit a check that raises if the variable is unbound or None: the errors of `check_bound`, or TypeError."""
        self.check_bound()
        if self.present is not None:
            self._check(self.present, "none")

    def is_none(self, content: Any) -> Any:
        """Whether the variable, with this value if present, is None: a bool, or a bool scalar tensor."""
        self.check_bound()
        has_value = self.has_value
        return content is None if has_value is True else ~has_value

    @property
    def has_value(self) -> GraphTensor | bool:
        """`present`; True if known to hold here."""
        return True if self.present is None or is_assumed(self.present) else self.present

    def check_bound(self) -> None:
        """Emit a check that the variable is bound: UnboundLocalError, KeyError or AttributeError, as in Python."""
        if self.bound is not None:
            self._check(self.bound, "unbound")

    def check_text(self) -> None:
        """Like `check_bound`, for formatting. StagingError for an item of a dict: the dict's text includes items that
        were not read, and so not checked."""
        if self.bound is not None and self.name.endswith("]"):
            raise keys_asked(self.name)
        self.check_bound()

    def _check(self, bit: GraphTensor, kind: str) -> None:
        if is_assumed(bit):
            return
        graph = here = current_graph()
        while graph is not None:  # a check in this graph or an enclosing one already dominates this point
            graph_, index, node = self._checked.get((id(graph), kind), (None, 0, None))
            if graph_ is graph and index < len(graph.nodes) and graph.nodes[index] is node:
                return
            graph = graph.parent
        check_bound(bit, self.name, kind)
        if here is not None:
            index = len(here.nodes) - 1
            self._checked[id(here), kind] = here, index, here.nodes[index]


def known(value: Any, what: str) -> Any:
    """The value of a variable. StagingError if it may be None where Python must know `what`."""
    if not isinstance(value, Maybe):
        return value
    value.presence.check_bound()
    if value.presence.has_value is True:
        return value.content
    name = value.presence.name
    raise staging_error(
        f"whether {subject(name)} is None is known only when the graph runs, and Python asks here {what}",
        f"Ask for `{name} is None` or `isinstance({name}, ...)` instead, which the graph answers.")


def there(value: Any) -> Any:
    """The content of a value that is certainly not None; other values unchanged."""
    return known(value, "") if isinstance(value, Maybe) and value.presence.has_value is True else value


def checked(value: Any) -> Any:
    """The value of an item or variable being read; the graph raises if it is missing."""
    if not issubclass(type(value), Maybe):  # `isinstance` would run code of proxies
        return value
    presence = value.presence
    if presence.bound is None:
        return value
    presence.check_bound()
    return value.content if presence.present is None else attach(
        value.content, Presence(presence.name, None, presence.present))


def _class_of(value: Any) -> Any:
    """`value.__class__`, which `isinstance` also reads, through `abc` for an abstract class: that of the content, if
    user code asks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == "abc":
        frame = frame.f_back
    if frame is not None and is_internal(frame.f_code.co_filename):
        return type(value)
    return known(value, "for its class").__class__


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else ~value


class MaybeTensor(GraphTensor):
    """A tensor that may be unbound or None; `__tensor__` adds the check."""

    __slots__ = ("presence",)

    def __init__(self, tensor: GraphTensor, presence: Presence) -> None:
        super().__init__(tensor.value)
        self.memory = tensor.memory
        self.presence = presence

    __class__ = property(_class_of)

    @property
    def content(self) -> GraphTensor:
        """The tensor, unchecked."""
        tensor = GraphTensor(self.value)
        tensor.memory = self.memory
        return tensor

    def __tensor__(self) -> GraphTensor:
        self.presence.check()
        return self.content

    def __eq__(self, other: object) -> Any:
        return self.presence.is_none(self.content) if other is None else OPERATIONS.compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _not(self.presence.is_none(self.content)) if other is None else OPERATIONS.compare("ne", self, other)

    __hash__ = GraphTensor.__hash__

    def __text__(self, spec: str) -> Text:
        self.presence.check_text()
        present = self.presence.present
        return Text.of(self.value, spec, None if present is None else present.value)


class MaybeObject:
    """A Python value, such as a tuple of tensors, that may be unbound or None: any use adds a check."""

    __slots__ = ("content", "presence")

    __class__ = property(_class_of)

    def __init__(self, content: Any, presence: Presence) -> None:
        self.content = content
        self.presence = presence

    def __wraps__(self) -> Any:
        """For autograph: the value that the state has if present."""
        return self.content

    def checked(self) -> Any:
        """The value, after a check."""
        self.presence.check()
        return self.content

    def __copy__(self) -> Any:
        self.presence.check_bound()
        return attach(copy.copy(self.content), self.presence)

    def __deepcopy__(self, memo: Any) -> Any:
        self.presence.check_bound()
        return attach(copy.deepcopy(self.content, memo), self.presence)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{type(self.content).__name__!r} object has no attribute {name!r}")
        return getattr(self.checked(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in MaybeObject.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(operators.fields(self.checked()), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.checked(), name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.checked())

    def __len__(self) -> int:
        return len(self.checked())

    def __bool__(self) -> bool:
        """Asked by code that stages nothing, such as a generator that suspends its frame: see `GraphTensor`."""
        return not operators.not_(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return operators.call(self.checked())(*args, **kwargs)

    def __setitem__(self, index: Any, value: Any) -> None:
        operators.setitem(self.checked(), index, value)

    def __eq__(self, other: object) -> Any:
        return OPERATIONS.compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return OPERATIONS.compare("ne", self, other)

    def __hash__(self) -> int:
        return hash(self.checked())

    def __array_function__(self, fn: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return operators.call(fn)(*_all_checked(args), **kwargs)

    def __array_ufunc__(self, fn: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return operators.call(getattr(fn, method))(*_all_checked(inputs), **kwargs)

    def __text__(self, spec: str) -> Any:
        """The text of the value, or of None."""
        def show(value: Any) -> Any:
            return str_of(value) if spec == STR else repr_of(value) if spec == REPR else formatted(value, spec)

        self.presence.check_text()
        present = self.presence.present
        return show(self.content) if present is None else branch(
            present, lambda _: (show(self.content),), (show(None),), ("text",))[0]

    def __repr__(self) -> str:
        return f"<{self.presence.name!r}: {self.content!r}, if it is bound and not None>"


def _all_checked(values: Iterable[Any]) -> list[Any]:
    return [value.checked() if isinstance(value, MaybeObject) else value for value in values]


def _forwarded(apply: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: MaybeObject, *operands: Any) -> Any:
        return apply(self.checked(), *operands)

    return method


def _reflected(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: MaybeObject, left: Any) -> Any:
        return apply(left, self.checked())

    return method


_BINARY: Final = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift", "rshift", "and", "or",
    "xor")
_OTHERS: Final = (
    "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs", "round", "getitem", "delitem", "contains",
    *[f"i{name}" for name in _BINARY if name != "divmod"])
_STAGED: Final = {"getitem": operators.item, "contains": lambda container, item: operators.in_(item, container),
                  "or": operators.bitor, "ior": operators.ibitor}
"""The operators whose names in autograph differ from Python's."""


def _operator(name: str) -> Callable[..., Any]:
    """The function that applies Python's operator `name` in traced code."""
    python = getattr(operator, f"__{name}__", None) or getattr(builtins, name)
    found: Callable[..., Any] = _STAGED.get(name) or getattr(operators, name, python)
    return found


for _name in (*_BINARY, *_OTHERS):
    setattr(MaybeObject, f"__{_name}__", _forwarded(_operator(_name)))
for _name in _BINARY:
    setattr(MaybeObject, f"__r{_name}__", _reflected(_operator(_name)))

Maybe = (MaybeTensor, MaybeObject)


def without_none(value: Any) -> tuple[Any, Any]:
    """The content of a value that may be None, and whether it is not None: True, or a bool scalar tensor."""
    if not isinstance(value, Maybe):
        return value, True
    value.presence.check_bound()
    return value.content, value.presence.has_value


def same_or_none(value: Any, other: Any, same: Callable[[Any, Any], Any]) -> Any:
    """Whether two values are both None or the same, by `same` if neither is None: a bool, or a bool scalar tensor."""
    (one, has_one), (second, has_second) = map(_content, (value, other))
    are_both = _conjunction(has_one, has_second)
    if value is other or are_both is False:
        found = are_both
    elif are_both is True or isinstance(one, Tensor) or isinstance(second, Tensor):
        found = _conjunction(are_both, same(one, second))
    else:  # objects, which may lead to others
        found = operators.and_(are_both, lambda: same(one, second))
    return found | (_not(has_one) & _not(has_second))


def _content(value: Any) -> tuple[Any, Any]:
    """The content of a value, and whether it is not None: a bool, or a bool scalar tensor."""
    return (None, False) if value is None else without_none(value)


def _conjunction(bit: Any, other: Any) -> Any:
    return other if bit is True else bit & other


def attach(value: Any, presence: Presence) -> Any:
    """`value` with the presence bits attached."""
    if isinstance(value, GraphTensor) and not value.is_object:
        return MaybeTensor(value, presence)
    for name in (*MaybeObject.__slots__, "checked"):
        if hasattr(value, name) and not isinstance(value, MaybeObject):
            raise staging_error(
                f"whether {subject(presence.name)} is None is known only when the graph runs, and it has an attribute"
                f" {name!r}, which is hidden then", "Give that attribute another name.")
    return MaybeObject(value, presence)

"""The exception object that represents a caught error while a handler is traced.

It has the error's class, and is made without calling the constructor. Its arguments and attributes are the joins of
those of all errors of the class that the body raises; text and numbers known only at run time are graph values.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from autograph.backend import LISTS, is_internal
from runtime.core.graph import Graph, Node
from runtime.core.positions import staging_error
from runtime.core.text import REPR, STR, Text
from runtime.core.trace import apply
from runtime.core.types import TensorType, Type, join_shapes
from runtime.ops.effects import Deferred, Raised, made_of
from runtime.ops.exceptions import ERROR_PART, ERROR_TEXT, RERAISE, Region, mark_caught
from runtime.staging.joins.lattice import type_of
from runtime.staging.values.iterables import Poison

__all__ = ["error_for", "is_caught"]


def error_for(kind: type[BaseException], region: Region, body: Graph, named: bool) -> BaseException:
    """An exception of class `kind` that represents the errors of `body`, in the graph of the handler being traced.

    If the handler does not bind it to a name, it can only be raised again.
    """
    error = _made(kind, region, body) if named else BaseException()
    mark_caught(error, region)
    region.handled = error
    return error


def _made(kind: type[BaseException], region: Region, body: Graph) -> BaseException:
    raising_nodes = [node for node in body.walk() if not node.subgraphs and node.op is not RERAISE and any(
        kind is e or (node.op.foreign and "raised" not in node.params and issubclass(kind, e)) for e in node.errors)]
    raised = [(node.params["raised"], _operands(node)) for node in raising_nodes if "raised" in node.params]
    if raised and len(raised) == len(raising_nodes) and len({(len(r.args), *r.attributes) for r, _ in raised}) == 1:
        first: Raised = raised[0][0]
        error = _without_constructor(kind, tuple([_part(region, i, [(r.args[i], values) for r, values in raised])
                                                  for i in range(len(first.args))]))
        for name in first.attributes:
            if not name.startswith("__"):
                error.__dict__[name] = _part(region, name, [(r.attributes[name], values) for r, values in raised])
        _chain(error, [r.exception for r, _ in raised])
    elif raised or not raising_nodes or any(node.op.foreign for node in raising_nodes):
        error = _unsure(kind, region)
    else:  # errors of ops have only a message
        error = _without_constructor(kind, (_text(region, None),))
        error.__dict__["message"] = error.args[0]
    return error


def _chain(error: BaseException, raised: Sequence[BaseException]) -> None:
    """Set the cause and context of `error` to those of the raised errors, if they are caught errors bound to a name,
    and the same object for all."""
    first, *others = raised
    for name in "__cause__", "__context__":
        found = getattr(first, name)
        if is_caught(found) and type(found) is not BaseException and all(getattr(o, name) is found for o in others):
            setattr(error, name, found)
    error.__suppress_context__ = all(one.__suppress_context__ for one in raised)


def is_caught(value: Any) -> bool:
    """Whether a value represents the error passed to a handler."""
    return isinstance(value, BaseException) and "__region__" in value.__dict__


def _operands(node: Node) -> Sequence[Type]:
    types = [value.type for value in node.operands]
    return types[1:] if node.op.name == "raise_unless" else types


def _part(region: Region, part: int | str, values: Sequence[tuple[Any, Sequence[Type]]]) -> Any:
    """An argument or attribute: the join of its values at all raises."""
    first = values[0][0]
    if not _is_staged(first) and all(type(v) is type(first) and v == first for v, _ in values):
        return first
    type_ = _common([_type(value, types) for value, types in values])
    if type_ is not None:
        return apply(ERROR_PART, region=region, part=part, type=type_)
    if all(isinstance(v, str) or (isinstance(v, Deferred) and v.text is not None) for v, _ in values):
        return _text(region, part)
    return _Unsure(region, part)


def _type(value: Any, types: Sequence[Type]) -> Type | None:
    """The type of an argument as a graph value; None if it is not one."""
    if isinstance(value, Deferred):
        return types[value.start] if value.text is None else None
    return type_of(value)


def _is_staged(value: Any) -> bool:
    if isinstance(value, (*LISTS, tuple)):
        return any(map(_is_staged, value))
    return isinstance(value, Deferred) or (isinstance(value, dict) and any(map(_is_staged, dict.values(value))))


def _common(types: Sequence[Type | None]) -> TensorType | None:
    found: TensorType | None = None
    for type in types:
        if not isinstance(type, TensorType) or (found is not None and found.dtype is not type.dtype):
            return None
        shape = type.shape if found is None else join_shapes(found.shape, type.shape)
        if shape is None:
            return None
        found = TensorType(type.dtype, shape, type.weak and (found is None or found.weak))
    return found


def _text(region: Region, part: int | str | None) -> Text:
    return Text.of_utf8(apply(ERROR_TEXT, region=region, part=part).value)


class _Unsure(Poison):
    """An argument that differs between the errors that may be caught here: only its text can be used."""

    __slots__ = ("_part", "_region")

    def __init__(self, region: Region, part: int | str) -> None:
        self._region, self._part = region, part
        name = f"args[{part}]" if isinstance(part, int) else part
        super().__init__(lambda: staging_error(
            f"{name} of the error that the `try` in line {region.line} catches is not of one type: it depends on which "
            "error was raised",
            "Raise errors of different classes, and catch each by a handler of its own."), f"<{name} of an error>")

    def __text__(self, spec: str) -> Any:
        return _text(self._region, self._part) if spec in (STR, "") else self.refuse()


def _unsure(kind: type[BaseException], region: Region) -> BaseException:
    """An error of class `kind` or a subclass, of which only the text is available."""

    def refuse(self: Any) -> NoReturn:
        raise staging_error(
            f"what kind of {kind.__name__} the `try` in line {region.line} catches, and with which arguments, is known "
            "only when the graph runs",
            "Name the classes of errors in handlers of their own: `except (A, B) as e` is traced for each.")

    def class_of(self: Any) -> type[BaseException]:
        return made if is_internal(sys._getframe(1).f_code.co_filename) else refuse(self)

    def show(self: Any, spec: str) -> Any:
        return refuse(self) if spec == REPR else text.__text__(spec)

    text = _text(region, None)
    made = type(kind.__name__, (kind,), {
        "__text__": show, "args": property(refuse, lambda self, args: None), "__class__": property(class_of),
        "__no_class__": refuse})
    return _without_constructor(made, ())


def _without_constructor(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    try:
        return made_of(kind, args)
    except TypeError:
        raise staging_error(
            f"{kind.__name__} cannot be made without its constructor, so a staged handler cannot name it",
            "Leave the name out, or catch it around the call of the traced function.") from None

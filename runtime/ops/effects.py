"""Effects: print, assertions and staged `raise`. They run in program order.

A message may be text that contains graph values (`runtime.core.text.Text`), and exceptions may hold graph tensors;
both are resolved when the effect runs.
"""
from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType
from typing import Any, Final
from weakref import ref

from autograph.backend import (
    HEAP_TYPE,
    LISTS,
    has_staged_items,
    is_record,
    name_of,
    parts_in,
    path_of,
    unbound_text,
    until_gone,
    with_parts,
)
from runtime.core import types as t
from runtime.core.errors import DTypeError, MissingKeyError
from runtime.core.formatting import deque_text, of_graph, repr_of, str_of
from runtime.core.graph import Graph
from runtime.core.op import Op
from runtime.core.positions import Position
from runtime.core.tensor import EagerTensor, GraphTensor, Tensor
from runtime.core.text import ITEM, Show, Template, Text, concat_text, join, show, split
from runtime.core.trace import apply, convert_to_tensor, current_graph, wrap
from runtime.core.traceback_replay import raise_at, trail
from runtime.core.types import (
    TensorType,
    Type,
)
from runtime.ops.exceptions import RERAISE, Region, caught_by

__all__ = [
    "CHECK_BOUND", "PRINT", "RAISE", "RAISE_UNLESS", "Deferred", "Raised", "check_bound", "has_raise", "holds_values",
    "made_of", "may_be_printed_to", "plain_text", "print_text", "raise_error", "raise_unless", "stage_assert",
    "stage_print",
]


# Text.

def plain_text(value: Any, nested: bool = False, depth: int = 4, style: Show = show) -> Any:
    """The text that `print` shows for `value`, with tensors as plain values: a str, or `Text` if it contains graph
    tensors.

    Nested containers are searched up to a depth.
    """
    if isinstance(value, EagerTensor):
        return style(value._array, ITEM if nested else "")
    if has_staged_items(value):
        value = value[0].view(value)
    stands_for = getattr(type(value), "__stands_for__", None)
    if isinstance(value, Tensor) or (nested and stands_for is None and hasattr(type(value), "__leaves__")):
        own = of_graph(value, ITEM if nested else "")
        if own is not None:
            return own
    if stands_for is list:
        items = value.__contents__() if hasattr(type(value), "__contents__") else list(value)
        return plain_text(items, nested, depth, style)
    kind = type(value)
    if depth and (kind in (*LISTS, tuple, dict) or hasattr(kind, "_fields")):
        return _container_text(value, depth - 1, style)
    if hasattr(kind, "__tensor__") and not (hasattr(kind, "__leaves__") or hasattr(kind, "__text__")):
        return plain_text(convert_to_tensor(value), nested, depth, style)
    return repr_of(value) if nested else str_of(value)


def _container_text(value: Any, depth: int, style: Show) -> Any:
    if isinstance(value, dict):
        pairs = [concat_text((repr_of(key), ": ", plain_text(item, True, depth, style))) for key, item in value.items()]
        return concat_text(("{", join(", ", pairs), "}"))
    items = [plain_text(item, True, depth, style) for item in value]
    if isinstance(value, list):
        return concat_text(("[", join(", ", items), "]"))
    if isinstance(value, LISTS):
        return deque_text(join(", ", items), value)
    fields = getattr(type(value), "_fields", None)
    if fields is None:
        return concat_text(("(", join(", ", items), ",)" if len(items) == 1 else ")"))
    named = [concat_text((name, "=", item)) for name, item in zip(fields, items)]
    return concat_text((type(value).__name__, "(", join(", ", named), ")"))


# print

def _print_kernel(
    *arrays: Any, text: Template, file: Any = None, flush: bool = False, style: Show = show
) -> None:
    if file is None or file == "stderr":
        file = sys.stdout if file is None else sys.stderr
    file.write(text.render(arrays, style))
    if flush:
        file.flush()


def _print_rule(
    *types: Type, text: Template, file: Any = None, flush: bool = False, style: Show = show
) -> tuple[()]:
    return ()


PRINT: Final = Op("print", _print_kernel, _print_rule, effect=True, foreign=True,
                  doc="Write `text`, with its operands in the holes, to `file` (default: stdout as it is then).")


def print_text(text: str | Text, file: Any = None, flush: bool = False, style: Show = show) -> None:
    """Write `text`: at once, or in a graph at run time.

    Python's standard streams are looked up when it is written.
    """
    params: dict[str, Any] = {}
    if file is not None and file is not sys.stdout:
        params["file"] = "stderr" if file is sys.stderr else file
    if flush:
        params["flush"] = True
    if style is not show:
        params["style"] = style
    if current_graph() is None:
        _print_kernel(text=split(text)[0], **params)
        return
    if file is not None:
        with contextlib.suppress(TypeError):  # an object without weak references
            _printed_to[id(file)] = until_gone(file, _printed_to, id(file))
    template, values = split(text)
    apply(PRINT, *map(wrap, values), text=template, **params)


_printed_to: Final[dict[int, ref[Any]]] = {}


def may_be_printed_to(file: Any) -> bool:
    """Whether a graph was traced that prints to the file."""
    known = _printed_to.get(id(file))
    return known is not None and known() is file


def stage_print(
    *args: Any, sep: str | None = None, end: str | None = None, file: Any = None, flush: bool = False
) -> None:
    """Python's `print`, with tensors shown as plain values; in a graph, at run time.

    Python values are formatted at once, so later changes to them are not shown.
    """
    for name, value in (("sep", sep), ("end", end)):
        if value is not None and not isinstance(value, (str, Text)):
            raise TypeError(f"{name} must be None or a string, not {type(value).__name__}")
    text = join(" " if sep is None else sep, [plain_text(arg) for arg in args])
    print_text(concat_text((text, "\n" if end is None else end)), file, flush)


# raise

@dataclass(frozen=True)
class Deferred:
    """A value that is filled in at run time: text with holes, or (without text) one of the operands.

    `number`: the operand represents a Python number.
    """

    start: int
    text: Template | None = None
    number: bool = False


def _defer(value: Any, operands: list[Any]) -> Any:
    """`value` with graph tensors, and text that contains them, replaced by Deferred; their values are appended to
    `operands`."""
    if isinstance(value, Text):
        operands += map(wrap, value.values)
        return Deferred(len(operands) - len(value.values), value.template)
    if isinstance(value, GraphTensor):
        operands.append(value)
        return Deferred(len(operands) - 1, number=value.type.weak and not value.ndim)
    return _mapped(lambda part: _defer(part, operands), value)


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """`value` with its parts changed, if it is a list, tuple, dict or an object of a frozen dataclass."""
    if type(value) in (list, tuple):
        return type(value)([*map(change, value)])
    if type(value) is dict:
        return {key: change(item) for key, item in value.items()}
    if (isinstance(value, tuple) and hasattr(type(value), "_fields")) or (
             "__dataclass_params__" in vars(type(value)) and not is_record(value)):
        return with_parts(value, [(key, change(part)) for key, part in parts_in(value)])
    return value


def _resolve(value: Any, arrays: Sequence[Any]) -> Any:
    if isinstance(value, Deferred):
        if value.text is None:
            array = arrays[value.start]
            return array.item() if value.number else EagerTensor(array)
        return value.text.render(arrays[value.start:])
    return _mapped(lambda part: _resolve(part, arrays), value)


def made_of(cls: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An exception of the class with these arguments, without calling a user-defined constructor.

    TypeError for a class that requires its constructor, such as ExceptionGroup.
    """
    native: Any = cls
    while native.__flags__ & HEAP_TYPE:
        native = native.__base__  # the base that determines the instance layout; any of several may
    error: BaseException = native.__new__(cls)
    with contextlib.suppress(TypeError):  # a UnicodeError requires more than text; then only `args` is set
        native.__init__(error, *args)
    error.args = args
    if isinstance(error, OSError) and len(args) > 1:  # normally set by the constructor
        error.errno, error.strerror = args[:2]
    return error


def _slots(error: BaseException) -> list[tuple[str, Any]]:
    """What the constructor of a class stored outside of `args` and the instance's dict, such as `SyntaxError.msg` or
    `StopIteration.value`, if it has values of the graph."""
    slots = {name: getattr(error, name, None) for cls in type(error).__mro__ for name, member in vars(cls).items()
             if isinstance(member, MemberDescriptorType)}
    return [(name, value) for name, value in slots.items() if _is_deferred(value)]


def _is_deferred(value: Any) -> bool:
    """Whether `_defer` replaces something in `value`."""
    operands: list[Any] = []
    _defer(value, operands)
    return bool(operands)


@dataclass(frozen=True)
class Raised:
    """An exception to raise at run time: its type and parts, and the user's frames that it passed through."""

    exception: BaseException
    args: tuple[Any, ...]
    attributes: dict[str, Any]
    trail: tuple[Position, ...]
    cause: Region | None = None
    """The region of the handler whose error is the cause."""

    @classmethod
    def of(cls, exception: BaseException, operands: list[Any], place: Position | None = None) -> Raised:
        """Record an exception; graph tensors in it are appended to `operands`. `place`: where it is raised, if not in
        the code being traced."""
        args = tuple([_defer(arg, operands) for arg in exception.args])
        attributes = {name: _defer(value, operands) for name, value in (*vars(exception).items(), *_slots(exception))}
        places = trail(exception.__traceback__) if place is None else (place,)
        return cls(exception.with_traceback(None), args, attributes, places, caught_by(exception.__cause__))

    def fresh(self, arrays: Sequence[Any]) -> BaseException:
        """A new exception of the type, with the values of the current run."""
        old = self.exception
        cls = type(old)
        args = tuple([_resolve(arg, arrays) for arg in self.args])
        if isinstance(cls.__init__, FunctionType) or isinstance(cls.__new__, FunctionType):
            new = made_of(cls, args)  # the user's constructor has already run
        else:
            new = copy.copy(old)
            new.args = args
        for name, value in self.attributes.items():
            object.__setattr__(new, name, _resolve(value, arrays))
        new.__cause__ = old.__cause__ if self.cause is None else self.cause.error
        new.__suppress_context__ = old.__suppress_context__
        return new

    def __repr__(self) -> str:
        return f"{type(self.exception).__name__}{self.args}"


def _raise_kernel(*arrays: Any, raised: Raised) -> None:
    raise_at(raised.fresh(arrays), raised.trail)


def _raise_rule(*types: Type, raised: Raised) -> tuple[()]:
    return ()


RAISE: Final = Op("raise", _raise_kernel, _raise_rule, effect=True, foreign=True,
                  errors=lambda node: (type(node.params["raised"].exception),),
                  doc="Raise a fresh copy of an exception, with the user's frames in its traceback.")


def _unless_kernel(condition: Any, *arrays: Any, raised: Raised) -> None:
    if not condition:
        raise_at(raised.fresh(arrays), raised.trail)


def _unless_rule(condition: Type, *types: Type, raised: Raised) -> tuple[()]:
    if not (isinstance(condition, TensorType) and condition.dtype is t.bool_ and not condition.shape):
        raise DTypeError(f"the condition of an assertion is a bool scalar, not {condition}")
    return ()


RAISE_UNLESS: Final = Op("raise_unless", _unless_kernel, _unless_rule, effect=True, foreign=True,
                         errors=lambda node: (type(node.params["raised"].exception),),
                         doc="Raise, as `raise` does, if the first operand is false.")


def has_raise(graph: Graph) -> bool:
    """Whether the program raises an error in the graph, on some path."""
    return any(node.op is RAISE for node in graph.walk())


def raise_error(exception: BaseException) -> None:
    """Raise `exception`: at once, or whenever the graph reaches this point, with its current traceback.

    Graph tensors in its arguments and attributes, also inside text, are replaced by the values of that run.
    """
    if current_graph() is None:
        raise exception
    region = caught_by(exception)
    if region is not None:
        apply(RERAISE, region=region)
        return
    operands: list[Any] = []
    raised = Raised.of(exception, operands)
    apply(RAISE, *operands, raised=raised)


def holds_values(exception: BaseException) -> bool:
    """Whether arguments or attributes of `exception` are graph tensors, or text that contains them."""
    operands: list[Any] = []
    for part in (*exception.args, *vars(exception).values()):
        _defer(part, operands)
    return bool(operands)


def raise_unless(condition: Any, exception: BaseException) -> None:
    """Raise `exception`, like `raise_error`, unless the bool scalar `condition` holds."""
    if current_graph() is None:
        if not condition:
            raise exception
        return
    operands: list[Any] = []
    raised = Raised.of(exception, operands)
    apply(RAISE_UNLESS, condition, *operands, raised=raised)


def stage_assert(condition: Any, *message: Any) -> None:
    """`assert condition, message`, checked at run time: AssertionError."""
    raise_unless(condition, AssertionError(*message))


# Variables that may be unbound or None

def _errors(name: str, kind: str) -> type[Exception]:
    """Python's error class for a missing variable, item or attribute, or for one that is None."""
    if kind == "none":
        return TypeError
    return MissingKeyError if name.endswith("]") else AttributeError if "." in name else UnboundLocalError


def _bound_kernel(bit: Any, *, name: str, kind: str) -> None:
    if bit:
        return
    missing = _errors(name, kind)
    if missing is TypeError:
        raise TypeError(f"'{name}' is None here")
    if missing is MissingKeyError:
        *around, (kind, key) = path_of(name)
        raise MissingKeyError(f"'{name_of(around)}' has no key {key if kind == '[name]' else repr(key)}")
    if missing is AttributeError:
        holder, _, attribute = name.rpartition(".")
        raise AttributeError(f"'{holder}' has no attribute '{attribute}'")
    error = UnboundLocalError(unbound_text(name))
    error.name = name
    raise error


def _bound_rule(bit: Type, *, name: str, kind: str) -> tuple[()]:
    if not (isinstance(bit, TensorType) and bit.dtype is t.bool_ and not bit.shape):
        raise DTypeError(f"a bound bit is a bool scalar, not {bit}")
    return ()


CHECK_BOUND: Final = Op("check_bound", _bound_kernel, _bound_rule, effect=True,
                        errors=lambda node: (_errors(node.params["name"], node.params["kind"]),),
                        doc="Raise what reading a variable raises that is unbound (or None, where it is used).")


def check_bound(bit: Any, name: str, kind: str = "unbound") -> None:
    """Unless the bool scalar `bit` holds, raise Python's error for a missing `name` (a variable, `d['k']` or `o.x`):
    UnboundLocalError, KeyError, AttributeError; if `kind` is "none", TypeError."""
    apply(CHECK_BOUND, bit, name=name, kind=kind)

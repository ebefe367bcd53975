"""`rt.print` and the checks of `rt.debugging`: effects, which run in program order."""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.config import settings
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError, locate
from runtime.core.op import Op
from runtime.core.positions import located, place_of_result, user_position
from runtime.core.public_names import hint_at_public_names
from runtime.core.recording import Recorder, forget_everywhere, record_everywhere
from runtime.core.tensor import Tensor
from runtime.core.text import Template, Text, concat_text, join, split
from runtime.core.trace import apply, convert_to_tensor, wrap
from runtime.core.types import TensorType, Type, as_dtype, broadcast_shapes
from runtime.ops import checks
from runtime.ops.checks import all_of, require, same
from runtime.ops.effects import plain_text, print_text
from runtime.ops.shape import dims
from runtime.ops.summarized_text import number_text, summary, unquoted

__all__ = [
    "Assert", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
    "assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_shapes", "assert_type", "check_numerics",
    "disable_check_numerics", "disable_traceback_filtering", "enable_check_numerics", "enable_traceback_filtering",
    "is_numeric_tensor", "is_traceback_filtering_enabled", "print",
]


# print

class _Sink:
    """A file that passes each text to a function, such as a logger's `info`, or appends it to a file on disk."""

    def __init__(self, take: Callable[[str], Any]) -> None:
        self.write = take

    def flush(self) -> None:
        pass


def _append_to(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _stream(output_stream: Any) -> Any:
    if isinstance(output_stream, str):
        if not output_stream.startswith("file://"):
            raise ValueError(
                f"output_stream is sys.stdout, sys.stderr, a function or 'file://...', not {output_stream!r}")
        return _Sink(functools.partial(_append_to, output_stream.removeprefix("file://")))
    return _Sink(output_stream) if callable(output_stream) else output_stream


def print(
    *inputs: Any, output_stream: Any = None, summarize: int | None = None, sep: str = " ", end: str | None = "\n",
    name: str | None = None,
) -> None:
    """Print tensors and Python values, including nested ones, each time the graph runs here (`tf.print`).

    output_stream  sys.stderr (the default), sys.stdout, a function of the text, or "file://path" to append to.
    summarize      how many first and last elements of each dimension are shown; 3, or -1 for all.
    """
    style: Callable[..., str] = functools.partial(summary, summarize=3 if summarize is None else summarize)
    if len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].dtype.is_string and not inputs[0].ndim:
        style = unquoted
    text = join(sep, [plain_text(x, style=style) for x in inputs])
    file = sys.stderr if output_stream is None else _stream(output_stream)
    print_text(concat_text((text, "\n" if end is None else end)), file, style=style)


# Checks: check(condition, *values; text) and compare(x, y; relation, ...)

def _check_kernel(condition: Any, *values: Any, text: Template, style: Any) -> None:
    if not np.all(condition):
        raise InvalidArgumentError(text.render(values, style))


def _check_rule(condition: Type, *values: Type, text: Template, style: Any) -> tuple[()]:
    if not (isinstance(condition, TensorType) and condition.dtype.is_bool):
        raise DTypeError(f"the condition of an assertion is bool, not {condition}")
    return ()


CHECK: Final = Op("check", _check_kernel, _check_rule, effect=True,
                  errors=(InvalidArgumentError,),
                  doc="InvalidArgumentError with a text unless all elements of the first operand hold.")


def _text(message: Any) -> tuple[Template, list[Any]]:
    template, values = split(message)
    return template, [wrap(value) for value in values]


def Assert(condition: Any, data: Iterable[Any], summarize: int | None = None, name: str | None = None) -> None:
    """Check `condition` when the graph runs here: InvalidArgumentError that shows `data` if it is false
    (`tf.Assert`)."""
    condition = convert_to_tensor(condition)
    style = functools.partial(summary, summarize=3 if summarize is None else summarize)
    shown = join("\n", [plain_text(x, style=style) for x in data])
    template, values = _text(concat_text(("Expected the condition to be true. Summarized data: ", shown)))
    apply(CHECK, condition, *values, text=template, style=style)


_RELATIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}


def _compare_kernel(
    x: Any, y: Any, *values: Any, relation: str, text: Template, summarize: int, quantity: str
) -> None:
    holds = _RELATIONS[relation](x, y)
    if np.all(holds):
        return
    style = functools.partial(summary, summarize=summarize)
    lines = [text.render(values, style)] if text.pieces != ("",) else []
    lines.append(f"Condition {quantity} did not hold.")
    if np.ndim(holds):
        where = np.argwhere(~holds)
        shown = [tuple(map(int, index)) for index in where[:summarize] if summarize >= 0] or list(map(tuple, where))
        left, right = np.broadcast_arrays(x, y)
        lines.append(f"Indices of first {len(shown)} different values: {[list(map(int, index)) for index in shown]}")
        lines.append(f"Corresponding x values: [{' '.join(number_text(left[index]) for index in shown)}]")
        lines.append(f"Corresponding y values: [{' '.join(number_text(right[index]) for index in shown)}]")
    else:
        lines.append(f"x: {number_text(x[()])}, y: {number_text(y[()])}")
    raise InvalidArgumentError("\n".join(lines))


def _compare_rule(
    x: TensorType, y: TensorType, *values: Type, relation: str, text: Template, summarize: int, quantity: str
) -> tuple[()]:
    if x.dtype is not y.dtype:
        raise DTypeError(f"an assertion compares tensors of one dtype, not {x.dtype.name} and {y.dtype.name}")
    broadcast_shapes(x.shape, y.shape, what=f"the operands of the assertion {quantity}")
    return ()


COMPARE: Final = Op("assert_compare", _compare_kernel, _compare_rule, effect=True, agree=slice(0, 2),
                    errors=(InvalidArgumentError,),
                    doc="InvalidArgumentError unless `relation` holds between all elements of the first two operands.")


def _compare(
    relation: str, x: Any, y: Any, message: str | None, summarize: int | None, quantity: str | None = None
) -> None:
    template, values = _text(message or "")
    apply(COMPARE, x, y, *values, relation=relation, text=template, summarize=3 if summarize is None else summarize,
          quantity=quantity or f"x {relation} y")


def assert_equal(x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
                 ) -> None:
    """InvalidArgumentError unless x == y, element by element (`tf.debugging.assert_equal`)."""
    _compare("==", x, y, message, summarize)


def assert_none_equal(
    x: Any, y: Any, summarize: int | None = None, message: str | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x != y, element by element (`tf.debugging.assert_none_equal`)."""
    _compare("!=", x, y, message, summarize)


def assert_less(x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
                ) -> None:
    """InvalidArgumentError unless x < y, element by element (`tf.debugging.assert_less`)."""
    _compare("<", x, y, message, summarize)


def assert_less_equal(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x <= y, element by element (`tf.debugging.assert_less_equal`)."""
    _compare("<=", x, y, message, summarize)


def assert_greater(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x > y, element by element (`tf.debugging.assert_greater`)."""
    _compare(">", x, y, message, summarize)


def assert_greater_equal(
    x: Any, y: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x >= y, element by element (`tf.debugging.assert_greater_equal`)."""
    _compare(">=", x, y, message, summarize)


def assert_positive(x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None) -> None:
    """InvalidArgumentError unless x > 0 (`tf.debugging.assert_positive`)."""
    _compare(">", x, 0, message, summarize, "x > 0")


def assert_negative(x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None) -> None:
    """InvalidArgumentError unless x < 0 (`tf.debugging.assert_negative`)."""
    _compare("<", x, 0, message, summarize, "x < 0")


def assert_non_negative(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x >= 0 (`tf.debugging.assert_non_negative`)."""
    _compare(">=", x, 0, message, summarize, "x >= 0")


def assert_non_positive(
    x: Any, message: str | None = None, summarize: int | None = None, name: str | None = None
) -> None:
    """InvalidArgumentError unless x <= 0 (`tf.debugging.assert_non_positive`)."""
    _compare("<=", x, 0, message, summarize, "x <= 0")


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, message: str | None = None, summarize: int | None = None,
    name: str | None = None,
) -> None:
    """InvalidArgumentError unless |x - y| <= atol + rtol * |y| (`tf.debugging.assert_near`).

    The tolerances are 10 times the dtype's epsilon if they are not given.
    """
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, dtype_hint=x.dtype)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        _fail(DTypeError(f"assert_near compares floats, not {x.dtype.name}"))
    tolerance = 10 * float(np.finfo(x.dtype.np).eps)
    limit = (tolerance if atol is None else atol) + (tolerance if rtol is None else rtol) * abs(y)
    _compare("<=", abs(x - y), limit, message, summarize, "|x - y| <= atol + rtol * |y|")


# Checks of static properties, at trace time

def _fail(error: Exception) -> None:
    locate(error, user_position())
    raise error


def _prefix(message: str | None) -> str:
    return f"{message}\n" if message else ""


def assert_rank(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    """ShapeError unless x has this rank (`tf.debugging.assert_rank`)."""
    x = convert_to_tensor(x)
    if x.ndim != int(rank):
        _fail(ShapeError(f"{_prefix(message)}the tensor must have rank {int(rank)}, but it is {x.type}"))


def assert_rank_at_least(x: Any, rank: int, message: str | None = None, name: str | None = None) -> None:
    """ShapeError unless x has at least this rank (`tf.debugging.assert_rank_at_least`)."""
    x = convert_to_tensor(x)
    if x.ndim < int(rank):
        _fail(ShapeError(f"{_prefix(message)}the tensor must have rank {int(rank)} or more, but it is {x.type}"))


def assert_rank_in(x: Any, ranks: Iterable[int], message: str | None = None, name: str | None = None) -> None:
    """ShapeError unless x has one of these ranks (`tf.debugging.assert_rank_in`)."""
    x, wanted = convert_to_tensor(x), [*map(int, ranks)]
    if x.ndim not in wanted:
        _fail(ShapeError(
            f"{_prefix(message)}the tensor must have rank {' or '.join(map(str, wanted))}, but it is {x.type}"))


def assert_same_float_dtype(tensors: Iterable[Any] | None = None, dtype: Any = None) -> t.DType:
    """The dtype of floats that all tensors have, which is `dtype` if that is given; without both float32
    (`tf.debugging.assert_same_float_dtype`). DTypeError (a ValueError of TF) for others."""
    wanted = None if dtype is None else as_dtype(dtype)
    for x in tensors or ():
        found = convert_to_tensor(x).dtype
        wanted = wanted or found
        if found is not wanted:
            _fail(DTypeError(f"all tensors must be {wanted.name}, but one is {found.name}"))
    wanted = wanted or t.float32
    if not wanted.is_floating:
        _fail(DTypeError(f"the tensors must be of floats, but they are {wanted.name}"))
    return wanted


def assert_proper_iterable(values: Any) -> None:
    """TypeError unless it is an iterable of Python's, rather than a tensor, an array or text
    (`tf.debugging.assert_proper_iterable`)."""
    if isinstance(values, (Tensor, np.ndarray, str, bytes)) or not isinstance(values, Iterable):
        _fail(TypeError(f"a list, tuple or other iterable of values is wanted, not a {type(values).__name__}"))


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """DTypeError unless x is of ints (`tf.debugging.assert_integer`)."""
    found = convert_to_tensor(x).dtype
    if not found.is_integer:
        _fail(DTypeError(f"{_prefix(message)}the tensor must be of ints, but it is {found.name}"))


def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> Tensor:
    """The tensor; ShapeError unless it is a scalar (`tf.debugging.assert_scalar`)."""
    assert_rank(tensor, 0, message)
    return convert_to_tensor(tensor)


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> None:
    """DTypeError unless the tensor has this dtype (`tf.debugging.assert_type`)."""
    found, wanted = convert_to_tensor(tensor).dtype, as_dtype(tf_type)
    if found is not wanted:
        _fail(DTypeError(f"{_prefix(message)}the tensor must be {wanted.name}, but it is {found.name}"))


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers, not bools (`tf.debugging.is_numeric_tensor`)."""
    return isinstance(tensor, Tensor) and tensor.dtype.is_numeric


def assert_shapes(shapes: Any, data: Any = None, summarize: int | None = None, message: str | None = None,
                  name: str | None = None) -> None:
    """Check pairs of tensor and shape (`tf.debugging.assert_shapes`): when the graph runs, if it takes sizes that are
    unknown before.

    A shape is a sequence of sizes, of names that stand for one size each (also as a string, one letter each), and of
    None or "." for any size. If it begins with `...` or "*", the tensor may have more axes before the others.
    ShapeError if they do not fit.
    """
    sizes: dict[str, Any] = {}
    for x, wanted in shapes.items() if isinstance(shapes, dict) else shapes:
        x = convert_to_tensor(x.deref() if hasattr(x, "deref") else x)
        found, symbols = dims(x), list(wanted)
        if symbols and symbols[0] in (..., "*"):
            symbols = symbols[1:]
            found = found[max(len(found) - len(symbols), 0):]
        if ... in symbols:
            raise located(ValueError(f"`...` stands for any axes only at the beginning of a shape, not in {wanted}"))
        fitting: list[Any] = [len(found) == len(symbols)]
        for size, symbol in zip(found, symbols):
            if symbol is not None and symbol != ".":
                expected = sizes.setdefault(symbol, size) if isinstance(symbol, str) else int(symbol)
                fitting.append(expected is size or same(size, expected))
        known = [part for name, size in sizes.items() for part in (f", {name}=", size)]
        require(all_of(*fitting), ShapeError(checks.message(
            f"{_prefix(message)}the tensor must have the shape {wanted}, but it has the shape ", dims(x), *known)))


# check_numerics

def _numerics_kernel(x: Any, *, message: str) -> Any:
    if not np.all(np.isfinite(x)):
        kinds = [kind for kind, bad in (("Inf", np.isinf(x).any()), ("NaN", np.isnan(x).any())) if bad]
        raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(kinds)} values")
    return x


def _numerics_rule(x: TensorType, *, message: str) -> TensorType:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise DTypeError(f"check_numerics takes floats, not {x.dtype.name}")
    return x


def _numerics_samples(rng: np.random.Generator) -> Iterable[Any]:
    for dtype in (t.float16, t.float32, t.float64):
        yield (rng.standard_normal((2, 3)).astype(dtype.np),), {"message": "x"}


CHECK_NUMERICS: Final = Op("check_numerics", _numerics_kernel, _numerics_rule, effect=True, samples=_numerics_samples,
                           errors=(InvalidArgumentError,),
                           doc="The operand; InvalidArgumentError if it has an infinite or NaN element.")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor; InvalidArgumentError if an element is infinite or NaN (`tf.debugging.check_numerics`)."""
    if isinstance(message, Text):
        message.refuse()
    result: Tensor = apply(CHECK_NUMERICS, tensor, message=message)
    return result


def assert_all_finite(x: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor; InvalidArgumentError if an element is infinite or NaN (`tf.debugging.assert_all_finite`)."""
    return check_numerics(x, message, name)


class _Checking(Recorder):
    """A recorder that checks eager results in all threads."""

    def computed(
        self, op: Op, inputs: Sequence[Any], arrays: Sequence[Any], outputs: tuple[Any, ...], params: Mapping[str, Any],
    ) -> None:
        for x in outputs:
            if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_complex):
                what = place_of_result(op.name, user_position())
                _numerics_kernel(x.numpy(), message=f"{what} is not finite")


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Check each result of each op for infinity and NaN, including gradients, eagerly and in functions traced from now
    on: InvalidArgumentError, with the line, at the first one (`tf.debugging.enable_check_numerics`).

    The arguments have no effect.
    """
    settings.check_numerics = True
    forget_everywhere(_Checking)
    record_everywhere(_Checking())


def disable_check_numerics() -> None:
    """Stop checking (`tf.debugging.disable_check_numerics`); functions traced in between keep their checks."""
    settings.check_numerics = False
    forget_everywhere(_Checking)


# Tracebacks

def enable_traceback_filtering() -> None:
    """Show the user's frames only in tracebacks of traced functions, as by default
    (`tf.debugging.enable_traceback_filtering`)."""
    settings.filters_tracebacks = True


def disable_traceback_filtering() -> None:
    """Show the frames of this package, too (`tf.debugging.disable_traceback_filtering`), except those of converted
    code, and do not replay those of an op that fails while a graph runs: the message says where that is."""
    settings.filters_tracebacks = False


def is_traceback_filtering_enabled() -> bool:
    """Whether tracebacks show the user's frames only (`tf.debugging.is_traceback_filtering_enabled`)."""
    return settings.filters_tracebacks


hint_at_public_names(__name__)

"""The text of tensors as TF prints them: large ones by their first and last elements."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from runtime.core import types as t
from runtime.core.op import Op, Sample
from runtime.core.positions import located
from runtime.core.string_arrays import boxed, string_array
from runtime.core.tensor import Tensor
from runtime.core.text import show
from runtime.core.trace import convert_to_tensor
from runtime.core.types import TensorType, Type
from runtime.ops.op_makers import apply_one, named

__all__ = ["format_text", "number_text", "summary", "unquoted"]

_ESCAPES: Final = str.maketrans({
    **{chr(code): f"\\{code:03o}" for code in (*range(32), 127)},
    "\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "'": r"\'", "\\": r"\\"})


def number_text(x: Any) -> str:
    """A scalar as TF2 prints it: 1 for 1.0 and for True, a string quoted and escaped as in C."""
    if type(x) is bytes:
        return f'"{x.decode(errors="replace").translate(_ESCAPES)}"'
    if x.dtype.kind == "b":
        return str(int(x))
    return str(x) if x.dtype.kind in "iuc" else _float_text(x)


def _float_text(x: Any) -> str:
    """A float with the digits that its type always keeps, or if it is another number then, with all that it may need:
    those of 16 bits as float32."""
    short, full, read = (15, 17, float) if x.dtype == np.float64 else (6, 9, np.float32)
    value = float(x)
    text = f"{value:.{short}g}"
    return text if read(text) == value or value != value else f"{value:.{full}g}"


def summary(x: Any, spec: str, summarize: int) -> str:
    """An array as `tf.print` shows it: up to `summarize` first and last elements of each dimension."""
    if spec not in ("", "!r") or not hasattr(x, "dtype"):
        return show(x, spec)
    return _rows(x, summarize, 1)


def unquoted(x: Any, spec: str) -> str:
    """A scalar string as `tf.print` shows it where it prints nothing else."""
    text: str = x[()].decode(errors="replace")
    return text


def _rows(x: Any, summarize: int, indent: int) -> str:
    if not x.ndim:
        return number_text(x[()])
    cut = summarize >= 0 and len(x) > 2 * summarize
    shown = [*x[:summarize], *x[len(x) - summarize:]] if cut else x
    parts = [_rows(np.asarray(boxed(row)), summarize, indent + 1) for row in shown]
    if cut:
        parts.insert(summarize, "...")
    separator = " " if x.ndim == 1 else "\n" * (x.ndim - 1) + " " * indent
    return f"[{separator.join(parts)}]"


# format

def _format_kernel(*arrays: Any, pieces: tuple[str, ...], summarize: int) -> Any:
    shown = [summary(np.asarray(boxed(array)), "", summarize) for array in arrays]
    text = "".join(part for pair in zip(pieces, [*shown, ""], strict=True) for part in pair)
    return string_array(text)


def _format_rule(*types: Type, pieces: tuple[str, ...], summarize: int) -> TensorType:
    return TensorType(t.string, ())


def _format_samples(rng: np.random.Generator) -> Iterable[Sample]:
    yield (np.arange(9), np.float32(1.5)), {"pieces": ("a ", ", ", ""), "summarize": 2}
    yield (string_array(["a", "b"]),), {"pieces": ("", "!"), "summarize": -1}


_FORMAT: Final = Op("string_format", _format_kernel, _format_rule, samples=_format_samples,
                    doc="Text with tensors between its pieces, as TF prints them.")


def format_text(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """The template with each placeholder replaced by a tensor as `tf.print` shows it, as a string
    (`tf.strings.format`). ValueError if the numbers of placeholders and tensors differ."""
    tensors = [convert_to_tensor(x, strings=True) for x in (inputs if isinstance(inputs, (list, tuple)) else [inputs])]
    pieces = tuple(template.split(placeholder))
    if len(pieces) != len(tensors) + 1:
        raise located(ValueError(f"The template expects {len(pieces) - 1} tensors, but the inputs only has "
                                 f"{len(tensors)}. Please ensure the number of placeholders in template matches "
                                 "inputs length."))
    return named(apply_one(_FORMAT, *tensors, pieces=pieces, summarize=summarize), name)

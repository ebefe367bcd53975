"""Losses, and the encodings of classes for them."""
from __future__ import annotations

import warnings
from typing import Any

from keras.src.backend import config

from runtime.core.tensor import Tensor
from runtime.keras.backend import sparse as of_sparse
from runtime.keras.backend.numpy.reductions import mean
from runtime.keras.backend.promotion import agreed, floating, in_dtype, tensor
from runtime.ops import creation, logic, math, nn, reduction
from runtime.ops import shape as shapes

__all__ = ["binary_crossentropy", "categorical_crossentropy", "multi_hot", "one_hot", "psnr",
           "sparse_categorical_crossentropy"]


def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    """1 where the class equals the element of x, else 0; all 0 for an element that is not a class."""
    name = tensor(0, dtype or "float32").dtype.name
    if sparse:
        return of_sparse.one_hot(x, num_classes, axis, name)
    x = tensor(x)
    if not x.dtype.is_integer:
        x = in_dtype(x, "int32")
    axis = axis if axis >= 0 else axis + x.ndim + 1
    classes = in_dtype(creation.range(num_classes), x.dtype.name)
    rest = x.ndim - axis
    same = logic.equal(shapes.expand_dims(x, axis), shapes.reshape(classes, [num_classes] + [1] * rest))
    return in_dtype(same, name)


def multi_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    name = tensor(0, dtype or "float32").dtype.name
    if sparse:
        return of_sparse.multi_hot(x, num_classes, axis, name)
    x = in_dtype(tensor(x), "int32")
    found = one_hot(x, num_classes, axis, "int32")
    return in_dtype(reduction.reduce_max(found, 1 if x.ndim > 1 else 0), name)


def _same_shapes(target: Tensor, output: Tensor) -> None:
    if len(target.type.shape) != len(output.type.shape) or any(
            None not in pair and pair[0] != pair[1] for pair in zip(target.type.shape, output.type.shape, strict=True)):
        raise ValueError("Arguments `target` and `output` must have the same shape. Received: "
                         f"target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}")


def _logits(output: Any, from_logits: bool, op: str, loss: str) -> tuple[Tensor, bool]:
    """The output and whether it is logits. Probabilities that `op` has computed are exchanged for what it got, since
    those of 0 and 1 have no gradient: in graphs for any softmax or sigmoid, eagerly for those of Keras only."""
    logits = getattr(output, "_keras_logits", None)
    if logits is None and isinstance(output, Tensor):
        logits = nn.logits_of(output, op)
    if logits is None:
        return floating(output), from_logits
    if from_logits:
        warnings.warn(f'"`{loss}` received `from_logits=True`, but the `output` argument was produced by a '
                      f"{op.capitalize()} activation and thus does not represent logits. Was this intended?",
                      stacklevel=3)
    return floating(logits), True


def _check_rank(output: Tensor) -> None:
    if not output.ndim:
        raise ValueError("Arguments `target` and `output` must be at least rank 1. Received: "
                         f"output.shape={tuple(output.shape)}")


def _clipped(x: Tensor) -> Tensor:
    return math.minimum(math.maximum(x, config.epsilon()), 1.0 - config.epsilon())


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    logits, from_logits = _logits(output, from_logits, "softmax", "categorical_crossentropy")
    target, output = tensor(target), floating(output)
    _check_rank(output)
    _same_shapes(target, output)
    if from_logits:
        found = nn.log_softmax(logits, axis)
    else:
        found = math.log(_clipped(output / reduction.reduce_sum(output, axis, True)))
    target, found = agreed(target, found)
    return -reduction.reduce_sum(target * found, axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    output, from_logits = _logits(output, from_logits, "softmax", "sparse_categorical_crossentropy")
    target = in_dtype(tensor(target), "int32")
    _check_rank(output)
    if target.ndim == output.ndim and target.type.shape[-1] == 1:
        target = shapes.squeeze(target, [target.ndim - 1])
    found = nn.log_softmax(output if from_logits else math.log(_clipped(output)), axis)
    if target.ndim != output.ndim - 1 or any(None not in pair and pair[0] != pair[1] for pair in zip(
            target.type.shape, output.type.shape[:-1], strict=True)):
        raise ValueError("Arguments `target` and `output` must have the same shape up until the last dimension: "
                         f"target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}")
    axis %= output.ndim
    same = one_hot(target, shapes.dim(output, axis), axis, output.dtype.name)
    return -reduction.reduce_sum(same * found, axis)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    logits, from_logits = _logits(output, from_logits, "sigmoid", "binary_crossentropy")
    target, output = tensor(target), floating(output)
    _same_shapes(target, output)
    target, output = agreed(target, logits if from_logits else output)
    if from_logits:
        return math.softplus(output) - output * target  # type: ignore[no-any-return]
    share = _clipped(output)
    return -(target * math.log(share) + (1.0 - target) * math.log(1.0 - share))  # type: ignore[no-any-return]


def psnr(x1: Any, x2: Any, max_val: Any) -> Tensor:
    x1, x2 = tensor(x1), tensor(x2)
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(f"Input shapes {tuple(x1.shape)} and {tuple(x2.shape)} must match for PSNR calculation. ")
    x, y = agreed(x1, x2)
    error = mean(math.square(x - y))
    most = in_dtype(max_val if isinstance(max_val, (int, float)) else tensor(max_val), error.dtype.name)
    return math.log10(most) * 20 - math.log10(error) * 10



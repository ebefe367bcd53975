"""Functions of Keras' `backend.numpy` for sparse tensors: which of them have sparse results. All other functions make a
sparse argument dense (`promotion.tensor`)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import runtime as rt
from runtime.core.tensor import Tensor
from runtime.keras.backend.core import cast, convert_to_tensor
from runtime.keras.backend.promotion import accumulated, floating, is_scalar, name_of, result, tensor
from runtime.ops import sparse, sparse_shapes
from runtime.ops.shape import product
from runtime.ops.sparse import IndexedSlices, SparseTensor, is_sparse

__all__ = ["bincount", "multi_hot", "one_hot", "with_sparse"]

Function = Callable[..., Any]


def _of_values(function: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The rule of an element-wise function that maps 0 to 0. As on TensorFlow, it is applied to each of several rows of
    `IndexedSlices` for one position, which are not added before, also where it is not linear."""
    return sparse.map_values(function, x, *args, **kwargs)


def _of_union(function: Function, x1: Any, x2: Any) -> Any:
    """The rule of a function of two elements that maps two zeros to 0."""
    if is_sparse(x1) and is_sparse(x2):
        return sparse.combined(function, x1, x2, linear=isinstance(x1, IndexedSlices))
    return function(x1, x2)


def _operand(x: Any) -> Any:
    return x if is_sparse(x) or is_scalar(x) else tensor(x)


def _clip(function: Function, x: Any, x_min: Any, x_max: Any) -> Any:
    return sparse.map_values(function, x, x_min, x_max) if isinstance(x, IndexedSlices) else function(x, x_min, x_max)


def _multiply(function: Function, x1: Any, x2: Any) -> Any:
    if is_sparse(x1) and is_sparse(x2):
        if isinstance(x1, IndexedSlices) and x1.indices is x2.indices:
            return x1.__with_rows__(function(x1.values, x2.values))
        return sparse.combined(function, x1, x2, in_both=True)
    x, y = (x1, x2) if is_sparse(x1) else (x2, x1)
    return sparse.scaled(function, x, _operand(y))


def _divide(function: Function, x1: Any, x2: Any) -> Any:
    return function(x1, x2) if is_sparse(x2) else sparse.divided(function, x1, _operand(x2))


def _matmul(function: Function, x1: Any, x2: Any) -> Any:
    if isinstance(x1, IndexedSlices) or isinstance(x2, IndexedSlices):
        return function(x1, x2)
    x, y = _operand(x1), _operand(x2)
    name = result(name_of(x), name_of(y))
    return sparse.matmul(cast(x, name), cast(y, name))


def _sum(function: Function, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return sparse.reduce_sum(sparse.map_values(lambda values: accumulated(tensor(values)), x), axis, keepdims,
                             output_is_sparse=True)


def _mean(function: Function, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    name = floating(x.values).dtype.name
    total = sparse.reduce_sum(cast(x, result(name, "float32")), axis, keepdims, output_is_sparse=True)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    return cast(total / rt.cast(product([sparse.sizes_of(x)[i] for i in axes]), total.dtype), name)


def _shaped(of_sparse: Function) -> Function:
    """The rule of a function that moves elements; `IndexedSlices` are made dense."""
    def rule(function: Function, x: Any, *args: Any, **kwargs: Any) -> Any:
        return (of_sparse if isinstance(x, SparseTensor) else function)(x, *args, **kwargs)

    return rule


def _expand_dims(x: SparseTensor, axis: Any) -> SparseTensor:
    axes = [axis] if isinstance(axis, int) else axis
    for one in sorted([i % (x.ndim + len(axes)) for i in axes]):
        x = sparse_shapes.expand_dims(x, one)
    return x


def _reshape(x: SparseTensor, newshape: Any) -> SparseTensor:
    sizes = newshape if isinstance(newshape, Sequence) else [newshape]
    return sparse_shapes.reshape(x, [-1 if size is None else size for size in sizes])


def _concatenate(function: Function, xs: Any, axis: int | None = 0) -> Any:
    if axis is None or not all(isinstance(x, SparseTensor) for x in xs):
        return function(xs, axis)
    name = result(*[x.dtype.name for x in xs])
    return sparse_shapes.concat(axis, [cast(x, name) for x in xs])


_RULES: Final[Mapping[str, Function]] = {
    **dict.fromkeys(
        ("abs", "absolute", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "conj", "conjugate", "copy", "digitize",
         "expm1", "floor", "imag", "isinf", "isnan", "log1p", "negative", "real", "round", "sign", "signbit", "sin",
         "sinh", "sqrt", "square", "tan", "tanh"), _of_values),
    **dict.fromkeys(("add", "subtract", "maximum", "minimum"), _of_union),
    "clip": _clip,
    "multiply": _multiply,
    **dict.fromkeys(("divide", "true_divide"), _divide),
    "matmul": _matmul,
    "sum": _sum,
    "mean": _mean,
    "transpose": _shaped(lambda x, axes=None: sparse_shapes.transpose(x, axes)),
    "squeeze": _shaped(lambda x, axis=None: sparse_shapes.squeeze(x, axis)),
    "expand_dims": _shaped(_expand_dims),
    "reshape": _shaped(_reshape),
    "concatenate": _concatenate,
}
"""By name of a function of `backend.numpy`: its rule, which gets the dense function and the arguments."""


def with_sparse(functions: Mapping[str, Any]) -> dict[str, Function]:
    """The functions with a rule for sparse arguments, extended by that rule."""
    return {name: _by_rule(functions[name], rule) for name, rule in _RULES.items()}


def _by_rule(function: Function, rule: Function) -> Function:
    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        arguments: Iterable[Any] = (*args, *kwargs.values())
        if any(is_sparse(x) or (isinstance(x, (list, tuple)) and any(map(is_sparse, x))) for x in arguments):
            return rule(function, *args, **kwargs)
        return function(*args, **kwargs)

    return either


# Functions whose argument `sparse` requests a sparse result.

def one_hot(x: Any, num_classes: Any, axis: int, dtype: Any) -> SparseTensor:
    """1 where the class equals the element of `x`; no entry for an element that is not a class."""
    x = rt.cast(convert_to_tensor(x), "int64")
    where = rt.where(rt.logical_and(x >= 0, x < num_classes))
    columns = [where[:, i] for i in range(x.ndim)]
    sizes = list(sparse.sizes_of(x))
    axis = axis if axis >= 0 else axis + x.ndim + 1
    columns.insert(axis, rt.gather_nd(x, where))
    sizes.insert(axis, num_classes)
    return SparseTensor(rt.stack(columns, axis=1), rt.ones([rt.shape(where)[0]], dtype), sizes)


def multi_hot(x: Any, num_classes: Any, axis: int, dtype: Any) -> SparseTensor:
    """1 for the classes that occur in `x` along its second axis, or along its only one."""
    found = one_hot(x, num_classes, axis, "int32")
    kept = sparse.reduce_sum(found, 1 if found.ndim > 2 else 0, output_is_sparse=True)
    made: SparseTensor = sparse.map_values(lambda counts: cast(counts > 0, dtype), kept)
    return made


def bincount(x: Any, weights: Any, minlength: int) -> SparseTensor:
    """How often each number occurs, in each row of `x`; of a sparse tensor only the stored values count.
    InvalidArgumentError for sparse weights at other positions."""
    if is_sparse(x):
        rows, values = x.indices[:, :-1], x.values
        if is_sparse(weights):
            if weights.indices is not x.indices:
                rt.debugging.assert_equal(x.indices, weights.indices, "x and weights have the same indices")
            weights = weights.values
    else:
        x = tensor(x)
        where = rt.where(rt.ones_like(x, dtype=rt.bool))
        rows, values = where[:, :-1], rt.reshape(x, [-1])
    counted: Tensor = rt.ones_like(values, dtype=rt.int32) if weights is None else rt.reshape(tensor(weights), [-1])
    values = rt.cast(values, rt.int64)
    size = rt.maximum(rt.reduce_max(rt.concat([values, [-1]], 0)) + 1, rt.cast(minlength, rt.int64))
    where = rt.concat([rows, values[:, None]], 1)
    found: SparseTensor = sparse.without_duplicates(SparseTensor(where, counted, [*sparse.sizes_of(x)[:-1], size]))
    return found

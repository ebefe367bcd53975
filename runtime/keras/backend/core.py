"""Variables, conversion, shapes and dtypes (Keras' `backend.core`)."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.name_scope import current_path
from keras.src.backend.common.name_scope import name_scope as _name_scope
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope
from keras.src.backend.config import floatx

import runtime as rt
from autograph import register
from runtime.core.graph import Graph
from runtime.core.positions import scope
from runtime.core.trace import add_input, as_plain_tensor, current_graph, stands_for_array, tracing
from runtime.core.types import TensorType
from runtime.keras.backend.control_flow import (
    associative_scan,
    cond,
    fori_loop,
    map,
    scan,
    switch,
    vectorized_map,
    while_loop,
)
from runtime.keras.backend.foreign import is_foreign_sparse, sparse_tensor_of
from runtime.keras.backend.updates import scatter, scatter_update, slice, slice_update, unstack
from runtime.ops.sparse import IndexedSlices, SparseTensor, dense_of, is_sparse, map_values, sizes_of
from runtime.staging.aliases.body_tracing import checkpoint, rollback
from runtime.staging.backend import BACKEND

__all__ = [
    "IS_THREAD_SAFE",
    "SUPPORTS_COMPLEX_DTYPES",
    "SUPPORTS_RAGGED_TENSORS",
    "SUPPORTS_SPARSE_TENSORS",
    "Variable",
    "associative_scan",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "device_scope",
    "fori_loop",
    "is_tensor",
    "map",
    "name_scope",
    "random_seed_dtype",
    "remat",
    "scan",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
    "switch",
    "unstack",
    "vectorized_map",
    "while_loop",
]

SUPPORTS_SPARSE_TENSORS: Final = True
SUPPORTS_RAGGED_TENSORS: Final = False
SUPPORTS_COMPLEX_DTYPES: Final = True
IS_THREAD_SAFE: Final = True


class name_scope(_name_scope):  # type: ignore[misc]
    """Keras' scope of a layer's name; the nodes of graphs traced in it get the name, too."""

    def __enter__(self) -> Any:
        found = super().__enter__()
        self._outer, scope.path = scope.path, current_path()
        return found

    def __exit__(self, *args: Any, **kwargs: Any) -> None:
        scope.path = self._outer
        super().__exit__(*args, **kwargs)


_UNKNOWN: Final = (83, 89)
"""Two sizes that stand for an unknown dimension: a dimension of the result that is equal for both is known. They are
primes that layers hardly use as sizes, so that products or remainders of sizes are not equal by accident."""


class Variable(KerasVariable):  # type: ignore[misc]
    """A Keras variable over an `rt.Variable`, whose value traced functions read and write in program order."""

    def __init__(self, initializer: Any, shape: Any = None, dtype: Any = None, **options: Any) -> None:
        dtype = "int64" if dtype == "int" else dtype  # counts, such as an optimizer's iterations, as on TensorFlow
        super().__init__(initializer, shape, dtype, **options)

    def _initialize(self, value: Any) -> None:
        with rt.init_scope():
            self._value = rt.Variable(convert_to_tensor(value), trainable=self._trainable, name=self._path)

    def _initialize_with_initializer(self, initializer: Callable[..., Any]) -> None:
        with rt.init_scope():
            self._initialize(self._convert_to_tensor(initializer(self._shape, dtype=self._dtype), dtype=self._dtype))

    def _direct_assign(self, value: Any) -> None:
        self._value.assign(value)

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> Any:
        return dense(value, dtype)

    @property
    def value(self) -> Any:
        """The current value as a tensor; in a traced function, the value at this point of the run."""
        value = super().value
        return value.value() if isinstance(value, rt.Variable) else value

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the variable and optimizers update it."""
        trainable: bool = self._trainable
        return trainable

    @trainable.setter
    def trainable(self, value: Any) -> None:
        self._trainable = bool(value)
        if isinstance(self._value, rt.Variable):
            self._value.trainable = self._trainable

    @property
    def type(self) -> Any:
        return self._value.type

    def __tensor__(self) -> Any:
        return self.value

    def __variable__(self) -> Any:
        """The variable with respect to which tapes differentiate."""
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.value.__array__(dtype, copy)


register(Variable, BACKEND)


def convert_to_tensor(x: Any, dtype: Any = None, sparse: bool | None = None, ragged: bool | None = None) -> Any:
    """A tensor for `x` in `dtype`. Without a dtype, values that have one keep it, and Python floats get Keras'
    `floatx`. A SparseTensor stays sparse, unless `sparse` is false; IndexedSlices do, as in Keras on TensorFlow."""
    if ragged:
        raise ValueError("`ragged=True` is not supported with the runtime backend")
    dtype = None if dtype is None else standardize_dtype(dtype)
    if isinstance(x, (KerasVariable, rt.Variable)):
        x = x.value if isinstance(x, KerasVariable) else x.value()
    elif is_foreign_sparse(x):
        x = sparse_tensor_of(x)
    if is_sparse(x):
        if sparse is None or sparse or isinstance(x, IndexedSlices):
            return x if dtype is None or x.dtype.name == dtype else map_values(lambda v: rt.cast(v, dtype), x)
        x = dense_of(x)
    x = as_plain_tensor(x) if isinstance(x, rt.Tensor) else _from_python(x, dtype)
    return x if dtype is None or x.dtype.name == dtype else rt.cast(x, dtype)


def dense(x: Any, dtype: Any = None) -> Any:
    """`convert_to_tensor`, where sparse tensors and IndexedSlices become dense."""
    return convert_to_tensor(dense_of(x) if is_sparse(x) else x, dtype=dtype, sparse=False)


def _from_python(x: Any, dtype: str | None) -> Any:
    if isinstance(x, KerasTensor):
        raise ValueError("a KerasTensor is symbolic: it has no value before the model is called. Use keras.ops, or a "
                         "layer, on it.")
    if isinstance(x, (np.ndarray, np.generic)):
        return rt.convert_to_tensor(x if dtype is None or x.dtype == dtype else _array(x, dtype))
    if dtype is None:
        dtype = _natural_dtype(x)
    if isinstance(x, (list, tuple)) and any(isinstance(leaf, (rt.Tensor, KerasVariable)) for leaf in tree.flatten(x)):
        return rt.stack([convert_to_tensor(item, dtype) for item in x])
    return rt.convert_to_tensor(_array(x, dtype))


def _natural_dtype(x: Any) -> str:
    """The dtype of a Python value: the result type of the tensors and numbers in it."""
    leaves = tree.flatten(x)
    if not leaves:
        return str(floatx())
    return str(result_type(*[getattr(leaf, "dtype", type(leaf)) for leaf in leaves]))


def _array(x: Any, dtype: str) -> Any:
    return np.asarray(x).astype(rt.as_dtype(dtype).as_numpy_dtype)


def convert_to_numpy(x: Any) -> Any:
    """A NumPy array that the caller may change."""
    if isinstance(x, (KerasVariable, rt.Variable)) or is_sparse(x):
        x = dense(x)
    if isinstance(x, (list, tuple)):
        x = [convert_to_numpy(item) if isinstance(item, (rt.Tensor, KerasVariable)) else item for item in x]
    return np.array(x)


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor. An array of NumPy in a trace is converted first, as outside of traces."""
    return (isinstance(x, rt.Tensor) and not stands_for_array(x)) or is_sparse(x)


def shape(x: Any) -> tuple[Any, ...]:
    """The sizes: ints, or integer scalars where a size of a graph is known only at run time."""
    if is_sparse(x):
        return sizes_of(x)
    if not hasattr(x, "shape"):
        x = convert_to_tensor(x)
    known = tuple(x.shape)
    if None in known and isinstance(x, rt.Tensor):
        sizes = rt.shape(x)
        return tuple(sizes[i] if size is None else size for i, size in enumerate(known))
    return known


def cast(x: Any, dtype: Any) -> Any:
    return convert_to_tensor(x, dtype=dtype)


def stop_gradient(variable: Any) -> Any:
    x = convert_to_tensor(variable)
    return map_values(rt.stop_gradient, x) if is_sparse(x) else rt.stop_gradient(x)


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = rt.custom_gradient(fun)
    return made


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with rematerialisation: the backward pass runs it again instead of saving its intermediate values."""
    return rt.recompute_grad(f)


def random_seed_dtype() -> str:
    return "int64"


def device_scope(device_name: Any) -> AbstractContextManager[None]:
    """The only device is the CPU. ValueError for another."""
    if str(device_name).lower().split(":")[0] not in ("cpu", "/cpu", "/device"):
        raise ValueError(f"the runtime backend runs on the CPU, there is no device {device_name!r}")
    return nullcontext()


# Shapes and dtypes without values.

class _ShapeScope(StatelessScope):  # type: ignore[misc]
    """Variables are assigned in the graph that is traced for shapes, and discarded with it. So assignments happen in
    program order, also in branches: Keras' record of updates would leak the branches' tensors."""

    def add_update(self, update: tuple[Any, Any]) -> None:
        variable, value = update
        if variable._value is None:  # created in this scope, initialised later
            super().add_update(update)
        else:
            variable._direct_assign(value)


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of `fn`, with a KerasTensor for each tensor. Nothing is computed: `fn` is traced."""
    result = _specs(fn, args, kwargs, _UNKNOWN[0])
    if any(isinstance(x, KerasTensor) and None in x.shape for x in tree.flatten((args, kwargs))):
        result = tree.map_structure(_common, result, _specs(fn, args, kwargs, _UNKNOWN[1]))
    return result


def _common(x: Any, y: Any) -> Any:
    if not isinstance(x, KerasTensor):
        return x
    sizes = [m if m == n else None for m, n in zip(x.shape, y.shape, strict=True)]
    return KerasTensor(sizes, x.dtype, sparse=x.sparse)


def _specs(fn: Callable[..., Any], args: Any, kwargs: Any, unknown: int) -> Any:
    """The result of `fn`, traced with `unknown` in place of unknown dimensions, as KerasTensors of known shapes."""
    mark = checkpoint()
    graph = Graph("output spec", parent=current_graph())

    def as_input(x: Any) -> Any:
        if not isinstance(x, KerasTensor):
            return x
        sizes = tuple([unknown if size is None else size for size in x.shape])
        if not x.sparse:
            return add_input(graph, TensorType(rt.as_dtype(x.dtype), sizes))
        return SparseTensor(add_input(graph, TensorType(rt.int64, (None, len(sizes)))),
                            add_input(graph, TensorType(rt.as_dtype(x.dtype), (None,))), sizes)

    def as_spec(x: Any) -> Any:
        if not is_tensor(x) and not isinstance(x, KerasVariable):
            return x
        return KerasTensor(tuple(x.shape), standardize_dtype(x.dtype), sparse=is_sparse(x))

    try:
        with tracing(graph, BACKEND), _ShapeScope(), SymbolicScope():
            inputs, named = tree.map_structure(as_input, (args, kwargs))
            return tree.map_structure(as_spec, fn(*inputs, **named))
    finally:
        graph.is_over = True
        rollback(mark)

"""Elements of datasets as flat tuples of arrays, and the functions that datasets apply to them."""
from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import autograph as ag
from autograph.backend import restored
from runtime.core.errors import DTypeError, ShapeError, StagingError, UnimplementedError
from runtime.core.generator_frames import with_generators
from runtime.core.graph import Graph, Value
from runtime.core.op import CAST
from runtime.core.positions import located
from runtime.core.pruning import prune
from runtime.core.string_arrays import boxed
from runtime.core.tensor import EagerTensor, Tensor
from runtime.core.trace import add_input, apply, convert_to_tensor, current_graph, set_outputs, tracing, watching, wrap
from runtime.core.types import (
    DType,
    TensorSpec,
    TensorType,
    compatible_shapes,
    dtype_of,
    int64,
    join_shapes,
    type_of_array,
)
from runtime.data.pipeline import Block, Blocks, Element, Elements, Pipeline, flat, packed, spec_of, types_of
from runtime.function.execution.executors import make
from runtime.function.variables.variable import Creation
from runtime.numbers.widen_python_numbers import with_python_numbers
from runtime.ops.effects import has_raise
from runtime.ops.host_functions import ranks
from runtime.ops.sparse import SparseTensor
from runtime.optimize import rewrite
from runtime.staging.aliases.body_tracing import Unreachable
from runtime.staging.backend import BACKEND

__all__ = [
    "ElementFunction", "as_count", "as_tensors", "checked_spec", "fit", "join_specs", "one_by_one", "rebatched",
    "rows_of", "shapes_like", "splitter", "stacked",
]

class ElementFunction:
    """A function that a dataset applies to elements, traced for their types, which runs as one graph."""

    def __init__(self, fn: Callable[..., Any], spec: Any, elements: Any = ()) -> None:
        """`elements` are those that it is for, if they can be taken here: where a trace assumes ranks of results of
        Python functions, the first element tells them."""
        self.name = getattr(fn, "__name__", "step")
        with ranks.collecting() if current_graph() is None else contextlib.nullcontext():
            try:
                self._trace(fn, spec)
                failed = None
            except Exception as error:
                failed = error
            is_open = ranks.are_assumed() and current_graph() is None
        if is_open and _tells_ranks(fn, elements):
            self._trace(fn, spec)
        elif failed is not None:
            raise failed
        graph = self.graph
        prune(graph)
        self.captures = [wrap(outer) if isinstance(outer, Value) else outer for outer, _ in graph.captures]
        graph.inputs[:0] = [inner for _, inner in graph.captures]  # the values of a dataset's sources are known late
        graph.captures.clear()
        graph.parent, graph.is_over = None, True
        self._run: Callable[..., Sequence[Any]] | None = None

    def _trace(self, fn: Callable[..., Any], spec: Any) -> None:
        def trace() -> tuple[Graph, Any]:
            graph = Graph(self.name, current_graph())
            element = packed(spec, [add_input(graph, type) for type in types_of(spec)])
            with tracing(graph, BACKEND), watching(None), Creation(False, {}):
                converted = ag.convert_traced(fn)
                try:
                    found = converted(*element) if isinstance(element, tuple) else converted(element)
                    found = as_tensors(tuple(found) if type(found) is list else found)  # whose parts may differ
                except (Unreachable, Exception) as error:
                    if isinstance(error, StagingError) or not (isinstance(error, Unreachable) or has_raise(graph)):
                        raise
                    raise located(StagingError(
                        f"{self.name} raises for every element, so the type of its results is not known",
                        remedy="Return a result on one path, or raise in the loop over the dataset.")) from None
                set_outputs(graph, flat(found))
                return graph, found

        self.graph, self.result = with_generators(lambda: restored(trace))

    def spec(self) -> Any:
        """The structure of the result."""
        return spec_of(self.result)

    def check_predicate(self) -> None:
        outputs = self.graph.outputs
        if len(outputs) != 1 or str(outputs[0].type) != "bool[]":
            raise located(DTypeError(f"{self.name} gives {', '.join(str(v.type) for v in outputs)}, "
                                      "but a predicate gives a bool scalar"))

    def check_integer(self, what: str) -> None:
        """TypeError unless the result is one integer scalar."""
        types = [value.type for value in self.graph.outputs]
        type = types[0] if len(types) == 1 else None
        if not isinstance(type, TensorType) or type.shape != () or not type.dtype.is_integer:
            raise located(DTypeError(f"{self.name} gives {', '.join(map(str, types))}, but {what} gives an int scalar"))

    def dataset(self, what: str) -> Pipeline:
        """The result of a function that returns a dataset; the results of a run are its sources. TypeError for another
        result."""
        if not isinstance(self.result, Pipeline):
            raise located(TypeError(f"the function of {what} gives a dataset, but {self.name} gives {self.spec()!r}"))
        return self.result

    def bind(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Callable[..., Sequence[Any]]]:
        """The values of the preceding dataset's sources, and the function on arrays."""
        count = len(arrays) - len(self.captures)
        if self._run is None:
            self._run = make(rewrite(with_python_numbers(self.graph)), None).function()
        return arrays[:count], functools.partial(self._run, *arrays[count:]) if self.captures else self._run


def _tells_ranks(fn: Callable[..., Any], elements: Any) -> bool:
    """Whether `fn` of the first element tells other ranks of results of Python functions than a trace assumes. What
    else it does there, and its errors, are left to the iteration."""
    draws = getattr(elements, "draws", ())
    rounds, known = [each.round for each in draws], dict(ranks.known)
    try:
        with ranks.learning(), contextlib.suppress(Exception):
            for element in elements:
                fn(*element) if isinstance(element, tuple) else fn(element)
                break
    finally:
        for each, number in zip(draws, rounds, strict=True):
            each.round = number
    return ranks.known != known


def as_tensors(structure: Any) -> Any:
    """A structure of tuples and dicts with tensors and datasets as leaves: lists become tensors."""
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        kind: Any = type(structure)
        return kind(*map(as_tensors, structure))
    if isinstance(structure, tuple):
        return tuple(map(as_tensors, structure))
    if isinstance(structure, Mapping):
        kind = type(structure)
        return kind({key: as_tensors(value) for key, value in structure.items()})
    if isinstance(structure, Pipeline):
        return structure
    if isinstance(structure, SparseTensor):
        raise located(UnimplementedError(
            "a SparseTensor is no element of a dataset, nor a part of one",
            remedy="Give rt.sparse.to_dense(x); or, for one element, its parts, (x.indices, x.values, x.dense_shape),"
                   " of which rt.SparseTensor(*parts) makes it again."))
    if isinstance(structure, np.memmap):
        return EagerTensor(structure)  # not copied: unused parts are not read
    return convert_to_tensor(structure, strings=True)


def as_count(value: Any) -> Tensor:
    """An integer argument of a dataset as an int64 scalar, which may be a tensor of a graph."""
    tensor = convert_to_tensor(value, dtype_hint=int64)
    if tensor.type.shape or not tensor.dtype.is_integer:
        raise located(DTypeError(f"a dataset counts with integer scalars, not {tensor.type}"))
    result = tensor if tensor.dtype is int64 else apply(CAST, tensor, dtype=int64)
    assert isinstance(result, Tensor)
    return result


def splitter(parts: Sequence[Any]) -> Callable[[Sequence[Any]], list[Sequence[Any]]]:
    """A function that splits the concatenated sources of several datasets."""
    ends = list(itertools.accumulate(len(part.sources) for part in parts))
    return lambda arrays: [arrays[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def stacked(rows: Sequence[Any]) -> Any:
    try:
        return np.stack(rows)
    except ValueError:
        shapes = sorted({np.shape(row) for row in rows})
        raise ShapeError(f"elements of different shapes do not make a batch: {' and '.join(map(str, shapes))}",
                         remedy="Bring them to one shape in a map before, or use batch(1).") from None


def rows_of(block: Sequence[Any]) -> Iterator[Element]:
    """The elements of a block, one by one; strings become arrays of rank 0."""
    return zip(*[map(boxed, rows) if isinstance(rows, np.ndarray) and rows.dtype == object and rows.ndim == 1 else rows
                 for rows in block], strict=True)


def one_by_one(blocks: Blocks) -> Elements:
    """Elements from blocks."""
    return lambda arrays: itertools.chain.from_iterable(map(rows_of, blocks(arrays)))


def rebatched(blocks: Iterator[Block], size: int, whole: bool) -> Iterator[Element]:
    """Batches of exactly `size` rows, except the last, smaller one, which is dropped if `whole`."""
    rest: list[Block] = []
    count = 0
    for block in blocks:
        if not len(block[0]):
            continue
        rest.append(block)
        count += len(block[0])
        if count < size:
            continue
        joined = _joined(rest)
        for start in range(0, count - size + 1, size):
            yield tuple([rows[start:start + size] for rows in joined])
        done = count - count % size
        rest, count = [[rows[done:] for rows in joined]] if count % size else [], count % size
    if rest and not whole:
        yield tuple(_joined(rest))


def _joined(blocks: Sequence[Block]) -> Block:
    return blocks[0] if len(blocks) == 1 else [np.concatenate(columns) for columns in zip(*blocks, strict=True)]


def join_specs(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    shape = join_shapes(a.type.shape, b.type.shape)
    if a.dtype is not b.dtype or shape is None:
        raise located(DTypeError(f"datasets of {a.type} and {b.type} do not concatenate"))
    return TensorSpec(shape, a.dtype)


def checked_spec(spec: Any) -> TensorSpec:
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"output_signature must hold rt.TensorSpec objects, not {spec!r}")
    spec.type  # noqa: B018  # an error if the rank is unknown
    return spec


def shapes_like(types: Any, shapes: Any) -> list[Any]:
    """The shape for each dtype of a structure. (`flatten` would also flatten shapes, which are lists or tuples.)"""
    if isinstance(types, (list, tuple)):
        return [x for t, s in zip(types, shapes, strict=True) for x in shapes_like(t, s)]
    if isinstance(types, Mapping):
        return [x for key in sorted(types) for x in shapes_like(types[key], shapes[key])]
    return [shapes]


def fit(element: Any, spec: Any, types: Sequence[TensorType]) -> Element:
    """The arrays of an element that a generator yielded."""
    flat = [element] if isinstance(spec, TensorSpec) else _flatten_like(element, spec)
    return tuple([_fit_one(x, type) for x, type in zip(flat, types, strict=True)])


def _flatten_like(element: Any, spec: Any) -> list[Any]:
    if isinstance(spec, TensorSpec):
        return [element]
    keys: Any = sorted(spec) if isinstance(spec, Mapping) else range(len(spec))
    fits = isinstance(element, Mapping) is isinstance(spec, Mapping) and hasattr(element, "__len__")
    if not fits or len(element) != len(spec):
        raise ShapeError(f"the generator yielded {element!r}, which does not have the structure {spec!r}")
    return [x for key in keys for x in _flatten_like(element[key], spec[key])]


def _cast(array: Any, dtype: DType) -> Any:
    """A NumPy array in another dtype, as NumPy casts it; None if that cannot hold a value."""
    if array.dtype.kind in "OSU" or (array.dtype.kind == "c" and not dtype.is_complex):
        return None
    try:
        with np.errstate(invalid="raise"):
            found = array.astype(dtype.np)
    except FloatingPointError:
        return None
    return None if array.dtype.kind in "iu" and dtype.is_integer and (found != array).any() else found


def _fit_one(x: Any, type: TensorType) -> Any:
    if isinstance(x, (np.ndarray, np.generic, Tensor)) and not type.dtype.is_string:
        array: Any = np.array(x)
        if dtype_of(array) is not type.dtype:
            array = None if isinstance(x, Tensor) else _cast(array, type.dtype)
        if array is None:
            actual = type_of_array(np.asarray(x))
            raise DTypeError(f"the generator yielded {actual}, but its output_signature says {type}")
    else:
        try:
            array = np.asarray(convert_to_tensor(x, dtype=type.dtype))
        except (TypeError, ValueError):
            raise DTypeError(f"the generator yielded {x!r}, but its output_signature says {type}") from None
    if not compatible_shapes(array.shape, type.shape):
        raise ShapeError(f"the generator yielded {type_of_array(array)}, but its output_signature says {type}")
    return array

"""Variables: state that lives between calls and is read and written in program order."""
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np

from autograph.backend import deferred, of_trace
from runtime.core import trace
from runtime.core.array_methods import ArrayMethods
from runtime.core.array_table import array_table
from runtime.core.errors import DTypeError, FailedPreconditionError, ShapeError, locate
from runtime.core.formatting import formatted
from runtime.core.graph import Value
from runtime.core.op import CAST
from runtime.core.positions import scope, staged_statement, user_position
from runtime.core.recording import record, record_read, recorders
from runtime.core.tensor import Array, EagerTensor, GraphTensor, Reference, Tensor
from runtime.core.text import ITEM, REPR, STR, Text, concat_text
from runtime.core.trace import apply, convert_to_tensor, current_graph, init_scope
from runtime.core.types import DType, TensorShape, TensorType, dtype_of
from runtime.function.variables.static_values import evaluate
from runtime.function.variables.variable_options import VariableAggregation, VariableSynchronization, option
from runtime.ops.gather import (
    gather_slices,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
)
from runtime.ops.gather_nd import gather_nd, with_places_in_batch
from runtime.ops.indexing import getitem, setitem
from runtime.ops.math import truediv, truncatediv
from runtime.ops.segments import segment_products
from runtime.ops.shape import dim, dims, reshape, size
from runtime.ops.variables import ACCUMULATE, ASSIGN, READ

if TYPE_CHECKING:
    from runtime.staging.values import trials
else:
    trials = deferred("runtime.staging.values.trials")

__all__ = ["Creation", "Variable", "creation", "name_scope"]

_SINGLETON: Final = (
    "rt.function only supports singleton rt.Variables created on the first call. Make sure the rt.Variable is "
    "only created once or created outside rt.function.")


class LateVariableError(ValueError):
    """A traced function creates a variable in a trace other than its first."""

    remedy = ""


def _late() -> LateVariableError:
    """The error for a variable that is made in a trace other than the first: here, or in the body of a statement,
    which every trace enters with the state from before it."""
    if (statement := staged_statement()) is None:
        return LateVariableError(_SINGLETON)
    kind, place = statement
    error = LateVariableError(
        f"{_SINGLETON} This one is made in the body of the `{kind}` at line {place.lineno}, which a tensor decides, so"
        f" what the body sets is known only when the graph runs, and each trace makes another")
    error.remedy = f"Make it before the `{kind}`, for example in `__init__`."
    return error


class Creation:
    """Whether the function being traced may create variables, and the variables it created.

    `known`: the arrays of the graph's inputs in the traced call, for initial values that depend on them.
    """

    def __init__(self, allowed: bool, known: Mapping[Value, Any]) -> None:
        self.allowed = allowed
        self.known = known
        self.created: list[Variable] = []
        self.sets_up = False
        """Whether any variables were created, also outside of the graph (`init_scope`), where each trace may do so, or
        by functions that were traced meanwhile. What the trace found not yet made is there for later ones."""

    def __enter__(self) -> Creation:
        self.outer = creation.current
        creation.current = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        creation.current = self.outer
        if self.outer is not None:
            self.outer.sets_up |= self.sets_up


class _Creations(threading.local):
    current: Creation | None = None
    scope: str = ""  # prefix of names, set by `name_scope`


creation: Final = of_trace(_Creations())


class name_scope:
    """Prefix the names of variables made inside with `name/` (`tf.name_scope`)."""

    def __init__(self, name: str | None, default_name: str | None = None, values: Any = None) -> None:
        self.name = name or default_name or ""
        self.prefix = f"{self.name}/" if self.name else ""
        self._outer: list[str] = []

    def __enter__(self) -> str:
        self._outer.append(creation.scope)
        creation.scope = f"{creation.scope}{self.prefix}" if self.prefix else ""
        scope.path = creation.scope.rstrip("/")
        return creation.scope

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        creation.scope = self._outer.pop()
        scope.path = creation.scope.rstrip("/")


def _binary(name: str) -> Callable[[Variable, Any], Tensor]:
    def operator(self: Variable, other: Any) -> Any:
        return getattr(Tensor, name)(self.__tensor__(), other)

    return operator


def _unary(name: str) -> Callable[[Variable], Tensor]:
    def operator(self: Variable) -> Any:
        return getattr(type(tensor := self.__tensor__()), name)(tensor)

    return operator


class Variable(ArrayMethods):
    """A tensor that can be assigned to (`tf.Variable`).

    `initial_value` is anything that converts to a tensor, or a function without arguments that returns it. It
    determines the dtype (unless `dtype` is given) and the shape, unless `shape` is a more general shape for all
    assigned values (`validate_shape=False`: any sizes). Operators and the methods of NumPy's arrays work on the current
    value; `v += x` makes `v` a tensor.

    `synchronization` and `aggregation` are kept and have no effect, as there is one device.

    Inside an `rt.function` reads and writes run in program order, and variables can be created only in its first trace
    (ValueError later), which is then repeated: the first call finds the variables as later ones do.
    """

    __slots__ = (
        "__weakref__", "_aggregation", "_mask", "_synchronization", "array", "constraint", "name", "trainable", "type")

    __array_priority__: ClassVar[int] = 100

    array: Array

    def __init__(
        self, initial_value: Any = None, trainable: bool | None = True, validate_shape: bool = True,
        caching_device: Any = None, name: str | None = None, variable_def: Any = None, dtype: Any = None,
        import_scope: Any = None, constraint: Callable[[Any], Any] | None = None, synchronization: Any = None,
        aggregation: Any = None, shape: Any = None, experimental_enable_variable_lifting: bool = True,
    ) -> None:
        try:
            self._synchronization = option(VariableSynchronization, "synchronization", synchronization)
            self._aggregation = option(VariableAggregation, "aggregation", aggregation)
            self._initialize(initial_value, validate_shape, name, dtype, shape)
        except Exception as exc:
            locate(exc, user_position())
            raise
        self.trainable = trainable is not False
        self.constraint = constraint

    def _initialize(
        self, initial_value: Any, validate_shape: bool, name: str | None, dtype: Any, shape: Any
    ) -> None:
        if initial_value is None:
            raise ValueError("a Variable needs an initial value")
        maker = creation.current if current_graph() is not None else None
        if maker is not None and not maker.allowed:
            raise _late()
        with init_scope():
            value = initial_value() if callable(initial_value) else initial_value
            if isinstance(value, GraphTensor):
                value = _initial_value(value, maker)
            array = np.asarray(convert_to_tensor(value, dtype=dtype, strings=True))
        array.setflags(write=False)
        self.array = array
        self.name = f"{creation.scope}{name or 'Variable'}:0"
        declared: tuple[int | None, ...] = array.shape
        if shape is not None:
            allowed = TensorShape(shape)
            if not allowed.is_compatible_with(array.shape):
                raise ShapeError(f"the initial value of variable '{self.name}' has shape {array.shape}, which shape="
                                 f"{allowed} does not allow")
            declared = tuple(allowed) if allowed else (None,) * array.ndim
        elif not validate_shape:
            declared = (None,) * array.ndim
        self.type = TensorType(dtype_of(array), declared)
        if creation.current is not None:
            creation.current.sets_up = True
        if maker is not None:
            trials.act("it makes a variable")
            maker.created.append(self)

    # Properties.

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.type.shape)

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def synchronization(self) -> VariableSynchronization:
        return getattr(self, "_synchronization", VariableSynchronization.AUTO)

    @property
    def aggregation(self) -> VariableAggregation:
        return getattr(self, "_aggregation", VariableAggregation.NONE)

    @property
    def hint(self) -> str:
        """The name of its value in graphs."""
        return self.name.rpartition("/")[2].removesuffix(":0")

    @property
    def handle(self) -> Reference[Variable]:
        """An object that identifies this variable."""
        return Reference(self)

    def ref(self) -> Reference[Variable]:
        """A hashable reference to this variable, for dict keys and sets."""
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        new = object.__new__(Variable)
        new.array, new.name, new.type = self.array, self.name, self.type
        new.trainable, new.constraint = self.trainable, self.constraint
        new._synchronization, new._aggregation = self.synchronization, self.aggregation
        memo[id(self)] = new
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.array, self.trainable, self.name, self.type.shape, self.synchronization.value,
                          self.aggregation.value)

    def __repr__(self) -> str:
        text = f"<rt.Variable {self.name!r} shape={self.shape} dtype={self.dtype.name}"
        if current_graph() is not None:
            return text + ">"
        value = repr(self.array) if self.array.ndim else str(self.array)
        return f"{text}, numpy={chr(10) if self.array.ndim > 1 else ''}{value}>"

    def _repr_html_(self) -> str | None:
        if current_graph() is not None:
            return None
        return array_table(self.array, f"Variable {self.name!r}, shape={self.shape}, dtype={self.dtype.name}")

    def __text__(self, spec: str) -> Any:
        """Its text in converted code, with the value at the time when the graph runs."""
        if current_graph() is None:
            return None
        if spec not in (STR, REPR):
            return formatted(self.__tensor__(), spec)
        value = Text.of(self.__tensor__().value, ITEM if self.ndim else "")
        return concat_text((repr(self)[:-1], ", numpy=", chr(10) if self.ndim > 1 else "", value, ">"))

    # Reading.

    def __tensor__(self) -> Any:
        """The current value; inside a graph, the value at this point of the run."""
        if current_graph() is None:
            tensor = EagerTensor.own(self.array)
            if recorders:
                record_read(self, tensor)
            return tensor
        tensor = apply(READ, variable=self)
        trace.hint(tensor, self.hint)
        return tensor

    def value(self) -> Any:
        """The current value as a tensor (`tf.Variable.value`)."""
        return self.__tensor__()

    def read_value(self) -> Any:
        """The current value as a tensor (`tf.Variable.read_value`)."""
        return self.__tensor__()

    def numpy(self) -> Any:
        """The value: a copy that can be changed, or a NumPy scalar (`np.asarray` gives a read-only array without a
        copy). FailedPreconditionError while a function is traced."""
        if current_graph() is not None:
            error = FailedPreconditionError(
                f"variable '{self.name}' has no value while a function is traced", remedy="Use v.read_value().")
            locate(error, user_position())
            raise error
        return self.array.copy() if self.array.ndim else self.array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array: Array = self.__tensor__().__array__(dtype, copy)
        return array

    def __len__(self) -> int:
        return len(self.__tensor__())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__tensor__())

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        error = TypeError("the items of a variable are not set by x[i] = value")
        error.remedy = "Assign them: v[i].assign(value), or v.scatter_nd_update."  # type: ignore[attr-defined]
        locate(error, user_position())
        raise error

    def copy(self) -> Tensor:
        """The current value."""
        value: Tensor = self.__tensor__()
        return value.copy()

    def item(self, *index: int) -> Any:
        return self.__tensor__().item(*index)

    def tolist(self) -> Any:
        return self.__tensor__().tolist()

    def __getitem__(self, index: Any) -> Any:
        """A tensor with methods `assign`, `assign_add` and `assign_sub` that write to this part."""
        part = getitem(self.__tensor__(), index)
        if isinstance(part, EagerTensor):
            made = _EagerPart(part, self, index)
            if recorders:
                record(CAST, [part], [part._array], made, {"dtype": part.dtype})
            return made
        return _GraphPart(part, self, index) if isinstance(part, GraphTensor) else part

    # Writing.

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Assign `value`, of the variable's dtype and a shape that it allows. Returns the variable.

        DTypeError (a TypeError) for another dtype, ShapeError (a ValueError) for another shape.
        """
        return self._write(value, None)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Add `delta` to the value, in one step. Returns the variable. Errors as for `assign`."""
        return self._write(delta, False)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtract `delta` from the value, in one step. Returns the variable. Errors as for `assign`."""
        return self._write(delta, True)

    def _write(self, value: Any, negate: bool | None) -> Variable:
        if not isinstance(value, Tensor):
            value = _like(self, value)
        if isinstance(value, GraphTensor) and value.type.weak:
            value = convert_to_tensor(value, dtype=self.dtype)
        if negate is None:
            apply(ASSIGN, value, variable=self)
        elif negate:
            apply(ACCUMULATE, value, variable=self, negate=True)
        else:
            apply(ACCUMULATE, value, variable=self)
        return self

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Set rows: `v[i] = row` for an `IndexedSlices(values, indices)` (`tf.Variable.scatter_update`)."""
        return self._scatter("update", *_rows(sparse_delta))

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Set `v[i, j] = row` for the row of each index j at [i, k] (`tf.Variable.batch_scatter_update`)."""
        indices, updates = _rows(sparse_delta)
        return self._scatter("update", with_places_in_batch(indices, indices.ndim - 2), updates)

    def scatter_add(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Add to rows; duplicate indices accumulate."""
        return self._scatter("add", *_rows(sparse_delta))

    def scatter_sub(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Subtract from rows; duplicate indices accumulate."""
        return self._scatter("sub", *_rows(sparse_delta))

    def scatter_max(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Set rows to the maximum of their current values and the given ones."""
        return self._scatter("max", *_rows(sparse_delta))

    def scatter_min(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Set rows to the minimum of their current values and the given ones."""
        return self._scatter("min", *_rows(sparse_delta))

    def scatter_mul(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Multiply rows; duplicate indices accumulate."""
        return self.assign(self.__tensor__() * self._factors(*_rows(sparse_delta)))

    def scatter_div(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Variable:
        """Divide rows, ints rounded towards zero; duplicate indices accumulate."""
        divide = truncatediv if self.dtype.is_integer else truediv
        return self.assign(divide(self.__tensor__(), self._factors(*_rows(sparse_delta))))

    def _factors(self, indices: Any, updates: Any) -> Tensor:
        """For each element the product of the updates of its row; 1 without."""
        factors = updates if isinstance(updates, Tensor) else _like(self, updates)
        value = self.__tensor__()
        rows = reshape(indices, [-1])
        return segment_products(reshape(factors, [size(rows), *dims(value)[1:]]), rows, dim(value, 0))

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at the rows of `indices` (`tf.gather_nd`)."""
        return gather_nd(self.__tensor__(), indices, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows at `indices` (`tf.gather`)."""
        return gather_slices(self.__tensor__(), indices, name=name)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Set the elements or slices at `indices`, shape [..., depth], to `updates`."""
        return self._scatter("update", indices, updates)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Add `updates` to the elements or slices at `indices`."""
        return self._scatter("add", indices, updates)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Variable:
        """Subtract `updates` from the elements or slices at `indices`."""
        return self._scatter("sub", indices, updates)

    def _scatter(self, how: str, indices: Any, updates: Any) -> Variable:
        updates = updates if isinstance(updates, Tensor) else _like(self, updates)
        return self.assign(_SCATTERS[how](self.__tensor__(), indices, updates))

    # As a tensor.

    __pos__ = _unary("__pos__")
    __neg__ = _unary("__neg__")
    __abs__ = _unary("__abs__")
    __invert__ = _unary("__invert__")
    __bool__ = _unary("__bool__")
    __int__ = _unary("__int__")
    __float__ = _unary("__float__")
    __complex__ = _unary("__complex__")
    __index__ = _unary("__index__")
    __add__ = _binary("__add__")
    __radd__ = _binary("__radd__")
    __sub__ = _binary("__sub__")
    __rsub__ = _binary("__rsub__")
    __mul__ = _binary("__mul__")
    __rmul__ = _binary("__rmul__")
    __truediv__ = _binary("__truediv__")
    __rtruediv__ = _binary("__rtruediv__")
    __floordiv__ = _binary("__floordiv__")
    __rfloordiv__ = _binary("__rfloordiv__")
    __mod__ = _binary("__mod__")
    __rmod__ = _binary("__rmod__")
    __pow__ = _binary("__pow__")
    __rpow__ = _binary("__rpow__")
    __matmul__ = _binary("__matmul__")
    __rmatmul__ = _binary("__rmatmul__")
    __divmod__ = _binary("__divmod__")
    __rdivmod__ = _binary("__rdivmod__")
    __and__ = _binary("__and__")
    __rand__ = _binary("__rand__")
    __or__ = _binary("__or__")
    __ror__ = _binary("__ror__")
    __lshift__ = _binary("__lshift__")
    __rlshift__ = _binary("__rlshift__")
    __rshift__ = _binary("__rshift__")
    __rrshift__ = _binary("__rrshift__")
    __xor__ = _binary("__xor__")
    __rxor__ = _binary("__rxor__")
    __lt__ = _binary("__lt__")
    __le__ = _binary("__le__")
    __gt__ = _binary("__gt__")
    __ge__ = _binary("__ge__")

    def __eq__(self, other: object) -> Any:
        """Element-wise equality of the values; `v == None` is False."""
        return self.__tensor__() == other

    def __ne__(self, other: object) -> Any:
        return self.__tensor__() != other

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.__tensor__(), ndigits)

    def __format__(self, spec: str) -> str:
        return format(self.__tensor__(), spec) if spec else str(self)


class _EagerPart(EagerTensor):
    """The result of `v[i]`: a tensor with `assign`."""

    __slots__ = ("_index", "_variable")

    def __init__(self, tensor: EagerTensor, variable: Variable, index: Any) -> None:
        self._array = tensor._array
        self._variable, self._index = variable, index

    def assign(self, value: Any) -> Variable:
        """Write `value` to this part of the variable; it broadcasts."""
        return _assign_part(self._variable, self._index, value)

    def assign_add(self, delta: Any) -> Variable:
        return _assign_part(self._variable, self._index, EagerTensor.own(self._array) + delta)

    def assign_sub(self, delta: Any) -> Variable:
        return _assign_part(self._variable, self._index, EagerTensor.own(self._array) - delta)


class _GraphPart(GraphTensor):
    """The result of `v[i]` inside a graph: a tensor with `assign`."""

    __slots__ = ("_index", "_variable")

    def __init__(self, tensor: GraphTensor, variable: Variable, index: Any) -> None:
        super().__init__(tensor.value)
        self._variable, self._index = variable, index

    def assign(self, value: Any) -> Variable:
        """Write `value` to this part of the variable; it broadcasts."""
        return _assign_part(self._variable, self._index, value)

    def assign_add(self, delta: Any) -> Variable:
        return _assign_part(self._variable, self._index, GraphTensor(self.value) + delta)

    def assign_sub(self, delta: Any) -> Variable:
        return _assign_part(self._variable, self._index, GraphTensor(self.value) - delta)


_SCATTERS: Final[dict[str, Callable[..., Tensor]]] = {
    "update": tensor_scatter_nd_update, "add": tensor_scatter_nd_add, "sub": tensor_scatter_nd_sub,
    "max": tensor_scatter_nd_max, "min": tensor_scatter_nd_min,
}


def _assign_part(variable: Variable, index: Any, value: Any) -> Variable:
    return variable.assign(setitem(variable.__tensor__(), index, value))


def _like(variable: Variable, value: Any) -> Tensor:
    """`value` as a tensor of the variable's dtype."""
    dtype = variable.dtype
    try:
        return convert_to_tensor(value, dtype=dtype)
    except DTypeError:
        cast = "make strings of it: rt.as_string(x)" if dtype.is_string else f"cast it: rt.cast(x, rt.{dtype.name})"
        error = DTypeError(f"cannot assign {value!r} to variable '{variable.name}', which is {variable.type}",
                           remedy=f"Give a value that fits, or {cast}.")
        locate(error, user_position())
        raise error from None


def _rows(sparse_delta: Any) -> tuple[Any, Any]:
    """Indices with a last axis of one, and values."""
    if not hasattr(sparse_delta, "indices") or not hasattr(sparse_delta, "values"):
        raise TypeError(f"sparse_delta is not an rt.IndexedSlices: {sparse_delta!r}")
    return convert_to_tensor(sparse_delta.indices)[..., None], sparse_delta.values


def _initial_value(value: GraphTensor, maker: Creation | None) -> EagerTensor:
    """The value of an initial value that the function computes before it creates the variable."""
    try:
        return EagerTensor.own(evaluate(value.value, maker.known if maker is not None else {}))
    except FailedPreconditionError as exc:
        raise FailedPreconditionError(
            f"a Variable needs its initial value now, but {exc.message}",
            remedy="Make the variable outside the function, or give a function without arguments that makes the "
            "initial value.") from None


def _restore(
    array: Array, trainable: bool, name: str, shape: Any, synchronization: int = 0, aggregation: int = 0
) -> Variable:
    variable = Variable(array, trainable, shape=shape, synchronization=synchronization, aggregation=aggregation)
    variable.name = name
    return variable

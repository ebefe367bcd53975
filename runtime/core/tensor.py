"""Tensors: an `EagerTensor` has a value, a `GraphTensor` is a placeholder for a value of a graph.

Operators call functions of `OPERATIONS`.
"""
from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from autograph.backend import has_backend, of_trace
from runtime.core import caller_bytecode as asked
from runtime.core.array_methods import ArrayMethods, is_tensor_with_axes
from runtime.core.array_mode import may_be_0d_array, may_be_array, writes_tensor
from runtime.core.array_table import array_table
from runtime.core.config import settings
from runtime.core.errors import NotIterableError, OperatorNotAllowedInGraphError, ShapeError, UnimplementedError
from runtime.core.generator_frames import decided_in_python
from runtime.core.graph import Graph, Value
from runtime.core.growing_lists import EagerList, GraphList
from runtime.core.operands import other_operand
from runtime.core.operations import OPERATIONS
from runtime.core.positions import asked_by_library, located
from runtime.core.recording import record_taken, recorders
from runtime.core.references import Reference
from runtime.core.relaxed_shapes import static_shape
from runtime.core.string_arrays import boxed, holds_text
from runtime.core.text import Text, repr_of, show, show_tensor
from runtime.core.types import DType, TensorShape, TensorType, as_dtype, bool_, dtype_of

__all__ = ["EagerList", "EagerTensor", "GraphList", "GraphTensor", "Reference", "Tensor", "indices", "not_iterable"]

Array = np.ndarray[Any, np.dtype[Any]]


class _Indices(threading.local):
    """Whether Python has used a graph tensor as an index: `runtime.staging.control.loops` then stages the lists that it
    may index."""

    asked: bool = False


indices: Final = of_trace(_Indices())


def not_iterable() -> Exception:
    """The error for a loop over a tensor of rank 0."""
    return located(NotIterableError(
        "Cannot iterate over a scalar tensor", remedy="Loop over a tensor with rows, or over rt.range(n)."))


def _fixed(done: str, remedy: str) -> Exception:
    error = TypeError(f"the items of a tensor cannot be {done} here: it does not change in place")
    error.remedy = remedy  # type: ignore[attr-defined]
    return located(error)


def _is_operand(x: Any) -> bool:
    """Whether a tensor's operator accepts `x`; if not, see `other_operand`."""
    return isinstance(x, _OPERANDS) or hasattr(type(x), "__tensor__")


def _made(result: Any, *operands: Any) -> Any:
    """The result of an operator: an array object if an operand is one, and none is a tensor with axes."""
    if type(result) is GraphTensor and any(isinstance(x, GraphTensor) and x.is_object for x in operands) and not any(
            map(is_tensor_with_axes, operands)):
        return OPERATIONS.as_object(result, operands)
    return result


def _binary(name: str, reflected: bool = False) -> Callable[[Tensor, Any], Tensor]:
    def operator(self: Tensor, other: Any) -> Any:
        if not _is_operand(other):
            return other_operand(name, self, other, reflected)
        x, y = (other, self) if reflected else (self, other)
        return _made(getattr(OPERATIONS, name)(x, y), self, other)

    return operator


def _numeric(name: str, reflected: bool = False) -> Callable[[Tensor, Any], Tensor]:
    """As `_binary`, but bools count as numbers beside numbers."""

    def operator(self: Tensor, other: Any) -> Any:
        cls = type(other)
        if cls is float or cls is int:
            holds_bools = self.dtype.is_bool
        elif issubclass(cls, Tensor):
            holds_bools = self.dtype.is_bool or other.dtype.is_bool
        else:
            holds_bools = self.dtype.is_bool or _is_bools(other)
            if not _is_operand(other) and not (self.dtype.is_string and isinstance(other, (str, bytes))):
                return other_operand(name, self, other, reflected)
        x, y = (other, self) if reflected else (self, other)
        if name == "add" and self.dtype.is_string:
            return OPERATIONS.concatenate_strings(x, y)
        result = OPERATIONS.with_numbers(name, x, y) if holds_bools else getattr(OPERATIONS, name)(x, y)
        return _made(result, self, other)

    return operator


def _is_bools(x: Any) -> bool:
    """Whether an operand that is not a tensor is a bool, or has dtype bool, as a variable may."""
    return x is True or x is False or (has_backend(x) and getattr(x, "dtype", None) is bool_)


def _product(reflected: bool) -> Callable[[Tensor, Any], Tensor]:
    multiply = _numeric("multiply", reflected)

    def operator(self: Tensor, other: Any) -> Any:
        if isinstance(other, _ARRAYS):
            return multiply(self, other)
        repeated = OPERATIONS.repeat(other, self, asked.is_in_place())
        return multiply(self, other) if repeated is NotImplemented else repeated

    return operator


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    def operator(self: Tensor) -> Any:
        return _made(getattr(OPERATIONS, name)(self), self)

    return operator


def _in_place(self: GraphTensor, other: Any) -> Any:
    """`x += y` and the like: Python falls back to `x + y`, unless an array would have to change in place."""
    if self.type.shape or (self.type.of_arrays and may_be_0d_array()):
        writes_tensor()
    return NotImplemented


_equal, _not_equal = _numeric("equal"), _numeric("not_equal")


def _unless_shapes_differ(compare: Callable[[Tensor, Any], Any], x: Tensor, y: object, otherwise: bool) -> Any:
    if x.type.weak and not x.ndim and (type(y) in (list, tuple) or hasattr(type(y), "as_list")):
        return otherwise  # it is a number of Python's
    try:
        return compare(x, y)
    except ShapeError:
        if isinstance(y, (Tensor, np.ndarray)) and any(map(is_tensor_with_axes, (x, y))):
            return otherwise
        raise


class Tensor(ArrayMethods):
    """An array of one dtype (`tf.Tensor`): an `EagerTensor`, or in a traced function a `GraphTensor`."""

    __slots__ = ("__weakref__", "_keras_logits", "_mask")
    _keras_logits: Any  # on the result of Keras' softmax or sigmoid: its argument, which losses take

    if TYPE_CHECKING:  # available on eager tensors; graph tensors refuse these with an error

        def numpy(self) -> Any: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __complex__(self) -> complex: ...
        def __index__(self) -> int: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[Tensor]: ...

    @property
    def type(self) -> TensorType:
        """The graph type of the value."""
        raise NotImplementedError("a Tensor is an EagerTensor or a GraphTensor")

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> TensorShape:
        of_array = self.type.of_arrays or getattr(self, "is_object", False)
        return self.array_shape() if of_array else static_shape(self.type.shape)  # type: ignore[return-value]

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    def get_shape(self) -> TensorShape:
        return static_shape(self.type.shape)

    def set_shape(self, shape: Any) -> None:
        """Declare more about the shape. ValueError if it contradicts what is known."""
        TensorShape(self.type.shape).assert_is_compatible_with(shape)

    def ref(self) -> Reference[Tensor]:
        """A hashable reference to this tensor, for dict keys and sets."""
        return Reference(self)

    def __hash__(self) -> int:
        raise located(TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key."))

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise _fixed("set", "In a traced function set an item of what a variable of the same function, an attribute "
                            "or an element has, with all indices: x[i, j] = value.")

    def __delitem__(self, index: Any) -> NoReturn:
        raise _fixed("deleted", "Keep the others: rt.concat, or rt.boolean_mask.")

    def copy(self, order: str = "C") -> Tensor:
        """The tensor itself, which does not change."""
        return self

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    __pos__ = _unary("positive")
    __neg__ = _unary("negative")
    __abs__ = _unary("abs")
    __invert__ = _unary("invert")
    __add__ = _numeric("add")
    __radd__ = _numeric("add", reflected=True)
    __sub__ = _numeric("subtract")
    __rsub__ = _numeric("subtract", reflected=True)
    __mul__ = _product(reflected=False)
    __rmul__ = _product(reflected=True)
    __truediv__ = _numeric("truediv")
    __rtruediv__ = _numeric("truediv", reflected=True)
    __floordiv__ = _numeric("floordiv")
    __rfloordiv__ = _numeric("floordiv", reflected=True)
    __mod__ = _numeric("mod")
    __rmod__ = _numeric("mod", reflected=True)
    __pow__ = _numeric("pow")
    __rpow__ = _numeric("pow", reflected=True)
    __matmul__ = _binary("matmul")
    __rmatmul__ = _binary("matmul", reflected=True)
    __and__ = _binary("bitwise_and")
    __rand__ = _binary("bitwise_and", reflected=True)
    __or__ = _binary("bitwise_or")
    __ror__ = _binary("bitwise_or", reflected=True)
    __xor__ = _binary("bitwise_xor")
    __rxor__ = _binary("bitwise_xor", reflected=True)
    __lshift__ = _numeric("left_shift")
    __rlshift__ = _numeric("left_shift", reflected=True)
    __rshift__ = _numeric("right_shift")
    __rrshift__ = _numeric("right_shift", reflected=True)
    __lt__ = _numeric("less")
    __le__ = _numeric("less_equal")
    __gt__ = _numeric("greater")
    __ge__ = _numeric("greater_equal")

    def __eq__(self, other: object) -> Any:
        """Element-wise equality; False for None and, for tensors as in TF 2, for shapes that do not broadcast."""
        return _unless_shapes_differ(_equal, self, other, False)

    def __ne__(self, other: object) -> Any:
        """Element-wise inequality; True for None and, for tensors as in TF 2, for shapes that do not broadcast."""
        return _unless_shapes_differ(_not_equal, self, other, True)

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other) if _is_operand(other) else other_operand("divmod", self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self) if _is_operand(other) else other_operand("divmod", self, other, True)

    def __round__(self, ndigits: int | None = None) -> Any:
        return OPERATIONS.round(self) if ndigits is None else OPERATIONS.round(self, ndigits)

    def __getitem__(self, index: Any) -> Tensor:
        item: Tensor = OPERATIONS.getitem(self, index)
        return item


_ARRAYS: Final = (ArrayMethods, int, float, complex, np.ndarray, np.generic)
_OPERANDS: Final = (*_ARRAYS, list, tuple)


class EagerTensor(Tensor):
    """A tensor with a value: a read-only NumPy array, which is not copied; in lists of results, a NumPy scalar."""

    __slots__ = ("_array",)

    _array: Array

    def __init__(self, array: Any) -> None:
        """Wrap a NumPy scalar, or an array (a view of it, if it is writable). TypeError if no DType fits."""
        array = np.asarray(array)
        if array.dtype == object and not holds_text(array):
            raise TypeError("an array of objects is no tensor, unless all of them are bytes")
        if array.dtype.byteorder not in "=|":
            array = array.astype(array.dtype.newbyteorder("="))
        dtype_of(array)
        if array.flags.writeable:
            array = array.view()
            array.setflags(write=False)
        self._array = array

    @classmethod
    def own(cls, array: Any) -> EagerTensor:
        """Wrap the result of a kernel, to which nothing else writes, without a view or a check."""
        self = object.__new__(cls)
        array = np.asarray(boxed(array) if type(array) is bytes else array)
        array.setflags(write=False)
        self._array = array
        return self

    @property
    def type(self) -> TensorType:
        return TensorType(dtype_of(self._array), self._array.shape)

    @property
    def dtype(self) -> DType:
        return dtype_of(self._array)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    def numpy(self) -> Any:
        """The value: a writable copy, or for a scalar a NumPy scalar (`tf.Tensor.numpy`). `np.asarray` gives a
        read-only array without a copy."""
        return self._array.copy() if self._array.ndim else self._array[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if recorders:
            record_taken(self)
        array = self._array if isinstance(self._array, np.ndarray) else EagerTensor(self._array)._array
        array = array if dtype is None else array.astype(as_dtype(dtype).np, copy=False)
        return array.copy() if copy else array

    def item(self, *index: Any) -> Any:
        """An element as a Python number; without an index, the only one."""
        return self._array.item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._array.tolist()

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._array)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._array.ndim:
            raise not_iterable()
        return map(self.__getitem__, range(len(self._array))) if recorders else map(EagerTensor.own, self._array)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            what = "more than one element" if self._array.size else "no elements"
            raise located(ShapeError(
                f"The truth value of an array with {what} is ambiguous: this tensor has shape {self.shape}",
                remedy="Use rt.reduce_any or rt.reduce_all; rt.size(x) > 0 asks whether there are elements."))
        return bool(self._array)

    def _item(self, kind: str) -> Any:
        if self._array.size != 1:
            raise located(TypeError(
                f"only a tensor with one element converts to {kind}; this one has shape {self.shape}"))
        return self._array.item()

    def __int__(self) -> int:
        return int(self._item("int"))

    def __float__(self) -> float:
        if recorders:
            record_taken(self)
        return float(self._item("float"))

    def __complex__(self) -> complex:
        return complex(self._item("complex"))

    def __round__(self, ndigits: int | None = None) -> Any:
        """With `ndigits` a tensor; without, an int, as in Python and in converted code."""
        if ndigits is None and self.dtype.is_floating:
            return round(self._item("int"))
        return super().__round__(ndigits)

    def __trunc__(self) -> int:
        number: float = self._item("int")
        return math.trunc(number)

    def __index__(self) -> int:
        if self._array.ndim or self._array.dtype.kind not in "biu":
            raise located(TypeError("only integer scalar tensors can be converted to an index; this one is "
                                     f"{self.dtype.name} of shape {self.shape}"))
        return int(self._array)

    def __hash__(self) -> int:
        """While functions run eagerly, a scalar hashes as its value, so that it can be a dict key as in a graph."""
        if not settings.run_eagerly or self._array.ndim:
            return super().__hash__()
        number = self._array[()]
        return hash(float(str(number)) if self.dtype.is_floating else number.item())

    def __format__(self, spec: str) -> str:
        return show(self._array, spec)

    def __repr__(self) -> str:
        return repr_of(self._array)

    def __str__(self) -> str:
        return show_tensor(self._array)

    def _repr_html_(self) -> str:
        return array_table(self._array, f"Tensor, shape={self.shape}, dtype={self.dtype.name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return EagerTensor, (self._array,)


class GraphTensor(Tensor):
    """A tensor of a function that is being traced: a placeholder for `value`, which each run computes."""

    __slots__ = ("memory", "value")

    is_object = False
    """Whether it is an array object, which changes in place (`runtime.numpy.array_objects`)."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.memory: tuple[tuple[Any, int], ...] = ()
        """The memory that it shares with earlier and later versions of the tensor (`runtime.core.tensor_writes`)."""

    @property
    def type(self) -> TensorType:
        type = self.value.type
        assert isinstance(type, TensorType), "a list is a GraphList"
        return type

    @property
    def graph(self) -> Graph:
        """The graph that the tensor belongs to."""
        return self.value.graph

    @property
    def op(self) -> Any:
        """The `Operation` that makes the tensor (`tf.Tensor.op`)."""
        return OPERATIONS.operation_of(self.value)

    @property
    def name(self) -> str:
        return OPERATIONS.name_of(self.value)

    def set_shape(self, shape: Any) -> None:
        OPERATIONS.set_shape(self, shape)

    def item(self, *index: Any) -> Any:
        """An element as a Python number; without an index, the only one."""
        return OPERATIONS.item(self, *index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return OPERATIONS.nested_list(self)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        writes_tensor()
        super().__setitem__(index, value)

    def copy(self, order: str = "C") -> Tensor:
        """The same value, which a write to this tensor's variable leaves as it is."""
        return GraphTensor(self.value)

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        OPERATIONS.check_reach(self)
        what, remedy = asked_by_library(what, remedy)
        raise decided_in_python(located(OperatorNotAllowedInGraphError(
            f"{what}: {self!r} has no value while its function is traced", remedy=remedy)))

    def _refuse_format(self) -> NoReturn:
        OPERATIONS.check_reach(self)
        raise located(UnimplementedError(  # with a TypeError Python would say that this is not a number
            f"a tensor cannot be a number of a text with % here: {self!r} has no value while its function is traced",
            remedy="Write an f-string, such as f'{x:.2f}', or use str.format: the graph fills it in when it runs."))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and NumPy look for protocols
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name == "numpy":
            error = AttributeError("a graph tensor has no numpy(): it has no value while its function is traced")
            error.remedy = (  # type: ignore[attr-defined]
                "Return it from the function, keep it in an rt.Variable, or look at it with rt.print or "
                "rt.py_function.")
            raise located(error)
        error = AttributeError(f"{'ndarray' if self.is_object else 'Tensor'!r} object has no attribute {name!r}")
        if name in _CHANGING and self.type.shape:
            writes_tensor()
        if may_be_array() and hasattr(np.ndarray, name):
            error = AttributeError(f"a NumPy array is a tensor while a function is traced, which has no {name!r}")
            error.remedy = (  # type: ignore[attr-defined]
                "Use a function of rt; or do it outside of the traced function, or in one for rt.numpy_function.")
            located(error)
        return OPERATIONS.attribute_of_number(self, name, error)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._refuse("a tensor cannot become a NumPy array here",
                     "Use the rt function instead of NumPy's, or rt.numpy_function.")

    def __bool__(self) -> bool:
        getter = asked.property_getter()
        if getter:
            self._refuse(f"the property {getter} cannot decide on a tensor: reading an attribute runs its getter as it"
                         " is", "Put @autograph.convert between @property and the getter; or make it a method.")
        if asked.compares_containers():
            self._refuse("containers of tensors cannot be compared here",
                         "Compare their items: a[0] == b[0] and a[1] == b[1].")
        if asked.calls_native_code():
            self._refuse("a function that is not converted asks here whether a tensor is true",
                         "Write what it does as a loop, or with functions of rt. sorted(), min(), max(), any(), all(), "
                         "filter(), `x in xs`, methods of lists, heapq and bisect are staged; what other modules do is "
                         "not.")
        self._refuse("a tensor cannot be used as a Python bool here",
                     "Decorate the function with @rt.function or autograph.convert. In a converted function this "
                     "statement stays Python (autograph.explain says why): use rt.cond or rt.where.")

    def __int__(self) -> int:
        if asked.formats():
            self._refuse_format()
        self._refuse("a tensor cannot become a Python int here", "Use rt.cast(x, rt.int32).")

    def __float__(self) -> float:
        if asked.formats():
            self._refuse_format()
        self._refuse("a tensor cannot become a Python float here",
                     "Use rt.cast(x, rt.float32). In traced functions functions of math take tensors.")

    def __complex__(self) -> complex:
        self._refuse("a tensor cannot become a Python complex here", "Use rt.cast(x, rt.complex64).")

    def __index__(self) -> int:
        indices.asked = True
        if not asked.is_subscript():
            self._refuse("a tensor cannot be used as a Python int here",
                         "Call a function of rt in place of this one, or give it a Python int.")
        if asked.deletes():
            self._refuse("a tensor cannot be the index of what is deleted here",
                         "Use xs.pop(n) for an item, or keep the rest of a list: xs = xs[:a] + xs[b:].")
        self._refuse("a tensor cannot be a Python index here",
                     "Make what it indexes a tensor, with rt.constant or rt.stack.")

    def __hash__(self) -> int:
        self._refuse(
            "a tensor cannot be a key of a dict or an item of a set here",
            "In a traced function d[x], d[x] = v, del d[x] and the methods of d take a scalar x, or a tuple or frozen"
            " dataclass of scalars (but no object with a `__hash__` of its own), where d is a dict and converted code"
            " does it. If the tensor itself is the key, not its value, use x.ref().")

    def __len__(self) -> int:
        shape = self.type.shape
        if not shape:
            raise TypeError("Scalar tensor has no `len()`")
        if shape[0] is None:
            self._refuse("the length of a tensor is not known here",
                         "Use rt.shape(x)[0], or len(x) in converted code.")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The rows; their number must be known. In converted code a `for` over the tensor is staged instead."""
        shape = self.type.shape
        if not shape:
            raise not_iterable()
        if shape[0] is None:
            if asked.unpacks():
                self._refuse("a tensor of unknown length cannot be unpacked here",
                             "Take its items one by one: a, b = x[0], x[1]. Or let a TensorSpec say how many there"
                             " are.")
            self._refuse("a tensor of unknown length cannot be iterated over here",
                         "Decorate the function with @rt.function or convert it with autograph.convert, "
                         "so that the loop stages.")
        return (self[i] for i in range(shape[0]))

    def __text__(self, spec: str) -> Text:
        """The text of the value in converted code, known when the graph runs."""
        return Text.of(self.value, spec)

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse(f"a tensor cannot be formatted by {spec!r} here", "Format it in converted code, or in a "
                         "function that rt.py_function is given.")
        return repr(self)

    def __repr__(self) -> str:
        return f"<rt.Tensor {OPERATIONS.label_of(self.value)!r} shape={self.shape} dtype={self.dtype.name}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} belongs to a graph and cannot be pickled or copied out of it")


for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
              "rshift"]:
    setattr(GraphTensor, f"__i{_name}__", _in_place)


_CHANGING: Final = frozenset({"fill", "flat", "put", "sort"})
"""Attributes of arrays that change the array."""

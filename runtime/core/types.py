"""Dtypes and the types of graph values, with the functions on shapes of `shapes.py`.

`DType`, `TensorShape` and `TensorSpec` are TF2's; `TensorType` and `ListType` are the types of graph values.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, overload

import numpy as np

from autograph.backend import staging_backend
from runtime.core import narrow_floats, string_arrays
from runtime.core.array_mode import has_arrays
from runtime.core.dtype_attributes import NumpyAttributes
from runtime.core.errors import DTypeError, OutOfMemoryError, ShapeError
from runtime.core.shapes import Shape, broadcast_shapes, compatible_shapes, join_shapes, shape_text

__all__ = [
    "MAX_BYTES", "DType", "ListType", "Shape", "TensorShape", "TensorSpec", "TensorType", "Type", "Weak",
    "as_dtype", "broadcast_shapes", "check_room", "compatible_shapes", "dtype_of", "join_shapes", "join_types",
    "promote", "shape_text", "type_of_array",
]

_NumpyDType = np.dtype[Any]  # inside DType, `np` is an attribute
_LEVELS: Final = {"O": -1, "b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


class DType(NumpyAttributes):
    """The type of a tensor's elements (`tf.DType`). One object per dtype, so `is` compares.

    Equal to its name and to NumPy's dtype: `rt.int32 == "int32" == np.int32`. Python's types have 32 bits, as in TF
    (`rt.float32 == float`), or 64 as in NumPy in a traced function with arrays.
    """

    __slots__ = ("as_numpy_dtype", "is_bool", "is_complex", "is_floating", "is_integer", "is_narrow", "is_string",
                 "is_unsigned", "level", "limits", "name", "np", "size")

    name: str
    np: _NumpyDType
    as_numpy_dtype: type[Any]
    limits: tuple[Any, Any]
    level: int
    """Of its numbers: text -1, bool 0, int 1, float 2, complex 3. Weak values adapt to a level that is not less."""
    size: int

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_narrow = name in narrow_floats.NARROW
        self.np = narrow_floats.numpy_dtype(name) if self.is_narrow else np.dtype("O" if name == "string" else name)
        self.as_numpy_dtype = self.np.type
        self.level = 2 if self.is_narrow else _LEVELS[self.np.kind]
        self.size = self.np.itemsize
        self.is_string = self.level < 0
        self.is_bool = self.level == 0
        self.is_integer = self.level == 1
        self.is_unsigned = self.np.kind == "u"
        self.is_floating = self.level == 2
        self.is_complex = self.level == 3
        if self.is_integer:
            self.limits = int(np.iinfo(self.np).min), int(np.iinfo(self.np).max)
        elif self.is_floating:
            self.limits = narrow_floats.limits(self.np) if self.is_narrow else (
                np.finfo(self.np).min, np.finfo(self.np).max)
        else:
            self.limits = False, True

    @property
    def is_numeric(self) -> bool:
        """Whether arithmetic is defined: true except for bool and string."""
        return self.level > 0

    @property
    def min(self) -> Any:
        """The smallest value (`False` for bool). TypeError for complex."""
        return self._limit(0)

    @property
    def max(self) -> Any:
        """The greatest finite value (`True` for bool). TypeError for complex."""
        return self._limit(1)

    def _limit(self, which: int) -> Any:
        if self.is_complex or self.is_string:
            what = "complex numbers" if self.is_complex else "strings"
            raise TypeError(f"{what} have no order, so {self.name} has no least or greatest value")
        return self.limits[which]

    @property
    def real_dtype(self) -> DType:
        """The dtype of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def widened(self, level: int) -> DType:
        """The dtype to which numbers of this one are widened beside a Python number of a greater `level`: as in `/`,
        ints become float32 if they have 8 or 16 bits, else float64; floats and these become complex numbers of as many
        bits."""
        real = self if self.level >= 2 else float32 if self.size <= 2 else float64
        return real if level == 2 else complex128 if real is float64 else complex64

    @property
    def wide(self) -> DType:
        """The dtype in which kernels compute: float32 for floats that NumPy lacks, else this one."""
        return float32 if self.is_narrow else self

    @property
    def base_dtype(self) -> DType:
        return self

    def is_compatible_with(self, other: Any) -> bool:
        return self is as_dtype(other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        if isinstance(other, type) and other in (int, float, complex) and has_arrays():
            return self.np == np.dtype(other)
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"rt.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


bool_: Final = DType("bool")
int8: Final = DType("int8")
int16: Final = DType("int16")
int32: Final = DType("int32")
int64: Final = DType("int64")
uint8: Final = DType("uint8")
uint16: Final = DType("uint16")
uint32: Final = DType("uint32")
uint64: Final = DType("uint64")
float16: Final = DType("float16")
float32: Final = DType("float32")
float64: Final = DType("float64")
complex64: Final = DType("complex64")
complex128: Final = DType("complex128")
string: Final = DType("string")

ALL: Final = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
              float16, float32, float64, complex64, complex128)
"""The dtypes of numbers and bools."""
_FROM_NUMPY: Final = {dtype.np: dtype for dtype in (*ALL, string)}
_FROM_NAME: Final = {dtype.name: dtype for dtype in (*ALL, string)} | {
    "half": float16, "float": float32, "double": float64, "int": int32, "complex": complex128}
_FROM_PYTHON: Final[dict[type, DType]] = {
    bool: bool_, int: int32, float: float32, complex: complex128, str: string, bytes: string}


def as_dtype(type_value: Any) -> DType:
    """The DType for a DType, a name, a NumPy dtype or scalar type, or a Python type (`tf.as_dtype`).

    Python's `int` is int32 and `float` is float32. TypeError if there is none.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str) and type_value in _FROM_NAME:
        return _FROM_NAME[type_value]
    if isinstance(type_value, type) and type_value in _FROM_PYTHON:
        return _FROM_PYTHON[type_value]
    if type_value is not None:
        name = type_value if isinstance(type_value, str) else (
            getattr(type_value, "name", None) or getattr(type_value, "__name__", None))
        if name in narrow_floats.NARROW:
            return _FROM_NAME.get(name) or _narrow(name)
        try:
            return _FROM_NUMPY[np.dtype(type_value)]
        except (TypeError, KeyError):
            pass
    raise TypeError(f"{type_value!r} is not a dtype; there are {', '.join(d.name for d in ALL)}")


def _narrow(name: str) -> DType:
    dtype = _FROM_NAME[name] = DType(name)
    _FROM_NUMPY[dtype.np] = dtype
    return dtype


def dtype_of(array: Any) -> DType:
    """The DType of a NumPy array or scalar. TypeError if no tensor can have its dtype."""
    try:
        return _FROM_NUMPY[array.dtype]
    except KeyError:
        return as_dtype(array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class TensorType:
    """The type of a graph value: dtype and shape (rank known, a dimension may be None).

    `weak`: the value was made from Python scalars alone, so its dtype adapts to that of a tensor it meets. `of_arrays`:
    it was made from NumPy arrays (`array_promotion.py`); ignored when types are compared.
    """

    dtype: DType
    shape: Shape = ()
    weak: bool = False
    of_arrays: bool = field(default=False, compare=False, repr=False)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements, or None if a dimension is unknown."""
        size = 1
        for dim in self.shape:
            if dim is None:
                return None
            size *= dim
        return size

    def with_dtype(self, dtype: DType, weak: bool = False) -> TensorType:
        return TensorType(dtype, self.shape, weak)

    def with_shape(self, shape: Shape) -> TensorType:
        return TensorType(self.dtype, shape, self.weak, self.of_arrays)

    def accepts(self, other: Type) -> bool:
        """Whether every value of type `other` is also one of this type (weakness aside)."""
        return (
            isinstance(other, TensorType)
            and self.dtype is other.dtype
            and len(self.shape) == len(other.shape)
            and all(d is None or d == their for d, their in zip(self.shape, other.shape, strict=True))
        )

    def __str__(self) -> str:
        dims = ",".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{'weak ' if self.weak else ''}{self.dtype.name}[{dims}]"


@dataclass(frozen=True)
class ListType:
    """The type of a staged growable list: its value is a sequence of arrays, each of type `element`.

    Not `known`: nothing has been written yet, so only the dtype of the element is significant.
    """

    element: TensorType
    known: bool = True

    def accepts(self, other: Type) -> bool:
        if not isinstance(other, ListType):
            return False
        if not other.known:
            return self.element.dtype is other.element.dtype
        return self.known and self.element.accepts(other.element)

    def __str__(self) -> str:
        return f"list[{self.element if self.known else self.element.dtype.name}]"


Type = TensorType | ListType


Weak = bool | DType
"""Whether a constant is weak. For a Python float, whose array is more precise than its dtype, that dtype."""


def type_of_array(array: Any, weak: Weak = False) -> TensorType:
    """The TensorType of a NumPy array or scalar."""
    return TensorType(weak if isinstance(weak, DType) else dtype_of(array), array.shape, bool(weak))


def promote(types: Iterable[TensorType], what: str = "operands", widens: bool = False) -> tuple[DType, bool]:
    """The common dtype of `types`, and whether it is weak.

    Strong dtypes must be equal; a weak one adapts to a strong one of its kind or a wider kind (int, float, complex;
    bool never adapts); weak ones among themselves take the widest. If it `widens`, a strong one of a lesser kind is
    converted by `DType.widened`; int scalars then become numbers of Python, too, so that sums of these and of floats
    are Python's floats. DTypeError otherwise.
    """
    types = tuple(types)
    strong: DType | None = None
    weak: DType | None = None
    for t in types:
        if not t.weak:
            if strong is not None and strong is not t.dtype:
                raise DTypeError(f"{what} have different dtypes: {strong.name} and {t.dtype.name}",
                                 remedy=string_arrays.remedy(strong, t.dtype, otherwise=(
                                     f"Cast one of them, for example rt.cast(x, rt.{strong.name}).")))
            strong = t.dtype
        elif weak is None or (t.dtype.level, t.dtype.size) > (weak.level, weak.size):
            weak = t.dtype
    if strong is None:
        assert weak is not None, "promote needs at least one type"
        return weak, True
    if weak is not None and weak is not strong and (weak.level > strong.level or strong.is_bool):
        if widens and strong.is_numeric:
            return strong.widened(weak.level), strong.is_integer and not any(t.shape for t in types)
        kind = ("bool", "int", "float", "complex")[weak.level]
        raise DTypeError(f"{what} have different dtypes: {strong.name} and a Python {kind}",
                         remedy=string_arrays.remedy(strong, otherwise=(
                             f"Cast the tensor, for example rt.cast(x, rt.{weak.name}).")))
    return strong, False


MAX_BYTES: Final = 1 << 47
"""The maximal size of a tensor in bytes, the address space of a process: sums of a few sizes, and indices, fit 64
bits."""


def check_room(what: str, shape: Iterable[int], dtype: DType) -> None:
    """OutOfMemoryError, with `what` as the subject, if a tensor of this shape and dtype would exceed the maximal size.

    As in NumPy, this includes empty tensors whose other dimensions are too large.
    """
    sizes = tuple(shape)
    if math.prod([max(size, 1) for size in sizes], start=dtype.size) > MAX_BYTES:
        raise OutOfMemoryError(f"{what} would be {dtype.name}{shape_text(sizes)}, which is more than a tensor can "
                               "have: 2**47 bytes")


def join_types(a: Type, b: Type, adapts: bool = False) -> Type | None:
    """The join, or None: differing dimensions become unknown; ranks and dtypes must be equal. If it `adapts`, a weak
    dtype adapts as in `promote`; beside a Python float ints become floats, a scalar one a Python float. So do scalar
    ints beside the floats that `/` makes of them."""
    if isinstance(a, ListType) or isinstance(b, ListType):
        if not (isinstance(a, ListType) and isinstance(b, ListType)):
            return None
        if not (a.known and b.known):
            return None if a.element.dtype is not b.element.dtype else a if a.known else b
        element = join_types(a.element, b.element, adapts)
        return ListType(element) if isinstance(element, TensorType) else None
    shape = join_shapes(a.shape, b.shape)
    if shape is None or (a.dtype is not b.dtype and not adapts):
        return None
    if adapts and not shape and (quotient := _quotient(a, b)) is not None:
        return TensorType(quotient, shape)
    try:
        of_arrays = (a.of_arrays or b.of_arrays) and all(type.of_arrays or type.weak for type in (a, b))
        dtype, weak = promote((a, b), widens=adapts)
        becomes_number = not shape and dtype.level == 2 and {a.dtype.level, b.dtype.level} == {1, 2}
        return TensorType(dtype, shape, weak or (a.weak != b.weak and becomes_number), of_arrays)
    except DTypeError:
        return None


def _quotient(a: TensorType, b: TensorType) -> DType | None:
    """The dtype of one of two tensors, if the other one has ints and `/` makes floats of this dtype of them."""
    if a.weak or b.weak or a.of_arrays or b.of_arrays:
        return None
    ints, floats = (a, b) if a.dtype.is_integer else (b, a)
    return floats.dtype if ints.dtype.is_integer and ints.dtype.widened(2) is floats.dtype else None


ShapeLike = Any  # a TensorShape, a sequence of int or None, an int, or None for unknown rank


class TensorShape:
    """A shape with known and unknown dimensions, perhaps of unknown rank (`tf.TensorShape`).

    A sequence of int or None; true if the rank is known. With -1 or dimensions that only a graph knows, `+` makes a
    tuple.
    """

    __slots__ = ("_dims",)

    _dims: Shape | None

    def __init__(self, dims: ShapeLike) -> None:
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "__index__") and np.ndim(dims) == 0:
            self._dims = (_dimension(dims),)
        else:
            self._dims = tuple(map(_dimension, dims))

    @property
    def dims(self) -> list[int | None] | None:
        return None if self._dims is None else list(self._dims)

    @property
    def rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        return self.rank

    def _known(self) -> Shape:
        if self._dims is None:
            raise ValueError("the rank of this TensorShape is unknown")
        return self._dims

    def as_list(self) -> list[int | None]:
        """The dimensions. ValueError if the rank is unknown."""
        return list(self._known())

    def num_elements(self) -> int | None:
        """The number of elements, or None if it is not fully defined."""
        if self._dims is None or None in self._dims:
            return None
        size = 1
        for dim in self._dims:
            size *= dim or 0
        return size

    def is_fully_defined(self) -> bool:
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        if not self.is_fully_defined():
            raise ValueError(f"shape {self} is not fully defined")

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether some array could have both shapes."""
        theirs = TensorShape(other)._dims
        return self._dims is None or theirs is None or compatible_shapes(self._dims, theirs)

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def is_subtype_of(self, other: ShapeLike) -> bool:
        """Whether each array of this shape also has the shape `other`."""
        theirs = TensorShape(other)._dims
        if theirs is None or self._dims is None:
            return theirs is None
        return len(theirs) == len(self._dims) and all(
            their is None or their == mine for mine, their in zip(self._dims, theirs, strict=True))

    def merge_with(self, other: ShapeLike) -> TensorShape:
        """The shape that combines the known dimensions of both. ValueError if they are incompatible."""
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([a if b is None else b for a, b in zip(self._dims, other._dims, strict=True)])

    def most_specific_compatible_shape(self, other: ShapeLike) -> TensorShape:
        """The most specific shape that allows both."""
        theirs = TensorShape(other)._dims
        return TensorShape(None if self._dims is None or theirs is None else join_shapes(self._dims, theirs))

    def concatenate(self, other: ShapeLike) -> TensorShape:
        """This shape's dimensions followed by those of `other`."""
        other = TensorShape(other)
        return TensorShape(None if self._dims is None or other._dims is None else self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        return self.merge_with([None] * rank)

    def __len__(self) -> int:
        return len(self._known())

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known())

    @overload
    def __getitem__(self, index: int) -> int | None: ...

    @overload
    def __getitem__(self, index: slice) -> TensorShape: ...

    def __getitem__(self, index: int | slice) -> int | TensorShape | None:
        if isinstance(index, slice):
            return TensorShape(None if self._dims is None else self._dims[index])
        return None if self._dims is None else self._dims[index]

    def __add__(self, other: ShapeLike) -> TensorShape | tuple[Any, ...]:
        return (*self._known(), *other) if _is_argument(other) else self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> TensorShape | tuple[Any, ...]:
        return (*other, *self._known()) if _is_argument(other) else TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        try:
            return self._dims == TensorShape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        return f"({', '.join(map(str, self._dims))}{',' if len(self._dims) == 1 else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorShape, (self._dims,)


def _is_argument(dims: ShapeLike) -> bool:
    """Whether these are an argument of `reshape` or the like, and no shape: some are -1, or known only when the graph
    runs."""
    return isinstance(dims, (tuple, list)) and any(
        dim == -1 if type(dim) is int else staging_backend(dim) is not None for dim in dims)


def _dimension(dim: Any) -> int | None:
    if dim is None:
        return None
    try:
        value = dim.__index__()
    except AttributeError:
        raise TypeError(f"a dimension must be an int or None, not {dim!r}") from None
    if value < 0:
        raise ValueError(f"a dimension must be at least 0, not {value}")
    return int(value)


class TensorSpec:
    """The shape, dtype and optional name of a tensor (`tf.TensorSpec`)."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: ShapeLike, dtype: Any = float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype = as_dtype(dtype)
        self.name = name

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def type(self) -> TensorType:
        """The graph type. ValueError if the rank is unknown: ranks are static in a graph."""
        if not self.shape:
            raise ShapeError(f"{self!r} has no rank, and a graph must know every rank",
                             remedy="Give a shape with None for an unknown dimension, such as [None, None].")
        return TensorType(self.dtype, tuple(self.shape))

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor (or some tensor of a spec) fits: equal dtype and a compatible shape."""
        return (self.dtype is as_dtype(spec_or_tensor.dtype)
                and self.shape.is_compatible_with(spec_or_tensor.shape))

    def is_subtype_of(self, other: TensorSpec) -> bool:
        return self.dtype is other.dtype and self.shape.is_subtype_of(other.shape)

    def most_specific_compatible_type(self, other: TensorSpec) -> TensorSpec:
        """The most specific spec that allows both. ValueError if the dtypes differ."""
        if self.dtype is not other.dtype:
            raise ValueError(f"no TensorSpec allows both {self!r} and {other!r}: the dtypes differ")
        return TensorSpec(self.shape.most_specific_compatible_shape(other.shape), self.dtype, self.name)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TensorSpec) and self.dtype is other.dtype and self.shape == other.shape
                and self.name == other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self.shape, self.dtype, self.name)



"""Ops on growable lists: values of a `ListType`. Lists are immutable; an update returns a new one.

In kernels a list is a sequence of arrays, a tuple or `Items`, in which None is an element not yet written. Such
elements read as zeros of the element's shape; unknown dimensions are those of the first written element.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

import numpy as np

from runtime.core.array_promotion import join_arrays
from runtime.core.errors import (
    DTypeError,
    IndexOutOfRangeError,
    InvalidArgumentError,
    InvalidSliceError,
    OutOfMemoryError,
    ShapeError,
)
from runtime.core.op import CAST, Op
from runtime.core.persistent_list import Items, versions
from runtime.core.string_arrays import of_scalars, zeros
from runtime.core.tensor import EagerList, GraphList
from runtime.core.trace import apply
from runtime.core.types import ListType, TensorType, Type, compatible_shapes, int32, join_shapes, promote, shape_text

__all__ = [
    "MOST_ITEMS", "ListValue", "check_items", "join_elements", "list_append", "list_cast", "list_concat",
    "list_extend", "list_from_tensor", "list_gather", "list_get", "list_insert", "list_length", "list_new",
    "list_pop", "list_reserve", "list_scatter", "list_set", "list_slice", "list_split", "list_stack",
]

ListValue = GraphList | EagerList
_INDEX: Final = TensorType(int32)
MOST_ITEMS: Final = (1 << 31) - 1
"""The maximum length of a list: lengths are int32."""


def check_items(count: int) -> None:
    """OutOfMemoryError if a list would exceed the maximal length."""
    if count > MOST_ITEMS:
        raise OutOfMemoryError(f"the list would have {count} items, which is more than a list can have: 2**31 - 1")


# Types

def join_elements(a: TensorType, b: TensorType) -> TensorType:
    """The join of two element types: weak dtypes adapt, differing dimensions become unknown.

    DTypeError for differing strong dtypes, ShapeError for differing ranks.
    """
    promoted = _promoted(a, b, "the elements of a list")
    shape = join_shapes(a.shape, b.shape)
    if shape is None:
        raise ShapeError(f"the elements of a list have different ranks: {a} and {b}",
                         remedy="Use one list for each rank, or bring the elements to one rank with rt.reshape.")
    return replace(promoted, shape=shape)


def _promoted(a: TensorType, b: TensorType, what: str) -> TensorType:
    """The type of scalar elements of which some have the dtype of `a` and others that of `b`. Ints of a tensor become
    floats of Python beside such, and elements of arrays are joined as in variables."""
    for ints, floats in ((a, b), (b, a)):
        if ints.dtype.is_integer and not ints.weak and floats.weak and floats.dtype.is_floating:
            return TensorType(floats.dtype, (), True)
    if a.dtype is not b.dtype and not (a.weak or b.weak) and (
            joined := join_arrays(replace(a, shape=()), replace(b, shape=()))) is not None:
        return joined
    dtype, weak = promote((a, b), what)
    of_arrays = (a.of_arrays or b.of_arrays) and all(type.of_arrays or type.weak for type in (a, b))
    return TensorType(dtype, (), weak, of_arrays)


def _list(op: str, type: Type) -> ListType:
    if not isinstance(type, ListType):
        raise DTypeError(f"{op} takes a list, not {type}")
    return type


def _index(op: str, type: Type) -> None:
    if not (isinstance(type, TensorType) and type.dtype.is_integer and not type.shape):
        raise DTypeError(f"an index of a list is an integer scalar, not {type}")


def _indices(op: str, type: Type) -> int | None:
    if not (isinstance(type, TensorType) and type.dtype.is_integer and len(type.shape) == 1):
        raise DTypeError(f"{op} takes the indices as a vector of integers, not {type}")
    return type.shape[0]


def _with(op: str, list: ListType, x: Type) -> ListType:
    """The type of the list after adding an element of type `x`."""
    if not isinstance(x, TensorType):
        raise DTypeError(f"an element of a list is a tensor, not a {x}")
    if x.dtype is not list.element.dtype:
        raise DTypeError(f"the list holds {list.element.dtype.name}, not {x.dtype.name}",
                         remedy=f"Cast the element: rt.cast(x, rt.{list.element.dtype.name}).")
    if not list.known:
        return ListType(TensorType(x.dtype, x.shape, list.element.weak and x.weak))
    return ListType(join_elements(list.element, x))


def _known(op: str, list: ListType) -> TensorType:
    if not list.known:
        raise ShapeError(f"{op}: the shape of the elements is not known, for nothing was written yet",
                         remedy="Give element_shape to the TensorArray, or write to it before: ta = ta.write(i, x).")
    return list.element


def _rows(op: str, x: Type) -> TensorType:
    if not isinstance(x, TensorType) or not x.shape:
        raise ShapeError(f"{op} takes the rows of a tensor, and {x} has none")
    return TensorType(x.dtype, x.shape[1:], x.weak)


# Values

def _position(items: Sequence[Any], index: Any, strict: bool, verb: str) -> int:
    """The index of the element. `strict`: negative indices do not count from the end."""
    i, size = int(index), len(items)
    if -size <= i < 0 and not strict:
        return i + size
    if not 0 <= i < size:
        _out_of_range(i, size, strict, verb)
    return i


def _out_of_range(i: int, size: int, strict: bool, verb: str) -> NoReturn:
    if strict:
        resize = f"array is not resizeable and size is: {size}" if verb == "write to" else f"array size is: {size}"
        raise IndexOutOfRangeError(f"Tried to {verb} index {i} but {resize}")
    raise IndexOutOfRangeError(f"list index out of range: index {i}, length {size}")


def _value(x: Any, items: Iterable[Any], element: TensorType) -> Any:
    """The element `x` of `items`, or zeros if it was not written."""
    return x if x is not None else zeros(_zero_shape(items, element), element.dtype.np)


def _zero_shape(items: Iterable[Any], element: TensorType) -> tuple[int, ...]:
    if None in element.shape:
        written = next((x for x in items if x is not None), None)
        if written is None:
            raise InvalidArgumentError(
                "Tried to read an element that was not written, and the shape of the elements, "
                f"{shape_text(element.shape)}, is not fully known", remedy="Give the TensorArray an element_shape.")
        return tuple(written.shape)
    return element.shape  # type: ignore[return-value]


def _written(items: Iterable[Any], element: TensorType) -> list[Any]:
    found = list(items)
    if any(x is None for x in found):
        unwritten = zeros(_zero_shape(found, element), element.dtype.np)
        return [unwritten if x is None else x for x in found]
    return found


def _same_shape(arrays: list[Any], what: str, remedy: str = "") -> None:
    for i, x in enumerate(arrays):
        if x.shape != arrays[0].shape:
            raise ShapeError(f"{what} need one shape, but element 0 has the shape {shape_text(arrays[0].shape)} "
                             f"and element {i} {shape_text(x.shape)}", remedy=remedy)


def _sample(*rows: Any) -> Items:
    return Items([np.float32(row) for row in rows])


# list_new(*items; element)

def _new_kernel(*items: Any, element: TensorType, known: bool = True) -> Any:
    return Items(items)


def _new_rule(*items: Type, element: TensorType, known: bool = True) -> ListType:
    for x in items:
        if not element.accepts(x):
            raise ShapeError(f"list_new: an element is {x}, not {element}")
    return ListType(element, known)


_NEW: Final = Op("list_new", _new_kernel, _new_rule,
                 doc="The list of the operands, which are of type `element`.")


def list_new(items: Sequence[Any], element: TensorType) -> Any:
    """The list of tensors `items`, which have the type `element`, or are weak and adapt to it."""
    weak = {"weak": True} if element.weak else {}
    cast = [x if x.dtype is element.dtype else apply(CAST, x, dtype=element.dtype, **weak) for x in items]
    return apply(_NEW, *cast, element=element)


# list_reserve(size; element, known)

def _reserve_kernel(size: Any, *, element: TensorType, known: bool) -> Any:
    if size < 0:
        raise InvalidArgumentError(f"the size of a TensorArray is at least 0, not {size}")
    check_items(int(size))
    return Items([None] * int(size))


def _reserve_rule(size: Type, *, element: TensorType, known: bool) -> ListType:
    _index("list_reserve", size)
    return ListType(element, known)


_RESERVE: Final = Op("list_reserve", _reserve_kernel, _reserve_rule,
                     errors=(InvalidArgumentError,),
                     doc="A list of elements that are not written yet.")


def list_reserve(size: Any, element: TensorType, known: bool = True) -> Any:
    """A list of `size` elements that are not yet written."""
    return apply(_RESERVE, size, element=element, known=known)


# list_cast(list; element)

def _cast_kernel(items: Any, *, element: TensorType) -> Any:
    dtype = element.dtype.np
    return Items([x if x is None else x.astype(dtype, copy=False) for x in items])


def _cast_rule(list: Type, *, element: TensorType) -> ListType:
    found = _list("list_cast", list)
    shape = found.element.shape
    if found.known and not compatible_shapes(shape, element.shape):
        raise ShapeError(f"list_cast: {found} cannot become a list of {element}")
    return ListType(element)


_CAST: Final = Op("list_cast", _cast_kernel, _cast_rule,
                  doc="The list with its elements in the dtype of `element`.")


def list_cast(list: Any, element: TensorType) -> Any:
    """The list with elements of type `element`, whose shape must include the shapes of all that it may hold."""
    return apply(_CAST, list, element=element)


# list_append(list, x) and list_extend(list, other)

def _append_kernel(items: Any, x: Any) -> Any:
    return versions(items).append(x)


def _append_rule(list: Type, x: Type) -> ListType:
    return _with("list_append", _list("list_append", list), x)


_APPEND: Final = Op("list_append", _append_kernel, _append_rule, doc="The list with one more element.")


def list_append(list: Any, x: Any) -> Any:
    """The list with `x` appended. A weak list or `x` adapts to the other."""
    list, x = _agree(list, x)
    return apply(_APPEND, list, x)


def _agree(list: Any, x: Any) -> tuple[Any, Any]:
    """List and element converted to one dtype, if one of them is weak. Otherwise the type rules report the error."""
    element: TensorType = list.type.element
    found: TensorType = x.type
    if element.dtype is found.dtype and (found.weak or not element.weak):
        return list, x
    promoted = _promoted(element, found, "the list and the element")
    if element.dtype is not promoted.dtype or element.weak is not promoted.weak:
        list = list_cast(list, replace(promoted, shape=element.shape))
    if found.dtype is not promoted.dtype:
        x = apply(CAST, x, dtype=promoted.dtype, **({"weak": True} if promoted.weak else {}))
    return list, x


def _extend_kernel(items: Any, others: Any) -> Any:
    result = versions(items)
    for x in others.storage().copy() if isinstance(others, Items) else others:
        result = result.append(x)
    return result


def _extend_rule(list: Type, other: Type) -> ListType:
    found = _list("list_extend", other)
    return _with("list_extend", _list("list_extend", list), found.element) if found.known else _list("", list)


_EXTEND: Final = Op("list_extend", _extend_kernel, _extend_rule, doc="The elements of both lists.")


def list_extend(list: Any, other: Any) -> Any:
    """The list extended by the elements of the list `other`."""
    promoted = _promoted(list.type.element, other.type.element, "the two lists")
    list, other = (
        x if x.type.element.dtype is promoted.dtype and x.type.element.weak is promoted.weak
        else list_cast(x, replace(promoted, shape=x.type.element.shape)) for x in (list, other))
    return apply(_EXTEND, list, other)


# list_get(list, index), list_set(list, index, x), list_insert, list_pop

def _get_kernel(items: Any, index: Any, *, element: TensorType, strict: bool = False) -> Any:
    return _value(items[_position(items, index, strict, "read from")], items, element)


def _get_rule(list: Type, index: Type, *, element: TensorType, strict: bool = False) -> TensorType:
    _index("list_get", index)
    return _known("reading", _list("list_get", list))


_GET: Final = Op("list_get", _get_kernel, _get_rule,
                 errors=(IndexOutOfRangeError, InvalidArgumentError),
                 doc="An element. `strict`: a negative index is out of range.")


def list_get(list: Any, index: Any, strict: bool = False) -> Any:
    """The element at `index`. IndexOutOfRangeError at run time; with `strict` also for a negative index."""
    return apply(_GET, list, index, element=list.type.element, **({"strict": True} if strict else {}))


def _set_kernel(items: Any, index: Any, x: Any, *, strict: bool = False, grow: bool = False) -> Any:
    i = int(index)
    new = versions(items)
    if grow and i >= len(new):
        check_items(i + 1)
        for _ in range(len(new), i):
            new = new.append(None)
        return new.append(x)
    return new.set(_position(new, index, strict, "write to"), x)  # type: ignore[arg-type]


def _set_rule(list: Type, index: Type, x: Type, *, strict: bool = False, grow: bool = False) -> ListType:
    _index("list_set", index)
    return _with("list_set", _list("list_set", list), x)


_SET: Final = Op("list_set", _set_kernel, _set_rule,
                 errors=(IndexOutOfRangeError,),
                 doc="The list with another element at an index; `grow`: a longer list.")


def list_set(list: Any, index: Any, x: Any, strict: bool = False, grow: bool = False) -> Any:
    """The list with `x` at `index`. IndexOutOfRangeError at run time, unless `grow` extends the list."""
    list, x = _agree(list, x)
    params = {name: True for name, flag in (("strict", strict), ("grow", grow)) if flag}
    return apply(_SET, list, index, x, **params)


def _insert_kernel(items: Any, index: Any, x: Any) -> Any:
    new = list(items)
    new.insert(int(index), x)
    return Items(new)


def _insert_rule(list: Type, index: Type, x: Type) -> ListType:
    return _set_rule(list, index, x)


_INSERT: Final = Op("list_insert", _insert_kernel, _insert_rule,
                    doc="The list with a new element before an index.")


def list_insert(list: Any, index: Any, x: Any) -> Any:
    """The list with `x` inserted before the element at `index`; as in `list.insert`, any index is valid."""
    list, x = _agree(list, x)
    return apply(_INSERT, list, index, x)


def _pop_kernel(items: Any, *index: Any, element: TensorType) -> Any:
    if not len(items):
        raise IndexOutOfRangeError("pop from empty list")
    if not index:
        new, x = versions(items).pop()
    else:
        rest = list(items)
        x = rest.pop(_position(rest, index[0], False, "read from"))
        new = Items(rest)
    return new, _value(x, new, element)


def _pop_rule(list: Type, *index: Type, element: TensorType) -> tuple[ListType, TensorType]:
    for i in index:
        _index("list_pop", i)
    found = _list("list_pop", list)
    return found, _known("pop", found)


_POP: Final = Op("list_pop", _pop_kernel, _pop_rule,
                 errors=(IndexOutOfRangeError, InvalidArgumentError),
                 doc="The list without its last element (or that at an index), and that element.")


def list_pop(list: Any, *index: Any) -> tuple[Any, Any]:
    """The list without its last element, or without that at `index`; and the removed element."""
    rest, x = apply(_POP, list, *index, element=list.type.element)
    return rest, x


# list_length(list), list_slice(list, *bounds)

def _length_kernel(items: Any) -> Any:
    return np.int32(len(items))


def _length_rule(list: Type) -> TensorType:
    _list("list_length", list)
    return TensorType(int32, (), weak=True)


_LENGTH: Final = Op("list_length", _length_kernel, _length_rule, doc="How many elements the list has.")


def list_length(list: Any) -> Any:
    """The number of elements: a weak int32 scalar, as `len` gives a Python int."""
    return apply(_LENGTH, list)


def _slice_kernel(items: Any, *bounds: Any, given: tuple[bool, bool, bool]) -> Any:
    operands = iter(bounds)
    start, stop, step = (int(next(operands)) if here else None for here in given)
    if step == 0:
        raise InvalidSliceError("slice step cannot be zero")
    return Items(list(items)[start:stop:step])


def _slice_rule(list: Type, *bounds: Type, given: tuple[bool, bool, bool]) -> ListType:
    for bound in bounds:
        _index("list_slice", bound)
    return _list("list_slice", list)


_SLICE: Final = Op("list_slice", _slice_kernel, _slice_rule,
                   errors=(InvalidSliceError,),
                   doc="A slice of the list; `given` says which of start, stop and step are operands.")


def list_slice(list: Any, start: Any = None, stop: Any = None, step: Any = None) -> Any:
    """`list[start:stop:step]`."""
    bounds = (start, stop, step)
    present = tuple(bound is not None for bound in bounds)
    return apply(_SLICE, list, *[bound for bound in bounds if bound is not None], given=present)


# Lists and tensors: list_stack(list), list_concat(list), list_from_tensor(x), list_split(x, lengths)

def _stack_kernel(items: Any, *, element: TensorType, lanes: bool = False) -> Any:
    arrays = _written(items, element)
    if not arrays:
        return np.zeros((0, *[dim or 0 for dim in element.shape]), element.dtype.np)
    if not element.shape:
        return of_scalars(arrays, element.dtype.np)
    if lanes:
        _same_shape(arrays, "the results of a mapped function", "Pad them to one size, or reduce them in each lane.")
    _same_shape(arrays, "elements to stack")
    return np.stack(arrays)


def _stack_rule(list: Type, *, element: TensorType, lanes: bool = False) -> TensorType:
    found = _known("stack", _list("list_stack", list))
    return TensorType(found.dtype, (None, *found.shape), found.weak)


_STACK: Final = Op("list_stack", _stack_kernel, _stack_rule,
                   errors=(InvalidArgumentError, ShapeError),
                   doc="The elements, which have one shape, as the rows of a tensor. `lanes`: they are those of a map.")


def list_stack(list: Any, lanes: bool = False) -> Any:
    """The elements as the rows of a tensor. ShapeError at run time if their shapes differ; with `lanes` its message is
    about the lanes of a vectorised map."""
    return apply(_STACK, list, element=list.type.element, **({"lanes": True} if lanes else {}))


def _concat_kernel(items: Any, *, element: TensorType) -> Any:
    arrays = _written(items, element)
    if not arrays:
        return np.zeros([dim or 0 for dim in (0, *element.shape[1:])], element.dtype.np)
    _same_shape([x[:0] for x in arrays], "the rows of elements to concatenate")
    return np.concatenate(arrays)


def _concat_rule(list: Type, *, element: TensorType) -> TensorType:
    found = _known("concat", _list("list_concat", list))
    if not found.shape:
        raise ShapeError(f"concat takes elements with rows, not {found}", remedy="Use stack().")
    return TensorType(found.dtype, (None, *found.shape[1:]), found.weak)


_CONCAT: Final = Op("list_concat", _concat_kernel, _concat_rule,
                    errors=(InvalidArgumentError, ShapeError),
                    doc="The rows of all elements, in one tensor.")


def list_concat(list: Any) -> Any:
    """The rows of all elements, in one tensor."""
    return apply(_CONCAT, list, element=list.type.element)


def _from_tensor_kernel(x: Any, *size: Any) -> Any:
    if size and len(x) != size[0]:
        raise ShapeError(f"Cannot unstack {len(x)} rows into a TensorArray of static size {size[0]}",
                         remedy="Give the TensorArray that size, or dynamic_size=True.")
    return Items(x)


def _from_tensor_rule(x: Type, *size: Type) -> ListType:
    return ListType(_rows("list_from_tensor", x))


_FROM_TENSOR: Final = Op("list_from_tensor", _from_tensor_kernel, _from_tensor_rule,
                         errors=lambda node: (ShapeError,) if len(node.operands) > 1 else (),
                         doc="The rows of a tensor as a list; a second operand is how many there must be.")


def list_from_tensor(x: Any, *size: Any) -> Any:
    """The rows of the tensor `x` as a list; with `size`, ShapeError at run time if their number is another."""
    return apply(_FROM_TENSOR, x, *size)


def _split_kernel(x: Any, lengths: Any) -> Any:
    if (lengths < 0).any():
        raise ShapeError(f"the lengths to split into are at least 0, not {lengths.min()}")
    total = sum(lengths.tolist())
    if total != len(x):
        raise ShapeError(f"the lengths to split into have the sum {total}, but the tensor has {len(x)} rows")
    ends = np.cumsum(lengths)
    return Items([x[end - length:end] for end, length in zip(ends, lengths, strict=True)])


def _split_rule(x: Type, lengths: Type) -> ListType:
    rows = _rows("list_split", x)
    _indices("list_split", lengths)
    return ListType(TensorType(rows.dtype, (None, *rows.shape), rows.weak))


_SPLIT: Final = Op("list_split", _split_kernel, _split_rule,
                   errors=(ShapeError,),
                   doc="A tensor cut along its rows into elements of the given lengths.")


def list_split(x: Any, lengths: Any) -> Any:
    """The tensor `x` split along its first axis into elements of the lengths `lengths`."""
    return apply(_SPLIT, x, lengths)


# list_gather(list, indices), list_scatter(list, indices, x)

def _gather_kernel(items: Any, indices: Any, *, element: TensorType) -> Any:
    picked = [items[_position(items, i, True, "read from")] for i in indices]
    if any(x is None for x in picked):
        picked = [_value(x, items, element) for x in picked]
    return _stack_kernel(picked, element=element)


def _gather_rule(list: Type, indices: Type, *, element: TensorType) -> TensorType:
    count = _indices("gather", indices)
    found = _known("gather", _list("list_gather", list))
    return TensorType(found.dtype, (count, *found.shape), found.weak)


_GATHER: Final = Op("list_gather", _gather_kernel, _gather_rule,
                    errors=(IndexOutOfRangeError, InvalidArgumentError, ShapeError),
                    doc="Some elements, as the rows of a tensor.")


def list_gather(list: Any, indices: Any) -> Any:
    """The elements at `indices` as the rows of a tensor."""
    return apply(_GATHER, list, indices, element=list.type.element)


def _scatter_kernel(items: Any, indices: Any, x: Any, *, grow: bool = False) -> Any:
    if len(indices) != len(x):
        raise ShapeError(f"scatter takes an index for each row, not {len(indices)} indices for {len(x)} rows")
    for i, row in zip(indices, x, strict=True):
        items = _set_kernel(items, i, row, strict=True, grow=grow)
    return items


def _scatter_rule(list: Type, indices: Type, x: Type, *, grow: bool = False) -> ListType:
    _indices("scatter", indices)
    return _with("scatter", _list("list_scatter", list), _rows("scatter", x))


_SCATTER: Final = Op("list_scatter", _scatter_kernel, _scatter_rule,
                     errors=(IndexOutOfRangeError, InvalidArgumentError, ShapeError),
                     doc="The list with the rows of a tensor written at indices.")


def list_scatter(list: Any, indices: Any, x: Any, grow: bool = False) -> Any:
    """The list with row i of `x` at `indices[i]`, for all i."""
    return apply(_SCATTER, list, indices, x, **({"grow": True} if grow else {}))

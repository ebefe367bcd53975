"""`TensorArray`: an array of tensors that is written and read by index, mostly in loops."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.core.errors import InvalidArgumentError, ShapeError, locate
from runtime.core.positions import user_position
from runtime.core.tensor import Tensor
from runtime.core.trace import convert_to_tensor
from runtime.core.types import DType, TensorShape, TensorType, as_dtype, compatible_shapes
from runtime.ops.lists import (
    ListValue,
    list_concat,
    list_from_tensor,
    list_gather,
    list_get,
    list_length,
    list_reserve,
    list_scatter,
    list_set,
    list_split,
    list_stack,
)
from runtime.ops.shape_refinement import refined
from runtime.staging.values.iterables import Counted, Staged

__all__ = ["TensorArray"]


class TensorArray(Staged):
    """An array of tensors of one dtype and rank (`tf.TensorArray`).

    Each update returns a new TensorArray and leaves this one unchanged, also outside graphs: `ta = ta.write(i, x)`. An
    element may be read any number of times, so `clear_after_read` has no effect. An element that was not written reads
    as zeros, if its shape is known.

    dtype          the dtype of the elements.
    size           the number of elements, an int or int32 scalar; by default 0.
    dynamic_size   a write past the end extends the array; without it, IndexError (InvalidArgumentError) at run time.
    infer_shape    all elements have one shape: ShapeError for a write of another.
    element_shape  that shape, where it must be known before the first write; a dimension may be None.
    """

    __slots__ = ("_list", "_shape", "dtype", "dynamic_size", "infer_shape")

    _list: ListValue

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: None = None, flow: None = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ) -> None:
        self.dtype: DType = as_dtype(dtype)
        self.dynamic_size = bool(dynamic_size)
        self.infer_shape = infer_shape
        self._shape = TensorShape(element_shape)
        known = self._shape.rank is not None
        element = TensorType(self.dtype, tuple(self._shape) if known else ())
        if isinstance(size, int) and size < 0:
            raise _at_user(InvalidArgumentError(f"the size of a TensorArray is at least 0, not {size}"))
        self._list = list_reserve(0 if size is None else size, element, known)

    def _with(self, list: ListValue) -> TensorArray:
        new: TensorArray = object.__new__(type(self))
        new._list, new._shape, new.dtype = list, self._shape, self.dtype
        new.dynamic_size, new.infer_shape = self.dynamic_size, self.infer_shape
        return new

    # For staging and the executors.

    def __leaves__(self) -> list[ListValue]:
        return [self._list]

    def __rebuild__(self, leaves: Sequence[ListValue]) -> TensorArray:
        return self._with(leaves[0])

    def __iterable__(self) -> Counted:
        return Counted(self.size(), self.read)

    @property
    def element_shape(self) -> TensorShape:
        """The shape of an element, as far as known."""
        type = self._list.type
        if self._shape.rank is None and type.known and self.infer_shape:
            return TensorShape(type.element.shape)
        return self._shape

    def size(self, name: str | None = None) -> Any:
        """The number of elements: an int32 scalar."""
        return list_length(self._list)

    def identity(self) -> TensorArray:
        return self._with(self._list)

    def mark_used(self) -> None:
        """Does nothing: an unused TensorArray is dropped."""

    def close(self, name: str | None = None) -> None:
        """Does nothing: an unused TensorArray is dropped."""

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """A TensorArray with `value` at `index`, which must not be negative."""
        x = self._checked(convert_to_tensor(value, self.dtype))
        return self._with(list_set(self._list, index, x, strict=True, grow=self.dynamic_size))

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at `index`, which must not be negative."""
        result: Tensor = list_get(self._list, index, strict=True)
        return result

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as the rows of a tensor. ShapeError at run time if their shapes differ."""
        result: Tensor = list_stack(self._list)
        return result

    def concat(self, name: str | None = None) -> Tensor:
        """The rows of all elements, in one tensor."""
        result: Tensor = list_concat(self._list)
        return result

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at `indices`, a vector, as the rows of a tensor."""
        result: Tensor = list_gather(self._list, indices)
        return result

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """A TensorArray with the rows of `value` at `indices`, a vector."""
        x = self._of_rows(convert_to_tensor(value, self.dtype))
        return self._with(list_scatter(self._list, indices, x, grow=self.dynamic_size))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """A TensorArray of the rows of `value`; without `dynamic_size`, its size must be their number."""
        x = self._of_rows(convert_to_tensor(value, self.dtype))
        return self._with(list_from_tensor(x, *self._fixed_size()))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """A TensorArray of consecutive parts of `value` along its first axis, of the lengths in the vector
        `lengths`."""
        return self._with(list_split(convert_to_tensor(value, self.dtype), lengths))

    def __iter__(self) -> Iterator[Tensor]:
        """The elements; in converted code a staged `for` does this in a graph."""
        return map(self.read, range(int(self.size())))

    def __repr__(self) -> str:
        return f"<rt.TensorArray dtype={self.dtype.name} element_shape={self.element_shape}>"

    def _fixed_size(self) -> tuple[Any, ...]:
        return () if self.dynamic_size else (list_length(self._list),)

    def _checked(self, x: Tensor) -> Tensor:
        expected = self._list.type
        known = self.infer_shape and expected.known
        if (known and not compatible_shapes(expected.element.shape, x.type.shape)) or (
                not self._shape.is_compatible_with(x.type.shape)):
            wanted = TensorShape(expected.element.shape) if known else self._shape
            raise _at_user(ShapeError(
                f"Incompatible shape for value ({x.get_shape()}), expected ({wanted})",
                remedy="Use infer_shape=False for elements of several shapes of one rank."))
        return x if self._shape.rank is None else refined(
            x, self._shape, "the value", "a TensorArray takes elements of")

    def _of_rows(self, x: Tensor) -> Tensor:
        if not x.ndim:
            raise _at_user(ShapeError(f"a TensorArray takes the rows of a tensor, and {x.type} has none"))
        expected = self._list.type
        if self._shape.rank is not None and not compatible_shapes(expected.element.shape, x.type.shape[1:]):
            raise _at_user(ShapeError(
                f"Incompatible shape for value ({x.get_shape()[1:]}), expected ({self._shape})"))
        return x if self._shape.rank is None else refined(
            x, [None, *self._shape], "the value", "a TensorArray takes rows of")


def _at_user(error: Exception) -> Exception:
    locate(error, user_position())
    return error

"""NumPy arrays in traced functions as mutable objects whose contents are tensors.

A `StagedArray` is a cell of the abstract heap: all aliases of an array are one object, and a write replaces the tensor
in it. A view, such as `a[1]` or `a.T`, refers to its base: it reads the elements from there, and writes them there.
Functions of `rt` use the tensor that an array contains at the time. Outside of a trace there are NumPy's own arrays.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.array_mode import note_object
from runtime.core.errors import DTypeError, ShapeError, StagingError
from runtime.core.graph import Value
from runtime.core.operations import OPERATIONS
from runtime.core.tensor import GraphTensor, Tensor
from runtime.core.trace import convert_to_tensor, current_graph, holds_tensor
from runtime.core.types import TensorType
from runtime.numpy import array_layouts, arrays, diagonals, functions
from runtime.numpy.array_indexing import (
    as_tensor,
    cast_into,
    entries_of,
    get_elements,
    is_basic,
    is_int,
    known,
    located,
    numbers_in,
    plain_index,
    same_index,
    set_elements,
    shape_of,
    with_numbers,
)
from runtime.ops import complex_numbers
from runtime.ops.complex_numbers import complex as complex_
from runtime.ops.creation import range as range_
from runtime.ops.gather import scatter
from runtime.ops.shape import broadcast_to

__all__ = [
    "ArrayCell", "ArrayView", "ElementsView", "FlatView", "SingleView", "StagedArray", "cast_into",
    "put_result", "read_only"]


class StagedArray(GraphTensor):
    """An array of a traced function: `leaf` is the tensor with its current contents; its dtype and shape are fixed."""

    __slots__ = ("last",)

    is_object = True
    last: dict[Any, GraphTensor]
    """By the graph of a staged body that left a view: its elements at the end of the body, after which its base is
    restored."""

    def at_end(self) -> GraphTensor:
        """The elements; for a view, those at the end of the body whose graph is open."""
        found = getattr(self, "last", {}).get(current_graph())
        return self.leaf if found is None else found

    def some_elements(self) -> GraphTensor:
        """Elements of a view at the end of some body, of which only the type is used."""
        found = [*getattr(self, "last", {}).values()]
        return found[0] if found else self.leaf

    @property
    def leaf(self) -> GraphTensor:
        raise NotImplementedError

    @property
    def value(self) -> Value:  # type: ignore[override]
        return self.leaf.value

    def __tensor__(self) -> GraphTensor:
        """The tensor that the array contains now, unaffected by later writes."""
        return GraphTensor(self.value)

    def write(self, contents: Any) -> None:
        """Replace the contents by a tensor of the same dtype and shape."""
        raise NotImplementedError

    @property
    def model(self) -> array_layouts.Model | None:
        """A model of its layout (`array_layouts`), if that is known."""
        return None

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are certainly one block of memory in order, so that `reshape` returns a view."""
        model = self.model
        return self._is_block() if model is None else bool(model.flags.c_contiguous)

    def _is_block(self) -> bool:
        return False

    @property
    def is_in_order(self) -> bool:
        """Whether its axes certainly have NumPy's usual order in memory, as results of functions then have."""
        model = self.model
        return self.is_contiguous if model is None else array_layouts.is_in_order(model)

    def copied_layout(self, order: str = "K") -> array_layouts.Layout:
        """The layout of a copy in an order."""
        model = self.model
        if order in ("C", "F"):
            return order
        return ("C" if self.is_in_order else None) if model is None else array_layouts.kept(model, order)

    # Elements.

    def __getitem__(self, index: Any) -> Any:
        given, index = index, plain_index(index)
        part = get_elements(self.__tensor__(), index)
        if not is_basic(index):
            return ArrayCell(part, layout=self._layout_at(given)) if part.ndim else part
        return ArrayView(self, index, part) if part.ndim or any(
            each is Ellipsis for each in entries_of(index)) else part

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        index = plain_index(index)
        if isinstance(value, ArrayView) and value.base is self and same_index(value.index, index):
            return  # `a[i] += v` has changed the view in place already
        self.write(set_elements(self.__tensor__(), index, cast_into(value, self.dtype)))

    def _layout_at(self, index: Any) -> array_layouts.Layout:
        """The layout of the elements at an index with arrays: behind a slice it is not the usual one."""
        entries = entries_of(index)
        arrays_first = [isinstance(part, slice) or part is None or part is Ellipsis for part in entries]
        is_usual = arrays_first == sorted(arrays_first) and self.is_in_order and all(
            part.is_in_order for part in entries if isinstance(part, StagedArray))
        return "C" if is_usual else None

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def copy(self, order: str = "C") -> Any:
        return ArrayCell(self.__tensor__(), layout=self.copied_layout(order))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return memo.setdefault(id(self), self.copy())

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
        self.write(functions.sort(self.__tensor__(), axis))

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self.sort(axis)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        OPERATIONS.array_function(np.put, (self, indices, values, mode), {})

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        raise located(StagingError("the size of an array cannot change in a traced function",
                                   remedy="Make another array: a = np.resize(a, shape)."))

    def tobytes(self, order: str = "C") -> bytes:
        raise located(StagingError("the elements of an array are not known while a function is traced, nor its bytes",
                                   remedy="Ask for them outside: f(a).numpy().tobytes()."))

    @property
    def flat(self) -> ElementsView:
        return FlatView(self, lambda x: arrays.reshape(x, -1), _reshaped_to(self))

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    # Views and copies.

    @property  # type: ignore[misc]  # as in NumPy it cannot be set
    def T(self) -> Any:
        return self.transpose()

    @property  # type: ignore[misc]
    def mT(self) -> Any:
        return ElementsView(self, arrays.matrix_transpose, arrays.matrix_transpose, lambda x: x.swapaxes(-1, -2))

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 else axes or None
        back = None if order is None else [int(i) for i in np.argsort(np.asarray(order) % self.ndim)]
        return ElementsView(self, lambda x: arrays.transpose(x, order), lambda x: arrays.transpose(x, back),
                            lambda x: x.transpose(order))

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        def swap(x: Any) -> Any:
            return arrays.swapaxes(x, axis1, axis2)

        return ElementsView(self, swap, swap, lambda x: x.swapaxes(axis1, axis2))

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        wanted = arrays.sizes_of(shape[0] if len(shape) == 1 else shape)
        made = self._reshaped(
            order, lambda x, order: arrays.reshape(x, wanted, order),
            lambda x, order: array_layouts.reshaped(x, wanted, order), holds_tensor([wanted]))
        return made.copy() if copy and isinstance(made, ElementsView) else made

    def ravel(self, order: str = "C") -> Any:
        model = self.model
        if order == "K" and model is not None and not model.flags.forc:
            return self.transpose(array_layouts.order_of_axes(model)).ravel()
        return self._reshaped(order, arrays.ravel, array_layouts.raveled)

    def squeeze(self, axis: Any = None) -> Any:
        return ElementsView(self, lambda x: arrays.squeeze(x, axis), _reshaped_to(self), lambda x: x.squeeze(axis))

    def diagonal(self, offset: Any = 0, axis1: int = 0, axis2: int = 1) -> Any:
        made = ElementsView(self, lambda x: diagonals.diagonal(x, offset, axis1, axis2))
        made.refusal = read_only
        return made

    def _reshaped(
        self, order: str, read: Callable[[Any, str], Any], of_model: Callable[[Any, str], array_layouts.Model | None],
        is_open: bool = False,
    ) -> Any:
        """The elements in another shape: a view if the layout allows one, or else a copy. `of_model` gives the model
        of a view, unless the shape `is_open`: known only when the graph runs."""
        model, order = self.model, self._order(order)
        seen = None if model is None or is_open else of_model(model, order)
        if model is not None and not is_open and seen is None:
            return ArrayCell(as_tensor(read(self.__tensor__(), order)), layout=order)
        undo = _reshaped_to(self) if order == "C" else None
        made = ElementsView(self, lambda x: read(x, order), undo, lambda _: seen)
        made.is_sure = seen is not None or (order == "C" and self.is_contiguous)
        return made

    def flatten(self, order: str = "C") -> Any:
        model = self.model
        if order == "K" and model is not None:
            return self.transpose(array_layouts.order_of_axes(model)).flatten()
        return ArrayCell(as_tensor(arrays.ravel(self.__tensor__(), self._order(order))))

    def _order(self, order: str) -> str:
        """The order, C or F, that A and K mean. StagingError if the layout is not known."""
        model = self.model
        if order in ("A", "K") and model is None:
            if self.is_contiguous:
                return "C"
            raise located(StagingError(
                "the order of the elements of an array in memory is asked for, and it is not known here",
                remedy="Say which order: a.ravel('C'), or 'F'."))
        return order if model is None else array_layouts.resolved_order(model, order)

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
               ) -> Any:
        if not copy and arrays.numpy_dtype(dtype) is self.dtype:
            return self
        return ArrayCell(as_tensor(arrays.astype(self.__tensor__(), dtype)), layout=self.copied_layout(order))

    def conj(self) -> Any:
        return self if self.dtype.level < 3 else ArrayCell(
            as_tensor(complex_numbers.conj(self.__tensor__())), layout=self.copied_layout())

    conjugate = conj

    def __pos__(self) -> Any:
        return ArrayCell(self.__tensor__(), layout=self.copied_layout())

    @property
    def real(self) -> Any:
        return self if self.dtype.level < 3 else _part_of_complex(self, functions.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._set_part(value, True)

    def _set_part(self, value: Any, is_real: bool) -> None:
        if self.dtype.level < 3:
            if not is_real:
                raise located(TypeError("array does not have imaginary part to set"))
            self[...] = value
            return
        x = self.__tensor__()
        part = broadcast_to(cast_into(value, self.dtype.real_dtype), shape_of(x))
        self.write(complex_(part, functions.imag(x)) if is_real else complex_(functions.real(x), part))

    @property
    def imag(self) -> Any:
        return _part_of_complex(self, functions.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._set_part(value, False)


def _part_of_complex(x: StagedArray, read: Callable[[Any], Any]) -> Any:
    made = ElementsView(x, read)
    made.refusal = lambda: _copy_it("the real or imaginary part of an array cannot be written to in a traced function")
    return made


def _copy_it(what: str) -> StagingError:
    return StagingError(what, remedy="Make a new array, or write to a copy: b = a.copy().")


def read_only() -> ValueError:
    """NumPy's error for a write to a read-only array."""
    return ValueError("assignment destination is read-only")


class ArrayCell(StagedArray):
    """An array with memory of its own: a cell of the heap.

    born      the graph that was being traced when it was made
    refusal   makes the error for a write, if the array must not be written
    layout    that of its elements in memory
    """

    __slots__ = ("born", "layout", "leaf", "refusal")

    def __init__(
        self, leaf: GraphTensor, refusal: Callable[[], Exception] | None = None, layout: array_layouts.Layout = "C"
    ) -> None:
        self.leaf: GraphTensor = leaf
        self.layout = layout
        self.memory = ()
        self.born, self.refusal = current_graph(), refusal
        note_object(self)

    def write(self, contents: Any) -> None:
        if self.refusal is not None:
            raise located(self.refusal())
        self.leaf = as_tensor(contents)

    @property
    def model(self) -> array_layouts.Model | None:
        return array_layouts.model_of(self.type.shape, self.dtype.np.itemsize, self.layout)

    def _is_block(self) -> bool:
        return self.layout == "C" or (self.layout is not None and self.ndim < 2 and type(self.layout) is str)

    def __leaves__(self) -> list[Any]:
        return [self.leaf]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return ArrayCell(as_tensor(leaves[0]), self.refusal, self.layout)

    def __become__(self, leaves: Sequence[Any]) -> None:
        self.leaf = leaves[0]

    def without_layout(self) -> ArrayCell:
        """What stands for this array where its layout is not known."""
        made = object.__new__(ArrayCell)
        made.leaf, made.memory, made.born, made.refusal, made.layout = (
            self.leaf, self.memory, self.born, self.refusal, None)
        return made


class ArrayView(StagedArray):
    """The view `base[index]` for an index of ints, slices, None and Ellipsis. As state it consists of the numbers in
    its index."""

    __slots__ = ("_known", "base", "index")

    def __init__(self, base: StagedArray, index: Any, part: GraphTensor | None = None) -> None:
        self.base, self.index, self.memory = base, index, ()
        self._known = None if part is None else known(base.value, part)

    @property
    def leaf(self) -> GraphTensor:
        """The elements, read again if the base has changed."""
        now = self.base.value
        if self._known is None or not self._known.is_current(now):
            self._known = known(now, get_elements(self.base.__tensor__(), self.index))
        return self._known.elements

    @property
    def type(self) -> TensorType:
        return (self.leaf if self._known is None else self._known.elements).type

    def write(self, contents: Any) -> None:
        self.base.write(set_elements(self.base.__tensor__(), self.index, contents))

    def __setitem__(self, index: Any, value: Any) -> None:  # type: ignore[override]
        index = plain_index(index)
        own = entries_of(self.index)
        if all(map(is_int, own)) and is_basic(index) and not (
                isinstance(value, ArrayView) and value.base is self):  # write single elements, not the whole row
            self.base[tuple([*own, *entries_of(index)])] = value
        else:
            super().__setitem__(index, value)

    @property
    def model(self) -> array_layouts.Model | None:
        return array_layouts.indexed(self.base.model, self.index)

    @property
    def is_in_order(self) -> bool:
        return self.base.is_in_order or super().is_in_order

    def _is_block(self) -> bool:
        own = [*entries_of(self.index)]
        while own and is_int(own[0]):
            own.pop(0)
        if own and isinstance(own[0], slice) and own[0].step in (None, 1):
            own.pop(0)
        return self.base.is_contiguous and all(part is Ellipsis or part == slice(None) for part in own)

    def __viewed__(self) -> StagedArray:
        viewed: StagedArray = self.base
        return viewed

    def __leaves__(self) -> list[Any]:
        return [x for x in numbers_in(self.index) if x is not None]

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        parts = iter(leaves)
        return ArrayView(self.base, with_numbers(self.index, lambda _: next(parts)))

    @property
    def alternatives(self) -> tuple[Any, ...]:
        """A key shared by views that differ only in the numbers of their index."""
        return id(self.base), str(with_numbers(self.index, lambda _: 0))


class SingleView(StagedArray):
    """A view that can only be joined with itself: it has no graph numbers that could differ."""

    __slots__ = ()

    def __leaves__(self) -> list[Any]:
        return []

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return self

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return (id(self),)


class ElementsView(SingleView):
    """A view of all or some elements of `base` in another order, such as `a.T`: `read` takes them from a tensor, and
    `undo`, if there is one, returns the whole tensor for them.

    born      the graph that was being traced when it was made
    is_sure   whether it is certainly a view in NumPy: `reshape` of a non-contiguous array may copy
    seen      gives its model for that of the base, if there is one
    """

    __slots__ = ("_known", "base", "born", "is_sure", "read", "refusal", "seen", "undo")

    def __init__(
        self, base: StagedArray, read: Callable[[Any], Any], undo: Callable[[Any], Any] | None = None,
        seen: Callable[[Any], array_layouts.Model | None] | None = None,
    ) -> None:
        self.born, self.seen = current_graph(), seen
        self.base, self.read, self.undo, self.memory = base, read, undo, ()
        self.is_sure = True
        self.refusal: Callable[[], Exception] | None = None
        self._known = known(base.value, as_tensor(read(base.__tensor__())))

    @property
    def model(self) -> array_layouts.Model | None:
        model = None if self.seen is None else self.base.model
        return None if self.seen is None or model is None else self.seen(model)

    @property
    def leaf(self) -> GraphTensor:
        now = self.base.value
        if not self._known.is_current(now):
            if self._known.of is not now and not self.is_sure:
                self._refuse_layout()
            self._known = known(now, as_tensor(self.read(self.base.__tensor__())))
        return self._known.elements

    @property
    def type(self) -> TensorType:
        return self._known.elements.type

    def write(self, contents: Any) -> None:
        if not self.is_sure:
            self._refuse_layout()
        if self.refusal is not None:
            raise located(self.refusal())
        if self.undo is not None:
            self.base.write(self.undo(contents))
            return
        base = self.base.__tensor__()
        places = self.read(arrays.reshape(range_(arrays.size(base)), shape_of(base)))
        flat = scatter(arrays.ravel(base), arrays.reshape(places, [-1, 1]), arrays.ravel(contents))
        self.base.write(arrays.reshape(flat, shape_of(base)))

    def _refuse_layout(self) -> None:
        raise located(_copy_it(
            "an array is changed that was reshaped: only its layout in memory tells whether NumPy makes that a view,"
            " which shows the change, or a copy"))

    def __viewed__(self) -> StagedArray:
        viewed: StagedArray = self.base
        return viewed


class FlatView(ElementsView):
    """What `a.flat` is: its items are copies, and assigned to they are those of the array."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found.copy() if isinstance(found, StagedArray) else found


# In place.

def put_result(result: Any, x: StagedArray) -> StagedArray:
    """Store the result of `x += y`, or of a function with `out=x`, in the array. DTypeError or ShapeError if it does
    not fit under NumPy's casting rule `same_kind`."""
    result = as_tensor(convert_to_tensor(result))
    if result.dtype.level > x.dtype.level:
        raise located(DTypeError(
            f"a result of {result.dtype.name} cannot be put into an array of {x.dtype.name}, as in NumPy, which casts"
            " within one kind of numbers only",
            remedy="Make a new array, a = a + b, or cast before: a += b.astype(a.dtype)."))
    want, have = x.type.shape, result.type.shape
    if len(have) > len(want) or any(a is not None and b is not None and a != b and b != 1
                                    for a, b in zip(want[::-1], have[::-1], strict=False)):
        raise located(ShapeError(f"a result of shape {result.shape} does not fit into an array of shape {x.shape}"))
    if result.dtype is not x.dtype:
        result = as_tensor(arrays.astype(result, x.dtype))
    if have != want:
        result = as_tensor(arrays.broadcast_to(result, shape_of(x)))
    x.write(result)
    return x


def _reshaped_to(x: StagedArray) -> Callable[[Any], Any]:
    shape = shape_of(x)
    return lambda contents: arrays.reshape(contents, shape)


def _in_place(name: str) -> Callable[[StagedArray, Any], Any]:
    def operator(self: StagedArray, other: Any) -> Any:
        if isinstance(other, Tensor) and other.dtype is not self.dtype and other.dtype.level <= self.dtype.level:
            other = arrays.astype(other, self.dtype)
        result = getattr(Tensor, name)(self, other)
        return put_result(result, self) if isinstance(result, Tensor) else result

    return operator


_IN_PLACE: Final = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
                    "rshift")
for _name in _IN_PLACE:
    setattr(StagedArray, f"__i{_name}__", _in_place(f"__{_name}__"))

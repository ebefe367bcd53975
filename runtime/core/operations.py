"""Forward declarations of the functions that the methods of tensors call; `runtime.ops` defines them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

from autograph.backend import Late

__all__ = ["OPERATIONS", "Operations"]

Unary = Callable[..., Any]
Binary = Callable[..., Any]


class Operations(Late):
    """Forward declarations of the functions called by tensors and by conversions to tensors."""

    # runtime.ops.math
    add: Binary
    subtract: Binary
    multiply: Binary
    truediv: Binary
    floordiv: Binary
    mod: Binary
    pow: Binary
    positive: Unary
    negative: Unary
    abs: Unary
    round: Callable[..., Any]
    """`round(tensor, digits)`; the digits are optional."""
    with_numbers: Callable[[str, Any, Any], Any]
    """One of these operators, by name, if an operand has dtype bool: beside numbers, bools count as numbers."""

    # runtime.ops.number_methods
    attribute_of_number: Callable[[Any, str, Exception], Any]
    """An attribute, by name, that a number of Python has. Raises the error if it has none, or the tensor is none."""

    # runtime.ops.logic
    bitwise_and: Binary
    bitwise_or: Binary
    bitwise_xor: Binary
    invert: Unary
    left_shift: Binary
    right_shift: Binary
    less: Binary
    less_equal: Binary
    greater: Binary
    greater_equal: Binary
    equal: Binary
    not_equal: Binary

    # other modules of runtime.ops
    matmul: Binary
    getitem: Callable[[Any, Any], Any]
    equal_text: Binary
    unequal_text: Binary
    less_text: Binary
    concatenate_strings: Binary
    stack: Callable[[Any], Any]
    """`rt.stack` of a list that contains tensors."""

    # runtime.staging.values.strings
    text_item: Binary
    """`text[index]` where the text or the index is known only when the graph runs."""

    characters: Callable[[Any], Any]
    """The characters of text, for a staged loop."""

    call_method_of_text: Callable[[Any, str, Any, Any], Any]
    """`text.name(*args, **kwargs)` for text that is known only when the graph runs."""

    # runtime.staging.elements.text_calls
    call_text: Callable[..., Any]
    """A function of text by name, for arguments some of which are known only when the graph runs."""

    # runtime.staging.containers.text_join
    join_text: Binary
    """`separator.join(texts)`."""

    # runtime.staging.python.numpy_classes
    item: Callable[..., Any]
    """An element of a tensor of the graph as a Python number: tensor, index."""
    nested_list: Callable[[Any], Any]
    """A tensor of the graph as nested lists of Python numbers."""

    # runtime.staging.values.generators
    listed: Unary
    """The list of the items of a staged iterable, which are taken from a generator."""

    # runtime.staging.storage.record_list
    restructured: Binary
    """The view of a staged list of tensors, made one whose elements have the structure that an element needs."""
    view_of_records: Unary
    """The view of a list with columns."""

    # runtime.staging.joins.flatten
    choose_member: Callable[[Sequence[Any], Any], Any]
    """The one at an index among members of Enums."""
    choose_container: Callable[[Any, Any], Any]
    """The container at an index of several lists or dicts, if these are, or become, ones by reference; else None."""
    refer_elements: Callable[..., None]
    """Make lists and dicts that are elements of these containers ones by reference, if the trace has them so."""
    readable: Callable[[Any], Any]
    """The content of a list or dict by reference, for code that reads it; other values unchanged."""
    unify: Callable[[Any, Any], None]
    """Let the containers of two arenas be in one."""
    layout_of_container: Callable[[Any, Any], Any]
    """The layout of a list or dict as an element beside others with that one (or None), if it is one by reference, or
    becomes one; else None."""
    in_one_structure: Binary
    """The items of two lists in the structure that holds those of both."""

    # runtime.staging.containers.comparison
    compare: Callable[[str, Any, Any], Any]
    """A comparison by its name in `operator`, of values of which only the graph knows whether they are None."""

    # runtime.core.tensor_writes
    check_current: Callable[[Any], None]
    """Raise an error if a tensor has been written through an alias."""

    # runtime.numpy.array_objects
    as_object: Callable[..., Any]
    """The tensors produced in a graph by an operation on arrays, as array objects."""

    # runtime.numpy.dispatch
    array_ufunc: Callable[..., Any]
    """A universal function of NumPy with a tensor among its operands: ufunc, method, inputs, kwargs."""
    array_function: Callable[..., Any]
    """Another function of NumPy with a tensor among its arguments: function, args, kwargs."""
    refusal: Callable[[Any, str, str], Exception]
    """The error for a method that would change a tensor: tensor, name, what to write in its place."""
    put_out: Callable[[Any, Any, str], Any]
    """Put a result into what a method was given as `out`: result, out, the name of the function."""
    array_method: Callable[[str], Callable[..., Any]]
    """NumPy's function by name, for tensors."""
    array_namespace: Callable[[], ModuleType]
    """The module with NumPy's functions for tensors."""

    # runtime.ops.shape_refinement
    set_shape: Callable[[Any, Any], None]
    """Say more about the shape of a tensor of a graph, which is checked when it runs."""

    # runtime.core.trace
    check_reach: Callable[[Any], None]
    """Raise an error for a tensor of a graph that is not being traced here."""

    # runtime.staging.containers.sequence_methods, for sequences with items of the graph
    count: Callable[..., Any]
    index: Callable[..., Any]
    remove: Callable[..., None]
    replace_slice: Callable[[Any, slice, Any], None]
    delete_slice: Callable[[Any, slice], None]
    sort: Callable[..., None]
    repeat: Callable[..., Any]
    """`sequence * tensor`; NotImplemented where that is arithmetic."""

    # runtime.staging.control.recursion
    recursive: Callable[[Any, Any], Any]
    """The callable to use in place of a function, whose converted form is given."""

    # runtime.staging.containers.settled_keys
    make_table: Callable[[Any], None]
    """Convert a dict with known keys to a hash table in the graph, if possible."""

    # runtime.staging.storage.deque
    view_of_deque: Callable[[Any], Any]
    """The view of a deque with items of the graph, which implements Python's methods."""

    # runtime.staging.storage.set
    view_operator: Callable[[str, Any, Any], Any]
    """A special method, by name, of a view of the keys or items of a dict: as of a set."""

    # runtime.core.graph_views
    name_of: Callable[[Any], str]
    label_of: Callable[[Any], str]
    operation_of: Callable[[Any], Any]
    operations: Callable[[Any], list[Any]]
    operation_by_name: Callable[[Any, str], Any]
    tensor_by_name: Callable[[Any, str], Any]
    graph_def: Callable[[Any], Any]


OPERATIONS: Final = Operations()

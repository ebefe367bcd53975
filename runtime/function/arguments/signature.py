"""The arguments of a traced function in canonical order, split into tensors and the rest, with a cache key.

Tensors and NumPy arrays are distinguished by dtype and shape; variables by dtype, shape, and which of them are
identical; Python values by type and value; lists, tuples, dicts, dataclasses and attrs classes by their structure;
other objects by identity.
"""
from __future__ import annotations

import copy
import inspect
import itertools
import re
import weakref
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from runtime.core.array_promotion import is_of_arrays, of_arrays
from runtime.core.errors import DTypeError, InvalidArgumentError, ShapeError
from runtime.core.inaccessible import is_lost
from runtime.core.pytree import flatten
from runtime.core.read_only_arrays import is_writeable
from runtime.core.string_arrays import remedy
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.trace import convert_to_tensor
from runtime.core.types import ListType, TensorSpec, TensorType, Type, type_of_array
from runtime.function.arguments.argument_structure import (
    children,
    fill_shell,
    holds_numbers,
    is_array,
    is_leaf,
    key_of_numbers,
    keys_in_order,
    rebuild,
    shell,
    walk,
)
from runtime.function.variables.variable import Variable
from runtime.function.variables.variable_argument import VariableArgument, VariableSpec, is_exchangeable
from runtime.numpy.array_choices import owners_of
from runtime.numpy.array_layouts import Layout, described
from runtime.ops.shape_refinement import refined

__all__ = [
    "ArrayPattern", "Call", "InvalidArgumentsError", "ObjectSpec", "Signature", "count", "is_plain", "share_memory",
    "weakly",
    "with_arrays",
]

ATTRIBUTES: Final = "<attributes>"
"""The name of the argument that contains the state of `AttributeState`, a dict by path."""
Shapes = tuple[Any, ...]  # for each tensor its shape, for each list None


_VALUES: Final = frozenset((bool, int, str, bytes, complex, type(None), type(Ellipsis)))


class Call:
    """The canonical arguments of one call.

    args, kwargs  with defaults filled in; `kwargs` holds keyword-only arguments
    leaves        the inputs of the graph: eager or graph tensors and lists, in order; or TensorSpecs
    types         their types
    structure     cache key for everything but the shapes
    shapes        the shapes of the leaves
    objects       the objects that the key identifies by identity
    containers    the lists, tuples, mappings, sets, and objects of dataclasses and attrs classes, in order; all but
                  tuples without repetition
    passed        the leaves as passed by the caller: a NumPy array where `leaves` has a tensor
    variables     the variables replaced by placeholders, without repetition; the key has their types
    arrays        for each array among the leaves: its index, the index of the first leaf that is the same array,
                  whether it is writable, the indices of earlier ones that share its memory, and its layout
    of_numpy      the indices of the leaves that are arrays or scalars of NumPy, also those of the caller's trace
    attributes    the state whose contents are one of the arguments (`AttributeState`), if any
    finds_attributes  whether its trace may raise NeedsAttributes
    finds_numbers     whether its trace may ask for numbers as inputs (NeedsNumbers)
    given         the contents of the state's places before the call, by path
    changed       the places whose constants its trace changed, with the former contents: they become state
    undo          restores these
    twins         the replacements for the containers passed (`Twins`)
    classes       the plain classes of new objects in these places
    contents      the slice of `containers` that belongs to the state
    borrowed      by index, the leaves that use the memory of the caller's arrays; until `keep` copies them
    overwritten   the indices of leaves that the graph changes in place when Python does, not at the end
    """

    __slots__ = (
        "_identified", "_numbers", "args", "arrays", "attributes", "borrowed", "changed", "classes", "containers",
        "contents", "finds_attributes", "finds_numbers", "kwargs", "leaves", "objects", "of_numpy", "original_contents",
        "overwritten", "passed", "shapes", "structure", "twins", "types", "undo", "variables")

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], identified: Collection[int] = frozenset()
    ) -> None:
        """`identified`: the ids of variables that the key identifies by identity."""
        self.args = args
        self.kwargs = kwargs
        self.attributes: Any = None
        self.finds_attributes = self.finds_numbers = False
        self.changed: list[Any] = []
        self.undo: Callable[[], None] | None = None
        self.twins: Any = None
        self.classes: frozenset[type] = frozenset()
        self.original_contents: dict[str, Any] = {}
        self.contents = slice(0, 0)
        self._identified = identified
        self.variables: list[Variable] = []
        self.leaves: list[Any] = []
        self.passed: list[Any] = []
        self.borrowed: dict[int, EagerTensor] = {}
        self.overwritten: set[int] = set()
        self.types: list[Type] = []
        self.objects: list[Any] = []
        self.containers: list[Any] = []
        self._numbers: dict[int, int] = {}
        self.structure: Hashable = (tuple([self._key(x) for x in args]),
                                    tuple([(k, self._named(k, kwargs[k])) for k in sorted(kwargs)]) if kwargs else ())
        self.shapes: Shapes = tuple([t.shape if type(t) is TensorType else None for t in self.types])
        self.arrays = _arrays(self.passed)
        self.of_numpy = tuple([
            i for i, x in enumerate(self.passed)
            if isinstance(x, (np.ndarray, np.generic)) or is_of_arrays(self.types[i])])

    def identify(self, numbers: Collection[int]) -> None:
        """Identify these of the `variables` by identity in the key."""
        kept = self.containers, self.attributes, self.finds_attributes, self.finds_numbers
        Call.__init__(self, self.args, self.kwargs, {*self._identified, *(id(self.variables[k]) for k in numbers)})
        self.containers, self.attributes, self.finds_attributes, self.finds_numbers = kept

    @property
    def own(self) -> set[int]:
        """The ids of the mutable containers and arrays among its arguments."""
        return {id(x) for x in (*self.containers, *self._own_arrays()) if not isinstance(x, tuple)}

    @property
    def has_array_objects(self) -> bool:
        """Whether it passes an array that is an object of the caller's trace."""
        return any(getattr(x, "is_object", False) for x in self._own_arrays())

    def shares(self, arrays: Sequence[Any]) -> bool:
        """Whether its arguments share memory with one of these."""
        return bool(arrays) and any(share_memory(x, array) for x in self._own_arrays() for array in arrays)

    def _own_arrays(self) -> Iterator[Any]:
        return (self.passed[i] for i, *_ in self.arrays)

    def keep(self) -> None:
        """Replace leaves that use memory of the caller's arrays by copies, so that later changes of the arrays have no
        effect."""
        for number, view in self.borrowed.items():
            if self.leaves[number] is view:
                self.leaves[number] = EagerTensor(view._array.copy())
        self.borrowed.clear()

    def marked(self, types: Sequence[Type]) -> list[Type]:
        """`types`, with those of arrays and scalars of NumPy marked as made from arrays."""
        marked = [*types]
        for i in self.of_numpy:
            marked[i] = of_arrays(marked[i])
        return marked

    def number_of(self, x: Any) -> int | None:
        """The index of `x` among the `variables`, or the next one; None if it has no placeholder."""
        if not isinstance(x, Variable) or not is_exchangeable(x) or id(x) in self._identified:
            return None
        return next((k for k, known in enumerate(self.variables) if known is x), len(self.variables))

    def _key(self, x: Any) -> Hashable:
        kind = type(x)
        if kind is EagerTensor:
            return self._leaf(x, type_of_array(x._array))
        if kind is list or kind is tuple or kind is deque:
            if (known := self._contain(x)) is not None:
                return known
            label = (kind, x.maxlen) if kind is deque else kind
            if (numbers := key_of_numbers(x)) is not None:
                return label, type(x[0]), numbers
            return label, tuple([self._key(part) for part in x])
        if kind in _VALUES:
            return kind, x
        if isinstance(x, (str, bytes)):
            return kind, x
        if kind is Text:
            return kind, x.template, x.values
        if kind is float:
            return kind, repr(x)  # so nan equals itself, and 0.0 differs from -0.0
        if isinstance(x, Tensor):
            return self._leaf(x, x.type)
        if is_array(x):
            if not is_plain(x):
                tensor = convert_to_tensor(x)
                return self._leaf(tensor, tensor.type, x)
            view = self.borrowed[len(self.leaves)] = EagerTensor(x)
            return self._leaf(view, view.type, x)
        if isinstance(x, TensorSpec):
            return self._leaf(x, x.type)
        if hasattr(kind, "__leaves__"):
            return kind, getattr(x, "__static__", None), tuple([self._key(leaf) for leaf in x.__leaves__()])
        if isinstance(x, (EagerList, GraphList)):
            return self._leaf(x, x.type)
        parts = children(x)
        if parts is not None:
            if (known := self._contain(x)) is not None:
                return known
            key = kind, tuple([(label, self._key(part)) for label, part in parts])
            return key if not isinstance(x, Mapping) or [*x] == keys_in_order(x) else (*key, tuple(x))
        return self._object(x)

    def _named(self, name: str, value: Any) -> Hashable:
        if name != ATTRIBUTES:
            return self._key(value)
        begin, key = len(self.containers), self._key(value)
        self.contents = slice(begin, len(self.containers))
        return key

    def _contain(self, x: Any) -> Hashable | None:
        """Record a container. Returns its key if it has occurred before (it may contain itself), otherwise None."""
        if not isinstance(x, tuple):
            known = self._numbers.setdefault(id(x), len(self.containers))
            if known < len(self.containers):
                return "same", known
        self.containers.append(x)
        return None

    def _leaf(self, x: Any, type: Type, passed: Any = None) -> Hashable:
        if is_lost(x):
            return is_lost
        self.leaves.append(x)
        self.passed.append(x if passed is None else passed)
        self.types.append(type)
        if isinstance(type, ListType):
            return type
        return type.dtype.name, len(type.shape), type.weak

    def _object(self, x: Any) -> Hashable:
        kind = type(x)
        number = self.number_of(x)
        if number is not None:
            if number == len(self.variables):
                self.variables.append(x)
            return Variable, number, x.dtype.name, x.type.shape, x.trainable
        if isinstance(x, (set, frozenset)):
            known = self._contain(x) if kind is set else None
            return (kind, tuple(x)) if known is None else known  # in its order, which loops see
        if kind is slice:
            return kind, self._key(x.start), self._key(x.stop), self._key(x.step)
        try:
            weakref.ref(x)
        except TypeError:
            try:
                hash(x)
            except TypeError:
                pass
            else:
                self.objects.append(x)
                return kind, x
        self.objects.append(x)
        return kind, id(x)

    def replace(
        self, leaves: Sequence[Any], variables: Sequence[Any], copies: list[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `leaves` and `variables` in place of their own; the replacements of containers are
        appended to `copies`."""
        def of_other(x: Any) -> Any:
            number = self.number_of(x)
            return x if number is None else variables[number]

        return self._map(iter(leaves), lambda x, parts: x.__rebuild__(parts), of_other, copies)

    def described(self, specs: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `specs` in place of the leaves, and weak references to objects known by identity."""
        by_identity = {id(x) for x in self.objects}

        def of_other(x: Any) -> Any:
            number = self.number_of(x)
            if number is not None:
                return VariableSpec(x.shape, x.dtype, x.trainable, number)
            return weakly(x) if id(x) in by_identity else x

        args, kwargs = self._map(iter(specs), lambda x, parts: ObjectSpec(type(x), tuple(parts)), of_other, [])
        kwargs.pop(ATTRIBUTES, None)
        return args, kwargs

    def _map(
        self, leaves: Iterator[Any], of_object: Callable[[Any, list[Any]], Any], of_other: Callable[[Any], Any],
        made: list[Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        known: dict[int, Any] = {}

        def new(x: Any) -> Any:
            if type(x) in _VALUES:
                return x
            if is_leaf(x):
                return next(leaves)
            if hasattr(type(x), "__leaves__"):
                return of_object(x, [next(leaves) for _ in x.__leaves__()])
            if id(x) in known:
                return known[id(x)]
            is_set = type(x) is set
            if is_set or holds_numbers(x):
                made.append(x if is_set else rebuild(x, [*x]))  # a copy of a set may have another order
                if type(x) is not tuple:
                    known[id(x)] = made[-1]
                return made[-1]
            parts = children(x)
            if parts is None:
                return of_other(x)
            place, copy = len(made), shell(x)
            made.append(copy)
            if copy is None:
                made[place] = copy = rebuild(x, [new(part) for _, part in parts])
                if not isinstance(x, tuple):
                    known[id(x)] = copy
                return copy
            known[id(x)] = copy
            fill_shell(copy, x, [new(part) for _, part in parts])
            return copy

        args = tuple(map(new, self.args))
        named = {name: new(self.kwargs[name]) for name in sorted(self.kwargs)}
        return args, {name: named[name] for name in self.kwargs}


def with_arrays(call: Call | None, arrays: Sequence[Any], leaves: Sequence[Any]) -> Call:
    """A copy of a call that also passes these `leaves`, for arrays that are not arguments."""
    made = Call((), {}) if call is None else copy.copy(call)
    borrowed = {len(made.passed) + k: leaf for k, (x, leaf) in enumerate(zip(arrays, leaves, strict=True))
                if is_plain(x)}
    made.borrowed = {**made.borrowed, **borrowed}
    made.passed = [*made.passed, *arrays]
    return made


ArrayPattern = tuple[tuple[int, int, bool, tuple[int, ...], Layout], ...]


def _arrays(passed: Sequence[Any]) -> ArrayPattern:
    found: list[tuple[int, Any]] = []
    pattern = []
    for i, x in enumerate(passed):
        if not isinstance(x, np.ndarray) and not getattr(x, "is_object", False):
            continue
        same = next((j for j, other in found if other is x), i)
        shared = tuple([j for j, other in found if other is not x and share_memory(other, x)]) if same == i else ()
        pattern.append((i, same, not isinstance(x, np.ndarray) or is_writeable(x), shared, layout_of(x)))
        found.append((i, x))
    return tuple(pattern)


def layout_of(x: Any) -> Layout:
    """How the elements of an array lie in memory."""
    if isinstance(x, np.ndarray):
        return described(x)
    return "C" if x.is_contiguous else None if x.model is None else described(x.model)


def is_plain(x: Any) -> bool:
    """Whether native code can use the memory of an array directly."""
    return (type(x) is np.ndarray and x.ndim > 0 and x.dtype.char in _PLAIN and x.dtype.isnative
            and x.flags.c_contiguous and x.flags.aligned)


_PLAIN: Final = frozenset("?bBhHiIlLqQfdFD")
"""The dtype codes that native code supports."""


def share_memory(a: Any, b: Any) -> bool:
    """Whether two arrays, or two views in a traced function, share memory."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.may_share_memory(a, b) and np.shares_memory(a, b)  # the first is fast
    return any(one is other for one in owners_of(a) for other in owners_of(b))


class ObjectSpec:
    """The spec of an argument such as a TensorArray: its class, and the specs of its leaves."""

    __slots__ = ("kind", "types")

    def __init__(self, kind: type[Any], types: tuple[Any, ...]) -> None:
        self.kind = kind
        self.types = types

    def __repr__(self) -> str:
        return self.kind.__name__


def weakly(x: Any, callback: Callable[[Any], None] | None = None) -> Any:
    """A weak reference, or `x` itself if it does not support them."""
    try:
        return weakref.ref(x, callback)
    except TypeError:
        return x


class Signature:
    """The parameters of a Python function, with the specs of the `input_signature`."""

    def __init__(self, fn: Callable[..., Any], name: str, input_signature: Sequence[Any] | None) -> None:
        self.name = name
        try:
            self.parameters = inspect.signature(fn)
        except ValueError:  # for a function written in C, conversion raises the error
            self.parameters = inspect.signature(_anything)
        kinds = [p.kind for p in self.parameters.parameters.values()]
        self._plain = len(kinds) if all(
            k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds) else -1
        self.specs: tuple[Any, ...] | None = None
        if input_signature is not None:
            self.specs = tuple(input_signature)
            self._check_specs()

    def _check_specs(self) -> None:
        assert self.specs is not None
        for spec in flatten(self.specs):
            if not isinstance(spec, TensorSpec):
                raise TypeError(f"input_signature of {self.name} must hold rt.TensorSpec objects, perhaps in lists, "
                                f"tuples and dicts, not {spec!r}")
        try:
            self.parameters.bind(*self.specs)
        except TypeError as exc:
            raise ValueError(f"input_signature of {self.name}{self.parameters} does not fit its parameters: "
                             f"{exc}") from None

    def canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments in canonical order, with defaults. TypeError as in Python."""
        if not kwargs and len(args) == self._plain:
            return args, kwargs
        try:
            bound = self.parameters.bind(*args, **kwargs)
        except TypeError as exc:
            raise InvalidArgumentsError(f"{self.name}{self.parameters}: {exc}") from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], make: Callable[..., Call] = Call
    ) -> Call:
        """The call with these arguments, constructed by `make`; checked against and converted to the specs if there are
        any."""
        if self.specs is None:
            return make(*self.canonical(args, kwargs))
        passed = len(args) + len(kwargs)
        try:
            bound = self.parameters.bind(*args, **kwargs)
        except TypeError:
            raise InvalidArgumentsError(
                f"{self.name} takes {count(len(self.specs), 'argument')} by its input_signature, but "
                f"{passed} {'was' if passed == 1 else 'were'} given",
                remedy=f"Its input_signature is {self._specs_text()}.") from None
        bound.apply_defaults()
        values = list(bound.args)
        if passed > len(self.specs):
            raise InvalidArgumentsError(
                f"{self.name} takes {count(len(self.specs), 'argument')} by its input_signature, but "
                f"{passed} were given", remedy=f"Its input_signature is {self._specs_text()}.")
        names = self.names(len(values))
        containers: list[Any] = []
        for i, spec in enumerate(self.specs):
            values[i] = self._fit(names[i], values[i], spec, containers)
        call = Call(tuple(values), bound.kwargs)
        call.containers[:len(containers)] = containers
        return call

    def spec_call(self) -> Call:
        """The call described by the specs."""
        assert self.specs is not None
        bound = self.parameters.bind(*self.specs)
        bound.apply_defaults()
        return Call(bound.args, bound.kwargs)

    def types_of(self, call: Call) -> list[Type]:
        """The types to trace for: those of the specs; for a spec without rank, those of the call with unknown
        dimensions."""
        assert self.specs is not None
        types = list(call.types)
        for i, (spec, type) in enumerate(zip(_spec_leaves(self.specs), call.types)):
            if isinstance(type, TensorType):
                types[i] = spec.type if spec.shape else type.with_shape((None,) * type.ndim)
        return types

    def _specs_text(self) -> str:
        assert self.specs is not None
        return repr(self.specs)

    def _fit(self, path: str, value: Any, spec: Any, containers: list[Any]) -> Any:
        """`value` converted to the tensors that `spec` describes. The copied containers are appended to `containers`,
        in the order of those of a Call."""
        if not isinstance(spec, TensorSpec):
            parts, specs = children(value), children(spec) or []
            if parts is None or [label for label, _ in parts] != [label for label, _ in specs]:
                raise InvalidArgumentsError(
                    f"argument {path!r} of {self.name} does not have the structure of its input_signature, {spec!r}")
            containers.append(value)
            return rebuild(value, [self._fit(path + label, part, s, containers)
                                   for (label, part), (_, s) in zip(parts, specs, strict=True)])
        if isinstance(value, TensorSpec):
            found: Any = value.type
        else:
            tensor = self._tensor(path, value, spec)
            found = tensor.type
            value = value if is_array(value) else tensor
        if spec.dtype is not found.dtype:
            raise DTypeError(f"argument {path!r} of {self.name} is {found}, but its input_signature says {_text(spec)}",
                             remedy=remedy(spec.dtype, found.dtype, otherwise=f"Cast it: rt.cast({path}, rt."
                                           f"{spec.dtype.name}); or change the input_signature."))
        if not spec.shape.is_compatible_with(found.shape):
            raise SignatureShapeError(
                f"argument {path!r} of {self.name} is {found}, but its input_signature says {_text(spec)}",
                remedy="Pass that shape, or put None for a dimension that changes in the input_signature.")
        if not isinstance(value, GraphTensor) or spec.shape.rank is None:
            return value
        known = refined(value, spec.shape, f"argument {path!r} of {self.name}", "its input_signature says")
        return value if value.is_object else known

    def _tensor(self, path: str, value: Any, spec: TensorSpec) -> Tensor:
        if isinstance(value, (Tensor, np.ndarray, np.generic)):
            return convert_to_tensor(value)
        try:
            return convert_to_tensor(value, dtype_hint=spec.dtype)
        except (TypeError, ValueError):
            raise DTypeError(
                f"argument {path!r} of {self.name} is {value!r}, but its input_signature says {_text(spec)}",
                remedy="Pass a tensor, or what converts to one.") from None

    def names(self, count: int) -> list[str]:
        """The names of the `count` positional arguments."""
        names: list[str] = []
        for parameter in self.parameters.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}[{i}]" for i in range(count - len(names))]
            elif parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        return names

    def input_names(self, call: Call, as_paths: bool = False) -> list[str]:
        """The names of the leaves that are inputs of the graph."""
        names: list[str] = []
        for path, leaf in self.leaves(call, numbers=False):
            name = path if as_paths else re.sub(r"\W+", "_", path).strip("_")
            if is_leaf(leaf):
                names.append(leaf.name or name if isinstance(leaf, TensorSpec) else name)
            elif hasattr(type(leaf), "__leaves__"):
                names += [name] * len(leaf.__leaves__())
        given = [] if self.specs is None or as_paths else [leaf.name for leaf in _spec_leaves(self.specs)]
        return [own or name for own, name in itertools.zip_longest(given, names)]

    def placeholders(self, call: Call) -> list[VariableArgument]:
        """Placeholders for the variables of a call."""
        paths: dict[int, str] = {}
        for path, leaf in self.leaves(call, numbers=False):
            paths.setdefault(id(leaf), path)
        return [VariableArgument(x, paths[id(x)], paths) for x in call.variables]

    def leaves(self, call: Call, numbers: bool = True) -> list[tuple[str, Any]]:
        """The leaves of a call's arguments with their paths, tensors and Python values (`walk`)."""
        found: list[tuple[str, Any]] = []
        met: dict[int, Any] = {}
        for name, value in zip(self.names(len(call.args)), call.args, strict=True):
            found += walk(value, name, numbers, met)
        for name in sorted(call.kwargs):
            if name != ATTRIBUTES:
                found += walk(call.kwargs[name], name, numbers, met)
                continue
            for path in keys_in_order(call.kwargs[name]):
                found += walk(call.kwargs[name][path], path, numbers, met)
        return found


def _anything(*args: Any, **kwargs: Any) -> None:
    """Provides the signature for functions that have none."""


class SignatureShapeError(ShapeError, TypeError):
    """An argument has another shape than the input_signature says: a TypeError, as in TF."""


class InvalidArgumentsError(InvalidArgumentError, TypeError):
    """Too few, too many or unknown arguments in a call of a traced function."""


def _spec_leaves(specs: Any) -> list[TensorSpec]:
    return [spec for _, spec in walk(specs, "")]


def count(n: int, what: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def _text(spec: TensorSpec) -> str:
    if not spec.shape:
        return f"{spec.dtype.name} of any shape"
    return str(spec.type)



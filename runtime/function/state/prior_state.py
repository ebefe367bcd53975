"""Objects that existed before a trace, and the changes that the trace makes to them.

A trace runs once, its graph many times. So what a traced function stores in a pre-existing object (an attribute, an
item of a list or dict, a variable of a function or module) is stored only once; and a value of the graph must not stay
there.
"""
from __future__ import annotations

import functools
import gc
import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, repeat
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from autograph.backend import (
    DICTS,
    LISTS,
    UNBOUND,
    Globals,
    Heap,
    Reach,
    Reached,
    cell_is_filled,
    fields_in,
    has_staged_items,
    is_collection,
    is_list,
    is_of_converted_code,
    items_in,
    put,
    refill,
    variables,
)
from runtime.core.array_mode import NeedsNumbers
from runtime.core.errors import InaccessibleTensorError, StagingError, locate
from runtime.core.inaccessible import Replacement, inaccessible
from runtime.core.object_mode import NeedsArgument
from runtime.core.positions import Position, user_position
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.function.arguments.number_state import can_be_staged
from runtime.function.arguments.signature import Call
from runtime.function.state.attribute_state import (
    AttributeState,
    NeedsAttributes,
    Place,
    can_be_state,
    is_in,
    key_of,
    path_of,
)
from runtime.function.state.constant_guards import MOST
from runtime.function.state.escaped_tensors import ATOMS, graph_value_in
from runtime.function.state.visible_places import CONSTANTS, Constant, Reading, Visible, is_within
from runtime.function.variables.variable_argument import VariableArgument
from runtime.numpy.array_objects import StagedArray
from runtime.staging.containers.row_table import own_rows, table_of
from runtime.staging.values.iterables import Poison
from runtime.staging.values.trials import Store

__all__ = ["PriorState", "parts_of_argument"]

_NUMBERS: Final = frozenset({int, float})
_MOST_NUMBERS: Final = 16
"""More numbers from outside are assumed to be settings of a program, such as sizes, rather than parameters of a
loop."""
_INDIRECT: Final = frozenset({"__dict__", "delattr", "eval", "exec", "globals", "setattr", "vars"})
"""Names with which code may change what it does not name."""
_FEW: Final = 16
"""This many objects are searched for one by one in the namespaces of all modules. For more, a set of all module members
is built first, which takes about as long as sixteen searches."""


def _transient_in(reach: Reach) -> list[tuple[list[Any], list[Any]]]:
    """The lists in attributes that a class declares `__transient__`, with copies: what they hold lasts for one call.
    They are state of staged statements, but not of the function; what an earlier trace left in them is removed."""
    holders = [(reached.value, getattr(type(reached.value), "__transient__", ())) for reached in reach.objects]
    found = [items for holder, names in holders for name in names if type(items := vars(holder).get(name)) is list]
    for items in found:
        items[:] = [item for item in items if not isinstance(item, Poison)]
    return [(items, items.copy()) for items in found]


def _modules() -> list[dict[str, Any]]:
    """The namespace of each module."""
    return [vars(module) for module in list(sys.modules.values()) if isinstance(module, ModuleType)]


def _objects_of_modules() -> Iterator[Any]:
    return chain.from_iterable(map(dict.values, _modules()))


def _is_in_no_module(value: Any) -> bool:
    """Whether certainly no module-level name is bound to the object: then a list of all members of modules, plus the
    object once, holds one reference to it. This takes a tenth of the time of comparing each member (of 100,000 in a
    process with Keras). The answer may be False wrongly for immortal objects, and if other threads use the object
    meanwhile."""
    count = functools.partial(sys.getrefcount, value)
    before = count()
    referents = gc.get_referents([value], *_modules())
    during = count()
    del referents
    return during - before == 1 == during - count()


class PriorState:
    """The objects that existed before the trace of one call.

    call      the call being traced; its arrays are objects or tensors
    copies    the containers that replace those of the call's arguments during the trace
    inputs    the values that replace its leaves
    """

    def __init__(
        self, reach: Reach, call: Call, copies: Sequence[Any], inputs: Sequence[Any], function: Any, objects: bool,
    ) -> None:
        self.reach, self.call, self.are_objects = reach, call, objects
        self.code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
        self.shared: list[Constant] = []
        """Places that hold arguments of the call, other than its `attributes`, with their contents."""
        self.copies, self.inputs = copies, inputs
        own_rows(copies)
        self.numbers = {id(copy): i for i, copy in reversed([*enumerate(copies)])}
        self.leaves = {id(x): i for i, x in enumerate(inputs)}
        self.before, self.rows = [parts_of_argument(copy) for copy in copies], [*map(_rows_in, copies)]
        self.tables = {id(table) for copy in copies if type(copy) is list and (table := table_of(copy)) is not None}
        self._transient = _transient_in(reach)
        self.heap = Heap(reach, others=False, without={id(items) for items, _ in self._transient})
        self._asked = 0

    @property
    def arrays(self) -> list[Any]:
        """The writable NumPy arrays."""
        return [reached.value for reached in self.reach.objects
                if issubclass(type(reached.value), np.ndarray) and reached.value.flags.writeable]

    def existed(self, value: Any) -> bool:
        """Whether an object existed before the trace, and is not a copy of an argument."""
        return id(value) not in self.numbers and id(value) not in self.tables and (
            self.reach.met(value) or self._is_of_module(value))

    def _is_of_module(self, value: Any) -> bool:
        """Whether a module-level name is bound to the object."""
        if isinstance(value, type) and isinstance(module := sys.modules.get(value.__module__), ModuleType) and (
                vars(module).get(value.__name__) is value):
            return True
        if isinstance(value, tuple) and any(issubclass(type(part), GraphTensor) for part in value):
            return False  # it is as new as its contents
        self._asked += 1
        if self._asked > _FEW:
            return id(value) in self._of_modules
        return not _is_in_no_module(value) and any(map(operator.is_, _objects_of_modules(), repeat(value)))

    @functools.cached_property
    def _of_modules(self) -> set[int]:
        """The ids of objects bound to module-level names."""
        return set(map(id, _objects_of_modules()))

    def changed_arguments(self) -> list[tuple[int, dict[Any, Any], dict[Any, Any]]]:
        """The containers among the arguments that the trace changed: index, and parts before and now."""
        found = []
        for i, (copy, before) in enumerate(zip(self.copies, self.before, strict=True)):
            if isinstance(copy, tuple) or self.numbers[id(copy)] != i:
                continue
            now = parts_of_argument(copy)
            if [*now] != [*before] or any(now[key] is not before[key] for key in now) or self.rows[i] is not (
                    _rows_in(copy)):
                found.append((i, before, now))
        return found

    @functools.cached_property
    def can_change_only_arrays(self) -> bool:
        """Whether the code cannot change anything that existed before the call but arrays, not even for a while."""
        reach = self.reach
        return not (reach.is_cut or reach.assigns or self._visible.names & _INDIRECT or self.call.containers) and all(
            isinstance(root.value, (CellType, FunctionType, Tensor, np.ndarray)) or (
                type(root.value) is dict and root.path == "")  # the mapping with the call's keyword arguments
            for root, _ in self.heap.records)

    @functools.cached_property
    def leaks(self) -> list[tuple[Reached, Any, Any]]:
        """Where pre-existing objects contain values of the graph: the holder, the key, and the value."""
        found = []
        for root, key, new in self.heap.changes():
            if id(root.value) not in self.numbers and new is not UNBOUND and not isinstance(root.value, StagedArray):
                value = graph_value_in(new, self.existed)
                if value is not None:
                    found.append((root, key, value))
        return found

    @property
    def state(self) -> list[Place]:
        """The places of those leaks where each call can store its own values."""
        return self._places((root, None if self._is_whole(root.value) else key) for root, key, _ in self.leaks)

    def _is_whole(self, holder: Any) -> bool:
        """Whether the content of an object is state as a whole: a list, a set, or a dict whose keys have moved."""
        return is_collection(holder) or id(holder) in self._moved

    @functools.cached_property
    def _moved(self) -> dict[int, tuple[Reached, dict[Any, Any]]]:
        """By id, the pre-existing dicts in which the trace has reordered keys, rather than only appended new ones, with
        their former content."""
        found = {}
        for root, before in self.heap.records:
            if type(root.value) in DICTS and id(root.value) not in self.numbers and not has_staged_items(root.value):
                now = [*root.value]
                stay = [key for key in before if key in root.value]
                if now[:len(stay)] != stay:
                    found[id(root.value)] = root, before
        return found

    def _places(self, keys: Iterable[tuple[Reached, Any]]) -> list[Place]:
        distinct = {key_of(root.value, key): (root, key) for root, key in keys}
        return [(path_of(root, key), root.value, key) for root, key in distinct.values()
                if can_be_state(root.value, key, self.existed)]

    @functools.cached_property
    def _visible(self) -> Visible:
        """What the trace could read, determined after it has run."""
        return Visible(self.heap)

    def changed_data(self, sets_up: bool) -> list[Constant]:
        """The places where pre-existing objects have other constants, or lists, tuples and dicts of constants, than
        before, with the former contents. If the trace `sets_up` something, such as variables, only changes from number
        to number: markers of the set-up being done must stay."""
        records = self.heap.copies()
        found: dict[tuple[int, Any], Any] = {}
        keys = []
        for root, key, new in self.heap.changes():
            before = records[id(root.value)]
            if id(root.value) in self.numbers or not self._visible.owns(root.value):
                continue
            whole = self._is_whole(root.value)
            if id(root.value) in self._moved:
                continue
            old = before.get(key, UNBOUND) if isinstance(before, dict) else before
            new = list(root.value) if whole else new
            if (old is UNBOUND or old is None) and is_of_converted_code(type(new)):
                continue  # an object created by the first call is found by the next one
            if type(old) in _NUMBERS and type(new) in _NUMBERS if sets_up else _is_data(old) and _is_data(new):
                keys.append((root, None if whole else key))
                found[key_of(root.value, keys[-1][1])] = list(old) if whole else old
        for root, before in self._moved.values():
            if self._visible.owns(root.value) and _is_data(before) and _is_data(root.value):
                keys.append((root, None))
                found[key_of(root.value, None)] = before
        return [(place, found[key_of(*place[1:])]) for place in self._places(keys)]

    def counting_references(self) -> AbstractContextManager[None]:
        """Let the caller's references count while the function is traced: there may always be some."""
        return variables(CellType([x for x in (*self.copies, *(root.value for root in self.reach.objects)) if is_list(
            x) or type(x) in DICTS or (is_of_converted_code(type(x)) and fields_in(x) is not None)]))

    @functools.cached_property
    def reading(self) -> Reading:
        """The names in the reachable code."""
        return self._visible.reading()

    def constants(self, state: AttributeState | None) -> list[Constant]:
        """The constants that the trace has read, except arguments and parts of the `state`."""
        keys, arguments = set() if state is None else state.keys, self.numbers.keys() | self.call.own
        found = (constant for constant in self._visible.constants() if id(constant[0][1]) not in arguments
                 and not is_in(keys, *constant[0][1:]))
        return list(itertools.islice(found, MOST))

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Where the trace asks for its numbers, or a container, as arguments: NeedsAttributes if they can be."""
        try:
            yield
        except NeedsArgument as needed:
            self.heap.restore()
            self._need_argument(needed.value)
            raise needed.error from None
        except NeedsNumbers:
            self._need_numbers()
            raise

    def _need_numbers(self) -> None:
        """NeedsAttributes for the numbers that the trace has read, if these are no arguments, and only a few."""
        places = [place for place, x in self.constants(self.call.attributes) if type(x) in _NUMBERS
                  and can_be_staged(x) and can_be_state(*place[1:], self.existed)]
        if 0 < len(places) <= _MOST_NUMBERS and self.call.finds_attributes:
            raise NeedsAttributes(places, before=[UNBOUND] * len(places))  # so that they are inputs immediately

    def _need_argument(self, container: Any) -> None:
        """NeedsAttributes for the places that hold a container, if these can become arguments, and are not."""
        state = self.call.attributes
        places = [place for place, _ in self._visible.holders_of({id(container)}) if can_be_state(
            *place[1:], self.existed) and (state is None or not is_in(state.keys, *place[1:]))]
        if places and self.call.finds_attributes:
            raise NeedsAttributes(places, before=[UNBOUND] * len(places))

    def find_shared(self, again: bool) -> None:
        """Find where the trace may reach containers that are also arguments of the call, and, if arrays are objects,
        arrays that share memory with arguments. `again`: raise NeedsAttributes if the holders can become arguments, so
        that the two are one object. StagingError if the containers are items of sets or keys of dicts, which compare by
        identity and would not find the copies."""
        call, own = self.call, self.call.own
        of_arrays = self.are_objects and bool(call.arrays) and bool(self.arrays)
        by_identity = {id(x) for x in call.containers if _is_hashed_by_identity(type(x))}
        if not of_arrays and not by_identity and not any(id(x) in own and self.reach.met(x) for x in call.containers):
            return
        visible = Visible(self.heap)
        own |= {id(x) for x in visible.arrays() if call.shares([x])} if of_arrays else set()
        known = set() if call.attributes is None else call.attributes.keys
        self.shared = [(place, x) for place, x in visible.holders_of(own)
                       if id(place[1]) not in self.numbers and not is_in(known, *place[1:])]
        self._refuse_hashed(by_identity)
        state_places = [(place, x) for place, x in self.shared if can_be_state(*place[1:], self.existed)]
        if again and state_places:
            raise NeedsAttributes([place for place, _ in state_places], before=[x for _, x in state_places], shared=own)

    def _refuse_hashed(self, by_identity: set[int]) -> None:
        for (path, holder, key), content in self.shared:
            if key is None and issubclass(type(holder), (set, frozenset, dict)) and any(
                    is_within(item, by_identity) for item in content):
                raise self._two_objects(f"'{path}'")
        if any(type(x) is set and any(is_within(item, by_identity) for item in x) for x in self.call.containers):
            raise self._two_objects("a set among the arguments")

    def _refuse_shared(self) -> None:
        """StagingError if an argument that the trace may also reach elsewhere has been changed."""
        if not self.shared:
            return
        changed = {id(self.call.containers[i]) for i, *_ in self.changed_arguments()}
        changed |= {id(root.value) for root, _, _ in self.heap.changes()} & self.call.own
        for (path, *_), content in self.shared:
            if any(is_within(part, changed) for part in (content if type(content) is list else [content])):
                raise self._two_objects(f"'{path}'")

    def _two_objects(self, holder: str) -> StagingError:
        error = StagingError(
            f"{holder} holds an argument of the function, and the graph cannot tell that both are one object",
            remedy="Pass a copy, or let the function find it in one of the two ways only.")
        locate(error, _line_of(self.code))
        return error

    def found_elsewhere(self) -> tuple[frozenset[int], list[Any]]:
        """The ids of containers, and the arrays if they are objects, that the trace may reach and that other calls
        might pass as arguments, if this one has containers or arrays."""
        call, own = self.call, self.call.own
        if not own:
            return frozenset(), []
        passed = set(map(id, call.passed))
        arrays = self._visible.arrays() if self.are_objects and call.arrays else []
        return (self._visible.containers() - self.numbers.keys() - own,
                [x for x in arrays if id(x) not in passed and not call.shares([x])])

    def leaks_into(self, stores: Sequence[Store]) -> bool:
        """Whether one of these values contains a value of the graph, and is stored in a pre-existing object, at a place
        that is no state of the call; NeedsAttributes if they all can be."""
        known = set() if self.call.attributes is None else self.call.attributes.keys
        found = [(root, None if self._is_whole(root.value) else key) for root, key, value in stores
                 if self._leaks(root.value, value) and not is_in(known, root.value, key)]
        places = self._places(found)
        if found and len(places) == len(found) and self.call.finds_attributes:
            raise NeedsAttributes(places, before=[UNBOUND] * len(places))  # their numbers become inputs at once
        return bool(found)

    def _leaks(self, holder: Any, value: Any) -> bool:
        if isinstance(holder, StagedArray):  # writes to an array are copied back to the caller's array
            return False
        if any(holder is items for items, _ in self._transient):
            return False
        return (type(holder) is Globals or self.existed(holder)) and graph_value_in(value, self.existed) is not None

    def check(self, value: Any) -> None:
        """StagingError if a pre-existing object that the function returns contains values of the graph."""
        if self.leaks and graph_value_in(value) is not None:
            raise self._refuse(*self.leaks[0])

    def refuse_lost(self) -> None:
        """StagingError if a pre-existing list or dict that is not an argument has items known only when the graph runs:
        the call could not store them. Also if an argument that the trace reaches elsewhere, too, has been changed."""
        self._refuse_shared()
        for root, _, new in self.heap.changes():
            if id(root.value) in self.numbers or not has_staged_items(root.value):
                continue
            error = StagingError(
                f"{_place(root, None)}, which was there before the call, is changed here as only the graph knows, and"
                " is no argument of the function: the call cannot leave in it what the graph computes",
                remedy="Pass it as an argument, or make another one in the function and return it.")
            found = graph_value_in(new)
            made = None if found is None or found.value.node is None else found.value.node.position
            locate(error, made or _line_of(self.code))
            raise error

    def leave(self, variables: Sequence[VariableArgument]) -> None:
        """Replace each value of the graph in pre-existing objects by one that raises an error when it is used.

        `variables`: placeholders; one that is now stored in a pre-existing object is marked as identified. As the
        function is then traced again, all changes are undone.
        """
        for copy, before in zip(self.copies, self.before, strict=True):
            if type(copy) is set and [*copy] != [*before]:
                refill(copy, before)
        for root, _, new in list(self.heap.changes()) if variables else ():
            if id(root.value) not in self.numbers and new is not UNBOUND:
                value = graph_value_in(new, self.existed, VariableArgument)
                if value is not None:
                    value.is_identified = True
        for variable in variables:
            variable.leave()
        if any(variable.is_identified for variable in variables):
            self.heap.restore()
            return
        for root, before in self.heap.records:
            if id(root.value) not in self.numbers and has_staged_items(root.value):
                refill(root.value, before)
        leaving = _Leaving(self.existed)
        for items, earlier in self._transient:
            leaving.transient(items, earlier)
        for root, key, new in list(self.heap.changes()) if self.leaks else ():
            if id(root.value) in self.numbers or new is UNBOUND or isinstance(root.value, StagedArray):
                continue
            leaving.at(root.value, key, new)
        if self.call.changed:  # the trace's own effects are those of the call
            self._give_back()

    def _give_back(self) -> None:
        """Replace the copies of the caller's containers by the originals, wherever the trace has stored these
        copies."""
        giving = _GivingBack(self.existed, {number: self.call.containers[i] for number, i in self.numbers.items()})
        for root, key, new in list(self.heap.changes()):
            if id(root.value) not in self.numbers and new is not UNBOUND:
                giving.at(root.value, key, new)

    def _refuse(self, root: Reached, key: Any, found: Any) -> StagingError:
        value = found.value if isinstance(found, (GraphTensor, GraphList)) else None
        what = f"the tensor {value.hint!r}" if value is not None and value.hint else "a tensor"
        error = StagingError(
            f"{_place(root, key)}, which was there before the call, is given {what} of the graph that is traced, and is"
            " in what the function returns: that would happen once, and not at each call",
            remedy="Make what is returned in the function, or keep the tensor in an rt.Variable.")
        made = value.node.position if value is not None and value.node is not None else None
        locate(error, made or _line_of(self.code))
        return error


class _Poison(Poison, Replacement):
    __slots__ = ("value",)


def _replacement(tensor: GraphTensor | GraphList) -> Poison:
    """The replacement, outside of its graph, for a value of a graph."""
    found = inaccessible(tensor, None)

    def error() -> Exception:
        made = InaccessibleTensorError(found.message, remedy=found.remedy)
        locate(made, user_position())
        return made

    poison = _Poison(error, f"<{found.message.partition(' and ')[0]}>")
    poison.value = tensor.value
    return poison


class _Leaving:
    """Removes values of the graph from pre-existing objects; `known`: whether an object existed before."""

    def __init__(self, known: Callable[[Any], bool]) -> None:
        self.known = known
        self.seen: set[int] = set()

    def at(self, holder: Any, key: Any, value: Any) -> None:
        """Process the value that the trace stored at a place."""
        if key is None and is_collection(holder):
            self.within(holder)
        elif key is not None or type(holder) is CellType:
            put(holder, key, self.of(value, is_new=True))

    def of(self, value: Any, is_new: bool = False) -> Any:
        """`value` without values of the graph; mutable values are changed in place. `is_new`: the trace stored it,
        although a module may refer to it by now."""
        if id(value) in self.seen or (
                not is_new and self.known(value) and not isinstance(value, (GraphTensor, GraphList))):
            return value
        found = graph_value_in(value, self.known)
        if found is None:
            return value
        if value is found or hasattr(type(value), "__leaves__"):
            return _replacement(found)
        if isinstance(value, tuple):
            return tuple.__new__(type(value), [self.of(item) for item in value])
        if not isinstance(value, (*LISTS, dict, CellType, FunctionType)) and fields_in(value) is None:
            return _replacement(found)
        self.within(value)
        return value

    def transient(self, items: list[Any], before: Sequence[Any]) -> None:
        """Process a list that lasts for one call, and was as `before`."""
        known = set(map(id, before))
        if has_staged_items(items):
            refill(items, [_replacement(graph_value_in(items))])
        else:
            refill(items, [item if id(item) in known else self.of(item, is_new=True) for item in items])

    def within(self, holder: Any) -> None:
        """Process all parts of `holder`."""
        self.seen.add(id(holder))
        if isinstance(holder, set):
            items = [self.of(item) for item in holder]
            if not all(map(operator.is_, items, holder)):
                refill(holder, items)
            return
        for key, part in _parts(holder):
            new = self.of(part)
            if new is not part:
                put(holder, key, new)


class _GivingBack(_Leaving):
    """Replaces copies by the `originals`, given by the id of the copy."""

    def __init__(self, known: Callable[[Any], bool], originals: dict[int, Any]) -> None:
        super().__init__(known)
        self.originals = originals

    def of(self, value: Any, is_new: bool = False) -> Any:
        if type(value) in ATOMS or id(value) in self.seen:
            return value
        if id(value) in self.originals:
            return self.originals[id(value)]
        if not is_new and self.known(value):
            return value
        if isinstance(value, tuple):
            parts = [self.of(item) for item in value]
            return value if all(map(operator.is_, parts, value)) else tuple.__new__(type(value), parts)
        if isinstance(value, (*LISTS, dict, set)) or fields_in(value) is not None:
            self.within(value)
        return value


def _parts(holder: Any) -> list[tuple[Any, Any]]:
    if isinstance(holder, LISTS):
        return list(enumerate(holder))
    if isinstance(holder, dict):
        return list(dict.items(holder))
    if isinstance(holder, FunctionType):
        return list(enumerate(holder.__closure__ or ()))
    if isinstance(holder, CellType):
        return [(None, holder.cell_contents)] if cell_is_filled(holder) else []
    return list((fields_in(holder) or {}).items())


def _is_hashed_by_identity(kind: Any) -> bool:
    return kind.__hash__ is object.__hash__


def _is_data(x: Any) -> bool:
    """Whether `x` is a constant, an eager tensor, an array, a user's object, UNBOUND, or a list, tuple, set or dict of
    these."""
    if type(x) in (list, tuple, set, frozenset):
        return all(map(_is_data, x))
    if type(x) in DICTS:
        return all(type(key) in CONSTANTS and _is_data(value) for key, value in x.items())
    return x is UNBOUND or type(x) in CONSTANTS or type(x) in (EagerTensor, EagerList, np.float64, np.int64) or (
        type(x) is np.ndarray and x.dtype.kind in "biufc") or is_of_converted_code(type(x))


def parts_of_argument(value: Any) -> dict[Any, Any]:
    """The parts of a container among the arguments, by index, key or attribute; the items of a set."""
    if isinstance(value, set):
        return dict.fromkeys(value)
    if isinstance(value, (*LISTS, tuple)):
        return dict(enumerate(value))
    if isinstance(value, dict):
        return dict(items_in(value))
    return fields_in(value) or {}


def _rows_in(value: Any) -> Any:
    """The tensor that holds the items of a list which is a row of a table; None for others."""
    table = table_of(value) if type(value) is list else None
    return None if table is None else table.tensor


def _place(root: Reached, key: Any) -> str:
    name = root.path or root.hint
    if isinstance(root.value, dict) and key is not None:
        return f"'{name}[{key!r}]'"
    if isinstance(root.value, (*LISTS, dict)):
        return f"the {type(root.value).__name__} {name!r}"
    if type(root.value).__name__ in ("cell", "Globals"):
        return f"the variable '{key or name}'"
    return f"'{name}.{key}'" if name else f"the attribute {key!r} of a {type(root.value).__name__}"


def _line_of(code: CodeType | None) -> Position | None:
    return None if code is None else Position(code.co_filename, code.co_firstlineno, code.co_name)


"""The results of a traced function: tensors in it become results of the graph, and are inserted again in each call."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import Enum
from types import BuiltinFunctionType, CellType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, Final, NoReturn, cast

import numpy as np

from autograph.backend import (
    DICTS,
    UNBOUND,
    cell_is_filled,
    has_staged_items,
    is_internal,
    is_iterator,
    is_reference,
)
from runtime.core.errors import StagingError, locate
from runtime.core.graph import Graph
from runtime.core.positions import return_position
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor, Tensor
from runtime.core.text import Text
from runtime.core.trace import capture, current_graph, wrap
from runtime.core.types import DType, TensorSpec
from runtime.function.arguments.argument_structure import children, keys_in_order, rebuild
from runtime.function.arguments.number_state import (
    NumberColumn,
    are_numbers,
    is_number,
    is_of_numpy,
    number_of,
    numbers_in,
    tensor_of,
    widened,
    widened_list,
)
from runtime.function.execution.unstacked import elements_of, items_of_list, items_of_row, live_entries
from runtime.function.results.object_results import (
    check_identities,
    has_adopted,
    plan_adopted,
    plan_container,
    plan_objects,
    plan_reference,
)
from runtime.function.results.pack import Pack
from runtime.function.results.reconstruction import (
    NUMBERS,
    Argument,
    ArrayMade,
    Arrays,
    Cell,
    Dict,
    Error,
    Function,
    List,
    Method,
    Object,
    Part,
    Recipe,
    Run,
    Spread,
    Tuple,
    Values,
    constant,
    is_constant,
    number,
    reduced,
)
from runtime.function.state.escaped_tensors import ATOMS, graph_value_in
from runtime.function.state.prior_state import PriorState
from runtime.numpy.array_choices import SelectedArray
from runtime.staging.aliases.body_tracing import NEVER, Unreachable
from runtime.staging.containers.row_table import Row, RowItems, StoredRow
from runtime.staging.elements.references import Reference
from runtime.staging.elements.select import Select, choose, identities_of
from runtime.staging.elements.tuple import StagedTuple, list_of, tuple_of
from runtime.staging.storage.dict import StagedEntries, empty_dict_like
from runtime.staging.storage.set import StagedSet
from runtime.staging.values.generators import StagedGenerator
from runtime.staging.values.iterables import Staged, view_of
from runtime.staging.values.list import StagedItems
from runtime.staging.values.optional import MaybeObject, MaybeTensor, Presence, attach

__all__ = ["plan", "result_specs"]


def plan(
    returned: Any, outputs: list[Any], fn: Any, outside: PriorState, arrays: Sequence[tuple[int, GraphTensor]] = ()
) -> Pack:
    """Append the tensors and lists in `returned` to `outputs`; returns the Pack that rebuilds the result of a call.

    Called while the graph is open: a value that may be unbound is checked here, as if at the `return` of the user's
    function `fn`. Objects made during the trace are created anew by each call, with its values; pre-existing objects
    are returned themselves. StagingError for objects that cannot be created anew.
    """
    planner = _Planner(outputs, fn, outside)
    changed = outside.changed_arguments()
    references = [plan_container(outside.copies[place][0], outputs, _take, _plan_attribute(outputs), place)
                  for place, *_ in changed if is_reference(outside.copies[place])]
    references += plan_adopted(outputs, _plan_attribute(outputs))
    planner.uses_call |= has_adopted()
    part = planner.result(returned)
    changes = []
    planner.keeps_arrays = True
    for place, before, parts in changed:
        if is_reference(outside.copies[place]):
            continue
        planned = [(planner.part(key, ""), planner.argument_part(part)) for key, part in parts.items()]
        changes.append((place, tuple(before), planned))
    check_identities([value for value, _ in planner.recipes.values()], fn)
    written = [(place, len(outputs) + k) for k, (place, _) in enumerate(arrays)]
    outputs += [contents for _, contents in arrays]
    return Pack(part, changes, references, planner.uses_call, written,
                not changed and outside.can_change_only_arrays)


class _Planner:
    """Derives the recipe of the return value of a traced function."""

    def __init__(self, outputs: list[Any], fn: Any, outside: PriorState) -> None:
        self.outputs, self.fn, self.outside = outputs, fn, outside
        self.recipes: dict[int, tuple[Any, Part]] = {}
        self.uses_call = bool(outside.changed_arguments())
        self.are_tensors = False  # whether Python numbers are results in their own right, and so become tensors
        self.keeps_arrays = False  # whether NumPy arrays are still arrays after the call

    def result(self, value: Any) -> Part:
        """The recipe of the return value: Python numbers become tensors, as in TF 2, also in tuples, lists and dicts,
        but not in objects."""
        self.are_tensors = True
        try:
            return self.part(value, "")
        finally:
            self.are_tensors = False

    def part(self, value: Any, path: str) -> Part:
        """The recipe of `value`, whose path in the result is `path`."""
        if type(value) in ATOMS:
            return number(value) if self.are_tensors and type(value) in NUMBERS else constant(value)
        if not self.are_tensors and is_number(value):
            number_in = _take(self.outputs, widened(value))
            return lambda values: number_of(number_in(values))
        if self.outside.call.twins is not None and is_number(value) and value.dtype.level == 1:
            number_in = _take(self.outputs, widened(value))
            return lambda values: tensor_of(number_in(values))
        if self.keeps_arrays and isinstance(value, SelectedArray):
            return _plan_chosen(value, self.outputs, lambda one: self.part(one, path))
        known = self.recipes.get(id(value))
        if self.keeps_arrays and is_of_numpy(value) and not isinstance(known and known[1], ArrayMade):
            leaf = self.outside.leaves.get(id(value))
            if leaf is not None:
                return lambda values: values.passed[leaf]
            made = ArrayMade(value)
            made.contents = _take(self.outputs, value)
            self.recipes[id(value)] = value, made
            return made
        return known[1] if known is not None else self._new(value, path)

    def argument_part(self, value: Any) -> Part:
        """As `part`, for the content of a container among the arguments: leaves of the arguments are returned as
        passed."""
        leaf = self.outside.leaves.get(id(value))
        if leaf is not None:
            return lambda values: values.passed[leaf]
        return self._item(value, "")

    def _item(self, value: Any, path: str) -> Part:
        """The recipe of an item of a dict, or of an attribute; it returns UNBOUND if that is missing at run time."""
        if not isinstance(value, (MaybeTensor, MaybeObject)) or value.presence.bound is None:
            return self.part(value, path)
        name, present = value.presence.name, value.presence.present
        bit = _take(self.outputs, value.presence.bound)
        content = self.part(value.content if present is None else attach(
            value.content, Presence(name, None, present)), path)

        def pack(values: Values) -> Any:
            bound = bit(values)
            if isinstance(bound, EagerTensor):
                return content(values) if bound else UNBOUND
            return attach(content(values), Presence(name, bound, None))

        return pack

    def _noted(self, value: Any, part: Part) -> Part:
        self.recipes.setdefault(id(value), (value, part))  # an earlier recipe, for an argument, has priority
        return part

    def _new(self, value: Any, path: str) -> Part:
        staged = plan_staged(
            value, self.outputs, self.fn, lambda part: self.part(part, path), numbers=not self.are_tensors)
        if staged is not None:
            return self._noted(value, staged)
        number = self.outside.numbers.get(id(value))
        if number is not None:
            argument = Argument(value)
            argument.number, self.uses_call = number, True
            self._noted(value, argument)
            before = self.are_tensors, self.keeps_arrays
            self.are_tensors, self.keeps_arrays = False, True
            argument.otherwise = self._made(value, path)
            self.are_tensors, self.keeps_arrays = before
            return argument
        if self._stays(value, path):
            return self._noted(value, constant(value))
        return self._made(value, path)

    def _stays(self, value: Any, path: str) -> bool:
        """Whether each call returns the object itself: it is pre-existing, or immutable."""
        if isinstance(value, (EagerTensor, EagerList)):
            return True
        if self.outside.existed(value):
            self.outside.check(value)
            return True
        is_one = isinstance(value, (type, Enum, np.generic, np.dtype, DType)) or (
            isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (ModuleType, type, type(None))))
        if not (is_one or is_internal(_file_of(type(value)))):
            return False
        found = graph_value_in(value, self.outside.existed)
        if found is not None and isinstance(value, type):
            self._refuse(value, path, "Make the class outside of the traced function, and give its objects what they"
                                      " need as attributes.")
        return found is None

    def _made(self, value: Any, path: str) -> Part:
        """The recipe of an object made during the trace."""
        if self.are_tensors and not isinstance(value, (list, tuple, dict)):
            self.are_tensors = False
            try:
                return self._made(value, path)
            finally:
                self.are_tensors = True
        if isinstance(value, (Staged, GeneratorType)) or (
                is_iterator(value) and type(value).__module__ == "itertools"):
            self._refuse(value, path, "Return a list of its items, or a tensor.")
        cls: Any = type(value)
        self._stays(cls, path)
        recipe: Any
        if is_reference(value):
            recipe = plan_container(value[0], self.outputs, _take, _plan_attribute(self.outputs))
        elif cls is list:
            recipe = List(value)
            self._noted(value, recipe)
            recipe.parts = [self.part(item, f"{path}[{i}]") for i, item in enumerate(value)]
        elif cls is dict or (cls in DICTS and has_staged_items(value)):
            recipe = self._dict(value, path)
        elif isinstance(value, tuple) and (cls is tuple or hasattr(cls, "_fields")):
            recipe = self._tuple(value, path)
        elif cls is FunctionType:
            recipe = Function(value)
            self._noted(value, recipe)
            cells = value.__closure__
            recipe.parts = [self.part(part, path) for part in (
                cells, value.__defaults__, value.__kwdefaults__, value.__dict__)]
            recipe.constant = not cells and not value.__dict__ and is_constant(recipe.parts[:3])
        elif cls is CellType:
            recipe = Cell(value)
            self._noted(value, recipe)
            if cell_is_filled(value):
                recipe.part = self.part(value.cell_contents, path)
        elif cls is MethodType:
            recipe = Method(value)
            self._noted(value, recipe)
            recipe.parts = [self.part(value.__func__, path), self.part(value.__self__, path)]
        elif isinstance(value, np.ndarray) and cls is np.ndarray:
            recipe = self._array(value, path)
        elif isinstance(value, BaseException):
            recipe = Error(value)
            self._noted(value, recipe)
            recipe.parts = [self.part(value.args, f"{path}.args"), self.part(dict(vars(value)), path)]
        else:
            recipe = self._object(value, path)
        return cast(Part, recipe)

    def _tuple(self, value: Any, path: str) -> Recipe:
        recipe = Tuple(value)
        self._noted(value, recipe)
        recipe.parts = parts = [self.part(item, f"{path}[{i}]") for i, item in enumerate(value)]
        # A constant that is bound on some ways only is no item that calls may return.
        recipe.constant = is_constant(parts) and all(
            isinstance(part, Recipe) and part.value is item for part, item in zip(parts, value, strict=True))
        return recipe

    def _dict(self, value: Any, path: str) -> Recipe:
        recipe = Dict(value)
        recipe.empty = empty_dict_like(value)
        self._noted(value, recipe)
        parts = {key: self._item(value[key], f"{path}[{key!r}]") for key in keys_in_order(value)}
        recipe.parts = [(self._key(key, path), parts[key]) for key in value]
        return recipe

    def _key(self, key: Any, path: str) -> Part:
        """The recipe of a dict key, whose numbers stay Python numbers."""
        are_tensors, self.are_tensors = self.are_tensors, False
        try:
            return self.part(key, f"{path}[...]")
        finally:
            self.are_tensors = are_tensors

    def _array(self, value: Any, path: str) -> Recipe:
        recipe = Arrays(value)
        self._noted(value, recipe)
        base = value
        while isinstance(base.base, np.ndarray):
            base = base.base
        if base is not value:
            if value.dtype.hasobject or not base.flags.forc:
                self._refuse(value, path, "Return a copy of it.")
            recipe.base = self.part(base, path)
        elif value.dtype == object:
            recipe.items = [self.part(item, path) for item in value.flat]
        return recipe

    def _object(self, value: Any, path: str) -> Recipe:
        try:
            found = reduced(value)
        except Exception:
            self._refuse(value, path)
        if isinstance(found, str):
            return cast(Recipe, self._noted(value, constant(value)))
        parts: list[Any] = [*found, *[None] * (6 - len(found))]
        fn, args, state, items, pairs, setter = parts
        recipe = Object(value)
        self._noted(value, recipe)
        recipe.parts = [self.part(fn, path), self.part(args, path), self._state(state, path), self.part(setter, path)]
        recipe.items = [self.part(item, f"{path}[{i}]") for i, item in enumerate(items or ())]
        recipe.pairs = [(self._key(key, path), self._item(part, f"{path}[{key!r}]")) for key, part in pairs or ()]
        recipe.constant = state is None and type(value) in _UNCHANGING and is_constant(recipe.parts)
        return recipe

    def _state(self, state: Any, path: str) -> Part:
        if type(state) is not dict:
            return self.part(state, path)
        recipe = Dict(state)
        recipe.parts = [(constant(key), self._item(part, f"{path}.{key}")) for key, part in state.items()]
        return recipe

    def _refuse(self, value: Any, path: str, remedy: str = "") -> NoReturn:
        name = getattr(self.fn, "__name__", "the function")
        kind = "generator" if isinstance(value, StagedGenerator) else type(value).__name__
        error = StagingError(
            f"what {name!r} returns{f', at {path},' if path else ''} is or has a {kind} that the call"
            " makes, of which no other call can make one like it: the function is traced once, and its graph runs at"
            " each call",
            remedy=remedy or "Return its values, and make it of these after the call; or make it before.")
        locate(error, return_position(self.fn))
        raise error


_UNCHANGING: Final = (frozenset, slice)


def _file_of(cls: type) -> str:
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or ""


def plan_staged(
    returned: Any, outputs: list[Any], fn: Any, plan: Callable[[Any], Part], numbers: bool = False
) -> Part | None:
    """The recipe of a value of the graph, or of a placeholder for such; None for Python objects. `plan` makes the
    recipes of its parts; `numbers`: whether Python numbers among the items of lists and dicts stay Python numbers."""
    if returned is NEVER:
        return _never
    if isinstance(returned, (MaybeTensor, MaybeObject)):
        return _plan_maybe(returned, outputs, fn, plan)
    if isinstance(returned, GraphTensor) or type(returned) is GraphList:
        return _take(outputs, returned)
    if isinstance(returned, Text):
        return _plan_text(returned, outputs)
    if isinstance(returned, Reference):
        return plan_reference(returned, outputs, _take, _plan_attribute(outputs))
    if isinstance(returned, StagedEntries):
        return _plan_entries(returned, outputs, numbers)
    if isinstance(returned, StagedSet):
        return _plan_set(returned, outputs)
    if isinstance(returned, StagedItems):
        return _plan_items(returned, outputs, numbers)
    if isinstance(returned, StagedTuple):
        items = plan(list_of(returned))
        return lambda values: tuple_of(items(values))
    if isinstance(returned, RowItems):
        return _plan_row(StoredRow([returned]), outputs, numbers)
    if isinstance(returned, Row):
        row = _plan_row(returned, outputs)
        return lambda values: row(values).items
    if isinstance(returned, Select):
        return _plan_chosen(returned, outputs, plan)
    if isinstance(returned, EagerTensor):
        return constant(returned)
    if hasattr(type(returned), "__leaves__"):
        parts = [plan(leaf) for leaf in returned.__leaves__()]
        return lambda values: returned.__rebuild__([part(values) for part in parts])
    if hasattr(type(returned), "__tensor__"):
        return plan(returned.__tensor__())
    return None


def _plan_attribute(outputs: list[Any]) -> Callable[[Any, bool], Part]:
    """Plans the values of an attribute of the objects in an arena, where Python numbers stay such, or the lists in an
    arena."""
    return lambda items, numbers: _plan_items(items, outputs, numbers)


def _never(values: Values) -> NoReturn:
    """For a graph that always raises, even when inlined into another trace."""
    raise Unreachable


def _take(outputs: list[Any], x: Any) -> Part:
    index = len(outputs)
    outputs.append(x)
    return lambda values: values.results[index]


def _plan_maybe(
    returned: MaybeTensor | MaybeObject, outputs: list[Any], fn: Any, plan: Callable[[Any], Part]
) -> Part:
    presence = returned.presence
    if presence.bound is not None:
        _check_bound(presence, fn)
    if presence.present is None:
        return plan(returned.content)
    bit, content = _take(outputs, presence.present), plan(returned.content)
    name = presence.name

    def pack(values: Values) -> Any:
        present = bit(values)
        if isinstance(present, EagerTensor):
            return content(values) if present else None
        return attach(content(values), Presence(name, None, present))

    return pack


def _plan_text(returned: Text, outputs: list[Any]) -> Part:
    """The recipe of text that contains tensors, into which their values are inserted."""
    template, values = returned.template, returned.values
    takes = [_take(outputs, wrap(value)) for value in values]

    def pack(results: Values) -> str | Text:
        parts = [take(results) for take in takes]
        if all(isinstance(part, (EagerTensor, EagerList)) for part in parts):
            return template.render([part._array if isinstance(part, EagerTensor) else part.items for part in parts])
        return Text(template, [capture(cast(Graph, current_graph()), part) for part in parts])

    return pack


def _plan_entries(returned: StagedEntries, outputs: list[Any], numbers: bool) -> Spread:
    """The recipe of the items of a dict: keys are Python numbers, and so are numeric values if `numbers`."""
    keys = len(returned.table.keys)
    plan_objects(returned.structure, outputs, _plan_attribute(outputs), numbers)
    return Spread(_of_lists(returned.leaves, outputs, returned.holding,
                            lambda leaves, values: Run(_entries(leaves, keys, returned.structure, values)), numbers))


def _plan_set(returned: StagedSet, outputs: list[Any]) -> Part:
    """The recipe of a set, or frozenset, of Python numbers."""
    return _of_lists(returned.leaves, outputs, returned.__rebuild__, lambda leaves, values: type(
        returned).__stands_for__(_entries(leaves, len(leaves) - 2, returned.structure, values) if leaves else ()))


def _of_lists(
    leaves: Sequence[Any], outputs: list[Any], staged: Callable[[Any], Any], made: Callable[[Any, Values], Any],
    numbers: bool = False,
) -> Part:
    """The recipe `made(leaves, values)` for the values of lists of the graph, or `staged(leaves)` in traced code. If
    `numbers`, lists of Python numbers are passed out in 64 bits, and to `made` as such."""
    kept = [numbers and are_numbers(leaf) for leaf in leaves]
    takes = [_take(outputs, widened_list(leaf) if is_kept else leaf)
             for leaf, is_kept in zip(leaves, kept, strict=True)]

    def pack(values: Values) -> Any:
        found = [take(values) for take in takes]
        are_known = all(isinstance(each, EagerList) for each in found)
        found = [each if not is_kept else NumberColumn(each.whole, each.type) if are_known else numbers_in(each)
                 for each, is_kept in zip(found, kept, strict=True)]
        return made(found, values) if are_known else staged(found)

    return pack


def _entries(leaves: Sequence[Any], keys: int, structure: Any, values: Values) -> list[Any]:
    """The live entries of a hash table, from its leaves; the first `keys` columns are keys, as Python numbers."""
    _, marks, *columns = [type(leaf)(leaf.whole[1:], leaf.type) for leaf in leaves]  # without the leading row
    return live_entries(
        structure, marks.whole, [column.whole for column in columns[:keys]], map(items_of_list, columns[keys:]), values)


def _plan_items(returned: StagedItems, outputs: list[Any], numbers: bool) -> Spread:
    plan_objects(returned.structure, outputs, _plan_attribute(outputs), numbers)

    def made(columns: Any, values: Values) -> Run:
        found = [items_of_list(column) for column in columns]
        if returned.structure is None:
            return Run(found[0])
        return Run(elements_of(returned.structure, found, values))

    return Spread(_of_lists(returned.leaves, outputs, returned.holding, made, numbers))


def _plan_row(returned: Row, outputs: list[Any], numbers: bool = False) -> Spread:
    whole, items = returned.whole(), range(len(returned))
    are_kept = numbers and are_numbers(whole)
    take = _take(outputs, widened(cast(GraphTensor, whole)) if are_kept else whole)

    def pack(values: Values) -> Run:
        found = take(values)
        if isinstance(found, EagerTensor) and are_kept:
            return Run(found._array.tolist())
        if isinstance(found, EagerTensor):
            return Run(items_of_row(found))
        return Run([number_of(found[i]) if are_kept else found[i] for i in items])

    return Spread(pack)


def _plan_chosen(returned: Select | SelectedArray, outputs: list[Any], plan: Callable[[Any], Part]) -> Part:
    """The object or array itself, as soon as the index is known."""
    one_of, at = identities_of(returned)
    take, parts = _take(outputs, at), [plan(one) for one in one_of]

    def pack(values: Values) -> Any:
        index = take(values)
        return parts[int(index)](values) if isinstance(index, EagerTensor) else choose(
            [part(values) for part in parts], index)

    return pack


def result_specs(returned: Any, around: tuple[Any, ...] = ()) -> Any:
    """The structure of a result with TensorSpecs for its tensors. `around`: the enclosing containers."""
    if isinstance(returned, Select):
        return returned
    if is_reference(returned):
        return returned[0]
    returned = view_of(returned)
    if isinstance(returned, (MaybeTensor, MaybeObject)):
        return result_specs(returned.content, around)
    if isinstance(returned, Tensor):
        return TensorSpec(returned.type.shape, returned.dtype)
    if hasattr(type(returned), "__leaves__"):
        return returned
    if isinstance(returned, Row):
        return [TensorSpec((), returned.dtype) for _ in range(len(returned))]
    if hasattr(type(returned), "__tensor__"):
        return TensorSpec(returned.shape, returned.dtype)
    parts = children(returned)
    if parts is None or any(returned is one for one in around):
        return returned
    return rebuild(returned, [result_specs(part, (*around, returned)) for _, part in parts])


def _check_bound(presence: Presence, fn: Any) -> None:
    graph = current_graph()
    assert graph is not None and presence.bound is not None
    before = len(graph.nodes)
    presence.check_bound()
    joined = presence.bound.value.node
    for node in graph.nodes[before:]:
        node.position = return_position(fn, presence.name) or (joined.position if joined is not None else None)

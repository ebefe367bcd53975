"""The state of a converted statement, and its bodies as pure functions of that state.

Only used when staging: on plain Python values the bodies run as they are.
"""
from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

from autograph.core.access_paths import ITEMS, Path, name_of, numbered, path_of
from autograph.core.backend import UNBOUND, Backend, Checkpoint, ambient, keep_keys, replacing
from autograph.core.iterator_positions import Place, hides_place, line_of_use, taken_by
from autograph.core.lists import DICTS, is_list
from autograph.core.lost_iterators import hidden
from autograph.core.slots import put, take_out
from autograph.core.staged_items import has_staged_items, storage_of
from autograph.core.untracked_mutables import is_array
from autograph.core.unwinding import Remake, Restage, RotateLoop
from autograph.state.body_cells import BodyCells, add_cells_of_callees, contents_of, noted, put_back
from autograph.state.converted_text_bodies import part
from autograph.state.earlier_runs import Statement, running, statement_of
from autograph.state.escaping_values import EscapingValues
from autograph.state.heap_snapshot import Heap
from autograph.state.key_order import KeyOrders
from autograph.state.path_steps import (
    computes_items,
    has_namesakes,
    inherits,
    is_computed,
    items_of,
    note_places,
    stores_itself,
    takes_any,
)
from autograph.state.reachability import (
    Reach,
    advances_in_python,
    assigned_in,
    attributes_assigned_in,
    cell_is_filled,
    names_in,
)
from autograph.state.references import unreached, with_more_references, within
from autograph.state.structure import containers_in, fill, is_container, parts_in, unwrapped

__all__ = [
    "ALIASED", "Body", "State", "checkpoint", "rollback", "snapshot_of", "staged",
]


ALIASED: Final = "ag__aliased_"
"""The names in the state of containers that have several names, or none that leads to them, begin so."""


_MOST_AXES: Final = 2
"""Axes of an array that a path to one of its items goes through, at most: what longer ones change is discovered."""
_MOST_ATTEMPTS: Final = 100
"""How often a statement is staged with more state each time."""


class State:
    """The variables, attributes and items that a statement names, found through the cells of its bodies."""

    def __init__(
        self, names: tuple[str, ...], stages: Callable[[Any], bool], *functions: Callable[..., Any] | None,
        aliased: Iterable[Any] = (), roots: dict[str, CellType] | None = None, values: Sequence[Any] = (),
        statement: Statement | None = None,
    ) -> None:
        self.stages, self.statement = stages, statement
        self.values = values
        """Mutable values, such as the list of a loop, that the bodies may change even if no variable refers to them."""
        self.roots = {} if roots is None else roots
        """Synthetic variables, which occur in no code, for objects that a body changes and that no variable leads
        to."""
        cells: dict[str, CellType] = {}
        self.globals: dict[str, Any] = {}
        self.codes: list[CodeType] = []
        for fn in functions:
            if fn is not None:
                part(fn)
                cells.update(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
                self.globals = fn.__globals__
                self.codes.append(fn.__code__)
        self.of_callees = add_cells_of_callees(cells)
        cells.update(self.roots)
        self.aliased = {f"{ALIASED}{i}": CellType(value) for i, value in enumerate(aliased)}
        cells.update(self.aliased)
        self.cells = cells
        self.in_order, self.names = tuple(names), frozenset(names)
        self.discovered: set[str] = set()
        """Attributes and items that a body was found to change, though the statement does not name them."""
        self.iterators: list[tuple[str, Place]] = []
        """Iterators reachable from the bodies, with their positions before the statement."""
        self.hidden: dict[int, tuple[Any, Callable[[], Exception]]] = {}
        """By id: iterators whose position cannot be read, so that a body must not take items of them."""
        self.paths = [path_of(name) for name in names]
        self.orders = KeyOrders(())

    def synthetic(self) -> Iterator[CellType]:
        """The variables of the state that no user code has."""
        yield from self.roots.values()
        yield from (self.cells[name] for name in self.names if name.startswith("ag__") and name in self.cells)

    def reachable(self) -> Iterator[tuple[str, Any]]:
        """The variables that the bodies use, with their values: those of enclosing functions, and globals."""
        for name, cell in (*self.roots.items(), *self.cells.items()):
            if cell_is_filled(cell):
                yield name, cell.cell_contents
        for code in self.codes:
            for name in names_in(code):
                if name in self.globals and name not in self.cells:
                    yield name, self.globals[name]

    def assigned(self) -> frozenset[str]:
        """The variables that may be rebound: names of the state, and variables that the bodies assign."""
        return self.names.union(*map(assigned_in, self.codes)) - self.roots.keys()

    def reach(self) -> Reach:
        values = () if ambient.backend is None else ambient.backend.mutable_values()
        return Reach(self.reachable(), self.codes, self.globals, self.cells, self.assigned(), (*self.values, *values))

    def root(self, target: Any, hint: str) -> str:
        """The synthetic variable that has `target` as its value, or that is `target` if that is a cell; made if
        missing."""
        for name, cell in self.roots.items():
            if cell is target or (cell_is_filled(cell) and cell.cell_contents is target):
                return name
        hint = hint if hint.isidentifier() and not keyword.iskeyword(hint) else "value"
        number, name = 0, hint
        while name in self.cells or name in self.globals or name in self.roots:
            number += 1
            name = numbered(hint, number)
        self.roots[name] = target if isinstance(target, CellType) else CellType(target)
        return name

    def unnamed_holders(self) -> list[Any]:
        """The objects to which no variable leads and whose parts the bodies were found to change."""
        found = {path_of(name)[0] for name in self.discovered}
        return [cell.cell_contents for name, cell in self.roots.items() if name in found and cell_is_filled(cell)]

    def set_iterators(self, iterators: list[tuple[str, Place]], backend: Backend) -> None:
        self.iterators = iterators
        for name, place in iterators:
            taken = taken_by(place.iterator)
            if any(map(hides_place, taken)):
                self.hidden.update((id(each), (each, functools.partial(backend.refusal, "outside", each, name, "", 0)))
                                   for each in taken if not advances_in_python(each))

    def lasting(self, name: str) -> str:
        """A name that still leads to the same part of the same object when the statement is staged again, even if a
        variable, attribute or item on the path is rebound: the path then starts at a synthetic variable."""
        root, *steps = path_of(name)
        holder = self.holder((root, *steps[:-1])) if steps else UNBOUND
        whole = is_container(holder)
        if holder is not UNBOUND and type(holder) is not list and (steps[-1][0] == "." or whole):
            ways, assigned = {name_of((root, *steps[:end])) for end in range(len(steps))}, self.assigned()
            if ways & assigned and not (whole and ways & self.names):
                return name_of((self.root(holder, root), *([] if whole else steps[-1:])))
        if root not in self.aliased:
            return name
        return name_of((self.root(self.aliased[root].cell_contents, "aliased"), *steps))

    def read(self) -> tuple[Any, ...]:
        return tuple(self.get(path) for path in self.paths)

    def write(self, values: tuple[Any, ...]) -> None:
        for path, value in zip(self.paths, values):  # variables first: paths to attributes and items depend on them
            if len(path) == 1:
                self.set(path, value)
        for path, value in zip(self.paths, values):
            if len(path) > 1:
                self.set(path, value)

    def place(self, name: str) -> str | None:
        """The name itself; for an item of an immutable value, the name of the attribute or item that holds that value.
        For an item of a row that is stored with others: a name of what stores them; for one of an array or of a row of
        it: the name of the array.
        None if the path goes through what code of the user's computes: a property or similar descriptor, or an item;
        through an item of a staged list or view, which are state as a whole; and for items without a static name."""
        path = path_of(name)
        for length, step in enumerate(path[1:], 1):
            holder = self.holder(path[:length])
            if hasattr(type(holder), "__stands_for__"):
                return None
            if step[0] == ".":
                if is_computed(holder, step[1]):
                    return None
            elif replacing(holder) is not None:
                return name_of(path[:length]) if length > 1 else None
            elif length + 1 < len(path) and (storage := storage_of(holder)) is not None:
                return self.root(storage, "table")
            elif hasattr(type(holder), "__become__") and len(path) - length <= _MOST_AXES and step != ITEMS:
                return name_of(path[:length])
            elif step == ITEMS or has_staged_items(holder) or hasattr(type(holder), "__become__") or hasattr(
                    type(holder), "__viewed__") or (computes_items(holder) and not is_array(holder)):
                return None
        return name

    def is_only_called(self, name: str) -> bool:
        """Whether the bodies do not assign `name`, but only call a method of its value that has the name of one that
        changes a list or dict, and the value is none."""
        path = path_of(name)
        cls: Any = type(self.get(path))
        if not has_namesakes(cls):
            return False
        if len(path) > 1:
            kind, key = path[-1]
            return kind == "." and not any([key in attributes_assigned_in(code) for code in self.codes])
        return name in self.cells and not any([
            name in assigned_in(code) or "bind" in names_in(code) for code in self.codes])  # `ag__.bind` of a walrus

    def holders(self, names: frozenset[str]) -> dict[str, str]:
        """For the names of items of an array, or of a list or dict that is state as a whole: the path to that
        container, as a name.

        A list or dict is state as a whole if another name refers to it, since both names have to lead to the body's
        copy; or if an index or key is known only in the body, or is staged.
        """
        paths = {name: path_of(name) for name in names}
        wholes = {id(value) for value in map(self.holder, paths.values()) if is_list(value) or type(value) in DICTS}
        steps = [(self.holder(path[:end]), *path[end]) for path in paths.values() for end in range(1, len(path))]
        wholes.update([id(holder) for holder, kind, key in steps if self._takes_unknown(holder, kind, key)])
        found: dict[str, str] = {}
        for name, path in paths.items():
            end = next((end for end in range(1, len(path)) if id(self.holder(path[:end])) in wholes), 0)
            if end == 1 or (end and takes_any(self.holder(path[:end - 1]), path[end - 1][0])):
                found[name] = name_of(path[:end])
        return found

    def _takes_unknown(self, holder: Any, kind: str, key: Any) -> bool:
        """Whether this step takes an item of an array, or one of a list or dict whose index or key is known only in the
        body."""
        if kind != "[name]" or not (is_list(holder) or type(holder) in DICTS):
            return is_array(holder)
        index = self.key(kind, key)
        return index is UNBOUND or self.stages(index)

    def aliased_values(self) -> list[Any]:
        """The lists, dicts and objects in the state that are aliased by other code: they remain state even where a body
        rebinds the variable."""
        places: dict[int, tuple[Any, set[Any]]] = {}
        for path in self.paths:
            value = self.get(path)
            key = path[0] if len(path) == 1 else self.key(*path[-1])
            place = key if len(path) == 1 else (id(self.holder(path[:-1])), key if type(key) in (int, str) else id(key))
            note_places(value, place, places)
        if not places:
            return []
        aliased = with_more_references({key: (value, len(known)) for key, (value, known) in places.items()})
        backend = ambient.backend
        return [value for key, (value, _) in places.items() if key in aliased
                or (backend is not None and backend.may_alias(value))]

    def get(self, path: Path) -> Any:
        root = path[0]
        cell = self.cells.get(root)
        try:
            value = cell.cell_contents if cell is not None else self.globals[root]
            for kind, key in path[1:]:
                value = unwrapped(value)
                if kind == ".":
                    value = UNBOUND if is_computed(value, key) or inherits(value, key) else getattr(value, key)
                elif _is_whole(value):
                    return UNBOUND  # it is part of something that is state as a whole
                elif isinstance(value, dict):  # without `__missing__`, which may insert a value
                    value = dict.get(value, self.key(kind, key), UNBOUND)
                else:
                    value = items_of(value).__getitem__(value, self.key(kind, key))
        except (ValueError, KeyError, AttributeError, IndexError, TypeError):
            return UNBOUND
        return value

    def holder(self, path: Path) -> Any:
        """The value at a path whose attributes or items are state; of a value that may be None in the graph, its
        content."""
        return unwrapped(self.get(path))

    def set(self, path: Path, value: Any) -> None:
        root = path[0]
        if len(path) == 1:
            cell = self.cells.get(root)
            if cell is not None:
                put_back(cell, value)
            elif value is not UNBOUND:
                self.globals[root] = value
            else:
                self.globals.pop(root, None)
            return
        if self.get(path) is value:
            return
        holder = self.holder(path[:-1])
        if holder is UNBOUND or has_staged_items(holder) or hasattr(type(holder), "__stands_for__"):
            return
        kind, key = path[-1]
        if isinstance(holder, tuple):
            return  # its parts change in place
        if kind == ".":
            if ambient.backend is not None and inherits(holder, key):
                ambient.backend.operation("check_owned", holder, key, value)
            is_stored = stores_itself(holder, key)
            if value is UNBOUND:
                (take_out if is_stored else delattr)(holder, key)
            else:
                (put if is_stored else setattr)(holder, key, value)
            return
        key = self.key(kind, key)
        if is_list(holder) and type(key) is int and not -len(holder) <= key < len(holder):
            return  # the whole list is state, and it is shorter now
        if value is UNBOUND:
            items_of(holder).__delitem__(holder, key)
        else:
            keep_keys(holder)
            items_of(holder).__setitem__(holder, key, value)

    def key(self, kind: str, key: Any) -> Any:
        return self.get((key,)) if kind == "[name]" else key


_NOTHING = object()


def _is_whole(value: Any) -> bool:
    """Whether a value is state as a whole: one of a backend, whose items it would have to compute."""
    return has_staged_items(value) or hasattr(type(value), "__stands_for__") or hasattr(
        type(value), "__become__") or replacing(value) is not None


class Body:
    """A body as a pure function from state to state. Each call restores all cells: those of `fn`, and, if it stands for
    several functions (`fn.runs`), of these."""

    sets_up = True  # see `heap_snapshot.becomes_state`

    def __init__(
        self, fn: Callable[..., Any] | None, state: State, place: Callable[..., Any] | None = None,
        item: Any = _NOTHING,
    ) -> None:
        self.fn, self.state, self.item = fn, state, item
        function = fn if fn is not None else place
        code = cast(FunctionType, getattr(function, "place", function)).__code__
        self.code, self.filename, self.lineno = code, code.co_filename, code.co_firstlineno

    def __call__(self, *values: Any) -> Any:
        fn, state = self.fn, self.state
        if fn is None:
            if ambient.backend is not None:
                ambient.backend.body_began()
            return values
        arguments: tuple[Any, ...] = ()
        if self.item is not _NOTHING:
            arguments = (self.item,)
        elif len(values) > len(state.paths):
            arguments, values = values[:1], values[1:]
        functions = (fn, *getattr(fn, "runs", ()))
        cells = BodyCells(functions, state.names, state.cells, state.stages)
        before = state.read()
        state.write(values)
        if ambient.backend is not None:
            ambient.backend.body_began()
        heap = Heap(state.reach(), state.names)
        own = containers_in(values)
        outer, noted.cells = noted.cells, set()
        around = within.variables, within.reached
        within.variables = *within.variables, *state.synthetic()
        within.reached = heap.reach.objects
        hides = is_final = False
        chosen: set[int] = set()

        def changed() -> set[str]:
            return heap.take_back(state.names, state.stages, state.root, own, chosen, self.sets_up) | cells.changed(
                self.sets_up)

        self.changed, self.heap = changed, heap
        self.begin()
        try:
            with hidden(state.hidden), running(state.statement, self.code):
                returned = fn(*arguments)
                if ambient.backend is not None:
                    ambient.backend.body_ending(self, ("", *state.in_order), lambda: (returned, *state.read()))
                escaping = EscapingValues(self.result(returned))
            state.orders.note_end()
            if chosen := own.keys() & escaping.chosen():
                chosen &= containers_in(before).keys()  # others are the backend's
            if ambient.backend is not None:
                ambient.backend.body_ended(None)
        except BaseException as error:
            if ambient.backend is not None:  # the state is still that at the point of the error
                is_final = ambient.backend.body_ended(error)
                hides = ambient.backend.raised_by(error) == "staging"
            raise
        finally:
            within.variables, within.reached = around
            state.discovered |= changed()
            noted.cells |= outer
            state.write(before)
            state.orders.restore()
            cells.restore()
            if not is_final:
                self.refuse_changes(heap.changed(), () if hides else functions)
        return escaping.values({id(reached.value) for reached in heap.reach.objects})

    def read(self) -> tuple[Any, ...]:
        """The state at a point of the running body where an error may leave it. All changes up to that point become
        state as well, even those that the body reverts by its end."""
        self.state.discovered |= self.changed()
        if self.state.discovered or self.heap.unnamed is not None:
            self.refuse_changes(self.heap.changed(), ())
        return self.state.read()

    def refuse_changes(self, changed: tuple[str, Any] | None, functions: tuple[Any, ...]) -> None:
        """Check the changes of a body after it ran. Raises Restage if it changed more than the state, RotateLoop if it
        is a test that changed the state, or an error for a change that cannot be state: of an iterator that the
        functions advanced, or of `changed`, an object with its name."""
        if functions:
            _refuse_advanced(self.state.iterators, functions)
        if self.state.discovered:  # immediately: a result computed from it would be in other variables, too
            raise Restage(self.state)
        if self.changes:
            raise RotateLoop
        if changed is not None and ambient.backend is not None:
            raise ambient.backend.refusal("changed", changed[1], changed[0], self.filename, self.lineno)

    changes = False
    """Whether a test has changed the state."""

    def begin(self) -> None:
        """Called when the state is that at the start of the body."""

    def result(self, _returned: Any) -> Any:
        return self.state.read()


def _refuse_advanced(iterators: Sequence[tuple[str, Place]], functions: Iterable[Any]) -> None:
    """Raise the error if one of the iterators has been advanced by these functions, the first of which is a body."""
    for name, place in iterators:
        if place.has_advanced() and ambient.backend is not None:
            filename, line = line_of_use([getattr(function, "place", function) for function in functions], name)
            raise ambient.backend.refusal("advanced", place.iterator, name, filename, line)


class Snapshot:
    """A snapshot of everything that a statement's bodies can reach."""

    def __init__(self, state: State, functions: Iterable[Callable[..., Any] | None]) -> None:
        self.state, self.values = state, state.read()
        holders = [state.holder(path[:-1]) for path in state.paths if len(path) > 1]
        state.orders = KeyOrders(holder for holder in holders if issubclass(type(holder), dict))
        self.contents: list[Any] = [
            parts_in(value) if is_list(value) or type(value) is dict else None for value in self.values]
        self.cells = [(cell, contents_of(cell)) for fn in functions if fn is not None for cell in fn.__closure__ or ()]
        self.cells += [(state.cells[name], contents_of(state.cells[name])) for name in state.of_callees]
        self.functions = [fn for fn in functions if fn is not None]
        self.heap = Heap(state.reach())
        self.iterators = [(name, Place(value)) for name, value in self.heap.reach.iterators]

    def take_back(self) -> None:
        """Restore everything. Raises an error if an iterator has been advanced, which cannot be undone."""
        self.heap.restore()
        for value, content in zip(self.values, self.contents):
            if content is not None:
                fill(value, content)
        self.state.write(self.values)
        for cell, value in self.cells:
            put_back(cell, value)
        _refuse_advanced(self.iterators, self.functions)


def snapshot_of(names: tuple[str, ...], backend: Backend, functions: tuple[Any, ...]) -> Snapshot:
    """The snapshot for a statement with these bodies and these names of state."""
    roots: dict[str, CellType] = {}
    names = _places_of(_assigned(names, backend, functions), backend, functions, roots)
    return Snapshot(State(names, backend.stages, *functions, roots=roots), functions)


# Staging a statement.

def staged(
    state: tuple[str, ...], backend: Backend, functions: tuple[Any, ...],
    run: Callable[[State, tuple[str, ...]], tuple[Any, ...]], values: Sequence[Any] = (),
) -> tuple[Any, ...]:
    """Run the staged statement, write back its final state, return its extra results. `values`: see `State.values`."""
    tried: set[frozenset[str]] = set()
    statement = statement_of(functions, state)
    found: Sequence[str] = statement.known()
    roots = dict(statement.roots) if found else {}
    found = _places_of(tuple(found), backend, functions, roots)  # a list may be staged since the earlier run
    own = _assigned(state, backend, functions)
    names, all_found = _with_found(_places_of(own, backend, functions, roots), (), found, backend, functions, roots)
    while frozenset(names) not in tried and len(tried) < _MOST_ATTEMPTS:
        tried.add(frozenset(names))
        mark = backend.checkpoint()
        variables = State(names, backend.stages, *functions, roots=roots, values=values, statement=statement)
        if aliased := variables.aliased_values():
            names = (*names, *(f"{ALIASED}{i}" for i in range(len(aliased))))
            variables = State(names, backend.stages, *functions, aliased=aliased, roots=roots, values=values,
                              statement=statement)
        before = Snapshot(variables, functions)
        variables.set_iterators(before.iterators, backend)
        try:
            with unreached(before.heap.reach):
                try:
                    after = run(variables, names)
                except RotateLoop:  # from now on `run` stages the rotated loop
                    mark.rollback()
                    before.take_back()
                    after = run(variables, names)
        except Restage as wanted:
            if wanted.state is not variables:
                raise
            mark.rollback()
            before.take_back()  # bodies that run in Python have changed the user's own lists and objects
        except Remake as wanted:
            mark.rollback()
            before.take_back()
            wanted.make(wanted.values)
            tried.clear()
            table = storage_of([*wanted.values])  # which the body is about to change
            names = _places_of(tuple(dict.fromkeys((*own, *all_found))), backend, functions, roots)
            all_found = [] if table is None else [variables.root(table, "table")]
            names = tuple(dict.fromkeys((*names, *all_found)))
            continue
        else:
            statement.learn(all_found, roots)
            results = len(after) - len(names)
            variables.write(after[results:])
            variables.orders.settle()
            mark.assigned()
            return after[:results]
        backend.staging_again(len(tried), variables.unnamed_holders())
        found = sorted(variables.lasting(name) for name in variables.discovered)
        names, all_found = _with_found(names, all_found, found, backend, functions, roots)
    raise backend.error(
        f"what this statement changes does not settle: {', '.join(found)}",
        "Linked objects cannot grow in staged code: keep their parts in lists, and indices in place of references.")


def _with_found(
    names: tuple[str, ...], known: Sequence[str], found: Sequence[str], backend: Backend, functions: tuple[Any, ...],
    roots: dict[str, CellType],
) -> tuple[tuple[str, ...], list[str]]:
    """The names of the state extended by those in `found`, and all names found so far. A container that is state as a
    whole replaces its parts."""
    if not found:
        return names, [*known]
    inside = _inside(found)
    names = (*(name for name in names if not name.startswith((ALIASED, *inside))), *found)
    all_found = [name for name in (*known, *found) if not name.startswith(inside)]
    return tuple(dict.fromkeys((*_places_of(names, backend, functions, roots), *all_found))), all_found


def _assigned(names: tuple[str, ...], backend: Backend, functions: tuple[Any, ...]) -> tuple[str, ...]:
    """The names without those of objects of which the bodies only call methods."""
    known = State(names, backend.stages, *functions)
    return tuple([name for name in names if not known.is_only_called(name)])


def _places_of(
    names: tuple[str, ...], backend: Backend, functions: tuple[Any, ...], roots: dict[str, CellType]
) -> tuple[str, ...]:
    """The names, normalised: parts of a list or dict that is state as a whole become that container. Names without
    storage of their own are dropped, and those that lead through an attribute or item that is state, which need not
    have one object throughout: their effects are discovered when they are set."""
    if all(map(str.isidentifier, names)):
        return names
    known = State(names, backend.stages, *functions, roots=roots)
    places = [known.lasting(place) for name in names if (place := known.place(name)) is not None]
    holders = known.holders(frozenset(places))
    found = dict.fromkeys(holders.get(name, name) for name in places)
    inside = _inside(name for name in found if not name.isidentifier())
    return tuple(name for name in found if not name.startswith(inside))


def _inside(names: Iterable[str]) -> tuple[str, ...]:
    """How the names of the parts of these begin."""
    return tuple(name + step for name in names for step in ".[")


def checkpoint(*read: Callable[..., Any]) -> tuple[Checkpoint, Snapshot | None] | None:
    """The current point of the trace, if there is one, with a snapshot of all that the functions can change."""
    backend = ambient.backend
    if backend is None:
        return None
    return backend.checkpoint(), Snapshot(State((), backend.stages, *read), read) if read else None


def rollback(mark: tuple[Checkpoint, Snapshot | None] | None, /) -> None:
    """Undo what was traced and changed since `mark`."""
    if mark is not None:
        mark[0].rollback()
        if mark[1] is not None:
            mark[1].take_back()

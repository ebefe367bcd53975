"""Lists and dicts by reference: where only the graph knows which of several a name has, and code changes it.

As for objects (`arenas.py`), an arena has the contents of lists, or dicts, that a traced function makes: as one list of
the graph, whose elements are these. A container by reference is a list or dict of Python with a `ContainerReference` as
its only item, which holds its index in the arena: each read reads the arena, and each change is made there. So it has
any number of names, and may be an element of any containers.

Which containers are in one arena is found by trial: at first those that one variable, or one line, has as elements.
Where those of two arenas meet, in a container or as the values of one variable, the function is traced again with one
arena for both (`NeedsOneArena`), as in Steensgaard's points-to analysis.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final, NoReturn

from autograph.backend import (
    DICTS,
    LIST_OR_DICT,
    ListItems,
    duplicate,
    fields_of,
    fill,
    has_staged_items,
    is_list,
    is_reference,
    parts_in,
    refill,
)
from runtime.core.array_mode import existed_before
from runtime.core.errors import StagingError
from runtime.core.object_mode import Key, NeedsArgument, NeedsOneArena, NeedsReferencesIn, container_arenas
from runtime.core.operations import OPERATIONS
from runtime.core.positions import Position, staging_error, user_position
from runtime.core.trace import convert_to_tensor
from runtime.ops.logic import less
from runtime.staging.elements.element_layout import NoItems, Rows, Tables, may_change, types_of
from runtime.staging.elements.element_structures import structure_by_value
from runtime.staging.elements.list_specs import is_container_reference, is_container_spec
from runtime.staging.elements.nesting import AS_OBJECTS
from runtime.staging.elements.references import References, number_of_place
from runtime.staging.elements.select import choose
from runtime.staging.elements.specs import Spec
from runtime.staging.joins.spec_text import Conflict
from runtime.staging.storage.dict import empty_dict_like
from runtime.staging.storage.dict_keys import is_key
from runtime.staging.storage.record_list import StagedRecords
from runtime.staging.values.iterables import Counted, Unusable, view_of
from runtime.staging.values.list import unview

__all__ = [
    "ContainerArena", "ContainerArenas", "ContainerReference", "identity_of", "make_references",
    "need_reference_before", "need_references", "need_references_by", "readable", "refer_elements", "same_container",
    "unify"]

_MOST_ARENAS: Final = 24


class ContainerArena:
    """Lists, or dicts of one class, by reference, whose items have one structure."""

    def __init__(self, number: int) -> None:
        self.number, self.name = number, "list"
        self.store: list[Any] = []
        """The containers; one list of the graph from the first of them on."""
        self.fields = {"": self.store}
        self.key: Key | None = None
        self.empty: Any = []
        """An empty container like those in it."""
        self.layout: Final = ContainerReferences(self)
        self.kind: Final[type[ContainerReference]] = type(
            "ContainerReference", (ContainerReference,), {"__slots__": (), "arena": self})
        self.recipe: Any = None
        """That of the containers, as a result of the traced function (`runtime.function.results.object_results`)."""

    def begin(self, key: Key, x: Any) -> None:
        """Take the arena for containers like `x` with that key."""
        self.key, self.name = key, type(x).__name__
        self.empty = [] if type(x) is list else empty_dict_like(x)

    def takes(self, x: Any) -> bool:
        """Whether the arena can have that container."""
        return type(x) is type(self.empty) and getattr(x, "default_factory", None) is getattr(
            self.empty, "default_factory", None)

    def add(self, content: Any) -> ContainerReference:
        """The reference to a new container with this content."""
        place = view_of(self.store).length if self.store else convert_to_tensor(0)
        self._settle_keys(content)
        if not self.store:
            structure = self._structure_of(content)
            refill(self.store, StagedRecords.from_items(
                [content], structure, types_of(structure, content)).owner)
        else:
            self._fit(content)
            view = view_of(self.store)
            (view.append if self._follows_elements else view.append_unrecorded)(content)
        return self.kind(place)

    def _structure_of(self, content: Any) -> Any:
        try:
            return structure_by_value(content, rows=type(content) is list)
        except StagingError:
            raise
        except (TypeError, ValueError):
            raise staging_error(
                f"a {self.name} to which staged code refers by several names has items of several types or structures",
                AS_OBJECTS) from None

    def at(self, index: Any) -> Any:
        """The container with that index."""
        made = duplicate(self.empty)
        refill(made, [self.kind(index)])
        return made

    def read(self, index: Any) -> Any:
        """A container by value with the items of that one."""
        view = view_of(self.store)
        return unview(view[index] if self._follows_elements else view.at(index))

    def write(self, index: Any, content: Any) -> None:
        """Give the container with that index another content."""
        self._settle_keys(content)
        self._fit(content)
        view = view_of(self.store)
        (view.__setitem__ if self._follows_elements else view.set_unrecorded)(index, content)

    def _fit(self, content: Any) -> None:
        view_of(self.store).fit(content)

    def _settle_keys(self, content: Any) -> None:
        """Make a dict whose keys are numbers a hash table of the graph, which can get others."""
        if type(content) in DICTS and not has_staged_items(content) and content and all(map(is_key, content)):
            OPERATIONS.make_table(content)

    @property
    def _follows_elements(self) -> bool:
        """Whether the items may be containers by value that are changed in place, so that they are changed in the
        arena, too (`list_elements`). The containers in the arena themselves are read, changed and written at once."""
        structure = self.store[0].structure
        if isinstance(structure, Rows):
            return may_change(structure.structure)
        if isinstance(structure, NoItems):
            return isinstance(structure, Tables) and may_change(structure.structure[1])
        return any(map(may_change, structure.values() if isinstance(structure, dict) else structure))


class ContainerArenas:
    """The arenas of the lists and dicts of one trace. `same`: for keys whose containers are in one arena, another one
    of them; `variables`: the keys of variables, at the ends of bodies, whose containers are by reference."""

    def __init__(self, same: Mapping[Key, Key], variables: Collection[Key], refers_to_outside: bool) -> None:
        self.same, self.variables, self.refers_to_outside = same, frozenset(variables), refers_to_outside
        self.has_outside = False
        """Whether there is a choice among containers from before the call, which is by value."""
        self.arenas = [ContainerArena(k) for k in range(_MOST_ARENAS)]
        self.found: dict[Key, ContainerArena] = {}
        self.depth = 0
        """In how many containers that become ones by reference the current one is an element."""
        self.attribute = ""
        """The attribute of a new object whose value is being stored: those of one object are made in one line."""

    def first(self, key: Key) -> Key:
        """The key that stands for those of its arena."""
        while key in self.same:
            key = self.same[key]
        return key

    def of(self, key: Key, x: Any) -> ContainerArena:
        """The arena of a container with that key."""
        kind, name, depth = key
        key = self.first((f"{type(x).__name__} {kind}", name, depth))
        if key not in self.found:
            if len(self.found) == _MOST_ARENAS:
                raise staging_error(
                    f"lists and dicts of more than {_MOST_ARENAS} kinds are elements of others here, and staged code"
                    " refers to them by several names", "Use fewer kinds of them.")
            arena = self.found[key] = self.arenas[len(self.found)]
            arena.begin(key, x)
        return self.found[key]

    def is_internal(self, x: Any) -> bool:
        """Whether it is a list in which an arena has others."""
        return any(arena.store is x for arena in self.arenas)


class ContainerReference(ListItems, Unusable):
    """The single item of a container by reference. (Each arena has a class of its own.)"""

    __slots__ = ("place",)

    refers = True
    arena: ClassVar[ContainerArena]

    def __init__(self, place: Any) -> None:
        self.place = place

    @property
    def content(self) -> Any:
        """A container by value with the current items."""
        return self.arena.read(self.place)

    def view(self, owner: Any) -> Any:
        return view_of(self.content)

    def __leaves__(self) -> list[Any]:
        return [self.place]

    @property
    def leaves(self) -> tuple[Any, ...]:
        return (self.place,)

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        return self.arena.at(leaves[0])

    @contextmanager
    def opened(self, owner: Any) -> Iterator[None]:
        """Within the context, the container has its items, so that they can be changed; then they are written to the
        arena."""
        fill(owner, parts_in(self.content))
        before = owner[0] if has_staged_items(owner) else None
        try:
            yield
            if before is None or not (has_staged_items(owner) and owner[0] is before):
                self.arena.write(self.place, duplicate(owner))
        finally:
            refill(owner, [self])

    def __iterable__(self) -> Counted:
        """What a loop over a list takes: as in Python, each iteration reads the item that is there by then."""
        now = _Now(self)
        return Counted(now.length, lambda i: unview(now.view[i]), (now,), lambda i: less(i, now.length))

    def __deepcopy__(self, memo: Any) -> ContainerReference:
        return self.arena.add(duplicate(self.content))

    def __copy__(self) -> ContainerReference:
        return self

    def text(self) -> Any:
        return self.content[0].text()

    def refuse(self) -> NoReturn:
        raise staging_error("the items of a container are not known here: only the graph knows which one it is",
                            "Use it in converted code.")


class _Now:
    """A list by reference with the items that it has at the time."""

    def __init__(self, reference: ContainerReference) -> None:
        self.reference = reference

    @property
    def view(self) -> Any:
        return self.reference.view(None)

    @property
    def length(self) -> Any:
        return self.view.length

    def __leaves__(self) -> list[Any]:
        leaves: list[Any] = view_of(self.reference.arena.store).__leaves__()
        return leaves


class ContainerReferences(References):
    """Containers of an arena as elements, stored as their indices."""

    def check(self, x: Any) -> None:
        if not (is_reference(x) or _refer(x, self.arena)):
            raise ValueError(f"the structures differ: a {type(x).__name__} is no {self.arena.name}")
        unify(x[0].arena, self.arena)

    def meet(self, other: References) -> None:
        if isinstance(other, ContainerReferences):
            unify(self.arena, other.arena)

    def columns(self, x: Any, types: Sequence[Any]) -> list[Any]:
        return [x[0].place]

    def types(self, x: Any) -> list[Any]:
        return [convert_to_tensor(x[0].place).type]


def unify(arena: ContainerArena, *others: ContainerArena) -> None:
    """Let the containers of these arenas be in one: NeedsOneArena if they are several; ValueError if their classes
    differ."""
    others = tuple([other for other in others if other is not arena])
    for other in others:
        if not arena.takes(other.empty):
            raise ValueError(f"the structures differ: a {arena.name} is no {other.name}")
    if others:
        assert arena.key is not None
        raise NeedsOneArena(arena.key, *[other.key for other in others if other.key is not None])


def _can_refer(x: Any) -> bool:
    """Whether it is a list or dict that is, or may become, one by reference."""
    arenas = container_arenas()
    return arenas is not None and type(x) in LIST_OR_DICT and not arenas.is_internal(x)


def _refer(x: Any, arena: ContainerArena) -> bool:
    """Make a container one by reference, in an arena, and so those that are its items. Returns whether it is one."""
    if not (_can_refer(x) and arena.takes(x)):
        return False
    if not is_reference(x):
        if existed_before(x):
            raise NeedsArgument(x, staging_error(
                f"a {type(x).__name__} from before the call is an element of a list or dict here, and staged code"
                " refers to it by several names", "Put in a copy of it: copy.copy(x)."))
        content, arenas = duplicate(x), container_arenas()
        arenas.depth += 1
        try:
            refill(x, [arena.add(content)])
        finally:
            arenas.depth -= 1
    return True


def layout_of_container(x: Any, like: Any = None) -> References | None:
    """The layout of a list or dict as an element beside others with the layout `like`, if it is one by reference, or
    becomes one; else None."""
    if isinstance(like, ContainerReferences):
        like.check(x)
    if is_reference(x):
        layout: References = x[0].arena.layout
        return layout
    if not _can_refer(x):
        return None
    arenas = container_arenas()
    arena = arenas.of(_key_here(arenas.depth), x)
    return arena.layout if _refer(x, arena) else None


def _key_here(depth: int) -> Key:
    """The key of containers that become elements in this line, at a depth in others."""
    place = user_position()
    attribute = container_arenas().attribute
    return "line", "" if place is None else f"{place.filename}:{place.lineno}{attribute}", depth


def make_references(names: Sequence[str], read: Callable[[], Sequence[Any]], *bodies: Any) -> None:
    """Called before a statement with these bodies, and at the end of each. Where containers are by reference, make the
    lists and dicts that are elements of those in the state, which `read` gives, ones by reference, and those variables
    for which `need_references` was called."""
    arenas = container_arenas()
    if arenas is None:
        return
    for name, value in zip(names, read(), strict=False):
        if _can_refer(value) and any(not arenas.variables.isdisjoint(_keys_of(body, name)) for body in bodies):
            _refer(value, arenas.of(_key_of_variable(name, 0), value))
        for part in _parts(value):
            _make_reference(part, _key_of_variable(name, 1))


def _key_of_variable(name: str, depth: int) -> Key:
    """The key of containers that a variable of the function being traced has, at a depth in others."""
    if not name.isidentifier() or name.startswith("ag__"):  # has no name
        return _key_here(depth)
    place = user_position()
    return name, "" if place is None else f"{place.filename}:{place.function}", depth


def _keys_of(body: Any, name: str) -> tuple[Key, Key]:
    """The keys of a variable at the end of a body, and anywhere in its file."""
    filename = getattr(body, "filename", "")
    return (name, filename, getattr(body, "lineno", 0)), (name, filename, _ANYWHERE)


def need_references(conflict: Conflict, name: str, others: Iterable[tuple[str, Spec, Spec]], *bodies: Any) -> None:
    """Called where a variable has containers by reference and by value at the ends of bodies: NeedsReferencesIn if that
    is the conflict. `others`: the names and specs of further variables, of which those that have both need it, too."""
    arenas = container_arenas()
    if arenas is None or not _are_mixed(conflict.left, conflict.right):
        return
    needed = {_keys_of(body, name)[0] for body in bodies}
    if needed - arenas.variables:
        names = [other for other, left, right in others if _are_mixed(left, right)]
        raise NeedsReferencesIn(needed.union(_keys_of(body, other)[0] for body in bodies for other in names))


def need_reference_before(before: Any, after: Sequence[Any], name: str, *bodies: Any) -> None:
    """Called where a variable has the same container `after` bodies as `before` them: NeedsReferencesIn if each body
    has made it one by reference, and so another one."""
    arenas = container_arenas()
    if _can_refer(before) and not is_reference(before) and all(map(is_reference, after)):
        needed = {_keys_of(body, name)[0] for body in bodies}
        if needed - arenas.variables:
            raise NeedsReferencesIn(needed)


def _are_mixed(*sides: Spec) -> bool:
    """Whether one is a list or dict by reference, and the other one by value."""
    return any(map(is_container_reference, sides)) and any(map(is_container_spec, sides)) and not all(
        map(is_container_reference, sides))


def need_references_by(name: str, place: Position | None) -> None:
    """Called where the results may have one container, by a variable of that name: NeedsReferencesIn if its containers
    are by value."""
    arenas = container_arenas()
    key = (name, "" if place is None else place.filename, _ANYWHERE)
    if arenas is not None and name and key not in arenas.variables:
        raise NeedsReferencesIn({key})


_ANYWHERE: Final = 0
"""In place of the line of a body, in the key of a variable."""


def refer_elements(*containers: Any) -> None:
    """Called where containers become ones of the graph: make the lists and dicts that are elements of them ones by
    reference."""
    arenas = container_arenas()
    for x in containers if arenas is not None else ():
        for part in _parts(x):
            _make_reference(part, _key_here(arenas.depth))


def _make_reference(x: Any, key: Key, inside: frozenset[int] = frozenset()) -> None:
    """Make a container, and those in it, ones by reference, if their items can be stored."""
    if id(x) in inside:
        return
    inside |= {id(x)}
    kind, name, depth = key
    for part in _parts(x):
        _make_reference(part, (kind, name, depth + 1), inside)
    if _can_refer(x) and not is_reference(x) and not existed_before(x):
        try:
            _refer(x, container_arenas().of(key, x))
        except (StagingError, TypeError, ValueError):
            pass  # it stays by value; where that is an error, it is raised


def _parts(x: Any) -> Iterator[Any]:
    """The parts of a container of Python."""
    if has_staged_items(x) or not (is_list(x) or isinstance(x, (tuple, dict)) or fields_of(x) is not None):
        return iter(())
    return (part for _, part in parts_in(x))


def choose_container(values: Sequence[Any], at: Any) -> Any:
    """The container at an index of several, if these are, or become, ones by reference; else None, also for containers
    from before the call unless a trace with these by value has failed."""
    arenas = container_arenas()
    if arenas is not None and not arenas.refers_to_outside and not any(map(is_reference, values)) and all(
            map(existed_before, values)):
        arenas.has_outside = True
        return None
    try:
        if not all(map(_can_refer, values)) or None in [*map(layout_of_container, values)]:
            return None
    except ValueError:
        raise staging_error(
            f"a tensor is the index of several {type(values[0]).__name__}s that staged code refers to by several names,"
            " and the items in one of them have several types", "Use tuples or dataclass objects in their place.",
        ) from None
    arena: ContainerArena = values[0][0].arena
    unify(arena, *[x[0].arena for x in values])
    return arena.at(choose([x[0].place for x in values], at))


def readable(x: Any) -> Any:
    """The content of a container by reference, for code that reads it; other values unchanged."""
    return x[0].content if is_reference(x) else x


def same_container(value: Any, other: Any) -> Any:
    """Whether two values, one of them a container by reference, are the same: a bool, or a bool scalar tensor."""
    if not (is_reference(value) and is_reference(other)) or value[0].arena is not other[0].arena:
        return False
    return value is other or value[0].place is other[0].place or convert_to_tensor(value[0].place) == other[0].place


def identity_of(x: Any) -> Any:
    """What `id` returns."""
    return number_of_place(x[0].place, _FIRST + x[0].arena.number)


_FIRST: Final = 1 << 19
"""The number of the first arena of containers, beside those of objects."""


OPERATIONS.define(layout_of_container=layout_of_container, unify=unify, choose_container=choose_container,
                  refer_elements=refer_elements, readable=readable)

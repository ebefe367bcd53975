"""Arguments of a traced function that share traces: objects, and Python numbers.

At first a trace serves one object of a plain class, and the exact numbers in an object of a dataclass. From the fifth
trace for objects of a class on, a plain object is decomposed into the attributes that the function names, as a
dataclass object is into its fields, and numbers among these that differ between calls are inputs of the graph. So are
numbers that are arguments, from the fifth value on, and lists of more than a few numbers.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from autograph.backend import Unwinding, can_be_record, declared_fields, is_of_converted_code
from runtime.core.array_mode import NeedsNumbers
from runtime.core.graph import TrialTooLarge
from runtime.function.arguments.argument_numbers import (
    ArgumentNumber,
    ArgumentNumbers,
    ArgumentRow,
    column_of,
    matrix_of,
)
from runtime.function.arguments.argument_structure import (
    Names,
    children,
    decomposing,
    fill_shell,
    holds_numbers,
    is_leaf,
    rebuild,
    shell,
)
from runtime.function.arguments.number_state import can_be_staged
from runtime.function.arguments.signature import ATTRIBUTES, Call
from runtime.function.state.escaped_tensors import ATOMS
from runtime.function.state.visible_places import Reading
from runtime.function.until_error import raised
from runtime.function.variables.variable import Variable

__all__ = ["SharedObjects", "Twins"]

_FEW: Final = 4  # number of objects of a class, or of values of a number, that have their own traces
_MOST: Final = 1000  # maximal number of parts of the objects of one call that share traces
_MOST_NUMBERS: Final = 64  # in a list or tuple with one input per number
_MOST_MADE: Final = 6_000
_MOST_UNSHARED: Final = 12_000  # total size, in nodes and values, of traces with numbers as inputs that are not shared
_MOST_TRIED: Final = 4  # maximal number of numbers that are tried one by one as constants
_DYNAMIC: Final = frozenset({
    "__class__", "__dict__", "asdict", "attrgetter", "copy", "deepcopy", "delattr", "dir", "getattr", "hasattr",
    "setattr", "type", "vars"})
"""Names that indicate reads of attributes, or creation of objects of classes, that the code does not name."""
_BY_IDENTITY: Final = frozenset({"id", "numpy_function", "py_function", "ref", "weakref"})
"""Names that indicate comparison by identity, or objects kept until the graph runs."""

class Arguments:
    """In the table of classes: stands for the arguments of a call."""


Place = tuple[type, str]
"""A class, and the path of an attribute or of a part of it; with `Arguments`, the path of an argument."""
_LIST: Final = "[]"
"""The end of a path for the numbers of a list, or list of lists, that are one input."""


class _NeedsClasses(Unwinding):
    """The call has to share traces for objects of these classes as well, or decompose more of their attributes."""

    def __init__(self, classes: Mapping[type, Names]) -> None:
        super().__init__(classes)
        self.classes = classes


class _Unshared(Unwinding):
    """Objects of these classes must not share traces: they hold variables, or too many parts."""

    def __init__(self, classes: frozenset[type]) -> None:
        super().__init__(classes)
        self.classes = classes


class SharedObjects:
    """Which classes and numbers among the arguments of a traced function share traces."""

    def __init__(self) -> None:
        self.classes: dict[type, Names] = {}
        """The classes whose objects share traces, with the names of the attributes that are decomposed."""
        self._unshareable: frozenset[type] = frozenset()  # classes whose objects must not share traces
        self._seen: dict[type, list[Callable[[], Any]]] = {}  # weak references to objects with traces
        self._known: dict[Place, Any] = {}  # the first number at a place
        self._values: dict[tuple[Place, type], set[Any]] = {}  # some of the values of an argument
        self._staged: set[Place] = set()  # places where the number differed later
        self._exact: frozenset[Place] = frozenset()  # arguments, or parts, that have to be constants
        self.has_all = False
        """Whether all numbers among the arguments are inputs, because the function computes at length with them."""
        self.most_made = _MOST_MADE
        """The maximal number of nodes and values in an attempt to trace with numbers as inputs."""
        self._unshared: list[int] = []  # the sizes of the last traces with numbers as inputs, each used by one call
        self.is_exact = False
        """Whether tracing with numbers in objects as inputs fails, so that they are constants of a trace."""
        self._trying = threading.local()

    def saw(self, objects: Sequence[Any], reading: Reading) -> None:
        """Record the objects that a trace serves, and what it may have read of them."""
        for x in objects:
            kind, is_declared = type(x), declared_fields(x) is not None
            if kind in self.classes or reading.names & _BY_IDENTITY or not (is_declared or self.can_share(kind)):
                continue
            seen = self._seen.setdefault(kind, [])
            if not any(reference() is x for reference in seen):
                seen.append(_reference(x))
            if len(seen) >= _FEW:
                del self._seen[kind]
                self._share({kind: None if is_declared else _names_of(kind, reading)})
                self._learn([o for reference in seen if (o := reference()) is not None])

    def saw_numbers(self, call: Call) -> None:
        """Record the numbers among the arguments that a trace serves."""
        if Arguments not in self.classes and Arguments not in self._unshareable:
            twins = Twins(self, {**self.classes, Arguments: None})
            try:
                named = {name: x for name, x in call.kwargs.items() if name != ATTRIBUTES}
                if twins.have_inputs(call.args, named) or twins.may_share:
                    self._share({Arguments: None})
            except _NeedsClasses:
                pass  # the next call, in which objects share traces, handles that
            except _Unshared as unshared:
                self._part(unshared.classes)

    def _are_in(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether arguments of a call may share traces; from the first call on if there are long lists of numbers."""
        if not self.classes and Arguments not in self._unshareable and any(
                column_of(x) or matrix_of(x) for x in (*args, *kwargs.values())):
            self._share({Arguments: None})
        return bool(self.classes)

    def note_size(self, made: int) -> None:
        """Record how many nodes and values a trace has made."""
        self.most_made = max(self.most_made, 4 * made)
        self._trying.made = made

    def need_all(self) -> None:
        """Make all numbers among the arguments inputs."""
        self.has_all = True
        self._share({Arguments: None})

    def is_input(self, x: Any, at: Place) -> bool:
        """Whether a number, or list of numbers, is an input of traces. Records the numbers seen at a place."""
        if at not in self._staged and (type(x) is ArgumentNumbers or self._differs(x, at) or (
                self.has_all and at[0] is Arguments)):
            self._staged.add(at)
        return at in self._staged and not self.is_constant(at) and not (self.is_exact and at[0] is not Arguments)

    def is_constant(self, at: Place) -> bool:
        """Whether numbers at a place were found to have to be constants."""
        return not self._exact.isdisjoint((at, _argument(at)))

    def _differs(self, x: float, at: Place) -> bool:
        if at[0] is not Arguments:
            return repr(self._known.setdefault(at, x)) != repr(x)
        values = self._values.setdefault((at, type(x)), set())
        values.add(x)
        return len(values) > _FEW

    def are_many(self, x: Any, at: Place) -> bool:
        """Whether as many numbers as may have their own traces have been seen at a place."""
        return len(self._values.get((at, type(x)), ())) >= _FEW

    def _learn(self, objects: Sequence[Any]) -> None:
        """Record the numbers in objects that begin to share traces."""
        while True:
            try:
                with decomposing(self.classes):
                    Twins(self).call(tuple(objects), {})
                return
            except _NeedsClasses as needed:
                self._share(needed.classes)
            except _Unshared as unshared:
                self._part(unshared.classes)
                return

    def can_share(self, kind: type) -> bool:
        """Whether objects of a plain class may share traces."""
        return kind not in self._unshareable and can_be_record(kind) and is_of_converted_code(kind)

    def _share(self, classes: Mapping[type, Names]) -> None:
        wider = {kind: None if names is None or self.classes.get(kind, names) is None
                 else names | (self.classes.get(kind) or names) for kind, names in classes.items()}
        self.classes = {**self.classes, **wider}

    def _part(self, classes: frozenset[type]) -> None:
        self._unshareable |= classes
        self.classes = {kind: names for kind, names in self.classes.items() if kind not in classes}

    def computed(
        self, run: Callable[[tuple[Any, ...], dict[str, Any], Twins | None], Any], args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of `run` for the arguments, with the objects and numbers that share traces abstracted; with fewer
        of these, if tracing fails otherwise."""
        if not self._are_in(args, kwargs):
            try:
                return run(args, kwargs, None)
            except NeedsNumbers:
                self.need_all()
        before, around = (self.is_exact, self._exact, self._unshareable, self.classes), self.is_trying
        tried: set[frozenset[Place]] = set()
        places: set[Place] = set()  # of the numbers that have been inputs
        self._trying.now = True
        try:
            while True:
                twins = Twins(self)
                try:
                    self._trying.made = 0
                    with decomposing(self.classes):
                        result = run(args, kwargs, twins)
                    self._note_use(twins)
                    return result
                except _NeedsClasses as needed:
                    self._share(needed.classes)
                except _Unshared as unshared:
                    self._part(unshared.classes)
                except NeedsNumbers:
                    self.need_all()
                except Exception as error:
                    if not (raised.in_trace(error) or (twins.places and raised.is_of_numbers(error))):
                        raise
                    places |= twins.places
                    attempts = _attempts(places if twins.places else (), at_once=isinstance(error, TrialTooLarge))
                    if (exact := next((each for each in attempts if each not in tried), None)) is not None:
                        tried.add(exact)
                        self._exact = before[1] | exact
                    elif not self._share_less(twins):
                        # the error is not due to the sharing of traces
                        self.is_exact, self._exact, self._unshareable, self.classes = before
                        raise
        finally:
            self._trying.now = around

    def _note_use(self, twins: Twins) -> None:
        """Note whether a call with numbers as inputs has used an existing trace. If several in a row have not, since
        something else differs from call to call, such as the lengths of nested lists, and their traces are large, the
        numbers in these arguments are constants again."""
        places = {_argument(place) for place in twins.places if place[0] is Arguments}
        self._unshared = [*self._unshared, self._trying.made] if places and self._trying.made else []
        if len(self._unshared) >= _FEW and sum(self._unshared) > _MOST_UNSHARED:
            self._unshared, self._exact = [], self._exact | places

    def _share_less(self, twins: Twins) -> bool:
        """Make numbers, or else objects, constants of their traces, if any are abstracted; returns whether there were
        any."""
        if twins.places and not self.is_exact:
            self.is_exact = True
        elif twins.plain:
            self._part(frozenset(twins.plain))
        else:
            return False
        return True

    @property
    def is_trying(self) -> bool:
        """Whether this thread is in a call that can be traced in another way if this one fails."""
        return getattr(self._trying, "now", False)

    def check(self, reading: Reading, restore: Callable[[], None]) -> None:
        """After a trace, check that the decomposed objects include all attributes that it may have read."""
        if not self.is_trying:
            return
        found = {kind: (known, _names_of(kind, reading)) for kind, known in self.classes.items()}
        more = {kind: names for kind, (known, names) in found.items()
                if known is not None and (names is None or not names <= known)}
        if reading.names & _BY_IDENTITY:
            restore()
            raise _Unshared(frozenset(self.classes))
        if more:
            restore()
            raise _NeedsClasses(more)


def _names_of(kind: type, reading: Reading) -> Names:
    """The attributes of objects of a plain class that code may read; None for all, if it may create such objects."""
    return None if kind in reading.classes or reading.names & _DYNAMIC else reading.names


def _argument(place: Place) -> Place:
    """The argument that a place is a part of; for a place in an object the place itself."""
    kind, path = place
    return (kind, path[:path.index("]") + 1]) if kind is Arguments else place


def _attempts(places: Collection[Place], at_once: bool) -> Iterator[frozenset[Place]]:
    """After a trace failed: sets of numbers, or of arguments that contain them, to turn from inputs into constants, to
    be tried in turn. `at_once`: all of them, since the trace was too large."""
    numbers = sorted((place for place in places if place[0] is Arguments), key=itemgetter(1))
    alone = [place for place in numbers if not place[1].endswith(_LIST)]
    if len(alone) <= _MOST_TRIED and not at_once:
        yield from (frozenset([place]) for place in alone)
    if len(alone) > 1 and not at_once:
        yield frozenset(map(_argument, alone))
    if numbers and (at_once or len(alone) < len(numbers)):
        yield frozenset(map(_argument, numbers))


class Twins:
    """The arguments of one call, with replacements for all containers if numbers among them are inputs.

    places       the places of these numbers
    plain        the plain classes of objects that share traces
    may_share    whether there are numbers that become inputs if they differ in another call
    may_need     whether there may be numbers that are no inputs, and could be
    """

    def __init__(self, shared: SharedObjects, classes: Mapping[type, Names] | None = None) -> None:
        self._shared, self._classes = shared, shared.classes if classes is None else classes
        self.places: set[Place] = set()
        self.plain: set[type] = set()
        self.may_share, self.may_need = False, Arguments not in self._classes
        self._numbers: dict[int, ArgumentNumbers] = {}  # by the id of a list, or list of lists
        self._met: set[int] = set()
        self._parts = {True: 0, False: 0}  # counts of parts: of arguments themselves, and of objects
        self._made: dict[int, Any] = {}  # by the id of a container, its replacement
        self._originals: dict[int, Any] = {}  # by the id of a replacement, the original

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The call with these arguments in canonical order, with replacements if necessary."""
        if not self.have_inputs(args, kwargs):
            return Call(args, kwargs)
        placed = tuple([self._twin(x, self._at(i)) for i, x in enumerate(args)])
        named = {name: self._twin(kwargs[name], self._at(name)) for name in sorted(kwargs)}
        call = Call(placed, {name: named[name] for name in kwargs})
        call.containers, call.twins = [*map(self.original, call.containers)], self
        return call

    def have_inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether numbers among the arguments are inputs."""
        for i, x in enumerate(args):
            self._look(x, self._at(i))
        for name in sorted(kwargs):
            self._look(kwargs[name], self._at(name))
        return bool(self.places)

    def _at(self, argument: int | str) -> Place | None:
        return (Arguments, f"[{argument}]") if Arguments in self._classes else None

    def within(self, contents: dict[str, Any]) -> dict[str, Any]:
        """The contents of attributes and variables, with the same replacements for containers that are also
        arguments."""
        return {path: self._twin(content, None) for path, content in contents.items()}

    def original(self, x: Any) -> Any:
        """The object passed by the caller for `x` in the call."""
        return self._originals.get(id(x), x)

    def _look(self, x: Any, at: Place | None) -> None:
        """Search for numbers that are inputs. `at`: the place of `x` in an object or argument that shares traces, or
        None."""
        kind = type(x)
        if kind is int or kind is float:
            if at is not None and can_be_staged(x):
                if self._shared.is_input(x, at):
                    self.places.add(at)
                self.may_need |= at not in self.places and not self._shared.is_constant(at)
                self.may_share |= self._shared.are_many(x, at)
            return
        if kind in ATOMS or is_leaf(x) or hasattr(kind, "__leaves__"):
            return
        if at is not None and kind is not set and at[0] is not Arguments:
            self._check(kind, at)
        if id(x) in self._met or self._is_column(x, at) or _is_known(x, at):
            return
        parts = [] if kind is set else children(x)
        if parts is None:
            return
        if not isinstance(x, tuple):
            self._met.add(id(x))
        if kind in self._classes and declared_fields(x) is None:
            self.plain.add(kind)
        if at is not None or kind in self._classes:
            self._count(len(parts), at)
        for label, part in parts:
            self._look(part, self._place(x, label, at))

    def _count(self, parts: int, at: Place | None) -> None:
        of_arguments = at is not None and at[0] is Arguments
        self._parts[of_arguments] += parts
        if self._parts[of_arguments] > _MOST:
            raise _Unshared(frozenset([kind for kind in self._classes if (kind is Arguments) == of_arguments]))

    def _place(self, x: Any, label: str, at: Place | None) -> Place | None:
        kind = type(x)
        if kind in self._classes:
            return kind, label
        if at is None:
            return None
        return at[0], f"{at[1]}[{len(x)}]" if holds_numbers(x) and at[0] is not Arguments else at[1] + label

    def _check(self, kind: type, at: Place) -> None:
        if issubclass(kind, Variable):
            raise _Unshared(frozenset({at[0]}))
        if kind not in self._classes and self._shared.can_share(kind):
            raise _NeedsClasses({kind: self._classes[at[0]]})

    def _is_column(self, x: Any, at: Place | None) -> bool:
        """Whether a value is a list, or list of lists, whose numbers are one input, unless they have to be
        constants."""
        found = None if at is None else column_of(x) or matrix_of(x)
        lists = [id(x), *(map(id, x) if found is not None and type(x[0]) is list else ())]
        if found is None or at is None or not self._met.isdisjoint(lists):
            return False
        self._met.update(lists)
        place = at[0], at[1] + _LIST
        if self._shared.is_input(found, place):
            self.places.add(place)
            self._numbers[id(x)] = found
        self.may_need |= place not in self.places and not self._shared.is_constant(place)
        return True

    def _twin(self, x: Any, at: Place | None) -> Any:
        """The replacement of `x`."""
        kind = type(x)
        if kind is int or kind is float:
            return ArgumentNumber.of(x) if at in self.places and can_be_staged(x) else x
        if kind in ATOMS or is_leaf(x) or hasattr(kind, "__leaves__"):
            return x
        if id(x) in self._made:
            return self._made[id(x)]
        if (numbers := self._numbers.get(id(x))) is not None:
            if type(x[0]) is not list:
                return self._placed(x, [numbers])
            return self._placed(x, [self._placed(row, [ArgumentRow(numbers, k)]) for k, row in enumerate(x)])
        parts = None if _is_known(x, at) else children(x)
        if parts is None:
            return x if isinstance(x, tuple) else self._placed(x, x)
        new = shell(x)
        if new is not None:
            self._placed(x, new)
        others = [self._twin(part, self._place(x, label, at)) for label, part in parts]
        if new is None:
            return self._placed(x, rebuild(x, others))
        fill_shell(new, x, others)
        return new

    def _placed(self, x: Any, other: Any) -> Any:
        """Record `other` as the replacement of `x`."""
        self._originals[id(other)] = x
        if not isinstance(x, tuple):
            self._made[id(x)] = other
        return other


def _is_known(x: Any, at: Place | None) -> bool:
    """Whether a value is a list or tuple of numbers that are constants of a trace."""
    return holds_numbers(x) and (at is None or len(x) > _MOST_NUMBERS)


def _reference(x: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(x)
    except TypeError:
        return lambda: None

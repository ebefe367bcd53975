"""The seam between converted code and an array framework.

A framework plugs in by type: `register(cls, backend)`. An `ag__` operator looks for the `Backend` of a value; a value
that has none is plain Python.

The operators read the state of a converted statement from closure cells and hand the backend pure functions
from state to state: `fn(*values) -> values`. Such a function may be called any number of times; each call
leaves the user's cells as it found them.
"""
from __future__ import annotations

import builtins
import operator
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, NamedTuple, Protocol

from autograph.core.errors import format_error
from autograph.core.trace_cleanup import of_trace

__all__ = [
    "HEAP_TYPE", "UNBOUND", "Backend", "Body", "Handler", "ListItems", "ambient", "announced", "answered",
    "backend_for", "backend_of", "deciding", "has_staged_items", "is_unchangeable", "keyed", "plain", "register",
    "register_keyed",     "replacing",
    "staging_backend",
]

HEAP_TYPE: Final = 1 << 9
"""The flag of classes that are objects on the heap: those of Python code, and, with the next, some written in C."""
_IMMUTABLE_TYPE: Final = 1 << 8
"""The flag of classes whose attributes cannot be assigned."""


def is_unchangeable(cls: type) -> bool:
    """Whether a class is written in C, such that Python code cannot assign to its attributes."""
    return not cls.__flags__ & HEAP_TYPE or bool(cls.__flags__ & _IMMUTABLE_TYPE)


class _Unbound:
    """The value of a state variable that is not bound (an empty cell, a missing attribute or item)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()

Values = tuple[Any, ...]


class Body(Protocol):
    """A test or body of a converted statement as a pure function of the state.

    A body returns the new values of the state, in the order of `names`; a test returns its predicate.
    The body of a `for` takes the item before the state.
    """

    filename: str
    lineno: int

    def __call__(self, *values: Any) -> Any: ...


class Handler(NamedTuple):
    """What handles errors of a staged `try`: an `except` clause, or what `finally` or `__exit__` does before the error
    is raised again."""

    kinds: tuple[type[BaseException], ...]
    """The classes that it catches; none if it catches nothing."""
    body: Body
    """Gives the state after it. Called while the error is being handled, so that a bare `raise` finds it."""
    named: bool
    """Whether the body takes the error, before the state."""


class Backend(Protocol):
    """What an array framework gives to run converted control flow as a graph.

    A class that derives from this one has to answer four questions, which come first: whether a value is to be staged,
    and what a branch and the two loops become. What it does not answer besides means that its values are not of use
    there (a TypeError that says so), or that Python's own answer holds. `examples/own_backend.py` is a whole one.

    State values are whatever the user's variables hold: tensors, Python values, containers of these, or
    `UNBOUND`. Each control-flow method returns the final values of the state, in the order of `names`.
    """

    def stages(self, value: Any) -> bool:
        """Whether control flow on `value` becomes graph (else Python runs it, by `bool` and `iter`)."""
        raise NotImplementedError

    def cond(self, pred: Any, true_fn: Body, false_fn: Body, init: Values, names: tuple[str, ...]) -> Values:
        """The state after `if pred: true_fn else: false_fn`."""
        raise NotImplementedError

    def while_loop(
        self, test_fn: Body, body_fn: Body, init: Values, names: tuple[str, ...], options: Mapping[str, Any]
    ) -> Values:
        """The state after `while test_fn: body_fn`. `options` are those of `set_loop_options`."""
        raise NotImplementedError

    def reduce(
        self, iterable: Any, body_fn: Body, test_fn: Body | None, init: Values, names: tuple[str, ...],
        options: Mapping[str, Any],
    ) -> Values:
        """The state after `for item in iterable: body_fn`, left when `test_fn` does not hold after an iteration."""
        raise NotImplementedError

    # Other control flow.

    def if_exp(self, pred: Any, then: Body, orelse: Body, init: Values, names: tuple[str, ...]) -> Values:
        """The value of the operand that is chosen, and the state after it. An operand is a body that gives both;
        the state is what the operands turn out to change: most often nothing."""
        return self.cond(pred, then, orelse, init, ("value", *names))

    def and_(self, left: Any, right: Body, init: Values, names: tuple[str, ...]) -> Values:
        """As `if_exp`."""
        return self.cond(left, right, _Operand(left), init, ("value", *names))

    def or_(self, left: Any, right: Body, init: Values, names: tuple[str, ...]) -> Values:
        """As `if_exp`."""
        return self.cond(left, _Operand(left), right, init, ("value", *names))

    def not_(self, value: Any) -> Any:
        return self.cond(value, _Operand(False), _Operand(True), (), ("value",))[0]

    def assert_(self, test: Any, message: Callable[[], Any] | None) -> None:
        raise self.no_meaning("an assertion on this value is not staged", "Assert what Python knows.")

    def try_(
        self, body: Body, handlers: Sequence[Handler], init: Values, names: tuple[str, ...], read: Callable[[], Values]
    ) -> Values:
        """The state after `try: body()` with handlers. `read` gives the state at any moment while the body runs."""
        raise self.no_meaning("a `try` is not staged", "Take what stages out of it.")

    def generator(self, clause: Any) -> Any:
        """The staged form of a generator expression (a `clauses.Clause`), which has `__clause__`: a method that gives
        the clause when a loop runs over it. Either its iterable is the backend's, or the backend is tracing."""
        raise self.no_meaning("a generator expression over this value is not staged", "Write a loop.")

    def items(self, iterable: Any, what: str, remedy: str) -> Iterator[Any]:
        """The items of a staged iterable, of which there must be a known number; `what` is to be made of them."""
        raise self.no_meaning(f"the number of items of {what} is not known", remedy)

    def no_meaning(self, what: str, remedy: str) -> Exception:
        """The error for what a staged value cannot be used for."""
        return TypeError(f"{what}\n{remedy}" if remedy else what)

    # The trace. `ambient.backend` is the backend that is tracing, if any.

    def checkpoint(self) -> object:
        """A mark in the graph being traced; called only while this backend is `ambient`."""
        return None

    def rollback(self, mark: object) -> None:
        """Take back what was traced since `mark`: the test of a loop that turns out to be staged."""

    def may_raise(self, mark: object, kinds: tuple[type[BaseException], ...]) -> bool:
        """Whether what was traced since `mark`, of `checkpoint`, may raise one of `kinds` when the graph runs."""
        return False

    def stops(self, mark: Any) -> bool:
        """Whether what was traced since `mark`, of `checkpoint`, may raise StopIteration when the graph runs."""
        return False

    def refuse_errors(self, filename: str, first: int, last: int, kinds: tuple[type[BaseException], ...]) -> None:
        """An error if the graph may raise one of `kinds` for what was traced in these lines of the user's."""

    def is_staged_error(self, error: BaseException) -> bool:
        """Whether an exception stands for what only the graph raises: a handler that is traced raised it again."""
        return False

    def hides(self, error: BaseException) -> bool:
        """Whether an error is about staging itself, so that no handler of the user's is to see it."""
        return False

    def refuse_in_body(self, what: str, remedy: str) -> None:
        """An error that says so if a body is being traced."""

    def left_by(self, error: BaseException | None) -> None:
        """Told of each error that leaves a body while it is traced, and (None) of each end of a body, while the state
        is what it was there."""

    # What bodies do to objects that are no state, or that several names may have.

    def changed_unseen(self, kind: type, name: str, filename: str, lineno: int) -> Exception:
        """The error where the body in that line changes an object of type `kind`, which is no state: the body is traced
        once, however often it runs."""
        return TypeError(format_error(filename, lineno, None, f"{name!r}, of type {kind.__name__}, changes here, which"
                                      " happens once, while the body is traced", "Assign a new value to it instead."))

    def advanced_unseen(self, kind: str, name: str, filename: str, lineno: int) -> Exception:
        """The error where a body advances, in that line, an iterator of type `kind` that was made outside of it."""
        return TypeError(format_error(filename, lineno, None, f"an item is taken of {name!r}, of type {kind}, which "
                                      "happens once, while the body is traced", "Take the items before."))

    def left_iterator(self, iterator: Any, lineno: int) -> Exception:
        """The error where an item is taken of an iterator after the loop in that line, which a staged value may leave:
        only the graph knows where the iterator is."""
        return TypeError("a staged value decides how many items a loop takes of this iterator")

    def outside_iterator(self, iterator: Any, name: str) -> Exception:
        """The error where a body takes an item of an iterator, which does not tell where it is, and was made outside of
        the body."""
        return TypeError(f"an item is taken of {name!r}, which happens once, while the body is traced")

    def unroll_exceeded(self, filename: str, lineno: int) -> Exception:
        """The error for a loop over Python values that went past `unroll_budget`."""
        return RuntimeError(format_error(filename, lineno, None, f"this loop has more than {self.unroll_budget} "
                                         "iterations, each of which is staged by itself", "Loop over a staged value."))

    @property
    def unroll_budget(self) -> int:
        """Iterations that a loop over Python values may unroll after a tensor decided whether to leave it."""
        return 1000

    def leaves(self, value: Any, origin: Any) -> None:
        """Told at the end of a body of a list, dict or object `value` that it leaves: it is `origin`, which was there
        before, or a copy of it as it was at the end."""

    def may_be_others(self, value: Any) -> bool:
        """Whether a list, dict or object is, for all that is known, one that another name has, too."""
        return False

    # Containers: of Python's, with values or indices of the backend's, and values of its own.

    def replaces(self, target: Any) -> bool:
        """Whether a value does not change in place: what `setitem` gives for it is another."""
        return False

    def setitem(self, target: Any, index: Any, value: Any) -> Any:
        """What `target` becomes by `target[index] = value`."""
        target[index] = value
        return target

    def item(self, container: Any, index: Any) -> Any:
        """`container[index]` for a Python list, tuple, range or dict; the index, or a bound of the slice, is the
        backend's."""
        return container[index]

    def put_item(self, container: Any, index: Any, value: Any, around: Any) -> None:
        """`container[index] = value` for a Python list or dict; the index is the backend's. `around`: what the list is
        an item of in `around[i][index] = value`, else None."""
        container[index] = value

    def delete_item(self, container: Any, index: Any) -> None:
        """`del container[index]` for a list whose items are the backend's, or a dict."""
        del container[index]

    def container_operation(self, name: str, left: Any, right: Any) -> Any:
        """`left + right` or the like, by its name in the module operator, of which one is a list or dict: its items, or
        what it meets, may be the backend's."""
        return getattr(operator, name)(left, right)

    def list_item(self, value: Any) -> Any:
        """What stands for `value` in a list that a staged comprehension makes."""
        return value

    def contains(self, container: Any, value: Any) -> Any:
        """`value in container`, for a tuple, list, set or range; the value, an item or a bound is the backend's."""
        return value in container

    def compare(self, name: str, left: Any, right: Any) -> Any:
        """`left < right` or the like, by its name in the module operator, of what may be containers of its values."""
        return getattr(operator, name)(left, right)

    def method_of_dict(self, method: Any) -> Any:
        """What to call in place of a method, written in C, of a dict: of an argument perhaps only the graph knows the
        keys."""
        return method

    def method_of_sequence(self, method: Any) -> Any:
        """What to call in place of a method, written in C, of a list or tuple: its items may be the backend's."""
        return method

    def check_keys(self, value: Any) -> None:
        """An error if only the graph knows which keys a dict has; `value` is the dict, or a view of it."""

    # What may be None or not be there, as a staged branch may have left it.

    def is_none(self, value: Any) -> Any:
        """`value is None`, for a value that a staged branch may have set to None."""
        return value is None

    def is_same(self, value: Any, other: Any) -> Any:
        """`value is other`, of which one is the backend's, and may be None."""
        return value is other

    def is_bool(self, value: Any, wanted: bool) -> Any:
        """`value is wanted`: of a bool scalar that is staged or not, whether it is that."""
        return value is wanted

    def says(self, value: Any, test: Callable[[Any], bool]) -> Any:
        """What `test` says of a value of the backend's, which may be None."""
        return test(value)

    def matched(self, value: Any) -> Any:
        """The subject of a `match` whose patterns only Python can match: an error if it may be None."""
        return value

    def read(self, value: Any) -> Any:
        """The value of a variable that is read, to raise when the graph runs if it is not bound there."""
        return value

    def check_attribute(self, value: Any, name: str) -> None:
        """To raise when the graph runs if an attribute is not there, which staged code set on some ways only."""

    def check_attributes(self, value: Any) -> None:
        """An error if only the graph knows which attributes an object has."""

    # Python's builtins, text, and code that runs as it is.

    builtins: Mapping[Any, Callable[..., Any]] = {}
    """Replacements of Python's builtins (`len`, `range`, `print`, ...) for when an argument is this backend's; those of
    `isinstance`, `callable`, `hasattr`, `getattr`, `delattr`, `dir`, `vars`, `type` and `dict` are for any argument,
    and so are those of functions of modules in C (`math.sqrt`), which are called only while this backend traces."""

    def text(self, parts: Sequence[Any]) -> Any:
        """An f-string of these parts, some of which `formatted` gave."""
        return "".join(parts)

    def formatted(self, value: Any, spec: Any) -> Any:
        """What an f-string has of a value with this spec."""
        return format(value, spec)

    def percent(self, text: str, values: Any) -> Any:
        """`text % values`."""
        return text % values

    def looks(self, fn: Any) -> bool:
        """Whether `given` is to be asked for `fn`, which runs as it is: it is written in C, or of a library."""
        return False

    def given(self, fn: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[..., Any]:
        """What to call in place of such a callee with these arguments, while this backend traces."""
        found: Callable[..., Any] = fn
        return found


class _Operand:
    """A body that gives a value, and the state as it is."""

    filename, lineno = __file__, 0

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, *state: Any) -> Any:
        return (self.value, *state)


class _Ambient(threading.local):
    """The backend that is tracing in this thread, if any: `print` without a tensor asks it too."""

    backend: Backend | None = None
    forced = False
    """Whether converted functions run their converted form though nothing traces: tests hold the operators to what
    Python does with it."""


keyed: Final[set[type]] = {
    dict, OrderedDict, defaultdict, Counter, type({}.keys()), type({}.values()), type({}.items())}
"""Types of what has the keys of a dict, of which a backend that traces may know more than Python."""
_lock = threading.Lock()


def register_keyed(*types: type) -> None:
    """Add types of a backend's that have the keys of a dict."""
    keyed.update(types)


ambient: Final = of_trace(_Ambient())

_registered: Final[dict[type, Backend]] = {}


def register(cls: type, backend: Backend) -> None:
    """Make `backend` handle control flow on values of the type `cls` and of its subclasses."""
    _registered[cls] = backend
    plain.discard(cls)
    with _lock:
        if backend not in announced:
            announced.append(backend)
            answered.update(fn for fn in getattr(backend, "builtins", ()) if type(fn) is BuiltinFunctionType
                            and fn.__self__ is not builtins)


plain: Final[set[type]] = {
    bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, enumerate, zip, map,
    filter, reversed, type(None), type, type(iter([])), type(iter("")), type({}.keys()), type({}.values()),
    type({}.items()),
}
"""Types of Python's own that have no backend: to look here is quicker than to ask them."""


announced: Final[list[Backend]] = []
"""The backends that there are, which calls of functions in C and of libraries ask (`looks`, `builtins`)."""
answered: Final[set[BuiltinFunctionType]] = set()
"""Functions of modules in C that a backend answers for while it traces."""


class ListItems:
    """Base of what a backend puts into a list, alone, in the place of all items: only the graph knows these, or how
    many there are. The list stays the object that it is, for all that refers to it. Instances do not change."""

    __slots__ = ()

    def view(self, owner: list[Any]) -> Any:
        """What does with the list that has this what Python's own methods and operators do with a list."""
        raise NotImplementedError


def has_staged_items(value: Any) -> bool:
    """Whether the items of a list are a backend's. (Not by `len` and `isinstance`: users may put others in the place of
    the first, and the second asks objects for their class.)"""
    return type(value) is list and value.__len__() == 1 and ListItems in type(value[0]).__mro__


def backend_of(value: Any) -> Backend | None:
    """The backend that handles `value`, or None for a plain Python value."""
    cls = type(value)
    if cls in plain:
        return backend_for(type(value[0])) if cls is list and has_staged_items(value) else None
    return backend_for(cls)


def backend_for(cls: type) -> Backend | None:
    """The backend that handles values of a type, or None."""
    for base in cls.__mro__:
        found = _registered.get(base)
        if found is not None:
            return found
    return None


def replacing(value: Any) -> Backend | None:
    """The backend of a value that does not change in place, such as a tensor; None for any other."""
    found = backend_of(value)
    return found if found is not None and found.replaces(value) else None


def staging_backend(value: Any) -> Backend | None:
    """The backend that stages control flow on `value`, or None if Python runs it."""
    found = backend_of(value)
    return found if found is not None and found.stages(value) else None


def deciding(value: Any) -> Backend | None:
    """`staging_backend`, where the truth of a value or its items are asked for: an error for a dict of whose keys only
    the backend knows that is tracing whether they are there."""
    if type(value) in keyed and ambient.backend is not None:
        ambient.backend.check_keys(value)
    return staging_backend(value)

"""The interface between converted code and an array framework: what a framework implements, and how values find it.

`register(cls, backend)` plugs a framework in. An `ag__` operator of converted code looks up the `Backend` of a value by
its type, or uses the one that traces in this thread (`ambient.backend`); without either, the value is plain Python.

- A subclass of `Backend` has to implement the first four methods; the others default to Python's behaviour.
- The operators read the state of a converted statement from closure cells, and pass pure functions from state to state
  (`Body`). These may be called any number of times; each call leaves the user's cells as it found them.
- Values may have the methods of the protocols `MutableValue`, `Substitute`, `Choice`, `Tested`, `Wrapper`, `View`,
  `GeneratorExpression`, `ItemPassing` and `Derived`; nothing else is required of a value.
- A backend that traces sets `ambient.backend`, and resets it when its trace ends.
"""
from __future__ import annotations

import builtins
import operator
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import BuiltinFunctionType, CodeType
from typing import Any, Final, Literal, NamedTuple, Protocol

from autograph.core.errors import format_error
from autograph.core.late_binding import deferred
from autograph.core.lists import DICTS
from autograph.core.staged_items import has_staged_items
from autograph.core.trace_cleanup import of_trace

__all__ = [
    "HEAP_TYPE", "UNBOUND", "Backend", "Body", "GeneratorExpression", "Handler", "MutableValue",
    "Part", "RaisedBy", "Refused", "RolledLoop", "Substitute", "UnrolledLoop", "Wrapper", "ambient", "answered",
    "backend_for", "backend_of", "deciding", "has_backend", "indexed", "is_unchangeable", "keep_keys", "keyed", "plain",
    "register", "register_indexed", "register_keyed", "replacing", "staging_backend"]

HEAP_TYPE: Final = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE`: set for classes of Python code and for some C types, which also set the next flag."""
_IMMUTABLE_TYPE: Final = 1 << 8
"""`Py_TPFLAGS_IMMUTABLETYPE`: classes whose attributes cannot be assigned."""


def is_unchangeable(cls: type) -> bool:
    """Whether a class is written in C, so that Python code cannot assign its attributes."""
    return not cls.__flags__ & HEAP_TYPE or bool(cls.__flags__ & _IMMUTABLE_TYPE)


class _Unbound:
    """The value of an unbound state variable (an empty cell, a missing attribute or item)."""

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
    """A handler of a staged `try`: an `except` clause, or the part of `finally` or `__exit__` that runs before the
    error is re-raised."""

    kinds: tuple[type[BaseException], ...]
    """The exception classes that it catches; empty if none."""
    body: Body
    """Gives the state after the handler. It is called while the error is being handled, so a bare `raise` finds it."""
    named: bool
    """Whether the body takes the error as its first argument, before the state."""


class MutableValue(Protocol):
    """A mutable value, such as a list: if staged code changes it, the whole value is state."""

    def __leaves__(self) -> Sequence[Any]:
        """The tensors, or other values of the backend's, that it contains."""

    def __rebuild__(self, leaves: Sequence[Any]) -> Any:
        """Another value of this kind with these leaves."""

    def __become__(self, leaves: Sequence[Any]) -> None:
        """Replace its leaves by these."""


class Substitute(Protocol):
    """A placeholder for a Python object that is known only when the graph runs. Its attributes and items are not the
    user's, and so not state."""

    __stands_for__: type
    """The class of the object."""


class Choice(Protocol):
    """A placeholder for one of several Python objects; which one is known only when the graph runs."""

    def __alternatives__(self) -> Sequence[Any]:
        """The objects."""


class Tested(Protocol):
    """A value whose truth only the graph knows."""

    def __truth__(self) -> Any:
        """The predicate, which the backend stages."""


class Wrapper(Protocol):
    """A value that contains another one, which may be None or unbound."""

    def __wraps__(self) -> Any:
        """The contained value."""


class View(Protocol):
    """A value that aliases a part of a mutable value, such as a row of an array: writes to the view change that
    value."""

    def __viewed__(self) -> Any:
        """The mutable value, or another view of it."""


class OwningView(View, Protocol):
    """A view that may be all that leads to some of the mutable values."""

    def __owned__(self) -> Sequence[Any]:
        """Those that were made with the view for the body being traced: the backend has them as part of the view."""


class GeneratorExpression(Protocol):
    """The result of `Backend.generator`."""

    def __clause__(self, whole: bool) -> Any:
        """The clause that it was made from: a loop over the generator is staged as loops over the clause. `whole`:
        whether the loop consumes all items."""


class ItemPassing(Protocol):
    """An iterable that passes its items to a loop body: the call of a generator function whose control flow is
    staged."""

    passes_items: bool
    """True. For a value whose items may be such iterables: whether it passes its items."""

    def __pass_items__(self, body: Callable[[Any], object], test: Callable[[], Any] | None) -> None:
        """Call `body` with each item, while `test`, if there is one, is true after it."""


class Iterated(Protocol):
    """A value that stands for an object whose iterator a loop takes."""

    def __iterated__(self) -> Any:
        """The iterator, or another iterable."""


class Derived(Protocol):
    """An iterator of the backend's that takes its items from another iterator."""

    def __takes_from__(self) -> Any:
        """The other iterator."""


class RolledLoop(Protocol):
    """A Python-level loop that may be rolled: staged as one loop of the graph."""

    items: Any
    """What the staged `for` runs over; None for a `while`."""
    ops: int
    """How many ops unrolling the loop would trace, estimated by `is_worth`; 0 before that."""
    expected: int
    """The same, estimated by an earlier attempt to roll the loop; 0 if there was none."""
    changed: Mapping[str, Any]
    """By the names of the state: what the iterations that ran in Python before the attempt have assigned."""

    def has_traced(self) -> bool:
        """Whether the loop has added anything to the graph since it began."""

    def is_worth(self, done: int, code: CodeType, lengthened: Mapping[str, Sequence[Any]] = {}) -> bool | None:
        """Whether to stage the loop, whose body has this code, after `done` iterations in Python, which may have
        `lengthened` these lists, given with their items before; None: ask again after the next one."""

    def undo(self) -> None:
        """Undo what the loop has traced since it began."""

    def attempt(self, stage: Callable[[], None], code: CodeType) -> Exception | None:
        """Call `stage`, which stages the loop whose body has this code; returns the error if it fails: then it can be
        undone, and the loop runs in Python. No handler of the user's may catch an error that is due to the attempt.
        """

    def leaks(self, stores: Sequence[tuple[Any, Any, Any]]) -> bool:
        """Whether an object outlives the trace, while a value that the staged loop has stored in it does not: in Python
        the loop runs once, while it is traced, and leaves a Python value there. `stores`: of each the object (as
        `Reached`), the key and the value."""


class Checkpoint:
    """A point of the trace."""

    def rollback(self) -> None:
        """Undo what was traced since, as for the test of a loop that turns out to be staged."""

    def may_raise(self, kinds: tuple[type[BaseException], ...], declared: bool = False) -> bool:
        """Whether what was traced since may raise one of `kinds` when the graph runs; with `declared`, whether it
        declares such an error, in contrast to code that may raise anything."""
        return False

    def has_effects(self) -> bool:
        """Whether what was traced since prints, draws, assigns or may raise when the graph runs."""
        return False

    def assigned(self) -> None:
        """Called when the statement that began here has assigned its final state to variables and objects."""


class UnrolledLoop:
    """A Python-level loop whose iterations are traced one by one. It is called after each iteration."""

    @property
    def budget(self) -> int:
        """How many iterations it may have once a staged value decides whether it exits early."""
        return 1000

    def __call__(self) -> object:
        return None


Refused = Literal["changed", "advanced", "outside", "left", "early", "unrolled"]
"""Why code cannot be traced:

- `changed`: a body changes an object that is not state; the change would happen only once, during tracing;
- `advanced`: a body advances an iterator that was made outside of it;
- `outside`: a body takes an item of an iterator from outside whose position cannot be read;
- `left`: an item of an iterator is taken after a loop over it that a staged value may have left;
- `early`: an item of a loop, which a staged value may have left, changes something when it is taken;
- `unrolled`: a loop over Python values, which a staged value may exit early, exceeded its budget (`UnrolledLoop`).
"""
Part = Literal["value", "keys", "attribute", "attributes", "element", "subject"]
"""The part of a value that is about to be used: the value of a variable or item; the keys of a dict or of its view; one
attribute, or all of them; the element of a list that a staged comprehension makes; the subject of a `match` that stays
Python, all of whose parts a pattern may ask for."""
RaisedBy = Literal["python", "graph", "staging"]
"""The origin of an exception: the user's code; the graph (a placeholder for a run-time error, re-raised by a traced
handler); or an error about staging itself, which the user's handlers must not catch."""
_REFUSALS: Final[Mapping[Refused, tuple[str, str]]] = {
    "changed": ("{name!r}, of type {kind}, changes here, which happens once, while the body is traced",
                "Assign a new value to it instead."),
    **dict.fromkeys(("advanced", "outside"), (
        "an item is taken of {name!r}, of type {kind}, which happens once, while the body is traced",
        "Take the items before.")),
    "left": ("a staged value decides how many items a loop takes of this {kind}", "Take the items before."),
    "early": ("{name} changes when this loop takes an item that it may not need", "Compute the items in its body."),
    "unrolled": ("this loop over Python values has more iterations than the budget, each of which is staged by itself",
                 "Loop over a staged value."),
}


class Backend(Protocol):
    """What an array framework implements to run converted control flow as a graph.

    A subclass has to implement the first four methods: whether a value is staged, and what a branch and the two loops
    become. The other methods have a default: a TypeError that says that the values do not support this, or Python's own
    behaviour. `examples/own_backend.py` is a complete backend.

    State values are whatever the user's variables hold: tensors, Python values, containers of these, or `UNBOUND`. Each
    control-flow method returns the final values of the state, in the order of `names`, the user's names of them.
    """

    def stages(self, value: Any) -> bool:
        """Whether control flow on `value` is staged; if not, Python runs it, by `bool` and `iter`."""
        raise NotImplementedError

    def cond(self, pred: Any, true_fn: Body, false_fn: Body, init: Values, names: tuple[str, ...]) -> Values:
        """The state after `if pred: true_fn else: false_fn`."""
        raise NotImplementedError

    def while_loop(
        self, test_fn: Body, body_fn: Body, init: Values, names: tuple[str, ...], options: Mapping[str, Any]
    ) -> Values:
        """The state after `while test_fn: body_fn`. `options` are those of `set_loop_options`, plus `rolled`, the
        `RolledLoop`, if this is an attempt to roll a loop."""
        raise NotImplementedError

    def reduce(
        self, iterable: Any, body_fn: Body, test_fn: Body | None, init: Values, names: tuple[str, ...],
        options: Mapping[str, Any],
    ) -> Values:
        """The state after `for item in iterable: body_fn`, which ends early when `test_fn` is false after an
        iteration. It may raise FirstIteration."""
        raise NotImplementedError

    # Other control flow.

    def rolled(self, iterable: Any) -> RolledLoop | None:
        """Called where a loop over a Python iterable, or a `while` (None), begins while this backend traces: the object
        that may roll it, or None to run it in Python. For an iterator of Python's own, `iterable` is its `Source`, if
        it has one."""
        return None

    def unrolling(self, code: CodeType) -> UnrolledLoop:
        """Called where the loop whose body has this code begins to run in Python while this backend traces."""
        return UnrolledLoop()

    def if_exp(
        self, pred: Any, then: Body | None, orelse: Body | None, init: Values, names: tuple[str, ...]
    ) -> Values:
        """The value of `then if pred else orelse`, and the state after it. An operand is a body that returns both; None
        stands for `pred` itself, so `a and b` has no `orelse`, and `a or b` no `then`. The state is what the operands
        are found to change, most often nothing."""
        itself = _Operand(pred)
        return self.cond(pred, then or itself, orelse or itself, init, ("value", *names))

    def assert_(self, test: Any, message: Callable[[], Any] | None) -> None:
        """`assert test, message()`."""
        raise self.error("an assertion on this value is not staged", "Assert what Python knows.")

    def try_(
        self, body: Body, handlers: Sequence[Handler], init: Values, names: tuple[str, ...], read: Callable[[], Values]
    ) -> Values:
        """The state after `try: body()` with handlers. `read` gives the current state at any time while the body
        runs."""
        raise self.error("a `try` is not staged", "Take what stages out of it.")

    def generator(self, clause: Any) -> GeneratorExpression:
        """The staged form of a generator expression whose iterable is the backend's, or that occurs in a trace.
        `clause` (`autograph.backend.Clause`) has `iterable`, `element`, and `test` or None; the latter two take
        `clause.arguments(item)`; an element that is itself a clause is an inner `for`."""
        raise self.error("a generator expression over this value is not staged", "Write a loop.")

    def items(self, iterable: Any, what: str, remedy: str) -> Iterator[Any]:
        """The items of a staged iterable of known length; an error if the length is unknown. `what`: the object made
        of the items, for the error."""
        raise self.error(f"the number of items of {what} is not known", remedy)

    # Errors.

    def error(self, what: str, remedy: str) -> Exception:
        """The error for a use that a staged value does not support."""
        return TypeError(f"{what}\n{remedy}" if remedy else what)

    def refusal(self, why: Refused, subject: Any, name: str, filename: str, lineno: int) -> Exception:
        """The error, at a line of the user's file, for code that cannot be traced. `subject` is the object concerned,
        and `name` the user's name for it."""
        what, remedy = _REFUSALS[why]
        what = what.format(name=name, kind=type(subject).__name__)
        return TypeError(format_error(filename, lineno, None, what, remedy))

    def raised_by(self, error: BaseException) -> RaisedBy:
        """The origin of an exception that leaves traced code."""
        return "python"

    # The trace. They are called only while this backend is `ambient.backend`.

    def checkpoint(self) -> Checkpoint:
        """The current point of the trace."""
        return Checkpoint()

    def refuse_errors(self, filename: str, first: int, last: int, kinds: tuple[type[BaseException], ...]) -> None:
        """Raise an error if the graph operations traced from these lines of the user's file may raise one of
        `kinds`."""

    def staging_again(self, times: int, holders: Sequence[Any]) -> None:
        """Called before a statement is staged again, for the `times`-th time, since its bodies changed more than its
        state. `holders`: the objects among the changed ones to which no variable leads."""

    def body_began(self) -> None:
        """Called at the beginning of each body, when the state is that of the body. `mutable_values` is asked after
        it."""

    def body_ending(self, body: Body, names: Sequence[str], read: Callable[[], Sequence[Any]]) -> None:
        """Called before a normal end of a body. `read` gives what it returns, under the name "", and its state: the
        backend may give the containers in these another form."""

    def body_ended(self, error: BaseException | None) -> bool:
        """Called at each normal end of a body, and for each error that leaves one, while the state is still that of the
        body. Returns whether the error would be the same with more state, so that nothing is staged again."""
        return False

    def escapes(self, value: Any, origin: Any) -> None:
        """Called for each list, dict or object that a body leaves in its state: `value` is `origin`, which existed
        before the body, or a copy of it with the contents at the end."""

    def may_alias(self, value: Any) -> bool:
        """Whether a list, dict or object may be aliased by another name."""
        return False

    def iterating(self, iterable: Any) -> AbstractContextManager[Sequence[Any]]:
        """The context in which a loop over `iterable` runs or is staged. It gives the lists and dicts from which the
        items come, and whose elements the body may change."""
        return nullcontext(())

    def mutable_values(self) -> Sequence[Any]:
        """The mutable values of the backend that the traced code may change even where no variable leads to them."""
        return ()

    # Values. Operators of containers are called only while this backend traces.

    def operation(self, name: str, *operands: Any) -> Any:
        """A Python operator by its name in the module `operator`: `not_`; `is_` of a value of the backend's, also with
        None, True or False; `contains`, `getitem`, `delitem`, arithmetic and comparisons of containers, whose items,
        keys or indices may be the backend's; `mod` of text; `set_of` items, `dict_of` pairs. NotImplemented if Python
        may do it: `set_comp`, `dict_comp` of a clause, `parts` of an iterable, `positional`, `call_spread` of a call,
        `check_result(x, check, is_length)` of special methods, `check_owned(cls, name, x)` of class attributes."""
        if name == "not_":
            return self.cond(operands[0], _Operand(False), _Operand(True), (), ("value",))[0]
        if name in ("set_comp", "dict_comp", "parts", "positional", "call_spread", "check_result", "check_owned"):
            return NotImplemented
        made = {"set_of": set, "dict_of": dict}.get(name)
        return getattr(operator, name)(*operands) if made is None else made(operands[0])

    def is_immutable(self, target: Any) -> bool:
        """Whether a value is immutable. Its `setitem`, if it has items that can be set, returns a new one."""
        return False

    def changing(self, target: Any) -> Callable[[], None] | None:
        """Called before an item of a list or dict is set. If a value of the backend's contains it: a callback to run
        after the assignment."""
        return None

    def setitem(self, target: Any, index: Any, value: Any, around: Any = None) -> Any:
        """The value of `target` after `target[index] = value`: itself, or another value if it is immutable. It is the
        backend's, or a list or dict with an index of the backend's. `around`: the list that has `target` as an item, in
        `around[i][index] = value`."""
        target[index] = value
        return target

    def check(self, value: Any, part: Part, name: str = "") -> Any:
        """Called before `part` of a value is used, which a staged branch may have left unbound; returns the value.
        Makes the graph raise if the value or its attribute `name` is missing; raises an error if the set of keys or
        attributes, or whether a "subject" is None or of which class, is known only when the graph runs. For an
        "element" that a staged comprehension puts into its list, and for a "subject": what to use in its place."""
        return value

    def text(self, parts: Sequence[Any]) -> Any:
        """The f-string of these parts, some of which are results of `builtins[format]`."""
        return "".join(parts)

    # Callees.

    builtins: Mapping[Any, Callable[..., Any]] = {}
    """Replacements of builtins (`len`, `range`, `print`, ...), called when an argument is this backend's. Those of
    `isinstance`, `callable`, `hasattr`, `getattr`, `delattr`, `dir`, `vars`, `id`, `hash`, `type`, `dict` and `format`,
    and of C functions of modules (`math.sqrt`), are called for any argument, the C functions only while this backend
    traces."""

    def converted(self, fn: Any, form: Any) -> Any:
        """What to call in place of the function `fn`, whose converted form is `form`."""
        return form

    def callee(self, fn: Any) -> Any:
        """What to call in place of `fn`, which is not converted: it is written in C, belongs to a library, or is a
        method of a list, tuple or dict. Its arguments may be the backend's, or contain values of the backend's."""
        return fn


class _Operand:
    """A body that returns a value and leaves the state unchanged."""

    filename, lineno = __file__, 0

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, *state: Any) -> Any:
        return (self.value, *state)


class _Ambient(threading.local):
    """The backend that is tracing in this thread, if any."""

    backend: Backend | None = None
    forced = False
    """Whether converted functions run their converted form even if nothing traces. Tests set it to compare the
    operators with Python."""


keyed: Final[set[type]] = {
    dict, OrderedDict, defaultdict, Counter, type({}.keys()), type({}.values()), type({}.items())}
"""Types with the keys of a dict, of which a tracing backend may know more than Python."""
indexed: Final[set[type]] = set()
"""Types of other libraries whose `x[index]` is the tracing backend's."""
_lock = threading.Lock()


def register_indexed(*types: type) -> None:
    """Add types whose objects a backend indexes while it traces."""
    indexed.update(types)


def register_keyed(*types: type) -> None:
    """Add types of a backend that have dict keys."""
    keyed.update(types)


_OF_KEYS: Final = ("__len__", "__iter__", "__contains__", "__getitem__", "__setitem__", "__delitem__")


def keep_keys(holder: Any) -> None:
    """Called where a staged statement sets a key of `holder`: adds its type to `keyed` if it is a subclass of dict that
    inherits all of dict's item operators."""
    kind = type(holder)
    if kind not in keyed and issubclass(kind, dict) and not hasattr(kind, "__missing__") and all(
            getattr(kind, name) is getattr(dict, name) for name in _OF_KEYS):
        keyed.add(kind)


ambient: Final = of_trace(_Ambient())

_registered: Final[dict[type, Backend | deferred]] = {}
_awaited: Final[set[type]] = set()
"""Types whose backend has not been loaded."""


def register(cls: type, backend: Backend | deferred) -> None:
    """Make `backend` handle control flow on values of the type `cls` and of its subclasses. It may be a `deferred`
    module, which has the backend, of a class of its own, as `BACKEND` and registers it."""
    plain.discard(cls)
    if isinstance(backend, deferred):
        if cls not in _registered:
            _registered[cls] = backend
            _awaited.add(cls)
        return
    _registered[cls] = backend
    _awaited.discard(cls)
    for each in list(_awaited):
        if getattr(_registered[each], "__name__", None) == type(backend).__module__:
            register(each, backend)
    with _lock:
        answered.update(fn for fn in backend.builtins if type(fn) is BuiltinFunctionType
                        and fn.__self__ is not builtins)


plain: Final[set[type]] = {
    bool, int, float, complex, str, bytes, bytearray, list, deque, tuple, *DICTS, set, frozenset, range, enumerate, zip,
    map, filter, reversed, type(None), type, type(iter([])), type(iter("")), type({}.keys()), type({}.values()),
    type({}.items()),
}
"""Python's own types without a backend: a set look-up is faster than walking their MRO."""


answered: Final[set[BuiltinFunctionType]] = set()
"""C functions of modules that a backend replaces while it traces."""


def backend_of(value: Any) -> Backend | None:
    """The backend that handles `value`, or None for a plain Python value."""
    cls = type(value)
    if cls in plain:
        return backend_for(type(value[0])) if has_staged_items(value) else None
    return backend_for(cls)


def backend_for(cls: type) -> Backend | None:
    """The backend that handles values of a type, or None."""
    for base in cls.__mro__:
        found = _registered.get(base)
        if found is not None:
            backend: Backend = found.BACKEND if type(found) is deferred else found
            return backend
    return None


def has_backend(value: Any) -> bool:
    """Whether a backend handles values of this type, which may not have been loaded."""
    return not _registered.keys().isdisjoint(type(value).__mro__)


def replacing(value: Any) -> Backend | None:
    """The backend of an immutable value such as a tensor; None for all others."""
    found = backend_of(value)
    return found if found is not None and found.is_immutable(value) else None


def staging_backend(value: Any) -> Backend | None:
    """The backend that stages control flow on `value`, or None if Python runs it. A backend that has not been loaded
    has staged nothing."""
    if _awaited and not _awaited.isdisjoint(type(value).__mro__):
        return None
    found = backend_of(value)
    return found if found is not None and found.stages(value) else None


def deciding(value: Any) -> Backend | None:
    """`staging_backend`, for where the truth or the items of a value are needed: raises for a dict whose keys only the
    tracing backend knows."""
    if type(value) in keyed and ambient.backend is not None:
        ambient.backend.check(value, "keys")
    return staging_backend(value)

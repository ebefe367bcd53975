"""Recursion under a tensor condition: the function becomes a graph that calls itself.

A callee is inlined: traced into its caller's graph. Inside a branch or loop on tensors, a function that calls itself
with arguments of the same types, and the same Python values, would be traced without end. Such a call becomes a node
that calls a `Routine`, whose graph is traced from that call, and in which the same calls call the routine.

The types of its results are a fixpoint: in the first pass its recursive calls do not return, so the types are those of
the base cases; later passes assume the types found before.

Calls that differ in Python values, or change objects, are inlined at first, since Python values may end the recursion.
If there are many, the function becomes one graph for all of them (`widened_recursion.py`). So does one whose recursion
Python decides, if many calls differ in numbers alone, such as bounds, and nothing but these becomes a value of the
graph (`unrolled_recursion.py`).
"""
from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final

from autograph.backend import Heap, Place, Remake, Unwinding, cell_is_filled, of_trace
from runtime.core import pytree
from runtime.core.errors import StagingError
from runtime.core.graph import Graph
from runtime.core.object_mode import reached_by_call, want_references
from runtime.core.operations import OPERATIONS
from runtime.core.positions import staging_error, user_position
from runtime.core.routine import Routine
from runtime.core.text import Text
from runtime.core.trace import add_input, apply, capture, current_graph, tracing, watching, wrap
from runtime.core.types import ListType, Type, join_types
from runtime.numpy.array_objects import StagedArray
from runtime.ops.control import CALL, COND
from runtime.staging.aliases.body_tracing import Step, Unreachable, checkpoint, depth, rollback, trace_body
from runtime.staging.containers.cached_functions import CACHED, cached_call, wrapped_by
from runtime.staging.control import nested_calls
from runtime.staging.control.call_arguments import ARRAY, TENSOR, Argument, Arguments, in_place_of, mark, packed, strong
from runtime.staging.control.repeated_calls import RepeatedCalls
from runtime.staging.control.routine_graphs import (
    EndlessError,
    add_captures,
    are_available,
    close,
    endless,
    too_many,
)
from runtime.staging.control.unrolled_recursion import Unrolled, Widen
from runtime.staging.control.widened_recursion import Assumed, WidenedRoutine, holds, unsettled

__all__ = ["EndlessError", "endless", "is_widening", "recursive"]

_NOT_CALLED: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_PASSES: Final = 12
_MOST: Final = 300  # limit of inlined recursive calls of a function under tensor conditions: beyond it, an error
_DEEP: Final = 4  # with more nested calls than this, widening is tried: to trace all calls as one graph
_DEEP_IN_PYTHON: Final = 20  # likewise at each multiple of this, under no tensor condition, if an error may end them
_MANY: Final = 12  # likewise with more calls than this in total
_DEEPEST: Final = 12  # limit of nested inlined calls if widening has failed
_MOST_CALLEES: Final = 30


class _Activation:
    """A call that is being traced: into its caller's graph or, with a `routine`, into its own.

    structure  of the routine's result, once it is known that it `returns` (and does not always raise, `raises`)
    captured   the tensors and lists from outside that are passed to the routine
    """

    def __init__(self, fn: Any, arguments: Arguments, graph: Graph) -> None:
        self.fn, self.passed, self.key, self.graph = fn, arguments.passed, arguments.key, graph
        self.depth, self.begin = depth(), len(graph.nodes)
        self.is_inlined = False  # it changes objects, as a called graph cannot
        self.routine: Routine | None = None
        self.structure: Any = None
        self.returns = self.raises = False
        self.captured: list[Any] = []
        self.depends: frozenset[_Activation] = frozenset()  # unfinished routines that it calls
        self.heap: Heap | None = None
        self.arrays: Sequence[StagedArray] = ()

    def may_raise(self) -> bool:
        """Whether nodes traced since the call began may raise at run time."""
        return any(node.errors for node in self.graph.nodes[self.begin:])

    def may_be_called(self, here: Graph) -> bool:
        """Whether the finished routine may be called from the graph `here`: the values passed to it are available, and
        the objects that its trace has read are unchanged."""
        return are_available(self.captured, here) and not self.has_changed_objects()

    def has_changed_objects(self) -> bool:
        """Whether objects have changed since the routine was traced, other than the arrays passed to it."""
        assert self.heap is not None
        return any(all(root.value is not array for array in self.arrays) for root, _, _ in self.heap.changes())

    def call(self, arguments: Arguments) -> Any:
        """Emit a call of the routine, recursive or from outside."""
        if not (self.returns or self.raises):
            raise Unreachable
        assert self.routine is not None
        found = apply(CALL, *arguments.leaves, *self.captured, function=self.routine)
        if self.raises:
            raise Unreachable
        for array, contents in zip(arguments.arrays, found[len(found) - len(arguments.arrays):], strict=True):
            array.write(contents)
        return packed(self.structure, found, arguments.arrays)


class _CalledAfterChanges(Unwinding):
    """Raised where the routine of a call in progress would be called after objects have changed, which its trace has
    read as they were: the call is inlined instead."""

    def __init__(self, called: _Activation) -> None:
        super().__init__(called)
        self.called = called


class _Active(threading.local):
    widened: Mapping[Any, WidenedRoutine] = MappingProxyType({})
    """The functions being traced as one graph for all of their calls."""
    recursive: Mapping[tuple[CodeType, bool], bool] = MappingProxyType({})
    """Results of `_leads_to_itself`, by code and whether there are arguments."""
    may_widen: frozenset[Any] = frozenset()
    """Functions with calls in progress that may become such a graph."""
    cannot_widen: frozenset[Any] = frozenset()
    """Functions with calls in progress for which that has failed."""
    calls: tuple[_Activation, ...] = ()
    finished: tuple[_Activation, ...] = ()  # calls of this trace that became routines
    settled: tuple[tuple[Any, WidenedRoutine, Hashable, Assumed], ...] = ()
    """Functions of this trace with such graphs, the key of the arguments that cannot be inlined, or None if Python
    decides, and what the graph assumes."""
    unrolled: Mapping[Any, Unrolled] = MappingProxyType({})
    """The outermost calls in progress that are not in bodies of control flow, by the function."""
    stay_unrolled: frozenset[Any] = frozenset()
    """Functions that cannot become one graph, though Python decides their recursion."""
    inlined: tuple[Any, ...] = ()  # functions of inlined recursive calls under tensor conditions

    def __init__(self) -> None:
        self.repeated = RepeatedCalls()  # of the outermost call in progress, outside bodies of control flow


_active: Final = of_trace(_Active())


def is_widening() -> bool:
    """Whether a recursion is being traced as one graph whose types are not settled: its callees must not be cached."""
    return bool(unsettled(_active.widened.values()))


def _has_conditions(graph: Graph) -> bool:
    """Whether a condition decides in a graph how it goes on, though it goes on without end in each way."""
    return any(node.op is COND for node in graph.nodes)


def _waits_for_others(call: _Activation) -> bool:
    """Whether a routine may depend on others being traced of which no call has returned yet."""
    return any(other is not call and not (other.returns or other.raises) for other in call.depends) or any(
        routine.result is None and not routine.always_raises for routine in _active.widened.values())


def recursive(fn: Any, form: Any) -> Any:
    """The callable to use in place of the function `fn`, whose converted form is `form`."""
    if type(fn) is CACHED:
        return cached_call(fn)
    code = getattr(fn, "__code__", None)
    if code is None or code.co_flags & _NOT_CALLED or not (depth() or _is_recursive(fn)):
        return form

    def called(*args: Any, **kwargs: Any) -> Any:
        here = current_graph()
        if here is None:
            return form(*args, **kwargs)
        if fn in _active.widened:
            return _active.widened[fn].call(args, kwargs)
        outer = next((call for call in _active.calls if call.fn is fn), None)
        if outer is None and _is_recursive(fn, args):
            return _outermost(fn, form, here, args, kwargs)
        if depth():
            return _called(fn, form, here, args, kwargs)
        token = nested_calls.begin(fn)
        try:
            if outer is not None:
                _check_depth_in_python(outer, nested_calls.nested.calls)
                shared = _active.repeated.shared(fn, form, here, args, kwargs)
                if shared is not None:
                    return shared.call(args, kwargs)
                if fn in _active.unrolled and fn in _active.may_widen:
                    _active.unrolled[fn].note(outer.passed, (args, kwargs), _active.repeated.is_large)
            return form(*args, **kwargs)
        except RecursionError as error:
            if nested_calls.nested.calls == 1:
                nested_calls.explain(error)
            raise
        finally:
            nested_calls.end(token)

    return called


OPERATIONS.define(recursive=recursive)


def _called(fn: Any, form: Callable[..., Any], here: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function: by its routine, an existing or a new one, or inlined into its caller."""
    arguments = Arguments(*_generalised(fn, args, kwargs))
    outer = _active.calls
    again = _known(fn, arguments, here)
    if again is not None and again.routine is not None:
        if again in outer and again.has_changed_objects():
            _widen(again)
            raise _CalledAfterChanges(again)
        _note_call(again, outer)
        return again.call(arguments)
    args, kwargs = arguments.passed
    new = _Activation(fn, arguments, here)
    _active.calls = (*outer, new)
    try:
        if again is not None and not again.is_inlined and again.depth < new.depth:
            traced = _traced(new, arguments, form, here)
            if traced is not None:
                _active.finished = (*_active.finished, traced)
                return traced.call(arguments)
            again.is_inlined = True
        new.is_inlined = again is not None and again.is_inlined
        _check_depth(new, [call for call in outer if call.fn is fn])
        return form(*args, **kwargs)
    finally:
        _active.calls = outer


def _check_depth(new: _Activation, outer: Sequence[_Activation]) -> None:
    """Widen, or EndlessError, if too many calls of a function nested in `outer` ones have been inlined."""
    fn = new.fn
    nested = sum(call.depth < new.depth for call in outer)
    if nested:
        _active.inlined = (*_active.inlined, fn)
    count = _active.inlined.count(fn)
    if fn in _active.may_widen and (nested > _DEEP or count > _MANY):
        raise Widen(fn)
    if count > _MOST or (fn in _active.cannot_widen and nested > _DEEPEST):
        raise too_many(fn.__name__, _MOST)
    if outer:
        _check_depth_in_python(outer[0], len(outer))


def _check_depth_in_python(outer: _Activation, count: int) -> None:
    """The same check for `count` calls nested in `outer` under no tensor condition, if an error that the graph raises
    may end the recursion."""
    if not count % _DEEP_IN_PYTHON and outer.may_raise():
        if outer.fn in _active.may_widen:
            raise Widen(outer.fn)
        if outer.fn in _active.cannot_widen:
            raise too_many(outer.fn.__name__, _MOST)


def _is_recursive(fn: Any, args: tuple[Any, ...] = ()) -> bool:
    """`_leads_to_itself`, cached per trace."""
    key = fn if hasattr(fn, "__methods__") else fn.__code__, bool(args)
    if key not in _active.recursive:
        _active.recursive = {**_active.recursive, key: _leads_to_itself(fn, args)}
    return _active.recursive[key]


def _leads_to_itself(fn: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function may call itself, directly or through others, judging by the names in their code. `args`: of
    the call; the first may be the object whose methods are named. `fn.__methods__`: those of which it calls one."""
    code = fn.__code__
    if code.co_name in code.co_freevars or code.co_name in _names_in(code) or any(
            fn.__name__ in _names_in(each.__code__) for each in getattr(fn, "__methods__", ())):
        return True
    found, seen = [fn], {id(fn)}
    for each in found:  # grows during iteration
        for value in _named_by(each, args):
            if type(value) is not FunctionType:  # avoids running code of the value's own
                value = wrapped_by(value) if type(value) is CACHED else inspect.getattr_static(
                    value, "python_function", None)
            callee = inspect.unwrap(value) if type(value) is FunctionType else None
            if callee is fn:
                return True
            if callee is not None and id(callee) not in seen and len(found) < _MOST_CALLEES:
                seen.add(id(callee))
                found.append(callee)
    return False


def _names_in(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in the code of a function, and of comprehensions and functions in it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_in(inner)


def _named_by(fn: Any, args: tuple[Any, ...]) -> Iterator[Any]:
    """The values of the globals, methods and closure variables that its code names."""
    for name in _names_in(fn.__code__):
        if name in fn.__globals__:
            yield fn.__globals__[name]
        if args:
            yield inspect.getattr_static(type(args[0]), name, None)
    for cell in fn.__closure__ or ():
        if cell_is_filled(cell):
            yield cell.cell_contents


def _outermost(fn: Any, form: Callable[..., Any], here: Graph, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that may call itself; first convert the objects from before the call that it wants converted."""
    heap, active = Heap(reached_by_call(fn, args, kwargs)), dict(vars(_active))
    while True:
        mark = checkpoint()
        try:
            return _inlined_or_one_graph(fn, form, here, args, kwargs)
        except Remake as wanted:
            rollback(mark)
            heap.restore()
            vars(_active).update(active)
            wanted.make(wanted.values)
            heap = Heap(reached_by_call(fn, args, kwargs))


def _inlined_or_one_graph(
    fn: Any, form: Callable[..., Any], here: Graph, args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:
    """Call a function that may call itself: inlined, or as one graph."""
    if not depth():
        _active.repeated = RepeatedCalls()
    heap, key = Heap(reached_by_call(fn, args, kwargs)), Arguments(args, kwargs).key

    def settled(as_is: bool) -> WidenedRoutine | None:
        return next((each for other, each, widened, assumed in _active.settled if other is fn and holds(
            assumed, _active.widened.values()) and each.may_be_called(
                here, heap, args, kwargs, as_is, returns_tensors=widened == key)), None)

    known = settled(True)
    if known is not None:
        return known.call(args, kwargs)
    iterators = [Place(iterator) for _, iterator in heap.reach.iterators]
    mark, inlined = checkpoint(), _active.inlined

    def undo() -> None:
        rollback(mark)
        heap.restore()
        _active.inlined = inlined

    calls: Unrolled | None = None
    may_widen, unrolled = _active.may_widen, _active.unrolled
    _active.may_widen = may_widen | {fn}
    if not depth() and fn not in _active.stay_unrolled:
        _active.unrolled = {**unrolled, fn: Unrolled(fn, heap)}
    try:
        return _called(fn, form, here, args, kwargs)
    except Widen as wanted:
        if wanted.fn is not fn:
            raise
        if any(place.has_advanced() for place in iterators):
            raise too_many(fn.__name__, _MOST) from None
        calls = wanted.unrolled
    finally:
        _active.may_widen, _active.unrolled = may_widen, unrolled
    undo()
    try:
        return _as_one_graph(fn, form, here, args, kwargs, settled(False), calls)
    except Exception as error:
        if calls is None and not isinstance(error, StagingError):
            raise
        reason = error
    undo()
    if calls is not None:
        _active.stay_unrolled = _active.stay_unrolled | {fn}
        return _inlined_or_one_graph(fn, form, here, args, kwargs)
    cannot_widen = _active.cannot_widen
    _active.cannot_widen = cannot_widen | {fn}
    try:
        return _called(fn, form, here, args, kwargs)
    except (StagingError, RecursionError):
        undo()
        raise reason from None
    finally:
        _active.cannot_widen = cannot_widen


def _as_one_graph(
    fn: Any, form: Callable[..., Any], here: Graph, args: tuple[Any, ...], kwargs: dict[str, Any],
    routine: WidenedRoutine | None, calls: Unrolled | None,
) -> Any:
    """Call a function as one graph: the `routine`, or a new one. StagingError if there is none, or none that may
    replace the `calls` that Python decides."""
    widened = _active.widened
    try:
        if routine is None:
            routine = WidenedRoutine(fn, form, here, args, kwargs)
            _active.widened = {**widened, fn: routine}
            routine.settle()
            if calls is not None:
                calls.check(routine)
            if not any(call.routine is not None for call in _active.calls):
                key = Arguments(args, kwargs).key if calls is None else None
                _active.settled = (*_active.settled, (fn, routine, key, unsettled(widened.values())))
        return routine.call(args, kwargs)
    finally:
        _active.widened = widened


def _generalised(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a recursive call under a tensor condition, with a number made a tensor where the outer call has
    a tensor: otherwise a call with a literal would be a separate recursion with its own result types."""
    outer = next((call for call in reversed(_active.calls) if call.fn is fn and call.depth < depth()), None)
    if outer is None:
        return args, kwargs
    names = fn.__code__.co_varnames[:fn.__code__.co_argcount]
    before, named = outer.passed
    known = {**dict(zip(names, before)), **named}
    return (*(in_place_of(x, known.get(name)) for name, x in zip(names, args)), *args[len(names):]), {
        name: in_place_of(x, known.get(name)) for name, x in kwargs.items()}


def _known(fn: Any, arguments: Arguments, here: Graph) -> _Activation | None:
    """A call of the function with equal arguments that is in progress, or a finished routine for it; else None."""
    again = next((call for call in reversed(_active.calls) if call.fn is fn and call.key == arguments.key
                  and call.graph.contains(here)), None)
    if again is not None and again.routine is not None:
        return again
    finished = (call for call in _active.finished if call.fn is fn and call.key == arguments.key
                and (not call.depends or _root(call.graph) is _root(here)))  # otherwise it is from another trace
    return next((call for call in finished if call.may_be_called(here)), again)


def _root(graph: Graph) -> Graph:
    while graph.parent is not None:
        graph = graph.parent
    return graph


def _note_call(called: _Activation, active: tuple[_Activation, ...]) -> None:
    """Record that calls in progress depend on the routine `called`, if that is unfinished, and on those it calls."""
    for place, call in enumerate(active):
        inner = active[place + 1:]
        if call is called or call in called.depends:
            for other in inner:
                other.depends |= {call}


def _traced(call: _Activation, arguments: Arguments, form: Callable[..., Any], here: Graph) -> _Activation | None:
    """Trace the call as a routine; None if it changes objects."""
    name = call.fn.__name__
    call.arrays = arguments.arrays
    call.heap = heap = Heap(reached_by_call(call.fn, *arguments.passed), others=False)
    final, place = False, user_position()
    types: tuple[Type, ...] = ()
    for _ in range(_PASSES):
        graph = Graph(name, here)
        call.routine = Routine(name, types, place)
        finished = _active.finished
        try:
            result, changed = _pass(call, arguments, form, graph)
        except _CalledAfterChanges as error:
            if error.called is not call:
                raise
            result, changed = None, True
        finally:
            made = _active.finished[len(finished):]  # those with dependencies rely on what this pass assumed
            _active.finished = (*finished, *(x for x in made if not x.depends))
        if changed or call.has_changed_objects():
            heap.restore()
            _widen(call)
            call.routine, call.structure, call.returns, call.raises, call.captured = None, None, False, False, []
            return None
        more = add_captures(call.captured, graph)
        if result is None:
            if not graph.errors:
                if _waits_for_others(call):
                    raise Unreachable  # so far; the others are traced again with what they then return
                if not _has_conditions(graph):
                    raise endless(name)
            if call.raises and not more:
                close(call.routine, graph, call.captured, [])
                return call
            call.raises = True
            continue
        structure, found = result
        joined = _joined(call, types, structure, found) if call.returns else tuple(x.type for x in found)
        if call.returns and joined == types and not more:
            if final or not any(_is_weak(type) for type in types):
                close(call.routine, graph, call.captured, found)
                return call
            final = True
        types = tuple(map(strong, joined)) if final else joined
        call.structure, call.returns = structure, True
    raise staging_error(f"{name!r}, which calls itself where a tensor decides, gives other types or uses other tensors"
                        f" each of {_PASSES} times that it is traced",
                        "Give its results one type and shape (rt.cast, rt.reshape), and index constants by tensors.")


def _pass(call: _Activation, arguments: Arguments, form: Callable[..., Any], graph: Graph) -> tuple[Any, bool]:
    """The result of a call traced into `graph`: its structure and tensors, or None if it never returns; and whether
    containers among the arguments were changed."""
    inputs = [add_input(graph, strong(x.type), getattr(getattr(x, "value", None), "hint", None))
              for x in arguments.leaves]
    with tracing(graph):
        args, kwargs, made, arrays = arguments.replaced(inputs)
    before = [_items(x) for x in made]
    outer = call.graph
    call.graph = graph

    def body() -> Any:
        returned = form(*args, **kwargs)
        leaves = pytree.flatten(returned)
        marks = [mark(x, arrays) for x in leaves]
        return pytree.pack_sequence_as(returned, marks), [
            *(_result(call, x) for x, each in zip(leaves, marks, strict=True) if each is TENSOR or each is ARRAY),
            *(array.__tensor__() for array in arrays)]

    try:
        with watching(None):
            result = trace_body(graph, Step(body), tuple)
    finally:
        call.graph = outer
    changed = any(len(old) != len(new) or any(a is not b for a, b in zip(old, new))
                  for old, new in zip(before, map(_items, made)))
    return result, changed


def _widen(call: _Activation) -> None:
    """Raises Widen if the call may be traced as a widened routine."""
    if call.fn in _active.may_widen:
        raise Widen(call.fn)


def _items(container: Any) -> list[Any]:
    return list(container.values() if isinstance(container, dict) else container)


def _result(call: _Activation, x: Any) -> Any:
    """A result as a tensor or graph list; Python numbers stay weak, to adapt to other results."""
    graph = current_graph()
    assert graph is not None
    if isinstance(x, Text):
        _widen(call)
        raise staging_error(
            f"{call.fn.__name__!r}, which calls itself where a tensor decides, but not by its name, returns text with "
            "the value of a tensor in it", "Let it call itself by its name, or return numbers.")
    try:
        return wrap(capture(graph, x))
    except StagingError:
        _widen(call)
        raise
    except Exception:
        if not want_references():
            _widen(call)
        raise staging_error(
            f"{call.fn.__name__!r}, which calls itself where a tensor decides, returns a {type(x).__name__}, which no"
            " graph computes", "Return tensors and numbers, also in tuples, lists and dicts.") from None


def _joined(call: _Activation, types: Sequence[Type], structure: Any, found: Sequence[Any]) -> tuple[Type, ...]:
    """The join of the result types of all calls so far."""
    name = call.fn.__name__
    try:
        pytree.assert_same_structure(call.structure, structure)
    except (ValueError, TypeError):
        _widen(call)
        raise _differ(name, call.structure, structure) from None
    if pytree.flatten(call.structure) != pytree.flatten(structure):
        raise _differ(name, call.structure, structure)
    joined: list[Type] = []
    for old, x in zip(types, found, strict=True):
        both = join_types(old, x.type, adapts=True)
        if both is None:
            raise staging_error(f"{name!r}, which calls itself, returns {old} on one way and {x.type} on another",
                                "Give them one dtype and rank: rt.cast, rt.reshape.")
        joined.append(both)
    return tuple(joined)


def _differ(name: str, old: Any, new: Any) -> StagingError:
    want_references()
    return staging_error(f"{name!r}, which calls itself where a tensor decides, returns {_text(old)} on one way and "
                         f"{_text(new)} on another", "Return the same structure of tensors and numbers on each way.")


def _text(structure: Any) -> str:
    if pytree.is_nested(structure):
        return f"a {type(structure).__name__} of {len(structure)}"
    if structure is ARRAY or isinstance(structure, Argument):
        return "an array"
    return "a tensor" if structure is TENSOR else repr(structure)


def _is_weak(type: Type) -> bool:
    return (type.element if isinstance(type, ListType) else type).weak

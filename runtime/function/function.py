"""`@function`: calls run a graph, which is traced once for each kind of arguments.

A call finds its trace by the dtypes and shapes of tensors and the values of everything else (`signature`). Dimensions
that keep changing become unknown; `explain` says why a call traced again.
"""
from __future__ import annotations

import functools
import inspect
import threading
from array import array
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from contextlib import nullcontext
from types import MethodType
from typing import Any, Final
from weakref import WeakMethod, ref

import autograph as ag
from autograph.backend import meet_all, meeting, rarely_collected, restored, until_gone
from runtime.backends.executable import Called
from runtime.core.array_mode import tracing_objects
from runtime.core.config import settings
from runtime.core.errors import InaccessibleTensorError, locate
from runtime.core.graph import COUNT, Graph, Unrolled, loops
from runtime.core.positions import return_position, user_position
from runtime.core.profiling import phase
from runtime.core.pruning import prune as prune_graph
from runtime.core.read_only_arrays import unwritable
from runtime.core.recording import recorders
from runtime.core.relaxed_shapes import NeedsKnownShapes, relaxed
from runtime.core.tensor import EagerTensor
from runtime.core.tensor_writes import check_results, tracing_writes
from runtime.core.trace import _state as _tracing_state
from runtime.core.trace import add_input, current_graph, open_traces, set_outputs, tracing
from runtime.core.traceback_replay import show_users
from runtime.core.types import Type, join_types
from runtime.function.arguments.retracing import CacheInfo, History, Pending, is_traced_here
from runtime.function.arguments.signature import ATTRIBUTES, Call, Signature, weakly
from runtime.function.assumed_ranks import runs_again, with_ranks_found
from runtime.function.concrete import ConcreteFunction
from runtime.function.forms import Forms
from runtime.function.inspection import Inspected
from runtime.function.known_calls import inputs_among, with_call
from runtime.function.method import Method
from runtime.function.results.adopted_objects import calling
from runtime.function.results.object_results import has_objects
from runtime.function.results.pack import Pack
from runtime.function.results.results import plan
from runtime.function.shared_objects import SharedObjects, Twins
from runtime.function.state.array_arguments import ArrayArguments
from runtime.function.state.attribute_state import AttributeStates, NeedsAttributes
from runtime.function.state.constant_guards import holds, large_in
from runtime.function.state.escaped_tensors import belongs, closes_over_graph_value
from runtime.function.state.prior_state import PriorState
from runtime.function.state.visible_places import Constant, Reading
from runtime.function.unranked import unranked
from runtime.function.until_error import applying, can_run_again, leaving, raised, until_error, without_output
from runtime.function.variables.variable import Creation, LateVariableError
from runtime.numpy.array_objects import StagedArray
from runtime.staging.aliases.body_tracing import in_body, trace_function
from runtime.staging.backend import BACKEND
from runtime.staging.control.recursion import EndlessError, endless, is_widening, recursive
from runtime.staging.values.trials import leaking, trying_numbers

__all__ = ["Function"]

_MAX_ALIASES: Final = 4096  # maximal number of keys for the traces of one function
_MAX_KINDS: Final = 256  # where not all arguments are tensors: new strings could make a key for each call


class Function(Called, Inspected):
    """A Python function whose calls run as graphs; made by `rt.function` (`tf.function`).

    As a method it has a separate cache for each instance, and does not keep the instance alive. Several threads may
    call it at the same time; each trace is made by one of them.
    """

    shares = True
    """Whether objects of a class may come to share traces."""

    def __init__(
        self, python_function: Callable[..., Any], *, input_signature: Sequence[Any] | None = None,
        autograph: bool = True, reduce_retracing: bool = False, executor: str | None = None, name: str | None = None,
        max_traces: int = 64, fast_math: bool = False, instance: ref[Any] | None = None,
        owner: Function | None = None,
    ) -> None:
        if max_traces < 1:
            raise ValueError(f"max_traces must be at least 1, not {max_traces}")
        if input_signature is not None and not isinstance(input_signature, Sequence):
            raise TypeError(f"an input_signature is a list of rt.TensorSpec objects, not {input_signature!r}")
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self.autograph = autograph
        self.reduce_retracing = reduce_retracing
        self.executor = executor
        self.fast_math = fast_math
        self.max_traces = max_traces
        self.name: str = name or getattr(python_function, "__name__", None) or type(python_function).__name__
        functools.update_wrapper(self, python_function)
        self._instance, self._owner = instance, owner  # for a method: the object, and the shared function
        self._objects = SharedObjects()
        self._shares = self.shares and autograph and input_signature is None
        self._until_error: UntilError | None = None
        self._methods: dict[int, tuple[ref[Any], Function]] = {}
        self._lock = threading.RLock()
        self._fast: dict[tuple[Any, ...], ConcreteFunction] = {}  # by dtype and shape of eager tensors
        self._exact: dict[Hashable, ConcreteFunction] = {}  # by structure and shapes
        self._groups: dict[Hashable, list[ConcreteFunction]] = {}  # by structure
        self._watched: dict[ConcreteFunction, list[Any]] = {}  # weak references to objects in its keys
        self._dead: deque[Any] = deque()  # the weak references whose objects have been freed
        self._pending: dict[Hashable, Pending] = {}
        self._fixed: set[Hashable] = set()  # structures that cannot be traced with unknown dimensions
        self._identified: dict[Hashable, Collection[int]] = {}  # by structure, indices of variables known by identity
        self._history = History(self.name)
        self._clock = array("q", [0])  # number of calls: native code counts here, too
        self._count = 0
        self._front = ()
        self._forms = Forms()
        self._attributes = AttributeStates()
        self._unrolled: list[Unrolled] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and (not open_traces or _runs_here()) and not settings.run_eagerly:
                clock = self._clock
                if len(args) == 1 and type(args[0]) is EagerTensor:  # a copy of the code below, for one tensor
                    array = args[0]._array
                    found = self._fast.get((array.dtype, array.shape))
                    if found is not None and (found.guards is None or found.guards.hold()):
                        clock[0] = found.used[0] = clock[0] + 1
                        return found.run_arrays(array)
                    return self._call(args, kwargs)
                key: list[Any] = []
                arrays = []
                for x in args:
                    if type(x) is not EagerTensor:
                        break
                    array = x._array
                    arrays.append(array)
                    key += array.dtype, array.shape
                else:
                    found = self._fast.get(tuple(key))
                    if found is not None and (found.guards is None or found.guards.hold()):
                        clock[0] = found.used[0] = clock[0] + 1
                        return found.run_arrays(*arrays)
            return self._call(args, kwargs)
        except BaseException as error:
            show_users(error)
            raise

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if settings.run_eagerly:
            return self._bound(self.python_function)(*args, **kwargs)
        graph = current_graph()
        if graph is not None and (closes_over_graph_value(self.python_function) or (self.autograph and is_widening())):
            return self._inlined(args, kwargs)
        if graph is None and (owner := self._sharing) is not None and self._instance is not None:
            return owner._call((self._instance(), *args), kwargs)
        self._clock[0] += 1
        try:
            if graph is None and self._shares:
                return self._objects.computed(self._run, args, kwargs)
            return self._run(args, kwargs)
        except BaseException as error:
            if graph is None:
                self._leave(error, args, kwargs)
            raise
        finally:
            if graph is None:
                raised.forget()

    def _leave(self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Apply the changes that the call would have made before the error."""
        if raised.may_have_changes(error) and self.autograph:
            if self._until_error is None:
                self._until_error = UntilError(until_error(), executor=self.executor, name=self.name)
            concrete, kinds = raised.concrete, raised.kinds_until(error)
            with applying(concrete):
                changes = self._until_error(kinds, self._bound(self.python_function), *args, **kwargs)
                if concrete is not None:
                    concrete.can_change = changes

    @property
    def _sharing(self) -> Function | None:
        """For a method of an object without traces: the function shared by all objects, if its class shares traces."""
        if self._owner is None or self._count or self._instance is None:
            return None
        return self._owner if type(self._instance()) in self._owner._objects.classes else None

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], twins: Twins | None = None) -> Any:
        call = self._arguments(args, kwargs, twins=twins)
        call.finds_numbers = self._shares and not self._objects.has_all and current_graph() is None and (
            twins is None or twins.may_need)
        run = functools.partial(with_ranks_found, self)
        inline = self._inlined if self.input_signature is None or not call.containers else None  # these are copies
        return self._attributes.computed(run, inline, raised.in_trace, call, args, kwargs)

    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call traced into its caller's graph."""
        return recursive(self.python_function, self._bound(self._converted))(*args, **kwargs)

    def _computed(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        graph = current_graph()
        concrete = self._concrete_for(call, graph)
        if concrete is None:
            is_as_passed = self.input_signature is None or bool(call.containers)
            return self._inlined(args, kwargs) if is_as_passed else self._inlined(call.args, call.kwargs)
        concrete.used[0] = self._clock[0]
        if graph is None and not recorders:
            concrete.compile()
        try:
            result = concrete.apply(call.leaves, call, call.variables)
        except BaseException as error:
            if not call.overwritten:  # otherwise its changes have been made already
                raised.note(error, concrete)
            if call.undo is not None and raised.is_of_program(error) and not runs_again(call, error):
                call.undo()
            raise
        if graph is None and not (kwargs or recorders or concrete.captures_arrays or call.attributes):
            self._remember_call(args, call, concrete)
        return result

    def _concrete_for(self, call: Call, graph: Graph | None) -> ConcreteFunction | None:
        """The trace for a call; None if the call is to be traced into `graph`, that of its caller."""
        if graph is not None and (has_objects(call.containers) or (
                call.has_array_objects and self.input_signature is None) or (  # its results may be views of them
                not (call.leaves or call.variables) and is_traced_here(self._pending))):
            return None
        try:
            concrete = self._find_or_trace(call)
        except (EndlessError, InaccessibleTensorError) as exc:  # of a tensor of the caller's
            if graph is None or not (in_body() if isinstance(exc, EndlessError) else belongs(exc, graph)):
                raise
            return None
        is_by_reference = self._forms.references or self._forms.containers is not None  # in arenas of the caller
        return None if graph is not None and is_by_reference else concrete

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The trace for these arguments, where a TensorSpec may replace a tensor (`tf.function.get_concrete_function`).
        With an input_signature the arguments may be omitted."""
        try:
            if (found := unranked(self, args, kwargs)) is not None:
                return found
            with tracing(None):
                return self._find_or_trace(self._arguments(args, kwargs, specs=True))
        except BaseException as error:
            raised.forget()
            show_users(error)
            raise

    def _arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], specs: bool = False, twins: Twins | None = None
    ) -> Call:
        try:
            if specs and self.input_signature is not None and not args and not kwargs:
                return self._signature.spec_call()
            return self._signature.call(args, kwargs, Call if twins is None else twins.call)
        except Exception as exc:
            locate(exc, user_position())
            raise

    @functools.cached_property
    def _signature(self) -> Signature:
        return Signature(self._bound(self.python_function), self.name, self.input_signature)

    @functools.cached_property
    def _converted(self) -> Callable[..., Any]:
        fn = inspect.unwrap(self.python_function)
        code = getattr(fn, "__code__", None)
        if code is not None and (inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn)):
            kind = "generator function" if inspect.isgeneratorfunction(fn) else "coroutine function"
            raise ag.UnsupportedError(
                f"{self.name!r} is a {kind}, which cannot be traced: it runs piece by piece, outside of the trace",
                filename=code.co_filename, lineno=code.co_firstlineno,
                remedy="Trace the functions that it calls; or collect what it yields in a list and return that.")
        return ag.convert_traced(self.python_function) if self.autograph else self.python_function

    def _bound(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn`, with the instance as its first argument if this is a method."""
        if self._instance is None:
            return fn
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object that {self.name} is a method of is gone")
        return MethodType(fn, instance)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        entry = self._methods.get(id(instance))
        if entry is not None and entry[0]() is instance:
            return Method(entry[1], instance)
        key = id(instance)
        methods = self._methods
        try:
            reference = until_gone(instance, methods, key)
        except TypeError:
            return MethodType(self, instance)  # then the instance is an ordinary argument
        with self._lock:
            entry = methods.get(key)
            if entry is None or entry[0]() is not instance:
                made = type(self)(
                    self.python_function, input_signature=self.input_signature, autograph=self.autograph,
                    reduce_retracing=self.reduce_retracing, executor=self.executor, name=self.name,
                    max_traces=self.max_traces, fast_math=self.fast_math, instance=reference, owner=self)
                entry = methods[key] = reference, made
        return Method(entry[1], instance)

    def _find_or_trace(self, call: Call) -> ConcreteFunction:
        """The trace for a call; variables whose identity affects the trace are marked in `call`."""
        while True:
            concrete = self._found_or_traced(call)
            numbers = concrete.distinguished(call.variables)
            if not numbers:
                return concrete
            if concrete.identified:
                self._identified[call.structure] = numbers
            call.identify(numbers)

    def _found_or_traced(self, call: Call) -> ConcreteFunction:
        if call.structure in self._identified:
            call.identify(self._identified[call.structure])
        key = call.structure, call.shapes, call.arrays, call.of_numpy
        with self._lock:
            if (found := self._find(call, key)) is not None:
                return found
        me = threading.get_ident()
        mine = Pending(me)
        while True:
            try:
                try:
                    with self._lock:
                        found = self._find(call, key)
                        if found is not None:
                            return found
                        pending = self._pending.setdefault(key, mine)
                        if pending is not mine and me in pending.owners:
                            raise endless(self.name)
                    if pending is mine:
                        return self._made(call, key)
                finally:
                    self._end(key, mine)
            finally:
                self._end(key, mine)  # a signal may have interrupted the first
            if not pending.wait(me):  # the owner waits for this thread
                pending.owners.add(me)
                try:
                    return self._trace(call, call.types)
                finally:
                    pending.owners.discard(me)

    def _made(self, call: Call, key: Hashable) -> ConcreteFunction:
        before = next(COUNT)
        with phase(f"trace {self.name}"):
            try:
                concrete = rarely_collected(lambda: self._trace_as_general_as_useful(call))
            except BaseException as error:
                raised.note(error)
                raise
        with self._lock:
            if concrete.is_kept and not concrete.identified:
                self._insert(call, key, concrete)
            if self._shares:
                self._objects.note_size(next(COUNT) - before)
                self._objects.saw([*call.objects, *call.containers], concrete.reading)
                if self._owner is not None and self._instance is not None:
                    self._owner._objects.saw([self._instance()], concrete.reading)
                self._objects.saw_numbers(call)
        return concrete

    def _end(self, key: Hashable, pending: Pending) -> None:
        """Release `pending`, if it is the pending trace for this key, and wake up the threads that wait for it."""
        with self._lock:
            if self._pending.get(key) is pending:
                self._pending.pop(key)
        pending.done.set()

    def _find(self, call: Call, key: Hashable) -> ConcreteFunction | None:
        self._forget_dead()
        found = self._exact.get(key)
        if found is None or not holds(found.guards, call):
            fitting = [c for c in self._groups.get(call.structure, ())
                       if c is not found and c.serves(call)
                       and all(want.accepts(have) for want, have in zip(c.types, call.types, strict=True))
                       and holds(c.guards, call)]
            if not fitting:
                return None
            found = min(fitting, key=lambda concrete: concrete.unknown_dims)
            self._remember(key, found)
        return found

    def _remember(self, key: Hashable, concrete: ConcreteFunction) -> None:
        with self._lock:
            if concrete not in self._watched:
                return  # evicted, or never cached
            if len(self._exact) >= _MAX_ALIASES:
                self._exact.clear()
            self._exact[key] = concrete

    def _remember_call(self, args: tuple[Any, ...], call: Call, concrete: ConcreteFunction) -> None:
        """Note the trace that has served a call, for native code to find it."""
        inputs = inputs_among(args, call, concrete)
        if inputs is None:
            return
        tensors = all(type(x) is EagerTensor for x in args)
        key = tuple([part for x in args for part in (x._array.dtype, x._array.shape)]) if tensors else ()
        with self._lock:
            if concrete not in self._watched or (tensors and key in self._fast):
                return
            if len(self._front and self._front[2]) >= (_MAX_ALIASES if tensors else _MAX_KINDS) or (
                    len(self._fast) >= _MAX_ALIASES):
                self._forget_arrays()
            if tensors:
                self._fast[key] = concrete
                concrete.failed = leaving(concrete, WeakMethod(self._leave))
            self._front = with_call(self._front, self._clock, concrete, args, inputs, WeakMethod(self._call))

    def _forget_arrays(self) -> None:
        self._fast, self._front = {}, ()

    def _insert(self, call: Call, key: Hashable, concrete: ConcreteFunction) -> None:
        if len(self._watched) >= self.max_traces:
            self._discard(min(self._watched, key=lambda c: c.used[0]))
            self._history.warn_of_eviction(self.python_function, self.max_traces)
        concrete.used[0] = self._clock[0]
        self._watched[concrete] = [weakly(x, self._dead.append) for x in call.objects]
        self._groups.setdefault(call.structure, []).append(concrete)
        self._remember(key, concrete)
        self._history.add(concrete, call, self._signature.leaves(call), self._clock[0])
        self._history.warn_of_storms(self.python_function)

    def _forget_dead(self) -> None:
        """Discard the traces for freed objects: a new object may get the same id."""
        while self._dead:
            with self._lock:
                for concrete, references in list(self._watched.items()):
                    if any(reference is self._dead[0] for reference in references):
                        self._discard(concrete)
                self._dead.popleft()

    def _discard(self, concrete: ConcreteFunction) -> None:
        with self._lock:
            self._watched.pop(concrete, None)
            self._history.remove(concrete)
            if concrete.findable is not None:
                self._front = concrete.findable.forgotten(self._front)
            tables: tuple[dict[Any, ConcreteFunction], ...] = self._fast, self._exact
            for table in tables:
                for key in [key for key, value in table.items() if value is concrete]:
                    del table[key]
            for structure, group in list(self._groups.items()):
                if concrete in group:
                    group.remove(concrete)
                    if not group:
                        del self._groups[structure]

    def _trace_as_general_as_useful(self, call: Call) -> ConcreteFunction:
        """Trace for the shapes of the call, or with unknown dimensions where sizes have changed between calls."""
        if self._signature.specs is not None:
            return self._trace(call, self._signature.types_of(call))
        group = self._groups.get(call.structure, ())
        if len(group) >= (1 if self.reduce_retracing else 2) and call.structure not in self._fixed:
            types: list[Type] = list(call.types)
            for concrete in group:
                types = [join_types(a, b) or a for a, b in zip(types, concrete.types, strict=True)]
            try:
                with relaxed(), self._forms.restored_on_error():
                    return self._trace(call, types)
            except (Exception, NeedsKnownShapes):
                self._fixed.add(call.structure)  # it needs known dimensions, for example as Python numbers
        return self._trace(call, call.types)

    def _trace(self, call: Call, types: Sequence[Type]) -> ConcreteFunction:
        call.keep()  # the trace may keep values
        concrete, sets_up = self._forms.traced(lambda: self._trace_once(call, types, first=self._count == 0))
        if sets_up and not concrete.identified:  # trace again, as later calls would: the variables exist now
            try:
                concrete, _ = self._forms.traced(lambda: self._trace_once(call, types, first=False))
            except LateVariableError:
                if call.attributes is None:
                    raise
                concrete.is_kept = False  # a number in the state, which differs in later calls, marks the first call
        self._count += not concrete.identified
        return concrete

    def _trace_once(
        self, call: Call, types: Sequence[Type], first: bool
    ) -> tuple[ConcreteFunction, bool]:
        """The trace, and whether it created variables."""
        fn = self._bound(self._converted)
        graph = Graph(self.name)
        names = self._signature.input_names(call)
        inputs = [add_input(graph, type, name) for type, name in zip(call.marked(types), names, strict=True)]
        variables = self._signature.placeholders(call)
        known = {x.value: leaf._array for x, leaf in zip(inputs, call.leaves, strict=True)
                 if isinstance(leaf, EagerTensor)}
        objects = self._forms.objects or call.has_array_objects
        all_captured = list(self._forms.captured)
        paths = self._signature.input_names(call, as_paths=True)
        mode = tracing_objects(objects, bool(call.arrays), any(not call.passed[i].ndim for i, *_ in call.arrays))
        with mode:
            arrays = ArrayArguments(graph, inputs, paths, call.arrays if objects else (), all_captured, call.passed)
        inputs, mode.captured, mode.has_written = arrays.inputs, arrays.captured, arrays.written_in
        creation, unrolled = Creation(first, known), len(loops.unrolled)

        def trace() -> tuple[Any, Pack, list[tuple[frozenset[int], bool]], list[Constant], Any, Reading]:
            with tracing(graph, BACKEND), tracing_writes(), mode, arrays.counting_references(), creation:
                python = self.python_function
                outputs: list[Any] = []
                copies: list[Any] = []
                args, kwargs = call.replace(inputs, variables, copies)
                state = kwargs.pop(ATTRIBUTES, None)
                with meeting() if self.autograph else nullcontext():
                    outside = PriorState(meet_all(fn, args, kwargs), call, copies, inputs, python, objects)
                    mode.existed, mode.sources = outside.existed, outside.arrays
                    outside.find_shared(call.finds_attributes)
                    try:
                        with outside.asked(), arrays.substituted(outside.heap), unwritable(outside.arrays), leaking(
                                outside.leaks_into), trying_numbers(call.twins and self._objects.most_made,
                                                                    call.finds_numbers), outside.counting_references():
                            callee = recursive(python, fn) if self.autograph else fn
                            run = calling(callee, args, kwargs, outside, fn, self._forms.adopts)
                            run = run if state is None else call.attributes.within(state, run)
                            returned = trace_function(run)
                        mode.check_draws(bool(creation.created))
                        constants = self._settled(call, outside, creation.sets_up, all_captured)
                        mode.returned_at = functools.partial(return_position, getattr(python, "__func__", python))
                        pack = plan(returned, outputs, getattr(python, "__func__", python), outside, arrays.changed())
                    except (Exception, NeedsAttributes):
                        if not creation.created:
                            outside.heap.restore()  # undo all effects of the trace
                        raise
                    finally:
                        outside.leave(variables)
                check_results(outputs)
                set_outputs(graph, outputs)
                self._unrolled = list({loop[:3]: loop for loop in loops.unrolled[unrolled:]}.values())
                aliases = [(arrays.aliases(x), isinstance(x, StagedArray)) for x in outputs]
                return returned, pack, aliases, constants, outside.found_elsewhere(), outside.reading

        returned, pack, aliases, constants, elsewhere, reading = restored(trace)
        prune_graph(graph)
        concrete = ConcreteFunction(
            graph, call, self._signature, returned, pack, self.executor, self.fast_math, aliases, variables,
            call.arrays if objects else None, arrays.inputs_outside, mode, constants, elsewhere)
        concrete.is_kept, concrete.reading = concrete.is_kept and not call.changed, reading
        return concrete, creation.sets_up

    def _settled(
        self, call: Call, outside: PriorState, sets_up: bool, captured: Sequence[Any]
    ) -> list[Constant]:
        """After a trace: the constants that it has read. Raises if the function has to be traced again."""
        self._objects.check(outside.reading, outside.heap.restore)
        constants = outside.constants(call.attributes)
        changed = outside.changed_data(sets_up)
        places = [*outside.state, *large_in(constants, captured)]
        self._attributes.found(call, places, changed, sets_up, outside.existed, outside.heap.restore)
        outside.refuse_lost()
        return constants

    def cache_info(self) -> CacheInfo:
        """Hits, misses (calls that made a trace), the maximal number of traces, and their current number."""
        self._forget_dead()
        return CacheInfo(max(self._clock[0] - self._count, 0), self._count, self.max_traces, len(self._watched))

    def cache_clear(self) -> None:
        """Drop all traces; later calls trace again, and must not create variables again."""
        with self._lock:
            self._forget_arrays()
            for concrete in list(self._watched):
                self._discard(concrete)
            self._fixed.clear()

    @property
    def concrete_functions(self) -> list[ConcreteFunction]:
        """The cached traces, oldest first."""
        with self._lock:
            self._forget_dead()
            return list(self._watched)


class UntilError(Function):
    """`until_error`, traced. It runs if its only effects are the changes to apply; a call returns whether there are."""

    def _computed(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        concrete = self._find_or_trace(call)
        without_output(concrete.graph)
        if concrete.changes and can_run_again(concrete.graph):
            concrete.apply(call.leaves, call, call.variables)
        return concrete.changes

    def _leave(self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An error that it does not catch is one of its own graph, and has no changes to apply."""


def _runs_here() -> bool:
    """Whether calls run immediately, without a recorder."""
    return _tracing_state.graph is None and not recorders

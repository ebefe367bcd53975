"""One trace of a function: its graph, inputs and results."""
from __future__ import annotations

import inspect
import threading
import weakref
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from autograph.backend import LISTS, rarely_collected, with_room
from runtime.backends.executable import Executable
from runtime.core.array_mode import note_class_asked, note_end, object_for, tracing_objects, writes_tensor
from runtime.core.array_updates import updated
from runtime.core.errors import DTypeError, NumberOverflowError, ShapeError, StagingError, locate
from runtime.core.graph import Graph, Node, Value
from runtime.core.inline_graph import inline
from runtime.core.positions import located, user_position
from runtime.core.profiling import phase
from runtime.core.pytree import map_structure
from runtime.core.recording import record_call, recorders
from runtime.core.tensor import EagerList, EagerTensor, GraphList, GraphTensor
from runtime.core.trace import convert_to_tensor, current_graph
from runtime.core.traceback_replay import show_users
from runtime.core.types import ListType, TensorSpec, TensorType, Type
from runtime.core.variable_bindings import NO_VARIABLES, binding
from runtime.function.arguments.argument_structure import children, is_leaf, walk
from runtime.function.arguments.signature import (
    ArrayPattern,
    Call,
    InvalidArgumentsError,
    ObjectSpec,
    Signature,
    with_arrays,
)
from runtime.function.execution.executors import able, arrays_of, chosen, make, tensors_of
from runtime.function.results.pack import Pack, made_natively
from runtime.function.results.results import result_specs
from runtime.function.state.array_arguments import result_in
from runtime.function.state.constant_guards import ConstantGuards
from runtime.function.state.visible_places import Constant, Reading
from runtime.function.variables.variable import Variable
from runtime.function.variables.variable_argument import VariableArgument, VariableSpec
from runtime.numbers.widen_python_numbers import with_python_numbers
from runtime.optimize import rewrite
from runtime.staging.aliases.body_tracing import NEVER

__all__ = ["ConcreteFunction", "graph_of"]


_CALLBACKS: Final = frozenset(("py_function", "numpy_function", "call"))


class ConcreteFunction:
    """A function traced for certain types of its tensors and certain values of everything else
    (`tf.types.experimental.ConcreteFunction`).

    graph                       the graph as it was traced; print it, or see `runtime.tools.draw`
    optimized                   the graph that runs: the result of `runtime.optimize`
    structured_input_signature  positional arguments and keyword arguments, with TensorSpecs for tensors
    structured_outputs          the result, with TensorSpecs for tensors
    """

    __slots__ = (
        "__weakref__", "_aliases", "_array_pattern", "_captured", "_changes_attributes", "_compiled", "_compiling",
        "_defaults", "_donated", "_executor", "_has_numbers", "_is_final", "_is_single", "_loses_writes", "_of_numpy",
        "_optimized", "_own", "_pack", "_returned", "_signature", "_unused", "_variables", "_writes_tensors",
        "can_change", "failed", "fast_math", "findable", "graph", "guards", "identified", "input_specs", "is_kept",
        "name", "on_arrays", "overwritten_places", "reading", "run", "structured_input_signature",
        "structured_outputs", "types", "used")

    def __init__(
        self, graph: Graph, call: Call, signature: Signature, returned: Any, pack: Pack, executor: str | None,
        fast_math: bool = False,
        aliases: Sequence[tuple[frozenset[int], bool]] = (), variables: Sequence[VariableArgument] = (),
        array_pattern: ArrayPattern | None = None, captured: Sequence[Any] = (), mode: tracing_objects | None = None,
        constants: Sequence[Constant] = (), elsewhere: tuple[frozenset[int], list[Any]] = (frozenset(), []),
    ) -> None:
        self.graph = graph
        self.name = graph.name
        self.reading = Reading()  # of the traced code
        self.fast_math = fast_math
        own = graph.inputs[:len(graph.inputs) - len(captured)]
        self.types: tuple[Type, ...] = tuple([value.type for value in own])
        self.structured_outputs = result_specs(returned)
        self.is_kept = returned is not NEVER  # cached for later calls, unless it always raises
        changing = frozenset([id(holder) for _, holder, _ in call.attributes.places] if call.attributes else ())
        self.guards = ConstantGuards(constants, *elsewhere, changing) if constants or any(elsewhere) else None
        self.used = array("q", [0])  # time of the last use, in calls; native code writes it, too
        self.input_specs = _input_specs(own)
        used = {value for node in graph.nodes for value in node.inputs} | {*graph.outputs}
        self._unused = frozenset(k for k, value in enumerate(graph.inputs) if value not in used)
        self.structured_input_signature = call.described(self.input_specs)
        self._signature = signature
        self._pack = pack
        self._aliases = aliases  # per output, leaves that share its memory; if it is an array
        self._variables = variables
        self._defaults = [weakref.ref(x) for x in call.variables]
        self.identified = {k for k, x in enumerate(variables) if x.is_identified}  # their identities affect the trace
        self._own = frozenset([id(x) for node in graph.walk() for x in node.params.values() if isinstance(x, Variable)])
        self._executor = chosen(executor)
        self._loses_writes = mode is not None and mode.loses_writes
        self._donated = {} if self._loses_writes else {  # a call that raises runs again, to leave its writes
            output: place for place, output in pack.arrays if _is_like(graph, output, place)}
        self._array_pattern = array_pattern  # of the calls it serves, if arrays are objects
        self._writes_tensors = mode is not None and mode.writes_tensors  # then these must not be arrays
        self._of_numpy = call.of_numpy if mode is not None and mode.asks_classes else None
        self._changes_attributes = call.attributes is not None
        self._has_numbers = call.twins is not None  # which become constants if an int exceeds its bits in a call
        self._is_final = False
        """Whether after an error nothing has to be done but to leave the arrays as they are; set when compiled."""
        self._captured = captured  # pre-existing NumPy arrays, inputs of the graph after the leaves
        self._returned = None if captured else made_natively(returned, graph, pack)
        """What calls return, if native code can make it."""
        self._is_single = not pack.uses_call and self._returned is not None and self._returned.is_tensor
        self._optimized: Graph | None = None
        self._compiled: Executable | None = None
        self._compiling = threading.RLock()
        self.run: Callable[..., Any] = self._compile_and_run
        self.findable: Any = None
        self.failed: Callable[[BaseException, tuple[Any, ...]], None] | None = None
        """Called with an error of a call and its arrays: applies the changes made before the error."""
        self.can_change = True  # whether anything before an error can be changed, as far as known

    @property
    def changes(self) -> bool:
        """Whether calls change arguments, or pre-existing objects."""
        return self._changes_attributes or not self.is_kept or bool(
            self._pack.changes or self._pack.arrays or self._pack.references)

    @property
    def optimized(self) -> Graph:
        """The graph that runs."""
        if self._optimized is None:
            with phase(f"optimise {self.name}"):  # the graph may be deep
                self._optimized = rarely_collected(lambda: with_room(lambda: rewrite(
                    with_python_numbers(self.graph), fast_math=self.fast_math and self._executor == "native")))
        return self._optimized

    @property
    def executor(self) -> str:
        """The name of the executor: "native" or "numpy"."""
        return able(self.optimized, self._executor)

    @property
    def _executable(self) -> Executable:
        """The graph, ready to run. It is compiled only when it is first called: if it is only inlined into other
        graphs, or run by a tape, it is never compiled."""
        if self._compiled is None:
            with self._compiling:
                if self._compiled is None:
                    with phase(f"compile {self.name}"):
                        self._is_final = self._pack.only_arrays and not (
                            self._has_numbers and any(map(_checks_number, self.optimized.walk())))
                        made = rarely_collected(
                            lambda: make(
                                self.optimized, self._executor, self.fast_math, self._donated, self._is_final))
                    arrays = self._accepting(made.function())
                    self.run = self._runner(arrays)
                    self.on_arrays = self._on_arrays(arrays)
                    self.overwritten_places = made.overwritten
                    self.findable = None if self._captured else made.findable(self._returned, self._pack.only_arrays)
                    self._compiled = made
        return self._compiled

    def _accepting(self, arrays: Callable[..., Any]) -> Callable[..., Any]:
        """`arrays`; if it calls Python functions, which may change what the trace has read, those changes are
        accepted."""
        guards = self.guards
        if guards is None or not any(node.op.name in _CALLBACKS for node in self.optimized.walk()):
            return arrays

        def run(*inputs: Any) -> Any:
            try:
                return arrays(*inputs)
            finally:
                guards.accept()

        return run

    def run_arrays(self, *arrays: Any) -> Any:
        """`run` for a call with arrays only. On an error, the earlier changes are applied, and the user's frames are
        shown."""
        try:
            return self.run(*arrays)
        except BaseException as error:
            if self.failed is not None:
                self.failed(error, arrays)
            show_users(error)
            raise

    def _compile_and_run(self, *inputs: Any, **options: Any) -> Any:
        self.compile()
        return self.run(*inputs, **options)

    def _runner(self, arrays: Callable[..., Any]) -> Callable[..., Any]:
        """The function from arrays to results: the last step of each call, so it has to be fast."""
        pack = self._pack
        new = object.__new__
        if self._is_single and len(self.graph.inputs) == 1:
            def run_one(x: Any) -> Any:
                (array,) = arrays(x)
                result = new(EagerTensor)
                result._array = array
                return result

            return run_one
        if self._is_single:
            def run_single(*inputs: Any) -> Any:
                (array,) = arrays(*inputs)
                result = new(EagerTensor)
                result._array = array
                return result

            return run_single
        types = [value.type for value in self.graph.outputs]

        def run(*inputs: Any, call: Call | None = None) -> Any:
            return pack(tensors_of(arrays(*inputs), types), call)

        return run

    def _on_arrays(self, arrays: Callable[..., Any]) -> Callable[..., Any]:
        """`run` without tensors, if what the function returns does not depend on results."""
        constant = self._pack.constant
        if constant is None:
            return self.run
        value = constant.value

        def run(*inputs: Any) -> Any:
            arrays(*inputs)
            return value

        return run

    @property
    def unknown_dims(self) -> int:
        """The number of unknown dimensions of its inputs."""
        return sum(type.shape.count(None) for type in self.types if isinstance(type, TensorType))

    @property
    def is_served_by_graph(self) -> bool:
        """Whether nothing remains to be done after the graph has run on the arrays of a call; if it raises, nothing
        either, or the call can be repeated."""
        pack, made = self._pack, self._executable
        return (pack.only_arrays and made.is_closed and not pack.returns_arguments and not self.captures_arrays
                and made.overwritten == {place for place, _ in pack.arrays} and not self._variables
                and (self._is_final or self.can_repeat) and (self.guards is None or not self.guards.others))

    @property
    def can_repeat(self) -> bool:
        """Whether a call whose graph raises has changed nothing."""
        return self._executable.restores

    @property
    def takes_variables(self) -> bool:
        """Whether variables are among its arguments."""
        return bool(self._variables)

    @property
    def parameters(self) -> inspect.Signature:
        """The parameters of the Python function."""
        return self._signature.parameters

    @property
    def captures_arrays(self) -> bool:
        """Whether it changes NumPy arrays that are not arguments."""
        return bool(self._captured)

    def takes(self, call: Call) -> bool:
        """Whether the trace serves calls with arrays at the places where this one has them."""
        if self._array_pattern is not None:
            return self._array_pattern == call.arrays
        return not call.arrays or not (self._writes_tensors or call.has_array_objects)

    def serves(self, call: Call) -> bool:
        """Whether the trace serves a call with arrays and scalars of NumPy at these places."""
        return self.takes(call) and (self._of_numpy is None or self._of_numpy == call.of_numpy)

    def distinguished(self, variables: Sequence[Variable]) -> Collection[int]:
        """The indices of a call's variables that this trace does not abstract over: their identities affect it, or it
        also uses them directly."""
        return self.identified or [k for k, x in enumerate(variables) if id(x) in self._own]

    def apply(self, leaves: Sequence[Any], call: Call | None, variables: Sequence[Variable]) -> Any:
        """The result for the tensors, lists and variables of a call, computed, or traced into the current graph. If
        `call` is None, returned containers that were arguments are copies."""
        graph = current_graph()
        passed = {id(x): y for x, y in zip(self._variables, variables, strict=True)} if variables else NO_VARIABLES
        if call is not None and not self.takes(call):
            raise located(StagingError(
                f"this trace of {self.name} was made for calls that have no arrays, or other ones, in these arguments,"
                " and it changes what they are", remedy="Call the function itself."))
        if call is not None and call.borrowed and (graph is not None or recorders or not self._executable.is_closed):
            call.keep()
        if self._captured:
            outside = [object_for(array) for array in self._captured] if graph is not None else self._captured
            leaves = [*leaves, *(x if isinstance(x, GraphTensor) else EagerTensor(x) for x in outside)]
            call = with_arrays(call, outside, leaves[len(leaves) - len(outside):])
        if graph is not None:
            if self._writes_tensors:
                writes_tensor()
            if self._of_numpy is not None:
                note_class_asked()
            if self._loses_writes:
                note_end()
            results = inline(self.graph, graph, leaves, passed)
            results = [result_in(result, is_array, [leaves[i] for i in origins])
                       for result, (origins, is_array) in zip(results, self._aliases, strict=True)]
            return self._pack(results, call)
        if recorders and (recorded := record_call(self, leaves, passed)) is not None:
            return self._pack(recorded, call)
        return self._computed(leaves, call, passed)

    def _computed(self, leaves: Sequence[Any], call: Call | None, passed: Mapping[int, Variable]) -> Any:
        arrays = arrays_of(leaves, self._unused)
        before = self._prepared(arrays, leaves, call) if self._donated else ()
        try:
            with binding(passed) if passed else nullcontext():
                return self.run(*arrays, call=call) if self._pack.uses_call else self.run(*arrays)
        except BaseException:
            for array, contents in before:
                np.copyto(array, contents)
            raise

    def _prepared(self, arrays: list[Any], leaves: Sequence[Any], call: Call | None) -> list[tuple[Any, Any]]:
        """Make copies, for a call, of `arrays` that it overwrites and that are not borrowed. Returns the others with
        their contents, if an error has to restore them."""
        borrowed = {} if call is None else call.borrowed
        own = [place for place in self._donated.values() if leaves[place] is borrowed.get(place)]
        copied = [place for place in self._donated.values() if place not in own]
        for place in copied:
            arrays[place] = arrays[place].copy()
        made = self._executable
        if made.restores:
            return []
        if made.may_raise and (copied or not self._is_final):
            return [(call.passed[place], arrays[place].copy()) for place in own] if call is not None else []
        if call is not None:
            call.overwritten.update(made.overwritten)
        return []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the trace. Python arguments may be omitted; if present they must equal the traced ones. As in TF 2, the
        tensors of the arguments may also be passed alone, in order.

        TypeError for other arguments, DTypeError or ShapeError for tensors of other types.
        """
        try:
            if self._changes_attributes:
                raise located(StagingError(
                    f"this trace of {self.name} changes attributes, items or variables from before, whose contents are"
                    " arguments of its graph", remedy="Call the function itself."))
            variables: dict[int, Variable] = {}
            leaves = self._leaves(args, kwargs, variables)
            call = self._call(args, kwargs) if self._pack.uses_call or self._writes_tensors else None
            return self.apply(leaves, call, self._passed(variables))
        except BaseException as error:
            if isinstance(error, (InvalidArgumentsError, DTypeError, ShapeError)):
                locate(error, user_position())
            show_users(error)
            raise

    def _passed(self, supplied: Mapping[int, Variable]) -> list[Variable]:
        """The variables of a call, by index; the traced ones in place of those that are not `supplied`."""
        variables: list[Variable] = []
        for k, (argument, default) in enumerate(zip(self._variables, self._defaults, strict=True)):
            variable = supplied[k] if k in supplied else default()
            if variable is None:
                raise InvalidArgumentsError(f"{self.pretty_printed_signature()}: missing argument {argument.name!r}")
            variables.append(variable)
        if len(set(map(id, variables))) < len(variables) or any(id(x) in self._own for x in variables):
            raise InvalidArgumentsError(
                f"arguments of {self.name} are one variable here, but were different ones when it was traced",
                remedy="Call the function itself, which traces for other types.")
        return variables

    def _leaves(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], variables: dict[int, Variable]) -> list[Any]:
        """The leaves of a call; its variables are stored in `variables`, by index."""
        try:
            return self._structured(args, kwargs, variables)
        except InvalidArgumentsError:
            if kwargs or len(args) != len(self.types) or len(args) == len(self._arguments()):
                raise
            return [self._fit(f"args[{i}]", x, type) for i, (x, type) in enumerate(zip(args, self.types, strict=True))]

    def _structured(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], variables: dict[int, Variable]
    ) -> list[Any]:
        """The leaves of arguments passed as to the function itself."""
        try:
            bound = self._signature.parameters.bind_partial(*args, **kwargs)
        except TypeError as exc:
            raise InvalidArgumentsError(f"{self.pretty_printed_signature()}: {exc}") from None
        arguments = bound.arguments
        leaves: list[Any] = []
        types, met = iter(self.types), dict[int, Any]()
        for name, traced in self._arguments().items():
            if name not in arguments:
                if _tensors(traced):
                    raise InvalidArgumentsError(f"{self.pretty_printed_signature()}: missing argument {name!r}")
                continue
            self._match(name, arguments[name], traced, leaves, types, variables, met)
        return leaves

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """The call, unless arguments were omitted."""
        try:
            return Call(*self._signature.canonical(args, kwargs))
        except InvalidArgumentsError:
            return None

    def _match(
        self, path: str, value: Any, traced: Any, leaves: list[Any], types: Iterator[Type],
        variables: dict[int, Variable], met: dict[int, Any],
    ) -> None:
        """Append the leaves of `value`, which must match the traced argument. `met`: by the id of a traced container,
        the one passed for it."""
        if id(traced) in met:
            self._check_same(path, value, met[id(traced)])
        elif isinstance(traced, VariableSpec):
            fits = isinstance(value, Variable) and value.type == traced.type and value.trainable == traced.trainable
            if not fits or variables.setdefault(traced.number, value) is not value:
                raise InvalidArgumentsError(
                    f"argument {path!r} of {self.name} is {value!r}, but this trace takes "
                    + (f"the {traced!r} that is passed before" if fits else f"a {traced!r}"),
                    remedy="Call the function itself, which traces for other types.")
        elif is_leaf(traced):
            leaves.append(self._fit(path, value, next(types)))
        elif isinstance(traced, ObjectSpec) and isinstance(value, traced.kind):
            leaves += [self._fit(path, leaf, next(types)) for leaf in value.__leaves__()]
        elif isinstance(traced, (weakref.ref, ObjectSpec)) or children(traced) is None:
            expected = traced() if isinstance(traced, weakref.ref) else traced
            if value is not expected and not (type(value) is type(expected) and bool(value == expected)):
                raise InvalidArgumentsError(
                    f"argument {path!r} of {self.name} is {value!r}, but this trace was made for {expected!r}",
                    remedy="Leave it out, or call the function itself, which traces for other values.")
        else:
            parts, others = children(value) or [], children(traced) or []
            if type(value) is not type(traced) or [label for label, _ in parts] != [label for label, _ in others]:
                raise InvalidArgumentsError(
                    f"argument {path!r} of {self.name} does not have the structure of {_text(traced)}")
            if not isinstance(traced, tuple):
                met[id(traced)] = value
            for (label, part), (_, other) in zip(parts, others, strict=True):
                self._match(path + label, part, other, leaves, types, variables, met)

    def _check_same(self, path: str, value: Any, known: Any) -> None:
        if value is not known:
            raise InvalidArgumentsError(
                f"argument {path!r} of {self.name} has come before where it was traced, and is another object here")

    def _fit(self, path: str, value: Any, want: Type) -> Any:
        x = value
        if not isinstance(value, (EagerList, GraphList)):
            x = convert_to_tensor(value, dtype_hint=want.dtype if isinstance(want, TensorType) else None)
        if not want.accepts(x.type):
            error = ShapeError if isinstance(want, TensorType) and x.type.dtype is want.dtype else DTypeError
            raise error(f"argument {path!r} of {self.name} is {x.type}, but this trace takes {want}",
                        remedy="Call the function itself, which traces for other types.")
        return x

    def _arguments(self) -> dict[str, Any]:
        """The traced arguments by parameter."""
        args, kwargs = self.structured_input_signature
        return self._signature.parameters.bind(*args, **kwargs).arguments

    @property
    def inputs(self) -> list[GraphTensor | GraphList]:
        """The graph's inputs."""
        return [GraphList(v) if isinstance(v.type, ListType) else GraphTensor(v) for v in self.graph.inputs]

    @property
    def outputs(self) -> list[GraphTensor | GraphList]:
        """The graph's results."""
        return [GraphList(v) if isinstance(v.type, ListType) else GraphTensor(v) for v in self.graph.outputs]

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return map_structure(lambda spec: getattr(spec, "shape", None), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return map_structure(lambda spec: getattr(spec, "dtype", None), self.structured_outputs)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the graph reads or assigns, in the order of their first use."""
        found = {id(x): x for node in self.graph.walk() for x in node.params.values() if isinstance(x, Variable)}
        return tuple(found.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of the variables that are trainable."""
        return tuple([x for x in self.variables if x.trainable])

    def compile(self) -> ConcreteFunction:
        """The trace itself, compiled now, so that its first call starts immediately."""
        self._executable  # noqa: B018 - makes it
        return self

    def inspect_llvm(self, optimized: bool = True) -> str:
        """The LLVM IR of the native code, optimised or as generated. ValueError if there is no native code."""
        return self._executable.inspect_llvm(optimized)

    def inspect_asm(self) -> str:
        """The assembly of the native code. ValueError if there is no native code."""
        return self._executable.inspect_asm()

    def explain_native(self) -> str:
        """A report on compilation: which ops were fused, which loops tiled or vectorised, what calls Python and why."""
        return self._executable.explain()

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The types of arguments and result: `f(x: float32[?,3], n=3) -> float32[?]`."""
        parts = [f"{name}: {_text(value)}" if _tensors(value) else f"{name}={_text(value)}"
                 for name, value in self._arguments().items()]
        return f"{self.name}({', '.join(parts)}) -> {_text(self.structured_outputs)}"

    def _repr_svg_(self) -> str:
        return self.graph._repr_svg_()

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.pretty_printed_signature()}>"


def _is_like(graph: Graph, output: int, place: int) -> bool:
    """Whether an output certainly has the type and size of an input with at least one dimension."""
    value, like = graph.outputs[output], graph.inputs[place]
    type = value.type
    return isinstance(type, TensorType) and type == like.type and bool(type.shape) and (
        None not in type.shape or updated(graph, value) is like)


def _checks_number(node: Node) -> bool:
    """Whether a node may raise because an int exceeds its bits."""
    raised = node.params.get("raised")
    errors = node.own_errors if raised is None else [type(raised.exception)]
    return any(error is Exception or issubclass(error, (DTypeError, NumberOverflowError)) for error in errors)


def _input_specs(inputs: Sequence[Value]) -> list[TensorSpec | ListType]:
    return [v.type if isinstance(v.type, ListType) else TensorSpec(v.type.shape, v.type.dtype, v.hint)
            for v in inputs]


def _tensors(value: Any) -> bool:
    return any(is_leaf(leaf) or isinstance(leaf, ObjectSpec) for _, leaf in walk(value, ""))


def _text(value: Any, around: tuple[Any, ...] = ()) -> str:
    """`around`: the enclosing containers."""
    if isinstance(value, TensorSpec):
        return str(value.type)
    if isinstance(value, weakref.ref):
        return repr(value())
    if isinstance(value, VariableSpec):
        return repr(value)
    if hasattr(type(value), "__leaves__"):
        return type(value).__name__
    parts = children(value)
    if parts is None:
        return repr(value)
    if any(value is one for one in around):
        return "..."
    around = (*around, value)
    if isinstance(value, (*LISTS, tuple)) and not hasattr(value, "_fields"):
        inner = ", ".join([_text(part, around) for part in value])
        if isinstance(value, LISTS):
            return f"[{inner}]" if isinstance(value, list) else f"deque([{inner}])"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return "{" + ", ".join(f"{label.strip('.[]')}: {_text(part, around)}" for label, part in parts) + "}"


def graph_of(x: Any) -> Graph:
    """A graph itself; the graph of a concrete function; or that of the newest trace of an `rt.function`. TypeError for
    anything else, StagingError for a function that has no trace."""
    traces = getattr(x, "concrete_functions", None)
    if traces is not None:
        if not traces:
            raise located(StagingError(f"{x!r} has no trace: it was not called",
                                       remedy="Call it, or give f.get_concrete_function(...)."))
        x = traces[-1]
    found = getattr(x, "graph", x)
    if not isinstance(found, Graph):
        raise located(TypeError(f"a graph or a traced function is wanted here, not {x!r}"))
    return found

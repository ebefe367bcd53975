"""Calls of routines: each routine is a function in the module of the calling graph, and calls itself directly.

A function takes the frame of the call, then its inputs: scalars by value, arrays as their address and unknown
dimensions. It returns a struct of its status, its scalars, and the unknown dimensions of its arrays. The caller owns
the memory of the arrays that it returns: for a known shape, the caller passes an address; else a pair of address and
capacity, which the function enlarges. A list is such a pair and its length. An array or list that is an updated input
stays in the memory of that input: the caller passes one that nothing else reads, or a copy.

What a function allocates is in slots of its own, on its stack, and freed when it returns. Once on each path to a call,
or before a loop that contains calls, it compares the stack pointer with the thread's limit, and counts down to the next
poll for signals, unless that loop polls. A tail call may become a jump, which takes no stack: functions with tail calls
get their depth as an argument; for others LLVM's tail call optimisation is disabled.

`why_not_direct` decides which routines get such functions. The others are called through Python.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runtime.backends.native.abi.allocator import PAIR, RELEASE
from runtime.backends.native.abi.interrupts import INTERRUPTED
from runtime.backends.native.abi.stack import CREDIT_WORD, STACK_WORD, is_known
from runtime.backends.native.codegen.context import Lowering, NotNative, Value, lowers
from runtime.backends.native.codegen.index_expressions import Array, Leaf, Listed, Map, Scalar
from runtime.backends.native.codegen.list_storage import REFUSED
from runtime.backends.native.codegen.piecewise_arrays import Joined
from runtime.backends.native.codegen.scalar_ops import llvm_type
from runtime.backends.native.codegen.variables import changes_any
from runtime.backends.native.control.subgraph_values import cost_of
from runtime.backends.native.llvm.builder import Index, Val, const
from runtime.backends.native.loops.if_conversion import LOOPS
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.routine import Routine, too_deep
from runtime.core.types import ListType, TensorType, Type

__all__ = ["why_not_direct"]

_DEEP: Final = 5  # the status if calls nest too deeply
_DEEPEST: Final = 1 << 17  # limit of nested tail calls, which take no stack
_SMALL: Final = 120  # lines of code
_LEAST: Final = 128  # stack words for slots at least, so that endless recursion exhausts the stack before the memory
_STACK: Final = 1024, 2048  # bytes on the stack for an array, and for all


# Which routines are called directly.

def why_not_direct(routine: Routine) -> str | None:
    """Why a routine has to be called through Python; None if it does not."""
    if not is_known():
        return "the system does not tell how large the stack is"
    for each in reached(routine):
        why = _obstacle(_graph(each))
        if why is not None:
            return why if each is routine else f"{why} ({each.name}, which it calls)"
    return None


def reached(*routines: Routine) -> list[Routine]:
    """Routines, and all routines that they call, directly or indirectly."""
    found = dict.fromkeys(routines)
    waiting = list(routines)
    while waiting:
        for node in _graph(waiting.pop()).walk():
            if node.op.name == "call" and node.params["function"] not in found:
                found[node.params["function"]] = None
                waiting.append(node.params["function"])
    return list(found)


def _graph(routine: Routine) -> Graph:
    assert routine.optimized is not None, "whoever makes the graph that calls it has optimised it"
    return routine.optimized


def _obstacle(graph: Graph) -> str | None:
    for value in graph.values():
        if isinstance(value.type, ListType):
            element = value.type.element
            if not value.type.known or None in element.shape or element.dtype.is_narrow or element.dtype.is_string:
                return "it has lists of elements of several shapes, or of none"
            continue
        if value.type.dtype.is_narrow or value.type.dtype.is_string:
            return f"it has {value.type.dtype.name} values"
    for node in graph.walk():
        if "variable" in node.params:
            return "it uses variables"
        if "region" in node.params:
            return "it handles exceptions"
        if node.params.get("stream") is not None or node.op.name.startswith("iterator_"):
            return "it loops over a dataset"
    return None


# Which results are updated inputs.

_UPDATES: Final = frozenset({
    "setitem", "scatter", "list_set", "list_append", "list_extend", "list_insert", "list_pop", "hash_slots"})
"""Ops whose first result is an updated form of their first operand."""

Homes = dict[int, int]
"""By the number of a result, the number of the input whose memory it occupies."""


def homes_of(routine: Routine) -> dict[Routine, Homes]:
    """The results that are updated inputs, of a routine and of all routines that it calls."""
    every = reached(routine)
    sources: dict[Routine, list[frozenset[int | None]]] = {each: [frozenset()] * len(each.types) for each in every}
    outer = {each: _outer_values(_graph(each)) for each in every}
    changed = True
    while changed:
        changed = False
        for each in every:
            graph = _graph(each)
            now = [_sources(value, outer[each], sources, graph.inputs) for value in graph.outputs]
            changed |= now != sources[each]
            sources[each] = now
    return {each: _homes(each, sources[each]) for each in every}


def _homes(routine: Routine, sources: Sequence[frozenset[int | None]]) -> Homes:
    homes: Homes = {}
    for k, (type, of_one) in enumerate(zip(routine.types, sources, strict=True)):
        (source,) = of_one if len(of_one) == 1 else (None,)
        if source is not None and source not in homes.values() and _has_memory(type) and (
                _graph(routine).inputs[source].type == type):
            homes[k] = source
    return homes


def _has_memory(type: Type) -> bool:
    """Whether a value of the type is an array or list in memory."""
    return isinstance(type, ListType) or bool(type.shape)


def _sources(value: GraphValue, outer: dict[GraphValue, list[GraphValue]],
             known: dict[Routine, list[frozenset[int | None]]], inputs: Sequence[GraphValue]) -> frozenset[int | None]:
    """The inputs of a graph of which a value is an updated form; None stands for other origins. `outer`: see
    `_outer_values`."""
    found: set[int | None] = set()
    visited: set[GraphValue] = set()
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value in visited:
            continue
        visited.add(value)
        if value in inputs:
            found.add(inputs.index(value))
            continue
        more = outer.get(value) if value.node is None else _updated(value, value.node, known)
        if more is None:
            return frozenset([None])
        waiting += more
    return frozenset(found)


def _updated(value: GraphValue, node: Node, known: dict[Routine, list[frozenset[int | None]]]
             ) -> list[GraphValue] | None:
    """The values of which a result of a node is an updated form; None if that is not known."""
    name, at = node.op.name, node.outputs.index(value)
    if name in _UPDATES and at == 0:
        return [node.inputs[0]]
    if name == "cond":
        return [graph.outputs[at] for graph in node.subgraphs.values()]
    if name in ("while_loop", "reduce"):
        return [node.operands[len(node.operands) - len(node.outputs) + at], node.params["body"].outputs[at]]
    if name == "call":
        sources = known[node.params["function"]][at]
        return None if None in sources else [node.inputs[k] for k in sources if k is not None]
    return None


def _outer_values(top: Graph) -> dict[GraphValue, list[GraphValue]]:
    """By captures, and by inputs of loops' subgraphs, the values that they may be: the outer one, or the first and
    next."""
    found: dict[GraphValue, list[GraphValue]] = {}
    for node in top.walk():
        at = len(node.operands)
        for graph in node.subgraphs.values():
            for _, inner in graph.captures:
                found[inner] = [node.inputs[at]]
                at += 1
            if node.op.name in ("while_loop", "reduce"):
                state = node.operands[len(node.operands) - len(node.outputs):]
                for value, first, last in zip(graph.inputs[len(graph.inputs) - len(state):], state,
                                              node.params["body"].outputs, strict=True):
                    found[value] = [first, last]
    return found


# The functions.

def _ends_in_call(graph: Graph) -> bool:
    """Whether a graph may end in a call of a routine."""
    last = graph.nodes[-1] if graph.nodes else None
    if last is None or last.op.name != "cond":
        return last is not None and last.op.name == "call"
    return any(map(_ends_in_call, last.subgraphs.values()))


class Function:
    """The function of a routine: its name and signature, and the code of calls."""

    def __init__(self, name: str, routine: Routine, homes: Homes) -> None:
        self.name, self.routine, self.homes = name, routine, homes
        self.types = routine.types
        self.inputs: list[Type] = [value.type for value in _graph(routine).inputs]
        self.counts = _ends_in_call(_graph(routine))  # whether it is passed its depth
        self.runs_python = any(changes_any(inner) for each in reached(routine) for inner in _graph(each).walk()
                               if inner.op.name != "call")  # so that it may change variables of the caller
        self.made = [k for k, type in enumerate(self.types) if _has_memory(type) and k not in homes]
        returned = ["i32"]
        for k, type in enumerate(self.types):
            if isinstance(type, ListType):
                returned.append("i64")
            elif not type.shape:
                returned.append(llvm_type(type.dtype))
            elif k not in homes:
                returned += ["i64"] * type.shape.count(None)
        self.returned = f"{{ {', '.join(returned)} }}"

    def call(self, w: Lowering, node: Node, values: Sequence[Value]) -> list[Value]:
        """Write a call."""
        b = w.b
        arrays: dict[int, Leaf] = {}
        lists: dict[int, Listed] = {}
        if self.runs_python:
            w.flush()
        args = [w.frame, *[w.depth] * self.counts] if isinstance(w, RoutineLowering) else [
            w.frame, *[const("i64", 0)] * self.counts]
        kept = {source: k for k, source in self.homes.items()}
        for k, (type, x) in enumerate(zip(self.inputs, values, strict=True)):
            if isinstance(type, ListType):
                lists[k] = _writable_list(w, k, x, type) if k in kept else _list(w, x, type)
                args += [lists[k].pair, lists[k].length]
                continue
            if not type.shape:
                args.append(w.element(x))
                continue
            leaf = _writable(w, k, x) if k in kept else w.leaf(x)
            arrays[k] = leaf
            args += [leaf.pointer, *_unknown(w, type, leaf.dims)]
        places: dict[int, Val] = {}
        for k in self.made:
            type = self.types[k]
            if isinstance(type, ListType):
                places[k] = w.new_list(type, const("i64", 0)).pair
                args.append(places[k])
                continue
            sizes = [size for size in type.shape if size is not None]
            places[k] = w.pair(w.new_slot()) if None in type.shape else w.result(node.outputs[k], sizes).pointer
            args.append(places[k])
        result = b.op(self.returned, f"call fastcc {self.returned} @{self.name}({', '.join(map(str, args))})")
        status = b.op("i32", f"extractvalue {result}, 0")
        with b.when(b.icmp("ne", status, const("i32", 0))):
            self.failed(w, status)
        if self.runs_python:
            w.reload()
        return self.results(w, result, arrays, lists, places)

    def results(self, w: Lowering, result: Val, arrays: dict[int, Leaf], lists: dict[int, Listed],
                places: dict[int, Val]) -> list[Value]:
        """Unpack the results of a call."""
        b, at = w.b, 0

        def word(ty: str) -> Val:
            nonlocal at
            at += 1
            return b.op(ty, f"extractvalue {result}, {at}")

        found: list[Value] = []
        for k, type in enumerate(self.types):
            if isinstance(type, ListType):
                pair = lists[self.homes[k]].pair if k in self.homes else places[k]
                found.append(Listed(type.element.dtype, tuple(type.element.shape), pair, word("i64")))
            elif not type.shape:
                found.append(Scalar(type.dtype, word(llvm_type(type.dtype))))
            elif k in self.homes:
                x = arrays[self.homes[k]]
                found.append(Leaf(x.dtype, x.dims, x.pointer, scratch=True, bases=x.bases))
            else:
                dims: list[Index] = [word("i64") if size is None else size for size in type.shape]
                pointer = b.load("ptr", places[k]) if None in type.shape else places[k]
                found.append(Leaf(type.dtype, dims, pointer, scratch=True))
        return found

    def failed(self, w: Lowering, status: Val) -> None:
        """Leave the caller with the status of a call that failed."""
        if isinstance(w, RoutineLowering):
            w.end(status)
            return
        dirty = w.dirty
        if self.runs_python:
            w.dirty = {}  # the variables were written back before the call
        with w.b.when(w.b.icmp("eq", status, const("i32", _DEEP))):
            w.refuse(RecursionError, too_deep(self.routine.name), self.routine.position)
        for each in (1, REFUSED):
            with w.b.when(w.b.icmp("eq", status, const("i32", each))):
                w.leave(each)
        w.leave(INTERRUPTED)
        w.dirty = dirty


def _list(w: Lowering, x: Value, type: ListType) -> Listed:
    """The list in native memory."""
    found = w.as_type(x, type)
    assert isinstance(found, Listed)
    return found


def _writable_list(w: Lowering, operand: int, x: Value, type: ListType) -> Listed:
    """A list that a call may change: the operand's memory if it is dead afterwards, else a copy."""
    found = _list(w, x, type)
    return found if w.owns(operand, found) else w.copy_list(found)


def _unknown(w: Lowering, type: TensorType, dims: Sequence[Index]) -> list[Val]:
    return [w.b.i64(size) for size, known in zip(dims, type.shape, strict=True) if known is None]


def _writable(w: Lowering, operand: int, x: Value) -> Leaf:
    """An array that a call may write: the operand's memory if it is dead afterwards, else a copy."""
    leaf = w.leaf(x)
    if w.overwritable(operand, leaf):
        return leaf
    made = w.memory(leaf.dtype, leaf.dims)
    w.copy(leaf, made.pointer)
    return made


class RoutineLowering(Lowering):
    """Writes the function of a routine, in the module of another graph."""

    is_whole = False

    def __init__(self, outer: Lowering, function: Function) -> None:
        graph = _graph(function.routine)
        super().__init__(graph)
        self.outermost: Lowering = outer.outermost if isinstance(outer, RoutineLowering) else outer
        self.function = function
        for name in ("flags", "module", "call_sites", "constants", "refusals", "called_back", "direct", "sources"):
            setattr(self, name, getattr(outer, name))
        b = self.b
        b.module, b.flags = outer.module, outer.b.flags
        b.credit = Val("ptr", "%credit")
        b.types.update({"%slots": "ptr", "%credit": "ptr"})
        self.first_slot = Val("ptr", "%slots"), 0
        self.on_stack = _STACK
        self.loops = 1  # it may run as often as a loop's body
        self.guarded = False  # whether this path has checked the stack
        self.depth = const("i64", 0)  # of the calls
        self.status = b.alloca("i32")
        self.leaving = b.label("leave")
        self.exits.append(lambda status: self.end(const("i32", status)))

    def end(self, status: Val) -> None:
        """Return without results."""
        self.b.store(status, self.status)
        self.b.jump(self.leaving)

    def run(self, graph: Graph, env: dict[GraphValue, Value]) -> list[Value]:
        guarded = self.guarded
        results = super().run(graph, env)
        self.guarded = guarded
        return results

    def new_object(self) -> int:
        """A slot of the call from Python: nested calls share it, as lists are objects only for a kernel's call."""
        return self.outermost.new_object()

    def node(self, node: Node, *args: Any) -> Sequence[Value]:
        if node.op.name in LOOPS and any(x.op.name == "call" for each in node.subgraphs.values() for x in each.walk()):
            self.guard(False)  # the loop polls
        return super().node(node, *args)

    def guard(self, polls: bool = True) -> None:
        """Before a call, or a loop with calls: check that the stack has space, and poll for signals now and then."""
        if self.guarded:
            return
        self.guarded = True
        b = self.b
        b.module.declare("llvm.stacksave", "ptr")
        deep = b.icmp("ult", b.op("ptr", "call ptr @llvm.stacksave()"), self.word(STACK_WORD))
        if self.function.counts:
            deep = b.or_(deep, b.icmp("ugt", self.depth, const("i64", _DEEPEST)))
        with b.when(deep):
            self.end(const("i32", _DEEP))
        if polls:
            self.poll(cost_of(self, self.graph))

    def kernel(self, node: Node, values: Sequence[Value], why: str = "") -> list[Value]:
        """Copies the results of a kernel: their memory lasts only until the site runs again, perhaps in a nested
        call."""
        return [self._copied(x) if isinstance(x, Leaf) else x for x in super().kernel(node, values, why)]

    def _copied(self, x: Leaf) -> Leaf:
        made = self.memory(x.dtype, x.dims)
        self.copy(x, made.pointer)
        return made

    # The function.

    def write(self) -> None:
        """Add the function to the module."""
        b, graph, function = self.b, self.graph, self.function
        params = ["ptr noalias %frame"]

        def parameter(ty: str) -> Val:
            name = f"%a{len(params)}"
            params.append(f"{ty} {name}")
            b.types[name] = ty
            return Val(ty, name)

        if function.counts:
            self.depth = b.add(parameter("i64"), const("i64", 1))
        env: dict[GraphValue, Value] = {}
        written = set(function.homes.values())
        for k, (value, type) in enumerate(zip(graph.inputs, function.inputs, strict=True)):
            if isinstance(type, ListType):
                pair, length = parameter("ptr"), parameter("i64")
                env[value] = Listed(type.element.dtype, tuple(type.element.shape), pair, length, k in written)
                continue
            if not type.shape:
                env[value] = Scalar(type.dtype, parameter(llvm_type(type.dtype)))
                continue
            pointer = parameter("ptr")
            dims: list[Index] = [parameter("i64") if size is None else size for size in type.shape]
            env[value] = Leaf(type.dtype, dims, pointer, scratch=k in written)
        inputs = [env[value] for value in graph.inputs]
        places = {k: parameter("ptr") for k in function.made}
        for outer, inner in graph.captures:
            env[inner] = self.captured(outer, inner.type)
        self._find_finals(places)
        results = self.run(graph, env)
        if b.done:  # an exception was surely raised: results are written in an unreachable block
            b.start(b.label("never"))
        returned = self._deliver(inputs, results, places)
        self._close(returned)
        assert not self.storages
        attributes = "nounwind" if function.counts else 'nounwind "disable-tail-calls"="true"'
        text = b.function(f"internal fastcc {function.returned} @{function.name}({', '.join(params)}) {attributes}")
        b.module.parts += _unrolled(text, function.name) if self._is_small() else [text]

    def _is_small(self) -> bool:
        """Whether a call takes little time, and no stack for arrays and slots."""
        return not self.stack and not self.slots and len(self.b.lines) < _SMALL

    def _find_finals(self, places: dict[int, Val]) -> None:
        """Record the destinations of results of known shapes."""
        own = frozenset(self.graph.nodes)
        for k, place in places.items():
            value, type = self.graph.outputs[k], self.function.types[k]
            if isinstance(type, ListType) or None in type.shape:
                continue
            if value.node in own and value not in self.finals:
                self.finals[value] = Leaf(type.dtype, [d for d in type.shape if d is not None], place, scratch=True)

    def _deliver(self, inputs: Sequence[Value], results: Sequence[Value], places: dict[int, Val]) -> list[Val]:
        """Store the arrays among the results; returns the function's results besides its status."""
        b, returned = self.b, list[Val]()
        stores: list[tuple[Array, Leaf]] = []
        last: list[tuple[Leaf, Leaf]] = []  # into inputs, which the other results may read
        lists: list[tuple[Listed, Value | Val]] = []
        for k, (type, x) in enumerate(zip(self.function.types, results, strict=True)):
            if isinstance(type, ListType):
                mine = _list(self, x, type)
                returned.append(mine.length)
                lists.append((mine, inputs[self.function.homes[k]] if k in self.function.homes else places[k]))
                continue
            if not type.shape:
                returned.append(self.element(x))
                continue
            assert isinstance(x, Array)
            if isinstance(x, (Map, Joined)) and x.leaf is not None:
                x = x.leaf
            if k in self.function.homes:
                home = inputs[self.function.homes[k]]
                assert isinstance(home, Leaf)
                if not (isinstance(x, Leaf) and x.flat and x.pointer.ref == home.pointer.ref):
                    last.append((self._unaliased(x), home))
                continue
            returned += _unknown(self, type, x.dims)
            if x is self.finals.pop(self.graph.outputs[k], None):
                continue  # it is there already
            pointer = places[k]
            if None in type.shape:
                pointer = self.reserved(pointer, b.room(x.dims, type.dtype.size))
            target = Leaf(type.dtype, x.dims, pointer)
            if isinstance(x, Leaf) and x.flat:
                self.copy(x, pointer)
            else:
                stores.append((x, target))
        self.store_all(stores)
        for source, home in last:
            self.copy(source, home.pointer)
        self._deliver_lists(lists)
        return returned

    def _deliver_lists(self, lists: Sequence[tuple[Listed, Value | Val]]) -> None:
        """Copy lists among the results to their destinations; into inputs last, as the others may be in their
        memory."""
        homes = {x.pair.ref for _, x in lists if isinstance(x, Listed)}
        last: list[tuple[Listed, Val]] = []
        for mine, place in lists:
            pair = place.pair if isinstance(place, Listed) else place
            assert isinstance(pair, Val)
            if isinstance(place, Listed) and mine.pair.ref != pair.ref:
                last.append((self.copy_list(mine) if mine.pair.ref in homes else mine, pair))
            elif mine.pair.ref != pair.ref:
                self.copy_list(mine, pair)
        for mine, pair in last:
            self.copy_list(mine, pair)

    def _unaliased(self, x: Array) -> Leaf:
        """The array in memory that does not belong to an input."""
        found = self.leaf(x)
        mine = found.scratch and found.flat and not any(name[:2] == "%a" for name in found.bases)
        return found if mine else self._copied(found)

    def _close(self, returned: Sequence[Val]) -> None:
        """Write the function's two exits: with results, and with an error."""
        b = self.b
        self._free()
        self._return([const("i32", 0), *returned])
        b.start(self.leaving)
        self._free()
        self._return([b.load("i32", self.status), *[Val(x.ty, "zeroinitializer") for x in returned]])
        b.entry[:0] = [
            f"  %credit = getelementptr i64, ptr %frame, i64 {CREDIT_WORD}",
            "  %table = getelementptr ptr, ptr %frame, i64 1", "  %constants = load ptr, ptr %table"]
        if self.slots:
            b.module.declare("llvm.memset.p0.i64", "void", "ptr", "i8", "i64", "i1")
            b.entry[:0] = [
                f"  %slots = alloca i64, i64 {max(PAIR * self.slots, _LEAST)}, align 8",
                f"  call void @llvm.memset.p0.i64(ptr %slots, i8 0, i64 {8 * PAIR * self.slots}, i1 false)"]

    def _return(self, values: Sequence[Val]) -> None:
        """Return a struct. All returns build it alike, so that LLVM merges its fields in phis where a call is
        inlined."""
        b, ty = self.b, self.function.returned
        value = Val(ty, "poison")
        for k, x in enumerate(values):
            value = b.op(ty, f"insertvalue {value}, {x}, {k}")
        b.line(f"ret {value}")

    def _free(self) -> None:
        """Free the memory of the slots."""
        b = self.b
        for slot in range(self.slots):
            pair = self.pair(slot)
            b.module.declare(RELEASE, "void", "ptr", "i64")
            with b.when(b.icmp("ne", b.load("ptr", pair), Val("ptr", "null"))):
                b.call("void", RELEASE, pair, const("i64", 1))


def _unrolled(text: str, name: str) -> list[str]:
    """The function unrolled once: as two functions that call each other, the second of which is always inlined."""
    head, _, rest = text.partition("\n")
    if f"@{name}(" not in rest:
        return [text]
    inner = head.replace(f"@{name}(", f"@{name}.inner(").removesuffix("{") + "alwaysinline {"
    return ["\n".join([head, rest.replace(f"@{name}(", f"@{name}.inner(")]), "\n".join([inner, rest])]


def function_of(w: Lowering, routine: Routine) -> Function:
    """The function of a routine in the module of `w`, written at the first request; NotNative if it has none."""
    known: dict[Routine, Function] = w.direct
    if routine not in known:
        why = why_not_direct(routine)
        if why is not None:
            raise NotNative(why)
        missing = [(each, homes) for each, homes in homes_of(routine).items() if each not in known]
        new = [Function(f"routine{k}", each, homes) for k, (each, homes) in enumerate(missing, len(known))]
        known.update({function.routine: function for function in new})
        for function in new:
            RoutineLowering(w, function).write()
    return known[routine]


@lowers("call")
def call(w: Lowering, node: Node, *values: Value) -> list[Value]:
    function = function_of(w, node.params["function"])
    if isinstance(w, RoutineLowering):
        w.guard()
    else:
        w.long = w.module.by_items = True
    return function.call(w, node, values)

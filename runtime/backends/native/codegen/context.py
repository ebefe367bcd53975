"""From a graph to the text of one LLVM function.

Nodes are lowered in order. Scalars become registers at once; arrays become expressions (`index_expressions`), whose
loops are written where their elements are needed: by an effect, by an op that is not an expression, or at the end of a
graph. Before control flow is lowered, everything that its subgraphs capture is computed.

The function is `i32 body(ptr frame, ptr args)`; jit/call_abi.py writes its prologue and epilogue. It returns 0, or 1
if an exception is in the `Call`, 2 for a refusal, 4 if an exception is in the frame. `args` holds the addresses of the
inputs' data followed by their unknown dimensions, the same for variables, and the addresses of memory for the outputs.
The frame is an array of words: the addresses of the function that calls Python back, of a table of the constants'
addresses, and of the number of threads; three words of an exception; the time of the last poll for signals; the number
of the refusal (an error that does not need Python, such as out of memory); two words for recursion
(`runtime.backends.native.abi.stack`); then pairs of address and capacity: memory that is reused by the next call. Each
callback to Python is a numbered `Site` (`runtime.backends.native.abi.callbacks`).

No size overflows: a tensor has at most MAX_BYTES; sizes that a graph computes are checked before they are used
(`shapes.check_sizes`), and so is each new shape (`Lowering.check_room`); for known sizes the checks fold to constants.

Variables are values, too: an assignment makes a new value. The state of control flow includes the variables that it
assigns, or all variables if Python code runs in it. They are written back when the function ends, before an exception
leaves it, and before Python code runs that may read them; after such code they are read again.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from runtime.backends.native.abi import callbacks
from runtime.backends.native.abi.interrupts import ASK, INSIST, INTERRUPTED, charge, poll
from runtime.backends.native.codegen import fusion
from runtime.backends.native.codegen.element_views import Update
from runtime.backends.native.codegen.failures import Failures
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Context, Leaf, Listed, Map, Scalar, reads
from runtime.backends.native.codegen.known_sizes import KnownSizes
from runtime.backends.native.codegen.list_storage import FIRST_SLOT, listed
from runtime.backends.native.codegen.parallel import WORTH, region
from runtime.backends.native.codegen.piecewise_arrays import Joined, split
from runtime.backends.native.codegen.scalar_ops import ELEMENTWISE, literal, llvm_type
from runtime.backends.native.codegen.variables import Variable, WriteBacks, changes_any, variables_of
from runtime.backends.native.llvm.builder import Builder, Index, Module, Val, const
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import DType, ListType, TensorType, Type, dtype_of

__all__ = [
    "FIRST_SLOT", "LOWERINGS", "Lowering", "NotNative", "Value", "listed", "lowers",
]

Value = Scalar | Array | Boxed | Listed
_STACK: Final = 4096  # bytes: arrays of known size up to this are on the stack
_STACK_ALL: Final = 1 << 18
_PARTS: Final = {*ELEMENTWISE, "cast", "dim", "getitem", "concat", "pad"}  # read joined arrays without copying them
_AT_ONCE: Final = 1024  # steps of a loop of unknown size between two polls for signals
_ROWS_AT_ONCE: Final = 64  # the same for rows
_FEW: Final = 4096  # bytes: copying them takes negligible time
_COPIED: Final = 32  # bytes per nanosecond, at most
_HEAVY: Final = 300  # an expression of this weight is stored, so that expressions do not grow without bound

LOWERINGS: Final[dict[str, Callable[..., Any]]] = {}
"""Lowerings by the name of an op: `(lowering, node, *values) -> value or values`."""


class NotNative(Exception):
    """A lowering does not support this case, for the reason given: the op's kernel is called instead."""


def lowers(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a lowering for ops."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            LOWERINGS[name] = function
        return function

    return register


class Lowering(Failures):
    """Generates the code of one graph, and collects what a call of it needs besides."""

    is_whole = True  # not the code of a subgraph

    def __init__(self, graph: Graph, fast_math: bool = False, fma: bool = True, vector_bits: int = 512) -> None:
        self.graph = graph
        self.sizes = KnownSizes()
        self.module = Module(fma, vector_bits)
        self.flags = "fast" if fast_math else ""
        self.b = Builder(self.module, self.flags)
        self.b.look = self.poll
        self.frame = Val("ptr", "%frame")
        self.args = Val("ptr", "%args")
        self.b.types.update({"%frame": "ptr", "%args": "ptr", "%constants": "ptr"})
        self.call_sites: list[callbacks.Site] = []
        self.constants: list[Any] = []  # arrays whose addresses are in the frame
        self.uniform: dict[str, Scalar] = {}  # by address, the number in large constants of one, such as np.full(n, -1)
        self.slots = 0  # number of pairs
        self.first_slot = Val("ptr", "%frame"), FIRST_SLOT  # the address of the pairs: a pointer and an offset in words
        self.on_stack = _STACK, _STACK_ALL  # the sizes up to which an array, and all, are on the stack
        self.objects = 0  # size of the table of objects
        self.loops = self.inside = 0  # current nesting depth of loops, and of parallel regions
        self.stack = 0
        self.blocked: list[Node] = []  # tiled loops
        self.laned: dict[Node, int | str] = {}  # SPMD loops: the number of lanes, or why they do not run in lanes
        self.ahead: dict[Node, int | str] = {}  # batched products: loop iterations per batch, or why not batched
        self.packed_operands: dict[Node, Any] = {}  # of products in loops: the packed loop-invariant right matrix
        self.by_packed: list[Node] = []  # products that use these
        self.swept: list[tuple[Node, int]] = []  # time-skewed loops, with the number of steps per pass over memory
        self.speculations: list[Node] = []  # loops with division speculation
        self.fused: list[tuple[list[str], Sequence[Index]]] = []  # ops that share a loop, and its shape
        self.in_bounds: frozenset[Node] = frozenset()  # indexing nodes whose bounds were checked before the loop
        self.current: Node | None = None  # the node being lowered
        self.refusals: list[callbacks.Refusal] = []  # errors that do not need Python, by number
        self.failing: dict[Any, str] = {}  # the blocks of checks that end a call, by what they report
        self.called_back: list[tuple[Node, str]] = []
        self.storages = variables_of(graph)
        self.variables: dict[Variable, Value] = {}
        self.write_backs = WriteBacks()
        self.sources: list[Any] = []  # of random numbers
        self.exits: list[Callable[[int], None]] = []  # targets of errors, the innermost last
        self.regions: dict[Any, Any] = {}  # the kept state of each enclosing `try`
        self.dirty: dict[Variable, None] = {}  # variables whose value Python does not have yet
        self.forced: list[list[Map | Joined]] = [[]]
        self.passed: set[tuple[GraphValue, int, Index]] = set()  # columns of indices known to be below these sizes
        self.positions: dict[tuple[Builder, str, str], Val] = {}  # by index and size of an axis, where an item is
        self.fitting: set[tuple[int | str, ...]] = set()  # the unknown sizes of shapes that have been checked
        self.placed: dict[GraphValue, int] = {}  # results that already have a slot in the table of objects
        self.env: dict[GraphValue, Value] = {}  # of the current graph: the values that are still live
        self.last: dict[GraphValue, int] = {}  # the number of the last node that uses a value
        self.users: dict[GraphValue, list[int]] = {}  # the numbers of all of them
        self.updates: dict[str, Update] = {}  # by their addresses, elements of lists that are changed in their places
        self.rows: dict[str, Update] = {}  # such rows as lists, by their `pair`
        self.node_index = -1  # that of the current node
        self.around: list[dict[GraphValue, Value]] = []  # `env` of the enclosing graphs
        self.lowered_early: dict[Node, Sequence[Value]] = {}  # results of nodes lowered with an earlier one
        self.added: list[Node] = []  # products fused with their accumulator
        self.outputs: list[tuple[str, Any]] = []  # of the graph, then the new arrays of `written`
        self.made_by: list[Node | None] = []  # the nodes of the outputs of known shapes
        self.written: list[Variable] = []
        self.overwritten: dict[str, int] = {}  # the inputs that may be written, by their pointers
        self.in_place: set[int] = set()  # the outputs whose values are stored into these inputs
        self.writes_late = False  # whether some are written after what follows in the graph
        self.restores = False  # whether an error restores them
        self.replaced: list[tuple[Leaf, Value]] = []  # what was written so far, and the contents before
        self.places: dict[GraphValue, Leaf] = {}  # the destination of a value, if it gets stored
        self.finals: dict[GraphValue, Leaf] = {}  # the same, for outputs: their destination
        self.direct: dict[Any, Any] = {}  # the functions of the module by the routines whose graphs they run
        self.long = False  # whether a call may take long, so that the GIL should be released

    # Memory.

    def word(self, index: int, ty: str = "ptr") -> Val:
        return self.b.load(ty, self.b.offset(self.frame, index, "i64"))

    def memory(self, dtype: DType, dims: Sequence[Index]) -> Leaf:
        """Memory for an array, allocated once: each execution of this code reuses it."""
        return Leaf(dtype, dims, self.allocate(dtype, dims), scratch=True)

    def result(self, value: GraphValue, dims: Sequence[Index]) -> Leaf:
        """Memory for a value: its destination if it is an output, else new memory."""
        assert isinstance(value.type, TensorType)
        return self.finals.get(value) or self.memory(value.type.dtype, dims)

    def allocate(self, dtype: DType, dims: Sequence[Index]) -> Val:
        open_ = [size for size in dims if isinstance(size, Val)]
        size = self.b.room([size for size in dims if not isinstance(size, Val)], dtype.size)
        most, of_all = self.on_stack
        if isinstance(size, int) and not open_ and size <= most and self.stack + size <= of_all:
            self.stack += size
            place = self.b.alloca("i8", max(size, 1), 64)
            return self.b.hidden(place) if dtype.is_complex and size > dtype.size else place
        return self.reserved(self.pair(self.new_slot()), size, *open_)

    def copy(self, source: Leaf, pointer: Val) -> None:
        """Copy all elements of an array in C order."""
        b = self.b
        if source.pointer.ref in self.uniform:
            number = Map("splat", source.dtype, source.dims, lambda b, x: x, [self.uniform[source.pointer.ref]], 0)
            self.store_all([(number, Leaf(source.dtype, source.dims, pointer))])
            return
        size = b.imul(b.product(source.dims), source.dtype.size)
        b.call("void", "llvm.memcpy.p0.p0.i64", pointer, source.pointer, b.i64(size), Val("i1", "false"))
        self.copied(size)

    def copied(self, size: Index) -> None:
        """Poll for signals after a copy of `size` bytes in a loop, if these may be many."""
        if self.loops and not (isinstance(size, int) and size < _FEW):
            self.poll(self.b.idiv(size, _COPIED))

    def leaf(self, x: Value) -> Leaf:
        """The value as an array in memory, in C order; a scalar is stored in a stack slot."""
        if isinstance(x, Scalar):
            cell = self.b.alloca("i8" if x.val.ty == "i1" else x.val.ty)
            self.b.store(x.val, cell)
            return Leaf(x.dtype, (), cell)
        assert isinstance(x, Array)
        self.note([x])
        found, done = fusion.materialize(self.b, self.memory, x, self.divide)
        self.forced[-1] += done
        return found

    def store_all(self, roots: Sequence[tuple[Array, Leaf]]) -> None:
        """Store arrays, those of one shape in one loop."""
        groups: list[list[tuple[Array, Leaf]]] = []
        for root in [part for x, target in roots for part in split(self.b, x, target)]:
            for group in groups:
                if fusion.same_dims(group[0][0].dims, root[0].dims):
                    group.append(root)
                    break
            else:
                groups.append([root])
        for group in groups:
            self.note([x for x, _ in group])
            self.forced[-1] += fusion.store_all(self.b, self.memory, group, self.divide)

    def divide(self, size: Index, work: int, step: int, part: fusion.Part, each: Index = 0) -> bool:
        """`fusion.Divide`: run `part` on several threads, or with polls in between."""
        if self.inside or (not work and each == 0):
            return False
        if not work:
            many = step * (_AT_ONCE if step > 1 else _ROWS_AT_ONCE)
            with self.b.loop(0, size, many) as start:
                part(self.b, start, self.b.intrinsic("smin", self.b.add(start, const("i64", many)), self.b.i64(size)))
                self.poll(self.b.imul(each, many))
            return True
        if work < WORTH:
            return False
        self.long = True
        return region(self, size, lambda start, stop: part(self.b, start, stop), step, work=work)

    def note(self, roots: Sequence[Array], *more: str) -> None:
        """Record for the report which ops a loop computes."""
        names = [*fusion.names(roots), *more]
        if len(names) > 1:
            self.fused.append((names, roots[0].dims))

    def element(self, x: Value) -> Val:
        """The value of a scalar, or of an array of one element."""
        if isinstance(x, Scalar):
            return x.val
        assert isinstance(x, Array)
        return x.at(Context(self.b), [0] * len(x.dims))

    def settle(self, x: Value) -> Value:
        """A value for use inside control flow: stored if recomputing it there is not cheap, or stores it again."""
        if isinstance(x, Map) and (x.weight > 1 or x.leaf is not None or x.place is not None):
            return self.leaf(x)
        if isinstance(x, Array) and not isinstance(x, (Leaf, Map)) and x.weight > 3:
            return self.leaf(x)
        return x

    def whole(self, x: Value, op: str) -> Value:
        """A value as the operand of op `op`: a concatenation is copied to memory, unless the op reads its pieces."""
        if not (isinstance(x, Array) and x.pieces):
            return x
        return x if op in _PARTS and not (isinstance(x, Joined) and not x.readable) else self.leaf(x)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Code that may not run: values stored inside are not available in memory afterwards."""
        self.forced.append([])
        yield
        for x in self.forced.pop():
            x.leaf = None

    # Python.

    def site(self, site: callbacks.Site) -> int:
        self.call_sites.append(site)
        return len(self.call_sites) - 1

    def ask(self, site: callbacks.Site, words: Sequence[Val], results: int = 0) -> tuple[Val, Val]:
        """Call a site with words; returns its status, and the address of the words."""
        space = self.stored(words, results)
        return self._asked(ASK, site, space), space

    def insist(self, site: callbacks.Site, words: Sequence[Val] | Val, results: int = 0) -> tuple[Val, Val]:
        """Call a site, retrying it if signals interrupt it. `words`: its words, or the address of stored words."""
        space = words if isinstance(words, Val) else self.stored(words, results)
        return self._asked(INSIST, site, space), space

    def _asked(self, function: str, site: callbacks.Site, space: Val) -> Val:
        self.module.declare(function, "i32", "ptr", "i32", "ptr", attributes="cold")
        return self.b.call("i32", function, self.frame, Val("i32", str(self.site(site))), space)

    def stored(self, words: Sequence[Val], results: int = 0) -> Val:
        """Store words on the stack, with space for result words."""
        space = self.b.alloca("i64", max(len(words), results, 1))
        for k, word in enumerate(words):
            self.b.store(word, self.b.offset(space, k, "i64"))
        return space

    def call_python(self, site: callbacks.Site, words: Sequence[Val] = (), results: int = 0) -> list[Val]:
        """Call a site with words, and return its result words; leave the function if it raised."""
        b = self.b
        status, space = self.ask(site, words, results)
        with b.when(b.icmp("ne", status, const("i32", 1))):
            self.leave(1)
        return [b.load("i64", b.offset(space, k, "i64")) for k in range(results)]

    def leave(self, status: int) -> None:
        """End the call without results. Assignments to variables take effect."""
        way = status, self.exits[-1] if self.exits else None
        values = {s: self.variables[s] for s in self.dirty}
        if not values or self.b.done:
            self.fail(status)
        else:
            self.write_backs.leave(self, way, values, lambda: self.fail(status))

    def fail(self, status: int) -> None:
        """Let an error leave the function, or the enclosing `try`: variables have been written back."""
        if self.exits:
            self.exits[-1](status)
            return
        replaced, self.replaced = self.replaced, []
        for part, old in reversed(replaced if not self.inside else []):
            self.put(part, old)
        self.replaced = replaced
        self.b.line(f"ret i32 {status}")

    def put(self, part: Leaf, x: Value) -> None:
        """Store a value of the same shape in a part of an array."""
        if isinstance(x, Array):
            self.store_all([(x, part)])
        else:
            part.store(self.b, [], self.element(x))

    def keep(self, part: Leaf) -> None:
        """Keep the contents of a part of an array until an error, which restores them."""
        if not part.dims:
            self.replaced.append((part, Scalar(part.dtype, part.at(Context(self.b), []))))
            return
        kept = self.memory(part.dtype, part.dims)
        self.store_all([(part, kept)])
        self.replaced.append((part, kept))

    def described(self, values: Sequence[Value], repeated: bool = False) -> tuple[list[Val], list[callbacks.Spec]]:
        """Words that describe values to Python, and their specs. `repeated`: of a splat only the scalar is stored."""
        words: list[Val] = []
        specs: list[callbacks.Spec] = []
        for x in values:
            if isinstance(x, Listed):
                x = self.boxed(x)
            if isinstance(x, Boxed):
                specs.append(x.place)
                continue
            one = repeated and isinstance(x, Map) and x.name == "splat" and isinstance(x.args[0], Scalar)
            leaf = self.leaf(x.args[0] if one else x)  # type: ignore[union-attr]
            words += [leaf.pointer, *[d for d in x.dims if isinstance(d, Val)]]
            dims = tuple([None if isinstance(d, Val) else d for d in x.dims])
            specs.append(callbacks.ArraySpec(leaf.dtype.np, dims, one))
        return words, specs

    def kernel(self, node: Node, values: Sequence[Value], why: str = "") -> list[Value]:
        """Call the op's NumPy kernel."""
        if node.op.foreign or changes_any(node):
            self.flush()
        words, specs = self.described(values)
        types = [value.type for value in node.outputs]
        places = [self.new_object() if isinstance(type, ListType) else None for type in types]
        count = sum(1 + len(type.shape) for type in types if isinstance(type, TensorType))
        results = iter(self.call_python(callbacks.KernelSite(node, specs, places), words, count))
        values = []
        for type, place in zip(types, places, strict=True):
            if place is not None:
                values.append(self.as_type(Boxed(place), type))
                continue
            assert isinstance(type, TensorType)
            pointer = self.b.op("ptr", f"inttoptr {next(results)} to ptr")
            sizes = [next(results) for _ in type.shape]
            dims = [size if known is None else known for known, size in zip(type.shape, sizes, strict=True)]
            values.append(Leaf(type.dtype, dims, pointer) if dims else Scalar(
                type.dtype, self.b.load(llvm_type(type.dtype), pointer)))
        if changes_any(node):
            self.reload()
        self.long = True
        self.called_back.append((node, why))
        return values

    # Variables.

    def read(self, storage: Any) -> Value:
        """The value of a variable. Its memory is not marked writable if an enclosing graph reads it, too."""
        x = self.variables[Variable(storage)]
        if isinstance(x, Leaf) and x.scratch and self.is_read_around(x):
            return Leaf(x.dtype, x.dims, x.pointer, x.strides, bases=x.bases)
        return x

    def is_read_around(self, x: Leaf) -> bool:
        """Whether a value of an enclosing graph reads the memory of `x`. (This includes captured values.)"""
        return any(reads(other, x) for env in self.around for other in env.values())

    def assign(self, storage: Any, x: Value) -> None:
        self.variables[Variable(storage)] = x if isinstance(x, Scalar) else self.leaf(x)
        self.dirty[Variable(storage)] = None

    def flush(self) -> None:
        """Write assigned values back to variables, before Python code runs."""
        if not self.dirty or self.b.done:
            return
        stores = list(self.dirty)
        words, specs = self.described([self.variables[s] for s in stores])
        status, _ = self.insist(callbacks.FlushSite([s.storage for s in stores], specs), words)
        with self.b.when(self.b.icmp("ne", status, const("i32", 1))):
            self.fail(1)

    def reload(self) -> None:
        """Read the values of variables from Python, which may have changed them."""
        if not self.variables:
            return
        stores = list(self.variables)
        count = sum(1 + len(s.type.shape) for s in stores)
        words = iter(self.call_python(callbacks.ReloadSite([s.storage for s in stores]), (), count))
        for storage in stores:
            pointer = self.b.op("ptr", f"inttoptr {next(words)} to ptr")
            self.variables[storage] = self.incoming(
                storage.type, pointer, [next(words) for _ in storage.type.shape])
        self.dirty.clear()

    def incoming(self, type: TensorType, pointer: Val, sizes: Sequence[Index]) -> Value:
        """An array from Python; its unknown dimensions are among `sizes`."""
        if not type.shape:
            return Scalar(type.dtype, self.b.load(llvm_type(type.dtype), pointer))
        dims = [size if known is None else known for known, size in zip(type.shape, sizes, strict=True)]
        return Leaf(type.dtype, dims, pointer)

    # The whole.

    def captured(self, outer: Any, type: Type) -> Value:
        """The value of an eager tensor or list that the graph captures."""
        if isinstance(type, ListType):
            place = self.new_object()
            self.call_python(callbacks.MoveSite([], {place: tuple(outer.items)}))
            return Boxed(place)
        return self.constant(outer._array)

    def constant(self, array: Any) -> Value:
        array = np.asarray(array)
        dtype = dtype_of(array)
        if not array.ndim:
            return Scalar(dtype, literal(dtype, array.item()))
        if array.size == 1:
            return Map("splat", dtype, array.shape, lambda b, x: x, [Scalar(dtype, literal(dtype, array.item()))], 0)
        self.constants.append(np.ascontiguousarray(array).reshape(array.shape))
        self.b.entry.append(f"  %constant{len(self.constants) - 1} = getelementptr ptr, ptr %constants, "
                            f"i64 {len(self.constants) - 1}")
        pointer = self.b.at_entry("ptr", f"load ptr, ptr %constant{len(self.constants) - 1}")
        if array.nbytes >= _WORTH_FILLING and _is_uniform(array):
            self.uniform[pointer.ref] = Scalar(dtype, literal(dtype, array.flat[0].item()))
        return Leaf(dtype, array.shape, pointer)

    def run(self, graph: Graph, env: dict[GraphValue, Value]) -> list[Value]:
        """Lower a graph's nodes; returns the values of its outputs."""
        fitting, self.fitting = self.fitting, set(self.fitting)
        sizes, self.sizes.vals = self.sizes.vals, dict(self.sizes.vals)
        positions, self.positions = self.positions, dict(self.positions)
        passed, self.passed = self.passed, set()  # the code may not run, or its values may differ elsewhere
        now = self.env, self.last, self.node_index
        self.around.append(self.env)
        results = self._run(graph, dict(env))
        self.around.pop()
        self.env, self.last, self.node_index = now
        self.passed, self.fitting, self.sizes.vals, self.positions = passed, fitting, sizes, positions
        return results

    def _run(self, graph: Graph, env: dict[GraphValue, Value]) -> list[Value]:
        """Lower the nodes; `env` maps the values that are still live."""
        self.sizes.name(env)
        users: dict[GraphValue, list[int]] = {}
        for i, node in enumerate(graph.nodes):
            for value in node.inputs:
                users.setdefault(value, []).append(i)
        for value in graph.outputs:
            users.setdefault(value, []).append(len(graph.nodes))
        last = {value: found[-1] for value, found in users.items()}
        for i, node in enumerate(graph.nodes):
            if self.b.done:  # an exception was surely raised
                return [self.undefined(value.type) for value in graph.outputs]
            dead = frozenset(k for k, value in enumerate(node.inputs)
                             if last[value] == i and node.inputs.count(value) == 1)
            self.nodes, self.users = graph.nodes, users
            results = self.lowered_early.pop(node) if node in self.lowered_early else self.node(
                node, [env[value] for value in node.inputs], dead, env, last, i)
            self.sizes.name(zip(node.outputs, results, strict=True))
            for value, x in zip(node.outputs, results, strict=True):
                if isinstance(x, Array):
                    x.uses = len(users.get(value, ()))
                    if isinstance(x, Map):
                        x.place = self.places.pop(value, None) or self.finals.get(value)
                    if isinstance(x, Map) and x.weight > _HEAVY:
                        x = self.leaf(x)
                env[value] = x
            for value in (*node.inputs, *node.outputs):
                if last.get(value, i) == i:
                    env.pop(value, None)
        return [env[value] for value in graph.outputs]

    def node(self, node: Node, values: list[Value], dead: frozenset[int], env: dict[GraphValue, Value],
             last: dict[GraphValue, int], node_index: int) -> Sequence[Value]:
        name = node.op.name
        self.current = node
        self.dead = dead
        self.operands = node.inputs
        self.env, self.last, self.node_index = env, last, node_index
        lowering = LOWERINGS.get(name)
        if lowering is None:
            return self.kernel(node, values, "no lowering")
        values = [self.whole(x, name) for x in values]
        mark = len(self.b.lines)
        try:
            result = lowering(self, node, *values)
        except NotNative as reason:
            assert len(self.b.lines) == mark, f"the lowering of {name} gave up too late"
            return self.kernel(node, values, str(reason))
        if result is None:
            return ()
        results = [result] if isinstance(result, (Scalar, Array, Boxed, Listed)) else result
        self.check_results(node, values, results)
        return results

    def overwritable(self, operand: int, x: Value, beside: Sequence[GraphValue | Variable] = ()) -> bool:
        """Whether the memory of operand number `operand` of the current node is dead after it, and may be written."""
        if not (isinstance(x, Leaf) and x.scratch and operand in self.dead):
            return False
        return self.unread(x, self.operands[operand], beside)

    def unread(self, x: Leaf, mine: GraphValue | Variable, beside: Sequence[GraphValue | Variable] = ()) -> bool:
        """Whether no value but `mine`, a value or a variable, reads the memory of `x` in this node or later. Values in
        `beside` are ignored: the caller knows that they do not."""
        if any(reads(other, x) for value, other in self.env.items()
               if value is not mine and value in self.last and value not in beside):
            return False
        if isinstance(mine, Variable) and self.is_read_around(x):
            return False
        return not any(reads(v, x) for variable, v in self.variables.items()
                       if variable != mine and variable not in beside)

    def needed(self, x: Array) -> Array:
        """`x` for a further use: stored in memory if it is used again and not cheap."""
        if isinstance(x, Map) and x.leaf is None and x.weight > fusion.CHEAP and x.uses > 1:
            return self.leaf(x)
        for part in reversed(fusion.shared([x])):  # the loop that stores one also stores its parts
            self.leaf(part)
        return x

    def undefined(self, type: Type) -> Value:
        """A placeholder, never used: zeros, or an empty list."""
        if isinstance(type, ListType):
            if listed(type):
                none = const("i64", 0)
                return self.new_list(type, none) if self.b.done else self.unwritten(type, none)
            place = self.new_object()
            self.call_python(callbacks.MoveSite([], {place: ()}))
            return Boxed(place)
        zero = Scalar(type.dtype, const(llvm_type(type.dtype), 0))
        if not type.shape:
            return zero
        return Map("splat", type.dtype, [size or 0 for size in type.shape], lambda b, x: x, [zero], 0)

    def poll(self, cost: Index) -> None:
        """Poll for signals in a loop whose iteration takes about `cost` nanoseconds."""
        poll(self.b, self.frame, cost, lambda: self.leave(INTERRUPTED))

    def charge(self, cost: Index) -> None:
        """Count code that has taken about `cost` nanoseconds, in a loop for the next poll of this loop."""
        if self.loops:
            charge(self.b, cost)
        else:
            self.poll(cost)

    def leave_if_stopped(self, status: Val) -> None:
        """Leave if `status` tells that a signal interrupted the preceding code, which polls for signals itself."""
        with self.b.when(self.b.icmp("ne", status, const("i32", 0))):
            self.leave(INTERRUPTED)


_WORTH_FILLING: Final = 1 << 16
"""The bytes from which on writing one number is quicker than copying a constant."""


def _is_uniform(array: np.ndarray) -> bool:
    """Whether all elements have the same bits."""
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return not (bits != bits[0]).any()

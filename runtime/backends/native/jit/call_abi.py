"""The calling convention from CPython to the code of a graph.

`body` is the function of a graph that `Lowering` writes. `runtime_call` is a C function for CPython (METH_FASTCALL)
that calls any body: `runtime_call(frame, *inputs, *variables, *outputs, *written, objects)`. Its arguments are NumPy
arrays, except `written`, the variables that are assigned, and `objects`, the list of the call's objects. It passes
addresses and unknown sizes of the arrays, as the words of its `self` describe, releases the GIL if the body may take
long, and returns None, or a number for an error. It makes the filled outputs read-only. Variables get their new arrays
before Python code runs again, so that no signal handler runs in between.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from sys import intern
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from runtime.backends.native.abi.allocator import DISOWN, FREE
from runtime.backends.native.abi.callbacks import AllocateSite, DeliverSite
from runtime.backends.native.abi.interrupts import ERROR_WORDS, INTERRUPTED
from runtime.backends.native.codegen.context import Lowering, Value
from runtime.backends.native.codegen.index_expressions import Array, Boxed, Leaf, Listed, Map, Scalar
from runtime.backends.native.codegen.piecewise_arrays import Joined
from runtime.backends.native.llvm.builder import Builder, Module, Val, const
from runtime.core.graph import Graph, Node
from runtime.core.graph import Value as GraphValue
from runtime.core.types import ListType, TensorType

__all__ = ["DATA", "DIMS", "ENTRY", "FLAGS", "NOT_PLAIN", "OTHER_SIZES", "PLAIN", "SYMBOLS", "TYPE", "WRITEABLE",
           "define_entry", "description", "field", "freeze", "restore", "write"]

ENTRY: Final = "runtime_call"
NOT_PLAIN: Final = 3  # the status for an array that is not aligned and in C order
OTHER_SIZES: Final = 5  # the status for sizes for which the code was not made

# Offsets in CPython's and NumPy's structures (64-bit builds; NumPy 1 and 2).
TYPE, _VALUE, DATA, DIMS, FLAGS = 8, 16, 16, 32, 64
PLAIN: Final = 0x0001 | 0x0100  # C_CONTIGUOUS, ALIGNED
WRITEABLE: Final = 0x0400

# The words that describe a body: its address, the number of arguments, the number of inputs among them, the number of
# words it takes, whether it may take long, how many variables it assigns. Then one word for each argument: a bit for
# each axis of unknown size, or -1 for a scalar. Then one for each assigned variable: the number of the argument with
# its new array, or ~number of an object.
_ARGUMENTS, _INPUTS, _WORDS, _LONG, _WRITTEN, _KINDS = 1, 2, 3, 4, 5, 6
_SCALAR: Final = -1
_ARRAY: Final = "runtime_name_of_array"
_NAME: Final = intern("array")  # the attribute of a variable
SYMBOLS: Final = {_ARRAY: id(_NAME), "PyArray_Type_": id(np.ndarray)}
"""Addresses of Python objects that this code uses."""


def write(w: Lowering, donated: Mapping[int, int] = MappingProxyType({}), overwritten: Collection[int] = ()) -> str:
    """The text of the module for the graph of `w`. `donated`: by output, the input whose memory it is to occupy; those
    in `overwritten` may be written before all outputs are computed."""
    _body(w, donated, overwritten)
    w.module.parts.append(w.b.function("i32 @body(ptr noalias %frame, ptr noalias %args) nounwind"))
    return w.module.text()


def _body(w: Lowering, donated: Mapping[int, int], overwritten: Collection[int]) -> None:
    """The code of `body`, from arguments to outputs."""
    b, graph = w.b, w.graph
    b.entry += ["  %table = getelementptr ptr, ptr %frame, i64 1", "  %constants = load ptr, ptr %table"]
    env: dict[GraphValue, Value] = {}
    position = 0

    def argument() -> Val:
        nonlocal position
        position += 1
        return b.offset(w.args, position - 1, "i64")

    def fixed_size() -> Val:
        nonlocal position
        position += 1
        place = b.at_entry("ptr", f"getelementptr i64, {w.args}, i64 {position - 1}")
        size = b.at_entry("i64", f"load i64, {place}, align 8")
        b.fixed.add(size.ref)
        return size

    for number, value in enumerate(graph.inputs):
        type = value.type
        if isinstance(type, ListType):
            env[value] = Boxed(w.new_object())
            continue
        pointer = b.load("ptr", argument())
        if number not in donated.values():  # arrays that the call changes share no memory with others
            b.unwritten.add(pointer.ref)
        env[value] = w.incoming(type, pointer, [fixed_size() if size is None else size for size in type.shape])
        if number in overwritten and isinstance(found := env[value], Leaf):
            found.scratch = True
            w.overwritten[pointer.ref] = number
    for storage in w.storages:
        type = storage.type
        pointer = b.load("ptr", argument())
        w.variables[storage] = w.incoming(type, pointer, [
            b.load("i64", argument()) if size is None else size for size in type.shape])
    differ = w.sizes.differ(b, [env[value] for value in graph.inputs])
    if differ is not None:
        with b.when(differ):
            b.line(f"ret i32 {OTHER_SIZES}")
    for value in graph.inputs:
        env[value] = w.as_type(env[value], value.type)
    for outer, inner in graph.captures:
        env[inner] = w.as_type(w.captured(outer, inner.type), inner.type)
    _find_finals(w, graph, position, donated)
    results = w.run(graph, env)
    if b.done:  # an exception was surely raised: outputs are written in an unreachable block
        b.start(b.label("never"))
    _deliver(w, graph, results, argument, donated)
    b.line("ret i32 0")


def _find_finals(w: Lowering, graph: Graph, position: int, donated: Mapping[int, int]) -> None:
    """Record the destinations of outputs of known shapes, which are arguments from `position` on, so that results are
    computed in place."""
    own = frozenset(graph.nodes)
    for k, value in enumerate(graph.outputs):
        node, type = value.node, value.type
        if isinstance(type, ListType) or (None in type.shape and k not in donated):
            continue  # Python allocates it
        if node is not None and node.op.name.startswith("list_"):
            return  # Python may create the next outputs
        if k not in donated and node in own and type.shape and value not in w.finals:
            pointer = w.b.load("ptr", w.b.offset(w.args, position, "i64"))
            w.finals[value] = Leaf(type.dtype, [d for d in type.shape if d is not None], pointer, scratch=True)
        position += 1


def _deliver(w: Lowering, graph: Graph, results: Sequence[Value], argument: Callable[[], Val],
             donated: Mapping[int, int]) -> None:
    """Store outputs and variables where Python expects them."""
    flushed = [s for s in w.storages if s in w.dirty]
    wanted = [(value.type, x) for value, x in zip(graph.outputs, results, strict=True)]
    wanted += [(s.type, w.variables[s]) for s in flushed]
    w.written = flushed
    stores: list[tuple[Array, Leaf]] = []
    last: list[tuple[Leaf, Val]] = []  # into inputs, which the other results may read
    for k, (type, x) in enumerate(wanted):
        value = graph.outputs[k] if k < len(results) else None  # None: a variable's
        number = donated.get(k) if value is not None else None
        if value in w.placed:
            w.outputs.append(("object", w.placed.pop(value)))
            continue
        if isinstance(x, Listed):
            x = w.boxed(x, result=True)
        if isinstance(x, Boxed):
            w.outputs.append(("object", x.place))
            continue
        assert isinstance(type, TensorType)
        node = None if value is None else value.node
        is_given = None not in type.shape or number is not None
        if is_given:
            w.outputs.append(("array", type))
            w.made_by.append(node)
        pointer = w.b.load("ptr", argument()) if is_given else _allocated(w, x, node)
        if isinstance(x, Scalar):
            w.b.store(x.val, pointer)
            continue
        assert isinstance(x, Array)
        if isinstance(x, (Map, Joined)) and x.leaf is not None:
            x = x.leaf
        if value is not None and x is w.finals.pop(value, None):
            continue  # it is there already
        if number is not None:
            if isinstance(x, Leaf) and w.overwritten.get(x.pointer.ref) == number:
                w.in_place.add(number)
            else:
                last.append((_unaliased(w, x), pointer))
        elif isinstance(x, Leaf) and x.flat:
            _copy(w, x, pointer, may_be_there=not is_given)
        else:
            stores.append((x, Leaf(type.dtype, x.dims, pointer)))
    w.store_all(stores)
    for source, pointer in last:
        w.copy(source, pointer)


def _allocated(w: Lowering, x: Value, node: Node | None) -> Val:
    """The memory of an array that Python makes for an output of unknown shape: that of `x`, if nothing else needs
    it."""
    assert isinstance(x, Array)
    b, place = w.b, w.new_object()
    sizes = [b.i64(size) for size in x.dims]
    if isinstance(x, Leaf) and x.scratch and x.flat and x.pointer.ref not in w.uniform:
        base, first = w.first_slot
        size = b.i64(b.imul(b.product(x.dims), x.dtype.size))
        b.module.declare(DISOWN, "ptr", "ptr", "i64", "ptr", "i64")
        b.module.declare(FREE, "void", "ptr")
        given = b.call("ptr", DISOWN, b.offset(base, first, "i64"), const("i64", w.slots), x.pointer, size)
        owner = [b.op("i64", f"ptrtoint {pointer} to i64") for pointer in (given, Val("ptr", f"@{FREE}"))]
        (word,) = w.call_python(DeliverSite(x.dtype.np, len(sizes), place, node), [*sizes, *owner], 1)
    else:
        (word,) = w.call_python(AllocateSite(x.dtype.np, len(sizes), place, node), sizes, 1)
    w.outputs.append(("object", place))
    return b.op("ptr", f"inttoptr {word} to ptr")


def _copy(w: Lowering, x: Leaf, pointer: Val, may_be_there: bool) -> None:
    with w.b.when(w.b.icmp("ne", pointer, x.pointer)) if may_be_there else nullcontext():
        w.copy(x, pointer)


def _unaliased(w: Lowering, x: Array) -> Leaf:
    """The array in memory that only this call uses."""
    found = w.leaf(x)
    if found.scratch and found.flat:
        return found
    made = w.memory(found.dtype, found.dims)
    w.copy(found, made.pointer)
    return made


def description(w: Lowering, address: int) -> Any:
    """The int64 words that describe the body written by `write` to `runtime_call`, once its address is known."""
    types: list[TensorType] = [v.type for v in w.graph.inputs if not isinstance(v.type, ListType)]
    types += [storage.type for storage in w.storages]
    kinds = [sum(1 << axis for axis, size in enumerate(type.shape) if size is None) if type.shape else _SCALAR
             for type in types]
    inputs = len(kinds)
    words = sum(1 + type.shape.count(None) for type in types)
    sources: list[int] = []
    outputs = 0
    for kind, place in w.outputs:
        sources.append(inputs + outputs if kind == "array" else ~place)
        outputs += kind == "array"
    written = sources[len(w.graph.outputs):]
    return np.array([address, inputs + outputs, inputs, words + outputs, w.long, len(written),
                     *kinds, *[0] * outputs, *written], np.int64)


def define_entry(module: Module) -> None:
    for name, result, *types in (
            ("PyLong_FromLong", "ptr", "i64"), ("Py_IncRef", "void", "ptr"), ("PyEval_SaveThread", "ptr"),
            ("PyEval_RestoreThread", "void", "ptr"), ("PyObject_SetAttr", "i32", "ptr", "ptr", "ptr"),
            ("PyList_GetItem", "ptr", "ptr", "i64")):
        module.declare(name, result, *types)
    for name in ("_Py_NoneStruct", *SYMBOLS):
        module.globals[name] = "external global i8"
    module.define(ENTRY, "ptr", ["ptr", "ptr", "i64"], _entry, "nounwind", linkage="")


def field(b: Builder, obj: Val, offset: int, ty: str) -> Val:
    return b.load(ty, b.offset(obj, offset, "i8"))


def freeze(b: Builder, array: Val) -> None:
    """Make a result read-only."""
    place = b.offset(array, FLAGS, "i8")
    b.store(b.and_(b.load("i32", place), const("i32", ~WRITEABLE)), place)


def restore(b: Builder, frame: Val) -> None:
    """Raise a signal handler's exception, which a body stored in the frame."""
    b.module.declare("PyErr_Restore", "void", "ptr", "ptr", "ptr")
    b.call("void", "PyErr_Restore", *[b.load("ptr", b.offset(frame, ERROR_WORDS + k, "i64")) for k in range(3)])
    b.store(Val("ptr", "null"), b.offset(frame, ERROR_WORDS, "i64"))


def _entry(b: Builder, own: Val, argv: Val, _: Val) -> Val:
    zero, one = const("i64", 0), const("i64", 1)
    known = field(b, own, DATA, "ptr")
    body = b.load("ptr", known)
    count, inputs, words, long, written = (b.load("i64", b.offset(known, k, "i64")) for k in range(_ARGUMENTS, _KINDS))
    frame = field(b, b.load("ptr", argv), DATA, "ptr")
    args = b.op("ptr", f"alloca i64, i64 {words.ref}, align 8")

    def object_at(k: Val) -> Val:
        return b.load("ptr", b.offset(b.offset(argv, k, "ptr"), 1, "ptr"))

    def argument(k: Val, state: Sequence[Val]) -> list[Val]:
        at, flags = state
        obj = object_at(k)
        kind = b.load("i64", b.offset(b.offset(known, k, "i64"), _KINDS, "i64"))

        def of_scalar() -> list[Val]:  # includes NumPy's scalars
            array = b.icmp("eq", field(b, obj, TYPE, "ptr"), Val("ptr", "@PyArray_Type_"))
            (data,) = b.either(array, lambda: [field(b, obj, DATA, "ptr")], lambda: [b.offset(obj, _VALUE, "i8")])
            b.store(data, place)
            return [after, flags]

        def of_array() -> list[Val]:
            b.store(field(b, obj, DATA, "ptr"), place)
            dims = field(b, obj, DIMS, "ptr")

            def size(axis: Val, state: Sequence[Val]) -> list[Val]:  # if the axis is known, the next size overwrites it
                b.store(b.load("i64", b.offset(dims, axis, "i64")), b.offset(args, state[0], "i64"))
                return [b.add(state[0], b.and_(b.lshr(kind, axis), one))]

            highest = b.call("i64", "llvm.ctlz.i64", kind, const("i1", 0))
            (end,) = b.folded(zero, b.sub(const("i64", 64), highest), [after], size)
            return [end, b.and_(flags, field(b, obj, FLAGS, "i32"))]

        place, after = b.offset(args, at, "i64"), b.add(at, one)
        return b.either(b.icmp("slt", kind, zero), of_scalar, of_array)

    _, flags = b.folded(zero, count, [zero, const("i32", PLAIN)], argument)
    with b.when(b.icmp("ne", b.and_(flags, const("i32", PLAIN)), const("i32", PLAIN))):
        b.line(f"ret {b.call('ptr', 'PyLong_FromLong', const('i64', NOT_PLAIN))}")

    def aside() -> list[Val]:
        state = b.call("ptr", "PyEval_SaveThread")
        status = b.call_pointer("i32", body, frame, args)
        b.call("void", "PyEval_RestoreThread", state)
        return [status]

    (status,) = b.either(b.icmp("ne", long, zero), aside, lambda: [b.call_pointer("i32", body, frame, args)])
    with b.when(b.icmp("ne", status, const("i32", 0))):
        with b.when(b.icmp("eq", status, const("i32", INTERRUPTED))):
            restore(b, frame)
            b.line("ret ptr null")
        b.line(f"ret {b.call('ptr', 'PyLong_FromLong', b.convert('sext', status, 'i64'))}")
    with b.loop(inputs, count) as k:
        freeze(b, object_at(k))
    with b.loop(zero, written) as j:
        after = b.add(count, j)
        source = b.load("i64", b.offset(b.offset(known, after, "i64"), _KINDS, "i64"))

        def from_list() -> list[Val]:
            found = b.call("ptr", "PyList_GetItem", object_at(b.add(count, written)), b.not_(source))
            freeze(b, found)
            return [found]

        (array,) = b.either(b.icmp("slt", source, zero), from_list, lambda: [object_at(source)])
        b.call("i32", "PyObject_SetAttr", object_at(after), Val("ptr", f"@{_ARRAY}"), array)
    none = Val("ptr", "@_Py_NoneStruct")
    b.call("void", "Py_IncRef", none)
    return none

"""The way from CPython to the code of a graph.

`body` is the function of a graph that `Lowering` writes. `runtime_call` is a C function of CPython (METH_FASTCALL) that
calls any of them: `runtime_call(frame, *inputs, *variables, *outputs)`, of NumPy arrays. It takes addresses and unknown
sizes out of the arrays, as the words of its `self` tell it, lets other threads run where the body may take long, and
returns None, or a number that says what went wrong. Outputs that it has filled are read-only.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.execute.native.emit import Builder, Module, Val, const
from runtime.execute.native.lower import Lowering
from runtime.execute.native.signals import ERROR_WORDS, INTERRUPTED
from runtime.types import ListType, TensorType

__all__ = ["ENTRY", "NOT_PLAIN", "define_entry", "description", "write"]

ENTRY: Final = "runtime_call"
NOT_PLAIN: Final = 3  # the status for an array that is not in C order, aligned

# Where CPython's and NumPy's structures have what (64-bit builds; NumPy 1 and 2).
_TYPE, _VALUE, _DATA, _DIMS, _FLAGS = 8, 16, 16, 32, 64
_PLAIN: Final = 0x0001 | 0x0100  # C_CONTIGUOUS, ALIGNED
_WRITEABLE: Final = 0x0400

# The words that describe a body: its address, the number of arguments, how many of them are inputs, how many words it
# takes, whether it may take long. Then one for each argument: a bit for each axis of unknown size, or what it is.
_ARGUMENTS, _INPUTS, _WORDS, _LONG, _KINDS = 1, 2, 3, 4, 5
_SCALAR: Final = -1


def write(w: Lowering) -> str:
    """The text of the module for the graph of `w`."""
    w.body()
    w.module.parts.append(w.b.function("i32 @body(ptr noalias %frame, ptr noalias %args) nounwind"))
    return w.module.text()


def description(w: Lowering, address: int) -> Any:
    """What `runtime_call` has to know of the body that `write` wrote, once it is at an address: int64 words."""
    types: list[TensorType] = [v.type for v in w.graph.inputs if not isinstance(v.type, ListType)]
    types += [storage.type for storage in w.storages]
    kinds = [sum(1 << axis for axis, size in enumerate(type.shape) if size is None) if type.shape else _SCALAR
             for type in types]
    inputs = len(kinds)
    words = sum(1 + type.shape.count(None) for type in types)
    outputs = sum(kind == "array" for kind, _ in w.outputs)
    return np.array([address, inputs + outputs, inputs, words + outputs, w.long, *kinds, *[0] * outputs], np.int64)


def define_entry(module: Module) -> None:
    for name, result, *types in (
            ("PyLong_FromLong", "ptr", "i64"), ("Py_IncRef", "void", "ptr"), ("PyEval_SaveThread", "ptr"),
            ("PyEval_RestoreThread", "void", "ptr"), ("PyErr_Restore", "void", "ptr", "ptr", "ptr")):
        module.declare(name, result, *types)
    module.globals.update(_Py_NoneStruct="external global i8", PyArray_Type_="external global i8")
    module.define(ENTRY, "ptr", ["ptr", "ptr", "i64"], _entry, "nounwind", linkage="")


def _field(b: Builder, obj: Val, offset: int, ty: str) -> Val:
    return b.load(ty, b.offset(obj, offset, "i8"))


def _entry(b: Builder, own: Val, argv: Val, _: Val) -> Val:
    zero, one = const("i64", 0), const("i64", 1)
    known = _field(b, own, _DATA, "ptr")
    body = b.load("ptr", known)
    count, inputs, words, long = (b.load("i64", b.offset(known, k, "i64")) for k in range(_ARGUMENTS, _KINDS))
    frame = _field(b, b.load("ptr", argv), _DATA, "ptr")
    args = b.op("ptr", f"alloca i64, i64 {words.ref}, align 8")

    def argument(k: Val, state: Sequence[Val]) -> list[Val]:
        at, flags = state
        obj = b.load("ptr", b.offset(b.offset(argv, k, "ptr"), 1, "ptr"))
        kind = b.load("i64", b.offset(b.offset(known, k, "i64"), _KINDS, "i64"))

        def of_scalar() -> list[Val]:  # NumPy's scalars, too
            array = b.icmp("eq", _field(b, obj, _TYPE, "ptr"), Val("ptr", "@PyArray_Type_"))
            (data,) = b.either(array, lambda: [_field(b, obj, _DATA, "ptr")], lambda: [b.offset(obj, _VALUE, "i8")])
            b.store(data, place)
            return [after, flags]

        def of_array() -> list[Val]:
            b.store(_field(b, obj, _DATA, "ptr"), place)
            dims = _field(b, obj, _DIMS, "ptr")

            def size(axis: Val, state: Sequence[Val]) -> list[Val]:  # what is not asked for, the next one overwrites
                b.store(b.load("i64", b.offset(dims, axis, "i64")), b.offset(args, state[0], "i64"))
                return [b.add(state[0], b.and_(b.lshr(kind, axis), one))]

            highest = b.call("i64", "llvm.ctlz.i64", kind, const("i1", 0))
            (end,) = b.folded(zero, b.sub(const("i64", 64), highest), [after], size)
            return [end, b.and_(flags, _field(b, obj, _FLAGS, "i32"))]

        place, after = b.offset(args, at, "i64"), b.add(at, one)
        return b.either(b.icmp("slt", kind, zero), of_scalar, of_array)

    _, flags = b.folded(zero, count, [zero, const("i32", _PLAIN)], argument)
    with b.when(b.icmp("ne", b.and_(flags, const("i32", _PLAIN)), const("i32", _PLAIN))):
        b.line(f"ret {b.call('ptr', 'PyLong_FromLong', const('i64', NOT_PLAIN))}")

    def aside() -> list[Val]:
        state = b.call("ptr", "PyEval_SaveThread")
        status = b.call_pointer("i32", body, frame, args)
        b.call("void", "PyEval_RestoreThread", state)
        return [status]

    (status,) = b.either(b.icmp("ne", long, zero), aside, lambda: [b.call_pointer("i32", body, frame, args)])
    with b.when(b.icmp("ne", status, const("i32", 0))):
        with b.when(b.icmp("eq", status, const("i32", INTERRUPTED))):
            b.call("void", "PyErr_Restore", *[b.load("ptr", b.offset(frame, ERROR_WORDS + k, "i64"))
                                              for k in range(3)])
            b.store(Val("ptr", "null"), b.offset(frame, ERROR_WORDS, "i64"))
            b.line("ret ptr null")
        b.line(f"ret {b.call('ptr', 'PyLong_FromLong', b.convert('sext', status, 'i64'))}")
    with b.loop(inputs, count) as k:  # a result is read-only from now on
        place = b.offset(b.load("ptr", b.offset(b.offset(argv, k, "ptr"), 1, "ptr")), _FLAGS, "i8")
        b.store(b.and_(b.load("i32", place), const("i32", ~_WRITEABLE)), place)
    none = Val("ptr", "@_Py_NoneStruct")
    b.call("void", "Py_IncRef", none)
    return none

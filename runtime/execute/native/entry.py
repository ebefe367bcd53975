"""The whole module of a graph: its body, and the function through which CPython calls that.

`call(frame, *inputs, *variables, *outputs)` is a C function of CPython (METH_FASTCALL) of NumPy arrays. It takes
addresses and unknown sizes out of the arrays, lets other threads run where the body may take long, and returns None,
or a number that says what went wrong. Outputs that it has filled are read-only.
"""
from __future__ import annotations

from typing import Final

from runtime.execute.native.emit import Builder, Val, const
from runtime.execute.native.lower import ERROR_WORDS, INTERRUPTED, Lowering
from runtime.types import ListType, TensorType

__all__ = ["NOT_PLAIN", "write"]

NOT_PLAIN: Final = 3  # the status for an array that is not in C order, aligned

# Where CPython's and NumPy's structures have what (64-bit builds; NumPy 1 and 2).
_TYPE, _VALUE, _DATA, _DIMS, _FLAGS = 8, 16, 16, 32, 64
_PLAIN: Final = 0x0001 | 0x0100  # C_CONTIGUOUS, ALIGNED
_WRITEABLE: Final = 0x0400


def write(w: Lowering) -> str:
    """The text of the module for the graph of `w`."""
    w.body()
    module = w.module
    module.parts.append(w.b.function("internal i32 @body(ptr noalias %frame, ptr noalias %args) nounwind"))
    types: list[TensorType] = [v.type for v in w.graph.inputs if not isinstance(v.type, ListType)]
    types += [storage.type for storage in w.storages]
    types_in = len(types)
    types += [type for kind, type in w.outputs if kind == "array"]
    module.parts.append(_entry(w, types, types_in))
    return module.text()


def _entry(w: Lowering, types: list[TensorType], inputs: int) -> str:
    b = Builder(w.module)
    module = w.module
    module.declare("PyLong_FromLong", "ptr", "i64")
    module.declare("Py_IncRef", "void", "ptr")
    module.globals.update(_Py_NoneStruct="external global i8", PyArray_Type_="external global i8")
    argv = Val("ptr", "%argv")

    def field(obj: Val, offset: int, ty: str) -> Val:
        return b.load(ty, b.offset(obj, offset, "i8"))

    frame = field(b.load("ptr", argv), _DATA, "ptr")
    words: list[Val] = []
    outputs: list[Val] = []
    plain: Val | None = None
    for k, type in enumerate(types):
        obj = b.load("ptr", b.offset(argv, k + 1, "ptr"))
        if k >= inputs:
            words.append(field(obj, _DATA, "ptr"))
            outputs.append(obj)
            continue
        if not type.shape:
            array = b.icmp("eq", field(obj, _TYPE, "ptr"), Val("ptr", "@PyArray_Type_"))
            words += b.either(array, lambda obj=obj: [field(obj, _DATA, "ptr")],  # type: ignore[misc]
                              lambda obj=obj: [b.offset(obj, _VALUE, "i8")])  # type: ignore[misc]
            continue
        flags = b.and_(field(obj, _FLAGS, "i32"), const("i32", _PLAIN))
        good = b.icmp("eq", flags, const("i32", _PLAIN))
        plain = good if plain is None else b.and_(plain, good)
        words.append(field(obj, _DATA, "ptr"))
        dims = field(obj, _DIMS, "ptr")
        words += [b.load("i64", b.offset(dims, axis, "i64")) for axis, size in enumerate(type.shape) if size is None]
    if plain is not None:
        with b.when(b.not_(plain)):
            b.line(f"ret {b.call('ptr', 'PyLong_FromLong', const('i64', NOT_PLAIN))}")
    args = b.alloca("i64", max(len(words), 1))
    for k, word in enumerate(words):
        b.store(word, b.offset(args, k, "i64"))
    if w.long:
        module.declare("PyEval_SaveThread", "ptr")
        module.declare("PyEval_RestoreThread", "void", "ptr")
        state = b.call("ptr", "PyEval_SaveThread")
    status = b.call("i32", "body", frame, args)
    if w.long:
        b.call("void", "PyEval_RestoreThread", state)
    with b.when(b.icmp("eq", status, const("i32", INTERRUPTED))):
        module.declare("PyErr_Restore", "void", "ptr", "ptr", "ptr")
        b.call("void", "PyErr_Restore", *[b.load("ptr", b.offset(frame, ERROR_WORDS + k, "i64")) for k in range(3)])
        b.line("ret ptr null")
    with b.when(b.icmp("ne", status, const("i32", 0))):
        b.line(f"ret {b.call('ptr', 'PyLong_FromLong', b.convert('sext', status, 'i64'))}")
    for obj in outputs:  # a result is read-only from now on
        b.store(b.and_(field(obj, _FLAGS, "i32"), const("i32", ~_WRITEABLE)), b.offset(obj, _FLAGS, "i8"))
    none = Val("ptr", "@_Py_NoneStruct")
    b.call("void", "Py_IncRef", none)
    b.line(f"ret {none}")
    return b.function("ptr @call(ptr %self, ptr %argv, i64 %count)")

"""The fast path of a call: `fn(x)` goes from CPython to native code, if a trace for such arguments is cached.

`runtime_front` replaces the `tp_call` of the class. It finds the trace by the dtypes and shapes of tensors and arrays,
the types of Python numbers, and the values of the rest; allocates the result's array (or reuses that of an earlier
small result that nothing refers to), or those of a tuple of results, runs the body and makes the tensors; for a trace
that needs Python it calls a Python function with the arguments. All other calls go to the original slot, which calls
`__call__`: this defines what a call means, is what the class shows, and adds the traces that it finds to the table that
native code reads (`call_table.py`).
"""
from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, Final

import numpy as np

from runtime.backends.executable import Called
from runtime.backends.native.abi.interrupts import INTERRUPTED
from runtime.backends.native.jit.call_abi import (
    DATA,
    DIMS,
    FLAGS,
    OTHER_SIZES,
    PLAIN,
    TYPE,
    WRITEABLE,
    field,
    freeze,
    restore,
)
from runtime.backends.native.jit.tuple_results import MOST_RESULTS, TupleResults, declare_tuples
from runtime.backends.native.llvm.builder import Builder, Module, Val, const
from runtime.core.config import settings
from runtime.core.tensor import EagerTensor
from runtime.core.trace import open_traces

__all__ = [
    "ARRAY", "CALLS", "CELL", "FACTOR", "FRONT", "FRONT_SYMBOLS", "ITEMS_OF_LIST", "KEY", "MASK", "MOST_ARGUMENTS",
    "MOST_TAKEN", "MOST_WORDS", "OF_ARRAY", "OF_CELL", "OF_DICT", "OF_OBJECT", "PLACES", "RESULT", "RESULTS", "TENSOR",
    "VALUES",
    "define_front", "install", "is_possible", "kind_of", "words_of"]

FRONT: Final = "runtime_front"
_CALL: Final = 128  # offset of `tp_call` in a class
_SIZE, _RANK, _STRIDES, _BASE, _DTYPE, _REFERENCES = 16, 24, 40, 48, 56, 72  # of a tuple or dict; of an array
_FLOAT: Final = 16  # of the value of a float
ITEMS_OF_LIST: Final = 24  # offset of the address of a list's items
_KIND: Final = 24  # of a dtype: 8 bytes, of which the fourth is not part of the kind
_KIND_MASK: Final = ~(0xFF << 24)

MOST_ARGUMENTS: Final = 16
MOST_WORDS: Final = 48  # of a key
RESULT: Final = MOST_ARGUMENTS  # index of the address of the result
KEY: Final = MOST_ARGUMENTS + 1  # index of the first word of the key
RESULTS: Final = KEY + MOST_WORDS  # index of the first address of the results in a tuple
MOST_TAKEN: Final = 2 * MOST_ARGUMENTS + MOST_WORDS  # words of a body
FACTOR: Final = 0x9E3779B97F4A7C15  # for Fibonacci hashing

# The words of a table: the address of the count of calls; the arguments, one bit for each, whose values are in keys if
# they are numbers; the number of slots less one; and for each slot the address of an entry, or 0. The words of an
# entry: the length of its key; the address of the word with the time of the trace's last use; the addresses of the body
# and of its frame (without a body: 0, and the object to call with the arguments); whether the frame is in use; whether
# the body may take long; the object to call with the status of a call that fails, after which Python repeats the call
# if that does not raise; the object that a call returns, or 0 for a tensor of the new array; the dtype, rank and flags
# of that; the address of the arrays of the last two results, or 0; the number of words of the body; the address and
# number of the guards, each four words: its kind; the dict or weak reference, or 0; the key, or the address of the
# cell's content; and the expected object; the number of arguments that are arrays; and the number of results in a
# tuple, with the address of their description (`tuple_results.py`). Then the key: for each tensor or
# array its dtype with its rank, and its dimensions; for each number its class, and perhaps its value; for any other
# argument its address. Then for each word of the body its index in a buffer that has the address of the data of each
# argument, MOST_ARGUMENTS at most, then that of the result, and then the key. Then the dimensions and strides of the
# result. Then for each array the number of the argument, and its size in bytes.
CALLS, VALUES, MASK, PLACES = range(4)
(_KEY_SIZE, _USED, _BODY, _FRAME, _BUSY, _LONG, _FAILED, _RETURNED, _RESULT_DTYPE, _RESULT_RANK, _RESULT_FLAGS, _KEPT,
 _TAKEN, _GUARDS, _GUARD_COUNT, _ARRAY_COUNT, _COUNT, _RESULTS, _KEY) = range(19)
OF_CELL, OF_DICT, OF_OBJECT = range(3)
OF_ARRAY: Final = 0x80 << 24  # marks the dtype of an array of the caller's in a key


def words_of(obj: Any, size: int) -> list[int]:
    """The memory of an object as words."""
    return list((ctypes.c_size_t * (size // 8)).from_address(id(obj)))


def _place_of(part: Any, obj: Any, size: int) -> int:
    """The offset at which an object refers to `part`; 0 if it does not."""
    words = words_of(obj, size)
    return 8 * words.index(id(part)) if id(part) in words else 0


def _place_of_slot(cls: type, name: str) -> int:
    """The offset of the value of one of a class's `__slots__` in its objects."""
    mark = object()
    obj: Any = object.__new__(cls)
    setattr(obj, name, mark)
    return _place_of(mark, obj, cls.__basicsize__)


_MARK: Final = object()
_HALF: Final = 0.5
_ITEMS: Final = _place_of(_MARK, (_MARK,), tuple.__basicsize__ + 8)  # offset of a tuple's first item
CELL: Final = _place_of(_MARK, CellType(_MARK), CellType.__basicsize__)
_KNOWN: Final = _place_of_slot(Called, "_front")
ARRAY: Final = _place_of_slot(EagerTensor, "_array")
_EAGERLY: Final = _place_of_slot(type(settings), "run_eagerly")


def _call_of(cls: type) -> int:
    return words_of(cls, _CALL + 8)[-1]


class _Callable:
    def __call__(self) -> None: ...


class _Other:
    pass


def kind_of(dtype: Any) -> int:
    """What distinguishes the dtypes of tensors: the letters of kind, type and byte order, and the type number."""
    return int(ctypes.c_int64.from_address(id(dtype) + _KIND).value & _KIND_MASK)


@functools.lru_cache(maxsize=1)
def is_possible() -> bool:
    """Whether the structures of CPython and NumPy have the layout that native code expects. If not, in some later
    version, every call goes through Python. (Without a GIL there is no native code at all:
    `runtime.function.execution.executors`.)"""
    x = np.zeros((2, 3), np.float32)
    words = words_of(x, max(FLAGS, _REFERENCES) + 8)
    rank, flags = words[_RANK // 8] & 0xFFFFFFFF, words[FLAGS // 8] & 0xFFFFFFFF
    dims, strides = ([ctypes.c_int64.from_address(words[place // 8] + 8 * axis).value for axis in range(2)]
                     for place in (DIMS, _STRIDES))
    kind = kind_of(x.dtype).to_bytes(8, "little")
    return (all((_ITEMS, CELL, _KNOWN, ARRAY, _EAGERLY)) and _call_of(_Callable) != 0 == _call_of(_Other)
            and words_of((1, 2, 3), _SIZE + 8)[-1] == 3
            and ctypes.c_double.from_address(id(_HALF) + _FLOAT).value == _HALF
            and (words[DATA // 8], words[_DTYPE // 8]) == (x.ctypes.data, id(x.dtype))
            and (rank, dims, flags) == (2, [2, 3], x.flags.num)
            and (strides, words[_BASE // 8]) == ([12, 4], 0) and _can_keep(x)
            and kind[:4] == f"{x.dtype.kind}{x.dtype.char}{x.dtype.byteorder}\0".encode()
            and int.from_bytes(kind[4:], "little") == x.dtype.num)


def _can_keep(x: Any) -> bool:
    """Whether the reference count of an array, and the items of a list, are where native code expects them."""
    before = words_of(x, _REFERENCES + 8)
    items, reference = [x, x], weakref.ref(x)
    after = words_of(x, _REFERENCES + 8)
    pointers = (ctypes.c_size_t * 2).from_address(words_of(items, ITEMS_OF_LIST + 8)[-1])
    return (after[0] - before[0] == 2 and before[-1] == 0 and after[-1] == id(reference)
            and [*pointers] == [id(x), id(x)])


def _of_numpy(index: int) -> int:
    """The address of a function of NumPy's C API."""
    numpy: Any = np
    module = (numpy.core if np.__version__.startswith("1.") else numpy._core)._multiarray_umath
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(ctypes.c_size_t.from_address(get(module._ARRAY_API, None) + 8 * index).value)


_NEW, TENSOR, _FLOATS, _INTS, _TRACES, _SETTINGS, _PYTHON = (
    "PyArray_NewFromDescr", "runtime_tensor_class", "runtime_float_class", "runtime_int_class", "runtime_open_traces",
    "runtime_settings", "runtime_python_call")
FRONT_SYMBOLS: Final = {
    _NEW: _of_numpy(94), TENSOR: id(EagerTensor), _FLOATS: id(float), _INTS: id(int), _TRACES: id(open_traces),
    _SETTINGS: id(settings), _PYTHON: _call_of(_Callable)}
"""Addresses that this code uses."""


def install(front: int) -> None:
    """Let CPython call `runtime_front`, which is at the address `front`."""
    for obj in (EagerTensor, open_traces, settings):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(obj))  # kept alive also while the interpreter shuts down
    for cls in Called.__subclasses__():
        assert _call_of(cls) == FRONT_SYMBOLS[_PYTHON]
        ctypes.c_size_t.from_address(id(cls) + _CALL).value = front


def define_front(module: Module) -> None:
    """`ptr runtime_front(self, args, kwargs)`."""
    for name, result, *types in (
            (_NEW, "ptr", "ptr", "ptr", "i32", "ptr", "ptr", "ptr", "i32", "ptr"), ("PyDict_Size", "i64", "ptr"),
            ("PyDict_GetItem", "ptr", "ptr", "ptr"), ("PyObject_CallNoArgs", "ptr", "ptr"), ("PyErr_Clear", "void"),
            ("PyObject_GenericGetAttr", "ptr", "ptr", "ptr"),
            ("PyObject_VectorcallDict", "ptr", "ptr", "ptr", "i64", "ptr"), (_PYTHON, "ptr", "ptr", "ptr", "ptr"),
            ("PyType_GenericAlloc", "ptr", "ptr", "i64"), ("Py_IncRef", "void", "ptr"), ("Py_DecRef", "void", "ptr"),
            ("PyLong_AsLongLongAndOverflow", "i64", "ptr", "ptr"), ("PyLong_FromLong", "ptr", "i64"),
            ("PyObject_CallFunctionObjArgs", "ptr", "ptr", "ptr", "ptr"), ("PyEval_SaveThread", "ptr"),
            ("PyEval_RestoreThread", "void", "ptr")):
        module.declare(name, result, *types)
    declare_tuples(module)
    for name in (TENSOR, _FLOATS, _INTS, _TRACES, _SETTINGS, "_Py_FalseStruct", "PyArray_Type_"):
        module.globals[name] = "external global i8"
    module.define(FRONT, "ptr", ["ptr", "ptr", "ptr"], _call, "nounwind", linkage="")


def _call(b: Builder, own: Val, args: Val, kwargs: Val) -> Val:
    zero, one, null = const("i64", 0), const("i64", 1), Val("ptr", "null")
    python = b.label("python")

    def need(condition: Val) -> None:
        """Continue only if the condition is true; otherwise leave the call to Python."""
        on = b.label("on")
        b.branch(condition, on, python)
        b.start(on)

    front = field(b, own, _KNOWN, "ptr")
    need(b.icmp("ne", front, null))  # null for an object without `__init__`
    need(b.icmp("ne", field(b, front, _SIZE, "i64"), zero))
    need(_is(b, field(b, Val("ptr", f"@{_SETTINGS}"), _EAGERLY, "ptr"), "_Py_FalseStruct"))
    need(b.icmp("eq", b.call("i64", "PyDict_Size", Val("ptr", f"@{_TRACES}")), zero))
    with b.when(b.icmp("ne", kwargs, null)):
        need(b.icmp("eq", b.call("i64", "PyDict_Size", kwargs), zero))
    buffer = b.alloca("i64", RESULTS + MOST_RESULTS)
    key, arrays = b.offset(buffer, KEY, "i64"), b.alloca("ptr", MOST_ARGUMENTS)
    table = field(b, field(b, front, _ITEMS, "ptr"), DATA, "ptr")
    values = b.load("i64", b.offset(table, VALUES, "i64"))
    size, place = _read(b, args, arrays, buffer, key, values, need)
    entry = _find(b, table, key, size, place, need)

    def place_of(k: int) -> Val:
        return b.offset(entry, k, "i64")

    def word(k: int, ty: str = "i64") -> Val:
        return b.load(ty, place_of(k))

    _look(b, word(_GUARDS, "ptr"), word(_GUARD_COUNT), need)
    sources, taken, kept = b.offset(place_of(_KEY), size, "i64"), word(_TAKEN), word(_KEPT, "ptr")
    dims = b.offset(sources, taken, "i64")
    _check_overlaps(b, buffer, b.offset(dims, b.shl(word(_RESULT_RANK), one), "i64"), word(_ARRAY_COUNT), need)

    def count() -> None:
        calls = b.load("ptr", b.offset(table, CALLS, "i64"))
        number = b.add(b.load("i64", calls), one)
        b.store(number, calls)
        b.store(number, word(_USED, "ptr"))

    def leave(result: Val) -> None:
        b.call("void", "Py_DecRef", front)
        b.line(f"ret {result}")

    def go_to_python() -> None:
        b.call("void", "Py_DecRef", front)
        b.jump(python)

    body, frame = word(_BODY, "ptr"), word(_FRAME, "ptr")
    b.call("void", "Py_IncRef", front)
    with b.when(b.icmp("eq", body, null)):
        count()
        leave(b.call("ptr", "PyObject_VectorcallDict", frame, arrays, field(b, args, _SIZE, "i64"), null))
    with b.when(b.icmp("ne", word(_BUSY), zero)):  # in another thread, or in Python code that an error runs
        go_to_python()
    returned = word(_RETURNED, "ptr")
    several = TupleResults(b, word(_COUNT), word(_RESULTS, "ptr"), functools.partial(_new_array, b),
                           functools.partial(_new_tensor, b))
    several.make(b.offset(buffer, RESULTS, "i64"), leave)
    free = _free(b, kept, word, dims)

    def again() -> list[Val]:
        b.call("void", "Py_IncRef", free)
        _shift(b, kept, free)
        return [free]

    def new() -> list[Val]:
        made = _new_array(b, word(_RESULT_DTYPE, "ptr"), word(_RESULT_RANK), dims)
        with b.when(b.icmp("eq", made, null)):
            leave(null)
        return [made]

    def array() -> list[Val]:
        (result,) = b.either(b.icmp("ne", free, null), again, new)
        b.store(field(b, result, DATA, "i64"), b.offset(buffer, RESULT, "i64"))
        return [result]

    is_single = b.and_(b.icmp("eq", returned, null), b.icmp("eq", several.count, zero))
    (result,) = b.either(is_single, array, lambda: [null])
    words = b.alloca("i64", MOST_TAKEN)
    with b.loop(zero, taken) as k:
        source = b.load("i64", b.offset(sources, k, "i64"))
        b.store(b.load("i64", b.offset(buffer, source, "i64")), b.offset(words, k, "i64"))

    def aside() -> list[Val]:
        state = b.call("ptr", "PyEval_SaveThread")
        status = b.call_pointer("i32", body, frame, words)
        b.call("void", "PyEval_RestoreThread", state)
        return [status]

    b.store(one, place_of(_BUSY))
    (status,) = b.either(
        b.icmp("ne", word(_LONG), zero), aside, lambda: [b.call_pointer("i32", body, frame, words)])
    with b.when(b.icmp("ne", status, const("i32", 0))):
        with b.when(b.icmp("ne", result, null)):
            b.call("void", "Py_DecRef", result)
        several.drop()
        with b.when(b.icmp("eq", status, const("i32", INTERRUPTED))):
            restore(b, frame)
            b.store(zero, place_of(_BUSY))
            leave(null)
        with b.when(b.icmp("ne", status, const("i32", OTHER_SIZES))):
            number = b.call("ptr", "PyLong_FromLong", b.convert("sext", status, "i64"))
            nothing = b.call("ptr", "PyObject_CallFunctionObjArgs", word(_FAILED, "ptr"), number, null)
            b.call("void", "Py_DecRef", number)
            with b.when(b.icmp("eq", nothing, null)):
                b.store(zero, place_of(_BUSY))
                count()
                leave(null)
            b.call("void", "Py_DecRef", nothing)
        b.store(zero, place_of(_BUSY))
        go_to_python()
    b.store(zero, place_of(_BUSY))
    count()
    with b.when(b.icmp("ne", returned, null)):
        b.call("void", "Py_IncRef", returned)
        leave(returned)
    with b.when(b.icmp("ne", several.count, zero)):
        several.deliver(leave)
    freeze(b, result)
    with b.when(b.and_(b.icmp("eq", free, null), b.icmp("ne", kept, null))):
        older = b.load("ptr", kept)
        b.call("void", "Py_IncRef", result)
        _shift(b, kept, result)
        b.call("void", "Py_DecRef", older)
    b.call("void", "Py_DecRef", front)
    b.line(f"ret {_new_tensor(b, result)}")
    b.start(python)
    return b.call("ptr", _PYTHON, own, args, kwargs)


def _new_array(b: Builder, dtype: Val, rank: Val, dims: Val) -> Val:
    """A new array; null if there is no memory for it."""
    null = Val("ptr", "null")
    b.call("void", "Py_IncRef", dtype)  # the array steals the reference
    return b.call("ptr", _NEW, Val("ptr", "@PyArray_Type_"), dtype, b.convert("trunc", rank, "i32"), dims, null, null,
                  const("i32", 0), null)


def _new_tensor(b: Builder, array: Val) -> Val:
    """The tensor of an array, whose reference it takes; null if there is no memory for it."""
    tensor = b.call("ptr", "PyType_GenericAlloc", Val("ptr", f"@{TENSOR}"), const("i64", 0))
    made = b.icmp("ne", tensor, Val("ptr", "null"))

    def stored() -> list[Val]:
        b.store(array, b.offset(tensor, ARRAY, "i8"))
        return []

    def dropped() -> list[Val]:
        b.call("void", "Py_DecRef", array)
        return []

    b.either(made, stored, dropped)
    return tensor


def _check_overlaps(b: Builder, addresses: Val, arrays: Val, count: Val, need: Callable[[Val], None]) -> None:
    """Continue only if no two arrays share memory."""
    def extent(k: Val) -> tuple[Val, Val]:
        first = b.shl(k, const("i64", 1))
        number, size = (b.load("i64", b.offset(arrays, b.add(first, const("i64", i)), "i64")) for i in (0, 1))
        begin = b.load("i64", b.offset(addresses, number, "i64"))
        return begin, b.add(begin, size)

    with b.loop(const("i64", 1), count) as i:
        begin, end = extent(i)
        with b.loop(const("i64", 0), i) as j:
            other, last = extent(j)
            need(b.or_(b.icmp("ule", end, other), b.icmp("ule", last, begin)))


def _look(b: Builder, items: Val, count: Val, need: Callable[[Val], None]) -> None:
    """Continue only if all guards hold."""
    zero, null = const("i64", 0), Val("ptr", "null")

    def of_object(reference: Val, name: Val) -> Val:
        """The attribute; only its address is compared, as the expected object is kept alive."""
        owner = b.call("ptr", "PyObject_CallNoArgs", reference)  # of a `weakref.ref`: the object or None
        found = b.call("ptr", "PyObject_GenericGetAttr", owner, name)
        b.call("void", "Py_DecRef", owner)
        with b.when(b.icmp("eq", found, null)):
            b.call("void", "PyErr_Clear")
        b.call("void", "Py_DecRef", found)
        return found

    with b.loop(zero, count) as k:
        first = b.mul(k, const("i64", 4))
        kind = b.load("i64", b.offset(items, first, "i64"))
        within, at, expected = (b.load("ptr", b.offset(items, b.add(first, const("i64", i)), "i64")) for i in (1, 2, 3))
        (now,) = b.either(
            b.icmp("eq", kind, const("i64", OF_DICT)), lambda: [b.call("ptr", "PyDict_GetItem", within, at)],
            lambda: b.either(b.icmp("eq", kind, const("i64", OF_CELL)), lambda: [b.load("ptr", at)],
                             lambda: [of_object(within, at)]))
        need(b.icmp("eq", now, expected))


def _free(b: Builder, kept: Val, word: Callable[..., Val], dims: Val) -> Val:
    """The array of the result before the last, if it is unchanged and has no other reference; else null."""
    null = Val("ptr", "null")

    def checked() -> list[Val]:
        x = b.load("ptr", kept)
        own = b.icmp("eq", b.load("i32", x), const("i32", 1))  # the initial None has more references
        return b.either(own, lambda: [b.select(is_as_made(x), x, null)], lambda: [null])

    def is_as_made(x: Val) -> Val:
        rank = word(_RESULT_RANK)
        changed = b.or_(b.xor(b.convert("zext", field(b, x, _RANK, "i32"), "i64"), rank),
                        b.xor(b.convert("zext", field(b, x, FLAGS, "i32"), "i64"), word(_RESULT_FLAGS)))
        changed = b.or_(changed, b.or_(field(b, x, _BASE, "i64"), field(b, x, _REFERENCES, "i64")))
        changed = b.or_(changed, b.xor(field(b, x, _DTYPE, "i64"), word(_RESULT_DTYPE)))
        strides = b.offset(dims, rank, "i64")

        def difference(k: Val, state: Sequence[Val]) -> list[Val]:
            now = [b.load("i64", b.offset(field(b, x, place, "ptr"), k, "i64")) for place in (DIMS, _STRIDES)]
            made = [b.load("i64", b.offset(words, k, "i64")) for words in (dims, strides)]
            return [b.or_(state[0], b.or_(b.xor(now[0], made[0]), b.xor(now[1], made[1])))]

        (changed,) = b.either(b.icmp("eq", changed, const("i64", 0)),
                              lambda: b.folded(const("i64", 0), rank, [changed], difference), lambda: [changed])
        return b.icmp("eq", changed, const("i64", 0))

    (found,) = b.either(b.icmp("eq", kept, null), lambda: [null], checked)
    return found


def _shift(b: Builder, kept: Val, last: Val) -> None:
    """Drop the older of the kept arrays, and keep `last`."""
    following = b.offset(kept, 1, "ptr")
    b.store(b.load("ptr", following), kept)
    b.store(last, following)


def _is(b: Builder, obj: Val, name: str) -> Val:
    return b.icmp("eq", obj, Val("ptr", f"@{name}"))


def _read(
    b: Builder, args: Val, arrays: Val, addresses: Val, key: Val, values: Val, need: Callable[[Val], None]
) -> list[Val]:
    """Read the arguments, with the arrays of tensors; the addresses of their data; and the key. `values`: the arguments
    whose values are in keys if they are numbers. Returns the size of the key, and the hash that gives the first
    slot."""
    zero, one = const("i64", 0), const("i64", 1)
    ints = b.alloca("i64", MOST_ARGUMENTS)
    overflows = b.alloca("i32", 1)

    def add(word: Val, state: Sequence[Val]) -> list[Val]:
        size, place = state
        b.store(word, b.offset(key, size, "i64"))
        return [b.add(size, one), b.mul(b.xor(place, word), const("i64", FACTOR))]

    def argument(k: Val, state: Sequence[Val]) -> list[Val]:
        passed = field(b, b.offset(args, k, "ptr"), _ITEMS, "ptr")
        kind = field(b, passed, TYPE, "ptr")
        b.store(passed, b.offset(arrays, k, "ptr"))

        def tensor() -> list[Val]:
            x = field(b, passed, ARRAY, "ptr")
            need(b.icmp("ne", x, Val("ptr", "null")))  # null for a tensor without `__init__`
            need(_is(b, field(b, x, TYPE, "ptr"), "PyArray_Type_"))
            b.store(x, b.offset(arrays, k, "ptr"))
            return array(x, PLAIN, 0)

        def array(x: Val, flags: int, mark: int) -> list[Val]:
            need(b.icmp("eq", b.and_(field(b, x, FLAGS, "i32"), const("i32", flags)), const("i32", flags)))
            b.store(field(b, x, DATA, "i64"), b.offset(addresses, k, "i64"))
            rank, dims = b.convert("zext", field(b, x, _RANK, "i32"), "i64"), field(b, x, DIMS, "ptr")
            need(b.icmp("ult", b.add(state[0], rank), const("i64", MOST_WORDS)))
            kind = b.and_(field(b, field(b, x, _DTYPE, "ptr"), _KIND, "i64"), const("i64", _KIND_MASK))
            kind = b.or_(b.or_(kind, const("i64", mark)), b.shl(rank, const("i64", 24)))
            return b.folded(zero, rank, add(kind, state),
                            lambda axis, state: add(b.load("i64", b.offset(dims, axis, "i64")), state))

        def other() -> list[Val]:
            need(b.icmp("ult", b.add(state[0], one), const("i64", MOST_WORDS)))
            return b.either(_is(b, kind, _FLOATS), lambda: number(b.offset(passed, _FLOAT, "i8")), int_or_object)

        def int_or_object() -> list[Val]:
            return b.either(_is(b, kind, _INTS), of_int, lambda: add(b.op("i64", f"ptrtoint {passed} to i64"), state))

        def of_int() -> list[Val]:
            place = b.offset(ints, k, "i64")
            b.store(b.call("i64", "PyLong_AsLongLongAndOverflow", passed, overflows), place)
            need(b.icmp("eq", b.load("i32", overflows), const("i32", 0)))
            return number(place)

        def number(place: Val) -> list[Val]:
            b.store(b.op("i64", f"ptrtoint {place} to i64"), b.offset(addresses, k, "i64"))
            known = add(b.op("i64", f"ptrtoint {kind} to i64"), state)
            in_key = b.icmp("ne", b.and_(b.lshr(values, k), one), zero)
            return b.either(in_key, lambda: add(b.load("i64", place), known), lambda: known)

        return b.either(_is(b, kind, TENSOR), tensor, lambda: b.either(
            _is(b, kind, "PyArray_Type_"), lambda: array(passed, PLAIN | WRITEABLE, OF_ARRAY), other))

    count = field(b, args, _SIZE, "i64")
    need(b.icmp("ule", count, const("i64", MOST_ARGUMENTS)))
    return b.folded(zero, count, [zero, zero], argument)


def _find(b: Builder, table: Val, key: Val, size: Val, place: Val, need: Callable[[Val], None]) -> Val:
    """The entry with that key; without one, the call is left to Python."""
    zero, search, found = const("i64", 0), b.label("search"), b.label("found")
    first, mask = b.lshr(place, const("i64", 32)), b.load("i64", b.offset(table, MASK, "i64"))
    before = b.block
    b.start(search)
    place, close = b.open_phi("i64", first, before)
    entry = b.load("ptr", b.offset(b.offset(table, b.and_(place, mask), "i64"), PLACES, "i64"))
    need(b.icmp("ne", entry, Val("ptr", "null")))
    wanted = b.offset(entry, _KEY, "i64")

    def difference(k: Val, state: Sequence[Val]) -> list[Val]:
        return [b.or_(state[0], b.xor(*[b.load("i64", b.offset(words, k, "i64")) for words in (key, wanted)]))]

    unequal = b.xor(b.load("i64", b.offset(entry, _KEY_SIZE, "i64")), size)
    (unequal,) = b.either(b.icmp("eq", unequal, zero), lambda: b.folded(zero, size, [zero], difference),
                          lambda: [unequal])
    close(b.add(place, const("i64", 1)), b.block)
    b.branch(b.icmp("eq", unequal, zero), found, search)
    b.start(found)
    return entry

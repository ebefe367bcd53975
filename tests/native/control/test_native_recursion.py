"""Routines that native code calls directly, as in Python and in the reference executor."""
from __future__ import annotations

import signal
import threading
from time import monotonic

import numpy as np
import pytest
from traced_once import on

import runtime as rt
from benchmarks.items import ackermann, fib, queens
from runtime.core.config import allocated_memory
from tests.recursive_programs import quicksort

EXECUTORS = ["numpy", "native"]


@pytest.fixture(params=EXECUTORS)
def executor(request):
    return request.param


def int64(x):
    return rt.constant(x, rt.int64)


def explained(f, *args):
    """The report on the native code of `f` for these arguments."""
    f(*args)
    return f.explain_native()


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def hanoi(n, source, target, other):
    if n == 0:
        return 0
    return hanoi(n - 1, source, other, target) + 1 + hanoi(n - 1, other, target, source)


def halving(x, n):
    if n == 0:
        return x, n
    y, count = halving(x / 2, n - 1)
    return y + x, count + 1


@pytest.mark.parametrize(("function", "args"), [
    (fib, (12,)), (ackermann, (2, 5)), (is_even, (41,)), (is_odd, (41,)), (hanoi, (6, 1, 2, 3)), (halving, (3.0, 5)),
    (queens, (0, 0, 0, 0, 6)),
], ids=lambda x: getattr(x, "__name__", ""))
def test_scalars(executor, function, args):
    f = on(executor, function)
    found = f(*[int64(x) if isinstance(x, int) else rt.constant(x, rt.float64) for x in args])
    want = function(*args)
    for one, other in zip(*[x if isinstance(want, tuple) else [x] for x in (found, want)], strict=True):
        assert one == other


def test_direct_calls_make_no_callbacks():
    for f, n in ((rt.function(fib), 5), (rt.function(is_even), 5)):
        report = explained(f, int64(n))
        assert "is called directly, as a native function" in report and "calls Python:" not in report


def search(a, x, low, high):
    if low >= high:
        return low
    middle = (low + high) // 2
    if a[middle] < x:
        return search(a, x, middle + 1, high)
    return search(a, x, low, middle)


@pytest.mark.optimised
def test_an_array_that_is_only_read(executor):
    a = np.arange(0, 100, 3)
    f = rt.function(search, executor=executor)
    assert [int(f(a, x, 0, len(a))) for x in map(int64, (-1, 0, 50, 51, 98, 200))] == [0, 0, 17, 17, 33, 34]
    if executor == "native":
        assert "memcpy" not in f.concrete_functions[-1].inspect_llvm()


def permute(a, k, found):
    if k == len(a):
        return found + (a[0] < a[1])
    for i in rt.range(k, len(a)):
        a[k], a[i] = a[i], a[k]
        found = permute(a, k + 1, found)
        a[k], a[i] = a[i], a[k]
    return found


def sort(a):
    quicksort(a, 0, len(a) - 1)
    return a


@pytest.mark.parametrize("known", [True, False])
def test_an_array_that_is_sorted_in_place(executor, known):
    a = np.random.default_rng(0).integers(0, 1000, 60)
    f = rt.function(sort, executor=executor, reduce_retracing=not known)
    for n in (60, 41, 7):
        b = a[:n].copy()
        np.testing.assert_array_equal(f(b), np.sort(a[:n]))
        np.testing.assert_array_equal(b, np.sort(a[:n]))


def test_sorting_copies_nothing_in_calls():
    f = rt.function(sort)
    f(np.array([3, 1, 2]))
    functions = f.concrete_functions[-1].inspect_llvm(optimized=False).split("\ndefine ")
    routines = [text for text in functions if "@routine" in text.partition("\n")[0]]
    assert routines and not any("memcpy" in text or "memmove" in text for text in routines)


def test_arrays_that_are_updated_and_used_again(executor):
    def both(x, n):
        if n == 0:
            return x, x * 10
        y = rt.tensor_scatter_nd_update(x, [[n]], [n])
        one, two = both(y, n - 1)
        return one + x, two + y

    def reference(x, n):
        if n == 0:
            return x, x * 10
        y = x.copy()
        y[n] = n
        one, two = reference(y, n - 1)
        return one + x, two + y

    for got, want in zip(rt.function(both, executor=executor)(rt.constant([7, 0, 0, 0]), 3),
                         reference(np.array([7, 0, 0, 0]), 3), strict=True):
        np.testing.assert_array_equal(got, want)


def test_results_that_change_places(executor):
    """Each is an updated input in one case, and the other's in another case."""
    def swapped(x, y, n):
        if n == 0:
            return x, y
        x = rt.tensor_scatter_nd_add(x, [[0]], [n])
        return swapped(y, x, n - 1)

    x, y = swapped_arrays(np.array([1, 2]), np.array([10, 20]), 5)
    found = rt.function(swapped, executor=executor)(rt.constant([1, 2]), rt.constant([10, 20]), 5)
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(found[1], y)


def swapped_arrays(x, y, n):
    for k in range(n, 0, -1):
        x = x + [k, 0]
        x, y = y, x
    return x, y


def parts(x):
    if rt.size(x) <= 1:
        return x
    pivot, rest = x[0], x[1:]
    return rt.concat([parts(rest[rest < pivot]), [pivot], parts(rest[rest >= pivot])], 0)


def test_results_of_unknown_sizes(executor):
    values = np.random.default_rng(0).integers(0, 50, 40).astype(np.int32)
    f = rt.function(parts, executor=executor, input_signature=[rt.TensorSpec([None], rt.int32)])
    for n in (40, 0, 1, 13):
        np.testing.assert_array_equal(f(values[:n]), np.sort(values[:n]))


def test_memory_of_calls_is_freed():
    f = rt.function(parts, input_signature=[rt.TensorSpec([None], rt.int32)])
    values = np.random.default_rng(0).integers(0, 5000, 2000).astype(np.int32)

    @rt.function(input_signature=[rt.TensorSpec([None], rt.int32), rt.TensorSpec([], rt.int32)])
    def fails(x, n):
        def deep(x, n):
            y = rt.concat([x, x[:1]], 0)
            if n == 0:
                if x[0] >= 0:
                    raise ValueError("the end")
                return x
            return rt.concat([deep(y, n - 1), y], 0)

        return deep(x, n)

    held = []
    for _ in range(4):
        f(values)
        with pytest.raises(ValueError, match="the end"):
            fails(values, 50)
        held.append(int(allocated_memory[0]))
    assert held[1] == held[3]


def failing(n):
    if n == 0:
        return n
    if n == 3:
        raise ValueError("three")
    return failing(n - 1) + 1


def test_an_error_from_the_depths(executor):
    f = rt.function(failing, executor=executor)
    with pytest.raises(ValueError, match="three") as info:
        f(int64(40))
    assert failing.__code__.co_firstlineno + 4 in [entry.lineno + 1 for entry in info.traceback] or (
        f":{failing.__code__.co_firstlineno + 4}:" in str(info.value))
    assert rt.function(fib, executor=executor)(int64(6)) == 8


def test_an_index_out_of_bounds_in_the_depths(executor):
    def walk(a, i):
        if a[i] < 0:
            return i
        return walk(a, a[i])

    f = rt.function(walk, executor=executor)
    assert f(rt.constant([2, -1, 1]), 0) == 1
    with pytest.raises(IndexError, match=r"test_native_recursion.py:\d+"):
        f(rt.constant([2, -1, 9]), 0)


def test_an_error_is_caught(executor):
    @rt.function(executor=executor)
    def f(n):
        try:
            found = failing(n)
        except ValueError:
            found = n * 0 - 1
        return found

    assert f(int64(20)) == -1


def endless(i):
    if i < 0:
        return i
    return endless(i + 1) + 1


def endless_last(i):
    if i < 0:
        return i
    return endless_last(i + 1)


def endless_in_a_loop(i):
    total = i
    for k in range(i * 0 + 3):
        total += endless_in_a_loop(i + k)
    return total


def endless_in_a_while(i):
    total, k = i, i * 0
    while k < 3:
        for j in range(k, 3):
            total += endless_in_a_while(i + j)
        k += 1
    return total


@pytest.mark.parametrize("function", [endless, endless_last, lambda i: is_even(i * 0 - 1), endless_in_a_loop,
                                      endless_in_a_while])
def test_too_deep(executor, function):
    f = rt.function(function, executor=executor)
    found = []

    def call():
        try:
            f(int64(0))
        except RecursionError as error:
            found.append(str(error))

    call()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(found) == 2 and found[0] == found[1]
    assert "test_native_recursion.py:" in found[0] and "maximum recursion depth exceeded" in found[0]
    assert rt.function(fib, executor=executor)(int64(6)) == 8


def test_too_deep_on_a_small_stack():
    f = rt.function(endless)
    f.get_concrete_function(int64(0))
    found = []

    def call():
        with pytest.raises(RecursionError):
            f(int64(0))
        found.append(f(int64(-5)))

    size = threading.stack_size(1 << 18)
    try:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert found == [-5]


def test_deep_calls():
    def depth(i):
        if i <= 0:
            return 0
        return depth(i - 1) + 1

    assert rt.function(depth)(rt.constant(20000)) == 20000


def loops(n):
    """It calls itself in a loop of each form."""
    total = n * 0
    if n > 1:
        for k in range(n):
            if total != k - 100:
                total += loops(n - 1)
        while total < n:
            total += loops(n - 2) + 1
        for k in range(n):
            for j in range(k, k + 1):
                total += loops(n - j - 2)
    return total


@pytest.mark.parametrize(("function", "small", "large"), [(fib, 6, 80), (loops, 4, 25)])
def test_interrupts(function, small, large):
    f = rt.function(function)
    assert f(int64(small)) == function(small)
    start = monotonic()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            f(int64(large))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert monotonic() - start < 10
    assert f(int64(small)) == function(small)


def test_a_loop_looks_at_the_stack_once():
    concrete = rt.function(queens).get_concrete_function(*map(int64, (0, 0, 0, 0, 5)))
    code = concrete.inspect_llvm(optimized=False)
    routine = code[code.index("@routine0("):code.index("@routine0.inner(ptr")]
    assert routine.index("@llvm.stacksave()") < routine.index("@runtime_signals(") < routine.index("shl i64 1")
    assert routine.count("@llvm.stacksave()") == routine.count("@runtime_signals(") == 1


def test_two_routines_in_a_graph_and_in_loops(executor):
    @rt.function(executor=executor)
    def f(n):
        total = n * 0
        for k in rt.range(n):
            total += fib(k) + rt.cast(hanoi(k, k, k, k), rt.int64)
        return total + rt.reduce_sum([fib(k) for k in rt.range(n)])

    want = sum(2 * fib(k) + hanoi(k, 0, 0, 0) for k in range(9))
    assert f(int64(9)) == want


def test_routines_within_routines(executor):
    def outer(n):
        def inner(k):
            if k == 0:
                return n
            return inner(k - 1) + n

        if n == 0:
            return n
        return inner(n) + outer(n - 1)

    assert rt.function(outer, executor=executor)(int64(6)) == outer(6)


def test_a_table_that_a_routine_reads(executor):
    parents = rt.constant(np.arange(-1, 999), rt.int64)

    def root(i):
        if parents[i] < 0:
            return i
        return root(parents[i])

    assert rt.function(root, executor=executor)(int64(300)) == 0


def test_draws(executor):
    def walk(x, n):
        if n == 0:
            return x
        return walk(x + rt.random.uniform([]), n - 1)

    rt.random.set_seed(3)
    f = rt.function(walk, executor=executor)
    found = [float(f(rt.constant(0.0), 9)) for _ in range(2)]
    rt.random.set_seed(3)
    np.testing.assert_allclose(found, [float(rt.function(walk, executor="numpy")(rt.constant(0.0), 9))
                                       for _ in range(2)])


def test_python_code_in_routines(executor, capsys):
    v = rt.Variable(np.int64(0))

    def note(x):
        v.assign_add(x)
        if v > 100:
            raise ValueError("beyond")
        return 2 * x

    def walk(n):
        if n == 0:
            return n
        print("at", n)
        x = rt.numpy_function(note, [n], rt.int64)
        found = walk(n - 1)
        return found + x

    @rt.function(executor=executor)
    def f(n):
        v.assign(2 * v)
        found = walk(n)
        v.assign_add(1)
        return found, v.read_value()

    found, value = f(int64(4))
    assert (found, value, v.numpy()) == (20, 11, 11)
    assert capsys.readouterr().out.split() == "at 4 at 3 at 2 at 1".split()
    if executor == "native":
        assert "walk is called directly" in f.explain_native(int64(4))
    v.assign(20)
    with pytest.raises(ValueError, match="beyond"):
        f(int64(40))
    assert v.numpy() == 2 * 20 + 40 + 39


def handling(n):
    if n == 0:
        return n
    try:
        found = 10 // (n - 2)
    except ZeroDivisionError:
        found = n * 0
    return handling(n - 1) + found


VARIABLE = rt.Variable(np.int64(2))


def reading(n):
    if n == 0:
        return n
    return reading(n - 1) + VARIABLE


@pytest.mark.parametrize(("function", "why"), [
    (handling, "it handles exceptions"), (reading, "it uses variables")])
def test_what_is_called_through_python(function, why, capsys):
    f = rt.function(function)
    assert f"call calls Python: {why}" in explained(f, int64(5))
    native = f(int64(5))
    assert native == rt.function(function, executor="numpy")(int64(5))


def test_derivatives_and_lanes(executor):
    def power(x, n):
        if n == 0:
            return x * 0 + 1.0
        return x * power(x, n - 1)

    f = rt.function(power, executor=executor)
    x = rt.constant(2.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, int64(5))
    assert y == 32 and tape.gradient(y, x) == 80
    np.testing.assert_array_equal(rt.vmap(f)(rt.constant([1.0, 2.0]), int64([2, 3])), [1, 8])


def first(n, a, b):
    if n <= 0:
        return b + 1
    return first(n - 1, n, a) - second(n - 2, a, a)


def second(n, a, b):
    if n <= 0:
        return a
    if n == 1:
        return first(n - 1, a, a) + a
    return first(n - 2, b, a) - n


def exchanging(n, a, b):
    if n <= 0:
        return b + 1
    if n > 2:
        return exchanging(n - 2, n, a) + exchanging(n - 1, b, a)
    if n % 2 == 0:
        return exchanging(n - 1, a, b) - a
    return exchanging(n - 1, b, a) - exchanging(n - 1, b, a)


@pytest.mark.parametrize("fn", [first, exchanging])
def test_routines_for_several_python_values_call_each_other(fn) -> None:
    traced = rt.function(fn, executor="native")
    for n in range(8):
        assert traced(rt.constant(n), 0, 1) == fn(n, 0, 1)

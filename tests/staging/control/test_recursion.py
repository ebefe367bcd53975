"""Recursion that a tensor decides: a graph that calls itself."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import runtime as rt
from tests.recursive_programs import quicksort
from tests.traced_once import on


@pytest.fixture(params=["numpy", "native"])
def executor(request):
    return request.param


def total_of(chain):
    def total(i):
        if i < 0:
            return 0
        return i + total(chain[i])

    return total


def test_what_is_used_from_outside_is_passed_along(executor):
    left, right = rt.constant([1, 3, -1, -1, -1]), rt.constant([2, 4, -1, -1, -1])

    @rt.function(executor=executor)
    def f(value, root):
        weights = value * 2

        def total(i):
            if i < 0:
                return 0
            return weights[i] + total(left[i]) + total(right[i])

        return total(root)

    assert f(rt.constant([5, 3, 8, 1, 4]), rt.constant(0)) == 42
    assert f(rt.constant([5, 3, 8, 1, 4]), rt.constant(1)) == 16
    assert "call(" in str(f.concrete_functions[0].graph)
    f.concrete_functions[0].graph.verify()


@pytest.mark.slow
def test_dpll(executor):
    def holds(clause, assigned):
        found = False
        for k in range(3):
            if assigned[rt.abs(clause[k])] == rt.sign(clause[k]):
                found = True
        return found

    def is_open(clause, assigned):
        found = False
        for k in range(3):
            if assigned[rt.abs(clause[k])] == 0:
                found = True
        return found

    def dpll(clauses, assigned, n):
        for clause in clauses:
            if not holds(clause, assigned) and not is_open(clause, assigned):
                return False
        k = 1
        while k <= n and assigned[k] != 0:
            k += 1
        if k > n:
            return True
        for value in (1, -1):
            if dpll(clauses, rt.tensor_scatter_nd_update(assigned, [[k]], [value]), n):
                return True
        return False

    f = on(executor, dpll)
    start = rt.constant([0, 0, 0, 0])
    assert f(rt.constant([[1, 2, 3], [-1, -2, 3], [1, -3, -2]]), start, rt.constant(3))
    contradiction = [[a * 1, b * 2, c * 3] for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    assert not f(rt.constant(contradiction), start, rt.constant(3))


@pytest.mark.slow
def test_minimax_on_a_board_of_nine():
    lines = rt.constant([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])

    def winner(board):
        found = 0
        for line in lines:
            total = rt.reduce_sum(rt.gather(board, line))
            if rt.abs(total) == 3:
                found = total // 3
        return found

    def minimax(board, player):
        found = winner(board)
        if found != 0 or rt.reduce_all(board != 0):
            return found
        best = -2
        for i in rt.range(9):
            if board[i] == 0:
                moved = rt.tensor_scatter_nd_update(board, [[i]], [player])
                best = rt.maximum(best, player * minimax(moved, -player))
        return best * player

    def reference(board, player):
        total = max((sum(board[i] for i in line) for line in lines.numpy()), key=abs)
        if abs(total) == 3 or all(board):
            return total // 3 if abs(total) == 3 else 0
        return player * max(player * reference([*board[:i], player, *board[i + 1:]], -player)
                            for i in range(9) if not board[i])

    f = rt.function(minimax)
    for board in ([1, -1, 1, 0, -1, 0, 0, 0, 0], [1, 0, 0, 0, -1, 0, 0, 0, 1]):
        assert f(rt.constant(board), 1) == reference(board, 1)
        assert f(rt.constant(board), -1) == reference(board, -1)


@pytest.mark.slow
def test_quicksort_by_parts(executor):
    def quicksort(x):
        if rt.size(x) <= 1:
            return x
        pivot, rest = x[0], x[1:]
        return rt.concat([quicksort(rest[rest < pivot]), [pivot], quicksort(rest[rest >= pivot])], 0)

    values = np.random.default_rng(0).integers(0, 50, 40).astype(np.int32)
    f = rt.function(quicksort, executor=executor, input_signature=[rt.TensorSpec([None], rt.int32)])
    np.testing.assert_array_equal(f(values), np.sort(values))


def test_depth_as_in_python(executor):
    total = total_of(rt.range(1000) - 1)
    f = on(executor, total)
    assert f(rt.constant(700)) == 700 * 701 // 2

    def endless(i):
        if i < 0:
            return 0
        return endless(i + 1) + 1

    with pytest.raises(RecursionError, match=r"test_recursion.py:\d+: maximum recursion depth.*: 'endless' calls"):
        on(executor, endless)(rt.constant(0))
    assert f(rt.constant(3)) == 6


def test_derivatives(executor):
    def power(x, n):
        if n == 0:
            return 1.0
        return x * power(x, n - 1)

    f = on(executor, power)
    x, n = rt.constant(2.0), rt.constant(5)
    with rt.GradientTape() as outer:
        outer.watch(x)
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = f(x, n)
        slope = tape.gradient(y, x)
    assert (y, slope, outer.gradient(slope, x)) == (32, 80, 160)
    with rt.autodiff.ForwardAccumulator(x, rt.constant(1.0)) as accumulator:
        y = f(x, n)
    assert accumulator.jvp(y) == 80

    @rt.function(executor=executor)
    def inside(x, n):
        with rt.GradientTape() as tape:
            tape.watch(x)
            y = power(x, n)
        return tape.gradient(y, x)

    assert inside(x, n) == 80
    np.testing.assert_array_equal(rt.vmap(f)(rt.constant([1.0, 2.0]), rt.constant([2, 3])), [1, 8])


def test_the_derivative_by_a_variable_that_it_reads_is_an_error_and_never_wrong():
    v = rt.Variable(2.0)

    def power(n):
        if n == 0:
            return 1.0
        return v * power(n - 1)

    f = rt.function(power)
    with rt.GradientTape() as tape:
        y = f(rt.constant(3))
    assert y == 8 and tape.watched_variables() == (v,)
    with pytest.raises(LookupError, match=r"by variable 'Variable:0' goes through 'power', which reads it"):
        tape.gradient(y, v)


def test_effects_and_variables(executor):
    v = rt.Variable(0)

    @rt.function(executor=executor)
    def f(n):
        def count(n):
            if n > 0:
                v.assign_add(n)
                count(n - 1)
                v.assign(v * 2)
        count(n)
        v.assign_add(1)
        return v.read_value()

    assert f(rt.constant(3)) == 6 * 8 + 1 and v.numpy() == 49


def test_python_values_that_change_an_object_still_decide():
    class Counter:
        calls = 0

    counter = Counter()

    def down(x):
        counter.calls += 1
        if x > 0:
            x = x - 1
        if x > 5:
            if counter.calls > 3:
                return x
            return down(x)
        return x

    f = rt.function(down)
    assert f(rt.constant(100)) == 96 and counter.calls == 4
    counter.calls = 0
    assert f(rt.constant(3)) == 2 and counter.calls == 1


def test_results_of_other_types():
    def grow(x, n):
        if n == 0:
            return rt.constant([1.0, 2.0])
        return grow(x, n - 1) * x

    np.testing.assert_array_equal(rt.function(grow)(rt.constant(3.0), rt.constant(2)), [9, 18])

    def doubles(x, n):  # the result of the case that ends takes the dtype of the others
        if n == 0:
            return 1
        return x + doubles(x, n - 1)

    assert rt.function(doubles)(rt.constant(0.5, rt.float64), rt.constant(3)).dtype is rt.float64


@pytest.mark.parametrize(("returned", "text"), [
    (lambda x: (x, x), "returns a tensor on one way and a tuple of 2 on another"),
    (lambda x: None, "returns a tensor on one way and None on another"),
])
def test_results_that_do_not_fit(returned, text):
    def f(x, n):
        if n == 0:
            return x
        f(x, n - 1)
        return returned(x)

    with pytest.raises((rt.errors.StagingError, TypeError)) as info:
        rt.function(f)(rt.constant(1.0), rt.constant(2))
    assert "test_recursion.py" in str(info.value)


@pytest.mark.slow
def test_arrays_change_in_place():
    @rt.function
    def f(a):
        quicksort(a, 0, len(a) - 1)
        return a

    a = np.array([3, 1, 2, 5, 4])
    np.testing.assert_array_equal(f(a), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(a, [1, 2, 3, 4, 5])


def test_permutations_of_an_array(executor):
    def permute(a, k, found):
        if k == len(a):
            return found + (a[0] < a[1])
        for i in range(k, len(a)):
            a[k], a[i] = a[i], a[k]
            found = permute(a, k + 1, found)
            a[k], a[i] = a[i], a[k]
        return found

    @rt.function(executor=executor)
    def f(a):
        return permute(a, 0, 0), a

    a = np.arange(3)
    assert f(a)[0] == 3
    np.testing.assert_array_equal(a, [0, 1, 2])


def test_an_array_that_a_call_returns_is_that_of_the_caller(executor):
    def count(a, n):
        if n == 0:
            return a, np.zeros(2)
        a[n % 2] += 1
        b, fresh = count(a, n - 1)
        fresh[0] += 1
        return b, fresh

    @rt.function(executor=executor)
    def f(a, n):
        found, fresh = count(a, n)
        found[0] += 100
        return a, fresh

    a, fresh = f(np.array([1.0, 2.0]), rt.constant(3))
    np.testing.assert_array_equal(a, [102.0, 4.0])
    np.testing.assert_array_equal(fresh, [3.0, 0.0])


def test_recursion_beside_strings() -> None:
    """Native code has no strings: what such a graph calls runs in the reference executor, too."""
    def halvings(n):
        return 0 if n < 1 else halvings(n // 2) + 1

    @rt.function
    def program(text, n):
        return rt.strings.upper(text), halvings(n)

    text, count = program(rt.constant("a"), rt.constant(9))
    assert text.numpy() == b"A" and count == 4


@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("dtype", [rt.int64, rt.int32, rt.int8, rt.float32], ids=str)
def test_numbers_in_place_of_tensors_are_tensors_of_their_dtype(executor, dtype, decorated):
    def ackermann(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return ackermann(m - 1, 1)
        return ackermann(m - 1, ackermann(m, n=n - 1))

    f = on(executor, ackermann)
    if decorated:
        ackermann = f
    found = f(rt.constant(2, dtype), rt.constant(3, dtype))
    assert found == 9 and found.dtype == dtype


def test_numbers_that_no_tensor_of_the_dtype_has_stay_what_they_are():
    def last(n, limit, *rest):
        if n > 9:
            return n
        return last(n + 1, 1000, 1)

    assert rt.function(last)(rt.constant(1, rt.int8), rt.constant(10, rt.int8)) == 10


def test_traces_that_are_kept_take_nothing_that_is_assumed_meanwhile(executor):
    """Each order of the pegs is a trace of its own, made while others that call it are found."""
    @rt.function(executor=executor)
    def moves(n, source, target, spare):
        if n == 0:
            return 0
        return moves(n - 1, source, spare, target) + 1 + moves(n - 1, spare, target, source)

    assert [int(moves(rt.constant(n), 0, 1, 2)) for n in range(7)] == [2 ** n - 1 for n in range(7)]


def test_nothing_follows_branches_that_never_return():
    def endless(n):
        return endless(n - 1) if n > 0 else endless(n + 1)

    def raising(n):
        if n > 0:
            m = 1
            raise ValueError("positive")
        else:
            raise ValueError("not positive")
        return m

    for fn in endless, raising:
        graph = rt.function(fn).get_concrete_function(rt.TensorSpec([], rt.int32)).graph
        assert [node.op.name for node in graph.nodes][-1] == "cond"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="each call takes the stack of C, which the limit protects")
def test_recursion_that_python_decides_is_as_deep_as_pythons() -> None:
    """Each of its calls has many frames of operators between them."""
    limit = sys.getrecursionlimit()

    @rt.function
    def f(x, depths):
        calls = []

        def search(k):
            for step in (1, 2):
                if k > 0:
                    for _ in (1,):
                        if step == 1:
                            calls.append(k)
                            return search(k - step)
            return 0

        return x + search(len(depths)) + len(calls)

    assert float(f(rt.constant(1.0), "a" * 300)) == 301

    @rt.function
    def endless_search(n):
        return endless_search(n + 1)

    with pytest.raises(RecursionError, match="maximum recursion depth exceeded"):
        endless_search(0)
    assert sys.getrecursionlimit() == limit


def test_lists_of_text(executor):
    def gray(n):
        if n == 0:
            return [""]
        codes = gray(n - 1)
        return ["0" + code for code in codes] + ["1" + code for code in reversed(codes)]

    staged = on(executor, gray)
    for n in 0, 1, 3:
        assert staged(rt.constant(n)) == gray(n)

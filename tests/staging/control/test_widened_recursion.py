"""Recursion whose calls have different Python values, or change lists and objects: one graph for all of its calls."""
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from traced_once import on, on_both

import runtime as rt
from runtime.staging.control import recursion
from runtime.staging.control.widened_recursion import WidenedRoutine
from tests.recursive_programs import hanoi, sort_in_place, sorted_list

PROGRAMS = []


def program(*inputs):
    """A decorator of functions that make a function, whose results for these inputs are to be those of Python."""
    def add(make):
        PROGRAMS.append(pytest.param(make, inputs, id=make.__name__))
        return make

    return add


def plain(x):
    if isinstance(x, (list, tuple)):
        return type(x)(map(plain, x))
    if isinstance(x, dict):
        return {key: plain(part) for key, part in x.items()}
    return x if x is None or isinstance(x, (str, bool)) else np.asarray(x).tolist()


def as_tensors(values):
    return [rt.constant(value) for value in values]


@program((3,), (5,))
def hanoi_with_pegs():
    def hanoi(n):
        pegs, moves = [list(range(n, 0, -1)), [], []], []

        def move(k, a, b, c):
            if k == 0:
                return
            move(k - 1, a, c, b)
            pegs[c].append(pegs[a].pop())
            moves.append((a, c))
            move(k - 1, b, a, c)

        move(n, 0, 1, 2)
        return moves, pegs

    return hanoi


@program((9,), (2,))
def nearest_of_a_tree():
    tree = ((5, 4), ((2, 3), None, ((4, 7), None, None)), ((9, 6), ((8, 1), None, None), None))

    def nearest(q):
        best, least = None, 1000

        def search(node, depth=0):
            nonlocal best, least
            if node is None:
                return
            place, left, right = node
            distance = (place[0] - q) ** 2 + place[1] ** 2
            if distance < least:
                best, least = place, distance
            difference = (q, 2)[depth % 2] - place[depth % 2]
            near, far = (left, right) if difference < 0 else (right, left)
            search(near, depth + 1)
            if difference * difference < least:
                search(far, depth + 1)

        search(tree)
        return best, least

    return nearest


@program((6,), (1,))
def walks():
    def walk(n, path):
        path.append(n)
        if n > 0:
            walk(n - 1, path)
            walk(n - 2, path)
        return path

    return lambda n: walk(n, [])


@program(([3, 1, 2, 5, 4, 1],), ([2],), ([2, 1],))
def quick():
    return lambda v: sorted_list(list(v))


@program((6,), (0,))
def memoised():
    def paths(n):
        memo = {}

        def go(i, c):
            if i == 0 or c == 0:
                return 1
            if (i, c) in memo:
                return memo[i, c]
            found = go(i - 1, c) + go(i, c - 1)
            memo[i, c] = found
            return found

        return go(n, n)

    return paths


@program(([3, 1, 2, 5, 4, 1, 9],), ([2],))
def merges():
    def merge(a, b):
        out = []
        i = j = 0
        while i < len(a) and j < len(b):
            if a[i] <= b[j]:
                out.append(a[i])
                i += 1
            else:
                out.append(b[j])
                j += 1
        return out + a[i:] + b[j:]

    def sort(xs):
        if len(xs) <= 1:
            return xs
        m = len(xs) // 2
        return merge(sort(xs[:m]), sort(xs[m:]))

    return lambda v: sort(list(v))


@program(([3, 1, 2, 5, 4, 1, 9],), ([2, 1],))
def inplace():
    def f(v):
        a = list(v)
        sort_in_place(a, 0, len(a) - 1)
        return a

    return f


@program((4,), (5,))
def queens():
    def place(n, row, cols, d1, d2):
        if row == n:
            return 1
        count = 0
        for k in range(n):
            if not cols[k] and not d1[row + k] and not d2[row - k + n]:
                cols[k] = d1[row + k] = d2[row - k + n] = True
                count += place(n, row + 1, cols, d1, d2)
                cols[k] = d1[row + k] = d2[row - k + n] = False
        return count

    return lambda n: place(n, 0, [False] * 6, [False] * 12, [False] * 13)


@program((3,), (4,))
def counts_self():
    class Counter:
        def __init__(self):
            self.calls = self.total = 0

        def go(self, n, depth):
            self.calls += 1
            if n > 0:
                self.total += n * depth
                self.go(n - 1, depth + 1)
                self.go(n - 2, depth + 2)

    def f(n):
        k = Counter()
        k.go(n, 0)
        return k.calls, k.total

    return f


@program((5,), (2,))
def nonlocals():
    def f(n):
        count = 0
        seen = []

        def go(k, level):
            nonlocal count
            count += level
            if k <= 0:
                return
            seen.append(k)
            go(k - 1, level + 1)
            go(k - 3, level + 1)
        go(n, 0)
        return count, seen

    return f


@program((3, 1), (0, 0))
def flood():
    def fill(g, r, k, v):
        if r < 0 or r >= 4 or k < 0 or k >= 3:
            return 0
        if g[r][k] != 0:
            return 0
        g[r][k] = v
        return 1 + fill(g, r + 1, k, v) + fill(g, r - 1, k, v) + fill(g, r, k + 1, v) + fill(g, r, k - 1, v)

    def f(r, k):
        g = [[0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 0]]
        n = fill(g, r, k, 7)
        return n, g

    return f


@program((0,), (3,))
def dfs():
    adjacent = [[1, 2], [2, 3], [0, 4], [4, 1], [4, 4]]

    def f(start):
        visited = [False] * 5
        order = []
        table = rt.constant(adjacent) if isinstance(start, rt.Tensor) else adjacent

        def go(u):
            visited[u] = True
            order.append(u)
            for k in range(2):
                v = table[u][k]
                if not visited[v]:
                    go(v)
        go(start)
        return order, visited

    return f


@program((10,), (1,))
def memo_list():
    def fib(n, memo):
        if n < 2:
            return n
        if memo[n] >= 0:
            return memo[n]
        memo[n] = fib(n - 1, memo) + fib(n - 2, memo)
        return memo[n]

    return lambda n: fib(n, [-1] * 12)


@program((3,), (2,))
def pegs():
    def f(n):
        a, b, d = [3, 2, 1], [], []
        hanoi(n, a, d, b)
        return a, b, d

    return f


@program(([1, 2, 3],), ([4, 4, 1],))
def permutations():
    def permute(a, k, out):
        if k == 3:
            out.append(a[0] * 100 + a[1] * 10 + a[2])
            return
        for i in range(k, 3):
            a[k], a[i] = a[i], a[k]
            permute(a, k + 1, out)
            a[k], a[i] = a[i], a[k]

    def f(v):
        out = []
        permute(list(v), v[0] * 0, out)
        return out

    return f


@program((7,), (12,))
def coins():
    values = [1, 2, 5]

    def ways(amount, k):
        if amount == 0:
            return 1
        if amount < 0 or k == 3:
            return 0
        return ways(amount - values[k], k) + ways(amount, k + 1)

    return lambda n: ways(n, 0)


@program((7,), (0,))
def subsets_copied():
    def go(n, chosen):
        if n <= 0:
            total = 0
            for x in chosen:
                total = total * 3 + x
            return total
        return go(n - 2, chosen + [n]) + go(n - 3, chosen)

    return lambda n: go(n, [])


@program((5,), (9,))
def steps_python_int():
    def down(n, steps):
        if n == 1:
            return steps
        if n % 2 == 0:
            return down(n // 2, steps + 1)
        return down(3 * n + 1, steps + 1)

    return lambda n: down(n, 0)


@program((3,), (5,))
def floats():
    def go(n, x):
        if n == 0:
            return x
        return go(n - 1, x * 0.5 + 1)

    return lambda n: go(n, 2.0)


@program((4,))
def tuples():
    def go(n, pair):
        if n == 0:
            return pair
        a, b = pair
        return go(n - 1, (b, a + b))

    return lambda n: go(n, (0, 1))


@program((4,), (0,))
def optional():
    def go(n, best):
        if n == 0:
            return best
        if best is None or n % 2 == 1:
            best = n
        return go(n - 1, best)

    return lambda n: go(n, None)


@program((4,), (3,))
def dictionary():
    def go(n, d, depth):
        d["calls"] += 1
        if n > 0:
            d["sum"] += n + depth
            go(n - 1, d, depth + 1)
            go(n - 2, d, depth + 1)

    def f(n):
        d = {"calls": 0, "sum": 0}
        go(n, d, 0)
        return d

    return f


@program((3,), (2,))
def records():
    @dataclasses.dataclass
    class State:
        x: int
        path: list

    def go(n, s):
        if n <= 0:
            s.x += 1
            return
        s.path.append(n)
        go(n - 1, s)
        go(n - 2, s)

    def f(n):
        s = State(0, [])
        go(n, s)
        return s.x, s.path

    return f


@program((3,), (1,))
def fresh_boards():
    def go(board, n):
        if n == 0:
            return board[0][0] + 10 * board[1][1]
        new = [row[:] for row in board]
        new[n % 2][n % 2] += n
        return go(new, n - 1) + go(new, n - 2 if n > 1 else n - 1) * 3

    return lambda n: go([[1, 2], [3, 4]], n)


@program((3,), (4,))
def array_state():
    def go(n, a, depth):
        if n == 0:
            return
        a[n % 3] += depth
        go(n - 1, a, depth + 1)

    def f(n):
        a = np.zeros(3)
        go(n, a, 1)
        return a[0], a[1], a[2]

    return f


@program((3,), (4,))
def result_is_argument():
    def go(n, xs):
        if n == 0:
            return xs
        xs.append(n)
        return go(n - 1, xs)

    def f(n):
        a = [5]
        b = go(n, a)
        b.append(9)
        return a, b

    return f


@program((3,), (2,))
def closure_and_argument():
    def f(n):
        a = [1, 2]

        def go(k, xs, depth):
            if k == 0:
                return a[0]
            xs[0] += 1
            a[1] += xs[0] * depth
            return go(k - 1, a if k % 2 == 0 else xs, depth + 1)
        r = go(n, a, 0)
        return r, a

    return f


@program((5,), (4,))
def mutual():
    def even(n, k, log):
        log.append(k)
        return True if n == 0 else odd(n - 1, k + 1, log)

    def odd(n, k, log):
        return False if n == 0 else even(n - 1, k + 1, log)

    def f(n):
        log = [0]
        return even(n, 0, log), log

    return f


@program((5,), (4,))
def twice():
    def go(n, out, k):
        if n > 0:
            out.append(n * k)
            go(n - 1, out, k + 1)
            go(n - 2, out, k + 1)

    def f(n):
        a, b = [], []
        go(n, a, 0)
        go(n - 1, b, 10)
        for i in range(2):
            go(n - 2, a, 100)
        return a, b

    return f


@program((5,), (4,))
def in_a_loop():
    def go(n, out, k):
        if n > 0:
            out[n % 3] += k
            go(n - 1, out, k + 1)
            go(n - 2, out, k + 1)

    def f(n):
        a = [0, 0, 0]
        i = n * 0
        while i < n:
            go(i, a, 0)
            i += 1
        return a

    return f


@program((3,), (2,))
def move_rows():
    def go(g, n, depth):
        if n == 0:
            return
        g[0], g[1] = g[1], g[0]
        g[0].append(n)
        go(g, n - 1, depth + 1)

    def f(n):
        a, b = [1], [2]
        g = [a, b]
        go(g, n, 0)
        return g, a, b

    return f


@program((3,), (2,))
def swap_arguments():
    def go(a, b, n, depth):
        if n == 0:
            return
        a[0] += depth
        b[0] += 10 * n
        go(b, a, n - 1, depth + 1)

    def f(n):
        x, y = [1], [2]
        go(x, y, n, 1)
        go(x, x, n, 1)
        return x, y

    return f


@program((6,), (3,))
def strings():
    def go(n, s):
        if n == 0:
            return s
        return go(n - 1, s + ("a" if n % 2 == 0 else "b"))

    return lambda n: go(n, "")


@program((4,), (2,))
def attribute_list():
    class Solver:
        def __init__(self):
            self.board = [[0] * 3 for _ in range(3)]
            self.best = -1
            self.log = []

        def solve(self, n, depth):
            if n == 0:
                if depth > self.best:
                    self.best = depth
                return
            self.board[n % 3][depth % 3] += 1
            self.log.append(depth)
            self.solve(n - 1, depth + 1)

    def f(n):
        s = Solver()
        s.solve(n, 0)
        return s.board, s.best, s.log

    return f


@program((4,), (0,))
def undoes_an_attribute():
    class Walk:
        def __init__(self):
            self.depth = 0

        def rest(self, n):
            if n <= 0:
                return n + self.depth
            self.depth += 1
            found = self.rest(n - 1)
            self.depth -= 1
            return found + self.depth

    return lambda n: Walk().rest(n)


@program((4,), (0,))
def undoes_an_append():
    def rest(n, path):
        if n <= 0:
            return n + len(path)
        path.append(7)
        found = rest(n - 1, path)
        path.pop()
        return found + len(path)

    return lambda n: rest(n, [1])


@program((4,), (0,))
def undoes_a_variable():
    def f(n):
        depth = 1

        def rest(n):
            nonlocal depth
            if n <= 0:
                return n + depth
            depth *= 2
            found = rest(n - 1)
            depth //= 2
            return found + depth

        return rest(n)

    return f


@program((5,), (1,))
def undoes_a_tuple():  # of another length in each call, so that there is no graph for all
    class Walk:
        def __init__(self):
            self.path = ()

        def rest(self, n):
            if len(self.path) == 3:
                return n
            if n <= 0:
                return n + len(self.path)
            self.path += (n,)
            found = self.rest(n - 1)
            self.path = self.path[:-1]
            return found + 10 * len(self.path)

    return lambda n: Walk().rest(n)


@program((4,), (0,))
def undoes_in_turn():
    class Walk:
        def __init__(self):
            self.depth = 0

        def even(self, n):
            if n <= 0:
                return self.depth
            self.depth += 1
            found = self.odd(n - 1)
            self.depth -= 1
            return found

        def odd(self, n):
            return 10 + self.depth if n <= 0 else self.even(n - 1) + self.depth

    return lambda n: Walk().even(n)


DIGITS = "zero one two three four five six seven eight nine".split()


@program((-94,), (5,), (3141,))
def joins_words():
    def words(n):
        if n < 0:
            return "minus " + words(-n)
        if n < 10:
            return DIGITS[n]
        return DIGITS[n % 10] + words(n // 10)

    return words


@program((94,), (5,), (90,))
def begins_with_one_text():
    def marks(n):
        if n < 10:
            return "x"
        text = "y"
        if n % 10:
            text += marks(n // 10)
        return text

    return marks


@program((3,), (0,))
def texts_in_a_loop():
    def tree(n):
        text = ""
        for i in range(n):
            text += f"({tree(i)}{i})"
        return text

    return tree


@program((94,), (0,))
def text_or_none():
    def halves(n):
        if n < 1:
            return None
        rest = halves(n // 2)
        return f"{n}" if rest is None else rest + f",{n}"

    return halves


@program((94,), (5,))
def text_in_a_tuple_and_a_dict():
    def parts(n):
        if n < 10:
            return n, {"word": DIGITS[n]}
        total, found = parts(n // 10)
        last, other = parts(n % 10)
        return total + last, {"word": found["word"] + " " + other["word"]}

    return parts


@program((94,), (5,))
def asks_a_text_of_a_call():
    def words(n):
        return DIGITS[n] if n < 10 else DIGITS[n % 10] + words(n // 10)

    def f(n):
        text = words(n)
        return text == "fournine", len(text), text[0]

    return f


@program((5,), (4,), (0,))
def texts_in_turn():
    def even(n):
        return "e" if n < 1 else DIGITS[n % 10] + odd(n - 1)

    def odd(n):
        return "o" if n < 1 else even(n - 1) + f"{n}"

    return even


class Board:
    """A game: players take numbers from a row in turns, and want the larger sum of those in odd places."""

    def __init__(self, items):
        self.taken = [[0] * 5 for _ in range(2)]
        self.items = items

    def search(self, depth, low, high, player):
        if depth == 0:
            return sum(self.taken[0][i] * (i % 2) * self.items[i] - self.taken[1][i] * self.items[i] for i in range(5))
        for i in range(5):
            if self.taken[0][i] + self.taken[1][i] == 0:
                self.taken[player][i] = 1
                score = self.search(depth - 1, low, high, 1 - player)
                self.taken[player][i] = 0
                if player == 0:
                    low = max(low, score)
                else:
                    high = min(high, score)
                if low >= high:
                    break
        return low if player == 0 else high

    def best(self, depth):
        best, found = -1000, -1
        for i in range(5):
            if self.taken[0][i] + self.taken[1][i] == 0:
                self.taken[0][i] = 1
                score = self.search(depth, -1000, 1000, 1)
                self.taken[0][i] = 0
                if score > best:
                    best, found = score, i
        return found, best


def test_one_graph_for_all_branches_of_a_search(monkeypatch):
    def f(first, depth):
        board = Board([3, 9, 4, 1, 5])
        board.taken[1][first] = 1
        return board.best(depth)

    made = []
    monkeypatch.setattr(recursion, "WidenedRoutine", lambda *args: made.append(WidenedRoutine(*args)) or made[-1])
    traced = rt.function(f)
    for arguments in ((2, 3), (0, 1)):
        assert plain(traced(*as_tensors(arguments))) == f(*arguments)
    assert len(made) == 1


@pytest.mark.parametrize(("make", "inputs"), PROGRAMS)
def test_as_in_python(make, inputs):
    for traced in on_both(make()).values():
        for values in inputs:
            assert plain(traced(*as_tensors(values))) == plain(make()(*values)), values


@pytest.mark.slow
def test_sudoku():
    puzzle = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"

    def fits(board, r, k, v):
        for i in range(9):
            if board[r][i] == v or board[i][k] == v:
                return False
        for i in range(3):
            for j in range(3):
                if board[3 * (r // 3) + i][3 * (k // 3) + j] == v:
                    return False
        return True

    def solve(board, place):
        if place == 81:
            return True
        r, k = place // 9, place % 9
        if board[r][k] != 0:
            return solve(board, place + 1)
        for v in range(1, 10):
            if fits(board, r, k, v):
                board[r][k] = v
                if solve(board, place + 1):
                    return True
                board[r][k] = 0
        return False

    def f(zero):
        board = [[int(x) + zero * 0 for x in puzzle[9 * i:9 * i + 9]] for i in range(9)]
        return solve(board, 0), board

    assert plain(rt.function(f)(rt.constant(0))) == plain(f(0))


def test_a_decorated_function():
    @rt.function
    def moves(n, source, target, spare):
        if n == 0:
            return 0
        return moves(n - 1, source, spare, target) + 1 + moves(n - 1, spare, target, source)

    assert [int(moves(rt.constant(n), 0, 1, 2)) for n in range(7)] == [2 ** n - 1 for n in range(7)]


def test_one_graph_for_later_calls():
    def go(n, log, k):
        if n > 0:
            log.append(k)
            go(n - 1, log, k + 1)
            go(n - 2, log, k + 2)

    @rt.function
    def f(n):
        log = [0]
        go(n, log, 0)
        return log

    def reference(n):
        log = [0]
        go(n, log, 0)
        return log

    for n in (3, 0, 6, 9):
        assert plain(f(rt.constant(n))) == reference(n)
    assert f.experimental_get_tracing_count() == 1


def test_lists_of_the_caller_have_the_changes_afterwards():
    def go(n, log, k):
        if n > 0:
            log[0] += k
            go(n - 1, log, k + 1)

    f, log = rt.function(lambda n, log: go(n, log, 1)), [5]
    f(rt.constant(3), log)
    assert plain(log) == [11]


def test_derivatives():
    def go(n, x, log, depth):
        log[0] += x * depth
        if n == 0:
            return x
        return x * go(n - 1, x * 1.5, log, depth + 1)

    def function(x, n):
        log = [x * 0.0]
        return go(n, x, log, 1) + log[0]

    f, x = rt.function(function), rt.constant(1.25, rt.float64)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, rt.constant(3))
    slope = (function(1.25 + 1e-6, 3) - function(1.25 - 1e-6, 3)) / 2e-6
    np.testing.assert_allclose(tape.gradient(y, x), slope, rtol=1e-6)
    np.testing.assert_allclose(rt.vmap(f)(rt.constant([1.0, 2.0]), rt.constant([2, 3])),
                               [function(1.0, 2), function(2.0, 3)])


def test_the_derivative_through_lists_that_grow_is_an_error():
    def grow(n, xs, k):
        xs.append(k * 1.5)
        return xs[0] * len(xs) if n == 0 else grow(n - 1, xs, k + 1)

    f, x = rt.function(lambda x, n: grow(n, [x], 1)), rt.constant(2.0)
    with rt.GradientTape() as tape:
        tape.watch(x)
        y = f(x, rt.constant(3))
    with pytest.raises(LookupError, match=r"goes through 'grow', which calls itself .* list\[float32\[\]\]"):
        tape.gradient(y, x)
    assert y == 10


def test_what_always_ends_in_an_error():
    def count_down(a, n, depth):
        a[n] += depth
        if n == 0:
            raise ValueError("the end")
        count_down(a, n - 1, depth + 1)

    with pytest.raises(ValueError, match="the end"):
        rt.function(lambda a, n: count_down(a, n, 1))(np.zeros(4), rt.constant(3))


def test_python_numbers_in_the_state_have_64_bits():
    def largest(n):
        best, low = [1], [0.0]

        def go(n, k, x):
            best[0] = max(best[0], k)
            low[0] += x
            if n > 0:
                go(n - 1, k * 1000 + 1, x / 3)
                go(n - 1, k + 7, x * 1.1)

        go(n, 3, 0.1)
        return best[0] % 1000003, best[0] > 2**50, low[0] * 1e9 % 1

    for f in on_both(largest).values():
        for n in 5, 6:
            first, second, third = largest(n)
            found = f(rt.constant(n))
            assert (int(found[0]), bool(found[1]), np.float32(found[2])) == (first, second, np.float32(third))


def routines_in(fn, *args):
    graph = rt.function(fn).get_concrete_function(*args).graph
    return {node.params["function"] for node in graph.walk() if node.op.name == "call"}


def test_calls_that_find_the_same_state_share_a_graph():
    def reach(adj):
        n, seen, order = len(adj), {}, []

        def visit(v):
            seen[v] = len(seen)
            for w in range(n):
                if adj[v][w] and w not in seen:
                    visit(w)
            order.append(v)

        for v in range(n):
            if v not in seen:
                visit(v)
        return order

    adj = np.eye(5, k=1, dtype=int)
    assert len(routines_in(reach, adj)) == 1
    for f in on_both(reach).values():
        assert plain(f(adj)) == reach(adj)


def test_a_graph_is_not_shared_where_what_it_has_read_has_changed():
    def sums(n):
        log, step = [], [1]

        def go(n, k):
            log.append(k * step[0])
            if n > 0:
                go(n - 1, k + 1)
                go(n - 2, k + 2)

        for k in range(4):
            step[0] = k * 10
            go(n, k)
        return log

    for f in on_both(sums).values():
        assert plain(f(rt.constant(3))) == sums(3)


# What is refused.

def returns_its_argument_or_a_new_list(n):
    def go(n, xs):
        if n == 0:
            return xs
        return go(n - 1, xs + [n])

    a = [5]
    b = go(n, a)
    b.append(9)
    return a, b


def puts_a_list_that_others_have_into_a_list(n):
    def go(n, path, found):
        if n <= 0:
            found.append(path)
            return
        path[0] += 1
        go(n - 1, path, found)
        path[0] -= 1

    found, path = [[0]], [0]
    go(n, path, found)
    return found


def log_of(go, n):
    log = [0]
    try:
        go(n, log, 0)
    except ValueError:
        log[0] += 100
    return log


def raises_what_is_caught(n):
    def go(n, log, depth):
        log[0] += n
        if n == 0:
            raise ValueError("end")
        go(n - 1, log, depth + 1)

    return log_of(go, n)


def raises_what_it_catches(n):
    def go(n, log, depth):
        log[0] += n
        if n == 0:
            raise ValueError("end")
        try:
            go(n - 1, log, depth + 1)
        except ValueError:
            log[0] += 100 + depth
            raise

    return log_of(go, n)


def changes_a_list_by_two_names(n):
    a = [1, 2]

    def go(k, xs, depth):
        if k == 0:
            return a[0]
        xs[0] += 1
        a[1] += xs[0] * depth
        return go(k - 1, [xs[0], 5], depth + 1)

    return go(n, a, 0), a


def changes_a_list_that_the_first_call_has_twice(n):
    a = [n, 3]
    b = a

    def go(n, k, a, b):
        if n <= 0:
            return b
        for i in range(n):
            a[0] += i
        if n % 2 == 0:
            return b + [k]
        return go(n - 1, k + 1, a[:], b)

    return go(n, 1, a, b)


def text_of_a_function_that_gets_itself(n):
    def words(f, k):
        return DIGITS[k] if k < 10 else f(f, k // 10) + f(f, k % 10)

    return words(words, n)


@pytest.mark.parametrize(("function", "text"), [
    (text_of_a_function_that_gets_itself, "calls itself where a tensor decides, but not by its name, returns text"),
    (returns_its_argument_or_a_new_list, "is the same list here as another name is known only when the graph runs"),
    (puts_a_list_that_others_have_into_a_list, "puts a list into a list while other names lead to it"),
    (raises_what_is_caught, "may raise what a `try` around this call catches"),
    (raises_what_it_catches, "may raise what a `try` around this call catches"),
    (changes_a_list_by_two_names, "is given a list or object that it changes by another name, too"),
    (changes_a_list_that_the_first_call_has_twice, "is given a list or object that it changes by another name, too"),
])
def test_what_is_refused(function, text):
    with pytest.raises((rt.errors.StagingError, rt.errors.OperatorNotAllowedInGraphError), match=text) as info:
        rt.function(function)(rt.constant(3))
    assert "test_widened_recursion.py:" in str(info.value)


def test_an_error_leaves_nothing_changed():
    holder, log = {"calls": 0}, [1]

    def go(n, depth):
        holder["calls"] += 1
        log.append(depth)
        if n > 0:
            go(n - 1, depth + 1)
            go(n - 2, [depth])
        return n

    with pytest.raises((rt.errors.StagingError, TypeError)):
        rt.function(go)(rt.constant(3), 0)
    assert holder == {"calls": 0} and log == [1]


def test_python_values_decide_where_one_graph_is_not_possible():
    """The shape depends on a Python number, so the calls are traced into their callers."""
    def go(x, size):
        if size == 12:
            return rt.reduce_sum(x)
        if x[0] > 100:
            return x[0]
        return go(rt.concat([x, rt.ones([size])], 0), size + 1)

    f = rt.function(lambda x: go(x, 1))
    assert f(rt.constant([1.0])) == 1 + sum(range(1, 12))


TABLE = {0: 0, 1: 1}


def fib_by_argument(n, table):
    if n in table:
        return table[n]
    table[n] = fib_by_argument(n - 1, table) + fib_by_argument(n - 2, table)
    return table[n]


def fib_by_global(n, _):
    if n in TABLE:
        return TABLE[n]
    TABLE[n] = fib_by_global(n - 1, _) + fib_by_global(n - 2, _)
    return TABLE[n]


def fib_by_closure(n, _):
    table, calls = {0: 0, 1: 1}, [0]

    def of(k):
        calls[0] += 1
        if k in table:
            return table[k]
        table[k] = of(k - 1) + of(k - 2)
        return table[k]

    return of(n) + 1000 * calls[0] + 1_000_000 * len(table)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("function", [fib_by_argument, fib_by_global, fib_by_closure])
def test_a_dict_that_recursion_fills(function: Any, executor: str) -> None:
    traced = on(executor, function)
    for n in 10, 25, 12:  # without the table, 25 would take 250,000 calls
        left = []
        for f, x in (function, n), (traced, rt.constant(n)):
            TABLE.clear()
            TABLE.update({0: 0, 1: 1})
            own = {0: 0, 1: 1}
            left.append([int(f(x, own)), *({int(k): int(v) for k, v in d.items()} for d in (own, TABLE))])
        assert left[0] == left[1] and [*left[0][1]] == [*left[1][1]]
    TABLE.clear()


class Last:
    last = None


def sets_a_class_attribute(n):
    if n > 0:
        Last.last = [n]
        return sets_a_class_attribute(n - 1) + 1
    Last.last = "none"
    return 0


def test_an_error_names_the_class_whose_attribute_changes_its_type() -> None:
    with pytest.raises(rt.errors.StagingError, match=r"\d: Last\.last is .* in one call and .* in another"):
        rt.function(sets_a_class_attribute)(rt.constant(3))
    assert Last.last is None

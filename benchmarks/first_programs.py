"""First calls of typical user programs, with lists, dicts, recursion and Python's ranges: conversion, tracing,
rewriting, lowering, LLVM and the run, in seconds of CPU time, for data of one size and of twice that.

The goals are two seconds, and at most linear growth. Results are compared with Python's.
"""
from __future__ import annotations

import gc
import heapq
import linecache
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import runtime as rt
from benchmarks.measure import OURS, Budget, Row

__all__ = ["PROGRAMS", "run", "ternaries"]

GOAL: Final = 2.0
"""Seconds of a first call, at most."""
MOST: Final = 2.5
"""Factor of the time for twice the data, at most."""
_QUICK: Final = ("brainfuck", "Dijkstra's algorithm with a heap")


def run(budget: Budget) -> Iterator[Row]:
    rt.function(lambda x: x + 1)(rt.constant(1))  # loads what any first call needs
    names = _QUICK if budget.repeat < 2 else PROGRAMS
    for name in names:
        before = first_call(name, 1)
        yield Row(name, "ms", {OURS: before * 1e3}, f"<= {GOAL:g} s", before <= GOAL)
        after = first_call(name, 2)
        yield Row(f"{name}: twice the data", "ms", {OURS: after * 1e3}, f"<= {MOST} times the row above",
                  after <= MOST * max(before, 0.05))


def first_call(name: str, size: int) -> float:
    """The seconds of the first call of a program with data `size` times as long."""
    fn, *arguments = PROGRAMS[name](size)
    copies = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]
    gc.collect()
    gc.freeze()  # so that collections only scan this call's objects, as in a process of its own
    start = time.process_time()
    found = rt.function(fn)(*copies)
    took = time.process_time() - start
    if size == 1:
        want = fn(*(arguments if name in _OF_TENSORS else map(_plain, arguments)))
        for one, other in zip(rt.nest.flatten(found), rt.nest.flatten(want), strict=True):
            np.testing.assert_allclose(np.asarray(one, float), np.asarray(other, float), rtol=1e-3)
    return took


def _plain(x: Any) -> Any:
    return (x.numpy() if x.ndim else x.numpy().item()) if isinstance(x, rt.Tensor) else x


def marks(x, n):
    found = [0] * n
    for i in x:
        found[i] = i
    return found


def knapsack(weights, values, capacity):
    best = [0] * (capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, 0, -1):
            if weights[i] <= c:
                best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def common_subsequence(a, b):
    n, m = len(a), len(b)
    lengths = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                lengths[i][j] = lengths[i - 1][j - 1] + 1
            else:
                lengths[i][j] = max(lengths[i - 1][j], lengths[i][j - 1])
    return lengths[n][m]


def power_iteration(a, v):
    for _ in range(1000):
        w = rt.linalg.matvec(a, v)
        w = w / rt.norm(w)
        d = w - v
        v = w
        if rt.norm(d) < 1e-6:
            break
    return rt.tensordot(v, rt.linalg.matvec(a, v), 1)


def kruskal(edges, weights, n):
    parent = list(range(n))
    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x
    total = 0.0
    for e in range(len(edges)):
        a = find(edges[e, 0])
        b = find(edges[e, 1])
        if a != b:
            parent[a] = b
            total += weights[e]
    return total


def dijkstra(graph, source):
    n = len(graph)
    dist = [math.inf] * n
    done = [False] * n
    dist[source] = 0.0
    for _ in range(n):
        u = -1
        for i in range(n):
            if not done[i] and (u < 0 or dist[i] < dist[u]):
                u = i
        done[u] = True
        for v in range(n):
            if graph[u, v] > 0 and dist[u] + graph[u, v] < dist[v]:
                dist[v] = dist[u] + graph[u, v]
    return dist


def dijkstra_heap(graph, source):
    n = len(graph)
    dist = [math.inf] * n
    dist[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > dist[u]:
            continue
        for v in range(n):
            if graph[u, v] > 0 and d + graph[u, v] < dist[v]:
                dist[v] = d + graph[u, v]
                heapq.heappush(queue, (dist[v], v))
    return dist


def shortest_ways(n, ways, source):
    nexts = [[] for _ in range(n)]
    for u, v, length in ways:
        nexts[u].append((v, length))
        nexts[v].append((u, length))
    lengths = [10**9] * n
    lengths[source] = 0
    heap = [(0, source)]
    while heap:
        before, u = heapq.heappop(heap)
        if before > lengths[u]:
            continue
        for v, length in nexts[u]:
            if before + length < lengths[v]:
                lengths[v] = before + length
                heapq.heappush(heap, (before + length, v))
    return lengths


def merge_sort(a, low, high):
    if high - low < 2:
        return
    middle = (low + high) // 2
    merge_sort(a, low, middle)
    merge_sort(a, middle, high)
    before = a[low:high].copy()
    i, j = 0, middle - low
    for k in range(low, high):
        if j >= high - low or (i < middle - low and before[i] <= before[j]):
            a[k] = before[i]
            i += 1
        else:
            a[k] = before[j]
            j += 1


def sorted_by_bounds(a):
    merge_sort(a, 0, len(a))
    return a


def a_star(grid, start, goal):
    rows, columns = grid.shape
    far = 10 ** 9
    cost = [[far] * columns for _ in range(rows)]
    cost[start[0]][start[1]] = 0
    frontier = [(0, start[0], start[1])]
    while frontier:
        _, r, c = heapq.heappop(frontier)
        if r == goal[0] and c == goal[1]:
            return cost[r][c]
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            y, x = r + dr, c + dc
            if 0 <= y < rows and 0 <= x < columns and grid[y, x] == 0:
                new = cost[r][c] + 1
                if new < cost[y][x]:
                    cost[y][x] = new
                    guess = abs(goal[0] - y) + abs(goal[1] - x)
                    heapq.heappush(frontier, (new + guess, y, x))
    return -1


def gauss_seidel(u, f, steps):
    n = u.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def brainfuck(code, inputs):
    tape = [0] * 300
    out = []
    pc = 0
    at = 0
    read = 0
    while pc < len(code):
        op = code[pc]
        if op == 0:
            at += 1
        elif op == 1:
            at -= 1
        elif op == 2:
            tape[at] = (tape[at] + 1) % 256
        elif op == 3:
            tape[at] = (tape[at] - 1) % 256
        elif op == 4:
            out.append(tape[at])
        elif op == 5:
            tape[at] = inputs[read]
            read += 1
        elif op == 6:
            if tape[at] == 0:
                depth = 1
                while depth > 0:
                    pc += 1
                    if code[pc] == 6:
                        depth += 1
                    elif code[pc] == 7:
                        depth -= 1
        elif op == 7 and tape[at] != 0:
            depth = 1
            while depth > 0:
                pc -= 1
                if code[pc] == 7:
                    depth += 1
                elif code[pc] == 6:
                    depth -= 1
        pc += 1
    return out


def perlin(width, height, perm, octaves):
    image = np.zeros((height, width))
    def fade(t):
        return t * t * t * (t * (t * 6 - 15) + 10)
    def lerp(t, a, b):
        return a + t * (b - a)
    def grad(h, x, y):
        h = h & 3
        u = x if h < 2 else y
        v = y if h < 2 else x
        return (u if h & 1 == 0 else -u) + (v if h & 2 == 0 else -v)
    for j in range(height):
        for i in range(width):
            value = 0.0
            amplitude = 1.0
            frequency = 0.05
            for _ in range(octaves):
                x = i * frequency
                y = j * frequency
                xi = int(x) & 255
                yi = int(y) & 255
                xf = x - int(x)
                yf = y - int(y)
                u = fade(xf)
                v = fade(yf)
                aa = perm[perm[xi] + yi]
                ab = perm[perm[xi] + yi + 1]
                ba = perm[perm[xi + 1] + yi]
                bb = perm[perm[xi + 1] + yi + 1]
                x1 = lerp(u, grad(aa, xf, yf), grad(ba, xf - 1, yf))
                x2 = lerp(u, grad(ab, xf, yf - 1), grad(bb, xf - 1, yf - 1))
                value += amplitude * lerp(v, x1, x2)
                amplitude *= 0.5
                frequency *= 2
            image[j, i] = value
    return image


def option(s, k, r, sigma, t, steps):
    dt = t / steps
    u = rt.exp(sigma * rt.sqrt(dt))
    d = 1 / u
    p = (rt.exp(r * dt) - d) / (u - d)
    discount = rt.exp(-r * dt)
    values = [max(s * u ** i * d ** (steps - i) - k, 0.0) for i in range(steps + 1)]
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            values[i] = discount * (p * values[i + 1] + (1 - p) * values[i])
    return values[0]


def n_body(pos, vel, mass, steps):
    n = len(pos)
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = pos[j] - pos[i]
                    r2 = np.sum(d * d) + 0.01
                    vel[i] += 0.01 * mass[j] * d / (r2 * np.sqrt(r2))
        for i in range(n):
            pos[i] += 0.01 * vel[i]
    return pos


def floyd(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
    return dist


def lu(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def rule_30(steps):
    cells = [0] * 101
    cells[50] = 1
    for _ in rt.range(steps):
        cells = [0] + [cells[i - 1] ^ (cells[i] | cells[i + 1]) for i in range(1, 100)] + [0]
    return cells


def sudoku(board):
    def fits(r, c, v):
        for i in range(9):
            if board[r][i] == v or board[i][c] == v:
                return False
        br, bc = 3 * (r // 3), 3 * (c // 3)
        for i in range(3):
            for j in range(3):
                if board[br + i][bc + j] == v:
                    return False
        return True
    def solve(at):
        if at == 81:
            return True
        r, c = at // 9, at % 9
        if board[r][c] != 0:
            return solve(at + 1)
        for v in range(1, 10):
            if fits(r, c, v):
                board[r][c] = v
                if solve(at + 1):
                    return True
                board[r][c] = 0
        return False
    return solve(0), board


def sudoku_lists(cells):
    board = [[cells[9 * r + c] for c in range(9)] for r in range(9)]
    def find_empty():
        for r in range(9):
            for c in range(9):
                if board[r][c] == 0:
                    return r, c
        return -1, -1
    def fits(r, c, v):
        for i in range(9):
            if board[r][i] == v or board[i][c] == v:
                return False
        br, bc = 3 * (r // 3), 3 * (c // 3)
        for i in range(br, br + 3):
            for j in range(bc, bc + 3):
                if board[i][j] == v:
                    return False
        return True
    def solve():
        r, c = find_empty()
        if r < 0:
            return True
        for v in range(1, 10):
            if fits(r, c, v):
                board[r][c] = v
                if solve():
                    return True
                board[r][c] = 0
        return False
    solve()
    return board


def queens(n):
    columns = [False] * 8
    up = [False] * 15
    down = [False] * 15
    def place(row):
        if row == n:
            return 1
        found = 0
        for c in range(8):
            if not columns[c] and not up[row + c] and not down[row - c + 7]:
                columns[c] = up[row + c] = down[row - c + 7] = True
                found += place(row + 1)
                columns[c] = up[row + c] = down[row - c + 7] = False
        return found
    return place(0)


def minimax(board, player):
    lines = ((0,1,2),(3,4,5),(6,7,8),(0,3,6),(1,4,7),(2,5,8),(0,4,8),(2,4,6))
    def winner(b):
        for x, y, z in lines:
            if b[x] != 0 and b[x] == b[y] and b[y] == b[z]:
                return b[x]
        return 0
    def value(b, player):
        w = winner(b)
        if w != 0:
            return w
        best = -2 * player
        for i in range(9):
            if b[i] == 0:
                b[i] = player
                v = value(b, -player)
                b[i] = 0
                if player > 0:
                    best = max(best, v)
                else:
                    best = min(best, v)
        if best == -2 * player:
            return 0
        return best
    return value(board, player)


def breadth_first(grid):
    rows, columns = grid.shape
    steps = [[-1] * columns for _ in range(rows)]
    steps[0][0] = 0
    queue = deque([(0, 0)])
    while queue:
        r, c = queue.popleft()
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            y, x = r + dr, c + dc
            if 0 <= y < rows and 0 <= x < columns and grid[y, x] == 0 and steps[y][x] < 0:
                steps[y][x] = steps[r][c] + 1
                queue.append((y, x))
    return steps


class ThreeInARow:
    def __init__(self):
        self.grid = [[0] * 4 for _ in range(4)]

    def free_row(self, column):
        for row in range(4):
            if self.grid[row][column] == 0:
                return row
        return -1

    def has_won(self, player):
        for i in range(4):
            for j in range(2):
                if all(self.grid[i][j + k] == player for k in range(3)):
                    return True
                if all(self.grid[j + k][i] == player for k in range(3)):
                    return True
        return False

    def search(self, depth, low, high, player):
        if self.has_won(-player):
            return -player * (100 + depth)
        if depth == 0:
            return 0
        for column in range(4):
            row = self.free_row(column)
            if row < 0:
                continue
            self.grid[row][column] = player
            score = self.search(depth - 1, low, high, -player)
            self.grid[row][column] = 0
            if player == 1:
                low = max(low, score)
            else:
                high = min(high, score)
            if low >= high:
                break
        return low if player == 1 else high

    def best_move(self, depth):
        best, found = -1000, -1
        for column in range(4):
            row = self.free_row(column)
            if row >= 0:
                self.grid[row][column] = 1
                score = self.search(depth, -1000, 1000, -1)
                self.grid[row][column] = 0
                if score > best:
                    best, found = score, column
        return found, best


def three_in_a_row(moves, depth):
    game, player = ThreeInARow(), 1
    for column in moves:
        row = game.free_row(column)
        if row >= 0:
            game.grid[row][column] = player
            player = -player
    return game.best_move(depth)


class Mass:
    def __init__(self, x, v):
        self.x, self.v = x, v


class Springs:
    def __init__(self, n):
        self.masses = [Mass(float(i), 0.0) for i in range(n)]

    def step(self, dt):
        for i, mass in enumerate(self.masses):
            if i > 0:
                mass.v += dt * (self.masses[i - 1].x - mass.x + 1.0)
            if i < len(self.masses) - 1:
                mass.v += dt * (self.masses[i + 1].x - mass.x - 1.0)
        for mass in self.masses:
            mass.x += dt * mass.v

    def energy(self):
        return sum(0.5 * mass.v ** 2 for mass in self.masses)


def springs(x, steps, n):
    chain = Springs(n)
    chain.masses[0].x = x
    for _ in range(steps):
        chain.step(0.1)
    return chain.energy(), chain.masses[-1].x


def matrix_products(x, n):
    found = x
    for _ in range(n):
        found = rt.matmul(x, found)
    return found


# Programs of many statements.


def _written(*lines: str) -> Callable[..., Any]:
    """The function `f` with these lines as its body."""
    text = "\n".join(["def f(x):", *(f"    {line}" for line in lines), ""])
    name = f"<written {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    namespace: dict[str, Any] = {}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def _many_returns(n: int) -> Callable[..., Any]:
    return _written(*[f"if x == {k}: return x * {k}" for k in range(n)], "return x")


def _changed_display(n: int) -> Callable[..., Any]:
    return _written(f"a = [{', '.join(map(str, range(n)))}]", "if x > 0:", "    a[3], a[5] = 7, x", "return a")


def _nested_tries(n: int) -> Callable[..., Any]:
    lines = ["y = 0", *["    " * k + "try:" for k in range(n)], "    " * n + "y = 10 // x"]
    for k in reversed(range(n)):
        lines += ["    " * k + "except ZeroDivisionError:", "    " * k + f"    y += {k}"]
    return _written(*lines, "return y")


def ternaries(n: int) -> Callable[..., Any]:
    return _written("return " + "".join(f"{k} if x == {k} else " for k in range(n)) + "x")


def _comparisons(n: int) -> Callable[..., Any]:
    return _written("return " + " < ".join(f"x + {k}" for k in range(n)))


# Their data.

_RANDOM: Final = np.random.default_rng(0)
_SUDOKU: Final = np.array([int(digit) for digit in (
    "530070000600195000098000060800060003400803001700020006060000280000419005000080079")], np.int32)
_HELLO: Final = ("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++.>>.<-.<.+++.------.--------."
                 ">>+.>++.")


def two_sum(xs, target):
    seen = {}
    for i, x in enumerate(xs):
        if target - x in seen:
            return seen[target - x], i
        seen[x] = i
    return -1, -1


def places_of_a_walk(steps):
    x, y, seen = 0, 0, {(0, 0)}
    for step in steps:
        if step < 2:
            x += 2 * step - 1
        else:
            y += 2 * step - 5
        seen.add((x, y))
    return len(seen)


def _ints(values: Any) -> Any:
    return rt.constant(np.asarray(values, np.int32))


def _graph(n: int) -> Any:
    return _RANDOM.uniform(1, 10, (n, n)) * (_RANDOM.uniform(size=(n, n)) < 0.4)


def _maze(n: int) -> Any:
    """Walls in every third row, with a gap in each."""
    walls = (_RANDOM.uniform(size=(n, n)) < 0.8) & (np.arange(n)[:, None] % 3 == 1)
    walls[:, 0] = False
    return walls


PROGRAMS: Final[dict[str, Callable[[int], tuple[Any, ...]]]] = {
    "a list set in a loop": lambda k: (marks, rt.range(10_000 * k), 10_000 * k),
    "knapsack of 10,000": lambda k: (
        knapsack, _ints(_RANDOM.integers(1, 50, 50)), _ints(_RANDOM.integers(1, 99, 50)), 10_000 * k),
    "common subsequence of 40 and 50": lambda k: (
        common_subsequence, _ints(_RANDOM.integers(0, 4, 40 * k)), _ints(_RANDOM.integers(0, 4, 50 * k))),
    "common subsequence of 500 and 1000": lambda k: (
        common_subsequence, _ints(_RANDOM.integers(0, 4, 500 * k)), _ints(_RANDOM.integers(0, 4, 1000))),
    "power iteration": lambda k: (
        power_iteration, rt.constant(np.diag(np.arange(1, 50 * k + 1)).astype(np.float32)), rt.ones(50 * k)),
    "Kruskal's algorithm, 20,000 edges": lambda k: (
        kruskal, _ints(_RANDOM.integers(0, 5000, (20_000 * k, 2))),
        rt.constant(np.sort(_RANDOM.uniform(size=20_000 * k)).astype(np.float32)), 5000),
    "Dijkstra's algorithm": lambda k: (dijkstra, rt.constant(_graph(40 * k)), _ints(0)),
    "Dijkstra's algorithm with a heap": lambda k: (dijkstra_heap, rt.constant(_graph(40 * k)), _ints(0)),
    "Dijkstra's algorithm, a list of 10,000 tuples": lambda k: (
        shortest_ways, 2000, [*map(tuple, _RANDOM.integers(1, 2000, (10_000 * k, 3)).tolist())], _ints(0)),
    "A*": lambda k: (a_star, _ints(_maze(20 * k)), _ints([0, 0]), _ints([20 * k - 1, 20 * k - 1])),
    "breadth-first search": lambda k: (breadth_first, _ints(_maze(20 * k))),
    "Gauss-Seidel": lambda k: (gauss_seidel, np.zeros((20 * k, 20 * k)), _RANDOM.uniform(size=(20 * k, 20 * k)), 10),
    "brainfuck": lambda k: (brainfuck, _ints(["><+-.,[]".index(c) for c in _HELLO]), _ints([0])),
    "Perlin noise": lambda k: (
        perlin, 32 * k, 32 * k, _ints(np.concatenate([*[_RANDOM.permutation(256)] * 2, [0, 1]])), 4),
    "option on a binomial tree": lambda k: (option, *map(rt.constant, (100.0, 100.0, 0.05, 0.2, 1.0)), 100 * k),
    "20 bodies": lambda k: (
        n_body, *[_RANDOM.uniform(size=(20 * k, 3)) for _ in "xv"], _RANDOM.uniform(size=20 * k), 10),
    "Floyd-Warshall": lambda k: (floyd, _graph(60 * k) + 1),
    "LU decomposition": lambda k: (lu, _RANDOM.uniform(size=(40 * k, 40 * k)) + 40 * np.eye(40 * k)),
    "a merge sort by bounds": lambda k: (sorted_by_bounds, _RANDOM.integers(0, 1000, 200 * k)),
    "rule 30": lambda k: (rule_30, _ints(30 * k)),
    "sudoku on an array": lambda k: (sudoku, _SUDOKU.reshape(9, 9)),
    "sudoku on lists of lists": lambda k: (sudoku_lists, _ints(_SUDOKU)),
    "8 queens": lambda k: (queens, _ints(8)),
    "two sum with a dict, 20,000 numbers": lambda k: (
        two_sum, _ints(2 * _RANDOM.integers(0, 10**6, 20_000 * k)), _ints(7)),
    "a walk of 20,000 steps with a set": lambda k: (places_of_a_walk, _ints(_RANDOM.integers(0, 4, 20_000 * k))),
    "minimax": lambda k: (minimax, np.array([1, -1, 0, 0, 0, 0, 0, 0, 0], np.int32), _ints(1)),
    "three in a row, alpha-beta search in a class": lambda k: (three_in_a_row, _ints([2, 2, 1] * k), _ints(3)),
    "40 masses on springs, as objects": lambda k: (springs, rt.constant(0.5), _ints(10), 40 * k),
    "1,000 times if x == k: return": lambda k: (_many_returns(1000 * k), _ints(70)),
    "a display of 1,000 that a branch changes": lambda k: (_changed_display(1000 * k), _ints(70)),
    "2,000 products of matrices": lambda k: (matrix_products, rt.ones((10, 10)) / 10, 2000 * k),
    "8 nested try": lambda k: (_nested_tries(8 * k), _ints(0)),
    "a chain of 200 comparisons": lambda k: (_comparisons(200 * k), _ints(0)),
    "a ternary of 500 levels": lambda k: (ternaries(500 * k), _ints(77)),
}
"""By name: the function and its arguments, for data `k` times as long."""
_OF_TENSORS: Final = ("power iteration", "2,000 products of matrices", "option on a binomial tree")
"""Programs that call `rt`: the reference run in Python uses tensors."""

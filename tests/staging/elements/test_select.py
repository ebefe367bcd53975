"""What a tensor is the index of, when it is no number: objects, rows of several lengths, dicts, functions. And state
that is one of several objects: as in Python, on both executors."""
from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from select_programs import EXECUTORS, Program, difference
from traced_once import on

import runtime as rt
from runtime.staging.elements.select import among, index_of
from tests.plain_values import plain


class Body:
    kind = 3

    def __init__(self, x, nxt=None):
        self.x, self.v, self.log, self.name, self.tag, self._q, self.nxt = x, 1.0, [], f"b{x}", None, x, nxt

    def step(self, dt):
        self.x += self.v * dt
        return self.x

    def note(self, z):
        self.log.append(z)

    def turn(self, limit):
        if self.x > limit:
            self.v = 5.0
        else:
            self.x = 0.5
        for _ in range(3):
            self.x += 1.0
        return self

    @property
    def twice(self):
        return self.x * 2

    @property
    def q(self):
        return self._q

    @q.setter
    def q(self, value):
        self._q = value + 1

    @classmethod
    def of_class(cls):
        return cls.kind

    @staticmethod
    def plus(a):
        return a + 1

    def __add__(self, other):
        return self.x + (other.x if isinstance(other, Body) else other)

    def __radd__(self, other):
        return other + self.x

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.x + i

    def __setitem__(self, i, value):
        self.x = value * i

    def __call__(self, z):
        return self.x * z

    def __eq__(self, other):
        return self.x == other.x

    def __hash__(self):
        return 1

    def __lt__(self, other):
        return self.x < other.x

    def __contains__(self, z):
        return self.x == z

    def __repr__(self):
        return f"Body({self.x})"


class Heavy(Body):
    def step(self, dt):
        found = super().step(dt)
        self.v *= 2.0
        return found + 100


class Plain:
    def __init__(self, x, nxt=None):
        self.x, self.nxt = x, nxt


class Slim:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a, self.b = a, [a]


class Counted:
    count = 0

    def hit(self):
        self.count += 1
        return self


@dataclasses.dataclass
class Record:
    x: float
    y: list

    def grow(self, value):
        self.y.append(value)
        self.x += value


def bodies():
    return [Body(1.0), Body(2.0), Body(3.0)]


def told(ps):
    return [(p.x, p.v, p.log, p._q) for p in ps]


def attributes(n):
    ps = bodies()
    for i in range(n):
        ps[i].x += i * 0.5
        ps[i].name = "big" if ps[i].x > 1.5 else "small"
        ps[i].tag = ps[i].name if i > 0 else None
        for p in ps:
            if ps[i] is not p:
                p.v += ps[i].x
    ps[n - 1].tag = "last"
    return (told(ps), [p.name for p in ps], ps[n - 1].name, [p.tag is None for p in ps], ps[n - 1].tag is None,
            ps[n - 1].kind, getattr(ps[n - 1], "x"), getattr(ps[n - 1], "zz", 5), hasattr(ps[n - 1], "log"))


def attributes_on_some(n):
    ps, xs = bodies(), [Slim(1), Slim(2), Slim(3)]
    ps[n - 1].extra = 1
    for i in range(n):
        xs[i].a += i
        xs[i].b[0] = i
    del xs[n - 1].a
    return ([hasattr(p, "extra") for p in ps], [hasattr(x, "a") for x in xs], [x.b for x in xs],
            hasattr(ps[n - 1], "extra"))


def methods(n):
    ps = bodies()
    y = ps[n - 1].twice
    ps[n - 1].q = 7.5
    ps[n - 2].q += 1
    for i in range(n):
        ps[i].step(0.5)
        ps[i].note(i * 2)
        p = ps[i]
        if p.x > 2.0:
            p.v = 0.0
        else:
            p.turn(1.0).x += 1
        for j in range(i):
            p.x += j
    return told(ps), y, ps[n - 1].of_class(), ps[n - 1].plus(3), sum(p.x for p in ps), max(ps, key=lambda p: p.x).x


def of_several_classes(n):
    s, ps, qs = 0.0, [Heavy(1.0), Body(2.0), Heavy(3.0)], [Heavy(1.0), Heavy(2.0), Heavy(3.0)]
    for i in range(n):
        s += ps[i].step(0.5) + qs[i].step(0.5)
    found = [isinstance(ps[i % 3], Heavy) for i in range(n)]
    mixed = [Plain(1), abs, (1, 2), (1, 2, 3)]
    return (s, told(ps), told(qs), isinstance(qs[n - 1], Heavy), type(qs[n - 1]) is Heavy, found,
            isinstance(ps[n - 1], Body), callable(mixed[n - 1]), isinstance(mixed[n], tuple),
            isinstance([(1,), (1, 2)][n - 2], list))


def special_methods(n):
    ps = bodies()
    p = ps[n - 1]
    ps[n - 2][4] = 2.0
    print(p, f"{p}", [p])
    return (p + 1, p + ps[0], ps[0] + p, 1 + p, len(p), p[2], p(3), p == ps[2], p == ps[0], p != ps[2], 3.0 in p,
            p < ps[0], ps[0] < p, p is ps[2], p is ps[0], ps[0] is p, bool(p), callable(p), isinstance(p, Body),
            type(p) is Body, told(ps))


def class_attributes(n):
    xs = [Counted(), Counted(), Counted()]
    for i in range(n * 2):
        xs[i % 3].hit().hit()
    return [x.count for x in xs]


def twice_in_a_list(n):
    ps = bodies()
    ps = [ps[0], ps[0], ps[1]]
    ps[n - 2].x += 1.0
    ps[n - 3].note(2)
    for i in range(n):
        ps[i].v *= 2.0
    return told(ps)


def held_elsewhere(n):
    ps, d, h = bodies(), {"now": Plain(0.0)}, Plain(0.0)
    d["now"] = ps[n - 1]
    d["now"].x = 0.0
    h.x = ps[n - 2]
    h.x.x = 7.0
    for i in range(n):
        h.x = ps[i]
        h.x.v += 1.0
    q = {"ps": ps}["ps"][n - 1]
    q.log.append(4)
    c = copy.copy(ps[n - 1])
    c.x = 5.0
    return told(ps), h.x.x, c.x


def records(n):
    ds = [Record(1.0, [1.0]), Record(2.0, [2.0]), Record(3.0, [3.0])]
    for i in range(n):
        d = ds[i]
        d.grow(2.0)
        for j in range(i + 1):
            d.x += j
            d.y[0] += 1
        if d.x > 5:
            d.x = 0.0
    return [(d.x, d.y) for d in ds], ds[n - 1].x


def functions(n):
    fs = [lambda x: x + 1, lambda x: x * 10, abs, Body(2.0)]
    bound = [p.step for p in bodies()]
    s = 1.0
    for i in range(n):
        s = fs[i](s) + bound[i](0.5)
    f = abs if n > 5 else (lambda x: x + 1)
    g = f
    for i in range(n):
        if i > 1:
            g = abs
        else:
            g = f
    return s, f(-2), g(-3)


def dicts(n):
    s, ds = 0, [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3]}, {"a": 3, "b": [4, 5, 6]}]
    for i in range(n):
        ds[i]["a"] += 10
        s += len(ds[i]["b"]) + ds[i].get("a") + sum(ds[i]["b"]) + ds[i].get("z", 100)
        ds[i]["b"].append(i)
    d = ds[n - 1]
    other = [{"k": 1}, {"k": 2}, {"k": 3}][n - 1]
    return ds, s, "a" in d, "z" in d, [*d], len(d), [*d.keys()], d["a"], other == {"k": 3}


def rows_of_several_lengths(n):
    s, g = 0, [[1, 2], [3], [4, 5, 6]]
    for i in range(n):
        g[i][0] += 1
        s += g[i][-1] * len(g[i])
        for x in g[i][:]:
            s += x
            g[i][0] += 1
        if 5 in g[i]:
            s += 1000
    row = g[n - 1]
    row[0] = 7
    return g, s, [x + 1 for x in g[n - 1]], sum(g[n - 1]), max(g[n - 2]), [*row[:2]], sorted(g[n - 1])


def three_levels(n):
    s, m = 0, [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    for i in range(n - 1):
        for j in range(n - 1):
            for k in range(n - 1):
                s += m[i][j][k] * (i + 1)
                m[i][j][k] += s
    t = [(1, "one"), (2, "two"), (3, "three")]
    a, b = t[n - 1]
    return m, s, a, b, t[n - 2][1]


def buckets(n):
    empty, some, out = [[] for _ in range(4)], [[1, 2], [3], []], []
    for i in range(n * 3):
        empty[(i * i) % 4].append(i)
        some[i % 3].append(i)
    for b in empty:
        for x in b:
            out.append(x)
    return empty, some, out, [len(b) for b in empty]


def row_staged_by_its_own_name(n):
    dp = [[0] * 4 for _ in range(3)]
    row = dp[0]
    for j in range(n):
        row[j] = j
    for i in range(1, n):
        for j in range(n):
            dp[i][j] = dp[i - 1][j] + 1
    return dp


def methods_of_rows(n):
    g = [[3, 2], [3, 4], [0, 0]]
    for i in range(n):
        if g[i] == [3, 4]:
            g[i][0] = 1
        if 0 in g[i]:
            g[i][:] = [i, i + 1]
        g[i].sort()
        g[i].reverse()
    return g, g[1].index(4), g[n - 2].count(3), g[n - 1] != [1, 2]


def breadth_first(n):
    adjacent, dist, todo = [[1, 2], [3], [3], []], [99] * 4, [0]
    dist[0] = 0
    while len(todo) > 0:
        v = todo.pop(0)
        for w in adjacent[v]:
            if dist[w] == 99:
                dist[w] = dist[v] + n
                todo.append(w)
    return dist


def best_so_far(n):
    ps = bodies()
    best, worst = None, ps[0]
    for i in range(n):
        if best is None or ps[i].x > best.x:
            best = ps[i]
        if ps[i].x < worst.x:
            worst = ps[i]
    best.v = 9.0
    worst.v += 1
    return best.x, told(ps), best is ps[2], best is None, worst is ps[0], worst is best


def one_of_two(n):
    ps = bodies()
    p, q = ps[0], ps[1]
    if n > 2:
        p = ps[2]
    p.x += 1.0
    r = p if n > 5 else q
    r.v = 0.0
    r.log.append(1)
    return told(ps), p is q, r is q


def a_linked_list(n):
    c = Plain(3)
    a = Plain(1, Plain(2, c))
    cur, s = a, 0
    while cur is not None:
        s += cur.x
        cur.x += 10
        cur = cur.nxt
        if s > n:
            break
    return s, a.x, c.x, cur is None


def a_tree(n):
    leaf = Plain
    tree = leaf(5, (leaf(2, (leaf(1), leaf(3))), leaf(8, (leaf(7), leaf(9)))))
    cur, depth, found = tree, 0, False
    while not found:
        depth += 1
        if cur.x == n:
            found = True
        elif cur.nxt is None:
            break
        else:
            cur = cur.nxt[0] if n < cur.x else cur.nxt[1]
    return found, depth


def put_at_a_tensor(n):
    ps = bodies()
    a, b = ps[n - 1], ps[n - 2]
    a.x, b.x = b.x, a.x
    ps[n - 3], ps[0] = ps[0], ps[1]
    for i in range(n - 1):
        ps[i].v += 1.0
    return told(ps)


def sorted_by_swaps(n):
    ps = [Plain(3), Plain(1), Plain(2), Plain(0)]
    for i in range(1, n + 1):
        j = i
        while j > 0 and ps[j - 1].x > ps[j].x:
            ps[j - 1], ps[j] = ps[j], ps[j - 1]
            j -= 1
    return [p.x for p in ps]


def a_state_machine(n):
    table = {"idle": {0: "idle", 1: "run"}, "run": {0: "idle", 1: "done"}, "done": {0: "done", 1: "done"}}
    state, steps = "idle", 0
    while state != "done" and steps < 20:
        state = table[state][steps * n % 2]
        steps += 1
    return state, steps


def in_a_try(n):
    ps = bodies()
    try:
        for i in range(n + 2):
            ps[i].x = 5.0
            if ps[i].v > 0.5 and i == 1:
                raise ValueError("x")
    except ValueError:
        ps[n - 1].v = 0.0
    try:
        ps[n + 4].x = 1.0
    except IndexError:
        ps[0].x = 9.0
    try:
        found = [{"a": 1}, {"b": 2}, {"a": 3}][n - 2]["a"]
    except KeyError:
        found = -1
    return told(ps), ps[-n].x, found


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("program", [
    attributes, attributes_on_some, methods, of_several_classes, special_methods, class_attributes, twice_in_a_list,
    held_elsewhere, records, functions, dicts, rows_of_several_lengths, three_levels, buckets,
    row_staged_by_its_own_name, methods_of_rows, breadth_first, best_so_far, one_of_two, a_linked_list, a_tree,
    put_at_a_tensor, sorted_by_swaps, a_state_machine, in_a_try,
], ids=lambda fn: fn.__name__)
def test_programs(program: Callable[..., Any], executor: str, capsys: Any) -> None:
    staged = on(executor, program)
    for n in (3, 2):
        want, printed = program(n), capsys.readouterr().out
        assert plain(staged(rt.constant(n))) == plain(want)
        assert capsys.readouterr().out == printed


def test_the_object_that_is_returned_is_the_users() -> None:
    ps, rows = [Plain(1), Plain(2)], [np.zeros(2), np.ones(2)]
    found, row, fn = rt.function(lambda n: (ps[n], rows[n], [abs, max][n]))(rt.constant(1))
    assert found is ps[1] and row is rows[1] and fn is max


def test_variables_that_a_tensor_is_the_index_of() -> None:
    weights = [rt.Variable([1.0, 2.0]), rt.Variable([3.0, 4.0])]

    @rt.function
    def fn(n):
        weights[n].assign_add([10.0, 10.0])
        return weights[n] * 2.0, weights[n][1]

    twice, second = fn(rt.constant(1))
    assert twice.numpy().tolist() == [26.0, 28.0] and second == 14.0 and weights[0].numpy().tolist() == [1.0, 2.0]


# What is refused.

def as_a_key(n):
    return {bodies()[n]: 1}


def of_all_attributes(n):
    return dir(bodies()[n])


def of_no_text(n):
    return str([Plain(1), Plain(2)][n])


def of_no_attribute(n):
    return bodies()[n].nothing


def another_record(n):
    ds = [Record(1.0, []), Record(2.0, [])]
    best = ds[0]
    for i in range(n):
        if ds[i].x > best.x:
            best = ds[i]
    return best.x


def too_many(n):
    return [Plain(i) for i in range(300)][n].nxt


def too_many_methods(n):
    return [str(i).upper for i in range(300)][n]()


_INDEX = "Use its index, or its attributes and items."


@pytest.mark.parametrize(("program", "line", "what", "remedy"), [
    (of_no_text, 1, "which of 2 values of type Plain this is, is known only when the graph runs: it has no text but by"
     " a method `__repr__` or `__str__` of its class", _INDEX),
    (too_many_methods, 1, "one of 300 objects is used as a tensor tells, which takes a branch for each: there can be"
     " 256", "Keep numbers in lists or tensors of their own, one for each attribute."),
], ids=lambda x: getattr(x, "__name__", ""))
def test_refusals(program: Callable[..., Any], line: int, what: str, remedy: str) -> None:
    with pytest.raises(rt.errors.OpError) as caught:
        rt.function(program)(rt.constant(1))
    first, _, _, last = str(caught.value).split("\n")
    assert first == f"{__file__}:{program.__code__.co_firstlineno + line}: {what}" and last == remedy


def test_the_names_of_all_attributes() -> None:
    assert rt.function(of_all_attributes)(rt.constant(1)) == of_all_attributes(1)


def test_a_record_that_a_branch_chooses() -> None:
    for n in (1, 2):
        assert rt.function(another_record)(rt.constant(n)) == another_record(n)


def test_message_one_of_several_objects_as_a_key() -> None:
    with pytest.raises(rt.errors.OpError, match=r"a key is added to a dict with the keys \[\], and only"):
        rt.function(as_a_key)(rt.constant(1))


def test_an_attribute_that_none_has_is_an_error_as_in_python() -> None:
    with pytest.raises(AttributeError, match=re.escape("'Body' object has no attribute 'nothing'")):
        rt.function(of_no_attribute)(rt.constant(1))
    assert rt.function(too_many)(rt.constant(1)) is None


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    program = Program(seed)
    found = difference(program, tmp_path, EXECUTORS[seed % 2])
    assert not found, program.text


def sums_of_chosen(x: Any, order: Any) -> Any:
    parts = [x[x > i] for i in range(3)]
    total = 0.0
    for k in order:
        total += parts[k].sum() + len(parts[k])
        for item in parts[k]:
            total += item
    return total, parts[order[0]]


def chosen_by_a_key(x: Any, order: Any) -> Any:
    parts = {0: x[x > 0], 1: x[x > 1], 2: x[x > 2]}
    return [parts[k].max() for k in order], (x[x > 0], x[x > 2])[order[0] // 2]


@pytest.mark.parametrize("program", [sums_of_chosen, chosen_by_a_key])
def test_arrays_whose_sizes_only_the_graph_knows(program: Callable[..., Any]) -> None:
    x, order = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1])
    for one, other in zip(rt.nest.flatten(program(x, order)), rt.nest.flatten(rt.function(program)(x, order))):
        np.testing.assert_allclose(np.asarray(other), np.asarray(one))


class Linked:
    pass


def test_an_object_that_is_none_of_the_alternatives() -> None:
    one, other, third = Linked(), Linked(), Linked()
    chosen = among([one, other])
    assert index_of(other, chosen) == 1
    with pytest.raises(rt.errors.StagingError) as raised:
        index_of(third, chosen)
    first, *_, last = str(raised.value).splitlines()
    assert first.endswith("which of 2 values of type Linked this is, is known only when the graph runs: it is also"
                          " another one here, on some way of this statement")
    assert last == "Keep such objects in a list, and their indices in place of references."

"""`dataclasses.replace`, `asdict`, `astuple`, `copy`, `vars` and the methods of NamedTuples, of objects of which only
the graph knows which one they are."""
from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

import runtime as rt
from tests.plain_values import executors, shown
from tests.traced_once import on


@dataclass
class A:
    x: int
    y: int = 2


@dataclass
class B(A):
    z: int = 3


@dataclass(frozen=True)
class F:
    x: int
    tag: int = 5


class NT(NamedTuple):
    a: int
    b: int = 4


@dataclass
class Deep:
    a: A
    xs: list


class Plain:
    def __init__(self, x, ys):
        self.x, self.ys = x, ys


def replace_chosen(n):
    o = A(n) if n > 2 else A(7, n)
    p = dataclasses.replace(o, y=9)
    p.x += 1
    return p.x, p.y, o.x, o.y


def replace_known(n):
    p = dataclasses.replace(A(n), y=9)
    return p.x, p.y


def replace_list(n):
    xs = [A(1), A(2), A(3)]
    i = n % 3
    xs[i] = dataclasses.replace(xs[i], y=n)
    p = dataclasses.replace(xs[i], x=5)
    return [x.y for x in xs], p.x, p.y


def replace_grown(n):
    xs = [A(i) for i in range(n + 1)]
    i = n % 3 % (n + 1)
    xs[i] = dataclasses.replace(xs[i], y=n)
    return [x.y for x in xs]


def replace_loop(n):
    o = A(0)
    for i in range(n):
        o = dataclasses.replace(o, x=o.x + i)
    return o.x, o.y


def replace_frozen(n):
    o = F(0)
    for i in range(n):
        o = dataclasses.replace(o, x=o.x + i)
    return o.x, o.tag


def replace_classes(n):
    o = A(n) if n > 2 else B(7, n, 8)
    p = dataclasses.replace(o, x=9)
    return p.x, p.y, p.z if isinstance(p, B) else 0


def asdict_chosen(n):
    o = A(n) if n > 2 else A(7, n)
    d = dataclasses.asdict(o)
    d["x"] += 1
    return d["x"], d["y"], o.x


def asdict_classes(n):
    o = A(n) if n > 2 else B(7, n, 8)
    d = dataclasses.asdict(o)
    return d["x"] + d["y"], len(d)


def astuple_chosen(n):
    o = A(n) if n > 2 else A(7, n)
    x, y = dataclasses.astuple(o)
    return x, y


def asdict_list(n):
    xs = [A(1), A(2), A(3)]
    return dataclasses.asdict(xs[n % 3]), dataclasses.astuple(xs[(n + 1) % 3])


def asdict_deep(n):
    o = Deep(A(n), [A(1), A(n)])
    if n > 2:
        o = Deep(A(1), [A(2), A(5)])
    d = dataclasses.asdict(o)
    d["a"]["x"] += 1
    d["xs"][0]["y"] += 1
    return d, o.a.x


def copies(n):
    o = A(n) if n > 2 else A(7, n)
    p = copy.copy(o)
    q = copy.deepcopy(o)
    p.x += 1
    q.y += 1
    return p.x, p.y, q.x, q.y, o.x, o.y


def copies_classes(n):
    o = A(n) if n > 2 else B(7, n, 8)
    p = copy.copy(o)
    q = copy.deepcopy(o)
    p.x += 1
    q.y += 1
    return p.x, p.y, q.x, q.y, o.x, o.y, isinstance(p, B)


def copies_list(n):
    xs = [Plain(1, [1]), Plain(2, [2, n]), Plain(3, [n])]
    p = copy.copy(xs[n % 3])
    q = copy.deepcopy(xs[n % 3])
    p.x = 50
    p.ys.append(4)
    q.ys.append(5)
    return [(x.x, x.ys) for x in xs], p.ys, q.ys, q.x


def copies_grown(n):
    xs = [Plain(i, [i]) for i in range(n + 1)]
    p = copy.copy(xs[n % 3 % (n + 1)])
    q = copy.deepcopy(xs[n % 3 % (n + 1)])
    p.x = 50
    q.ys.append(5)
    return [(x.x, x.ys) for x in xs], q.ys, q.x


def nt_chosen(n):
    t = NT(n) if n > 2 else NT(9, n)
    u = t._replace(a=t.a + 1)
    return u, u.a, t._asdict(), t


def nt_list(n):
    ts = [NT(i, i + n) for i in range(5)]
    u = ts[n % 5]._replace(b=3)
    ts[n % 5] = u
    return u, ts, ts[(n + 1) % 5]._asdict()


def nt_loop(n):
    t = NT(0, 1)
    for i in range(n):
        t = t._replace(a=t.b, b=t.a + t.b)
    return t, t._asdict()["a"], NT._make([n, n]), t._fields


def vars_chosen(n):
    o = A(n) if n > 2 else A(7, n)
    v = vars(o)
    return v["x"], sorted(v), {k: w + 1 for k, w in vars(o).items()}


def vars_list(n):
    xs = [A(1), A(2), A(3)]
    s = 0
    for i in range(n):
        for k, v in vars(xs[i % 3]).items():
            s += v if k == "x" else v * 10
    return s


def copy_dict(n):
    ds = [{"a": 1, "b": [1]}, {"a": 2, "b": [n]}]
    d = copy.deepcopy(ds[n % 2])
    e = copy.copy(ds[n % 2])
    d["b"].append(3)
    e["a"] = 7
    return ds, d, e


@dataclass
class Post:
    x: int
    y: int = field(default=0, init=False)

    def __post_init__(self):
        if self.x > 2:
            self.y = self.x * 2
        else:
            self.y = -1


def post(n):
    p = Post(n)
    q = dataclasses.replace(p, x=n + 2)
    return p.y, q.y, dataclasses.asdict(q)


def maybe_replace2(n):
    p = None
    if n > 1:
        p = A(n)
    q = 0
    if p is not None:
        p = dataclasses.replace(p, y=5)
        q = dataclasses.asdict(p)["y"] + dataclasses.astuple(p)[0]
    return q


def linked(n):
    h = Link(0)
    for i in range(n):
        h = Link(i, h)
    h2 = dataclasses.replace(h, v=50)
    return h2.v, h.v, 0 if h2.rest is None else h2.rest.v


@dataclass
class Link:
    v: int
    rest: Any = None


PROGRAMS = [
    replace_chosen, replace_known, replace_list, replace_grown, replace_loop, replace_frozen, replace_classes,
    asdict_chosen, asdict_classes, astuple_chosen, asdict_list, asdict_deep, copies, copies_classes, copies_list,
    copies_grown, nt_chosen, nt_list, nt_loop, vars_chosen, vars_list, copy_dict, post, maybe_replace2, linked]


@executors
@pytest.mark.parametrize("fn", PROGRAMS)
def test_programs(fn: Any, executor: str) -> None:
    traced = on(executor, fn)
    for n in (0, 1, 2, 3, 5):
        assert shown(traced(rt.constant(n))) == shown(fn(n))


def replaced_without_init(n):
    return dataclasses.replace(Post(n), y=n + 2)


def vars_of_several(n):
    return vars(A(n) if n > 2 else B(7, n, 8))["x"]


def linked_as_dict(n):
    head = Link(0)
    for i in range(n):
        head = Link(i, head)
    return dataclasses.asdict(head)


def test_refused() -> None:
    with pytest.raises(ValueError, match="declared with init=False"):
        rt.function(replaced_without_init)(rt.constant(3))
    with pytest.raises(rt.errors.StagingError, match="so are all of its attributes together"):
        rt.function(vars_of_several)(rt.constant(3))
    with pytest.raises(rt.errors.StagingError) as raised:
        rt.function(linked_as_dict)(rt.constant(3))
    assert "converted here with the objects to which it refers" in str(raised.value.__cause__)

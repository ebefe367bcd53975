"""What a staged body changes by way of the functions and methods that it calls: whatever leads to it, it is state, or
an error. Else it would change once, while the code is traced, and not when the body runs."""
from __future__ import annotations

import collections
import dataclasses
import functools
import pathlib
import threading
import weakref
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import reached

import autograph as ag
import runtime as rt
from tests.traced_once import on


class Counter:
    total = 0

    def __init__(self, n=0):
        self.n = n

    def add(self, k):
        self.n += k
        return self.n

    def __call__(self, k):
        self.n += k

    @classmethod
    def add_total(cls, k):
        cls.total += k


class Slim:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def add(self, k):
        self.n += k


class Slimmer(Slim):
    __slots__ = ("other",)


@dataclasses.dataclass(slots=True)
class Record:
    n: int = 0

    def add(self, k):
        self.n += k


class Deep:
    def __init__(self, depth):
        self.below = Deep(depth - 1) if depth else Counter()

    def leaf(self):
        return self.below.leaf() if isinstance(self.below, Deep) else self.below


class Holder:
    def __init__(self, k=0):
        self.grown = counting()
        self.frozen, self.some = frozenset([Counter()]), {Counter()}
        self.queue = collections.deque([Counter()])
        self.table = {(1, 2): Counter()}
        self.part = functools.partial(change_global)


def counting():
    n = 0

    def grown(k):
        nonlocal n
        n += k
        return n

    return grown


SHARED = Counter()
LIST = [0]


def change_global(k):
    SHARED.n += k


def change_by_another(k):
    change_global(k)


def change_list(k):
    LIST[0] += k


def own_attribute(k):
    own_attribute.n += k


@contextmanager
def twice(counter, k):
    counter.n += k
    yield
    counter.n += k


def of_a_global(x, k):
    if x > 0:
        change_by_another(k)
    return SHARED.n


def list_of_the_module(x, k):
    if x > 0:
        change_list(k)
    return LIST[0]


def in_a_loop(x, k):
    for _ in rt.range(x):
        change_global(k)
    return SHARED.n


def of_another_module(x, k):
    if x > 0:
        reached.add(k)
        reached.set_item(k)
        reached.set_class(k)
        reached.set_depth(k)
    return reached.N + 10 * reached.TABLE["a"] + 100 * reached.Config.level + 1000 * reached.config.depth


def list_of_another_module_grows(x, k):
    if x > 0:
        reached.append(k)
    reached.append(1)
    return sum(reached.ITEMS)


def of_a_class(x, k):
    if x > 0:
        Counter.add_total(k)
    return Counter.total


def of_a_function(x, k):
    if x > 0:
        own_attribute(k)
    return own_attribute.n


def in_slots(x, k):
    slim, slimmer, record = Slim(), Slimmer(), Record()
    if x > 0:
        slim.add(k)
        slimmer.add(k)
        record.add(k)
    return slim.n + slimmer.n * 10 + record.n * 100


def deep_down(x, k):
    deep = Deep(8)
    if x > 0:
        deep.leaf().add(k)
    return deep.leaf().n


def one_of_many(x, k):
    many = [Counter() for _ in range(3000)]

    def last():
        return many[-1]

    if x > 0:
        many[2500].add(k)
        last().add(k)
    return many[2500].n + many[2999].n


def in_a_closure_that_an_object_has(x, k):
    holder = Holder()
    if x > 0:
        holder.grown(k)
    return holder.grown(0)


def in_containers(x, k):
    holder = Holder()
    if x > 0:
        for counter in (*holder.frozen, *holder.some, *holder.queue):
            counter.add(k)
        holder.table[1, 2].add(k)
        holder.part(k)
    counters = [*holder.frozen, *holder.some, *holder.queue, holder.table[1, 2]]
    return sum([counter.n for counter in counters]) + SHARED.n


def by_a_partial_of_a_lambda(x, k):
    counter = Counter()
    add = functools.partial(lambda k: counter.add(k), k)
    if x > 0:
        add()
    return counter.n


def by_setattr_and_vars(x, k):
    one, other, space = Counter(), Counter(), SimpleNamespace(n=0)

    def change():
        setattr(one, "n", k)
        vars(other)["n"] = k
        space.n += k

    if x > 0:
        change()
    return one.n + 10 * other.n + 100 * space.n


def by_a_context_manager(x, k):
    counter = Counter()
    if x > 0:
        with twice(counter, k):
            counter.n *= 2
    return counter.n


def in_counters_of_keys(x, k):
    counts, lists = collections.Counter(), collections.defaultdict(list)
    lists["a"].append(k)

    def count():
        counts["z"] += k
        lists["a"].append(k)

    if x > 0:
        count()
    count()
    return counts["z"] + sum(lists["a"])


def variable_of_an_inner_function(x, k):
    n = 0

    def add():
        nonlocal n
        n = n + k

    if x > 0:
        add()
    return n


CASES = [
    of_a_global, list_of_the_module, in_a_loop, of_another_module, list_of_another_module_grows, of_a_class,
    of_a_function, in_slots, deep_down, one_of_many, in_a_closure_that_an_object_has, in_containers,
    by_a_partial_of_a_lambda, by_setattr_and_vars, by_a_context_manager, in_counters_of_keys,
    variable_of_an_inner_function,
]


def reset():
    reached.reset()
    SHARED.n = Counter.total = own_attribute.n = LIST[0] = 0


@pytest.mark.parametrize("kind", ["number", "tensor"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_a_callee_changes_is_state(case, kind):
    for x in (3, -2):
        reset()
        expected = case(x, 2)
        reset()
        k = 2 if kind == "number" else rt.constant(2)
        assert int(rt.function(case)(rt.constant(x), k)) == expected
    reset()


# --- Errors ----------------------------------------------------------------------------------------------------


def error_of(fn):
    reset()
    with pytest.raises(rt.errors.StagingError) as caught:
        rt.function(fn)(rt.constant(3))
    reset()
    return str(caught.value).partition(": ")[2]


def test_text_that_a_callee_changes():
    def f(x):
        if x > 0:
            reached.config.rename("other")
        return x

    reset()
    assert rt.function(f)(rt.constant(3)).numpy() == 3
    assert reached.config.name == "other"
    reset()


def test_an_object_that_a_callee_gives_another():
    def f(x):
        reached.config.give(Counter(1))
        if x > 0:
            reached.config.give(Counter(2))
        return reached.config.part.n + x

    for x, expected in ((3, 5), (-3, -2)):
        reset()
        assert rt.function(f)(rt.constant(x)) == expected
        assert type(reached.config.part) is Counter and reached.config.part.n == expected - x
    reset()


def test_an_object_that_is_set_up_in_a_body():
    def f(x):
        if x > 0:
            reached.config.give(Counter(3))
            x += reached.config.part.n
        return x

    for x, expected in ((3, 6), (-3, -3)):
        reset()
        assert rt.function(f)(rt.constant(x)) == expected
    reset()


def test_a_list_in_a_deque():
    def f(x):
        queue = collections.deque([[1, 2]])

        def change():
            queue[0][0] = 5

        if x > 0:
            change()
        return queue[0][0]

    assert [int(rt.function(f)(rt.constant(x))) for x in (1, -1)] == [f(1), f(-1)] == [5, 1]


class Proxy:
    """Stands for what is not there at present."""

    @property
    def __class__(self):
        raise RuntimeError("nothing is there")

    def __getattr__(self, name):
        raise RuntimeError("nothing is there")


PROXY = Proxy()


def test_proxies_are_not_asked_what_they_are():
    local = threading.local()

    def change():
        local.n += 1
        return PROXY

    def f(x):
        local.n = 0
        if x > 0:
            change()
        return x + local.n

    assert [int(rt.function(f)(rt.constant(x))) for x in (3, -3)] == [4, -3]


def test_what_is_marked_does_what_it_does_while_tracing():
    traces = 0

    @ag.do_not_convert
    def traced():
        nonlocal traces
        traces += 1

    def f(n):
        total = 0
        for i in rt.range(n):
            traced()
            total += i
        return total

    staged = rt.function(f)
    assert staged(rt.constant(5)) == 10 and staged(rt.constant(4)) == 6
    assert 0 < traces < 5


# --- Tests of loops that change something ------------------------------------------------------------------------


def method_in_the_test(x):
    counter = Counter()
    while counter.add(-3) > -x:
        pass
    return counter.n


def list_in_the_test(x):
    items, n = [x, x - 1, x - 2, x - 30], 0
    while items.pop(0) > 0:
        n += 1
    return n * 10 + len(items)


def closure_in_the_test(x):
    n = x

    def step():
        nonlocal n
        n -= 1
        return n

    k = 0
    while step() > 0:
        k += n
    else:
        k += 100
    return n + 1000 * k


def global_in_the_test(x):
    k = 0
    while reached.add(x * x + 1) is None and reached.N < 30:
        k += 1
        if k > 5:
            break
    return reached.N * 10 + k


def of_an_inner_loop(x):
    counter, k = Counter(x), 0
    for i in range(3):
        while counter.add(i - 2) > 0 and counter.add(0) < 50:
            k += 1
            if k > 7:
                continue
        k += 10
    return counter.n * 1000 + k


def walrus_in_the_test(x):
    counter, k = Counter(x), 0
    while (m := counter.add(-1)) > 0:
        k += m
    return k * 100 + m


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("case", [
    method_in_the_test, list_in_the_test, closure_in_the_test, global_in_the_test, of_an_inner_loop, walrus_in_the_test,
], ids=lambda case: case.__name__)
def test_the_test_of_a_loop_changes_state(case, executor):
    for x in (4, 1, -2):
        reset()
        expected = case(x)
        reset()
        assert int(on(executor, case)(rt.constant(x))) == expected
    reset()


class NoModule:
    __module__ = property(lambda self: "odd")  # type: ignore[assignment]  # as of the functions of Cython
    step = 2.0


no_module = NoModule()


def test_a_class_whose_module_is_a_descriptor() -> None:
    def f(x):
        if x > 0:
            x = x + no_module.step
        return x

    assert float(rt.function(f)(rt.constant(1.0))) == 3.0


class Kinds:
    def __init__(self, n):
        self.n = n

    @functools.singledispatchmethod
    def kind(self, x):
        self.n += 1
        return 5

    @kind.register
    def _(self, x: Counter):
        self.n += x.add(1)
        return 7


def caches_of_a_function(x):
    @functools.singledispatch
    def kind(x):
        return 5

    kind.register(Counter)(lambda x: 7)
    k = 0
    for _ in rt.range(x):
        k += kind.dispatch(Counter)(0) + kind.dispatch(Slim)(0)
    return k


def caches_of_a_descriptor(x):
    kinds, counter, k = Kinds(1), Counter(), 0
    for _ in rt.range(x):
        k += kinds.kind(counter) + kinds.kind("")
    return k, kinds.n, counter.n


def caches_of_a_value(x):
    path, k = pathlib.PurePosixPath("a/c"), 0
    for _ in rt.range(x):
        k += len(str(path)) + len(path.parts) + (path.name == "c") + (path == pathlib.PurePosixPath("a/c"))
    return k


def table_of_the_users(x):
    counter = Counter()
    table = weakref.WeakKeyDictionary({counter: 0})
    for i in rt.range(x):
        table[counter] += i
    return table[counter]


def flag_of_the_users(x):
    flag = threading.Event()
    if x > 2:
        flag.set()
    return flag.is_set()


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("case", [
    caches_of_a_function, caches_of_a_descriptor, caches_of_a_value, table_of_the_users, flag_of_the_users,
], ids=lambda case: case.__name__)
def test_objects_of_the_standard_library(case, executor):
    """What its functions, descriptors and values keep for speed is no state; what the user keeps in its objects is."""
    traced = on(executor, case)
    for x in (4, 0):
        got = traced(rt.constant(x))
        assert (tuple(map(int, got)) if isinstance(got, tuple) else int(got)) == case(rt.constant(x))

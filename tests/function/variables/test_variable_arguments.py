"""Variables as arguments of rt.function: one trace for all variables of one type, bound by each call."""
from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import runtime as rt


@pytest.fixture(params=["numpy", "native"])
def executor(request):
    return request.param


def traces(f):
    return f.experimental_get_tracing_count()


def test_a_hundred_variables_are_one_trace(executor):
    @rt.function(executor=executor)
    def update(v, g):
        v.assign_sub(0.5 * g)
        return v + 1

    variables = [rt.Variable([float(i), 1.0], name=f"v{i}") for i in range(100)]
    results = [update(v, rt.constant([1.0, 2.0])) for v in variables]
    assert traces(update) == 1
    for i, (v, result) in enumerate(zip(variables, results)):
        np.testing.assert_array_equal(v.numpy(), [i - 0.5, 0.0])
        np.testing.assert_array_equal(result.numpy(), [i + 0.5, 1.0])
    assert "variable=v)" in str(update.concrete_functions[0].graph)


def test_dtype_shape_and_trainable_count():
    @rt.function
    def f(v):
        return v + v

    f(rt.Variable(1.0)), f(rt.Variable(1)), f(rt.Variable([1.0])), f(rt.Variable(1.0, trainable=False))
    f(rt.Variable([1.0, 2.0], shape=[None]))
    assert traces(f) == 5
    assert "argument 'v' is a trainable variable float32[?], and was a variable float32[] before" in f.explain()


def test_the_same_variable_twice_is_another_trace(executor):
    @rt.function(executor=executor)
    def f(a, b):
        a.assign_add(1.0)
        b.assign_add(10.0)
        return a * b

    a, b, c = rt.Variable(1.0), rt.Variable(2.0), rt.Variable(3.0)
    assert f(a, b) == 2 * 12 and f(b, c) == 13 * 13
    assert traces(f) == 1
    assert f(a, a) == 13 * 13 and f(c, c) == 24 * 24
    assert traces(f) == 2
    assert "argument 'b' is the variable 'a', and was a trainable variable float32[] before" in f.explain()


def test_an_argument_that_is_closed_over_too(executor):
    w = rt.Variable(5.0)

    @rt.function(executor=executor)
    def f(v):
        v.assign_add(1.0)
        return v * w

    a, b = rt.Variable(1.0), rt.Variable(2.0)
    assert f(a) == 2 * 5
    assert f(w) == 6 * 6 and w.numpy() == 6
    assert f(b) == 3 * 6 and f(w) == 49 and traces(f) == 2

    @rt.function(executor=executor)
    def first(v):
        v.assign_add(1.0)
        return v * w

    assert first(w) == 64 and first(a) == 3 * 8 and first(b) == 4 * 8 and first(w) == 81
    assert traces(first) == 2


def test_in_lists_dicts_and_objects():
    @rt.function
    def f(state, scale):
        for v in state["vs"]:
            v.assign(v * scale)
        return rt.add_n([v.read_value() for v in state["vs"]])

    a, b, c = (rt.Variable(float(i)) for i in (1, 2, 3))
    assert f({"vs": [a, b]}, rt.constant(2.0)) == 6 and f({"vs": [b, c]}, rt.constant(2.0)) == 14
    assert traces(f) == 1 and [x.numpy() for x in (a, b, c)] == [2, 8, 6]

    class Layer(rt.Module):
        def __init__(self, value):
            self.w = rt.Variable(value)

    @rt.function
    def g(layer):
        layer.w.assign_add(1.0)
        return layer.w.read_value()

    assert g(Layer(1.0)) == 2 and g(Layer(5.0)) == 6 and traces(g) == 2  # objects count by identity


def test_gradients_of_a_call(executor):
    @rt.function(executor=executor)
    def loss(v, x):
        return rt.reduce_sum(v * v * x)

    x = rt.constant([1.0, 2.0])
    for i in range(3):
        v, other = rt.Variable([1.0, float(i)], name="mine"), rt.Variable([1.0, 1.0])
        with rt.GradientTape() as outer:
            with rt.GradientTape() as tape:
                y = loss(v, x)
            gradient, none = tape.gradient(y, [v, other])
        np.testing.assert_array_equal(gradient.numpy(), [2, 4 * i])
        assert none is None and [w.name for w in tape.watched_variables()] == ["mine:0"]
        np.testing.assert_array_equal(outer.gradient(gradient, v).numpy(), [2, 4])
    assert traces(loss) == 1
    frozen = rt.Variable([1.0, 3.0], trainable=False)
    with rt.GradientTape() as tape:
        y = loss(frozen, x)
    assert tape.gradient(y, frozen) is None
    with rt.GradientTape() as tape:
        tape.watch(frozen)
        y = loss(frozen, x)
    np.testing.assert_array_equal(tape.gradient(y, frozen).numpy(), [2, 12])
    with rt.autodiff.ForwardAccumulator(v, rt.constant([1.0, 0.0])) as accumulator:
        y = loss(v, x)
    assert accumulator.jvp(y) == 2


def test_gradients_after_a_write_and_in_loops(executor):
    @rt.function(executor=executor)
    def f(v, n):
        total = v * v
        for _ in rt.range(n):
            total += v * total
        v.assign_add(1.0)
        return total + 3.0 * v

    for start in (2.0, 3.0):
        v = rt.Variable(start)
        with rt.GradientTape() as tape:
            y = f(v, rt.constant(1))
        assert y == start ** 2 + start ** 3 + 3 * (start + 1) and v.numpy() == start + 1
        assert tape.gradient(y, v) == 2 * start + 3 * start ** 2 + 3  # both values are reads of `v`
    assert traces(f) == 1


def test_a_custom_gradient_of_a_call():
    @rt.function
    def inner(v):
        return v * v

    @rt.custom_gradient
    def f(x, v=None):
        def gradient(ct, variables=None):
            return ct, [rt.constant(7.0) for _ in variables]
        return x + inner(of[0]), gradient

    for value in (1.0, 2.0):
        of = [rt.Variable(value)]
        with rt.GradientTape() as tape:
            y = f(rt.constant(1.0))
        assert tape.gradient(y, of[0]) == 7


def test_calls_in_graphs(executor):
    @rt.function(executor=executor)
    def loss(v, x):
        return rt.reduce_sum(v * v * x)

    @rt.function(executor=executor)
    def update(v, g):
        v.assign_sub(0.5 * g)

    @rt.function(executor=executor)
    def step(variables, x):
        with rt.GradientTape() as tape:
            total = rt.add_n([loss(v, x) for v in variables])
        for v, g in zip(variables, tape.gradient(total, variables)):
            update(v, g)
        if total > 0:
            for v in variables:
                update(v, rt.ones_like(v))
        return total

    a, b, c = (rt.Variable([float(i)]) for i in (1, 2, 3))
    assert step([a, b], rt.constant([2.0])) == 10 and [a.numpy()[0], b.numpy()[0]] == [-1.5, -2.5]
    assert step([c, a], rt.constant([2.0])) == 2 * 9 + 2 * 2.25 and c.numpy() == -3.5
    assert traces(step) == traces(loss) == traces(update) == 1
    assert step([a, a], rt.constant([0.0])) == 0 and traces(step) == 2


def test_what_depends_on_which_variable_it_is_counts_by_identity():
    store = {}

    @rt.function
    def slot(v, g):
        if v.ref() not in store:
            store[v.ref()] = rt.Variable(rt.zeros_like(v))
        store[v.ref()].assign_add(g)
        return store[v.ref()].read_value()

    a, b = rt.Variable(1.0, name="a"), rt.Variable(2.0, name="b")
    assert slot(a, rt.constant(1.0)) == 1 and slot(a, rt.constant(1.0)) == 2
    assert list(store) == [a.ref()]
    with pytest.raises(ValueError, match="only supports singleton"):
        slot(b, rt.constant(1.0))

    @rt.function
    def named(v):
        return rt.constant(v.name) if False else len(v.name) + v

    assert named(a) == 4 and named(rt.Variable(2.0, name="longer")) == 10

    @rt.function
    def same(v):
        return 1.0 if v is a else 2.0

    assert same(a) == 1 and same(b) == 2 and same(a) == 1

    kept = []

    @rt.function
    def keep(v):
        kept.append(v)
        return v + 1

    keep(a), keep(b)
    assert kept[0] is a and kept[1] is b and len(kept) == 2


def test_identity_of_arguments_among_each_other():
    @rt.function
    def f(vs, v):
        return [i for i, x in enumerate(vs) if x is v]

    a, b, c = (rt.Variable(1.0) for _ in range(3))
    assert f([a, b], b) == [1] and f([b, c], c) == [1] and traces(f) == 1
    assert f([a, b], c) == [] and traces(f) == 2


def test_concrete_functions():
    @rt.function
    def f(v, w, x):
        v.assign_add(x)
        return v + w

    a, b, c = rt.Variable(1.0), rt.Variable(2.0), rt.Variable(3.0)
    concrete = f.get_concrete_function(a, b, rt.TensorSpec([]))
    assert str(concrete) == ("<ConcreteFunction f(v=variable float32[], w=variable float32[], x: float32[]) -> "
                             "float32[]>")
    assert concrete(c, b, rt.constant(1.0)) == 6 and c.numpy() == 4
    assert concrete(x=rt.constant(1.0)) == 4 and a.numpy() == 2
    with pytest.raises(TypeError, match=r"argument 'w' of f is .*, but this trace takes a variable float32\[\]"):
        concrete(a, rt.Variable(1), rt.constant(1.0))
    with pytest.raises(TypeError, match="one variable here, but were different ones"):
        concrete(a, a, rt.constant(1.0))
    both = f.get_concrete_function(a, a, rt.TensorSpec([]))
    with pytest.raises(TypeError, match="takes the variable float32.* that is passed before"):
        both(a, b, rt.constant(1.0))
    del a
    gc.collect()
    with pytest.raises(TypeError, match="missing argument 'v'"):
        concrete(w=b, x=rt.constant(1.0))


def test_errors_name_the_variable_of_the_call(executor):
    @rt.function(executor=executor)
    def f(v, x):
        v.assign(x)

    f(rt.Variable([1.0], name="one", shape=[None]), rt.constant([1.0, 2.0]))
    with pytest.raises(ValueError, match="variable 'second:0'.*Shape mismatch"):
        f(rt.Variable([1.0], name="second"), rt.constant([1.0, 2.0]))

    @rt.function(executor=executor)
    def partial(v, x):
        v.assign_add(1.0)
        rt.debugging.assert_less(x, 3, "too much")
        v.assign_add(1.0)

    a, b = rt.Variable(0.0), rt.Variable(0.0)
    partial(a, rt.constant(1))
    with pytest.raises(rt.errors.InvalidArgumentError, match="too much"):
        partial(b, rt.constant(5))
    assert a.numpy() == 2 and b.numpy() == 1


def test_a_placeholder_that_escapes_is_an_error():
    escaped = []

    @rt.function
    def f(v):
        class Local:
            pass
        Local.kept = v
        escaped.append(lambda: Local.kept)
        return v + 1

    a = rt.Variable(1.0)
    assert f(a) == 2
    found = escaped[0]()
    if found is not a:
        with pytest.raises(rt.errors.FailedPreconditionError, match="'v' of a traced function is used outside"):
            found.assign(2.0)


def test_variables_are_not_kept_alive_and_callbacks_see_their_values(executor):
    seen = []

    @rt.function(executor=executor)
    def f(v, n):
        for _ in rt.range(n):
            v.assign_add(1.0)
            rt.py_function(lambda: seen.append(float(v.numpy())), [], [])
        return v.read_value()

    a, b = rt.Variable(1.0), rt.Variable(10.0)
    assert f(a, rt.constant(2)) == 3 and f(b, rt.constant(1)) == 11
    assert seen == [2, 3, 11] and traces(f) == 1
    gone = weakref.ref(b)
    del b
    gc.collect()
    assert gone() is None


def test_threads_update_their_own_variables(executor):
    @rt.function(executor=executor)
    def count(v, n):
        for _ in rt.range(n):
            v.assign_add(1)
        return v.read_value()

    shared, own = rt.Variable(0), [rt.Variable(0) for _ in range(4)]

    def work(v):
        for _ in range(20):
            count(v, rt.constant(5))
            if executor == "native":
                count(shared, rt.constant(5))

    threads = [threading.Thread(target=work, args=(v,)) for v in own]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert [int(v.numpy()) for v in own] == [100] * 4
    if executor == "native":
        assert shared.numpy() == 400


def test_verified_calls():
    @rt.function(verify=True)
    def f(v):
        v.assign_add(1.0)
        return v * 2.0

    assert f(rt.Variable(1.0)) == 4 and f(rt.Variable(2.0)) == 6

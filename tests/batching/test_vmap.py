"""`vmap` and `vectorized_map`: axes, structures, effects, random numbers, errors, compositions."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import runtime as rt

X = rt.constant(np.arange(12.0).reshape(3, 4))
V = rt.constant(np.arange(4.0))


def equal(found: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


# Axes and structures.

def test_axes_of_arguments_and_results() -> None:
    equal(rt.vmap(lambda x: x * 2.0, in_axes=1)(X), X.numpy().T * 2)
    equal(rt.vmap(lambda x: x * 2.0, in_axes=-1, out_axes=-1)(X), X.numpy() * 2)
    equal(rt.vmap(lambda x, v: x + v, (0, None))(X, V), X + V)
    equal(rt.vmap(lambda x, v: x + v, (1, 0))(X, V), X.numpy().T + V.numpy()[:, None])
    equal(rt.vmap(lambda x, y: x - y, in_axes=[0, None])(X, 1.0), X - 1.0)
    equal(rt.vmap(lambda x, *, y: x * y)(X, y=X), X * X)


def test_structures() -> None:
    def f(state: Any, scale: Any) -> Any:
        return {"sum": state["a"] + scale, "pair": (state["b"], 1.0)}

    found = rt.vmap(f, in_axes=({"a": 1, "b": 0}, None))({"a": X, "b": V[:4]}, 2.0)
    equal(found["sum"], X.numpy().T + 2)
    equal(found["pair"][0], V)
    equal(found["pair"][1], np.ones(4, np.float32))
    nested = rt.vmap(lambda p: (p[0] * p[1][0], p[1][1]), in_axes=((0, (0, None)),), out_axes=(0, None))
    a, b = nested((X, (X, 3.0)))
    equal(a, X * X)
    equal(b, np.float32(3))


def test_results_that_are_the_same_in_all_lanes() -> None:
    equal(rt.vmap(lambda x: (7, V))(X)[0], np.full(3, 7, np.int32))
    equal(rt.vmap(lambda x: V)(X), np.tile(V, (3, 1)))
    equal(rt.vmap(lambda x: V, out_axes=None)(X), V)
    assert rt.vmap(lambda x: (x, None))(X)[1] is None
    equal(rt.vmap(lambda: V, axis_size=2)(), np.tile(V, (2, 1)))


def test_no_lanes() -> None:
    assert rt.vmap(lambda x: (rt.reduce_sum(x), x))(rt.zeros([0, 4]))[1].shape == (0, 4)

    @rt.function(input_signature=[rt.TensorSpec([None], rt.float64)])
    def f(x: Any) -> Any:
        def one(x: Any) -> Any:
            for i in rt.range(3):
                if x > 1.0:
                    break
                x = x + 1.0 / x
            return x
        return rt.vmap(one)(x)

    assert f(rt.zeros([0], rt.float64)).shape == (0,)
    assert f(rt.constant([0.5], rt.float64)).shape == (1,)


def test_rows_of_a_vectorized_map() -> None:
    equal(rt.vectorized_map(lambda p: p["x"] * p["y"], {"x": X, "y": rt.constant([[2.0]], rt.float64)}), X * 2.0)
    equal(rt.vectorized_map(lambda x: (x, rt.reduce_sum(x)), X)[1], rt.reduce_sum(X, 1))
    assert rt.vectorized_map(lambda x: x, rt.ones([1, 2])).shape == (1, 2)


# Errors.

@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: rt.vmap(lambda a, b: a)(X, V), rt.errors.ShapeError,
     "vmap got inconsistent sizes for array axes to be mapped: 3 of axis 0 of args[0], which is float64[3,4]; 4 of "
     "axis 0 of args[1], which is float64[4]"),
    (lambda: rt.vmap(lambda a: a)(1.0), ValueError, "its rank should be at least 1, but is only 0"),
    (lambda: rt.vmap(lambda a: a, 2)(X), ValueError, "its rank should be at least 3, but is only 2"),
    (lambda: rt.vmap(lambda a: a, (0, 0))(X), ValueError, "len(in_axes)=2, len(args)=1"),
    (lambda: rt.vmap(lambda a: a, 1.5)(X), TypeError, "must be an int, None, or a tuple"),
    (lambda: rt.vmap(lambda a: a, ("x",))(X), TypeError, "in_axes has 'x' for args[0]"),
    (lambda: rt.vmap(lambda a: a, ((0, 0),))(X), ValueError, "in_axes specification must be a tree prefix"),
    (lambda: rt.vmap(lambda a: a, None)(X), ValueError, "must have at least one non-None value in in_axes"),
    (lambda: rt.vmap(lambda: 1)(), ValueError, "at least one argument containing an array"),
    (lambda: rt.vmap(lambda a: a, out_axes=None)(X), ValueError, "vmap has mapped output but out_axes is None"),
    (lambda: rt.vmap(lambda a: a, out_axes=3)(X), ValueError, "out_axes has 3 for the result"),
    (lambda: rt.vmap(lambda a: a, out_axes=(0, 0))(X), ValueError, "out_axes specification must be a tree prefix"),
    (lambda: rt.vmap(lambda a: a, axis_size=2)(X), ValueError, "2 of axis_size; 3 of axis 0"),
    (lambda: rt.vmap(3), TypeError, "vmap takes a function, not 3"),
    (lambda: rt.vmap(lambda a: a, randomness="any"), ValueError, "randomness is one of 'different', 'same', 'error'"),
    (lambda: rt.vectorized_map(lambda a: a, 1.0), rt.errors.ShapeError, "a scalar has none"),
    (lambda: rt.vectorized_map(lambda a: a, []), rt.errors.ShapeError, "needs at least one tensor"),
    (lambda: rt.vectorized_map(lambda a: a, (X, V)), rt.errors.ShapeError, "inconsistent sizes"),
    (lambda: rt.vectorized_map(lambda a: rt.unique(a)[0], X, fallback_to_while_loop=False), ValueError,
     "No pfor vectorization defined for unique"),
    (lambda: rt.vmap(lambda a: rt.range(rt.cast(a[1], rt.int32)))(X), rt.errors.ShapeError,
     "the results of a mapped function need one shape, but element 0 has the shape [1] and element 1 [5]"),
])
def test_errors(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=re.escape(text)) as caught:
        call()
    assert "test_vmap.py" in str(caught.value), "it says where"


def test_sizes_that_only_the_run_knows() -> None:
    spec = rt.TensorSpec([None], rt.float64)
    f = rt.function(rt.vmap(lambda a, b: a * b), input_signature=[spec, spec])
    equal(f(V, V), V * V)
    with pytest.raises(rt.errors.ShapeError, match="inconsistent sizes .*: . and 1\n(?s:.)*one size"):
        f(V, V[:1])


# Effects.

def test_prints_for_each_lane_that_comes_there(capsys: pytest.CaptureFixture[str]) -> None:
    def f(k: Any) -> Any:
        print("lane", k)
        if k > 1:
            print("many", k)
            print("at least one")
        print("once")
        return k

    for call in (rt.vmap(f), rt.function(rt.vmap(f)), rt.function(rt.vmap(f), executor="numpy")):
        call(rt.range(4))
        assert capsys.readouterr().out.split("\n")[:-1] == [
            "lane 0", "lane 1", "lane 2", "lane 3", "many 2", "many 3", "at least one", "at least one", "once"]


def test_calls_of_python_for_each_lane() -> None:
    seen: list[float] = []

    def host(x: Any) -> Any:
        seen.append(float(x))
        return x * 2

    def f(x: Any) -> Any:
        return rt.numpy_function(host, [x], rt.float64) if x > 1.0 else x

    equal(rt.vmap(f)(V), [0, 1, 4, 6])
    assert seen == [2.0, 3.0]
    equal(rt.vmap(lambda x: rt.py_function(lambda t: t * t, [x], rt.float64))(V), V * V)


def test_variables_are_read_and_not_assigned() -> None:
    v = rt.Variable(3.0, dtype=rt.float64)
    equal(rt.vmap(lambda x: v * x)(V), V * 3.0)
    with pytest.raises(rt.errors.UnimplementedError, match="lanes have no order") as caught:
        rt.vmap(lambda x: v.assign_add(x))(V)
    assert "Return the value" in str(caught.value)
    with rt.GradientTape() as tape:
        loss = rt.reduce_sum(rt.vmap(lambda x: v * x)(V))
    equal(tape.gradient(loss, v), 6.0)


def test_checks_are_of_one_lane() -> None:
    with pytest.raises(rt.errors.InvalidArgumentError, match=r"x: 3\.0, y: 3\.0|did not hold"):
        rt.vmap(lambda x: rt.debugging.assert_less(x, rt.constant(3.0, rt.float64)) or x)(V)

    def asserts(x: Any) -> Any:
        assert x < 2.0, f"{x} is too much"
        return x

    with pytest.raises(AssertionError, match=r"2\.0 is too much"):
        rt.vmap(asserts)(V)


def test_random_numbers() -> None:
    def draw(x: Any) -> Any:
        return rt.random.normal([2]), rt.random.uniform([], 0, 1000, dtype=rt.int32)

    a, b = rt.vmap(draw)(V)
    assert a.shape == (4, 2) and len(np.unique(a)) == 8 and len(np.unique(b)) > 1
    a, b = rt.vmap(draw, randomness="same")(V)
    assert len(np.unique(a)) == 2 and len(np.unique(b)) == 1
    with pytest.raises(ValueError, match="random numbers are drawn"):
        rt.vmap(draw, randomness="error")(V)

    def in_branch(x: Any) -> Any:
        return rt.random.normal([]) if x > 1.0 else rt.constant(0.0)

    found = rt.vmap(in_branch)(V).numpy()
    assert not found[:2].any() and len(np.unique(found)) == 3
    unknown = rt.function(rt.vmap(draw), input_signature=[rt.TensorSpec([None], rt.float64)])
    assert unknown(V)[0].shape == (4, 2)


# Kinds of functions.

def test_methods_callables_defaults_and_traced_functions() -> None:
    class Scale:
        by = 3.0

        def times(self, x: Any) -> Any:
            return x * self.by if x > 1.0 else -x

        def __call__(self, x: Any) -> Any:
            return x + 1.0

        @rt.function
        def all(self, xs: Any) -> Any:
            return rt.vmap(self.times)(xs)

    scale = Scale()
    wanted = [0, -1, 6, 9]
    equal(rt.vmap(scale.times)(V), wanted)
    equal(scale.all(V), wanted)
    equal(rt.vmap(functools.partial(Scale.times, scale))(V), wanted)
    equal(rt.vmap(scale)(V), V + 1.0)
    equal(rt.vmap(rt.function(scale.times))(V), wanted)
    equal(rt.function(rt.vmap(lambda x, y=2.0: x * y))(V), V * 2.0)


def test_in_a_loop_and_a_branch_of_a_traced_function() -> None:
    @rt.function
    def f(xs: Any, n: Any) -> Any:
        for i in rt.range(n):
            k = rt.cast(i, rt.float64)
            if k < 2.0:
                xs = rt.vmap(lambda x: x + k if x < 3.0 else x - k)(xs)
        return xs

    equal(f(V, 5), [1, 2, 3, 2])


def test_arrays_datasets_and_convolutions() -> None:
    def written(x: Any) -> Any:
        return rt.TensorArray(rt.float64, 2).write(0, x).write(1, x * 2.0).stack()

    equal(rt.vmap(written)(V), np.stack([V, V * 2.0], 1))

    def totalled(x: Any) -> Any:
        for e in rt.data.Dataset.range(3):
            x = x + rt.cast(e, rt.float64)
        return x

    equal(rt.vmap(totalled)(V), V + 3.0)
    images, filters = rt.ones([3, 1, 4, 4, 1]), rt.ones([2, 2, 1, 1])
    by = rt.vmap(rt.grad(lambda w, x: rt.reduce_sum(rt.nn.conv2d(x, w, 1, "SAME"))), (None, 0))(filters, images)
    wanted = rt.grad(lambda w: rt.reduce_sum(rt.nn.conv2d(images[0], w, 1, "SAME")))(filters)
    equal(by, np.tile(wanted, (3, 1, 1, 1, 1)))


def test_lane_by_lane_where_functions_run_eagerly() -> None:
    seen = []

    def f(x: Any, w: Any) -> Any:
        seen.append(float(x))
        return (x * w if x > 1.0 else -x), None, 7

    rt.config.run_functions_eagerly(True)
    try:
        a, none, b = rt.vmap(f, in_axes=(0, None), out_axes=(0, 0, None))(V, 2.0)
    finally:
        rt.config.run_functions_eagerly(False)
    equal(a, [0, -1, 4, 6])
    assert none is None and int(b) == 7 and seen == [0.0, 1.0, 2.0, 3.0]


def test_a_result_that_some_lanes_do_not_have() -> None:
    with pytest.raises(rt.errors.StagingError, match="is None in some lanes and not in others"):
        rt.vmap(lambda x: x if x > 1.0 else None)(V)


# Compositions.

def test_each_call_sees_what_python_variables_are() -> None:
    w = rt.constant(2.0, rt.float64)
    scale = 1.0
    f = rt.vmap(lambda x: x * w * scale)
    equal(f(V), V * 2.0)
    w = rt.constant(3.0, rt.float64)
    equal(f(V), V * 3.0)
    scale = 10.0
    equal(f(V), V * 30.0)


def test_nested_maps() -> None:
    def root(a: Any, b: Any) -> Any:
        x = a + b
        while rt.abs(x * x - a) > 1e-9:
            x = 0.5 * (x + a / x)
        return x

    a, b = rt.constant([1.0, 4.0, 9.0], rt.float64), rt.constant([0.5, 1.5], rt.float64)
    wanted = [[rt.function(root)(p, q).numpy() for q in b] for p in a]
    both = rt.vmap(rt.vmap(root, (None, 0)), (0, None))
    np.testing.assert_allclose(both(a, b).numpy(), wanted, 1e-12)
    np.testing.assert_allclose(rt.function(both)(a, b).numpy(), wanted, 1e-12)


def test_derivatives_and_maps() -> None:
    w = rt.constant(np.random.default_rng(0).standard_normal((3, 4)))

    def f(x: Any) -> Any:
        return rt.tanh(rt.linalg.matvec(w, x))

    jacobian = rt.jacrev(f)(V).numpy()
    _, pull = rt.vjp(f, V)
    rows = rt.vmap(lambda ct: pull(ct)[0])(rt.eye(3, dtype=rt.float64))
    np.testing.assert_allclose(rows.numpy(), jacobian, 1e-12)
    columns = rt.vmap(lambda t: rt.jvp(f, (V,), (t,))[1], out_axes=-1)(rt.eye(4, dtype=rt.float64))
    np.testing.assert_allclose(columns.numpy(), jacobian, 1e-12)
    hessian = rt.hessian(lambda x: rt.reduce_sum(f(x)))
    both = rt.vmap(hessian)(rt.stack([V, V * 0.1]))
    np.testing.assert_allclose(both[1].numpy(), hessian(V * 0.1).numpy(), 1e-9)
    second = rt.grad(lambda xs: rt.reduce_sum(rt.vmap(rt.grad(lambda x: rt.reduce_sum(f(x) ** 3)))(xs)))
    loop = rt.grad(lambda x: rt.reduce_sum(rt.grad(lambda x: rt.reduce_sum(f(x) ** 3))(x)))
    np.testing.assert_allclose(second(rt.stack([V, V * 0.1]))[1].numpy(), loop(V * 0.1).numpy(), 1e-9)
    forward = rt.jvp(rt.vmap(f), (rt.stack([V, V]),), (rt.ones([2, 4], rt.float64),))[1]
    np.testing.assert_allclose(forward[0].numpy(), jacobian.sum(1), 1e-9)


def test_one_native_function_that_says_what_runs_lane_by_lane() -> None:
    f = rt.function(rt.vmap(lambda x: rt.reduce_sum(rt.unique(x)[0]) + x[0]))
    equal(f(X), [6, 26, 46])
    text = f.explain_native()
    assert "one native function" in text and "runs lane by lane: unique gives what may have another size" in text
    f = rt.function(rt.vmap(lambda n: rt.random.stateless_normal([2], [n, 1])))
    assert f(rt.constant([1, 2, 3])).shape == (3, 2)
    assert "stateless_random runs lane by lane: it has no batching rule" in f.explain_native()
    assert "lane by lane" not in rt.function(rt.vmap(lambda x: x * 2.0)).explain_native(X)


def test_lists_of_different_lengths_run_lane_by_lane() -> None:
    def evens(m: Any) -> Any:
        found = []
        for x in m:
            if x % 2.0 == 0.0:
                found.append(x)
        return len(found), rt.reduce_sum(found)

    f = rt.function(rt.vmap(evens))
    count, total = f(rt.constant([[1.0, 2.0, 4.0], [1.0, 1.0, 8.0]]))
    equal(count, [2, 1])
    equal(total, [6, 8])
    assert "evens runs lane by lane: " in f.explain_native()
